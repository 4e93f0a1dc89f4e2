/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot-record.h"
#include "inbox-message.h"
#include "test-alloc.h"
#include "test-util.h"

#include <errno.h>

static void assert_list(char *const *l, const char *const *expected) {
        ck_assert_uint_eq(strv_length(l), strv_length((char *const *) expected));
        for (size_t i = 0; i < strv_length(l); i++)
                ck_assert_str_eq(l[i], expected[i]);
}

/* Says nothing, and owns nothing. */
static void assert_empty(const InboxMessage *m) {
        ck_assert_ptr_null(m->milestones);
        ck_assert_ptr_null(m->units);
        ck_assert_ptr_null(m->reason);
        ck_assert(!m->ready && !m->end && !m->extend && !m->barrier);
        ck_assert_uint_eq(m->extend_by, 0);
}

/* Parses a copy that ends where the datagram ends: AddressSanitizer sees every byte read beyond. */
static int parse(const char *text, size_t size, InboxMessage *ret, const char **ret_what) {
        char *exact = malloc(size);
        int r;

        if (size > 0)
                memcpy(exact, text, size);
        r = inbox_message_parse(exact, size, ret, ret_what);
        free(exact);
        return r;
}

typedef struct Good {
        const char *text;
        const char *milestones[4];
        const char *units[4];
        bool ready, end, barrier;
        const char *reason;
        usec_t extend_by; /* 0: none asked for */
} Good;

static const Good good[] = {
        { "X_RCU_MILESTONE=home-screen", .milestones = { "home-screen" } },
        { "X_RCU_MILESTONE=home-screen\n", .milestones = { "home-screen" } },
        { "X_RCU_MILESTONE=dev-disk-by\\x2duuid-AB12.device",
                        .milestones = { "dev-disk-by\\x2duuid-AB12.device" } },
        { "X_RCU_MILESTONE=device:drm/card0", .milestones = { "device:drm/card0" } },
        { "X_RCU_BOOT_END=1", .end = true },
        { "X_RCU_BOOT_END=1\nX_RCU_REASON=the administrator said so\nBARRIER=1", .end = true,
                        .barrier = true, .reason = "the administrator said so" },
        { "X_RCU_REASON=a=b = c", .reason = "a=b = c" },
        { "X_RCU_REASON=  blanks stay  ", .reason = "  blanks stay  " },
        { "X_RCU_REASON=" },
        { "X_RCU_BOOT_EXTEND_MS=1", .extend_by = 1000 },
        { "X_RCU_BOOT_EXTEND_MS=30000", .extend_by = 30 * USEC_PER_SEC },
        { "X_RCU_BOOT_EXTEND_MS=3600000", .extend_by = 3600 * USEC_PER_SEC },
        { "X_RCU_BOOT_EXTEND_MS=0000000000000000000000000000003600000", .extend_by = 3600 * USEC_PER_SEC },
        { "BARRIER=1", .barrier = true },

        /* PID 1, as systemd 252 and 257 were seen to report. */
        { "READY=1\nSTATUS=Ready.\n", .ready = true },
        { "X_SYSTEMD_UNIT_ACTIVE=basic.target", .units = { "basic.target" } },
        { "X_SYSTEMD_UNIT_ACTIVE=multi-user.target\nX_SYSTEMD_UNIT_ACTIVE=graphical.target\n",
                        .units = { "multi-user.target", "graphical.target" } },
        /* Values of fields that are systemd's are its own business. */
        { "READY=0\nBARRIER=0\nREADY=\nBARRIER=yes\nREADY=1 " },
        { "X_SYSTEMD_UNIT_ACTIVE=\nX_SYSTEMD_UNIT_ACTIVE=no-unit\nX_SYSTEMD_UNIT_ACTIVE=a b.target\n"
          "X_SYSTEMD_UNIT_ACTIVE=device:a/b.target" },

        /* case 23: more fields in one datagram, in order, each once for each time it is there. */
        { "X_RCU_MILESTONE=b\nX_RCU_MILESTONE=a\nX_RCU_MILESTONE=b", .milestones = { "b", "a", "b" } },
        { "X_RCU_MILESTONE=a\nX_SYSTEMD_UNIT_ACTIVE=x.target\nREADY=1\nX_RCU_MILESTONE=b\nX_RCU_BOOT_END=1",
                        .milestones = { "a", "b" }, .units = { "x.target" }, .ready = true, .end = true },
        { "X_RCU_REASON=first\nX_RCU_REASON=last", .reason = "last" },
        { "X_RCU_REASON=first\nX_RCU_REASON=" },
        { "READY=1\nREADY=0\nBARRIER=1\nBARRIER=0", .ready = true, .barrier = true },
        { "X_RCU_BOOT_END=1\nX_RCU_BOOT_END=1", .end = true },
        /* Never shortens. */
        { "X_RCU_BOOT_EXTEND_MS=5\nX_RCU_BOOT_EXTEND_MS=9\nX_RCU_BOOT_EXTEND_MS=7", .extend_by = 9000 },

        /* case 21: nothing in it. */
        { "" },
        { "\n" },
        { "\n\n\n\n\n\n" },
        { "no equals sign" },
        { "X_RCU_MILESTONE" },
        { "READY\nX_RCU_BOOT_END\n1" },
        { "=" },
        { "=1" },
        { "=X_RCU_BOOT_END=1" },
        { "\n\nX_RCU_MILESTONE=a\n\n\nnothing\nREADY=1\n\n", .milestones = { "a" }, .ready = true },

        /* Fields of others, and names that only look like ours. */
        { "STATUS=X_RCU_BOOT_END=1\nMAINPID=1\nFDSTORE=1\nWATCHDOG=1\nSTOPPING=1\nERRNO=2" },
        { "x_rcu_boot_end=1\nX_RCU_BOOT_END =1\n X_RCU_BOOT_END=1\nX_RCU_BOOT_ENDS=1\nX_RCU_BOOT_EN=1" },
        { "\tREADY=1\nREADY\t=1\nEADY=1\nREADY1=1\n\rREADY=1" },
        { "X_RCU_SOMETHING_NEW=whatever" },
        { "STATUS=Gr\xc3\xbc\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x90\xa7" },
};

