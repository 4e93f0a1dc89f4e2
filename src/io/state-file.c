/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state-file.h"

#include "fs.h"
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

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
                        O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (fd < 0)
                return -errno;
        /* Whatever the umask: everybody may ask whether a daemon runs. A file that another user made keeps
         * its mode; it locks all the same. */
        (void) fchmod(fd, 0644);
        return fd;
}

/* For messages only, hence no failure: the lock counts, not the text. */
static void write_pid(int fd) {
        char text[32];
        int n = snprintf(text, sizeof(text), "%ld\n", (long) getpid());

        if (ftruncate(fd, 0) < 0)
                return;
        ssize_t written _unused_ = pwrite(fd, text, (size_t) n, 0);
}

int state_file_lock(int root_fd, int *ret_fd) {
        struct flock lock = whole_file();
        _cleanup_close_ int fd = -1;
        int r;

        r = fs_make_dirs(root_fd, PATH_RUN_DIR);
        if (r < 0)
                return r;
        fd = open_lock(root_fd);
        if (fd < 0)
                return fd;
        if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
                return errno == EACCES ? -EWOULDBLOCK : -errno; /* POSIX allows either */
        write_pid(fd);
        *ret_fd = TAKE_FD(fd);
        return 0;
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
        return lock.l_type != F_UNLCK;
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

int state_file_write(int root_fd, const BootRecord *record) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = state_format(record, &text);
        if (r < 0)
                return r;
        r = fs_write_atomic(root_fd, PATH_STATE, text, 0644);
        if (r != -ENOENT)
                return r;
        /* Somebody tidied /run. What we know must not depend on it. */
        r = fs_make_dirs(root_fd, PATH_RUN_DIR);
        if (r < 0)
                return r;
        return fs_write_atomic(root_fd, PATH_STATE, text, 0644);
}
