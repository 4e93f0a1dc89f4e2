/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "systemd-bus.h"

#include "bus-connect.h"
#include "bus-jobs.h"
#include "bus-milestone.h"
#include "milestone.h"

#include <errno.h>
#include <time.h>

/* Between the loss of a connection and the next try: longer each time, until PID 1 has answered. */
#define PAUSE_MIN_USEC (100 * USEC_PER_MSEC)
#define PAUSE_MAX_USEC (2 * USEC_PER_SEC)

struct BusWatch {
        BusMilestoneOwner owner;
        int root_fd;
        sd_event *event;
        BusWatchHandlers handlers;
        void *userdata;
        bool probed;
        sd_bus *bus;             /* NULL while pausing, and when nothing is awaited any more */
        sd_event_source *pause;  /* armed while pausing */
        sd_event_source *settle; /* armed while a bus, or PID 1 on it, has just come up */
        bool asked;              /* on this connection */
        usec_t pause_usec;
        bool awaits_unit;
        size_t n_left;
        size_t n;
        BusMilestone milestones[];
};

/* Without a flush, which would wait. */
static void disconnect(BusWatch *w) {
        w->bus = sd_bus_close_unref(w->bus);
        w->settle = sd_event_source_disable_unref(w->settle);
        w->asked = false;
        for (size_t i = 0; i < w->n; i++)
                bus_milestone_forget(&w->milestones[i]);
        (void) bus_milestone_owner_set_pid1(&w->owner, NULL);
}

static void tell_probed(BusWatch *w) {
        if (w->probed)
                return;

        w->probed = true;
        w->handlers.probed(w->userdata);
}

static int connect_and_ask(BusWatch *w);

static void pause_and_connect(BusWatch *w);

static int on_pause(sd_event_source *s, uint64_t usec, void *userdata) {
        BusWatch *w = userdata;

        w->pause = sd_event_source_disable_unref(w->pause);
        if (connect_and_ask(w) < 0)
                pause_and_connect(w);
        return 0;
}

static void pause_and_connect(BusWatch *w) {
        disconnect(w);
        if (w->pause)
                return;

        w->pause_usec = MIN(MAX(w->pause_usec * 2, PAUSE_MIN_USEC), PAUSE_MAX_USEC);
        /* If even that fails, memory is short beyond help from here; the deadline remains. */
        (void) sd_event_add_time_relative(
                        w->event, &w->pause, CLOCK_MONOTONIC, w->pause_usec, USEC_PER_MSEC, on_pause, w);
}

static void give_up_connection(BusWatch *w) {
        pause_and_connect(w);
        tell_probed(w);
}

/* The broker went away, or never answered. */
static int on_disconnected(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        give_up_connection(userdata);
        return 0;
}

static void on_failed(BusMilestone *m) {
        give_up_connection(m->owner->userdata);
}

static bool all_answered(const BusWatch *w) {
        for (size_t i = 0; i < w->n; i++)
                if (!w->milestones[i].answered)
                        return false;

        return true;
}

static void on_settled(BusMilestone *m) {
        BusWatch *w = m->owner->userdata;

        /* Not when it is the loss of the connection that settled it. */
        if (w->owner.pid1)
                w->pause_usec = 0;
        if (m->reached) {
                /* First the news, which the machine waits for; then, if nothing more is awaited, the bus is
                 * left. */
                w->handlers.reached(w->userdata, m->name);
                bus_milestone_forget(m);
                if (--w->n_left == 0)
                        disconnect(w);
        }
        if (all_answered(w))
                tell_probed(w);
}

/* PID 1 sends signals only while someone has asked for them; twice does no harm. */
static int subscribe(BusWatch *w) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        int r;

        r = bus_call_new(w->bus, BUS_SYSTEMD_PATH, BUS_SYSTEMD_MANAGER, "Subscribe", &m);
        if (r < 0)
                return r;
        r = sd_bus_message_set_expect_reply(m, false);
        if (r < 0)
                return r;

        return sd_bus_send(w->bus, m, NULL);
}

static int ask_all(BusWatch *w) {
        int r;

        w->asked = true;
        r = subscribe(w);
        if (r < 0)
                return r;

        for (size_t i = 0; i < w->n; i++) {
                if (w->milestones[i].reached)
                        continue;
                r = bus_milestone_ask(&w->milestones[i], w->bus);
                if (r < 0)
                        return r;
        }

        return 0;
}

static void ask_all_again(BusWatch *w) {
        if (ask_all(w) < 0)
                give_up_connection(w);
}

static int on_settle(sd_event_source *s, uint64_t usec, void *userdata) {
        BusWatch *w = userdata;

        w->settle = sd_event_source_disable_unref(w->settle);
        ask_all_again(w);
        return 0;
}

/* See BUS_SETTLE_USEC. */
static void ask_when_settled(BusWatch *w) {
        int r;

        if (w->settle)
                r = sd_event_source_set_time_relative(w->settle, BUS_SETTLE_USEC);
        else
                r = sd_event_add_time_relative(w->event, &w->settle, CLOCK_MONOTONIC, BUS_SETTLE_USEC,
                                USEC_PER_MSEC, on_settle, w);
        if (r < 0)
                ask_all_again(w);
}

/* The broker answered, for which there had been none at first. */
static int on_connected(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        BusWatch *w = userdata;

        if (!w->asked)
                ask_when_settled(w);
        return 0;
}

