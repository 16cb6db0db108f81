"""Runs the built program from outside, as root and as an ordinary user, in worlds of its own.

A Person is who starts the program. A World is a home with planted secrets, a project in it and a
place outside every grant, all owned by that person and all fake. A Done is an ended command that
can tell everything about itself, so that a failing assertion needs no second run to be understood.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import apart

ROOT = Path(__file__).resolve().parents[2]
ORDINARY_UID = apart.own_uid(ROOT / "out" / "people")
BASE_PATH = "/usr/local/bin:/usr/bin:/bin"

# What a refusal of a file may look like, and of a call.
FILE_ERRORS = frozenset({"ENOENT", "EACCES", "EPERM", "EROFS", "ELOOP", "ENOTDIR"})
CALL_ERRORS = frozenset({"EPERM", "EACCES", "ENOSYS"})
GONE_ERRORS = frozenset({"ESRCH", "EPERM", "EACCES", "ENOENT"})
NET_ERRORS = frozenset({"ENETUNREACH", "ECONNREFUSED", "EPERM", "EACCES", "EAFNOSUPPORT",
                        "EHOSTUNREACH", "EADDRNOTAVAIL", "EPROTONOSUPPORT"})


@dataclass(frozen=True)
class Person:
    name: str
    uid: int
    prefix: tuple[str, ...] = ()

    @property
    def is_root(self) -> bool:
        return self.uid == 0


def _people() -> list[Person]:
    if os.geteuid() != 0:
        return [Person("user", os.geteuid())]
    become = ("setpriv", f"--reuid={ORDINARY_UID}", f"--regid={ORDINARY_UID}", "--clear-groups",
              "--inh-caps=-all")
    people = [Person("root", 0), Person("user", ORDINARY_UID, become)]
    # CORDON_TEST_AS=user leaves root's half out.
    asked = os.environ.get("CORDON_TEST_AS", "root,user").split(",")
    return [person for person in people if person.name in asked]


PEOPLE = _people()


def only_chosen_cases() -> bool:
    """Whether ./test runs, and not ./test --all or a person who calls pytest: see tests/conftest.py."""
    return os.environ.get("CORDON_TEST_CHOSEN") == "1"


def may_fetch() -> None:
    """Called before anything is fetched from npm."""
    assert not only_chosen_cases(), "what needs npm has the mark npm, and ./test leaves it out"


def source_binary() -> Path:
    return Path(os.environ.get("CORDON", ROOT / "build" / "cordon"))


def source_probe() -> Path:
    return Path(os.environ.get("PROBE", ROOT / "out/release/tests/probe/probe"))


def spread_directories(path: Path) -> None:
    """Has ext4 put each directory that is made in this one into a part of the disk with few others (chattr +T). Else
    all worlds share one, and an ext4 without a journal looks at every file that was removed there in the last minutes
    before it makes another: a sixth of the processor time of the tests. Other file systems say no, which is as well."""
    get_flags, set_flags, top_of_hierarchies = 0x80086601, 0x40086602, 0x00020000
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with contextlib.suppress(OSError):
        flags = bytearray(8)
        fcntl.ioctl(directory, get_flags, flags)
        [before] = struct.unpack_from("I", flags)
        fcntl.ioctl(directory, set_flags, struct.pack("Q", before | top_of_hierarchies))
    os.close(directory)


class Stage:
    """One directory per test process that every person may pass through. It holds copies of the
    binaries, because the checkout may lie where an ordinary user cannot go."""

    def __init__(self) -> None:
        # Elsewhere where the tests of a run look at places that a sandbox has of its own.
        place = os.environ.get("CORDON_TEST_STAGE", "/var/tmp")
        self.path = Path(tempfile.mkdtemp(prefix="cordon-test.", dir=place))
        self.path.chmod(0o755)
        spread_directories(self.path)
        atexit.register(self.remove)
        binaries = self.path / "bin"
        binaries.mkdir(mode=0o755)
        self.cordon = self._copy(source_binary(), binaries / "cordon")
        for name in ("cordon-tools", "cordon-inside", "cordon-gate", "cordon-ship", "cordon-apply"):
            companion = source_binary().parent / name
            if companion.exists():
                self._copy(companion, binaries / name)
        self.probe = self._copy(source_probe(), binaries / "probe")
        self.count = 0

    @staticmethod
    def _copy(source: Path, target: Path) -> Path:
        if not source.exists():
            raise SystemExit(f"{source} does not exist: build first, or set CORDON and PROBE")
        shutil.copy(source, target)
        target.chmod(0o755)
        return target

    def new_directory(self) -> Path:
        self.count += 1
        path = self.path / f"w{self.count}"
        path.mkdir(mode=0o755)
        return path

    def remove(self) -> None:
        for removal in _removals:
            removal.wait()
        remove_tree(self.path)


def groups_without_processes() -> set[str]:
    """Control groups of runs in which nothing runs: left ones, and for a moment those that are being made."""
    def is_empty(group: str) -> bool:
        try:
            return not Path(group, "cgroup.procs").read_text()
        except OSError:  # it is gone meanwhile
            return False
    return {group for place in apart.places_of_groups() for group, _, _ in os.walk(place)
            if os.path.basename(group).startswith("cordon") and is_empty(group)}


def remove_tree(path: Path) -> None:
    """rm survives trees deeper than PATH_MAX, on which shutil gives up."""
    subprocess.run(["rm", "-rf", "--one-file-system", str(path)], check=False)


_removals: list[subprocess.Popen] = []
MOST_REMOVALS = 4


def remove_while_others_run(path: Path) -> None:
    """For a tree in which nothing runs any more and that nobody asks for again. Taking it away waits for the disk,
    so the next test does not wait for it; the end of the process does."""
    _removals[:] = [removal for removal in _removals if removal.poll() is None]
    if len(_removals) == MOST_REMOVALS:
        _removals.pop(0).wait()
    _removals.append(subprocess.Popen(["rm", "-rf", "--one-file-system", str(path)], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/"))


_stage: Stage | None = None


def stage() -> Stage:
    global _stage
    if _stage is None:
        _stage = Stage()
    return _stage


@dataclass
class Done:
    """A command that has ended."""
    argv: list[str]
    status: int
    out: str
    err: str
    seconds: float
    report_text: str | None = None

    @property
    def json(self) -> dict:
        try:
            return json.loads(self.out)
        except ValueError as error:
            raise AssertionError(f"stdout is not JSON ({error})\n{self.account()}") from None

    def account(self) -> str:
        def shorten(text: str) -> str:
            return text if len(text) < 6000 else text[:4000] + "\n[…]\n" + text[-1500:]
        return (f"$ {' '.join(map(repr, self.argv))}\nstatus {self.status} after "
                f"{self.seconds:.2f}s\n--- stdout\n{shorten(self.out)}\n--- stderr\n"
                f"{shorten(self.err)}")

    def expect(self, status: int) -> "Done":
        assert self.status == status, f"expected status {status}\n{self.account()}"
        return self


@dataclass(frozen=True)
class Answer:
    """What one attempt of the probe came to."""
    attempt: str
    ok: bool
    errno: str | None
    detail: str


def answers(text: str) -> list[Answer]:
    found = []
    for line in text.splitlines():
        if line.startswith('{"attempt"'):
            entry = json.loads(line)
            found.append(Answer(entry["attempt"], entry["ok"], entry["errno"], entry["detail"]))
    return found


SECRET_FILES = {
    ".ssh/id_ed25519": "-----BEGIN OPENSSH PRIVATE KEY-----\nSECRET-ssh\n",
    ".aws/credentials": "SECRET-aws\n",
    ".gnupg/private-keys-v1.d/k.key": "SECRET-gnupg\n",
    ".kube/config": "SECRET-kube\n",
    ".docker/config.json": "SECRET-docker\n",
    ".azure/accessTokens.json": "SECRET-azure\n",
    ".config/gcloud/credentials.db": "SECRET-gcloud\n",
    ".config/gh/hosts.yml": "SECRET-gh\n",
    ".netrc": "SECRET-netrc\n",
    ".npmrc": "SECRET-npmrc\n",
    ".pypirc": "SECRET-pypirc\n",
    ".git-credentials": "SECRET-git-credentials\n",
}
BROWSING_FILES = {
    ".mozilla/firefox/x.default/logins.json": "SECRET-firefox\n",
    ".config/google-chrome/Default/Login Data": "SECRET-chrome\n",
    ".config/chromium/Default/Cookies": "SECRET-chromium\n",
    ".bash_history": "SECRET-bash-history\n",
    ".zsh_history": "SECRET-zsh-history\n",
    ".python_history": "SECRET-python-history\n",
    ".password-store/bank.gpg": "SECRET-password-store\n",
    ".local/share/keyrings/login.keyring": "SECRET-keyring\n",
}


@dataclass
class World:
    who: Person
    path: Path
    home: Path = field(init=False)
    project: Path = field(init=False)
    outside: Path = field(init=False)
    trusted: Path = field(init=False)
    probe: Path = field(init=False)
    cordon: Path = field(init=False)
    # Of every `cordon run`; none: the one that it chooses itself.
    backend: str | None = os.environ.get("CORDON_TEST_BACKEND")

    def __post_init__(self) -> None:
        self.home = self.path / "home"
        self.project = self.home / "project"
        self.outside = self.path / "outside"
        self.trusted = self.path / "trusted"
        self.probe = self.project / "probe"
        self.cordon = stage().cordon
        self.own(self.path)
        for directory in (self.home, self.project, self.outside, self.trusted):
            self.make_directory(directory)
        self.trusted.chmod(0o700)
        self.write(self.project / "file.txt", "project file\n")
        self.write(self.outside / "secret", "SECRET-outside\n")
        shutil.copy(stage().probe, self.probe)
        self.own(self.probe)

    # Making things that belong to the person.

    def own(self, path: Path) -> Path:
        if os.geteuid() == 0:
            os.chown(path, self.who.uid, self.who.uid, follow_symlinks=False)
        return path

    def make_directory(self, path: Path) -> Path:
        missing = [p for p in [path, *path.parents] if not p.exists()]
        for directory in reversed(missing):
            directory.mkdir(mode=0o755)
            self.own(directory)
        return path

    def write(self, path: Path, text: str | bytes, mode: int = 0o644) -> Path:
        self.make_directory(path.parent)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        path.chmod(mode)
        return self.own(path)

    def link(self, path: Path, target: Path | str) -> Path:
        self.make_directory(path.parent)
        path.symlink_to(target)
        return self.own(path)

    def plant(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            self.write(self.home / name, text, 0o600)

    def document(self, text: str | bytes, name: str = "policy.toml") -> Path:
        """A policy or ceiling in a place no grant covers."""
        return self.write(self.trusted / name, text, 0o600)

    # Running.

    def environment(self, extra: dict[str, str] | None = None) -> dict[str, str]:
        base = {"PATH": BASE_PATH, "HOME": str(self.home), "LANG": "C.UTF-8",
                "USER": self.who.name}
        base.update(extra or {})
        return base

    def command(self, argv: list) -> list[str]:
        words = [str(word) for word in argv]
        runs = words[1:2] == ["run"] and Path(words[0]).name.startswith("cordon")
        if self.backend and runs and "--backend" not in words:
            words[2:2] = ["--backend", self.backend]
        return [*self.who.prefix, *words]

    def start(self, argv: list, *, cwd: Path | None = None, env: dict[str, str] | None = None,
              **popen) -> subprocess.Popen:
        popen.setdefault("start_new_session", True)
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(self.command(argv), cwd=cwd or self.project,
                                env=self.environment(env), **popen)

    def execute(self, argv: list, *, input: str | bytes | None = None, timeout: float = 40,
                **popen) -> Done:
        if input is not None:
            popen["stdin"] = subprocess.PIPE
            if isinstance(input, str):
                input = input.encode()
        begin = time.monotonic()
        process = self.start(argv, **popen)
        try:
            out, err = process.communicate(input, timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            done = Done(process.args, -1, _text(out), _text(err), time.monotonic() - begin)
            raise AssertionError(f"did not end within {timeout}s\n{done.account()}") from None
        return Done(process.args, process.returncode, _text(out), _text(err),
                    time.monotonic() - begin)

    def cordon_verb(self, *argv, **options) -> Done:
        return self.execute([self.cordon, *argv], **options)

    def run(self, *command, options: tuple | list = (), **how) -> Done:
        """`cordon run OPTIONS -- COMMAND`."""
        return self.execute([self.cordon, "run", *options, "--", *command], **how)

    def report(self, *command, options: tuple | list = (), **how) -> tuple[Done, dict]:
        """The same with the report beside it, streams untouched."""
        target = self.trusted / f"report-{time.monotonic_ns()}.json"
        done = self.run(*command, options=[*options, "--report", target], **how)
        assert target.exists(), f"no report was written\n{done.account()}"
        done.report_text = target.read_text()
        return done, json.loads(done.report_text)

    def bare(self, *command, **how) -> Done:
        """The same person, the same directory, no sandbox: the positive control."""
        return self.execute(list(command), **how)

    def inside(self, attempts: list[tuple], *, options: tuple | list = (), timeout: float = 60,
               **how) -> list[Answer]:
        """Attempts of the probe in one contained run, each in a process of its own."""
        done = self.run(self.probe, "batch", "-", options=options, input=_batch(attempts),
                        timeout=timeout, **how)
        return _all_answers(done, attempts)

    def outside_of(self, attempts: list[tuple], *, wrap: tuple | list = (), **how) -> list[Answer]:
        done = self.bare(*wrap, self.probe, "batch", "-", input=_batch(attempts), **how)
        return _all_answers(done, attempts)

    def own_namespaces(self) -> list[str]:
        """A wrapper in which mounting harms nobody and is permitted."""
        return ["unshare", "-m"] if self.who.is_root else ["unshare", "-Urm"]

    def own_network(self) -> list[str]:
        """A wrapper with a network of its own, of which nothing but the loopback is up."""
        return ["unshare", "-n" if self.who.is_root else "-Urn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]

    def denied(self, *attempt, errors=FILE_ERRORS, options: tuple | list = (),
               control: str = "bare", before_control=None, **how) -> Answer:
        """The attempt fails inside with one of the errors, and the very same attempt succeeds
        outside. `control` is "bare", "namespaces", or a reason why there can be none here."""
        [answer] = self.inside([attempt], options=options, **how)
        assert not answer.ok, f"{attempt} succeeded inside, options {list(options)}: {answer}"
        assert answer.errno in errors, f"{attempt} failed for another reason: {answer}"
        if before_control:
            before_control()
        if control in ("bare", "namespaces"):
            wrap = self.own_namespaces() if control == "namespaces" else ()
            [bare] = self.outside_of([attempt], wrap=wrap, **how)
            assert bare.ok, f"the probe itself is broken: {attempt} fails bare too: {bare}"
        return answer

    def allowed(self, *attempt, options: tuple | list = (), **how) -> Answer:
        [answer] = self.inside([attempt], options=options, **how)
        assert answer.ok, f"{attempt} was refused inside, options {list(options)}: {answer}"
        return answer


    def tidy(self) -> None:
        """A run that was killed is tidied by the next start, as long as its note can be found."""
        notes = self.home / ".local/state/cordon/runs"
        if notes.is_dir() and any(notes.iterdir()):
            self.execute([self.cordon, "run", "--policy", "strict", "--", "/usr/bin/true"])

    def let_notes_be_old(self) -> None:
        """Of runs that were killed, once nothing of them lives: a note that names no process counts as under way
        for the two seconds that a start may take."""
        assert wait_until(lambda: not processes_with(str(self.cordon))), processes_with(str(self.cordon))
        long_ago = time.time() - 3
        for note in (self.home / ".local/state/cordon/runs").iterdir():
            os.utime(note, (long_ago, long_ago))

    def leave(self) -> None:
        """At the end of a test: nothing of it runs any more."""
        self.tidy()
        remove_while_others_run(self.path)


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")


def _batch(attempts: list[tuple]) -> str:
    return "".join("\t".join(map(str, attempt)) + "\n" for attempt in attempts)


def _all_answers(done: Done, attempts: list[tuple]) -> list[Answer]:
    found = answers(done.out)
    names = [a.attempt for a in found]
    wanted = [str(a[0]) for a in attempts]
    first = next((i for i, (a, b) in enumerate(zip(names, wanted)) if a != b), len(names))
    assert names == wanted, (
        f"expected an answer to each of {len(attempts)} attempts, got {len(found)}; the first "
        f"difference is at {attempts[first:first + 1]}\n{done.account()}")
    return found


# Looking at the host.


# What is promised within a second, on a machine that now and then stands still for some: what a test waits for so
# lives much longer if nobody ends it.
SOON = 10.0


def wait_until(condition, seconds: float = 30.0, step: float = 0.01) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(step)
    return bool(condition())


def quickest(action, within: float, tries: int = 3) -> float:
    """The least time that `action` took, tried again only while it took `within` seconds or more: a machine that
    stands still makes one of a few slow, and nothing makes one quick that is slow by itself."""
    least = float("inf")
    for _ in range(tries):
        begin = time.monotonic()
        action()
        least = min(least, time.monotonic() - begin)
        if least < within:
            break
    return least


_ports: list[int] = []


def free_port() -> int:
    """Another one each time: none that the kernel gives to whoever connects meanwhile, and none of another test
    process."""
    mine = apart.own_ports(ORDINARY_UID)
    for _ in mine:
        port = mine[len(_ports) % len(mine)]
        _ports.append(port)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    raise AssertionError("no port is free")


def processes_with(marker: str) -> list[int]:
    """Living processes of any namespace whose command line holds the marker."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            line = Path("/proc", entry, "cmdline").read_bytes()
            state = Path("/proc", entry, "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if marker.encode() in line and state not in "ZX":
            found.append(int(entry))
    return found


def commands_with(program: str | Path, marker: str) -> list[int]:
    """Of these, who runs the program itself: not Cordon, which has its command's words, nor a copy of Cordon."""
    first = f"{program}\0".encode()
    found = []
    for pid in processes_with(marker):
        try:
            if Path("/proc", str(pid), "cmdline").read_bytes().startswith(first):
                found.append(pid)
        except OSError:
            continue
    return found


def descendants(pid: int) -> list[int]:
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                parents[int(entry)] = int(
                    Path("/proc", entry, "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
    found, wave = [], {pid}
    while wave:
        wave = {child for child, parent in parents.items() if parent in wave}
        found.extend(wave)
    return found


def noted_processes(home: Path) -> list[int]:
    """Whom the one run of this home has started, as its note ends: a process and when it began, a line each.
    A run that is killed before it could note that is left alone for two seconds by the next start."""
    [note] = (home / ".local/state/cordon/runs").iterdir()
    lines = note.read_bytes().decode("utf-8", "replace").rstrip("\n").split("\n")[-2:]
    return [int(line.split()[0]) for line in lines if re.fullmatch(r"\d+ \d+", line)]


def alive(pid: int) -> bool:
    try:
        state = Path("/proc", str(pid), "stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def tree_digest(path: Path) -> dict[str, tuple]:
    """Every name under a path with its type, mode and content: equal digests, equal trees."""
    found = {}
    for directory, names, files in os.walk(path):
        for name in names + files:
            item = Path(directory, name)
            status = item.lstat()
            content = b""
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(item).encode()
            elif stat.S_ISREG(status.st_mode):
                content = item.read_bytes()
            found[str(item.relative_to(path))] = (stat.S_IFMT(status.st_mode), content)
    return found


@dataclass
class Target:
    """A process of the person that holds a secret in memory and environment."""
    process: subprocess.Popen
    pid: int
    address: str


def start_target(world: World) -> Target:
    process = world.start([world.probe, "target"], env={"TARGET_SECRET": "SECRET-environ"})
    pid, address = process.stdout.readline().decode().split()
    return Target(process, int(pid), address)


def brief(denials: list[dict]) -> list[dict]:
    """Of denials that are about no path and no host: what was reached, and what held it."""
    keys = ("what", "detail", "layer", "count")
    assert all(one["certain"] for one in denials), denials
    return [{key: one[key] for key in keys} for one in denials]


def stop(process: subprocess.Popen) -> None:
    if process.poll() is None:
        process.kill()
    process.communicate()


def hear_hangups() -> None:
    """Under nohup SIGHUP is ignored, and what a test starts would ignore it as well: it outlives its
    terminal. A handler keeps this process alive in the same way and is not inherited."""
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)
