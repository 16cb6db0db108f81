"""What a hostile client, a hostile server and a lost gate can do. Each refusal has its control: what differs from it in
nothing but the attack passes."""

import os
import re
import signal
import socket
import ssl
import threading
import time

import pytest

from gates import API, OTHER, TIMEOUT, PLACEHOLDER, SECRET, Authority, Client, Server, rule, secret

HEAD = b"POST /ok HTTP/1.1\r\nHost: api.example.com\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: api.example.com\r\n\r\n"
CONTROL = HEAD + b"Content-Length: 4\r\n\r\nbody"


def head_with(*lines, first=b"GET /ok HTTP/1.1", host=b"Host: api.example.com"):
    return b"\r\n".join([first, *([host] if host else []), *lines, b"", b""])


SMUGGLING = {
    "CL.TE": HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "TE.CL": HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "TE.TE": HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "TE not chunked alone": HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "TE with a strange blank": HEAD + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "blank before the colon": HEAD + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "two lengths": HEAD + b"Content-Length: 0\r\nContent-Length: 49\r\n\r\n" + SMUGGLED,
    "two equal lengths": HEAD + b"Content-Length: 4\r\nContent-Length: 4\r\n\r\nbody",
    "a list of lengths": HEAD + b"Content-Length: 4, 4\r\n\r\nbody",
    "a signed length": HEAD + b"Content-Length: +4\r\n\r\nbody",
    "folded": head_with(b"X-One: 1", b" Transfer-Encoding: chunked"),
    "folded behind Host": head_with(b"\tX: 1"),
    "bare LF": b"GET /ok HTTP/1.1\nHost: api.example.com\n\n",
    "bare LF in a value": head_with(b"X: 1\nTransfer-Encoding: chunked"),
    "bare CR in a value": head_with(b"X: 1\rTransfer-Encoding: chunked"),
    "NUL in a value": head_with(b"X: 1\x002"),
    "no name": head_with(b": 1"),
    "no colon": head_with(b"X"),
    "two hosts": head_with(b"Host: api.example.com"),
    "no host": head_with(host=None),
    "another host": head_with(host=b"Host: other.example.com"),
    "another port": head_with(host=b"Host: api.example.com:x"),
    "a host with user info": head_with(host=b"Host: other.example.com@api.example.com"),
    "absolute form": head_with(first=b"GET https://api.example.com/ok HTTP/1.1"),
    "absolute form of another": head_with(first=b"GET http://other.example.com/ok HTTP/1.1"),
    "authority form": head_with(first=b"CONNECT api.example.com:443 HTTP/1.1"),
    "asterisk form": head_with(first=b"OPTIONS * HTTP/1.1"),
    "TRACE": head_with(first=b"TRACE /ok HTTP/1.1"),
    "lower case method": head_with(first=b"post /ok HTTP/1.1"),
    "HTTP/1.0": head_with(first=b"GET /ok HTTP/1.0"),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/0.9": b"GET /ok\r\n\r\n",
    "blank in the target": head_with(first=b"GET /ok HTTP/1.1 HTTP/1.1"),
    "CRLF in the path": head_with(first=b"GET /ok%0d%0aX:%201 HTTP/1.1"),
    "NUL in the path": head_with(first=b"GET /ok%00 HTTP/1.1"),
    "bytes past ASCII": head_with(first=b"GET /ok\xc3\xa9 HTTP/1.1"),
    "fragment": head_with(first=b"GET /ok?a#b HTTP/1.1"),
    "another method inside": head_with(b"X-HTTP-Method-Override: DELETE"),
    "another path inside": head_with(b"X-Original-URL: /admin"),
    "another host inside": head_with(b"X-Forwarded-Host: other.example.com"),
    "another method inside, as a program reads it": head_with(b"X_HTTP_Method_Override: DELETE"),
    "another host inside, as a standard has it": head_with(b"Forwarded: for=192.0.2.1;host=other.example.com"),
    "a length as a program reads it": head_with(b"Content_Length: 4"),
    "an escaped line end, escaped": head_with(first=b"GET /ok%250d%250aX:%201 HTTP/1.1"),
    "two authorizations": head_with(b"Authorization: a", b"Authorization: b"),
    "an expectation": head_with(b"Expect: 200-ok"),
    "too many headers": head_with(*[b"X-%d: 1" % i for i in range(200)]),
    "too long a header": head_with(b"X: " + b"1" * 40000),
    "a head without an end": b"GET /" + b"a" * 70000,
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 60,
    "blank line first": b"\r\n" + head_with(),
    "a length past any": HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n",
}


