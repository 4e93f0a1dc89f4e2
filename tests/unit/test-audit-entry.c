/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit-entry.h"

#include "knobs.h"
#include "names.h"
#include "test-util.h"

#include <errno.h>
#include <syslog.h>

#define POLICY "50-laptop.policy"
#define POLICY_PATH "/usr/lib/rcu-bootd/policy.d/50-laptop.policy"
#define NOW UINT64_C(12345678)

static BootRecord record;
static BootAction action;

/* Booting, by a policy that waits for two milestones, or for a third. */
static void setup(void) {
        record = (BootRecord){
                .phase = BOOT_PHASE_BOOTING,
                .since = UINT64_C(2000000),
                .starts = 1,
                .deadline = UINT64_C(120000000),
                .policy_name = strdup(POLICY),
                .policy_path = strdup(POLICY_PATH),
                .policy_why = strdup("the chassis is laptop"),
        };
        ck_assert_int_eq(milestone_condition_add(&record.end_when, "graphical.target home-screen", NULL), 0);
        ck_assert_int_eq(milestone_condition_add(&record.end_when, "a.target", NULL), 0);
        action = (BootAction){ .type = BOOT_ACTION_AUDIT };
}

static void teardown(void) {
        boot_record_done(&record);
}

static void end(BootReason reason, RcuMode mode) {
        record.phase = BOOT_PHASE_ENDED;
        record.reason = reason;
        record.since = UINT64_C(12345000);
        record.mode = mode;
}

static void write_knob(Knob knob, KnobStage stage, int error, int64_t asked, int64_t read_back) {
        action.knob = knob;
        action.stage = stage;
        record.knobs[knob].result[stage] = (KnobResult){
                .attempted = true,
                .error = error,
                .asked = asked,
                .has_read_back = read_back >= 0,
                .read_back = MAX(read_back, 0),
        };
}

static void find_knob(Knob knob, int64_t value) {
        record.knobs[knob].has_found = true;
        record.knobs[knob].found = value;
}

static void started(void) {
}

static void started_again(void) {
        record.starts = 2;
        record.not_before = UINT64_C(20500000);
        record.deadline = UINT64_C(90050000);
        record.reached = 1;
}

static void milestone(void) {
        record.reached = 2;
        record.reached_at[1] = UINT64_C(7000999);
        record.reached_by[1] = MILESTONE_SOURCE_INBOX;
        action.index = 1;
}

static void last_milestone(void) {
        record.phase = BOOT_PHASE_ENDING;
        record.reached = 4;
        record.reached_at[2] = UINT64_C(7000999);
        record.reached_by[2] = MILESTONE_SOURCE_BUS;
        action.index = 2;
}

static void ended(void) {
        record.reached = 1 + 2;
        end(BOOT_REASON_MILESTONES, RCU_MODE_DEFAULT);
}

static void ended_by_the_other_alternative(void) {
        record.reached = 1 + 4;
        end(BOOT_REASON_MILESTONES, RCU_MODE_NORMAL);
}

static void ended_by_hand(void) {
        end(BOOT_REASON_MANUAL, RCU_MODE_DEFAULT);
        strcpy(record.reason_text, "updates \"first\"?\xc3\xa9");
}

static void ended_before(void) {
        end(BOOT_REASON_LATE_START, RCU_MODE_UNKNOWN);
}

static void deadline(void) {
        record.deadline = UINT64_C(12000000);
        record.reached = 1;
        end(BOOT_REASON_DEADLINE, RCU_MODE_DEFAULT);
}

static void deadline_in_rescue(void) {
        record.reached = 4;
        end(BOOT_REASON_DEADLINE, RCU_MODE_DEFAULT);
}

static void knob(void) {
        find_knob(KNOB_EXPEDITED, 0);
        write_knob(KNOB_EXPEDITED, KNOB_STAGE_DURING, 0, 1, 1);
        write_knob(KNOB_EXPEDITED, KNOB_STAGE_AFTER, 0, 0, 0);
}

static void knob_during(void) {
        find_knob(KNOB_EXPEDITED, 0);
        write_knob(KNOB_EXPEDITED, KNOB_STAGE_DURING, 0, 1, 1);
}

