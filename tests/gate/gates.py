"""Drives cordon-gate as a supervisor does: over its control socket, with sockets that are connected here.

Names are those of servers that listen on this machine's loopback and whose certificates were made for the test. A
Supervisor answers as it is told; by default every request may go and every dial is answered with a connection.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from support import harness

API = "api.example.com"
OTHER = "other.example.com"
SECRET = "sk-live-0123456789abcdefghij"
PLACEHOLDER = "cordon-placeholder-for-key-1"
OTHER_PLACEHOLDER = "cordon-placeholder-for-key-2"
TIMEOUT = 30


def alternative(host: str):
    """A name or an address, as a certificate has it."""
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


class Authority:
    """A certificate authority and what it signed."""

    def __init__(self, directory: Path, name: str) -> None:
        self.directory, self.name = directory, name
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._sign(name, self.key, None)
        self.path = directory / f"{name}.pem"
        self.path.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))

    def _sign(self, subject: str, key, hosts, days=(-1, 30)):
        now = datetime.now(timezone.utc)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
        issuer = name if hosts is None else self.certificate.subject
        builder = (x509.CertificateBuilder().subject_name(name).issuer_name(issuer).public_key(key.public_key())
                   .serial_number(x509.random_serial_number()).not_valid_before(now + timedelta(days=days[0]))
                   .not_valid_after(now + timedelta(days=days[1]))
                   .add_extension(x509.BasicConstraints(ca=hosts is None, path_length=None), critical=True))
        if hosts is not None:
            builder = builder.add_extension(x509.SubjectAlternativeName([alternative(h) for h in hosts]), False)
        return builder.sign(self.key, hashes.SHA256())

    def context(self, *hosts: str, days=(-1, 30)) -> ssl.SSLContext:
        """Of a server with a certificate for these names."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign(hosts[0], key, hosts, days)
        path = self.directory / f"server-{len(list(self.directory.iterdir()))}.pem"
        path.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                           serialization.NoEncryption()) +
                         certificate.public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context


class Peer:
    """One connection to a server: what came over it, and the means to answer."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self.connection = connection
        self.received = b""
        self._rest = b""

    def more(self) -> bytes:
        piece = self.connection.recv(65536)
        self.received += piece
        self._rest += piece
        return piece

    def head(self) -> bytes:
        """The next head; empty at the end."""
        while b"\r\n\r\n" not in self._rest:
            if not self.more():
                return b""
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        return head + b"\r\n\r\n"

    def exactly(self, count: int) -> bytes:
        while len(self._rest) < count:
            assert self.more(), "the body ended early"
        body, self._rest = self._rest[:count], self._rest[count:]
        return body

    def until(self, mark: bytes) -> bytes:
        while mark not in self._rest:
            assert self.more(), "the body ended early"
        body, _, self._rest = self._rest.partition(mark)
        return body + mark

    def drop(self) -> int:
        """Forgets what came behind the last head; how much that was."""
        count, self._rest, self.received = len(self._rest), b"", b""
        return count

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.connection.sendall(piece)

    def answer(self, body: bytes = b"fine", *fields: bytes, status: bytes = b"200 OK") -> None:
        head = b"".join(f + b"\r\n" for f in fields)
        self.send(b"HTTP/1.1 " + status + b"\r\nContent-Length: %d\r\n" % len(body) + head + b"\r\n" + body)


def answers_all(peer: Peer) -> None:
    while peer.head():
        peer.answer()


class Server:
    """A TLS server on the loopback. `serve` is called with each connection in a thread of its own."""

    def __init__(self, context: ssl.SSLContext | None, serve=answers_all) -> None:
        self.context, self.serve = context, serve
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.peers: list[Peer] = []
        self.handshakes_failed = 0
        self.accepting = threading.Thread(target=self._accept, daemon=True)
        self.accepting.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(TIMEOUT * 2)
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
        except OSError:
            self.handshakes_failed += 1
            connection.close()
            return
        peer = Peer(connection)
        self.peers.append(peer)
        try:
            self.serve(peer)
        except (OSError, AssertionError):
            pass
        finally:
            connection.close()

    @property
    def received(self) -> bytes:
        return b"".join(peer.received for peer in self.peers)

    def close(self) -> None:
        """Nobody waits for a connection any more when this returns. A thread that is in accept() begins it again after
        whatever interrupted it, by the number of a descriptor that may be another server's listener by then, and would
        take that one's connections."""
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.accepting.join(TIMEOUT)
        self.listener.close()


