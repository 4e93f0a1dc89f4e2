/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy.h"
#include "test-util.h"

#include <errno.h>

/* The least that is a policy. */
#define LEAST "[Boot]\nEndWhen=a.target\n"

/* --- what a policy says, as text --- */

static void describe_origin(FILE *f, const PolicyOrigin *o) {
        if (o->file)
                fprintf(f, " @%s:%u", o->file, o->line);
        fputc('\n', f);
}

static void describe_match(FILE *f, const Match *m) {
        for (MatchField i = 0; i < _MATCH_FIELD_MAX; i++) {
                const MatchRule *rule = &m->rules[i];
                _cleanup_free_ char *patterns = NULL;

                if (!rule->set)
                        continue;
                ck_assert_int_eq(strv_join(rule->patterns, "|", &patterns), 0);
                fprintf(f, "%s=%s%s @%s:%u\n", match_field_to_string(i), rule->negate ? "!" : "", patterns,
                                rule->file, rule->line);
        }
}

static void describe_end_when(FILE *f, const Policy *p) {
        const MilestoneCondition *c = &p->end_when;

        for (size_t i = 0; i < c->n_alternatives; i++) {
                fputs("EndWhen=", f);
                for (size_t k = 0; k < c->n_names; k++)
                        if (c->alternatives[i] & (UINT32_C(1) << k))
                                fprintf(f, "%s ", c->names[k]);
                describe_origin(f, &p->end_when_origin[i]);
        }
}

static void describe_knobs(FILE *f, const Policy *p) {
        static const char *const stages[_KNOB_STAGE_MAX] = { "During", "After" };
        char buf[24];

        for (KnobStage s = 0; s < _KNOB_STAGE_MAX; s++)
                FOREACH_KNOB(k) {
                        if (p->knobs[k].setting[s].action == KNOB_ACTION_NONE)
                                continue;
                        fprintf(f, "%s %s=%s", stages[s], knob_info(k)->name,
                                        knob_setting_to_string(&p->knobs[k].setting[s], buf, sizeof(buf)));
                        describe_origin(f, &p->knobs[k].origin[s]);
                }
}

static char *describe(const Policy *p) {
        _cleanup_free_ char *users = NULL;
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        ck_assert_ptr_nonnull(f);
        describe_match(f, &p->match);
        describe_end_when(f, p);
        fprintf(f, "NotBefore=%llu", (unsigned long long) p->not_before);
        describe_origin(f, &p->not_before_origin);
        fprintf(f, "Deadline=%llu", (unsigned long long) p->deadline);
        describe_origin(f, &p->deadline_origin);
        ck_assert_int_eq(strv_join(p->allow_users, "|", &users), 0);
        if (users[0] || p->allow_users_origin.file) {
                fprintf(f, "AllowUsers=%s", users);
                describe_origin(f, &p->allow_users_origin);
        }
        describe_knobs(f, p);
        ck_assert_int_eq(fclose(f), 0);
        return text;
}

/* Parses the texts as files "p", "q" and "r"; returns what the policy says, or the faults, a line each. */
static char *parse(const PolicyText *texts, size_t n) {
        _cleanup_(policy_freep) Policy *p = NULL;
        _cleanup_strv_free_ char **errors = NULL;
        char *text;
        int r;

        r = policy_parse("p.policy", texts, n, &p, &errors);
        if (r == 0) {
                ck_assert_ptr_nonnull(p);
                ck_assert_uint_eq(strv_length(errors), 0);
                ck_assert_str_eq(p->name, "p.policy");
                ck_assert_str_eq(p->path, texts[0].path);
                return describe(p);
        }
        ck_assert_int_eq(r, -EBADMSG);
        ck_assert_ptr_null(p);
        ck_assert_uint_gt(strv_length(errors), 0);
        ck_assert_int_eq(strv_join(errors, "\n", &text), 0);
        return text;
}

static void expect(const char *name, const PolicyText *texts, size_t n, const char *expected) {
        _cleanup_free_ char *got = parse(texts, n);

        ck_assert_msg(streq(got, expected), "%s:\nexpected:\n%s\ngot:\n%s", name, expected, got);
}

