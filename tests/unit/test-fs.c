/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs.h"
#include "test-seccomp.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

typedef struct Tree {
        char *dir;
        int fd;
} Tree;

static Tree tree;

static void setup(void) {
        tree.dir = test_tree_new();
        tree.fd = test_tree_open(tree.dir);
}

static void teardown(void) {
        close(tree.fd);
        test_tree_removep(&tree.dir);
}

static unsigned count_entries(const char *path) {
        _cleanup_close_ int fd = openat(tree.fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char buf[4096];
        unsigned n = 0;
        ssize_t size;

        ck_assert_int_ge(fd, 0);
        while ((size = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
                for (ssize_t at = 0; at < size; n++) {
                        uint16_t length;

                        memcpy(&length, buf + at + 16, sizeof(length)); /* d_reclen, getdents(2) */
                        at += length;
                }
        ck_assert_int_eq(size, 0);
        return n - 2; /* "." and ".." */
}

static mode_t mode_of(const char *path) {
        struct stat st;

        ck_assert_int_eq(fstatat(tree.fd, path, &st, AT_SYMLINK_NOFOLLOW), 0);
        return st.st_mode & 07777;
}

static void make_link(const char *target, const char *path) {
        ck_assert_int_eq(symlinkat(target, tree.fd, path), 0);
}

static void check_reads(int dir_fd, const char *path, const char *expected) {
        _cleanup_free_ char *text = NULL;
        size_t size;

        ck_assert_int_eq(fs_read(dir_fd, path, 64 * 1024, &text, &size), 0);
        ck_assert_str_eq(text, expected);
        ck_assert_uint_eq(size, strlen(expected));
}

static void check_refuses(int dir_fd, const char *path, size_t max, int error) {
        char untouched, *text = &untouched;
        size_t size = 12345;

        ck_assert_int_eq(fs_read(dir_fd, path, max, &text, &size), error);
        ck_assert_ptr_eq(text, &untouched);
        ck_assert_uint_eq(size, 12345);
}

START_TEST(open_root_errors) {
        _cleanup_close_ int fd = -1;
        _cleanup_free_ char *path = NULL;

        test_tree_write(tree.dir, "file", "");
        ck_assert_int_ge(asprintf(&path, "%s/file", tree.dir), 0);
        ck_assert_int_eq(fs_open_root(path), -ENOTDIR);
        ck_assert_int_eq(fs_open_root("/nonexistent/root"), -ENOENT);
        fd = fs_open_root(tree.dir);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}
END_TEST

START_TEST(own_root) {
        _cleanup_close_ int fd = fs_open_root("/");

        ck_assert(fs_is_own_root(fd));
        ck_assert(!fs_is_own_root(tree.fd));
        ck_assert(!fs_is_own_root(-1));
}
END_TEST

START_TEST(read_sizes) {
        enum { LARGE = 100000 };
        _cleanup_free_ char *large = malloc(LARGE + 1), *text = NULL;
        size_t size;

        for (size_t i = 0; i < LARGE; i++)
                large[i] = (char) ('a' + i % 26);
        large[LARGE] = '\0';
        test_tree_write(tree.dir, "empty", "");
        test_tree_write(tree.dir, "a/small", "12345\n");
        test_tree_write(tree.dir, "large", large);
        check_reads(tree.fd, "empty", "");
        check_reads(tree.fd, "a/small", "12345\n");
        ck_assert_int_eq(fs_read(tree.fd, "large", LARGE, &text, &size), 0);
        ck_assert_uint_eq(size, LARGE);
        ck_assert_str_eq(text, large);
        check_refuses(tree.fd, "large", LARGE - 1, -E2BIG);
        check_refuses(tree.fd, "a/small", 5, -E2BIG);
        check_refuses(tree.fd, "a/small", 0, -E2BIG);
}
END_TEST

START_TEST(read_keeps_nul) {
        _cleanup_free_ char *text = NULL;
        size_t size;

        test_tree_write_size(tree.dir, "nul", "a\0b", 3);
        ck_assert_int_eq(fs_read(tree.fd, "nul", 10, &text, &size), 0);
        ck_assert_uint_eq(size, 3);
        ck_assert_mem_eq(text, "a\0b", 4);
}
END_TEST

/* Their st_size is 0, and 4096. */
START_TEST(read_kernel_files) {
        _cleanup_close_ int root = fs_open_root("/");
        _cleanup_free_ char *text = NULL, *line = NULL;
        size_t size;

        ck_assert_int_eq(fs_read(root, "proc/self/status", 64 * 1024, &text, &size), 0);
        ck_assert_ptr_nonnull(strstr(text, "\nPid:\t"));
        ck_assert_uint_eq(strlen(text), size);
        ck_assert_int_eq(fs_read_line(root, "sys/devices/system/cpu/online", &line), 0);
        ck_assert_uint_gt(strlen(line), 0);
        ck_assert_uint_lt(strlen(line), 4096);
}
END_TEST

START_TEST(read_refuses_what_is_no_file) {
        ck_assert_int_eq(mkdirat(tree.fd, "dir", 0755), 0);
        /* Nobody will ever write into it: open(2) must not wait for them. */
        ck_assert_int_eq(mkfifoat(tree.fd, "fifo", 0644), 0);
        check_refuses(tree.fd, "dir", 10, -EISDIR);
        check_refuses(tree.fd, "fifo", 10, -EBADFD);
        check_refuses(tree.fd, "nothing", 10, -ENOENT);
        check_refuses(tree.fd, "fifo/below", 10, -ENOTDIR);
}
END_TEST

START_TEST(read_head) {
        char head[6];

        memset(head, 'x', sizeof(head));
        test_tree_write(tree.dir, "long", "0123456789");
        test_tree_write(tree.dir, "short", "01");
        test_tree_write(tree.dir, "empty", "");
        ck_assert_int_eq(fs_read_head(tree.fd, "long", head, sizeof(head)), 5);
        ck_assert_str_eq(head, "01234");
        ck_assert_int_eq(fs_read_head(tree.fd, "short", head, sizeof(head)), 2);
        ck_assert_str_eq(head, "01");
        ck_assert_int_eq(fs_read_head(tree.fd, "empty", head, sizeof(head)), 0);
        ck_assert_str_eq(head, "");
        ck_assert_int_eq(fs_read_head(tree.fd, "nothing", head, sizeof(head)), -ENOENT);
        ck_assert_int_eq(fs_read_head(tree.fd, "/", head, sizeof(head)), -EISDIR);
}
END_TEST

static void check_line(const char *text, const char *expected) {
        _cleanup_free_ char *line = NULL;

        test_tree_write(tree.dir, "line", text);
        ck_assert_int_eq(fs_read_line(tree.fd, "line", &line), 0);
        ck_assert_str_eq(line, expected);
}

START_TEST(read_line) {
        char untouched, *line = &untouched;

        check_line("", "");
        check_line("\n", "");
        check_line("laptop", "laptop");
        check_line(" two words \t\r\n\n", " two words");
        test_tree_write_size(tree.dir, "nul", "a\0b\n", 4);
        ck_assert_int_eq(fs_read_line(tree.fd, "nul", &line), -EBADMSG);
        ck_assert_int_eq(fs_read_line(tree.fd, "nothing", &line), -ENOENT);
        ck_assert_ptr_eq(line, &untouched);
}
END_TEST

START_TEST(symlinks_stay_below_the_root) {
        test_tree_write(tree.dir, "etc/hostname", "inside\n");
        ck_assert_int_eq(mkdirat(tree.fd, "links", 0755), 0);
        make_link("/etc/hostname", "links/absolute");
        make_link("../../../../../../../../etc/hostname", "links/climbing");
        make_link("/etc", "dir");
        make_link("/proc/version", "links/outside");
        make_link("links/self", "links/dangling");
        check_reads(tree.fd, "links/absolute", "inside\n");
        check_reads(tree.fd, "links/climbing", "inside\n");
        check_reads(tree.fd, "dir/hostname", "inside\n");
        check_reads(tree.fd, "../etc/hostname", "inside\n");
        check_reads(tree.fd, "/etc/hostname", "inside\n");
        check_refuses(tree.fd, "links/outside", 1000, -ENOENT);
        check_refuses(tree.fd, "links/dangling", 1000, -ENOENT);
}
END_TEST

START_TEST(typed_paths) {
        _cleanup_free_ char *file = NULL, *link = NULL;

        test_tree_write(tree.dir, "file", "text");
        ck_assert_int_ge(asprintf(&file, "%s/file", tree.dir), 0);
        ck_assert_int_ge(asprintf(&link, "%s/link", tree.dir), 0);
        ck_assert_int_eq(symlink(file, link), 0);
        check_reads(AT_FDCWD, file, "text");
        check_reads(AT_FDCWD, link, "text");
        ck_assert_int_eq(chdir(tree.dir), 0);
        check_reads(AT_FDCWD, "./file", "text");
        check_reads(AT_FDCWD, "link", "text");
        ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

/* An old kernel says ENOSYS, an old container manager EPERM. */
static const unsigned no_openat2[] = { ENOSYS, EPERM };

START_TEST(without_openat2) {
        _cleanup_free_ char *text = NULL;

        test_tree_write(tree.dir, "sys/file", "text");
        make_link("file", "sys/link");
        test_fail_syscall(SYS_openat2, no_openat2[_i]);
        check_reads(tree.fd, "sys/file", "text");
        check_reads(tree.fd, "/sys/file", "text");
        check_reads(tree.fd, "sys/link", "text");
        check_refuses(tree.fd, "sys/nothing", 10, -ENOENT);
        check_refuses(tree.fd, "/", 10, -EISDIR);
        ck_assert_int_eq(fs_make_dirs(tree.fd, "run/a/b"), 0);
        ck_assert_int_eq(fs_write_atomic(tree.fd, "run/a/b/file", "new", 0644), 0);
        text = test_tree_read(tree.dir, "run/a/b/file");
        ck_assert_str_eq(text, "new");
}
END_TEST

START_TEST(restless_system) {
        test_tree_write(tree.dir, "file", "text");
        test_fail_syscall(SYS_openat2, EAGAIN);
        check_refuses(tree.fd, "file", 10, -EAGAIN); /* it gives up at some time */
}
END_TEST

START_TEST(write_atomic) {
        _cleanup_free_ char *first = NULL, *second = NULL, *target = NULL;

        test_tree_write(tree.dir, "target", "not this");
        ck_assert_int_eq(mkdirat(tree.fd, "d", 0755), 0);
        make_link("/target", "d/state");
        (void) umask(077);
        ck_assert_int_eq(fs_write_atomic(tree.fd, "d/state", "first\n", 0644), 0);
        first = test_tree_read(tree.dir, "d/state");
        ck_assert_str_eq(first, "first\n");
        ck_assert_uint_eq(mode_of("d/state"), 0644);
        target = test_tree_read(tree.dir, "target"); /* a symlink is replaced, not followed */
        ck_assert_str_eq(target, "not this");
        ck_assert_int_eq(fs_write_atomic(tree.fd, "d/state", "", 0600), 0);
        second = test_tree_read(tree.dir, "d/state");
        ck_assert_str_eq(second, "");
        ck_assert_uint_eq(mode_of("d/state"), 0600);
        ck_assert_uint_eq(count_entries("d"), 1);
        ck_assert_int_eq(fs_write_atomic(tree.fd, "top", "", 0600), 0);
}
END_TEST

START_TEST(write_atomic_leaves_nothing_behind) {
        struct rlimit limit = { .rlim_cur = 4, .rlim_max = RLIM_INFINITY };
        _cleanup_free_ char *text = NULL;

        test_tree_write(tree.dir, "d/state", "old");
        ck_assert_int_eq(mkdirat(tree.fd, "d/dir", 0755), 0);
        ck_assert_int_eq(fs_write_atomic(tree.fd, "d/dir", "x", 0644), -EISDIR);
        ck_assert_int_eq(fs_write_atomic(tree.fd, "d/state/below", "x", 0644), -ENOTDIR);
        ck_assert_int_eq(fs_write_atomic(tree.fd, "nowhere/state", "x", 0644), -ENOENT);

        /* The file is cut in the middle, as on a full tmpfs. */
        ck_assert_ptr_ne(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
        ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
        limit.rlim_cur = 4;
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
        ck_assert_int_eq(fs_write_atomic(tree.fd, "d/state", "longer than that", 0644), -EFBIG);
        limit.rlim_cur = limit.rlim_max;
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);

        text = test_tree_read(tree.dir, "d/state");
        ck_assert_str_eq(text, "old");
        ck_assert_uint_eq(count_entries("d"), 2);
}
END_TEST

/* A killed process of the same PID (PIDs come again after a restart of the container) left its file. */
START_TEST(write_atomic_finds_leftovers) {
        _cleanup_free_ char *name = NULL, *text = NULL, *left = NULL;

        ck_assert_int_ge(asprintf(&name, "d/.#state.%ld.0", (long) getpid()), 0);
        test_tree_write(tree.dir, name, "half");
        ck_assert_int_eq(fs_write_atomic(tree.fd, "d/state", "whole", 0644), 0);
        text = test_tree_read(tree.dir, "d/state");
        ck_assert_str_eq(text, "whole");
        left = test_tree_read(tree.dir, name);
        ck_assert_str_eq(left, "half");
}
END_TEST

static _noreturn_ void write_in_turn(char *const texts[2]) {
        for (unsigned i = 0; i < 1000; i++)
                if (fs_write_atomic(tree.fd, "state", texts[i % 2], 0644) < 0)
                        _exit(1);
        _exit(0);
}

START_TEST(write_atomic_is_never_seen_half) {
        enum { LARGE = 20000 };
        _cleanup_free_ char *a = malloc(LARGE + 1), *b = malloc(LARGE / 2 + 1);
        pid_t pid, done;
        int status;

        memset(a, 'a', LARGE), a[LARGE] = '\0';
        memset(b, 'b', LARGE / 2), b[LARGE / 2] = '\0';
        ck_assert_int_eq(fs_write_atomic(tree.fd, "state", a, 0644), 0);
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0)
                write_in_turn((char *const[2]){ a, b });
        do {
                _cleanup_free_ char *text = NULL;
                size_t size;

                done = waitpid(pid, &status, WNOHANG);
                ck_assert_int_ge(done, 0);
                ck_assert_int_eq(fs_read(tree.fd, "state", LARGE, &text, &size), 0);
                ck_assert(streq(text, a) || streq(text, b));
        } while (done == 0);
        ck_assert(WIFEXITED(status));
        ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

START_TEST(make_dirs) {
        (void) umask(077);
        ck_assert_int_eq(fs_make_dirs(tree.fd, "run"), 0);
        ck_assert_int_eq(fs_make_dirs(tree.fd, "run/rcu-bootd/milestones"), 0);
        ck_assert_uint_eq(mode_of("run"), 0755);
        ck_assert_uint_eq(mode_of("run/rcu-bootd"), 0755);
        ck_assert_uint_eq(mode_of("run/rcu-bootd/milestones"), 0755);
        ck_assert_int_eq(fchmodat(tree.fd, "run/rcu-bootd", 0700, 0), 0);
        ck_assert_int_eq(fs_make_dirs(tree.fd, "run/rcu-bootd/milestones"), 0);
        ck_assert_uint_eq(mode_of("run/rcu-bootd"), 0700); /* not ours */

        /* /var/run is a symlink to /run on most systems. */
        ck_assert_int_eq(mkdirat(tree.fd, "var", 0755), 0);
        make_link("/run", "var/run");
        ck_assert_int_eq(fs_make_dirs(tree.fd, "var/run/other"), 0);
        ck_assert_uint_eq(mode_of("run/other"), 0755);
}
END_TEST

START_TEST(make_dirs_errors) {
        test_tree_write(tree.dir, "file", "");
        make_link("/nowhere", "dangling");
        ck_assert_int_eq(fs_make_dirs(tree.fd, "file"), -ENOTDIR);
        ck_assert_int_eq(fs_make_dirs(tree.fd, "file/below"), -ENOTDIR);
        ck_assert_int_eq(fs_make_dirs(tree.fd, "dangling"), -ENOENT);
        ck_assert_int_eq(fs_make_dirs(tree.fd, "dangling/below"), -ENOENT);
}
END_TEST

START_TEST(socket_address_of_a_deep_tree) {
        _cleanup_close_ int server = -1, client = -1, keep_bound = -1, keep = -1, root = -1;
        char deep[300], received[8];
        struct sockaddr_un sa;
        socklen_t size;

        (void) snprintf(deep, sizeof(deep), "%0100d/%0100d/run", 1, 2);
        ck_assert_int_eq(fs_make_dirs(tree.fd, deep), 0);
        root = openat(tree.fd, deep, O_PATH | O_DIRECTORY | O_CLOEXEC);
        server = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        client = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(fs_socket_address(root, "notify", &sa, &size, &keep_bound), 0);
        ck_assert_int_eq(bind(server, (struct sockaddr *) &sa, size), 0);
        ck_assert_int_eq(fs_socket_address(root, "notify", &sa, &size, &keep), 0);
        ck_assert_int_eq(connect(client, (struct sockaddr *) &sa, size), 0);
        ck_assert_int_eq(send(client, "hello", 5, 0), 5);
        ck_assert_int_eq(recv(server, received, sizeof(received), 0), 5);
        ck_assert_mem_eq(received, "hello", 5);
        ck_assert_int_eq(faccessat(root, "notify", F_OK, 0), 0);
}
END_TEST

START_TEST(socket_address_of_the_own_root) {
        _cleanup_close_ int root = fs_open_root("/"), keep = -1;
        struct sockaddr_un sa;
        socklen_t size;

        ck_assert_int_eq(fs_socket_address(root, "proc/notify", &sa, &size, &keep), 0);
        ck_assert_str_eq(sa.sun_path, "/proc/notify");
        ck_assert_int_eq(size, offsetof(struct sockaddr_un, sun_path) + STRLEN("/proc/notify") + 1);
        ck_assert_int_ge(keep, 0);
}
END_TEST

START_TEST(socket_address_errors) {
        struct sockaddr_un sa;
        socklen_t size;
        char name[121];
        int keep = -5;

        memset(name, 'n', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        ck_assert_int_eq(fs_socket_address(tree.fd, name, &sa, &size, &keep), -ENAMETOOLONG);
        ck_assert_int_eq(fs_socket_address(tree.fd, "nowhere/notify", &sa, &size, &keep), -ENOENT);
        ck_assert_int_eq(keep, -5);
}
END_TEST

/* case 32: no wall clock. */
START_TEST(now_is_boottime) {
        struct timespec ts;
        usec_t before, now;

        ck_assert_int_eq(clock_gettime(CLOCK_BOOTTIME, &ts), 0);
        before = (usec_t) ts.tv_sec * USEC_PER_SEC + (usec_t) ts.tv_nsec / 1000;
        now = fs_now();
        ck_assert_int_eq(clock_gettime(CLOCK_BOOTTIME, &ts), 0);
        ck_assert_uint_ge(now, before);
        ck_assert_uint_le(now, (usec_t) ts.tv_sec * USEC_PER_SEC + (usec_t) ts.tv_nsec / 1000);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("fs");
        TCase *tc = tcase_create("fs");

        tcase_add_checked_fixture(tc, setup, teardown);
        tcase_add_test(tc, open_root_errors);
        tcase_add_test(tc, own_root);
        tcase_add_test(tc, read_sizes);
        tcase_add_test(tc, read_keeps_nul);
        tcase_add_test(tc, read_kernel_files);
        tcase_add_test(tc, read_refuses_what_is_no_file);
        tcase_add_test(tc, read_head);
        tcase_add_test(tc, read_line);
        tcase_add_test(tc, symlinks_stay_below_the_root);
        tcase_add_test(tc, typed_paths);
        tcase_add_loop_test(tc, without_openat2, 0, ELEMENTSOF(no_openat2));
        tcase_add_test(tc, restless_system);
        tcase_add_test(tc, write_atomic);
        tcase_add_test(tc, write_atomic_leaves_nothing_behind);
        tcase_add_test(tc, write_atomic_finds_leftovers);
        tcase_add_test(tc, write_atomic_is_never_seen_half);
        tcase_add_test(tc, make_dirs);
        tcase_add_test(tc, make_dirs_errors);
        tcase_add_test(tc, socket_address_of_a_deep_tree);
        tcase_add_test(tc, socket_address_of_the_own_root);
        tcase_add_test(tc, socket_address_errors);
        tcase_add_test(tc, now_is_boottime);
        suite_add_tcase(suite, tc);
        return test_run(suite);
}
