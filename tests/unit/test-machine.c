/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test-machine.h"
#include "fs.h"

#include <errno.h>
#include <sys/utsname.h>

/* Nothing to read: nothing is known, and nothing fails. The architecture alone is that of whoever asks. */
START_TEST(empty_tree) {
        _cleanup_(machine_facts_done) MachineFacts facts = { 0 };
        char *cmdline = NULL;

        ck_assert_int_eq(machine_read_facts(tree.fd, UINT32_MAX, NULL, &facts), 0);
        for (MatchField f = 0; f < _MATCH_FIELD_MAX; f++)
                ck_assert_msg(f == MATCH_ARCHITECTURE || !facts.values[f], "%s is known",
                                match_field_to_string(f));
        ck_assert(!machine_is_realtime(tree.fd));
        ck_assert(!machine_has_systemd(tree.fd));
        ck_assert(!machine_in_rescue(tree.fd));
        ck_assert_int_eq(machine_read_cmdline(tree.fd, &cmdline), -ENOENT);
}
END_TEST

/* Every file is there, and none can be used. */
START_TEST(unusable_files) {
        static const char *const files[] = { PATH_CMDLINE, PATH_CLASS, PATH_KERNEL_VERSION, PATH_REALTIME,
                PATH_CPUINFO, PATH_CPUS_PRESENT, DMI "chassis_type", DMI "sys_vendor", DMI "product_name",
                PATH_OS_RELEASE_ETC, PATH_MACHINE_INFO, PATH_DEVICETREE "/compatible", PATH_PID1_ENVIRON,
                PATH_CONTAINER_NAME, PATH_HYPERVISOR_TYPE, PATH_PASSWD };
        char *const users[] = { (char *) "somebody", NULL };
        _cleanup_(machine_facts_done) MachineFacts facts = { 0 };

        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                _cleanup_free_ char *below = NULL;

                ck_assert_int_ge(asprintf(&below, "%s/is-a-directory", files[i]), 0);
                test_tree_write(tree.dir, below, "");
        }
        ck_assert_int_eq(machine_read_facts(tree.fd, UINT32_MAX, NULL, &facts), 0);
        for (MatchField f = 0; f < _MATCH_FIELD_MAX; f++)
                ck_assert_msg(f == MATCH_ARCHITECTURE || !facts.values[f], "%s is known",
                                match_field_to_string(f));
        ck_assert(!machine_user_in(tree.fd, users, 1000));
}
END_TEST

/* --- class --- */

static const struct {
        const char *cmdline, *file, *expected;
} classes[] = {
        { "quiet", NULL, "(unknown)" },
        { "quiet rcu_bootd.class=laptop", NULL, "laptop" },
        { "rcu_bootd.class=laptop quiet\n", "server\n", "laptop" },
        { "rcu_bootd.class=laptop rcu_bootd.class=phone", NULL, "phone" }, /* the last, as in the kernel */
        { "xrcu_bootd.class=laptop", "server\n", "server" },
        { "rcu_bootd.class=", "server\n", "(unknown)" }, /* unset for this boot */
        { "rcu_bootd.class=\"my class\"", NULL, "my class" },
        { NULL, "server", "server" },
        { NULL, "  server \t\n\n", "server" },
        { NULL, "\n", "(unknown)" },
        { NULL, "", "(unknown)" },
};

/* case 26: the administrator says what the firmware does not, or says wrongly. */
START_TEST(case_26_class) {
        write_optional(PATH_CMDLINE, classes[_i].cmdline);
        write_optional(PATH_CLASS, classes[_i].file);
        check_fact(MATCH_CLASS, classes[_i].expected);
}
END_TEST

/* --- kernel --- */

