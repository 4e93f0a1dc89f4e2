/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "match.h"
#include "test-util.h"

#include <errno.h>

/* --- rules --- */

typedef struct RuleCase {
        MatchField field;
        const char *value;
        const char *says; /* "!" if negated, then the patterns; NULL: refused */
} RuleCase;

static const RuleCase rule_cases[] = {
        { MATCH_CHASSIS, "laptop", "laptop" },
        { MATCH_CHASSIS, " laptop\t convertible ", "laptop|convertible" },
        { MATCH_CHASSIS, "!laptop convertible", "!laptop|convertible" },
        { MATCH_CHASSIS, "! laptop", "!laptop" },
        { MATCH_VENDOR, "\"To Be\" 'F*'", "To Be|F*" },
        { MATCH_VENDOR, "a!", "a!" },
        { MATCH_VENDOR, "", NULL },
        { MATCH_VENDOR, " ", NULL },
        { MATCH_VENDOR, "!", NULL },
        { MATCH_VENDOR, "! ", NULL },
        { MATCH_VENDOR, "!!a", NULL },
        { MATCH_VENDOR, "a !b", NULL },
        { MATCH_VENDOR, "a \"\"", NULL },
        { MATCH_VENDOR, "\"a", NULL },
        { MATCH_VENDOR, "a\\", NULL },
        { MATCH_CPUS, "4", "4" },
        { MATCH_CPUS, ">=4 <8 !=2 =4 >1 <=9", ">=4|<8|!=2|=4|>1|<=9" },
        { MATCH_CPUS, "!=2", "!=2" },
        { MATCH_CPUS, "!2 4", "!2|4" },
        { MATCH_CPUS, "!!=2", "!!=2" },
        { MATCH_CPUS, "!>=4", "!>=4" },
        { MATCH_CPUS, "999999999", "999999999" },
        { MATCH_CPUS, "1000000000", NULL },
        { MATCH_CPUS, ">= 4", NULL },
        { MATCH_CPUS, "==4", NULL },
        { MATCH_CPUS, "=>4", NULL },
        { MATCH_CPUS, "4x", NULL },
        { MATCH_CPUS, "-1", NULL },
        { MATCH_CPUS, "*", NULL },
        { MATCH_CPUS, "", NULL },
        { MATCH_DEVICE, "power_supply", "power_supply" },
        { MATCH_DEVICE, "power_supply:POWER_SUPPLY_SCOPE=System", "power_supply:POWER_SUPPLY_SCOPE=System" },
        { MATCH_DEVICE, "!drm nvme-subsystem:A.B=*:=?", "!drm|nvme-subsystem:A.B=*:=?" },
        { MATCH_DEVICE, "drm:A=", "drm:A=" },
        { MATCH_DEVICE, "drm:", NULL },
        { MATCH_DEVICE, "drm:A", NULL },
        { MATCH_DEVICE, "drm:=x", NULL },
        { MATCH_DEVICE, "drm:A*=x", NULL },
        { MATCH_DEVICE, ":A=x", NULL },
        { MATCH_DEVICE, "d*", NULL },
        { MATCH_DEVICE, "drm/card0", NULL },
        { MATCH_DEVICE, "drm=A", NULL },
};

START_TEST(test_rule) {
        const RuleCase *c = rule_cases + _i;
        _cleanup_(match_done) Match m = {};
        const MatchRule *rule = &m.rules[c->field];
        int r;

        r = match_set_rule(&m, c->field, c->value, "f", 7);
        ck_assert_msg((r == 0) == !!c->says, "%s=%s: got %i", match_field_to_string(c->field), c->value, r);
        if (r == 0) {
                _cleanup_free_ char *patterns = NULL, *says = NULL;

                ck_assert_int_eq(strv_join(rule->patterns, "|", &patterns), 0);
                ck_assert_int_ge(asprintf(&says, "%s%s", rule->negate ? "!" : "", patterns), 0);
                ck_assert_str_eq(says, c->says);
                ck_assert_str_eq(rule->file, "f");
                ck_assert_uint_eq(rule->line, 7);
                ck_assert_uint_eq(match_fields(&m), UINT32_C(1) << c->field);
        } else {
                ck_assert_int_eq(r, -EINVAL);
                ck_assert_uint_eq(match_fields(&m), 0);
        }
}
END_TEST

