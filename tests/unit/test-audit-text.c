/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit-text.h"

#include "names.h"
#include "test-util.h"

#include <syslog.h>

#define NOW UINT64_C(12345678)

/* The entries that are no transitions, and the text that all are made of. */

#define HEAD(id, priority)                        \
        "\nMESSAGE_ID=" id "\nPRIORITY=" priority \
        "\nSYSLOG_IDENTIFIER=rcu-bootd\nRCU_BOOT_BOOTTIME_USEC=12345678\n"

static char *text_of(const AuditEntry *e) {
        char *text = strndup(e->text, e->size);

        ck_assert_ptr_nonnull(text);
        return text;
}

START_TEST(test_policy_rejected) {
        static const struct {
                const char *errors[7];
                const char *message;
        } cases[] = {
                /* case 31 */
                { { "/etc/rcu-bootd/policy.d/x.policy:4: no such knob" },
                                "Policy ignored: /etc/rcu-bootd/policy.d/x.policy:4: no such knob" },
                { { "a", "b", "c", "d" }, "Policy ignored: a; b; c; d" },
                { { "a", "b", "c", "d", "e", "f" }, "Policy ignored: a; b; c; d; and 2 more" },
                { {}, "Policy ignored: /x.policy" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *text = NULL, *expected = NULL;
                AuditEntry e;

                audit_entry_policy_rejected(&e, "/x.policy", (char *const *) cases[i].errors, NOW);
                text = text_of(&e);
                ck_assert_int_ge(asprintf(&expected,
                                                 "MESSAGE=%s" HEAD(MESSAGE_ID_POLICY_REJECTED,
                                                                 "3") "RCU_BOOT_POLICY_FILE=/x.policy\n",
                                                 cases[i].message),
                                0);
                ck_assert_str_eq(text, expected);
        }
}
END_TEST

START_TEST(test_refused) {
        _cleanup_free_ char *text = NULL, *other = NULL;
        AuditEntry e;

        audit_entry_refused(&e, "only root may end boot", &(MessageSender){ 123, 1000 }, 0, NOW);
        text = text_of(&e);
        ck_assert_str_eq(text,
                        "MESSAGE=Refused a message from PID 123, UID 1000: only root may end boot" HEAD(
                                        MESSAGE_ID_REFUSED,
                                        "5") "RCU_BOOT_SENDER_PID=123\nRCU_BOOT_SENDER_UID=1000\n");

        audit_entry_refused(&e, "embedded NUL", &(MessageSender){ .uid = (uid_t) 4294967294U }, 17, NOW);
        other = text_of(&e);
        ck_assert_str_eq(other,
                        "MESSAGE=Refused a message from outside the PID namespace, UID 4294967294: embedded "
                        "NUL; 17 "
                        "more were refused since the last report" HEAD(
                                        MESSAGE_ID_REFUSED, "5") "RCU_BOOT_SENDER_UID=4294967294\n");
}
END_TEST

/* case 27 */
START_TEST(test_device_uninitialized) {
        _cleanup_free_ char *text = NULL;
        AuditEntry e;

        audit_entry_device_uninitialized(&e, "device:drm/card0", "/sys/devices/x/card0", NOW);
        text = text_of(&e);
        ck_assert_str_eq(text,
                        "MESSAGE=device:drm/card0 counts as reached: /sys/devices/x/card0 is there, but "
                        "udev has not "
                        "initialised it within 5 s" HEAD(MESSAGE_ID_DEVICE_UNINITIALIZED,
                                        "5") "RCU_BOOT_MILESTONE=device:drm/card0\n");
}
END_TEST

static void _printf_(2, 3) log_to(AuditEntry *e, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        audit_entry_log(e, LOG_ERR, NOW, format, ap);
        va_end(ap);
}

START_TEST(test_log) {
        _cleanup_free_ char *text = NULL;
        const char *message;
        size_t size;
        AuditEntry e;

        log_to(&e, "Cannot %s: %d", "go on", 7);
        text = text_of(&e);
        ck_assert_str_eq(text,
                        "MESSAGE=Cannot go on: 7\nPRIORITY=3\nSYSLOG_IDENTIFIER=rcu-bootd\n"
                        "RCU_BOOT_BOOTTIME_USEC=12345678\n");
        message = audit_entry_message(&e, &size);
        ck_assert_uint_eq(size, strlen("Cannot go on: 7"));
        ck_assert_mem_eq(message, "Cannot go on: 7", size);
}
END_TEST

/* --- what comes from outside --- */

/* No value can bring a field of its own, or drive a terminal. */
START_TEST(test_odd_text) {
        static const struct {
                const char *in, *out;
        } cases[] = {
                { "a\nMESSAGE_ID=x", "a?MESSAGE_ID=x" },
                { "a\rb\tc\x7f", "a?b?c?" },
                { "\x1b[31mred", "?[31mred" },
                { "\xc2\x9b"
                  "31m",
                                "?31m" }, /* U+009B, CSI */
                { "\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9" },
                { "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
                { "\xff\xc3", "??" }, /* no UTF-8 */
                { "\xe2\x82", "??" }, /* cut */
                { "", "" },
        };

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const char *message;
                size_t size;
                AuditEntry e;

                log_to(&e, "%s", cases[i].in);
                message = audit_entry_message(&e, &size);
                ck_assert_uint_eq(size, strlen(cases[i].out));
                ck_assert_mem_eq(message, cases[i].out, size);
        }
}
END_TEST

/* Whatever the length, a value ends where a character does, and the rest of the entry is there. */
START_TEST(test_long_message) {
        for (size_t n = AUDIT_MESSAGE_MAX - 8; n < AUDIT_MESSAGE_MAX + 8; n++) {
                _cleanup_free_ char *name = malloc(n + 8), *text = NULL;
                const char *message;
                size_t size;
                AuditEntry e;

                ck_assert_ptr_nonnull(name);
                memset(name, 'x', n);
                strcpy(name + n, "\xe2\x82\xac"); /* the Euro sign */
                audit_entry_policy_rejected(&e, "/x", (char *const[]){ name, NULL }, NOW);

                message = audit_entry_message(&e, &size);
                if (n + strlen("Policy ignored: \xe2\x82\xac") <= AUDIT_MESSAGE_MAX) {
                        ck_assert_mem_eq(message + size - 3, "\xe2\x82\xac", 3);
                        ck_assert_uint_eq(size, n + strlen("Policy ignored: \xe2\x82\xac"));
                } else {
                        ck_assert_mem_eq(message + size - 4, "x...", 4);
                        ck_assert_uint_le(size, AUDIT_MESSAGE_MAX);
                        ck_assert_uint_ge(size, AUDIT_MESSAGE_MAX - 2);
                }
                text = text_of(&e);
                ck_assert_ptr_nonnull(strstr(text, "\nMESSAGE_ID=" MESSAGE_ID_POLICY_REJECTED "\n"));
                ck_assert_ptr_nonnull(strstr(text, "\nRCU_BOOT_POLICY_FILE=/x\n"));
        }
}
END_TEST

START_TEST(test_numbers) {
        static const struct {
                usec_t usec;
                const char *time, *span;
        } cases[] = {
                { 0, "0.000 s", "0 s" },
                { 999, "0.000 s", "0 s" },
                { UINT64_C(120000000), "120.000 s", "120 s" },
                { UINT64_C(1500000), "1.500 s", "1.5 s" },
                { UINT64_C(1050000), "1.050 s", "1.05 s" },
                { UINT64_C(10001000), "10.001 s", "10.001 s" },
                { USEC_INFINITY, "18446744073709.551 s", "18446744073709.551 s" },
        };
        _cleanup_free_ char *limits = NULL;
        AuditEntry e;

        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                _cleanup_free_ char *text = NULL, *expected = NULL;

                audit_text_begin(&e, LOG_INFO);
                audit_text_open(&e, "X", AUDIT_VALUE_MAX);
                audit_text_put_time(&e, cases[i].usec);
                audit_text_put(&e, "|");
                audit_text_put_span(&e, cases[i].usec);
                audit_text_close(&e);
                text = text_of(&e);
                ck_assert_int_ge(asprintf(&expected, "X=%s|%s\n", cases[i].time, cases[i].span), 0);
                ck_assert_str_eq(text, expected);
        }

        audit_text_begin(&e, LOG_INFO);
        audit_text_field_number(&e, "A", INT64_MIN);
        audit_text_field_number(&e, "B", INT64_MAX);
        audit_text_field_unsigned(&e, "C", UINT64_MAX);
        limits = text_of(&e);
        ck_assert_str_eq(limits, "A=-9223372036854775808\nB=9223372036854775807\nC=18446744073709551615\n");
}
END_TEST

int main(void) {
        Suite *suite = suite_create("audit-text");
        TCase *tc = tcase_create("audit-text");

        tcase_add_test(tc, test_policy_rejected);
        tcase_add_test(tc, test_refused);
        tcase_add_test(tc, test_device_uninitialized);
        tcase_add_test(tc, test_log);
        tcase_add_test(tc, test_odd_text);
        tcase_add_test(tc, test_long_message);
        tcase_add_test(tc, test_numbers);
        suite_add_tcase(suite, tc);
        return test_run(suite);
}
