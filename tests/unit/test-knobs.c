/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "knobs.h"
#include "names.h"
#include "test-seccomp.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

/* Knobs as plain files. Errors that such files do not make come from the kernel all the same
 * (test-seccomp.h). */

static struct {
        char *dir;
        int fd;
} tree;

static void setup(void) {
        tree.dir = test_tree_new();
        tree.fd = test_tree_open(tree.dir);
}

static void teardown(void) {
        close(tree.fd);
        test_tree_removep(&tree.dir);
}

static void check_text(const char *path, const char *expected) {
        _cleanup_free_ char *text = test_tree_read(tree.dir, path);

        ck_assert_str_eq(text, expected);
}

static void check_reading(Knob knob, const char *path, int64_t value) {
        KnobReading reading;

        knobs_read(tree.fd, knob, &reading);
        ck_assert(reading.present);
        ck_assert_str_eq(reading.path, path);
        ck_assert_int_eq(reading.error, 0);
        ck_assert_int_eq(reading.value, value);
}

static void check_unreadable(Knob knob, const char *path, int error) {
        KnobReading reading;

        knobs_read(tree.fd, knob, &reading);
        ck_assert_int_eq(reading.present, path != NULL);
        if (path)
                ck_assert_str_eq(reading.path, path);
        else
                ck_assert_ptr_null(reading.path);
        ck_assert_int_eq(reading.error, error);
}

static void check_written(Knob knob, int64_t value, int64_t read_back) {
        KnobResult result;

        knobs_write(tree.fd, knob, value, &result);
        ck_assert(result.attempted);
        ck_assert_int_eq(result.asked, value);
        ck_assert_int_eq(result.error, 0);
        ck_assert(result.has_read_back);
        ck_assert_int_eq(result.read_back, read_back);
}

static void check_fails(Knob knob, int64_t value, int error) {
        KnobResult result;

        knobs_write(tree.fd, knob, value, &result);
        ck_assert(result.attempted);
        ck_assert_int_eq(result.asked, value);
        ck_assert_int_eq(result.error, error);
        ck_assert(!result.has_read_back);
}

static const struct {
        const char *text;
        int64_t value;
        int error;
} readings[] = {
        { "0\n", 0, 0 },
        { "1\n", 1, 0 },
        { "1", 1, 0 },
        { "2\n", 2, 0 },
        { "-1\n", -1, 0 },
        { "4294967295\n", 4294967295, 0 },
        { "", 0, -EINVAL },
        { "Y\n", 0, -EINVAL },
        { "1\n1\n", 0, -EINVAL },
        { "99999999999999999999\n", 0, -EINVAL },
        { "0000000000000000000000000000000000000000000000000000000000000000000000000000001\n", 0, -E2BIG },
};

START_TEST(read_text) {
        test_tree_write(tree.dir, PATH_KNOB_EXPEDITED, readings[_i].text);
        if (readings[_i].error < 0)
                check_unreadable(KNOB_EXPEDITED, PATH_KNOB_EXPEDITED, readings[_i].error);
        else
                check_reading(KNOB_EXPEDITED, PATH_KNOB_EXPEDITED, readings[_i].value);
}
END_TEST

START_TEST(read_cut_by_nul) {
        test_tree_write_size(tree.dir, PATH_KNOB_EXPEDITED, "1\0\n", 3);
        check_unreadable(KNOB_EXPEDITED, PATH_KNOB_EXPEDITED, -EINVAL);
}
END_TEST

