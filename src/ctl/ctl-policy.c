/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-policy.h"

#include <errno.h>
#include <inttypes.h>

#include "names.h"
#include "state-file.h"

static const struct {
        const char *name;
        int min_args;
        int max_args; /* -1: any number */
        int (*run)(const Ctl *ctl, int argc, char **argv);
        const char *arguments;
} verb_table[] = {
        { "list", 0, 0, ctl_policy_list, "" },
        { "show", 0, 1, ctl_policy_show, " [NAME]" },
        { "check", 0, -1, ctl_policy_check, " [FILE...]" },
        { "explain", 0, 0, ctl_policy_explain, "" },
};

int ctl_verb_policy(const Ctl *ctl, int argc, char **argv) {
        const char *names[ELEMENTSOF(verb_table)], *nearest;
        int n_args = argc - 2;

        for (size_t i = 0; i < ELEMENTSOF(verb_table); i++) {
                names[i] = verb_table[i].name;
                if (!streq(argv[1], names[i]))
                        continue;
                if (n_args < verb_table[i].min_args ||
                                (verb_table[i].max_args >= 0 && n_args > verb_table[i].max_args)) {
                        ctl_error("Too many arguments. Expected: rcu-bootctl policy %s%s", names[i],
                                        verb_table[i].arguments);
                        return CTL_USAGE;
                }
                return verb_table[i].run(ctl, argc - 1, argv + 1);
        }

        nearest = ctl_nearest(argv[1], names, ELEMENTSOF(names));
        if (nearest)
                ctl_error("Unknown command \"policy %s\". Did you mean \"policy %s\"?", argv[1], nearest);
        else
                ctl_error("Unknown command \"policy %s\". Expected: list, show, check or explain.", argv[1]);
        return CTL_USAGE;
}

void policy_view_done(PolicyView *v) {
        policy_files_done(&v->files);
        machine_facts_done(&v->facts);
        policy_free(v->builtin);
        free(v->why);
        free(v->in_force);
        *v = (PolicyView){};
}

/* Without a state nothing is in force; why there is none is for `status` to say. */
static void read_in_force(const Ctl *ctl, PolicyView *v) {
        BootRecord record = {};

        if (state_file_read(ctl->root_fd, &record) < 0)
                return;

        v->in_force = TAKE_PTR(record.policy_path);
        boot_record_done(&record);
}

static int load(const Ctl *ctl, PolicyView *v) {
        int r;

        r = policy_files_load(ctl->root_fd, &v->files);
        if (r < 0)
                return r;

        r = policy_files_facts(ctl->root_fd, &v->files, &v->facts);
        if (r < 0)
                return r;

        r = policy_files_choose(&v->files, &v->facts, &v->chosen, &v->why);
        if (r < 0)
                return r;

        return v->chosen ? 0 : policy_files_builtin(&v->builtin);
}

int policy_say_load_error(const Ctl *ctl, int error) {
        if (error == -ENOMEM)
                return ctl_oom();

        if (error == -E2BIG)
                ctl_error("There are more than %u policies below %s: somebody else's files. rcu-bootd uses "
                          "none of them, but the policy that is built in.",
                                POLICY_FILES_MAX, ctl->root);
        else
                ctl_error("Cannot read the policies below %s: %s", ctl->root, strerror(-error));
        return CTL_FAILED;
}

int policy_view_load(const Ctl *ctl, PolicyView *ret) {
        PolicyView v = {};
        int r;

        r = load(ctl, &v);
        if (r < 0) {
                policy_view_done(&v);
                return policy_say_load_error(ctl, r);
        }

        read_in_force(ctl, &v);
        *ret = v;
        return CTL_DONE;
}

PolicyVerdict policy_view_verdict(const PolicyView *v, const PolicyFile *file, MatchVerdict *ret_match) {
        *ret_match = (MatchVerdict){};

        if (file->masked)
                return POLICY_MASKED;
        if (!file->policy)
                return POLICY_FAULTY;
        if (file == v->chosen)
                return POLICY_CHOSEN;

        match_evaluate(&file->policy->match, &v->facts, ret_match);
        return ret_match->matched ? POLICY_MATCHES : POLICY_NO_MATCH;
}

static const struct {
        const char *id;
        const char *words;
} verdict_table[_POLICY_VERDICT_MAX] = {
        [POLICY_CHOSEN] = { "chosen", "chosen" },
        [POLICY_MATCHES] = { "matches", "matches, later" },
        [POLICY_NO_MATCH] = { "no-match", "no match" },
        [POLICY_MASKED] = { "masked", "masked" },
        [POLICY_FAULTY] = { "faulty", "faulty" },
};

const char *policy_verdict_to_string(PolicyVerdict v) {
        return verdict_table[v].id;
}

const char *policy_verdict_to_words(PolicyVerdict v) {
        return verdict_table[v].words;
}

static bool is_named(const PolicyFile *file, const char *name) {
        const char *rest = startswith(file->name, name);

        return rest && (*rest == '\0' || streq(rest, POLICY_SUFFIX));
}

const PolicyFile *policy_view_find(const PolicyView *v, const char *name) {
        const char *names[POLICY_FILES_MAX] = {}, *nearest;
        _cleanup_free_ char *whole = NULL;
        size_t n = 0;

        for (size_t i = 0; i < v->files.n; i++) {
                if (is_named(&v->files.items[i], name))
                        return &v->files.items[i];
                if (n < ELEMENTSOF(names))
                        names[n++] = v->files.items[i].name;
        }

        if (asprintf(&whole, "%s%s", name, endswith(name, POLICY_SUFFIX) ? "" : POLICY_SUFFIX) < 0)
                whole = NULL;
        nearest = whole ? ctl_nearest(whole, names, n) : NULL;
        if (nearest)
                ctl_error("There is no policy \"%s\". Did you mean \"%s\"?", name, nearest);
        else
                ctl_error("There is no policy \"%s\". See: rcu-bootctl policy list%s", name,
                                strchr(name, '/') ? "; for a file elsewhere: rcu-bootctl policy check FILE"
                                                  : "");
        return NULL;
}

