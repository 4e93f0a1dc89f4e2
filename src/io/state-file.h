/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "state.h"

/* The state file, and the lock that keeps a second daemon off the same root. */

/* Takes the lock; it is held until *ret_fd is closed. -EWOULDBLOCK: another daemon has it. */
int state_file_lock(int root_fd, int *ret_fd);

/* Whether a daemon runs on this root: whether the lock is taken. Needs no privileges. Negative errno, 0
 * or 1. */
int state_file_is_locked(int root_fd);

/* -ENOENT: there is none; -EBADMSG: it cannot be understood; -ENOMEM; negative errno of open, read. */
int state_file_read(int root_fd, BootRecord *ret);

/* Replaces it atomically (a reader sees the old or the new one), world-readable. */
int state_file_write(int root_fd, const BootRecord *record);
