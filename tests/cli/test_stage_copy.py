"""run --stage=copy: what holds for a stage that is an overlay holds for one that is a copy, also where the kernel
refuses an overlay; and what only a copy can get wrong."""

import os
import signal
import time

import pytest

import test_stage
import test_stage_random
from support.harness import World, alive, noted_processes, wait_until
from support.pty_session import Terminal
from test_stage import changes, listed, picture, stages

pytestmark = pytest.mark.once


@pytest.fixture
def copies(world, monkeypatch):
    """Every staged run of this test works in a copy."""
    review = world.document('version = 1\nextends = "workspace"\n[fs]\nstage = "review"\n', "review-copies.toml")
    start = World.start

    def start_copying(self, argv, **how):
        words = []
        for word in argv:
            if word in ("--stage", "--stage=auto", "--stage=review"):
                words.append("--stage=copy")
                if word == "--stage=review":
                    words += ["--policy", review]
            else:
                words.append(word)
        return start(self, words, **how)

    monkeypatch.setattr(World, "start", start_copying)
    return world


ALIKE = [
    test_stage.test_nothing_reaches_the_project_before_it_is_applied,
    test_stage.test_apply_makes_the_project_what_the_run_saw_and_restore_undoes_it,
    test_stage.test_a_path_is_applied_with_the_directories_it_needs_and_nothing_else,
    test_stage.test_auto_applies_what_is_ordinary_and_holds_the_rest,
    test_stage.test_a_run_that_changes_nothing_leaves_nothing,
    test_stage.test_an_unrelated_change_beside_it_is_no_conflict,
    test_stage.test_a_run_that_was_cut_off_is_shown_by_the_next_and_nothing_is_lost,
    test_stage.test_a_stage_in_use_is_taken_by_nobody_else,
    test_stage.test_denied_names_stay_hidden_in_a_stage,
    test_stage.test_two_roots_are_two_layers,
    test_stage.test_what_the_run_closed_is_read_all_the_same,
    test_stage.test_a_rename_is_shown_as_one,
    test_stage.test_many_work_at_once_and_are_applied_in_any_order,
]


@pytest.mark.parametrize("case", ALIKE, ids=lambda case: case.__name__)
def test_a_copy_is_as_good_as_an_overlay(copies, case):
    case(copies)


@pytest.mark.parametrize("when", ["during", "after"])
@pytest.mark.parametrize("case", test_stage.CONFLICTS)
def test_what_the_host_changed_too_is_kept_in_both_versions(copies, case, when):
    test_stage.test_what_the_host_changed_too_is_kept_in_both_versions(copies, case, when)


@pytest.mark.parametrize("seed, option", [(4, None), (5, "--stage-from"), (6, "--stage-fork")])
def test_random_work_arrives_as_it_was_done(copies, seed, option):
    test_stage_random.test_random_work_arrives_as_it_was_done(copies, seed, option)


@pytest.mark.only("root")
def test_root_stages_the_project_of_another_as_that_other(copies):
    test_stage.test_root_stages_the_project_of_another_as_that_other(copies)


def review_of_a_copy(world, script, *options, status=0):
    review = world.document('version = 1\nextends = "workspace"\n[fs]\nstage = "review"\n', "review-copies.toml")
    done, report = world.report("/bin/sh", "-ec", script, options=["--policy", review, "--stage=copy", *options])
    done.expect(status)
    return report


def changed(report):
    return {one["path"]: one["change"] for one in report["changes"]}


@pytest.mark.only("root")
def test_the_cure_of_each_refusal_works(world):
    """A mount point below the project, another owner, and a state directory on an overlay."""
    work = "echo x > made; echo y > sub/made"
    script = (f"mkdir sub && mount -t tmpfs none sub && echo there > sub/f && {world.cordon} run --stage -- true; "
              f"echo $?; {world.cordon} run --stage=copy -- sh -ec 'cat sub/f; {work}'; echo $?; cat made sub/made")
    done = world.bare("unshare", "-m", "/bin/sh", "-c", script)
    assert done.out == "125\nthere\n0\nx\ny\n", done.account()
    assert "mounted below" in done.err and "--stage=copy" in done.err
    os.chown(world.project, 0, 64123)
    assert "--stage=copy" in world.run("true", options=["--stage"]).expect(125).err
    world.run("sh", "-c", "echo z > made", options=["--stage=copy"]).expect(0)
    assert (world.project / "made").read_text() == "z\n"
    os.chown(world.project, 0, 0)
    place = world.make_directory(world.home / "container")
    script = (f"mount -t tmpfs none {place} && cd {place} && mkdir l u w m && "
              f"mount -t overlay overlay -o lowerdir=l,upperdir=u,workdir=w m && cd {world.project} && "
              f"export XDG_STATE_HOME={place}/m && {world.cordon} run --stage -- true; echo $?; "
              f"{world.cordon} run --stage=copy -- sh -ec 'rm file.txt; echo o > made'; echo $?; ls")
    done = world.bare("unshare", "-m", "/bin/sh", "-c", script)
    assert done.out.splitlines()[:2] == ["125", "0"] and "file.txt" not in done.out, done.account()
    assert "lies on an overlay" in done.err and "--stage=copy" in done.err
    assert (world.project / "made").read_text() == "o\n"


