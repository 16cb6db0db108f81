"""What code under Landlock and a filter alone may try. Each attempt succeeds where nothing is applied."""

import os
import socket

import pytest

from helper import CALLS, apply, attempts, policy, program, rule, system, written
from support import harness

# Everything that a policy may list.
WIDE = sorted({*CALLS, "setsockopt", "sendmsg", "recvmsg", "setxattr", "utimensat", "fchownat",
               "clone3", "openat2", "io_uring_setup", "io_uring_enter", "io_uring_register",
               "personality", "seccomp", "memfd_create", "pidfd_open", "pidfd_send_signal",
               "inotify_init1", "epoll_create1", "eventfd2", "sched_yield", "fchmod", "getsockname",
               "getsockopt", "getpeername", "shutdown",
               "rt_sigqueueinfo", "setsid", "execveat", "capset", "setuid", "setgid", "setgroups"})


def refused(world, *words, document=None, errors=("EACCES", "EPERM"), control=True):
    document = document or policy(rule(world.project, "readwriteexecute"), calls=WIDE)
    [answer] = attempts(world, document, [words])
    assert not answer.ok and answer.errno in errors, f"{words}: {answer}"
    if control:
        [bare] = world.outside_of([words])
        assert bare.ok, f"the control fails: {words}: {bare}"


@pytest.mark.parametrize("alias", ["{outside}/secret", "{project}/../../outside/secret",
                                   "{project}/link/secret", "{project}/link"])
def test_fs09_fs26_a_path_by_another_name(world, alias):
    world.link(world.project / "link", world.outside / "secret" if alias.endswith("link")
               else world.outside)
    refused(world, "read", alias.format(outside=world.outside, project=world.project))


def test_fs24_fs25_through_proc(world):
    document = policy(rule(world.project, "readwrite"), rule("/proc", "read"), calls=WIDE)
    refused(world, "read", f"/proc/self/root{world.outside}/secret", document=document)
    refused(world, "read", f"/proc/self/cwd/../../outside/secret", document=document)


def test_fs45_inherited_descriptors(world):
    """A directory outside every grant, open on 5: closed before the command starts."""
    path = written(world, policy(*system(), rule("/proc", "read")))
    line = f'exec 5< {world.outside}; exec "$@"'
    read = ["/bin/cat", "/proc/self/fd/5/secret"]
    done = world.execute(["/bin/sh", "-c", line, "sh", program(), "--policy-file", path, "--", *read])
    assert done.status == 1 and "SECRET" not in done.out, done.account()
    assert "SECRET" in world.execute(["/bin/sh", "-c", line, "sh", *read]).out


def test_fs46_by_handle(world):
    done = apply(world, policy(*system(), calls=[*CALLS, "open_by_handle_at"]), "/usr/bin/true")
    done.expect(72)


def test_fs41_setuid_files(world):
    target = world.write(world.project / "tool", "x", 0o755)
    document = policy(rule(world.project, "readwrite"), calls=WIDE)
    [answer] = attempts(world, document, [("chmod", target, "04755")])
    assert not answer.ok and answer.errno == "EPERM", answer
    assert target.stat().st_mode & 0o6000 == 0
    assert attempts(world, document, [("chmod", target, "0700")])[0].ok
    assert world.outside_of([("chmod", target, "04755")])[0].ok


def test_pr05_signals_to_others(world, target):
    refused(world, "kill", target.process.pid, "0")


def test_pr01_memory_of_others(world, target):
    document = policy(rule(world.project, "readwrite"), rule("/proc", "read"), calls=WIDE)
    refused(world, "read", f"/proc/{target.process.pid}/environ", document=document)


@pytest.mark.parametrize("attempt", ["ptrace", "unshare-user", "mount-tmpfs", "keyctl", "bpf", "perf"])
def test_pr01_pr10_sy_calls_that_no_policy_lists(world, attempt, target):
    operand = {"ptrace": [target.process.pid], "mount-tmpfs": [world.project]}.get(attempt, [])
    words = (attempt, *operand)
    [answer] = attempts(world, policy(rule(world.project, "readwrite"), calls=WIDE), [words])
    assert not answer.ok and answer.detail == "killed by SIGSYS", answer


def test_pr10_pr11_namespaces_by_clone(world):
    refused(world, "clone-newuser", errors=("EPERM", "ENOSYS"))


def test_sy01_io_uring_is_not_there_even_if_it_is_listed(world):
    refused(world, "io-uring", errors=("ENOSYS",))


@pytest.mark.parametrize("family, kind", [("inet", "stream"), ("inet", "dgram"), ("inet", "raw"),
                                          ("inet6", "stream"), ("unix", "stream"),
                                          ("unix", "dgram"), ("netlink", "raw"), ("packet", "raw"),
                                          ("vsock", "stream"), ("alg", "seqpacket")])
def test_sy24_sockets(world, family, kind):
    words = ("socket", family, kind)
    none = policy(rule(world.project, "readwrite"), calls=WIDE, network="none")
    [answer] = attempts(world, none, [words])
    assert not answer.ok and answer.errno == "EAFNOSUPPORT", answer
    # A document that says nothing of the network: no raw ones and no local ones either.
    [answer] = attempts(world, policy(rule(world.project, "readwrite"), calls=WIDE), [words])
    assert answer.ok == (words[1:] in (("inet", "stream"), ("inet", "dgram"), ("inet6", "stream"),
                                       ("netlink", "raw"))), answer


