/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "kernel-view.h"

#include "names.h"

#include <errno.h>

#define WORD_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789_-"

static const char *const node_paths[_KERNEL_NODE_MAX][KERNEL_NODE_PATHS_MAX] = {
        [KERNEL_NODE_ENDED] = { PATH_KERNEL_ENDED },
        [KERNEL_NODE_ENDED_BY] = { PATH_KERNEL_ENDED_BY },
        [KERNEL_NODE_ENDED_MS] = { PATH_KERNEL_ENDED_MS },
        [KERNEL_NODE_PROMISE] = { PATH_KERNEL_PROMISE, PATH_KERNEL_PROMISE_MODULE },
};

static const char *const cause_table[_KERNEL_CAUSE_MAX] = {
        [KERNEL_CAUSE_NONE] = "none",
        [KERNEL_CAUSE_USER_BOOTED] = "user_booted",
        [KERNEL_CAUSE_DELAY] = "delay",
        [KERNEL_CAUSE_FALLBACK] = "fallback",
        [KERNEL_CAUSE_UNLOAD] = "unload",
};

static const char *const verdict_table[_KERNEL_VERDICT_MAX] = {
        [KERNEL_VERDICT_AGREES] = "agrees",
        [KERNEL_VERDICT_GOES_ON] = "goes-on",
        [KERNEL_VERDICT_EARLIER] = "earlier",
        [KERNEL_VERDICT_LATER] = "later",
};

const char *const *kernel_node_paths(KernelNode node) {
        return node_paths[node];
}

const char *kernel_verdict_to_string(KernelVerdict verdict) {
        return verdict_table[verdict];
}

static int take_ended(KernelView *view, const char *text) {
        int64_t value;

        if (knob_parse_reading(text, &value) < 0 || value < 0 || value > 1)
                return -EINVAL;

        view->ended = value;
        return 0;
}

/* A word that we do not know is no garbage: kernels may come to have further causes. */
static int take_by(KernelView *view, const char *text) {
        size_t length = strspn(text, WORD_CHARACTERS);
        KernelCause by = KERNEL_CAUSE_OTHER;

        if (length == 0 || length >= KERNEL_WORD_MAX ||
                        !(text[length] == '\0' || streq(text + length, "\n")))
                return -EINVAL;

        for (KernelCause c = 0; c < KERNEL_CAUSE_OTHER; c++)
                if (strlen(cause_table[c]) == length && memcmp(text, cause_table[c], length) == 0)
                        by = c;
        if ((by != KERNEL_CAUSE_NONE) != view->ended)
                return -EINVAL;

        view->by = by;
        memcpy(view->by_word, text, length);
        view->by_word[length] = '\0';
        return 0;
}

static int take_ms(KernelView *view, const char *text) {
        int64_t ms;

        if (knob_parse_reading(text, &ms) < 0 || ms < 0 || ms > INT64_MAX / (int64_t) USEC_PER_MSEC)
                return -EINVAL;
        if ((ms > 0) != view->ended)
                return -EINVAL;

        view->ended_at = (usec_t) ms * USEC_PER_MSEC;
        return 0;
}

static int take_promise(KernelView *view, const char *text) {
        if ((text[0] != 'Y' && text[0] != 'N') || !(text[1] == '\0' || streq(text + 1, "\n")))
                return -EINVAL;

        view->promised = text[0] == 'Y';
        return 0;
}

int kernel_view_take(KernelView *view, KernelNode node, const char *text) {
        static int (*const take[_KERNEL_NODE_MAX])(KernelView *, const char *) = {
                [KERNEL_NODE_ENDED] = take_ended,
                [KERNEL_NODE_ENDED_BY] = take_by,
                [KERNEL_NODE_ENDED_MS] = take_ms,
                [KERNEL_NODE_PROMISE] = take_promise,
        };

        return view->error[node] = take[node](view, text);
}

int kernel_view_fault(const KernelView *view, KernelNode node) {
        bool needed = view->ended && (node == KERNEL_NODE_ENDED_BY || node == KERNEL_NODE_ENDED_MS);

        return view->error[node] == -ENOENT && !needed ? 0 : view->error[node];
}

bool kernel_view_is_present(const KernelView *view) {
        return view->error[KERNEL_NODE_ENDED] != -ENOENT;
}

bool kernel_view_is_usable(const KernelView *view) {
        return view->error[KERNEL_NODE_ENDED] == 0 && kernel_view_fault(view, KERNEL_NODE_ENDED_BY) == 0 &&
                        kernel_view_fault(view, KERNEL_NODE_ENDED_MS) == 0;
}

