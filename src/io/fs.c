/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

/* openat2(2) gives up with EAGAIN when it meets ".." (as in the symlink /sys/class/dmi/id) while something
 * somewhere is renamed or mounted, which a booting system does all the time. */
#define OPEN_TRIES 128U
/* How many names a temporary file may find taken by the leftovers of killed processes. */
#define TEMPORARY_TRIES 128U
/* What a kernel file has at most, as a rule: read with one read(2). */
#define READ_CHUNK 4096U
/* /proc/cmdline may have more than a page (a bootconfig is part of it). */
#define LINE_SIZE_MAX (64U * 1024U)

int fs_open_root(const char *root) {
        int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

bool fs_is_own_root(int dir_fd) {
        struct stat a, b;

        return fstat(dir_fd, &a) == 0 && stat("/", &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Without RESOLVE_IN_ROOT: absolute symlinks below a --root= then lead where they lead for every other
 * program, which is all that a kernel before 5.6, or a sandbox that knows no openat2(2), has to offer. On
 * "/" it is the same thing. */
static int open_plain(int dir_fd, const char *path, int flags) {
        int fd;

        if (dir_fd != AT_FDCWD)
                path += strspn(path, "/");
        do
                fd = openat(dir_fd, path[0] == '\0' ? "." : path, flags | O_CLOEXEC);
        while (fd < 0 && errno == EINTR);
        return fd < 0 ? -errno : fd;
}

int fs_open(int dir_fd, const char *path, int flags) {
        struct open_how how = {
                .flags = (unsigned) (flags | O_CLOEXEC),
                .resolve = RESOLVE_IN_ROOT,
        };

        if (dir_fd == AT_FDCWD)
                return open_plain(dir_fd, path, flags);
        for (unsigned i = 0; i < OPEN_TRIES; i++) {
                long fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));

                if (fd >= 0)
                        return (int) fd;
                /* Old container managers answer EPERM for system calls they do not know; if it is a true
                 * EPERM, openat(2) says so too. */
                if (errno == ENOSYS || errno == EPERM)
                        return open_plain(dir_fd, path, flags);
                if (errno != EAGAIN && errno != EINTR)
                        return -errno;
        }
        return -EAGAIN;
}

/* Opens the directory that path's last component stands in; *ret_name points into path. */
static int open_parent(int dir_fd, const char *path, const char **ret_name) {
        const char *slash = strrchr(path, '/');
        _cleanup_free_ char *parent = NULL;
        int fd;

        if (slash) {
                parent = strndup(path, (size_t) (slash - path));
                if (!parent)
                        return -ENOMEM;
        }
        fd = fs_open(dir_fd, isempty(parent) ? "." : parent, O_PATH | O_DIRECTORY);
        if (fd >= 0)
                *ret_name = slash ? slash + 1 : path;
        return fd;
}

/* O_NONBLOCK: a FIFO somebody put in a file's place must not stop the daemon at open(2). */
static int open_regular(int dir_fd, const char *path) {
        _cleanup_close_ int fd = fs_open(dir_fd, path, O_RDONLY | O_NOCTTY | O_NONBLOCK);
        struct stat st;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (S_ISDIR(st.st_mode))
                return -EISDIR;
        if (!S_ISREG(st.st_mode))
                return -EBADFD;
        return TAKE_FD(fd);
}

int fs_read(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_size) {
        _cleanup_close_ int fd = open_regular(dir_fd, path);
        _cleanup_free_ char *text = NULL;
        size_t size = 0, room = 0;

        if (fd < 0)
                return fd;
        for (;;) {
                ssize_t n;

                if (size == room) {
                        char *bigger;

                        room = MIN(room > 0 ? room * 2 : READ_CHUNK, max + 1);
                        bigger = realloc(text, room + 1);
                        if (!bigger)
                                return -ENOMEM;
                        text = bigger;
                }
                n = read(fd, text + size, room - size);
                if (n < 0 && errno != EINTR)
                        return -errno;
                if (n == 0)
                        break;
                if (n > 0)
                        size += (size_t) n;
                if (size > max)
                        return -E2BIG;
        }
        text[size] = '\0';
        *ret = TAKE_PTR(text);
        if (ret_size)
                *ret_size = size;
        return 0;
}

int fs_read_line(int dir_fd, const char *path, char **ret) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        int r;

        r = fs_read(dir_fd, path, LINE_SIZE_MAX, &text, &size);
        if (r < 0)
                return r;
        if (memchr(text, '\0', size))
                return -EBADMSG;
        while (size > 0 && strchr(" \t\r\n", text[size - 1]))
                size--;
        text[size] = '\0';
        *ret = TAKE_PTR(text);
        return 0;
}

