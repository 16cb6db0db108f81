"""Secrets: added outside, to one host, and never seen inside."""

import base64
import os
import re
import subprocess
import time

import pytest

from gates import API, OTHER, OTHER_PLACEHOLDER, PLACEHOLDER, SECRET, Client, rule, secret
from support import harness


def fields_at(server):
    return {line.split(b": ")[0].lower().decode(): line.split(b": ", 1)[1].decode()
            for line in server.received.split(b"\r\n") if b": " in line}


@pytest.mark.parametrize("changes, name, value", [
    ({}, "authorization", f"Bearer {SECRET}"),
    ({"kind": "basic", "value": f"user:{SECRET}"}, "authorization",
     "Basic " + base64.b64encode(f"user:{SECRET}".encode()).decode()),
    ({"kind": "header", "header": "x-api-key"}, "x-api-key", SECRET),
])
@pytest.mark.parametrize("sent", [(), (f"Authorization: Bearer {PLACEHOLDER}",), ("X-Api-Key: somebody-elses",),
                                  ("Authorization: Bearer somebody-elses", "Cookie: session=somebody-elses")])
def test_the_secret_takes_the_place_of_whatever_the_client_sent(place, changes, name, value, sent):
    server = place.server()
    gate = place.gate(server, rule(secret="key"), secrets=[secret(**changes)])
    answer = Client(gate.connect()).get("/", *sent)
    assert answer.status == 200
    seen = fields_at(server)
    assert seen[name] == value
    assert PLACEHOLDER.encode() not in server.received and b"somebody" not in server.received
    assert gate.told.all("request")[0]["secret"] == "key"


def test_without_a_rule_that_says_so_no_secret_is_added(place):
    server = place.server()
    gate = place.gate(server, secrets=[secret()])
    assert Client(gate.connect()).get("/", "Authorization: Bearer own").status == 200
    assert fields_at(server)["authorization"] == "Bearer own"
    assert SECRET.encode() not in server.received


def test_a_placeholder_goes_to_no_other_host_and_into_no_other_header(place):
    server = place.server()
    both = [rule(secret="key"), rule(id="other", host=OTHER)]
    secrets = [secret(), secret(name="second", host=OTHER, placeholder=OTHER_PLACEHOLDER)]
    gate = place.gate(server, *both, secrets=secrets, upstream={"api": server.port, "other": server.port})
    for name, host, path, field in [("other", OTHER, "/", f"Authorization: Bearer {PLACEHOLDER}"),
                                    ("other", OTHER, "/", f"X-Any: {PLACEHOLDER}"),
                                    ("api", API, "/", f"Authorization: Bearer {OTHER_PLACEHOLDER}"),
                                    ("api", API, "/", f"X-Echo: {PLACEHOLDER}"),
                                    ("api", API, f"/?key={PLACEHOLDER}", "X-Any: 1")]:
        answer = Client(gate.connect(name)).get(path, field, host=host)
        assert answer.status == 403 and answer.error["rule"] == name and "placeholder" in answer.error["message"]
    assert server.received == b""
    assert Client(gate.connect()).get("/", f"Authorization: Bearer {PLACEHOLDER}").status == 200


def test_a_placeholder_in_a_body_stays_one(place):
    """What a server does with a body, nobody knows: it may answer with it, or show it to others."""
    bodies = []

    def serve(peer):
        peer.head()
        bodies.append(peer.exactly(len(PLACEHOLDER)))
        peer.answer()
    server = place.server(serve)
    gate = place.gate(server, rule(secret="key"), secrets=[secret()])
    client = Client(gate.connect())
    client.send(f"POST / HTTP/1.1\r\nHost: {API}\r\nContent-Length: {len(PLACEHOLDER)}\r\n\r\n{PLACEHOLDER}")
    assert client.answer("POST").status == 200
    assert bodies == [PLACEHOLDER.encode()] and server.received.count(SECRET.encode()) == 1, server.received
    # The control: in the same request it is added where it belongs.
    assert fields_at(server)["authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize("cut", range(0, len(SECRET) + 1, 3))
def test_a_server_that_echoes_the_secret_is_masked(place, cut):
    echoed = f"you sent {SECRET}, sk-live-0123 and {SECRET}".encode()
    at = echoed.index(SECRET.encode()) + cut

    def serve(peer):
        peer.head()
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-Echo: Bearer " % len(echoed) + SECRET.encode() +
                  b"\r\n\r\n" + echoed[:at])
        # Only once the client has what came before.
        peer.connection.settimeout(0.05)
        try:
            peer.more()
        except OSError:
            pass
        peer.send(echoed[at:])
    gate = place.gate(place.server(serve), rule(secret="key"), secrets=[secret()])
    client = Client(gate.connect())
    answer = client.get("/")
    assert SECRET.encode() not in client.received
    assert answer.field("x-echo") == "Bearer " + "*" * len(SECRET)
    # No more than the three characters are there that a stream is not held back for.
    assert re.fullmatch(rb"you sent [-a-z]{0,3}\*+, sk-live-0123 and \*+", answer.body), answer.body
    assert len(answer.body) == len(echoed)


def test_a_server_that_names_a_header_by_the_secret_is_masked(place):
    def serve(peer):
        peer.head()
        peer.answer(f"{SECRET} alone".encode(), b"X-%s: yes" % SECRET.encode())
    gate = place.gate(place.server(serve), rule(secret="key"),
                      secrets=[secret(kind="header", value=f"token {SECRET}")])
    client = Client(gate.connect())
    assert client.get("/").body == b"*" * len(SECRET) + b" alone"
    assert SECRET.encode() not in client.received and b"X-" + b"*" * len(SECRET) + b": yes" in client.received


