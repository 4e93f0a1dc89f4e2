/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test-inbox.h"

/* --- the socket --- */

START_TEST(test_socket_is_for_everybody) {
        struct stat st;
        mode_t mask;

        setup_tree();
        mask = umask(0077);
        ck_assert_int_eq(inbox_open(tree.fd, tree.event, &handlers, &tree, &tree.inbox), 0);
        ck_assert_uint_eq(umask(mask), 0077);
        ck_assert_int_eq(fstatat(tree.fd, PATH_INBOX, &st, 0), 0);
        ck_assert(S_ISSOCK(st.st_mode));
        ck_assert_uint_eq(st.st_mode & 07777, 0666);
        teardown();
}
END_TEST

START_TEST(test_stale_socket_is_replaced) {
        _cleanup_close_ int dir_fd = -1, fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct sockaddr_un sa;
        socklen_t length;

        setup_tree();
        ck_assert_int_eq(fs_make_dirs(tree.fd, PATH_RUN_DIR), 0);
        ck_assert_int_eq(fs_socket_address(tree.fd, PATH_INBOX, &sa, &length, &dir_fd), 0);
        ck_assert_int_eq(bind(fd, (const struct sockaddr *) &sa, length), 0);
        ck_assert_int_eq(inbox_open(tree.fd, tree.event, &handlers, &tree, &tree.inbox), 0);
        send_text("READY=1");
        run_until_messages(1);
        teardown();
}
END_TEST

START_TEST(test_socket_is_removed) {
        tree.inbox = inbox_free(tree.inbox);
        ck_assert_int_eq(faccessat(tree.fd, PATH_INBOX, F_OK, 0), -1);
        ck_assert_int_eq(errno, ENOENT);
        ck_assert_ptr_null(inbox_free(NULL));
}
END_TEST

START_TEST(test_place_is_taken) {
        Inbox *inbox = (Inbox *) &tree;

        setup_tree();
        ck_assert_int_eq(fs_make_dirs(tree.fd, PATH_INBOX), 0);
        ck_assert_int_eq(inbox_open(tree.fd, tree.event, &handlers, &tree, &inbox), -EISDIR);
        ck_assert_ptr_eq(inbox, &tree);
        teardown();
}
END_TEST

/* --- case 21: datagrams that broke other programs --- */

START_TEST(test_case_21_harmless) {
        static const char *const texts[] = { "", "\n\n\n", "no equals sign", "OTHER=1" };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                send_text(texts[i]);
                run_until_messages((unsigned) i + 1);
                ck_assert_uint_eq(tree.size, strlen(texts[i]));
        }
        ck_assert_ptr_null(tree.milestones);
        check_nothing_refused();
}
END_TEST

/* Whatever the socket's buffer holds at most: a megabyte, where we may ask for so much. */
static void send_large(void) {
        _cleanup_close_ int fd = connect_inbox();
        int room = 4 * 1024 * 1024;
        _cleanup_free_ char *text = NULL;
        size_t size = 1024 * 1024;
        ssize_t n;

        if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) < 0)
                size = 100 * 1024;
        text = malloc(size);
        ck_assert_ptr_nonnull(text);
        memset(text, 'x', size);
        memcpy(text, "X_RCU_BOOT_END=1\n", STRLEN("X_RCU_BOOT_END=1\n"));
        n = send(fd, text, size, 0);
        ck_assert_int_eq(n, (ssize_t) size);
}

static void check_refused(const char *what) {
        usec_t since = fs_now();

        while (tree.refusals == 0)
                run_once(since);
        ck_assert_str_eq(tree.what, what);
        ck_assert_int_eq(tree.sender.pid, getpid());
        ck_assert_uint_eq(tree.sender.uid, getuid());
        ck_assert_uint_eq(tree.messages, 0);
        ck_assert(!tree.end);
        /* The next one is unaffected. */
        send_text("X_RCU_MILESTONE=home-screen");
        run_until_messages(1);
        ck_assert(strv_contains(tree.milestones, "home-screen"));
}

START_TEST(test_case_21_large) {
        send_large();
        check_refused("larger than 16 KiB");
}
END_TEST

START_TEST(test_case_21_size_limit) {
        _cleanup_free_ char *text = malloc(INBOX_MESSAGE_MAX + 1);

        ck_assert_ptr_nonnull(text);
        memset(text, '\n', INBOX_MESSAGE_MAX + 1);
        send_size(text, INBOX_MESSAGE_MAX);
        run_until_messages(1);
        ck_assert_uint_eq(tree.size, INBOX_MESSAGE_MAX);
        send_size(text, INBOX_MESSAGE_MAX + 1);
        run_until_idle();
        ck_assert_uint_eq(tree.messages, 1);
        ck_assert_uint_eq(tree.refusals, 1);
}
END_TEST

START_TEST(test_case_21_nul) {
        static const char text[] = "X_RCU_BOOT_END=1\0\nREADY=1";

        send_size(text, sizeof(text) - 1);
        check_refused("embedded NUL");
}
END_TEST

START_TEST(test_case_21_utf8) {
        send_text("X_RCU_BOOT_END=1\nX_RCU_REASON=\xff\xfe");
        check_refused("invalid UTF-8");
}
END_TEST

