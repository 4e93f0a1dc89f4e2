/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Every name that the outside world knows us by, or that we know it by: nothing else in the tree spells one
 * out. Paths have no leading slash: they are looked up below one root directory fd (--root=DIR). */

#define PATH_RUN_DIR "run/rcu-bootd"
#define PATH_STATE PATH_RUN_DIR "/state"
#define PATH_LOCK PATH_RUN_DIR "/lock"
#define PATH_INBOX PATH_RUN_DIR "/notify"
#define PATH_MILESTONE_DIR PATH_RUN_DIR "/milestones"

#define PATH_CLASS "etc/rcu-bootd/class"
#define PATH_POLICY_DIR_ETC "etc/rcu-bootd/policy.d"
#define PATH_POLICY_DIR_RUN "run/rcu-bootd/policy.d"
#define PATH_POLICY_DIR_USR "usr/lib/rcu-bootd/policy.d"
#define POLICY_SUFFIX ".policy"
#define POLICY_DROPIN_SUFFIX ".conf"
/* What stands in for a file name where the policy compiled in as a last resort is in force. */
#define POLICY_BUILTIN_NAME "99-default.policy"
#define POLICY_BUILTIN_PATH "(built in)"

/* systemd.unit(5), in order of precedence. */
#define UNIT_DIRECTORIES                                                            \
        "etc/systemd/system", "run/systemd/system", "usr/local/lib/systemd/system", \
                        "usr/lib/systemd/system", "lib/systemd/system"

/* All of the table "Load path when running in system mode": also what generators have made of fstab and the
 * like, where the system is running. */
#define UNIT_LOAD_PATH                                                                                      \
        "etc/systemd/system.control", "run/systemd/system.control", "run/systemd/transient",                \
                        "run/systemd/generator.early", "etc/systemd/system", "etc/systemd/system.attached", \
                        "run/systemd/system", "run/systemd/system.attached", "run/systemd/generator",       \
                        "usr/local/lib/systemd/system", "usr/lib/systemd/system", "lib/systemd/system",     \
                        "run/systemd/generator.late"

/* systemd-system.conf(5). */
#define PATH_SYSTEM_CONF "etc/systemd/system.conf"
#define SYSTEM_CONF_DIRECTORIES                                                                          \
        "etc/systemd/system.conf.d", "run/systemd/system.conf.d", "usr/local/lib/systemd/system.conf.d", \
                        "usr/lib/systemd/system.conf.d"

/* systemd-journald.service(8). */
#define JOURNAL_DIRECTORIES "var/log/journal", "run/log/journal"

#define LIBUDEV_SONAME "libudev.so.1"
#define PATH_UDEV_CONTROL "run/udev/control" /* there while udevd, or its socket unit, is */
#define PATH_SYSTEM_BUS "run/dbus/system_bus_socket"
#define PATH_SYSTEMD_BOOTED "run/systemd/system"
#define PATH_CONTAINER_NAME "run/systemd/container"
#define PATH_JOURNAL_SOCKET "run/systemd/journal/socket"
#define PATH_SYSTEM_CREDENTIALS "run/credentials/@system"
#define CREDENTIAL_NOTIFY_SOCKET "vmm.notify_socket"
#define PATH_KMSG "dev/kmsg"
#define PATH_CMDLINE "proc/cmdline"
#define PATH_PID1_ENVIRON "proc/1/environ"
#define PATH_KERNEL_VERSION "proc/sys/kernel/version"
#define PATH_KERNEL_ARCH "proc/sys/kernel/arch"
#define PATH_CPUINFO "proc/cpuinfo"
#define PATH_CPUS_PRESENT "sys/devices/system/cpu/present"
#define PATH_REALTIME "sys/kernel/realtime"
#define PATH_DMI_DIR "sys/class/dmi/id"
#define PATH_ACPI_PM_PROFILE "sys/firmware/acpi/pm_profile"
#define PATH_CLOCKSOURCES "sys/devices/system/clocksource/clocksource0/available_clocksource"
#define PATH_HYPERVISOR_TYPE "sys/hypervisor/type"
#define PATH_XEN_FEATURES "sys/hypervisor/properties/features"
#define PATH_DEVICETREE "sys/firmware/devicetree/base"
#define PATH_OS_RELEASE_ETC "etc/os-release"
#define PATH_OS_RELEASE_USR "usr/lib/os-release"
#define PATH_MACHINE_INFO "etc/machine-info"
#define PATH_PASSWD "etc/passwd"
/* Where the cgroup of a service that PID 1 runs can be: unified, hybrid and legacy hierarchies in turn. */
#define PATH_CGROUP_UNIFIED "sys/fs/cgroup"
#define PATH_CGROUP_HYBRID "sys/fs/cgroup/unified"
#define PATH_CGROUP_LEGACY "sys/fs/cgroup/systemd"
/* Cgroups of services, below those: udevd, and the shells that systemd offers instead of a booted system
 * (systemd.special(7)). */
#define UNIT_UDEVD "systemd-udevd.service"
#define CGROUP_UDEVD "system.slice/" UNIT_UDEVD
#define CGROUP_RESCUE "system.slice/rescue.service"
#define CGROUP_EMERGENCY "system.slice/emergency.service"

/* kernel/: the module, and the parameter that promises user_booted=1. */
#define KERNEL_MODULE "rcu_boot_end"
#define KERNEL_PROMISE "user_booted_reported"

