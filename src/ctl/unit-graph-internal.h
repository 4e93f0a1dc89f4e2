/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "strv.h"
#include "unit-graph.h"

/* Shared by unit-graph.c (what follows from it all), unit-directories.c (what is there) and unit-parse.c
 * (what a unit's files say). */

/* A unit's name in the unit directories. */
typedef struct UnitEntry {
        char *name;
        char *path;   /* below the root */
        char *target; /* the last component that a symlink to another name has; NULL otherwise */
        bool masked;
} UnitEntry;

/* UNIT.wants/OTHER and the like. */
typedef struct UnitLink {
        char *unit;
        char *other;
} UnitLink;

/* One unit that is started. */
typedef struct Unit {
        char *name;       /* no alias */
        size_t pulled_by; /* index of the unit that pulled it in; its own: nobody did */
        bool default_dependencies;
        char **pulls;
        char **after;
        char **before;
} Unit;

struct UnitGraph {
        int root_fd; /* not owned */
        UnitEntry *entries;
        size_t n_entries;
        UnitLink *links;
        size_t n_links;
        Unit **units;
        size_t n_units;
};

/* --- unit-directories.c --- */

/* Fills entries and links. -ENOENT, -ENOMEM, negative errno. */
int unit_directories_list(UnitGraph *g);
const UnitEntry *unit_directories_find(const UnitGraph *g, const char *name);

/* The unit that name stands for: the end of a chain of aliases. Points into the graph, or is name itself. */
const char *unit_directories_resolve(const UnitGraph *g, const char *name);

/* The entry of a unit, or of its template: name must not be an alias. */
const UnitEntry *unit_directories_fragment(const UnitGraph *g, const char *name);

/* "foo@.service" for "foo@bar.service"; NULL in *ret if it is no instance. -ENOMEM. */
int unit_template_of(const char *name, char **ret);

/* The paths of the unit's drop-ins. -ENOMEM; negative errno. */
int unit_directories_dropins(const UnitGraph *g, const char *name, char ***ret);

/* --- unit-parse.c --- */

/* Adds to the unit what a file says. -ENOMEM; negative errno of reading it. */
int unit_parse_file(int root_fd, const char *path, Unit *u);