@pytest.fixture
def one(place):
    """A gate for one rule, with a denied directory."""
    server = place.server()
    gate = place.gate(server, rule(allow=[{"method": "*", "path": "/ok"}, {"method": "GET", "path": "/files/**"}],
                                   deny=[{"method": "*", "path": "/files/private/**"}], secret="key"),
                      secrets=[secret()])
    return gate, server


def test_requests_that_can_be_read_in_two_ways_end_at_the_gate(one):
    gate, server = one
    for name, attack in SMUGGLING.items():
        client = Client(gate.connect())
        try:
            client.send(attack)
            answer = client.answer()
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            raise AssertionError(f"{name}: there was no answer") from None
        assert 400 <= answer.status <= 505, (name, answer)
        assert answer.error["rule"] == "api" and SECRET not in str(answer), name
        assert client.is_closed(), name
        # Nothing behind it was taken for a request.
        assert len(re.findall(rb"HTTP/1.1 \d{3} ", client.received)) == 1, name
    assert server.received == b""
    assert all(told["refused"] for told in gate.told.wait("request", len(SMUGGLING)))
    assert Client(gate.connect()).send(CONTROL).answer().status == 200


def test_what_comes_behind_a_request_is_one_of_its_own(one):
    gate, server = one
    client = Client(gate.connect())
    # The whole of the second is the body of the first.
    client.send(HEAD + b"Content-Length: %d\r\n\r\n" % len(SMUGGLED) + SMUGGLED)
    assert client.answer().status == 200
    client.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED)
    assert [client.answer().status for _ in range(2)] == [200, 403]
    assert [m["path"] for m in gate.told.wait("request", 3)] == ["/ok", "/ok", "/smuggled"]


PATHS = ["/private", "/files/private", "/files/private/x", "/files/./private/x", "/files//private/x",
         "/files/x/../private/", "/files/x/%2e%2e/private/x", "/files/%70rivate/x", "/files/private%2fx",
         "/files/x%2f..%2fprivate", "/files/..;/private", "/files/private;v=1", "/files%5cprivate",
         "/files/x%5c..%5cprivate",
         "/files/%2570rivate/x", "/files/x%252f..%252fprivate", "/FILES/private", "/files/Private/x",
         "/files/private%3F", "/files/private%23/x", "/files/private%253Fx", "/files/private./x", "/files/PRIVATE%20",
         "/files/x/%c0%ae%c0%ae/private", "/files/x%e0%80%af", "/files/../ok/../private", "//files/private", "/files/..%2f..%2fok", "/../ok", "/files/%2e%2e%2fok"]


def test_a_path_leads_where_the_rule_says_or_nowhere(one):
    gate, server = one
    client = None
    for path in PATHS:
        client = Client(gate.connect())
        answer = client.get(path)
        assert answer.status in (400, 403), path
        assert answer.error["rule"] == "api"
    assert server.received == b""
    for path, seen in [("/files/a/b", b"/files/a/b"), ("/files/x/../%61", b"/files/a"),
                       ("/files/a%2fb", b"/files/a%2Fb")]:
        assert Client(gate.connect()).get(path).status == 200
        assert b"GET " + seen + b" HTTP/1.1" in server.received


