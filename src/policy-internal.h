/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "policy.h"

/* What the files that make up policy_parse() share:
 *   policy-lines.c     text -> sections, keys and values; faults of form
 *   policy-keys.c      names of sections and keys
 *   policy-assign.c    one key's value -> the policy; faults of values
 *   policy-validate.c  what only shows when all has been read
 *   policy-time.c      time spans */

/* --- faults (policy.c) --- */

/* More faults than this in one policy tell nobody anything: it is no policy. */
#define POLICY_FAULTS_MAX 100U

typedef struct PolicyFaults {
        char **list;
        size_t n;
        int error; /* -ENOMEM, once there was no memory for a fault or a value */
        /* A line could not be read as anything: that a key is missing proves nothing any more. */
        bool incomplete;
} PolicyFaults;

/* Adds "PATH:LINE: ..."; without the line if it is 0. */
void policy_fault(PolicyFaults *f, const char *path, unsigned line, const char *format, ...) _printf_(4, 5);

/* The text as messages quote it: cut where it is too long to be read on one line. buf must hold
 * POLICY_EXCERPT_MAX bytes; returns buf. */
#define POLICY_EXCERPT_MAX 72U
const char *policy_excerpt(const char *text, char *buf);

/* --- names (policy-keys.c) --- */

typedef enum PolicySection {
        POLICY_SECTION_MATCH,
        POLICY_SECTION_BOOT,
        POLICY_SECTION_DURING,
        POLICY_SECTION_AFTER,
        _POLICY_SECTION_MAX,
        POLICY_SECTION_NONE,    /* before the first */
        POLICY_SECTION_UNKNOWN, /* one that we do not know */
} PolicySection;

/* Keys of [Boot]; those of [Match] are MatchFields, those of [During] and [After] Knobs. */
typedef enum PolicyBootKey {
        POLICY_BOOT_END_WHEN,
        POLICY_BOOT_NOT_BEFORE,
        POLICY_BOOT_DEADLINE,
        POLICY_BOOT_ALLOW_USERS,
        _POLICY_BOOT_KEY_MAX,
} PolicyBootKey;

#define POLICY_KEYS_MAX ((unsigned) _MATCH_FIELD_MAX)

const char *policy_section_to_string(PolicySection s) _const_;
PolicySection policy_section_from_string(const char *name) _pure_;

/* The name of the section's key i, NULL behind the last. */
const char *policy_key_to_string(PolicySection s, unsigned i) _const_;
/* Its number, or -ENOENT. */
int policy_key_from_string(PolicySection s, const char *name);

/* Not every knob may be named in both [During] and [After]. */
bool policy_key_has_place(PolicySection s, unsigned key) _pure_;

static inline bool policy_section_is_of_knobs(PolicySection s) {
        return s == POLICY_SECTION_DURING || s == POLICY_SECTION_AFTER;
}

/* A fault that names what there is, or what was probably meant. Returns the section that was meant, or
 * POLICY_SECTION_UNKNOWN. */
PolicySection policy_fault_unknown_section(
                PolicyFaults *f, const char *path, unsigned line, const char *name);
void policy_fault_unknown_key(
                PolicyFaults *f, const char *path, unsigned line, PolicySection section, const char *name);

/* "a, b or c" of the words of a NULL-terminated array. Returns buf. */
const char *policy_join_or(const char *const *words, char *buf, size_t size);

/* --- lines (policy-lines.c) --- */

typedef struct PolicyLine {
        PolicySection section; /* one of the four */
        const char *key;       /* as written; may be unknown */
        const char *value;     /* without blanks at its ends and without a comment behind it */
        unsigned number;
} PolicyLine;

typedef void (*policy_line_handler_t)(void *userdata, const PolicyLine *line);

/* Calls the handler for every well-formed KEY=VALUE; every other line that says something is a fault. */
void policy_lines_read(
                const PolicyText *text, PolicyFaults *faults, policy_line_handler_t handler, void *userdata);

/* --- values (policy-assign.c) --- */

typedef struct PolicyParser {
        Policy *policy;
        PolicyFaults faults;
        const PolicyText *text; /* that is being read */
        /* Where each key stands in this text; 0: not so far. */
        unsigned seen[_POLICY_SECTION_MAX][POLICY_KEYS_MAX];
        uint32_t named[_POLICY_SECTION_MAX]; /* keys named in any text, with a valid value or not: a bit each
                                              */
        const char *reset_path; /* the EndWhen= that dropped what came before it, if it is the last so far */
        unsigned reset_line;
} PolicyParser;

/* A policy_line_handler_t; userdata is a PolicyParser. */
void policy_assign(void *userdata, const PolicyLine *line);

void policy_origin_done(PolicyOrigin *o);

/* --- the whole (policy-validate.c) --- */

void policy_validate(PolicyParser *p);

/* --- time (policy-time.c) --- */

/* "90s", "1.5s", "infinity". buf must hold POLICY_SEC_MAX bytes; returns buf. */
#define POLICY_SEC_MAX 32U
const char *policy_format_sec(usec_t t, char *buf);
