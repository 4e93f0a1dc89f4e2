/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

#include <systemd/sd-event.h>

/* What the daemon tells the service manager that started it (sd_notify(3), sd_watchdog_enabled(3)), without
 * ever waiting for it. sd_notify() and sd_event_set_watchdog(3) wait while the manager's queue is full,
 * which any user can bring about; and where PID 1 is that manager and reports to our inbox as well, two full
 * queues would have us wait for each other for good. */

typedef struct ServiceManager ServiceManager;

/* From now on, while the loop runs, the watchdog is fed, if the manager asks for that. -ENOMEM, negative
 * errno of timerfd_create(2). */
int service_manager_open(sd_event *event, ServiceManager **ret);
ServiceManager *service_manager_free(ServiceManager *s);
DEFINE_TRIVIAL_CLEANUP_FUNC(ServiceManager *, service_manager_free);

/* READY=1, with the status that has been set: now, or as soon as there is room in the queue. */
void service_manager_ready(ServiceManager *s);

/* STATUS=: told where it is another than the last one, and not before READY=1: each message costs PID 1
 * time, while a system boots. Lost if there is no room in the queue: it is for people. s may be NULL: told
 * at once. */
void service_manager_status(ServiceManager *s, const char *format, ...) _printf_(2, 3);
