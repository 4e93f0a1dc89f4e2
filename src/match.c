/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "match.h"

#include <errno.h>

static const char *const field_names[_MATCH_FIELD_MAX] = {
        [MATCH_CLASS] = "Class",
        [MATCH_CHASSIS] = "Chassis",
        [MATCH_VIRTUALIZATION] = "Virtualization",
        [MATCH_PREEMPTION] = "Preemption",
        [MATCH_VENDOR] = "Vendor",
        [MATCH_PRODUCT] = "Product",
        [MATCH_DEVICETREE] = "DeviceTree",
        [MATCH_OS] = "OS",
        [MATCH_ARCHITECTURE] = "Architecture",
        [MATCH_KERNEL_COMMAND_LINE] = "KernelCommandLine",
        [MATCH_CPUS] = "CPUs",
        [MATCH_DEVICE] = "Device",
};

/* What may stand before the number of a CPUs= item. Longer operators first: ">=" begins with ">". */
typedef enum CpuOperator {
        CPU_LE,
        CPU_GE,
        CPU_NE,
        CPU_LT,
        CPU_GT,
        CPU_EQ,
        _CPU_OPERATOR_MAX,
} CpuOperator;

static const char *const cpu_operators[_CPU_OPERATOR_MAX] = {
        [CPU_LE] = "<=",
        [CPU_GE] = ">=",
        [CPU_NE] = "!=",
        [CPU_LT] = "<",
        [CPU_GT] = ">",
        [CPU_EQ] = "=",
};

const char *match_field_to_string(MatchField f) {
        return (unsigned) f < _MATCH_FIELD_MAX ? field_names[f] : NULL;
}

void machine_facts_done(MachineFacts *facts) {
        for (MatchField f = 0; f < _MATCH_FIELD_MAX; f++)
                facts->values[f] = strv_free(facts->values[f]);
}

static void match_rule_done(MatchRule *rule) {
        strv_free(rule->patterns);
        free(rule->file);
        *rule = (MatchRule){};
}

void match_done(Match *match) {
        for (MatchField f = 0; f < _MATCH_FIELD_MAX; f++)
                match_rule_done(&match->rules[f]);
}

/* A plain decimal number that no machine's count of CPUs exceeds by so much that it would wrap. */
static int cpus_parse_number(const char *s, uint32_t *ret) {
        uint32_t n = 0;

        if (s[0] == '\0' || strspn(s, "0123456789") != strlen(s) || strlen(s) > 9)
                return -EINVAL;
        for (; *s; s++)
                n = n * 10 + (uint32_t) (*s - '0');
        *ret = n;
        return 0;
}

static int cpus_parse_item(const char *item, CpuOperator *ret_operator, uint32_t *ret_number) {
        CpuOperator o;

        for (o = 0; o < _CPU_OPERATOR_MAX; o++) {
                const char *rest = startswith(item, cpu_operators[o]);

                if (rest) {
                        item = rest;
                        break;
                }
        }
        /* A bare number means that very number, as a bare word does in the other keys. */
        *ret_operator = o == _CPU_OPERATOR_MAX ? CPU_EQ : o;
        return cpus_parse_number(item, ret_number);
}

static bool cpus_item_holds(const char *item, uint32_t cpus) {
        CpuOperator o;
        uint32_t n;

        if (cpus_parse_item(item, &o, &n) < 0)
                return false;
        switch (o) {
        case CPU_LE:
                return cpus <= n;
        case CPU_GE:
                return cpus >= n;
        case CPU_NE:
                return cpus != n;
        case CPU_LT:
                return cpus < n;
        case CPU_GT:
                return cpus > n;
        default:
                return cpus == n;
        }
}

/* Whether the word at s, which ends where one of the characters in end stands, has only such characters as
 * the kernel and udev give to subsystems and properties. */
static bool is_word(const char *s, const char *end) {
        size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.");

        return n > 0 && strchr(end, s[n]);
}

