/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot-record.h"
#include "inbox-message.h"

#undef NDEBUG
#include <assert.h>
#include <errno.h>

/* Any bytes as a datagram of the inbox. Run it with tests/fuzz/run. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_empty(const InboxMessage *m) {
        assert(!m->milestones && !m->units && !m->reason);
        assert(!m->ready && !m->end && !m->extend && !m->barrier && m->extend_by == 0);
}

/* Whatever comes out can go to a log, a file name and a state file as it is. */
static void check_message(const InboxMessage *m) {
        for (char **l = m->milestones; l && *l; l++)
                assert(milestone_name_is_valid(*l));
        for (char **l = m->units; l && *l; l++)
                assert(milestone_name_is_valid(*l) && milestone_kind(*l) == MILESTONE_KIND_UNIT);

        assert(m->extend == (m->extend_by > 0));
        assert(m->extend_by <= 3600 * USEC_PER_SEC && m->extend_by % USEC_PER_MSEC == 0);

        if (!m->reason)
                return;
        assert(strlen(m->reason) > 0 && strlen(m->reason) < REASON_TEXT_MAX);
        for (const char *p = m->reason; *p; p++)
                assert((unsigned char) *p >= ' ' && *p != 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *what = NULL;
        InboxMessage m;
        int r;

        memset(&m, 0xff, sizeof(m));
        r = inbox_message_parse((const char *) data, size, &m, &what);
        if (r < 0) {
                assert(what && (r == -EBADMSG || (r == -E2BIG && size > INBOX_MESSAGE_MAX)));
                check_empty(&m);
        } else {
                assert(r == 0 && size <= INBOX_MESSAGE_MAX);
                check_message(&m);
        }

        inbox_message_done(&m);
        return 0;
}
