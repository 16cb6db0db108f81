"""Where there is nothing but Landlock: containers with podman's default profile, a host whose sysctl
forbids user namespaces, a namespace in a namespace, a chroot. In each a project with a repository is worked
on, attacked, and is as it was afterwards."""

import json
import os

import pytest

from support import container, harness

CEILING = """version = 1
[fs]
read = ["/"]
write = ["{project}"]
[require]
accept_missing = ["namespaces"]
"""
# Without limits: root of a namespace without control groups has nothing to bound processes by.
POLICY = """version = 1
[fs]
read = ["@system"]
write = ["@cwd"]
home = "private"
scratch = "64M"
"""
WORK = ("git config --global --add safe.directory '*' && echo x > new && git add new && "
        "git -c user.name=a -c user.email=a@example.com commit -q -m inside && "
        "git config core.fsmonitor ./evil && echo EVIL > .git/hooks/pre-commit && "
        "echo EVIL > .mcp.json && echo worked")


class Place:
    """A world whose commands run somewhere else."""

    def __init__(self, world, name):
        self.world, self.name, self.made = world, name, 0

    def run(self, argv):
        return self.world.execute(getattr(self, self.name)([str(word) for word in argv]))

    def sysctl(self, argv):
        inner = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
        return ["unshare", "-Ur", "/bin/sh", "-c", inner, "sh", *argv]

    def nested(self, argv):
        return ["unshare", "-Ur", "unshare", "-Ur", *argv]

    def chroot(self, argv):
        """A directory with the host's programs, entered without any of its other mounts."""
        world, root = self.world, self.world.make_directory(self.world.path / "root")
        shown = [world.path / "home", world.trusted, world.cordon.parent]
        lines = ["set -e"]
        for name in ("bin", "sbin", "lib", "lib64"):
            if os.path.islink(f"/{name}"):
                lines.append(f"ln -sfn '{os.readlink('/' + name)}' '{root}/{name}'")
        for path in ["/usr", "/proc", "/dev", *shown]:
            lines.append(f"mkdir -p '{root}{path}' && mount --rbind '{path}' '{root}{path}'")
        lines.append(f"cd '{root}' && exec /usr/sbin/chroot . /bin/sh -c 'cd \"$0\" && exec \"$@\"' "
                     f"'{world.project}' \"$@\"")
        return ["unshare", "-Urm", "/bin/sh", "-c", "\n".join(lines), "sh", *argv]

    def container(self, argv, options=container.Options()):
        world = self.world
        self.made += 1
        place = world.make_directory(world.path / f"bundle-{self.made}")
        shown = [world.path / "home", world.trusted, world.cordon.parent]
        environment = world.environment({"container": "podman"})
        container.bundle(place, argv, environment, world.project, shown, options)
        for path in [place, *place.rglob("*")]:
            os.chown(path, world.who.uid, world.who.uid, follow_symlinks=False)
        state = world.make_directory(world.path / f"state-{self.made}")
        return container.command(place, state, world.who.uid)

    def container_without_capabilities(self, argv):
        """podman run --cap-drop=all"""
        return self.container(argv, container.Options([]))

    def container_without_setpcap(self, argv):
        """Its root has rights that it cannot take from what it starts, but by no_new_privs."""
        left = [name for name in container.CAPABILITIES if name != "CAP_SETPCAP"]
        return self.container(argv, container.Options(left))


PLACES = ["sysctl", "nested", "chroot", "container", "container_without_capabilities", "container_without_setpcap"]


@pytest.fixture(params=PLACES)
def place(request, who):
    world = harness.World(who, harness.stage().new_directory())
    git = ["git", "-c", "safe.directory=*"]
    world.execute([*git, "init", "-q", "."]).expect(0)
    world.write(world.project / ".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n", 0o755)
    world.write(world.project / ".mcp.json", "{}\n")
    yield Place(world, request.param)
    world.tidy()
    harness.remove_tree(world.path)


