/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <getopt.h>

#include "ctl-output.h"
#include "fs.h"

/* Options that not every verb takes. */
enum {
        ALLOW_JSON = 1U << 0,
        ALLOW_REASON = 1U << 1,
        ALLOW_TIMEOUT = 1U << 2,
        ALLOW_BOOT = 1U << 3,
        ALLOW_FOLLOW = 1U << 4,
};

enum {
        OPTION_HELP = 'h',
        OPTION_FOLLOW = 'f',
        OPTION_VERSION = 0x100,
        OPTION_ROOT,
        OPTION_JSON,
        OPTION_NO_PAGER,
        OPTION_REASON,
        OPTION_TIMEOUT,
        OPTION_BOOT,
};

typedef struct Verb {
        const char *name;
        int min_args;
        int max_args; /* -1: any number */
        unsigned allowed;
        int (*run)(const Ctl *ctl, int argc, char **argv);
        const char *arguments;
        const char *help;
} Verb;

static const Verb verb_table[] = {
        { "status", 0, 0, ALLOW_JSON, ctl_verb_status, "",
                        "Show whether boot has ended, why, and the knobs" },
        { "knobs", 0, 0, ALLOW_JSON, ctl_verb_knobs, "",
                        "Show what RCU's knobs say now, and what that means" },
        { "log", 0, 0, ALLOW_JSON | ALLOW_BOOT | ALLOW_FOLLOW, ctl_verb_log, "",
                        "Show the transitions of a boot, from the journal" },
        { "wait", 0, 0, ALLOW_TIMEOUT, ctl_verb_wait, "", "Wait until RCU's boot has ended" },
        { "end", 0, 0, ALLOW_REASON, ctl_verb_end, "", "End RCU's boot now" },
        { "extend", 1, 1, 0, ctl_verb_extend, "SECONDS", "Let it last until SECONDS from now, at least" },
        { "milestone", 1, -1, 0, ctl_verb_milestone, "NAME...", "Announce that milestones are reached" },
        { "policy", 1, -1, ALLOW_JSON, ctl_verb_policy, "list", "List the policies there are" },
};

/* Shown below "policy list"; dispatched in ctl-policy.c. */
static const struct {
        const char *text;
        const char *help;
} policy_help[] = {
        { "policy show [NAME]", "Show a policy, drop-ins merged; the chosen one unless named" },
        { "policy check [FILE...]", "Look for faults; in all installed ones unless named" },
        { "policy explain", "Show why which policy is chosen, and where its values are from" },
};

typedef struct Option {
        struct option option;
        unsigned allowed; /* 0: with every verb */
        const char *text;
        const char *help;
} Option;

static const Option option_table[] = {
        { { "root", required_argument, NULL, OPTION_ROOT }, 0, "   --root=DIR",
                        "Work on the tree below DIR" },
        { { "json", no_argument, NULL, OPTION_JSON }, ALLOW_JSON, "   --json",
                        "JSON (status, knobs, log, policy)" },
        { { "no-pager", no_argument, NULL, OPTION_NO_PAGER }, 0, "   --no-pager", "Do not start a pager" },
        { { "reason", required_argument, NULL, OPTION_REASON }, ALLOW_REASON, "   --reason=TEXT",
                        "Why, for status and journal (end)" },
        { { "timeout", required_argument, NULL, OPTION_TIMEOUT }, ALLOW_TIMEOUT, "   --timeout=SEC",
                        "Give up after that long (wait)" },
        { { "boot", required_argument, NULL, OPTION_BOOT }, ALLOW_BOOT, "   --boot=ID",
                        "0 is this boot, -1 the one before, or a boot's ID (log)" },
        { { "follow", no_argument, NULL, OPTION_FOLLOW }, ALLOW_FOLLOW, "-f --follow",
                        "Go on with what is still to come (log)" },
        { { "help", no_argument, NULL, OPTION_HELP }, 0, "-h --help", "Show this" },
        { { "version", no_argument, NULL, OPTION_VERSION }, 0, "   --version", "Show the version" },
};

static int help(void) {
        printf("%s [OPTION...] COMMAND ...\n\n"
               "%sWhen does boot end for RCU, and what has become of it?%s\n"
               "\n"
               "%sCommands:%s\n",
                        "rcu-bootctl", colour(COLOUR_BOLD), colour(COLOUR_NORMAL), colour(COLOUR_BOLD),
                        colour(COLOUR_NORMAL));

        for (size_t i = 0; i < ELEMENTSOF(verb_table); i++) {
                const Verb *v = &verb_table[i];
                int pad = 24 - (int) strlen(v->name) - 1;

                printf("  %s %-*s %s\n", v->name, MAX(pad, 0), v->arguments, v->help);
        }
        for (size_t i = 0; i < ELEMENTSOF(policy_help); i++)
                printf("  %-24s %s\n", policy_help[i].text, policy_help[i].help);

        printf("\n%sOptions:%s\n", colour(COLOUR_BOLD), colour(COLOUR_NORMAL));
        for (size_t i = 0; i < ELEMENTSOF(option_table); i++)
                printf("  %-24s %s\n", option_table[i].text, option_table[i].help);

        printf("\nWithout a command: status. Exit codes: 0 done, 1 failed, 2 usage, 3 boot has not ended "
               "(yet).\n"
               "See rcu-bootctl(1), rcu-bootd(8), rcu-boot-policy(5).\n");
        return CTL_DONE;
}

