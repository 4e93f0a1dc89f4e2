/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state.h"

#include <errno.h>

#include "strv.h"
#include "text.h"

/* The last line: a text without it was cut. */
#define STATE_END "COMPLETE=1\n"
#define STATE_VERSION 1

static const char *const stage_table[_KNOB_STAGE_MAX] = {
        [KNOB_STAGE_DURING] = "during",
        [KNOB_STAGE_AFTER] = "after",
};

static void put_line(Text *t, const char *key, const char *value) {
        text_put(t, key);
        text_put(t, "=");
        text_put_plain(t, value);
        text_put(t, "\n");
}

static void put_number(Text *t, const char *key, uint64_t v) {
        text_put(t, key);
        text_put(t, "=");
        text_put_unsigned(t, v);
        text_put(t, "\n");
}

/* " NAME_FIELD:VALUE" */
static void put_result(Text *t, const char *name, const char *field, int64_t value) {
        text_put(t, " ");
        text_put(t, name);
        text_put(t, field);
        text_put_signed(t, value);
}

static void put_stage(Text *t, const KnobRecord *k, KnobStage stage) {
        const KnobResult *r = &k->result[stage];
        const char *name = stage_table[stage];
        char buf[24];

        if (k->setting[stage].action != KNOB_ACTION_NONE) {
                text_put(t, " ");
                text_put(t, name);
                text_put(t, ":");
                text_put(t, knob_setting_to_string(&k->setting[stage], buf, sizeof(buf)));
        }
        if (!r->attempted)
                return;
        put_result(t, name, "_asked:", r->asked);
        put_result(t, name, "_errno:", -r->error);
        if (r->has_read_back)
                put_result(t, name, "_read:", r->read_back);
}

static void put_knob(Text *t, Knob knob, const KnobRecord *k) {
        text_put(t, "KNOB_");
        text_put(t, knob_info(knob)->name);
        text_put(t, "=present:");
        text_put_unsigned(t, k->present);
        if (k->has_found)
                put_result(t, "found", ":", k->found);
        put_result(t, "default", ":", k->kernel_default);
        for (KnobStage stage = 0; stage < _KNOB_STAGE_MAX; stage++)
                put_stage(t, k, stage);
        text_put(t, "\n");
}

static void put_end_when(Text *t, const MilestoneCondition *c, size_t alternative) {
        const char *separator = "";

        text_put(t, "END_WHEN_");
        text_put_unsigned(t, alternative + 1);
        text_put(t, "=");
        for (size_t i = 0; i < c->n_names; i++)
                if (c->alternatives[alternative] & (UINT32_C(1) << i)) {
                        text_put(t, separator);
                        text_put(t, c->names[i]);
                        separator = " ";
                }
        text_put(t, "\n");
}

static void put_reached(Text *t, const BootRecord *record, size_t i) {
        text_put(t, "REACHED_");
        text_put_unsigned(t, i + 1);
        text_put(t, "=");
        text_put_unsigned(t, record->reached_at[i]);
        text_put(t, " ");
        text_put(t, milestone_source_to_string(record->reached_by[i]));
        text_put(t, " ");
        text_put(t, record->end_when.names[i]);
        text_put(t, "\n");
}

static void put_users(Text *t, char *const *users) {
        const char *separator = "";

        text_put(t, "ALLOW_USERS=");
        for (; users && *users; users++) {
                text_put(t, separator);
                text_put(t, *users);
                separator = " ";
        }
        text_put(t, "\n");
}

