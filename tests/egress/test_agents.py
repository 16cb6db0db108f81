"""Agents whose key is added outside: what the model's host gets, and what is inside. The agents here are small programs
that send what the real ones send; real ones with a scripted model are in tests/mcp/hosts."""

import hashlib
import json
from dataclasses import dataclass

import pytest

KEY = "sk-agents-own-7d31f09c2be4"
ROOTS = '[fs]\nread = ["@system", "@toolchains"]\nwrite = ["@cwd"]\n'


@dataclass
class Agent:
    name: str
    variable: str
    base: str
    path: str  # behind what the base holds
    host: str
    url: str  # the same by the real name
    header: str
    value: str = "{}"

    def sent(self, key):
        return hashlib.sha256(self.value.format(key).encode()).hexdigest()


AGENTS = {
    "claude": Agent("claude", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "/v1/messages", "api.anthropic.com",
                    "https://api.anthropic.com/v1/messages", "x-api-key"),
    "claude-token": Agent("claude", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL", "/v1/messages",
                          "api.anthropic.com", "https://api.anthropic.com/v1/messages", "authorization", "Bearer {}"),
    "codex": Agent("codex", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/responses", "api.openai.com",
                   "https://api.openai.com/v1/responses", "authorization", "Bearer {}"),
    "codex-own": Agent("codex", "CODEX_API_KEY", "OPENAI_BASE_URL", "/responses", "api.openai.com",
                       "https://api.openai.com/v1/responses", "authorization", "Bearer {}"),
    "gemini": Agent("gemini", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", "/v1beta/models/m:generateContent",
                    "generativelanguage.googleapis.com",
                    "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent", "x-goog-api-key"),
}

# Asks as the agent does, with what it finds in its variables.
ASK = """
import os, sys, urllib.error, urllib.request
variable, base, path, header, value = sys.argv[1:6]
url = base if base.startswith("https:") else os.environ.get(base, "http://no-base.invalid") + path
request = urllib.request.Request(url, data=b'{"input": "hello"}', headers={
    header: value.format(os.environ.get(variable, "")), "content-type": "application/json"})
try:
    print(urllib.request.urlopen(request, timeout=60).read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
except OSError as error:
    print("failed", error)
"""

# Looks for a text, given backwards, in whatever it can read: processes with their memory, and files. Its own memory
# holds what it looks for and is left out; a child that has no more than the environment is looked at in its place.
SEARCH = r"""
import os, subprocess, sys
wanted = sys.argv[1][::-1].encode()
child = subprocess.Popen(["sleep", "600"])
found, looked = set(), 0
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline", "auxv"):
        try:
            text = open(f"/proc/{pid}/{name}", "rb").read()
        except OSError:
            continue
        looked += 1
        if wanted in text:
            found.add(f"{name}")
    if int(pid) == os.getpid():
        continue
    try:
        regions = open(f"/proc/{pid}/maps").read().splitlines()
        memory = open(f"/proc/{pid}/mem", "rb", 0)
    except OSError:
        continue
    for region in regions:
        begin, end = (int(part, 16) for part in region.split()[0].split("-"))
        try:
            memory.seek(begin)
            if wanted in memory.read(end - begin):
                found.add("memory")
        except (OSError, ValueError, OverflowError):
            continue
        looked += 1
for top in (os.path.expanduser("~"), os.getcwd(), "/tmp", "/var/tmp", "/dev/shm", "/run", "/dev/cordon", "/etc"):
    for place, _, names in os.walk(top):
        for name in names:
            try:
                text = open(os.path.join(place, name), "rb").read(1 << 20)
            except OSError:
                continue
            looked += 1
            if wanted in text:
                found.add("file " + name)
child.kill()
print("looked", looked > 10, sorted(found))
"""


@pytest.fixture
def trust(net):
    return {"SSL_CERT_FILE": str(net.internet.directory / "for-clients/ca.pem")}


@pytest.fixture(params=AGENTS)
def agent(request):
    return AGENTS[request.param]


def ask(net, trust, agent, *options, policy=None, by_name=False, env=None):
    return net.report("/usr/bin/python3", "-c", ASK, agent.variable, agent.url if by_name else agent.base, agent.path,
                      agent.header, agent.value, options=["--policy", policy or f"agent:{agent.name}", *options],
                      env={**trust, agent.variable: KEY, **(env or {})}, timeout=120)


