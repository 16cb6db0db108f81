"""Sessions: a sandbox that lasts, who may use it, and that nothing of it is left."""

import json
import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.harness import SOON, alive, commands_with, descendants, processes_with, wait_until


class Session:
    def __init__(self, world, *options):
        self.world = world
        started = world.cordon_verb("session", "start", *options)
        started.expect(0)
        self.id = started.out.strip()
        assert len(self.id) == 16 and started.out == self.id + "\n", started.account()

    def exec(self, *command, options=(), **how):
        return self.world.cordon_verb("session", "exec", self.id, *options, "--", *command, **how)

    def report(self, *command, options=(), **how):
        done = self.exec(*command, options=["--json", *options], **how)
        return done, json.loads(done.out)

    def note(self):
        return json.loads(self.world.cordon_verb("session", "show", self.id, "--json").expect(0).out)

    def stop(self):
        return self.world.cordon_verb("session", "stop", self.id)


def open_ones(world):
    return json.loads(world.cordon_verb("session", "list", "--json").out)["sessions"]


@pytest.fixture
def sessions(world):
    """Makes sessions; what is left of them at the end is stopped."""
    def make(*options):
        return Session(world, *options)
    yield make
    for note in open_ones(world):
        world.cordon_verb("session", "stop", note["id"])
    assert open_ones(world) == []


def test_a_start_that_cannot_say_its_id_leaves_no_session(world, sessions):
    done = world.bare("sh", "-c", f"{world.cordon} session start >/dev/full").expect(125)
    assert "No space left on device" in done.err and open_ones(world) == [], done.account()
    session = sessions()  # the control
    assert [note["id"] for note in open_ones(world)] == [session.id]


def test_files_processes_and_servers_last_from_command_to_command(world, sessions):
    session = sessions()
    session.exec("sh", "-c", "echo kept > ~/note; echo kept > /tmp/note; echo made > made").expect(0)
    assert session.exec("cat", world.home / "note", "/tmp/note").expect(0).out == "kept\nkept\n"
    assert (world.project / "made").read_text() == "made\n"
    assert not (world.home / "note").exists()
    server = ("import socket,time\ns=socket.socket(); s.bind(('127.0.0.1',5555)); s.listen()\n"
              "while True: c,_=s.accept(); c.sendall(b'served'); c.close()\n")
    session.exec("sh", "-c", f"python3 -c \"{server}\" >/dev/null 2>&1 & echo $! > ~/server").expect(0)
    ask = "import socket; print(socket.create_connection(('127.0.0.1',5555),20).recv(9).decode())"
    assert wait_until(lambda: session.exec("python3", "-c", ask).out == "served\n")
    session.exec("sh", "-c", "kill $(cat ~/server)").expect(0)
    assert wait_until(lambda: session.exec("python3", "-c", ask).status == 1)
    # A run of its own has none of it.
    assert world.run("cat", world.home / "note").status == 1
    session.stop().expect(0)
    session.exec("true").expect(125)


@pytest.mark.parametrize("command,status", [(["true"], 0), (["sh", "-c", "exit 7"], 7),
                                            (["sh", "-c", "kill -TERM $$"], 143), (["no-such-program"], 127),
                                            (["/etc/hostname"], 126)], ids=str)
def test_statuses_are_those_of_a_run(world, sessions, command, status):
    session = sessions()
    assert world.run(*command).status == status
    done, report = session.report(*command)
    assert done.status == status, done.account()
    assert report["exit_code"] == (status if status in (0, 7) else None)
    assert report["session"]["id"] == session.id and report["session"]["principal"]["kind"] == "namespace"


def test_streams(world, sessions):
    session = sessions()
    assert session.exec("cat", input="through\n").expect(0).out == "through\n"
    assert session.exec("sh", "-c", "echo said >&2").expect(0).err == "said\n"
    world.write(world.path / "big", "x" * 300_000)
    with open(world.path / "big", "rb") as big:
        assert session.exec("wc", "-c", stdin=big).expect(0).out.strip() == "300000"
    assert len(session.exec("head", "-c", "5000000", "/dev/zero").expect(0).out) == 5_000_000
    _, report = session.report("sh", "-c", "echo one; echo two >&2")
    assert report["stdout"] == "one\n" and report["stderr"] == "two\n"
    # What goes on in the background keeps nobody waiting.
    begin = time.monotonic()
    assert session.exec("sh", "-c", "sleep 60 & echo done").expect(0).out == "done\n"
    assert time.monotonic() - begin < 30


