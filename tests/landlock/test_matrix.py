"""The contract's probes under the landlock backend, against the same table as native but for the
differences that are listed here with their reasons."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "contract"))

import test_contract  # noqa: E402
from support.without_namespaces import LandlockWorld  # noqa: E402
from table import PRESETS, ROWS  # noqa: E402

HELD = ("strict", "workspace", "readonly", "build")  # agent needs a network of its own

# Row: the verdicts under HELD, and why they are not those of native.
DIFFERENT = {
    "stat-outside": ("AAAA", "metadata: Landlock does not judge looking a name up"),
    "write-private-home": ("RRRR", "HOME leads to the private home; the real path is the host's"),
    "write-private-tmp": ("RRRR", "TMPDIR leads to the private one; /tmp is the host's"),
    "write-private-shm": ("RRRR", "/dev/shm is the host's"),
    "own-loopback": ("RRRR", "without a network of its own there is none at all"),
    "route-netlink": ("RRRR", "it would show the host's interfaces"),
}
# Attributes do not exist here, so that cp and ls go on without them.
ALSO_REFUSED = {"EOPNOTSUPP"}


class Surroundings(test_contract.Surroundings):
    world_type = LandlockWorld


@pytest.fixture(scope="module")
def inside():
    made = {}

    def attempts(who, preset):
        if who not in made:
            made[who] = (Surroundings(who), {})
        around, found = made[who]
        if preset not in found:
            around.refill()
            answers = around.world.inside([around.attempt(row) for row in ROWS],
                                          options=test_contract.preset_options(preset, around.world),
                                          timeout=120)
            found[preset] = dict(zip((row.name for row in ROWS), answers))
        return found[preset]

    yield attempts
    for around, _ in made.values():
        around.refill()
        around.close()


@pytest.mark.parametrize("preset", HELD)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_verdict(inside, who, preset, row):
    answer = inside(who, preset)[row.name]
    wanted = row.verdicts[PRESETS.index(preset)]
    if row.name in DIFFERENT:
        wanted = DIFFERENT[row.name][0][HELD.index(preset)]
    if wanted == "A":
        assert answer.ok, f"{row.name} is allowed under {preset} but was refused: {answer}"
        return
    assert not answer.ok, f"{row.name} is refused under {preset} but succeeded: {answer}"
    refusals = row.errors | ALSO_REFUSED | test_contract.harness.FILE_ERRORS
    assert answer.errno in refusals, f"{row.name} under {preset} failed by itself: {answer}"


def test_only_known_rows_differ():
    assert set(DIFFERENT) <= {row.name for row in ROWS}


def test_agent_is_refused_by_name(world):
    done = world.run("true", options=["--policy", "agent"]).expect(125)
    assert "network mode allow cannot be held by landlock" in done.err, done.account()
