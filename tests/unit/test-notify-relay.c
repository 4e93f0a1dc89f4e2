/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs.h"
#include "names.h"
#include "notify-relay.h"
#include "test-util.h"
#include "test-vsock.h"

#include <errno.h>
#include <poll.h>

#define HOST_PATH "run/host/notify"

typedef struct Tree {
        char *dir;
        int fd;
        int host_fd; /* the other end, who listened before we came */
        sd_event *event;
        NotifyRelay *relay;
} Tree;

static Tree tree;

/* --- trees --- */

static void setup(void) {
        tree = (Tree){ .host_fd = -1, .dir = test_tree_new() };
        tree.fd = test_tree_open(tree.dir);
        ck_assert_int_ge(sd_event_new(&tree.event), 0);
}

static void teardown(void) {
        notify_relay_free(tree.relay);
        sd_event_unref(tree.event);
        closep(&tree.host_fd);
        closep(&hypervisor.listener);
        close(tree.fd);
        test_tree_removep(&tree.dir);
}

static int listen_at(const struct sockaddr_un *sa, socklen_t length) {
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), on = 1;

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
        ck_assert_int_eq(bind(fd, (const struct sockaddr *) sa, length), 0);
        return fd;
}

static int listen_below(const char *path) {
        _cleanup_close_ int dir_fd = -1;
        _cleanup_free_ char *parent = strdup(path);
        struct sockaddr_un sa;
        socklen_t length;

        *strrchr(parent, '/') = '\0';
        ck_assert_int_eq(fs_make_dirs(tree.fd, parent), 0);
        ck_assert_int_eq(fs_socket_address(tree.fd, path, &sa, &length, &dir_fd), 0);
        return listen_at(&sa, length);
}

static pid_t check_received(const char *expected) {
        char text[256];
        union {
                struct cmsghdr header;
                char room[CMSG_SPACE(sizeof(struct ucred))];
        } control;
        struct iovec iov = { .iov_base = text, .iov_len = sizeof(text) };
        struct msghdr message = {
                .msg_iov = &iov,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };
        struct pollfd pfd = { .fd = tree.host_fd, .events = POLLIN };
        struct ucred credentials;
        ssize_t n;

        ck_assert_int_eq(poll(&pfd, 1, BOUND_USEC / USEC_PER_MSEC), 1);
        n = recvmsg(tree.host_fd, &message, MSG_DONTWAIT);
        ck_assert_int_eq(n, (ssize_t) strlen(expected));
        ck_assert_mem_eq(text, expected, (size_t) n);
        ck_assert_int_eq(CMSG_FIRSTHDR(&message)->cmsg_type, SCM_CREDENTIALS);
        memcpy(&credentials, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(credentials));
        return credentials.pid;
}

static void set_environment(const char *address) {
        static const char before[] = "HOME=/\0XNOTIFY_SOCKET=/wrong\0NOTIFY_SOCKETS=/wrong";
        static const char after[] = "TERM=linux\0NOTIFY_SOCKET=/too-late";
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        ck_assert_ptr_nonnull(f);
        (void) fwrite(before, 1, sizeof(before), f);
        if (address)
                (void) fprintf(f, "NOTIFY_SOCKET=%s%c", address, '\0');
        (void) fwrite(after, 1, address ? sizeof(after) : strlen(after) + 1, f);
        ck_assert_int_eq(fclose(f), 0);
        test_tree_write_size(tree.dir, PATH_PID1_ENVIRON, text, (ssize_t) size);
}

static void set_credential(const char *address) {
        test_tree_write(tree.dir, PATH_SYSTEM_CREDENTIALS "/" CREDENTIAL_NOTIFY_SOCKET, address);
}

static void open_relay(void) {
        ck_assert_int_eq(notify_relay_open(tree.fd, tree.event, &tree.relay), 0);
        ck_assert_ptr_nonnull(tree.relay);
}

static void check_none(void) {
        NotifyRelay *relay = (NotifyRelay *) &tree;

        ck_assert_int_eq(notify_relay_open(tree.fd, tree.event, &relay), 0);
        ck_assert_ptr_null(relay);
}

