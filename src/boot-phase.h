/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "knob.h"
#include "milestone.h"
#include "policy.h"
#include "util.h"

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
typedef enum BootPhase {
        BOOT_PHASE_NONE,    /* before START */
        BOOT_PHASE_PROBING, /* learning what had been reached before us; nothing has been written */
        BOOT_PHASE_BOOTING, /* [During] is in force */
        BOOT_PHASE_ENDING,  /* the end is decided and recorded; [After] is being written */
        BOOT_PHASE_ENDED,
        _BOOT_PHASE_MAX,
} BootPhase;

/* Why boot ended. */
typedef enum BootReason {
        BOOT_REASON_NONE,
        BOOT_REASON_MILESTONES,    /* the policy's condition holds */
        BOOT_REASON_DEADLINE,      /* it did not hold in time */
        BOOT_REASON_MANUAL,        /* someone allowed to asked for it: `rcu-bootctl end` */
        BOOT_REASON_STOPPED,       /* the daemon was told to stop (SIGTERM) */
        BOOT_REASON_LATE_START,    /* the machine had booted before the daemon started */
        BOOT_REASON_DAEMON_DIED,   /* the daemon died, and nothing restarts it */
        BOOT_REASON_STATE_INVALID, /* the state file of an earlier daemon cannot be read: end rather than
                                      guess */
        _BOOT_REASON_MAX,
} BootReason;

/* What became of one write to a knob. */
typedef struct KnobResult {
        bool attempted;
        int error; /* 0, or a negative errno of the write (or of the read-back, then with !has_read_back) */
        int64_t asked;
        bool has_read_back;
        int64_t read_back;
} KnobResult;

/* One knob, as found and as treated. */
typedef struct KnobRecord {
        bool present; /* this kernel has it */
        bool has_found;
        int64_t found;          /* its value when the first daemon of this boot started */
        int64_t kernel_default; /* knob_kernel_default() */
        KnobSetting setting[_KNOB_STAGE_MAX];
        KnobResult result[_KNOB_STAGE_MAX];
} KnobRecord;

#define REASON_TEXT_MAX 256U

/* All that is worth keeping of a boot: the machine's memory, what the state file holds (state.h), what
 * `rcu-bootctl status` shows. It suffices to go on with after a crash, without any policy file. */
typedef struct BootRecord {
        BootPhase phase;
        BootReason reason;
        char reason_text[REASON_TEXT_MAX]; /* the requester's own words; "" if none */
        usec_t since;                      /* when the phase was entered */
        usec_t started;                    /* when the first daemon of this boot started */
        unsigned starts;                   /* daemons started in this boot */
        usec_t not_before;
        usec_t deadline;
        bool extended; /* the deadline is later than the policy's */
        RcuMode mode;  /* effective mode, read back at the end */
        char *policy_name;
        char *policy_path;
        char *policy_why; /* why it is the one, in words */
        char **allow_users;
        MilestoneCondition end_when;
        uint32_t reached; /* bit i: end_when.names[i] */
        usec_t reached_at[MILESTONES_MAX];
        MilestoneSource reached_by[MILESTONES_MAX];
        KnobRecord knobs[_KNOB_MAX];
} BootRecord;

void boot_record_done(BootRecord *r);

/* A fresh record (phase NONE) that takes all it needs from the policy: copies. -ENOMEM. */
int boot_record_from_policy(const Policy *policy, const char *why, BootRecord *ret);

typedef enum BootEventType {
        BOOT_EVENT_START,  /* the daemon listens. The record is fresh, or (resumed) what the state file held
                            */
        BOOT_EVENT_PROBED, /* every source has told what had been reached before the start */
        BOOT_EVENT_MILESTONE, /* reached */
        BOOT_EVENT_END,       /* asked for by someone whom the edges found entitled, with reason and text */
        BOOT_EVENT_EXTEND,    /* likewise: the deadline is to be no earlier than `extend` from now */
        BOOT_EVENT_TICK,      /* the timer that was asked for has run out */
        BOOT_EVENT_KNOB,      /* what became of a BOOT_ACTION_WRITE_KNOB */
        BOOT_EVENT_MODE,      /* what became of a BOOT_ACTION_READ_MODE */
        _BOOT_EVENT_TYPE_MAX,
} BootEventType;

typedef struct BootEvent {
        BootEventType type;
        usec_t now;
        bool rescue; /* a rescue or emergency shell has the console: however much is reached, this is not
                        "booted" */
        union {
                struct {
                        bool damaged; /* there was a state file, but it cannot be understood */
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
/* How often a rescue shell's end is looked for. */
#define BOOT_RESCUE_RECHECK_USEC (1 * USEC_PER_SEC)

/* One step. The record is the machine's only memory. *ret_actions is overwritten; its actions are to be
 * carried out in order, and the events that answer them fed back before any other event. */
void boot_phase_step(BootRecord *record, const BootEvent *event, BootActions *ret_actions);

const char *boot_phase_to_string(BootPhase p) _const_;
int boot_phase_from_string(const char *s, BootPhase *ret);
const char *boot_reason_to_string(BootReason r) _const_;
int boot_reason_from_string(const char *s, BootReason *ret);
const char *boot_reason_to_sentence(BootReason r) _const_;