def test_a_mark_in_a_path_ends_it_for_some_servers(place):
    """A server that decodes a path before it looks for the query takes /repos/me%3F/issues for /repos/me."""
    server = place.server()
    gate = place.gate(server, rule(allow=[{"method": "GET", "path": "/repos/*/issues"}]))
    for mark in ("%3F", "%3f", "%23", "%253F"):
        answer = Client(gate.connect()).get(f"/repos/me{mark}/issues")
        assert answer.status == 403 and "read its path as /repos/me," in answer.error["message"], answer
    assert server.received == b""
    assert Client(gate.connect()).get("/repos/me/issues?q=%3F").status == 200


def test_the_second_place_of_a_copy_is_not_judged_and_does_not_pass(place):
    server = place.server()
    gate = place.gate(server, rule(allow=[{"method": "*", "path": "/files/**"}]))
    for name, value in {"Destination": f"https://{API}/private/a", "X-Amz-Copy-Source": "/private/a",
                        "X_Copy_From": "/private/a", "x-ms-rename-source": "/private/a"}.items():
        answer = Client(gate.connect()).get("/files/a", f"{name}: {value}", method="COPY")
        assert answer.status == 400 and "asks for another request" in answer.error["message"], name
    assert server.received == b""
    assert Client(gate.connect()).get("/files/a", method="COPY").status == 200


def test_fields_behind_a_body_are_judged_as_those_before_it(place):
    server = place.server()
    gate = place.gate(server, rule(secret="key", strip=["x-trace"]), secrets=[secret(kind="header", header="x-own-key")])
    trailers = ("X_Trace: 1", "X-Own_Key: mine", "Forwarded: for=192.0.2.1;host=other.example.com", "X-Sum: 7")
    body = "Transfer-Encoding: chunked\r\n\r\n4;name=value\r\nbody\r\n0\r\n" + "\r\n".join(trailers) + "\r\n\r\n"
    assert Client(gate.connect()).send(HEAD + body.encode()).answer("POST").status == 200
    seen = server.received.partition(b"\r\n\r\n")[2]
    assert seen == b"4\r\nbody\r\n0\r\nX-Sum: 7\r\n\r\n", seen


def test_a_refusal_is_short_however_long_the_request_is(place):
    gate = place.gate(place.server(), rule(allow=[{"method": "GET", "path": "/ok"}]))
    long = "a" * 20_000
    for number, (path, host) in enumerate([("/" + long, API), ("/ok", long)]):
        answer = Client(gate.connect()).get(path, host=host)
        reason = gate.told.wait("request", number + 1)[-1]["refused"]
        assert answer.status in (403, 421) and len(reason) < 1000 and len(answer.body) < 2000, (reason, answer)


def test_a_refusal_names_what_was_asked_the_rule_and_a_change_that_works(place):
    server = place.server()
    gate = place.gate(server, rule(allow=[{"method": "GET", "path": "/v1/models"}]))
    client = Client(gate.connect())
    answer = client.get("/v1/messages", "Content-Length: 0", method="POST")
    message = answer.error["message"]
    assert "POST /v1/messages is outside what is granted" in message and "GET /v1/models" in message
    assert (answer.status, answer.error["rule"]) == (403, "api") and server.received == b""
    # The connection goes on after it.
    assert client.get("/v1/models").status == 200
    method, target = re.search(r"--http '(\S+) (\S+)'", message).groups()
    allowed = {"method": method, "path": target.removeprefix(API)}
    wider = place.gate(server, rule(allow=[allowed]))
    assert Client(wider.connect()).get("/v1/messages", "Content-Length: 0", method="POST").status == 200


def test_a_supervisor_that_says_stop_is_heard(place):
    server = place.server()
    gate = place.gate(server, holds={"request"})
    client = Client(gate.connect())
    client.send("GET /one HTTP/1.1\r\nHost: api.example.com\r\n\r\n")
    [asked] = gate.told.wait("request")
    gate.say("stop", {"id": asked["id"], "reason": "the run's requests are used up"})
    answer = client.answer()
    assert answer.status == 403 and "used up" in answer.error["message"] and server.received == b""
    assert gate.told.wait("done")[0]["ended"] == "stopped: the run's requests are used up"
    client.send("GET /two HTTP/1.1\r\nHost: api.example.com\r\n\r\n")
    gate.say("go", {"id": gate.told.wait("request", 2)[1]["id"]})
    assert client.answer().status == 200


