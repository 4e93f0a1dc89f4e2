/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl-output.h"

#include <systemd/sd-journal.h>

/* What the files of `rcu-bootctl log` share. */

/* --- ctl-log-boots.c --- */

/* Which boot --boot= (NULL: not given) means, in this journal. CTL_DONE, or CTL_FAILED or CTL_USAGE with the
 * error said. *ret_current: whether it is the one that is running. */
int log_find_boot(const Ctl *ctl, sd_journal *j, sd_id128_t *ret, bool *ret_current);

/* --- ctl-log-entry.c --- */

/* One entry, read from the journal's current position. */
typedef struct LogEntry LogEntry;

/* -ENOMEM, or a negative errno of the journal. */
int log_entry_read(sd_journal *j, LogEntry **ret);
LogEntry *log_entry_free(LogEntry *e);
DEFINE_TRIVIAL_CLEANUP_FUNC(LogEntry *, log_entry_free);

void log_entry_print(const LogEntry *e);
json_t *log_entry_to_json(const LogEntry *e);

/* Restricts the journal to our entries of one boot. Negative errno. */
int log_add_matches(sd_journal *j, sd_id128_t boot);
