/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "milestone.h"
#include "test-alloc.h"
#include "test-util.h"

#include <errno.h>

#define UNIT MILESTONE_KIND_UNIT
#define DEVICE MILESTONE_KIND_DEVICE
#define NAMED MILESTONE_KIND_NAMED
#define STARTUP MILESTONE_KIND_STARTUP_FINISHED

static const struct {
        const char *name;
        MilestoneKind kind;
} valid[] = {
        { "graphical.target", UNIT },
        { "multi-user.target", UNIT },
        { "boot-complete.target", UNIT },
        { "default.target", UNIT },
        { "user@1000.service", UNIT },
        { "systemd-fsck@dev-sda1.service", UNIT },
        { "getty@tty1.service", UNIT },
        { "a@b@c.service", UNIT },
        { "org.freedesktop.login1.service", UNIT },
        { "-.mount", UNIT },
        { "-.slice", UNIT },
        { "home.automount", UNIT },
        { "dev-disk-by\\x2duuid-0fc63daf\\x2d8483\\x2d4772\\x2d8e79\\x2d3d69d8477de4.device", UNIT },
        { "systemd-fsck@dev-disk-by\\x2duuid-AB12\\x2dCD34.service", UNIT },
        { "dev-disk-by\\x2dlabel-\\xc3\\xa4.swap", UNIT },
        { "foo\\x2D.path", UNIT },
        { "a:b_c.timer", UNIT },
        { "session-1.scope", UNIT },
        { "dbus.socket", UNIT },
        { "startup-finished", STARTUP },
        { "device:drm/card0", DEVICE },
        { "device:drm/card*", DEVICE },
        { "device:*/*", DEVICE },
        { "device:net/eth[0-9]", DEVICE },
        { "device:tty/tty?*", DEVICE },
        { "device:net/wlan0.100", DEVICE },
        { "device:block/cciss!c0d0", DEVICE },
        { "device:drm/a.service", DEVICE },
        { "home-screen", NAMED },
        { "workloads-steady", NAMED },
        { "startup-finished2", NAMED },
        { "Startup-Finished", NAMED },
        { "device", NAMED },
        { "devices:x", NAMED },
        { "x", NAMED },
        { "~", NAMED },
        { "!", NAMED },
        { "...", NAMED },
        { ".x", NAMED },
        { "a.b", NAMED },
        { "multi-user.targets", NAMED },
        { "multi-user.Target", NAMED },
        { "com.example:home(screen)@1,2+3|4<5>{6}&%$`^", NAMED },
        { "\\x41", NAMED },
};

START_TEST(name_is_valid) {
        ck_assert_msg(milestone_name_is_valid(valid[_i].name), "%s", valid[_i].name);
        ck_assert_int_eq(milestone_kind(valid[_i].name), valid[_i].kind);
}
END_TEST

static const char *const invalid[] = {
        "",
        ".",
        "..",
        " ",
        "a b",
        " a",
        "a ",
        "a\tb",
        "a\n",
        "a\x01",
        "a\x7f",
        "\"a\"",
        "'a'",
        "a'",
        "#a",
        "a#b",
        "a;b",
        ";",
        "a=b",
        "X_RCU_MILESTONE=a",
        "a\\",
        "a\\x",
        "a\\x2",
        "a\\x2g",
        "a\\xg2",
        "a\\X2d",
        "a\\n",
        "\\\\",
        "a\\\\x2d",
        /* Not ASCII: not even when it is UTF-8. */
        "caf\xc3\xa9",
        "\xff",
        "a\x80",
        /* A slash would lead out of the milestone directory. */
        "/",
        "a/b",
        "/etc/passwd",
        "../a",
        "dev/sda.device",
        "/dev/sda",
        /* No unit of systemd's could ever be called so. */
        ".service",
        ".target",
        "@.service",
        "@a.service",
        "getty@.service",
        "foo*.service",
        "graphical.target,multi-user.target",
        "!graphical.target",
        "a+b.mount",
        /* SUBSYSTEM/SYSNAME. */
        "device:",
        "device:/",
        "device:drm",
        "device:drm/",
        "device:/card0",
        "device:drm/card0/x",
        "device:drm//card0",
        "device:drm/card 0",
};

START_TEST(name_is_invalid) {
        ck_assert_msg(!milestone_name_is_valid(invalid[_i]), "%s", invalid[_i]);
}
END_TEST

