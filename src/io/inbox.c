/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inbox.h"

#include "fs.h"
#include "names.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>

/* Behind everything else in the loop: it is the one source that any user can keep busy. */
#define PRIORITY (SD_EVENT_PRIORITY_NORMAL + 10)
/* Datagrams taken before the loop looks at its other sources again. */
#define DISPATCH_MAX 32U
/* Twice what a queue holds on a systemd machine (net.unix.max_dgram_qlen=512). */
#define DRAIN_MAX 1024U
#define REFUSED_INTERVAL_USEC (10 * USEC_PER_SEC)
/* How long letting go of a sender's files may take before it is interrupted. */
#define RELEASE_MAX_USEC (10 * USEC_PER_MSEC)

#define SOCKET_NAME (strrchr(PATH_INBOX, '/') + 1)

struct Inbox {
        int fd;
        int dir_fd; /* what the socket is in; -1 before it is bound */
        sd_event_source *source;
        InboxHandlers handlers;
        void *userdata;
        bool has_refused;
        usec_t refused_at;
        unsigned suppressed;
        char buffer[]; /* INBOX_MESSAGE_MAX; no page of it is touched before there is a message */
};

/* The datagram at the head of the queue. */
typedef struct Head {
        size_t size; /* may be larger than the buffer */
        bool known;  /* the kernel says who sent it */
        MessageSender sender;
        bool has_files; /* file descriptors came along */
} Head;

static void on_alarm(int signal) {
        (void) signal;
}

/* The files that come with a datagram are whatever an unprivileged user likes, and letting go of them is
 * ours to wait for. Dropped with the datagram, rather than received and closed, they are never flush()ed,
 * which a FUSE server could answer next year; but a TCP socket with SO_LINGER set (socket(7)) still makes
 * its last holder wait for the peer. A signal ends that wait. It is repeated, as the first one may come too
 * early. */
static void limit_release(bool on) {
        static const struct itimerval off = { 0 };
        static const struct itimerval limit = {
                .it_value.tv_usec = RELEASE_MAX_USEC,
                .it_interval.tv_usec = RELEASE_MAX_USEC,
        };

        (void) setitimer(ITIMER_REAL, on ? &limit : &off, NULL);
}

/* Takes the datagram at the head of the queue off it, and its files with it: a sender who waits for its
 * barrier goes on now. */
static void consume(Inbox *i, bool has_files) {
        if (has_files)
                limit_release(true);
        while (recv(i->fd, NULL, 0, MSG_DONTWAIT) < 0 && errno == EINTR)
                ;
        if (has_files)
                limit_release(false);
}

static void note_credentials(const struct cmsghdr *c, Head *head) {
        struct ucred credentials;

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS ||
                        c->cmsg_len != CMSG_LEN(sizeof(credentials)))
                return;
        memcpy(&credentials, CMSG_DATA(c), sizeof(credentials));
        head->sender = (MessageSender){ .pid = credentials.pid, .uid = credentials.uid };
        head->known = true;
}

/* Reads the datagram at the head of the queue and leaves it there. There is room for the credentials and for
 * nothing else, so that no file descriptor is ever installed here: unix(7), MSG_CTRUNC then tells that there
 * were some. -EAGAIN: the queue is empty. */
