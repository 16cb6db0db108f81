"""Sockets that were handed in behave as programs expect, and cannot be turned into anything else."""

import pytest

from support.internet import allow

RULES = allow("203.0.113.10", "good.example", "[2001:db8::20]:80")

PRELUDE = """
import ctypes, errno, fcntl, os, select, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
ECHO = ("203.0.113.10", 7)
def answer(sock, text=b"hello"):
    sock.sendall(text)
    return sock.recv(100)
def code(function, *args):
    try:
        function(*args)
        return "ok"
    except OSError as error:
        return errno.errorcode[error.errno]
"""


def inside(net, script, options=RULES, **how):
    done, report = net.python(PRELUDE + script, options=options, **how)
    return done.expect(0).out.splitlines(), report


def same_inside_and_bare(net, script):
    """The program cannot tell the difference."""
    lines, _ = inside(net, script)
    bare = net.bare("/usr/bin/python3", "-c", PRELUDE + script).expect(0).out.splitlines()
    assert lines == bare, (lines, bare)
    return lines


def test_a_blocking_socket(net):
    assert same_inside_and_bare(net, """
s = socket.socket()
print(s.connect(ECHO), answer(s), s.getpeername(), s.getblocking(), s.fileno() > 2)
print(code(s.connect, ECHO))
print(code(socket.socket().connect, ("203.0.113.10", 9999)))
""")[1:] == ["EISCONN", "ECONNREFUSED"]


def test_own_loopback_as_the_kernel_does(net):
    assert same_inside_and_bare(net, """
server = socket.create_server(("127.0.0.1", 0))
address = server.getsockname()
s = socket.socket()
print(code(s.connect, address), code(s.connect, address), s.getblocking())
dead = socket.create_server(("127.0.0.1", 0))
nobody = dead.getsockname()
dead.close()
r = socket.socket()
print(code(r.connect, nobody), code(r.connect, nobody), code(r.connect, address))
n = socket.socket()
n.setblocking(False)
print(n.connect_ex(address) in (0, errno.EINPROGRESS), len(select.select([], [n], [], 10)[1]))
""")[0] == "ok EISCONN True"


def test_a_non_blocking_socket(net):
    lines = same_inside_and_bare(net, """
s = socket.socket()
s.setblocking(False)
print(errno.errorcode[s.connect_ex(ECHO)])
print(len(select.select([], [s], [], 10)[1]), s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
print(s.connect_ex(ECHO), errno.errorcode[s.connect_ex(ECHO)], s.getblocking())
s.setblocking(True)
print(answer(s))
""")
    assert lines[0] == "EINPROGRESS"


def test_options_are_kept(net):
    same_inside_and_bare(net, """
s = socket.socket()
T, S = socket.IPPROTO_TCP, socket.SOL_SOCKET
wanted = [(S, socket.SO_KEEPALIVE, 1), (T, socket.TCP_NODELAY, 1), (T, socket.TCP_KEEPIDLE, 33),
          (T, socket.TCP_KEEPINTVL, 7), (T, socket.TCP_KEEPCNT, 3), (S, socket.SO_OOBINLINE, 1),
          (T, socket.TCP_USER_TIMEOUT, 4321), (socket.IPPROTO_IP, socket.IP_TOS, 16),
          (S, socket.SO_SNDBUF, 40000), (S, socket.SO_RCVBUF, 50000), (S, socket.SO_PRIORITY, 4)]
for level, name, value in wanted:
    s.setsockopt(level, name, value)
s.setsockopt(S, socket.SO_LINGER, struct.pack("ii", 1, 5))
s.settimeout(None)
s.setsockopt(S, socket.SO_RCVTIMEO, struct.pack("ll", 3, 0))
fcntl.fcntl(s, fcntl.F_SETFD, 0)
s.connect(ECHO)
print([s.getsockopt(level, name) for level, name, _ in wanted])
print(s.getsockopt(S, socket.SO_LINGER, 8), s.getsockopt(S, socket.SO_RCVTIMEO, 16))
print(fcntl.fcntl(s, fcntl.F_GETFD), answer(s))
other = socket.socket()
other.connect(ECHO)
print(fcntl.fcntl(other, fcntl.F_GETFD))
""")


def test_duplicates_are_moved_too(net):
    same_inside_and_bare(net, """
s = socket.socket()
twin = s.dup()
os.dup2(s.fileno(), 77, inheritable=True)
s.connect(ECHO)
print(answer(twin), twin.getpeername() == s.getpeername())
os.write(77, b"third")
print(os.read(77, 100), fcntl.fcntl(77, fcntl.F_GETFD), fcntl.fcntl(twin, fcntl.F_GETFD))
""")


