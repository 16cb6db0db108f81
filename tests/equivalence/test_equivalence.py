"""The check of the matrix can fail, in each way in which it has to. Nothing is run here."""

import copy

import pytest

import matrix as program
from features import FEATURES
from gaps import Refusal
from judge import Judge
from place import COLUMNS
from support import harness

HELD = {"works": {"it is read": True}, "holds": {"it is not written": True}}
BARE = {"works": {"it is read": True}, "holds": {"it is not written": False}}
GAPS = {("landlock", "row"): {"it is not written": "no mounts"}}
REFUSALS = {("mxc", "row"): Refusal("cannot", "no broker")}


def world():
    """One row with one gap, one refusal and one column that has no say, seen alike by two people."""
    row = {column: copy.deepcopy(HELD) for column in COLUMNS}
    row["bare"] = copy.deepcopy(BARE)
    row["landlock"]["holds"]["it is not written"] = False
    row["mxc"] = {"refused": "this cannot be held"}
    row["seatbelt"] = {"unanswered": True}
    return {person: {"row": copy.deepcopy(row)} for person in ("root", "user")}


def judged(observed, gaps=GAPS, refusals=REFUSALS):
    return Judge(observed, gaps, refusals).judge()


def test_cells_come_from_what_was_observed():
    made = judged(world())
    assert made.complaints == []
    assert made.rows == {"row": {"native": "enforced", "bwrap": "enforced",
                                 "landlock": "partial: no mounts", "mxc": "refused: no broker",
                                 "seatbelt": "not asked"}}


def spoil(person, column, *path, value):
    def change(observed):
        place = observed[person]["row"][column]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
    return change


def replace(column, value, *people):
    def change(observed):
        for person in people or observed:
            observed[person]["row"][column] = copy.deepcopy(value)
    return change


@pytest.mark.parametrize("change, word", [
    (spoil("user", "bwrap", "holds", "it is not written", value=False), "without an explanation"),
    (spoil("root", "native", "works", "it is read", value=False), "without an explanation"),
    (spoil("user", "landlock", "holds", "it is not written", value=True), "differ"),
    (replace("landlock", HELD), "explained and not observed"),
    (replace("mxc", HELD), "was not observed"),
    (replace("mxc", HELD, "root"), "differ"),
    (replace("mxc", {"refused": "for some other reason"}), "not refused as"),
    (replace("bwrap", {"refused": "this cannot be held"}), "refused without an explanation"),
    (replace("native", {"unanswered": True}), "nothing was found out"),
    (replace("native", {"works": {}, "holds": {}}), "nothing was found out"),
    (replace("native", {"broken": "Traceback"}), "Traceback"),
    (spoil("root", "bare", "works", "it is read", value=False), "does not work without a sandbox"),
    (spoil("root", "bare", "holds", "it is not written", value=True), "holds without a sandbox"),
    (replace("bare", {"unanswered": True}), "control"),
])
def test_what_is_not_as_it_is_explained_is_told(change, word):
    observed = world()
    change(observed)
    complaints = judged(observed).complaints
    assert complaints and any(word in complaint for complaint in complaints), complaints


def test_what_is_unexplained_is_not_called_enforced():
    observed = world()
    replace("bwrap", {**HELD, "holds": {"it is not written": False}})(observed)
    assert judged(observed).rows["row"]["bwrap"] == "partial: unexplained"


def test_an_explanation_too_many_is_told():
    more = {**GAPS, ("bwrap", "row"): {"it is read": "a reason"}}
    assert "explained and not observed" in judged(world(), more).complaints[0]
    more = {**GAPS, ("bwrap", "no such row"): {"it is read": "a reason"}}
    assert "explained and not observed" in judged(world(), more).complaints[0]
    more = {**REFUSALS, ("bwrap", "row"): Refusal("cannot", "a reason")}
    assert "was not observed" in judged(world(), GAPS, more).complaints[0]


def test_what_is_refused_to_one_person_alone():
    refusals = {("mxc", "row"): Refusal("cannot", "why", "user")}
    observed = world()
    replace("mxc", HELD, "root")(observed)
    made = judged(observed, refusals=refusals)
    assert made.complaints == []
    assert made.rows["row"]["mxc"] == "enforced; to an ordinary user refused: why"
    # Where nobody is root the same is written.
    assert judged({"user": observed["user"]}, refusals=refusals).rows == made.rows
    assert judged(world(), refusals=refusals).complaints


def test_a_document_with_another_cell_is_told():
    made = judged(world())
    text = "before\n" + program.BEGIN + program.END + "after\n"
    written = program.replaced(text, program.render(made))
    assert written.startswith("before\n") and written.endswith("after\n")
    assert program.differences(written, made) == []
    wrong = written.replace("partial: no mounts", "enforced")
    assert wrong != written
    assert any(line.startswith("+| row |") for line in program.differences(wrong, made))
    with pytest.raises(SystemExit):
        program.replaced("no marks\n", "x")


def test_the_document_has_every_row():
    text = (harness.ROOT / "docs/backends.md").read_text()
    section = text.split(program.BEGIN)[1].split(program.END)[0]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in section.splitlines()
            if line.startswith("| ") and not line.startswith("| |")]
    assert len(FEATURES) > 40
    assert rows[:len(FEATURES)] == [feature.name for feature in FEATURES]
    assert len(rows) == len(FEATURES) + 5, "and those of the contract's presets"
