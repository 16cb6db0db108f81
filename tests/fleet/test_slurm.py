"""`cordon fleet submit` and its sisters with a Slurm that is there: two nodes on this host, tasks as an ordinary user. The
scheduler waits two minutes before it starts a task again. Only ./test --all does (CORDON_SLURM_DELAY=kept); else the
tests let it start at once."""

import json
import os
import re
import signal
import stat
import subprocess
import time
from hashlib import sha256
from pathlib import Path

import jsonschema
import pytest
import slurm

from support import harness
from support.harness import wait_until
from support.pty_session import Terminal

pytestmark = pytest.mark.only("user")

LONG = slurm.LONG
KEEPS_DELAY = os.environ.get("CORDON_SLURM_DELAY") == "kept"
# Of commands that are told from those of anybody else.
NAP = f"sleep\x00600{harness.ORDINARY_UID}"
SLEEP = NAP.replace("\x00", " ")
RECORD = json.loads((harness.ROOT / "schema/fleet-record.schema.json").read_text())
JOB = json.loads((harness.ROOT / "schema/fleet-job.schema.json").read_text())
REPORT = json.loads((harness.ROOT / "schema/report.schema.json").read_text())
POLICY = """version = 1
extends = "strict"
[fs]
read = ["/usr"]
write = ["@cwd"]
[env]
pass = ["GREETING"]
[limits]
memory = "256M"
wall = "10m"
"""


@pytest.fixture(scope="module")
def cluster():
    made = slurm.Cluster()
    yield made
    made.remove()


class Fleet:
    """A world whose submissions go to the cluster."""

    def __init__(self, world, cluster):
        self.world, self.cluster = world, cluster
        self.policy = world.document(POLICY)
        self.lists = 0

    def verb(self, *words, **how):
        how.setdefault("timeout", LONG)
        how["env"] = {**self.cluster.environment, **how.get("env", {})}
        return self.world.cordon_verb("fleet", *words, **how)

    def without_slurm(self, *words):
        return self.world.execute(["/usr/bin/env", "PATH=/nowhere", self.world.cordon, "fleet", *words],
                                  env=self.cluster.environment, timeout=LONG)

    def list_of(self, *tasks) -> Path:
        self.lists += 1
        text = "".join(task if isinstance(task, str) else json.dumps(task) + "\n" for task in tasks)
        return self.world.write(self.world.path / f"tasks{self.lists}.jsonl", text)

    def submit(self, *tasks, options=(), **how) -> str:
        words = ["submit", "--engine", "slurm", *options]
        if "--policy" not in options:
            words += ["--policy", self.policy]
        done = self.verb(*words, "--tasks", self.list_of(*tasks), **how).expect(0)
        assert re.fullmatch(r"[0-9]+\n", done.out), done.account()
        return done.out.strip()

    def refused(self, *tasks, options=(), **how):
        before = self.jobs()
        kept = self.kept()
        done = self.verb("submit", "--policy", self.policy, *options, "--tasks", self.list_of(*tasks), **how).expect(2)
        assert done.out == "" and self.jobs() == before and self.kept() == kept, done.account()
        return done

    def jobs(self) -> list[str]:
        return self.cluster.ask("squeue", "-h", "-t", "all", "-o", "%F").split()

    def kept(self) -> list[str]:
        place = self.world.home / ".local/state/cordon/fleet"
        return sorted(str(path) for path in place.rglob("*")) if place.exists() else []

    def state(self, job, **how) -> dict:
        done = self.verb("status", "--json", job, **how)
        jsonschema.validate(done.json, JOB)
        return done.json

    def directory(self, job) -> Path:
        return Path(self.state(job)["directory"])

    def over(self, job) -> bool:
        state = self.state(job)
        return state["running"] + state["waiting"] == 0

    def records(self, job, status=0) -> list[dict]:
        done = self.verb("collect", job).expect(status)
        found = [json.loads(line) for line in done.out.splitlines()]
        for one in found:
            jsonschema.validate(one, RECORD)
            jsonschema.validate(one["report"], REPORT)
            assert set(one) == {"id", "attempts", "report"}
        return found

    def results(self, job) -> list[dict]:
        assert wait_until(lambda: self.over(job), LONG, 0.2), (self.state(job), self.cluster.logs())
        return self.records(job)

    def start_again(self, job, index) -> None:
        """Without the minutes that the scheduler waits before it starts a task again."""
        if not KEEPS_DELAY:
            self.cluster.ask("scontrol", "update", f"JobId={job}_{index}", "StartTime=now")

    def waits_again(self, job, index) -> bool:
        """It was started already, and the scheduler holds it back for a while."""
        return f"{job}_{index}|PENDING|BeginTime" in self.cluster.ask("squeue", "-h", "-r", "-o", "%i|%T|%r")