@pytest.mark.only("root")
def test_a_place_without_attributes_is_refused_before_anything_runs(world):
    place = world.make_directory(world.home / "plain")
    script = (f"mount -t ramfs none {place} && XDG_STATE_HOME={place} {world.cordon} run --stage=copy -- "
              "sh -c 'rm file.txt'; echo $?")
    done = world.bare("unshare", "-m", "/bin/sh", "-c", script)
    assert done.out == "125\n" and "attributes of users" in done.err and "XDG_STATE_HOME" in done.err, done.account()
    assert (world.project / "file.txt").exists()
    state = {"XDG_STATE_HOME": str(world.home / "elsewhere")}
    world.run("sh", "-c", "rm file.txt", options=["--stage=copy"], env=state).expect(0)
    assert not (world.project / "file.txt").exists()


def test_directories_can_be_renamed_in_a_copy(world):
    for name in ("a/x", "a/y", "b/x"):
        world.write(world.project / name, f"{name}\n")
    report = review_of_a_copy(world, "mv a tmp; mv b a; mv tmp b")
    # Every file has the time and the size of before, under the name of another.
    assert changed(report) == {"a/x": "modified", "a/y": "deleted", "b/x": "modified", "b/y": "added"}
    assert [one for one in report["denials"] if one["what"] == "rename"] == []
    changes(world, "apply")
    assert (world.project / "a/x").read_text() == "b/x\n" and not (world.project / "a/y").exists()
    assert (world.project / "b/x").read_text() == "a/x\n" and (world.project / "b/y").read_text() == "a/y\n"
    changes(world, "restore")
    assert (world.project / "a/x").read_text() == "a/x\n" and (world.project / "b/x").read_text() == "b/x\n"


FORGERIES = {
    "the old time": "printf 'Project file\\n' > n; touch -r file.txt n; cat n > file.txt; touch -r n file.txt; rm n",
    "through a mapping": "python3 -c \"import mmap; f = open('file.txt', 'r+b'); m = mmap.mmap(f.fileno(), 0); "
                         "m[:1] = b'P'; m.flush()\"; touch -d @1 file.txt",
    "a second name": "ln file.txt second; printf P | dd of=second conv=notrunc status=none; rm second",
}


@pytest.mark.parametrize("way", FORGERIES)
def test_a_change_cannot_be_hidden(world, way):
    report = review_of_a_copy(world, FORGERIES[way])
    assert changed(report) == {"file.txt": "modified"}, report
    changes(world, "apply")
    assert (world.project / "file.txt").read_text() == "Project file\n"


def test_the_commands_own_marks_count_for_nothing(world):
    world.write(world.project / "full/f", "f\n")
    report = review_of_a_copy(
        world, "python3 -c \"import os; open('new', 'w'); "
        "[os.setxattr(n, f'user.{a}', b'y') for n in ('new', 'file.txt', 'full') "
        "for a in ('cordon.deleted', 'cordon.copied', 'overlay.opaque', 'overlay.whiteout')]\"; "
        "echo x > full/g; : > file.txt")
    assert changed(report) == {"new": "added", "file.txt": "modified", "full/g": "added"}, report
    changes(world, "apply")
    assert (world.project / "full/f").read_text() == "f\n" and (world.project / "new").exists()


def test_what_is_denied_is_not_copied(world):
    world.write(world.project / "keys/a.pem", "SECRET\n")
    world.write(world.project / "vault/deep/x", "SECRET\n")
    process = world.start([world.cordon, "run", "--stage=copy", "--deny", "*.pem", "--deny", "vault", "--", "sh", "-ec",
                           "echo ready; read line"], stdin=-1)
    assert process.stdout.readline() == b"ready\n"
    [place] = stages(world)
    copied = picture(place / "0/copy")
    assert copied["file.txt"][1] == b"project file\n"
    assert copied["keys/a.pem"][1] == b"" and [name for name in copied if name.startswith("vault/")] == []
    process.communicate(b"go\n", timeout=30)
    assert process.returncode == 0 and stages(world) == []
    assert (world.project / "keys/a.pem").read_text() == "SECRET\n"


# Root reads everything.
@pytest.mark.only("user")
def test_a_copy_that_cannot_be_made_is_refused_and_leaves_nothing(world):
    closed = world.write(world.project / "closed", "x\n", 0)
    refused = world.run("sh", "-c", "echo x > made", options=["--stage=copy"]).expect(125)
    assert str(closed) in refused.err and "deny" in refused.err
    assert stages(world) == [] and not (world.project / "made").exists()
    world.run("sh", "-c", "echo x > made", options=["--stage=copy", "--deny", "closed"]).expect(0)
    assert (world.project / "made").read_text() == "x\n"


