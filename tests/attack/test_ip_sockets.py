"""Local sockets: what a program inside makes it may use, what the host made stays out of reach.

The cases of IP that a broker of local sockets must hold (IP01, IP07, IP09, IP10, IP12), beyond the ones
of test_ip.py, each with a control: the same attempt succeeds bare, or on a socket of the run's own.
"""

import json
import os
import socket
import stat
import threading

import pytest

from support.harness import wait_until

PRELUDE = """
import ctypes, errno, os, select, shutil, socket, struct, sys, tempfile, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def code(function, *args):
    try:
        function(*args)
        return "ok"
    except OSError as error:
        return errno.errorcode[error.errno]
def serve(path, kind=socket.SOCK_STREAM):
    server = socket.socket(socket.AF_UNIX, kind)
    server.bind(path)
    server.listen(64)
    return server
def reach(path, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_UNIX, kind) as client:
        return code(client.connect, path)
"""

MODES = {"none": (), "open": ("--net", "open"), "allow": ("--allow", "good.example")}


def lines(world, script, *, options=(), how="inside", **more):
    argv = ("/usr/bin/python3", "-c", PRELUDE + script)
    if how == "bare":
        return world.bare(*argv, **more).expect(0).out.splitlines()
    return world.run(*argv, options=options, **more).expect(0).out.splitlines()


class HostService:
    """A listener of the host that counts who comes."""

    def __init__(self, world, path, kind=socket.SOCK_STREAM):
        self.socket = socket.socket(socket.AF_UNIX, kind)
        self.socket.bind(str(path))
        path.chmod(0o777)
        world.own(path)
        self.socket.listen(128)
        self.socket.setblocking(False)

    def visitors(self):
        count = 0
        while True:
            try:
                self.socket.accept()[0].close()
                count += 1
            except BlockingIOError:
                return count


@pytest.fixture
def host(world):
    made = HostService(world, world.project / "host.sock")
    yield made
    made.socket.close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["STREAM", "SEQPACKET"])
def test_IP12_a_host_socket_in_a_writable_grant(world, mode, kind):
    service = HostService(world, world.project / "host.sock", getattr(socket, f"SOCK_{kind}"))
    script = f"""
print(reach("host.sock", socket.SOCK_{kind}), reach(os.getcwd() + "/host.sock", socket.SOCK_{kind}))
own = serve("/tmp/own", socket.SOCK_{kind})
print(reach("/tmp/own", socket.SOCK_{kind}))
"""
    done, report = world.report("/usr/bin/python3", "-c", PRELUDE + script, options=MODES[mode])
    assert done.expect(0).out.splitlines() == ["EACCES EACCES", "ok"]
    assert service.visitors() == 0
    path = str(world.project / "host.sock")
    refused = [d for d in report["denials"] if d["what"] == "connect" and d["layer"] == "broker"]
    assert [(d["count"], path in d["detail"]) for d in refused] == [(2, True)], report["denials"]
    assert lines(world, f'print(reach("host.sock", socket.SOCK_{kind}))', how="bare") == ["ok"]
    assert service.visitors() == 1


def test_IP12_a_host_socket_made_while_the_run_lasts(world):
    script = """
open("ready", "w").close()
while not os.path.exists("late.sock"): time.sleep(0.01)
print(reach("late.sock"))
own = serve("own.sock")
print(reach("own.sock"))
"""
    service = []

    def make():
        assert wait_until((world.project / "ready").exists)
        service.append(HostService(world, world.project / "late.sock"))

    maker = threading.Thread(target=make)
    maker.start()
    assert lines(world, script) == ["EACCES", "ok"]
    maker.join()
    assert service[0].visitors() == 0


