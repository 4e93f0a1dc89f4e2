/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "kernel-view.h"

#include "test-util.h"

/* Spelled out, not by the macros of names.h: what the kernel calls them. */
static const char *const paths[_KERNEL_NODE_MAX][KERNEL_NODE_PATHS_MAX] = {
        [KERNEL_NODE_ENDED] = { "sys/kernel/rcu_boot_ended" },
        [KERNEL_NODE_ENDED_BY] = { "sys/kernel/rcu_boot_ended_by" },
        [KERNEL_NODE_ENDED_MS] = { "sys/kernel/rcu_boot_ended_ms" },
        [KERNEL_NODE_PROMISE] = { "sys/module/kernel/parameters/user_booted_reported",
                        "sys/module/rcu_boot_end/parameters/user_booted_reported" },
};

START_TEST(nodes) {
        for (KernelNode node = 0; node < _KERNEL_NODE_MAX; node++)
                for (size_t i = 0; i < KERNEL_NODE_PATHS_MAX; i++)
                        ck_assert_pstr_eq(kernel_node_paths(node)[i], paths[node][i]);
}
END_TEST

/* --- the texts --- */

static const struct {
        const char *text;
        int value; /* of `ended`; -1: refused */
} ended_table[] = {
        { "0\n", 0 },
        { "1\n", 1 },
        { "0", 0 },
        { "1", 1 },
        { "", -1 },
        { "\n", -1 },
        { "2\n", -1 },
        { "-1\n", -1 },
        { "01\n", -1 },
        { "1\n\n", -1 },
        { "1\n0\n", -1 },
        { " 1\n", -1 },
        { "1 \n", -1 },
        { "Y\n", -1 },
        { "true\n", -1 },
        { "4294967297\n", -1 },
};

START_TEST(takes_ended) {
        KernelView view = KERNEL_VIEW_ABSENT;
        bool refused = ended_table[_i].value < 0;

        ck_assert_int_eq(kernel_view_take(&view, KERNEL_NODE_ENDED, ended_table[_i].text),
                        refused ? -EINVAL : 0);
        ck_assert_int_eq(view.error[KERNEL_NODE_ENDED], refused ? -EINVAL : 0);
        ck_assert_int_eq(view.ended, ended_table[_i].value == 1);
        ck_assert(kernel_view_is_present(&view));
}
END_TEST

static const struct {
        bool ended;
        const char *text;
        KernelCause by; /* NONE: refused */
        const char *word;
} by_table[] = {
        { true, "user_booted\n", KERNEL_CAUSE_USER_BOOTED, "user_booted" },
        { true, "user_booted", KERNEL_CAUSE_USER_BOOTED, "user_booted" },
        { true, "delay\n", KERNEL_CAUSE_DELAY, "delay" },
        { true, "fallback\n", KERNEL_CAUSE_FALLBACK, "fallback" },
        { true, "unload\n", KERNEL_CAUSE_UNLOAD, "unload" },
        /* what a newer kernel may say */
        { true, "user\n", KERNEL_CAUSE_OTHER, "user" },
        { true, "user_booted2\n", KERNEL_CAUSE_OTHER, "user_booted2" },
        { true, "a-watchdog-of-31-characters-no1\n", KERNEL_CAUSE_OTHER, "a-watchdog-of-31-characters-no1" },
        /* contradictions */
        { true, "none\n", KERNEL_CAUSE_NONE, "" },
        { false, "delay\n", KERNEL_CAUSE_NONE, "" },
        { false, "anything\n", KERNEL_CAUSE_NONE, "" },
        /* garbage */
        { true, "", KERNEL_CAUSE_NONE, "" },
        { true, "\n", KERNEL_CAUSE_NONE, "" },
        { true, "delay\n\n", KERNEL_CAUSE_NONE, "" },
        { true, "delay\nx", KERNEL_CAUSE_NONE, "" },
        { true, " delay\n", KERNEL_CAUSE_NONE, "" },
        { true, "delay \n", KERNEL_CAUSE_NONE, "" },
        { true, "the delay\n", KERNEL_CAUSE_NONE, "" },
        { true, "Delay\n", KERNEL_CAUSE_NONE, "" },
        { true, "delay\x1b[2J\n", KERNEL_CAUSE_NONE, "" },
        { true, "d\xc3\xa9lai\n", KERNEL_CAUSE_NONE, "" },
        { true, "a-watchdog-of-32-characters-no-1\n", KERNEL_CAUSE_NONE, "" },
};

