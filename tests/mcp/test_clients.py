"""`cordon mcp` over HTTP with several clients: each sees, reads and stops its own processes alone, and has what its own
person approved."""

import http.client
import json
import os

import pytest

from peer import MODERN, meta, told
from served import ON, ceiling_of
from support.harness import SOON, processes_with, stop, wait_until

pytestmark = pytest.mark.once

TOKEN = "t" * 40
LEGACY = "2025-11-25"
FORM = {"elicitation": {}}
YES = {"action": "accept", "content": {}}
NO = {"action": "decline"}


def wish(kind, target):
    return {"kind": kind, "target": str(target), "reason": "to compare"}


class Shared:
    """One server, for any number of clients."""

    def __init__(self, world, more=""):
        file = world.write(world.trusted / "token", TOKEN + "\n", 0o600)
        self.process = world.start(
            [world.cordon, "mcp", "--profile", "full", "--http", "127.0.0.1:0", "--token-file", file,
             "--ceiling", world.document(ceiling_of(world, more), "ceiling.toml")], env=ON)
        self.port = None
        while self.port is None:
            line = self.process.stderr.readline().decode()
            assert line, "the server has ended"
            self.port = int(line.split()[-1]) if "listening" in line else None

    def connect(self, body, method, headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        given = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json",
                 "Accept": "application/json, text/event-stream",
                 **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection.request(method, "/mcp", json.dumps(body) if body else None, given)
        return connection, connection.getresponse()

    def send(self, body, method="POST", **headers):
        connection, response = self.connect(body, method, headers)
        text = response.read().decode()
        for line in text.splitlines():
            if line.startswith("data: "):
                text = line[6:]
        connection.close()
        return response, json.loads(text) if text.startswith("{") else None


def hello():
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": LEGACY, "capabilities": FORM}}


class LegacyClient:
    def __init__(self, server):
        self.server = server
        response, _ = server.send(hello())
        self.session = response.getheader("Mcp-Session-Id")
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"},
                    Mcp_Session_Id=self.session)

    def call(self, tool, **arguments):
        _, message = self.server.send(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
             "params": {"name": tool, "arguments": arguments}}, Mcp_Session_Id=self.session)
        return told(message["result"])

    def ask(self, kind, target, response):
        """request_access, whose question is answered so. Whether there was a question, and the result."""
        connection, stream = self.server.connect(
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
                "name": "request_access", "arguments": wish(kind, target)}},
            "POST", {"Mcp_Session_Id": self.session})
        asked = False
        for line in stream:
            message = json.loads(line.removeprefix(b"data: ")) if line[:1] in (b"d", b"{") else {}
            if message.get("method") == "elicitation/create":
                asked = True
                self.server.send({"jsonrpc": "2.0", "id": message["id"], "result": response},
                                 Mcp_Session_Id=self.session)
            if "result" in message:
                connection.close()
                return asked, told(message["result"])
        raise AssertionError("the stream ended without an answer")

    def leave(self):
        response, _ = self.server.send(None, "DELETE", Mcp_Session_Id=self.session)
        assert response.status == 204


class ModernClient:
    def __init__(self, server, name):
        self.server, self.name = server, name

    def send(self, tool, arguments, **more):
        given = meta(capabilities=FORM)
        if self.name is not None:
            given["io.modelcontextprotocol/clientInfo"] = {"name": self.name, "version": "1"}
        _, message = self.server.send(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
             "params": {"name": tool, "arguments": arguments, "_meta": given, **more}},
            Mcp_Method="tools/call", Mcp_Name=tool, MCP_Protocol_Version=MODERN)
        return message

    def call(self, tool, **arguments):
        return told(self.send(tool, arguments)["result"])

    def ask(self, kind, target, response):
        first = self.send("request_access", wish(kind, target))["result"]
        if first.get("resultType") != "input_required":
            return False, told(first)
        second = self.answer(first, kind, target, response)
        return True, told(second["result"])

    def answer(self, question, kind, target, response):
        return self.send("request_access", wish(kind, target), requestState=question["requestState"],
                         inputResponses={key: response for key in question["inputRequests"]})


@pytest.fixture
def server(world):
    made = Shared(world)
    yield made
    stop(made.process)


@pytest.fixture
def asking(world):
    """A server whose ceiling lets reading `outside` be asked for."""
    made = Shared(world, f'[ask]\nread = ["{world.outside}"]\n')
    yield made
    stop(made.process)


def two_of(eras, server):
    mine = ModernClient(server, "mine") if eras == "modern" else LegacyClient(server)
    other = LegacyClient(server) if eras == "legacy" else ModernClient(server, "other")
    return mine, other


@pytest.fixture(params=["legacy", "modern", "both"])
def clients(request, server):
    return two_of(request.param, server)


@pytest.fixture(params=["legacy", "modern", "both"])
def askers(request, asking):
    return two_of(request.param, asking)


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
    read = mine.call("read_output", process_id=id, wait_ms=20000)
    assert read["state"] == "running" and "private" in read["stdout"], read
    assert mine.call("stop_process", process_id=id)["success"]


def test_processes_end_with_the_session(server, world):
    mine, other = LegacyClient(server), LegacyClient(server)
    kept = other.call("start_process", argv=["sleep", "600"])["process_id"]
    time = f"601.{os.getpid()}"
    mine.call("start_process", argv=["sleep", time])
    assert wait_until(lambda: processes_with(time))
    mine.leave()
    assert wait_until(lambda: not processes_with(time), SOON), "it goes on, and nobody can stop it"
    assert other.call("read_output", process_id=kept)["state"] == "running"


