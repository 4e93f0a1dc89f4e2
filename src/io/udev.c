/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "udev.h"

#include "fs.h"
#include "milestone.h"
#include "names.h"
#include "udev-library.h"

#include <errno.h>
#include <fnmatch.h>

/* Events taken before the loop looks at its other sources again. */
#define DISPATCH_MAX 64U

#define GLOB_CHARACTERS "*?[\\"

/* An awaited milestone. */
typedef struct Target {
        char *name; /* NULL once it has been reached */
        char *subsystem;
        char *sysname;
        char *waiting_for; /* syspath of a device that is there, but that udev has not initialised */
        usec_t until;      /* how long it is waited for */
} Target;

typedef struct Monitor {
        struct udev_monitor *monitor;
        sd_event_source *source;
} Monitor;

/* udevd tells of a device when its rules have run ("udev" group). Where no udevd is, only the kernel does
 * ("kernel" group): without it a device that comes later than the scan would never be noticed. But the
 * kernel tells of each of the hundreds of devices that udevd replays early in boot, and the socket filter
 * cannot sort those out. So we listen to the kernel only for as long as there is no udevd; when udevd comes
 * it replays all that was before (systemd-udev-trigger.service), so nothing falls between. */
struct DeviceWatch {
        sd_event *event;
        struct udev *udev;
        Monitor from_udevd;
        Monitor from_kernel;
        sd_event_source *timer;
        DeviceWatchHandlers handlers;
        void *userdata;
        bool udevd_awaited;  /* when last asked */
        usec_t udevd_absent; /* when it was known for the last time that udevd had not come yet; 0: never */
        size_t n_targets;
        Target targets[MILESTONES_MAX];
};

static int scan_target(DeviceWatch *w, Target *t);

/* libudev says NULL and sets errno, not always. */
static int errno_or_nomem(void) {
        return errno > 0 ? -errno : -ENOMEM;
}

static bool is_udevd_here(void) {
        return access("/" PATH_UDEV_CONTROL, F_OK) == 0;
}

static void monitor_close(Monitor *m) {
        m->source = sd_event_source_unref(m->source);
        m->monitor = libudev.monitor_unref(m->monitor);
}

/* --- targets --- */

static void target_done(Target *t) {
        free(t->name);
        free(t->subsystem);
        free(t->sysname);
        free(t->waiting_for);
        *t = (Target){ 0 };
}

static void target_forget_device(Target *t) {
        free(TAKE_PTR(t->waiting_for));
}

static bool target_matches(const Target *t, struct udev_device *device) {
        const char *subsystem = libudev.device_get_subsystem(device),
                   *sysname = libudev.device_get_sysname(device);

        return t->name && subsystem && sysname && fnmatch(t->subsystem, subsystem, 0) == 0 &&
                        fnmatch(t->sysname, sysname, 0) == 0;
}

