/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test-policy-files.h"

#include <errno.h>
#include <sys/wait.h>

#define NOBODY 65534

START_TEST(nothing_there) {
        load();
        ck_assert_uint_eq(tree.files.n, 0);
        test_tree_write(tree.dir, ETC "README", "");
        load();
        ck_assert_uint_eq(tree.files.n, 0);
}
END_TEST

START_TEST(sorted_over_all_directories) {
        test_tree_write(tree.dir, USR "30-b.policy", POLICY("b"));
        test_tree_write(tree.dir, USR "10-a.policy", POLICY("a"));
        test_tree_write(tree.dir, RUN "20-r.policy", POLICY("r"));
        test_tree_write(tree.dir, ETC "9-e.policy", POLICY("e"));
        test_tree_write(tree.dir, ETC "15-e.policy", POLICY("e15"));
        load();
        ck_assert_uint_eq(tree.files.n, 5);
        check_valid(0, "/" USR "10-a.policy", "a");
        check_valid(1, "/" ETC "15-e.policy", "e15");
        check_valid(2, "/" RUN "20-r.policy", "r");
        check_valid(3, "/" USR "30-b.policy", "b");
        check_valid(4, "/" ETC "9-e.policy", "e");
}
END_TEST

/* case 29: the same name in /etc, /run and /usr/lib. */
START_TEST(case_29_same_name) {
        test_tree_write(tree.dir, USR "50-x.policy", POLICY("usr"));
        load();
        check_valid(0, "/" USR "50-x.policy", "usr");
        ck_assert_ptr_null(tree.files.items[0].shadowed);

        test_tree_write(tree.dir, RUN "50-x.policy", POLICY("run"));
        load();
        check_valid(0, "/" RUN "50-x.policy", "run");
        check_list(tree.files.items[0].shadowed, "/" USR "50-x.policy");

        test_tree_write(tree.dir, ETC "50-x.policy", POLICY("etc"));
        load();
        ck_assert_uint_eq(tree.files.n, 1);
        check_valid(0, "/" ETC "50-x.policy", "etc");
        check_list(tree.files.items[0].shadowed, "/" RUN "50-x.policy /" USR "50-x.policy");
}
END_TEST

static const char *const masks[] = {
        "/dev/null", "../../../dev/null", "../../../../../../../../dev/null", NULL, /* an empty file */
};

/* case 29: masks. There is no /dev/null in the tree: the link's text counts. */
START_TEST(case_29_mask) {
        test_tree_write(tree.dir, USR "50-x.policy", POLICY("usr"));
        test_tree_write(tree.dir, USR "60-y.policy", POLICY("y"));
        if (masks[_i])
                make_link(masks[_i], ETC "50-x.policy");
        else
                test_tree_write(tree.dir, ETC "50-x.policy", "");
        load();
        ck_assert_uint_eq(tree.files.n, 2);
        check_masked(0, "/" ETC "50-x.policy");
        check_list(tree.files.items[0].shadowed, "/" USR "50-x.policy");
        check_valid(1, "/" USR "60-y.policy", "y");
}
END_TEST

static const char *const no_masks[] = { "dev/null", "/dev/nullx", "/tmp/dev/null", "../../dev/zero" };

START_TEST(no_mask) {
        make_link(no_masks[_i], ETC "50-x.policy");
        load();
        check_faulty(0, "/" ETC "50-x.policy", "/" ETC "50-x.policy: ", no_masks[_i]);
}
END_TEST

/* case 29: what is to replace a file, but cannot be read, does not bring back the file it replaces. */
START_TEST(case_29_dangling) {
        test_tree_write(tree.dir, USR "50-x.policy", POLICY("usr"));
        make_link("/nowhere/at-all", ETC "50-x.policy");
        load();
        ck_assert_uint_eq(tree.files.n, 1);
        check_faulty(0, "/" ETC "50-x.policy", "/" ETC "50-x.policy: ", "symlink to /nowhere/at-all");
}
END_TEST

