"""Namespaces of the tests' own, in which a sandbox may lack a layer.

Whatever an attack then reaches is this enclosure's: its processes, its network, its ipc objects, its
name, its mounts. Root in it is root of the enclosure alone: ids are the same as outside, so that files
have the owners they have, but no capability counts for anything of the machine."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile

NAMESPACES = 0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000  # user mnt pid net ipc uts
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG = 1
HOST_NAME = "ablation-host"
# Where the tests' files appear. Not below /tmp or /var/tmp: a sandbox has those of its own, so that a rule
# of Landlock would name the host's where the new root is left out.
STAGE = "/srv"

_libc = ctypes.CDLL(None, use_errno=True)


def _called(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def _settle(directory: str) -> None:
    """In the first process of the enclosure."""
    _called(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL), "prctl")
    _called(_libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "private mounts")
    _called(_libc.mount(directory.encode(), STAGE.encode(), None, MS_BIND, None), "stage")
    _called(_libc.mount(b"proc", b"/proc", b"proc", 0, None), "proc")
    socket.sethostname(HOST_NAME)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def enclosed(argv: list[str]) -> int:
    """Runs a program as the first process of an enclosure; its status."""
    with tempfile.TemporaryDirectory(prefix="cordon-ablation.", dir="/var/tmp") as directory:
        os.chmod(directory, 0o755)
        os.environ["CORDON_TEST_STAGE"] = STAGE
        return _enclosed(argv, directory)


def _enclosed(argv: list[str], directory: str) -> int:
    ready, go = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _called(_libc.unshare(NAMESPACES), "unshare")
            os.write(ready[1], b"x")
            os.read(go[0], 1)
            first = os.fork()  # the pid namespace is its children's
            if first == 0:
                _settle(directory)
                os.execv(argv[0], argv)
            os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]) & 0xFF)
        except BaseException as error:  # noqa: BLE001: a child of fork never returns
            print(f"cannot make an enclosure: {error}", file=sys.stderr)
            os._exit(125)
    os.close(ready[1])
    if os.read(ready[0], 1) == b"x":
        # All ids are mapped to themselves, where this is root; else just the caller's.
        uid, gid = os.geteuid(), os.getegid()
        if uid != 0:
            with open(f"/proc/{pid}/setgroups", "w") as file:
                file.write("deny")
        for name, own in (("uid_map", uid), ("gid_map", gid)):
            with open(f"/proc/{pid}/{name}", "w") as file:
                file.write("0 0 4294967295" if uid == 0 else f"{own} {own} 1")
        os.write(go[1], b"x")
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