static void put_all(Text *t, const BootRecord *record) {
        put_number(t, "VERSION", STATE_VERSION);
        put_line(t, "PHASE", boot_phase_to_string(record->phase));
        put_line(t, "REASON", boot_reason_to_string(record->reason));
        put_line(t, "REASON_TEXT", record->reason_text);
        put_number(t, "SINCE_USEC", record->since);
        put_number(t, "STARTED_USEC", record->started);
        put_number(t, "STARTS", record->starts);
        put_number(t, "DEATHS", record->deaths);
        put_number(t, "NOT_BEFORE_USEC", record->not_before);
        put_number(t, "DEADLINE_USEC", record->deadline);
        put_number(t, "EXTENDED", record->extended);
        put_line(t, "MODE", rcu_mode_to_string(record->mode));
        put_line(t, "POLICY", strempty(record->policy_name));
        put_line(t, "POLICY_FILE", strempty(record->policy_path));
        put_line(t, "POLICY_WHY", strempty(record->policy_why));
        put_users(t, record->allow_users);

        for (size_t a = 0; a < record->end_when.n_alternatives; a++)
                put_end_when(t, &record->end_when, a);
        for (size_t i = 0; i < record->end_when.n_names; i++)
                if (record->reached & (UINT32_C(1) << i))
                        put_reached(t, record, i);
        FOREACH_KNOB(knob)
                put_knob(t, knob, &record->knobs[knob]);

        text_put(t, STATE_END);
}

int state_format(const BootRecord *record, char **ret) {
        _cleanup_(text_done) Text t = {};

        put_all(&t, record);
        return text_finish(&t, ret);
}

/* Digits alone, unlike strtoull(): no sign, no blank. */
static int parse_unsigned(const char *s, uint64_t max, uint64_t *ret) {
        uint64_t v = 0;

        if (isempty(s))
                return -EBADMSG;

        for (; *s; s++) {
                unsigned digit = (unsigned char) *s - '0';

                if (digit > 9 || digit > max || v > (max - digit) / 10)
                        return -EBADMSG;
                v = v * 10 + digit;
        }

        *ret = v;
        return 0;
}

static int parse_bool(const char *s, bool *ret) {
        uint64_t v;
        int r;

        r = parse_unsigned(s, 1, &v);
        if (r >= 0)
                *ret = v;
        return r;
}

static int parse_text(const char *s, char **ret) {
        *ret = strdup(s);
        return *ret ? 0 : -ENOMEM;
}

static int read_version(const char *value, BootRecord *record) {
        uint64_t v;

        return parse_unsigned(value, STATE_VERSION, &v) < 0 || v != STATE_VERSION ? -EBADMSG : 0;
}

static int read_phase(const char *value, BootRecord *record) {
        int r = boot_phase_from_string(value, &record->phase);

        return r < 0 || record->phase == BOOT_PHASE_NONE ? -EBADMSG : 0;
}

static int read_reason(const char *value, BootRecord *record) {
        return boot_reason_from_string(value, &record->reason) < 0 ? -EBADMSG : 0;
}

static int read_reason_text(const char *value, BootRecord *record) {
        if (strlen(value) >= sizeof(record->reason_text))
                return -EBADMSG;
        strcpy(record->reason_text, value);
        return 0;
}

static int read_since(const char *value, BootRecord *record) {
        return parse_unsigned(value, UINT64_MAX, &record->since);
}

static int read_started(const char *value, BootRecord *record) {
        return parse_unsigned(value, UINT64_MAX, &record->started);
}

static int read_starts(const char *value, BootRecord *record) {
        uint64_t v;
        int r = parse_unsigned(value, UINT32_MAX, &v);

        if (r >= 0)
                record->starts = (unsigned) v;
        return r;
}

static int read_deaths(const char *value, BootRecord *record) {
        uint64_t v;
        int r = parse_unsigned(value, UINT32_MAX, &v);

        if (r >= 0)
                record->deaths = (unsigned) v;
        return r;
}

static int read_not_before(const char *value, BootRecord *record) {
        return parse_unsigned(value, POLICY_DEADLINE_MAX_USEC, &record->not_before);
}

static int read_deadline(const char *value, BootRecord *record) {
        return parse_unsigned(value, POLICY_DEADLINE_MAX_USEC, &record->deadline);
}

static int read_extended(const char *value, BootRecord *record) {
        return parse_bool(value, &record->extended);
}