/* A drop-in's rule replaces the one before; one that is refused leaves it. */
START_TEST(test_replace) {
        _cleanup_(match_done) Match m = {};

        ck_assert_int_eq(match_set_rule(&m, MATCH_OS, "!a", "f", 1), 0);
        ck_assert_int_eq(match_set_rule(&m, MATCH_OS, "", "g", 2), -EINVAL);
        ck_assert_str_eq(m.rules[MATCH_OS].patterns[0], "a");
        ck_assert_str_eq(m.rules[MATCH_OS].file, "f");
        ck_assert_int_eq(match_set_rule(&m, MATCH_OS, "b", "g", 3), 0);
        ck_assert(!m.rules[MATCH_OS].negate);
        ck_assert_str_eq(m.rules[MATCH_OS].patterns[0], "b");
        ck_assert_ptr_null(m.rules[MATCH_OS].patterns[1]);
        ck_assert_str_eq(m.rules[MATCH_OS].file, "g");
        ck_assert_uint_eq(m.rules[MATCH_OS].line, 3);
}
END_TEST

START_TEST(test_names) {
        for (MatchField i = 0; i < _MATCH_FIELD_MAX; i++)
                for (MatchField k = 0; k < i; k++)
                        ck_assert_str_ne(match_field_to_string(i), match_field_to_string(k));
        ck_assert_ptr_null(match_field_to_string(_MATCH_FIELD_MAX));
}
END_TEST

/* --- the machine --- */

typedef struct Pair {
        MatchField field;
        const char *value;
} Pair;

typedef struct VerdictCase {
        const char *name;
        Pair rules[4]; /* ended by one without a value */
        Pair facts[4]; /* values in words, separated by "|" */
        bool matched;
        bool by_class;
        MatchField field; /* unless matched */
} VerdictCase;

