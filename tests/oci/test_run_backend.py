"""`cordon run --backend oci`: an installed runtime makes the namespaces and the mounts, Cordon puts the rest on
inside and reads all of it back. Each denial has what is permitted beside it as its control. ./test starts runc alone,
./test --all crun as well."""

import copy
import json
import os
import re
import signal
from pathlib import Path

import pytest

from support import harness
from support.harness import CALL_ERRORS, FILE_ERRORS, SOON, commands_with, processes_with, wait_until

SH = ("/bin/sh", "-c")
STATE = ".local/state/cordon"
RUNTIMES = ("runc",) if harness.only_chosen_cases() else ("runc", "crun")


def empty_groups():
    """Of runs, and of the runtime, which makes its own in the group that it was started in."""
    def is_empty(group):
        try:
            return not Path(group, "cgroup.procs").read_text()
        except OSError:  # somebody else's, and gone meanwhile
            return False
    made = {group for group, _, _ in os.walk("/sys/fs/cgroup")
            if os.path.basename(group).startswith("cordon-oci-") and is_empty(group)}
    return harness.groups_without_processes() | made


class Contained:
    """Runs by one runtime. A crun of this age takes no host that mounts control groups of both versions, so that it
    is shown none."""

    def __init__(self, world, runtime):
        self.world, self.runtime = world, runtime
        self.oci = ["--backend", "oci", "--runtime", runtime]

    def words(self, command, options):
        words = [self.world.cordon, "run", *self.oci, *options, "--", *command]
        if self.runtime != "crun" or os.geteuid() != 0:
            return self.world, words
        hide = 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"'
        asked = copy.copy(self.world)
        asked.who = harness.Person(self.world.who.name, self.world.who.uid)
        return asked, ["unshare", "-m", "/bin/sh", "-c", hide, "sh", *self.world.who.prefix, *words]

    def run(self, *command, options=(), **how):
        who, words = self.words(command, options)
        return harness.World.execute(who, words, **how)

    def start(self, *command, options=(), **how):
        who, words = self.words(command, options)
        return harness.World.start(who, words, **how)

    def report(self, *command, options=(), **how):
        done = self.run(*command, options=["--json", *options], **how)
        return done, json.loads(done.out)

    def inside(self, attempts, options=(), **how):
        text = "".join("\t".join(map(str, attempt)) + "\n" for attempt in attempts)
        done = self.run(self.world.probe, "batch", "-", options=options, input=text, **how)
        found = harness.answers(done.out)
        assert [one.attempt for one in found] == [attempt[0] for attempt in attempts], done.account()
        return found

    def left(self):
        """What a run has left of itself: its directory, notes, groups of the runtime's and of Cordon's."""
        state = self.world.home / STATE
        private = [path for name in ("private", "runs") for path in sorted((state / name).glob("*"))]
        return private + sorted(empty_groups() - self.before)

    def remember(self):
        self.before = empty_groups()
        return self


@pytest.fixture(params=RUNTIMES)
def contained(world, request):
    made = Contained(world, request.param).remember()
    yield made
    world.tidy()


@pytest.fixture
def by_runc(world):
    made = Contained(world, "runc").remember()
    yield made
    world.tidy()


def repository(world):
    hook = world.write(world.project / ".git/hooks/pre-commit", "#!/bin/sh\n", 0o755)
    for name in ("objects", "refs"):
        world.make_directory(world.project / ".git" / name)
    world.write(world.project / ".git/HEAD", "ref: refs/heads/main\n")
    world.write(world.project / ".git/config", "[core]\n")
    return hook


