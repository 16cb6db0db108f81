"""Hosts that are reached by requests alone: what is sent, what is not, and where a secret is. By an address of the
loopback here; by the real name in test_real_name.py."""

import base64
import hashlib
import json
import os

import pytest

from support.stand_ins import API_PORT, NAME, OTHER

SECRET = "s3cret-9f2c1e77a0"
HOST = f"{NAME}:{API_PORT}"
PLACE = f"{NAME}:{API_PORT}"

ASK = """
import json, os, sys, urllib.error, urllib.request
base = os.environ["API_URL"]
for line in sys.argv[1:]:
    method, path, *headers = line.split(" ")
    request = urllib.request.Request(base + path, method=method, data=b"x" * 10 if method == "POST" else None,
                                     headers=dict(header.split("=", 1) for header in headers))
    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *args):
            return None
    try:
        with urllib.request.build_opener(Stay).open(request, timeout=20) as answer:
            print(answer.status, answer.read().decode())
    except urllib.error.HTTPError as error:
        print(error.code, error.headers.get("Location") or error.read().decode()[:200].replace("\\n", " "))
    except OSError as error:
        print("failed", error)
"""

RULES = f"""
version = 1
extends = "workspace"

[[http]]
host = "{HOST}"
allow = ["GET /v1/**", "POST /v1/messages", "GET /redirect"]
deny = ["* /v1/admin/**"]
base = "API_URL"
"""


def secret_at(place, how='header = "x-api-key"', more=""):
    return f"""
[[secret]]
name = "api-key"
host = "{HOST}"
{how}
from = "{place}"
variable = "API_KEY"
{more}"""


def digest_of(answer, header="x-api-key"):
    """Of a header as the server got it: in its answer the gate would make asterisks of a secret."""
    return json.loads(answer.removeprefix("200 "))["digests"][header]


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def trust(net):
    """The authority that the small internet's servers are certified by, as the person would name it."""
    return {"SSL_CERT_FILE": str(net.internet.directory / "for-clients/ca.pem")}


def ask(net, trust, policy, *requests, options=(), **how):
    done, report = net.report("/usr/bin/python3", "-c", ASK, *requests, options=["--policy", policy, *options],
                              env={**trust, **how.pop("env", {})}, timeout=60, **how)
    return done, done.out.splitlines(), report


def operators(net, text, name="api"):
    """A policy of the operator's own directory, by its word."""
    place = net.home / ".config/cordon/policies"
    net.write(place / f"{name}.toml", text, 0o600)
    return name


def test_a_request_is_judged_and_sent(net, trust):
    done, answers, report = ask(net, trust, net.document(RULES), "GET /v1/models", "POST /v1/messages",
                                "POST /v1/models", "GET /v1/admin/users", "GET /other")
    done.expect(0)
    assert json.loads(answers[0].removeprefix("200 "))["path"] == "/v1/models", done.account()
    assert json.loads(answers[1].removeprefix("200 "))["body"] == 10, done.account()
    assert [line.split(" ")[0] for line in answers[2:]] == ["403", "403", "403"], done.account()
    seen = json.loads(answers[0].removeprefix("200 "))["headers"]
    assert seen["host"] == PLACE
    sent = {(r["method"], r["status"], bool(r["refused"])): r for r in report["requests"]}
    assert sent[("GET", 200, False)]["count"] == 1 and sent[("POST", 200, False)]["received_bytes"] > 0
    assert sum(r["count"] for r in report["requests"] if r["refused"]) == 3, report["requests"]
    assert all(r["rule"] == f"[[http]] {PLACE}" and r["host"] == PLACE for r in report["requests"])
    assert sum(d["count"] for d in report["denials"] if d["what"] == "request") == 3
    assert f"denied: request: POST {PLACE}: POST /v1/models is outside what is granted" in done.err, done.account()
    assert "limit reached" not in done.err
    # The account of connections names the real host, and nothing of the way through the gate.
    assert [c["host"] for c in report["connections"] if c["allowed"]] == [NAME]


