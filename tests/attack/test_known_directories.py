"""Directories that have not changed since the last run are not read again. What a run plants in one is found
all the same, whatever it does to names and times; and what the person makes there is held by the next."""
import os
import subprocess
import time

import pytest

from test_search import moved_from

TASKS = "mkdir -p {0}/.vscode && echo evil > {0}/.vscode/tasks.json"
PLANTS = {
    "a new name, and the times set back":
        ("touch -r d/1 /tmp/when; " + TASKS.format("d/1") + "; touch -r /tmp/when d/1 d/1/.vscode", "d/1/.vscode"),
    "another directory under an old name":
        ("mkdir x && " + TASKS.format("x") + " && cp -p d/2/plain x/ && mv d/2 away && mv x d/2", "d/2/.vscode"),
    "an old file under another name": ("mv d/3/plain d/3/.mcp.json", "d/3/.mcp.json"),
    "a second name of an old file": ("ln d/4/plain d/4/.mcp.json", "d/4/.mcp.json"),
    "a name that is denied": ("echo evil > d/5/made.pem", "d/5/made.pem"),
    "two directories exchanged":
        (TASKS.format("d/6") + "; mv d/6 y; mv d/7 d/6; mv y d/7", "d/7/.vscode"),
    "deep in a new tree": ("mkdir -p d/8/a/b; " + TASKS.format("d/8/a/b"), "d/8/a/b/.vscode"),
    "a repository with a hook":
        ("git init -q d/9/r; mkdir -p d/9/r/.git/hooks; echo evil > d/9/r/.git/hooks/post-checkout; "
         "chmod +x d/9/r/.git/hooks/post-checkout", "d/9/r/.git/hooks/post-checkout"),
}
OPTIONS = ["--deny", "*.pem"]
KEEPS_TIMES = {"ext2/ext3", "xfs", "btrfs", "tmpfs", "f2fs"}


def known(world) -> list[str]:
    place = world.home / ".local/state/cordon/directories"
    return os.listdir(place) if place.exists() else []


@pytest.fixture
def large(world):
    """A project with as many directories as are worth remembering, and a run that remembers them."""
    for number in range(80):
        world.write(world.project / f"d/{number}/plain", "{}\n")
    time.sleep(0.1)
    world.run("true", options=OPTIONS).expect(0)
    kind = subprocess.run(["stat", "-f", "-c", "%T", world.project], capture_output=True, text=True, check=True)
    assert bool(known(world)) == (kind.stdout.strip() in KEEPS_TIMES), (kind.stdout, known(world))
    time.sleep(0.1)
    return world


@pytest.mark.parametrize("plant", PLANTS)
def test_what_is_planted_in_a_known_directory_is_found(large, plant):
    script, place = PLANTS[plant]
    done, report = large.report("/bin/sh", "-c", script, options=OPTIONS)
    done.expect(0)
    assert not os.path.lexists(large.project / place), done.report_text
    assert any(place.startswith(path) for path in moved_from(report)), done.report_text


@pytest.mark.parametrize("plant", PLANTS)
def test_bare_the_same_is_planted(large, plant):
    script, place = PLANTS[plant]
    large.bare("/bin/sh", "-c", script.replace("/tmp/when", "when")).expect(0)
    assert os.path.lexists(large.project / place)


def test_what_the_person_makes_is_held_by_the_next_run(large):
    before = (large.project / "d/10").stat()
    large.write(large.project / "d/10/.mcp.json", "mine\n")
    large.write(large.project / "d/11/key.pem", "mine\n")
    os.utime(large.project / "d/10", ns=(before.st_atime_ns, before.st_mtime_ns))
    script = "echo evil > d/10/.mcp.json; cat d/11/key.pem; echo fine > d/10/plain"
    large.run("/bin/sh", "-c", script, options=OPTIONS)
    assert (large.project / "d/10/.mcp.json").read_text() == "mine\n"
    assert (large.project / "d/10/plain").read_text() == "fine\n"
    assert "mine" not in large.run("cat", "d/11/key.pem", options=OPTIONS).out
    large.bare("/bin/sh", "-c", script).expect(0)
    assert (large.project / "d/10/.mcp.json").read_text() == "evil\n"


def test_a_damaged_memory_costs_nothing_but_time(large):
    for name in known(large):
        path = large.home / ".local/state/cordon/directories" / name
        path.write_bytes(path.read_bytes()[:-7] + b"\0\0\0\0\0\0\0")
    script, place = PLANTS["a new name, and the times set back"]
    large.run("/bin/sh", "-c", script, options=OPTIONS).expect(0)
    assert not os.path.lexists(large.project / place)


def test_a_run_sees_nothing_of_it(large):
    place = large.home / ".local/state/cordon/directories"
    done = large.run("ls", place, options=["--read", large.home])
    assert done.status != 0, done.account()