START_TEST(good_datagram_case_21_case_23) {
        const Good *g = &good[_i];
        _cleanup_(inbox_message_done) InboxMessage m = {};
        const char *what = NULL;

        ck_assert_int_eq(parse(g->text, strlen(g->text), &m, &what), 0);
        ck_assert_ptr_null(what);
        assert_list(m.milestones, g->milestones);
        assert_list(m.units, g->units);
        ck_assert(m.ready == g->ready);
        ck_assert(m.end == g->end);
        ck_assert(m.barrier == g->barrier);
        ck_assert_pstr_eq(m.reason, g->reason);
        ck_assert(m.extend == (g->extend_by > 0));
        ck_assert_uint_eq(m.extend_by, g->extend_by);

        inbox_message_done(&m);
        assert_empty(&m);
}
END_TEST

#define BAD_MILESTONE "X_RCU_MILESTONE= is no valid name of a milestone"
#define BAD_END "X_RCU_BOOT_END= is not 1"
#define BAD_EXTEND "X_RCU_BOOT_EXTEND_MS= is no number from 1 to 3600000"
#define BAD_UTF8 "invalid UTF-8"
#define BAD_NUL "embedded NUL"

/* With a size of its own where there is a NUL inside. */
static const struct {
        const char *text;
        const char *what;
        size_t size;
} bad[] = {
        { "X_RCU_MILESTONE=", BAD_MILESTONE },
        { "X_RCU_MILESTONE=a b", BAD_MILESTONE },
        { "X_RCU_MILESTONE= a", BAD_MILESTONE },
        { "X_RCU_MILESTONE=a ", BAD_MILESTONE },
        { "X_RCU_MILESTONE=a\r\n", BAD_MILESTONE },
        { "X_RCU_MILESTONE=../../etc/passwd", BAD_MILESTONE },
        { "X_RCU_MILESTONE=caf\xc3\xa9", BAD_MILESTONE },
        { "X_RCU_MILESTONE=X_RCU_MILESTONE=a", BAD_MILESTONE },
        { "X_RCU_BOOT_END=", BAD_END },
        { "X_RCU_BOOT_END=0", BAD_END },
        { "X_RCU_BOOT_END=2", BAD_END },
        { "X_RCU_BOOT_END=01", BAD_END },
        { "X_RCU_BOOT_END=yes", BAD_END },
        { "X_RCU_BOOT_END=1 ", BAD_END },
        { "X_RCU_BOOT_END=1\r\n", BAD_END },
        { "X_RCU_BOOT_EXTEND_MS=", BAD_EXTEND },
        { "X_RCU_BOOT_EXTEND_MS=0", BAD_EXTEND },
        { "X_RCU_BOOT_EXTEND_MS=000", BAD_EXTEND },
        { "X_RCU_BOOT_EXTEND_MS=-1", BAD_EXTEND },
        { "X_RCU_BOOT_EXTEND_MS=+1", BAD_EXTEND },
        { "X_RCU_BOOT_EXTEND_MS= 1", BAD_EXTEND },
        { "X_RCU_BOOT_EXTEND_MS=1 ", BAD_EXTEND },
        { "X_RCU_BOOT_EXTEND_MS=\t1", BAD_EXTEND },
        { "X_RCU_BOOT_EXTEND_MS=1.5", BAD_EXTEND },
        { "X_RCU_BOOT_EXTEND_MS=1ms", BAD_EXTEND },
        { "X_RCU_BOOT_EXTEND_MS=0x10", BAD_EXTEND },
        { "X_RCU_BOOT_EXTEND_MS=1e3", BAD_EXTEND },
        { "X_RCU_BOOT_EXTEND_MS=infinity", BAD_EXTEND },
        { "X_RCU_BOOT_EXTEND_MS=3600001", BAD_EXTEND },
        { "X_RCU_BOOT_EXTEND_MS=4294967297", BAD_EXTEND },
        { "X_RCU_BOOT_EXTEND_MS=18446744073709551615", BAD_EXTEND },
        { "X_RCU_BOOT_EXTEND_MS=18446744073709551617", BAD_EXTEND },
        { "X_RCU_BOOT_EXTEND_MS=184467440737095516160000000000000000001", BAD_EXTEND },
        { "X_RCU_BOOT_EXTEND_MS=\xd9\xa1" /* an Arabic 1 */, BAD_EXTEND },
        /* One bad field spoils the datagram, wherever it is. */
        { "X_RCU_BOOT_END=1\nX_RCU_REASON=r\nX_RCU_MILESTONE=a\nX_RCU_BOOT_EXTEND_MS=x", BAD_EXTEND },
        { "X_RCU_MILESTONE=a\nX_RCU_MILESTONE=\nX_RCU_BOOT_END=1", BAD_MILESTONE },

        /* case 21: NUL, and what is not UTF-8, also in the fields of others. */
        { "\0READY=1", BAD_NUL, 8 },
        { "READY=1\0", BAD_NUL, 9 },
        { "X_RCU_BOOT_END=1\0X_RCU_REASON=a", BAD_NUL, 31 },
        { "\0\0", BAD_NUL, 2 },
        { "STATUS=\xff", BAD_UTF8 },
        { "STATUS=\x80", BAD_UTF8 },
        { "\xfe=1", BAD_UTF8 },
        { "STATUS=\xc3", BAD_UTF8 },
        { "STATUS=\xc3\nREADY=1", BAD_UTF8 },
        { "STATUS=\xe2\x82", BAD_UTF8 },
        { "STATUS=\xe2\x28\xa1", BAD_UTF8 },
        { "STATUS=\xe2\x82\x28", BAD_UTF8 },
        { "STATUS=\xf0\x9f\x90", BAD_UTF8 },
        { "STATUS=\xf0\x9f\x90z", BAD_UTF8 },
        { "STATUS=\xc0\x80", BAD_UTF8 },         /* NUL, overlong */
        { "STATUS=\xc1\xbf", BAD_UTF8 },         /* overlong */
        { "STATUS=\xe0\x9f\xbf", BAD_UTF8 },     /* overlong */
        { "STATUS=\xf0\x8f\xbf\xbf", BAD_UTF8 }, /* overlong */
        { "STATUS=\xed\xa0\x80", BAD_UTF8 },     /* a surrogate */
        { "STATUS=\xed\xbf\xbf", BAD_UTF8 },     /* a surrogate */
        { "STATUS=\xf4\x90\x80\x80", BAD_UTF8 }, /* above U+10FFFF */
        { "STATUS=\xf5\x80\x80\x80", BAD_UTF8 },
        { "STATUS=\xf8\x88\x80\x80\x80", BAD_UTF8 },
        { "X_RCU_REASON=\xe4 in Latin-1", BAD_UTF8 },
        { "X_RCU_BOOT_END=1\nX_RCU_REASON=\xff", BAD_UTF8 },
};

