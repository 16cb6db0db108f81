#!/usr/bin/python3
"""Shows what each layer of a sandbox holds, by leaving it out.

  --record    tries every attack without each layer, without the pairs that matter, keeps what succeeded in
              results.json, then --write
  --compare   the same, but fails if anything differs from results.json
  --write     writes docs/ablation.md from results.json
  --check     fails unless results.json is whole, every layer holds something, and the page is what it says

Everything runs in an enclosure (enclosure.py), so that an attack that succeeds reaches nothing but what the
tests made. `tests/ablation/test_ablation.py` checks the page and tries a sample again."""

from __future__ import annotations

import argparse
import ast
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = HERE / "results.json"
PAGE = ROOT / "docs" / "ablation.md"

sys.path[:0] = [str(HERE), str(HERE.parent)]
import attacks  # noqa: E402
import enclosure  # noqa: E402
from support import harness  # noqa: E402

LAYERS = {
    "pivot_root": "the new root: what is not granted is not there",
    "read_only": "read-only mounts, and the read-only root",
    "nosuid": "`nosuid` and `nodev` on the grants",
    "masks": "masks over credentials and denied files",
    "holds": "holds and private copies of protected files",
    "landlock": "Landlock",
    "seccomp": "the filter of system calls",
    "broker": "the supervisor that judges `connect` and `bind`",
    "capabilities": "dropping capabilities",
    "bounding": "emptying the bounding set",
    "no_new_privs": "`no_new_privs`",
    "rlimits": "resource limits of the process",
    "cgroups": "control groups",
    "user_ns": "the user namespace",
    "mount_ns": "the mount namespace",
    "pid_ns": "the pid namespace",
    "network_ns": "the network namespace",
    "ipc_ns": "the ipc namespace",
    "uts_ns": "the uts namespace",
    "cgroup_ns": "the cgroup namespace",
}
# Two others hold what it holds, so that no pair shows it.
TRIPLES = (("nosuid", "bounding", "no_new_privs"),)


def key(layers) -> str:
    return "+".join(layers)


def measured(person: str, sets: list[str]) -> dict[str, dict]:
    """What succeeded for each set of layers, tried in one enclosure."""
    ready, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(theirs, 1)
        os._exit(enclosure.enclosed([sys.executable, str(HERE / "measure.py"), person, *sets]) & 0xFF)
    os.close(theirs)
    found = {}
    with os.fdopen(ready) as lines:
        for line in lines:
            entry = json.loads(line)
            found[entry.pop("layers")] = entry
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 0 or set(found) != set(sets):
        raise SystemExit(f"measuring as {person} ended with status {status} after {sorted(found)}")
    return {name: {"succeeded": entry["succeeded"], "refused": entry["refused"]}
            for name, entry in found.items()}


def pairs_of(singles: dict[str, dict]) -> list[tuple[str, str]]:
    """Each layer without which nothing succeeds, together with each other one that can be left out."""
    able = [layer for layer in LAYERS if singles[layer]["refused"] is None]
    silent = [layer for layer in able if not singles[layer]["succeeded"]]
    return sorted({tuple(sorted((one, other), key=list(LAYERS).index))
                   for one in silent for other in able if one != other})


def measure_person(person: str) -> dict[str, dict]:
    found = measured(person, ["bare", "nothing", *LAYERS])
    pairs = pairs_of(found)
    found |= measured(person, [key(pair) for pair in pairs] + [key(triple) for triple in TRIPLES])
    return found


def measure() -> dict:
    people = {person.name: measure_person(person.name) for person in harness.PEOPLE}
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True,
                            check=True).stdout.strip()
    return {"commit": commit, "kernel": ".".join(platform.release().split(".")[:2]),
            "architecture": platform.machine(), "people": people}


# What the results say.


def new_in(found: dict[str, dict], layers: tuple[str, ...]) -> list[str]:
    """Attacks that succeed without all of these layers and do not without fewer of them."""
    fewer = [subset for subset in found if subset not in ("bare", "nothing", key(layers))
             and set(subset.split("+")) < set(layers)]
    known = {attack for subset in fewer for attack in found[subset]["succeeded"]}
    return sorted(set(found[key(layers)]["succeeded"]) - known)


