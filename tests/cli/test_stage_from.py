"""run --stage-from and --stage-fork: a later run goes on in a stage, or in a copy of it."""

import fcntl
import json
import os
import signal

import pytest

from support.harness import alive, noted_processes, wait_until
from test_stage import CHANGES, changes, listed, picture, prepare, staged, stages


def run_of(report):
    return report["run_id"]


def seen(world, script, *options):
    """What the command wrote, and the report."""
    done, report = world.report("/bin/sh", "-ec", script, options=options)
    done.expect(0)
    return done.out, report


def test_a_later_run_goes_on_in_the_stage_and_has_all_of_it(world):
    prepare(world)
    before = picture(world.project)
    first = run_of(staged(world, CHANGES))
    [place] = stages(world)
    out, report = seen(world, "test ! -e gone.txt; test ! -e tree; cat added.txt d/e/f.txt; echo later >> added.txt; "
                       "rm d/e/f.txt; mkdir tree; echo anew > tree/z", "--stage-from", first, "--stage=review")
    assert picture(world.project) == before
    assert out == "new\ndeep\n"
    assert report["stage"]["from"] == first and report["stage"]["bytes"] > 0
    # One stage, which is the later run's now.
    assert stages(world) == [place]
    second = run_of(report)
    assert {one["path"] for one in report["changes"]} == {
        "added.txt", "d", "d/e", "file.txt", "gone.txt", "tree/a", "tree/b", "tree/b/c", "tree/z", "mode.sh",
        "kind", "kind/x", "link"}
    gone = changes(world, "apply", first, status=2)
    assert f"cordon changes list {second}" in gone.err
    changes(world, "list", first, status=2)
    changes(world, "list", second)
    changes(world, "apply")
    assert (world.project / "added.txt").read_text() == "new\nlater\n"
    assert sorted(os.listdir(world.project / "tree")) == ["z"]
    assert os.listdir(world.project / "d/e") == []
    changes(world, "restore")
    assert picture(world.project) == before


def test_what_the_later_run_takes_back_is_no_change(world):
    first = run_of(staged(world, "echo x > made; echo more >> file.txt"))
    report = staged(world, "rm made; echo 'project file' > file.txt", "--stage-from", "last")
    assert report["changes"] == [] and stages(world) == []
    assert "nothing to do" in changes(world, "list", first, status=1).err


def test_a_stage_is_continued_over_and_over(world):
    run = run_of(staged(world, "echo 0 > log"))
    for number in range(1, 4):
        run = run_of(staged(world, f"echo {number} >> log", "--stage-from", run, "--stage=review"))
    changes(world, "apply", run)
    assert (world.project / "log").read_text() == "0\n1\n2\n3\n"
    assert len(stages(world)) == 1


def test_auto_applies_what_all_runs_of_the_stage_wrote(world):
    first = run_of(staged(world, "echo 1 > one; mkdir .vscode; echo x > .vscode/tasks.json"))
    done, report = world.report("/bin/sh", "-ec", "echo 2 > two", options=["--stage-from", first, "--stage=auto"])
    done.expect(0)
    assert {one["path"]: one["state"] for one in report["changes"]} == {
        "one": "applied", "two": "applied", ".vscode": "held", ".vscode/tasks.json": "held"}
    assert (world.project / "one").read_text() == "1\n"


@pytest.mark.parametrize("option", ["--stage-from", "--stage-fork"])
def test_a_review_that_was_asked_for_is_not_given_up_by_going_on(world, option):
    first = run_of(staged(world, "echo 1 > one"))
    second = staged(world, "echo 2 > two", option, first)
    assert {one["state"] for one in second["changes"]} == {"held"}
    assert not (world.project / "one").exists()
    third = staged(world, "true", option, run_of(second), "--stage=auto")
    assert {one["state"] for one in third["changes"]} == {"applied"}
    # And of one that was to be applied, what is held goes on as that.
    held = run_of(staged(world, "mkdir .vscode; echo x > .vscode/tasks.json", "--stage=auto"))
    fourth = staged(world, "echo 3 > three", option, held)
    assert {one["path"]: one["state"] for one in fourth["changes"]}["three"] == "applied"


