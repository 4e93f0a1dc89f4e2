/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* Where PID 1 reported before we became its NOTIFY_SOCKET: its datagrams are passed on, so that a container
 * manager or VMM loses nothing. */

typedef struct NotifyRelay NotifyRelay;

/* Finds the address in PID 1's initial environment, else in the system credential vmm.notify_socket. *ret is
 * NULL where there is none, or where it is our own inbox. AF_UNIX paths and abstract names, and
 * vsock:CID:PORT (sd_notify(3)). -EINVAL: an address of no known form; -ENOMEM. */
int notify_relay_open(int root_fd, NotifyRelay **ret);
NotifyRelay *notify_relay_free(NotifyRelay *r);
DEFINE_TRIVIAL_CLEANUP_FUNC(NotifyRelay *, notify_relay_free);

/* Never blocks. Negative errno. r may be NULL: nothing happens. */
int notify_relay_send(NotifyRelay *r, const char *raw, size_t size);
