/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl-output.h"
#include "policy-files.h"
#include "unit-graph.h"

/* What the verbs of `policy` share. */

/* --- ctl-policy.c: all policies of a root, and which is the one --- */

typedef struct PolicyView {
        PolicyFiles files;
        MachineFacts facts;
        const PolicyFile *chosen; /* in files; NULL: the built-in one is left */
        Policy *builtin;          /* unless chosen */
        char *why;
        char *in_force; /* path of the policy that this boot went by; NULL if there is no state */
} PolicyView;

typedef enum PolicyVerdict {
        POLICY_CHOSEN,
        POLICY_MATCHES, /* but comes later */
        POLICY_NO_MATCH,
        POLICY_MASKED,
        POLICY_FAULTY,
        _POLICY_VERDICT_MAX,
} PolicyVerdict;

/* CTL_DONE, or CTL_FAILED with the error said. */
int policy_view_load(const Ctl *ctl, PolicyView *ret);

/* For an error of policy_files_load() and its like: says it. Returns CTL_FAILED. */
int policy_say_load_error(const Ctl *ctl, int error);

void policy_view_done(PolicyView *v);

/* *ret_match: for POLICY_NO_MATCH, which key did not hold. */
PolicyVerdict policy_view_verdict(const PolicyView *v, const PolicyFile *file, MatchVerdict *ret_match);
const char *policy_verdict_to_string(PolicyVerdict v); /* "no-match", for JSON */
const char *policy_verdict_to_words(PolicyVerdict v);  /* "no match" */

static inline const Policy *policy_view_policy(const PolicyView *v) {
        return v->chosen ? v->chosen->policy : v->builtin;
}

/* The policy named, with or without ".policy"; NULL, with the error said, if there is none. */
const PolicyFile *policy_view_find(const PolicyView *v, const char *name);

/* --- ctl-policy-values.c: what a policy says, and where it says so --- */

/* As a policy file again, sections and all, the origin of each value behind it as a comment. -ENOMEM. */
int policy_print_values(const Policy *policy);

/* [{ "section": "Boot", "key": "DeadlineSec", "value": "120", "file": "...", "line": 9 }, ...]: file and
 * line are null for what nobody set. NULL if memory is out. */
json_t *policy_values_to_json(const Policy *policy);

/* "!laptop convertible": a key's value as the file spells it. -ENOMEM. */
int policy_rule_to_string(const MatchRule *rule, char **ret);

/* "a b or c": what the policy waits for. -ENOMEM. */
int policy_condition_to_string(const MilestoneCondition *c, char **ret);

/* --- ctl-policy-json.c --- */

/* One element of "policies" in list and explain. */
json_t *policy_file_to_json(const PolicyView *v, const PolicyFile *file);

/* --- ctl-policy-units.c: whether what a policy waits for can come --- */

typedef struct PolicyWarning {
        const char *id; /* for JSON; stable */
        char *milestone;
        char *text;
} PolicyWarning;

typedef struct PolicyWarnings {
        PolicyWarning *items;
        size_t n;
} PolicyWarnings;

void policy_warnings_done(PolicyWarnings *w);

_printf_(4, 5) int policy_warn(
                PolicyWarnings *w, const char *id, const char *milestone, const char *format, ...);

/* Adds a warning for each awaited unit that is not there, is masked, or is not pulled in by default.target
 * (boot never reaches it); whose being reached nothing would report; or that waits for
 * rcu-boot-wait.service, and so for itself. -ENOMEM; negative errno. */
int policy_check_units(int root_fd, UnitGraph *graph, const Policy *policy, PolicyWarnings *w);
