/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "knob.h"
#include "milestone.h"
#include "policy.h"
#include "util.h"

/* What is remembered of a boot: plain data, shared by the machine (boot-phase.h), the state file's text
 * (state.h) and `rcu-bootctl status`. */

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
        BOOT_REASON_STATE_INVALID, /* the state file of an earlier daemon cannot be read, or none can be
                                      written: end rather than guess */
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
        unsigned deaths;                   /* daemons of this boot that died */
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

/* Whether the policy in force tells the kernel that user space has booted: user_booted=1 in [After]. */
bool boot_record_reports(const BootRecord *r) _pure_;

/* The milestones that the alternative closest to holding still lacks, in the policy's order, blanks between;
 * "" if none. -ENOMEM. */
int boot_record_list_missing(const BootRecord *r, char **ret);

const char *boot_phase_to_string(BootPhase p) _const_;
int boot_phase_from_string(const char *s, BootPhase *ret);
const char *boot_reason_to_string(BootReason r) _const_;
int boot_reason_from_string(const char *s, BootReason *ret);
const char *boot_reason_to_sentence(BootReason r) _const_;
