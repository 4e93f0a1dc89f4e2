/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "knob.h"

#include "names.h"

#include <errno.h>
#include <inttypes.h>

/* A range that no number is in: the knob has no place in that section. */
#define NOWHERE_MIN 1
#define NOWHERE_MAX 0

/* The kernel's own range of the delay: RCU_BOOT_END_DELAY, Kconfig. */
#define BOOT_END_DELAY_MAX_MS 120000

static const KnobInfo knobs[_KNOB_MAX] = {
        [KNOB_EXPEDITED] = {
                .name = "rcu_expedited",
                .paths = { PATH_KNOB_EXPEDITED },
                .min = { 0, 0 },
                .max = { 1, 1 },
                .restorable = true,
                .reads_back = true,
                .meaning = "expedite every grace period",
        },
        [KNOB_NORMAL] = {
                .name = "rcu_normal",
                .paths = { PATH_KNOB_NORMAL },
                .min = { 0, 0 },
                .max = { 1, 1 },
                .restorable = true,
                .reads_back = true,
                .meaning = "expedite no grace period, whatever rcu_expedited says",
        },
        [KNOB_WAKE_FROM_GP] = {
                .name = "rcu_normal_wake_from_gp",
                .paths = { PATH_KNOB_WAKE_FROM_GP },
                .min = { 0, 0 },
                .max = { 1, 1 },
                .restorable = true,
                .reads_back = true,
                .meaning = "wake waiters for a normal grace period straight from its kernel thread",
        },
        [KNOB_BOOT_END_DELAY] = {
                .name = "rcu_boot_end_delay",
                .paths = { PATH_KNOB_BOOT_END_DELAY, PATH_KNOB_BOOT_END_DELAY_ANDROID,
                                PATH_KNOB_BOOT_END_DELAY_MODULE },
                .min = { [KNOB_STAGE_DURING] = 1, [KNOB_STAGE_AFTER] = 0 },
                .max = { [KNOB_STAGE_DURING] = BOOT_END_DELAY_MAX_MS, [KNOB_STAGE_AFTER] = 0 },
                .may_come = true,
                .unit = "ms",
                .meaning = "when the kernel ends RCU's boot by itself, counted from its start",
        },
        [KNOB_USER_BOOTED] = {
                .name = "user_booted",
                .paths = { PATH_KNOB_USER_BOOTED },
                .min = { [KNOB_STAGE_DURING] = NOWHERE_MIN, [KNOB_STAGE_AFTER] = 1 },
                .max = { [KNOB_STAGE_DURING] = NOWHERE_MAX, [KNOB_STAGE_AFTER] = 1 },
                .may_come = true,
                .meaning = "tell the kernel that user space has booted",
        },
};

static const Knob orders[_KNOB_STAGE_MAX][_KNOB_MAX] = {
        [KNOB_STAGE_DURING] = { KNOB_EXPEDITED, KNOB_NORMAL, KNOB_WAKE_FROM_GP, KNOB_BOOT_END_DELAY,
                        KNOB_USER_BOOTED },
        [KNOB_STAGE_AFTER] = { KNOB_NORMAL, KNOB_EXPEDITED, KNOB_WAKE_FROM_GP, KNOB_USER_BOOTED,
                        KNOB_BOOT_END_DELAY },
};

static const char *const mode_names[_RCU_MODE_MAX] = {
        [RCU_MODE_UNKNOWN] = "unknown",
        [RCU_MODE_DEFAULT] = "default",
        [RCU_MODE_EXPEDITED] = "expedited",
        [RCU_MODE_NORMAL] = "normal",
};

const KnobInfo *knob_info(Knob knob) {
        return &knobs[knob];
}

int knob_from_string(const char *name, Knob *ret) {
        FOREACH_KNOB(k)
                if (streq(name, knobs[k].name)) {
                        *ret = k;
                        return 0;
                }

        return -EINVAL;
}

Knob knob_order(KnobStage stage, size_t i) {
        return orders[stage][i];
}

/* Decimal digits up to the end of the string: no sign, no blank, and no leading zero, which would make the
 * number octal to the kernel. -EINVAL; -ERANGE beyond INT64_MAX. */
