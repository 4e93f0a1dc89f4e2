/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot-world.h"

/* What single sequences of events lead to. */

/* S start, P probed, a/h/c milestones, M manual, T stop, E extend by 95 s, t tick, w wait 40 s, z sleep 40
 * s, R rescue, D die, X die for good */
static Symbol symbol_of(char c) {
        static const char letters[] = "SPahcMTEtwzRDX";
        const char *p = strchr(letters, c);

        ck_assert_ptr_nonnull(p);
        return (Symbol) (p - letters);
}

static const struct {
        const char *what;
        const char *sequence;
        BootPhase phase;
        BootReason reason;
        unsigned during; /* writes of [During] */
} sequence_table[] = {
        { "waits", "SP", BOOT_PHASE_BOOTING, BOOT_REASON_NONE, 3 },
        { "one of two milestones", "SPwa", BOOT_PHASE_BOOTING, BOOT_REASON_NONE, 3 },
        { "an alternative whole", "SPwah", BOOT_PHASE_ENDED, BOOT_REASON_MILESTONES, 3 },
        { "the other alternative", "SPwc", BOOT_PHASE_ENDED, BOOT_REASON_MILESTONES, 3 },
        { "not before its time", "SPc", BOOT_PHASE_BOOTING, BOOT_REASON_NONE, 3 },
        { "but then", "SPcw", BOOT_PHASE_ENDED, BOOT_REASON_MILESTONES, 3 },
        { "case 10: the deadline", "SPawww", BOOT_PHASE_ENDED, BOOT_REASON_DEADLINE, 3 },
        { "by hand", "SPM", BOOT_PHASE_ENDED, BOOT_REASON_MANUAL, 3 },
        { "end is idempotent", "SPMTwM", BOOT_PHASE_ENDED, BOOT_REASON_MANUAL, 3 },
        { "by hand while probing", "SM", BOOT_PHASE_ENDED, BOOT_REASON_MANUAL, 0 },
        { "told to stop", "SPaT", BOOT_PHASE_ENDED, BOOT_REASON_STOPPED, 3 },
        { "told to stop before it could hear", "T", BOOT_PHASE_ENDED, BOOT_REASON_STOPPED, 0 },
        { "the second daemon, likewise", "SPaDT", BOOT_PHASE_ENDED, BOOT_REASON_STOPPED, 3 },
        { "told to stop before it could hear, then started", "TSP", BOOT_PHASE_ENDED, BOOT_REASON_STOPPED,
                        0 },
        { "a bus that never answers", "Sw", BOOT_PHASE_BOOTING, BOOT_REASON_NONE, 3 },
        { "too late to extend", "SPzzzE", BOOT_PHASE_ENDED, BOOT_REASON_DEADLINE, 3 },
        { "probed after the deadline", "SzzzP", BOOT_PHASE_ENDED, BOOT_REASON_DEADLINE, 0 },
        { "extended past the deadline", "SPwwEw", BOOT_PHASE_BOOTING, BOOT_REASON_NONE, 3 },
        { "extended, then the new deadline", "SPwwEwwww", BOOT_PHASE_ENDED, BOOT_REASON_DEADLINE, 3 },
        { "case 12: restarted after the end", "SPwcDSP", BOOT_PHASE_ENDED, BOOT_REASON_MILESTONES, 3 },
        { "restarted meanwhile, [During] is not written twice", "SPwDSPa", BOOT_PHASE_BOOTING,
                        BOOT_REASON_NONE, 3 },
        { "what was reached is remembered", "SPwaDSPh", BOOT_PHASE_ENDED, BOOT_REASON_MILESTONES, 3 },
        { "the third death is the last", "SPDSPDSPD", BOOT_PHASE_ENDED, BOOT_REASON_DAEMON_DIED, 3 },
        { "died after the deadline", "SPzzzD", BOOT_PHASE_ENDED, BOOT_REASON_DAEMON_DIED, 3 },
        { "dead until after the deadline", "SPDwS", BOOT_PHASE_BOOTING, BOOT_REASON_NONE, 3 },
        { "died for good", "SPaX", BOOT_PHASE_ENDED, BOOT_REASON_DAEMON_DIED, 3 },
        { "died for good before it left a state", "X", BOOT_PHASE_ENDED, BOOT_REASON_DAEMON_DIED, 0 },
        { "died for good, then started", "SPaXDS", BOOT_PHASE_ENDED, BOOT_REASON_DAEMON_DIED, 3 },
        { "case 13: not from a rescue shell", "SPRwc", BOOT_PHASE_BOOTING, BOOT_REASON_NONE, 3 },
        { "case 13: but when it is left", "SPRwcR", BOOT_PHASE_ENDED, BOOT_REASON_MILESTONES, 3 },
        { "case 13: the deadline holds", "SPRcwww", BOOT_PHASE_ENDED, BOOT_REASON_DEADLINE, 3 },
        { "a milestone twice", "SPwaa", BOOT_PHASE_BOOTING, BOOT_REASON_NONE, 3 },
};

