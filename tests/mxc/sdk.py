"""The published SDK releases, installed once into build/ from a lock file with digests, and the
built executor under the name they look for."""

import hashlib
import json
import platform
import shutil
import subprocess
from pathlib import Path

from support import harness

SOURCE = Path(__file__).parent / "suite"
PLACE = harness.ROOT / "build" / "mxc-suite"
RELEASES = ("0.6.0", "0.7.0", "0.8.0")
ARCH = {"aarch64": "arm64", "x86_64": "x64"}[platform.machine()]

_staged: Path | None = None
_executors: Path | None = None


def install() -> Path:
    harness.may_fetch()
    wanted = hashlib.sha256((SOURCE / "package-lock.json").read_bytes()).hexdigest()
    stamp = PLACE / "installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(PLACE, ignore_errors=True)
        PLACE.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(SOURCE / name, PLACE)
        done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund",
                               "--loglevel=error"], cwd=PLACE, capture_output=True, text=True,
                              timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        stamp.write_text(wanted)
    return PLACE


def shipped(release: str) -> Path:
    """The executor that the release itself carries."""
    return install() / "node_modules" / f"mxc-sdk-{release}" / "bin" / ARCH / "lxc-exec"


def staged() -> Path:
    """Everything where an ordinary user can read it."""
    global _staged
    if _staged is None:
        place = harness.stage().path / "mxc"
        place.mkdir(mode=0o755)
        shutil.copytree(install() / "node_modules", place / "node_modules",
                        ignore=lambda folder, names: [n for n in names if n == "bin"])
        shutil.copy(SOURCE / "drive.mjs", place)
        # The SDK starts nothing where it finds neither LXC nor bubblewrap; it only asks for a version.
        (place / "path").mkdir()
        shim = place / "path" / "bwrap"
        shim.write_text("#!/bin/sh\necho bubblewrap 0.8.0\n")
        shim.chmod(0o755)
        _staged = place
    return _staged


def executors() -> Path:
    """A directory for MXC_BIN_DIR with Cordon's own executor. Nothing from npm is in it."""
    global _executors
    if _executors is None:
        place = harness.stage().path / "executors"
        (place / ARCH).mkdir(parents=True, mode=0o755)
        shutil.copy(harness.stage().cordon.parent / "cordon-tools", place / ARCH / "lxc-exec")
        _executors = place
    return _executors


def executor() -> Path:
    return executors() / ARCH / "lxc-exec"


def drive(world, release: str, call: str, wish: dict, timeout: float = 60) -> dict:
    place = staged()
    done = world.execute([shutil.which("node"), place / "drive.mjs", release, call, json.dumps(wish)],
                         cwd=world.project, timeout=timeout,
                         env={"MXC_BIN_DIR": str(executors()),
                              "PATH": f"{place / 'path'}:{harness.BASE_PATH}"})
    done.expect(0)
    return json.loads(done.out.splitlines()[-1])