@pytest.fixture
def fleet(world, cluster):
    made = Fleet(world, cluster)
    yield made
    for job in set(made.jobs()):
        subprocess.run(["scancel", job], env={"PATH": harness.BASE_PATH, **cluster.environment}, check=False)
    assert wait_until(lambda: cluster.ask("squeue", "-h") == "", LONG, 0.1), cluster.ask("squeue")
    assert not harness.processes_with(str(world.path)), harness.processes_with(str(world.path))


def shell(text, **keys):
    return {"argv": ["/bin/sh", "-c", text], **keys}


def test_each_task_is_one_sandbox_and_ends_in_one_record(fleet):
    secret = fleet.world.outside / "secret"
    tasks = [shell(f"echo task {number}; echo {number} >>ran.{number}; exit {number % 3}", id=f"t{number}")
             for number in range(6)]
    tasks += [shell(f"cat {secret}", id="denied"),
              {"argv": ["/usr/bin/cat"], "stdin": "to be read\n", "id": "reads"},
              shell('echo "$GREETING $(pwd)"', id="says", env={"GREETING": "hello"}, cwd="/usr"),
              {"argv": ["/no/such/program"], "id": "absent"}, shell("kill -9 $$", id="killed")]
    job = fleet.submit(*tasks)
    found = fleet.results(job)
    assert [one["id"] for one in found] == [task["id"] for task in tasks]
    by_id = {one["id"]: one for one in found}
    for number in range(6):
        report = by_id[f"t{number}"]["report"]
        assert report["exit_code"] == number % 3 and report["stdout"] == f"task {number}\n", report
        assert report["enforcement"]["landlock"] and report["error"] is None
        # Nothing twice: the command's failure is final.
        assert (fleet.world.project / f"ran.{number}").read_text() == f"{number}\n"
    assert by_id["denied"]["report"]["exit_code"] != 0 and "SECRET" not in json.dumps(by_id["denied"])
    assert fleet.world.bare("cat", secret).out == "SECRET-outside\n"
    assert by_id["reads"]["report"]["stdout"] == "to be read\n"
    assert by_id["says"]["report"]["stdout"] == "hello /usr\n"
    assert by_id["absent"]["report"]["error"]["kind"] == "command"
    assert by_id["killed"]["report"]["signal"] == "SIGKILL"
    for one in found:
        assert [(a["attempt"], a["end"]) for a in one["attempts"]] == [(1, "final")], one
    assert {one["attempts"][0]["node"] for one in found} == set(slurm.NODES)
    assert len({one["report"]["policy_hash"] for one in found if one["report"]["error"] is None}) == 1
    # Idempotent, and by the directory as well.
    once, again = (fleet.verb("collect", word).expect(0).out for word in (job, fleet.directory(job)))
    assert once == again
    state = fleet.state(job)
    assert (state["final"], state["running"], state["waiting"]) == (len(tasks), 0, 0)
    directory = fleet.directory(job)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    for name, text in (("policy-*.toml", None), ("tasks-*.jsonl", None)):
        assert len(list(directory.glob(name))) == 1, text
    assert not list((directory / "final").glob(".*")) and not list((directory / "attempts").glob("*.room"))


def test_an_id_is_the_same_each_time(fleet):
    tasks = [shell("true"), shell("true"), shell("false")]
    first, second = (fleet.results(fleet.submit(*tasks)) for _ in range(2))
    assert [one["id"] for one in first] == [one["id"] for one in second]
    assert len({one["id"] for one in first}) == 3


