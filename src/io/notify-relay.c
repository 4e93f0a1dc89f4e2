/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "notify-relay.h"

#include "fs.h"
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
/* This one needs struct sockaddr. */
#include <linux/vm_sockets.h>

#define VARIABLE "NOTIFY_SOCKET="

/* What arguments and environment of a program can have at most (fs/exec.c, bprm_stack_limits()). */
#define ENVIRON_MAX (6U * 1024U * 1024U)

/* Connections under way at once. PID 1 sends about a dozen messages a boot. */
#define CONNECTIONS_MAX 16U

/* vsock(7): ports below are for the privileged, so that the host knows who talks. */
#define PRIVILEGED_PORT_END 1024U

/* A message that waits for its connection. Each has one of its own, as with sd_notify(3): in a stream, the
 * end of the connection is the end of the message. */
typedef struct Connection {
        NotifyRelay *relay;
        int fd;
        sd_event_source *source;
        size_t size;
        char message[];
} Connection;

struct NotifyRelay {
        int root_fd;
        sd_event *event;
        char *path; /* below the root; NULL for the other kinds of address */
        union {
                struct sockaddr sa;
                struct sockaddr_un un;
                struct sockaddr_vm vm;
        } address;
        socklen_t length;
        int vsock_type; /* SOCK_..., or 0: whichever works */
        Connection *connections[CONNECTIONS_MAX];
};

/* --- finding the address --- */

/* The same path, however many slashes and dots it is written with. */
static bool path_is_same(const char *a, const char *b) {
        for (;;) {
                size_t n, k;

                for (; *a == '/' || (a[0] == '.' && (a[1] == '/' || a[1] == '\0')); a++)
                        ;
                for (; *b == '/' || (b[0] == '.' && (b[1] == '/' || b[1] == '\0')); b++)
                        ;
                n = strcspn(a, "/");
                k = strcspn(b, "/");
                if (n != k || memcmp(a, b, n) != 0)
                        return false;
                if (n == 0)
                        return true;
                a += n;
                b += k;
        }
}

/* Another way to spell our inbox's path, or a symlink on the way (/var/run): the same socket. */
static bool is_same_socket(int root_fd, const char *path) {
        _cleanup_close_ int a = fs_open(root_fd, path, O_PATH), b = fs_open(root_fd, PATH_INBOX, O_PATH);
        struct stat st, own;

        return a >= 0 && b >= 0 && fstat(a, &st) == 0 && fstat(b, &own) == 0 && st.st_dev == own.st_dev &&
                        st.st_ino == own.st_ino;
}

/* What is no address of another's: nothing, or our own inbox. */
static bool is_foreign(int root_fd, const char *address) {
        if (isempty(address))
                return false;
        return address[0] != '/' ||
                        (!path_is_same(address, PATH_INBOX) && !is_same_socket(root_fd, address));
}

static int read_credential(int root_fd, char **ret) {
        return fs_read_line(root_fd, PATH_SYSTEM_CREDENTIALS "/" CREDENTIAL_NOTIFY_SOCKET, ret);
}

static int read_environment(int root_fd, char **ret) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        int r;

        r = fs_read(root_fd, PATH_PID1_ENVIRON, ENVIRON_MAX, &text, &size);
        if (r < 0)
                return r;
        /* fs_read() puts a NUL behind the last string. */
        for (const char *s = text; s < text + size; s += strlen(s) + 1) {
                const char *address = startswith(s, VARIABLE);

                if (!address)
                        continue;
                *ret = strdup(address);
                return *ret ? 0 : -ENOMEM;
        }
        return -ENOENT;
}

/* NULL: there is none. What cannot be read (no such file, or not for us) is not there. -ENOMEM. */
static int find_address(int root_fd, char **ret) {
        static int (*const sources[])(int root_fd, char **ret) = { read_credential, read_environment };

        for (size_t i = 0; i < ELEMENTSOF(sources); i++) {
                _cleanup_free_ char *address = NULL;
                int r;

                r = sources[i](root_fd, &address);
                if (r == -ENOMEM)
                        return r;
                if (r >= 0 && is_foreign(root_fd, address)) {
                        *ret = TAKE_PTR(address);
                        return 0;
                }
        }
        *ret = NULL;
        return 0;
}

/* --- parsing it --- */

/* A plain decimal number that ends at `end`; the highest one means "any" (VMADDR_CID_ANY, VMADDR_PORT_ANY)
 * and is no address. */
