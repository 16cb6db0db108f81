"""A client of the fixture on stdio that can also say what no client would say."""

from __future__ import annotations

import atexit
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from support import harness

MODERN = "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"

_stage: Path | None = None


def stage() -> Path:
    """Where every person may go, with a copy of the fixture."""
    global _stage
    if _stage is None:
        source = Path(os.environ.get("MCP_FIXTURE",
                                     harness.ROOT / "out/release/tests/mcp/mcp_fixture"))
        if not source.exists():
            raise SystemExit(f"{source} does not exist: build mcp_fixture, or set MCP_FIXTURE")
        _stage = Path(tempfile.mkdtemp(prefix="cordon-mcp.", dir="/var/tmp"))
        _stage.chmod(0o755)
        atexit.register(harness.remove_tree, _stage)
        shutil.copy(source, _stage / "mcp_fixture")
        (_stage / "mcp_fixture").chmod(0o755)
    return _stage


def sanitized() -> bool:
    """Whether the fixture is built with a sanitizer, which takes memory of its own."""
    return bool({"asan-ubsan", "tsan"} & set(Path(os.environ.get("MCP_FIXTURE", "")).parts))


def private_directory(who: harness.Person) -> Path:
    path = Path(tempfile.mkdtemp(prefix="d.", dir=stage()))
    if os.geteuid() == 0:
        os.chown(path, who.uid, who.uid)
    return path


def meta(version: str = MODERN, capabilities: dict | None = None) -> dict:
    return {VERSION_KEY: version, CAPABILITIES_KEY: capabilities or {}}


class Peer:
    """One server process and the conversation with it."""

    def __init__(self, who: harness.Person, era: str, *options: str,
                 capabilities: dict | None = None, handshake: bool = True,
                 version: str = "2025-11-25", prefix: tuple = (), command: list | None = None,
                 env: dict | None = None, cwd: Path | None = None) -> None:
        self.era = era
        self.capabilities = capabilities or {}
        if command is None:
            self.directory = private_directory(who)
            self.marks_file = self.directory / "marks"
            command = [str(stage() / "mcp_fixture")]
            env = {"PATH": harness.BASE_PATH, "FIXTURE_MARKS": str(self.marks_file),
                   "ASAN_OPTIONS": "detect_leaks=0"}
        self.process = subprocess.Popen(
            [*prefix, *who.prefix, *map(str, command), *options], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, bufsize=0,
            env=env, cwd=cwd)
        self.lines: queue.Queue = queue.Queue()
        self.kept: list[dict] = []
        self.next_id = 1000
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if era == "legacy" and handshake:
            answer = self.call("initialize", {"protocolVersion": version,
                                              "capabilities": self.capabilities,
                                              "clientInfo": {"name": "t", "version": "1"}})
            assert answer["result"]["protocolVersion"] == version, answer
            self.begun = answer
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _read(self) -> None:
        # What writes is unbuffered; a reader without a buffer would ask the kernel for each byte.
        with open(self.process.stdout.fileno(), "rb", buffering=1 << 16, closefd=False) as lines:
            for line in lines:
                self.lines.put(line)
        self.lines.put(None)

    # Saying things.

    def send_bytes(self, data: bytes) -> None:
        self.process.stdin.write(data)

    def send(self, message) -> None:
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def params(self, given: dict | None) -> dict:
        made = dict(given or {})
        if self.era == "modern":
            made["_meta"] = {**meta(MODERN, self.capabilities), **made.get("_meta", {})}
        return made

    def start(self, method: str, params: dict | None = None, id=None):
        if id is None:
            self.next_id += 1
            id = self.next_id
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": self.params(params)})
        return id

    def call(self, method: str, params: dict | None = None, id=None, timeout: float = 40) -> dict:
        return self.answer(self.start(method, params, id), timeout)

    def tool(self, name: str, arguments: dict | None = None, **more) -> dict:
        params = {"name": name}
        if arguments is not None:
            params["arguments"] = arguments
        return self.call("tools/call", params, **more)

    def start_tool(self, name: str, arguments: dict | None = None, id=None, **params):
        return self.start("tools/call", {"name": name, "arguments": arguments or {}, **params}, id)

    def cancel(self, id) -> None:
        self.send({"jsonrpc": "2.0", "method": "notifications/cancelled",
                   "params": {"requestId": id}})

    # Hearing things.

    def next(self, timeout: float = 40) -> dict | None:
        """The next message; None at the end of the stream."""
        line = self.lines.get(timeout=timeout)
        if line is None:
            self.lines.put(None)
            return None
        assert line.endswith(b"\n"), line
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def wait_for(self, wanted, timeout: float = 40) -> dict:
        for message in self.kept:
            if wanted(message):
                self.kept.remove(message)
                return message
        deadline = time.monotonic() + timeout
        while True:
            message = self.next(max(0.01, deadline - time.monotonic()))
            assert message is not None, f"the server ended; stderr: {self.end()[1]}"
            if wanted(message):
                return message
            self.kept.append(message)

    def answer(self, id, timeout: float = 40) -> dict:
        return self.wait_for(lambda m: "method" not in m and "id" in m and m["id"] == id
                             and type(m["id"]) is type(id), timeout)

    def idless_error(self, code: int) -> dict:
        message = self.wait_for(lambda m: "method" not in m and "id" not in m)
        assert message["error"]["code"] == code, message
        return message

    def sync(self) -> list[dict]:
        """Everything the server had to say so far: it answers in order."""
        self.call("tools/list")
        said, self.kept = self.kept, []
        return said

    def marks(self) -> list[str]:
        return self.marks_file.read_text().splitlines() if self.marks_file.exists() else []

    def wait_mark(self, mark: str, timeout: float = harness.SOON) -> None:
        assert harness.wait_until(lambda: mark in self.marks(), timeout), self.marks()

    def end(self, timeout: float = 20) -> tuple[int, str]:
        """Closes the pipe and waits."""
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        status = self.process.wait(timeout)
        return status, self.process.stderr.read().decode()

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def tool_text(answer: dict) -> str:
    return answer["result"]["content"][0]["text"]


def told(result: dict) -> dict:
    """All that an answer of a tool says. In the profile `full` what a program or a file said is text as it is, above
    one line of Cordon's own; the rest is in _meta."""
    text = result["content"][0]["text"]
    kept = result.get("_meta", {}).get("cordon/result")
    if kept is None:
        return json.loads(text)
    kept = dict(kept)
    data = text.encode()
    for name, (start, length) in kept.pop("payload").items():
        assert name not in kept
        kept[name] = data[start:start + length].decode()
    line = json.loads(text.rsplit("\n", 1)[-1])
    for name, value in line.items():
        assert name == "ends_without_newline" or kept[name] == value, (name, line)
    return kept
