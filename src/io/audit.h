/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "audit-entry.h"

/* The audit trail: each transition one structured entry in the journal; where there is no journal, one line
 * in the kernel's log. */

typedef struct Audit Audit;

/* foreground: also one line each on standard error. Where root_fd is not the running machine's root, nothing
 * goes to the journal. -ENOMEM. */
int audit_open(int root_fd, bool foreground, Audit **ret);
Audit *audit_free(Audit *a);
DEFINE_TRIVIAL_CLEANUP_FUNC(Audit *, audit_free);

/* An entry that the machine asked for. The context's knob_path is found here. */
void audit_transition(Audit *a, const BootRecord *record, const BootAction *action, AuditContext context);

/* A policy file that was skipped, with its faults. */
void audit_policy_rejected(Audit *a, const char *path, char *const *errors);

/* A message that was refused: what it asked, and why not. suppressed: others since the last entry, of which
 * only the number is told (inbox.h limits them). */
void audit_refused(Audit *a, const char *what, const MessageSender *sender, unsigned suppressed);

void audit_device_uninitialized(Audit *a, const char *milestone, const char *syspath);

/* Anything else worth a line: priority as syslog(3). */
void audit_log(Audit *a, int priority, const char *format, ...) _printf_(3, 4);
