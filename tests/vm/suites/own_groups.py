"""Where the process of a suite stands among the control groups of version 2."""

import os
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")


def own_group() -> Path:
    [line] = Path("/proc/self/cgroup").read_text().splitlines()
    return GROUPS / line.split(":", 2)[2].lstrip("/")


def hands_on(group: Path) -> bool:
    given = (group / "cgroup.subtree_control").read_text().split()
    return os.access(group / "cgroup.procs", os.W_OK) and {"memory", "pids"} <= set(given)


def usable_parent() -> Path | None:
    """The nearest group above this process's own in which it may make others that have controllers."""
    above = [group for group in own_group().parents if GROUPS in (group, *group.parents)]
    return next((group for group in above if hands_on(group)), None)


def may_make_groups(who) -> bool:
    # An ordinary user whom root starts is in a group of root's.
    return not who.prefix and usable_parent() is not None
