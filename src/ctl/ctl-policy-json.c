/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-policy.h"

/* Which key did not hold, and what the machine says instead. */
static int add_mismatch(
                const PolicyView *v, const PolicyFile *file, const MatchVerdict *match, json_t *object) {
        const MatchRule *rule = &file->policy->match.rules[match->field];
        _cleanup_free_ char *expected = NULL;
        json_t *mismatch;

        /* A class that was set rules out every policy without a Class= of that name. */
        if (rule->set && policy_rule_to_string(rule, &expected) < 0)
                return -1;

        mismatch = json_pack("{s:s,s:o,s:o,s:o,s:o,s:b}", "key", match_field_to_string(match->field),
                        "expected", json_text(expected), "file", json_text(rule->file), "line",
                        json_number_if(rule->file, rule->line), "actual",
                        json_texts(v->facts.values[match->field]), "by_class", match->by_class);
        return json_object_set_new(object, "mismatch", mismatch);
}

json_t *policy_file_to_json(const PolicyView *v, const PolicyFile *file) {
        MatchVerdict match;
        PolicyVerdict verdict = policy_view_verdict(v, file, &match);
        json_t *deadline = json_number_if(file->policy, file->policy ? (int64_t) file->policy->deadline : 0);
        _cleanup_free_ char *condition = NULL;
        json_t *object;

        if (file->policy && policy_condition_to_string(&file->policy->end_when, &condition) < 0) {
                json_decref(deadline);
                return NULL;
        }

        object = json_pack("{s:o,s:o,s:s,s:o,s:o,s:o,s:o,s:o,s:n}", "name", json_text(file->name), "file",
                        json_text(file->path), "verdict", policy_verdict_to_string(verdict), "deadline_usec",
                        deadline, "end_when", json_text(condition), "errors", json_texts(file->errors),
                        "dropins", json_texts(file->dropins), "shadowed", json_texts(file->shadowed),
                        "mismatch");
        if (object && verdict == POLICY_NO_MATCH && add_mismatch(v, file, &match, object) < 0) {
                json_decref(object);
                return NULL;
        }

        return object;
}
