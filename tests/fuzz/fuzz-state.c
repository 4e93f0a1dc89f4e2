/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot-phase.h"
#include "state.h"

#undef NDEBUG
#include <assert.h>
#include <errno.h>

/* Any bytes as a state file; and a daemon that goes on from whatever of it was let through. Run it with
 * tests/fuzz/run. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was read is written such that it is read the same. */
static void check_round_trip(const BootRecord *record) {
        BootRecord again = {};
        char *text = NULL, *text_again = NULL;

        assert(state_format(record, &text) == 0);
        if (strlen(text) <= STATE_SIZE_MAX) {
                assert(state_parse(text, strlen(text), &again) == 0);
                assert(state_format(&again, &text_again) == 0);
                assert(streq(text, text_again));
                boot_record_done(&again);
        }
        free(text);
        free(text_again);
}

/* Answers an action as an obedient world would. */
static bool answer(const BootAction *a, BootEvent *ret) {
        switch (a->type) {
        case BOOT_ACTION_WRITE_KNOB:
                assert(a->knob < _KNOB_MAX && a->stage < _KNOB_STAGE_MAX);
                *ret = (BootEvent){ .type = BOOT_EVENT_KNOB };
                ret->knob.knob = a->knob;
                ret->knob.stage = a->stage;
                ret->knob.result = (KnobResult){ .attempted = true, .asked = a->value };
                return true;
        case BOOT_ACTION_READ_MODE:
                *ret = (BootEvent){ .type = BOOT_EVENT_MODE };
                ret->mode.mode = RCU_MODE_DEFAULT;
                return true;
        default:
                return false;
        }
}

/* Feeds the event, and the answers to all that follows from it. Once the end is decided nothing of [During]
 * may be written any more. */
static void step(BootRecord *record, BootEvent event, usec_t now) {
        BootEvent queue[256] = { event };
        size_t n = 1;

        for (size_t i = 0; i < n; i++) {
                BootActions actions;

                queue[i].now = now;
                boot_phase_step(record, &queue[i], &actions);
                assert(actions.n <= BOOT_ACTIONS_MAX);
                for (size_t j = 0; j < actions.n; j++) {
                        const BootAction *a = &actions.items[j];

                        assert(a->type != BOOT_ACTION_WRITE_KNOB || a->stage == KNOB_STAGE_AFTER ||
                                        record->phase < BOOT_PHASE_ENDING);
                        assert(n < sizeof(queue) / sizeof(queue[0]));
                        n += answer(a, &queue[n]);
                }
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        BootRecord record = {};
        int r;

        r = state_parse((const char *) data, size, &record);
        if (r < 0) {
                assert(r == -EBADMSG);
                return 0;
        }

        assert(r == 0 && record.phase > BOOT_PHASE_NONE && record.phase < _BOOT_PHASE_MAX);
        assert(record.deadline > 0 && record.deadline <= POLICY_DEADLINE_MAX_USEC);
        check_round_trip(&record);

        step(&record, (BootEvent){ .type = BOOT_EVENT_START }, USEC_PER_SEC);
        step(&record, (BootEvent){ .type = BOOT_EVENT_PROBED }, 2 * USEC_PER_SEC);
        check_round_trip(&record);
        step(&record, (BootEvent){ .type = BOOT_EVENT_TICK }, POLICY_DEADLINE_MAX_USEC);
        assert(record.phase == BOOT_PHASE_ENDED);
        check_round_trip(&record);

        boot_record_done(&record);
        return 0;
}