def test_a_repository_is_worked_on_and_attacked(place):
    world = place.world
    ceiling = world.document(CEILING.format(project=world.project), "ceiling.toml")
    policy = world.document(POLICY)
    report = world.trusted / "report.json"
    held = (".git/config", ".git/hooks/pre-commit", ".mcp.json")
    before = {name: (world.project / name).read_text() for name in held}
    options = ["--backend", "landlock", "--ceiling", ceiling, "--policy", policy]
    done = place.run([world.cordon, "run", *options, "--report", report, "--", "/bin/sh", "-c", WORK])
    assert done.expect(0).out == "worked\n", done.account()
    told = json.loads(report.read_text())
    assert told["enforcement"]["landlock"] and told["enforcement"]["seccomp"], told["enforcement"]
    assert "protected" in told["enforcement"]["lost"], told["enforcement"]
    assert {entry["path"] for entry in told["handoff"] if entry["restored"]} == set(held)
    assert {name: (world.project / name).read_text() for name in held} == before
    log = world.execute(["git", "-c", "safe.directory=*", "log", "--oneline"]).out
    assert log.count("\n") == 1 and "inside" in log
    # The control: the same without a sandbox, in the same place, changes them.
    done = place.run(["/bin/sh", "-c", "echo EVIL > .mcp.json"])
    assert done.status == 0 and (world.project / ".mcp.json").read_text() == "EVIL\n", done.account()


def test_a_file_outside_is_out_of_reach(place):
    world = place.world
    secret = world.write(world.home / "secret", "SECRET\n")
    ceiling = world.document(CEILING.format(project=world.project), "ceiling.toml")
    options = ["--backend", "landlock", "--ceiling", ceiling, "--policy", world.document(POLICY)]
    done = place.run([world.cordon, "run", *options, "--", "cat", secret])
    assert done.status == 1 and "SECRET" not in done.out, done.account()
    done = place.run(["cat", secret])
    assert done.out == "SECRET\n", done.account()


@pytest.mark.parametrize("place", ["sysctl", "chroot", "container"], indirect=True)
def test_native_does_not_run_there(place):
    """Else the tier would not be needed: the limit, the root, or what is hidden below /proc is in the way.
    In a namespace of a namespace native works."""
    policy = place.world.document(POLICY)
    done = place.run([place.world.cordon, "run", "--policy", policy, "--", "touch", "ran"])
    assert done.status == 125 and not (place.world.project / "ran").exists(), done.account()


@pytest.mark.parametrize("place", ["container", "container_without_setpcap"], indirect=True)
def test_the_rights_of_root_are_gone(place):
    """A closed file, which the owner's own rights do not open."""
    world = place.world
    closed = world.write(world.project / "closed", "CLOSED\n", 0o000)
    ceiling = world.document(CEILING.format(project=world.project), "ceiling.toml")
    options = ["--backend", "landlock", "--ceiling", ceiling, "--policy", world.document(POLICY)]
    done = place.run([world.cordon, "run", *options, "--", "cat", closed])
    assert done.status == 1 and "Permission denied" in done.err, done.account()
    assert place.run(["cat", closed]).expect(0).out == "CLOSED\n"


@pytest.mark.parametrize("place", ["container", "container_without_capabilities"], indirect=True)
def test_what_a_container_is_to_be_started_with_is_named_at_once_and_does(place):
    world, drained = place.world, place.name == "container_without_capabilities"
    command = [str(word) for word in (world.cordon, "run", "--policy", world.document(POLICY), "--", "touch", "ran")]
    cures = ["--security-opt unmask=ALL", "--security-opt seccomp=unconfined"]
    said = place.run(command).expect(125).err
    assert all(cure in said for cure in cures) and ("--cap-add SETFCAP" in said) == drained, said
    left = ["CAP_SETFCAP"] if drained else container.CAPABILITIES
    # Half of it is no success, and what is left to do is said.
    half = world.execute(place.container(command, container.Options(left, masked=False))).expect(125)
    assert cures[1] in half.err and cures[0] not in half.err, half.account()
    assert not (world.project / "ran").exists()
    world.execute(place.container(command, container.Options(left, masked=False, filtered=False))).expect(0)
    assert (world.project / "ran").exists()