def test_the_same_layers_hold_every_command(world, sessions):
    session = sessions()
    _, alone = world.report("cat", "/proc/self/status")
    done, report = session.report("cat", "/proc/self/status")
    for key in ("namespaces", "landlock", "seccomp", "cap_drop", "no_new_privs", "network", "limits"):
        assert report["enforcement"][key] == alone["enforcement"][key], key
    status = dict(line.split(":\t", 1) for line in report["stdout"].splitlines() if ":\t" in line)
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2" and int(status["CapEff"], 16) == 0
    assert session.exec("cat", world.outside / "secret").status == 1
    assert "SECRET" in world.bare("cat", world.outside / "secret").out
    # Three descriptors and the one of the look itself.
    names = session.exec("ls", "/proc/self/fd").expect(0).out.split()
    assert names == ["0", "1", "2", "3"], names
    kinds = session.exec("sh", "-c", "readlink /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2").out
    assert "socket" not in kinds, kinds
    # Not even the memory of what starts the commands.
    told = session.exec("sh", "-c", "cat /proc/[0-9]*/comm; for p in $(seq 2 12); do "
                        "head -c 1 /proc/$p/mem; ls /proc/$p/fd; done 2>&1 | grep -v 'No such' | grep -v '^[0-9]*$'")
    assert "cordon-inside" not in told.out and "sh\n" in told.out, told.account()


def test_sessions_do_not_see_each_other(world, sessions):
    one, other = sessions(), sessions()
    hold = ("import socket,time,ctypes,os\ns=socket.socket(socket.AF_UNIX); s.bind('\\0of-one'); s.listen()\n"
            "l=ctypes.CDLL(None); l.shmget(77,4096,0o1600)\nopen('/tmp/of-one','w').close()\ntime.sleep(600)\n")
    one.exec("sh", "-c", f"python3 -c \"{hold}\" >/dev/null 2>&1 & echo $! > ~/holder").expect(0)
    look = ("import socket,ctypes,os\n"
            "s=socket.socket(socket.AF_UNIX)\nprint(s.connect_ex('\\0of-one'), ctypes.CDLL(None).shmget(77,4096,0)>=0,"
            " os.path.exists('/tmp/of-one'), sum(b'shmget' in open('/proc/%s/cmdline'%p,'rb').read() "
            "for p in os.listdir('/proc') if p.isdigit() and p!=str(os.getpid())))")
    assert wait_until(lambda: one.exec("python3", "-c", look).out.split()[:3] == ["0", "True", "True"])
    assert one.exec("python3", "-c", look).out.split()[3] != "0"
    told = other.exec("python3", "-c", look).expect(0).out.split()
    assert told[0] != "0" and told[1:] == ["False", "False", "0"], told
    number = one.exec("cat", world.home / "holder").out.strip()
    other.exec("sh", "-c", f"kill -9 {number}; kill -9 -1")
    assert one.exec("sh", "-c", f"kill -0 {number}").status == 0
    # Both write to the same project.
    one.exec("sh", "-c", "echo one > from-one").expect(0)
    assert sessions().exec("cat", "from-one").expect(0).out == "one\n"


def test_a_limit_ends_what_came_of_one_command_alone(world, sessions):
    session = sessions()
    mark = f"of-{os.getpid()}-{world.path.name}"
    session.exec("sh", "-c", f"'{world.probe}' linger {mark}-early 600 >/dev/null 2>&1 &").expect(0)
    assert wait_until(lambda: processes_with(f"{mark}-early"))
    begin = time.monotonic()
    done = session.exec("sh", "-c", f"setsid '{world.probe}' linger {mark}-late 600 & sleep 600",
                        options=["--timeout", "1s"])
    done.expect(124)
    assert time.monotonic() - begin < 30
    assert wait_until(lambda: processes_with(f"{mark}-late") == [], SOON) and processes_with(f"{mark}-early")
    session.exec("true").expect(0)
    session.stop().expect(0)
    assert wait_until(lambda: not processes_with(mark), SOON)


HIDDEN = """
import ctypes, os, sys, time
if os.fork(): time.sleep(120)
os.setsid()
if os.fork(): os._exit(0)
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
time.sleep(120)
"""
CHAIN = """
import os, sys, time
end = time.monotonic() + 120
for _ in range(20):
    if os.fork() == 0: break
else: time.sleep(120)
while time.monotonic() < end:
    if os.fork(): os._exit(0)
"""


