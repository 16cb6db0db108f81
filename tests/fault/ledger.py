#!/usr/bin/env python3
"""Leak ledger: what the machine holds before many runs, and after them.

Runs end in every way there is: success, failure, a refusal, a missing program, the wall clock, a
signal to the command, a signal to Cordon, the death of Cordon. Between the two counts nothing may
have been added: processes, mounts, cgroups, namespaces, files of the state and temporary
directories, descriptors of the process that starts the runs, kernel objects. The kernel takes
namespaces apart in its own time, so the second count is repeated until it agrees, for at most 15 s.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support import harness  # noqa: E402

# A run waits for the kernel more than it computes: namespaces and groups are taken apart in its own time.
WORKERS = 6
SETTLE_SECONDS = 15
SLABS = ("net_namespace", "pid_namespace", "user_namespace", "mnt_cache")
FEW = 20  # kernel objects that others on the machine may have made meanwhile
MOST_ACCOUNTS = 202  # src/run/account.cc: 200 before they are reduced, the next one, and which is the last


def adopt_orphans() -> None:
    """What a dead Cordon leaves becomes a child of this process, and so cannot be overlooked."""
    set_child_subreaper = 36
    if ctypes.CDLL(None, use_errno=True).prctl(set_child_subreaper, 1, 0, 0, 0) != 0:
        raise SystemExit("cannot become the one who inherits orphans")


def reap() -> None:
    """Only while no run is being waited for: the dead are no leak."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def living() -> set[str]:
    """Processes of the runs: those started from the stage, and every child of this one."""
    stage = str(harness.stage().path)
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                line = Path("/proc", entry, "cmdline").read_bytes().decode(errors="replace")
                name, rest = Path("/proc", entry, "stat").read_text().split("(", 1)[1].rsplit(")", 1)
            except (OSError, IndexError):
                continue
            if stage in line or int(rest.split()[1]) == os.getpid():
                found.add(f"{entry} {name} {line[:80]}")
    return found


def is_stranger(entry: str) -> bool:
    """A process of somebody else: it has a command line, and nothing of the stage in it."""
    line = Path("/proc", entry, "cmdline").read_bytes()
    return bool(line) and str(harness.stage().path).encode() not in line


def namespaces() -> dict[str, set[str]]:
    """Those in which anything but strangers lives; other people's sandboxes come and go."""
    found: dict[str, set[str]] = {"net": set(), "mnt": set(), "pid": set(), "user": set()}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if is_stranger(entry):
                continue
            for kind, seen in found.items():
                seen.add(os.readlink(f"/proc/{entry}/ns/{kind}"))
        except OSError:
            continue
    return found


def groups() -> set[str]:
    """Beside the group of this process: where runs that it starts have theirs."""
    found = set()
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(",") if controllers else ("", "unified"):
            found.update(map(str, Path("/sys/fs/cgroup", name, path.lstrip("/")).glob("cordon-*")))
    return found


def slab_objects() -> dict[str, int]:
    """Kernel objects by kind, after the caches gave back what is only kept in stock."""
    found = {}
    for name in SLABS:
        cache = Path("/sys/kernel/slab", name)
        try:
            (cache / "shrink").write_text("1")
            found[name] = int((cache / "objects").read_text().split()[0])
        except OSError:
            continue
    return found


class Ledger:
    """Counts of everything, by name."""

    def __init__(self, worlds: list[harness.World], temporary: Path) -> None:
        self.exact = {
            "processes": living(),
            "mounts": set(Path("/proc/self/mountinfo").read_text().splitlines()),
            "cgroups": groups(),
            "descriptors": set(os.listdir("/proc/self/fd")),
            "temporary files": {str(p) for p in temporary.rglob("*")},
        }
        for kind, seen in namespaces().items():
            self.exact[f"{kind} namespaces"] = seen
        for number, world in enumerate(worlds):
            state = world.home / ".local/state/cordon"
            self.exact[f"notes of {world.who.name} {number}"] = {
                p.name for p in (state / "runs").glob("*")}
            self.exact[f"project of {world.who.name} {number}"] = {
                str(p) for p in world.project.rglob("*")}
            # The reports that `cordon why` reads come and go; how many there may be is bounded.
            accounts = set((state / "accounts").glob("*"))
            # The log signs itself after its first thousand records; from then on it has these two files.
            signed = {state / "audit/checkpoints.jsonl", state / "audit/signing.key"}
            self.exact[f"state of {world.who.name} {number}"] = {
                str(p) for p in state.rglob("*") if p not in accounts | signed}
            self.exact[f"accounts of {world.who.name} {number} beyond the bound"] = {
                f"{len(accounts)} accounts"} if len(accounts) > MOST_ACCOUNTS else set()
        self.slabs = slab_objects()

    def added(self, before: "Ledger") -> dict[str, set[str]]:
        return {name: now - before.exact[name]
                for name, now in self.exact.items() if now - before.exact[name]}

    def grown(self, before: "Ledger") -> dict[str, int]:
        return {name: count - before.slabs[name] for name, count in self.slabs.items()
                if name in before.slabs and count - before.slabs[name] > FEW}


