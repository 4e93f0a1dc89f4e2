/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-output.h"
#include "ctl-request.h"
#include "names.h"

/* `rcu-bootctl end`: 0 also where boot had ended before, as it is what was wanted. */

/* A newline would be a field of its own. The daemon cuts what is too long. */
static int format_message(const char *reason, char **ret) {
        int r = reason ? asprintf(ret, INBOX_BOOT_END "=1\n" INBOX_REASON "=%s\n", reason)
                       : asprintf(ret, INBOX_BOOT_END "=1\n");

        return r < 0 ? -1 : 0;
}

static int report(RequestOutcome outcome, const BootRecord *record) {
        char how[END_TEXT_MAX];

        if (!boot_is_over(record)) {
                if (geteuid() != 0)
                        ctl_error("Only root may end RCU's boot; it goes on. Try: sudo rcu-bootctl end");
                else
                        ctl_error("rcu-bootd received the request, but RCU's boot goes on (phase: %s). Its "
                                  "reasons are in the journal: rcu-bootctl log",
                                        boot_phase_to_string(record->phase));
                return CTL_FAILED;
        }

        printf("RCU's boot %s %s\n", outcome == REQUEST_MOOT ? "had ended already" : "has ended",
                        request_end_to_text(record, how));
        return CTL_DONE;
}

int ctl_verb_end(const Ctl *ctl, int argc, char **argv) {
        _cleanup_(boot_record_done) BootRecord record = {};
        _cleanup_free_ char *reason = NULL, *message = NULL;
        RequestOutcome outcome;

        if (ctl->reason) {
                reason = strdup(ctl->reason);
                if (!reason)
                        return ctl_oom();
                text_harmless(reason);
        }
        if (format_message(reason, &message) < 0)
                return ctl_oom();

        outcome = request_send(ctl, message, &record);
        return outcome == REQUEST_FAILED ? CTL_FAILED : report(outcome, &record);
}
