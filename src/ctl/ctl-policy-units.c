/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-policy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

#include "fs.h"
#include "machine.h"
#include "names.h"

#define DEFAULT_TARGET "default.target"

/* A configuration file larger than this is none. */
#define CONFIG_MAX (64U * 1024U)

void policy_warnings_done(PolicyWarnings *w) {
        for (size_t i = 0; i < w->n; i++) {
                free(w->items[i].milestone);
                free(w->items[i].text);
        }
        free(w->items);
        *w = (PolicyWarnings){};
}

int policy_warn(PolicyWarnings *w, const char *id, const char *milestone, const char *format, ...) {
        PolicyWarning *items;
        PolicyWarning item = { .id = id };
        va_list ap;
        int r;

        items = reallocarray(w->items, w->n + 1, sizeof(*items));
        if (!items)
                return -ENOMEM;
        w->items = items;

        va_start(ap, format);
        r = vasprintf(&item.text, format, ap);
        va_end(ap);
        if (r < 0)
                return -ENOMEM;
        if (milestone) {
                item.milestone = strdup(milestone);
                if (!item.milestone) {
                        free(item.text);
                        return -ENOMEM;
                }
        }

        w->items[w->n++] = item;
        return 0;
}

/* What PID 1 makes at run time, or a generator from fstab and the like: no file says whether it comes. */
static bool is_made_at_run_time(const char *unit) {
        static const char *const suffixes[] = { ".device", ".mount", ".automount", ".swap", ".slice",
                ".scope" };

        for (size_t i = 0; i < ELEMENTSOF(suffixes); i++)
                if (endswith(unit, suffixes[i]))
                        return true;

        return false;
}

/* Whether a line tells PID 1 to report to our inbox, be it "ManagerEnvironment=NOTIFY_SOCKET=..." of
 * systemd-system.conf(5) or a word of the kernel's command line. */
static bool mentions_inbox(const char *text) {
        static const char wanted[] = "NOTIFY_SOCKET=/" PATH_INBOX;

        for (const char *p = strstr(text, wanted); p; p = strstr(p + 1, wanted)) {
                const char *line = p, *behind = p + STRLEN(wanted);

                while (line > text && line[-1] != '\n')
                        line--;
                line += strspn(line, " \t");
                if (*line != '#' && *line != ';' && (*behind == '\0' || strchr(" \t\r\n\"'", *behind)))
                        return true;
        }

        return false;
}

static bool file_mentions_inbox(int root_fd, const char *path) {
        _cleanup_free_ char *text = NULL;

        return fs_read(root_fd, path, CONFIG_MAX, &text, NULL) >= 0 && mentions_inbox(text);
}

static bool directory_mentions_inbox(int root_fd, const char *directory) {
        int fd = fs_open(root_fd, directory, O_RDONLY | O_DIRECTORY);
        bool found = false;
        struct dirent *e;
        DIR *d;

        d = fd < 0 ? NULL : fdopendir(fd);
        if (!d) {
                if (fd >= 0)
                        close(fd);
                return false;
        }

        while (!found && (e = readdir(d))) {
                _cleanup_free_ char *path = NULL;

                if (endswith(e->d_name, ".conf") && asprintf(&path, "%s/%s", directory, e->d_name) >= 0)
                        found = file_mentions_inbox(root_fd, path);
        }

        closedir(d);
        return found;
}

static bool pid1_reports_to_inbox(int root_fd) {
        static const char *const files[] = { PATH_SYSTEM_CONF, PATH_CMDLINE };
        static const char *const directories[] = { SYSTEM_CONF_DIRECTORIES };

        for (size_t i = 0; i < ELEMENTSOF(files); i++)
                if (file_mentions_inbox(root_fd, files[i]))
                        return true;
        for (size_t i = 0; i < ELEMENTSOF(directories); i++)
                if (directory_mentions_inbox(root_fd, directories[i]))
                        return true;

        return false;
}

static bool has_bus(int root_fd, const UnitGraph *g) {
        return unit_graph_presence(g, "dbus.socket") == UNIT_PRESENT ||
                        faccessat(root_fd, PATH_SYSTEM_BUS, F_OK, 0) >= 0;
}

/* 1 if PID 1 itself makes an entry for it. */
static int has_milestone_socket(const UnitGraph *g, const char *unit) {
        _cleanup_free_ char *name = NULL;

        if (asprintf(&name, UNIT_MILESTONE_PREFIX "%s" UNIT_MILESTONE_SUFFIX, unit) < 0)
                return -ENOMEM;

        return unit_graph_presence(g, name) == UNIT_PRESENT && unit_graph_has_link(g, unit, name);
}

