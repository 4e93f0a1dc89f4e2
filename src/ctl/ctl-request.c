/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-request.h"

#include <errno.h>

#include "ctl-output.h"
#include "inbox-client.h"
#include "names.h"
#include "state-file.h"

/* Long enough for a daemon that is waiting for PID 1's list of jobs, on a busy machine. */
#define REQUEST_TIMEOUT_USEC (30 * USEC_PER_SEC)

bool boot_is_over(const BootRecord *record) {
        return record->phase == BOOT_PHASE_ENDING || record->phase == BOOT_PHASE_ENDED;
}

const char *request_end_to_text(const BootRecord *record, char buf[static END_TEXT_MAX]) {
        char sec[SEC_TEXT_MAX];

        snprintf(buf, END_TEXT_MAX, "at %s: %s", format_sec(record->since, sec),
                        boot_reason_to_sentence(record->reason));
        return buf;
}

void request_explain_state_error(const Ctl *ctl, int error) {
        const char *slash = endswith(ctl->root, "/") ? "" : "/";

        if (error == -ENOENT)
                ctl_error("rcu-bootd has not run since this system started: there is no %s%s%s.\n"
                          "To let it end RCU's boot, now and at each boot:\n"
                          "  systemctl enable --now " UNIT_NAME,
                                ctl->root, slash, PATH_STATE);
        else if (error == -EBADMSG)
                ctl_error("%s%s%s cannot be understood: it was damaged, or written by another version.\n"
                          "To have boot ended and the file written anew:\n"
                          "  systemctl restart " UNIT_NAME,
                                ctl->root, slash, PATH_STATE);
        else
                ctl_error("Cannot read %s%s%s: %s. The file and the directories above it are to be readable "
                          "for everyone.",
                                ctl->root, slash, PATH_STATE, strerror(-error));
}

static void explain_send_error(const Ctl *ctl, int error, int state_error, const BootRecord *record) {
        char sec[SEC_TEXT_MAX];

        if (error == -ETIMEDOUT)
                ctl_error("rcu-bootd did not answer within %s. See: systemctl status " UNIT_NAME,
                                format_sec(REQUEST_TIMEOUT_USEC, sec));
        else if (error != -ENOENT && error != -ECONNREFUSED)
                ctl_error("Cannot send to rcu-bootd: %s", strerror(-error));
        else if (state_error < 0)
                request_explain_state_error(ctl, state_error);
        else
                ctl_error("rcu-bootd is not running, although boot has not ended (phase: %s).\n"
                          "If systemd does not start it again by itself:\n"
                          "  systemctl restart " UNIT_NAME,
                                boot_phase_to_string(record->phase));
}

/* Whether the state says that boot is over; then *ret is filled. */
static bool is_moot(const Ctl *ctl, BootRecord *ret) {
        BootRecord record = {};

        if (state_file_read(ctl->root_fd, &record) < 0)
                return false;
        if (!boot_is_over(&record)) {
                boot_record_done(&record);
                return false;
        }

        *ret = record;
        return true;
}

RequestOutcome request_send(const Ctl *ctl, const char *text, BootRecord *ret) {
        BootRecord record = {};
        int r, k;

        if (is_moot(ctl, ret))
                return REQUEST_MOOT;

        r = inbox_client_send(ctl->root_fd, text, REQUEST_TIMEOUT_USEC);
        k = state_file_read(ctl->root_fd, &record);
        if (r >= 0 && k >= 0) {
                *ret = record;
                return REQUEST_HANDLED;
        }

        /* The daemon may have ended boot, and gone, while we were about to ask. */
        if (r < 0 && k >= 0 && boot_is_over(&record)) {
                *ret = record;
                return REQUEST_MOOT;
        }

        if (r < 0)
                explain_send_error(ctl, r, k, &record);
        else
                request_explain_state_error(ctl, k);
        if (k >= 0)
                boot_record_done(&record);
        return REQUEST_FAILED;
}
