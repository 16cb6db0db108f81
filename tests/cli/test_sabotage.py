"""A build that leaves one layer out is refused at run time: enforcement is measured, not assumed.

The binary is the product with one file compiled differently (tests/sabotage); the product itself
has no such switch."""

import os
import shutil
from pathlib import Path

import pytest

from support import harness

# What the refusal names: the layer, or the operation that cannot work without it.
LAYERS = {
    "landlock": ("layer landlock",),
    "seccomp": ("layer seccomp",),
    "capabilities": ("layer capabilities",),
    "no_new_privs": ("layer no_new_privs", "install seccomp filter"),
    "namespaces": ("layer namespaces", "bring up loopback"),
    "mounts": ("layer mounts",),
    "read_only": ("layer new root", "layer mounts", "make the root read-only"),
    "broker": ("layer broker",),
}
if os.environ.get("CORDON_TEST_BACKEND") == "bwrap":
    del LAYERS["no_new_privs"]  # bubblewrap sets it as well: it is in force


@pytest.fixture(scope="module")
def sabotaged() -> Path:
    source = Path(os.environ.get(
        "CORDON_SABOTAGED", harness.ROOT / "out/release/tests/sabotage/cordon-sabotage"))
    assert source.exists(), f"{source} does not exist: build it, or set CORDON_SABOTAGED"
    target = harness.stage().path / "bin" / "cordon-sabotage"
    shutil.copy(source, target)
    target.chmod(0o755)
    return target


def run(world, binary, layer=None, options=()):
    env = {"CORDON_SABOTAGE": layer} if layer else {}
    return world.execute([binary, "run", *options, "--", "/bin/sh", "-c", "echo ran; echo > ran"],
                         env=env)


@pytest.mark.parametrize("layer", LAYERS)
def test_absent_layer_is_refused_in_network_mode_allow(world, sabotaged, layer):
    done = run(world, sabotaged, layer, ("--allow", "example.com:443")).expect(125)
    assert "ran" not in done.out and not (world.project / "ran").exists(), done.account()
    error = done.err.splitlines()[0]
    names = (*LAYERS[layer], "open a resolver")
    assert any(name in error for name in names), f"{error!r}: {layer}"


def test_sabotage_build_brokers_when_nothing_is_left_out(world, sabotaged):
    assert run(world, sabotaged, options=("--allow", "example.com:443")).expect(0).out == "ran\n"


@pytest.mark.parametrize("options", [(), ("--policy", "readonly")], ids=["workspace", "readonly"])
@pytest.mark.parametrize("layer", LAYERS)
def test_absent_layer_is_refused_before_the_command_runs(world, sabotaged, layer, options):
    done = run(world, sabotaged, layer, options).expect(125)
    assert "ran" not in done.out, f"the command ran without {layer}\n{done.account()}"
    assert not (world.project / "ran").exists()
    error = done.err.splitlines()[0]
    assert any(name in error for name in LAYERS[layer]), f"{error!r} does not name {layer}"


def test_sabotage_build_works_when_nothing_is_left_out(world, sabotaged):
    assert run(world, sabotaged).expect(0).out == "ran\n"
    assert (world.project / "ran").exists()


@pytest.mark.parametrize("layer", LAYERS)
def test_product_has_no_such_switch(world, layer):
    assert run(world, world.cordon, layer).expect(0).out == "ran\n"
    _, report = world.report("/bin/true", env={"CORDON_SABOTAGE": layer})
    enforced = report["enforcement"]
    for name in ("namespaces", "pivot_root", "bind_mounts", "landlock", "seccomp", "cap_drop",
                 "no_new_privs"):
        assert enforced[name] is True, f"{name} is off with CORDON_SABOTAGE={layer}: {enforced}"
