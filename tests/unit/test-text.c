/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "text.h"

#include <errno.h>

#include "test-alloc.h"
#include "test-util.h"

START_TEST(pieces_in_their_order) {
        _cleanup_(text_done) Text t = {};
        _cleanup_free_ char *text = NULL;

        text_put(&t, "A=");
        text_put_unsigned(&t, 42);
        text_put(&t, "");
        text_put(&t, " B=");
        text_put_signed(&t, -7);
        text_put(&t, "\n");
        ck_assert_int_eq(text_finish(&t, &text), 0);
        ck_assert_str_eq(text, "A=42 B=-7\n");
}
END_TEST

START_TEST(nothing_is_an_empty_text) {
        _cleanup_(text_done) Text t = {};
        _cleanup_free_ char *text = NULL;

        ck_assert_int_eq(text_finish(&t, &text), 0);
        ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(can_be_used_again) {
        _cleanup_(text_done) Text t = {};
        _cleanup_free_ char *first = NULL, *second = NULL;

        text_put(&t, "first");
        ck_assert_int_eq(text_finish(&t, &first), 0);
        text_put(&t, "second");
        ck_assert_int_eq(text_finish(&t, &second), 0);
        ck_assert_str_eq(first, "first");
        ck_assert_str_eq(second, "second");
}
END_TEST

static const int64_t numbers[] = { 0, 1, 9, 10, 99, 100, 4294967296, INT64_MAX, -1, -10, INT64_MIN };

START_TEST(numbers_as_printf_has_them) {
        _cleanup_(text_done) Text t = {};
        _cleanup_free_ char *text = NULL, *expected = NULL;
        int64_t v = numbers[_i];

        text_put_signed(&t, v);
        text_put(&t, " ");
        text_put_unsigned(&t, (uint64_t) v);
        ck_assert_int_eq(text_finish(&t, &text), 0);
        ck_assert_int_ge(asprintf(&expected, "%lld %llu", (long long) v, (unsigned long long) v), 0);
        ck_assert_str_eq(text, expected);
}
END_TEST

START_TEST(grows_as_need_be) {
        _cleanup_(text_done) Text t = {};
        _cleanup_free_ char *text = NULL, *big = malloc(100001);

        ck_assert_ptr_nonnull(big);
        memset(big, 'x', 100000);
        big[100000] = '\0';
        for (unsigned i = 0; i < 1000; i++)
                text_put(&t, "0123456789");
        text_put(&t, big);
        text_put(&t, "end");
        ck_assert_int_eq(text_finish(&t, &text), 0);
        ck_assert_uint_eq(strlen(text), 10000 + 100000 + 3);
        ck_assert_int_eq(strncmp(text + 9990, "0123456789xxx", 13), 0);
        ck_assert_str_eq(text + 110000, "end");
}
END_TEST

START_TEST(plain_text_has_no_control_characters) {
        _cleanup_(text_done) Text t = {};
        _cleanup_free_ char *text = NULL;

        text_put_plain(&t, "a\nb\tc\x1b[1m\x7f d\xc3\xa9");
        text_put_plain(&t, "");
        ck_assert_int_eq(text_finish(&t, &text), 0);
        ck_assert_str_eq(text, "a?b?c?[1m? d\xc3\xa9");
}
END_TEST

START_TEST(without_memory) {
        char *untouched = (char *) "untouched";

        for (unsigned n = 0; n < 2; n++) {
                _cleanup_(text_done) Text t = {};
                char *text = untouched;

                test_alloc_left = n;
                text_put(&t, "begin");
                for (unsigned i = 0; i < 1000; i++) {
                        text_put(&t, "0123456789");
                        text_put_plain(&t, "more");
                        text_put_unsigned(&t, i);
                }
                ck_assert_int_eq(text_finish(&t, &text), -ENOMEM);
                test_alloc_left = UINT_MAX;
                ck_assert_ptr_eq(text, untouched);

                /* It is as good as new. */
                text_put(&t, "again");
                ck_assert_int_eq(text_finish(&t, &text), 0);
                ck_assert_str_eq(text, "again");
                free(text);
        }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("text");
        TCase *tcase = tcase_create("text");

        tcase_add_test(tcase, pieces_in_their_order);
        tcase_add_test(tcase, nothing_is_an_empty_text);
        tcase_add_test(tcase, can_be_used_again);
        tcase_add_loop_test(tcase, numbers_as_printf_has_them, 0, ELEMENTSOF(numbers));
        tcase_add_test(tcase, grows_as_need_be);
        tcase_add_test(tcase, plain_text_has_no_control_characters);
        tcase_add_test(tcase, without_memory);
        suite_add_tcase(suite, tcase);
        return test_run(suite);
}
