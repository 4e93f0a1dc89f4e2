/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "strv.h"

#include <errno.h>
#include <fnmatch.h>

#define WHITESPACE " \t\n\r"

char **strv_free(char **l) {
        if (!l)
                return NULL;

        for (char **i = l; *i; i++)
                free(*i);
        free(l);
        return NULL;
}

size_t strv_length(char *const *l) {
        size_t n = 0;

        if (l)
                while (l[n])
                        n++;
        return n;
}

bool strv_contains(char *const *l, const char *s) {
        if (l)
                for (char *const *i = l; *i; i++)
                        if (streq(*i, s))
                                return true;
        return false;
}

int strv_extend(char ***l, const char *s) {
        return strv_consume(l, strdup(s));
}

int strv_consume(char ***l, char *s) {
        size_t n = strv_length(*l);
        char **grown;

        if (!s)
                return -ENOMEM;

        grown = reallocarray(*l, n + 2, sizeof(char *));
        if (!grown) {
                free(s);
                return -ENOMEM;
        }

        grown[n] = s;
        grown[n + 1] = NULL;
        *l = grown;
        return 0;
}

/* Copies the word at *p to the buffer, its quotes and escapes undone, and moves *p behind it. */
static int unquote_word(const char **p, char *buf) {
        char quote = '\0';
        const char *s = *p;

        for (; *s; s++) {
                if (*s == '\\') {
                        if (*++s == '\0')
                                return -EINVAL;
                        *buf++ = *s;
                } else if (quote && *s == quote)
                        quote = '\0';
                else if (!quote && (*s == '"' || *s == '\''))
                        quote = *s;
                else if (!quote && strchr(WHITESPACE, *s))
                        break;
                else
                        *buf++ = *s;
        }

        if (quote)
                return -EINVAL;

        *buf = '\0';
        *p = s;
        return 0;
}

int strv_split(const char *s, char ***ret) {
        _cleanup_strv_free_ char **l = NULL;
        _cleanup_free_ char *buf = NULL;
        int r;

        /* No word is longer than the whole. */
        buf = malloc(strlen(s) + 1);
        if (!buf)
                return -ENOMEM;

        for (;;) {
                s += strspn(s, WHITESPACE);
                if (*s == '\0')
                        break;

                r = unquote_word(&s, buf);
                if (r < 0)
                        return r;

                r = strv_extend(&l, buf);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(l);
        return 0;
}

int strv_join(char *const *l, const char *separator, char **ret) {
        size_t size = 1, separator_size = strlen(separator);
        char *joined, *p;

        if (l)
                for (char *const *i = l; *i; i++)
                        size += strlen(*i) + (i > l ? separator_size : 0);

        p = joined = malloc(size);
        if (!joined)
                return -ENOMEM;

        *p = '\0';
        if (l)
                for (char *const *i = l; *i; i++) {
                        if (i > l)
                                p = stpcpy(p, separator);
                        p = stpcpy(p, *i);
                }

        *ret = joined;
        return 0;
}

bool strv_fnmatch(char *const *patterns, const char *s) {
        if (patterns)
                for (char *const *i = patterns; *i; i++)
                        if (fnmatch(*i, s, 0) == 0)
                                return true;
        return false;
}
