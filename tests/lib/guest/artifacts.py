# SPDX-License-Identifier: LGPL-2.1-or-later
"""All that the cache can hold, by name: what tests/guest/build builds, and what --prune leaves."""

from . import images, kernels
from .cache import prune

ALL = {
    **{f"rootfs-{suite}": (lambda suite=suite: images.rootfs(suite).parent) for suite in images.SUITES},
    **{f"initrd-{suite}": (lambda suite=suite: images.initrd(suite).parent) for suite in images.SUITES},
    **{f"kernel-{version}": (lambda version=version: images.kernel(version)) for version in images.KERNELS},
    "buildroot-trixie": lambda: images.buildroot("trixie").parent,
    "buildroot-kernel": lambda: kernels.buildroot().parent,
    "linux-source": lambda: kernels.source().parent,
    **{f"kernel-objects-{name}": (lambda name=name: kernels.objects(name).parent) for name in kernels.CONFIGS},
    **{f"kernel-patched-{name}": (lambda name=name: kernels.patched(name)) for name in kernels.CONFIGS},
    **{f"module-{version}": (lambda version=version: kernels.modules(version)) for version in images.KERNELS},
}


def build_all(names=None):
    """Builds (or finds) the named artifacts, all by default; returns name -> directory."""
    return {name: ALL[name]() for name in names or ALL}


def prune_unused():
    prune(set(build_all().values()))
