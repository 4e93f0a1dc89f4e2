/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

/* Sends one entry, FIELD=value lines, to the journal's socket below the root, by the journal's native
 * protocol (systemd's documentation, "Native Journal Protocol"). Not with sd_journal_send(3), which waits
 * for room in the socket's queue: where the journal hangs, or never starts although PID 1 holds its socket,
 * it would wait for good, and with it the end of boot.
 *
 * Never waits. -EAGAIN: the queue is full; -ENOENT, -ECONNREFUSED: no journal; negative errno of socket(2),
 * sendto(2). */
int audit_journal_send(int root_fd, const char *text, size_t size);