static int read_mode(const char *value, BootRecord *record) {
        return rcu_mode_from_string(value, &record->mode) < 0 ? -EBADMSG : 0;
}

static int read_policy(const char *value, BootRecord *record) {
        return parse_text(value, &record->policy_name);
}

static int read_policy_file(const char *value, BootRecord *record) {
        return parse_text(value, &record->policy_path);
}

static int read_policy_why(const char *value, BootRecord *record) {
        return parse_text(value, &record->policy_why);
}

static int read_users(const char *value, BootRecord *record) {
        int r = strv_split(value, &record->allow_users);

        return r == -EINVAL ? -EBADMSG : r;
}

/* Keys that are there exactly once. */
static const struct {
        const char *key;
        int (*read)(const char *value, BootRecord *record);
} key_table[] = {
        { "VERSION", read_version },
        { "PHASE", read_phase },
        { "REASON", read_reason },
        { "REASON_TEXT", read_reason_text },
        { "SINCE_USEC", read_since },
        { "STARTED_USEC", read_started },
        { "STARTS", read_starts },
        { "DEATHS", read_deaths },
        { "NOT_BEFORE_USEC", read_not_before },
        { "DEADLINE_USEC", read_deadline },
        { "EXTENDED", read_extended },
        { "MODE", read_mode },
        { "POLICY", read_policy },
        { "POLICY_FILE", read_policy_file },
        { "POLICY_WHY", read_policy_why },
        { "ALLOW_USERS", read_users },
};

#define ALL_KEYS ((UINT32_C(1) << ELEMENTSOF(key_table)) - 1)
#define ALL_KNOBS ((UINT32_C(1) << _KNOB_MAX) - 1)

typedef struct StateParser {
        BootRecord *record;
        uint32_t keys_seen;
        uint32_t knobs_seen;
} StateParser;

static int read_end_when(const char *number, const char *value, BootRecord *record) {
        _cleanup_free_ char *bad = NULL;
        uint64_t n;
        int r;

        r = parse_unsigned(number, ALTERNATIVES_MAX, &n);
        if (r < 0 || n != record->end_when.n_alternatives + 1)
                return -EBADMSG;

        r = milestone_condition_add(&record->end_when, value, &bad);
        return r == -ENOMEM ? r : r < 0 ? -EBADMSG : 0;
}

/* "USEC SOURCE NAME". Not strv_split(): a name keeps the backslashes of systemd's escapes. */
static int read_reached(const char *value, BootRecord *record) {
        _cleanup_free_ char *at_text = NULL, *source_text = NULL;
        const char *source_start, *name;
        MilestoneSource source;
        uint64_t at;
        int i;

        source_start = strchr(value, ' ');
        name = source_start ? strchr(source_start + 1, ' ') : NULL;
        if (!name)
                return -EBADMSG;

        at_text = strndup(value, (size_t) (source_start - value));
        source_text = strndup(source_start + 1, (size_t) (name - source_start - 1));
        if (!at_text || !source_text)
                return -ENOMEM;

        if (parse_unsigned(at_text, UINT64_MAX, &at) < 0 ||
                        milestone_source_from_string(source_text, &source) < 0)
                return -EBADMSG;

        i = milestone_condition_find(&record->end_when, name + 1);
        if (i < 0 || record->reached & (UINT32_C(1) << i))
                return -EBADMSG;

        record->reached |= UINT32_C(1) << i;
        record->reached_at[i] = at;
        record->reached_by[i] = source;
        return 0;
}

/* The part behind "during_" or "after_". */
static int read_knob_result(const char *field, const char *value, KnobResult *result) {
        uint64_t error;
        int r;

        result->attempted = true;

        if (streq(field, "asked"))
                return knob_parse_reading(value, &result->asked);
        if (streq(field, "errno")) {
                r = parse_unsigned(value, 4095, &error);
                if (r >= 0)
                        result->error = -(int) error;
                return r;
        }
        if (streq(field, "read")) {
                result->has_read_back = true;
                return knob_parse_reading(value, &result->read_back);
        }

        return 0;
}

