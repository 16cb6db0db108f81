"""The HTTP transport: who may talk to it, what a request must look like, and how it ends."""

import base64
import json
import os
import signal
import socket
import stat
import time

import pytest

from peer import MODERN
from support import harness
from web import TOKEN, Web, events, headers, modern, post

pytestmark = pytest.mark.once

LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'


@pytest.fixture
def serve(who):
    made = []

    def begin(*options, **how):
        made.append(Web(who, *options, **how))
        return made[-1]
    yield begin
    for one in made:
        one.kill()


@pytest.fixture
def web(serve):
    return serve()


def tool(name, arguments=None, **more):
    return modern("tools/call", {"name": name, "arguments": arguments or {}}, **more)


def handshake(web, capabilities=None, version="2025-11-25"):
    body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": capabilities or {}}}).encode()
    status, head, message = post(web, body, headers())
    assert status == 200 and message["result"]["protocolVersion"] == version
    session = head["Mcp-Session-Id"]
    assert len(session) == 64
    ready = post(web, b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
                 headers(Mcp_Session_Id=session))
    assert ready[0] == 202
    return session


def legacy(method, params=None, id=1):
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method,
                       "params": params or {}}).encode()


def works(web):
    status, _, message = post(web, *modern("tools/list"))
    return status == 200 and "result" in message


# Who may talk to it.

@pytest.mark.parametrize("value", [
    None, "", "Bearer", "Bearer ", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Bearer {TOKEN} x",
    f"Bearer {TOKEN.upper()}", f"Basic {TOKEN}", TOKEN, f"Bearer\t{TOKEN}", f"Bearer  {TOKEN}"])
def test_without_the_token(web, value):
    body, head = modern("tools/list", Authorization=value)
    status, answer, text = post(web, body, head)
    assert status == 401 and answer["WWW-Authenticate"] == "Bearer"
    assert TOKEN not in text
    assert works(web)


def test_the_scheme_has_no_case(web):
    assert post(web, *modern("tools/list", Authorization=f"bearer {TOKEN}"))[0] == 200


@pytest.mark.parametrize("host", [
    "evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "localhost.evil",
    "localhost:1", "127.0.0.2:{port}", "0.0.0.0:{port}", "localhost@evil", "[::2]:{port}", "",
    "127.0.0.1:{port}0", "127.0.0.1:{port}:1", "evil.example#localhost"])
def test_other_hosts(web, host):
    body, head = modern("tools/list", Host=host.format(port=web.port))
    assert post(web, body, head)[0] in (400, 403)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:{port}", "127.0.0.1:{port}",
                                  "[::1]:{port}"])
def test_own_hosts(web, host):
    assert post(web, *modern("tools/list", Host=host.format(port=web.port)))[0] == 200


@pytest.mark.parametrize("origin", [
    "http://evil.example", "null", "http://localhost:1", "https://localhost:{port}", "file://",
    "http://127.0.0.1:{port}.evil.example", "http://localhost", "localhost:{port}", ""])
def test_other_origins(web, origin):
    assert post(web, *modern("tools/list", Origin=origin.format(port=web.port)))[0] == 403


def test_own_origin(web):
    assert post(web, *modern("tools/list", Origin=f"http://localhost:{web.port}"))[0] == 200


def test_a_web_page_is_refused_before_its_token_is_looked_at(web):
    assert post(web, *modern("tools/list", Host="evil.example", Authorization=None))[0] == 403


def raw(web, text, timeout=20):
    """The first line of what the server says to these bytes."""
    with socket.create_connection(("127.0.0.1", web.port), timeout) as wire:
        wire.sendall(text)
        wire.settimeout(timeout)
        try:
            return wire.recv(65536).split(b"\r\n")[0].decode()
        except ConnectionResetError:
            return "closed"


def head_of(web, *lines, method="POST", path="/mcp"):
    own = [f"{method} {path} HTTP/1.1", f"Host: localhost:{web.port}",
           f"Authorization: Bearer {TOKEN}", "Content-Type: application/json",
           "Accept: application/json, text/event-stream"]
    return "\r\n".join([*own, *lines, "", ""]).encode()


@pytest.mark.parametrize("twice", ["Host: localhost", f"Authorization: Bearer {TOKEN}",
                                   "Mcp-Session-Id: x", "mcp-session-id: y"])
