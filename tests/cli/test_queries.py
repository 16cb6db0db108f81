"""Who asks changes nothing: no query recovers, ends or moves what a run that was cut off has left."""

import os
import signal

import pytest

from support.harness import alive, noted_processes, wait_until

pytestmark = pytest.mark.once

QUERIES = (
    ["policy", "show", "workspace"], ["policy", "explain", "write", "file.txt"], ["policy", "explain", "read", "~/.ssh"],
    ["policy", "clamp"], ["audit", "list"], ["audit", "stats"],
    ["audit", "show", "last"], ["changes", "list"], ["run", "--dry-run", "--", "true"])


def state(world):
    """Every file of Cordon's state but the index of the log, which `audit` may make anew, and of the project."""
    found = {}
    for top in (world.home / ".local/state/cordon", world.project):
        for path, directories, files in os.walk(top):
            for name in directories + files:
                item = os.path.join(path, name)
                if "index.sqlite" in name:
                    continue
                status = os.lstat(item)
                content = open(item, "rb").read() if name in files and not os.path.islink(item) else b""
                found[item] = (status.st_ino, status.st_mode, content)
    return found


@pytest.fixture
def cut_off(world):
    """A run that planted a protected file and was killed with its supervisor."""
    process = world.start([world.cordon, "run", "--", "/bin/sh", "-ec",
                           "mkdir .vscode; echo planted > .vscode/tasks.json; echo ready; read line"], stdin=-1)
    assert process.stdout.readline() == b"ready\n"
    assert wait_until(lambda: noted_processes(world.home))
    started = noted_processes(world.home)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert wait_until(lambda: not any(alive(one) for one in started))


@pytest.mark.parametrize("words", QUERIES, ids=" ".join)
def test_a_query_changes_nothing(world, cut_off, words):
    before = state(world)
    assert any("/runs/" in item for item in before)
    done = world.cordon_verb(*words)
    assert done.status in (0, 1), done.account()
    assert state(world) == before, done.account()


def test_a_run_does_what_a_query_does_not(world, cut_off):
    before = state(world)
    world.run("true").expect(0)
    after = state(world)
    assert before != after and not any("/runs/" in item for item in after)
