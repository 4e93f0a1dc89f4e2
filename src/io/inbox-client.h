/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* The sending side of the inbox, for `rcu-bootctl`. */

/* Sends one datagram and waits (sd_notify_barrier(3)) until the daemon has handled it. -ENOENT,
 * -ECONNREFUSED: no daemon listens; -ETIMEDOUT: no answer within timeout usec (USEC_INFINITY: wait for
 * ever); negative errno. A daemon that exits or dies lets its senders go as well: what has become of the
 * request is to be read in the state file. */
int inbox_client_send(int root_fd, const char *text, usec_t timeout);
