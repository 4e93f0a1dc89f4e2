# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cached parts guests are made of: root trees, initramfs archives, kernels, the build root.

Everything comes from Debian through apt as mmdebstrap sets it up (release, updates and security), so it does
not depend on which extra sources the machine's own apt has.
"""

import shutil
from pathlib import Path

from .cache import artifact, run_logged
from .cpio import CpioWriter
from .prereq import need, need_root
from .tree import MERGED

SUITES = ("bookworm", "trixie")

# What the guest has beside Debian's minimal system: systemd as PID 1 and what rcu-bootd links to.
GUEST_PACKAGES = (
    "systemd", "systemd-sysv", "udev", "dbus", "kmod",
    "libsystemd0", "libudev1", "libjansson4", "libinih1",
    "busybox",
)  # fmt: skip

# Big and of no use to a test: nothing here takes part in booting. Patterns as for Path.glob().
STRIP = (
    "usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/lintian",
    "usr/share/i18n", "usr/share/zoneinfo", "usr/share/perl", "usr/share/perl5", "usr/share/bug",
    "usr/share/common-licenses", "usr/lib/x86_64-linux-gnu/gconv", "usr/lib/x86_64-linux-gnu/perl-base",
    "usr/lib/locale", "var/lib/apt/lists", "var/cache/apt", "var/cache/debconf", "var/lib/dpkg/info",
    "usr/lib/x86_64-linux-gnu/perl", "usr/lib/x86_64-linux-gnu/libperl.so*", "usr/bin/perl*",
    "usr/lib/udev/hwdb.d", "usr/lib/udev/hwdb.bin",
)  # fmt: skip

# Candidates (suite, package) for each kernel, in order of preference. Debian 12 offers 6.12 beside its own 6.1;
# where it does not, Debian 13's kernel is the same version.
KERNELS = {
    "6.1": (("bookworm", "linux-image-cloud-amd64"),),
    "6.12": (("bookworm", "linux-image-6.12-cloud-amd64"), ("trixie", "linux-image-cloud-amd64")),
}

# Modules systemd asks for at boot, and such as a scenario may load: devices that appear when it says so, overlayfs.
# Dependencies come along.
MODULES = (
    "autofs4", "configfs", "fuse", "loop", "dm_mod",
    "dummy", "null_blk", "zram", "overlay", "virtio_console", "virtio_pci", "virtio_blk",
)  # fmt: skip

BUILD_PACKAGES = (
    "gcc", "clang", "make", "autoconf", "automake", "pkg-config", "libc6-dev",
    "libsystemd-dev", "libudev-dev", "libinih-dev", "libjansson-dev", "check",
    "libumockdev-dev", "umockdev", "libglib2.0-dev", "dbus-daemon", "systemd", "systemd-journal-remote", "mandoc",
    "python3", "python3-pytest", "git", "procps", "strace",
)  # fmt: skip

# Ordinary users for tests: name and uid (and gid).
USERS = (("alice", 1000), ("mallory", 1001))

# A machine-id that is there from the start keeps systemd from treating every boot as the first one (which would
# apply presets and so enable or disable units behind the test's back).
MACHINE_ID = "0c1f4a5be7d94f0e8b6a2c3d4e5f6071"


def mmdebstrap(variant, packages, suite, target, log):
    """Makes a Debian tree of @suite with @packages in directory @target."""
    (tool,) = need("mmdebstrap")
    need_root("building a root file system")
    run_logged(
        [tool, f"--variant={variant}", f"--include={','.join(packages)}", "--dpkgopt=force-unsafe-io",
         suite, target],
        log,
        f"mmdebstrap of {suite}",
    )  # fmt: skip


def write_archive(path, tree):
    """Writes an initramfs archive of @tree, or an empty one."""
    with open(path, "wb") as out:
        writer = CpioWriter(out)
        if tree:
            writer.add_tree(tree)
        writer.close()


def _strip(root):
    for pattern in STRIP:
        for path in root.glob(pattern):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def _add_users(root):
    with open(root / "etc/passwd", "a", encoding="ascii") as passwd, open(
        root / "etc/group", "a", encoding="ascii"
    ) as group:
        for name, uid in USERS:
            passwd.write(f"{name}:x:{uid}:{uid}:test user:/tmp:/bin/sh\n")
            group.write(f"{name}:x:{uid}:\n")


def rootfs(suite):
    """The directory tree of a Debian @suite guest; never written to: guests put a layer of their own on top."""

    def build(directory):
        root = directory / "root"
        mmdebstrap("minbase", GUEST_PACKAGES, suite, root, directory / "build.log")
        _strip(root)
        _add_users(root)
        (root / "etc/machine-id").write_text(MACHINE_ID + "\n", encoding="ascii")
        (root / "etc/hostname").write_text("guest\n", encoding="ascii")
        (root / "etc/fstab").write_text("", encoding="ascii")

    inputs = [suite, GUEST_PACKAGES, STRIP, USERS, MACHINE_ID]
    helpers = (mmdebstrap, _strip, _add_users)
    return artifact(f"rootfs-{suite}", inputs, f"Debian {suite}'s root tree, about 40 s", build, helpers) / "root"


def initrd(suite):
    """The same tree as an uncompressed initramfs archive."""
    root = rootfs(suite)

    def build(directory):
        with open(directory / "initrd.cpio", "wb") as out:
            writer = CpioWriter(out, keep_owner=True)
            writer.add_tree(root)
            writer.close()

    inputs = [root.parent.name]
    return artifact(f"initrd-{suite}", inputs, f"{suite}'s initramfs, about 3 s", build, [CpioWriter]) / "initrd.cpio"


def _pick_modules(unpacked, release, target):
    """Moves MODULES and what they depend on from the unpacked kernel to @target, and indexes them."""
    log = target.parent / "build.log"
    # The kernel package depends on kmod, so the tree has a depmod of its own: the host need not have one. Debian 13's
    # packages have everything below /usr and rely on symlinks of a package that is not extracted.
    for name in MERGED:
        if not (unpacked / name).exists() and (unpacked / "usr" / name).is_dir():
            (unpacked / name).symlink_to(f"usr/{name}")
    depmod = ["chroot", unpacked, "/sbin/depmod"]
    run_logged([*depmod, release], log, "depmod")
    top = unpacked / "lib/modules" / release
    needs, path_of = {}, {}
    for line in (top / "modules.dep").read_text(encoding="ascii").splitlines():
        path, _, deps = line.partition(":")
        needs[path] = deps.split()
        path_of[Path(path).name.split(".ko")[0].replace("-", "_")] = path
    picked = unpacked / "picked/lib/modules" / release
    for name in MODULES:
        if name not in path_of:
            continue  # built in, or this kernel has none
        for path in [path_of[name], *needs[path_of[name]]]:
            (picked / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(top / path, picked / path)
    for index in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        shutil.copy2(top / index, picked / index)
    run_logged([*depmod, "-b", "/picked", release], log, "depmod")
    # The guest's /lib is a symlink to usr/lib, which an archive entry "lib" would replace.
    target.mkdir()
    shutil.move(unpacked / "picked", target / "usr")


def kernel(version):
    """A directory with `vmlinuz`, `config`, `release` and `modules.cpio` of Debian's stock kernel @version."""

    def build(directory):
        log = directory / "build.log"
        for suite, package in KERNELS[version]:
            unpacked = directory / "unpacked"
            try:
                mmdebstrap("extract", [package], suite, unpacked, log)
            except RuntimeError:
                if (suite, package) == KERNELS[version][-1]:
                    raise
                shutil.rmtree(unpacked, ignore_errors=True)
                continue
            break
        images = [path for path in (unpacked / "boot").glob("vmlinuz-*")]
        if len(images) != 1:
            raise RuntimeError(f"{package} brought {len(images)} kernel images, expected one")
        release = images[0].name.removeprefix("vmlinuz-")
        if not release.startswith(version + "."):
            raise RuntimeError(f"{package} of {suite} is kernel {release}, expected {version}")
        shutil.copy2(images[0], directory / "vmlinuz")
        shutil.copy2(unpacked / f"boot/config-{release}", directory / "config")
        (directory / "release").write_text(release + "\n", encoding="ascii")
        _pick_modules(unpacked, release, directory / "modules")
        write_archive(directory / "modules.cpio", directory / "modules")
        shutil.rmtree(unpacked)
        shutil.rmtree(directory / "modules")

    inputs = [KERNELS[version], MODULES]
    helpers = (mmdebstrap, _pick_modules, write_archive, CpioWriter)
    return artifact(f"kernel-{version}", inputs, f"Debian's kernel {version}, about 10 s", build, helpers)


def buildroot(suite="trixie"):
    """A Debian @suite tree with what building and `make check` need."""

    def build(directory):
        root = directory / "root"
        mmdebstrap("minbase", BUILD_PACKAGES, suite, root, directory / "build.log")
        for name in ("usr/share/doc", "usr/share/man", "usr/share/locale", "var/lib/apt/lists", "var/cache/apt"):
            shutil.rmtree(root / name, ignore_errors=True)
        _add_users(root)

    inputs = [suite, BUILD_PACKAGES, USERS]
    helpers = (mmdebstrap, _add_users)
    return artifact(f"buildroot-{suite}", inputs, f"a Debian {suite} build root, about 90 s", build, helpers) / "root"