static Colour colour_of(PolicyVerdict verdict) {
        switch (verdict) {
        case POLICY_CHOSEN:
                return COLOUR_GREEN;
        case POLICY_FAULTY:
                return COLOUR_RED;
        case POLICY_MATCHES:
                return COLOUR_NORMAL;
        default:
                return COLOUR_GREY;
        }
}

static int add_row(Table *t, const PolicyView *v, const PolicyFile *file) {
        _cleanup_free_ char *condition = NULL;
        MatchVerdict match;
        PolicyVerdict verdict = policy_view_verdict(v, file, &match);
        char seconds[SEC_TEXT_MAX] = "";
        int r;

        if (file->policy) {
                r = policy_condition_to_string(&file->policy->end_when, &condition);
                if (r < 0)
                        return r;
                snprintf(seconds, sizeof(seconds), "%" PRIu64 " s", file->policy->deadline / USEC_PER_SEC);
        }

        table_cell(t, verdict == POLICY_CHOSEN ? COLOUR_BOLD : COLOUR_NORMAL, "%s", file->name);
        table_cell(t, colour_of(verdict), "%s", policy_verdict_to_words(verdict));
        table_cell(t, COLOUR_NORMAL, "%s", seconds);
        table_cell(t, COLOUR_NORMAL, "%s", strempty(condition));
        table_cell(t, COLOUR_GREY, "%s", file->path);
        return 0;
}

static int print_list(const PolicyView *v) {
        static const char *const titles[] = { "POLICY", "HERE", "DEADLINE", "ENDS WHEN", "FILE" };
        _cleanup_table_ Table t = TABLE_INIT(ELEMENTSOF(titles));
        int r;

        for (size_t i = 0; i < ELEMENTSOF(titles); i++)
                table_cell(&t, COLOUR_BOLD, "%s", titles[i]);

        for (size_t i = 0; i < v->files.n; i++) {
                r = add_row(&t, v, &v->files.items[i]);
                if (r < 0)
                        return r;
        }

        r = table_print(&t, 0);
        if (r < 0)
                return r;

        if (!v->chosen)
                printf("\nNone of them can be used here: the policy that is built in would be in force.\n");
        if (v->in_force && !streq(v->in_force, policy_view_policy(v)->path))
                printf("\nThis boot goes by another one: %s\n", v->in_force);
        return 0;
}

static json_t *list_to_json(const PolicyView *v) {
        json_t *array = json_array();

        for (size_t i = 0; i < v->files.n; i++)
                json_append(&array, policy_file_to_json(v, &v->files.items[i]));

        return json_pack("{s:o,s:o,s:o}", "chosen", json_text(v->chosen ? v->chosen->name : NULL),
                        "in_force", json_text(v->in_force), "policies", array);
}

/* `rcu-bootctl policy list`: 0, also where some are faulty or none is chosen.
 *
 * The schema with --json: { "chosen": as in `policy explain`, "in_force": likewise, "policies": likewise }.
 */
int ctl_policy_list(const Ctl *ctl, int argc, char **argv) {
        _cleanup_(policy_view_done) PolicyView v = {};
        int code;

        code = policy_view_load(ctl, &v);
        if (code != CTL_DONE)
                return code;

        if (ctl->json)
                return ctl_print_json(list_to_json(&v));

        pager_open(ctl);
        return print_list(&v) < 0 ? ctl_oom() : CTL_DONE;
}

static int show(const Ctl *ctl, const PolicyFile *file, const Policy *policy) {
        if (ctl->json)
                return ctl_print_json(json_pack("{s:o,s:o,s:o,s:o}", "name", json_text(policy->name), "file",
                                json_text(policy->path), "dropins", json_texts(file ? file->dropins : NULL),
                                "values", policy_values_to_json(policy)));

        pager_open(ctl);
        printf("%s; %s%s\n", colour(COLOUR_GREY), policy->path, colour(COLOUR_NORMAL));
        for (char **path = file ? file->dropins : NULL; path && *path; path++)
                printf("%s; %s%s\n", colour(COLOUR_GREY), *path, colour(COLOUR_NORMAL));

        return policy_print_values(policy) < 0 ? ctl_oom() : CTL_DONE;
}

/* `rcu-bootctl policy show [NAME]`: 1 if there is no such policy, or it is masked or faulty. What is printed
 * is a valid policy file again.
 *
 * The schema with --json: { "name": "...", "file": "...", "dropins": ["..."], "values": as in `policy
 * explain` }. */
int ctl_policy_show(const Ctl *ctl, int argc, char **argv) {
        _cleanup_(policy_view_done) PolicyView v = {};
        const PolicyFile *file;
        int code;

        code = policy_view_load(ctl, &v);
        if (code != CTL_DONE)
                return code;

        if (argc < 2)
                return show(ctl, v.chosen, policy_view_policy(&v));

        file = policy_view_find(&v, argv[1]);
        if (!file)
                return CTL_FAILED;
        if (file->masked) {
                ctl_error("Policy %s is masked by %s. To have it back, remove that file.", file->name,
                                file->path);
                return CTL_FAILED;
        }
        if (!file->policy) {
                ctl_error("Policy %s is faulty, and not used:", file->name);
                for (char **e = file->errors; e && *e; e++)
                        fprintf(stderr, "%s\n", *e);
                return CTL_FAILED;
        }

        return show(ctl, file, file->policy);
}