def test_a_run_holds_its_policy(contained):
    world = contained.world
    world.plant({".ssh/id_ed25519": "SECRET-ssh\n"})
    hook = repository(world)
    denied = world.write(world.project / "deep/.env", "SECRET-env\n")
    refused = [("read", world.outside / "secret"), ("write", world.outside / "made"),
               ("read", world.home / ".ssh/id_ed25519"), ("read", denied), ("append", hook),
               ("append", world.project / ".git/config"),
               ("rename", world.project / ".git", world.project / "other")]
    for attempt in refused[:-1]:  # without the renaming, which would take place
        [bare] = world.outside_of([attempt])
        assert bare.ok, f"the control of {attempt} failed: {bare}"
    permitted = [("read", world.project / "file.txt"), ("write", world.project / "made"), ("write", "/tmp/made"),
                 ("write", world.home / "made"), ("read", "/usr/bin/env")]
    refused += [("read", "/.cordon/plan"), ("write", "/etc/made"), ("write", "/made"), ("ptrace", 1)]
    found = contained.inside(permitted + refused, options=("--deny", ".env"))
    for answer in found[:len(permitted)]:
        assert answer.ok, f"{answer} was refused"
    for answer in found[len(permitted):]:
        assert not answer.ok and answer.errno in FILE_ERRORS | CALL_ERRORS | {"EBUSY"}, answer
    assert (world.project / "made").exists()
    assert not Path("/tmp/made").exists() and not (world.home / "made").exists()
    assert contained.left() == []


def test_the_report_says_what_was_read_back(contained):
    done, report = contained.report("/bin/sh", "-c", "cat /proc/self/status; cat /proc/net/dev; id -u")
    done.expect(0)
    found = report["enforcement"]
    assert found["backend"] == "oci" and found["chosen"]["by"] == "option"
    for layer in ("namespaces", "pivot_root", "bind_mounts", "landlock", "seccomp", "cap_drop", "no_new_privs"):
        assert found[layer] is True, (layer, found)
    assert found["network"] == "none" and found["limits"]["scratch"] == "tmpfs"
    words = ("Seccomp:", "NoNewPrivs:", "CapBnd:", "CapEff:")
    status = dict(line.split(maxsplit=1) for line in report["stdout"].splitlines() if line.startswith(words))
    assert status == {"Seccomp:": "2", "NoNewPrivs:": "1", "CapBnd:": 16 * "0", "CapEff:": 16 * "0"}
    assert re.findall(r"^ *(\w+):\s+\d", report["stdout"].split("Inter-")[1], re.MULTILINE) == ["lo"]
    # It sees itself as root of a namespace with nobody else in it, and is the caller.
    assert report["stdout"].splitlines()[-1] == "0"
    who = contained.world.who
    assert found["identity"]["uid"] == 0 and found["identity"]["outside"]["uid"] == who.uid, found
    assert report["audit"]["outcome"] == "success"


@pytest.mark.once
@pytest.mark.parametrize("command, options, status", [
    (("true",), (), 0),
    ((*SH, "exit 7"), (), 7),
    ((*SH, "kill -TERM $$"), (), 143),
    (("sleep", "60"), ("--timeout", "700ms"), 124),
    (("no-such-program",), (), 127),
    (("/etc/hostname",), ("--read", "/etc/hostname"), 126),
])
def test_the_status_is_the_commands(contained, command, options, status):
    done = contained.run(*command, options=options)
    assert done.status == status and done.seconds < 20, done.account()
    assert contained.left() == []


@pytest.mark.once
def test_streams_are_the_callers(by_runc):
    done = by_runc.run(*SH, "cat; echo to-err >&2", input="through\n")
    done.expect(0)
    assert done.out == "through\n" and done.err.splitlines()[-1] == "to-err", done.account()
    large = by_runc.run(*SH, "yes | head -c 3000000")
    assert large.status == 0 and len(large.out) == 3_000_000
    closed = by_runc.run("cat")
    assert closed.status == 0 and closed.out == ""


@pytest.mark.once
def test_a_terminal_is_one_of_the_sandbox(by_runc):
    done = by_runc.run(*SH, "test -t 0 && test -t 1 && tty && stty size >/dev/null", options=("--tty",))
    assert done.status == 0 and "/dev/pts/0" in done.out, done.account()


