/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "milestone-dir.h"

#include "fs.h"
#include "names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>

#define DIR_NAME (strrchr(PATH_MILESTONE_DIR, '/') + 1)

/* However an entry comes to be there (open(2), mkfifo(2), link(2), ...), its name is all that counts; a
 * change to one that is there already is no news, so IN_ATTRIB and IN_MODIFY are not asked for. */
#define DIR_MASK (IN_CREATE | IN_MOVED_TO | IN_MOVE_SELF | IN_ONLYDIR)
/* IN_DELETE_SELF would come from the directory itself only when nobody has it open or as working directory
 * any more; its parent tells at once. */
#define PARENT_MASK (IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)
/* Somebody may be removing a whole tree, entry by entry. */
#define SET_UP_TRIES 16U

struct MilestoneDir {
        int root_fd;
        sd_event *event;
        sd_event_source *entries;
        sd_event_source *parent;
        milestone_dir_handler_t handler;
        void *userdata;
};

static int on_entry(sd_event_source *s, const struct inotify_event *event, void *userdata);
static int on_parent(sd_event_source *s, const struct inotify_event *event, void *userdata);

static int watch(MilestoneDir *d,
                const char *path,
                uint32_t mask,
                sd_event_inotify_handler_t handler,
                sd_event_source **ret) {
        _cleanup_close_ int fd = -1;

        fd = fs_open(d->root_fd, path, O_PATH | O_DIRECTORY);
        if (fd < 0)
                return fd;
        return sd_event_add_inotify_fd(d->event, ret, fd, mask, handler, d);
}

static int try_set_up(MilestoneDir *d) {
        int r;

        d->entries = sd_event_source_unref(d->entries);
        d->parent = sd_event_source_unref(d->parent);
        r = fs_make_dirs(d->root_fd, PATH_MILESTONE_DIR);
        if (r < 0)
                return r;
        r = watch(d, PATH_RUN_DIR, PARENT_MASK, on_parent, &d->parent);
        if (r < 0)
                return r;
        return watch(d, PATH_MILESTONE_DIR, DIR_MASK, on_entry, &d->entries);
}

/* Makes the directory if it is not there, and watches what is there now; tries again where somebody removes
 * it meanwhile. */
static int set_up(MilestoneDir *d) {
        int r = -ENOENT;

        for (unsigned n = 0; r == -ENOENT && n < SET_UP_TRIES; n++)
                r = try_set_up(d);
        return r;
}

/* For the handlers, which tell nobody of failures: where no directory can be made (any more), no milestone
 * can be announced in it. */
static void set_up_again(MilestoneDir *d) {
        if (set_up(d) >= 0)
                (void) milestone_dir_scan(d);
}

static int on_entry(sd_event_source *s, const struct inotify_event *event, void *userdata) {
        MilestoneDir *d = userdata;

        if (event->mask & (IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT))
                set_up_again(d);
        else if (event->len > 0)
                d->handler(d->userdata, event->name);
        return 0;
}

static int on_parent(sd_event_source *s, const struct inotify_event *event, void *userdata) {
        MilestoneDir *d = userdata;

        /* That the queue overflowed is told to each watch; this one sees to it, as what was lost may have
         * been the removal as well as entries. */
        if ((event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED | IN_UNMOUNT | IN_Q_OVERFLOW)) ||
                        (event->len > 0 && streq(event->name, DIR_NAME)))
                set_up_again(d);
        return 0;
}

int milestone_dir_open(int root_fd,
                sd_event *event,
                milestone_dir_handler_t handler,
                void *userdata,
                MilestoneDir **ret) {
        _cleanup_(milestone_dir_freep) MilestoneDir *d = NULL;
        int r;

        d = malloc(sizeof(*d));
        if (!d)
                return -ENOMEM;
        *d = (MilestoneDir){
                .root_fd = -1,
                .event = sd_event_ref(event),
                .handler = handler,
                .userdata = userdata,
        };
        d->root_fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
        if (d->root_fd < 0)
                return -errno;
        r = set_up(d);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(d);
        return 0;
}

MilestoneDir *milestone_dir_free(MilestoneDir *d) {
        if (!d)
                return NULL;
        sd_event_source_unref(d->entries);
        sd_event_source_unref(d->parent);
        sd_event_unref(d->event);
        closep(&d->root_fd);
        free(d);
        return NULL;
}

int milestone_dir_scan(MilestoneDir *d) {
        struct dirent *entry;
        DIR *dir;
        int fd, r;

        fd = fs_open(d->root_fd, PATH_MILESTONE_DIR, O_RDONLY | O_DIRECTORY);
        if (fd < 0)
                return fd;
        dir = fdopendir(fd);
        if (!dir) {
                r = -errno;
                close(fd);
                return r;
        }
        for (;;) {
                errno = 0;
                entry = readdir(dir);
                if (!entry)
                        break;
                if (!streq(entry->d_name, ".") && !streq(entry->d_name, ".."))
                        d->handler(d->userdata, entry->d_name);
        }
        r = -errno;
        closedir(dir);
        return r;
}