/* 1: to be acted upon already; the exit code is in *ret_code. */
static int apply_option(int option, Ctl *ctl, unsigned *given, int *ret_code) {
        switch (option) {
        case OPTION_HELP:
                *ret_code = help();
                return 1;
        case OPTION_VERSION:
                printf("rcu-bootctl %s\n", VERSION);
                *ret_code = CTL_DONE;
                return 1;
        case OPTION_ROOT:
                ctl->root = optarg;
                break;
        case OPTION_JSON:
                ctl->json = true;
                break;
        case OPTION_NO_PAGER:
                ctl->no_pager = true;
                break;
        case OPTION_REASON:
                ctl->reason = optarg;
                break;
        case OPTION_TIMEOUT:
                ctl->timeout = optarg;
                break;
        case OPTION_BOOT:
                ctl->boot = optarg;
                break;
        case OPTION_FOLLOW:
                ctl->follow = true;
                break;
        }

        for (size_t i = 0; i < ELEMENTSOF(option_table); i++)
                if (option_table[i].option.val == option)
                        *given |= option_table[i].allowed;

        return 0;
}

static void complain_of_option(const char *word, bool argument_missing) {
        const char *names[ELEMENTSOF(option_table)], *nearest;
        _cleanup_free_ char *name = NULL;

        if (argument_missing) {
                ctl_error("Option %s needs a value: %s=VALUE. See rcu-bootctl --help.", word, word);
                return;
        }

        if (optopt > 0 && !startswith(word, "--"))
                ctl_error("Unknown option -%c. See rcu-bootctl --help.", optopt);
        else if (optopt > 0)
                ctl_error("Option %.*s takes no value. See rcu-bootctl --help.", (int) strcspn(word, "="),
                                word);
        else {
                name = strndup(word + strspn(word, "-"), strcspn(word + strspn(word, "-"), "="));
                for (size_t i = 0; i < ELEMENTSOF(option_table); i++)
                        names[i] = option_table[i].option.name;
                nearest = name ? ctl_nearest(name, names, ELEMENTSOF(names)) : NULL;
                ctl_error("Unknown option %s.%s%s%s", word,
                                nearest ? " Did you mean --" : " See rcu-bootctl --help", strempty(nearest),
                                nearest ? "?" : ".");
        }
}

/* 0: *ret_index is where the verb stands; 1: nothing is left to do but to return *ret_code. */
static int parse_options(int argc, char **argv, Ctl *ctl, unsigned *ret_given, int *ret_code) {
        struct option options[ELEMENTSOF(option_table) + 1] = {};
        int c;

        for (size_t i = 0; i < ELEMENTSOF(option_table); i++)
                options[i] = option_table[i].option;

        opterr = 0;
        while ((c = getopt_long(argc, argv, ":hf", options, NULL)) >= 0) {
                if (c == '?' || c == ':') {
                        complain_of_option(argv[optind - 1], c == ':');
                        *ret_code = CTL_USAGE;
                        return 1;
                }
                if (apply_option(c, ctl, ret_given, ret_code) > 0)
                        return 1;
        }

        return 0;
}

static const Verb *find_verb(const char *name) {
        const char *names[ELEMENTSOF(verb_table)], *nearest;

        for (size_t i = 0; i < ELEMENTSOF(verb_table); i++) {
                if (streq(name, verb_table[i].name))
                        return &verb_table[i];
                names[i] = verb_table[i].name;
        }

        nearest = ctl_nearest(name, names, ELEMENTSOF(names));
        if (nearest)
                ctl_error("Unknown command \"%s\". Did you mean \"%s\"?", name, nearest);
        else
                ctl_error("Unknown command \"%s\". See rcu-bootctl --help.", name);
        return NULL;
}

static bool check_usage(const Verb *verb, int n_args, unsigned given) {
        if (n_args < verb->min_args) {
                ctl_error("Too few arguments. Expected: rcu-bootctl %s %s", verb->name, verb->arguments);
                return false;
        }
        if (verb->max_args >= 0 && n_args > verb->max_args) {
                ctl_error("Too many arguments. Expected: rcu-bootctl %s%s%s", verb->name,
                                *verb->arguments ? " " : "", verb->arguments);
                return false;
        }

        for (size_t i = 0; i < ELEMENTSOF(option_table); i++)
                if (option_table[i].allowed & given & ~verb->allowed) {
                        ctl_error("Option --%s has no place with \"%s\". See rcu-bootctl --help.",
                                        option_table[i].option.name, verb->name);
                        return false;
                }

        return true;
}

static int run(int argc, char **argv) {
        static char default_verb[] = "status";
        _cleanup_close_ int root_fd = -1;
        char *no_args[] = { default_verb, NULL };
        Ctl ctl = { .root = "/", .root_fd = -1 };
        unsigned given = 0;
        const Verb *verb;
        int code;

        if (parse_options(argc, argv, &ctl, &given, &code) > 0)
                return code;

        argc -= optind;
        argv += optind;
        if (argc == 0) {
                argc = 1;
                argv = no_args;
        }

        verb = find_verb(argv[0]);
        if (!verb || !check_usage(verb, argc - 1, given))
                return CTL_USAGE;

        root_fd = fs_open_root(ctl.root);
        if (root_fd < 0) {
                ctl_error("Cannot open the root directory %s: %s", ctl.root, strerror(-root_fd));
                return CTL_FAILED;
        }
        ctl.root_fd = root_fd;

        return verb->run(&ctl, argc, argv);
}

int main(int argc, char **argv) {
        int code;

        output_init();
        code = run(argc, argv);
        pager_close();

        /* A full disk or a closed pipe behind standard output is no success. Behind the pager there is none.
         */
        if (fflush(stdout) != 0 && code == CTL_DONE && errno != EBADF)
                code = CTL_FAILED;

        return code;
}
