/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-policy.h"

#include "names.h"

#include <errno.h>

/* `rcu-bootctl policy explain`: 0, also where some are faulty or none is chosen.
 *
 * The schema with --json; keys are only ever added:
 *
 *   {
 *     "chosen": "80-server.policy",    null: none can be used, the built-in one is in force
 *     "why": "...",
 *     "in_force": "/usr/lib/...",      the file that this boot went by; null: there is no state
 *     "class": "server",               set by the administrator; null: none is
 *     "facts": { "Chassis": ["desktop"], ... },    all that some [Match] asks for
 *     "policies": [                    in the order in which they are tried
 *       { "name": "50-laptop.policy",
 *         "file": "/usr/lib/rcu-bootd/policy.d/50-laptop.policy",
 *         "verdict": "no-match",       "chosen", "matches" (but comes later), "no-match", "masked", "faulty"
 *         "deadline_usec": 120000000,  null: masked or faulty
 *         "end_when": "graphical.target or home-screen",
 *         "errors": ["FILE:LINE: ..."],
 *         "dropins": ["/etc/rcu-bootd/policy.d/50-laptop.policy.d/10-local.conf"],
 *         "shadowed": [],              files of the same name in lower directories
 *         "mismatch": {                null unless "no-match": the first key that does not hold
 *           "key": "Chassis",
 *           "expected": "laptop convertible",    null: it is not there, where a class is set
 *           "file": "...", "line": 7,
 *           "actual": ["desktop"],     what the machine says; empty: nothing is known
 *           "by_class": false } }      true: the administrator's class alone decided
 *     ],
 *     "values": [                      of the policy that would be in force
 *       { "section": "Boot", "key": "DeadlineSec", "value": "120", "file": "...", "line": 12 }
 *     ]                                file and line are null for a default
 *   }
 */

static const char *set_class(const PolicyView *v) {
        char **values = v->facts.values[MATCH_CLASS];

        return values ? *values : NULL;
}

/* The machine's own values; a machine can have thousands of devices. */
#define ACTUAL_MAX 8U

static int join_actual(char **values, char **ret) {
        size_t n = strv_length(values);
        char *first[ACTUAL_MAX + 1] = {};
        _cleanup_free_ char *text = NULL;
        int r;

        for (size_t i = 0; i < MIN(n, ACTUAL_MAX); i++)
                first[i] = values[i];
        r = strv_join(first, " ", &text);
        if (r < 0)
                return r;
        text_harmless(text);

        if (n <= ACTUAL_MAX) {
                *ret = TAKE_PTR(text);
                return 0;
        }

        return asprintf(ret, "%s and %zu more", text, n - ACTUAL_MAX) < 0 ? -ENOMEM : 0;
}

static int print_mismatch(const PolicyView *v, const PolicyFile *file, const MatchVerdict *match) {
        const MatchRule *rule = &file->policy->match.rules[match->field];
        const char *key = match_field_to_string(match->field);
        _cleanup_free_ char *expected = NULL, *actual = NULL;
        int r;

        r = join_actual(v->facts.values[match->field], &actual);
        if (r >= 0 && rule->set)
                r = policy_rule_to_string(rule, &expected);
        if (r < 0)
                return r;

        if (!rule->set)
                printf("    has no %s=, and this machine is of class \"%s\"\n", key, actual);
        else if (match->field == MATCH_CLASS && *actual == '\0')
                printf("    %s=%s, but no class is set on this machine (%s:%u)\n", key, expected, rule->file,
                                rule->line);
        else if (*actual == '\0')
                printf("    %s=%s, but nothing is known of that here (%s:%u)\n", key, expected, rule->file,
                                rule->line);
        else
                printf("    %s=%s, but here it is: %s (%s:%u)\n", key, expected, actual, rule->file,
                                rule->line);

        return 0;
}

static int print_verdict(const PolicyView *v, const PolicyFile *file) {
        static const Colour colours[_POLICY_VERDICT_MAX] = { [POLICY_CHOSEN] = COLOUR_GREEN,
                [POLICY_MATCHES] = COLOUR_NORMAL,
                [POLICY_NO_MATCH] = COLOUR_GREY,
                [POLICY_MASKED] = COLOUR_GREY,
                [POLICY_FAULTY] = COLOUR_RED };
        MatchVerdict match;
        PolicyVerdict verdict = policy_view_verdict(v, file, &match);

        printf("%s%s%s: %s%s%s\n    %s\n", colour(COLOUR_BOLD), file->name, colour(COLOUR_NORMAL),
                        colour(colours[verdict]), policy_verdict_to_words(verdict), colour(COLOUR_NORMAL),
                        file->path);
        for (char **path = file->shadowed; path && *path; path++)
                printf("    instead of %s\n", *path);
        for (char **path = file->dropins; path && *path; path++)
                printf("    with %s%s\n", *path, file->masked ? ", which is ignored" : "");
        for (char **e = file->errors; e && *e; e++)
                printf("    %s\n", text_harmless(*e));

        if (verdict == POLICY_CHOSEN)
                printf("    %s\n", v->why);
        return verdict == POLICY_NO_MATCH ? print_mismatch(v, file, &match) : 0;
}

static int print_all(const PolicyView *v) {
        const char *class = set_class(v);
        int r;

        if (class)
                printf("Class set by the administrator (%s on the kernel command line, or /%s): %s. It "
                       "alone decides.\n"
                       "\n",
                                CMDLINE_CLASS, PATH_CLASS, class);

        for (size_t i = 0; i < v->files.n; i++) {
                r = print_verdict(v, &v->files.items[i]);
                if (r < 0)
                        return r;
        }

        if (!v->chosen)
                printf("None of them can be used here: the policy that is built in would be in force.\n");
        if (v->in_force && !streq(v->in_force, policy_view_policy(v)->path))
                printf("This boot goes by another one: %s\n", v->in_force);

        printf("\n%sPolicy %s:%s\n", colour(COLOUR_BOLD), policy_view_policy(v)->name,
                        colour(COLOUR_NORMAL));
        return policy_print_values(policy_view_policy(v));
}

static json_t *facts_to_json(const PolicyView *v) {
        json_t *object = json_object();

        for (MatchField f = 0; f < _MATCH_FIELD_MAX; f++)
                if (v->facts.values[f] &&
                                json_object_set_new(object, match_field_to_string(f),
                                                json_texts(v->facts.values[f])) < 0) {
                        json_decref(object);
                        return NULL;
                }

        return object;
}

static json_t *all_to_json(const PolicyView *v) {
        json_t *policies = json_array();

        for (size_t i = 0; i < v->files.n; i++)
                json_append(&policies, policy_file_to_json(v, &v->files.items[i]));

        return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "chosen",
                        json_text(v->chosen ? v->chosen->name : NULL), "why", json_text(v->why), "in_force",
                        json_text(v->in_force), "class", json_text(set_class(v)), "facts", facts_to_json(v),
                        "policies", policies, "values", policy_values_to_json(policy_view_policy(v)));
}

int ctl_policy_explain(const Ctl *ctl, int argc, char **argv) {
        _cleanup_(policy_view_done) PolicyView v = {};
        int code;

        code = policy_view_load(ctl, &v);
        if (code != CTL_DONE)
                return code;

        if (ctl->json)
                return ctl_print_json(all_to_json(&v));

        pager_open(ctl);
        return print_all(&v) < 0 ? ctl_oom() : CTL_DONE;
}