BAD_LINES = {
    "not JSON": ('{"argv": ["true"]', "is no JSON object"),
    "another key": ('{"argv": ["true"], "comand": 1}', "no key"),
    "no command": ('{"id": "x"}', 'no "argv"'),
    "a text for a list": ('{"argv": "true"}', "not a list"),
    "a variable that the policy does not pass": ('{"argv": ["true"], "env": {"OTHER": "1"}}', "passes no variable OTHER"),
    "an id twice": ('{"argv": ["true"], "id": "n7"}', "stands in line 8"),
}


def test_a_bad_line_is_named_and_nothing_is_submitted(fleet):
    good = [{"argv": ["true"], "id": f"n{number}"} for number in range(20)]
    for bad, (text, words) in BAD_LINES.items():
        done = fleet.refused(*good[:12], text + "\n", *good[12:])
        assert re.search(r"tasks\d\.jsonl:13:", done.err) and words in done.err, (bad, done.account())
        assert "nothing was submitted" in done.err, (bad, done.account())
    # The control: without it, it is submitted.
    fleet.submit(*good[:2])


def test_a_hundred_thousand_lines_with_a_bad_one_in_the_middle(fleet):
    good = '{"argv":["/usr/bin/true"],"stdin":"' + 200 * "x" + '"}\n'
    path = fleet.world.write(fleet.world.path / "many.jsonl", 50_000 * good + '{"argv":[]}\n' + 49_999 * good)
    before, kept = fleet.jobs(), fleet.kept()
    limited = ["/bin/sh", "-c", 'ulimit -v 400000; exec "$@"', "sh", fleet.world.cordon, "fleet", "submit", "--policy",
               fleet.policy, "--tasks", path]
    done = fleet.world.execute(limited, env=fleet.cluster.environment, timeout=LONG).expect(2)
    assert "many.jsonl:50001:" in done.err and "nothing was submitted" in done.err, done.account()
    assert fleet.jobs() == before and fleet.kept() == kept
    # All good, and more than the scheduler takes at a time: said with the setting, and nothing is submitted.
    fleet.world.write(path, 3000 * good)
    done = fleet.verb("submit", "--policy", fleet.policy, "--tasks", path).expect(2)
    assert "3000 tasks" in done.err and "MaxArraySize" in done.err and fleet.jobs() == before, done.account()


def test_what_cannot_be_submitted_leaves_nothing(fleet):
    done = fleet.verb("submit", "--policy", fleet.policy, "--tasks", "absent.jsonl").expect(2)
    assert "absent.jsonl" in done.err
    done = fleet.refused(shell("true"), options=("--partition", "nowhere"))
    assert "sbatch" in done.err and "partition" in done.err, done.account()
    inside = fleet.world.project / "run"
    done = fleet.refused(shell("true"), options=("--out", inside))
    assert "writable grant" in done.err and not inside.exists()
    kept = fleet.kept()
    done = fleet.without_slurm("submit", "--policy", fleet.policy, "--tasks", fleet.list_of(shell("true"))).expect(2)
    assert "cannot start scontrol" in done.err and "slurm-client" in done.err and fleet.kept() == kept, done.account()
    # The control: a directory outside of the grant, and the program on PATH.
    outside = fleet.world.trusted / "run"
    fleet.submit(shell("true"), options=("--out", outside))
    assert (outside / "job.json").exists()


def test_nobody_else_is_asked(fleet):
    job = fleet.submit(shell("true"))
    assert fleet.results(job)
    for verb in ("status", "collect", "cancel"):
        done = fleet.verb(verb, "999999").expect(2)
        assert "no job 999999" in done.err
        fleet.verb(verb, fleet.world.project).expect(2)
        fleet.verb(verb).expect(2)
    # What is there is printed without a scheduler; what is not is never made up without it.
    assert fleet.without_slurm("collect", job).expect(0).out
    waiting = fleet.submit(shell(SLEEP))
    done = fleet.without_slurm("collect", waiting).expect(1)
    assert done.out == "" and "left out" in done.err, done.account()
    done = fleet.without_slurm("status", "--json", waiting).expect(2)
    assert done.json["unknown"] == 1
    assert not list((fleet.directory(waiting) / "final").iterdir())


