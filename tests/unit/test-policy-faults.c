/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy.h"
#include "test-util.h"

#include <errno.h>

/* Policies that are refused, and every word that is said about it. */

/* The least that is a policy. */
#define LEAST "[Boot]\nEndWhen=a.target\n"

typedef struct FaultCase {
        const char *name;
        const char *text;
        const char *faults; /* all of them, a line each, in order */
        size_t size;        /* 0: the text is a string */
} FaultCase;

#define FAULT(n, t, f) \
        { .name = (n), .text = (t), .faults = (f) }
#define FAULT_BYTES(n, t, f) \
        { .name = (n), .text = (t), .faults = (f), .size = sizeof(t) - 1 }
/* A line below [During] of a policy that has no other fault. */
#define FAULT_DURING(n, line, f)                                                             \
        FAULT(n,                                                                             \
                        LEAST "[During]\n" line "\n[After]\nrcu_expedited=0\nrcu_normal=0\n" \
                              "rcu_normal_wake_from_gp=keep\nrcu_boot_end_delay=0\n",        \
                        f)

#define SECTIONS "[Match], [Boot], [During] or [After]"
#define INDENTED                                                                                         \
        "the line is indented; expected it to begin in the first column, as a line cannot continue the " \
        "one "                                                                                           \
        "above"
#define NO_END_WHEN "no EndWhen= in [Boot]; expected the milestones that mean \"booted\""
#define KNOBS "rcu_expedited, rcu_normal, rcu_normal_wake_from_gp or rcu_boot_end_delay"
#define DELAYS "expected 1 to 120000 ms or deadline"
#define OTHER_DEADLINE "expected another DeadlineSec=, a number, or that this line is left out"
#define X41 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define BOOT_KEYS "EndWhen, NotBeforeSec, DeadlineSec or AllowUsers"
#define TIME_FORMS "a time in seconds, or with units: 90s, 1min 30s, 500ms"
#define DEADLINE_RANGE "more than 0 and at most 1h: boot must end even if a milestone never comes"
#define NAME_FORMS "names of milestones: a unit, startup-finished, device:SUBSYSTEM/SYSNAME, or a word"
#define HASH " (a comment behind a value begins with \" ;\", not with \"#\")"
#define WORDS "words or globs, with all quotes closed, and \"!\" only before the first of them"
#define USERS "names of users or numeric user ids, with blanks between them"

