/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "test-machine.h"

/* --- chassis --- */

static const struct {
        const char *type, *expected;
} dmi_chassis[] = {
        { "1\n", "(unknown)" },
        { "2\n", "(unknown)" },
        { "3\n", "desktop" },
        { "4\n", "desktop" },
        { "5\n", "(unknown)" },
        { "6\n", "desktop" },
        { "7\n", "desktop" },
        { "8\n", "laptop" },
        { "9\n", "laptop" },
        { "10\n", "laptop" },
        { "11\n", "handset" },
        { "12\n", "(unknown)" },
        { "13\n", "desktop" },
        { "14\n", "laptop" },
        { "17\n", "server" },
        { "23\n", "(unknown)" },
        { "28\n", "server" },
        { "29\n", "server" },
        { "30\n", "tablet" },
        { "31\n", "convertible" },
        { "32\n", "convertible" },
        { "33\n", "embedded" },
        { "34\n", "embedded" },
        { "35\n", "desktop" },
        { "36\n", "desktop" },
        { "37\n", "(unknown)" },
        { "", "(unknown)" },
        { "laptop\n", "(unknown)" },
        { "99999999999999999999999\n", "(unknown)" },
};

START_TEST(chassis_of_dmi) {
        test_tree_write(tree.dir, DMI "chassis_type", dmi_chassis[_i].type);
        check_fact(MATCH_CHASSIS, dmi_chassis[_i].expected);
}
END_TEST

static const struct {
        const char *machine_info, *container, *dmi, *acpi, *devicetree, *expected;
} chassis_sources[] = {
        { "CHASSIS=tablet\n", "docker", "9", "1", "server", "tablet" },
        { "CHASSIS=vm\n", NULL, "9", NULL, NULL, "vm" },
        { "# CHASSIS=tablet\nPRETTY_HOSTNAME=\"A CHASSIS=watch\"\n", NULL, "9", "1", NULL, "laptop" },
        { "CHASSIS=toaster\n", NULL, "9", "1", NULL, "laptop" },
        { "CHASSIS=\n", NULL, "9", NULL, NULL, "laptop" },
        { "CHASSIS=\"watch\"\n", NULL, "9", NULL, NULL, "watch" },
        { "CHASSIS='unclosed\n", NULL, "9", NULL, NULL, "laptop" },
        { NULL, "docker", "9", "1", "server", "container" },
        { NULL, NULL, "9", "1", "server", "laptop" },
        { NULL, NULL, "1", "1", "server", "desktop" }, /* "other" */
        { NULL, NULL, NULL, "2\n", NULL, "laptop" },
        { NULL, NULL, NULL, "3\n", NULL, "desktop" },
        { NULL, NULL, NULL, "4\n", NULL, "server" },
        { NULL, NULL, NULL, "5\n", NULL, "server" },
        { NULL, NULL, NULL, "6\n", NULL, "desktop" },
        { NULL, NULL, NULL, "7\n", NULL, "server" },
        { NULL, NULL, NULL, "8\n", NULL, "tablet" },
        { NULL, NULL, NULL, "0\n", "handset", "handset" }, /* the property ends in NUL, see below */
        { NULL, NULL, NULL, NULL, "embedded", "embedded" },
        { NULL, NULL, NULL, NULL, "all-in-one", "(unknown)" },
};

START_TEST(chassis_order) {
        write_optional(PATH_MACHINE_INFO, chassis_sources[_i].machine_info);
        write_optional(PATH_CONTAINER_NAME, chassis_sources[_i].container);
        write_optional(DMI "chassis_type", chassis_sources[_i].dmi);
        write_optional(PATH_ACPI_PM_PROFILE, chassis_sources[_i].acpi);
        if (chassis_sources[_i].devicetree)
                test_tree_write_size(tree.dir, PATH_DEVICETREE "/chassis-type",
                                chassis_sources[_i].devicetree,
                                (ssize_t) strlen(chassis_sources[_i].devicetree) + 1);
        check_fact(MATCH_CHASSIS, chassis_sources[_i].expected);
}
END_TEST

START_TEST(chassis_of_a_vm) {
        test_tree_write(tree.dir, DMI "chassis_type", "9\n");
        test_tree_write(tree.dir, DMI "sys_vendor", "QEMU\n");
        check_fact(MATCH_CHASSIS, "vm");
}
END_TEST

/* --- virtualization --- */

#define CPUINFO(flags)                                                                               \
        "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: hypervisor CPU\nflags\t\t: " flags \
        "\nvmx flags\t: vnmi\nbugs\t\t: spectre\n\n"
