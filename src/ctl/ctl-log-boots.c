/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-log.h"

#include <errno.h>

#include "fs.h"

/* Boots are told apart and ordered by their entries' order in the journal, as `journalctl --boot=` does: a
 * machine without a clock of its own starts every boot in 1970. */

static int match_boot(sd_journal *j, sd_id128_t boot) {
        char match[STRLEN("_BOOT_ID=") + SD_ID128_STRING_MAX] = "_BOOT_ID=";

        sd_id128_to_string(boot, match + STRLEN("_BOOT_ID="));
        return sd_journal_add_match(j, match, 0);
}

/* One entry further in the direction; 0 if there is none. */
static int step(sd_journal *j, bool older, sd_id128_t *ret_boot) {
        uint64_t usec;
        int r;

        r = older ? sd_journal_previous(j) : sd_journal_next(j);
        if (r <= 0)
                return r;

        r = sd_journal_get_monotonic_usec(j, &usec, ret_boot);
        return r < 0 ? r : 1;
}

/* From anywhere in a boot to the first entry beyond it; 0 if there is none. */
static int leave_boot(sd_journal *j, bool older, sd_id128_t *boot) {
        sd_id128_t left = *boot, at;
        int r;

        /* Straight to its far end ... */
        r = match_boot(j, left);
        if (r < 0)
                return r;
        r = older ? sd_journal_seek_head(j) : sd_journal_seek_tail(j);
        if (r < 0)
                return r;
        r = step(j, !older, &at);
        sd_journal_flush_matches(j);

        /* ... and on. Entries of two boots may be interleaved by a few. */
        while (r > 0) {
                r = step(j, older, &at);
                if (r > 0 && !sd_id128_equal(at, left)) {
                        *boot = at;
                        return 1;
                }
        }

        return r;
}

/* n boots from the end of the journal (from its beginning, unless older). 0: there are not so many. */
static int count_boots(sd_journal *j, bool older, long n, sd_id128_t *boot) {
        int r = 1;

        while (n-- > 0 && r > 0)
                r = leave_boot(j, older, boot);

        return r;
}

static int find_by_offset(const Ctl *ctl, sd_journal *j, long offset, sd_id128_t *ret) {
        bool older = offset <= 0;
        long n = older ? -offset : offset - 1;
        sd_id128_t current, at;
        int r;

        if (offset == 0 && fs_is_own_root(ctl->root_fd))
                return sd_id128_get_boot(ret) < 0 ? -ENODATA : 1;

        r = older ? sd_journal_seek_tail(j) : sd_journal_seek_head(j);
        if (r < 0)
                return r;
        r = step(j, older, &at);
        if (r <= 0)
                return r;

        /* A boot that has not logged anything so far is one back from the newest all the same. */
        if (older && fs_is_own_root(ctl->root_fd) && sd_id128_get_boot(&current) >= 0 &&
                        !sd_id128_equal(at, current))
                n--;

        r = count_boots(j, older, n, &at);
        if (r > 0)
                *ret = at;
        return r;
}

static int parse_offset(const char *s, long *ret) {
        char *end;
        long n;

        errno = 0;
        n = strtol(s, &end, 10);
        if (errno != 0 || end == s || *end || n < -100000 || n > 100000)
                return -EINVAL;

        *ret = n;
        return 0;
}

int log_find_boot(const Ctl *ctl, sd_journal *j, sd_id128_t *ret, bool *ret_current) {
        sd_id128_t boot, current;
        long offset = 0;
        int r = 1;

        /* 32 digits are no number. */
        if (ctl->boot &&
                        (strlen(ctl->boot) < SD_ID128_STRING_MAX - 1 ||
                                        sd_id128_from_string(ctl->boot, &boot) < 0)) {
                if (parse_offset(ctl->boot, &offset) < 0) {
                        ctl_error("--boot=%s is no boot. Expected: 0 (this one), -1 (the one before), 1 "
                                  "(the first in the journal), ..., or an ID as `journalctl --list-boots` "
                                  "shows it.",
                                        ctl->boot);
                        return CTL_USAGE;
                }
                r = find_by_offset(ctl, j, offset, &boot);
        } else if (!ctl->boot)
                r = find_by_offset(ctl, j, 0, &boot);

        if (r < 0) {
                ctl_error("Cannot read the journal: %s", strerror(-r));
                return CTL_FAILED;
        }
        if (r == 0 && offset != 0) {
                ctl_error("The journal does not go back so far: there is no boot %s. See: journalctl "
                          "--list-boots. (A journal that is to outlast a boot needs the directory "
                          "/var/log/journal.)",
                                ctl->boot);
                return CTL_FAILED;
        }

        *ret = r > 0 ? boot : SD_ID128_NULL;
        *ret_current = fs_is_own_root(ctl->root_fd) && sd_id128_get_boot(&current) >= 0 &&
                        sd_id128_equal(*ret, current);
        return CTL_DONE;
}
