"""Which process staged a batch, told so exactly that a later run on the same machine knows whether it is gone."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["is_gone", "this_process"]

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")
#: In /proc/<pid>/stat, counted behind the bracketed name: when the process started, in ticks since boot.
_STARTED = 19


def this_process() -> str | None:
    """`<boot>/<namespace>/<pid>/<start>`; None where the system has no such names (anything but Linux)."""
    return _named(os.getpid())


def is_gone(owner: str | None) -> bool:
    """Whether that process has certainly ended: it could be seen from here, and is not there.

    False for one of another machine, container or boot, of which nothing is known here.
    """
    here = this_process()
    if owner is None or here is None or owner.split("/")[:2] != here.split("/")[:2]:
        return False
    return _named(int(owner.split("/")[2])) != owner


def _named(pid: int) -> str | None:
    try:
        boot = _BOOT.read_text("ascii").strip()
        namespace = str(_NAMESPACE.readlink()).removeprefix("pid:").strip("[]")
        status = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None
    ended = status[0] in "ZX"  # a killed child whose parent has not asked for it yet
    return None if ended else f"{boot}/{namespace}/{pid}/{status[_STARTED]}"
