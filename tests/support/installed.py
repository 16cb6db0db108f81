"""What the tests of an installation share: where the build is, and calls that must succeed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from support.harness import ROOT


def build_directory() -> Path:
    return Path(os.environ.get("CORDON_BUILD", ROOT / "out" / "release"))


def call(*argv, **options) -> subprocess.CompletedProcess:
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, timeout=300,
                          check=False, **options)
    assert done.returncode == 0, f"{argv}\n{done.stdout}\n{done.stderr}"
    return done
