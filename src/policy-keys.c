/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy-internal.h"

#include <errno.h>

/* Longer than any name of ours; words above that are not compared. */
#define NEAREST_MAX 40U

static const char *const section_names[_POLICY_SECTION_MAX + 1] = {
        [POLICY_SECTION_MATCH] = "Match",
        [POLICY_SECTION_BOOT] = "Boot",
        [POLICY_SECTION_DURING] = "During",
        [POLICY_SECTION_AFTER] = "After",
};

static const char *const boot_key_names[_POLICY_BOOT_KEY_MAX] = {
        [POLICY_BOOT_END_WHEN] = "EndWhen",
        [POLICY_BOOT_NOT_BEFORE] = "NotBeforeSec",
        [POLICY_BOOT_DEADLINE] = "DeadlineSec",
        [POLICY_BOOT_ALLOW_USERS] = "AllowUsers",
};

_Static_assert(POLICY_KEYS_MAX >= (unsigned) _KNOB_MAX, "knobs are keys");
_Static_assert(POLICY_KEYS_MAX >= (unsigned) _POLICY_BOOT_KEY_MAX, "so are the keys of [Boot]");
_Static_assert(POLICY_KEYS_MAX <= 32, "a bit each");

const char *policy_section_to_string(PolicySection s) {
        return s < _POLICY_SECTION_MAX ? section_names[s] : NULL;
}

PolicySection policy_section_from_string(const char *name) {
        for (PolicySection s = 0; s < _POLICY_SECTION_MAX; s++)
                if (streq(name, section_names[s]))
                        return s;
        return POLICY_SECTION_UNKNOWN;
}

const char *policy_key_to_string(PolicySection s, unsigned i) {
        switch (s) {
        case POLICY_SECTION_MATCH:
                return i < _MATCH_FIELD_MAX ? match_field_to_string(i) : NULL;
        case POLICY_SECTION_BOOT:
                return i < _POLICY_BOOT_KEY_MAX ? boot_key_names[i] : NULL;
        case POLICY_SECTION_DURING:
        case POLICY_SECTION_AFTER:
                return i < _KNOB_MAX ? knob_info(i)->name : NULL;
        default:
                return NULL;
        }
}

int policy_key_from_string(PolicySection s, const char *name) {
        const char *k;

        for (unsigned i = 0; (k = policy_key_to_string(s, i)); i++)
                if (streq(name, k))
                        return (int) i;
        return -ENOENT;
}

const char *policy_join_or(const char *const *words, char *buf, size_t size) {
        size_t used = 0;

        buf[0] = '\0';
        for (size_t i = 0; words[i] && used < size; i++) {
                const char *separator = i == 0 ? "" : words[i + 1] ? ", " : " or ";

                used += (size_t) snprintf(buf + used, size - used, "%s%s", separator, words[i]);
        }
        return buf;
}

static char to_lower(char c) {
        return c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
}

/* How many letters must be put in, left out or changed to make one word of the other, cases aside
 * (Levenshtein's distance, a row at a time). */
static unsigned distance(const char *a, const char *b) {
        unsigned row[NEAREST_MAX + 1], n = (unsigned) strlen(b);

        for (unsigned j = 0; j <= n; j++)
                row[j] = j;
        for (unsigned i = 1; a[i - 1]; i++) {
                unsigned diagonal = row[0];

                row[0] = i;
                for (unsigned j = 1; j <= n; j++) {
                        unsigned changed = diagonal + (to_lower(a[i - 1]) != to_lower(b[j - 1]));

                        diagonal = row[j];
                        row[j] = MIN(changed, MIN(row[j], row[j - 1]) + 1);
                }
        }
        return row[n];
}

/* The index of the word that name was probably meant to be, or -ENOENT. */
static int nearest(const char *const *words, const char *name) {
        unsigned best = UINT32_MAX;
        int found = -ENOENT;

        if (strlen(name) > NEAREST_MAX)
                return -ENOENT;
        for (int i = 0; words[i]; i++) {
                unsigned d = distance(name, words[i]);

                /* One letter in three may be wrong. */
                if (d < best && d <= MAX((unsigned) strlen(words[i]) / 3, 1U)) {
                        best = d;
                        found = i;
                }
        }
        return found;
}

PolicySection policy_fault_unknown_section(
                PolicyFaults *f, const char *path, unsigned line, const char *name) {
        int i = nearest(section_names, name);
        char buf[POLICY_EXCERPT_MAX];

        if (i >= 0) {
                policy_fault(f, path, line, "unknown section [%s]; did you mean [%s]?",
                                policy_excerpt(name, buf), section_names[i]);
                return (PolicySection) i;
        }
        policy_fault(f, path, line, "unknown section [%s]; expected [Match], [Boot], [During] or [After]",
                        policy_excerpt(name, buf));
        return POLICY_SECTION_UNKNOWN;
}

bool policy_key_has_place(PolicySection s, unsigned key) {
        const KnobInfo *info;
        KnobStage stage = s == POLICY_SECTION_DURING ? KNOB_STAGE_DURING : KNOB_STAGE_AFTER;

        if (!policy_section_is_of_knobs(s))
                return true;
        info = knob_info(key);
        return info->min[stage] <= info->max[stage];
}

/* The section that has such a key, if this one does not. */
static PolicySection find_section(const char *name) {
        for (PolicySection s = 0; s < _POLICY_SECTION_MAX; s++) {
                int key = policy_key_from_string(s, name);

                if (key >= 0 && policy_key_has_place(s, (unsigned) key))
                        return s;
        }
        return POLICY_SECTION_UNKNOWN;
}

void policy_fault_unknown_key(
                PolicyFaults *f, const char *path, unsigned line, PolicySection section, const char *name) {
        const char *const kind = policy_section_is_of_knobs(section) ? "knob" : "key", *k;
        const char *words[POLICY_KEYS_MAX + 1] = {};
        PolicySection other = find_section(name);
        char buf[POLICY_EXCERPT_MAX], list[256];
        int i;

        f->incomplete = true;
        if (other != POLICY_SECTION_UNKNOWN) {
                policy_fault(f, path, line, "%s has no place in [%s]; expected in [%s]%s", name,
                                section_names[section], section_names[other],
                                other == POLICY_SECTION_DURING ? " and [After]" : "");
                return;
        }

        for (unsigned n = 0, key = 0; (k = policy_key_to_string(section, key)); key++)
                if (policy_key_has_place(section, key))
                        words[n++] = k;
        i = nearest(words, name);
        if (i >= 0)
                policy_fault(f, path, line, "unknown %s \"%s\" in [%s]; did you mean %s?", kind,
                                policy_excerpt(name, buf), section_names[section], words[i]);
        else
                policy_fault(f, path, line, "unknown %s \"%s\" in [%s]; expected %s", kind,
                                policy_excerpt(name, buf), section_names[section],
                                policy_join_or(words, list, sizeof(list)));
}
