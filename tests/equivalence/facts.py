"""What is found out about a feature in one column, and how a feature says what is to be found out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from place import Place, Profile
from support.harness import FILE_ERRORS


@dataclass
class Facts:
    """Each is a short phrase and whether it is so. What `works` works without a sandbox too; what
    `holds` is not so there, or the probe would prove nothing. A phrase says what is so under native,
    so a fact that is false is a gap."""
    works: dict[str, bool] = field(default_factory=dict)
    holds: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Feature:
    name: str
    measure: Callable[[Place], Facts]


@dataclass(frozen=True)
class Try:
    """One attempt of the probe. `what` is "works", "refused", "gone" (written, and not on the host
    afterwards) or "kept" (whatever the attempt came to, the host's file was never touched)."""
    what: str
    phrase: str
    attempt: tuple
    errors: frozenset = FILE_ERRORS


def works(phrase, *attempt) -> Try:
    return Try("works", phrase, attempt)


def refused(phrase, *attempt, errors=FILE_ERRORS) -> Try:
    return Try("refused", phrase, attempt, errors)


def gone(phrase, path) -> Try:
    return Try("gone", phrase, ("write", path))


def unchanged(phrase, path) -> Try:
    return Try("kept", phrase, ("write", path))


def mark_of(path: Path):
    """A file that was changed and put back is another one, or was written at another time."""
    status = path.stat()
    return status.st_ino, status.st_ctime_ns, path.read_bytes()


def fill_in(text, place: Place) -> str:
    return str(text).format(home=place.home, project=place.project, outside=place.outside,
                            unique=place.unique)


def judge_tries(place: Place, tries, answers, marks=None) -> Facts:
    facts = Facts()
    for one, answer in zip(tries, answers):
        if one.what == "works":
            facts.works[one.phrase] = bool(answer.ok)
        elif one.what == "gone":
            facts.holds[one.phrase] = not place.is_left(Path(fill_in(one.attempt[1], place)), answer)
        elif one.what == "kept" and marks:
            path = Path(fill_in(one.attempt[1], place))
            facts.holds[one.phrase] = not answer.ok or mark_of(path) == marks[path]
        else:
            assert answer.ok or answer.errno in one.errors, f"failed by itself: {one} {answer}"
            facts.holds[one.phrase] = answer.ok is False
    return facts


def tried(name, *tries, options=(), plant=None, policy=None, prepare=None) -> Feature:
    """A feature that attempts of the probe show, all of them in one run. `policy` is a document."""

    def measure(place: Place) -> Facts:
        for path, text in (plant or {}).items():
            place.write(Path(fill_in(path, place)), text)
        if prepare:
            prepare(place)
        given = [fill_in(word, place) for word in options]
        if policy:
            # Braces of TOML are not those of format.
            text = policy.replace("PROJECT", str(place.project))
            given += ["--policy", place.document(text)]
        attempts = [tuple(fill_in(word, place) for word in one.attempt) for one in tries]
        watched = [Path(fill_in(one.attempt[1], place)) for one in tries if one.what == "kept"]
        # A profile is only asked: nothing is written there.
        marks = {path: mark_of(path) for path in watched} if not isinstance(place, Profile) else None
        answers = place.inside(attempts, options=given)
        return judge_tries(place, tries, answers, marks)

    return Feature(name, measure)
