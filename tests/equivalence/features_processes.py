"""Processes: what is seen of the host's, limits, the terminal, and how a run ends."""

import os
import re
import shlex

from facts import Facts, Feature, refused, tried, works
from place import Bare, Profile
from support import harness
from support.harness import GONE_ERRORS
from support.pty_session import Terminal


def limits(text):
    return f'version = 1\nextends = "workspace"\n[limits]\n{text}\n'


def denied(report, what) -> bool:
    """The report names the limit that was reached."""
    return any(denial["what"] == what for denial in report.get("denials", ()))


def host_processes(place) -> Facts:
    target = harness.start_target(place)
    attempts = {"not signalled": ("kill", target.pid), "not traced": ("ptrace", target.pid),
                "memory not read": ("process-vm", target.pid, target.address),
                "environment not read": ("environ-of", target.pid)}
    try:
        answers = place.inside(list(attempts.values()))
    finally:
        harness.stop(target.process)
    assert all(answer.ok or answer.errno in GONE_ERRORS for answer in answers), answers
    facts = Facts(holds={phrase: not answer.ok for phrase, answer in zip(attempts, answers)})
    facts.holds["numbers in use are not found out"] = answers[0].errno == "ESRCH"
    return facts


def end_of_the_tree(place) -> Facts:
    alive = place.project / "alive"
    script = (f"'{place.probe}' daemonize {place.unique} 60 '{alive}' >/dev/null 2>&1; "
              f"while ! test -s '{alive}'; do sleep 0.02; done")
    place.contained("/bin/sh", "-c", script)
    over = harness.wait_until(lambda: not harness.processes_with(place.unique), harness.SOON)
    for pid in harness.processes_with(place.unique):
        os.kill(pid, 9)
    return Facts(works={"what leaves its session is started": alive.stat().st_size > 0},
                 holds={"it does not outlive the run": over})


def wall(place) -> Facts:
    done, report = place.contained("sleep", "5", options=["--timeout", "200ms"])
    return Facts(holds={"it is ended": done.status == 124,
                        "the report says so": report.get("kill_reason") == "timeout"})


def processor_time(place) -> Facts:
    given = ["--policy", place.document(limits('cpu = "1s"'))]
    # Ends by itself, by its own processor's clock: a busy machine changes nothing.
    script = "import time\nwhile time.process_time() < 1.7: pass"
    done, report = place.contained("/usr/bin/python3", "-c", script, options=given)
    return Facts(holds={"it is ended": done.status != 0, "the report says so": denied(report, "cpu")})


def processes(place) -> Facts:
    few, many = place.inside([("forkbomb", 4), ("forkbomb", 150)], options=["--pids", 64])
    return Facts(works={"fewer are started": few.ok},
                 holds={"more are not": many.errno == "EAGAIN" and int(many.detail) <= 64})


def memory(place) -> Facts:
    [small] = place.inside([("memory", 8)], options=["--memory", "64M"])
    done, report = place.contained(place.probe, "memory", 200, options=["--memory", "64M"])
    told = report.get("kill_reason") == "oom" or denied(report, "memory")
    return Facts(works={"less is given": small.ok},
                 holds={"more is not": '"ok":true' not in done.out, "the report says so": told})


def files(place) -> Facts:
    given = ["--policy", place.document(limits("files = 64"))]
    [answer] = place.inside([("fds-exhaust",)], options=given)
    return Facts(works={"some are opened": int(answer.detail) > 16},
                 holds={"more are not": answer.errno == "EMFILE" and int(answer.detail) < 64})


def file_size(place) -> Facts:
    given = ["--policy", place.document(limits('file_size = "2M"'))]
    big = place.project / "big"
    fill = ["/usr/bin/dd", "if=/dev/zero", f"of={big}", "bs=1M", "status=none"]
    small, _ = place.contained(*fill, "count=1", options=given)
    large, report = place.contained(*fill, "count=8", options=given)
    return Facts(works={"smaller ones are written": small.status == 0},
                 holds={"larger ones are not": large.status != 0 and big.stat().st_size <= 2 << 20,
                        "the report says so": denied(report, "file_size")})


def output(place) -> Facts:
    given = ["--policy", place.document(limits('output = "1K"')), "--json"]
    done, report = place.contained("/bin/sh", "-c", "yes | head -c 100000", options=given)
    return Facts(works={"the command lives": done.status == 0},
                 holds={"the rest is dropped": report.get("truncated") is True and
                        len(report["stdout"]) <= 1200,
                        "and counted": report.get("stdout_bytes") == 100000})


def output_total(place) -> Facts:
    given = ["--policy", place.document(limits('output_total = "1M"'))]
    done, report = place.contained("head", "-c", "8M", "/dev/zero", options=given)
    return Facts(holds={"it is ended": done.status == 137,
                        "the report says so": report.get("kill_reason") == "output"})


