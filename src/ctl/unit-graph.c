/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit-graph-internal.h"

#include <errno.h>

static void unit_free(Unit *u) {
        free(u->name);
        strv_free(u->pulls);
        strv_free(u->after);
        strv_free(u->before);
        free(u);
}

UnitGraph *unit_graph_free(UnitGraph *g) {
        if (!g)
                return NULL;

        for (size_t i = 0; i < g->n_entries; i++) {
                free(g->entries[i].name);
                free(g->entries[i].path);
                free(g->entries[i].target);
        }
        for (size_t i = 0; i < g->n_links; i++) {
                free(g->links[i].unit);
                free(g->links[i].other);
        }
        for (size_t i = 0; i < g->n_units; i++)
                unit_free(g->units[i]);
        free(g->entries);
        free(g->links);
        free(g->units);
        free(g);
        return NULL;
}

int unit_graph_new(int root_fd, UnitGraph **ret) {
        _cleanup_(unit_graph_freep) UnitGraph *g = calloc(1, sizeof(*g));
        int r;

        if (!g)
                return -ENOMEM;
        g->root_fd = root_fd;

        r = unit_directories_list(g);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(g);
        return 0;
}

UnitPresence unit_graph_presence(const UnitGraph *g, const char *name) {
        const UnitEntry *e = unit_directories_fragment(g, unit_directories_resolve(g, name));

        return !e ? UNIT_ABSENT : e->masked ? UNIT_MASKED : UNIT_PRESENT;
}

bool unit_graph_has_link(const UnitGraph *g, const char *unit, const char *other) {
        unit = unit_directories_resolve(g, unit);

        for (size_t i = 0; i < g->n_links; i++)
                if (streq(g->links[i].other, other) &&
                                streq(unit_directories_resolve(g, g->links[i].unit), unit))
                        return true;

        return false;
}

/* The index among the started units, or n_units. */
static size_t find_unit(const UnitGraph *g, const char *name) {
        size_t i;

        name = unit_directories_resolve(g, name);
        for (i = 0; i < g->n_units; i++)
                if (streq(g->units[i]->name, name))
                        break;

        return i;
}

bool unit_graph_is_started(const UnitGraph *g, const char *name) {
        return find_unit(g, name) < g->n_units;
}

