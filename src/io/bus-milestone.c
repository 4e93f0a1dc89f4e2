/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bus-milestone.h"

#include "bus-connect.h"

#include <errno.h>

#define PROPERTIES "org.freedesktop.DBus.Properties"

void bus_milestone_forget(BusMilestone *m) {
        m->match = sd_bus_slot_unref(m->match);
        m->call = sd_bus_slot_unref(m->call);
        free(m->path);
        m->path = NULL;
}

void bus_milestone_done(BusMilestone *m) {
        bus_milestone_forget(m);
        free(m->name);
        *m = (BusMilestone){};
}

int bus_milestone_owner_set_pid1(BusMilestoneOwner *owner, const char *name) {
        char *copy = NULL;

        if (name) {
                if (owner->pid1 && streq(owner->pid1, name))
                        return 0;
                copy = strdup(name);
                if (!copy)
                        return -ENOMEM;
        }

        free(owner->pid1);
        owner->pid1 = copy;
        return 0;
}

bool bus_milestone_owner_is_pid1(const BusMilestoneOwner *owner, sd_bus_message *signal) {
        const char *sender = sd_bus_message_get_sender(signal);

        /* Before PID 1 has answered at all, its answer is still to come, and later than the signal. */
        return owner->pid1 && sender && streq(sender, owner->pid1);
}

static void settle(BusMilestone *m, bool reached) {
        m->answered = true;
        m->reached = m->reached || reached;
        m->owner->settled(m);
}

/* Units that are up stay "active" while they are reloaded ("reloading"), and from systemd 257 on while they
 * are refreshed. */
static bool state_is_up(const char *state) {
        return streq(state, "active") || streq(state, "reloading") || streq(state, "refreshing");
}

static int get_property(BusMilestone *m,
                sd_bus *bus,
                const char *path,
                const char *interface,
                const char *property,
                sd_bus_message_handler_t callback) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        m->call = sd_bus_slot_unref(m->call);

        r = bus_call_new(bus, path, PROPERTIES, "Get", &call);
        if (r < 0)
                return r;
        r = sd_bus_message_append(call, "ss", interface, property);
        if (r < 0)
                return r;

        return sd_bus_call_async(bus, &m->call, call, callback, m, 0);
}

/* The value of a Get. An error (no such unit, no PID 1 on the bus, not allowed) is an answer, too: not now.
 * What could change it is followed by a signal, upon which all is asked again. */
static bool read_answer(BusMilestone *m, sd_bus_message *reply, const char *type, void *ret) {
        int r;

        m->call = sd_bus_slot_unref(m->call);

        if (sd_bus_message_is_method_error(reply, NULL)) {
                settle(m, false);
                return false;
        }

        r = bus_milestone_owner_set_pid1(m->owner, sd_bus_message_get_sender(reply));
        if (r < 0) {
                m->owner->failed(m);
                return false;
        }

        r = sd_bus_message_read(reply, "v", type, ret);
        if (r < 0) {
                settle(m, false);
                return false;
        }

        return true;
}

static int on_state(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        BusMilestone *m = userdata;
        const char *state;

        if (read_answer(m, reply, "s", &state))
                settle(m, state_is_up(state));
        return 0;
}

/* The changed properties of a unit: a{sv}. 1: ActiveState was among them. */
static int find_state(sd_bus_message *signal, const char **ret) {
        int r;

        r = sd_bus_message_skip(signal, "s");
        if (r < 0)
                return r;
        r = sd_bus_message_enter_container(signal, 'a', "{sv}");
        if (r < 0)
                return r;

        while ((r = sd_bus_message_enter_container(signal, 'e', "sv")) > 0) {
                const char *property;

                r = sd_bus_message_read(signal, "s", &property);
                if (r < 0)
                        return r;
                if (streq(property, "ActiveState"))
                        return sd_bus_message_read(signal, "v", "s", ret);

                r = sd_bus_message_skip(signal, "v");
                if (r < 0)
                        return r;
                r = sd_bus_message_exit_container(signal);
                if (r < 0)
                        return r;
        }

        return r;
}

static int on_properties_changed(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        BusMilestone *m = userdata;
        const char *state;

        if (bus_milestone_owner_is_pid1(m->owner, signal) && find_state(signal, &state) > 0 &&
                        state_is_up(state))
                settle(m, true);
        return 0;
}

/* Only the part that every kind of unit has: of each change PID 1 sends one signal for that, and one for
 * what is peculiar to the kind. */
static int watch_unit(BusMilestone *m, sd_bus *bus, char *path) {
        _cleanup_free_ char *rule = NULL;

        m->match = sd_bus_slot_unref(m->match);
        free(m->path);
        m->path = path;

        if (asprintf(&rule,
                            "type='signal',sender='" BUS_SYSTEMD "',path='%s',interface='" PROPERTIES
                            "',member='PropertiesChanged',arg0='" BUS_SYSTEMD_UNIT "'",
                            path) < 0)
                return -ENOMEM;

        /* Should the broker refuse the rule, the library drops the connection; then all is asked again. */
        return sd_bus_add_match_async(bus, &m->match, rule, on_properties_changed, NULL, m);
}

static int follow_id(BusMilestone *m, sd_bus *bus, const char *id) {
        _cleanup_free_ char *path = NULL;
        int r;

        r = sd_bus_path_encode(BUS_SYSTEMD_UNIT_PATH, id, &path);
        if (r < 0)
                return r;

        if (!m->path || !streq(m->path, path)) {
                r = watch_unit(m, bus, TAKE_PTR(path));
                if (r < 0)
                        return r;
        }

        return get_property(m, bus, m->path, BUS_SYSTEMD_UNIT, "ActiveState", on_state);
}

/* PID 1 sends signals for a unit's real name only. */
static int on_id(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        BusMilestone *m = userdata;
        const char *id;

        if (read_answer(m, reply, "s", &id) && follow_id(m, sd_bus_message_get_bus(reply), id) < 0)
                m->owner->failed(m);
        return 0;
}

static int ask_unit(BusMilestone *m, sd_bus *bus) {
        _cleanup_free_ char *path = NULL;
        int r;

        r = sd_bus_path_encode(BUS_SYSTEMD_UNIT_PATH, m->name, &path);
        if (r < 0)
                return r;

        /* Asking for an object makes PID 1 load the unit. */
        return get_property(m, bus, path, BUS_SYSTEMD_UNIT, "Id", on_id);
}

static int on_finish_timestamp(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        BusMilestone *m = userdata;
        uint64_t usec;

        if (read_answer(m, reply, "t", &usec))
                settle(m, usec != 0);
        return 0;
}

static int on_startup_finished(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        BusMilestone *m = userdata;

        if (bus_milestone_owner_is_pid1(m->owner, signal))
                settle(m, true);
        return 0;
}

static int ask_startup_finished(BusMilestone *m, sd_bus *bus) {
        int r;

        if (!m->match) {
                r = sd_bus_match_signal_async(bus, &m->match, BUS_SYSTEMD, BUS_SYSTEMD_PATH,
                                BUS_SYSTEMD_MANAGER, "StartupFinished", on_startup_finished, NULL, m);
                if (r < 0)
                        return r;
        }

        return get_property(m, bus, BUS_SYSTEMD_PATH, BUS_SYSTEMD_MANAGER, "FinishTimestampMonotonic",
                        on_finish_timestamp);
}

int bus_milestone_ask(BusMilestone *m, sd_bus *bus) {
        return m->startup_finished ? ask_startup_finished(m, bus) : ask_unit(m, bus);
}
