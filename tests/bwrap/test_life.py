"""What the bwrap backend has of its own: a program of Cordon's inside, and bubblewrap's process
between the supervisor and the sandbox. What it shares with native is tested by native's tests, run
with CORDON_TEST_BACKEND=bwrap."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from support import harness
from support.voids import NOT_STARTED_BY_ROOT, void


def only_child(pid):
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return None
    return int(found[0]) if len(found) == 1 else None


def below(pid, depth):
    """The only child of the only child, and so on."""
    line = [pid]
    while len(line) <= depth and line[-1]:
        line.append(only_child(line[-1]))
    return line[1:] if all(line) else None


@pytest.fixture
def lingering(world):
    """A run that goes on, with bubblewrap's process and the sandbox's first one."""
    mark = f"lingers-{os.getpid()}-{world.path.name}."
    process = world.start([world.cordon, "run", "--", world.probe, "linger", mark, "300"])
    assert harness.wait_until(lambda: below(process.pid, 3)), "the command was not started"
    bwrap, first, command = below(process.pid, 3)
    assert harness.wait_until(lambda: command in harness.processes_with(mark))
    yield process, mark, bwrap, first
    harness.stop(process)


def gone(mark, *pids):
    return harness.wait_until(lambda: not harness.processes_with(mark)
                              and not any(map(harness.alive, pids)), harness.SOON)


def test_nothing_outlives_cordon(lingering):
    process, mark, bwrap, first = lingering
    assert harness.alive(bwrap) and harness.alive(first)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert gone(mark, bwrap, first)


def test_a_run_does_not_depend_on_bubblewrap_any_more(lingering):
    process, mark, bwrap, first = lingering
    os.kill(bwrap, signal.SIGKILL)
    assert harness.wait_until(lambda: not harness.alive(bwrap))
    assert harness.alive(first) and harness.processes_with(mark) and process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert gone(mark, first)


def test_nothing_outlives_a_signal_to_cordon(lingering):
    process, mark, bwrap, first = lingering
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(30) == 128 + signal.SIGTERM
    assert gone(mark, bwrap, first)


def test_no_command_line_tells_the_policy(lingering, world):
    _, _, bwrap, first = lingering
    for pid in (bwrap, first):
        line = Path(f"/proc/{pid}/cmdline").read_text()
        assert str(world.project) not in line and "linger" not in line, line
    assert Path(f"/proc/{bwrap}/environ").read_bytes() == b""


def test_bubblewrap_keeps_no_descriptor_of_the_run(lingering):
    """Else a reader of the command's output would wait for it too."""
    _, _, bwrap, _ = lingering
    kept = [os.readlink(f"/proc/{bwrap}/fd/{fd}") for fd in os.listdir(f"/proc/{bwrap}/fd")]
    assert not [name for name in kept if name.startswith(("pipe:", "socket:"))], kept


def test_the_first_process_runs_a_program_that_nobody_can_change(lingering):
    *_, first = lingering
    if os.geteuid() != 0:
        return void(NOT_STARTED_BY_ROOT)
    assert os.readlink(f"/proc/{first}/exe") == "/memfd:cordon-inside (deleted)"


@pytest.fixture
def own_copy(world):
    """Cordon's programs in the project, where the command may write."""
    programs = world.make_directory(world.project / "bin")
    for name in ("cordon", "cordon-inside"):
        world.own(Path(shutil.copy(harness.stage().cordon.parent / name, programs / name)))
    world.cordon = programs / "cordon"
    return programs


def test_the_program_inside_cannot_be_replaced_by_a_command(world, own_copy):
    world.run("sh", "-c", "echo > bin/neighbour").expect(0)
    before = (own_copy / "cordon-inside").read_bytes()
    for attack in ("echo x > bin/cordon-inside", "mv bin/cordon-inside bin/moved",
                   "rm -f bin/cordon-inside"):
        # The shell says 2 for what it cannot open itself.
        world.run("sh", "-c", attack).expect(2 if attack.startswith("echo") else 1)
        assert (own_copy / "cordon-inside").read_bytes() == before, attack
    world.run("true").expect(0)


