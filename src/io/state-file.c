/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state-file.h"

#include "fs.h"
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* Of a lock whose file somebody keeps locking for reading. */
#define LOCK_TRIES 64U

/* A lock of the open file description (fcntl_locking(2)): unlike flock(2) it can be asked for without being
 * taken, by anyone who can open the file for reading, so that looking never makes a starting daemon fail;
 * unlike a process's POSIX lock it is not lost when some other descriptor of the file is closed. */
static struct flock whole_file(void) {
        return (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
}

static int open_lock(int root_fd) {
        _cleanup_close_ int dir_fd = -1;
        int fd;

        dir_fd = fs_open(root_fd, PATH_RUN_DIR, O_PATH | O_DIRECTORY);
        if (dir_fd < 0)
                return dir_fd;
        fd = openat(dir_fd, startswith(PATH_LOCK, PATH_RUN_DIR "/"),
                        O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        return fd < 0 ? -errno : fd;
}

/* For messages only, hence no failure: the lock counts, not the text. */
static void write_pid(int fd) {
        char text[32];
        int n = snprintf(text, sizeof(text), "%ld\n", (long) getpid());

        if (ftruncate(fd, 0) < 0)
                return;
        ssize_t written _unused_ = pwrite(fd, text, (size_t) n, 0);
}

/* Whether the file is still the one that others would open. */
static bool is_in_place(int root_fd, int fd) {
        _cleanup_close_ int now = fs_open(root_fd, PATH_LOCK, O_PATH | O_NOFOLLOW);
        struct stat a, b;

        return now >= 0 && fstat(fd, &a) == 0 && fstat(now, &b) == 0 && a.st_dev == b.st_dev &&
                        a.st_ino == b.st_ino;
}

static int remove_lock(int root_fd) {
        _cleanup_close_ int dir_fd = fs_open(root_fd, PATH_RUN_DIR, O_PATH | O_DIRECTORY);

        if (dir_fd < 0)
                return dir_fd;
        return unlinkat(dir_fd, startswith(PATH_LOCK, PATH_RUN_DIR "/"), 0) < 0 && errno != ENOENT ? -errno
                                                                                                   : 0;
}

/* 1: taken; 0: to be tried again; -EWOULDBLOCK: a daemon has it.
 *
 * Who may read the file may lock it for reading, for good: any user. That must not look like a daemon, and
 * keep the next one from going on with a boot that is under way. Only who may write can lock it for writing,
 * so the two can be told apart, and a file that is locked by strangers is replaced by one that is not. */
static int try_lock(int root_fd, int fd) {
        struct flock lock = whole_file();

        if (fcntl(fd, F_OFD_SETLK, &lock) >= 0)
                return is_in_place(root_fd, fd);
        if (errno != EACCES && errno != EAGAIN) /* POSIX allows either */
                return -errno;
        if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
                return -errno;
        if (lock.l_type == F_WRLCK)
                return -EWOULDBLOCK;
        return lock.l_type == F_RDLCK && is_in_place(root_fd, fd) ? remove_lock(root_fd) : 0;
}

int state_file_lock(int root_fd, int *ret_fd) {
        int r;

        r = fs_make_dirs(root_fd, PATH_RUN_DIR);
        if (r < 0)
                return r;
        for (unsigned n = 0; n < LOCK_TRIES; n++) {
                _cleanup_close_ int fd = open_lock(root_fd);

                if (fd < 0)
                        return fd;
                r = try_lock(root_fd, fd);
                if (r < 0)
                        return r;
                if (r == 0)
                        continue;
                /* Not before it is locked, and whatever the umask: everybody may ask whether a daemon runs.
                 * A file that another user made keeps its mode; it locks all the same. */
                (void) fchmod(fd, 0644);
                write_pid(fd);
                *ret_fd = TAKE_FD(fd);
                return 0;
        }
        return -EBUSY;
}

int state_file_is_locked(int root_fd) {
        struct flock lock = whole_file();
        _cleanup_close_ int fd = -1;

        fd = fs_open(root_fd, PATH_LOCK, O_RDONLY | O_NOCTTY | O_NONBLOCK);
        if (fd == -ENOENT)
                return 0;
        if (fd < 0)
                return fd;
        if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
                return -errno;
        return lock.l_type == F_WRLCK; /* F_RDLCK is no daemon's */
}

int state_file_lock_owner(int root_fd, pid_t *ret) {
        _cleanup_free_ char *text = NULL;
        char *end;
        long pid;
        int r;

        r = fs_read_line(root_fd, PATH_LOCK, &text);
        if (r < 0)
                return r;
        errno = 0;
        pid = strtol(text, &end, 10);
        if (errno != 0 || end == text || *end != '\0' || pid <= 0 || (pid_t) pid != pid)
                return -EBADMSG;
        *ret = (pid_t) pid;
        return 0;
}

int state_file_read(int root_fd, BootRecord *ret) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        r = fs_read(root_fd, PATH_STATE, STATE_SIZE_MAX, &text, &size);
        if (r == -E2BIG || r == -EISDIR || r == -EBADFD)
                return -EBADMSG; /* none that a daemon wrote */
        if (r < 0)
                return r;
        return state_parse(text, size, ret);
}

/* On a file system that has become full there is no room for a second file, but there is for the first. */
static int write_in_place(int root_fd, const char *text) {
        _cleanup_close_ int fd = fs_open(root_fd, PATH_STATE, O_WRONLY | O_NOFOLLOW);
        size_t size = strlen(text);
        ssize_t n;

        if (fd < 0)
                return fd;
        n = pwrite(fd, text, size, 0);
        if (n < 0 || ftruncate(fd, n) < 0)
                return -errno;
        /* Cut, it is damaged: whoever reads it ends boot, rather than believe the older one. */
        return (size_t) n == size ? 0 : -ENOSPC;
}

static int write_anyhow(int root_fd, const char *text) {
        int r;

        r = fs_write_atomic(root_fd, PATH_STATE, text, 0644);
        return r == -ENOSPC || r == -EDQUOT ? write_in_place(root_fd, text) : r;
}

int state_file_write(int root_fd, const BootRecord *record) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = state_format(record, &text);
        if (r < 0)
                return r;
        r = write_anyhow(root_fd, text);
        if (r != -ENOENT)
                return r;
        /* Somebody tidied /run. What we know must not depend on it. */
        r = fs_make_dirs(root_fd, PATH_RUN_DIR);
        if (r < 0)
                return r;
        return write_anyhow(root_fd, text);
}