static int check_source(int root_fd, const UnitGraph *g, const char *unit, PolicyWarnings *w) {
        int r;

        if (has_bus(root_fd, g))
                return 0;
        r = has_milestone_socket(g, unit);
        if (r != 0)
                return MIN(r, 0);

        if (!pid1_reports_to_inbox(root_fd))
                return policy_warn(w, "no-source", unit,
                                "nothing would report that %s is reached: this system has no D-Bus, and its "
                                "socket is not enabled. Enable it: systemctl enable " UNIT_MILESTONE_PREFIX
                                "%s" UNIT_MILESTONE_SUFFIX,
                                unit, unit);
        if (!endswith(unit, ".target"))
                return policy_warn(w, "no-source", unit,
                                "nothing would report that %s is reached: PID 1's own messages tell of "
                                "targets only. Enable its socket: systemctl enable " UNIT_MILESTONE_PREFIX
                                "%s" UNIT_MILESTONE_SUFFIX,
                                unit, unit);
        return policy_warn(w, "needs-systemd-256", unit,
                        "that %s is reached is only reported by PID 1's own messages, and those tell of "
                        "targets from systemd 256 on. With an older one: systemctl "
                        "enable " UNIT_MILESTONE_PREFIX "%s" UNIT_MILESTONE_SUFFIX,
                        unit, unit);
}

static int check_presence(const UnitGraph *g, const char *unit, PolicyWarnings *w) {
        if (is_made_at_run_time(unit))
                return 0;

        switch (unit_graph_presence(g, unit)) {
        case UNIT_ABSENT:
                return policy_warn(w, "no-such-unit", unit,
                                "there is no unit %s on this system: no EndWhen= with it would ever hold",
                                unit);
        case UNIT_MASKED:
                return policy_warn(w, "masked-unit", unit,
                                "%s is masked on this system: no EndWhen= with it would ever hold. To "
                                "unmask it: systemctl unmask %s",
                                unit, unit);
        case UNIT_PRESENT:
                break;
        }

        if (unit_graph_presence(g, DEFAULT_TARGET) != UNIT_PRESENT || unit_graph_is_started(g, unit))
                return 0;

        return policy_warn(w, "not-pulled-in", unit,
                        "nothing that " DEFAULT_TARGET
                        " starts pulls in %s: unless something else starts it, no EndWhen= with it would "
                        "ever hold. To have it started at boot: systemctl enable %s, or Wants=%s in a unit "
                        "that is",
                        unit, unit, unit);
}

static int join_chain(char **chain, char **ret) {
        return strv_join(chain, " -> ", ret);
}

/* The unit waits for rcu-boot-wait.service, which waits for boot to end, which waits for the unit. */
static int check_cycle(const UnitGraph *g, const char *unit, PolicyWarnings *w) {
        _cleanup_strv_free_ char **chain = NULL;
        _cleanup_free_ char *text = NULL;
        int r;

        r = unit_graph_waits_for(g, unit, UNIT_WAIT_NAME, &chain);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        r = join_chain(chain, &text);
        if (r < 0)
                return r;

        return policy_warn(w, "cycle", unit,
                        "%s waits for itself: %s -> end of RCU's boot -> %s (each waits for the next): no "
                        "EndWhen= with it holds before the deadline. Take %s out of what %s waits for: give "
                        "the unit before it DefaultDependencies=no, or pull it in by a target that comes "
                        "later",
                        unit, text, unit, strv_length(chain) > 1 ? chain[strv_length(chain) - 2] : unit,
                        unit);
}

/* Start-up counts as finished when no start job is left. */
static int check_startup_finished(int root_fd, const UnitGraph *g, PolicyWarnings *w) {
        _cleanup_strv_free_ char **chain = NULL;
        _cleanup_free_ char *text = NULL;
        int r;

        if (!has_bus(root_fd, g) && !pid1_reports_to_inbox(root_fd)) {
                r = policy_warn(w, "no-source", MILESTONE_STARTUP_FINISHED,
                                "nothing would report that start-up has finished: this system has no D-Bus, "
                                "and PID 1 is not told to report to /" PATH_INBOX
                                " (see the example 50-rcu-bootd-notify.conf, and rcu-bootd(8))");
                if (r < 0)
                        return r;
        }

        r = unit_graph_pulled_by(g, UNIT_WAIT_NAME, &chain);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        r = join_chain(chain, &text);
        if (r < 0)
                return r;

        return policy_warn(w, "cycle", MILESTONE_STARTUP_FINISHED,
                        MILESTONE_STARTUP_FINISHED
                        " waits for itself: boot starts " UNIT_WAIT_NAME
                        " (%s, each pulls in the next), so that start-up has not finished before RCU's boot "
                        "has ended, which it does by the deadline only. Wait for a target instead",
                        text);
}

static int check_unit(int root_fd, const UnitGraph *g, const char *unit, PolicyWarnings *w) {
        int r;

        r = check_presence(g, unit, w);
        if (r >= 0)
                r = check_source(root_fd, g, unit, w);
        if (r >= 0)
                r = check_cycle(g, unit, w);

        return r;
}

int policy_check_units(int root_fd, UnitGraph *graph, const Policy *policy, PolicyWarnings *w) {
        int r;

        r = unit_graph_start(graph, DEFAULT_TARGET);
        for (size_t i = 0; r >= 0 && i < policy->end_when.n_names; i++) {
                const char *name = policy->end_when.names[i];

                switch (milestone_kind(name)) {
                case MILESTONE_KIND_UNIT:
                        r = check_unit(root_fd, graph, name, w);
                        break;
                case MILESTONE_KIND_STARTUP_FINISHED:
                        r = check_startup_finished(root_fd, graph, w);
                        break;
                default:
                        break;
                }
        }

        return r;
}
