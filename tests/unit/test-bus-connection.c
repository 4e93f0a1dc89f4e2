/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "systemd-bus.h"

#include "bus-connect.h"
#include "mock-systemd.h"
#include "names.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>

/* What the scenarios of test-systemd-bus leave out: what is asked of the broker, trees with long names, the
 * list of jobs, a peer that hangs up again and again. */

static char *tree;
static int root_fd;
static sd_event *event;
static pid_t bus_pid;
static MockSystemd pid1;
static unsigned n_reached, n_probed;

static void setup(void) {
        tree = test_tree_new();
        root_fd = test_tree_open(tree);
        bus_pid = 0;
        n_reached = n_probed = 0;
        ck_assert_int_ge(sd_event_new(&event), 0);
        mock_init(&pid1, tree, event);
}

static void teardown(void) {
        mock_done(&pid1);
        mock_bus_kill(&bus_pid);
        sd_event_unref(event);
        close(root_fd);
        test_tree_removep(&tree);
}

static void on_reached(void *userdata, const char *name) {
        n_reached++;
}

static void on_probed(void *userdata) {
        n_probed++;
}

static BusWatch *watch_open(char *const *names) {
        static const BusWatchHandlers handlers = { .reached = on_reached, .probed = on_probed };
        BusWatch *watch;
        bool probing;

        ck_assert_int_ge(bus_watch_open(root_fd, event, names, &handlers, NULL, &probing, &watch), 0);
        return watch;
}

/* --- what the broker and PID 1 are asked for --- */

#define RULES_MAX 8

typedef struct Rules {
        char *rules[RULES_MAX + 1];
        size_t n;
} Rules;

static int on_add_match(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Rules *r = userdata;
        const char *rule;

        if (!sd_bus_message_is_method_call(m, "org.freedesktop.DBus", "AddMatch"))
                return 0;
        ck_assert_int_gt(sd_bus_message_read(m, "s", &rule), 0);
        ck_assert_uint_lt(r->n, RULES_MAX);
        r->rules[r->n++] = strdup(rule);
        return 1;
}

/* A second connection, to which the broker copies every AddMatch. */
static sd_bus *monitor_open(Rules *rules) {
        sd_bus *bus = mock_bus_connect(tree);

        ck_assert_int_ge(sd_bus_add_filter(bus, NULL, on_add_match, rules), 0);
        ck_assert_int_ge(sd_bus_call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                         "org.freedesktop.DBus.Monitoring", "BecomeMonitor", NULL, NULL,
                                         "asu", 1, "type='method_call',member='AddMatch'", 0U),
                        0);
        ck_assert_int_ge(sd_bus_attach_event(bus, event, SD_EVENT_PRIORITY_NORMAL), 0);
        return bus;
}

#define RULE_NAME                                                                   \
        "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus'," \
        "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.freedesktop.systemd1'"
#define RULE_MANAGER(member)                                                                \
        "type='signal',sender='org.freedesktop.systemd1',path='/org/freedesktop/systemd1'," \
        "interface='org.freedesktop.systemd1.Manager',member='" member "'"
#define RULE_UNIT(unit)                                                                                   \
        "type='signal',sender='org.freedesktop.systemd1',path='/org/freedesktop/systemd1/unit/" unit "'," \
        "interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"                         \
        "arg0='org.freedesktop.systemd1.Unit'"

static const struct {
        const char *names[3];
        unsigned n_calls;
        const char *rules[RULES_MAX];
} asked_for[] = {
        { { "startup-finished" }, 2, { RULE_NAME, RULE_MANAGER("StartupFinished") } },
        { { "graphical.target" }, 3,
                        { RULE_NAME, RULE_MANAGER("Reloading"), RULE_UNIT("graphical_2etarget") } },
        { { "default.target", "startup-finished" }, 4,
                        { RULE_NAME, RULE_MANAGER("Reloading"), RULE_MANAGER("StartupFinished"),
                                        RULE_UNIT("multi_2duser_2etarget") } },
};