int fs_read_head(int dir_fd, const char *path, char *buf, size_t size) {
        _cleanup_close_ int fd = open_regular(dir_fd, path);
        ssize_t n;

        if (fd < 0)
                return fd;
        do
                n = read(fd, buf, size - 1);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        buf[n] = '\0';
        return (int) n;
}

static int write_all(int fd, const char *text, size_t size) {
        while (size > 0) {
                ssize_t n = write(fd, text, size);

                if (n < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                text += n;
                size -= (size_t) n;
        }
        return 0;
}

/* A name that nobody else uses, without random numbers: early in boot getrandom(2) may have to wait. */
static int open_temporary(int dir_fd, const char *name, char **ret_name) {
        for (unsigned i = 0; i < TEMPORARY_TRIES; i++) {
                _cleanup_free_ char *temporary = NULL;
                int fd;

                if (asprintf(&temporary, ".#%s.%ld.%u", name, (long) getpid(), i) < 0)
                        return -ENOMEM;
                fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
                if (fd >= 0) {
                        *ret_name = TAKE_PTR(temporary);
                        return fd;
                }
                if (errno != EEXIST && errno != EINTR)
                        return -errno;
        }
        return -EEXIST;
}

int fs_write_atomic(int dir_fd, const char *path, const char *text, mode_t mode) {
        _cleanup_close_ int parent = -1, fd = -1;
        _cleanup_free_ char *temporary = NULL;
        const char *name;
        int r;

        parent = open_parent(dir_fd, path, &name);
        if (parent < 0)
                return parent;
        fd = open_temporary(parent, name, &temporary);
        if (fd < 0)
                return fd;
        r = write_all(fd, text, strlen(text));
        if (r >= 0 && fchmod(fd, mode) < 0) /* whatever the umask */
                r = -errno;
        /* No fsync(2): /run is in memory, and what is there is meant to be gone after a crash of the
         * machine. */
        if (r >= 0 && renameat(parent, temporary, parent, name) < 0)
                r = -errno;
        if (r < 0)
                (void) unlinkat(parent, temporary, 0);
        return r;
}

static int make_dir(int dir_fd, const char *path) {
        _cleanup_close_ int parent = -1;
        const char *name;

        parent = open_parent(dir_fd, path, &name);
        if (parent < 0)
                return parent;
        if (mkdirat(parent, name, 0755) < 0)
                return -errno;
        /* A umask of 077 would hide the state file from everyone but root. */
        return fchmodat(parent, name, 0755, 0) < 0 ? -errno : 0;
}

static int check_dir(int dir_fd, const char *path) {
        _cleanup_close_ int fd = fs_open(dir_fd, path, O_PATH | O_DIRECTORY);

        return MIN(fd, 0);
}

int fs_make_dirs(int dir_fd, const char *path) {
        _cleanup_free_ char *copy = NULL;
        int r;

        r = check_dir(dir_fd, path);
        if (r != -ENOENT)
                return r;
        copy = strdup(path);
        if (!copy)
                return -ENOMEM;
        for (char *p = copy + strspn(copy, "/"); (p = strchr(p, '/')); p++) {
                *p = '\0';
                r = make_dir(dir_fd, copy);
                *p = '/';
                if (r < 0 && r != -EEXIST)
                        return r;
        }
        r = make_dir(dir_fd, copy);
        return r == -EEXIST ? check_dir(dir_fd, path) : r;
}

int fs_socket_address(
                int dir_fd, const char *path, struct sockaddr_un *ret_sa, socklen_t *ret_len, int *ret_fd) {
        struct sockaddr_un sa = { .sun_family = AF_UNIX };
        _cleanup_close_ int parent = -1;
        const char *name;
        int n;

        parent = open_parent(dir_fd, path, &name);
        if (parent < 0)
                return parent;
        /* On the running machine the plain path, so that ss(8) and /proc/net/unix show what people know. */
        if (fs_is_own_root(dir_fd))
                n = snprintf(sa.sun_path, sizeof(sa.sun_path), "/%s", path + strspn(path, "/"));
        else
                n = snprintf(sa.sun_path, sizeof(sa.sun_path), "/proc/self/fd/%d/%s", parent, name);
        if (n < 0 || (size_t) n >= sizeof(sa.sun_path))
                return -ENAMETOOLONG;
        *ret_sa = sa;
        *ret_len = (socklen_t) (offsetof(struct sockaddr_un, sun_path) + (size_t) n + 1);
        *ret_fd = TAKE_FD(parent);
        return 0;
}

usec_t fs_now(void) {
        struct timespec ts = { 0 };

        /* Cannot fail: the clock has been there since Linux 2.6.39. */
        (void) clock_gettime(CLOCK_BOOTTIME, &ts);
        return (usec_t) ts.tv_sec * USEC_PER_SEC + (usec_t) (ts.tv_nsec / NSEC_PER_USEC);
}
