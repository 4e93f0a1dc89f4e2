/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "manager.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <syslog.h>

#include "boot-setup.h"
#include "fs.h"
#include "kernel-nodes.h"
#include "knobs.h"
#include "machine.h"
#include "manager-internal.h"
#include "names.h"
#include "state-file.h"
#include "strv.h"
#include "unit-files.h"

/* How long the deadline's entry may wait for the list of pending jobs. The knobs have been written by then.
 */
#define LIST_JOBS_USEC (500 * USEC_PER_MSEC)
/* How often, and in which distance, a lock that is taken is tried again before another daemon is said to
 * have it. */
#define LOCK_TRIES 20U
#define LOCK_PAUSE_USEC (10 * USEC_PER_MSEC)

static void manager_done(Manager *m) {
        bus_watch_free(m->bus);
        device_watch_free(m->devices);
        milestone_dir_free(m->dir);
        notify_relay_free(m->relay);
        inbox_free(m->inbox);
        service_manager_free(m->service);
        sd_event_source_unref(m->timer);
        sd_event_unref(m->event);
        boot_record_done(&m->record);
        audit_free(m->audit);
        closep(&m->lock_fd);
        closep(&m->root_fd);
}

static void enqueue(Manager *m, const BootEvent *event) {
        assert(m->queue_n < MANAGER_QUEUE_MAX);
        m->queue[(m->queue_first + m->queue_n++) % MANAGER_QUEUE_MAX] = *event;
}

/* What the service manager shows beside the unit. */
static void tell_status(const Manager *m) {
        _cleanup_free_ char *missing = NULL;
        const BootRecord *r = &m->record;

        if (r->phase == BOOT_PHASE_ENDED) {
                service_manager_status(m->service, "RCU's boot ended %.3f s after the kernel started: %s.",
                                (double) r->since / USEC_PER_SEC, boot_reason_to_string(r->reason));
                return;
        }

        if (boot_record_list_missing(r, &missing) < 0)
                return;
        service_manager_status(m->service, "Waiting for %s; deadline %.0f s after the kernel started.",
                        isempty(missing) ? "the earliest time the policy allows" : missing,
                        (double) r->deadline / USEC_PER_SEC);
}

static void write_knob(Manager *m, const BootAction *action, usec_t now) {
        BootEvent answer = {
                .type = BOOT_EVENT_KNOB,
                .now = now,
                .rescue = m->rescue,
                .knob = { .knob = action->knob, .stage = action->stage },
        };

        knobs_write(m->root_fd, action->knob, action->value, &answer.knob.result);
        enqueue(m, &answer);
}

static void read_mode(Manager *m, usec_t now) {
        BootEvent answer = {
                .type = BOOT_EVENT_MODE,
                .now = now,
                .rescue = m->rescue,
                .mode = { .mode = knobs_read_mode(m->root_fd) },
        };

        enqueue(m, &answer);
}

/* Where the very first record cannot be written, nothing is expedited: a daemon that died could then have
 * its boot neither gone on with nor ended for good, and what waits for the end would see none. */
static void on_unsaved(Manager *m, int error) {
        BootEvent end = {
                .type = BOOT_EVENT_END,
                .now = fs_now(),
                .rescue = m->rescue,
                .end = { .reason = BOOT_REASON_STATE_INVALID },
        };
        bool first = m->record.phase == BOOT_PHASE_PROBING;

        audit_log(m->audit, first ? LOG_ERR : LOG_WARNING,
                        "Cannot write the state file /" PATH_STATE ", %s: %s",
                        first ? "ending boot" : "going on without", strerror(-error));
        if (first)
                enqueue(m, &end);
}

static void save(Manager *m) {
        int r;

        r = state_file_write(m->root_fd, &m->record);
        m->unsaved = r < 0;
        if (r < 0)
                on_unsaved(m, r);
        tell_status(m);
}

static void audit(Manager *m, const BootAction *action, usec_t now) {
        _cleanup_strv_free_ char **jobs = NULL;

        if (action->audit == BOOT_AUDIT_DEADLINE && m->bus)
                (void) bus_watch_list_jobs(m->bus, LIST_JOBS_USEC, &jobs);

        audit_transition(m->audit, &m->record, action,
                        (AuditContext){ .now = now, .sender = m->sender, .jobs = jobs });
}

static void arm_timer(Manager *m, usec_t at) {
        int r;

        if (!m->timer)
                return;

        r = sd_event_source_set_time(m->timer, at);
        if (r >= 0)
                r = sd_event_source_set_enabled(m->timer, SD_EVENT_ONESHOT);
        if (r < 0)
                audit_log(m->audit, LOG_ERR, "Cannot set the timer for the deadline: %s", strerror(-r));
}

