/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "match.h"

/* The facts about this machine that [Match] sections may ask for. */

/* Fills the facts whose bit (1U << MatchField) is set in fields; the others stay unknown, and cost nothing.
 * subsystems: those that Device= rules name; devices come from libudev, which knows only the running
 * machine: where root_fd is not "/", none are found. What cannot be read is unknown, not an error. -ENOMEM.
 */
int machine_read_facts(int root_fd, uint32_t fields, char *const *subsystems, MachineFacts *ret);

/* A PREEMPT_RT kernel. */
bool machine_is_realtime(int root_fd);

/* The kernel's command line, one line. -ENOMEM, negative errno. */
int machine_read_cmdline(int root_fd, char **ret);

/* Whether root_fd is the running machine's own root. */
bool machine_is_own(int root_fd);

/* Whether PID 1 of this root is systemd (sd_booted(3), below the root). */
bool machine_has_systemd(int root_fd);

/* Whether systemd is still to start udevd. PATH_UDEV_CONTROL does not tell: it is a socket unit's, and there
 * before. */
bool machine_awaits_udevd(int root_fd);

/* Whether rescue.service or emergency.service has a cgroup: the one sign that it is there, with and without
 * a system bus. */
bool machine_in_rescue(int root_fd);

/* Whether the user is one of users: a name, or a number, which is always a uid. For who may announce
 * milestones: names are looked up in the root's etc/passwd at each call, as the account may be made during
 * boot; no NSS, which could block on a network that boot is still to bring up. */
bool machine_user_in(int root_fd, char *const *users, uid_t uid);