START_TEST(test_case_21_one_line_for_many) {
        const unsigned n = 500;
        usec_t since = fs_now(), elapsed;

        for (unsigned i = 0; i < n; i++) {
                send_size("\0\0", 2);
                run_until_idle();
        }
        elapsed = fs_now() - since;
        /* One in ten seconds, however long this took. */
        ck_assert_uint_ge(tree.refusals, 1);
        ck_assert_uint_le(tree.refusals, 1 + elapsed / (10 * USEC_PER_SEC));
        ck_assert_uint_eq(tree.messages, 0);
        /* The ones in between are counted, and told of with the next line. */
        since = fs_now();
        for (unsigned told = tree.refusals, sent = n; tree.refusals == told; sent++) {
                send_size("\0\0", 2);
                run_once(since);
                run_until_idle();
                ck_assert_uint_le(tree.suppressed, sent);
                (void) usleep(100 * 1000);
        }
        ck_assert_uint_ge(tree.suppressed, n - tree.refusals);
}
END_TEST

START_TEST(test_refusals_of_the_caller) {
        const MessageSender sender = { .pid = 4711, .uid = 1001 };

        inbox_refuse(tree.inbox, "not yours to say", &sender);
        inbox_refuse(tree.inbox, "not this either", &sender);
        ck_assert_uint_eq(tree.refusals, 1);
        ck_assert_uint_eq(tree.suppressed, 0);
        ck_assert_str_eq(tree.what, "not yours to say");
        ck_assert_int_eq(tree.sender.pid, 4711);
        ck_assert_uint_eq(tree.sender.uid, 1001);
}
END_TEST

/* --- case 23: datagrams stay apart --- */

START_TEST(test_case_23_two_fields) {
        send_text("X_RCU_MILESTONE=first\nX_RCU_MILESTONE=second\nREADY=1");
        run_until_messages(1);
        ck_assert_uint_eq(strv_length(tree.milestones), 2);
        ck_assert_str_eq(tree.milestones[0], "first");
        ck_assert_str_eq(tree.milestones[1], "second");
        ck_assert(tree.ready);
}
END_TEST

START_TEST(test_case_23_two_datagrams) {
        send_text("X_RCU_MILESTONE=fir");
        send_text("st=1\nX_RCU_MILESTONE=second");
        run_until_messages(2);
        ck_assert_uint_eq(strv_length(tree.milestones), 2);
        ck_assert_str_eq(tree.milestones[0], "fir");
        ck_assert_str_eq(tree.milestones[1], "second");
        ck_assert_int_eq(memcmp(tree.raw, "st=1\nX_RCU_MILESTONE=second", tree.size), 0);
        run_until_idle();
        ck_assert_uint_eq(tree.messages, 2);
}
END_TEST

/* --- before the daemon exits --- */

START_TEST(test_drain) {
        _cleanup_close_ int reader = -1;
        int writer;

        send_text("X_RCU_MILESTONE=late");
        make_pipe(&reader, &writer);
        send_with_fds("BARRIER=1", 9, &writer, 1);
        close(writer);
        inbox_drain(tree.inbox);
        ck_assert_uint_eq(tree.messages, 2);
        ck_assert(strv_contains(tree.milestones, "late"));
        ck_assert(is_hung_up(reader));
        inbox_drain(tree.inbox);
        ck_assert_uint_eq(tree.messages, 2);
}
END_TEST

/* However fast more come in. */
START_TEST(test_drain_ends) {
        tree.answer = true;
        send_text("READY=1");
        inbox_drain(tree.inbox);
        ck_assert_uint_gt(tree.messages, 1);
}
END_TEST

static Suite *inbox_suite(void) {
        Suite *suite = suite_create("inbox");
        TCase *bare = tcase_create("bare"), *opened = tcase_create("opened"), *slow = tcase_create("slow");

        tcase_add_test(bare, test_socket_is_for_everybody);
        tcase_add_test(bare, test_stale_socket_is_replaced);
        tcase_add_test(bare, test_place_is_taken);
        suite_add_tcase(suite, bare);

        tcase_add_checked_fixture(opened, setup, teardown);
        tcase_add_test(opened, test_socket_is_removed);
        tcase_add_test(opened, test_case_21_harmless);
        tcase_add_test(opened, test_case_21_large);
        tcase_add_test(opened, test_case_21_size_limit);
        tcase_add_test(opened, test_case_21_nul);
        tcase_add_test(opened, test_case_21_utf8);
        tcase_add_test(opened, test_refusals_of_the_caller);
        tcase_add_test(opened, test_case_23_two_fields);
        tcase_add_test(opened, test_case_23_two_datagrams);
        tcase_add_test(opened, test_drain);
        tcase_add_test(opened, test_drain_ends);
        suite_add_tcase(suite, opened);

        /* Ten seconds at least; valgrind and a busy machine may multiply it. */
        tcase_add_checked_fixture(slow, setup, teardown);
        tcase_set_timeout(slow, 600);
        tcase_add_test(slow, test_case_21_one_line_for_many);
        suite_add_tcase(suite, slow);
        return suite;
}

int main(void) {
        return test_run(inbox_suite());
}