def terminal(place) -> Facts:
    script = ("import os; s = os.fstat(0); print(f'<{os.isatty(0)} {s.st_dev} {s.st_rdev}>')\n"
              "print('[' + input() + ']')")
    session = Terminal(place, place.command_line(["/usr/bin/python3", "-c", script], []))
    try:
        session.expect(b">")
        session.type(b"typed\r")
        session.expect(b"[typed]")
        session.wait()
        theirs = os.fstat(session.slave)
        found = re.search(rb"<(True|False) (\d+) (\d+)>", session.seen)
    finally:
        session.close()
    same = (int(found[2]), int(found[3])) == (theirs.st_dev, theirs.st_rdev)
    return Facts(works={"the command has one": found[1] == b"True"},
                 holds={"it is not the caller's": not same})


def suspend_key(place) -> Facts:
    script = ("import signal, time\n"
              "signal.signal(signal.SIGINT, lambda *_: print('GO' 'ES ON', flush=True))\n"
              "print('REA' 'DY', flush=True)\nwhile True: time.sleep(30)")
    argv = place.command_line(["/usr/bin/python3", "-c", script], [])
    session = Terminal(place, ["bash", "--norc", "-i"])

    def seen(*words):
        session.read_for(0.02)
        return any(word in session.seen for word in words)

    try:
        place.write(place.project / "line", shlex.join(map(str, argv)))
        session.type(b". ./line\r")
        session.expect(b"READY")
        session.type(b"\x1a")
        harness.wait_until(lambda: seen(b"Stopped"), 0.5)
        # Whoever was not stopped hears the interrupt.
        session.type(b"\x03")
        assert harness.wait_until(lambda: seen(b"Stopped", b"GOES ON")), session.seen
        stopped = b"Stopped" in session.seen
    finally:
        session.close()
    return Facts(works={"it stops the command": stopped})


def exit_status(place) -> Facts:
    given, _ = place.contained("/bin/sh", "-c", "exit 3")
    missing, _ = place.contained("/bin/sh", "-c", "exec /nonexistent/program")
    killed, report = place.contained("/bin/sh", "-c", "kill -TERM $$")
    by_name = report.get("signal", "SIGTERM") == "SIGTERM"
    return Facts(works={"it is the command's": given.status == 3 and missing.status == 127,
                        "a signal is told by its name": by_name and killed.status in (143, -15)})


def environment(place) -> Facts:
    done, _ = place.contained("env", options=["--env", "SHOWN", "--env", "MADE=new"],
                              env={"SHOWN": "old", "CALLER_SECRET": "SECRET"})
    return Facts(works={"what is named is passed": "SHOWN=old" in done.out},
                 holds={"nothing else is": "SECRET" not in done.out,
                        "what is set is there": "MADE=new" in done.out})


def shared_memory(place) -> Facts:
    key = 0x0C0E0000 | os.getpid() & 0xFFFF
    [made] = place.outside_of([("sysv-shm-make", hex(key))])
    try:
        shared, own = place.inside([("sysv-shm", hex(key)), ("sysv-shm-make", hex(key ^ 0x10000))])
    finally:
        place.outside_of([("sysv-shm-remove", made.detail)])
    if isinstance(place, Bare):
        place.outside_of([("sysv-shm-remove", own.detail)])
    return Facts(works={"programs have their own": own.ok},
                 holds={"the host's is out of reach": not shared.ok})


def ceiling(place) -> Facts:
    attempts = f"write\t{place.outside}/new\nwrite\t{place.project}/new\n"
    asks = place.document(f'version = 1\nextends = "workspace"\n[fs]\nwrite = ["{place.outside}"]\n',
                          "asks.toml")
    done, report = place.contained(place.probe, "batch", "-", options=["--policy", asks],
                                   input=attempts)
    above, below = harness.answers(done.out)
    facts = Facts(works={"what it permits is done": below.ok},
                  holds={"what it does not is refused": not above.ok})
    if not isinstance(place, Profile):
        facts.holds["the report says so"] = any(
            (one["what"], one["because"]) == ("write", "outside-ceiling")
            for one in report.get("reductions", ()))
    return facts


FEATURES = [
    Feature("processes of the host", host_processes),
    Feature("the end of the whole tree", end_of_the_tree),
    Feature("`limits.wall`", wall),
    Feature("`limits.cpu`", processor_time),
    Feature("`limits.pids`", processes),
    Feature("`limits.memory`", memory),
    Feature("`limits.files`", files),
    Feature("`limits.file_size`", file_size),
    Feature("`limits.output`", output),
    Feature("`limits.output_total`", output_total),
    Feature("`env`", environment),
    Feature("System V shared memory", shared_memory),
    tried("the kernel's tables in `/proc`", works("one's own are read", "read", "/proc/self/stat"),
          refused("the keys are not", "read", "/proc/keys")),
    Feature("terminal", terminal),
    Feature("the suspend key", suspend_key),
    Feature("exit status", exit_status),
    Feature("what a ceiling takes away", ceiling),
]
