/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit-files.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "fs.h"
#include "names.h"

/* An alias may point to an alias; systemd gives up at a loop, too. */
#define ALIAS_DEPTH_MAX 8

static const char *const unit_directories[] = { UNIT_DIRECTORIES };

typedef enum Entry {
        ENTRY_NONE,
        ENTRY_LINK,  /* to what is in target */
        ENTRY_FILE,  /* or anything else that is no link */
        ENTRY_EMPTY, /* a file of no size, which masks */
} Entry;

/* What the first directory that has the name has under it. */
static Entry find(int root_fd, const char *name, char target[static PATH_MAX]) {
        for (size_t i = 0; i < ELEMENTSOF(unit_directories); i++) {
                _cleanup_close_ int fd = -1;
                struct stat st;
                ssize_t n;

                fd = fs_open(root_fd, unit_directories[i], O_PATH | O_DIRECTORY);
                if (fd < 0)
                        continue;

                n = readlinkat(fd, name, target, PATH_MAX - 1);
                if (n >= 0) {
                        target[n] = '\0';
                        return ENTRY_LINK;
                }
                if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) >= 0)
                        return S_ISREG(st.st_mode) && st.st_size == 0 ? ENTRY_EMPTY : ENTRY_FILE;
        }

        return ENTRY_NONE;
}

/* Replaces name by what its link points to, if it is one. */
static bool follow(int root_fd, char *name, size_t size) {
        char target[PATH_MAX];
        const char *base;

        if (find(root_fd, name, target) != ENTRY_LINK)
                return false;

        base = strrchr(target, '/');
        base = base ? base + 1 : target;
        if (streq(base, name) || strlen(base) >= size)
                return false;

        strcpy(name, base);
        return true;
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
        char target[PATH_MAX];

        switch (find(root_fd, unit, target)) {
        case ENTRY_LINK:
                return !streq(target, "/dev/null");
        case ENTRY_FILE:
                return true;
        default:
                return false;
        }
}
