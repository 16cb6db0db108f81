"""What stands in the place of bubblewrap: it is trusted only where root alone could put it, and what
it did is measured, not believed."""

import os
import shutil
import time
from pathlib import Path

import pytest

from support import harness

INSTALLED = Path("/usr/bin/bwrap")
# Only root can put something in its place, for a mount namespace of the test's own.
PEOPLE = harness.PEOPLE if os.geteuid() == 0 else []


@pytest.fixture(params=PEOPLE, ids=lambda person: person.name)
def world(request):
    made = harness.World(request.param, harness.stage().new_directory())
    made.backend = "bwrap"
    yield made
    made.leave()


@pytest.fixture
def place():
    """A file of root's, to be put in the place of bubblewrap."""
    directory = harness.stage().new_directory()
    yield directory / "bwrap"
    harness.remove_tree(directory)


def impostor(place, behaviour):
    built = Path(os.environ.get("CORDON_IMPOSTORS", harness.ROOT / "out/release/tests/bwrap"))
    shutil.copy(built / f"impostor-{behaviour}", place)
    place.chmod(0o755)
    return place


def with_bwrap(world, program, *command, options=()):
    """A contained run on a host whose /usr/bin/bwrap is `program`."""
    inner = world.command([world.cordon, "run", *options, "--", *command])
    script = f'mount --bind {program} {INSTALLED} && exec "$@"'
    person, world.who = world.who, harness.PEOPLE[0]
    try:
        return world.execute(["unshare", "-m", "sh", "-c", script, "sh", *inner])
    finally:
        world.who = person


def run(world, program):
    return with_bwrap(world, program, "touch", "ran", options=["--json"])


def test_a_copy_in_its_place_works(world, place):
    """The control of all others: what is refused there is not the way it got there."""
    shutil.copy(INSTALLED, place)
    place.chmod(0o755)
    done = run(world, place)
    assert done.json["enforcement"]["backend"] == "bwrap", done.account()
    assert (world.project / "ran").exists(), done.account()


@pytest.mark.parametrize("behaviour,layer", [("NoNamespaces", "namespaces"),
                                             ("HostRoot", "new root")])
def test_one_that_contains_nothing_is_found_out(world, place, behaviour, layer):
    mounts = set(Path("/proc/self/mountinfo").read_text().splitlines())
    names = os.listdir("/")
    done = run(world, impostor(place, behaviour))
    error = done.json["error"]
    assert error["message"].startswith(f"layer {layer} is not in force"), done.account()
    assert done.status == 125 and not (world.project / "ran").exists(), done.account()
    # The first process found out before it did anything, as root too.
    assert harness.wait_until(
        lambda: set(Path("/proc/self/mountinfo").read_text().splitlines()) <= mounts, harness.SOON)
    assert os.listdir("/") == names


def test_one_without_an_option_is_unavailable_with_the_cure(world, place):
    error = run(world, impostor(place, "Old")).expect(125).json["error"]
    assert error["kind"] == "unavailable" and "--bind-fd" in error["message"], error
    assert "0.8" in error["hint"], error


def test_one_that_is_mute_is_given_up(world, place):
    begin = time.monotonic()
    error = run(world, impostor(place, "Mute")).expect(125).json["error"]
    assert error["kind"] == "unavailable" and "does not answer" in error["message"], error
    assert time.monotonic() - begin < 35


def test_what_it_says_when_it_fails_is_passed_on_without_control_characters(world, place):
    error = run(world, impostor(place, "Failing")).expect(125).json["error"]
    assert error["kind"] == "setup" and "I would rather" in error["message"], error
    assert "\033" not in error["message"], error


@pytest.mark.parametrize("mode,owner,kind", [(0o775, 0, "untrusted"), (0o757, 0, "untrusted"),
                                             (0o755, harness.ORDINARY_UID, "untrusted"),
                                             (0o4755, 0, "unavailable")])
def test_one_that_others_could_have_written_or_that_is_setuid_is_refused(world, place, mode, owner,
                                                                         kind):
    shutil.copy(INSTALLED, place)
    os.chown(place, owner, 0)
    place.chmod(mode)
    done = run(world, place).expect(125)
    assert done.json["error"]["kind"] == kind, done.account()
    assert not (world.project / "ran").exists(), done.account()


def test_one_that_is_planted_on_the_path_is_never_started(world):
    planted = world.write(world.project / "bin/bwrap", "#!/bin/sh\ntouch ../planted\n", 0o755)
    path = {"PATH": f"{planted.parent}:{harness.BASE_PATH}"}
    done = world.run("touch", "ran", options=["--json"], env=path).expect(0)
    assert done.json["enforcement"]["backend"] == "bwrap", done.account()
    marker = world.home / "planted"
    assert (world.project / "ran").exists() and not marker.exists()
    world.bare("sh", "-c", "bwrap", env=path).expect(0)
    assert marker.exists(), "the control: PATH does lead to what was planted"


def test_one_within_a_writable_grant_is_refused(world):
    # What is on PATH is never granted for writing, so it must not be.
    done = world.execute(["/usr/bin/env", "PATH=/usr/sbin", world.cordon, "run", "--backend", "bwrap", "--write",
                          INSTALLED.parent, "--json", "--", "/usr/bin/touch", "ran"]).expect(125)
    assert done.json["error"]["kind"] == "untrusted", done.account()
    assert not (world.project / "ran").exists()
    world.run("touch", "ran", options=["--write", world.outside]).expect(0)