static const FaultCase fault_cases[] = {
        /* case 1: what the kernel would refuse when it is written is refused when it is read */
        FAULT_DURING("case 1: Y", "rcu_expedited=Y", "p:4: rcu_expedited=Y: expected 0 or 1"),
        FAULT_DURING("case 1: on", "rcu_normal=on", "p:4: rcu_normal=on: expected 0 or 1"),
        FAULT_DURING("case 1: empty", "rcu_expedited=", "p:4: rcu_expedited=: expected 0 or 1"),
        FAULT_DURING("case 1: blanks alone",
                        "rcu_expedited=  ",
                        "p:4: rcu_expedited=  : blank before the value; expected none"),
        FAULT_DURING("case 1: blank before",
                        "rcu_expedited= 1",
                        "p:4: rcu_expedited= 1: blank before the value; expected none"),
        FAULT_DURING("case 1: blank behind",
                        "rcu_expedited=1 ",
                        "p:4: rcu_expedited=1 : blank behind the value; expected none"),
        FAULT_DURING("case 1: tab behind",
                        "rcu_expedited=1\t",
                        "p:4: rcu_expedited=1\t: blank behind the value; expected none"),
        FAULT_DURING("case 1: too large", "rcu_expedited=2", "p:4: rcu_expedited=2: expected 0 or 1"),
        FAULT_DURING("case 1: negative", "rcu_expedited=-1", "p:4: rcu_expedited=-1: expected 0 or 1"),
        FAULT_DURING("case 1: octal", "rcu_expedited=01", "p:4: rcu_expedited=01: expected 0 or 1"),
        FAULT_DURING("case 1: hexadecimal", "rcu_expedited=0x1", "p:4: rcu_expedited=0x1: expected 0 or 1"),
        FAULT_DURING("case 1: quotes", "rcu_expedited=\"1\"", "p:4: rcu_expedited=\"1\": expected 0 or 1"),
        FAULT_DURING("case 1: two", "rcu_expedited=1 1", "p:4: rcu_expedited=1 1: expected 0 or 1"),
        FAULT_DURING("case 1: # comment",
                        "rcu_expedited=1 # on",
                        "p:4: rcu_expedited=1 # on: expected 0 or 1" HASH),
        FAULT("case 1: [After]",
                        LEAST
                        "[After]\nrcu_expedited=off\nrcu_normal= 0\nuser_booted=yes\nrcu_boot_end_delay=\n",
                        "p:4: rcu_expedited=off: expected 0, 1, keep or restore\n"
                        "p:5: rcu_normal= 0: blank before the value; expected none\n"
                        "p:6: user_booted=yes: expected 1\n"
                        "p:7: rcu_boot_end_delay=: expected 0 or keep"),

        /* case 5: ranges of the delay */
        FAULT_DURING("case 5: 2^32 - 1",
                        "rcu_boot_end_delay=4294967295",
                        "p:4: rcu_boot_end_delay=4294967295: " DELAYS),
        FAULT_DURING("case 5: above the range",
                        "rcu_boot_end_delay=120001",
                        "p:4: rcu_boot_end_delay=120001: " DELAYS),
        FAULT_DURING("case 5: 2^64",
                        "rcu_boot_end_delay=18446744073709551616",
                        "p:4: rcu_boot_end_delay=18446744073709551616: " DELAYS),
        FAULT_DURING("case 5: 0 would end boot",
                        "rcu_boot_end_delay=0",
                        "p:4: rcu_boot_end_delay=0: " DELAYS),
        FAULT_DURING("case 5: a unit", "rcu_boot_end_delay=100ms", "p:4: rcu_boot_end_delay=100ms: " DELAYS),
        FAULT("case 5: deadline above the range",
                        LEAST "DeadlineSec=121\n[During]\nrcu_boot_end_delay=deadline\n[After]\nrcu_boot_"
                              "end_delay=keep\n",
                        "p:5: rcu_boot_end_delay=deadline: the kernel takes 0.001s to 120s, but the "
                        "deadline is 121s; " OTHER_DEADLINE),
        FAULT("case 5: deadline below the range",
                        LEAST "DeadlineSec=0.9ms\n[During]\nrcu_boot_end_delay=deadline\n[After]\nrcu_boot_"
                              "end_delay=keep\n",
                        "p:5: rcu_boot_end_delay=deadline: the kernel takes 0.001s to 120s, but the "
                        "deadline is 0.0009s; " OTHER_DEADLINE),
        FAULT("case 5: a time after boot",
                        LEAST "[After]\nrcu_boot_end_delay=5000\n",
                        "p:4: rcu_boot_end_delay=5000: expected 0 or keep"),

        /* case 28: form */
        FAULT("case 28: a line of 205 x and another that inih would make of its end",
                        LEAST "[During]\n" X41 X41 X41 X41 X41 " rcu_expedited=1\n",
                        "p:4: unknown knob \"" X41
                        "xxxxxxxxxxxxxxxxxxxxxxxxxxx...\" in [During]; expected " KNOBS),
        FAULT("case 28: indented key",
                        LEAST " DeadlineSec=5\n\tNotBeforeSec=1\n",
                        "p:3: " INDENTED "\n"
                        "p:4: " INDENTED),
        FAULT("case 28: indented section", LEAST " [After]\n", "p:3: " INDENTED),
        FAULT("case 28: section not closed",
                        "[Boot\nEndWhen=a.target\nDeadlineSec=0\n",
                        "p:1: section [Boot is not closed; expected \"]\" behind its name\n"
                        "p:3: DeadlineSec=0: expected " DEADLINE_RANGE),
        FAULT("case 28: section closed in a comment",
                        "[Boot ;]\nEndWhen=a.target\n",
                        "p:1: section [Boot is not closed; expected \"]\" behind its name"),
        FAULT("case 28: unknown section not closed",
                        LEAST "[Foo\nDeadlineSec=0\n",
                        "p:3: section [Foo is not closed; expected \"]\" behind its name\n"
                        "p:3: unknown section [Foo]; expected " SECTIONS),
        FAULT("case 28: text behind a section",
                        "[Boot] EndWhen=a.target\n[After];x\n[Boot]]\nEndWhen=a.target\n",
                        "p:1: \" EndWhen=a.target\" stands behind the section's name; expected nothing but "
                        "\" ;\" and a comment\n"
                        "p:2: \";x\" stands behind the section's name; expected nothing but \" ;\" and a "
                        "comment\n"
                        "p:3: \"]\" stands behind the section's name; expected nothing but \" ;\" and a "
                        "comment"),
        FAULT("case 28: key before any section",
                        "DeadlineSec=5\nAllowUsers=a\n" LEAST,
                        "p:1: DeadlineSec= stands before any section; expected " SECTIONS " above it"),
        FAULT("case 28: unknown section",
                        LEAST "[Foo]\nrcu_expedited=on\n[]\n[ After ]\n",
                        "p:3: unknown section [Foo]; expected " SECTIONS "\n"
                        "p:5: unknown section []; expected " SECTIONS "\n"
                        "p:6: unknown section [ After ]; expected " SECTIONS),
        FAULT("case 28: section misspelt",
                        "[boot]\nEndWhen=a.target\nDeadlineSec=0\n[Dring]\nrcu_normal=x\n",
                        "p:1: unknown section [boot]; did you mean [Boot]?\n"
                        "p:3: DeadlineSec=0: expected " DEADLINE_RANGE "\n"
                        "p:4: unknown section [Dring]; did you mean [During]?\n"
                        "p:5: rcu_normal=x: expected 0 or 1"),
        FAULT("case 28: unknown key",
                        LEAST "Foo=1\nEnd When=a\nStartSec=3\n",
                        "p:3: unknown key \"Foo\" in [Boot]; expected " BOOT_KEYS "\n"
                        "p:4: unknown key \"End When\" in [Boot]; did you mean EndWhen?\n"
                        "p:5: unknown key \"StartSec\" in [Boot]; expected " BOOT_KEYS),
        FAULT("case 28: key misspelt",
                        "[Boot]\nendwhen=a\nDeadline=5\nNotBefore=x\n[Match]\nChasis=laptop\n",
                        "p:2: unknown key \"endwhen\" in [Boot]; did you mean EndWhen?\n"
                        "p:3: unknown key \"Deadline\" in [Boot]; did you mean DeadlineSec?\n"
                        "p:4: unknown key \"NotBefore\" in [Boot]; did you mean NotBeforeSec?\n"
                        "p:6: unknown key \"Chasis\" in [Match]; did you mean Chassis?"),
        FAULT("case 28: key of another section",
                        LEAST "rcu_expedited=1\nuser_booted=1\n[After]\nDeadlineSec=5\n",
                        "p:3: rcu_expedited has no place in [Boot]; expected in [During] and [After]\n"
                        "p:4: user_booted has no place in [Boot]; expected in [After]\n"
                        "p:6: DeadlineSec has no place in [After]; expected in [Boot]"),
        FAULT("case 28: key longer than inih's names",
                        LEAST "EndWhennnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn=a\n",
                        "p:3: unknown key \"EndWhennnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn\" in "
                        "[Boot]; expected " BOOT_KEYS),
        FAULT_DURING("case 28: unknown knob",
                        "rcu_foo=1",
                        "p:4: unknown knob \"rcu_foo\" in [During]; expected " KNOBS),
        FAULT_DURING("case 28: knob misspelt",
                        "rcu-expedited=1",
                        "p:4: unknown knob \"rcu-expedited\" in [During]; did you mean rcu_expedited?"),
        FAULT_DURING("case 28: knob by its path",
                        "sys/kernel/rcu_expedited=1",
                        "p:4: unknown knob \"sys/kernel/rcu_expedited\" in [During]; expected "
                        "rcu_expedited, rcu_normal, "
                        "rcu_normal_wake_from_gp or rcu_boot_end_delay"),
        FAULT_DURING("case 28: knob in the wrong section",
                        "user_booted=1",
                        "p:4: user_booted has no place in [During]; expected in [After]"),
        FAULT("case 28: duplicate key",
                        LEAST "DeadlineSec=5\n[Match]\nOS=debian\n[Boot]\nDeadlineSec=6\n[Match]\nOS=arch\n",
                        "p:7: DeadlineSec= stands in line 3 already; expected once in a file\n"
                        "p:9: OS= stands in line 5 already; expected once in a file"),
        FAULT("case 28: duplicate knob",
                        LEAST "[After]\nrcu_normal=1\nrcu_normal=1\n",
                        "p:5: rcu_normal= stands in line 4 already; expected once in a file"),
        FAULT("case 28: duplicate AllowUsers=",
                        LEAST "AllowUsers=a\nAllowUsers=b\n",
                        "p:4: AllowUsers= stands in line 3 already; expected once in a file"),
        FAULT("case 28: no =",
                        LEAST "DeadlineSec\nDeadlineSec 5 ; =\n",
                        "p:3: no \"=\" in \"DeadlineSec\"; expected KEY=VALUE\n"
                        "p:4: no \"=\" in \"DeadlineSec 5\"; expected KEY=VALUE"),
        FAULT("case 28: colon",
                        LEAST "DeadlineSec: 5\nDeadlineSec:=5\nEndWhen:device:drm/card0\n",
                        "p:3: no \"=\" in \"DeadlineSec: 5\"; expected KEY=VALUE\n"
                        "p:4: unknown key \"DeadlineSec:\" in [Boot]; did you mean DeadlineSec?\n"
                        "p:5: no \"=\" in \"EndWhen:device:drm/card0\"; expected KEY=VALUE"),
        FAULT("case 28: no key",
                        LEAST "=5\n = 5\n",
                        "p:3: nothing stands before \"=\"; expected KEY=VALUE\n"
                        "p:4: " INDENTED),
        FAULT("case 28: comment within quotes",
                        LEAST "[Match]\nProduct=\"a ;b\"\n",
                        "p:4: Product=\"a: expected " WORDS),
        FAULT("case 28: # is no comment",
                        "[Boot]\nEndWhen=a.target # b\n",
                        "p:2: EndWhen=a.target # b: expected " NAME_FORMS "; \"#\" is none" HASH),
        FAULT("case 28: lines cannot be continued",
                        "[Boot]\nEndWhen=a.target \\\nDeadlineSec=0\n",
                        "p:2: \"\\\" at the line's end; expected the whole value on one line, as lines "
                        "cannot be continued\n"
                        "p:3: DeadlineSec=0: expected " DEADLINE_RANGE),
        FAULT("case 28: nor with blanks behind the escape",
                        LEAST "DeadlineSec=5 \\ \t\n",
                        "p:3: \"\\\" at the line's end; expected the whole value on one line, as lines "
                        "cannot be continued"),
        FAULT("case 28: empty file", "", "p: " NO_END_WHEN),
        FAULT("case 28: only comments", "; a\n# b\n\n  ; c\n\t\n", "p: " NO_END_WHEN),
        FAULT("case 28: BOM further on",
                        LEAST "\xef\xbb\xbf"
                              "DeadlineSec=5\n",
                        "p:3: byte 1 (0xef) is a control character; expected printable text"),
        FAULT_BYTES("case 28: NUL in a value",
                        "[Boot]\nEndWhen=a.target\0x\n",
                        "p:2: NUL byte in the line; expected UTF-8 text"),
        FAULT_BYTES("case 28: NUL in a comment",
                        LEAST "; a\0\n",
                        "p:3: NUL byte in the line; expected UTF-8 text"),
        FAULT_BYTES("case 28: UTF-16",
                        "\xff\xfe[\0B\0o\0o\0t\0]\0",
                        "p:1: NUL byte in the line; expected UTF-8 text"),
        FAULT("case 28: lone CR",
                        "; all of a file with the line ends of old\r[Boot]\rEndWhen=a.target\r\n",
                        "p:1: CR (0x0d) within the line; expected lines that end in LF or CR LF"),
        FAULT("case 28: not UTF-8",
                        LEAST "[Match]\nVendor=M\xfcller\nOS=\xc0\xaf\nClass=\xed\xa0\x80\nCPUs="
                              "\xf4\x90\x80\x80\n",
                        "p:4: byte 9 (0xfc) is not UTF-8; expected UTF-8 text\n"
                        "p:5: byte 4 (0xc0) is not UTF-8; expected UTF-8 text\n"
                        "p:6: byte 7 (0xed) is not UTF-8; expected UTF-8 text\n"
                        "p:7: byte 6 (0xf4) is not UTF-8; expected UTF-8 text"),
        FAULT("case 28: control characters",
                        LEAST "[Match]\nVendor=\x1b[2J\nOS=a\x7f\nClass=\xc2\x9b\n\fCPUs=1\n",
                        "p:4: byte 8 (0x1b) is a control character; expected printable text\n"
                        "p:5: byte 5 (0x7f) is a control character; expected printable text\n"
                        "p:6: byte 7 (0xc2) is a control character; expected printable text\n"
                        "p:7: byte 1 (0x0c) is a control character; expected printable text"),

        /* case 30: no way to end */
        FAULT("case 30: no EndWhen=", "[Boot]\nDeadlineSec=60\n", "p: " NO_END_WHEN),
        FAULT("case 30: EndWhen= dropped",
                        LEAST "EndWhen=\n",
                        "p:3: EndWhen= drops what stands above, and nothing follows; expected the "
                        "milestones that mean "
                        "\"booted\""),
        FAULT("case 30: EndWhen= dropped, and another is no milestone",
                        LEAST "EndWhen=\nEndWhen=a/b\n",
                        "p:4: EndWhen=a/b: expected " NAME_FORMS "; \"a/b\" is none"),
        FAULT("case 30: deadline 0",
                        LEAST "DeadlineSec=0\n",
                        "p:3: DeadlineSec=0: expected " DEADLINE_RANGE),
        FAULT("case 30: deadline below 1 us",
                        LEAST "DeadlineSec=0.0000001\n",
                        "p:3: DeadlineSec=0.0000001: expected " DEADLINE_RANGE),
        FAULT("case 30: deadline infinity",
                        LEAST "DeadlineSec=infinity\n",
                        "p:3: DeadlineSec=infinity: expected " DEADLINE_RANGE),
        FAULT("case 30: deadline above 1 h",
                        LEAST "DeadlineSec=3601\n",
                        "p:3: DeadlineSec=3601: expected " DEADLINE_RANGE),
        FAULT("case 30: deadline beyond counting",
                        LEAST "DeadlineSec=99999999999999999999\n",
                        "p:3: DeadlineSec=99999999999999999999: expected " DEADLINE_RANGE),
        FAULT("case 30: deadline empty", LEAST "DeadlineSec=\n", "p:3: DeadlineSec=: expected " TIME_FORMS),

        FAULT("a time that is none",
                        LEAST "DeadlineSec=soon\nNotBeforeSec=-1\n",
                        "p:3: DeadlineSec=soon: expected " TIME_FORMS "\n"
                        "p:4: NotBeforeSec=-1: expected " TIME_FORMS),
        FAULT("not before the deadline",
                        LEAST "NotBeforeSec=1min\nDeadlineSec=60\n",
                        "p:3: NotBeforeSec= is 60s; expected less than 60s, which is the deadline"),
        FAULT("not before the default deadline",
                        LEAST "NotBeforeSec=infinity\n",
                        "p:3: NotBeforeSec= is infinity; expected less than 120s, which is the deadline "
                        "unless DeadlineSec= is "
                        "set"),
        FAULT("a refused deadline measures nothing",
                        LEAST "NotBeforeSec=130\nDeadlineSec=x\n",
                        "p:4: DeadlineSec=x: expected " TIME_FORMS),
        FAULT("left as it was during boot",
                        LEAST "[During]\nrcu_expedited=1\nrcu_boot_end_delay=5\n[After]\nrcu_normal=0\n",
                        "p:4: rcu_expedited= is set in [During] but not in [After]; expected it there too: "
                        "a value, keep or "
                        "restore\n"
                        "p:5: rcu_boot_end_delay= is set in [During] but not in [After]; expected it there "
                        "too: a value, keep"),
        FAULT("one fault hides no other",
                        LEAST "[During]\nrcu_expedited=1\n[After]\nrcu_expedited=x\n",
                        "p:6: rcu_expedited=x: expected 0, 1, keep or restore"),
        FAULT("no milestone's name",
                        "[Boot]\nEndWhen=a/b\nEndWhen=device:drm\nEndWhen=a \"b c\"\n",
                        "p:2: EndWhen=a/b: expected " NAME_FORMS "; \"a/b\" is none\n"
                        "p:3: EndWhen=device:drm: expected " NAME_FORMS "; \"device:drm\" is none\n"
                        "p:4: EndWhen=a \"b c\": expected " NAME_FORMS "; \"\"b\" is none"),
        FAULT("too many alternatives",
                        "[Boot]\nEndWhen=a\nEndWhen=b\nEndWhen=c\nEndWhen=d\nEndWhen=e\nEndWhen=f\nEndWhen="
                        "g\nEndWhen=h\nEndWhen=i\n",
                        "p:10: EndWhen=i: expected at most 8 EndWhen= lines and 32 different milestones in "
                        "a policy"),
        FAULT("users", LEAST "AllowUsers=a,b\n", "p:3: AllowUsers=a,b: expected " USERS),
        FAULT("a group", LEAST "AllowUsers=@wheel\n", "p:3: AllowUsers=@wheel: expected " USERS),
        FAULT("(uid_t) -1", LEAST "AllowUsers=4294967295\n", "p:3: AllowUsers=4294967295: expected " USERS),
        FAULT("16-bit (uid_t) -1", LEAST "AllowUsers=65535\n", "p:3: AllowUsers=65535: expected " USERS),
        FAULT("a uid above 32 bits",
                        LEAST "AllowUsers=42949672950\n",
                        "p:3: AllowUsers=42949672950: expected " USERS),
        FAULT("a name like a number", LEAST "AllowUsers=0x10\n", "p:3: AllowUsers=0x10: expected " USERS),
        FAULT("a name that is too long",
                        LEAST "AllowUsers=a23456789012345678901234567890123\n",
                        "p:3: AllowUsers=a23456789012345678901234567890123: expected " USERS),
        FAULT("an open quote", LEAST "AllowUsers=\"a\n", "p:3: AllowUsers=\"a: expected " USERS),
        FAULT("an empty name", LEAST "AllowUsers=\"\"\n", "p:3: AllowUsers=\"\": expected " USERS),
        FAULT("match",
                        LEAST "[Match]\nVendor=\nCPUs=many\nDevice=drm/card0\nChassis=laptop !vm\n",
                        "p:4: Vendor=: expected " WORDS "\n"
                        "p:5: CPUs=many: expected numbers, or comparisons such as >=4 or !=1\n"
                        "p:6: Device=drm/card0: expected SUBSYSTEM or SUBSYSTEM:PROPERTY=GLOB\n"
                        "p:7: Chassis=laptop !vm: expected " WORDS),
};

