"""Network mode allow: what is named is reached, by any program, and nothing else is."""

import errno
import json
from pathlib import Path

import pytest

from support import ports
from support.harness import brief
from support.internet import allow

FETCH = """
import sys, urllib.request
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, timeout=20).read().decode().strip())
    except Exception as error:
        print("failed", getattr(error, "reason", error))
"""


def fetch(net, *urls, rules, **how):
    done, report = net.python(FETCH, *urls, options=allow(*rules), **how)
    lines = done.expect(0).out.splitlines()
    assert len(lines) == len(urls), done.account()
    return lines, report


def entries(report, **wanted):
    return [c for c in report["connections"]
            if all(c[key] == value for key, value in wanted.items())]


def test_the_control_reaches_everything(net):
    done = net.bare("/usr/bin/python3", "-c", FETCH, "http://good.example/",
                    "http://10.1.2.3/", "http://169.254.169.254/", "http://[2001:db8::20]/",
                    "http://127.0.0.1:8081/")
    assert "failed" not in done.expect(0).out, done.account()


def test_a_name_that_the_host_cannot_resolve_is_told_as_that(net):
    """Inside it is "No route to host", as if the policy had refused it."""
    done, report = net.python(FETCH, "http://nowhere.example/", "http://good.example/",
                              options=allow("nowhere.example", "good.example"))
    assert "good.example is allowed" not in done.err and done.out.splitlines()[1].startswith("far"), done.account()
    assert "cordon: from outside: resolver: nowhere.example is allowed, but this host cannot resolve it" in done.err
    [told] = report["denials"]
    assert (told["what"], told["layer"], told["rule"], told["change"]) == ("resolver", "host", None, None)
    # The control: what the policy refuses is told as that.
    done, report = net.python(FETCH, "http://nowhere.example/", options=allow("good.example"))
    assert "cannot resolve" not in done.err and "nowhere.example" in str(report["denials"])


def test_an_allowed_address_is_reached_and_another_is_not(net):
    lines, report = fetch(net, "http://203.0.113.10/", "http://203.0.113.11/",
                          rules=["203.0.113.10:80"])
    assert lines[0] == "far 203.0.113.10 203.0.113.10"
    assert lines[1].startswith("failed") and "denied" in lines[1]
    [reached] = entries(report, allowed=True)
    assert (reached["address"], reached["port"], reached["rule"], reached["error"]) == (
        "203.0.113.10", 80, 'net.allow "203.0.113.10:80"', None)
    [refused] = entries(report, allowed=False)
    assert (refused["address"], refused["host"]) == ("203.0.113.11", None)
    [denial] = [d for d in report["denials"] if d["what"] == "connect"]
    assert denial["layer"] == "broker" and denial["detail"].startswith("203.0.113.11:80: ")
    assert report["enforcement"]["network"] == "allow"


def test_a_port_that_is_not_named_is_refused(net):
    lines, _ = fetch(net, "http://203.0.113.10:8080/", "http://203.0.113.10:80/",
                     rules=["203.0.113.10:8000-8100"])
    assert lines[0].startswith("far 203.0.113.10") and lines[1].startswith("failed")


def test_ipv6_by_address(net):
    lines, report = fetch(net, "http://[2001:db8::20]/", "http://[2001:db8::21]/",
                          rules=["[2001:db8::20]:80"])
    assert lines[0].startswith("far 2001:db8::20") and lines[1].startswith("failed")
    assert entries(report, address="2001:db8::20", allowed=True)


def test_loopback_is_the_sandboxs_own(net):
    lines, report = fetch(net, "http://127.0.0.1:8081/", "http://[::1]:8081/",
                          "http://localhost:8081/", "http://0.0.0.0:8081/",
                          rules=["203.0.113.10"])
    assert all("refused" in line for line in lines), lines
    assert report["connections"] == []


@pytest.mark.parametrize("rule", ["127.0.0.1:8081", "localhost:8081"])
def test_a_rule_for_loopback_means_the_hosts(net, rule):
    lines, report = fetch(net, "http://127.0.0.1:8081/", "http://127.0.0.1:8082/", rules=[rule])
    assert lines[0].startswith("host loopback 127.0.0.1"), lines
    assert lines[1].startswith("failed"), lines
    assert entries(report, address="127.0.0.1", port=8081, allowed=True)


