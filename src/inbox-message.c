/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inbox-message.h"

#include "boot-record.h"
#include "names.h"
#include "utf8.h"

#include <errno.h>

/* An hour: no deadline is ever later than that (policy.h), so no extension need be longer. */
#define EXTEND_MAX_MS 3600000U

typedef struct Field {
        const char *name;
        const char *fault; /* said when set() returns -EBADMSG */
        int (*set)(InboxMessage *m, const char *value);
} Field;

static int set_milestone(InboxMessage *m, const char *value) {
        if (!milestone_name_is_valid(value))
                return -EBADMSG;

        return strv_extend(&m->milestones, value);
}

static int set_unit(InboxMessage *m, const char *value) {
        /* systemd's field, not ours: what we do not understand in it is none of our business. */
        if (!milestone_name_is_valid(value) || milestone_kind(value) != MILESTONE_KIND_UNIT)
                return 0;

        return strv_extend(&m->units, value);
}

/* As systemd reads its own fields: READY=0 is no news, and no fault either. */
static int set_ready(InboxMessage *m, const char *value) {
        m->ready = m->ready || streq(value, "1");
        return 0;
}

static int set_barrier(InboxMessage *m, const char *value) {
        m->barrier = m->barrier || streq(value, "1");
        return 0;
}

static int set_end(InboxMessage *m, const char *value) {
        if (!streq(value, "1"))
                return -EBADMSG;

        m->end = true;
        return 0;
}

static bool text_is_valid(const char *s) {
        for (size_t n; *s; s += n) {
                n = utf8_length(s);
                if (n == 0)
                        return false;
        }

        return true;
}

static int set_reason(InboxMessage *m, const char *value) {
        char buf[REASON_TEXT_MAX], *reason = NULL;
        size_t used = 0;

        for (size_t length; *value; value += length) {
                const char *shown = value;
                size_t size;

                size = length = utf8_length(value);
                if (utf8_is_control(value)) {
                        shown = "?";
                        size = 1;
                }
                if (used + size >= sizeof(buf))
                        break;

                memcpy(buf + used, shown, size);
                used += size;
        }
        buf[used] = '\0';

        if (used > 0) {
                reason = strdup(buf);
                if (!reason)
                        return -ENOMEM;
        }

        free(m->reason);
        m->reason = reason;
        return 0;
}

static int set_extend(InboxMessage *m, const char *value) {
        usec_t ms = 0;

        /* By hand: strtoull() takes blanks and signs. The sum cannot overflow, as it is checked at each
         * digit. */
        if (isempty(value))
                return -EBADMSG;
        for (const char *p = value; *p; p++) {
                if (*p < '0' || *p > '9')
                        return -EBADMSG;

                ms = ms * 10 + (usec_t) (*p - '0');
                if (ms > EXTEND_MAX_MS)
                        return -EBADMSG;
        }
        if (ms == 0)
                return -EBADMSG;

        m->extend = true;
        m->extend_by = MAX(m->extend_by, ms * USEC_PER_MSEC);
        return 0;
}

static const Field fields[] = {
        { INBOX_UNIT_ACTIVE, NULL, set_unit },
        { INBOX_READY, NULL, set_ready },
        { INBOX_MILESTONE, INBOX_MILESTONE "= is no valid name of a milestone", set_milestone },
        { INBOX_BOOT_END, INBOX_BOOT_END "= is not 1", set_end },
        { INBOX_REASON, NULL, set_reason },
        { INBOX_EXTEND_MS, INBOX_EXTEND_MS "= is no number from 1 to 3600000", set_extend },
        { INBOX_BARRIER, NULL, set_barrier },
};

static int parse_line(InboxMessage *m, char *line, const char **ret_what) {
        char *equals = strchr(line, '=');
        int r;

        if (!equals)
                return 0;

        *equals = '\0';
        for (size_t i = 0; i < ELEMENTSOF(fields); i++)
                if (streq(line, fields[i].name)) {
                        r = fields[i].set(m, equals + 1);
                        if (r == -EBADMSG)
                                *ret_what = fields[i].fault;
                        return r;
                }

        return 0;
}

static int parse_text(InboxMessage *m, char *text, const char **ret_what) {
        char *next;
        int r;

        if (!text_is_valid(text)) {
                *ret_what = "invalid UTF-8";
                return -EBADMSG;
        }

        for (char *line = text; line; line = next) {
                next = strchr(line, '\n');
                if (next)
                        *next++ = '\0';

                r = parse_line(m, line, ret_what);
                if (r < 0)
                        return r;
        }

        return 0;
}

void inbox_message_done(InboxMessage *m) {
        m->milestones = strv_free(m->milestones);
        m->units = strv_free(m->units);
        free(m->reason);
        *m = (InboxMessage){};
}

int inbox_message_parse(const char *text, size_t size, InboxMessage *ret, const char **ret_what) {
        _cleanup_(inbox_message_done) InboxMessage m = {};
        _cleanup_free_ char *copy = NULL;
        int r;

        *ret = (InboxMessage){};

        if (size > INBOX_MESSAGE_MAX) {
                *ret_what = "larger than 16 KiB";
                return -E2BIG;
        }

        /* One NUL at the end is forgiven, as systemd does: some senders count it in. */
        if (size > 0 && text[size - 1] == '\0')
                size--;
        if (size == 0)
                return 0;
        if (memchr(text, '\0', size)) {
                *ret_what = "embedded NUL";
                return -EBADMSG;
        }

        copy = strndup(text, size);
        if (!copy)
                return -ENOMEM;

        r = parse_text(&m, copy, ret_what);
        if (r < 0)
                return r;

        *ret = TAKE_GENERIC(m, ((InboxMessage){}));
        return 0;
}