def test_the_program_inside_is_named_where_it_is_missing(world, own_copy):
    world.run("true").expect(0)
    (own_copy / "cordon-inside").unlink()
    done = world.run("true", options=["--json"]).expect(125)
    assert done.json["error"]["kind"] == "unavailable", done.account()
    assert "cordon-inside" in done.json["error"]["message"], done.account()
    world.backend = "native"
    world.run("true").expect(0)


@pytest.mark.parametrize("place", ["bin", "libexec/cordon", "elsewhere"])
def test_the_program_inside_is_held_wherever_it_lies(world, own_copy, place):
    """Beside cordon, where it is installed, and behind a link: nothing a command does there counts."""
    inside = world.make_directory(world.project / place) / "cordon-inside"
    if place != "bin":
        (own_copy / "cordon-inside").rename(inside)
    if place == "elsewhere":
        (own_copy / "cordon-inside").symlink_to("../elsewhere/cordon-inside")
    before = inside.read_bytes()
    for attempt in (f"echo evil > {place}/cordon-inside", f"rm -f {place}/cordon-inside",
                    f"mv {place} was; mkdir -p {place}; echo evil > {place}/cordon-inside"):
        world.run("sh", "-c", f"{attempt}; touch ran")
        assert (world.project / "ran").exists() and inside.read_bytes() == before, attempt
        (world.project / "ran").unlink()
    world.bare("sh", "-c", f"echo evil > {place}/cordon-inside").expect(0)
    assert inside.read_text() == "evil\n"


def test_the_program_inside_is_untrusted_where_others_may_write_it(world, own_copy):
    (own_copy / "cordon-inside").chmod(0o775)
    done = world.run("true", options=["--json"]).expect(125)
    assert done.json["error"]["kind"] == "untrusted", done.account()


def test_the_program_inside_does_nothing_by_itself(world):
    inside = harness.stage().cordon.parent / "cordon-inside"
    for words in ((), ("0",), ("99",), ("try",), ("no",)):
        assert world.bare(inside, *words).status == 125, words


def test_git_works_and_its_hooks_are_held(world):
    world.bare("git", "init", "-q", ".").expect(0)
    commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git log --oneline"
    world.run("sh", "-c", commit).expect(0)
    world.run("git", "config", "core.fsmonitor", "touch ../ran").expect(0)
    assert "fsmonitor" not in (world.project / ".git/config").read_text()
    world.denied("write", world.project / ".git/hooks/pre-commit")


def test_a_deny_inside_a_grant_is_masked(world):
    world.write(world.project / ".env", "SECRET\n")
    world.denied("read", world.project / ".env", options=["--deny", ".env"])


def test_ways_of_the_network(world):
    [bare] = world.outside_of([("ns",)])
    for options, shared in ((["--net", "none"], False), (["--net", "open"], True)):
        [inside] = world.inside([("ns",)], options=options)
        network = [word for word in inside.detail.split() if word.startswith("net")]
        assert network and (network[0] in bare.detail.split()) == shared, inside
    report = world.run("true", options=["--allow", "example.com", "--json"]).expect(0).json
    assert report["enforcement"]["network"] == "allow", report


@pytest.mark.only("root")
def test_supplementary_groups_are_dropped_where_root_starts(world):
    command = ["setpriv", "--groups=4,6", world.cordon, "run", "--backend", "bwrap", "--",
               "sh", "-c", "grep Groups /proc/self/status"]
    assert world.execute(command).expect(0).out.split() == ["Groups:"]


def test_an_unknown_command_is_told_as_by_native(world):
    done = world.run("no-such-program").expect(127)
    assert "does not exist inside" in done.err, done.account()


def test_the_report_names_the_backend_and_what_was_measured(world):
    reports = {}
    for backend in ("native", "bwrap"):
        world.backend = backend
        report = world.run("true", options=["--json"]).expect(0).json["enforcement"]
        assert report.pop("chosen")["backend"] == backend
        reports[backend] = report
        assert reports[backend].pop("backend") == backend
    assert reports["native"] == reports["bwrap"]