# What is asked inside, and, in a network of its own, what then becomes of the port.
ASKS = """
import socket, sys
def ask():
    try:
        with socket.create_connection(("127.0.0.1", 40001), 20) as one:
            one.sendall(b"question")
            return one.recv(8).decode()
    except OSError as error:
        return error.strerror
print([ask() for _ in range(3)], flush=True)
sys.stdin.readline()
print([ask()], flush=True)
"""
ALONE = """
import socket, subprocess, sys
place, script, *run = sys.argv[1:]
sys.path.insert(0, place)
import ports
ports.give_none_but_it()
print("alone", ports.is_answered_by_itself(), flush=True)
command = subprocess.Popen([*run, "/usr/bin/python3", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print("nobody", command.stdout.readline().decode().strip(), flush=True)
print("free", ports.can_be_bound(), flush=True)
ports.give_many()
server = socket.create_server(("127.0.0.1", ports.PORT))
server.settimeout(30)
command.stdin.write(b"go" + bytes([10]))
command.stdin.flush()
one, _ = server.accept()
one.sendall(b"answer")
one.close()
print("server", command.stdout.readline().decode().strip(), flush=True)
command.stdin.close()
print("status", command.wait(30))
"""


@pytest.mark.parametrize("backend", ["native", "landlock"])
def test_nobody_is_answered_by_himself_at_a_port_of_the_host(world, backend):
    """The kernel may give a socket the very port that it is to reach: a program would hear its own words, and hold the
    port against the server of the host."""
    world.write(world.trusted / "ports.py", Path(ports.__file__).read_text())
    report = world.trusted / "report.json"
    ceiling = world.document('version = 1\n[fs]\nread = ["/"]\n[net]\nmode = "open"\n'
                             '[require]\naccept_missing = ["namespaces"]\n', "ceiling.toml")
    run = [world.cordon, "run", "--backend", backend, "--ceiling", ceiling, "--allow", f"localhost:{ports.PORT}",
           "--report", report, "--"]
    done = world.execute([*world.own_network(), "/usr/bin/python3", "-c", ALONE, world.trusted, ASKS, *run], timeout=60)
    said = dict(line.split(" ", 1) for line in done.expect(0).out.splitlines())
    assert said["alone"] == "True", "the kernel does not do it here: nothing was tried"
    assert said["nobody"] == str(["Connection refused"] * 3) and said["free"] == "True", said
    assert (said["server"], said["status"]) == ("['answer']", "0"), said
    tried = json.loads(report.read_text())["connections"]
    assert [(one["address"], one["port"], one["allowed"], one["count"]) for one in tried] == [
        ("127.0.0.1", ports.PORT, True, 4)], tried


def test_loopback_without_a_port_stays_inside(net):
    lines, _ = fetch(net, "http://127.0.0.1:8081/", rules=["127.0.0.1", "localhost", "0.0.0.0/0"])
    assert lines[0].startswith("failed"), lines


def test_a_server_inside_is_reached_from_inside(net):
    script = """
import socket, threading
server = socket.create_server(("127.0.0.1", 8081))
threading.Thread(target=lambda: server.accept()[0].sendall(b"own"), daemon=True).start()
client = socket.create_connection(("127.0.0.1", 8081), 10)
print(client.recv(3).decode(), client.getpeername()[0])
"""
    done, report = net.python(script, options=allow("203.0.113.10"))
    assert done.expect(0).out == "own 127.0.0.1\n"
    assert report["connections"] == []


def test_names(net, internet):
    urls = ["http://good.example/", "http://GOOD.Example./", "http://other.example/",
            "http://api.good.example/", "http://evilgood.example/", "http://203.0.113.10/"]
    before = len(internet.queries())
    lines, report = fetch(net, *urls, rules=["good.example:80", "*.good.example"])
    assert lines[0] == "far 203.0.113.10 good.example"
    assert lines[1].startswith("far 203.0.113.10")
    assert lines[3] == "far 203.0.113.12 api.good.example"
    for index in (2, 4):
        assert "failed" in lines[index] and ("resol" in lines[index] or "known" in lines[index])
    assert "failed" in lines[5], "a rule for a name admitted its address"
    asked = set(internet.queries()[before:])
    assert asked == {"good.example", "api.good.example"}, asked
    assert {d["detail"].split(":")[0] for d in report["denials"] if d["what"] == "resolve"} == {
        "other.example", "evilgood.example"}
    [good] = entries(report, host="good.example")
    assert (good["address"], good["count"]) == ("203.0.113.10", 2)


