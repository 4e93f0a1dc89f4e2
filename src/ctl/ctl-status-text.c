/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-status.h"

#include <inttypes.h>

#include "ctl-request.h"
#include "strv.h"

static const char *source_to_words(MilestoneSource source) {
        switch (source) {
        case MILESTONE_SOURCE_BUS:
                return "system bus";
        case MILESTONE_SOURCE_DIRECTORY:
                return "milestone directory";
        case MILESTONE_SOURCE_INBOX:
                return "inbox";
        case MILESTONE_SOURCE_PID1:
                return "message from PID 1";
        case MILESTONE_SOURCE_UDEV:
                return "udev";
        default:
                return milestone_source_to_string(source);
        }
}

static void print_headline(const Status *s) {
        const BootRecord *r = &s->record;
        int code = status_exit_code(s);
        Colour c = code == CTL_FAILED ? COLOUR_RED : code == CTL_DONE ? COLOUR_GREEN : COLOUR_YELLOW;
        char now[SEC_TEXT_MAX], since[SEC_TEXT_MAX];

        format_sec(s->now, now);
        format_sec(r->since, since);
        printf("%s%s%s ", colour(c), output_dot(), colour(COLOUR_NORMAL));

        switch (r->phase) {
        case BOOT_PHASE_ENDED:
                printf("RCU's boot %shas ended%s, at %s (seconds since the kernel started; now %s)\n",
                                colour(c), colour(COLOUR_NORMAL), since, now);
                break;
        case BOOT_PHASE_ENDING:
                printf("RCU's boot %sis ending%s, since %s (seconds since the kernel started; now %s)\n",
                                colour(c), colour(COLOUR_NORMAL), since, now);
                break;
        case BOOT_PHASE_BOOTING:
                printf("RCU's boot %sgoes on%s: booting since %s (seconds since the kernel started; now "
                       "%s)\n",
                                colour(c), colour(COLOUR_NORMAL), since, now);
                break;
        case BOOT_PHASE_PROBING:
                printf("RCU's boot %sgoes on%s: looking, since %s, at what has been reached (seconds since "
                       "the kernel started; now %s)\n",
                                colour(c), colour(COLOUR_NORMAL), since, now);
                break;
        default:
                printf("RCU's boot: %snothing is known of it%s (%s since the kernel started)\n", colour(c),
                                colour(COLOUR_NORMAL), now);
        }
}

static const char *daemon_to_words(const Status *s) {
        if (s->running > 0)
                return "running";
        if (s->running < 0)
                return "unknown";
        if (s->record.phase == BOOT_PHASE_ENDED)
                return "done, and gone";
        if (s->record.phase == BOOT_PHASE_NONE)
                return "not running";
        return "gone before boot has ended";
}

static void print_daemon(const Status *s) {
        const BootRecord *r = &s->record;
        char started[SEC_TEXT_MAX];

        printf("    Daemon: %s", daemon_to_words(s));
        if (s->pid > 0)
                printf(" (PID %d)", (int) s->pid);
        if (r->phase != BOOT_PHASE_NONE)
                printf(", first started at %s", format_sec(r->started, started));
        if (r->starts > 1)
                printf(", started %u times", r->starts);
        putchar('\n');
}

static void print_kernel(const Status *s) {
        const KernelView *k = &s->kernel;
        char sec[SEC_TEXT_MAX];
        usec_t until;

        if (!kernel_view_is_present(k))
                return;

        printf("    Kernel: ");
        if (!kernel_view_is_usable(k))
                printf("cannot be read");
        else if (k->ended)
                printf("RCU's boot ended at %s, by %s", format_sec(k->ended_at, sec), k->by_word);
        else
                printf("RCU's boot goes on");
        if (status_kernel_until(s, &until))
                printf(", until %s at the latest", format_sec(until, sec));
        if (k->ended && s->verdict != KERNEL_VERDICT_NONE)
                printf(": %s", kernel_verdict_to_string(s->verdict));
        putchar('\n');
}

static void print_condition(const MilestoneCondition *c) {
        printf(" Ends when: ");

        for (size_t a = 0; a < c->n_alternatives; a++) {
                const char *separator = "";

                if (a > 0)
                        printf(", or ");
                for (size_t i = 0; i < c->n_names; i++)
                        if (c->alternatives[a] & (UINT32_C(1) << i)) {
                                printf("%s%s", separator, c->names[i]);
                                separator = " and ";
                        }
        }

        putchar('\n');
}

static void print_record(const BootRecord *r) {
        char sec[SEC_TEXT_MAX];

        if (boot_is_over(r)) {
                printf("    Reason: %s: %s\n", boot_reason_to_string(r->reason),
                                boot_reason_to_sentence(r->reason));
                if (*r->reason_text)
                        printf("            \"%s\"\n", r->reason_text);
        }

        printf("    Policy: %s (%s)\n            %s\n", r->policy_name, r->policy_path, r->policy_why);
        print_condition(&r->end_when);
        if (r->not_before > 0)
                printf("Not before: %s\n", format_sec(r->not_before, sec));
        printf("  Deadline: %s%s\n", format_sec(r->deadline, sec), r->extended ? " (extended)" : "");
}

