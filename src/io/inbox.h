/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "inbox-message.h"

#include <sys/types.h>
#include <systemd/sd-event.h>

/* The datagram socket /run/rcu-bootd/notify, world-writable; the kernel vouches for the sender
 * (SCM_CREDENTIALS). */

typedef struct Inbox Inbox;

typedef struct InboxSender {
        pid_t pid; /* 0 if the sender is outside our pid namespace */
        uid_t uid;
} InboxSender;

typedef struct InboxHandlers {
        /* A well-formed datagram. raw/size: as it came, for relaying. */
        void (*message)(void *userdata,
                        const InboxMessage *m,
                        const InboxSender *sender,
                        const char *raw,
                        size_t size);
        /* One that was refused; what: a constant phrase. Called at most once in ten seconds, with the number
         * left out since. */
        void (*refused)(void *userdata, const char *what, const InboxSender *sender, unsigned suppressed);
} InboxHandlers;

/* Binds the socket (replacing a stale one) and listens. Negative errno. */
int inbox_open(int root_fd, sd_event *event, const InboxHandlers *handlers, void *userdata, Inbox **ret);
Inbox *inbox_free(Inbox *i); /* removes the socket */
DEFINE_TRIVIAL_CLEANUP_FUNC(Inbox *, inbox_free);

/* Takes what is queued without waiting (before the daemon exits, so that no sender's barrier is left open).
 */
void inbox_drain(Inbox *i);
