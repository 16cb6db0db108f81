"""`cordon loop` with real agents: each works inside, speaks to its model and to nothing else."""

import json
import os

import pytest

import hosts

pytestmark = pytest.mark.npm

PLAN = "- [ ] made: Make a file\n  verify: test -s made\n"
# The address of the model comes as a URL; a rule names the host and the port alone.
START = 'url=$1; shift; exec "$0" loop --json --allow "${url#http://}" "$@"'


def loop(world, name, script, *words, variables=None):
    """The agent by its own name, found on PATH: so the loop knows how it is started."""
    world.write(world.project / "PLAN.md", PLAN)
    program = hosts.program(name)
    if name == "gemini":
        world.write(world.project / name, f'#!/bin/sh\nexec node {program} "$@"\n', 0o755)
        words = ["--read", program.parent, *words]
    elif not (world.project / name).exists():
        os.link(program, world.project / name)
    session = hosts.drive(
        world, ["sh", "-c", START, world.cordon, "@MODEL@", *words], script,
        {"PATH": f"{world.project}:/usr/bin:/bin",
         **({"ANTHROPIC_API_KEY": "none"} if variables is None else variables)}, status=None)
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


def test_gemini(world):
    script = [{"name": "run_shell_command", "arguments": {"command": "echo by an agent > made"}}]
    # With an address of its own for the model it asks how to sign in, unless it was told before.
    settings = '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'
    prepare = f"mkdir -p ~/.gemini; echo '{settings}' > ~/.gemini/settings.json"
    world.run("/bin/sh", "-c", prepare, options=["--policy", "agent:gemini"]).expect(0)
    session, events = loop(world, "gemini", script, "--env", "GOOGLE_GEMINI_BASE_URL=@MODEL@", "--",
                           "gemini", "-m", "gemini-2.5-flash", variables={"GEMINI_API_KEY": "none"})
    judged(session, events)
    assert (world.project / "made").read_text() == "by an agent\n"
    assert any(event["event"] == "agent_tool" and event["tool"] == "run_shell_command" for event in events)


def test_copilot(world):
    script = [{"name": "bash", "arguments": {"command": "echo by an agent > made", "description": "makes it"}}]
    variables = {"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": "@MODEL@",
                 "COPILOT_PROVIDER_TYPE": "anthropic", "COPILOT_PROVIDER_API_KEY": "no-key",
                 "COPILOT_MODEL": "claude-sonnet-4.5"}
    passed = [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
    session, events = loop(world, "copilot", script, *passed, "--", "copilot", variables={})
    judged(session, events)
    assert (world.project / "made").read_text() == "by an agent\n"
    assert any(event["event"] == "agent_tool" and event["tool"] == "bash" for event in events)


def test_agents_say_themselves_that_they_are_not_signed_in(world):
    """Neither is asked anything else then, and a file that is no login is none."""
    session, events = loop(world, "claude", [], "--env", "ANTHROPIC_BASE_URL=@MODEL@", "--", "claude", variables={})
    assert session.status == 126 and session.requests == [], session.account()
    assert events[-1]["error"]["message"] == "claude is not signed in inside: claude auth status says so"
    login = "mkdir -p ~/.claude ~/.codex; echo x > ~/.claude/.credentials.json; echo x > ~/.codex/auth.json"
    for agent in ("claude", "codex"):
        world.run("/bin/sh", "-c", login, options=["--policy", f"agent:{agent}"]).expect(0)
    session, events = loop(world, "claude", [], "--restart", "--env", "ANTHROPIC_BASE_URL=@MODEL@", "--", "claude", variables={})
    assert session.status == 126 and session.requests == [], session.account()
    # Codex may have a provider that needs no login: it is told, and works.
    session, events = loop(world, "codex", [], "--restart", "--attempts", "1", "--", "codex", "-c", 'model_provider="loopback"', "-c",
                           'model_providers.loopback={ name = "loopback", base_url = "@MODEL@/v1", wire_api = "responses" }')
    [started] = [event for event in events if event["event"] == "loop_started"]
    assert any("codex is not signed in inside: codex login status says so; set CODEX_API_KEY" in one
               for one in started["warnings"]), started
    assert session.requests


def sharing(world, agent, login, text):
    policies = world.make_directory(world.home / ".config/cordon/policies")
    for directory in (policies, policies.parent):
        directory.chmod(0o700)
    world.write(policies / "sharing.toml",
                f'version = 1\nextends = "agent:{agent}"\n[agent]\nshare_login = true\n', 0o600)
    return world.write(world.home / login, text, 0o600)


def test_claude_code_takes_a_shared_login(world):
    login = sharing(world, "claude", ".claude/.credentials.json", json.dumps({"claudeAiOauth": {
        "accessToken": "shared-token", "refreshToken": "r", "expiresAt": 4102444800000,
        "scopes": ["user:inference", "user:profile"], "subscriptionType": "max"}}))
    before = login.read_bytes()
    script = [{"name": "Bash", "arguments": {"command": "echo by an agent > made"}}]
    session, events = loop(world, "claude", script, "--policy", "sharing", "--env",
                           "ANTHROPIC_BASE_URL=@MODEL@", "--", "claude", variables={})
    judged(session, events)
    asked = [request["authorization"] for request in session.requests
             if request["path"].endswith("/messages")]
    assert asked and set(asked) == {"Bearer shared-token"}
    assert login.read_bytes() == before and "shared-token" not in session.out


def test_codex_takes_a_shared_login(world):
    login = sharing(world, "codex", ".codex/auth.json", json.dumps({"OPENAI_API_KEY": "shared-key"}))
    before = login.read_bytes()
    script = [{"name": "exec_command", "arguments": {"cmd": "echo by an agent > made"}}]
    provider = ('{ name = "loopback", base_url = "@MODEL@/v1", wire_api = "responses", '
                'requires_openai_auth = true }')
    session, events = loop(world, "codex", script, "--policy", "sharing", "--", "codex", "-m", "gpt-5",
                           "-c", 'model_provider="loopback"', "-c",
                           f"model_providers.loopback={provider}", variables={})
    judged(session, events)
    asked = [request["authorization"] for request in session.requests
             if request["path"].endswith("/responses")]
    assert asked and set(asked) == {"Bearer shared-key"}
    assert login.read_bytes() == before and "shared-key" not in session.out