def test_IP12_by_other_names(world, host):
    world.link(world.project / "link", "host.sock")
    world.link(world.project / "absolute", world.project / "host.sock")
    world.link(world.project / "directory", world.project)
    (world.project / "sub").mkdir()
    world.own(world.project / "sub")
    answers = lines(world, """
here = os.open(".", os.O_PATH)
os.link("host.sock", "second")
os.rename("second", "third")
for name in ("link", "absolute", "directory/host.sock", "third", "sub/../host.sock", ".//host.sock",
             "/proc/self/cwd/host.sock", f"/proc/self/fd/{here}/host.sock", f"/dev/fd/{here}/host.sock",
             f"/proc/{os.getpid()}/root{os.getcwd()}/host.sock", "/proc/1/root/etc/x",
             f"/proc/thread-self/cwd/host.sock"):
    print(reach(name))
own = serve("own.sock")
os.symlink("own.sock", "to-own")
os.link("own.sock", "twin")
os.chdir("sub")
print(reach("../own.sock"), reach("../to-own"), reach("../twin"), reach("../directory/own.sock"))
""")
    assert set(answers[:-1]) <= {"EACCES", "ENOENT", "EPERM"}, answers
    assert answers[:6] == ["EACCES"] * 6
    assert answers[-1] == "ok ok ok ok"
    assert host.visitors() == 0


def test_IP12_a_link_of_proc_is_refused_and_told(world, host):
    script = 'print(reach(f"/proc/{os.getpid()}/cwd/host.sock"))'
    done, report = world.report("/usr/bin/python3", "-c", PRELUDE + script)
    assert done.expect(0).out.split() == ["EACCES"]
    assert [d["what"] for d in report["denials"] if "/cwd/host.sock" in d["detail"]] == ["connect"]
    assert host.visitors() == 0
    assert lines(world, script, how="bare") == ["ok"]


def test_IP12_a_host_socket_over_an_own_one(world, host):
    assert lines(world, """
own = serve("own.sock")
print(reach("own.sock"))
os.rename("own.sock", "moved.sock")
print(reach("moved.sock"))
os.rename("host.sock", "own.sock")
print(reach("own.sock"), reach("moved.sock"))
os.unlink("moved.sock")
own.close()
print([reach("own.sock") for _ in range(3)])
""") == ["ok", "ok", "EACCES ok", "['EACCES', 'EACCES', 'EACCES']"]
    assert host.visitors() == 0


def test_IP12_names_swapped_while_connecting(world, host):
    """A name that leads to an own socket and to the host's in turn never reaches the host's."""
    answers = lines(world, """
own = serve("own.sock")
own.setblocking(False)
os.link("host.sock", "spare")
os.link("own.sock", "name")
stop = False
def swap():
    while not stop:
        for source in ("host.sock", "own.sock"):
            os.link(source, "next")
            os.rename("next", "name")
swapper = threading.Thread(target=swap)
swapper.start()
seen = {}
begun = time.monotonic()
enough = lambda: time.monotonic() > begun + 3 and len(seen) == 2 and min(seen.values()) > 5
while not enough() and time.monotonic() < begun + 25:
    answer = reach("name")
    seen[answer] = seen.get(answer, 0) + 1
    while True:
        try: own.accept()[0].close()
        except BlockingIOError: break
stop = True
swapper.join()
print(sorted(seen), min(seen.values()) > 5)
""")
    assert answers == ["['EACCES', 'ok'] True"], answers
    assert host.visitors() == 0


def test_IP12_an_address_swapped_while_connecting(world, host):
    """What was judged is what is acted on, whatever other threads write into the address."""
    answers = lines(world, """
own = serve("own0.sock")
own.setblocking(False)
mine, theirs = b"own0.sock", b"host.sock"
address = ctypes.create_string_buffer(struct.pack("H", socket.AF_UNIX) + mine + bytes(1), 12)
def swap():
    while not stop:
        ctypes.memmove(ctypes.addressof(address) + 2, theirs, 9)
        ctypes.memmove(ctypes.addressof(address) + 2, mine, 9)
stop = False
swappers = [threading.Thread(target=swap) for _ in range(2)]
for swapper in swappers: swapper.start()
seen = set()
end = time.monotonic() + 3
while time.monotonic() < end or ("ok" not in seen and time.monotonic() < end + 20):
    with socket.socket(socket.AF_UNIX) as client:
        failed = libc.connect(client.fileno(), address, 12) != 0
        seen.add(errno.errorcode[ctypes.get_errno()] if failed else "ok")
    while True:
        try: own.accept()[0].close()
        except BlockingIOError: break
stop = True
for swapper in swappers: swapper.join()
print("ok" in seen, seen <= {"ok", "EACCES", "ENOENT"})
""")
    assert answers == ["True True"]
    assert host.visitors() == 0