static int parse_u32(const char **s, char end, unsigned *ret) {
        const char *p = *s;
        uint64_t n = 0;

        if (*p < '0' || *p > '9')
                return -EINVAL;
        for (; *p >= '0' && *p <= '9'; p++) {
                n = n * 10 + (uint64_t) (*p - '0');
                if (n >= UINT32_MAX)
                        return -EINVAL;
        }
        if (*p != end)
                return -EINVAL;
        *ret = (unsigned) n;
        *s = end == '\0' ? p : p + 1;
        return 0;
}

static int parse_vsock(NotifyRelay *r, const char *address) {
        static const struct {
                const char *prefix;
                int type;
        } kinds[] = {
                { "vsock:", 0 },
                { "vsock-stream:", SOCK_STREAM },
                { "vsock-dgram:", SOCK_DGRAM },
                { "vsock-seqpacket:", SOCK_SEQPACKET },
        };

        for (size_t i = 0; i < ELEMENTSOF(kinds); i++) {
                const char *s = startswith(address, kinds[i].prefix);
                struct sockaddr_vm vm = { .svm_family = AF_VSOCK };

                if (!s)
                        continue;
                if (parse_u32(&s, ':', &vm.svm_cid) < 0 || parse_u32(&s, '\0', &vm.svm_port) < 0)
                        return -EINVAL;
                r->address.vm = vm;
                r->length = sizeof(vm);
                r->vsock_type = kinds[i].type;
                return 0;
        }
        return -EINVAL;
}

static int parse_abstract(NotifyRelay *r, const char *name) {
        struct sockaddr_un un = { .sun_family = AF_UNIX };
        size_t n = strlen(name);

        if (n == 0 || n >= sizeof(un.sun_path))
                return -EINVAL;
        memcpy(un.sun_path + 1, name, n);
        r->address.un = un;
        r->length = (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 + n);
        return 0;
}

static int parse_address(NotifyRelay *r, const char *address) {
        if (address[0] == '@')
                return parse_abstract(r, address + 1);
        if (address[0] != '/')
                return parse_vsock(r, address);
        if (endswith(address, "/"))
                return -EINVAL;
        r->path = strdup(address + strspn(address, "/"));
        return r->path ? 0 : -ENOMEM;
}

int notify_relay_open(int root_fd, sd_event *event, NotifyRelay **ret) {
        _cleanup_(notify_relay_freep) NotifyRelay *relay = NULL;
        _cleanup_free_ char *address = NULL;
        int r;

        r = find_address(root_fd, &address);
        if (r < 0)
                return r;
        if (!address) {
                *ret = NULL;
                return 0;
        }
        relay = malloc(sizeof(*relay));
        if (!relay)
                return -ENOMEM;
        *relay = (NotifyRelay){ .root_fd = -1, .event = sd_event_ref(event) };
        r = parse_address(relay, address);
        if (r < 0)
                return r;
        relay->root_fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
        if (relay->root_fd < 0)
                return -errno;
        *ret = TAKE_PTR(relay);
        return 0;
}

/* --- sending: AF_UNIX --- */

