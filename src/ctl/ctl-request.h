/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "boot-record.h"
#include "ctl.h"

/* What `end`, `extend` and `milestone` have in common: asking the daemon for something, and looking
 * whether it came about; and what all verbs do to read the state file. */

typedef enum RequestOutcome {
        REQUEST_FAILED,  /* the reason has been said */
        REQUEST_MOOT,    /* boot had ended before; the record says how */
        REQUEST_HANDLED, /* the daemon has handled the message; the record is from afterwards */
} RequestOutcome;

/* text: a datagram of the inbox. *ret is filled unless REQUEST_FAILED. */
RequestOutcome request_send(const Ctl *ctl, const char *text, BootRecord *ret);

/* Says why there is no state to read (an error of state_file_read()), and what to do. */
void request_explain_state_error(const Ctl *ctl, int error);

/* "at 12.345 s: all that the policy waits for was reached"; for a record whose phase is ending or ended. */
#define END_TEXT_MAX 512
const char *request_end_to_text(const BootRecord *record, char buf[static END_TEXT_MAX]);

bool boot_is_over(const BootRecord *record);
