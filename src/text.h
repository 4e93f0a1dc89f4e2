/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* Text that is put together piece by piece. What stdio does for memory streams costs three times as much:
 * the state file is written several times while a machine boots. The first failure sticks, so that one look
 * at the end, in text_finish(), will do. */
typedef struct Text {
        char *buf; /* not terminated */
        size_t size;
        size_t room;
        bool failed; /* there was no memory */
} Text;

void text_done(Text *t);

void text_put(Text *t, const char *s);
void text_put_unsigned(Text *t, uint64_t v);
void text_put_signed(Text *t, int64_t v);

/* The same bytes, with '?' for each that is a control character: text of foreign origin that must not end a
 * line, nor drive a terminal. */
void text_put_plain(Text *t, const char *s);

/* Hands out the text, NUL-terminated; t is empty again. -ENOMEM. */
int text_finish(Text *t, char **ret);
