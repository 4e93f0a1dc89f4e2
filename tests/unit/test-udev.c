/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs.h"
#include "milestone.h"
#include "names.h"
#include "test-util.h"
#include "udev.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <umockdev.h>

/* To be run by umockdev-wrapper(1): /sys, udev's data base and its netlink socket are a test bed's then. */

#define BOUND_USEC (100 * USEC_PER_SEC)

typedef struct Bed {
        UMockdevTestbed *testbed;
        const char *dir;
        sd_event *event;
        DeviceWatch *watch;
        char **reached, **uninitialized; /* NAME; "NAME SYSPATH" */
        bool udevd_awaited;
} Bed;

static Bed bed;

/* --- what the test bed cannot do --- */

static size_t overflows; /* this many calls of recvmsg(2) fail, and their messages are lost */

ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
        static ssize_t (*next)(int, struct msghdr *, int);
        ssize_t n;

        if (!next)
                next = (ssize_t(*)(int, struct msghdr *, int)) dlsym(RTLD_NEXT, "recvmsg");
        n = next(fd, message, flags);
        if (n < 0 || overflows == 0)
                return n;
        overflows--;
        errno = ENOBUFS;
        return -1;
}

/* udev's data base of the test bed; umockdev 0.17 leaves this one alone. */
static FILE *open_database(const char *function, const char *path, const char *mode) {
        FILE *(*next)(const char *, const char *) =
                        (FILE * (*) (const char *, const char *) ) dlsym(RTLD_NEXT, function);
        const char *dir = getenv("UMOCKDEV_DIR");
        char redirected[PATH_MAX];

        if (!dir || !startswith(path, "/run/udev/data/"))
                return next(path, mode);
        (void) snprintf(redirected, sizeof(redirected), "%s%s", dir, path);
        return next(redirected, mode);
}

FILE *fopen(const char *path, const char *mode) {
        return open_database("fopen", path, mode);
}

FILE *fopen64(const char *path, const char *mode) {
        return open_database("fopen64", path, mode);
}

/* The kernel's own format, without udevd's header, into each monitor's socket. */
static void send_kernel_event(const char *action, const char *devpath, const char *subsystem) {
        _cleanup_free_ char *text = NULL, *pattern = NULL;
        glob_t found;
        int n;

        n = asprintf(&text, "%s@%s%cACTION=%s%cDEVPATH=%s%cSUBSYSTEM=%s%cSEQNUM=4711%c", action, devpath, 0,
                        action, 0, devpath, 0, subsystem, 0, 0);
        ck_assert_int_ge(n, 0);
        ck_assert_int_ge(asprintf(&pattern, "%s/event[0-9]*", bed.dir), 0);
        ck_assert_int_eq(glob(pattern, 0, NULL, &found), 0);
        for (size_t i = 0; i < found.gl_pathc; i++) {
                _cleanup_close_ int fd = socket(AF_UNIX, SOCK_RAW | SOCK_CLOEXEC, 0);
                struct sockaddr_un sa = { .sun_family = AF_UNIX };

                (void) snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", found.gl_pathv[i]);
                /* A monitor that is closed leaves its socket behind. */
                if (sendto(fd, text, (size_t) n, 0, (const struct sockaddr *) &sa, sizeof(sa)) < 0)
                        ck_assert_int_eq(errno, ECONNREFUSED);
        }
        globfree(&found);
}

/* --- test bed --- */

static void on_reached(void *userdata, const char *name) {
        ck_assert_ptr_eq(userdata, &bed);
        ck_assert_int_eq(strv_extend(&bed.reached, name), 0);
}

static void on_uninitialized(void *userdata, const char *name, const char *syspath) {
        char *text = NULL;

        ck_assert_ptr_eq(userdata, &bed);
        ck_assert(!strv_contains(bed.reached, name));
        ck_assert_int_ge(asprintf(&text, "%s %s", name, syspath), 0);
        ck_assert_int_eq(strv_consume(&bed.uninitialized, text), 0);
}

