"""Kinds of denial of `cordon run`: the rule, the layer and a cure that works are told for each. The cure is applied,
and the same command succeeds; or it is said that there is none."""

import shlex
import socket
import socketserver
import threading

import pytest

from support.cures import apply_cure
from support.harness import free_port

PYTHON = "/usr/bin/python3"
NONE = 'net.mode = "none"'


def follow(change, options):
    """The options after a change of an answer, to the letter."""
    options = list(options)
    for step in change.split("; "):
        if step.startswith("leave out "):
            words = shlex.split(step.removeprefix("leave out "))
            at = next(i for i in range(len(options)) if options[i:i + len(words)] == words)
            del options[at:at + len(words)]
        elif step.startswith("--"):
            options += shlex.split(step)
        else:
            assert apply_cure(step) == {}
    return options


def reported(world, argv, options, **how):
    done, report = world.report(*argv, options=["--why", *options], **how)
    return done, report


def python(code):
    return [PYTHON, "-c", "import os, socket, sys\n" + code]


# Each is given a directory with a file; it returns the command, its options, and what is told: access, path, rule, layer.

def read_a_file(world, d): return ["cat", d / "f"], [], ("read", d / "f", "home", "mounts")
def read_through_a_link(world, d): return ["sh", "-c", f"ln -sfn {d}/f link; cat link"], [], ("read", d / "f", "home", "mounts")
def read_a_relative_path(world, d): return ["cat", "../d/e/f"], [], ("read", d / "f", "home", "mounts")
def list_a_directory(world, d): return ["ls", d], [], ("read", d, "home", "mounts")
def enter_a_directory(world, d): return ["sh", "-c", f"cd {d}"], [], ("read", d, "home", "mounts")
def read_outside_the_home(world, d): return ["cat", world.outside / "secret"], [], ("read", world.outside / "secret", "scratch", "mounts")
def run_a_program(world, d): return python(f"import subprocess; subprocess.run([{str(d / 'tool')!r}], check=True)"), [], ("exec", d / "tool", "home", "mounts")
def make_a_file(world, d): return ["sh", "-c", f"echo x > {d}/new"], [], ("write", d / "new", "home", "mounts")
def change_a_file(world, d): return ["sh", "-c", f"echo x >> {d}/f"], [], ("write", d / "f", "home", "mounts")
def make_a_directory(world, d): return ["mkdir", d / "m"], [], ("write", d / "m", "home", "mounts")
def remove_what_is_read(world, d): return ["rm", d / "g"], ["--read", str(d)], ("write", d / "g", "read", "mounts")
def rename_what_is_read(world, d): return python(f"os.rename({str(d / 'g')!r}, {str(d / 'h')!r})"), ["--read", str(d)], ("write", d / "g", "read", "mounts")
def link_what_is_read(world, d): return python(f"os.symlink('f', {str(d / 'l')!r})"), ["--read", str(d)], ("write", d / "l", "read", "mounts")
def mode_of_what_is_read(world, d): return ["chmod", "600", d / "f"], ["--read", str(d)], ("write", d / "f", "read", "mounts")
def time_of_what_is_read(world, d): return ["touch", "-c", d / "f"], ["--read", str(d)], ("write", d / "f", "read", "mounts")
def cut_what_is_read(world, d): return python(f"os.truncate({str(d / 'f')!r}, 0)"), ["--read", str(d)], ("write", d / "f", "read", "mounts")
def read_what_is_denied(world, d): return ["cat", "own"], ["--deny", "own"], ("read", world.project / "own", "mask", "mounts")
def read_below_what_is_denied(world, d): return ["cat", "sub/own"], ["--deny", "sub"], ("read", world.project / "sub/own", "mask", "mounts")
def read_beyond_a_ceiling(world, d):
    ceiling = world.write(world.trusted / "c.toml", f'version = 1\n[fs]\nwrite = ["{world.project}"]\nread = ["@system"]\n')
    return ["cat", d / "f"], ["--ceiling", str(ceiling)], ("read", d / "f", "", "mounts")
def write_beyond_a_ceiling(world, d):
    ceiling = world.write(world.trusted / "c.toml", f'version = 1\n[fs]\nwrite = ["{world.project}"]\nread = ["@system"]\n')
    return ["sh", "-c", f"echo x >> {d}/f"], ["--ceiling", str(ceiling)], ("write", d / "f", "", "mounts")
