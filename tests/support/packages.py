"""Programs from npm that tests need: installed once into build/, from a lock file with digests."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

from . import harness


class Packages:
    """`source` holds package.json and package-lock.json, `name` says where below build/ they go."""

    def __init__(self, source: Path, name: str, at_least: int) -> None:
        self.source = source
        self.place = harness.ROOT / "build" / name
        self.at_least = at_least  # so many packages, else the check looked at nothing

    def install(self) -> Path:
        """Where node_modules is. Only what the lock file names is installed, and no script run."""
        harness.may_fetch()
        wanted = hashlib.sha256((self.source / "package-lock.json").read_bytes()).hexdigest()
        stamp = self.place / "installed"
        if not stamp.exists() or stamp.read_text() != wanted:
            shutil.rmtree(self.place, ignore_errors=True)
            self.place.mkdir(parents=True)
            for name in ("package.json", "package-lock.json"):
                shutil.copy(self.source / name, self.place)
            # Not "npm ci": it refuses a lock file without the optional packages of other systems.
            done = subprocess.run(["npm", "install", "--ignore-scripts", "--no-save", "--no-audit",
                                   "--no-fund", "--loglevel=error"], cwd=self.place,
                                  capture_output=True, text=True, timeout=300)
            assert done.returncode == 0, done.stdout + done.stderr
            self._check()
            stamp.write_text(wanted)
        return self.place

    def _check(self) -> None:
        """Everything that was installed is in the lock file, with the same digest."""
        locked = json.loads((self.source / "package-lock.json").read_text())["packages"]
        found = json.loads((self.place / "node_modules/.package-lock.json").read_text())["packages"]
        assert len(found) >= self.at_least, sorted(found)
        for name, package in found.items():
            wanted = locked.get(name)
            assert wanted and wanted["integrity"] == package["integrity"], \
                f"{name} is not the locked one"