START_TEST(bad_datagram_case_21) {
        size_t size = bad[_i].size ?: strlen(bad[_i].text);
        InboxMessage m;
        const char *what = NULL;

        /* Whatever was in it before. */
        memset(&m, 0xff, sizeof(m));
        ck_assert_int_eq(parse(bad[_i].text, size, &m, &what), -EBADMSG);
        ck_assert_str_eq(what, bad[_i].what);
        assert_empty(&m);
}
END_TEST

/* The edges of UTF-8 that are inside. */
START_TEST(every_kind_of_character_is_taken) {
        static const char text[] = "\x01\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"
                                   "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf=";
        _cleanup_(inbox_message_done) InboxMessage m = {};
        const char *what = NULL;

        ck_assert_int_eq(parse(text, strlen(text), &m, &what), 0);
        assert_empty(&m);
}
END_TEST

START_TEST(no_datagram_at_all_case_21) {
        InboxMessage m;
        const char *what = NULL;

        memset(&m, 0xff, sizeof(m));
        ck_assert_int_eq(inbox_message_parse(NULL, 0, &m, &what), 0);
        assert_empty(&m);
}
END_TEST

/* Some senders count the NUL in; systemd forgives one as well. */
START_TEST(one_nul_at_the_end_is_forgiven) {
        _cleanup_(inbox_message_done) InboxMessage m = {};
        const char *what = NULL;

        ck_assert_int_eq(parse("READY=1", sizeof("READY=1"), &m, &what), 0);
        ck_assert(m.ready);
        ck_assert_int_eq(parse("", 1, &m, &what), 0);
        assert_empty(&m);
        ck_assert_int_eq(parse("X_RCU_BOOT_END=1\n", sizeof("X_RCU_BOOT_END=1\n"), &m, &what), 0);
        ck_assert(m.end);
}
END_TEST