START_TEST(symlink_to_a_file) {
        test_tree_write(tree.dir, "opt/vendor/real", POLICY("vendor"));
        make_link("/opt/vendor/real", ETC "50-x.policy");
        load();
        check_valid(0, "/" ETC "50-x.policy", "vendor");
}
END_TEST

START_TEST(symlink_in_a_circle) {
        make_link("50-x.policy", ETC "50-x.policy");
        load();
        check_faulty(0, "/" ETC "50-x.policy", "/" ETC "50-x.policy: ", strerror(ELOOP));
}
END_TEST

START_TEST(no_file) {
        test_tree_write(tree.dir, ETC "10-dir.policy/entry", "");
        ck_assert_int_eq(mkfifoat(tree.fd, ETC "20-fifo.policy", 0644), 0);
        load();
        ck_assert_uint_eq(tree.files.n, 2);
        check_faulty(0, "/" ETC "10-dir.policy", "/" ETC "10-dir.policy: ", "directory");
        check_faulty(1, "/" ETC "20-fifo.policy", "/" ETC "20-fifo.policy: ", "FIFO");
}
END_TEST

START_TEST(too_large) {
        _cleanup_free_ char *text = malloc(POLICY_SIZE_MAX + 2);

        memset(text, '#', POLICY_SIZE_MAX + 1);
        text[POLICY_SIZE_MAX + 1] = '\0';
        test_tree_write(tree.dir, ETC "10-large.policy", text);
        load();
        check_faulty(0, "/" ETC "10-large.policy", "/" ETC "10-large.policy: ", "larger than 256 KiB");
}
END_TEST

/* The loading below as a user who may not read everything; root may. */
static void as_nobody(void (*check)(void)) {
        int status;
        pid_t pid;

        ck_assert_int_eq(chmod(tree.dir, 0755), 0);
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0)
                        _exit(1);
                check();
                policy_files_done(&tree.files);
                _exit(0);
        }
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFEXITED(status));
        ck_assert_int_eq(WEXITSTATUS(status), 0);
}

static void check_unreadable_file(void) {
        load();
        ck_assert_uint_eq(tree.files.n, 2);
        check_faulty(0, "/" ETC "50-x.policy", "/" ETC "50-x.policy: ", strerror(EACCES));
        check_valid(1, "/" USR "60-y.policy", "y");
}

/* case 29: an unreadable file. */
START_TEST(case_29_unreadable) {
        test_tree_write(tree.dir, ETC "50-x.policy", POLICY("x"));
        test_tree_write(tree.dir, USR "60-y.policy", POLICY("y"));
        ck_assert_int_eq(fchmodat(tree.fd, ETC "50-x.policy", 0, 0), 0);
        as_nobody(check_unreadable_file);
}
END_TEST

static void check_unreadable_directory(void) {
        load();
        ck_assert_uint_eq(tree.files.n, 2);
        check_valid(0, "/" USR "60-y.policy", "y");
        check_faulty(1, "/" PATH_POLICY_DIR_ETC, "/" PATH_POLICY_DIR_ETC ": ", strerror(EACCES));
}

START_TEST(unreadable_directory) {
        test_tree_write(tree.dir, ETC "50-x.policy", POLICY("x"));
        test_tree_write(tree.dir, USR "60-y.policy", POLICY("y"));
        ck_assert_int_eq(fchmodat(tree.fd, PATH_POLICY_DIR_ETC, 0, 0), 0);
        as_nobody(check_unreadable_directory);
        ck_assert_int_eq(fchmodat(tree.fd, PATH_POLICY_DIR_ETC, 0755, 0), 0);
}
END_TEST

