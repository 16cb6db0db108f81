"""What Landlock alone does not stop, tried under the backend that has nothing else for files and
processes. Each attempt succeeds without a sandbox."""

import os
import signal
import socket
import stat
import time
from pathlib import Path

import pytest

from support.harness import SOON, alive, descendants, noted_processes, processes_with, wait_until

PYTHON = "/usr/bin/python3"

PRELUDE = """
import ctypes, errno, fcntl, os, platform, resource, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    result = getattr(libc, name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
"""


def attempt(world, code, options=(), **how):
    """True if the code did what it tries; it ends with a line that says so."""
    return world.run(PYTHON, "-c", PRELUDE + code + "\nprint('SUCCEEDED')", options=options, **how)


def refused(world, code, options=(), control=True):
    inside = attempt(world, code, options)
    assert "SUCCEEDED" not in inside.out and "Error" in inside.err, inside.account()
    if control:
        bare = world.bare(PYTHON, "-c", PRELUDE + code + "\nprint('SUCCEEDED')")
        assert "SUCCEEDED" in bare.out, f"the attempt itself is broken\n{bare.account()}"
    return inside


CHANGES = {
    "chmod": "os.chmod({path!r}, 0o666)",
    "chmod by descriptor": "os.fchmod(os.open({path!r}, os.O_RDONLY), 0o666)",
    "chmod relative": "os.chdir({parent!r}); os.chmod({name!r}, 0o666)",
    "chmod at": "os.chmod({name!r}, 0o666, dir_fd=os.open({parent!r}, os.O_PATH))",
    "utime": "os.utime({path!r}, (1, 1))",
    "utime now": "os.utime({path!r})",
    "chown": "os.chown({path!r}, os.getuid(), os.getgid())",
    "setxattr": "os.setxattr({path!r}, 'user.cordon', b'x')",
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("place", ["outside", "readable"])
def test_attributes_of_files_that_may_not_be_written(world, change, place):
    directory = world.outside if place == "outside" else world.make_directory(world.path / "lib")
    path = world.write(directory / "own", "x", 0o640)
    before = path.stat()
    options = [] if place == "outside" else ["--read", directory]
    code = CHANGES[change].format(path=str(path), parent=str(directory), name="own")
    inside = attempt(world, code, options)
    assert "SUCCEEDED" not in inside.out and "Error" in inside.err, inside.account()
    after = path.stat()
    assert (before.st_mode, before.st_mtime_ns, before.st_ctime_ns) == (
        after.st_mode, after.st_mtime_ns, after.st_ctime_ns)
    bare = world.bare(PYTHON, "-c", PRELUDE + code + "\nprint('SUCCEEDED')")
    assert "SUCCEEDED" in bare.out, bare.account()


def test_attributes_through_a_symlink(world):
    path = world.write(world.outside / "own", "x", 0o640)
    world.link(world.project / "alias", path)
    refused(world, "os.chmod('alias', 0o666)")
    path.chmod(0o640)
    attempt(world, "os.chmod('alias', 0o666)")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_attributes_by_a_path_that_changes_under_the_judge(world):
    """One thread flips the path between an inner and an outer file while others change modes."""
    outer = world.write(world.outside / "o", "x", 0o640)
    world.write(world.project / "inner-file-of-equal-length", "x", 0o640)
    inner = str(world.project / "inner-file-of-equal-length").encode()
    code = f"""
import threading, time
a, b = {inner!r}, {str(outer).encode()!r}
buffer = ctypes.create_string_buffer(max(len(a), len(b)) + 1)
end = time.monotonic() + 1.5
over = threading.Event()
def flip():
    while not over.is_set():
        ctypes.memmove(buffer, a + b'\\0', len(a) + 1); ctypes.memmove(buffer, b + b'\\0', len(b) + 1)
threading.Thread(target=flip).start()
done = 0
while time.monotonic() < end or (not done and time.monotonic() < end + 20):
    done += libc.fchmodat(-100, buffer, 0o666, 0) == 0
over.set()
assert done, 'never once'
"""
    assert "SUCCEEDED" in attempt(world, code).out
    assert stat.S_IMODE(outer.stat().st_mode) == 0o640


def test_links_of_proc_do_not_lead_the_judge_elsewhere(world):
    refused(world, "os.chmod('/proc/self/cwd/file.txt', 0o600)")
    attempt(world, "os.chmod('file.txt', 0o600)")
    assert stat.S_IMODE((world.project / "file.txt").stat().st_mode) == 0o600


def test_setuid_bit(world):
    refused(world, "os.chmod('file.txt', 0o4755)")
    assert "SUCCEEDED" in attempt(world, "os.chmod('file.txt', 0o755)").out


@pytest.mark.only("root")
def test_files_of_others_inside_a_grant(world):
    """The supervisor of root could change them; the command could not."""
    path = world.write(world.project / "other", "x", 0o640)
    os.chown(path, 64200, 64200)
    inside = attempt(world, "os.chmod('other', 0o666)")
    assert "SUCCEEDED" not in inside.out
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_attribute_values_outside(world):
    path = world.write(world.outside / "own", "x")
    try:
        os.setxattr(path, "user.origin", b"SECRET-url")
    except OSError:
        pytest.fail("this file system has no attributes to test with")
    refused(world, f"print(os.getxattr({str(path)!r}, 'user.origin'))")


def test_flags_by_a_readable_descriptor(world):
    lib = world.make_directory(world.path / "lib")
    path = world.write(lib / "own", "x")
    code = (f"f = os.open({str(path)!r}, os.O_RDONLY)\n"
            "fcntl.ioctl(f, 0x40086602, struct.pack('l', 0x80))")  # FS_IOC_SETFLAGS, no atime
    inside = attempt(world, code, ["--read", lib])
    assert "SUCCEEDED" not in inside.out and "Inappropriate ioctl" in inside.err, inside.account()


def test_watching_a_directory_outside(world):
    code = (f"i = call('inotify_init')\n"
            f"call('inotify_add_watch', i, {str(world.outside)!r}.encode(), 0xfff)")
    refused(world, code)


@pytest.fixture
def victim(world):
    process = world.start(["/bin/sleep", "600"])
    yield process
    process.kill()
    process.communicate()


HARM = {
    "limit": "resource.prlimit({pid}, resource.RLIMIT_CPU, (1, 1))",
    "look at a limit": "print(resource.prlimit({pid}, resource.RLIMIT_CPU))",
    "priority": "os.setpriority(os.PRIO_PROCESS, {pid}, 19)",
    "affinity": "os.sched_setaffinity({pid}, {{0}})",
    "class": "os.sched_setscheduler({pid}, os.SCHED_BATCH, os.sched_param(0))",
    "signal": "os.kill({pid}, 19)",
    "signal by pidfd": "import signal; signal.pidfd_send_signal(os.pidfd_open({pid}), 19)",
    "trace": "call('ptrace', 16, {pid}, 0, 0)",
    "environment": "print(open('/proc/{pid}/environ').read())",
    "command line": "print(open('/proc/{pid}/cmdline').read())",
    "files": "os.listdir('/proc/{pid}/fd')",
}


@pytest.mark.parametrize("harm", HARM)
def test_other_processes_of_the_user(world, victim, harm):
    refused(world, HARM[harm].format(pid=victim.pid))


def test_every_process_of_the_user_at_once(world, victim):
    before = os.getpriority(os.PRIO_PROCESS, victim.pid)
    inside = attempt(world, "os.setpriority(os.PRIO_USER, 0, 19)")
    assert "SUCCEEDED" not in inside.out, inside.account()
    assert os.getpriority(os.PRIO_PROCESS, victim.pid) == before
    # The control asks for the lowest priority: whoever starts the suite may already be below the others.
    assert "SUCCEEDED" in attempt(world, "os.setpriority(os.PRIO_PROCESS, 0, 19)").out


def test_signal_to_all_reaches_the_sandbox_alone(world, victim):
    done = world.run("/bin/sh", "-c", "sleep 60 & kill -KILL -1; echo alive")
    assert victim.poll() is None
    assert done.seconds < 30


def test_parents_cannot_be_harmed(world):
    code = """
import time
pid, seen = os.getpid(), []
for _ in range(3):
    try:
        os.kill(os.getppid(), 9); print('KILLED')
    except PermissionError: pass
    try:
        resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1)); print('LIMITED')
    except PermissionError: pass
"""
    done = attempt(world, code).expect(0)
    assert done.out == "SUCCEEDED\n", done.account()


# The network.

SOCKETS = {
    "tcp": "socket.socket()",
    "tcp6": "socket.socket(socket.AF_INET6)",
    "udp": "socket.socket(type=socket.SOCK_DGRAM)",
    "mptcp": "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
    "interfaces by a local socket":
        "fcntl.ioctl(socket.socketpair()[0], 0x8912, struct.pack('iP', 0, 0))",
}


@pytest.mark.parametrize("kind", SOCKETS)
def test_no_network_is_none(world, kind):
    refused(world, SOCKETS[kind])


def test_open_network_is_the_hosts(world):
    server = socket.create_server(("127.0.0.1", 0))
    code = f"socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 30)"
    try:
        assert "SUCCEEDED" in attempt(world, code, ["--net", "open"]).out
        refused(world, code)
    finally:
        server.close()


@pytest.mark.parametrize("mode", ["none", "open"])
def test_local_sockets_of_the_host(world, mode):
    path = world.project / "host.sock"
    name = f"\0cordon-{os.getpid()}-{world.path.name}"
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as abstract:
        named.bind(str(path))
        path.chmod(0o777)
        named.listen()
        abstract.bind(name)
        abstract.listen()
        for address in (str(path), name):
            refused(world, f"socket.socket(socket.AF_UNIX).connect({address!r})",
                    ["--net", mode])


def test_a_listed_socket_where_nothing_can_be_written(world):
    path = world.make_directory(world.home / "run") / "host.sock"
    inside = world.project / "host.sock"
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as replaceable:
        for server, place in ((named, path), (replaceable, inside)):
            server.bind(str(place))
            place.chmod(0o777)
            server.listen()
        ceiling = world.ceiling.read_text()
        for place in (path, inside):
            world.ceiling.write_text(ceiling.replace('[require]',
                                                     f'sockets = ["{place}"]\n[require]'))
            listed = world.document(
                f'version = 1\nextends = "workspace"\n[net]\nsockets = ["{place}"]\n')
            code = f"socket.socket(socket.AF_UNIX).connect({str(place)!r})"
            done = attempt(world, code, ["--policy", listed])
            if place == path:
                assert "SUCCEEDED" in done.out, done.account()
            else:
                # The command could put another one in its place for the next run.
                assert done.status == 125 and "cannot keep" in done.err, done.account()


# The end.

def mark_of(world):
    return f"landlock-{os.getpid()}-{world.path.name}"


def start_tree(world, mark, options=()):
    process = world.start_run("/bin/sh", "-c",
                              f"'{world.probe}' orphans 20 {mark} 120; '{world.probe}' linger {mark} 120",
                              options=options)
    assert wait_until(lambda: len(processes_with(mark)) >= 21), process.poll()
    assert wait_until(lambda: len(descendants(process.pid)) >= 21)
    return process, descendants(process.pid)


@pytest.mark.parametrize("options", [(), ("--tty",)], ids=["plain", "tty"])
def test_sigkill_of_cordon(world, options):
    mark = mark_of(world)
    process, tree = start_tree(world, mark, options)
    # Else the next start cannot know whom to wait for, and leaves it to a later one.
    assert wait_until(lambda: noted_processes(world.home))
    process.kill()
    process.wait()
    assert wait_until(lambda: not any(alive(pid) for pid in tree), SOON), processes_with(mark)
    process.communicate()
    assert world.left_behind(), "the dead one noted nothing"
    world.run("true").expect(0)
    assert world.left_behind() == []


def name_of(pid):
    try:
        return Path("/proc", str(pid), "comm").read_text().strip()
    except OSError:
        return ""


def test_sigkill_of_everything_called_cordon(world):
    mark = mark_of(world)
    process, tree = start_tree(world, mark)
    called = [pid for pid in [process.pid, *tree] if name_of(pid) == "cordon"]
    assert len(called) == 2, [(pid, name_of(pid)) for pid in tree]
    for pid in reversed(called):  # the first process before Cordon, which would take it along
        os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: not any(alive(pid) for pid in tree), SOON), processes_with(mark)
    process.communicate()


