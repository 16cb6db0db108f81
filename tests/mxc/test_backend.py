"""`--backend mxc` with the executor that a published release carries, and with executors that lie."""

import json
import os
import shutil
import signal
import time

import pytest

import executor
import sdk
from support import harness
from support.pty_session import Terminal

pytestmark = pytest.mark.npm

INSIDE = "/proc/self/fd/41 executor-inside"


def strict(world, *more):
    return ["--backend", "mxc", "--policy", "strict", "--write", world.project, *more]


def refused(done, kind, *words):
    done.expect(125)
    error = json.loads(done.out)["error"] if done.out else None
    assert error and error["kind"] == kind, done.account()
    for word in words:
        assert word in error["message"], done.account()
    return error


def run_json(world, *command, options, env, **how):
    return world.run(*command, options=[*options, "--json"], env=env, **how)


# The shipped executor.

def test_a_run(world, record_property):
    env = executor.pinned(world)
    # What `cordon --version --verbose` says of executors comes from here (tests/vm/proven.py).
    record_property("executor", f"lxc-exec {executor.RELEASE}")
    done, report = world.report("/bin/sh", "-c", "cat file.txt; echo made > new; cat; exit 3",
                                options=strict(world), env=env, input="typed\n")
    done.expect(3)
    assert done.out == "project file\ntyped\n" and (world.project / "new").read_text() == "made\n"
    held = report["enforcement"]
    assert held["backend"] == "mxc" and held["network"] == "none" and held["missing"] == []
    for layer in ("namespaces", "pivot_root", "bind_mounts", "landlock", "seccomp", "cap_drop",
                  "no_new_privs"):
        assert held[layer] is True, held


def test_the_arguments_and_the_environment_are_on_no_command_line(world):
    env = executor.pinned(world)
    marker = f"marker-{os.getpid()}-{world.path.name}"
    process = world.start([world.cordon, "run", *strict(world, "--env", f"SAID={marker}-env"), "--",
                           "/bin/sh", "-c", f"echo {marker}; echo $SAID; read end"], env=env,
                          stdin=-1)
    try:
        assert process.stdout.readline().decode().strip() == marker
        assert process.stdout.readline().decode().strip() == f"{marker}-env"
        seen = 0
        for pid in harness.descendants(process.pid):
            words = open(f"/proc/{pid}/cmdline", "rb").read().decode(errors="replace")
            # The command's own, and what the person typed, of course.
            if words.startswith("/bin/sh\0-c\0echo") or words.startswith(str(world.cordon)):
                continue
            seen += 1
            assert marker not in words and '"version"' not in words, words
        assert seen > 1
    finally:
        process.communicate(b"\n", timeout=20)
    assert process.returncode == 0


def test_the_usual_policy(world):
    env = executor.pinned(world)
    script = ("echo a > made; echo b > /tmp/b; echo c > $HOME/c; cat made /tmp/b $HOME/c; id -un;"
              "touch /x 2>/dev/null && echo wide; head -c 3000000 /dev/zero > /tmp/big || echo full")
    done = world.run("/bin/sh", "-c", script, options=["--backend", "mxc", "--scratch", "2M"], env=env)
    assert done.expect(0).out.split() == ["a", "b", "c", "user", "full"], done.account()
    assert (world.project / "made").exists() and not (world.home / "c").exists()


def test_bytes_pass_as_they_are(world):
    env = executor.pinned(world)
    data = bytes(range(256)) * 64
    script = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()); sys.exit(len(sys.argv))"
    done = world.start([world.cordon, "run", *strict(world), "--", "/usr/bin/python3", "-c", script,
                        b"\xff\xfe", "two words", "$(id)"], env=env, stdin=-1)
    out, _ = done.communicate(data, timeout=30)
    assert out == data and done.returncode == 4


def test_programs_that_are_not_there(world):
    env = executor.pinned(world)
    world.run("nosuch", options=strict(world), env=env).expect(127)
    world.run(world.project / "file.txt", options=strict(world), env=env).expect(126)
    world.run("/bin/sh", "-c", "kill -TERM $$", options=strict(world), env=env).expect(143)


