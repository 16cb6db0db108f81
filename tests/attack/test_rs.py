"""Resources and lifecycle: cases RS01 to RS20. Each heavy case first proves its limit small."""

import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.harness import (CALL_ERRORS, FILE_ERRORS, ROOT, SOON, groups_without_processes, processes_with, quickest,
                             remove_tree, stage, wait_until)

sys.path.insert(0, str(ROOT / "tests/fault"))
import sweep  # noqa: E402


def marker(world):
    return f"marker-{os.getpid()}-{world.path.name}"


def gone(mark, seconds=SOON):
    return wait_until(lambda: not processes_with(mark), seconds)


def limits(world, text, name="limits.toml"):
    return world.document(f'version = 1\nextends = "workspace"\n[limits]\n{text}\n', name)


def time_of_a_spawn() -> float:
    begin = time.monotonic()
    subprocess.run(["/usr/bin/true"], check=True)
    return time.monotonic() - begin


def usual_spawn(spawns: list[float]) -> float:
    """The one in the middle: a machine that stands still for a moment makes one or two slow, a bomb all of them."""
    return sorted(spawns)[(len(spawns) - 1) // 2]


def calm_spawn() -> float:
    """Of two seconds, as the bomb lasts."""
    spawns, end = [], time.monotonic() + 2
    while time.monotonic() < end:
        spawns.append(time_of_a_spawn())
        time.sleep(0.02)
    return usual_spawn(spawns)


class WildBomb:
    """A bomb inside, and what the host has beside it."""

    def __init__(self, world):
        with ThreadPoolExecutor(1) as pool:
            wild = pool.submit(world.report, world.probe, "forkbomb-wild", 60,
                               options=["--pids", 64, "--timeout", "2s"])
            spawns, self.most = [], 0
            while not wild.done():
                spawns.append(time_of_a_spawn())
                # Its own: others on the machine start many as well.
                self.most = max(self.most, len(processes_with(str(world.probe))))
                time.sleep(0.02)
            self.spawn = usual_spawn(spawns)
            self.done, self.report = wild.result()


@pytest.mark.group("fork bomb")
def test_RS01_fork_bomb(world):
    done, report = world.report(world.probe, "forkbomb", 100, options=["--pids", 24])
    assert '"ok":false' in done.out and '"EAGAIN"' in done.out, done.account()
    by = report["enforcement"]["limits"].get("pids")
    assert by in ("cgroup", "rlimit"), done.report_text
    # A cgroup counts every refusal; an rlimit is only seen reached while it lasts.
    if by == "cgroup":
        assert any(d["what"] == "pids" for d in report["denials"]), done.report_text
    [bare] = world.outside_of([("forkbomb", 100)])
    assert bare.ok, bare
    # Only now the real thing.
    bomb = WildBomb(world)
    assert bomb.done.status == 124 and bomb.report["timed_out"], bomb.done.account()
    assert any(d["what"] == "pids" for d in bomb.report["denials"]), bomb.done.report_text
    assert bomb.most < 64 + 20, f"{bomb.most} processes"
    assert gone(str(world.probe)), "processes survive the bomb"


@pytest.mark.group("fork bomb")
def test_RS01_the_host_goes_on_beside_a_fork_bomb(world):
    # Proved to be bounded before it is wild.
    assert '"EAGAIN"' in world.report(world.probe, "forkbomb", 100, options=["--pids", 24])[0].out
    calm = calm_spawn()
    bomb = WildBomb(world)
    # Before it and after it: something else may be at work on the machine.
    calm = max(calm, calm_spawn())
    # An emulated machine takes as long for an ordinary one as others do beside a bomb.
    assert bomb.spawn < max(0.5, 50 * calm), f"the host took {bomb.spawn:.1f}s for a spawn, {calm:.3f}s before"


@pytest.mark.group("fork bomb")
def test_RS02_descriptors_have_their_own_cap(world):
    [answer] = world.inside([("fds-exhaust",)])
    assert answer.errno == "EMFILE" and int(answer.detail) <= 4096, answer
    tight = limits(world, "files = 64")
    [answer] = world.inside([("fds-exhaust",)], options=["--policy", tight])
    assert answer.errno == "EMFILE" and int(answer.detail) < 64, answer


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm", "home"])
def test_RS04_filling_private_space(world, place):
    path = (str(world.home) if place == "home" else place) + "/fill"
    done, report = world.report("/bin/sh", "-c", f"head -c 64M /dev/zero > {path}",
                                options=["--scratch", "8M"])
    assert "No space left" in done.expect(1).err, done.account()
    assert any(d["what"] == "scratch" for d in report["denials"]), done.report_text
    world.allowed("fill", path, 4, options=["--scratch", "8M"])


def test_RS04_private_spaces_share_one_bound(world):
    first, second = world.inside([("inodes", 1, "/tmp"), ("fill", "/dev/shm/a", 7)],
                                 options=["--scratch", "8M"])
    assert first.ok and second.ok, (first, second)
    script = ("head -c 6M /dev/zero > /tmp/a && head -c 6M /dev/zero > /dev/shm/b && "
              "head -c 6M /dev/zero > ~/c")
    done = world.run("/bin/sh", "-c", script, options=["--scratch", "8M"])
    assert "No space left" in done.expect(1).err, done.account()
    world.run("/bin/sh", "-c", script, options=["--scratch", "64M"]).expect(0)


def test_RS04_filling_the_workspace_meets_the_file_size(world):
    policy = limits(world, 'file_size = "4M"')
    [answer] = world.inside([("fill", world.project / "fill", 16)], options=["--policy", policy])
    assert answer.errno == "EFBIG", answer
    big = world.project / "big"
    done, report = world.report("/usr/bin/head", "-c", "16M", "/dev/zero",
                                options=["--policy", policy])
    done.expect(0)  # a pipe is no file
    assert report["denials"] == [], done.report_text
    done, report = world.report("/usr/bin/dd", "if=/dev/zero", f"of={big}", "bs=1M", "count=16",
                                options=["--policy", policy])
    done.expect(128 + signal.SIGXFSZ)
    [denial] = report["denials"]
    assert (denial["what"], denial["layer"]) == ("file_size", "rlimit"), done.report_text
    assert big.stat().st_size <= 4 << 20
    world.allowed("fill", world.project / "fill", 3, options=["--policy", policy])


def test_RS05_inode_flood_and_deep_directories(world):
    world.make_directory(world.project / "many")
    world.make_directory(world.project / "deep")
    many, deep = world.inside([("inodes", 3000, world.project / "many"),
                               ("deep-dirs", 600, world.project / "deep")])
    assert many.ok and deep.ok, (many, deep)
    long = "n" * 255
    script = f"cd deep && mkdir -p {long}/.claude && echo x > {long}/.claude/settings.json"
    done, report = world.report("/bin/sh", "-c", script)
    assert done.seconds < 35, done.account()
    assert not (world.project / "deep" / long / ".claude").exists()
    [flood] = world.inside([("inodes", 2000000, "/tmp")], options=["--scratch", "4M"])
    assert not flood.ok and flood.errno in ("ENOSPC", "ENOMEM"), flood


@pytest.mark.group("timeout")
def test_RS06_endless_output(world):
    policy = limits(world, 'output = "1K"\noutput_total = "2M"')
    for redirect in ("yes", "yes >&2"):
        done = world.run("/bin/sh", "-c", redirect, options=["--policy", policy, "--json"])
        done.expect(137)
        report = done.json
        assert report["kill_reason"] == "output" and report["truncated"], done.account()
        assert len(report["stdout"] or "") <= 1200 and len(report["stderr"] or "") <= 1200
    done = world.run("/bin/sh", "-c", "yes | head -c 100000; echo end", options=["--json"])
    done.expect(0)
    assert done.json["stdout_bytes"] == 100004 and done.json["truncated"], done.account()


@pytest.mark.group("timeout")
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["plain", "json"])
def test_RS07_grandchild_holds_the_pipe(world, options):
    done = world.run(world.probe, "hold-pipes", 60, options=options)
    done.expect(0)
    assert done.seconds < 30, f"waited for a pipe\n{done.account()}"