def test_headers_that_stand_there_twice(web, twice):
    lines = [twice, f"Content-Length: {len(LIST)}"]
    if "session" in twice.lower():
        lines.insert(0, "Mcp-Session-Id: x")
    assert " 400 " in raw(web, head_of(web, *lines) + LIST.encode())


@pytest.mark.parametrize("lines", [
    ["Content-Length: 10", "Content-Length: 20"], ["Content-Length: -1"], ["Content-Length: 1x"],
    ["Content-Length: 99999999999999999999"], ["Content-Length: 5", "Transfer-Encoding: chunked"]])
def test_lengths_that_could_smuggle(web, lines):
    answer = raw(web, head_of(web, *lines) + b"0\r\n\r\n" + LIST.encode())
    assert answer in ("", "closed") or answer.split()[1] in ("400", "413")
    assert works(web)


@pytest.mark.parametrize("path", ["/", "/mcp/", "/MCP", "/mcp/x", "//mcp", "/../mcp", "/mcp%00"])
def test_other_paths(web, path):
    answer = raw(web, head_of(web, f"Content-Length: {len(LIST)}", path=path) + LIST.encode())
    assert answer.split()[1] in ("404", "400")


@pytest.mark.parametrize("method", ["GET", "PUT", "OPTIONS", "HEAD", "PATCH", "TRACE", "DELETE"])
def test_other_methods(web, method):
    assert raw(web, head_of(web, "Content-Length: 0", method=method)).split()[1] == "405"


@pytest.mark.parametrize("change,status", [
    ({"Content_Type": None}, 415), ({"Content_Type": "text/plain"}, 415),
    ({"Accept": None}, 406), ({"Accept": "application/json"}, 406),
    ({"Accept": "text/event-stream"}, 406)])
def test_types(web, change, status):
    assert post(web, *modern("tools/list", **change))[0] == status


def test_types_with_parameters(web):
    assert post(web, *modern("tools/list", Content_Type="application/json; charset=utf-8",
                             Accept="text/event-stream;q=0.5 , APPLICATION/JSON"))[0] == 200


def test_large_messages(web):
    assert " 413 " in raw(web, head_of(web, f"Content-Length: {9 << 20}"))
    with socket.create_connection(("127.0.0.1", web.port), 30) as wire:
        wire.sendall(head_of(web, "Transfer-Encoding: chunked"))
        with pytest.raises(OSError):
            for _ in range(64):
                wire.sendall(b"100000\r\n" + b"x" * 0x100000 + b"\r\n")
    assert works(web)


def test_a_large_head(web):
    answer = raw(web, head_of(web, "X: " + "y" * 200_000))
    assert answer in ("", "closed") or answer.split()[1] in ("400", "413", "431")
    assert works(web)


@pytest.mark.parametrize("body,code", [
    (b"nonsense", -32700), (b"", -32700), (b"[]", -32600), (b"{}", -32600),
    (b'{"jsonrpc":"2.0","id":1,"id":1,"method":"x"}', -32600), (b"\xff", -32700)])
def test_bodies_that_are_no_message(web, body, code):
    status, _, message = post(web, body, headers(MCP_Protocol_Version=MODERN))
    assert (status, message["error"]["code"]) == (400, code)


# The modern era.

@pytest.mark.parametrize("change", [
    {"MCP_Protocol_Version": None}, {"MCP_Protocol_Version": "2025-11-25"},
    {"Mcp_Method": None}, {"Mcp_Method": "tools/call"}, {"Mcp_Method": "TOOLS/LIST"}])
def test_mirrors_of_the_method(web, change):
    status, _, message = post(web, *modern("tools/list", **change))
    assert (status, message["error"]["code"], message["id"]) == (400, -32020, 1)


@pytest.mark.parametrize("name", [None, "wait", "ECHO", "=?base64?d2FpdA==?=", "=?base64?ZWNobw?="])
def test_mirrors_of_the_name(web, name):
    status, _, message = post(web, *tool("echo", {"text": "x"}, Mcp_Name=name))
    assert (status, message["error"]["code"]) == (400, -32020)
    assert web.marks() == []


def test_a_name_in_base64(web):
    wrapped = "=?base64?" + base64.b64encode(b"echo").decode() + "?="
    assert post(web, *tool("echo", {"text": "x"}, Mcp_Name=wrapped))[0] == 200
    uri = "test://template/é/data"
    body, head = modern("resources/read", {"uri": uri},
                        Mcp_Name="=?base64?" + base64.b64encode(uri.encode()).decode() + "?=")
    assert post(web, body, head)[2]["result"]["contents"][0]["uri"] == uri