START_TEST(directory_is_a_file) {
        test_tree_write(tree.dir, PATH_POLICY_DIR_ETC, "text");
        test_tree_write(tree.dir, USR "60-y.policy", POLICY("y"));
        load();
        ck_assert_uint_eq(tree.files.n, 2);
        check_valid(0, "/" USR "60-y.policy", "y");
        check_faulty(1, "/" PATH_POLICY_DIR_ETC, "/" PATH_POLICY_DIR_ETC ": ", strerror(ENOTDIR));
}
END_TEST

/* A whole directory by an absolute link, as image builders make them: below the root. */
START_TEST(directory_is_a_symlink) {
        test_tree_write(tree.dir, "opt/policies/60-y.policy", POLICY("y"));
        make_link("/opt/policies", PATH_POLICY_DIR_ETC);
        load();
        ck_assert_uint_eq(tree.files.n, 1);
        check_valid(0, "/" ETC "60-y.policy", "y");
}
END_TEST

static const char *const ignored_names[] = {
        ".hidden.policy",
        ".#50-x.policy",
        "#50-x.policy#",
        "50-x.policy~",
        "50-x.policy.bak",
        "50-x.policy.dpkg-old",
        ".50-x.policy.swp",
        "50-x.POLICY",
        "50-x",
        "README",
        "policy",
        "line\nbreak.policy",
        "bell\a.policy",
};

START_TEST(ignored) {
        for (size_t i = 0; i < ELEMENTSOF(ignored_names); i++) {
                _cleanup_free_ char *path = NULL;

                ck_assert_int_ge(asprintf(&path, ETC "%s", ignored_names[i]), 0);
                test_tree_write(tree.dir, path, "nonsense");
        }
        load();
        ck_assert_uint_eq(tree.files.n, 0);
}
END_TEST