/* case 21: up to 16 KiB are read, more is refused unread. */
START_TEST(size_case_21) {
        static const size_t sizes[] = { 16383, 16384, 16385, 65536, 1024 * 1024 };
        size_t size = sizes[_i];
        _cleanup_free_ char *text = malloc(size);
        _cleanup_(inbox_message_done) InboxMessage m = {};
        static const char head[] = "STATUS=", tail[] = "\nX_RCU_BOOT_END=1";
        const char *what = NULL;
        int r;

        memset(text, 'x', size);
        memcpy(text, head, strlen(head));
        memcpy(text + size - strlen(tail), tail, strlen(tail));

        r = parse(text, size, &m, &what);
        if (size <= 16384) {
                ck_assert_int_eq(r, 0);
                ck_assert(m.end);
        } else {
                ck_assert_int_eq(r, -E2BIG);
                ck_assert_str_eq(what, "larger than 16 KiB");
                assert_empty(&m);
        }
}
END_TEST

START_TEST(full_of_newlines_case_21) {
        char text[INBOX_MESSAGE_MAX];
        _cleanup_(inbox_message_done) InboxMessage m = {};
        const char *what = NULL;

        memset(text, '\n', sizeof(text));
        ck_assert_int_eq(parse(text, sizeof(text), &m, &what), 0);
        assert_empty(&m);
        memset(text, '=', sizeof(text));
        ck_assert_int_eq(parse(text, sizeof(text), &m, &what), 0);
        assert_empty(&m);
}
END_TEST

