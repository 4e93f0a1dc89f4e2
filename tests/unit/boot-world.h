/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "boot-phase.h"
#include "strv.h"

#include <errno.h>

#include "test-util.h"

/* The machine is run against a small model of the world: a kernel with knobs (of which any may fail), a
 * state file, an audit trail, and a daemon that may die at any moment and go on from the file. Every
 * sequence of events up to a depth is tried, and what must always hold is looked at after each. */

/* Check reports each ck_assert() to its parent process; millions of them would take minutes. */
#define require(condition)                              \
        do {                                            \
                if (!(condition))                       \
                        ck_abort_msg("%s", #condition); \
        } while (false)

#define SEC USEC_PER_SEC
#define DEADLINE (100 * SEC)
#define NOT_BEFORE (10 * SEC)

typedef struct World {
        BootRecord record; /* the daemon's memory */
        BootRecord saved;  /* the state file */
        bool has_file;
        usec_t now;
        usec_t timer;
        bool rescue;
        bool started;
        bool probed;
        int64_t knobs[_KNOB_MAX];
        unsigned failing; /* bit k: writes to knob k fail */
        unsigned late;    /* bit k: knob k is brought by a module... */
        usec_t comes_at;  /* ...that is loaded then */
        bool promised;    /* to the kernel: that user space will report */
        unsigned starts;  /* of daemons that had a boot to see to */
        bool after_begun; /* a write of [After] was asked for */
        bool quit;
        unsigned ended_audits;
        unsigned writes[_KNOB_STAGE_MAX];
        unsigned audited[_BOOT_AUDIT_MAX];
} World;

static inline Policy *test_policy(void) {
        static const char text[] =
                        "[Boot]\nEndWhen=a.target home\nEndWhen=c\nNotBeforeSec=10\nDeadlineSec=100\n"
                        "[During]\nrcu_expedited=1\nrcu_normal=0\nrcu_boot_end_delay=deadline\n"
                        "[After]\nrcu_expedited=0\nrcu_normal=restore\nrcu_boot_end_delay=0\nuser_booted="
                        "1\n";
        const PolicyText source = { .path = "test.policy", .text = text, .size = STRLEN(text) };
        char **errors = NULL;
        Policy *policy = NULL;

        require(policy_parse("test.policy", &source, 1, &policy, &errors) >= 0);
        strv_free(errors);
        return policy;
}

static inline BootRecord fresh_record(void) {
        _cleanup_(policy_freep) Policy *policy = test_policy();
        BootRecord record;

        require(boot_record_from_policy(policy, "a test", &record) >= 0);
        FOREACH_KNOB(knob) {
                record.knobs[knob].present = true;
                record.knobs[knob].has_found = true;
                record.knobs[knob].found = knob == KNOB_NORMAL;
        }
        return record;
}

static const int64_t expected_after[_KNOB_MAX] = {
        [KNOB_EXPEDITED] = 0,
        [KNOB_NORMAL] = 1, /* restored: a kernel with rcu_normal_after_boot */
        [KNOB_WAKE_FROM_GP] = 0,
        [KNOB_BOOT_END_DELAY] = 0,
        [KNOB_USER_BOOTED] = 1,
};

static inline World world_new(unsigned failing) {
        World w = {
                .record = fresh_record(),
                .now = 1 * SEC,
                .timer = USEC_INFINITY,
                .failing = failing,
        };

        w.knobs[KNOB_NORMAL] = 1;
        w.knobs[KNOB_BOOT_END_DELAY] = 15000;
        return w;
}

/* As by a policy without user_booted=1. */
static inline void world_forget_report(World *w) {
        w->record.knobs[KNOB_USER_BOOTED].setting[KNOB_STAGE_AFTER] = (KnobSetting){};
}

/* As by a module that is loaded when the daemon may be waiting already. */
static inline void world_bring_late(World *w, unsigned late, usec_t comes_at) {
        w->late = late;
        w->comes_at = comes_at;
        FOREACH_KNOB(knob)
                if (late & (1U << knob))
                        w->record.knobs[knob].present = false;
}

static inline void world_write(World *w, const BootAction *action, BootEvent *ret_answer) {
        bool fails = w->failing & (1U << action->knob);

        if (action->stage == KNOB_STAGE_AFTER)
                w->after_begun = true;
        else {
                require(!w->after_begun);
                require(w->now < w->record.deadline);
        }
        w->writes[action->stage]++;

        if (!fails)
                w->knobs[action->knob] = action->value;
        *ret_answer = (BootEvent){
                .type = BOOT_EVENT_KNOB,
                .now = w->now,
                .rescue = w->rescue,
                .knob = { .knob = action->knob,
                                .stage = action->stage,
                                .result = { .attempted = true,
                                                .asked = action->value,
                                                .error = fails ? -EIO : 0 } },
        };
}

static inline void world_audit(World *w, const BootAction *action) {
        w->audited[action->audit]++;
        if (action->audit != BOOT_AUDIT_ENDED && action->audit != BOOT_AUDIT_DEADLINE)
                return;

        w->ended_audits++;
        require(w->record.phase == BOOT_PHASE_ENDED);
        require(w->record.reason != BOOT_REASON_NONE);
        require((action->audit == BOOT_AUDIT_DEADLINE) == (w->record.reason == BOOT_REASON_DEADLINE));
}

static inline RcuMode world_mode(const World *w) {
        return rcu_mode_from_readings(&w->knobs[KNOB_EXPEDITED], &w->knobs[KNOB_NORMAL]);
}

/* What the manager does: carry out, collect answers, feed them first. */
static inline void world_feed(World *w, BootEvent event) {
        BootEvent queue[64];
        size_t first = 0, n = 0;
        BootActions actions;

        event.now = w->now;
        event.rescue = w->rescue;
        event.came = w->now >= w->comes_at ? w->late : 0;
        queue[n++] = event;

        while (first < n) {
                boot_phase_step(&w->record, &queue[first++], &actions);
                for (size_t i = 0; i < actions.n; i++) {
                        const BootAction *action = &actions.items[i];

                        require(n < ELEMENTSOF(queue));
                        switch (action->type) {
                        case BOOT_ACTION_SAVE:
                                w->saved = w->record;
                                w->has_file = true;
                                break;
                        case BOOT_ACTION_WRITE_KNOB:
                                world_write(w, action, &queue[n++]);
                                break;
                        case BOOT_ACTION_READ_MODE:
                                queue[n++] = (BootEvent){ .type = BOOT_EVENT_MODE,
                                        .now = w->now,
                                        .rescue = w->rescue,
                                        .mode = { .mode = world_mode(w) } };
                                break;
                        case BOOT_ACTION_ARM_TIMER:
                                w->timer = action->at;
                                break;
                        case BOOT_ACTION_AUDIT:
                                world_audit(w, action);
                                break;
                        case BOOT_ACTION_QUIT:
                                w->quit = true;
                                break;
                        default:
                                ck_abort_msg("unknown action");
                        }
                }
        }
}

static inline void check_ended(const World *w) {
        require(w->quit);
        require(w->record.reason != BOOT_REASON_NONE);
        require(w->ended_audits >= 1);
        require(w->saved.phase == BOOT_PHASE_ENDED);

        FOREACH_KNOB(knob) {
                if (w->record.knobs[knob].setting[KNOB_STAGE_AFTER].action == KNOB_ACTION_NONE)
                        continue;
                if (w->late & (1U << knob) && w->record.since < w->comes_at)
                        continue; /* not there at the end */
                require(w->record.knobs[knob].result[KNOB_STAGE_AFTER].attempted);
                if (!(w->failing & (1U << knob)))
                        require(w->knobs[knob] == expected_after[knob]);
        }

        /* Still expedited without the policy's leave: said. */
        if (world_mode(w) == RCU_MODE_EXPEDITED)
                require(w->audited[BOOT_AUDIT_STILL_EXPEDITED] >= 1);
}

static inline bool condition_is_due(const World *w) {
        return milestone_condition_holds(&w->record.end_when, w->record.reached) && !w->rescue &&
                        w->now >= w->record.not_before;
}

/* When the machine must be woken, at the latest, to see what it has to see. */
static inline usec_t latest_timer(const World *w) {
        if (w->record.phase == BOOT_PHASE_PROBING)
                return MIN(w->record.deadline, w->record.since + BOOT_PROBE_MAX_USEC);
        if (!milestone_condition_holds(&w->record.end_when, w->record.reached))
                return w->record.deadline;
        if (w->now < w->record.not_before)
                return w->record.not_before;
        return MIN(w->record.deadline, w->now + BOOT_RESCUE_RECHECK_USEC);
}

static inline void check_invariants(const World *w, const World *before) {
        if (!w->started)
                return;

        if (before->started && before->record.phase == BOOT_PHASE_ENDED)
                require(w->record.phase == BOOT_PHASE_ENDED);
        require(w->record.phase != BOOT_PHASE_ENDING);
        require(w->record.starts >= 1);
        require(w->audited[BOOT_AUDIT_MILESTONE] == (unsigned) __builtin_popcount(w->record.reached));
        require(w->audited[BOOT_AUDIT_UNKEPT_PROMISE] ==
                        (w->promised && !boot_record_reports(&w->record) ? w->starts : 0));

        if (w->now >= before->record.deadline)
                require(w->record.phase == BOOT_PHASE_ENDED);
        else if (w->record.phase != BOOT_PHASE_ENDED) {
                /* Nothing can go to sleep for good. */
                require(w->timer <= latest_timer(w));
                require(w->timer > w->now);
        }

        if (w->record.phase == BOOT_PHASE_BOOTING)
                require(!condition_is_due(w));
        if (w->record.phase == BOOT_PHASE_PROBING)
                require(w->writes[KNOB_STAGE_DURING] == 0);
        if (w->record.phase == BOOT_PHASE_ENDED)
                check_ended(w);
}

typedef enum Symbol {
        SYMBOL_START,
        SYMBOL_PROBED,
        SYMBOL_A,
        SYMBOL_HOME,
        SYMBOL_C,
        SYMBOL_MANUAL,
        SYMBOL_STOP, /* a daemon that is only about to listen is killed by it, however it is restarted */
        SYMBOL_EXTEND,
        SYMBOL_TICK,
        SYMBOL_WAIT,         /* 40 s pass, then the timer's tick */
        SYMBOL_SLEEP,        /* 40 s pass, and nobody hears of it: the machine was suspended */
        SYMBOL_RESCUE,       /* the rescue shell comes or goes */
        SYMBOL_DIE,          /* SIGKILL; the next event finds a new daemon */
        SYMBOL_DIE_FOR_GOOD, /* the same, and no daemon follows */
        _SYMBOL_MAX,
} Symbol;

static inline void world_start(World *w) {
        if (w->has_file)
                w->record = w->saved;
        w->started = true;
        w->quit = false;
        w->starts += w->record.phase != BOOT_PHASE_ENDED;
        world_feed(w, (BootEvent){ .type = BOOT_EVENT_START, .start = { .promised = w->promised } });
}

static inline void world_die(World *w) {
        w->started = false;
        w->probed = false;
        if (w->has_file)
                w->record = w->saved;
}

static inline void world_milestone(World *w, unsigned index) {
        world_feed(w,
                        (BootEvent){ .type = BOOT_EVENT_MILESTONE,
                                        .milestone = { .index = index, .source = MILESTONE_SOURCE_INBOX } });
}

static inline void world_end(World *w, BootReason reason) {
        world_feed(w, (BootEvent){ .type = BOOT_EVENT_END, .end = { .reason = reason, .text = "text" } });
        require(w->record.phase == BOOT_PHASE_ENDED);
}

/* --post-stop, which runs after each death. */
static inline void world_post_stop(World *w, bool restarts, bool told_to_stop) {
        BootPhase before = w->record.phase;

        w->quit = before == BOOT_PHASE_ENDED;
        world_feed(w,
                        (BootEvent){ .type = BOOT_EVENT_DIED,
                                        .died = { .restarts = restarts, .told_to_stop = told_to_stop } });
        if (w->record.phase != BOOT_PHASE_ENDED) {
                require(restarts && !told_to_stop);
                require(before != BOOT_PHASE_NONE);
                require(w->record.deaths < BOOT_DEATHS_MAX);
                require(w->now < w->record.deadline);
        } else if (before != BOOT_PHASE_ENDED)
                check_ended(w);
}

/* Whether the symbol makes sense now: only a running daemon hears anything, only a dead one starts. */
static inline bool symbol_applies(const World *w, Symbol symbol) {
        if (symbol == SYMBOL_START)
                return !w->started;
        if (symbol == SYMBOL_RESCUE || symbol == SYMBOL_SLEEP || symbol == SYMBOL_DIE_FOR_GOOD ||
                        symbol == SYMBOL_STOP)
                return true;
        return w->started;
}

static inline void world_apply(World *w, Symbol symbol) {
        w->now += SEC / 10;

        switch (symbol) {
        case SYMBOL_START:
                world_start(w);
                break;
        case SYMBOL_PROBED:
                world_feed(w, (BootEvent){ .type = BOOT_EVENT_PROBED });
                break;
        case SYMBOL_A:
        case SYMBOL_HOME:
        case SYMBOL_C:
                world_milestone(w, symbol - SYMBOL_A);
                break;
        case SYMBOL_MANUAL:
                world_end(w, BOOT_REASON_MANUAL);
                break;
        case SYMBOL_STOP:
                if (w->started)
                        world_end(w, BOOT_REASON_STOPPED);
                else
                        world_post_stop(w, true, true);
                break;
        case SYMBOL_EXTEND:
                world_feed(w, (BootEvent){ .type = BOOT_EVENT_EXTEND, .extend = { .by = 95 * SEC } });
                break;
        case SYMBOL_WAIT:
                w->now += 40 * SEC;
                _fallthrough_;
        case SYMBOL_TICK:
                world_feed(w, (BootEvent){ .type = BOOT_EVENT_TICK });
                break;
        case SYMBOL_SLEEP:
                w->now += 40 * SEC;
                break;
        case SYMBOL_RESCUE:
                w->rescue = !w->rescue;
                if (w->started)
                        world_feed(w, (BootEvent){ .type = BOOT_EVENT_TICK });
                break;
        case SYMBOL_DIE:
        case SYMBOL_DIE_FOR_GOOD:
                world_die(w);
                world_post_stop(w, symbol == SYMBOL_DIE, false);
                break;
        default:
                ck_abort_msg("unknown symbol");
        }
}
