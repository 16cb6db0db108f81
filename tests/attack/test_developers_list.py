"""What developers do besides git: environments, packages, fetched sources, and removing all of it. Bare and in a
run, compared as in test_git_day.py. ./test takes a few as a user, CORDON_GIT_DAY=all all of them as root too."""

import os

import pytest

from git_day import Day, Work, bare, check
from support import harness

ALL = os.environ.get("CORDON_GIT_DAY") == "all"


@pytest.fixture
def who(request):
    return request.param


def files(*names, at="project"):
    return frozenset(f"file {at}/{name}" for name in names)


PACKAGE = ("mkdir -p pkg; printf 'from setuptools import setup\\nsetup(name=\"tiny\", version=\"1.0\", py_modules=[\"tiny\"], "
           "entry_points={\"console_scripts\": [\"tiny-tool=tiny:main\"]})\\n' > pkg/setup.py; "
           "printf 'def main():\\n    print(42)\\n' > pkg/tiny.py; ")
VENV = "/usr/bin/python3 -m venv --system-site-packages --without-pip env; "
PIP = ("python -m pip install -q --no-index --no-deps --no-build-isolation --no-compile --no-cache-dir "
       "--disable-pip-version-check ./pkg")
DEP = ("mkdir -p dep; echo '{\"name\":\"dep\",\"version\":\"1.0.0\",\"bin\":{\"dep-tool\":\"tool.js\"}}' > dep/package.json; "
       "printf '#!/usr/bin/env node\\nconsole.log(42)\\n' > dep/tool.js; chmod 755 dep/tool.js; "
       "echo '{\"name\":\"x\",\"version\":\"1.0.0\"}' > package.json; ")
NPM = "npm install --silent --offline --no-audit --no-fund "
FETCH = r"""cat > CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(x LANGUAGES NONE)
include(FetchContent)
FetchContent_Declare(lib GIT_REPOSITORY "${CMAKE_SOURCE_DIR}/../source/lib" GIT_TAG next)
FetchContent_MakeAvailable(lib)
END
"""
CLONES = "for n in one two; do git clone -q ../source/lib build/deps/$n; done; echo o > build/o; "

LFS = ("git config filter.lfs.clean 'git-lfs clean -- %f'; git config filter.lfs.smudge 'git-lfs smudge -- %f'; "
       "git config filter.lfs.required true; echo '*.bin filter=lfs -text' > .gitattributes; git add .gitattributes; "
       "git commit -q -m attributes; ")


def mounts(*repositories):
    """What cannot be removed inside, and is when the run is over."""
    return frozenset().union(*(files(name, f"{name}/.git", f"{name}/.git/config", f"{name}/.git/hooks", f"{name}/.vscode")
                               for name in repositories))


LIST = [
    Work("venv and pip", VENV + ". env/bin/activate; " + PIP + " && tiny-tool", before=PACKAGE),
    Work("pip in an activated venv", PIP + " && tiny-tool", before=PACKAGE + VENV, path=("env/bin",)),
    Work("npm install of a directory", NPM + "./dep && node_modules/.bin/dep-tool", before=DEP, lost=frozenset({".npm"})),
    Work("npm install of a tarball", NPM + "./dep-1.0.0.tgz && dep-tool", before=DEP + "npm pack --silent ./dep; "
         "mkdir -p node_modules/.bin", path=("node_modules/.bin",), lost=frozenset({".npm"})),
    Work("FetchContent", "cmake -S . -B build > /dev/null && git -C build/_deps/lib-src status -s", before=FETCH,
         held=files(".vscode", ".vscode/settings.json", at="project/build/_deps/lib-src")
         | {"index project/build/_deps/lib-src .vscode/settings.json"}),
    Work("LFS", "printf '%01000d' 7 > a.bin; git add a.bin; git commit -q -m bin; git show HEAD:a.bin; rm a.bin; "
         "git checkout -q a.bin; wc -c < a.bin; git checkout -q topic; git checkout -q main; wc -c < a.bin",
         before=LFS, path=("../source/bin",)),
    Work("LFS for the first time", LFS + "echo x > a.bin; git add a.bin; git commit -q -m bin; git show HEAD:a.bin",
         path=("../source/bin",), held=frozenset(f"config project/.git filter.lfs.{key}"
                                                 for key in ("clean", "smudge", "required"))),
    # rm says that it could not; the rest is done when the run is over.
    Work("removing a build directory with clones", "rm -rf build", before=CLONES, status_inside=1,
         inside=files("build", "build/deps") | mounts("build/deps/one", "build/deps/two")),
    Work("removing a nested repository", "rm -rf nested", before="git clone -q ../source/lib nested", status_inside=1,
         inside=mounts("nested")),
]


@pytest.mark.parametrize("who", harness.PEOPLE, ids=lambda person: person.name, indirect=True)
def test_a_commit_in_a_clone_deletes_nothing(world):
    """Made inside, its held files moved away, and the person goes on working in it."""
    day = Day(world)
    day.in_a_run(Work("clone", "git clone -q ../source/lib copy"))
    clone = day.project / "copy"
    assert not (clone / ".vscode").exists() and (clone / "lib.txt").exists()
    bare(world, "echo more >> lib.txt; git add -A; git commit -q -a -m more; git checkout -q next; git checkout -q main",
         clone)
    assert bare(world, "git status --porcelain; git diff --name-status HEAD~1 HEAD", clone).out == "M\tlib.txt\n"
    assert ".vscode/settings.json" in bare(world, "git ls-tree -r --name-only HEAD", clone).out


@pytest.mark.parametrize("who", harness.PEOPLE, ids=lambda person: person.name, indirect=True)
def test_a_pointer_does_not_lead_the_mark_to_another_repository(world):
    """What is moved out of a worktree that the run made is marked in its index. The run writes the pointer."""
    day = Day(world)
    stranger = world.home / "stranger"
    bare(world, f"cp -a '{day.path}/source/lib' '{stranger}'", world.home)
    before = (stranger / ".git/index").read_bytes()
    script = "; ".join(f"mkdir -p {name}/.vscode; echo evil > {name}/.vscode/settings.json; "
                       f"echo 'gitdir: {pointer}' > {name}/.git"
                       for name, pointer in (("a", f"{stranger}/.git"), ("b", "../../../stranger/.git"), ("c", "../.git")))
    _, report, _ = day.in_a_run(Work("pointers", script + "; git worktree add -q wt topic"))
    assert len([entry for entry in report["handoff"] if entry["moved_to"]]) >= 4, report["handoff"]
    assert (stranger / ".git/index").read_bytes() == before
    assert "S " not in bare(world, "git ls-files -t", day.project).out
    assert "S .vscode/settings.json" in bare(world, "git ls-files -t", day.project / "wt").out


FEW = {"pip in an activated venv", "npm install of a tarball", "FetchContent", "LFS",
       "removing a build directory with clones"}
CHOSEN = [pytest.param(person, work, id=f"{person.name}-{work.name}") for person in harness.PEOPLE for work in LIST
          if ALL or (work.name in FEW and not person.is_root)]


@pytest.mark.parametrize("who, work", CHOSEN, indirect=["who"])
def test_work(world, work):
    check(world, work)
