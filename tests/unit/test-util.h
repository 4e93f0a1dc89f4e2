/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

#include <check.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

/* What the unit tests share: running a suite, and trees in a temporary directory. */

/* Runs the suite; TAP comes out because the makefile sets CK_TAP_LOG_FILE_NAME=-. */
static inline int test_run(Suite *suite) {
        SRunner *runner = srunner_create(suite);
        int failed;

        srunner_run_all(runner, CK_ENV);
        failed = srunner_ntests_failed(runner);
        srunner_free(runner);
        return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static inline int test_remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw) {
        (void) st, (void) flag, (void) ftw;
        return remove(path);
}

/* A directory that lives as long as the variable: `_cleanup_(test_tree_removep) char *tree =
 * test_tree_new();`. */
static inline char *test_tree_new(void) {
        char *dir = strdup("/tmp/rcu-bootd-test-XXXXXX");

        ck_assert_ptr_nonnull(dir);
        ck_assert_ptr_nonnull(mkdtemp(dir));
        return dir;
}

static inline void test_tree_removep(char **dir) {
        if (*dir)
                (void) nftw(*dir, test_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
        free(*dir);
}

static inline int test_tree_open(const char *dir) {
        int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        return fd;
}

/* Creates DIR/path with its parents; size < 0: text is a string. */
static inline void test_tree_write_size(const char *dir, const char *path, const char *text, ssize_t size) {
        _cleanup_free_ char *full = NULL;
        _cleanup_fclose_ FILE *f = NULL;

        ck_assert_int_ge(asprintf(&full, "%s/%s", dir, path), 0);
        for (char *p = full + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
                *p = '\0';
                (void) mkdir(full, 0755);
                *p = '/';
        }
        f = fopen(full, "we");
        ck_assert_ptr_nonnull(f);
        if (size < 0)
                size = (ssize_t) strlen(text);
        ck_assert_uint_eq(fwrite(text, 1, (size_t) size, f), (size_t) size);
}

static inline void test_tree_write(const char *dir, const char *path, const char *text) {
        test_tree_write_size(dir, path, text, -1);
}

/* The file's text, to be freed. */
static inline char *test_tree_read(const char *dir, const char *path) {
        _cleanup_free_ char *full = NULL;
        _cleanup_fclose_ FILE *f = NULL;
        char *text = NULL;
        size_t size = 0;

        ck_assert_int_ge(asprintf(&full, "%s/%s", dir, path), 0);
        f = fopen(full, "re");
        ck_assert_ptr_nonnull(f);
        if (getdelim(&text, &size, '\0', f) < 0)
                text[0] = '\0';
        return text;
}
