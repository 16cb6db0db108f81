"""The person's ssh agent inside: it lists and signs, for who may reach the port of ssh, and does nothing else."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from support import harness
from support.internet import allow

SSH = "ssh -p 2222 -o StrictHostKeyChecking=yes -o LogLevel=ERROR -o BatchMode=yes"
OPTIONS = ["--ssh-agent", *allow("good.example"), "--env", f"GIT_SSH_COMMAND={SSH}"]


class Agent:
    """An agent with one key, and the world whose command uses it."""

    def __init__(self, world, key):
        self.world = world
        self.socket = world.path / "agent.sock"
        self.process = subprocess.Popen([*world.who.prefix, "ssh-agent", "-D", "-a", str(self.socket)],
                                        env=world.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert harness.wait_until(self.answers)
        self.env = {"SSH_AUTH_SOCK": str(self.socket)}
        self.outside("ssh-add", "-q", key).expect(0)

    def answers(self):
        """The socket has its name a moment before anybody listens at it."""
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(self.socket)) == 0

    def outside(self, *words):
        return self.world.bare(*words, env=self.env)

    def keys(self):
        return self.outside("ssh-add", "-L").out.splitlines()


@pytest.fixture
def agent(net, internet):
    source = internet.directory / "for-clients/client_key"
    key = net.trusted / "client_key"
    shutil.copy(source, key)
    net.own(key).chmod(0o600)
    made = Agent(net, key)
    yield made
    made.process.send_signal(signal.SIGTERM)
    made.process.wait(40)


def host_key(world, name="good.example"):
    lines = world.bare("ssh-keyscan", "-p", "2222", name).out.splitlines()
    return next(line for line in lines if not line.startswith("#"))


def test_git_logs_in_with_a_key_that_stays_outside(net, agent):
    line = host_key(net)
    net.write(net.home / ".ssh/known_hosts", f"{line}\nelsewhere.example ssh-ed25519 AAAA\n", 0o600)
    done, report = net.report("git", "clone", "-q", "ssh://git@good.example/repo", "one", options=OPTIONS,
                              env=agent.env)
    done.expect(0)
    assert (net.project / "one/file").read_text() == "content\n"
    assert report["policy"]["net"]["ssh_agent"] is True and report["denials"] == []
    assert {"net.ssh_agent"} <= {c["rule"] for c in report["connections"]}
    # Without the option neither the agent nor the lines are there.
    refused = net.run("git", "clone", "-q", "ssh://git@good.example/repo", "two",
                      options=[o for o in OPTIONS if o != "--ssh-agent"], env=agent.env)
    assert refused.status != 0 and not (net.project / "two").exists(), refused.account()


def test_lines_of_other_hosts_stay_outside_and_hashed_ones_are_found(net, agent):
    line = host_key(net)
    net.write(net.home / ".ssh/known_hosts", f"{line}\n", 0o600)
    # By whoever tests: the program wants an account, and the ordinary user has none.
    subprocess.run(["ssh-keygen", "-H", "-f", net.home / ".ssh/known_hosts"], check=True, capture_output=True)
    hashed = (net.home / ".ssh/known_hosts").read_text()
    assert hashed.startswith("|1|")
    net.write(net.home / ".ssh/known_hosts", hashed + "elsewhere.example ssh-ed25519 AAAA\n", 0o600)
    shown = net.run("sh", "-c", "cat ~/.ssh/known_hosts; ls -a ~/.ssh", env=agent.env, options=[
        "--ssh-agent", *allow("good.example:22", "good.example:2222")]).expect(0)
    assert shown.out.splitlines() == [line, ".", "..", "known_hosts"], shown.account()


# What the agent is asked, as bytes: its length and its kind.
ASK = """
import os, socket, struct, sys
def ask(body):
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["SSH_AUTH_SOCK"])
    s.sendall(struct.pack(">I", len(body)) + body)
    size = s.recv(4, socket.MSG_WAITALL)
    return s.recv(struct.unpack(">I", size)[0], socket.MSG_WAITALL)[0] if size else "closed"