def test_commits_arrive_from_a_copy(world):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    world.bare("sh", "-ec", "git init -q . && git add file.txt && git -c user.name=a -c user.email=a@b commit -qm one")
    world.run("sh", "-ec", "echo more >> file.txt; git add file.txt; " + " ".join(git) + " commit -qm two; git gc -q",
              options=["--stage=copy"]).expect(0)
    assert world.bare("git", "log", "--format=%s").expect(0).out == "two\none\n"
    assert world.bare("git", "status", "--porcelain", "--", "file.txt").expect(0).out == ""
    world.bare("git", "fsck", "--strict").expect(0)


def test_a_stage_stays_what_it_was_made_as(world):
    first = review_of_a_copy(world, "echo a > a; rm file.txt")
    again = review_of_a_copy(world, "cat a; test ! -e file.txt; echo b > b", "--stage-from", first["run_id"])
    assert changed(again) == {"a": "added", "b": "added", "file.txt": "deleted"}
    # Without the option as well.
    done, third = world.report("/bin/sh", "-ec", "mv a c; echo back > file.txt",
                               options=["--stage-from", again["run_id"]])
    done.expect(0)
    assert changed(third) == {"b": "added", "c": "added", "file.txt": "modified"}
    changes(world, "apply", third["run_id"])
    assert (world.project / "file.txt").read_text() == "back\n" and (world.project / "c").read_text() == "a\n"
    overlay = test_stage.staged(world, "echo x > x")
    refused = world.run("true", options=["--stage-from", overlay["run_id"], "--stage=copy"]).expect(125)
    assert "drop --stage=copy" in refused.err
    world.run("cat", "x", options=["--stage-from", overlay["run_id"]]).expect(0)


def test_an_interrupt_does_not_wait_for_the_copy(world):
    # Names of one file are made quickly, and copied one by one.
    first = world.write(world.project / "tree/first", "x\n")
    for number in range(20000):
        os.link(first, world.project / f"tree/{number}")
    process = world.start([world.cordon, "run", "--stage=copy", "--", "sh", "-c", "echo x > made"])
    assert wait_until(lambda: any((place / "0/copy").exists() for place in stages(world)), step=0.001)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and b"was being copied" in err, err
    assert stages(world) == [] and not (world.project / "made").exists()


@pytest.mark.parametrize("step", ["while it is copied", "while it runs"])
def test_killed_it_leaves_a_whole_list_or_nothing(world, step):
    for number in range(300):
        world.write(world.project / f"tree/{number}", f"{number}\n")
    before = picture(world.project)
    # The copy may be whole before the kill comes: then the command has changed one thing or nothing.
    work = "rm -r tree; echo x > made" if step == "while it runs" else "echo x > made"
    process = world.start([world.cordon, "run", "--stage=copy", "--", "sh", "-ec", work + "; echo ready; read line"],
                          stdin=-1)
    if step == "while it runs":
        assert process.stdout.readline() == b"ready\n"
        assert wait_until(lambda: noted_processes(world.home))
    else:
        assert wait_until(lambda: any((place / "0/copy").exists() for place in stages(world)), step=0.001)
    started = noted_processes(world.home)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert wait_until(lambda: not any(alive(one) for one in started))

    def is_settled():
        # A run that was killed before it had a process is looked at when it is some seconds old.
        world.run("true").expect(0)
        return not list((world.home / ".local/state/cordon/runs").iterdir())

    assert wait_until(is_settled)
    assert picture(world.project) == before
    told = listed(world) if world.cordon_verb("changes", "list").status == 0 else {}
    if step == "while it runs":
        assert "made" in told and sum(name.startswith("tree/") for name in told) == 300
        changes(world, "apply")
        assert not (world.project / "tree").exists() and (world.project / "made").read_text() == "x\n"
    else:
        assert set(told) <= {"made"}, told


def test_a_long_copy_counts_at_a_terminal(world):
    """What takes half a second or more says how far it is, and leaves no trace of that in the command's output."""
    command = ["run", "--stage=copy", "--", "echo", "done"]
    assert "copying" not in world.cordon_verb(*command).expect(0).err  # elsewhere nothing counts
    # Names of one file are made quickly, and copied one by one.
    fill = ("import os\nfor d in range(15):\n    os.mkdir(f'd{d}')\n"
            "    for f in range(700): os.link('file.txt', f'd{d}/{f}')")
    world.bare("/usr/bin/python3", "-c", fill).expect(0)
    terminal = Terminal(world, [world.cordon, *command])
    try:
        # A quick machine is done before there is anything to tell: it is kept waiting in the middle.
        assert wait_until(lambda: any((place / "0/copy").exists() for place in stages(world)), 60, 0.001)
        os.kill(terminal.pid, signal.SIGSTOP)
        time.sleep(0.7)
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.expect(b"copying what may be written: ", 120)
        assert terminal.wait(120) == 0
        assert terminal.seen.rstrip().endswith(b"\r\x1b[Kdone"), terminal.seen[-200:]
    finally:
        terminal.close()