def test_the_network(world):
    env = executor.pinned(world)
    interfaces = "import os; print(sorted(i[1] for i in __import__('socket').if_nameindex()))"
    count = lambda *more: world.run("/usr/bin/python3", "-c", interfaces,
                                    options=strict(world, *more), env=env).expect(0).out
    assert count() == "['lo']\n"
    assert count("--net", "open") == world.bare("/usr/bin/python3", "-c", interfaces).out != "['lo']\n"


def test_what_is_denied_and_held(world):
    env = executor.pinned(world)
    world.write(world.project / "secret.pem", "SECRET\n")
    world.write(world.project / ".vscode/tasks.json", "{}\n")
    world.write(world.project / "hidden/key", "SECRET\n")
    world.make_directory(world.outside / "private")
    world.write(world.outside / "private/key", "SECRET\n")
    options = strict(world, "--deny", "*.pem", "--deny", "hidden", "--read", world.outside,
                     "--deny", world.outside / "private")
    answers = world.inside([("read", world.project / "secret.pem"),
                            ("write", world.project / ".vscode/tasks.json"),
                            ("read", world.project / ".vscode/tasks.json"),
                            ("read", world.outside / "secret"),
                            ("read", world.outside / "private/key"),
                            ("write", world.outside / "private/new"),
                            ("write", world.outside / "new"),
                            ("read", world.project / "hidden/key"),
                            ("write", world.project / "hidden/new")], options=options, env=env)
    assert [a.ok for a in answers] == [False, False, True, True, *[False] * 5], answers
    assert answers[0].errno == "EACCES", answers
    assert (world.project / ".vscode/tasks.json").read_text() == "{}\n"


def test_git_is_held(world):
    env = executor.pinned(world)
    world.execute(["git", "init", "-q", world.project]).expect(0)
    config = (world.project / ".git/config").read_bytes()
    script = ("git -c safe.directory='*' status >/dev/null || exit 9; echo x > .git/hooks/pre-commit;"
              "git -c safe.directory='*' config core.pager evil; mv .git gone; true")
    world.run("/bin/sh", "-c", script, options=strict(world), env=env).expect(0)
    assert (world.project / ".git/config").read_bytes() == config
    assert not (world.project / ".git/hooks/pre-commit").exists()


@pytest.mark.parametrize("script", [
    "sleep 300", "trap '' TERM HUP INT; while :; do sleep 300; done",
    "for i in 1 2 3 4 5; do setsid sh -c 'setsid sleep 300 &' & done; sleep 300"])
def test_a_timeout_leaves_nothing(world, script):
    env = executor.pinned(world)
    marker = f"{300 + os.getpid() % 50000}.{world.path.stat().st_ino}"
    done = world.run("/bin/sh", "-c", script.replace("300", marker),
                     options=strict(world, "--timeout", "700ms"), env=env).expect(124)
    assert done.seconds < 30
    assert harness.wait_until(lambda: not harness.processes_with(marker), harness.SOON)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_the_end_of_cordon_is_the_end_of_all(world, ending):
    env = executor.pinned(world)
    marker = f"{300 + os.getpid() % 50000}.{world.path.stat().st_ino}"
    process = world.start([world.cordon, "run", *strict(world), "--", "/bin/sh", "-c",
                           f"echo up; sleep {marker}"], env=env)
    assert process.stdout.readline() == b"up\n"
    assert harness.processes_with(marker)
    process.send_signal(ending)
    process.communicate(timeout=60)
    assert harness.wait_until(lambda: not harness.processes_with(marker), harness.SOON)


def test_a_signal_gives_the_command_its_second(world):
    env = executor.pinned(world)
    process = world.start([world.cordon, "run", *strict(world), "--", "/bin/sh", "-c",
                           "trap 'echo heard; exit 5' TERM; echo up; while :; do sleep 0.05; done"],
                          env=env)
    assert process.stdout.readline() == b"up\n"
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert out == b"heard\n" and process.returncode == 128 + signal.SIGTERM


def test_a_terminal(world):
    env = executor.pinned(world)
    script = "tty -s && stty size; trap 'echo inter''rupted; exit 4' INT; read line; echo got-$line; read x"
    with_terminal = Terminal(world, [world.cordon, "run", *strict(world), "--", "/bin/sh", "-c", script],
                             rows=31, columns=97, env=env)
    try:
        with_terminal.expect(b"31 97")
        with_terminal.type(b"typed\r")
        with_terminal.expect(b"got-typed")
        # The suspend key stops nothing, least of all for good.
        with_terminal.type(b"\x1a")
        with_terminal.type(b"\x03")
        with_terminal.expect(b"interrupted")
        assert with_terminal.wait() == 4, with_terminal.seen
    finally:
        with_terminal.close()


