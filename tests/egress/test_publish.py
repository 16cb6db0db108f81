"""`[net] publish`: a server inside is reached at the host's loopback, and from nowhere else."""

import concurrent.futures
import contextlib
import hashlib
import json
import os
import re
import signal
import socket
from pathlib import Path

import pytest

from support import harness
from support.harness import free_port
from support.internet import allow, running

# Answers each connection with the digest of what came, after its end, and then as many bytes as the
# first line says.
SERVER = """
import hashlib, socket, sys, threading
family, where = (socket.AF_INET6, "::1") if sys.argv[2:] == ["six"] else (socket.AF_INET, "127.0.0.1")
server = socket.socket(family)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind((where, int(sys.argv[1])))
server.listen(256)
print("ready", flush=True)
def serve(one):
    stream = one.makefile("rb")
    size = int(stream.readline())
    digest = hashlib.sha256(stream.read()).hexdigest()
    one.sendall(digest.encode() + b"\\n" + b"abcdefgh" * (size // 8))
    one.close()
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"""


def policy(world, publish, more="", name="publish.toml"):
    return world.document(f'version = 1\nextends = "workspace"\n[net]\npublish = {publish}\n{more}',
                          name)


@contextlib.contextmanager
def published(world, port, publish, *words, more="", options=()):
    """A server inside, and a report of its run once it was told to end."""
    target = world.trusted / "report.json"
    argv = [world.cordon, "run", "--policy", policy(world, publish, more), *options, "--report",
            target, "--", "/usr/bin/python3", "-c", SERVER, port, *words]
    with running(world.start(argv)) as process:
        assert process.stdout.readline() == b"ready\n", process.stderr.read()
        yield process, target


def ask(port, data=b"", size=0, host="127.0.0.1"):
    with socket.create_connection((host, port), 60) as one:
        one.sendall(b"%d\n" % size + data)
        one.shutdown(socket.SHUT_WR)
        stream = one.makefile("rb")
        return stream.readline().decode().strip(), stream.read()


def report_of(process, target):
    os.kill(process.pid, signal.SIGTERM)
    process.wait(40)
    return json.loads(target.read_text())


def listening(port):
    """The addresses at which this host listens on a port."""
    found = []
    for name in ("tcp", "tcp6"):
        for line in Path("/proc/net", name).read_text().splitlines()[1:]:
            words = line.split()
            address, at = words[1].split(":")
            if words[3] == "0A" and int(at, 16) == port:
                found.append(address)
    return sorted(found)


LOOPBACKS = ["00000000000000000000000001000000", "0100007F"]


def test_a_server_inside_is_reached(world):
    port = free_port()
    data = os.urandom(1 << 20)
    with published(world, port, f'["{port}"]') as (process, target):
        digest, answer = ask(port, data, size=4 << 20)
        assert digest == hashlib.sha256(data).hexdigest()
        assert answer == b"abcdefgh" * (1 << 19)
        assert ask(port, b"more")[0] == hashlib.sha256(b"more").hexdigest()
        assert set(listening(port)) <= set(LOOPBACKS) and "0100007F" in listening(port)
        report = report_of(process, target)
    [entry] = report["published"]
    assert (entry["host_port"], entry["port"], entry["connections"], entry["refused"]) == (
        port, port, 2, 0)
    assert entry["received"] == len(data) + len("4194304\n0\nmore")
    assert entry["sent"] == (4 << 20) + 2 * 65
    assert report["policy"]["net"] == {"mode": "none", "allow": [], "deny": [],
                                       "publish": [str(port)], "sockets": [], "ssh_agent": False}
    assert listening(port) == []


def test_without_it_nothing_is_reached(world):
    port = free_port()
    with published(world, port, "[]"):
        with pytest.raises(ConnectionRefusedError):
            ask(port)


def test_another_port_and_the_other_family(world):
    outside, inside = free_port(), free_port()
    with published(world, inside, f'["{outside}:{inside}"]', "six"):
        assert ask(outside, b"x")[0] == hashlib.sha256(b"x").hexdigest()
        assert ask(outside, b"x", host="::1")[0] == hashlib.sha256(b"x").hexdigest()
        assert listening(inside) == []


def test_from_another_host_it_is_not_reached(net, internet):
    """The control: what listens at every address of the host is."""
    far = ["nsenter", "-t", str(harness.descendants(internet.pid)[0]), "-n"]
    if os.geteuid() != 0:
        far += ["-U", "--preserve-credentials"]
    script = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 20)"
    def reach(place, address, port):
        return net.bare(*place, "/usr/bin/python3", "-c", script, address, port).status == 0
    with published(net, 8090, '["8090"]'):
        assert reach([], "127.0.0.1", 8090)
        assert not reach([], "198.51.100.2", 8090)
        if net.who.is_root:
            assert reach(far, "198.51.100.2", 8082), "the control is broken"
            assert not reach(far, "198.51.100.2", 8090)