static void write_many(unsigned from, unsigned to, const char *suffix) {
        _cleanup_close_ int dir = -1;

        test_tree_write(tree.dir, ETC "first", ""); /* makes the directory */
        dir = openat(tree.fd, PATH_POLICY_DIR_ETC, O_PATH | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_ge(dir, 0);
        for (unsigned i = from; i < to; i++) {
                _cleanup_close_ int fd = -1;
                char name[64];

                (void) snprintf(name, sizeof(name), "%05u%s", i, suffix);
                fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
                ck_assert_int_ge(fd, 0);
        }
}

/* case 29: 10,000 files; the bound is exact. */
START_TEST(case_29_too_many) {
        PolicyFiles files = { 0 };

        write_many(0, POLICY_FILES_MAX, ".policy");
        load();
        ck_assert_uint_eq(tree.files.n, POLICY_FILES_MAX);
        write_many(POLICY_FILES_MAX, POLICY_FILES_MAX + 1, ".policy");
        ck_assert_int_eq(policy_files_load(tree.fd, &files), -E2BIG);
        write_many(POLICY_FILES_MAX + 1, 10000, ".policy");
        ck_assert_int_eq(policy_files_load(tree.fd, &files), -E2BIG);
        ck_assert_ptr_null(files.items);
}
END_TEST

START_TEST(many_others_do_not_count) {
        write_many(0, 2 * POLICY_FILES_MAX, ".txt");
        test_tree_write(tree.dir, ETC "50-x.policy", POLICY("x"));
        load();
        ck_assert_uint_eq(tree.files.n, 1);
}
END_TEST

static void load_one(PolicyFile *file, int dir_fd, const char *path) {
        policy_file_done(file);
        ck_assert_int_eq(policy_files_load_one(dir_fd, path, file), 0);
        ck_assert_str_eq(file->path, path); /* as typed */
}

START_TEST(one) {
        _cleanup_(policy_file_done) PolicyFile file = { 0 };
        _cleanup_free_ char *absolute = NULL;

        test_tree_write(tree.dir, "my/50-x.policy", POLICY("x"));
        test_tree_write(tree.dir, "my/50-x.policy.d/10.conf", "[Boot]\nDeadlineSec=20\n");
        test_tree_write(tree.dir, "my/any-name", POLICY("any"));
        ck_assert_int_ge(asprintf(&absolute, "%s/my/50-x.policy", tree.dir), 0);

        load_one(&file, AT_FDCWD, absolute);
        ck_assert_ptr_nonnull(file.policy);
        ck_assert_str_eq(file.name, "50-x.policy");
        ck_assert_uint_eq(file.policy->deadline, 20 * USEC_PER_SEC);
        ck_assert_uint_eq(strv_length(file.dropins), 1);

        load_one(&file, tree.fd, "my/50-x.policy");
        ck_assert_ptr_nonnull(file.policy);
        load_one(&file, tree.fd, "/my/50-x.policy");
        ck_assert_ptr_nonnull(file.policy);

        ck_assert_int_eq(chdir(tree.dir), 0);
        load_one(&file, AT_FDCWD, "my/any-name");
        ck_assert_ptr_nonnull(file.policy);
        ck_assert_str_eq(file.name, "any-name");
        ck_assert_int_eq(chdir("my"), 0);
        load_one(&file, AT_FDCWD, "50-x.policy");
        ck_assert_ptr_nonnull(file.policy);
        ck_assert_str_eq(file.dropins[0], "50-x.policy.d/10.conf");
        ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

START_TEST(one_with_faults) {
        _cleanup_(policy_file_done) PolicyFile file = { 0 };

        load_one(&file, tree.fd, "nowhere/50-x.policy");
        ck_assert_ptr_null(file.policy);
        ck_assert(!file.masked);
        ck_assert_str_eq(file.errors[0], "nowhere/50-x.policy: cannot be read: No such file or directory");

        test_tree_write(tree.dir, "50-x.policy", "[Boot]\nEndWhen=\n");
        load_one(&file, tree.fd, "50-x.policy");
        ck_assert_ptr_null(file.policy);
        ck_assert_ptr_nonnull(startswith(file.errors[0], "50-x.policy"));

        load_one(&file, AT_FDCWD, "/dev/null");
        ck_assert(file.masked);
        ck_assert_ptr_null(file.policy);
        ck_assert_ptr_null(file.errors);

        load_one(&file, AT_FDCWD, "/dev/zero");
        ck_assert(!file.masked);
        ck_assert_uint_eq(strv_length(file.errors), 1);

        load_one(&file, tree.fd, "line\nbreak.policy");
        ck_assert_ptr_null(file.policy);
        ck_assert_ptr_nonnull(strstr(file.errors[0], "control characters"));
}
END_TEST

static void add_tests(TCase *tc) {
        tcase_add_test(tc, nothing_there);
        tcase_add_test(tc, sorted_over_all_directories);
        tcase_add_test(tc, case_29_same_name);
        tcase_add_loop_test(tc, case_29_mask, 0, ELEMENTSOF(masks));
        tcase_add_loop_test(tc, no_mask, 0, ELEMENTSOF(no_masks));
        tcase_add_test(tc, case_29_dangling);
        tcase_add_test(tc, symlink_to_a_file);
        tcase_add_test(tc, symlink_in_a_circle);
        tcase_add_test(tc, no_file);
        tcase_add_test(tc, too_large);
        tcase_add_test(tc, case_29_unreadable);
        tcase_add_test(tc, unreadable_directory);
        tcase_add_test(tc, directory_is_a_file);
        tcase_add_test(tc, directory_is_a_symlink);
        tcase_add_test(tc, ignored);
        tcase_add_test(tc, case_29_too_many);
        tcase_add_test(tc, many_others_do_not_count);
        tcase_add_test(tc, one);
        tcase_add_test(tc, one_with_faults);
}

int main(void) {
        Suite *suite = suite_create("policy-files");
        TCase *tc = tcase_create("policy-files");

        tcase_set_timeout(tc, 300); /* ten thousand files on a busy disk */
        tcase_add_checked_fixture(tc, setup, teardown);
        add_tests(tc);
        suite_add_tcase(suite, tc);
        return test_run(suite);
}
