/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "machine.h"

#include "fs.h"
#include "names.h"
#include "unit-files.h"

#include <fcntl.h>

/* What runs on the machine, and who may use it: asked while the daemon waits, not only at its start. */

#define PASSWD_SIZE_MAX (4U * 1024U * 1024U)

bool machine_has_systemd(int root_fd) {
        _cleanup_close_ int fd = fs_open(root_fd, PATH_SYSTEMD_BOOTED, O_PATH | O_DIRECTORY);

        return fd >= 0;
}

/* PID 1 makes a unit's cgroup just before the unit's first process, and removes it when the unit is stopped
 * and the last one has gone. In between it may well be empty: after a process of ExecStartPre=, for one. */
static bool have_cgroup(int root_fd, const char *const *paths, size_t n) {
        for (size_t i = 0; i < n; i++) {
                _cleanup_close_ int fd = fs_open(root_fd, paths[i], O_PATH | O_DIRECTORY);

                if (fd >= 0)
                        return true;
        }

        return false;
}

bool machine_awaits_udevd(int root_fd) {
        static const char *const paths[] = {
                PATH_CGROUP_UNIFIED "/" CGROUP_UDEVD,
                PATH_CGROUP_HYBRID "/" CGROUP_UDEVD,
                PATH_CGROUP_LEGACY "/" CGROUP_UDEVD,
        };

        return !have_cgroup(root_fd, paths, ELEMENTSOF(paths)) && machine_has_systemd(root_fd) &&
                        unit_files_is_usable(root_fd, UNIT_UDEVD);
}

bool machine_in_rescue(int root_fd) {
        static const char *const paths[] = {
                PATH_CGROUP_UNIFIED "/" CGROUP_RESCUE,
                PATH_CGROUP_UNIFIED "/" CGROUP_EMERGENCY,
                PATH_CGROUP_HYBRID "/" CGROUP_RESCUE,
                PATH_CGROUP_HYBRID "/" CGROUP_EMERGENCY,
                PATH_CGROUP_LEGACY "/" CGROUP_RESCUE,
                PATH_CGROUP_LEGACY "/" CGROUP_EMERGENCY,
        };

        return have_cgroup(root_fd, paths, ELEMENTSOF(paths));
}

/* --- users --- */

static bool parse_uid(const char *s, size_t length, uid_t *ret) {
        uint64_t n = 0;

        if (length == 0 || length > 10 || strspn(s, "0123456789") < length)
                return false;
        for (size_t i = 0; i < length; i++)
                n = n * 10 + (uint64_t) (s[i] - '0');
        if (n >= UINT32_MAX) /* (uid_t) -1 is nobody's */
                return false;
        *ret = (uid_t) n;
        return true;
}

/* Whether the line of passwd(5), NAME:PASSWORD:UID:..., is about one of the users, and has that uid. */
static bool line_has_user(const char *line, char *const *users, uid_t uid) {
        size_t name = strcspn(line, ":\n"), password, length;
        const char *p = line + name;
        uid_t u;

        if (*p++ != ':')
                return false;
        password = strcspn(p, ":\n");
        if (p[password] != ':')
                return false;
        p += password + 1;
        length = strcspn(p, ":\n");
        if (!parse_uid(p, length, &u) || u != uid)
                return false;
        for (; *users; users++)
                if (strlen(*users) == name && memcmp(*users, line, name) == 0)
                        return true;
        return false;
}

bool machine_user_in(int root_fd, char *const *users, uid_t uid) {
        _cleanup_free_ char *text = NULL;
        bool names = false;

        for (char *const *user = users; user && *user; user++) {
                uid_t u;

                if (!parse_uid(*user, strlen(*user), &u))
                        names = true;
                else if (u == uid)
                        return true;
        }
        if (!names || fs_read(root_fd, PATH_PASSWD, PASSWD_SIZE_MAX, &text, NULL) < 0)
                return false;
        for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
                if (line_has_user(line, users, uid))
                        return true;
        return false;
}
