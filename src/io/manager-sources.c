/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <syslog.h>

#include "machine.h"
#include "manager-internal.h"
#include "names.h"
#include "strv.h"
#include "unit-files.h"

static void reach(Manager *m, const char *name, MilestoneSource source) {
        int i;

        /* What the policy does not wait for is not kept: nobody can fill the memory with names. */
        i = milestone_condition_find(&m->record.end_when, name);
        if (i < 0)
                return;

        manager_feed(m,
                        (BootEvent){ .type = BOOT_EVENT_MILESTONE,
                                        .milestone = { .index = (unsigned) i, .source = source } });
}

/* PID 1 gives a unit's real name; the policy may wait for an alias of it. */
static void reach_unit(Manager *m, const char *unit) {
        const MilestoneCondition *c = &m->record.end_when;

        for (size_t i = 0; i < c->n_names; i++)
                if (milestone_kind(c->names[i]) == MILESTONE_KIND_UNIT &&
                                unit_files_is_alias(m->root_fd, c->names[i], unit))
                        reach(m, c->names[i], MILESTONE_SOURCE_PID1);
}

static void on_pid1(Manager *m, const InboxMessage *message, const char *raw, size_t size) {
        int r;

        r = notify_relay_send(m->relay, raw, size);
        if (r < 0)
                audit_log(m->audit, LOG_DEBUG, "Cannot pass PID 1's message on, ignoring: %s", strerror(-r));

        for (char **unit = message->units; unit && *unit; unit++)
                reach_unit(m, *unit);
        if (message->ready)
                reach(m, MILESTONE_STARTUP_FINISHED, MILESTONE_SOURCE_PID1);
}

static void on_requests(Manager *m, const InboxMessage *message, const MessageSender *sender) {
        if (!message->end && !message->extend)
                return;
        if (sender->uid != 0) {
                inbox_refuse(m->inbox, "only root may end or extend boot", sender);
                return;
        }

        if (message->extend)
                manager_feed(m,
                                (BootEvent){ .type = BOOT_EVENT_EXTEND,
                                                .extend = { .by = message->extend_by } });
        if (message->end)
                manager_feed(m,
                                (BootEvent){ .type = BOOT_EVENT_END,
                                                .end = { .reason = BOOT_REASON_MANUAL,
                                                                .text = message->reason } });
}

/* A user may speak for what that user has done. Not for the units of PID 1 and the devices of udev, which
 * are reached when those say so: whoever could announce all would in effect end boot. */
static bool is_ones_own(const char *name) {
        return milestone_kind(name) == MILESTONE_KIND_NAMED;
}

static void on_milestones(Manager *m, char *const *names, const MessageSender *sender) {
        bool root = sender->uid == 0;

        if (!root && !machine_user_in(m->root_fd, m->record.allow_users, sender->uid)) {
                inbox_refuse(m->inbox,
                                "this user is not in the policy's AllowUsers=, so may not announce "
                                "milestones",
                                sender);
                return;
        }

        for (; *names; names++)
                if (root || is_ones_own(*names))
                        reach(m, *names, MILESTONE_SOURCE_INBOX);
                else
                        inbox_refuse(m->inbox,
                                        "only root may announce units, devices and startup-finished in "
                                        "place of systemd and udev",
                                        sender);
}

static void on_message(void *userdata,
                const InboxMessage *message,
                const MessageSender *sender,
                const char *raw,
                size_t size) {
        Manager *m = userdata;

        m->sender = sender;

        if (sender->pid == 1 && sender->uid == 0)
                on_pid1(m, message, raw, size);

        if (message->milestones)
                on_milestones(m, message->milestones, sender);

        on_requests(m, message, sender);

        m->sender = NULL;
}

static void on_refused(void *userdata, const char *what, const MessageSender *sender, unsigned suppressed) {
        Manager *m = userdata;

        audit_refused(m->audit, what, sender, suppressed);
}

