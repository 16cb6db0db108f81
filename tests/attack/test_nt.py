"""Network and egress: cases NT01 to NT49, and FS19 to FS22, which concern whoever answers calls."""

import os
import signal

import pytest

from support import harness
from support.internet import allow, running

pytestmark = pytest.mark.group("network")

PRELUDE = """
import ctypes, errno, os, resource, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def code(function, *args):
    try:
        function(*args)
        return "ok"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
def reach(host, port=80, family=socket.AF_INET):
    s = socket.socket(family)
    s.settimeout(20)
    return code(s.connect, (host, port))
def packed(address, port=80):
    return struct.pack("!2sH4s8x", struct.pack("=H", 2), port, socket.inet_aton(address))
"""


def inside(net, script, *args, rules=("good.example",), options=(), status=0, **how):
    done, report = net.python(PRELUDE + script, *args, options=[*allow(*rules), *options], **how)
    return done.expect(status).out.split(), report


def bare(net, script, *args):
    return net.bare("/usr/bin/python3", "-c", PRELUDE + script, *args).expect(0).out.split()


def refused_inside_only(net, script, *args, rules=("good.example",), errors=harness.NET_ERRORS):
    words, report = inside(net, script, *args, rules=rules)
    assert words and all(word in errors for word in words), words
    assert all(word == "ok" for word in bare(net, script, *args)), "the control is broken"
    return report


# What answers calls for the command.


def test_FS19_address_flipped_between_check_and_use(net):
    script = """
buffer = ctypes.create_string_buffer(packed("203.0.113.11"), 16)
over = threading.Event()
def flip():
    good, bad = packed("203.0.113.10"), packed("203.0.113.11")
    while not over.is_set():
        ctypes.memmove(buffer, good, 16)
        ctypes.memmove(buffer, bad, 16)
flipper = threading.Thread(target=flip, daemon=True)
flipper.start()
seen, tries, end = set(), 0, time.monotonic() + 20
while time.monotonic() < end and (len(seen) < 2 or tries < 200):
    s = socket.socket()
    seen.add(s.getpeername()[0] if libc.connect(s.fileno(), buffer, 16) == 0 else "refused")
    s.close()
    tries += 1
over.set()
print(*seen)
"""
    words, report = inside(net, script, rules=["203.0.113.10"])
    assert set(words) == {"203.0.113.10", "refused"}, set(words)
    assert "203.0.113.11" in bare(net, script), "nothing was flipped"
    assert not [c for c in report["connections"]
                if c["allowed"] and c["address"] != "203.0.113.10"]


def test_FS20_blinded_supervisor(net):
    blind = "libc.prctl(4, 0, 0, 0, 0)\n"  # PR_SET_DUMPABLE
    refused_inside_only(net, blind + 'print(reach("203.0.113.11"))')
    # What cannot be looked into gets nothing, though it would be allowed; root sees everything.
    words, report = inside(net, blind + 'print(reach("203.0.113.10"))', rules=["203.0.113.10"])
    assert words == ["ok" if net.who.is_root else "EACCES"]
    assert report["connections"][0]["error"] == (None if net.who.is_root else "EACCES")


def test_FS20_memory_that_cannot_be_read(net):
    script = """
s = socket.socket()
print(libc.connect(s.fileno(), ctypes.c_void_p(8), 16), errno.errorcode[ctypes.get_errno()])
page = ctypes.create_string_buffer(packed("203.0.113.10"), 16)
print(libc.connect(s.fileno(), page, 16))
"""
    assert inside(net, script, rules=["203.0.113.10"])[0] == ["-1", "EFAULT", "0"]


def test_FS21_injection_that_fails_is_a_refusal(net):
    script = """
s = socket.socket()
os.dup2(s.fileno(), 50)
high = socket.socket(fileno=50)
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
print(code(high.connect, ("203.0.113.10", 80)), code(high.getpeername))
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
print(reach("203.0.113.11"))
"""
    words, report = inside(net, script, rules=["203.0.113.10"])
    assert words[0] not in ("ok", "EINPROGRESS") and words[1:] == ["ENOTCONN", "EACCES"], words
    [tried] = [c for c in report["connections"] if c["address"] == "203.0.113.10"]
    assert tried["error"], tried