#define BARE CPUINFO("fpu vme sse2 not_hypervisor hypervisor_not")
#define UNDER_HYPERVISOR CPUINFO("fpu vme hypervisor sse2")
#define ARM "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n\n"

static const struct {
        const char *cpuinfo, *vendor, *product, *clocks, *expected;
} machines[] = {
        { BARE, "LENOVO", "20L5", "tsc hpet acpi_pm", "no" },
        { BARE, NULL, NULL, NULL, "no" },
        { ARM, NULL, NULL, NULL, "no" },
        { NULL, NULL, NULL, NULL, "(unknown)" },
        { NULL, "LENOVO", "20L5", NULL, "(unknown)" },
        { NULL, "QEMU", "Standard PC (Q35 + ICH9, 2009)", NULL, "yes|vm|qemu" },
        { UNDER_HYPERVISOR, "QEMU", "Standard PC (i440FX + PIIX, 1996)", "tsc hpet acpi_pm", "yes|vm|qemu" },
        { UNDER_HYPERVISOR, "QEMU", "Standard PC (Q35 + ICH9, 2009)", "kvm-clock tsc", "yes|vm|kvm" },
        { UNDER_HYPERVISOR, NULL, NULL, "tsc kvm-clock", "yes|vm|kvm" },
        { UNDER_HYPERVISOR, NULL, NULL, "tsc xkvm-clock", "yes|vm|vm-other" },
        { UNDER_HYPERVISOR, NULL, NULL, NULL, "yes|vm|vm-other" },
        { UNDER_HYPERVISOR, NULL, NULL, "hyperv_clocksource_tsc_page acpi_pm", "yes|vm|microsoft" },
        { UNDER_HYPERVISOR, "Microsoft Corporation", "Virtual Machine", NULL, "yes|vm|microsoft" },
        { BARE, "Microsoft Corporation", "Surface Laptop", NULL, "no" },
        { UNDER_HYPERVISOR, "VMware, Inc.", "VMware7,1", "tsc", "yes|vm|vmware" },
        { UNDER_HYPERVISOR, "innotek GmbH", "VirtualBox", "kvm-clock tsc", "yes|vm|oracle" },
        { BARE, "innotek GmbH", "VirtualBox", NULL, "yes|vm|oracle" }, /* its flag can be turned off */
        { UNDER_HYPERVISOR, "Amazon EC2", "m5.large", "kvm-clock tsc", "yes|vm|amazon" },
        { BARE, "Amazon EC2", "m5.metal", "tsc", "no" },
        { BARE, "Google", "Google Compute Engine", "tsc", "no" },
        { UNDER_HYPERVISOR, "Google", "Google Compute Engine", "kvm-clock tsc", "yes|vm|google" },
        { BARE, "Google", "Eve", "tsc", "no" }, /* a Chromebook */
        { ARM, "Amazon EC2", "m6g.large", "arch_sys_counter", "yes|vm|amazon" },
        { "vendor_id\t: User Mode Linux\n", NULL, NULL, NULL, "yes|vm|uml" },
};

START_TEST(virtual_machine) {
        write_optional(PATH_CPUINFO, machines[_i].cpuinfo);
        write_optional(DMI "sys_vendor", machines[_i].vendor);
        write_optional(DMI "product_name", machines[_i].product);
        write_optional(PATH_CLOCKSOURCES, machines[_i].clocks);
        check_fact(MATCH_VIRTUALIZATION, machines[_i].expected);
}
END_TEST

static const struct {
        const char *features, *expected;
} xen[] = {
        { NULL, "yes|vm|xen" }, { "00000000000003f7\n", "yes|vm|xen" },
        { "0000000000000bf7\n", "no" }, /* domain 0 */
};

START_TEST(xen_domains) {
        test_tree_write(tree.dir, PATH_CPUINFO, UNDER_HYPERVISOR);
        test_tree_write(tree.dir, PATH_HYPERVISOR_TYPE, "xen\n");
        write_optional(PATH_XEN_FEATURES, xen[_i].features);
        check_fact(MATCH_VIRTUALIZATION, xen[_i].expected);
}
END_TEST

static const struct {
        const char *hypervisor, *board, *expected;
} devicetrees[] = {
        { "linux,kvm", NULL, "yes|vm|kvm" },
        { "xen,xen-4.17", NULL, "yes|vm|xen" },
        { "vmware", NULL, "yes|vm|vmware" },
        { "acme,visor", NULL, "yes|vm|vm-other" },
        { NULL, "qemu,pseries", "yes|vm|qemu" },
        { NULL, "linux,dummy-virt", "yes|vm|vm-other" },
        { NULL, "raspberrypi,4-model-b", "no" },
};

