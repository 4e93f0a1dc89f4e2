/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "strv.h"
#include "util.h"

/* A policy's [Match] section against plain facts about the machine. Conventions of systemd.link(5): keys are
 * ANDed, a list's items ORed, globs allowed, a leading "!" negates the list. */

/* The fields, and what is known for each: the values that a pattern may match any of. */
typedef enum MatchField {
        MATCH_CLASS,          /* what the administrator set */
        MATCH_CHASSIS,        /* one of hostnamectl(1)'s words */
        MATCH_VIRTUALIZATION, /* "no"; or "yes", "vm" or "container", and systemd-detect-virt(1)'s word */
        MATCH_PREEMPTION,     /* "rt", "dynamic", "full", "voluntary", "none", "lazy" */
        MATCH_VENDOR,         /* of the system, from DMI */
        MATCH_PRODUCT,        /* likewise */
        MATCH_DEVICETREE,     /* the root node's compatible strings */
        MATCH_OS,             /* ID, each of ID_LIKE, VARIANT_ID of os-release(5) */
        MATCH_ARCHITECTURE,   /* as systemd.unit(5) spells it in ConditionArchitecture= */
        MATCH_KERNEL_COMMAND_LINE, /* each word; and for KEY=VALUE the bare KEY too */
        MATCH_CPUS,                /* one decimal number: CPUs present */
        MATCH_DEVICE,              /* "SUBSYSTEM" and "SUBSYSTEM:PROPERTY=VALUE" */
        _MATCH_FIELD_MAX,
} MatchField;

/* NULL where nothing is known: then no pattern matches, not even "*", and a negated list does. */
typedef struct MachineFacts {
        char **values[_MATCH_FIELD_MAX];
} MachineFacts;

typedef struct MatchRule {
        bool set;
        bool negate;
        char **patterns;
        char *file; /* where the key stands, for explanations */
        unsigned line;
} MatchRule;

typedef struct Match {
        MatchRule rules[_MATCH_FIELD_MAX];
} Match;

typedef struct MatchVerdict {
        bool matched;
        bool by_class;    /* decided by the class that the administrator set */
        MatchField field; /* unless matched: the first key, in order of the enum, that did not hold */
} MatchVerdict;

void machine_facts_done(MachineFacts *facts);
void match_done(Match *match);

const char *match_field_to_string(MatchField f) _const_; /* "Chassis", as in the file */

/* Sets the rule from a key's value. -EINVAL: empty, unbalanced quotes, bad CPUs= or Device= expression;
 * -ENOMEM. */
int match_set_rule(Match *match, MatchField field, const char *value, const char *file, unsigned line);

/* The fields that any rule uses, a bit (1U << field) each: what the machine must be asked for. */
uint32_t match_fields(const Match *match);

/* Whether the policy holds for the machine. Where the administrator set a class, that alone decides: a
 * policy matches if its Class= names it, or if it has no [Match] at all. Where none is set, Class= decides
 * nothing if there are other keys, and a [Match] that has only Class= does not match. */
void match_evaluate(const Match *match, const MachineFacts *facts, MatchVerdict *ret);
