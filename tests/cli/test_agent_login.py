"""The one credential of an agent: which it is, who permits it, and what is never shared."""

import json
import os

import pytest

from support.harness import tree_digest
from support.voids import NOT_STARTED_BY_ROOT, void

LOGIN = ".codex/auth.json"
# A known agent is asked for its version before it works.
ANSWERS = '#!/bin/sh\ntest "$1" != --version || exit 0\n'
TOKEN = '{"tokens":{"refresh_token":"TOKEN-of-the-host"}}'
SHARING = 'version = 1\nextends = "agent:codex"\n[agent]\nshare_login = true\n'
READ = "cat ~/.codex/auth.json 2>&1"


@pytest.fixture
def login(world):
    """A host that is logged in, and a policy that shares the login."""
    policies = world.make_directory(world.home / ".config/cordon/policies")
    for directory in (policies, policies.parent):
        directory.chmod(0o700)
    world.write(policies / "sharing.toml", SHARING, 0o600)
    return world.write(world.home / LOGIN, TOKEN, 0o600)


def private_logins(world):
    return list((world.home / ".local/state/cordon/homes").glob(f"*/{LOGIN}"))


def shared(world, *options, script=READ, **how):
    return world.report("/bin/sh", "-c", script, options=["--policy", "sharing", *options], **how)


def test_a_login_is_copied_once_and_the_reason_for_care_is_told(world, login):
    done, report = shared(world)
    assert done.expect(0).out == TOKEN
    assert report["credential"] == {"agent": "codex", "kind": "login", "label": f"~/{LOGIN}",
                                    "copied": True}
    assert done.err.count("may log the other out") == 1
    assert "TOKEN" not in done.err and "TOKEN" not in done.report_text
    # It is renewed inside; the host's stays as it was, and is not copied again.
    done, report = shared(world, script="echo renewed > ~/.codex/auth.json; touch ~/.codex/config.toml")
    assert report["credential"]["copied"] is False and "log the other out" not in done.err
    assert shared(world)[0].out == "renewed\n"
    assert login.read_text() == TOKEN and not (login.parent / "config.toml").exists()
    [copy] = private_logins(world)
    assert copy.stat().st_mode & 0o077 == 0 and copy.stat().st_uid == world.who.uid


def test_without_share_login_the_login_is_not_seen(world, login):
    done, report = world.report("/bin/sh", "-c", READ, options=["--policy", "agent:codex"])
    assert "TOKEN" not in done.out and done.status == 1
    assert report["credential"] is None and not private_logins(world)
    assert world.bare("/bin/sh", "-c", READ).expect(0).out == TOKEN, "the control"


@pytest.mark.parametrize("permitted,text", [
    (False, ""), (False, "[agent]\nshare_login = false\n"),
    (False, '[agent]\nname = "claude"\nshare_login = true\n'),
    (True, "[agent]\nshare_login = true\n"),
    (True, '[agent]\nname = "codex"\nshare_login = true\n')],
    ids=["silent", "no", "another's", "any", "this"])
def test_the_ceiling_decides(world, login, permitted, text):
    ceiling = world.document('version = 1\n[fs]\nread = ["@system", "@toolchains"]\nwrite = ["@cwd"]\n'
                             + text, "ceiling.toml")
    done, report = shared(world, "--ceiling", ceiling)
    taken = [entry for entry in report["reductions"] if entry["what"] == "share_login"]
    if permitted:
        assert done.expect(0).out == TOKEN and not taken
    else:
        assert "TOKEN" not in done.out and not private_logins(world)
        assert [(entry["asked"], entry["got"], entry["because"]) for entry in taken] == \
            [("codex", None, "outside-ceiling")]
        assert report["credential"] is None and report["policy"]["agent"]["share_login"] is False


def spoil_symlink(world, login):
    world.write(world.outside / "auth.json", "SECRET-outside", 0o600)
    login.unlink()
    world.link(login, world.outside / "auth.json")


def spoil_directory(world, login):
    login.parent.rename(world.home / "elsewhere")
    world.link(login.parent, world.home / "elsewhere")


