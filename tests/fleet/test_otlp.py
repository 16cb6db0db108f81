"""cordon audit ship to an OTLP receiver: what arrives, what becomes of each answer, and what is never sent."""

import calendar
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from email.utils import formatdate
from pathlib import Path

import fleet
import jsonschema
import otlp
import pytest
from otlp import Reply, partial, receiving
from trail import Trail

from support import apart, harness, ports

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "gate")]
import gates  # noqa: E402

pytestmark = pytest.mark.once

TOKEN = "tok-0123456789abcdef"


class Source:
    """The log of a world that is shipped."""

    def __init__(self, world) -> None:
        self.world, self.trail = world, Trail(world)
        self.positions = world.home / ".local/state/cordon/ship"
        self.started: list[subprocess.Popen] = []

    @property
    def written(self) -> list[bytes]:
        return [line.rstrip(b"\n") for day in self.trail.days for line in self.trail.lines(day)]

    def attempt(self, url, *words, status=0, **how):
        return self.world.cordon_verb("audit", "ship", "--to", url, *words, timeout=otlp.LONG, **how).expect(status)

    def ship(self, receiver, *words, status=0, **how) -> dict:
        url = receiver if isinstance(receiver, str) else receiver.url()
        return self.attempt(url, "--once", "--json", *words, status=status, **how).json

    def start(self, url, *words, **how) -> subprocess.Popen:
        self.started.append(self.world.start([self.world.cordon, "audit", "ship", "--to", url, *words], **how))
        return self.started[-1]


@pytest.fixture
def source(world):
    made = Source(world)
    yield made
    for process in made.started:
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.fixture
def filled(source):
    source.trail.write("append", "4")
    return source


def source_position(source) -> int:
    """Up to which record the acknowledgements have come."""
    return max((json.loads(file.read_text())["seq"] for file in source.positions.glob("*.json")), default=0)


