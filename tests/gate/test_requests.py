"""What passes through the gate, as it should: both ways in, every form of a message, streams without delay."""

import threading
import time

from gates import API, Client, rule, secret


def test_a_request_goes_on_and_its_answer_comes_back(place):
    server = place.server()
    gate = place.gate(server)
    answer = Client(gate.connect()).get("/v1/models?limit=2", "X-Mine: 1")
    assert (answer.status, answer.body) == (200, b"fine")
    assert server.received == (b"GET /v1/models?limit=2 HTTP/1.1\r\nHost: api.example.com\r\nX-Mine: 1\r\n\r\n")
    [asked] = gate.told.all("request")
    assert (asked["rule"], asked["method"], asked["path"]) == ("api", "GET", "/v1/models")
    [done] = gate.told.wait("done")
    assert (done["id"], done["status"], done["ended"]) == (asked["id"], 200, None)
    assert done["sent"] == len(server.received)
    assert done["received"] == len(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")


def test_the_real_name_is_answered_with_a_certificate_of_this_run(place):
    server = place.server()
    gate = place.gate(server, authority=True)
    connection = gate.connect_tls()
    assert connection.selected_alpn_protocol() == "http/1.1"
    assert connection.version() in ("TLSv1.2", "TLSv1.3")
    client = Client(connection)
    assert [client.get(path).status for path in ("/a", "/b")] == [200, 200]
    assert len(gate.told.all("dial")) == 1


def test_connections_stay_open_and_requests_in_a_row_are_answered_in_a_row(place):
    server = place.server()
    gate = place.gate(server)
    client = Client(gate.connect())
    client.send(b"GET /1 HTTP/1.1\r\nHost: api.example.com\r\n\r\nGET /2 HTTP/1.1\r\nHost: api.example.com\r\n\r\n"
                b"GET /3 HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n")
    assert [client.answer().status for _ in range(3)] == [200] * 3
    assert client.is_closed()
    gate.told.wait("done", 3)
    order = [kind for kind, _ in gate.told.messages]
    assert order == ["ready"] + ["request", "dial", "done"] + ["request", "done"] * 2


def test_bodies_go_both_ways_in_either_form(place):
    def serve(peer):
        while head := peer.head():
            if b"Content-Length: 5" in head:
                body = peer.exactly(5)
            else:
                assert b"Transfer-Encoding: chunked" in head
                body = peer.until(b"kept\r\n\r\n")
            peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"%x\r\n" % len(body) + body + b"\r\n",
                      b"0\r\nX-Sum: 7\r\n\r\n")
    server = place.server(serve)
    gate = place.gate(server)
    client = Client(gate.connect())
    client.send("POST /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 5\r\n\r\n12345")
    answer = client.answer()
    assert (answer.body, answer.field("x-sum")) == (b"12345", "7")
    client.send("POST /b HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n",
                "0\r\nHost: evil.example\r\nAuthorization: evil\r\nX-Trailer: kept\r\n\r\n")
    # Of the trailers nothing comes through that speaks of the connection, the host or who asks.
    assert client.answer().body == b"3\r\nabc\r\n0\r\nX-Trailer: kept\r\n\r\n"
    assert b"evil" not in server.received


def test_an_answer_that_ends_with_its_connection_is_whole_or_broken_off(place):
    def serve(peer):
        head = peer.head()
        peer.send(b"HTTP/1.1 200 OK\r\n\r\n", b"some of it")
        if b"/whole" in head:
            peer.connection = peer.connection.unwrap()
    gate = place.gate(place.server(serve))
    assert Client(gate.connect()).get("/whole").body == b"some of it"
    client = Client(gate.connect())
    client.send("GET /cut HTTP/1.1\r\nHost: api.example.com\r\n\r\n")
    assert client.is_closed() and not client.received.endswith(b"0\r\n\r\n")
    assert gate.told.wait("done", 2)[1]["ended"]


