/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "text.h"

#include <errno.h>

/* What most state files fit into. */
#define ROOM_MIN 1024U

void text_done(Text *t) {
        free(t->buf);
        *t = (Text){};
}

/* Where n more bytes go, or NULL. */
static char *grow(Text *t, size_t n) {
        size_t room = MAX(t->room, ROOM_MIN);
        char *bigger;

        if (t->failed)
                return NULL;
        if (n > t->room - t->size) {
                while (n > room - t->size)
                        room *= 2;
                bigger = reallocarray(t->buf, room, 1);
                if (!bigger) {
                        t->failed = true;
                        return NULL;
                }
                t->buf = bigger;
                t->room = room;
        }
        t->size += n;
        return t->buf + t->size - n;
}

static void put_bytes(Text *t, const char *s, size_t n) {
        char *p = grow(t, n);

        if (p)
                memcpy(p, s, n);
}

void text_put(Text *t, const char *s) {
        put_bytes(t, s, strlen(s));
}

static void put_number(Text *t, uint64_t v, bool negative) {
        char digits[STRLEN("-18446744073709551615")], *p = digits + sizeof(digits);

        do
                *--p = (char) ('0' + v % 10);
        while ((v /= 10) > 0);
        if (negative)
                *--p = '-';
        put_bytes(t, p, (size_t) (digits + sizeof(digits) - p));
}

void text_put_unsigned(Text *t, uint64_t v) {
        put_number(t, v, false);
}

void text_put_signed(Text *t, int64_t v) {
        /* Not -v: the smallest number has no counterpart. */
        put_number(t, v < 0 ? -(uint64_t) v : (uint64_t) v, v < 0);
}

void text_put_plain(Text *t, const char *s) {
        size_t n = strlen(s);
        char *p = grow(t, n);

        for (size_t i = 0; p && i < n; i++)
                p[i] = (unsigned char) s[i] < ' ' || s[i] == 0x7f ? '?' : s[i];
}

int text_finish(Text *t, char **ret) {
        put_bytes(t, "", 1);
        if (t->failed) {
                text_done(t);
                return -ENOMEM;
        }

        *ret = TAKE_PTR(t->buf);
        *t = (Text){};
        return 0;
}
