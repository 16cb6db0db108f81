"""The first process of a machine of tests/vm, started by guest/init: makes the machine look as one that
systemd started, runs the suites of /srv/job.json one after another and hands the results back on the
third disk. The last thing it does, whatever happened, is to turn the machine off.

Control groups are left as systemd leaves them. Nobody but the root group's own children is above a
process ("no internal processes"), every controller is handed down, and
    /system.slice/suites.service                                    is where root's suites run,
    /user.slice/user-1000.slice/session-1.scope                     a login: root's, not delegated,
    /user.slice/user-1000.slice/user@1000.service/app.slice/...     the user's own, delegated.
"""

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

from facts import GROUPS, facts

SERVICE = Path("/srv")
RESULTS = SERVICE / "results"
CONTROLLERS = ("cpu", "io", "memory", "pids")
PERSON = 1000

_USER = "user.slice/user-1000.slice"
PLACES = {
    "root": "system.slice/suites.service",
    "login": f"{_USER}/session-1.scope",
    "delegated": f"{_USER}/user@1000.service/app.slice/app-suites.scope",
}


def mount(kind: str, where: str, options: str = "", flags: str = "") -> None:
    Path(where).mkdir(parents=True, exist_ok=True)
    words = ["mount", "-t", kind, "-o", ",".join(filter(None, (flags, options))) or "rw", kind, where]
    subprocess.run(words, check=True)


def mount_everything() -> None:
    mount("proc", "/proc", flags="nosuid,nodev,noexec")
    mount("sysfs", "/sys", flags="nosuid,nodev,noexec")
    mount("tmpfs", "/run", "mode=755", "nosuid,nodev")
    mount("tmpfs", "/dev/shm", "mode=1777", "nosuid,nodev")
    mount("devpts", "/dev/pts", "mode=620,gid=5,ptmxmode=666", "nosuid,noexec")
    mount("mqueue", "/dev/mqueue", "", "nosuid,nodev,noexec")
    mount("cgroup2", str(GROUPS), "nsdelegate,memory_recursiveprot", "nosuid,nodev,noexec")
    Path("/run/lock").mkdir(mode=0o1777)
    # What udev makes.
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        Path("/dev", name).symlink_to(f"/proc/self/{target}")
    # What the scripts of packages make, which were not run.
    for name in ("mnt", "media", "opt"):
        Path("/", name).mkdir(exist_ok=True)
    runtime = Path(f"/run/user/{PERSON}")
    runtime.mkdir(parents=True, mode=0o700)
    os.chown(runtime, PERSON, PERSON)
    # As systemd leaves them: what is mounted by one is seen by all.
    subprocess.run(["mount", "--make-rshared", "/"], check=True)


def hand_down(group: Path) -> None:
    offered = (group / "cgroup.controllers").read_text().split()
    wanted = " ".join(f"+{name}" for name in CONTROLLERS if name in offered)
    (group / "cgroup.subtree_control").write_text(wanted)


def make_groups() -> None:
    first = GROUPS / "init.scope"
    first.mkdir()
    (first / "cgroup.procs").write_text("1")
    for place in PLACES.values():
        parts = place.split("/")
        group = GROUPS
        for part in parts:
            hand_down(group)
            group = group / part
            group.mkdir(exist_ok=True)
    service = GROUPS / f"{_USER}/user@1000.service"
    for group in [service, *(path for path in service.rglob("*") if path.is_dir())]:
        os.chown(group, PERSON, PERSON)
        for name in ("cgroup.procs", "cgroup.subtree_control", "cgroup.threads"):
            os.chown(group / name, PERSON, PERSON)


