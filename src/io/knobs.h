/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "boot-phase.h"
#include "knob.h"

/* Reads and writes the RCU knobs below a root directory fd. */

typedef struct KnobReading {
        bool present;     /* this kernel has the knob */
        const char *path; /* the candidate that exists, below the root; NULL unless present */
        int error;        /* negative errno of the read; 0 if value is valid */
        int64_t value;
} KnobReading;

/* Never fails as a whole: what went wrong is in the reading. */
void knobs_read(int root_fd, Knob knob, KnobReading *ret);

/* One write(2) of the number and a newline, then reads it back. Refuses (-ERANGE) a value outside the
 * table's range for [During] and [After] together, whoever asked. A read-back that differs is error -EIO for
 * a knob that reads_back. */
void knobs_write(int root_fd, Knob knob, int64_t value, KnobResult *ret);

/* A cause and a remedy in words, for the errnos that occur in practice (EROFS, EACCES, EPERM, EINVAL, EBUSY,
 * ENOENT); NULL for others. */
const char *knobs_error_hint(Knob knob, int error);

/* The effective mode, from what the knobs say now. */
RcuMode knobs_read_mode(int root_fd);