def a_name_without_a_network(world, d): return python("socket.getaddrinfo('h.example', 443)"), [], ("connect", "h.example:443", NONE, "broker")
def a_name_of_another_host(world, d): return python("socket.getaddrinfo('h.example', 443)"), ["--allow", "g.example"], ("connect", "h.example:443", 'net.mode = "allow"', "broker")
def a_name_beyond_a_ceiling(world, d):
    ceiling = world.write(world.trusted / "c.toml", f'version = 1\n[fs]\nwrite = ["{world.project}"]\nread = ["@system"]\n')
    return python("socket.getaddrinfo('h.example', 443)"), ["--ceiling", str(ceiling)], ("connect", "h.example:443", NONE, "broker")


CURED = [value for name, value in list(globals().items()) if callable(value) and getattr(value, "__code__", None)
         and value.__code__.co_varnames[:2] == ("world", "d")]


@pytest.fixture
def place(world):
    d = world.home / "d/e"
    world.write(d / "f", "x\n")
    world.write(d / "g", "x\n")
    world.write(d / "tool", "#!/bin/sh\nexit 0\n", 0o755)
    world.write(world.project / "own", "x\n")
    world.write(world.project / "sub/own", "x\n")
    return d


def told_of(report, access, path):
    found = [one for one in report["denials"] if one["access"] == access and one["path"] == str(path)]
    assert len(found) == 1, report["denials"]
    return found[0]


@pytest.mark.once
@pytest.mark.parametrize("kind", CURED, ids=lambda one: one.__name__)
def test_a_denial_with_a_cure(world, place, kind):
    argv, options, (access, path, rule, layer) = kind(world, place)
    done, report = reported(world, argv, options)
    assert done.status != 0, done.account()
    told = told_of(report, access, path)
    assert rule in told["rule"] and told["layer"] == layer and told["count"] >= 1, told
    line = next(line for line in done.err.splitlines() if str(path) in line and "cordon: " in line)
    assert told["change"] in line
    done, report = reported(world, argv, follow(told["change"], options))
    done.expect(0)
    assert not [one for one in report["denials"] if one["access"] == access], report["denials"]


def a_key(world, d): return world.write(world.home / ".ssh/id_ed25519", "PLANTED\n")
def a_token(world, d): return world.write(world.home / ".aws/credentials", "PLANTED\n")
def a_history(world, d): return world.write(world.home / ".bash_history", "PLANTED\n")
def a_login(world, d): return world.write(world.home / ".netrc", "PLANTED\n")
def an_agents_login(world, d): return world.write(world.home / ".claude/.credentials.json", "PLANTED\n")


@pytest.mark.once
@pytest.mark.parametrize("kind", [a_key, a_token, a_history, a_login, an_agents_login], ids=lambda one: one.__name__)
def test_a_denial_that_nothing_cures(world, place, kind):
    path = kind(world, place)
    for options in ([], ["--read", str(world.home / "d")]):
        done, report = reported(world, ["cat", path], options)
        told = told_of(report, "read", path)
        assert told["change"] is None and told["rule"] and "PLANTED" not in done.out
        assert "nothing can grant it" in done.err


@pytest.mark.once
@pytest.mark.parametrize("options,rule", [([], NONE), (["--allow", "192.0.2.1:53"], 'net.mode = "allow"')], ids=str)
def test_a_datagram_is_told_and_nothing_cures_it(world, options, rule):
    """Without --why too: the kernel answers "network is unreachable", as if there were none at all."""
    send = python("s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                  "for _ in range(3):\n"
                  "    try: s.sendto(b'x', ('192.0.2.1', 53))\n"
                  "    except OSError as error: print(error.strerror)\n"
                  # What stays inside is no denial.
                  "t = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                  "t.bind(('127.0.0.1', 0))\n"
                  "print(s.sendto(b'mine', t.getsockname()), t.recv(9).decode())")
    done, report = world.report(*send, options=options)
    assert done.expect(0).out == "Network is unreachable\n" * 3 + "4 mine\n", done.account()
    [told] = report["denials"]
    assert (told["what"], told["path"], told["rule"], told["layer"], told["count"], told["change"]) == (
        "udp", "192.0.2.1:53", rule, "broker", 3, None), told
    [line] = done.err.splitlines()
    assert line == (f"cordon: denied: UDP to 192.0.2.1:53: only TCP leads outside, and no rule grants UDP "
                    f"({rule}, broker, 3 times)"), done.account()
    assert "no rule grants UDP" in world.cordon_verb("why").expect(0).out
    assert "--allow" not in world.cordon_verb("why").out


