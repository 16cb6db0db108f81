"""Every probe under every preset, started by root and by an ordinary user, against one table.

The attempts of one preset and person share one contained run; the controls of one person share two
bare ones. Each row of the table is still a test of its own.
"""

import os
import socket
import time
from pathlib import Path

import pytest

from support import harness
from table import PRESETS, ROWS, UNCONTROLLED


def preset_options(preset, world):
    options = ["--policy", preset]
    if preset == "strict":
        options += ["--read", world.probe]
    return options


class Surroundings:
    """What the attempts aim at: processes, sockets, keys and files of one person."""

    world_type = harness.World

    def __init__(self, who):
        self.world = self.world_type(who, harness.stage().new_directory())
        world = self.world
        self.unique = f"cordon-probe-{os.getpid()}-{world.path.name}"
        world.plant({".ssh/id_ed25519": "SECRET\n", ".netrc": "SECRET\n", "plain.txt": "SECRET\n"})
        world.write(world.project / "program", world.probe.read_bytes(), 0o755)
        world.make_directory(world.project / "subdir")
        self.refill()
        self.tcp = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind("\0" + self.unique)
        self.abstract.listen(64)
        self.unix = self.listen(world.outside / "socket", socket.SOCK_STREAM)
        self.inner = self.listen(world.project / "socket", socket.SOCK_STREAM)
        self.datagram = self.listen(world.project / "datagram", socket.SOCK_DGRAM)
        self.target = harness.start_target(world)
        self.shm_key = 0x0C0D0000 | (os.getpid() & 0xFFF) << 4 | (who.uid & 0xF)
        made = world.outside_of([("sysv-shm-make", hex(self.shm_key)),
                                 ("mq-make", "/" + self.unique)])
        assert all(a.ok for a in made), made
        self.shm_id = made[0].detail
        self.names = {
            "home": world.home, "project": world.project, "outside": world.outside,
            "port": self.tcp.getsockname()[1], "abstract": self.unique,
            "socket": world.outside / "socket", "pid": self.target.pid,
            "address": self.target.address, "shm": hex(self.shm_key), "queue": "/" + self.unique,
            "key": self.unique, "unique": self.unique,
        }

    def listen(self, path, kind):
        made = socket.socket(socket.AF_UNIX, kind)
        made.bind(str(path))
        path.chmod(0o777)
        self.world.own(path)
        if kind == socket.SOCK_STREAM:
            made.listen(64)
        return made

    def refill(self):
        """Puts back what attempts take away, so that each preset and the control meet the same."""
        world = self.world
        for name in ("append", "unlink", "rename", "truncate", "out"):
            world.write(world.project / f"{name}.txt", name)
        for name in ("unlink", "rename", "truncate"):
            world.write(world.outside / f"{name}.txt", name)
        for path in (world.project / "new.txt", world.project / "renamed.txt",
                     world.project / "linked.txt", world.project / "sym.txt",
                     world.project / "tmpfile.txt", world.project / "fifo"):
            path.unlink(missing_ok=True)
        for path in (world.home / "private.txt", Path("/tmp", self.unique),
                     Path("/dev/shm", self.unique)):
            path.unlink(missing_ok=True)
        if (world.project / "newdir").exists():
            (world.project / "newdir").rmdir()

    def attempt(self, row):
        return tuple(str(word).format(**self.names) for word in row.attempt)

    def close(self):
        self.world.outside_of([("sysv-shm-remove", self.shm_id), ("mq-remove", "/" + self.unique),
                               ("remove-key", self.unique)])
        self.world.tidy()
        harness.stop(self.target.process)
        for made in (self.tcp, self.abstract, self.unix, self.inner, self.datagram):
            made.close()
        harness.remove_tree(self.world.path)


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


@pytest.mark.parametrize("row", [r for r in ROWS if "R" in r.verdicts], ids=lambda row: row.name)
def test_control(verdicts, who, row):
    kind = row.control_for(who.name)
    if kind.startswith("why"):
        return
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
    begin = time.monotonic()
    for _ in range(10):
        world.run("/usr/bin/true").expect(0)
    assert time.monotonic() - begin < 10