def test_bodies_and_numbers_are_bounded(place):
    body = b"x" * 2000

    def serve(peer):
        while head := peer.head():
            length = re.search(rb"Content-Length: (\d+)", head)
            if length:
                peer.exactly(int(length.group(1)))
            elif b"chunked" in head:
                peer.until(b"0\r\n\r\n")
            peer.answer(body if b"/large" in head else b"fine")
    server = place.server(serve)
    gate = place.gate(server, rule(request_bytes=1000, response_bytes=1000), rule(id="rare", per_minute=2),
                      upstream={"api": server.port, "rare": server.port})
    chunked = "POST /c HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert Client(gate.connect()).send(HEAD, b"Content-Length: 1000\r\n\r\n", body[:1000]).answer().status == 200
    assert Client(gate.connect()).send(HEAD, b"Content-Length: 1001\r\n\r\n").answer().status == 413
    assert Client(gate.connect()).send(chunked, "3e8\r\n", body[:1000], "\r\n0\r\n\r\n").answer().status == 200
    longer = Client(gate.connect()).send(chunked, "3e8\r\n", body[:1000], "\r\n1\r\nx\r\n0\r\n\r\n")
    assert longer.answer().status == 413
    refused = Client(gate.connect()).get("/large")
    assert refused.status == 502 and "1000 bytes that the rule allows" in refused.error["message"]
    client = Client(gate.connect("rare"))
    assert [client.get("/").status for _ in range(4)] == [200, 200, 429, 429]
    # All connections of a rule count together.
    assert Client(gate.connect("rare")).get("/").field("retry-after") == "60"


def test_only_the_rules_name_is_answered_for(place):
    gate = place.gate(place.server(), authority=True)
    assert Client(gate.connect_tls()).get("/").status == 200
    for wrong in (OTHER, None):
        with pytest.raises(ssl.SSLError):
            gate.connect_tls(server_name=wrong)
    with pytest.raises(ssl.SSLError):
        gate.connect_tls(alpn=("h2",))
    assert Client(gate.connect_tls()).get("/", host=OTHER).status == 421
    assert Client(gate.connect_tls()).get("/", host="127.0.0.1").status == 421
    # What the authority of a run signs is for the hosts of the rules alone, whoever has it.
    from cryptography import x509
    made = x509.load_pem_x509_certificate(gate.certificate.encode())
    names = made.extensions.get_extension_for_class(x509.NameConstraints)
    assert names.critical and [n.value for n in names.value.permitted_subtrees] == [API]
    second = place.gate(place.server(), authority=True)
    assert second.certificate != gate.certificate
    assert place.gate(place.server()).certificate is None


def test_a_handshake_that_fails_is_told_as_a_refused_request(place):
    gate = place.gate(place.server(), authority=True)

    def refused(count):
        return gate.told.wait("request", count)[-1]["refused"]
    with pytest.raises(ssl.SSLError):
        gate.connect_tls(server_name=OTHER)
    assert refused(1) == f"its TLS names {OTHER}, and the rule is for {API}"
    with pytest.raises(ssl.SSLError):
        gate.connect_tls(server_name=None)
    assert refused(2) == f"its TLS names no host, and the rule is for {API}"
    with pytest.raises(ssl.SSLError):
        gate.connect_tls(alpn=("h2",))
    assert refused(3) == "it speaks no HTTP/1.1"
    with pytest.raises(ssl.SSLCertVerificationError):
        ssl.create_default_context().wrap_socket(gate.connect("api", "tls"), server_hostname=API)
    assert "does not trust the authority of this run" in refused(4)
    # Without TLS it is answered without TLS.
    answer = Client(gate.connect("api", "tls")).get("/")
    assert answer.status == 400 and "Use https://" in answer.error["message"]
    assert "HTTP without TLS" in refused(5)
    # Who leaves without a word has asked for nothing.
    gate.connect("api", "tls").close()
    assert Client(gate.connect_tls()).get("/").status == 200
    told = gate.told.all("request")
    assert len(told) == 6 and all(r["method"] == r["path"] == "" and r["rule"] == "api" for r in told[:5])


