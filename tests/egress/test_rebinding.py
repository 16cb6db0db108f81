"""Names that lead somewhere else from one answer to the next, and the gate: it connects to an address that was judged, or
to none."""

import json
from collections import Counter
from pathlib import Path

import pytest

from support.internet import ASTRAY
from support.stand_ins import CHANGING, WITNESS_PORT

PUBLIC = "203.0.113.10"

# Three connections to each name: one that the server keeps, one that it closes, and a new one once the answers of the
# name server have changed. An answer is kept for ten seconds.
ASK = """
import http.client, json, ssl, sys, time
port, wait, names = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
def connect(name):
    return http.client.HTTPSConnection(name, port, timeout=30)
def ask(connection, path):
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return [answer.status, answer.read().decode()]
    except OSError as error:
        return [0, str(error)]
kept, closed = ({name: connect(name) for name in names} for _ in range(2))
said = {name: [ask(kept[name], "/v1/a"), ask(closed[name], "/v1/last")] for name in names}
time.sleep(wait)
for name in names:
    said[name] += [ask(kept[name], "/v1/b"), ask(closed[name], "/v1/c"), ask(connect(name), "/v1/d")]
print(json.dumps(said))
"""

CONNECT = """
import socket, sys
for place in sys.argv[2:]:
    with socket.create_connection((place, int(sys.argv[1])), 10):
        print(place)
"""


@pytest.fixture
def trust(net):
    return {"SSL_CERT_FILE": str(net.internet.directory / "for-clients/ca.pem")}


def reached(net):
    """At which addresses connections arrived, on either side of the cable, and how many."""
    places = [Path(net.internet.directory / f"reached-{side}") for side in ("far", "host")]
    return Counter(line for place in places if place.exists() for line in place.read_text().split())


def rules(names):
    return [word for name in names for word in ("--http", f"GET {name}:{WITNESS_PORT}/v1/**")]


@pytest.mark.once
def test_a_name_that_leads_astray_within_a_run(net, trust):
    before = reached(net)
    names = {label: f"{net.who.name}--{label}.{CHANGING}" for label in ASTRAY}
    words = ["/usr/bin/python3", "-c", ASK, WITNESS_PORT, 11, *names.values()]
    done, report = net.report(*words, options=rules(names.values()), env=trust, timeout=120)
    said = json.loads(done.expect(0).out)
    for label, name in names.items():
        statuses = [status for status, _ in said[name]]
        # What was connected while the name led to a public address stays connected there.
        assert statuses == [200, 200, 200, 502, 502], (label, said[name])
        assert "the policy refuses what its name leads to" in said[name][4][1], (label, said[name])
        astray = [c for c in report["connections"] if c["host"] == name and not c["allowed"]]
        assert sum(c["count"] for c in astray) == 2, (label, astray)
    assert set(reached(net) - before) == {PUBLIC}
    # Control: all of these places are there, and the host reaches them.
    before = reached(net)
    net.bare("/usr/bin/python3", "-c", CONNECT, WITNESS_PORT, *ASTRAY.values()).expect(0)
    there = reached(net) - before
    assert there.total() == len(ASTRAY) and PUBLIC not in there, there


@pytest.mark.once
def test_a_name_that_leads_astray_between_two_questions(net, trust):
    """Every other answer is a private address. What is connected to is what was judged, so one question is asked."""
    name = f"{net.who.name}--turns.{CHANGING}"
    for statuses, places in (({200}, {PUBLIC}), ({502}, set()), ({200}, {PUBLIC})):
        asked, before = net.internet.queries().count(name), reached(net)
        words = ["/usr/bin/python3", "-c", ASK, WITNESS_PORT, 0, name]
        done, report = net.report(*words, options=rules([name]), env=trust, timeout=60)
        assert {status for status, _ in json.loads(done.expect(0).out)[name]} == statuses, done.account()
        # One for each family.
        assert net.internet.queries().count(name) - asked == 2
        assert set(reached(net) - before) == places, report["connections"]