/* case 23: as many fields as there is room for, all in order. */
START_TEST(full_of_milestones_case_23) {
        _cleanup_free_ char *text = malloc(INBOX_MESSAGE_MAX + 32);
        _cleanup_(inbox_message_done) InboxMessage m = {};
        const char *what = NULL;
        char name[16];
        size_t size = 0;
        unsigned n = 0;

        while (size + strlen("X_RCU_MILESTONE=9999\n") <= INBOX_MESSAGE_MAX)
                size += (size_t) sprintf(text + size, "X_RCU_MILESTONE=%u\n", n++);
        ck_assert_uint_gt(n, 700);

        ck_assert_int_eq(parse(text, size, &m, &what), 0);
        ck_assert_uint_eq(strv_length(m.milestones), n);
        for (unsigned i = 0; i < n; i++) {
                (void) sprintf(name, "%u", i);
                ck_assert_str_eq(m.milestones[i], name);
        }
}
END_TEST

/* What a terminal would obey, or a line-based file could not hold. */
static const struct {
        const char *reason;
        const char *shown;
} reasons[] = {
        { "plain", "plain" },
        { "a\tb", "a?b" },
        { "a\r", "a?" },
        { "\x1b[31mred\x1b[0m", "?[31mred?[0m" },
        { "\x01\x1f\x7f", "???" },
        { "C1: \xc2\x80\xc2\x9b\xc2\x9f", "C1: ???" },
        { "not C1: \xc2\xa0\xc3\x80", "not C1: \xc2\xa0\xc3\x80" },
        { "Gr\xc3\xbc\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x90\xa7",
                        "Gr\xc3\xbc\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x90\xa7" },
};

START_TEST(reason_is_made_harmless) {
        _cleanup_free_ char *text = NULL;
        _cleanup_(inbox_message_done) InboxMessage m = {};
        const char *what = NULL;

        ck_assert_int_ge(asprintf(&text, "X_RCU_REASON=%s", reasons[_i].reason), 0);
        ck_assert_int_eq(parse(text, strlen(text), &m, &what), 0);
        ck_assert_str_eq(m.reason, reasons[_i].shown);
}
END_TEST

/* Filled up to just before the limit, then a last character of each length. */
START_TEST(reason_is_cut_at_a_character) {
        static const char *const last[] = { "x", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x90\xa7", "\t",
                "\xc2\x9b" };
        static const size_t shown_length[] = { 1, 2, 3, 4, 1, 1 };

        for (size_t fill = REASON_TEXT_MAX - 8; fill <= REASON_TEXT_MAX + 1; fill++) {
                _cleanup_(inbox_message_done) InboxMessage m = {};
                char text[REASON_TEXT_MAX + 64] = "X_RCU_REASON=", *p = text + strlen(text);
                const char *what = NULL;
                size_t expected;

                memset(p, 'y', fill);
                (void) strcpy(p + fill, last[_i]);
                (void) strcat(p, "tail that is long enough to need a cut");
                ck_assert_int_eq(parse(text, strlen(text), &m, &what), 0);

                /* The tail fills what the character left: nothing is cut but what would not fit whole. */
                expected = REASON_TEXT_MAX - 1;
                if (fill <= expected && fill + shown_length[_i] > expected)
                        expected = fill;
                ck_assert_uint_eq(strlen(m.reason), expected);
                ck_assert_uint_eq(strspn(m.reason, "y"), MIN(fill, (size_t) REASON_TEXT_MAX - 1));
        }
}
END_TEST