/* PID 1 came to the bus, or left it: at boot, when the bus was restarted, around a daemon-reexec. */
static int on_name_owner_changed(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        BusWatch *w = userdata;
        const char *name, *before, *now;

        if (sd_bus_message_read(signal, "sss", &name, &before, &now) < 0 || !streq(name, BUS_SYSTEMD))
                return 0;

        if (bus_milestone_owner_set_pid1(&w->owner, isempty(now) ? NULL : now) < 0)
                give_up_connection(w);
        else if (!isempty(now))
                ask_when_settled(w);
        return 0;
}

/* After a daemon-reload an alias can mean another unit, and there can be units that there were not. */
static int on_reloading(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        BusWatch *w = userdata;
        int begins;

        if (bus_milestone_owner_is_pid1(&w->owner, signal) &&
                        sd_bus_message_read(signal, "b", &begins) >= 0 && !begins)
                ask_all_again(w);
        return 0;
}

/* A signal of the library's own, which no broker hears of. */
static int match_local(sd_bus *bus, const char *member, sd_bus_message_handler_t callback, BusWatch *w) {
        return sd_bus_match_signal_async(bus, NULL, "org.freedesktop.DBus.Local",
                        "/org/freedesktop/DBus/Local", "org.freedesktop.DBus.Local", member, callback, NULL,
                        w);
}

/* Should the broker refuse a rule, the library drops the connection, and all begins anew. */
static int match_signals(BusWatch *w) {
        int r;

        r = match_local(w->bus, "Disconnected", on_disconnected, w);
        if (r < 0)
                return r;
        r = match_local(w->bus, "Connected", on_connected, w);
        if (r < 0)
                return r;

        r = sd_bus_add_match_async(w->bus, NULL,
                        "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
                        "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='" BUS_SYSTEMD "'",
                        on_name_owner_changed, NULL, w);
        if (r < 0 || !w->awaits_unit)
                return r;

        return sd_bus_match_signal_async(w->bus, NULL, BUS_SYSTEMD, BUS_SYSTEMD_PATH, BUS_SYSTEMD_MANAGER,
                        "Reloading", on_reloading, NULL, w);
}

/* A bus that is there is asked at once: what it says is waited for (probing). */
static int connect_and_ask(BusWatch *w) {
        int r;

        r = bus_connect(w->root_fd, true, &w->bus);
        if (r < 0)
                return r;
        r = sd_bus_attach_event(w->bus, w->event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        r = match_signals(w);
        if (r < 0)
                return r;

        return bus_is_connected(w->bus) ? ask_all(w) : 0;
}

static int bus_watch_new(int root_fd,
                sd_event *event,
                char *const *names,
                const BusWatchHandlers *handlers,
                BusWatch **ret) {
        size_t n = strv_length(names);
        _cleanup_(bus_watch_freep) BusWatch *w = NULL;

        w = calloc(1, sizeof(BusWatch) + n * sizeof(BusMilestone));
        if (!w)
                return -ENOMEM;

        w->owner = (BusMilestoneOwner){ .userdata = w, .settled = on_settled, .failed = on_failed };
        w->root_fd = root_fd;
        w->event = sd_event_ref(event);
        w->handlers = *handlers;

        for (; w->n < n; w->n++) {
                BusMilestone *m = &w->milestones[w->n];

                m->owner = &w->owner;
                m->startup_finished = milestone_kind(names[w->n]) == MILESTONE_KIND_STARTUP_FINISHED;
                m->name = strdup(names[w->n]);
                if (!m->name)
                        return -ENOMEM;
                w->awaits_unit = w->awaits_unit || !m->startup_finished;
        }
        w->n_left = n;

        *ret = TAKE_PTR(w);
        return 0;
}

int bus_watch_open(int root_fd,
                sd_event *event,
                char *const *names,
                const BusWatchHandlers *handlers,
                void *userdata,
                bool *ret_probing,
                BusWatch **ret) {
        _cleanup_(bus_watch_freep) BusWatch *w = NULL;
        bool probing = false;
        int r;

        r = bus_watch_new(root_fd, event, names, handlers, &w);
        if (r < 0)
                return r;
        w->userdata = userdata;

        if (w->n > 0) {
                r = connect_and_ask(w);
                if (r == -ENOMEM)
                        return r;
                if (r < 0)
                        pause_and_connect(w);
                else
                        probing = bus_is_connected(w->bus);
        }
        w->probed = !probing;

        *ret_probing = probing;
        *ret = TAKE_PTR(w);
        return 0;
}

BusWatch *bus_watch_free(BusWatch *w) {
        if (!w)
                return NULL;

        disconnect(w);
        sd_event_source_disable_unref(w->pause);
        for (size_t i = 0; i < w->n; i++)
                bus_milestone_done(&w->milestones[i]);
        sd_event_unref(w->event);
        free(w);
        return NULL;
}

int bus_watch_list_jobs(BusWatch *w, usec_t timeout, char ***ret) {
        int r;

        /* A bus that has not answered so far would use up the timeout for nothing. */
        if (w->bus && sd_bus_is_ready(w->bus) <= 0)
                return -ENOTCONN;

        r = bus_jobs_list(w->root_fd, timeout, ret);
        return r == -ENOENT || r == -ECONNREFUSED ? -ENOTCONN : r;
}
