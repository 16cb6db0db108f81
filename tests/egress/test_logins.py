"""Logins of agents that are added outside: the file that the agent outside keeps is the source, and inside is a
placeholder. The agent outside is played here by whoever writes that file."""

import hashlib
import json
import shlex

import pytest

from support.harness import wait_until

from test_agents import ASK, SEARCH

CLAUDE, CODEX = ".claude/.credentials.json", ".codex/auth.json"
TOKEN = "sk-ant-oat01-first-of-the-login-5c11"
RENEWED = "sk-ant-oat01-renewed-outside-91ab"
OTHER = "sk-of-another-service-77"
HEADERS = ["authorization", "Bearer {}"]


def claude_file(token):
    """As Claude Code keeps it, with a server's login before its own."""
    return json.dumps({"mcpOAuth": {"notes|0123": {"serverName": "notes", "accessToken": OTHER}},
                       "claudeAiOauth": {"accessToken": token, "refreshToken": "sk-ant-ort01-stays-outside",
                                         "expiresAt": 1799999999000, "scopes": ["user:inference"],
                                         "subscriptionType": "max"}})


def codex_file(key):
    return json.dumps({"OPENAI_API_KEY": key, "tokens": None, "last_refresh": None}, indent=2)


# File, content, its variable inside, the variable with the address, path behind that.
LOGINS = {
    "claude": (CLAUDE, claude_file, "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL", "/v1/messages"),
    "codex": (CODEX, codex_file, "CODEX_API_KEY", "OPENAI_BASE_URL", "/responses"),
}


def digest(token):
    return hashlib.sha256(f"Bearer {token}".encode()).hexdigest()


@pytest.fixture
def trust(net):
    return {"SSL_CERT_FILE": str(net.internet.directory / "for-clients/ca.pem")}


def asking(agent, path=None):
    _, _, variable, base, usual = LOGINS[agent]
    return ["/usr/bin/python3", "-c", ASK, variable, base, path or usual, *HEADERS]


def ask(net, trust, agent, *options, path=None, env=None):
    return net.report(*asking(agent, path), options=["--policy", f"agent:{agent}", *options],
                      env={**trust, **(env or {})}, timeout=120)


def log_in(net, agent, token=TOKEN):
    file, content, *_ = LOGINS[agent]
    return net.write(net.home / file, content(token), 0o600)


@pytest.mark.parametrize("agent", LOGINS)
def test_a_login_is_added_outside(net, trust, agent):
    file, _, variable, *_ = LOGINS[agent]
    done, report = ask(net, trust, agent)
    # The control: without a login the request carries nothing.
    assert report["credential"] is None and digest(TOKEN) not in done.out, done.account()
    log_in(net, agent)
    done, report = ask(net, trust, agent)
    assert json.loads(done.expect(0).out)["digests"]["authorization"] == digest(TOKEN), done.account()
    assert report["credential"] == {"agent": agent, "kind": "outside", "label": f"~/{file}", "copied": False}
    assert f"credential of {agent}: ~/{file}, added to its requests outside" in done.err, done.account()
    assert TOKEN not in done.out + done.err + done.report_text
    shown = net.run("sh", "-c", f"echo ${variable}; cat ~/{file}", options=["--policy", f"agent:{agent}"], env=trust)
    assert shown.out == f"cordon-placeholder-{agent}-key\n" and shown.status == 1, shown.account()


@pytest.mark.parametrize("agent", LOGINS)
def test_a_login_is_nowhere_inside(net, trust, agent):
    log_in(net, agent)
    done, report = net.report("/usr/bin/python3", "-c", SEARCH, TOKEN[::-1], options=["--policy", f"agent:{agent}"],
                              env=trust, timeout=300)
    assert done.expect(0).out == "looked True []\n" and report["credential"]["kind"] == "outside", done.account()
    # The control: shared, it is a file inside.
    place = net.make_directory(net.home / ".config/cordon/policies")
    net.write(place / "sharing.toml", f'version = 1\nextends = "agent:{agent}"\n[agent]\nshare_login = true\n', 0o600)
    done, report = net.report("/usr/bin/python3", "-c", SEARCH, TOKEN[::-1], options=["--policy", "sharing"], env=trust,
                              timeout=300)
    assert "file " in done.expect(0).out and report["credential"]["kind"] == "login", done.account()