@pytest.mark.parametrize("script", [HIDDEN, CHAIN], ids=["undumpable", "forking"])
def test_nothing_steps_out_of_a_limit(world, sessions, script):
    mark = f"of-{os.getpid()}-{world.path.name}"
    session = sessions()
    begin = time.monotonic()
    done = session.exec("python3", "-c", script, mark, options=["--timeout", "1s"], timeout=90)
    assert done.status == 124 and time.monotonic() - begin < 30, done.account()
    assert wait_until(lambda: not processes_with(mark), SOON), processes_with(mark)


def test_a_command_ends_with_its_client_and_hears_its_signals(world, sessions):
    session = sessions()
    mark = f"of-{os.getpid()}-{world.path.name}"
    words = [world.cordon, "session", "exec", session.id, "--", world.probe, "linger", mark, 120]
    client = world.start(words)
    assert wait_until(lambda: processes_with(mark))
    client.kill()
    client.communicate()
    assert wait_until(lambda: not processes_with(mark), SOON)
    client = world.start([world.cordon, "session", "exec", session.id, "--", "sh", "-c",
                          "trap 'echo heard; exit 3' INT; echo ready; while :; do sleep 0.05; done"])
    assert client.stdout.readline() == b"ready\n"
    client.send_signal(signal.SIGINT)
    out, _ = client.communicate(timeout=40)
    assert out == b"heard\n" and client.returncode == 130, (out, client.returncode)
    session.exec("true").expect(0)


def test_when_the_server_is_killed_nothing_is_left(world, sessions):
    session = sessions()
    mark = f"of-{os.getpid()}-{world.path.name}"
    session.exec("sh", "-c", f"'{world.probe}' linger {mark} 120 >/dev/null 2>&1 &").expect(0)
    assert wait_until(lambda: processes_with(mark))
    server = session.note()["server"]
    tree = descendants(server)
    client = world.start([world.cordon, "session", "exec", session.id, "--", "sleep", "120"])
    assert wait_until(lambda: len(descendants(server)) > len(tree))
    os.kill(server, signal.SIGKILL)
    assert wait_until(lambda: not processes_with(mark) and not any(map(alive, tree)), SOON)
    _, err = client.communicate(timeout=40)
    assert client.returncode == 125 and b"ended before it answered" in err, err
    assert open_ones(world) == []
    session.exec("true").expect(125)
    # The next start closes the record and clears what lies around.
    sessions()
    listed = world.cordon_verb("audit", "list", "--json").expect(0).out
    assert "crash" in listed, listed


def test_a_command_does_not_look_after_other_runs(world, sessions):
    def crashed():
        return "crash" in world.cordon_verb("audit", "list", "--json").expect(0).out

    session = sessions()
    mark = f"lost-{os.getpid()}-{world.path.name}"
    process = world.start([world.cordon, "run", "--", world.probe, "linger", mark, "300"])
    assert wait_until(lambda: commands_with(world.probe, mark))
    process.kill()
    process.communicate()
    assert wait_until(lambda: not processes_with(mark), SOON)
    session.exec("true").expect(0)
    assert not crashed()
    world.run("true").expect(0)
    assert crashed()


def test_only_the_handle_of_this_conversation_opens_it(world, sessions):
    session = sessions("--agent", "claude", "--conversation", "c-1")
    mine = ["--conversation", "c-1"]
    _, report = session.report("true", options=mine)
    assert report["session"]["agent"] == "claude" and report["session"]["conversation"] == "c-1"
    for options in ([], ["--conversation", "c-2"]):
        done = session.exec("touch", "ran", options=options).expect(125)
        assert "belongs to another conversation" in done.err, done.account()
    read, write = os.pipe()
    os.write(write, b"0" * 64 + b"\n")
    os.close(write)
    done = session.exec("touch", "ran", options=[*mine, "--handle-fd", read], pass_fds=[read]).expect(125)
    assert "is not the handle of session" in done.err, done.account()
    os.close(read)
    assert not (world.project / "ran").exists()
    # Neither the handle nor the way to it is anywhere inside.
    place = world.home / ".local/state/cordon/run/sessions" / session.id
    handle = (place / "handle").read_text().strip()
    assert len(handle) == 64 and (place / "handle").stat().st_mode & 0o777 == 0o600
    seen = session.exec("sh", "-c", f"env; cat {place}/handle; ls {place}; tr '\\0' ' ' < /proc/1/cmdline; "
                        "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ", options=mine)
    assert handle not in seen.out and "session.json" not in seen.out
    assert handle in world.bare("cat", place / "handle").out