@pytest.mark.parametrize("which", ["first process", "guard"])
def test_one_of_the_keepers_is_killed(world, which):
    mark = mark_of(world)
    process, tree = start_tree(world, mark)
    wanted = "cordon" if which == "first process" else "sandbox-guard"
    [keeper] = [pid for pid in tree if name_of(pid) == wanted]
    os.kill(keeper, signal.SIGKILL)
    if which == "guard":
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
    process.wait(30)
    assert wait_until(lambda: not any(alive(pid) for pid in tree), SOON), processes_with(mark)
    process.communicate()


@pytest.mark.parametrize("options,status", [(("--timeout", "2s"), 124), ((), 0)],
                         ids=["timeout", "end"])
def test_nothing_outlives_the_command(world, options, status):
    mark = mark_of(world)
    tail = "sleep 120" if status else "true"
    world.run("/bin/sh", "-c", f"'{world.probe}' orphans 20 {mark} 120; sleep 0.3; {tail}",
              options=options).expect(status)
    assert wait_until(lambda: not processes_with(mark), SOON), processes_with(mark)
    assert world.left_behind() == []


def test_fork_bomb_ends_with_the_run(world):
    mark = mark_of(world)
    code = f"import os, sys, time\nsys.argv.append('{mark}')\nwhile True:\n try: os.fork()\n except OSError: pass"
    world.run(PYTHON, "-c", code, mark, options=["--pids", "100", "--timeout", "1s"]).expect(124)
    assert wait_until(lambda: not processes_with(mark), SOON), processes_with(mark)


def test_signal_is_forwarded(world):
    process = world.start_run("/bin/sh", "-c", "trap 'echo got; exit 3' TERM; echo up; "
                                               "while :; do sleep 0.1; done")
    assert process.stdout.readline() == b"up\n"
    process.terminate()
    out, _ = process.communicate(timeout=40)
    assert b"got" in out and process.returncode == 128 + signal.SIGTERM
