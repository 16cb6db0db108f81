"""The fixture over HTTP, and a client that shows everything."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess

from peer import MODERN, meta, private_directory, stage
from support import harness

TOKEN = "t0ken-" + "0123456789abcdef" * 4


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float = 40) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Web:
    """One server process. `address` is what --http is given; {dir} stands for a private place."""

    def __init__(self, who: harness.Person, *options: str, address: str = "127.0.0.1:0",
                 token: str = TOKEN, mode: int = 0o600) -> None:
        self.who = who
        self.directory = private_directory(who)
        self.marks_file = self.directory / "marks"
        self.token_file = self.directory / "token"
        self.token_file.write_text(token + "\n")
        self.token_file.chmod(mode)
        if os.geteuid() == 0:
            os.chown(self.token_file, who.uid, who.uid)
        self.address = address.replace("{dir}", str(self.directory))
        self.process = subprocess.Popen(
            [*who.prefix, str(stage() / "mcp_fixture"), "--http", self.address, "--token-file",
             str(self.token_file), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL, start_new_session=True,
            env={"PATH": harness.BASE_PATH, "FIXTURE_MARKS": str(self.marks_file),
                 "ASAN_OPTIONS": "detect_leaks=0"})
        line = self.process.stdout.readline()
        self.port = int(line) if line else None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def connect(self, timeout: float = 40) -> http.client.HTTPConnection:
        if self.address.startswith("/"):
            return UnixConnection(self.address, timeout)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def marks(self) -> list[str]:
        return self.marks_file.read_text().splitlines() if self.marks_file.exists() else []

    def wait_mark(self, mark: str, timeout: float = harness.SOON) -> None:
        assert harness.wait_until(lambda: mark in self.marks(), timeout), self.marks()

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def headers(**more) -> dict:
    """Those of a good request; None takes one away."""
    made = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream"}
    made.update({name.replace("_", "-"): value for name, value in more.items()})
    return {name: value for name, value in made.items() if value is not None}


def modern(method: str, params: dict | None = None, id=1, capabilities: dict | None = None,
           **more) -> tuple[bytes, dict]:
    """Body and headers of a modern request."""
    given = {"_meta": meta(MODERN, capabilities), **(params or {})}
    name = (params or {}).get("name", (params or {}).get("uri"))
    body = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": given}).encode()
    return body, headers(**{"MCP_Protocol_Version": MODERN, "Mcp_Method": method,
                            "Mcp_Name": name, **more})


def events(response: http.client.HTTPResponse):
    """The messages of an event stream as they come; comments as None."""
    for line in response:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])
        elif line.startswith(b":"):
            yield None


def post(web: Web, body: bytes, with_headers: dict, connection=None):
    """Status, headers and the last message of the response."""
    used = connection or web.connect()
    try:
        used.request("POST", "/mcp", body, with_headers)
    except BrokenPipeError:
        pass  # refused by its head: the answer is there, and nobody takes the body
    response = used.getresponse()
    if response.getheader("Content-Type") == "text/event-stream":
        message = [event for event in events(response) if event is not None][-1]
    else:
        text = response.read()
        message = json.loads(text) if text.startswith(b"{") else text.decode()
    if connection is None:
        used.close()
    return response.status, dict(response.getheaders()), message
