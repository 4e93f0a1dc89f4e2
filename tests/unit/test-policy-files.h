/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "names.h"
#include "policy-files.h"
#include "test-util.h"

/* What the tests of policy-files.h share: a tree for each test, and looks at what was loaded from it. */

#define ETC PATH_POLICY_DIR_ETC "/"
#define RUN PATH_POLICY_DIR_RUN "/"
#define USR PATH_POLICY_DIR_USR "/"

/* Policies that can be told apart by what they wait for. */
#define POLICY(milestone) "[Boot]\nEndWhen=" milestone "\n"
#define CLASS_POLICY(class, milestone) "[Match]\nClass=" class "\n" POLICY(milestone)

static struct {
        char *dir;
        int fd;
        PolicyFiles files;
} tree;

static inline void setup(void) {
        tree.dir = test_tree_new();
        tree.fd = test_tree_open(tree.dir);
}

static inline void teardown(void) {
        policy_files_done(&tree.files);
        close(tree.fd);
        test_tree_removep(&tree.dir);
}

static inline void load(void) {
        policy_files_done(&tree.files);
        ck_assert_int_eq(policy_files_load(tree.fd, &tree.files), 0);
}

static inline void make_link(const char *target, const char *path) {
        test_tree_write(tree.dir, path, "");
        ck_assert_int_eq(unlinkat(tree.fd, path, 0), 0);
        ck_assert_int_eq(symlinkat(target, tree.fd, path), 0);
}

static inline void check_file(size_t i, const char *path) {
        ck_assert_uint_lt(i, tree.files.n);
        ck_assert_str_eq(tree.files.items[i].path, path);
        ck_assert_str_eq(tree.files.items[i].name, strrchr(path, '/') + 1);
}

/* The file is there, valid, and ends boot at that milestone. */
static inline void check_valid(size_t i, const char *path, const char *milestone) {
        const Policy *policy;

        check_file(i, path);
        policy = tree.files.items[i].policy;
        ck_assert_ptr_null(tree.files.items[i].errors);
        ck_assert(!tree.files.items[i].masked);
        ck_assert_ptr_nonnull(policy);
        ck_assert_str_eq(policy->path, path);
        ck_assert_str_eq(policy->end_when.names[0], milestone);
}

static inline void check_masked(size_t i, const char *path) {
        check_file(i, path);
        ck_assert(tree.files.items[i].masked);
        ck_assert_ptr_null(tree.files.items[i].policy);
        ck_assert_ptr_null(tree.files.items[i].errors);
}

/* One error, which begins with where and says what. */
static inline void check_faulty(size_t i, const char *path, const char *where, const char *what) {
        const PolicyFile *file = tree.files.items + i;

        check_file(i, path);
        ck_assert(!file->masked);
        ck_assert_ptr_null(file->policy);
        ck_assert_uint_eq(strv_length(file->errors), 1);
        ck_assert_msg(startswith(file->errors[0], where) && strstr(file->errors[0], what),
                        "unexpected error: %s", file->errors[0]);
}

static inline void check_list(char *const *list, const char *joined) {
        _cleanup_free_ char *text = NULL;

        ck_assert_int_eq(strv_join(list, " ", &text), 0);
        ck_assert_str_eq(text, joined);
}