def test_no_network_and_no_broker_lead_out(by_runc):
    world = by_runc.world
    listening = ('import socket, subprocess, sys; s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(1); '
                 'c = socket.create_connection(s.getsockname(), 5); print("met")')
    own = by_runc.run("python3", "-c", listening)
    assert own.status == 0 and own.out == "met\n", own.account()
    with_server = ('import socket, sys; c = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5); '
                   'print(c.recv(9).decode())')
    server = world.start(["python3", "-u", "-c",
                          'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(9)\n'
                          'print(s.getsockname()[1])\nwhile True: s.accept()[0].sendall(b"outside\\n")'])
    try:
        port = server.stdout.readline().decode().strip()
        world.bare("python3", "-c", with_server, port).expect(0)
        closed = by_runc.run("python3", "-c", with_server, port)
        assert closed.status == 1 and "ConnectionRefused" in closed.err, closed.account()
        allowed = by_runc.run("python3", "-c", with_server, port, options=("--allow", f"localhost:{port}"))
        assert allowed.status == 0 and allowed.out.strip() == "outside", allowed.account()
        other = by_runc.run("python3", "-c", with_server, port, options=("--allow", "localhost:9"))
        assert other.status == 1, other.account()
        shared = by_runc.run("python3", "-c", with_server, port, options=("--net", "open"))
        assert shared.status == 0 and shared.out.strip() == "outside", shared.account()
    finally:
        harness.stop(server)


@pytest.mark.once
def test_local_sockets_are_the_runs_own(by_runc):
    script = ('import os, socket, sys\n'
              'for place in ("/tmp", os.environ["HOME"], "."):\n'
              '    s = socket.socket(socket.AF_UNIX); name = os.path.join(place, "own"); s.bind(name); s.listen(1)\n'
              '    c = socket.socket(socket.AF_UNIX); c.connect(name); print("met")')
    done = by_runc.run("python3", "-c", script)
    assert done.status == 0 and done.out == "met\n" * 3, done.account()


@pytest.mark.parametrize("bound, wide", [("20", "200")])
def test_processes_are_bounded(by_runc, bound, wide):
    command = (*SH, "for i in $(seq 40); do sleep 30 & done; echo all")
    done, report = by_runc.report(*command, options=("--pids", bound))
    assert done.status != 0 and report["stdout"] == "", done.account()
    assert report["enforcement"]["limits"]["pids"] in ("cgroup", "rlimit", "watch")
    assert by_runc.run(*command, options=("--pids", wide)).out == "all\n"
    assert by_runc.left() == []


def test_memory_is_bounded(by_runc):
    command = ("python3", "-c", "x = bytearray(300 << 20); import time; time.sleep(1); print('held')")
    done, report = by_runc.report(*command, options=("--memory", "100M"))
    assert done.status == 137 and report["kill_reason"] == "oom" and report["stdout"] == "", done.account()
    assert report["enforcement"]["limits"]["memory"] in ("cgroup", "watch")
    assert by_runc.run(*command, options=("--memory", "900M")).out == "held\n"
    assert by_runc.left() == []


@pytest.mark.parametrize("mask", ["077", "002"])
def test_what_is_made_has_the_mode_that_the_person_wants(contained, mask):
    """A runtime has a umask of its own, by which everybody could read what a person keeps to himself."""
    world = contained.world
    made = world.project / "made"
    who, words = contained.words((*SH, "umask; echo x > made"), ())
    done = harness.World.execute(who, ["sh", "-c", 'umask "$0"; exec "$@"', mask, *words])
    assert done.expect(0).out == f"0{mask}\n" and made.stat().st_mode & 0o777 == 0o666 & ~int(mask, 8)
    # The control: so it is with native.
    native = world.execute(["sh", "-c", 'umask "$0"; exec "$@"', mask, world.cordon, "run", "--", *SH, "umask"])
    assert native.expect(0).out == done.out


@pytest.mark.only("root")
def test_what_the_host_has_mounted_below_a_grant_is_shown_or_nothing_runs(contained):
    """Where a runtime leaves such mounts out, what they cover would be seen, and what is written there be lost."""
    world = contained.world
    below = world.make_directory(world.project / "sub dir")
    mounted = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none "$0" && touch "$0/there" && exec "$@"', below]
    who, words = contained.words((*SH, "cd sub* && ls && touch made"), ())
    done = harness.World.execute(who, [*mounted, *words])
    if contained.runtime == "runc":
        assert done.expect(0).out == "there\n", done.account()
    else:
        assert done.status == 125 and f"crun does not show what the host has mounted at '{below}'" in done.err, done.account()
        assert not list(below.iterdir()) and contained.left() == []


def test_the_whole_disk_may_be_granted(by_runc):
    """The container's own root is then below a grant, and the runtime has made a mount of it."""
    world = by_runc.world
    policy = world.document(f'version = 1\n[fs]\nread = ["/"]\nwrite = ["{world.project}"]\n')
    by_runc.run("touch", "made", options=("--policy", policy)).expect(0)
    assert (world.project / "made").exists()


