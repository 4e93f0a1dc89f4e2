/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "audit-entry.h"

/* The wording of a transition's entry: one calm line for people. */
void audit_message_put(AuditEntry *e,
                const BootRecord *record,
                const BootAction *action,
                const AuditContext *context);

void audit_message_put_sender(AuditEntry *e, const MessageSender *sender);

void audit_message_put_jobs(AuditEntry *e, char *const *jobs, const char *separator);

/* The sender that this kind of entry tells of, NULL if none: who brought the last milestone has not thereby
 * asked for the end of boot. */
const MessageSender *audit_message_sender(
                const BootRecord *record, const BootAction *action, const AuditContext *context);

/* What the knob said before the write, as far as that is known: for [After], what [During] left. */
bool audit_message_value_before(const KnobRecord *k, KnobStage stage, int64_t *ret);