static int parse_digits(const char *s, int64_t *ret) {
        int64_t value = 0;

        if (*s == '\0' || s[strspn(s, "0123456789")] != '\0' || (s[0] == '0' && s[1] != '\0'))
                return -EINVAL;

        for (; *s; s++)
                if (__builtin_mul_overflow(value, 10, &value) ||
                                __builtin_add_overflow(value, *s - '0', &value))
                        return -ERANGE;

        *ret = value;
        return 0;
}

/* The same, with a minus sign allowed. */
static int parse_decimal(const char *s, int64_t *ret) {
        bool negative = *s == '-';
        int64_t value;
        int r;

        r = parse_digits(s + negative, &value);
        if (r < 0)
                return r;
        if (negative && value == 0)
                return -EINVAL;

        *ret = negative ? -value : value;
        return 0;
}

static int parse_form(const char *value, KnobSetting *ret) {
        static const struct {
                const char *word;
                KnobAction action;
        } words[] = {
                { "keep", KNOB_ACTION_KEEP },
                { "restore", KNOB_ACTION_RESTORE },
                { "deadline", KNOB_ACTION_DEADLINE },
        };
        int64_t number = 0;
        int r;

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (streq(value, words[i].word)) {
                        *ret = (KnobSetting){ .action = words[i].action };
                        return 0;
                }

        r = parse_decimal(value, &number);
        if (r < 0)
                return r;

        *ret = (KnobSetting){ .action = KNOB_ACTION_VALUE, .value = number };
        return 0;
}

static int check_setting(Knob knob, KnobStage stage, const KnobSetting *s) {
        const KnobInfo *info = &knobs[knob];
        bool ok;

        if (info->max[stage] < info->min[stage])
                return -EOPNOTSUPP;

        switch (s->action) {
        case KNOB_ACTION_VALUE:
                return s->value < info->min[stage] || s->value > info->max[stage] ? -ERANGE : 0;
        case KNOB_ACTION_KEEP:
                /* Naming user_booted only to say nothing would be a mistake: it is never written unasked. */
                ok = stage == KNOB_STAGE_AFTER && knob != KNOB_USER_BOOTED;
                break;
        case KNOB_ACTION_RESTORE:
                ok = stage == KNOB_STAGE_AFTER && info->restorable;
                break;
        case KNOB_ACTION_DEADLINE:
                ok = stage == KNOB_STAGE_DURING && knob == KNOB_BOOT_END_DELAY;
                break;
        default:
                ok = false;
        }

        return ok ? 0 : -EOPNOTSUPP;
}

int knob_parse_setting(Knob knob, KnobStage stage, const char *value, KnobSetting *ret) {
        KnobSetting setting;
        int r;

        r = parse_form(value, &setting);
        if (r < 0)
                return r;

        r = check_setting(knob, stage, &setting);
        if (r < 0)
                return r;

        *ret = setting;
        return 0;
}

const char *knob_setting_to_string(const KnobSetting *s, char *buf, size_t size) {
        switch (s->action) {
        case KNOB_ACTION_VALUE:
                (void) snprintf(buf, size, "%" PRId64, s->value);
                return buf;
        case KNOB_ACTION_KEEP:
                return "keep";
        case KNOB_ACTION_RESTORE:
                return "restore";
        case KNOB_ACTION_DEADLINE:
                return "deadline";
        default:
                return "";
        }
}

int knob_parse_reading(const char *text, int64_t *ret) {
        char buf[STRLEN("-9223372036854775808") + 1];
        size_t length = strcspn(text, "\n");

        if (length >= sizeof(buf) || (text[length] == '\n' && text[length + 1] != '\0'))
                return -EINVAL;

        memcpy(buf, text, length);
        buf[length] = '\0';
        return parse_decimal(buf, ret) < 0 ? -EINVAL : 0;
}

bool knob_error_is_benign(Knob knob, KnobStage stage, int error) {
        return knob == KNOB_BOOT_END_DELAY && stage == KNOB_STAGE_AFTER && error == -EBUSY;
}

/* Whether the word of the kernel's command line sets the parameter. To the kernel '-' and '_' are the same
 * in names (kernel/params.c). Returns the value, or NULL. */
static const char *match_parameter(const char *word, const char *name) {
        if (*word == '"')
                word++;
        for (; *name; name++, word++)
                if (*word != *name && !(*word == '-' && *name == '_'))
                        return NULL;

        if (*word++ != '=')
                return NULL;

        return *word == '"' ? word + 1 : word;
}