static const VerdictCase verdict_cases[] = {
        { "no [Match]", {}, {}, .matched = true },
        { "no [Match], and a class", {}, { { MATCH_CLASS, "phone" } }, .matched = true },
        { "one key", { { MATCH_CHASSIS, "laptop" } }, { { MATCH_CHASSIS, "laptop" } }, .matched = true },
        { "items are ORed", { { MATCH_CHASSIS, "tablet laptop" } }, { { MATCH_CHASSIS, "laptop" } },
                        .matched = true },
        { "any value will do", { { MATCH_OS, "debian" } }, { { MATCH_OS, "raspbian|debian" } },
                        .matched = true },
        { "globs", { { MATCH_VENDOR, "To?Be*" } }, { { MATCH_VENDOR, "To Be Filled" } }, .matched = true },
        { "the whole value", { { MATCH_VENDOR, "Filled" } }, { { MATCH_VENDOR, "To Be Filled" } },
                        .field = MATCH_VENDOR },
        { "capitals count", { { MATCH_OS, "Debian" } }, { { MATCH_OS, "debian" } }, .field = MATCH_OS },
        { "keys are ANDed, the first in the enum's order is told",
                        { { MATCH_OS, "a" }, { MATCH_VENDOR, "b" }, { MATCH_CHASSIS, "laptop" } },
                        { { MATCH_OS, "x" }, { MATCH_VENDOR, "x" }, { MATCH_CHASSIS, "laptop" } },
                        .field = MATCH_VENDOR },
        { "all keys hold", { { MATCH_OS, "a" }, { MATCH_VENDOR, "b" }, { MATCH_CHASSIS, "laptop" } },
                        { { MATCH_OS, "a" }, { MATCH_VENDOR, "b" }, { MATCH_CHASSIS, "laptop" } },
                        .matched = true },
        { "negated", { { MATCH_CHASSIS, "!laptop tablet" } }, { { MATCH_CHASSIS, "tablet" } },
                        .field = MATCH_CHASSIS },
        { "negated, none of them", { { MATCH_CHASSIS, "!laptop tablet" } }, { { MATCH_CHASSIS, "desktop" } },
                        .matched = true },
        { "negated, one of several values", { { MATCH_OS, "!debian" } }, { { MATCH_OS, "raspbian|debian" } },
                        .field = MATCH_OS },
        { "case 26: nothing known", { { MATCH_VENDOR, "*" } }, {}, .field = MATCH_VENDOR },
        { "case 26: nothing known, negated", { { MATCH_VENDOR, "!*" } }, {}, .matched = true },
        { "command line", { { MATCH_KERNEL_COMMAND_LINE, "foo" } },
                        { { MATCH_KERNEL_COMMAND_LINE, "quiet|foo=bar|foo" } }, .matched = true },

        { "CPUs=4 is 4", { { MATCH_CPUS, "4" } }, { { MATCH_CPUS, "4" } }, .matched = true },
        { "CPUs=4 is not 8", { { MATCH_CPUS, "4" } }, { { MATCH_CPUS, "8" } }, .field = MATCH_CPUS },
        { "CPUs=4 is not 40", { { MATCH_CPUS, "4" } }, { { MATCH_CPUS, "40" } }, .field = MATCH_CPUS },
        { "CPUs==4", { { MATCH_CPUS, "=4" } }, { { MATCH_CPUS, "4" } }, .matched = true },
        { "CPUs=>=4, 4", { { MATCH_CPUS, ">=4" } }, { { MATCH_CPUS, "4" } }, .matched = true },
        { "CPUs=>=4, 10", { { MATCH_CPUS, ">=4" } }, { { MATCH_CPUS, "10" } }, .matched = true },
        { "CPUs=>=4, 3", { { MATCH_CPUS, ">=4" } }, { { MATCH_CPUS, "3" } }, .field = MATCH_CPUS },
        { "CPUs=>4, 4", { { MATCH_CPUS, ">4" } }, { { MATCH_CPUS, "4" } }, .field = MATCH_CPUS },
        { "CPUs=>4, 5", { { MATCH_CPUS, ">4" } }, { { MATCH_CPUS, "5" } }, .matched = true },
        { "CPUs=<4, 4", { { MATCH_CPUS, "<4" } }, { { MATCH_CPUS, "4" } }, .field = MATCH_CPUS },
        { "CPUs=<4, 3", { { MATCH_CPUS, "<4" } }, { { MATCH_CPUS, "3" } }, .matched = true },
        { "CPUs=<=4, 4", { { MATCH_CPUS, "<=4" } }, { { MATCH_CPUS, "4" } }, .matched = true },
        { "CPUs=<=4, 5", { { MATCH_CPUS, "<=4" } }, { { MATCH_CPUS, "5" } }, .field = MATCH_CPUS },
        { "CPUs=!=4, 4", { { MATCH_CPUS, "!=4" } }, { { MATCH_CPUS, "4" } }, .field = MATCH_CPUS },
        { "CPUs=!=4, 5", { { MATCH_CPUS, "!=4" } }, { { MATCH_CPUS, "5" } }, .matched = true },
        { "CPUs=!=4 4, 4: != is no negation", { { MATCH_CPUS, "!=4 4" } }, { { MATCH_CPUS, "4" } },
                        .matched = true },
        { "CPUs=!4, 4", { { MATCH_CPUS, "!4" } }, { { MATCH_CPUS, "4" } }, .field = MATCH_CPUS },
        { "CPUs=2 >=8, 4", { { MATCH_CPUS, "2 >=8" } }, { { MATCH_CPUS, "4" } }, .field = MATCH_CPUS },
        { "CPUs=2 >=8, 8", { { MATCH_CPUS, "2 >=8" } }, { { MATCH_CPUS, "8" } }, .matched = true },
        { "CPUs= of an unknown number", { { MATCH_CPUS, ">=0" } }, {}, .field = MATCH_CPUS },
        { "CPUs= of what is no number", { { MATCH_CPUS, ">=0" } }, { { MATCH_CPUS, "many" } },
                        .field = MATCH_CPUS },

        { "Device= by its subsystem", { { MATCH_DEVICE, "drm" } }, { { MATCH_DEVICE, "drm|drm:A=b" } },
                        .matched = true },
        { "Device= by a property", { { MATCH_DEVICE, "power_supply:POWER_SUPPLY_SCOPE=S*" } },
                        { { MATCH_DEVICE, "power_supply|power_supply:POWER_SUPPLY_SCOPE=System" } },
                        .matched = true },
        { "Device= without the property", { { MATCH_DEVICE, "power_supply:POWER_SUPPLY_SCOPE=S*" } },
                        { { MATCH_DEVICE, "power_supply|power_supply:POWER_SUPPLY_SCOPE=Device" } },
                        .field = MATCH_DEVICE },
        { "Device= is not there", { { MATCH_DEVICE, "!drm" } }, {}, .matched = true },

        { "case 26: the class names it, whatever the chassis says",
                        { { MATCH_CLASS, "phone" }, { MATCH_CHASSIS, "handset" } },
                        { { MATCH_CLASS, "phone" }, { MATCH_CHASSIS, "desktop" } }, .matched = true,
                        .by_class = true },
        { "case 26: the class names another", { { MATCH_CLASS, "server" }, { MATCH_CHASSIS, "desktop" } },
                        { { MATCH_CLASS, "phone" }, { MATCH_CHASSIS, "desktop" } }, .by_class = true,
                        .field = MATCH_CLASS },
        { "a class, and a policy without Class=", { { MATCH_CHASSIS, "desktop" } },
                        { { MATCH_CLASS, "phone" }, { MATCH_CHASSIS, "desktop" } }, .by_class = true,
                        .field = MATCH_CLASS },
        { "a class by a glob", { { MATCH_CLASS, "acme-*" } }, { { MATCH_CLASS, "acme-till" } },
                        .matched = true, .by_class = true },
        { "any class but one", { { MATCH_CLASS, "!phone" } }, { { MATCH_CLASS, "server" } }, .matched = true,
                        .by_class = true },
        { "no class: other keys decide", { { MATCH_CLASS, "phone" }, { MATCH_CHASSIS, "handset" } },
                        { { MATCH_CHASSIS, "handset" } }, .matched = true },
        { "no class: other keys decide against it",
                        { { MATCH_CLASS, "phone" }, { MATCH_CHASSIS, "handset" } },
                        { { MATCH_CHASSIS, "desktop" } }, .field = MATCH_CHASSIS },
        { "no class, and nothing but Class=", { { MATCH_CLASS, "phone" } }, {}, .field = MATCH_CLASS },
        { "no class, and nothing but a negated Class=", { { MATCH_CLASS, "!phone" } }, {},
                        .field = MATCH_CLASS },
};

