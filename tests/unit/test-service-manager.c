/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "service-manager.h"
#include "test-util.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PATIENCE_USEC (60 * USEC_PER_SEC)

static struct {
        char *dir;
        int manager; /* the manager's end */
        sd_event *event;
} t;

static void bind_manager(const char *name, const char *address) {
        struct sockaddr_un sa = { .sun_family = AF_UNIX };
        socklen_t length = offsetof(struct sockaddr_un, sun_path);

        length += (socklen_t) snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", name);
        if (name[0] == '@')
                sa.sun_path[0] = '\0';
        t.manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        ck_assert_int_ge(t.manager, 0);
        ck_assert_int_eq(bind(t.manager, (struct sockaddr *) &sa, length), 0);
        ck_assert_int_eq(setenv("NOTIFY_SOCKET", address, 1), 0);
}

static void bind_path(void) {
        _cleanup_free_ char *path = NULL;

        ck_assert_int_ge(asprintf(&path, "%s/manager", t.dir), 0);
        bind_manager(path, path);
}

static void setup(void) {
        t.dir = test_tree_new();
        t.manager = -1;
        ck_assert_int_eq(sd_event_new(&t.event), 0);
        unsetenv("NOTIFY_SOCKET");
        unsetenv("WATCHDOG_USEC");
        unsetenv("WATCHDOG_PID");
}

static void teardown(void) {
        sd_event_unref(t.event);
        closep(&t.manager);
        test_tree_removep(&t.dir);
}

/* What was sent; "" if nothing is there. */
static const char *hear(void) {
        static char buf[8192];
        ssize_t n = recv(t.manager, buf, sizeof(buf) - 1, MSG_DONTWAIT);

        if (n < 0) {
                ck_assert_int_eq(errno, EAGAIN);
                n = 0;
        }
        buf[n] = '\0';
        return buf;
}

/* Runs the loop until something has been sent. */
static const char *wait_and_hear(void) {
        const char *said;

        while (isempty(said = hear()))
                ck_assert_int_gt(sd_event_run(t.event, PATIENCE_USEC), 0);
        return said;
}

static void fill_queue(void) {
        struct sockaddr_un sa;
        socklen_t length = sizeof(sa);
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        ck_assert_int_eq(getsockname(t.manager, (struct sockaddr *) &sa, &length), 0);
        while (sendto(fd, "x", 1, MSG_DONTWAIT, (struct sockaddr *) &sa, length) >= 0)
                ;
        ck_assert_int_eq(errno, EAGAIN);
        close(fd);
}

START_TEST(tells) {
        _cleanup_(service_manager_freep) ServiceManager *s = NULL;

        bind_path();
        ck_assert_int_eq(service_manager_open(t.event, &s), 0);
        ck_assert_str_eq(hear(), "");
        service_manager_ready(s);
        ck_assert_str_eq(hear(), "READY=1");
        service_manager_status(s, "Waiting for %s.", "a.target");
        ck_assert_str_eq(hear(), "STATUS=Waiting for a.target.");
        service_manager_status(s, "Waiting for a.target.");
        ck_assert_str_eq(hear(), "");
        service_manager_status(s, "Waiting for b.target.");
        ck_assert_str_eq(hear(), "STATUS=Waiting for b.target.");
        /* Without a watchdog there is nothing to wake up for. */
        ck_assert_int_eq(sd_event_run(t.event, 0), 0);
        ck_assert_str_eq(hear(), "");
}
END_TEST

START_TEST(early_status_goes_with_ready) {
        _cleanup_(service_manager_freep) ServiceManager *s = NULL;

        bind_path();
        ck_assert_int_eq(service_manager_open(t.event, &s), 0);
        service_manager_status(s, "x");
        service_manager_status(s, "y");
        ck_assert_str_eq(hear(), "");
        service_manager_ready(s);
        ck_assert_str_eq(hear(), "READY=1\nSTATUS=y");
        service_manager_status(s, "y");
        ck_assert_str_eq(hear(), "");
}
END_TEST

START_TEST(abstract_name) {
        _cleanup_free_ char *name = NULL;

        ck_assert_int_ge(asprintf(&name, "@rcu-bootd-test/%ld", (long) getpid()), 0);
        bind_manager(name, name);
        service_manager_status(NULL, "x");
        ck_assert_str_eq(hear(), "STATUS=x");
}
END_TEST

START_TEST(long_status_is_cut) {
        _cleanup_(service_manager_freep) ServiceManager *s = NULL;
        char text[20000] = "";

        memset(text, 'x', sizeof(text) - 1);
        bind_path();
        service_manager_status(NULL, "%s", text);
        /* systemd takes no more than 4096 bytes (NOTIFY_BUFFER_MAX). */
        ck_assert_uint_lt(strlen(hear()), 4096);

        ck_assert_int_eq(service_manager_open(t.event, &s), 0);
        service_manager_status(s, "%s", text);
        service_manager_ready(s);
        ck_assert_uint_lt(strlen(hear()), 4096);
}
END_TEST

static const char *const nobodies[] = { "", "/nowhere/at/all", "nonsense", "vsock:2:1234", "@" };

START_TEST(nobody_listens) {
        _cleanup_(service_manager_freep) ServiceManager *s = NULL;

        ck_assert_int_eq(setenv("NOTIFY_SOCKET", nobodies[_i], 1), 0);
        ck_assert_int_eq(service_manager_open(t.event, &s), 0);
        service_manager_ready(s);
        service_manager_status(s, "x");
        ck_assert_int_eq(sd_event_run(t.event, 0), 0);
}
END_TEST

START_TEST(full_queue_is_not_waited_for) {
        _cleanup_(service_manager_freep) ServiceManager *s = NULL;

        bind_path();
        fill_queue();
        ck_assert_int_eq(service_manager_open(t.event, &s), 0);
        service_manager_status(s, "early");
        service_manager_ready(s);
        service_manager_status(s, "late");
        while (streq(hear(), "x"))
                ;
        /* READY=1 is not lost: the manager's patience with a unit that starts is limited. */
        ck_assert_str_eq(wait_and_hear(), "READY=1\nSTATUS=late");
        ck_assert_int_eq(sd_event_run(t.event, 0), 0);
}
END_TEST

START_TEST(feeds_the_watchdog) {
        _cleanup_(service_manager_freep) ServiceManager *s = NULL;

        bind_path();
        ck_assert_int_eq(setenv("WATCHDOG_USEC", "40000", 1), 0);
        ck_assert_int_eq(service_manager_open(t.event, &s), 0);
        for (unsigned i = 0; i < 3; i++)
                ck_assert_str_eq(wait_and_hear(), "WATCHDOG=1");
        /* Once there was no room for it, the next one comes all the same. */
        fill_queue();
        ck_assert_int_gt(sd_event_run(t.event, PATIENCE_USEC), 0);
        while (streq(hear(), "x"))
                ;
        ck_assert_str_eq(wait_and_hear(), "WATCHDOG=1");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("service-manager");
        TCase *tc = tcase_create("service-manager");

        tcase_add_checked_fixture(tc, setup, teardown);
        tcase_set_timeout(tc, 120);
        tcase_add_test(tc, tells);
        tcase_add_test(tc, early_status_goes_with_ready);
        tcase_add_test(tc, abstract_name);
        tcase_add_test(tc, long_status_is_cut);
        tcase_add_loop_test(tc, nobody_listens, 0, ELEMENTSOF(nobodies));
        tcase_add_test(tc, full_queue_is_not_waited_for);
        tcase_add_test(tc, feeds_the_watchdog);
        suite_add_tcase(suite, tc);
        return test_run(suite);
}
