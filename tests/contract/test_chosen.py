"""What ./test leaves to ./test --all: nothing that is marked otherwise, and never without saying so."""

import os
import re
import subprocess
import sys

import pytest

from support import harness

TEXT = """
import pytest

@pytest.mark.once
@pytest.mark.parametrize("number", range(20))
def test_once(who, number): pass

@pytest.mark.parametrize("number", range(20))
def test_both(who, number): pass

@pytest.mark.npm
def test_fetched(who): pass
"""


def collected(folder, **more):
    """The cases by function, and what is printed of those that are left out."""
    (folder / "conftest.py").write_text("from tests.conftest import *\n")
    (folder / "test_some.py").write_text(TEXT)
    clean = {name: value for name, value in os.environ.items() if name != "CORDON_TEST_CHOSEN"}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only", folder],
                          capture_output=True, text=True, cwd=folder,
                          env={**clean, **more, "PYTHONPATH": f"{harness.ROOT}:{harness.ROOT / 'tests'}"})
    assert done.returncode == 0, done.stdout + done.stderr
    found = {"once": [], "both": [], "fetched": []}
    for function, words in re.findall(r"::test_(\w+)\[(\S+)\]", done.stdout):
        found[function].append(tuple(words.split("-")))
    return found, re.findall(r"left to \./test --all: (\d+) cases", done.stdout)


def test_everything_is_taken_unless_a_part_is_asked_for(tmp_path):
    found, left = collected(tmp_path)
    people = len(harness.PEOPLE)
    assert [len(found[name]) for name in ("once", "both", "fetched")] == [20 * people, 20 * people, people]
    assert left == []


def test_a_part_is_taken_and_the_rest_counted(tmp_path):
    found, left = collected(tmp_path, CORDON_TEST_CHOSEN="1")
    people = [person.name for person in harness.PEOPLE]
    assert sorted(int(number) for _, number in found["once"]) == list(range(20)), "each case for one person"
    assert {person for person, _ in found["once"]} == set(people), "and some for each"
    assert len(found["both"]) == 20 * len(people) and found["fetched"] == []
    assert left == [str(len(people))] + (["20"] if len(people) == 2 else [])


def test_what_is_not_marked_fetches_nothing(monkeypatch):
    monkeypatch.setenv("CORDON_TEST_CHOSEN", "1")
    with pytest.raises(AssertionError, match="mark npm"):
        harness.may_fetch()
    monkeypatch.delenv("CORDON_TEST_CHOSEN")
    harness.may_fetch()