def test_a_refused_request_is_told_with_a_change_that_works(net, trust):
    policy = net.document(RULES)
    _, answers, report = ask(net, trust, policy, "GET /status/201", "GET /v1/admin/x")
    assert [line.split(" ")[0] for line in answers] == ["403", "403"], answers
    denials = {d["detail"].split(" ")[3]: d for d in report["denials"] if d["what"] == "request"}
    option = f"--http 'GET {HOST}/status/201'"
    assert {d["rule"] for d in denials.values()} == {f"[[http]] {HOST}"} and len(denials) == 2, denials
    assert denials["/status/201"]["change"] == option, denials
    assert option not in (denials["/v1/admin/x"]["change"] or ""), denials
    told = net.cordon_verb("why").out
    assert f"[[http]] {HOST}" in told and option in told, told
    _, answers, _ = ask(net, trust, policy, "GET /status/201", options=["--http", f"GET {HOST}/status/201"])
    assert answers[0].startswith("201 "), answers


def test_a_secret_is_added_outside(net, trust):
    policy = operators(net, RULES.replace('base =', 'secret = "api-key"\nbase =') + secret_at("env:THE_KEY"))
    done, answers, report = ask(net, trust, policy, "GET /v1/models", "GET /redirect",
                                env={"THE_KEY": SECRET})
    assert digest_of(answers[0]) == sha256(SECRET), done.account()
    assert SECRET not in done.out
    # A redirect is the program's to follow: the host it names is reached by nobody.
    assert answers[1] == f"302 https://{OTHER}:{API_PORT}/stolen", done.account()
    assert SECRET not in json.dumps(report) and report["policy"]["secrets"][0]["name"] == "api-key"
    for log in (net.home / ".local/state/cordon/audit").glob("*.jsonl"):
        text = log.read_text()
        assert SECRET not in text and '"action":"request"' in text and '"api-key"' in text


def test_only_a_placeholder_is_inside(net, trust):
    script = """
import os, sys
found = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline", "maps"):
        try:
            text = open(f"/proc/{pid}/{name}", "rb").read()
        except OSError:
            continue
        if name == "maps":
            continue
        if sys.argv[1].encode()[::-1] in text:
            found.append((pid, name))
        if pid == str(os.getpid()) and name == "environ":
            print(os.environ["API_KEY"], bool(text))
print("found", found)
"""
    policy = operators(net, RULES.replace('base =', 'secret = "api-key"\nbase =') + secret_at("env:API_KEY"))
    done, _ = net.python(script, SECRET[::-1], options=["--policy", policy], env={**trust, "API_KEY": SECRET})
    assert done.expect(0).out.splitlines() == ["cordon-placeholder-api-key True", "found []"], done.account()


def test_bearer_and_basic(net, trust):
    named = base64.b64encode(f"me:{SECRET}".encode()).decode()
    for how, expected in (("bearer = true", f"Bearer {SECRET}"), ('basic = "me"', f"Basic {named}")):
        policy = operators(net, RULES.replace('base =', 'secret = "api-key"\nbase =') + secret_at("env:THE_KEY", how))
        done, answers, _ = ask(net, trust, policy, "GET /v1/models", env={"THE_KEY": SECRET})
        assert digest_of(answers[0], "authorization") == sha256(expected), done.account()


def test_a_renewed_file_is_read_again(net, trust):
    place = net.home / ".login.json"
    net.write(place, json.dumps({"keys": ["first-value"]}), 0o600)
    policy = operators(net, RULES.replace('base =', 'secret = "api-key"\nbase =') +
                       secret_at("file:~/.login.json#/keys/0"))
    script = ASK.replace('print(answer.status, answer.read().decode())',
                         'print(answer.status, answer.read().decode(), flush=True); sys.stdin.readline()')
    process = net.start([net.cordon, "run", "--policy", policy, "--", "/usr/bin/python3", "-c", script,
                         "GET /v1/a", "GET /v1/b"], stdin=-1, stdout=-1, text=True, env=trust)
    first = process.stdout.readline()
    assert digest_of(first) == sha256("first-value")
    net.write(place, json.dumps({"keys": ["second-value"]}), 0o600)
    process.stdin.write("\n")
    process.stdin.flush()
    second = process.stdout.readline()
    process.communicate("\n", timeout=60)
    assert digest_of(second) == sha256("second-value")


@pytest.mark.parametrize("place, why", [
    ("env:NOT_SET", "not set"),
    ("file:/nowhere/key", "No such file"),
    ("command:/bin/false", "the command failed"),
    ("command:/no/such/program", "the command is not there"),
])
def test_a_secret_that_cannot_be_read_refuses_the_run(net, trust, place, why):
    policy = operators(net, RULES.replace('base =', 'secret = "api-key"\nbase =') + secret_at(place))
    done = net.run("true", options=["--policy", policy], env=trust)
    assert done.status == 125 and why in done.err and "the secret api-key " in done.err, done.account()


