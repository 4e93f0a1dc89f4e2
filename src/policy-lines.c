/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy-internal.h"
#include "utf8.h"

#include <errno.h>
#include <ini.h>

/* inih reads INI files in good form well, and those in bad form wrongly but without a word: it cuts what is
 * longer than its buffer (200 bytes in Debian's build) and takes the rest for another line, takes an
 * indented line for more of the key above, ":" for "=", the keys below an unclosed "[Section" for the
 * section before, and stops a line at a NUL. So it gets its lines from a reader of ours, which knows where
 * each of them stands, tells the user of everything of that kind, and hands on nothing but "[Section]" and
 * "Key=Value". */

#define BOM "\xef\xbb\xbf"

typedef struct LineReader {
        const PolicyText *text;
        PolicyFaults *faults;
        policy_line_handler_t handler;
        void *userdata;

        const char *p; /* the next line */
        const char *end;
        unsigned number; /* of the current line */
        bool has_nul;    /* somewhere in the text: looked for once, not in every line */
        bool has_cr;
        PolicySection section;

        bool handed_over; /* inih has a key's line for which it has not called us back yet */
        bool held_back;   /* it has it without the value, which is too long for it: that is in value */
        char line[POLICY_LINE_MAX + 1]; /* the current one; cut up in place */
        char value[POLICY_LINE_MAX + 1];
} LineReader;

#define reader_fault(r, ...) policy_fault((r)->faults, (r)->text->path, (r)->number, __VA_ARGS__)

/* A line that cannot be taken for any key. */
#define reader_fault_lost(r, ...)               \
        ({                                      \
                (r)->faults->incomplete = true; \
                reader_fault((r), __VA_ARGS__); \
                false;                          \
        })

static bool is_blank(char c) {
        return c == ' ' || c == '\t';
}

static void strip_end(char *s) {
        size_t n = strlen(s);

        while (n > 0 && is_blank(s[n - 1]))
                s[--n] = '\0';
}

/* --- bytes --- */

/* Messages quote lines, and must not send a terminal's control sequences; nor would anybody see a byte order
 * mark in them that is not at the text's beginning. */
static bool check_characters(LineReader *r) {
        size_t n;

        for (const char *s = r->line; *s; s += n) {
                /* Nearly all there ever is: no calls. */
                if ((*s >= ' ' && *s < 0x7f) || *s == '\t') {
                        n = 1;
                        continue;
                }
                n = utf8_length(s);
                if (n == 0)
                        return reader_fault_lost(r, "byte %zu (0x%02x) is not UTF-8; expected UTF-8 text",
                                        (size_t) (s - r->line) + 1, (unsigned char) *s);
                if (utf8_is_control(s) || startswith(s, BOM))
                        return reader_fault_lost(r,
                                        "byte %zu (0x%02x) is a control character; expected printable text",
                                        (size_t) (s - r->line) + 1, (unsigned char) *s);
        }
        return true;
}

/* --- lines --- */

/* What makes a line unreadable, be it a comment: what follows a NUL or a lone CR looks like a line of its
 * own to some, and like more of this one to others. */
static bool check_line(LineReader *r, const char *start, size_t n) {
        if (n > POLICY_LINE_MAX)
                return reader_fault_lost(
                                r, "the line has %zu bytes; expected at most %u", n, POLICY_LINE_MAX);
        if (r->has_nul && memchr(start, '\0', n))
                return reader_fault_lost(r, "NUL byte in the line; expected UTF-8 text");
        if (r->has_cr && memchr(start, '\r', n))
                return reader_fault_lost(
                                r, "CR (0x0d) within the line; expected lines that end in LF or CR LF");
        return true;
}

/* Moves on to the next line. Returns false at the text's end. */
static bool next_line(LineReader *r, const char **ret_start, size_t *ret_n) {
        const char *start = r->p, *newline;
        size_t n;

        if (start == r->end)
                return false;
        newline = memchr(start, '\n', (size_t) (r->end - start));
        n = (size_t) ((newline ?: r->end) - start);
        r->p = newline ? newline + 1 : r->end;
        r->number++;

        if (n > 0 && start[n - 1] == '\r')
                n--;
        *ret_start = start;
        *ret_n = n;
        return true;
}

/* Takes the next line that says something into r->line; false at the text's end. Most lines of a policy are
 * comments: they cost no more than the search for their end. */