static const struct {
        const char *version, *realtime, *cmdline, *expected;
} kernels[] = {
        { "#1 SMP PREEMPT_RT Debian 6.1.90-1 (2024-05-03)\n", "1\n", NULL, "rt" },
        { "#1 SMP PREEMPT_RT\n", NULL, NULL, "rt" },
        { "#1 SMP PREEMPT RT\n", "1\n", NULL, "rt" }, /* patched kernels before 5.3 */
        { "#1 SMP PREEMPT_DYNAMIC Debian 6.1.90-1\n", NULL, "quiet", "dynamic" },
        { "#1 SMP PREEMPT_DYNAMIC\n", "0\n", "preempt=full", "dynamic|full" },
        { "#1 SMP PREEMPT_DYNAMIC\n", NULL, "preempt=none", "dynamic|none" },
        { "#1 SMP PREEMPT_DYNAMIC\n", NULL, "preempt=full preempt=voluntary", "dynamic|voluntary" },
        { "#1 SMP PREEMPT_DYNAMIC\n", NULL, "preempt=lazy", "dynamic|lazy" },
        { "#1 SMP PREEMPT_DYNAMIC\n", NULL, "preempt=most", "dynamic" },
        { "#1 SMP PREEMPT Mon Jan 1\n", NULL, "preempt=none", "full" },
        { "#1 SMP PREEMPT_LAZY Mon Jan 1\n", NULL, NULL, "lazy" },
        { "#1 SMP Mon Jan 1\n", NULL, "preempt=full", "none|voluntary" },
        { NULL, NULL, "preempt=full", "(unknown)" },
        { "\n", NULL, NULL, "(unknown)" },
};

START_TEST(preemption) {
        write_optional(PATH_KERNEL_VERSION, kernels[_i].version);
        write_optional(PATH_REALTIME, kernels[_i].realtime);
        write_optional(PATH_CMDLINE, kernels[_i].cmdline);
        check_fact(MATCH_PREEMPTION, kernels[_i].expected);
        ck_assert_int_eq(machine_is_realtime(tree.fd), streq(kernels[_i].expected, "rt"));
}
END_TEST

static const struct {
        const char *uname, *expected;
} architectures[] = {
        { "x86_64\n", "x86-64" },
        { "i686\n", "x86" },
        { "aarch64\n", "arm64" },
        { "aarch64_be\n", "arm64-be" },
        { "armv7l\n", "arm" },
        { "armv5tel\n", "arm" },
        { "armv5teb\n", "arm-be" },
        { "ppc64le\n", "ppc64-le" },
        { "ppc64\n", "ppc64" },
        { "s390x\n", "s390x" },
        { "sh4a\n", "sh" },
        { "riscv64\n", "riscv64" },
        { "loongarch64\n", "loongarch64" },
        { "sparc64\n", "sparc64" },
};

START_TEST(architecture) {
        test_tree_write(tree.dir, PATH_KERNEL_ARCH, architectures[_i].uname);
        check_fact(MATCH_ARCHITECTURE, architectures[_i].expected);
}
END_TEST

/* Kernels before 6.1 have no such file. */
START_TEST(architecture_of_uname) {
        _cleanup_(machine_facts_done) MachineFacts before = { 0 };
        struct utsname uts;

        ck_assert_int_eq(machine_read_facts(tree.fd, UINT32_C(1) << MATCH_ARCHITECTURE, NULL, &before), 0);
        ck_assert_int_eq(uname(&uts), 0);
        test_tree_write(tree.dir, PATH_KERNEL_ARCH, uts.machine);
        check_fact(MATCH_ARCHITECTURE, before.values[MATCH_ARCHITECTURE][0]);
}
END_TEST

static const struct {
        const char *cmdline, *expected;
} cmdlines[] = {
        { "quiet  ro\troot=/dev/sda1\n", "quiet|ro|root=/dev/sda1|root" },
        { "key=\"a b\" x", "key=a b|key|x" },
        { "\"key=a b\"", "key=a b|key" },
        { "it's fine\\", "it's|fine\\" },
        { "a==b =c", "a==b|a|=c|" },
        { "open=\"never closed", "open=never closed|open" },
        { "\n", "(unknown)" },
};

