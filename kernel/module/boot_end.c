// SPDX-License-Identifier: GPL-2.0-only
#include "../src/kernel/rcu/boot_end.c"