/* Reads an integer at the beginning of s, in base 8, 10 or 16 by its prefix, as kstrtoint() does for such a
 * parameter; it must end where the word does. */
static int parse_parameter(const char *s, int64_t *ret) {
        char *end;
        long long value;

        if (*s != '-' && *s != '+' && (*s < '0' || *s > '9'))
                return -EINVAL;

        errno = 0;
        value = strtoll(s, &end, 0);
        if (errno != 0 || value < INT32_MIN || value > INT32_MAX || !strchr("\" \t\n", *end))
                return -EINVAL;

        *ret = value;
        return 0;
}

/* Not strchr(): some hundred characters, and this is early in boot. */
static bool is_blank(char c) {
        return c == ' ' || c == '\t' || c == '\n';
}

static const char *skip_word(const char *p) {
        bool quoted = false;

        for (; *p && (quoted || !is_blank(*p)); p++)
                if (*p == '"')
                        quoted = !quoted;
        return p;
}

static const char *skip_blanks(const char *p) {
        while (is_blank(*p))
                p++;
        return p;
}

/* The value that the command line gives the parameter: the last valid one, since the kernel sets them in
 * turn and leaves a parameter alone whose value it cannot read. Behind "--" all is for init. */
static int64_t cmdline_integer(const char *cmdline, const char *name, int64_t fallback) {
        int64_t value = fallback;

        for (const char *p = skip_blanks(cmdline); *p; p = skip_blanks(p)) {
                const char *end = skip_word(p), *setting = match_parameter(p, name);

                if (end - p == 2 && p[0] == '-' && p[1] == '-')
                        break;
                if (setting)
                        (void) parse_parameter(setting, &value);
                p = end;
        }

        return value;
}

int64_t knob_kernel_default(Knob knob, const char *cmdline, bool realtime) {
        int64_t value;

        cmdline = strempty(cmdline);

        switch (knob) {
        case KNOB_NORMAL:
                return cmdline_integer(cmdline, "rcupdate.rcu_normal", 0) != 0 ||
                                cmdline_integer(cmdline, "rcupdate.rcu_normal_after_boot", realtime) != 0;
        case KNOB_WAKE_FROM_GP:
                value = cmdline_integer(cmdline, "rcutree.rcu_normal_wake_from_gp", -1);
                return value < 0 ? KNOB_DEFAULT_UNKNOWN : value > 0;
        default:
                /* Not what rcupdate.rcu_expedited= says: that is there to expedite boot, and boot is over.
                 */
                return 0;
        }
}

int64_t knob_restore_value(const KnobSetting *during, int64_t found, int64_t kernel_default) {
        bool found_as_asked = during->action == KNOB_ACTION_VALUE && (found != 0) == (during->value != 0);

        if ((found_as_asked || found < 0) && kernel_default != KNOB_DEFAULT_UNKNOWN)
                return kernel_default;

        return found > 0;
}

RcuMode rcu_mode_from_readings(const int64_t *expedited, const int64_t *normal) {
        if (!expedited && !normal)
                return RCU_MODE_UNKNOWN;
        if (normal && *normal != 0)
                return RCU_MODE_NORMAL;
        if (expedited && *expedited != 0)
                return RCU_MODE_EXPEDITED;
        return RCU_MODE_DEFAULT;
}

const char *rcu_mode_to_string(RcuMode mode) {
        return mode_names[mode];
}

int rcu_mode_from_string(const char *s, RcuMode *ret) {
        for (RcuMode m = 0; m < _RCU_MODE_MAX; m++)
                if (streq(s, mode_names[m])) {
                        *ret = m;
                        return 0;
                }

        return -EINVAL;
}

const char *rcu_mode_to_sentence(RcuMode mode, bool expedited_too) {
        switch (mode) {
        case RCU_MODE_DEFAULT:
                return "default: each caller gets the kind of grace period that it asks for";
        case RCU_MODE_EXPEDITED:
                return "expedited: rcu_expedited is set, every grace period interrupts the CPUs that are "
                       "not idle, to be short";
        case RCU_MODE_NORMAL:
                return expedited_too ? "normal: rcu_normal is set and beats rcu_expedited, which is set too"
                                     : "normal: rcu_normal is set, no grace period is expedited";
        default:
                return "unknown: this kernel shows neither rcu_expedited nor rcu_normal";
        }
}