def test_a_handle_can_go_through_a_descriptor(world, sessions):
    read, write = os.pipe()
    started = world.cordon_verb("session", "start", "--json", "--handle-fd", write, pass_fds=[write]).expect(0)
    os.close(write)
    handle = os.read(read, 200)
    note = json.loads(started.out)
    assert note["handle"] is None
    refused = world.cordon_verb("session", "exec", note["id"], "--", "true").expect(125)
    assert "--handle-fd" in refused.err

    def pass_on(*words):
        from_us, to_them = os.pipe()
        os.write(to_them, handle)
        os.close(to_them)
        words = [str(from_us) if word == "FD" else word for word in words]
        done = world.cordon_verb(*words, pass_fds=[from_us])
        os.close(from_us)
        return done
    assert pass_on("session", "exec", note["id"], "--handle-fd", "FD", "--", "echo", "hi").expect(0).out == "hi\n"
    pass_on("session", "stop", note["id"], "--handle-fd", "FD").expect(0)
    os.close(read)


@pytest.mark.once
def test_it_ends_by_itself(world, sessions):
    # Long enough for a machine that stands still for some seconds before the command.
    idle = sessions("--idle", "4s")
    idle.exec("sleep", "5").expect(0)  # a command that runs is no idleness
    assert wait_until(lambda: idle.id not in [note["id"] for note in open_ones(world)])
    idle.exec("true").expect(125)
    short = sessions("--lifetime", "7s")
    begin = time.monotonic()
    done, report = short.report("sleep", "60", timeout=90)
    assert time.monotonic() - begin < 50 and done.status == 137, done.account()
    assert "ended while the command ran" in json.dumps(report["denials"])
    assert f"cordon why {short.id}" in json.dumps(report["denials"])
    assert wait_until(lambda: "wall clock" in world.cordon_verb("why", short.id).out)


def test_one_that_is_stopped_has_ended_well(world, sessions):
    """By its owner, or since nobody used it. One that ran out of its lifetime was cut off."""
    stopped = sessions()
    stopped.exec("true").expect(0)
    stopped.stop().expect(0)
    idle = sessions("--idle", "1s")
    assert wait_until(lambda: idle.id not in [note["id"] for note in open_ones(world)])
    cut = sessions("--lifetime", "1s")
    assert wait_until(lambda: cut.id not in [note["id"] for note in open_ones(world)])

    def ends(*options):
        events = json.loads(world.cordon_verb("audit", "list", "--json", *options).out)["events"]
        return [(event["outcome"], event["reason"]) for event in events if event["action"] == "session"]
    for session in (stopped, idle):
        assert wait_until(lambda: ends("--session-id", session.id) == [("success", None)]), ends()
    assert wait_until(lambda: ends("--session-id", cut.id) == [("failure", "timeout")]), ends()
    assert ends("--outcome", "failure") == [("failure", "timeout")]
    assert "cancelled" not in world.cordon_verb("audit", "list").expect(0).out
    sums = json.loads(world.cordon_verb("audit", "stats", "--json").expect(0).out)
    assert "cancelled" not in sums["outcomes"] and sums["tools"]["session"]["failures"] == 1, sums


def test_each_command_is_told_that_the_session_ended(world, sessions):
    # The kernel ends the processes of a sandbox in no order: a command may go before what started it.
    session = sessions()
    with ThreadPoolExecutor(12) as pool:
        running = [pool.submit(session.report, "sh", "-c", f"touch {n}; exec sleep 300", timeout=120)
                   for n in range(12)]
        assert wait_until(lambda: all((world.project / str(n)).exists() for n in range(12)))
        session.stop()
        for done, report in [one.result() for one in running]:
            assert done.status == 137, done.account()
            assert "it ended while the command ran: it was stopped" in json.dumps(report["denials"]), done.account()