START_TEST(virtual_board) {
        test_tree_write(tree.dir, PATH_CPUINFO, ARM);
        if (devicetrees[_i].hypervisor)
                test_tree_write_size(tree.dir, PATH_DEVICETREE "/hypervisor/compatible",
                                devicetrees[_i].hypervisor,
                                (ssize_t) strlen(devicetrees[_i].hypervisor) + 1);
        if (devicetrees[_i].board)
                test_tree_write_size(tree.dir, PATH_DEVICETREE "/compatible", devicetrees[_i].board,
                                (ssize_t) strlen(devicetrees[_i].board) + 1);
        check_fact(MATCH_VIRTUALIZATION, devicetrees[_i].expected);
}
END_TEST

/* The flags of the first CPU suffice, and those of hundreds are not read. */
START_TEST(many_cpus) {
        _cleanup_free_ char *text = malloc(300 * 4000);
        size_t n = 0;

        for (unsigned i = 0; i < 256; i++)
                n += (size_t) sprintf(text + n, "processor\t: %u\nflags\t\t: %01000d hypervisor %01500d\n\n",
                                i, i, i);
        test_tree_write(tree.dir, PATH_CPUINFO, text);
        check_fact(MATCH_VIRTUALIZATION, "yes|vm|vm-other");
}
END_TEST

static const struct {
        const char *file;
        const char *environment; /* each line is a variable: they are separated by NUL in the file */
        const char *expected;
} containers[] = {
        { "systemd-nspawn\n", NULL, "yes|container|systemd-nspawn" },
        { "systemd-nspawn", "container=docker", "yes|container|systemd-nspawn" },
        { NULL, "HOME=/\ncontainer=podman\nTERM=linux", "yes|container|podman" },
        { NULL, "container=lxc", "yes|container|lxc" },
        { NULL, "container=oci", "yes|container|container-other" },
        { "my-own\n", NULL, "yes|container|container-other" },
        { NULL, "container=", "yes|vm|vm-other" },
        { "\n", "xcontainer=lxc\nHOME=container=lxc", "yes|vm|vm-other" },
};

/* Inside a virtual machine, as often: the innermost counts. */
START_TEST(container) {
        test_tree_write(tree.dir, PATH_CPUINFO, UNDER_HYPERVISOR);
        write_optional(PATH_CONTAINER_NAME, containers[_i].file);
        if (containers[_i].environment) {
                _cleanup_free_ char *block = strdup(containers[_i].environment);
                size_t size = strlen(block) + 1;

                for (char *p = block; p < block + size; p++)
                        if (*p == '\n')
                                *p = '\0';
                test_tree_write_size(tree.dir, PATH_PID1_ENVIRON, block, (ssize_t) size);
        }
        check_fact(MATCH_VIRTUALIZATION, containers[_i].expected);
}
END_TEST

/* --- hardware --- */

static const char *const placeholders[] = { "To Be Filled By O.E.M.", "To be filled by O.E.M.",
        "Default string", "System Product Name", "System manufacturer", "System Version", "Not Specified",
        "Not Applicable", "N/A", "None", "Unknown", "INVALID", "O.E.M.", "OEM", "Undefined", "", " ",
        "................", "00000000", "0123456789", "123456789", "- - -", "Type1ProductConfigId" };

/* case 26: text that any machine may have says nothing of this one. */
START_TEST(case_26_placeholder) {
        _cleanup_free_ char *line = NULL;

        ck_assert_int_ge(asprintf(&line, "%s\n", placeholders[_i]), 0);
        test_tree_write(tree.dir, DMI "sys_vendor", line);
        test_tree_write(tree.dir, DMI "product_name", line);
        test_tree_write(tree.dir, DMI "product_version", line);
        check_fact(MATCH_VENDOR, "(unknown)");
        check_fact(MATCH_PRODUCT, "(unknown)");

        test_tree_write(tree.dir, DMI "board_vendor", "ASRock\n");
        test_tree_write(tree.dir, DMI "board_name", "B450M Pro4\n");
        check_fact(MATCH_VENDOR, "ASRock");
        check_fact(MATCH_PRODUCT, "B450M Pro4");
}
END_TEST