def test_what_cannot_be_searched_is_not_asked_for(place):
    server = place.server()
    gate = place.gate(server, rule(secret="key"), secrets=[secret()])
    assert Client(gate.connect()).get("/", "Accept-Encoding: gzip, br").status == 200
    assert fields_at(server)["accept-encoding"] == "identity"
    # A WebSocket is not compressed either.
    offer = "Sec-WebSocket-Extensions: permessage-deflate"
    plain = place.gate(place.server(), rule(id="plain"), upstream={"plain": server.port})
    for asked, kept in ((gate.connect(), False), (plain.connect("plain"), True)):
        assert Client(asked).get("/", offer).status == 200
        assert (b"permessage-deflate" in server.peers[-1].received) == kept


def test_nobody_elses_key_goes_beside_a_secret(place):
    server = place.server()
    gate = place.gate(server, rule(secret="key"), secrets=[secret()])
    for name in ("X-Api-Key", "X_Api_Key", "x.api.key", "Authorization", "APIKEY", "Job-Token"):
        assert Client(gate.connect()).get("/", f"{name}: mine", "X-Kept: 1").status == 200
        seen = server.peers[-1].received
        assert b"mine" not in seen and b"X-Kept: 1" in seen and seen.count(SECRET.encode()) == 1, name


def test_a_redirect_is_the_clients_to_follow_and_takes_no_secret_along(place):
    def serve(peer):
        while peer.head():
            peer.answer(b"", b"Location: https://other.example.com/next", status=b"302 Found")
    first, second = place.server(serve), place.server()
    gate = place.gate(first, rule(secret="key"), rule(id="other", host=OTHER), secrets=[secret()],
                      upstream={"api": first.port, "other": second.port})
    answer = Client(gate.connect()).get("/")
    assert (answer.status, answer.field("location")) == (302, "https://other.example.com/next")
    assert first.received.count(SECRET.encode()) == 1 and second.received == b""


def test_a_new_value_holds_from_the_next_request_on(place):
    server = place.server()
    gate = place.gate(server, rule(secret="key"), secrets=[secret(value="")])
    client = Client(gate.connect())
    assert client.get("/").status == 502 and server.received == b""
    for value in ("first-value", "second-value"):
        gate.say("secret", {"name": "key", "value": value})
        assert client.get("/").status == 200
        assert fields_at(server)["authorization"] == f"Bearer {value}"


def test_nothing_the_gate_says_holds_a_secret(place):
    gate = place.gate(None, rule(secret="key"), secrets=[secret()])
    client = Client(gate.connect())
    answers = [client.get("/"), client.get("/../..")]
    assert [answer.status for answer in answers] == [502, 400]
    assert SECRET not in str(gate.told.messages) + str(answers)
    with open(f"/proc/{gate.process.pid}/cmdline", "rb") as words:
        assert SECRET.encode() not in words.read()
    if os.geteuid() == 0:
        with open(f"/proc/{gate.process.pid}/environ", "rb") as environment:
            assert SECRET.encode() not in environment.read()


def memory_holds(process, text):
    """Whether any memory that the process can write holds the text; as root, who may look."""
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            if not rights.startswith("rw"):
                continue
            begin, end = (int(number, 16) for number in span.split("-"))
            memory.seek(begin)
            if text in memory.read(end - begin):
                return True
    return False


def test_a_value_that_was_replaced_is_nowhere_in_memory(place):
    gate = place.gate(place.server(), rule(secret="key"), secrets=[secret()])
    client = Client(gate.connect())
    assert client.get("/").status == 200
    fresh = "sk-live-entirely-other-value-0"
    if os.geteuid() == 0:
        assert memory_holds(gate.process.pid, SECRET.encode())
    else:
        # An ordinary user cannot look at all, which is the stronger half.
        with pytest.raises(PermissionError):
            open(f"/proc/{gate.process.pid}/mem", "rb")
    gate.say("secret", {"name": "key", "value": fresh})
    assert client.get("/").status == 200
    if os.geteuid() == 0:
        assert memory_holds(gate.process.pid, fresh.encode())
        assert not memory_holds(gate.process.pid, SECRET.encode())


def test_no_other_process_of_the_user_reads_the_memory(place):
    gate = place.gate(place.server(), rule(secret="key"), secrets=[secret()])
    status = dict(line.split(":\t") for line in open(f"/proc/{gate.process.pid}/status"))
    assert status["Seccomp"].strip() == "2" and status["NoNewPrivs"].strip() == "1"
    assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
    limits = open(f"/proc/{gate.process.pid}/limits").read()
    assert re.search(r"Max core file size +0 +0 ", limits)
    # Of a process that cannot be dumped, /proc belongs to root, whoever runs it.
    assert os.stat(f"/proc/{gate.process.pid}/mem").st_uid == 0
    other = subprocess.Popen([*place.prefix, "sleep", "60"])
    person = harness.PEOPLE[-1].uid
    try:
        until = time.monotonic() + 30
        # It is its user's once setpriv has become it.
        while (owner := os.stat(f"/proc/{other.pid}/mem").st_uid) != person and time.monotonic() < until:
            time.sleep(0.01)
        assert owner == person
    finally:
        other.kill()
        other.wait()
    if os.geteuid() != 0:
        # Nor does the user see what it has open.
        with pytest.raises(PermissionError):
            os.listdir(f"/proc/{gate.process.pid}/fd")
    else:
        open_now = {os.readlink(f"/proc/{gate.process.pid}/fd/{number}").split(":")[0]
                    for number in os.listdir(f"/proc/{gate.process.pid}/fd") if int(number) > 2}
        assert open_now <= {"socket", "anon_inode"}
