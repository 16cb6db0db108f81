"""docs/ablation.md is what was measured, and a sample of it is measured again.

`ablation.py --compare` measures everything again; that belongs to ./test --all."""

import ablation
import pytest

# A set of each kind: nothing, one layer, two that hold the same.
SAMPLE = {
    "root": ["nothing", "seccomp", "holds", "landlock+pid_ns"],
    "user": ["nothing", "masks", "pivot_root", "broker+network_ns"],
}


def test_the_page_is_what_was_measured():
    assert ablation.check() == []


def test_a_sample_is_as_it_was(who):
    found = ablation.measured(who.name, SAMPLE[who.name])
    kept = ablation.read()["people"][who.name]
    assert found == {name: kept[name] for name in SAMPLE[who.name]}
    assert found["nothing"] == {"succeeded": [], "refused": None}
    assert all(entry["succeeded"] for name, entry in found.items() if name != "nothing")


def test_a_typed_cell_is_noticed():
    results = ablation.read()
    results["people"]["user"]["landlock"]["succeeded"].append("read-outside")
    assert ablation.page(results) != ablation.PAGE.read_text()


@pytest.mark.parametrize("name,entry", [
    ("nothing", {"succeeded": ["read-outside"], "refused": None}),  # the product does not hold
    ("uts_ns", {"succeeded": [], "refused": None}),                 # a layer that holds nothing
    ("seccomp", {"succeeded": ["no-such-attack"], "refused": None}),
    ("seccomp", None)])                                             # not measured
def test_results_that_prove_too_little_are_refused(name, entry):
    results = ablation.read()
    for found in results["people"].values():
        found[name] = entry
        if entry is None:
            del found[name]
    assert ablation.troubles(results)
