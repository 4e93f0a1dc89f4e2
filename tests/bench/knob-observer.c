/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* knob-observer FILE VALUE: waits until the file's text is VALUE, and prints when that was, in nanoseconds
 * of CLOCK_MONOTONIC. Prints "ready" first, once it watches.
 *
 * At real-time priority and with its memory locked, so that it is woken by the very write it waits for, on a
 * machine that is busy booting a container. What it adds (some microseconds) it adds to everything that it
 * observes. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PRIORITY 50

static int fail(const char *what) {
        fprintf(stderr, "knob-observer: %s: %s\n", what, strerror(errno));
        return 1;
}

/* Whether the text, its newline aside, is the value. Opened anew, as the file may have been replaced. */
static int has_value(const char *path, const char *value) {
        char buf[64];
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n;

        if (fd < 0)
                return -1;
        n = read(fd, buf, sizeof(buf) - 1);
        close(fd);
        if (n < 0)
                return -1;
        buf[n] = '\0';
        buf[strcspn(buf, "\n")] = '\0';
        return strcmp(buf, value) == 0;
}

/* Blocks until something was written; when that was noticed. */
static int next_write(int fd, struct timespec *ret) {
        char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));

        if (read(fd, events, sizeof(events)) < 0)
                return -1;
        return clock_gettime(CLOCK_MONOTONIC, ret);
}

static int observe(int fd, const char *path, const char *value) {
        struct timespec at;

        for (;;) {
                int r;

                if (next_write(fd, &at) < 0)
                        return fail("cannot wait for a write");
                r = has_value(path, value);
                if (r < 0)
                        return fail(path);
                if (r > 0)
                        break;
        }
        printf("%" PRId64 "\n", (int64_t) at.tv_sec * 1000000000 + at.tv_nsec);
        return 0;
}

int main(int argc, char **argv) {
        struct sched_param priority = { .sched_priority = PRIORITY };
        int fd;

        if (argc != 3) {
                fprintf(stderr, "Usage: knob-observer FILE VALUE\n");
                return 2;
        }
        if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0 || sched_setscheduler(0, SCHED_FIFO, &priority) < 0)
                return fail("cannot become a real-time process");
        fd = inotify_init1(IN_CLOEXEC);
        if (fd < 0 || inotify_add_watch(fd, argv[1], IN_MODIFY) < 0)
                return fail(argv[1]);
        if (has_value(argv[1], argv[2]) != 0) {
                fprintf(stderr, "knob-observer: %s has the value already\n", argv[1]);
                return 1;
        }
        printf("ready\n");
        fflush(stdout);
        return observe(fd, argv[1], argv[2]);
}
