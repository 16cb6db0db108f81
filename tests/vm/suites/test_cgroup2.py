"""Limits by control groups of version 2, on a machine that has them.

Started by root these are root's cases and those of a user without a group; started as `delegated`, those
of a user whose group is their own, as systemd leaves it. A case that concerns only those who may make
groups is not collected for the others (conftest.py).
"""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from own_groups import GROUPS, may_make_groups, usable_parent
from support.harness import alive, descendants, stop, wait_until

# How often a run is started that must leave nothing; --all says 500.
RUNS = int(os.environ.get("CORDON_TEST_CGROUP_RUNS", "40"))
HOG = "x = bytearray({} << 20); print('held', flush=True); import time; time.sleep({})"


@pytest.fixture
def grouped(world):
    """A world of somebody who may make groups, and the group to make them in."""
    world.parent = usable_parent()
    return world


def cordons_groups() -> set[Path]:
    return {Path(place) for place, _, _ in os.walk(GROUPS)
            if os.path.basename(place).startswith("cordon-")}


def limits_of(report: dict) -> dict:
    return report["enforcement"]["limits"]


def group_of_run(process: subprocess.Popen) -> Path:
    """The group of the one run that is under way, once its command is in it."""
    before = group_of_run.before
    found = []

    def there() -> bool:
        found[:] = [group for group in cordons_groups() - before
                    if (group / "cgroup.procs").read_text().split()]
        return len(found) == 1
    assert wait_until(there, 60), (process.poll(), found)
    return found[0]


@pytest.fixture(autouse=True)
def nothing_of_cordons_is_left():
    group_of_run.before = cordons_groups()
    yield
    assert wait_until(lambda: not cordons_groups() - group_of_run.before), cordons_groups()


def tidied_by_starts(world) -> bool:
    """What killed runs left is gone; each start looks again at what was still on its way out."""
    def tidied() -> bool:
        world.run("true").expect(0)
        return cordons_groups() == group_of_run.before
    return wait_until(tidied, 60, step=0.2)


class Shelf:
    """A group of the test's own with leaves, in one of which Cordon is started: its runs' groups become
    neighbours of that leaf."""

    def __init__(self, parent: Path, controllers=("memory", "pids")) -> None:
        self.path = parent / f"shelf-{os.getpid()}-{time.monotonic_ns()}"
        self.path.mkdir()
        self.controllers = controllers
        self.leaf("shell")
        (self.path / "cgroup.subtree_control").write_text(" ".join(f"+{c}" for c in controllers))

    def leaf(self, name: str) -> Path:
        path = self.path / name
        path.mkdir(exist_ok=True)
        return path

    def enter(self, name: str = "shell"):
        procs = self.leaf(name) / "cgroup.procs"
        return lambda: procs.write_text(str(os.getpid()))

    def remove(self) -> None:
        def gone() -> bool:
            for path in (*self.path.iterdir(), self.path):
                if path.is_dir():
                    try:
                        path.rmdir()
                    except OSError:
                        return False
            return not self.path.exists()
        assert wait_until(gone), [(path, (path / "cgroup.procs").read_text())
                                     for path in self.path.iterdir() if path.is_dir()]


@pytest.fixture
def shelf(grouped):
    made = Shelf(grouped.parent)
    yield made
    made.remove()


# What holds a limit, and that it is told.


def test_a_run_without_trouble_is_left_alone(world):
    done, report = world.report("/bin/sh", "-c", "sleep 0.5; echo done",
                                options=["--memory", "256M", "--pids", 64])
    assert done.expect(0).out == "done\n"
    assert report["denials"] == [] and report["kill_reason"] is None
    if may_make_groups(world.who):
        assert limits_of(report)["memory"] == "cgroup" and limits_of(report)["pids"] == "cgroup"
    else:
        assert limits_of(report)["memory"] == "watch" and limits_of(report)["pids"] == "rlimit"


@pytest.mark.grouped
def test_memory_is_held_and_told(grouped):
    script = f"'{grouped.probe}' memory 200; echo survived"
    done, report = grouped.report("/bin/sh", "-c", script, options=["--memory", "64M"], timeout=60)
    assert done.status == 137 and report["kill_reason"] == "oom", done.account()
    assert "survived" not in done.out
    [denial] = [d for d in report["denials"] if d["what"] == "memory"]
    assert denial["layer"] == "cgroup" and "64" in denial["detail"], denial
    done, report = grouped.report("/bin/sh", "-c", script, options=["--memory", "600M"], timeout=60)
    assert done.expect(0).out.endswith("survived\n") and report["denials"] == []
    # The kernel's own account of the tree (memory.peak, 5.19).
    assert report["usage"]["max_rss_bytes"] >= 200 << 20