START_TEST(takes_by) {
        KernelView view = KERNEL_VIEW_ABSENT;
        bool refused = by_table[_i].by == KERNEL_CAUSE_NONE;

        view.ended = by_table[_i].ended;
        ck_assert_int_eq(kernel_view_take(&view, KERNEL_NODE_ENDED_BY, by_table[_i].text),
                        refused ? -EINVAL : 0);
        ck_assert_int_eq(view.error[KERNEL_NODE_ENDED_BY], refused ? -EINVAL : 0);
        ck_assert_int_eq(view.by, by_table[_i].by);
        ck_assert_str_eq(view.by_word, by_table[_i].word);
}
END_TEST

/* Before the end that word is no contradiction. */
START_TEST(takes_none) {
        KernelView view = KERNEL_VIEW_ABSENT;

        ck_assert_int_eq(kernel_view_take(&view, KERNEL_NODE_ENDED_BY, "none\n"), 0);
        ck_assert_int_eq(view.by, KERNEL_CAUSE_NONE);
        ck_assert_str_eq(view.by_word, "none");
}
END_TEST

static const struct {
        bool ended;
        const char *text;
        int r;
        usec_t at;
} ms_table[] = {
        { true, "4269\n", 0, UINT64_C(4269000) },
        { true, "1", 0, UINT64_C(1000) },
        { true, "4294967296\n", 0, UINT64_C(4294967296000) },
        { true, "9223372036854775\n", 0, UINT64_C(9223372036854775000) },
        { false, "0\n", 0, 0 },
        { true, "0\n", -EINVAL, 0 },
        { false, "1\n", -EINVAL, 0 },
        { true, "9223372036854776\n", -EINVAL, 0 },
        { true, "18446744073709551615\n", -EINVAL, 0 },
        { true, "-1\n", -EINVAL, 0 },
        { true, "", -EINVAL, 0 },
        { true, "04269\n", -EINVAL, 0 },
        { true, "4269 ms\n", -EINVAL, 0 },
        { true, "4269\n4270\n", -EINVAL, 0 },
        { true, "0x10\n", -EINVAL, 0 },
        { true, "4.269\n", -EINVAL, 0 },
};

START_TEST(takes_ms) {
        KernelView view = KERNEL_VIEW_ABSENT;

        view.ended = ms_table[_i].ended;
        ck_assert_int_eq(kernel_view_take(&view, KERNEL_NODE_ENDED_MS, ms_table[_i].text), ms_table[_i].r);
        ck_assert_int_eq(view.error[KERNEL_NODE_ENDED_MS], ms_table[_i].r);
        ck_assert_uint_eq(view.ended_at, ms_table[_i].at);
}
END_TEST

static const struct {
        const char *text;
        int r;
        bool promised;
} promise_table[] = {
        { "Y\n", 0, true },
        { "N\n", 0, false },
        { "Y", 0, true },
        { "N", 0, false },
        { "", -EINVAL, false },
        { "\n", -EINVAL, false },
        { "y\n", -EINVAL, false },
        { "1\n", -EINVAL, false },
        { "YN\n", -EINVAL, false },
        { "Y\n\n", -EINVAL, false },
        { "Y N\n", -EINVAL, false },
        { "Yes\n", -EINVAL, false },
};

START_TEST(takes_promise) {
        KernelView view = KERNEL_VIEW_ABSENT;

        ck_assert_int_eq(kernel_view_take(&view, KERNEL_NODE_PROMISE, promise_table[_i].text),
                        promise_table[_i].r);
        ck_assert_int_eq(view.error[KERNEL_NODE_PROMISE], promise_table[_i].r);
        ck_assert(view.promised == promise_table[_i].promised);
        /* It says nothing of the end. */
        ck_assert(!kernel_view_is_present(&view));
}
END_TEST

/* --- the view as a whole --- */