for word in sys.argv[1:]:
    print(ask(bytes.fromhex(word)))
"""
LIST, REMOVE_ALL, LOCK, ADD, LOAD, LONG_LIST = "0b", "13", "1600000001" "78", "1100000000", "140000000000000000", "0b00"


def test_nothing_but_list_and_sign_reaches_the_agent(net, agent):
    before = agent.keys()
    words = [LIST, REMOVE_ALL, LOCK, ADD, LOAD, LONG_LIST]
    done, report = net.report("/usr/bin/python3", "-c", ASK, *words, options=OPTIONS, env=agent.env)
    assert done.expect(0).out.split() == ["12", "5", "5", "5", "5", "5"], done.account()
    assert agent.keys() == before and len(before) == 1
    told = [d for d in report["denials"] if d["what"] == "ssh-agent"]
    assert {d["detail"].split(":")[0] for d in told} == {"request 19", "request 22", "request 17", "request 20",
                                                         "request 11"}, report["denials"]
    # The control: the agent does each of them for who reaches it.
    bare = net.bare("/usr/bin/python3", "-c", ASK, LIST, REMOVE_ALL, env=agent.env).expect(0)
    assert bare.out.split() == ["12", "6"] and agent.keys() == ["The agent has no identities."]


LISTENER = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
print("listens", flush=True)
while True:
    one = s.accept()[0]
    one.recv(100)
    one.sendall(b"\\0\\0\\0\\5\\x0c\\0\\0\\0\\0")
    one.close()
"""


def test_a_socket_of_somebody_else_that_takes_the_name_is_not_spoken_to(net, agent):
    """The name is looked at when the run begins; who may rename there can lead it elsewhere."""
    inside = ASK + """
import time
open("ready", "w").close()
while not os.path.exists("go"):
    time.sleep(0.02)
try:
    print(ask(b"\\x0b"))
except OSError as error:
    print("refused", error.errno)
"""

    def asked_after(swap):
        for name in ("ready", "go"):
            (net.project / name).unlink(missing_ok=True)
        process = net.start([net.cordon, "run", *OPTIONS, "--", "/usr/bin/python3", "-c", inside, LIST],
                            stdout=subprocess.PIPE, env=agent.env)
        assert harness.wait_until((net.project / "ready").exists)
        swap()
        net.own(net.write(net.project / "go", ""))
        return process.communicate(timeout=60)[0].decode().split()

    # The control: nothing was led elsewhere.
    assert asked_after(lambda: None) == ["12", "12"]
    # Beside the worlds, which are closed to others.
    place = Path(tempfile.mkdtemp(prefix="cordon-other.", dir="/var/tmp"))
    os.chown(place, 64131, 64131)
    other = subprocess.Popen(["setpriv", "--reuid=64131", "--regid=64131", "--clear-groups", "--inh-caps=-all",
                              "/usr/bin/python3", "-c", LISTENER, str(place / "s")], stdout=subprocess.PIPE,
                             cwd="/")
    try:
        assert other.stdout.readline() == b"listens\n"

        def lead_elsewhere():
            os.rename(agent.socket, agent.socket.with_suffix(".old"))
            os.rename(place / "s", agent.socket)
            os.chown(agent.socket, net.who.uid, net.who.uid)
        assert asked_after(lead_elsewhere) == ["12", "refused", "111"]
    finally:
        other.kill()
        other.wait()
        shutil.rmtree(place)


def test_messages_that_end_early_or_are_too_long_end_the_connection(net, agent):
    script = ASK + """
import select
for head in [struct.pack(">I", 0), struct.pack(">I", 1 << 30) + b"x"]:
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["SSH_AUTH_SOCK"])
    s.sendall(head)
    print(s.recv(1))
held = []
for i in range(40):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(os.environ["SSH_AUTH_SOCK"])
        held.append(s)
    except OSError as error:
        print(error.errno)
        break
"""
    done = net.run("/usr/bin/python3", "-c", script, options=OPTIONS, env=agent.env).expect(0)
    assert done.out.split("\n")[:3] == ["b''", "b''", "24"], done.account()
    assert len(agent.keys()) == 1


