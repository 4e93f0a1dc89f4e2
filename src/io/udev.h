/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "strv.h"
#include "util.h"

#include <systemd/sd-event.h>

/* device:SUBSYSTEM/SYSNAME milestones, through libudev. */

typedef struct DeviceWatch DeviceWatch;

typedef struct DeviceWatchHandlers {
        /* The device is there and udev is done with it. name: the milestone as the policy spells it. Once
         * for each. */
        void (*reached)(void *userdata, const char *name);
        /* It is there, but udev has not initialised it in DEVICE_INIT_MAX_USEC (no rules, no udevd), and has
         * nothing left to do: reached() follows. */
        void (*uninitialized)(void *userdata, const char *name, const char *syspath);
        /* Whether udevd is still to be started: until it is, and for DEVICE_INIT_MAX_USEC more, no device
         * counts as left alone by it. May be NULL: it is not. */
        bool (*udevd_awaited)(void *userdata);
} DeviceWatchHandlers;

#define DEVICE_INIT_MAX_USEC (5 * USEC_PER_SEC)

/* Monitors first, then enumerates at device_watch_scan(). names: the milestones of kind DEVICE, globs
 * (fnmatch(3)) allowed. *handlers is copied; the watch must not be freed in a handler. -EINVAL: no such
 * name; -E2BIG: more than MILESTONES_MAX; -ELIBACC: no libudev; -ENOMEM; negative errno. */
int device_watch_open(sd_event *event,
                char *const *names,
                const DeviceWatchHandlers *handlers,
                void *userdata,
                DeviceWatch **ret);
DeviceWatch *device_watch_free(DeviceWatch *w);
DEFINE_TRIVIAL_CLEANUP_FUNC(DeviceWatch *, device_watch_free);

/* Looks at the devices that are there now; done again by itself when the kernel had to drop events. -ENOMEM,
 * negative errno. */
int device_watch_scan(DeviceWatch *w);

/* "SUBSYSTEM", once, and "SUBSYSTEM:PROPERTY=VALUE" of every device in the subsystems (globs allowed), for
 * [Match] Device=. -ELIBACC: no libudev; -ENOMEM, negative errno. */
int device_list_facts(char *const *subsystems, char ***ret);
