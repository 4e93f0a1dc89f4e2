/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inbox-client.h"
#include "test-inbox.h"

#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/in.h>
#include <signal.h>

/* The inbox and those who send to it: what they send along, who they are, how many they are. */

#define ANSWER_USEC (90 * USEC_PER_SEC)
#define SOMEBODY 65534
#define FLOOD_DATAGRAMS 100000U
/* More than one turn of the loop takes, by a good margin; far less than a flood. */
#define TURN_MAX 512U

/* --- case 22: barriers and other file descriptors --- */

START_TEST(test_case_22_barrier) {
        _cleanup_close_ int reader = -1;
        unsigned open_fds;
        int writer;

        make_pipe(&reader, &writer);
        open_fds = count_open_fds();
        send_with_fds("BARRIER=1", 9, &writer, 1);
        close(writer);
        tree.watched_fd = reader;
        run_until_messages(1);
        ck_assert(tree.barrier);
        /* Answered when the message has been handled: not before, and not later. */
        ck_assert(!tree.hung_up);
        ck_assert(is_hung_up(reader));
        ck_assert_uint_eq(count_open_fds(), open_fds - 1);
}
END_TEST

START_TEST(test_case_22_barrier_without_fd) {
        unsigned open_fds = count_open_fds();

        send_text("BARRIER=1");
        run_until_messages(1);
        ck_assert(tree.barrier);
        ck_assert_uint_eq(count_open_fds(), open_fds);
}
END_TEST

START_TEST(test_case_22_barrier_of_a_refused_message) {
        _cleanup_close_ int reader = -1;
        int writer;

        make_pipe(&reader, &writer);
        send_with_fds("\0BARRIER=1", 10, &writer, 1);
        close(writer);
        run_until_idle();
        ck_assert_uint_eq(tree.refusals, 1);
        ck_assert(is_hung_up(reader));
}
END_TEST

START_TEST(test_case_22_ten_fds) {
        int readers[10], writers[10];
        unsigned open_fds;

        for (size_t i = 0; i < 10; i++)
                make_pipe(&readers[i], &writers[i]);
        open_fds = count_open_fds();
        send_with_fds("READY=1", 7, writers, 10);
        for (size_t i = 0; i < 10; i++)
                close(writers[i]);
        run_until_messages(1);
        ck_assert(tree.ready);
        ck_assert_uint_eq(count_open_fds(), open_fds - 10);
        for (size_t i = 0; i < 10; i++) {
                ck_assert(is_hung_up(readers[i]));
                close(readers[i]);
        }
}
END_TEST

/* A TCP socket whose peer takes no more, and that waits ten minutes for it when it is closed. */
static int make_lingering_socket(int *ret_peer) {
        const struct linger linger = { .l_onoff = 1, .l_linger = 600 };
        struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        _cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        static const char block[65536];
        socklen_t length = sizeof(sa);

        ck_assert_int_eq(bind(listener, (const struct sockaddr *) &sa, length), 0);
        ck_assert_int_eq(listen(listener, 1), 0);
        ck_assert_int_eq(getsockname(listener, (struct sockaddr *) &sa, &length), 0);
        ck_assert_int_eq(connect(fd, (const struct sockaddr *) &sa, length), 0);
        *ret_peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        ck_assert_int_ge(*ret_peer, 0);
        while (send(fd, block, sizeof(block), MSG_DONTWAIT) > 0)
                ;
        ck_assert_int_eq(errno, EAGAIN);
        ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
        return fd;
}

START_TEST(test_case_22_lingering_socket) {
        _cleanup_close_ int peer = -1;
        int fd = make_lingering_socket(&peer);

        send_with_fds("OTHER=1", 7, &fd, 1);
        close(fd);
        send_text("READY=1");
        run_until_messages(2);
        ck_assert(tree.ready);
}
END_TEST

START_TEST(test_case_22_lingering_socket_at_exit) {
        _cleanup_close_ int peer = -1;
        int fd = make_lingering_socket(&peer);

        send_with_fds("OTHER=1", 7, &fd, 1);
        close(fd);
        tree.inbox = inbox_free(tree.inbox);
}
END_TEST

/* --- case 24: who it was --- */

static uid_t somebody(void) {
        return geteuid() == 0 ? SOMEBODY : getuid();
}

/* Connected beforehand: the tree is its owner's alone. */
static void become_somebody(void) {
        if (geteuid() == 0 && (setgid(SOMEBODY) < 0 || setuid(SOMEBODY) < 0))
                abort();
}

static int send_and_leave(void) {
        int fd = connect_inbox();

        become_somebody();
        return send(fd, "X_RCU_MILESTONE=home-screen", 27, 0) == 27 ? 0 : 1;
}

