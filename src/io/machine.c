/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "machine.h"

#include "fs.h"
#include "machine-internal.h"
#include "names.h"
#include "udev.h"

#include <errno.h>
#include <sys/utsname.h>

#define OS_RELEASE_SIZE_MAX (64U * 1024U)

int machine_read_optional_line(int root_fd, const char *path, char **ret) {
        char *line = NULL;
        int r;

        r = fs_read_line(root_fd, path, &line);
        if (r == -ENOMEM)
                return r;
        *ret = line;
        return 0;
}

/* The rest of a line KEY=value that is no comment, or NULL. */
static const char *match_key(const char *line, const char *key) {
        const char *rest = startswith(line + strspn(line, " \t"), key);

        return rest && *rest == '=' ? rest + 1 : NULL;
}

int machine_env_get(const char *text, const char *key, char **ret) {
        _cleanup_free_ char *found = NULL;

        while (*text) {
                size_t length = strcspn(text, "\n");
                _cleanup_free_ char *line = strndup(text, length);
                const char *value = line ? match_key(line, key) : NULL;

                if (!line)
                        return -ENOMEM;
                if (value) {
                        _cleanup_strv_free_ char **words = NULL;
                        int r = strv_split(
                                        value, &words); /* its quoting is the shell's, as far as it goes */

                        if (r == -ENOMEM)
                                return r;
                        free(found);
                        found = words && words[0] ? strdup(words[0]) : NULL;
                        if (words && words[0] && !found)
                                return -ENOMEM;
                }
                text += length + (text[length] == '\n');
        }
        *ret = TAKE_PTR(found);
        return 0;
}

/* --- command line --- */

int machine_read_cmdline(int root_fd, char **ret) {
        return fs_read_line(root_fd, PATH_CMDLINE, ret);
}

/* Words as the kernel splits them: blanks between double quotes belong to the word, the quotes do not
 * (lib/cmdline.c, next_arg()). */
