#!/usr/bin/python3
"""Says on which machines Cordon is proven, from accounts of runs and from nothing else.

  --record   takes the last account of each machine from build/vm/results into proven.json, then --write
  --write    writes the tables of README.md and docs/backends.md from proven.json
  --check    fails unless proven.json is whole and both tables are what it says
  --host DIR keeps an account of this machine from the JUnit files of ./test in DIR

proven.json is compiled into `cordon --version --verbose` as well. An account names the commit it ran; the
file is committed after that, so it never names the commit it lies in."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

import judge
import results
from images import CHECKOUT

sys.path.insert(0, str(Path(__file__).resolve().parent / "guest"))
from facts import facts  # noqa: E402

FILE = Path(__file__).resolve().parent / "proven.json"
PAGES = (CHECKOUT / "README.md", CHECKOUT / "docs" / "backends.md")
BEGIN, END = "<!-- begin machines -->\n", "<!-- end machines -->\n"

FIELDS = {"machine": str, "tier": str, "commit": str, "date": str, "kernel": str, "architecture": str,
          "landlock_abi": int, "cgroup": int, "suites": list, "lacks": list}
# Executors of MXC that cases with one passed with. An account without any has none to tell of.
EXECUTORS = "executors"
COUNTS = ("cases", "passed", "gaps")
# What is kept of an account: sizes of a machine are nobody's concern.
SUITE_FIELDS = ("name", "as", *COUNTS)


def trouble_with(account: dict) -> str | None:
    for name, kind in FIELDS.items():
        if not isinstance(account.get(name), kind):
            return f"{name} is missing or no {kind.__name__}"
    if not re.fullmatch(r"[0-9a-f]{40}", account["commit"]):
        return "commit is none"
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", account["date"]):
        return "date is none"
    executors = account.get(EXECUTORS, [])
    if not isinstance(executors, list) or not all(isinstance(name, str) and name for name in executors):
        return "executors are no names"
    if not account["suites"]:
        return "no suite was run"
    for suite in account["suites"]:
        counts = [suite.get(name) for name in COUNTS]
        if not all(isinstance(count, int) and count >= 0 for count in counts):
            return f"suite {suite.get('name')} is not counted"
        if counts[0] == 0 or counts[0] != counts[1] + counts[2]:
            return f"suite {suite['name']}: not every case passed or is a gap"
    return None


def read() -> list[dict]:
    accounts = json.loads(FILE.read_text())["machines"]
    for account in accounts:
        trouble = trouble_with(account)
        if trouble:
            raise SystemExit(f"{FILE.name}: {account.get('machine')}: {trouble}")
    return accounts


def summary(account: dict) -> dict:
    kept = {name: account[name] for name in FIELDS}
    if account.get(EXECUTORS):
        kept[EXECUTORS] = account[EXECUTORS]
    kept["suites"] = [{name: suite[name] for name in SUITE_FIELDS} for suite in account["suites"]]
    return kept


def record() -> None:
    known = {}
    if FILE.exists():
        known = {account["machine"]: account for account in json.loads(FILE.read_text())["machines"]}
    for name, account in results.newest().items():
        trouble = trouble_with(account)
        if trouble:
            raise SystemExit(f"the account of {name}: {trouble}")
        if name not in known or known[name]["date"] < account["date"]:
            known[name] = summary(account)
    accounts = [known[name] for name in sorted(known)]
    FILE.write_text(json.dumps({"machines": accounts}, indent=1, sort_keys=True) + "\n")


def total(account: dict, count: str) -> int:
    return sum(suite[count] for suite in account["suites"])


def table(accounts: list[dict]) -> str:
    """One row a machine. No cell can be typed: --check compares."""
    if not accounts:
        return "No run was recorded: `tests/vm/proven.py --record` does that.\n"
    lines = ["Written by `tests/vm/proven.py --record` from the last run on each machine.\n",
             "\n", "| Machine | Landlock | cgroup | Cases | Lacks | Last run |\n",
             "|---|---|---|---|---|---|\n"]
    for account in accounts:
        suites = ", ".join(suite["name"] for suite in account["suites"])
        cases = f"{total(account, 'passed')} passed ({suites})"
        lacks = "; ".join(account["lacks"]) or "nothing the cases need"
        lines.append(f"| {account['architecture']}, Linux {account['kernel']} "
                     f"| ABI {account['landlock_abi']} | v{account['cgroup']} | {cases} | {lacks} "
                     f"| {account['date'][:10]}, `{account['commit'][:12]}` |\n")
    return "".join(lines)


def replaced(page: Path, text: str) -> str:
    before = page.read_text()
    begin, end = before.find(BEGIN), before.find(END)
    if begin < 0 or end < begin:
        raise SystemExit(f"{page.name} has no place for the table of machines")
    return before[:begin + len(BEGIN)] + text + before[end:]


def write() -> None:
    text = table(read())
    for page in PAGES:
        page.write_text(replaced(page, text))


def check() -> int:
    text = table(read())
    wrong = [page.name for page in PAGES if page.read_text() != replaced(page, text)]
    for name in wrong:
        print(f"{name}: the table of machines is not what proven.json says; "
              "tests/vm/proven.py --write writes it", file=sys.stderr)
    return 1 if wrong else 0


def keep_host(reports: Path) -> None:
    """./test, once all of it passed, on the machine it ran on."""
    cases = [case for path in sorted(reports.glob("*.xml")) for case in judge.cases_of(path.read_bytes())]
    passed = sum(case.outcome == "passed" for case in cases)
    known = facts()
    major, minor = known["kernel"].split(".")[:2]
    known["suites"] = [{"name": "./test", "as": "root", "seconds": 0, "cases": len(cases),
                        "passed": passed, "gaps": 0}]
    known["lacks"] = []
    known[EXECUTORS] = sorted({case.executor for case in cases if case.executor and case.outcome == "passed"})
    begun = results.begin(f"{known['architecture']}-{major}.{minor}-host", "test")
    print(results.keep(begun, known))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    action = parser.add_mutually_exclusive_group(required=True)
    for name in ("record", "write", "check"):
        action.add_argument(f"--{name}", action="store_true")
    action.add_argument("--host", type=Path, metavar="DIR")
    asked = parser.parse_args()
    if asked.host:
        keep_host(asked.host)
    if asked.record:
        record()
    if asked.record or asked.write:
        write()
    return check() if asked.check else 0


if __name__ == "__main__":
    sys.exit(main())