def rule(**changes) -> dict:
    made = {"id": "api", "host": API, "port": 443, "allow": [{"method": "*", "path": "/**"}], "deny": [], "strip": [],
            "request_bytes": None, "response_bytes": None, "per_minute": None, "websocket": False, "secret": None}
    return {**made, **changes}


def secret(**changes) -> dict:
    made = {"name": "key", "host": API, "kind": "bearer", "header": "authorization", "value": SECRET,
            "placeholder": PLACEHOLDER}
    return {**made, **changes}


def source_gate() -> Path:
    return Path(os.environ.get("CORDON_GATE", harness.ROOT / "build" / "cordon-gate"))


@dataclass
class Told:
    """What the gate said, in order."""
    messages: list[tuple[str, dict]] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def all(self, kind: str) -> list[dict]:
        with self.changed:
            return [body for name, body in self.messages if name == kind]

    def wait(self, kind: str, count: int = 1) -> list[dict]:
        limit = time.monotonic() + TIMEOUT
        with self.changed:
            while len(found := [body for name, body in self.messages if name == kind]) < count:
                assert self.changed.wait(limit - time.monotonic()), f"{count} of {kind}, not only {self.messages}"
            return found


class Supervisor:
    """Starts a gate and speaks to it. `upstream` maps a rule's name to the port its connections lead to."""

    def __init__(self, program: Path, bundle: Path, rules: list[dict], upstream: dict[str, int], secrets=(),
                 authority=False, bounds=None, prefix=(), holds=(), raw: bytes | None = None) -> None:
        self.upstream, self.holds = upstream, set(holds)
        self.told, self.rules, self.number = Told(), {}, 0
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen([*prefix, program], pass_fds=(3,), stdin=subprocess.DEVNULL,
                                        preexec_fn=lambda: os.dup2(theirs.fileno(), 3))
        theirs.close()
        limits = {"connections": 1024, "client_seconds": 30, "upstream_seconds": 30, "traffic": None, **(bounds or {})}
        document = {"configure": {"rules": rules, "secrets": list(secrets), "authority": authority, "bounds": limits}}
        memory = os.memfd_create("configuration", os.MFD_ALLOW_SEALING)
        os.write(memory, raw if raw is not None else json.dumps(document).encode())
        with open(bundle, "rb") as trusted:
            socket.send_fds(self.control, [b'{"configure":{}}'], [memory, trusted.fileno()])
        os.close(memory)
        self.reader = threading.Thread(target=self._listen, daemon=True)
        self.reader.start()

    def ready(self) -> "Supervisor":
        self.certificate = self.told.wait("ready")[0]["certificate"]
        return self

    def say(self, kind: str, body: dict, descriptors=()) -> None:
        packet = json.dumps({kind: body}).encode()
        if descriptors:
            socket.send_fds(self.control, [packet], list(descriptors))
        else:
            self.control.send(packet)

    def _listen(self) -> None:
        while True:
            try:
                packet = self.control.recv(1 << 18)
            except OSError:
                return
            if not packet:
                return
            [(kind, body)] = json.loads(packet).items()
            try:
                if kind == "request" and body["refused"] is None and kind not in self.holds:
                    self.say("go", {"id": body["id"]})
                elif kind == "dial" and kind not in self.holds:
                    self.answer_dial(body["id"])
            except OSError:
                pass
            with self.told.changed:
                self.told.messages.append((kind, body))
                self.told.changed.notify_all()

    def answer_dial(self, number: int) -> None:
        port = self.upstream.get(self.rules[number])
        if port is None:
            self.say("dialled", {"id": number, "error": "no address is known for it"})
            return
        with socket.create_connection(("127.0.0.1", port)) as connected:
            self.say("dialled", {"id": number, "error": None}, [connected.fileno()])

    def connect(self, name: str = "api", mode: str = "plain") -> socket.socket:
        ours, theirs = socket.socketpair()
        self.number += 1
        self.rules[self.number] = name
        self.say("connection", {"id": self.number, "rule": name, "mode": mode}, [theirs.fileno()])
        theirs.close()
        ours.settimeout(TIMEOUT)
        return ours

    def connect_tls(self, name: str = "api", server_name: str | None = API, alpn=("http/1.1",)) -> ssl.SSLSocket:
        context = ssl.create_default_context(cadata=self.certificate)
        if server_name != API:
            context.check_hostname = False
        context.set_alpn_protocols(list(alpn))
        return context.wrap_socket(self.connect(name, "tls"), server_hostname=server_name)

    def hang_up(self) -> None:
        """Closing alone would wait for the thread that reads."""
        try:
            self.control.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.reader.join(TIMEOUT)
        self.control.close()

    def end(self) -> int:
        self.hang_up()
        try:
            return self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