#define PATH_KNOB_EXPEDITED "sys/kernel/rcu_expedited"
#define PATH_KNOB_NORMAL "sys/kernel/rcu_normal"
#define PATH_KNOB_WAKE_FROM_GP "sys/module/rcutree/parameters/rcu_normal_wake_from_gp"
#define PATH_KNOB_BOOT_END_DELAY "sys/module/rcupdate/parameters/rcu_boot_end_delay"
#define PATH_KNOB_BOOT_END_DELAY_ANDROID "sys/module/rcupdate/parameters/android_rcu_boot_end_delay"
#define PATH_KNOB_BOOT_END_DELAY_MODULE "sys/module/" KERNEL_MODULE "/parameters/rcu_boot_end_delay"
#define PATH_KNOB_USER_BOOTED "proc/sys/kernel/user_booted"

/* What the kernel says of its own end of RCU's boot, and what it was promised. */
#define PATH_KERNEL_ENDED "sys/kernel/rcu_boot_ended"
#define PATH_KERNEL_ENDED_BY "sys/kernel/rcu_boot_ended_by"
#define PATH_KERNEL_ENDED_MS "sys/kernel/rcu_boot_ended_ms"
#define PATH_KERNEL_PROMISE "sys/module/kernel/parameters/" KERNEL_PROMISE
#define PATH_KERNEL_PROMISE_MODULE "sys/module/" KERNEL_MODULE "/parameters/" KERNEL_PROMISE

#define UNIT_NAME "rcu-boot-end.service"
#define UNIT_WAIT_NAME "rcu-boot-wait.service"
#define UNIT_MILESTONE_PREFIX "rcu-boot-milestone@"
#define UNIT_MILESTONE_SUFFIX ".socket"

#define CMDLINE_CLASS "rcu_bootd.class="

/* Milestones that are not a unit's name. */
#define MILESTONE_STARTUP_FINISHED "startup-finished"
#define MILESTONE_DEVICE_PREFIX "device:"

/* Fields of the inbox's datagrams (rcu-bootd(8), INBOX). */
#define INBOX_MILESTONE "X_RCU_MILESTONE"
#define INBOX_BOOT_END "X_RCU_BOOT_END"
#define INBOX_REASON "X_RCU_REASON"
#define INBOX_EXTEND_MS "X_RCU_BOOT_EXTEND_MS"
#define INBOX_UNIT_ACTIVE "X_SYSTEMD_UNIT_ACTIVE" /* systemd(1) >= 256, sent by PID 1 */
#define INBOX_READY "READY"                       /* sd_notify(3) */
#define INBOX_BARRIER "BARRIER"                   /* sd_notify_barrier(3) */

/* Journal fields beside MESSAGE=, MESSAGE_ID= and PRIORITY=. */
#define FIELD_PHASE "RCU_BOOT_PHASE"
#define FIELD_REASON "RCU_BOOT_REASON"
#define FIELD_REASON_TEXT "RCU_BOOT_REASON_TEXT"
#define FIELD_MILESTONE "RCU_BOOT_MILESTONE"
#define FIELD_MISSING "RCU_BOOT_MISSING"
#define FIELD_JOBS "RCU_BOOT_PENDING_JOBS"
#define FIELD_SOURCE "RCU_BOOT_SOURCE"
#define FIELD_POLICY "RCU_BOOT_POLICY"
#define FIELD_POLICY_FILE "RCU_BOOT_POLICY_FILE"
#define FIELD_KNOB "RCU_BOOT_KNOB"
#define FIELD_KNOB_PATH "RCU_BOOT_KNOB_PATH"
#define FIELD_KNOB_BEFORE "RCU_BOOT_KNOB_BEFORE"
#define FIELD_KNOB_ASKED "RCU_BOOT_KNOB_ASKED"
#define FIELD_KNOB_READ_BACK "RCU_BOOT_KNOB_READ_BACK"
#define FIELD_MODE "RCU_BOOT_MODE"
#define FIELD_ERRNO "ERRNO" /* systemd.journal-fields(7) */
#define FIELD_BOOTTIME "RCU_BOOT_BOOTTIME_USEC"
#define FIELD_DEADLINE "RCU_BOOT_DEADLINE_USEC"
#define FIELD_UID "RCU_BOOT_SENDER_UID"
#define FIELD_PID "RCU_BOOT_SENDER_PID"

/* Message ids, each explained in catalog/rcu-bootd.catalog and listed in rcu-bootd(8). */
#define MESSAGE_ID_STARTED "44405c8da3ed464ea1f6472f7d1a262c"
#define MESSAGE_ID_MILESTONE "ce6402140da8430aa9843f62cdaf89cb"
#define MESSAGE_ID_ENDED "bb4c4637f3d94329acda2284592efff6"
#define MESSAGE_ID_DEADLINE "b973560ef4984c44a4b036ffe1091b20"
#define MESSAGE_ID_KNOB_WRITTEN "41f0a188cad64291a44b7451179c6ad0"
#define MESSAGE_ID_KNOB_FAILED "d0a75770635443a7a6700ccd2bd42600"
#define MESSAGE_ID_EXTENDED "676e99e6702445d3ad923467c14e820d"
#define MESSAGE_ID_POLICY_REJECTED "ed787464864c48d3a2a218f6d77f5945"
#define MESSAGE_ID_REFUSED "91583212d4fb428ba4023dd412693be0"
#define MESSAGE_ID_STILL_EXPEDITED "721eb9fe71e34c17a1f8b3c1b37c79d5"
#define MESSAGE_ID_DEVICE_UNINITIALIZED "c87a731285c043caaebdf876e3a08d1e"
#define MESSAGE_ID_UNKEPT_PROMISE "da36cb66c78e48928d479d9405746254"
