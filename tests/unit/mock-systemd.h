/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "test-util.h"

#include "fs.h"

#include <systemd/sd-bus.h>

/* A private message bus (dbus-daemon) in a tree, and on it something that answers as PID 1 does: as far as
 * rcu-bootd asks it (org.freedesktop.systemd1(5)). It runs in the test's own event loop: code under test
 * that waited for an answer would never get one. */

#define MOCK_UNITS_MAX 16

#define PATIENCE (100 * USEC_PER_SEC)

/* Runs the event loop until the condition holds. */
#define RUN_UNTIL(event, condition)                                            \
        for (usec_t _until = fs_now() + PATIENCE; !(condition);) {             \
                ck_assert_msg(fs_now() < _until, "still not so: " #condition); \
                ck_assert_int_ge(sd_event_run(event, 100 * USEC_PER_MSEC), 0); \
        }

typedef struct MockUnit {
        char name[64];  /* as asked for */
        char id[64];    /* its real name */
        char state[16]; /* ActiveState */
} MockUnit;

typedef struct MockJob {
        uint32_t id;
        const char *unit, *type, *state;
} MockJob;

typedef struct MockSystemd {
        char *address;
        sd_event *event;
        sd_bus *bus; /* NULL while it is not there */
        MockUnit units[MOCK_UNITS_MAX];
        size_t n_units;
        const MockJob *jobs;
        size_t n_jobs;
        uint64_t finish_usec;
        bool subscribed; /* signals are sent to subscribers only */
        char client[32]; /* who subscribed last */
        unsigned n_calls;
        bool holding; /* questions are put aside... */
        sd_bus_message *held[MOCK_UNITS_MAX];
        size_t n_held;
} MockSystemd;

/* Starts dbus-daemon on TREE/run/dbus/system_bus_socket, and returns when it takes connections. Were
 * something to start PID 1 through the bus, TREE/activated would appear. */
pid_t mock_bus_start(const char *tree);
void mock_bus_kill(pid_t *pid);

/* Something that listens on the bus's socket but never answers. */
int mock_bus_listen(const char *tree);

/* A plain connection to that bus, as any process can have. */
sd_bus *mock_bus_connect(const char *tree);

void mock_init(MockSystemd *m, const char *tree, sd_event *event);
void mock_done(MockSystemd *m);

/* Comes to the bus and takes its name, under a new unique name each time; leaves it. What was subscribed is
 * forgotten. */
void mock_appear(MockSystemd *m);
void mock_vanish(MockSystemd *m);

/* Sets what will be answered. No signal. */
void mock_set_unit(MockSystemd *m, const char *name, const char *id, const char *state);

/* The same, with the signals that PID 1 sends (if anybody subscribed). */
void mock_change_unit(MockSystemd *m, const char *id, const char *state);
void mock_finish_startup(MockSystemd *m);
void mock_reload(MockSystemd *m);

/* Answers what was put aside while .holding. */
void mock_answer_held(MockSystemd *m);

/* The signals of a unit that got active, as anybody with a connection can send them; destination NULL: to
 * all who listen. */
void mock_send_unit_signal(sd_bus *bus, const char *destination, const char *id, const char *state);