static const char *const real_names[] = { "LENOVO", "20L5CTO1WW", "OEMplus Systems", "1.0", "123", "X-1",
        "Defaults Inc.", "Unknown Worlds" };

START_TEST(no_placeholder) {
        test_tree_write(tree.dir, DMI "product_name", real_names[_i]);
        check_fact(MATCH_PRODUCT, real_names[_i]);
}
END_TEST

/* case 26: no DMI directory; a board says what it is in its device tree. */
START_TEST(case_26_no_dmi) {
        static const char compatible[] = "raspberrypi,4-model-b\0brcm,bcm2711";

        test_tree_write_size(tree.dir, PATH_DEVICETREE "/compatible", compatible, sizeof(compatible));
        test_tree_write_size(tree.dir, PATH_DEVICETREE "/model", "Raspberry Pi 4 Model B\0", 23);
        check_fact(MATCH_DEVICETREE, "raspberrypi,4-model-b|brcm,bcm2711");
        check_fact(MATCH_VENDOR, "raspberrypi");
        check_fact(MATCH_PRODUCT, "Raspberry Pi 4 Model B");
        check_fact(MATCH_CHASSIS, "(unknown)");
}
END_TEST

START_TEST(devicetree_oddities) {
        test_tree_write_size(tree.dir, PATH_DEVICETREE "/compatible", "\0\0plain\0", 8);
        check_fact(MATCH_DEVICETREE, "plain");
        check_fact(MATCH_VENDOR, "(unknown)"); /* no "vendor,board" */
        test_tree_write(tree.dir, PATH_DEVICETREE "/compatible", "acme,no-nul");
        check_fact(MATCH_DEVICETREE, "acme,no-nul");
        test_tree_write(tree.dir, PATH_DEVICETREE "/compatible", "");
        check_fact(MATCH_DEVICETREE, "(unknown)");
}
END_TEST

START_TEST(vendor_and_product) {
        test_tree_write(tree.dir, DMI "sys_vendor", "LENOVO\n");
        test_tree_write(tree.dir, DMI "board_vendor", "Other\n");
        test_tree_write(tree.dir, DMI "product_name", "20L5CTO1WW\n");
        test_tree_write(tree.dir, DMI "product_version", "ThinkPad T480\n");
        test_tree_write(tree.dir, DMI "board_name", "20L5CTO1WW\n");
        check_fact(MATCH_VENDOR, "LENOVO");
        check_fact(MATCH_PRODUCT, "20L5CTO1WW|ThinkPad T480");
        test_tree_write(tree.dir, DMI "product_version", "20L5CTO1WW\n");
        check_fact(MATCH_PRODUCT, "20L5CTO1WW"); /* once */
        test_tree_write(tree.dir, PATH_MACHINE_INFO, "HARDWARE_VENDOR=Acme\nHARDWARE_MODEL=\"Box 3\"\n");
        check_fact(MATCH_VENDOR, "Acme");
        check_fact(MATCH_PRODUCT, "Box 3");
}
END_TEST

static void add_hardware(TCase *tc) {
        tcase_add_loop_test(tc, chassis_of_dmi, 0, ELEMENTSOF(dmi_chassis));
        tcase_add_loop_test(tc, chassis_order, 0, ELEMENTSOF(chassis_sources));
        tcase_add_test(tc, chassis_of_a_vm);
        tcase_add_loop_test(tc, case_26_placeholder, 0, ELEMENTSOF(placeholders));
        tcase_add_loop_test(tc, no_placeholder, 0, ELEMENTSOF(real_names));
        tcase_add_test(tc, case_26_no_dmi);
        tcase_add_test(tc, devicetree_oddities);
        tcase_add_test(tc, vendor_and_product);
}

static void add_virtualization(TCase *tc) {
        tcase_add_loop_test(tc, virtual_machine, 0, ELEMENTSOF(machines));
        tcase_add_loop_test(tc, xen_domains, 0, ELEMENTSOF(xen));
        tcase_add_loop_test(tc, virtual_board, 0, ELEMENTSOF(devicetrees));
        tcase_add_test(tc, many_cpus);
        tcase_add_loop_test(tc, container, 0, ELEMENTSOF(containers));
}

int main(void) {
        static void (*const parts[])(TCase *) = { add_hardware, add_virtualization };
        Suite *suite = suite_create("machine-hardware");

        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                TCase *tc = tcase_create("machine-hardware");

                tcase_add_checked_fixture(tc, setup, teardown);
                parts[i](tc);
                suite_add_tcase(suite, tc);
        }
        return test_run(suite);
}
