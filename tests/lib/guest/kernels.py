# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cached kernels that tests of the kernel's side boot: built from Debian's source with our series, and Debian's own
with our module.

What takes long, the kernel as it is without the series, is an artifact of its own: after a change in kernel/ only what
depends on it is built again.
"""

import hashlib
import shutil
from pathlib import Path

from . import images
from .buildroot import run_in_buildroot
from .cache import artifact, run_logged

SOURCE = Path(__file__).resolve().parents[3]
SERIES = "6.12"

# Debian 12's packages. Those for building modules belong to the kernels in images.KERNELS.
PACKAGES = (
    "gcc", "make", "bc", "flex", "bison", "libelf-dev", "libssl-dev", "patch", "xz-utils", "kmod", "dkms",
    f"linux-source-{SERIES}", "linux-headers-cloud-amd64", f"linux-headers-{SERIES}-cloud-amd64",
)  # fmt: skip

# Name -> the fragments of tests/kernel/config that make its configuration, and the one for a second image, if any.
CONFIGS = {
    "hz250": (("base", "hz250", "systemd"), None),
    "hz1000": (("base", "hz1000"), "torture"),
    "debug": (("base", "hz100", "debug"), None),
}


def _digest(*paths):
    """A hash of the files below @paths of the source tree, and of their names."""
    digest = hashlib.sha256()
    for path in paths:
        top = SOURCE / path
        for file in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if file.is_file():
                digest.update(f"{file.relative_to(SOURCE)}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def _digest_scripts(*names):
    """A hash of what these scripts of tests/kernel do; a comment makes no kernel out of date."""
    lines = [line for name in names for line in (SOURCE / "tests/kernel" / name).read_text(encoding="utf-8").splitlines()]
    return hashlib.sha256("\n".join(line for line in lines if not line.startswith("#")).encode()).hexdigest()


def release_of(version):
    """What `uname -r` says in Debian's stock kernel @version."""
    return (images.kernel(version) / "release").read_text(encoding="ascii").strip()


def buildroot():
    """A Debian 12 tree with what building kernels and modules needs."""
    # Its headers must be those of the images, which may have been made on another day.
    releases = [release_of(version) for version in images.KERNELS]

    def build(directory):
        root = directory / "root"
        images.mmdebstrap("minbase", PACKAGES, "bookworm", root, directory / "build.log")
        for name in ("usr/share/doc", "usr/share/man", "usr/share/locale", "var/lib/apt/lists", "var/cache/apt"):
            shutil.rmtree(root / name, ignore_errors=True)

    return artifact(
        "buildroot-kernel", [PACKAGES, releases], "a Debian 12 tree for building kernels, about 3 min", build,
        [images.mmdebstrap],
    ) / "root"  # fmt: skip


def _run(script, log, what, mounts):
    status = run_in_buildroot(SOURCE, script, root=buildroot(), mounts=mounts, log=log, timeout=7200)
    if status != 0:
        tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-40:]
        raise RuntimeError(f"{what} failed with exit code {status}; its last words:\n" + "\n".join(tail))


def source():
    """Debian's source of the kernel, unpacked."""
    root = buildroot()

    def build(directory):
        (directory / "linux").mkdir()
        archive = root / f"usr/src/linux-source-{SERIES}.tar.xz"
        run_logged(
            ["tar", "-C", directory / "linux", "--strip-components=1", "-xf", archive],
            directory / "build.log", "unpacking the kernel's source",
        )  # fmt: skip

    return artifact(f"linux-source-{SERIES}", [root.parent.name], "the kernel's source, about 20 s", build) / "linux"


def objects(name):
    """What the kernel of configuration @name is made of, without the series."""
    fragments, _ = CONFIGS[name]
    linux = source()

    def build(directory):
        (directory / "objects").mkdir()
        _run(
            f"tests/kernel/build-base {' '.join(fragments)}", directory / "build.log", f"building kernel {name}",
            [("overlay", linux, "/linux"), ("bind", directory / "objects", "/objects")],
        )  # fmt: skip

    inputs = [
        linux.parent.name, fragments, *[_digest(f"tests/kernel/config/{fragment}.config") for fragment in fragments],
        _digest_scripts("build-base", "kernel-make"),
    ]  # fmt: skip
    what = f"kernel {name} without the series, about 8 min on two CPUs"
    return artifact(f"kernel-objects-{name}", inputs, what, build, [_run]) / "objects"


def patched(name):
    """A directory with `vmlinuz`, `config`, `release`, the probes and `modules.cpio` of the kernel with the series, and, in
    `stock`, those of the same kernel without it, and our module."""
    _, second = CONFIGS[name]
    base = objects(name)

    def build(directory):
        _run(
            f"tests/kernel/build-patched {SERIES} {second or ''}", directory / "build.log", f"building kernel {name}",
            [("overlay", source(), "/linux"), ("overlay", base, "/objects"), ("bind", directory, "/out")],
        )  # fmt: skip
        images.write_archive(directory / "modules.cpio", None)

    inputs = [
        base.parent.name, second, _digest(f"kernel/patches/{SERIES}", "kernel/src", "kernel/module", "tests/kernel/probe", "tests/kernel/config"),
        _digest_scripts("build-patched", "kernel-make"),
    ]  # fmt: skip
    what = f"kernel {name} with the series, about 1 min"
    return artifact(f"kernel-patched-{name}", inputs, what, build, [_run])


def modules(version):
    """A directory with `rcu_boot_end.ko` and `rcu_probe.ko` for Debian's stock kernel @version, built by DKMS."""
    release = release_of(version)
    root = buildroot()

    def build(directory):
        _run(
            f"tests/kernel/build-module {release}", directory / "build.log", f"building the module for {release}",
            [("bind", directory, "/out")],
        )  # fmt: skip

    inputs = [
        root.parent.name, release, _digest("kernel/src", "kernel/module", "tests/kernel/probe"),
        _digest_scripts("build-module"),
    ]  # fmt: skip
    return artifact(f"module-{version}", inputs, f"the module for kernel {version}, about 20 s", build, [_run])
