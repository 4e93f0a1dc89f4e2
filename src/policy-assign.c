/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy-internal.h"

#include <errno.h>
#include <inttypes.h>

/* What useradd(8) lets a name be, in UT_NAMESIZE bytes. */
#define USER_NAME_MAX 32U

#define DIGITS "0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

static void assign_fault(PolicyParser *p, const PolicyLine *l, const char *expected) {
        char buf[POLICY_EXCERPT_MAX];
        /* Said where it explains something: to inih and to us, "#" begins no comment there. */
        bool hash = strstr(l->value, " #") || strstr(l->value, "\t#");

        policy_fault(&p->faults, p->text->path, l->number, "%s=%s: expected %s%s", l->key,
                        policy_excerpt(l->value, buf), expected,
                        hash ? " (a comment behind a value begins with \" ;\", not with \"#\")" : "");
}

static void set_origin(PolicyParser *p, const PolicyLine *l, PolicyOrigin *o) {
        char *file = strdup(p->text->path);

        if (!file) {
                p->faults.error = -ENOMEM;
                return;
        }
        policy_origin_done(o);
        *o = (PolicyOrigin){ .file = file, .line = l->number };
}

/* --- [Match] --- */

static void assign_match(PolicyParser *p, const PolicyLine *l, MatchField field) {
        int r = match_set_rule(&p->policy->match, field, l->value, p->text->path, l->number);

        if (r == -ENOMEM)
                p->faults.error = r;
        else if (r < 0 && field == MATCH_CPUS)
                assign_fault(p, l, "numbers, or comparisons such as >=4 or !=1");
        else if (r < 0 && field == MATCH_DEVICE)
                assign_fault(p, l, "SUBSYSTEM or SUBSYSTEM:PROPERTY=GLOB");
        else if (r < 0)
                assign_fault(p, l,
                                "words or globs, with all quotes closed, and \"!\" only before the first of "
                                "them");
}

/* --- [Boot] --- */

static void reset_end_when(PolicyParser *p, const PolicyLine *l) {
        milestone_condition_done(&p->policy->end_when);
        for (size_t i = 0; i < ALTERNATIVES_MAX; i++)
                policy_origin_done(&p->policy->end_when_origin[i]);
        p->reset_path = p->text->path;
        p->reset_line = l->number;
}

static void assign_end_when(PolicyParser *p, const PolicyLine *l) {
        MilestoneCondition *c = &p->policy->end_when;
        _cleanup_free_ char *bad = NULL;
        char buf[POLICY_EXCERPT_MAX], expected[256];
        int r;

        if (l->value[0] == '\0') {
                reset_end_when(p, l);
                return;
        }

        p->reset_path = NULL;
        r = milestone_condition_add(c, l->value, &bad);
        switch (r) {
        case 0:
                set_origin(p, l, &p->policy->end_when_origin[c->n_alternatives - 1]);
                break;
        case -EINVAL:
                (void) snprintf(expected, sizeof(expected),
                                "names of milestones: a unit, startup-finished, device:SUBSYSTEM/SYSNAME, "
                                "or a "
                                "word; \"%s\" is none",
                                policy_excerpt(bad, buf));
                assign_fault(p, l, expected);
                break;
        case -E2BIG:
                (void) snprintf(expected, sizeof(expected),
                                "at most %u EndWhen= lines and %u different milestones in a policy",
                                ALTERNATIVES_MAX, MILESTONES_MAX);
                assign_fault(p, l, expected);
                break;
        default:
                p->faults.error = r;
        }
}

static bool parse_time(PolicyParser *p, const PolicyLine *l, usec_t *ret) {
        int r = policy_parse_sec(l->value, ret);

        if (r == -ERANGE)
                *ret = USEC_INFINITY; /* for what it is compared with, it is */
        else if (r < 0) {
                assign_fault(p, l, "a time in seconds, or with units: 90s, 1min 30s, 500ms");
                return false;
        }
        return true;
}

static void assign_not_before(PolicyParser *p, const PolicyLine *l) {
        usec_t t;

        if (!parse_time(p, l, &t))
                return;
        p->policy->not_before = t;
        set_origin(p, l, &p->policy->not_before_origin);
}

static void assign_deadline(PolicyParser *p, const PolicyLine *l) {
        usec_t t;

        if (!parse_time(p, l, &t))
                return;
        if (t == 0 || t > POLICY_DEADLINE_MAX_USEC) {
                assign_fault(p, l,
                                "more than 0 and at most 1h: boot must end even if a milestone never comes");
                return;
        }
        p->policy->deadline = t;
        set_origin(p, l, &p->policy->deadline_origin);
}

static bool is_uid(const char *s) {
        uint64_t uid = 0;

        if (strspn(s, DIGITS) != strlen(s) || strlen(s) > 10 || (s[0] == '0' && s[1] != '\0'))
                return false;
        for (; *s; s++)
                uid = uid * 10 + (uint64_t) (*s - '0');
        /* The kernel's and the old 16-bit (uid_t) -1 are nobody's. */
        return uid < UINT32_MAX && uid != UINT16_MAX;
}

