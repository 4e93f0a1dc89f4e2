/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "knob.h"
#include "test-util.h"

#include <errno.h>

#define D KNOB_STAGE_DURING
#define A KNOB_STAGE_AFTER

/* Spelled out, not by the macros of names.h: what the kernel calls them, and what a mistake there would
 * change. */
static const struct {
        Knob knob;
        const char *name;
        const char *paths[KNOB_PATHS_MAX];
        bool restorable, reads_back;
        const char *unit;
} infos[] = {
        { KNOB_EXPEDITED, "rcu_expedited", { "sys/kernel/rcu_expedited" }, true, true, NULL },
        { KNOB_NORMAL, "rcu_normal", { "sys/kernel/rcu_normal" }, true, true, NULL },
        { KNOB_WAKE_FROM_GP, "rcu_normal_wake_from_gp",
                        { "sys/module/rcutree/parameters/rcu_normal_wake_from_gp" }, true, true, NULL },
        /* case 4: the plain name first, then Android's, then the module's. */
        { KNOB_BOOT_END_DELAY, "rcu_boot_end_delay",
                        { "sys/module/rcupdate/parameters/rcu_boot_end_delay",
                                        "sys/module/rcupdate/parameters/android_rcu_boot_end_delay",
                                        "sys/module/rcu_boot_end/parameters/rcu_boot_end_delay" },
                        false, false, "ms" },
        { KNOB_USER_BOOTED, "user_booted", { "proc/sys/kernel/user_booted" }, false, false, NULL },
};

START_TEST(info_case_04) {
        const KnobInfo *info = knob_info(infos[_i].knob);
        Knob knob = _KNOB_MAX;

        ck_assert_str_eq(info->name, infos[_i].name);
        for (size_t i = 0; i < KNOB_PATHS_MAX; i++)
                ck_assert_pstr_eq(info->paths[i], infos[_i].paths[i]);
        ck_assert(info->restorable == infos[_i].restorable);
        ck_assert(info->reads_back == infos[_i].reads_back);
        ck_assert_pstr_eq(info->unit, infos[_i].unit);
        ck_assert_uint_gt(strlen(info->meaning), 0);

        ck_assert_int_eq(knob_from_string(infos[_i].name, &knob), 0);
        ck_assert_int_eq(knob, infos[_i].knob);
}
END_TEST

START_TEST(every_knob_is_in_the_table) {
        ck_assert_uint_eq(ELEMENTSOF(infos), _KNOB_MAX);
        FOREACH_KNOB(k)
                ck_assert_int_eq(infos[k].knob, k);
}
END_TEST

static const char *const no_knobs[] = {
        "",
        "rcu",
        "rcu_expedite",
        "rcu_expedited ",
        " rcu_expedited",
        "RCU_EXPEDITED",
        "rcu-expedited",
        "android_rcu_boot_end_delay",
        "../rcu_normal",
        "sys/kernel/rcu_normal",
        "user_booted\n",
        "panic",
};

START_TEST(from_string_refuses) {
        Knob knob = _KNOB_MAX;

        ck_assert_int_eq(knob_from_string(no_knobs[_i], &knob), -EINVAL);
        ck_assert_int_eq(knob, _KNOB_MAX);
}
END_TEST

/* The safe order: at no moment is RCU both slow and intrusive. The report comes before the delay. */
START_TEST(order) {
        static const Knob expected[_KNOB_STAGE_MAX][_KNOB_MAX] = {
                { KNOB_EXPEDITED, KNOB_NORMAL, KNOB_WAKE_FROM_GP, KNOB_BOOT_END_DELAY, KNOB_USER_BOOTED },
                { KNOB_NORMAL, KNOB_EXPEDITED, KNOB_WAKE_FROM_GP, KNOB_USER_BOOTED, KNOB_BOOT_END_DELAY },
        };

        for (size_t i = 0; i < _KNOB_MAX; i++)
                ck_assert_int_eq(knob_order(_i, i), expected[_i][i]);
}
END_TEST

/* case 1, and all else to which the kernel would say EINVAL, or which it would take for another number than
 * the one that was meant (010 is 8). */