static void add_facts(MachineFacts *facts, const Pair *pair) {
        _cleanup_free_ char *copy = strdup(pair->value);
        char *rest = copy, *word;

        while ((word = strsep(&rest, "|")))
                ck_assert_int_eq(strv_extend(&facts->values[pair->field], word), 0);
}

START_TEST(test_verdict) {
        const VerdictCase *c = verdict_cases + _i;
        _cleanup_(match_done) Match m = {};
        _cleanup_(machine_facts_done) MachineFacts facts = {};
        MatchVerdict v;

        for (size_t i = 0; i < ELEMENTSOF(c->rules) && c->rules[i].value; i++)
                ck_assert_int_eq(match_set_rule(&m, c->rules[i].field, c->rules[i].value, "f", 1), 0);
        for (size_t i = 0; i < ELEMENTSOF(c->facts) && c->facts[i].value; i++)
                add_facts(&facts, &c->facts[i]);

        memset(&v, 0xff, sizeof(v));
        match_evaluate(&m, &facts, &v);
        ck_assert_msg(v.matched == c->matched, "%s: matched", c->name);
        ck_assert_msg(v.by_class == c->by_class, "%s: by_class", c->name);
        if (!v.matched)
                ck_assert_msg(v.field == c->field, "%s: expected %s, got %s", c->name,
                                match_field_to_string(c->field), match_field_to_string(v.field));
}
END_TEST

static Suite *match_suite(void) {
        Suite *s = suite_create("match");
        TCase *t = tcase_create("match");

        tcase_add_loop_test(t, test_rule, 0, (int) ELEMENTSOF(rule_cases));
        tcase_add_test(t, test_replace);
        tcase_add_test(t, test_names);
        tcase_add_loop_test(t, test_verdict, 0, (int) ELEMENTSOF(verdict_cases));
        suite_add_tcase(s, t);
        return s;
}

int main(void) {
        return test_run(match_suite());
}