static void carry_out(Manager *m, const BootAction *action, usec_t now) {
        switch (action->type) {
        case BOOT_ACTION_SAVE:
                save(m);
                break;
        case BOOT_ACTION_WRITE_KNOB:
                write_knob(m, action, now);
                break;
        case BOOT_ACTION_READ_MODE:
                read_mode(m, now);
                break;
        case BOOT_ACTION_ARM_TIMER:
                arm_timer(m, action->at);
                break;
        case BOOT_ACTION_AUDIT:
                audit(m, action, now);
                break;
        case BOOT_ACTION_QUIT:
                m->quit = true;
                break;
        default:
                assert(false);
        }
}

/* Looked for at every event, since modules are loaded while the daemon waits (modules-load.d). */
static unsigned knobs_that_came(const Manager *m) {
        unsigned came = 0;

        FOREACH_KNOB(knob) {
                KnobReading reading;

                if (!knob_info(knob)->may_come || m->record.knobs[knob].present)
                        continue;
                knobs_read(m->root_fd, knob, &reading);
                if (reading.present)
                        came |= 1U << knob;
        }

        return came;
}

void manager_feed(Manager *m, BootEvent event) {
        BootActions actions;

        event.now = fs_now();
        if (!m->dispatching)
                event.came = knobs_that_came(m);
        event.rescue = m->rescue = machine_in_rescue(m->root_fd);
        enqueue(m, &event);

        if (m->dispatching)
                return;

        m->dispatching = true;
        while (m->queue_n > 0) {
                event = m->queue[m->queue_first];
                m->queue_first = (m->queue_first + 1) % MANAGER_QUEUE_MAX;
                m->queue_n--;

                boot_phase_step(&m->record, &event, &actions);
                for (size_t i = 0; i < actions.n; i++)
                        carry_out(m, &actions.items[i], event.now);
        }
        m->dispatching = false;

        if (m->quit && m->event)
                (void) sd_event_exit(m->event, EXIT_SUCCESS);
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata) {
        manager_feed(userdata, (BootEvent){ .type = BOOT_EVENT_TICK });
        return 0;
}

/* The machine must not stay expedited because someone stopped the unit. */
static int on_stop_signal(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata) {
        manager_feed(userdata,
                        (BootEvent){ .type = BOOT_EVENT_END, .end = { .reason = BOOT_REASON_STOPPED } });
        return 0;
}

/* SIGHUP: the terminal is gone, which should not be the end without an end of boot either. */
static const int stop_signals[] = { SIGTERM, SIGINT, SIGHUP };

/* Before anything else: what comes while the daemon is still starting is to be heard, not to kill it. */
static void block_signals(void) {
        sigset_t mask;

        sigemptyset(&mask);
        for (size_t i = 0; i < ELEMENTSOF(stop_signals); i++)
                sigaddset(&mask, stop_signals[i]);
        sigaddset(&mask, SIGPIPE); /* whoever read --foreground-log may leave */

        (void) sigprocmask(SIG_BLOCK, &mask, NULL); /* fails for a bad address or `how` only */
}

static int open_loop(Manager *m) {
        int r;

        r = sd_event_default(&m->event);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(stop_signals); i++) {
                r = sd_event_add_signal(m->event, NULL, stop_signals[i], on_stop_signal, m);
                if (r < 0)
                        return r;
        }
        r = sd_event_add_time(
                        m->event, &m->timer, CLOCK_BOOTTIME, m->record.deadline, USEC_PER_MSEC, on_timer, m);
        if (r < 0)
                return r;

        return service_manager_open(m->event, &m->service);
}

/* Not looked at where the policy keeps it, as all that are shipped do: this is early in boot. One that
 * cannot be read counts as none; `rcu-bootctl status` tells of that. */
static bool kernel_was_promised(const Manager *m) {
        bool promised;

        return !boot_record_reports(&m->record) && kernel_nodes_read_promise(m->root_fd, &promised) >= 0 &&
                        promised;
}

static int wait_for_end(Manager *m, bool damaged) {
        BootEvent start = { .type = BOOT_EVENT_START, .start = { .damaged = damaged } };
        bool probing = false;
        int r;

        r = open_loop(m);
        if (r < 0)
                return r;

        manager_open_sources(m, &probing);
        start.start.promised = kernel_was_promised(m);
        manager_feed(m, start);
        manager_scan_sources(m);
        if (!probing)
                manager_feed(m, (BootEvent){ .type = BOOT_EVENT_PROBED });

        service_manager_ready(m->service);

        r = sd_event_loop(m->event);
        if (m->inbox)
                inbox_drain(m->inbox);
        /* No STOPPING=1: systemd would take it for the unit's stop, and not let the unit remain active. */
        return MIN(r, 0);
}

