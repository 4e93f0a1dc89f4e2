/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-policy.h"

#include <errno.h>
#include <fcntl.h>

#include "names.h"

/* `rcu-bootctl policy check [FILE...]`: 1 if any of them is faulty or missing; warnings do not change that.
 * FILE is a path as for any other program; the units that it speaks of are looked for below --root=. Without
 * FILE: all installed policies, as the daemon would read them.
 *
 * The schema with --json; keys are only ever added:
 *
 *   {
 *     "files": [
 *       { "name": "80-server.policy",
 *         "file": "conf/policy.d/80-server.policy",
 *         "valid": true,               masked ones are
 *         "masked": false,
 *         "errors": ["FILE:LINE: ..."],
 *         "warnings": [
 *           { "id": "no-such-unit",    "no-such-unit", "masked-unit", "not-pulled-in", "no-source",
 *                                      "needs-systemd-256", "cycle", "name", "mask"
 *             "milestone": "boot-complete.target",    null: of none in particular
 *             "text": "..." } ] }
 *     ],
 *     "units_examined": true           false: no unit files below the root, so no warnings about them
 *   }
 */

typedef struct Check {
        const Ctl *ctl;
        UnitGraph *graph; /* NULL: there are no units below the root */
        json_t *files;    /* with --json */
        bool failed;      /* some file is faulty */
        bool units_missed;
} Check;

static int find_warnings(Check *c, const PolicyFile *file, PolicyWarnings *w) {
        int r = 0;

        if (!endswith(file->name, POLICY_SUFFIX))
                r = policy_warn(w, "name", NULL,
                                "rcu-bootd reads only files whose names end in " POLICY_SUFFIX);
        if (r >= 0 && file->masked)
                r = policy_warn(w, "mask", NULL,
                                "empty, or a link to /dev/null: this is no policy, but hides one of the "
                                "same name");
        if (r < 0 || !file->policy)
                return r;

        if (c->graph)
                return policy_check_units(c->ctl->root_fd, c->graph, file->policy, w);

        for (size_t i = 0; i < file->policy->end_when.n_names; i++)
                if (milestone_kind(file->policy->end_when.names[i]) == MILESTONE_KIND_UNIT)
                        c->units_missed = true;
        return 0;
}

static void add_to_json(Check *c, const PolicyFile *file, const PolicyWarnings *w) {
        json_t *warnings = json_array();

        for (size_t i = 0; i < w->n; i++)
                json_append(&warnings,
                                json_pack("{s:s,s:o,s:o}", "id", w->items[i].id, "milestone",
                                                json_text(w->items[i].milestone), "text",
                                                json_text(w->items[i].text)));

        json_append(&c->files,
                        json_pack("{s:o,s:o,s:b,s:b,s:o,s:o}", "name", json_text(file->name), "file",
                                        json_text(file->path), "valid", file->masked || file->policy,
                                        "masked", file->masked, "errors", json_texts(file->errors),
                                        "warnings", warnings));
}

static void print(const PolicyFile *file, const PolicyWarnings *w) {
        if (file->policy && w->n == 0)
                printf("%s: valid\n", file->path);
        else if (file->policy)
                printf("%s: valid, but:\n", file->path);
        else if (!file->masked)
                printf("%s: faulty\n", file->path);
        fflush(stdout);

        /* As they are, without our name in front: FILE:LINE: is what editors look for. */
        for (char **e = file->errors; e && *e; e++)
                fprintf(stderr, "%s\n", text_harmless(*e));
        for (size_t i = 0; i < w->n; i++)
                fprintf(stderr, "%s: warning: %s\n", file->path, text_harmless(w->items[i].text));
}

static int check_one(Check *c, const PolicyFile *file) {
        _cleanup_(policy_warnings_done) PolicyWarnings w = {};
        int r;

        if (!file->policy && !file->masked)
                c->failed = true;

        r = find_warnings(c, file, &w);
        if (r < 0)
                return r;

        if (c->ctl->json)
                add_to_json(c, file, &w);
        else
                print(file, &w);
        return 0;
}

static int check_named(Check *c, int n, char **paths) {
        for (int i = 0; i < n; i++) {
                _cleanup_(policy_file_done) PolicyFile file = {};
                int r;

                r = policy_files_load_one(AT_FDCWD, paths[i], &file);
                if (r >= 0)
                        r = check_one(c, &file);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int check_installed(Check *c) {
        _cleanup_(policy_files_done) PolicyFiles files = {};
        int r;

        r = policy_files_load(c->ctl->root_fd, &files);
        for (size_t i = 0; r >= 0 && i < files.n; i++)
                r = check_one(c, &files.items[i]);
        if (r >= 0 && files.n == 0 && !c->ctl->json)
                printf("No policies are installed below %s.\n", c->ctl->root);

        return r;
}

static int finish(Check *c, int r) {
        if (r < 0)
                return policy_say_load_error(c->ctl, r);

        if (c->ctl->json) {
                json_t *files = TAKE_PTR(c->files);

                r = ctl_print_json(json_pack("{s:o,s:b}", "files", files, "units_examined", !!c->graph));
                if (r != CTL_DONE)
                        return r;
        } else if (c->units_missed)
                ctl_error("There are no unit files below %s: whether the units waited for can be reached "
                          "was not looked at. With --root=DIR it is, for the system below DIR.",
                                c->ctl->root);

        return c->failed ? CTL_FAILED : CTL_DONE;
}

int ctl_policy_check(const Ctl *ctl, int argc, char **argv) {
        _cleanup_(unit_graph_freep) UnitGraph *graph = NULL;
        Check c = { .ctl = ctl };
        int r, code;

        r = unit_graph_new(ctl->root_fd, &graph);
        if (r < 0 && r != -ENOENT) {
                ctl_error("Cannot read the unit directories below %s: %s", ctl->root, strerror(-r));
                return CTL_FAILED;
        }
        c.graph = graph;
        c.files = ctl->json ? json_array() : NULL;

        r = argc > 1 ? check_named(&c, argc - 1, argv + 1) : check_installed(&c);
        code = finish(&c, r);
        json_decref(c.files);
        return code;
}