START_TEST(test_case_24_sender_is_gone) {
        pid_t pid = spawn(send_and_leave);

        ck_assert_int_eq(status_of(pid), 0);
        run_until_messages(1);
        ck_assert_int_eq(tree.sender.pid, pid);
        ck_assert_uint_eq(tree.sender.uid, somebody());
}
END_TEST

/* Whoever claims to be somebody else is stopped by the kernel, unless entitled to (then it is true). */
static int claim_to_be_root(void) {
        int fd = connect_inbox();
        const struct ucred root = { .pid = 1, .uid = 0, .gid = 0 };
        struct iovec iov = { .iov_base = (char *) "READY=1", .iov_len = 7 };
        union {
                struct cmsghdr header;
                char room[CMSG_SPACE(sizeof(root))];
        } control = { 0 };
        struct msghdr message = {
                .msg_iov = &iov,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };

        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_CREDENTIALS;
        control.header.cmsg_len = CMSG_LEN(sizeof(root));
        memcpy(CMSG_DATA(&control.header), &root, sizeof(root));
        become_somebody();
        return sendmsg(fd, &message, 0) < 0 && errno == EPERM ? 0 : 1;
}

START_TEST(test_case_24_claim) {
        ck_assert_int_eq(status_of(spawn(claim_to_be_root)), 0);
        run_until_idle();
        ck_assert_uint_eq(tree.messages, 0);
        check_nothing_refused();
}
END_TEST

/* --- case 25: a flood --- */

/* Until somebody ends it. */
static int flood(void) {
        int fd = connect_inbox();

        become_somebody();
        for (unsigned i = 0;; i++) {
                char text[64];
                int n = snprintf(text, sizeof(text), "X_RCU_MILESTONE=m-%u", i);

                if (send(fd, text, (size_t) n, 0) != n)
                        return 1;
        }
}

static int ask_for_the_end(void) {
        return inbox_client_send(tree.fd, "X_RCU_BOOT_END=1", ANSWER_USEC) == 0 ? 0 : 1;
}

/* Another source of the loop that wants its turn after each message. */
static int on_turn(sd_event_source *s, void *userdata) {
        ck_assert_uint_le(tree.messages_in_turn, TURN_MAX);
        tree.messages_in_turn = 0;
        tree.turns++;
        return 0;
}

static void check_in_order(void) {
        unsigned next = 0;

        for (char **name = tree.milestones; name && *name; name++) {
                char expected[32];

                (void) snprintf(expected, sizeof(expected), "m-%u", next++);
                ck_assert_str_eq(*name, expected);
        }
        strv_free(tree.milestones);
        tree.milestones = NULL;
}

START_TEST(test_case_25_flood) {
        pid_t flooder = spawn(flood), root;
        usec_t since = fs_now();
        size_t used;

        ck_assert_int_ge(sd_event_add_defer(tree.event, &tree.defer, on_turn, NULL), 0);
        ck_assert_int_ge(sd_event_source_set_enabled(tree.defer, SD_EVENT_OFF), 0);
        while (tree.messages < 1000)
                run_once(since);
        check_in_order();
        used = mallinfo2().uordblks;
        root = spawn(ask_for_the_end);
        while (tree.messages < FLOOD_DATAGRAMS || !tree.end) {
                run_once(since);
                if (tree.messages > 1000) {
                        /* What the test itself keeps is not the inbox's. */
                        strv_free(tree.milestones);
                        tree.milestones = NULL;
                }
        }
        ck_assert_uint_le(mallinfo2().uordblks, used + 65536);
        ck_assert_int_eq(run_until_exit(root), 0);
        ck_assert_uint_ge(tree.turns, FLOOD_DATAGRAMS / TURN_MAX);
        check_nothing_refused();
        ck_assert_int_eq(kill(flooder, SIGKILL), 0);
        ck_assert_int_eq(waitpid(flooder, NULL, 0), flooder);
}
END_TEST

/* --- the client --- */

static int announce(void) {
        return inbox_client_send(tree.fd, "X_RCU_MILESTONE=home-screen", ANSWER_USEC) == 0 ? 0 : 1;
}

START_TEST(test_client) {
        pid_t pid = spawn(announce);

        ck_assert_int_eq(run_until_exit(pid), 0);
        ck_assert_uint_eq(tree.messages, 1);
        ck_assert(tree.barrier);
        ck_assert(strv_contains(tree.milestones, "home-screen"));
        ck_assert_int_eq(tree.sender.pid, pid);
}
END_TEST

