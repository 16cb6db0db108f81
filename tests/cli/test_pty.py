"""`cordon run` at a terminal behaves like the program itself."""

import contextlib
import os
import re
import signal
import termios
from pathlib import Path

import pytest

from support.harness import SOON, processes_with, wait_until
from support.pty_session import Terminal

pytestmark = pytest.mark.once


@pytest.fixture
def at_terminal(world):
    made = []

    def start(*command, options=(), **how):
        terminal = Terminal(world, [world.cordon, "run", *options, "--", *command], **how)
        made.append(terminal)
        return terminal
    yield start
    for terminal in made:
        terminal.close()


def test_streams_are_a_terminal(world, at_terminal):
    terminal = at_terminal(world.probe, "isatty")
    assert terminal.wait() == 0
    assert b'"detail":"111"' in terminal.seen, terminal.seen


def test_window_size_at_start_and_later(world, at_terminal):
    terminal = at_terminal("/bin/sh", "-c", "stty size; trap 'stty size' WINCH; echo READY;"
                           "while [ ! -e seen ]; do sleep 0.1; done")
    terminal.expect(b"33 99")
    terminal.expect(b"READY")
    terminal.resize(44, 111)
    os.kill(terminal.pid, signal.SIGWINCH)
    terminal.expect(b"44 111")
    world.write(world.project / "seen", "")
    assert terminal.wait() == 0


def test_window_size_is_there_from_the_first_moment(world, at_terminal):
    for _ in range(10):
        terminal = at_terminal("stty", "size")
        assert terminal.wait() == 0
        assert b"33 99" in terminal.seen, terminal.seen


def test_typing_reaches_the_command(world, at_terminal):
    terminal = at_terminal("/bin/sh", "-c", "read line; echo got:$line")
    terminal.type(b"hello\r")
    terminal.expect(b"got:hello")
    assert terminal.wait() == 0


def test_end_of_input(world, at_terminal):
    terminal = at_terminal("cat")
    # Typed before the relay is raw, the kernel would have kept the mark as a zero byte.
    assert wait_until(lambda: terminal.modes() != terminal.before)
    terminal.type(b"x\r")
    terminal.expect(b"x\r\nx\r\n")
    terminal.type(b"\x04")
    assert terminal.wait() == 0


@pytest.mark.parametrize("end", ["\n", ""], ids=["whole line", "part of a line"])
def test_the_end_of_a_file_is_told_to_a_terminal_that_was_forced(world, end):
    text = world.write(world.trusted / "text", "one\ntwo" + end)
    with open(text) as file:
        done = world.run("cat", options=["--tty"], stdin=file, timeout=40).expect(0)
    # Once by the terminal's echo, and once by the command.
    assert done.out.count("two") == 2, done.account()
    assert world.run("cat", options=["--tty"]).expect(0).out == ""  # of /dev/null nothing comes


def test_interrupt_goes_through_the_pty(world, at_terminal):
    terminal = at_terminal("/bin/sh", "-c", "trap 'echo caught; exit 9' INT; echo READY;"
                           "while :; do sleep 0.1; done")
    terminal.expect(b"READY")
    terminal.type(b"\x03")
    terminal.expect(b"caught")
    assert terminal.wait() == 9


def test_interrupt_ends_a_plain_command(world, at_terminal):
    time = f"300.{os.getpid()}"
    terminal = at_terminal("sleep", time)
    assert wait_until(lambda: terminal.modes() != terminal.before)
    assert wait_until(lambda: called(f"sleep\0{time}"))
    terminal.type(b"\x03")
    assert terminal.wait() == 128 + signal.SIGINT


def test_modes_are_restored_after_a_plain_end(world, at_terminal):
    terminal = at_terminal(world.probe, "raw-mode")
    assert terminal.wait() == 0
    assert terminal.modes() == terminal.before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_modes_are_restored_after_a_signal(world, at_terminal, number):
    terminal = at_terminal("/bin/sh", "-c", "echo READY; sleep 300")
    terminal.expect(b"READY")
    os.kill(terminal.pid, number)
    assert terminal.wait() == 128 + number
    assert terminal.modes() == terminal.before


def test_modes_are_restored_after_a_timeout(world, at_terminal):
    terminal = at_terminal("sleep", "300", options=["--timeout", "500ms"])
    assert terminal.wait() == 124
    assert terminal.modes() == terminal.before


def test_hang_up_leaves_nothing(world, at_terminal):
    mark = f"pty-{os.getpid()}-{world.path.name}"
    terminal = at_terminal("/bin/sh", "-c", f"echo READY; '{world.probe}' linger {mark} 300")
    terminal.expect(b"READY")
    assert wait_until(lambda: processes_with(mark))
    os.kill(terminal.pid, signal.SIGKILL)
    assert wait_until(lambda: not processes_with(mark), SOON), processes_with(mark)


def test_command_has_no_way_to_the_callers_terminal(world, at_terminal):
    taken = os.openpty()  # so that the caller's is not number 0, as the sandbox's own is
    try:
        terminal = at_terminal(world.probe, "fds")
        assert terminal.wait() == 0
        ours = os.ttyname(terminal.slave).encode()
        assert ours != b"/dev/pts/0" and ours not in terminal.seen, terminal.seen
        assert terminal.seen.count(b"/dev/pts/0") == 3, terminal.seen
    finally:
        for fd in taken:
            os.close(fd)