def heard(process, text, seconds=otlp.LONG):
    """The line of its standard error that holds the text."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        line = process.stderr.readline().decode()
        assert line, "it ended without saying so"
        if text in line:
            return line
    raise AssertionError(f"nothing said {text!r}")


# What arrives.

def test_each_record_is_one_log_record(source):
    source.trail.write("days", "-1", "0", "30")
    source.trail.write("canary", "x")
    with receiving() as receiver:
        answer = source.ship(receiver)
        schema = source.world.cordon_verb("policy", "schema", "audit-ship").expect(0).json
        jsonschema.validate(answer, schema)
        assert (answer["sent"], answer["stored"], answer["rejected"], answer["complete"]) == (
            len(source.written), None, 0, True)
        assert receiver.lines == source.written and len(receiver.records) == len(source.written)
        for stored, line in zip(receiver.records, source.written):
            record, said = json.loads(line), stored.attributes
            assert said["cordon.intact"] is True and said["cordon.node"] == os.uname().nodename == answer["node"]
            for name in ("seq", "event_id", "hash", "phase", "action"):
                assert said[f"cordon.{name}"] == record[name]
            for name in ("resource", "outcome", "reason"):
                assert said.get(f"cordon.{name}") == record[name]
            assert said.get("cordon.pending_seq") == record["metadata"].get("pending_seq")
            assert stored.resource == {"service.name": "cordon", "service.version": "0.1.0",
                                       "host.name": os.uname().nodename, "cordon.node": os.uname().nodename}
            moment = f"{stored.time // 10**9} {stored.time % 10**9 // 1000:06}"
            parsed = time.strptime(record["timestamp"][:19], "%Y-%m-%dT%H:%M:%S")
            assert moment == f"{calendar.timegm(parsed)} {record['timestamp'][20:26]}"
            bad = record["reason"] in ("denied", "refused", "limit", "timeout", "crash")
            denied = record["metadata"].get("denial_count", 0)
            assert stored.severity == ("WARN" if bad or denied else "INFO"), line
        assert {stored.severity for stored in receiver.records} == {"INFO", "WARN"}
        # It goes on where it was acknowledged.
        assert source.ship(receiver)["sent"] == 0
        source.trail.write("append", "3")
        assert source.ship(receiver)["sent"] == 6
        assert [len(records) for records in receiver.requests] == [len(source.written) - 6, 6]
        # Without the file that tells how far it came they come again, and are the same.
        first = {stored.identity: stored.attributes for stored in receiver.records}
        shutil.rmtree(source.positions)
        assert source.ship(receiver)["sent"] == len(source.written)
        again = receiver.records[len(first):]
        assert {stored.identity: stored.attributes for stored in again} == first
        assert receiver.lines == source.written


def test_nothing_private_is_sent_that_is_not_in_the_log(source):
    source.trail.write("canary", "canary-argument", "/home/somebody/canary-file")
    with receiving() as receiver:
        source.ship(receiver, env={"CANARY_VARIABLE": "canary-variable"})
        sent = json.dumps([stored.raw for stored in receiver.records]) + json.dumps(receiver.heads)
    assert "canary" not in sent.lower() and str(source.world.home) not in sent and "uid" not in sent
    # The control: what was recorded did arrive.
    assert len(receiver.records) == len(source.written) > 0


def test_a_node_has_the_name_that_it_is_given(filled):
    with receiving(path="/tenant/v1/logs") as receiver:
        assert filled.ship(receiver.url("localhost", "/tenant/v1/logs"), "--node", "build7")["node"] == "build7"
        assert {stored.resource["cordon.node"] for stored in receiver.records} == {"build7"}
        assert {identity[0] for identity in map(lambda stored: stored.identity, receiver.records)} == {"build7"}
    filled.attempt("otlp+http://127.0.0.1:1", "--node", "a'b", status=2)


def test_batches_are_bounded_and_share_a_connection(source):
    source.trail.write("append", "650")
    with receiving() as receiver:
        source.ship(receiver)
        assert [len(records) for records in receiver.requests] == [500, 500, 300] and len(receiver.connections) == 1
        assert receiver.lines == source.written
    # One that closes each connection without a word loses nothing.
    shutil.rmtree(source.positions)
    with receiving(judge=lambda _: Reply(drops=True)) as receiver:
        source.ship(receiver)
        assert len(receiver.connections) == 3 and receiver.lines == source.written


def test_a_day_of_large_records_is_left_behind_by_none_of_them(source):
    """What did not fit into the batch comes before the next day."""
    source.trail.write("days", "-1", "0", "2")
    first, _ = source.trail.days
    source.trail.put_lines(fleet.LARGE_LINES, first)
    with receiving() as receiver:
        source.ship(receiver)
        assert sorted(stored.line for stored in receiver.records) == sorted(source.written)
        assert max(sum(len(stored.line) for stored in records) for records in receiver.requests) < 1.1 * 2 ** 20


def test_following_sends_what_is_written_meanwhile(filled):
    with receiving() as receiver:
        follower = filled.start(receiver.url(), "--follow", "--json")
        assert harness.wait_until(lambda: len(receiver.records) == 8, otlp.LONG)
        filled.trail.write("append", "5")
        assert harness.wait_until(lambda: source_position(filled) == 18, otlp.LONG)
        assert "another cordon audit ship" in filled.attempt(receiver.url(), "--once", status=2).err
        follower.send_signal(signal.SIGTERM)
        out, err = follower.communicate(timeout=otlp.LONG)
        assert follower.returncode == 0 and json.loads(out)["sent"] == 18, err
        assert receiver.lines == filled.written


@pytest.mark.parametrize("change", [
    lambda line: b"\xff\xfe\x80" + line, lambda line: line.replace(b'"phase"', b'"ph\x01\x1b[31m\x00ase"'),
    lambda line: b"\x00" * 20, lambda line: "\u202e\u0000\ufeff ".encode(), lambda line: b"", lambda line: b"[1,2",
    lambda line: line.replace(b'"outcome":"', b'"outcome" :"')],
    ids=["not-utf8", "controls", "zeros", "invisible", "empty", "not-json", "edited"])
def test_what_is_no_record_arrives_as_it_is_and_marked(filled, change):
    lines = filled.trail.lines()
    lines[3] = change(lines[3].rstrip(b"\n")) + b"\n"
    filled.trail.put_lines(lines)
    with receiving() as receiver:
        filled.ship(receiver)
        assert [stored.line for stored in receiver.records] == filled.written
        bad = receiver.records[3]
        assert bad.attributes["cordon.intact"] is False and bad.severity == "ERROR"
        assert bad.attributes["cordon.line_sha256"] == hashlib.sha256(filled.written[3]).hexdigest()
        assert bad.attributes["cordon.seq"] == 4
        # The control: the others are as they were.
        assert all(stored.attributes["cordon.intact"] and "cordon.line_sha256" not in stored.attributes
                   for number, stored in enumerate(receiver.records) if number != 3)


# The receiver is away, or busy.

def test_a_receiver_that_is_away_is_told_and_waited_for(filled):
    port = harness.free_port()
    done = filled.attempt(f"otlp+http://127.0.0.1:{port}", "--once", "--json", status=2)
    assert "cannot be reached" in done.err and str(port) in done.err and done.json["complete"] is False
    waiting = filled.start(f"otlp+http://127.0.0.1:{port}", "--json")
    heard(waiting, "nothing is lost")
    with receiving(port=port) as receiver:
        out, err = waiting.communicate(timeout=otlp.LONG)
        assert waiting.returncode == 0 and b"the receiver is back" in err and json.loads(out)["sent"] == 8, err
        assert receiver.lines == filled.written


# In a network of its own: a shipper whose receiver is not there, and which can get no port but the receiver's.
ALONE = """
import subprocess, sys
place, cordon, host = sys.argv[1:]
sys.path.insert(0, place)
import otlp, ports
told = f"[{host}]" if ":" in host else host
to = [cordon, "audit", "ship", "--to", f"otlp+http://{told}:{ports.PORT}"]
ports.give_none_but_it()
print("alone", ports.is_answered_by_itself(host))
once = subprocess.run([*to, "--once"], stderr=subprocess.PIPE)
print("once", once.returncode, once.stderr.decode().strip())
shipper = subprocess.Popen(to, stderr=subprocess.PIPE)
print("waits", shipper.stderr.readline().decode().strip())
print("free", ports.can_be_bound(host))
ports.give_many()
receiver = otlp.Receiver(host=host, port=ports.PORT)
shipper.communicate(timeout=otlp.LONG)
print("ended", shipper.returncode, len(receiver.records), receiver.faults)
"""


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_one_that_could_only_reach_itself_waits_for_the_receiver(filled, host):
    """Where nobody listens the kernel may connect a socket with itself, and what is sent comes back."""
    for module in (otlp, ports):
        filled.world.write(filled.world.trusted / Path(module.__file__).name, Path(module.__file__).read_text())
    words = [*filled.world.own_network(), "/usr/bin/python3", "-c", ALONE, filled.world.trusted, filled.world.cordon, host]
    done = filled.world.execute(words, timeout=otlp.LONG)
    said = dict(line.split(" ", 1) for line in done.expect(0).out.splitlines())
    assert said["alone"] == "True", "the kernel does not do it here: nothing was tried"
    assert said["once"].startswith("2 ") and "cannot be reached (Connection refused)" in said["once"], said
    assert "cannot be reached (Connection refused); nothing is lost" in said["waits"], said
    assert (said["free"], said["ended"]) == ("True", "0 8 []"), said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_person_who_no_longer_waits_ends_it(filled, number):
    def heed():
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    waiting = filled.start(f"otlp+http://127.0.0.1:{harness.free_port()}", "--json", preexec_fn=heed)
    heard(waiting, "nothing is lost")
    waiting.send_signal(number)
    out, _ = waiting.communicate(timeout=otlp.LONG)
    assert waiting.returncode == 1 and json.loads(out)["complete"] is False
    # The same in the middle of an answer that does not come.
    silent = gates.Server(None, lambda peer: (peer.head(), time.sleep(otlp.LONG)))
    waiting = filled.start(f"otlp+http://127.0.0.1:{silent.port}", "--json", preexec_fn=heed)
    assert harness.wait_until(lambda: b"resourceLogs" in silent.received or (silent.peers and silent.peers[0].received))
    begin = time.monotonic()
    waiting.send_signal(number)
    out, _ = waiting.communicate(timeout=otlp.LONG)
    assert waiting.returncode == 1 and json.loads(out)["sent"] == 0 and time.monotonic() - begin < 10
    silent.close()


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_receiver_is_tried_again_when_it_says(filled, status):
    fields, times = {"Retry-After": "2"}, []

    def judge(_):
        times.append(time.monotonic())
        return Reply(status, b'{"code":14,"message":"not now, please"}', fields) if len(times) < 2 else Reply()

    with receiving(judge=judge) as receiver:
        done = filled.attempt(receiver.url(), "--json")
        assert done.json["complete"] and receiver.lines == filled.written
        assert f"{status}: not now, please" in done.err and "next attempt is in 2s" in done.err
        assert times[1] - times[0] >= 2
    # With --once it ends, and the next one goes on.
    filled.trail.write("append", "1")
    times.clear()
    with receiving(judge=judge) as receiver:
        answer = filled.ship(receiver, status=2)
        assert (answer["sent"], answer["complete"]) == (0, False) and not receiver.records
        assert filled.ship(receiver)["sent"] == 10 and receiver.lines == filled.written


def test_one_that_stays_busy_is_asked_less_and_less(filled):
    answers = [503, 429, 502]
    with receiving(judge=lambda _: Reply(answers.pop(0)) if answers else Reply()) as receiver:
        done = filled.attempt(receiver.url(), "--json")
    assert [line.split("is in ")[1] for line in done.err.splitlines() if "is in" in line] == ["1s", "2s", "4s"]
    assert done.err.count("the receiver is back") == 1 and done.json["sent"] == 8


@pytest.mark.parametrize("text,told", [
    (lambda: formatdate(time.time() + 4, usegmt=True), ("3s", "4s")), (lambda: formatdate(time.time() - 99, usegmt=True), ("1s",)),
    (lambda: "soon", ("1s",)), (lambda: "-5", ("1s",)), (lambda: "99999999999999999999", ("1s",)),
    (lambda: "86400", ("1h",))])
def test_what_retry_after_may_say(filled, text, told):
    with receiving(judge=lambda _: Reply(503, b"", {"Retry-After": text()})) as receiver:
        waiting = filled.start(receiver.url())
        line = heard(waiting, "next attempt is in")
        assert line.strip().endswith(tuple(f"is in {one}" for one in told)), line
        harness.stop(waiting)


def test_a_slow_receiver_loses_nothing(source):
    source.trail.write("append", "300")

    def slowly(peer):
        while head := peer.head():
            size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            body = b""
            while len(body) < size:
                body += peer.exactly(min(40_000, size - len(body)))
                time.sleep(0.1)
            bodies.append(body)
            for piece in (b"HTTP/1.1 100 Continue\r\n\r\nHTT", b"P/1.1 200 OK\r\nContent-Le", b"ngth: 2\r\n\r\n", b"{", b"}"):
                peer.send(piece)
                time.sleep(0.1)

    bodies = []
    server = gates.Server(None, slowly)
    server.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    assert source.ship(f"otlp+http://127.0.0.1:{server.port}")["complete"]
    assert [stored.line for body in bodies for stored in otlp.read_request(body)] == source.written
    server.close()


# What it does not take.

def test_a_receiver_that_takes_nothing_ends_it_and_loses_nothing(source):
    source.trail.write("append", "100")
    with receiving(judge=lambda _: Reply(400, b'{"code":3,"message":"no \\u001b[31mtenant"}')) as receiver:
        done = source.attempt(receiver.url(), "--json", status=2)
        assert "takes none of the records" in done.err and "400: no \\x1b[31mtenant" in done.err
        assert (done.json["sent"], done.json["rejected"]) == (0, 0) and len(receiver.requests) < 40
        follower = source.start(receiver.url(), "--follow")
        assert follower.wait(otlp.LONG) == 2, "a receiver that takes nothing is not asked for ever"
        follower.communicate()
    with receiving() as receiver:
        assert source.ship(receiver)["sent"] == 200 and receiver.lines == source.written


@pytest.mark.parametrize("status", [400, 413])
def test_one_record_that_is_not_taken_does_not_hold_back_the_others(source, status):
    source.trail.write("append", "40")

    def judge(records):
        return Reply(status, b"it is the sixth") if any(one.attributes["cordon.seq"] == 6 for one in records) else Reply()

    with receiving(judge=judge) as receiver:
        done = source.attempt(receiver.url(), "--once", "--json", status=2)
        assert "record(s) 6 " in done.err and f"{status}: it is the sixth" in done.err and "passed over" in done.err
        assert (done.json["sent"], done.json["rejected"], done.json["complete"]) == (80, 1, False)
        assert [stored.attributes["cordon.seq"] for stored in receiver.records] == [n for n in range(1, 81) if n != 6]
        # It was told, and is not tried for ever.
        count = len(receiver.requests)
        assert source.ship(receiver)["sent"] == 0 and len(receiver.requests) == count


def test_many_old_records_do_not_hold_back_the_newer_ones(source):
    """A receiver that takes nothing older than a week does not take the beginning of a long log."""
    source.trail.write("append", "100")
    with receiving(judge=lambda records: Reply(400 if records[0].attributes["cordon.seq"] <= 50 else 200)) as receiver:
        done = source.attempt(receiver.url(), "--once", "--json", status=2)
        assert (done.json["sent"], done.json["rejected"]) == (200, 50) and "1, 2, 3" in done.err
        assert {stored.attributes["cordon.seq"] for stored in receiver.records} == set(range(51, 201))
        assert source.ship(receiver)["sent"] == 0


def test_a_request_that_is_too_large_is_divided(source):
    source.trail.write("append", "100")
    with receiving(judge=lambda records: Reply(413 if len(records) > 30 else 200)) as receiver:
        answer = source.ship(receiver)
        assert (answer["sent"], answer["rejected"], answer["complete"]) == (200, 0, True)
        assert receiver.lines == source.written and len(receiver.records) == 200


@pytest.mark.parametrize("rejected", ["3", 3])
def test_records_that_were_refused_are_told(filled, rejected):
    with receiving(judge=lambda _: partial(rejected, "too old\x1b]0;x")) as receiver:
        done = filled.attempt(receiver.url(), "--once", "--json", status=2)
        assert "records 1 to 8 the receiver refused 3" in done.err and "too old\\x1b" in done.err
        assert "the receiver refused 3 record(s)" in done.err and "\x1b" not in done.err
        assert (done.json["sent"], done.json["rejected"], done.json["complete"]) == (8, 3, False)
        # The protocol says that these are not sent again.
        assert filled.ship(receiver)["sent"] == 0 and len(receiver.requests) == 1


@pytest.mark.parametrize("body", [
    b"", b"{}", b' {"partialSuccess": {}}', b'{"partialSuccess":null}', b'{"partialSuccess":{"rejectedLogRecords":"0"}}',
    b'{"partialSuccess":{"errorMessage":"use the newer path"}}', b'{"somethingNew":[1]}'])
def test_what_says_that_all_were_taken(filled, body):
    for status in (200, 202) if body else (200, 202, 204):
        with receiving(judge=lambda _, status=status: Reply(status, body, keeps=True)) as receiver:
            done = filled.attempt(receiver.url(), "--once", "--json")
            assert done.json["complete"] and receiver.lines == filled.written
            assert ("newer path" in done.err) == (b"newer" in body)
        shutil.rmtree(filled.positions)


@pytest.mark.parametrize("body", [
    b"<html>It works!</html>", b"[]", b"null", b"{", b'{"partialSuccess":7}', b"\xff", b"{}{}", b"[" * 5000,
    b'{"partialSuccess":{"rejectedLogRecords":"9"}}', b'{"partialSuccess":{"rejectedLogRecords":-1}}',
    b'{"partialSuccess":{"rejectedLogRecords":"x"}}', b'{"partialSuccess":{"rejectedLogRecords":1.5}}',
    b'{"partialSuccess":{"errorMessage":[]}}', b'{"a":"' + b"x" * 70_000 + b'"}'],
    ids=lambda body: hashlib.md5(body).hexdigest()[:6])
def test_what_does_not_say_so(filled, body):
    with receiving(judge=lambda _: Reply(200, body)) as receiver:
        done = filled.attempt(receiver.url(), "--json", status=2)
        assert "not as an OTLP receiver does" in done.err and done.json["sent"] == 0
    with receiving() as receiver:
        assert filled.ship(receiver)["sent"] == 8


@pytest.mark.parametrize("status,told", [
    (401, "OTEL_EXPORTER_OTLP_HEADERS"), (403, "--headers-file"), (404, "the path"), (405, "the path"), (408, "408"),
    (500, "500"), (501, "501"), (206, "206"), (451, "451")])
def test_other_answers_end_it(filled, status, told):
    with receiving(judge=lambda _: Reply(status, b"{}")) as receiver:
        done = filled.attempt(receiver.url(), status=2)
        assert told in done.err and receiver.url() in done.err and len(receiver.requests) == 1, done.account()
    with receiving() as receiver:
        assert filled.ship(receiver)["sent"] == 8


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(filled, status):
    with receiving() as other:
        fields = {"Location": f"http://127.0.0.1:{other.port}/v1/logs"}
        with receiving(judge=lambda _: Reply(status, b"", fields)) as receiver:
            done = filled.attempt(receiver.url(), status=2, env={"OTEL_EXPORTER_OTLP_HEADERS": f"x-key={TOKEN}"})
            assert "redirect" in done.err and "not followed" in done.err
        assert not other.heads and not other.connections
        # The control: the other one takes records.
        assert filled.ship(other)["sent"] == 8


def endless(*pieces, first=b""):
    def serve(peer):
        peer.head()
        peer.send(first)
        while True:
            peer.send(*pieces)
    return serve


def once(answer):
    def serve(peer):
        peer.head()
        peer.send(answer)
        peer.connection.shutdown(socket.SHUT_WR)
        while peer.more():
            pass
    return serve


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize("serve", [
    endless(b"x" * 4096, first=OK + b"\r\n"), endless(b"1000\r\n" + b"x" * 4096 + b"\r\n", first=OK + b"Transfer-Encoding: chunked\r\n\r\n"),
    endless(b"{}", first=OK + b"Content-Length: 99999999999\r\n\r\n"), endless(b"X-A: " + b"a" * 900 + b"\r\n", first=OK),
    endless(b"y" * 4096, first=OK + b"X-A: "), endless(b"HTTP/1.1 100 Continue\r\n\r\n"), endless(b"\0" * 4096),
    endless(b"\r\n" * 64), endless(b"1;" + b"e" * 4096, first=OK + b"Transfer-Encoding: chunked\r\n\r\n"),
    once(b"220 mail.example.org ESMTP\r\n"), once(b"HTTP/1.1 200 OK\n\n{}"), once(OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
    once(b"HTTP/1.1 99999 OK\r\n\r\n"), once(OK + b" folded: 1\r\n\r\n{}"), once(OK + b"a\0b: 1\r\n\r\n{}"),
    once(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
    once(OK + b"".join(b"X-%d: 1\r\n" % n for n in range(300)) + b"\r\n{}")],
    ids=["body", "chunks", "length", "headers", "header", "interim", "zeros", "blanks", "extension", "smtp", "bare", "lengths",
         "status", "folded", "nul", "switch", "many"])
def test_a_hostile_answer_is_no_acknowledgement(filled, serve):
    server = gates.Server(None, serve)
    done = filled.attempt(f"otlp+http://127.0.0.1:{server.port}", "--json", status=2)
    assert done.json["sent"] == 0 and f":{server.port}" in done.err and len(done.err) < 1000, done.account()
    server.close()
    with receiving() as receiver:
        assert filled.ship(receiver)["sent"] == 8


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200", OK + b"Content-Length: 9\r\n\r\n{", OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{"])
def test_an_answer_that_breaks_off_is_tried_again(filled, answer):
    server = gates.Server(None, once(answer))
    done = filled.attempt(f"otlp+http://127.0.0.1:{server.port}", "--once", "--json", status=2)
    assert "before it had answered" in done.err and done.json["sent"] == 0, done.account()
    waiting = filled.start(f"otlp+http://127.0.0.1:{server.port}")
    heard(waiting, "nothing is lost")
    harness.stop(waiting)
    server.close()


# Killed.

def test_nothing_is_lost_when_either_side_is_killed(source):
    """While a writer goes on, the shipper and the receiver are killed at random moments. What came twice is known by its
    node and number."""
    kills = int(os.environ.get("CORDON_OTLP_KILLS", "8"))
    chance = random.Random(os.environ.get("CORDON_FLEET_SEED", "7"))
    source.trail.write("append", "800", timeout=fleet.HOUR)
    writer = source.trail.start("forever", stdout=subprocess.DEVNULL)
    directory = Path(tempfile.mkdtemp(prefix="cordon-otlp.", dir="/var/tmp"))
    receiver = otlp.Killable(apart.own_ports(fleet.PERSON.uid)[610], directory / "store")
    receiver.up()
    url = f"otlp+http://127.0.0.1:{receiver.port}"
    alive = 0
    try:
        for turn in range(kills):
            shipper = source.start(url, "--follow")
            size = receiver.size
            harness.wait_until(lambda size=size: receiver.size > size, 5)
            time.sleep(chance.uniform(0, 0.4))
            alive += shipper.poll() is None
            if turn % 2:
                receiver.kill()
                time.sleep(chance.uniform(0, 0.2))
                receiver.up()
            harness.stop(shipper)
            if turn % 4 == 3:
                shutil.rmtree(source.positions, ignore_errors=True)
    finally:
        harness.stop(writer)
    source.trail.write("recover")
    source.trail.write("append", "1")
    assert alive == kills, "a shipper ended by itself"
    assert source.ship(url)["complete"]
    rows = receiver.rows
    receiver.kill()
    harness.remove_tree(directory)
    once_each = {(node, seq): (mark, body) for node, seq, mark, body in rows}
    assert len({tuple(row[:3]) for row in rows}) == len(once_each), "two records with one number are not one record"
    assert [body.encode() for _, (_, body) in sorted(once_each.items())] == source.written
    assert len(rows) > len(once_each) > 1600, "nothing was sent twice: nothing was tried"


# The way there.

@pytest.mark.parametrize("url,told", [
    ("otlp+https://me:hunter2@otel.example.org:4318", "user or a password"), ("otlp+https://hunter2@otel.example.org:4318", "user or a password"),
    ("otlp+http://me:hun/ter2@127.0.0.1:4318", "user or a password"), ("otlp+https://otel.example.org:4318/v1/logs?key=hunter2", "query"),
    ("otlp+https://otel.example.org:4318/#hunter2", "query"), ("otlp+https://otel.example.org", "no port"),
    ("otlp+https://[::1]", "no port"), ("otlp+https://:4318", "no host"), ("otlp+https://a b:4318", "no host"),
    ("otlp+https://[hunter2]:4318", "no host"), ("otlp+https://otel.example.org:0", "the port"), ("otlp+https://otel.example.org:65536", "the port"),
    ("otlp+https://otel.example.org:43x", "the port"), ("otlp+https://otel.example.org:4318/a b", "the path"),
    ("otlp+https://otel.example.org:4318/a\r\nX: y", "the path"), ("otlp://otel.example.org:4318", "begin with otlp+https"),
    ("https://otel.example.org:4318", "begin with otlp+https"), ("otlp+grpc://otel.example.org:4317", "begin with otlp+https")])
def test_addresses_that_are_refused(filled, url, told):
    done = filled.attempt(url, "--once", status=2)
    assert told in done.err and "otlp+https://HOST:PORT" in done.err or "OTEL_EXPORTER_OTLP_HEADERS" in done.err, done.account()
    assert "hunter2" not in done.out + done.err and not filled.positions.exists()


def test_options_belong_to_one_kind_of_destination(filled):
    for words in (["--headers-file", "x"], ["--without-tls"], ["--node", "n"]):
        done = filled.attempt("postgresql://me@127.0.0.1:1/audit", *words, status=2)
        assert words[0] in done.err
    done = filled.world.cordon_verb("audit", "list", "--from", "otlp+http://127.0.0.1:4318").expect(2)
    assert "postgresql://" in done.err


def test_plain_http_stays_on_this_host(filled):
    """In a network of its own, with an address that is not of the loopback."""
    for host in ("192.0.2.1", "otel.example.org", "[2001:db8::1]"):
        done = filled.attempt(f"otlp+http://{host}:4318", "--once", status=2)
        assert "whoever is on the way" in done.err and "otlp+https://" in done.err and "--without-tls" in done.err
    script = filled.world.write(filled.world.trusted / "both.py", (
        "import subprocess, sys\nsys.path.insert(0, sys.argv[1])\nimport otlp\n"
        "with otlp.receiving(host='192.0.2.1') as receiver:\n"
        "    for words in sys.argv[3:]:\n"
        "        done = subprocess.run([sys.argv[2], 'audit', 'ship', '--once', '--to', receiver.url('192.0.2.1'), *words.split()])\n"
        "        print('STATUS', done.returncode, len(receiver.records), len(receiver.connections), flush=True)\n"))
    shutil.copy(Path(otlp.__file__), filled.world.trusted / "otlp.py")
    filled.world.own(filled.world.trusted / "otlp.py")
    isolated = ["unshare", "-n" if filled.world.who.is_root else "-Urn", "sh", "-c",
                'ip link set lo up && ip address add 192.0.2.1/32 dev lo && exec "$@"', "sh"]
    words = ["/usr/bin/python3", script, filled.world.trusted, filled.world.cordon]
    told = {}
    for token in ("", f"authorization=Bearer {TOKEN}"):
        done = filled.world.execute([*isolated, *words, "", "--without-tls"], env={"OTEL_EXPORTER_OTLP_HEADERS": token})
        told[bool(token)] = [line.split()[1:] for line in done.out.splitlines() if line.startswith("STATUS")]
        assert TOKEN not in done.out + done.err
        if token:
            assert "without TLS whoever is on the way reads them" in done.err
        shutil.rmtree(filled.positions, ignore_errors=True)
    # Nothing is even connected, unless the person gives it up; a token is not sent so at all.
    assert told == {False: [["2", "0", "0"], ["0", "8", "1"]], True: [["2", "0", "0"], ["2", "0", "0"]]}


def test_a_name_of_this_host_that_leads_elsewhere_is_not_spoken_to(filled):
    """localhost is a name like any other."""
    hosts = filled.world.write(filled.world.trusted / "hosts", "192.0.2.7 localhost\n")
    moved = [*filled.world.own_namespaces(), "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts]
    with receiving() as receiver:
        words = [filled.world.cordon, "audit", "ship", "--once", "--to", receiver.url("localhost")]
        done = filled.world.execute([*moved, *words]).expect(2)
        assert "leads to another host" in done.err and not receiver.connections
        filled.world.execute(words).expect(0)


# TLS.

@pytest.fixture(scope="module")
def authority():
    directory = Path(tempfile.mkdtemp(prefix="cordon-ca.", dir="/var/tmp"))
    directory.chmod(0o755)
    yield gates.Authority(directory, "authority")
    harness.remove_tree(directory)


@pytest.mark.parametrize("variable", ["OTEL_EXPORTER_OTLP_LOGS_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE", "SSL_CERT_FILE"])
def test_over_tls_with_an_authority_that_was_named(filled, authority, variable):
    with receiving(context=authority.context("localhost")) as receiver:
        answer = filled.ship(receiver.url("localhost"), env={variable: str(authority.path)})
        assert answer["complete"] and receiver.lines == filled.written


@pytest.mark.parametrize("hosts,days,told", [
    (["otel.example.org"], (-1, 30), "hostname mismatch"), (["*.localhost"], (-1, 30), "hostname mismatch"),
    (["localhost"], (-30, -1), "expired"), (["localhost"], (-1, 30), "unable to get local issuer")])
def test_a_certificate_that_is_not_accepted_ends_it(filled, authority, hosts, days, told):
    env = {"SSL_CERT_FILE": str(authority.path), "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer {TOKEN}"}
    if "issuer" in told:
        env["SSL_CERT_FILE"] = str(gates.Authority(authority.directory, "stranger").path)
    with receiving(context=authority.context(*hosts, days=days)) as receiver:
        # Not even where it would wait for a receiver that is away.
        done = filled.attempt(receiver.url("localhost"), env=env, status=2)
        assert "its certificate is not accepted" in done.err and told in done.err, done.account()
        assert not receiver.heads
    # The control: the same with one that is good.
    with receiving(context=authority.context("localhost")) as receiver:
        filled.ship(receiver.url("localhost"), env={**env, "SSL_CERT_FILE": str(authority.path)})
        assert {head["authorization"] for head in receiver.heads} == {f"Bearer {TOKEN}"}


def test_an_address_is_verified_as_one(filled, authority):
    env = {"SSL_CERT_FILE": str(authority.path)}
    with receiving(context=authority.context("localhost")) as receiver:
        assert "IP address mismatch" in filled.attempt(receiver.url("127.0.0.1"), status=2, env=env).err
    with receiving(context=authority.context("127.0.0.1")) as receiver:
        filled.ship(receiver.url("127.0.0.1"), env=env)
        assert receiver.lines == filled.written
    filled.trail.write("append", "1")
    with receiving(host="::1", context=authority.context("::1")) as receiver:
        filled.ship(receiver.url("[::1]"), env=env)
        assert receiver.lines == filled.written and receiver.heads[0]["host"] == f"[::1]:{receiver.port}"
    with receiving(host="::1") as receiver:
        filled.ship(receiver.url("[::1]"))
        assert receiver.lines == filled.written


def test_long_words_of_a_receiver_are_cut(filled):
    with receiving(judge=lambda _: Reply(500, json.dumps({"message": "é" * 5000}).encode())) as receiver:
        done = filled.attempt(receiver.url(), status=2)
        assert "ééé…" in done.err and len(done.err) < 500 and "\ufffd" not in done.err


def test_the_certificates_of_the_host_are_the_usual_ones(filled, authority):
    """No variable: nobody of this host knows the authority."""
    with receiving(context=authority.context("localhost")) as receiver:
        assert "not accepted" in filled.attempt(receiver.url("localhost"), status=2).err
        store = Path("/etc/ssl/certs/ca-certificates.crt").resolve(strict=True)
        known = [*filled.world.own_namespaces(), "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', authority.path, store]
        filled.world.execute([*known, filled.world.cordon, "audit", "ship", "--once", "--to", receiver.url("localhost")]).expect(0)
        assert receiver.lines == filled.written


def test_one_that_speaks_plainly_where_tls_is_asked_for(filled, authority):
    with receiving() as receiver:
        done = filled.attempt(f"otlp+https://localhost:{receiver.port}", "--once", status=2)
        assert "does not speak TLS" in done.err and not receiver.heads
    with receiving(context=authority.context("localhost")) as receiver:
        done = filled.attempt(f"otlp+http://localhost:{receiver.port}", "--once", status=2)
        assert receiver.url("localhost").replace("https", "http") in done.err and not receiver.heads
    for name, value in (("SSL_CERT_FILE", "/nonexistent"), ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/dev/null")):
        done = filled.attempt("otlp+https://localhost:1", "--once", status=2, env={name: value})
        assert "/nonexistent" in done.err and name in done.err or "holds none" in done.err, done.account()


# Headers.

@pytest.mark.parametrize("variables,sent", [
    ({"OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{TOKEN}, x-tenant = a%2Cb ,"}, {"authorization": f"Bearer {TOKEN}", "x-tenant": "a,b"}),
    ({"OTEL_EXPORTER_OTLP_LOGS_HEADERS": f"x-key={TOKEN}=", "OTEL_EXPORTER_OTLP_HEADERS": "x-other=1"}, {"x-key": f"{TOKEN}="}),
    ({"OTEL_EXPORTER_OTLP_HEADERS": ""}, {})])
def test_headers_come_from_the_usual_variables(filled, variables, sent):
    with receiving() as receiver:
        done = filled.attempt(receiver.url(), "--once", env=variables)
        head = receiver.heads[0]
        assert {name: head[name] for name in sent} == sent and ("x-other" in head) is False
        assert TOKEN not in done.out + done.err


def test_headers_come_from_a_file_of_ones_own(filled):
    file = filled.world.write(filled.world.trusted / "headers", f"# of the collector\n\nAuthorization: Bearer {TOKEN}\r\nX-Tenant:  a b \n", 0o600)
    variables = {"OTEL_EXPORTER_OTLP_HEADERS": "x-other=1"}
    with receiving() as receiver:
        shipper = filled.start(receiver.url(), "--follow", "--headers-file", str(file), env=variables)
        assert harness.wait_until(lambda: len(receiver.records) == 8, otlp.LONG)
        lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in (shipper.pid, *harness.descendants(shipper.pid))]
        assert lines and not any(TOKEN.encode() in line for line in lines)
        harness.stop(shipper)
        head = receiver.heads[0]
        assert (head["authorization"], head["x-tenant"], "x-other" in head) == (f"Bearer {TOKEN}", "a b", False)
        filled.trail.write("append", "1")
        for mode in (0o644, 0o604, 0o660):
            file.chmod(mode)
            done = filled.attempt(receiver.url(), "--once", "--headers-file", str(file), status=2)
            assert "others can read or change it" in done.err and "chmod 600" in done.err and TOKEN not in done.err
        file.chmod(0o600)
        filled.attempt(receiver.url(), "--once", "--headers-file", str(file))
    for wrong in (file.with_name("missing"), file.parent, "/dev/zero"):
        assert "cannot take headers" in filled.attempt("otlp+http://127.0.0.1:1", "--headers-file", str(wrong), status=2).err
    fifo = file.with_name("fifo")
    os.mkfifo(fifo, 0o600)
    filled.world.own(fifo)
    assert "no file" in filled.attempt("otlp+http://127.0.0.1:1", "--headers-file", str(fifo), status=2).err


@pytest.mark.parametrize("text", [
    f"authorization=Bearer {TOKEN}%0d%0aHost: evil", f"a b={TOKEN}", f"{TOKEN}", f"={TOKEN}", f"x={TOKEN}%00", f"x=caf%C3%A9{TOKEN}",
    f"Host={TOKEN}", f"content-length={TOKEN}", f"transfer-encoding={TOKEN}", f"connection={TOKEN}",
    ",".join(f"x{n}={TOKEN}" for n in range(40)), f"x={TOKEN}" + "y" * 20_000],
    ids=lambda text: hashlib.md5(text.encode()).hexdigest()[:6])
def test_headers_that_are_none_are_refused_and_not_repeated(filled, text):
    with receiving() as receiver:
        done = filled.attempt(receiver.url(), "--once", status=2, env={"OTEL_EXPORTER_OTLP_HEADERS": text})
        assert "OTEL_EXPORTER_OTLP_HEADERS" in done.err and TOKEN not in done.err and not receiver.connections, done.account()
        filled.attempt(receiver.url(), "--once", env={"OTEL_EXPORTER_OTLP_HEADERS": f"x={TOKEN}"})


@pytest.mark.parametrize("status", [200, 400, 401, 503])
def test_a_receiver_that_repeats_a_token_has_it_written_nowhere(filled, status):
    def judge(_):
        text = f"you sent Bearer {TOKEN} and {TOKEN}, twice"
        return partial(1, text) if status == 200 else Reply(status, json.dumps({"message": text}).encode())

    with receiving(judge=judge) as receiver:
        done = filled.attempt(receiver.url(), "--once", status=2, env={"OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer {TOKEN}"})
        assert "you sent" in done.err and "twice" in done.err and TOKEN not in done.err, done.account()
        assert TOKEN in receiver.heads[0]["authorization"]
    kept = "".join(path.read_text() for path in filled.positions.iterdir())
    assert TOKEN not in kept


def test_no_proxy_is_asked(filled):
    with receiving() as receiver, receiving() as proxy:
        variables = {name: f"http://127.0.0.1:{proxy.port}" for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY")}
        filled.attempt(receiver.url(), "--once", env=variables)
        assert receiver.lines == filled.written and not proxy.connections


def test_there_is_no_log_yet(world):
    done = world.cordon_verb("audit", "ship", "--once", "--to", "otlp+https://otel.example.org:4318").expect(1)
    assert "no audit log" in done.err
