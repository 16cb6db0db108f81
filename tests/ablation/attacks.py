"""The attacks that are tried while a layer is left out.

Most are the refused rows of the contract's table (tests/contract/table.py), which the corpus of
tests/attack uses as well: one attempt of the probe each. The others need grants or limits of their own, or
are judged by what lies on the host afterwards. Every attack succeeds in the enclosure without a sandbox:
what fails bare is not counted, and said.

A Group is what shares one contained run."""

from __future__ import annotations

import os
import re
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "contract")]

import enclosure  # noqa: E402
from support import harness  # noqa: E402
from surroundings import Surroundings  # noqa: E402
from table import PRESETS, ROWS  # noqa: E402

# Rows that aim at more than the enclosure holds, or that tell nothing there.
LEFT_ASIDE = {
    "setxattr-system": "it would change the host",
    "internet": "there is no internet in the enclosure",
    "internet-udp": "there is no internet in the enclosure",
    "sysrq": "it is the machine's",
    "unknown-call": "no kernel knows the number",
    "clone3": "it is refused so that libraries fall back, not because it harms",
    "pair-datagram": "the pair itself harms nobody; see pair-redirected",
    "listening-filter": "without a filter of Cordon's it listens to nobody but itself",
    "init-memory-read": "see init-memory",
    "capabilities": "it is a state; what may be done with capabilities are the other rows",
}
DESCRIPTORS = 256
# Attacks that succeed for nobody in the enclosure even without a sandbox: of them nothing is shown here.
_MACHINE = "needs a capability over the machine, which nobody in the enclosure has"
_ABSENT = "this kernel was built without it"
NO_CONTROL: dict[str, str] = {
    **dict.fromkeys(("device-node", "device-node-in-project", "block-node-in-project", "bpf", "handle",
                     "root-handle", "kernel-log", "syscall-acct", "syscall-swapoff", "syscall-syslog",
                     "syscall-fanotify_init"), _MACHINE),
    **dict.fromkeys(("socket-alg-seqpacket", "socket-bluetooth-raw", "socket-can-raw", "socket-key-raw",
                     "socket-rds-seqpacket", "socket-tipc-seqpacket", "syscall-kexec_load",
                     "syscall-init_module", "syscall-finit_module", "syscall-delete_module"), _ABSENT),
    "remount": "/usr is no mount outside of a sandbox",
}
WORKSPACE = PRESETS.index("workspace")


@dataclass(frozen=True)
class Attack:
    name: str
    does: str
    attempt: tuple = ()
    # Of an answer of the probe and the names of the place: whether it succeeded. None: as the probe says.
    succeeded: Callable | None = None
    # Without a sandbox it is tried in namespaces of its own: it would change the enclosure's mounts.
    apart: bool = False


def _reached(row):
    """A call with impossible arguments succeeds if the kernel itself saw them."""
    return lambda answer, names: answer.ok or answer.errno in row.reaches


def contract_attacks() -> list[Attack]:
    return [Attack(row.name, " ".join(row.attempt), row.attempt, _reached(row),
                   "namespaces" in {row.control_for(person) for person in ("root", "user")})
            for row in ROWS if row.verdicts[WORKSPACE] == "R" and row.name not in LEFT_ASIDE]


def _shows(text: str):
    return lambda answer, names: answer.ok and text.format(**names) in answer.detail


class Place(Surroundings):
    """A person's world in the enclosure, and every attack's target in it."""

    def __init__(self, who, cordon: Path):
        super().__init__(who)
        world = self.world
        world.cordon = cordon
        self.omit: tuple[str, ...] = ()
        self.other = socket.create_server(("127.0.0.1", 0), backlog=64)
        world.plant({".aws/credentials": "SECRET-aws\n"})
        world.write(world.project / "denied.txt", "SECRET-denied\n")
        world.write(world.project / ".git/HEAD", "ref: refs/heads/main\n")
        world.make_directory(world.project / ".git/objects")
        world.make_directory(world.project / ".git/refs/heads")
        world.make_directory(world.project / ".vscode")
        for name in (".local/state/cordon", ".local/state/cordon/runs"):
            world.make_directory(world.home / name).chmod(0o700)
        self.programs_with_rights()
        self.refill()

    def programs_with_rights(self) -> None:
        """A program that would run with a capability, if anything let it."""
        self.gifted = self.world.write(self.world.outside / "gifted", self.world.probe.read_bytes(), 0o755)
        # VFS_CAP_REVISION_2 with the effective bit, permitted: CAP_NET_ADMIN (12).
        value = b"".join(word.to_bytes(4, "little") for word in (0x02000001, 1 << 12, 0, 0, 0))
        if os.geteuid() == 0:
            os.setxattr(self.gifted, "security.capability", value)

    def refill(self) -> None:
        super().refill()
        if not hasattr(self, "gifted"):
            return
        world = self.world
        world.write(world.project / ".git/hooks/pre-commit", "#!/bin/sh\n", 0o755)
        world.write(world.project / ".git/config", "[core]\n\tbare = false\n")
        world.write(world.project / ".vscode/tasks.json", "{}\n")
        for path in (world.project / "linked-secret", world.project / "node", world.project / "block",
                     world.path / "node", world.outside / "new.txt", world.outside / "creat.txt",
                     world.outside / "renamed.txt", world.outside / "out.txt"):
            path.unlink(missing_ok=True)
        if (world.outside / "dir").exists():
            (world.outside / "dir").rmdir()
        if self.target.process.poll() is not None:
            self.target = harness.start_target(world)
            self.names |= {"pid": self.target.pid, "address": self.target.address}

    def switches(self) -> dict[str, str]:
        return {"CORDON_OMIT": ",".join(self.omit), "CORDON_OMIT_ACCEPT": "1"}

    def close(self) -> None:
        self.other.close()
        super().close()


