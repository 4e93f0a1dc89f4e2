/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* The bytes of the character at s, 0 if it is not well-formed UTF-8 (RFC 3629, section 4). s ends in NUL,
 * and is read no further. */
size_t utf8_length(const char *s) _pure_;

/* Whether a terminal might obey the character: C0 (tab included), DEL, and C1 (U+0080 to U+009F). */
bool utf8_is_control(const char *s) _pure_;
