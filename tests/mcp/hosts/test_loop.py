"""`cordon loop` with real agents: each works inside, speaks to its model and to nothing else."""

import json
import os

import hosts

PLAN = "- [ ] made: Make a file\n  verify: test -s made\n"
# The address of the model comes as a URL; a rule names the host and the port alone.
START = 'url=$1; shift; exec "$0" loop --json --allow "${url#http://}" "$@"'


def loop(world, name, script, *words):
    """The agent by its own name, found on PATH: so the loop knows how it is started."""
    world.write(world.project / "PLAN.md", PLAN)
    os.link(hosts.program(name), world.project / name)
    session = hosts.drive(
        world, ["sh", "-c", START, world.cordon, "@MODEL@", *words], script,
        {"PATH": f"{world.project}:/usr/bin:/bin", "ANTHROPIC_API_KEY": "none"}, status=None)
    return session, [json.loads(line) for line in session.out.splitlines()]


def judged(session, events):
    end = events[-1]
    assert end["event"] == "loop_ended" and end["why"] == "complete", session.account()
    assert end["features"][0]["attempts"] == 1
    assert session.status == 0


def test_claude_code(world):
    secret = world.home / ".ssh/id_ed25519"
    world.write(secret, "SECRET-KEY", 0o600)
    script = [{"name": "Bash", "arguments": {
        "command": f"cat {secret} > stolen; cat /proc/self/ns/pid; echo by an agent > made"}}]
    session, events = loop(world, "claude", script, "--env", "ANTHROPIC_BASE_URL=@MODEL@", "--",
                           "claude")
    judged(session, events)
    assert (world.project / "made").read_text() == "by an agent\n"
    assert (world.project / "stolen").read_text() == ""
    assert any(event["event"] == "agent_tool" and event["tool"] == "Bash" for event in events)
    assert next(event for event in events if event["event"] == "agent_claimed")["success"]


def test_codex(world):
    script = [{"name": "exec_command", "arguments": {"cmd": "echo by an agent > made"}}]
    provider = '{ name = "loopback", base_url = "@MODEL@/v1", wire_api = "responses" }'
    session, events = loop(world, "codex", script, "--", "codex", "-m", "gpt-5", "-c",
                           'model_provider="loopback"', "-c",
                           f"model_providers.loopback={provider}")
    judged(session, events)
    assert (world.project / "made").read_text() == "by an agent\n"


def test_an_agent_that_only_talks_has_done_nothing(world):
    session, events = loop(world, "claude", [], "--attempts", "1", "--env",
                           "ANTHROPIC_BASE_URL=@MODEL@", "--", "claude")
    assert session.status == 1 and events[-1]["why"] == "incomplete", session.account()
    assert next(event for event in events if event["event"] == "agent_claimed")["success"]
