/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot-phase.h"

#include <assert.h>
#include <errno.h>

#include "strv.h"

static void push(BootActions *actions, BootAction action) {
        assert(actions->n < BOOT_ACTIONS_MAX);
        actions->items[actions->n++] = action;
}

static void push_audit(BootActions *actions, BootAudit audit) {
        push(actions, (BootAction){ .type = BOOT_ACTION_AUDIT, .audit = audit });
}

static bool is_open(const BootRecord *record) {
        return record->phase == BOOT_PHASE_PROBING || record->phase == BOOT_PHASE_BOOTING;
}

/* What a setting comes down to, if it is one that writes anything. */
static bool setting_to_number(const BootRecord *record, Knob knob, KnobStage stage, int64_t *ret) {
        const KnobRecord *k = &record->knobs[knob];
        const KnobSetting *s = &k->setting[stage];

        switch (s->action) {
        case KNOB_ACTION_VALUE:
                *ret = s->value;
                return true;
        case KNOB_ACTION_DEADLINE:
                *ret = (int64_t) (record->deadline / USEC_PER_MSEC);
                return *ret <= knob_info(knob)->max[stage];
        case KNOB_ACTION_RESTORE:
                /* A knob that could not be read has no earlier value to go back to. */
                *ret = k->has_found ? knob_restore_value(&k->setting[KNOB_STAGE_DURING], k->found,
                                                      k->kernel_default)
                                    : k->kernel_default;
                return *ret != KNOB_DEFAULT_UNKNOWN; /* nobody knows what to go back to: leave it */
        default:
                return false;
        }
}

/* Whether there is still something to write in this stage. */
static bool knob_is_due(const BootRecord *record, Knob knob, KnobStage stage, int64_t *ret_value) {
        const KnobRecord *k = &record->knobs[knob];

        return k->present && !k->result[stage].attempted &&
                        setting_to_number(record, knob, stage, ret_value);
}

static bool stage_is_due(const BootRecord *record, KnobStage stage) {
        int64_t value;

        FOREACH_KNOB(knob)
                if (knob_is_due(record, knob, stage, &value))
                        return true;

        return false;
}

static void push_writes(const BootRecord *record, KnobStage stage, BootActions *actions) {
        int64_t value;

        for (size_t i = 0; i < _KNOB_MAX; i++) {
                Knob knob = knob_order(stage, i);

                if (knob_is_due(record, knob, stage, &value))
                        push(actions,
                                        (BootAction){ .type = BOOT_ACTION_WRITE_KNOB,
                                                        .knob = knob,
                                                        .stage = stage,
                                                        .value = value });
        }
}

/* The writes come before anything is recorded: they are what the machine is waiting for. Dying in between
 * does no harm, as a daemon that goes on from an older record never writes a [During] value a second time.
 */
static void end_boot(
                BootRecord *record, BootReason reason, const char *text, usec_t now, BootActions *actions) {
        record->phase = BOOT_PHASE_ENDING;
        record->reason = reason;
        snprintf(record->reason_text, sizeof(record->reason_text), "%s", strempty(text));
        record->since = now;

        push_writes(record, KNOB_STAGE_AFTER, actions);
        if (!stage_is_due(record, KNOB_STAGE_AFTER))
                push(actions, (BootAction){ .type = BOOT_ACTION_READ_MODE });
}

static void begin_booting(BootRecord *record, usec_t now, BootActions *actions) {
        record->phase = BOOT_PHASE_BOOTING;
        record->since = now;

        /* Recorded first: whoever comes after a crash must know the values from before. */
        push(actions, (BootAction){ .type = BOOT_ACTION_SAVE });
        push_writes(record, KNOB_STAGE_DURING, actions);
        push_audit(actions, BOOT_AUDIT_STARTED);
}

static bool is_satisfied(const BootRecord *record, const BootEvent *event) {
        return milestone_condition_holds(&record->end_when, record->reached) && !event->rescue &&
                        event->now >= record->not_before;
}

static void finish_probing(BootRecord *record, const BootEvent *event, BootActions *actions) {
        if (is_satisfied(record, event))
                end_boot(record, BOOT_REASON_LATE_START, NULL, event->now, actions);
        else if (event->now >= record->deadline)
                end_boot(record, BOOT_REASON_DEADLINE, NULL, event->now, actions);
        else
                begin_booting(record, event->now, actions);
}

/* Goes on with what an earlier daemon of this boot left. */
static void resume(BootRecord *record, const BootEvent *event, BootActions *actions) {
        switch (record->phase) {
        case BOOT_PHASE_PROBING:
                record->since = event->now;
                push(actions, (BootAction){ .type = BOOT_ACTION_SAVE });
                break;

        case BOOT_PHASE_BOOTING:
                if (event->now >= record->deadline)
                        break; /* on_time() ends it: nothing is expedited for the last instant */
                push(actions, (BootAction){ .type = BOOT_ACTION_SAVE });
                push_writes(record, KNOB_STAGE_DURING, actions);
                push_audit(actions, BOOT_AUDIT_STARTED);
                break;

        case BOOT_PHASE_ENDING:
                FOREACH_KNOB(knob)
                        record->knobs[knob].result[KNOB_STAGE_AFTER] = (KnobResult){};
                end_boot(record, record->reason, record->reason_text, record->since, actions);
                break;

        default:
                push(actions, (BootAction){ .type = BOOT_ACTION_QUIT });
        }
}