/* --- policies that are accepted --- */

#define TIMES "NotBefore=0\nDeadline=120000000\n"
#define LEAST_SAYS "EndWhen=a.target  @p:2\n" TIMES

typedef struct GoodCase {
        const char *name;
        const char *texts[3]; /* the main file, drop-ins */
        const char *says;
} GoodCase;

static const GoodCase good_cases[] = {
        { "the least", { LEAST }, LEAST_SAYS },
        { "everything",
                        { "; a policy\n"
                          "[Match]\n"
                          "Class=phone\n"
                          "Chassis=!laptop \"convertible\"\n"
                          "Virtualization=no\n"
                          "Preemption=rt\n"
                          "Vendor=\"To Be\" M\xc3\xbcller*\n"
                          "Product=*\n"
                          "DeviceTree=fsl,imx8*\n"
                          "OS=debian\n"
                          "Architecture=arm64\n"
                          "KernelCommandLine=quiet foo=bar\n"
                          "CPUs=>=4 !=6\n"
                          "Device=power_supply:POWER_SUPPLY_SCOPE=System\n"
                          "\n"
                          "[Boot]\n"
                          "EndWhen=graphical.target home-screen\n"
                          "EndWhen=device:drm/card0 startup-finished graphical.target\n"
                          "NotBeforeSec=1.5\n"
                          "DeadlineSec=1min 30s\n"
                          "AllowUsers=phosh 1000 _apt a.b-c d$\n"
                          "\n"
                          "[During]\n"
                          "rcu_expedited=1\n"
                          "rcu_normal=0\n"
                          "rcu_normal_wake_from_gp=1\n"
                          "rcu_boot_end_delay=deadline\n"
                          "[After]\n"
                          "rcu_normal=restore\n"
                          "rcu_expedited=0\n"
                          "rcu_normal_wake_from_gp=keep\n"
                          "rcu_boot_end_delay=0\n"
                          "user_booted=1\n" },
                        "Class=phone @p:3\n"
                        "Chassis=!laptop|convertible @p:4\n"
                        "Virtualization=no @p:5\n"
                        "Preemption=rt @p:6\n"
                        "Vendor=To Be|M\xc3\xbcller* @p:7\n"
                        "Product=* @p:8\n"
                        "DeviceTree=fsl,imx8* @p:9\n"
                        "OS=debian @p:10\n"
                        "Architecture=arm64 @p:11\n"
                        "KernelCommandLine=quiet|foo=bar @p:12\n"
                        "CPUs=>=4|!=6 @p:13\n"
                        "Device=power_supply:POWER_SUPPLY_SCOPE=System @p:14\n"
                        "EndWhen=graphical.target home-screen  @p:17\n"
                        "EndWhen=graphical.target device:drm/card0 startup-finished  @p:18\n"
                        "NotBefore=1500000 @p:19\n"
                        "Deadline=90000000 @p:20\n"
                        "AllowUsers=phosh|1000|_apt|a.b-c|d$ @p:21\n"
                        "During rcu_expedited=1 @p:24\n"
                        "During rcu_normal=0 @p:25\n"
                        "During rcu_normal_wake_from_gp=1 @p:26\n"
                        "During rcu_boot_end_delay=deadline @p:27\n"
                        "After rcu_expedited=0 @p:30\n"
                        "After rcu_normal=restore @p:29\n"
                        "After rcu_normal_wake_from_gp=keep @p:31\n"
                        "After rcu_boot_end_delay=0 @p:32\n"
                        "After user_booted=1 @p:33\n" },
        { "case 1: no more blanks are refused than the kernel would",
                        { "[Boot]\nEndWhen = a.target \nDeadlineSec = 9 ; s\n[After]\nrcu_normal =1 ; "
                          "on\nrcu_expedited=0\t;\n" },
                        "EndWhen=a.target  @p:2\nNotBefore=0\nDeadline=9000000 @p:3\nAfter rcu_expedited=0 "
                        "@p:6\n"
                        "After rcu_normal=1 @p:5\n" },
        { "case 5: the delay's range is taken whole",
                        { LEAST "[During]\nrcu_boot_end_delay=120000\n[After]\nrcu_boot_end_delay=keep\n" },
                        LEAST_SAYS
                        "During rcu_boot_end_delay=120000 @p:4\nAfter rcu_boot_end_delay=keep @p:6\n" },
        { "case 5: deadline at the end of the range",
                        { LEAST "[During]\nrcu_boot_end_delay=deadline\n[After]\nrcu_boot_end_delay=0\n" },
                        LEAST_SAYS
                        "During rcu_boot_end_delay=deadline @p:4\nAfter rcu_boot_end_delay=0 @p:6\n" },
        { "case 28: BOM", { "\xef\xbb\xbf" LEAST }, LEAST_SAYS },
        { "case 28: BOM before a comment", { "\xef\xbb\xbf; a\n[Boot]\nEndWhen=b\n" },
                        "EndWhen=b  @p:3\n" TIMES },
        { "case 28: CRLF", { "[Boot]\r\nEndWhen=a.target\r\n\r\n; c\r\n" }, LEAST_SAYS },
        { "case 28: no final newline", { "[Boot]\nEndWhen=a.target" }, LEAST_SAYS },
        { "case 28: no final newline, CR", { "[Boot]\nEndWhen=a.target\r" }, LEAST_SAYS },
        { "case 28: ; in a value",
                        { "[Match] ; who\nVendor=a;b c ;d\nProduct=;x\n[Boot]\t; when\nEndWhen=b ; c=d "
                          ";e\n" },
                        "Vendor=a;b|c @p:2\nProduct=;x @p:3\nEndWhen=b  @p:5\n" TIMES },
        { "case 28: = in a value", { LEAST "[Match]\nKernelCommandLine==a=b\n" },
                        "KernelCommandLine==a=b @p:4\n" LEAST_SAYS },
        { "case 28: comments, indented ones too, whatever their bytes",
                        { "\n; M\xfcller \x1b[2J\n#b\n \t; c\n  # [d]\n \t\n" LEAST
                          ";=\n#[x\n;rcu_expedited=1\n" },
                        "EndWhen=a.target  @p:8\n" TIMES },
        { "case 28: sections may be left and entered again",
                        { "[Boot]\n[Match]\nOS=debian\n[Boot]\nEndWhen=b\n[Match]\nVendor=\"a\\\\\"\n" },
                        "Vendor=a\\ @p:7\nOS=debian @p:3\nEndWhen=b  @p:5\n" TIMES },
        { "case 30: 1 h is the longest deadline", { LEAST "DeadlineSec=1h\n" },
                        "EndWhen=a.target  @p:2\nNotBefore=0\nDeadline=3600000000 @p:3\n" },
        { "case 30: EndWhen= dropped and given again", { LEAST "EndWhen=b\nEndWhen=\nEndWhen=c\n" },
                        "EndWhen=c  @p:5\n" TIMES },
        { "a knob in [After] alone", { LEAST "[After]\nrcu_normal=1\n" },
                        LEAST_SAYS "After rcu_normal=1 @p:4\n" },
        { "nobody but root", { LEAST "AllowUsers=\n" }, LEAST_SAYS "AllowUsers= @p:3\n" },
        { "AllowUsers= dropped and given again", { LEAST "AllowUsers=\nAllowUsers=a\n" },
                        LEAST_SAYS "AllowUsers=a @p:4\n" },
        { "AllowUsers= given, dropped and given again",
                        { LEAST "AllowUsers=a\nAllowUsers=\nAllowUsers=b\n" },
                        LEAST_SAYS "AllowUsers=b @p:5\n" },
        { "drop-ins replace",
                        { LEAST "DeadlineSec=9\nNotBeforeSec=8\n[Match]\nOS=a\n[During]\nrcu_normal=0\n["
                                "After]\nrcu_normal=1\n",
                                        "[Boot]\nDeadlineSec=10\nEndWhen=b\n[Match]\nOS=!b\n[After]\nrcu_"
                                        "normal=keep\n",
                                        "[Boot]\nDeadlineSec=11\nAllowUsers=c\n[Match]\nCPUs=1\n" },
                        "OS=!b @q:5\nCPUs=1 @r:5\nEndWhen=a.target  @p:2\nEndWhen=b  "
                        "@q:3\nNotBefore=8000000 @p:4\n"
                        "Deadline=11000000 @r:2\nAllowUsers=c @r:3\nDuring rcu_normal=0 @p:8\nAfter "
                        "rcu_normal=keep @q:7\n" },
        { "drop-ins drop",
                        { LEAST "EndWhen=b\nAllowUsers=a\n", "[Boot]\nEndWhen=\nAllowUsers=\n",
                                        "[Boot]\nEndWhen=c\n" },
                        "EndWhen=c  @r:2\n" TIMES "AllowUsers= @q:3\n" },
        { "a drop-in completes", { "[Match]\nOS=a\n", LEAST }, "OS=a @p:2\nEndWhen=a.target  @q:2\n" TIMES },
        { "an empty drop-in", { LEAST, "" }, LEAST_SAYS },
};