def test_a_ceiling_that_narrows_refuses_the_next_command(world, sessions):
    ceiling = world.home / ".config/cordon/ceiling.toml"
    wide = f'version = 1\n[fs]\nread = ["/usr", "{world.project}", "{world.outside}"]\nwrite = ["{world.project}"]\n'
    world.write(ceiling, wide, 0o600)
    session = sessions("--read", world.outside)
    assert "SECRET" in session.exec("cat", world.outside / "secret").expect(0).out
    world.write(ceiling, wide + "# a word\n", 0o600)
    session.exec("true").expect(0)
    world.write(ceiling, wide.replace(f', "{world.outside}"', ""), 0o600)
    refused = session.exec("cat", world.outside / "secret").expect(125)
    assert "SECRET" not in refused.out and "no longer permits" in refused.err, refused.account()
    world.write(ceiling, wide, 0o600)
    session.exec("true").expect(0)


def test_a_ceiling_that_widens_counts_for_the_next_session_alone(world, sessions):
    ceiling = world.home / ".config/cordon/ceiling.toml"
    narrow = f'version = 1\n[fs]\nread = ["/usr"]\nwrite = ["{world.project}"]\n'
    world.write(ceiling, narrow, 0o600)
    policy = world.document(f'version = 1\nextends = "workspace"\n[fs]\nread = ["{world.outside}"]\n')
    session = sessions("--policy", policy)
    world.write(ceiling, narrow.replace('"/usr"', f'"/usr", "{world.outside}"'), 0o600)
    session.exec("true").expect(0)
    assert session.exec("cat", world.outside / "secret").status == 1
    assert "SECRET" in sessions("--policy", policy).exec("cat", world.outside / "secret").expect(0).out


def test_protected_files_are_moved_after_each_command(world, sessions):
    session = sessions()
    done, report = session.report("sh", "-c", "mkdir -p .vscode && echo {} > .vscode/tasks.json")
    done.expect(0)
    assert [entry["path"] for entry in report["handoff"]] == [".vscode"], report["handoff"]
    assert not (world.project / ".vscode").exists()
    _, report = session.report("true")
    assert report["handoff"] == []


def test_every_command_is_recorded_before_it_runs(world, sessions):
    session = sessions()
    log = world.home / ".local/state/cordon/audit"
    session.exec("sh", "-c", "sleep 0.1").expect(0)
    before = sum(path.read_text().count('"exec"') for path in log.glob("*.jsonl"))
    client = world.start([world.cordon, "session", "exec", session.id, "--", "sh", "-c", "echo runs; sleep 60"])
    assert client.stdout.readline() == b"runs\n"
    now = sum(path.read_text().count('"exec"') for path in log.glob("*.jsonl"))
    assert now > before
    client.terminate()
    client.communicate(timeout=40)
    session.stop().expect(0)
    world.cordon_verb("audit", "verify").expect(0)


def test_many_at_once(world, sessions):
    session = sessions()
    clients = [world.start([world.cordon, "session", "exec", session.id, "--", "sh", "-c", f"echo {n} > o{n}; cat o{n}"])
               for n in range(30)]
    for number, client in enumerate(clients):
        out, err = client.communicate(timeout=60)
        assert client.returncode == 0 and out == f"{number}\n".encode(), (number, out, err)


def test_one_that_kills_its_own_session_is_told_so(world, sessions):
    session = sessions()
    done = session.exec("sh", "-c", "kill -9 -1")
    assert done.status == 137, done.account()
    assert wait_until(lambda: open_ones(world) == [])


def test_messages(world, sessions):
    assert "no session is open" in world.cordon_verb("session", "exec", "last", "--", "true").expect(125).err
    assert "no session is open" in world.cordon_verb("session", "list").expect(1).err
    assert "0123456789abcdef" in world.cordon_verb("session", "stop", "0123456789abcdef").expect(1).err
    assert "no command was given" in world.cordon_verb("session", "exec", "last").expect(125).err
    assert "is not a duration" in world.cordon_verb("session", "start", "--idle", "soon").expect(125).err
    assert "is no open descriptor" in world.cordon_verb("session", "start", "--handle-fd", "99").expect(125).err
    session = sessions("--agent", "someone")
    shown = world.cordon_verb("session", "list").expect(0).out
    assert session.id in shown and "someone" in shown and str(world.project) in shown
    assert "someone" in world.cordon_verb("session", "show", "last").expect(0).out


