"""What the documents show in fences, and how each is held to be true.

An HTML comment before a fence, which no reader of the rendered page sees, says what becomes of it:

    <!-- run -->                      a terminal: lines that begin with `$ ` are typed, the others are what is printed
    <!-- run: status 0 1 -->          with what each command ends (0 where nothing is said)
    <!-- run: needs redis-server -->  without that program the commands that name it are left out, counted and named
    <!-- run: needs all psql, make --> without one of them nothing of the fence is typed
    <!-- run: needs internet -->      left out, counted and named
    <!-- run: needs time -->          the same in ./test; typed in ./test --all
    <!-- run: small internet -->      typed on the host of the tests' small internet (support/internet.py)
    <!-- run: registry.example:443 is good.example:8000 -->  the same, where the one stands in for the other
    <!-- run: needs all claude; scripted model -->  the agent asks a model on loopback, which has the agent's shell
                                      write greeting.txt (scripted_model.py); on the small internet, where nobody else is
    <!-- run: needs all claude; scripted model of a host -->  the same, and a tool of Cordon's server writes told.txt
    <!-- run: 8123 is a free port --> with another port in its place, that nobody has
    <!-- file: PATH -->               what is in the fence is written there
    <!-- file: PATH; registry.example is good.example:8000 -->  the same, where the one stands in for the other
    <!-- not run: REASON -->          nothing is done with it

What follows `run:` is separated by `;`. A comment <!-- before: COMMAND --> is typed first and must succeed; what it
prints is looked at by nobody. A command goes on in the next line behind a `\\`, or while a `'` is open. A second-level
heading begins a new home with a new project, and its commands are typed into one shell, one after the other.

In what is printed `…` stands for any text on its line, and alone on a line for any number of lines. Ids, times and
dates are equal to each other, and so are runs of blanks. The home is /home/me, the project /home/me/project.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path


FREE_PORT = " is a free port"


@dataclass
class Command:
    typed: str
    printed: list[str] = field(default_factory=list)
    status: int = 0
    compared: bool = True


@dataclass
class Fence:
    page: str
    line: int
    section: str
    text: list[str]
    kind: str | None = None  # run, file, not run
    words: str = ""
    before: list[str] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    def _parts(self) -> list[str]:
        parts = [part.strip() for part in self.words.split(";") if part.strip()]
        return {"run": parts, "file": parts[1:]}.get(self.kind or "", [])

    @property
    def target(self) -> str:
        """Of a file: where it is written."""
        return self.words.split(";")[0].strip()

    def _told(self, word: str) -> list[str]:
        return [part.removeprefix(word).strip() for part in self._parts() if part.startswith(word + " ")]

    @property
    def needs(self) -> list[str]:
        return [name.strip() for part in self._told("needs") for name in part.removeprefix("all ").split(",")]

    @property
    def needs_all(self) -> bool:
        return any(part.startswith("all ") for part in self._told("needs"))

    @property
    def stand_ins(self) -> dict[str, str]:
        return dict(part.split(" is ") for part in self._parts() if " is " in part and not part.endswith(FREE_PORT))

    @property
    def ports(self) -> list[str]:
        return [part.removesuffix(FREE_PORT) for part in self._parts() if part.endswith(FREE_PORT)]

    @property
    def is_on_the_small_internet(self) -> bool:
        return bool(self.stand_ins) or self.has_a_scripted_model or self._says("small internet")

    @property
    def has_a_scripted_model(self) -> bool:
        return self._says("scripted model") or self.asks_cordon

    @property
    def asks_cordon(self) -> bool:
        return self._says("scripted model of a host")

    def _says(self, words: str) -> bool:
        return words in self._parts()

    def commands(self) -> list[Command]:
        found: list[Command] = []
        goes_on = False
        for line in self.text:
            if line.startswith("$ ") or goes_on:
                if goes_on:
                    found[-1].typed += "\n" + line
                else:
                    found.append(Command(line[2:]))
                goes_on = line.endswith("\\") or found[-1].typed.count("'") % 2 == 1
            elif found:
                found[-1].printed.append(line)
        statuses = [int(word) for part in self._told("status") for word in part.split()]
        if statuses:
            assert len(statuses) == len(found), f"{self.place}: {len(statuses)} statuses of {len(found)} commands"
            for command, status in zip(found, statuses):
                command.status = status
        return found


def fences(path: Path, name: str) -> list[Fence]:
    """In their order. What is told of a fence stands in comments directly before it."""
    found: list[Fence] = []
    section, comments, inside = "", [], None
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if inside is not None:
            if line.startswith("```"):
                inside = None
            else:
                inside.text.append(line)
        elif line.startswith("```"):
            inside = Fence(name, number, section, [], before=[c[8:] for c in comments if c.startswith("before: ")])
            [told] = [c for c in comments if not c.startswith("before: ")] or [None]
            if told is not None:
                kind, _, inside.words = told.partition(":")
                inside.kind, inside.words = kind.strip(), inside.words.strip()
            found.append(inside)
            comments = []
        elif comment := re.fullmatch(r"<!-- (.*?) -->", line.strip()):
            comments.append(comment.group(1))
        elif line.strip():
            comments = []
            if line.startswith("## "):
                section = line[3:].strip()
    assert inside is None, f"{name} ends inside a fence"
    return found


def faults(fence: Fence) -> list[str]:
    """What is wrong with how a fence is told to be tested."""
    if fence.kind is None:
        return [f"{fence.place}: no comment says how this fence is tested"]
    if fence.kind == "not run":
        return [] if fence.words else [f"{fence.place}: no reason why it is not run"]
    if fence.kind == "file":
        wrong = [part for part in fence.words.split(";")[1:] if not re.match(r"\s*\S+ is \S", part)]
        return [f"{fence.place}: what does {part.strip()!r} mean?" for part in wrong] if fence.words else [
            f"{fence.place}: no name of the file"]
    if fence.kind != "run":
        return [f"{fence.place}: what does {fence.kind!r} mean?"]
    known = r"(needs|status) \S|(small internet|scripted model|scripted model of a host)$|\S+ is \S"
    unknown = [part for part in fence.words.split(";") if part.strip() and not re.match(known, part.strip())]
    if unknown:
        return [f"{fence.place}: what does {unknown[0]!r} mean?"]
    return [] if fence.commands() else [f"{fence.place}: no line begins with `$ `"]


# Equal on both sides, whatever they are in a particular run.
VARYING = [
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "ID"),
    (re.compile(r"\b20\d\d-\d\d-\d\d( \d\d:\d\d:\d\d)?\b"), "DATE"),
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s)\b"), "TIME"),
    (re.compile(r"[ \t]+"), " "),
]


def plain(line: str) -> str:
    for pattern, word in VARYING:
        line = pattern.sub(word, line)
    return line.strip()


def line_is(wanted: str, got: str) -> bool:
    parts = [re.escape(part) for part in plain(wanted).split("…")]
    return re.fullmatch(".*".join(parts), plain(got)) is not None


def same(wanted: list[str], got: list[str]) -> bool:
    """Whether what was printed is what is shown."""
    if not wanted:
        return not got
    if wanted[0].strip() == "…":
        return any(same(wanted[1:], got[at:]) for at in range(len(got) + 1))
    return bool(got) and line_is(wanted[0], got[0]) and same(wanted[1:], got[1:])


def without_blank_end(lines: list[str]) -> list[str]:
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]
