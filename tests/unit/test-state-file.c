/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs.h"
#include "names.h"
#include "state-file.h"
#include "test-util.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#define NOBODY 65534

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

static void closep_and_forget(int *fd) {
        close(*fd);
        *fd = -1;
}

static void make_record(BootRecord *ret) {
        *ret = (BootRecord){
                .phase = BOOT_PHASE_BOOTING,
                .since = 1500000,
                .started = 1500000,
                .starts = 1,
                .deadline = 120 * USEC_PER_SEC,
                .policy_name = strdup("50-laptop.policy"),
                .policy_path = strdup("/usr/lib/rcu-bootd/policy.d/50-laptop.policy"),
                .policy_why = strdup("Chassis=laptop"),
        };
        char *bad = NULL;

        ck_assert_int_ge(milestone_condition_add(&ret->end_when, "graphical.target home-screen", &bad), 0);
        ret->reached = 1;
        ret->reached_at[0] = 2500000;
        ret->reached_by[0] = MILESTONE_SOURCE_BUS;
        ret->knobs[KNOB_EXPEDITED] = (KnobRecord){ .present = true, .has_found = true, .found = 0 };
}

START_TEST(write_and_read) {
        _cleanup_(boot_record_done) BootRecord record = { 0 }, back = { 0 };
        struct stat st;

        make_record(&record);
        (void) umask(077);
        /* Nobody has made run/rcu-bootd yet, or somebody tidied it away. */
        ck_assert_int_eq(state_file_write(tree.fd, &record), 0);
        ck_assert_int_eq(fstatat(tree.fd, PATH_STATE, &st, 0), 0);
        ck_assert_uint_eq(st.st_mode & 07777, 0644);
        ck_assert_int_eq(fstatat(tree.fd, PATH_RUN_DIR, &st, 0), 0);
        ck_assert_uint_eq(st.st_mode & 07777, 0755);

        ck_assert_int_eq(state_file_read(tree.fd, &back), 0);
        ck_assert_int_eq(back.phase, BOOT_PHASE_BOOTING);
        ck_assert_uint_eq(back.since, 1500000);
        ck_assert_uint_eq(back.deadline, 120 * USEC_PER_SEC);
        ck_assert_str_eq(back.policy_name, "50-laptop.policy");
        ck_assert_uint_eq(back.end_when.n_names, 2);
        ck_assert_str_eq(back.end_when.names[1], "home-screen");
        ck_assert_uint_eq(back.reached, 1);
        ck_assert(back.knobs[KNOB_EXPEDITED].present);
}
END_TEST

START_TEST(write_again) {
        _cleanup_(boot_record_done) BootRecord record = { 0 }, back = { 0 };

        make_record(&record);
        ck_assert_int_eq(state_file_write(tree.fd, &record), 0);
        record.phase = BOOT_PHASE_ENDED;
        record.reason = BOOT_REASON_MILESTONES;
        ck_assert_int_eq(state_file_write(tree.fd, &record), 0);
        ck_assert_int_eq(state_file_read(tree.fd, &back), 0);
        ck_assert_int_eq(back.phase, BOOT_PHASE_ENDED);
        ck_assert_int_eq(back.reason, BOOT_REASON_MILESTONES);
}
END_TEST

START_TEST(write_fails) {
        _cleanup_(boot_record_done) BootRecord record = { 0 };

        make_record(&record);
        test_tree_write(tree.dir, "run/other", "");
        test_tree_write(tree.dir, PATH_RUN_DIR, "a file in the directory's place");
        ck_assert_int_eq(state_file_write(tree.fd, &record), -ENOTDIR);
}
END_TEST

static const char *const damaged[] = { "", "\n", "not a state file\n", "PHASE=booting\n",
        "PHASE=", "\xff\xfe" };

START_TEST(read_damaged) {
        BootRecord back = { 0 };

        test_tree_write(tree.dir, PATH_STATE, damaged[_i]);
        ck_assert_int_eq(state_file_read(tree.fd, &back), -EBADMSG);
}
END_TEST