@dataclass(frozen=True)
class Group:
    name: str
    attacks: tuple[Attack, ...]
    options: Callable[[Place], list] = lambda place: []
    # What shows on the host afterwards: name of an attack -> whether it succeeded.
    afterwards: Callable[[Place], dict[str, bool]] | None = None
    # A shell's line in place of the probe; then `afterwards` or `said` judges.
    line: str | None = None
    # The same from what it printed.
    said: Callable[[str], dict[str, bool]] | None = None
    # A limit may end the whole run, and answers are missing then.
    may_be_killed: bool = False


def planted(place: Place) -> dict[str, bool]:
    project = place.world.project
    return {
        "plant-hook": "PLANTED" in (project / ".git/hooks/pre-commit").read_text(),
        "plant-config": "PLANTED" in (project / ".git/config").read_text(),
        "plant-task": "PLANTED" in (project / ".vscode/tasks.json").read_text(),
    }


def has_capability(text: str) -> dict[str, bool]:
    effective = re.search(r"CapEff=([0-9a-f]+)", text)
    return {"file-capability-used": bool(effective) and int(effective[1], 16) != 0}


GROUPS = (
    Group("workspace", (
        *contract_attacks(),
        Attack("hostname", "read the name of the host", ("read", "/proc/sys/kernel/hostname"),
               _shows(enclosure.HOST_NAME)),
        Attack("cgroup-path", "read where the caller lies in the host's tree of groups",
               ("read", "/proc/self/cgroup"), _shows("{group}")),
        Attack("command-line", "read the command line of another process",
               ("read", "/proc/{pid}/cmdline"), _shows("target")),
    )),
    Group("credentials", (
        Attack("ssh-key-in-grant", "read ~/.ssh/id_ed25519 with the home granted",
               ("read", "{home}/.ssh/id_ed25519")),
        Attack("aws-key-in-grant", "read ~/.aws/credentials with the home granted",
               ("read", "{home}/.aws/credentials")),
        Attack("denied-in-grant", "read a denied file of the project", ("read", "{project}/denied.txt")),
        Attack("log-in-grant", "list Cordon's own state with the home granted",
               ("list", "{home}/.local/state/cordon/runs")),
    ), lambda place: ["--read", place.world.home, "--deny", "denied.txt"]),
    Group("reading", (
        Attack("chmod-read-only-grant", "change the mode of a file that may be read",
               ("chmod", "{outside}/secret", "0600")),
        Attack("utimes-read-only-grant", "change the time of a file that may be read",
               ("utimes", "{outside}/secret")),
        Attack("write-read-only-grant", "write to a file that may be read", ("append", "{outside}/unlink.txt")),
    ), lambda place: ["--read", place.world.outside]),
    Group("planting", (
        Attack("plant-hook", "write .git/hooks/pre-commit, for the host to run"),
        Attack("plant-config", "write core.fsmonitor to .git/config"),
        Attack("plant-task", "write .vscode/tasks.json"),
    ), afterwards=planted, line="echo PLANTED >> .git/hooks/pre-commit; "
          "printf '[core]\\n\\tfsmonitor = PLANTED\\n' >> .git/config; echo PLANTED > .vscode/tasks.json"),
    Group("limits", (
        Attack("processes", "have 150 processes where 64 are permitted", ("forkbomb", "150")),
        Attack("descriptors", "open more than 256 descriptors where that is the bound", ("fds-exhaust",),
               lambda answer, names: int(answer.detail or 0) > DESCRIPTORS),
        Attack("core-dumps", "dump core", ("core-limit",)),
    ), lambda place: ["--policy", place.world.document(
        f'version = 1\nextends = "workspace"\n[limits]\npids = 64\nfiles = {DESCRIPTORS}\n')]),
    Group("memory", (
        Attack("memory", "use 160 MB with --memory 96M", ("memory", "160", "2")),
    ), lambda place: ["--memory", "96M"], may_be_killed=True),
    Group("named-hosts", (
        Attack("unlisted-port", "connect to a port of the host that --allow does not name",
               ("connect", "127.0.0.1:{port}")),
        Attack("unlisted-socket", "connect to a local socket of the host in the project",
               ("unix-connect", "{project}/socket")),
    ), lambda place: ["--allow", f"127.0.0.1:{place.other.getsockname()[1]}"]),
    Group("rights-of-files", (
        Attack("file-capability-used", "have a capability after executing a file that has one"),
    ), lambda place: ["--read", place.world.outside],
        line="{outside}/gifted caps", said=has_capability),
)
