"""Landlock as older kernels have it: what each ABI does not check is held by another layer.

The binary is the test build (tests/omitted), which asks the kernel for no more than the rights of
the ABI that it is told; a right that is not asked for is not checked. Each attempt is one that the
missing right would have stopped."""

import os
import socket
import stat
from pathlib import Path

import pytest

from support import harness
from support.omitting import omitting

NEWEST = 7
# From which ABI on a right exists, and the word for going without it.
SINCE = {"landlock-refer": 2, "landlock-truncate": 3, "landlock-ioctl": 5, "landlock-scopes": 6}
UNIX_ERRORS = frozenset({"EPERM", "EACCES", "ECONNREFUSED", "ENOSYS"})
DEVICES = {"null", "zero", "full", "random", "urandom", "tty", "fd", "stdin", "stdout", "stderr",
           "ptmx", "pts", "shm", "cordon"}


@pytest.fixture(scope="module")
def capped() -> Path:
    return omitting()


class OlderWorld(harness.World):
    """Every run has the Landlock of one ABI."""
    abi = NEWEST

    def environment(self, extra=None):
        return {**super().environment(extra), "CORDON_LANDLOCK_ABI": str(self.abi)}


@pytest.fixture(params=range(1, NEWEST + 1), ids=lambda abi: f"abi{abi}")
def older(request, who, capped):
    made = OlderWorld(who, harness.stage().new_directory())
    made.abi, made.cordon, made.backend = request.param, capped, "native"
    yield made
    made.leave()


def test_the_report_names_what_is_lost(older):
    _, report = older.report("/bin/true")
    held = report["enforcement"]
    assert held["landlock"] is True and held["landlock_abi"] == older.abi, held
    lost = [name for name, first in SINCE.items() if older.abi < first]
    assert [name for name in held["lost"] if name.startswith("landlock-")] == lost, held
    assert held["missing"] == [], held


def test_nothing_is_said_at_every_run(older):
    assert "does not hold" not in older.run("/bin/true").expect(0).err


def test_product_has_no_such_switch(world):
    _, report = world.report("/bin/true", env={"CORDON_LANDLOCK_ABI": "1"})
    assert report["enforcement"]["landlock_abi"] > 1, report["enforcement"]


def test_FS_truncating_what_is_read_only(older):
    """ABI 3: held by read-only mounts; a hook by the private copy that covers it."""
    inner = older.write(older.project / "inner/kept.txt", "kept\n")
    beside = older.write(older.outside / "read/kept.txt", "kept\n")
    hook = older.write(older.project / ".git/hooks/pre-commit", "#!/bin/sh\n", 0o755)
    older.write(older.project / ".git/HEAD", "ref: refs/heads/main\n")
    options = ["--read", beside.parent, "--read", inner.parent]
    for path in (inner, beside):
        text = path.read_text()
        older.denied("truncate", path, options=options,
                     before_control=lambda: None, control="checked below")
        assert path.read_text() == text
        [bare] = older.outside_of([("truncate", path)])
        assert bare.ok and path.read_text() != text, "the probe itself is broken"
    [private] = older.inside([("truncate", hook)], options=options)
    assert private.ok and hook.read_text() == "#!/bin/sh\n", private
    older.allowed("truncate", older.project / "file.txt")


def test_FS_truncating_the_system(older):
    [answer] = older.inside([("truncate", "/usr/bin/env")])
    assert not answer.ok and answer.errno in harness.FILE_ERRORS, answer


def test_FS_moving_between_directories(older):
    """ABI 2: an older one refuses what it cannot judge, and programs copy instead."""
    for name in ("from", "to"):
        older.make_directory(older.project / name)
    older.write(older.project / "from/a", "a\n")
    [linked] = older.inside([("link", older.project / "from/a", older.project / "to/b")])
    assert linked.ok == (older.abi >= 2), linked
    if not linked.ok:
        assert linked.errno == "EXDEV", linked
    older.run("mv", "from/a", "to/a").expect(0)
    assert (older.project / "to/a").read_text() == "a\n"
    older.allowed("link", older.project / "to/a", older.project / "to/beside")


