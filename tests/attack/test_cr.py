"""Secrets and environment: cases CR01 to CR11."""

import os
import socket

import pytest

from support.harness import BROWSING_FILES, FILE_ERRORS, GONE_ERRORS, NET_ERRORS, SECRET_FILES, quickest

pytestmark = pytest.mark.group("secrets")

SECRETS = {"AWS_SECRET_ACCESS_KEY": "SECRET-1", "GITHUB_TOKEN": "SECRET-2",
           "ANTHROPIC_API_KEY": "SECRET-3", "SSH_AUTH_SOCK": "/SECRET-4", "MY_OWN": "SECRET-5"}
INJECTION = ("BASH_ENV", "ENV", "PROMPT_COMMAND", "PYTHONSTARTUP", "PYTHONPATH", "NODE_OPTIONS",
             "PERL5OPT", "PERL5LIB", "RUBYOPT", "JAVA_TOOL_OPTIONS", "GIT_SSH_COMMAND",
             "GIT_EXTERNAL_DIFF", "GCONV_PATH", "IFS")


def test_CR01_inherited_secrets(world):
    done = world.run("/bin/sh", "-c", "env; cat /proc/self/environ /proc/$$/environ", env=SECRETS)
    done.expect(0)
    assert "SECRET" not in done.out, done.account()
    assert "SECRET-1" in world.bare("env", env=SECRETS).out
    names = {line.split("=")[0] for line in world.run("env", env=SECRETS).out.splitlines()}
    baseline = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TMPDIR", "PWD"}
    assert names <= baseline, f"more than the baseline: {sorted(names - baseline)}"
    assert "MY_OWN=SECRET-5" in world.run("env", options=["--env", "MY_OWN"], env=SECRETS).out


def test_CR02_environment_of_the_launcher(world, target):
    script = ("for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/environ; tr '\\0' ' ' < $p/cmdline; "
              "done 2>/dev/null; echo end")
    done = world.run("/bin/sh", "-c", script, env=SECRETS, options=["--env", "PLAIN=1"])
    assert "end" in done.out and "SECRET" not in done.out, done.account()
    assert str(world.cordon) not in done.out, "the launcher's command line is visible"
    world.denied("environ-of", target.pid, errors=GONE_ERRORS)
    for pid in (os.getpid(), os.getppid()):
        [answer] = world.inside([("environ-of", pid)])
        assert not answer.ok and answer.errno in GONE_ERRORS, answer
    assert "SECRET" in world.bare("/bin/sh", "-c", script, env=SECRETS).out, "the control shows nothing"


@pytest.mark.parametrize("name", INJECTION)
def test_CR04_interpreter_injection(world, name):
    done = world.run("env", env={name: "/INJECTED"})
    done.expect(0)
    assert "/INJECTED" not in done.out, done.account()
    assert "/INJECTED" in world.bare("env", env={name: "/INJECTED"}).out


@pytest.mark.parametrize("files", [SECRET_FILES, BROWSING_FILES], ids=["CR05", "CR06"])
@pytest.mark.parametrize("grant", ["none", "home", "disk"])
def test_credential_stores(world, files, grant):
    world.plant(files)
    world.write(world.home / "plain.txt", "plain\n")
    options = {"none": [], "home": ["--read", world.home], "disk": ["--read", "/"]}[grant]
    found = world.inside([("read", world.home / name) for name in files], options=options)
    for name, answer in zip(files, found):
        assert not answer.ok, f"{name} is readable with grant {grant}: {answer}"
        assert answer.errno in FILE_ERRORS, answer
    assert all(a.ok for a in world.outside_of([("read", world.home / name) for name in files]))
    if grant != "none":
        assert world.allowed("read", world.home / "plain.txt", options=options).detail == "plain\n"
        [listing] = world.inside([("list", world.home / next(iter(files)).split("/")[0])],
                                 options=options)
        assert listing.detail == "", f"names inside a masked directory are listed: {listing}"


@pytest.mark.group("symlink")
def test_CR05_symlinked_store_is_hidden_under_both_names(world):
    real = world.write(world.home / "elsewhere/credentials", "SECRET\n").parent
    world.link(world.home / ".aws", real)
    world.link(world.home / ".kube", world.home / "nowhere")
    world.write(world.home / ".docker", "a file, not a directory")
    options = ["--read", world.home]
    for path in (world.home / ".aws/credentials", real / "credentials"):
        world.denied("read", path, options=options)


def test_R526_keyring_and_secret_service(world):
    name = f"cordon-{os.getpid()}-{world.path.name}"
    assert world.outside_of([("add-key", name)])[0].ok
    world.denied("read-key", name, errors={"EPERM", "ENOSYS", "EACCES"})
    assert world.outside_of([("remove-key", name)])[0].ok


def test_R527_ssh_key(world):
    world.plant(SECRET_FILES)
    done = world.run("cat", world.home / ".ssh/id_ed25519")
    assert "PRIVATE KEY" not in done.expect(1).out and "No such file" in done.err, done.account()
    assert "PRIVATE KEY" in world.bare("cat", str(world.home / ".ssh/id_ed25519")).out


def test_R528_environment_in_proc(world):
    command = ("/bin/sh", "-c", "env; cat /proc/*/environ 2>/dev/null; true")
    done = world.run(*command, env=SECRETS).expect(0)
    assert "SECRET" not in done.out and f"HOME={world.home}" in done.out, done.account()
    assert "SECRET" in world.bare(*command, env=SECRETS).out


@pytest.mark.group("network")
def test_CR11_names_and_datagrams_carry_nothing_out(world):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(0.05)
        port = server.getsockname()[1]
        [answer] = world.inside([("udp-send", f"127.0.0.1:{port}")])
        # A datagram to the sandbox's own loopback may be sent; it must not arrive here.
        with pytest.raises(TimeoutError):
            server.recv(16)
        assert answer.ok or answer.errno in NET_ERRORS, answer
        assert world.outside_of([("udp-send", f"127.0.0.1:{port}")])[0].ok
        server.settimeout(30)
        assert server.recv(16) == b"probe"

    def ask():
        # 2: no such key. The name is not found, and is not looked for either.
        assert world.run("getent", "hosts", "leak.example.com").expect(2).out == ""
    assert quickest(ask, within=5) < 5
    world.run("getent", "hosts", "localhost").expect(0)


@pytest.mark.group("network")
def test_R529_network_fails_fast(world):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        world.denied("connect", f"127.0.0.1:{port}", errors=NET_ERRORS)

        def connect():
            [near, far] = world.inside([("connect", f"127.0.0.1:{port}"), ("connect", "192.0.2.1:443")])
            assert not near.ok and not far.ok, (near, far)
        assert quickest(connect, within=5) < 5


@pytest.mark.group("network")
def test_R530_network_allowed_reaches_a_local_server(world):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        world.allowed("connect", f"127.0.0.1:{port}", options=["--net", "open"])
        world.denied("connect", f"127.0.0.1:{port}", errors=NET_ERRORS, options=["--net", "none"])
