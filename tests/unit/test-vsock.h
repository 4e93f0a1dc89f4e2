/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "test-util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
/* This one needs struct sockaddr. */
#include <linux/vm_sockets.h>

#define BOUND_USEC (100 * USEC_PER_SEC)

/* Few machines that run tests have a peer for AF_VSOCK. TCP stands in for it here: the three calls that know
 * the family are the test's own. */
static struct {
        int listener;
        bool no_seqpacket; /* the transport has none: connect(2) says so, as virtio's does */
        bool slow;         /* a connection is never there at once */
        unsigned ports_taken;
        int type; /* asked for last */
        unsigned bound_port;
        unsigned cid, port;
} hypervisor = { .listener = -1 };

int socket(int domain, int type, int protocol) {
        const int flags = SOCK_CLOEXEC | SOCK_NONBLOCK;

        if (domain != AF_VSOCK)
                return (int) syscall(SYS_socket, domain, type, protocol);
        hypervisor.type = type & ~flags;
        if (hypervisor.type == SOCK_DGRAM) {
                errno = ENODEV;
                return -1;
        }
        return (int) syscall(SYS_socket, AF_INET, SOCK_STREAM | (type & flags), 0);
}

int bind(int fd, const struct sockaddr *sa, socklen_t length) {
        struct sockaddr_vm vm;

        if (sa->sa_family != AF_VSOCK)
                return (int) syscall(SYS_bind, fd, sa, length);
        memcpy(&vm, sa, sizeof(vm));
        ck_assert_uint_eq(vm.svm_cid, VMADDR_CID_ANY);
        if (hypervisor.ports_taken > 0) {
                hypervisor.ports_taken--;
                errno = EADDRINUSE;
                return -1;
        }
        hypervisor.bound_port = vm.svm_port;
        return 0;
}

int connect(int fd, const struct sockaddr *sa, socklen_t length) {
        struct sockaddr_in in = { 0 };
        struct sockaddr_vm vm;
        int r;

        if (sa->sa_family != AF_VSOCK)
                return (int) syscall(SYS_connect, fd, sa, length);
        memcpy(&vm, sa, sizeof(vm));
        hypervisor.cid = vm.svm_cid;
        hypervisor.port = vm.svm_port;
        if (hypervisor.type == SOCK_SEQPACKET && hypervisor.no_seqpacket) {
                errno = ESOCKTNOSUPPORT;
                return -1;
        }
        length = sizeof(in);
        ck_assert_int_eq(getsockname(hypervisor.listener, (struct sockaddr *) &in, &length), 0);
        r = (int) syscall(SYS_connect, fd, &in, sizeof(in));
        if (r == 0 && hypervisor.slow) {
                errno = EINPROGRESS;
                return -1;
        }
        return r;
}

static inline void start_hypervisor(int backlog) {
        struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

        hypervisor.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_ge(hypervisor.listener, 0);
        ck_assert_int_eq(bind(hypervisor.listener, (const struct sockaddr *) &sa, sizeof(sa)), 0);
        ck_assert_int_eq(listen(hypervisor.listener, backlog), 0);
}

/* The next message; the end of the connection is its end. */
static inline void check_hypervisor_received(const char *expected) {
        struct pollfd pfd = { .fd = hypervisor.listener, .events = POLLIN };
        char text[256];
        size_t size = 0;
        ssize_t n;
        int fd;

        ck_assert_int_eq(poll(&pfd, 1, BOUND_USEC / USEC_PER_MSEC), 1);
        fd = accept4(hypervisor.listener, NULL, NULL, SOCK_CLOEXEC);
        ck_assert_int_ge(fd, 0);
        while ((n = recv(fd, text + size, sizeof(text) - 1 - size, 0)) > 0)
                size += (size_t) n;
        text[size] = '\0';
        close(fd);
        ck_assert_str_eq(text, expected);
}