static bool is_user(const char *s) {
        size_t n = strlen(s), k;

        if (n == 0 || n > USER_NAME_MAX)
                return false;
        if (strchr(DIGITS, s[0]))
                return is_uid(s);
        if (s[0] == '-' || s[0] == '.')
                return false;
        k = strspn(s, LETTERS DIGITS "_.-");
        /* One "$" at the end: a machine's account in a Windows domain. */
        return k == n || (k > 0 && k == n - 1 && s[k] == '$');
}

static void assign_users(PolicyParser *p, const PolicyLine *l) {
        _cleanup_strv_free_ char **users = NULL;
        int r;

        r = strv_split(l->value, &users);
        if (r == -ENOMEM) {
                p->faults.error = r;
                return;
        }
        for (char **u = users; r == 0 && u && *u; u++)
                if (!is_user(*u))
                        r = -EINVAL;
        if (r < 0) {
                assign_fault(p, l, "names of users or numeric user ids, with blanks between them");
                return;
        }
        strv_free(p->policy->allow_users);
        p->policy->allow_users = TAKE_PTR(users);
        set_origin(p, l, &p->policy->allow_users_origin);
}

static void assign_boot(PolicyParser *p, const PolicyLine *l, PolicyBootKey key) {
        switch (key) {
        case POLICY_BOOT_END_WHEN:
                assign_end_when(p, l);
                break;
        case POLICY_BOOT_NOT_BEFORE:
                assign_not_before(p, l);
                break;
        case POLICY_BOOT_DEADLINE:
                assign_deadline(p, l);
                break;
        default:
                assign_users(p, l);
        }
}

/* --- [During], [After] --- */

/* "0, 1, keep or restore": asked of the parser itself, so that the message cannot differ from it. */
static const char *knob_expected(Knob knob, KnobStage stage, char *buf, size_t size) {
        static const char *const forms[] = { "keep", "restore", "deadline" };
        const KnobInfo *info = knob_info(knob);
        const char *words[ELEMENTSOF(forms) + 3] = {};
        int64_t min = info->min[stage], max = info->max[stage];
        char low[64], high[24];
        KnobSetting ignored;
        size_t n = 0;

        if (max - min > 1)
                (void) snprintf(low, sizeof(low), "%" PRId64 " to %" PRId64 "%s%s", min, max,
                                info->unit ? " " : "", strempty(info->unit));
        else
                (void) snprintf(low, sizeof(low), "%" PRId64, min);
        words[n++] = low;
        if (max - min == 1) {
                (void) snprintf(high, sizeof(high), "%" PRId64, max);
                words[n++] = high;
        }
        for (size_t i = 0; i < ELEMENTSOF(forms); i++)
                if (knob_parse_setting(knob, stage, forms[i], &ignored) >= 0)
                        words[n++] = forms[i];
        return policy_join_or(words, buf, size);
}

static void assign_knob(PolicyParser *p, const PolicyLine *l, Knob knob) {
        KnobStage stage = l->section == POLICY_SECTION_DURING ? KNOB_STAGE_DURING : KNOB_STAGE_AFTER;
        PolicyKnob *k = &p->policy->knobs[knob];
        char expected[128];

        if (!policy_key_has_place(l->section, knob))
                policy_fault_unknown_key(&p->faults, p->text->path, l->number, l->section, l->key);
        else if (knob_parse_setting(knob, stage, l->value, &k->setting[stage]) < 0)
                assign_fault(p, l, knob_expected(knob, stage, expected, sizeof(expected)));
        else
                set_origin(p, l, &k->origin[stage]);
}

/* --- every key --- */

/* Whether the key stands in this text already, without leave to stand there again: each EndWhen= is one more
 * alternative, and an empty AllowUsers= undoes what is above it (systemd.syntax(7)). */
static bool is_duplicate(PolicyParser *p, const PolicyLine *l, unsigned key) {
        unsigned *seen = &p->seen[l->section][key];

        if (l->section == POLICY_SECTION_BOOT && key == POLICY_BOOT_END_WHEN)
                return false;
        if (l->section == POLICY_SECTION_BOOT && key == POLICY_BOOT_ALLOW_USERS && l->value[0] == '\0') {
                *seen = 0;
                return false;
        }
        if (*seen > 0) {
                policy_fault(&p->faults, p->text->path, l->number,
                                "%s= stands in line %u already; expected once in a file", l->key, *seen);
                return true;
        }
        *seen = l->number;
        return false;
}

void policy_assign(void *userdata, const PolicyLine *l) {
        PolicyParser *p = userdata;
        int key = policy_key_from_string(l->section, l->key);

        if (key < 0) {
                policy_fault_unknown_key(&p->faults, p->text->path, l->number, l->section, l->key);
                return;
        }
        p->named[l->section] |= UINT32_C(1) << key;
        if (is_duplicate(p, l, (unsigned) key))
                return;

        switch (l->section) {
        case POLICY_SECTION_MATCH:
                assign_match(p, l, (MatchField) key);
                break;
        case POLICY_SECTION_BOOT:
                assign_boot(p, l, (PolicyBootKey) key);
                break;
        default:
                assign_knob(p, l, (Knob) key);
        }
}
