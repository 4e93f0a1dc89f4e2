/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "inbox-message.h"
#include "message-sender.h"

#include <systemd/sd-event.h>

/* The datagram socket /run/rcu-bootd/notify, world-writable; the kernel vouches for the sender
 * (SCM_CREDENTIALS). */

typedef struct Inbox Inbox;

typedef struct InboxHandlers {
        /* A well-formed datagram. raw/size: as it came, for relaying. The inbox must not be freed in here.
         */
        void (*message)(void *userdata,
                        const InboxMessage *m,
                        const MessageSender *sender,
                        const char *raw,
                        size_t size);
        /* One that was refused; what: a constant phrase. Called at most once in ten seconds, with the number
         * left out since. */
        void (*refused)(void *userdata, const char *what, const MessageSender *sender, unsigned suppressed);
} InboxHandlers;

/* Binds the socket (replacing a stale one; the directory is made too) and listens. *handlers is copied. Of
 * the signals, SIGALRM becomes the inbox's own. -ENOMEM; negative errno of mkdir(2), bind(2), unlink(2). */
int inbox_open(int root_fd, sd_event *event, const InboxHandlers *handlers, void *userdata, Inbox **ret);
Inbox *inbox_free(Inbox *i); /* removes the socket */
DEFINE_TRIVIAL_CLEANUP_FUNC(Inbox *, inbox_free);

/* Calls refused() for a reason of the caller's own, within the same limit: what any user can cause must not
 * fill the journal. what: a constant phrase. */
void inbox_refuse(Inbox *i, const char *what, const MessageSender *sender);

/* Takes what is queued without waiting (before the daemon exits, so that no sender's barrier is left open):
 * a bounded number of datagrams, however fast more come in. */
void inbox_drain(Inbox *i);