static bool was_written(const BootRecord *record, Knob knob, KnobStage stage) {
        const KnobResult *result = &record->knobs[knob].result[stage];

        return result->attempted && result->error == 0;
}

/* The delay was written, but the kernel had ended by then. */
static bool came_too_late(const BootRecord *record) {
        const KnobResult *result = &record->knobs[KNOB_BOOT_END_DELAY].result[KNOB_STAGE_AFTER];

        return result->attempted &&
                        knob_error_is_benign(KNOB_BOOT_END_DELAY, KNOB_STAGE_AFTER, result->error);
}

KernelTold kernel_view_told(const BootRecord *record) {
        static const Knob tells[] = { KNOB_USER_BOOTED, KNOB_BOOT_END_DELAY };
        bool asked = false, failed = false;

        if (came_too_late(record))
                return KERNEL_TOLD_YES;

        for (size_t i = 0; i < ELEMENTSOF(tells); i++) {
                const KnobRecord *k = &record->knobs[tells[i]];

                if (was_written(record, tells[i], KNOB_STAGE_AFTER))
                        return KERNEL_TOLD_YES;
                asked = asked || k->setting[KNOB_STAGE_AFTER].action == KNOB_ACTION_VALUE;
                failed = failed || k->result[KNOB_STAGE_AFTER].attempted;
        }

        return failed ? KERNEL_TOLD_FAILED : asked ? KERNEL_TOLD_ABSENT : KERNEL_TOLD_UNASKED;
}

/* The kernel's timer was set to our deadline, and both have run out: which of them was looked at first means
 * nothing. */
static bool ended_at_our_deadline(const KernelView *view, const BootRecord *record) {
        const KnobResult *during = &record->knobs[KNOB_BOOT_END_DELAY].result[KNOB_STAGE_DURING];
        usec_t deadline = record->deadline / USEC_PER_MSEC * USEC_PER_MSEC;

        return (view->by == KERNEL_CAUSE_DELAY || view->by == KERNEL_CAUSE_FALLBACK) &&
                        record->reason == BOOT_REASON_DEADLINE &&
                        was_written(record, KNOB_BOOT_END_DELAY, KNOB_STAGE_DURING) &&
                        (usec_t) during->asked * USEC_PER_MSEC == deadline && view->ended_at >= deadline;
}

/* Given that it was not before our decision. */
static bool ended_by_us(const KernelView *view, const BootRecord *record) {
        bool reported = was_written(record, KNOB_USER_BOOTED, KNOB_STAGE_AFTER);

        switch (view->by) {
        case KERNEL_CAUSE_USER_BOOTED:
                return reported;
        case KERNEL_CAUSE_DELAY:
                if (was_written(record, KNOB_BOOT_END_DELAY, KNOB_STAGE_AFTER))
                        return true;
                _fallthrough_;
        case KERNEL_CAUSE_FALLBACK:
                /* The timer was quicker than our write. But had we reported just before, it was the report
                 * that ended it, and this is the end of another boot: the module was loaded anew. */
                return came_too_late(record) && !reported;
        case KERNEL_CAUSE_OTHER:
                return kernel_view_told(record) == KERNEL_TOLD_YES;
        default:
                return false;
        }
}

KernelVerdict kernel_view_judge(const KernelView *view, const BootRecord *record) {
        bool open = record->phase == BOOT_PHASE_PROBING || record->phase == BOOT_PHASE_BOOTING;

        if (!kernel_view_is_usable(view) || record->phase == BOOT_PHASE_NONE)
                return KERNEL_VERDICT_NONE;
        if (!view->ended)
                return record->phase == BOOT_PHASE_ENDED ? KERNEL_VERDICT_GOES_ON : KERNEL_VERDICT_AGREES;
        if (open)
                return KERNEL_VERDICT_EARLIER;
        if (ended_at_our_deadline(view, record))
                return KERNEL_VERDICT_AGREES;
        if (view->ended_at / USEC_PER_MSEC < record->since / USEC_PER_MSEC)
                return KERNEL_VERDICT_EARLIER;
        /* While we are ending, what became of the writes is not known yet. */
        return record->phase == BOOT_PHASE_ENDING || ended_by_us(view, record) ? KERNEL_VERDICT_AGREES
                                                                               : KERNEL_VERDICT_LATER;
}