START_TEST(sequences) {
        World w = world_new(0);

        for (const char *p = sequence_table[_i].sequence; *p; p++)
                if (symbol_applies(&w, symbol_of(*p)))
                        world_apply(&w, symbol_of(*p));

        ck_assert_msg(w.record.phase == sequence_table[_i].phase, "%s: phase %s", sequence_table[_i].what,
                        boot_phase_to_string(w.record.phase));
        ck_assert_msg(w.record.reason == sequence_table[_i].reason, "%s: reason %s", sequence_table[_i].what,
                        boot_reason_to_string(w.record.reason));
        ck_assert_uint_eq(w.writes[KNOB_STAGE_DURING], sequence_table[_i].during);
        boot_record_done(&w.record);
}
END_TEST

START_TEST(late_start) {
        World w = world_new(0);

        /* Case 16: what is active already counts as reached, before anything is decided. */
        w.now = 50 * SEC;
        world_start(&w);
        world_milestone(&w, 2);
        ck_assert_int_eq(w.record.phase, BOOT_PHASE_PROBING);
        world_feed(&w, (BootEvent){ .type = BOOT_EVENT_PROBED });
        ck_assert_int_eq(w.record.phase, BOOT_PHASE_ENDED);
        ck_assert_int_eq(w.record.reason, BOOT_REASON_LATE_START);
        ck_assert_uint_eq(w.writes[KNOB_STAGE_DURING], 0);
        ck_assert_uint_eq(w.writes[KNOB_STAGE_AFTER], 4);
        boot_record_done(&w.record);
}
END_TEST

START_TEST(past_deadline_at_start) {
        World w = world_new(0);

        /* Case 33. */
        w.now = DEADLINE + SEC;
        world_start(&w);
        ck_assert_int_eq(w.record.reason, BOOT_REASON_LATE_START);
        ck_assert_uint_eq(w.writes[KNOB_STAGE_DURING], 0);
        check_ended(&w);
        boot_record_done(&w.record);
}
END_TEST

START_TEST(dead_past_deadline) {
        World w = world_new(0);

        world_start(&w);
        world_feed(&w, (BootEvent){ .type = BOOT_EVENT_PROBED });
        world_die(&w);
        w.now = DEADLINE + SEC;
        world_start(&w);
        ck_assert_int_eq(w.record.reason, BOOT_REASON_DEADLINE);
        check_ended(&w);
        boot_record_done(&w.record);
}
END_TEST

/* rcu_normal_wake_from_gp, unreadable, on a kernel that chooses its default by the number of CPUs. */
START_TEST(nothing_to_restore) {
        World w = world_new(0);
        KnobRecord *k = &w.record.knobs[KNOB_WAKE_FROM_GP];

        k->has_found = false;
        k->kernel_default = KNOB_DEFAULT_UNKNOWN;
        k->setting[KNOB_STAGE_AFTER] = (KnobSetting){ .action = KNOB_ACTION_RESTORE };
        world_start(&w);
        world_end(&w, BOOT_REASON_MANUAL);
        ck_assert(!w.record.knobs[KNOB_WAKE_FROM_GP].result[KNOB_STAGE_AFTER].attempted);
        boot_record_done(&w.record);
}
END_TEST

START_TEST(starts_are_counted) {
        World w = world_new(0);

        for (unsigned n = 1; n < BOOT_DEATHS_MAX; n++) {
                world_start(&w);
                world_feed(&w, (BootEvent){ .type = BOOT_EVENT_PROBED });
                ck_assert_uint_eq(w.saved.starts, n);
                world_die(&w);
                world_post_stop(&w, true, false);
                ck_assert_uint_eq(w.saved.deaths, n);
        }
        boot_record_done(&w.record);
}
END_TEST

START_TEST(damaged_state) {
        World w = world_new(0);

        w.knobs[KNOB_EXPEDITED] = 1;
        w.record.knobs[KNOB_EXPEDITED].found = 1;
        world_feed(&w, (BootEvent){ .type = BOOT_EVENT_START, .start = { .damaged = true } });
        ck_assert_int_eq(w.record.reason, BOOT_REASON_STATE_INVALID);
        check_ended(&w);
        boot_record_done(&w.record);
}
END_TEST