def test_limits(world):
    env = executor.pinned(world)
    grow = "x = bytearray(400 << 20); import time; time.sleep(60)"
    world.run("/usr/bin/python3", "-c", grow, options=strict(world, "--memory", "64M"),
              env=env).expect(137)
    segment = ("import ctypes; c = ctypes.CDLL(None); i = c.shmget(0, 200 << 20, 0o1600);"
               "c.shmat.restype = ctypes.c_void_p; p = c.shmat(i, None, 0);"
               "ctypes.memset(p, 1, 200 << 20); import time; time.sleep(60)")
    world.run("/usr/bin/python3", "-c", segment, options=strict(world, "--memory", "64M"),
              env=env).expect(137)
    fork = "for i in $(seq 100); do sleep 60 & done"
    done = world.run("/bin/sh", "-c", fork, options=strict(world, "--pids", "20"), env=env)
    assert "fork" in done.err, done.account()


def test_what_the_executor_cannot_hold_is_refused_by_name(world):
    env = executor.pinned(world)
    for options, word in [
            (("--allow", "example.com"), "network mode allow"),
            (("--policy", "agent"), "network mode allow"),
    ]:
        refused(run_json(world, "true", options=["--backend", "mxc", *options], env=env),
                "unsupported", word)
    name = world.make_directory(world.project / 'quo"te')
    refused(run_json(world, "true", options=strict(world, "--read", name), env=env), "unsupported",
            "path")


@pytest.mark.only("user")
def test_what_the_caller_cannot_read_is_refused_by_name(world):
    env = executor.pinned(world)
    closed = world.make_directory(world.outside / "closed")
    closed.chmod(0o311)
    options = strict(world, "--read", closed)
    world.run("true", options=["--backend", "native", *options[2:]]).expect(0)
    refused(run_json(world, "true", options=options, env=env), "unsupported", "may not read",
            str(closed))
    closed.chmod(0o755)
    world.run("true", options=options, env=env).expect(0)


def test_a_dry_run_shows_the_document_and_starts_nothing(world):
    env = executor.pinned(world)
    text = world.cordon_verb("run", *strict(world), "--dry-run", "--", "true", env=env).expect(0).out
    line = next(line for line in text.splitlines() if "run executor" in line)
    document = json.loads(line[line.index(" with ") + 6:])
    assert document["filesystem"]["readwritePaths"] == [str(world.project)]
    assert document["filesystem"]["deniedPaths"] == []
    assert document["network"]["egress"] == {"default": "deny"}
    assert document["process"]["commandLine"].endswith(INSIDE)
    assert executor.digest(executor.shipped() / sdk.ARCH / "lxc-exec") in line


# Pins.