def settle(before: Ledger, worlds: list[harness.World],
           temporary: Path) -> tuple[dict[str, set[str]], dict[str, int]]:
    """What is there at every look and was not before. Others on the machine come and go; what
    leaked stays."""
    deadline = time.monotonic() + SETTLE_SECONDS
    added: dict[str, set[str]] | None = None
    grown: dict[str, int] | None = None
    while added is None or ((added or grown) and time.monotonic() < deadline):
        reap()
        now = Ledger(worlds, temporary)
        look = now.added(before)
        added = look if added is None else {name: left for name, known in added.items()
                                            if (left := known & look.get(name, set()))}
        size = now.grown(before)
        grown = size if grown is None else {name: min(count, size[name])
                                            for name, count in grown.items() if name in size}
        time.sleep(0.3)
    return added, grown or {}


# Each ending: the options and command, how to interfere, and the statuses it may have.
ENDINGS = {
    "success": (["--", "/bin/true"], None, {0}),
    "strict success": (["--policy", "strict", "--", "/bin/true"], None, {0}),
    "failure": (["--", "/bin/false"], None, {1}),
    "children left behind": (["--", "/bin/sh", "-c", "sleep 60 & sleep 60 & exit 3"], None, {3}),
    "killed by itself": (["--", "/bin/sh", "-c", "kill -9 $$"], None, {137}),
    "wall clock": (["--timeout", "20ms", "--", "/bin/sleep", "60"], None, {124}),
    "missing program": (["--", "/nowhere/at/all"], None, {127}),
    "refused": (["--write", "/", "--", "/bin/true"], None, {125}),
    "usage": (["--no-such-flag", "--", "/bin/true"], None, {125}),
    "report": (["--json", "--", "/bin/true"], None, {0}),
    "signal to Cordon": (["--", "/bin/sleep", "60"], signal.SIGTERM, {143}),
    "death of Cordon": (["--", "/bin/sleep", "60"], signal.SIGKILL, {-9}),
}


# The same of commands in a session.
COMMANDS = {
    "success": (["--", "/bin/true"], None, {0}),
    "failure": (["--", "/bin/false"], None, {1}),
    "children left behind": (["--", "/bin/sh", "-c", "sleep 60 & sleep 60 & exit 3"], None, {3}),
    "killed by itself": (["--", "/bin/sh", "-c", "kill -9 $$"], None, {137}),
    "wall clock": (["--timeout", "20ms", "--", "/bin/sleep", "60"], None, {124}),
    "missing program": (["--", "/nowhere/at/all"], None, {127}),
    "another handle": (["--handle-fd", "0", "--", "/bin/true"], None, {125}),
    "report": (["--json", "--", "/bin/true"], None, {0}),
    "signal to the client": (["--", "/bin/sleep", "60"], signal.SIGTERM, {143}),
    "death of the client": (["--", "/bin/sleep", "60"], signal.SIGKILL, {-9}),
}