static void knob_unchanged(void) {
        find_knob(KNOB_NORMAL, 0);
        write_knob(KNOB_NORMAL, KNOB_STAGE_AFTER, 0, 0, 0);
}

static void knob_with_unit(void) {
        find_knob(KNOB_BOOT_END_DELAY, 15000);
        write_knob(KNOB_BOOT_END_DELAY, KNOB_STAGE_DURING, 0, 120000, 120000);
}

static void knob_unread(void) {
        write_knob(KNOB_USER_BOOTED, KNOB_STAGE_AFTER, 0, 1, -1);
}

static void knob_read_only(void) {
        find_knob(KNOB_EXPEDITED, 1);
        write_knob(KNOB_EXPEDITED, KNOB_STAGE_AFTER, -EROFS, 0, -1);
}

static void knob_odd_errno(void) {
        write_knob(KNOB_WAKE_FROM_GP, KNOB_STAGE_AFTER, -4095, 1, -1);
}

static void knob_differs(void) {
        find_knob(KNOB_EXPEDITED, -1);
        write_knob(KNOB_EXPEDITED, KNOB_STAGE_AFTER, -EIO, 0, 2);
}

static void extended(void) {
        record.deadline = UINT64_C(300000000);
}

static void extended_beyond_the_kernels_range(void) {
        record.deadline = UINT64_C(300000000);
        record.knobs[KNOB_BOOT_END_DELAY].present = true;
        record.knobs[KNOB_BOOT_END_DELAY].setting[KNOB_STAGE_DURING].action = KNOB_ACTION_DEADLINE;
}

static void still_expedited(void) {
        end(BOOT_REASON_MANUAL, RCU_MODE_EXPEDITED);
}

static void still_expedited_failed(void) {
        end(BOOT_REASON_MANUAL, RCU_MODE_EXPEDITED);
        write_knob(KNOB_EXPEDITED, KNOB_STAGE_AFTER, -EROFS, 0, -1);
}

static void still_expedited_again(void) {
        end(BOOT_REASON_MANUAL, RCU_MODE_EXPEDITED);
        write_knob(KNOB_EXPEDITED, KNOB_STAGE_AFTER, 0, 0, 0);
}

static void unkept_promise(void) {
        record.phase = BOOT_PHASE_PROBING;
}

static const char *const jobs[] = { "a.service/start", "b.device/start", NULL };

#define HEAD(id, priority)                        \
        "\nMESSAGE_ID=" id "\nPRIORITY=" priority \
        "\nSYSLOG_IDENTIFIER=rcu-bootd\nRCU_BOOT_BOOTTIME_USEC=12345678\n"
#define POLICY_FIELDS "\nRCU_BOOT_POLICY=" POLICY "\nRCU_BOOT_POLICY_FILE=" POLICY_PATH "\n"
#define COMMON(id, priority, phase) HEAD(id, priority) "RCU_BOOT_PHASE=" phase POLICY_FIELDS

