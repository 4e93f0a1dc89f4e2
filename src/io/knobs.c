/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "knobs.h"

#include "fs.h"
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

/* The longest that a knob's file can say is INT64_MIN and a newline. */
#define READING_MAX 64U

/* The kernel's own ENOTSUPP (include/linux/errno.h), which C libraries have no text for. */
#define KERNEL_ENOTSUPP 524

static bool is_absent(int r) {
        return r == -ENOENT || r == -ENOTDIR;
}

void knobs_read(int root_fd, Knob knob, KnobReading *ret) {
        const KnobInfo *info = knob_info(knob);

        *ret = (KnobReading){ .error = -ENOENT };
        for (size_t i = 0; i < KNOB_PATHS_MAX && info->paths[i]; i++) {
                _cleanup_free_ char *text = NULL;
                size_t size = 0;
                int r = fs_read(root_fd, info->paths[i], READING_MAX, &text, &size);

                if (is_absent(r))
                        continue;
                if (r >= 0)
                        r = memchr(text, '\0', size) ? -EINVAL : knob_parse_reading(text, &ret->value);
                ret->present = true;
                ret->path = info->paths[i];
                ret->error = r;
                return;
        }
}

static bool in_range(const KnobInfo *info, int64_t value) {
        for (KnobStage s = 0; s < _KNOB_STAGE_MAX; s++)
                if (value >= info->min[s] && value <= info->max[s])
                        return true;
        return false;
}

/* O_NONBLOCK: whatever somebody mounted in the knob's place must not stop the daemon. No O_TRUNC: a tree of
 * plain files would be seen with an empty knob for a moment. */
static int open_knob(int root_fd, const KnobInfo *info) {
        int fd = -ENOENT;

        for (size_t i = 0; i < KNOB_PATHS_MAX && info->paths[i]; i++) {
                fd = fs_open(root_fd, info->paths[i], O_WRONLY | O_NOCTTY | O_NONBLOCK);
                if (!is_absent(fd))
                        return fd;
        }
        return -ENOENT;
}

/* The kernel takes each write(2) to a knob for a value of its own: exactly one, with all of the number. */
static int write_number(int fd, int64_t value) {
        char text[32];
        int size = snprintf(text, sizeof(text), "%" PRIi64 "\n", value);
        ssize_t n;

        do
                n = write(fd, text, (size_t) size);
        while (n < 0 && errno == EINTR); /* nothing has been taken then */
        if (n < 0)
                return -errno;
        if (n != size)
                return -EIO;
        /* In a tree of plain files the tail of a longer number would stay; to kernel files sizes mean
         * nothing. Should it fail where it matters, reading back tells. */
        int r _unused_ = ftruncate(fd, n);
        return 0;
}

void knobs_write(int root_fd, Knob knob, int64_t value, KnobResult *ret) {
        const KnobInfo *info = knob_info(knob);
        _cleanup_close_ int fd = -1;
        KnobReading reading;

        *ret = (KnobResult){ .attempted = true, .asked = value };
        if (!in_range(info, value)) {
                ret->error = -ERANGE;
                return;
        }
        fd = open_knob(root_fd, info);
        ret->error = fd < 0 ? fd : write_number(fd, value);
        if (ret->error < 0)
                return;
        /* Opened anew: what anyone else would see. */
        knobs_read(root_fd, knob, &reading);
        ret->error = reading.error;
        if (reading.error < 0)
                return;
        ret->has_read_back = true;
        ret->read_back = reading.value;
        if (info->reads_back && reading.value != value)
                ret->error = -EIO;
}

const char *knobs_error_hint(Knob knob, int error) {
        switch (-error) {
        case EROFS:
                return "the file system is mounted read-only (EROFS), as in a container or behind a unit's "
                       "ProtectKernelTunables=: name the knob in the unit's ReadWritePaths=, or bind-mount "
                       "it "
                       "writable into the container, or set it on the host";
        case EACCES:
        case EPERM:
                return "not allowed: rcu-bootd must run as root of the host, and SELinux, AppArmor or "
                       "kernel "
                       "lockdown must let it write here";
        case EINVAL:
                return knob == KNOB_BOOT_END_DELAY ? "this kernel does not take that number: some accept "
                                                     "only 0 (end now), so the "
                                                     "end cannot be put off"
                                                   : "this kernel does not take that number, or the knob "
                                                     "says something that is no "
                                                     "number";
        case EBUSY:
                return knob == KNOB_BOOT_END_DELAY ? "RCU's boot has ended in the kernel already "
                                                     "(/" PATH_KERNEL_ENDED_BY " says by what), and "
                                                     "cannot be put off any more"
                                                   : "the kernel is busy with this knob: try again later";
        case ENOENT:
                return "this kernel does not have the knob";
        case ERANGE:
                return "the number is outside the knob's range, and was not written";
        case EIO:
                return "reading back gives another value: something else wrote it at the same time";
        case KERNEL_ENOTSUPP:
                return "this kernel has the knob but does not support it (ENOTSUPP)";
        default:
                return NULL;
        }
}

const char *knobs_error_to_string(int error, char *buf, size_t size) {
        const char *description = strerrordesc_np(-error), *name = strerrorname_np(-error);

        if (description && name)
                (void) snprintf(buf, size, "%s (%s)", description, name);
        else
                (void) snprintf(buf, size, "errno %d", -error);
        return buf;
}

RcuMode knobs_read_mode(int root_fd) {
        KnobReading expedited, normal;

        knobs_read(root_fd, KNOB_EXPEDITED, &expedited);
        knobs_read(root_fd, KNOB_NORMAL, &normal);
        return rcu_mode_from_readings(expedited.error < 0 ? NULL : &expedited.value,
                        normal.error < 0 ? NULL : &normal.value);
}