static void send_text(const char *text) {
        ck_assert_int_eq(notify_relay_send(tree.relay, text, strlen(text)), 0);
}

static void run_until_sent(void) {
        usec_t since = fs_now();

        while (sd_event_run(tree.event, 50 * USEC_PER_MSEC) == 0)
                ck_assert_msg(fs_now() - since < BOUND_USEC, "the connection was not noticed");
}

/* --- where to --- */

START_TEST(test_none) {
        check_none();
        set_environment(NULL);
        check_none();
        set_environment("");
        check_none();
        set_credential("");
        check_none();
        ck_assert_int_eq(notify_relay_send(NULL, "READY=1", 7), 0);
        ck_assert_ptr_null(notify_relay_free(NULL));
}
END_TEST

START_TEST(test_own_inbox) {
        static const char *const spellings[] = {
                "/run/rcu-bootd/notify",
                "//run/rcu-bootd/notify",
                "/run//rcu-bootd///notify",
                "/./run/./rcu-bootd/./notify",
        };

        for (size_t i = 0; i < ELEMENTSOF(spellings); i++) {
                set_environment(spellings[i]);
                check_none();
        }
}
END_TEST

START_TEST(test_own_inbox_behind_a_symlink) {
        tree.host_fd = listen_below(PATH_INBOX);
        ck_assert_int_eq(fs_make_dirs(tree.fd, "var"), 0);
        ck_assert_int_eq(symlinkat("../run", tree.fd, "var/run"), 0);
        set_environment("/var/run/rcu-bootd/notify");
        check_none();
}
END_TEST

START_TEST(test_similar_paths_are_others) {
        static const char *const paths[] = {
                "/run/rcu-bootd/notify2",
                "/run/rcu-bootd/notif",
                "/run/rcu-bootd",
                "/rcu-bootd/notify",
                "/run/rcu-bootd/notify/notify",
                "/run/.rcu-bootd/notify",
        };

        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                set_environment(paths[i]);
                open_relay();
                tree.relay = notify_relay_free(tree.relay);
        }
}
END_TEST

START_TEST(test_credential_wins) {
        tree.host_fd = listen_below("run/vmm");
        set_environment("/run/elsewhere");
        set_credential("/run/vmm\n");
        open_relay();
        send_text("READY=1");
        (void) check_received("READY=1");
}
END_TEST

/* Whichever of the two was set to be us, the other one is the host's. */
START_TEST(test_own_inbox_in_one_place) {
        tree.host_fd = listen_below(HOST_PATH);
        set_credential("/run/rcu-bootd/notify");
        set_environment("/" HOST_PATH);
        open_relay();
        send_text("READY=1");
        (void) check_received("READY=1");

        tree.relay = notify_relay_free(tree.relay);
        set_credential("/" HOST_PATH);
        set_environment("/run/rcu-bootd/notify");
        open_relay();
        send_text("STATUS=Up.");
        (void) check_received("STATUS=Up.");
}
END_TEST

START_TEST(test_bad_addresses) {
        static const char *const addresses[] = {
                "relative/path",
                "@",
                "/run/directory/",
                "vsock",
                "vsock:",
                "vsock:2",
                "vsock:2:",
                "vsock::1234",
                "vsock:x:1234",
                "vsock:2:-1",
                "vsock:2: 1",
                "vsock:2:1234 ",
                "vsock:2:0x10",
                "vsock:2:1234:5",
                "vsock:4294967295:1234",
                "vsock:2:4294967295",
                "vsock:2:99999999999999999999999999",
                "vsock-raw:2:1234",
        };
        NotifyRelay *relay = (NotifyRelay *) &tree;

        for (size_t i = 0; i < ELEMENTSOF(addresses); i++) {
                set_environment(addresses[i]);
                ck_assert_msg(notify_relay_open(tree.fd, tree.event, &relay) == -EINVAL, "%s was taken",
                                addresses[i]);
                ck_assert_ptr_eq(relay, &tree);
        }
}
END_TEST

