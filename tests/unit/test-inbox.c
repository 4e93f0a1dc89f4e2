/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs.h"
#include "inbox-client.h"
#include "inbox.h"
#include "names.h"
#include "test-util.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#define BOUND_USEC (100 * USEC_PER_SEC)
#define ANSWER_USEC (90 * USEC_PER_SEC)
#define SOMEBODY 65534
#define FLOOD_DATAGRAMS 100000U
/* More than one turn of the loop takes, by a good margin; far less than a flood. */
#define TURN_MAX 512U

typedef struct Tree {
        char *dir;
        int fd;
        sd_event *event;
        Inbox *inbox;
        unsigned messages; /* handled */
        unsigned refusals; /* told of */
        unsigned suppressed;
        const char *what; /* the last refusal's reason */
        InboxSender sender;
        char raw[256];
        size_t size;
        char **milestones; /* of all messages */
        bool ready;
        bool barrier;
        bool end;
        int watched_fd; /* whether it had been hung up when the message was handled */
        bool hung_up;
        bool answer; /* each message is followed by another one */
        sd_event_source *defer;
        unsigned messages_in_turn;
        unsigned turns;
} Tree;

static Tree tree;

static bool is_hung_up(int fd) {
        struct pollfd pfd = { .fd = fd };

        ck_assert_int_ge(poll(&pfd, 1, 0), 0);
        return pfd.revents & POLLHUP;
}

static void send_text(const char *text);

static void on_message(
                void *userdata, const InboxMessage *m, const InboxSender *s, const char *raw, size_t size) {
        ck_assert_ptr_eq(userdata, &tree);
        tree.messages++;
        tree.messages_in_turn++;
        tree.sender = *s;
        tree.size = size;
        memcpy(tree.raw, raw, MIN(size, sizeof(tree.raw)));
        for (char **name = m->milestones; name && *name; name++)
                ck_assert_int_eq(strv_extend(&tree.milestones, *name), 0);
        tree.ready = tree.ready || m->ready;
        tree.barrier = tree.barrier || m->barrier;
        tree.end = tree.end || m->end;
        if (tree.watched_fd >= 0)
                tree.hung_up = is_hung_up(tree.watched_fd);
        if (tree.answer)
                send_text("READY=1");
        if (tree.defer)
                ck_assert_int_ge(sd_event_source_set_enabled(tree.defer, SD_EVENT_ONESHOT), 0);
}

static void on_refused(void *userdata, const char *what, const InboxSender *sender, unsigned suppressed) {
        ck_assert_ptr_eq(userdata, &tree);
        tree.refusals++;
        tree.suppressed += suppressed;
        tree.what = what;
        tree.sender = *sender;
}

static const InboxHandlers handlers = { .message = on_message, .refused = on_refused };

static void setup_tree(void) {
        tree = (Tree){ .watched_fd = -1, .dir = test_tree_new() };
        tree.fd = test_tree_open(tree.dir);
        ck_assert_int_ge(sd_event_new(&tree.event), 0);
}

static void setup(void) {
        setup_tree();
        ck_assert_int_eq(inbox_open(tree.fd, tree.event, &handlers, &tree, &tree.inbox), 0);
}

static void teardown(void) {
        strv_free(tree.milestones);
        sd_event_source_unref(tree.defer);
        inbox_free(tree.inbox);
        sd_event_unref(tree.event);
        close(tree.fd);
        test_tree_removep(&tree.dir);
}

/* --- the other side --- */

static int connect_inbox(void) {
        _cleanup_close_ int dir_fd = -1;
        struct sockaddr_un sa;
        socklen_t length;
        int fd;

        ck_assert_int_eq(fs_socket_address(tree.fd, PATH_INBOX, &sa, &length, &dir_fd), 0);
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(connect(fd, (const struct sockaddr *) &sa, length), 0);
        return fd;
}

static void send_with_fds(const char *text, size_t size, const int *fds, size_t n_fds) {
        _cleanup_close_ int fd = connect_inbox();
        struct iovec iov = { .iov_base = (char *) text, .iov_len = size };
        union {
                struct cmsghdr header;
                char room[CMSG_SPACE(16 * sizeof(int))];
        } control = { 0 };
        struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };

        if (n_fds > 0) {
                message.msg_control = &control;
                message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
                control.header.cmsg_level = SOL_SOCKET;
                control.header.cmsg_type = SCM_RIGHTS;
                control.header.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
                memcpy(CMSG_DATA(&control.header), fds, n_fds * sizeof(int));
        }
        ck_assert_int_eq(sendmsg(fd, &message, MSG_DONTWAIT), (int) size);
}

static void send_size(const char *text, size_t size) {
        send_with_fds(text, size, NULL, 0);
}

static void send_text(const char *text) {
        send_size(text, strlen(text));
}

/* The inbox's own above all: as long as anybody holds it, it is not gone. Other files stay: one is Check's,
 * which each assertion writes to. */
static void close_sockets(void) {
        struct stat st;

        for (int fd = STDERR_FILENO + 1; fd < 256; fd++)
                if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
                        close(fd);
}