def test_IP12_a_host_socket_slipped_under_a_bind(world, host):
    """A bind makes the file that was bound the run's own, not what its name leads to afterwards."""
    answers = lines(world, """
seen = set()
for i in range(150):
    os.link("host.sock", f"bait{i}")
    begun = threading.Event()
    def slip():
        begun.wait()
        while not os.path.lexists(f"own{i}"): pass
        os.rename(f"bait{i}", f"own{i}")
    slipper = threading.Thread(target=slip)
    slipper.start()
    server = socket.socket(socket.AF_UNIX)
    begun.set()
    server.bind(f"own{i}")
    server.listen()
    slipper.join()
    seen.add(reach(f"own{i}"))
    server.close()
print(seen)
""", timeout=100)
    assert answers == ["{'EACCES'}"]
    assert host.visitors() == 0


def test_AU09_bind_goes_by_the_rights_of_the_command(world):
    world.make_directory(world.project / ".git/hooks")
    world.write(world.project / ".git/HEAD", "ref: refs/heads/main\n")
    readable = world.make_directory(world.path / "readable")
    answers = lines(world, f"""
def bind(path):
    with socket.socket(socket.AF_UNIX) as server: return code(server.bind, path)
print(bind(".git/hooks/pre-commit"))
print(bind("{readable}/a"), bind("/usr/a"), bind("{world.outside}/a"), bind("/a"), bind("/proc/a"), bind("/dev/a"))
os.umask(0o027)
os.makedirs("sub")
os.chdir("sub")
print(bind("own.sock"), bind("own.sock"), bind("../own.sock"), bind("missing/own.sock"))
os.chmod(".", 0o555)
print(bind("shut.sock"))
os.chmod(".", 0o755)
""", options=("--read", readable))
    # In the private copy that native has, refused elsewhere; never on the host.
    assert answers.pop(0) in ("ok", "EROFS"), answers
    refused = answers[0].split()
    assert set(refused) <= {"EROFS", "EACCES", "ENOENT", "EPERM"}, answers
    assert answers[1:] == ["ok EADDRINUSE ok ENOENT", "EACCES"]
    made = (world.project / "sub/own.sock").lstat()
    assert stat.S_ISSOCK(made.st_mode) and made.st_mode & 0o777 == 0o750, oct(made.st_mode)
    assert made.st_uid == world.who.uid
    assert not (readable / "a").exists() and not (world.project / ".git/hooks/pre-commit").exists()
    control = f'print(code(socket.socket(socket.AF_UNIX).bind, "{readable}/a"))'
    assert lines(world, control, how="bare") == ["ok"]


@pytest.mark.parametrize("mode", MODES)
def test_AU09_connect_goes_by_the_view_of_the_command(world, mode):
    """The supervisor looks the path up and connects, and it sees the host: what it finds for the command is
    what the command itself would find."""
    beside = HostService(world, world.outside / "host.sock")
    world.link(world.project / "away", world.outside)
    world.link(world.project / "through", world.outside / "host.sock")
    outer = f"""
paths = ["{world.outside}/host.sock", "away/host.sock", "through", "/proc/self/cwd/../../outside/host.sock",
         "/proc/self/root{world.outside}/host.sock", "../../outside/host.sock"]
print([reach(path) for path in paths])
"""
    own = 'own = serve("/tmp/own")\nprint(reach("/tmp/own"))\n'
    assert lines(world, own + outer, options=MODES[mode]) == ["ok", str(["ENOENT"] * 6)]
    assert beside.visitors() == 0
    # The same ways lead there without a sandbox.
    assert lines(world, outer, how="bare") == [str(["ok"] * 6)]
    assert beside.visitors() == 6
    beside.socket.close()


