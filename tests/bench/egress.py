#!/usr/bin/env python3
"""Network mode allow against a direct connection, in the small internet of the tests.

  tests/bench/egress.py [--rounds N] [--write]

The same program connects, asks and downloads: bare, contained, and under sandbox-runtime where that
can be installed (its proxies need bwrap, socat and ripgrep), all in turn. Printed are medians: what
one connect costs, what a contained one adds, what one small request takes, and the speed of a
download as a share of the direct one. Targets: at most 150 us added, at least 1.00x within the noise
of the machine. --write puts the figures into docs/performance.md.
"""

import argparse
import json
import shutil
import statistics
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "mcp")]

from support.packages import Packages  # noqa: E402
from support import harness  # noqa: E402
from support.internet import Internet, NetWorld, allow  # noqa: E402

CONNECT = """
import socket, sys, time
times = []
for _ in range(300):
    s = socket.socket()
    begin = time.perf_counter()
    s.connect((sys.argv[1], 7))
    times.append(time.perf_counter() - begin)
    s.close()
print(sorted(times)[150] * 1e6)
"""
# Through what the environment says of proxies: the only way that sandbox-runtime leaves open.
REQUEST = """
import time, urllib.request
times = []
for _ in range(60):
    begin = time.perf_counter()
    urllib.request.urlopen("http://good.example/").read()
    times.append(time.perf_counter() - begin)
print(sorted(times)[30] * 1e6)
"""
DOWNLOAD = """
import time, urllib.request
answer = urllib.request.urlopen("http://good.example/bytes/300000000")
buffer, total, begin = bytearray(1 << 20), 0, time.perf_counter()
while got := answer.readinto(buffer):
    total += got
assert total == 300000000
print(total / (time.perf_counter() - begin) / 1e6)
"""
RULES = allow("203.0.113.10", "good.example")
PYTHON = ["/usr/bin/python3", "-c"]
PAGE = TESTS.parent / "docs/performance.md"
MARKS = ("<!-- begin egress -->\n", "<!-- end egress -->\n")
HEAD = """## Connections

Written by `tests/bench/egress.py --write`; no figure here was typed. The same program runs in each
column in turn, on one machine with the server in another network namespace; medians. sandbox-runtime
carries bytes through proxies that programs are told of by variables, so nothing can be said of a plain
connect there.

"""


class Peer:
    """sandbox-runtime, which tells programs of its proxies by variables."""

    def __init__(self, world) -> None:
        place = Packages(TESTS / "bench/peer", "bench-peer", 5).install()
        # Where the person may read it.
        self.program = world.path / "peer/node_modules"
        shutil.copytree(place / "node_modules", self.program)
        package = self.program / "@anthropic-ai/sandbox-runtime"
        self.version = json.loads((package / "package.json").read_text())["version"]
        self.settings = world.document(json.dumps({
            "network": {"allowedDomains": ["good.example"], "deniedDomains": []},
            "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}), "srt.json")
        self.cli = package / "dist/cli.js"
        # It needs a newer node than the distribution's.
        [self.node] = self.program.glob("node-linux-*/bin/node")

    def run(self, world, script):
        words = world.write(world.project / "measured.py", script)
        return world.bare(self.node, self.cli, "--settings", self.settings, "-c",
                          f"/usr/bin/python3 {words}", timeout=120)


def ways(world, peer, script, *words):
    yield "direct", lambda: world.bare(*PYTHON, script, *words, timeout=120)
    yield "contained", lambda: world.run(*PYTHON, script, *words, options=RULES, timeout=120)
    if peer and not words:
        yield "sandbox-runtime", lambda: peer.run(world, script)


def figures(world, peer, rounds, script, *words):
    """way -> median over rounds in turn."""
    found = {}
    for _ in range(rounds):
        for name, run in ways(world, peer, script, *words):
            found.setdefault(name, []).append(float(run().expect(0).out))
    return {name: statistics.median(values) for name, values in found.items()}


def table(world, peer, rounds):
    rows = []
    for host in ("203.0.113.10", "good.example"):
        rows.append((f"connect to `{host}`", "µs", figures(world, peer, rounds, CONNECT, host)))
    rows.append(("small request", "µs", figures(world, peer, rounds, REQUEST)))
    rows.append(("download", "MB/s", figures(world, peer, rounds, DOWNLOAD)))
    names = ["direct", "contained"] + (["sandbox-runtime"] if peer else [])
    heads = [f"sandbox-runtime {peer.version}" if n == "sandbox-runtime" else n for n in names]
    lines = ["| | " + " | ".join(heads) + " |", "|---" * (len(names) + 1) + "|"]
    for what, unit, values in rows:
        cells = [f"{values[n]:.0f} {unit}" if n in values else "–" for n in names]
        lines.append(f"| {what} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    internet = Internet()
    try:
        world = NetWorld(harness.PEOPLE[-1], harness.stage().new_directory(), internet)
        able = all(shutil.which(name) for name in ("bwrap", "socat", "rg", "npm"))
        text = table(world, Peer(world) if able else None, given.rounds)
    finally:
        internet.close()
    print(text, end="")
    if given.write:
        before, _, rest = PAGE.read_text().partition(MARKS[0])
        after = rest.partition(MARKS[1])[2]
        PAGE.write_text(f"{before.rstrip()}\n\n{MARKS[0]}{HEAD}{text}{MARKS[1]}{after}")


if __name__ == "__main__":
    main()
