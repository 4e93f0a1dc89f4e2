/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Points in time are microseconds since the kernel started, time asleep included (CLOCK_BOOTTIME): the clock
 * that the kernel's own rcu_boot_end_delay counts by, and one that nobody can step. */
typedef uint64_t usec_t;

#define USEC_INFINITY ((usec_t) UINT64_MAX)
#define USEC_PER_SEC ((usec_t) 1000000)
#define USEC_PER_MSEC ((usec_t) 1000)
#define NSEC_PER_USEC 1000L

#define ELEMENTSOF(x) (sizeof(x) / sizeof((x)[0]))
#define STRLEN(s) (sizeof(s) - 1)
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))
#define _unused_ __attribute__((unused))
#define _const_ __attribute__((const))
#define _pure_ __attribute__((pure))
#define _noreturn_ __attribute__((noreturn))
#define _fallthrough_ __attribute__((fallthrough))

/* Defines NAMEp() for use with _cleanup_(): calls FUNC on the variable unless it is NULL. */
#define DEFINE_TRIVIAL_CLEANUP_FUNC(type, func) \
        static inline void func##p(type *p) {   \
                if (*p)                         \
                        func(*p);               \
        }                                       \
        struct rcu_bootd_useless_semicolon

static inline void freep(void *p) {
        free(*(void **) p);
}

static inline void fclosep(FILE **f) {
        if (*f)
                fclose(*f);
}

static inline void closep(int *fd) {
        if (*fd >= 0)
                close(*fd);
}

#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_fclose_ _cleanup_(fclosep)
#define _cleanup_close_ _cleanup_(closep)

/* Hands ownership of a _cleanup_ variable to the caller. */
#define TAKE_GENERIC(var, nullvalue)                      \
        ({                                                \
                __typeof__(var) *_pp = &(var), _v = *_pp; \
                *_pp = (nullvalue);                       \
                _v;                                       \
        })
#define TAKE_PTR(p) TAKE_GENERIC(p, NULL)
#define TAKE_FD(fd) TAKE_GENERIC(fd, -1)

static inline bool streq(const char *a, const char *b) {
        return strcmp(a, b) == 0;
}

static inline bool isempty(const char *s) {
        return !s || s[0] == '\0';
}

static inline const char *strempty(const char *s) {
        return s ? s : "";
}

/* The rest of s behind prefix, or NULL if s does not begin with it. */
static inline const char *startswith(const char *s, const char *prefix) {
        size_t l = strlen(prefix);

        return strncmp(s, prefix, l) == 0 ? s + l : NULL;
}

static inline bool endswith(const char *s, const char *suffix) {
        size_t l = strlen(s), k = strlen(suffix);

        return l >= k && streq(s + l - k, suffix);
}
