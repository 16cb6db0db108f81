#!/usr/bin/python3
"""Runs suites of this checkout on machines that are not this one. See README.md beside it."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import boot
import images
import judge
import payload
import results
import suites
from machines import MACHINES

PLACES = ("root", "login", "delegated")
# Of one machine in ./test --all.
MINUTES = 40


def last(name: str) -> Path:
    return images.STORE / "last" / name


def run_machine(name: str, jobs: list[dict], seconds: float, begun: dict) -> boot.Ended:
    machine = MACHINES[name]
    image = images.image_of(machine)
    began = time.monotonic()

    def console(line: str) -> None:
        print(f"[{name} {time.monotonic() - began:4.0f}s] {line}", flush=True)
    with tempfile.TemporaryDirectory(prefix="running.", dir=images.STORE) as place:
        brought = Path(place, "brought.tar")
        payload.pack(machine, {"suites": jobs}, brought)
        ended = boot.run(machine, image, brought, Path(place), seconds, console)
    kept = last(name)
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for file, content in {**ended.files, "begun.json": json.dumps(begun).encode()}.items():
        (kept / Path(file).name).write_bytes(content)
    print(f"what it handed over: {kept.relative_to(images.CHECKOUT)}")
    if ended.trouble:
        print(f"tests/vm: {ended.trouble}", file=sys.stderr)
    return ended


def run_asked(asked: argparse.Namespace) -> int:
    kind = "command" if asked.command else "pytest"
    jobs = [{"name": f"asked-{place}", "as": place, "seconds": asked.minutes * 60, "env": {},
             kind: asked.words} for place in asked.place or ["root"]]
    ended = run_machine(asked.machine, jobs, asked.minutes * 60,
                        results.begin(asked.machine, "asked"))
    if ended.trouble:
        return 1
    done = json.loads(ended.files["suites.json"])
    return 0 if all(one["ended"] == "status" and one["status"] == 0 for one in done) else 1


def run_tier(asked: argparse.Namespace) -> int:
    jobs = [suite.job() for suite in suites.TIERS[asked.tier]()]
    ended = run_machine(asked.machine, jobs, asked.minutes * 60,
                        results.begin(asked.machine, asked.tier))
    return 1 if ended.trouble else judge_last(asked)


def judge_last(asked: argparse.Namespace) -> int:
    """Judges what the machine handed over last; gaps.py may have changed since."""
    files = {path.name: path.read_bytes() for path in last(asked.machine).iterdir()}
    begun = json.loads(files["begun.json"])
    if begun["tier"] != asked.tier:
        raise SystemExit(f"tests/vm: the last run of {asked.machine} was of {begun['tier']}")
    account, troubles = judge.judge(asked.machine, files)
    expected = MACHINES[asked.machine].landlock_abi
    if account["landlock_abi"] != expected:
        troubles.append(f"Landlock ABI {account['landlock_abi']}, not {expected}: another kernel")
    for trouble in troubles:
        print(f"tests/vm: {trouble}")
    for suite in account["suites"]:
        print(f"{suite['name']:14} as {suite['as']:10} {suite['cases']:5} cases "
              f"{suite['passed']:5} passed {suite['gaps']:3} gaps {suite['seconds']:6.0f}s")
    for lack in account["lacks"]:
        print(f"this machine lacks: {lack}")
    print(f"left out on every machine: {len(suites.LEFT_OUT)} (suites.py says why)")
    if troubles:
        print(f"{asked.machine}: {len(troubles)} of these are wrong", file=sys.stderr)
        return 1
    print(f"kept: {results.keep(begun, account)}")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, usage="%(prog)s MACHINE [--tier TIER | [options] -- WORD...]")
    parser.add_argument("machine", choices=MACHINES)
    parser.add_argument("--tier", choices=suites.TIERS, help="run and judge what suites.py lists")
    parser.add_argument("--as", dest="place", choices=PLACES, action="append",
                        help="who starts what is given (default: root; may be repeated)")
    parser.add_argument("--command", action="store_true",
                        help="what follows -- is a command, not arguments for pytest")
    parser.add_argument("--minutes", type=float, default=MINUTES,
                        help="the time limit of the machine")
    parser.add_argument("--again", action="store_true",
                        help="start nothing: judge what the last run of the tier handed over")
    own, words = sys.argv[1:], []
    if "--" in own:
        at = own.index("--")
        own, words = own[:at], own[at + 1:]
    asked = parser.parse_args(own)
    asked.words = words
    if bool(asked.tier) == bool(words):
        parser.error("give a tier, or words after --")
    return asked


def main() -> int:
    asked = arguments()
    if asked.again:
        return judge_last(asked)
    return run_tier(asked) if asked.tier else run_asked(asked)


def interrupted(*_) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupted)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
