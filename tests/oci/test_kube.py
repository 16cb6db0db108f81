"""What `cordon export kube` writes, started with Cordon in the seat of the runtime: by podman, which reads the Pod as it
is, and by containerd, which is asked for the Pod's container as the kubelet asks. The NetworkPolicy is nobody's here:
podman passes over it without a word, and containerd knows no pods."""

import base64
import os
import shutil
import tarfile
from pathlib import Path

import pytest
import yaml
from support import harness
from test_engines import GROUPS, Containerd, Podman, is_removed, need, remove_groups

pytestmark = pytest.mark.only("root")
# It requires no layer: the seat has no place for Landlock, which cordon-inside puts on.
NODE_POLICY = "version = 1\n\n[fs]\nwrite = [{}]\nscratch = \"64M\"\n\n[limits]\nmemory = \"256M\"\n"


def objects_of(world, *words):
    made = world.cordon_verb("export", "kube", "--image", "localhost/tool@sha256:" + 64 * "0", "--timeout", "60s",
                             "--inside", "/cordon-inside", "--drop", "limits.pids", *words)
    return {one["kind"]: one for one in yaml.safe_load_all(made.expect(0).out)}


# containerd


def as_the_kubelet_asks(config, objects, root, place):
    """Changes a config.json into what containerd is asked for the container of the exported Pod. Its client takes
    whole documents alone: it has no words for a user."""
    pod = objects["Pod"]
    [container] = pod["spec"]["containers"]
    user, security = pod["spec"]["securityContext"], container["securityContext"]
    config["annotations"] = pod["metadata"]["annotations"]
    config["root"] = {"path": str(root), "readonly": security["readOnlyRootFilesystem"]}
    assert security["capabilities"] == {"drop": ["ALL"]} and security["seccompProfile"] == {"type": "RuntimeDefault"}
    config["process"].update(
        args=container["command"], cwd=container["workingDir"], capabilities={},
        user={"uid": user["runAsUser"], "gid": user["runAsGroup"], "additionalGids": [user["fsGroup"]]},
        noNewPrivileges=not security["allowPrivilegeEscalation"],
        env=[f"{one['name']}={one['value']}" for one in container["env"]])
    config["linux"]["resources"] = {"memory": {"limit": int(container["resources"]["limits"]["memory"])}}
    config["linux"]["cgroupsPath"] = f"/{GROUPS}/one"
    # Those of the host's programs are none of an image's.
    config["mounts"] = [one for one in config["mounts"] if one["type"] != "bind" and one["destination"] != "/tmp"]
    volumes = {one["name"]: one for one in pod["spec"]["volumes"]}
    for mount in container["volumeMounts"]:
        source = volumes[mount["name"]]
        if "configMap" in source:
            for name, data in objects["ConfigMap"]["binaryData"].items():
                (place / name).write_bytes(base64.b64decode(data))
            what = {"type": "bind", "source": str(place), "options": ["rbind", "ro"]}
        else:
            size = source["emptyDir"].get("sizeLimit", "64m")
            what = {"type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777", f"size={size}"]}
        config["mounts"] = [one for one in config["mounts"] if one["destination"] != mount["mountPath"]]
        config["mounts"].append({**what, "destination": mount["mountPath"]})


def root_with_programs(seat):
    root = seat.world.make_directory(seat.world.path / "image")
    for name in ("proc", "dev", "sys", "etc", "bin", "srv"):
        seat.world.make_directory(root / name)
    for source, name in ((seat.world.probe, "bin/probe"), (seat.world.cordon.parent / "cordon-inside", "cordon-inside")):
        (root / name).write_bytes(Path(source).read_bytes())
        (root / name).chmod(0o755)
    seat.world.write(root / "srv/secret", "SECRET-of-the-image\n")
    return root


@pytest.fixture
def containerd(seat):
    need("containerd", "ctr", "containerd-shim-runc-v2", "runc")
    made = Containerd(seat)
    yield made
    made.leave()