# Started by root the supervisor passes by the modes of a run's own sockets; see docs/threat-model.md.
@pytest.mark.only("user")
@pytest.mark.parametrize("mode", MODES)
def test_AU09_connect_goes_by_the_rights_of_the_command(world, mode):
    script = """
os.makedirs("/tmp/AU09")
own = serve("/tmp/AU09/own")
print(reach("/tmp/AU09/own"))
os.chmod("/tmp/AU09/own", 0)
print(reach("/tmp/AU09/own"))
os.chmod("/tmp/AU09/own", 0o600)
os.chmod("/tmp/AU09", 0)
print(reach("/tmp/AU09/own"))
os.chmod("/tmp/AU09", 0o700)
print(reach("/tmp/AU09/own"))
"""
    assert lines(world, script, options=MODES[mode]) == ["ok", "EACCES", "EACCES", "ok"]


def test_IP07_abstract_names(world):
    """They are the sandbox's own with its own network, and refused with the host's."""
    name = f"cordon-{os.getpid()}-{world.path.name}"
    with socket.socket(socket.AF_UNIX) as outside:
        outside.bind("\0" + name)
        outside.listen(4)
        outside.setblocking(False)
        script = f"""
print(reach("\\0{name}"))
server = socket.socket(socket.AF_UNIX)
print(code(server.bind, "\\0{name}"), code(server.listen), reach("\\0{name}"))
print(code(socket.socket(socket.AF_UNIX).bind, ""))
"""
        assert lines(world, script) == ["ECONNREFUSED", "ok ok ok", "ok"]
        assert lines(world, script, options=MODES["allow"]) == ["ECONNREFUSED", "ok ok ok", "ok"]
        assert lines(world, script, options=MODES["open"]) == ["EACCES", "EACCES EINVAL EACCES",
                                                              "EACCES"]
        with pytest.raises(BlockingIOError):
            outside.accept()
        assert lines(world, f'print(reach("\\0{name}"))', how="bare") == ["ok"]


def test_IP09_sending_to_an_address(world, host):
    """Datagram sockets are not there; on the others an address given with a message does nothing."""
    script = """
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
    print(code(socket.socket, socket.AF_UNIX, kind), code(socket.socketpair, socket.AF_UNIX, kind))
class Message(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("size", ctypes.c_uint), ("vector", ctypes.c_void_p),
                ("count", ctypes.c_size_t), ("control", ctypes.c_void_p),
                ("control_size", ctypes.c_size_t), ("flags", ctypes.c_int), ("sent", ctypes.c_uint)]
address = struct.pack("H", socket.AF_UNIX) + b"host.sock" + bytes(1)
text = ctypes.create_string_buffer(b"x")
vector = (ctypes.c_size_t * 2)(ctypes.addressof(text), 1)
name = ctypes.create_string_buffer(address, len(address))
message = Message(ctypes.addressof(name), len(address), ctypes.addressof(vector), 1, None, 0, 0, 0)
def many(fd):
    if libc.sendmmsg(fd, ctypes.byref(message), 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "")
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    s = socket.socket(socket.AF_UNIX, kind)
    print(code(s.sendto, b"x", "host.sock"), code(s.sendmsg, [b"x"], [], 0, "host.sock"),
          code(many, s.fileno()))
"""
    inside = lines(world, script)
    assert inside[:2] == ["EPERM EPERM", "EPERM EPERM"]
    assert all(set(line.split()) <= {"ENOTSUP", "ENOTCONN"} for line in inside[2:]), inside
    assert inside[2:] == lines(world, script, how="bare")[2:]
    assert host.visitors() == 0


