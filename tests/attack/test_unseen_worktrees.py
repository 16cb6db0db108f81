"""Linked worktrees that a run does not see. `git worktree prune` and `git gc` remove what the repository has of a
worktree that they do not find: inside a run that is every one that is not granted. What the person has outside
stays, what is really gone goes, and the report says which."""

import os

import pytest

from gitrepo import git, make_repository


@pytest.fixture
def repository(world):
    return make_repository(world)


def add_worktree(world, name):
    place = world.project.parent / name
    git(world, "worktree", "add", "-q", "-b", f"b-{name}", place)
    return place


def of(report, path):
    return [(e["change"], e["state"]) for e in report["changes"] if e["path"] == path]


@pytest.mark.parametrize("command", [
    "git worktree prune", "git -c gc.worktreePruneExpire=now gc -q --prune=now", "rm -rf .git/worktrees/out"])
def test_a_worktree_outside_of_the_grants_stays(world, repository, command):
    out = add_worktree(world, "out")
    before = sorted(os.listdir(repository / ".git/worktrees/out"))
    world.write(out / "mine", "mine\n")
    git(world, "add", "mine", cwd=out).expect(0)
    done, report = world.report("sh", "-c", command + "; true")
    done.expect(0)
    assert sorted(os.listdir(repository / ".git/worktrees/out")) == before, done.err
    assert git(world, "status", "--porcelain", cwd=out).expect(0).out == "A  mine\n"
    assert of(report, ".git/worktrees/out") == [("deleted", "discarded")], report["changes"]
    assert "not removed: .git/worktrees/out: git worktree: its work tree is not granted" in done.err
    # Taking everything takes nothing of that.
    world.cordon_verb("changes", "apply", report["run_id"])
    assert git(world, "status", "--porcelain", cwd=out).expect(0).out == "A  mine\n"
    # The control: outside git finds the worktree, and what removes it without asking does.
    world.bare("sh", "-c", command).expect(0)
    assert (repository / ".git/worktrees/out").exists() == ("rm" not in command)


def test_one_that_is_gone_from_a_granted_place_goes_and_can_be_restored(world, repository):
    out = add_worktree(world, "out")
    entry = repository / ".git/worktrees/out"
    trees = world.make_directory(out.parent / "trees")
    git(world, "worktree", "move", out, trees / "out").expect(0)
    world.bare("rm", "-rf", trees / "out").expect(0)
    options = ["--write", trees]
    quiet, report = world.report("git", "status", options=options)
    assert entry.exists() and report["changes"] == [], quiet.err
    done, report = world.report("git", "worktree", "prune", options=options)
    done.expect(0)
    assert not entry.exists() and not entry.parent.exists(), done.err
    assert of(report, ".git/worktrees/out") == [("deleted", "applied")]
    assert "finished what the run began to remove: 1 protected path" in done.err
    world.cordon_verb("changes", "restore", report["run_id"]).expect(0)
    assert (entry / "HEAD").read_text() == "ref: refs/heads/b-out\n"


def test_one_that_is_locked_stays(world, repository):
    out = add_worktree(world, "out")
    trees = world.make_directory(out.parent / "trees")
    git(world, "worktree", "move", out, trees / "out").expect(0)
    git(world, "worktree", "lock", trees / "out").expect(0)
    os.rename(trees / "out", out)
    world.run("rm", "-rf", ".git/worktrees/out", options=["--write", trees])
    os.rename(out, trees / "out")
    git(world, "status", cwd=trees / "out").expect(0)


def test_what_ordinary_work_writes_there_lasts(world, repository):
    """`git branch -m` of a branch that is checked out in a worktree outside changes the HEAD of that worktree."""
    out = add_worktree(world, "out")
    done, report = world.report("git", "branch", "-m", "b-out", "renamed")
    done.expect(0)
    assert git(world, "branch", "--show-current", cwd=out).expect(0).out == "renamed\n", report["changes"]
    assert "held back" not in done.err


@pytest.mark.parametrize("name", ["commondir", "gitdir", "config.worktree", "HEAD"])
def test_what_git_is_led_by_stays(world, repository, name):
    out = add_worktree(world, "out")
    git(world, "config", "extensions.worktreeConfig", "true").expect(0)
    git(world, "config", "--worktree", "user.name", "me", cwd=out).expect(0)
    path = repository / ".git/worktrees/out" / name
    before = path.read_text()
    world.run("sh", "-c", f"rm -f .git/worktrees/out/{name}; mkdir .git/worktrees/out/{name} || "
              f"echo /elsewhere > .git/worktrees/out/{name}")
    assert path.is_file() and path.read_text() == before
