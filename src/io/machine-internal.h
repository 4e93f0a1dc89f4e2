/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "strv.h"
#include "util.h"

/* What the files that make up machine_read_facts() share:
 *   machine.c                   the whole; the kernel and the system
 *   machine-hardware.c          what the firmware says: DMI, ACPI, device tree
 *   machine-virtualization.c    whether it is a machine at all */

typedef struct MachineReader {
        int root_fd;
        char *const *cmdline;        /* the kernel's command line, words */
        char *const *virtualization; /* values of MATCH_VIRTUALIZATION, for the chassis */
        char *const *subsystems;     /* of Device= rules */
} MachineReader;

/* Each adds the field's values to *values, which stays NULL where nothing is known. -ENOMEM. */
typedef int (*machine_read_t)(const MachineReader *m, char ***values);

int machine_read_chassis(const MachineReader *m, char ***values);
int machine_read_vendor(const MachineReader *m, char ***values);
int machine_read_product(const MachineReader *m, char ***values);
int machine_read_devicetree(const MachineReader *m, char ***values);
int machine_read_virtualization(const MachineReader *m, char ***values);

/* A file's one line, or NULL where there is none to be had. -ENOMEM. */
int machine_read_optional_line(int root_fd, const char *path, char **ret);

/* A property of the device tree: its strings. NULL where there is none. -ENOMEM. */
int machine_read_property(int root_fd, const char *name, char ***ret);

/* The value of a line KEY=value in the format of os-release(5), the last if there are several; NULL if there
 * is none, or it cannot be read. -ENOMEM. */
int machine_env_get(const char *text, const char *key, char **ret);

/* What DMI says, whatever it says; NULL if nothing. name: as in /sys/class/dmi/id. -ENOMEM. */
int machine_read_dmi(int root_fd, const char *name, char **ret);
