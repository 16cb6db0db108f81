"""The bytes that all requests of a run may move together: what the gate holds while they are under way."""

import threading

import pytest

from gates import API, Client, rule

BUDGET = 32 << 10
BOUND = {"traffic": BUDGET}
NAMED = 'limits.request_traffic = "32K"'
HEAD = f"POST /a HTTP/1.1\r\nHost: {API}\r\n"


def answers_by_path(peer):
    """GET /N is answered with so many bytes; other requests are read to their end and answered."""
    while head := peer.head():
        if not head.startswith(b"GET"):
            known = head.split(b"Content-Length: ")
            peer.until(b"0\r\n\r\n") if len(known) == 1 else peer.exactly(int(known[1].split()[0]))
            peer.answer()
        else:
            peer.answer(b"x" * int(head.split()[1][1:]))


def moved(gate):
    return sum(done["sent"] + done["received"] for done in gate.told.all("done"))


def test_an_answer_is_broken_off_where_the_budget_ends(place):
    server = place.server(answers_by_path)
    gate = place.gate(server, bounds=BOUND)
    client = Client(gate.connect())
    assert client.get("/1000").status == 200
    with pytest.raises(EOFError):
        client.get("/1000000")
    done = gate.told.wait("done", 2)[1]
    assert NAMED in done["ended"] and moved(gate) == BUDGET, done
    # What is asked for after that is not sent.
    seen = len(server.received)
    refused = Client(gate.connect()).get("/1")
    assert refused.status == 403 and NAMED in refused.error["message"], refused
    assert len(server.received) == seen and moved(gate) == BUDGET
    # The same without the bound.
    whole = Client(place.gate(server).connect()).get("/1000000")
    assert whole.status == 200 and len(whole.body) == 1000000


def test_a_body_that_is_known_to_be_more_is_not_begun(place):
    server = place.server(answers_by_path)
    gate = place.gate(server, bounds=BOUND)
    larger = Client(gate.connect()).send(HEAD, f"Content-Length: {BUDGET}\r\n\r\n").answer()
    assert larger.status == 403 and NAMED in larger.error["message"] and server.received == b""
    body = b"x" * (BUDGET // 2)
    assert Client(gate.connect()).send(HEAD, f"Content-Length: {len(body)}\r\n\r\n", body).answer().status == 200


def test_a_body_of_unknown_length_stops_where_the_budget_ends(place):
    server = place.server(answers_by_path)
    gate = place.gate(server, bounds=BOUND)
    client = Client(gate.connect()).send(HEAD, "Transfer-Encoding: chunked\r\n\r\n")
    try:
        for _ in range(8):
            client.send("2000\r\n", b"x" * 0x2000, "\r\n")
    except OSError:
        pass  # it was answered and closed meanwhile
    [done] = gate.told.wait("done")
    assert NAMED in done["ended"] and done["status"] == 403, done
    assert len(server.received) <= BUDGET and moved(gate) == BUDGET


def test_all_connections_count_together(place):
    def run(**options):
        gate = place.gate(place.server(answers_by_path), rule(), **options)
        sizes = []

        def one(client):
            try:
                sizes.append(len(client.get("/8000").body))
            except EOFError:
                pass
        threads = [threading.Thread(target=one, args=(Client(gate.connect()),)) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gate.told.wait("done", 16)
        return sizes.count(8000), moved(gate)
    whole, bytes_moved = run(bounds=BOUND)
    assert whole <= BUDGET // 8000 and bytes_moved <= BUDGET, (whole, bytes_moved)
    assert run()[0] == 16


def test_a_websocket_ends_where_the_budget_does(place):
    def serve(peer):
        peer.head()
        peer.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        while piece := peer.more():
            peer.send(piece)
    server = place.server(serve)
    gate = place.gate(server, rule(websocket=True), bounds=BOUND)
    client = Client(gate.connect())
    client.send(f"GET /socket HTTP/1.1\r\nHost: {API}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n")
    assert client.answer().status == 101
    assert client.send(b"x" * 1000).exactly(1000) == b"x" * 1000
    with pytest.raises((EOFError, OSError)):
        for _ in range(100):
            client.send(b"x" * 1000).exactly(1000)
    [done] = gate.told.wait("done")
    assert NAMED in done["ended"] and moved(gate) == BUDGET, done
