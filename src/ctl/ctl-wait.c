/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-output.h"
#include "ctl-request.h"
#include "fs.h"
#include "names.h"
#include "policy.h"
#include "state-file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>

/* `rcu-bootctl wait`: 0 when boot has ended, 3 when --timeout= has passed before, 1 when nothing is there
 * that will end it. Says nothing when all is well: it is what rcu-boot-wait.service runs. */

/* A daemon that died may be started again, or systemd runs `rcu-bootd --post-stop`; both are due by the
 * deadline. How much longer to believe in them. */
#define GRACE_USEC (30 * USEC_PER_SEC)
/* That the lock is released makes no event in the directory that others' looking at it does not make, too.
 */
#define RECHECK_USEC (1 * USEC_PER_SEC)
/* The state file is replaced; where there is no room for that, it is written in place (state-file.h). */
#define WATCH_MASK (IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

typedef enum Verdict {
        VERDICT_WAIT,
        VERDICT_ENDED,
        VERDICT_HOPELESS, /* the reason has been said */
} Verdict;

static Verdict look_without_state(const Ctl *ctl, int error) {
        /* No state yet, or (for the daemon to replace) a damaged one. */
        if ((error == -ENOENT || error == -EBADMSG) && state_file_is_locked(ctl->root_fd) > 0)
                return VERDICT_WAIT;

        /* Between the two looks it may have been written. */
        if (error == -ENOENT) {
                BootRecord record = {};

                error = state_file_read(ctl->root_fd, &record);
                if (error >= 0) {
                        boot_record_done(&record);
                        return VERDICT_WAIT;
                }
        }

        request_explain_state_error(ctl, error);
        return VERDICT_HOPELESS;
}

/* *ret_deadline: until when boot will have ended; USEC_INFINITY if unknown. */
static Verdict look(const Ctl *ctl, usec_t *ret_deadline) {
        _cleanup_(boot_record_done) BootRecord record = {};
        char sec[SEC_TEXT_MAX];
        int r;

        *ret_deadline = USEC_INFINITY;

        r = state_file_read(ctl->root_fd, &record);
        if (r < 0)
                return look_without_state(ctl, r);

        if (record.phase == BOOT_PHASE_ENDED)
                return VERDICT_ENDED;

        *ret_deadline = record.deadline;
        if (fs_now() < record.deadline + GRACE_USEC)
                return VERDICT_WAIT;

        ctl_error("RCU's boot has not ended, although its deadline was %s after the kernel started: %s. "
                  "See: rcu-bootctl status",
                        format_sec(record.deadline, sec),
                        state_file_is_locked(ctl->root_fd) > 0 ? "rcu-bootd does not get on"
                                                               : "rcu-bootd is not running");
        return VERDICT_HOPELESS;
}

/* inotify wants a path, and ours is below a directory fd. */
static int watch_run_dir(const Ctl *ctl, int *ret_fd) {
        _cleanup_close_ int dir_fd = -1, fd = -1;
        char path[sizeof("/proc/self/fd/") + 11];

        dir_fd = openat(ctl->root_fd, PATH_RUN_DIR, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (dir_fd < 0)
                return -errno;

        fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (fd < 0)
                return -errno;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", dir_fd);
        if (inotify_add_watch(fd, path, WATCH_MASK) < 0)
                return -errno;

        *ret_fd = TAKE_FD(fd);
        return 0;
}

/* Until something happens in the directory or `until` has come. Waking up too early does no harm. */
static int wait_for_change(int fd, usec_t until) {
        char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
        struct pollfd p = { .fd = fd, .events = POLLIN };
        usec_t now = fs_now();
        int timeout = now >= until ? 0 : (int) MIN((until - now) / USEC_PER_MSEC + 1, (usec_t) 3600 * 1000);

        if (poll(&p, 1, timeout) < 0 && errno != EINTR)
                return -errno;

        /* What happened is seen by looking. */
        while (read(fd, buf, sizeof(buf)) > 0)
                ;
        return 0;
}

static int say_timeout(const Ctl *ctl) {
        _cleanup_(boot_record_done) BootRecord record = {};

        if (state_file_read(ctl->root_fd, &record) < 0)
                ctl_error("RCU's boot has not ended within the timeout of %s, nor has rcu-bootd recorded "
                          "anything.",
                                ctl->timeout);
        else
                ctl_error("RCU's boot has not ended within the timeout of %s (phase: %s). See: rcu-bootctl "
                          "status",
                                ctl->timeout, boot_phase_to_string(record.phase));

        return CTL_NOT_ENDED;
}

static int wait_until(const Ctl *ctl, usec_t give_up) {
        _cleanup_close_ int fd = -1;
        usec_t deadline, until;
        int r;

        for (;;) {
                /* Watched anew each time: somebody may have removed the directory. Watch first, then look.
                 */
                closep(&fd);
                fd = -1;
                r = watch_run_dir(ctl, &fd);
                if (r < 0 && r != -ENOENT) {
                        ctl_error("Cannot watch %s/%s: %s", ctl->root, PATH_RUN_DIR, strerror(-r));
                        return CTL_FAILED;
                }

                switch (look(ctl, &deadline)) {
                case VERDICT_ENDED:
                        return CTL_DONE;
                case VERDICT_HOPELESS:
                        return CTL_FAILED;
                case VERDICT_WAIT:
                        break;
                }

                if (fs_now() >= give_up)
                        return say_timeout(ctl);

                until = deadline == USEC_INFINITY ? fs_now() + RECHECK_USEC : deadline + GRACE_USEC;
                r = wait_for_change(fd, MIN(until, give_up));
                if (r < 0) {
                        ctl_error("Cannot wait: %s", strerror(-r));
                        return CTL_FAILED;
                }
        }
}

int ctl_verb_wait(const Ctl *ctl, int argc, char **argv) {
        usec_t give_up = USEC_INFINITY, timeout;

        if (ctl->timeout) {
                if (policy_parse_sec(ctl->timeout, &timeout) < 0) {
                        ctl_error("--timeout=%s is not a time. Expected: seconds (\"30\"), or with a unit "
                                  "(\"2min\").",
                                        ctl->timeout);
                        return CTL_USAGE;
                }
                if (timeout < USEC_INFINITY - fs_now())
                        give_up = fs_now() + timeout;
        }

        return wait_until(ctl, give_up);
}