# A runtime that changes what it is asked for, and then does it.
CHANGES = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int count, char** words) {
  char line[4096] = "";
  for (int i = 1; i < count; ++i)
    if (strcmp(words[i - 1], "--bundle") == 0) snprintf(line, sizeof line, "/usr/bin/python3 %s %s/config.json", CHANGE, words[i]);
  if (system(line) == 0) execv(REAL, words);
  return 1;
}
"""
CHANGE = """
import json, sys
document = json.load(open(sys.argv[1]))
mounts, linux = document["mounts"], document["linux"]
def bind(place, source):
    mounts.append({"destination": place, "type": "bind", "source": source, "options": ["rbind", "rw"]})
LINE
json.dump(document, open(sys.argv[1], "w"))
"""
WIDE = '[{"containerID": 0, "hostID": 0, "size": 65536}]'


@pytest.mark.only("root")
@pytest.mark.parametrize("line, told", [
    ("pass", None),
    ("bind('PROJECT/added', '/etc')", "runc shows something at PROJECT/added that it was not asked for"),
    ("bind('/tmp/added', '/')", "runc shows something at /tmp/added that"),
    ("linux['rootfsPropagation'] = 'rshared'", "make all mounts private"),
    (f"linux['uidMappings'] = {WIDE}", "map uid 0 to 0 inside"),
    (f"linux['gidMappings'] = {WIDE}", "map uid 0 to 0 inside"),
    ("document['root']['readonly'] = False", "layer new root is not in force"),
    ("document['process']['capabilities']['bounding'] = ['CAP_SYS_ADMIN']", "layer capabilities is not in force"),
    ("linux['namespaces'] = [n for n in linux['namespaces'] if n['type'] != 'ipc']", "layer namespaces is not in force"),
    ("[m.update(source='/etc') for m in mounts if m['destination'] == 'PROJECT']", "bind read-write PROJECT"),
])
def test_a_runtime_that_does_something_else_is_found_out(world, line, told):
    place = world.project
    change = world.write(world.trusted / "change.py", CHANGE.replace("LINE", line).replace("PROJECT", str(place)))
    real = world.trusted / "real"
    real.write_bytes(Path("/usr/sbin/runc").read_bytes())
    real.chmod(0o755)
    source = world.write(world.trusted / "runc.c", CHANGES)
    words = ["cc", "-o", world.trusted / "runc", f'-DREAL="{real}"', f'-DCHANGE="{change}"', source]
    world.bare(*words).expect(0)
    seated = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /usr/sbin/runc && exec "$@"', world.trusted / "runc"]
    done = world.execute([*seated, world.cordon, "run", "--backend", "oci", "--runtime", "runc", "--", *SH, "echo ran"])
    if told is None:
        assert done.expect(0).out == "ran\n"
    else:
        assert done.status == 125 and done.out == "" and told.replace("PROJECT", str(place)) in done.err, done.account()


@pytest.mark.once
def test_private_places_are_as_those_of_a_host(contained):
    modes = contained.run("stat", "-c", "%a", "/tmp", "/var/tmp", "/dev/shm").expect(0).out.split()
    assert modes == contained.world.run("stat", "-c", "%a", "/tmp", "/var/tmp", "/dev/shm").expect(0).out.split() == 3 * ["1777"]


# On a host whose mounts are shared, as systemd makes them: while a run waits, something is mounted in its project.
LATER = """
cd "$1"; shift
"$@" & run=$!
while ! [ -e started ]; do kill -0 $run || exit 9; sleep 0.02; done
mount -t tmpfs none sub && touch sub/appeared go && wait $run; status=$?
umount sub
exit $status
"""
WAITS = ("touch started; n=0; while ! [ -e go ] && [ $n -lt 1000 ]; do sleep 0.02; n=$((n+1)); done; ls sub; "
         "grep -cE ' (shared|master):' /proc/self/mountinfo; rm started go")


@pytest.mark.only("root")
@pytest.mark.parametrize("options", [("--backend", "native"), ("--backend", "oci", "--runtime", "runc"), ()],
                         ids=["native", "runc", "none"])
def test_what_the_host_mounts_later_does_not_appear(world, options):
    world.make_directory(world.project / "sub")
    run = [world.cordon, "run", *options, "--"] if options else []
    done = world.execute(["unshare", "-m", "--propagation", "shared", "sh", "-c", LATER, "sh", world.project, *run, *SH, WAITS])
    if options:
        assert (done.status, done.out) == (0, "0\n"), done.account()
    else:  # the control: without a sandbox it does
        assert done.out.startswith("appeared\n") and not done.out.endswith("\n0\n"), done.account()


def test_a_directory_that_leads_to_a_grant_is_closed(contained):
    """What is written beside the grant would be gone with the run: it is refused, not lost."""
    world = contained.world
    deep = world.make_directory(world.home / "src/group/deep")
    attempts = [("write", deep / "made"), ("write", world.home / "src/group/lost"), ("write", world.home / "src/lost"),
                ("write", world.home / "private")]
    found = contained.inside(attempts, options=("--write", deep), cwd=world.project)
    assert [answer.ok for answer in found] == [True, False, False, True], found
    assert {found[1].errno, found[2].errno} <= FILE_ERRORS | {"EROFS"}
    assert (deep / "made").exists()


@pytest.mark.once
def test_settings_of_the_person_are_in_the_private_home(by_runc):
    world = by_runc.world
    world.write(world.home / ".npmrc", "registry=https://packages.example.com/\n//packages.example.com/:_authToken=S3\n")
    seen = by_runc.run("cat", world.home / ".npmrc")
    seen.expect(0)
    assert "registry=https://packages.example.com/" in seen.out and "S3" not in seen.out
    # What was put there is no loss of the run's; what the command wrote is.
    assert by_runc.report("true")[1]["changes"] == []
    [lost] = by_runc.report(*SH, "echo x > ~/other; cat ~/other")[1]["changes"]
    assert lost["path"] == str(world.home / "other") and lost["state"] == "lost"


@pytest.mark.once
def test_what_lasts_is_there_again(by_runc):
    world = by_runc.world
    kept = (*SH, 'test ! -e ~/kept || echo again; echo x > ~/kept')
    assert [by_runc.run(*kept, options=("--policy", "agent")).out for _ in range(2)] == ["", "again\n"]
    assert not (world.home / "kept").exists()
    cached = (*SH, 'test ! -e ~/.cache/kept || echo again; echo x > ~/.cache/kept')
    assert [by_runc.run(*cached, options=("--policy", "build")).out for _ in range(2)] == ["", "again\n"]


def test_the_first_process_is_closed(contained):
    for number in ("1", "self"):
        found = contained.inside([("list", f"/proc/{number}/fd"), ("read", f"/proc/{number}/status")])
        assert [answer.ok for answer in found] == ([False, False] if number == "1" else [True, True]), found


@pytest.mark.once
def test_the_private_space_has_one_bound(by_runc):
    """A runtime makes a file system for each place, and together they hold no more than was asked for."""
    fill = ('import os, sys; total = 0\n'
            'for place in ("/tmp", "/var/tmp", "/dev/shm", "/run", os.environ["HOME"]):\n'
            '    try:\n'
            '        with open(os.path.join(place, "x"), "wb", buffering=0) as out:\n'
            '            while True: total += out.write(bytes(65536))\n'
            '    except OSError: pass\n'
            'print(total)')
    done = by_runc.run("python3", "-c", fill, options=("--scratch", "10M"))
    assert 5 << 20 < int(done.out) <= 10 << 20, done.account()


@pytest.fixture
def lingering(contained):
    world = contained.world
    mark = f"lingers-oci-{os.getpid()}-{world.path.name}."
    process = contained.start(world.probe, "linger", mark, "300")
    assert wait_until(lambda: commands_with(world.probe, mark)), "the command was not started"
    yield contained, process, mark
    harness.stop(process)


@pytest.mark.parametrize("number, status", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_all_of_it(lingering, number, status):
    contained, process, mark = lingering
    os.kill(process.pid, number)
    assert process.wait(SOON) in (status, -number)
    assert wait_until(lambda: not processes_with(mark), SOON)
    assert contained.left() == []


def test_nothing_outlives_cordon_and_the_next_start_tidies(lingering):
    contained, process, mark = lingering
    world = contained.world
    os.kill(process.pid, signal.SIGKILL)
    process.wait(SOON)
    assert wait_until(lambda: not processes_with(mark), SOON)
    assert wait_until(lambda: not processes_with(str(world.home / STATE)), SOON)
    assert list((world.home / STATE / "runs").iterdir()), "there is nothing to tidy"
    world.let_notes_be_old()
    world.run("true", options=("--policy", "strict")).expect(0)
    assert contained.left() == []


@pytest.mark.only("root")
def test_groups_of_a_killed_runtime_are_removed_by_the_next_start(world):
    """Cordon and the runtime are killed at once: the runtime cannot remove what it made."""
    contained = Contained(world, "runc").remember()
    mark = f"groups-oci-{os.getpid()}-{world.path.name}."
    process = contained.start(world.probe, "linger", mark, "300")
    assert wait_until(lambda: commands_with(world.probe, mark)), "the command was not started"
    [runtime] = [pid for pid in harness.descendants(process.pid)
                 if Path(f"/proc/{pid}/comm").read_text().strip() == "runc"]
    os.kill(runtime, signal.SIGSTOP)
    os.kill(process.pid, signal.SIGKILL)
    os.kill(runtime, signal.SIGKILL)
    process.wait(SOON)
    assert wait_until(lambda: not processes_with(mark), SOON)
    assert wait_until(lambda: any("cordon-oci-" in str(group) for group in contained.left()), SOON)
    world.let_notes_be_old()
    world.run("true", options=("--policy", "strict")).expect(0)
    assert contained.left() == []


@pytest.mark.only("root")
def test_a_disk_that_is_full_is_told_and_nothing_is_left(world):
    """The bundle lies on the disk of the state: there is no room for it, and then there is."""
    state = world.make_directory(world.home / STATE)
    script = ('mount -t tmpfs -o mode=700,nr_inodes=40 none "$0" && cd "$1" && shift && "$@"; echo $?; ls "$0/private" "$0/runs"; '
              'mount -o remount,nr_inodes=900 "$0" && exec "$@"')
    run = [world.cordon, "run", "--backend", "oci", "--runtime", "runc", "--", *SH, "echo ran"]
    done = world.execute(["unshare", "-m", "sh", "-c", script, state, world.project, *run])
    assert done.status == 0 and done.out.split("\n") == ["125", f"{state}/private:", "", f"{state}/runs:", "ran", ""], done.account()
    assert "No space left on device" in done.err and f"make room on the disk of {state}" in done.err, done.account()


REFUSED = {
    "staged": (("--stage",), "staged by oci", "--backend native"),
    "ports": (("--publish", "8080"), "net.publish cannot be held by oci", "leave out the list and --publish"),
    "requests": (("--http", "GET example.com/x"), "a rule for requests cannot be held by oci", "leave out"),
}


@pytest.mark.once
@pytest.mark.parametrize("case", REFUSED)
def test_what_a_runtime_cannot_hold_is_refused_by_name(by_runc, case):
    options, words, cure = REFUSED[case]
    done = by_runc.run(*SH, "echo ran", options=options)
    assert done.status == 125 and done.out == "", done.account()
    assert words in done.err and cure in done.err, done.account()
    by_runc.run(*SH, "echo ran").expect(0)
    assert by_runc.left() == []


@pytest.mark.once
def test_a_session_is_refused_by_name(by_runc):
    done = by_runc.world.cordon_verb("session", "start", "--backend", "oci")
    assert done.status == 125 and "a session cannot be carried out by oci" in done.err, done.account()
    assert "--backend native" in done.err
    started = by_runc.world.cordon_verb("session", "start", "--backend", "native").expect(0)
    by_runc.world.cordon_verb("session", "stop", started.out.strip()).expect(0)


@pytest.mark.once
def test_what_the_link_of_a_protected_name_leads_to_is_held(by_runc):
    world = by_runc.world
    target = world.write(world.project / "notes/settings.json", "{}\n")
    link = world.link(world.project / ".vscode/settings.json", target)
    ordinary = world.write(world.project / "notes/ordinary.json", "{}\n")
    by_link, by_name, control = by_runc.inside([("append", link), ("append", target), ("append", ordinary)])
    assert not by_link.ok and not by_name.ok and control.ok, (by_link, by_name, control)
    assert target.read_text() == "{}\n" != ordinary.read_text()


@pytest.mark.once
@pytest.mark.parametrize("name", [".mcp.json", ".git/config"])
def test_a_protected_name_that_is_a_link_is_refused_until_it_is_a_file(by_runc, name):
    world = by_runc.world
    world.bare("git", "init", "-q", ".").expect(0)
    link = world.project / name
    target = world.write(world.project / "notes/target", link.read_text() if link.exists() else "{}\n")
    link.unlink(missing_ok=True)
    world.link(link, target)
    done = by_runc.run("touch", "ran").expect(125)
    assert f"the link {link}" in done.err and "put the file itself in its place" in done.err, done.account()
    assert not (world.project / "ran").exists()
    # What the hint says.
    text = target.read_text()
    link.unlink()
    world.write(link, text)
    by_runc.run("touch", "ran").expect(0)
    assert (world.project / "ran").exists()


@pytest.mark.once
def test_ceilings_say_whether_it_may_be_used(by_runc):
    world = by_runc.world

    def ceiling(names):
        return world.document(f'version = 1\n[fs]\nread = ["/"]\nwrite = ["{world.project}"]\n'
                              f'[require]\nbackends = {json.dumps(names)}\n', "ceiling.toml")

    forbidden = by_runc.run("true", options=("--ceiling", ceiling(["native"])))
    assert forbidden.status == 125, forbidden.account()
    assert "backend oci, which --backend asks for, is not permitted" in forbidden.err
    by_runc.run("true", options=("--ceiling", ceiling(["native", "oci"]))).expect(0)
    # It is never chosen by itself.
    alone = world.execute([world.cordon, "run", "--ceiling", ceiling(["oci"]), "--", "true"])
    assert alone.status == 125 and "permit no backend that a run could have" in alone.err, alone.account()
    named = world.execute([world.cordon, "run", "--", "true"], env={"CORDON_BACKEND": "oci"})
    named.expect(0)


@pytest.mark.once
def test_the_runtime_is_named_for_this_backend_alone(world):
    loose = world.execute([world.cordon, "run", "--runtime", "runc", "--", "true"])
    assert loose.status == 125 and "--runtime runc is for --backend oci" in loose.err, loose.account()
    world.execute([world.cordon, "run", "--runtime", "runc", "--backend", "oci", "--", "true"]).expect(0)
    unknown = world.execute([world.cordon, "run", "--runtime", "/usr/sbin/runc", "--backend", "oci", "--", "true"])
    assert unknown.status == 125 and "write runc or crun" in unknown.err, unknown.account()
    gvisor = world.execute([world.cordon, "run", "--runtime", "runsc", "--backend", "oci", "--", "true"])
    assert gvisor.status == 125 and "gVisor has no Landlock" in gvisor.err and "--runtime runc" in gvisor.err


@pytest.mark.only("root")
def test_a_runtime_that_is_not_installed_is_named_with_its_package(world):
    hide = ("mount -t tmpfs none /usr/sbin && mount --bind /dev/null /usr/bin/crun && "
            'umount /usr/bin/crun && exec "$@"')
    done = world.execute(["unshare", "-m", "/bin/sh", "-c", hide, "sh", world.cordon, "run", "--backend", "oci",
                          "--runtime", "runc", "--", "true"])
    assert done.status == 125 and "the OCI runtime runc is not installed" in done.err, done.account()
    assert "install runc" in done.err


@pytest.mark.once
def test_a_dry_run_starts_and_makes_nothing(by_runc):
    done = by_runc.run("true", options=("--dry-run",))
    done.expect(0)
    assert re.search(r'run the bundle in \S+ by "?/usr/sbin/runc', done.out), done.account()
    plan = json.loads(by_runc.run("true", options=("--dry-run", "--json")).expect(0).out)
    assert plan["backend"] == "oci", plan
    assert by_runc.left() == []


@pytest.mark.once
def test_a_run_is_recorded(by_runc):
    done, report = by_runc.report("true")
    done.expect(0)
    listed = by_runc.world.cordon_verb("audit", "show", report["audit"]["event_id"], "--json").expect(0)
    assert '"oci"' in listed.out, listed.account()
