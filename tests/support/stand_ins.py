"""Stand-ins of services that real clients know: git over https and ssh, a package registry, a package
index, a database. They are started by the small internet, in its far namespace.

What they hand out is made here, from nothing that lies outside."""

from __future__ import annotations

import base64
import datetime
import hashlib
import http.server
import io
import ipaddress
import json
import socket
import socketserver
import ssl
import struct
import subprocess
import tarfile
import threading
import urllib.parse
import zipfile
from pathlib import Path

import paramiko
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

NAME = "good.example"
OTHER = "other.example"
# The hosts of models that known agents speak to, and where all of them are.
MODELS, MODEL_PLACE = ("api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com"), "203.0.113.40"
GIT_TLS_PORT, FILES_PORT, SSH_PORT, DATABASE_PORT, API_PORT, WITNESS_PORT = 8443, 8000, 2222, 5432, 9443, 9444
# Names whose addresses change from one answer to the next, and which all have a certificate.
CHANGING = "changing.example"


def certificate(directory: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now = datetime.datetime.now(datetime.timezone.utc)
    names = [x509.DNSName(NAME), x509.DNSName(OTHER), x509.DNSName(f"*.{CHANGING}"), *(x509.DNSName(model) for model in MODELS),
             x509.IPAddress(ipaddress.ip_address("203.0.113.10"))]
    made = (x509.CertificateBuilder().subject_name(name).issuer_name(name)
            .public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256()))
    (directory / "ca.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (directory / "key.pem").write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption()))


# What the services of a company ask for: as a bearer token, and as the password of a person.
COMPANY_TOKEN = "a-token-of-the-company-29b1"


def package(directory: Path, name: str, said: str, archive_url: str) -> None:
    """What `npm install` reads: a document about the package, and its archive."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as out:
        for file, text in (("package.json", json.dumps({"name": name, "version": "1.0.0", "main": "index.js"})),
                           ("index.js", f"module.exports = '{said}';\n")):
            info = tarfile.TarInfo("package/" + file)
            info.size = len(text)
            out.addfile(info, io.BytesIO(text.encode()))
    data = archive.getvalue()
    (directory / name).parent.mkdir(exist_ok=True)
    (directory / (name + "-1.0.0.tgz")).write_bytes(data)
    digest = base64.b64encode(hashlib.sha512(data).digest()).decode()
    (directory / name).write_text(json.dumps({
        "name": name, "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": {"name": name, "version": "1.0.0", "dist": {
            "tarball": f"{archive_url}/{name}-1.0.0.tgz",
            "integrity": "sha512-" + digest}}}}))


def wheel(directory: Path) -> None:
    """What `pip install` reads: an index page, and the wheel."""
    place = directory / "simple/simply"
    place.mkdir(parents=True)
    name = "simply-1.0-py3-none-any.whl"
    files = {"simply.py": "said = 'from the index'\n",
             "simply-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: simply\nVersion: 1.0\n",
             "simply-1.0.dist-info/WHEEL":
                 "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    files["simply-1.0.dist-info/RECORD"] = "".join(f"{path},,\n" for path in files)
    with zipfile.ZipFile(place / name, "w") as out:
        for path, text in files.items():
            out.writestr(path, text)
    (place / "index.html").write_text(f'<a href="{name}">{name}</a>\n')


class Files(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


class Guarded(Files):
    """The same, of which a part is for who has the company's token."""

    def send_head(self):
        basic = base64.b64encode(f"me:{COMPANY_TOKEN}".encode()).decode()
        wanted = {"@company": f"Bearer {COMPANY_TOKEN}", "company.git": f"Basic {basic}"}
        part = urllib.parse.unquote(self.path).split("/")[1]
        if part in wanted and self.headers.get("Authorization") != wanted[part]:
            self.send_error(401)
            return None
        return super().send_head()


class Threads(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128


class SecureThreads(Threads):
    context: ssl.SSLContext

    def get_request(self):
        one, sender = super().get_request()
        return self.context.wrap_socket(one, server_side=True, do_handshake_on_connect=False), sender


class Database(socketserver.StreamRequestHandler):
    """Enough of a database's protocol for one query of any text: its answer is the number 42."""

    def say(self, kind: bytes, body: bytes) -> None:
        self.wfile.write(kind + struct.pack("!I", len(body) + 4) + body)

    def handle(self):
        while True:
            size, code = struct.unpack("!II", self.rfile.read(8))
            self.rfile.read(size - 8)
            if code == 196608:
                break
            self.wfile.write(b"N")  # neither TLS nor GSS
        self.say(b"R", struct.pack("!I", 0))
        self.say(b"S", b"server_version\x0015.0\x00")
        self.say(b"S", b"client_encoding\x00UTF8\x00")
        self.say(b"Z", b"I")
        while kind := self.rfile.read(1):
            size, = struct.unpack("!I", self.rfile.read(4))
            self.rfile.read(size - 4)
            if kind != b"Q":
                return
            self.say(b"T", struct.pack("!H", 1) + b"n\x00" + struct.pack("!IHIhih", 0, 0, 23, 4, -1, 0))
            self.say(b"D", struct.pack("!HI", 1, 2) + b"42")
            self.say(b"C", b"SELECT 1\x00")
            self.say(b"Z", b"I")


class Shell(paramiko.ServerInterface):
    """Lets the one key in and runs `git-upload-pack` of the one repository."""

    def __init__(self, key: paramiko.PKey, repository: Path) -> None:
        self.key = key
        self.repository = repository

    def get_allowed_auths(self, username):
        return "publickey"

    def check_auth_publickey(self, username, key):
        return paramiko.AUTH_SUCCESSFUL if key == self.key else paramiko.AUTH_FAILED

    def check_channel_request(self, kind, chanid):
        return (paramiko.OPEN_SUCCEEDED if kind == "session"
                else paramiko.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED)

    def check_channel_env_request(self, channel, name, value):
        return True

    def check_channel_exec_request(self, channel, command):
        if not command.startswith(b"git-upload-pack "):
            return False
        threading.Thread(target=self.serve, args=(channel,), daemon=True).start()
        return True

    def serve(self, channel):
        with subprocess.Popen(["git", "-c", "safe.directory=*", "upload-pack", str(self.repository)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as git:
            def carry_in():
                while data := channel.recv(65536):
                    git.stdin.write(data)
                    git.stdin.flush()
                git.stdin.close()
            threading.Thread(target=carry_in, daemon=True).start()
            while data := git.stdout.read1(65536):
                channel.sendall(data)
        channel.send_exit_status(git.returncode)
        channel.close()


def shells(listener: socket.socket, client: paramiko.PKey, repository: Path) -> None:
    host_key = paramiko.ECDSAKey.generate()
    with listener:
        while True:
            one, _ = listener.accept()
            transport = paramiko.Transport(one)
            transport.add_server_key(host_key)
            threading.Thread(target=transport.start_server,
                             kwargs={"server": Shell(client, repository)}, daemon=True).start()


class Api(http.server.BaseHTTPRequestHandler):
    """Answers with the request as it came, and with digests of its headers: what is secret in an answer does not
    get through."""
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.close_connection |= self.path.endswith("/last")
        if self.path.startswith("/redirect"):
            self.send_response(302)
            self.send_header("Location", f"https://{OTHER}:{API_PORT}/stolen")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        wanted = self.path.removeprefix("/status/") if self.path.startswith("/status/") else "200"
        if self.command == "POST" and self.path.endswith("/pulls"):
            wanted = "201"
        if self.path.startswith("/repos/") and self.headers.get("Authorization") != f"Bearer {COMPANY_TOKEN}":
            wanted = "401"
        said = json.dumps({"method": self.command, "path": self.path, "body": len(body),
                           "digests": {name.lower(): hashlib.sha256(value.encode()).hexdigest()
                                       for name, value in self.headers.items()},
                           "headers": {name.lower(): value for name, value in self.headers.items()}}).encode()
        self.send_response(int(wanted))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = answer

    def log_message(self, *_):
        pass


class Witnessed(SecureThreads):
    """Notes at which of its addresses each connection arrives, before a byte of it is read."""
    seen: Path

    def __init__(self, family, address):
        self.address_family = family
        super().__init__((address, WITNESS_PORT), Api, bind_and_activate=False)
        if family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        self.server_bind()
        self.server_activate()

    def get_request(self):
        one, sender = super().get_request()
        with self.seen.open("a") as stream:
            stream.write(one.getsockname()[0] + "\n")
        return one, sender


def witness(directory: Path, seen: Path) -> None:
    """An API on every address of this namespace, of either family."""
    clients = directory / "for-clients"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(clients / "ca.pem", clients / "key.pem")
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        server = Witnessed(family, address)
        server.context, server.seen = context, seen
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()


def start(directory: Path, repository: Path) -> None:
    """Everything, from threads of this process. Files for clients lie in directory/for-clients."""
    files = directory / "files"
    clients = directory / "for-clients"
    clients.mkdir(mode=0o755)
    files.mkdir()
    certificate(clients)
    package(files, "plain", "from the registry", f"http://{NAME}:{FILES_PORT}")
    package(files, "@company/tool", "of the company", f"https://{NAME}:{GIT_TLS_PORT}")
    wheel(files)
    # What git's simple protocol over http reads is the repository as it lies there.
    for name in ("repo.git", "company.git"):
        subprocess.run(["git", "clone", "-q", "--bare", str(repository), str(files / name)], check=True)
        subprocess.run(["git", "-C", str(files / name), "update-server-info"], check=True)

    def handler(*args):
        return Guarded(*args, directory=str(files))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(clients / "ca.pem", clients / "key.pem")
    secure = SecureThreads(("0.0.0.0", GIT_TLS_PORT), handler)
    secure.context = context
    api = SecureThreads(("0.0.0.0", API_PORT), Api)
    api.context = context
    model = SecureThreads((MODEL_PLACE, 443), Api)
    model.context = context
    for server in (secure, api, model, Threads(("0.0.0.0", FILES_PORT), handler),
                   Threads(("0.0.0.0", DATABASE_PORT), Database)):
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    # Both are there when the internet says that it is ready.
    client = paramiko.ECDSAKey.generate()
    client.write_private_key_file(str(clients / "client_key"))
    listener = socket.create_server(("0.0.0.0", SSH_PORT))
    threading.Thread(target=shells, args=(listener, client, repository), daemon=True).start()