def sets_of(found: dict[str, dict], size: int) -> list[tuple[str, ...]]:
    return [tuple(name.split("+")) for name in found
            if name not in ("bare", "nothing") and len(name.split("+")) == size]


def holds_something(found: dict[str, dict], layer: str) -> bool:
    return any(layer in layers and new_in(found, layers)
               for size in (1, 2, 3) for layers in sets_of(found, size))


def troubles(results: dict) -> list[str]:
    wrong = []
    everybody = {attack.name for group in attacks.GROUPS for attack in group.attacks}
    named = set(re.findall(r'\{"(\w+)", OmittedLayer::', (HERE.parent / "omitted/omitted_layer.cc").read_text()))
    if named != set(LAYERS) | {"mounts"}:  # without its grants a sandbox shows less, not more
        wrong.append(f"layers that the test build knows and this program does not: {named ^ set(LAYERS)}")
    for person, found in results["people"].items():
        lacking = [name for name in ("bare", "nothing", *LAYERS) if name not in found]
        lacking += [key(pair) for pair in pairs_of(found) if key(pair) not in found] if not lacking else []
        if lacking:
            wrong.append(f"{person}: not measured: {', '.join(lacking)}")
            continue
        if found["nothing"]["succeeded"] or found["nothing"]["refused"]:
            wrong.append(f"{person}: with every layer: {found['nothing']}")
        unknown = {name for entry in found.values() for name in entry["succeeded"]} - everybody
        if unknown:
            wrong.append(f"{person}: attacks that are no more: {sorted(unknown)}")
    for layer in LAYERS:
        if wrong:
            break
        refused = all(found[layer]["refused"] for found in results["people"].values())
        if not refused and not any(holds_something(found, layer) for found in results["people"].values()):
            wrong.append(f"{layer} holds nothing: write the attack that shows what it is for")
    without_control = everybody - {name for found in results["people"].values()
                                   for name in found.get("bare", {"succeeded": []})["succeeded"]}
    expected = set(attacks.NO_CONTROL)
    if without_control != expected:
        wrong.append("attacks that succeed for nobody even without a sandbox: "
                     f"{sorted(without_control ^ expected)} are or are not in attacks.NO_CONTROL")
    return wrong


# Attempts that are told apart by their first argument.
BY_ARGUMENT = ("syscall", "socket", "netlink")


def of_attempt(words: list) -> str | None:
    """The name of an attempt among a test's words; with its argument where the name says little."""
    texts = [word.value if isinstance(word, ast.Constant) else None for word in words]
    if not texts or not isinstance(texts[0], str):
        return None
    if texts[0] in BY_ARGUMENT:
        return f"{texts[0]} {texts[1]}" if len(texts) > 1 and texts[1] is not None else None
    return texts[0]


