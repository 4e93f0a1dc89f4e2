/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>

#include "ctl-request.h"
#include "fs.h"
#include "kernel-nodes.h"
#include "names.h"
#include "state-file.h"

/* How long after the deadline a daemon that is still there may be busy with the end on a machine that
 * crawls. */
#define STUCK_USEC (10 * USEC_PER_SEC)

/* state_file_is_locked() and the file, in an order in which a daemon that starts or ends in between does not
 * look like one that died. */
static int read_state(const Ctl *ctl, Status *s) {
        for (unsigned attempt = 0;; attempt++) {
                boot_record_done(&s->record);
                s->state_error = state_file_read(ctl->root_fd, &s->record);
                if (s->state_error == -ENOMEM)
                        return -ENOMEM;

                s->running = state_file_is_locked(ctl->root_fd);
                if (s->running <= 0 || state_file_lock_owner(ctl->root_fd, &s->pid) < 0)
                        s->pid = 0;
                if (s->record.phase == BOOT_PHASE_ENDED || s->running > 0 || attempt > 0)
                        return 0;
        }
}

int status_gather(const Ctl *ctl, Status *ret) {
        Status s = {};
        int r;

        /* What has ended stays so: an end that comes while we look is then in neither, or in both. */
        kernel_nodes_read(ctl->root_fd, &s.kernel);
        r = read_state(ctl, &s);
        if (r < 0)
                return r;
        if (s.record.phase == BOOT_PHASE_ENDED && !s.kernel.ended)
                kernel_nodes_read(ctl->root_fd, &s.kernel);
        s.verdict = kernel_view_judge(&s.kernel, &s.record);

        FOREACH_KNOB(k) {
                const KnobResult *after = &s.record.knobs[k].result[KNOB_STAGE_AFTER];

                knobs_read(ctl->root_fd, k, &s.knobs[k]);
                s.drift[k] = s.record.phase == BOOT_PHASE_ENDED && knob_info(k)->reads_back &&
                                after->attempted && after->error == 0 && s.knobs[k].present &&
                                s.knobs[k].error == 0 && s.knobs[k].value != after->asked;
        }

        s.expedited_too = s.knobs[KNOB_EXPEDITED].error == 0 && s.knobs[KNOB_EXPEDITED].value != 0;
        s.mode = rcu_mode_from_readings(
                        s.knobs[KNOB_EXPEDITED].error < 0 ? NULL : &s.knobs[KNOB_EXPEDITED].value,
                        s.knobs[KNOB_NORMAL].error < 0 ? NULL : &s.knobs[KNOB_NORMAL].value);
        s.now = fs_now();

        *ret = s;
        return 0;
}

void status_done(Status *s) {
        boot_record_done(&s->record);
        for (size_t i = 0; i < s->n_notes; i++)
                free(s->notes[i].text);
        *s = (Status){};
}

bool status_may_stay_expedited(const BootRecord *r) {
        const KnobRecord *k = &r->knobs[KNOB_EXPEDITED];

        return k->setting[KNOB_STAGE_AFTER].action == KNOB_ACTION_KEEP ||
                        (k->result[KNOB_STAGE_AFTER].attempted && k->result[KNOB_STAGE_AFTER].asked != 0);
}

int status_add(Status *s, bool problem, const char *id, Knob knob, const char *format, ...) {
        va_list ap;
        char *text;
        int r;

        if (s->n_notes >= STATUS_NOTES_MAX)
                return 0;

        va_start(ap, format);
        r = vasprintf(&text, format, ap);
        va_end(ap);
        if (r < 0)
                return -ENOMEM;

        s->notes[s->n_notes++] = (StatusNote){ problem, id, knob, text };
        return 0;
}

static int judge_state(Status *s) {
        if (s->state_error == -ENOENT && s->running > 0)
                return status_add(s, false, "starting", _KNOB_MAX, "rcu-bootd is just starting.");
        if (s->state_error == -ENOENT)
                return status_add(s, true, "not-started", _KNOB_MAX,
                                "rcu-bootd has not run since this system started. To let it end RCU's boot, "
                                "now and at each boot: systemctl enable --now " UNIT_NAME);
        if (s->state_error == -EBADMSG)
                return status_add(s, true, "state-invalid", _KNOB_MAX,
                                "The state file cannot be understood: it was damaged, or written by another "
                                "version. To have boot ended and the file written anew: systemctl "
                                "restart " UNIT_NAME);
        if (s->state_error < 0)
                return status_add(s, true, "state-unreadable", _KNOB_MAX,
                                "The state file cannot be read: %s. It and the directories above it are to "
                                "be readable for everyone: %s",
                                strerror(-s->state_error), PATH_STATE);
        return 0;
}