static const struct {
        int error[_KERNEL_NODE_MAX];
        bool ended;
        bool present, usable;
        int fault[_KERNEL_NODE_MAX];
} fault_table[] = {
        { { -ENOENT, -ENOENT, -ENOENT, -ENOENT }, false, false, false, {} },
        { { -ENOENT, -ENOENT, -ENOENT, 0 }, false, false, false, {} },
        { { 0, -ENOENT, -ENOENT, -ENOENT }, false, true, true, {} },
        { { 0, 0, 0, 0 }, true, true, true, {} },
        { { 0, -ENOENT, 0, 0 }, true, true, false, { 0, -ENOENT, 0, 0 } },
        { { 0, 0, -ENOENT, 0 }, true, true, false, { 0, 0, -ENOENT, 0 } },
        { { 0, -EINVAL, 0, 0 }, true, true, false, { 0, -EINVAL, 0, 0 } },
        { { 0, 0, -EACCES, 0 }, true, true, false, { 0, 0, -EACCES, 0 } },
        { { -EINVAL, -ENOENT, -ENOENT, 0 }, false, true, false, { -EINVAL, 0, 0, 0 } },
        { { 0, 0, 0, -EINVAL }, true, true, true, { 0, 0, 0, -EINVAL } },
};

START_TEST(faults) {
        KernelView view = { .ended = fault_table[_i].ended };

        memcpy(view.error, fault_table[_i].error, sizeof(view.error));
        ck_assert(kernel_view_is_present(&view) == fault_table[_i].present);
        ck_assert(kernel_view_is_usable(&view) == fault_table[_i].usable);
        for (KernelNode node = 0; node < _KERNEL_NODE_MAX; node++)
                ck_assert_int_eq(kernel_view_fault(&view, node), fault_table[_i].fault[node]);
}
END_TEST

START_TEST(absent) {
        KernelView view = KERNEL_VIEW_ABSENT;

        ck_assert(!kernel_view_is_present(&view) && !view.ended && !view.promised);
        for (KernelNode node = 0; node < _KERNEL_NODE_MAX; node++)
                ck_assert_int_eq(view.error[node], -ENOENT);
}
END_TEST

/* --- beside our own end --- */

/* What the policy says of a knob in [After], and what became of it. */
typedef enum Write {
        NOT_NAMED,
        KEPT,
        NOT_THERE,
        DONE,
        FAILED,
        BUSY,
} Write;

static void write_after(BootRecord *r, Knob knob, Write write) {
        static const int errors[] = { [DONE] = 0, [FAILED] = -EROFS, [BUSY] = -EBUSY };
        KnobRecord *k = &r->knobs[knob];

        if (write == NOT_NAMED)
                return;
        k->setting[KNOB_STAGE_AFTER].action = write == KEPT ? KNOB_ACTION_KEEP : KNOB_ACTION_VALUE;
        if (write >= DONE)
                k->result[KNOB_STAGE_AFTER] = (KnobResult){ .attempted = true, .error = errors[write] };
}

static const struct {
        Write report, delay;
        KernelTold told;
} told_table[] = {
        { NOT_NAMED, NOT_NAMED, KERNEL_TOLD_UNASKED },
        { NOT_NAMED, KEPT, KERNEL_TOLD_UNASKED },
        { NOT_THERE, NOT_NAMED, KERNEL_TOLD_ABSENT },
        { NOT_NAMED, NOT_THERE, KERNEL_TOLD_ABSENT },
        { NOT_THERE, NOT_THERE, KERNEL_TOLD_ABSENT },
        { FAILED, NOT_THERE, KERNEL_TOLD_FAILED },
        { NOT_THERE, FAILED, KERNEL_TOLD_FAILED },
        { FAILED, FAILED, KERNEL_TOLD_FAILED },
        { BUSY, NOT_NAMED, KERNEL_TOLD_FAILED },
        { DONE, NOT_NAMED, KERNEL_TOLD_YES },
        { NOT_NAMED, DONE, KERNEL_TOLD_YES },
        { FAILED, DONE, KERNEL_TOLD_YES },
        { DONE, FAILED, KERNEL_TOLD_YES },
        { DONE, BUSY, KERNEL_TOLD_YES },
        { NOT_NAMED, BUSY, KERNEL_TOLD_YES },
};

START_TEST(told) {
        BootRecord record = {};

        write_after(&record, KNOB_USER_BOOTED, told_table[_i].report);
        write_after(&record, KNOB_BOOT_END_DELAY, told_table[_i].delay);
        ck_assert_int_eq(kernel_view_told(&record), told_table[_i].told);
        ck_assert(boot_record_reports(&record) == (told_table[_i].report > KEPT));
}
END_TEST

