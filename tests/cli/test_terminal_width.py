"""Answers at a narrow terminal: no line is wider than it, but for a word that is, and nothing is left out."""

import re
import tomllib

import pytest

from support.pty_session import Terminal

pytestmark = pytest.mark.once

NARROW = 40


def shown(world, *words, columns):
    terminal = Terminal(world, [world.cordon, *words], columns=columns, env={"PAGER": "cat"})
    terminal.wait()
    text = re.sub(r"\x1b\[[\d;]*[mK]", "", terminal.seen.decode()).replace("\r\n", "\n")
    terminal.close()
    # A count that was written over.
    return [line.rpartition("\r")[2] for line in text.splitlines()]


def words_of(lines):
    return set(" ".join(lines).split())


@pytest.fixture
def lived_in(world):
    """Something for each list to show."""
    world.run("sh", "-c", "mkdir -p .vscode; echo 1 > .vscode/tasks.json").expect(0)
    world.run("sh", "-c", "echo a > a_rather_long_name_of_a_file.txt", options=["--stage=review"]).expect(0)
    session = world.cordon_verb("session", "start").expect(0).out.strip()
    yield world
    world.cordon_verb("session", "stop", session).expect(0)


@pytest.mark.parametrize("verb", ["audit list", "audit stats", "policy show", "policy clamp", "doctor", "session list",
                                  "changes list"])
def test_no_line_is_wider_than_the_terminal(lived_in, verb):
    narrow = shown(lived_in, *verb.split(), columns=NARROW)
    wide = [line for line in narrow if len(line) > NARROW]
    # What cannot be broken stands alone: a path, a hash, behind no more than `key =` or its title.
    assert all(len(line.split()) <= 3 for line in wide), "\n".join(narrow)
    # The control: where there is room, it is what a pipe gets, and some of it is wider.
    roomy = shown(lived_in, *verb.split(), columns=900)
    assert max(map(len, roomy)) > NARROW, roomy
    if verb.startswith("policy"):
        assert tomllib.loads("\n".join(narrow)) == tomllib.loads("\n".join(roomy))
    if verb in ("session list", "changes list", "policy show"):
        piped = lived_in.cordon_verb(*verb.split()).expect(0).out.splitlines()
        # A title is told with what is below it.
        assert roomy == piped and words_of(roomy) - {"REASON"} <= words_of(narrow), (roomy, narrow)
