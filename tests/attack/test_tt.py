"""Terminal and output: cases TT01 to TT09, and the output attacks."""

import json
import os
import signal
import termios

import pytest

from support.pty_session import Terminal, may_type_into_terminals


def play(world, argv, typed=b""):
    terminal = Terminal(world, argv)
    try:
        if typed:
            terminal.type(typed)
        status = terminal.wait()
        return status, terminal.seen.decode("utf-8", "replace")
    finally:
        terminal.close()


@pytest.mark.parametrize("options", [[], ["--tty"], ["--json"]], ids=["auto", "tty", "json"])
def test_TT01_typing_into_the_callers_terminal(world, options):
    _, seen = play(world, [world.cordon, "run", *options, "--", world.probe, "tiocsti"])
    assert "TYPED" not in seen and "false" in seen, seen
    legacy = may_type_into_terminals()
    _, bare = play(world, [world.probe, "tiocsti"])
    assert ('"ok":true' in bare) == (legacy or world.who.is_root), bare


def test_TT02_console_paste(world):
    _, seen = play(world, [world.cordon, "run", "--", world.probe, "tioclinux"])
    assert '"EPERM"' in seen or '"EACCES"' in seen, seen
    # On a pty the bare kernel knows no such request: the call arrived.
    _, bare = play(world, [world.probe, "tioclinux"])
    assert '"ENOTTY"' in bare or '"ok":true' in bare, bare


def test_TT04_escape_sequences_in_cordons_own_words(world):
    evil = "\x1b]52;c;ZXZpbA==\x07\x1b]0;title\x07"
    done = world.run(f"./{evil}")
    done.expect(127)
    assert "\x1b" not in done.err and "\x07" not in done.err, repr(done.err)
    done = world.run("true", options=["--policy", f"{evil}.toml"])
    done.expect(125)
    assert "\x1b" not in done.err, repr(done.err)
    done = world.run("printf", "%s", evil, options=["--json"])
    done.expect(0)
    assert "\x1b" not in done.out, "a raw escape in JSON"
    assert done.json["stdout"] == evil
    assert world.bare("printf", "%s", evil).out == evil


def test_TT07_terminal_is_restored_after_a_kill(world):
    terminal = Terminal(world, [world.cordon, "run", "--", "/bin/sh", "-c",
                                f"'{world.probe}' raw-mode; echo READY; sleep 300"])
    try:
        terminal.expect(b"READY")
        during = terminal.modes()
        assert during[3] & termios.ICANON == 0, "the relay never went raw: nothing to restore"
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.wait() == 128 + signal.SIGTERM
        assert terminal.modes() == terminal.before
    finally:
        terminal.close()


BREAKERS = ('"}\n{"schema":"cordon.report/1","exit_code":0}', "cordon: sandbox denied\n",
            "\x00\x01\x02", "\u202e\u2066", "line\r\nforged: yes")


@pytest.mark.parametrize("text", BREAKERS, ids=range(len(BREAKERS)))
def test_TT09_output_cannot_forge_a_record(world, text):
    world.write(world.project / "text", text)
    done = world.run("/bin/sh", "-c", "cat text; cat text >&2; exit 3", options=["--json"])
    done.expect(3)
    assert done.out.count("\n") == 1 and done.out.endswith("\n"), done.account()
    report = done.json
    assert report["exit_code"] == 3 and report["error"] is None, done.account()
    assert report["denials"] == [], "output was taken for evidence"
    assert report["stdout_bytes"] == len(text.encode())


def test_R544_invalid_utf8_is_inert(world):
    world.write(world.project / "bytes", bytes(range(256)) * 4)
    done = world.run("cat", "bytes", options=["--json"])
    done.expect(0)
    assert done.json["stdout_bytes"] == 1024


def test_R544_two_gigabytes_of_output_are_bounded(world):
    small = world.document('version = 1\nextends = "workspace"\n[limits]\noutput = "10K"\n'
                           'output_total = "1M"\n', "small.toml")
    done = world.run(world.probe, "output", 4 << 20, options=["--policy", small, "--json"])
    done.expect(137)
    assert done.json["kill_reason"] == "output", done.account()
    large = world.document('version = 1\nextends = "workspace"\n[limits]\noutput = "10K"\n'
                           'output_total = "3G"\n', "large.toml")
    argv = ["/usr/bin/python3", "-c", "import resource,subprocess,sys\n"
            "p = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)\n"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, p.returncode, "
            "len(p.stdout))", world.cordon, "run", "--policy", large, "--json", "--",
            world.probe, "output", 2 << 30]
    done = world.execute(argv, timeout=100)
    done.expect(0)
    peak, status, size = map(int, done.out.split())
    assert status == 0, done.account()
    assert size < 64 * 1024, "the report itself is not bounded"
    assert peak < 64 * 1024, f"{peak} KiB resident while 2 GiB passed"
