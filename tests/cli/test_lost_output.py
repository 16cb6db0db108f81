"""Output that cannot be written ends the command, is said, and is never a success."""

import base64
import json
import os
import shlex
import socket
import subprocess
import threading
import time

import pytest

from support import harness

pytestmark = pytest.mark.once

MESSAGE = "cordon: cannot write the command's output: No space left on device"
SETTINGS = json.dumps({"network": {"allowedDomains": [], "deniedDomains": []},
                       "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}})
# What a command of a shell writes for ever.
LONG = "while :; do echo 0123456789012345678901234567890123456789; done"


@pytest.fixture
def full():
    """Takes nothing and keeps nothing."""
    with open("/dev/full", "wb") as file:
        yield file


def test_a_command_that_writes_for_ever_is_ended(world, full):
    done = world.run("/bin/sh", "-c", LONG, stdout=full, timeout=60)
    done.expect(141)
    assert done.err.splitlines() == [MESSAGE], done.account()


@pytest.mark.parametrize("amount", [1, 9000, 60000])
def test_few_bytes_are_not_lost_silently(world, full, amount):
    """They fit into the pipe, so the command has ended before the relay can know."""
    done = world.run("head", "-c", amount, "/dev/zero", stdout=full, timeout=60)
    done.expect(141)
    assert done.err.splitlines() == [MESSAGE], done.account()
    world.run("head", "-c", amount, "/dev/zero", stdout=subprocess.DEVNULL).expect(0)


def test_a_silent_command_loses_nothing(world, full):
    done = world.run("true", stdout=full).expect(0)
    assert done.err == "", done.account()


def test_the_commands_own_failure_is_kept(world, full):
    done = world.run("/bin/sh", "-c", "echo lost; exit 7", stdout=full).expect(7)
    assert done.err.splitlines() == [MESSAGE], done.account()


def test_the_report_has_it(world, full):
    done, report = world.report("echo", "lost", stdout=full)
    done.expect(141)
    assert harness.brief(report["denials"]) == [{"what": "output", "detail": "No space left on device",
                                                 "layer": "relay", "count": 1}], done.report_text
    assert report["exit_code"] is None and report["signal"] == "SIGPIPE", done.report_text


def test_standard_error_is_output_too(world, full):
    done = world.run("/bin/sh", "-c", "echo lost >&2", stderr=full, timeout=60).expect(141)
    assert done.out == ""
    done, report = world.report("/bin/sh", "-c", "echo kept; echo lost >&2", stderr=full)
    assert done.expect(141).out == "kept\n"
    assert [row["what"] for row in report["denials"]] == ["output"], done.report_text


def test_a_terminal_that_is_forced_on_a_full_device_hangs_up(world, full):
    done = world.run("/bin/sh", "-c", LONG, options=["--tty"], stdout=full, timeout=60)
    assert done.status == 129, done.account()
    assert MESSAGE in done.err, done.account()


def test_the_reader_of_a_named_pipe_goes_away(world):
    """As in any pipeline of a shell: the command is ended and nothing is said."""
    fifo = world.path / "fifo"
    os.mkfifo(fifo)
    world.own(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with open(fifo, "wb") as writer:
        process = world.start([world.cordon, "run", "--", "/bin/sh", "-c", LONG], stdout=writer)
    assert harness.wait_until(lambda: len(_some(reader)) > 0)
    os.close(reader)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 141 and err == b"", (process.returncode, err)


def _some(descriptor):
    try:
        return os.read(descriptor, 100)
    except BlockingIOError:
        return b""


def test_a_reader_who_goes_with_a_limit_of_all_output(world):
    """With such a limit a pipe is fed by the relay as well."""
    reading, writing = os.pipe()
    process = world.start([world.cordon, "run", "--policy", "strict", "--", "/bin/sh", "-c", LONG],
                          stdout=writing)
    os.close(writing)
    assert os.read(reading, 10)
    os.close(reading)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 141 and b"cannot write" not in err, (process.returncode, err)


def test_a_reader_who_takes_nothing_is_no_success(world):
    """Five seconds after the last byte was taken the rest is given up, and told."""
    ours, theirs = socket.socketpair()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    process = world.start([world.cordon, "run", "--", "head", "-c", "60000", "/dev/zero"],
                          stdout=theirs)
    theirs.close()
    begin = time.monotonic()
    _, err = process.communicate(timeout=90)
    ours.close()
    assert process.returncode == 141, (process.returncode, err)
    assert err.decode().splitlines() == [
        "cordon: cannot write the command's output: nobody read it in time"]
    assert time.monotonic() - begin < 60


def test_a_slow_reader_gets_everything(world):
    ours, theirs = socket.socketpair()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    process = world.start([world.cordon, "run", "--", "head", "-c", "60000", "/dev/zero"],
                          stdout=theirs)
    theirs.close()
    taken = []

    def take():
        while block := ours.recv(6000):
            taken.append(len(block))
            time.sleep(0.2)

    reader = threading.Thread(target=take)
    reader.start()
    _, err = process.communicate(timeout=60)
    reader.join()
    assert process.returncode == 0 and err == b"" and sum(taken) == 60000, (sum(taken), err)


def test_a_file_that_may_grow_no_further(world):
    """The signal that goes with it would end Cordon itself."""
    line = shlex.join(world.command([world.cordon, "run", "--", "head", "-c", "20000", "/dev/zero"])
                      [len(world.who.prefix):])
    done = world.execute(["/bin/bash", "-c", f"ulimit -f 4; exec {line} > {world.trusted}/out"])
    done.expect(141)
    assert "cannot write the command's output: File too large" in done.err, done.account()


def on_a_small_disk(world, script, **variables):
    """Runs a line of the shell in a namespace of its own where $DISK holds 64 KiB."""
    disk = world.make_directory(world.path / "disk")
    outer = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
    mount = 'mount -t tmpfs -o size=64k,mode=0777 none "$DISK" && exec "$@"'
    environment = world.environment({"DISK": str(disk), **variables})
    done = subprocess.run([*outer, "/bin/sh", "-c", mount, "sh", *world.who.prefix, "/bin/sh", "-c",
                           script], cwd=world.project, env=environment, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=60, text=True)
    return done


def line_of(world, *command, options=()):
    words = world.command([world.cordon, "run", *options, "--", *command])
    return shlex.join(words[len(world.who.prefix):])


def test_a_disk_that_fills_up(world):
    run = line_of(world, "head", "-c", "200000", "/dev/zero")
    done = on_a_small_disk(world, f'{run} > "$DISK/out"; echo $?; wc -c < "$DISK/out"')
    assert done.stderr.splitlines() == [MESSAGE], done
    assert done.stdout.split() == ["141", "65536"], done
    done = on_a_small_disk(world, f'{line_of(world, "echo", "fits")} > "$DISK/out" && cat "$DISK/out"')
    assert (done.returncode, done.stdout, done.stderr) == (0, "fits\n", ""), done


def test_a_report_that_does_not_fit_leaves_the_old_one_whole(world):
    run = line_of(world, "true", options=["--report"])  # FILE follows
    run = run.replace("--report", '--report "$DISK/report.json"')
    fill = 'head -c 100000 /dev/zero > "$DISK/fill" 2>/dev/null; '
    look = 'cat "$DISK/report.json"; ls -A "$DISK" >&2'
    done = on_a_small_disk(world, f'{run} && cp "$DISK/report.json" keep && {fill} {run}; '
                                  f'echo $? > status; {look}')
    assert (world.project / "status").read_text() == "141\n", done
    assert "cordon: cannot write the report file" in done.stderr, done
    assert "No space left on device" in done.stderr, done
    assert done.stdout == (world.project / "keep").read_text() != "", done
    json.loads(done.stdout)
    assert done.stderr.splitlines()[-2:] == ["fill", "report.json"], done  # nothing else is left


def test_other_faces_tell_it_too(world, full):
    settings = world.write(world.trusted / "settings.json", SETTINGS)
    words = ["srt", "--settings", settings, "-c", "echo lost"]
    assert world.cordon_verb(*words).expect(0).out == "lost\n"
    done = world.cordon_verb(*words, stdout=full)
    assert done.expect(141).err.splitlines() == [MESSAGE], done.account()
    request = json.dumps({"version": "0.8.0-alpha", "process": {"commandLine": "echo lost"}})
    words = ["mxc", "--config-base64", base64.b64encode(request.encode()).decode()]
    assert world.cordon_verb(*words).expect(0).out == "lost\n"
    done = world.cordon_verb(*words, stdout=full)
    assert done.expect(141).err.splitlines() == [MESSAGE], done.account()
    # And its answers, where there is no command.
    world.cordon_verb(*words, "--dry-run").expect(0)
    assert world.cordon_verb(*words, "--dry-run", stdout=full).status == 1