@pytest.mark.group("timeout")
@pytest.mark.parametrize("attempt", [("ignore-signals", 60), ("stop-self", 60), ("spin", 60)],
                         ids=lambda a: a[0])
def test_RS09_stubborn_process_meets_the_deadline(world, attempt):
    done, report = world.report(world.probe, *attempt, options=["--timeout", "500ms"])
    done.expect(124)
    assert 0.5 <= done.seconds < 30, done.account()
    assert report["timed_out"] and report["kill_reason"] == "timeout", done.report_text
    assert gone(str(world.probe))


def test_RS09_vfork_stall(world):
    script = "import os,signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n" \
             "os.fork()\nos.fork()\nsignal.pause()"
    done = world.run("/usr/bin/python3", "-c", script, options=["--timeout", "500ms"])
    done.expect(124)
    assert done.seconds < 30


def test_RS10_zombies_are_reaped(world):
    [answer] = world.inside([("zombies", 300)])
    assert not answer.ok and answer.detail == "0", answer


@pytest.mark.group("timeout")
def test_RS11_processor_time(world):
    policy = limits(world, 'cpu = "1s"')
    done, report = world.report(world.probe, "spin", 60, options=["--policy", policy])
    done.expect(128 + signal.SIGKILL)  # the bound is soft and hard at once
    assert done.seconds < 30, done.account()
    assert report["kill_reason"] == "signal", done.report_text
    [denial] = report["denials"]
    assert (denial["what"], denial["layer"]) == ("cpu", "rlimit"), done.report_text
    done, report = world.report(world.probe, "spin", 0, options=["--policy", policy])
    done.expect(0)
    assert report["denials"] == [], done.report_text


