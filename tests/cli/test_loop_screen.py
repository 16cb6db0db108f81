"""The screen of `cordon loop`, read from a real pseudo-terminal by a terminal emulator."""

import os
import signal

import pyte
import pytest

from support.harness import SOON, processes_with, wait_until
from support.pty_session import Terminal

pytestmark = pytest.mark.once

PLAN = "- [ ] one: Make the first file\n  verify: test -s one\n" \
       "- [ ] two: Make the second file\n  verify: test -s two\n"
AGENT = r'''#!/bin/sh
file=$(sed -n 's/^    test -s //p' | head -n 1)
echo "working on $file"
printf '\033[2J\033]0;owned\007cleared?\n'
while [ ! -e "go-$file" ]; do sleep 0.05; done
echo "$file" > "$file"
'''


class Emulator(pyte.Screen):
    """One that knows what ncurses asks of xterm: repeating a character, and scrolling a part."""

    def draw(self, data):
        super().draw(data)
        self.last = data[-1]

    def repeat(self, count=1):
        self.draw(self.last * (count or 1))

    def scroll_by(self, count, edge, step):
        row = self.cursor.y
        margins = self.margins or pyte.screens.Margins(0, self.lines - 1)
        for _ in range(count or 1):
            self.cursor.y = getattr(margins, edge)
            step()
        self.cursor.y = row

    def scroll_up(self, count=1):
        self.scroll_by(count, "bottom", self.index)

    def scroll_down(self, count=1):
        self.scroll_by(count, "top", self.reverse_index)


class EmulatorStream(pyte.ByteStream):
    csi = {**pyte.ByteStream.csi, "b": "repeat", "S": "scroll_up", "T": "scroll_down"}
    events = pyte.ByteStream.events | {"repeat", "scroll_up", "scroll_down"}


class Painted(Terminal):
    """What stands on the screen after everything that was written."""

    def __init__(self, world, *options, columns=80, rows=24):
        self.fed = 0
        self.screen = Emulator(columns, rows)
        self.stream = EmulatorStream(self.screen)
        super().__init__(world, [world.cordon, "loop", "--net", "none", *options, "--",
                                 world.project / "agent"], rows=rows, columns=columns)

    def resize(self, rows, columns):
        super().resize(rows, columns)
        self.screen.resize(rows, columns)

    def text(self):
        self.read_for(0.02)
        self.stream.feed(self.seen[self.fed:])
        self.fed = len(self.seen)
        return "\n".join(self.screen.display)

    def see(self, word, seconds=40):
        assert wait_until(lambda: word in self.text(), seconds), f"{word!r} never stood in\n{self.text()}"

    def restored(self):
        return self.modes()[:4] == self.before[:4] and b"\x1b[?1049l" in self.seen


@pytest.fixture
def terminal(world):
    made = []
    world.write(world.project / "PLAN.md", PLAN)
    world.write(world.project / "agent", AGENT, 0o755)

    def begin(*options, **how):
        made.append(Painted(world, *options, **how))
        return made[-1]
    yield begin
    for one in made:
        one.close()


def test_a_whole_loop(terminal, world):
    screen = terminal()
    screen.see("working on one")
    # Painted piece by piece, and the agent's lines as they come.
    for word in ("cleared?", "0/2 done", "p pause", " [ ] two"):
        screen.see(word)
    text = screen.text()
    assert "contained by native, network none: namespaces, landlock, seccomp" in text
    assert "0/2 done" in text and text.count("Make the second file") == 1
    assert ">[ ] one: Make the first file" in text and " [ ] two" in text
    assert "p pause" in text and "\\x1b[2J" in text and "-" * 80 in text
    assert all(line.rstrip() in ("agent: working on one", "agent: \\x1b[2J\\x1b]0;owned\\x07cleared?")
               for line in text.split("\n") if line.startswith("agent")), "nothing of older lines is left"
    assert b"owned\x07" not in screen.seen
    world.write(world.project / "go-one", "")
    screen.see("[x] one")
    world.write(world.project / "go-two", "")
    screen.see("loop complete")
    screen.type(b"q")
    assert screen.wait() == 0
    assert screen.restored()


@pytest.mark.parametrize("columns,lines", [(30, 10), (20, 5), (200, 60)])
def test_sizes_and_a_resize(terminal, world, columns, lines):
    screen = terminal(columns=columns, rows=lines)
    screen.see("cordon loop")
    screen.resize(30, 100)
    os.kill(screen.pid, signal.SIGWINCH)
    screen.see(">[ ] one: Make the first file")
    screen.see("p pause  s skip  q quit")


def test_leaving_asks_once(terminal, world):
    screen = terminal()
    screen.see("working on one")
    screen.type(b"qqq")
    screen.see("end the agent and the loop?")
    assert screen.text().count("end the agent") == 1
    screen.type(b"n")
    screen.see("p pause")
    screen.type(b"q")
    screen.see("end the agent")
    screen.type(b"y")
    assert screen.wait() == 130
    assert screen.restored()


def test_skip_and_pause(terminal, world):
    screen = terminal()
    screen.see("working on one")
    screen.type(b"p")
    screen.see("q quit  (pausing after this attempt)")
    screen.type(b"s")
    screen.see("[-] one")
    screen.see("paused")
    screen.type(b"p")
    screen.see("working on two")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_gives_the_terminal_back(terminal, world, number):
    screen = terminal()
    screen.see("working on one")
    os.kill(screen.pid, number)
    assert screen.wait() == 130
    assert screen.restored()
    assert wait_until(lambda: not processes_with(str(world.project / "agent")), SOON)


def test_a_failed_probe_stays_in_view(terminal, world):
    narrow = world.document('version = 1\nextends = "workspace"\n[limits]\nfiles = 1\n')
    screen = terminal("--policy", narrow)
    screen.see("q leave")
    screen.see("loop uncontained")
    screen.type(b"q")
    assert screen.wait() == 125


def test_plain_paints_nothing(terminal, world):
    screen = terminal("--plain")
    screen.see("working on one")
    assert b"\x1b" not in screen.seen