@pytest.mark.ungrouped
def test_memory_without_a_group_is_held_by_rlimit(world):
    done, report = world.report(world.probe, "memory", 200, options=["--memory", "64M"], timeout=60)
    assert '"ok":true' not in done.out, done.account()
    assert limits_of(report)["memory"] == "watch"
    assert '"ok":true' in world.run(world.probe, "memory", 200, options=["--memory", "600M"]).out


@pytest.mark.grouped
def test_reclaiming_at_the_bound_is_no_kill(grouped):
    """The page cache fills the group, the kernel makes room, and memory.events changes each time. It is read and not
    written: where a disk is slow, the kernel kills a group that is full of what waits to be written."""
    big = grouped.write(grouped.project / "big", "x" * (120 << 20))
    with open(big, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    done, report = grouped.report("/bin/sh", "-c", "cat big | wc -c", options=["--memory", "32M"], timeout=120)
    assert done.expect(0).out.strip() == str(120 << 20)
    assert report["denials"] == [] and report["kill_reason"] is None
    # The bound was reached: what was read counted as the group's.
    assert report["usage"]["max_rss_bytes"] >= 31 << 20


def test_pids_are_held_and_told(world):
    done, report = world.report(world.probe, "forkbomb", 60, options=["--pids", 24])
    assert '"EAGAIN"' in done.out, done.account()
    if may_make_groups(world.who):
        [denial] = [d for d in report["denials"] if d["what"] == "pids"]
        assert denial["layer"] == "cgroup" and denial["count"] >= 1
    done, report = world.report(world.probe, "forkbomb", 60, options=["--pids", 200])
    assert '"ok":true' in done.out and report["denials"] == [], done.account()


@pytest.mark.ungrouped
def test_processor_time_without_a_group_is_refused(world):
    done = world.run(world.probe, "spin", 1, options=["--cpus", "0.2"])
    assert done.status == 125 and "limit cpus needs a cgroup" in done.err, done.account()
    world.run(world.probe, "spin", 1).expect(0)


@pytest.mark.grouped
def test_processor_time_is_held_and_told(grouped):
    spin = (grouped.probe, "spin", 3)
    done, report = grouped.report(*spin, options=["--cpus", "0.2"])
    done.expect(0)
    assert limits_of(report)["cpus"] == "cgroup"
    held = report["usage"]["cpu_ms"] / report["duration_ms"]
    done, report = grouped.report(*spin)
    free = report["usage"]["cpu_ms"] / report["duration_ms"]
    assert held < 0.3 and free > 2 * held, (held, free)


@pytest.mark.grouped
def test_the_smallest_share_of_a_processor_is_one_the_kernel_takes(grouped):
    """Not waited for: with so little, building the sandbox takes an emulated machine minutes."""
    process = grouped.start([grouped.cordon, "run", "--cpus", "0.005", "--", "true"])
    try:
        assert (group_of_run(process) / "cpu.max").read_text() == "5000 1000000\n"
    finally:
        stop(process)
        assert tidied_by_starts(grouped)


@pytest.mark.grouped
def test_processor_time_that_is_not_handed_on_is_refused(shelf, grouped):
    done = grouped.run("true", options=["--cpus", "0.5"], preexec_fn=shelf.enter())
    assert done.status == 125 and "limit cpus needs a cgroup" in done.err, done.account()
    done, report = grouped.report("true", options=["--memory", "64M"], preexec_fn=shelf.enter())
    assert done.expect(0) and limits_of(report)["memory"] == "cgroup"
    (shelf.path / "cgroup.subtree_control").write_text("+cpu")
    done, report = grouped.report("true", options=["--cpus", "0.5"], preexec_fn=shelf.enter())
    assert done.expect(0) and limits_of(report)["cpus"] == "cgroup"


# Whose limit it was.


@pytest.mark.grouped
def test_a_neighbours_end_is_not_this_runs(grouped):
    quiet = grouped.start([grouped.cordon, "run", "--json", "--memory", "64M", "--", "sleep", "4"])
    time.sleep(0.5)
    loud, report = grouped.report(grouped.probe, "memory", 200, options=["--memory", "64M"])
    assert report["kill_reason"] == "oom", loud.account()
    out, err = quiet.communicate(timeout=60)
    assert quiet.returncode == 0, err
    told = json.loads(out)
    assert told["denials"] == [] and told["kill_reason"] is None, told


@pytest.mark.grouped
def test_a_neighbours_end_by_a_limit_above_both_is_not_this_runs(shelf, grouped):
    (shelf.path / "memory.max").write_text(str(160 << 20))
    quiet = grouped.start([grouped.cordon, "run", "--json", "--memory", "128M", "--", "sleep", "6"],
                          preexec_fn=shelf.enter())
    assert group_of_run(quiet).parent == shelf.path
    loud = subprocess.run(["/usr/bin/python3", "-c", HOG.format(300, 0)], preexec_fn=shelf.enter("hog"),
                          check=False)
    assert loud.returncode == -9
    assert "oom_kill 1" in (shelf.path / "memory.events").read_text()
    out, err = quiet.communicate(timeout=60)
    assert quiet.returncode == 0, err
    told = json.loads(out)
    assert told["denials"] == [] and told["kill_reason"] is None, told


@pytest.mark.grouped
def test_a_kill_for_a_limit_above_is_told_as_what_it_is(shelf, grouped):
    (shelf.path / "memory.max").write_text(str(160 << 20))
    done, report = grouped.report("/usr/bin/python3", "-c", HOG.format(400, 0),
                                  options=["--memory", "1G"], preexec_fn=shelf.enter(), timeout=60)
    assert done.status == 137 and report["signal"] == "SIGKILL", done.account()
    assert report["kill_reason"] == "signal", done.report_text
    [denial] = [d for d in report["denials"] if d["what"] == "memory"]
    assert denial["layer"] == "host" and "not at its own limit" in denial["detail"]
    assert "memory ran out around the run" in done.err
    # Its own limit being the lower one, the same is its own.
    done, report = grouped.report("/usr/bin/python3", "-c", HOG.format(400, 0),
                                  options=["--memory", "96M"], preexec_fn=shelf.enter(), timeout=60)
    assert done.status == 137 and report["kill_reason"] == "oom", done.report_text


# The end.


def stranger(group: Path) -> subprocess.Popen:
    """A process that no namespace of the run holds, in the run's group."""
    process = subprocess.Popen(["/usr/bin/sleep", "600"])
    (group / "cgroup.procs").write_text(str(process.pid))
    return process


@pytest.mark.grouped
def test_the_whole_group_is_ended(grouped):
    process = grouped.start([grouped.cordon, "run", "--timeout", "4s", "--", "sleep", "60"])
    group = group_of_run(process)
    inside, outside = stranger(group), subprocess.Popen(["/usr/bin/sleep", "600"])
    try:
        process.communicate(timeout=60)
        assert process.returncode == 124
        assert wait_until(lambda: inside.poll() == -9, 20)
        assert not group.exists()
        assert outside.poll() is None
    finally:
        stop(inside)
        stop(outside)


@pytest.mark.grouped
def test_the_next_start_ends_what_a_killed_cordon_left(grouped):
    process = grouped.start([grouped.cordon, "run", "--", "sleep", "60"])
    group = group_of_run(process)
    tree = descendants(process.pid)
    left = stranger(group)
    try:
        process.kill()
        process.communicate()
        assert wait_until(lambda: not any(alive(pid) for pid in tree), 20)
        assert group.exists() and left.poll() is None
        grouped.run("true").expect(0)
        assert wait_until(lambda: left.poll() == -9, 20)
        assert not group.exists()
    finally:
        stop(left)


@pytest.mark.grouped
def test_many_runs_leave_nothing(grouped):
    before = cordons_groups()
    for number in range(RUNS):
        done = grouped.run("true" if number % 5 else "false")
        assert done.status == (0 if number % 5 else 1), done.account()
    assert cordons_groups() == before


@pytest.mark.grouped
def test_killed_starts_leave_nothing_after_the_next(grouped):
    before = cordons_groups()
    for moment in range(12):
        process = grouped.start([grouped.cordon, "run", "--", "sleep", "5"])
        time.sleep(moment * 0.03)
        process.kill()
        process.communicate()

    assert tidied_by_starts(grouped), cordons_groups() - before


# Where groups are made.


@pytest.mark.made_by_root
def test_a_group_of_ones_own_that_holds_processes(world):
    """As a scope with Delegate=yes is left: the group is the user's, the ones above are not, and the
    shell is in it. What doctor says to type works as it is typed."""
    group = usable_parent() / f"scope-{os.getpid()}"
    group.mkdir()
    try:
        for path in (group, group / "cgroup.procs", group / "cgroup.subtree_control"):
            os.chown(path, world.who.uid, world.who.uid)

        def enter() -> None:
            (group / "cgroup.procs").write_text(str(os.getpid()))
        _, report = world.report("true", preexec_fn=enter)
        assert limits_of(report)["memory"] == "watch"
        answer = world.execute([world.cordon, "doctor", "--json"], preexec_fn=enter, timeout=120).json
        [check] = [check for check in answer["checks"] if check["name"] == "cgroup"]
        cure = check["cure"].split("alone in it: ")[1]
        script = f"{cure} && '{world.cordon}' run --report '{world.trusted}/after.json' -- true"
        world.execute(["/bin/sh", "-c", script], preexec_fn=enter).expect(0)
        after = json.loads((world.trusted / "after.json").read_text())
        assert limits_of(after)["memory"] == "cgroup" and limits_of(after)["pids"] == "cgroup"
    finally:
        for path in (group / "shell", group):
            if path.exists():
                assert wait_until(lambda p=path: not p.exists() or not _try_rmdir(p)), path


def _try_rmdir(path: Path) -> str:
    try:
        path.rmdir()
    except OSError as error:
        return str(error)
    return ""
