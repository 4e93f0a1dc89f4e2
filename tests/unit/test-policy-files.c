/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "names.h"
#include "policy-files.h"
#include "test-util.h"

#include <errno.h>
#include <sys/wait.h>

#define ETC PATH_POLICY_DIR_ETC "/"
#define RUN PATH_POLICY_DIR_RUN "/"
#define USR PATH_POLICY_DIR_USR "/"

#define NOBODY 65534

/* Policies that can be told apart by what they wait for. */
#define POLICY(milestone) "[Boot]\nEndWhen=" milestone "\n"
#define CLASS_POLICY(class, milestone) "[Match]\nClass=" class "\n" POLICY(milestone)

static struct {
        char *dir;
        int fd;
        PolicyFiles files;
} tree;

static void setup(void) {
        tree.dir = test_tree_new();
        tree.fd = test_tree_open(tree.dir);
}

static void teardown(void) {
        policy_files_done(&tree.files);
        close(tree.fd);
        test_tree_removep(&tree.dir);
}

static void load(void) {
        policy_files_done(&tree.files);
        ck_assert_int_eq(policy_files_load(tree.fd, &tree.files), 0);
}

static void make_link(const char *target, const char *path) {
        test_tree_write(tree.dir, path, "");
        ck_assert_int_eq(unlinkat(tree.fd, path, 0), 0);
        ck_assert_int_eq(symlinkat(target, tree.fd, path), 0);
}

static void check_file(size_t i, const char *path) {
        ck_assert_uint_lt(i, tree.files.n);
        ck_assert_str_eq(tree.files.items[i].path, path);
        ck_assert_str_eq(tree.files.items[i].name, strrchr(path, '/') + 1);
}

/* The file is there, valid, and ends boot at that milestone. */
static void check_valid(size_t i, const char *path, const char *milestone) {
        const Policy *policy;

        check_file(i, path);
        policy = tree.files.items[i].policy;
        ck_assert_ptr_null(tree.files.items[i].errors);
        ck_assert(!tree.files.items[i].masked);
        ck_assert_ptr_nonnull(policy);
        ck_assert_str_eq(policy->path, path);
        ck_assert_str_eq(policy->end_when.names[0], milestone);
}

static void check_masked(size_t i, const char *path) {
        check_file(i, path);
        ck_assert(tree.files.items[i].masked);
        ck_assert_ptr_null(tree.files.items[i].policy);
        ck_assert_ptr_null(tree.files.items[i].errors);
}

/* One error, which begins with where and says what. */
static void check_faulty(size_t i, const char *path, const char *where, const char *what) {
        const PolicyFile *file = tree.files.items + i;

        check_file(i, path);
        ck_assert(!file->masked);
        ck_assert_ptr_null(file->policy);
        ck_assert_uint_eq(strv_length(file->errors), 1);
        ck_assert_msg(startswith(file->errors[0], where) && strstr(file->errors[0], what),
                        "unexpected error: %s", file->errors[0]);
}

static void check_list(char *const *list, const char *joined) {
        _cleanup_free_ char *text = NULL;

        ck_assert_int_eq(strv_join(list, " ", &text), 0);
        ck_assert_str_eq(text, joined);
}

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

