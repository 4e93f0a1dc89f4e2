/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* A milestone is a name: a unit (`graphical.target`), `startup-finished`, a device (`device:drm/card0`,
 * globs allowed), or any other word that something on the system announces (`home-screen`). */

#define MILESTONES_MAX 32U      /* distinct names in one policy: a bit each */
#define ALTERNATIVES_MAX 8U     /* EndWhen= lines in one policy */
#define MILESTONE_NAME_MAX 255U /* also what a file name may have: the milestone directory's limit */

typedef enum MilestoneKind {
        MILESTONE_KIND_UNIT,
        MILESTONE_KIND_STARTUP_FINISHED,
        MILESTONE_KIND_DEVICE,
        MILESTONE_KIND_NAMED,
} MilestoneKind;

/* How the daemon learnt of a milestone. */
typedef enum MilestoneSource {
        MILESTONE_SOURCE_BUS,       /* system bus: PID 1 asked or its signal heard */
        MILESTONE_SOURCE_DIRECTORY, /* an entry in /run/rcu-bootd/milestones/ */
        MILESTONE_SOURCE_INBOX,     /* a datagram of some process */
        MILESTONE_SOURCE_PID1,      /* a datagram of PID 1 */
        MILESTONE_SOURCE_UDEV,
        _MILESTONE_SOURCE_MAX,
} MilestoneSource;

/* When boot is over: any of the alternatives holds, an alternative holds when all its milestones are
 * reached. */
typedef struct MilestoneCondition {
        char *names[MILESTONES_MAX]; /* owned; each once, in order of appearance */
        size_t n_names;
        uint32_t alternatives[ALTERNATIVES_MAX]; /* bit i: names[i] belongs to it */
        size_t n_alternatives;
} MilestoneCondition;

/* Printable ASCII without blanks, quotes, '#', ';', '=' or '\' other than systemd's \xNN escapes; '/' only
 * behind "device:" (which needs SUBSYSTEM/SYSNAME); not "." or ".."; 1..255 bytes. A unit's name must be one
 * that systemd accepts (unit_name_is_valid(), src/basic/unit-name.c) and no template without its instance:
 * nothing could ever reach it otherwise. */
bool milestone_name_is_valid(const char *name);

/* A unit's name ends in one of systemd's unit suffixes (systemd.unit(5)). */
MilestoneKind milestone_kind(const char *name);

/* Splits device:SUBSYSTEM/SYSNAME; both may be globs. -EINVAL, -ENOMEM. */
int milestone_parse_device(const char *name, char **ret_subsystem, char **ret_sysname);

const char *milestone_source_to_string(MilestoneSource s) _const_;
int milestone_source_from_string(const char *s, MilestoneSource *ret);

void milestone_condition_done(MilestoneCondition *c);

/* Adds one EndWhen= line as an alternative; names stand between blanks, without quoting. -EINVAL: an invalid
 * name, of which *ret_bad is then a copy that the caller frees (ret_bad may be NULL); -ENODATA: an empty
 * line; -E2BIG: too many names or lines; -ENOMEM. c is unchanged on failure. */
int milestone_condition_add(MilestoneCondition *c, const char *line, char **ret_bad);

/* The index of name, or -ENOENT. */
int milestone_condition_find(const MilestoneCondition *c, const char *name);

/* An empty condition never holds. */
bool milestone_condition_holds(const MilestoneCondition *c, uint32_t reached);

/* What the alternative that is closest to holding still lacks; 0 when one holds. */
uint32_t milestone_condition_missing(const MilestoneCondition *c, uint32_t reached);
