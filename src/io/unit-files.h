/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* What systemd's unit directories say, for when PID 1 cannot be asked (systemd.unit(5)). */

/* Whether `alias` (default.target, say) is, or is made by a symlink, the unit `unit`: PID 1 reports units by
 * their real names. Links are followed by their last component below the root, as systemd does. */
bool unit_files_is_alias(int root_fd, const char *alias, const char *unit);

/* Whether systemd could start the unit: it has a file, and that is not masked. */
bool unit_files_is_usable(int root_fd, const char *unit);
