"""The processes of the small internet: sets up both namespaces, then serves until it is killed."""

from __future__ import annotations

import http.server
import json
import os
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support import internet, stand_ins  # noqa: E402


def run(*words: str) -> None:
    subprocess.run(words, check=True)


class Web(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        local = self.connection.getsockname()[0].removeprefix("::ffff:")
        if self.path.startswith("/bytes/"):
            self.send_response(200)
            self.send_header("Content-Length", self.path.split("/")[2])
            self.end_headers()
            left, block = int(self.path.split("/")[2]), b"0123456789abcdef" * 4096
            while left > 0:
                self.wfile.write(block[:left])
                left -= len(block)
            return
        if self.path.startswith("/redirect/"):
            self.send_response(302)
            self.send_header("Location", "http://" + self.path.removeprefix("/redirect/") + "/")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = f"{self.server.place} {local} {self.headers.get('Host')}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class WebServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, family, address, place):
        self.address_family = family
        self.place = place
        super().__init__(address, Web, bind_and_activate=False)
        if family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        self.server_bind()
        self.server_activate()


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(65536):
            self.request.sendall(data)


class Sink(socketserver.BaseRequestHandler):
    """Takes everything, and says nothing but that it has come to an end."""

    def handle(self):
        while self.request.recv(1 << 20):
            pass


class EchoServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 1024


def serve(server):
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()


def answer(zone, turns, query, log):
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode("ascii", "replace").lower())
        at += query[at] + 1
    name = ".".join(labels)
    kind, = struct.unpack_from("!H", query, at + 1)
    with log.open("a") as stream:
        stream.write(name + "\n")
    # "ONCE--NAME" is NAME with turns of its own.
    addresses = zone.get(name.rpartition("--")[2])
    known = addresses is not None
    if addresses and isinstance(addresses[0], list):
        turn = turns.get((name, kind), 0)
        turns[name, kind] = turn + 1
        addresses = addresses[min(turn, len(addresses) - 1)]
    records = b""
    count = 0
    for text in addresses or ():
        family = socket.AF_INET6 if ":" in text else socket.AF_INET
        if kind == (28 if family == socket.AF_INET6 else 1):
            packed = socket.inet_pton(family, text)
            records += struct.pack("!HHHIH", 0xc00c, kind, 1, 0, len(packed)) + packed
            count += 1
    header = query[:2] + struct.pack("!HHHHH", 0x8180 | (0 if known else 3), 1, count, 0, 0)
    return header + query[12:at + 5] + records


def name_server(server, directory):
    zone = json.loads((directory / "zone.json").read_text())
    log, turns = directory / "queries", {}
    with server:
        while True:
            query, sender = server.recvfrom(4096)
            try:
                server.sendto(answer(zone, turns, query, log), sender)
            except (IndexError, struct.error):
                pass  # not a question


def wait_for_listeners(*places):
    """Of a program that says nothing when it is ready. Where it does not start, what asks it will tell."""
    end = time.monotonic() + 30
    for place in places:
        while time.monotonic() < end:
            with socket.socket() as client:
                if client.connect_ex(place) == 0:
                    break
            time.sleep(0.005)


def far(directory):
    while not Path("/sys/class/net/far").exists() and subprocess.run(
            ["ip", "link", "show", "far"], capture_output=True).returncode:
        time.sleep(0.005)
    run("ip", "link", "set", "lo", "up")
    run("ip", "addr", "add", "198.51.100.1/24", "dev", "far")
    run("ip", "-6", "addr", "add", "2001:db8:1::1/64", "dev", "far", "nodad")
    run("ip", "link", "set", "far", "up")
    for address in internet.SERVERS:
        run("ip", "addr", "add", f"{address}/32", "dev", "lo")
    for address in internet.SERVERS6:
        run("ip", "-6", "addr", "add", f"{address}/128", "dev", "lo", "nodad")
    for port in (80, 8080):
        serve(WebServer(socket.AF_INET, ("0.0.0.0", port), "far"))
        serve(WebServer(socket.AF_INET6, ("::", port), "far"))
    serve(EchoServer(("0.0.0.0", 7), Echo))
    serve(EchoServer(("0.0.0.0", 9), Sink))
    repository = directory / "git/repo"
    repository.mkdir(parents=True)
    (repository / "file").write_text("content\n")
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    run(*git, "init", "-q")
    run(*git, "add", "file")
    run(*git, "commit", "-q", "-m", "first")
    subprocess.Popen(["git", "daemon", "--export-all", "--reuseaddr",
                      f"--base-path={directory / 'git'}", "--listen=203.0.113.10",
                      "--listen=203.0.113.11"], env={**os.environ, "HOME": str(directory)})
    stand_ins.start(directory, repository)
    stand_ins.witness(directory, directory / "reached-far")
    wait_for_listeners(*((internet.ZONE[name][0], 9418) for name in ("good.example", "other.example")))
    # A host that never answers: nothing has its address, and nobody says so.
    run("ip", "route", "add", "blackhole", "203.0.113.200/32")
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind((internet.NAME_SERVER, 53))
    threading.Thread(target=name_server, args=(names, directory), daemon=True).start()


def host(directory, other):
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", str(other))
    run("ip", "addr", "add", "198.51.100.2/24", "dev", "near")
    run("ip", "-6", "addr", "add", "2001:db8:1::2/64", "dev", "near", "nodad")
    run("ip", "link", "set", "near", "up")
    run("ip", "route", "add", "default", "via", "198.51.100.1")
    run("ip", "-6", "route", "add", "default", "via", "2001:db8:1::1")
    run("mount", "--bind", str(directory / "resolv.conf"), "/etc/resolv.conf")
    run("mount", "--bind", str(directory / "hosts"), "/etc/hosts")
    serve(WebServer(socket.AF_INET, ("127.0.0.1", 8081), "host loopback"))
    serve(WebServer(socket.AF_INET6, ("::1", 8081), "host loopback"))
    serve(WebServer(socket.AF_INET, ("0.0.0.0", 8082), "host"))


def wait_for(other):
    """A word of the other side; one that died says nothing, and then nobody is to wait."""
    if not os.read(other, 1):
        raise SystemExit("the servers' side of the small internet did not come up")


def main():
    directory, ready = Path(sys.argv[1]), int(sys.argv[2])
    began, made = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(began)
        os.close(ready)
        import ctypes
        if ctypes.CDLL(None, use_errno=True).unshare(0x40000000) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        os.write(made, b"n")
        far(directory)
        os.write(made, b"s")
        threading.Event().wait()
    os.close(made)
    wait_for(began)
    host(directory, child)
    wait_for(began)
    stand_ins.witness(directory, directory / "reached-host")
    os.write(ready, b"ready\n")
    os.close(ready)
    threading.Event().wait()


if __name__ == "__main__":
    main()
