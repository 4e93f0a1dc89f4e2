// SPDX-License-Identifier: GPL-2.0-only
#include "../src/kernel/user_booted.c"