@pytest.mark.parametrize("options, words", [
    (["--ssh-agent"], ["--ssh-agent", "--allow HOST:22"]),
    (["--ssh-agent", "--allow", "good.example:443"], ["--ssh-agent", "--allow HOST:22"]),
    (["--ssh-agent", "--net", "open"], ["--ssh-agent", "--allow HOST:22"])])
def test_it_is_lent_to_nobody_who_could_not_use_it(net, agent, options, words):
    refused = net.run("true", options=options, env=agent.env).expect(125)
    assert all(word in refused.err for word in words), refused.account()
    net.run("true", options=["--ssh-agent", "--allow", "good.example:22"], env=agent.env).expect(0)


def test_without_an_agent_it_is_refused(net, agent):
    options = ["--ssh-agent", "--allow", "good.example:22"]
    refused = net.run("true", options=options).expect(125)
    assert "SSH_AUTH_SOCK is not set" in refused.err and "ssh-add" in refused.err, refused.account()
    refused = net.run("true", options=options, env={"SSH_AUTH_SOCK": str(net.project / "file.txt")}).expect(125)
    assert "file.txt" in refused.err, refused.account()


def test_a_ceiling_has_to_say_so(net, agent):
    text = 'version = 1\n[fs]\nread = ["@system", "@toolchains"]\nwrite = ["@cwd"]\nhome = "private"\n' \
           '[net]\nmode = "allow"\nallow = ["good.example"]\n'
    ceiling = net.document(text, "ceiling.toml")
    options = ["--ceiling", ceiling, *OPTIONS]
    refused = net.run("true", options=options, env=agent.env).expect(125)
    assert "--ssh-agent" in refused.err and "ssh_agent = true" in refused.err, refused.account()
    # The line that it names is the one that helps; in a policy it is only left out.
    policy = net.document('version = 1\nextends = "workspace"\n[net]\nallow = ["good.example"]\nssh_agent = true\n')
    done, report = net.report("sh", "-c", "echo $SSH_AUTH_SOCK", options=["--ceiling", ceiling, "--policy", policy],
                              env=agent.env)
    assert done.expect(0).out == "\n"
    assert {"what": "ssh_agent", "asked": "true", "got": None, "because": "outside-ceiling"} in report["reductions"]
    net.document(text + "ssh_agent = true\n", "ceiling.toml")
    done = net.run("ssh-add", "-l", options=options, env=agent.env).expect(0)
    assert "client_key" in done.out or "ED25519" in done.out or "RSA" in done.out, done.account()


def test_it_is_never_for_mcp(net, agent):
    """Whatever the ceiling says: nobody typed the command that a model asks for."""
    ceiling = net.document('version = 1\n[fs]\nread = ["@system"]\nwrite = ["@cwd"]\n[net]\nmode = "allow"\n'
                           'allow = ["good.example"]\nssh_agent = true\n', "ceiling.toml")
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "run_code", "arguments": {"argv": ["/bin/sh", "-c", "echo sock ${SSH_AUTH_SOCK-none}"]}}}
    start = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
    lines = [start, {"jsonrpc": "2.0", "method": "notifications/initialized"}, call]
    server = net.start([net.cordon, "mcp", "--ceiling", ceiling], stdin=subprocess.PIPE,
                       env={**agent.env, "CORDON_ENABLE_RUN_CODE": "1"})
    server.stdin.write("".join(json.dumps(line) + "\n" for line in lines).encode())
    server.stdin.flush()
    # Its input stays open until it has answered: what still runs at the end of it is ended.
    answers = [json.loads(server.stdout.readline()) for _ in range(2)]
    server.communicate(timeout=60)
    text = json.dumps(answers[1])
    assert answers[1]["id"] == 2 and "sock none" in text and "ssh-agent" not in text, answers
