/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "strv.h"
#include "util.h"

#include <systemd/sd-event.h>

/* Units and startup-finished, from PID 1 over the system bus (org.freedesktop.systemd1(5)). Connects when
 * the bus comes up, and again when it comes back; asks again after a daemon-reload or reexec. */

typedef struct BusWatch BusWatch;

/* Between the coming up of the bus, or of PID 1 on it, and the first question; what is reached meanwhile is
 * told by the answers, so at most that much later.
 *
 * PID 1 sends its signals, and all of them, while anybody is subscribed, and boot is busiest just then: in
 * the some ms until systemd-logind subscribes they would be sent for us alone. (Debian 12, natively: PID 1
 * sent 28 messages more than without us, 12 more with this pause, and 10 ms of it were as good.) */
#define BUS_SETTLE_USEC (20 * USEC_PER_MSEC)

typedef struct BusWatchHandlers {
        /* name: the milestone as the policy spells it (an alias stays an alias). Once for each. */
        void (*reached)(void *userdata, const char *name);
        /* PID 1 has answered for all of them, or it is certain that it cannot now (no bus yet, nobody owns
         * its name). Once. */
        void (*probed)(void *userdata);
} BusWatchHandlers;

/* names: the milestones of kind UNIT and STARTUP_FINISHED; none: no connection is made. *ret_probing:
 * whether a bus is there, so that probed() will be called later; if false it will not be called. Never
 * waits. Handlers are called from the event loop only, and must not free the watch. root_fd must stay open
 * as long as the watch. That there is no bus, or none that can be reached, is no error: it is tried again.
 * -ENOMEM. */
int bus_watch_open(int root_fd,
                sd_event *event,
                char *const *names,
                const BusWatchHandlers *handlers,
                void *userdata,
                bool *ret_probing,
                BusWatch **ret);
BusWatch *bus_watch_free(BusWatch *w);
DEFINE_TRIVIAL_CLEANUP_FUNC(BusWatch *, bus_watch_free);

/* The jobs that PID 1 has queued, as "UNIT/TYPE" ("foo.service/start"), running ones first, then those that
 * start something; at most 16. Waits for timeout usec at most, on a connection of its own: no handler is
 * called meanwhile. -ENOTCONN: no bus, or one that has not answered so far; -ETIMEDOUT; negative errno. */
int bus_watch_list_jobs(BusWatch *w, usec_t timeout, char ***ret);
