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
        char **units;      /* X_SYSTEMD_UNIT_ACTIVE= */
        bool ready;        /* READY=1 */
        bool end;          /* X_RCU_BOOT_END=1 */
        char *reason;      /* X_RCU_REASON=, control characters made '?', cut at a character's edge to
                              REASON_TEXT_MAX - 1 */
        bool extend;
        usec_t extend_by; /* X_RCU_BOOT_EXTEND_MS= */
        bool barrier;     /* BARRIER=1 */
} InboxMessage;

void inbox_message_done(InboxMessage *m);

/* -EBADMSG: embedded NUL, invalid UTF-8, or a field of ours with a value that is not one (*ret_what then
 * says which, a constant string); -E2BIG: too large; -ENOMEM. Empty lines and lines without "=" and fields
 * of others are ignored, an empty datagram is valid and says nothing. *ret is empty on failure. */
int inbox_message_parse(const char *text, size_t size, InboxMessage *ret, const char **ret_what);
