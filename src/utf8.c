/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "utf8.h"

static bool in_range(char c, unsigned char min, unsigned char max) {
        return (unsigned char) c >= min && (unsigned char) c <= max;
}

size_t utf8_length(const char *s) {
        /* The second byte's range keeps out overlong forms, surrogates and what is above U+10FFFF. */
        unsigned char first = (unsigned char) s[0], min = 0x80, max = 0xbf;
        size_t n;

        if (first < 0x80)
                return 1;
        if (first < 0xc2 || first > 0xf4)
                return 0;
        n = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

        if (first == 0xe0)
                min = 0xa0;
        else if (first == 0xed)
                max = 0x9f;
        else if (first == 0xf0)
                min = 0x90;
        else if (first == 0xf4)
                max = 0x8f;
        if (!in_range(s[1], min, max))
                return 0;
        for (size_t i = 2; i < n; i++)
                if (!in_range(s[i], 0x80, 0xbf))
                        return 0;
        return n;
}

bool utf8_is_control(const char *s) {
        return in_range(s[0], 0, 0x1f) || s[0] == 0x7f ||
                        (in_range(s[0], 0xc2, 0xc2) && in_range(s[1], 0x80, 0x9f));
}