def spoil_fifo(world, login):
    login.unlink()
    os.mkfifo(login, 0o600)
    world.own(login)


def spoil_huge(world, login):
    world.write(login, "x" * 70_000, 0o600)


def spoil_mode(world, login):
    login.chmod(0o666)


def spoil_absent(world, login):
    login.unlink()


SPOILED = [spoil_symlink, spoil_directory, spoil_fifo, spoil_huge, spoil_mode, spoil_absent]


@pytest.mark.parametrize("spoil", SPOILED, ids=lambda spoil: spoil.__name__[6:])
def test_a_login_that_is_no_plain_file_of_ones_own_is_refused(world, login, spoil):
    spoil(world, login)
    done = world.run("/bin/sh", "-c", "echo started", options=["--policy", "sharing"], timeout=20)
    done.expect(125)
    assert "cannot be shared" in done.err and "started" not in done.out
    assert not private_logins(world)


@pytest.mark.only("user")
def test_a_login_of_somebody_else_is_refused(world, login):
    if os.geteuid() != 0:
        return void(NOT_STARTED_BY_ROOT)
    os.chown(login, 0, 0)
    login.chmod(0o644)
    done = world.run("/bin/true", options=["--policy", "sharing"]).expect(125)
    assert "belongs to another user" in done.err


def test_the_private_home_leads_nowhere(world, login):
    """What contained code left in its home does not steer where Cordon writes."""
    world.run("/bin/sh", "-c", f"ln -s {world.outside} ~/.codex",
              options=["--policy", "agent:codex"]).expect(0)
    before = tree_digest(world.outside)
    done = world.run("/bin/true", options=["--policy", "sharing"]).expect(125)
    assert "not a directory" in done.err
    assert tree_digest(world.outside) == before


@pytest.mark.parametrize("more", ['home = "private"\n', 'home = "none"\n'])
def test_a_login_needs_the_home_that_is_kept(world, login, more):
    policy = world.document(SHARING + f"[fs]\n{more}", "policy.toml")
    done = world.run("/bin/true", options=["--policy", policy]).expect(125)
    assert "private home" in done.err and not private_logins(world)


@pytest.mark.parametrize("place", [".codex", ".claude", ".gemini", ".copilot"])
def test_no_grant_makes_an_agents_directory_writable(world, place):
    """Neither by its own name nor through a grant of what lies around it."""
    planted = world.write(world.home / place / "settings.json", "mine\n", 0o600)
    tried = f"echo evil > {planted}; echo evil > {planted}.new; rm -f {planted}"
    for grant in (world.home / place, planted, world.home / "."):
        world.run("/bin/sh", "-c", tried, options=["--write", grant])
        assert planted.read_text() == "mine\n", grant
        assert not planted.with_name("settings.json.new").exists(), grant
    world.bare("/bin/sh", "-c", tried).expect(0)
    assert not planted.exists(), "the control"


KEYS = {"ANTHROPIC_API_KEY": "KEY-one", "CLAUDE_CODE_OAUTH_TOKEN": "KEY-two",
        "OPENAI_API_KEY": "KEY-of-another"}


@pytest.mark.parametrize("options,kind,value", [
    ([], "outside", "cordon-placeholder-claude-key"), (["--net", "open"], "variable", "KEY-one")],
    ids=["outside", "inside"])
def test_one_variable_is_used_and_named(world, options, kind, value):
    done, report = world.report("/usr/bin/env", options=["--policy", "agent:claude", *options], env=KEYS)
    assert f"ANTHROPIC_API_KEY={value}\n" in done.expect(0).out
    assert ("KEY-one" in done.out) == (kind == "variable")
    assert "KEY-two" not in done.out and "KEY-of-another" not in done.out
    assert report["credential"] == {"agent": "claude", "kind": kind,
                                    "label": "ANTHROPIC_API_KEY", "copied": False}
    assert ("which whatever runs inside can read" in done.err) == (kind == "variable")
    assert "KEY-" not in done.report_text and "KEY-" not in done.err
    assert [(entry["what"], entry["asked"], entry["because"]) for entry in report["reductions"]] == \
        [("env", "CLAUDE_CODE_OAUTH_TOKEN", "forbidden")]
    log = (world.home / ".local/state/cordon/audit").glob("*.jsonl")
    assert not any("KEY-" in path.read_text() for path in log)


