/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit-entry.h"

#include "audit-message.h"
#include "audit-text.h"
#include "names.h"
#include "udev.h"

#include <syslog.h>

#define IDENTIFIER "rcu-bootd"

/* Faults of a policy file that are told; `rcu-bootctl policy check` shows all. */
#define FAULTS_MAX 4U

static const struct {
        const char *id;
        int priority;
} kinds[_BOOT_AUDIT_MAX] = {
        [BOOT_AUDIT_STARTED] = { MESSAGE_ID_STARTED, LOG_INFO },
        [BOOT_AUDIT_MILESTONE] = { MESSAGE_ID_MILESTONE, LOG_INFO },
        [BOOT_AUDIT_ENDED] = { MESSAGE_ID_ENDED, LOG_NOTICE },
        [BOOT_AUDIT_DEADLINE] = { MESSAGE_ID_DEADLINE, LOG_WARNING },
        [BOOT_AUDIT_KNOB_WRITTEN] = { MESSAGE_ID_KNOB_WRITTEN, LOG_INFO },
        [BOOT_AUDIT_KNOB_FAILED] = { MESSAGE_ID_KNOB_FAILED, LOG_WARNING },
        [BOOT_AUDIT_EXTENDED] = { MESSAGE_ID_EXTENDED, LOG_NOTICE },
        [BOOT_AUDIT_STILL_EXPEDITED] = { MESSAGE_ID_STILL_EXPEDITED, LOG_WARNING },
        [BOOT_AUDIT_UNKEPT_PROMISE] = { MESSAGE_ID_UNKEPT_PROMISE, LOG_WARNING },
};

static void open_message(AuditEntry *e, int priority) {
        audit_text_begin(e, priority);
        audit_text_open(e, "MESSAGE", AUDIT_MESSAGE_MAX);
}

/* Ends the message, and adds what every entry has. */
static void close_message(AuditEntry *e, const char *id, usec_t now) {
        audit_text_close(e);
        if (id)
                audit_text_field(e, "MESSAGE_ID", id);
        audit_text_field_number(e, "PRIORITY", e->priority);
        audit_text_field(e, "SYSLOG_IDENTIFIER", IDENTIFIER);
        audit_text_field_unsigned(e, FIELD_BOOTTIME, now);
}

static void add_missing(AuditEntry *e, const BootRecord *r) {
        uint32_t bits = milestone_condition_missing(&r->end_when, r->reached);
        const char *separator = "";

        if (bits == 0)
                return;
        audit_text_open(e, FIELD_MISSING, AUDIT_VALUE_MAX);
        for (size_t i = 0; i < r->end_when.n_names; i++)
                if (bits & (UINT32_C(1) << i)) {
                        audit_text_put(e, separator);
                        audit_text_put(e, r->end_when.names[i]);
                        separator = " ";
                }
        audit_text_close(e);
}

static void add_end(AuditEntry *e, const BootRecord *r) {
        audit_text_field(e, FIELD_REASON, boot_reason_to_string(r->reason));
        if (!isempty(r->reason_text))
                audit_text_field(e, FIELD_REASON_TEXT, r->reason_text);
        audit_text_field(e, FIELD_MODE, rcu_mode_to_string(r->mode));
}

static void add_knob(AuditEntry *e, const BootRecord *r, const BootAction *action, const char *knob_path) {
        const KnobRecord *k = &r->knobs[action->knob];
        const KnobResult *result = &k->result[action->stage];
        int64_t before;

        audit_text_field(e, FIELD_KNOB, knob_info(action->knob)->name);
        if (knob_path) {
                audit_text_open(e, FIELD_KNOB_PATH, AUDIT_VALUE_MAX);
                audit_text_put(e, "/");
                audit_text_put(e, knob_path);
                audit_text_close(e);
        }
        if (audit_message_value_before(k, action->stage, &before))
                audit_text_field_number(e, FIELD_KNOB_BEFORE, before);
        audit_text_field_number(e, FIELD_KNOB_ASKED, result->asked);
        if (result->has_read_back)
                audit_text_field_number(e, FIELD_KNOB_READ_BACK, result->read_back);
        if (result->error < 0)
                audit_text_field_number(e, FIELD_ERRNO, -result->error);
}

static void add_sender(AuditEntry *e, const MessageSender *sender) {
        if (sender->pid > 0)
                audit_text_field_number(e, FIELD_PID, sender->pid);
        audit_text_field_unsigned(e, FIELD_UID, sender->uid);
}

