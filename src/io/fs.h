/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

#include <sys/socket.h>
#include <sys/un.h>

/* Files below a directory fd. Paths are relative, without a leading slash. Symlinks, absolute ones too, are
 * followed within the directory (openat2(2), RESOLVE_IN_ROOT): a tree given with --root= cannot lead out of
 * itself. Where the kernel or a sandbox knows no openat2(2), they lead where they lead for any program.
 * AT_FDCWD: paths as a person typed them, of any kind, followed as usual. */

/* Opens the root that all else is looked up below ("/" unless --root= says otherwise). Negative errno of
 * open(2). */
int fs_open_root(const char *root);

/* Whether dir_fd is this process's own "/". */
bool fs_is_own_root(int dir_fd);

/* Opens what is there already (no O_CREAT); O_CLOEXEC is always on. Negative errno of openat2(2); -EAGAIN
 * only if the system renames and mounts things without a pause. */
int fs_open(int dir_fd, const char *path, int flags);

/* Reads a whole file of at most max bytes; NUL-terminated beyond *ret_size (may be NULL). -E2BIG if larger,
 * -EISDIR for a directory, -EBADFD for a device, FIFO or socket, or the negative errno of openat(2),
 * read(2). Works for sysfs and proc, whose sizes lie. */
int fs_read(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_size);

/* The same, with trailing white space gone: for one-line files. -EBADMSG if it holds a NUL. */
int fs_read_line(int dir_fd, const char *path, char **ret);

/* Reads the first size - 1 bytes of a file, as far as one read(2) gives them, and terminates them with NUL:
 * for long kernel files whose beginning suffices. Returns how many they are, or errors as fs_read(). */
int fs_read_head(int dir_fd, const char *path, char *buf, size_t size);

/* Replaces a file at once: a temporary file beside it, then renameat(2). Creates no directories; a reader
 * sees the old text or the new one, whole. Nothing is left behind on failure. mode: whatever the umask.
 * -ENOMEM, negative errno of open(2), write(2), fchmod(2), rename(2). */
int fs_write_atomic(int dir_fd, const char *path, const char *text, mode_t mode);

/* Creates the directory and its parents, mode 0755 whatever the umask. An existing one is fine, and is left
 * as it is. -ENOMEM, -ENOTDIR, negative errno of mkdir(2). */
int fs_make_dirs(int dir_fd, const char *path);

/* The address of a socket below the directory fd: the plain path on the machine's own root; below any other,
 * however long that one's path is, through /proc/self/fd. The returned fd must stay open while the address
 * is in use. -ENAMETOOLONG. */
int fs_socket_address(
                int dir_fd, const char *path, struct sockaddr_un *ret_sa, socklen_t *ret_len, int *ret_fd);

/* CLOCK_BOOTTIME in usec. */
usec_t fs_now(void);
