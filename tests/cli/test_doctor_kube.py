"""`cordon doctor --kube`: what it finds on a node, by a node of the test's own: an /etc in a namespace of mounts."""

import pytest

HANDLER = """version = 2
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.cordon]
  runtime_type = "io.containerd.runc.v2"
  pod_annotations = ["cordon.dev/*"]
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.cordon.options]
    BinaryName = "{program}"
"""
CEILING = 'version = 1\n[fs]\nread = ["/srv/models"]\n[net]\nmode = "open"\n'
CHECKS = {"cgroup", "real-runtime", "containerd", "runtime-handler", "pod-annotations", "kubelet-files",
          "node-ceiling", "node-policies"}


class Node:
    def __init__(self, world):
        self.world = world
        self.etc = world.make_directory(world.path / "etc")
        world.write(self.etc / "passwd", "root:x:0:0:root:/root:/bin/sh\n")
        world.write(self.etc / "group", "root:x:0:\n")
        self.config = self.etc / "containerd/config.toml"
        self.ceiling = self.etc / "cordon/ceiling.toml"
        self.policies = self.etc / "cordon/policies"
        self.script = world.path / "cordon-seat"

    def set_up(self):
        world = self.world
        world.make_directory(self.policies)
        world.write(world.make_directory(self.config.parent) / "config.toml", HANDLER.format(program=self.script))
        world.write(self.script, "#!/bin/sh\nexec /usr/libexec/cordon/cordon-oci --engine-files /var/lib/kubelet/pods "
                    '"$@"\n', 0o755)
        world.write(self.ceiling, CEILING)
        world.write(self.policies / "batch.toml", 'version = 1\n[limits]\npids = 100\n')

    def doctor(self, *words):
        script = 'mount --make-rprivate / && mount --bind "$0" /etc && exec "$@"'
        return self.world.execute(["unshare", "-m", "/bin/sh", "-c", script, self.etc, self.world.cordon, "doctor",
                                   "--kube", *words])

    def statuses(self, status):
        answer = self.doctor("--json").expect(status).json
        return {check["name"]: check["status"] for check in answer["checks"]}

    def fails(self, *names):
        found = self.statuses(1)
        assert {name for name, status in found.items() if status == "fail"} == set(names), found


@pytest.fixture
def node(world):
    return Node(world)


@pytest.mark.only("root")
def test_a_host_that_is_no_node_is_told_what_is_missing(node):
    node.fails("containerd", "runtime-handler", "pod-annotations", "kubelet-files", "node-ceiling")
    told = node.doctor().expect(1).out
    assert "[FAIL] containerd" in told and "not seen from here: whether the network plugin enforces" in told, told
    hints = node.doctor("--fix-hints").expect(1).out
    assert "runtime-handler: give a handler BinaryName" in hints, hints


@pytest.mark.only("root")
def test_a_node_passes_and_each_check_fails_by_its_own_thing(node):
    world = node.world
    node.set_up()
    found = node.statuses(0)
    assert set(found) == CHECKS and "fail" not in found.values(), found

    def broken(path, text, *names):
        before, mode = path.read_text(), path.stat().st_mode
        world.write(path, text) if text is not None else path.unlink()
        node.fails(*names)
        world.write(path, before, mode & 0o777)
        assert "fail" not in node.statuses(0).values()

    broken(node.config, "version = ", "containerd", "runtime-handler", "pod-annotations", "kubelet-files")
    broken(node.config, HANDLER.format(program="/nowhere"), "runtime-handler", "pod-annotations", "kubelet-files")
    broken(node.config, HANDLER.format(program="/bin/true"), "runtime-handler", "pod-annotations", "kubelet-files")
    broken(node.config, HANDLER.format(program=node.script).replace("cordon.dev/*", "example.com/*"),
           "pod-annotations")
    broken(node.ceiling, None, "node-ceiling")
    broken(node.ceiling, 'version = 1\n[fs]\nread = ["/srv/models"]\n', "node-ceiling")
    broken(node.ceiling, 'version = 1\n[fs]\nraed = ["/srv"]\n', "node-ceiling")
    broken(node.policies / "batch.toml", 'version = 1\n[limits]\npids = "x"\n', "node-policies")
    node.script.chmod(0o777)
    node.fails("runtime-handler", "pod-annotations", "kubelet-files")
    told = node.doctor().expect(1).out
    assert "may be replaced by others than root" in told, told


@pytest.mark.only("root")
def test_the_link_takes_no_options(node):
    """Only a ceiling that grants them lets the kubelet's files in, then."""
    world = node.world
    node.set_up()
    link = world.link(world.home / "cordon-oci", world.cordon)
    world.write(node.config, HANDLER.format(program=link))
    node.fails("kubelet-files")
    world.write(node.ceiling, 'version = 1\n[fs]\nread = ["/var/lib/kubelet"]\n[net]\nmode = "open"\n')
    assert "fail" not in node.statuses(0).values()


@pytest.mark.once
def test_from_a_pod_the_node_is_not_seen(world):
    refused = world.cordon_verb("doctor", "--kube", env={"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    refused.expect(2)
    assert refused.out == "" and "this is a pod" in refused.err, refused.account()
    assert "this is a pod" not in world.cordon_verb("doctor", "--kube").err