static const char *const garbage[] = {
        "Y",
        "y",
        "N",
        "on",
        "off",
        "yes",
        "true",
        "",
        " ",
        " 1",
        "1 ",
        "1\n",
        "\n",
        "\t1",
        "1\t",
        "+1",
        "--1",
        "-",
        "- 1",
        "-0",
        "00",
        "01",
        "010",
        "-01",
        "0x1",
        "0x0",
        "0b1",
        "1.0",
        "1,0",
        "1e0",
        "1;",
        "1 0",
        "\"1\"",
        "'1'",
        "1#",
        "1s",
        "1ms",
        "infinity",
        "Keep",
        "KEEP",
        "keep ",
        " keep",
        "restore ",
        "none",
        "null",
        "default",
        "%d",
        "deadline+1",
        "deadlin",
        "deadlines",
        "\xef\xbc\x91" /* a full-width 1 */,
        "1\xc2\xa0" /* no-break space */,
};

START_TEST(setting_refuses_garbage_case_01) {
        FOREACH_KNOB(k)
                for (KnobStage stage = 0; stage < _KNOB_STAGE_MAX; stage++) {
                        KnobSetting s = { .action = KNOB_ACTION_KEEP, .value = 77 };

                        ck_assert_int_eq(knob_parse_setting(k, stage, garbage[_i], &s), -EINVAL);
                        ck_assert_int_eq(s.action, KNOB_ACTION_KEEP);
                        ck_assert_int_eq(s.value, 77);
                }
}
END_TEST

#define NO_PLACE (-EOPNOTSUPP)

static const struct {
        Knob knob;
        const char *value;
        int r[_KNOB_STAGE_MAX];
} settings[] = {
        { KNOB_EXPEDITED, "0", { 0, 0 } },
        { KNOB_EXPEDITED, "1", { 0, 0 } },
        { KNOB_EXPEDITED, "2", { -ERANGE, -ERANGE } },
        { KNOB_EXPEDITED, "-1", { -ERANGE, -ERANGE } },
        { KNOB_EXPEDITED, "keep", { NO_PLACE, 0 } },
        { KNOB_EXPEDITED, "restore", { NO_PLACE, 0 } },
        { KNOB_EXPEDITED, "deadline", { NO_PLACE, NO_PLACE } },

        { KNOB_NORMAL, "0", { 0, 0 } },
        { KNOB_NORMAL, "1", { 0, 0 } },
        { KNOB_NORMAL, "2", { -ERANGE, -ERANGE } },
        { KNOB_NORMAL, "-1", { -ERANGE, -ERANGE } },
        { KNOB_NORMAL, "keep", { NO_PLACE, 0 } },
        { KNOB_NORMAL, "restore", { NO_PLACE, 0 } },
        { KNOB_NORMAL, "deadline", { NO_PLACE, NO_PLACE } },

        { KNOB_WAKE_FROM_GP, "0", { 0, 0 } },
        { KNOB_WAKE_FROM_GP, "1", { 0, 0 } },
        { KNOB_WAKE_FROM_GP, "2", { -ERANGE, -ERANGE } },
        { KNOB_WAKE_FROM_GP, "-1", { -ERANGE, -ERANGE } },
        { KNOB_WAKE_FROM_GP, "keep", { NO_PLACE, 0 } },
        { KNOB_WAKE_FROM_GP, "restore", { NO_PLACE, 0 } },
        { KNOB_WAKE_FROM_GP, "deadline", { NO_PLACE, NO_PLACE } },

        /* case 5: 0 ends the kernel's boot, so it is for [After] alone; the kernel's own limit is 120 s. */
        { KNOB_BOOT_END_DELAY, "0", { -ERANGE, 0 } },
        { KNOB_BOOT_END_DELAY, "1", { 0, -ERANGE } },
        { KNOB_BOOT_END_DELAY, "15000", { 0, -ERANGE } },
        { KNOB_BOOT_END_DELAY, "120000", { 0, -ERANGE } },
        { KNOB_BOOT_END_DELAY, "120001", { -ERANGE, -ERANGE } },
        { KNOB_BOOT_END_DELAY, "2147483648", { -ERANGE, -ERANGE } },
        { KNOB_BOOT_END_DELAY, "4294967295", { -ERANGE, -ERANGE } },
        { KNOB_BOOT_END_DELAY, "4294967296", { -ERANGE, -ERANGE } },
        { KNOB_BOOT_END_DELAY, "9223372036854775807", { -ERANGE, -ERANGE } },
        { KNOB_BOOT_END_DELAY, "9223372036854775808", { -ERANGE, -ERANGE } },
        { KNOB_BOOT_END_DELAY, "18446744073709551617", { -ERANGE, -ERANGE } },
        { KNOB_BOOT_END_DELAY, "100000000000000000000000000000000000001", { -ERANGE, -ERANGE } },
        { KNOB_BOOT_END_DELAY, "-1", { -ERANGE, -ERANGE } },
        { KNOB_BOOT_END_DELAY, "-9223372036854775808", { -ERANGE, -ERANGE } },
        { KNOB_BOOT_END_DELAY, "keep", { NO_PLACE, 0 } },
        { KNOB_BOOT_END_DELAY, "restore", { NO_PLACE, NO_PLACE } },
        { KNOB_BOOT_END_DELAY, "deadline", { 0, NO_PLACE } },

        { KNOB_USER_BOOTED, "0", { NO_PLACE, -ERANGE } },
        { KNOB_USER_BOOTED, "1", { NO_PLACE, 0 } },
        { KNOB_USER_BOOTED, "2", { NO_PLACE, -ERANGE } },
        { KNOB_USER_BOOTED, "keep", { NO_PLACE, NO_PLACE } },
        { KNOB_USER_BOOTED, "restore", { NO_PLACE, NO_PLACE } },
        { KNOB_USER_BOOTED, "deadline", { NO_PLACE, NO_PLACE } },
};