def test_a_mixed_log_can_be_split(world, sessions):
    """Who did it: the agent of a session, or nobody's agent."""
    world.run("true").expect(0)
    named = sessions("--agent", "An Agent: 1")
    session = sessions("--agent", "claude", "--conversation", "c-9")
    session.exec("true", options=["--conversation", "c-9"]).expect(0)
    other = sessions()
    other.exec("true").expect(0)
    world.run("true").expect(0)

    def listed(*options):
        done = world.cordon_verb("audit", "list", "--json", *options)
        return [event["action"] for event in json.loads(done.out)["events"]] if done.status == 0 else []
    assert sorted(listed("--agent", "claude")) == ["exec", "session"]
    assert sorted(listed("--session-id", session.id)) == ["exec", "session"]
    assert sorted(listed("--session-id", other.id)) == ["exec", "session"]
    assert listed("--agent", "An Agent: 1") == ["session"] == listed("--session-id", named.id)
    assert sorted(listed("--session")) == ["exec", "exec", "session", "session", "session"]
    assert sorted(listed("--human")) == ["exec", "run", "run", "session"]
    assert len(listed()) == 7 and listed("--agent", "nobody") == []
    lines = [json.loads(line) for path in (world.home / ".local/state/cordon/audit").glob("*.jsonl")
             for line in path.read_text().splitlines()]
    [exec_line] = [line for line in lines if line["action"] == "exec" and line["agent_id"] == "claude"]
    assert exec_line["attribution_type"] == "agent" and exec_line["attribution_layer"] == "application"
    assert exec_line["metadata"]["session"] == session.id and exec_line["metadata"]["conversation"] == "c-9"
    world.cordon_verb("audit", "verify").expect(0)


def test_the_report_of_a_command_goes_to_a_file(world, sessions):
    session = sessions()
    place = world.trusted / "exec.json"
    done = session.exec("sh", "-c", "echo out; echo err >&2; exit 3", options=["--report", place]).expect(3)
    assert (done.out, done.err) == ("out\n", "err\n")
    report = json.loads(place.read_text())
    assert report["schema"] == "cordon.report/1" and report["exit_code"] == 3 and report["stdout"] is None
    assert report["session"]["id"] == session.id and place.stat().st_mode & 0o777 == 0o600
    _, captured = session.report("sh", "-c", "exit 3")
    assert set(report) == set(captured) and report["policy"] == captured["policy"]
    done, both = session.report("echo", "both", options=["--report", place])
    assert json.loads(place.read_text()) == both and both["stdout"] == "both\n"
    page = world.trusted / "exec.html"
    session.exec("echo", "hi", options=["--report", page]).expect(0)
    assert page.read_text().startswith("<!DOCTYPE html>") and "echo hi" in page.read_text()
    through = world.bare("sh", "-c", f"{world.cordon} session exec {session.id} --report /dev/fd/9 -- true "
                                     f"9> {world.trusted}/nine").expect(0)
    assert through.out == "" and json.loads((world.trusted / "nine").read_text())["exit_code"] == 0


def test_a_command_of_a_session_that_is_refused_has_a_report_too(world, sessions):
    place = world.trusted / "refused.json"
    done = world.cordon_verb("session", "exec", "0123456789abcdef", "--report", place, "--json", "--", "true")
    report = json.loads(place.read_text())
    assert done.expect(125).json == report and report["exit_code"] is None
    assert report["error"]["message"] in done.err, done.account()
    session = sessions("--conversation", "one")
    done = session.exec("true", options=["--report", place, "--conversation", "two"]).expect(125)
    assert "another conversation" in json.loads(place.read_text())["error"]["message"], done.account()
    keep = world.write(world.trusted / "mine.txt", "not a report\n")
    session = sessions()
    done = session.exec("touch", "made", options=["--report", keep]).expect(125)
    assert keep.read_text() == "not a report\n" and not (world.project / "made").exists(), done.account()
    session.exec("touch", "made").expect(0)
    assert (world.project / "made").exists()


def test_what_a_command_of_a_session_left_is_listed_and_can_be_taken(world, sessions):
    session = sessions()
    done, report = session.report("sh", "-c", "mkdir .vscode; echo mine > .vscode/a")
    assert [(change["path"], change["state"]) for change in report["changes"]] == [(".vscode", "held")]
    listed = world.cordon_verb("changes", "list", "--json").expect(0).json
    assert listed["run"] == report["run_id"] and listed["unnoted"] == [], listed
    told = session.exec("sh", "-c", "mkdir .vscode; echo again > .vscode/a").expect(0)
    [line] = [line for line in told.err.splitlines() if "cordon changes apply" in line]
    world.cordon_verb("changes", "apply", report["run_id"], ".vscode").expect(0)
    assert (world.project / ".vscode/a").read_text() == "mine\n"