START_TEST(test_good) {
        static const char *const paths[] = { "p", "q", "r" };
        const GoodCase *c = good_cases + _i;
        PolicyText texts[3];
        size_t n = 0;

        for (; n < 3 && c->texts[n]; n++)
                texts[n] = (PolicyText){ paths[n], c->texts[n], strlen(c->texts[n]) };
        expect(c->name, texts, n, c->says);
}
END_TEST

/* case 28: a value is the same whether inih's buffer (200 bytes in Debian) holds it or not */
START_TEST(test_long_values) {
        static const char start[] = "[Boot]\nEndWhen=b\n[Match]\nVendor=a\n", comment[] = " ;x y z";
        char text[POLICY_LINE_MAX + 512], expected[POLICY_LINE_MAX + 512];

        for (size_t n = 1; n <= POLICY_LINE_MAX - STRLEN("Product=") - STRLEN(comment);
                        n += n > 150 && n < 260 ? 1 : 53) {
                PolicyText t = { .path = "p", .text = text };
                char *p = stpcpy(text, start), *e;

                p = stpcpy(p, "Product=");
                memset(p, 'y', n);
                p[n / 2] = ';';
                p = stpcpy(p + n, comment);
                p = stpcpy(p, "\nOS=c\n");
                t.size = (size_t) (p - text);

                e = stpcpy(expected, "Vendor=a @p:4\nProduct=");
                memset(e, 'y', n);
                e[n / 2] = ';';
                strcpy(e + n, " @p:5\nOS=c @p:6\nEndWhen=b  @p:2\n" TIMES);
                expect("long value", &t, 1, expected);
        }
}
END_TEST