def test_a_session_with_a_process_is_not_displaced(server):
    mine = LegacyClient(server)
    id = mine.call("start_process", argv=["sleep", "600"])["process_id"]
    for _ in range(80):
        LegacyClient(server)
    assert mine.call("read_output", process_id=id)["state"] == "running"


# What a person approves or refuses.

def reads(client, path):
    read = client.call("read_local_file", path=str(path))
    ran = client.call("run_code", argv=["cat", str(path)])
    assert read["success"] == (ran["success"] and "SECRET-outside" in ran["stdout"]), (read, ran)
    return read["success"]


def test_what_a_person_approved_is_for_their_own_client(askers, world):
    mine, other = askers
    secret = world.outside / "secret"
    asked, granted = mine.ask("read", world.outside, YES)
    assert asked and granted["success"], granted
    assert "no other client" in granted["help"]
    assert reads(mine, secret)
    assert not reads(other, secret)
    assert [one["approval"] for one in mine.call("get_limits")["approvals"]] == [granted["approval"]]
    assert other.call("get_limits")["approvals"] == []
    # The person at the other one is asked for themselves, and may then read it too.
    asked, granted = other.ask("read", world.outside, YES)
    assert asked and granted["success"], granted
    assert reads(other, secret)


def test_a_no_silences_nobody_else(askers, world):
    mine, other = askers
    asked, refused = mine.ask("read", world.outside, NO)
    assert asked and refused["type"] == "NotApproved"
    asked, refused = mine.ask("read", world.outside, YES)
    assert not asked and refused["type"] == "NotApproved"    # the control: who said no is left in peace
    asked, granted = other.ask("read", world.outside, YES)
    assert asked and granted["success"], granted
    assert reads(other, world.outside / "secret") and not reads(mine, world.outside / "secret")


def test_many_noes_of_one_client_leave_the_others_their_questions(asking, world):
    mine, other = LegacyClient(asking), LegacyClient(asking)
    for number in range(32):
        mine.ask("read", world.write(world.outside / f"f{number}", "x"), NO)
    assert mine.ask("read", world.outside, YES)[0] is False
    assert other.ask("read", world.outside, YES)[0] is True


def test_an_approval_ends_with_the_session(asking, world):
    mine = LegacyClient(asking)
    assert mine.ask("read", world.outside, YES)[1]["success"]
    assert reads(mine, world.outside / "secret")
    mine.leave()
    gone, _ = asking.send({"jsonrpc": "2.0", "id": 1, "method": "ping"}, Mcp_Session_Id=mine.session)
    assert gone.status == 404
    assert not reads(LegacyClient(asking), world.outside / "secret")


def test_nobody_comes_into_a_session_but_by_its_id(asking, world):
    """The id is 256 random bits that the server chose; none that a client brings becomes a session."""
    mine = LegacyClient(asking)
    assert mine.ask("read", world.outside, YES)[1]["success"]
    ids = {mine.session, *(LegacyClient(asking).session for _ in range(8))}
    assert len(ids) == 9 and all(len(bytes.fromhex(id)) == 32 for id in ids)
    tried = ["", "0" * 64, mine.session[:-1], mine.session + "0", mine.session.upper(), mine.session[::-1]]
    for wrong in tried:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "read_local_file", "arguments": {"path": str(world.outside / "secret")}}}
        for body in (call, hello()):
            response, answer = asking.send(body, Mcp_Session_Id=wrong)
            assert response.status in (400, 404) and "SECRET" not in json.dumps(answer), (wrong, answer)
            assert response.getheader("Mcp-Session-Id") is None
    # The control: the id itself.
    assert reads(mine, world.outside / "secret")


def test_a_question_is_answered_by_the_client_that_was_asked(asking, world):
    mine, other = ModernClient(asking, "mine"), ModernClient(asking, "other")
    question = mine.send("request_access", wish("read", world.outside))["result"]
    stolen = other.answer(question, "read", world.outside, YES)
    assert stolen["error"]["code"] == -32602, stolen
    question = mine.send("request_access", wish("read", world.outside))["result"]
    assert told(mine.answer(question, "read", world.outside, YES)["result"])["success"]
    assert reads(mine, world.outside / "secret") and not reads(other, world.outside / "secret")


def test_clients_that_cannot_be_told_apart_have_nothing_approved(asking, world):
    """Requests without a name, and those of more names than are kept, may come from anybody."""
    nameless = ModernClient(asking, None)
    asked, refused = nameless.ask("read", world.outside, YES)
    assert not asked and "cannot be told from the others" in refused["message"], refused
    assert "clientInfo" in refused["help"] and nameless.call("get_limits")["can_be_asked_for"] == []
    denied = nameless.call("read_local_file", path=str(world.outside / "secret"))
    assert "request_access" not in denied["help"], "advice that is refused"
    # The control, with what the help says.
    assert ModernClient(asking, "named").ask("read", world.outside, YES)[1]["success"]
    for number in range(64):
        ModernClient(asking, f"n{number}").call("get_limits")
    asked, refused = ModernClient(asking, "one too many").ask("read", world.outside, YES)
    assert not asked and "cannot be told from the others" in refused["message"], refused
    assert reads(ModernClient(asking, "named"), world.outside / "secret")
