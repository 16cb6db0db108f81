"""Judges what a machine handed over: every case passed, or failed as gaps.py says, and every suite ran to
its end. The account it makes is what is kept of a run."""

from __future__ import annotations

import json
import xml.etree.ElementTree as xml
from dataclasses import dataclass

from gaps import GAPS, Gap


@dataclass(frozen=True)
class Case:
    id: str
    outcome: str  # passed, failed, skipped
    words: str
    executor: str = ""  # of MXC, that the case ran, as it says itself (tests/mxc/executor.py)


def cases_of(report: bytes) -> list[Case]:
    """The cases of a JUnit file, named as pytest names them."""
    found = []
    for entry in xml.fromstring(report).iter("testcase"):
        parts = entry.get("classname", "").split(".")
        name = "/".join(parts) + f".py::{entry.get('name')}"
        outcome, words = "passed", ""
        for child in entry:
            if child.tag in ("failure", "error"):
                outcome = "failed"
            elif child.tag == "skipped" and outcome == "passed":
                outcome = "skipped"
            else:
                continue
            words += (child.get("message") or "") + "\n" + (child.text or "")
        executor = next((entry_property.get("value", "") for entry_property in entry.iter("property")
                         if entry_property.get("name") == "executor"), "")
        found.append(Case(name, outcome, words, executor))
    return found


@dataclass
class Judged:
    suite: dict  # name, as, seconds, cases, passed, gaps
    troubles: list[str]
    gaps_seen: set[Gap]


def judge_suite(machine: str, ended: dict, report: bytes | None) -> Judged:
    name = ended["name"]
    counts = {"name": name, "as": ended["as"], "seconds": ended["seconds"], "cases": 0, "passed": 0,
              "gaps": 0}
    troubles, seen = [], set()
    if ended["ended"] != "status":
        troubles.append(f"{name}: did not end within its time limit")
    # 0: all passed, 1: some did not. Anything else means that pytest itself failed.
    elif ended["pytest"] and ended["status"] not in (0, 1):
        troubles.append(f"{name}: pytest ended with {ended['status']}")
    elif not ended["pytest"] and ended["status"] != 0:
        troubles.append(f"{name}: ended with {ended['status']}")
    if ended["pytest"] and report is None and not troubles:
        troubles.append(f"{name}: no report")
    cases = cases_of(report) if report else []
    if ended["pytest"] and report and not cases:
        troubles.append(f"{name}: no case was run")
    for case in cases:
        counts["cases"] += 1
        gap = next((gap for gap in GAPS if gap.concerns(machine, case.id)), None)
        if case.outcome == "passed" and gap is None:
            counts["passed"] += 1
        elif case.outcome == "passed":
            troubles.append(f"{case.id}: passed; gaps.py says this machine lacks: {gap.lacks}")
        elif case.outcome == "skipped":
            troubles.append(f"{case.id}: was skipped, and nothing may be")
        elif gap is None:
            troubles.append(f"{case.id}: failed\n{_indented(case.words)}")
        elif not gap.explains(case.words):
            troubles.append(f"{case.id}: failed, but not as gaps.py says ({gap.seen})\n"
                            f"{_indented(case.words)}")
        else:
            counts["gaps"] += 1
            seen.add(gap)
    return Judged(counts, troubles, seen)


def judge(machine: str, files: dict[str, bytes]) -> tuple[dict, list[str]]:
    """The account of a run and what is wrong with it."""
    account = json.loads(files["machine.json"])
    judged = [judge_suite(machine, ended, files.get(f"{ended['name']}.xml"))
              for ended in json.loads(files["suites.json"])]
    account["suites"] = [one.suite for one in judged]
    account["lacks"] = sorted({gap.lacks for one in judged for gap in one.gaps_seen})
    return account, [trouble for one in judged for trouble in one.troubles]


def _indented(words: str) -> str:
    lines = words.strip().splitlines()
    if len(lines) > 60:
        lines = [*lines[:30], "[…]", *lines[-28:]]
    return "\n".join(f"    {line}" for line in lines)
