/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy-files.h"

#include "fs.h"
#include "machine.h"
#include "names.h"
#include "policy-listing.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* In order of precedence, and as a person types them: fs_open() takes them for paths below the root. */
static const char *const policy_dirs[] = {
        "/" PATH_POLICY_DIR_ETC,
        "/" PATH_POLICY_DIR_RUN,
        "/" PATH_POLICY_DIR_USR,
};

static const char builtin_text[] = {
#include "policy-builtin.h"
};

/* --- one file --- */

void policy_file_done(PolicyFile *file) {
        free(file->name);
        free(file->path);
        policy_free(file->policy);
        strv_free(file->errors);
        strv_free(file->dropins);
        strv_free(file->shadowed);
        *file = (PolicyFile){ 0 };
}

static _printf_(2, 3) int add_error(PolicyFile *file, const char *format, ...) {
        char *text = NULL;
        va_list ap;
        int n;

        va_start(ap, format);
        n = vasprintf(&text, format, ap);
        va_end(ap);
        return strv_consume(&file->errors, n < 0 ? NULL : text);
}

static int read_link(int dir_fd, const char *path, char *buf, size_t size) {
        _cleanup_close_ int fd = fs_open(dir_fd, path, O_PATH | O_NOFOLLOW);
        ssize_t n;

        if (fd < 0)
                return fd;
        n = readlinkat(fd, "", buf, size - 1);
        if (n < 0)
                return -errno;
        buf[n] = '\0';
        return 0;
}

/* /dev/null, by any name; or a link to it by its text, because there is no such device in the tree of an
 * image or a test. */
static bool is_null_device(int dir_fd, const char *path) {
        _cleanup_close_ int fd = fs_open(dir_fd, path, O_PATH);
        char buf[PATH_MAX], *target = buf;
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))
                return true;
        if (read_link(dir_fd, path, buf, sizeof(buf)) < 0)
                return false;
        while (startswith(target, "../"))
                target += STRLEN("../");
        return streq(buf, "/dev/null") || (target != buf && streq(target, "dev/null"));
}

static int add_read_error(int dir_fd, PolicyFile *file, const char *path, int error) {
        char target[PATH_MAX];

        switch (error) {
        case -ENOMEM:
                return -ENOMEM;
        case -EISDIR:
                return add_error(file, "%s: this is a directory, where a file is expected", path);
        case -EBADFD:
                return add_error(file, "%s: this is a device, FIFO or socket, where a file is expected",
                                path);
        case -E2BIG:
                return add_error(file, "%s: this is larger than %u KiB, so it can be no policy", path,
                                POLICY_SIZE_MAX / 1024);
        case -ENOENT:
                if (read_link(dir_fd, path, target, sizeof(target)) >= 0)
                        return add_error(file, "%s: this is a symlink to %s, which is not there", path,
                                        target);
                _fallthrough_;
        default:
                return add_error(file, "%s: cannot be read: %s", path, strerror(-error));
        }
}

static int make_path(const char *dir, const char *name, const char *suffix, char **ret) {
        char *path;

        if (asprintf(&path, "%s/%s%s", dir, name, suffix) < 0)
                return -ENOMEM;
        *ret = path;
        return 0;
}

typedef struct Texts {
        PolicyText *items;
        size_t n;
} Texts;

static void texts_done(Texts *t) {
        for (size_t i = 0; i < t->n; i++)
                free((char *) t->items[i].text);
        free(t->items);
        *t = (Texts){ 0 };
}

/* Adds a file's text, with its path as it is, which must live as long. 0 with *ret_masked: the file is
 * none. What cannot be read is an error of the policy's. -ENOMEM. */
static int add_text(int dir_fd, PolicyFile *file, const char *path, Texts *texts, bool *ret_masked) {
        _cleanup_free_ char *text = NULL;
        PolicyText *bigger;
        size_t size = 0;
        int r;

        *ret_masked = false;
        r = fs_read(dir_fd, path, POLICY_SIZE_MAX, &text, &size);
        if (r < 0 && !is_null_device(dir_fd, path))
                return add_read_error(dir_fd, file, path, r);
        if (r < 0 || size == 0) {
                *ret_masked = true;
                return 0;
        }
        bigger = reallocarray(texts->items, texts->n + 1, sizeof(PolicyText));
        if (!bigger)
                return -ENOMEM;
        texts->items = bigger;
        texts->items[texts->n++] = (PolicyText){ .path = path, .text = TAKE_PTR(text), .size = size };
        return 0;
}

static int list_dropins(int dir_fd, char *const *dirs, PolicyFile *file, PolicyListing *l) {
        int r;

        for (size_t i = 0; dirs && dirs[i]; i++) {
                r = policy_listing_add(l, NULL, dir_fd, dirs[i], POLICY_DROPIN_SUFFIX, i);
                if (r == -E2BIG)
                        r = add_error(file, "%s: there are more than %u drop-ins", dirs[i],
                                        POLICY_FILES_MAX);
                else if (r < 0)
                        r = add_read_error(dir_fd, file, dirs[i], r);
                if (r < 0)
                        return r;
        }
        policy_listing_sort(l);
        return 0;
}

