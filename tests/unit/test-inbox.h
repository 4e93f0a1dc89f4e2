/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "fs.h"
#include "inbox.h"
#include "names.h"
#include "test-util.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sys/wait.h>

/* What the tests of the inbox share: an inbox in a tree, somebody who sends, and what came of it. */

#define BOUND_USEC (100 * USEC_PER_SEC)

typedef struct Tree {
        char *dir;
        int fd;
        sd_event *event;
        Inbox *inbox;
        unsigned messages; /* handled */
        unsigned refusals; /* told of */
        unsigned suppressed;
        const char *what; /* the last refusal's reason */
        MessageSender sender;
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

static inline bool is_hung_up(int fd) {
        struct pollfd pfd = { .fd = fd };

        ck_assert_int_ge(poll(&pfd, 1, 0), 0);
        return pfd.revents & POLLHUP;
}

static inline void send_text(const char *text);

static inline void
on_message(void *userdata, const InboxMessage *m, const MessageSender *s, const char *raw, size_t size) {
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

static inline void on_refused(
                void *userdata, const char *what, const MessageSender *sender, unsigned suppressed) {
        ck_assert_ptr_eq(userdata, &tree);
        tree.refusals++;
        tree.suppressed += suppressed;
        tree.what = what;
        tree.sender = *sender;
}

static const InboxHandlers handlers = { .message = on_message, .refused = on_refused };

static inline void setup_tree(void) {
        tree = (Tree){ .watched_fd = -1, .dir = test_tree_new() };
        tree.fd = test_tree_open(tree.dir);
        ck_assert_int_ge(sd_event_new(&tree.event), 0);
}

static inline void setup(void) {
        setup_tree();
        ck_assert_int_eq(inbox_open(tree.fd, tree.event, &handlers, &tree, &tree.inbox), 0);
}

static inline void teardown(void) {
        strv_free(tree.milestones);
        sd_event_source_unref(tree.defer);
        inbox_free(tree.inbox);
        sd_event_unref(tree.event);
        close(tree.fd);
        test_tree_removep(&tree.dir);
}

/* --- the other side --- */

static inline int connect_inbox(void) {
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

static inline void send_with_fds(const char *text, size_t size, const int *fds, size_t n_fds) {
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

static inline void send_size(const char *text, size_t size) {
        send_with_fds(text, size, NULL, 0);
}

static inline void send_text(const char *text) {
        send_size(text, strlen(text));
}

/* The inbox's own above all: as long as anybody holds it, it is not gone. Other files stay: one is Check's,
 * which each assertion writes to. */
static inline void close_sockets(void) {
        struct stat st;

        for (int fd = STDERR_FILENO + 1; fd < 256; fd++)
                if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
                        close(fd);
}

/* A process of its own. Its exit status is the function's value. */
static inline pid_t spawn(int (*function)(void)) {
        pid_t pid = fork();

        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                close_sockets();
                _exit(function());
        }
        return pid;
}

static inline int status_of(pid_t pid) {
        int status;

        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static inline void make_pipe(int *reader, int *writer) {
        int ends[2];

        ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
        *reader = ends[0];
        *writer = ends[1];
}

/* --- our side --- */

static inline void run_once(usec_t since) {
        ck_assert_int_ge(sd_event_run(tree.event, 50 * USEC_PER_MSEC), 0);
        ck_assert_msg(fs_now() - since < BOUND_USEC, "nothing happened");
}

static inline void check_nothing_refused(void) {
        ck_assert_msg(tree.refusals == 0, "refused: %s, from process %ld, user %ld", tree.what,
                        (long) tree.sender.pid, (long) tree.sender.uid);
}

static inline void run_until_messages(unsigned n) {
        usec_t since = fs_now();

        while (tree.messages < n)
                run_once(since);
        ck_assert_uint_eq(tree.messages, n);
}

static inline int run_until_exit(pid_t pid) {
        usec_t since = fs_now();
        siginfo_t info = { 0 };

        while (info.si_pid == 0) {
                run_once(since);
                ck_assert_int_eq(waitid(P_PID, (id_t) pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
        }
        return status_of(pid);
}

static inline void run_until_idle(void) {
        int r;

        do
                r = sd_event_run(tree.event, 0);
        while (r > 0);
        ck_assert_int_eq(r, 0);
}

static inline unsigned count_open_fds(void) {
        DIR *dir = opendir("/proc/self/fd");
        unsigned n = 0;

        ck_assert_ptr_nonnull(dir);
        while (readdir(dir))
                n++;
        closedir(dir);
        return n;
}