/* What systemd tells ExecStopPost= of the daemon's end (systemd.exec(5), $SERVICE_RESULT): after anything
 * but success, Restart= brings up the next daemon, unless the unit has been masked or removed meanwhile.
 * "timeout" is also what becomes of a daemon that hangs while the unit is being stopped, and then none
 * follows. Elsewhere it is not set: rcu-boot-abandoned@.service knows that none does. */
static bool restart_follows(const Manager *m) {
        const char *result = getenv("SERVICE_RESULT");

        return result && !streq(result, "success") && !streq(result, "timeout") &&
                        unit_files_is_usable(m->root_fd, UNIT_NAME);
}

/* A stop signal that came before block_signals() has killed the daemon, but meant the same as later. What
 * came of it is "success", or "protocol" if nobody stops the unit: READY=1 is missing. (The SIGTERM with
 * which systemd itself kills a daemon that hangs is a "timeout".) */
static bool was_told_to_stop(void) {
        const char *result = getenv("SERVICE_RESULT"), *code = getenv("EXIT_CODE"),
                   *status = getenv("EXIT_STATUS");

        if (!result || !(streq(result, "success") || streq(result, "protocol")))
                return false;
        if (!code || !streq(code, "killed") || !status)
                return false;

        for (size_t i = 0; i < ELEMENTSOF(stop_signals); i++)
                if (streq(status, sigabbrev_np(stop_signals[i])))
                        return true;
        return false;
}

/* What cannot be read of the dead daemon's doings is made up for by the built-in policy, which needs no
 * file. */
static int see_to_death(Manager *m) {
        int r;

        r = state_file_read(m->root_fd, &m->record);
        if (r < 0)
                r = boot_setup_builtin(m->root_fd, &m->record);
        if (r < 0)
                return r;

        manager_feed(m,
                        (BootEvent){ .type = BOOT_EVENT_DIED,
                                        .died = { .told_to_stop = was_told_to_stop(),
                                                        .restarts = restart_follows(m) } });
        /* A death that cannot be recorded would be the first one for ever. */
        if (m->record.phase != BOOT_PHASE_ENDED && m->unsaved)
                manager_feed(m, (BootEvent){ .type = BOOT_EVENT_DIED });
        if (m->record.phase != BOOT_PHASE_ENDED)
                audit_log(m->audit, LOG_NOTICE, "The daemon died; the next one goes on.");
        return 0;
}

static void complain_of_another(Manager *m) {
        pid_t owner;

        if (state_file_lock_owner(m->root_fd, &owner) >= 0)
                audit_log(m->audit, LOG_ERR,
                                "Another rcu-bootd (PID %d) sees to this root already; this one does "
                                "nothing.",
                                (int) owner);
        else
                audit_log(m->audit, LOG_ERR,
                                "Another rcu-bootd sees to this root already; this one does nothing.");
}

/* --post-stop may have it for some ms, for the daemon before this one. */
static int lock(Manager *m, bool patient) {
        for (unsigned i = 0;; i++) {
                int r = state_file_lock(m->root_fd, &m->lock_fd);

                if (r != -EWOULDBLOCK || !patient || i == LOCK_TRIES)
                        return r;
                (void) usleep(LOCK_PAUSE_USEC);
        }
}

static int run(Manager *m, const ManagerOptions *options) {
        bool damaged;
        int r;

        r = lock(m, !options->post_stop);
        if (r == -EWOULDBLOCK && options->post_stop)
                return 0; /* a daemon lives: nothing has died */
        if (r == -EWOULDBLOCK) {
                complain_of_another(m);
                return r;
        }
        /* As on a read-only /run. Boot must end there, too, and a service manager starts one daemon only. */
        if (r < 0)
                audit_log(m->audit, LOG_ERR, "Cannot lock /" PATH_LOCK ", going on without: %s",
                                strerror(-r));

        if (options->post_stop)
                return see_to_death(m);

        r = boot_setup_load(m->root_fd, options->policy_path, m->audit, &m->record, &damaged);
        if (r < 0)
                return r;

        return wait_for_end(m, damaged);
}

int manager_run(const ManagerOptions *options) {
        _cleanup_(manager_done) Manager m = { .root_fd = -1, .lock_fd = -1 };
        int r;

        block_signals();

        m.root_fd = fs_open_root(options->root);
        if (m.root_fd < 0) {
                fprintf(stderr, "rcu-bootd: cannot open the root directory %s: %s\n", options->root,
                                strerror(-m.root_fd));
                return m.root_fd;
        }

        r = audit_open(m.root_fd, options->foreground_log, &m.audit);
        if (r < 0)
                return r;

        r = run(&m, options);
        if (r < 0 && r != -EWOULDBLOCK)
                audit_log(m.audit, LOG_ERR, "Giving up: %s", strerror(-r));
        return r;
}
