#!/usr/bin/env python3
"""Holds the table of who may include whom, by reading the #include lines.

A folder includes lower levels and itself, never a sibling or a higher one. Parser libraries are
included by config alone, kernel headers by sys and sandbox/native alone, terminal output belongs to
cli (and loop's display).
"""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
# By folder; the longest name that fits counts. libcordon comes first, then what speaks other tools'
# languages, then the faces.
LEVELS = {
    "base": 0,
    "policy": 1,
    "config": 2, "sys": 2,
    "plan": 3, "host": 3, "audit": 3, "egress": 3, "gate": 3, "web": 3,
    "sandbox": 4, "changes": 4, "ship": 4,
    "run": 5, "gate/process": 5,
    "compat/dialect": 6,
    "compat/engine": 7, "compat/oci": 7, "compat/mxc": 7, "compat/srt": 7, "compat/safeclaw": 7, "compat/seatbelt": 7, "compat/processcontainer": 7,
    "compat": 8,
    "faces/cli": 9,
    "faces/doctor": 10, "faces/mcp": 10, "faces/loop": 10, "faces/setup": 10, "faces/ship": 10,
    "faces/fleet": 10,
    "compat/engine/command": 10, "compat/oci/command": 10, "compat/mxc/command": 10, "compat/srt/command": 10, "compat/command": 10, "compat/absent": 10,
    "faces/demo": 11,
    "faces": 12,
}
# Beside the levels: these may be included across one level because the design says so.
ALLOWED = {("host", "config"), ("host", "sys"), ("plan", "policy")}
PARSERS = re.compile(r"nlohmann/|rapidjson/|toml\+\+/|expat\.h")
KERNEL = re.compile(r"^linux/|^asm/")
IOSTREAM = {"iostream", "fstream", "sstream", "iomanip", "regex"}
# Headers that only unit tests include.
TEST_HEADERS = {"test_access.h", "test_tree.h", "made_up_host.h", "test_log.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')


def layer_of(name: str) -> str | None:
    """The folder of LEVELS that a path below src/ belongs to."""
    parts = name.split("/")[:-1]
    while parts and "/".join(parts) not in LEVELS:
        parts.pop()
    return "/".join(parts) or None


def problems_of(path: pathlib.Path):
    folder = layer_of(path.relative_to(TOP / "src").as_posix()) or "main"
    is_test = path.name.endswith("_test.cc") or path.name in TEST_HEADERS
    native = "sandbox/native" in path.as_posix()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quoted, target = match.group(1) == '"', match.group(2)
        where = f"{path.relative_to(TOP)}:{number}"
        if PARSERS.search(target) and folder != "config":
            yield f"{where}: only config may include parser libraries ({target})"
        if KERNEL.search(target) and folder != "sys" and not native:
            yield f"{where}: only sys and sandbox/native may include kernel headers ({target})"
        if target in IOSTREAM and not is_test:
            yield f"{where}: <{target}> costs every start; use fmt or plain strings"
        if not quoted or "/" not in target or folder == "main":
            continue
        other = layer_of(target)
        if other is None or other == folder:
            continue
        if LEVELS[other] >= LEVELS[folder] and (folder, other) not in ALLOWED:
            yield f"{where}: {folder} may not include {other} ({target})"
    if folder in ("policy", "plan") and not is_test:
        text = path.read_text()
        for header in ("unistd.h", "fcntl.h", "sys/stat.h", "time.h", "cstdio"):
            if f"#include <{header}>" in text:
                yield f"{path.relative_to(TOP)}: {folder} never touches the system (<{header}>)"


def main() -> int:
    files = sorted((TOP / "src").rglob("*.h")) + sorted((TOP / "src").rglob("*.cc"))
    found = [problem for path in files for problem in problems_of(path)]
    for problem in found:
        print(problem)
    print(f"{len(files)} files, {len(found)} problem(s)")
    # An empty walk would pass without having looked at anything.
    return 1 if found or len(files) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