/* case 4: names are probed in order; a kernel without any knob is no error of its own. */
START_TEST(case_4_candidates) {
        FOREACH_KNOB(k)
                check_unreadable(k, NULL, -ENOENT);
        check_fails(KNOB_BOOT_END_DELAY, 15000, -ENOENT);
        ck_assert_int_eq(knobs_read_mode(tree.fd), RCU_MODE_UNKNOWN);

        test_tree_write(tree.dir, PATH_KNOB_BOOT_END_DELAY_MODULE, "10000\n");
        check_reading(KNOB_BOOT_END_DELAY, PATH_KNOB_BOOT_END_DELAY_MODULE, 10000);
        check_written(KNOB_BOOT_END_DELAY, 50000, 50000);
        check_text(PATH_KNOB_BOOT_END_DELAY_MODULE, "50000\n");

        test_tree_write(tree.dir, PATH_KNOB_BOOT_END_DELAY_ANDROID, "15000\n");
        check_reading(KNOB_BOOT_END_DELAY, PATH_KNOB_BOOT_END_DELAY_ANDROID, 15000);
        check_written(KNOB_BOOT_END_DELAY, 60000, 60000);
        check_text(PATH_KNOB_BOOT_END_DELAY_ANDROID, "60000\n");

        test_tree_write(tree.dir, PATH_KNOB_BOOT_END_DELAY, "20000\n");
        check_reading(KNOB_BOOT_END_DELAY, PATH_KNOB_BOOT_END_DELAY, 20000);
        check_written(KNOB_BOOT_END_DELAY, 0, 0);
        check_text(PATH_KNOB_BOOT_END_DELAY, "0\n");
        check_text(PATH_KNOB_BOOT_END_DELAY_ANDROID, "60000\n");
        check_text(PATH_KNOB_BOOT_END_DELAY_MODULE, "50000\n");
}
END_TEST

START_TEST(absent_below_a_file) {
        test_tree_write(tree.dir, "sys", "");
        check_unreadable(KNOB_EXPEDITED, NULL, -ENOENT);
        check_fails(KNOB_EXPEDITED, 1, -ENOENT);
}
END_TEST

/* The first name decides, even if it cannot be used: writing to the other would be a guess. */
START_TEST(no_second_choice) {
        test_tree_write(tree.dir, PATH_KNOB_BOOT_END_DELAY_ANDROID, "15000\n");
        test_tree_write(tree.dir, PATH_KNOB_BOOT_END_DELAY "/entry", "");
        check_unreadable(KNOB_BOOT_END_DELAY, PATH_KNOB_BOOT_END_DELAY, -EISDIR);
        check_fails(KNOB_BOOT_END_DELAY, 0, -EISDIR);
        check_text(PATH_KNOB_BOOT_END_DELAY_ANDROID, "15000\n");
}
END_TEST

/* Stands between the tested code and the kernel's write(2): counts the calls, and can say "done" for what
 * was never done (seccomp_unotify(2)). Only while armed: Check writes too. */
static struct {
        int listener;
        sem_t ready;
        atomic_bool armed;
        atomic_uint calls;
        bool swallow;
} watch;

