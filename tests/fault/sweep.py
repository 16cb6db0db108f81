#!/usr/bin/env python3
"""Lets every system call of a start-run-stop cycle fail in turn, and kills Cordon at every one.

First one run of each policy is traced: which process makes which call how often. Then, for each
(process, call, occurrence), each of six errors and SIGKILL is put there, one per run. The contained
command is a judge that writes down whether it is confined. Whatever the fault:

- if the command ran, it was confined, and saw nothing and had no limit beyond those of the run
  without a fault; protected files were held, and one it made appear is taken out of the tree;
- Cordon ends by itself (within twenty seconds), with a clear error and a status of the contract, never by a crash,
  and never with success for a command that did not run;
- then no process of the run is left (after ten seconds at most), and no mount, no stub file, nothing outside; after
  the next start no note and no cgroup.

Calls that the C library makes before main() are left out: no code of Cordon runs yet. So are calls
of the command after it was executed, and those that cannot fail by their nature.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import queue
import random
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support import harness  # noqa: E402

FAULTS = ("ENOSPC", "EMFILE", "ENOMEM", "EINTR", "EIO", "EPERM", "SIGKILL")
POLICIES = {"strict": ["--policy", "strict", "--write", ".", "--deny", "denied.txt"],
            "workspace": ["--deny", "denied.txt"],
            "allow": ["--deny", "denied.txt", "--allow", "203.0.113.7:99"]}
HELD = (".git/hooks/pre-commit", ".vscode/settings.json", ".mcp.json")
# Each process of a start, in the order of their making.
ROLES = {"native": ("supervisor", "forerunner", "first process", "command before exec"),
         "bwrap": ("supervisor", "bubblewrap when asked for its options", "bubblewrap",
                   "first process", "command before exec")}
# Calls that no kernel lets fail as they are used here: they do not come back, they answer with an
# address or an identity, or they err only over a bad argument. Killing is tried at them too.
NEVER_FAIL = {"exit", "exit_group", "rt_sigreturn", "brk", "getpid", "getppid", "gettid", "getuid",
              "geteuid", "getgid", "getegid", "umask", "rt_sigprocmask", "rt_sigaction",
              "set_tid_address", "sched_yield", "futex"}
# The first call of main().
FIRST_OF_MAIN = "fcntl"
CRASHES = {4, 5, 6, 7, 8, 11, 31}
# A run waits for the kernel more than it computes. Each worker has scenes of its own, which cost six runs.
WORKERS = 4


@dataclass(frozen=True)
class Point:
    person: str
    policy: str
    role: int
    call: str
    occurrence: int
    fault: str

    def words(self) -> str:
        return f"{self.person} {self.policy} {self.role} {self.call} {self.occurrence} {self.fault}"


@dataclass
class Ended:
    """What became of one run."""
    hit: bool
    hang: bool
    left: bool
    status: int | None
    signal: int | None
    verdict: str | None
    err: str
    calls: list[tuple[int, str, int]]


def tool(name: str) -> Path:
    directory = os.environ.get("FAULT_TOOLS", harness.ROOT / "out/release/tests/fault")
    path = Path(directory) / name
    if not path.exists():
        raise SystemExit(f"{path} does not exist: build first, or set FAULT_TOOLS")
    return path


class Scene:
    """A world in which one run after another is started, all of one person and policy."""

    def __init__(self, person: harness.Person, policy: str, backend: str) -> None:
        self.person, self.policy, self.backend = person, policy, backend
        self.roles = ROLES[backend]
        self.world = harness.World(person, harness.stage().new_directory())
        self.judge = self.world.project / "judge"
        self.verdict = self.world.project / "verdict"
        self.inject = harness.stage().path / "bin" / "inject"
        self.appearing = self.world.project / ".idea"
        self.runs = self.world.home / ".local/state/cordon/runs"
        shutil.copy(tool("fault_judge"), self.judge)
        self.world.own(self.judge)
        self.restore()

    def restore(self) -> None:
        """The project as it was before any run."""
        for entry in self.world.project.iterdir():
            if entry.name.startswith(".") or entry.name.startswith("cordon-handoff-"):
                harness.remove_tree(entry)
        for name in (*HELD, "denied.txt"):
            self.world.write(self.world.project / name, "the host's own\n", 0o755)
        for name, text in {"HEAD": "ref: refs/heads/main\n",
                           "config": "[core]\n\tbare = false\n"}.items():
            self.world.write(self.world.project / ".git" / name, text)
        for name in ("objects", "refs"):
            self.world.make_directory(self.world.project / ".git" / name)
        self.clean = self.contents()

    def command(self) -> list[str]:
        world = self.world
        # Without a group the limits would be watched: that is no fault, and cannot be seen inside.
        required = ["--require", "cgroup"] if world.who.is_root else []
        return [str(world.cordon), "run", "--backend", self.backend, *POLICIES[self.policy], *required,
                "--", str(self.judge),
                str(self.verdict), str(world.outside / "secret"), str(world.outside),
                "denied.txt", *HELD]

    def contents(self) -> dict[str, tuple]:
        """Everything a run could change on the host, but for Cordon's own state."""
        found = {}
        for top in (self.world.project, self.world.outside):
            for name, value in harness.tree_digest(top).items():
                found[f"{top.name}/{name}"] = value
        found.update({name: () for name in os.listdir(self.world.home) if name != ".local"})
        return found

    def start(self, plan: list[str]) -> Ended:
        """One run under the injector; `plan` is what it is to do."""
        answers, theirs = os.pipe()
        argv = [*self.person.prefix, str(self.inject), str(theirs), *plan, "--", *self.command()]
        # All but the supervisor and the command execute what belongs to the start.
        kept = {"FAULT_KEPT_ROLES": str(len(self.roles) - 2 if self.backend != "native" else 0)}
        with subprocess.Popen(argv, cwd=self.world.project, env=self.world.environment(kept),
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, pass_fds=[theirs],
                              start_new_session=True) as process:
            os.close(theirs)
            with os.fdopen(answers) as stream:
                lines = stream.read().splitlines()
            err = process.stderr.read().decode("utf-8", "replace")
        status = next((int(line.split()[1]) for line in lines if line.startswith("exit ")), None)
        signal = next((int(line.split()[1]) for line in lines if line.startswith("signal ")), None)
        calls = [(int(w[1]), w[2], int(w[3])) for w in map(str.split, lines) if w[0] == "call"]
        verdict = None
        if self.verdict.exists():
            verdict = self.verdict.read_text()
            self.verdict.unlink()
        return Ended("hit" in lines, "hang" in lines, "left" in lines, status, signal, verdict,
                     err, calls)

    def run_before(self) -> None:
        """Makes the state directories, which later runs find."""
        self.world.execute(self.command()).expect(0)
        self.verdict.unlink()

    def trace(self) -> tuple[list[tuple[int, str, int]], str]:
        """The calls of a run without a fault, and the verdict every other must repeat."""
        ended = self.start(["trace"])
        if ended.status != 0 or not (ended.verdict or "").startswith("confined"):
            raise SystemExit(f"a run of {self.policy} without a fault failed as "
                             f"{self.person.name}: {ended}")
        supervisor = [call for call in ended.calls if call[0] == 0]
        first = next(i for i, call in enumerate(supervisor) if call[1] == FIRST_OF_MAIN)
        before_main = set(supervisor[:first])
        return [call for call in ended.calls if call not in before_main], ended.verdict

    def notes(self) -> list[Path]:
        return sorted(self.runs.iterdir()) if self.runs.exists() else []


