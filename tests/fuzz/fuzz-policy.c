/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot-record.h"
#include "policy.h"
#include "state.h"

#undef NDEBUG
#include <assert.h>
#include <errno.h>

/* Any bytes as a policy file and its drop-ins: the byte 0x1e (ASCII's "record separator") stands between the
 * files. Run it with tests/fuzz/run. */

#define TEXTS_MAX 4
#define SEPARATOR 0x1e

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const paths[TEXTS_MAX] = {
        "/etc/rcu-bootd/policy.d/50-fuzz.policy",
        "/etc/rcu-bootd/policy.d/50-fuzz.policy.d/1.conf",
        "/etc/rcu-bootd/policy.d/50-fuzz.policy.d/2.conf",
        "/etc/rcu-bootd/policy.d/50-fuzz.policy.d/3.conf",
};

static size_t split_texts(const char *data, size_t size, PolicyText *texts) {
        size_t n = 0;

        for (;;) {
                const char *end = n + 1 < TEXTS_MAX && size > 0 ? memchr(data, SEPARATOR, size) : NULL;
                size_t length = end ? (size_t) (end - data) : size;

                texts[n] = (PolicyText){ .path = paths[n], .text = data, .size = length };
                n++;
                if (!end)
                        return n;
                data += length + 1;
                size -= length + 1;
        }
}

/* Each fault is one printable line that begins with the file it is in. */
static void check_errors(char *const *errors) {
        assert(strv_length(errors) > 0);
        for (; *errors; errors++) {
                bool known = false;

                for (size_t i = 0; i < TEXTS_MAX; i++)
                        known = known || startswith(*errors, paths[i]);
                assert(known);
                for (const char *p = *errors; *p; p++)
                        assert(*p == '\t' || ((unsigned char) *p >= ' ' && *p != 0x7f));
        }
}

static void check_knob(const Policy *p, Knob knob) {
        for (KnobStage stage = 0; stage < _KNOB_STAGE_MAX; stage++) {
                const KnobSetting *s = &p->knobs[knob].setting[stage];
                KnobSetting again;
                char buf[24];

                if (s->action == KNOB_ACTION_NONE)
                        continue;
                assert(p->knobs[knob].origin[stage].file && p->knobs[knob].origin[stage].line > 0);
                assert(knob_parse_setting(knob, stage, knob_setting_to_string(s, buf, sizeof(buf)),
                                       &again) == 0);
                assert(again.action == s->action && again.value == s->value);
                if (s->action == KNOB_ACTION_DEADLINE)
                        assert(p->deadline / USEC_PER_MSEC <= (usec_t) knob_info(knob)->max[stage]);
        }

        /* Whatever boot sets, its end says something of. */
        assert(p->knobs[knob].setting[KNOB_STAGE_DURING].action == KNOB_ACTION_NONE ||
                        p->knobs[knob].setting[KNOB_STAGE_AFTER].action != KNOB_ACTION_NONE);
}

static void check_policy(const Policy *p) {
        const MilestoneCondition *c = &p->end_when;

        assert(streq(p->name, "50-fuzz.policy") && streq(p->path, paths[0]));
        assert(p->deadline > 0 && p->deadline <= POLICY_DEADLINE_MAX_USEC && p->not_before < p->deadline);

        assert(c->n_alternatives > 0 && c->n_alternatives <= ALTERNATIVES_MAX);
        assert(c->n_names > 0 && c->n_names <= MILESTONES_MAX);
        assert(!milestone_condition_holds(c, 0));
        for (size_t i = 0; i < c->n_names; i++) {
                assert(milestone_name_is_valid(c->names[i]));
                assert(milestone_condition_find(c, c->names[i]) == (int) i);
        }
        for (size_t i = 0; i < c->n_alternatives; i++)
                assert(p->end_when_origin[i].file && p->end_when_origin[i].line > 0);

        FOREACH_KNOB(knob)
                check_knob(p, knob);
}

/* Whatever policy is let through, the daemon must be able to read its own state file afterwards: or a crash
 * in the middle of boot would end it. */
static void check_state(const Policy *p) {
        BootRecord record = {}, again = {};
        char *text = NULL, *text_again = NULL;

        assert(boot_record_from_policy(p, "no [Match] section", &record) == 0);
        record.phase = BOOT_PHASE_BOOTING;
        record.starts = 1;
        for (size_t i = 0; i < record.end_when.n_names; i++) {
                record.reached |= UINT32_C(1) << i;
                record.reached_at[i] = (usec_t) i * USEC_PER_SEC;
        }

        assert(state_format(&record, &text) == 0);
        assert(strlen(text) > STATE_SIZE_MAX || state_parse(text, strlen(text), &again) == 0);
        if (strlen(text) <= STATE_SIZE_MAX) {
                assert(state_format(&again, &text_again) == 0);
                assert(streq(text, text_again));
                assert(strv_length(record.allow_users) == strv_length(again.allow_users));
        }

        free(text);
        free(text_again);
        boot_record_done(&record);
        boot_record_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        PolicyText texts[TEXTS_MAX];
        char **errors = NULL;
        Policy *p = NULL;
        size_t n;
        int r;

        n = split_texts((const char *) data, size, texts);
        r = policy_parse("50-fuzz.policy", texts, n, &p, &errors);
        if (r < 0) {
                assert(r == -EBADMSG && !p);
                check_errors(errors);
        } else {
                assert(r == 0 && p && strv_length(errors) == 0);
                check_policy(p);
                check_state(p);
        }

        strv_free(errors);
        policy_free(p);
        return 0;
}
