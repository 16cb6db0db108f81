#!/usr/bin/python3
"""Runs suites of this checkout on machines that are not this one. See README.md beside it."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
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
# Seconds for starting and for handing over.
HANDING_OVER = 60


def last(name: str) -> Path:
    return images.STORE / "last" / name


def run_machine(name: str, boots: list[list[dict]], seconds: float, begun: dict,
                system: images.System = images.PLAIN) -> boot.Ended:
    """Runs the jobs of each boot one after another, and the boots side by side."""
    image = images.image_of(MACHINES[name], system)
    started: list[subprocess.Popen] = []
    with tempfile.TemporaryDirectory(prefix="running.", dir=images.STORE) as place, \
            ThreadPoolExecutor(len(boots)) as lanes:
        # Two of a machine that shares its own with another wait for each other.
        processors = 2 if len(boots) == 1 else 1
        running = [lanes.submit(_boot, name, f"{name} {number}" if len(boots) > 1 else name, image, jobs,
                                seconds, Path(place, str(number)), processors, started.append)
                   for number, jobs in enumerate(boots, 1)]
        try:
            ended = together([one.result() for one in running])
        except BaseException:
            for process in started:
                process.kill()
            raise
    kept = last(name)
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for file, content in {**ended.files, "begun.json": json.dumps(begun).encode()}.items():
        (kept / Path(file).name).write_bytes(content)
    print(f"what it handed over: {kept.relative_to(images.CHECKOUT)}")
    if ended.trouble:
        print(f"tests/vm: {ended.trouble}", file=sys.stderr)
    return ended


def _boot(name: str, shown: str, image: images.Image, jobs: list[dict], seconds: float,
          place: Path, processors: int, started) -> boot.Ended:
    machine = MACHINES[name]
    began = time.monotonic()

    def console(line: str) -> None:
        print(f"[{shown} {time.monotonic() - began:4.0f}s] {line}", flush=True)
    place.mkdir()
    brought = place / "brought.tar"
    # The machine ends by itself a little earlier, so that what was done by then is handed over.
    payload.pack(machine, {"suites": jobs, "seconds": max(60, seconds - HANDING_OVER)}, brought)
    return boot.run(machine, image, brought, place, seconds, processors, console, started)


def together(ended: list[boot.Ended]) -> boot.Ended:
    """What several boots of one machine handed over, as if it had been one."""
    files = {name: content for one in ended for name, content in one.files.items()}
    done = [suite for one in ended for suite in json.loads(one.files.get("suites.json", b"[]"))]
    if files:
        files["suites.json"] = json.dumps(done).encode()
    troubles = [one.trouble for one in ended if one.trouble]
    return boot.Ended(files, "; ".join(troubles) or None)


def run_asked(asked: argparse.Namespace) -> int:
    kind = "command" if asked.command else "pytest"
    jobs = [{"name": f"asked-{place}", "as": place, "seconds": asked.minutes * 60, "env": {},
             kind: asked.words} for place in asked.place or ["root"]]
    ended = run_machine(asked.machine, [jobs], asked.minutes * 60,
                        results.begin(asked.machine, "asked"))
    if ended.trouble:
        return 1
    done = json.loads(ended.files["suites.json"])
    return 0 if all(one["ended"] == "status" and one["status"] == 0 for one in done) else 1


def run_tier(asked: argparse.Namespace) -> int:
    machine = MACHINES[asked.machine]
    boots = [[suite.job() for suite in one if suite.needs_abi <= machine.landlock_abi]
             for one in suites.TIERS[asked.tier](machine)]
    ended = run_machine(asked.machine, boots, asked.minutes * 60,
                        results.begin(asked.machine, asked.tier), suites.SYSTEMS.get(asked.tier, images.PLAIN))
    return 1 if ended.trouble else judge_last(asked)


def judge_last(asked: argparse.Namespace) -> int:
    """Judges what the machine handed over last; gaps.py may have changed since."""
    files = {path.name: path.read_bytes() for path in last(asked.machine).iterdir()}
    begun = json.loads(files["begun.json"])
    if begun["tier"] != asked.tier:
        raise SystemExit(f"tests/vm: the last run of {asked.machine} was of {begun['tier']}")
    account, troubles = judge.judge(asked.machine, files)
    machine = MACHINES[asked.machine]
    expected = machine.landlock_abi
    if account["landlock_abi"] != expected:
        troubles.append(f"Landlock ABI {account['landlock_abi']}, not {expected}: another kernel")
    account["lacks"] = sorted({*account["lacks"], *(
        suite.lacks for one in suites.TIERS[asked.tier](machine) for suite in one
        if suite.needs_abi > expected)})
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
    if asked.tier in suites.PROVING:
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