static int load_links(const UnitGraph *g, Unit *u) {
        _cleanup_free_ char *template = NULL;
        int r;

        r = unit_template_of(u->name, &template);
        if (r < 0)
                return r;

        for (size_t i = 0; i < g->n_links; i++) {
                const char *unit = unit_directories_resolve(g, g->links[i].unit);

                if (!streq(unit, u->name) && (!template || !streq(unit, template)))
                        continue;
                r = strv_extend(&u->pulls, g->links[i].other);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* What systemd adds by itself, section "Default Dependencies" of each type's man page; only what orders or
 * starts something at boot. */
static int add_defaults(Unit *u) {
        static const struct {
                const char *suffix;
                const char *pulls;
                const char *after;
                const char *before;
        } table[] = {
                { ".service", "sysinit.target", "basic.target", NULL },
                { ".socket", "sysinit.target", NULL, "sockets.target" },
                { ".timer", "sysinit.target", NULL, "timers.target" },
                { ".path", "sysinit.target", NULL, "paths.target" },
        };
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                if (!u->default_dependencies || !endswith(u->name, table[i].suffix))
                        continue;
                r = strv_extend(&u->pulls, table[i].pulls);
                if (r >= 0)
                        r = strv_extend(&u->after, table[i].pulls);
                if (r >= 0 && table[i].after)
                        r = strv_extend(&u->after, table[i].after);
                if (r >= 0 && table[i].before)
                        r = strv_extend(&u->before, table[i].before);
                break;
        }

        return r;
}

/* Real names instead of aliases, once and for all. */
static int resolve_names(const UnitGraph *g, char **list) {
        for (; list && *list; list++) {
                const char *real = unit_directories_resolve(g, *list);
                char *copy;

                if (real == *list)
                        continue;
                copy = strdup(real);
                if (!copy)
                        return -ENOMEM;
                free(*list);
                *list = copy;
        }

        return 0;
}

static int resolve_unit(const UnitGraph *g, Unit *u) {
        int r;

        r = resolve_names(g, u->pulls);
        if (r >= 0)
                r = resolve_names(g, u->after);
        if (r >= 0)
                r = resolve_names(g, u->before);

        return r;
}

/* A link to a file outside of the tree, or a file that only root may read: we do not know what it says. */
static int parse_leniently(const UnitGraph *g, const char *path, Unit *u) {
        int r = unit_parse_file(g->root_fd, path, u);

        return r == -ENOMEM ? r : 0;
}

static int load_unit(const UnitGraph *g, Unit *u) {
        _cleanup_strv_free_ char **dropins = NULL;
        const UnitEntry *e = unit_directories_fragment(g, u->name);
        int r;

        if (!e || e->masked)
                return 0;

        r = parse_leniently(g, e->path, u);
        if (r < 0)
                return r;

        r = unit_directories_dropins(g, u->name, &dropins);
        if (r < 0)
                return r;
        for (char **path = dropins; path && *path; path++) {
                r = parse_leniently(g, *path, u);
                if (r < 0)
                        return r;
        }

        r = load_links(g, u);
        if (r >= 0)
                r = add_defaults(u);
        return r < 0 ? r : resolve_unit(g, u);
}

static int add_unit(UnitGraph *g, const char *name, size_t pulled_by) {
        Unit **units, *u;

        units = reallocarray(g->units, g->n_units + 1, sizeof(*units));
        if (!units)
                return -ENOMEM;
        g->units = units;

        u = calloc(1, sizeof(*u));
        if (!u)
                return -ENOMEM;
        u->default_dependencies = true;
        u->pulled_by = pulled_by;
        g->units[g->n_units++] = u;

        u->name = strdup(name);
        return u->name ? load_unit(g, u) : -ENOMEM;
}

int unit_graph_start(UnitGraph *g, const char *name) {
        int r;

        name = unit_directories_resolve(g, name);
        if (unit_graph_is_started(g, name))
                return 0;

        r = add_unit(g, name, g->n_units);
        if (r < 0)
                return r;

        /* The list grows while it is walked through; who is in front has been looked at. */
        for (size_t i = g->n_units - 1; i < g->n_units; i++)
                for (char **pulled = g->units[i]->pulls; pulled && *pulled; pulled++) {
                        if (unit_graph_presence(g, *pulled) == UNIT_MASKED ||
                                        unit_graph_is_started(g, *pulled))
                                continue;
                        r = add_unit(g, *pulled, i);
                        if (r < 0)
                                return r;
                }

        return 0;
}

/* Whether a's start job waits for b's. A target waits for what it wants, unless one of the two has no
 * default dependencies, or they are ordered the other way round (systemd.target(5)). */
static bool waits_for(const Unit *a, const Unit *b) {
        if (a == b)
                return false;
        if (strv_contains(a->after, b->name) || strv_contains(b->before, a->name))
                return true;

        return endswith(a->name, ".target") && a->default_dependencies && b->default_dependencies &&
                        strv_contains(a->pulls, b->name) && !strv_contains(b->after, a->name) &&
                        !strv_contains(a->before, b->name);
}

/* From index `last` backwards along `from`; the order is turned round if `reverse`. */
static int chain_from(const UnitGraph *g, const size_t *from, size_t last, bool reverse, char ***ret) {
        _cleanup_strv_free_ char **chain = NULL;
        size_t n;
        int r;

        for (size_t i = last;; i = from[i]) {
                r = strv_extend(&chain, g->units[i]->name);
                if (r < 0)
                        return r;
                if (from[i] == i)
                        break;
        }

        n = strv_length(chain);
        for (size_t i = 0; reverse && i < n / 2; i++) {
                char *swap = chain[i];

                chain[i] = chain[n - 1 - i];
                chain[n - 1 - i] = swap;
        }

        *ret = TAKE_PTR(chain);
        return 0;
}

int unit_graph_waits_for(const UnitGraph *g, const char *from, const char *to, char ***ret_chain) {
        _cleanup_free_ size_t *seen_from = NULL, *queue = NULL;
        size_t start = find_unit(g, from), goal = find_unit(g, to), n = 0;

        if (start == g->n_units || goal == g->n_units || start == goal)
                return -ENOENT;

        seen_from = malloc(g->n_units * sizeof(*seen_from));
        queue = malloc(g->n_units * sizeof(*queue));
        if (!seen_from || !queue)
                return -ENOMEM;
        for (size_t i = 0; i < g->n_units; i++)
                seen_from[i] = SIZE_MAX;

        /* Breadth first: the shortest chain is the one that a person understands. */
        seen_from[start] = start;
        queue[n++] = start;
        for (size_t i = 0; i < n && seen_from[goal] == SIZE_MAX; i++)
                for (size_t k = 0; k < g->n_units; k++)
                        if (seen_from[k] == SIZE_MAX && waits_for(g->units[queue[i]], g->units[k])) {
                                seen_from[k] = queue[i];
                                queue[n++] = k;
                        }

        return seen_from[goal] == SIZE_MAX ? -ENOENT : chain_from(g, seen_from, goal, true, ret_chain);
}

int unit_graph_pulled_by(const UnitGraph *g, const char *name, char ***ret_chain) {
        _cleanup_free_ size_t *pulled_by = NULL;
        size_t i = find_unit(g, name);

        if (i == g->n_units)
                return -ENOENT;

        pulled_by = malloc(g->n_units * sizeof(*pulled_by));
        if (!pulled_by)
                return -ENOMEM;
        for (size_t k = 0; k < g->n_units; k++)
                pulled_by[k] = g->units[k]->pulled_by;

        return chain_from(g, pulled_by, i, true, ret_chain);
}
