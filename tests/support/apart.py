"""Keeps the test processes of one machine out of each other's counts.

./test runs some at a time. The kernel counts processes, pending signals, watches and keys by user, and a limit on
them reaches whoever runs as the same one; a control group that the other process left while it killed a run is told
from one's own by nothing but its place. So each test process has an ordinary user of its own, and, where root may
make them, control groups of its own, below which its runs make theirs.
"""

from __future__ import annotations

import atexit
import fcntl
import os
from pathlib import Path

# No account has them: root needs none for setpriv, and the tests make none.
UNUSED_UIDS = (64123, *range(64201, 64217))
CONTROLLERS = ("cpu", "memory", "pids")
GROUPS = Path("/sys/fs/cgroup")


def own_uid(place: Path) -> int:
    """The first that no other test process has. It is held as long as this process lives: by a lock on a file in
    `place`, which goes with the process whatever ends it."""
    if os.geteuid() != 0:
        return os.geteuid()
    place.mkdir(parents=True, exist_ok=True)
    for uid in UNUSED_UIDS:
        held = os.open(place / str(uid), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return uid
        except BlockingIOError:
            os.close(held)
    raise SystemExit(f"{len(UNUSED_UIDS)} test processes run on this machine already (locks in {place})")


def own_ports(uid: int) -> range:
    """Below those that the kernel gives to whoever connects: a part for each test process, by its ordinary user."""
    if uid in UNUSED_UIDS and os.geteuid() == 0:
        part = UNUSED_UIDS.index(uid)
    else:
        part = os.getpid() % len(UNUSED_UIDS)
    first = 20000 + part * 700
    return range(first, first + 700)


_entered: list[Path] = []


def places_of_groups() -> list[Path]:
    """The runs of this process make their control groups below these, and where it has groups of its own nobody else
    does."""
    return list(_entered) or [GROUPS]


def enter_own_groups() -> None:
    """Only for cgroup v1: in v2 a group with processes has no groups below it that limit."""
    if os.geteuid() != 0:
        return
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        parent = GROUPS / controllers / path.lstrip("/")
        if not set(controllers.split(",")) & set(CONTROLLERS) or not parent.is_dir():
            continue
        group = parent / f"tests-{os.getpid()}"
        try:
            group.mkdir()
            if (group / "cpu.shares").exists():
                # As much of the processors as these processes would get one by one.
                (group / "cpu.shares").write_text("4096")
            (group / "cgroup.procs").write_text(str(os.getpid()))
        except OSError:  # not permitted here: whoever shares the group is seen, as before
            continue
        _entered.append(group)
        atexit.register(_leave, group, parent, os.getpid())


def _leave(group: Path, parent: Path, owner: int) -> None:
    if os.getpid() != owner:
        return
    (parent / "cgroup.procs").write_text(str(owner))
    # Those of runs that were killed and whose state went with their test.
    for directory, _, _ in os.walk(group, topdown=False):
        try:
            os.rmdir(directory)
        except OSError:  # something lives in it, and says so in its own test
            continue
