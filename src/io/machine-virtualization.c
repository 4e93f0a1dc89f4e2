/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "machine-internal.h"

#include "fs.h"
#include "names.h"

#include <errno.h>

/* Words of systemd-detect-virt(1). What it learns from CPUID, we learn from what the kernel has learnt from
 * CPUID: the flag "hypervisor", and the clocks that only one hypervisor offers. */

#define ENVIRON_SIZE_MAX (256U * 1024U)
/* One CPU's stanza in /proc/cpuinfo has about 2 KiB, its flags in the middle. */
#define CPUINFO_HEAD 4096U
/* XENFEAT_dom0, xen/include/public/features.h; Documentation/ABI/stable/sysfs-hypervisor-xen. */
#define XEN_FEATURE_DOM0 (1UL << 11)

static const char *const containers[] = {
        "docker",
        "lxc",
        "lxc-libvirt",
        "openvz",
        "podman",
        "pouch",
        "proot",
        "rkt",
        "systemd-nspawn",
        "wsl",
};

static const struct DmiVendor {
        const char *prefix;
        const char *id;
        bool sold_bare; /* the same words stand on machines that are rented out without a hypervisor */
} dmi_vendors[] = {
        { "Amazon EC2", "amazon", true },
        { "Google Compute Engine", "google", true },
        { "OpenStack", "kvm", true },
        { "KubeVirt", "kvm", false },
        { "KVM", "kvm", false },
        { "QEMU", "qemu", false },
        { "VMware", "vmware", false },
        { "VMW", "vmware", false },
        { "innotek GmbH", "oracle", false },
        { "VirtualBox", "oracle", false },
        { "Xen", "xen", false },
        { "Bochs", "bochs", false },
        { "Parallels", "parallels", false },
        { "BHYVE", "bhyve", false },
        { "Hyper-V", "microsoft", false },
        { "Virtual Machine", "microsoft", false }, /* product name; the vendor alone builds laptops, too */
        { "Apple Virtualization", "apple", false },
};

/* --- containers --- */

/* The variable that container managers set for their PID 1 (systemd.io/CONTAINER_INTERFACE). Only root can
 * read it. */
static int read_pid1_variable(int root_fd, char **ret) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        int r;

        r = fs_read(root_fd, PATH_PID1_ENVIRON, ENVIRON_SIZE_MAX, &text, &size);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        for (const char *p = text; p < text + size; p += strlen(p) + 1) {
                const char *value = startswith(p, "container=");

                if (!value)
                        continue;
                *ret = strdup(value);
                return *ret ? 0 : -ENOMEM;
        }
        return 0;
}

/* *ret_id is NULL where there is no container. */
static int detect_container(int root_fd, const char **ret_id) {
        _cleanup_free_ char *name = NULL;
        int r;

        *ret_id = NULL;
        /* systemd as a container's PID 1 leaves the variable's value there for everyone. */
        r = machine_read_optional_line(root_fd, PATH_CONTAINER_NAME, &name);
        if (r >= 0 && isempty(name)) {
                free(name);
                name = NULL;
                r = read_pid1_variable(root_fd, &name);
        }
        if (r < 0 || isempty(name))
                return r;
        *ret_id = "container-other";
        for (size_t i = 0; i < ELEMENTSOF(containers); i++)
                if (streq(name, containers[i]))
                        *ret_id = containers[i];
        return 0;
}

/* --- virtual machines --- */

typedef enum CpuKind {
        CPU_UNREADABLE,
        CPU_SILENT,     /* an architecture whose cpuinfo does not tell */
        CPU_BARE,       /* x86 without a hypervisor */
        CPU_HYPERVISOR, /* x86 under one: CPUID leaf 1, ECX bit 31 */
        CPU_UML,
} CpuKind;

/* The line that begins with key, up to its end; NULL if there is none. */
static char *find_line(char *text, const char *key) {
        char *line = text;

        while (line && !startswith(line, key)) {
                line = strchr(line, '\n');
                if (line)
                        line++;
        }
        if (line)
                line[strcspn(line, "\n")] = '\0';
        return line;
}

static bool has_word(const char *text, const char *word) {
        size_t length = strlen(word);

        for (const char *p = text; (p = strstr(p, word)); p += length)
                if ((p == text || strchr(" \t", p[-1])) && strchr(" \t\n", p[length]))
                        return true;
        return false;
}

static CpuKind read_cpu(int root_fd) {
        char text[CPUINFO_HEAD];
        const char *line;

        if (fs_read_head(root_fd, PATH_CPUINFO, text, sizeof(text)) < 0)
                return CPU_UNREADABLE;
        if (strstr(text, "User Mode Linux"))
                return CPU_UML;
        line = find_line(text, "flags\t");
        if (!line)
                return CPU_SILENT;
        return has_word(line, "hypervisor") ? CPU_HYPERVISOR : CPU_BARE;
}