def test_a_refusal_is_read_before_the_end_that_follows_it(place):
    gate = place.gate(place.server(), authority=True)
    connection = gate.connect("api", "tls")
    received, said = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(received, said, server_hostname=API)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    connection.sendall(said.read())
    flight = connection.recv(1 << 16)
    # Both have come when the gate looks next.
    gate.process.send_signal(signal.SIGSTOP)
    assert os.WIFSTOPPED(os.waitpid(gate.process.pid, os.WUNTRACED)[1])
    while True:
        received.write(flight)
        try:
            client.do_handshake()
        except ssl.SSLWantReadError:
            flight = connection.recv(1 << 16)
        except ssl.SSLCertVerificationError:
            break
    connection.sendall(said.read())
    connection.close()
    gate.process.send_signal(signal.SIGCONT)
    assert "does not trust the authority of this run" in gate.told.wait("request")[-1]["refused"]


def test_a_server_without_the_right_certificate_gets_nothing(place):
    stranger = Authority(place.path, "stranger")
    contexts = {"another name": place.authority.context(OTHER), "expired": place.authority.context(API, days=(-9, -2)),
                "not yet valid": place.authority.context(API, days=(2, 9)), "a stranger's": stranger.context(API),
                "a wildcard in a part": place.authority.context("ap*.example.com"), "no TLS": None}
    for name, context in contexts.items():
        server = Server(context, lambda peer: peer.connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
        place.started.append(server)
        gate = place.gate(server, rule(secret="key"), secrets=[secret()])
        answer = Client(gate.connect()).get("/")
        assert answer.status == 502 and answer.error["type"] == "cordon_upstream", name
        assert SECRET.encode() not in server.received and b"GET" not in server.received, name
    for context in (place.context, place.authority.context("*.example.com")):
        gate = place.gate(place.server(context=context), rule(secret="key"), secrets=[secret()])
        assert Client(gate.connect()).get("/").status == 200


HOSTILE = {
    "garbage": b"\x00\x01\x02\x03\r\n\r\n",
    "two framings": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nfine",
    "a split header": b"HTTP/1.1 200 OK\r\nX: 1\nSet-Cookie: a\r\nContent-Length: 4\r\n\r\nfine",
    "a folded header": b"HTTP/1.1 200 OK\r\nX: 1\r\n 2\r\nContent-Length: 4\r\n\r\nfine",
    "a head without an end": b"HTTP/1.1 200 OK\r\nX: " + b"1" * 100000,
    "too many headers": b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 500 + b"\r\n",
    "a switch nobody asked for":
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "interim answers without end": b"HTTP/1.1 102 Processing\r\n\r\n" * 100,
    "an early end": b"HTTP/1.1 200 OK\r\nConte",
    "nothing": b"",
    "another version": b"HTTP/9.9 200 OK\r\n\r\n",
}


def test_a_hostile_server_is_answered_for_in_words(place):
    answers = list(HOSTILE.values())

    def serve(peer):
        head = peer.head()
        peer.send(answers[int(head.split(b" ")[1][1:])])
        peer.connection.unwrap()
    server = place.server(serve)
    gate = place.gate(server, rule(allow=[{"method": "POST", "path": "/*"}]))
    for number, name in enumerate(HOSTILE):
        client = Client(gate.connect())
        client.send(f"POST /{number} HTTP/1.1\r\nHost: api.example.com\r\n\r\n")
        while (answer := client.answer()).status < 200:
            pass
        assert (answer.status, answer.error["type"]) == (502, "cordon_upstream"), name
    assert len(gate.told.wait("done", len(HOSTILE))) == len(HOSTILE)


def test_a_body_that_is_cut_off_is_seen_to_be(place):
    def serve(peer):
        head = peer.head()
        if b"/length" in head:
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        else:
            peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n")
    gate = place.gate(place.server(serve))
    for path in ("/length", "/chunks"):
        client = Client(gate.connect())
        with pytest.raises(EOFError):
            client.get(path)
        assert b"half" in client.received


def test_slow_peers_are_ended_and_disturb_nobody(place):
    gave_up = threading.Event()

    def serve(peer):
        while head := peer.head():
            if b"/slow" in head or b"Content-Length" in head:
                gave_up.wait(TIMEOUT)
            if b"/endless" in head:
                peer.send(b"HTTP/1.1 200 OK\r\n\r\n", *[b"x" * 65536] * 400)
            peer.answer()
    gate = place.gate(place.server(serve), bounds={"client_seconds": 4, "upstream_seconds": 4}, authority=True)
    begun = time.monotonic()
    head = Client(gate.connect()).send("GET / HTTP/1.1\r\nHost: ")
    body = Client(gate.connect()).send(HEAD + b"Content-Length: 5\r\n\r\n1")
    server = Client(gate.connect()).send("GET /slow HTTP/1.1\r\nHost: api.example.com\r\n\r\n")
    unread = Client(gate.connect()).send("GET /endless HTTP/1.1\r\nHost: api.example.com\r\n\r\n")
    greeting = Client(gate.connect("api", "tls"))
    drip = Client(gate.connect())
    statuses = []
    while time.monotonic() - begun < 4.2:
        statuses.append(Client(gate.connect()).get("/").status)
        drip.send("G")
        time.sleep(0.05)
    assert set(statuses) == {200} and len(statuses) > 5
    assert [c.answer().status for c in (head, body, server, drip)] == [408, 408, 504, 408]
    assert greeting.is_closed()
    done = gate.told.wait("done", len(statuses) + 3)
    assert any(each["ended"] == "the client stopped reading or writing" for each in done)
    assert unread.is_closed()
    gave_up.set()


def memory_of(process):
    with open(f"/proc/{process}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS"))


