/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state.h"

#include <errno.h>
#include <inttypes.h>

#include "strv.h"

/* The last line: a text without it was cut. */
#define STATE_END "COMPLETE=1\n"
#define STATE_VERSION 1

static const char *const stage_table[_KNOB_STAGE_MAX] = {
        [KNOB_STAGE_DURING] = "during",
        [KNOB_STAGE_AFTER] = "after",
};

static void format_knob(FILE *f, Knob knob, const KnobRecord *k) {
        char buf[24];

        fprintf(f, "KNOB_%s=present:%d", knob_info(knob)->name, k->present);
        if (k->has_found)
                fprintf(f, " found:%" PRIi64, k->found);
        fprintf(f, " default:%" PRIi64, k->kernel_default);

        for (KnobStage stage = 0; stage < _KNOB_STAGE_MAX; stage++) {
                const KnobResult *r = &k->result[stage];
                const char *name = stage_table[stage];

                if (k->setting[stage].action != KNOB_ACTION_NONE)
                        fprintf(f, " %s:%s", name,
                                        knob_setting_to_string(&k->setting[stage], buf, sizeof(buf)));
                if (!r->attempted)
                        continue;
                fprintf(f, " %s_asked:%" PRIi64 " %s_errno:%d", name, r->asked, name, -r->error);
                if (r->has_read_back)
                        fprintf(f, " %s_read:%" PRIi64, name, r->read_back);
        }

        fputc('\n', f);
}

static int format_condition(FILE *f, const BootRecord *record) {
        const MilestoneCondition *c = &record->end_when;

        for (size_t a = 0; a < c->n_alternatives; a++) {
                const char *separator = "";

                fprintf(f, "END_WHEN_%zu=", a + 1);
                for (size_t i = 0; i < c->n_names; i++)
                        if (c->alternatives[a] & (UINT32_C(1) << i)) {
                                fprintf(f, "%s%s", separator, c->names[i]);
                                separator = " ";
                        }
                fputc('\n', f);
        }

        for (size_t i = 0; i < c->n_names; i++)
                if (record->reached & (UINT32_C(1) << i))
                        fprintf(f, "REACHED_%zu=%" PRIu64 " %s %s\n", i + 1, record->reached_at[i],
                                        milestone_source_to_string(record->reached_by[i]), c->names[i]);

        return 0;
}

/* A value of foreign origin: whatever could end the line is made visible instead. */
static void format_text(FILE *f, const char *key, const char *value) {
        fprintf(f, "%s=", key);
        for (const char *p = strempty(value); *p; p++)
                fputc((unsigned char) *p < ' ' || *p == 0x7f ? '?' : *p, f);
        fputc('\n', f);
}

static int format_users(FILE *f, const BootRecord *record) {
        _cleanup_free_ char *users = NULL;
        int r;

        r = strv_join(record->allow_users, " ", &users);
        if (r < 0)
                return r;

        fprintf(f, "ALLOW_USERS=%s\n", users);
        return 0;
}

static int format_all(FILE *f, const BootRecord *record) {
        int r;

        fprintf(f, "VERSION=%d\n", STATE_VERSION);
        fprintf(f, "PHASE=%s\n", boot_phase_to_string(record->phase));
        fprintf(f, "REASON=%s\n", boot_reason_to_string(record->reason));
        format_text(f, "REASON_TEXT", record->reason_text);
        fprintf(f, "SINCE_USEC=%" PRIu64 "\n", record->since);
        fprintf(f, "STARTED_USEC=%" PRIu64 "\n", record->started);
        fprintf(f, "STARTS=%u\n", record->starts);
        fprintf(f, "NOT_BEFORE_USEC=%" PRIu64 "\n", record->not_before);
        fprintf(f, "DEADLINE_USEC=%" PRIu64 "\n", record->deadline);
        fprintf(f, "EXTENDED=%d\n", record->extended);
        fprintf(f, "MODE=%s\n", rcu_mode_to_string(record->mode));
        format_text(f, "POLICY", record->policy_name);
        format_text(f, "POLICY_FILE", record->policy_path);
        format_text(f, "POLICY_WHY", record->policy_why);

        r = format_users(f, record);
        if (r < 0)
                return r;

        format_condition(f, record);
        FOREACH_KNOB(knob)
                format_knob(f, knob, &record->knobs[knob]);

        fputs(STATE_END, f);
        return 0;
}

int state_format(const BootRecord *record, char **ret) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *f;
        int r;

        f = open_memstream(&text, &size);
        if (!f)
                return -ENOMEM;

        r = format_all(f, record);
        if (fclose(f) != 0 && r >= 0)
                r = -ENOMEM;
        if (r < 0)
                return r;

        *ret = TAKE_PTR(text);
        return 0;
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