def cases_by_attempt() -> dict[str, list[str]]:
    """Which cases of tests/attack make an attempt, by their own text."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "tests/attack").glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            case = re.match(r"test_([A-Z]{2}\d\d)_", getattr(node, "name", "") or "")
            if not case:
                continue
            for inner in ast.walk(node):
                words = inner.elts if isinstance(inner, ast.Tuple) else []
                if isinstance(inner, ast.Call) and getattr(inner.func, "attr", "") == "denied":
                    words = inner.args
                if attempt := of_attempt(words):
                    found.setdefault(attempt, set()).add(case[1])
    return {attempt: sorted(cases) for attempt, cases in found.items()}


def cases_of(attack, cases: dict[str, list[str]]) -> str:
    words = attack.attempt
    found = cases.get(" ".join(words[:2]) if words[0] in BY_ARGUMENT else words[0], []) if words else []
    return " ".join(found) if len(found) <= 6 else f"{len(found)} cases"


def told(attack: str) -> str:
    return f"`{attack}`"


def listed(names: list[str]) -> str:
    return ", ".join(map(told, names))


def by_people(results: dict, of) -> list[tuple[str, object]]:
    """One entry where root and the user have the same, else one each."""
    values = {person: of(found) for person, found in results["people"].items()}
    if len(set(map(repr, values.values()))) == 1:
        return [("", next(iter(values.values())))]
    return [(f"{person}: ", value) for person, value in values.items()]


def cell(results: dict, layer: str) -> str:
    parts = []
    for who, (refused, names) in by_people(
            results, lambda found: (found[layer]["refused"], found[layer]["succeeded"])):
        if refused:
            message = re.sub(r"/srv/cordon-test\.\w+/w\d+", "…", refused.removeprefix("cordon: "))
            parts.append(f"{who}cannot be left out: *{message}*")
        elif names:
            parts.append(f"{who}{listed(names)} ({len(names)})")
        else:
            parts.append(f"{who}none")
    return "<br>".join(parts)


def page(results: dict) -> str:
    lines = [
        "# What each layer holds\n", "\n",
        "Written by `tests/ablation/ablation.py` from `tests/ablation/results.json`; not to be edited.\n", "\n",
        "A test build of Cordon (`tests/omitted`) leaves one layer of the backend `native` out and is told not to\n"
        "refuse that. Then every attack below is tried, as root and as an ordinary user, in namespaces in which it\n"
        "can reach nothing but what the test made. The product has no such switch: it refuses to start a command\n"
        "whose layers are not all in force. With every layer in place none of the attacks succeeds.\n", "\n",
        f"Measured on Linux {results['kernel']}, {results['architecture']}, commit "
        f"`{results['commit'][:12]}`.\n", "\n",
        "## One layer left out\n", "\n", "| Layer | | Attacks that then succeed |\n", "|---|---|---|\n"]
    for layer, meaning in LAYERS.items():
        lines.append(f"| `{layer}` | {meaning} | {cell(results, layer)} |\n")
    lines += ["\n", "## Held twice\n", "\n",
              "Where nothing succeeds without a layer, another one holds what it holds. These attacks succeed only when\n"
              "both are left out, and with fewer layers left out they do not. Pairs that open nothing are not shown.\n",
              "\n", "| Left out together | Attacks that then succeed |\n", "|---|---|\n"]
    everywhere = sorted({layers for found in results["people"].values() for size in (2, 3)
                         for layers in sets_of(found, size)}, key=lambda one: (len(one), one))
    for layers in everywhere:
        of = by_people(results, lambda found: new_in(found, layers) if key(layers) in found else [])
        if any(names for _, names in of):
            text = "<br>".join(f"{who}{listed(names) or 'none'}" for who, names in of)
            lines.append(f"| {' and '.join(told(layer) for layer in layers)} | {text} |\n")
    lines += ["\n", "## The attacks\n", "\n",
              "Case: the cases of `tests/attack` that make the same attempt.\n", "\n",
              "| Attack | Attempt | Case |\n", "|---|---|---|\n"]
    cases = cases_by_attempt()
    for group in attacks.GROUPS:
        for attack in group.attacks:
            of_it = cases_of(attack, cases)
            if attack.name in attacks.NO_CONTROL:
                of_it += f" ({attacks.NO_CONTROL[attack.name]})"
            lines.append(f"| `{attack.name}` | {attack.does} | {of_it.strip()} |\n")
    return "".join(lines)


def read() -> dict:
    return json.loads(RESULTS.read_text())


def keep(results: dict) -> None:
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


def differences(old: dict, new: dict) -> list[str]:
    wrong = []
    for person, found in new["people"].items():
        for name, entry in found.items():
            before = old["people"].get(person, {}).get(name)
            if before is None or before["succeeded"] != entry["succeeded"]:
                wrong.append(f"{person}, without {name}: {entry['succeeded']}, before: {before}")
    return wrong


def check() -> list[str]:
    results = read()
    wrong = troubles(results)
    if not wrong and (not PAGE.exists() or PAGE.read_text() != page(results)):
        wrong.append("docs/ablation.md is not what results.json says; tests/ablation/ablation.py --write writes it")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    action = parser.add_mutually_exclusive_group(required=True)
    for name in ("record", "compare", "write", "check"):
        action.add_argument(f"--{name}", action="store_true")
    asked = parser.parse_args()
    wrong = []
    if asked.record:
        keep(measure())
        wrong = troubles(read())
    if asked.record or asked.write:
        PAGE.write_text(page(read()))
    if asked.compare:
        wrong = differences(read(), measure())
    if asked.check:
        wrong = check()
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
