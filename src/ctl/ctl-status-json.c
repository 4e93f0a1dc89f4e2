/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-status.h"

/* The schema of `rcu-bootctl status --json`. Keys are only ever added. Times are integers in microseconds
 * since the kernel started (CLOCK_BOOTTIME); null: not known, or not applicable.
 *
 *   {
 *     "now_usec": 45678901,            when this was printed
 *     "phase": "ended",                "probing", "booting", "ending", "ended"; null: there is no state
 *     "since_usec": 12345678,          when that phase was entered
 *     "reason": "milestones",          why boot ended: "milestones", "deadline", "manual", "stopped",
 *                                      "late-start", "daemon-died", "state-invalid"; null: not ended
 *     "reason_sentence": "all that the policy waits for was reached",
 *     "reason_text": "by hand",        what `rcu-bootctl end --reason=` said; null: nothing
 *     "daemon": {
 *       "running": false,              null: cannot be told
 *       "pid": null,                   null: not running, or not known
 *       "started_usec": 1234567,       the first one of this boot
 *       "starts": 1                    how many were started
 *     },
 *     "policy": {                      null: there is no state
 *       "name": "80-server.policy",
 *       "file": "/usr/lib/rcu-bootd/policy.d/80-server.policy",
 *       "why": "its [Match] holds: ...",
 *       "allow_users": ["kiosk"]
 *     },
 *     "not_before_usec": 0,
 *     "deadline_usec": 120000000,
 *     "deadline_extended": false,
 *     "end_when": [["multi-user.target", "home-screen"]],    alternatives, each a list of milestones
 *     "milestones": [
 *       { "name": "multi-user.target", "reached": true, "reached_usec": 11234567,
 *         "source": "bus" }            a word of rcu-bootd(8), MILESTONES; null: not reached
 *     ],
 *     "missing": ["home-screen"],      what the alternative closest to holding lacks; empty: none
 *     "knobs": [                       always all of them, in the order of rcu-boot-policy(5)
 *       { "name": "rcu_expedited",
 *         "path": "/sys/kernel/rcu_expedited",   null: not in this kernel
 *         "present": true,
 *         "before": 1,                 found by the first daemon of this boot
 *         "during": { "setting": "1", "written": 1, "read_back": 1, "errno": 0 },
 *         "after": { "setting": "restore", "written": 0, "read_back": 0, "errno": 0 },
 *                                      setting: what the policy says; null: it does not name the knob;
 *                                      written: null: nothing was; errno: 0, or why writing failed
 *         "now": 0,
 *         "now_errno": 0,              0, or why reading failed (2: not in this kernel)
 *         "drift": false }             now is not what was written when boot ended
 *     ],
 *     "kernel": {                      the kernel's own end of RCU's boot; null: it says nothing of that
 *       "ended": true,                 null: it does not say so, or it cannot be read
 *       "ended_by": "user_booted",     its word for the cause: "user_booted", "delay", "fallback",
 *                                      "unload", or one of a newer kernel; null: not ended
 *       "ended_usec": 12346000,        in whole milliseconds; null: not ended
 *       "until_usec": null,            when it ends at the latest; null: ended, or not known
 *       "promised": false,             user_booted_reported=1
 *       "verdict": "agrees" },         with our end: "agrees", "goes-on", "earlier", "later";
 *                                      null: there is nothing to compare
 *     "mode": "default",               effective, now: "default", "expedited", "normal", "unknown"
 *     "mode_at_end": "default",        the same when boot ended; null: not ended
 *     "mode_sentence": "...",
 *     "drift": false,                  any knob's
 *     "notes": [
 *       { "level": "problem",          makes the exit code 1; or "warning"
 *         "id": "drift",               "not-started", "starting", "state-invalid", "state-unreadable",
 *                                      "daemon-died", "daemon-stuck", "daemon-unknown", "after-failed",
 *                                      "during-failed", "drift", "unreadable", "deadline",
 *                                      "still-expedited", "kernel-goes-on", "kernel-earlier",
 *                                      "kernel-later", "kernel-fallback", "unkept-promise"
 *         "knob": "rcu_expedited",     null: of none in particular
 *         "text": "..." }
 *     ],
 *     "exit_code": 0                   of this command, as in rcu-bootctl(1)
 *   }
 */

