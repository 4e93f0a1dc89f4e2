/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-output.h"

#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <strings.h>

static bool use_colours;
static bool use_utf8;

static bool environment_forbids_colours(void) {
        static const char *const no[] = { "0", "no", "n", "false", "f", "off" };
        const char *e = getenv("SYSTEMD_COLORS");

        /* As with systemd's tools, the more specific variable decides over the general one. */
        if (e) {
                for (size_t i = 0; i < ELEMENTSOF(no); i++)
                        if (strcasecmp(e, no[i]) == 0)
                                return true;
                return false;
        }

        if (!isempty(getenv("NO_COLOR"))) /* https://no-color.org */
                return true;

        e = getenv("TERM");
        return !e || streq(e, "dumb");
}

void output_init(void) {
        /* LC_CTYPE alone: numbers are printed for machines to read, too. */
        if (setlocale(LC_CTYPE, ""))
                use_utf8 = streq(nl_langinfo(CODESET), "UTF-8");

        use_colours = isatty(STDOUT_FILENO) && !environment_forbids_colours();
}

const char *colour(Colour c) {
        static const char *const table[_COLOUR_MAX] = {
                [COLOUR_NORMAL] = "\x1b[0m",
                [COLOUR_BOLD] = "\x1b[0;1m",
                [COLOUR_GREY] = "\x1b[0;2m",
                [COLOUR_GREEN] = "\x1b[0;1;32m",
                [COLOUR_YELLOW] = "\x1b[0;1;33m",
                [COLOUR_RED] = "\x1b[0;1;31m",
        };

        return use_colours ? table[c] : "";
}

const char *output_dot(void) {
        return use_utf8 ? "\u25cf" : "*";
}

void ctl_error(const char *format, ...) {
        va_list ap;

        /* What was printed before comes first, also where both go into one file. */
        fflush(stdout);
        fputs("rcu-bootctl: ", stderr);
        va_start(ap, format);
        vfprintf(stderr, format, ap);
        va_end(ap);
        fputc('\n', stderr);
}

int ctl_oom(void) {
        ctl_error("Out of memory.");
        return CTL_FAILED;
}

/* Longer words are no typing mistake of anything of ours. */
#define WORD_MAX 32U

/* Letters to add, drop or change, or neighbours to swap, a row of the table at a time. */
static size_t distance(const char *a, const char *b) {
        size_t rows[3][WORD_MAX], n = strlen(b), m = strlen(a);

        if (n >= WORD_MAX || m >= WORD_MAX)
                return SIZE_MAX;

        for (size_t i = 0; i <= m; i++) {
                size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];

                row[0] = i;
                for (size_t j = 1; j <= n; j++) {
                        if (i == 0) {
                                row[j] = j;
                                continue;
                        }
                        row[j] = MIN(MIN(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                row[j] = MIN(row[j], two_above[j - 2] + 1);
                }
        }

        return rows[m % 3][n];
}

const char *ctl_nearest(const char *word, const char *const *candidates, size_t n) {
        size_t best = MAX(strlen(word) / 3, (size_t) 1) + 1;
        const char *found = NULL;

        for (size_t i = 0; i < n; i++) {
                size_t d = strlen(word) > 1 && startswith(candidates[i], word)
                                ? 0
                                : distance(word, candidates[i]);

                if (d < best) {
                        best = d;
                        found = candidates[i];
                }
        }

        return found;
}

const char *format_sec(usec_t t, char buf[static SEC_TEXT_MAX]) {
        snprintf(buf, SEC_TEXT_MAX, "%" PRIu64 ".%03" PRIu64 " s", t / USEC_PER_SEC,
                        t % USEC_PER_SEC / USEC_PER_MSEC);
        return buf;
}

char *text_harmless(char *s) {
        for (char *p = s; *p; p++)
                if ((unsigned char) *p < ' ' || *p == 0x7f)
                        *p = '?';

        return s;
}

void table_done(Table *t) {
        for (size_t i = 0; i < t->n; i++)
                free(t->cells[i]);
        free(t->cells);
        free(t->colours);
        *t = (Table){};
}

void table_cell(Table *t, Colour c, const char *format, ...) {
        char **cells, *cell;
        Colour *colours;
        va_list ap;
        int r;

        va_start(ap, format);
        r = vasprintf(&cell, format, ap);
        va_end(ap);
        if (r < 0) {
                t->failed = true;
                return;
        }

        cells = reallocarray(t->cells, t->n + 1, sizeof(*cells));
        if (cells)
                t->cells = cells;
        colours = reallocarray(t->colours, t->n + 1, sizeof(*colours));
        if (colours)
                t->colours = colours;
        if (!cells || !colours) {
                free(cell);
                t->failed = true;
                return;
        }

        t->cells[t->n] = text_harmless(cell);
        t->colours[t->n++] = c;
}

static size_t column_width(const Table *t, size_t column) {
        size_t width = 0;

        for (size_t i = column; i < t->n; i += t->n_columns)
                width = MAX(width, strlen(t->cells[i]));

        return width;
}

/* Blanks behind the last visible cell of a line would only make long lines wrap. */
static bool rest_of_row_is_empty(const Table *t, size_t i) {
        for (; i < t->n; i++) {
                if (*t->cells[i])
                        return false;
                if (i % t->n_columns == t->n_columns - 1)
                        break;
        }

        return true;
}

int table_print(const Table *t, unsigned indent) {
        if (t->failed)
                return -ENOMEM;

        for (size_t i = 0; i < t->n; i++) {
                size_t column = i % t->n_columns;
                bool last = column == t->n_columns - 1 || i == t->n - 1 || rest_of_row_is_empty(t, i + 1);

                if (column == 0)
                        printf("%*s", (int) indent, "");
                if (*t->cells[i] && t->colours[i] != COLOUR_NORMAL)
                        printf("%s%s%s", colour(t->colours[i]), t->cells[i], colour(COLOUR_NORMAL));
                else
                        fputs(t->cells[i], stdout);
                if (!last)
                        printf("%*s", (int) (column_width(t, column) - strlen(t->cells[i]) + 2), "");
                else {
                        putchar('\n');
                        i += t->n_columns - 1 - column;
                }
        }

        return 0;
}

json_t *json_text(const char *s) {
        _cleanup_free_ char *copy = NULL;
        json_t *j;

        if (!s)
                return json_null();

        j = json_string(s);
        if (j)
                return j;

        /* No UTF-8. Which of the bytes beyond ASCII are at fault does not matter. */
        copy = strdup(s);
        if (!copy)
                return NULL;
        for (char *p = copy; *p; p++)
                if ((unsigned char) *p >= 0x80)
                        *p = '?';

        return json_string(copy);
}

void json_append(json_t **array, json_t *value) {
        /* json_array_append_new() copes with NULL for both, and takes value in any case. */
        if (json_array_append_new(*array, value) < 0) {
                json_decref(*array);
                *array = NULL;
        }
}

json_t *json_texts(char *const *l) {
        json_t *array = json_array();

        for (; l && *l; l++)
                json_append(&array, json_text(*l));

        return array;
}

json_t *json_number_if(bool known, int64_t value) {
        return known ? json_integer(value) : json_null();
}

int ctl_print_json(json_t *root) {
        int r;

        if (!root)
                return ctl_oom();

        r = json_dumpf(root, stdout, JSON_INDENT(2));
        json_decref(root);
        if (r < 0)
                return ctl_oom();

        putchar('\n');
        return CTL_DONE;
}
