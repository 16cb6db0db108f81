"""`cordon doctor`: what this host can enforce."""

import json
import re
import shutil

import pytest

from support import harness
from support.pty_session import Terminal

LINE = re.compile(r"^\s*\[(PASS|WARN|FAIL)\] [^:]+: .+$")
SUMMARY = re.compile(r"^Summary: (\d+) passed, (\d+) warning\(s\), (\d+) failed$")


def test_form(world):
    done = world.cordon_verb("doctor")
    lines = done.out.splitlines()
    marked = [line for line in lines if "[PASS]" in line or "[WARN]" in line or "[FAIL]" in line]
    assert marked and all(LINE.match(line) for line in marked), done.account()
    summary = [SUMMARY.match(line) for line in lines if SUMMARY.match(line)]
    assert len(summary) == 1, done.account()
    counts = [sum(f"[{word}]" in line for line in marked) for word in ("PASS", "WARN", "FAIL")]
    assert counts == [int(n) for n in summary[0].groups()], done.account()
    assert done.status == (1 if counts[2] else 0), done.account()
    assert lines[0] and not LINE.match(lines[0]), "no title"
    places = [lines.index(line) for word in ("system", "security", "config")
              for line in lines if line.strip().lower().rstrip(":").startswith(word)][:3]
    assert places == sorted(places) and len(places) == 3, done.account()


def test_this_host_can_contain(world):
    done = world.cordon_verb("doctor")
    done.expect(0)
    for word in ("landlock", "seccomp", "namespace", "cgroup"):
        assert word in done.out.lower(), word


def test_every_trouble_has_a_next_line(world):
    lines = world.cordon_verb("doctor").out.splitlines()
    for index, line in enumerate(lines):
        if "[WARN]" in line or "[FAIL]" in line:
            assert index + 1 < len(lines) and not LINE.match(lines[index + 1]), line


def test_json(world):
    done = world.cordon_verb("doctor", "--json")
    failed = [check["name"] for check in done.json["checks"] if check["status"] == "fail"]
    assert done.json["checks"] and done.status == (1 if failed else 0), done.account()


def test_colour_only_on_a_terminal(world):
    assert "\x1b" not in world.cordon_verb("doctor").out
    for variables, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        terminal = Terminal(world, [world.cordon, "doctor"], env=variables)
        try:
            terminal.wait()
            assert (b"\x1b[" in terminal.seen) == coloured, terminal.seen
        finally:
            terminal.close()


def test_host_without_user_namespaces_fails(world):
    setup = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\""
    done = world.execute(["unshare", "-Ur", "/bin/sh", "-c", setup, "sh", world.cordon, "doctor"])
    done.expect(1)
    assert "[FAIL]" in done.out, done.account()


def test_invalid_ceiling_fails(world):
    world.write(world.home / ".config/cordon/ceiling.toml", "version = 1\nnonsense = 1\n", 0o600)
    done = world.cordon_verb("doctor")
    done.expect(1)
    assert "ceiling.toml" in done.out, done.account()


def test_a_place_that_takes_no_probes_is_named_with_its_reason(world):
    read_only = world.make_directory(world.path / "read-only")
    read_only.chmod(0o555)
    place = "/proc" if world.who.is_root else read_only
    done = world.cordon_verb("doctor", env={"TMPDIR": str(place)}).expect(1)
    assert f"[FAIL] live-probes: cannot make a directory for the probes in {place} (" in done.out, done.account()
    assert f"make {place} writable, or set TMPDIR to a directory that is" in done.out, done.account()
    writable = world.make_directory(world.path / "writable")
    done = world.cordon_verb("doctor", env={"TMPDIR": str(writable)})
    assert "live-probes" not in done.out and "live-write-outside" in done.out, done.account()


def test_doctor_inside_says_it_once(world):
    done = world.run(world.cordon, "doctor", options=["--read", world.cordon.parent]).expect(1)
    assert done.out.count("already inside a Cordon sandbox") == 1, done.account()
    assert done.out.count("[FAIL]") == 1 and "more checks depend on it" in done.out


