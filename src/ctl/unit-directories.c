/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit-graph-internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "fs.h"
#include "names.h"

static const char *const directories[] = { UNIT_LOAD_PATH };

static const char *const link_suffixes[] = { ".wants", ".requires", ".upholds" };

/* systemd gives up at a loop, too. */
#define ALIAS_DEPTH_MAX 8

static void dir_closep(DIR **d) {
        if (*d)
                closedir(*d);
}

/* *ret is NULL where there is no such directory. */
static int open_directory(int root_fd, const char *path, DIR **ret) {
        int fd = fs_open(root_fd, path, O_RDONLY | O_DIRECTORY);

        *ret = NULL;
        if (fd == -ENOENT || fd == -ENOTDIR)
                return 0;
        if (fd < 0)
                return fd;

        *ret = fdopendir(fd);
        if (!*ret) {
                close(fd);
                return -ENOMEM;
        }

        return 0;
}

static bool is_unit_name(const char *name) {
        static const char *const suffixes[] = { ".service", ".target", ".socket", ".mount", ".automount",
                ".swap", ".path", ".timer", ".device", ".slice", ".scope" };

        for (size_t i = 0; i < ELEMENTSOF(suffixes); i++)
                if (endswith(name, suffixes[i]) && strlen(name) > strlen(suffixes[i]))
                        return true;

        return false;
}

int unit_template_of(const char *name, char **ret) {
        const char *at = strchr(name, '@'), *dot = strrchr(name, '.');

        *ret = NULL;
        if (!at || !dot || dot <= at + 1)
                return 0;

        return asprintf(ret, "%.*s%s", (int) (at + 1 - name), name, dot) < 0 ? -ENOMEM : 0;
}

const UnitEntry *unit_directories_find(const UnitGraph *g, const char *name) {
        for (size_t i = 0; i < g->n_entries; i++)
                if (streq(g->entries[i].name, name))
                        return &g->entries[i];

        return NULL;
}

static int add_entry(
                UnitGraph *g, const char *directory, const char *name, const char *target, bool masked) {
        UnitEntry *entries;
        UnitEntry e = { .masked = masked };

        entries = reallocarray(g->entries, g->n_entries + 1, sizeof(*entries));
        if (!entries)
                return -ENOMEM;
        g->entries = entries;

        e.name = strdup(name);
        if (asprintf(&e.path, "%s/%s", directory, name) < 0)
                e.path = NULL;
        if (target)
                e.target = strdup(target);
        g->entries[g->n_entries++] = e; /* freed with the graph, whatever is missing */

        return e.name && e.path && (!target || e.target) ? 0 : -ENOMEM;
}

/* The target of a symlink; an empty string for anything else. */
static int read_link(int dir_fd, const char *name, char target[static PATH_MAX], bool *ret_empty_file) {
        struct stat st;
        ssize_t n;

        *ret_empty_file = false;
        n = readlinkat(dir_fd, name, target, PATH_MAX - 1);
        if (n < 0 && errno != EINVAL)
                return -errno;
        target[MAX(n, (ssize_t) 0)] = '\0';

        if (n < 0 && fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) >= 0)
                *ret_empty_file = S_ISREG(st.st_mode) && st.st_size == 0;
        return 0;
}

static int list_unit(UnitGraph *g, const char *directory, int dir_fd, const char *name) {
        _cleanup_free_ char *template = NULL;
        char target[PATH_MAX];
        const char *base;
        bool empty;
        int r;

        if (unit_directories_find(g, name))
                return 0; /* a higher directory has it */

        r = read_link(dir_fd, name, target, &empty);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        if (empty || streq(target, "/dev/null"))
                return add_entry(g, directory, name, NULL, true);

        base = strrchr(target, '/');
        base = base ? base + 1 : target;
        r = unit_template_of(name, &template);
        if (r < 0)
                return r;

        /* A link to the same name, or to its template, is the unit's own file. */
        if (*base == '\0' || streq(base, name) || (template && streq(base, template)) || !is_unit_name(base))
                base = NULL;

        return add_entry(g, directory, name, base, false);
}

static int add_link(UnitGraph *g, const char *unit, size_t unit_length, const char *other) {
        UnitLink *links;
        UnitLink l = {};

        links = reallocarray(g->links, g->n_links + 1, sizeof(*links));
        if (!links)
                return -ENOMEM;
        g->links = links;

        l.unit = strndup(unit, unit_length);
        l.other = strdup(other);
        g->links[g->n_links++] = l;

        return l.unit && l.other ? 0 : -ENOMEM;
}

