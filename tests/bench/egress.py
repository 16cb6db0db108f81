#!/usr/bin/env python3
"""Network mode allow against a direct connection, in the small internet of the tests.

  tests/bench/egress.py [--rounds N]

The same program connects and downloads, bare and contained in turn. Printed are medians: what one
connect costs, what a contained one adds, and the speed of a download as a share of the direct one.
Targets: at most 150 us added, at least 1.00x within the noise of the machine.
"""

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

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
DOWNLOAD = """
import socket, sys, time
s = socket.create_connection((sys.argv[1], 80))
s.sendall(b"GET /bytes/300000000 HTTP/1.0\\r\\n\\r\\n")
buffer, total, begin = bytearray(1 << 20), 0, time.perf_counter()
while got := s.recv_into(buffer):
    total += got
assert total > 300000000
print(total / (time.perf_counter() - begin) / 1e6)
"""
RULES = allow("203.0.113.10", "good.example")


def figures(world, script, host, rounds):
    """(bare, contained) medians over rounds in turn."""
    bare, inside = [], []
    for _ in range(rounds):
        bare.append(float(world.bare("/usr/bin/python3", "-c", script, host).expect(0).out))
        inside.append(float(world.run("/usr/bin/python3", "-c", script, host, options=RULES)
                            .expect(0).out))
    return statistics.median(bare), statistics.median(inside)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    internet = Internet()
    try:
        world = NetWorld(harness.PEOPLE[-1], harness.stage().new_directory(), internet)
        for host in ("203.0.113.10", "good.example"):
            bare, inside = figures(world, CONNECT, host, rounds)
            print(f"connect to {host}: {bare:.0f} us direct, {inside:.0f} us contained, "
                  f"{inside - bare:.0f} us added (target 150)")
        bare, inside = figures(world, DOWNLOAD, "203.0.113.10", rounds)
        print(f"download: {bare:.0f} MB/s direct, {inside:.0f} MB/s contained, "
              f"{inside / bare:.2f}x (target 1.00x)")
    finally:
        internet.close()


if __name__ == "__main__":
    main()
