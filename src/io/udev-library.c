/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "udev-library.h"

#include "names.h"
#include "util.h"

#include <dlfcn.h>
#include <errno.h>

UdevLibrary libudev;

int udev_library_load(void) {
        UdevLibrary found;
        void *handle;

        if (libudev.new)
                return 0;
        handle = dlopen(LIBUDEV_SONAME, RTLD_NOW | RTLD_LOCAL);
        if (!handle)
                return -ELIBACC;

#define FIND(name)                                                             \
        found.name = (__typeof__(udev_##name) *) dlsym(handle, "udev_" #name); \
        if (!found.name) {                                                     \
                dlclose(handle);                                               \
                return -ELIBACC;                                               \
        }
        UDEV_LIBRARY_FUNCTIONS(FIND)
#undef FIND

        libudev = found;
        return 0;
}
