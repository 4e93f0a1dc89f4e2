/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "audit.h"
#include "boot-record.h"

/* What the machine starts from: the record of an earlier daemon of this boot, or a fresh one made from the
 * policy that fits and the knobs as they are. */

/* policy_path: force this file; NULL: choose. Faulty policy files are audited and passed over; with none
 * left the built-in one is used, so that a machine always ends its boot. *ret_damaged: there was a state
 * file that cannot be understood. -ENOMEM. */
int boot_setup_load(int root_fd, const char *policy_path, Audit *audit, BootRecord *ret, bool *ret_damaged);

/* The same from the built-in policy alone, for when nothing else can be relied on. -ENOMEM. */
int boot_setup_builtin(int root_fd, BootRecord *ret);
