#!/usr/bin/env python3
"""What the gate costs beside TLS without it, on this machine's loopback.

  tests/bench/gate.py [--rounds N] [--megabytes N] [--write]

One server, in a process of its own, is asked directly over TLS and through cordon-gate, in the clear and under the real
name, all in turn in one run; the client is the same. Printed are medians: the first request over a new connection with
its handshakes, a following one, one token of a stream that answers each byte with one, and the speed of a download as a
share of the direct one. Targets: at most 2 ms, 0.3 ms and 1 ms more, and half the speed. The supervisor here is Python,
and its part is in the first two. --write puts the figures into docs/performance.md.
"""

import argparse
import os
import ssl
import statistics
import socket
import sys
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "gate")]

import gates  # noqa: E402

PAGE = TESTS.parent / "docs/performance.md"
MARKS = ("<!-- begin gate -->\n", "<!-- end gate -->\n")
HEAD = """## Requests through the gate

Written by `tests/bench/gate.py --write`; no figure here was typed. One server on the loopback, asked in turn directly
over TLS and through `cordon-gate`, in the clear (as by a base address) and over TLS under the real name; medians. The
supervisor was a Python program, whose answers are part of the first two rows.

"""
PIECE = b"x" * (1 << 20)


def serve(peer, megabytes):
    while head := peer.head():
        if b"/tokens" in head:
            peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while peer.connection.recv(8):
                peer.send(b"7\r\ndata: x\r\n")
            return
        if b"/bulk" in head:
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (megabytes << 20))
            for _ in range(megabytes):
                peer.send(PIECE)
        else:
            peer.answer()


def start_server(context, megabytes):
    """In another process, so that client and server do not share an interpreter; its port and its number."""
    port, told = os.pipe()
    child = os.fork()
    if child == 0:
        server = gates.Server(context, lambda peer: serve(peer, megabytes))
        os.write(told, str(server.port).encode())
        while True:
            time.sleep(3600)
    os.close(told)
    return int(os.read(port, 16)), child


def ways(port, gate, place):
    direct = ssl.create_default_context(cafile=place.authority.path)

    def connect():
        plain = socket.create_connection(("127.0.0.1", port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return direct.wrap_socket(plain, server_hostname=gates.API)
    return {"direct TLS": connect, "gate, plain": gate.connect, "gate, TLS": gate.connect_tls}


def request(connection, target="/"):
    connection.sendall(f"GET {target} HTTP/1.1\r\nHost: {gates.API}\r\n\r\n".encode())
    received = b""
    while not received.endswith(b"fine"):
        received += connection.recv(4096)


def first(connect):
    begin = time.perf_counter()
    connection = connect()
    request(connection)
    took = time.perf_counter() - begin
    connection.close()
    return took * 1000


def following(connect):
    connection = connect()
    times = []
    for _ in range(50):
        begin = time.perf_counter()
        request(connection)
        times.append(time.perf_counter() - begin)
    connection.close()
    return statistics.median(times) * 1000


def token(connect):
    """A byte of the request's body, and the token that answers it."""
    connection = connect()
    connection.sendall(f"POST /tokens HTTP/1.1\r\nHost: {gates.API}\r\nContent-Length: 1000\r\n\r\n".encode())
    while not connection.recv(4096).endswith(b"\r\n\r\n"):
        pass
    times = []
    for _ in range(50):
        begin = time.perf_counter()
        connection.sendall(b"x")
        while not connection.recv(64).endswith(b"x\r\n"):
            pass
        times.append(time.perf_counter() - begin)
    connection.close()
    return statistics.median(times) * 1000


def bulk(connect, megabytes):
    connection = connect()
    connection.sendall(f"GET /bulk HTTP/1.1\r\nHost: {gates.API}\r\n\r\n".encode())
    buffer, received, begin = bytearray(1 << 18), 0, time.perf_counter()
    while received < megabytes << 20:
        received += connection.recv_into(buffer)
    took = time.perf_counter() - begin
    connection.close()
    return received / took / 1e6


def measure(found, rounds, measured):
    """way -> median, each way once in every round."""
    values = {name: [] for name in found}
    for _ in range(rounds):
        for name, connect in found.items():
            values[name].append(measured(connect))
    return {name: statistics.median(taken) for name, taken in values.items()}


def table(found, rounds, megabytes):
    rows = [("first request, new connections", "ms", measure(found, rounds * 4, first)),
            ("following request", "ms", measure(found, rounds, following)),
            ("one token there and back", "ms", measure(found, rounds, token)),
            ("download", "MB/s", measure(found, rounds, lambda connect: bulk(connect, megabytes)))]
    lines = ["| | " + " | ".join(found) + " |", "|---" * (len(found) + 1) + "|"]
    for what, unit, values in rows:
        plain = values["direct TLS"]
        cells = []
        for name, value in values.items():
            beside = f"{value / plain:.2f}x" if unit == "MB/s" else f"{value - plain:+.2f}"
            cells.append(f"{value:.0f} {unit}" if unit == "MB/s" else f"{value:.2f} {unit}")
            if name != "direct TLS":
                cells[-1] += f" ({beside})"
        lines.append(f"| {what} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    place = gates.Place()
    port, server = start_server(place.context, given.megabytes)
    try:
        gate = place.gate(None, gates.rule(secret="key"), secrets=[gates.secret()], authority=True,
                          upstream={"api": port})
        text = table(ways(port, gate, place), given.rounds, given.megabytes)
    finally:
        os.kill(server, 9)
        os.waitpid(server, 0)
        place.remove()
    print(text, end="")
    if given.write:
        before, _, rest = PAGE.read_text().partition(MARKS[0])
        after = rest.partition(MARKS[1])[2]
        PAGE.write_text(f"{before.rstrip()}\n\n{MARKS[0]}{HEAD}{text}{MARKS[1]}{after}")


if __name__ == "__main__":
    main()