static const struct {
        void (*prepare)(void);
        BootAudit audit;
        int priority;
        const char *expected;
} transitions[] = {
        { started, BOOT_AUDIT_STARTED, LOG_INFO,
                        "MESSAGE=RCU's boot lasts until graphical.target and home-screen are reached, or "
                        "a.target is "
                        "reached, at most until 120 s after the kernel started; policy 50-laptop.policy: "
                        "the chassis is "
                        "laptop" COMMON(MESSAGE_ID_STARTED,
                                        "6",
                                        "booting") "RCU_BOOT_DEADLINE_USEC=120000000\nRCU_BOOT_MISSING=a."
                                                   "target\n" },
        { started_again, BOOT_AUDIT_STARTED, LOG_INFO,
                        "MESSAGE=Start number 2 of the daemon: RCU's boot lasts until graphical.target and "
                        "home-screen "
                        "are reached, or a.target is reached, not before 20.5 s, at most until 90.05 s "
                        "after the kernel "
                        "started; policy 50-laptop.policy: the chassis is laptop" COMMON(MESSAGE_ID_STARTED,
                                        "6",
                                        "booting") "RCU_BOOT_DEADLINE_USEC=90050000\nRCU_BOOT_MISSING=home-"
                                                   "screen\n" },
        { milestone, BOOT_AUDIT_MILESTONE, LOG_INFO,
                        "MESSAGE=home-screen reached at 7.000 s (inbox); still missing: "
                        "graphical.target" COMMON(MESSAGE_ID_MILESTONE,
                                        "6",
                                        "booting") "RCU_BOOT_MILESTONE=home-screen\nRCU_BOOT_SOURCE="
                                                   "inbox\nRCU_BOOT_MISSING=graphical.target\n" },
        { last_milestone, BOOT_AUDIT_MILESTONE, LOG_INFO,
                        "MESSAGE=a.target reached at 7.000 s (system bus)" COMMON(MESSAGE_ID_MILESTONE,
                                        "6",
                                        "ending") "RCU_BOOT_MILESTONE=a.target\nRCU_BOOT_SOURCE=bus\n" },
        { ended, BOOT_AUDIT_ENDED, LOG_NOTICE,
                        "MESSAGE=RCU's boot ended at 12.345 s: graphical.target and home-screen were "
                        "reached" COMMON(MESSAGE_ID_ENDED,
                                        "5",
                                        "ended") "RCU_BOOT_REASON=milestones\nRCU_BOOT_MODE=default\n" },
        { ended_by_the_other_alternative, BOOT_AUDIT_ENDED, LOG_NOTICE,
                        "MESSAGE=RCU's boot ended at 12.345 s: a.target was reached" COMMON(MESSAGE_ID_ENDED,
                                        "5",
                                        "ended") "RCU_BOOT_REASON=milestones\nRCU_BOOT_MODE=normal\n" },
        { ended_by_hand, BOOT_AUDIT_ENDED, LOG_NOTICE,
                        "MESSAGE=RCU's boot ended at 12.345 s: it was asked for (\"updates "
                        "\"first\"?\xc3\xa9\")" COMMON(MESSAGE_ID_ENDED,
                                        "5",
                                        "ended") "RCU_BOOT_REASON=manual\nRCU_BOOT_REASON_TEXT=updates "
                                                 "\"first\"?\xc3\xa9\n"
                                                 "RCU_BOOT_MODE=default\n" },
        { ended_before, BOOT_AUDIT_ENDED, LOG_NOTICE,
                        "MESSAGE=RCU's boot ended at 12.345 s: the machine had booted before the daemon "
                        "started" COMMON(MESSAGE_ID_ENDED,
                                        "5",
                                        "ended") "RCU_BOOT_REASON=late-start\nRCU_BOOT_MODE=unknown\n" },
        /* case 10 */
        { deadline, BOOT_AUDIT_DEADLINE, LOG_WARNING,
                        "MESSAGE=Deadline of 12 s passed, so RCU's boot ended; still missing: home-screen. "
                        "Pending jobs: "
                        "a.service/start, b.device/start" COMMON(MESSAGE_ID_DEADLINE,
                                        "4",
                                        "ended") "RCU_BOOT_DEADLINE_USEC=12000000\nRCU_BOOT_MISSING=home-"
                                                 "screen\n"
                                                 "RCU_BOOT_PENDING_JOBS=a.service/start b.device/start\n"
                                                 "RCU_BOOT_REASON=deadline\nRCU_BOOT_MODE=default\n" },
        { deadline_in_rescue, BOOT_AUDIT_DEADLINE, LOG_WARNING,
                        "MESSAGE=Deadline of 120 s passed, so RCU's boot ended; no milestone is missing, "
                        "but a rescue "
                        "shell or NotBeforeSec= kept boot from ending. Pending jobs: a.service/start, "
                        "b.device/start" COMMON(MESSAGE_ID_DEADLINE,
                                        "4",
                                        "ended") "RCU_BOOT_DEADLINE_USEC=120000000\n"
                                                 "RCU_BOOT_PENDING_JOBS=a.service/start b.device/start\n"
                                                 "RCU_BOOT_REASON=deadline\nRCU_BOOT_MODE=default\n" },
        { knob_during, BOOT_AUDIT_KNOB_WRITTEN, LOG_INFO,
                        "MESSAGE=rcu_expedited: 0 -> 1" COMMON(MESSAGE_ID_KNOB_WRITTEN,
                                        "6",
                                        "booting") "RCU_BOOT_KNOB=rcu_expedited\nRCU_BOOT_KNOB_PATH=/sys/"
                                                   "x\nRCU_BOOT_KNOB_BEFORE=0\n"
                                                   "RCU_BOOT_KNOB_ASKED=1\nRCU_BOOT_KNOB_READ_BACK=1\n" },
        { knob, BOOT_AUDIT_KNOB_WRITTEN, LOG_INFO,
                        "MESSAGE=rcu_expedited: 1 -> 0" COMMON(MESSAGE_ID_KNOB_WRITTEN,
                                        "6",
                                        "booting") "RCU_BOOT_KNOB=rcu_expedited\nRCU_BOOT_KNOB_PATH=/sys/"
                                                   "x\nRCU_BOOT_KNOB_BEFORE=1\n"
                                                   "RCU_BOOT_KNOB_ASKED=0\nRCU_BOOT_KNOB_READ_BACK=0\n" },
        { knob_unchanged, BOOT_AUDIT_KNOB_WRITTEN, LOG_INFO,
                        "MESSAGE=rcu_normal: stays 0" COMMON(MESSAGE_ID_KNOB_WRITTEN,
                                        "6",
                                        "booting") "RCU_BOOT_KNOB=rcu_normal\nRCU_BOOT_KNOB_PATH=/sys/"
                                                   "x\nRCU_BOOT_KNOB_BEFORE=0\n"
                                                   "RCU_BOOT_KNOB_ASKED=0\nRCU_BOOT_KNOB_READ_BACK=0\n" },
        { knob_with_unit, BOOT_AUDIT_KNOB_WRITTEN, LOG_INFO,
                        "MESSAGE=rcu_boot_end_delay: 15000 -> 120000 ms" COMMON(MESSAGE_ID_KNOB_WRITTEN,
                                        "6",
                                        "booting") "RCU_BOOT_KNOB=rcu_boot_end_delay\nRCU_BOOT_KNOB_PATH=/"
                                                   "sys/x\nRCU_BOOT_KNOB_BEFORE=15000\n"
                                                   "RCU_BOOT_KNOB_ASKED=120000\nRCU_BOOT_KNOB_READ_BACK="
                                                   "120000\n" },
        { knob_unread, BOOT_AUDIT_KNOB_WRITTEN, LOG_INFO,
                        "MESSAGE=user_booted: set to 1" COMMON(MESSAGE_ID_KNOB_WRITTEN,
                                        "6",
                                        "booting") "RCU_BOOT_KNOB=user_booted\nRCU_BOOT_KNOB_PATH=/sys/"
                                                   "x\nRCU_BOOT_KNOB_ASKED=1\n" },
        /* case 7; @ stands for the hint, whose words are those of knobs.c */
        { knob_read_only, BOOT_AUDIT_KNOB_FAILED, LOG_WARNING,
                        "MESSAGE=rcu_expedited could not be set to 0, going on with the other knobs: "
                        "Read-only file "
                        "system (EROFS): @" COMMON(MESSAGE_ID_KNOB_FAILED,
                                        "4",
                                        "booting") "RCU_BOOT_KNOB=rcu_expedited\nRCU_BOOT_KNOB_PATH=/sys/"
                                                   "x\nRCU_BOOT_KNOB_BEFORE=1\n"
                                                   "RCU_BOOT_KNOB_ASKED=0\nERRNO=30\n" },
        /* case 8 */
        { knob_odd_errno, BOOT_AUDIT_KNOB_FAILED, LOG_WARNING,
                        "MESSAGE=rcu_normal_wake_from_gp could not be set to 1, going on with the other "
                        "knobs: errno 4095" COMMON(MESSAGE_ID_KNOB_FAILED,
                                        "4",
                                        "booting") "RCU_BOOT_KNOB=rcu_normal_wake_from_gp\nRCU_BOOT_KNOB_"
                                                   "PATH=/sys/x\n"
                                                   "RCU_BOOT_KNOB_ASKED=1\nERRNO=4095\n" },
        { knob_differs, BOOT_AUDIT_KNOB_FAILED, LOG_WARNING,
                        "MESSAGE=rcu_expedited was set to 0 but reads 2, going on with the other knobs: "
                        "something else "
                        "writes it, too" COMMON(MESSAGE_ID_KNOB_FAILED,
                                        "4",
                                        "booting") "RCU_BOOT_KNOB=rcu_expedited\nRCU_BOOT_KNOB_PATH=/sys/"
                                                   "x\nRCU_BOOT_KNOB_BEFORE=-1\n"
                                                   "RCU_BOOT_KNOB_ASKED=0\nRCU_BOOT_KNOB_READ_BACK=2\nERRNO="
                                                   "5\n" },
        { extended, BOOT_AUDIT_EXTENDED, LOG_NOTICE,
                        "MESSAGE=Deadline moved to 300 s after the kernel started" COMMON(
                                        MESSAGE_ID_EXTENDED,
                                        "5",
                                        "booting") "RCU_BOOT_DEADLINE_USEC=300000000\nRCU_BOOT_MISSING=a."
                                                   "target\n" },
        { extended_beyond_the_kernels_range, BOOT_AUDIT_EXTENDED, LOG_NOTICE,
                        "MESSAGE=Deadline moved to 300 s after the kernel started; rcu_boot_end_delay goes "
                        "no "
                        "further than 120 s and stays as it is, so that the kernel's own fallback comes "
                        "first" COMMON(MESSAGE_ID_EXTENDED,
                                        "5",
                                        "booting") "RCU_BOOT_DEADLINE_USEC=300000000\nRCU_BOOT_MISSING=a."
                                                   "target\n" },
        /* case 3 */
        { still_expedited, BOOT_AUDIT_STILL_EXPEDITED, LOG_WARNING,
                        "MESSAGE=RCU is still expedited after the end of its boot: something set "
                        "rcu_expedited, and "
                        "policy 50-laptop.policy does not name it in [After]. Each grace period interrupts "
                        "every CPU that is not idle" COMMON(MESSAGE_ID_STILL_EXPEDITED,
                                        "4",
                                        "ended") "RCU_BOOT_REASON=manual\nRCU_BOOT_MODE=expedited\n" },
        { still_expedited_failed, BOOT_AUDIT_STILL_EXPEDITED, LOG_WARNING,
                        "MESSAGE=RCU is still expedited after the end of its boot: rcu_expedited could not "
                        "be cleared. "
                        "Each grace period interrupts every CPU that is not idle" COMMON(
                                        MESSAGE_ID_STILL_EXPEDITED,
                                        "4",
                                        "ended") "RCU_BOOT_REASON=manual\nRCU_BOOT_MODE=expedited\n" },
        { still_expedited_again, BOOT_AUDIT_STILL_EXPEDITED, LOG_WARNING,
                        "MESSAGE=RCU is still expedited after the end of its boot: rcu_expedited was "
                        "cleared, but "
                        "something has set it again. Each grace period interrupts every CPU that is not "
                        "idle" COMMON(MESSAGE_ID_STILL_EXPEDITED,
                                        "4",
                                        "ended") "RCU_BOOT_REASON=manual\nRCU_BOOT_MODE=expedited\n" },
        { unkept_promise, BOOT_AUDIT_UNKEPT_PROMISE, LOG_WARNING,
                        "MESSAGE=The kernel was promised a report (user_booted_reported=1), but policy "
                        "50-laptop.policy does not write user_booted=1: what waits for it in the kernel is "
                        "left to its fallback. Add user_booted=1 to [After], or take user_booted_reported "
                        "off the kernel command line or the module's options" COMMON(
                                        MESSAGE_ID_UNKEPT_PROMISE, "4", "probing") },
};

