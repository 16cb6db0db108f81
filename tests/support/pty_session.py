"""A person at a terminal: a pty with a session of its own, so that job control behaves."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

from support.harness import World


def may_type_into_terminals() -> bool:
    """Whether the kernel lets everybody do it; one that cannot be told (before 6.2) does."""
    try:
        with open("/proc/sys/dev/tty/legacy_tiocsti") as setting:
            return setting.read().strip() == "1"
    except FileNotFoundError:
        return True


class Terminal:
    def __init__(self, world: World, argv: list, *, rows: int = 33, columns: int = 99,
                 env: dict[str, str] | None = None, cwd=None) -> None:
        self.seen = b""
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        command = world.command(argv)
        environment = world.environment({"TERM": "xterm", **(env or {})})
        directory = cwd or world.project
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
                for fd in (0, 1, 2):
                    os.dup2(self.slave, fd)
                os.closerange(3, 256)
                os.chdir(directory)
                os.execvpe(command[0], command, environment)
            finally:
                os._exit(99)
        self.status: int | None = None

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, data: bytes) -> None:
        os.write(self.master, data)

    def modes(self) -> list:
        return termios.tcgetattr(self.slave)

    def read_for(self, seconds: float) -> None:
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            try:
                self.seen += os.read(self.master, 65536)
            except OSError:
                time.sleep(min(seconds, 0.01))

    def read_rest(self) -> None:
        """What was written before now. The kernel hands it over piece by piece, and later than the writer's end:
        it is there when a mark that is written behind it has come."""
        end = time.monotonic() + 30
        mark = f"<{os.getpid()} {time.monotonic_ns()}>".encode()
        written = False
        while mark not in self.seen and time.monotonic() < end:
            if not written and select.select([], [self.slave], [], 0)[1]:
                os.write(self.slave, mark)
                written = True
            self.read_for(0.05)
        self.seen = self.seen.replace(mark, b"")

    def expect(self, wanted: bytes, seconds: float = 40) -> None:
        end = time.monotonic() + seconds
        while wanted not in self.seen and time.monotonic() < end:
            self.read_for(0.05)
        assert wanted in self.seen, f"{wanted!r} never came; seen: {self.seen!r}"

    def wait(self, seconds: float = 40) -> int:
        """The exit status, 128+n for a signal."""
        end = time.monotonic() + seconds
        while self.status is None and time.monotonic() < end:
            self.read_for(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        assert self.status is not None, f"still running; seen: {self.seen!r}"
        self.read_rest()
        return self.status if self.status >= 0 else 128 - self.status

    def close(self) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.master)
        os.close(self.slave)