static json_t *usec_if(bool known, usec_t t) {
        return json_number_if(known, (int64_t) t);
}

static json_t *alternatives_to_json(const MilestoneCondition *c) {
        json_t *all = json_array();

        for (size_t a = 0; a < c->n_alternatives; a++) {
                json_t *one = json_array();

                for (size_t i = 0; i < c->n_names; i++)
                        if (c->alternatives[a] & (UINT32_C(1) << i))
                                json_append(&one, json_text(c->names[i]));
                json_append(&all, one);
        }

        return all;
}

static json_t *milestones_to_json(const BootRecord *r) {
        json_t *array = json_array();

        for (size_t i = 0; i < r->end_when.n_names; i++) {
                bool reached = r->reached & (UINT32_C(1) << i);

                json_append(&array,
                                json_pack("{s:o,s:b,s:o,s:o}", "name", json_text(r->end_when.names[i]),
                                                "reached", reached, "reached_usec",
                                                usec_if(reached, r->reached_at[i]), "source",
                                                json_text(reached ? milestone_source_to_string(
                                                                                    r->reached_by[i])
                                                                  : NULL)));
        }

        return array;
}

static json_t *missing_to_json(const BootRecord *r) {
        uint32_t missing = milestone_condition_missing(&r->end_when, r->reached);
        json_t *array = json_array();

        for (size_t i = 0; i < r->end_when.n_names; i++)
                if (missing & (UINT32_C(1) << i))
                        json_append(&array, json_text(r->end_when.names[i]));

        return array;
}

static json_t *stage_to_json(const KnobRecord *k, KnobStage stage) {
        const KnobResult *r = &k->result[stage];
        bool named = k->setting[stage].action != KNOB_ACTION_NONE;
        char buf[24];

        return json_pack("{s:o,s:o,s:o,s:o}", "setting",
                        json_text(named ? knob_setting_to_string(&k->setting[stage], buf, sizeof(buf))
                                        : NULL),
                        "written", json_number_if(r->attempted, r->asked), "read_back",
                        json_number_if(r->attempted && r->has_read_back, r->read_back), "errno",
                        json_number_if(r->attempted, -r->error));
}

static json_t *knob_to_json(const Status *s, Knob knob) {
        const KnobRecord *r = &s->record.knobs[knob];
        const KnobReading *now = &s->knobs[knob];
        _cleanup_free_ char *path = NULL;

        if (now->present && asprintf(&path, "/%s", now->path) < 0)
                return NULL;

        return json_pack("{s:s,s:o,s:b,s:o,s:o,s:o,s:o,s:i,s:b}", "name", knob_info(knob)->name, "path",
                        json_text(path), "present", now->present, "before",
                        json_number_if(r->has_found, r->found), "during",
                        stage_to_json(r, KNOB_STAGE_DURING), "after", stage_to_json(r, KNOB_STAGE_AFTER),
                        "now", json_number_if(now->error == 0, now->value), "now_errno", -now->error,
                        "drift", s->drift[knob]);
}

static json_t *knobs_to_json(const Status *s, bool *ret_drift) {
        json_t *array = json_array();

        *ret_drift = false;
        FOREACH_KNOB(k) {
                json_append(&array, knob_to_json(s, k));
                *ret_drift = *ret_drift || s->drift[k];
        }

        return array;
}

