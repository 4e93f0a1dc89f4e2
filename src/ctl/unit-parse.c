/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit-graph-internal.h"

#include <errno.h>
#include <strings.h>

#include "fs.h"

/* Larger unit files exist nowhere. */
#define UNIT_FILE_MAX (1024U * 1024U)

static const char blank[] = " \t\r\n";

/* What %i, %n and their like stand for in a dependency (systemd.unit(5), SPECIFIERS); NULL for those that
 * only PID 1 can know. */
static char *specifier_value(const char *unit, char c) {
        const char *at = strchr(unit, '@'), *dot = strrchr(unit, '.'), *stop = at ? at : dot;

        switch (c) {
        case '%':
                return strdup("%");
        case 'n':
                return strdup(unit);
        case 'N':
                return strndup(unit, (size_t) (dot - unit));
        case 'p':
                return strndup(unit, (size_t) (stop - unit));
        case 'i':
                return at && dot > at ? strndup(at + 1, (size_t) (dot - at - 1)) : strdup("");
        default:
                return NULL;
        }
}

/* *ret is NULL for a word that cannot be expanded. */
static int expand(const char *unit, const char *word, char **ret) {
        _cleanup_free_ char *text = NULL;
        bool unknown = false;
        size_t size;
        FILE *f;

        f = open_memstream(&text, &size);
        if (!f)
                return -ENOMEM;

        for (; *word && !unknown; word++) {
                _cleanup_free_ char *value = NULL;

                if (*word != '%') {
                        fputc(*word, f);
                        continue;
                }
                value = *++word ? specifier_value(unit, *word) : NULL;
                unknown = !value;
                if (value)
                        fputs(value, f);
        }

        if (fclose(f) != 0)
                return -ENOMEM;
        *ret = unknown ? NULL : TAKE_PTR(text);
        return 0;
}

/* Unlike other lists, an empty assignment does not drop what came before: systemd.unit(5) says so of
 * dependencies. */
static int add_names(const char *unit, char *value, char ***list) {
        char *state, *word;
        int r;

        for (word = strtok_r(value, blank, &state); word; word = strtok_r(NULL, blank, &state)) {
                char *name;

                r = expand(unit, word, &name);
                if (r < 0)
                        return r;
                if (name) {
                        r = strv_consume(list, name);
                        if (r < 0)
                                return r;
                }
        }

        return 0;
}

static int assign(Unit *u, const char *key, char *value) {
        static const char *const pulling[] = { "Wants", "Requires", "BindsTo", "Upholds" };

        for (size_t i = 0; i < ELEMENTSOF(pulling); i++)
                if (streq(key, pulling[i]))
                        return add_names(u->name, value, &u->pulls);

        if (streq(key, "After"))
                return add_names(u->name, value, &u->after);
        if (streq(key, "Before"))
                return add_names(u->name, value, &u->before);
        if (streq(key, "DefaultDependencies"))
                u->default_dependencies = !(strcasecmp(value, "no") == 0 ||
                                strcasecmp(value, "false") == 0 || strcasecmp(value, "off") == 0 ||
                                strcasecmp(value, "n") == 0 || strcasecmp(value, "f") == 0 ||
                                streq(value, "0"));

        return 0;
}

/* Without the blanks at both ends; in place. */
static char *strip(char *s) {
        size_t n;

        s += strspn(s, blank);
        for (n = strlen(s); n > 0 && strchr(blank, s[n - 1]); n--)
                ;
        s[n] = '\0';
        return s;
}

/* One logical line. */
static int parse_line(Unit *u, char *line, bool *in_unit) {
        char *equals;

        line = strip(line);
        if (*line == '[') {
                *in_unit = streq(line, "[Unit]");
                return 0;
        }

        equals = strchr(line, '=');
        if (!*in_unit || !equals)
                return 0;
        *equals = '\0';

        return assign(u, strip(line), strip(equals + 1));
}

static bool is_comment(const char *line) {
        line += strspn(line, blank);
        return *line == '#' || *line == ';';
}

/* Lines that end in a backslash are joined with the next, comments in between left out (systemd.syntax(7)).
 * In place: the joined line is never longer than what it was made of. */
static int parse_text(Unit *u, char *text) {
        bool in_unit = false, joining = false;
        char *logical = text, *end = text;
        int r;

        for (char *line = text, *next; line; line = next) {
                size_t n;

                next = strchr(line, '\n');
                if (next)
                        *next++ = '\0';
                if (is_comment(line) || (!joining && line[strspn(line, blank)] == '\0'))
                        continue;
                if (!joining)
                        logical = end = line;

                n = strlen(line);
                joining = n > 0 && line[n - 1] == '\\';
                memmove(end, line, n);
                end += n;
                if (joining) {
                        end[-1] = ' ';
                        continue;
                }
                *end = '\0';
                r = parse_line(u, logical, &in_unit);
                if (r < 0)
                        return r;
        }

        if (!joining)
                return 0;
        *end = '\0';
        return parse_line(u, logical, &in_unit);
}

int unit_parse_file(int root_fd, const char *path, Unit *u) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = fs_read(root_fd, path, UNIT_FILE_MAX, &text, NULL);
        if (r < 0)
                return r;

        return parse_text(u, text);
}
