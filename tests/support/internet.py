"""A small internet in namespaces of the test's own.

Two network namespaces are joined by a cable. In the one called "host" Cordon is started; the other
holds every server: public, private and metadata addresses alike, a name server, and web servers on
all of them. Nothing outside can be reached from either, and nothing outside sees them.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path

from support import harness

NAME_SERVER = "203.0.113.53"
# name -> addresses, or a list of such lists that are given out in turn.
ZONE = {
    "good.example": ["203.0.113.10"],
    "other.example": ["203.0.113.11"],
    "api.good.example": ["203.0.113.12"],
    "deep.api.good.example": ["203.0.113.12"],
    "evilgood.example": ["203.0.113.66"],
    "both.example": ["203.0.113.20", "2001:db8::20"],
    "six.example": ["2001:db8::21"],
    "first-is-dead.example": ["203.0.113.200", "203.0.113.10"],
    "private.example": ["10.1.2.3"],
    "metadata.example": ["169.254.169.254"],
    "loop.example": ["127.0.0.1"],
    "zero.example": ["0.0.0.0"],
    "host.example": ["198.51.100.2"],
    "multicast.example": ["224.0.0.1"],
    "mapped.example": ["::ffff:10.1.2.3"],
    "nat64.example": ["64:ff9b::a01:203"],
    "sixtofour.example": ["2002:a01:203::1"],
    "rebinding.example": [["203.0.113.10"], ["10.1.2.3"]],
    "turns.changing.example": [["203.0.113.10"], ["10.1.2.3"]] * 8,
    "mixed.example": ["10.1.2.3", "203.0.113.10"],
    # What known agents speak to; here it is a server of this internet like any other.
    "api.anthropic.com": ["203.0.113.40"],
    "api.openai.com": ["203.0.113.40"],
    "generativelanguage.googleapis.com": ["203.0.113.40"],
}
# A public address first, then one where no connection may go, by what it is called.
ASTRAY = {
    "private": "10.1.2.3", "metadata": "169.254.169.254", "loopback": "127.0.0.1", "another-loopback": "127.9.9.9",
    "unspecified": "0.0.0.0", "own": "198.51.100.2", "loopback6": "::1", "unspecified6": "::",
    "mapped": "::ffff:10.1.2.3", "mapped-loopback": "::ffff:127.0.0.1", "mapped-metadata": "::ffff:169.254.169.254",
    "nat64": "64:ff9b::a01:203", "sixtofour": "2002:a01:203::1", "local6": "fd00::5", "metadata6": "fd00:ec2::254",
}
ZONE |= {f"{label}.changing.example": [["203.0.113.10"], [address]] for label, address in ASTRAY.items()}
SERVERS = ["203.0.113.10", "203.0.113.11", "203.0.113.12", "203.0.113.20", "203.0.113.40",
           "203.0.113.66",
           "10.1.2.3", "169.254.169.254", NAME_SERVER]
SERVERS6 = ["2001:db8::20", "2001:db8::21", *(ASTRAY[label] for label in ("nat64", "sixtofour", "local6", "metadata6"))]


class Internet:
    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="cordon-net.", dir="/var/tmp"))
        self.directory.chmod(0o755)
        self.queries_file = self.directory / "queries"
        (self.directory / "resolv.conf").write_text(f"nameserver {NAME_SERVER}\n")
        (self.directory / "hosts").write_text("127.0.0.1 localhost\n203.0.113.10 hosts.example\n")
        (self.directory / "zone.json").write_text(json.dumps(ZONE))
        ready, theirs = os.pipe()
        unshare = ["unshare", "-n", "-m"]
        if os.geteuid() != 0:
            unshare = ["unshare", "-U", "--map-current-user", "--keep-caps", "-n", "-m"]
        here = Path(__file__).parent
        self.process = subprocess.Popen(
            [*unshare, "/usr/bin/python3", str(here / "internet_servers.py"), str(self.directory),
             str(theirs)], pass_fds=[theirs], stdin=subprocess.DEVNULL, start_new_session=True)
        os.close(theirs)
        with os.fdopen(ready) as stream:
            said = stream.read()
        assert said == "ready\n", "the small internet did not come up"
        self.pid = self.process.pid

    def enter(self) -> list[str]:
        base = ["nsenter", "-t", str(self.pid), "-n", "-m"]
        return base if os.geteuid() == 0 else [*base, "-U", "--preserve-credentials"]

    def queries(self) -> list[str]:
        return self.queries_file.read_text().split() if self.queries_file.exists() else []

    def close(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        harness.remove_tree(self.directory)


class NetWorld(harness.World):
    """A world whose commands run on the small internet's host."""

    def __init__(self, who: harness.Person, path: Path, internet: Internet) -> None:
        self.internet = internet
        super().__init__(who, path)

    def start(self, argv, *, cwd=None, **popen):
        where = cwd or self.project
        prefix = [*self.internet.enter(), f"--wdns={where}"]
        who = self.who
        self.who = harness.Person(who.name, who.uid, (*prefix, *who.prefix))
        try:
            return super().start(argv, cwd="/", **popen)
        finally:
            self.who = who

    def python(self, script: str, *args, options=(), **how):
        """A Python program inside; answers its output and the report."""
        done, report = self.report("/usr/bin/python3", "-c", script, *args, options=options, **how)
        return done, report


@contextlib.contextmanager
def running(process):
    """A started command that does not outlive a failing test."""
    try:
        yield process
    finally:
        harness.stop(process)


def allow(*rules) -> list[str]:
    return [word for rule in rules for word in ("--allow", rule)]
