/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "kernel-nodes.h"

#include "fs.h"

#include <errno.h>

/* Longer than anything that a node may say: what is cut is of no use anyway. */
#define TEXT_MAX 64U

static bool is_absent(int r) {
        return r == -ENOENT || r == -ENOTDIR;
}

static int read_text(int root_fd, KernelNode node, char buf[static TEXT_MAX], const char **ret_path) {
        const char *const *paths = kernel_node_paths(node);

        for (size_t i = 0; i < KERNEL_NODE_PATHS_MAX && paths[i]; i++) {
                int r = fs_read_head(root_fd, paths[i], buf, TEXT_MAX);

                if (is_absent(r))
                        continue;
                *ret_path = paths[i];
                if (r < 0)
                        return r;
                return (size_t) r == strlen(buf) ? 0 : -EINVAL;
        }

        return -ENOENT;
}

static void read_node(int root_fd, KernelNode node, KernelView *view) {
        char text[TEXT_MAX];

        view->error[node] = read_text(root_fd, node, text, &view->path[node]);
        if (view->error[node] >= 0)
                (void) kernel_view_take(view, node, text);
}

void kernel_nodes_read(int root_fd, KernelView *ret) {
        KernelView view = KERNEL_VIEW_ABSENT;

        read_node(root_fd, KERNEL_NODE_ENDED, &view);
        if (view.ended) {
                read_node(root_fd, KERNEL_NODE_ENDED_BY, &view);
                read_node(root_fd, KERNEL_NODE_ENDED_MS, &view);
        }
        read_node(root_fd, KERNEL_NODE_PROMISE, &view);

        *ret = view;
}

int kernel_nodes_read_promise(int root_fd, bool *ret) {
        KernelView view = KERNEL_VIEW_ABSENT;

        read_node(root_fd, KERNEL_NODE_PROMISE, &view);
        if (view.error[KERNEL_NODE_PROMISE] < 0)
                return view.error[KERNEL_NODE_PROMISE];

        *ret = view.promised;
        return 0;
}