static void begin(BootRecord *record, const BootEvent *event, BootActions *actions) {
        record->started = event->now;
        record->since = event->now;

        if (event->start.damaged)
                end_boot(record, BOOT_REASON_STATE_INVALID, NULL, event->now, actions);
        else if (event->now >= record->deadline)
                end_boot(record, BOOT_REASON_LATE_START, NULL, event->now, actions);
        else {
                record->phase = BOOT_PHASE_PROBING;
                push(actions, (BootAction){ .type = BOOT_ACTION_SAVE });
        }
}

static void on_start(BootRecord *record, const BootEvent *event, BootActions *actions) {
        bool was_over = record->phase == BOOT_PHASE_ENDED;

        record->starts++;

        if (record->phase == BOOT_PHASE_NONE)
                begin(record, event, actions);
        else
                resume(record, event, actions);

        /* Last, as whatever is written now is more urgent; and by every daemon that has a boot to see to, in
         * case an earlier one died before it came to this. */
        if (event->start.promised && !boot_record_reports(record) && !was_over)
                push_audit(actions, BOOT_AUDIT_UNKEPT_PROMISE);
}

static void on_end(BootRecord *record, const BootEvent *event, BootActions *actions) {
        if (is_open(record))
                end_boot(record, event->end.reason, event->end.text, event->now, actions);
}

/* The machine must end up in its after state, whatever the daemon died of: boot is left to the next daemon
 * only if there will be one, and if it has the record to go on with. */
static void on_died(BootRecord *record, const BootEvent *event, BootActions *actions) {
        bool stopped = event->died.told_to_stop, restarts = event->died.restarts && !stopped;

        if (record->phase == BOOT_PHASE_ENDED)
                return;

        record->deaths += !stopped;

        if (record->phase == BOOT_PHASE_NONE) {
                record->started = event->now;
                record->starts = 1;
        } else if (restarts && record->deaths < BOOT_DEATHS_MAX && event->now < record->deadline) {
                push(actions, (BootAction){ .type = BOOT_ACTION_SAVE });
                return;
        }

        end_boot(record, stopped ? BOOT_REASON_STOPPED : BOOT_REASON_DAEMON_DIED, NULL, event->now, actions);
}

static void on_milestone(BootRecord *record, const BootEvent *event, BootActions *actions) {
        unsigned i = event->milestone.index;

        if (!is_open(record) || i >= record->end_when.n_names || record->reached & (UINT32_C(1) << i))
                return;

        record->reached |= UINT32_C(1) << i;
        record->reached_at[i] = event->now;
        record->reached_by[i] = event->milestone.source;

        if (record->phase == BOOT_PHASE_BOOTING && is_satisfied(record, event))
                end_boot(record, BOOT_REASON_MILESTONES, NULL, event->now, actions);
        else
                push(actions, (BootAction){ .type = BOOT_ACTION_SAVE });

        push(actions, (BootAction){ .type = BOOT_ACTION_AUDIT, .audit = BOOT_AUDIT_MILESTONE, .index = i });
}

/* The kernel's own fallback follows the deadline, as far as its range goes. */
static void push_kernel_deadline(BootRecord *record, BootActions *actions) {
        KnobRecord *k = &record->knobs[KNOB_BOOT_END_DELAY];
        int64_t value;

        if (k->setting[KNOB_STAGE_DURING].action != KNOB_ACTION_DEADLINE ||
                        !setting_to_number(record, KNOB_BOOT_END_DELAY, KNOB_STAGE_DURING, &value))
                return;

        k->result[KNOB_STAGE_DURING] = (KnobResult){};
        push_writes(record, KNOB_STAGE_DURING, actions);
}

static void on_extend(BootRecord *record, const BootEvent *event, BootActions *actions) {
        usec_t wanted;

        if (!is_open(record) || event->now >= record->deadline)
                return;

        wanted = event->extend.by < POLICY_DEADLINE_MAX_USEC - event->now ? event->now + event->extend.by
                                                                          : POLICY_DEADLINE_MAX_USEC;
        if (wanted <= record->deadline)
                return;

        record->deadline = wanted;
        record->extended = true;

        if (record->phase == BOOT_PHASE_BOOTING)
                push_kernel_deadline(record, actions);
        push(actions, (BootAction){ .type = BOOT_ACTION_SAVE });
        push_audit(actions, BOOT_AUDIT_EXTENDED);
}