def status_problem(scene: Scene, point: Point, ended: Ended) -> str | None:
    killed = point.fault == "SIGKILL"
    if ended.signal is not None:
        if killed and point.role == 0 and ended.signal == 9:
            return None
        return f"Cordon was ended by signal {ended.signal}"
    if ended.status in {128 + number for number in CRASHES}:
        return f"status {ended.status}: something crashed"
    if ended.verdict:
        # The command ran to its end; what failed afterwards may only make the status worse.
        return None if ended.status in (0, 125, 137) else f"status {ended.status} after a whole run"
    if ended.status == 125:
        silenced = point.role == 0 and point.call in ("write", "writev")
        return None if "cordon:" in ended.err or silenced else "status 125 without an error"
    if ended.status == 137 and point.role > 0:
        return None  # the first process is gone, and the whole tree with it
    if ended.status in (126, 127) and point.role == len(scene.roles) - 1 and \
            point.call == "execve":
        return None
    return f"status {ended.status}, and the command left no verdict"


def next_start_problems(scene: Scene) -> list[str]:
    """What only a living process can remove is removed by the next start."""
    groups = []
    for note in scene.notes():
        try:
            groups += json.loads(note.read_text().splitlines()[0])["cgroups"]
        except (ValueError, IndexError):
            pass
        # A starting run has an empty note for an instant, so it counts as one for a minute; and for
        # two seconds one that does not name its processes yet.
        os.utime(note, (0, 0))
    done = scene.world.run("/bin/true", options=["--policy", "strict"])
    left = [str(path) for path in scene.notes()] + [g for g in groups if os.path.exists(g)]
    for note in scene.notes():
        note.unlink()
    problems = [f"left after the next start: {left}"] if left else []
    if done.status != 0:
        problems.append(f"the next start failed\n{done.account()}")
    return problems