static char *text_of(const AuditEntry *e) {
        char *text = strndup(e->text, e->size);

        ck_assert_ptr_nonnull(text);
        return text;
}

/* s with its @, if any, replaced. */
static char *fill_in(const char *s, const char *what) {
        const char *at = strchr(s, '@');
        char *filled;

        ck_assert_int_ge(at ? asprintf(&filled, "%.*s%s%s", (int) (at - s), s, what, at + 1)
                            : asprintf(&filled, "%s", s),
                        0);
        return filled;
}

START_TEST(test_transition) {
        const AuditContext context = { .now = NOW, .jobs = (char *const *) jobs, .knob_path = "sys/x" };
        _cleanup_free_ char *text = NULL, *expected = NULL;
        AuditEntry e;

        transitions[_i].prepare();
        action.audit = transitions[_i].audit;
        audit_entry_transition(&e, &record, &action, &context);

        text = text_of(&e);
        expected = fill_in(transitions[_i].expected, knobs_error_hint(KNOB_EXPEDITED, -EROFS));
        ck_assert_str_eq(text, expected);
        ck_assert_int_eq(e.priority, transitions[_i].priority);
}
END_TEST

/* Every reason has words of its own. */
START_TEST(test_reasons) {
        for (BootReason r = BOOT_REASON_MILESTONES; r < _BOOT_REASON_MAX; r++) {
                _cleanup_free_ char *text = NULL, *field = NULL;
                AuditEntry e;

                end(r, RCU_MODE_DEFAULT);
                action.audit = BOOT_AUDIT_ENDED;
                audit_entry_transition(&e, &record, &action, &(AuditContext){ .now = NOW });
                text = text_of(&e);
                if (r != BOOT_REASON_MILESTONES)
                        ck_assert_ptr_nonnull(strstr(text, boot_reason_to_sentence(r)));
                ck_assert_int_ge(asprintf(&field, "\nRCU_BOOT_REASON=%s\n", boot_reason_to_string(r)), 0);
                ck_assert_ptr_nonnull(strstr(text, field));
        }
}
END_TEST