static void on_entry(void *userdata, const char *name) {
        reach(userdata, name, MILESTONE_SOURCE_DIRECTORY);
}

static void on_bus(void *userdata, const char *name) {
        reach(userdata, name, MILESTONE_SOURCE_BUS);
}

static void on_probed(void *userdata) {
        manager_feed(userdata, (BootEvent){ .type = BOOT_EVENT_PROBED });
}

static void on_device(void *userdata, const char *name) {
        reach(userdata, name, MILESTONE_SOURCE_UDEV);
}

static void on_uninitialized(void *userdata, const char *name, const char *syspath) {
        Manager *m = userdata;

        audit_device_uninitialized(m->audit, name, syspath);
}

/* The awaited names that one source can tell of. */
static int list_names(const BootRecord *record, uint32_t kinds, char ***ret) {
        _cleanup_strv_free_ char **names = NULL;
        int r;

        for (size_t i = 0; i < record->end_when.n_names; i++) {
                const char *name = record->end_when.names[i];

                if (!(kinds & (1U << milestone_kind(name))) || record->reached & (UINT32_C(1) << i))
                        continue;
                r = strv_extend(&names, name);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(names);
        return 0;
}

static int open_bus(Manager *m, bool *ret_probing) {
        static const BusWatchHandlers handlers = { .reached = on_bus, .probed = on_probed };
        _cleanup_strv_free_ char **names = NULL;
        int r;

        r = list_names(&m->record, 1U << MILESTONE_KIND_UNIT | 1U << MILESTONE_KIND_STARTUP_FINISHED,
                        &names);
        if (r < 0)
                return r;

        /* Without a name it connects to nothing, but can still tell which jobs are pending at the deadline.
         */
        return bus_watch_open(m->root_fd, m->event, names, &handlers, m, ret_probing, &m->bus);
}

static bool is_udevd_awaited(void *userdata) {
        const Manager *m = userdata;

        return machine_awaits_udevd(m->root_fd);
}

static int open_devices(Manager *m) {
        static const DeviceWatchHandlers handlers = {
                .reached = on_device,
                .uninitialized = on_uninitialized,
                .udevd_awaited = is_udevd_awaited,
        };
        _cleanup_strv_free_ char **names = NULL;
        int r;

        r = list_names(&m->record, 1U << MILESTONE_KIND_DEVICE, &names);
        if (r < 0 || !names)
                return r;

        /* libudev knows the running machine only. */
        if (!machine_is_own(m->root_fd)) {
                audit_log(m->audit, LOG_WARNING,
                                "Device milestones cannot be seen below another root, ignoring.");
                return 0;
        }

        return device_watch_open(m->event, names, &handlers, m, &m->devices);
}

/* A source that cannot be opened is one source less, not the end: the others and the deadline remain. */
static void complain(Manager *m, const char *source, int error) {
        if (error < 0)
                audit_log(m->audit, LOG_ERR, "%s cannot be used, going on without: %s", source,
                                strerror(-error));
}

void manager_open_sources(Manager *m, bool *ret_probing) {
        static const InboxHandlers inbox_handlers = { .message = on_message, .refused = on_refused };

        complain(m, "The inbox /" PATH_INBOX,
                        inbox_open(m->root_fd, m->event, &inbox_handlers, m, &m->inbox));
        complain(m, "The directory /" PATH_MILESTONE_DIR,
                        milestone_dir_open(m->root_fd, m->event, on_entry, m, &m->dir));
        complain(m, "The relay of PID 1's messages", notify_relay_open(m->root_fd, m->event, &m->relay));
        complain(m, "udev", open_devices(m));
        complain(m, "The system bus", open_bus(m, ret_probing));
}

void manager_scan_sources(Manager *m) {
        if (m->dir)
                complain(m, "The directory /" PATH_MILESTONE_DIR, milestone_dir_scan(m->dir));
        if (m->devices)
                complain(m, "udev", device_watch_scan(m->devices));
}