def test_a_machine_that_fails_is_tried_again_and_then_it_is_final(fleet):
    """The record of the audit log cannot be written there, so that nothing is started."""
    log = fleet.world.home / ".local/state/cordon/audit"
    fleet.world.run("true").expect(0)
    fleet.world.bare("chmod", "500", log).expect(0)
    for day in log.iterdir():
        fleet.world.bare("chmod", "400", day)
    job = fleet.submit(shell("echo once >>ran", id="a"), options=("--attempts", "2"))
    directory = fleet.directory(job)
    assert wait_until(lambda: fleet.waits_again(job, 0), LONG, 0.1), (fleet.state(job), fleet.cluster.logs())
    assert not (fleet.world.project / "ran").exists()
    assert fleet.records(job, status=1) == [] and fleet.state(job)["waiting"] == 1
    first = json.loads((directory / "attempts/0.1.end.json").read_text())
    assert first["end"] == "requeued" and first["error"], first
    fleet.start_again(job, 0)
    [found] = fleet.results(job)
    assert [(a["attempt"], a["end"]) for a in found["attempts"]] == [(1, "requeued"), (2, "final")], found
    assert found["report"]["error"]["kind"] in ("audit", "setup") and not (fleet.world.project / "ran").exists()
    # The control: with the machine mended the same task is done, at the second attempt.
    job = fleet.submit(shell("echo once >>ran", id="a"), options=("--attempts", "2"))
    assert wait_until(lambda: fleet.waits_again(job, 0), LONG, 0.1), fleet.state(job)
    fleet.world.bare("chmod", "-R", "u+rwX", log).expect(0)
    fleet.start_again(job, 0)
    [found] = fleet.results(job)
    assert [a["end"] for a in found["attempts"]] == ["requeued", "final"] and found["report"]["exit_code"] == 0
    assert (fleet.world.project / "ran").read_text() == "once\n"


def test_what_the_policy_cannot_do_on_the_node_is_final(fleet):
    """A policy that is newer than the node, and a ceiling of the node that refuses what the task asks for."""
    waiting = [shell("until [ -e go ]; do sleep 0.1; done") for _ in range(4)]
    job = fleet.submit(*waiting, shell("true", id="newer"))
    assert wait_until(lambda: fleet.state(job)["running"] == 4, LONG, 0.1), fleet.state(job)
    directory = fleet.directory(job)
    facts = json.loads((directory / "job.json").read_text())
    newer = (directory / facts["policy"]).read_text() + "\n[newer]\nkey = 1\n"
    facts["policy_hash"] = sha256(newer.encode()).hexdigest()
    facts["policy"] = "policy-newer.toml"
    fleet.world.write(directory / "policy-newer.toml", newer, 0o600)
    fleet.world.write(directory / "job.json", json.dumps(facts), 0o600)
    fleet.world.write(fleet.world.project / "go", "")
    found = {one["id"]: one for one in fleet.results(job)}
    report = found["newer"]["report"]
    assert report["error"]["kind"] == "policy" and "newer" in report["error"]["message"], report
    assert [a["end"] for a in found["newer"]["attempts"]] == ["final"]
    ceiling = fleet.world.write(fleet.world.home / ".config/cordon/ceiling.toml",
                                'version = 1\n[fs]\nread = ["/usr"]\nwrite = ["~/project"]\n[env]\npass = []\n', 0o600)
    job = fleet.submit(shell("true", id="refused", env={"GREETING": "hello"}), shell("true", id="taken"))
    found = {one["id"]: one for one in fleet.results(job)}
    assert found["refused"]["report"]["error"]["kind"] == "policy", found["refused"]
    assert "GREETING" in found["refused"]["report"]["error"]["message"]
    assert found["taken"]["report"]["exit_code"] == 0 and ceiling.exists()


