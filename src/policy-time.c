/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy-internal.h"

#include <errno.h>
#include <inttypes.h>

#define BLANKS " \t"
#define DIGITS "0123456789"

/* The units of systemd.time(7) that a boot can be measured in. The longer of two that begin alike comes
 * first. */
static const struct {
        const char *name;
        usec_t usec;
} units[] = {
        { "microseconds", 1 },
        { "microsecond", 1 },
        { "usec", 1 },
        { "us", 1 },
        { "milliseconds", USEC_PER_MSEC },
        { "millisecond", USEC_PER_MSEC },
        { "msec", USEC_PER_MSEC },
        { "ms", USEC_PER_MSEC },
        { "seconds", USEC_PER_SEC },
        { "second", USEC_PER_SEC },
        { "sec", USEC_PER_SEC },
        { "s", USEC_PER_SEC },
        { "minutes", 60 * USEC_PER_SEC },
        { "minute", 60 * USEC_PER_SEC },
        { "min", 60 * USEC_PER_SEC },
        { "m", 60 * USEC_PER_SEC },
        { "hours", 3600 * USEC_PER_SEC },
        { "hour", 3600 * USEC_PER_SEC },
        { "hr", 3600 * USEC_PER_SEC },
        { "h", 3600 * USEC_PER_SEC },
};

/* One number and its unit, as they stand in the text. */
typedef struct Term {
        const char *whole;
        size_t n_whole; /* digits */
        const char *fraction;
        size_t n_fraction;
        usec_t unit; /* 0: none is named */
} Term;

/* Moves *s behind a unit's name; 0 if none stands there. Whatever follows must be another term. */
static usec_t take_unit(const char **s) {
        if (**s < 'a' || **s > 'z')
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                const char *rest = startswith(*s, units[i].name);

                if (rest) {
                        *s = rest;
                        return units[i].usec;
                }
        }
        return 0;
}

static int take_term(const char **s, Term *ret) {
        Term t = { .whole = *s, .n_whole = strspn(*s, DIGITS) };
        const char *p = *s + t.n_whole;

        if (*p == '.') {
                t.fraction = p + 1;
                t.n_fraction = strspn(t.fraction, DIGITS);
                if (t.n_fraction == 0)
                        return -EINVAL;
                p = t.fraction + t.n_fraction;
        } else if (t.n_whole == 0)
                return -EINVAL;

        p += strspn(p, BLANKS);
        t.unit = take_unit(&p);
        /* Without a unit it is seconds, and the last: "1min 30", but not "1 30". */
        if (t.unit == 0 && *p != '\0')
                return -EINVAL;
        *s = p + strspn(p, BLANKS);
        *ret = t;
        return 0;
}

/* Whether the sum fits. What is smaller than a microsecond is dropped. */
static bool add_term(const Term *t, usec_t *sum) {
        usec_t unit = t->unit > 0 ? t->unit : USEC_PER_SEC, whole = 0, scale = unit / 10;

        for (size_t i = 0; i < t->n_whole; i++)
                if (__builtin_mul_overflow(whole, 10, &whole) ||
                                __builtin_add_overflow(whole, (usec_t) (t->whole[i] - '0'), &whole))
                        return false;
        if (__builtin_mul_overflow(whole, unit, &whole) || __builtin_add_overflow(*sum, whole, sum))
                return false;

        for (size_t i = 0; i < t->n_fraction; i++, scale /= 10)
                if (__builtin_add_overflow(*sum, (usec_t) (t->fraction[i] - '0') * scale, sum))
                        return false;
        return *sum < USEC_INFINITY;
}

int policy_parse_sec(const char *s, usec_t *ret) {
        usec_t sum = 0;
        bool fits = true;

        s += strspn(s, BLANKS);
        if (streq(s, "infinity")) {
                *ret = USEC_INFINITY;
                return 0;
        }
        if (*s == '\0')
                return -EINVAL;

        while (*s) {
                Term t;
                int r = take_term(&s, &t);

                if (r < 0)
                        return r;
                fits = fits && add_term(&t, &sum);
        }
        if (!fits)
                return -ERANGE;
        *ret = sum;
        return 0;
}

const char *policy_format_sec(usec_t t, char *buf) {
        int n;

        if (t == USEC_INFINITY)
                return strcpy(buf, "infinity");

        n = snprintf(buf, POLICY_SEC_MAX, "%" PRIu64 ".%06" PRIu64, t / USEC_PER_SEC, t % USEC_PER_SEC);
        while (buf[n - 1] == '0')
                n--;
        if (buf[n - 1] == '.')
                n--;
        strcpy(buf + n, "s");
        return buf;
}
