"""Every probe of the contract by an executor and by native, under policies that are no presets
(tests/equivalence has those): the verdicts are the same."""

import sys
from pathlib import Path

import pytest

import executor

sys.path.insert(0, str(Path(__file__).parents[1] / "contract"))
import test_contract as contract  # noqa: E402
from table import ROWS  # noqa: E402

pytestmark = pytest.mark.npm

POLICIES = {
    "writable": lambda world: ["--policy", "strict", "--write", world.project],
    "readable": lambda world: ["--policy", "strict", "--read", world.project],
}


@pytest.fixture(scope="module")
def answered():
    found = {}
    places = {}

    def ask(who, policy):
        if who not in places:
            places[who] = contract.Surroundings(who)
        around = places[who]
        if (who, policy) not in found:
            env = executor.pinned(around.world)
            attempts = [around.attempt(row) for row in ROWS]
            for backend in ("native", "mxc"):
                around.refill()
                answers = around.world.inside(
                    attempts, options=[*POLICIES[policy](around.world), "--backend", backend],
                    timeout=120, env=env)
                found[who, policy, backend] = dict(zip((row.name for row in ROWS), answers))
            found[who, policy] = True
        return found[who, policy, "native"], found[who, policy, "mxc"]

    yield ask
    for around in places.values():
        around.refill()
        around.close()


@pytest.mark.parametrize("policy", POLICIES)
def test_same_verdicts_as_native(answered, who, policy):
    native, mxc = answered(who, policy)
    for row in ROWS:
        one, other = native[row.name], mxc[row.name]
        assert one.ok == other.ok, f"{row.name}: native {one}, mxc {other}"
        if not other.ok and row.verdicts != "AAAAA":
            assert other.errno in row.errors, f"{row.name} failed for another reason: {other}"
    # What is compared says both yes and no.
    assert any(answer.ok for answer in mxc.values()) and not all(a.ok for a in mxc.values())