def found(net, trust, *options, policy, env):
    done, report = net.report("/usr/bin/python3", "-c", SEARCH, KEY[::-1], options=["--policy", policy, *options],
                              env={**trust, **env}, timeout=300)
    looked, _, places = done.expect(0).out.strip().removeprefix("looked ").partition(" ")
    assert looked == "True", done.account()
    return places, report


def test_the_key_is_added_outside(net, trust, agent):
    done, report = ask(net, trust, agent)
    said = json.loads(done.expect(0).out)
    assert said["digests"][agent.header] == agent.sent(KEY), done.account()
    assert said["body"] == 18 and said["headers"]["host"] == agent.host
    assert report["credential"] == {"agent": agent.name, "kind": "outside", "label": agent.variable, "copied": False}
    [sent] = report["requests"]
    assert (sent["method"], sent["host"], sent["status"]) == ("POST", f"{agent.host}:443", 200)
    assert KEY not in done.out + done.err + done.report_text
    records = [path.read_text() for path in (net.home / ".local/state/cordon/audit").glob("*.jsonl")]
    assert any('"action":"request"' in text for text in records) and not any(KEY in text for text in records)
    # A program that insists on the real name reaches it too, with the same placeholder.
    done, _ = ask(net, trust, agent, by_name=True)
    assert json.loads(done.expect(0).out)["digests"][agent.header] == agent.sent(KEY), done.account()


def test_the_key_is_nowhere_inside(net, trust, agent):
    places, report = found(net, trust, policy=f"agent:{agent.name}", env={agent.variable: KEY})
    assert places == "[]" and report["credential"]["kind"] == "outside"
    # The control: whoever leads the agent to another address has the key inside, and is told.
    env = {agent.variable: KEY, agent.base: "http://127.0.0.1:9/v1"}
    places, report = found(net, trust, "--env", agent.base, policy=f"agent:{agent.name}", env=env)
    assert "environ" in places and "memory" in places and report["credential"]["kind"] == "variable"


def test_a_shared_login_is_inside_and_told(net, trust):
    # By an account: such a login cannot be added outside.
    net.write(net.home / ".codex/auth.json", json.dumps({"OPENAI_API_KEY": None, "tokens": {"access_token": KEY}}), 0o600)
    place = net.home / ".config/cordon/policies"
    net.write(place / "sharing.toml", 'version = 1\nextends = "agent:codex"\n[agent]\nshare_login = true\n', 0o600)
    # Unless it is shared neither the file nor a key is there.
    places, report = found(net, trust, policy="agent:codex", env={})
    assert places == "[]" and report["credential"] is None
    places, report = found(net, trust, policy="sharing", env={})
    assert "file auth.json" in places and report["credential"]["kind"] == "login"
    done = net.run("true", options=["--policy", "sharing"], env=trust)
    assert "~/.codex/auth.json, which whatever runs inside can read" in done.expect(0).err, done.account()


@pytest.mark.once
def test_a_key_that_is_inside_is_told(net, trust):
    agent = AGENTS["claude"]
    def told(*options, policy="agent:claude", env=None):
        return net.run("true", options=["--policy", policy, *options],
                       env={**trust, agent.variable: KEY, **(env or {})}).expect(0).err
    warning = "ANTHROPIC_API_KEY, which whatever runs inside can read"
    assert warning not in told()
    assert warning in told("--net", "open")
    assert warning in told("--env", agent.base, env={agent.base: "http://127.0.0.1:9"})
    copilot = net.run("true", options=["--policy", "agent:copilot"], env={**trust, "COPILOT_GITHUB_TOKEN": KEY})
    assert "COPILOT_GITHUB_TOKEN, which whatever runs inside can read" in copilot.expect(0).err


@pytest.mark.once
def test_no_host_is_reached_for_it_that_the_policy_leaves_out(net, trust):
    agent = AGENTS["claude"]
    policy = net.document('version = 1\nextends = "agent"\n[net]\nallow = ["good.example:443"]\n'
                          '[agent]\nname = "claude"\n[env]\npass = ["ANTHROPIC_API_KEY"]\n')
    done, report = ask(net, trust, agent, policy=policy, by_name=True)
    assert done.out.startswith("failed") and report["requests"] == [], done.account()
    denied = net.document('version = 1\nextends = "agent:claude"\n[net]\ndeny = ["api.anthropic.com"]\n', "denied.toml")
    done, report = ask(net, trust, agent, policy=denied, by_name=True)
    assert done.out.startswith("failed") and report["requests"] == [], done.account()


