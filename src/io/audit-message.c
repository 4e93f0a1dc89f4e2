/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit-message.h"

#include "audit-text.h"
#include "knobs.h"
#include "names.h"

#include <errno.h>

/* Not what milestone_source_to_string() gives, which is for programs. */
static const char *const source_words[_MILESTONE_SOURCE_MAX] = {
        [MILESTONE_SOURCE_BUS] = "system bus",
        [MILESTONE_SOURCE_DIRECTORY] = "milestone directory",
        [MILESTONE_SOURCE_INBOX] = "inbox",
        [MILESTONE_SOURCE_PID1] = "message from PID 1",
        [MILESTONE_SOURCE_UDEV] = "udev",
};

static uint32_t missing(const BootRecord *r) {
        return milestone_condition_missing(&r->end_when, r->reached);
}

static void put_were_reached(
                AuditEntry *e, const BootRecord *r, uint32_t bits, const char *one, const char *many) {
        audit_text_put_names(e, &r->end_when, bits);
        audit_text_put(e, (bits & (bits - 1)) == 0 ? one : many);
}

static void put_started(AuditEntry *e, const BootRecord *r) {
        const MilestoneCondition *c = &r->end_when;

        if (r->starts > 1) {
                audit_text_put(e, "Start number ");
                audit_text_put_unsigned(e, r->starts);
                audit_text_put(e, " of the daemon: ");
        }
        audit_text_put(e, "RCU's boot lasts until ");
        for (size_t i = 0; i < c->n_alternatives; i++) {
                if (i > 0)
                        audit_text_put(e, ", or ");
                put_were_reached(e, r, c->alternatives[i], " is reached", " are reached");
        }
        if (r->not_before > 0) {
                audit_text_put(e, ", not before ");
                audit_text_put_span(e, r->not_before);
        }
        audit_text_put(e, ", at most until ");
        audit_text_put_span(e, r->deadline);
        audit_text_put(e, " after the kernel started; policy ");
        audit_text_put(e, strempty(r->policy_name));
        audit_text_put(e, ": ");
        audit_text_put(e, strempty(r->policy_why));
}

void audit_message_put_sender(AuditEntry *e, const MessageSender *sender) {
        if (sender->pid > 0) {
                audit_text_put(e, "PID ");
                audit_text_put_number(e, sender->pid);
        } else
                audit_text_put(e, "outside the PID namespace");
        audit_text_put(e, ", UID ");
        audit_text_put_unsigned(e, sender->uid);
}

const MessageSender *audit_message_sender(
                const BootRecord *r, const BootAction *action, const AuditContext *context) {
        switch (action->audit) {
        case BOOT_AUDIT_MILESTONE:
                return r->reached_by[action->index] == MILESTONE_SOURCE_INBOX ? context->sender : NULL;
        case BOOT_AUDIT_ENDED:
                return r->reason == BOOT_REASON_MANUAL ? context->sender : NULL;
        case BOOT_AUDIT_EXTENDED:
                return context->sender;
        default:
                return NULL;
        }
}

static void put_sender(AuditEntry *e, const char *before, const MessageSender *sender) {
        if (!sender)
                return;
        audit_text_put(e, before);
        audit_message_put_sender(e, sender);
}

static void put_milestone(AuditEntry *e, const BootRecord *r, unsigned i, const MessageSender *sender) {
        audit_text_put(e, r->end_when.names[i]);
        audit_text_put(e, " reached at ");
        audit_text_put_time(e, r->reached_at[i]);
        audit_text_put(e, " (");
        audit_text_put(e, source_words[r->reached_by[i]]);
        put_sender(e, ", from ", sender);
        audit_text_put(e, ")");
        if (missing(r) != 0) {
                audit_text_put(e, "; still missing: ");
                audit_text_put_names(e, &r->end_when, missing(r));
        }
}