START_TEST(test_long_comments) {
        char text[POLICY_LINE_MAX + 512];
        PolicyText t = { .path = "p", .text = text };
        char *p = text;

        *p++ = ';';
        memset(p, 'x', POLICY_LINE_MAX - 1);
        /* What inih would read as a line of its own. */
        memcpy(p + 199, "\tEndWhen=c", STRLEN("\tEndWhen=c"));
        p = stpcpy(p + POLICY_LINE_MAX - 1, "\n" LEAST);
        t.size = (size_t) (p - text);
        expect("long comment", &t, 1, "EndWhen=a.target  @p:3\n" TIMES);
}
END_TEST

/* An EndWhen= of 32 names of 255 bytes does not fit on a line; as many as do are taken. */
START_TEST(test_long_condition) {
        char text[POLICY_LINE_MAX + 64], *p = stpcpy(text, "[Boot]\nEndWhen=");
        PolicyText t = { .path = "p", .text = text };
        _cleanup_(policy_freep) Policy *policy = NULL;
        _cleanup_strv_free_ char **errors = NULL;

        for (int i = 0; i < 15; i++) {
                memset(p, 'a' + i, MILESTONE_NAME_MAX);
                p = stpcpy(p + MILESTONE_NAME_MAX, " ");
        }
        t.size = (size_t) (p - text);
        ck_assert_int_eq(policy_parse("p.policy", &t, 1, &policy, &errors), 0);
        ck_assert_uint_eq(policy->end_when.n_names, 15);
        ck_assert_uint_eq(strlen(policy->end_when.names[14]), MILESTONE_NAME_MAX);
        ck_assert_int_eq(policy->end_when.names[14][MILESTONE_NAME_MAX - 1], 'o');
}
END_TEST

