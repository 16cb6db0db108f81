"""Releases made for tests: from the build that is there, and from clean copies of this tree."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from support.harness import ROOT

DEBIAN_NAMES = {"aarch64": "arm64", "x86_64": "amd64"}
HELPERS = ("cordon-apply", "cordon-gate", "cordon-inside", "cordon-ship", "cordon-tools")
EPOCH = 1767225600  # of the commits made here: 2026-01-01


def build_directory() -> Path:
    return Path(os.environ.get("CORDON_BUILD", ROOT / "out" / "release"))


def call(*argv, timeout=300, **options) -> subprocess.CompletedProcess:
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, timeout=timeout,
                          check=False, errors="replace", **options)
    assert done.returncode == 0, f"{argv}\nstatus {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@dataclass
class Products:
    """What tools/release answered and made for one architecture."""
    directory: Path
    answer: dict
    arch: str

    def _one(self, end: str) -> Path:
        names = [entry["name"] for entry in self.answer["files"] if entry["name"].endswith(end)]
        assert len(names) == 1, self.answer
        return self.directory / names[0]

    @property
    def archive(self) -> Path:
        return self._one(f"-linux-{self.arch}.tar.gz")

    @property
    def package(self) -> Path:
        return self._one(f"_{DEBIAN_NAMES[self.arch]}.deb")

    @property
    def bill(self) -> Path:
        return self._one(f"-linux-{self.arch}.spdx.json")

    def unpack(self, into: Path) -> Path:
        with tarfile.open(self.archive) as packed:
            packed.extractall(into)
        return into / self.archive.name.removesuffix(".tar.gz")

    def unpack_package(self, into: Path) -> Path:
        call("dpkg-deb", "--extract", self.package, into)
        return into


def release(tool: Path, out: Path, *words, arch: str | None = None, timeout=1800, **options) -> Products:
    done = call(tool, "--json", "--out", out, *words, timeout=timeout, **options)
    return Products(out, json.loads(done.stdout), arch or platform.machine())


def trial(out: Path) -> Products:
    return release(ROOT / "tools/release", out, "--trial", "--build", build_directory())


def clean_copy(directory: Path) -> Path:
    """This tree with all that is changed in it, as a clean checkout of one commit. Copies have the
    same commit wherever they are."""
    directory.mkdir(parents=True)
    names = call("git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").stdout
    kept = "".join(f"{name}\0" for name in sorted(set(names.split("\0"))) if name and (ROOT / name).exists())
    packer = subprocess.run(["tar", "-C", str(ROOT), "--null", "--files-from=-", "-c"], input=kept.encode(),
                            capture_output=True, check=True)
    subprocess.run(["tar", "-C", str(directory), "-x"], input=packer.stdout, check=True)
    who = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.org", "GIT_COMMITTER_NAME": "t",
           "GIT_COMMITTER_EMAIL": "t@example.org", "GIT_AUTHOR_DATE": f"{EPOCH} +0000",
           "GIT_COMMITTER_DATE": f"{EPOCH} +0000", "GIT_CONFIG_GLOBAL": "/dev/null"}
    env = {**os.environ, **who}
    call("git", "init", "-q", "-b", "main", directory, env=env)
    call("git", "-C", directory, "add", "-A", env=env)
    call("git", "-C", directory, "commit", "-q", "-m", "one", env=env)
    return directory