def test_statuses(web):
    assert post(web, *modern("no/such"))[0] == 404
    assert post(web, *modern("initialize"))[0] == 404
    assert post(web, *tool("nobody"))[0] == 400
    status, _, message = post(web, *tool("test_missing_capability"))
    assert (status, message["error"]["data"]) == (400, {"requiredCapabilities": {"sampling": {}}})
    assert post(web, *tool("test_missing_capability", capabilities={"sampling": {}}))[0] == 200
    body = legacy("server/discover", {"_meta": {}})
    status, _, message = post(web, body, headers(MCP_Protocol_Version=MODERN,
                                                 Mcp_Method="server/discover"))
    assert (status, message["error"]["code"]) == (400, -32602)
    note = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
    assert post(web, note, headers(MCP_Protocol_Version=MODERN))[0] == 202


def test_requests_of_two_clients_may_have_one_id(web):
    one, two = web.connect(), web.connect()
    for connection, tag in ((one, "one"), (two, "two")):
        connection.request("POST", "/mcp", *tool("wait", {"ms": 500, "tag": tag}, id=7))
    for connection, tag in ((one, "one"), (two, "two")):
        answer = [e for e in events(connection.getresponse()) if e][-1]
        assert answer["result"]["content"][0]["text"] == f"waited {tag}"


def test_many_requests_on_one_connection(web):
    connection = web.connect()
    for n in range(50):
        _, _, message = post(web, *modern("tools/list", id=n), connection)
        assert message["id"] == n
        _, _, message = post(web, *tool("echo", {"text": "x"}, id=n), connection)
        assert message["id"] == n


def test_progress_comes_before_the_answer(web):
    body, head = modern("tools/call", {"name": "test_tool_with_progress", "_meta": {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {}, "progressToken": "p"}})
    connection = web.connect()
    connection.request("POST", "/mcp", body, head)
    response = connection.getresponse()
    assert response.getheader("X-Accel-Buffering") == "no"
    told = [e for e in events(response) if e]
    assert [e.get("method") for e in told] == ["notifications/progress"] * 3 + [None]


def test_comments_come_at_least_every_second(web):
    def longest_gap():
        connection = web.connect()
        connection.request("POST", "/mcp", *tool("wait", {"ms": 3500, "tag": "k"}))
        times = []
        for _ in events(connection.getresponse()):
            times.append(time.monotonic())
        return max((b - a for a, b in zip(times, times[1:])), default=60) if len(times) >= 4 else 60
    # A pause of the machine makes one gap long, and not that of each call.
    assert any(longest_gap() < 1.5 for _ in range(3))


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_closing_the_stream_cancels_the_call(web, era):
    connection = web.connect()
    if era == "modern":
        connection.request("POST", "/mcp", *tool("wait", {"ms": 30_000, "tag": "a"}))
    else:
        session = handshake(web)
        connection.request("POST", "/mcp", legacy("tools/call", {
            "name": "wait", "arguments": {"ms": 30_000, "tag": "a"}}),
            headers(Mcp_Session_Id=session))
    response = connection.getresponse()
    web.wait_mark("begin a")
    response.close()
    connection.close()
    web.wait_mark("cancelled a")


# The legacy era.

def test_sessions(web):
    assert post(web, legacy("tools/list"), headers())[0] == 400
    assert post(web, legacy("tools/list"), headers(Mcp_Session_Id="0" * 64))[0] == 404
    session = handshake(web)
    own = headers(Mcp_Session_Id=session, MCP_Protocol_Version="2025-11-25")
    assert post(web, legacy("ping"), own)[2]["result"] == {}
    status, _, message = post(web, legacy("no/such"), own)
    assert (status, message["error"]["code"]) == (200, -32601)
    connection = web.connect()
    connection.request("DELETE", "/mcp", headers=own)
    assert connection.getresponse().status == 204
    assert post(web, legacy("ping"), own)[0] == 404
    assert handshake(web) != session