static void write_many(unsigned from, unsigned to, const char *format) {
        for (unsigned i = from; i < to; i++) {
                char path[200];

                (void) snprintf(path, sizeof(path), "%s%05u%s", ETC, i, format);
                test_tree_write(tree.dir, path, "");
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

START_TEST(too_many_dropins) {
        for (unsigned i = 0; i <= POLICY_FILES_MAX; i++) {
                char path[200];

                (void) snprintf(path, sizeof(path), "%s50-x.policy.d/%05u.conf", ETC, i);
                test_tree_write(tree.dir, path, "");
        }
        test_tree_write(tree.dir, USR "50-x.policy", POLICY("x"));
        load();
        check_faulty(0, "/" USR "50-x.policy", "/" ETC "50-x.policy.d: ", "more than 1024 drop-ins");
}
END_TEST

START_TEST(dropins) {
        const Policy *policy;

        test_tree_write(tree.dir, USR "50-x.policy", POLICY("x") "DeadlineSec=10\n");
        test_tree_write(tree.dir, USR "50-x.policy.d/20-usr.conf",
                        "[Boot]\nDeadlineSec=20\nNotBeforeSec=1\n");
        test_tree_write(tree.dir, RUN "50-x.policy.d/30-run.conf", "[Boot]\nDeadlineSec=30\n");
        test_tree_write(tree.dir, ETC "50-x.policy.d/10-etc.conf", "[Boot]\nDeadlineSec=40\nEndWhen=also\n");
        test_tree_write(tree.dir, ETC "50-x.policy.d/README", "nonsense");
        test_tree_write(tree.dir, ETC "50-x.policy.d/.hidden.conf", "nonsense");
        test_tree_write(tree.dir, ETC "60-other.policy.d/10-etc.conf", "nonsense");
        load();
        ck_assert_uint_eq(tree.files.n, 1);
        check_valid(0, "/" USR "50-x.policy", "x");
        check_list(tree.files.items[0].dropins,
                        "/" ETC "50-x.policy.d/10-etc.conf /" USR "50-x.policy.d/20-usr.conf /" RUN
                        "50-x.policy.d/30-run.conf");
        policy = tree.files.items[0].policy;
        ck_assert_uint_eq(policy->deadline, 30 * USEC_PER_SEC); /* the last by name wins, wherever it is */
        ck_assert_str_eq(policy->deadline_origin.file, "/" RUN "50-x.policy.d/30-run.conf");
        ck_assert_uint_eq(policy->deadline_origin.line, 2);
        ck_assert_uint_eq(policy->not_before, USEC_PER_SEC);
        ck_assert_str_eq(policy->not_before_origin.file, "/" USR "50-x.policy.d/20-usr.conf");
        ck_assert_uint_eq(policy->end_when.n_alternatives, 2);
        ck_assert_str_eq(policy->end_when_origin[1].file, "/" ETC "50-x.policy.d/10-etc.conf");
}
END_TEST

START_TEST(dropins_of_the_same_name) {
        test_tree_write(tree.dir, ETC "50-x.policy", POLICY("x"));
        test_tree_write(tree.dir, USR "50-x.policy.d/10.conf", "nonsense");
        test_tree_write(tree.dir, RUN "50-x.policy.d/10.conf", "[Boot]\nDeadlineSec=20\n");
        test_tree_write(tree.dir, RUN "50-x.policy.d/20.conf", "nonsense");
        make_link("/dev/null", ETC "50-x.policy.d/20.conf");
        test_tree_write(tree.dir, USR "50-x.policy.d/30.conf", "nonsense");
        test_tree_write(tree.dir, RUN "50-x.policy.d/30.conf", "");
        load();
        check_valid(0, "/" ETC "50-x.policy", "x");
        check_list(tree.files.items[0].dropins, "/" RUN "50-x.policy.d/10.conf");
        ck_assert_uint_eq(tree.files.items[0].policy->deadline, 20 * USEC_PER_SEC);
}
END_TEST

/* case 29: a drop-in for a masked file is not used, however faulty or good. */
START_TEST(case_29_dropin_of_masked) {
        test_tree_write(tree.dir, USR "50-x.policy", POLICY("x"));
        make_link("/dev/null", ETC "50-x.policy");
        test_tree_write(tree.dir, ETC "50-x.policy.d/10-local.conf", POLICY("local"));
        test_tree_write(tree.dir, ETC "50-x.policy.d/20-faulty.conf", "nonsense");
        load();
        check_masked(0, "/" ETC "50-x.policy");
        check_list(tree.files.items[0].dropins,
                        "/" ETC "50-x.policy.d/10-local.conf /" ETC "50-x.policy.d/20-faulty.conf");
}
END_TEST

/* One bad drop-in spoils the policy: never half of what was meant. */
START_TEST(faulty_dropin) {
        test_tree_write(tree.dir, USR "50-x.policy", POLICY("x"));
        test_tree_write(tree.dir, ETC "50-x.policy.d/10.conf", "[Boot]\nDeadlineSec=never\n");
        load();
        check_faulty(0, "/" USR "50-x.policy", "/" ETC "50-x.policy.d/10.conf:2: ", "DeadlineSec");

        make_link("/nowhere", ETC "50-x.policy.d/10.conf");
        load();
        check_faulty(0, "/" USR "50-x.policy", "/" ETC "50-x.policy.d/10.conf: ", "symlink to /nowhere");

        ck_assert_int_eq(unlinkat(tree.fd, ETC "50-x.policy.d/10.conf", 0), 0);
        ck_assert_int_eq(mkdirat(tree.fd, ETC "50-x.policy.d/10.conf", 0755), 0);
        load();
        check_faulty(0, "/" USR "50-x.policy", "/" ETC "50-x.policy.d/10.conf: ", "directory");
}
END_TEST

START_TEST(dropin_directory_is_a_file) {
        test_tree_write(tree.dir, USR "50-x.policy", POLICY("x"));
        test_tree_write(tree.dir, ETC "50-x.policy.d", "text");
        load();
        check_faulty(0, "/" USR "50-x.policy", "/" ETC "50-x.policy.d: ", strerror(ENOTDIR));
}
END_TEST

/* case 31: a broken policy is there with its fault, for the next one to be used. */
START_TEST(case_31_faulty) {
        const PolicyFile *chosen = NULL;
        _cleanup_free_ char *why = NULL;
        MachineFacts facts = { 0 };

        test_tree_write(tree.dir, ETC "50-x.policy", "[Boot]\nEndWhen=x\nNoSuchKey=1\n");
        test_tree_write(tree.dir, ETC "60-empty.policy", "\n");
        test_tree_write(tree.dir, USR "70-y.policy", POLICY("y"));
        load();
        ck_assert_uint_eq(tree.files.n, 3);
        check_faulty(0, "/" ETC "50-x.policy", "/" ETC "50-x.policy:3: ", "NoSuchKey");
        ck_assert_ptr_nonnull(tree.files.items[1].errors);
        ck_assert_int_eq(policy_files_choose(&tree.files, &facts, &chosen, &why), 0);
        ck_assert_str_eq(chosen->name, "70-y.policy");
        ck_assert_str_eq(why, "it has no [Match], and no policy before it matches");
}
END_TEST

/* case 31: the machine always ends. */
START_TEST(case_31_builtin) {
        _cleanup_(policy_freep) Policy *policy = NULL;

        ck_assert_int_eq(policy_files_builtin(&policy), 0);
        ck_assert_str_eq(policy->name, POLICY_BUILTIN_NAME);
        ck_assert_str_eq(policy->path, POLICY_BUILTIN_PATH);
        ck_assert_uint_gt(policy->end_when.n_alternatives, 0);
        ck_assert_uint_gt(policy->deadline, 0);
        ck_assert_uint_eq(match_fields(&policy->match), 0);
        ck_assert_int_eq(policy->knobs[KNOB_EXPEDITED].setting[KNOB_STAGE_DURING].action, KNOB_ACTION_VALUE);
        ck_assert_int_ne(policy->knobs[KNOB_EXPEDITED].setting[KNOB_STAGE_AFTER].action, KNOB_ACTION_NONE);
}
END_TEST

START_TEST(choose_none) {
        const PolicyFile *chosen = (const PolicyFile *) tree.dir;
        MachineFacts facts = { 0 };
        char *why = tree.dir;

        test_tree_write(tree.dir, ETC "50-x.policy", "[Match]\nChassis=laptop\n" POLICY("x"));
        test_tree_write(tree.dir, ETC "60-y.policy", "");
        load();
        ck_assert_int_eq(policy_files_choose(&tree.files, &facts, &chosen, &why), 0);
        ck_assert_ptr_null(chosen);
        ck_assert_ptr_null(why);
}
END_TEST

static void check_choice(const char *name, const char *expected_why) {
        _cleanup_(machine_facts_done) MachineFacts facts = { 0 };
        const PolicyFile *chosen = NULL;
        _cleanup_free_ char *why = NULL;

        load();
        ck_assert_int_eq(policy_files_facts(tree.fd, &tree.files, &facts), 0);
        ck_assert_int_eq(policy_files_choose(&tree.files, &facts, &chosen, &why), 0);
        ck_assert_ptr_nonnull(chosen);
        ck_assert_str_eq(chosen->name, name);
        ck_assert_str_eq(why, expected_why);
}

/* From files to facts to the choice. */
START_TEST(choose) {
        test_tree_write(tree.dir, USR "10-arm.policy", "[Match]\nDeviceTree=acme,*\n" POLICY("a"));
        test_tree_write(tree.dir, USR "50-laptop.policy",
                        "[Match]\nClass=laptop\nChassis=laptop "
                        "convertible\nVirtualization=!container\n" POLICY("x"));
        test_tree_write(tree.dir, USR "99-default.policy", POLICY("d"));
        check_choice("99-default.policy", "it has no [Match], and no policy before it matches");

        test_tree_write(tree.dir, PATH_MACHINE_INFO, "CHASSIS=laptop\n");
        check_choice("50-laptop.policy",
                        "this machine matches Chassis=laptop convertible, Virtualization=!container");

        test_tree_write(tree.dir, PATH_CLASS, "server\n");
        check_choice("99-default.policy", "it has no [Match], and no policy before it matches");

        ck_assert_int_eq(unlinkat(tree.fd, PATH_MACHINE_INFO, 0), 0);
        test_tree_write(tree.dir, PATH_CLASS, "laptop\n");
        check_choice("50-laptop.policy", "the administrator set class laptop");
}
END_TEST

START_TEST(facts_are_asked_for_only_where_needed) {
        _cleanup_(machine_facts_done) MachineFacts facts = { 0 };

        test_tree_write(tree.dir, PATH_MACHINE_INFO, "CHASSIS=laptop\n");
        test_tree_write(tree.dir, "etc/os-release", "ID=debian\n");
        test_tree_write(tree.dir, USR "10-x.policy", "[Match]\nOS=debian\n" POLICY("x"));
        test_tree_write(tree.dir, USR "20-y.policy", "[Match]\nChassis=laptop\nNonsense=1\n" POLICY("y"));
        load();
        ck_assert_int_eq(policy_files_facts(tree.fd, &tree.files, &facts), 0);
        ck_assert_ptr_nonnull(facts.values[MATCH_OS]);
        ck_assert_ptr_null(facts.values[MATCH_CHASSIS]);
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

static void add_reading(TCase *tc) {
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

static void add_dropins(TCase *tc) {
        tcase_add_test(tc, too_many_dropins);
        tcase_add_test(tc, dropins);
        tcase_add_test(tc, dropins_of_the_same_name);
        tcase_add_test(tc, case_29_dropin_of_masked);
        tcase_add_test(tc, faulty_dropin);
        tcase_add_test(tc, dropin_directory_is_a_file);
}

static void add_choice(TCase *tc) {
        tcase_add_test(tc, case_31_faulty);
        tcase_add_test(tc, case_31_builtin);
        tcase_add_test(tc, choose_none);
        tcase_add_test(tc, choose);
        tcase_add_test(tc, facts_are_asked_for_only_where_needed);
}

int main(void) {
        static void (*const parts[])(TCase *) = { add_reading, add_dropins, add_choice };
        Suite *suite = suite_create("policy-files");

        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                TCase *tc = tcase_create("policy-files");

                tcase_add_checked_fixture(tc, setup, teardown);
                parts[i](tc);
                suite_add_tcase(suite, tc);
        }
        return test_run(suite);
}