def test_odd_addresses_as_the_kernel_takes_them(world):
    script = """
def raw(call, data, size):
    s = socket.socket(socket.AF_UNIX)
    buffer = ctypes.create_string_buffer(data, 4096)
    failed = getattr(libc, call)(s.fileno(), buffer, size) != 0
    return errno.errorcode[ctypes.get_errno()] if failed else "ok"
unix = struct.pack("H", socket.AF_UNIX)
place = tempfile.mkdtemp(dir="/tmp").encode()
os.chdir(place)
own = serve("own")
longest = place + b"/" + b"x" * (107 - len(place))
print(raw("bind", unix + longest, 110), os.path.exists(longest), raw("connect", unix + longest, 110))
print([raw("connect", unix + b"own", size) for size in (0, 1, 2, 3, 4, 5, 6, 110, 111, 128, 129, -1, 1 << 30)])
print([raw("connect", struct.pack("H", family) + b"own", 6) for family in (0, 2, 10, 16, 65535)])
print([raw("bind", struct.pack("H", family) + b"other", 8) for family in (0, 2, 10, 16)])
print([raw("bind", unix + b"sized", size) for size in (0, 1, 111, 129, -1, 4, 7)], sorted(os.listdir("."))[:3])
s = socket.socket(socket.AF_UNIX)
print(libc.connect(s.fileno(), None, 110), errno.errorcode[ctypes.get_errno()])
print(libc.connect(s.fileno(), ctypes.c_void_p(8), 20), errno.errorcode[ctypes.get_errno()])
pair = socket.socketpair()
print(code(pair[0].connect, "own"), code(pair[0].bind, "again"))
open("file", "w").close()
print(reach("file"), reach("/tmp"), reach("missing"), reach("own/x"), reach("x" * 107))
os.chdir("/")
shutil.rmtree(place)
"""
    inside = lines(world, script)
    assert inside == lines(world, script, how="bare"), inside
    assert inside[0] == "ok True ECONNREFUSED"


def test_who_the_other_side_is(world):
    """The supervisor connects: its number means nothing inside, and its handle opens nothing."""
    answers = lines(world, """
server = serve("/tmp/own")
client = socket.socket(socket.AF_UNIX)
client.connect("/tmp/own")
accepted = server.accept()[0]
for side in (accepted, client):
    pid, uid, gid = struct.unpack("iii", side.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    print(pid in (0, os.getpid()), uid == os.getuid(), gid == os.getgid())
try:
    handle = struct.unpack("i", accepted.getsockopt(socket.SOL_SOCKET, 77, 4))[0]
except OSError:
    print("none")
else:
    print(code(lambda: __import__("signal").pidfd_send_signal(handle, 9)))
    print(libc.setns(handle, 0x40000000) < 0, libc.syscall(438, handle, 0, 0) < 0)
""")
    assert answers[:2] == ["True True True", "True True True"], answers
    if answers[2] != "none":
        assert answers[2] in ("EINVAL", "EPERM", "ESRCH") and answers[3] == "True True", answers


def policy(world, *sockets, mode="none"):
    listed = ", ".join(json.dumps(str(path)) for path in sockets)
    return world.document(f'version = 1\nextends = "workspace"\n[net]\nmode = "{mode}"\n'
                          f"sockets = [{listed}]\n")


@pytest.mark.parametrize("mode", ["none", "open"])
def test_IP05_a_listed_socket_and_no_other(world, mode):
    directory = world.make_directory(world.path / "run")
    listed = HostService(world, directory / "listed.sock")
    other = HostService(world, directory / "other.sock")
    script = f"""
print(reach("{directory}/listed.sock"), reach("{directory}/other.sock"), reach("{directory}"))
print(reach("{directory}/./listed.sock"), os.path.exists("{directory}/listed.sock"))
"""
    done, report = world.report("/usr/bin/python3", "-c", PRELUDE + script,
                                options=("--policy", policy(world, directory / "listed.sock",
                                                            mode=mode)))
    assert done.expect(0).out.splitlines() == ["ok ENOENT ENOENT", "ok False"]
    assert (listed.visitors(), other.visitors()) == (2, 0)
    [reached] = report["connections"]
    assert (reached["address"], reached["allowed"], reached["count"]) == (
        str(directory / "listed.sock"), True, 2)
    assert report["policy"]["net"]["sockets"] == [str(directory / "listed.sock")]


def test_IP05_a_listed_socket_is_the_one_that_was_judged(world):
    """Another one moved to its name is not reached, whatever the run does with names."""
    listed = HostService(world, world.project / "listed.sock")
    other = HostService(world, world.project / "other.sock")
    world.link(world.project / "link", "listed.sock")
    assert lines(world, """
print(reach("listed.sock"), reach("link"), reach("other.sock"))
print(code(os.rename, "other.sock", "listed.sock"), code(os.unlink, "listed.sock"))
os.unlink("link")
os.symlink("other.sock", "link")
print(reach("listed.sock"), reach("link"))
""", options=("--policy", policy(world, world.project / "listed.sock"))) == [
        "ok ok EACCES", "EBUSY EBUSY", "ok EACCES"]
    assert (listed.visitors(), other.visitors()) == (3, 0)