def test_a_file_that_the_command_can_read_is_no_secret(net, trust):
    net.write(net.project / "key", SECRET, 0o600)
    text = RULES.replace('base =', 'secret = "api-key"\nbase =') + secret_at(f"file:{net.project}/key")
    done = net.run("true", options=["--policy", operators(net, text)], env=trust)
    assert done.status == 125 and "could read the file of the secret" in done.err, done.account()
    # What the hint says is done, and the run starts.
    done, answers, _ = ask(net, trust, operators(net, text), "GET /v1/a", options=["--deny", net.project / "key"])
    assert digest_of(answers[0]) == sha256(SECRET), done.account()


TELLING = """#!/bin/sh
echo "$0 in $PWD" >> %s
echo %s
"""


def test_a_program_that_the_command_could_rewrite_tells_no_secret(net, trust):
    tools, seen = net.make_directory(net.home / "tools"), net.home / "started"
    good = net.write(tools / "tell", TELLING % (seen, SECRET), 0o755)
    inside = net.write(net.project / "bin/tell", TELLING % (seen, "of-the-project"), 0o755)
    net.link(net.project / "link", good)
    env = {**trust, "PATH": f"{net.project}/bin:{tools}:/usr/bin:/bin"}

    def policy(command):
        return operators(net, RULES.replace('base =', 'secret = "api-key"\nbase =') + secret_at(f"command:{command}"))
    for command in ("tell", inside, f"/bin/sh {inside}", net.project / "link"):
        done = net.run("true", options=["--policy", policy(command)], env=env)
        assert done.status == 125 and f"could rewrite {net.project}/" in done.err, (command, done.account())
    done = net.run("true", options=["--policy", policy("./bin/tell")], env=env)
    assert done.status == 125 and "has no absolute path" in done.err, done.account()
    assert not seen.exists()
    # What the hint says is done: it lies elsewhere, by its path or by a name that PATH leads to.
    for command in (good, "~/tools/tell", f"/bin/sh {good}"):
        done, answers, _ = ask(net, trust, policy(command), "GET /v1/a", env=env)
        assert digest_of(answers[0]) == sha256(SECRET), done.account()
    assert seen.read_text().splitlines() == [f"{good} in /"] * 3


def test_a_program_that_is_made_later_tells_no_secret(net, trust):
    tools, seen = net.make_directory(net.home / "tools"), net.home / "started"
    good = net.write(tools / "tell", TELLING % (seen, SECRET), 0o755)
    net.make_directory(net.project / "bin")
    text = RULES.replace('base =', 'secret = "api-key"\nbase =').replace('"GET /redirect"', '"GET /status/*"')
    policy = operators(net, text + secret_at("command:tell"))
    make = f"printf '#!/bin/sh\\necho evil >> {seen}\\necho evil\\n' > bin/tell && chmod 755 bin/tell && "
    # The host refuses what it was told, so the program is asked again.
    done, report = net.report("sh", "-c", make + 'exec /usr/bin/python3 -c "$0" "$@"', ASK, "GET /status/401",
                              "GET /v1/a", options=["--policy", policy],
                              env={**trust, "PATH": f"{net.project}/bin:{tools}:/usr/bin:/bin"})
    assert [r["status"] for r in report["requests"]] == [401, 200], done.account()
    assert digest_of(done.out.splitlines()[1]) == sha256(SECRET), done.account()
    assert seen.read_text().splitlines() == [f"{good} in /"] * 2


PYTHON_TELLS = """#!/usr/bin/env python3
import os, json
open({seen!r}, "a").write("told\\n")
print({secret!r})
"""
PLANTED = """
evil="echo evil >> {seen}; echo evil"
mkdir -p bin src
printf '#!/bin/sh\\n%s\\n' "$evil" > bin/python3 && chmod 755 bin/python3
printf 'open("{seen}", "a").write("evil")\\n' > src/json.py
"""