def test_a_ceiling_takes_the_variable_away(world):
    ceiling = world.document('version = 1\n[fs]\nwrite = ["@cwd"]\n[env]\npass = ["TERM"]\n', "ceiling.toml")
    done, report = world.report("/usr/bin/env", options=["--policy", "agent:claude", "--ceiling", ceiling],
                                env=KEYS)
    assert "KEY-" not in done.expect(0).out and report["credential"] is None
    assert any(entry["what"] == "env" and entry["asked"] == "ANTHROPIC_API_KEY"
               for entry in report["reductions"])


def test_a_plan_does_not_show_the_value(world):
    words = [world.cordon, "run", "--policy", "agent:claude", "--dry-run"]
    for more in ([], ["--json"]):
        done = world.execute([*words, *more, "--", "true"], env=KEYS).expect(0)
        assert "ANTHROPIC_API_KEY" in done.out and "KEY-" not in done.out


@pytest.mark.once
def test_an_export_has_neither_the_key_nor_its_placeholder(world):
    bundle = world.home / "bundle"
    world.execute([world.cordon, "export", "oci", "--drop", "limits", "--policy", "agent:claude", "--out", bundle,
                   "--", "true"], env=KEYS).expect(0)
    text = (bundle / "config.json").read_text()
    assert "KEY-" not in text and "ANTHROPIC_API_KEY" not in text and "IS_SANDBOX=1" in text


def test_the_reasons_of_a_preset_are_shown(world):
    shown = world.cordon_verb("policy", "show", "agent:claude").expect(0).out
    assert "# api.anthropic.com:443: the model" in shown
    world.document(shown, "shown.toml")
    world.cordon_verb("policy", "check", world.trusted / "shown.toml").expect(0)


def test_CR10_what_a_plan_runs_has_no_credential(world):
    world.write(world.project / "PLAN.md", "- [ ] one: T\n  attempts: 1\n  verify: env > by-verify; test -s by-agent\n")
    agent = world.write(world.project / "codex", ANSWERS + "env > by-agent\n", 0o755)
    world.execute([world.cordon, "loop", "--net", "none", "--read", agent, "--", "codex"],
                  env={"PATH": f"{world.project}:/usr/bin:/bin", **KEYS}).expect(0)
    assert "OPENAI_API_KEY=KEY-of-another" in (world.project / "by-agent").read_text(), "the control"
    assert "KEY-" not in (world.project / "by-verify").read_text()
    # Under another name, with the policy of that agent.
    renamed = world.write(world.project / "other-name", "#!/bin/sh\nenv > by-agent\n", 0o755)
    world.execute([world.cordon, "loop", "--restart", "--policy", "agent:codex", "--net", "none", "--", renamed],
                  env=KEYS).expect(0)
    assert "KEY-of-another" in (world.project / "by-agent").read_text(), "the control"
    assert "KEY-" not in (world.project / "by-verify").read_text()


def test_only_the_agent_of_a_loop_has_the_login(world, login):
    """Not the command that decides, which runs what the agent wrote."""
    world.write(world.project / "PLAN.md",
                "- [ ] one: T\n  attempts: 1\n  verify: cat ~/.codex/auth.json > by-verify 2>&1; test -s by-agent\n")
    agent = world.write(world.project / "codex", ANSWERS + "cat ~/.codex/auth.json > by-agent\n", 0o755)
    done = world.execute([world.cordon, "loop", "--json", "--policy", "sharing", "--net", "none", "--read", agent,
                          "--", "codex"], env={"PATH": f"{world.project}:/usr/bin:/bin"}).expect(0)
    events = [json.loads(line) for line in done.out.splitlines()]
    started = next(event for event in events if event["event"] == "loop_started")
    assert started["credential"] == {"kind": "login", "label": f"~/{LOGIN}", "copied": True}
    assert (world.project / "by-agent").read_text() == TOKEN
    assert "TOKEN" not in (world.project / "by-verify").read_text()
    assert "TOKEN" not in done.out
