"""`--publish`, `--socket` and `--files`: what a policy file says, typed; refused with a change that works where a
ceiling does not permit it."""

import contextlib
import re
import socket
import threading
import urllib.request

import pytest

from support.harness import free_port, wait_until

pytestmark = pytest.mark.once


def fetched(port):
    with contextlib.suppress(OSError):
        return urllib.request.urlopen(f"http://127.0.0.1:{port}/file.txt", timeout=5).read()


def ceiling(world, more):
    return world.document(f'version = 1\n[fs]\nread = ["@system"]\nwrite = ["{world.project}"]\n{more}', "ceiling.toml")


def mended(world, text, done):
    """The ceiling with the line that the refusal names: "below [net] in FILE: publish = [...]"."""
    [(table, line)] = re.findall(r"below \[(\w+)\] in \S+: (\w+ = .*)", done.err)
    key = line.split(" ")[0]
    kept = "".join(one for one in text.splitlines(keepends=True) if not one.startswith(key + " "))
    assert f"[{table}]\n" in kept, done.account()
    return ceiling(world, kept.replace(f"[{table}]\n", f"[{table}]\n{line}\n", 1))


@pytest.mark.parametrize("shift", [0, 1])
def test_a_published_port_is_reached(world, shift):
    inside = free_port()
    outside = free_port() if shift else inside
    option = f"{outside}:{inside}" if shift else str(inside)
    server = ["/usr/bin/python3", "-m", "http.server", "--bind", "127.0.0.1", str(inside)]
    process = world.start([world.cordon, "run", "--publish", option, "--", *server])
    try:
        assert wait_until(lambda: fetched(outside) == b"project file\n")
    finally:
        process.terminate()
        process.wait()
    assert fetched(outside) is None
    process = world.start([world.cordon, "run", "--", *server])  # the control
    try:
        assert not wait_until(lambda: fetched(outside) is not None, 2)
    finally:
        process.terminate()
        process.wait()


@pytest.mark.parametrize("value", ["", "0", "65536", "x", "80:", ":80", "1:2:3", "-1"])
def test_what_is_no_port_is_refused(world, value):
    assert "write 8080, or HOSTPORT:PORT" in world.run("true", options=["--publish=" + value]).expect(125).err


def test_publishing_and_an_open_network_contradict_each_other(world):
    done = world.run("true", options=["--publish", "8080", "--net", "open"]).expect(125)
    assert "--publish contradicts --net open" in done.err


def test_publishing_where_a_policy_opens_the_network_names_the_option(world):
    policy = world.document('version = 1\nextends = "workspace"\n[net]\nmode = "open"\n')
    done = world.run("true", options=["--policy", policy, "--publish", "8080"]).expect(125)
    assert "leave out --publish" in done.err
    world.run("true", options=["--policy", policy]).expect(0)


@pytest.mark.parametrize("kind", ["publish", "socket"])
def test_the_variables_of_a_ceiling_cannot_permit_it_and_say_so(world, kind):
    env = {"CORDON_SANDBOX_NETWORK": "block"}
    path = world.outside / "s"
    with answering(path):
        options = ["--publish", str(free_port())] if kind == "publish" else ["--socket", path]
        done = world.run("true", options=options, env=env).expect(125)
        assert "use a ceiling file in place of the CORDON_SANDBOX_" in done.err, done.account()
        said = f'publish = ["{options[1]}"]' if kind == "publish" else f'sockets = ["{path}"]'
        file = ceiling(world, f'[net]\nmode = "none"\n{said}\n')
        world.run("true", options=[*options, "--ceiling", file]).expect(0)


def test_a_ceiling_refuses_a_port_and_says_the_line(world):
    port = str(free_port())
    text = '[net]\nmode = "none"\npublish = ["8080"]\n'
    options = ["--ceiling", ceiling(world, text), "--publish", port]
    done = world.run("true", options=options).expect(125)
    assert f"--publish {port} is outside what is granted" in done.err
    mended(world, text, done)
    world.run("true", options=options).expect(0)


@contextlib.contextmanager
def answering(path):
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    path.chmod(0o777)
    server.listen()

    def answer():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                connection.sendall(b"hello")
                connection.close()
    threading.Thread(target=answer, daemon=True).start()
    try:
        yield
    finally:
        server.close()


CONNECT = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(9).decode())"