static int read_knob_field(Knob knob, const char *field, const char *value, KnobRecord *k) {
        const char *rest;

        if (streq(field, "present"))
                return parse_bool(value, &k->present);
        if (streq(field, "found")) {
                k->has_found = true;
                return knob_parse_reading(value, &k->found);
        }
        if (streq(field, "default"))
                return knob_parse_reading(value, &k->kernel_default);

        for (KnobStage stage = 0; stage < _KNOB_STAGE_MAX; stage++) {
                rest = startswith(field, stage_table[stage]);
                if (rest && *rest == '\0')
                        return knob_parse_setting(knob, stage, value, &k->setting[stage]);
                if (rest && *rest == '_')
                        return read_knob_result(rest + 1, value, &k->result[stage]);
        }

        return 0;
}

static int read_knob(const char *name, const char *value, StateParser *p) {
        _cleanup_strv_free_ char **words = NULL;
        Knob knob;
        int r;

        /* A newer daemon may know more knobs. */
        if (knob_from_string(name, &knob) < 0)
                return 0;
        if (p->knobs_seen & (UINT32_C(1) << knob))
                return -EBADMSG;
        p->knobs_seen |= UINT32_C(1) << knob;

        r = strv_split(value, &words);
        if (r < 0)
                return r == -EINVAL ? -EBADMSG : r;

        for (char **word = words; word && *word; word++) {
                char *colon = strchr(*word, ':');

                if (!colon)
                        return -EBADMSG;
                *colon = '\0';
                if (read_knob_field(knob, *word, colon + 1, &p->record->knobs[knob]) < 0)
                        return -EBADMSG;
        }

        return 0;
}

static int read_line(const char *key, const char *value, StateParser *p) {
        const char *rest;

        for (size_t i = 0; i < ELEMENTSOF(key_table); i++) {
                if (!streq(key, key_table[i].key))
                        continue;
                if (p->keys_seen & (UINT32_C(1) << i))
                        return -EBADMSG;
                p->keys_seen |= UINT32_C(1) << i;
                return key_table[i].read(value, p->record);
        }

        rest = startswith(key, "END_WHEN_");
        if (rest)
                return read_end_when(rest, value, p->record);
        rest = startswith(key, "REACHED_");
        if (rest)
                return read_reached(value, p->record);
        rest = startswith(key, "KNOB_");
        if (rest)
                return read_knob(rest, value, p);

        return 0;
}

static int read_lines(char *text, StateParser *p) {
        char *line, *end, *equals;
        int r;

        for (line = text; *line; line = end + 1) {
                end = strchr(line, '\n');
                if (!end)
                        return -EBADMSG;
                *end = '\0';
                equals = strchr(line, '=');
                if (!equals)
                        return -EBADMSG;
                *equals = '\0';
                r = read_line(line, equals + 1, p);
                if (r < 0)
                        return r;
        }

        return 0;
}

static bool is_plausible(const StateParser *p) {
        return p->keys_seen == ALL_KEYS && p->knobs_seen == ALL_KNOBS &&
                        p->record->end_when.n_alternatives > 0 && p->record->deadline > 0 &&
                        p->record->starts > 0;
}

int state_parse(const char *text, size_t size, BootRecord *ret) {
        _cleanup_free_ char *copy = NULL;
        BootRecord record = {};
        StateParser parser = { .record = &record };
        int r;

        if (size < STRLEN(STATE_END) || size > STATE_SIZE_MAX || memchr(text, '\0', size) ||
                        memcmp(text + size - STRLEN(STATE_END), STATE_END, STRLEN(STATE_END)) != 0)
                return -EBADMSG;

        copy = strndup(text, size);
        if (!copy)
                return -ENOMEM;

        r = read_lines(copy, &parser);
        if (r >= 0 && !is_plausible(&parser))
                r = -EBADMSG;
        if (r < 0) {
                boot_record_done(&record);
                return r;
        }

        *ret = record;
        return 0;
}