START_TEST(setting_case_05) {
        for (KnobStage stage = 0; stage < _KNOB_STAGE_MAX; stage++) {
                KnobSetting s = { .action = _KNOB_ACTION_MAX, .value = 77 };
                char buf[24];
                int r;

                r = knob_parse_setting(settings[_i].knob, stage, settings[_i].value, &s);
                ck_assert_int_eq(r, settings[_i].r[stage]);
                if (r == 0)
                        /* What was accepted means what it says. */
                        ck_assert_str_eq(knob_setting_to_string(&s, buf, sizeof(buf)), settings[_i].value);
                else {
                        ck_assert_int_eq(s.action, _KNOB_ACTION_MAX);
                        ck_assert_int_eq(s.value, 77);
                }
        }
}
END_TEST

START_TEST(setting_gives_action_and_number) {
        KnobSetting s;

        ck_assert_int_eq(knob_parse_setting(KNOB_BOOT_END_DELAY, D, "90000", &s), 0);
        ck_assert_int_eq(s.action, KNOB_ACTION_VALUE);
        ck_assert_int_eq(s.value, 90000);
        ck_assert_int_eq(knob_parse_setting(KNOB_BOOT_END_DELAY, D, "deadline", &s), 0);
        ck_assert_int_eq(s.action, KNOB_ACTION_DEADLINE);
        ck_assert_int_eq(s.value, 0);
        ck_assert_int_eq(knob_parse_setting(KNOB_NORMAL, A, "keep", &s), 0);
        ck_assert_int_eq(s.action, KNOB_ACTION_KEEP);
        ck_assert_int_eq(knob_parse_setting(KNOB_NORMAL, A, "restore", &s), 0);
        ck_assert_int_eq(s.action, KNOB_ACTION_RESTORE);
}
END_TEST

START_TEST(setting_to_string_fits) {
        char buf[24];

        ck_assert_str_eq(knob_setting_to_string(&(KnobSetting){ .value = 1 }, buf, sizeof(buf)), "");
        ck_assert_str_eq(knob_setting_to_string(
                                         &(KnobSetting){ .action = KNOB_ACTION_VALUE, .value = INT64_MIN },
                                         buf, sizeof(buf)),
                        "-9223372036854775808");
        ck_assert_str_eq(knob_setting_to_string(
                                         &(KnobSetting){ .action = KNOB_ACTION_VALUE, .value = INT64_MAX },
                                         buf, sizeof(buf)),
                        "9223372036854775807");
}
END_TEST

