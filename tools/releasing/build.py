"""Building: one architecture, from nothing, with nothing of the caller's environment in it."""

import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from releasing.tree import Refusal, Tree

ARCHITECTURES = ("aarch64", "x86_64")
# Program, the Debian package that has it.
TOOLS = (("cmake", "cmake"), ("ninja", "ninja-build"), ("g++", "g++"), ("scdoc", "scdoc"),
         ("dpkg-deb", "dpkg"), ("dpkg-query", "dpkg"), ("gzip", "gzip"), ("lintian", "lintian"))
CROSS_COMPILERS = {"x86_64": ("x86_64-linux-gnu-g++", "g++-x86-64-linux-gnu"),
                   "aarch64": ("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu")}
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"

_child: subprocess.Popen | None = None


class Failed(Exception):
    """A step that did not work, with the end of what it said."""


def say(text: str) -> None:
    print(f"release: {text}", file=sys.stderr, flush=True)


def native() -> str:
    return platform.machine()


def environment(source: Tree) -> dict[str, str]:
    """CXXFLAGS, LDFLAGS and a compiler from somebody's home would all show in the product."""
    passed = {name: value for name, value in os.environ.items()
              if name == "HOME" or name.startswith("CCACHE_")}
    return {"PATH": PATH, "LC_ALL": "C.UTF-8", "TZ": "UTC", "SOURCE_DATE_EPOCH": str(source.epoch),
            **passed}


def need_tools(arch: str, source: Tree) -> None:
    needed = TOOLS if arch == native() else (*TOOLS, CROSS_COMPILERS[arch])
    missing = sorted({owner for name, owner in needed if not shutil.which(name, path=PATH)})
    if missing:
        raise Refusal(f"programs are missing; as root: apt-get install {' '.join(missing)}")


def stop_child() -> None:
    if _child and _child.poll() is None:
        _child.terminate()
        try:
            _child.wait(timeout=20)
        except subprocess.TimeoutExpired:
            _child.kill()
            _child.wait()


def run(argv, source: Tree, *, what: str, progress: bool = False) -> str:
    """Runs a command to its end; its output is shown only if it fails."""
    global _child
    words = [str(word) for word in argv]
    lines: list[str] = []
    shown = time.monotonic()
    terminal = sys.stderr.isatty()
    with subprocess.Popen(words, env=environment(source), stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace") as child:
        _child = child
        for line in child.stdout:
            lines.append(line)
            step = re.match(r"\[(\d+)/(\d+)\]", line) if progress else None
            # A terminal sees every step, a log one line in half a minute.
            if step and terminal:
                print(f"\r{what}: {step[1]} of {step[2]} ", end="", file=sys.stderr, flush=True)
            elif step and time.monotonic() - shown > 30:
                shown = time.monotonic()
                say(f"{what}: {step[1]} of {step[2]}")
        child.wait()
    if progress and terminal:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    if child.returncode != 0:
        raise Failed(f"{what} failed (status {child.returncode}):\n{''.join(lines[-40:])}")
    return "".join(lines)


def build(arch: str, source: Tree, directory: Path, given: Path | None, maintainer: str | None,
          jobs: int | None) -> Path:
    """Returns the build directory, with the product and everything that is installed beside it."""
    say(f"{arch}: building")
    settings = ["-DCORDON_WITH_TESTS=OFF", "-DCORDON_STATIC=ON", "-DCMAKE_BUILD_TYPE=Release"]
    if arch != native():
        settings.append(f"-DCMAKE_TOOLCHAIN_FILE={source.root / 'cmake' / f'toolchain-{arch}.cmake'}")
    if given:
        directory = given.resolve()
        if not (directory / "CMakeCache.txt").is_file():
            raise Refusal(f"{directory} is not a build directory")
        settings = []
    if maintainer:
        settings.append(f"-DCORDON_MAINTAINER={maintainer}")
    run(["cmake", "-S", source.root, "-B", directory, "-G", "Ninja", *settings], source,
        what=f"{arch}: configuring")
    words = ["cmake", "--build", directory, "--target", "cordon", "cordon_install_files"]
    run(words + (["--parallel", jobs] if jobs else []), source, what=f"{arch}: building", progress=True)
    return directory


def install(directory: Path, source: Tree, stage: Path) -> Path:
    run(["cmake", "--install", directory, "--prefix", stage, "--component", "runtime", "--strip"],
        source, what="installing")
    return stage
