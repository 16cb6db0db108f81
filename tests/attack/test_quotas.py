"""What the kernel counts per user, and the sandbox's first process, which is of the same user."""
import json
import platform
import resource

import pytest

PYTHON = "/usr/bin/python3"
IOPRIO_SET = {"aarch64": 30, "x86_64": 251}[platform.machine()]

# Tries every way to slow a process down or to have a limit kill it, and says what each came to.
TRY = """
import ctypes, errno, json, os, resource, sys
pid, group, user = int(sys.argv[1]), int(sys.argv[2]), os.getuid()
libc = ctypes.CDLL(None, use_errno=True)
def call(*words):
    if libc.syscall(*words) < 0:
        raise OSError(ctypes.get_errno(), "")
attempts = {
    "cpu": lambda: resource.prlimit(pid, resource.RLIMIT_CPU, resource.prlimit(pid, resource.RLIMIT_CPU)),
    "files": lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE),
    "affinity": lambda: os.sched_setaffinity(pid, os.sched_getaffinity(pid)),
    "scheduler": lambda: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)),
    "parameters": lambda: os.sched_setparam(pid, os.sched_param(0)),
    "priority": lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
    "priority of the group": lambda: os.setpriority(os.PRIO_PGRP, group, 19),
    "priority of the user": lambda: os.setpriority(os.PRIO_USER, 0, 19),
    "io": lambda: call(%d, 1, pid, 3 << 13),
    "io of the user": lambda: call(%d, 3, user, 3 << 13),
}
told = {}
for name, attempt in attempts.items():
    try:
        attempt()
        told[name] = "done"
    except OSError as error:
        told[name] = errno.errorcode[error.errno]
print(json.dumps(told))
""" % (IOPRIO_SET, IOPRIO_SET)


def test_the_first_process_cannot_be_slowed_down_or_limited(world):
    done = world.run(PYTHON, "-c", TRY, "1", "1").expect(0)
    told = json.loads(done.out)
    assert set(told.values()) == {"EPERM"}, told
    # Of its own processes the command may set all of it, but for the user as a whole.
    done = world.run(PYTHON, "-c", TRY, "0", "0").expect(0)
    own = json.loads(done.out)
    wide = {"priority of the user", "io of the user"}
    assert {name for name, what in own.items() if what != "done"} == wide, own
    # Outside nothing but the user decides.
    bare = json.loads(world.bare(*world.own_namespaces(), PYTHON, "-c", TRY, "0", "0").expect(0).out)
    assert set(bare.values()) == {"done"}, bare


def test_leases_are_refused(world):
    script = "import fcntl; f = open('file.txt'); fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_RDLCK)"
    done = world.run(PYTHON, "-c", script)
    assert done.status == 1 and "PermissionError" in done.err, done.account()
    world.bare(PYTHON, "-c", script).expect(0)
    # Other requests pass.
    world.run(PYTHON, "-c", "import fcntl; f = open('file.txt', 'r+'); fcntl.lockf(f, fcntl.LOCK_EX); "
                            "fcntl.fcntl(f, fcntl.F_SETFD, fcntl.FD_CLOEXEC)").expect(0)


INSTANCES = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
count = 0
while count < int(sys.argv[1]) and libc.inotify_init1(0) >= 0:
    count += 1
print(count, flush=True)
if len(sys.argv) > 2:
    sys.stdin.read()
"""


def test_a_run_does_not_take_all_inotify_instances_of_its_user(world):
    most = int(open("/proc/sys/fs/inotify/max_user_instances").read())
    process = world.start([world.cordon, "run", "--", PYTHON, "-c", INSTANCES, str(most * 2), "hold"],
                          stdin=-1)
    try:
        taken = int(process.stdout.readline())
        assert 0 < taken <= most // 2, taken
        assert world.bare(PYTHON, "-c", INSTANCES, "1").expect(0).out == "1\n"
    finally:
        process.communicate(timeout=20)
    # The control: the same program outside takes more than half.
    if most <= 4096:
        bare = int(world.bare(PYTHON, "-c", "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, "
                              "(resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)\n" + INSTANCES,
                              str(most // 2 + 1)).expect(0).out)
        assert bare > most // 2


TIMERS = """
import ctypes, resource, sys
resource.setrlimit(resource.RLIMIT_SIGPENDING, (min(int(sys.argv[1]), resource.getrlimit(resource.RLIMIT_SIGPENDING)[1]),) * 2)
libc = ctypes.CDLL(None, use_errno=True)
timer, count = ctypes.c_void_p(), 0
while count < int(sys.argv[2]) and libc.timer_create(0, None, ctypes.byref(timer)) == 0:
    count += 1
print(count, flush=True)
if len(sys.argv) > 3:
    sys.stdin.read()
"""


def test_a_run_does_not_take_all_timers_of_its_user(world):
    """Each holds a signal that may wait, and those are counted per user."""
    limit, most = 4000, 10_000
    process = world.start(["/usr/bin/prlimit", f"--sigpending={limit}:{limit}", world.cordon, "run", "--", PYTHON, "-c",
                           TIMERS, str(most), str(most), "hold"], stdin=-1)
    try:
        taken = int(process.stdout.readline())
        assert 0 < taken <= limit // 2, taken
        assert world.bare(PYTHON, "-c", TIMERS, str(limit), "10").expect(0).out == "10\n"
    finally:
        process.communicate(timeout=20)
    # The control: the same program outside takes more than half.
    assert int(world.bare(PYTHON, "-c", TIMERS, str(limit), str(most)).expect(0).out) > limit // 2


def test_what_cannot_be_bounded_is_named(world):
    _, report = world.report("true")
    lost = report["enforcement"]["lost"]
    assert "in-flight" in lost and "appearing" not in lost, lost
    _, report = world.report("true", options=["--deny", ".env"])
    assert "appearing" in report["enforcement"]["lost"], report["enforcement"]


@pytest.mark.parametrize("kind", ["path", "suffix", "prefix", "anchored"])
def test_twenty_thousand_denies_start_in_a_second(world, kind):
    for directory in range(40):
        for name in range(50):
            world.write(world.project / f"d{directory}/file{name}.txt", "")
    secret = world.write(world.project / "d1/secret19999.key", "SECRET\n")
    # A policy file has at most 1 MiB.
    directory = f"~/{world.project.relative_to(world.home)}/d1"
    pattern = {"path": directory + "/secret{}.key", "suffix": "*{}.key",
               "prefix": "secret{}*", "anchored": directory + "/secret{}.*"}[kind]
    denies = ", ".join(json.dumps(pattern.format(number)) for number in range(20_000))
    policy = world.document(f'version = 1\nextends = "workspace"\n[fs]\ndeny = [{denies}]\n')
    options = ["--policy", policy]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    world.run("true", options=options).expect(0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Of the processor: what else runs on the machine does not count.
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert took < 1, took
    done = world.run("cat", secret, options=options)
    assert done.status == 1 and "SECRET" not in done.out, done.account()
    assert "SECRET" in world.run("cat", secret).expect(0).out
