/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state.h"

#include <errno.h>

#include "strv.h"
#include "test-util.h"

/* A record with everything in it. */
static BootRecord full_record(void) {
        BootRecord r = {
                .phase = BOOT_PHASE_ENDED,
                .reason = BOOT_REASON_MANUAL,
                .reason_text = "the operator's = wish",
                .since = 12345678,
                .started = 234567,
                .starts = 2,
                .deaths = 1,
                .not_before = 5 * USEC_PER_SEC,
                .deadline = 120 * USEC_PER_SEC,
                .extended = true,
                .mode = RCU_MODE_NORMAL,
                .policy_name = strdup("50-laptop.policy"),
                .policy_path = strdup("/usr/lib/rcu-bootd/policy.d/50-laptop.policy"),
                .policy_why = strdup("Chassis=laptop"),
                .reached = 1U << 1 | 1U << 3,
        };
        char *bad = NULL;

        ck_assert_int_ge(strv_extend(&r.allow_users, "app"), 0);
        ck_assert_int_ge(strv_extend(&r.allow_users, "1000"), 0);
        ck_assert_int_ge(milestone_condition_add(&r.end_when, "graphical.target home-screen", &bad), 0);
        ck_assert_int_ge(milestone_condition_add(&r.end_when,
                                         "device:drm/card* graphical.target dev-disk-by\\x2duuid-1.device",
                                         &bad),
                        0);
        r.reached_at[1] = 9876543;
        r.reached_by[1] = MILESTONE_SOURCE_INBOX;
        r.reached_at[3] = 8765432;
        r.reached_by[3] = MILESTONE_SOURCE_BUS;

        r.knobs[KNOB_EXPEDITED] = (KnobRecord){
                .present = true,
                .has_found = true,
                .found = -1,
                .setting = { { KNOB_ACTION_VALUE, 1 }, { KNOB_ACTION_RESTORE, 0 } },
                .result = { { .attempted = true, .asked = 1, .has_read_back = true, .read_back = 1 },
                                { .attempted = true, .asked = 0, .error = -EROFS } },
        };
        r.knobs[KNOB_NORMAL] = (KnobRecord){
                .present = true,
                .has_found = true,
                .found = 1,
                .kernel_default = 1,
                .setting = { {}, { KNOB_ACTION_KEEP, 0 } },
        };
        r.knobs[KNOB_BOOT_END_DELAY] = (KnobRecord){
                .setting = { { KNOB_ACTION_DEADLINE, 0 }, { KNOB_ACTION_VALUE, 0 } },
        };
        return r;
}

static char *format(const BootRecord *record) {
        char *text;

        ck_assert_int_ge(state_format(record, &text), 0);
        return text;
}

START_TEST(format_exact) {
        BootRecord record = full_record();
        _cleanup_free_ char *text = format(&record);

        /* This text is documented in rcu-bootd(8), and scripts read it. */
        ck_assert_str_eq(text,
                        "VERSION=1\n"
                        "PHASE=ended\n"
                        "REASON=manual\n"
                        "REASON_TEXT=the operator's = wish\n"
                        "SINCE_USEC=12345678\n"
                        "STARTED_USEC=234567\n"
                        "STARTS=2\n"
                        "DEATHS=1\n"
                        "NOT_BEFORE_USEC=5000000\n"
                        "DEADLINE_USEC=120000000\n"
                        "EXTENDED=1\n"
                        "MODE=normal\n"
                        "POLICY=50-laptop.policy\n"
                        "POLICY_FILE=/usr/lib/rcu-bootd/policy.d/50-laptop.policy\n"
                        "POLICY_WHY=Chassis=laptop\n"
                        "ALLOW_USERS=app 1000\n"
                        "END_WHEN_1=graphical.target home-screen\n"
                        "END_WHEN_2=graphical.target device:drm/card* dev-disk-by\\x2duuid-1.device\n"
                        "REACHED_2=9876543 inbox home-screen\n"
                        "REACHED_4=8765432 bus dev-disk-by\\x2duuid-1.device\n"
                        "KNOB_rcu_expedited=present:1 found:-1 default:0 during:1 during_asked:1 "
                        "during_errno:0 "
                        "during_read:1 after:restore after_asked:0 after_errno:30\n"
                        "KNOB_rcu_normal=present:1 found:1 default:1 after:keep\n"
                        "KNOB_rcu_normal_wake_from_gp=present:0 default:0\n"
                        "KNOB_rcu_boot_end_delay=present:0 default:0 during:deadline after:0\n"
                        "KNOB_user_booted=present:0 default:0\n"
                        "COMPLETE=1\n");
        boot_record_done(&record);
}
END_TEST

