/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "boot-setup.h"

#include <errno.h>
#include <fcntl.h>
#include <syslog.h>

#include "knobs.h"
#include "machine.h"
#include "names.h"
#include "policy-files.h"
#include "state-file.h"

/* The knobs as they are now, and what the kernel would have made of them by itself. */
static int note_knobs(int root_fd, BootRecord *record) {
        _cleanup_free_ char *cmdline = NULL;
        bool realtime = machine_is_realtime(root_fd);
        int r;

        r = machine_read_cmdline(root_fd, &cmdline);
        if (r == -ENOMEM)
                return r;

        FOREACH_KNOB(knob) {
                KnobRecord *k = &record->knobs[knob];
                KnobReading reading;

                knobs_read(root_fd, knob, &reading);
                k->present = reading.present;
                k->has_found = reading.present && reading.error == 0;
                k->found = k->has_found ? reading.value : 0;
                k->kernel_default = knob_kernel_default(knob, strempty(cmdline), realtime);
        }

        return 0;
}

static int use_forced(const char *path, Audit *audit, BootRecord *ret) {
        _cleanup_(policy_file_done) PolicyFile file = {};
        int r;

        r = policy_files_load_one(AT_FDCWD, path, &file);
        if (r < 0)
                return r;
        if (file.masked) {
                audit_log(audit, LOG_ERR,
                                "%s is empty or a link to /dev/null, so no policy: choosing one as usual.",
                                path);
                return -EBADMSG;
        }
        if (!file.policy) {
                audit_policy_rejected(audit, path, file.errors);
                return -EBADMSG;
        }

        return boot_record_from_policy(file.policy, "it was named with --policy=", ret);
}

static int use_builtin(const char *why, BootRecord *ret) {
        _cleanup_(policy_freep) Policy *policy = NULL;
        int r;

        r = policy_files_builtin(&policy);
        if (r < 0)
                return r;

        return boot_record_from_policy(policy, why, ret);
}

static int use_matching(int root_fd, Audit *audit, BootRecord *ret) {
        _cleanup_(policy_files_done) PolicyFiles files = {};
        _cleanup_(machine_facts_done) MachineFacts facts = {};
        _cleanup_free_ char *why = NULL;
        const PolicyFile *chosen;
        int r;

        r = policy_files_load(root_fd, &files);
        if (r == -E2BIG) {
                audit_log(audit, LOG_ERR,
                                "More than %u policy files: none is used, the built-in " POLICY_BUILTIN_NAME
                                " is.",
                                POLICY_FILES_MAX);
                return use_builtin("there are too many policy files", ret);
        }
        if (r < 0)
                return r;

        for (size_t i = 0; i < files.n; i++)
                if (files.items[i].errors)
                        audit_policy_rejected(audit, files.items[i].path, files.items[i].errors);

        r = policy_files_facts(root_fd, &files, &facts);
        if (r < 0)
                return r;

        r = policy_files_choose(&files, &facts, &chosen, &why);
        if (r < 0)
                return r;
        if (!chosen) {
                audit_log(audit, LOG_WARNING,
                                "No usable policy file matches this machine, using the "
                                "built-in " POLICY_BUILTIN_NAME ".");
                return use_builtin("no usable policy file matches", ret);
        }

        return boot_record_from_policy(chosen->policy, why, ret);
}

static int make_fresh(int root_fd, const char *policy_path, Audit *audit, BootRecord *ret) {
        int r = -EBADMSG;

        /* Whoever forces a faulty file gets no less safety than without it: the machine must end its boot.
         */
        if (policy_path)
                r = use_forced(policy_path, audit, ret);
        if (r == -EBADMSG)
                r = use_matching(root_fd, audit, ret);
        if (r < 0)
                return r;

        r = note_knobs(root_fd, ret);
        if (r < 0)
                boot_record_done(ret);
        return r;
}

int boot_setup_load(int root_fd, const char *policy_path, Audit *audit, BootRecord *ret, bool *ret_damaged) {
        int r;

        r = state_file_read(root_fd, ret);
        if (r == -ENOMEM)
                return r;
        if (r >= 0) {
                *ret_damaged = false;
                return 0;
        }

        if (r != -ENOENT)
                audit_log(audit, LOG_ERR, "The state file /" PATH_STATE " cannot be used (%s): ending boot.",
                                strerror(-r));

        *ret_damaged = r != -ENOENT;
        return make_fresh(root_fd, policy_path, audit, ret);
}

int boot_setup_builtin(int root_fd, BootRecord *ret) {
        int r;

        r = use_builtin("no policy file was looked for", ret);
        if (r < 0)
                return r;

        r = note_knobs(root_fd, ret);
        if (r < 0)
                boot_record_done(ret);
        return r;
}