static const struct {
        const char *text;
        int r;
        int64_t value;
} readings[] = {
        { "0\n", 0, 0 },
        { "1\n", 0, 1 },
        { "1", 0, 1 },
        /* What the kernel stored for someone who wrote such a thing. */
        { "2\n", 0, 2 },
        { "8\n", 0, 8 },
        { "-1\n", 0, -1 },
        { "-2147483648\n", 0, INT32_MIN },
        { "4294967295\n", 0, UINT32_MAX },
        { "9223372036854775807\n", 0, INT64_MAX },
        { "-9223372036854775807", 0, -INT64_MAX },
        { "9223372036854775808\n", -EINVAL, 0 },
        { "99999999999999999999\n", -EINVAL, 0 },
        { "100000000000000000000\n", -EINVAL, 0 },
        { "1000000000000000000000000000000000000000000000000001\n", -EINVAL, 0 },
        { "", -EINVAL, 0 },
        { "\n", -EINVAL, 0 },
        { "1\n\n", -EINVAL, 0 },
        { "1\n2", -EINVAL, 0 },
        { " 1\n", -EINVAL, 0 },
        { "1 \n", -EINVAL, 0 },
        { "+1\n", -EINVAL, 0 },
        { "01\n", -EINVAL, 0 },
        { "-\n", -EINVAL, 0 },
        { "-0\n", -EINVAL, 0 },
        { "0x1\n", -EINVAL, 0 },
        { "Y\n", -EINVAL, 0 },
        { "1\r\n", -EINVAL, 0 },
};

START_TEST(reading) {
        int64_t value = 77;
        int r;

        r = knob_parse_reading(readings[_i].text, &value);
        ck_assert_int_eq(r, readings[_i].r);
        ck_assert_int_eq(value, r == 0 ? readings[_i].value : 77);
}
END_TEST

static const struct {
        const char *cmdline;
        bool realtime;
        int64_t normal, wake;
} defaults[] = {
        { NULL, false, 0, -1 },
        { "", false, 0, -1 },
        { "", true, 1, -1 },
        { "root=/dev/sda1 ro quiet\n", false, 0, -1 },
        { "rcupdate.rcu_normal=1", false, 1, -1 },
        { "rcupdate.rcu_normal=0", true, 1, -1 },
        { "rcupdate.rcu_normal_after_boot=1", false, 1, -1 },
        { "rcupdate.rcu_normal_after_boot=0", true, 0, -1 },
        { "rcupdate.rcu_normal_after_boot=0 rcupdate.rcu_normal=1", true, 1, -1 },
        { "quiet rcupdate.rcu_normal_after_boot=1 rcutree.rcu_normal_wake_from_gp=1\n", false, 1, 1 },
        { "rcutree.rcu_normal_wake_from_gp=0", false, 0, 0 },
        { "rcutree.rcu_normal_wake_from_gp=-1", false, 0, -1 },
        { "rcutree.rcu_normal_wake_from_gp=7", false, 0, 1 },
        /* kstrtoint() with base 0, and parameq(). */
        { "rcupdate.rcu_normal=0x1", false, 1, -1 },
        { "rcupdate.rcu_normal=0x0", false, 0, -1 },
        { "rcupdate.rcu_normal=010", false, 1, -1 },
        { "rcupdate.rcu_normal=+2", false, 1, -1 },
        { "rcupdate.rcu_normal=-1", false, 1, -1 },
        { "rcupdate.rcu-normal-after-boot=1", false, 1, -1 },
        { "rcupdate.rcu_normal=\"1\"", false, 1, -1 },
        { "\"rcupdate.rcu_normal=1\"", false, 1, -1 },
        /* The last one that the kernel can read counts. */
        { "rcupdate.rcu_normal=1 rcupdate.rcu_normal=0", false, 0, -1 },
        { "rcupdate.rcu_normal=0 rcupdate.rcu_normal=1", false, 1, -1 },
        { "rcupdate.rcu_normal=1 rcupdate.rcu_normal=Y", false, 1, -1 },
        { "rcupdate.rcu_normal=1 rcupdate.rcu_normal", false, 1, -1 },
        { "rcupdate.rcu_normal=1 rcupdate.rcu_normal=", false, 1, -1 },
        { "rcupdate.rcu_normal=1 rcupdate.rcu_normal=99999999999", false, 1, -1 },
        { "rcupdate.rcu_normal=1 rcupdate.rcu_normal=99999999999999999999999", false, 1, -1 },
        { "rcupdate.rcu_normal=1x", false, 0, -1 },
        { "rcupdate.rcu_normal=\t1", false, 0, -1 },
        { "rcupdate.rcu_normal==1", false, 0, -1 },
        /* Other names, and what is not for the kernel. */
        { "rcu_normal=1", false, 0, -1 },
        { "xrcupdate.rcu_normal=1", false, 0, -1 },
        { "rcupdate.rcu_normal.x=1", false, 0, -1 },
        { "rcupdate.rcu_norma=1", false, 0, -1 },
        { "foo=\"bar rcupdate.rcu_normal=1 baz\"", false, 0, -1 },
        { "foo=\"bar baz\" rcupdate.rcu_normal=1", false, 1, -1 },
        { "quiet -- rcupdate.rcu_normal=1", false, 0, -1 },
        { "rcupdate.rcu_normal=1 -- rcupdate.rcu_normal=0", false, 1, -1 },
        { "--x rcupdate.rcu_normal=1", false, 1, -1 },
        { "foo=\"open rcupdate.rcu_normal=1", false, 0, -1 },
        /* That is there to expedite boot: no reason to leave RCU so. */
        { "rcupdate.rcu_expedited=1", false, 0, -1 },
};