def test_RS11_a_kill_that_was_no_limit_is_not_called_one(world):
    policy = limits(world, 'cpu = "30s"\nfile_size = "4M"')
    for number in (signal.SIGKILL, signal.SIGXCPU):
        done, report = world.report("/bin/sh", "-c", f"kill -{int(number)} $$",
                                    options=["--policy", policy])
        done.expect(128 + number)
        assert report["denials"] == [], done.report_text


def test_RS12_other_exhaustion(world):
    threads, lock = world.inside([("threads", 400), ("mlock", 512)], options=["--pids", 64])
    assert threads.errno == "EAGAIN" and int(threads.detail) < 64, threads
    assert not lock.ok and lock.errno in ("ENOMEM", "EPERM", "EAGAIN"), lock
    world.allowed("threads", 32, options=["--pids", 64])


@pytest.mark.group("fork bomb")
def test_R545_memory_bomb(world):
    small = world.inside([("memory", 8)], options=["--memory", "64M"])
    assert small[0].ok, small
    done, report = world.report(world.probe, "memory", 400, options=["--memory", "64M"], timeout=60)
    assert '"ok":true' not in done.out, done.account()
    told = report["kill_reason"] == "oom" or any(d["what"] == "memory" for d in report["denials"])
    assert told, f"the limit left no trace\n{done.report_text}"
    if report["kill_reason"] == "oom":
        done.expect(137)
    assert world.outside_of([("memory", 400)])[0].ok


@pytest.mark.group("fork bomb")
def test_R545_memory_bomb_of_many_processes(world):
    script = f"for i in 1 2 3 4 5 6 7 8; do '{world.probe}' memory 40 3 & done; wait"
    done, report = world.report("/bin/sh", "-c", script, options=["--memory", "96M"], timeout=60)
    told = report["kill_reason"] == "oom" or any(d["what"] == "memory" for d in report["denials"])
    refused = done.out.count('"ok":true') < 8
    assert told and refused, f"{done.account()}\n{done.report_text}"


