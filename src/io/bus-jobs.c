/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "bus-jobs.h"

#include "bus-connect.h"
#include "fs.h"
#include "strv.h"

#include <errno.h>

/* Strings belong to the message. */
typedef struct Job {
        const char *unit;
        const char *type;
        bool running;
        bool start;
        uint32_t id; /* PID 1 counts them up */
} Job;

static usec_t left_until(usec_t until) {
        usec_t now = fs_now();

        return now < until ? until - now : 0;
}

/* Authentication and Hello: with sd_bus_call(3) alone they would not be bounded. */
static int wait_ready(sd_bus *bus, usec_t until) {
        int r;

        for (;;) {
                usec_t left;

                r = sd_bus_is_ready(bus);
                if (r != 0)
                        return MIN(r, 0);

                r = sd_bus_process(bus, NULL);
                if (r < 0)
                        return r;
                if (r > 0)
                        continue;

                left = left_until(until);
                if (left == 0)
                        return -ETIMEDOUT;
                r = sd_bus_wait(bus, left);
                if (r < 0 && r != -EINTR)
                        return r;
        }
}

static bool job_precedes(const Job *a, const Job *b) {
        if (a->running != b->running)
                return a->running;
        if (a->start != b->start)
                return a->start;
        return a->id < b->id;
}

/* Keeps the foremost ones, in order. */
static void job_insert(Job jobs[static BUS_JOBS_MAX], size_t *n, const Job *job) {
        size_t i = *n;

        if (i == BUS_JOBS_MAX && !job_precedes(job, &jobs[--i]))
                return;
        for (; i > 0 && job_precedes(job, &jobs[i - 1]); i--)
                jobs[i] = jobs[i - 1];
        jobs[i] = *job;
        *n = MIN(*n + 1, (size_t) BUS_JOBS_MAX);
}

/* org.freedesktop.systemd1(5), ListJobs(): id, unit, type, state, the job's object, the unit's object. */
static int read_jobs(sd_bus_message *m, Job jobs[static BUS_JOBS_MAX], size_t *ret_n) {
        size_t n = 0;
        int r;

        r = sd_bus_message_enter_container(m, 'a', "(usssoo)");
        if (r < 0)
                return r;

        for (;;) {
                const char *state;
                Job job;

                r = sd_bus_message_read(m, "(usssoo)", &job.id, &job.unit, &job.type, &state, NULL, NULL);
                if (r < 0)
                        return r;
                if (r == 0)
                        break;

                job.running = streq(state, "running");
                job.start = streq(job.type, "start");
                job_insert(jobs, &n, &job);
        }

        *ret_n = n;
        return 0;
}

static int format_jobs(const Job *jobs, size_t n, char ***ret) {
        _cleanup_strv_free_ char **list = NULL;
        int r;

        for (size_t i = 0; i < n; i++) {
                char *s;

                if (asprintf(&s, "%s/%s", jobs[i].unit, jobs[i].type) < 0)
                        return -ENOMEM;
                r = strv_consume(&list, s);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(list);
        return 0;
}

int bus_jobs_list(int root_fd, usec_t timeout, char ***ret) {
        _cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL, *reply = NULL;
        usec_t until = fs_now() + timeout;
        Job jobs[BUS_JOBS_MAX];
        size_t n;
        int r;

        r = bus_connect(root_fd, false, &bus);
        if (r < 0)
                return r;
        r = wait_ready(bus, until);
        if (r < 0)
                return r;
        r = bus_call_new(bus, BUS_SYSTEMD_PATH, BUS_SYSTEMD_MANAGER, "ListJobs", &call);
        if (r < 0)
                return r;
        /* 0 would mean the connection's own timeout: none. */
        r = sd_bus_call(bus, call, MAX(left_until(until), (usec_t) 1), NULL, &reply);
        if (r < 0)
                return r;
        r = read_jobs(reply, jobs, &n);
        if (r < 0)
                return r;

        return format_jobs(jobs, n, ret);
}
