/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "knob.h"
#include "match.h"
#include "milestone.h"
#include "strv.h"
#include "util.h"

/* Policy text -> validated policy. Pure: the files have been read before. rcu-boot-policy(5) is the
 * contract. */

#define POLICY_LINE_MAX 4096U          /* bytes; a longer line is refused, never cut */
#define POLICY_SIZE_MAX (256U * 1024U) /* bytes of one file */
#define POLICY_DEADLINE_MAX_USEC (3600 * USEC_PER_SEC)

/* One file's text: the main file first, then its drop-ins in order. */
typedef struct PolicyText {
        const char *path; /* for messages and origins, as a person would type it */
        const char *text; /* need not end in NUL */
        size_t size;
} PolicyText;

/* Where a value came from. */
typedef struct PolicyOrigin {
        char *file; /* NULL: nowhere, the built-in default */
        unsigned line;
} PolicyOrigin;

typedef struct PolicyKnob {
        KnobSetting setting[_KNOB_STAGE_MAX];
        PolicyOrigin origin[_KNOB_STAGE_MAX];
} PolicyKnob;

typedef struct Policy {
        char *name; /* "50-laptop.policy" */
        char *path; /* of the main file */
        Match match;
        MilestoneCondition end_when;
        PolicyOrigin end_when_origin[ALTERNATIVES_MAX];
        usec_t not_before; /* since the kernel started; 0 unless set */
        PolicyOrigin not_before_origin;
        usec_t deadline; /* since the kernel started; 120 s unless set, 0 < deadline <=
                            POLICY_DEADLINE_MAX_USEC */
        PolicyOrigin deadline_origin;
        char **allow_users; /* names or numeric uids, not resolved */
        PolicyOrigin allow_users_origin;
        PolicyKnob knobs[_KNOB_MAX];
} Policy;

Policy *policy_free(Policy *p);
DEFINE_TRIVIAL_CLEANUP_FUNC(Policy *, policy_free);

/* Parses and validates. name: the main file's name. All faults are collected, one "FILE:LINE: reason" (or
 * "FILE: reason") each, into *ret_errors, which is set in every case and is empty on success. -EBADMSG: at
 * least one fault, no policy; -ENOMEM. A drop-in's key replaces the main file's, except that EndWhen= adds
 * an alternative, and an empty EndWhen= or AllowUsers= drops what came before (systemd.syntax(7)). In one
 * file a key may be there once, EndWhen= apart. */
int policy_parse(
                const char *name, const PolicyText *texts, size_t n_texts, Policy **ret, char ***ret_errors);

/* Parses a time span: numbers, with fractions if need be, and the units of systemd.time(7) up to hours, long
 * names included ("1min 30s", "2 minutes", "500ms"); a number without a unit is in seconds, and the last.
 * "infinity" gives USEC_INFINITY. What is below a microsecond is dropped. -EINVAL: none of that; -ERANGE:
 * USEC_INFINITY or more. */
int policy_parse_sec(const char *s, usec_t *ret);