START_TEST(kernel_default) {
        const char *cmdline = defaults[_i].cmdline;
        bool rt = defaults[_i].realtime;

        ck_assert_int_eq(knob_kernel_default(KNOB_EXPEDITED, cmdline, rt), 0);
        ck_assert_int_eq(knob_kernel_default(KNOB_NORMAL, cmdline, rt), defaults[_i].normal);
        ck_assert_int_eq(knob_kernel_default(KNOB_WAKE_FROM_GP, cmdline, rt), defaults[_i].wake);
        ck_assert_int_eq(knob_kernel_default(KNOB_BOOT_END_DELAY, cmdline, rt), 0);
        ck_assert_int_eq(knob_kernel_default(KNOB_USER_BOOTED, cmdline, rt), 0);
}
END_TEST

#define VALUE(n) \
        { .action = KNOB_ACTION_VALUE, .value = n }
#define UNKNOWN KNOB_DEFAULT_UNKNOWN

static const struct {
        KnobSetting during;
        int64_t found, kernel_default, restored;
} restores[] = {
        /* rcu_expedited: an early hook, the command line or a vendor's script had been quicker. */
        { VALUE(1), 0, 0, 0 },
        { VALUE(1), 1, 0, 0 },
        { VALUE(1), 2, 0, 0 },
        { VALUE(1), -1, 0, 0 },
        /* Nobody expedites in this policy: what was there stays. */
        { VALUE(0), 1, 0, 1 },
        { VALUE(0), 0, 0, 0 },
        { {}, 1, 0, 1 },
        { {}, 0, 0, 0 },
        { {}, 2, 0, 1 },
        { {}, 0, 1, 0 },
        /* rcu_normal of a PREEMPT_RT kernel, taken back during boot by us or by an earlier hook. */
        { VALUE(0), 1, 1, 1 },
        { VALUE(0), 0, 1, 1 },
        { VALUE(0), 8, 1, 1 },
        { VALUE(1), 0, 1, 0 },
        /* rcu_normal_wake_from_gp of a kernel that chooses by itself. */
        { VALUE(1), 1, UNKNOWN, 1 },
        { VALUE(1), 0, UNKNOWN, 0 },
        { VALUE(1), -1, UNKNOWN, 0 },
        { VALUE(0), -1, UNKNOWN, 0 },
        { {}, -1, UNKNOWN, 0 },
        { {}, -1, 1, 1 },
        { {}, 3, UNKNOWN, 1 },
};

START_TEST(restore) {
        ck_assert_int_eq(knob_restore_value(&restores[_i].during, restores[_i].found,
                                         restores[_i].kernel_default),
                        restores[_i].restored);
}
END_TEST