def test_very_many_connections_are_bounded_and_a_request_still_passes(place):
    count = int(os.environ.get("CORDON_GATE_CONNECTIONS", "1500"))
    gate = place.gate(place.server(), bounds={"connections": 200})
    assert Client(gate.connect()).get("/").status == 200
    before = memory_of(gate.process.pid)
    kept = []
    for number in range(count):
        client = Client(gate.connect())
        try:
            client.send("GET / HTTP/1.1\r\nX: " if number % 2 else "")
        except OSError:
            pass
        kept.append(client)
        if len(kept) > 400:
            kept.pop(0).connection.close()
    assert Client(gate.connect()).get("/").status == 200
    assert memory_of(gate.process.pid) - before < 16 << 20
    if os.geteuid() == 0:
        assert len(os.listdir(f"/proc/{gate.process.pid}/fd")) < 420


def test_refusals_wait_for_a_supervisor_that_takes_its_time(place):
    count = 2000
    gate = place.gate(place.server(), rule(allow=[{"method": "GET", "path": "/ok"}]))
    hasty, calm = (Client(gate.connect()) for _ in range(2))
    asked = f"HEAD /{'a' * 20000} HTTP/1.1\r\nHost: {API}\r\n\r\n"
    sender = threading.Thread(target=lambda: [hasty.send(asked) for _ in range(count)], daemon=True)
    statuses = []
    reader = threading.Thread(target=lambda: statuses.extend(hasty.answer("HEAD").status for _ in range(count)),
                              daemon=True)
    before = memory_of(gate.process.pid)
    with gate.told.changed:  # nobody hears what the gate says
        sender.start()
        reader.start()
        sender.join(1)
        assert memory_of(gate.process.pid) - before < 24 << 20
    # Another client has its turn before the hasty one is through, and nothing of either is lost.
    assert calm.get("/ok").status == 200
    sender.join(TIMEOUT)
    reader.join(TIMEOUT)
    assert statuses == [403] * count
    told = gate.told.wait("request", count + 1)
    assert len(told) == count + 1 and [t["refused"] is None for t in told].count(True) == 1