@pytest.mark.only("user")
def test_FS22_a_peer_that_never_answers(net):
    script = """
s = socket.socket()
s.setblocking(False)
print(code(s.connect, ("203.0.113.200", 80)), code(s.getpeername))
"""
    words, report = inside(net, script, rules=["203.0.113.200"])
    assert words == ["ETIMEDOUT", "ENOTCONN"], words
    assert report["connections"][0]["error"] == "ETIMEDOUT"


# The family itself.


def test_NT01_direct_dialling_around_proxy_variables(net):
    refused_inside_only(net, 'print(reach("203.0.113.11"))')
    done = net.run("sh", "-c", "env | grep -i proxy", options=allow("good.example"))
    assert done.out == "", "there is no proxy to be asked"


def test_NT02_plain_http_and_any_other_port(net):
    refused_inside_only(net, 'print(reach("203.0.113.11", 80), reach("203.0.113.11", 8080))')


def test_NT04_control_bytes_in_a_name(net, internet):
    script = r"""
def ask(labels):
    body = b"".join(bytes([len(l)]) + l for l in labels) + b"\0"
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.settimeout(20)
    u.connect(("127.0.0.1", 53))
    u.send(b"\1\2\1\0\0\1\0\0\0\0\0\0" + body + b"\0\1\0\1")
    return u.recv(512)[3] & 15
print(ask([b"evil\0", b"good", b"example"]), ask([b"evil.test\0", b"wide", b"example"]),
      ask([b"a\n", b"wide", b"example"]), ask([b"a b", b"wide", b"example"]),
      ask([b"x.wide", b"example"]), ask([b"ok", b"wide", b"example"]))
"""
    before = len(internet.queries())
    words, _ = inside(net, script, rules=["good.example", "*.wide.example"])
    assert words == ["3", "3", "3", "3", "3", "0"]
    assert internet.queries()[before:] == []


def test_NT05_empty_list_is_nothing(net):
    script = 'print(reach("203.0.113.10"))'
    done, report = net.python(PRELUDE + script, options=["--policy", "agent"])
    assert done.expect(0).out.split() == ["EACCES"] and bare(net, script) == ["ok"]


def test_NT06_suffix_without_a_dot(net):
    script = 'print(code(socket.getaddrinfo, "evilgood.example", 80))'
    words, _ = inside(net, script, rules=["*.good.example", "good.example"])
    assert words != ["ok"] and bare(net, script) == ["ok"]


@pytest.mark.parametrize("case,rule", [
    ("NT07", "*"), ("NT07", "*.com"), ("NT07", "a.*.example"), ("NT11", "good@evil.example"),
    ("NT11", "http://good.example"), ("NT11", "good\\evil.example"), ("NT11", "a\tb.example"),
    ("NT17", "0x7f.1"), ("NT17", "2130706433"), ("NT17", "0177.0.0.1"), ("NT17", "127.1"),
    ("NT18", "[64:ff9b::a01:203]"), ("NT18", "[2002:a01:203::]"),
    ("NT45", "[fe80::1%lo]"), ("NT45", "good.example:65979"), ("NT45", "good.example:443:80")])
def test_rule_that_is_refused_at_load(world, case, rule):
    done = world.run("touch", "ran", options=["--allow", rule])
    done.expect(125)
    assert not (world.project / "ran").exists(), case
    world.run("true", options=["--allow", "good.example:443"]).expect(0)


def test_NT09_deny_of_a_port_under_a_wildcard(net):
    policy = net.document('version = 1\nextends = "workspace"\n[net]\n'
                          'allow = ["*.good.example"]\ndeny = ["api.good.example:80"]\n')
    script = 'print(reach("api.good.example", 80), reach("api.good.example", 8080))'
    done, _ = net.python(PRELUDE + script, options=["--policy", policy])
    assert done.expect(0).out.split() == ["EACCES", "ok"]