class Runs:
    def __init__(self, worlds: list[harness.World], temporary: Path) -> None:
        self.worlds, self.temporary = worlds, temporary
        self.lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    def one(self, number: int) -> None:
        world = self.worlds[number % len(self.worlds)]
        names = list(ENDINGS)
        name = names[(number // len(self.worlds)) % len(names)]
        words, sent, statuses = ENDINGS[name]
        process = world.start([world.cordon, "run", *words], env={"TMPDIR": str(self.temporary)},
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if sent is not None:
            # At another moment each time: before, while and after the command starts.
            time.sleep((number % 40) * 0.0005)
            process.send_signal(sent)
            # Before Cordon watches for it, a signal ends it as any program.
            statuses = statuses | {-sent}
        try:
            status = process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait()
            statuses = set()
        with self.lock:
            self.counts[name] += 1
            if status not in statuses:
                self.wrong.append(f"{name}: status {status}, as {world.who.name}")

    def session(self, number: int) -> None:
        """One session with commands that end in every way, and that itself ends in one of five."""
        world = self.worlds[number % len(self.worlds)]
        ways = ("stop", "death of the server", "idle", "killed from inside", "lifetime")
        way = ways[(number // len(self.worlds)) % len(ways)]
        options = {"idle": ["--idle", "300ms"], "lifetime": ["--lifetime", "900ms"]}.get(way, [])
        id = world.cordon_verb("session", "start", *options).expect(0).out.strip()
        # One that ends by itself may do so before a command comes.
        late = {125, 137} if options else set()
        for command, (words, sent, statuses) in COMMANDS.items():
            process = world.start([world.cordon, "session", "exec", id, *words], env={"TMPDIR": str(self.temporary)},
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if sent is not None:
                time.sleep((number % 40) * 0.0005)
                process.send_signal(sent)
                statuses = statuses | {-sent}
            status = process.wait(90)
            with self.lock:
                self.counts[f"session: {command}"] += 1
                if status not in statuses | late:
                    self.wrong.append(f"session: {command}: status {status}, as {world.who.name}")
        if way == "stop":
            world.cordon_verb("session", "stop", id).expect(0)
        elif way == "killed from inside":
            world.cordon_verb("session", "exec", id, "--", "/bin/sh", "-c", "kill -9 -1")
        elif way == "death of the server":
            server = json.loads(world.cordon_verb("session", "show", "--json", id).expect(0).out)["server"]
            os.kill(server, signal.SIGKILL)
        ended = harness.wait_until(lambda: world.cordon_verb("session", "show", id).status == 1, 30)
        with self.lock:
            self.counts[f"session ended by {way}"] += 1
            if not ended:
                self.wrong.append(f"session: still there after {way}, as {world.who.name}")

    def all(self, numbers: range, one=None) -> None:
        one = one or self.one

        def work(first: int) -> None:
            for number in numbers[first::WORKERS]:
                one(number)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(WORKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def next_starts(self) -> None:
        """What a killed Cordon noted is tidied by the next start, so there is one for everybody."""
        for world in self.worlds:
            for note in (world.home / ".local/state/cordon/runs").glob("*"):
                # A starting run has an empty note for an instant, so it counts as one for a minute;
                # and for two seconds one that does not name its processes yet.
                os.utime(note, (0, 0))
            world.run("/bin/true").expect(0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--sessions", type=int, default=0, help="ten commands in each")
    arguments = parser.parse_args()
    adopt_orphans()
    stage = harness.stage()
    temporary = stage.path / "tmp"
    temporary.mkdir(mode=0o777)
    temporary.chmod(0o1777)
    worlds = [harness.World(person, stage.new_directory()) for person in harness.PEOPLE]
    runs = Runs(worlds, temporary)
    # Once round, so that what is made on first use is there in both counts.
    runs.all(range(len(ENDINGS) * len(worlds)))
    if arguments.sessions:
        runs.all(range(5 * len(worlds)), runs.session)
    runs.next_starts()
    time.sleep(1)
    reap()
    before = Ledger(worlds, temporary)
    began = time.monotonic()
    runs.counts.clear()
    runs.all(range(arguments.runs))
    runs.all(range(arguments.sessions), runs.session)
    if arguments.sessions:
        for world in worlds:  # the next start forgets what a dead server left
            started = world.cordon_verb("session", "start").expect(0).out.strip()
            world.cordon_verb("session", "stop", started).expect(0)
    runs.next_starts()
    print(f"{sum(runs.counts.values())} runs in {time.monotonic() - began:.1f}s: "
          + ", ".join(f"{count} {name}" for name, count in sorted(runs.counts.items())))
    added, grown = settle(before, worlds, temporary)
    passed = failed = 0
    for name in before.exact:
        if name in added:
            failed += 1
            print(f"FAILED  {name}: {len(added[name])} more, such as {sorted(added[name])[:4]}")
        else:
            passed += 1
    for name in before.slabs:
        if name in grown:
            failed += 1
            print(f"FAILED  kernel objects {name}: {grown[name]} more")
        else:
            passed += 1
    print("endings with a status of the contract: "
          f"{sum(runs.counts.values()) - len(runs.wrong)} of {sum(runs.counts.values())}")
    if runs.wrong:
        failed += 1
        for line in sorted(set(runs.wrong))[:20]:
            print(f"FAILED  {line}")
    else:
        passed += 1
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