START_TEST(name_length) {
        static const char *const tails[] = { "", ".service", "\\x2d" };
        char name[300];

        for (size_t i = 0; i < ELEMENTSOF(tails); i++)
                for (size_t length = 250; length < 260; length++) {
                        memset(name, 'a', sizeof(name));
                        (void) strcpy(name + length - strlen(tails[i]), tails[i]);
                        ck_assert_uint_eq(strlen(name), length);
                        ck_assert(milestone_name_is_valid(name) == (length <= 255));
                }
}
END_TEST

/* Every byte, in the middle of a name. */
START_TEST(name_bytes) {
        for (int c = 1; c < 256; c++) {
                char name[] = { 'a', (char) c, 'b', '\0' };
                bool good = c > ' ' && c < 0x7f && !strchr("\"'#;=\\/", c);

                ck_assert_msg(milestone_name_is_valid(name) == good, "byte 0x%02x", (unsigned) c);
        }
}
END_TEST

static const struct {
        const char *name, *subsystem, *sysname;
} devices[] = {
        { "device:drm/card0", "drm", "card0" },
        { "device:*/*", "*", "*" },
        { "device:net/eth[0-9]*", "net", "eth[0-9]*" },
        { "device:power_supply/BAT?", "power_supply", "BAT?" },
};

START_TEST(parse_device) {
        _cleanup_free_ char *subsystem = NULL, *sysname = NULL;

        ck_assert_int_eq(milestone_parse_device(devices[_i].name, &subsystem, &sysname), 0);
        ck_assert_str_eq(subsystem, devices[_i].subsystem);
        ck_assert_str_eq(sysname, devices[_i].sysname);
}
END_TEST

START_TEST(parse_device_refuses) {
        static const char *const names[] = { "", "device:", "device:drm", "device:drm/", "device:/card0",
                "device:a/b/c", "device:a/b c", "drm/card0", "Device:drm/card0", "graphical.target" };
        char *subsystem = NULL, *sysname = NULL;

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                ck_assert_int_eq(milestone_parse_device(names[i], &subsystem, &sysname), -EINVAL);
        for (unsigned n = 0; n < 2; n++) {
                test_alloc_left = n;
                ck_assert_int_eq(milestone_parse_device("device:a/b", &subsystem, &sysname), -ENOMEM);
                test_alloc_left = UINT_MAX;
        }
        ck_assert_ptr_null(subsystem);
        ck_assert_ptr_null(sysname);
}
END_TEST

START_TEST(source_names_go_both_ways) {
        static const char *const names[] = { "bus", "directory", "inbox", "pid1", "udev" };
        MilestoneSource source = _MILESTONE_SOURCE_MAX;

        ck_assert_uint_eq(ELEMENTSOF(names), _MILESTONE_SOURCE_MAX);
        ck_assert_str_eq(milestone_source_to_string(_i), names[_i]);
        ck_assert_int_eq(milestone_source_from_string(names[_i], &source), 0);
        ck_assert_int_eq(source, _i);
}
END_TEST

START_TEST(source_name_is_unknown) {
        MilestoneSource source = _MILESTONE_SOURCE_MAX;

        ck_assert_int_eq(milestone_source_from_string("", &source), -EINVAL);
        ck_assert_int_eq(milestone_source_from_string("Bus", &source), -EINVAL);
        ck_assert_int_eq(milestone_source_from_string("bus ", &source), -EINVAL);
        ck_assert_int_eq(source, _MILESTONE_SOURCE_MAX);
}
END_TEST

START_TEST(condition_collects_lines) {
        _cleanup_(milestone_condition_done) MilestoneCondition c = {};

        ck_assert_int_eq(milestone_condition_add(&c, "graphical.target home-screen", NULL), 0);
        ck_assert_int_eq(milestone_condition_add(&c, "\tstartup-finished  \t", NULL), 0);
        ck_assert_int_eq(milestone_condition_add(&c, "home-screen device:drm/card0 home-screen", NULL), 0);

        /* Each name once, in order of appearance. */
        ck_assert_uint_eq(c.n_names, 4);
        ck_assert_str_eq(c.names[0], "graphical.target");
        ck_assert_str_eq(c.names[1], "home-screen");
        ck_assert_str_eq(c.names[2], "startup-finished");
        ck_assert_str_eq(c.names[3], "device:drm/card0");
        ck_assert_uint_eq(c.n_alternatives, 3);
        ck_assert_uint_eq(c.alternatives[0], 0x3);
        ck_assert_uint_eq(c.alternatives[1], 0x4);
        ck_assert_uint_eq(c.alternatives[2], 0xa);

        for (int i = 0; i < 4; i++)
                ck_assert_int_eq(milestone_condition_find(&c, c.names[i]), i);
        ck_assert_int_eq(milestone_condition_find(&c, "graphical"), -ENOENT);
        ck_assert_int_eq(milestone_condition_find(&c, ""), -ENOENT);

        milestone_condition_done(&c);
        ck_assert_uint_eq(c.n_names, 0);
        ck_assert_uint_eq(c.n_alternatives, 0);
        ck_assert_ptr_null(c.names[0]);
}
END_TEST