static int list_links(UnitGraph *g, const char *directory, const char *name, size_t unit_length) {
        _cleanup_(dir_closep) DIR *d = NULL;
        _cleanup_free_ char *path = NULL;
        struct dirent *e;
        int r;

        if (asprintf(&path, "%s/%s", directory, name) < 0)
                return -ENOMEM;
        r = open_directory(g->root_fd, path, &d);
        if (r < 0 || !d)
                return r;

        while ((e = readdir(d))) {
                char target[PATH_MAX];
                bool empty;

                if (!is_unit_name(e->d_name) || read_link(dirfd(d), e->d_name, target, &empty) < 0)
                        continue;
                if (empty || streq(target, "/dev/null")) /* a link that is masked for itself */
                        continue;
                r = add_link(g, name, unit_length, e->d_name);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int list_name(UnitGraph *g, const char *directory, int dir_fd, const char *name) {
        if (is_unit_name(name))
                return list_unit(g, directory, dir_fd, name);

        for (size_t i = 0; i < ELEMENTSOF(link_suffixes); i++)
                if (endswith(name, link_suffixes[i]))
                        return list_links(g, directory, name, strlen(name) - strlen(link_suffixes[i]));

        return 0;
}

int unit_directories_list(UnitGraph *g) {
        for (size_t i = 0; i < ELEMENTSOF(directories); i++) {
                _cleanup_(dir_closep) DIR *d = NULL;
                struct dirent *e;
                int r;

                r = open_directory(g->root_fd, directories[i], &d);
                if (r < 0)
                        return r;

                while (d && (e = readdir(d))) {
                        r = list_name(g, directories[i], dirfd(d), e->d_name);
                        if (r < 0)
                                return r;
                }
        }

        return g->n_entries > 0 ? 0 : -ENOENT;
}

const char *unit_directories_resolve(const UnitGraph *g, const char *name) {
        for (unsigned depth = 0; depth < ALIAS_DEPTH_MAX; depth++) {
                const UnitEntry *e = unit_directories_find(g, name);

                if (!e || !e->target)
                        break;
                name = e->target;
        }

        return name;
}

const UnitEntry *unit_directories_fragment(const UnitGraph *g, const char *name) {
        _cleanup_free_ char *template = NULL;
        const UnitEntry *e = unit_directories_find(g, name);

        if (e)
                return e;
        if (unit_template_of(name, &template) < 0 || !template)
                return NULL;

        return unit_directories_find(g, unit_directories_resolve(g, template));
}

/* directory/NAME.d/ *.conf. A name that a higher directory had is not looked at again (names), masks
 * included. */
static int add_dropins(
                const UnitGraph *g, const char *directory, const char *name, char ***names, char ***paths) {
        _cleanup_(dir_closep) DIR *d = NULL;
        _cleanup_free_ char *path = NULL;
        struct dirent *e;
        int r;

        if (asprintf(&path, "%s/%s.d", directory, name) < 0)
                return -ENOMEM;
        r = open_directory(g->root_fd, path, &d);
        if (r < 0 || !d)
                return r;

        while ((e = readdir(d))) {
                char target[PATH_MAX], *file;
                bool empty;

                if (!endswith(e->d_name, ".conf") || strv_contains(*names, e->d_name))
                        continue;
                r = strv_extend(names, e->d_name);
                if (r < 0)
                        return r;
                if (read_link(dirfd(d), e->d_name, target, &empty) < 0 || empty ||
                                streq(target, "/dev/null"))
                        continue;
                r = strv_consume(paths, asprintf(&file, "%s/%s", path, e->d_name) < 0 ? NULL : file);
                if (r < 0)
                        return r;
        }

        return 0;
}

int unit_directories_dropins(const UnitGraph *g, const char *name, char ***ret) {
        _cleanup_strv_free_ char **names = NULL, **paths = NULL;
        _cleanup_free_ char *template = NULL;
        const char *type = strrchr(name, '.');
        int r;

        r = unit_template_of(name, &template);
        if (r < 0)
                return r;

        for (size_t i = 0; i < ELEMENTSOF(directories); i++) {
                r = add_dropins(g, directories[i], name, &names, &paths);
                if (r >= 0 && template)
                        r = add_dropins(g, directories[i], template, &names, &paths);
                if (r >= 0 && type) /* service.d/ is for all services */
                        r = add_dropins(g, directories[i], type + 1, &names, &paths);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(paths);
        return 0;
}