def test_a_fork_leaves_the_stage_and_both_go_on_apart(world):
    prepare(world)
    first = run_of(staged(world, CHANGES + "; chmod 0 d/e/f.txt; chmod 0 d/e"))
    out, fork = seen(world, "test ! -e gone.txt; test ! -e tree; cat added.txt; echo fork >> added.txt; rm kind/x; "
                     "test $(stat -c %a d/e) = 0", "--stage-fork", first, "--stage=review")
    assert out == "new\n" and fork["stage"]["from"] == first
    assert len(stages(world)) == 2
    # The first one is as it was, and goes on by itself.
    assert changes(world, "show", first, "added.txt").out == "new\n"
    assert listed(world, first)["kind/x"][0] == "added"
    assert changes(world, "show", run_of(fork), "added.txt").out == "new\nfork\n"
    assert "kind/x" not in listed(world, run_of(fork))
    assert {path for path in listed(world, first) if path != "kind/x"} == set(listed(world, run_of(fork)))
    second = run_of(staged(world, "echo first >> added.txt", "--stage-from", first, "--stage=review"))
    changes(world, "discard", second)
    changes(world, "apply", run_of(fork))
    assert (world.project / "added.txt").read_text() == "new\nfork\n"
    assert not (world.project / "tree").exists() and not (world.project / "gone.txt").exists()
    (world.project / "d/e").chmod(0o700)


def test_two_forks_of_one_stage_meet_in_a_conflict(world):
    first = run_of(staged(world, "echo base > shared"))
    forks = [run_of(staged(world, f"echo {number} >> shared; echo {number} > own{number}", "--stage-fork", first,
                           "--stage=review")) for number in range(2)]
    changes(world, "apply", forks[1])
    done = changes(world, "apply", forks[0], status=1)
    assert "conflict: " in done.err and "shared" in done.err
    assert (world.project / "shared").read_text() == "base\n1\n"
    assert (world.project / "own0").exists() and (world.project / "own1").exists()


@pytest.mark.parametrize("option", ["--stage-from", "--stage-fork"])
def test_what_cannot_be_gone_on_from_is_refused_by_name_with_a_cure_that_works(world, option):
    def refused(run, *options):
        done = world.run("true", options=[option, run, *options]).expect(125)
        assert option in done.err, done.account()
        return done.err

    assert "no such stage" in refused("last")
    assert "no such stage" in refused("0123456789abcdef")
    assert "not the id of a run" in refused("somewhere")
    applied = run_of(staged(world, "echo x > made"))
    changes(world, "apply", applied)
    text = refused(applied)
    assert "were applied" in text and f"cordon changes restore {applied}" in text
    # What it says works: the restored file is younger than the run, and no conflict for that.
    changes(world, "restore", applied)
    out, again = seen(world, "cat made; echo y >> made", option, applied, "--stage=review")
    assert out == "x\n"
    assert {one["state"] for one in again["changes"]} == {"held"}
    changes(world, "discard", run_of(again))
    assert "were discarded" in refused(run_of(again))
    part = run_of(staged(world, "echo 1 > one; echo 2 > two"))
    changes(world, "discard", part, "one")
    assert "were discarded" in refused(part)
    # Another set of grants.
    other = world.make_directory(world.home / "other")
    both = run_of(staged(world, "echo 1 > one", "--stage=review", "--write", other))
    text = refused(both)
    assert str(other) in text and "--write" in text
    staged(world, "cat one", option, both, "--write", other, "--stage=review")


def test_a_live_run_left_no_stage(world):
    world.write(world.project / ".vscode/settings.json", "{}\n")
    done, report = world.report("/bin/sh", "-c", "echo x > .vscode/tasks.json")
    refused = world.run("true", options=["--stage-from", run_of(report)]).expect(125)
    assert "--stage" in refused.err


def test_a_stage_at_work_is_refused_and_free_afterwards(world):
    first = run_of(staged(world, "echo x > made"))
    process = world.start([world.cordon, "run", "--stage-from", first, "--stage=auto", "--", "/bin/sh", "-ec",
                           "echo y >> made; echo ready; read line"], stdin=-1)
    assert process.stdout.readline() == b"ready\n"
    for option in ("--stage-from", "--stage-fork"):
        busy = world.run("true", options=[option, first]).expect(125)
        assert "at work" in busy.err or "went on in its stage" in busy.err, busy.account()
    changes(world, "apply", first, status=2)
    process.communicate(b"go\n", timeout=30)
    assert process.returncode == 0
    assert (world.project / "made").read_text() == "x\ny\n"