def test_a_port_that_is_taken(world):
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        done = world.run("touch", "started", options=["--policy", policy(world, f'["{port}"]')])
        done.expect(125)
        assert f"127.0.0.1:{port}" in done.err, done.account()
        assert not (world.project / "started").exists()
        other = re.search(r"publish (\d+):(\d+)\n", done.err)
        assert other and other[1] != other[2] == str(port), done.account()
    world.run("touch", "started", options=["--policy", policy(world, f'["{port}"]')]).expect(0)
    assert (world.project / "started").exists()


@pytest.mark.only("user")
def test_a_port_of_the_system_is_refused_to_a_user(world):
    done = world.run("true", options=["--publish", "80"]).expect(125)
    advice = re.search(r"below 1024 are for root: publish (\d+:80)\n", done.err)
    assert advice, done.account()
    again = world.run("true", options=["--publish", advice[1]])
    # Somebody else may listen there; the cause that was named is gone.
    assert again.status == 0 or "Address already in use" in again.err, again.account()


def test_nobody_at_home(world):
    port = free_port()
    with published(world, free_port(), f'["{port}"]') as (process, target):
        # The reset may come before connect has returned.
        with pytest.raises(ConnectionResetError):
            with socket.create_connection(("127.0.0.1", port), 20) as one:
                one.recv(1)
        report = report_of(process, target)
    assert report["published"][0]["refused"] == 1 and report["published"][0]["connections"] == 0


def test_a_ceiling_lists_what_may_be_published(world):
    one, other = free_port(), free_port()
    ceiling = 'version = 1\n[fs]\nread = ["/"]\nwrite = ["@cwd"]\n[net]\n'
    asked = f'["{one}", "{other}"]'
    options = ["--ceiling", world.document(ceiling + f'publish = ["{one}"]\n', "ceiling.toml")]
    with published(world, one, asked, options=options) as (process, target):
        assert ask(one, b"x")[0]
        assert listening(other) == []
        report = report_of(process, target)
    assert report["policy"]["net"]["publish"] == [str(one)]
    assert {"what": "publish", "asked": str(other), "got": None,
            "because": "outside-ceiling"} in report["reductions"]
    options = ["--ceiling", world.document(ceiling, "ceiling.toml")]
    with published(world, one, asked, options=options):
        with pytest.raises(ConnectionRefusedError):
            ask(one)


def test_explain_agrees(world):
    where = policy(world, '["8080", "9000:90"]')
    for word, status in (("8080", 0), ("9000:90", 0), ("9000", 1), ("90", 1), ("x", 2)):
        done = world.cordon_verb("policy", "explain", "--policy", where, "publish", word)
        assert done.status == status, done.account()


@pytest.mark.parametrize("value", ['["0"]', '["65536"]', '["127.0.0.1:80"]', "[8080]", '"8080"',
                                   '["80-90"]'])
def test_what_is_no_port_is_refused(world, value):
    done = world.run("true", options=["--policy", policy(world, value)]).expect(125)
    assert "publish" in done.err, done.account()


def test_beside_an_open_network_it_is_refused(world):
    done = world.run("true", options=["--policy", policy(world, '["8080"]', 'mode = "open"\n')])
    assert "contradicts" in done.expect(125).err


def test_beside_allowed_hosts(net):
    with published(net, 8091, '["8091"]', options=allow("good.example")) as (process, target):
        script = ("import socket; s = socket.create_connection(('127.0.0.1', 8091)); "
                  "s.sendall(b'0\\nx'); s.shutdown(1); print(len(s.recv(100)))")
        assert net.bare("/usr/bin/python3", "-c", script).expect(0).out == "65\n"


def test_the_sandbox_reaches_nothing_by_it(world):
    """The host's own servers stay where they are: inside, loopback is the sandbox's."""
    port = free_port()
    with socket.create_server(("127.0.0.1", 0)) as secret:
        number = secret.getsockname()[1]
        options = ["--policy", policy(world, f'["{port}"]')]
        world.denied("connect", f"127.0.0.1:{number}", options=options,
                     errors=harness.NET_ERRORS)


@pytest.mark.only("user")
def test_more_callers_than_are_served_at_once(world):
    port = free_port()
    with published(world, port, f'["{port}"]') as (process, target):
        data = os.urandom(300_000)
        with concurrent.futures.ThreadPoolExecutor(200) as pool:
            digests = set(pool.map(lambda _: ask(port, data, 80_000)[0], range(400)))
        assert digests == {hashlib.sha256(data).hexdigest()}
        report = report_of(process, target)
    assert report["published"][0]["connections"] == 400


def test_when_cordon_is_killed_the_port_is_free(world):
    port = free_port()
    with published(world, port, f'["{port}"]') as (process, _):
        with socket.create_connection(("127.0.0.1", port), 20) as one:
            one.sendall(b"5\n")
            os.kill(process.pid, signal.SIGKILL)
            assert harness.wait_until(lambda: listening(port) == [], harness.SOON)
            one.settimeout(30)
            with contextlib.suppress(ConnectionResetError):
                assert one.recv(1) == b""
