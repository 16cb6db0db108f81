"""IPC and local services: cases IP01 to IP20."""

import os
import socket

import pytest

from support.harness import NET_ERRORS

UNIX_ERRORS = NET_ERRORS | {"ENOENT", "ENOTDIR"}

# Each is a stub where the real service would listen; an attack needs only the connection.
SERVICES = {
    "IP01": ("docker.sock", "podman/podman.sock"),
    "IP02": ("bus", "systemd/private"),
    "IP04": ("keyring/control", "keyring/pkcs11"),
    "IP05": ("ssh-agent", "gnupg/S.gpg-agent", "gnupg/S.gpg-agent.ssh"),
    "IP06": (".X11-unix/X0", "wayland-0", "pipewire-0"),
    "IP14": ("containerd.sock", "snapd.socket", "libvirt/libvirt-sock", "nix-daemon",
             "cups/cups.sock", "polkit-agent"),
}
CASES = [(case, name) for case, names in SERVICES.items() for name in names]


class Stub:
    def __init__(self, world, path, kind=socket.SOCK_STREAM):
        self.socket = socket.socket(socket.AF_UNIX, kind)
        world.make_directory(path.parent)
        self.socket.bind(str(path))
        path.chmod(0o777)
        world.own(path)
        if kind == socket.SOCK_STREAM:
            self.socket.listen(16)
        self.socket.settimeout(0.05)
        self.kind = kind

    def was_reached(self):
        try:
            if self.kind == socket.SOCK_STREAM:
                self.socket.accept()[0].close()
            else:
                self.socket.recv(16)
            return True
        except TimeoutError:
            return False


@pytest.mark.parametrize("case,name", CASES, ids=[f"{c}-{n.replace('/', '-')}" for c, n in CASES])
@pytest.mark.group("secrets")
def test_service_socket(world, case, name):
    runtime = world.path / "run"
    stub = Stub(world, runtime / name)
    environment = {"XDG_RUNTIME_DIR": str(runtime), "SSH_AUTH_SOCK": str(runtime / "ssh-agent"),
                   "DBUS_SESSION_BUS_ADDRESS": f"unix:path={runtime}/bus", "DISPLAY": ":0",
                   "WAYLAND_DISPLAY": "wayland-0", "DOCKER_HOST": f"unix://{runtime}/docker.sock"}
    plain, variables = world.inside([("unix-connect", runtime / name), ("env",)], env=environment)
    assert not plain.ok and plain.errno in UNIX_ERRORS, plain
    for variable in environment:
        assert f"{variable}={environment[variable]}" not in variables.detail, variables.detail
    assert not stub.was_reached()
    world.denied("unix-connect", runtime / name, errors=UNIX_ERRORS, env=environment)
    assert stub.was_reached(), "the control connected elsewhere"


@pytest.mark.group("network")
def test_IP07_abstract_socket(world):
    name = f"cordon-{os.getpid()}-{world.path.name}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + name)
        server.listen(4)
        world.denied("abstract-connect", name, errors=UNIX_ERRORS)
        world.denied("abstract-connect", name, errors=UNIX_ERRORS, options=["--net", "open"])


def test_IP09_datagram_to_a_path(world):
    stub = Stub(world, world.project / "datagram", socket.SOCK_DGRAM)
    [answer] = world.inside([("unix-dgram-sendto", world.project / "datagram")])
    assert not answer.ok and answer.errno in UNIX_ERRORS, answer
    assert not stub.was_reached()
    assert world.outside_of([("unix-dgram-sendto", world.project / "datagram")])[0].ok
    assert stub.was_reached()


def test_IP10_datagram_pair_aimed_elsewhere(world):
    stub = Stub(world, world.project / "datagram", socket.SOCK_DGRAM)
    world.denied("socketpair-redirect", world.project / "datagram",
                 errors=UNIX_ERRORS | {"EOPNOTSUPP"})
    assert stub.was_reached(), "the control reaches it"
    assert not stub.was_reached(), "it was reached twice: from inside as well"


def test_IP11_inherited_socket(world):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        [fds] = world.inside([("fds",)], pass_fds=(theirs.fileno(),))
        assert [part.split("=")[0] for part in fds.detail.split()] == ["0", "1", "2"], fds
        [bare] = world.outside_of([("fds",)], pass_fds=(theirs.fileno(),))
        assert "socket:" in bare.detail, bare
    # Within one sandbox descriptors may be passed: there is no one to receive a foreign one from.
    world.allowed("pass-descriptor")


@pytest.mark.parametrize("grant", ["--read", "--write"])
def test_IP12_granted_runtime_directory_does_not_open_its_sockets(world, grant):
    stub = Stub(world, world.path / "run/bus")
    [answer] = world.inside([("unix-connect", world.path / "run/bus")],
                            options=[grant, world.path / "run"])
    assert not answer.ok and answer.errno in UNIX_ERRORS, answer
    assert not stub.was_reached()
    assert world.outside_of([("unix-connect", world.path / "run/bus")])[0].ok


def test_IP15_shared_memory_and_queues(world):
    key = hex(0x0C0E0000 | os.getpid() & 0xFFFF)
    queue = f"/cordon-{os.getpid()}-{world.path.name}"
    shm, mq = world.outside_of([("sysv-shm-make", key), ("mq-make", queue)])
    assert shm.ok and mq.ok, (shm, mq)
    try:
        world.denied("sysv-shm", key, errors={"ENOENT", "EPERM", "EACCES", "ENOSYS"})
        world.denied("mq", queue, errors={"ENOENT", "EPERM", "EACCES", "ENOSYS"})
    finally:
        world.outside_of([("sysv-shm-remove", shm.detail), ("mq-remove", queue)])


@pytest.mark.group("network")
@pytest.mark.parametrize("protocol", [4, 9, 10, 15, 16])
def test_IP16_netlink(world, protocol):
    bare = world.outside_of([("netlink", protocol)])[0]
    control = "bare" if bare.ok else "why: this kernel has no such protocol"
    world.denied("netlink", protocol, errors=NET_ERRORS, control=control)
    world.allowed("netlink", 0)


@pytest.mark.group("network")
def test_IP17_vsock(world):
    world.denied("vsock", errors=NET_ERRORS)


def test_IP20_devices(world):
    [listing] = world.inside([("list", "/dev")])
    allowed = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "fd", "stdin",
               "stdout", "stderr", "shm", "mqueue", "console"}
    extra = set(listing.detail.split()) - allowed
    assert not extra, f"more devices than promised: {sorted(extra)}"
    names = ("kmsg", "mem", "kvm", "fuse", "net/tun", "uinput", "vda", "loop-control", "port")
    for answer in world.inside([("open-read", f"/dev/{name}") for name in names]):
        assert not answer.ok, answer
    if world.who.is_root:
        assert world.outside_of([("open-read", "/dev/kmsg")])[0].ok
    [terminals] = world.inside([("list", "/dev/pts")])
    assert set(terminals.detail.split()) <= {"ptmx", "0"}, terminals
