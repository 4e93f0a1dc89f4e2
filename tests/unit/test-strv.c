/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "strv.h"
#include "test-alloc.h"
#include "test-util.h"

#include <errno.h>

static void assert_list(char *const *l, const char *const *expected) {
        size_t n = 0;

        while (expected[n]) {
                ck_assert_uint_gt(strv_length(l), n);
                ck_assert_str_eq(l[n], expected[n]);
                n++;
        }
        ck_assert_uint_eq(strv_length(l), n);
}

START_TEST(an_absent_list_is_empty) {
        _cleanup_free_ char *joined = NULL;
        _cleanup_strv_free_ char **never_set = NULL;

        ck_assert_ptr_null(strv_free(NULL));
        ck_assert_ptr_null(strv_free(never_set));
        ck_assert_uint_eq(strv_length(NULL), 0);
        ck_assert(!strv_contains(NULL, ""));
        ck_assert(!strv_fnmatch(NULL, ""));
        ck_assert_int_eq(strv_join(NULL, ",", &joined), 0);
        ck_assert_str_eq(joined, "");
}
END_TEST

START_TEST(extend_copies_and_keeps_order) {
        _cleanup_strv_free_ char **l = NULL;
        char text[16];

        for (unsigned i = 0; i < 1000; i++) {
                (void) snprintf(text, sizeof(text), "%u", i);
                ck_assert_int_eq(strv_extend(&l, text), 0);
                ck_assert_uint_eq(strv_length(l), i + 1);
        }
        for (unsigned i = 0; i < 1000; i++) {
                (void) snprintf(text, sizeof(text), "%u", i);
                ck_assert_str_eq(l[i], text);
                ck_assert(strv_contains(l, text));
        }
        ck_assert(!strv_contains(l, "1000"));
        ck_assert(!strv_contains(l, ""));
        ck_assert_ptr_null(strv_free(TAKE_PTR(l)));
}
END_TEST

START_TEST(consume_owns_the_string) {
        _cleanup_strv_free_ char **l = NULL;
        char *s = strdup("mine");

        ck_assert_int_eq(strv_consume(&l, s), 0);
        ck_assert_ptr_eq(l[0], s);
        ck_assert_ptr_null(l[1]);

        ck_assert_int_eq(strv_consume(&l, NULL), -ENOMEM);
        assert_list(l, (const char *const[]){ "mine", NULL });

        /* Freed although it could not be added: the leak checker would tell. */
        s = strdup("too much");
        test_alloc_left = 0;
        ck_assert_int_eq(strv_consume(&l, s), -ENOMEM);
        test_alloc_left = UINT_MAX;
        assert_list(l, (const char *const[]){ "mine", NULL });
}
END_TEST

START_TEST(extend_without_memory_changes_nothing) {
        _cleanup_strv_free_ char **l = NULL;

        ck_assert_int_eq(strv_extend(&l, "a"), 0);
        for (unsigned n = 0; n < 2; n++) {
                test_alloc_left = n;
                ck_assert_int_eq(strv_extend(&l, "b"), -ENOMEM);
                test_alloc_left = UINT_MAX;
                assert_list(l, (const char *const[]){ "a", NULL });
        }
}
END_TEST

static const struct {
        const char *text;
        int r;
        const char *words[5];
} splits[] = {
        { "", 0, { NULL } },
        { " \t\r\n ", 0, { NULL } },
        { "a", 0, { "a" } },
        { "  a  ", 0, { "a" } },
        { "a b\tc\nd", 0, { "a", "b", "c", "d" } },
        { "a,b;c", 0, { "a,b;c" } },
        /* Quotes keep blanks, at the edge of a word and inside one. */
        { "\"a b\" 'c d'", 0, { "a b", "c d" } },
        { "a\"b c\"d e", 0, { "ab cd", "e" } },
        { "\"it's\" 'say \"x\"'", 0, { "it's", "say \"x\"" } },
        { "\"\"", 0, { "" } },
        { "a '' b", 0, { "a", "", "b" } },
        { "''\"\"", 0, { "" } },
        /* The next character, whatever it is. */
        { "a\\ b", 0, { "a b" } },
        { "\\\"a\\'", 0, { "\"a'" } },
        { "\"a\\\"b\" '\\''", 0, { "a\"b", "'" } },
        { "\\\\ \\x", 0, { "\\", "x" } },
        { "!a*", 0, { "!a*" } },
        { "\xc3\xa4 \xe2\x82\xac", 0, { "\xc3\xa4", "\xe2\x82\xac" } },
        /* Left open. */
        { "\"", -EINVAL, { NULL } },
        { "'", -EINVAL, { NULL } },
        { "a \"b c", -EINVAL, { NULL } },
        { "a 'b\"", -EINVAL, { NULL } },
        { "\"a\\\"", -EINVAL, { NULL } },
        { "\\", -EINVAL, { NULL } },
        { "a b\\", -EINVAL, { NULL } },
        { "'a\\", -EINVAL, { NULL } },
};