static bool is_udevd_awaited(void *userdata) {
        return ((const Bed *) userdata)->udevd_awaited;
}

static const DeviceWatchHandlers handlers = {
        .reached = on_reached,
        .uninitialized = on_uninitialized,
        .udevd_awaited = is_udevd_awaited,
};

static void setup(void) {
        bed = (Bed){ .testbed = umockdev_testbed_new() };
        ck_assert_msg(umockdev_in_mock_environment(), "not run by umockdev-wrapper");
        bed.dir = getenv("UMOCKDEV_DIR");
        ck_assert_int_ge(sd_event_new(&bed.event), 0);
}

static void teardown(void) {
        device_watch_free(bed.watch);
        sd_event_unref(bed.event);
        strv_free(bed.reached);
        strv_free(bed.uninitialized);
        g_object_unref(bed.testbed);
}

/* A new device, of which udevd tells. */
static void add(const char *subsystem, const char *sysname) {
        g_free(umockdev_testbed_add_device(bed.testbed, subsystem, sysname, NULL, NULL, NULL));
}

/* A new device, of which nobody has told yet. */
static void add_untold(const char *subsystem, const char *sysname) {
        _cleanup_free_ char *uevent = NULL, *class = NULL, *link = NULL, *target = NULL;

        ck_assert_int_ge(asprintf(&uevent, "sys/devices/%s/uevent", sysname), 0);
        ck_assert_int_ge(asprintf(&class, "sys/class/%s/.keep", subsystem), 0);
        ck_assert_int_ge(asprintf(&link, "%s/sys/devices/%s/subsystem", bed.dir, sysname), 0);
        ck_assert_int_ge(asprintf(&target, "../../class/%s", subsystem), 0);
        test_tree_write(bed.dir, uevent, "");
        test_tree_write(bed.dir, class, "");
        ck_assert_int_eq(symlink(target, link), 0);
}

/* What udevd leaves behind when it has initialised a device (without a device number). */
static void initialize(const char *subsystem, const char *sysname) {
        _cleanup_free_ char *path = NULL;

        ck_assert_int_ge(asprintf(&path, "run/udev/data/+%s:%s", subsystem, sysname), 0);
        test_tree_write(bed.dir, path, "I:1234567\nE:ID_TEST=1\n");
}

static void add_initialized(const char *subsystem, const char *sysname) {
        add(subsystem, sysname);
        initialize(subsystem, sysname);
}

static void tell(const char *action, const char *sysname) {
        _cleanup_free_ char *path = NULL;

        ck_assert_int_ge(asprintf(&path, "/sys/devices/%s", sysname), 0);
        umockdev_testbed_uevent(bed.testbed, path, action);
}

static void take_away(const char *sysname) {
        _cleanup_free_ char *path = NULL;

        ck_assert_int_ge(asprintf(&path, "/sys/devices/%s", sysname), 0);
        umockdev_testbed_remove_device(bed.testbed, path);
}

static void watch(const char *first, ...) {
        _cleanup_strv_free_ char **names = NULL;
        va_list ap;

        va_start(ap, first);
        for (const char *name = first; name; name = va_arg(ap, const char *))
                ck_assert_int_eq(strv_extend(&names, name), 0);
        va_end(ap);
        ck_assert_int_eq(device_watch_open(bed.event, names, &handlers, &bed, &bed.watch), 0);
}

static void scan(void) {
        ck_assert_int_eq(device_watch_scan(bed.watch), 0);
}

static void run_until_reached(const char *name) {
        usec_t since = fs_now();

        while (!strv_contains(bed.reached, name)) {
                ck_assert_int_ge(sd_event_run(bed.event, 50 * USEC_PER_MSEC), 0);
                ck_assert_msg(fs_now() - since < BOUND_USEC, "%s was not reached", name);
        }
}

/* All events that are there have been taken. */
static void run_until_idle(void) {
        int r;

        do
                r = sd_event_run(bed.event, 0);
        while (r > 0);
        ck_assert_int_eq(r, 0);
}

