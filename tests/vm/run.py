#!/usr/bin/python3
"""Runs suites of this checkout on machines that are not this one. See README.md beside it."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import boot
import images
import payload
from machines import MACHINES

PLACES = ("root", "login", "delegated")


def suite(name: str, place: str, seconds: float, *, pytest=None, command=None, env=None) -> dict:
    made = {"name": name, "as": place, "seconds": seconds, "env": env or {}}
    if pytest is not None:
        made["pytest"] = list(pytest)
    else:
        made["command"] = list(command)
    return made


def run_machine(name: str, suites: list[dict], seconds: float) -> boot.Ended:
    machine = MACHINES[name]
    image = images.image_of(machine)
    began = time.monotonic()

    def console(line: str) -> None:
        print(f"[{name} {time.monotonic() - began:4.0f}s] {line}", flush=True)
    with tempfile.TemporaryDirectory(prefix="running.", dir=images.STORE) as place:
        brought = Path(place, "brought.tar")
        payload.pack(machine, {"suites": suites}, brought)
        return boot.run(machine, image, brought, Path(place), seconds, console)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, usage="%(prog)s MACHINE [options] -- WORD...")
    parser.add_argument("machine", choices=MACHINES)
    parser.add_argument("--as", dest="place", choices=PLACES, action="append",
                        help="who starts the suite (default: root; may be repeated)")
    parser.add_argument("--minutes", type=float, default=40, help="the time limit of the machine")
    parser.add_argument("--command", action="store_true",
                        help="what follows -- is a command, not arguments for pytest")
    own, words = sys.argv[1:], []
    if "--" in own:
        at = own.index("--")
        own, words = own[:at], own[at + 1:]
    asked = parser.parse_args(own)
    asked.words = words
    return asked


def main() -> int:
    asked = arguments()
    seconds = asked.minutes * 60
    kind = "command" if asked.command else "pytest"
    suites = [suite(f"asked-{place}", place, seconds, **{kind: asked.words})
              for place in asked.place or ["root"]]
    ended = run_machine(asked.machine, suites, seconds)
    kept = images.STORE / "last" / asked.machine
    kept.mkdir(parents=True, exist_ok=True)
    for name, content in ended.files.items():
        (kept / name).write_bytes(content)
    print(f"results: {kept.relative_to(images.CHECKOUT)}")
    if ended.trouble:
        print(f"tests/vm: {ended.trouble}", file=sys.stderr)
        return 1
    done = json.loads(ended.files["suites.json"])
    return 0 if all(one["ended"] == "status" and one["status"] == 0 for one in done) else 1


if __name__ == "__main__":
    sys.exit(main())