/* The alternative that holds. */
static uint32_t satisfied(const BootRecord *r) {
        for (size_t i = 0; i < r->end_when.n_alternatives; i++)
                if ((r->end_when.alternatives[i] & ~r->reached) == 0)
                        return r->end_when.alternatives[i];

        return r->reached;
}

static void put_ended(AuditEntry *e, const BootRecord *r, const MessageSender *sender) {
        audit_text_put(e, "RCU's boot ended at ");
        audit_text_put_time(e, r->since);
        audit_text_put(e, ": ");
        if (r->reason == BOOT_REASON_MILESTONES)
                put_were_reached(e, r, satisfied(r), " was reached", " were reached");
        else
                audit_text_put(e, boot_reason_to_sentence(r->reason));
        put_sender(e, " by ", sender);
        if (!isempty(r->reason_text)) {
                audit_text_put(e, " (\"");
                audit_text_put(e, r->reason_text);
                audit_text_put(e, "\")");
        }
}

void audit_message_put_jobs(AuditEntry *e, char *const *jobs, const char *separator) {
        for (char *const *job = jobs; *job; job++) {
                if (job > jobs)
                        audit_text_put(e, separator);
                audit_text_put(e, *job);
        }
}

static void put_deadline(AuditEntry *e, const BootRecord *r, char *const *jobs) {
        audit_text_put(e, "Deadline of ");
        audit_text_put_span(e, r->deadline);
        audit_text_put(e, " passed, so RCU's boot ended; ");
        if (missing(r) != 0) {
                audit_text_put(e, "still missing: ");
                audit_text_put_names(e, &r->end_when, missing(r));
        } else
                audit_text_put(e,
                                "no milestone is missing, but a rescue shell or NotBeforeSec= kept boot "
                                "from ending");
        if (jobs && *jobs) {
                audit_text_put(e, ". Pending jobs: ");
                audit_message_put_jobs(e, jobs, ", ");
        }
}

bool audit_message_value_before(const KnobRecord *k, KnobStage stage, int64_t *ret) {
        const KnobResult *during = &k->result[KNOB_STAGE_DURING];

        if (stage == KNOB_STAGE_AFTER && during->has_read_back)
                *ret = during->read_back;
        else if (k->has_found)
                *ret = k->found;
        else
                return false;
        return true;
}

static void put_unit(AuditEntry *e, const KnobInfo *info) {
        if (!info->unit)
                return;
        audit_text_put(e, " ");
        audit_text_put(e, info->unit);
}

static void put_knob_written(AuditEntry *e, const BootRecord *r, const BootAction *action) {
        const KnobRecord *k = &r->knobs[action->knob];
        const KnobInfo *info = knob_info(action->knob);
        int64_t asked = k->result[action->stage].asked, before;

        audit_text_put(e, info->name);
        if (!audit_message_value_before(k, action->stage, &before))
                audit_text_put(e, ": set to ");
        else if (before == asked)
                audit_text_put(e, ": stays ");
        else {
                audit_text_put(e, ": ");
                audit_text_put_number(e, before);
                audit_text_put(e, " -> ");
        }
        audit_text_put_number(e, asked);
        put_unit(e, info);
}

static void put_knob_failed(AuditEntry *e, const BootRecord *r, const BootAction *action) {
        const KnobResult *result = &r->knobs[action->knob].result[action->stage];
        const KnobInfo *info = knob_info(action->knob);
        bool differs = result->error == -EIO && result->has_read_back;
        char buf[128];
        const char *hint;

        audit_text_put(e, info->name);
        audit_text_put(e, differs ? " was set to " : " could not be set to ");
        audit_text_put_number(e, result->asked);
        put_unit(e, info);
        if (differs) {
                audit_text_put(e, " but reads ");
                audit_text_put_number(e, result->read_back);
        }
        audit_text_put(e, ", going on with the other knobs: ");
        if (differs) {
                audit_text_put(e, "something else writes it, too");
                return;
        }
        audit_text_put(e, knobs_error_to_string(result->error, buf, sizeof(buf)));
        hint = knobs_error_hint(action->knob, result->error);
        if (hint) {
                audit_text_put(e, ": ");
                audit_text_put(e, hint);
        }
}

