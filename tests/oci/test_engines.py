"""Real engines with Cordon in the seat of their runtime: podman, and a containerd of the test's own with its
client. Their images are what the test makes; nothing is fetched."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.harness import wait_until

pytestmark = pytest.mark.only("root")
STATUS = "grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status | tr -d ' \\t'"
HELD = "CapEff:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n"


def need(*programs):
    missing = [program for program in programs if shutil.which(program) is None]
    assert not missing, f"tools/install-dependencies test installs {missing}"


def script_in_the_seat(seat, *more):
    """What an operator writes where options are needed."""
    words = [seat.link, "--runtime", seat.runtime, "--ceiling", seat.ceiling_file, "--policies", seat.policies,
             "--state", seat.copies, *more]
    lines = ["#!/bin/sh", f"export HOME={seat.world.home}", "unset XDG_STATE_HOME XDG_CONFIG_HOME",
             "exec " + " ".join(map(str, words)) + ' "$@"']
    return seat.world.write(seat.world.path / "seated", "\n".join(lines) + "\n", 0o755)


def root_of_an_image(seat):
    """A root with the places to bind the host's programs to."""
    root = seat.world.make_directory(seat.world.path / "image")
    for name in ("usr", "proc", "dev", "sys", "etc", "tmp", "run", "var/tmp", "root"):
        seat.world.make_directory(root / name)
    for name in ("bin", "sbin", "lib", "lib64"):
        if Path("/", name).is_symlink():
            seat.world.link(root / name, os.readlink(Path("/", name)))
    seat.world.write(root / "etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
    seat.world.write(root / "etc/group", "root:x:0:\n")
    return root


# Parents of the groups that engines make, which they leave behind.
GROUPS = f"oci-test-engines-{os.getpid()}"


def is_removed(place):
    """An engine's own process may be in it for a moment yet."""
    try:
        os.rmdir(place)
    except OSError:
        return False
    return True


def remove_groups():
    for top in Path("/sys/fs/cgroup").rglob(GROUPS):
        for place, _, _ in os.walk(top, topdown=False):
            assert wait_until(lambda: is_removed(place)), place


class Podman:
    """With every place of its own below the world."""

    def __init__(self, seat):
        self.seat = seat
        self.place = seat.world.make_directory(seat.world.path / "podman")
        self.script = script_in_the_seat(seat)
        limits = '["nofile=1024:1024", "nproc=1024:1024"]'
        seat.world.write(self.place / "containers.conf", f"[containers]\ndefault_ulimits = {limits}\nlog_driver = "
                         '"k8s-file"\n[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n')
        seat.world.write(self.place / "storage.conf", f'[storage]\ndriver = "vfs"\nrunroot = "{self.place}/run"\n'
                         f'graphroot = "{self.place}/graph"\n')

    def __call__(self, *words, **how):
        env = {"CONTAINERS_CONF": str(self.place / "containers.conf"),
               "CONTAINERS_STORAGE_CONF": str(self.place / "storage.conf"), "XDG_RUNTIME_DIR": str(self.place / "xdg"),
               "PATH": "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"}
        how.setdefault("timeout", 120)
        return self.seat.world.execute(["podman", "--root", self.place / "graph", "--runroot", self.place / "run",
                                        "--storage-driver", "vfs", "--tmpdir", self.place / "tmp", "--runtime",
                                        self.script, *words], env=env, **how)

    def image(self):
        root = root_of_an_image(self.seat)
        archive = self.seat.world.path / "image.tar"
        subprocess.run(["tar", "-C", str(root), "-cf", str(archive), "."], check=True)
        self("import", archive, "test:one").expect(0)
        return "test:one"


@pytest.fixture
def podman(seat):
    need("podman", "conmon", "runc")
    made = Podman(seat)
    yield made
    made("rm", "--all", "--force", "--time", "0")
    remove_groups()
    subprocess.run(["umount", "-l", *map(str, (made.place / "graph").glob("vfs-containers/*/userdata/shm"))],
                   stderr=subprocess.DEVNULL)


def test_podman(podman, seat):
    image = podman.image()
    apart = ["--cgroup-parent", f"/{GROUPS}", "-v", "/usr:/usr:ro"]
    run = ["run", "--rm", "--network", "none", *apart]
    done = podman(*run, image, "/bin/sh", "-c", f"echo ran; {STATUS}")
    assert done.expect(0).out == f"ran\n{HELD}", done.account()
    [begun, ended] = seat.records(action="create")
    assert (begun["phase"], ended["outcome"]) == ("pending", "success"), seat.all_records()
    assert not seat.left_copies()

    # What it asks for beyond the ceiling, each beside the same without it above.
    for more, words in ((["-v", "/etc:/host-etc:ro"], "does not grant it"),
                        (["--privileged"], "CAP_"),
                        (["--cap-add", "SYS_ADMIN"], "CAP_SYS_ADMIN is asked for"),
                        (["--device", "/dev/fuse"], "/dev/fuse"),
                        (["--pid", "host"], "the pid namespace of the host is shared"),
                        (["--annotation", "cordon.dev/policy=missing"], "no policy of that name")):
        refused = podman(*run, *more, image, "/bin/echo", "ran")
        assert refused.status != 0 and refused.out == "", refused.account()
        assert words in refused.err and "cordon: " in refused.err, refused.account()
    network = podman(*[word if word != "none" else "host" for word in run], image, "/bin/echo", "ran")
    assert network.status != 0 and "shares the network of the host" in network.err, network.account()
    assert len(seat.records("refused")) == 7, seat.all_records()

    podman("run", "--detach", "--name", "one", "--network", "none", *apart, image, "/bin/sleep", "1000").expect(0)
    inside = podman("exec", "one", "/bin/sh", "-c", STATUS)
    assert inside.expect(0).out == HELD, inside.account()
    assert [record["phase"] for record in seat.records(action="exec")] == ["pending", "closing"], seat.all_records()
    privileged = podman("exec", "--privileged", "one", "/bin/sh", "-c", STATUS)
    assert privileged.status != 0 and "is asked for" in privileged.err + privileged.out, privileged.account()
    podman("rm", "--force", "--time", "0", "one").expect(0)
    assert not seat.left_copies()


class Containerd:
    """A daemon with its root, state and socket below the world, ended by its pid."""

    def __init__(self, seat):
        self.seat = seat
        self.place = seat.world.make_directory(seat.world.path / "containerd")
        self.script = script_in_the_seat(seat)
        self.socket = self.place / "s"
        config = seat.world.write(self.place / "config.toml", f'version = 2\nroot = "{self.place}/root"\nstate = '
                                  f'"{self.place}/state"\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n[grpc]\n'
                                  f'address = "{self.socket}"\n')
        self.log = open(self.place / "log", "wb")
        environment = {**os.environ, "PATH": "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"}
        self.process = subprocess.Popen(["containerd", "--config", str(config)], stdout=self.log, stderr=self.log,
                                        env=environment)
        assert wait_until(lambda: self("version").status == 0), (self.place / "log").read_text()

    def __call__(self, *words, **how):
        how.setdefault("timeout", 120)
        return self.seat.world.execute(["ctr", "--address", self.socket, *words], **how)

    def leave(self):
        self("task", "kill", "--signal", "KILL", "one")
        self("task", "delete", "--force", "one")
        self("container", "delete", "one")
        self.process.terminate()
        self.process.wait()
        remove_groups()
        self.log.close()


@pytest.fixture
def containerd(seat):
    need("containerd", "ctr", "containerd-shim-runc-v2", "runc")
    made = Containerd(seat)
    yield made
    made.leave()


def test_containerd(containerd, seat):
    root = root_of_an_image(seat)
    seat.ceiling(write=[root])
    run = ["run", "--rm", "--runc-binary", containerd.script, "--rootfs", "--cgroup", f"/{GROUPS}/one",
           "--mount", "type=bind,src=/usr,dst=/usr,options=rbind:ro"]
    command = ["/bin/sh", "-c", f"echo ran; {STATUS}"]
    done = containerd(*run, root, "one", *command)
    assert done.expect(0).out == f"ran\n{HELD}", done.account()
    [begun, ended] = seat.records(action="create")
    assert (begun["phase"], ended["outcome"]) == ("pending", "success"), seat.all_records()
    assert not seat.left_copies()
    for more, words in ((["--privileged"], "CAP_"), (["--net-host"], "shares the network of the host"),
                        (["--mount", "type=bind,src=/etc,dst=/host-etc,options=rbind:ro"], "does not grant it"),
                        (["--annotation", "cordon.dev/policy=missing"], "no policy of that name")):
        refused = containerd(*run, *more, root, "one", *command)
        assert refused.status != 0 and refused.out == "", refused.account()
        assert words in refused.err and "cordon: " in refused.err, refused.account()
    assert len(seat.records("refused")) == 4, seat.all_records()
    assert containerd(*run, root, "one", *command).expect(0).out == f"ran\n{HELD}"
