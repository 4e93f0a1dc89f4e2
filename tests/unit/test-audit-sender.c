/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit-entry.h"

#include "test-util.h"

/* Entries that say whose message brought them about. */

#define SECOND UINT64_C(1000000)

static const BootRecord by_inbox = {
        .phase = BOOT_PHASE_BOOTING,
        .deadline = 300 * SECOND,
        .end_when = { .n_names = 2,
                        .names = { (char *) "a", (char *) "b" },
                        .n_alternatives = 1,
                        .alternatives = { 3 } },
        .reached = 1,
        .reached_at = { 7 * SECOND },
        .reached_by = { MILESTONE_SOURCE_INBOX },
};
static const BootRecord by_bus = {
        .phase = BOOT_PHASE_BOOTING,
        .end_when = { .n_names = 1, .names = { (char *) "a" }, .n_alternatives = 1, .alternatives = { 1 } },
        .reached = 1,
        .reached_by = { MILESTONE_SOURCE_BUS },
};
static const BootRecord by_hand = {
        .phase = BOOT_PHASE_ENDED,
        .reason = BOOT_REASON_MANUAL,
        .reason_text = "enough",
        .since = 12 * SECOND,
        .mode = RCU_MODE_EXPEDITED,
};
static const BootRecord by_milestones = {
        .phase = BOOT_PHASE_ENDED,
        .reason = BOOT_REASON_MILESTONES,
        .end_when = { .n_names = 1, .names = { (char *) "a" }, .n_alternatives = 1, .alternatives = { 1 } },
        .reached = 1,
        .reached_by = { MILESTONE_SOURCE_INBOX },
};
static const BootRecord by_deadline = { .phase = BOOT_PHASE_ENDED, .reason = BOOT_REASON_DEADLINE };
static const BootRecord beyond_the_kernels_range = {
        .phase = BOOT_PHASE_BOOTING,
        .deadline = 300 * SECOND,
        .knobs = { [KNOB_BOOT_END_DELAY] = { .present = true,
                                   .setting = { [KNOB_STAGE_DURING] = { .action = KNOB_ACTION_DEADLINE } } } },
};

/* Told of where it is the sender who brought it about, and nowhere else. */
static const struct {
        const BootRecord *record;
        BootAudit audit;
        const char *message; /* NULL: no word of the sender */
} entries[] = {
        { &by_inbox, BOOT_AUDIT_MILESTONE,
                        "MESSAGE=a reached at 7.000 s (inbox, from PID 4711, UID 1000); still missing: "
                        "b\n" },
        { &by_inbox, BOOT_AUDIT_EXTENDED,
                        "MESSAGE=Deadline moved to 300 s after the kernel started, asked for by PID 4711, "
                        "UID 1000\n" },
        { &beyond_the_kernels_range, BOOT_AUDIT_EXTENDED,
                        "MESSAGE=Deadline moved to 300 s after the kernel started, asked for by PID 4711, "
                        "UID 1000; rcu_boot_end_delay goes no further than 120 s" },
        { &by_hand, BOOT_AUDIT_ENDED,
                        "MESSAGE=RCU's boot ended at 12.000 s: it was asked for by PID 4711, UID 1000 "
                        "(\"enough\")\n" },
        { &by_bus, BOOT_AUDIT_MILESTONE, NULL },
        { &by_milestones, BOOT_AUDIT_ENDED, NULL },
        { &by_deadline, BOOT_AUDIT_DEADLINE, NULL },
        { &by_hand, BOOT_AUDIT_STILL_EXPEDITED, NULL },
        { &by_hand, BOOT_AUDIT_KNOB_WRITTEN, NULL },
        { &by_hand, BOOT_AUDIT_KNOB_FAILED, NULL },
        { &by_inbox, BOOT_AUDIT_STARTED, NULL },
};

static char *entry_text(const BootRecord *record, BootAudit audit, const MessageSender *sender) {
        const BootAction action = { .type = BOOT_ACTION_AUDIT, .audit = audit };
        AuditEntry e;
        char *text;

        audit_entry_transition(&e, record, &action, &(AuditContext){ .sender = sender });
        text = strndup(e.text, e.size);
        ck_assert_ptr_nonnull(text);
        return text;
}

START_TEST(test_sender) {
        _cleanup_free_ char *text = NULL;

        text = entry_text(entries[_i].record, entries[_i].audit, &(MessageSender){ 4711, 1000 });
        if (entries[_i].message) {
                ck_assert_ptr_nonnull(startswith(text, entries[_i].message));
                ck_assert_ptr_nonnull(
                                strstr(text, "\nRCU_BOOT_SENDER_PID=4711\nRCU_BOOT_SENDER_UID=1000\n"));
        } else {
                ck_assert_ptr_null(strstr(text, "4711"));
                ck_assert_ptr_null(strstr(text, "SENDER"));
        }
}
END_TEST

START_TEST(test_sender_from_outside) {
        _cleanup_free_ char *text = NULL;

        text = entry_text(&by_inbox, BOOT_AUDIT_MILESTONE, &(MessageSender){ .uid = 1000 });
        ck_assert_ptr_nonnull(strstr(text, "(inbox, from outside the PID namespace, UID 1000)"));
        ck_assert_ptr_nonnull(strstr(text, "\nRCU_BOOT_SENDER_UID=1000\n"));
        ck_assert_ptr_null(strstr(text, "SENDER_PID"));
}
END_TEST

int main(void) {
        Suite *suite = suite_create("audit-sender");
        TCase *tc = tcase_create("audit-sender");

        tcase_add_loop_test(tc, test_sender, 0, ELEMENTSOF(entries));
        tcase_add_test(tc, test_sender_from_outside);
        suite_add_tcase(suite, tc);
        return test_run(suite);
}
