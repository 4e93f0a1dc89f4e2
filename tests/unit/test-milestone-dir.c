/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs.h"
#include "milestone-dir.h"
#include "names.h"
#include "strv.h"
#include "test-util.h"

#include <errno.h>

#define BOUND_USEC (100 * USEC_PER_SEC)

typedef struct Tree {
        char *dir;
        int fd;
        sd_event *event;
        MilestoneDir *milestones;
        char **seen;
        unsigned reports;
        uint8_t *numbers; /* bit i: an entry "n-i" was seen */
} Tree;

static Tree tree;

static void on_entry(void *userdata, const char *name) {
        unsigned i;
        char end;

        ck_assert_ptr_eq(userdata, &tree);
        tree.reports++;
        if (tree.numbers && sscanf(name, "n-%u%c", &i, &end) == 1)
                tree.numbers[i / 8] |= (uint8_t) (1U << i % 8);
        else
                ck_assert_int_eq(strv_extend(&tree.seen, name), 0);
}

static void setup_tree(void) {
        tree = (Tree){ .dir = test_tree_new() };
        tree.fd = test_tree_open(tree.dir);
        ck_assert_int_ge(sd_event_new(&tree.event), 0);
}

static void open_dir(void) {
        ck_assert_int_eq(milestone_dir_open(tree.fd, tree.event, on_entry, &tree, &tree.milestones), 0);
}

static void setup(void) {
        setup_tree();
        open_dir();
        ck_assert_int_eq(milestone_dir_scan(tree.milestones), 0);
        ck_assert_uint_eq(tree.reports, 0);
}

static void teardown(void) {
        milestone_dir_free(tree.milestones);
        sd_event_unref(tree.event);
        strv_free(tree.seen);
        free(tree.numbers);
        close(tree.fd);
        test_tree_removep(&tree.dir);
}

static const char *in_dir(const char *name) {
        static char path[512];

        (void) snprintf(path, sizeof(path), PATH_MILESTONE_DIR "/%s", name);
        return path;
}