START_TEST(command_line) {
        test_tree_write(tree.dir, PATH_CMDLINE, cmdlines[_i].cmdline);
        check_fact(MATCH_KERNEL_COMMAND_LINE, cmdlines[_i].expected);
}
END_TEST

START_TEST(command_line_as_it_is) {
        _cleanup_free_ char *line = NULL;

        test_tree_write(tree.dir, PATH_CMDLINE, "quiet \"a b\" rcupdate.rcu_expedited=1\n");
        ck_assert_int_eq(machine_read_cmdline(tree.fd, &line), 0);
        ck_assert_str_eq(line, "quiet \"a b\" rcupdate.rcu_expedited=1");
}
END_TEST

static const struct {
        const char *present, *expected;
} cpus[] = {
        { "0\n", "1" },
        { "0-3\n", "4" },
        { "0-3,8-11\n", "8" },
        { "0,2,4-5\n", "4" },
        { "0-255\n", "256" },
        { "\n", "(unknown)" },
        { "3-1\n", "(unknown)" },
        { "0-\n", "(unknown)" },
        { "0;1\n", "(unknown)" },
        { "all\n", "(unknown)" },
};

START_TEST(cpu_count) {
        test_tree_write(tree.dir, PATH_CPUS_PRESENT, cpus[_i].present);
        check_fact(MATCH_CPUS, cpus[_i].expected);
}
END_TEST

/* --- system --- */

static const struct {
        const char *etc, *usr, *expected;
} os_releases[] = {
        { "NAME=\"Debian GNU/Linux\"\nID=debian\nVERSION_ID=\"12\"\n", NULL, "debian" },
        { "ID=rocky\nID_LIKE=\"rhel centos fedora\"\n", NULL, "rocky|rhel|centos|fedora" },
        { "ID_LIKE='ubuntu debian'\nID='linuxmint'\nVARIANT_ID=server", NULL,
                        "linuxmint|ubuntu|debian|server" },
        { NULL, "ID=fedora\nVARIANT_ID=coreos\n", "fedora|coreos" },
        { "ID=etc\n", "ID=usr\n", "etc" },
        { "NAME=Nameless\n", NULL, "linux" },
        { "#ID=comment\nXID=x\nID=a\nID=b\n", NULL, "b" }, /* a shell would take the last */
        { "ID=debian\nID_LIKE=debian\n", NULL, "debian" },
        { "ID=\"broken\nID_LIKE=debian\n", NULL, "linux|debian" },
};

START_TEST(os) {
        write_optional(PATH_OS_RELEASE_ETC, os_releases[_i].etc);
        write_optional(PATH_OS_RELEASE_USR, os_releases[_i].usr);
        check_fact(MATCH_OS, os_releases[_i].expected);
}
END_TEST

START_TEST(os_by_symlink) {
        test_tree_write(tree.dir, PATH_OS_RELEASE_USR, "ID=debian\n");
        test_tree_write(tree.dir, "etc/other", "");
        ck_assert_int_eq(symlinkat("../usr/lib/os-release", tree.fd, PATH_OS_RELEASE_ETC), 0);
        check_fact(MATCH_OS, "debian");
}
END_TEST

/* libudev knows the running machine only: its devices are not the tree's. */
START_TEST(no_devices_below_a_tree) {
        char *const subsystems[] = { (char *) "net", (char *) "mem", NULL };
        _cleanup_(machine_facts_done) MachineFacts facts = { 0 };

        test_tree_write(tree.dir, "sys/class/net/lo/uevent", "INTERFACE=lo\n");
        ck_assert_int_eq(machine_read_facts(tree.fd, UINT32_C(1) << MATCH_DEVICE, subsystems, &facts), 0);
        ck_assert_ptr_null(facts.values[MATCH_DEVICE]);
}
END_TEST

START_TEST(own_root) {
        _cleanup_close_ int root = fs_open_root("/");

        ck_assert(machine_is_own(root));
        ck_assert(!machine_is_own(tree.fd));
}
END_TEST