static bool take_line(LineReader *r) {
        const char *start;
        size_t n;

        while (next_line(r, &start, &n)) {
                size_t blanks = 0;

                if (!check_line(r, start, n))
                        continue;
                while (blanks < n && is_blank(start[blanks]))
                        blanks++;
                if (blanks == n || start[blanks] == ';' || start[blanks] == '#')
                        continue;

                memcpy(r->line, start, n);
                r->line[n] = '\0';
                if (!check_characters(r))
                        continue;
                if (blanks > 0) {
                        (void) reader_fault_lost(r,
                                        "the line is indented; expected it to begin in the first column, as "
                                        "a "
                                        "line cannot continue the one above");
                        continue;
                }
                return true;
        }
        return false;
}

/* Cuts off a comment behind something else, and the blanks before it: a ";" that follows a blank, as inih
 * has it. */
static void cut_comment(char *s) {
        for (char *p = s; (p = strchr(p, ';')); p++)
                if (p > s && is_blank(p[-1])) {
                        *p = '\0';
                        strip_end(s);
                        return;
                }
}

/* --- sections --- */

/* The name of the section that the line begins; what is wrong with the line's form is told, but does not
 * hide what is wrong further down. */
static const char *header_name(LineReader *r) {
        char *name = r->line + 1, *close, buf[POLICY_EXCERPT_MAX];

        cut_comment(r->line);
        strip_end(r->line);
        close = strchr(name, ']');
        if (!close) {
                reader_fault(r, "section [%s is not closed; expected \"]\" behind its name",
                                policy_excerpt(name, buf));
                return name;
        }
        if (close[1] != '\0')
                reader_fault(r,
                                "\"%s\" stands behind the section's name; expected nothing but \" ;\" and a "
                                "comment",
                                policy_excerpt(close + 1, buf));
        *close = '\0';
        return name;
}

/* Enters the section. Returns whether inih is to be told. */
static bool take_header(LineReader *r, char *str, size_t size) {
        const char *name = header_name(r), *known;

        r->section = policy_section_from_string(name);
        if (r->section == POLICY_SECTION_UNKNOWN) {
                r->section = policy_fault_unknown_section(r->faults, r->text->path, r->number, name);
                r->faults->incomplete = true;
        }
        known = policy_section_to_string(r->section);
        if (!known || strlen(known) + sizeof("[]\n") > size)
                return false;
        strcpy(stpcpy(stpcpy(str, "["), known), "]\n");
        return true;
}

/* --- keys --- */

/* The kernel takes no blank around a knob's number, and neither does a policy: "1 " was either meant to be
 * written as it stands, or is not what its author believes it to be. */
static bool check_knob_blanks(LineReader *r, const char *key, const char *value) {
        size_t n = strlen(value);
        char buf[POLICY_EXCERPT_MAX];

        if (!policy_section_is_of_knobs(r->section) || n == 0)
                return true;
        if (!is_blank(value[0]) && !is_blank(value[n - 1]))
                return true;
        return reader_fault_lost(r, "%s=%s: blank %s the value; expected none", key,
                        policy_excerpt(value, buf), is_blank(value[0]) ? "before" : "behind");
}