def test_what_is_not_told_yet_is_told_before_the_end(place):
    gate = place.gate(place.server(), rule(allow=[{"method": "GET", "path": "/ok"}]))
    asked = f"GET /{'a' * 4000} HTTP/1.1\r\nHost: {API}\r\n\r\n"
    clients = [Client(gate.connect()) for _ in range(8)]
    answered = 0
    with gate.told.changed:
        for client in clients:
            client.send(asked * 50).connection.settimeout(0.2)
        for client in clients:
            try:
                while client.answer():
                    answered += 1
            except TimeoutError:
                pass
        gate.control.shutdown(socket.SHUT_WR)
        time.sleep(0.2)
        assert gate.process.poll() is None
    gate.reader.join(TIMEOUT)
    assert gate.process.wait(TIMEOUT) == 0
    assert len(gate.told.all("request")) >= answered > 64


STEPS = {
    "before anything is read": b"",
    "in the head": b"GET /ok HTTP/1.1\r\nHo",
    "asked": b"GET /asked HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
    "dialling": b"GET /dialled HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
    "in the greeting of the server": b"GET /silent HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
    "in the body": HEAD + b"Content-Length: 100\r\n\r\nhalf",
    "in the answer": b"GET /half HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("how", ["killed", "left alone by its supervisor"])
def test_wherever_the_gate_ends_requests_fail_and_nothing_opens(place, step, how):
    reached = threading.Event()

    def serve(peer):
        head = peer.head()
        if b"/half" in head:
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            reached.set()
        elif b"Content-Length: 100" in head:
            peer.exactly(4)
            reached.set()
        while peer.more():
            pass
    server = place.server(serve)
    # A server that never shakes hands.
    silent = socket.create_server(("127.0.0.1", 0))
    holds = {"asked": {"request"}, "dialling": {"dial"}}.get(step, set())
    port = silent.getsockname()[1] if "greeting" in step else server.port
    gate = place.gate(None, rule(secret="key"), secrets=[secret()], upstream={"api": port}, holds=holds)
    client = Client(gate.connect()).send(STEPS[step])
    if step in ("in the body", "in the answer"):
        assert reached.wait(TIMEOUT)
        if step == "in the answer":
            client.until(b"half")
    elif step not in ("before anything is read", "in the head"):
        gate.told.wait("dial" if step != "asked" else "request")
    if "greeting" in step:
        accepted, _ = silent.accept()
        assert accepted.recv(1) == b"\x16"
    before = server.received
    if how == "killed":
        gate.process.send_signal(signal.SIGKILL)
        gate.process.wait(TIMEOUT)
    else:
        assert gate.end() == 0
    assert client.is_closed()
    assert SECRET.encode() not in client.received and client.received.count(b"HTTP/1.1 ") == (step == "in the answer")
    assert server.received == before
    if step != "in the body" and step != "in the answer":
        assert before == b""
    silent.close()


@pytest.mark.parametrize("document, why", [
    (b"{", "not JSON"),
    (b'{"configure":{"rules":[],"secrets":[],"authority":false}}', "missing"),
    (b'{"configure":{"rules":[],"secrets":[],"authority":1,"bounds":{}}}', "not what it should be"),
])
def test_a_configuration_that_is_none_starts_nothing(place, document, why):
    from gates import Supervisor
    gate = Supervisor(place.program, place.authority.path, [], {}, prefix=place.prefix, raw=document)
    place.started.append(gate)
    assert why in gate.told.wait("failed")[0]["reason"]
    assert gate.process.wait(TIMEOUT) == 1


def test_a_bundle_without_certificates_starts_nothing(place, tmp_path):
    from gates import Supervisor
    (tmp_path / "empty.pem").write_text("nothing\n")
    gate = Supervisor(place.program, tmp_path / "empty.pem", [rule()], {}, prefix=place.prefix)
    place.started.append(gate)
    assert "bundle" in gate.told.wait("failed")[0]["reason"]
    assert PLACEHOLDER not in str(gate.told.messages)