def test_cancel_ends_what_runs_and_every_task_has_its_record(fleet):
    tasks = [shell(f"(trap '' TERM; setsid {SLEEP}) & {SLEEP}", id=f"t{number}") for number in range(8)]
    job = fleet.submit(shell("true", id="early"), *tasks)
    assert wait_until(lambda: len(harness.processes_with(NAP)) >= 8 and fleet.state(job)["final"], LONG, 0.1), \
        fleet.state(job)
    done = fleet.verb("cancel", job).expect(0)
    assert "8 task(s) ended by it, 1 were done before" in done.err, done.account()
    found = {one["id"]: one["report"] for one in fleet.records(job)}
    assert found.pop("early")["exit_code"] == 0
    started = [one for one in found.values() if one["error"] is None]
    # Slurm signals one process after another: a shell whose sleep went first ends by itself, with that one's status.
    by_its_sleep = 128 + signal.SIGTERM
    assert started and all(one["kill_reason"] or one["exit_code"] == by_its_sleep for one in started), started
    assert any("cancelled" in one["error"]["message"] for one in found.values() if one["error"])
    assert fleet.state(job)["cancelled"]
    fleet.verb("cancel", job).expect(1)
    assert not harness.processes_with(NAP)


def take_interrupts():
    """Whoever started the tests in the background has them ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_of_status_leaves_the_job_alone(fleet):
    job = fleet.submit(shell("until [ -e go ]; do sleep 0.1; done; echo done", id="a"))
    process = fleet.world.start([fleet.world.cordon, "fleet", "status", "--follow", job],
                                env=fleet.cluster.environment, preexec_fn=take_interrupts)
    assert wait_until(lambda: fleet.state(job)["running"], LONG, 0.1)
    process.send_signal(signal.SIGINT)
    assert process.wait(LONG) == -signal.SIGINT
    process.stdout.close()
    process.stderr.close()
    fleet.world.write(fleet.world.project / "go", "")
    done = fleet.verb("status", "--follow", job).expect(0)
    assert "1 of 1 done" in done.err, done.account()
    [found] = fleet.results(job)
    assert found["report"]["stdout"] == "done\n"


def test_an_interrupt_of_submit_submits_nothing_or_tells_the_job(fleet):
    """At whatever moment it comes: there is no job that nobody knows."""
    path = fleet.list_of(*[{"argv": ["/usr/bin/true"]} for _ in range(100)])
    for wait in (0.0, 0.03, 0.06, 0.1):
        before = set(fleet.jobs())
        process = fleet.world.start([fleet.world.cordon, "fleet", "submit", "--policy", fleet.policy, "--tasks", path],
                                    env=fleet.cluster.environment, preexec_fn=take_interrupts, text=True)
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=LONG)
        new = set(fleet.jobs()) - before
        known = {Path(one).name for one in fleet.kept() if "/jobs/" in one}
        assert new <= known, (wait, new, out)
        left = [one for one in (fleet.world.home / ".local/state/cordon/fleet").glob("*/job.json")
                if not (one.parent / "job").exists()]
        assert not left, left
        for job in new:
            fleet.verb("cancel", job)


def test_an_older_attempt_stops_when_a_newer_one_has_begun(fleet):
    """A node that the scheduler took for dead and that lives on."""
    job = fleet.submit(shell(SLEEP, id="a"))
    directory = fleet.directory(job)
    assert wait_until(lambda: harness.processes_with(NAP), LONG)
    fleet.world.write(directory / "attempts/0.now", "2")
    assert wait_until(lambda: not harness.processes_with(NAP), LONG)
    # It made no record: that is the newer one's.
    assert wait_until(lambda: fleet.over(job), LONG, 0.1)
    assert not (directory / "final/0.json").exists()
    assert fleet.state(job)["ended"] == 1


def test_a_task_whose_time_is_over_for_the_scheduler_has_a_record(fleet):
    """Its limit is cancelled by somebody else than cordon fleet cancel: the record is made by collect."""
    job = fleet.submit(shell(SLEEP, id="a"))
    assert wait_until(lambda: harness.processes_with(NAP), LONG, 0.1)
    fleet.cluster.ask("scancel", job)
    assert wait_until(lambda: fleet.over(job), LONG, 0.1)
    assert fleet.state(job)["ended"] == 1
    [found] = fleet.records(job)
    assert [a["end"] for a in found["attempts"]] == ["ended"] and fleet.state(job)["final"] == 1
    report = found["report"]
    assert report["error"] or report["signal"] or report["exit_code"], found


def test_a_directory_that_cannot_be_written_is_a_requeue_that_ends(fleet):
    """As on a full disk: nothing can be said about the attempt, and the command is not started."""
    job = fleet.submit(*[shell("sleep 1") for _ in range(4)], shell("echo once >>ran", id="a"))
    directory = fleet.directory(job)
    fleet.world.bare("chmod", "500", directory / "attempts").expect(0)
    assert wait_until(lambda: all(fleet.waits_again(job, index) for index in range(5)), LONG, 0.1), fleet.state(job)
    assert not (fleet.world.project / "ran").exists()
    fleet.world.bare("chmod", "700", directory / "attempts").expect(0)
    for index in range(5):
        fleet.start_again(job, index)
    found = {one["id"]: one for one in fleet.results(job)}
    assert found["a"]["report"]["exit_code"] == 0 and (fleet.world.project / "ran").read_text() == "once\n"
    assert [a["end"] for a in found["a"]["attempts"]] == ["lost", "final"]


FULL_DISK = """set -e
mount -t tmpfs -o size=400k,mode=700 none "$PLACE"
cp -a "$MADE/." "$PLACE"
attempt() { # bytes that are left, restarts, the status
  rm -f "$PLACE/fill"
  head -c $(($(df --output=avail -B1 "$PLACE" | tail -n 1) - $1)) /dev/zero >"$PLACE/fill"
  SLURM_RESTART_COUNT=$2 unshare -U --map-user="$OWN" --map-group="$OWN" "$TOOLS" fleet-task "$PLACE" && status=0 || status=$?
  [ "$status" -eq "$3" ] || { echo "status $status, not $3" >&2; exit 1; }
}
attempt 20000 0 75
ls "$PLACE/final" >&2
attempt 100000 "$COUNTED" 0
cat "$PLACE/final/0.json"
"""


@pytest.mark.parametrize("counted", ["1", "0"])
def test_a_full_disk_is_a_requeue_or_a_record_without_streams(world, counted):
    """A disk in a namespace of the test's own, which no node of the cluster sees: the part of Slurm is played. Without
    room nothing is started; with room for a record and not for what was printed, the record says so. Nor is the second
    attempt taken for the first one where the scheduler did not count its requeue."""
    policy = 'version = 1\nextends = "strict"\n[limits]\noutput = "300K"\n'
    task = json.dumps({"argv": ["/bin/sh", "-c", "echo begun >&2; head -c 200000 /dev/zero | tr '\\0' x"]})
    made, place = (world.make_directory(world.path / name) for name in ("made", "place"))
    for name in ("attempts", "final", "log"):
        world.make_directory(made / name)
    facts = {"schema": "cordon.fleet-submission/1", "tasks": 1, "attempts": 3, "policy": "policy.toml", "list": "tasks",
             "policy_hash": sha256(policy.encode()).hexdigest(), "cwd": str(world.project), "program": str(world.cordon),
             "name": "cordon-x", "cluster": "test"}
    for name, text in (("policy.toml", policy), ("tasks.jsonl", task + "\n"), ("job.json", json.dumps(facts)),
                       ("tasks.index", f"{0:016x} {sha256(task.encode()).hexdigest()[:16]}\n")):
        world.write(made / name, text, 0o600)
    asked = world.path / "asked"
    world.write(world.path / "bin/scontrol", f'#!/bin/sh\necho "$*" >>{asked}\n', 0o755)
    done = world.bare("unshare", "-Urm", "/bin/sh", "-c", FULL_DISK, timeout=LONG, env={
        "PATH": f"{world.path}/bin:{harness.BASE_PATH}", "PLACE": str(place), "MADE": str(made), "OWN": str(world.who.uid),
        "TOOLS": str(world.cordon.parent / "cordon-tools"), "SLURM_ARRAY_JOB_ID": "9", "SLURM_ARRAY_TASK_ID": "0",
        "SLURMD_NODENAME": "n1", "COUNTED": counted}).expect(0)
    record = json.loads(done.out)
    jsonschema.validate(record, RECORD)
    jsonschema.validate(record["report"], REPORT)
    assert asked.read_text() == "requeue 9_0\n" and "0.json" not in done.err, done.account()
    assert [attempt["end"] for attempt in record["attempts"]] == ["requeued", "final"], record
    assert "No space left" in record["attempts"][0]["error"]
    report = record["report"]
    assert (report["exit_code"], report["stdout"], report["stdout_bytes"], report["truncated"]) == (0, "", 200_000, True)


def test_progress_on_a_terminal(fleet):
    job = fleet.submit(*[shell("until [ -e go ]; do sleep 0.1; done") for _ in range(4)])
    terminal = Terminal(fleet.world, [fleet.world.cordon, "fleet", "status", "--follow", job],
                        env=fleet.cluster.environment)
    try:
        terminal.expect(b"0 of 4 done, 4 running", LONG)
        fleet.world.write(fleet.world.project / "go", "")
        assert terminal.wait(LONG) == 0
        # Written over, and ended once.
        assert terminal.seen.count(b"\n") == 1 and b"\r\x1b[K" in terminal.seen and b"4 of 4 done" in terminal.seen
    finally:
        terminal.close()
    done = fleet.verb("status", job).expect(0)
    assert "4 of 4 done" in done.out and "\x1b" not in done.out


def tasks_of(fleet, job, node) -> dict[int, int]:
    """Those that run on a node: their processes, by index."""
    found = {}
    for process in harness.processes_with(f"fleet-task\x00{fleet.directory(job)}"):
        variables = Path(f"/proc/{process}/environ").read_bytes().split(b"\x00")
        if f"SLURMD_NODENAME={node}".encode() in variables:
            [index] = [one.split(b"=")[1] for one in variables if one.startswith(b"SLURM_ARRAY_TASK_ID=")]
            found[int(index)] = process
    return found


def test_a_node_that_is_killed_loses_nothing_and_leaves_nothing(fleet):
    tasks = [shell(f"echo begun >>ran.{number}; (setsid {SLEEP}) & until [ -e go ]; do sleep 0.1; done; echo done",
                   id=f"t{number}") for number in range(12)]
    job = fleet.submit(*tasks)
    assert wait_until(lambda: len(list(fleet.world.project.glob("ran.*"))) == 4, LONG, 0.1), fleet.state(job)
    victims = tasks_of(fleet, job, "n1")
    others = tasks_of(fleet, job, "n2")
    assert len(victims) == len(others) == 2, (victims, others)
    steps = [int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
             for process in victims.values()]
    fleet.cluster.stop("n1", signal.SIGKILL)
    for step in steps:
        os.kill(step, signal.SIGKILL)
    # Their daemons are gone, and with these the tasks, though nobody ended them.
    assert wait_until(lambda: not tasks_of(fleet, job, "n1"), LONG, 0.1), tasks_of(fleet, job, "n1")
    assert wait_until(lambda: len(harness.processes_with(NAP)) == 2, LONG, 0.1)
    assert set(tasks_of(fleet, job, "n2")) == set(others)
    if not KEEPS_DELAY:
        fleet.cluster.ask("scontrol", "update", "NodeName=n1", "State=DOWN", "Reason=killed")
    assert wait_until(lambda: all(fleet.waits_again(job, index) for index in victims), LONG, 0.1), fleet.state(job)
    for index in victims:
        fleet.start_again(job, index)
    fleet.world.write(fleet.world.project / "go", "")
    assert wait_until(lambda: fleet.over(job), 3 * LONG, 0.2), fleet.state(job)
    found = fleet.records(job)
    assert [one["id"] for one in found] == [task["id"] for task in tasks]
    for index, one in enumerate(found):
        seen = [(attempt["node"], attempt["end"]) for attempt in one["attempts"]]
        assert seen == ([("n1", "lost")] if index in victims else []) + [("n2", "final")], one
        assert one["report"]["exit_code"] == 0 and one["report"]["stdout"] == "done\n"
        assert (fleet.world.project / f"ran.{index}").read_text() == len(seen) * "begun\n"
    assert not harness.processes_with(NAP)
    fleet.cluster.begin_node("n1")
    if not KEEPS_DELAY:
        fleet.cluster.ask("scontrol", "update", "NodeName=n1", "State=RESUME")
    assert wait_until(lambda: fleet.cluster.idle(*slurm.NODES), LONG, 0.1), fleet.cluster.logs()
