/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

#include <sys/socket.h>
#include <sys/un.h>

/* Files below a directory fd. Paths are relative, without a leading slash. */

/* Opens the root that all else is looked up below ("/" unless --root= says otherwise). Negative errno of
 * open(2). */
int fs_open_root(const char *root);

/* Reads a whole file of at most max bytes; NUL-terminated beyond *ret_size (may be NULL). -E2BIG if larger,
 * -EISDIR for a directory, or the negative errno of openat(2), read(2). Works for sysfs and proc, whose
 * sizes lie. */
int fs_read(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_size);

/* The same, with trailing white space gone: for one-line files. -EBADMSG if it holds a NUL. */
int fs_read_line(int dir_fd, const char *path, char **ret);

/* Replaces a file at once: a temporary file beside it, then renameat(2). Creates no directories. */
int fs_write_atomic(int dir_fd, const char *path, const char *text, mode_t mode);

/* Creates the directory and its parents, mode 0755. An existing one is fine. */
int fs_make_dirs(int dir_fd, const char *path);

/* The address of a socket below the directory fd, however long the root's own path is: through
 * /proc/self/fd. The returned fd must stay open while the address is in use. -ENAMETOOLONG. */
int fs_socket_address(
                int dir_fd, const char *path, struct sockaddr_un *ret_sa, socklen_t *ret_len, int *ret_fd);

/* CLOCK_BOOTTIME in usec. */
usec_t fs_now(void);