static void *watch_main(void *arg) {
        (void) arg;
        /* No assertions here: Check's own writes would wait for this thread. */
        (void) sem_wait(&watch.ready);
        for (;;) {
                struct seccomp_notif request = { 0 };
                struct seccomp_notif_resp response = { 0 };
                bool armed;

                if (ioctl(watch.listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
                        return NULL;
                armed = atomic_load(&watch.armed);
                response.id = request.id;
                if (armed)
                        atomic_fetch_add(&watch.calls, 1);
                if (armed && watch.swallow)
                        response.val = (int64_t) request.data.args[2];
                else
                        response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
                (void) ioctl(watch.listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
        }
}

static void watch_writes(bool swallow) {
        struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { .len = ELEMENTSOF(filter), .filter = filter };
        pthread_t thread;

        watch.swallow = swallow;
        ck_assert_int_eq(sem_init(&watch.ready, 0, 0), 0);
        /* Before the filter, which holds for the threads made after it. */
        ck_assert_int_eq(pthread_create(&thread, NULL, watch_main, NULL), 0);
        ck_assert_int_eq(pthread_detach(thread), 0);
        ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        watch.listener = (int) syscall(
                        SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
        (void) sem_post(&watch.ready);
        ck_assert_int_ge(watch.listener, 0);
}

static void watched_write(Knob knob, int64_t value, KnobResult *ret) {
        atomic_store(&watch.armed, true);
        knobs_write(tree.fd, knob, value, ret);
        atomic_store(&watch.armed, false);
}

/* case 1: each write(2) is a value of its own to the kernel. */
START_TEST(case_1_one_write) {
        KnobResult result;

        test_tree_write(tree.dir, PATH_KNOB_BOOT_END_DELAY, "");
        watch_writes(false);
        watched_write(KNOB_BOOT_END_DELAY, 120000, &result);
        ck_assert_int_eq(result.error, 0);
        ck_assert_uint_eq(atomic_load(&watch.calls), 1);
        check_text(PATH_KNOB_BOOT_END_DELAY, "120000\n");
}
END_TEST

/* The kernel took the write and does something else. */
START_TEST(read_back_differs) {
        KnobResult result;

        test_tree_write(tree.dir, PATH_KNOB_EXPEDITED, "0\n");
        watch_writes(true);
        watched_write(KNOB_EXPEDITED, 1, &result);
        ck_assert_int_eq(result.error, -EIO);
        ck_assert(result.has_read_back);
        ck_assert_int_eq(result.read_back, 0);
}
END_TEST

/* case 5: the delay may read as anything: no error, and nothing follows from it. */
START_TEST(read_back_means_nothing) {
        KnobResult result;

        test_tree_write(tree.dir, PATH_KNOB_BOOT_END_DELAY, "9\n");
        watch_writes(true);
        watched_write(KNOB_BOOT_END_DELAY, 0, &result);
        ck_assert_int_eq(result.error, 0);
        ck_assert(result.has_read_back);
        ck_assert_int_eq(result.read_back, 9);
}
END_TEST

START_TEST(read_back_impossible) {
        KnobResult result;

        test_tree_write(tree.dir, PATH_KNOB_EXPEDITED, "?\n");
        watch_writes(true);
        watched_write(KNOB_EXPEDITED, 1, &result);
        ck_assert_int_eq(result.error, -EINVAL);
        ck_assert(!result.has_read_back);
}
END_TEST

START_TEST(no_tail_stays) {
        test_tree_write(tree.dir, PATH_KNOB_BOOT_END_DELAY, "120000\n");
        check_written(KNOB_BOOT_END_DELAY, 1, 1);
        check_text(PATH_KNOB_BOOT_END_DELAY, "1\n");
        test_tree_write(tree.dir, PATH_KNOB_EXPEDITED, "");
        check_written(KNOB_EXPEDITED, 1, 1);
        check_text(PATH_KNOB_EXPEDITED, "1\n");
}
END_TEST

static const struct {
        Knob knob;
        int64_t value;
} out_of_range[] = {
        { KNOB_EXPEDITED, 2 },
        { KNOB_EXPEDITED, -1 },
        { KNOB_NORMAL, 2 },
        { KNOB_WAKE_FROM_GP, -1 },
        { KNOB_BOOT_END_DELAY, -1 },
        { KNOB_BOOT_END_DELAY, 120001 },
        { KNOB_BOOT_END_DELAY, 4294967295 },
        { KNOB_BOOT_END_DELAY, INT64_MAX },
        { KNOB_USER_BOOTED, 0 },
        { KNOB_USER_BOOTED, 2 },
};

/* case 5: what the kernel would misunderstand is refused before the write, whoever asks. */
START_TEST(case_5_out_of_range) {
        const KnobInfo *info = knob_info(out_of_range[_i].knob);

        test_tree_write(tree.dir, info->paths[0], "untouched");
        check_fails(out_of_range[_i].knob, out_of_range[_i].value, -ERANGE);
        check_text(info->paths[0], "untouched");
        ck_assert_ptr_nonnull(knobs_error_hint(out_of_range[_i].knob, -ERANGE));
}
END_TEST

/* case 6: a delay that only takes 0: the kernel says EINVAL for others; the hint says what follows. */
START_TEST(case_6_only_zero) {
        test_tree_write(tree.dir, PATH_KNOB_BOOT_END_DELAY, "0\n");
        test_fail_syscall_if(SYS_write, 2, STRLEN("30000\n"), EINVAL);
        check_fails(KNOB_BOOT_END_DELAY, 30000, -EINVAL);
        ck_assert_ptr_nonnull(strstr(knobs_error_hint(KNOB_BOOT_END_DELAY, -EINVAL), "only 0"));
        check_written(KNOB_BOOT_END_DELAY, 0, 0);
}
END_TEST

/* case 7: the message names cause and remedy. */
START_TEST(case_7_read_only) {
        const char *hint = knobs_error_hint(KNOB_EXPEDITED, -EROFS);
        char buf[128];

        test_tree_write(tree.dir, PATH_KNOB_EXPEDITED, "0\n");
        test_fail_syscall(SYS_openat2, EROFS);
        check_fails(KNOB_EXPEDITED, 1, -EROFS);
        ck_assert_ptr_nonnull(strstr(hint, "EROFS"));
        ck_assert_ptr_nonnull(strstr(hint, "container"));
        ck_assert_ptr_nonnull(strstr(hint, "ReadWritePaths="));
        ck_assert_str_eq(knobs_error_to_string(-EROFS, buf, sizeof(buf)), "Read-only file system (EROFS)");
}
END_TEST

static const unsigned odd_errors[] = { 524, EBUSY, EPERM, EACCES, EINVAL, ENODEV };

/* case 8: one knob fails, the next one is written. */
START_TEST(case_8_odd_errno) {
        test_tree_write(tree.dir, PATH_KNOB_NORMAL, "0\n");
        test_tree_write(tree.dir, PATH_KNOB_BOOT_END_DELAY, "15000\n");
        test_fail_syscall_if(SYS_write, 2, STRLEN("1\n"), odd_errors[_i]);
        check_fails(KNOB_NORMAL, 1, -(int) odd_errors[_i]);
        check_written(KNOB_BOOT_END_DELAY, 20000, 20000);
        check_text(PATH_KNOB_NORMAL, "0\n");
}
END_TEST

START_TEST(case_8_error_has_no_text) {
        char buf[128];

        ck_assert_str_eq(knobs_error_to_string(-524, buf, sizeof(buf)), "errno 524");
        ck_assert_str_eq(knobs_error_to_string(-EINVAL, buf, sizeof(buf)), "Invalid argument (EINVAL)");
        ck_assert_ptr_nonnull(knobs_error_hint(KNOB_NORMAL, -524));
}
END_TEST

START_TEST(no_reader_no_waiting) {
        test_tree_write(tree.dir, "sys/kernel/other", "");
        ck_assert_int_eq(mkfifoat(tree.fd, PATH_KNOB_NORMAL, 0644), 0);
        check_unreadable(KNOB_NORMAL, PATH_KNOB_NORMAL, -EBADFD);
        check_fails(KNOB_NORMAL, 1, -ENXIO);
}
END_TEST

START_TEST(full_file_system) {
        struct rlimit limit;
        KnobResult result;

        test_tree_write(tree.dir, PATH_KNOB_BOOT_END_DELAY, "");
        ck_assert_ptr_ne(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
        ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
        limit.rlim_cur = 3; /* "120" of "120000": a tenth of a second */
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
        knobs_write(tree.fd, KNOB_BOOT_END_DELAY, 120000, &result);
        limit.rlim_cur = limit.rlim_max;
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
        ck_assert_int_eq(result.error, -EIO);
}
END_TEST

/* A symlink in the tree cannot make the daemon write to the machine that runs the test. */
START_TEST(stays_below_the_root) {
        _cleanup_free_ char *target = NULL, *text = NULL;
        _cleanup_(test_tree_removep) char *other = test_tree_new();

        test_tree_write(other, "knob", "0\n");
        test_tree_write(tree.dir, "sys/kernel/other", "");
        ck_assert_int_ge(asprintf(&target, "%s/knob", other), 0);
        ck_assert_int_eq(symlinkat(target, tree.fd, PATH_KNOB_EXPEDITED), 0);
        check_fails(KNOB_EXPEDITED, 1, -ENOENT);
        text = test_tree_read(other, "knob");
        ck_assert_str_eq(text, "0\n");
}
END_TEST

static const struct {
        const char *expedited, *normal;
        RcuMode mode;
} modes[] = {
        { "0\n", "0\n", RCU_MODE_DEFAULT },
        { "1\n", "0\n", RCU_MODE_EXPEDITED }, /* case 3: whatever made it so */
        { "0\n", "1\n", RCU_MODE_NORMAL },
        { "1\n", "1\n", RCU_MODE_NORMAL },    /* case 2: rcu_normal wins */
        { "2\n", "0\n", RCU_MODE_EXPEDITED }, /* to the kernel any number but 0 is on */
        { "1\n", NULL, RCU_MODE_EXPEDITED },
        { NULL, "1\n", RCU_MODE_NORMAL },
        { NULL, NULL, RCU_MODE_UNKNOWN },
        { "?\n", "?\n", RCU_MODE_UNKNOWN },
};

START_TEST(effective_mode) {
        if (modes[_i].expedited)
                test_tree_write(tree.dir, PATH_KNOB_EXPEDITED, modes[_i].expedited);
        if (modes[_i].normal)
                test_tree_write(tree.dir, PATH_KNOB_NORMAL, modes[_i].normal);
        ck_assert_int_eq(knobs_read_mode(tree.fd), modes[_i].mode);
}
END_TEST

START_TEST(hints) {
        static const int with_hint[] = { EROFS, EACCES, EPERM, EINVAL, EBUSY, ENOENT, ERANGE, EIO };

        FOREACH_KNOB(k) {
                for (size_t i = 0; i < ELEMENTSOF(with_hint); i++)
                        ck_assert_ptr_nonnull(knobs_error_hint(k, -with_hint[i]));
                ck_assert_ptr_null(knobs_error_hint(k, -ENOMEM));
                ck_assert_ptr_null(knobs_error_hint(k, 0));
        }
        /* To the delay EBUSY is no matter of trying again. */
        ck_assert_ptr_nonnull(strstr(knobs_error_hint(KNOB_BOOT_END_DELAY, -EBUSY), "ended"));
        ck_assert_ptr_nonnull(strstr(knobs_error_hint(KNOB_EXPEDITED, -EBUSY), "try again"));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("knobs");
        TCase *tc = tcase_create("knobs");

        tcase_add_checked_fixture(tc, setup, teardown);
        tcase_add_loop_test(tc, read_text, 0, ELEMENTSOF(readings));
        tcase_add_test(tc, read_cut_by_nul);
        tcase_add_test(tc, case_1_one_write);
        tcase_add_test(tc, case_4_candidates);
        tcase_add_test(tc, absent_below_a_file);
        tcase_add_test(tc, no_second_choice);
        tcase_add_test(tc, no_tail_stays);
        tcase_add_loop_test(tc, case_5_out_of_range, 0, ELEMENTSOF(out_of_range));
        tcase_add_test(tc, read_back_differs);
        tcase_add_test(tc, read_back_means_nothing);
        tcase_add_test(tc, read_back_impossible);
        tcase_add_test(tc, case_6_only_zero);
        tcase_add_test(tc, case_7_read_only);
        tcase_add_loop_test(tc, case_8_odd_errno, 0, ELEMENTSOF(odd_errors));
        tcase_add_test(tc, case_8_error_has_no_text);
        tcase_add_test(tc, no_reader_no_waiting);
        tcase_add_test(tc, full_file_system);
        tcase_add_test(tc, stays_below_the_root);
        tcase_add_loop_test(tc, effective_mode, 0, ELEMENTSOF(modes));
        tcase_add_test(tc, hints);
        suite_add_tcase(suite, tc);
        return test_run(suite);
}
