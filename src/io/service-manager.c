/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "service-manager.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <time.h>

/* How often it is tried to find room for READY=1. */
#define READY_RETRY_USEC (100 * USEC_PER_MSEC)
/* Of the manager's patience: a message may get lost now and then. */
#define WATCHDOG_FRACTION 4U

#define STATUS_MAX 2048U

struct ServiceManager {
        sd_event_source *timer;
        usec_t watchdog; /* between two messages; 0: not asked for */
        bool ready_due;
        bool ready_told;
        char status[STATUS_MAX]; /* the last one, as it is told; "" before the first */
};

/* sd_notify(3), $NOTIFY_SOCKET. False: not an address of a service's. */
static bool read_address(struct sockaddr_un *ret_sa, socklen_t *ret_length) {
        struct sockaddr_un sa = { .sun_family = AF_UNIX };
        const char *address = getenv("NOTIFY_SOCKET");
        size_t n;

        if (isempty(address) || !strchr("/@", address[0]))
                return false;
        n = strlen(address);
        if (n >= sizeof(sa.sun_path))
                return false;

        memcpy(sa.sun_path, address, n);
        /* "@" stands for the NUL that an abstract name begins with, and that name has none at its end. */
        if (address[0] == '@')
                sa.sun_path[0] = '\0';
        *ret_length = (socklen_t) (offsetof(struct sockaddr_un, sun_path) + n + (address[0] == '/'));
        *ret_sa = sa;
        return true;
}

/* -EAGAIN: there is no room. That nobody asked to be told is no error. */
static int tell(const char *text) {
        _cleanup_close_ int fd = -1;
        struct sockaddr_un sa;
        socklen_t length;

        if (!read_address(&sa, &length))
                return 0;
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;

        return sendto(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *) &sa,
                               length) < 0
                        ? -errno
                        : 0;
}

static void try_ready(ServiceManager *s) {
        char text[STRLEN("READY=1\n") + STATUS_MAX];
        int r;

        (void) snprintf(text, sizeof(text), "READY=1%s%s", isempty(s->status) ? "" : "\n", s->status);
        r = tell(text);
        s->ready_due = r == -EAGAIN || r == -ENOBUFS || r == -ENOMEM || r == -EMFILE || r == -ENFILE;
        s->ready_told = !s->ready_due;
}

/* Neither call fails on a timer of an event loop that is there. */
static void arm_timer(ServiceManager *s) {
        usec_t pause = s->ready_due ? READY_RETRY_USEC : s->watchdog;

        if (pause == 0)
                return;
        (void) sd_event_source_set_time_relative(s->timer, pause);
        (void) sd_event_source_set_enabled(s->timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        ServiceManager *s = userdata;

        if (s->ready_due)
                try_ready(s);
        if (s->watchdog > 0)
                (void) tell("WATCHDOG=1");
        arm_timer(s);
        return 0;
}

int service_manager_open(sd_event *event, ServiceManager **ret) {
        _cleanup_(service_manager_freep) ServiceManager *s = NULL;
        uint64_t watchdog;
        int r;

        s = calloc(1, sizeof(*s));
        if (!s)
                return -ENOMEM;
        if (sd_watchdog_enabled(false, &watchdog) > 0)
                s->watchdog = MAX(watchdog / WATCHDOG_FRACTION, (usec_t) 1);

        r = sd_event_add_time(event, &s->timer, CLOCK_MONOTONIC, 0, 0, on_timer, s);
        if (r < 0)
                return r;
        r = sd_event_source_set_enabled(s->timer, SD_EVENT_OFF);
        if (r < 0)
                return r;

        arm_timer(s);
        *ret = TAKE_PTR(s);
        return 0;
}

ServiceManager *service_manager_free(ServiceManager *s) {
        if (!s)
                return NULL;
        sd_event_source_unref(s->timer);
        free(s);
        return NULL;
}

void service_manager_ready(ServiceManager *s) {
        try_ready(s);
        arm_timer(s);
}

void service_manager_status(ServiceManager *s, const char *format, ...) {
        char text[STATUS_MAX] = "STATUS=";
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(text + STRLEN("STATUS="), sizeof(text) - STRLEN("STATUS="), format, ap);
        va_end(ap);

        if (s) {
                if (streq(text, s->status))
                        return;
                strcpy(s->status, text);
                if (!s->ready_told)
                        return; /* it goes out with READY=1 */
        }
        (void) tell(text);
}