/* Those of a masked file are noted, but not read. */
static int add_dropins(int dir_fd, char *const *dirs, PolicyFile *file, Texts *texts) {
        _cleanup_(policy_listing_done) PolicyListing l = { 0 };
        int r;

        r = list_dropins(dir_fd, dirs, file, &l);
        for (size_t i = 0; r >= 0 && i < l.n; i = policy_listing_next(&l, i)) {
                _cleanup_free_ char *path = NULL;
                bool masked = false;

                r = make_path(dirs[l.items[i].dir], l.items[i].name, "", &path);
                if (r < 0)
                        return r;
                if (!file->masked)
                        r = add_text(dir_fd, file, path, texts, &masked);
                if (r >= 0 && !masked)
                        r = strv_consume(&file->dropins, TAKE_PTR(path));
        }
        return r;
}

/* Fills the rest of a file whose name and path are set. */
static int load(int dir_fd, char *const *dropin_dirs, PolicyFile *file) {
        _cleanup_(texts_done) Texts texts = { 0 };
        int r;

        r = add_text(dir_fd, file, file->path, &texts, &file->masked);
        if (r >= 0)
                r = add_dropins(dir_fd, dropin_dirs, file, &texts);
        if (r < 0 || file->masked || file->errors)
                return r;
        r = policy_parse(file->name, texts.items, texts.n, &file->policy, &file->errors);
        return r == -EBADMSG ? 0 : r;
}

int policy_files_load_one(int dir_fd, const char *path, PolicyFile *ret) {
        _cleanup_(policy_file_done) PolicyFile file = { 0 };
        _cleanup_strv_free_ char **dropin_dirs = NULL;
        const char *slash = strrchr(path, '/');
        char *dropin_dir = NULL;
        int r;

        file.path = strdup(path);
        file.name = strdup(slash ? slash + 1 : path);
        if (!file.path || !file.name)
                return -ENOMEM;
        if (asprintf(&dropin_dir, "%s.d", path) < 0)
                dropin_dir = NULL;
        r = strv_consume(&dropin_dirs, dropin_dir);
        if (r < 0)
                return r;
        if (policy_name_is_sane(path))
                r = load(dir_fd, dropin_dirs, &file);
        else
                r = add_error(&file, "The path of a policy file may hold no control characters");
        if (r < 0)
                return r;
        *ret = file;
        file = (PolicyFile){ 0 };
        return 0;
}

int policy_files_builtin(Policy **ret) {
        const PolicyText text = {
                .path = POLICY_BUILTIN_PATH,
                .text = builtin_text,
                .size = STRLEN(builtin_text),
        };
        _cleanup_strv_free_ char **errors = NULL;

        return policy_parse(POLICY_BUILTIN_NAME, &text, 1, ret, &errors);
}

/* --- all files --- */

void policy_files_done(PolicyFiles *files) {
        for (size_t i = 0; i < files->n; i++)
                policy_file_done(files->items + i);
        free(files->items);
        *files = (PolicyFiles){ 0 };
}