/* A process of its own. Its exit status is the function's value. */
static pid_t spawn(int (*function)(void)) {
        pid_t pid = fork();

        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                close_sockets();
                _exit(function());
        }
        return pid;
}

static int status_of(pid_t pid) {
        int status;

        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFEXITED(status));
        return WEXITSTATUS(status);
}

/* --- our side --- */

static void run_once(usec_t since) {
        ck_assert_int_ge(sd_event_run(tree.event, 50 * USEC_PER_MSEC), 0);
        ck_assert_msg(fs_now() - since < BOUND_USEC, "nothing happened");
}

static void check_nothing_refused(void) {
        ck_assert_msg(tree.refusals == 0, "refused: %s, from process %ld, user %ld", tree.what,
                        (long) tree.sender.pid, (long) tree.sender.uid);
}

static void run_until_messages(unsigned n) {
        usec_t since = fs_now();

        while (tree.messages < n)
                run_once(since);
        ck_assert_uint_eq(tree.messages, n);
}

static int run_until_exit(pid_t pid) {
        usec_t since = fs_now();
        siginfo_t info = { 0 };

        while (info.si_pid == 0) {
                run_once(since);
                ck_assert_int_eq(waitid(P_PID, (id_t) pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
        }
        return status_of(pid);
}

static void run_until_idle(void) {
        int r;

        do
                r = sd_event_run(tree.event, 0);
        while (r > 0);
        ck_assert_int_eq(r, 0);
}

static unsigned count_open_fds(void) {
        DIR *dir = opendir("/proc/self/fd");
        unsigned n = 0;

        ck_assert_ptr_nonnull(dir);
        while (readdir(dir))
                n++;
        closedir(dir);
        return n;
}

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
        const InboxSender sender = { .pid = 4711, .uid = 1001 };

        inbox_refuse(tree.inbox, "not yours to say", &sender);
        inbox_refuse(tree.inbox, "not this either", &sender);
        ck_assert_uint_eq(tree.refusals, 1);
        ck_assert_uint_eq(tree.suppressed, 0);
        ck_assert_str_eq(tree.what, "not yours to say");
        ck_assert_int_eq(tree.sender.pid, 4711);
        ck_assert_uint_eq(tree.sender.uid, 1001);
}
END_TEST

/* --- case 22: barriers and other file descriptors --- */

static void make_pipe(int *reader, int *writer) {
        int ends[2];

        ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
        *reader = ends[0];
        *writer = ends[1];
}

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

static Suite *inbox_suite(void) {
        Suite *suite = suite_create("inbox");
        TCase *opened = tcase_create("opened"), *bare = tcase_create("bare"),
              *long_ones = tcase_create("long");

        tcase_add_test(bare, test_socket_is_for_everybody);
        tcase_add_test(bare, test_stale_socket_is_replaced);
        tcase_add_test(bare, test_place_is_taken);
        tcase_add_test(bare, test_client_without_daemon);
        tcase_add_test(bare, test_client_below_a_long_path);
        suite_add_tcase(suite, bare);

        tcase_add_checked_fixture(opened, setup, teardown);
        tcase_add_test(opened, test_socket_is_removed);
        tcase_add_test(opened, test_case_21_harmless);
        tcase_add_test(opened, test_case_21_large);
        tcase_add_test(opened, test_case_21_size_limit);
        tcase_add_test(opened, test_case_21_nul);
        tcase_add_test(opened, test_case_21_utf8);
        tcase_add_test(opened, test_refusals_of_the_caller);
        tcase_add_test(opened, test_case_22_barrier);
        tcase_add_test(opened, test_case_22_barrier_without_fd);
        tcase_add_test(opened, test_case_22_barrier_of_a_refused_message);
        tcase_add_test(opened, test_case_22_ten_fds);
        tcase_add_test(opened, test_case_22_lingering_socket);
        tcase_add_test(opened, test_case_22_lingering_socket_at_exit);
        tcase_add_test(opened, test_case_23_two_fields);
        tcase_add_test(opened, test_case_23_two_datagrams);
        tcase_add_test(opened, test_case_24_sender_is_gone);
        tcase_add_test(opened, test_case_24_claim);
        tcase_add_test(opened, test_drain);
        tcase_add_test(opened, test_drain_ends);
        tcase_add_test(opened, test_client);
        tcase_add_test(opened, test_client_gets_no_answer);
        tcase_add_test(opened, test_client_finds_no_room);
        tcase_add_test(opened, test_client_is_let_go_at_exit);
        suite_add_tcase(suite, opened);

        /* These take their time: valgrind and a busy machine may multiply it. */
        tcase_add_checked_fixture(long_ones, setup, teardown);
        tcase_set_timeout(long_ones, 600);
        tcase_add_test(long_ones, test_case_21_one_line_for_many);
        tcase_add_test(long_ones, test_case_25_flood);
        suite_add_tcase(suite, long_ones);
        return suite;
}

int main(void) {
        return test_run(inbox_suite());
}