@pytest.mark.once
@pytest.mark.only("root")
def test_what_every_sandbox_is_built_of_is_written_by_none(world):
    _, report = reported(world, ["touch", "/usr/bin/cordon-test-made"], [])
    assert told_of(report, "write", "/usr/bin/cordon-test-made")["change"] is None


# The command, options that are too small and others that are not, the cure, and what is told: rule and layers, of which the
# host has one. The clock is no denial: it is told as the end of the run.

LIMITS = {
    "memory": (python("x = bytearray(200 << 20)"), ["--memory", "48M"], ["--memory", "1G"], "--memory SIZE",
               'limits.memory = "48M"', {"cgroup", "rlimit", "watch"}),
    "pids": (["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 3 & done; wait"], ["--pids", "6"], ["--pids", "60"],
             "--pids N", "limits.pids = 6", {"cgroup", "rlimit", "watch"}),
    "scratch": (["sh", "-c", "head -c 8M /dev/zero > /tmp/x && sleep 1"], ["--scratch", "1M"], ["--scratch", "64M"],
                "--scratch SIZE", 'fs.scratch = "1M"', {"tmpfs", "watch"}),
    "timeout": (["sleep", "3"], ["--timeout", "200ms"], ["--timeout", "30s"], "--timeout DURATION", None, set()),
}


def told_of_limit(report, what, rule, layers):
    if rule is None:
        assert report["timed_out"] is True
        return
    found = [one for one in report["denials"] if one["what"] == what]
    assert found and {one["rule"] for one in found} == {rule}, report["denials"]
    assert {one["layer"] for one in found} <= layers, report["denials"]


@pytest.mark.once
@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_with_a_cure(world, limit):
    argv, options, larger, cure, rule, layers = LIMITS[limit]
    done, report = world.report(*argv, options=options)
    assert done.status != 0, done.account()
    told_of_limit(report, limit, rule, layers)
    assert cure in world.cordon_verb("why").expect(0).out
    done, report = world.report(*argv, options=larger)
    assert done.expect(0) and not report["denials"]


def in_policy(world, line):
    return ["--policy", str(world.document(f'version = 1\nextends = "workspace"\n{line}\n', "limits.toml"))]


# As above; the server is the test's own, on loopback.

SEVERAL = "a = [socket.create_connection(('127.0.0.1', PORT), 30) for _ in range(3)]"
MUCH = "import time; a = socket.create_connection(('127.0.0.1', PORT), 30); a.sendall(b'x' * 100000); time.sleep(3)"
FILE_LIMITS = {
    "output_total": (["sh", "-c", "head -c 3M /dev/zero"], '"1M"', '"64M"', "output", {"relay"}),
    "file_size": (["sh", "-c", "exec head -c 3M /dev/zero > big"], '"1M"', '"64M"', "file_size", {"rlimit"}),
    "cpu": (["sh", "-c", "exec " + shlex.join([PYTHON, "-c", "import time\nwhile time.process_time() < 5: pass"])],
            '"1s"', '"1m"', "cpu", {"rlimit"}),
    "connections": (python(SEVERAL), "1", "9", "connect", {"broker"}),
    "sent": (python(MUCH), '"1K"', '"64M"', "sent", {"watch"}),
}


@pytest.fixture
def server():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Swallow) as one:
        one.daemon_threads = True
        threading.Thread(target=one.serve_forever, daemon=True).start()
        yield one.server_address[1]
        one.shutdown()


class Swallow(socketserver.BaseRequestHandler):
    def handle(self):
        try:
            while self.request.recv(65536):
                pass
        except OSError:
            pass


@pytest.mark.once
@pytest.mark.parametrize("limit", FILE_LIMITS)
def test_a_limit_of_a_policy_with_a_cure(world, server, limit):
    argv, small, large, what, layers = FILE_LIMITS[limit]
    argv = [word.replace("PORT", str(server)) for word in argv]
    host = f'[net]\nmode = "allow"\nallow = ["127.0.0.1:{server}"]\n'

    def bounded(value):
        return in_policy(world, f"{host}[limits]\n{limit} = {value}")
    done, report = world.report(*argv, options=bounded(small))
    assert done.status != 0, (done.account(), report)
    told_of_limit(report, what, f"limits.{limit} = {small}", layers)
    assert f"write a larger limits.{limit}" in world.cordon_verb("why").expect(0).out
    done, report = world.report(*argv, options=bounded(large))
    assert done.expect(0) and not report["denials"]