def leftover_problems(scene: Scene, ended: Ended) -> list[str]:
    problems = next_start_problems(scene) if scene.notes() else []
    if scene.appearing.exists():
        # Where the tree could not be looked at, the outcome must say so.
        if "handoff" not in ended.err and "unchecked" not in ended.err:
            problems.append(f"{scene.appearing.name} appeared and stayed, and nobody was told")
        shutil.rmtree(scene.appearing)
    # Where the quarantine cannot be reached, what appeared becomes inert beside its place.
    for inert in scene.world.project.glob("cordon-handoff-*"):
        if inert.name in ended.err:
            shutil.rmtree(inert)
    contents = scene.contents()
    if contents != scene.clean:
        changed = dict(scene.clean.items() ^ contents.items())
        problems.append(f"changed on the host: {sorted(changed)}")
        scene.restore()
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines()
              if str(scene.world.path) in line]
    if mounts:
        problems.append(f"mounts are left: {mounts}")
    return problems


def limits(words: set[str]) -> dict[str, int]:
    found = [word.removeprefix("limit:").split("=") for word in words if word.startswith("limit:")]
    return {name: int(value) for name, value in found}


def confinement_problem(verdict: str, baseline: str) -> str | None:
    """A run that sees less than planned is closed; one that sees more, or is bound less, is not."""
    if not verdict.startswith("confined"):
        return verdict.strip()
    now, planned = set(verdict.split()), set(baseline.split())
    more = {word for word in now - planned if not word.startswith("limit:")}
    bounds = limits(planned)
    more |= {f"limit:{name}={value}" for name, value in limits(now).items() if value > bounds[name]}
    lost = {word for word in planned - now if word.startswith("group:")}
    return f"more than planned: {sorted(more)}, lost: {sorted(lost)}" if more or lost else None


def problems_of(scene: Scene, point: Point, baseline: str, ended: Ended) -> list[str]:
    problems = []
    problem = confinement_problem(ended.verdict, baseline) if ended.verdict else None
    if problem is not None:
        problems.append(f"THE COMMAND RAN AND WAS NOT CONFINED: {problem}")
    if ended.hang:
        problems.append("did not end within 20 s")
    elif (problem := status_problem(scene, point, ended)) is not None:
        problems.append(problem)
    if ended.left:
        problems.append("processes were left ten seconds after the end")
    return problems + leftover_problems(scene, ended)


def group_parents() -> list[Path]:
    """Where groups of runs are made: beside the group of whoever starts them."""
    parents = []
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(",") if controllers else ("", "unified"):
            parents.append(Path("/sys/fs/cgroup", name, path.lstrip("/")))
    return [parent for parent in parents if parent.is_dir()]


def orphaned_groups() -> set[str]:
    """Groups of runs in which nothing runs."""
    found = set()
    for parent in group_parents():
        for group in parent.glob("cordon-*"):
            try:
                if not (group / "cgroup.procs").read_text():
                    found.add(str(group))
            except OSError:
                continue
    return found


