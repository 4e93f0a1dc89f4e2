/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit.h"

#include "audit-journal.h"
#include "fs.h"
#include "names.h"
#include "test-util.h"

#include <errno.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syslog.h>

/* Where entries go: the journal, the kernel's log, standard error. What they say is tested by
 * test-audit-entry and test-audit-text. */

static char *tree;
static int root_fd;

static void setup(void) {
        tree = test_tree_new();
        root_fd = test_tree_open(tree);
}

static void teardown(void) {
        close(root_fd);
        test_tree_removep(&tree);
}

/* The journal's socket, in the tree. */
static int journal_open(void) {
        struct sockaddr_un sa = { .sun_family = AF_UNIX };
        int fd;

        test_tree_write(tree, "run/systemd/journal/.keep", "");
        (void) snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/" PATH_JOURNAL_SOCKET, tree);
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(bind(fd, (struct sockaddr *) &sa, sizeof(sa)), 0);
        return fd;
}

/* One entry, to be freed; NULL if there is none. */
static char *journal_take(int fd) {
        char buf[4096];
        ssize_t n = recv(fd, buf, sizeof(buf), 0);

        if (n < 0) {
                ck_assert_int_eq(errno, EAGAIN);
                return NULL;
        }
        return strndup(buf, (size_t) n);
}

/* Until it takes no more, as when nobody reads it. */
static void journal_fill(void) {
        int r;

        while ((r = audit_journal_send(root_fd, "X=1\n", 4)) == 0)
                ;
        ck_assert_int_eq(r, -EAGAIN);
}

static Audit *audit_new(bool foreground) {
        Audit *a;

        ck_assert_int_eq(audit_open(root_fd, foreground, &a), 0);
        return a;
}

/* What every kind of entry leaves, however it goes. */
static void write_all(Audit *a) {
        BootRecord record = {
                .phase = BOOT_PHASE_BOOTING,
                .policy_name = (char *) "p",
                .policy_path = (char *) "/p",
                .deadline = UINT64_C(5000000),
        };
        BootAction action = { .type = BOOT_ACTION_AUDIT, .audit = BOOT_AUDIT_EXTENDED };

        audit_transition(a, &record, &action, (AuditContext){ .now = UINT64_C(1000001) });
        audit_policy_rejected(a, "/q", (char *const[]){ (char *) "/q:1: fault", NULL });
        audit_refused(a, "too long", &(MessageSender){ 2, 3 }, 0);
        audit_device_uninitialized(a, "device:a/b", "/sys/b");
        audit_log(a, LOG_WARNING, "%s is %d", "it", 1);
}

static const char *const all_lines[] = {
        "<5>rcu-bootd: Deadline moved to 5 s after the kernel started\n",
        "<3>rcu-bootd: Policy ignored: /q:1: fault\n",
        "<5>rcu-bootd: Refused a message from PID 2, UID 3: too long\n",
        ("<5>rcu-bootd: device:a/b counts as reached: /sys/b is there, but udev has not initialised it "
         "within 5 s\n"),
        "<4>rcu-bootd: it is 1\n",
};

static void expect_kmsg(void) {
        _cleanup_free_ char *text = test_tree_read(tree, PATH_KMSG);
        const char *p = text;

        for (size_t i = 0; i < ELEMENTSOF(all_lines); i++) {
                ck_assert_ptr_nonnull(startswith(p, all_lines[i]));
                p += strlen(all_lines[i]);
        }
        ck_assert_str_eq(p, "");
}

/* --- the journal --- */

START_TEST(test_journal_send) {
        _cleanup_free_ char *first = NULL, *second = NULL;
        int fd;

        ck_assert_int_eq(audit_journal_send(root_fd, "MESSAGE=a\n", 10), -ENOENT);

        fd = journal_open();
        ck_assert_int_eq(audit_journal_send(root_fd, "MESSAGE=a\nPRIORITY=3\n", 21), 0);
        ck_assert_int_eq(audit_journal_send(root_fd, "MESSAGE=b\n", 10), 0);
        first = journal_take(fd);
        second = journal_take(fd);
        ck_assert_str_eq(first, "MESSAGE=a\nPRIORITY=3\n");
        ck_assert_str_eq(second, "MESSAGE=b\n");
        ck_assert_ptr_null(journal_take(fd));

        close(fd);
        ck_assert_int_eq(audit_journal_send(root_fd, "MESSAGE=a\n", 10), -ECONNREFUSED);
}
END_TEST

/* A journal that hangs, or that PID 1 holds the socket for but which never starts. */
START_TEST(test_journal_that_is_full) {
        _cleanup_free_ char *entry = NULL;
        int fd;

        fd = journal_open();
        journal_fill();
        entry = journal_take(fd); /* it goes on */
        ck_assert_str_eq(entry, "X=1\n");
        ck_assert_int_eq(audit_journal_send(root_fd, "MESSAGE=a\n", 10), 0);
        close(fd);
}
END_TEST

/* In a process whose root is the tree, and so the running machine's own. */
static void write_all_as_own_root(void) {
        int status;
        pid_t pid;

        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                Audit *a;
                int fd;

                if ((geteuid() != 0 && unshare(CLONE_NEWUSER) < 0) || chroot(tree) < 0 || chdir("/") < 0)
                        _exit(2);
                fd = fs_open_root("/");
                if (fd < 0 || audit_open(fd, false, &a) < 0)
                        _exit(3);
                write_all(a);
                audit_free(a);
                close(fd);
                _exit(0);
        }
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_int_eq(status, 0);
}

