"""A build that leaves one layer out is refused at run time: enforcement is measured, not assumed.

The binary is the product with some steps compiled differently (tests/omitted); the product itself
has no such switch. What each layer holds is another question: tests/ablation."""

import os
from pathlib import Path

import pytest

from support.omitting import omitting

# What the refusal names: the layer, or the operation that cannot work without it.
LAYERS = {
    "landlock": ("layer landlock",),
    "seccomp": ("layer seccomp",),
    "capabilities": ("layer capabilities",),
    "no_new_privs": ("layer no_new_privs", "install seccomp filter"),
    "network_ns": ("layer namespaces", "bring up loopback"),
    "mounts": ("layer mounts",),
    "read_only": ("layer new root", "layer mounts", "make the root read-only"),
    "broker": ("layer broker",),
}
# Bubblewrap makes them by itself, in ways that this build has no hand in.
OF_NATIVE_ALONE = {
    "pid_ns": ("layer namespaces", "mount /proc"),
    "ipc_ns": ("layer namespaces",),
    "uts_ns": ("layer namespaces",),
    "cgroup_ns": ("layer namespaces",),
    "pivot_root": ("layer new root",),
}
if os.environ.get("CORDON_TEST_BACKEND") == "bwrap":
    del LAYERS["no_new_privs"]  # bubblewrap sets it as well: it is in force
else:
    LAYERS.update(OF_NATIVE_ALONE)


@pytest.fixture(scope="module")
def without() -> Path:
    return omitting()


def run(world, binary, layer=None, options=()):
    env = {"CORDON_OMIT": layer} if layer else {}
    return world.execute([binary, "run", *options, "--", "/bin/sh", "-c", "echo ran; echo > ran"],
                         env=env)


@pytest.mark.parametrize("layer", LAYERS)
def test_absent_layer_is_refused_in_network_mode_allow(world, without, layer):
    done = run(world, without, layer, ("--allow", "example.com:443")).expect(125)
    assert "ran" not in done.out and not (world.project / "ran").exists(), done.account()
    error = done.err.splitlines()[0]
    names = (*LAYERS[layer], "open a resolver")
    assert any(name in error for name in names), f"{error!r}: {layer}"


def test_the_build_brokers_when_nothing_is_left_out(world, without):
    assert run(world, without, options=("--allow", "example.com:443")).expect(0).out == "ran\n"


@pytest.mark.parametrize("options", [(), ("--policy", "readonly")], ids=["workspace", "readonly"])
@pytest.mark.parametrize("layer", LAYERS)
def test_absent_layer_is_refused_before_the_command_runs(world, without, layer, options):
    done = run(world, without, layer, options).expect(125)
    assert "ran" not in done.out, f"the command ran without {layer}\n{done.account()}"
    assert not (world.project / "ran").exists()
    error = done.err.splitlines()[0]
    assert any(name in error for name in LAYERS[layer]), f"{error!r} does not name {layer}"


def test_the_build_works_when_nothing_is_left_out(world, without):
    assert run(world, without).expect(0).out == "ran\n"
    assert (world.project / "ran").exists()


def test_a_layer_that_there_is_not_is_refused(world, without):
    """Else a misspelt name would leave nothing out, and every attack would be held."""
    done = run(world, without, "landlok").expect(125)
    assert "there is no layer landlok" in done.err and not (world.project / "ran").exists()


def test_nothing_is_accepted_in_the_namespaces_of_the_host(world, without):
    """A sandbox without a layer is not to be had by hand, where it would be dangerous."""
    argv = [without, "run", "--backend", "native", "--", "/bin/sh", "-c", "echo > ran"]
    # Without the last two, building the sandbox would change the host before anything is compared.
    for omitted in ({"CORDON_OMIT": "landlock", "CORDON_OMIT_ACCEPT": "1"}, {"CORDON_OMIT": "user_ns"},
                    {"CORDON_OMIT": "mount_ns"}):
        done = world.execute(argv, env=omitted).expect(125)
        assert "namespaces of the host" in done.err and not (world.project / "ran").exists()


@pytest.mark.parametrize("layer", LAYERS)
def test_product_has_no_such_switch(world, layer):
    switch = {"CORDON_OMIT": layer, "CORDON_OMIT_ACCEPT": "1"}
    done, report = world.report("/bin/sh", "-c", "echo ran", env=switch)
    assert done.expect(0).out == "ran\n"
    enforced = report["enforcement"]
    for name in ("namespaces", "pivot_root", "bind_mounts", "landlock", "seccomp", "cap_drop",
                 "no_new_privs"):
        assert enforced[name] is True, f"{name} is off with CORDON_OMIT={layer}: {enforced}"
