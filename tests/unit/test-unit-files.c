/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unit-files.h"

#include "test-util.h"

static void link_to(const char *tree, const char *path, const char *target) {
        _cleanup_free_ char *full = NULL;

        test_tree_write(tree, path, ""); /* makes the directories */
        ck_assert_int_ge(asprintf(&full, "%s/%s", tree, path), 0);
        ck_assert_int_eq(unlink(full), 0);
        ck_assert_int_eq(symlink(target, full), 0);
}

static char *unit_tree(void) {
        char *tree = test_tree_new();

        test_tree_write(tree, "usr/lib/systemd/system/graphical.target", "[Unit]\n");
        test_tree_write(tree, "usr/lib/systemd/system/multi-user.target", "[Unit]\n");
        test_tree_write(tree, "etc/systemd/system/real.target", "[Unit]\n");
        test_tree_write(tree, "run/systemd/system/empty.service", "");
        test_tree_write(tree, "usr/lib/systemd/system/empty.service", "[Service]\n");
        link_to(tree, "usr/lib/systemd/system/default.target", "graphical.target");
        link_to(tree, "etc/systemd/system/default.target", "/lib/systemd/system/multi-user.target");
        link_to(tree, "usr/lib/systemd/system/real.target", "graphical.target");
        link_to(tree, "etc/systemd/system/twice.target", "default.target");
        link_to(tree, "etc/systemd/system/loop-a.target", "loop-b.target");
        link_to(tree, "etc/systemd/system/loop-b.target", "loop-a.target");
        link_to(tree, "etc/systemd/system/masked.service", "/dev/null");
        return tree;
}

static const struct {
        const char *alias;
        const char *unit;
        bool expected;
} alias_table[] = {
        { "graphical.target", "graphical.target", true }, /* a name is itself, file or none */
        { "novel.target", "novel.target", true },
        { "default.target", "multi-user.target", true }, /* /etc over /usr/lib */
        { "default.target", "graphical.target", false },
        { "twice.target", "multi-user.target", true }, /* an alias of an alias */
        { "real.target", "graphical.target", false },  /* a file in /etc hides the link below */
        { "loop-a.target", "graphical.target", false },
        { "multi-user.target", "default.target", false }, /* only one way */
        { "novel.target", "graphical.target", false },
};

START_TEST(alias) {
        _cleanup_(test_tree_removep) char *tree = unit_tree();
        _cleanup_close_ int fd = test_tree_open(tree);

        ck_assert_int_eq(unit_files_is_alias(fd, alias_table[_i].alias, alias_table[_i].unit),
                        alias_table[_i].expected);
}
END_TEST

START_TEST(alias_too_long) {
        _cleanup_(test_tree_removep) char *tree = unit_tree();
        _cleanup_close_ int fd = test_tree_open(tree);
        char name[400];

        memset(name, 'x', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        ck_assert(!unit_files_is_alias(fd, name, "graphical.target"));
}
END_TEST

static const struct {
        const char *unit;
        bool expected;
} usable_table[] = {
        { "graphical.target", true },
        { "default.target", true },
        { "masked.service", false },
        { "empty.service", false }, /* an empty file masks what stands below */
        { "novel.service", false },
};

START_TEST(usable) {
        _cleanup_(test_tree_removep) char *tree = unit_tree();
        _cleanup_close_ int fd = test_tree_open(tree);

        ck_assert_int_eq(unit_files_is_usable(fd, usable_table[_i].unit), usable_table[_i].expected);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("unit-files");
        TCase *t = tcase_create("unit-files");

        tcase_add_loop_test(t, alias, 0, ELEMENTSOF(alias_table));
        tcase_add_test(t, alias_too_long);
        tcase_add_loop_test(t, usable, 0, ELEMENTSOF(usable_table));
        suite_add_tcase(suite, t);
        return test_run(suite);
}
