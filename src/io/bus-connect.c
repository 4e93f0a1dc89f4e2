/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bus-connect.h"

#include "fs.h"
#include "names.h"

#include <sys/stat.h>

#define ADDRESS_MAX 128U

/* Below another root the path goes through /proc/self/fd, so that it fits into a socket's address however
 * long the root's own is; the wait for the socket follows that link, too. */
static void format_address(int root_fd, char buf[static ADDRESS_MAX]) {
        if (fs_is_own_root(root_fd))
                (void) snprintf(buf, ADDRESS_MAX, "unix:path=/%s", PATH_SYSTEM_BUS);
        else
                (void) snprintf(buf, ADDRESS_MAX, "unix:path=/proc/self/fd/%i/%s", root_fd, PATH_SYSTEM_BUS);
}

int bus_connect(int root_fd, bool watch_bind, sd_bus **ret) {
        _cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
        char address[ADDRESS_MAX];
        int r;

        format_address(root_fd, address);

        r = sd_bus_new(&bus);
        if (r < 0)
                return r;
        r = sd_bus_set_address(bus, address);
        if (r < 0)
                return r;
        r = sd_bus_set_bus_client(bus, true);
        if (r < 0)
                return r;
        /* Nothing that we ask for comes with file descriptors, and what others send us must not. */
        r = sd_bus_negotiate_fds(bus, false);
        if (r < 0)
                return r;
        /* At the event loop's exit the library would flush the connection first, and so wait for a broker
         * that is still to start, or never does. */
        r = sd_bus_set_close_on_exit(bus, false);
        if (r < 0)
                return r;
        r = sd_bus_set_watch_bind(bus, watch_bind);
        if (r < 0)
                return r;
        /* A bus that has to be waited for says when it is there. */
        r = sd_bus_set_connected_signal(bus, watch_bind);
        if (r < 0)
                return r;
        r = sd_bus_set_method_call_timeout(bus, USEC_INFINITY);
        if (r < 0)
                return r;
        r = sd_bus_start(bus);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(bus);
        return 0;
}

bool bus_is_connected(sd_bus *bus) {
        int fd = sd_bus_get_fd(bus);
        struct stat st;

        /* While it waits for the socket, what the library polls is an inotify fd. */
        return fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

int bus_call_new(sd_bus *bus,
                const char *path,
                const char *interface,
                const char *member,
                sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &m, BUS_SYSTEMD, path, interface, member);
        if (r < 0)
                return r;
        r = sd_bus_message_set_auto_start(m, false);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(m);
        return 0;
}