/* --- what is there --- */

START_TEST(test_device_is_there) {
        add_initialized("drm", "card0");
        watch("device:drm/card0", NULL);
        ck_assert_ptr_null(bed.reached);
        scan();
        ck_assert_uint_eq(strv_length(bed.reached), 1);
        ck_assert_str_eq(bed.reached[0], "device:drm/card0");
        /* Once for each. */
        scan();
        tell("change", "card0");
        run_until_idle();
        ck_assert_uint_eq(strv_length(bed.reached), 1);
        ck_assert_ptr_null(bed.uninitialized);
}
END_TEST

START_TEST(test_other_devices_are_there) {
        add_initialized("drm", "card1");
        add_initialized("net", "card0");
        add_initialized("drm", "card00");
        watch("device:drm/card0", NULL);
        scan();
        tell("change", "card1");
        tell("change", "card00");
        run_until_idle();
        ck_assert_ptr_null(bed.reached);
}
END_TEST

START_TEST(test_globs) {
        add_initialized("drm", "card0-HDMI-1");
        add_initialized("block", "vda");
        watch("device:dr?/card[0-9]-*", "device:*/vd?", "device:b*/sd*", "device:drm/card0", NULL);
        scan();
        ck_assert_uint_eq(strv_length(bed.reached), 2);
        ck_assert(strv_contains(bed.reached, "device:dr?/card[0-9]-*"));
        ck_assert(strv_contains(bed.reached, "device:*/vd?"));
        add("block", "sdb1");
        run_until_reached("device:b*/sd*");
        ck_assert_uint_eq(strv_length(bed.reached), 3);
}
END_TEST

/* --- what comes --- */

START_TEST(test_device_comes) {
        watch("device:drm/card0", "device:drm/card1", "device:net/eth0", NULL);
        scan();
        ck_assert_ptr_null(bed.reached);
        add("drm", "card1");
        run_until_reached("device:drm/card1");
        add("net", "eth0");
        run_until_reached("device:net/eth0");
        add("drm", "card7");
        add("drm", "card0");
        run_until_reached("device:drm/card0");
        ck_assert_uint_eq(strv_length(bed.reached), 3);
        ck_assert_ptr_null(bed.uninitialized);
}
END_TEST

/* Watch first, then look: what comes between the two is told of once. */
START_TEST(test_device_comes_before_the_scan) {
        watch("device:drm/card0", "device:drm/never", NULL);
        add_initialized("drm", "card0");
        scan();
        run_until_idle();
        ck_assert_uint_eq(strv_length(bed.reached), 1);
}
END_TEST

START_TEST(test_removal_is_no_arrival) {
        add_initialized("drm", "card1");
        watch("device:drm/card*", NULL);
        take_away("card1");
        run_until_idle();
        scan();
        ck_assert_ptr_null(bed.reached);
}
END_TEST

/* --- case 27: a device that udev does not initialise --- */

START_TEST(test_case_27) {
        usec_t since;

        bed.udevd_awaited = true;
        add("drm", "never");
        add("drm", "soon");
        add("drm", "silently");
        add("drm", "gone");
        add("drm", "away");
        watch("device:drm/never", "device:drm/soon", "device:drm/silently", "device:drm/gone",
                        "device:drm/aw*", NULL);
        scan();
        /* Before udevd has come, nothing can be told of any of them, however long that takes. */
        for (since = fs_now(); fs_now() < since + DEVICE_INIT_MAX_USEC + USEC_PER_SEC;)
                ck_assert_int_ge(sd_event_run(bed.event, USEC_PER_SEC), 0);
        ck_assert_ptr_null(bed.reached);
        bed.udevd_awaited = false;
        since = fs_now();
        /* Its rules have run while it is waited for. */
        tell("add", "soon");
        run_until_reached("device:drm/soon");
        /* The same, but the event was lost. */
        initialize("drm", "silently");
        take_away("gone");
        /* Another one takes its place, and is waited for as long. */
        add("drm", "away2");
        take_away("away");
        run_until_reached("device:drm/never");
        ck_assert_uint_ge(fs_now() - since, DEVICE_INIT_MAX_USEC);
        run_until_reached("device:drm/silently");
        run_until_reached("device:drm/aw*");
        ck_assert_uint_eq(strv_length(bed.uninitialized), 1);
        ck_assert_str_eq(bed.uninitialized[0], "device:drm/never /sys/devices/never");
        ck_assert(!strv_contains(bed.reached, "device:drm/gone"));
}
END_TEST