static void touch_at(const char *path) {
        int fd = openat(tree.fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

        ck_assert_int_ge(fd, 0);
        close(fd);
}

static void touch(const char *name) {
        touch_at(in_dir(name));
}

static void run_until_seen(const char *name) {
        usec_t since = fs_now();

        while (!strv_contains(tree.seen, name)) {
                ck_assert_int_ge(sd_event_run(tree.event, 50 * USEC_PER_MSEC), 0);
                ck_assert_msg(fs_now() - since < BOUND_USEC, "%s was not seen", name);
        }
}

/* Whatever the kernel has told by now. */
static void run_until_idle(void) {
        int r;

        do
                r = sd_event_run(tree.event, 0);
        while (r > 0);
        ck_assert_int_eq(r, 0);
}

/* --- what is there --- */

START_TEST(test_directory_is_made) {
        struct stat st;
        mode_t mask = umask(0077);

        setup_tree();
        open_dir();
        (void) umask(mask);
        ck_assert_int_eq(fstatat(tree.fd, PATH_MILESTONE_DIR, &st, 0), 0);
        ck_assert(S_ISDIR(st.st_mode));
        /* Root alone makes entries; everybody may look. */
        ck_assert_uint_eq(st.st_mode & 07777, 0755);
        teardown();
}
END_TEST

START_TEST(test_entries_from_before) {
        setup_tree();
        ck_assert_int_eq(fs_make_dirs(tree.fd, PATH_MILESTONE_DIR), 0);
        touch("basic.target");
        touch(".hidden");
        touch("dbus.service");
        open_dir();
        ck_assert_uint_eq(tree.reports, 0);
        ck_assert_int_eq(milestone_dir_scan(tree.milestones), 0);
        ck_assert_uint_eq(tree.reports, 3);
        ck_assert(strv_contains(tree.seen, "basic.target"));
        ck_assert(strv_contains(tree.seen, ".hidden"));
        ck_assert(strv_contains(tree.seen, "dbus.service"));
        run_until_idle();
        ck_assert_uint_eq(tree.reports, 3);
        teardown();
}
END_TEST

/* Watch first, then look: what comes between the two is seen, be it twice. */
START_TEST(test_entry_between_open_and_scan) {
        setup_tree();
        open_dir();
        touch("between");
        ck_assert_int_eq(milestone_dir_scan(tree.milestones), 0);
        ck_assert(strv_contains(tree.seen, "between"));
        teardown();
}
END_TEST

START_TEST(test_file_in_the_way) {
        MilestoneDir *dir = (MilestoneDir *) &tree;

        setup_tree();
        test_tree_write(tree.dir, PATH_MILESTONE_DIR, "");
        ck_assert_int_eq(milestone_dir_open(tree.fd, tree.event, on_entry, &tree, &dir), -ENOTDIR);
        ck_assert_ptr_eq(dir, &tree);
        ck_assert_ptr_null(milestone_dir_free(NULL));
        teardown();
}
END_TEST

/* --- what comes --- */

START_TEST(test_kinds_of_entries) {
        touch("file");
        run_until_seen("file");
        /* As rcu-boot-milestone@.socket makes it. Opened by nobody: that would wait for a writer. */
        ck_assert_int_eq(mkfifoat(tree.fd, in_dir("fifo"), 0600), 0);
        run_until_seen("fifo");
        ck_assert_int_eq(mkdirat(tree.fd, in_dir("directory"), 0755), 0);
        run_until_seen("directory");
        ck_assert_int_eq(symlinkat("/does/not/exist", tree.fd, in_dir("dangling")), 0);
        run_until_seen("dangling");
        touch_at("elsewhere");
        ck_assert_int_eq(linkat(tree.fd, "elsewhere", tree.fd, in_dir("hard-link"), 0), 0);
        run_until_seen("hard-link");
        ck_assert_int_eq(renameat(tree.fd, "elsewhere", tree.fd, in_dir("renamed")), 0);
        run_until_seen("renamed");
        ck_assert_uint_eq(tree.reports, 6);
        /* Nor does looking at all of them open them. */
        ck_assert_int_eq(milestone_dir_scan(tree.milestones), 0);
        ck_assert_uint_eq(tree.reports, 12);
}
END_TEST

START_TEST(test_names_as_they_are) {
        static const char *const names[] = { "a b", "..x", "\xff", "multi-user.target", "n=1;#'\"\\", "-" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                touch(names[i]);
                run_until_seen(names[i]);
        }
        ck_assert_uint_eq(tree.reports, ELEMENTSOF(names));
}
END_TEST

START_TEST(test_what_is_no_news) {
        touch("once");
        run_until_seen("once");
        test_tree_write(tree.dir, in_dir("once"), "written to");
        touch("once");
        ck_assert_int_eq(fchmodat(tree.fd, in_dir("once"), 0600, 0), 0);
        ck_assert_int_eq(unlinkat(tree.fd, in_dir("once"), 0), 0);
        touch_at(PATH_RUN_DIR "/state");
        ck_assert_int_eq(unlinkat(tree.fd, PATH_RUN_DIR "/state", 0), 0);
        run_until_idle();
        ck_assert_uint_eq(tree.reports, 1);
}
END_TEST

/* --- what goes wrong --- */

START_TEST(test_queue_overflows) {
        _cleanup_free_ char *limit = test_tree_read("/proc/sys/fs/inotify", "max_queued_events");
        unsigned n = (unsigned) strtoul(limit, NULL, 10) + 1000;
        _cleanup_close_ int fd = openat(tree.fd, PATH_MILESTONE_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        tree.numbers = calloc(n / 8 + 1, 1);
        ck_assert_ptr_nonnull(tree.numbers);
        for (unsigned i = 0; i < n; i++) {
                char name[32];

                (void) snprintf(name, sizeof(name), "n-%u", i);
                ck_assert_int_eq(mknodat(fd, name, S_IFREG | 0600, 0), 0);
        }
        /* The last one that is told of is not the last one that was made. */
        run_until_idle();
        for (unsigned i = 0; i < n; i++)
                ck_assert_msg(tree.numbers[i / 8] & 1U << i % 8, "n-%u was lost", i);
        touch("afterwards");
        run_until_seen("afterwards");
}
END_TEST

START_TEST(test_directory_is_removed) {
        touch("before");
        run_until_seen("before");
        ck_assert_int_eq(unlinkat(tree.fd, in_dir("before"), 0), 0);
        ck_assert_int_eq(unlinkat(tree.fd, PATH_MILESTONE_DIR, AT_REMOVEDIR), 0);
        run_until_idle();
        touch("after");
        run_until_seen("after");
}
END_TEST

/* Then it is not the removal of the directory itself that is told of. */
START_TEST(test_directory_is_removed_while_in_use) {
        _cleanup_close_ int fd = openat(tree.fd, PATH_MILESTONE_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(unlinkat(tree.fd, PATH_MILESTONE_DIR, AT_REMOVEDIR), 0);
        run_until_idle();
        touch("after");
        run_until_seen("after");
}
END_TEST

/* By someone else, who puts an entry in before we have noticed anything. */
START_TEST(test_directory_is_replaced) {
        ck_assert_int_eq(unlinkat(tree.fd, PATH_MILESTONE_DIR, AT_REMOVEDIR), 0);
        ck_assert_int_eq(mkdirat(tree.fd, PATH_MILESTONE_DIR, 0755), 0);
        touch("quick");
        run_until_seen("quick");
        touch("after");
        run_until_seen("after");
}
END_TEST

START_TEST(test_directory_is_moved_away) {
        ck_assert_int_eq(renameat(tree.fd, PATH_MILESTONE_DIR, tree.fd, "away"), 0);
        run_until_idle();
        touch_at("away/not-a-milestone");
        touch("after");
        run_until_seen("after");
        run_until_idle();
        ck_assert(!strv_contains(tree.seen, "not-a-milestone"));
}
END_TEST

START_TEST(test_parent_is_removed) {
        ck_assert_int_eq(unlinkat(tree.fd, PATH_MILESTONE_DIR, AT_REMOVEDIR), 0);
        ck_assert_int_eq(unlinkat(tree.fd, PATH_RUN_DIR, AT_REMOVEDIR), 0);
        run_until_idle();
        touch("after");
        run_until_seen("after");
}
END_TEST

START_TEST(test_parent_is_moved_away) {
        ck_assert_int_eq(renameat(tree.fd, PATH_RUN_DIR, tree.fd, "away"), 0);
        run_until_idle();
        touch("after");
        run_until_seen("after");
        /* And the new parent is watched in its turn. */
        ck_assert_int_eq(unlinkat(tree.fd, in_dir("after"), 0), 0);
        ck_assert_int_eq(unlinkat(tree.fd, PATH_MILESTONE_DIR, AT_REMOVEDIR), 0);
        run_until_idle();
        touch("after that");
        run_until_seen("after that");
}
END_TEST

/* Nothing can be made in its place: no milestones any more, and no harm. */
START_TEST(test_parent_becomes_a_file) {
        ck_assert_int_eq(renameat(tree.fd, PATH_RUN_DIR, tree.fd, "away"), 0);
        touch_at(PATH_RUN_DIR);
        run_until_idle();
        ck_assert_int_lt(milestone_dir_scan(tree.milestones), 0);
        run_until_idle();
        ck_assert_uint_eq(tree.reports, 0);
}
END_TEST

static Suite *milestone_dir_suite(void) {
        Suite *suite = suite_create("milestone-dir");
        TCase *bare = tcase_create("bare"), *opened = tcase_create("opened");

        tcase_add_test(bare, test_directory_is_made);
        tcase_add_test(bare, test_entries_from_before);
        tcase_add_test(bare, test_entry_between_open_and_scan);
        tcase_add_test(bare, test_file_in_the_way);
        suite_add_tcase(suite, bare);

        tcase_add_checked_fixture(opened, setup, teardown);
        tcase_add_test(opened, test_kinds_of_entries);
        tcase_add_test(opened, test_names_as_they_are);
        tcase_add_test(opened, test_what_is_no_news);
        tcase_add_test(opened, test_queue_overflows);
        tcase_add_test(opened, test_directory_is_removed);
        tcase_add_test(opened, test_directory_is_removed_while_in_use);
        tcase_add_test(opened, test_directory_is_replaced);
        tcase_add_test(opened, test_directory_is_moved_away);
        tcase_add_test(opened, test_parent_is_removed);
        tcase_add_test(opened, test_parent_is_moved_away);
        tcase_add_test(opened, test_parent_becomes_a_file);
        suite_add_tcase(suite, opened);
        return suite;
}

int main(void) {
        return test_run(milestone_dir_suite());
}