def test_one_flipped_byte(world):
    path = executor.shipped() / sdk.ARCH / "lxc-exec"
    bytes_ = bytearray(path.read_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    env = executor.own(world, bytes(bytes_))
    pinned = executor.digest(path)
    executor.pin(world, pinned)
    error = refused(run_json(world, "true", options=strict(world), env=env), "untrusted", "SHA256",
                    pinned, executor.digest(world.path / "bin/lxc-exec"))
    assert error["code"] == "E_UNTRUSTED"
    # The control: the same place with the pinned bytes.
    world.write(world.path / "bin/lxc-exec", path.read_bytes(), 0o755)
    world.run("true", options=strict(world), env=env).expect(0)


def test_no_pin_and_zeros(world):
    env = executor.pinned(world)
    pins = world.home / ".config/cordon/pins.toml"
    executor.pin(world, "0" * 64)
    refused(run_json(world, "true", options=strict(world), env=env), "unavailable", "zeros")
    pins.write_text("version = 1\n")
    refused(run_json(world, "true", options=strict(world), env=env), "unavailable",
            "no executor is pinned for " + executor.KEY)
    pins.unlink()
    refused(run_json(world, "true", options=strict(world), env=env), "unavailable",
            "no executor is pinned")


@pytest.mark.parametrize("text, word", [
    ("version = 2\n", "version = 1"),
    ("version = 1\n[executor]\n", "executors"),
    ("version = 1\n[executors.linux-arm]\n", "linux-arm64"),
    (f'version = 1\n[executors.{executor.KEY}]\nversion = "0.8.0"\n', "sha256"),
    (f'version = 1\n[executors.{executor.KEY}]\nsha256 = "{"a" * 64}"\n', "version"),
    (f'version = 1\n[executors.{executor.KEY}]\nsha256 = "{"g" * 64}"\nversion = "0.8.0"\n', "64 digits"),
    (f'version = 1\n[executors.{executor.KEY}]\nsha = "x"\n', '"sha"')])
def test_pins_that_cannot_be_read(world, text, word):
    env = executor.pinned(world)
    (world.home / ".config/cordon/pins.toml").write_text(text)
    done = run_json(world, "true", options=strict(world), env=env).expect(125)
    error = json.loads(done.out)["error"]
    assert error["kind"] == "policy" and word in error["message"] + (error["hint"] or "")
    assert "pins.toml:" in error["message"]


def test_pins_and_executors_that_others_could_change(world):
    env = executor.pinned(world)
    pins = world.home / ".config/cordon/pins.toml"
    pins.chmod(0o666)
    refused(run_json(world, "true", options=strict(world), env=env), "untrusted", "written by others")
    pins.chmod(0o600)
    world.run("true", options=strict(world), env=env).expect(0)
    shutil.copytree(executor.shipped(), world.path / "copy")
    for path in (world.path / "copy", world.path / "copy" / sdk.ARCH,
                 world.path / "copy" / sdk.ARCH / "lxc-exec"):
        world.own(path)
    copied = {"MXC_BIN_DIR": str(world.path / "copy")}
    world.run("true", options=strict(world), env=copied).expect(0)
    (world.path / "copy").chmod(0o777)
    refused(run_json(world, "true", options=strict(world), env=copied), "untrusted",
            "written by others")


def test_other_releases_are_refused(world):
    for release in ("0.6.0", "0.7.0"):
        env = executor.own(world, sdk.shipped(release).read_bytes())
        executor.pin(world, executor.digest(world.path / "bin/lxc-exec"), version=release)
        refused(run_json(world, "true", options=strict(world), env=env), "unsupported", release)


def test_where_executors_are_found(world):
    path = executor.shipped() / sdk.ARCH / "lxc-exec"
    env = executor.own(world, path.read_bytes())
    assert not (world.path / "bin" / sdk.ARCH).exists()
    world.run("true", options=strict(world), env=env).expect(0)
    prefix = world.path / "prefix"
    world.write(prefix / f"lib/node_modules/@microsoft/mxc-sdk/bin/{sdk.ARCH}/lxc-exec",
                path.read_bytes(), 0o755)
    world.write(prefix / "bin/npm", "#!/bin/sh\ntouch started\nsleep 60\n", 0o755)
    done = world.run("true", options=strict(world), env={"PATH": f"{prefix}/bin:{harness.BASE_PATH}"})
    # It was found without asking the package manager, which may be anything.
    done.expect(0)
    assert done.seconds < 30 and not (world.project / "started").exists()
    error = refused(run_json(world, "true", options=strict(world), env={}), "unavailable",
                    "no MXC executor for " + executor.KEY)
    assert "npm install" in error["hint"] and "MXC_BIN_DIR" in error["hint"]


def test_an_executor_in_a_writable_grant_is_refused(world):
    env = executor.pinned(world)
    world.write(world.project / "bin/lxc-exec",
                (executor.shipped() / sdk.ARCH / "lxc-exec").read_bytes(), 0o755)
    refused(run_json(world, "true", options=strict(world),
                     env={"MXC_BIN_DIR": str(world.project / "bin")}), "untrusted", "writable grant")
    world.run("true", options=strict(world), env=env).expect(0)


# Executors that do not do what they are told. Each is pinned: an operator was deceived.

def test_an_executor_without_a_sandbox_is_found_out(world):
    env = executor.own(world, f"#!/bin/sh\nexec {INSIDE}\n")
    refused(run_json(world, "touch", "ran", options=strict(world), env=env), "setup",
            "no root of its own")
    assert not (world.project / "ran").exists()
    # A mount namespace alone, with the same root in it.
    env = executor.own(world, f"#!/bin/sh\nexec bwrap --bind / / --dev /dev -- {INSIDE}\n")
    refused(run_json(world, "touch", "ran", options=strict(world), env=env), "setup",
            "no root of its own")
    assert not (world.project / "ran").exists()


def test_doctor_tells_what_there_is_to_pin(world):
    env = executor.pinned(world)
    path = executor.shipped() / sdk.ARCH / "lxc-exec"
    digest = executor.digest(path)

    def check():
        answer = world.cordon_verb("doctor", "--json", env=env, timeout=90).json
        return next(c for c in answer["checks"] if c["name"] == "mxc-executor")

    executor.pin(world, digest, commit="7dac1a95", origin="npm mxc-sdk")
    found = check()
    assert found["status"] == "pass"
    for part in (str(path), digest, "version 0.8.0", "commit 7dac1a95", "origin npm mxc-sdk"):
        assert part in found["message"], found
    executor.pin(world, "0" * 64)
    found = check()
    assert found["status"] == "warn" and f"SHA256 {digest}: not pinned" in found["message"], found
    executor.pin(world, "1" * 64)
    found = check()
    assert found["status"] == "warn" and "expected " + "1" * 64 in found["message"], found


# What a bubblewrap of the executor's says, with one part of it another one.
FLAGS = {
    "network": ("--unshare-net", ""), "ipc": ("--unshare-ipc", ""), "pid": ("--unshare-pid", ""),
    "names": ("--unshare-uts", ""), "another system": ("--ro-bind /usr /usr", "--ro-bind /etc /usr"),
    "no grant": ("--bind PROJECT PROJECT", "--tmpfs PROJECT"),
    "unbounded space": ("--bind /tmp /tmp", "--tmpfs /tmp"),
}


def stub(world, left_out=None):
    line = ("exec bwrap --unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-net "
            "--ro-bind /usr /usr --ro-bind /usr/bin /bin --ro-bind /usr/sbin /sbin "
            "--ro-bind /usr/lib /lib --ro-bind /etc /etc --dev /dev --proc /proc --bind /tmp /tmp "
            "--bind /var/tmp /var/tmp --bind /dev/shm /dev/shm --bind PROJECT PROJECT -- " + INSIDE)
    if left_out:
        part, instead = FLAGS[left_out]
        assert part in line
        line = line.replace(part, instead)
    return f"#!/bin/sh\n{line}\n".replace("PROJECT", str(world.project))


def touched_by_executor(world, left_out):
    env = executor.own(world, stub(world, left_out))
    return run_json(world, "touch", "ran", options=strict(world, "--scratch", "1M"), env=env)


def test_an_executor_that_leaves_nothing_out_runs(world):
    touched_by_executor(world, None).expect(0)
    assert (world.project / "ran").exists()


@pytest.mark.parametrize("left_out", FLAGS)
def test_what_an_executor_leaves_out_is_measured(world, left_out):
    done = touched_by_executor(world, left_out)
    error = refused(done, "setup")
    assert "not in force" in error["message"], error
    assert not (world.project / "ran").exists()


def test_an_executor_cannot_undo_what_the_view_holds(world):
    """It may say "writable" and "visible" as it likes."""
    world.write(world.project / "secret.pem", "SECRET\n")
    lies = stub(world).replace("--ro-bind /usr /usr", "--bind /usr /usr")
    env = executor.own(world, lies.replace("--ro-bind /etc /etc", "--bind /etc /etc"))
    options = strict(world, "--scratch", "1M", "--deny", "*.pem")
    answers = world.inside([("read", world.project / "secret.pem"), ("write", "/usr/cordon-new"),
                            ("read", world.project / "file.txt")], options=options, env=env)
    assert [a.ok for a in answers] == [False, False, True], answers


def test_the_executor_itself_sees_no_more_than_the_grants(world):
    world.plant({".ssh/id_ed25519": "SECRET\n"})
    script = ("#!/bin/sh\nexec 2>&1 >PROJECT/stolen\ncat HOME/.ssh/id_ed25519 OUTSIDE/secret\n"
              "ls HOME OUTSIDE\ncat /proc/net/dev\ntouch OUTSIDE/new PROJECT/mark /usr/new\nexit 3\n")
    for name, place in (("PROJECT", world.project), ("HOME", world.home), ("OUTSIDE", world.outside)):
        script = script.replace(name, str(place))
    env = executor.own(world, script)
    refused(run_json(world, "true", options=strict(world), env=env), "setup", "with status 3")
    stolen = (world.project / "stolen").read_text()
    # It ran, and could write where the policy grants that.
    assert (world.project / "mark").exists() and "lo:" in stolen
    assert "SECRET" not in stolen and "eth" not in stolen, stolen
    assert not (world.outside / "new").exists()


def test_an_older_executor_under_a_false_version_is_found_out(world):
    for release in ("0.6.0", "0.7.0"):
        env = executor.own(world, sdk.shipped(release).read_bytes())
        refused(run_json(world, "touch", "ran", options=strict(world), env=env), "setup")
        assert not (world.project / "ran").exists()


def test_how_an_executor_is_called(world):
    record = world.project / "called"
    env = executor.own(world, f"#!/bin/sh\necho $0 $* > {record}\ncat $2 >> {record}\necho >> {record}\n"
                              f"env >> {record}\nls -l /proc/self/ns/pid >> {record}\nexit 3\n")
    world.run("true", options=strict(world), env={**env, "SECRET": "of the caller"}).expect(125)
    called, document, *rest = record.read_text().splitlines()
    assert called.endswith(" --config /proc/self/fd/40"), called
    assert json.loads(document)["version"] == "0.8.0-alpha"
    assert not any("SECRET" in line for line in rest), rest
    assert os.readlink("/proc/self/ns/pid") not in rest[-1]


def test_an_executor_that_ends_early_or_never_starts(world):
    env = executor.own(world, "#!/bin/sh\necho words of its own >&2\nexit 3\n")
    done = run_json(world, "true", options=strict(world), env=env)
    refused(done, "setup", "with status 3")
    said = world.run("true", options=strict(world), env=env).expect(125).err
    assert "words of its own\n" in said and "with status 3" in said
    env = executor.own(world, "not a program\n")
    refused(run_json(world, "true", options=strict(world), env=env), "setup", "cannot be executed")


def test_an_executor_that_ignores_its_timeout_is_ended(world):
    shell = stub(world).replace("exec bwrap", "trap '' TERM INT HUP; bwrap") + "while :; do sleep 1; done\n"
    env = executor.own(world, shell)
    marker = f"{300 + os.getpid() % 50000}.{world.path.stat().st_ino}"
    done = world.run("/bin/sh", "-c", f"setsid sleep {marker} & sleep {marker}",
                     options=strict(world, "--scratch", "1M", "--timeout", "1s"), env=env).expect(124)
    assert done.seconds < 30
    assert harness.wait_until(lambda: not harness.processes_with(marker), harness.SOON)


def test_what_runs_is_what_was_hashed(world):
    """The file is replaced the moment it was read; a second executor would leave a mark."""
    honest = (executor.shipped() / sdk.ARCH / "lxc-exec").read_bytes()
    env = executor.own(world, honest)
    path = world.path / "bin/lxc-exec"
    # An executor that is changed in place while it runs goes on as it was.
    process = world.start([world.cordon, "run", *strict(world), "--", "/bin/sh", "-c",
                           "echo up; read x; echo down"], env=env, stdin=-1)
    assert process.stdout.readline() == b"up\n"
    targets = [os.readlink(f"/proc/{pid}/exe") for pid in harness.descendants(process.pid)
               if os.path.exists(f"/proc/{pid}/exe")]
    assert any("memfd:executor" in target for target in targets), targets
    assert not any(str(path) in target for target in targets), targets
    with open(path, "r+b") as file:
        file.write(b"#!/bin/sh\ntouch " + str(world.project / "evil").encode() + b"\n")
    out, _ = process.communicate(b"\n", timeout=20)
    assert out == b"down\n" and process.returncode == 0
    refused(run_json(world, "true", options=strict(world), env=env), "untrusted", "SHA256")
    assert not (world.project / "evil").exists()


def test_nothing_is_left_behind(world):
    env = executor.pinned(world)
    before = harness.tree_digest(world.project)
    world.run("true", options=strict(world), env=env).expect(0)
    assert harness.tree_digest(world.project) == before
    assert not list((world.home / ".local/state/cordon/runs").iterdir())
    # Another test process may be at it.
    assert harness.wait_until(lambda: not harness.processes_with("executor-inside"))