@pytest.mark.once
def test_a_socket_of_the_host_with_a_cure(world, server):
    path = world.project / "host.sock"
    connect = python(f"socket.socket(socket.AF_UNIX).connect({str(path)!r})")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        world.own(path)
        listener.listen()
        # Also beside a connection that was permitted, which has a list of its own.
        beside = python(f"socket.create_connection(('127.0.0.1', {server}), 30)\n"
                        f"socket.socket(socket.AF_UNIX).connect({str(path)!r})")
        for argv, options in ((connect, []), (beside, ["--allow", f"127.0.0.1:{server}"])):
            done, report = world.report(*argv, options=options)
            assert done.status != 0, done.account()
            [told] = report["denials"]
            assert (told["what"], told["rule"], told["layer"]) == ("connect", "net.sockets", "broker"), told
            [cure] = [line.strip() for line in world.cordon_verb("why").expect(0).out.splitlines() if "--socket" in line]
            option = shlex.split(cure.removesuffix(" lets it be reached"))
            done, report = world.report(*argv, options=[*options, *option])
            assert done.expect(0) and not report["denials"]


@pytest.mark.once
def test_what_git_would_run_is_held_with_a_cure(world):
    world.bare("git", "init", "-q", ".").expect(0)
    done, report = world.report("sh", "-c", "mkdir -p .git/hooks; echo '#!/bin/sh' > .git/hooks/post-commit; "
                                            "git config core.fsmonitor x")
    done.expect(0)
    held = {one["path"]: one["reason"] for one in report["changes"] if one["state"] == "held"}
    assert held == {".git/hooks/post-commit": "git", ".git/config": "git: core.fsmonitor"}, report["changes"]
    told = world.cordon_verb("why").expect(0).out
    for path, reason in held.items():
        assert f"held back: {path} ({reason})" in told, told
    for line in [line for line in done.err.splitlines() if "held back: " in line]:
        world.cordon_verb(*shlex.split(line.split("; cordon ")[1])).expect(0)
    assert (world.project / ".git/hooks/post-commit").exists()
    assert "fsmonitor = x" in (world.project / ".git/config").read_text()


# What an option asks for and a ceiling does not give is refused before anything starts: the rule is the ceiling's file, and
# the hint the line of it that changes it.

REFUSED = {
    "env": (["--env", "LC_TIME=C"], "[env]"),
    "publish": (["--publish", "0"], "[net]"),
    "open": (["--net", "open"], "[net]"),
    "allow": (["--allow", "h.example:443"], "[net]"),
    "timeout": (["--timeout", "1m"], "[limits]"),
    "memory": (["--memory", "1G"], "[limits]"),
    "pids": (["--pids", "300"], "[limits]"),
    "read": (["--read", "OUTSIDE"], "[fs]"),
    "write": (["--write", "OUTSIDE"], "[fs]"),
    "socket": (["--socket", "SOCKET"], "[net]"),
}


@pytest.mark.once
@pytest.mark.parametrize("name", REFUSED)
def test_an_option_beyond_a_ceiling_with_a_cure(world, name):
    words, table = REFUSED[name]
    path = world.project / "host.sock"
    port = free_port()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        world.own(path)
        listener.listen()
        options = [{"OUTSIDE": str(world.outside), "SOCKET": str(path), "0": str(port)}.get(word, word) for word in words]
        file = world.write(world.trusted / "c.toml", f'version = 1\n[fs]\nread = ["@system"]\nwrite = ["{world.project}"]\n'
                           '[net]\nmode = "allow"\nallow = ["g.example:443"]\n[env]\npass = ["TERM"]\n'
                           '[limits]\nwall = "20s"\nmemory = "512M"\npids = 64\n')
        bound = ["--ceiling", str(file)]
        done, report = world.report("true", options=[*bound, *options])
        done.expect(125)
        assert report["error"]["kind"] == "policy" and str(file) in report["error"]["message"], report["error"]
        assert f"below {table} in {file}" in report["error"]["hint"], report["error"]
        apply_cure(report["error"]["hint"])
        world.run("true", options=[*bound, *options]).expect(0)