START_TEST(round_trip) {
        BootRecord record = full_record(), copy;
        _cleanup_free_ char *text = format(&record), *again = NULL;

        ck_assert_int_ge(state_parse(text, strlen(text), &copy), 0);
        again = format(&copy);
        ck_assert_str_eq(text, again);

        ck_assert_int_eq(copy.knobs[KNOB_EXPEDITED].result[KNOB_STAGE_AFTER].error, -EROFS);
        ck_assert_uint_eq(copy.reached, 1U << 1 | 1U << 3);
        ck_assert_uint_eq(copy.reached_at[1], 9876543);
        ck_assert(copy.extended);
        boot_record_done(&copy);
        boot_record_done(&record);
}
END_TEST

/* A text that was cut anywhere is not half-used. */
START_TEST(cut) {
        BootRecord record = full_record(), copy;
        _cleanup_free_ char *text = format(&record);

        for (size_t size = 0; size < strlen(text); size++)
                ck_assert_int_eq(state_parse(text, size, &copy), -EBADMSG);
        boot_record_done(&record);
}
END_TEST

/* No byte that is lost or changed makes it crash, or gives a record that is not one. */
START_TEST(damaged_byte) {
        BootRecord record = full_record(), copy;
        _cleanup_free_ char *text = format(&record);
        size_t size = strlen(text);

        for (size_t i = 0; i < size; i++)
                for (unsigned c = 0; c < 256; c += 5) {
                        char was = text[i];

                        text[i] = (char) c;
                        if (state_parse(text, size, &copy) >= 0) {
                                ck_assert_uint_gt(copy.deadline, 0);
                                ck_assert_uint_le(copy.deadline, POLICY_DEADLINE_MAX_USEC);
                                ck_assert_uint_gt(copy.end_when.n_alternatives, 0);
                                ck_assert_int_lt(copy.phase, _BOOT_PHASE_MAX);
                                boot_record_done(&copy);
                        }
                        text[i] = was;
                }
        boot_record_done(&record);
}
END_TEST