def test_ending_a_session_cancels_its_calls_alone(web):
    mine, other = handshake(web), handshake(web)
    for session, tag in ((mine, "mine"), (other, "other")):
        connection = web.connect()
        connection.request("POST", "/mcp", legacy("tools/call", {
            "name": "wait", "arguments": {"ms": 60_000, "tag": tag}}),
            headers(Mcp_Session_Id=session))
        web.wait_mark(f"begin {tag}")
    ending = web.connect()
    ending.request("DELETE", "/mcp", headers=headers(Mcp_Session_Id=mine))
    assert ending.getresponse().status == 204
    web.wait_mark("cancelled mine")
    assert "cancelled other" not in web.marks()


def test_cancelling_by_notification(web):
    session = handshake(web)
    connection = web.connect()
    connection.request("POST", "/mcp", legacy("tools/call", {
        "name": "wait", "arguments": {"ms": 60_000, "tag": "n"}}, id="c"),
        headers(Mcp_Session_Id=session))
    web.wait_mark("begin n")
    note = json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled",
                       "params": {"requestId": "c"}}).encode()
    assert post(web, note, headers(Mcp_Session_Id=handshake(web)))[0] == 202  # somebody else
    assert "cancelled n" not in web.marks()
    assert post(web, note, headers(Mcp_Session_Id=session))[0] == 202
    web.wait_mark("cancelled n")
    assert [e for e in events(connection.getresponse()) if e] == []


def test_sessions_do_not_pile_up(web):
    first = handshake(web)
    for _ in range(70):
        last = handshake(web)
    assert post(web, legacy("ping"), headers(Mcp_Session_Id=first))[0] == 404
    assert post(web, legacy("ping"), headers(Mcp_Session_Id=last))[0] == 200


@pytest.mark.parametrize("who_answers,verdict", [("the session", "granted"),
                                                 ("another session", "denied")])
def test_a_question_is_answered_by_its_own_session(serve, who_answers, verdict):
    # The one that is not asked answers in vain until the time is over.
    web = serve("--answer-ms", "30000" if verdict == "granted" else "700")
    mine, other = handshake(web, {"elicitation": {}}), handshake(web, {"elicitation": {}})
    connection = web.connect()
    connection.request("POST", "/mcp", legacy("tools/call", {
        "name": "approve", "arguments": {"what": "x"}}), headers(Mcp_Session_Id=mine))
    stream = (e for e in events(connection.getresponse()) if e)
    question = next(stream)
    assert question["method"] == "elicitation/create"
    answer = json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": {
        "action": "accept", "content": {"decision": "allow once"}}}).encode()
    speaker = mine if who_answers == "the session" else other
    assert post(web, answer, headers(Mcp_Session_Id=speaker))[0] == 202
    # One that waits in vain is withdrawn before the call ends.
    final = next(e for e in stream if "result" in e)
    assert final["result"]["content"][0]["text"] == verdict


# Bounds and ends.

def test_a_head_that_trickles_is_cut_off(web):
    text = head_of(web, f"Content-Length: {len(LIST)}")
    with socket.create_connection(("127.0.0.1", web.port), 30) as wire:
        began = time.monotonic()
        sent = 0
        while time.monotonic() - began < 60:
            try:
                wire.sendall(text[sent:sent + 1])
                sent += 1
                wire.settimeout(0.4)
                if wire.recv(1) == b"":
                    break
            except socket.timeout:
                continue
            except OSError:
                break
        assert 2 < time.monotonic() - began < 40
    assert works(web)


@pytest.mark.parametrize("beginning", [b"", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"],
                         ids=["idle", "half a head"])
@pytest.mark.parametrize("number", [76, 300])
def test_connections_without_the_token_do_not_close_the_server(web, beginning, number):
    """Whoever reaches the address can open connections. The owner of the token gets in all the same,
    and a connection that is known is not displaced."""
    own = web.connect()
    assert post(web, *modern("tools/list"), own)[0] == 200
    held = []
    for _ in range(number):
        held.append(socket.create_connection(("127.0.0.1", web.port), 30))
        held[-1].sendall(beginning)
    began = time.monotonic()
    assert works(web)
    assert post(web, *modern("tools/list"), own)[0] == 200
    assert time.monotonic() - began < 30
    for wire in held:
        wire.close()


def test_refused_requests_do_not_make_a_connection_known(web):
    held = []
    for _ in range(90):
        wire = socket.create_connection(("127.0.0.1", web.port), 30)
        wire.sendall(f"POST /mcp HTTP/1.1\r\nHost: localhost:{web.port}\r\n"
                     f"Content-Length: 0\r\n\r\n".encode())
        held.append(wire)
    assert works(web)
    for wire in held:
        wire.close()


def test_a_flood_of_handshakes_leaves_working_clients_alone(web):
    """Also with the token: 1,500 of them displace each other, not a client that did something."""
    own = handshake(web)
    assert post(web, legacy("tools/list"), headers(Mcp_Session_Id=own))[0] == 200
    flood = web.connect(30)
    body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}}}).encode()
    for _ in range(1500):
        assert post(web, body, headers(), flood)[0] == 200
    assert post(web, legacy("tools/list", id=2), headers(Mcp_Session_Id=own))[0] == 200
    assert post(web, legacy("ping"), headers(Mcp_Session_Id=handshake(web)))[0] == 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("name", ["wait", "stubborn"])
