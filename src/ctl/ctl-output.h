/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl.h"

#include <jansson.h>

/* How rcu-bootctl speaks: errors, colours, the pager, times, tables, JSON. */

typedef enum Colour {
        COLOUR_NORMAL,
        COLOUR_BOLD,
        COLOUR_GREY,
        COLOUR_GREEN,
        COLOUR_YELLOW,
        COLOUR_RED,
        _COLOUR_MAX,
} Colour;

/* To be called once, before the pager takes the terminal's place: decides whether colours (only on a
 * terminal; $NO_COLOR, SYSTEMD_COLORS=0 and TERM=dumb say no) and characters beyond ASCII may be used. */
void output_init(void);

/* The escape sequence, or "" where there are no colours. */
const char *colour(Colour c);

/* The dot in front of a headline: in UTF-8 locales a real one. */
const char *output_dot(void);

/* Sends what follows on standard output through a pager, if standard output is a terminal and neither
 * --no-pager nor an empty $SYSTEMD_PAGER or $PAGER forbids it. Where none can be started there is none. */
void pager_open(const Ctl *ctl);

/* Waits until the reader has left the pager. Nothing happens if there is none. */
void pager_close(void);

/* One line on standard error, with the program's name in front. */
void ctl_error(const char *format, ...) _printf_(1, 2);

/* For the -ENOMEM of any call: says so. Returns CTL_FAILED. */
int ctl_oom(void);

/* The candidate that is spelt most like word (at most a third of its letters wrong, or an abbreviation), or
 * NULL. n: how many candidates. */
const char *ctl_nearest(const char *word, const char *const *candidates, size_t n);

/* Time since the kernel started, as "12.345 s". */
#define SEC_TEXT_MAX 32
const char *format_sec(usec_t t, char buf[static SEC_TEXT_MAX]);

/* Control characters become '?', so that nothing that was read can drive a terminal. In place; returns s. */
char *text_harmless(char *s);

/* Columns of text, each as wide as its widest cell. */
typedef struct Table {
        size_t n_columns;
        char **cells;
        Colour *colours;
        size_t n; /* cells */
        bool failed;
} Table;

#define TABLE_INIT(columns) \
        { .n_columns = (columns) }
void table_done(Table *t);
#define _cleanup_table_ _cleanup_(table_done)

/* Adds the next cell, row by row. Memory that runs out is remembered until table_print(). */
void table_cell(Table *t, Colour c, const char *format, ...) _printf_(3, 4);

/* indent: blanks in front of each line; -ENOMEM if a cell could not be added. */
int table_print(const Table *t, unsigned indent);

/* A JSON string of any bytes: what is no UTF-8 becomes '?'; null for NULL. New reference, NULL if memory is
 * out; json_pack() then fails as a whole, so that this need not be looked at in between. */
json_t *json_text(const char *s);
json_t *json_texts(char *const *l);

/* Appends and takes ownership of value. If either is NULL, or memory is out, *array is released and becomes
 * NULL: the failure is seen where the array is used. */
void json_append(json_t **array, json_t *value);

json_t *json_number_if(bool known, int64_t value); /* null unless known */

/* Prints and releases; NULL means that memory ran out on the way. Returns CTL_DONE, or CTL_FAILED with the
 * error said. */
int ctl_print_json(json_t *root);