/* Wherever it was cut, it is noticed. */
START_TEST(read_cut) {
        _cleanup_(boot_record_done) BootRecord record = { 0 };
        _cleanup_free_ char *text = NULL;

        make_record(&record);
        ck_assert_int_eq(state_file_write(tree.fd, &record), 0);
        text = test_tree_read(tree.dir, PATH_STATE);
        ck_assert_uint_gt(strlen(text), 100);
        for (size_t size = 0; size < strlen(text); size++) {
                BootRecord back = { 0 };

                test_tree_write_size(tree.dir, PATH_STATE, text, (ssize_t) size);
                ck_assert_int_eq(state_file_read(tree.fd, &back), -EBADMSG);
        }
}
END_TEST

START_TEST(read_what_no_daemon_wrote) {
        _cleanup_free_ char *large = calloc(1, STATE_SIZE_MAX + 2);
        BootRecord back = { 0 };

        ck_assert_int_eq(state_file_read(tree.fd, &back), -ENOENT);
        memset(large, 'x', STATE_SIZE_MAX + 1);
        test_tree_write(tree.dir, PATH_STATE, large);
        ck_assert_int_eq(state_file_read(tree.fd, &back), -EBADMSG);
        ck_assert_int_eq(unlinkat(tree.fd, PATH_STATE, 0), 0);
        ck_assert_int_eq(mkdirat(tree.fd, PATH_STATE, 0755), 0);
        ck_assert_int_eq(state_file_read(tree.fd, &back), -EBADMSG);
        ck_assert_int_eq(unlinkat(tree.fd, PATH_STATE, AT_REMOVEDIR), 0);
        ck_assert_int_eq(mkfifoat(tree.fd, PATH_STATE, 0644), 0);
        ck_assert_int_eq(state_file_read(tree.fd, &back), -EBADMSG);
}
END_TEST

START_TEST(lock) {
        _cleanup_(closep) int first = -1, second = -1;
        pid_t pid = -1;

        ck_assert_int_eq(state_file_is_locked(tree.fd), 0);
        ck_assert_int_eq(state_file_lock_owner(tree.fd, &pid), -ENOENT);
        ck_assert_int_eq(state_file_lock(tree.fd, &first), 0);
        ck_assert_int_eq(fcntl(first, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        ck_assert_int_eq(state_file_is_locked(tree.fd), 1);
        ck_assert_int_eq(state_file_lock_owner(tree.fd, &pid), 0);
        ck_assert_int_eq(pid, getpid());
        ck_assert_int_eq(state_file_lock(tree.fd, &second), -EWOULDBLOCK);
        ck_assert_int_eq(second, -1);
        /* Having looked, and having been refused, has not loosened it. */
        ck_assert_int_eq(state_file_is_locked(tree.fd), 1);
        closep_and_forget(&first);
        ck_assert_int_eq(state_file_is_locked(tree.fd), 0);
        ck_assert_int_eq(state_file_lock(tree.fd, &second), 0);
}
END_TEST

START_TEST(lock_of_an_earlier_pid) {
        _cleanup_(closep) int fd = -1;
        pid_t pid = -1;

        test_tree_write(tree.dir, PATH_LOCK, "1234567890\n");
        ck_assert_int_eq(state_file_is_locked(tree.fd), 0);
        ck_assert_int_eq(state_file_lock(tree.fd, &fd), 0);
        ck_assert_int_eq(state_file_lock_owner(tree.fd, &pid), 0);
        ck_assert_int_eq(pid, getpid());
}
END_TEST

static const char *const no_pids[] = { "", "\n", "0\n", "-5\n", "12x\n", "1 2\n", "99999999999999999999\n" };

START_TEST(lock_without_pid) {
        pid_t pid = -1;

        test_tree_write(tree.dir, PATH_LOCK, no_pids[_i]);
        ck_assert_int_eq(state_file_lock_owner(tree.fd, &pid), -EBADMSG);
        ck_assert_int_eq(pid, -1);
}
END_TEST

START_TEST(lock_fails) {
        int fd = -5;

        test_tree_write(tree.dir, "run/other", "");
        test_tree_write(tree.dir, PATH_RUN_DIR, "a file in the directory's place");
        ck_assert_int_eq(state_file_lock(tree.fd, &fd), -ENOTDIR);
        ck_assert_int_eq(fd, -5);
}
END_TEST

/* The lock belongs to the daemon: gone with it, however it goes. */
START_TEST(lock_of_a_killed_process) {
        int ready[2], status;
        pid_t pid, owner;
        char c;

        ck_assert_int_eq(pipe(ready), 0);
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                int fd;

                if (state_file_lock(tree.fd, &fd) < 0 || write(ready[1], "", 1) != 1)
                        _exit(1);
                for (;;)
                        (void) pause();
        }
        close(ready[1]);
        ck_assert_int_eq(read(ready[0], &c, 1), 1);
        ck_assert_int_eq(state_file_is_locked(tree.fd), 1);
        ck_assert_int_eq(state_file_lock_owner(tree.fd, &owner), 0);
        ck_assert_int_eq(owner, pid);
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_int_eq(state_file_is_locked(tree.fd), 0);
        close(ready[0]);
}
END_TEST

/* `rcu-bootctl status` of any user: whatever the umask of whoever started the daemon. */
START_TEST(looking_needs_no_privileges) {
        _cleanup_(closep) int fd = -1;
        int status;
        pid_t pid;

        (void) umask(077);
        ck_assert_int_eq(chmod(tree.dir, 0755), 0);
        ck_assert_int_eq(fs_make_dirs(tree.fd, "run"), 0);
        ck_assert_int_eq(state_file_lock(tree.fd, &fd), 0);
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                /* Where the tests do not run as root, this user is an ordinary one already; the file is
                 * then made unwritable for them, as it is for everyone else. */
                if (geteuid() == 0 ? setresuid(NOBODY, NOBODY, NOBODY) < 0 : fchmod(fd, 0444) < 0)
                        _exit(1);
                if (faccessat(tree.fd, PATH_LOCK, W_OK, AT_EACCESS) == 0)
                        _exit(2);
                _exit(state_file_is_locked(tree.fd) == 1 ? 0 : 3);
        }
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFEXITED(status));
        ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

