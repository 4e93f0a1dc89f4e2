/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit.h"

#include "audit-entry.h"
#include "audit-journal.h"
#include "fs.h"
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>

/* Of a line in the kernel's log: LOG_LINE_MAX of kernel/printk/internal.h without the prefix that the kernel
 * may add; a longer one is refused with EINVAL. */
#define KMSG_LINE_MAX 960U

struct Audit {
        int root_fd;
        bool own_root;
        bool foreground;
};

int audit_open(int root_fd, bool foreground, Audit **ret) {
        Audit *a;

        a = malloc(sizeof(Audit));
        if (!a)
                return -ENOMEM;

        *a = (Audit){
                .root_fd = root_fd,
                .own_root = fs_is_own_root(root_fd),
                .foreground = foreground,
        };
        *ret = a;
        return 0;
}

Audit *audit_free(Audit *a) {
        free(a);
        return NULL;
}

/* One line in the kernel's log, which every init has; lost if there is none. O_APPEND for a tree in which it
 * is a plain file, O_NONBLOCK for one in which it is something else. */
static void send_to_kmsg(const Audit *a, const AuditEntry *e) {
        _cleanup_close_ int fd = -1;
        char line[KMSG_LINE_MAX + 1];
        size_t size;
        const char *message = audit_entry_message(e, &size);
        int n;

        fd = fs_open(a->root_fd, PATH_KMSG, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY);
        if (fd < 0)
                return;

        n = snprintf(line, sizeof(line), "<%i>rcu-bootd: %.*s", e->priority, (int) size, message);
        n = MIN(n, (int) KMSG_LINE_MAX - 1);
        line[n++] = '\n';
        if (write(fd, line, (size_t) n) < 0)
                return; /* the one place left to complain to is this one */
}

/* Nothing that the daemon does depends on whether anybody listens. */
static void emit(const Audit *a, const AuditEntry *e, usec_t now) {
        if (a->foreground) {
                size_t size;
                const char *message = audit_entry_message(e, &size);

                fprintf(stderr, "[%5" PRIu64 ".%06" PRIu64 "] %.*s\n", now / USEC_PER_SEC,
                                now % USEC_PER_SEC, (int) size, message);
        }

        if (!a->own_root || audit_journal_send(a->root_fd, e->text, e->size) < 0)
                send_to_kmsg(a, e);
}

/* Some knobs go by several names. */
static const char *find_knob_path(const Audit *a, Knob knob) {
        const KnobInfo *info = knob_info(knob);

        if (!info->paths[1])
                return info->paths[0];
        for (size_t i = 0; i < KNOB_PATHS_MAX && info->paths[i]; i++)
                if (faccessat(a->root_fd, info->paths[i], F_OK, 0) >= 0)
                        return info->paths[i];

        return NULL;
}

void audit_transition(Audit *a, const BootRecord *record, const BootAction *action, AuditContext context) {
        AuditEntry e;

        context.knob_path = find_knob_path(a, action->knob);
        audit_entry_transition(&e, record, action, &context);
        emit(a, &e, context.now);
}

void audit_policy_rejected(Audit *a, const char *path, char *const *errors) {
        usec_t now = fs_now();
        AuditEntry e;

        audit_entry_policy_rejected(&e, path, errors, now);
        emit(a, &e, now);
}

void audit_refused(Audit *a, const char *what, const MessageSender *sender, unsigned suppressed) {
        usec_t now = fs_now();
        AuditEntry e;

        audit_entry_refused(&e, what, sender, suppressed, now);
        emit(a, &e, now);
}

void audit_device_uninitialized(Audit *a, const char *milestone, const char *syspath) {
        usec_t now = fs_now();
        AuditEntry e;

        audit_entry_device_uninitialized(&e, milestone, syspath, now);
        emit(a, &e, now);
}

void audit_log(Audit *a, int priority, const char *format, ...) {
        usec_t now = fs_now();
        AuditEntry e;
        va_list ap;

        va_start(ap, format);
        audit_entry_log(&e, priority, now, format, ap);
        va_end(ap);
        emit(a, &e, now);
}
