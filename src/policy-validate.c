/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy-internal.h"

/* Whether the key stands anywhere, be its value valid or not. */
static bool is_named(const PolicyParser *p, PolicySection s, unsigned key) {
        return p->named[s] & (UINT32_C(1) << key);
}

/* A fault of what a setting is in the company of others. */
#define origin_fault(p, o, ...) policy_fault(&(p)->faults, (o)->file, (o)->line, __VA_ARGS__)

/* A policy that nothing but its deadline can end is a mistake: it would warn at every boot. */
static void validate_end_when(PolicyParser *p) {
        static const char expected[] = "expected the milestones that mean \"booted\"";

        if (p->policy->end_when.n_alternatives > 0 || p->faults.incomplete)
                return;
        if (!is_named(p, POLICY_SECTION_BOOT, POLICY_BOOT_END_WHEN))
                policy_fault(&p->faults, p->policy->path, 0, "no EndWhen= in [Boot]; %s", expected);
        else if (p->reset_path)
                policy_fault(&p->faults, p->reset_path, p->reset_line,
                                "EndWhen= drops what stands above, and nothing follows; %s", expected);
}

static void validate_times(PolicyParser *p) {
        const Policy *policy = p->policy;
        char not_before[POLICY_SEC_MAX], deadline[POLICY_SEC_MAX];

        if (policy->not_before < policy->deadline || !policy->not_before_origin.file)
                return;
        /* A deadline that was refused is no measure. */
        if (!policy->deadline_origin.file && is_named(p, POLICY_SECTION_BOOT, POLICY_BOOT_DEADLINE))
                return;
        origin_fault(p, &policy->not_before_origin,
                        "NotBeforeSec= is %s; expected less than %s, which is the deadline%s",
                        policy_format_sec(policy->not_before, not_before),
                        policy_format_sec(policy->deadline, deadline),
                        policy->deadline_origin.file ? "" : " unless DeadlineSec= is set");
}

/* The number that `deadline` stands for must be one that the kernel takes. */
static void validate_knob_deadline(PolicyParser *p, Knob knob) {
        const PolicyKnob *k = &p->policy->knobs[knob];
        const KnobInfo *info = knob_info(knob);
        usec_t max = (usec_t) info->max[KNOB_STAGE_DURING] * USEC_PER_MSEC,
               min = (usec_t) info->min[KNOB_STAGE_DURING] * USEC_PER_MSEC;
        char deadline[POLICY_SEC_MAX], low[POLICY_SEC_MAX], high[POLICY_SEC_MAX];

        if (k->setting[KNOB_STAGE_DURING].action != KNOB_ACTION_DEADLINE ||
                        (p->policy->deadline >= min && p->policy->deadline <= max))
                return;
        origin_fault(p, &k->origin[KNOB_STAGE_DURING],
                        "%s=deadline: the kernel takes %s to %s, but the deadline is %s; expected another "
                        "DeadlineSec=, a number, or that this line is left out",
                        info->name, policy_format_sec(min, low), policy_format_sec(max, high),
                        policy_format_sec(p->policy->deadline, deadline));
}

/* What was set for boot must not stay because nobody thought of it. */
static void validate_knob_after(PolicyParser *p, Knob knob) {
        const PolicyKnob *k = &p->policy->knobs[knob];

        if (k->setting[KNOB_STAGE_DURING].action == KNOB_ACTION_NONE || p->faults.incomplete ||
                        is_named(p, POLICY_SECTION_AFTER, knob))
                return;
        origin_fault(p, &k->origin[KNOB_STAGE_DURING],
                        "%s= is set in [During] but not in [After]; expected it there too: a value, keep%s",
                        knob_info(knob)->name, knob_info(knob)->restorable ? " or restore" : "");
}

void policy_validate(PolicyParser *p) {
        validate_end_when(p);
        validate_times(p);
        FOREACH_KNOB(k) {
                validate_knob_deadline(p, k);
                validate_knob_after(p, k);
        }
}