START_TEST(test_client_without_daemon) {
        _cleanup_close_ int dir_fd = -1, fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct sockaddr_un sa;
        socklen_t length;

        setup_tree();
        ck_assert_int_eq(inbox_client_send(tree.fd, "READY=1", ANSWER_USEC), -ENOENT);
        ck_assert_int_eq(fs_make_dirs(tree.fd, PATH_RUN_DIR), 0);
        ck_assert_int_eq(inbox_client_send(tree.fd, "READY=1", ANSWER_USEC), -ENOENT);
        /* Killed, and not started again. */
        ck_assert_int_eq(fs_socket_address(tree.fd, PATH_INBOX, &sa, &length, &dir_fd), 0);
        ck_assert_int_eq(bind(fd, (const struct sockaddr *) &sa, length), 0);
        close(TAKE_FD(fd));
        ck_assert_int_eq(inbox_client_send(tree.fd, "READY=1", ANSWER_USEC), -ECONNREFUSED);
        teardown();
}
END_TEST

START_TEST(test_client_gets_no_answer) {
        ck_assert_int_eq(inbox_client_send(tree.fd, "READY=1", 0), -ETIMEDOUT);
        ck_assert_int_eq(inbox_client_send(tree.fd, "READY=1", 20 * USEC_PER_MSEC), -ETIMEDOUT);
        /* It was sent all the same. */
        run_until_messages(2);
}
END_TEST

START_TEST(test_client_finds_no_room) {
        _cleanup_close_ int fd = connect_inbox();

        while (send(fd, "READY=1", 7, MSG_DONTWAIT) == 7)
                ;
        ck_assert_int_eq(errno, EAGAIN);
        ck_assert_int_eq(inbox_client_send(tree.fd, "X_RCU_BOOT_END=1", 20 * USEC_PER_MSEC), -ETIMEDOUT);
        run_until_idle();
        ck_assert(!tree.end);
}
END_TEST

START_TEST(test_client_is_let_go_at_exit) {
        pid_t pid = spawn(announce);
        struct pollfd pfd = { .events = POLLIN };

        ck_assert_int_ge(pfd.fd = sd_event_get_fd(tree.event), 0);
        ck_assert_int_ge(sd_event_prepare(tree.event), 0);
        ck_assert_int_eq(poll(&pfd, 1, BOUND_USEC / USEC_PER_MSEC), 1);
        tree.inbox = inbox_free(tree.inbox);
        ck_assert_int_eq(status_of(pid), 0);
        ck_assert_uint_eq(tree.messages, 0);
}
END_TEST

/* A socket's address has room for 107 characters; a root's path may have more. */
START_TEST(test_client_below_a_long_path) {
        static const char name[] =
                        "a-directory-with-a-name-that-is-by-no-means-short-by-anybody-s-standards";
        _cleanup_free_ char *path = NULL;
        Tree outer;
        int fd;

        setup_tree();
        ck_assert_int_ge(asprintf(&path, "%s/%s/%s", tree.dir, name, name), 0);
        ck_assert_uint_gt(strlen(path), 108);
        ck_assert_int_eq(fs_make_dirs(tree.fd, path + strlen(tree.dir) + 1), 0);
        outer = tree;
        fd = tree.fd = test_tree_open(path);
        ck_assert_int_eq(inbox_open(tree.fd, tree.event, &handlers, &tree, &tree.inbox), 0);
        ck_assert_int_eq(run_until_exit(spawn(announce)), 0);
        ck_assert_uint_eq(tree.messages, 1);
        close(fd);
        tree.fd = outer.fd;
        teardown();
}
END_TEST

static Suite *inbox_senders_suite(void) {
        Suite *suite = suite_create("inbox-senders");
        TCase *bare = tcase_create("bare"), *opened = tcase_create("opened"), *slow = tcase_create("slow");

        tcase_add_test(bare, test_client_without_daemon);
        tcase_add_test(bare, test_client_below_a_long_path);
        suite_add_tcase(suite, bare);

        tcase_add_checked_fixture(opened, setup, teardown);
        tcase_add_test(opened, test_case_22_barrier);
        tcase_add_test(opened, test_case_22_barrier_without_fd);
        tcase_add_test(opened, test_case_22_barrier_of_a_refused_message);
        tcase_add_test(opened, test_case_22_ten_fds);
        tcase_add_test(opened, test_case_22_lingering_socket);
        tcase_add_test(opened, test_case_22_lingering_socket_at_exit);
        tcase_add_test(opened, test_case_24_sender_is_gone);
        tcase_add_test(opened, test_case_24_claim);
        tcase_add_test(opened, test_client);
        tcase_add_test(opened, test_client_gets_no_answer);
        tcase_add_test(opened, test_client_finds_no_room);
        tcase_add_test(opened, test_client_is_let_go_at_exit);
        suite_add_tcase(suite, opened);

        /* Valgrind and a busy machine may multiply what it takes. */
        tcase_add_checked_fixture(slow, setup, teardown);
        tcase_set_timeout(slow, 600);
        tcase_add_test(slow, test_case_25_flood);
        suite_add_tcase(suite, slow);
        return suite;
}

int main(void) {
        return test_run(inbox_senders_suite());
}
