"""./cordon, which builds itself: what somebody sees who starts it in a fresh clone, and after a change. The
compiler is a stand-in that counts to three."""

import os
import shutil
import time

import pytest

from support.harness import ROOT
from support.pty_session import Terminal

CMAKE = """#!/bin/sh
case "$*" in
  --preset*) echo configured; exit 0 ;;
esac
for step in 1 2 3; do echo "[$step/3] compiled"; sleep 0.05; done
test ! -e fails || { echo "it does not compile"; exit 1; }
printf '#!/bin/sh\\necho "started $*"\\n' > build/cordon
chmod +x build/cordon
"""


@pytest.fixture
def clone(world):
    place = world.make_directory(world.path / "clone")
    for name in ("src", "include", "cmake", "schema", "tools", "bin"):
        world.make_directory(place / name)
    for name in ("CMakeLists.txt", "CMakePresets.json", "src/a.cc", "src/a_test.cc"):
        world.write(place / name, "")
    world.own(shutil.copy(ROOT / "cordon", place / "cordon"))
    world.write(place / "tools/install-dependencies", "#!/bin/sh\n", 0o755)
    world.write(place / "bin/cmake", CMAKE, 0o755)
    return place


def start(world, clone, *words):
    return world.execute([clone / "cordon", *words], env={"PATH": f"{clone / 'bin'}:/usr/bin:/bin"})


def test_a_terminal_sees_how_far_it_is(world, clone):
    terminal = Terminal(world, [str(clone / "cordon"), "a"], env={"PATH": f"{clone / 'bin'}:/usr/bin:/bin"})
    terminal.expect(b"started a", 20)
    shown = terminal.seen
    assert b"the first time takes a few minutes" in shown
    assert b"building 1/3" in shown and b"building 3/3" in shown
    terminal.close()


def test_elsewhere_there_is_one_line(world, clone):
    done = start(world, clone, "a", "b").expect(0)
    assert done.out == "started a b\n"
    assert done.err == "cordon: building; the first time takes a few minutes\n"
    assert start(world, clone).expect(0).err == ""


def test_a_changed_source_is_said(world, clone):
    start(world, clone).expect(0)
    os.utime(clone / "src/a_test.cc", (time.time() + 5, time.time() + 5))
    assert start(world, clone).expect(0).err == ""
    os.utime(clone / "src/a.cc", (time.time() + 5, time.time() + 5))
    assert "sources are newer than the program: building it again" in start(world, clone).expect(0).err


def test_a_failed_build_shows_why_and_starts_nothing(world, clone):
    world.write(clone / "fails", "")
    done = start(world, clone).expect(125)
    assert "it does not compile" in done.err and str(clone / "out/build.log") in done.err
    assert "started" not in done.out
    (clone / "fails").unlink()
    assert start(world, clone).expect(0).out == "started \n"