/* systemd-nspawn, for one, believes nobody but its container's PID 1. */
static int send_as_pid1(int fd, struct msghdr *message) {
        union {
                struct cmsghdr header;
                char room[CMSG_SPACE(sizeof(struct ucred))];
        } control = { 0 };
        const struct ucred pid1 = { .pid = 1, .uid = getuid(), .gid = getgid() };

        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_CREDENTIALS;
        control.header.cmsg_len = CMSG_LEN(sizeof(pid1));
        memcpy(CMSG_DATA(&control.header), &pid1, sizeof(pid1));
        message->msg_control = &control;
        message->msg_controllen = sizeof(control);
        if (sendmsg(fd, message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
                return 0;
        if (errno != EPERM && errno != ESRCH)
                return -errno;
        message->msg_control = NULL;
        message->msg_controllen = 0;
        return sendmsg(fd, message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int send_unix(NotifyRelay *r, const char *raw, size_t size) {
        struct iovec iov = { .iov_base = (char *) raw, .iov_len = size };
        struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
        _cleanup_close_ int fd = -1, dir_fd = -1;
        struct sockaddr_un un = r->address.un;
        socklen_t length = r->length;
        int k;

        if (r->path) {
                /* Each time anew: the receiver may have been started again. */
                k = fs_socket_address(r->root_fd, r->path, &un, &length, &dir_fd);
                if (k < 0)
                        return k;
        }
        message.msg_name = &un;
        message.msg_namelen = length;
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        return send_as_pid1(fd, &message);
}

/* --- sending: AF_VSOCK --- */

static int send_all(int fd, const char *raw, size_t size) {
        ssize_t n = send(fd, raw, size, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0)
                return -errno;
        return (size_t) n < size ? -EIO : 0;
}

static Connection *connection_free(Connection *c) {
        if (!c)
                return NULL;
        sd_event_source_unref(c->source);
        closep(&c->fd);
        free(c);
        return NULL;
}
DEFINE_TRIVIAL_CLEANUP_FUNC(Connection *, connection_free);

/* The connection stands or has failed: in both cases it has done what it could. */
static void connection_finish(Connection *c) {
        NotifyRelay *r = c->relay;
        socklen_t length = sizeof(int);
        int error = 0;

        if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0)
                (void) send_all(c->fd, c->message, c->size);
        for (size_t i = 0; i < CONNECTIONS_MAX; i++)
                if (r->connections[i] == c)
                        r->connections[i] = NULL;
        connection_free(c);
}

static int on_connected(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        connection_finish(userdata);
        return 0;
}

/* Takes over *fd on success. */
static int send_when_connected(NotifyRelay *r, int *fd, const char *raw, size_t size) {
        _cleanup_(connection_freep) Connection *c = NULL;
        size_t i = 0;
        int k;

        while (i < CONNECTIONS_MAX && r->connections[i])
                i++;
        if (i == CONNECTIONS_MAX)
                return -ENOBUFS;
        c = malloc(sizeof(*c) + size);
        if (!c)
                return -ENOMEM;
        *c = (Connection){ .relay = r, .fd = -1, .size = size };
        memcpy(c->message, raw, size);
        k = sd_event_add_io(r->event, &c->source, *fd, EPOLLOUT, on_connected, c);
        if (k < 0)
                return k;
        c->fd = TAKE_FD(*fd);
        r->connections[i] = TAKE_PTR(c);
        return 0;
}

static bool is_not_supported(int error) {
        return error == -EPROTONOSUPPORT || error == -ESOCKTNOSUPPORT || error == -EOPNOTSUPP ||
                        error == -EAFNOSUPPORT || error == -ENODEV;
}

/* From a port that shows the host that root sends, if root we are. */
static void bind_privileged(int fd) {
        struct sockaddr_vm vm = { .svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY };

        for (vm.svm_port = PRIVILEGED_PORT_END - 1; vm.svm_port > 0; vm.svm_port--)
                if (bind(fd, (const struct sockaddr *) &vm, sizeof(vm)) == 0 || errno != EADDRINUSE)
                        return;
}

static int send_vsock(NotifyRelay *r, int type, const char *raw, size_t size) {
        _cleanup_close_ int fd = socket(AF_VSOCK, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0)
                return -errno;
        bind_privileged(fd);
        if (connect(fd, &r->address.sa, r->length) == 0)
                return send_all(fd, raw, size);
        if (errno != EINPROGRESS)
                return -errno;
        return send_when_connected(r, &fd, raw, size);
}

/* In sd_notify(3)'s order, where the address does not say which. */
static int send_any_vsock(NotifyRelay *r, const char *raw, size_t size) {
        static const int types[] = { SOCK_DGRAM, SOCK_SEQPACKET, SOCK_STREAM };
        int k = -EPROTONOSUPPORT;

        if (r->vsock_type != 0)
                return send_vsock(r, r->vsock_type, raw, size);
        for (size_t i = 0; i < ELEMENTSOF(types) && is_not_supported(k); i++)
                k = send_vsock(r, types[i], raw, size);
        return k;
}

int notify_relay_send(NotifyRelay *r, const char *raw, size_t size) {
        if (!r)
                return 0;
        if (!r->path && r->address.sa.sa_family == AF_VSOCK)
                return send_any_vsock(r, raw, size);
        return send_unix(r, raw, size);
}

/* The event loop runs no more. */
static void flush(NotifyRelay *r) {
        usec_t until = fs_now() + NOTIFY_RELAY_FLUSH_USEC;

        for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
                Connection *c = r->connections[i];
                struct pollfd pfd = { .events = POLLOUT };
                usec_t now;

                if (!c)
                        continue;
                pfd.fd = c->fd;
                now = fs_now();
                if (poll(&pfd, 1, now < until ? (int) ((until - now) / USEC_PER_MSEC) : 0) > 0)
                        connection_finish(c);
                else
                        r->connections[i] = connection_free(c);
        }
}

NotifyRelay *notify_relay_free(NotifyRelay *r) {
        if (!r)
                return NULL;
        flush(r);
        sd_event_unref(r->event);
        closep(&r->root_fd);
        free(r->path);
        free(r);
        return NULL;
}