def test_FS_moving_out_of_a_read_only_directory(older):
    """Rights that the file would gain by its new place."""
    held = older.write(older.outside / "read/tool", "#!/bin/sh\n")
    options = ["--read", held.parent]
    for verb in ("rename", "link"):
        [answer] = older.inside([(verb, held, older.project / f"gained-{verb}")], options=options)
        assert not answer.ok and answer.errno in harness.FILE_ERRORS | {"EXDEV"}, answer
        assert held.exists() and not (older.project / f"gained-{verb}").exists()
    for verb in ("link", "rename"):
        [bare] = older.outside_of([(verb, held, older.project / f"gained-{verb}")])
        assert bare.ok, bare


def test_SY_devices_are_the_few_of_the_sandbox(older):
    """ABI 5: no other device is there for an ioctl."""
    listed = older.run("/bin/ls", "/dev").expect(0).out.split()
    assert set(listed) <= DEVICES and "null" in listed, listed
    others = [str(path) for path in Path("/dev").iterdir()
              if path.name not in DEVICES and stat.S_ISCHR(os.lstat(path).st_mode)][:8]
    for answer in older.inside([("open-read", path) for path in others]):
        assert not answer.ok and answer.errno in harness.FILE_ERRORS, answer


@pytest.mark.only("root")
def test_SY_a_device_file_in_a_grant_cannot_be_opened(older):
    """ABI 5: mounts without devices."""
    node = older.project / "device"
    os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    older.denied("open-read", node)


def test_PR_signals_to_the_host(older):
    """ABI 6: held by the pid namespace."""
    target = harness.start_target(older)
    try:
        for verb in ("kill", "pidfd-kill"):
            [answer] = older.inside([(verb, target.pid)])
            assert not answer.ok and answer.errno in harness.GONE_ERRORS, answer
            assert target.process.poll() is None
        [bare] = older.outside_of([("kill", target.pid)])
        assert bare.ok, bare
    finally:
        harness.stop(target.process)


def test_IP_abstract_sockets_of_the_host(older):
    """ABI 6: held by the network namespace and, where the network is the host's, by the broker."""
    name = f"cordon-{older.path.parent.name}-{older.path.name}"
    send = ("import socket,sys\ns = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
            "s.sendto(b'out', '\\0' + sys.argv[1] + '-d')\n")
    with socket.socket(socket.AF_UNIX) as listener, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
        listener.bind("\0" + name)
        listener.listen(8)
        datagrams.bind("\0" + name + "-d")
        datagrams.setblocking(False)
        for net in ("none", "open"):
            options = ["--net", net]
            older.denied("abstract-connect", name, errors=UNIX_ERRORS, options=options)
            done = older.run("/usr/bin/python3", "-c", send, name, options=options)
            assert done.status == 1, done.account()
            with pytest.raises(BlockingIOError):
                datagrams.recv(8)
        older.bare("/usr/bin/python3", "-c", send, name).expect(0)
        assert datagrams.recv(8) == b"out"


def test_backend_landlock_refuses_an_older_one(older):
    """Its scopes stand for the pid namespace, so that nothing below ABI 6 will do."""
    ceiling = older.document('version = 1\n[fs]\nread = ["/"]\nwrite = ["~"]\n[require]\n'
                             'accept_missing = ["namespaces"]\n', "ceiling.toml")
    done = older.execute([older.cordon, "run", "--backend", "landlock", "--ceiling", ceiling, "--",
                          "/bin/sh", "-c", "echo ran"])
    if older.abi < SINCE["landlock-scopes"]:
        done.expect(125)
        assert f"this kernel has {older.abi}" in done.err and "ran" not in done.out, done.account()
    else:
        assert done.expect(0).out == "ran\n"