@pytest.mark.once
def test_what_is_renewed_outside_counts_from_the_next_request_on(net, trust):
    log_in(net, "claude")
    again = "; ".join([shlex.join(asking("claude")) + " > first", "until test -e go; do sleep 0.05; done",
                       shlex.join(asking("claude")) + " > second"])
    process = net.start([net.cordon, "run", "--policy", "agent:claude", "--", "sh", "-c", again], env=trust)
    try:
        assert wait_until(lambda: (net.project / "first").exists() and (net.project / "first").read_text().endswith("}\n"))
        # As the agent does it: a new file in the old one's place.
        fresh = net.write(net.home / ".claude/fresh", claude_file(RENEWED), 0o600)
        fresh.rename(net.home / CLAUDE)
        net.write(net.project / "go", "")
        assert process.wait(120) == 0
    finally:
        process.kill()
    said = [json.loads((net.project / name).read_text())["digests"]["authorization"] for name in ("first", "second")]
    assert said == [digest(TOKEN), digest(RENEWED)]


@pytest.mark.once
@pytest.mark.parametrize("agent, told", [("claude", "run claude outside once"), ("codex", "codex login")])
def test_a_login_that_is_refused_is_told_with_what_to_do(net, trust, agent, told):
    file = LOGINS[agent][0]
    log_in(net, agent)
    # The host answers 401, as it does once a token has ended.
    _, _, variable, base, _ = LOGINS[agent]
    script = ASK.replace("os.environ.get(base, \"http://no-base.invalid\") + path",
                         "os.environ[base].removesuffix('/v1') + path")
    done, report = net.report("/usr/bin/python3", "-c", script, variable, base, "/status/401", *HEADERS,
                              options=["--policy", f"agent:{agent}"], env=trust)
    assert done.out.startswith("401 ") and [r["status"] for r in report["requests"]] == [401], done.account()
    assert f"refused the login ~/{file}: " in done.err and told in done.err, done.account()
    # The control: a request that went well is told nothing of.
    done, _ = ask(net, trust, agent)
    assert "refused the login" not in done.expect(0).err


# Answers as Claude Code does when it is asked who it is; then asks its model once.
ANSWERING = """#!/usr/bin/python3
import sys
if sys.argv[1:] == ["--version"]:
    sys.exit(print("1.0"))
if sys.argv[1:3] == ["auth", "status"]:
    sys.exit(print('{"loggedIn": true}'))
sys.stdin.read()
sys.argv[1:] = %r
exec(%r)
"""


@pytest.mark.once
def test_a_loop_ends_with_the_login_that_was_refused(net, trust):
    log_in(net, "claude")
    variable, base = "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL"
    sentence = f"api.anthropic.com refused the login ~/{CLAUDE}: it has expired or was ended; run claude outside once"
    net.write(net.project / "PLAN.md", "- [ ] one: T\n  attempts: 2\n  verify: test -e done\n")
    for path, refused in (("/status/401", True), ("/v1/messages", False)):
        words = [variable, base, path, *HEADERS]
        agent = net.write(net.project / "claude", ANSWERING % (words, ASK), 0o755)
        done = net.execute([net.cordon, "loop", "--plain", "--restart", "--read", agent, "--", "claude"], timeout=120,
                           env={**trust, "PATH": f"{net.project}:/usr/bin:/bin"}).expect(1)
        assert ("401" in done.out) == refused, done.account()
        # With the attempt, once, and at the end, where the screen is gone.
        told = [line for line in done.out.splitlines() if sentence in line]
        assert [line.split(":")[0] for line in told] == (["warning", "loop incomplete"] if refused else []), done.account()
        assert told == [] or told[-1] == done.out.splitlines()[-1], done.account()


@pytest.mark.once
def test_a_key_in_a_variable_comes_first(net, trust):
    log_in(net, "claude")
    done, report = ask(net, trust, "claude", env={"CLAUDE_CODE_OAUTH_TOKEN": RENEWED})
    assert json.loads(done.expect(0).out)["digests"]["authorization"] == digest(RENEWED)
    assert report["credential"]["label"] == "CLAUDE_CODE_OAUTH_TOKEN"


def nothing_of_the_agents_own(net):
    net.write(net.home / CLAUDE, json.dumps({"mcpOAuth": {"x": {"accessToken": TOKEN}}}), 0o600)


