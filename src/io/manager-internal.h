/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "audit.h"
#include "boot-phase.h"
#include "inbox.h"
#include "milestone-dir.h"
#include "notify-relay.h"
#include "service-manager.h"
#include "systemd-bus.h"
#include "udev.h"

#include <systemd/sd-event.h>

/* Shared by manager.c, which steps the machine and carries out what it wants, and manager-sources.c, which
 * turns what the edges tell into events. */

/* The answers to one step's actions, and the event that came first. */
#define MANAGER_QUEUE_MAX (2 * BOOT_ACTIONS_MAX)

typedef struct Manager {
        int root_fd;
        int lock_fd;
        sd_event *event;
        sd_event_source *timer;
        Audit *audit;
        Inbox *inbox;
        NotifyRelay *relay;
        MilestoneDir *dir;
        DeviceWatch *devices;
        BusWatch *bus;
        ServiceManager *service;
        BootRecord record;
        BootEvent queue[MANAGER_QUEUE_MAX];
        size_t queue_first, queue_n;
        const MessageSender *sender; /* of the message that is being handled, NULL between messages */
        bool dispatching;
        bool rescue;  /* as seen with the last event from outside */
        bool unsaved; /* the state file is not what the record is */
        bool quit;
} Manager;

/* Brings an event to the machine, and the machine's wishes to the world, until both are quiet. `now` and
 * `rescue` are filled in here. An edge that calls while this goes on only adds to the queue. */
void manager_feed(Manager *m, BootEvent event);

/* Opens every source that the record's milestones need. One that cannot be opened is audited and left out:
 * the others and the deadline remain. *ret_probing: the bus will say later what had been reached before. */
void manager_open_sources(Manager *m, bool *ret_probing);

/* Takes in what had been reached before the sources were opened. */
void manager_scan_sources(Manager *m);