static const struct {
        const char *what;
        const char *from; /* this text is replaced by that */
        const char *to;
        int expected;
} change_table[] = {
        { "a key that is gone", "STARTS=2\n", "", -EBADMSG },
        { "a key twice", "STARTS=2\n", "STARTS=2\nSTARTS=2\n", -EBADMSG },
        { "a knob that is gone", "KNOB_user_booted=present:0 default:0\n", "", -EBADMSG },
        { "a knob twice", "KNOB_user_booted=present:0 default:0\n",
                        "KNOB_user_booted=present:0 default:0\nKNOB_user_booted=present:0 default:0\n",
                        -EBADMSG },
        { "an unknown key", "STARTS=2\n", "STARTS=2\nFLAVOUR=sweet\n", 0 },
        { "an unknown knob", "STARTS=2\n", "STARTS=2\nKNOB_rcu_novel=present:1 default:0\n", 0 },
        { "an unknown field of a knob", "found:1", "found:1 novel:7", 0 },
        { "a line without =", "STARTS=2\n", "STARTS=2\nnonsense\n", -EBADMSG },
        { "another version", "VERSION=1", "VERSION=2", -EBADMSG },
        { "version 0", "VERSION=1", "VERSION=0", -EBADMSG },
        { "an unknown phase", "PHASE=ended", "PHASE=over", -EBADMSG },
        { "no phase yet", "PHASE=ended", "PHASE=none", -EBADMSG },
        { "an unknown reason", "REASON=manual", "REASON=whim", -EBADMSG },
        { "an unknown mode", "MODE=normal", "MODE=brisk", -EBADMSG },
        { "a number with a sign", "STARTS=2", "STARTS=+2", -EBADMSG },
        { "a number with a blank", "STARTS=2", "STARTS= 2", -EBADMSG },
        { "a number that overflows", "SINCE_USEC=12345678", "SINCE_USEC=18446744073709551616", -EBADMSG },
        { "the largest number", "SINCE_USEC=12345678", "SINCE_USEC=18446744073709551615", 0 },
        { "no deadline", "DEADLINE_USEC=120000000", "DEADLINE_USEC=0", -EBADMSG },
        { "a deadline beyond the limit", "DEADLINE_USEC=120000000", "DEADLINE_USEC=3600000001", -EBADMSG },
        { "a truth of 2", "EXTENDED=1", "EXTENDED=2", -EBADMSG },
        { "alternatives out of order", "END_WHEN_2=", "END_WHEN_3=", -EBADMSG },
        { "an empty alternative",
                        "END_WHEN_2=graphical.target device:drm/card* dev-disk-by\\x2duuid-1.device",
                        "END_WHEN_2=", -EBADMSG },
        { "an unknown milestone reached", "inbox home-screen", "inbox away-screen", -EBADMSG },
        { "an unknown source", "inbox home-screen", "rumour home-screen", -EBADMSG },
        { "a value out of a knob's range", "during:1 ", "during:2 ", -EBADMSG },
        { "a field without colon", "present:1 found:1", "present found:1", -EBADMSG },
        { "an errno beyond the kernel's", "after_errno:30", "after_errno:4096", -EBADMSG },
};

START_TEST(changes) {
        BootRecord record = full_record(), copy;
        _cleanup_free_ char *text = format(&record), *changed = NULL;
        char *at = strstr(text, change_table[_i].from);
        int r;

        ck_assert_ptr_nonnull(at);
        ck_assert_int_ge(asprintf(&changed, "%.*s%s%s", (int) (at - text), text, change_table[_i].to,
                                         at + strlen(change_table[_i].from)),
                        0);
        r = state_parse(changed, strlen(changed), &copy);
        ck_assert_msg(r == change_table[_i].expected, "%s: %d", change_table[_i].what, r);
        if (r >= 0)
                boot_record_done(&copy);
        boot_record_done(&record);
}
END_TEST

/* A path or a reason with a line break in it cannot forge a key. */
START_TEST(line_breaks) {
        BootRecord record = full_record(), copy;
        _cleanup_free_ char *text = NULL;

        free(record.policy_path);
        record.policy_path = strdup("/tmp/x\nPHASE=booting\n");
        text = format(&record);
        ck_assert_int_ge(state_parse(text, strlen(text), &copy), 0);
        ck_assert_str_eq(copy.policy_path, "/tmp/x?PHASE=booting?");
        ck_assert_int_eq(copy.phase, BOOT_PHASE_ENDED);
        boot_record_done(&copy);
        boot_record_done(&record);
}
END_TEST

START_TEST(empty_and_huge) {
        _cleanup_free_ char *huge = malloc(STATE_SIZE_MAX + 1);
        BootRecord record;

        ck_assert_int_eq(state_parse("", 0, &record), -EBADMSG);
        ck_assert_int_eq(state_parse("COMPLETE=1\n", 11, &record), -EBADMSG);
        ck_assert_ptr_nonnull(huge);
        memset(huge, '\n', STATE_SIZE_MAX + 1);
        ck_assert_int_eq(state_parse(huge, STATE_SIZE_MAX + 1, &record), -EBADMSG);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("state");
        TCase *t = tcase_create("state");

        tcase_add_test(t, format_exact);
        tcase_add_test(t, round_trip);
        tcase_add_test(t, cut);
        tcase_add_test(t, damaged_byte);
        tcase_add_loop_test(t, changes, 0, ELEMENTSOF(change_table));
        tcase_add_test(t, line_breaks);
        tcase_add_test(t, empty_and_huge);
        suite_add_tcase(suite, t);
        return test_run(suite);
}