static int judge_daemon(Status *s) {
        char sec[SEC_TEXT_MAX];

        if (s->record.phase == BOOT_PHASE_NONE || s->record.phase == BOOT_PHASE_ENDED)
                return 0;

        if (s->running == 0)
                return status_add(s, true, "daemon-died", _KNOB_MAX,
                                "rcu-bootd is gone, but RCU's boot has not ended, and RCU stays as the "
                                "table shows. If systemd does not start it again by itself: systemctl "
                                "restart " UNIT_NAME);
        if (s->running < 0)
                return status_add(s, false, "daemon-unknown", _KNOB_MAX,
                                "Cannot tell whether rcu-bootd is running: %s", strerror(-s->running));
        if (s->now > s->record.deadline + STUCK_USEC)
                return status_add(s, true, "daemon-stuck", _KNOB_MAX,
                                "rcu-bootd is running, but has not ended RCU's boot although the deadline "
                                "passed %s ago. Try: systemctl restart " UNIT_NAME,
                                format_sec(s->now - s->record.deadline, sec));
        return 0;
}

static int judge_write(Status *s, Knob k, KnobStage stage) {
        const KnobResult *result = &s->record.knobs[k].result[stage];
        bool after = stage == KNOB_STAGE_AFTER;
        char error[128];
        const char *hint;

        if (!result->attempted || result->error == 0 || knob_error_is_benign(k, stage, result->error))
                return 0;

        hint = knobs_error_hint(k, result->error);
        return status_add(s, after, after ? "after-failed" : "during-failed", k,
                        "%s could not be set to %" PRIi64 " %s: %s%s%s", knob_info(k)->name, result->asked,
                        after ? "when boot ended" : "for the time of boot",
                        knobs_error_to_string(result->error, error, sizeof(error)), hint ? "; " : "",
                        strempty(hint));
}

static int judge_knob(Status *s, Knob k) {
        const KnobReading *now = &s->knobs[k];
        char error[128];
        int r;

        for (KnobStage stage = 0; stage < _KNOB_STAGE_MAX; stage++) {
                r = judge_write(s, k, stage);
                if (r < 0)
                        return r;
        }

        if (s->drift[k])
                return status_add(s, true, "drift", k,
                                "%s is %" PRIi64 " now, but was set to %" PRIi64
                                " when boot ended: something else has written it since. To set it again: "
                                "echo %" PRIi64 " > /%s",
                                knob_info(k)->name, now->value,
                                s->record.knobs[k].result[KNOB_STAGE_AFTER].asked,
                                s->record.knobs[k].result[KNOB_STAGE_AFTER].asked, now->path);
        if (now->present && now->error < 0)
                return status_add(s, false, "unreadable", k, "%s cannot be read now: %s", knob_info(k)->name,
                                knobs_error_to_string(now->error, error, sizeof(error)));
        return 0;
}

static int judge_end(Status *s) {
        _cleanup_free_ char *missing = NULL;
        char sec[SEC_TEXT_MAX];
        int r;

        if (s->record.phase != BOOT_PHASE_ENDED)
                return 0;

        if (s->record.reason == BOOT_REASON_DEADLINE) {
                r = boot_record_list_missing(&s->record, &missing);
                if (r < 0)
                        return r;
                r = status_add(s, false, "deadline", _KNOB_MAX,
                                "The deadline of %s ended boot; not reached by then: %s. What PID 1 was "
                                "waiting for: rcu-bootctl log",
                                format_sec(s->record.deadline, sec), missing);
                if (r < 0)
                        return r;
        }

        /* Drift says more, where it is the cause. */
        if (s->mode == RCU_MODE_EXPEDITED && !status_may_stay_expedited(&s->record) &&
                        !s->drift[KNOB_EXPEDITED] && !s->drift[KNOB_NORMAL])
                return status_add(s, false, "still-expedited", KNOB_EXPEDITED,
                                "RCU is still expedited although boot has ended, and policy %s does not ask "
                                "for that. If it was set on the kernel command line "
                                "(rcupdate.rcu_expedited=1), the policy must undo it: rcu_expedited=0 in "
                                "[After]",
                                s->record.policy_name);
        return 0;
}

int status_judge(Status *s) {
        int r;

        r = judge_state(s);
        if (r >= 0)
                r = judge_daemon(s);
        for (Knob k = 0; r >= 0 && k < _KNOB_MAX; k++)
                r = judge_knob(s, k);
        if (r >= 0)
                r = judge_end(s);
        if (r >= 0)
                r = status_judge_kernel(s);

        return r;
}

int status_exit_code(const Status *s) {
        for (size_t i = 0; i < s->n_notes; i++)
                if (s->notes[i].problem)
                        return CTL_FAILED;

        return s->record.phase == BOOT_PHASE_ENDED ? CTL_DONE : CTL_NOT_ENDED;
}

int ctl_verb_status(const Ctl *ctl, int argc, char **argv) {
        _cleanup_(status_done) Status s = {};

        if (status_gather(ctl, &s) < 0 || status_judge(&s) < 0)
                return ctl_oom();

        if (ctl->json) {
                int code = ctl_print_json(status_to_json(&s));

                return code == CTL_DONE ? status_exit_code(&s) : code;
        }

        pager_open(ctl);
        if (status_print_text(&s) < 0)
                return ctl_oom();

        return status_exit_code(&s);
}
