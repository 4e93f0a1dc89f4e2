/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit-files.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "names.h"

/* An alias may point to an alias; systemd gives up at a loop, too. */
#define ALIAS_DEPTH_MAX 8

static const char *const unit_directories[] = { UNIT_DIRECTORIES };

/* Replaces name by what its link in the first directory that has one points to. */
static bool follow(int root_fd, char *name, size_t size) {
        char path[PATH_MAX], target[PATH_MAX];

        for (size_t i = 0; i < ELEMENTSOF(unit_directories); i++) {
                const char *base;
                ssize_t n;

                if (snprintf(path, sizeof(path), "%s/%s", unit_directories[i], name) >= (int) sizeof(path))
                        return false;
                n = readlinkat(root_fd, path, target, sizeof(target) - 1);
                if (n < 0) {
                        if (faccessat(root_fd, path, F_OK, 0) >= 0)
                                return false; /* a file: the name is real */
                        continue;
                }
                target[n] = '\0';
                base = strrchr(target, '/');
                base = base ? base + 1 : target;
                if (streq(base, name) || strlen(base) >= size)
                        return false;
                strcpy(name, base);
                return true;
        }

        return false;
}

bool unit_files_is_alias(int root_fd, const char *alias, const char *unit) {
        char name[NAME_MAX + 1];

        if (strlen(alias) >= sizeof(name))
                return false;
        strcpy(name, alias);

        for (unsigned depth = 0; depth < ALIAS_DEPTH_MAX; depth++) {
                if (streq(name, unit))
                        return true;
                if (!follow(root_fd, name, sizeof(name)))
                        return false;
        }

        return false;
}

bool unit_files_is_usable(int root_fd, const char *unit) {
        char path[PATH_MAX], target[PATH_MAX];

        for (size_t i = 0; i < ELEMENTSOF(unit_directories); i++) {
                struct stat st;
                ssize_t n;

                if (snprintf(path, sizeof(path), "%s/%s", unit_directories[i], unit) >= (int) sizeof(path))
                        return false;
                n = readlinkat(root_fd, path, target, sizeof(target) - 1);
                if (n >= 0) {
                        target[n] = '\0';
                        return !streq(target, "/dev/null");
                }
                if (fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW) >= 0)
                        return st.st_size > 0; /* an empty file masks, too */
        }

        return false;
}