static bool is_key_char(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool check_key(LineReader *r, const char *key) {
        size_t n = 0;
        char buf[POLICY_EXCERPT_MAX];

        while (is_key_char(key[n]))
                n++;
        if (key[0] == '\0')
                return reader_fault_lost(r, "nothing stands before \"=\"; expected KEY=VALUE");
        if (r->section == POLICY_SECTION_NONE) {
                /* Said once: all that follows is there for the same reason. */
                r->section = POLICY_SECTION_UNKNOWN;
                return reader_fault_lost(r,
                                "%s= stands before any section; expected [Match], [Boot], [During] or "
                                "[After] "
                                "above it",
                                policy_excerpt(key, buf));
        }
        if (r->section == POLICY_SECTION_UNKNOWN)
                return false;
        if (key[n] == '\0')
                return true;
        policy_fault_unknown_key(r->faults, r->text->path, r->number, r->section, key);
        return false;
}

static bool ends_in_escape(const char *s) {
        size_t n = strlen(s), k = 0;

        while (k < n && s[n - 1 - k] == '\\')
                k++;
        return k % 2 == 1;
}

/* Splits r->line. *ret_value is inside it. */
static bool split_line(LineReader *r, const char **ret_value) {
        char *equals, *value, buf[POLICY_EXCERPT_MAX];

        cut_comment(r->line);
        equals = strchr(r->line, '=');
        if (!equals)
                return reader_fault_lost(
                                r, "no \"=\" in \"%s\"; expected KEY=VALUE", policy_excerpt(r->line, buf));
        *equals = '\0';
        value = equals + 1;
        strip_end(r->line);
        if (!check_key(r, r->line) || !check_knob_blanks(r, r->line, value))
                return false;

        while (is_blank(*value))
                value++;
        strip_end(value);
        if (ends_in_escape(value))
                return reader_fault_lost(r,
                                "\"\\\" at the line's end; expected the whole value on one line, as lines "
                                "cannot "
                                "be continued");
        *ret_value = value;
        return true;
}

/* Returns whether inih is to be told. */
static bool take_key(LineReader *r, char *str, size_t size) {
        size_t n_key, n_value;
        const char *value;

        if (!split_line(r, &value))
                return false;
        n_key = strlen(r->line);
        n_value = strlen(value);
        if (n_key + sizeof("=\n") > size)
                return reader_fault_lost(
                                r, "inih takes lines of %zu bytes only: too few for this key", size);

        r->held_back = n_key + n_value + sizeof("=\n") > size;
        if (r->held_back) {
                memcpy(r->value, value, n_value + 1);
                n_value = 0;
        }
        str = mempcpy(str, r->line, n_key);
        *str++ = '=';
        str = mempcpy(str, value, n_value);
        strcpy(str, "\n");
        r->handed_over = true;
        return true;
}

/* Nothing that was handed to inih may vanish there. */
static void check_handed_over(LineReader *r) {
        if (!r->handed_over)
                return;
        r->handed_over = false;
        (void) reader_fault_lost(r, "inih cannot read the line");
}

/* An ini_reader: fgets() in all but its source. */
static char *reader_next(char *str, int num, void *stream) {
        LineReader *r = stream;

        check_handed_over(r);
        while (num > 0 && take_line(r))
                if (r->line[0] == '[' ? take_header(r, str, (size_t) num) : take_key(r, str, (size_t) num))
                        return str;
        return NULL;
}

/* An ini_handler. */
static int reader_handle(void *user,
                const char *section,
                const char *name,
                const char *value
#if INI_HANDLER_LINENO
                ,
                int lineno
#endif
) {
        LineReader *r = user;

        if (!r->handed_over || policy_section_from_string(section) != r->section)
                return 0;
        r->handed_over = false;
        r->handler(r->userdata,
                        &(PolicyLine){
                                        .section = r->section,
                                        .key = name,
                                        .value = r->held_back ? r->value : value,
                                        .number = r->number,
                        });
        return 1;
}

static void reader_open(LineReader *r, const PolicyText *text) {
        r->text = text;
        r->p = text->text;
        r->end = text->text + text->size;
        r->number = 0;
        r->section = POLICY_SECTION_NONE;
        r->has_nul = memchr(text->text, '\0', text->size);
        r->has_cr = memchr(text->text, '\r', text->size);
        r->handed_over = r->held_back = false;
        if (text->size >= STRLEN(BOM) && memcmp(text->text, BOM, STRLEN(BOM)) == 0)
                r->p += STRLEN(BOM);
}

void policy_lines_read(const PolicyText *text,
                PolicyFaults *faults,
                policy_line_handler_t handler,
                void *userdata) {
        LineReader r; /* not initialised as a whole: two buffers of 4 KiB */

        if (text->size == 0)
                return;
        if (text->size > POLICY_SIZE_MAX) {
                policy_fault(faults, text->path, 0, "the file has %zu bytes; expected at most %u",
                                text->size, POLICY_SIZE_MAX);
                faults->incomplete = true;
                return;
        }

        r.faults = faults;
        r.handler = handler;
        r.userdata = userdata;
        reader_open(&r, text);
        if (ini_parse_stream(reader_next, &r, reader_handle, &r) == -2)
                faults->error = -ENOMEM;
        check_handed_over(&r);
        if (r.p != r.end) {
                faults->incomplete = true;
                policy_fault(faults, text->path, r.number, "inih reads no further than this line");
        }
}