def test_a_socket_is_reached_and_no_other(world):
    path, other = world.outside / "s", world.outside / "t"
    with answering(path), answering(other):
        connect = ["/usr/bin/python3", "-c", CONNECT]
        assert world.run(*connect, path, options=["--socket", path]).expect(0).out == "hello\n"
        assert world.run(*connect, other, options=["--socket", path]).status == 1
        assert world.run(*connect, path).status == 1
        assert world.bare(*connect, other).out == "hello\n"  # the control


def test_a_ceiling_refuses_a_socket_and_says_the_line(world):
    path = world.outside / "s"
    text = '[net]\nmode = "none"\n'
    options = ["--ceiling", ceiling(world, text), "--socket", path]
    with answering(path):
        done = world.run("true", options=options).expect(125)
        assert f"--socket {path} is outside what is granted" in done.err
        mended(world, text, done)
        world.run("true", options=options).expect(0)


def test_what_is_no_socket_is_refused(world):
    done = world.run("true", options=["--socket", world.outside / "none"]).expect(125)
    assert "names no socket that is there" in done.err
    done = world.run("true", options=["--socket", world.project / "file.txt"]).expect(125)
    assert "which is no socket" in done.err and "--read" in done.err


@pytest.mark.parametrize("top", ["/srv", "/mnt"])
def test_one_directory_at_the_top_beside_everything(world, top):
    """The whole is readable, and of that directory the narrower grant decides."""
    mounts = "sed -n 's|^[^ ]* [^ ]* [^ ]* [^ ]* '\"$1\"' \\([^ ]*\\) .*|\\1|p' /proc/self/mountinfo"
    there = world.run("sh", "-c", mounts, "sh", top, options=["--read", "/", "--write", top]).expect(0)
    assert there.out.strip().startswith("rw"), there.account()
    only_read = world.run("sh", "-c", mounts, "sh", top, options=["--read", "/"]).expect(0)
    assert only_read.out.strip().startswith("ro"), only_read.account()


def test_files_bound_the_descriptors(world):
    assert world.run("sh", "-c", "ulimit -n", options=["--files", "99"]).expect(0).out == "99\n"
    assert "not a number above zero" in world.run("true", options=["--files", "0"]).expect(125).err
    text = "[limits]\nfiles = 64\n"
    options = ["--ceiling", ceiling(world, text), "--files", "128"]
    done = world.run("true", options=options).expect(125)
    assert "--files 128 is more than the 64" in done.err
    mended(world, text, done)
    world.run("true", options=options).expect(0)


def test_variables_pass_by_their_beginning(world):
    env = {"MY_ONE": "1", "MY_TWO": "2", "MY_TOKEN": "a-secret-value", "MY_PASS": "secret", "MY_AUTH": "secret",
           "MY_CREDS": "secret", "MY_URL": "postgres://u:secret@h/db", "OTHER": "3"}
    done = world.run("env", options=["--env", "MY_*"], env=env).expect(0)
    assert "MY_ONE=1\n" in done.out and "MY_TWO=2\n" in done.out
    assert "secret" not in done.out and "OTHER" not in done.out
    assert "leaves MY_URL out: its value may hold a password; --env MY_URL passes it" in done.err
    assert "leaves MY_TOKEN out: it looks like a secret; --env MY_TOKEN passes it" in done.err
    assert "MY_TOKEN=a-secret-value\n" in world.run("env", options=["--env", "MY_TOKEN"], env=env).expect(0).out
    assert "nothing is passed" in world.run("true", options=["--env", "NONE*"], env=env).expect(0).err


def test_a_ceiling_refuses_a_variable_of_a_pattern_by_its_name(world):
    text = '[env]\npass = ["MY_ONE"]\n'
    options = ["--ceiling", ceiling(world, text), "--env", "MY_*"]
    env = {"MY_ONE": "1", "MY_TWO": "2"}
    done = world.run("env", options=options, env=env).expect(125)
    assert "--env MY_TWO is outside what is granted" in done.err, done.account()
    mended(world, text, done)
    assert "MY_TWO=2\n" in world.run("env", options=options, env=env).expect(0).out


def test_a_policy_file_has_no_patterns(world):
    policy = world.document('version = 1\nextends = "workspace"\n[env]\npass = ["MY_*"]\n')
    assert "MY_*" in world.run("true", options=["--policy", policy]).expect(125).err