def test_forced_terminal_without_one(world):
    done = world.run(world.probe, "isatty", options=["--tty"])
    done.expect(0)
    assert '"detail":"111"' in done.out, done.account()


def test_redirect_makes_no_terminal(world):
    done = world.run(world.probe, "isatty")
    assert '"detail":"000"' in done.out, done.account()


def test_job_control_shell(world, at_terminal):
    terminal = at_terminal("bash", "--norc", "-i")
    terminal.type(b"sleep 300 &\r")
    terminal.type(b"jobs; echo DO''NE\r")
    terminal.expect(b"DONE")
    assert b"Running" in terminal.seen, terminal.seen
    assert b"no job control" not in terminal.seen, terminal.seen
    terminal.type(b"exit\r")
    terminal.wait()


# Job control: a shell at the terminal, as a person has one.


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def is_raw(terminal):
    return not terminal.modes()[3] & termios.ISIG


@pytest.fixture
def shell(world):
    terminal = Terminal(world, ["bash", "--norc", "-i"])

    def type_line(text):
        terminal.type(text.replace("cordon run", f"{world.cordon} run").encode() + b"\r")
    terminal.line = type_line
    yield terminal
    terminal.close()


def called(line):
    """Processes whose command line begins so: what was started, and not those that were told to start it."""
    found = []
    for pid in processes_with(line):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(line.encode()):
                found.append(pid)
    return found


def status_of_last(shell):
    """Asked for once the terminal is the shell's again: until then keys are the command's."""
    assert wait_until(lambda: not is_raw(shell))
    shell.line("echo status:$?:")
    assert wait_until(lambda: shell.read_for(0.05) or re.search(rb"status:(\d+):", shell.seen))
    return int(re.search(rb"status:(\d+):", shell.seen).group(1))


def test_suspend_key_stops_the_command_and_cordon(world, shell):
    mark = f"stop-{os.getpid()}-{world.path.name}"
    shell.line(f"cordon run -- bash -c 'exec -a {mark} sleep 300'")
    assert wait_until(lambda: is_raw(shell) and called(mark))
    [inside] = called(mark)
    shell.type(b"\x1a")
    shell.expect(b"Stopped")
    assert wait_until(lambda: state_of(inside) == "T"), state_of(inside)
    assert not is_raw(shell)
    shell.line("fg")
    assert wait_until(lambda: is_raw(shell) and state_of(inside) != "T"), state_of(inside)
    shell.type(b"\x03")
    assert status_of_last(shell) == 130
    assert not called(mark)


def test_a_command_that_stops_itself_gives_the_terminal_back(world, shell):
    shell.line("cordon run -- sh -c 'kill -STOP $$; echo AF''TER'")
    shell.expect(b"Stopped")
    shell.line("fg")
    shell.expect(b"AFTER")
    assert status_of_last(shell) == 0


def test_a_job_in_the_background_is_not_stopped(world, shell):
    shell.line("cordon run -- sh -c 'sleep 0.5; echo FIN''ISHED' &")
    # Typed while it runs: the shell's, not the job's.
    shell.line("echo TY''PED")
    shell.expect(b"TYPED")
    shell.expect(b"FINISHED")
    shell.line("wait")
    assert status_of_last(shell) == 0
    assert b"Stopped" not in shell.seen, shell.seen


def test_a_job_that_comes_to_the_foreground_takes_the_terminal(world, shell):
    shell.line("cordon run -- cat &")
    shell.line("fg")
    assert wait_until(lambda: is_raw(shell))
    shell.type(b"hel")
    shell.type(b"lo\r")
    shell.expect(b"hello\r\nhello\r\n")
    shell.type(b"\x04")
    assert status_of_last(shell) == 0
    assert not is_raw(shell)


def test_a_shell_inside_has_job_control_of_its_own(world, shell):
    shell.line("PS1= cordon run -- bash --norc -i")
    assert wait_until(lambda: is_raw(shell))
    time = f"300.{os.getpid()}"
    shell.line(f"echo IN''SIDE; sleep {time}")
    shell.expect(b"INSIDE")
    # The key is the shell's own until it has started that.
    assert wait_until(lambda: called(f"sleep\0{time}"))
    shell.type(b"\x1a")
    shell.expect(b"Stopped")
    assert is_raw(shell)
    shell.line("kill %1; echo LEA''VING; exit; exit")
    shell.expect(b"LEAVING")
    assert wait_until(lambda: not is_raw(shell))


@pytest.mark.parametrize("command", [("sleep", "TIME"), ("sh", "-c", "kill -STOP $$; sleep TIME")])
def test_where_nobody_could_continue_it_nothing_stays_stopped(world, at_terminal, command):
    time = f"300.{os.getpid()}"
    terminal = at_terminal(*(word.replace("TIME", time) for word in command))
    assert wait_until(lambda: terminal.modes() != terminal.before)
    assert wait_until(lambda: called(f"sleep\0{time}"))
    terminal.type(b"\x1a")
    terminal.read_for(0.3)
    terminal.type(b"\x03")
    assert terminal.wait() == 128 + signal.SIGINT