/* Dying between the decision and the record of it: the next daemon writes [After] again, never [During]. */
START_TEST(died_while_ending) {
        World w = world_new(0);

        world_start(&w);
        world_feed(&w, (BootEvent){ .type = BOOT_EVENT_PROBED });
        w.saved.phase = BOOT_PHASE_ENDING;
        w.saved.reason = BOOT_REASON_MANUAL;
        world_die(&w);
        world_start(&w);
        ck_assert_int_eq(w.record.reason, BOOT_REASON_MANUAL);
        ck_assert_uint_eq(w.writes[KNOB_STAGE_DURING], 3);
        check_ended(&w);
        boot_record_done(&w.record);
}
END_TEST

static const struct {
        int error;
        bool failed; /* audited as a failure */
} delay_table[] = {
        { -EBUSY, false }, /* the report, or the kernel's own timer, was quicker */
        { -EINVAL, true },
        { 0, false },
};

START_TEST(delay_after_end) {
        World w = world_new(0);
        BootEvent event = {
                .type = BOOT_EVENT_KNOB,
                .knob = { .knob = KNOB_BOOT_END_DELAY,
                                .stage = KNOB_STAGE_AFTER,
                                .result = { .attempted = true, .error = delay_table[_i].error } },
        };

        /* Case 5: a kernel that has ended says EBUSY. */
        world_start(&w);
        world_feed(&w, event);
        ck_assert_uint_eq(w.audited[BOOT_AUDIT_KNOB_FAILED], delay_table[_i].failed);
        boot_record_done(&w.record);
}
END_TEST

/* [During] rcu_boot_end_delay=deadline follows an extension as far as the kernel's range goes. */
static const struct {
        usec_t extend_at, extend_by;
        int64_t delay; /* in ms */
        usec_t deadline;
} extend_table[] = {
        { 20 * SEC, 90 * SEC, 110000, 110 * SEC },
        { 20 * SEC, 10 * SEC, 100000, 100 * SEC },                  /* never shortened */
        { 20 * SEC, 200 * SEC, 100000, 220 * SEC },                 /* out of the knob's range: left alone */
        { 20 * SEC, 7200 * SEC, 100000, POLICY_DEADLINE_MAX_USEC }, /* bounded */
        { 20 * SEC, USEC_INFINITY, 100000, POLICY_DEADLINE_MAX_USEC },
};

START_TEST(extension) {
        World w = world_new(0);

        world_start(&w);
        world_feed(&w, (BootEvent){ .type = BOOT_EVENT_PROBED });
        w.now = extend_table[_i].extend_at;
        world_feed(&w,
                        (BootEvent){ .type = BOOT_EVENT_EXTEND,
                                        .extend = { .by = extend_table[_i].extend_by } });
        ck_assert_uint_eq(w.record.deadline, extend_table[_i].deadline);
        ck_assert_int_eq(w.knobs[KNOB_BOOT_END_DELAY], extend_table[_i].delay);
        ck_assert_uint_eq(w.timer, extend_table[_i].deadline);
        ck_assert_uint_eq(w.record.extended, extend_table[_i].deadline != DEADLINE);
        ck_assert_uint_eq(w.audited[BOOT_AUDIT_EXTENDED], extend_table[_i].deadline != DEADLINE);
        boot_record_done(&w.record);
}
END_TEST

/* The module is loaded while the daemon waits: what it brings is written then, and at the end. */
static const struct {
        const char *what;
        const char *sequence; /* of events; + is a milestone by which the module is there, e an end by then
                               */
        unsigned during;      /* how often a [During] value was written */
        int64_t delay;
        int64_t user_booted;
} late_table[] = {
        { "never", "SPm", 2, 15000, 0 },
        { "before booting began", "S+P", 3, 100000, 0 },
        { "at a milestone", "SP+", 3, 100000, 0 },
        { "at a milestone, then the end", "SP+e", 3, 0, 1 },
        { "by the end", "SPe", 2, 0, 1 },
        { "noted once", "SP++", 3, 100000, 0 },
};

static void feed_late(World *w, char letter) {
        BootEvent event = {};

        if (letter == '+' || letter == 'e')
                w->comes_at = w->now;

        switch (letter) {
        case 'S':
                event.type = BOOT_EVENT_START;
                break;
        case 'P':
                event.type = BOOT_EVENT_PROBED;
                break;
        case 'e':
                event.type = BOOT_EVENT_END;
                event.end.reason = BOOT_REASON_MANUAL;
                break;
        default:
                event.type = BOOT_EVENT_MILESTONE;
                event.milestone.index = 0;
        }
        world_feed(w, event);
}

