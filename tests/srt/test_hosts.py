"""Domain rules of sandbox-runtime, and rules that arrive while a command runs."""

import json
import os
import select
import socket
import struct
import subprocess

import pytest

from dropin import document, program, settings, srt
from support import harness
from support.internet import running

pytestmark = pytest.mark.once

FETCH = """
import sys, urllib.request
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, timeout=20).read().decode().split()[0])
    except Exception as error:
        print("failed")
"""
# One URL a line from standard input, one answer a line.
SERVE = """
import sys, urllib.request
for line in sys.stdin:
    try:
        print(urllib.request.urlopen(line.strip(), timeout=20).read().decode().split()[0], flush=True)
    except Exception as error:
        print("failed", flush=True)
"""


def fetch(net, hosts, *urls, **more):
    done = srt(net, "/usr/bin/python3", "-c", FETCH, *[f"http://{url}/" for url in urls],
               rules={"hosts": hosts, **more})
    return done.expect(0).out.split()


def test_the_control_reaches_everything(net):
    done = net.bare("/usr/bin/python3", "-c", FETCH, "http://good.example/", "http://other.example/",
                    "http://private.example/")
    assert done.expect(0).out.split() == ["far"] * 3


@pytest.mark.parametrize("hosts, denied, verdicts", [
    ([], [], "- - - -"),
    (["good.example"], [], "+ - - -"),
    (["*.good.example"], [], "- + + -"),
    (["GOOD.example", "*.good.example"], ["api.good.example"], "+ - + -"),
    (["good.example:80", "other.example:81"], [], "+ - - -"),
    (["good.example", "other.example"], ["*.good.example"], "+ - - +"),
    (["good.example", "other.example"], ["*"], "- - - -"),
    (["good.example", "other.example"], ["*:80"], "- - - -"),
    (["good.example", "other.example"], ["*:22"], "+ - - +"),
    (["good.example"], ["203.0.113.10"], "- - - -")])
def test_domains(net, hosts, denied, verdicts):
    got = fetch(net, hosts, "good.example", "api.good.example", "deep.api.good.example",
                "other.example", denied=denied)
    assert got == [{"+": "far", "-": "failed"}[v] for v in verdicts.split()]


def test_names_that_lead_elsewhere(net):
    names = ["private.example", "metadata.example", "loop.example:8081", "host.example", "10.1.2.3",
             "203.0.113.10", "evilgood.example"]
    hosts = [name for name in names if name[0].isalpha() and name != "evilgood.example"]
    assert fetch(net, [*hosts, "*.good.example"], *names) == ["failed"] * len(names)
    assert fetch(net, ["203.0.113.10"], "203.0.113.10") == ["far"]
    assert fetch(net, ["good.example"], "good.example",
                 network={"deniedResolvedAddresses": ["203.0.113.0/24"]}) == ["failed"]


def test_the_hosts_loopback_by_address_and_port(net):
    """In sandbox-runtime a program has to be talked out of NO_PROXY for this."""
    assert fetch(net, ["127.0.0.1:8081"], "127.0.0.1:8081", "127.0.0.1:8082") == ["host", "failed"]
    assert fetch(net, [], "127.0.0.1:8081") == ["failed"]


def test_local_sockets_of_the_host_are_not_reached(world):
    """Not even with allowAllUnixSockets: it gives the host's services away."""
    place = world.project / "host.sock"
    script = ("import socket, sys\n"
              "socket.socket(socket.AF_UNIX).connect(sys.argv[1])\n")
    inside = ("import os, socket\n"
              "own = os.environ['TMPDIR'] + '/own.sock'\n"
              "server = socket.socket(socket.AF_UNIX); server.bind(own); server.listen()\n"
              "socket.socket(socket.AF_UNIX).connect(own)\n")
    with socket.socket(socket.AF_UNIX) as host:
        host.bind(str(place))
        host.listen()
        world.own(place)
        place.chmod(0o777)
        for more in ({}, {"network": {"allowAllUnixSockets": True}}):
            done = srt(world, "/usr/bin/python3", "-c", script, place, rules=more)
            assert done.status == 1 and "PermissionError" in done.err, done.account()
            srt(world, "/usr/bin/python3", "-c", inside, rules=more).expect(0)
        world.bare("/usr/bin/python3", "-c", script, str(place)).expect(0)


def line_of(stream):
    assert select.select([stream], [], [], 30)[0], "nothing was said"
    return stream.readline().decode()


class Conversation:
    """A command that fetches on demand, and the channel that carries settings to its sandbox."""

    def __init__(self, net, rules, *options, descriptor=20, env=None):
        self.theirs, self.ours = os.pipe()
        os.dup2(self.theirs, descriptor, inheritable=True)
        os.close(self.theirs)
        path = settings(net, **rules)
        self.process = net.start([program(), *options, "-s", path, "--control-fd", descriptor,
                                  "/usr/bin/python3", "-c", SERVE], pass_fds=[descriptor],
                                 stdin=subprocess.PIPE, bufsize=0, env=env)
        os.close(descriptor)

    def fetch(self, url):
        self.process.stdin.write(f"http://{url}/\n".encode())
        return line_of(self.process.stdout).split()[0]

    def send(self, text):
        os.write(self.ours, text.encode() if isinstance(text, str) else text)

    def update(self, **rules):
        self.send(json.dumps(document(**rules)) + "\n")

    def heard(self):
        """The next line on standard error."""
        return line_of(self.process.stderr)

    def end(self):
        os.close(self.ours)
        _, err = self.process.communicate(timeout=60)
        return self.process.returncode, err.decode()


