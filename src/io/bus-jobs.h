/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "util.h"

#define BUS_JOBS_MAX 16U

/* Asks PID 1, over a connection of its own, for its queued jobs: "UNIT/TYPE", running ones first, then those
 * that start something, then by age; at most BUS_JOBS_MAX. Waits for timeout usec at most. -ENOENT,
 * -ECONNREFUSED: no bus; -ETIMEDOUT; negative errno. */
int bus_jobs_list(int root_fd, usec_t timeout, char ***ret);