/* SUBSYSTEM[:PROPERTY=GLOB]. The subsystem is no glob: it is what udev is asked to enumerate. */
static bool device_item_is_valid(const char *item) {
        const char *colon = strchr(item, ':');

        if (!is_word(item, ":"))
                return false;
        return !colon || (is_word(colon + 1, "=") && colon[strcspn(colon, "=")] == '=');
}

static bool item_is_valid(MatchField field, const char *item) {
        CpuOperator o;
        uint32_t n;

        if (field == MATCH_CPUS)
                return cpus_parse_item(item, &o, &n) >= 0;
        /* A "!" negates the list, so that one further on would never do what its author meant. */
        if (item[0] == '\0' || item[0] == '!')
                return false;
        return field != MATCH_DEVICE || device_item_is_valid(item);
}

/* Takes a leading "!" off; in CPUs= it may be half of the operator "!=" instead. */
static bool take_negation(MatchField field, const char **value) {
        if ((*value)[0] != '!' || (field == MATCH_CPUS && (*value)[1] == '='))
                return false;
        (*value)++;
        return true;
}

int match_set_rule(Match *match, MatchField field, const char *value, const char *file, unsigned line) {
        _cleanup_strv_free_ char **patterns = NULL;
        _cleanup_free_ char *copy = NULL;
        bool negate = take_negation(field, &value);
        int r;

        r = strv_split(value, &patterns);
        if (r < 0)
                return r;
        if (strv_length(patterns) == 0)
                return -EINVAL;
        for (char **p = patterns; *p; p++)
                if (!item_is_valid(field, *p))
                        return -EINVAL;
        copy = strdup(file);
        if (!copy)
                return -ENOMEM;

        match_rule_done(&match->rules[field]);
        match->rules[field] = (MatchRule){
                .set = true,
                .negate = negate,
                .patterns = TAKE_PTR(patterns),
                .file = TAKE_PTR(copy),
                .line = line,
        };
        return 0;
}

uint32_t match_fields(const Match *match) {
        uint32_t fields = 0;

        for (MatchField f = 0; f < _MATCH_FIELD_MAX; f++)
                if (match->rules[f].set)
                        fields |= UINT32_C(1) << f;
        return fields;
}

static bool patterns_hold(MatchField field, char *const *patterns, const char *value) {
        uint32_t cpus;

        if (field != MATCH_CPUS)
                return strv_fnmatch(patterns, value);
        if (cpus_parse_number(value, &cpus) < 0)
                return false;
        for (; *patterns; patterns++)
                if (cpus_item_holds(*patterns, cpus))
                        return true;
        return false;
}

static bool rule_holds(const MatchRule *rule, MatchField field, const MachineFacts *facts) {
        char *const *values = facts->values[field];
        bool found = false;

        for (; values && *values && !found; values++)
                found = patterns_hold(field, rule->patterns, *values);
        return found != rule->negate;
}

/* The administrator's word: the other keys only guess what the machine is, and may guess wrong. */
static void evaluate_class(const Match *match, const MachineFacts *facts, MatchVerdict *ret) {
        const MatchRule *rule = &match->rules[MATCH_CLASS];

        *ret = (MatchVerdict){
                .matched = rule->set && rule_holds(rule, MATCH_CLASS, facts),
                .by_class = true,
                .field = MATCH_CLASS,
        };
}

void match_evaluate(const Match *match, const MachineFacts *facts, MatchVerdict *ret) {
        uint32_t fields = match_fields(match);

        if (fields == 0) {
                *ret = (MatchVerdict){ .matched = true };
                return;
        }
        if (strv_length(facts->values[MATCH_CLASS]) > 0) {
                evaluate_class(match, facts, ret);
                return;
        }
        if (fields == UINT32_C(1) << MATCH_CLASS) {
                *ret = (MatchVerdict){ .field = MATCH_CLASS };
                return;
        }
        for (MatchField f = MATCH_CLASS + 1; f < _MATCH_FIELD_MAX; f++)
                if (match->rules[f].set && !rule_holds(&match->rules[f], f, facts)) {
                        *ret = (MatchVerdict){ .field = f };
                        return;
                }
        *ret = (MatchVerdict){ .matched = true };
}
