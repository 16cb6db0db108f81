"""Tries every attack with the layers given left out, in an enclosure, and prints what succeeded.

  measure.py PERSON LAYERS...   PERSON is root or user; LAYERS are names joined by "+", or "nothing"

Not started by hand: ablation.py makes the enclosure and reads the JSON that this prints, one line for each
set of layers and one, named "bare", for the same attacks without a sandbox."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import time
from pathlib import Path

import attacks
from attacks import GROUPS, Place
from support import harness
from support.omitting import omitting

SECONDS = 60
MOST_OPEN = 4 * attacks.DESCRIPTORS  # enough for this program


def formatted(word, place: Place) -> str:
    return str(word).format(**place.names)


def judged(attempted, place: Place, answers) -> set[str]:
    found = set()
    for attack, answer in zip(attempted, answers):
        if attack.succeeded(answer, place.names) if attack.succeeded else answer.ok:
            found.add(attack.name)
    return found


def command(group, place: Place, attempted) -> tuple[list[str], str | None]:
    if group.line is not None:
        return ["/bin/sh", "-c", group.line.replace("{outside}", str(place.world.outside))], None
    lines = ["\t".join(formatted(word, place) for word in attack.attempt) for attack in attempted]
    return [str(place.world.probe), "batch", "-"], "\n".join(lines) + "\n"


def outcome(group, place: Place, attempted, done: harness.Done) -> set[str]:
    found = judged(attempted, place, harness.answers(done.out)) if group.line is None else set()
    if group.afterwards:
        found |= {name for name, happened in group.afterwards(place).items() if happened}
    if group.said:
        found |= {name for name, happened in group.said(done.out).items() if happened}
    return found


def contained(group, place: Place) -> tuple[set[str], str | None]:
    """What succeeded, and why nothing ran if nothing did."""
    place.refill()
    attempted = [attack for attack in group.attacks if attack.attempt]
    argv, text = command(group, place, attempted)
    # The probe says a line for each attempt, so a run that ends early is seen by their number.
    done = place.world.execute(
        [place.world.cordon, "run", *map(str, group.options(place)), "--", *argv], input=text,
        env=place.switches(), timeout=SECONDS)
    assert not done.err.startswith("test build:"), done.account()
    if done.status == 125:
        return set(), done.err.splitlines()[0] if done.err else "status 125"
    if group.line is None and not group.may_be_killed:
        answered = len(harness.answers(done.out))
        assert answered == len(attempted), (place.omit, group.name, done.account())
    return outcome(group, place, attempted, done), None


def bare(group, place: Place, apart: bool) -> set[str]:
    place.refill()
    attempted = [attack for attack in group.attacks if attack.attempt and attack.apart == apart]
    if apart and not attempted:
        return set()
    argv, text = command(group, place, attempted)
    wrap = place.world.own_namespaces() if apart else ()
    done = place.world.execute([*wrap, *argv], input=text, timeout=SECONDS)
    return outcome(group, place, attempted, done)


@contextlib.contextmanager
def in_a_group_of_its_own():
    """A cgroup v1 whose name a sandbox could see. Its name, or one that nothing shows."""
    hierarchy = Path("/sys/fs/cgroup/freezer")
    group = hierarchy / f"ablation-{time.time_ns()}"
    try:
        group.mkdir()
        (group / "cgroup.procs").write_text(str(os.getpid()))
    except OSError:
        yield "no group could be made"
        return
    yield group.name
    for process in (group / "cgroup.procs").read_text().split():
        (hierarchy / "cgroup.procs").write_text(process)
    group.rmdir()


def main() -> None:
    person = next(one for one in harness.PEOPLE if one.name == sys.argv[1])
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (MOST_OPEN, MOST_OPEN))
    with in_a_group_of_its_own() as group:
        place = Place(person, omitting())
        place.names["group"] = group
        try_all(place)
        place.close()


def try_all(place: Place) -> None:
    for words in sys.argv[2:]:
        started = time.monotonic()
        line = {"layers": words, "succeeded": [], "refused": None, "seconds": 0}
        if words == "bare":
            found = {name for group in GROUPS for apart in (False, True) for name in bare(group, place, apart)}
        else:
            place.omit = () if words == "nothing" else tuple(words.split("+"))
            found = set()
            for group in GROUPS:
                succeeded, refused = contained(group, place)
                found |= succeeded
                if refused is not None and group is GROUPS[0]:
                    line["refused"] = refused
                    break
        line["succeeded"] = sorted(found)
        line["seconds"] = round(time.monotonic() - started, 1)
        print(json.dumps(line), flush=True)


main()