START_TEST(test_deadline_without_jobs) {
        _cleanup_free_ char *text = NULL;
        AuditEntry e;

        deadline();
        action.audit = BOOT_AUDIT_DEADLINE;
        audit_entry_transition(&e, &record, &action, &(AuditContext){ .now = NOW });
        text = text_of(&e);
        ck_assert_ptr_nonnull(strstr(text, "still missing: home-screen\n"));
        ck_assert_ptr_null(strstr(text, "obs"));
}
END_TEST

/* The longest entry that there can be. */
START_TEST(test_longest_entry) {
        char *names[17] = {};
        _cleanup_free_ char *text = NULL;
        AuditEntry e;

        boot_record_done(&record);
        record = (BootRecord){ .phase = BOOT_PHASE_ENDED, .reason = BOOT_REASON_DEADLINE };
        for (size_t i = 0; i < MILESTONES_MAX; i++) {
                record.end_when.names[i] = malloc(MILESTONE_NAME_MAX + 1);
                ck_assert_ptr_nonnull(record.end_when.names[i]);
                memset(record.end_when.names[i], 'a', MILESTONE_NAME_MAX);
                record.end_when.names[i][MILESTONE_NAME_MAX] = '\0';
        }
        record.end_when.n_names = MILESTONES_MAX;
        record.end_when.n_alternatives = 1;
        record.end_when.alternatives[0] = UINT32_MAX;
        record.policy_name = strdup(record.end_when.names[0]);
        ck_assert_int_ge(asprintf(&record.policy_path, "%08192d", 0), 0);
        memset(record.reason_text, 'r', sizeof(record.reason_text) - 1);
        for (size_t i = 0; i < ELEMENTSOF(names) - 1; i++)
                names[i] = record.policy_path;

        action.audit = BOOT_AUDIT_DEADLINE;
        audit_entry_transition(&e, &record, &action, &(AuditContext){ .now = USEC_INFINITY, .jobs = names });
        text = text_of(&e);
        ck_assert_uint_eq(strlen(text), e.size);
        ck_assert_ptr_nonnull(strstr(text, "\nRCU_BOOT_MISSING=aaa"));
        ck_assert_ptr_nonnull(strstr(text, "\nRCU_BOOT_MODE=unknown\n"));
        /* All of the names are in the field, if not in the message. */
        ck_assert_uint_eq(strcspn(strstr(text, "RCU_BOOT_MISSING="), "\n"),
                        strlen("RCU_BOOT_MISSING=") + MILESTONES_MAX * (MILESTONE_NAME_MAX + 1) - 1);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("audit-entry");
        TCase *tc = tcase_create("audit-entry");

        tcase_add_checked_fixture(tc, setup, teardown);
        tcase_add_loop_test(tc, test_transition, 0, ELEMENTSOF(transitions));
        tcase_add_test(tc, test_reasons);
        tcase_add_test(tc, test_deadline_without_jobs);
        tcase_add_test(tc, test_longest_entry);
        suite_add_tcase(suite, tc);
        return test_run(suite);
}