def test_NT17_odd_spellings_reach_nothing_of_the_host(net):
    script = """
for text in ("2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0"):
    print(reach(text, 8081))
"""
    words, _ = inside(net, script, rules=["good.example", "0.0.0.0/0:8081"])
    assert words == ["ECONNREFUSED"] * 5, "the sandbox's own loopback, where nobody listens"
    assert bare(net, script) == ["ok"] * 5


def test_NT18_embedded_addresses(net):
    script = """
S = socket.AF_INET6
print(reach("::ffff:10.1.2.3", 80, S), reach("64:ff9b::10.1.2.3", 80, S), reach("2002:a01:203::1", 80, S))
"""
    words, report = inside(net, script, rules=["[::]/0"])
    assert words == ["EACCES"] * 3, words
    assert bare(net, script)[0] == "ok"


def test_NT20_metadata(net):
    refused_inside_only(net, 'print(reach("169.254.169.254"), reach("metadata.example"))',
                        rules=["metadata.example", "0.0.0.0/0", "169.254.0.0/16"])


def test_NT21_rebinding(net):
    refused_inside_only(net, 'print(reach("private.example"), reach("host.example", 8082))',
                        rules=["private.example", "host.example"])


def test_NT22_redirect(net):
    words, _ = inside(net, """
import urllib.request
for target in ("other.example", "203.0.113.11", "good.example"):
    try:
        print(urllib.request.urlopen("http://good.example/redirect/" + target, timeout=20).status)
    except OSError as error:
        print("refused")
""")
    assert words == ["refused", "refused", "200"]


def test_NT23_data_in_a_query(net, internet):
    script = """
for name in ("secret-data.evil.example", "secret.good.example", "other.example"):
    print(code(socket.getaddrinfo, name, 80))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print(code(u.sendto, b"x" * 40, ("203.0.113.53", 53)))
"""
    before = len(internet.queries())
    words, report = inside(net, script)
    assert words[-1] == "ENETUNREACH" and "ok" not in words
    assert internet.queries()[before:] == [], "a query left"
    assert "secret-data.evil.example" in str(report["denials"])
    bare(net, script)
    assert "secret-data.evil.example" in internet.queries()[before:]


def test_NT25_lookup_that_fails(net):
    words, report = inside(net, 'print(reach("nowhere.example"))', rules=["nowhere.example"])
    assert words == ["EHOSTUNREACH"]
    assert report["connections"][0]["error"] == "EHOSTUNREACH"


def test_NT26_no_proxy_variables_at_all(net):
    done = net.run("sh", "-c", "env | grep -ic proxy", options=allow("good.example"),
                   env={"NO_PROXY": "*", "no_proxy": "10.0.0.0/8", "HTTP_PROXY": "http://x:1"})
    assert done.out == "0\n", done.account()


def test_NT27_datagrams(net):
    report = refused_inside_only(net, """
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print(code(u.sendto, b"x", ("203.0.113.10", 443)), code(u.connect, ("203.0.113.10", 443)))
""", rules=["203.0.113.10", "good.example"])
    assert report["connections"][0]["reason"] == "only TCP leads outside"


def test_NT28_multipath(net):
    refused_inside_only(net, 'print(code(socket.socket, socket.AF_INET, socket.SOCK_STREAM, 262))',
                        rules=["203.0.113.10"])


def test_NT30_listen_without_bind(net):
    """Inside it listens in the sandbox's own network, where nobody outside is."""
    marker = "203.0.113.10"
    script = """
s = socket.socket()
s.listen()
print(s.getsockname()[1], flush=True)
sys.stdin.readline()
"""
    with running(net.start([net.cordon, "run", *allow(marker), "--", "/usr/bin/python3", "-c",
                            PRELUDE + script], stdin=-1)) as process:
        port = int(process.stdout.readline())
        assert bare(net, f'print(reach("127.0.0.1", {port}))') == ["ECONNREFUSED"]


