/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl-output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <strings.h>
#include <sys/wait.h>
#include <systemd/sd-login.h>

#include "strv.h"

static pid_t pager_pid;

/* Whether the pager is not to offer shell escapes: sudo rcu-bootctl must not hand out a root shell. The same
 * rule as systemd's tools: $SYSTEMD_PAGERSECURE, or else whether we run as someone other than who logged
 * in. */
static bool is_secure_mode(void) {
        const char *e = getenv("SYSTEMD_PAGERSECURE");
        uid_t owner;

        if (e)
                return strcasecmp(e, "0") != 0 && strcasecmp(e, "no") != 0 && strcasecmp(e, "false") != 0;

        return sd_pid_get_owner_uid(0, &owner) < 0 ? geteuid() != getuid() || getenv("SUDO_UID")
                                                   : owner != geteuid();
}

/* Sets *ret to the user's wish, if there is one: an empty list is the wish for no pager. */
static int wanted_pager(char ***ret) {
        const char *e = getenv("SYSTEMD_PAGER");

        if (!e)
                e = getenv("PAGER");
        if (!e)
                return 0;
        if (streq(e, "cat") || streq(e, ""))
                return 1;

        return strv_split(e, ret) < 0 ? 0 : 1;
}

/* Where there is no pager at all: what was meant for it must be seen all the same. */
static void copy_through(void) {
        char buf[4096];
        ssize_t n, m;

        while ((n = read(STDIN_FILENO, buf, sizeof(buf))) > 0)
                for (ssize_t done = 0; done < n; done += m) {
                        m = write(STDOUT_FILENO, buf + done, (size_t) (n - done));
                        if (m < 0)
                                return;
                }
}

_noreturn_ static void run_pager(int fd, char **wanted) {
        bool secure = is_secure_mode();
        const char *options = getenv("SYSTEMD_LESS");
        struct sigaction act = { .sa_handler = SIG_DFL };

        sigaction(SIGPIPE, &act, NULL);
        dup2(fd, STDIN_FILENO);

        /* Quit if it fits on one screen, colours, cut long lines, leave the screen as it is, and let ^C
         * reach the program. */
        setenv("LESS", options ? options : "FRSXMK", 1);
        if (secure)
                setenv("LESSSECURE", "1", 1);

        /* Only less is known to heed LESSSECURE. */
        if (!secure && wanted && *wanted)
                execvp(*wanted, wanted);
        execlp("less", "less", (char *) NULL);
        if (!secure)
                execlp("more", "more", (char *) NULL);
        copy_through();
        _exit(EXIT_SUCCESS);
}

static void start_pager(char **wanted) {
        struct sigaction ignore = { .sa_handler = SIG_IGN };
        int fds[2];

        if (pipe2(fds, O_CLOEXEC) < 0)
                return;

        fflush(stdout);
        pager_pid = fork();
        if (pager_pid == 0) {
                close(fds[1]); /* or copy_through() would wait for itself */
                run_pager(fds[0], wanted);
        }
        close(fds[0]);
        if (pager_pid > 0) {
                dup2(fds[1], STDOUT_FILENO);
                /* A reader who has seen enough closes the pipe; that changes nothing in our exit code. ^C is
                 * for the pager. */
                sigaction(SIGPIPE, &ignore, NULL);
                sigaction(SIGINT, &ignore, NULL);
        }
        close(fds[1]);
}

void pager_open(const Ctl *ctl) {
        _cleanup_strv_free_ char **wanted = NULL;
        const char *term = getenv("TERM");

        if (ctl->no_pager || pager_pid > 0 || !isatty(STDOUT_FILENO) || !term || streq(term, "dumb"))
                return;
        if (wanted_pager(&wanted) > 0 && !wanted)
                return;

        start_pager(wanted);
}

void pager_close(void) {
        if (pager_pid <= 0)
                return;

        fflush(stdout);
        close(STDOUT_FILENO);
        while (waitpid(pager_pid, NULL, 0) < 0 && errno == EINTR)
                ;
        pager_pid = 0;
}