static const struct DmiVendor *find_vendor(const char *text) {
        for (size_t i = 0; i < ELEMENTSOF(dmi_vendors); i++)
                if (startswith(text, dmi_vendors[i].prefix))
                        return dmi_vendors + i;
        return NULL;
}

static int detect_by_dmi(int root_fd, CpuKind cpu, const char **ret_id) {
        static const char *const files[] = { "product_name", "sys_vendor", "board_vendor", "bios_vendor" };

        for (size_t i = 0; i < ELEMENTSOF(files); i++) {
                _cleanup_free_ char *text = NULL;
                const struct DmiVendor *vendor;
                int r;

                r = machine_read_dmi(root_fd, files[i], &text);
                if (r < 0)
                        return r;
                vendor = text ? find_vendor(text) : NULL;
                if (!vendor || (vendor->sold_bare && cpu == CPU_BARE))
                        continue;
                *ret_id = vendor->id;
                return 0;
        }
        return 0;
}

/* The node that hypervisors for ARM and POWER add, and boards that only exist in emulation. */
static int detect_by_devicetree(int root_fd, const char **ret_id) {
        _cleanup_strv_free_ char **hypervisor = NULL, **board = NULL;
        int r;

        r = machine_read_property(root_fd, "hypervisor/compatible", &hypervisor);
        if (r < 0)
                return r;
        if (strv_contains(hypervisor, "linux,kvm"))
                *ret_id = "kvm";
        else if (strv_fnmatch((char *[]){ (char *) "xen,*", NULL }, hypervisor ? hypervisor[0] : ""))
                *ret_id = "xen";
        else if (strv_contains(hypervisor, "vmware"))
                *ret_id = "vmware";
        else if (hypervisor)
                *ret_id = "vm-other";
        if (*ret_id)
                return 0;
        r = machine_read_property(root_fd, "compatible", &board);
        if (r < 0)
                return r;
        if (strv_contains(board, "qemu,pseries"))
                *ret_id = "qemu";
        else if (strv_contains(board, "linux,dummy-virt"))
                *ret_id = "vm-other";
        return 0;
}

/* QEMU says the same of itself with and without KVM, and lesser known hypervisors say nothing at all. */
static int refine(int root_fd, const char **id) {
        _cleanup_free_ char *clocks = NULL;
        int r;

        r = machine_read_optional_line(root_fd, PATH_CLOCKSOURCES, &clocks);
        if (r < 0 || !clocks)
                return r;
        if (has_word(clocks, "kvm-clock"))
                *id = "kvm";
        else if (strstr(clocks, "hyperv_clocksource"))
                *id = "microsoft";
        return 0;
}

/* Domain 0 has the hardware: to systemd-detect-virt(1), too, it is a machine. */
static int detect_xen(int root_fd, bool *ret_xen, const char **ret_id) {
        _cleanup_free_ char *type = NULL, *features = NULL;
        int r;

        r = machine_read_optional_line(root_fd, PATH_HYPERVISOR_TYPE, &type);
        if (r < 0)
                return r;
        *ret_xen = type && streq(type, "xen");
        if (!*ret_xen)
                return 0;
        r = machine_read_optional_line(root_fd, PATH_XEN_FEATURES, &features);
        if (r < 0)
                return r;
        if (!features || !(strtoul(features, NULL, 16) & XEN_FEATURE_DOM0))
                *ret_id = "xen";
        return 0;
}

/* *ret_id is NULL where there is no hypervisor; *ret_known is false where nothing tells. */
static int detect_vm(int root_fd, bool *ret_known, const char **ret_id) {
        CpuKind cpu = CPU_UNREADABLE;
        const char *id = NULL;
        int r;

        r = detect_xen(root_fd, ret_known, &id);
        if (r >= 0 && !*ret_known) {
                cpu = read_cpu(root_fd);
                r = detect_by_dmi(root_fd, cpu, &id);
                if (r >= 0 && cpu == CPU_UML)
                        id = "uml";
                if (r >= 0 && !id)
                        r = detect_by_devicetree(root_fd, &id);
                if (!id && cpu == CPU_HYPERVISOR)
                        id = "vm-other";
                if (r >= 0 && id && (streq(id, "qemu") || streq(id, "vm-other")))
                        r = refine(root_fd, &id);
                *ret_known = id || cpu != CPU_UNREADABLE;
        }
        *ret_id = id;
        return r;
}

int machine_read_virtualization(const MachineReader *m, char ***values) {
        const char *id, *kind = "container";
        bool known = true;
        int r;

        /* A container in a virtual machine is a container: the innermost counts. */
        r = detect_container(m->root_fd, &id);
        if (r >= 0 && !id) {
                kind = "vm";
                r = detect_vm(m->root_fd, &known, &id);
        }
        if (r < 0 || !known)
                return r;
        if (!id)
                return strv_extend(values, "no");
        r = strv_extend(values, "yes");
        if (r >= 0)
                r = strv_extend(values, kind);
        return r < 0 ? r : strv_extend(values, id);
}
