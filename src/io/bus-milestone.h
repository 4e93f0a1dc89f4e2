/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

#include <systemd/sd-bus.h>

/* One milestone that PID 1 can tell of: a unit, or startup-finished. Knows what to ask and what the answers
 * mean; which connection is the one, and when to ask, is its owner's business (systemd-bus.c). */

typedef struct BusMilestone BusMilestone;

typedef struct BusMilestoneOwner {
        char *pid1; /* PID 1's unique name on this connection; NULL while it is not known */
        void *userdata;
        /* Something became of the milestone: .reached or .answered was set. Never while asking. */
        void (*settled)(BusMilestone *m);
        /* What is needed to go on cannot be had (no memory, no connection): to be asked again on another
         * connection. Never while asking. */
        void (*failed)(BusMilestone *m);
} BusMilestoneOwner;

struct BusMilestone {
        BusMilestoneOwner *owner;
        char *name; /* as the policy spells it */
        bool startup_finished;
        bool reached;
        bool answered;      /* PID 1 has told its state, or it is certain that it cannot now */
        char *path;         /* the object that .match is for: that of the unit's real name */
        sd_bus_slot *match; /* the signal that tells of it */
        sd_bus_slot *call;  /* the question that is open */
};

void bus_milestone_done(BusMilestone *m);

/* Asks, whatever was asked before: match first, query after, so that nothing falls between. PID 1 must have
 * been told to send signals (Subscribe) in a call before. Never waits. -ENOMEM, -ENOTCONN. */
int bus_milestone_ask(BusMilestone *m, sd_bus *bus);

/* Forgets the connection it was asked on. */
void bus_milestone_forget(BusMilestone *m);

/* Takes note of PID 1's unique name: the broker's word, or the sender of an answer. NULL: it has none.
 * -ENOMEM. */
int bus_milestone_owner_set_pid1(BusMilestoneOwner *owner, const char *name);

/* Whether a signal is PID 1's own: a match rule keeps out what others broadcast, but not what they send to
 * us alone. */
bool bus_milestone_owner_is_pid1(const BusMilestoneOwner *owner, sd_bus_message *signal);
