/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "state.h"

#include <sys/types.h>

/* The state file, and the lock that keeps a second daemon off the same root. */

/* Takes the lock, making its directory if need be; it is held until *ret_fd is closed. -EWOULDBLOCK: another
 * daemon has it (state_file_lock_owner()); negative errno of mkdir(2), open(2), fcntl(2). */
int state_file_lock(int root_fd, int *ret_fd);

/* Whether a daemon runs on this root: whether the lock is taken. Needs no privileges, takes nothing, not
 * even for a moment. Negative errno, 0 or 1. */
int state_file_is_locked(int root_fd);

/* The PID of the daemon that took the lock last, as its own namespace counts: for messages, once the lock is
 * known to be taken. -ENOENT; -EBADMSG: it has not been written yet; negative errno. */
int state_file_lock_owner(int root_fd, pid_t *ret);

/* -ENOENT: there is none; -EBADMSG: it cannot be understood; -ENOMEM; negative errno of open, read. */
int state_file_read(int root_fd, BootRecord *ret);

/* Replaces it atomically (a reader sees the old or the new one), world-readable; in place where the file
 * system is too full for that. -ENOMEM, negative errno of open(2), write(2), rename(2). */
int state_file_write(int root_fd, const BootRecord *record);
