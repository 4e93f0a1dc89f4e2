/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-policy.h"

#include <errno.h>
#include <inttypes.h>

/* Calls the function for each value of the policy, in the order of a policy file. */
typedef int (*value_handler_t)(void *userdata,
                const char *section,
                const char *key,
                const char *value,
                const PolicyOrigin *origin);

static void print_pattern(FILE *f, const char *pattern) {
        if (*pattern && !strpbrk(pattern, " \t\"'\\")) {
                fputs(pattern, f);
                return;
        }

        fputc('"', f);
        for (; *pattern; pattern++) {
                if (*pattern == '"' || *pattern == '\\')
                        fputc('\\', f);
                fputc(*pattern, f);
        }
        fputc('"', f);
}

static void print_rule(FILE *f, const MatchRule *rule) {
        if (rule->negate)
                fputc('!', f);
        for (char **p = rule->patterns; p && *p; p++) {
                if (p != rule->patterns)
                        fputc(' ', f);
                print_pattern(f, *p);
        }
}

static void print_alternative(FILE *f, const MilestoneCondition *c, size_t a) {
        const char *separator = "";

        for (size_t i = 0; i < c->n_names; i++)
                if (c->alternatives[a] & (UINT32_C(1) << i)) {
                        fprintf(f, "%s%s", separator, c->names[i]);
                        separator = " ";
                }
}

int policy_rule_to_string(const MatchRule *rule, char **ret) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *f;

        f = open_memstream(&text, &size);
        if (!f)
                return -ENOMEM;
        print_rule(f, rule);
        if (fclose(f) != 0)
                return -ENOMEM;

        *ret = TAKE_PTR(text);
        return 0;
}

int policy_condition_to_string(const MilestoneCondition *c, char **ret) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *f;

        f = open_memstream(&text, &size);
        if (!f)
                return -ENOMEM;
        for (size_t a = 0; a < c->n_alternatives; a++) {
                if (a > 0)
                        fputs(" or ", f);
                print_alternative(f, c, a);
        }
        if (fclose(f) != 0)
                return -ENOMEM;

        *ret = TAKE_PTR(text);
        return 0;
}

/* Seconds, with as many decimals as there are: what policy_parse_sec() reads. */
static void format_seconds(usec_t t, char buf[static SEC_TEXT_MAX]) {
        size_t n;

        snprintf(buf, SEC_TEXT_MAX, "%" PRIu64 ".%06" PRIu64, t / USEC_PER_SEC, t % USEC_PER_SEC);
        for (n = strlen(buf); buf[n - 1] == '0'; n--)
                ;
        buf[buf[n - 1] == '.' ? n - 1 : n] = '\0';
}

static int walk_match(const Policy *policy, value_handler_t handler, void *userdata) {
        int r;

        for (MatchField field = 0; field < _MATCH_FIELD_MAX; field++) {
                const MatchRule *rule = &policy->match.rules[field];
                PolicyOrigin origin = { .file = rule->file, .line = rule->line };
                _cleanup_free_ char *value = NULL;

                if (!rule->set)
                        continue;
                r = policy_rule_to_string(rule, &value);
                if (r >= 0)
                        r = handler(userdata, "Match", match_field_to_string(field), value, &origin);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int walk_end_when(const Policy *policy, value_handler_t handler, void *userdata) {
        for (size_t a = 0; a < policy->end_when.n_alternatives; a++) {
                _cleanup_free_ char *text = NULL;
                size_t size;
                FILE *f;
                int r;

                f = open_memstream(&text, &size);
                if (!f)
                        return -ENOMEM;
                print_alternative(f, &policy->end_when, a);
                if (fclose(f) != 0)
                        return -ENOMEM;
                r = handler(userdata, "Boot", "EndWhen", text, &policy->end_when_origin[a]);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int walk_boot(const Policy *policy, value_handler_t handler, void *userdata) {
        _cleanup_free_ char *users = NULL;
        char buf[SEC_TEXT_MAX];
        int r;

        r = walk_end_when(policy, handler, userdata);
        if (r < 0)
                return r;

        format_seconds(policy->not_before, buf);
        r = handler(userdata, "Boot", "NotBeforeSec", buf, &policy->not_before_origin);
        if (r < 0)
                return r;

        format_seconds(policy->deadline, buf);
        r = handler(userdata, "Boot", "DeadlineSec", buf, &policy->deadline_origin);
        if (r < 0)
                return r;

        r = strv_join(policy->allow_users, " ", &users);
        return r < 0 ? r : handler(userdata, "Boot", "AllowUsers", users, &policy->allow_users_origin);
}

static int walk_knobs(const Policy *policy, KnobStage stage, value_handler_t handler, void *userdata) {
        FOREACH_KNOB(k) {
                const PolicyKnob *knob = &policy->knobs[k];
                char buf[24];
                int r;

                if (knob->setting[stage].action == KNOB_ACTION_NONE)
                        continue;
                r = handler(userdata, stage == KNOB_STAGE_DURING ? "During" : "After", knob_info(k)->name,
                                knob_setting_to_string(&knob->setting[stage], buf, sizeof(buf)),
                                &knob->origin[stage]);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int walk(const Policy *policy, value_handler_t handler, void *userdata) {
        int r;

        r = walk_match(policy, handler, userdata);
        if (r >= 0)
                r = walk_boot(policy, handler, userdata);
        for (KnobStage stage = 0; r >= 0 && stage < _KNOB_STAGE_MAX; stage++)
                r = walk_knobs(policy, stage, handler, userdata);

        return r;
}

typedef struct Printer {
        Table table;
        const char *section;
} Printer;

static int add_row(void *userdata,
                const char *section,
                const char *key,
                const char *value,
                const PolicyOrigin *origin) {
        Printer *p = userdata;

        if (!p->section || !streq(section, p->section)) {
                if (p->section)
                        for (size_t i = 0; i < p->table.n_columns; i++)
                                table_cell(&p->table, COLOUR_NORMAL, "%s", "");
                table_cell(&p->table, COLOUR_BOLD, "[%s]", section);
                table_cell(&p->table, COLOUR_NORMAL, "%s", "");
                p->section = section;
        }

        table_cell(&p->table, COLOUR_NORMAL, "%s=%s", key, value);
        if (origin->file)
                table_cell(&p->table, COLOUR_GREY, "; %s:%u", origin->file, origin->line);
        else
                table_cell(&p->table, COLOUR_GREY, "; (default)");

        return 0;
}

int policy_print_values(const Policy *policy) {
        Printer p = { .table = TABLE_INIT(2) };
        int r;

        r = walk(policy, add_row, &p);
        if (r >= 0)
                r = table_print(&p.table, 0);

        table_done(&p.table);
        return r;
}

static int add_value(void *userdata,
                const char *section,
                const char *key,
                const char *value,
                const PolicyOrigin *origin) {
        json_t **array = userdata;

        json_append(array,
                        json_pack("{s:s,s:s,s:o,s:o,s:o}", "section", section, "key", key, "value",
                                        json_text(value), "file", json_text(origin->file), "line",
                                        json_number_if(origin->file, origin->line)));
        return *array ? 0 : -ENOMEM;
}

json_t *policy_values_to_json(const Policy *policy) {
        json_t *array = json_array();

        if (walk(policy, add_value, &array) < 0) {
                json_decref(array);
                return NULL;
        }

        return array;
}
