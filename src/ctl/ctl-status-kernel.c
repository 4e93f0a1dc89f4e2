/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-status.h"

#include <inttypes.h>

#include "ctl-request.h"
#include "names.h"

/* What to think of the kernel's own end of RCU's boot, beside ours. */

/* Where several are made of a note's text. */
#define PIECE_MAX 256U

bool status_kernel_until(const Status *s, usec_t *ret) {
        const KnobReading *delay = &s->knobs[KNOB_BOOT_END_DELAY];

        if (!kernel_view_is_usable(&s->kernel) || s->kernel.ended || !delay->present || delay->error < 0 ||
                        delay->value <= 0 || delay->value > INT64_MAX / (int64_t) USEC_PER_MSEC)
                return false;

        *ret = (usec_t) delay->value * USEC_PER_MSEC;
        return true;
}

static int judge_nodes(Status *s) {
        for (KernelNode node = 0; node < _KERNEL_NODE_MAX; node++) {
                const char *path = s->kernel.path[node];
                int error = kernel_view_fault(&s->kernel, node), r;
                char text[128];

                if (error == 0)
                        continue;
                r = status_add(s, false, "unreadable", _KNOB_MAX, "/%s cannot be read: %s",
                                path ? path : kernel_node_paths(node)[0],
                                error == -EINVAL ? "what it says is not understood"
                                                 : knobs_error_to_string(error, text, sizeof(text)));
                if (r < 0)
                        return r;
        }

        return 0;
}

/* Why the kernel did not hear from us that boot has ended, and what to do about it. */
static const char *told_to_words(KernelTold told) {
        switch (told) {
        case KERNEL_TOLD_UNASKED:
                return "the policy has neither user_booted=1 nor rcu_boot_end_delay=0 in [After]. Add "
                       "user_booted=1 there";
        case KERNEL_TOLD_ABSENT:
                return "what the policy writes in [After] was not there when rcu-bootd ended it. Load the "
                       "module " KERNEL_MODULE " before that, in the initramfs or by modules-load.d";
        case KERNEL_TOLD_FAILED:
                return "rcu-bootd could not tell it, for the reason given with the knob";
        default:
                return "it was told. Has the module " KERNEL_MODULE " been loaded anew since?";
        }
}

static int judge_goes_on(Status *s) {
        const KnobReading *report = &s->knobs[KNOB_USER_BOOTED], *delay = &s->knobs[KNOB_BOOT_END_DELAY];
        const char *command = report->present ? ". To end it now: echo 1 > /"
                        : delay->present      ? ". To end it now: echo 0 > /"
                                              : "";

        return status_add(s, true, "kernel-goes-on", _KNOB_MAX,
                        "RCU's boot goes on in the kernel, although rcu-bootd has ended it: %s%s%s",
                        told_to_words(kernel_view_told(&s->record)), command,
                        strempty(report->present ? report->path : delay->path));
}

static const char *cause_to_words(const KernelView *k) {
        switch (k->by) {
        case KERNEL_CAUSE_USER_BOOTED:
                return "something else wrote 1 to /" PATH_KNOB_USER_BOOTED;
        case KERNEL_CAUSE_DELAY:
                return "rcu_boot_end_delay ran out, or something else set it to what was past";
        case KERNEL_CAUSE_FALLBACK:
                return "the promised report had not come";
        case KERNEL_CAUSE_UNLOAD:
                return "its module " KERNEL_MODULE " was unloaded";
        default:
                return "the cause is one that this rcu-bootctl does not know";
        }
}

/* What it means that only our half of boot's mode is, or was, left. */
static const char *meaning_to_words(const Status *s, bool over) {
        const KnobResult *expedited = &s->record.knobs[KNOB_EXPEDITED].result[KNOB_STAGE_DURING];
        bool was_set = expedited->attempted && expedited->error == 0 && expedited->asked != 0;

        if (!was_set)
                return over ? "From then on RCU was as it is after boot" : "RCU is as it is after boot";
        return over ? "Until rcu-bootd's end rcu_expedited kept grace periods expedited, but callbacks may "
                      "have been lazy"
                    : "Until rcu-bootd's end rcu_expedited keeps grace periods expedited, but callbacks may "
                      "be lazy again";
}