static void arm_timer(DeviceWatch *w) {
        usec_t next = USEC_INFINITY;

        for (size_t i = 0; i < w->n_targets; i++)
                if (w->targets[i].waiting_for)
                        next = MIN(next, w->targets[i].until);
        /* Neither fails on a timer of an event loop that is there. */
        if (next < USEC_INFINITY)
                (void) sd_event_source_set_time(w->timer, next);
        (void) sd_event_source_set_enabled(w->timer, next < USEC_INFINITY ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

static void reach(DeviceWatch *w, Target *t) {
        _cleanup_free_ char *name = TAKE_PTR(t->name);
        bool all = true;

        target_forget_device(t);
        for (size_t i = 0; i < w->n_targets; i++)
                all = all && !w->targets[i].name;
        if (all) {
                monitor_close(&w->from_udevd);
                monitor_close(&w->from_kernel);
        }
        arm_timer(w);
        w->handlers.reached(w->userdata, name);
}

/* -ENOMEM. */
static int start_wait(DeviceWatch *w, Target *t, const char *syspath) {
        t->waiting_for = strdup(syspath);
        if (!t->waiting_for)
                return -ENOMEM;
        t->until = fs_now() + DEVICE_INIT_MAX_USEC;
        arm_timer(w);
        return 0;
}

/* A device that matches is there. */
static int consider(DeviceWatch *w, Target *t, struct udev_device *device) {
        if (libudev.device_get_is_initialized(device) > 0) {
                reach(w, t);
                return 0;
        }
        return t->waiting_for ? 0 : start_wait(w, t, libudev.device_get_syspath(device));
}

static bool is_udevd_busy(DeviceWatch *w) {
        struct udev_queue *queue = libudev.queue_new(w->udev);
        bool busy;

        busy = queue && !libudev.queue_get_queue_is_empty(queue);
        libudev.queue_unref(queue);
        return busy;
}

/* Early in boot the time that udev may take has not begun to run. */
static bool has_had_its_time(DeviceWatch *w) {
        if (w->udevd_awaited) {
                w->udevd_absent = fs_now();
                w->udevd_awaited = w->handlers.udevd_awaited(w->userdata);
        }
        return fs_now() >= w->udevd_absent + DEVICE_INIT_MAX_USEC;
}

/* The wait for a device to be initialised is over. */
static void expire(DeviceWatch *w, Target *t) {
        struct udev_device *device = libudev.device_new_from_syspath(w->udev, t->waiting_for);
        bool initialized = device && libudev.device_get_is_initialized(device) > 0;

        libudev.device_unref(device);
        if (!device) {
                target_forget_device(t);
                (void) scan_target(w, t);
                return;
        }
        if (!initialized) {
                if (!has_had_its_time(w) || is_udevd_busy(w)) {
                        /* The device's turn may be still to come. */
                        t->until = fs_now() + DEVICE_INIT_MAX_USEC;
                        return;
                }
                w->handlers.uninitialized(w->userdata, t->name, t->waiting_for);
        }
        reach(w, t);
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata) {
        DeviceWatch *w = userdata;
        usec_t now = fs_now();

        for (size_t i = 0; i < w->n_targets; i++)
                if (w->targets[i].waiting_for && w->targets[i].until <= now)
                        expire(w, &w->targets[i]);
        arm_timer(w);
        return 0;
}

/* --- what is there already --- */

static int enumerate(
                struct udev *udev, const char *subsystem, const char *sysname, struct udev_enumerate **ret) {
        struct udev_enumerate *e = libudev.enumerate_new(udev);
        int r;

        if (!e)
                return errno_or_nomem();
        /* Globs may be passed: libudev matches with fnmatch(3). */
        r = libudev.enumerate_add_match_subsystem(e, subsystem);
        if (r >= 0 && sysname)
                r = libudev.enumerate_add_match_sysname(e, sysname);
        if (r >= 0)
                r = libudev.enumerate_scan_devices(e);
        if (r < 0) {
                libudev.enumerate_unref(e);
                return r;
        }
        *ret = e;
        return 0;
}

static int scan_target(DeviceWatch *w, Target *t) {
        struct udev_list_entry *entry;
        struct udev_enumerate *e;
        int r;

        r = enumerate(w->udev, t->subsystem, t->sysname, &e);
        if (r < 0)
                return r;
        udev_library_foreach(entry, libudev.enumerate_get_list_entry(e)) {
                const char *syspath = libudev.list_entry_get_name(entry);
                struct udev_device *device = libudev.device_new_from_syspath(w->udev, syspath);

                if (device && target_matches(t, device))
                        r = consider(w, t, device);
                libudev.device_unref(device);
                if (r < 0 || !t->name)
                        break;
        }
        libudev.enumerate_unref(e);
        return r;
}

int device_watch_scan(DeviceWatch *w) {
        int r = 0;

        for (size_t i = 0; r >= 0 && i < w->n_targets; i++)
                if (w->targets[i].name)
                        r = scan_target(w, &w->targets[i]);
        return r;
}

/* --- what comes later --- */

/* Here failures (lack of memory, as a rule) are ignored: a handler that fails is switched off by the loop,
 * while the next event may well get through. */

static void on_device(DeviceWatch *w, struct udev_device *device) {
        for (size_t i = 0; i < w->n_targets; i++)
                if (target_matches(&w->targets[i], device))
                        (void) consider(w, &w->targets[i], device);
}

static bool take_event(DeviceWatch *w, Monitor *m) {
        struct udev_device *device;
        const char *action;

        errno = 0;
        device = libudev.monitor_receive_device(m->monitor);
        if (!device) {
                /* The kernel had to drop what did not fit into the socket's buffer. */
                if (errno == ENOBUFS)
                        (void) device_watch_scan(w);
                return false;
        }
        /* A removal is noticed when the wait for the device is over. */
        action = libudev.device_get_action(device);
        if (!action || !streq(action, "remove"))
                on_device(w, device);
        libudev.device_unref(device);
        return true;
}

static void take_events(DeviceWatch *w, Monitor *m) {
        unsigned n = 0;

        /* The monitor is gone when all has been reached. */
        while (m->monitor && n++ < DISPATCH_MAX && take_event(w, m))
                ;
}

static int on_udevd_event(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        DeviceWatch *w = userdata;

        take_events(w, &w->from_udevd);
        return 0;
}

static int on_kernel_event(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        DeviceWatch *w = userdata;

        if (is_udevd_here())
                monitor_close(&w->from_kernel);
        else
                take_events(w, &w->from_kernel);
        return 0;
}

/* Only the awaited subsystems, unless one of them is a glob: the filter knows none. */
static int filter(const DeviceWatch *w, struct udev_monitor *monitor) {
        int r = 0;

        for (size_t i = 0; i < w->n_targets; i++)
                if (strpbrk(w->targets[i].subsystem, GLOB_CHARACTERS))
                        return 0;
        for (size_t i = 0; r >= 0 && i < w->n_targets; i++)
                r = libudev.monitor_filter_add_match_subsystem_devtype(
                                monitor, w->targets[i].subsystem, NULL);
        return r;
}

static int monitor_open(DeviceWatch *w, Monitor *m, const char *group, sd_event_io_handler_t handler) {
        int r;

        m->monitor = libudev.monitor_new_from_netlink(w->udev, group);
        if (!m->monitor)
                return errno_or_nomem();
        r = filter(w, m->monitor);
        if (r < 0)
                return r;
        r = libudev.monitor_enable_receiving(m->monitor);
        if (r < 0)
                return r;
        return sd_event_add_io(
                        w->event, &m->source, libudev.monitor_get_fd(m->monitor), EPOLLIN, handler, w);
}

/* --- opening --- */

static int add_targets(DeviceWatch *w, char *const *names) {
        if (strv_length(names) > ELEMENTSOF(w->targets))
                return -E2BIG;
        for (; names && *names; names++) {
                Target *t = &w->targets[w->n_targets++];
                int r;

                r = milestone_parse_device(*names, &t->subsystem, &t->sysname);
                if (r < 0)
                        return r;
                t->name = strdup(*names);
                if (!t->name)
                        return -ENOMEM;
        }
        return 0;
}

static int open_sources(DeviceWatch *w) {
        int r;

        r = sd_event_add_time(w->event, &w->timer, CLOCK_BOOTTIME, 0, 0, on_timer, w);
        if (r < 0)
                return r;
        r = sd_event_source_set_enabled(w->timer, SD_EVENT_OFF);
        if (r < 0)
                return r;
        r = monitor_open(w, &w->from_udevd, "udev", on_udevd_event);
        if (r < 0 || is_udevd_here())
                return r;
        return monitor_open(w, &w->from_kernel, "kernel", on_kernel_event);
}

int device_watch_open(sd_event *event,
                char *const *names,
                const DeviceWatchHandlers *handlers,
                void *userdata,
                DeviceWatch **ret) {
        _cleanup_(device_watch_freep) DeviceWatch *w = NULL;
        int r;

        r = udev_library_load();
        if (r < 0)
                return r;
        w = malloc(sizeof(*w));
        if (!w)
                return -ENOMEM;
        *w = (DeviceWatch){
                .event = sd_event_ref(event),
                .handlers = *handlers,
                .userdata = userdata,
                .udevd_awaited = handlers->udevd_awaited && handlers->udevd_awaited(userdata),
        };
        w->udev = libudev.new();
        if (!w->udev)
                return errno_or_nomem();
        r = add_targets(w, names);
        if (r < 0)
                return r;
        r = open_sources(w);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(w);
        return 0;
}

DeviceWatch *device_watch_free(DeviceWatch *w) {
        if (!w)
                return NULL;
        monitor_close(&w->from_udevd);
        monitor_close(&w->from_kernel);
        sd_event_source_unref(w->timer);
        for (size_t i = 0; i < w->n_targets; i++)
                target_done(&w->targets[i]);
        libudev.unref(w->udev);
        sd_event_unref(w->event);
        free(w);
        return NULL;
}

/* --- facts --- */

static int list_device(struct udev_device *device, char ***facts) {
        const char *subsystem = libudev.device_get_subsystem(device);
        struct udev_list_entry *entry;
        int r;

        if (!subsystem)
                return 0;
        if (!strv_contains(*facts, subsystem)) {
                r = strv_extend(facts, subsystem);
                if (r < 0)
                        return r;
        }
        udev_library_foreach(entry, libudev.device_get_properties_list_entry(device)) {
                char *fact = NULL;

                if (asprintf(&fact, "%s:%s=%s", subsystem, libudev.list_entry_get_name(entry),
                                    strempty(libudev.list_entry_get_value(entry))) < 0)
                        return -ENOMEM;
                r = strv_consume(facts, fact);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int list_subsystem(struct udev *udev, const char *subsystem, char ***facts) {
        struct udev_list_entry *entry;
        struct udev_enumerate *e;
        int r;

        r = enumerate(udev, subsystem, NULL, &e);
        if (r < 0)
                return r;
        udev_library_foreach(entry, libudev.enumerate_get_list_entry(e)) {
                struct udev_device *device =
                                libudev.device_new_from_syspath(udev, libudev.list_entry_get_name(entry));

                if (device)
                        r = list_device(device, facts);
                libudev.device_unref(device);
                if (r < 0)
                        break;
        }
        libudev.enumerate_unref(e);
        return r;
}

int device_list_facts(char *const *subsystems, char ***ret) {
        _cleanup_strv_free_ char **facts = NULL;
        struct udev *udev;
        int r;

        r = udev_library_load();
        if (r < 0)
                return r;
        udev = libudev.new();
        if (!udev)
                return errno_or_nomem();
        for (; r >= 0 && subsystems && *subsystems; subsystems++)
                r = list_subsystem(udev, *subsystems, &facts);
        libudev.unref(udev);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(facts);
        return 0;
}