def test_NT31_raw_and_packet(net):
    words, _ = inside(net, """
print(code(socket.socket, socket.AF_INET, socket.SOCK_RAW, 1))
print(code(socket.socket, socket.AF_PACKET, socket.SOCK_RAW, 0))
""", rules=["203.0.113.10"])
    assert words == ["EPERM", "EAFNOSUPPORT"]
    if net.who.is_root:
        assert bare(net, "print(code(socket.socket, socket.AF_INET, socket.SOCK_RAW, 1))") == ["ok"]


def test_NT32_another_process_uses_our_way_out(net):
    """There is no port to use: what answers is reached by trapped calls of this sandbox alone."""
    with running(net.start([net.cordon, "run", *allow("203.0.113.10"), "--", "/usr/bin/python3",
                            "-c", "print('up', flush=True)\nimport sys\nsys.stdin.readline()"],
                           stdin=-1)) as process:
        assert process.stdout.readline() == b"up\n"
        listening = net.bare("sh", "-c", "cat /proc/net/tcp /proc/net/udp").expect(0).out
        assert "0100007F:0035 " not in listening and "0100007F:1F91 " in listening


def test_NT33_loopback_services_of_the_host(net):
    refused_inside_only(net, """
print(reach("127.0.0.1", 8081), reach("localhost", 8081), reach("::1", 8081, socket.AF_INET6))
print(reach("198.51.100.2", 8082))
""", rules=["good.example", "198.51.100.0/24"])


def test_NT35_exhaustion(net):
    """Ten thousand questions, garbage, and more clients than the resolver keeps: it answers on."""
    words, _ = inside(net, r"""
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.connect(("127.0.0.1", 53))
u.setblocking(False)
for i in range(10000):
    try:
        u.send(os.urandom(i % 600))
        if i % 50 == 0:
            u.recv(4096)
    except OSError:
        pass
idle = [socket.create_connection(("127.0.0.1", 53)) for _ in range(200)]
for s in idle[::7]:
    try:
        s.sendall(b"\xff\xff" + os.urandom(500))
    except OSError:
        pass
print(reach("good.example"))
""", timeout=90)
    assert words == ["ok"]


def test_NT36_supervisor_killed(net):
    marker = f"nt36-{os.getpid()}-{net.path.name}"
    script = PRELUDE + """
print(reach("good.example"), flush=True)
while True:
    reach("good.example")
"""
    with running(net.start([net.cordon, "run", *allow("good.example"), "--", "/usr/bin/python3",
                            "-c", script, marker])) as process:
        assert process.stdout.readline() == b"ok\n"
        os.kill(process.pid, signal.SIGKILL)
        assert harness.wait_until(lambda: not harness.processes_with(marker), harness.SOON)


def asks(net, *hosts):
    """A policy for these hosts: what an option asks for beyond a ceiling is refused instead."""
    listed = ", ".join(f'"{host}"' for host in hosts)
    return net.document(f'version = 1\nextends = "workspace"\n[net]\nallow = [{listed}]\n', "asks.toml")


def test_NT42_a_ceiling_without_network_wins(net):
    ceiling = net.document('version = 1\n[fs]\nread = ["/"]\nwrite = ["@cwd"]\n[net]\nmode = "none"\n',
                           "ceiling.toml")
    script = 'print(reach("203.0.113.10"))'
    words, report = inside(net, script, rules=[], options=["--ceiling", ceiling, "--policy",
                                                           asks(net, "203.0.113.10")])
    assert words == ["ENETUNREACH"] and report["enforcement"]["network"] == "none"
    assert bare(net, script) == ["ok"]


def test_NT42_a_ceiling_of_hosts_narrows(net):
    ceiling = net.document('version = 1\n[fs]\nread = ["/"]\nwrite = ["@cwd"]\n[net]\n'
                           'allow = ["*.good.example:80", "203.0.113.10:80"]\n', "ceiling.toml")
    words, report = inside(net, """
print(reach("api.good.example"), reach("api.good.example", 8080), reach("203.0.113.11"))
""", rules=[], options=["--ceiling", ceiling, "--policy",
                            asks(net, "api.good.example", "203.0.113.0/24")])
    assert words == ["ok", "EACCES", "EACCES"]
    assert any(r["what"] == "allow" for r in report["reductions"])