#define OURS UINT64_C(12345678)     /* when we decided, in usec */
#define DEADLINE UINT64_C(60000999) /* ours: its milliseconds are what the kernel is told */

static const struct {
        const char *what;
        BootPhase phase;
        BootReason reason;
        usec_t since;
        Write report, delay;
        int64_t during; /* rcu_boot_end_delay in [During]; 0: not written, < 0: that failed */
        KernelCause by; /* NONE: it has not ended */
        uint64_t ms;
        KernelVerdict verdict;
} verdict_table[] = {
#define OPEN(phase) phase, BOOT_REASON_NONE, 2000000, NOT_THERE, NOT_THERE, 60000
#define ENDED BOOT_PHASE_ENDED, BOOT_REASON_MILESTONES, OURS
#define AT_DEADLINE BOOT_PHASE_ENDED, BOOT_REASON_DEADLINE
        { "no record", BOOT_PHASE_NONE, BOOT_REASON_NONE, 0, NOT_NAMED, NOT_NAMED, 0, KERNEL_CAUSE_DELAY,
                        15000, KERNEL_VERDICT_NONE },
        { "both look", OPEN(BOOT_PHASE_PROBING), KERNEL_CAUSE_NONE, 0, KERNEL_VERDICT_AGREES },
        { "both go on", OPEN(BOOT_PHASE_BOOTING), KERNEL_CAUSE_NONE, 0, KERNEL_VERDICT_AGREES },
        { "its timer, we look", OPEN(BOOT_PHASE_PROBING), KERNEL_CAUSE_DELAY, 1000, KERNEL_VERDICT_EARLIER },
        { "its timer, we go on", OPEN(BOOT_PHASE_BOOTING), KERNEL_CAUSE_DELAY, 15000,
                        KERNEL_VERDICT_EARLIER },
        { "our deadline is its, we go on", OPEN(BOOT_PHASE_BOOTING), KERNEL_CAUSE_DELAY, 60000,
                        KERNEL_VERDICT_EARLIER },
        { "being written", BOOT_PHASE_ENDING, BOOT_REASON_MANUAL, OURS, NOT_THERE, NOT_THERE, 0,
                        KERNEL_CAUSE_NONE, 0, KERNEL_VERDICT_AGREES },
        { "just written", BOOT_PHASE_ENDING, BOOT_REASON_MANUAL, OURS, NOT_THERE, NOT_THERE, 0,
                        KERNEL_CAUSE_USER_BOOTED, 12345, KERNEL_VERDICT_AGREES },
        { "being written, too late", BOOT_PHASE_ENDING, BOOT_REASON_MANUAL, OURS, NOT_THERE, NOT_THERE, 0,
                        KERNEL_CAUSE_USER_BOOTED, 12344, KERNEL_VERDICT_EARLIER },
        /* We have ended, the kernel has not. */
        { "never told", ENDED, NOT_NAMED, NOT_NAMED, 0, KERNEL_CAUSE_NONE, 0, KERNEL_VERDICT_GOES_ON },
        { "telling failed", ENDED, FAILED, FAILED, 0, KERNEL_CAUSE_NONE, 0, KERNEL_VERDICT_GOES_ON },
        { "told, then another module", ENDED, DONE, BUSY, 0, KERNEL_CAUSE_NONE, 0, KERNEL_VERDICT_GOES_ON },
        /* By us: in the same millisecond as we decided, or whenever we got to it. */
        { "our report", ENDED, DONE, BUSY, 60000, KERNEL_CAUSE_USER_BOOTED, 12345, KERNEL_VERDICT_AGREES },
        { "our report, slowly", ENDED, DONE, BUSY, 0, KERNEL_CAUSE_USER_BOOTED, 14345,
                        KERNEL_VERDICT_AGREES },
        { "our delay", ENDED, NOT_NAMED, DONE, 0, KERNEL_CAUSE_DELAY, 12346, KERNEL_VERDICT_AGREES },
        { "our delay, told it is no report", ENDED, DONE, DONE, 0, KERNEL_CAUSE_DELAY, 12346,
                        KERNEL_VERDICT_AGREES },
        { "our delay came a moment after its timer", ENDED, NOT_NAMED, BUSY, 0, KERNEL_CAUSE_DELAY, 12346,
                        KERNEL_VERDICT_AGREES },
        { "its fallback, a moment before", ENDED, FAILED, BUSY, 0, KERNEL_CAUSE_FALLBACK, 12346,
                        KERNEL_VERDICT_AGREES },
        { "by a word that is new", ENDED, DONE, BUSY, 0, KERNEL_CAUSE_OTHER, 12346, KERNEL_VERDICT_AGREES },
        /* Before us. */
        { "another's report", ENDED, DONE, BUSY, 0, KERNEL_CAUSE_USER_BOOTED, 12344,
                        KERNEL_VERDICT_EARLIER },
        { "its timer", ENDED, DONE, BUSY, 0, KERNEL_CAUSE_DELAY, 4269, KERNEL_VERDICT_EARLIER },
        { "its timer, nothing told", ENDED, NOT_NAMED, NOT_NAMED, 0, KERNEL_CAUSE_DELAY, 12344,
                        KERNEL_VERDICT_EARLIER },
        { "its fallback", ENDED, DONE, BUSY, 0, KERNEL_CAUSE_FALLBACK, 4269, KERNEL_VERDICT_EARLIER },
        { "its module's end", ENDED, DONE, BUSY, 0, KERNEL_CAUSE_UNLOAD, 4269, KERNEL_VERDICT_EARLIER },
        { "by a word that is new, before", ENDED, DONE, BUSY, 0, KERNEL_CAUSE_OTHER, 4269,
                        KERNEL_VERDICT_EARLIER },
        { "hours before the daemon came", BOOT_PHASE_ENDED, BOOT_REASON_LATE_START, UINT64_C(7200000000),
                        DONE, BUSY, 0, KERNEL_CAUSE_DELAY, 120000, KERNEL_VERDICT_EARLIER },
        /* After us, and not by us. */
        { "another's report, ours failed", ENDED, FAILED, NOT_NAMED, 0, KERNEL_CAUSE_USER_BOOTED, 20000,
                        KERNEL_VERDICT_LATER },
        { "another's report, ours is not in the policy", ENDED, NOT_NAMED, NOT_NAMED, 0,
                        KERNEL_CAUSE_USER_BOOTED, 12345, KERNEL_VERDICT_LATER },
        { "its timer, we told nothing", ENDED, NOT_NAMED, KEPT, 0, KERNEL_CAUSE_DELAY, 15000,
                        KERNEL_VERDICT_LATER },
        { "its timer, what we tell was not there", ENDED, NOT_THERE, NOT_THERE, 0, KERNEL_CAUSE_DELAY, 15000,
                        KERNEL_VERDICT_LATER },
        { "its fallback, we told nothing", ENDED, NOT_NAMED, NOT_NAMED, 0, KERNEL_CAUSE_FALLBACK, 120000,
                        KERNEL_VERDICT_LATER },
        { "its fallback, although we wrote the delay", ENDED, NOT_NAMED, DONE, 0, KERNEL_CAUSE_FALLBACK,
                        120000, KERNEL_VERDICT_LATER },
        { "another boot's, of a module loaded anew", ENDED, DONE, BUSY, 0, KERNEL_CAUSE_DELAY, 500000,
                        KERNEL_VERDICT_LATER },
        { "the same, by its end", ENDED, DONE, BUSY, 0, KERNEL_CAUSE_UNLOAD, 500000, KERNEL_VERDICT_LATER },
        { "by a word that is new, and we told nothing", ENDED, NOT_NAMED, NOT_NAMED, 0, KERNEL_CAUSE_OTHER,
                        12346, KERNEL_VERDICT_LATER },
        /* Its timer was set to our deadline: whoever of the two looks first. */
        { "the deadline, it was quicker", AT_DEADLINE, 60003000, DONE, BUSY, 60000, KERNEL_CAUSE_DELAY,
                        60000, KERNEL_VERDICT_AGREES },
        { "the deadline, we were quicker", AT_DEADLINE, 60000999, FAILED, FAILED, 60000,
                        KERNEL_CAUSE_FALLBACK, 60002, KERNEL_VERDICT_AGREES },
        { "the deadline, promised", AT_DEADLINE, 60009000, DONE, BUSY, 60000, KERNEL_CAUSE_FALLBACK, 60001,
                        KERNEL_VERDICT_AGREES },
        { "the deadline, but it was set to less since", AT_DEADLINE, 60003000, DONE, BUSY, 60000,
                        KERNEL_CAUSE_DELAY, 59999, KERNEL_VERDICT_EARLIER },
        { "the deadline was moved beyond its range", AT_DEADLINE, 60003000, DONE, BUSY, 50000,
                        KERNEL_CAUSE_DELAY, 60000, KERNEL_VERDICT_EARLIER },
        { "the deadline, which it would not take", AT_DEADLINE, 60003000, DONE, BUSY, -60000,
                        KERNEL_CAUSE_DELAY, 60000, KERNEL_VERDICT_EARLIER },
        { "the deadline, and another's report", AT_DEADLINE, 60003000, DONE, BUSY, 60000,
                        KERNEL_CAUSE_USER_BOOTED, 60001, KERNEL_VERDICT_EARLIER },
        { "its deadline, and we were killed", BOOT_PHASE_ENDED, BOOT_REASON_DAEMON_DIED, 61000000, DONE,
                        BUSY, 60000, KERNEL_CAUSE_DELAY, 60000, KERNEL_VERDICT_EARLIER },
#undef OPEN
#undef ENDED
#undef AT_DEADLINE
};

