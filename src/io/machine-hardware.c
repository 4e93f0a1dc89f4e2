/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "machine-internal.h"

#include "fs.h"
#include "names.h"

#include <errno.h>
#include <strings.h>

#define PROPERTY_SIZE_MAX (16U * 1024U)
#define MACHINE_INFO_SIZE_MAX (64U * 1024U)

/* --- DMI --- */

/* What manufacturers leave in DMI when they do not fill it in: any machine may say so, so it says nothing.
 */
static const char *const placeholders[] = {
        "default",
        "default string",
        "empty",
        "filled by oem",
        "invalid",
        "n/a",
        "na",
        "none",
        "not applicable",
        "not available",
        "not defined",
        "not specified",
        "null",
        "o.e.m.",
        "oem",
        "product name",
        "sample",
        "standard",
        "system manufacturer",
        "system name",
        "system product name",
        "system version",
        "type1productconfigid",
        "type1family",
        "undefined",
        "unknown",
        "xxx",
};

static bool is_placeholder(const char *text) {
        text += strspn(text, " \t");
        if (strncasecmp(text, "to be filled", STRLEN("to be filled")) == 0)
                return true;
        for (size_t i = 0; i < ELEMENTSOF(placeholders); i++)
                if (strcasecmp(text, placeholders[i]) == 0)
                        return true;
        /* "", "0", "00000000", "........", "- - -" */
        if (text[strspn(text, " .-_*0")] == '\0')
                return true;
        return strlen(text) > 3 && (startswith("1234567890", text) || startswith("0123456789", text));
}

int machine_read_dmi(int root_fd, const char *name, char **ret) {
        char path[128];

        (void) snprintf(path, sizeof(path), PATH_DMI_DIR "/%s", name);
        return machine_read_optional_line(root_fd, path, ret);
}

/* Adds what the DMI file says, unless it says nothing, or what is in the list already. */
static int add_dmi(int root_fd, const char *name, char ***values) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = machine_read_dmi(root_fd, name, &text);
        if (r < 0 || !text || is_placeholder(text) || strv_contains(*values, text))
                return r;
        return strv_extend(values, text);
}

/* A number that a kernel file holds, or 0. */
static int read_code(int root_fd, const char *path, unsigned long *ret) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = machine_read_optional_line(root_fd, path, &text);
        if (r < 0)
                return r;
        *ret = text ? strtoul(text, NULL, 10) : 0;
        return 0;
}

/* --- device tree --- */

