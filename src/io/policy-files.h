/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "match.h"
#include "policy.h"

/* Finds policy files by systemd's rules: /etc over /run over /usr/lib, by name, masks, drop-ins. */

/* Files with the suffix, over all directories; and drop-ins of one policy. More than that is somebody else's
 * directory. */
#define POLICY_FILES_MAX 1024U

typedef struct PolicyFile {
        char *name;      /* "50-laptop.policy" */
        char *path;      /* "/etc/rcu-bootd/policy.d/50-laptop.policy" */
        bool masked;     /* a symlink to /dev/null, or empty: there is no such policy, drop-ins included */
        Policy *policy;  /* NULL if masked or faulty */
        char **errors;   /* why it is faulty, a line each */
        char **dropins;  /* paths, in order */
        char **shadowed; /* paths of the same name in lower directories */
} PolicyFile;

typedef struct PolicyFiles {
        PolicyFile *items; /* sorted by name */
        size_t n;
} PolicyFiles;

void policy_files_done(PolicyFiles *files);

/* Reads all of them, by the rules of systemd.link(5). A file that cannot be read or parsed is there, with
 * its errors, and still hides those of its name in lower directories. A directory that cannot be read is
 * there, too, behind the files. -E2BIG: more than POLICY_FILES_MAX; -ENOMEM. */
int policy_files_load(int root_fd, PolicyFiles *ret);

/* Reads one file by its path below dir_fd (AT_FDCWD: as a person typed it), with the drop-ins of PATH.d/.
 * Always fills *ret, faults included; a mask is no fault, but has no policy either. -ENOMEM. */
int policy_files_load_one(int dir_fd, const char *path, PolicyFile *ret);
void policy_file_done(PolicyFile *file);

/* The policy that is compiled in, for a machine on which no file is left. */
int policy_files_builtin(Policy **ret);

/* The facts that the policies' [Match] sections ask for (machine.h), all at once. */
int policy_files_facts(int root_fd, const PolicyFiles *files, MachineFacts *ret);

/* The first valid file whose [Match] holds, or NULL. *ret_why: in words, why it is the one ("this machine
 * matches Chassis=laptop convertible"), NULL if there is none. -ENOMEM. */
int policy_files_choose(
                const PolicyFiles *files, const MachineFacts *facts, const PolicyFile **ret, char **ret_why);
