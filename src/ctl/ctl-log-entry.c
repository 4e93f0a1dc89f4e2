/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-log.h"

#include <errno.h>
#include <inttypes.h>
#include <syslog.h>

#include "names.h"
#include "strv.h"

/* The schema of an entry with --json; keys are only ever added, and are there only where the entry has them:
 *
 *   {
 *     "boot_id": "0123456789abcdef0123456789abcdef",
 *     "realtime_usec": 1700000000000000,   wall clock, when the journal took it
 *     "boottime_usec": 12345678,           since the kernel started, when it happened
 *     "kind": "ended",                     "started", "milestone", "ended", "deadline", "knob-written",
 *                                          "knob-failed", "extended", "policy-rejected", "refused",
 *                                          "still-expedited", "device-uninitialized",
 *                                          "unkept-promise"
 *     "message_id": "bb4c4637f3d94329acda2284592efff6",
 *     "priority": 6,                       as in syslog(3)
 *     "message": "...",
 *     "phase", "reason", "reason_text", "milestone", "source", "policy", "policy_file", "knob", "knob_path",
 *     "mode": strings
 *     "missing", "pending_jobs": lists of strings
 *     "knob_before", "knob_asked", "knob_read_back", "errno", "deadline_usec", "sender_uid", "sender_pid":
 *                                          numbers
 *   }
 */

static const struct {
        const char *id;
        const char *kind;
} kind_table[] = {
        { MESSAGE_ID_STARTED, "started" },
        { MESSAGE_ID_MILESTONE, "milestone" },
        { MESSAGE_ID_ENDED, "ended" },
        { MESSAGE_ID_DEADLINE, "deadline" },
        { MESSAGE_ID_KNOB_WRITTEN, "knob-written" },
        { MESSAGE_ID_KNOB_FAILED, "knob-failed" },
        { MESSAGE_ID_EXTENDED, "extended" },
        { MESSAGE_ID_POLICY_REJECTED, "policy-rejected" },
        { MESSAGE_ID_REFUSED, "refused" },
        { MESSAGE_ID_STILL_EXPEDITED, "still-expedited" },
        { MESSAGE_ID_DEVICE_UNINITIALIZED, "device-uninitialized" },
        { MESSAGE_ID_UNKEPT_PROMISE, "unkept-promise" },
};

enum { FORM_TEXT, FORM_NUMBER, FORM_LIST };

enum { FIELD_IS_MESSAGE, FIELD_IS_MESSAGE_ID, FIELD_IS_PRIORITY, FIELD_IS_BOOTTIME, _FIELD_FIRST_OTHER };

static const struct {
        const char *field;
        const char *key;
        int form;
} field_table[] = {
        [FIELD_IS_MESSAGE] = { "MESSAGE", "message", FORM_TEXT },
        [FIELD_IS_MESSAGE_ID] = { "MESSAGE_ID", "message_id", FORM_TEXT },
        [FIELD_IS_PRIORITY] = { "PRIORITY", "priority", FORM_NUMBER },
        [FIELD_IS_BOOTTIME] = { FIELD_BOOTTIME, "boottime_usec", FORM_NUMBER },
        { FIELD_PHASE, "phase", FORM_TEXT },
        { FIELD_REASON, "reason", FORM_TEXT },
        { FIELD_REASON_TEXT, "reason_text", FORM_TEXT },
        { FIELD_MILESTONE, "milestone", FORM_TEXT },
        { FIELD_MISSING, "missing", FORM_LIST },
        { FIELD_JOBS, "pending_jobs", FORM_LIST },
        { FIELD_SOURCE, "source", FORM_TEXT },
        { FIELD_POLICY, "policy", FORM_TEXT },
        { FIELD_POLICY_FILE, "policy_file", FORM_TEXT },
        { FIELD_KNOB, "knob", FORM_TEXT },
        { FIELD_KNOB_PATH, "knob_path", FORM_TEXT },
        { FIELD_KNOB_BEFORE, "knob_before", FORM_NUMBER },
        { FIELD_KNOB_ASKED, "knob_asked", FORM_NUMBER },
        { FIELD_KNOB_READ_BACK, "knob_read_back", FORM_NUMBER },
        { FIELD_MODE, "mode", FORM_TEXT },
        { FIELD_ERRNO, "errno", FORM_NUMBER },
        { FIELD_DEADLINE, "deadline_usec", FORM_NUMBER },
        { FIELD_UID, "sender_uid", FORM_NUMBER },
        { FIELD_PID, "sender_pid", FORM_NUMBER },
};

struct LogEntry {
        sd_id128_t boot;
        uint64_t realtime;
        uint64_t monotonic;
        char **values[ELEMENTSOF(field_table)]; /* a field may be there more than once */
};

LogEntry *log_entry_free(LogEntry *e) {
        if (!e)
                return NULL;

        for (size_t i = 0; i < ELEMENTSOF(e->values); i++)
                strv_free(e->values[i]);
        free(e);
        return NULL;
}

