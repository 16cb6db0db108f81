"""The Debian package on a machine of its own: installed, used for the first time as root and as an ordinary
user, and purged. What else a release promises is in tests/release, which needs no other kernel."""

import json
import os
import subprocess
from pathlib import Path

import pytest

PACKAGE = Path("/srv/package.deb")  # brought by payload.py
PLACE = Path("/srv/first-use")
PEOPLE = {"root": 0, "user": 1000}


def run(person, *words):
    """As somebody at a shell of their own, in a project of theirs: nothing of the harness's is set."""
    uid, home = PEOPLE[person], PLACE / person
    for path in (home, home / "project", PLACE / f"{person}s-other"):
        path.mkdir(parents=True, exist_ok=True)
        os.chown(path, uid, uid)
    become = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=-all"] if uid else []
    return subprocess.run(["env", "-i", f"HOME={home}", "LC_ALL=C.UTF-8",
                           "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", *become, *words],
                          cwd=home / "project", stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
                          check=False)


def works(person, *words):
    done = run(person, *words)
    assert done.returncode == 0, f"{words}\n{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def listing():
    """What a package may put anywhere, but for what dpkg notes itself."""
    places = [path for path in ("/usr", "/etc", "/var/lib") if os.path.isdir(path)]
    words = ["find", *places, "-xdev", "-path", "/var/lib/dpkg", "-prune", "-o", "-printf", "%p %y %m %U:%G\n"]
    found = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return {line for line in found.splitlines() if "__pycache__" not in line}


@pytest.fixture(scope="module")
def machine():
    """The package is taken away at the end, and nothing of it stays."""
    before = listing()
    works("root", "dpkg", "--install", str(PACKAGE))
    yield before
    works("root", "dpkg", "--purge", "cordon")
    assert listing() == before
    assert run("root", "cordon", "--version").returncode == 127


@pytest.mark.parametrize("person", PEOPLE)
def test_first_use(machine, person):
    assert works(person, "sh", "-c", "command -v cordon") == "/usr/bin/cordon\n"
    assert works(person, "cordon", "--version").startswith("cordon ")
    told = json.loads(works(person, "cordon", "run", "--json", "--", "sh", "-c", "uname -m; touch made"))
    assert told["stdout"] == os.uname().machine + "\n" and (PLACE / person / "project/made").exists()
    held = told["enforcement"]
    assert held["backend"] == "native" and held["missing"] == [], held
    assert all(held[layer] for layer in ("namespaces", "pivot_root", "landlock", "seccomp", "cap_drop")), held
    # Outside of the project nothing is written; without Cordon the same person may.
    outside = PLACE / f"{person}s-other/file"
    assert run(person, "cordon", "run", "--", "touch", str(outside)).returncode == 1 and not outside.exists()
    works(person, "touch", str(outside))
    # The helpers are found in libexec.
    assert "success" in works(person, "cordon", "audit", "list")
    assert "ceiling.toml" in works(person, "cordon", "setup", "--dry-run")
    assert "live-write-outside" in works(person, "cordon", "doctor")


def test_pages_and_completions_are_in_place(machine):
    for name in ("man/man1/cordon-run.1.gz", "bash-completion/completions/cordon", "zsh/vendor-completions/_cordon",
                 "fish/vendor_completions.d/cordon.fish", "cordon/apparmor/cordon", "doc/cordon/copyright"):
        assert Path("/usr/share", name).is_file(), name