/* A rule too many would make the broker send what nobody reads; a call too many would make PID 1 work. */
START_TEST(test_asks_for_nothing_else) {
        Rules rules = {};
        size_t n_expected = 0;
        BusWatch *watch;
        sd_bus *monitor;

        bus_pid = mock_bus_start(tree);
        mock_appear(&pid1);
        mock_set_unit(&pid1, "default.target", "multi-user.target", "inactive");
        monitor = monitor_open(&rules);
        while (n_expected < RULES_MAX && asked_for[_i].rules[n_expected])
                n_expected++;

        watch = watch_open((char *const *) asked_for[_i].names);
        RUN_UNTIL(event, n_probed > 0 && rules.n >= n_expected);
        /* Things that nobody awaits come and go; what is awaited comes last. */
        for (unsigned i = 0; i < 100; i++)
                mock_change_unit(&pid1, "other.service", i % 2 == 0 ? "active" : "inactive");
        mock_change_unit(&pid1, "multi-user.target", "active");
        mock_change_unit(&pid1, "graphical.target", "active");
        mock_finish_startup(&pid1);
        RUN_UNTIL(event, n_reached >= strv_length((char *const *) asked_for[_i].names));

        ck_assert_uint_eq(rules.n, n_expected);
        for (size_t i = 0; i < n_expected; i++)
                ck_assert_str_eq(rules.rules[i], asked_for[_i].rules[i]);
        ck_assert_uint_eq(pid1.n_calls, asked_for[_i].n_calls);

        bus_watch_free(watch);
        sd_bus_close_unref(monitor);
        for (size_t i = 0; i < rules.n; i++)
                free(rules.rules[i]);
}
END_TEST

/* --- where the bus is --- */

/* Longer than a socket's address. The bus comes up while it is waited for. */
START_TEST(test_root_with_a_long_path) {
        char *const names[] = { (char *) "a.target", NULL };
        _cleanup_free_ char *deep = NULL, *from = NULL, *to = NULL;
        char component[101] = "";
        BusWatch *watch;

        memset(component, 'x', sizeof(component) - 1);
        ck_assert_int_ge(asprintf(&deep, "%s/%s/%s/.keep", tree, component, component), 0);
        test_tree_write(tree, deep + strlen(tree) + 1, "");
        deep[strlen(deep) - strlen("/.keep")] = '\0';
        close(root_fd);
        root_fd = test_tree_open(deep);
        watch = watch_open(names);
        ck_assert_int_ge(sd_event_run(event, 0), 0);

        bus_pid = mock_bus_start(tree);
        mock_appear(&pid1);
        mock_set_unit(&pid1, "a.target", "a.target", "active");
        test_tree_write(deep, "run/dbus/.keep", "");
        ck_assert_int_ge(asprintf(&from, "%s/" PATH_SYSTEM_BUS, tree), 0);
        ck_assert_int_ge(asprintf(&to, "%s/" PATH_SYSTEM_BUS, deep), 0);
        ck_assert_int_eq(rename(from, to), 0);

        RUN_UNTIL(event, n_reached == 1);
        bus_watch_free(watch);
}
END_TEST

START_TEST(test_nothing_awaited) {
        BusWatch *watch;
        int fd;

        fd = mock_bus_listen(tree);
        watch = watch_open(NULL);
        ck_assert_int_ge(sd_event_run(event, 0), 0);
        ck_assert_int_lt(accept(fd, NULL, NULL), 0);
        ck_assert_int_eq(errno, EAGAIN);
        ck_assert_uint_eq(n_probed, 0);

        bus_watch_free(watch);
        close(fd);
}
END_TEST

static int on_time(sd_event_source *s, uint64_t usec, void *userdata) {
        *(bool *) userdata = true;
        return 0;
}

static unsigned count_fds_of(const char *kind) {
        DIR *d = opendir("/proc/self/fd");
        char target[64];
        unsigned n = 0;

        ck_assert_ptr_nonnull(d);
        for (struct dirent *e; (e = readdir(d));) {
                ssize_t l = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1);

                target[MAX(l, 0)] = '\0';
                n += streq(target, kind);
        }
        closedir(d);
        return n;
}

/* Until there is a bus, the kernel is to tell when there is; the alternative would be to try again and
 * again. */
START_TEST(test_waits_for_the_socket) {
        char *const names[] = { (char *) "a.target", NULL };
        BusWatch *watch;

        watch = watch_open(names);
        ck_assert_uint_eq(count_fds_of("anon_inode:inotify"), 1);

        bus_pid = mock_bus_start(tree);
        RUN_UNTIL(event, count_fds_of("anon_inode:inotify") == 0);
        bus_watch_free(watch);
}
END_TEST