def test_ip01_local_sockets_of_the_host(world):
    """A socket in a granted directory, as a container engine's or a session bus would be."""
    path = world.project / "daemon.sock"
    daemon = socket.socket(socket.AF_UNIX)
    daemon.bind(str(path))
    daemon.listen(5)
    os.chmod(path, 0o777)
    refused(world, "unix-connect", path, errors=("EPERM", "EACCES", "EAFNOSUPPORT"))
    daemon.close()


def test_network_none_reaches_no_listener(world):
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    words = ("connect", f"127.0.0.1:{port}")
    document = policy(rule(world.project, "readwrite"), calls=WIDE, network="none")
    [answer] = attempts(world, document, [words])
    assert not answer.ok and answer.errno == "EAFNOSUPPORT", answer
    # Listed, and a network that the document says nothing about: the caller's own layer holds it.
    [answer] = attempts(world, policy(rule(world.project, "readwrite"), calls=WIDE), [words])
    assert answer.ok, answer
    server.close()


@pytest.mark.parametrize("network", ["localhost", {"allowedDomains": ["a.example"]},
                                     {"allowedDomains": []}])
def test_a_network_that_needs_an_outer_layer_is_refused_without_one(world, network):
    """An interface beside loopback is up here, or in a namespace that was made for this."""
    document = policy(*system(), network=network)
    path = written(world, document)
    words = [str(program()), "--policy-file", str(path), "--", "/usr/bin/true"]
    inside = ["unshare", "-n"] if world.who.is_root else ["unshare", "-Urn"]
    up = "ip link add veth7 type veth peer name veth8 && ip link set veth7 up && "
    done = world.execute([*inside, "/bin/sh", "-c", up + 'exec "$@"', "sh", *words]).expect(70)
    assert "outer layer" in done.err
    world.execute([*inside, *words]).expect(0)


def test_sy18_landlock_of_the_commands_own_cannot_widen(world):
    document = policy(rule(world.project, "readwrite"), rule(program(), "execute"), *system(),
                      calls=[*WIDE, "landlock_create_ruleset", "landlock_add_rule",
                             "landlock_restrict_self", "close_range", "capset", "seccomp", "prctl"])
    wider = written(world, policy(*system(), rule(world.outside, "read")), "wider.json")
    words = [program(), "--policy-file", wider, "--", "/bin/cat", world.outside / "secret"]
    document["filesystem"]["allow"].append(rule(wider, "read"))
    done = apply(world, document, *words)
    assert done.status == 1 and "SECRET" not in done.out, done.account()
    assert "SECRET" in world.execute(words).out


def test_a_race_for_the_policy_is_lost(world):
    """FS30: the name is exchanged for a link to another policy, over and over."""
    narrow = written(world, policy(*system()), "narrow.json")
    wide = written(world, policy(*system(), rule(world.outside, "read")), "wide.json", 0o644)
    name = world.trusted / "policy"
    script = ("import os, sys\nname, narrow, wide = sys.argv[1:]\n"
              "while True:\n"
              "    os.link(narrow, name + '1'); os.rename(name + '1', name)\n"
              "    os.symlink(wide, name + '2'); os.rename(name + '2', name)\n")
    racer = world.start(["/usr/bin/python3", "-c", script, name, narrow, wide])
    try:
        harness.wait_until(name.exists)
        seen = set()
        for _ in range(60):
            done = world.execute([program(), "--policy-file", name, "--", "/bin/cat",
                                  world.outside / "secret"])
            assert "SECRET" not in done.out, done.account()
            seen.add(done.status)
        assert seen <= {1, 75}, seen
    finally:
        harness.stop(racer)
    wide.chmod(0o600)
    assert "SECRET" in world.execute([program(), "--policy-file", wide, "--", "/bin/cat",
                                      world.outside / "secret"]).out


def test_a_race_for_a_denied_directory_is_lost(world):
    """The granted name leads to the denied directory, and away, over and over."""
    held = world.make_directory(world.project / "held")
    world.write(held / "secret", "SECRET-held\n")
    harmless = world.make_directory(world.project / "harmless")
    name = world.project / "name"
    grant = [*system(), rule(name, "read")]
    path = written(world, policy(*grant, deny=[rule(held, "read")]))
    script = ("import os, sys\nname, *targets = sys.argv[1:]\n"
              "while True:\n"
              "    for target in targets:\n"
              "        os.symlink(target, name + '1'); os.rename(name + '1', name)\n")
    racer = world.start(["/usr/bin/python3", "-c", script, name, held, harmless])
    words = [program(), "--policy-file", path, "--", "/bin/cat", held / "secret"]
    try:
        harness.wait_until(name.exists)
        for _ in range(60):
            done = world.execute(words)
            assert "SECRET" not in done.out and done.status in (1, 70), done.account()
    finally:
        harness.stop(racer)
    name.unlink()
    name.symlink_to(held)
    world.execute(words).expect(70)
    assert "SECRET" in apply(world, policy(*grant), "/bin/cat", held / "secret").out