# Ways to hold memory that no single process's resident pages show. Each takes 240 MiB in parts of
# 40, says so, and keeps them for as long as its parent's clock allows.
HOARDS = {
    "children-of-a-thread": """
def child():
    held = bytearray(40 << 20)
    for at in range(0, len(held), 4096):
        held[at] = 1
    os.write(1, b"held\\n")
    time.sleep(SECONDS)
def forks():
    pids = []
    for _ in range(6):
        pid = os.fork()
        if pid == 0:
            child()
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)
thread = threading.Thread(target=forks)
thread.start()
thread.join()
""",
    "memory-files": """
block = bytes(1 << 20)
held = [os.memfd_create(str(number)) for number in range(6)]
for fd in held:
    for _ in range(40):
        os.write(fd, block)
    os.write(1, b"held\\n")
time.sleep(SECONDS)
""",
    "memory-files-of-a-thread": """
# A process that has lost its first thread shows its descriptors only under another.
libc = ctypes.CDLL(None)
def hold():
    time.sleep(0.3)
    block = bytes(1 << 20)
    held = [os.memfd_create(str(number)) for number in range(6)]
    for fd in held:
        for _ in range(40):
            os.write(fd, block)
        os.write(1, b"held\\n")
    time.sleep(SECONDS)
    os._exit(0)
threading.Thread(target=hold).start()
libc.syscall(93 if platform.machine() == "aarch64" else 60, 0)
""",
    "pages-without-a-first-thread": """
libc = ctypes.CDLL(None)
def hold():
    time.sleep(0.3)
    for _ in range(6):
        pages = mmap.mmap(-1, 40 << 20, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
        held.append(pages)
        for at in range(0, len(pages), 4096):
            pages[at] = 1
        os.write(1, b"held\\n")
    time.sleep(SECONDS)
    os._exit(0)
held = []
threading.Thread(target=hold).start()
libc.syscall(93 if platform.machine() == "aarch64" else 60, 0)
""",
    "detached-segments": """
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
libc.shmdt.argtypes = [ctypes.c_void_p]
for _ in range(6):
    segment = libc.shmget(0, ctypes.c_size_t(40 << 20), 0o1600)
    if segment < 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    at = libc.shmat(segment, None, 0)
    ctypes.memset(at, 1, 40 << 20)
    libc.shmdt(at)
    os.write(1, b"held\\n")
time.sleep(SECONDS)
""",
}


@pytest.mark.group("fork bomb")
@pytest.mark.parametrize("way", HOARDS)
def test_R545_memory_held_out_of_sight(world, way):
    def script(seconds):
        return ("import ctypes, mmap, os, platform, sys, threading, time\n"
                f"SECONDS = {seconds}\n{HOARDS[way]}")
    # They hold it for longer than the run may last: what ends it is its size.
    done, report = world.report("/usr/bin/python3", "-c", script(90),
                                options=["--memory", "128M", "--timeout", "60s"], timeout=80)
    assert report["kill_reason"] == "oom", f"{done.account()}\n{done.report_text}"
    assert any(d["what"] == "memory" for d in report["denials"]), done.report_text
    done.expect(137)
    kept = world.run("/usr/bin/python3", "-c", script(0.3), options=["--memory", "1G"], timeout=60)
    kept.expect(0)
    assert kept.out.count("held") == 6, kept.account()


def test_RS14_cgroup_release_agent(world):
    world.denied("mount-cgroup", "/tmp", errors=CALL_ERRORS,
                 control="namespaces" if world.who.is_root else
                 "why: cgroup version 1 cannot be mounted by an ordinary user")
    found = world.inside([("list", "/sys/fs/cgroup"),
                          ("open-write", "/sys/fs/cgroup/release_agent"),
                          ("open-write", "/sys/fs/cgroup/pids/release_agent"),
                          ("open-write", "/sys/fs/cgroup/cgroup.procs")])
    assert not any(a.ok for a in found[1:]), found
    assert not found[0].ok or found[0].detail == "", found[0]


def mounts_beyond(known: set[str]) -> set[str]:
    return set(Path("/proc/self/mountinfo").read_text().splitlines()) - known


@pytest.mark.group("cleanup")
def test_RS15_death_of_cordon(world):
    mark = marker(world)
    mounts = mounts_beyond(set())
    process = world.start([world.cordon, "run", "--", "/bin/sh", "-c",
                           f"'{world.probe}' pdeathsig-clear; '{world.probe}' orphans 20 {mark} 120;"
                           f"'{world.probe}' linger {mark} 120"])
    assert wait_until(lambda: len(processes_with(mark)) >= 21), process.poll()
    process.kill()
    process.wait()
    assert gone(mark), f"still there: {processes_with(mark)}"
    process.communicate()
    assert wait_until(lambda: not mounts_beyond(mounts), SOON), mounts_beyond(mounts)
    world.run("true").expect(0)