def test_doctor_tells_one_cause_once(world):
    setup = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\""
    wrap = ["unshare", "-Ur", "/bin/sh", "-c", setup, "sh", world.cordon, "doctor"]
    done = world.execute(wrap).expect(1)
    counted = re.search(r"(\d+) more checks depend on it: (.+)", done.out)
    assert counted and int(counted[1]) == len(counted[2].split(", ")) >= 8, done.account()
    for name in ("mount-namespace", "live-write-outside", "live-tree-kill"):
        assert name in counted[2] and done.out.count(name) == 1, done.account()
    lines = [line.strip() for line in done.out.splitlines() if line.startswith("         ")]
    assert len(lines) == len(set(lines)), done.account()
    assert "cordon doctor" not in done.out, done.account()
    checks = {check["name"]: check for check in world.execute([*wrap, "--json"]).json["checks"]}
    assert checks["live-write-outside"]["cause"] == "user-namespace", checks
    assert checks["user-namespace"]["cause"] is None, checks


def checks(world, **how):
    return {check["name"]: check for check in world.cordon_verb("doctor", "--json", **how).json["checks"]}


def test_the_gate_is_started_for_a_moment(world):
    found = checks(world)["gate"]
    assert found["status"] == "pass" and "starts; servers are judged by /" in found["message"], found
    found = checks(world, env={"SSL_CERT_FILE": str(world.home / "nowhere.pem")})["gate"]
    assert found["status"] == "warn" and "nowhere.pem" in found["message"] and found["cure"], found
    place = world.make_directory(world.path / "programs")
    for name in ("cordon", "cordon-inside"):
        shutil.copy(world.cordon.parent / name, place)
    done = world.execute([place / "cordon", "doctor", "--json"])
    [found] = [check for check in done.json["checks"] if check["name"] == "gate"]
    assert found["status"] == "warn" and "cordon-gate" in found["message"] and found["cure"], found


CLAUDE_LOGIN = json.dumps({"claudeAiOauth": {"accessToken": "sk-ant-oat01-of-a-test", "refreshToken": "r"}})
# Agent, its variables, its login file and what that holds; then where its key is, in what words, and what changes it.
KEYS = [
    ("claude", {"ANTHROPIC_API_KEY": "k"}, None, "outside", "ANTHROPIC_API_KEY is added to its requests outside", ""),
    ("claude", {}, None, "none", "no variable holds a key", "export CLAUDE_CODE_OAUTH_TOKEN=TOKEN"),
    ("claude", {}, (".claude/.credentials.json", CLAUDE_LOGIN), "outside",
     "~/.claude/.credentials.json is added to its requests outside", ""),
    ("codex", {"OPENAI_API_KEY": "k"}, None, "outside", "OPENAI_API_KEY is added", ""),
    ("codex", {}, (".codex/auth.json", '{"OPENAI_API_KEY": null, "tokens": {"access_token": "t"}}'), "none",
     "its login ~/.codex/auth.json cannot be added outside", "export CODEX_API_KEY=KEY"),
    ("gemini", {"GEMINI_API_KEY": "k"}, None, "outside", "GEMINI_API_KEY is added", ""),
    ("gemini", {}, None, "none", "no variable holds a key", "export GEMINI_API_KEY=KEY"),
    ("copilot", {"COPILOT_GITHUB_TOKEN": "k"}, None, "inside", "every command that the agent starts can read it",
     "Copilot Requests"),
    ("copilot", {}, None, "none", "no variable holds a key", "export COPILOT_GITHUB_TOKEN=TOKEN"),
]


@pytest.mark.once
@pytest.mark.parametrize("agent, variables, login, where, words, change", KEYS,
                         ids=[f"{k[0]}-{k[3]}-{i}" for i, k in enumerate(KEYS)])
def test_where_the_key_of_an_agent_is(world, agent, variables, login, where, words, change):
    """Doctor and setup say the same, and a run does what they say."""
    tools = world.make_directory(world.home / "tools")
    world.write(tools / agent, "#!/bin/sh\nexit 1\n", 0o755)
    if login:
        world.write(world.home / login[0], login[1], 0o600)
    env = {**variables, "PATH": f"{tools}:{harness.BASE_PATH}"}
    found = checks(world, env=env)[f"key-of-{agent}"]
    assert found["status"] == ("pass" if where == "outside" else "warn") and words in found["message"], found
    assert change in (found["cure"] or "") and bool(change) == bool(found["cure"]), found
    done = world.cordon_verb("setup", "--dry-run", "--json", env=env)
    [said] = done.json["agents"]
    assert (said["key"], said["key_what"], said["key_change"]) == (where, found["message"], found["cure"]), said
    assert f"key of {agent}: {found['message']}\n" in world.cordon_verb("setup", "--dry-run", env=env).out
    _, report = world.report("true", options=["--policy", f"agent:{agent}"], env=env)
    kinds = {"outside": "outside", "inside": "variable", "none": None}
    assert (report["credential"] or {"kind": None})["kind"] == kinds[where], report["credential"]


