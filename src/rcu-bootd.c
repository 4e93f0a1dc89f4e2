/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <getopt.h>

#include "manager.h"

/* Exit codes, documented in rcu-bootd(8). */
enum {
        EXIT_CODE_ENDED = 0,
        EXIT_CODE_FAILED = 1,
        EXIT_CODE_USAGE = 2,
};

static ManagerOptions arg_options = { .root = "/" };

static void print_help(void) {
        printf("rcu-bootd [OPTIONS...]\n\n"
               "Waits until this machine has booted, then ends RCU's boot and exits.\n\n"
               "  -h --help            Show this text\n"
               "     --version         Show the version\n"
               "     --root=DIR        Look up all files below DIR instead of /\n"
               "     --policy=FILE     Use this policy file, whatever its [Match] says\n"
               "     --foreground-log  Write what goes to the journal to standard error, too\n"
               "     --post-stop       Only end boot if the daemon died and none follows it\n"
               "                       (what rcu-boot-end.service runs when the daemon is gone)\n\n"
               "See rcu-bootd(8), rcu-boot-policy(5) and rcu-bootctl(1).\n");
}

/* Whether to go on; if not, *ret_code is what to exit with. */
static bool parse_options(int argc, char **argv, int *ret_code) {
        enum { ARG_VERSION = 0x100, ARG_ROOT, ARG_POLICY, ARG_FOREGROUND_LOG, ARG_POST_STOP };
        static const struct option options[] = {
                { "help", no_argument, NULL, 'h' },
                { "version", no_argument, NULL, ARG_VERSION },
                { "root", required_argument, NULL, ARG_ROOT },
                { "policy", required_argument, NULL, ARG_POLICY },
                { "foreground-log", no_argument, NULL, ARG_FOREGROUND_LOG },
                { "post-stop", no_argument, NULL, ARG_POST_STOP },
                {},
        };
        int c;

        while ((c = getopt_long(argc, argv, "h", options, NULL)) >= 0)
                switch (c) {
                case 'h':
                        print_help();
                        *ret_code = EXIT_CODE_ENDED;
                        return false;
                case ARG_VERSION:
                        printf("%s\n", PACKAGE_STRING);
                        *ret_code = EXIT_CODE_ENDED;
                        return false;
                case ARG_ROOT:
                        arg_options.root = optarg;
                        break;
                case ARG_POLICY:
                        arg_options.policy_path = optarg;
                        break;
                case ARG_FOREGROUND_LOG:
                        arg_options.foreground_log = true;
                        break;
                case ARG_POST_STOP:
                        arg_options.post_stop = true;
                        break;
                default: /* getopt_long() has said what is wrong */
                        fprintf(stderr, "Try 'rcu-bootd --help'.\n");
                        *ret_code = EXIT_CODE_USAGE;
                        return false;
                }

        if (optind < argc) {
                fprintf(stderr, "rcu-bootd: takes no arguments, but got '%s'. Try 'rcu-bootd --help'.\n",
                                argv[optind]);
                *ret_code = EXIT_CODE_USAGE;
                return false;
        }

        return true;
}

int main(int argc, char **argv) {
        int code;

        if (!parse_options(argc, argv, &code))
                return code;

        return manager_run(&arg_options) < 0 ? EXIT_CODE_FAILED : EXIT_CODE_ENDED;
}