def test_a_locked_stage_is_left_as_it_was(world):
    first = run_of(staged(world, "echo x > made"))
    [place] = stages(world)
    held = os.open(place / "stage", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    busy = world.run("true", options=["--stage-from", first]).expect(125)
    assert "somebody else is at work" in busy.err
    os.close(held)
    changes(world, "apply", first)


def test_a_run_that_does_not_start_gives_the_stage_back(world):
    world.run("no-such-program", options=["--stage"]).expect(127)
    assert stages(world) == []
    first = run_of(staged(world, "echo x > made"))
    world.run("no-such-program", options=["--stage-from", first]).expect(127)
    assert listed(world, first)["made"][1] == "held"
    staged(world, "cat made", "--stage-from", first, "--stage=review")


def test_cut_off_in_a_continued_stage_nothing_is_lost(world):
    first = run_of(staged(world, "echo x > made; echo more >> file.txt"))
    process = world.start([world.cordon, "run", "--stage-from", first, "--", "/bin/sh", "-ec",
                           "echo y > later; echo ready; read line"], stdin=-1)
    assert process.stdout.readline() == b"ready\n"
    assert wait_until(lambda: noted_processes(world.home))
    started = noted_processes(world.home)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert wait_until(lambda: not any(alive(one) for one in started))
    done, report = world.report("true")
    assert "was cut off" in done.err
    assert set(listed(world)) == {"made", "file.txt", "later"}
    changes(world, "list", first, status=2)
    assert seen(world, "cat later", "--stage-from", "last", "--stage=review")[0] == "y\n"
    changes(world, "apply")
    assert (world.project / "later").read_text() == "y\n"


def test_what_the_host_changed_since_the_first_run_is_a_conflict(world):
    first = run_of(staged(world, "echo run >> file.txt; : >> probe; echo x > made"))
    world.write(world.project / "file.txt", "host\n")
    world.write(world.project / "probe", "host too\n")
    report = staged(world, "echo again >> made; echo stale >> probe", "--stage-from", first, "--stage=review")
    states = {one["path"]: one["state"] for one in report["changes"]}
    # The copy that the first run only opened hides what the host wrote since.
    assert states == {"file.txt": "conflict", "probe": "conflict", "made": "held"}
    changes(world, "apply", status=1)
    assert (world.project / "file.txt").read_text() == "host\n"
    assert (world.project / "probe").read_text() == "host too\n"


def test_what_the_first_run_was_denied_waits_after_a_run_without_that_rule(world):
    first = run_of(staged(world, "echo x > new.pem; echo y > plain", "--stage=review", "--deny", "*.pem"))
    done, report = world.report("/bin/sh", "-c", "true", options=["--stage-from", first, "--stage=auto"])
    assert {one["path"]: (one["state"], one["reason"]) for one in report["changes"]} == {
        "new.pem": ("held", "denied"), "plain": ("applied", "")}


def test_both_options_at_once_are_a_slip(world):
    refused = world.run("true", options=["--stage-from", "last", "--stage-fork", "last"]).expect(125)
    assert "contradicts" in refused.err


def test_ten_agents_fork_one_stage_and_are_applied_in_any_order(world):
    base = run_of(staged(world, "mkdir work; echo base > work/base; rm file.txt"))
    agents = [world.start([world.cordon, "run", "--stage-fork", base, "--stage=review", "--json", "--", "/bin/sh",
                           "-ec", f"test ! -e file.txt; echo {number} > work/own{number}; echo {number} > work/base"],
                          stdin=-1) for number in range(10)]
    runs = []
    for agent in agents:
        out, err = agent.communicate(timeout=120)
        assert agent.returncode == 0, err
        runs.append(json.loads(out)["run_id"])
    assert len(stages(world)) == 11
    for run in runs[5:]:
        changes(world, "apply", run, status=0 if run == runs[5] else 1)
    for run in runs[:5]:
        done = changes(world, "apply", run, status=1)
        assert "work/base" in done.err
    assert not (world.project / "file.txt").exists()
    assert len(os.listdir(world.project / "work")) == 11


@pytest.mark.only("root")
def test_root_goes_on_as_the_owner_of_the_project(world):
    other = 64123
    for path in [world.project, *world.project.rglob("*")]:
        os.chown(path, other, other, follow_symlinks=False)
    first = run_of(staged(world, "mkdir d; echo x > d/x; rm probe"))
    fork = run_of(staged(world, "cat d/x; echo fork >> d/x; rm -r d; mkdir d; echo y > d/y", "--stage-fork", first,
                         "--stage=review"))
    second = run_of(staged(world, "echo more >> d/x; echo z > probe; rm file.txt", "--stage-from", first,
                           "--stage=review"))
    assert set(listed(world, fork)) == {"d", "d/y", "probe"}
    changes(world, "apply", second)
    assert (world.project / "d/x").read_text() == "x\nmore\n"
    for path in world.project.rglob("*"):
        assert (path.lstat().st_uid, path.lstat().st_gid) == (other, other), path


def test_a_fork_that_was_cut_off_leaves_nothing(world):
    first = run_of(staged(world, "mkdir many; cd many; for i in $(seq 10000); do echo $i > $i; done"))
    [place] = stages(world)
    process = world.start([world.cordon, "run", "--stage-fork", first, "--", "true"])
    assert wait_until(lambda: any(one.name.endswith(".fork") for one in stages(world)), step=0.001)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    world.let_notes_be_old()
    done, _ = world.report("true")
    done.expect(0)
    assert "unchecked" not in done.err, done.account()
    assert stages(world) == [place]
    assert len(listed(world, first)) == 10001
