/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "boot-record.h"
#include "ctl-output.h"
#include "kernel-view.h"
#include "knobs.h"

/* What `rcu-bootctl status` knows; gathered once, shown as text or JSON. */

/* Something that the reader should know of: a problem (exit code 1) or only a warning. */
typedef struct StatusNote {
        bool problem;
        const char *id; /* for JSON; stable */
        Knob knob;      /* _KNOB_MAX: of none in particular */
        char *text;     /* what, and what to do about it */
} StatusNote;

#define STATUS_NOTES_MAX 32U

typedef struct Status {
        usec_t now;
        int state_error;   /* 0, or why record is empty: an error of state_file_read() */
        BootRecord record; /* phase NONE if there is none */
        int running;       /* state_file_is_locked() */
        pid_t pid;         /* whose lock it is; 0: unknown */
        KnobReading knobs[_KNOB_MAX];
        bool drift[_KNOB_MAX]; /* not what was written when boot ended */
        RcuMode mode;          /* now */
        bool expedited_too;    /* rcu_expedited is set, in whichever mode */
        KernelView kernel;     /* the kernel's own end of RCU's boot */
        KernelVerdict verdict; /* on it */
        StatusNote notes[STATUS_NOTES_MAX];
        size_t n_notes;
} Status;

/* What is as it is: the state file, the lock, the knobs. -ENOMEM. */
int status_gather(const Ctl *ctl, Status *ret);

/* What to think of it: adds the notes. -ENOMEM. */
int status_judge(Status *s);

/* The part of it that is about the kernel's view. -ENOMEM. */
int status_judge_kernel(Status *s);

/* Adds a note; STATUS_NOTES_MAX of them, what is more is left out. -ENOMEM. */
int status_add(Status *s, bool problem, const char *id, Knob knob, const char *format, ...) _printf_(5, 6);

/* When the kernel, whose boot goes on, ends it at the latest. False: it has ended, or that is not known. */
bool status_kernel_until(const Status *s, usec_t *ret);

/* 1 if there is a problem, else 0 if boot has ended, else 3. */
int status_exit_code(const Status *s);

void status_done(Status *s);

/* Whether the policy says that RCU may be expedited after boot. */
bool status_may_stay_expedited(const BootRecord *r);

/* Control characters in the record's texts become '?', for good. -ENOMEM. */
int status_print_text(Status *s);

json_t *status_to_json(const Status *s); /* NULL if memory is out */
