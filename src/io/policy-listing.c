/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy-listing.h"

#include "fs.h"
#include "policy-files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#define DROPIN_DIR_SUFFIX ".d"

void policy_listing_done(PolicyListing *l) {
        for (size_t i = 0; i < l->n; i++)
                free(l->items[i].name);
        free(l->items);
        *l = (PolicyListing){ 0 };
}

static int add_name(PolicyListing *l, const char *name, size_t length, size_t dir) {
        char *copy;

        if (l->n >= POLICY_FILES_MAX)
                return -E2BIG;
        /* There is room up to the next power of two. */
        if ((l->n & (l->n - 1)) == 0) {
                PolicyEntry *bigger = reallocarray(l->items, l->n > 0 ? l->n * 2 : 1, sizeof(PolicyEntry));

                if (!bigger)
                        return -ENOMEM;
                l->items = bigger;
        }
        copy = strndup(name, length);
        if (!copy)
                return -ENOMEM;
        l->items[l->n++] = (PolicyEntry){ .name = copy, .dir = dir };
        return 0;
}

bool policy_name_is_sane(const char *name) {
        for (const char *p = name; *p; p++)
                if ((unsigned char) *p < ' ' || *p == 0x7f)
                        return false;
        return true;
}

/* Editors and package managers hide their files, or (x.policy~, x.policy.dpkg-old) hide the suffix. */
static int
add_entry(PolicyListing *l, PolicyListing *dropin_dirs, const char *name, const char *suffix, size_t dir) {
        size_t length = strlen(name);

        if (name[0] == '.' || !policy_name_is_sane(name))
                return 0;
        if (endswith(name, suffix))
                return add_name(l, name, length, dir);
        if (!dropin_dirs || !endswith(name, DROPIN_DIR_SUFFIX))
                return 0;
        length -= STRLEN(DROPIN_DIR_SUFFIX);
        if (length < strlen(suffix) || memcmp(name + length - strlen(suffix), suffix, strlen(suffix)) != 0)
                return 0;
        return add_name(dropin_dirs, name, length, dir);
}

static void closedirp(DIR **d) {
        if (*d)
                closedir(*d);
}

int policy_listing_add(PolicyListing *l,
                PolicyListing *dropin_dirs,
                int dir_fd,
                const char *path,
                const char *suffix,
                size_t dir) {
        _cleanup_close_ int fd = fs_open(dir_fd, path, O_RDONLY | O_DIRECTORY);
        _cleanup_(closedirp) DIR *d = NULL;

        if (fd < 0)
                return fd == -ENOENT ? 0 : fd;
        d = fdopendir(fd);
        if (!d)
                return -errno;
        TAKE_FD(fd); /* d's now */
        for (;;) {
                const struct dirent *e;
                int r;

                errno = 0;
                e = readdir(d);
                if (!e)
                        return -errno; /* 0 at the end */
                r = add_entry(l, dropin_dirs, e->d_name, suffix, dir);
                if (r < 0)
                        return r;
        }
}

static int compare(const void *a, const void *b) {
        const PolicyEntry *x = a, *y = b;
        int r = strcmp(x->name, y->name);

        return r != 0 ? r : (x->dir > y->dir) - (x->dir < y->dir);
}

void policy_listing_sort(PolicyListing *l) {
        if (l->n > 1)
                qsort(l->items, l->n, sizeof(PolicyEntry), compare);
}

size_t policy_listing_next(const PolicyListing *l, size_t i) {
        size_t next = i + 1;

        while (next < l->n && streq(l->items[next].name, l->items[i].name))
                next++;
        return next;
}