START_TEST(late_knobs) {
        World w = world_new(0);

        world_bring_late(&w, 1U << KNOB_USER_BOOTED | 1U << KNOB_BOOT_END_DELAY, USEC_INFINITY);
        for (const char *p = late_table[_i].sequence; *p; p++)
                feed_late(&w, *p);

        ck_assert_msg(w.writes[KNOB_STAGE_DURING] == late_table[_i].during &&
                                        w.knobs[KNOB_BOOT_END_DELAY] == late_table[_i].delay &&
                                        w.knobs[KNOB_USER_BOOTED] == late_table[_i].user_booted,
                        "%s: %u writes, delay %ld, user_booted %ld", late_table[_i].what,
                        w.writes[KNOB_STAGE_DURING], (long) w.knobs[KNOB_BOOT_END_DELAY],
                        (long) w.knobs[KNOB_USER_BOOTED]);
        boot_record_done(&w.record);
}
END_TEST

START_TEST(order_of_writes) {
        static const Knob during[] = { KNOB_EXPEDITED, KNOB_NORMAL, KNOB_BOOT_END_DELAY };
        static const Knob after[] = { KNOB_NORMAL, KNOB_EXPEDITED, KNOB_USER_BOOTED, KNOB_BOOT_END_DELAY };
        BootRecord record = fresh_record();
        BootActions actions;
        size_t n = 0;

        boot_phase_step(&record, &(BootEvent){ .type = BOOT_EVENT_START, .now = SEC }, &actions);
        boot_phase_step(&record, &(BootEvent){ .type = BOOT_EVENT_PROBED, .now = SEC }, &actions);
        for (size_t i = 0; i < actions.n; i++)
                if (actions.items[i].type == BOOT_ACTION_WRITE_KNOB)
                        ck_assert_int_eq(actions.items[i].knob, during[n++]);
        ck_assert_uint_eq(n, ELEMENTSOF(during));

        n = 0;
        boot_phase_step(&record,
                        &(BootEvent){ .type = BOOT_EVENT_END,
                                        .now = 2 * SEC,
                                        .end = { .reason = BOOT_REASON_MANUAL } },
                        &actions);
        for (size_t i = 0; i < actions.n; i++)
                if (actions.items[i].type == BOOT_ACTION_WRITE_KNOB)
                        ck_assert_int_eq(actions.items[i].knob, after[n++]);
        ck_assert_uint_eq(n, ELEMENTSOF(after));
        boot_record_done(&record);
}
END_TEST

static const struct {
        const char *what;
        bool promised, reports;
        const char *sequence; /* as above */
        unsigned audited;
} promise_table[] = {
        { "nothing is promised, and nothing done", false, false, "SP", 0 },
        { "done, although nobody promised it", false, true, "SP", 0 },
        { "a promise that is kept", true, true, "SPaDSPh", 0 },
        { "a promise that is not", true, false, "S", 1 },
        { "once a daemon", true, false, "SPwDSPaE", 2 },
        { "not by those that come when boot is over", true, false, "SPwcDSP", 1 },
        { "also where there is nothing left to wait for", true, false, "zzzS", 1 },
        { "and by the second daemon, likewise", true, false, "SDzzzS", 2 },
        { "--post-stop has no time for it", true, false, "X", 0 },
};

/* The kernel was promised that user space reports, and the policy does not. */
START_TEST(promise) {
        World w = world_new(0);

        w.promised = promise_table[_i].promised;
        if (!promise_table[_i].reports)
                world_forget_report(&w);
        for (const char *p = promise_table[_i].sequence; *p; p++)
                world_apply(&w, symbol_of(*p));
        ck_assert_msg(w.audited[BOOT_AUDIT_UNKEPT_PROMISE] == promise_table[_i].audited, "%s: %u",
                        promise_table[_i].what, w.audited[BOOT_AUDIT_UNKEPT_PROMISE]);
        boot_record_done(&w.record);
}
END_TEST

START_TEST(promise_of_a_damaged_state) {
        World w = world_new(0);

        world_forget_report(&w);
        world_feed(&w,
                        (BootEvent){ .type = BOOT_EVENT_START,
                                        .start = { .damaged = true, .promised = true } });
        ck_assert_uint_eq(w.audited[BOOT_AUDIT_UNKEPT_PROMISE], 1);
        boot_record_done(&w.record);
}
END_TEST

