/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "test-util.h"

#include <endian.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Makes the kernel itself answer a system call with an errno, for errors that cannot be had otherwise
 * without privileges or a broken machine (seccomp(2); needs neither). It holds until the process ends: Check
 * runs each test in a process of its own. */

/* Only calls whose argument arg (0..5) is value in its lower half; arg < 0: every call. */
static inline void test_fail_syscall_if(long nr, int arg, uint32_t value, unsigned error) {
        unsigned lower = __BYTE_ORDER == __LITTLE_ENDIAN ? 0 : 4;
        unsigned offset =
                        (unsigned) offsetof(struct seccomp_data, args) + (unsigned) MAX(arg, 0) * 8 + lower;
        struct sock_filter any[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t) nr, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_filter some[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t) nr, 0, 3),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {
                .len = (unsigned short) (arg < 0 ? ELEMENTSOF(any) : ELEMENTSOF(some)),
                .filter = arg < 0 ? any : some,
        };

        ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static inline void test_fail_syscall(long nr, unsigned error) {
        test_fail_syscall_if(nr, -1, 0, error);
}
