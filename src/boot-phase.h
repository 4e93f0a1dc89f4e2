/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "boot-record.h"

/* The machine that decides. It knows no file, no clock and no bus: an event comes in (with the time at which
 * it happened), actions come out, and what became of an action comes back as an event. It never allocates
 * and never fails.
 *
 *             START                PROBED               condition | deadline | end | stop
 *   (nothing) -----> PROBING ------------------> BOOTING ---------------------------------> ENDING -> ENDED
 *                       |                                                                      ^
 *                       +---- all was reached already, or the deadline has passed -------------+
 *
 * There is no edge back. */

typedef enum BootEventType {
        BOOT_EVENT_START,     /* the daemon listens. The record is fresh, or what the state file held */
        BOOT_EVENT_PROBED,    /* every source has told what had been reached before the start */
        BOOT_EVENT_MILESTONE, /* reached */
        BOOT_EVENT_END,       /* asked for by someone whom the edges found entitled, with reason and text */
        BOOT_EVENT_EXTEND,    /* likewise: the deadline is to be no earlier than `extend` from now */
        BOOT_EVENT_DIED,      /* the daemon is dead, and this is what looks after its boot (--post-stop) */
        BOOT_EVENT_TICK,      /* the timer that was asked for has run out */
        BOOT_EVENT_KNOB,      /* what became of a BOOT_ACTION_WRITE_KNOB */
        BOOT_EVENT_MODE,      /* what became of a BOOT_ACTION_READ_MODE */
        _BOOT_EVENT_TYPE_MAX,
} BootEventType;

typedef struct BootEvent {
        BootEventType type;
        usec_t now;
        bool rescue;   /* a rescue or emergency shell has the console: whatever is reached, this is not
                          "booted" */
        unsigned came; /* bit k: there is knob k, which was not there so far: a module has brought it */
        union {
                struct {
                        bool damaged;  /* there was a state file, but it cannot be understood */
                        bool promised; /* to the kernel: that user space will report (user_booted) */
                } start;
                struct {
                        unsigned index; /* into record->end_when.names */
                        MilestoneSource source;
                } milestone;
                struct {
                        BootReason reason;
                        const char *text;
                } end;
                struct {
                        usec_t by;
                } extend;
                struct {
                        bool told_to_stop; /* by a signal, so early that it was killed by it */
                        bool restarts;     /* the service manager will start the next daemon */
                } died;
                struct {
                        Knob knob;
                        KnobStage stage;
                        KnobResult result;
                } knob;
                struct {
                        RcuMode mode;
                } mode;
        };
} BootEvent;

typedef enum BootActionType {
        BOOT_ACTION_SAVE,       /* write the record to the state file */
        BOOT_ACTION_WRITE_KNOB, /* answer with BOOT_EVENT_KNOB */
        BOOT_ACTION_READ_MODE,  /* answer with BOOT_EVENT_MODE */
        BOOT_ACTION_ARM_TIMER,  /* send BOOT_EVENT_TICK at `at`; replaces the timer asked for before */
        BOOT_ACTION_AUDIT, /* an entry of `audit`'s kind; what it tells is in the record and the action */
        BOOT_ACTION_QUIT,  /* nothing is left to do */
        _BOOT_ACTION_TYPE_MAX,
} BootActionType;

/* Kinds of audit entry that the machine asks for. */
typedef enum BootAudit {
        BOOT_AUDIT_STARTED,         /* a daemon began to wait */
        BOOT_AUDIT_MILESTONE,       /* .index was reached */
        BOOT_AUDIT_ENDED,           /* for any reason but the deadline */
        BOOT_AUDIT_DEADLINE,        /* ended by the deadline: a warning that names what was missing */
        BOOT_AUDIT_KNOB_WRITTEN,    /* .knob, .stage */
        BOOT_AUDIT_KNOB_FAILED,     /* .knob, .stage */
        BOOT_AUDIT_EXTENDED,        /* the deadline moved */
        BOOT_AUDIT_STILL_EXPEDITED, /* RCU is expedited after the end, and the policy does not say that it
                                       should be */
        BOOT_AUDIT_UNKEPT_PROMISE,  /* the kernel was promised a report that the policy does not make */
        _BOOT_AUDIT_MAX,
} BootAudit;

typedef struct BootAction {
        BootActionType type;
        BootAudit audit;
        Knob knob;
        KnobStage stage;
        unsigned index;
        int64_t value;
        usec_t at;
} BootAction;

#define BOOT_ACTIONS_MAX 16U

typedef struct BootActions {
        size_t n;
        BootAction items[BOOT_ACTIONS_MAX];
} BootActions;

/* How long PROBING lasts at most: a bus that accepts connections but never answers must not hold up boot. */
#define BOOT_PROBE_MAX_USEC (3 * USEC_PER_SEC)
/* A boot of which so many daemons have died is not left to a further one. */
#define BOOT_DEATHS_MAX 3U
/* How often a rescue shell's end is looked for. */
#define BOOT_RESCUE_RECHECK_USEC (1 * USEC_PER_SEC)

/* One step. The record is the machine's only memory. *ret_actions is overwritten. All its actions are to be
 * carried out, in order, before the next step; the events that answer them are then fed in the same order,
 * before any other. */
void boot_phase_step(BootRecord *record, const BootEvent *event, BootActions *ret_actions);