START_TEST(verdicts) {
        BootRecord record = {
                .phase = verdict_table[_i].phase,
                .reason = verdict_table[_i].reason,
                .since = verdict_table[_i].since,
                .deadline = DEADLINE,
        };
        KernelView view = {
                .ended = verdict_table[_i].by != KERNEL_CAUSE_NONE,
                .by = verdict_table[_i].by,
                .ended_at = verdict_table[_i].ms * USEC_PER_MSEC,
        };
        int64_t during = verdict_table[_i].during;

        write_after(&record, KNOB_USER_BOOTED, verdict_table[_i].report);
        write_after(&record, KNOB_BOOT_END_DELAY, verdict_table[_i].delay);
        if (during != 0)
                record.knobs[KNOB_BOOT_END_DELAY].result[KNOB_STAGE_DURING] = (KnobResult){
                        .attempted = true,
                        .asked = during < 0 ? -during : during,
                        .error = during < 0 ? -EINVAL : 0,
                };
        ck_assert_msg(kernel_view_judge(&view, &record) == verdict_table[_i].verdict, "%s: %s",
                        verdict_table[_i].what,
                        strempty(kernel_verdict_to_string(kernel_view_judge(&view, &record))));

        /* Of what cannot be read nothing is said. */
        view.error[view.ended ? KERNEL_NODE_ENDED_MS : KERNEL_NODE_ENDED] = -EINVAL;
        ck_assert_int_eq(kernel_view_judge(&view, &record), KERNEL_VERDICT_NONE);
        view = (KernelView) KERNEL_VIEW_ABSENT;
        ck_assert_int_eq(kernel_view_judge(&view, &record), KERNEL_VERDICT_NONE);
}
END_TEST