static void expect_faults(const char *name, const char *text, size_t size, const char *expected) {
        PolicyText t = { .path = "p", .text = text, .size = size };
        _cleanup_(policy_freep) Policy *p = NULL;
        _cleanup_strv_free_ char **errors = NULL;
        _cleanup_free_ char *got = NULL;
        int r;

        r = policy_parse("p.policy", &t, 1, &p, &errors);
        ck_assert_int_eq(strv_join(errors, "\n", &got), 0);
        ck_assert_msg(r == -EBADMSG, "%s: got %i\n%s", name, r, got);
        ck_assert_ptr_null(p);
        ck_assert_msg(streq(got, expected), "%s:\nexpected:\n%s\ngot:\n%s", name, expected, got);
}

START_TEST(test_faults) {
        const FaultCase *c = fault_cases + _i;

        expect_faults(c->name, c->text, c->size ?: strlen(c->text), c->faults);
}
END_TEST

/* case 28: a line is refused or taken, never cut; comments likewise */
START_TEST(test_line_too_long) {
        static const char *const starts[] = { "; ", "EndWhen=", "" };
        char *text = malloc(POLICY_LINE_MAX + 64), expected[128];

        for (size_t i = 0; i < ELEMENTSOF(starts); i++) {
                char *p = stpcpy(stpcpy(text, LEAST), starts[i]);
                size_t n = POLICY_LINE_MAX + 1;

                memset(p, 'x', n - strlen(starts[i]));
                strcpy(p + n - strlen(starts[i]), "\n");
                (void) snprintf(expected, sizeof(expected),
                                "p:3: the line has %zu bytes; expected at most %u", n, POLICY_LINE_MAX);
                expect_faults(starts[i], text, strlen(text), expected);
        }
        free(text);
}
END_TEST