/* case 2: rcu_normal beats rcu_expedited. */
static const struct {
        const int64_t *expedited, *normal;
        RcuMode mode;
} modes[] = {
        { NULL, NULL, RCU_MODE_UNKNOWN },
        { &(const int64_t){ 0 }, &(const int64_t){ 0 }, RCU_MODE_DEFAULT },
        { &(const int64_t){ 1 }, &(const int64_t){ 0 }, RCU_MODE_EXPEDITED },
        { &(const int64_t){ 0 }, &(const int64_t){ 1 }, RCU_MODE_NORMAL },
        { &(const int64_t){ 1 }, &(const int64_t){ 1 }, RCU_MODE_NORMAL },
        { &(const int64_t){ 2 }, &(const int64_t){ 0 }, RCU_MODE_EXPEDITED },
        { &(const int64_t){ -1 }, &(const int64_t){ 0 }, RCU_MODE_EXPEDITED },
        { &(const int64_t){ 1 }, &(const int64_t){ -1 }, RCU_MODE_NORMAL },
        { &(const int64_t){ 1 }, &(const int64_t){ 8 }, RCU_MODE_NORMAL },
        { NULL, &(const int64_t){ 0 }, RCU_MODE_DEFAULT },
        { NULL, &(const int64_t){ 1 }, RCU_MODE_NORMAL },
        { &(const int64_t){ 0 }, NULL, RCU_MODE_DEFAULT },
        { &(const int64_t){ 1 }, NULL, RCU_MODE_EXPEDITED },
};

START_TEST(mode_case_02) {
        ck_assert_int_eq(rcu_mode_from_readings(modes[_i].expedited, modes[_i].normal), modes[_i].mode);
}
END_TEST

START_TEST(mode_names_go_both_ways) {
        const char *name = rcu_mode_to_string(_i);
        RcuMode mode = _RCU_MODE_MAX;

        ck_assert_int_eq(rcu_mode_from_string(name, &mode), 0);
        ck_assert_int_eq(mode, _i);
        /* The sentence begins with the word that scripts know. */
        ck_assert_ptr_nonnull(startswith(rcu_mode_to_sentence(_i, false), name));
        ck_assert_ptr_nonnull(startswith(rcu_mode_to_sentence(_i, true), name));
}
END_TEST

START_TEST(mode_sentence_names_the_cause_case_02) {
        RcuMode mode = _RCU_MODE_MAX;

        ck_assert_ptr_nonnull(strstr(rcu_mode_to_sentence(RCU_MODE_NORMAL, true), "beats rcu_expedited"));
        ck_assert_ptr_null(strstr(rcu_mode_to_sentence(RCU_MODE_NORMAL, false), "rcu_expedited"));
        ck_assert_ptr_nonnull(strstr(rcu_mode_to_sentence(RCU_MODE_EXPEDITED, true), "rcu_expedited"));

        ck_assert_int_eq(rcu_mode_from_string("Normal", &mode), -EINVAL);
        ck_assert_int_eq(rcu_mode_from_string("", &mode), -EINVAL);
        ck_assert_int_eq(mode, _RCU_MODE_MAX);
}
END_TEST

START_TEST(benign_error_case_05) {
        FOREACH_KNOB(k)
                for (KnobStage s = 0; s < _KNOB_STAGE_MAX; s++)
                        ck_assert_int_eq(knob_error_is_benign(k, s, -EBUSY),
                                        k == KNOB_BOOT_END_DELAY && s == A);
        ck_assert(!knob_error_is_benign(KNOB_BOOT_END_DELAY, A, -EINVAL));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("knob");
        TCase *tcase = tcase_create("knob");

        tcase_add_loop_test(tcase, info_case_04, 0, ELEMENTSOF(infos));
        tcase_add_test(tcase, every_knob_is_in_the_table);
        tcase_add_loop_test(tcase, from_string_refuses, 0, ELEMENTSOF(no_knobs));
        tcase_add_loop_test(tcase, order, 0, _KNOB_STAGE_MAX);
        tcase_add_loop_test(tcase, setting_refuses_garbage_case_01, 0, ELEMENTSOF(garbage));
        tcase_add_loop_test(tcase, setting_case_05, 0, ELEMENTSOF(settings));
        tcase_add_test(tcase, setting_gives_action_and_number);
        tcase_add_test(tcase, setting_to_string_fits);
        tcase_add_loop_test(tcase, reading, 0, ELEMENTSOF(readings));
        tcase_add_loop_test(tcase, kernel_default, 0, ELEMENTSOF(defaults));
        tcase_add_loop_test(tcase, restore, 0, ELEMENTSOF(restores));
        tcase_add_loop_test(tcase, mode_case_02, 0, ELEMENTSOF(modes));
        tcase_add_loop_test(tcase, mode_names_go_both_ways, 0, _RCU_MODE_MAX);
        tcase_add_test(tcase, mode_sentence_names_the_cause_case_02);
        tcase_add_test(tcase, benign_error_case_05);
        suite_add_tcase(suite, tcase);
        return test_run(suite);
}