static int split_cmdline(const char *p, char ***words) {
        while (*(p += strspn(p, " \t\n"))) {
                char *word = malloc(strlen(p) + 1);
                bool quoted = false;
                size_t n = 0;
                int r;

                if (!word)
                        return -ENOMEM;
                for (; *p && (quoted || !strchr(" \t\n", *p)); p++)
                        if (*p == '"')
                                quoted = !quoted;
                        else
                                word[n++] = *p;
                word[n] = '\0';
                r = strv_consume(words, word);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The value of the last word that begins with prefix: the kernel, too, lets the last one win. */
static const char *find_word(char *const *cmdline, const char *prefix) {
        const char *value = NULL;

        for (; cmdline && *cmdline; cmdline++) {
                const char *v = startswith(*cmdline, prefix);

                if (v)
                        value = v;
        }
        return value;
}

static int read_cmdline_words(const MachineReader *m, char ***values) {
        for (char *const *word = m->cmdline; word && *word; word++) {
                const char *equals = strchr(*word, '=');
                int r;

                r = strv_extend(values, *word);
                if (r >= 0 && equals)
                        r = strv_consume(values, strndup(*word, (size_t) (equals - *word)));
                if (r < 0)
                        return r;
        }
        return 0;
}

/* --- class --- */

static int read_class(const MachineReader *m, char ***values) {
        const char *word = find_word(m->cmdline, CMDLINE_CLASS);
        _cleanup_free_ char *line = NULL;
        int r;

        if (!word) {
                r = machine_read_optional_line(m->root_fd, PATH_CLASS, &line);
                if (r < 0)
                        return r;
                word = line ? line + strspn(line, " \t\r\n") : NULL;
        }
        return isempty(word) ? 0 : strv_extend(values, word);
}

/* --- kernel --- */

static int read_realtime(int root_fd, bool *ret) {
        _cleanup_free_ char *flag = NULL, *version = NULL;
        int r;

        r = machine_read_optional_line(root_fd, PATH_REALTIME, &flag);
        if (r >= 0 && !(flag && streq(flag, "1")))
                r = machine_read_optional_line(root_fd, PATH_KERNEL_VERSION, &version);
        if (r < 0)
                return r;
        /* The file has been there since 2.6.33-rt only, and not in every patched kernel. */
        *ret = (flag && streq(flag, "1")) || (version && strstr(version, "PREEMPT_RT"));
        return 0;
}

bool machine_is_realtime(int root_fd) {
        bool realtime = false;

        (void) read_realtime(root_fd, &realtime);
        return realtime;
}

/* The model that a PREEMPT_DYNAMIC kernel was told to use (kernel-parameters.txt, preempt=). */
static int add_dynamic_preemption(const MachineReader *m, char ***values) {
        static const char *const modes[] = { "none", "voluntary", "full", "lazy" };
        const char *mode = find_word(m->cmdline, "preempt=");
        int r;

        r = strv_extend(values, "dynamic");
        for (size_t i = 0; r >= 0 && mode && i < ELEMENTSOF(modes); i++)
                if (streq(mode, modes[i]))
                        r = strv_extend(values, mode);
        return r;
}

/* From the version string, where the build leaves its model (init/Makefile). A kernel that is not
 * preemptible leaves nothing: it is "none" or "voluntary", and answers to both. */
static int read_preemption(const MachineReader *m, char ***values) {
        _cleanup_free_ char *version = NULL;
        bool realtime;
        int r;

        r = read_realtime(m->root_fd, &realtime);
        if (r < 0 || realtime)
                return r < 0 ? r : strv_extend(values, "rt");
        r = machine_read_optional_line(m->root_fd, PATH_KERNEL_VERSION, &version);
        if (r < 0 || isempty(version))
                return r;
        if (strstr(version, "PREEMPT_DYNAMIC"))
                return add_dynamic_preemption(m, values);
        if (strstr(version, "PREEMPT_LAZY"))
                return strv_extend(values, "lazy");
        if (strstr(version, "PREEMPT"))
                return strv_extend(values, "full");
        r = strv_extend(values, "none");
        return r < 0 ? r : strv_extend(values, "voluntary");
}

/* --- architecture --- */

/* uname(2)'s words on the left where systemd.unit(5), ConditionArchitecture=, has another. */
static const char *architecture_from_uname(const char *machine) {
        static const struct {
                const char *uname;
                const char *word;
        } table[] = {
                { "x86_64", "x86-64" },
                { "i386", "x86" },
                { "i486", "x86" },
                { "i586", "x86" },
                { "i686", "x86" },
                { "aarch64", "arm64" },
                { "aarch64_be", "arm64-be" },
                { "ppcle", "ppc-le" },
                { "ppc64le", "ppc64-le" },
                { "arceb", "arc-be" },
                { "sh5", "sh64" },
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
                { "mips", "mips-le" },
                { "mips64", "mips64-le" },
#endif
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (streq(machine, table[i].uname))
                        return table[i].word;
        if (startswith(machine, "arm")) /* armv7l, armv5teb, ... */
                return endswith(machine, "b") ? "arm-be" : "arm";
        if (startswith(machine, "sh") && !endswith(machine, "64")) /* sh3, sh4a, ... */
                return "sh";
        return machine;
}

static int read_architecture(const MachineReader *m, char ***values) {
        _cleanup_free_ char *arch = NULL;
        struct utsname uts;
        int r;

        r = machine_read_optional_line(m->root_fd, PATH_KERNEL_ARCH, &arch);
        if (r < 0)
                return r;
        if (!isempty(arch)) /* since Linux 6.1 */
                return strv_extend(values, architecture_from_uname(arch));
        if (uname(&uts) < 0)
                return 0;
        return strv_extend(values, architecture_from_uname(uts.machine));
}

/* --- CPUs --- */

/* "0-3,8-11" -> 8 (Documentation/admin-guide/cputopology.rst); 0 for what is no such list. */
static unsigned long count_cpus(const char *list) {
        unsigned long n = 0;

        while (*list) {
                unsigned long first, last;
                char *end;

                first = last = strtoul(list, &end, 10);
                if (end == list)
                        return 0;
                if (*end == '-') {
                        list = end + 1;
                        last = strtoul(list, &end, 10);
                }
                if (end == list || last < first || (*end != ',' && *end != '\0'))
                        return 0;
                n += last - first + 1;
                list = end + (*end == ',');
        }
        return n;
}

static int read_cpus(const MachineReader *m, char ***values) {
        _cleanup_free_ char *list = NULL;
        unsigned long n;
        char text[32];
        int r;

        r = machine_read_optional_line(m->root_fd, PATH_CPUS_PRESENT, &list);
        if (r < 0)
                return r;
        n = list ? count_cpus(list) : 0;
        if (n == 0)
                return 0;
        (void) snprintf(text, sizeof(text), "%lu", n);
        return strv_extend(values, text);
}

/* --- system --- */

static int add_os_words(const char *text, const char *key, const char *fallback, char ***values) {
        _cleanup_strv_free_ char **words = NULL;
        _cleanup_free_ char *value = NULL;
        int r;

        r = machine_env_get(text, key, &value);
        if (r >= 0)
                r = strv_split(value ? value : fallback, &words);
        for (char **word = words; r >= 0 && word && *word; word++)
                if (!strv_contains(*values, *word))
                        r = strv_extend(values, *word);
        return r == -ENOMEM ? r : 0;
}

/* os-release(5): /etc before /usr/lib, and ID=linux where it is not said. */
static int read_os(const MachineReader *m, char ***values) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = fs_read(m->root_fd, PATH_OS_RELEASE_ETC, OS_RELEASE_SIZE_MAX, &text, NULL);
        if (r == -ENOENT)
                r = fs_read(m->root_fd, PATH_OS_RELEASE_USR, OS_RELEASE_SIZE_MAX, &text, NULL);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        r = add_os_words(text, "ID", "linux", values);
        if (r >= 0)
                r = add_os_words(text, "ID_LIKE", "", values);
        return r < 0 ? r : add_os_words(text, "VARIANT_ID", "", values);
}

static int read_devices(const MachineReader *m, char ***values) {
        int r;

        if (strv_length(m->subsystems) == 0 || !machine_is_own(m->root_fd))
                return 0;
        r = device_list_facts(m->subsystems, values);
        return r == -ENOMEM ? r : 0;
}

bool machine_is_own(int root_fd) {
        return fs_is_own_root(root_fd);
}

/* --- the whole --- */

static const machine_read_t readers[_MATCH_FIELD_MAX] = {
        [MATCH_CLASS] = read_class,
        [MATCH_CHASSIS] = machine_read_chassis,
        /* MATCH_VIRTUALIZATION is read before the others. */
        [MATCH_PREEMPTION] = read_preemption,
        [MATCH_VENDOR] = machine_read_vendor,
        [MATCH_PRODUCT] = machine_read_product,
        [MATCH_DEVICETREE] = machine_read_devicetree,
        [MATCH_OS] = read_os,
        [MATCH_ARCHITECTURE] = read_architecture,
        [MATCH_KERNEL_COMMAND_LINE] = read_cmdline_words,
        [MATCH_CPUS] = read_cpus,
        [MATCH_DEVICE] = read_devices,
};

static bool is_asked(uint32_t fields, MatchField f) {
        return fields & (UINT32_C(1) << f);
}

/* What several facts are made from. */
static int prepare(int root_fd, uint32_t fields, MachineReader *m, char ***cmdline, char ***virtualization) {
        _cleanup_free_ char *line = NULL;
        int r = 0;

        if (is_asked(fields, MATCH_CLASS) || is_asked(fields, MATCH_PREEMPTION) ||
                        is_asked(fields, MATCH_KERNEL_COMMAND_LINE)) {
                r = machine_read_optional_line(root_fd, PATH_CMDLINE, &line);
                if (r >= 0 && line)
                        r = split_cmdline(line, cmdline);
        }
        if (r >= 0 && (is_asked(fields, MATCH_VIRTUALIZATION) || is_asked(fields, MATCH_CHASSIS)))
                r = machine_read_virtualization(m, virtualization);
        m->cmdline = *cmdline;
        m->virtualization = *virtualization;
        return r;
}

int machine_read_facts(int root_fd, uint32_t fields, char *const *subsystems, MachineFacts *ret) {
        _cleanup_strv_free_ char **cmdline = NULL, **virtualization = NULL;
        _cleanup_(machine_facts_done) MachineFacts facts = { 0 };
        MachineReader m = { .root_fd = root_fd, .subsystems = subsystems };
        int r;

        r = prepare(root_fd, fields, &m, &cmdline, &virtualization);
        for (MatchField f = 0; r >= 0 && f < _MATCH_FIELD_MAX; f++)
                if (readers[f] && is_asked(fields, f))
                        r = readers[f](&m, &facts.values[f]);
        if (r < 0)
                return r;
        if (is_asked(fields, MATCH_VIRTUALIZATION))
                facts.values[MATCH_VIRTUALIZATION] = TAKE_PTR(virtualization);
        *ret = facts;
        facts = (MachineFacts){ 0 };
        return 0;
}
