/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "milestone.h"

#include "names.h"

#include <errno.h>

#define BLANKS " \t\n\r"
#define DIGITS "0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

static const char *const unit_suffixes[] = {
        ".automount",
        ".device",
        ".mount",
        ".path",
        ".scope",
        ".service",
        ".slice",
        ".socket",
        ".swap",
        ".target",
        ".timer",
};

static const char *const source_names[_MILESTONE_SOURCE_MAX] = {
        [MILESTONE_SOURCE_BUS] = "bus",
        [MILESTONE_SOURCE_DIRECTORY] = "directory",
        [MILESTONE_SOURCE_INBOX] = "inbox",
        [MILESTONE_SOURCE_PID1] = "pid1",
        [MILESTONE_SOURCE_UDEV] = "udev",
};

static bool is_unit(const char *name) {
        const char *dot = strrchr(name, '.');

        if (!dot)
                return false;

        for (size_t i = 0; i < ELEMENTSOF(unit_suffixes); i++)
                if (streq(dot, unit_suffixes[i]))
                        return true;

        return false;
}

MilestoneKind milestone_kind(const char *name) {
        if (startswith(name, MILESTONE_DEVICE_PREFIX))
                return MILESTONE_KIND_DEVICE;
        if (streq(name, MILESTONE_STARTUP_FINISHED))
                return MILESTONE_KIND_STARTUP_FINISHED;
        if (is_unit(name))
                return MILESTONE_KIND_UNIT;
        return MILESTONE_KIND_NAMED;
}

static bool is_hex(char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* What is true of the characters of every name. */
static bool characters_are_valid(const char *name) {
        size_t n = 0;

        for (const char *p = name; *p; p++, n++) {
                if (n >= MILESTONE_NAME_MAX || *p <= ' ' || *p > '~')
                        return false;

                switch (*p) {
                case '"':
                case '\'':
                case '#':
                case ';':
                case '=':
                        return false;
                case '\\':
                        if (p[1] != 'x' || !is_hex(p[2]) || !is_hex(p[3]))
                                return false;
                        break;
                }
        }

        return n > 0;
}

/* As systemd itself is to accept it: otherwise nothing could ever reach it, and only the deadline would
 * tell. A template without its instance is never active either. */
static bool unit_is_valid(const char *name) {
        const char *dot = strrchr(name, '.'), *at = strchr(name, '@');

        if (strspn(name, DIGITS LETTERS ":-_.\\@") != strlen(name))
                return false;

        return dot > name && at != name && (!at || at + 1 != dot);
}

static bool device_is_valid(const char *name) {
        const char *subsystem = name + STRLEN(MILESTONE_DEVICE_PREFIX), *slash = strchr(subsystem, '/');

        return slash && slash > subsystem && slash[1] != '\0' && !strchr(slash + 1, '/');
}

bool milestone_name_is_valid(const char *name) {
        if (!characters_are_valid(name))
                return false;

        switch (milestone_kind(name)) {
        case MILESTONE_KIND_DEVICE:
                return device_is_valid(name);
        case MILESTONE_KIND_UNIT:
                return unit_is_valid(name);
        default:
                return !strchr(name, '/') && !streq(name, ".") && !streq(name, "..");
        }
}

int milestone_parse_device(const char *name, char **ret_subsystem, char **ret_sysname) {
        _cleanup_free_ char *subsystem = NULL, *sysname = NULL;
        const char *rest, *slash;

        rest = startswith(name, MILESTONE_DEVICE_PREFIX);
        if (!rest || !milestone_name_is_valid(name))
                return -EINVAL;

        slash = strchr(rest, '/');
        subsystem = strndup(rest, (size_t) (slash - rest));
        sysname = strdup(slash + 1);
        if (!subsystem || !sysname)
                return -ENOMEM;

        *ret_subsystem = TAKE_PTR(subsystem);
        *ret_sysname = TAKE_PTR(sysname);
        return 0;
}

const char *milestone_source_to_string(MilestoneSource s) {
        return source_names[s];
}

int milestone_source_from_string(const char *s, MilestoneSource *ret) {
        for (MilestoneSource i = 0; i < _MILESTONE_SOURCE_MAX; i++)
                if (streq(s, source_names[i])) {
                        *ret = i;
                        return 0;
                }

        return -EINVAL;
}

static void forget_names(MilestoneCondition *c, size_t from) {
        for (size_t i = from; i < c->n_names; i++) {
                free(c->names[i]);
                c->names[i] = NULL;
        }
        c->n_names = from;
}

void milestone_condition_done(MilestoneCondition *c) {
        forget_names(c, 0);
        *c = (MilestoneCondition){};
}

/* Finds the name, or appends it and takes ownership of it (so that *name becomes NULL). */
static int find_or_take(MilestoneCondition *c, char **name, size_t *ret_index) {
        int i = milestone_condition_find(c, *name);

        if (i >= 0) {
                *ret_index = (size_t) i;
                return 0;
        }
        if (!milestone_name_is_valid(*name))
                return -EINVAL;
        if (c->n_names >= MILESTONES_MAX)
                return -E2BIG;

        *ret_index = c->n_names;
        c->names[c->n_names++] = TAKE_PTR(*name);
        return 0;
}

/* Not strv_split(): a unit's name has backslashes of its own, and nothing in a name needs quotes. */
static int add_words(MilestoneCondition *c, const char *line, uint32_t *mask, char **ret_bad) {
        int r;

        for (const char *p = line + strspn(line, BLANKS); *p; p += strspn(p, BLANKS)) {
                size_t length = strcspn(p, BLANKS), index;
                _cleanup_free_ char *word = strndup(p, length);

                if (!word)
                        return -ENOMEM;

                r = find_or_take(c, &word, &index);
                if (r == -EINVAL && ret_bad)
                        *ret_bad = TAKE_PTR(word);
                if (r < 0)
                        return r;

                *mask |= UINT32_C(1) << index;
                p += length;
        }

        return *mask == 0 ? -ENODATA : 0;
}

int milestone_condition_add(MilestoneCondition *c, const char *line, char **ret_bad) {
        size_t n_before = c->n_names;
        uint32_t mask = 0;
        int r;

        if (c->n_alternatives >= ALTERNATIVES_MAX)
                return -E2BIG;

        r = add_words(c, line, &mask, ret_bad);
        if (r < 0) {
                forget_names(c, n_before);
                return r;
        }

        c->alternatives[c->n_alternatives++] = mask;
        return 0;
}

int milestone_condition_find(const MilestoneCondition *c, const char *name) {
        for (size_t i = 0; i < c->n_names; i++)
                if (streq(c->names[i], name))
                        return (int) i;

        return -ENOENT;
}

bool milestone_condition_holds(const MilestoneCondition *c, uint32_t reached) {
        for (size_t i = 0; i < c->n_alternatives; i++)
                if ((c->alternatives[i] & ~reached) == 0)
                        return true;

        return false;
}

uint32_t milestone_condition_missing(const MilestoneCondition *c, uint32_t reached) {
        uint32_t best = 0;
        int fewest = (int) MILESTONES_MAX + 1;

        for (size_t i = 0; i < c->n_alternatives; i++) {
                uint32_t missing = c->alternatives[i] & ~reached;
                int n = __builtin_popcount(missing);

                if (n < fewest) {
                        best = missing;
                        fewest = n;
                }
        }

        return best;
}
