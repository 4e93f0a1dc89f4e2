/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <libudev.h>

/* libudev, loaded only where a policy is about devices: few are, and loading it takes a twentieth of all
 * that the daemon executes, and as much of its memory. Its functions are members of `libudev` by the names
 * they have behind "udev_". */

#define UDEV_LIBRARY_FUNCTIONS(F)                     \
        F(device_get_action)                          \
        F(device_get_is_initialized)                  \
        F(device_get_properties_list_entry)           \
        F(device_get_subsystem)                       \
        F(device_get_sysname)                         \
        F(device_get_syspath)                         \
        F(device_new_from_syspath)                    \
        F(device_unref)                               \
        F(enumerate_add_match_subsystem)              \
        F(enumerate_add_match_sysname)                \
        F(enumerate_get_list_entry)                   \
        F(enumerate_new)                              \
        F(enumerate_scan_devices)                     \
        F(enumerate_unref)                            \
        F(list_entry_get_name)                        \
        F(list_entry_get_next)                        \
        F(list_entry_get_value)                       \
        F(monitor_enable_receiving)                   \
        F(monitor_filter_add_match_subsystem_devtype) \
        F(monitor_get_fd)                             \
        F(monitor_new_from_netlink)                   \
        F(monitor_receive_device)                     \
        F(monitor_unref)                              \
        F(new)                                        \
        F(queue_get_queue_is_empty)                   \
        F(queue_new)                                  \
        F(queue_unref)                                \
        F(unref)

typedef struct UdevLibrary {
#define UDEV_LIBRARY_MEMBER(name) __typeof__(udev_##name) *name;
        UDEV_LIBRARY_FUNCTIONS(UDEV_LIBRARY_MEMBER)
#undef UDEV_LIBRARY_MEMBER
} UdevLibrary;

/* All NULL before udev_library_load() has succeeded. */
extern UdevLibrary libudev;

/* Loads it, for as long as the process lives; if it is loaded already, does nothing. -ELIBACC: there is no
 * libudev, or not the one that we were built for. */
int udev_library_load(void);

#define udev_library_foreach(entry, first) \
        for (entry = (first); entry; entry = libudev.list_entry_get_next(entry))
