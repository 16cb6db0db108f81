"""Kinds of denial that a hooked command meets: the agent is told the path or host and the rule, the person what to change
(`cordon why`). The change is an option of the hook, and with it the same command succeeds."""

import shlex

import pytest

from test_denials import follow
from test_hook import run, wrapped

pytestmark = pytest.mark.once


@pytest.fixture
def place(world):
    d = world.home / "d"
    world.write(d / "f", "x\n")
    world.write(d / "tool", "#!/bin/sh\nexit 0\n", 0o755)
    world.write(world.project / "own", "x\n")
    world.write(world.home / ".ssh/id_ed25519", "PLANTED\n")
    return d


def advised(world, options):
    """`cordon why` names a question to ask, and its answer a change: the options after it."""
    told = world.cordon_verb("why").expect(0).out
    [line] = [line.strip() for line in told.splitlines() if line.strip().startswith("cordon policy explain ")]
    words = shlex.split(line.removesuffix(" says what to change"))[1:]
    answer = world.cordon_verb(*words[:2], *options, *words[2:]).expect(1).out
    [change] = [line.removeprefix("change: ") for line in answer.splitlines() if line.startswith("change: ")]
    return follow(change, options)


# The command, the options of the hook, and what the agent reads of the rule.

KINDS = {
    "read a file": lambda d: (f"cat {d}/f", [], f"read {d}/f (home"),
    "list a directory": lambda d: (f"ls {d}", [], f"read {d} (home"),
    "run a program": lambda d: (f"{d}/tool", [], f"read {d}/tool (home"),
    "append to what is read": lambda d: (f"echo x >> {d}/f", ["--read", str(d)], f"write {d}/f (read"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_denial_with_a_cure(world, place, kind):
    line, options, rule = KINDS[kind](place)
    done = run(world, wrapped(world, line, *options))
    assert done.status != 0 and f"cordon: outside what is granted: {rule}" in done.err, done.account()
    run(world, wrapped(world, line, *advised(world, options))).expect(0)


def test_a_name_without_a_network(world, place):
    line = "python3 -c 'import socket; socket.getaddrinfo(\"h.example\", 443)'"
    done = run(world, wrapped(world, line))
    assert "asked for h.example:443" in done.err and "(--allow h.example:443)" in done.err, done.account()
    # With it the question is asked, and nothing in the world answers it.
    again = run(world, wrapped(world, line, "--allow", "h.example:443"))
    assert "asked for" not in again.err, again.account()


def test_a_denied_name(world, place):
    done = run(world, wrapped(world, "cat own", "--deny", "own"))
    assert done.status == 1 and f"outside what is granted: read {world.project}/own (" in done.err, done.account()
    run(world, wrapped(world, "cat own")).expect(0)


@pytest.mark.parametrize("line", ["cat {home}/.ssh/id_ed25519", "echo x > /usr/cordon-test-made"])
def test_what_nothing_grants(world, place, line):
    line = line.format(home=world.home)
    done = run(world, wrapped(world, line))
    assert done.status != 0 and "outside what is granted: " in done.err and "PLANTED" not in done.out, done.account()


LIMITS = {
    "memory": ("python3 -c 'bytearray(200 << 20)'", ["--memory", "48M"], ["--memory", "1G"]),
    "pids": ("sh -c 'for i in 1 2 3 4 5 6 7 8 9; do sleep 3 & done; wait'", ["--pids", "6"], ["--pids", "60"]),
    "timeout": ("sleep 3", ["--timeout", "200ms"], ["--timeout", "30s"]),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit(world, limit):
    line, options, larger = LIMITS[limit]
    done = run(world, wrapped(world, line, *options))
    assert done.status != 0 and "cordon: " in done.err and "limit" in done.err, done.account()
    assert larger[0] in world.cordon_verb("why").expect(0).out
    run(world, wrapped(world, line, *larger)).expect(0)


def test_what_was_written_and_is_gone(world, place):
    done = run(world, wrapped(world, "echo x > ~/kept"))
    assert "gone with the run: 1 file in the private home (~/kept)" in done.err, done.account()
    assert not (world.home / "kept").exists()


def test_a_protected_file_is_named_with_the_verb_that_takes_it(world, place):
    done = run(world, wrapped(world, "mkdir .vscode && echo {} > .vscode/tasks.json"))
    assert not (world.project / ".vscode").exists()
    line = next(line for line in done.err.splitlines() if "held back" in line)
    verb = line.split("; cordon ", 1)[1].split()
    world.cordon_verb(*verb).expect(0)
    assert (world.project / ".vscode/tasks.json").read_text() == "{}\n"