/* --- whatever is in the file --- */

/* What every accepted policy is, so that the daemon need not ask again. */
static void check_sound(const Policy *p) {
        ck_assert_uint_gt(p->end_when.n_alternatives, 0);
        for (size_t i = 0; i < p->end_when.n_alternatives; i++) {
                ck_assert_uint_ne(p->end_when.alternatives[i], 0);
                ck_assert_ptr_nonnull(p->end_when_origin[i].file);
        }
        ck_assert(p->deadline > 0 && p->deadline <= POLICY_DEADLINE_MAX_USEC);
        ck_assert(p->not_before < p->deadline);
        FOREACH_KNOB(k) {
                const KnobSetting *during = &p->knobs[k].setting[KNOB_STAGE_DURING],
                                  *after = &p->knobs[k].setting[KNOB_STAGE_AFTER];

                ck_assert(during->action == KNOB_ACTION_NONE || after->action != KNOB_ACTION_NONE);
                ck_assert(during->action != KNOB_ACTION_DEADLINE || p->deadline <= 120 * USEC_PER_SEC);
                if (during->action == KNOB_ACTION_VALUE)
                        ck_assert(during->value >= knob_info(k)->min[KNOB_STAGE_DURING] &&
                                        during->value <= knob_info(k)->max[KNOB_STAGE_DURING]);
                if (after->action == KNOB_ACTION_VALUE)
                        ck_assert(after->value >= knob_info(k)->min[KNOB_STAGE_AFTER] &&
                                        after->value <= knob_info(k)->max[KNOB_STAGE_AFTER]);
        }
}

static void check_bytes(const char *text, size_t size) {
        PolicyText t = { .path = "p", .text = text, .size = size };
        _cleanup_(policy_freep) Policy *p = NULL;
        _cleanup_strv_free_ char **errors = NULL;
        int r;

        r = policy_parse("p.policy", &t, 1, &p, &errors);
        ck_assert((r == 0) == (strv_length(errors) == 0));
        if (r == 0)
                check_sound(p);
        else {
                ck_assert_int_eq(r, -EBADMSG);
                ck_assert_ptr_null(p);
                for (char **e = errors; *e; e++)
                        ck_assert_ptr_eq(strstr(*e, "p:"), *e);
        }
}

static const char whole[] = "[Match]\n"
                            "Vendor=!\"a b\" c\n"
                            "[Boot]\n"
                            "EndWhen=a.target b ; c\n"
                            "NotBeforeSec=1s\n"
                            "DeadlineSec=1min 5s\n"
                            "AllowUsers=d 1\n"
                            "[During]\n"
                            "rcu_expedited=1\n"
                            "rcu_boot_end_delay=deadline\n"
                            "[After]\n"
                            "rcu_expedited=restore\n"
                            "rcu_boot_end_delay=0\n"
                            "user_booted=1\n";

/* case 28: a file that is cut anywhere is never half-applied */
START_TEST(test_cut) {
        for (size_t n = 0; n < STRLEN(whole); n++) {
                /* Its own allocation: a sanitizer sees one byte too many. */
                char *text = malloc(n);

                memcpy(text, whole, n);
                check_bytes(text, n);
                free(text);
        }
}
END_TEST

START_TEST(test_any_byte) {
        static const char bytes[] = { '\0', '\n', '\r', '\t', ' ', ';', '#', '=', '[', ']', ':', '"', '\\',
                '!', '0', '\x80', '\xc3', '\xff' };
        char text[sizeof(whole)];

        for (size_t i = 0; i < STRLEN(whole); i++)
                for (size_t k = 0; k < sizeof(bytes); k++) {
                        memcpy(text, whole, sizeof(whole));
                        text[i] = bytes[k];
                        check_bytes(text, STRLEN(whole));
                }
}
END_TEST

/* --- time spans --- */

typedef struct TimeCase {
        const char *text;
        int r;
        usec_t usec;
} TimeCase;

