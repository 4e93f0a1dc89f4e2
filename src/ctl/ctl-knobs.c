/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-output.h"
#include "knobs.h"

#include <inttypes.h>

/* `rcu-bootctl knobs`: 0, whatever they say, and also where a kernel has none.
 *
 * The schema with --json; keys are only ever added:
 *
 *   {
 *     "knobs": [
 *       { "name": "rcu_boot_end_delay",
 *         "path": "/sys/module/rcupdate/parameters/rcu_boot_end_delay",  where it is; null: not in this
 * kernel "paths": ["/sys/module/...", ...],   where it is looked for, in order "present": true,
 *         "during_range": [1, 120000],   what a policy may say in [During]; null: it has no place there
 *         "after_range": [0, 0],         and in [After]
 *         "unit": "ms",                  null: a plain number
 *         "now": 15000,                  null: cannot be read
 *         "errno": 0,                    0, or why not (2: not in this kernel)
 *         "meaning": "..." }
 *     ],
 *     "mode": "default",               effective, now: "default", "expedited", "normal", "unknown"
 *     "mode_sentence": "..."
 *   }
 */

typedef struct Readings {
        KnobReading knobs[_KNOB_MAX];
        RcuMode mode;
        bool expedited_too;
        unsigned n_present;
} Readings;

static void read_all(const Ctl *ctl, Readings *ret) {
        const KnobReading *expedited = &ret->knobs[KNOB_EXPEDITED], *normal = &ret->knobs[KNOB_NORMAL];

        FOREACH_KNOB(k) {
                knobs_read(ctl->root_fd, k, &ret->knobs[k]);
                ret->n_present += ret->knobs[k].present;
        }

        ret->mode = rcu_mode_from_readings(expedited->error < 0 ? NULL : &expedited->value,
                        normal->error < 0 ? NULL : &normal->value);
        ret->expedited_too = expedited->error == 0 && expedited->value != 0;
}

static bool has_range(const KnobInfo *info, KnobStage stage) {
        return info->min[stage] <= info->max[stage];
}

/* "0..1", "1..120000 ms, then 0". */
static void cell_for_range(Table *t, const KnobInfo *info) {
        char text[_KNOB_STAGE_MAX][64] = {};
        bool same = info->min[0] == info->min[1] && info->max[0] == info->max[1];

        for (KnobStage s = 0; s < _KNOB_STAGE_MAX; s++) {
                if (!has_range(info, s))
                        continue;
                if (info->min[s] == info->max[s])
                        snprintf(text[s], sizeof(text[s]), "%" PRIi64, info->min[s]);
                else
                        snprintf(text[s], sizeof(text[s]), "%" PRIi64 "..%" PRIi64 "%s%s", info->min[s],
                                        info->max[s], info->unit ? " " : "", strempty(info->unit));
        }

        if (same || !*text[KNOB_STAGE_AFTER])
                table_cell(t, COLOUR_NORMAL, "%s", text[KNOB_STAGE_DURING]);
        else if (!*text[KNOB_STAGE_DURING])
                table_cell(t, COLOUR_NORMAL, "%s", text[KNOB_STAGE_AFTER]);
        else
                table_cell(t, COLOUR_NORMAL, "%s, then %s", text[KNOB_STAGE_DURING], text[KNOB_STAGE_AFTER]);
}

static void cell_for_now(Table *t, const KnobReading *reading) {
        const char *name = strerrorname_np(-reading->error);

        if (!reading->present)
                table_cell(t, COLOUR_GREY, "-");
        else if (reading->error < 0)
                table_cell(t, COLOUR_RED, "%s", name ? name : "unreadable");
        else
                table_cell(t, COLOUR_BOLD, "%" PRIi64, reading->value);
}

static int print_table(const Readings *readings) {
        static const char *const titles[] = { "KNOB", "NOW", "RANGE", "PATH" };
        _cleanup_table_ Table t = TABLE_INIT(ELEMENTSOF(titles)), meanings = TABLE_INIT(2);

        for (size_t i = 0; i < ELEMENTSOF(titles); i++)
                table_cell(&t, COLOUR_BOLD, "%s", titles[i]);

        FOREACH_KNOB(k) {
                const KnobReading *reading = &readings->knobs[k];

                table_cell(&t, COLOUR_NORMAL, "%s", knob_info(k)->name);
                cell_for_now(&t, reading);
                cell_for_range(&t, knob_info(k));
                if (reading->present)
                        table_cell(&t, COLOUR_NORMAL, "/%s", reading->path);
                else
                        table_cell(&t, COLOUR_GREY, "not in this kernel");

                table_cell(&meanings, COLOUR_NORMAL, "%s", knob_info(k)->name);
                table_cell(&meanings, COLOUR_NORMAL, "%s", knob_info(k)->meaning);
        }

        if (table_print(&t, 0) < 0)
                return -1;
        putchar('\n');
        return table_print(&meanings, 0);
}

static json_t *range_to_json(const KnobInfo *info, KnobStage stage) {
        return has_range(info, stage)
                        ? json_pack("[I,I]", (json_int_t) info->min[stage], (json_int_t) info->max[stage])
                        : json_null();
}

static json_t *path_to_json(const char *path) {
        return path ? json_sprintf("/%s", path) : json_null();
}

static json_t *knob_to_json(Knob k, const KnobReading *reading) {
        const KnobInfo *info = knob_info(k);
        json_t *paths = json_array();

        for (size_t i = 0; i < KNOB_PATHS_MAX && info->paths[i]; i++)
                json_append(&paths, path_to_json(info->paths[i]));

        return json_pack("{s:s,s:o,s:o,s:b,s:o,s:o,s:o,s:o,s:i,s:s}", "name", info->name, "path",
                        path_to_json(reading->present ? reading->path : NULL), "paths", paths, "present",
                        reading->present, "during_range", range_to_json(info, KNOB_STAGE_DURING),
                        "after_range", range_to_json(info, KNOB_STAGE_AFTER), "unit", json_text(info->unit),
                        "now", json_number_if(reading->error == 0, reading->value), "errno", -reading->error,
                        "meaning", info->meaning);
}

static json_t *readings_to_json(const Readings *readings) {
        json_t *array = json_array();

        FOREACH_KNOB(k)
                json_append(&array, knob_to_json(k, &readings->knobs[k]));

        return json_pack("{s:o,s:s,s:s}", "knobs", array, "mode", rcu_mode_to_string(readings->mode),
                        "mode_sentence", rcu_mode_to_sentence(readings->mode, readings->expedited_too));
}

int ctl_verb_knobs(const Ctl *ctl, int argc, char **argv) {
        Readings readings = {};

        read_all(ctl, &readings);
        if (ctl->json)
                return ctl_print_json(readings_to_json(&readings));

        pager_open(ctl);
        if (print_table(&readings) < 0)
                return ctl_oom();

        printf("\nRCU now: %s\n", rcu_mode_to_sentence(readings.mode, readings.expedited_too));
        if (readings.n_present == 0)
                printf("This kernel has none of these knobs (Tiny RCU has no grace periods to wait for): "
                       "there is nothing to set, and rcu-bootd only keeps the time.\n");
        return CTL_DONE;
}