static json_t *kernel_to_json(const Status *s) {
        const KernelView *k = &s->kernel;
        bool usable = kernel_view_is_usable(k), ended = usable && k->ended, has_until;
        usec_t until = 0;

        if (!kernel_view_is_present(k) && !k->path[KERNEL_NODE_PROMISE])
                return json_null();

        has_until = status_kernel_until(s, &until);
        return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "ended", usable ? json_boolean(k->ended) : json_null(),
                        "ended_by", json_text(ended ? k->by_word : NULL), "ended_usec",
                        usec_if(ended, k->ended_at), "until_usec", usec_if(has_until, until), "promised",
                        k->error[KERNEL_NODE_PROMISE] < 0 ? json_null() : json_boolean(k->promised),
                        "verdict", json_text(kernel_verdict_to_string(s->verdict)));
}

static json_t *notes_to_json(const Status *s) {
        json_t *array = json_array();

        for (size_t i = 0; i < s->n_notes; i++) {
                const StatusNote *n = &s->notes[i];

                json_append(&array,
                                json_pack("{s:s,s:s,s:o,s:o}", "level", n->problem ? "problem" : "warning",
                                                "id", n->id, "knob",
                                                json_text(n->knob < _KNOB_MAX ? knob_info(n->knob)->name
                                                                              : NULL),
                                                "text", json_text(n->text)));
        }

        return array;
}

static json_t *policy_to_json(const BootRecord *r) {
        if (!r->policy_name)
                return json_null();

        return json_pack("{s:o,s:o,s:o,s:o}", "name", json_text(r->policy_name), "file",
                        json_text(r->policy_path), "why", json_text(r->policy_why), "allow_users",
                        json_texts(r->allow_users));
}

static json_t *daemon_to_json(const Status *s, bool known) {
        return json_pack("{s:o,s:o,s:o,s:o}", "running",
                        s->running < 0 ? json_null() : json_boolean(s->running > 0), "pid",
                        json_number_if(s->pid > 0, s->pid), "started_usec",
                        usec_if(known, s->record.started), "starts",
                        json_number_if(known, s->record.starts));
}

/* What the state file holds. */
static json_t *record_to_json(const BootRecord *r) {
        bool known = r->phase != BOOT_PHASE_NONE, over = r->reason != BOOT_REASON_NONE;

        return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "phase",
                        json_text(known ? boot_phase_to_string(r->phase) : NULL), "since_usec",
                        usec_if(known, r->since), "reason",
                        json_text(over ? boot_reason_to_string(r->reason) : NULL), "reason_sentence",
                        json_text(over ? boot_reason_to_sentence(r->reason) : NULL), "reason_text",
                        json_text(*r->reason_text ? r->reason_text : NULL), "policy", policy_to_json(r),
                        "not_before_usec", usec_if(known, r->not_before), "deadline_usec",
                        usec_if(known, r->deadline), "deadline_extended",
                        known ? json_boolean(r->extended) : json_null(), "end_when",
                        alternatives_to_json(&r->end_when), "milestones", milestones_to_json(r), "missing",
                        missing_to_json(r), "mode_at_end",
                        json_text(r->phase == BOOT_PHASE_ENDED ? rcu_mode_to_string(r->mode) : NULL));
}

json_t *status_to_json(const Status *s) {
        json_t *root, *record = record_to_json(&s->record), *knobs;
        bool drift;

        knobs = knobs_to_json(s, &drift);
        root = json_pack("{s:I,s:o,s:o,s:o,s:s,s:s,s:b,s:o,s:i}", "now_usec", (json_int_t) s->now, "daemon",
                        daemon_to_json(s, s->record.phase != BOOT_PHASE_NONE), "knobs", knobs, "kernel",
                        kernel_to_json(s), "mode", rcu_mode_to_string(s->mode), "mode_sentence",
                        rcu_mode_to_sentence(s->mode, s->expedited_too), "drift", drift, "notes",
                        notes_to_json(s), "exit_code", status_exit_code(s));

        if (!root || !record || json_object_update_missing(record, root) < 0) {
                json_decref(root);
                json_decref(record);
                return NULL;
        }

        json_decref(root);
        return record;
}
