#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The device tests run below umockdev's preload, which stands in for /sys, /dev and udevd.
test=$RCU_BOOTD_BUILDDIR/tests/unit/test-udev
# gcc's AddressSanitizer is a library that insists on being the first; umockdev-wrapper would put itself before it.
# (clang links it into the program.)
asan=$(ldd "$test" | sed -n 's/.* => \(.*libasan\.so[^ ]*\).*/\1/p')
if [ -n "$asan" ]; then
        exec env LD_PRELOAD="$asan:libumockdev-preload.so.0" "$test"
fi
exec umockdev-wrapper "$test"
