/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "boot-phase.h"

/* The text of /run/rcu-bootd/state: KEY=value lines, documented in rcu-bootd(8), STATE FILE. Values run to
 * the end of the line; there is no quoting. */

#define STATE_SIZE_MAX (64U * 1024U)

/* -ENOMEM. */
int state_format(const BootRecord *record, char **ret);

/* Strict: a text that was cut, or in which a needed key is missing, twice there or out of range, is not
 * half-used; unknown keys are skipped, so that a newer daemon's file can be read. -EBADMSG; -ENOMEM. */
int state_parse(const char *text, size_t size, BootRecord *ret);