def test_a_denied_name_or_port_of_a_wildcard(net):
    policy = net.document("""version = 1
extends = "workspace"
[net]
allow = ["*.good.example", "other.example"]
deny = ["api.good.example:80", "203.0.113.11"]
""")
    done, report = net.python(FETCH, "http://api.good.example/", "http://api.good.example:8080/",
                              "http://other.example/", options=["--policy", policy])
    lines = done.expect(0).out.splitlines()
    assert lines[0].startswith("failed") and lines[1].startswith("far 203.0.113.12")
    assert lines[2].startswith("failed"), "a name led to a denied address"
    assert entries(report, host="api.good.example", port=80)[0]["rule"] == (
        'net.deny "api.good.example:80"')


LEADS = {"private.example": "private", "metadata.example": "cloud metadata",
         "loop.example": "this host", "zero.example": "unspecified", "host.example": "this host",
         "multicast.example": "multicast", "mapped.example": "private",
         "nat64.example": "private", "sixtofour.example": "private"}


def test_names_that_lead_astray(net):
    """Whoever answers DNS does not decide what is reached."""
    urls = [f"http://{name}/" for name in LEADS] + ["http://good.example/"]
    lines, report = fetch(net, *urls, rules=[*LEADS, "good.example"])
    assert all(line.startswith("failed") for line in lines[:-1]), lines
    assert lines[-1].startswith("far 203.0.113.10"), "the control is broken"
    for name, reason in LEADS.items():
        found = [c for c in report["connections"] if c["host"] == name and not c["allowed"]]
        assert found and reason in found[0]["reason"], (name, report["connections"])


def test_a_private_address_may_be_named_beside_the_name(net):
    lines, _ = fetch(net, "http://private.example/", "http://metadata.example/",
                     rules=["private.example", "10.0.0.0/8", "metadata.example",
                            "169.254.0.0/16"])
    assert lines[0].startswith("far 10.1.2.3"), lines
    assert lines[1].startswith("failed"), "a range admitted the metadata address"


@pytest.mark.only("user")
def test_rebinding_is_judged_each_time(net):
    script = FETCH.replace("for url in sys.argv[1:]:", "import time\nfor url in sys.argv[1:]:") \
                  .replace("    try:", "    time.sleep(float(url.split('#')[1]))\n    try:", 1)
    done, report = net.python(script, "http://rebinding.example/#0", "http://rebinding.example/#11",
                              options=allow("rebinding.example"))
    lines = done.expect(0).out.splitlines()
    assert "10.1.2.3" not in done.out, done.account()
    found = [c["address"] for c in report["connections"] if not c["allowed"]]
    assert lines[1].startswith("failed") and found == ["10.1.2.3"], report["connections"]


def test_a_mixed_answer_is_reached_where_it_may_be(net):
    lines, _ = fetch(net, "http://mixed.example/", rules=["mixed.example"])
    assert lines[0].startswith("far 203.0.113.10")


@pytest.mark.only("user")
def test_the_next_address_is_tried(net):
    lines, _ = fetch(net, "http://first-is-dead.example/", rules=["first-is-dead.example"])
    assert lines[0].startswith("far 203.0.113.10")


def test_both_families(net):
    lines, report = fetch(net, "http://both.example/", "http://six.example/",
                          rules=["both.example", "six.example"])
    assert lines[0].startswith("far ") and lines[1].startswith("far 2001:db8::21")
    assert entries(report, host="six.example", address="2001:db8::21", allowed=True)


def test_a_program_that_tries_no_address_but_the_first(net):
    """Of a name without IPv6 that is an address of IPv6, which programs prefer. node 18 asks so."""
    script = """
import socket, sys
for name in sys.argv[1:]:
    of_six = [where for *_, where in socket.getaddrinfo(name, 80, socket.AF_INET6, socket.SOCK_STREAM)]
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as made:
            made.connect(of_six[0])
            made.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
            print(made.makefile("rb").read().split(b"\\r\\n\\r\\n")[1].split()[:2], made.getpeername()[0])
    except OSError as error:
        print(error.errno)
"""
    names = ("good.example", "six.example", "private.example")
    done, report = net.python(script, *names, options=allow(*names))
    four, six, private = done.out.splitlines()
    assert "b'far'" in four and "::ffff:203.0.113.10" in four and "2001:db8::21" in six, done.account()
    assert int(private) == errno.EACCES, "an address that no name may lead to is none by IPv6 either"
    assert entries(report, host="good.example", address="203.0.113.10", allowed=True)


