/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* Names of files over several directories, of which an earlier one takes precedence (systemd.unit(5)). */

/* A name, and the number of the directory that it was found in. */
typedef struct PolicyEntry {
        char *name;
        size_t dir;
} PolicyEntry;

typedef struct PolicyListing {
        PolicyEntry *items;
        size_t n;
} PolicyListing;

void policy_listing_done(PolicyListing *l);

/* Adds the names in the directory that end in suffix to l, as of directory number dir. In the same pass, to
 * dropin_dirs (unless that is NULL) the names that end in suffix and ".d", without the latter. Hidden names
 * are left out; so are names with control characters, which would break lines in messages and in the state
 * file. An absent directory is an empty one. -E2BIG: more than POLICY_FILES_MAX names in one of the two;
 * -ENOMEM; negative errno of open(2), -ENOTDIR. */
int policy_listing_add(PolicyListing *l,
                PolicyListing *dropin_dirs,
                int dir_fd,
                const char *path,
                const char *suffix,
                size_t dir);

/* Sorts by name, and by directory where names are the same: the first of a name is the one that counts. */
void policy_listing_sort(PolicyListing *l);

/* Behind the last entry with the name of entry i, in a sorted listing. */
size_t policy_listing_next(const PolicyListing *l, size_t i);

bool policy_name_is_sane(const char *name);