static void on_knob(BootRecord *record, const BootEvent *event, BootActions *actions) {
        Knob knob = event->knob.knob;
        KnobStage stage = event->knob.stage;
        int error = event->knob.result.error;

        record->knobs[knob].result[stage] = event->knob.result;
        record->knobs[knob].result[stage].attempted = true;

        if (stage == KNOB_STAGE_AFTER && record->phase == BOOT_PHASE_ENDING && !stage_is_due(record, stage))
                push(actions, (BootAction){ .type = BOOT_ACTION_READ_MODE });
        if (stage == KNOB_STAGE_DURING && !stage_is_due(record, stage))
                push(actions, (BootAction){ .type = BOOT_ACTION_SAVE });

        if (!knob_error_is_benign(knob, stage, error))
                push(actions,
                                (BootAction){ .type = BOOT_ACTION_AUDIT,
                                                .audit = error < 0 ? BOOT_AUDIT_KNOB_FAILED
                                                                   : BOOT_AUDIT_KNOB_WRITTEN,
                                                .knob = knob,
                                                .stage = stage,
                                                .value = event->knob.result.asked });
}

static void note_knobs(BootRecord *record, const BootEvent *event) {
        FOREACH_KNOB(knob)
                if (event->came & (1U << knob))
                        record->knobs[knob].present = true;
}

/* What came too late to be written when booting began. The other events write by themselves what is due, or
 * are answers while some of it is still on its way. */
static void catch_up(const BootRecord *record, const BootEvent *event, BootActions *actions) {
        if (record->phase == BOOT_PHASE_BOOTING &&
                        (event->type == BOOT_EVENT_MILESTONE || event->type == BOOT_EVENT_TICK))
                push_writes(record, KNOB_STAGE_DURING, actions);
}

static bool may_stay_expedited(const BootRecord *record) {
        const KnobSetting *s = &record->knobs[KNOB_EXPEDITED].setting[KNOB_STAGE_AFTER];
        int64_t value;

        return s->action == KNOB_ACTION_KEEP ||
                        (setting_to_number(record, KNOB_EXPEDITED, KNOB_STAGE_AFTER, &value) && value != 0);
}

static void on_mode(BootRecord *record, const BootEvent *event, BootActions *actions) {
        if (record->phase != BOOT_PHASE_ENDING)
                return;

        record->phase = BOOT_PHASE_ENDED;
        record->mode = event->mode.mode;

        push(actions, (BootAction){ .type = BOOT_ACTION_SAVE });
        push_audit(actions, record->reason == BOOT_REASON_DEADLINE ? BOOT_AUDIT_DEADLINE : BOOT_AUDIT_ENDED);
        if (record->mode == RCU_MODE_EXPEDITED && !may_stay_expedited(record))
                push_audit(actions, BOOT_AUDIT_STILL_EXPEDITED);
        push(actions, (BootAction){ .type = BOOT_ACTION_QUIT });
}

/* Time passes with every event, not only with the timer's. */
static void on_time(BootRecord *record, const BootEvent *event, BootActions *actions) {
        if (record->phase == BOOT_PHASE_BOOTING && is_satisfied(record, event))
                end_boot(record, BOOT_REASON_MILESTONES, NULL, event->now, actions);
        else if (is_open(record) && event->now >= record->deadline)
                end_boot(record, BOOT_REASON_DEADLINE, NULL, event->now, actions);
        else if (record->phase == BOOT_PHASE_PROBING && event->now >= record->since + BOOT_PROBE_MAX_USEC)
                finish_probing(record, event, actions);
}

static usec_t next_tick(const BootRecord *record, const BootEvent *event) {
        usec_t at = record->deadline;

        if (record->phase == BOOT_PHASE_PROBING)
                at = MIN(at, record->since + BOOT_PROBE_MAX_USEC);
        else if (milestone_condition_holds(&record->end_when, record->reached)) {
                if (event->now < record->not_before)
                        at = MIN(at, record->not_before);
                else if (event->rescue)
                        at = MIN(at, event->now + BOOT_RESCUE_RECHECK_USEC);
        }

        return at;
}

void boot_phase_step(BootRecord *record, const BootEvent *event, BootActions *ret_actions) {
        bool booting = record->phase == BOOT_PHASE_BOOTING;

        ret_actions->n = 0;
        note_knobs(record, event);

        switch (event->type) {
        case BOOT_EVENT_START:
                on_start(record, event, ret_actions);
                break;
        case BOOT_EVENT_PROBED:
                if (record->phase == BOOT_PHASE_PROBING)
                        finish_probing(record, event, ret_actions);
                break;
        case BOOT_EVENT_DIED:
                on_died(record, event, ret_actions);
                return; /* there is no daemon that could do anything in time */
        case BOOT_EVENT_MILESTONE:
                on_milestone(record, event, ret_actions);
                break;
        case BOOT_EVENT_END:
                on_end(record, event, ret_actions);
                break;
        case BOOT_EVENT_EXTEND:
                on_extend(record, event, ret_actions);
                break;
        case BOOT_EVENT_KNOB:
                on_knob(record, event, ret_actions);
                break;
        case BOOT_EVENT_MODE:
                on_mode(record, event, ret_actions);
                break;
        default: /* BOOT_EVENT_TICK says only what time it is */
                break;
        }

        on_time(record, event, ret_actions);
        if (booting)
                catch_up(record, event, ret_actions);
        if (is_open(record))
                push(ret_actions,
                                (BootAction){ .type = BOOT_ACTION_ARM_TIMER,
                                                .at = next_tick(record, event) });
}
