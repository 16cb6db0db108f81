"""`cordon mcp` over HTTP with several clients: each sees, reads and stops its own processes alone."""

import http.client
import json

import pytest

from peer import MODERN, meta, told
from served import ON, ceiling_of
from support.harness import processes_with, stop, wait_until

pytestmark = pytest.mark.once

TOKEN = "t" * 40
LEGACY = "2025-11-25"


class Shared:
    """One server, for any number of clients."""

    def __init__(self, world):
        file = world.write(world.trusted / "token", TOKEN + "\n", 0o600)
        self.process = world.start(
            [world.cordon, "mcp", "--profile", "full", "--http", "127.0.0.1:0", "--token-file", file,
             "--ceiling", world.document(ceiling_of(world), "ceiling.toml")], env=ON)
        self.port = None
        while self.port is None:
            line = self.process.stderr.readline().decode()
            assert line, "the server has ended"
            self.port = int(line.split()[-1]) if "listening" in line else None

    def send(self, body, method="POST", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        given = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json",
                 "Accept": "application/json, text/event-stream",
                 **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection.request(method, "/mcp", json.dumps(body) if body else None, given)
        response = connection.getresponse()
        text = response.read().decode()
        for line in text.splitlines():
            if line.startswith("data: "):
                text = line[6:]
        connection.close()
        return response, json.loads(text) if text.startswith("{") else None


class LegacyClient:
    def __init__(self, server):
        self.server = server
        response, _ = server.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": LEGACY, "capabilities": {}}})
        self.session = response.getheader("Mcp-Session-Id")
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"},
                    Mcp_Session_Id=self.session)

    def call(self, tool, **arguments):
        _, message = self.server.send(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
             "params": {"name": tool, "arguments": arguments}}, Mcp_Session_Id=self.session)
        return told(message["result"])

    def leave(self):
        response, _ = self.server.send(None, "DELETE", Mcp_Session_Id=self.session)
        assert response.status == 204


class ModernClient:
    def __init__(self, server, name):
        self.server, self.name = server, name

    def call(self, tool, **arguments):
        given = {**meta(), "io.modelcontextprotocol/clientInfo": {"name": self.name, "version": "1"}}
        _, message = self.server.send(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
             "params": {"name": tool, "arguments": arguments, "_meta": given}},
            Mcp_Method="tools/call", Mcp_Name=tool, MCP_Protocol_Version=MODERN)
        return told(message["result"])


@pytest.fixture
def server(world):
    made = Shared(world)
    yield made
    stop(made.process)


@pytest.fixture(params=["legacy", "modern", "both"])
def clients(request, server):
    mine = ModernClient(server, "mine") if request.param == "modern" else LegacyClient(server)
    other = LegacyClient(server) if request.param == "legacy" else ModernClient(server, "other")
    return mine, other


def test_a_client_sees_and_stops_its_own_processes_alone(clients, world):
    mine, other = clients
    started = mine.call("start_process", argv=["sh", "-c", "echo private; cat"], name="mine")
    id = started["process_id"]
    assert [p["process_id"] for p in mine.call("list_processes")["processes"]] == [id]
    assert other.call("list_processes")["processes"] == []
    for name, more in (("read_output", {}), ("stop_process", {}), ("write_stdin", {"data": "x"}),
                       ("explain_denial", {})):
        given = {"id": id} if name == "explain_denial" else {"process_id": id}
        refused = other.call(name, **given, **more)
        assert refused["success"] is False and "private" not in json.dumps(refused), refused
    read = mine.call("read_output", process_id=id, wait_ms=5000)
    assert read["state"] == "running" and "private" in read["stdout"], read
    assert mine.call("stop_process", process_id=id)["success"]


def test_processes_end_with_the_session(server, world):
    mine, other = LegacyClient(server), LegacyClient(server)
    kept = other.call("start_process", argv=["sleep", "61.5"])["process_id"]
    mine.call("start_process", argv=["sleep", "62.5"])
    assert wait_until(lambda: processes_with("62.5"))
    mine.leave()
    assert wait_until(lambda: not processes_with("62.5")), "it goes on, and nobody can stop it"
    assert other.call("read_output", process_id=kept)["state"] == "running"


def test_a_session_with_a_process_is_not_displaced(server):
    mine = LegacyClient(server)
    id = mine.call("start_process", argv=["sleep", "60"])["process_id"]
    for _ in range(80):
        LegacyClient(server)
    assert mine.call("read_output", process_id=id)["state"] == "running"
