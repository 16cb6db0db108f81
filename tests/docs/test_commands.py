"""What the documents tell people to type does what they say: see fences.py for how that is written down."""

import re
from pathlib import Path

import pytest

import fences
import places
from support.harness import ROOT

PAGES = ["README.md", "docs/operators.md", "docs/policy-guide.md", "docs/recipes.md"]


def sections():
    """Page and section of everything that is typed."""
    found = {}
    for page in PAGES:
        for fence in fences.fences(ROOT / page, page):
            found.setdefault((page, fence.section), []).append(fence)
    return found


def name_of(page, section):
    return f"{Path(page).stem}-{re.sub('[^a-z0-9]+', '-', section.lower()).strip('-')}"


SECTIONS = {name_of(*place): held for place, held in sections().items()}


def cases(names):
    """What a recipe prints does not depend on who types it, and it takes its time."""
    return [pytest.param(name, marks=pytest.mark.once if name.startswith("recipes-") else ()) for name in names]


ON_THE_INTERNET = [name for name, held in SECTIONS.items() if any(fence.is_on_the_small_internet for fence in held)]
HERE = [name for name in SECTIONS if name not in ON_THE_INTERNET]


def type_all(world, section):
    shell = places.Shell(world)
    for fence in SECTIONS[section]:
        shell.add(fence)
    places.LEFT_OUT.update(shell.left_out)
    found = shell.check()
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("section", cases(HERE))
def test_what_is_typed_prints_what_is_shown(world, section):
    type_all(world, section)


@pytest.mark.parametrize("section", cases(ON_THE_INTERNET))
def test_what_is_typed_on_a_small_internet_prints_what_is_shown(net, section):
    type_all(net, section)


@pytest.mark.parametrize("page", PAGES)
def test_every_fence_says_how_it_is_tested(page):
    found = fences.fences(ROOT / page, page)
    assert len(found) >= 5, f"{page} has {len(found)} fences"
    wrong = [fault for fence in found for fault in fences.faults(fence)]
    assert not wrong, "\n".join(wrong)


def test_most_of_what_is_shown_is_typed():
    """The comment is for what cannot be typed here, not for what is tedious."""
    kinds = [fence.kind for held in SECTIONS.values() for fence in held]
    assert kinds.count("run") > 4 * kinds.count("not run"), {kind: kinds.count(kind) for kind in set(kinds)}


# What holds the test itself to be one that can fail.


def page_of(world, text):
    return fences.fences(world.write(world.path / "page.md", text), "page.md")


@pytest.mark.once
def test_a_fence_without_a_comment_is_a_fault(world):
    [bare] = page_of(world, "```\n$ true\n```\n")
    assert fences.faults(bare)
    [apart] = page_of(world, "<!-- run -->\nWords.\n\n```\n$ true\n```\n")
    assert fences.faults(apart)
    [told] = page_of(world, "Words.\n\n<!-- run -->\n```\n$ true\n```\n")
    assert not fences.faults(told)


@pytest.mark.once
@pytest.mark.parametrize("comment", ["run: status", "run: perhaps", "not run", "not run:", "ran", "file"])
def test_a_comment_that_says_nothing_is_a_fault(world, comment):
    [fence] = page_of(world, f"<!-- {comment} -->\n```\n$ true\n```\n")
    assert fences.faults(fence), comment


@pytest.mark.once
@pytest.mark.parametrize("text, holds", [
    ("<!-- run -->\n```\n$ echo one\none\n$ echo two; echo three\n…\nthree\n```", True),
    ("<!-- run -->\n```\n$ echo one\ntwo\n```", False),
    ("<!-- run -->\n```\n$ echo one\n```", False),
    ("<!-- run -->\n```\n$ true\none\n```", False),
    ("<!-- run -->\n```\n$ echo one; echo two\none\n```", False),
    ("<!-- run -->\n```\n$ false\n```", False),
    ("<!-- run: status 1 -->\n```\n$ false\n```", True),
    ("<!-- run: status 1 -->\n```\n$ true\n```", False),
    ("<!-- run -->\n```\n$ exit 0\n$ echo one\none\n```", False),
    ("<!-- before: false -->\n<!-- run -->\n```\n$ true\n```", False),
    ("<!-- run -->\n```\n$ cd /\n$ pwd\n/\n$ echo ~\n/home/me\n```", True),
    ("<!-- run -->\n```\n$ echo took 12 ms of 0123456789abcdef\ntook 3 ms of fedcba9876543210\n```", True),
    ("<!-- file: a/b -->\n```\nkept\n```\n\n<!-- run -->\n```\n$ cat a/b\nkept\n```", True),
    ("<!-- run -->\n```\n$ cordon run -- sh -c \\\n    'echo inside'\ninside\n```", True),
    ("<!-- run -->\n```\n$ sleep 1000 & echo $(jobs -p | wc -l)\n1\n```", True)])
def test_what_differs_is_seen(world, text, holds):
    shell = places.Shell(world)
    for fence in page_of(world, text + "\n"):
        assert not fences.faults(fence)
        shell.add(fence)
    assert bool(shell.check()) != holds


@pytest.mark.once
def test_what_needs_a_program_that_is_not_there_is_named(world):
    shell = places.Shell(world)
    for fence in page_of(world, "<!-- run: needs no-such-program -->\n```\n$ echo one\none\n$ no-such-program x\ny\n```\n"):
        shell.add(fence)
    assert shell.check() == []
    assert shell.left_out == ["page.md:2 needs no-such-program: no-such-program x"]
