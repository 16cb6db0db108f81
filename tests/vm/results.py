"""Accounts of runs that were all right, kept per commit under build/vm/results/COMMIT/MACHINE.json."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
from pathlib import Path

from images import CHECKOUT, STORE

PLACE = STORE / "results"


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=CHECKOUT, check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()


def commit() -> str:
    """What is checked out; a tree with changes is no commit, and says so."""
    changed = "-changed" if _git("status", "--porcelain") else ""
    return _git("rev-parse", "HEAD") + changed


def begin(machine: str, tier: str) -> dict:
    """What a run is of, found out before anything is brought into the machine."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"machine": machine, "tier": tier, "commit": commit(),
            "date": now.strftime("%Y-%m-%dT%H:%M:%SZ")}


def keep(begun: dict, account: dict) -> Path:
    whole = {**begun, **account}
    machine = whole["machine"]
    target = PLACE / whole["commit"] / f"{machine}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_suffix(".new")
    fresh.write_text(json.dumps(whole, indent=1, sort_keys=True) + "\n")
    os.rename(fresh, target)
    return target.relative_to(CHECKOUT)


def newest() -> dict[str, dict]:
    """The last account of each machine that was made of a commit, by machine."""
    found: dict[str, dict] = {}
    for path in PLACE.glob("*/*.json"):
        account = json.loads(path.read_text())
        name = account["machine"]
        if not account["commit"].endswith("-changed") and (
                name not in found or found[name]["date"] < account["date"]):
            found[name] = account
    return found