def test_a_ceiling_bounds_the_list(world):
    service = HostService(world, world.outside / "a.sock")
    second = HostService(world, world.outside / "b.sock")
    wanted = policy(world, world.outside / "a.sock", world.outside / "b.sock")
    ceiling = world.document(f"""version = 1
[fs]
read = ["/"]
write = ["{world.project}"]
[net]
sockets = ["{world.outside}/b.sock"]
""", "bound.toml")
    script = f'print(reach("{world.outside}/a.sock"), reach("{world.outside}/b.sock"))'
    done, report = world.report("/usr/bin/python3", "-c", PRELUDE + script,
                                options=("--policy", wanted, "--ceiling", ceiling))
    assert done.expect(0).out.splitlines() == ["ENOENT ok"]
    assert {"what": "sockets", "asked": str(world.outside / "a.sock"), "got": None,
            "because": "outside-ceiling"} in report["reductions"]
    assert (service.visitors(), second.visitors()) == (0, 1)


def test_low_ports_stay_the_hosts(world):
    """In mode open the supervisor answers bind; its rights do not count."""
    script = """
print(code(socket.socket().bind, ("127.0.0.1", 913)), code(socket.socket().bind, ("127.0.0.1", 0)))
"""
    assert lines(world, script, options=MODES["open"]) == ["EACCES ok"]
    assert lines(world, script) == ["EACCES ok"]
    bare = lines(world, script, how="bare")
    assert bare == ["ok ok" if world.who.is_root else "EACCES ok"]


def test_a_variable_says_where_a_socket_lies(world):
    """In a policy it is the caller's; in a ceiling only one stands, and not for what the caller has in it."""
    directory = world.make_directory(world.path / "run")
    service = HostService(world, directory / "a.sock")
    env = {"XDG_RUNTIME_DIR": str(directory), "ONE": str(directory / "a.sock")}
    script = PRELUDE + f'print(reach("{directory}/a.sock"))'
    for spelled in ("$XDG_RUNTIME_DIR/a.sock", "${XDG_RUNTIME_DIR}/a.sock", "$ONE"):
        done, report = world.report("/usr/bin/python3", "-c", script, env=env,
                                    options=("--policy", policy(world, spelled)))
        assert done.expect(0).out == "ok\n" and report["policy"]["net"]["sockets"] == [str(directory / "a.sock")]
    assert service.visitors() == 3
    # Unset, or no path: nothing is listed, and that is told.
    for env_now in ({}, {"XDG_RUNTIME_DIR": "here"}):
        done, report = world.report("/usr/bin/python3", "-c", script, env=env_now,
                                    options=("--policy", policy(world, "$XDG_RUNTIME_DIR/a.sock")))
        assert done.expect(0).out != "ok\n"
        assert {"what": "sockets", "asked": "$XDG_RUNTIME_DIR/a.sock", "got": None,
                "because": "nonexistent"} in report["reductions"]
    for spelled in ("$", "${XDG_RUNTIME_DIR", "$ONE.sock"):
        refused = world.run("true", options=("--policy", policy(world, spelled)), env=env).expect(125)
        assert "no variable ends" in refused.err, refused.account()
    ceiling = 'version = 1\n[fs]\nread = ["/"]\nwrite = ["@cwd"]\n[net]\nsockets = ["%s"]\n'
    bound = world.document(ceiling % "$XDG_RUNTIME_DIR/a.sock", "bound.toml")
    wanted = policy(world, "$XDG_RUNTIME_DIR/a.sock")
    done, report = world.report("/usr/bin/python3", "-c", script, env=env,
                                options=("--policy", wanted, "--ceiling", bound))
    assert done.out != "ok\n" and "outside-ceiling" in {r["because"] for r in report["reductions"]}, done.account()
    other = world.document(ceiling % "$ONE", "one.toml")
    refused = world.run("true", options=("--ceiling", other), env=env).expect(125)
    assert "could set $ONE" in refused.err, refused.account()
