/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

#include <systemd/sd-bus.h>

/* A connection of our own to the system bus below the root, which nobody else's use or timeout can disturb.
 * Never waits: authentication and Hello go on as the connection is processed. Calls made on it have no
 * timeout unless given one: a bus socket is there, and takes connections, long before the broker behind it
 * answers, and on a slow machine that takes longer than the library's 25 s. A peer that goes away ends its
 * calls all the same.
 *
 * watch_bind: where nothing listens yet, wait until something does (sd_bus_set_watch_bind(3)); otherwise
 * that is -ENOENT or -ECONNREFUSED. root_fd must stay open as long as the connection. -ENOMEM, negative
 * errno of connect(2), inotify_init(2). */
int bus_connect(int root_fd, bool watch_bind, sd_bus **ret);

/* Whether something took the connection; false while it is still waited for. */
bool bus_is_connected(sd_bus *bus);

/* A call to PID 1 that fails rather than have the broker try to start a service manager. -ENOMEM, -ENOTCONN.
 */
int bus_call_new(sd_bus *bus,
                const char *path,
                const char *interface,
                const char *member,
                sd_bus_message **ret);

/* The object of a unit is below this path. */
#define BUS_SYSTEMD "org.freedesktop.systemd1"
#define BUS_SYSTEMD_PATH "/org/freedesktop/systemd1"
#define BUS_SYSTEMD_UNIT_PATH BUS_SYSTEMD_PATH "/unit"
#define BUS_SYSTEMD_MANAGER BUS_SYSTEMD ".Manager"
#define BUS_SYSTEMD_UNIT BUS_SYSTEMD ".Unit"
