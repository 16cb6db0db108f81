"""The first hour: README from top to bottom, `cordon setup` and `cordon loop claude` in this order, with an agent
and a model of the test's own."""

import json
import os
import re
from pathlib import Path

import pytest

from support import harness
from support.pty_session import Terminal

pytestmark = pytest.mark.once

README = Path(harness.__file__).parents[2] / "README.md"
PLAN = "- [ ] made: Make a file\n  verify: test -s made\n"
# Does what its model says, as an agent does: without an answer it has made nothing. One that may read everything would
# also find what setup wrote.
CLAUDE = r'''#!/usr/bin/python3
import json, os, sys, urllib.request
if sys.argv[1:] == ["--version"]:
    print("1.0")
    sys.exit()
sys.stdin.read()
try:
    said = urllib.request.urlopen(os.environ["ANTHROPIC_BASE_URL"] + "/", timeout=20).read().decode()
except OSError as error:
    sys.exit(f"no model: {error}")
open("made", "w").write(said)
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "done"}))
'''


def printed_commands() -> list[list[str]]:
    """The commands of README that begin with cordon, in its order."""
    fences = re.findall(r"^```\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)
    lines = "".join(fences).splitlines()
    return [line.split()[2:] for line in lines if line.startswith("$ cordon ")]


def install_agent(world, name="claude", text=CLAUDE) -> dict[str, str]:
    tools = world.make_directory(world.home / ".local/bin")
    world.write(tools / name, text, 0o755)
    return {"PATH": f"{tools}:{harness.BASE_PATH}", "ANTHROPIC_API_KEY": "none"}


def trusting(net, env: dict[str, str]) -> dict[str, str]:
    """The model's certificate is verified as the person's programs would."""
    return {**env, "SSL_CERT_FILE": str(net.internet.directory / "for-clients/ca.pem")}


def ceiling_of(world) -> Path:
    return world.home / ".config/cordon/ceiling.toml"


def loop(world, env, *options):
    done = world.cordon_verb("loop", "--json", *options, "claude", env=env)
    return done, [json.loads(line) for line in done.out.splitlines()]


def test_readme_in_its_order_lets_an_agent_work(net):
    """What README prints, to the letter, from the looking to the loop."""
    commands = printed_commands()
    hour = [["setup", "--dry-run"], ["setup"], ["loop", "claude"]]
    at = [commands.index(command) for command in hour]
    assert at == sorted(at), "README has another order by now"
    env = install_agent(net)
    net.write(net.project / "PLAN.md", PLAN)

    shown = net.cordon_verb("setup", "--dry-run", env=env).expect(0)
    assert "api.anthropic.com:443" in shown.out and not ceiling_of(net).exists()
    net.cordon_verb("setup", "--yes", env=env).expect(0)
    assert ceiling_of(net).read_text() in shown.out, "it was not what had been shown"
    done, events = loop(net, trusting(net, env))
    done.expect(0)
    assert events[-1]["why"] == "complete", done.account()
    assert json.loads((net.project / "made").read_text())["headers"]["host"] == "api.anthropic.com"
    [started] = [event for event in events if event["event"] == "loop_started"]
    assert started["warnings"] == [], "something of what the agent needs was taken away"


def test_the_hosts_stand_in_what_is_asked_about(world):
    env = install_agent(world)
    terminal = Terminal(world, [world.cordon, "setup"], env=env)
    try:
        terminal.expect(b"[y/N]")
        asked = terminal.seen
        terminal.type(b"n\rn\r")
        assert terminal.wait() == 1
    finally:
        terminal.close()
    assert b"api.anthropic.com:443" in asked and b"console.anthropic.com:443" in asked
    assert b"cordon mcp` reach every host" in asked
    assert not ceiling_of(world).exists()


def test_nothing_but_those_hosts_is_permitted(net):
    env = install_agent(net)
    net.cordon_verb("setup", "--yes", env=env).expect(0)
    fetch = ["/usr/bin/python3", "-c",
             "import ssl, sys, urllib.request; "
             "print(urllib.request.urlopen(sys.argv[1], context=ssl._create_unverified_context()).read())"]
    # Nobody gets them unasked.
    unasked = net.run(*fetch, "https://api.anthropic.com/", env=env)
    assert unasked.status == 1 and "digests" not in unasked.out, unasked.account()
    net.run(*fetch, "https://api.anthropic.com/", options=["--allow", "api.anthropic.com:443"], env=env).expect(0)
    for rule in ("good.example:80", "api.anthropic.com:80"):
        refused = net.run(*fetch, f"http://{rule}/", options=["--allow", rule], env=env).expect(125)
        assert str(ceiling_of(net)) in refused.err, refused.account()
    # The control: without the ceiling that host is reached.
    ceiling_of(net).unlink()
    net.run(*fetch, "http://good.example:80/", options=["--allow", "good.example:80"], env=env).expect(0)


@pytest.mark.parametrize("names,hosts", [
    ((), set()), (("aider",), set()),
    (("codex",), {"api.openai.com:443", "auth.openai.com:443"}),
    (("codex", "gemini"), {"api.openai.com:443", "auth.openai.com:443", "generativelanguage.googleapis.com:443"})])
def test_only_agents_that_were_found_are_permitted_their_hosts(world, names, hosts):
    env = None
    for name in names:
        env = install_agent(world, name, "#!/bin/sh\n")
    world.cordon_verb("setup", "--yes", env=env).expect(0)
    world.cordon_verb("policy", "check", ceiling_of(world)).expect(0)
    text = ceiling_of(world).read_text()
    assert set(re.findall(r'^  "(\S+:443)",', text, re.MULTILINE)) == hosts
    assert ('mode = "none"' in text) == (not hosts)


def test_a_ceiling_that_is_there_is_left_and_what_it_lacks_is_told(net):
    """An agent that was installed after the first setup; the note's lines are followed to the letter."""
    net.write(net.project / "PLAN.md", PLAN)
    net.cordon_verb("setup", "--yes").expect(0)
    before = ceiling_of(net).read_text()
    env = trusting(net, install_agent(net))
    done = net.cordon_verb("setup", "--yes", "--json", env=env).expect(0)
    assert ceiling_of(net).read_text() == before
    [note] = [note for note in done.json["notes"] if "claude" in note]
    assert str(ceiling_of(net)) in note
    refused, events = loop(net, env, "--attempts", "1")
    assert refused.status == 1 and not (net.project / "made").exists(), refused.account()

    lines = re.search(r"below \[net\] in \S+: (mode = \S+) and (allow = \[.*\])", note)
    text = before.replace('mode = "none"', f"{lines[1]}\n{lines[2]}")
    assert text != before
    net.write(ceiling_of(net), text, 0o600)
    done, events = loop(net, env, "--restart")
    done.expect(0)
    assert (net.project / "made").exists() and events[-1]["why"] == "complete"
    assert not [n for n in net.cordon_verb("setup", "--json", env=env).json["notes"] if "claude" in n]