int log_add_matches(sd_journal *j, sd_id128_t boot) {
        char match[STRLEN("MESSAGE_ID=") + SD_ID128_STRING_MAX];
        int r;

        sd_journal_flush_matches(j);

        snprintf(match, sizeof(match), "_BOOT_ID=%s", SD_ID128_TO_STRING(boot));
        r = sd_journal_add_match(j, match, 0);

        /* Anybody may write an entry with our ids; journald vouches for whose it is. */
        if (r >= 0)
                r = sd_journal_add_match(j, "_UID=0", 0);

        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(kind_table); i++) {
                snprintf(match, sizeof(match), "MESSAGE_ID=%s", kind_table[i].id);
                r = sd_journal_add_match(j, match, 0);
        }

        return r;
}

static int add_data(LogEntry *e, const char *data, size_t size) {
        for (size_t i = 0; i < ELEMENTSOF(field_table); i++) {
                size_t n = strlen(field_table[i].field);

                if (size > n && data[n] == '=' && memcmp(data, field_table[i].field, n) == 0)
                        return strv_consume(&e->values[i], strndup(data + n + 1, size - n - 1));
        }

        return 0;
}

int log_entry_read(sd_journal *j, LogEntry **ret) {
        _cleanup_(log_entry_freep) LogEntry *e = calloc(1, sizeof(*e));
        const void *data;
        size_t size;
        int r;

        if (!e)
                return -ENOMEM;

        r = sd_journal_get_realtime_usec(j, &e->realtime);
        if (r >= 0)
                r = sd_journal_get_monotonic_usec(j, &e->monotonic, &e->boot);
        if (r < 0)
                return r;

        SD_JOURNAL_FOREACH_DATA(j, data, size) {
                r = add_data(e, data, size);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(e);
        return 0;
}

static const char *first(const LogEntry *e, size_t field) {
        return e->values[field] ? *e->values[field] : NULL;
}

static bool to_number(const char *s, int64_t *ret) {
        char *end;
        long long v;

        errno = 0;
        v = strtoll(s, &end, 10);
        if (errno != 0 || end == s || *end)
                return false;

        *ret = v;
        return true;
}

/* Our own clock where the entry has it; journald's does not go on while the machine sleeps. */
static uint64_t boottime(const LogEntry *e) {
        const char *s = first(e, FIELD_IS_BOOTTIME);
        int64_t t;

        return s && to_number(s, &t) && t >= 0 ? (uint64_t) t : e->monotonic;
}

static Colour colour_of(const LogEntry *e) {
        const char *s = first(e, FIELD_IS_PRIORITY);
        int64_t priority;

        if (!s || !to_number(s, &priority))
                return COLOUR_NORMAL;

        return priority <= LOG_ERR ? COLOUR_RED : priority == LOG_WARNING ? COLOUR_YELLOW : COLOUR_NORMAL;
}

void log_entry_print(const LogEntry *e) {
        _cleanup_free_ char *message = strdup(strempty(first(e, FIELD_IS_MESSAGE)));
        uint64_t t = boottime(e);
        Colour c = colour_of(e);

        if (message) {
                /* One line an entry. */
                for (char *p = message; *p; p++)
                        if (*p == '\n')
                                *p = ' ';
                text_harmless(message);
        }

        printf("[%5" PRIu64 ".%06" PRIu64 "] %s%s%s\n", t / USEC_PER_SEC, t % USEC_PER_SEC,
                        c == COLOUR_NORMAL ? "" : colour(c), strempty(message),
                        c == COLOUR_NORMAL ? "" : colour(COLOUR_NORMAL));
}

static json_t *list_to_json(char **values) {
        json_t *array = json_array();

        for (; values && *values; values++) {
                _cleanup_free_ char *copy = strdup(*values);
                char *state, *word;

                if (!copy) {
                        json_append(&array, NULL);
                        break;
                }
                for (word = strtok_r(copy, " \n", &state); word; word = strtok_r(NULL, " \n", &state))
                        json_append(&array, json_text(word));
        }

        return array;
}

static json_t *value_to_json(const LogEntry *e, size_t field) {
        int64_t number;

        if (field_table[field].form == FORM_LIST)
                return list_to_json(e->values[field]);
        if (field_table[field].form == FORM_NUMBER && to_number(first(e, field), &number))
                return json_integer(number);

        return json_text(first(e, field));
}

static const char *kind_of(const LogEntry *e) {
        const char *id = first(e, FIELD_IS_MESSAGE_ID);

        for (size_t i = 0; id && i < ELEMENTSOF(kind_table); i++)
                if (streq(id, kind_table[i].id))
                        return kind_table[i].kind;

        return NULL;
}

json_t *log_entry_to_json(const LogEntry *e) {
        json_t *object;

        object = json_pack("{s:s,s:I,s:I,s:o}", "boot_id", SD_ID128_TO_STRING(e->boot), "realtime_usec",
                        (json_int_t) e->realtime, "boottime_usec", (json_int_t) boottime(e), "kind",
                        json_text(kind_of(e)));

        for (size_t i = 0; object && i < ELEMENTSOF(field_table); i++)
                if (i != FIELD_IS_BOOTTIME && e->values[i] &&
                                json_object_set_new(object, field_table[i].key, value_to_json(e, i)) < 0) {
                        json_decref(object);
                        return NULL;
                }

        return object;
}