START_TEST(systemd) {
        test_tree_write(tree.dir, "run/systemd/other", "");
        ck_assert(!machine_has_systemd(tree.fd));
        test_tree_write(tree.dir, PATH_SYSTEMD_BOOTED "/entry", "");
        ck_assert(machine_has_systemd(tree.fd));
}
END_TEST

/* case 27: udevd is what initialises devices, and may be slow to come. */
START_TEST(case_27_udevd) {
        static const char *const procs[] = {
                PATH_CGROUP_UNIFIED "/system.slice/systemd-udevd.service/udev/cgroup.procs",
                PATH_CGROUP_HYBRID "/system.slice/systemd-udevd.service/cgroup.procs",
                PATH_CGROUP_LEGACY "/system.slice/systemd-udevd.service/cgroup.procs",
        };

        ck_assert(!machine_awaits_udevd(tree.fd));
        test_tree_write(tree.dir, "usr/lib/systemd/system/systemd-udevd.service", "[Service]\n");
        ck_assert(!machine_awaits_udevd(tree.fd));
        test_tree_write(tree.dir, PATH_SYSTEMD_BOOTED "/entry", "");
        test_tree_write(tree.dir, "run/udev/control", "");
        ck_assert(machine_awaits_udevd(tree.fd));
        test_tree_write(tree.dir, procs[_i], "123\n");
        ck_assert(!machine_awaits_udevd(tree.fd));
        ck_assert_int_eq(unlinkat(tree.fd, procs[_i], 0), 0);
        /* A udevd that restarts, or is masked, is none that is still to come. */
        ck_assert(!machine_awaits_udevd(tree.fd));
}
END_TEST

START_TEST(case_27_udevd_masked) {
        test_tree_write(tree.dir, PATH_SYSTEMD_BOOTED "/entry", "");
        ck_assert(!machine_awaits_udevd(tree.fd));
        test_tree_write(tree.dir, "usr/lib/systemd/system/systemd-udevd.service", "[Service]\n");
        test_tree_write(tree.dir, "etc/systemd/system/systemd-udevd.service", "");
        ck_assert(!machine_awaits_udevd(tree.fd));
}
END_TEST

static const char *const cgroups[] = {
        PATH_CGROUP_UNIFIED "/system.slice/rescue.service",
        PATH_CGROUP_UNIFIED "/system.slice/emergency.service",
        PATH_CGROUP_HYBRID "/system.slice/rescue.service",
        PATH_CGROUP_HYBRID "/system.slice/emergency.service",
        PATH_CGROUP_LEGACY "/system.slice/rescue.service",
        PATH_CGROUP_LEGACY "/system.slice/emergency.service",
};

/* case 13: somebody has a rescue shell, or will have when its ExecStartPre= is done: there is no process for
 * a moment then. */
START_TEST(case_13_rescue) {
        _cleanup_free_ char *procs = NULL;

        ck_assert_int_ge(asprintf(&procs, "%s/cgroup.procs", cgroups[_i]), 0);
        ck_assert(!machine_in_rescue(tree.fd));
        test_tree_write(tree.dir, PATH_CGROUP_UNIFIED "/system.slice/ssh.service/cgroup.procs", "99\n");
        ck_assert(!machine_in_rescue(tree.fd));
        test_tree_write(tree.dir, procs, "123\n4567\n");
        ck_assert(machine_in_rescue(tree.fd));
        test_tree_write(tree.dir, procs, "");
        ck_assert(machine_in_rescue(tree.fd));
        ck_assert_int_eq(unlinkat(tree.fd, procs, 0), 0);
        ck_assert_int_eq(unlinkat(tree.fd, cgroups[_i], AT_REMOVEDIR), 0);
        ck_assert(!machine_in_rescue(tree.fd));
}
END_TEST

/* --- users --- */

