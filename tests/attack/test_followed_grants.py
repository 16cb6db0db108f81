"""What a run writes never decides what the next one may read: links and `pyvenv.cfg` files below a
writable directory lead to no grant of their choice."""
import pytest


def plant_virtual_environment(world, target):
    """A run makes an environment whose interpreter is said to be in `target`."""
    script = f"mkdir -p .venv/bin && echo 'home = {target}' > .venv/pyvenv.cfg"
    world.run("sh", "-c", script).expect(0)
    return world.project / ".venv/bin"


def plant_link(world, target):
    """A run puts a link with a tool's name into a directory that is on PATH."""
    world.run("sh", "-c", f"mkdir -p tools && ln -s {target}/notes tools/node").expect(0)
    return world.project / "tools"


def plant_directory(world, target):
    """A run makes a directory on PATH a link."""
    world.run("sh", "-c", f"ln -s {target} tools").expect(0)
    return world.project / "tools"


def path_with(world, directory):
    return {"PATH": f"{directory}:{world.environment()['PATH']}"}


@pytest.mark.parametrize("bounded", [False, True], ids=["no ceiling", "a ceiling"])
@pytest.mark.parametrize("preset", ["workspace", "readonly"])
@pytest.mark.parametrize("plant", [plant_virtual_environment, plant_link, plant_directory])
def test_a_later_run_reads_nothing_that_an_earlier_one_named(world, plant, preset, bounded):
    secret = world.write(world.home / "private/notes", "SECRET\n", 0o755)
    options = ["--policy", preset]
    if bounded:
        options += ["--ceiling", world.document(
            f'version = 1\n[fs]\nread = ["@system", "@toolchains", "{world.project}"]\n'
            f'write = ["{world.project}"]\n', "bound.toml")]
    env = path_with(world, plant(world, secret.parent))
    denied = world.run("cat", secret, options=options, env=env)
    assert denied.status == 1 and "SECRET" not in denied.out, denied.account()
    # Outside of a sandbox, and with a grant of the caller's own, nothing else forbids it.
    assert "SECRET" in world.bare("cat", secret, env=env).out
    if not bounded:
        granted = world.run("cat", secret, options=[*options, "--read", secret.parent], env=env)
        assert "SECRET" in granted.expect(0).out


def test_an_environment_of_the_project_finds_a_known_interpreter(world):
    """The same link to a place that is a toolchain by name, wherever the run wishes it to be."""
    known = world.write(world.home / ".local/share/uv/python/cpython-3/bin/python3",
                        "#!/bin/sh\necho the interpreter\n", 0o755)
    world.run("sh", "-c", f"mkdir -p .venv/bin && ln -s {known} .venv/bin/python && "
                          f"echo 'home = {known.parent}' > .venv/pyvenv.cfg").expect(0)
    env = path_with(world, world.project / ".venv/bin")
    assert "the interpreter" in world.run("python", env=env).expect(0).out


@pytest.mark.parametrize("plant", [plant_virtual_environment, plant_link, plant_directory])
def test_what_a_run_named_in_another_project_is_not_followed_either(world, plant):
    """An environment stays on PATH when the person goes to the next project."""
    secret = world.write(world.home / "private/notes", "SECRET\n", 0o755)
    world.make_directory(world.project / ".git")
    env = path_with(world, plant(world, secret.parent))
    elsewhere = world.make_directory(world.home / "elsewhere")
    denied = world.run("cat", secret, env=env, cwd=elsewhere)
    assert denied.status == 1 and "SECRET" not in denied.out, denied.account()
    granted = world.run("cat", secret, options=["--read", secret.parent], env=env, cwd=elsewhere)
    assert "SECRET" in granted.expect(0).out
