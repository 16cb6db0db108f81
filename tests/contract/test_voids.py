"""No test ends early without a name and a reason; see tests/support/voids.py."""

import ast
import collections
import re
import subprocess
import sys

import pytest

from support import voids
from support.harness import ROOT
from support.voids import Expected

FILES = sorted((ROOT / "tests").rglob("test_*.py"))


def functions_of(path):
    return [node for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def returns_of(function):
    """Its own, not those of functions in it."""
    found, wave = [], list(function.body)
    while wave:
        node = wave.pop()
        if isinstance(node, ast.Return):
            found.append(node)
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            wave.extend(ast.iter_child_nodes(node))
    return found


def is_void(node):
    return isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "void"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_no_test_ends_early_without_saying_so(path):
    silent = [f"{test.name}, line {node.lineno}" for test in functions_of(path) for node in returns_of(test)
              if not is_void(node)]
    assert not silent, silent
    called = {ast.unparse(node.func) for node in ast.walk(ast.parse(path.read_text()))
              if isinstance(node, ast.Call)}
    assert not called & {"pytest.skip", "pytest.xfail", "pytest.mark.skip", "pytest.mark.skipif",
                         "pytest.mark.xfail", "pytest.importorskip"}, "nothing is skipped"


def test_no_test_hides_another():
    """Of two functions with one name in a file the first never runs."""
    hidden = [f"{path.relative_to(ROOT)}::{name}" for path in FILES
              for name, count in collections.Counter(test.name for test in functions_of(path)).items() if count > 1]
    assert not hidden, hidden


def test_every_void_is_expected_somewhere_and_the_other_way_round():
    said = {f"{path.relative_to(ROOT)}::{test.name}" for path in FILES for test in functions_of(path)
            if any(map(is_void, returns_of(test)))}
    for case in said:
        assert any(re.fullmatch(re.sub(r"(\.\*|\\\[.*\\\])$", "", entry.case), case)
                   for entry in voids.EXPECTED), f"{case} is not in EXPECTED"
    assert len(said) == VOID_TESTS, sorted(said)


# Test functions that can be void.
VOID_TESTS = 16


def test_an_unexpected_void_fails_the_run():
    expected = (Expected(r"f\.py::test_a\[user\]", "why"), Expected(r"f\.py::test_b.*", "never", lambda: False))
    assert voids.troubles({"f.py::test_a[user]": "why"}, ["f.py::test_a[user]", "f.py::test_a[root]"],
                          expected) == []
    [other] = voids.troubles({"f.py::test_a[root]": "why"}, [], expected)
    assert "test_a[root] was void and is not expected" in other
    [reason] = voids.troubles({"f.py::test_a[user]": "another"}, [], expected)
    assert "another" in reason
    [elsewhere] = voids.troubles({"f.py::test_b[x]": "never"}, [], expected)
    assert "test_b" in elsewhere
    [stale] = voids.troubles({}, ["f.py::test_a[user]", "f.py::test_b[x]"], expected)
    assert "test_a[user] was not void" in stale


def test_the_hook_of_the_run_is_in_place(tmp_path):
    """The account and the verdict are made by tests/conftest.py: a run with a void that nobody expects."""
    case = tmp_path / "test_silent.py"
    case.write_text("import sys\nsys.path.insert(0, %r)\nfrom support.voids import void\n"
                    "def test_nothing():\n    return void('no reason at all')\n" % str(ROOT / "tests"))
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "conftest", case],
                          cwd=tmp_path, capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "tests")})
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 void: no reason at all" in done.stdout and "is not expected to be" in done.stdout
