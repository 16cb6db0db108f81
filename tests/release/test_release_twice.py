"""A newcomer's way from source, and two releases of one commit made in different directories.

Both compile everything once: `./test --all` runs this. CORDON_RELEASE_CCACHE=1 lets the second build use
the compiler's cache, for trying; then equality says less."""

import os
import subprocess

import pytest

from releases import EPOCH, call, clean_copy, release


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory):
    """A fresh checkout in which the README's first command was run."""
    copy = clean_copy(tmp_path_factory.mktemp("newcomer") / "cordon")
    done = call("./cordon", "--version", cwd=copy, timeout=3600)
    assert done.stdout.startswith("cordon ")
    return copy


def test_cmake_install_works_after_the_build_of_the_readme(newcomer, tmp_path):
    prefix = tmp_path / "prefix"
    call("cmake", "--install", newcomer / "out/release", "--prefix", prefix)
    project = tmp_path / "project"
    project.mkdir()
    assert call(prefix / "bin/cordon", "run", "--", "echo", "hello", cwd=project).stdout == "hello\n"
    for name in ("share/man/man1/cordon-run.1", "share/zsh/site-functions/_cordon", "lib/libcordon.a",
                 "share/cordon/presets/build.toml"):
        assert (prefix / name).is_file() or list(prefix.glob(f"lib/*/{name[4:]}")), name


def test_an_installation_before_everything_is_made_says_what_to_run(newcomer, tmp_path):
    page = newcomer / "out/release/install/man/cordon.1"
    page.unlink()
    done = subprocess.run(["cmake", "--install", newcomer / "out/release", "--prefix", tmp_path / "prefix"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and not (tmp_path / "prefix").exists()
    advice = next(line for line in done.stderr.splitlines() if "cmake --build" in line).split()
    call(*advice, timeout=600)
    call("cmake", "--install", newcomer / "out/release", "--prefix", tmp_path / "prefix")


def test_two_builds_of_one_commit_are_equal(tmp_path):
    arch = os.uname().machine
    first = clean_copy(tmp_path / "one")
    second = clean_copy(tmp_path / "a rather different place" / "two")
    commits = {call("git", "-C", copy, "rev-parse", "HEAD").stdout for copy in (first, second)}
    assert len(commits) == 1
    cached = {} if os.environ.get("CORDON_RELEASE_CCACHE") else {"CCACHE_DISABLE": "1"}
    made = release(first / "tools/release", tmp_path / "dist", "--arch", arch, timeout=3600)
    # Another directory, another umask, another locale and zone, other compilers at once.
    again = release(second / "tools/release", tmp_path / "elsewhere" / "again", "--arch", arch, "--jobs", "3",
                    timeout=7200, env={**os.environ, **cached, "TZ": "Asia/Tokyo", "LANG": "C", "CXXFLAGS": "-O1"},
                    umask=0o077)
    assert made.answer["files"] == again.answer["files"]
    assert len(made.answer["files"]) == 3
    for name in [entry["name"] for entry in made.answer["files"]] + ["SHA256SUMS"]:
        assert (made.directory / name).read_bytes() == (again.directory / name).read_bytes(), name
    assert made.answer["date"] == "2026-01-01T00:00:00Z" and EPOCH == 1767225600