START_TEST(names) {
        ck_assert_ptr_null(kernel_verdict_to_string(KERNEL_VERDICT_NONE));
        for (KernelVerdict v = KERNEL_VERDICT_NONE + 1; v < _KERNEL_VERDICT_MAX; v++)
                ck_assert_uint_gt(strlen(kernel_verdict_to_string(v)), 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("kernel-view");
        TCase *tc = tcase_create("kernel-view");

        tcase_add_test(tc, nodes);
        tcase_add_loop_test(tc, takes_ended, 0, ELEMENTSOF(ended_table));
        tcase_add_loop_test(tc, takes_by, 0, ELEMENTSOF(by_table));
        tcase_add_test(tc, takes_none);
        tcase_add_loop_test(tc, takes_ms, 0, ELEMENTSOF(ms_table));
        tcase_add_loop_test(tc, takes_promise, 0, ELEMENTSOF(promise_table));
        tcase_add_loop_test(tc, faults, 0, ELEMENTSOF(fault_table));
        tcase_add_test(tc, absent);
        tcase_add_loop_test(tc, told, 0, ELEMENTSOF(told_table));
        tcase_add_loop_test(tc, verdicts, 0, ELEMENTSOF(verdict_table));
        tcase_add_test(tc, names);
        suite_add_tcase(suite, tc);
        return test_run(suite);
}