START_TEST(test_own_root) {
        int fd;

        fd = journal_open();
        test_tree_write(tree, PATH_KMSG, "");
        write_all_as_own_root();

        for (size_t i = 0; i < ELEMENTSOF(all_lines); i++) {
                _cleanup_free_ char *entry = journal_take(fd), *message = NULL;
                const char *words = strchr(all_lines[i], ':') + 2;

                ck_assert_ptr_nonnull(entry);
                ck_assert_int_ge(asprintf(&message, "MESSAGE=%s", words), 0);
                ck_assert_ptr_nonnull(startswith(entry, message));
                ck_assert_ptr_nonnull(strstr(entry, "\nSYSLOG_IDENTIFIER=rcu-bootd\n"));
        }
        ck_assert_ptr_null(journal_take(fd));
        close(fd);

        ck_assert_int_eq(audit_journal_send(root_fd, "MESSAGE=a\n", 10), -ECONNREFUSED);
        {
                _cleanup_free_ char *kmsg = test_tree_read(tree, PATH_KMSG);

                ck_assert_str_eq(kmsg, ""); /* once is enough */
        }
}
END_TEST

START_TEST(test_own_root_without_a_journal) {
        test_tree_write(tree, PATH_KMSG, "");
        write_all_as_own_root();
        expect_kmsg();
}
END_TEST

START_TEST(test_own_root_with_a_journal_that_is_full) {
        int fd;

        fd = journal_open();
        journal_fill();
        test_tree_write(tree, PATH_KMSG, "");
        write_all_as_own_root();
        expect_kmsg();
        close(fd);
}
END_TEST

/* --- the kernel's log --- */

START_TEST(test_another_root) {
        Audit *a;
        int fd;

        fd = journal_open();
        test_tree_write(tree, PATH_KMSG, "");
        a = audit_new(false);
        write_all(a);
        ck_assert_ptr_eq(audit_free(a), NULL);

        expect_kmsg();
        ck_assert_ptr_null(journal_take(fd));
        close(fd);
}
END_TEST

/* The kernel refuses longer lines. */
START_TEST(test_long_line) {
        _cleanup_free_ char *text = NULL;
        char message[3000];
        Audit *a;

        memset(message, 'x', sizeof(message) - 1);
        message[sizeof(message) - 1] = '\0';
        test_tree_write(tree, PATH_KMSG, "");
        a = audit_new(false);
        audit_log(a, LOG_INFO, "%s", message);
        audit_log(a, LOG_INFO, "next");
        audit_free(a);

        text = test_tree_read(tree, PATH_KMSG);
        ck_assert_ptr_nonnull(startswith(text, "<6>rcu-bootd: xxx"));
        ck_assert_uint_gt(strcspn(text, "\n"), 900);
        ck_assert_uint_lt(strcspn(text, "\n"), 960);
        ck_assert_str_eq(strchr(text, '\n') + 1, "<6>rcu-bootd: next\n");
}
END_TEST

/* No kernel log, or something in its place that nobody reads: lost, and nothing waits. */
START_TEST(test_nowhere_to_go) {
        _cleanup_free_ char *path = NULL;
        Audit *a;

        a = audit_new(false);
        write_all(a);

        ck_assert_int_ge(asprintf(&path, "%s/" PATH_KMSG, tree), 0);
        test_tree_write(tree, "dev/.keep", "");
        ck_assert_int_eq(mkfifo(path, 0600), 0);
        write_all(a);
        audit_free(a);
}
END_TEST

/* --- standard error --- */

START_TEST(test_foreground) {
        _cleanup_free_ char *text = NULL, *path = NULL;
        int saved, fd, consumed = 0;
        unsigned long long sec;
        unsigned usec;
        const char *p;
        Audit *a;

        test_tree_write(tree, "stderr", "");
        ck_assert_int_ge(asprintf(&path, "%s/stderr", tree), 0);
        fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
        saved = dup(STDERR_FILENO);
        ck_assert_int_ge(dup2(fd, STDERR_FILENO), 0);
        a = audit_new(true);
        write_all(a);
        audit_free(a);
        ck_assert_int_ge(dup2(saved, STDERR_FILENO), 0);
        close(saved);
        close(fd);

        text = test_tree_read(tree, "stderr");
        p = startswith(text, "[    1.000001] Deadline moved to 5 s after the kernel started\n");
        ck_assert_ptr_nonnull(p);
        for (size_t i = 1; i < ELEMENTSOF(all_lines); i++) {
                const char *words = strchr(all_lines[i], ':') + 2;

                ck_assert_int_eq(sscanf(p, "[%llu.%6u] %n", &sec, &usec, &consumed), 2);
                ck_assert_ptr_nonnull(startswith(p + consumed, words));
                p += (size_t) consumed + strlen(words);
        }
        ck_assert_str_eq(p, "");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("audit");
        TCase *tc = tcase_create("audit");

        tcase_add_checked_fixture(tc, setup, teardown);
        tcase_add_test(tc, test_journal_send);
        tcase_add_test(tc, test_journal_that_is_full);
        tcase_add_test(tc, test_own_root);
        tcase_add_test(tc, test_own_root_without_a_journal);
        tcase_add_test(tc, test_own_root_with_a_journal_that_is_full);
        tcase_add_test(tc, test_another_root);
        tcase_add_test(tc, test_long_line);
        tcase_add_test(tc, test_nowhere_to_go);
        tcase_add_test(tc, test_foreground);
        suite_add_tcase(suite, tc);
        return test_run(suite);
}
