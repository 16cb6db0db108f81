"""Worlds in which user namespaces are refused and a ceiling accepts to go without them."""

import shutil
from pathlib import Path

import pytest

from support import harness
from support.internet import NetWorld

LAUNCHER = Path(__file__).resolve().parent / "no_namespaces.py"

CEILING = """version = 1
[fs]
read = ["/"]
write = ["{project}", "{shared}"]
[net]
mode = "open"
[require]
accept_missing = ["namespaces"]
"""


def launcher() -> list[str]:
    target = harness.stage().path / "bin" / "no_namespaces.py"
    if not target.exists():
        shutil.copy(LAUNCHER, target)
        target.chmod(0o755)
    return ["/usr/bin/python3", str(target)]


class LandlockWorld(harness.World):
    """Every run goes through the launcher and the landlock backend."""

    chosen = ("--backend", "landlock")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shared = self.make_directory(self.path / "shared")
        self.ceiling = self.document(
            CEILING.format(project=self.project, shared=self.shared), "ceiling.toml")

    def run(self, *command, options=(), **how):
        return self.execute([*launcher(), self.cordon, "run", *self.chosen, "--ceiling",
                             self.ceiling, *options, "--", *command], **how)

    def start_run(self, *command, options=(), **how):
        return self.start([*launcher(), self.cordon, "run", *self.chosen, "--ceiling",
                           self.ceiling, *options, "--", *command], **how)

    def left_behind(self) -> list[Path]:
        state = self.home / ".local/state/cordon"
        return [path for name in ("private", "runs", "kept") if (state / name).exists()
                for path in (state / name).iterdir() if path.name != "lock"]


class LandlockNetWorld(NetWorld, LandlockWorld):
    """The same on the host of a small internet."""


@pytest.fixture
def net(who, internet):
    made = LandlockNetWorld(who, harness.stage().new_directory(), internet)
    yield made
    made.leave()


@pytest.fixture
def world(who):
    made = LandlockWorld(who, harness.stage().new_directory())
    yield made
    made.leave()