def test_rules_are_replaced_while_a_command_runs(net):
    files = {"allowWrite": ["."], "denyRead": ["~/private"]}
    talk = Conversation(net, {"hosts": [], **files}, "-d")
    with running(talk.process):
        assert talk.fetch("good.example") == "failed"
        wait_for(talk, "Listening")
        for hosts in (["good.example"], ["other.example"], []):
            talk.update(hosts=hosts, **files)
            updated = wait_for(talk, "Config updated")
            assert ("allowed: " + ", ".join(hosts) in updated) if hosts else "allowed" not in updated
            for name in ("good.example", "other.example"):
                assert talk.fetch(name) == ("far" if name in hosts else "failed"), (name, hosts)
        status, _ = talk.end()
        assert status == 0
    records = [json.loads(line) for file in (net.home / ".local/state/cordon/audit").glob("*.jsonl")
               for line in file.read_text().splitlines()]
    assert [r["outcome"] for r in records if r["action"] == "srt_update"] == ["pending",
                                                                            "success"] * 3


def wait_for(talk, word):
    while True:
        line = talk.heard()
        assert line, f"{word!r} was never said"
        if word in line:
            return line


@pytest.mark.parametrize("line, reason", [
    ("nonsense", "control fd 20"), ("[]", "table"),
    (json.dumps(document(hosts=["*"])), "*"),
    (json.dumps(document(hosts=["good.example"], allowWrite=["/usr/local"])), "filesystem"),
    (json.dumps(document(hosts=["good.example"], top={"credentials": {"envVars": []},
                                                      "seccomp": {"applyPath": "/x"}})), "seccomp"),
    (json.dumps(document(hosts=["good.example"], network={"httpProxyPort": 1})), "httpProxyPort"),
    (json.dumps({"network": {"allowedDomains": ["good.example"]}, "filesystem": {}}),
     "deniedDomains")])
def test_lines_that_cannot_be_applied_change_nothing(net, line, reason):
    """There a part that cannot be applied is ignored without a word."""
    talk = Conversation(net, {"hosts": ["other.example"]})
    with running(talk.process):
        assert talk.fetch("other.example") == "far"
        talk.send(line + "\n")
        said = wait_for(talk, "Invalid config on control fd 20")
        assert "previous config still in force" in said
        assert reason in talk.heard()
        assert talk.fetch("good.example") == "failed" and talk.fetch("other.example") == "far"
        assert talk.end()[0] == 0


def test_ceilings_bound_what_arrives(net):
    ceiling = net.document('version = 1\n[fs]\nread = ["/"]\n[net]\nmode = "allow"\n'
                           'allow = ["good.example"]\n', "ceiling.toml")
    talk = Conversation(net, {"hosts": []}, "-d", env={"CORDON_CEILING": str(ceiling)})
    with running(talk.process):
        assert talk.fetch("good.example") == "failed"
        talk.update(hosts=["good.example", "other.example"])
        wait_for(talk, "Config updated")
        assert talk.fetch("good.example") == "far" and talk.fetch("other.example") == "failed"
        talk.end()


def test_the_command_does_not_have_the_channel(net):
    talk = Conversation(net, {"hosts": []})
    with running(talk.process):
        assert talk.fetch("good.example") == "failed"
        inside = [pid for pid in harness.descendants(talk.process.pid)
                  if os.path.exists(f"/proc/{pid}/fd/20")
                  and b"urllib" in open(f"/proc/{pid}/cmdline", "rb").read()
                  and b"--control-fd" not in open(f"/proc/{pid}/cmdline", "rb").read()]
        assert inside == []
        talk.end()


def test_the_end_of_the_channel_is_no_failure(net):
    talk = Conversation(net, {"hosts": ["good.example"]})
    with running(talk.process):
        assert talk.fetch("good.example") == "far"
        talk.send(json.dumps(document(hosts=["other.example"])))  # the last line needs no end
        os.close(talk.ours)
        talk.ours = os.open("/dev/null", os.O_WRONLY)
        assert harness.wait_until(lambda: talk.fetch("other.example") == "far", step=0.1)
        assert talk.fetch("good.example") == "failed"
        assert talk.end()[0] == 0


def test_a_channel_that_breaks_before_anything_came_ends_the_run(world):
    """Whoever asked for it counts on it, perhaps to take something away."""
    marker = f"701.{os.getpid()}{world.who.uid}"
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        theirs, _ = server.accept()
    os.dup2(theirs.fileno(), 20, inheritable=True)
    theirs.close()
    process = world.start([program(), "--control-fd", 20, "-c", f"echo on; sleep {marker}; :"],
                          pass_fds=[20])
    os.close(20)
    with running(process):
        assert process.stdout.readline() == b"on\n"
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        ours.close()  # a reset, not an end
        _, err = process.communicate(timeout=60)
        assert process.returncode == 1 and b"control fd 20" in err, err
    assert harness.wait_until(lambda: not harness.processes_with(marker), harness.SOON)


def test_descriptors_that_are_no_channel(world):
    with open(world.project / "file.txt", "rb") as stream:
        os.dup2(stream.fileno(), 20, inheritable=True)
        directory = os.open(world.project, os.O_RDONLY)
        os.dup2(directory, 21, inheritable=True)
        writer = os.open("/dev/null", os.O_WRONLY)
        os.dup2(writer, 22, inheritable=True)
        try:
            for descriptor in (21, 22):
                done = world.execute([program(), "--control-fd", descriptor, "echo", "ran"],
                                     pass_fds=[descriptor]).expect(1)
                assert done.out == "" and "not usable" in done.err, done.account()
            done = world.execute([program(), "--control-fd", 20, "sleep", "1"], pass_fds=[20])
            assert "Invalid config on control fd 20" in done.expect(0).err
        finally:
            for descriptor in (20, 21, 22, directory, writer):
                os.close(descriptor)