START_TEST(split) {
        char *untouched[] = { NULL }, **l = untouched;
        int r;

        r = strv_split(splits[_i].text, &l);
        ck_assert_int_eq(r, splits[_i].r);
        if (r < 0)
                ck_assert_ptr_eq(l, untouched);
        else {
                assert_list(l, splits[_i].words);
                strv_free(l);
        }
}
END_TEST

START_TEST(split_without_memory) {
        char **l = NULL;
        unsigned failures = 0;

        for (;; failures++) {
                int r;

                test_alloc_left = failures;
                r = strv_split("a b c", &l);
                test_alloc_left = UINT_MAX;
                if (r == 0)
                        break;
                ck_assert_int_eq(r, -ENOMEM);
                ck_assert_ptr_null(l);
        }
        ck_assert_uint_ge(failures, 3);
        assert_list(l, (const char *const[]){ "a", "b", "c", NULL });
        strv_free(l);
}
END_TEST

static const struct {
        const char *words[4];
        const char *separator;
        const char *joined;
} joins[] = {
        { { NULL }, ", ", "" },
        { { "a" }, ", ", "a" },
        { { "a", "b", "c" }, ", ", "a, b, c" },
        { { "a", "b" }, "", "ab" },
        { { "", "", "" }, ",", ",," },
        { { "", "b" }, ",", ",b" },
};

START_TEST(join) {
        _cleanup_free_ char *joined = NULL;

        ck_assert_int_eq(strv_join((char *const *) joins[_i].words, joins[_i].separator, &joined), 0);
        ck_assert_str_eq(joined, joins[_i].joined);
}
END_TEST

static const struct {
        const char *patterns[3];
        const char *s;
        bool matches;
} globs[] = {
        { { NULL }, "a", false },
        { { "a" }, "a", true },
        { { "a" }, "A", false },
        { { "a" }, "ab", false },
        { { "" }, "", true },
        { { "" }, "a", false },
        { { "*" }, "", true },
        { { "*" }, "a/b.c", true },
        { { "*" }, ".hidden", true },
        { { "x", "a?c" }, "abc", true },
        { { "a[0-9]", "b" }, "a7", true },
        { { "a[!0-9]" }, "a7", false },
        { { "card*" }, "renderD128", false },
        /* An unclosed bracket is an ordinary character. */
        { { "[" }, "[", true },
        { { "\\*" }, "*", true },
        { { "\\*" }, "a", false },
};

START_TEST(fnmatch_any) {
        ck_assert(strv_fnmatch((char *const *) globs[_i].patterns, globs[_i].s) == globs[_i].matches);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("strv");
        TCase *tcase = tcase_create("strv");

        tcase_add_test(tcase, an_absent_list_is_empty);
        tcase_add_test(tcase, extend_copies_and_keeps_order);
        tcase_add_test(tcase, consume_owns_the_string);
        tcase_add_test(tcase, extend_without_memory_changes_nothing);
        tcase_add_loop_test(tcase, split, 0, ELEMENTSOF(splits));
        tcase_add_test(tcase, split_without_memory);
        tcase_add_loop_test(tcase, join, 0, ELEMENTSOF(joins));
        tcase_add_loop_test(tcase, fnmatch_any, 0, ELEMENTSOF(globs));
        suite_add_tcase(suite, tcase);
        return test_run(suite);
}