static void move_bus(const char *from, const char *to) {
        _cleanup_free_ char *old = NULL, *new = NULL;

        ck_assert_int_ge(asprintf(&old, "%s/%s", tree, from), 0);
        ck_assert_int_ge(asprintf(&new, "%s/%s", tree, to), 0);
        ck_assert_int_eq(rename(old, new), 0);
}

/* A bus that comes up, or PID 1 on it, is left alone for a moment, and then asked once. */
START_TEST(test_lets_the_bus_settle) {
        char *const names[] = { (char *) "a.target", NULL };
        bool pid1_is_late = _i;
        BusWatch *watch;
        usec_t since;

        bus_pid = mock_bus_start(tree);
        mock_set_unit(&pid1, "a.target", "a.target", "active");
        if (!pid1_is_late)
                mock_appear(&pid1);
        move_bus(PATH_SYSTEM_BUS, "run/dbus/elsewhere");
        watch = watch_open(names);
        ck_assert_int_ge(sd_event_run(event, 0), 0);

        since = fs_now();
        move_bus("run/dbus/elsewhere", PATH_SYSTEM_BUS);
        if (pid1_is_late) {
                RUN_UNTIL(event, count_fds_of("anon_inode:inotify") == 0);
                since = fs_now();
                mock_appear(&pid1);
        }

        RUN_UNTIL(event, pid1.n_calls > 0);
        ck_assert_uint_ge(fs_now() - since, BUS_SETTLE_USEC);
        RUN_UNTIL(event, n_reached == 1);
        ck_assert_uint_eq(pid1.n_calls, 3); /* Subscribe, Id, ActiveState */
        bus_watch_free(watch);
}
END_TEST

/* A peer that takes each connection and drops it: tried again after a pause, and a longer one each time. */
START_TEST(test_pauses_between_tries) {
        char *const names[] = { (char *) "a.target", NULL };
        bool over = false;
        unsigned n_tries = 0;
        BusWatch *watch;
        int fd;

        fd = mock_bus_listen(tree);
        watch = watch_open(names);
        ck_assert_int_ge(sd_event_add_time_relative(
                                         event, NULL, CLOCK_MONOTONIC, USEC_PER_SEC, 1, on_time, &over),
                        0);
        while (!over) {
                int c = accept(fd, NULL, NULL);

                if (c >= 0) {
                        n_tries++;
                        close(c);
                }
                ck_assert_int_ge(sd_event_run(event, USEC_PER_MSEC), 0);
        }

        /* At once, then after 0.1, 0.2, 0.4 s...; fewer where the test machine is slow. */
        ck_assert_uint_ge(n_tries, 1);
        ck_assert_uint_le(n_tries, 4);
        ck_assert_uint_eq(n_probed, 1);
        bus_watch_free(watch);
        close(fd);
}
END_TEST

/* --- the list of jobs --- */

/* PID 1 answers from a thread, as the caller waits. */
static void *run_loop(void *userdata) {
        ck_assert_int_ge(sd_event_loop(event), 0);
        return NULL;
}

static int on_stop(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        return sd_event_exit(event, 0);
}

static int list_jobs_threaded(BusWatch *watch, usec_t timeout, char ***ret) {
        int fds[2], r;
        pthread_t thread;

        ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
        ck_assert_int_ge(sd_event_add_io(event, NULL, fds[0], EPOLLHUP, on_stop, NULL), 0);
        ck_assert_int_eq(pthread_create(&thread, NULL, run_loop, NULL), 0);
        r = bus_watch_list_jobs(watch, timeout, ret);
        close(fds[1]);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        close(fds[0]);
        return r;
}

START_TEST(test_list_jobs) {
        static const MockJob jobs[] = {
                { 9, "d.service", "start", "waiting" },
                { 8, "c.service", "stop", "running" },
                { 7, "b.service", "restart", "waiting" },
                { 6, "a.service", "start", "running" },
                { 5, "e.service", "start", "waiting" },
                { 4, "f.device", "start", "running" },
        };
        static const char *const expected[] = { "f.device/start", "a.service/start", "c.service/stop",
                "e.service/start", "d.service/start", "b.service/restart" };
        _cleanup_strv_free_ char **list = NULL;
        BusWatch *watch;

        bus_pid = mock_bus_start(tree);
        mock_appear(&pid1);
        pid1.jobs = jobs;
        pid1.n_jobs = ELEMENTSOF(jobs);

        watch = watch_open(NULL);
        ck_assert_int_eq(list_jobs_threaded(watch, PATIENCE, &list), 0);
        ck_assert_uint_eq(strv_length(list), ELEMENTSOF(expected));
        for (size_t i = 0; i < ELEMENTSOF(expected); i++)
                ck_assert_str_eq(list[i], expected[i]);
        bus_watch_free(watch);
}
END_TEST

