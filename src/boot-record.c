/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot-record.h"

#include <errno.h>

#include "strv.h"

static const char *const phase_table[_BOOT_PHASE_MAX] = {
        [BOOT_PHASE_NONE] = "none",
        [BOOT_PHASE_PROBING] = "probing",
        [BOOT_PHASE_BOOTING] = "booting",
        [BOOT_PHASE_ENDING] = "ending",
        [BOOT_PHASE_ENDED] = "ended",
};

static const struct {
        const char *name;
        const char *sentence;
} reason_table[_BOOT_REASON_MAX] = {
        [BOOT_REASON_NONE] = { "none", "it has not ended" },
        [BOOT_REASON_MILESTONES] = { "milestones", "all that the policy waits for was reached" },
        [BOOT_REASON_DEADLINE] = { "deadline",
                        "the deadline passed before all that the policy waits for was reached" },
        [BOOT_REASON_MANUAL] = { "manual", "it was asked for" },
        [BOOT_REASON_STOPPED] = { "stopped", "the daemon was told to stop before boot had ended" },
        [BOOT_REASON_LATE_START] = { "late-start", "the machine had booted before the daemon started" },
        [BOOT_REASON_DAEMON_DIED] = { "daemon-died", "the daemon died, and nothing was to restart it" },
        [BOOT_REASON_STATE_INVALID] = { "state-invalid",
                        "the state file could not be read, or not be written" },
};

const char *boot_phase_to_string(BootPhase p) {
        return phase_table[p];
}

int boot_phase_from_string(const char *s, BootPhase *ret) {
        for (BootPhase p = 0; p < _BOOT_PHASE_MAX; p++)
                if (streq(s, phase_table[p])) {
                        *ret = p;
                        return 0;
                }

        return -EINVAL;
}

const char *boot_reason_to_string(BootReason r) {
        return reason_table[r].name;
}

const char *boot_reason_to_sentence(BootReason r) {
        return reason_table[r].sentence;
}

int boot_reason_from_string(const char *s, BootReason *ret) {
        for (BootReason r = 0; r < _BOOT_REASON_MAX; r++)
                if (streq(s, reason_table[r].name)) {
                        *ret = r;
                        return 0;
                }

        return -EINVAL;
}

void boot_record_done(BootRecord *r) {
        free(r->policy_name);
        free(r->policy_path);
        free(r->policy_why);
        strv_free(r->allow_users);
        milestone_condition_done(&r->end_when);
        *r = (BootRecord){};
}

static int copy_strings(const Policy *policy, const char *why, BootRecord *r) {
        int error;

        r->policy_name = strdup(policy->name);
        r->policy_path = strdup(policy->path);
        r->policy_why = strdup(why);
        if (!r->policy_name || !r->policy_path || !r->policy_why)
                return -ENOMEM;

        for (char **user = policy->allow_users; user && *user; user++) {
                error = strv_extend(&r->allow_users, *user);
                if (error < 0)
                        return error;
        }

        for (size_t i = 0; i < policy->end_when.n_names; i++) {
                r->end_when.names[i] = strdup(policy->end_when.names[i]);
                if (!r->end_when.names[i])
                        return -ENOMEM;
                r->end_when.n_names++;
        }

        return 0;
}

int boot_record_from_policy(const Policy *policy, const char *why, BootRecord *ret) {
        BootRecord r = {
                .not_before = policy->not_before,
                .deadline = policy->deadline,
        };
        int error;

        error = copy_strings(policy, why, &r);
        if (error < 0) {
                boot_record_done(&r);
                return error;
        }

        memcpy(r.end_when.alternatives, policy->end_when.alternatives, sizeof(r.end_when.alternatives));
        r.end_when.n_alternatives = policy->end_when.n_alternatives;

        FOREACH_KNOB(knob)
                memcpy(r.knobs[knob].setting, policy->knobs[knob].setting, sizeof(r.knobs[knob].setting));

        *ret = r;
        return 0;
}

bool boot_record_reports(const BootRecord *r) {
        return r->knobs[KNOB_USER_BOOTED].setting[KNOB_STAGE_AFTER].action == KNOB_ACTION_VALUE;
}

int boot_record_list_missing(const BootRecord *r, char **ret) {
        char *names[MILESTONES_MAX + 1] = {};
        uint32_t missing = milestone_condition_missing(&r->end_when, r->reached);
        size_t n = 0;

        for (size_t i = 0; i < r->end_when.n_names; i++)
                if (missing & (UINT32_C(1) << i))
                        names[n++] = r->end_when.names[i];

        return strv_join(names, " ", ret);
}
