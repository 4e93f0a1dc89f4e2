/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-output.h"
#include "ctl-request.h"
#include "names.h"
#include "strv.h"

/* `rcu-bootctl milestone NAME...`: 0 also where the policy does not wait for NAME, or boot had ended before:
 * an application announces what it has reached on every system, whatever that system makes of it. 1 if the
 * policy waits for it and it did not count. */

static int format_message(int n, char **names, char **ret) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *f;

        f = open_memstream(&text, &size);
        if (!f)
                return -1;
        for (int i = 0; i < n; i++)
                fprintf(f, INBOX_MILESTONE "=%s\n", names[i]);
        if (fclose(f) != 0)
                return -1;

        *ret = TAKE_PTR(text);
        return 0;
}

static bool is_valid(const char *name) {
        if (milestone_name_is_valid(name))
                return true;

        ctl_error("\"%s\" is not a milestone's name. Expected: at most %u printable ASCII characters, "
                  "without blanks, quotes, #, ;, =, \\ and /.",
                        name, MILESTONE_NAME_MAX);
        return false;
}

static int report_one(const BootRecord *record, const char *name) {
        char sec[SEC_TEXT_MAX];
        int i;

        i = milestone_condition_find(&record->end_when, name);
        if (i < 0) {
                printf("%s: policy %s does not wait for it; it changes nothing.\n", name,
                                record->policy_name);
                return CTL_DONE;
        }
        if (record->reached & (UINT32_C(1) << i)) {
                printf("%s: reached at %s.\n", name, format_sec(record->reached_at[i], sec));
                return CTL_DONE;
        }

        if (geteuid() != 0)
                ctl_error("%s: did not count: root may announce it, and, unless it is a unit, a device "
                          "or " MILESTONE_STARTUP_FINISHED ", those whom policy %s lists with AllowUsers=.",
                                name, record->policy_name);
        else
                ctl_error("%s: rcu-bootd received it, but it did not count. Its reasons are in the journal: "
                          "rcu-bootctl log",
                                name);
        return CTL_FAILED;
}

int ctl_verb_milestone(const Ctl *ctl, int argc, char **argv) {
        _cleanup_(boot_record_done) BootRecord record = {};
        _cleanup_free_ char *message = NULL;
        char how[END_TEXT_MAX];
        RequestOutcome outcome;
        int code = CTL_DONE;

        for (int i = 1; i < argc; i++)
                if (!is_valid(argv[i]))
                        return CTL_USAGE;

        if (format_message(argc - 1, argv + 1, &message) < 0)
                return ctl_oom();

        outcome = request_send(ctl, message, &record);
        if (outcome == REQUEST_FAILED)
                return CTL_FAILED;

        /* Reached or not: what was announced too late to be looked at makes no difference. */
        if (boot_is_over(&record)) {
                printf("RCU's boot %s %s\n", outcome == REQUEST_MOOT ? "had ended already" : "has ended",
                                request_end_to_text(&record, how));
                return CTL_DONE;
        }

        for (int i = 1; i < argc; i++)
                if (report_one(&record, argv[i]) != CTL_DONE)
                        code = CTL_FAILED;
        return code;
}