START_TEST(test_longest_abstract_name) {
        char address[256];

        (void) snprintf(address, sizeof(address), "@%0107d", 0);
        set_environment(address);
        open_relay();
        tree.relay = notify_relay_free(tree.relay);
        (void) snprintf(address, sizeof(address), "@%0108d", 0);
        set_environment(address);
        ck_assert_int_eq(notify_relay_open(tree.fd, tree.event, &tree.relay), -EINVAL);
}
END_TEST

/* --- AF_UNIX --- */

/* Whether this test may speak for PID 1, asked of the kernel in another way. */
static bool may_be_pid1(void) {
        _cleanup_close_ int a = -1, b = -1;
        struct iovec iov = { .iov_base = (char *) "x", .iov_len = 1 };
        struct ucred pid1 = { .pid = 1, .uid = getuid(), .gid = getgid() };
        union {
                struct cmsghdr header;
                char room[CMSG_SPACE(sizeof(pid1))];
        } control = { 0 };
        struct msghdr message = {
                .msg_iov = &iov,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };
        int ends[2];

        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), 0);
        a = ends[0];
        b = ends[1];
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_CREDENTIALS;
        control.header.cmsg_len = CMSG_LEN(sizeof(pid1));
        memcpy(CMSG_DATA(&control.header), &pid1, sizeof(pid1));
        return sendmsg(a, &message, 0) == 1;
}

static void check_relayed(void) {
        static const char text[] = "READY=1\nSTATUS=Startup finished in 1s.";

        send_text(text);
        ck_assert_int_eq(check_received(text), may_be_pid1() ? 1 : getpid());
}

START_TEST(test_path) {
        tree.host_fd = listen_below(HOST_PATH);
        set_environment("/" HOST_PATH);
        open_relay();
        check_relayed();
        check_relayed();
}
END_TEST

START_TEST(test_abstract) {
        struct sockaddr_un sa = { .sun_family = AF_UNIX };
        char address[64];
        int n;

        n = snprintf(address, sizeof(address), "@rcu-bootd-test/%ld", (long) getpid());
        memcpy(sa.sun_path + 1, address + 1, (size_t) n - 1);
        tree.host_fd = listen_at(&sa, (socklen_t) (offsetof(struct sockaddr_un, sun_path) + (size_t) n));
        set_environment(address);
        open_relay();
        check_relayed();
}
END_TEST

START_TEST(test_receiver_comes_and_goes) {
        set_environment("/" HOST_PATH);
        open_relay();
        ck_assert_int_eq(notify_relay_send(tree.relay, "READY=1", 7), -ENOENT);
        tree.host_fd = listen_below(HOST_PATH);
        check_relayed();
        close(tree.host_fd);
        tree.host_fd = -1;
        ck_assert_int_eq(notify_relay_send(tree.relay, "READY=1", 7), -ECONNREFUSED);
        ck_assert_int_eq(unlinkat(tree.fd, HOST_PATH, 0), 0);
        tree.host_fd = listen_below(HOST_PATH);
        check_relayed();
}
END_TEST

START_TEST(test_receiver_does_not_read) {
        unsigned sent = 0;
        int r;

        tree.host_fd = listen_below(HOST_PATH);
        set_environment("/" HOST_PATH);
        open_relay();
        while ((r = notify_relay_send(tree.relay, "READY=1", 7)) == 0)
                sent++;
        ck_assert_int_eq(r, -EAGAIN);
        ck_assert_uint_gt(sent, 0);
}
END_TEST

/* --- AF_VSOCK --- */

START_TEST(test_vsock) {
        start_hypervisor(8);
        set_environment("vsock:2:1234");
        open_relay();
        send_text("READY=1");
        run_until_sent();
        check_hypervisor_received("READY=1");
        ck_assert_int_eq(hypervisor.type, SOCK_SEQPACKET);
        ck_assert_uint_eq(hypervisor.cid, 2);
        ck_assert_uint_eq(hypervisor.port, 1234);
        ck_assert_uint_eq(hypervisor.bound_port, 1023);
}
END_TEST

