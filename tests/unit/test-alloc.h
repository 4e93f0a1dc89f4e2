/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

#include <limits.h>

/* Makes memory run out: the program's own strdup(), strndup() and reallocarray(), which take the place of
 * libc's at link time. (Not malloc() itself: that name is AddressSanitizer's.) With AddressSanitizer, a test
 * that lets each allocation fail in turn also shows that no failure leaks.
 *
 *     for (unsigned n = 0;; n++) {
 *             test_alloc_left = n;
 *             r = call();
 *             test_alloc_left = UINT_MAX;
 *             if (r != -ENOMEM)
 *                     break;
 *     }
 */
static unsigned test_alloc_left = UINT_MAX;

static bool test_alloc_fails(void) {
        if (test_alloc_left == UINT_MAX)
                return false;
        if (test_alloc_left == 0)
                return true;

        test_alloc_left--;
        return false;
}

static char *test_alloc_copy(const char *s, size_t length) {
        char *copy = test_alloc_fails() ? NULL : malloc(length + 1);

        if (!copy)
                return NULL;

        memcpy(copy, s, length);
        copy[length] = '\0';
        return copy;
}

char *strdup(const char *s) {
        return test_alloc_copy(s, strlen(s));
}

char *strndup(const char *s, size_t n) {
        return test_alloc_copy(s, strnlen(s, n));
}

void *reallocarray(void *p, size_t n, size_t size) {
        return test_alloc_fails() ? NULL : realloc(p, n * size);
}