/* How to have the kernel wait longer: ". Do this", or "". */
static const char *patience_to_words(const Status *s, char buf[static PIECE_MAX]) {
        const KnobSetting *during = &s->record.knobs[KNOB_BOOT_END_DELAY].setting[KNOB_STAGE_DURING];
        int64_t max = knob_info(KNOB_BOOT_END_DELAY)->max[KNOB_STAGE_DURING];
        bool beyond = s->record.deadline > (usec_t) max * USEC_PER_MSEC;
        const char *path = s->knobs[KNOB_BOOT_END_DELAY].path;

        if (s->kernel.ended_at < s->record.started)
                snprintf(buf, PIECE_MAX,
                                ". That was before rcu-bootd started: %s.rcu_boot_end_delay= on the kernel "
                                "command line puts it off",
                                path && streq(path, PATH_KNOB_BOOT_END_DELAY_MODULE) ? KERNEL_MODULE
                                                                                     : "rcupdate");
        else if (during->action == KNOB_ACTION_DEADLINE || during->value == max) {
                if (!beyond)
                        return "";
                snprintf(buf, PIECE_MAX, ". It waits for %" PRIi64 " s at most", max / 1000);
        } else if (beyond)
                snprintf(buf, PIECE_MAX,
                                ". To have it wait longer: rcu_boot_end_delay=%" PRIi64 " in [During]", max);
        else
                return ". To have it wait as long: rcu_boot_end_delay=deadline in [During]";

        return buf;
}

static int judge_earlier(Status *s) {
        bool over = boot_is_over(&s->record), timer = s->kernel.by == KERNEL_CAUSE_DELAY;
        usec_t until = over ? s->record.since : s->now;
        char sec[SEC_TEXT_MAX], buf[PIECE_MAX];

        return status_add(s, false, "kernel-earlier", _KNOB_MAX,
                        "The kernel ended RCU's boot %s %s: %s. %s%s",
                        format_sec(until - MIN(until, s->kernel.ended_at), sec),
                        over ? "before rcu-bootd did" : "ago, but rcu-bootd has not yet",
                        cause_to_words(&s->kernel), meaning_to_words(s, over),
                        timer ? patience_to_words(s, buf) : "");
}

static int judge_later(Status *s) {
        char sec[SEC_TEXT_MAX];

        return status_add(s, false, "kernel-later", _KNOB_MAX,
                        "The kernel ended RCU's boot %s after rcu-bootd did, by %s: %s",
                        format_sec(s->kernel.ended_at - MIN(s->record.since, s->kernel.ended_at), sec),
                        s->kernel.by_word, told_to_words(kernel_view_told(&s->record)));
}

static int judge_verdict(Status *s) {
        switch (s->verdict) {
        case KERNEL_VERDICT_GOES_ON:
                return judge_goes_on(s);
        case KERNEL_VERDICT_EARLIER:
                return judge_earlier(s);
        case KERNEL_VERDICT_LATER:
                return judge_later(s);
        default:
                return 0;
        }
}

/* The policy reports, so why had the report not come? */
static const char *delay_to_words(const Status *s, char buf[static PIECE_MAX]) {
        const KnobResult *report = &s->record.knobs[KNOB_USER_BOOTED].result[KNOB_STAGE_AFTER];

        if (s->record.phase == BOOT_PHASE_NONE)
                return ". rcu-bootd makes it, but has not run";
        if (report->attempted && report->error < 0)
                return ". rcu-bootd could not make it, for the reason given with the knob";
        if (s->verdict == KERNEL_VERDICT_AGREES && s->record.reason == BOOT_REASON_DEADLINE)
                return ". It was rcu-bootd's deadline, too: see what was not reached by then";
        return patience_to_words(s, buf);
}

static int judge_promise(Status *s) {
        const KernelView *k = &s->kernel;
        bool known = s->record.phase != BOOT_PHASE_NONE;
        char sec[SEC_TEXT_MAX], buf[PIECE_MAX];

        if (k->promised && known && !boot_record_reports(&s->record))
                return status_add(s, false, "unkept-promise", KNOB_USER_BOOTED,
                                "The kernel was promised a report (" KERNEL_PROMISE "=1), but policy %s "
                                "does not write user_booted=1. Add user_booted=1 to [After], or "
                                "take " KERNEL_PROMISE
                                " off the kernel command line or the module's options",
                                s->record.policy_name);
        if (!kernel_view_is_usable(k) || !k->ended || k->by != KERNEL_CAUSE_FALLBACK)
                return 0;

        return status_add(s, false, "kernel-fallback", KNOB_USER_BOOTED,
                        "The kernel was promised a report (" KERNEL_PROMISE "=1) that had not come by %s, "
                        "when its fallback ended RCU's boot%s",
                        format_sec(k->ended_at, sec), delay_to_words(s, buf));
}

int status_judge_kernel(Status *s) {
        int r;

        r = judge_nodes(s);
        if (r >= 0)
                r = judge_verdict(s);
        if (r >= 0)
                r = judge_promise(s);

        return r;
}
