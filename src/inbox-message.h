/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "milestone.h"
#include "strv.h"
#include "util.h"

/* One datagram of the inbox, in the format of sd_notify(3): text -> what it says. Who sent it, and whether
 * they may, is not decided here. */

#define INBOX_MESSAGE_MAX (16U * 1024U) /* bytes; a larger datagram is refused whole */

typedef struct InboxMessage {
        char **milestones; /* X_RCU_MILESTONE=, valid names only, in order */
        char **units;      /* X_SYSTEMD_UNIT_ACTIVE=, valid names of units only, in order */
        bool ready;        /* READY=1 */
        bool end;          /* X_RCU_BOOT_END=1 */
        char *reason;      /* X_RCU_REASON=, the last one; control characters made '?', cut at a character's
                              edge to REASON_TEXT_MAX - 1 bytes; NULL if there is none or it is empty */
        bool extend;
        usec_t extend_by; /* X_RCU_BOOT_EXTEND_MS=, plain decimal digits, 1 to 3600000; the largest one */
        bool barrier;     /* BARRIER=1 */
} InboxMessage;

/* Frees what it holds, and leaves it empty. */
void inbox_message_done(InboxMessage *m);

/* -EBADMSG: embedded NUL, invalid UTF-8, or a field of ours with a value that is not one; -E2BIG: too large;
 * *ret_what then says which, a constant string. -ENOMEM. Empty lines, lines without "=" and the fields of
 * others are ignored, values of systemd's fields that are none are ignored too, one NUL at the very end is
 * forgiven; an empty datagram is valid and says nothing. *ret is empty on failure. */
int inbox_message_parse(const char *text, size_t size, InboxMessage *ret, const char **ret_what);