@pytest.mark.parametrize("flags", ["0", "select.EPOLLET", "select.EPOLLONESHOT"])
def test_an_epoll_that_watched_before_is_moved(net, flags):
    same_inside_and_bare(net, f"""
s = socket.socket()
s.setblocking(False)
quiet = select.epoll()
watch = select.epoll()
watch.register(s, select.EPOLLIN | select.EPOLLOUT | {flags})
quiet.register(s, select.EPOLLIN)
print(errno.errorcode[s.connect_ex(ECHO)])
[(fd, events)] = watch.poll(10)
print(fd == s.fileno(), events == select.EPOLLOUT)
s.send(b"hello")
print([(fd == s.fileno(), e == select.EPOLLIN) for fd, e in quiet.poll(10)])
watch.modify(s, select.EPOLLIN)
print([(fd == s.fileno(), e == select.EPOLLIN) for fd, e in watch.poll(10)])
watch.unregister(s)
quiet.unregister(s)
print(s.recv(100), quiet.poll(0))
""")


def test_more_epolls_than_anybody_has_are_refused(net):
    lines, report = inside(net, """
s = socket.socket()
watches = [select.epoll() for _ in range(5)]
for watch in watches:
    watch.register(s, select.EPOLLIN)
print(code(s.connect, ECHO))
watches.pop().close()
print(code(s.connect, ECHO))
""")
    assert lines == ["EMFILE", "ok"]
    assert report["connections"][0]["reason"] == "the connected socket could not be handed over"


def test_threads(net):
    lines, report = inside(net, """
results = []
def one():
    s = socket.create_connection(ECHO, 20)
    results.append(answer(s, b"x" * 50) == b"x" * 50)
    s.close()
threads = [threading.Thread(target=one) for _ in range(200)]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(results), all(results))
""")
    assert lines == ["200 True"]
    [entry] = report["connections"]
    assert entry["count"] == 200


def test_ipv6_sockets_and_mapped_addresses(net):
    lines, _ = inside(net, """
s = socket.socket(socket.AF_INET6)
s.connect(("2001:db8::20", 80))
print(s.getpeername()[0])
m = socket.socket(socket.AF_INET6)
m.connect(("::ffff:203.0.113.10", 7))
print(m.getpeername()[0], answer(m))
print(code(socket.socket(socket.AF_INET6).connect, ("::ffff:203.0.113.11", 7)))
print(code(socket.socket(socket.AF_INET6).connect, ("::ffff:127.0.0.1", 8081)))
""")
    assert lines == ["2001:db8::20", "::ffff:203.0.113.10 b'hello'", "EACCES", "ECONNREFUSED"]


def test_a_connected_socket_is_nothing_else(net):
    """Each of these turns an ordinary socket into another one; in the host's network none may."""
    lines, report = inside(net, """
def fresh():
    s = socket.socket()
    s.connect(("203.0.113.10", 80))
    return s
def unspec(s):
    nothing = struct.pack("H", socket.AF_UNSPEC) + bytes(14)
    ctypes.set_errno(0)
    libc.connect(s.fileno(), nothing, 16)
    return errno.errorcode.get(ctypes.get_errno(), "ok")
def closed_by_peer():
    s = fresh()
    s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
    while s.recv(65536):
        pass
    return s
s = fresh()
print(unspec(s), code(s.listen), code(s.bind, ("0.0.0.0", 0)), code(s.connect, ("203.0.113.11", 80)))
s = fresh()
s.shutdown(socket.SHUT_RDWR)
print(unspec(s), code(s.listen), code(s.bind, ("127.0.0.1", 0)), code(s.connect, ("203.0.113.11", 80)))
s = closed_by_peer()
print(unspec(s), code(s.listen), code(s.bind, ("0.0.0.0", 4444)), code(s.connect, ("127.0.0.1", 8081)))
s = fresh()
print(code(s.sendto, b"x", 0x20000000, ("203.0.113.11", 80)))
print(code(fcntl.ioctl, s, 0x8912, bytes(64)))
print(code(s.setsockopt, 6, 30, 1), code(s.setsockopt, 1, 25, b"near"))
""")
    assert lines[0].split() == ["EPERM", "EPERM", "EPERM", "EISCONN"]
    assert lines[1].split() == ["EPERM", "EPERM", "EPERM", "EISCONN"]
    assert lines[2].split() == ["EPERM", "EPERM", "EPERM", "EISCONN"]
    assert lines[3:] == ["EPERM", "EPERM", "EPERM EPERM"]
    assert {c["address"] for c in report["connections"]} == {"203.0.113.10"}