def test_containerd_starts_the_pods_container(containerd, seat):
    world = seat.world
    root = root_with_programs(seat)
    plans = world.make_directory(world.path / "plans")
    seat.ceiling(write=[root], read=[plans])
    seat.policy("batch", NODE_POLICY.format(f'"{root}", "{plans}"'))

    def started(policy, *attempt):
        objects = objects_of(world, "--kind", "pod", "--node-policy", policy, "--", "/bin/probe", *attempt)
        bundle = seat.bundle([], lambda config: as_the_kubelet_asks(config, objects, root, plans))
        return containerd("run", "--rm", "--runc-binary", containerd.script, "--config", bundle / "config.json", "one")

    def answer(*attempt):
        done = started("batch", *attempt)
        found = harness.answers(done.out)
        assert len(found) == 1, done.account()
        return found[0]

    assert answer("write", world.project / "made").ok
    # The plan and the secret could be opened by their modes: Landlock has no rule for where they lie.
    for attempt in (("read", "/srv/secret"), ("read", "/.cordon/plan"), ("write", "/made"), ("syscall", "mount")):
        refused = answer(*attempt)
        assert not refused.ok and refused.errno in harness.FILE_ERRORS | harness.CALL_ERRORS, refused
    assert len(seat.records(action="create")) == 10, seat.all_records()
    missing = started("missing", "write", world.project / "made")
    assert missing.status != 0 and missing.out == "", missing.account()
    assert "no policy of that name" in missing.err, missing.account()
    assert len(seat.records("refused")) == 1 and not seat.left_copies()


# podman


class PlayingPodman(Podman):
    def __init__(self, seat):
        super().__init__(seat)
        configuration = self.place / "containers.conf"
        catatonit = shutil.which("catatonit")
        configuration.write_text(configuration.read_text() + f'init_path = "{catatonit}"\n')

    def tool(self):
        archive = self.seat.world.path / "image.tar"
        with tarfile.open(archive, "w") as image:
            image.add(self.seat.world.probe, "bin/probe")
            image.add(self.seat.world.cordon.parent / "cordon-inside", "cordon-inside")
            image.add(self.seat.world.write(self.seat.world.path / "secret", "SECRET-of-the-image\n"), "srv/secret")
        self("import", archive, "localhost/tool:1").expect(0)
        return self("images", "--format", "{{.Digest}}").expect(0).out.strip()


@pytest.fixture
def podman(seat):
    need("podman", "conmon", "runc", "catatonit")
    made = PlayingPodman(seat)
    yield made
    pods = made("pod", "ps", "--quiet", "--no-trunc").out.split()
    made("pod", "rm", "--all", "--force", "--time", "0")
    remove_groups()
    # kube play has no option for the parent of its groups, which other podmans may be using.
    for parent in Path("/sys/fs/cgroup").glob("*/libpod_parent"):
        for pod in pods:
            for place, _, _ in os.walk(parent / pod, topdown=False):
                assert harness.wait_until(lambda place=place: is_removed(place)), place
        is_removed(parent)


def test_podman_plays_the_pod(podman, seat):
    world = seat.world
    seat.ceiling(write=[podman.place])
    seat.policy("batch", NODE_POLICY.format(f'"{podman.place}"'))
    digest = podman.tool()

    def played(name, policy, *attempt):
        objects = objects_of(world, "--kind", "pod", "--job-name", name, "--node-policy", policy, "--", "/bin/probe",
                             *attempt)
        objects["Pod"]["spec"]["containers"][0]["image"] = f"localhost/tool@{digest}"
        document = world.write(podman.place / f"{name}.yaml", yaml.safe_dump_all(objects.values()))
        return podman("kube", "play", "--network", "none", document)

    def answer(name, *attempt):
        played(name, "batch", *attempt).expect(0)
        state = ("inspect", "--format", "{{.State.Status}}", f"{name}-command")
        assert harness.wait_until(lambda: podman(*state).out in ("exited\n", "stopped\n"), step=0.2)
        found = harness.answers(podman("logs", f"{name}-command").expect(0).out)
        assert len(found) == 1, podman("logs", f"{name}-command").account()
        return found[0]

    assert answer("writes", "write", world.project / "made").ok
    assert seat.records(action="create"), "Cordon was not in the seat"
    hidden = answer("hidden", "read", "/srv/secret")
    assert not hidden.ok and hidden.errno == "EACCES", hidden
    assert not seat.records("refused"), seat.all_records()
    missing = played("missing", "missing", "write", world.project / "made")
    assert missing.status != 0 and "no policy of that name" in missing.err, missing.account()
    assert seat.records("refused")
