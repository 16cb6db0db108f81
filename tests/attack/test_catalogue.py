"""Every case of the eleven families is tested, or stands in one list with its reason."""

import ast
import platform
import re
from pathlib import Path

import pytest

import waiting
from support.harness import ROOT

HERE = Path(__file__).parent


# Calls of `denied` in this directory that give a reason in place of a control.
UNCONTROLLED = 8


def numbers(prefix, text):
    return {f"{prefix}{n}" for n in text.split()}


CASES = (
    numbers("FS", "01 02 04 05 06 07 09 10 11 12 14 15 16 17 19 20 21 22 24 25 26 27 29 30 31 32 "
            "34 35 36 37 39 40 41 42 44 45 46 47 49 50 51 52")
    | numbers("TH", "01 02 04 05 06 07 09 10 11 12 14 15 16 17 19 20 21 22 24")
    | numbers("PR", "01 02 04 05 06 07 09 10 11 12 14 15 16 17 19 20 21 22 24 25 26 27 29 30")
    | numbers("SY", "01 02 04 05 06 08 10 11 12 13 15 16 17 18 20 21 23 24")
    | numbers("IP", "01 02 04 05 06 07 09 10 11 12 14 15 16 17 19 20")
    | numbers("NT", "01 02 04 05 06 07 09 11 12 13 15 16 17 18 20 21 22 23 25 26 27 28 30 31 32 33 "
              "35 36 37 38 40 41 42 43 45 46 47 49")
    | numbers("AU", "01 02 04 05 06 07 09 10")
    | numbers("CR", "01 02 04 05 06 07 10 11")
    | numbers("TT", "01 02 04 05 06 07 09")
    | numbers("RS", "01 02 04 05 06 07 09 10 11 12 14 15 16 17 20")
    | numbers("PL", "01 02 04 05 06 07 09 10 11 12 14 15 16 17 19 20 21 22 24")
)


def cases_with_a_test():
    """Ids in the names of test functions, and those that are keys or ids of parameters."""
    found = set()
    for path in HERE.glob("test_*.py"):
        if path.name == "test_catalogue.py":
            continue
        text = path.read_text()
        found |= set(re.findall(r"def test_([A-Z]{2}\d\d)_", text))
        found |= set(re.findall(r'"([A-Z]{2}\d\d)"', text))
    return found


def test_every_case_is_accounted_for_once():
    lists = [cases_with_a_test() & CASES, set(waiting.WAITING), set(waiting.ELSEWHERE),
             set(waiting.NOT_ON_THIS_MACHINE)]
    together = set().union(*lists)
    assert together == CASES, {"missing": CASES - together, "unknown": together - CASES}
    if waiting.NOT_ON_THIS_MACHINE:
        lists[0] -= set(waiting.NOT_ON_THIS_MACHINE)
    assert sum(map(len, lists)) == len(CASES), "a case stands in two lists"


def test_counts_of_what_is_not_run():
    assert len(waiting.WAITING) == 4
    assert len(waiting.ELSEWHERE) == 27
    assert len(waiting.NOT_ON_THIS_MACHINE) == (0 if platform.machine() == "x86_64" else 1)


def defined_in(path):
    """The names of the tests that a file defines: of a comment or a text there is nothing to prove."""
    if path.suffix == ".py":
        return {node.name for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}
    return set(re.findall(r"^TEST(?:_[FP])?\(\w+, (\w+)\)", path.read_text(), re.MULTILINE))


@pytest.mark.parametrize("case", waiting.ELSEWHERE)
def test_cases_covered_elsewhere_are_there(case):
    for name, *tests in waiting.ELSEWHERE[case]:
        path = ROOT / name
        assert path.exists(), f"{case} is said to be covered by {name}"
        assert tests and set(tests) <= defined_in(path), f"{name} has no {set(tests) - defined_in(path)}"


def test_denials_without_control_are_counted():
    count = 0
    for path in HERE.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                count += node.value.startswith("why: ")
    assert count - 1 == UNCONTROLLED, count - 1