def test_a_connection_cannot_be_led_elsewhere(net):
    """A source route sends the packets of a connection to whatever address it names; joining a group
    speaks on the host's network."""
    script = """
def options(s):
    route = bytes([131, 7, 4]) + socket.inet_aton("203.0.113.66") + bytes(1)
    segments = bytes([0, 4, 4, 1, 1, 0, 0, 0]) + socket.inet_pton(socket.AF_INET6, "2001:db8::21") + bytes(16)
    group = socket.inet_aton("239.1.2.3") + bytes(8)
    print(code(s.setsockopt, 0, 4, route), code(s.setsockopt, 0, 35, group), code(s.setsockopt, 0, 42, bytes(136)))
    six = socket.socket(socket.AF_INET6)
    print(code(six.setsockopt, 41, 57, segments), code(six.setsockopt, 41, 20, bytes(20)))
    print(code(s.setsockopt, 0, 1, 16), code(s.setsockopt, 0, 2, 33), code(six.setsockopt, 41, 26, 1))
s = socket.socket()
s.connect(("203.0.113.10", 80))
options(s)
"""
    lines, _ = inside(net, script)
    assert lines == ["EPERM EPERM EPERM", "EPERM EPERM", "ok ok ok"]
    bare = net.bare("/usr/bin/python3", "-c", PRELUDE + script).expect(0).out.splitlines()
    # This kernel leaves source routes of IPv4 to root, those of IPv6 to everybody.
    assert bare[1].startswith("ok ") and (bare[0].startswith("ok ") or not net.who.is_root), bare


def test_the_controls_of_those_work_inside_on_own_sockets(net):
    lines, _ = inside(net, """
s = socket.socket()
print(code(s.bind, ("127.0.0.1", 0)), code(s.listen))
port = s.getsockname()[1]
c = socket.create_connection(("127.0.0.1", port))
nothing = struct.pack("H", socket.AF_UNSPEC) + bytes(14)
print(libc.connect(c.fileno(), nothing, 16), code(c.connect, ("127.0.0.1", port)))
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print(code(u.bind, ("127.0.0.1", 0)), code(u.connect, ("127.0.0.1", 9)))
print(code(socket.socket(socket.AF_INET6).bind, ("::1", 0)))
""")
    assert lines == ["ok ok", "0 ok", "ok ok", "ok"]


def test_closed_ways(net, internet):
    lines, _ = inside(net, """
for kind, address in ((socket.SOCK_DGRAM, ("203.0.113.53", 53)), (socket.SOCK_DGRAM, ("203.0.113.10", 7))):
    s = socket.socket(socket.AF_INET, kind)
    print(code(s.connect, address), code(s.sendto, b"x", address), code(s.sendmsg, [b"x"], [], 0, address))
for family, kind, protocol in ((socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_PACKET, socket.SOCK_RAW, 0),
                               (socket.AF_VSOCK, socket.SOCK_STREAM, 0), (socket.AF_INET, socket.SOCK_STREAM, 262),
                               (socket.AF_NETLINK, socket.SOCK_RAW, 4), (socket.AF_UNIX, socket.SOCK_DGRAM, 0)):
    print(code(socket.socket, family, kind, protocol))
print(libc.syscall(425, 8, 0), ctypes.get_errno() == errno.ENOSYS)
a, b = socket.socketpair()
print(code(a.connect, "/run/x"), code(a.bind, "sock"), code(a.listen))
route = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
print(code(route.bind, (0, 0)), code(route.bind, (0, 1)), code(route.connect, (0, 0)))
""")
    assert lines[:2] == ["ENETUNREACH ENETUNREACH ENETUNREACH"] * 2
    assert lines[2:8] == ["EPERM", "EAFNOSUPPORT", "EAFNOSUPPORT", "EPERM", "EPERM", "EPERM"]
    assert lines[8:] == ["-1 True", "ENOENT ok EINVAL", "ok EPERM EPERM"]


def test_bad_arguments_answer_as_the_kernel_does(net):
    same_inside_and_bare(net, """
def raw(fd, data, size):
    ctypes.set_errno(0)
    libc.connect(fd, data, size)
    return errno.errorcode.get(ctypes.get_errno(), "ok")
good = struct.pack("!2sH4s8x", struct.pack("=H", 2), 7, bytes([203, 0, 113, 10]))
s = socket.socket()
print(raw(s.fileno(), good, 8), raw(s.fileno(), good, -1), raw(s.fileno(), good, 4096))
print(raw(s.fileno(), ctypes.c_void_p(8), 16), raw(999, good, 16), raw(0, good, 16), raw(-1, good, 16))
six = socket.socket(socket.AF_INET6)
print(raw(six.fileno(), good, 16))
print(raw(s.fileno(), good, 16))
""")


def test_a_descriptor_swapped_while_it_is_judged(net):
    lines, _ = inside(net, """
running = True
s = socket.socket()
number = s.fileno()
def swap():
    while running:
        other = socket.socket()
        os.dup2(other.fileno(), number)
        other.close()
swapper = threading.Thread(target=swap, daemon=True)
swapper.start()
outcomes = {code(socket.socket(fileno=os.dup(number)).connect, ("203.0.113.11", 80)) for _ in range(50)}
data = struct.pack("!2sH4s8x", struct.pack("=H", 2), 80, bytes([203, 0, 113, 10]))
for _ in range(100):
    libc.connect(number, data, 16)
running = False
swapper.join()
print(outcomes)
""")
    assert lines == ["{'EACCES'}"]