START_TEST(test_file_too_long) {
        size_t n = POLICY_SIZE_MAX + 1;
        char *text = malloc(n);

        memset(text, '\n', n);
        memcpy(text, LEAST, STRLEN(LEAST));
        expect_faults("too long", text, n, "p: the file has 262145 bytes; expected at most 262144");
        free(text);
}
END_TEST

/* Somebody else's file, a fault in each line: the list stays bounded. */
START_TEST(test_too_many_faults) {
        PolicyText t = { .path = "p" };
        _cleanup_(policy_freep) Policy *p = NULL;
        _cleanup_strv_free_ char **errors = NULL;
        char *text = malloc(POLICY_SIZE_MAX);

        for (size_t i = 0; i < POLICY_SIZE_MAX; i += 2)
                memcpy(text + i, "x\n", 2);
        t.text = text;
        t.size = POLICY_SIZE_MAX;
        ck_assert_int_eq(policy_parse("p.policy", &t, 1, &p, &errors), -EBADMSG);
        ck_assert_uint_eq(strv_length(errors), 101);
        ck_assert_str_eq(errors[99], "p:100: no \"=\" in \"x\"; expected KEY=VALUE");
        ck_assert_str_eq(errors[100], "p: there are more faults, which are not listed");
        free(text);
}
END_TEST