/* Case 4: a kernel without any knob: nothing to do is success. */
START_TEST(no_knobs) {
        World w = world_new(0);

        FOREACH_KNOB(knob)
                w.record.knobs[knob] = (KnobRecord){};
        world_start(&w);
        world_feed(&w, (BootEvent){ .type = BOOT_EVENT_PROBED });
        world_end(&w, BOOT_REASON_MANUAL);
        ck_assert_uint_eq(w.writes[KNOB_STAGE_DURING] + w.writes[KNOB_STAGE_AFTER], 0);
        ck_assert(w.quit);
        boot_record_done(&w.record);
}
END_TEST

/* Case 3: the command line expedites, the policy names only the delay. */
START_TEST(still_expedited) {
        World w = world_new(0);

        w.knobs[KNOB_EXPEDITED] = 1;
        w.knobs[KNOB_NORMAL] = 0;
        for (KnobStage stage = 0; stage < _KNOB_STAGE_MAX; stage++) {
                w.record.knobs[KNOB_EXPEDITED].setting[stage] = (KnobSetting){};
                w.record.knobs[KNOB_NORMAL].setting[stage] = (KnobSetting){};
        }
        world_start(&w);
        world_end(&w, BOOT_REASON_MANUAL);
        ck_assert_uint_eq(w.audited[BOOT_AUDIT_STILL_EXPEDITED], 1);
        ck_assert_int_eq(w.record.mode, RCU_MODE_EXPEDITED);
        boot_record_done(&w.record);
}
END_TEST

/* ... but "leave expedited" is a policy like any other. */
START_TEST(left_expedited) {
        World w = world_new(0);

        w.record.knobs[KNOB_EXPEDITED].setting[KNOB_STAGE_AFTER] =
                        (KnobSetting){ .action = KNOB_ACTION_KEEP };
        w.record.knobs[KNOB_NORMAL].setting[KNOB_STAGE_AFTER] = (KnobSetting){ .action = KNOB_ACTION_KEEP };
        world_start(&w);
        world_feed(&w, (BootEvent){ .type = BOOT_EVENT_PROBED });
        world_end(&w, BOOT_REASON_MANUAL);
        ck_assert_int_eq(w.record.mode, RCU_MODE_EXPEDITED);
        ck_assert_uint_eq(w.audited[BOOT_AUDIT_STILL_EXPEDITED], 0);
        boot_record_done(&w.record);
}
END_TEST

START_TEST(names) {
        BootReason reason;
        BootPhase phase;

        for (BootReason r = 0; r < _BOOT_REASON_MAX; r++) {
                ck_assert_int_ge(boot_reason_from_string(boot_reason_to_string(r), &reason), 0);
                ck_assert_int_eq(reason, r);
                ck_assert_uint_gt(strlen(boot_reason_to_sentence(r)), 0);
        }
        for (BootPhase p = 0; p < _BOOT_PHASE_MAX; p++) {
                ck_assert_int_ge(boot_phase_from_string(boot_phase_to_string(p), &phase), 0);
                ck_assert_int_eq(phase, p);
        }
        ck_assert_int_eq(boot_reason_from_string("", &reason), -EINVAL);
        ck_assert_int_eq(boot_phase_from_string("Ended", &phase), -EINVAL);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("boot-phase");
        TCase *t = tcase_create("boot-phase");

        tcase_add_loop_test(t, sequences, 0, ELEMENTSOF(sequence_table));
        tcase_add_test(t, late_start);
        tcase_add_test(t, past_deadline_at_start);
        tcase_add_test(t, dead_past_deadline);
        tcase_add_test(t, nothing_to_restore);
        tcase_add_test(t, starts_are_counted);
        tcase_add_test(t, damaged_state);
        tcase_add_test(t, died_while_ending);
        tcase_add_loop_test(t, delay_after_end, 0, ELEMENTSOF(delay_table));
        tcase_add_loop_test(t, extension, 0, ELEMENTSOF(extend_table));
        tcase_add_loop_test(t, late_knobs, 0, ELEMENTSOF(late_table));
        tcase_add_test(t, order_of_writes);
        tcase_add_loop_test(t, promise, 0, ELEMENTSOF(promise_table));
        tcase_add_test(t, promise_of_a_damaged_state);
        tcase_add_test(t, no_knobs);
        tcase_add_test(t, still_expedited);
        tcase_add_test(t, left_expedited);
        tcase_add_test(t, names);
        suite_add_tcase(suite, t);
        return test_run(suite);
}
