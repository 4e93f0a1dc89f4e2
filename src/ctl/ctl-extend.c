/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-output.h"
#include "ctl-request.h"
#include "fs.h"
#include "names.h"

#include <inttypes.h>

/* `rcu-bootctl extend SECONDS`: 0 if the deadline is now that far away at least, 1 if it is not. */

static int report(usec_t wanted, const BootRecord *record) {
        char deadline[SEC_TEXT_MAX], asked[SEC_TEXT_MAX];

        format_sec(record->deadline, deadline);

        if (record->deadline >= wanted) {
                printf("RCU's boot ends %s after the kernel started at the latest.\n", deadline);
                return CTL_DONE;
        }

        if (record->deadline >= POLICY_DEADLINE_MAX_USEC)
                ctl_error("The deadline is now %s after the kernel started, and not the %s asked for: later "
                          "than an hour it cannot be.",
                                deadline, format_sec(wanted, asked));
        else if (geteuid() != 0)
                ctl_error("Only root may move the deadline; it stays at %s after the kernel started. Try: "
                          "sudo rcu-bootctl extend ...",
                                deadline);
        else
                ctl_error("rcu-bootd received the request, but the deadline stays at %s after the kernel "
                          "started. Its reasons are in the journal: rcu-bootctl log",
                                deadline);
        return CTL_FAILED;
}

static int parse_seconds(const char *s, usec_t *ret) {
        usec_t by;

        if (policy_parse_sec(s, &by) < 0 || by < USEC_PER_MSEC || by > POLICY_DEADLINE_MAX_USEC) {
                ctl_error("\"%s\" is not a time by which to extend. Expected: seconds (\"30\"), or with a "
                          "unit (\"2min\"); an hour at most.",
                                s);
                return -1;
        }

        *ret = by;
        return 0;
}

int ctl_verb_extend(const Ctl *ctl, int argc, char **argv) {
        _cleanup_(boot_record_done) BootRecord record = {};
        _cleanup_free_ char *message = NULL;
        char how[END_TEXT_MAX];
        RequestOutcome outcome;
        usec_t by, wanted;

        if (parse_seconds(argv[1], &by) < 0)
                return CTL_USAGE;
        by -= by % USEC_PER_MSEC;

        if (asprintf(&message, INBOX_EXTEND_MS "=%" PRIu64 "\n", by / USEC_PER_MSEC) < 0)
                return ctl_oom();

        /* The daemon counts from when it reads the message, which is later. */
        wanted = fs_now() + by;
        outcome = request_send(ctl, message, &record);
        if (outcome == REQUEST_FAILED)
                return CTL_FAILED;
        if (!boot_is_over(&record))
                return report(wanted, &record);

        ctl_error("There is nothing to extend: RCU's boot %s %s",
                        outcome == REQUEST_MOOT ? "had ended" : "ended", request_end_to_text(&record, how));
        return CTL_FAILED;
}