class Sweep:
    def __init__(self, people: list[harness.Person], backend: str) -> None:
        self.backend = backend
        shutil.copy(tool("fault_inject"), harness.stage().path / "bin" / "inject")
        self.scenes: dict[tuple[str, str], queue.SimpleQueue] = {}
        self.baselines: dict[tuple[str, str], str] = {}
        self.points: list[Point] = []
        for person in people:
            for policy in POLICIES:
                self.prepare(person, policy)
        self.known_groups = orphaned_groups()
        self.lock = threading.Lock()
        self.passed = self.failed = self.missed = 0

    def prepare(self, person: harness.Person, policy: str) -> None:
        key = (person.name, policy)
        self.scenes[key] = queue.SimpleQueue()
        for number in range(WORKERS):
            scene = Scene(person, policy, self.backend)
            scene.run_before()
            if number == 0:
                calls, self.baselines[key] = scene.trace()
            self.scenes[key].put(scene)
        roles = Counter(role for role, _, _ in calls)
        print(f"{person.name} {policy}: " + ", ".join(
            f"{count} calls of the {ROLES[self.backend][role]}" for role, count in sorted(roles.items())))
        self.points += [Point(*key, *call, fault) for call in calls for fault in FAULTS
                        if fault == "SIGKILL" or call[1] not in NEVER_FAIL]

    def try_point(self, point: Point) -> None:
        key = (point.person, point.policy)
        scene = self.scenes[key].get()
        try:
            ended = scene.start([str(point.role), point.call, str(point.occurrence), point.fault])
            problems = problems_of(scene, point, self.baselines[key], ended)
            problems += self.group_problems() if scene.person.is_root else []
        finally:
            self.scenes[key].put(scene)
        with self.lock:
            self.missed += not ended.hit
            if not problems:
                self.passed += 1
                return
            self.failed += 1
            self.tell(scene, point, ended, problems)

    def group_problems(self) -> list[str]:
        """A group that stays empty; one that was just made, or is just going, is looked at again."""
        left = orphaned_groups() - self.known_groups
        end = time.monotonic() + 15  # of a busy machine; what is left is left for good
        while left and time.monotonic() < end:
            time.sleep(0.02)
            left &= orphaned_groups()
        with self.lock:
            left -= self.known_groups
            self.known_groups |= left
        return [f"groups without a process are left: {sorted(left)}"] if left else []

    @staticmethod
    def tell(scene: Scene, point: Point, ended: Ended, problems: list[str]) -> None:
        print(f"FAILED  {scene.roles[point.role]}: {point.call} #{point.occurrence}: {point.fault}, "
              f"{point.policy} as {point.person}")
        for problem in problems:
            print(f"    {problem}")
        for line in ended.err.splitlines()[:4]:
            print(f"    | {line}")
        print(f"    again: tests/fault/sweep.py --backend {scene.backend} --only '{point.words()}'")
        if point.role == 0:
            what = "signal=SIGKILL" if point.fault == "SIGKILL" else f"error={point.fault}"
            print(f"    or:    strace -e inject={point.call}:{what}:when={point.occurrence} "
                  f"{shlex.join(scene.command())}", flush=True)

    def run(self, points: list[Point]) -> None:
        began = told = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for number, done in enumerate(pool.map(self.try_point, points), 1):
                if time.monotonic() - told > 10:
                    told = time.monotonic()
                    print(f"{number} of {len(points)} points after {told - began:.0f}s, "
                          f"{self.failed} failed", flush=True)
        print(f"{len(points)} points in {time.monotonic() - began:.1f}s; {self.missed} runs "
              "ended before their point was reached")


def chosen(points: list[Point], arguments: argparse.Namespace) -> list[Point]:
    if arguments.only:
        wanted = [point for point in points if point.words() == " ".join(arguments.only.split())]
        if not wanted:
            raise SystemExit("there is no such point")
        return wanted
    generator = random.Random(arguments.seed)
    if arguments.all:
        generator.shuffle(points)
        return points
    return generator.sample(points, min(arguments.sample, len(points)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--sample", type=int, default=500, metavar="N")
    amount.add_argument("--all", action="store_true")
    amount.add_argument("--only", metavar="'PERSON POLICY ROLE CALL OCCURRENCE FAULT'")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--as-user", action="store_true", help="the ordinary user alone")
    parser.add_argument("--backend", choices=ROLES, default="native")
    arguments = parser.parse_args()
    people = harness.PEOPLE[-1:] if arguments.as_user else harness.PEOPLE
    sweep = Sweep(people, arguments.backend)
    points = chosen(sweep.points, arguments)
    print(f"{len(points)} of {len(sweep.points)} points, seed {arguments.seed}", flush=True)
    sweep.run(points)
    # A point that is seldom reached proves nothing.
    if not arguments.only and sweep.missed * 10 > len(points):
        print(f"FAILED  {sweep.missed} of {len(points)} points were not reached")
        sweep.failed += 1
    print(f"{sweep.passed} passed, {sweep.failed} failed")
    return 0 if sweep.failed == 0 and sweep.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
