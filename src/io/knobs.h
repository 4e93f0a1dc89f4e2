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

/* Tries the knob's paths in order, the first that exists is the knob. Never fails as a whole: what went
 * wrong is in the reading (-ENOENT where the kernel has no such knob, -EINVAL where it says no number). */
void knobs_read(int root_fd, Knob knob, KnobReading *ret);

/* One write(2) of the number and a newline, then opens the knob anew and reads it back. Refuses (-ERANGE) a
 * value outside the table's range for [During] and [After] together, whoever asked. A read-back that differs
 * is error -EIO for a knob that reads_back. What became of it is in *ret; attempted is always set. */
void knobs_write(int root_fd, Knob knob, int64_t value, KnobResult *ret);

/* A cause and a remedy in words, for the errnos that occur in practice (EROFS, EACCES, EPERM, EINVAL, EBUSY,
 * ENOENT, ERANGE, EIO, and the kernel's own 524); NULL for others. error: a negative errno. */
const char *knobs_error_hint(Knob knob, int error);

/* "Read-only file system (EROFS)"; "errno 524" where the C library knows no such error. error: a negative
 * errno. Returns buf; 128 bytes do. */
const char *knobs_error_to_string(int error, char *buf, size_t size);

/* The effective mode, from what the knobs say now. */
RcuMode knobs_read_mode(int root_fd);
