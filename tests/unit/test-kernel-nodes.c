/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "kernel-nodes.h"

#include "names.h"
#include "test-util.h"

/* The kernel's nodes as plain files. What their texts may be is tested by test-kernel-view. */

static char *tree;
static int root_fd;

static void setup(void) {
        tree = test_tree_new();
        root_fd = test_tree_open(tree);
}

static void teardown(void) {
        close(root_fd);
        test_tree_removep(&tree);
}

static void write_end(const char *ended, const char *by, const char *ms) {
        test_tree_write(tree, PATH_KERNEL_ENDED, ended);
        test_tree_write(tree, PATH_KERNEL_ENDED_BY, by);
        test_tree_write(tree, PATH_KERNEL_ENDED_MS, ms);
}

static void check_errors(const KernelView *view, int ended, int by, int ms, int promise) {
        ck_assert_int_eq(view->error[KERNEL_NODE_ENDED], ended);
        ck_assert_int_eq(view->error[KERNEL_NODE_ENDED_BY], by);
        ck_assert_int_eq(view->error[KERNEL_NODE_ENDED_MS], ms);
        ck_assert_int_eq(view->error[KERNEL_NODE_PROMISE], promise);
}

START_TEST(stock_kernel) {
        KernelView view;
        bool promised = true;

        kernel_nodes_read(root_fd, &view);
        check_errors(&view, -ENOENT, -ENOENT, -ENOENT, -ENOENT);
        ck_assert(!kernel_view_is_present(&view));
        for (KernelNode node = 0; node < _KERNEL_NODE_MAX; node++)
                ck_assert_ptr_null(view.path[node]);

        /* The directory is there in every kernel with modules; and a file in a directory's place. */
        test_tree_write(tree, "sys/module/kernel/parameters/panic", "0\n");
        test_tree_write(tree, "sys/module/" KERNEL_MODULE, "");
        ck_assert_int_eq(kernel_nodes_read_promise(root_fd, &promised), -ENOENT);
        ck_assert(promised);
}
END_TEST

START_TEST(ended) {
        KernelView view;

        write_end("1\n", "user_booted\n", "4269\n");
        test_tree_write(tree, PATH_KERNEL_PROMISE, "Y\n");
        kernel_nodes_read(root_fd, &view);
        check_errors(&view, 0, 0, 0, 0);
        ck_assert(kernel_view_is_usable(&view));
        ck_assert(view.ended && view.promised);
        ck_assert_int_eq(view.by, KERNEL_CAUSE_USER_BOOTED);
        ck_assert_str_eq(view.by_word, "user_booted");
        ck_assert_uint_eq(view.ended_at, UINT64_C(4269000));
        ck_assert_str_eq(view.path[KERNEL_NODE_ENDED_MS], PATH_KERNEL_ENDED_MS);
        ck_assert_str_eq(view.path[KERNEL_NODE_PROMISE], PATH_KERNEL_PROMISE);
}
END_TEST

/* It may end between two reads: what has not ended is not asked by what. */
START_TEST(ends_meanwhile) {
        KernelView view;

        write_end("0\n", "delay\n", "15000\n");
        kernel_nodes_read(root_fd, &view);
        check_errors(&view, 0, -ENOENT, -ENOENT, -ENOENT);
        ck_assert(kernel_view_is_usable(&view) && !view.ended);
        ck_assert_int_eq(view.by, KERNEL_CAUSE_NONE);
        ck_assert_uint_eq(view.ended_at, 0);
}
END_TEST

START_TEST(missing) {
        KernelView view;

        test_tree_write(tree, PATH_KERNEL_ENDED, "1\n");
        test_tree_write(tree, PATH_KERNEL_ENDED_BY "/entry", "");
        kernel_nodes_read(root_fd, &view);
        check_errors(&view, 0, -EISDIR, -ENOENT, -ENOENT);
        ck_assert(kernel_view_is_present(&view) && !kernel_view_is_usable(&view));
        ck_assert_str_eq(view.path[KERNEL_NODE_ENDED_BY], PATH_KERNEL_ENDED_BY);
}
END_TEST

/* Built in first, then the module; the one that is there decides, even if it is of no use. */
START_TEST(promise) {
        bool promised = false;

        test_tree_write(tree, PATH_KERNEL_PROMISE_MODULE, "Y\n");
        ck_assert_int_eq(kernel_nodes_read_promise(root_fd, &promised), 0);
        ck_assert(promised);

        test_tree_write(tree, PATH_KERNEL_PROMISE, "N\n");
        ck_assert_int_eq(kernel_nodes_read_promise(root_fd, &promised), 0);
        ck_assert(!promised);

        promised = true;
        test_tree_write(tree, PATH_KERNEL_PROMISE, "maybe\n");
        ck_assert_int_eq(kernel_nodes_read_promise(root_fd, &promised), -EINVAL);
        ck_assert(promised);
}
END_TEST

static const struct {
        const char *text;
        size_t size;
} garbage[] = {
        { "", 0 },
        { "Y\0\n", 3 },
        { "\0Y\n", 3 },
        { "Y                                                             \n", 63 },
        { "YYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYY",
                        96 },
};

START_TEST(no_text) {
        bool promised = false;

        test_tree_write_size(tree, PATH_KERNEL_PROMISE, garbage[_i].text, (ssize_t) garbage[_i].size);
        ck_assert_int_eq(kernel_nodes_read_promise(root_fd, &promised), -EINVAL);
        ck_assert(!promised);
}
END_TEST

START_TEST(nobody_waits) {
        bool promised;

        test_tree_write(tree, "sys/module/kernel/parameters/.keep", "");
        ck_assert_int_eq(mkfifoat(root_fd, PATH_KERNEL_PROMISE, 0600), 0);
        ck_assert_int_eq(kernel_nodes_read_promise(root_fd, &promised), -EBADFD);
}
END_TEST

int main(void) {
        Suite *suite = suite_create("kernel-nodes");
        TCase *tc = tcase_create("kernel-nodes");

        tcase_add_checked_fixture(tc, setup, teardown);
        tcase_add_test(tc, stock_kernel);
        tcase_add_test(tc, ended);
        tcase_add_test(tc, ends_meanwhile);
        tcase_add_test(tc, missing);
        tcase_add_test(tc, promise);
        tcase_add_loop_test(tc, no_text, 0, ELEMENTSOF(garbage));
        tcase_add_test(tc, nobody_waits);
        suite_add_tcase(suite, tc);
        return test_run(suite);
}