/* The 16 foremost ones of many, in whatever order PID 1 lists them. */
START_TEST(test_list_many_jobs) {
        MockJob jobs[100];
        char units[ELEMENTSOF(jobs)][16];
        _cleanup_strv_free_ char **list = NULL;
        BusWatch *watch;

        for (unsigned i = 0; i < ELEMENTSOF(jobs); i++) {
                unsigned id = 37 * i % (unsigned) ELEMENTSOF(jobs); /* each once */

                (void) snprintf(units[i], sizeof(units[i]), "%u.service", id);
                jobs[i] = (MockJob){ id, units[i], "start", id >= 95 ? "running" : "waiting" };
        }
        bus_pid = mock_bus_start(tree);
        mock_appear(&pid1);
        pid1.jobs = jobs;
        pid1.n_jobs = ELEMENTSOF(jobs);

        watch = watch_open(NULL);
        ck_assert_int_eq(list_jobs_threaded(watch, PATIENCE, &list), 0);
        ck_assert_uint_eq(strv_length(list), 16);
        ck_assert_str_eq(list[0], "95.service/start");
        ck_assert_str_eq(list[4], "99.service/start");
        ck_assert_str_eq(list[5], "0.service/start");
        ck_assert_str_eq(list[15], "10.service/start");
        bus_watch_free(watch);
}
END_TEST

START_TEST(test_list_no_jobs) {
        _cleanup_strv_free_ char **list = NULL;
        BusWatch *watch;

        bus_pid = mock_bus_start(tree);
        mock_appear(&pid1);
        watch = watch_open(NULL);
        ck_assert_int_eq(list_jobs_threaded(watch, PATIENCE, &list), 0);
        ck_assert_uint_eq(strv_length(list), 0);
        bus_watch_free(watch);
}
END_TEST

/* Nothing that the bus or PID 1 fails to do holds up the caller for longer than it said. */
START_TEST(test_list_jobs_fails) {
        char *const names[] = { (char *) "a.target", NULL };
        char **list = (char **) names;
        BusWatch *watch, *waiting;
        int fd;

        watch = watch_open(NULL);
        ck_assert_int_eq(bus_watch_list_jobs(watch, PATIENCE, &list), -ENOTCONN); /* no socket */

        fd = mock_bus_listen(tree);
        ck_assert_int_eq(bus_watch_list_jobs(watch, 50 * USEC_PER_MSEC, &list), -ETIMEDOUT);
        waiting = watch_open(names); /* which by now knows that nobody answers there */
        ck_assert_int_eq(bus_watch_list_jobs(waiting, PATIENCE, &list), -ENOTCONN);
        bus_watch_free(waiting);
        close(fd);
        ck_assert_int_eq(bus_watch_list_jobs(watch, PATIENCE, &list), -ENOTCONN); /* a stale socket */

        bus_pid = mock_bus_start(tree);
        ck_assert_int_lt(bus_watch_list_jobs(watch, PATIENCE, &list), 0); /* no systemd */

        mock_appear(&pid1);
        pid1.holding = true;
        ck_assert_int_eq(list_jobs_threaded(watch, 50 * USEC_PER_MSEC, &list), -ETIMEDOUT);

        ck_assert_ptr_eq(list, names); /* untouched */
        bus_watch_free(watch);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("bus-connection");
        TCase *tc = tcase_create("bus-connection");

        tcase_add_checked_fixture(tc, setup, teardown);
        tcase_add_loop_test(tc, test_asks_for_nothing_else, 0, ELEMENTSOF(asked_for));
        tcase_add_test(tc, test_root_with_a_long_path);
        tcase_add_test(tc, test_nothing_awaited);
        tcase_add_test(tc, test_waits_for_the_socket);
        tcase_add_loop_test(tc, test_lets_the_bus_settle, 0, 2);
        tcase_add_test(tc, test_pauses_between_tries);
        tcase_add_test(tc, test_list_jobs);
        tcase_add_test(tc, test_list_many_jobs);
        tcase_add_test(tc, test_list_no_jobs);
        tcase_add_test(tc, test_list_jobs_fails);
        suite_add_tcase(suite, tc);
        return test_run(suite);
}