def test_the_hosts_file_of_the_host_counts(net):
    lines, _ = fetch(net, "http://hosts.example/", rules=["hosts.example"])
    assert lines[0].startswith("far 203.0.113.10")


def test_a_redirect_is_judged_anew(net):
    lines, report = fetch(net, "http://good.example/redirect/other.example",
                          "http://good.example/redirect/203.0.113.11",
                          "http://good.example/redirect/good.example", rules=["good.example"])
    assert lines[0].startswith("failed") and lines[1].startswith("failed")
    assert lines[2].startswith("far 203.0.113.10")
    assert entries(report, address="203.0.113.11", allowed=False)


def test_host_ports_of_a_policy(net):
    policy = net.document('version = 1\nextends = "workspace"\n[net]\nhost_ports = [8081]\n')
    done, report = net.python(FETCH, "http://127.0.0.1:8081/", "http://localhost:8081/",
                              "http://127.0.0.1:8082/", options=["--policy", policy])
    lines = done.expect(0).out.splitlines()
    assert [line.startswith("host loopback") for line in lines] == [True, True, False], lines
    assert report["policy"]["net"]["allow"] == ["localhost:8081"]
    ceiling = net.document('version = 1\n[fs]\nread = ["/"]\nwrite = ["@cwd"]\n[net]\n'
                           'host_ports = [8082]\n', "ceiling.toml")
    done, report = net.python(FETCH, "http://127.0.0.1:8081/",
                              options=["--policy", policy, "--ceiling", ceiling])
    assert done.out.startswith("failed") and report["policy"]["net"]["allow"] == []


@pytest.mark.parametrize("value", ["[0]", "[65536]", '["8080"]', "8080", "[1.5]"])
def test_host_ports_that_are_none_are_refused(world, value):
    policy = world.document(f'version = 1\n[net]\nhost_ports = {value}\n')
    done = world.run("true", options=["--policy", policy]).expect(125)
    assert "host_ports" in done.err, done.account()


def test_an_empty_list_allows_nothing(net):
    done, report = net.python(FETCH, "http://good.example/", "http://203.0.113.10/",
                              options=["--policy", "agent"])
    assert done.expect(0).out.count("failed") == 2, done.account()
    assert entries(report, allowed=True) == []


@pytest.mark.only("user")
def test_many_refusals_do_not_flood_the_terminal(net):
    done, report = net.python("""
import socket
for i in range(1200):
    socket.socket().connect_ex((f"203.0.{i // 250}.{i % 250}", 80))
""", options=allow("good.example"))
    assert done.expect(0).err.count("denied: connect") == 20 and "more denials" in done.err
    assert len(report["connections"]) == 1000, "the list is bounded"
    assert brief(report["denials"][-1:]) == [{"what": "connect", "detail": "attempts not listed",
                                              "layer": "broker", "count": 200}]


@pytest.mark.only("user")
def test_explain_agrees(net):
    for target, rules, expected in (
            ("203.0.113.10:80", ["203.0.113.10:80"], 0), ("203.0.113.11:80", ["203.0.113.10"], 1),
            ("good.example:80", ["good.example:80"], 0), ("good.example:81", ["good.example:80"], 1),
            ("203.0.113.10:80", ["good.example"], 1), ("169.254.169.254:80", ["0.0.0.0/0"], 1),
            ("169.254.169.254:80", ["169.254.169.254"], 0), ("10.1.2.3:80", ["0.0.0.0/0"], 0),
            ("127.0.0.1:8081", ["127.0.0.1"], 1), ("127.0.0.1:8081", ["localhost:8081"], 0),
            ("198.51.100.2:8082", ["198.51.100.0/24"], 1),
            ("198.51.100.2:8082", ["198.51.100.2"], 0)):
        done = net.cordon_verb("policy", "explain", *allow(*rules), "connect", target)
        assert done.status == expected, done.account()
        host, port = target.rsplit(":", 1)
        lines, _ = fetch(net, f"http://{host}:{port}/", rules=rules)
        assert lines[0].startswith(("far", "host")) == (expected == 0), (target, rules, lines)
