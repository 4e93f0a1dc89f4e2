/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "fs.h"
#include "names.h"

/* `rcu-bootctl log`: 0, also where the boot has no entries (which is said); 1 where the journal cannot be
 * read. With --json an array of entries (ctl-log-entry.c has their schema); with --follow an entry a line.
 */

static const char *const journal_directories[] = { JOURNAL_DIRECTORIES };

typedef struct JournalFiles {
        unsigned readable;
        unsigned unreadable;
} JournalFiles;

static void count_file(int dir_fd, const char *name, JournalFiles *n) {
        /* Users may read their own; ours are in the system's. */
        if (!startswith(name, "system") || !strstr(name, ".journal"))
                return;

        if (faccessat(dir_fd, name, R_OK, AT_EACCESS) >= 0)
                n->readable++;
        else
                n->unreadable++;
}

/* depth: directories named after machine ids are below the journal directories. */
static void count_files(int parent_fd, const char *path, unsigned depth, JournalFiles *n) {
        int fd = fs_open(parent_fd, path, O_RDONLY | O_DIRECTORY);
        struct dirent *e;
        DIR *d;

        if (fd == -EACCES)
                n->unreadable++;
        if (fd < 0)
                return;
        d = fdopendir(fd);
        if (!d) {
                close(fd);
                return;
        }

        while ((e = readdir(d))) {
                if (*e->d_name == '.')
                        continue;
                count_file(fd, e->d_name, n);
                if (depth > 0 && !strstr(e->d_name, ".journal"))
                        count_files(fd, e->d_name, depth - 1, n);
        }

        closedir(d);
}

/* libsystemd leaves out files that may not be read without a word. */
static int explain_nothing(const Ctl *ctl) {
        JournalFiles n = {};

        for (size_t i = 0; i < ELEMENTSOF(journal_directories); i++)
                count_files(ctl->root_fd, journal_directories[i], 1, &n);

        if (n.unreadable > 0 && n.readable == 0) {
                ctl_error("You may not read the system's journal. As root: sudo rcu-bootctl log; or join "
                          "the group that may: sudo usermod -a -G systemd-journal YOU, and log in again.");
                return CTL_FAILED;
        }
        if (n.unreadable + n.readable == 0) {
                ctl_error("There is no journal below %s. Where there is none, rcu-bootd writes to the "
                          "kernel's log: dmesg | grep rcu-bootd",
                                ctl->root);
                return CTL_FAILED;
        }

        ctl_error("rcu-bootd has logged nothing in this boot.");
        return CTL_DONE;
}

static void print_headline(const LogEntry *e, uint64_t realtime, sd_id128_t boot) {
        time_t seconds = (time_t) (realtime / USEC_PER_SEC);
        char text[64] = "";
        struct tm tm;

        if (localtime_r(&seconds, &tm))
                strftime(text, sizeof(text), "%a %Y-%m-%d %H:%M:%S %Z", &tm);
        printf("%s-- Boot %s, %s --%s\n", colour(COLOUR_GREY), SD_ID128_TO_STRING(boot), text,
                        colour(COLOUR_NORMAL));
}

typedef struct Log {
        const Ctl *ctl;
        sd_journal *journal;
        sd_id128_t boot;
        bool current;
        json_t *array; /* --json without --follow */
        unsigned n;
} Log;

static int show(Log *log) {
        _cleanup_(log_entry_freep) LogEntry *e = NULL;
        uint64_t realtime;
        int r;

        r = log_entry_read(log->journal, &e);
        if (r >= 0)
                r = sd_journal_get_realtime_usec(log->journal, &realtime);
        if (r < 0)
                return r;

        if (log->ctl->json && !log->ctl->follow) {
                json_append(&log->array, log_entry_to_json(e));
                if (!log->array)
                        return -ENOMEM;
        } else if (log->ctl->json) {
                json_t *object = log_entry_to_json(e);

                if (!object)
                        return -ENOMEM;
                json_dumpf(object, stdout, JSON_COMPACT);
                putchar('\n');
                json_decref(object);
        } else {
                /* Which boot that was is not clear by itself. */
                if (log->n == 0 && !log->current)
                        print_headline(e, realtime, log->boot);
                log_entry_print(e);
        }

        log->n++;
        return 0;
}

static int show_all(Log *log) {
        int r;

        while ((r = sd_journal_next(log->journal)) > 0) {
                r = show(log);
                if (r < 0)
                        return r;
        }

        return r;
}

/* Until interrupted. */
static int follow(Log *log) {
        int r;

        for (;;) {
                r = show_all(log);
                if (r < 0)
                        return r;
                if (fflush(stdout) != 0)
                        return -errno;
                r = sd_journal_wait(log->journal, (uint64_t) -1);
                if (r < 0)
                        return r;
        }
}

static int run(Log *log) {
        int r;

        r = log_add_matches(log->journal, log->boot);
        if (r >= 0)
                r = sd_journal_seek_head(log->journal);
        if (r >= 0)
                r = log->ctl->follow ? follow(log) : show_all(log);

        return r;
}

static int finish(Log *log, int r) {
        int code = CTL_DONE;

        if (r == -ENOMEM)
                return ctl_oom();
        if (r < 0) {
                ctl_error("Cannot read the journal: %s", strerror(-r));
                return CTL_FAILED;
        }

        if (log->n == 0)
                code = explain_nothing(log->ctl);
        if (code == CTL_DONE && log->ctl->json)
                code = ctl_print_json(TAKE_PTR(log->array));
        return code;
}

static int open_journal(const Ctl *ctl, sd_journal **ret) {
        return fs_is_own_root(ctl->root_fd)
                        ? sd_journal_open(ret, SD_JOURNAL_LOCAL_ONLY)
                        : sd_journal_open_directory_fd(ret, ctl->root_fd, SD_JOURNAL_OS_ROOT);
}

static void journal_closep(sd_journal **j) {
        sd_journal_close(*j);
}

int ctl_verb_log(const Ctl *ctl, int argc, char **argv) {
        _cleanup_(journal_closep) sd_journal *j = NULL;
        Log log = { .ctl = ctl };
        int r, code;

        r = open_journal(ctl, &j);
        if (r < 0)
                return finish(&log, r);

        log.journal = j;
        code = log_find_boot(ctl, j, &log.boot, &log.current);
        if (code != CTL_DONE)
                return code;

        if (!ctl->follow)
                pager_open(ctl);
        log.array = ctl->json ? json_array() : NULL;

        code = finish(&log, run(&log));
        json_decref(log.array);
        return code;
}