#define PASSWD                              \
        "root:x:0:0:root:/root:/bin/bash\n" \
        "# comment\n"                       \
        "short:x\n"                         \
        "\n"                                \
        "alice:x:1000:1000::/home/alice:\n" \
        "bob::1001:1000:::\n"               \
        "alias:x:1000:1000:::\n"            \
        "1002:x:1003:1003:::\n"             \
        "bad:x:12x:1:::\n"                  \
        "wide:x:4294968296:1:::\n"          \
        "last:x:1005:1:::"

static const struct {
        const char *users;
        uid_t uid;
        bool expected;
} users[] = {
        { "", 1000, false },
        { "alice", 1000, true },
        { "alice", 1001, false },
        { "bob", 1001, true },
        { "carol bob alice", 1000, true },
        { "alias", 1000, true },
        { "ali", 1000, false },
        { "alicex", 1000, false },
        { "1000", 1000, true },
        { "1001 1000", 1000, true },
        { "1000", 1001, false },
        { "77777", 77777, true }, /* needs no account */
        { "1002", 1003, false },  /* a number is a uid, never a name */
        { "1002", 1002, true },
        { "bad", 12, false },
        { "wide", 1000, false }, /* no uid wraps */
        { "4294968296", 1000, false },
        { "short", 0, false },
        { "last", 1005, true },
        { "4294967295", (uid_t) -1, false },
        { "root", 0, true },
};

START_TEST(allowed_users) {
        _cleanup_strv_free_ char **list = NULL;

        test_tree_write(tree.dir, PATH_PASSWD, PASSWD);
        ck_assert_int_eq(strv_split(users[_i].users, &list), 0);
        ck_assert_int_eq(machine_user_in(tree.fd, list, users[_i].uid), users[_i].expected);
}
END_TEST

START_TEST(account_made_during_boot) {
        char *const list[] = { (char *) "kiosk", (char *) "1000", NULL };

        ck_assert(machine_user_in(tree.fd, list, 1000)); /* no passwd yet */
        ck_assert(!machine_user_in(tree.fd, list, 1010));
        test_tree_write(tree.dir, PATH_PASSWD, "kiosk:x:1010:1010:::\n");
        ck_assert(machine_user_in(tree.fd, list, 1010));
        ck_assert(!machine_user_in(tree.fd, NULL, 1010));
}
END_TEST

static void add_kernel(TCase *tc) {
        tcase_add_test(tc, empty_tree);
        tcase_add_test(tc, unusable_files);
        tcase_add_loop_test(tc, case_26_class, 0, ELEMENTSOF(classes));
        tcase_add_loop_test(tc, preemption, 0, ELEMENTSOF(kernels));
        tcase_add_loop_test(tc, architecture, 0, ELEMENTSOF(architectures));
        tcase_add_test(tc, architecture_of_uname);
        tcase_add_loop_test(tc, command_line, 0, ELEMENTSOF(cmdlines));
        tcase_add_test(tc, command_line_as_it_is);
        tcase_add_loop_test(tc, cpu_count, 0, ELEMENTSOF(cpus));
}

static void add_system(TCase *tc) {
        tcase_add_loop_test(tc, os, 0, ELEMENTSOF(os_releases));
        tcase_add_test(tc, os_by_symlink);
        tcase_add_test(tc, no_devices_below_a_tree);
        tcase_add_test(tc, own_root);
        tcase_add_test(tc, systemd);
        tcase_add_loop_test(tc, case_27_udevd, 0, 3);
        tcase_add_test(tc, case_27_udevd_masked);
        tcase_add_loop_test(tc, case_13_rescue, 0, ELEMENTSOF(cgroups));
        tcase_add_loop_test(tc, allowed_users, 0, ELEMENTSOF(users));
        tcase_add_test(tc, account_made_during_boot);
}

int main(void) {
        static void (*const parts[])(TCase *) = { add_kernel, add_system };
        Suite *suite = suite_create("machine");

        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                TCase *tc = tcase_create("machine");

                tcase_add_checked_fixture(tc, setup, teardown);
                parts[i](tc);
                suite_add_tcase(suite, tc);
        }
        return test_run(suite);
}