/* A fault names the file that it is in, and what is judged as a whole the one that had the last word. */
START_TEST(test_faults_of_dropins) {
        static const char main_file[] = LEAST "DeadlineSec=50\n[During]\nrcu_normal=0\n",
                          first[] = "[Boot]\nNotBeforeSec=60\nFoo=1\n", second[] = "EndWhen=\n";
        static const PolicyText texts[] = {
                { "/usr/a.policy", main_file, STRLEN(main_file) },
                { "/etc/a.policy.d/1.conf", first, STRLEN(first) },
                { "/etc/a.policy.d/2.conf", second, STRLEN(second) },
        };
        _cleanup_(policy_freep) Policy *p = NULL;
        _cleanup_strv_free_ char **errors = NULL;

        ck_assert_int_eq(policy_parse("a.policy", texts, 3, &p, &errors), -EBADMSG);
        ck_assert_uint_eq(strv_length(errors), 3);
        ck_assert_str_eq(errors[0],
                        "/etc/a.policy.d/1.conf:3: unknown key \"Foo\" in [Boot]; expected " BOOT_KEYS);
        ck_assert_str_eq(errors[1],
                        "/etc/a.policy.d/2.conf:1: EndWhen= stands before any section; expected " SECTIONS
                        " above it");
        ck_assert_str_eq(errors[2],
                        "/etc/a.policy.d/1.conf:2: NotBeforeSec= is 60s; expected less than 50s, which is "
                        "the "
                        "deadline");
}
END_TEST

static Suite *policy_faults_suite(void) {
        Suite *s = suite_create("policy-faults");
        TCase *t = tcase_create("faults");

        tcase_add_loop_test(t, test_faults, 0, (int) ELEMENTSOF(fault_cases));
        tcase_add_test(t, test_line_too_long);
        tcase_add_test(t, test_file_too_long);
        tcase_add_test(t, test_too_many_faults);
        tcase_add_test(t, test_faults_of_dropins);
        suite_add_tcase(s, t);
        return s;
}

int main(void) {
        return test_run(policy_faults_suite());
}
