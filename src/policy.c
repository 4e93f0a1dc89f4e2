/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "policy.h"

#include "policy-internal.h"

#include <errno.h>
#include <stdarg.h>

#define DEADLINE_DEFAULT_USEC (120 * USEC_PER_SEC)

void policy_origin_done(PolicyOrigin *o) {
        free(o->file);
        *o = (PolicyOrigin){};
}

Policy *policy_free(Policy *p) {
        if (!p)
                return NULL;
        free(p->name);
        free(p->path);
        match_done(&p->match);
        milestone_condition_done(&p->end_when);
        for (size_t i = 0; i < ALTERNATIVES_MAX; i++)
                policy_origin_done(&p->end_when_origin[i]);
        policy_origin_done(&p->not_before_origin);
        policy_origin_done(&p->deadline_origin);
        strv_free(p->allow_users);
        policy_origin_done(&p->allow_users_origin);
        FOREACH_KNOB(k)
                for (KnobStage s = 0; s < _KNOB_STAGE_MAX; s++)
                        policy_origin_done(&p->knobs[k].origin[s]);
        free(p);
        return NULL;
}

static Policy *policy_new(const char *name, const char *path) {
        _cleanup_(policy_freep) Policy *p = calloc(1, sizeof(Policy));

        if (!p)
                return NULL;
        p->name = strdup(name);
        p->path = strdup(path);
        p->deadline = DEADLINE_DEFAULT_USEC;
        return p->name && p->path ? TAKE_PTR(p) : NULL;
}

/* Takes ownership of text, which may be the NULL of a failed allocation. */
static void faults_consume(PolicyFaults *f, char *text) {
        if (strv_consume(&f->list, text) < 0)
                f->error = -ENOMEM;
        else
                f->n++;
}

void policy_fault(PolicyFaults *f, const char *path, unsigned line, const char *format, ...) {
        _cleanup_free_ char *reason = NULL;
        char *text = NULL;
        va_list ap;
        int r;

        if (f->n > POLICY_FAULTS_MAX)
                return;
        if (f->n == POLICY_FAULTS_MAX) {
                if (asprintf(&text, "%s: there are more faults, which are not listed", path) < 0)
                        text = NULL;
                faults_consume(f, text);
                return;
        }

        va_start(ap, format);
        r = vasprintf(&reason, format, ap);
        va_end(ap);
        if (r < 0) {
                reason = NULL;
                f->error = -ENOMEM;
                return;
        }
        r = line > 0 ? asprintf(&text, "%s:%u: %s", path, line, reason)
                     : asprintf(&text, "%s: %s", path, reason);
        faults_consume(f, r < 0 ? NULL : text);
}

const char *policy_excerpt(const char *text, char *buf) {
        size_t n = strlen(text);

        if (n < POLICY_EXCERPT_MAX)
                return memcpy(buf, text, n + 1);

        n = POLICY_EXCERPT_MAX - sizeof("...");
        /* Not within a character: 10xxxxxx continues one (RFC 3629, section 3). */
        while (n > 0 && ((unsigned char) text[n] & 0xc0) == 0x80)
                n--;
        memcpy(buf, text, n);
        memcpy(buf + n, "...", sizeof("..."));
        return buf;
}

int policy_parse(const char *name,
                const PolicyText *texts,
                size_t n_texts,
                Policy **ret,
                char ***ret_errors) {
        _cleanup_(policy_freep) Policy *policy = policy_new(name, n_texts > 0 ? texts[0].path : name);
        PolicyParser parser = { .policy = policy };

        *ret_errors = NULL;
        if (!policy)
                return -ENOMEM;

        for (size_t i = 0; i < n_texts; i++) {
                parser.text = texts + i;
                memset(parser.seen, 0, sizeof(parser.seen));
                policy_lines_read(parser.text, &parser.faults, policy_assign, &parser);
        }
        if (parser.faults.error == 0)
                policy_validate(&parser);

        *ret_errors = parser.faults.list;
        if (parser.faults.error < 0)
                return parser.faults.error;
        if (parser.faults.n > 0)
                return -EBADMSG;
        *ret = TAKE_PTR(policy);
        return 0;
}
