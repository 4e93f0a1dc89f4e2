/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "audit-entry.h"

/* The wording of a transition's entry: one calm line for people. */
void audit_message_put(AuditEntry *e, const BootRecord *record, const BootAction *action, char *const *jobs);

void audit_message_put_jobs(AuditEntry *e, char *const *jobs, const char *separator);

/* What the knob said before the write, as far as that is known: for [After], what [During] left. */
bool audit_message_value_before(const KnobRecord *k, KnobStage stage, int64_t *ret);
