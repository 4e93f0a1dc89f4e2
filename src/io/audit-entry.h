/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "boot-phase.h"
#include "message-sender.h"

#include <stdarg.h>

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

/* What an entry tells that is neither in the record nor in the action. */
typedef struct AuditContext {
        usec_t now;                  /* CLOCK_BOOTTIME */
        const MessageSender *sender; /* whose message brought it about; NULL if it was none */
        char *const *jobs;           /* pending ones, for BOOT_AUDIT_DEADLINE; may be NULL */
        const char *knob_path;       /* of the action's knob, below the root; NULL if not known */
} AuditContext;

void audit_entry_transition(AuditEntry *e,
                const BootRecord *record,
                const BootAction *action,
                const AuditContext *context);
/* now: CLOCK_BOOTTIME in usec, here and below. */
void audit_entry_policy_rejected(AuditEntry *e, const char *path, char *const *errors, usec_t now);

/* suppressed: refused since the last entry of the kind, and not told of. */
void audit_entry_refused(AuditEntry *e,
                const char *what,
                const MessageSender *sender,
                unsigned suppressed,
                usec_t now);
void audit_entry_device_uninitialized(AuditEntry *e, const char *milestone, const char *syspath, usec_t now);
void audit_entry_log(AuditEntry *e, int priority, usec_t now, const char *format, va_list ap) _printf_(4, 0);

/* The value of MESSAGE=, which ends at *ret_size and not with a NUL. */
const char *audit_entry_message(const AuditEntry *e, size_t *ret_size);