int machine_read_property(int root_fd, const char *name, char ***ret) {
        _cleanup_strv_free_ char **strings = NULL;
        _cleanup_free_ char *text = NULL;
        char path[128];
        size_t size = 0;
        int r;

        (void) snprintf(path, sizeof(path), PATH_DEVICETREE "/%s", name);
        r = fs_read(root_fd, path, PROPERTY_SIZE_MAX, &text, &size);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        for (const char *p = text; p < text + size; p += strlen(p) + 1) {
                if (*p == '\0')
                        continue;
                r = strv_extend(&strings, p);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(strings);
        return 0;
}

int machine_read_devicetree(const MachineReader *m, char ***values) {
        return machine_read_property(m->root_fd, "compatible", values);
}

/* --- machine-info(5) --- */

static int read_machine_info(int root_fd, const char *key, char **ret) {
        _cleanup_free_ char *text = NULL, *value = NULL;
        int r;

        r = fs_read(root_fd, PATH_MACHINE_INFO, MACHINE_INFO_SIZE_MAX, &text, NULL);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        r = machine_env_get(text, key, &value);
        if (r >= 0 && !isempty(value))
                *ret = TAKE_PTR(value);
        return r;
}

/* --- chassis --- */

static bool chassis_is_valid(const char *s) {
        static const char *const words[] = { "desktop", "laptop", "convertible", "server", "tablet",
                "handset", "watch", "embedded", "vm", "container" };

        for (size_t i = 0; s && i < ELEMENTSOF(words); i++)
                if (streq(s, words[i]))
                        return true;
        return false;
}

/* SMBIOS specification (DSP0134) 7.4.1, in hostnamectl(1)'s words. Only what is plain: "other", "rack mount"
 * or "sealed-case PC" may be anything. */
static const char *chassis_from_dmi(unsigned long type) {
        switch (type) {
        case 0x03: /* desktop */
        case 0x04: /* low profile desktop */
        case 0x06: /* mini tower */
        case 0x07: /* tower */
        case 0x0d: /* all in one */
        case 0x23: /* mini PC */
        case 0x24: /* stick PC */
                return "desktop";
        case 0x08: /* portable */
        case 0x09: /* laptop */
        case 0x0a: /* notebook */
        case 0x0e: /* sub notebook */
                return "laptop";
        case 0x0b: /* hand held */
                return "handset";
        case 0x11: /* main server chassis */
        case 0x1c: /* blade */
        case 0x1d: /* blade enclosure */
                return "server";
        case 0x1e:
                return "tablet";
        case 0x1f: /* convertible */
        case 0x20: /* detachable */
                return "convertible";
        case 0x21: /* IoT gateway */
        case 0x22: /* embedded PC */
                return "embedded";
        default:
                return NULL;
        }
}

/* ACPI specification 5.2.9.1, Preferred_PM_Profile. */
static const char *chassis_from_acpi(unsigned long profile) {
        switch (profile) {
        case 1: /* desktop */
        case 3: /* workstation */
        case 6: /* appliance PC */
                return "desktop";
        case 2: /* mobile */
                return "laptop";
        case 4: /* enterprise server */
        case 5: /* SOHO server */
        case 7: /* performance server */
                return "server";
        case 8:
                return "tablet";
        default:
                return NULL;
        }
}

static int add_firmware_chassis(int root_fd, char ***values) {
        _cleanup_strv_free_ char **property = NULL;
        const char *chassis;
        unsigned long code;
        int r;

        r = read_code(root_fd, PATH_DMI_DIR "/chassis_type", &code);
        if (r < 0)
                return r;
        chassis = chassis_from_dmi(code);
        if (!chassis) {
                r = read_code(root_fd, PATH_ACPI_PM_PROFILE, &code);
                if (r < 0)
                        return r;
                chassis = chassis_from_acpi(code);
        }
        if (!chassis) {
                r = machine_read_property(root_fd, "chassis-type", &property);
                if (r < 0)
                        return r;
                /* The devicetree specification, chapter 3, has the same words. */
                chassis = property && chassis_is_valid(property[0]) ? property[0] : NULL;
        }
        return chassis ? strv_extend(values, chassis) : 0;
}

/* hostnamectl(1)'s order: the administrator, then what runs us, then the firmware. */
int machine_read_chassis(const MachineReader *m, char ***values) {
        _cleanup_free_ char *info = NULL;
        int r;

        r = read_machine_info(m->root_fd, "CHASSIS", &info);
        if (r < 0)
                return r;
        if (chassis_is_valid(info))
                return strv_extend(values, info);
        if (strv_contains(m->virtualization, "vm"))
                return strv_extend(values, "vm");
        if (strv_contains(m->virtualization, "container"))
                return strv_extend(values, "container");
        return add_firmware_chassis(m->root_fd, values);
}

/* --- vendor, product --- */

/* The administrator's word, the system's, the board's; the first part of a "vendor,board" of a device tree.
 */
int machine_read_vendor(const MachineReader *m, char ***values) {
        _cleanup_strv_free_ char **compatible = NULL;
        _cleanup_free_ char *info = NULL;
        int r;

        r = read_machine_info(m->root_fd, "HARDWARE_VENDOR", &info);
        if (r < 0)
                return r;
        if (info)
                return strv_extend(values, info);
        r = add_dmi(m->root_fd, "sys_vendor", values);
        if (r >= 0 && !*values)
                r = add_dmi(m->root_fd, "board_vendor", values);
        if (r < 0 || *values)
                return r;
        r = machine_read_property(m->root_fd, "compatible", &compatible);
        if (r < 0 || !compatible || !strchr(compatible[0], ','))
                return r;
        return strv_consume(values, strndup(compatible[0], strcspn(compatible[0], ",")));
}

/* product_version, too: Lenovo has the name that people know there. */
int machine_read_product(const MachineReader *m, char ***values) {
        _cleanup_free_ char *info = NULL;
        int r;

        r = read_machine_info(m->root_fd, "HARDWARE_MODEL", &info);
        if (r < 0)
                return r;
        if (info)
                return strv_extend(values, info);
        r = add_dmi(m->root_fd, "product_name", values);
        if (r >= 0)
                r = add_dmi(m->root_fd, "product_version", values);
        if (r >= 0 && !*values)
                r = add_dmi(m->root_fd, "board_name", values);
        if (r < 0 || *values)
                return r;
        return machine_read_property(m->root_fd, "model", values);
}