START_TEST(test_vsock_kinds) {
        start_hypervisor(8);
        hypervisor.slow = true;
        hypervisor.no_seqpacket = true;
        hypervisor.ports_taken = 3;
        set_credential("vsock:2:1234");
        open_relay();
        send_text("READY=1");
        ck_assert_int_eq(hypervisor.type, SOCK_STREAM);
        /* The three were tried with the first kind of socket. */
        ck_assert_uint_eq(hypervisor.bound_port, 1023);
        run_until_sent();
        check_hypervisor_received("READY=1");

        tree.relay = notify_relay_free(tree.relay);
        set_credential("vsock-seqpacket:2:1234");
        open_relay();
        ck_assert_int_eq(notify_relay_send(tree.relay, "READY=1", 7), -ESOCKTNOSUPPORT);

        tree.relay = notify_relay_free(tree.relay);
        set_credential("vsock-dgram:2:1234");
        open_relay();
        ck_assert_int_eq(notify_relay_send(tree.relay, "READY=1", 7), -ENODEV);

        tree.relay = notify_relay_free(tree.relay);
        set_credential("vsock-stream:0:4294967294");
        hypervisor.ports_taken = 3;
        open_relay();
        send_text("X_SYSTEMD_UNIT_ACTIVE=graphical.target");
        ck_assert_uint_eq(hypervisor.bound_port, 1020);
        ck_assert_uint_eq(hypervisor.port, 4294967294U);
        run_until_sent();
        check_hypervisor_received("X_SYSTEMD_UNIT_ACTIVE=graphical.target");
}
END_TEST

START_TEST(test_vsock_last_words) {
        start_hypervisor(8);
        hypervisor.slow = true;
        set_environment("vsock:2:1234");
        open_relay();
        send_text("X_SYSTEMD_UNIT_ACTIVE=graphical.target");
        send_text("READY=1");
        tree.relay = notify_relay_free(tree.relay);
        check_hypervisor_received("X_SYSTEMD_UNIT_ACTIVE=graphical.target");
        check_hypervisor_received("READY=1");
}
END_TEST

/* Nobody accepts, and the queue of those who wait to be accepted is full: a connection never stands. */
START_TEST(test_vsock_hypervisor_hangs) {
        int r = 0;

        start_hypervisor(0);
        set_environment("vsock:2:1234");
        open_relay();
        for (unsigned n = 0; r == 0 && n < 64; n++)
                r = notify_relay_send(tree.relay, "READY=1", 7);
        ck_assert_int_eq(r, -ENOBUFS);
        tree.relay = notify_relay_free(tree.relay);
}
END_TEST

START_TEST(test_vsock_refused) {
        struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        int r;

        /* Bound, but nobody listens. */
        hypervisor.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(bind(hypervisor.listener, (const struct sockaddr *) &sa, sizeof(sa)), 0);
        set_environment("vsock:2:1234");
        open_relay();
        r = notify_relay_send(tree.relay, "READY=1", 7);
        if (r == 0)
                run_until_sent();
        else
                ck_assert_int_eq(r, -ECONNREFUSED);
}
END_TEST

static Suite *notify_relay_suite(void) {
        Suite *suite = suite_create("notify-relay");
        TCase *all = tcase_create("all");

        tcase_add_checked_fixture(all, setup, teardown);
        tcase_add_test(all, test_none);
        tcase_add_test(all, test_own_inbox);
        tcase_add_test(all, test_own_inbox_behind_a_symlink);
        tcase_add_test(all, test_similar_paths_are_others);
        tcase_add_test(all, test_credential_wins);
        tcase_add_test(all, test_own_inbox_in_one_place);
        tcase_add_test(all, test_bad_addresses);
        tcase_add_test(all, test_longest_abstract_name);
        tcase_add_test(all, test_path);
        tcase_add_test(all, test_abstract);
        tcase_add_test(all, test_receiver_comes_and_goes);
        tcase_add_test(all, test_receiver_does_not_read);
        tcase_add_test(all, test_vsock);
        tcase_add_test(all, test_vsock_kinds);
        tcase_add_test(all, test_vsock_last_words);
        tcase_add_test(all, test_vsock_hypervisor_hangs);
        tcase_add_test(all, test_vsock_refused);
        suite_add_tcase(suite, all);
        return suite;
}

int main(void) {
        return test_run(notify_relay_suite());
}
