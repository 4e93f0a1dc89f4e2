/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot-world.h"

/* Every sequence of events up to a depth, with what must always hold looked at after each event. */

static uint64_t explore(const World *w, unsigned depth) {
        uint64_t n = 1;

        if (depth == 0)
                return n;

        for (Symbol symbol = 0; symbol < _SYMBOL_MAX; symbol++) {
                World next;

                if (!symbol_applies(w, symbol))
                        continue;
                next = *w;
                world_apply(&next, symbol);
                if (symbol != SYMBOL_SLEEP) /* nothing has happened yet */
                        check_invariants(&next, w);
                n += explore(&next, depth - 1);
        }

        return n;
}

/* Which knobs fail, and how deep to look: none (deeper), each alone, all of them; and a kernel that was
 * promised a report, which the policy makes or does not make; and one into which a module is loaded. */
static const struct {
        unsigned failing;
        unsigned depth;
        bool promised, silent;
        unsigned late; /* knobs that a module brings after a while */
} exhaustive_table[] = {
        { 0, 7 },
        { 1U << KNOB_EXPEDITED, 6 },
        { 1U << KNOB_NORMAL, 6 },
        { 1U << KNOB_BOOT_END_DELAY, 6 },
        { 1U << KNOB_USER_BOOTED, 6 },
        { (1U << _KNOB_MAX) - 1, 6 },
        { 0, 6, .promised = true },
        { 0, 6, .promised = true, .silent = true },
        { 0, 6, .silent = true },
        { 0, 6, .late = 1U << KNOB_USER_BOOTED | 1U << KNOB_BOOT_END_DELAY },
};

START_TEST(exhaustive) {
        World w = world_new(exhaustive_table[_i].failing);
        uint64_t n;

        w.promised = exhaustive_table[_i].promised;
        if (exhaustive_table[_i].silent)
                world_forget_report(&w);
        world_bring_late(&w, exhaustive_table[_i].late, w.now + SEC / 4);
        n = explore(&w, exhaustive_table[_i].depth);
        ck_assert_uint_gt(n, 100000); /* the walk did not stop short */
        boot_record_done(&w.record);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("boot-phase-exhaustive");
        TCase *t = tcase_create("boot-phase-exhaustive");

        tcase_set_timeout(t, 600);
        tcase_add_loop_test(t, exhaustive, 0, ELEMENTSOF(exhaustive_table));
        suite_add_tcase(suite, t);
        return test_run(suite);
}
