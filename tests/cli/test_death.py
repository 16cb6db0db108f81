"""When Cordon itself dies, everything it started dies with it."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from support.harness import (SOON, alive, descendants, groups_without_processes, noted_processes, processes_with,
                             wait_until)


def mark_of(world):
    return f"death-{os.getpid()}-{world.path.name}"


def cgroups_of(pid):
    """Directories of the cgroups that Cordon made for a run, over every hierarchy."""
    found = set()
    for child in descendants(pid):
        try:
            lines = Path("/proc", str(child), "cgroup").read_text().splitlines()
        except OSError:  # it has ended meanwhile
            continue
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if "cordon" in path:
                top = "unified" if not controllers else controllers.removeprefix("name=")
                for base in (Path("/sys/fs/cgroup", top), Path("/sys/fs/cgroup")):
                    if (base / path.lstrip("/")).exists():
                        found.add(base / path.lstrip("/"))
    return found


def members(group):
    return (group / "cgroup.procs").read_text().split() if group.exists() else []


@pytest.mark.parametrize("options", [[], ["--json"], ["--tty"]], ids=["plain", "json", "tty"])
def test_sigkill_of_cordon(world, options):
    mark = mark_of(world)
    process = world.start([world.cordon, "run", *options, "--", "/bin/sh", "-c",
                           f"'{world.probe}' orphans 20 {mark} 120; "
                           f"'{world.probe}' linger {mark} 120"])
    assert wait_until(lambda: len(processes_with(mark)) >= 21), process.poll()
    assert wait_until(lambda: len(descendants(process.pid)) >= 21)
    tree = descendants(process.pid)
    process.kill()
    process.wait()
    assert wait_until(lambda: not processes_with(mark), SOON), processes_with(mark)
    assert wait_until(lambda: not any(alive(pid) for pid in tree), SOON)
    process.communicate()


def test_sigkill_at_random_moments(world):
    mark = mark_of(world)
    world.run("true").expect(0)
    before = groups_without_processes()
    for step in range(40):
        process = world.start([world.cordon, "run", "--", world.probe, "linger", mark, 60])
        time.sleep(step * 0.0002)
        process.kill()
        process.communicate()
    assert wait_until(lambda: not processes_with(mark), SOON), processes_with(mark)
    world.let_notes_be_old()
    world.run("true").expect(0)
    # Others may be making groups at this moment; those do not stay without a process.
    left = groups_without_processes() - before
    assert wait_until(lambda: not left & groups_without_processes(), SOON), left & groups_without_processes()
    mounts = [line for line in open("/proc/self/mountinfo") if str(world.path) in line]
    assert not mounts


def test_next_start_tidies_what_a_dead_one_noted(world):
    process = world.start([world.cordon, "run", "--", "/bin/sh", "-c", "echo ready; sleep 60"])
    assert process.stdout.readline() == b"ready\n"
    groups = cgroups_of(process.pid)
    if world.who.is_root:
        assert groups, "root's limits come from cgroups"
    runs = world.home / ".local/state/cordon/runs"
    assert wait_until(lambda: noted_processes(world.home))
    started = noted_processes(world.home)
    process.kill()
    process.communicate()
    assert wait_until(lambda: not any(members(group) for group in groups), SOON)
    assert wait_until(lambda: not any(alive(one) for one in started))
    world.run("true").expect(0)
    assert not [group for group in groups if group.exists()], "cgroups of the dead remain"
    left = list(runs.iterdir()) if runs.exists() else []
    assert not left, f"notes of the dead remain: {left}"


def test_protected_file_of_a_killed_run_is_found_by_the_next(world):
    process = world.start([world.cordon, "run", "--", "/bin/sh", "-c",
                           "echo '{}' > .mcp.json; echo ready; sleep 60"])
    assert process.stdout.readline() == b"ready\n"
    # A start that cannot know whom to wait for, or for whom it waits too long, leaves it to a later one.
    assert wait_until(lambda: noted_processes(world.home))
    started = noted_processes(world.home)
    process.kill()
    process.communicate()
    assert wait_until(lambda: not any(alive(one) for one in started))
    world.run("true").expect(0)
    assert not (world.project / ".mcp.json").exists(), (
        "what a killed run made appear was noted before its start and must be removed")


@pytest.mark.parametrize("number", [signal.SIGSTOP])
def test_stopped_cordon_still_ends_by_kill(world, number):
    mark = mark_of(world)
    process = world.start([world.cordon, "run", "--", world.probe, "linger", mark, 60])
    assert wait_until(lambda: processes_with(mark))
    process.send_signal(number)
    process.kill()
    process.communicate()
    assert wait_until(lambda: not processes_with(mark), SOON)


@pytest.mark.only("root")
def test_what_could_not_be_taken_away_is_taken_by_the_next_start(world):
    """Files can be made in an append-only directory, but neither renamed nor removed."""
    subprocess.run(["chattr", "+a", world.project], check=True)
    try:
        ended = world.run("sh", "-c", "echo evil >.mcp.json").expect(0)
        assert "unchecked" in ended.err and (world.project / ".mcp.json").exists()
    finally:
        subprocess.run(["chattr", "-a", world.project], check=True)
    again = world.run("true").expect(0)
    assert ".mcp.json" in again.err and not (world.project / ".mcp.json").exists()
    assert "handoff" not in world.run("true").expect(0).err, "told once"


def test_questions_clean_up_nothing(world):
    """Only a start does. Whoever asks what is permitted moves and ends nothing."""
    process = world.start([world.cordon, "run", "--", "sh", "-c", "mkdir .vscode; touch ready; sleep 60"])
    assert wait_until(lambda: (world.project / "ready").exists())
    process.kill()
    process.communicate(timeout=30)
    for question in (["policy", "show"], ["policy", "explain", "write", "x"], ["policy", "clamp"],
                     ["audit", "list"], ["changes", "list"]):
        world.execute([world.cordon, *question])
        assert (world.project / ".vscode").exists(), question
    # The next start waits until the processes of the killed run are gone.
    assert wait_until(lambda: world.run("true").expect(0) and not (world.project / ".vscode").exists())
