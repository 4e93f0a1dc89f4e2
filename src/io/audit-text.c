/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit-text.h"

#include "utf8.h"

#include <assert.h>

#define ELLIPSIS "..."

void audit_text_begin(AuditEntry *e, int priority) {
        e->priority = priority;
        e->size = e->limit = 0;
        e->cut = false;
}

/* As many of the n bytes as there is room for; those of one character all or none. */
static void put_bytes(AuditEntry *e, const char *s, size_t n, bool one_character) {
        size_t room = e->limit - e->size;

        if (e->cut)
                return;
        if (n > room) {
                e->cut = true;
                n = one_character ? 0 : room;
        }
        memcpy(e->text + e->size, s, n);
        e->size += n;
}

void audit_text_put(AuditEntry *e, const char *s) {
        while (*s) {
                size_t n = 0;

                while (s[n] >= 0x20 && s[n] < 0x7f)
                        n++;
                put_bytes(e, s, n, false);
                s += n;
                if (*s == '\0')
                        break;

                n = utf8_length(s);
                if (n == 0 || utf8_is_control(s))
                        put_bytes(e, "?", 1, true);
                else
                        put_bytes(e, s, n, true);
                s += MAX(n, (size_t) 1);
        }
}

void audit_text_open(AuditEntry *e, const char *field, size_t max) {
        size_t n = strlen(field);

        /* What is written is bounded; see AUDIT_ENTRY_MAX. The end of the line must fit, too. */
        assert(e->size + n + STRLEN("=" ELLIPSIS "\n") <= AUDIT_ENTRY_MAX);
        memcpy(e->text + e->size, field, n);
        e->size += n;
        e->text[e->size++] = '=';
        e->limit = e->size + MIN(max, AUDIT_ENTRY_MAX - 1 - e->size);
        e->cut = false;
}

void audit_text_close(AuditEntry *e) {
        if (e->cut) {
                e->size = MIN(e->size, e->limit - STRLEN(ELLIPSIS));
                /* Not amid a character: the bytes after the first are 10xxxxxx. */
                while ((e->text[e->size] & 0xc0) == 0x80)
                        e->size--;
                memcpy(e->text + e->size, ELLIPSIS, STRLEN(ELLIPSIS));
                e->size += STRLEN(ELLIPSIS);
        }
        e->text[e->size++] = '\n';
}

void audit_text_field(AuditEntry *e, const char *field, const char *value) {
        audit_text_open(e, field, AUDIT_VALUE_MAX);
        audit_text_put(e, value);
        audit_text_close(e);
}

void audit_text_field_number(AuditEntry *e, const char *field, int64_t value) {
        audit_text_open(e, field, AUDIT_VALUE_MAX);
        audit_text_put_number(e, value);
        audit_text_close(e);
}

void audit_text_field_unsigned(AuditEntry *e, const char *field, uint64_t value) {
        audit_text_open(e, field, AUDIT_VALUE_MAX);
        audit_text_put_unsigned(e, value);
        audit_text_close(e);
}

/* At least `digits` of them. Not printf(3): an entry has a dozen numbers, and is written a dozen times a
 * boot. */
static void put_digits(AuditEntry *e, uint64_t n, unsigned digits) {
        char buf[20];
        size_t i = sizeof(buf);

        do {
                buf[--i] = (char) ('0' + n % 10);
                n /= 10;
                if (digits > 0)
                        digits--;
        } while (n > 0 || digits > 0);

        put_bytes(e, buf + i, sizeof(buf) - i, false);
}

void audit_text_put_unsigned(AuditEntry *e, uint64_t n) {
        put_digits(e, n, 1);
}

void audit_text_put_number(AuditEntry *e, int64_t n) {
        if (n < 0)
                audit_text_put(e, "-");
        put_digits(e, n < 0 ? -(uint64_t) n : (uint64_t) n, 1);
}

void audit_text_put_time(AuditEntry *e, usec_t usec) {
        put_digits(e, usec / USEC_PER_SEC, 1);
        audit_text_put(e, ".");
        put_digits(e, usec % USEC_PER_SEC / USEC_PER_MSEC, 3);
        audit_text_put(e, " s");
}

void audit_text_put_span(AuditEntry *e, usec_t usec) {
        uint64_t msec = usec % USEC_PER_SEC / USEC_PER_MSEC;
        unsigned digits = 3;

        put_digits(e, usec / USEC_PER_SEC, 1);
        if (msec > 0) {
                for (; msec % 10 == 0; msec /= 10)
                        digits--;
                audit_text_put(e, ".");
                put_digits(e, msec, digits);
        }
        audit_text_put(e, " s");
}

void audit_text_put_names(AuditEntry *e, const MilestoneCondition *c, uint32_t bits) {
        int left = __builtin_popcount(bits);

        for (size_t i = 0; i < c->n_names; i++) {
                if (!(bits & (UINT32_C(1) << i)))
                        continue;
                audit_text_put(e, c->names[i]);
                left--;
                if (left > 0)
                        audit_text_put(e, left == 1 ? " and " : ", ");
        }
}
