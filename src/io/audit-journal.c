/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "audit-journal.h"

#include "fs.h"
#include "names.h"

#include <errno.h>

int audit_journal_send(int root_fd, const char *text, size_t size) {
        _cleanup_close_ int fd = -1, directory_fd = -1;
        struct sockaddr_un sa;
        socklen_t length;
        int r;

        r = fs_socket_address(root_fd, PATH_JOURNAL_SOCKET, &sa, &length, &directory_fd);
        if (r < 0)
                return r;

        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;

        if (sendto(fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *) &sa, length) < 0)
                return -errno;

        return 0;
}
