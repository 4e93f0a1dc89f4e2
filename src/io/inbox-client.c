/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inbox-client.h"

#include "fs.h"
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/time.h>

/* sd_notify(3) would do, but for its sendmsg(2) that knows no timeout: it waits for as long as the queue is
 * full, be it because somebody floods it, or because the daemon has been stopped in a debugger. */

/* The whole wait for room in the queue; a timeout of 0 would mean "for ever" here (socket(7)). */
static int set_timeout(int fd, usec_t timeout) {
        struct timeval tv;

        if (timeout == USEC_INFINITY)
                return 0;
        timeout = MAX(timeout, 1U);
        tv.tv_sec = (time_t) MIN(timeout / USEC_PER_SEC, (usec_t) INT_MAX);
        tv.tv_usec = (suseconds_t) (timeout % USEC_PER_SEC);
        return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) < 0 ? -errno : 0;
}

/* One datagram: either it arrives with its barrier or not at all. */
static int send_message(int fd, struct sockaddr_un *sa, socklen_t length, const char *text, int barrier_fd) {
        static char barrier[] = "\n" INBOX_BARRIER "=1";
        struct iovec iov[] = {
                { .iov_base = (char *) text, .iov_len = strlen(text) },
                { .iov_base = barrier, .iov_len = STRLEN(barrier) },
        };
        union {
                struct cmsghdr header;
                char room[CMSG_SPACE(sizeof(int))];
        } control = { 0 };
        struct msghdr message = {
                .msg_name = sa,
                .msg_namelen = length,
                .msg_iov = iov,
                .msg_iovlen = ELEMENTSOF(iov),
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };
        ssize_t n;

        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&control.header), &barrier_fd, sizeof(int));
        do
                n = sendmsg(fd, &message, MSG_NOSIGNAL);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return errno == EAGAIN ? -ETIMEDOUT : -errno;
        return 0;
}

/* Until nobody holds the pipe's other end any more. */
static int wait_for_hangup(int fd, usec_t until) {
        struct pollfd pfd = { .fd = fd };

        for (;;) {
                int ms = -1, r;

                if (until != USEC_INFINITY) {
                        usec_t now = fs_now(), left = until > now ? until - now : 0;

                        ms = (int) MIN((left + USEC_PER_MSEC - 1) / USEC_PER_MSEC, (usec_t) INT_MAX);
                }
                r = poll(&pfd, 1, ms);
                if (r > 0)
                        return 0;
                if (r < 0 && errno != EINTR)
                        return -errno;
                if (r == 0 && fs_now() >= until)
                        return -ETIMEDOUT;
        }
}

int inbox_client_send(int root_fd, const char *text, usec_t timeout) {
        _cleanup_close_ int fd = -1, dir_fd = -1, reader = -1, writer = -1;
        usec_t now = fs_now(), until;
        struct sockaddr_un sa;
        socklen_t length;
        int ends[2], r;

        until = timeout < USEC_INFINITY - now ? now + timeout : USEC_INFINITY;
        r = fs_socket_address(root_fd, PATH_INBOX, &sa, &length, &dir_fd);
        if (r < 0)
                return r;
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        r = set_timeout(fd, timeout);
        if (r < 0)
                return r;
        if (pipe2(ends, O_CLOEXEC) < 0)
                return -errno;
        reader = ends[0];
        writer = ends[1];
        r = send_message(fd, &sa, length, text, writer);
        if (r < 0)
                return r;
        close(TAKE_FD(writer));
        return wait_for_hangup(reader, until);
}
