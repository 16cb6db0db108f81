"""Every probe under every preset, started by root and by an ordinary user, against one table.

The attempts of one preset and person share one contained run; the controls of one person share two
bare ones. Each row of the table is still a test of its own.
"""

from pathlib import Path

import pytest

from support import harness
from surroundings import Surroundings, preset_options
from table import PRESETS, ROWS, UNCONTROLLED


class Verdicts:
    def __init__(self):
        self.surroundings = {}
        self.inside = {}
        self.leaked = {}
        self.bare = {}

    def of(self, who):
        if who not in self.surroundings:
            self.surroundings[who] = Surroundings(who)
        return self.surroundings[who]

    def under(self, who, preset):
        if (who, preset) not in self.inside:
            around = self.of(who)
            around.refill()
            found = around.world.inside([around.attempt(row) for row in ROWS],
                                        options=preset_options(preset, around.world), timeout=120)
            self.inside[who, preset] = dict(zip((row.name for row in ROWS), found))
            private = (around.world.home / "private.txt", Path("/tmp", around.unique),
                       Path("/dev/shm", around.unique))
            self.leaked[who, preset] = [str(path) for path in private if path.exists()]
        return self.inside[who, preset]

    def control(self, who, row):
        kind = row.control_for(who.name)
        wrapped = kind == "namespaces"
        if (who, wrapped) not in self.bare:
            around = self.of(who)
            around.refill()
            rows = [r for r in ROWS if not r.control_for(who.name).startswith("why")
                    and (r.control_for(who.name) == "namespaces") == wrapped and "R" in r.verdicts]
            wrap = around.world.own_namespaces() if wrapped else ()
            found = around.world.outside_of([around.attempt(r) for r in rows], wrap=wrap)
            self.bare[who, wrapped] = dict(zip((r.name for r in rows), found))
        return self.bare[who, wrapped][row.name]


@pytest.fixture(scope="module")
def verdicts():
    made = Verdicts()
    yield made
    for around in made.surroundings.values():
        around.refill()
        around.close()


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_verdict(verdicts, who, preset, row):
    answer = verdicts.under(who, preset)[row.name]
    if row.verdicts[PRESETS.index(preset)] == "A":
        assert answer.ok, f"{row.name} is allowed under {preset} but was refused: {answer}"
    else:
        assert not answer.ok, f"{row.name} is refused under {preset} but succeeded: {answer}"
        assert answer.errno in row.errors, (
            f"{row.name} under {preset} failed for a reason that is no refusal: {answer}; "
            f"a refusal is one of {sorted(map(str, row.errors))}")


def controlled(person):
    return [row for row in ROWS
            if "R" in row.verdicts and not row.control_for(person.name).startswith("why")]


# Those without a control are counted below.
@pytest.mark.parametrize("who,row", [pytest.param(who, row, id=f"{row.name}-{who.name}")
                                     for who in harness.PEOPLE for row in controlled(who)])
def test_control(verdicts, who, row):
    kind = row.control_for(who.name)
    bare = verdicts.control(who, row)
    if kind == "reaches":
        assert bare.errno in row.reaches, f"the probe is broken: {row.name} bare gave {bare}"
        assert bare.errno not in row.errors or bare.errno == "ENOSYS", (
            f"{row.name}: the control cannot be told from a refusal: {bare}")
    else:
        assert bare.ok, f"the probe is broken: {row.name} fails without a sandbox: {bare}"


@pytest.mark.parametrize("person", ["root", "user"])
def test_rows_without_control_are_counted(person):
    found = [r.name for r in ROWS if "R" in r.verdicts and r.control_for(person).startswith("why")]
    assert len(found) == UNCONTROLLED[person], sorted(found)


def test_row_names_are_unique():
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("preset", PRESETS)
def test_private_files_never_reach_the_host(verdicts, who, preset):
    verdicts.under(who, preset)
    assert not verdicts.leaked[who, preset], "private files reached the host"


def test_strict_shows_only_what_was_granted(verdicts, who):
    world = verdicts.of(who).world
    [listing] = world.inside([("list", world.project)], options=preset_options("strict", world))
    assert listing.detail == "probe", listing


@pytest.mark.parametrize("preset", PRESETS)
def test_process_state(verdicts, who, preset):
    around = verdicts.of(who)
    world = around.world
    status, ns, fds, groups, environment = world.inside(
        [("status",), ("ns",), ("fds",), ("groups",), ("env",)],
        options=preset_options(preset, world),
        env={"CALLER_SECRET": "SECRET-env", "AWS_SECRET_ACCESS_KEY": "SECRET-env"})
    fields = dict(part.split("=", 1) for part in status.detail.split(";"))
    assert fields["NoNewPrivs"] == "1", status
    assert fields["Seccomp"] == "2", status
    [bare_ns] = world.outside_of([("ns",)])
    shared = set(ns.detail.split()) & set(bare_ns.detail.split())
    assert not shared, f"namespaces shared with the host: {shared}"
    numbers = [part.split("=")[0] for part in fds.detail.split()]
    assert numbers == ["0", "1", "2"], f"inherited descriptors: {fds.detail}"
    assert "SECRET" not in environment.detail, environment.detail
    assert len(groups.detail.split()) <= 3, f"supplementary groups survive: {groups.detail}"


def test_agent_has_a_network_of_named_hosts(world):
    done = world.run("true", options=["--policy", "agent", "--json"])
    assert done.expect(0).json["enforcement"]["network"] == "allow", done.account()


def test_whole_matrix_is_quick(verdicts, who):
    """The launch itself is milliseconds; ten of them leave room for a loaded machine."""
    world = verdicts.of(who).world

    def start_ten():
        for _ in range(10):
            world.run("/usr/bin/true").expect(0)
    assert harness.quickest(start_ten, within=10) < 10
