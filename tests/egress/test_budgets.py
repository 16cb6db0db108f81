"""What one run may use of the network, and what is told of it."""

import pytest

from support.harness import brief
from support.internet import allow

COUNT = """
import errno, socket, sys
answers = []
for _ in range(int(sys.argv[1])):
    s = socket.socket()
    answers.append(errno.errorcode.get(s.connect_ex(("203.0.113.10", 7)), "ok"))
    s.close()
print(*answers)
"""

SEND = """
import socket, sys
s = socket.create_connection(("good.example", 9), 20)
left, block = int(sys.argv[1]), b"x" * 65536
while left > 0:
    s.sendall(block[:left])
    left -= len(block)
s.shutdown(socket.SHUT_WR)
s.recv(1)
print("all sent")
"""


def limited(net, limits, name="limits.toml"):
    return net.document('version = 1\nextends = "workspace"\n[net]\n'
                        'allow = ["203.0.113.10", "good.example"]\n[limits]\n' + limits, name)


def test_connections_are_counted(net):
    done, report = net.python(COUNT, "5", options=["--policy", limited(net, "connections = 3\n")])
    assert done.expect(0).out == "ok ok ok EACCES EACCES\n"
    assert [(c["allowed"], c["count"]) for c in report["connections"]] == [(True, 3), (False, 2)]
    refused = report["connections"][1]
    assert refused["rule"] == "limits.connections = 3" and "used up" in refused["reason"]
    assert [d["count"] for d in report["denials"] if d["what"] == "connect"] == [2]
    assert report["enforcement"]["limits"]["connections"] == "broker"
    done, _ = net.python(COUNT, "5", options=["--policy", limited(net, "connections = 5\n")])
    assert done.expect(0).out == "ok ok ok ok ok\n"


def test_its_own_loopback_costs_nothing(net):
    script = """
import socket
server = socket.create_server(("127.0.0.1", 0))
for _ in range(5):
    socket.create_connection(server.getsockname()).close()
print("ok", socket.socket().connect_ex(("203.0.113.10", 7)))
"""
    done, _ = net.python(script, options=["--policy", limited(net, "connections = 1\n")])
    assert done.expect(0).out == "ok 0\n"


def test_what_is_dialled_in_vain_counts(net):
    script = COUNT.replace('("203.0.113.10", 7)', '("203.0.113.10", 9999)')
    done, _ = net.python(script, "3", options=["--policy", limited(net, "connections = 2\n")])
    assert done.expect(0).out == "ECONNREFUSED ECONNREFUSED EACCES\n"


def test_bytes_are_told(net):
    """Of each destination, those that ended and one that the run's end cut off."""
    script = """
import socket
def echo(size):
    s = socket.create_connection(("good.example", 7), 20)
    s.sendall(b"x" * size)
    while size > 0:
        size -= len(s.recv(size))
    return s
echo(100000).close()
kept = echo(2345)
web = socket.create_connection(("203.0.113.10", 80), 20)
web.sendall(b"GET /bytes/7000 HTTP/1.0\\r\\n\\r\\n")
while web.recv(65536):
    pass
"""
    done, report = net.python(script, options=allow("good.example:7", "203.0.113.10:80"))
    done.expect(0)
    echo, web = report["connections"]
    assert (echo["count"], echo["sent"]) == (2, 102345)
    assert 0 <= echo["received"] - 102345 <= 2, "the end of a stream counts as one byte"
    assert web["sent"] == len("GET /bytes/7000 HTTP/1.0\r\n\r\n") and web["received"] > 7000


def test_more_than_may_be_sent_ends_the_run(net):
    policy = limited(net, 'sent = "1M"\n')
    done, report = net.python(SEND, "400000000", options=["--policy", policy])
    assert done.status == 137 and "all sent" not in done.out, done.account()
    assert report["kill_reason"] == "sent" and report["exit_code"] is None
    assert {"what": "sent", "detail": "killed at the sent limit", "layer": "watch",
            "count": 1} in brief(report["denials"])
    assert report["connections"][0]["sent"] > 1 << 20
    assert report["enforcement"]["limits"]["sent"] == "watch"


def test_as_much_as_may_be_sent_is(net):
    policy = limited(net, 'sent = "1M"\n')
    done, report = net.python(SEND, str(1 << 20), options=["--policy", policy])
    assert done.expect(0).out == "all sent\n" and report["kill_reason"] is None
    assert report["connections"][0]["sent"] == 1 << 20


def test_many_short_connections_are_counted_too(net):
    """Each is over before anybody could look at it."""
    script = """
import socket
for _ in range(10000):
    s = socket.create_connection(("good.example", 9), 20)
    s.sendall(b"x" * 4096)
    s.close()
"""
    policy = limited(net, 'sent = "256K"\n')
    done, report = net.python(script, options=["--policy", policy])
    assert done.status == 137 and report["kill_reason"] == "sent", done.account()


def test_a_ceiling_bounds_both(net):
    ceiling = net.document('version = 1\n[fs]\nread = ["/"]\nwrite = ["@cwd"]\n[net]\n'
                           'allow = ["203.0.113.10"]\n[limits]\nconnections = 2\nsent = "1M"\n',
                           "ceiling.toml")
    done, report = net.python(COUNT, "3", options=[
        "--policy", limited(net, "connections = 3\n"), "--ceiling", ceiling])
    assert done.expect(0).out == "ok ok EACCES\n"
    assert {"what": "limits.connections", "asked": "3", "got": "2",
            "because": "narrowed"} in report["reductions"]
    assert report["policy"]["limits"]["sent_bytes"] == 1 << 20


@pytest.mark.parametrize("limit", ["connections = 1", 'sent = "1M"', "requests = 1", 'request_traffic = "1M"'])
def test_an_open_network_cannot_be_counted(world, limit):
    policy = world.document(f'version = 1\nextends = "workspace"\n[net]\nmode = "open"\n[limits]\n'
                            f'{limit}\n')
    done = world.run("true", options=["--policy", policy]).expect(125)
    assert "cannot be counted" in done.err, done.account()
