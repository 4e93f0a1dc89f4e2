# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2034 # the variables are for those who source this
# What tools/demo and tools/check share: saying what is done, installing what is missing, building.

set -euo pipefail
srcdir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
builddir=${RCU_BOOTD_BUILDDIR:-$srcdir/build}
started=$SECONDS
reconfigure=no

say() {
        printf '[%4d s] %s\n' $((SECONDS - started)) "$*"
}

fail() {
        printf '%s: %s\n' "$(basename "$0")" "$*" >&2
        exit 1
}

# Packages of Debian, or of what derives from it. Others get the list.
build_packages=(gcc make autoconf automake pkg-config libc6-dev libsystemd-dev libudev-dev libinih-dev
        libjansson-dev systemd)
guest_packages=(mmdebstrap qemu-system-x86 seabios systemd-container cpio zstd python3 util-linux git ca-certificates)

# The same for all, so that one does not configure what the other has built.
build_options=(CC=gcc)

install_packages() {
        local missing=() package
        command -v apt-get >/dev/null ||
                { say "This is not Debian: these packages, or their like, must be there: $*"; return; }
        for package in "$@"; do
                [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
        done
        [ ${#missing[@]} -gt 0 ] || return 0
        [ "$(id -u)" = 0 ] || fail "these packages are missing, and only root can install them: ${missing[*]}"
        say "Installing packages: ${missing[*]}"
        logged install apt-get update
        DEBIAN_FRONTEND=noninteractive logged install \
                apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=600 "${missing[@]}"
        reconfigure=yes # ./configure may find more now
}

# Runs a command with its output in a log file, which is shown if the command fails.
logged() {
        local name=$1 log
        shift
        mkdir -p "$builddir/logs"
        log=$builddir/logs/$name.log
        if ! "$@" >"$log" 2>&1 </dev/null; then
                tail -n 60 "$log" >&2
                fail "failed: $* (all of its output: $log)"
        fi
}

# bootstrap: makes ./configure when it is missing or older than what it is made from.
bootstrap() {
        local file
        for file in configure.ac Makefile.am; do
                if [ ! "$srcdir/configure" -nt "$srcdir/$file" ] || [ ! "$srcdir/Makefile.in" -nt "$srcdir/$file" ]; then
                        say "Making ./configure"
                        (cd "$srcdir" && logged autoreconf autoreconf -fi)
                        return
                fi
        done
}

# build DIRECTORY CONFIGURE-OPTION...: configures where that changed, and builds all.
build() {
        local dir=$1
        shift
        mkdir -p "$dir"
        if [ $reconfigure = yes ] || [ "$(cat "$dir/.configured" 2>/dev/null)" != "$*" ] ||
                [ "$srcdir/configure" -nt "$dir/config.status" ]; then
                say "Configuring $dir: $*"
                (cd "$dir" && logged "$(basename "$dir")-configure" "$srcdir/configure" "$@")
                echo "$*" >"$dir/.configured"
        fi
        say "Building $dir"
        logged "$(basename "$dir")-make" make -C "$dir" -j"$(nproc)"
}
