"""Applying and restoring the changes of a stage, killed at every call that changes something on the
disk: the next verb finishes or undoes it, and no file is ever half of one and half of the other."""

import collections
import re

import pytest

from test_stage import CHANGES, changes, picture, prepare, staged

CALLS = ("renameat2", "mkdirat", "unlinkat", "symlinkat", "openat", "write", "fsync", "syncfs",
         "fchmodat", "utimensat", "copy_file_range")
# Each is tried at its first occurrences, and then at every so many.
FIRST = 2
STEP = 9


def traced(world, verb, *options):
    return world.execute(["strace", "-f", "-qq", *options, world.cordon, "changes", verb])


def counts(world, verb):
    """How often each call is made by the verb, which is carried out."""
    done = traced(world, verb, "-e", "trace=" + ",".join(CALLS))
    done.expect(0)
    return collections.Counter(re.findall(r"^(?:\[pid +\d+\] )?(\w+)\(", done.err, re.M))


def points(counted):
    for call, count in sorted(counted.items()):
        for occurrence in range(1, count + 1):
            if occurrence <= FIRST or occurrence % STEP == 0 or occurrence == count:
                yield call, occurrence


def assert_whole(now, before, after):
    for name, value in now.items():
        if "/.cordon-" in f"/{name}":
            continue  # what waits beside its place; gone after the next verb
        mode, content = value
        known = [tree[name] for tree in (before, after) if name in tree]
        assert any(content == other for _, other in known), f"{name}: {value!r}, not of {known!r}"


@pytest.mark.parametrize("verb", ["apply", "restore"])
def test_killed_anywhere_it_is_finished_or_undone(world, verb):
    prepare(world)
    before = picture(world.project)
    staged(world, CHANGES)
    changes(world, "apply")
    after = picture(world.project)
    changes(world, "restore")
    assert picture(world.project) == before
    other = {"apply": "restore", "restore": "apply"}[verb]
    wanted = {"apply": after, "restore": before}
    if verb == "restore":
        changes(world, "apply")
    counted = counts(world, verb)
    changes(world, other)
    assert counted["renameat2"] >= 4, counted
    for call, occurrence in points(counted):
        done = traced(world, verb, "-e", f"trace={call}",
                      "-e", f"inject={call}:signal=KILL:when={occurrence}")
        told = f"{verb} killed at {call} number {occurrence}: {done.account()}"
        assert done.status not in (0, 1), told
        assert_whole(picture(world.project), before, after)
        again = world.cordon_verb("changes", verb)
        assert again.status in (0, 1), told + again.account()
        assert picture(world.project) == wanted[verb], told + again.account()
        back = world.cordon_verb("changes", other)
        assert back.status == 0, told + back.account()
        assert picture(world.project) == wanted[other], told + back.account()


@pytest.mark.only("user")
@pytest.mark.parametrize("call", ["renameat", "fchmod", "clone3"])
def test_a_run_that_was_killed_while_it_made_its_stage_leaves_nothing(world, call):
    """Also before the command is started: what was made of the stage is taken away by the next start."""
    command = ["-e", f"trace={call}", world.cordon, "run", "--stage", "--", "/bin/true"]
    counted = world.execute(["strace", "-qq", *command]).err.count(f"{call}(")
    for occurrence in range(1, counted + 1):
        world.execute(["strace", "-qq", "-e", f"inject={call}:signal=KILL:when={occurrence}", *command])
        world.let_notes_be_old()
        done = world.run("true").expect(0)
        assert "unchecked" not in done.err, f"{call} number {occurrence}: {done.account()}"
        place = world.home / ".local/state/cordon/stages"
        assert not place.exists() or list(place.iterdir()) == [], f"{call} number {occurrence}"
