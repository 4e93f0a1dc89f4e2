/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a shell cannot do in the guest: wait in poll(2), and write to a node from many processes at once. */
#define _GNU_SOURCE /* strerrorname_np() */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_VALUES_MAX 64

static int64_t now_ms(void) {
        struct timespec t;

        (void) clock_gettime(CLOCK_BOOTTIME, &t);
        return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int fail(const char *what) {
        fprintf(stderr, "%s: %s\n", what, strerror(errno));
        return EXIT_FAILURE;
}

/* Prints what poll(2) said, what the file says then, and when. */
static int wait_change(const char *path) {
        char text[64] = "";
        int fd = open(path, O_RDONLY);
        struct pollfd p = { .fd = fd, .events = POLLPRI };

        if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
                return fail(path);
        printf("waiting\n");
        fflush(stdout);
        if (poll(&p, 1, -1) < 0)
                return fail("poll");
        ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
        if (n < 0)
                return fail(path);
        text[strcspn(text, "\n")] = '\0';
        printf("%s%s%s %s %lld\n", p.revents & POLLPRI ? "PRI" : "", p.revents & POLLERR ? "ERR" : "",
                        p.revents & POLLHUP ? "HUP" : "", text, (long long) now_ms());
        return EXIT_SUCCESS;
}

/* Writes @value in one write(2), as user @uid; prints 0, or the name of the error. */
static int put(const char *path, const char *value, uid_t uid) {
        int fd, failed;

        if (uid != 0 && setuid(uid) < 0)
                return fail("setuid");
        fd = open(path, O_WRONLY);
        failed = fd < 0 || write(fd, value, strlen(value)) < 0;
        printf("%s\n", failed ? strerrorname_np(errno) : "0");
        return EXIT_SUCCESS;
}

/* Writes one of the values, drawn at random, again and again; tells how often with which result. */
static int write_values(const char *path, int64_t until, char **values, int n_values) {
        unsigned done = 0, busy = 0, invalid = 0, other = 0;

        srandom((unsigned) getpid());
        while (now_ms() < until) {
                const char *value = values[random() % n_values];
                int fd = open(path, O_WRONLY);
                ssize_t n = fd < 0 ? -1 : write(fd, value, strlen(value));

                if (n >= 0)
                        done++;
                else if (errno == EBUSY)
                        busy++;
                else if (errno == EINVAL)
                        invalid++;
                else
                        other++;
                if (fd >= 0)
                        close(fd);
                /* Not all of the time: the guest's one processor is for the timer, too. */
                if (random() % 8 == 0)
                        usleep((useconds_t) (random() % 20000));
        }
        printf("%u %u %u %u\n", done, busy, invalid, other);
        return EXIT_SUCCESS;
}

/* stress FILE PROCESSES MS VALUE...: a line of results from each process: done EBUSY EINVAL other. */
static int stress(int argc, char **argv) {
        int processes = atoi(argv[1]);
        int64_t until = now_ms() + atoll(argv[2]);
        int status, worst = EXIT_SUCCESS;

        for (int i = 0; i < processes; i++)
                if (fork() == 0)
                        return write_values(argv[0], until, argv + 3, argc - 3);
        while (wait(&status) > 0)
                if (status != 0)
                        worst = EXIT_FAILURE;
        return worst;
}

int main(int argc, char **argv) {
        if (argc == 3 && strcmp(argv[1], "wait-change") == 0)
                return wait_change(argv[2]);
        if (argc >= 6 && argc < N_VALUES_MAX && strcmp(argv[1], "stress") == 0)
                return stress(argc - 2, argv + 2);
        if ((argc == 4 || argc == 5) && strcmp(argv[1], "put") == 0)
                return put(argv[2], argv[3], argc == 5 ? (uid_t) atoi(argv[4]) : 0);
        if (argc == 2 && strcmp(argv[1], "now") == 0)
                return printf("%lld\n", (long long) now_ms()) < 0;
        fprintf(stderr,
                        "tool wait-change FILE | tool put FILE VALUE [UID] | tool stress FILE PROCESSES MS "
                        "VALUE... | tool now\n");
        return 2;
}