/* Escapes reach the machine as they stand: it is the name that systemd will say. */
START_TEST(condition_leaves_escapes_alone) {
        static const char name[] = "dev-disk-by\\x2duuid-AB12\\x2dCD34.device";
        _cleanup_(milestone_condition_done) MilestoneCondition c = {};

        ck_assert_int_eq(milestone_condition_add(&c, name, NULL), 0);
        ck_assert_str_eq(c.names[0], name);
}
END_TEST

static void assert_unchanged(const MilestoneCondition *c) {
        ck_assert_uint_eq(c->n_names, 1);
        ck_assert_str_eq(c->names[0], "a");
        for (size_t i = 1; i < MILESTONES_MAX; i++)
                ck_assert_ptr_null(c->names[i]);
        ck_assert_uint_eq(c->n_alternatives, 1);
        ck_assert_uint_eq(c->alternatives[0], 1);
        ck_assert_uint_eq(c->alternatives[1], 0);
}

static const struct {
        const char *line;
        int r;
        const char *bad;
} faulty[] = {
        { "", -ENODATA, NULL },
        { " \t\r\n", -ENODATA, NULL },
        { "b a=b", -EINVAL, "a=b" },
        { "b/c", -EINVAL, "b/c" },
        { "b c \"d e\"", -EINVAL, "\"d" },
        { "graphical.target # a comment", -EINVAL, "#" },
        { "b ..", -EINVAL, ".." },
        { "b c device:drm d", -EINVAL, "device:drm" },
        { "b x\\-y.service", -EINVAL, "x\\-y.service" },
};

START_TEST(condition_refuses) {
        _cleanup_(milestone_condition_done) MilestoneCondition c = {};
        _cleanup_free_ char *bad = NULL;

        ck_assert_int_eq(milestone_condition_add(&c, "a", NULL), 0);
        ck_assert_int_eq(milestone_condition_add(&c, faulty[_i].line, &bad), faulty[_i].r);
        ck_assert_pstr_eq(bad, faulty[_i].bad);
        assert_unchanged(&c);

        ck_assert_int_eq(milestone_condition_add(&c, faulty[_i].line, NULL), faulty[_i].r);
        assert_unchanged(&c);
}
END_TEST

START_TEST(condition_without_memory_changes_nothing) {
        _cleanup_(milestone_condition_done) MilestoneCondition c = {};
        _cleanup_free_ char *bad = NULL;
        unsigned failures = 0;

        ck_assert_int_eq(milestone_condition_add(&c, "a", NULL), 0);
        for (;; failures++) {
                int r;

                test_alloc_left = failures;
                r = milestone_condition_add(&c, "b a c d", &bad);
                test_alloc_left = UINT_MAX;
                if (r == 0)
                        break;
                ck_assert_int_eq(r, -ENOMEM);
                assert_unchanged(&c);
        }
        ck_assert_uint_ge(failures, 3);
        ck_assert_ptr_null(bad);
        ck_assert_uint_eq(c.n_names, 4);
}
END_TEST

START_TEST(condition_has_limits) {
        _cleanup_(milestone_condition_done) MilestoneCondition c = {};
        char *bad = NULL, line[1024] = "", *p = line;

        for (unsigned i = 0; i < MILESTONES_MAX; i++)
                p += sprintf(p, "m%u ", i);
        (void) strcpy(p, "too-many");
        ck_assert_int_eq(milestone_condition_add(&c, line, &bad), -E2BIG);
        ck_assert_ptr_null(bad);
        ck_assert_uint_eq(c.n_names, 0);

        *p = '\0';
        ck_assert_int_eq(milestone_condition_add(&c, line, &bad), 0);
        ck_assert_uint_eq(c.n_names, MILESTONES_MAX);
        ck_assert_uint_eq(c.alternatives[0], UINT32_MAX);

        /* No new name fits, old ones do. */
        ck_assert_int_eq(milestone_condition_add(&c, "m0 new", &bad), -E2BIG);
        ck_assert_int_eq(milestone_condition_add(&c, "m31 m0", &bad), 0);
        ck_assert_uint_eq(c.alternatives[1], UINT32_C(1) << 31 | 1);

        while (c.n_alternatives < ALTERNATIVES_MAX)
                ck_assert_int_eq(milestone_condition_add(&c, "m1", &bad), 0);
        ck_assert_int_eq(milestone_condition_add(&c, "m1", &bad), -E2BIG);
        ck_assert_uint_eq(c.n_alternatives, ALTERNATIVES_MAX);
        ck_assert_ptr_null(bad);
}
END_TEST