static int add_paths(const PolicyListing *l, size_t from, size_t to, const char *suffix, char ***paths) {
        for (size_t i = from; i < to; i++) {
                char *path;
                int r;

                r = make_path(policy_dirs[l->items[i].dir], l->items[i].name, suffix, &path);
                if (r >= 0)
                        r = strv_consume(paths, path);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* The drop-in directories of the name, in order of precedence. */
static int find_dropin_dirs(const PolicyListing *l, const char *name, char ***ret) {
        for (size_t i = 0; i < l->n; i = policy_listing_next(l, i))
                if (streq(l->items[i].name, name))
                        return add_paths(l, i, policy_listing_next(l, i), ".d", ret);
        return 0;
}

static int
load_name(int root_fd, const PolicyListing *names, size_t i, const PolicyListing *dirs, PolicyFile *file) {
        _cleanup_strv_free_ char **dropin_dirs = NULL;
        const PolicyEntry *e = names->items + i;
        int r;

        file->name = strdup(e->name);
        if (!file->name || make_path(policy_dirs[e->dir], e->name, "", &file->path) < 0)
                return -ENOMEM;
        r = add_paths(names, i + 1, policy_listing_next(names, i), "", &file->shadowed);
        if (r >= 0)
                r = find_dropin_dirs(dirs, e->name, &dropin_dirs);
        return r < 0 ? r : load(root_fd, dropin_dirs, file);
}

/* Stands for a directory that cannot be read, so that nobody wonders what became of the files in it. */
static int load_unreadable(int root_fd, const char *dir, int error, PolicyFile *file) {
        file->name = strdup(strrchr(dir, '/') + 1);
        file->path = strdup(dir);
        if (!file->name || !file->path)
                return -ENOMEM;
        return add_read_error(root_fd, file, dir, error);
}

int policy_files_load(int root_fd, PolicyFiles *ret) {
        _cleanup_(policy_listing_done) PolicyListing names = { 0 }, dropin_dirs = { 0 };
        _cleanup_(policy_files_done) PolicyFiles files = { 0 };
        int listed[ELEMENTSOF(policy_dirs)], r = 0;

        for (size_t i = 0; i < ELEMENTSOF(policy_dirs); i++) {
                listed[i] = policy_listing_add(
                                &names, &dropin_dirs, root_fd, policy_dirs[i], POLICY_SUFFIX, i);
                if (listed[i] == -ENOMEM || listed[i] == -E2BIG)
                        return listed[i];
        }
        policy_listing_sort(&names);
        policy_listing_sort(&dropin_dirs);
        files.items = calloc(names.n + ELEMENTSOF(policy_dirs), sizeof(PolicyFile));
        if (!files.items)
                return -ENOMEM;
        for (size_t i = 0; r >= 0 && i < names.n; i = policy_listing_next(&names, i))
                r = load_name(root_fd, &names, i, &dropin_dirs, files.items + files.n++);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(policy_dirs); i++)
                if (listed[i] < 0)
                        r = load_unreadable(root_fd, policy_dirs[i], listed[i], files.items + files.n++);
        if (r < 0)
                return r;
        *ret = files;
        files = (PolicyFiles){ 0 };
        return 0;
}

/* --- which one --- */

/* What the patterns of Device= rules say before the colon. */
static int add_subsystems(const MatchRule *rule, char ***subsystems) {
        for (char *const *p = rule->patterns; p && *p; p++) {
                char *subsystem = strndup(*p, strcspn(*p, ":"));
                int r;

                if (subsystem && strv_contains(*subsystems, subsystem)) {
                        free(subsystem);
                        continue;
                }
                r = strv_consume(subsystems, subsystem);
                if (r < 0)
                        return r;
        }
        return 0;
}

int policy_files_facts(int root_fd, const PolicyFiles *files, MachineFacts *ret) {
        _cleanup_strv_free_ char **subsystems = NULL;
        uint32_t fields = UINT32_C(1) << MATCH_CLASS; /* it decides, whether it is asked for or not */

        for (size_t i = 0; i < files->n; i++) {
                const Policy *policy = files->items[i].policy;
                int r;

                if (!policy)
                        continue;
                fields |= match_fields(&policy->match);
                r = add_subsystems(&policy->match.rules[MATCH_DEVICE], &subsystems);
                if (r < 0)
                        return r;
        }
        return machine_read_facts(root_fd, fields, subsystems, ret);
}

static int add_reason(const MatchRule *rule, MatchField field, char ***reasons) {
        _cleanup_free_ char *patterns = NULL;
        char *reason = NULL;
        int r;

        r = strv_join(rule->patterns, " ", &patterns);
        if (r < 0)
                return r;
        if (asprintf(&reason, "%s=%s%s", match_field_to_string(field), rule->negate ? "!" : "", patterns) <
                        0)
                reason = NULL;
        return strv_consume(reasons, reason);
}

static int explain(const Match *match, const MatchVerdict *verdict, const MachineFacts *facts, char **ret) {
        _cleanup_strv_free_ char **reasons = NULL;
        _cleanup_free_ char *joined = NULL;
        int r = 0;

        if (match_fields(match) == 0)
                r = asprintf(ret, "it has no [Match], and no policy before it matches");
        else if (verdict->by_class)
                r = asprintf(ret, "the administrator set class %s", facts->values[MATCH_CLASS][0]);
        if (r != 0)
                return r < 0 ? -ENOMEM : 0;
        /* Without a class set, Class= decides nothing. */
        for (MatchField f = MATCH_CLASS + 1; r >= 0 && f < _MATCH_FIELD_MAX; f++)
                if (match->rules[f].set)
                        r = add_reason(&match->rules[f], f, &reasons);
        if (r >= 0)
                r = strv_join(reasons, ", ", &joined);
        if (r < 0)
                return r;
        return asprintf(ret, "this machine matches %s", joined) < 0 ? -ENOMEM : 0;
}

int policy_files_choose(const PolicyFiles *files,
                const MachineFacts *facts,
                const PolicyFile **ret,
                char **ret_why) {
        for (size_t i = 0; i < files->n; i++) {
                const Policy *policy = files->items[i].policy;
                MatchVerdict verdict;
                char *why = NULL;

                if (!policy)
                        continue;
                match_evaluate(&policy->match, facts, &verdict);
                if (!verdict.matched)
                        continue;
                if (explain(&policy->match, &verdict, facts, &why) < 0)
                        return -ENOMEM;
                *ret = files->items + i;
                *ret_why = why;
                return 0;
        }
        *ret = NULL;
        *ret_why = NULL;
        return 0;
}
