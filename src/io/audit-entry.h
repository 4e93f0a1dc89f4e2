/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "boot-phase.h"

#include <stdarg.h>
#include <sys/types.h>

/* The entries of the audit trail, as text: no I/O, no allocation, no failure. */

/* Bytes of MESSAGE=, and of any other value, at most: the longest of those is a list of all milestones. */
#define AUDIT_MESSAGE_MAX 4000U
#define AUDIT_VALUE_MAX 8192U
/* Of an entry: MESSAGE, four values of any length, and a dozen short ones fit. */
#define AUDIT_ENTRY_MAX (64U * 1024U)

/* FIELD=value lines, MESSAGE= first. No value contains a control character, so that none can bring a line of
 * its own, and none can drive a terminal. */
typedef struct AuditEntry {
        int priority; /* as syslog(3) */
        size_t size;  /* of text, which does not end in NUL */
        size_t limit; /* where the value that is being written ends at the latest */
        bool cut;     /* and that it was longer */
        char text[AUDIT_ENTRY_MAX];
} AuditEntry;

/* now: CLOCK_BOOTTIME in usec. knob_path: of the action's knob, below the root; NULL if not known. jobs: for
 * BOOT_AUDIT_DEADLINE; may be NULL. */
void audit_entry_transition(AuditEntry *e,
                const BootRecord *record,
                const BootAction *action,
                usec_t now,
                const char *knob_path,
                char *const *jobs);
void audit_entry_policy_rejected(AuditEntry *e, const char *path, char *const *errors, usec_t now);

/* pid: 0 if the sender is outside our pid namespace. suppressed: refused since the last entry of the kind,
 * and not told of. */
void audit_entry_refused(
                AuditEntry *e, const char *what, pid_t pid, uid_t uid, unsigned suppressed, usec_t now);
void audit_entry_device_uninitialized(AuditEntry *e, const char *milestone, const char *syspath, usec_t now);
void audit_entry_log(AuditEntry *e, int priority, usec_t now, const char *format, va_list ap) _printf_(4, 0);

/* The value of MESSAGE=, which ends at *ret_size and not with a NUL. */
const char *audit_entry_message(const AuditEntry *e, size_t *ret_size);