@pytest.mark.group("cleanup")
@pytest.mark.parametrize("end", ["exit", "timeout", "signal"])
def test_R532_no_survivor_after_any_end(world, end):
    mark = marker(world)
    tail = "true" if end == "exit" else "sleep 120"
    options = ["--timeout", "700ms"] if end == "timeout" else []
    process = world.start([world.cordon, "run", *options, "--", "/bin/sh", "-c",
                           f"'{world.probe}' orphans 20 {mark} 120; {tail}"])
    if end == "signal":
        assert wait_until(lambda: len(processes_with(mark)) >= 20)
        process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == {"exit": 0, "timeout": 124, "signal": 143}[end]
    assert gone(mark), processes_with(mark)


@pytest.mark.group("timeout")
def test_R531_timeout_is_exact(world):
    def meet_it():
        assert world.run("sleep", "60", options=["--timeout", "1s"]).expect(124).seconds >= 1.0
    assert quickest(meet_it, within=3) < 3


@pytest.mark.group("cleanup")
def test_RS16_many_at_once_and_in_a_row(world):
    def one(number):
        done = world.run("/bin/sh", "-c", f"echo {number} > out-{number}; cat out-{number}")
        return done.status == 0 and done.out == f"{number}\n"
    world.run("true").expect(0)
    before, mounts, groups = census(world), mounts_beyond(set()), groups_without_processes()
    with ThreadPoolExecutor(20) as pool:
        assert all(pool.map(one, range(100))), "cross-talk or failure between parallel runs"
    for _ in range(100):
        world.run("true").expect(0)
    after = census(world)
    assert wait_until(lambda: census(world) == before, SOON), (before, after)
    assert wait_until(lambda: not mounts_beyond(mounts), SOON), mounts_beyond(mounts)
    # Runs of others may be making groups at this moment; those do not stay without a process.
    left = groups_without_processes() - groups
    assert wait_until(lambda: not left & groups_without_processes(), SOON), left & groups_without_processes()


def census(world):
    """What a run might leave behind beside groups and mounts: files in the state directory, processes."""
    runs = world.home / ".local/state/cordon/runs"
    return (len(list(runs.iterdir())) if runs.exists() else 0,
            len(processes_with(str(world.cordon))))


@pytest.mark.group("cleanup")
def test_R555_concurrent_runs_do_not_see_each_other(world):
    first = world.start([world.cordon, "run", "--", "/bin/sh", "-c",
                         "echo SECRET-first > /tmp/first; echo ready; sleep 300"])
    assert first.stdout.readline() == b"ready\n"
    found = world.inside([("read", "/tmp/first"), ("list", "/tmp")])
    assert not found[0].ok and found[0].errno in FILE_ERRORS and found[1].detail == "", found
    done = world.run("/bin/sh", "-c", "ls /proc | grep -c '^[0-9]'")
    assert int(done.out) <= 4, done.account()
    first.kill()
    first.communicate()


# Without these nothing may start, whatever else holds.
NEEDED = {"pivot_root", "landlock_restrict_self", "seccomp", "capset", "move_mount", "mount_setattr"}


def test_RS20_a_start_that_fails_at_any_step(who):
    """The first of each kind of call that builds or confines a sandbox fails. The fault sweep
    (tests/fault/sweep.py) lets every single one fail, in every way; its own judge judges here too."""
    shutil.copy(sweep.tool("fault_inject"), stage().path / "bin" / "inject")
    scene = sweep.Scene(who, "workspace", "native")
    scene.trace()  # makes the state directories
    calls, baseline = scene.trace()  # the control: without a fault the command runs, confined
    kinds = sorted({(role, call) for role, call, _ in calls if role > 0 and call not in sweep.NEVER_FAIL})
    assert NEEDED <= {call for _, call in kinds}, kinds
    ran = set()
    for role, call in kinds:
        point = sweep.Point(who.name, "workspace", role, call, 1, "EPERM")
        ended = scene.start([str(role), call, "1", "EPERM"])
        assert ended.hit, f"{point.words()}: the call was not made"
        assert sweep.problems_of(scene, point, baseline, ended) == [], point.words()
        if ended.verdict:
            ran.add(call)
        else:
            assert ended.status in (125, 126, 137), (point.words(), ended)
    assert not ran & NEEDED, f"the command ran although one of these failed: {ran & NEEDED}"
    remove_tree(scene.world.path)