def make_settings() -> None:
    Path("/proc/sys/kernel/hostname").write_text("machine")
    # What a desktop or server of Debian has.
    for name, value in (("kernel/yama/ptrace_scope", "0"), ("fs/protected_hardlinks", "1"),
                        ("fs/protected_symlinks", "1"), ("kernel/pid_max", "4194304"),
                        ("kernel/perf_event_paranoid", "2")):
        try:
            Path("/proc/sys", name).write_text(value)
        except OSError as error:
            print(f"session: {name}: {error}")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def become(place: str):
    """What a suite's first process does before it is executed."""
    procs = GROUPS / PLACES[place] / "cgroup.procs"

    def enter() -> None:
        procs.write_text(str(os.getpid()))
        os.setsid()
        if place != "root":
            os.setgroups([])
            os.setresgid(PERSON, PERSON, PERSON)
            os.setresuid(PERSON, PERSON, PERSON)
    return enter


def environment(place: str, extra: dict) -> dict:
    made = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
            "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1",
            "HOME": "/root", "USER": "root", "LOGNAME": "root"}
    if place != "root":
        made.update(HOME="/home/person", USER="person", LOGNAME="person",
                    XDG_RUNTIME_DIR=f"/run/user/{PERSON}")
    return {**made, **extra}


def run_suite(suite: dict, end: float) -> dict:
    """Runs one suite and tells how it ended; by `end` it has. Its output goes to the console."""
    name, place = suite["name"], suite["as"]
    print(f"\n#### {name} as {place}", flush=True)
    words = suite.get("command")
    if words is None:
        words = ["/usr/bin/python3", "-m", "pytest", "-v", "-p", "no:cacheprovider", "--tb=short",
                 "--color=no", f"--rootdir={SERVICE / 'cordon'}", "-o", "junit_family=xunit2",
                 f"--junitxml={RESULTS / name}.xml", *suite["pytest"]]
    began = time.monotonic()
    process = subprocess.Popen(words, cwd=SERVICE / "cordon", env=environment(place, suite["env"]),
                               stdin=subprocess.DEVNULL, preexec_fn=become(place))
    ended = "status"
    try:
        process.wait(max(1.0, min(suite["seconds"], end - began)))
    except subprocess.TimeoutExpired:
        ended = "time limit"
        # pytest writes down what it knows, if it may.
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    seconds = time.monotonic() - began
    print(f"#### {name} as {place}: {ended} {process.returncode} after {seconds:.0f}s", flush=True)
    return {"name": name, "as": place, "ended": ended, "status": process.returncode,
            "seconds": round(seconds, 1), "pytest": "pytest" in suite}


def hand_over() -> None:
    subprocess.run(["tar", "-c", "-f", "/dev/vdc", "-C", str(RESULTS), "."], check=True)
    os.sync()


def turn_off() -> None:
    sys.stdout.flush()
    subprocess.run(["umount", "-a", "-r", "-t", "ext4"], check=False, stderr=subprocess.DEVNULL)
    Path("/proc/sys/kernel/sysrq").write_text("1")
    Path("/proc/sysrq-trigger").write_text("o")
    time.sleep(60)


def serve() -> None:
    """All that is done, in a child of the first process."""
    try:
        make_groups()
        make_settings()
        known = facts()
        print(f"#### machine {json.dumps(known)}", flush=True)
        RESULTS.mkdir()
        RESULTS.chmod(0o1777)
        (RESULTS / "machine.json").write_text(json.dumps(known))
        job = json.loads((SERVICE / "job.json").read_text())
        end = time.monotonic() + job["seconds"]
        ended = [run_suite(suite, end) for suite in job["suites"]]
        (RESULTS / "suites.json").write_text(json.dumps(ended))
        hand_over()
        print("#### handed over", flush=True)
    except BaseException:
        traceback.print_exc()


def main() -> None:
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    mount_everything()
    console = os.open("/dev/console", os.O_RDWR | os.O_NOCTTY)
    for stream in (0, 1, 2):
        os.dup2(console, stream)
    child = os.fork()
    if child == 0:
        serve()
        sys.stdout.flush()
        os._exit(0)
    # Whatever a suite leaves behind becomes a child of this process.
    while os.wait()[0] != child:
        pass
    turn_off()


main()
