"""What a machine is, as far as it matters to a sandbox. Runs inside the machines and on the host."""

from __future__ import annotations

import ctypes
import os
import platform
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")


def landlock_abi() -> int:
    """landlock_create_ruleset has one number everywhere; its third argument asks for the version."""
    return max(0, ctypes.CDLL(None, use_errno=True).syscall(444, None, 0, 1))


def facts() -> dict:
    unified = (GROUPS / "cgroup.controllers").exists()
    return {
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "landlock_abi": landlock_abi(),
        "cgroup": 2 if unified else 1,
        "memory": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "processors": os.cpu_count(),
    }