@dataclass
class Answer:
    status: int
    fields: list[tuple[str, str]]
    body: bytes

    def field(self, name: str) -> str | None:
        found = [v for n, v in self.fields if n.lower() == name]
        return found[0] if found else None

    @property
    def error(self) -> dict:
        return json.loads(self.body)["error"]


class Client:
    """Reads answers from a socket, with as much HTTP as that needs."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.rest, self.received = connection, b"", b""

    def send(self, *pieces: bytes | str) -> "Client":
        for piece in pieces:
            self.connection.sendall(piece.encode() if isinstance(piece, str) else piece)
        return self

    def get(self, path: str = "/", *fields: str, method: str = "GET", host: str = API) -> Answer:
        self.send("".join(f"{line}\r\n" for line in (f"{method} {path} HTTP/1.1", f"Host: {host}", *fields, "")))
        return self.answer(method)

    def more(self) -> bytes:
        piece = self.connection.recv(65536)
        self.rest += piece
        self.received += piece
        return piece

    def until(self, mark: bytes) -> bytes:
        while mark not in self.rest:
            if not self.more():
                raise EOFError(self.rest)
        taken, _, self.rest = self.rest.partition(mark)
        return taken

    def exactly(self, count: int) -> bytes:
        while len(self.rest) < count:
            if not self.more():
                raise EOFError(self.rest)
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def answer(self, method: str = "GET") -> Answer:
        first, *lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        fields = [tuple(line.split(": ", 1)) for line in lines]
        answer = Answer(int(first.split()[1]), fields, b"")
        if answer.status < 200 or method == "HEAD" or answer.status in (204, 304):
            return answer
        if answer.field("transfer-encoding") == "chunked":
            while size := int(self.until(b"\r\n"), 16):
                answer.body += self.exactly(size)
                assert self.exactly(2) == b"\r\n"
            while line := self.until(b"\r\n"):
                answer.fields.append(tuple(line.decode("latin-1").split(": ", 1)))
        else:
            answer.body = self.exactly(int(answer.field("content-length")))
        return answer

    def is_closed(self) -> bool:
        """Waits for the end."""
        try:
            while self.more():
                pass
            return True
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False


class Place:
    """The certificates, the servers and the program of a module's tests."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="cordon-gate.", dir="/var/tmp"))
        self.path.chmod(0o755)
        self.program = self.path / "cordon-gate"
        shutil.copy(source_gate(), self.program)
        self.program.chmod(0o755)
        self.authority = Authority(self.path, "trusted")
        self.context = self.authority.context(API)
        self.prefix: tuple[str, ...] = ()
        self.started: list = []

    def server(self, serve=answers_all, context=None) -> Server:
        self.started.append(server := Server(context or self.context, serve))
        return server

    def gate(self, server: Server | None = None, *rules: dict, **options) -> Supervisor:
        upstream = options.pop("upstream", {"api": server.port} if server else {})
        gate = Supervisor(self.program, self.authority.path, list(rules) or [rule()], upstream, prefix=self.prefix,
                          **options)
        self.started.append(gate)
        return gate.ready()

    def end_started(self) -> None:
        for started in self.started:
            if isinstance(started, Server):
                started.close()
            else:
                if started.process.poll() is None:
                    started.end()
                else:
                    started.hang_up()
        self.started.clear()

    def remove(self) -> None:
        self.end_started()
        shutil.rmtree(self.path)