static _noreturn_ void look_without_end(void) {
        for (;;)
                if (state_file_is_locked(tree.fd) < 0)
                        _exit(1);
}

/* However often somebody looks, a daemon that starts at that moment gets its lock. */
START_TEST(looking_disturbs_nobody) {
        int status;
        pid_t pid;

        ck_assert_int_eq(fs_make_dirs(tree.fd, PATH_RUN_DIR), 0);
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0)
                look_without_end();
        for (unsigned i = 0; i < 5000; i++) {
                int fd = -1;

                ck_assert_int_eq(state_file_lock(tree.fd, &fd), 0);
                close(fd);
        }
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFSIGNALED(status));
}
END_TEST

/* Any user may open the file for reading, and lock it so for good: that is no daemon, neither to who looks
 * nor to the next daemon, which must be able to go on with a boot. */
START_TEST(strangers_do_not_keep_it) {
        struct flock reading = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
        _cleanup_(closep) int first = -1, stranger = -1, second = -1, third = -1;

        ck_assert_int_eq(state_file_lock(tree.fd, &first), 0);
        stranger = fs_open(tree.fd, PATH_LOCK, O_RDONLY);
        ck_assert_int_ge(stranger, 0);
        closep_and_forget(&first);
        ck_assert_int_eq(fcntl(stranger, F_OFD_SETLK, &reading), 0);

        ck_assert_int_eq(state_file_is_locked(tree.fd), 0);
        ck_assert_int_eq(state_file_lock(tree.fd, &second), 0);
        ck_assert_int_eq(state_file_is_locked(tree.fd), 1);
        ck_assert_int_eq(state_file_lock(tree.fd, &third), -EWOULDBLOCK);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("state-file");
        TCase *tc = tcase_create("state-file");

        tcase_add_checked_fixture(tc, setup, teardown);
        tcase_add_test(tc, write_and_read);
        tcase_add_test(tc, write_again);
        tcase_add_test(tc, write_fails);
        tcase_add_loop_test(tc, read_damaged, 0, ELEMENTSOF(damaged));
        tcase_add_test(tc, read_cut);
        tcase_add_test(tc, read_what_no_daemon_wrote);
        tcase_add_test(tc, lock);
        tcase_add_test(tc, lock_of_an_earlier_pid);
        tcase_add_loop_test(tc, lock_without_pid, 0, ELEMENTSOF(no_pids));
        tcase_add_test(tc, lock_fails);
        tcase_add_test(tc, lock_of_a_killed_process);
        tcase_add_test(tc, looking_needs_no_privileges);
        tcase_add_test(tc, looking_disturbs_nobody);
        tcase_add_test(tc, strangers_do_not_keep_it);
        suite_add_tcase(suite, tc);
        return test_run(suite);
}