static void add_fields(
                AuditEntry *e, const BootRecord *r, const BootAction *action, const AuditContext *context) {
        const MessageSender *sender = audit_message_sender(r, action, context);

        switch (action->audit) {
        case BOOT_AUDIT_STARTED:
        case BOOT_AUDIT_EXTENDED:
                audit_text_field_unsigned(e, FIELD_DEADLINE, r->deadline);
                add_missing(e, r);
                break;
        case BOOT_AUDIT_MILESTONE:
                audit_text_field(e, FIELD_MILESTONE, r->end_when.names[action->index]);
                audit_text_field(e, FIELD_SOURCE, milestone_source_to_string(r->reached_by[action->index]));
                add_missing(e, r);
                break;
        case BOOT_AUDIT_DEADLINE:
                audit_text_field_unsigned(e, FIELD_DEADLINE, r->deadline);
                add_missing(e, r);
                if (context->jobs && *context->jobs) {
                        audit_text_open(e, FIELD_JOBS, AUDIT_VALUE_MAX);
                        audit_message_put_jobs(e, context->jobs, " ");
                        audit_text_close(e);
                }
                _fallthrough_;
        case BOOT_AUDIT_ENDED:
        case BOOT_AUDIT_STILL_EXPEDITED:
                add_end(e, r);
                break;
        case BOOT_AUDIT_KNOB_WRITTEN:
        case BOOT_AUDIT_KNOB_FAILED:
                add_knob(e, r, action, context->knob_path);
                break;
        case BOOT_AUDIT_UNKEPT_PROMISE: /* the policy, which every entry names, is all there is to it */
        case _BOOT_AUDIT_MAX:
                break;
        }
        if (sender)
                add_sender(e, sender);
}

void audit_entry_transition(AuditEntry *e,
                const BootRecord *record,
                const BootAction *action,
                const AuditContext *context) {
        open_message(e, kinds[action->audit].priority);
        audit_message_put(e, record, action, context);
        close_message(e, kinds[action->audit].id, context->now);

        audit_text_field(e, FIELD_PHASE, boot_phase_to_string(record->phase));
        audit_text_field(e, FIELD_POLICY, strempty(record->policy_name));
        audit_text_field(e, FIELD_POLICY_FILE, strempty(record->policy_path));
        add_fields(e, record, action, context);
}

void audit_entry_policy_rejected(AuditEntry *e, const char *path, char *const *errors, usec_t now) {
        size_t n = strv_length(errors);

        open_message(e, LOG_ERR);
        audit_text_put(e, "Policy ignored: ");
        if (n == 0)
                audit_text_put(e, path);
        for (size_t i = 0; i < MIN(n, FAULTS_MAX); i++) {
                if (i > 0)
                        audit_text_put(e, "; ");
                audit_text_put(e, errors[i]);
        }
        if (n > FAULTS_MAX) {
                audit_text_put(e, "; and ");
                audit_text_put_unsigned(e, n - FAULTS_MAX);
                audit_text_put(e, " more");
        }
        close_message(e, MESSAGE_ID_POLICY_REJECTED, now);
        audit_text_field(e, FIELD_POLICY_FILE, path);
}

void audit_entry_refused(AuditEntry *e,
                const char *what,
                const MessageSender *sender,
                unsigned suppressed,
                usec_t now) {
        open_message(e, LOG_NOTICE);
        audit_text_put(e, "Refused a message from ");
        audit_message_put_sender(e, sender);
        audit_text_put(e, ": ");
        audit_text_put(e, what);
        if (suppressed > 0) {
                audit_text_put(e, "; ");
                audit_text_put_unsigned(e, suppressed);
                audit_text_put(e, " more were refused since the last report");
        }
        close_message(e, MESSAGE_ID_REFUSED, now);
        add_sender(e, sender);
}

void audit_entry_device_uninitialized(
                AuditEntry *e, const char *milestone, const char *syspath, usec_t now) {
        open_message(e, LOG_NOTICE);
        audit_text_put(e, milestone);
        audit_text_put(e, " counts as reached: ");
        audit_text_put(e, syspath);
        audit_text_put(e, " is there, but udev has not initialised it within ");
        audit_text_put_span(e, DEVICE_INIT_MAX_USEC);
        close_message(e, MESSAGE_ID_DEVICE_UNINITIALIZED, now);
        audit_text_field(e, FIELD_MILESTONE, milestone);
}

void audit_entry_log(AuditEntry *e, int priority, usec_t now, const char *format, va_list ap) {
        char message[AUDIT_MESSAGE_MAX];

        (void) vsnprintf(message, sizeof(message), format, ap);
        open_message(e, priority);
        audit_text_put(e, message);
        close_message(e, NULL, now);
}

const char *audit_entry_message(const AuditEntry *e, size_t *ret_size) {
        const char *message = e->text + STRLEN("MESSAGE=");

        *ret_size = (size_t) ((const char *) memchr(message, '\n', e->size) - message);
        return message;
}
