/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "kernel-view.h"

/* Reads what the kernel says of its own end of RCU's boot, below a root directory fd. */

/* Never fails as a whole: what went wrong is in the view, node by node (-ENOENT where the kernel has no such
 * node, -EINVAL where it says what it should not, or the negative errno of open(2), read(2)). By what and
 * when it ended is read only once it has, as it might end in between. */
void kernel_nodes_read(int root_fd, KernelView *ret);

/* The promise alone, for a daemon that has little time. -ENOENT: not in this kernel; or errors as above. */
int kernel_nodes_read_promise(int root_fd, bool *ret);
