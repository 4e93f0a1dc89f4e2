/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test-util.h"
#include "utf8.h"

typedef struct Utf8Case {
        const char *text;
        size_t length; /* of its first character; 0: none */
        bool control;
} Utf8Case;

static const Utf8Case cases[] = {
        { "a", 1, false },
        { " b", 1, false },
        { "~", 1, false },
        { "", 1, true },
        { "\t", 1, true },
        { "\x1b[2J", 1, true },
        { "\x1f", 1, true },
        { "\x7f", 1, true },
        /* The ends of each length's range, and what is just beyond. */
        { "\xc2\x80", 2, true },
        { "\xc2\x9f", 2, true },
        { "\xc2\xa0", 2, false },
        { "\xdf\xbfz", 2, false },
        { "\xe0\xa0\x80", 3, false },
        { "\xed\x9f\xbf", 3, false },
        { "\xee\x80\x80", 3, false },
        { "\xef\xbf\xbf", 3, false },
        { "\xf0\x90\x80\x80", 4, false },
        { "\xf4\x8f\xbf\xbf", 4, false },
        { "\x80", 0, false },
        { "\xbf", 0, false },
        { "\xc0\xaf", 0, false },     /* overlong "/" */
        { "\xc1\xbf", 0, false },     /* overlong */
        { "\xe0\x9f\xbf", 0, false }, /* overlong */
        { "\xed\xa0\x80", 0, false }, /* a surrogate */
        { "\xf0\x8f\xbf\xbf", 0, false },
        { "\xf4\x90\x80\x80", 0, false }, /* U+110000 */
        { "\xf5\x80\x80\x80", 0, false },
        { "\xff", 0, false },
        /* Cut off: read no further than the NUL. */
        { "\xc3", 0, false },
        { "\xe2\x82", 0, false },
        { "\xf0\x9f\x98", 0, false },
        { "\xc3("
          "\x80",
                        0, false },
        { "\xe2\x82"
          "a",
                        0, false },
};

START_TEST(test_character) {
        const Utf8Case *c = cases + _i;
        char *copy = strdup(c->text); /* a sanitizer sees one byte too many */

        ck_assert_uint_eq(utf8_length(copy), c->length);
        if (c->length > 0)
                ck_assert_int_eq(utf8_is_control(copy), c->control);
        free(copy);
}
END_TEST

static Suite *utf8_suite(void) {
        Suite *s = suite_create("utf8");
        TCase *t = tcase_create("utf8");

        tcase_add_loop_test(t, test_character, 0, (int) ELEMENTSOF(cases));
        suite_add_tcase(s, t);
        return s;
}

int main(void) {
        return test_run(utf8_suite());
}