@pytest.mark.once
def test_a_ceiling_bounds_the_key(net, trust):
    agent = AGENTS["claude"]
    def under(text, **how):
        ceiling = net.document(f"version = 1\n{ROOTS}{text}", "ceiling.toml")
        return ask(net, trust, agent, "--ceiling", ceiling, **how)
    # A variable that it does not permit is used nowhere.
    hosts = '[net]\nallow = ["api.anthropic.com:443"]\n'
    done, report = under(hosts + '[env]\npass = ["TERM"]\n')
    assert report["credential"] is None and report["requests"] == [] and done.out.startswith("failed"), done.account()
    done, report = under(hosts + f'[env]\npass = ["{agent.variable}"]\n')
    assert json.loads(done.out)["digests"][agent.header] == agent.sent(KEY), done.account()
    # Requests alone, and without the secret: then there is no key inside either.
    rule = '[[http]]\nhost = "api.anthropic.com"\nallow = ["POST /v1/messages"]\n'
    done, report = under(rule)
    assert report["credential"] is None and KEY not in done.out, done.account()
    assert json.loads(done.out)["digests"][agent.header] == hashlib.sha256(b"").hexdigest(), done.account()
    assert {"what": "secret", "asked": "claude-key", "got": None, "because": "outside-ceiling"} in report["reductions"]
    done, report = under(rule + 'secret = "claude-key"\n')
    assert json.loads(done.out)["digests"][agent.header] == agent.sent(KEY), done.account()
    # Its budgets hold for it.
    done, _ = under(hosts + "[limits]\nrequests = 1\n")
    assert json.loads(done.out)["digests"][agent.header] == agent.sent(KEY), done.account()


@pytest.mark.once
def test_a_secret_that_the_operator_named_is_kept(net, trust):
    agent = AGENTS["claude"]
    place = net.home / ".config/cordon/policies"
    net.write(place / "own.toml", 'version = 1\nextends = "agent:claude"\n[[http]]\nhost = "api.anthropic.com"\n'
              'allow = ["POST /v1/messages"]\nsecret = "own"\n[[secret]]\nname = "own"\nhost = "api.anthropic.com"\n'
              'header = "x-api-key"\nfrom = "env:OTHER_KEY"\nvariable = "ANTHROPIC_API_KEY"\n', 0o600)
    done, report = ask(net, trust, agent, policy="own", env={"OTHER_KEY": "another-key-0123456789"})
    assert json.loads(done.expect(0).out)["digests"][agent.header] == agent.sent("another-key-0123456789")
    assert report["credential"]["kind"] == "outside" and KEY not in done.out


AGENT_PROGRAM = """#!/usr/bin/python3
import json, os, sys
if sys.argv[1:] == ["--version"]:
    key = os.environ.get("ANTHROPIC_API_KEY", "")
    sys.exit("a key is inside" if key and not key.startswith("cordon-placeholder") else print("1.0"))
open("seen-" + str(os.getpid()), "w").write(json.dumps(dict(os.environ)))
sys.argv[1:] = ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "/v1/messages", "x-api-key", "{}"]
sys.stdin.read()
sys.stdout = open("made", "w")
exec(ASK)
sys.stdout.close()
sys.stdout = sys.__stdout__
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "done"}))
"""


@pytest.mark.once
def test_a_loop_works_without_a_key_inside(net, trust):
    agent = AGENTS["claude"]
    tools = net.make_directory(net.home / ".local/bin")
    net.write(tools / "claude", AGENT_PROGRAM.replace("exec(ASK)", f"exec({ASK!r})"), 0o755)
    net.write(net.project / "PLAN.md", "- [ ] made: Make a file\n  verify: env > verified; test -s made\n")
    done = net.cordon_verb("loop", "--json", "claude",
                           env={**trust, agent.variable: KEY, "PATH": f"{tools}:/usr/bin:/bin"})
    events = [json.loads(line) for line in done.expect(0).out.splitlines()]
    assert events[-1]["why"] == "complete", done.account()
    [started] = [event for event in events if event["event"] == "loop_started"]
    assert started["credential"] == {"kind": "outside", "label": agent.variable, "copied": False}
    assert started["warnings"] == []
    assert json.loads((net.project / "made").read_text())["digests"][agent.header] == agent.sent(KEY)
    seen = [path.read_text() for path in net.project.glob("seen-*")]
    assert seen and "cordon-placeholder-claude-key" in "".join(seen), seen
    for text in [*seen, (net.project / "verified").read_text(), done.out, done.err]:
        assert KEY not in text
