"""The build that leaves layers out (tests/omitted), copied to where every person may execute it."""

import os
import shutil
from pathlib import Path

from support import harness


def programs() -> Path:
    return Path(os.environ.get("CORDON_OMITTING", harness.ROOT / "out/release/tests/omitted/bin"))


def omitting() -> Path:
    """The command. Its cordon-inside lies beside it, and what it needs besides is the product's."""
    place = harness.stage().path / "omitting"
    if not place.exists():
        shutil.copytree(harness.stage().path / "bin", place, copy_function=os.link)
        for name in ("cordon", "cordon-inside"):
            source = programs() / name
            assert source.exists(), f"{source} does not exist: build it, or set CORDON_OMITTING"
            (place / name).unlink(missing_ok=True)
            shutil.copy(source, place / name)
            (place / name).chmod(0o755)
    return place / "cordon"