static void put_extended(AuditEntry *e, const BootRecord *r, const MessageSender *sender) {
        const KnobRecord *k = &r->knobs[KNOB_BOOT_END_DELAY];
        const KnobInfo *info = knob_info(KNOB_BOOT_END_DELAY);

        audit_text_put(e, "Deadline moved to ");
        audit_text_put_span(e, r->deadline);
        audit_text_put(e, " after the kernel started");
        put_sender(e, ", asked for by ", sender);
        if (!k->present || k->setting[KNOB_STAGE_DURING].action != KNOB_ACTION_DEADLINE ||
                        r->deadline / USEC_PER_MSEC <= (usec_t) info->max[KNOB_STAGE_DURING])
                return;
        audit_text_put(e, "; ");
        audit_text_put(e, info->name);
        audit_text_put(e, " goes no further than ");
        audit_text_put_span(e, (usec_t) info->max[KNOB_STAGE_DURING] * USEC_PER_MSEC);
        audit_text_put(e, " and stays as it is, so that the kernel's own fallback comes first");
}

/* The mode is EXPEDITED, and the policy does not say that it may be. */
static void put_still_expedited(AuditEntry *e, const BootRecord *r) {
        const KnobResult *result = &r->knobs[KNOB_EXPEDITED].result[KNOB_STAGE_AFTER];
        const char *knob = knob_info(KNOB_EXPEDITED)->name;

        audit_text_put(e, "RCU is still expedited after the end of its boot: ");
        if (!result->attempted) {
                audit_text_put(e, "something set ");
                audit_text_put(e, knob);
                audit_text_put(e, ", and policy ");
                audit_text_put(e, strempty(r->policy_name));
                audit_text_put(e, " does not name it in [After]");
        } else {
                audit_text_put(e, knob);
                audit_text_put(e,
                                result->error < 0 ? " could not be cleared"
                                                  : " was cleared, but something has set it again");
        }
        audit_text_put(e, ". Each grace period interrupts every CPU that is not idle");
}

static void put_unkept_promise(AuditEntry *e, const BootRecord *r) {
        audit_text_put(e, "The kernel was promised a report (" KERNEL_PROMISE "=1), but policy ");
        audit_text_put(e, strempty(r->policy_name));
        audit_text_put(e,
                        " does not write user_booted=1: what waits for it in the kernel is left to its "
                        "fallback. Add user_booted=1 to [After], or take " KERNEL_PROMISE
                        " off the kernel command line or the module's options");
}

void audit_message_put(
                AuditEntry *e, const BootRecord *r, const BootAction *action, const AuditContext *context) {
        const MessageSender *sender = audit_message_sender(r, action, context);

        switch (action->audit) {
        case BOOT_AUDIT_STARTED:
                put_started(e, r);
                break;
        case BOOT_AUDIT_MILESTONE:
                put_milestone(e, r, action->index, sender);
                break;
        case BOOT_AUDIT_ENDED:
                put_ended(e, r, sender);
                break;
        case BOOT_AUDIT_DEADLINE:
                put_deadline(e, r, context->jobs);
                break;
        case BOOT_AUDIT_KNOB_WRITTEN:
                put_knob_written(e, r, action);
                break;
        case BOOT_AUDIT_KNOB_FAILED:
                put_knob_failed(e, r, action);
                break;
        case BOOT_AUDIT_EXTENDED:
                put_extended(e, r, sender);
                break;
        case BOOT_AUDIT_STILL_EXPEDITED:
                put_still_expedited(e, r);
                break;
        case BOOT_AUDIT_UNKEPT_PROMISE:
                put_unkept_promise(e, r);
                break;
        case _BOOT_AUDIT_MAX:
                break;
        }
}
