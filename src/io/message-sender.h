/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

/* Who sent a datagram, as the kernel vouches for it (SCM_CREDENTIALS, unix(7)). */
typedef struct MessageSender {
        pid_t pid; /* 0 if the sender is outside our pid namespace */
        uid_t uid;
} MessageSender;