static int peek(Inbox *i, Head *ret) {
        union {
                struct cmsghdr header;
                char room[CMSG_SPACE(sizeof(struct ucred))];
        } control;
        struct iovec iov = { .iov_base = i->buffer, .iov_len = INBOX_MESSAGE_MAX };
        struct msghdr message = {
                .msg_iov = &iov,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };
        Head head = { .sender.uid = (uid_t) -1 };
        ssize_t size;

        do
                size = recvmsg(i->fd, &message, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
        while (size < 0 && errno == EINTR);
        if (size < 0)
                return -errno;
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
                note_credentials(c, &head);
        head.size = (size_t) size;
        head.has_files = message.msg_flags & MSG_CTRUNC;
        *ret = head;
        return 0;
}

void inbox_refuse(Inbox *i, const char *what, const MessageSender *sender) {
        usec_t now = fs_now();

        if (i->has_refused && now - i->refused_at < REFUSED_INTERVAL_USEC) {
                i->suppressed++;
                return;
        }
        i->has_refused = true;
        i->refused_at = now;
        i->handlers.refused(i->userdata, what, sender, TAKE_GENERIC(i->suppressed, 0));
}

static void handle(Inbox *i, const Head *head) {
        _cleanup_(inbox_message_done) InboxMessage message = { 0 };
        const char *what = "not enough memory to read it";

        if (!head->known)
                inbox_refuse(i, "no credentials", &head->sender);
        else if (inbox_message_parse(i->buffer, head->size, &message, &what) < 0)
                inbox_refuse(i, what, &head->sender);
        else
                i->handlers.message(i->userdata, &message, &head->sender, i->buffer, head->size);
}

/* 1: there was a datagram, and it has been handled; 0: there is none; negative errno. */
static int handle_next(Inbox *i) {
        Head head;
        int r;

        r = peek(i, &head);
        if (r < 0)
                return r == -EAGAIN ? 0 : r;
        handle(i, &head);
        consume(i, head.has_files);
        return 1;
}

static int on_readable(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        int r = 1;

        for (unsigned n = 0; r > 0 && n < DISPATCH_MAX; n++)
                r = handle_next(userdata);
        return MIN(r, 0);
}

void inbox_drain(Inbox *i) {
        for (unsigned n = 0; n < DRAIN_MAX && handle_next(i) > 0; n++)
                ;
}

static int bind_socket(Inbox *i, int root_fd) {
        _cleanup_close_ int dir_fd = -1;
        struct sockaddr_un sa;
        socklen_t length;
        mode_t mask;
        int r;

        r = fs_make_dirs(root_fd, PATH_RUN_DIR);
        if (r < 0)
                return r;
        r = fs_socket_address(root_fd, PATH_INBOX, &sa, &length, &dir_fd);
        if (r < 0)
                return r;
        if (unlinkat(dir_fd, SOCKET_NAME, 0) < 0 && errno != ENOENT)
                return -errno;
        /* 0666 from its first moment on: whoever sees the socket can write to it. */
        mask = umask(0111);
        r = bind(i->fd, (const struct sockaddr *) &sa, length) < 0 ? -errno : 0;
        (void) umask(mask);
        if (r < 0)
                return r;
        i->dir_fd = TAKE_FD(dir_fd);
        return 0;
}

static int listen_socket(Inbox *i, int root_fd) {
        static const struct sigaction action = { .sa_handler = on_alarm };
        static const int on = 1;

        i->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (i->fd < 0)
                return -errno;
        /* Before bind(2): the kernel notes credentials down when it queues a datagram, not when it is read.
         */
        if (setsockopt(i->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
                return -errno;
        /* For limit_release(). Not ignored: a signal that is ignored interrupts nothing. */
        if (sigaction(SIGALRM, &action, NULL) < 0)
                return -errno;
        return bind_socket(i, root_fd);
}

int inbox_open(int root_fd, sd_event *event, const InboxHandlers *handlers, void *userdata, Inbox **ret) {
        _cleanup_(inbox_freep) Inbox *i = NULL;
        int r;

        i = malloc(sizeof(*i) + INBOX_MESSAGE_MAX);
        if (!i)
                return -ENOMEM;
        *i = (Inbox){ .fd = -1, .dir_fd = -1, .handlers = *handlers, .userdata = userdata };
        r = listen_socket(i, root_fd);
        if (r < 0)
                return r;
        r = sd_event_add_io(event, &i->source, i->fd, EPOLLIN, on_readable, i);
        if (r < 0)
                return r;
        r = sd_event_source_set_priority(i->source, PRIORITY);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(i);
        return 0;
}

Inbox *inbox_free(Inbox *i) {
        if (!i)
                return NULL;
        sd_event_source_unref(i->source);
        if (i->dir_fd >= 0)
                (void) unlinkat(i->dir_fd, SOCKET_NAME, 0);
        closep(&i->dir_fd);
        if (i->fd >= 0) {
                /* The queue goes with the socket. */
                limit_release(true);
                close(i->fd);
                limit_release(false);
        }
        free(i);
        return NULL;
}
