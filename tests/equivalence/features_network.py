"""The network, and sockets of this machine."""

import contextlib
import socket
import threading
import time

from facts import Facts, Feature
from support import harness
from support.harness import NET_ERRORS

UNIX_ERRORS = NET_ERRORS | {"ENOENT"}
POLICY = 'version = 1\nextends = "workspace"\n'


def listening():
    return socket.create_server(("127.0.0.1", 0), backlog=64)


def port_of(server) -> int:
    return server.getsockname()[1]


@contextlib.contextmanager
def unix_server(place, path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen(8)
        if not str(path).startswith("\0"):
            place.own(path)
        yield server


def answered(place, attempts, options=()):
    """Of each attempt whether it succeeded. Failing for another reason than a refusal is an error."""
    answers = place.inside(attempts, options=options)
    for answer in answers:
        assert answer.ok or answer.ok is None or answer.errno in UNIX_ERRORS, answer
    return [answer.ok for answer in answers]


def none(place) -> Facts:
    with listening() as server:
        host, own = answered(place, [("connect", f"127.0.0.1:{port_of(server)}"), ("loopback",)])
    return Facts(works={"programs inside reach each other": bool(own)},
                 holds={"nothing of the host is reached": not host})


def allow(place) -> Facts:
    with listening() as named, listening() as other:
        given = ["--allow", f"127.0.0.1:{port_of(named)}"]
        one, two = answered(place, [("connect", f"127.0.0.1:{port_of(named)}"),
                                    ("connect", f"127.0.0.1:{port_of(other)}")], given)
    return Facts(works={"what is named is reached": bool(one)}, holds={"nothing else is": not two})


def deny(place) -> Facts:
    with listening() as named, listening() as other:
        one, two = (f"127.0.0.1:{port_of(server)}" for server in (named, other))
        text = f'{POLICY}[net]\nallow = ["{one}", "{two}"]\ndeny = ["{two}"]\n'
        reached, denied = answered(place, [("connect", one), ("connect", two)],
                                   ["--policy", place.document(text)])
    return Facts(works={"the rest is reached": bool(reached)}, holds={"it is not": not denied})


def connections(place) -> Facts:
    with listening() as server:
        where = f"127.0.0.1:{port_of(server)}"
        text = f'{POLICY}[net]\nallow = ["{where}"]\n[limits]\nconnections = 1\n'
        one, two = answered(place, [("connect", where)] * 2, ["--policy", place.document(text)])
    return Facts(works={"as many are made": bool(one)}, holds={"more are not": not two})


def take(server, rounds) -> None:
    """The peer of one connection: answers every 64 KiB, not at once, and goes after so many."""
    with contextlib.suppress(OSError), server.accept()[0] as peer:
        for _ in range(rounds):
            left = 1 << 16
            while left > 0:
                got = len(peer.recv(left))
                if got == 0:
                    return
                left -= got
            time.sleep(0.002)
            peer.sendall(b"x")


def sent(place) -> Facts:
    script = ("import socket, sys\ns = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
              "while True: s.sendall(bytes(1 << 16)); s.recv(1) and print('part', flush=True)\n")
    rounds = 256
    with listening() as server:
        port = port_of(server)
        text = f'{POLICY}[net]\nallow = ["127.0.0.1:{port}"]\n[limits]\nsent = "1M"\n'
        given = ["--policy", place.document(text)]
        answered(place, [("socketpair-stream",)], given)  # refused or not
        threading.Thread(target=take, args=(server, rounds), daemon=True).start()
        done, _ = place.contained("/usr/bin/python3", "-c", script, port, options=given)
    count = done.out.count("part")
    return Facts(works={"less is sent": count > 8},
                 holds={"it is ended": done.status == 137, "not much more is sent": count < rounds})


def open_network(place) -> Facts:
    with listening() as server, unix_server(place, "\0" + place.unique):
        host, abstract = answered(place, [("connect", f"127.0.0.1:{port_of(server)}"),
                                          ("abstract-connect", place.unique)], ["--net", "open"])
    facts = Facts(works={"the host's network is there": bool(host)})
    if abstract is not None:  # macOS has none
        facts.holds["abstract sockets are not"] = not abstract
    return facts


def publish(place) -> Facts:
    ports = harness.free_port(), harness.free_port()
    script = ("import socket, sys\n"
              "servers = [socket.create_server(('127.0.0.1', int(p))) for p in sys.argv[1:]]\n"
              "print('ready', flush=True)\n"
              "servers[0].accept()[0].sendall(b'hello')\nsys.stdin.read()\n")
    text = place.document(f'{POLICY}[net]\npublish = ["{ports[0]}"]\n')
    answered(place, [("socketpair-stream",)], ["--policy", text])  # refused or not
    command = ["/usr/bin/python3", "-c", script, *ports]
    process = place.start(place.command_line(command, ["--policy", text]), stdin=-1)
    try:
        assert process.stdout.readline() == b"ready\n", process.stderr.read()
        with socket.create_connection(("127.0.0.1", ports[0]), 30) as caller:
            reached = caller.recv(5) == b"hello"
        with socket.socket() as caller:
            other = caller.connect_ex(("127.0.0.1", ports[1])) == 0
    finally:
        harness.stop(process)
    return Facts(works={"a server inside is reached": reached}, holds={"no other is": not other})


def listed_sockets(place) -> Facts:
    listed, other = place.outside / "listed", place.outside / "other"
    with unix_server(place, listed), unix_server(place, other):
        place.permit_sockets(listed)
        text = f'{POLICY}[net]\nsockets = ["{listed}"]\n'
        one, two = answered(place, [("unix-connect", listed), ("unix-connect", other)],
                            ["--policy", place.document(text)])
    return Facts(works={"what is listed is reached": bool(one)}, holds={"nothing else is": not two})


def local_sockets(place) -> Facts:
    script = ("import os, socket\nos.chdir(os.environ.get('TMPDIR', '/tmp'))\n"
              "s = socket.socket(socket.AF_UNIX)\ns.bind('own')\ns.listen()\n"
              "c = socket.socket(socket.AF_UNIX)\nc.connect('own')\nprint('reached')\n"
              "a, b = socket.socketpair()\n")
    with unix_server(place, place.outside / "host"), unix_server(place, "\0" + place.unique):
        host = answered(place, [("unix-connect", place.outside / "host"),
                                ("abstract-connect", place.unique)])
        done, _ = place.contained("/usr/bin/python3", "-c", script)
    return Facts(works={"programs inside reach each other": "reached" in done.out},
                 holds={"the host's are out of reach": not any(host)})


FEATURES = [
    Feature("`net.mode = \"none\"`", none),
    Feature("`net.mode = \"allow\"`", allow),
    Feature("`net.deny`", deny),
    Feature("`net.mode = \"open\"`", open_network),
    Feature("`net.publish`", publish),
    Feature("`net.sockets`", listed_sockets),
    Feature("local sockets inside", local_sockets),
    Feature("`limits.connections`", connections),
    Feature("`limits.sent`", sent),
]