@pytest.mark.once
def test_a_ceiling_that_keeps_a_key_away_is_named_with_the_line(world):
    tools = world.make_directory(world.home / "tools")
    world.write(tools / "claude", "#!/bin/sh\nexit 1\n", 0o755)
    env = {"ANTHROPIC_API_KEY": "k", "PATH": f"{tools}:{harness.BASE_PATH}"}
    ceiling = world.home / ".config/cordon/ceiling.toml"
    text = ('version = 1\n[fs]\nread = ["@system"]\nwrite = ["@cwd"]\n[net]\nmode = "allow"\n'
            'allow = ["api.anthropic.com:443"]\n[env]\npass = ["%s"]\n')
    world.write(ceiling, text % "TERM", 0o600)
    found = checks(world, env=env)["key-of-claude"]
    assert found["status"] == "warn" and "keeps ANTHROPIC_API_KEY from it" in found["message"], found
    assert str(ceiling) in found["cure"] and '"ANTHROPIC_API_KEY"' in found["cure"], found
    world.write(ceiling, text % "ANTHROPIC_API_KEY", 0o600)
    assert checks(world, env=env)["key-of-claude"]["status"] == "pass"


@pytest.mark.once
def test_a_policy_that_shares_a_login_is_warned_of(world):
    policies = world.make_directory(world.home / ".config/cordon/policies")
    for directory in (policies, policies.parent):
        directory.chmod(0o700)
    file = world.write(policies / "sharing.toml",
                       'version = 1\nextends = "agent:codex"\n[agent]\nshare_login = true\n', 0o600)
    found = checks(world)["shared-login"]
    assert found["status"] == "warn" and str(file) in found["message"] and "~/.codex/auth.json" in found["message"], found
    assert "take share_login out" in found["cure"], found
    told = world.cordon_verb("setup", "--dry-run").out
    assert f"note: {file} copies the login ~/.codex/auth.json inside" in told, told
    file.unlink()
    assert "shared-login" not in checks(world) and "copies the login" not in world.cordon_verb("setup", "--dry-run").out


def test_its_checks_are_recorded_and_stand_in_nobodys_way(world):
    """Every run is in the record; a person who asks what was done asks for what was done on a person's word."""
    world.cordon_verb("doctor").expect(0)
    alone = world.cordon_verb("audit", "list").expect(1)
    assert "nothing but runs of Cordon's own" in alone.out and "left out (doctor: " in alone.err, alone.account()
    assert "nothing has been run yet" in world.cordon_verb("why").expect(1).err
    world.run("sh", "-c", "exit 3").expect(3)
    world.cordon_verb("doctor").expect(0)
    listed = world.cordon_verb("audit", "list").expect(0)
    assert len(listed.out.splitlines()) == 2 and "exit 3" in listed.out, listed.account()
    assert "doctor" not in world.cordon_verb("audit", "show", "last").expect(0).out
    assert "exit status 3" in world.cordon_verb("why", "last").out
    # The option that is named shows them, and so does asking for them; for programs nothing is left out.
    count = int(re.search(r"^(\d+) runs of Cordon's own are left out", listed.err, re.M)[1])
    assert "--own shows them" in listed.err
    own = world.cordon_verb("audit", "list", "--own", "--limit", "1000").expect(0)
    assert len(own.out.splitlines()) == 2 + len([line for line in own.out.splitlines() if " doctor " in line])
    actions = [event["action"] for event in world.cordon_verb("audit", "list", "--json").json["events"]]
    assert actions.count("doctor") >= count > 5 and actions.count("run") == 1, actions
    asked = world.cordon_verb("audit", "list", "--tool", "doctor", "--limit", "1000").expect(0)
    assert len(asked.out.splitlines()) == 1 + actions.count("doctor") and asked.err == "", asked.account()
    world.cordon_verb("audit", "verify").expect(0)
