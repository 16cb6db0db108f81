"""What is brought into a machine: the checkout as it is, the programs built for that machine where the
suites look for them, and the job. One tar archive, written to the machine's second disk."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
from pathlib import Path

from images import CHECKOUT, STORE
from machines import Machine

COMPILED = STORE / "pycache"

# Sources and corpora that no suite reads, but one.
LEFT_OUT = ("src/", "tests/fuzz/", "tests/mcp/hosts/", "tests/mcp/suite/", "tests/mxc/suite/")


def pack(machine: Machine, job: dict, target: Path) -> None:
    if not (CHECKOUT / machine.binaries / "cordon").exists():
        raise SystemExit(f"tests/vm: {machine.binaries}/cordon does not exist: build it first "
                         f"({_how_to_build(machine)})")
    with tarfile.open(target, "w") as archive:
        with_agents = any(suite.get("agents") for suite in job["suites"])
        for name in _files("tests/mcp/hosts/" if with_agents else ""):
            _add(archive, CHECKOUT / name, f"cordon/{name}")
        compiled = _compiled(job)
        for path in sorted(compiled.rglob("*.pyc")):
            place = path.parent.relative_to(compiled)
            _add(archive, path, f"cordon/{place}/__pycache__/{path.name}")
        for path in sorted((CHECKOUT / machine.binaries).glob("cordon*")):
            if path.is_file():
                _add(archive, path, f"cordon/build/{path.name}")
        if with_agents:
            _add_agents(archive)
        programs = CHECKOUT / machine.test_programs
        for path in sorted(programs.rglob("*")):
            if path.is_file() and path.stat().st_mode & 0o100 and _is_program(path):
                _add(archive, path, f"cordon/out/release/tests/{path.relative_to(programs)}")
        if any(suite.get("package") for suite in job["suites"]):
            _add(archive, _package(machine), "package.deb")
        text = json.dumps(job).encode()
        entry = tarfile.TarInfo("job.json")
        entry.size = len(text)
        entry.mode = 0o644
        archive.addfile(entry, io.BytesIO(text))


def _compiled(job: dict) -> Path:
    """The tests as this machine's pytest compiles them: an emulated one would take minutes for it. What is
    older than its source, or was made by another version, is not used."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(COMPILED)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for suite in job["suites"]:
        if "pytest" in suite:
            subprocess.run(["/usr/bin/python3", "-m", "pytest", "--collect-only", "-q", "-p",
                            "no:cacheprovider", f"--rootdir={CHECKOUT}", *suite["pytest"]],
                           cwd=CHECKOUT, env=environment, check=False, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return COMPILED / CHECKOUT.relative_to("/")


def _package(machine: Machine) -> Path:
    """The Debian package of the programs that are brought, as tools/release makes it of a tree with changes."""
    place = STORE / "package" / machine.processor
    done = subprocess.run([str(CHECKOUT / "tools/release"), "--json", "--trial", "--arch", machine.processor, "--build",
                           str(CHECKOUT / "out" / machine.preset), "--out", str(place)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"tests/vm: no package was made\n{done.stderr[-4000:]}")
    [name] = [entry["name"] for entry in json.loads(done.stdout)["files"] if entry["name"].endswith(".deb")]
    return place / name


def _add_agents(archive: tarfile.TarFile) -> None:
    """What the documents take from npm, as it was installed here: the machine has no network. Of the clients those that
    the documents show; they are hundreds of megabytes."""
    asked = ("import hosts, places\n"
             "print(places.PROGRAMS.install())\n"
             "for name in places.AGENTS: print(hosts.source(name))\n"
             "print(hosts.CLIENTS.place / 'installed')\n")
    tests = CHECKOUT / "tests"
    done = subprocess.run(["/usr/bin/python3", "-c", asked], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": f"{tests}:{tests / 'docs'}:{tests / 'mcp/hosts'}"})
    for line in done.stdout.splitlines():
        place = Path(line)
        archive.add(place, f"cordon/{place.relative_to(CHECKOUT)}", filter=_readable_by_all)


def _files(wanted: str) -> list[str]:
    """What git knows or would: a file that was just written is tried before it is committed."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=CHECKOUT, check=True, stdout=subprocess.PIPE).stdout.decode()
    return [name for name in listed.split("\0")
            if name and (not name.startswith(LEFT_OUT) or wanted and name.startswith(wanted)) and (CHECKOUT / name).is_file()]


def _is_program(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF" and path.suffix != ".so"


def _readable_by_all(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Root's."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mode |= 0o444 | (0o111 if entry.mode & 0o100 else 0)
    return entry


def _add(archive: tarfile.TarFile, path: Path, name: str) -> None:
    archive.add(path, name, recursive=False, filter=_readable_by_all)


def _how_to_build(machine: Machine) -> str:
    return f"cmake --preset {machine.preset} && cmake --build --preset {machine.preset} --target cordon probe"
