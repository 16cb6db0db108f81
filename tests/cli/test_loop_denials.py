"""What an agent of `cordon loop` was refused is told to the person, with the rule and a change that works; and what its
tools answered, and which files changed."""

import json

import pytest

from test_denials import follow
from test_loop import Loop

pytestmark = pytest.mark.once


@pytest.fixture
def loop(world):
    return Loop(world)


@pytest.fixture
def place(world):
    d = world.home / "d"
    world.write(d / "f", "x\n")
    world.write(d / "g", "x\n")
    world.write(d / "tool", "#!/bin/sh\nexit 0\n", 0o755)
    world.write(world.project / "own", "x\n")
    world.write(world.home / ".ssh/id_ed25519", "PLANTED\n")
    return d


# What the agent does, the options of the loop, and which path is told.

KINDS = {
    "read a file": lambda w, d: (f"cat {d}/f", [], d / "f"),
    "list a directory": lambda w, d: (f"ls {d}", [], d),
    "run a program": lambda w, d: (f"python3 -c 'import subprocess; subprocess.run([\"{d}/tool\"], check=True)'", [],
                                   d / "tool"),
    "make a file": lambda w, d: (f"echo x > {d}/new", ["--read", str(d)], d / "new"),
    "change what is read": lambda w, d: (f"echo x >> {d}/f", ["--read", str(d)], d / "f"),
    "remove what is read": lambda w, d: (f"rm {d}/g", ["--read", str(d)], d / "g"),
    "make a directory": lambda w, d: (f"mkdir {d}/m", ["--read", str(d)], d / "m"),
    "read what is denied": lambda w, d: ("cat own", ["--deny", "own"], w.project / "own"),
}


def denied(loop, line, options, path):
    """The agent that does it, and what was told of the path."""
    loop.plan.write_text("- [ ] a: T\n  attempts: 1\n  verify: test -s good\n")
    agent = loop.agent(f"#!/bin/sh\ncat > /dev/null\n{line} && echo x > good\n")
    done, events = loop.run(agent, "--why", *options)
    done.expect(1)
    assert "PLANTED" not in done.out
    [ended] = [event for event in events if event["event"] == "agent_ended"]
    [told] = [one for one in ended["denials"] if one["path"] == str(path)]
    assert told["rule"] and told["count"] >= 1, told
    return agent, told


@pytest.mark.parametrize("kind", KINDS)
def test_a_denial_of_an_agent_has_a_rule_and_a_cure(loop, world, place, kind):
    line, options, path = KINDS[kind](world, place)
    agent, told = denied(loop, line, options, path)
    assert told["layer"] == "mounts"
    loop.run(agent, "--restart", *follow(told["change"], options))[0].expect(0)


def test_a_key_is_granted_by_nothing(loop, world, place):
    key = world.home / ".ssh/id_ed25519"
    _, told = denied(loop, f"cat {key}", [], key)
    assert told["change"] is None and told["layer"] == "mounts"


def test_a_name_is_told_with_the_option_that_allows_it(loop, world, place):
    line = "python3 -c 'import socket; socket.getaddrinfo(\"h.example\", 443)'"
    _, told = denied(loop, line, [], "h.example:443")
    assert told["change"] == "leave out --net none; --allow h.example:443" and told["layer"] == "broker", told


def test_nothing_is_watched_unless_asked_for(loop, world, place):
    loop.plan.write_text("- [ ] a: T\n  attempts: 1\n  verify: test -s good\n")
    _, events = loop.run(loop.agent(f"#!/bin/sh\ncat > /dev/null\ncat {place}/f\n"))
    [ended] = [event for event in events if event["event"] == "agent_ended"]
    assert ended["denials"] == []


def test_lines_for_people_name_the_denial_and_the_change(loop, world, place):
    loop.plan.write_text("- [ ] a: T\n  attempts: 1\n  verify: test -s good\n")
    agent = loop.agent(f"#!/bin/sh\ncat > /dev/null\ncat {place}/f\n")
    done = world.cordon_verb("loop", "--why", "--net", "none", "--plain", "--", agent)
    [line] = [line for line in done.out.splitlines() if line.startswith(f"  denied: read {place}/f ")]
    assert line.endswith(f"; --read {place}/f"), done.account()


def test_the_files_that_changed_are_named(loop, world):
    loop.plan.write_text("- [ ] a: T\n  attempts: 1\n  verify: test -s good\n")
    agent = loop.agent("#!/bin/sh\ncat > /dev/null\nmkdir -p src; echo x > src/new; echo y > file.txt; echo x > good\n")
    done, events = loop.run(agent, "--stage")
    done.expect(0)
    [ended] = [event for event in events if event["event"] == "stage_ended"]
    assert "modified file.txt" in ended["files"] and "added src/new" in ended["files"], ended
    loop.plan.write_text("- [ ] b: T\n  attempts: 1\n  verify: test -s never\n")
    many = loop.agent("#!/bin/sh\ncat > /dev/null\nfor i in $(seq 30); do echo x > m$i; done\n")
    shown = world.cordon_verb("loop", "--restart", "--stage", "--net", "none", "--plain", "--", many)
    text = shown.err + shown.out
    assert "discarded 30 changes" in text and "added m" in text and "and 10 more" in text, shown.account()


def test_what_tools_answered_is_told(loop, world):
    """As Claude Code writes it."""
    lines = [
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "make"}}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "is_error": True,
                                                  "content": "cc -c x.c\nx.c:1: error: no \x1b[31m good"}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": [{"type": "text", "text": "one\ntwo"}]}]}},
    ]
    stream = "".join(json.dumps(line) + "\n" for line in lines)
    loop.plan.write_text("- [ ] a: T\n  attempts: 1\n  verify: test -s good\n")
    world.write(world.project / "bin/claude",
                f"#!/bin/sh\ntest $1 != --version || exit 0\ncat > /dev/null\ncat <<'END'\n{stream}END\n", 0o755)
    done = world.cordon_verb("loop", "--plain", "--net", "none", "--", "claude",
                             env={"PATH": f"{world.project}/bin:/usr/bin:/bin", "ANTHROPIC_API_KEY": "x"})
    text = done.err + done.out
    assert "agent uses Bash: make" in text, done.account()
    assert "  failed: x.c:1: error: no " in text and "\x1b[31m" not in text
    assert "  one (and 1 more line)" in text