@pytest.mark.parametrize("name", ["work", "my work, = 'here'"])
def test_what_the_program_of_a_secret_starts_and_loads_is_not_the_commands(net, trust, name):
    """`env python3` is found on PATH, and what Python imports by PYTHONPATH: both begin in the project here, as they do
    with an environment activated in it."""
    tools, seen = net.make_directory(net.home / "tools"), net.home / "started"
    tell = net.write(tools / "tell", PYTHON_TELLS.format(seen=str(seen), secret=SECRET), 0o755)
    work = net.make_directory(net.project / name)
    for below in ("bin", "src"):
        net.make_directory(work / below)
    text = RULES.replace('base =', 'secret = "api-key"\nbase =').replace('"GET /redirect"', '"GET /status/*"')
    policy = operators(net, text + secret_at("command:tell"))
    env = {**trust, "PATH": f"{work}/bin:{tools}:/usr/bin:/bin", "PYTHONPATH": f"{work}/src"}
    done, report = net.report("sh", "-c", PLANTED.format(seen=seen) + 'exec /usr/bin/python3 -E -c "$0" "$@"', ASK,
                              "GET /status/401", "GET /v1/a", options=["--policy", policy], env=env, cwd=work)
    assert [r["status"] for r in report["requests"]] == [401, 200], done.account()
    assert digest_of(done.out.splitlines()[1]) == sha256(SECRET), done.account()
    assert seen.read_text().splitlines() == ["told"] * 2
    # Control: somebody who starts it outside, with these variables, starts what was planted.
    net.bare("sh", "-c", PLANTED.format(seen=seen) + str(tell), env=env, cwd=work)
    assert "evil" in seen.read_text()


def test_what_interprets_the_program_of_a_secret_is_not_the_commands(net, trust):
    tools = net.make_directory(net.home / "tools")
    shell = net.write(net.project / "bin/shell", open("/bin/sh", "rb").read(), 0o755)
    text = RULES.replace('base =', 'secret = "api-key"\nbase =')
    for first in (f"#!{shell}", f"#! /usr/bin/env -S {shell} -e"):
        tell = net.write(tools / "tell", f"{first}\necho {SECRET}\n", 0o755)
        done = net.run("true", options=["--policy", operators(net, text + secret_at(f"command:{tell}"))], env=trust)
        assert done.status == 125 and f"could rewrite {shell}" in done.err, done.account()
    # What the hint says is done.
    net.write(tell, f"#!{net.write(tools / 'shell', open('/bin/sh', 'rb').read(), 0o755)}\necho {SECRET}\n", 0o755)
    done, answers, _ = ask(net, trust, operators(net, text + secret_at(f"command:{tell}")), "GET /v1/a")
    assert digest_of(answers[0]) == sha256(SECRET), done.account()


@pytest.mark.only("user")
def test_a_program_of_a_secret_has_no_name_in_the_project(net, trust):
    tell = net.write(net.make_directory(net.home / "tools") / "tell", f"#!/bin/sh\necho {SECRET}\n", 0o755)
    os.link(tell, net.project / "another")
    text = RULES.replace('base =', 'secret = "api-key"\nbase =') + secret_at(f"command:{tell}")
    done = net.run("true", options=["--policy", operators(net, text)], env=trust)
    assert done.status == 125 and f"could rewrite {tell}" in done.err and "another name" in done.err, done.account()
    os.unlink(net.project / "another")
    net.run("true", options=["--policy", operators(net, text)], env=trust).expect(0)


@pytest.mark.once
def test_a_caller_defines_no_secret(net, trust):
    text = RULES.replace('base =', 'secret = "api-key"\nbase =') + secret_at("file:/etc/hostname")
    done = net.run("true", options=["--policy", net.document(text)], env=trust)
    assert done.status == 125 and "[[secret]] is for ceilings" in done.err, done.account()
    # It refers to one that a ceiling defines.
    ceiling = net.document(RULES.replace('extends = "workspace"\n', '').replace(
        'base =', 'secret = "api-key"\nbase =') + '[fs]\nread = ["@system", "@toolchains"]\nwrite = ["@cwd"]\n' +
        secret_at("env:THE_KEY"), "ceiling.toml")
    caller = net.document(RULES.replace('base =', 'secret = "api-key"\nbase ='), "mine.toml")
    done, answers, _ = ask(net, trust, caller, "GET /v1/a", options=["--ceiling", ceiling],
                           env={"THE_KEY": SECRET})
    assert digest_of(answers[0]) == sha256(SECRET), done.account()