/* No udevd: nothing but the kernel's word. */
START_TEST(test_case_27_no_udevd) {
        usec_t since;

        watch("device:misc/late", "device:misc/later", NULL);
        scan();
        since = fs_now();
        add_untold("misc", "late");
        send_kernel_event("add", "/devices/late", "misc");
        run_until_idle();
        ck_assert_ptr_null(bed.reached);
        /* However much happens to it in the meantime. */
        while (!bed.reached) {
                send_kernel_event("change", "/devices/late", "misc");
                ck_assert_int_ge(sd_event_run(bed.event, 50 * USEC_PER_MSEC), 0);
                ck_assert_msg(fs_now() - since < BOUND_USEC, "device:misc/late was not reached");
        }
        ck_assert_uint_ge(fs_now() - since, DEVICE_INIT_MAX_USEC);
        ck_assert_uint_eq(strv_length(bed.reached), 1);
        ck_assert_uint_eq(strv_length(bed.uninitialized), 1);
        ck_assert_str_eq(bed.uninitialized[0], "device:misc/late /sys/devices/late");
}
END_TEST

/* --- monitors --- */

static size_t count_monitors(void) {
        _cleanup_free_ char *pattern = NULL;
        size_t n = 0;
        glob_t found;

        ck_assert_int_ge(asprintf(&pattern, "%s/event[0-9]*", bed.dir), 0);
        if (glob(pattern, 0, NULL, &found) == 0)
                for (size_t i = 0; i < found.gl_pathc; i++) {
                        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_RAW | SOCK_CLOEXEC, 0);
                        struct sockaddr_un sa = { .sun_family = AF_UNIX };

                        (void) snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", found.gl_pathv[i]);
                        n += connect(fd, (const struct sockaddr *) &sa, sizeof(sa)) == 0;
                }
        globfree(&found);
        return n;
}

START_TEST(test_monitors) {
        watch("device:drm/card0", "device:net/eth0", NULL);
        /* The kernel's only where no udevd is. */
        ck_assert_uint_eq(count_monitors(), access("/" PATH_UDEV_CONTROL, F_OK) == 0 ? 1 : 2);
        add("drm", "card0");
        run_until_reached("device:drm/card0");
        ck_assert_uint_ge(count_monitors(), 1);
        add("net", "eth0");
        run_until_reached("device:net/eth0");
        /* Nothing is waited for any more: nothing wakes the daemon up. */
        ck_assert_uint_eq(count_monitors(), 0);
}
END_TEST

START_TEST(test_socket_overflows) {
        size_t monitors;

        watch("device:drm/card0", "device:drm/never", NULL);
        scan();
        add_initialized("drm", "card0");
        overflows = monitors = count_monitors();
        run_until_reached("device:drm/card0");
        ck_assert_uint_lt(overflows, monitors);
        ck_assert_ptr_null(bed.uninitialized);
}
END_TEST

START_TEST(test_names_that_are_none) {
        static const char *const names[] = { "graphical.target", "device:", "device:drm", "device:/card0" };
        DeviceWatch *w = (DeviceWatch *) &bed;

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                char *list[] = { (char *) "device:drm/card0", (char *) names[i], NULL };

                ck_assert_int_eq(device_watch_open(bed.event, list, &handlers, &bed, &w), -EINVAL);
        }
        ck_assert_ptr_eq(w, &bed);
        ck_assert_ptr_null(device_watch_free(NULL));
}
END_TEST