def test_head_and_answers_without_a_body(place):
    def serve(peer):
        while head := peer.head():
            if head.startswith(b"HEAD"):
                peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            elif b"/304" in head:
                peer.send(b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n")
            else:
                peer.send(b"HTTP/1.1 204 No Content\r\n\r\n")
    gate = place.gate(place.server(serve))
    client = Client(gate.connect())
    assert client.get("/", method="HEAD").field("content-length") == "1000"
    assert client.get("/304").field("etag") == "x"
    assert client.get("/204").status == 204
    assert len(gate.told.all("dial")) == 1


def test_a_client_that_waits_is_told_to_go_on_by_the_server(place):
    def serve(peer):
        head = peer.head()
        assert b"Expect: 100-continue" in head
        peer.send(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n")
        peer.answer(peer.exactly(4))
    gate = place.gate(place.server(serve))
    client = Client(gate.connect())
    client.send("PUT /a HTTP/1.1\r\nHost: api.example.com\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
    assert [client.answer().status for _ in range(2)] == [103, 100]
    assert client.send("body").answer().body == b"body"


def test_an_answer_before_the_body_ends_reaches_the_client(place):
    def serve(peer):
        peer.head()
        peer.answer(b"too large", b"Connection: close", status=b"413 Content Too Large")
        peer.connection.unwrap()
    gate = place.gate(place.server(serve))
    client = Client(gate.connect())
    client.send("PUT /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 100000000\r\n\r\n")
    answer = client.answer()
    assert (answer.status, answer.field("connection")) == (413, "close")


def test_each_piece_of_a_stream_passes_before_the_next_is_there(place):
    """The server sends a piece only when the client has the one before: a gate that gathers pieces would stop."""
    seen = threading.Semaphore(0)
    delays = []

    def serve(peer):
        peer.head()
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(200):
            piece = b"data: %d\n\n" % number
            begun.append(time.perf_counter())
            peer.send(b"%x\r\n" % len(piece) + piece + b"\r\n")
            assert seen.acquire(timeout=60)
        peer.send(b"0\r\n\r\n")
    begun = []
    gate = place.gate(place.server(serve), rule(secret="key"), secrets=[secret()])
    client = Client(gate.connect())
    client.send("GET /events HTTP/1.1\r\nHost: api.example.com\r\n\r\n")
    client.until(b"\r\n\r\n")
    for number in range(200):
        client.until(b"data: %d\n\n\r\n" % number)
        delays.append(time.perf_counter() - begun[-1])
        seen.release()
    assert client.until(b"\r\n\r\n") == b"0"


def test_large_bodies_pass_unchanged_in_little_memory(place):
    size = 32 << 20

    def serve(peer):
        peer.head()
        received = peer.drop()
        while received < size:
            peer.more()
            received += peer.drop()
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        peer.send(*[b"x" * (1 << 20)] * (size >> 20))
    gate = place.gate(place.server(serve))
    client = Client(gate.connect())
    client.send(f"PUT /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: {size}\r\n\r\n")
    before = memory_of(gate.process.pid)
    client.send(*[b"y" * (1 << 20)] * (size >> 20))
    client.until(b"\r\n\r\n")
    received = len(client.rest)
    while received < size:
        received += len(client.connection.recv(1 << 20))
    assert received == size
    assert memory_of(gate.process.pid) - before < 4 << 20


def memory_of(process):
    with open(f"/proc/{process}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS"))


def websocket(*more):
    return ("GET /socket HTTP/1.1", f"Host: {API}", "Connection: keep-alive, Upgrade", "Upgrade: websocket",
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version: 13", *more, "", "")


def test_a_websocket_passes_where_a_rule_says_so(place):
    def serve(peer):
        if b"Upgrade: websocket" not in peer.head():
            return peer.answer()
        peer.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        while piece := peer.more():
            peer.send(piece.upper())
    server = place.server(serve)
    gate = place.gate(server, rule(websocket=True), rule(id="without"),
                      upstream={"api": server.port, "without": server.port})
    client = Client(gate.connect()).send("\r\n".join(websocket()))
    assert client.answer().status == 101
    for word in (b"one", b"two"):
        assert client.send(word).exactly(3) == word.upper()
    client.connection.close()
    assert gate.told.wait("done")[0]["status"] == 101
    assert Client(gate.connect("without")).send("\r\n".join(websocket())).answer().status == 403
    # The offer of another protocol is left out, and the request goes on.
    offered = Client(gate.connect("without")).get("/", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c",
                                                  "HTTP2-Settings: AAMAAABk")
    assert offered.status == 200 and b"h2c" not in server.received and b"HTTP2" not in server.received


def test_a_server_that_closed_in_between_is_connected_anew(place):
    def serve(peer):
        peer.head()
        peer.answer()
        peer.connection.unwrap()
    gate = place.gate(place.server(serve))
    client = Client(gate.connect())
    for _ in range(3):
        assert client.get("/").status == 200
    assert len(gate.told.all("dial")) == 3


def test_the_gate_ends_with_its_supervisor(place):
    gate = place.gate(place.server())
    assert Client(gate.connect()).get("/").status == 200
    assert gate.end() == 0