@pytest.mark.once
def test_a_ceiling_demands_requests_alone(net, trust):
    ceiling = net.document('version = 1\n[fs]\nread = ["@system", "@toolchains"]\nwrite = ["@cwd"]\n'
                           f'[net]\nallow = ["{HOST}", "{OTHER}"]\n[[http]]\nhost = "{HOST}"\nallow = ["GET /v1/**"]\n'
                           'base = "API_URL"\n', "ceiling.toml")
    bound = ["--ceiling", ceiling]
    done = net.run("true", options=[*bound, "--allow", HOST], env=trust)
    assert done.status == 125 and "requests alone" in done.err, done.account()
    option = done.err.split("write ", 1)[1].split(" in its place")[0]
    assert option == f"--http 'GET {HOST}/v1/**'", done.account()
    done = net.run("/usr/bin/python3", "-c", ASK, "GET /v1/a", "POST /v1/a",
                   options=[*bound, "--http", f"GET {HOST}/v1/**"], env=trust)
    assert [line.split(" ")[0] for line in done.expect(0).out.splitlines()] == ["200", "403"], done.account()
    done = net.run("true", options=[*bound, "--http", f"POST {HOST}/v1/a"], env=trust)
    assert done.status == 125 and "outside what is granted" in done.err, done.account()
    assert 'allow = ["GET /v1/**", "POST /v1/a"]' in done.err, done.account()


MANY = """
import os, socket, sys, threading, urllib.parse
place = urllib.parse.urlsplit(os.environ["API_URL"])
count = int(sys.argv[1]) // 4
def ask():
    connected = socket.create_connection((place.hostname, place.port))
    asked = b"GET /other HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n" * count
    threading.Thread(target=connected.sendall, args=(asked,), daemon=True).start()
    seen = b""
    while seen.count(b"HTTP/1.1 403") < count:
        piece = connected.recv(65536)
        assert piece, seen[-300:]
        seen += piece
asking = [threading.Thread(target=ask) for _ in range(4)]
for each in asking:
    each.start()
for each in asking:
    each.join()
"""


@pytest.mark.once
def test_of_many_refused_requests_none_is_lost(net, trust):
    # Faster than they can be recorded, and the program ends as soon as it has the last answer.
    done, report = net.python(MANY, "1200", options=["--policy", net.document(RULES)], env=trust, timeout=120)
    done.expect(0)
    assert {r["status"]: r["count"] for r in report["requests"]} == {None: 1200}, report["requests"]
    assert sum(d["count"] for d in report["denials"] if d["what"] == "request") == 1200
    log = "".join(p.read_text() for p in (net.home / ".local/state/cordon/audit").glob("2*.jsonl"))
    assert sum('"action":"request"' in line and '"denied"' in line for line in log.splitlines()) == 1200


@pytest.mark.once
def test_explain_request(net):
    def explain(*words):
        return net.execute([net.cordon, "policy", "explain", *words])
    policy = net.document(RULES)
    url = f"https://{HOST}/v1/models"
    assert explain("--policy", policy, "request", "GET", url).status == 0
    done = explain("--policy", policy, "request", "DELETE", url)
    assert done.status == 1 and f"--http 'DELETE {HOST}/v1/models'" in done.out, done.account()
    done = explain("--policy", policy, "--http", f"DELETE {HOST}/v1/models", "request", "DELETE", url)
    assert done.status == 0, done.account()
    done = explain("request", "GET", "https://good.example/a")
    assert done.status == 1 and "change: --http 'GET good.example/a'" in done.out, done.account()
    assert explain("request", "GET").status == 2
    assert explain("request", "GET", "http://good.example/").status == 2


def test_a_dead_gate_opens_nothing(net, trust):
    script = ASK.replace("for line in sys.argv[1:]:",
                         "print('begun', flush=True); sys.stdin.readline()\nfor line in sys.argv[1:]:")
    process = net.start([net.cordon, "run", "--policy", net.document(RULES), "--", "/usr/bin/python3", "-c", script,
                         "GET /v1/a"], stdin=-1, stdout=-1, text=True, env=trust)
    assert process.stdout.readline() == "begun\n"
    gates = children_called(process.pid, "cordon-gate")
    assert len(gates) == 1
    os.kill(gates[0], 9)
    out, _ = process.communicate("\n", timeout=60)
    assert out.startswith("failed"), out


def children_called(top, name):
    """Processes below `top` with that name."""
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{pid}/stat").read()
        except OSError:
            continue
        called, rest = words[words.index("(") + 1:words.rindex(")")], words[words.rindex(")") + 2:].split()
        parents[int(pid)] = (int(rest[1]), called)
    found = []
    for pid, (parent, called) in parents.items():
        while parent and parent != top:
            parent = parents.get(parent, (0, ""))[0]
        if parent == top and called == name:
            found.append(pid)
    return found