def ended(net):
    net.write(net.home / CLAUDE, json.dumps({"claudeAiOauth": None, "mcpOAuth": {"x": {"accessToken": TOKEN}}}), 0o600)


def writable_by_others(net):
    log_in(net, "claude").chmod(0o620)


def a_link(net):
    net.write(net.home / "kept.json", claude_file(TOKEN), 0o600)
    net.make_directory(net.home / ".claude")
    net.link(net.home / CLAUDE, net.home / "kept.json")


@pytest.mark.once
@pytest.mark.parametrize("unfit", [nothing_of_the_agents_own, ended, writable_by_others, a_link])
def test_a_file_that_is_no_login_is_not_used_and_refuses_nothing(net, trust, unfit):
    unfit(net)
    done, report = ask(net, trust, "claude")
    assert report["credential"] is None and digest(TOKEN) not in done.expect(0).out, done.account()


@pytest.mark.once
def test_a_login_that_is_kept_elsewhere_or_by_account_is_not_used(net, trust):
    log_in(net, "claude")
    done, report = ask(net, trust, "claude", env={"CLAUDE_CONFIG_DIR": str(net.home / "elsewhere")})
    assert report["credential"] is None and digest(TOKEN) not in done.expect(0).out, done.account()
    net.write(net.home / CODEX, json.dumps({"OPENAI_API_KEY": None, "tokens": {"access_token": TOKEN}}), 0o600)
    done, report = ask(net, trust, "codex")
    assert report["credential"] is None and digest(TOKEN) not in done.expect(0).out, done.account()


@pytest.mark.once
def test_a_login_that_cannot_be_added_says_so_and_what_can_be_done(net, trust):
    account = json.dumps({"OPENAI_API_KEY": None, "tokens": {"access_token": TOKEN}})
    told = "codex has no credential inside: its login ~/.codex/auth.json cannot be added to its requests outside"
    run = ["true"]
    done = net.run(*run, options=["--policy", "agent:codex"], env=trust)
    assert told not in done.expect(0).err, done.account()
    net.write(net.home / CODEX, account, 0o600)
    done = net.run(*run, options=["--policy", "agent:codex"], env=trust)
    assert told in done.expect(0).err and "share_login = true in [agent]" in done.err, done.account()
    place = net.make_directory(net.home / ".config/cordon/policies")
    net.write(place / "mine.toml", 'version = 1\nextends = "agent:codex"\n[agent]\nshare_login = true\n', 0o600)
    done = net.run("cat", net.home / CODEX, options=["--policy", "mine"], env=trust)
    assert TOKEN in done.expect(0).out and told not in done.err, done.account()
    assert "which whatever runs inside can read" in done.err, done.account()
    # The copy stays in the private home: with it inside there is nothing more to say.
    assert told not in net.run(*run, options=["--policy", "agent:codex"], env=trust).expect(0).err
    # Of Gemini no file can be copied.
    net.write(net.home / ".gemini/oauth_creds.json", "{}", 0o600)
    done = net.run(*run, options=["--policy", "agent:gemini"], env=trust)
    assert "~/.gemini/oauth_creds.json cannot be added" in done.err and "export GEMINI_API_KEY=KEY" in done.err
    assert "share_login" not in done.err, done.account()
    done = net.run(*run, options=["--policy", "agent:gemini"], env={**trust, "GEMINI_API_KEY": TOKEN})
    assert "cannot be added" not in done.expect(0).err, done.account()


@pytest.mark.once
def test_a_ceiling_bounds_a_login_like_a_key(net, trust):
    log_in(net, "claude")
    text = ('version = 1\n[fs]\nread = ["@system", "@toolchains"]\nwrite = ["@cwd"]\n[net]\n'
            'allow = ["api.anthropic.com:443"]\n[env]\npass = ["%s"]\n')
    done, report = ask(net, trust, "claude", "--ceiling", net.document(text % "TERM", "ceiling.toml"))
    assert report["credential"] is None and digest(TOKEN) not in done.out, done.account()
    done, _ = ask(net, trust, "claude", "--ceiling", net.document(text % "CLAUDE_CODE_OAUTH_TOKEN", "ceiling.toml"))
    assert json.loads(done.expect(0).out)["digests"]["authorization"] == digest(TOKEN), done.account()