static int print_milestones(const BootRecord *r) {
        uint32_t missing = milestone_condition_missing(&r->end_when, r->reached);
        _cleanup_table_ Table t = TABLE_INIT(4);

        for (size_t i = 0; i < r->end_when.n_names; i++) {
                uint32_t bit = UINT32_C(1) << i;
                char sec[SEC_TEXT_MAX];

                if (r->reached & bit) {
                        table_cell(&t, COLOUR_GREEN, "reached");
                        table_cell(&t, COLOUR_NORMAL, "%s", r->end_when.names[i]);
                        table_cell(&t, COLOUR_NORMAL, "at %s", format_sec(r->reached_at[i], sec));
                        table_cell(&t, COLOUR_NORMAL, "%s", source_to_words(r->reached_by[i]));
                        continue;
                }

                /* Of several alternatives, only the one closest to holding is worth waiting for. */
                table_cell(&t, missing & bit ? COLOUR_YELLOW : COLOUR_GREY,
                                missing & bit ? "missing" : "not reached");
                table_cell(&t, COLOUR_NORMAL, "%s", r->end_when.names[i]);
                table_cell(&t, COLOUR_NORMAL, "%s", "");
                table_cell(&t, COLOUR_NORMAL, "%s", "");
        }

        printf("\nMilestones:\n");
        return table_print(&t, 2);
}

/* "1", "restore: 0", "keep", "deadline: 30000", "1: EROFS", "0: had ended". */
static void cell_for_stage(Table *t, Knob knob, const KnobRecord *k, KnobStage stage) {
        const KnobResult *result = &k->result[stage];
        const char *name = strerrorname_np(-result->error);
        char buf[24], number[24] = "";
        bool is_value = k->setting[stage].action == KNOB_ACTION_VALUE;

        if (k->setting[stage].action == KNOB_ACTION_NONE) {
                table_cell(t, COLOUR_GREY, "-");
                return;
        }

        if (result->attempted && !is_value)
                snprintf(number, sizeof(number), ": %" PRIi64, result->asked);
        if (knob_error_is_benign(knob, stage, result->error))
                table_cell(t, COLOUR_NORMAL, "%s: had ended",
                                knob_setting_to_string(&k->setting[stage], buf, sizeof(buf)));
        else if (result->attempted && result->error < 0)
                table_cell(t, COLOUR_RED, "%s%s: %s",
                                knob_setting_to_string(&k->setting[stage], buf, sizeof(buf)), number,
                                name ? name : "failed");
        else
                table_cell(t, result->attempted ? COLOUR_NORMAL : COLOUR_GREY, "%s%s",
                                knob_setting_to_string(&k->setting[stage], buf, sizeof(buf)), number);
}

static void cell_for_now(Table *t, const KnobReading *now, bool drift) {
        const char *name = strerrorname_np(-now->error);

        if (!now->present)
                table_cell(t, COLOUR_GREY, "not in this kernel");
        else if (now->error < 0)
                table_cell(t, COLOUR_RED, "%s", name ? name : "unreadable");
        else
                table_cell(t, drift ? COLOUR_RED : COLOUR_NORMAL, "%" PRIi64 "%s", now->value,
                                drift ? " (drift)" : "");
}

static int print_knobs(const Status *s) {
        static const char *const titles[] = { "KNOB", "BEFORE", "DURING", "AFTER", "NOW" };
        _cleanup_table_ Table t = TABLE_INIT(ELEMENTSOF(titles));

        for (size_t i = 0; i < ELEMENTSOF(titles); i++)
                table_cell(&t, COLOUR_BOLD, "%s", titles[i]);

        FOREACH_KNOB(k) {
                const KnobRecord *r = &s->record.knobs[k];

                table_cell(&t, COLOUR_NORMAL, "%s", knob_info(k)->name);
                if (r->has_found)
                        table_cell(&t, COLOUR_NORMAL, "%" PRIi64, r->found);
                else
                        table_cell(&t, COLOUR_GREY, "-");
                for (KnobStage stage = 0; stage < _KNOB_STAGE_MAX; stage++)
                        cell_for_stage(&t, k, r, stage);
                cell_for_now(&t, &s->knobs[k], s->drift[k]);
        }

        printf("\n   RCU now: %s\n\n", rcu_mode_to_sentence(s->mode, s->expedited_too));
        return table_print(&t, 2);
}

static void print_notes(const Status *s) {
        if (s->n_notes > 0)
                putchar('\n');

        for (size_t i = 0; i < s->n_notes; i++) {
                const StatusNote *n = &s->notes[i];

                printf("%s%s:%s %s\n", colour(n->problem ? COLOUR_RED : COLOUR_YELLOW),
                                n->problem ? "Problem" : "Note", colour(COLOUR_NORMAL), n->text);
        }
}

/* The state file is the daemon's, but its reason text, for one, was somebody's own words. */
static void make_harmless(Status *s) {
        BootRecord *r = &s->record;

        text_harmless(r->reason_text);
        if (r->policy_name)
                text_harmless(r->policy_name);
        if (r->policy_path)
                text_harmless(r->policy_path);
        if (r->policy_why)
                text_harmless(r->policy_why);
        for (size_t i = 0; i < s->n_notes; i++)
                text_harmless(s->notes[i].text);
}

int status_print_text(Status *s) {
        int r;

        make_harmless(s);
        print_headline(s);
        if (s->state_error >= 0)
                print_record(&s->record);
        print_daemon(s);
        print_kernel(s);

        if (s->state_error >= 0) {
                r = print_milestones(&s->record);
                if (r < 0)
                        return r;
        }

        r = print_knobs(s);
        if (r < 0)
                return r;

        print_notes(s);
        return 0;
}