START_TEST(test_many_names) {
        _cleanup_strv_free_ char **names = NULL;
        DeviceWatch *w = NULL;

        for (unsigned i = 0; i < MILESTONES_MAX; i++)
                ck_assert_int_eq(strv_extend(&names, "device:drm/card0"), 0);
        ck_assert_int_eq(device_watch_open(bed.event, names, &handlers, &bed, &bed.watch), 0);
        ck_assert_int_eq(strv_extend(&names, "device:drm/card0"), 0);
        ck_assert_int_eq(device_watch_open(bed.event, names, &handlers, &bed, &w), -E2BIG);
        ck_assert_ptr_null(w);
        add_initialized("drm", "card0");
        scan();
        ck_assert_uint_eq(strv_length(bed.reached), MILESTONES_MAX);
}
END_TEST

/* --- facts --- */

START_TEST(test_facts) {
        char *subsystems[] = { (char *) "power_supply", (char *) "absent", NULL };
        _cleanup_strv_free_ char **facts = NULL;
        unsigned n = 0;

        ck_assert_int_eq(device_list_facts(subsystems, &facts), 0);
        ck_assert_ptr_null(facts);
        g_free(umockdev_testbed_add_device(bed.testbed, "power_supply", "BAT0", NULL, NULL,
                        "POWER_SUPPLY_SCOPE", "System", "POWER_SUPPLY_MODEL_NAME", "a name = b", NULL));
        g_free(umockdev_testbed_add_device(bed.testbed, "power_supply", "hidpp", NULL, NULL,
                        "POWER_SUPPLY_SCOPE", "Device", NULL));
        add("drm", "card0");
        ck_assert_int_eq(device_list_facts(subsystems, &facts), 0);
        ck_assert(strv_contains(facts, "power_supply:POWER_SUPPLY_SCOPE=System"));
        ck_assert(strv_contains(facts, "power_supply:POWER_SUPPLY_SCOPE=Device"));
        ck_assert(strv_contains(facts, "power_supply:POWER_SUPPLY_MODEL_NAME=a name = b"));
        for (char **fact = facts; *fact; fact++) {
                n += streq(*fact, "power_supply");
                ck_assert_ptr_nonnull(startswith(*fact, "power_supply"));
        }
        ck_assert_uint_eq(n, 1);
}
END_TEST

START_TEST(test_facts_of_globs) {
        char *subsystems[] = { (char *) "d*", (char *) "d?m", NULL };
        _cleanup_strv_free_ char **facts = NULL;
        unsigned n = 0;

        add("drm", "card0");
        add("net", "eth0");
        ck_assert_int_eq(device_list_facts(subsystems, &facts), 0);
        for (char **fact = facts; *fact; fact++)
                n += streq(*fact, "drm");
        ck_assert_uint_eq(n, 1);
        ck_assert(!strv_contains(facts, "net"));
}
END_TEST

static Suite *udev_suite(void) {
        Suite *suite = suite_create("udev");
        TCase *all = tcase_create("all");

        tcase_add_checked_fixture(all, setup, teardown);
        tcase_add_test(all, test_device_is_there);
        tcase_add_test(all, test_other_devices_are_there);
        tcase_add_test(all, test_globs);
        tcase_add_test(all, test_device_comes);
        tcase_add_test(all, test_device_comes_before_the_scan);
        tcase_add_test(all, test_removal_is_no_arrival);
        tcase_add_test(all, test_case_27);
        tcase_add_test(all, test_case_27_no_udevd);
        tcase_add_test(all, test_monitors);
        tcase_add_test(all, test_socket_overflows);
        tcase_add_test(all, test_names_that_are_none);
        tcase_add_test(all, test_many_names);
        tcase_add_test(all, test_facts);
        tcase_add_test(all, test_facts_of_globs);
        suite_add_tcase(suite, all);
        return suite;
}

int main(void) {
        return test_run(udev_suite());
}
