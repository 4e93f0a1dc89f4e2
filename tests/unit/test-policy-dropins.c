/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test-policy-files.h"

#include <errno.h>

/* --- drop-ins --- */

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

/* --- the choice --- */

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
        static void (*const parts[])(TCase *) = { add_dropins, add_choice };
        Suite *suite = suite_create("policy-dropins");

        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                TCase *tc = tcase_create("policy-dropins");

                tcase_add_checked_fixture(tc, setup, teardown);
                parts[i](tc);
                suite_add_tcase(suite, tc);
        }
        return test_run(suite);
}