static const TimeCase time_cases[] = {
        { "0", 0, 0 },
        { "120", 0, 120 * USEC_PER_SEC },
        { "007", 0, 7 * USEC_PER_SEC },
        { "1.5", 0, 1500000 },
        { ".5", 0, 500000 },
        { "0.000001", 0, 1 },
        { "0.0000019", 0, 1 },
        { "1us", 0, 1 },
        { "5ms", 0, 5000 },
        { "2.5ms", 0, 2500 },
        { "5s", 0, 5 * USEC_PER_SEC },
        { "5 s", 0, 5 * USEC_PER_SEC },
        { "5sec", 0, 5 * USEC_PER_SEC },
        { "5seconds", 0, 5 * USEC_PER_SEC },
        { "2m", 0, 120 * USEC_PER_SEC },
        { "2min", 0, 120 * USEC_PER_SEC },
        { "2 minutes", 0, 120 * USEC_PER_SEC },
        { "1.5h", 0, 5400 * USEC_PER_SEC },
        { "1hr", 0, 3600 * USEC_PER_SEC },
        { "1min 30s", 0, 90 * USEC_PER_SEC },
        { "1min30s", 0, 90 * USEC_PER_SEC },
        { "1min 30", 0, 90 * USEC_PER_SEC },
        { "1min.5s", 0, 60500000 },
        { " \t1 min\t2 s 3ms ", 0, 62003000 },
        { "infinity", 0, USEC_INFINITY },
        { "18446744073709551614us", 0, UINT64_MAX - 1 },
        { "18446744073709551615us", -ERANGE, 0 },
        { "18446744073710", -ERANGE, 0 },
        { "99999999999999999999", -ERANGE, 0 },
        { "18446744073709551614us 1us", -ERANGE, 0 },
        { "18446744073709551614us 0.1", -ERANGE, 0 },
        { "5124095577h", -ERANGE, 0 },
        { "", -EINVAL, 0 },
        { " ", -EINVAL, 0 },
        { ".", -EINVAL, 0 },
        { "5.", -EINVAL, 0 },
        { "5.s", -EINVAL, 0 },
        { "1.2.3", -EINVAL, 0 },
        { "1,5", -EINVAL, 0 },
        { "-1", -EINVAL, 0 },
        { "+1", -EINVAL, 0 },
        { "s", -EINVAL, 0 },
        { "5 3", -EINVAL, 0 },
        { "30 1min", -EINVAL, 0 },
        { "5x", -EINVAL, 0 },
        { "5S", -EINVAL, 0 },
        { "5secs", -EINVAL, 0 },
        { "5mss", -EINVAL, 0 },
        { "5mmin", -EINVAL, 0 },
        { "1d", -EINVAL, 0 },
        { "0x10", -EINVAL, 0 },
        { "1e3", -EINVAL, 0 },
        { "infinity ", -EINVAL, 0 },
        { "Infinity", -EINVAL, 0 },
        { "inf", -EINVAL, 0 },
        { "99999999999999999999x", -EINVAL, 0 },
};

START_TEST(test_time) {
        const TimeCase *c = time_cases + _i;
        usec_t t = 4711;
        int r;

        r = policy_parse_sec(c->text, &t);
        ck_assert_msg(r == c->r, "\"%s\": expected %i, got %i", c->text, c->r, r);
        /* Untouched on failure. */
        ck_assert_msg(t == (r < 0 ? 4711 : c->usec), "\"%s\": got %llu", c->text, (unsigned long long) t);
}
END_TEST

static Suite *policy_suite(void) {
        Suite *s = suite_create("policy");
        TCase *t = tcase_create("policy");

        tcase_add_loop_test(t, test_good, 0, (int) ELEMENTSOF(good_cases));
        tcase_add_test(t, test_long_values);
        tcase_add_test(t, test_long_comments);
        tcase_add_test(t, test_long_condition);
        tcase_add_test(t, test_cut);
        tcase_add_test(t, test_any_byte);
        tcase_add_loop_test(t, test_time, 0, (int) ELEMENTSOF(time_cases));
        suite_add_tcase(s, t);
        return s;
}

int main(void) {
        return test_run(policy_suite());
}
