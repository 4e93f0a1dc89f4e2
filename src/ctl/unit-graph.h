/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* What boot would start, and what would wait for what, as far as the unit files below a root tell: for a
 * policy's check on a system that is not running (systemd.unit(5); no generator is run, nothing is asked of
 * PID 1). Units that are only started by an event (a socket, a timer, a device, a bus name) count as not
 * started. */

typedef struct UnitGraph UnitGraph;

typedef enum UnitPresence {
        UNIT_ABSENT,
        UNIT_MASKED,
        UNIT_PRESENT,
} UnitPresence;

/* Lists the unit directories. -ENOENT: there is none below this root, or it is empty; -ENOMEM; negative
 * errno. */
int unit_graph_new(int root_fd, UnitGraph **ret);
UnitGraph *unit_graph_free(UnitGraph *g);
DEFINE_TRIVIAL_CLEANUP_FUNC(UnitGraph *, unit_graph_free);

/* Aliases and instances of templates are what they stand for. */
UnitPresence unit_graph_presence(const UnitGraph *g, const char *name);

/* Whether a symlink UNIT.wants/OTHER, UNIT.requires/OTHER or UNIT.upholds/OTHER exists. */
bool unit_graph_has_link(const UnitGraph *g, const char *unit, const char *other);

/* Adds the unit, and all that starting it pulls in, to what is started. A unit without a file is started,
 * too, but pulls nothing in. -ENOMEM; negative errno of reading a file. */
int unit_graph_start(UnitGraph *g, const char *name);

/* Whether it is among what is started so far. */
bool unit_graph_is_started(const UnitGraph *g, const char *name);

/* Why `from` cannot be up before `to` is: the shortest chain of started units, `from` and `to` included, of
 * which each waits for the next. -ENOENT: it does not wait for it; -ENOMEM. */
int unit_graph_waits_for(const UnitGraph *g, const char *from, const char *to, char ***ret_chain);

/* Who pulled the started unit in, from the one that unit_graph_start() was called for: a chain, both ends
 * included. -ENOENT: it is not started; -ENOMEM. */
int unit_graph_pulled_by(const UnitGraph *g, const char *name, char ***ret_chain);