START_TEST(empty_condition_never_holds) {
        MilestoneCondition c = {};

        ck_assert(!milestone_condition_holds(&c, 0));
        ck_assert(!milestone_condition_holds(&c, UINT32_MAX));
        ck_assert_uint_eq(milestone_condition_missing(&c, 0), 0);
        ck_assert_int_eq(milestone_condition_find(&c, "a"), -ENOENT);
}
END_TEST

/* Against the definition, for every set of milestones reached: a and b, or c, or a and d and e. */
START_TEST(condition_is_any_of_all) {
        _cleanup_(milestone_condition_done) MilestoneCondition c = {};

        ck_assert_int_eq(milestone_condition_add(&c, "a b", NULL), 0);
        ck_assert_int_eq(milestone_condition_add(&c, "c", NULL), 0);
        ck_assert_int_eq(milestone_condition_add(&c, "a d e", NULL), 0);

        for (uint32_t set = 0; set < 32; set++) {
                bool has_a = set & 1, has_b = set & 2, has_c = set & 4, has_d = set & 8, has_e = set & 16;
                bool holds = (has_a && has_b) || has_c || (has_a && has_d && has_e);
                uint32_t missing = milestone_condition_missing(&c, set);

                ck_assert(milestone_condition_holds(&c, set) == holds);
                /* What is not the condition's business changes nothing. */
                ck_assert(milestone_condition_holds(&c, set | 0x80000020) == holds);
                ck_assert((missing == 0) == holds);
                ck_assert(milestone_condition_holds(&c, set | missing));
                ck_assert_uint_eq(missing & set, 0);
                ck_assert_int_le(__builtin_popcount(missing), 1);
        }
}
END_TEST

START_TEST(missing_is_of_the_closest) {
        _cleanup_(milestone_condition_done) MilestoneCondition c = {};

        ck_assert_int_eq(milestone_condition_add(&c, "a b c", NULL), 0);
        ck_assert_int_eq(milestone_condition_add(&c, "d e", NULL), 0);
        ck_assert_int_eq(milestone_condition_add(&c, "f g", NULL), 0);

        ck_assert_uint_eq(milestone_condition_missing(&c, 0), 0x18);
        ck_assert_uint_eq(milestone_condition_missing(&c, 0x1), 0x6); /* two each: the earlier line */
        ck_assert_uint_eq(milestone_condition_missing(&c, 0x3), 0x4);
        ck_assert_uint_eq(milestone_condition_missing(&c, 0x40), 0x20);
        ck_assert_uint_eq(milestone_condition_missing(&c, 0x48), 0x10);
        ck_assert_uint_eq(milestone_condition_missing(&c, 0x7), 0);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("milestone");
        TCase *tcase = tcase_create("milestone");

        tcase_add_loop_test(tcase, name_is_valid, 0, ELEMENTSOF(valid));
        tcase_add_loop_test(tcase, name_is_invalid, 0, ELEMENTSOF(invalid));
        tcase_add_test(tcase, name_length);
        tcase_add_test(tcase, name_bytes);
        tcase_add_loop_test(tcase, parse_device, 0, ELEMENTSOF(devices));
        tcase_add_test(tcase, parse_device_refuses);
        tcase_add_loop_test(tcase, source_names_go_both_ways, 0, _MILESTONE_SOURCE_MAX);
        tcase_add_test(tcase, source_name_is_unknown);
        tcase_add_test(tcase, condition_collects_lines);
        tcase_add_test(tcase, condition_leaves_escapes_alone);
        tcase_add_loop_test(tcase, condition_refuses, 0, ELEMENTSOF(faulty));
        tcase_add_test(tcase, condition_without_memory_changes_nothing);
        tcase_add_test(tcase, condition_has_limits);
        tcase_add_test(tcase, empty_condition_never_holds);
        tcase_add_test(tcase, condition_is_any_of_all);
        tcase_add_test(tcase, missing_is_of_the_closest);
        suite_add_tcase(suite, tcase);
        return test_run(suite);
}