START_TEST(runs_out_of_memory) {
        static const char text[] = "X_RCU_MILESTONE=a\nX_RCU_REASON=old\nX_SYSTEMD_UNIT_ACTIVE=b.target\n"
                                   "X_RCU_REASON=new\nX_RCU_MILESTONE=c\nX_RCU_BOOT_EXTEND_MS=5";
        InboxMessage m;
        const char *what = NULL;
        unsigned failures = 0;

        for (;; failures++) {
                int r;

                memset(&m, 0xff, sizeof(m));
                test_alloc_left = failures;
                r = inbox_message_parse(text, strlen(text), &m, &what);
                test_alloc_left = UINT_MAX;
                if (r == 0)
                        break;
                ck_assert_int_eq(r, -ENOMEM);
                assert_empty(&m);
        }
        ck_assert_uint_ge(failures, 9);
        ck_assert_str_eq(m.reason, "new");
        ck_assert_uint_eq(strv_length(m.milestones), 2);
        inbox_message_done(&m);
}
END_TEST

/* Datagrams one after the other: whatever the one was, the next is read as if it were alone. */
START_TEST(next_message_is_unaffected_case_21) {
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                _cleanup_(inbox_message_done) InboxMessage m = {};
                const char *what = NULL;

                ck_assert_int_eq(
                                parse(bad[i].text, bad[i].size ?: strlen(bad[i].text), &m, &what), -EBADMSG);
                ck_assert_int_eq(parse("X_RCU_MILESTONE=a", 17, &m, &what), 0);
                assert_list(m.milestones, (const char *const[]){ "a", NULL });
                ck_assert(!m.end && !m.extend && !m.reason);
        }
}
END_TEST

/* Each datagram of the tables with each of its bytes replaced or cut off: no sanitizer may object, and what
 * is said must keep to the contract. */
START_TEST(mutations_keep_the_contract) {
        static const char odd[] = { '\0', '\n', '=', '\x7f', '\x80', '\xc3', '\xed', '\xf4', '1', ' ' };
        const char *text = good[_i].text;
        size_t size = strlen(text);

        for (size_t i = 0; i < size; i++)
                for (size_t j = 0; j < sizeof(odd); j++) {
                        _cleanup_(inbox_message_done) InboxMessage m = {};
                        _cleanup_free_ char *mutant = malloc(size);
                        const char *what = NULL;
                        int r;

                        memcpy(mutant, text, size);
                        mutant[i] = odd[j];
                        r = parse(mutant, j == 0 ? i : size, &m, &what);
                        ck_assert(r == 0 || r == -EBADMSG);
                        ck_assert((r < 0) == (what != NULL));
                        if (r < 0)
                                assert_empty(&m);
                        ck_assert(m.extend == (m.extend_by > 0));
                        ck_assert(!m.reason || strlen(m.reason) < REASON_TEXT_MAX);
                        for (char **l = m.milestones; l && *l; l++)
                                ck_assert(milestone_name_is_valid(*l));
                }
}
END_TEST

int main(void) {
        Suite *suite = suite_create("inbox-message");
        TCase *tcase = tcase_create("inbox-message");

        tcase_add_loop_test(tcase, good_datagram_case_21_case_23, 0, ELEMENTSOF(good));
        tcase_add_loop_test(tcase, bad_datagram_case_21, 0, ELEMENTSOF(bad));
        tcase_add_test(tcase, every_kind_of_character_is_taken);
        tcase_add_test(tcase, no_datagram_at_all_case_21);
        tcase_add_test(tcase, one_nul_at_the_end_is_forgiven);
        tcase_add_loop_test(tcase, size_case_21, 0, 5);
        tcase_add_test(tcase, full_of_newlines_case_21);
        tcase_add_test(tcase, full_of_milestones_case_23);
        tcase_add_loop_test(tcase, reason_is_made_harmless, 0, ELEMENTSOF(reasons));
        tcase_add_loop_test(tcase, reason_is_cut_at_a_character, 0, 6);
        tcase_add_test(tcase, runs_out_of_memory);
        tcase_add_test(tcase, next_message_is_unaffected_case_21);
        tcase_add_loop_test(tcase, mutations_keep_the_contract, 0, ELEMENTSOF(good));
        suite_add_tcase(suite, tcase);
        return test_run(suite);
}
