"""Every right of every access, tried for real; each refusal has its control beside it."""

import shutil

import pytest

from helper import attempts, policy, rule

ACCESSES = ("read", "write", "readwrite", "execute", "readwriteexecute")
WRITING = {"write", "readwrite", "readwriteexecute"}
EXECUTING = {"execute", "readwriteexecute"}
ALL = set(ACCESSES)

# What is tried in a directory, and the accesses under which it succeeds.
MATRIX = [
    (("read", "{at}/file"), ALL),
    (("list", "{at}"), ALL),
    (("exec", "{at}/program", "syscall", "getpid"), EXECUTING),
    (("open-write", "{at}/file"), WRITING),
    (("truncate", "{at}/file"), WRITING),
    (("creat", "{at}/made"), WRITING),
    (("mkdir", "{at}/made-directory"), WRITING),
    (("symlink", "x", "{at}/made-link"), WRITING),
    (("unlink", "{at}/removable"), WRITING),
    (("rmdir", "{at}/removable-directory"), WRITING),
    (("rename", "{at}/movable", "{at}/moved"), WRITING),
    (("rename", "{at}/referable", "{at}/sub/moved"), WRITING),
    (("link", "{at}/linkable", "{at}/sub/linked"), WRITING),
    (("mkfifo", "{at}/pipe"), set()),
    (("mknod-socket", "{at}/socket"), set()),
    (("mknod-block", "{at}/block"), set()),
    (("mknod-dev", "{at}/device"), set()),
]


def prepared(world, name):
    at = world.make_directory(world.path / name)
    for file in ("file", "removable", "movable", "referable", "linkable"):
        world.write(at / file, "text\n")
    for directory in ("removable-directory", "sub"):
        world.make_directory(at / directory)
    shutil.copy(world.probe, at / "program")
    world.own(at / "program")
    return at


def tries(at):
    return [tuple(word.format(at=at) for word in words) for words, _ in MATRIX]


@pytest.mark.parametrize("access", ACCESSES)
def test_rights_of_a_directory(world, access):
    at = prepared(world, "granted")
    other = prepared(world, "other")
    granted = attempts(world, policy(rule(at, access)), tries(at))
    for (words, allowing), answer in zip(MATRIX, granted):
        assert answer.ok == (access in allowing), f"{access}: {words}: {answer}"
        assert answer.ok or answer.errno in ("EACCES", "EPERM", "EXDEV"), f"{words}: {answer}"
    for (words, _), answer in zip(MATRIX, attempts(world, policy(rule(at, access)), tries(other))):
        assert not answer.ok and answer.errno in ("EACCES", "EPERM", "EXDEV"), f"{words}: {answer}"
    # What nobody is given, and what was refused elsewhere, works where nothing is applied.
    bare = world.outside_of(tries(other))
    for (words, _), answer in zip(MATRIX, bare):
        device = words[0] in ("mknod-block", "mknod-dev") and not world.who.is_root
        assert answer.ok or device, f"the control fails: {words}: {answer}"


@pytest.mark.parametrize("access", ACCESSES)
def test_rights_of_a_file(world, access):
    at = prepared(world, "granted")
    document = policy(rule(at / "file", access), rule(at / "program", access))
    words = [("read", at / "file"), ("open-write", at / "file"), ("truncate", at / "file"),
             ("exec", at / "program", "syscall", "getpid"), ("unlink", at / "file"), ("list", at),
             ("read", at / "movable"), ("creat", at / "made")]
    verdicts = [answer.ok for answer in attempts(world, document, words)]
    assert verdicts == [True, access in WRITING, access in WRITING, access in EXECUTING,
                        False, False, False, False]


def test_two_rules_for_one_path_add_up(world):
    """The kernel's way; the builder keeps a policy from relying on it."""
    at = prepared(world, "granted")
    document = policy(rule(at, "read"), rule(at, "readwrite"))
    assert [a.ok for a in attempts(world, document, [("open-write", at / "file")])] == [True]


def test_files_do_not_move_between_grants_with_other_rights(world):
    readable, writable = prepared(world, "readable"), prepared(world, "writable")
    document = policy(rule(readable, "read"), rule(writable, "readwrite"))
    words = [("rename", readable / "movable", writable / "moved"),
             ("link", readable / "linkable", writable / "linked"),
             ("rename", writable / "movable", readable / "moved")]
    for answer in attempts(world, document, words):
        assert not answer.ok and answer.errno in ("EACCES", "EXDEV"), answer
    assert all(answer.ok for answer in world.outside_of(words))


def test_a_grant_follows_the_object_and_not_the_name(world):
    """The directory is exchanged for a link while the command runs."""
    at = world.make_directory(world.project / "at")
    world.write(at / "file", "granted\n")
    document = policy(rule(at, "read"), rule(world.project, "readwrite"))
    words = [("rename", at, world.project / "away"),
             ("symlink", world.outside, at), ("read", at / "secret"),
             ("read", world.project / "away" / "file")]
    verdicts = [answer.ok for answer in attempts(world, document, words)]
    assert verdicts == [True, True, False, True]
    assert world.outside_of([("read", at / "secret")])[0].ok


def test_capabilities_and_privileges_are_gone(world):
    """As an ordinary user the bounding set stays: nothing can be gained from it."""
    caps, status = attempts(world, policy(rule("/proc", "read")), [("caps",), ("status",)])
    sets = dict(pair.split("=") for pair in caps.detail.split())
    assert set(sets) == {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}, caps
    if not world.who.is_root:
        del sets["CapBnd"]
    assert all(int(value, 16) == 0 for value in sets.values()), caps
    assert "NoNewPrivs=1;Seccomp=2" in status.detail, status
    bare_caps, bare = world.outside_of([("caps",), ("status",)])
    assert "NoNewPrivs=0" in bare.detail and (bare_caps.ok or not world.who.is_root), bare