def test_signals_end_everything(web, number, name):
    connection = web.connect()
    connection.request("POST", "/mcp", *tool(name, {"ms": 60_000, "tag": "s"}))
    web.wait_mark("begin s")
    idle = web.connect()
    idle.connect()
    web.process.send_signal(number)
    assert web.process.wait(harness.SOON) == 0
    if name == "wait":
        assert "cancelled s" in web.marks()


def test_load(web):
    """Many clients at once; descriptors and threads go back to where they were."""
    def one(connection, n):
        assert post(web, *tool("echo", {"text": str(n)}, id=n), connection)[2]["id"] == n

    def descriptors():
        return len(os.listdir(f"/proc/{web.process.pid}/fd"))
    first = [web.connect() for _ in range(20)]
    for connection in first:
        one(connection, 1)
        connection.close()
    assert harness.wait_until(lambda: len(os.listdir(f"/proc/{web.process.pid}/task")) < 10)
    before = descriptors()
    for _ in range(10):
        connections = [web.connect() for _ in range(20)]
        for n, connection in enumerate(connections):
            one(connection, n)
        for connection in connections:
            connection.close()
    assert harness.wait_until(lambda: descriptors() <= before), (descriptors(), before)


# Where it listens and what its secrets look like.

@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "*:0", ":0", "10.0.0.1:0", "example:80",
                                     "127.0.0.1", "127.0.0.1:x", "127.0.0.1:65536", "localhost:",
                                     "127.0.0.2:0", "/", "/../x/.."])
def test_addresses_that_are_refused(serve, address):
    web = serve(address=address)
    assert web.port is None and web.process.wait(30) == 2


def test_loopback_of_version_six(serve):
    web = serve(address="[::1]:0")
    with socket.create_connection(("::1", web.port), 30) as wire:
        wire.sendall(head_of(web, f"Content-Length: {len(LIST)}") + LIST.encode())
        assert wire.recv(100).startswith(b"HTTP/1.1 ")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_token_files_that_others_can_read(serve, mode):
    web = serve(mode=mode)
    assert web.process.wait(30) == 2


@pytest.mark.parametrize("token", ["", "short", "x" * 31, "x" * 5000, "x" * 20 + " " + "x" * 20])
def test_tokens_that_are_none(serve, token):
    web = serve(token=token)
    assert web.process.wait(30) == 2


def test_a_unix_socket(serve, who):
    web = serve(address="{dir}/run/mcp.sock")
    path = web.directory / "run/mcp.sock"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert works(web)
    assert post(web, *modern("tools/list", Authorization=None))[0] == 401
    assert post(web, *modern("tools/list", Origin="http://localhost"))[0] == 403
    again = Web(who, address=str(path))
    assert again.process.wait(30) == 2, "a living server's socket was taken"
    again.kill()
    web.process.kill()
    web.process.wait()
    assert path.exists()
    heir = Web(who, address=str(path))
    assert works(heir)
    heir.process.send_signal(signal.SIGTERM)
    assert heir.process.wait(harness.SOON) == 0
    assert not path.exists()
    heir.kill()


def test_a_unix_socket_where_others_may_write(serve, who):
    web = serve(address="{dir}/open/mcp.sock")
    web.kill()
    loose = web.directory / "open"
    loose.chmod(0o777)
    other = Web(who, address=str(loose / "x.sock"))
    assert other.process.wait(30) == 2
    other.kill()


def test_the_socket_is_not_taken_from_a_file(serve, who):
    web = serve(address="{dir}/run/a.sock")
    web.kill()
    precious = web.directory / "run" / "precious"
    precious.write_text("keep")
    other = Web(who, address=str(precious))
    assert other.process.wait(30) == 2 and precious.read_text() == "keep"
    other.kill()
