/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* Lists of strings: arrays that end in NULL. A NULL array is an empty list. */

/* Frees the list and its strings; NULL is fine. Returns NULL. */
char **strv_free(char **l);
DEFINE_TRIVIAL_CLEANUP_FUNC(char **, strv_free);
#define _cleanup_strv_free_ _cleanup_(strv_freep)

size_t strv_length(char *const *l);
bool strv_contains(char *const *l, const char *s);

/* Appends a copy of s. -ENOMEM. */
int strv_extend(char ***l, const char *s);

/* Appends s itself and takes ownership of it, also on failure. NULL is taken for the failed allocation of
 * its caller. -ENOMEM. */
int strv_consume(char ***l, char *s);

/* Splits at white space as systemd.syntax(7) does: "..." and '...' keep blanks, \ escapes the next
 * character. -EINVAL where a quote is left open or a \ is
 * the last character; -ENOMEM. *ret is NULL if there is no word. */
int strv_split(const char *s, char ***ret);

/* The strings with separator between them, never NULL on success. -ENOMEM. */
int strv_join(char *const *l, const char *separator, char **ret);

/* Whether any pattern (glob(7), as fnmatch(3) without flags) matches s. */
bool strv_fnmatch(char *const *patterns, const char *s);
