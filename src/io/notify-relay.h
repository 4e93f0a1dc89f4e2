/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

#include <systemd/sd-event.h>

/* Where PID 1 reported before we became its NOTIFY_SOCKET: its datagrams are passed on, so that a container
 * manager or VMM loses nothing. */

typedef struct NotifyRelay NotifyRelay;

/* Finds the address PID 1 would use if it had not been told ours: the system credential vmm.notify_socket,
 * else NOTIFY_SOCKET= in PID 1's initial environment (systemd 257, src/core/import-creds.c: the credential
 * replaces what was in the environment). *ret is NULL where there is none, or where it is our own inbox.
 * AF_UNIX paths and abstract names, and vsock:CID:PORT with all its variants (sd_notify(3)). -EINVAL: an
 * address of no known form; -ENOMEM; negative errno of fcntl(2). */
int notify_relay_open(int root_fd, sd_event *event, NotifyRelay **ret);

/* Waits for NOTIFY_RELAY_FLUSH_USEC at most until messages whose connection is under way have gone out: the
 * last thing that PID 1 says before the daemon exits is that start-up has finished. */
NotifyRelay *notify_relay_free(NotifyRelay *r);
DEFINE_TRIVIAL_CLEANUP_FUNC(NotifyRelay *, notify_relay_free);

#define NOTIFY_RELAY_FLUSH_USEC (500 * USEC_PER_MSEC)

/* Never blocks: where a connection must be made first, the event loop sends the message when it stands. The
 * receiver sees PID 1 as the sender where we may say so (CAP_SYS_ADMIN); some look at nothing else. Negative
 * errno of socket(2), connect(2), sendmsg(2); -ENOBUFS: too many connections are under way. r may be NULL:
 * nothing happens. */
int notify_relay_send(NotifyRelay *r, const char *raw, size_t size);
