"""A run that starts below the top of a repository: it sees the repository and commits in it, and writes nothing
beside the directory it was started in."""

import os

import pytest

from gitrepo import git, make_repository, payload
from support.harness import FILE_ERRORS
from support.voids import NOT_STARTED_BY_ROOT, void

COMMIT = "git status --short && git log --oneline && echo more > new.txt && git add new.txt && git commit -q -m inside"


IDENTITY_OPTIONS = ["--env", "GIT_AUTHOR_NAME=A", "--env", "GIT_AUTHOR_EMAIL=a@b", "--env", "GIT_COMMITTER_NAME=A",
                    "--env", "GIT_COMMITTER_EMAIL=a@b"]


def repository(world, name="web"):
    """Its top, and a directory in it to start in."""
    top = make_repository(world, world.home / "work" / name)
    world.write(top / "beside/kept.txt", "beside\n")
    return top, world.make_directory(top / "part/deep")


def repo_reductions(report):
    return [r for r in report["reductions"] if r["what"] == "repository"]


def sees(world, sub, *options):
    """Whether git inside finds the repository, and the report."""
    done, report = world.report("git", "log", "--oneline", options=options, cwd=sub)
    return done.status == 0, report


def expect_as_today(world, sub, top):
    """Nothing of the repository is there; the option that the line names shows it."""
    done, report = world.report("sh", "-c", f"ls {top}/tracked.txt; echo x > made", cwd=sub)
    assert "tracked.txt\n" not in done.out and (sub / "made").read_text() == "x\n", done.account()
    [reduction] = repo_reductions(report)
    assert reduction == {"what": "repository", "asked": str(top), "got": None, "because": "forbidden"}
    assert f"--read {top} shows it" in done.err, done.account()
    shown = world.run("ls", f"{top}/tracked.txt", options=["--read", top], cwd=sub).expect(0)
    assert "tracked.txt" in shown.out
    refused = world.run("true", options=["--write", "@repo"], cwd=sub).expect(125)
    assert "@repo" in refused.err and str(top) in refused.err, refused.account()


@pytest.mark.parametrize("preset", ["workspace", "build", "agent"])
def test_git_works_below_the_top(world, preset):
    top, sub = repository(world)
    done, report = world.report("sh", "-c", COMMIT, options=["--policy", preset, *IDENTITY_OPTIONS], cwd=sub)
    done.expect(0)
    assert "first" in done.out and repo_reductions(report) == []
    assert git(world, "log", "-1", "--format=%s", cwd=top).out == "inside\n"
    assert git(world, "show", "--name-only", "--format=", cwd=top).out == "part/deep/new.txt\n"
    assert git(world, "status", "--short", cwd=top).out == "?? beside/\n"


def test_readonly_shows_it_and_commits_nothing(world):
    top, sub = repository(world)
    done = world.run("sh", "-c", f"cat {top}/tracked.txt; git log --oneline; git commit -q --allow-empty -m x",
                     options=["--policy", "readonly"], cwd=sub)
    assert done.status != 0 and "tracked\n" in done.out and "first" in done.out, done.account()
    assert git(world, "log", "-1", "--format=%s", cwd=top).out == "first\n"


def test_strict_sees_nothing_of_it_unless_it_is_named(world):
    top, sub = repository(world)
    options = ["--policy", "strict", "--read", world.probe, "--read", sub]
    [answer] = world.inside([("read", top / "tracked.txt")], options=options, cwd=sub)
    assert not answer.ok, answer
    [answer] = world.inside([("read", top / "tracked.txt")], options=[*options, "--read", "@repo"], cwd=sub)
    assert answer.ok, answer


@pytest.mark.parametrize("stage", ["--stage", "--stage=copy"])
def test_a_stage_below_the_top_is_committed_in_as_well(world, stage):
    """An overlay is a file system of its own, at whose edge git stops unless it is told not to."""
    top, sub = repository(world)
    world.run("sh", "-c", COMMIT, options=[stage, *IDENTITY_OPTIONS], cwd=sub).expect(0)
    assert git(world, "log", "-1", "--format=%s", cwd=top).out == "inside\n"
    assert git(world, "status", "--short", cwd=top).out == "?? beside/\n"
    assert (sub / "new.txt").read_text() == "more\n"


def test_another_file_system_below_the_top_is_no_part_of_it(world):
    """git stops at its edge too; the control is the same directory without the mount."""
    top, sub = repository(world)
    show = [world.cordon, "run", "--", "cat", top / "tracked.txt"]
    mount = 'mount -t tmpfs -o mode=755 none "$1" && cd "$1" && shift && exec "$@"'
    done = world.execute([*world.own_namespaces(), "/bin/sh", "-c", mount, "sh", sub, *show], cwd=sub)
    assert done.status == 1 and "No such file" in done.err, done.account()
    unmounted = 'cd "$1" && shift && exec "$@"'
    done = world.execute([*world.own_namespaces(), "/bin/sh", "-c", unmounted, "sh", sub, *show], cwd=sub)
    assert done.expect(0).out == "tracked\n"


def test_nothing_beside_is_written(world):
    top, sub = repository(world)
    attempts = [("write", top / "beside/kept.txt"), ("write", top / "made"), ("write", top / "tracked.txt"),
                ("write", top / "part/made"), ("rename", top / "beside", top / "aside"),
                ("unlink", top / "tracked.txt"), ("mkdir", top / "new")]
    options = ["--read", world.probe]
    for answer in world.inside(attempts, options=options, cwd=sub):
        assert not answer.ok and answer.errno in FILE_ERRORS, answer
    assert (top / "beside/kept.txt").read_text() == "beside\n"
    # The control, and where the command may write.
    writes = [("write", top / "made"), ("write", top / "beside/kept.txt"), ("write", sub / "made")]
    for answer in world.inside(writes, options=[*options, "--write", "@repo"], cwd=sub):
        assert answer.ok, answer
    [answer] = world.inside([("write", sub / "made2")], options=options, cwd=sub)
    assert answer.ok, answer


@pytest.mark.parametrize("options", [[], ["--write", "@repo"]])
def test_what_the_host_would_run_stays_held(world, options):
    top, sub = repository(world)
    marker = world.outside / "marker"
    payload(world, top / ".git/hooks/post-commit", world.outside / "old")
    hook = f"printf '#!/bin/sh\\ntouch {marker}\\n'"
    attack = (f"for h in post-commit pre-commit; do {hook} > {top}/.git/hooks/$h; chmod +x {top}/.git/hooks/$h; done; "
              f"{hook} > run; chmod +x run; git config core.fsmonitor {sub}/run; git config alias.st '!touch {marker}'; "
              f"mkdir -p {top}/.vscode; echo x > {top}/.vscode/tasks.json; true")
    removed = f"rm -rf {top}/.git/hooks; mv {top}/.git/hooks {top}/.git/other; true"
    world.run("sh", "-c", attack, options=options, cwd=sub).expect(0)
    world.run("sh", "-c", removed, options=options, cwd=sub).expect(0)
    assert (top / ".git/hooks/post-commit").exists()
    git(world, "status", cwd=top)
    git(world, "commit", "-q", "--allow-empty", "-m", "outside", cwd=top)
    world.bare("git", "st", cwd=top)
    assert not marker.exists() and (world.outside / "old").exists()
    assert not (top / ".vscode").exists()
    # The control: without a sandbox the host runs what the same attack left.
    world.bare("sh", "-c", attack, cwd=sub).expect(0)
    git(world, "status", cwd=top)
    assert marker.exists() and (top / ".vscode").exists()


def test_credentials_in_it_stay_masked(world):
    """A repository of settings, which holds what programs keep beside them."""
    top = make_repository(world, world.home / ".config")
    world.plant({".config/gh/hosts.yml": "SECRET-gh\n", ".config/cordon/ceiling.toml.bak": "SECRET-own\n"})
    sub = world.make_directory(top / "editor")
    show = ["sh", "-c", f"cat {top}/gh/hosts.yml; cat {top}/cordon/*; cat {top}/tracked.txt"]
    done = world.run(*show, cwd=sub).expect(0)
    assert done.out == "tracked\n", done.account()
    assert "SECRET-gh" in world.bare(*show, cwd=sub).out


def test_denies_of_a_ceiling_hold_in_it(world):
    top, sub = repository(world)
    world.write(top / "beside/.env", "SECRET-env\n")
    ceiling = world.document('version = 1\n[fs]\nread = ["@system", "@toolchains", "@repo"]\nwrite = ["@cwd"]\ndeny = [".env"]\n')
    show = ["sh", "-c", f"cat {top}/beside/.env; cat {top}/tracked.txt; {COMMIT}"]
    done = world.run(*show, options=["--ceiling", ceiling, *IDENTITY_OPTIONS], cwd=sub).expect(0)
    assert "SECRET-env" not in done.out and "tracked\n" in done.out
    assert git(world, "log", "-1", "--format=%s", cwd=top).out == "inside\n"
    assert "SECRET-env" in world.run(*show, options=IDENTITY_OPTIONS, cwd=sub).out


# What a ceiling permits.


def test_a_ceiling_that_does_not_permit_the_top_reduces_it_and_says_so(world):
    top, sub = repository(world)
    ceiling = world.document('version = 1\n[fs]\nread = ["@system", "@toolchains"]\nwrite = ["@cwd"]\n')
    done, report = world.report("sh", "-c", f"cat {top}/tracked.txt; git log", options=["--ceiling", ceiling], cwd=sub)
    assert done.status != 0 and "tracked" not in done.out
    reduced = {(r["what"], r["asked"]): r["because"] for r in report["reductions"]}
    assert reduced[("read", "@repo")] == "narrowed" and reduced[("write", f"{top}/.git")] == "outside-ceiling"
    assert f'reduced read @repo to {sub}: narrowed' in done.err, done.account()
    for option in ("--read", "--write"):
        refused = world.run("true", options=["--ceiling", ceiling, option, "@repo"], cwd=sub).expect(125)
        assert str(ceiling) in refused.err, refused.account()
    # A ceiling for reading alone permits no git directory to be written, and one for nothing else no top.
    world.document('version = 1\n[fs]\nread = ["@system", "@toolchains", "@repo", "@cwd"]\n')
    done = world.run("sh", "-c", f"cat {top}/tracked.txt; echo x > made; git commit --allow-empty -m x",
                     options=["--ceiling", ceiling], cwd=sub)
    assert done.status != 0 and "tracked\n" in done.out and not (sub / "made").exists()
    assert git(world, "log", "-1", "--format=%s", cwd=top).out == "first\n"


def test_a_ceiling_with_the_word_lets_nobody_write_the_git_directory_by_name(world):
    top, sub = repository(world)
    ceiling = world.document('version = 1\n[fs]\nread = ["@system", "@toolchains", "@repo"]\nwrite = ["@cwd"]\n')
    for part in (".git/hooks", ".git/objects", "beside"):
        refused = world.run("true", options=["--ceiling", ceiling, "--write", top / part], cwd=sub)
        assert refused.status == 125, (part, refused.account())


# Who may have put it there.


def test_a_git_directory_of_somebody_else(world):
    if os.geteuid() != 0:
        return void(NOT_STARTED_BY_ROOT)
    top, sub = repository(world)
    assert sees(world, sub)[0]
    stranger = 64999
    for path in [top / ".git", *(top / ".git").rglob("*")]:
        os.chown(path, stranger, stranger, follow_symlinks=False)
    expect_as_today(world, sub, top)


def test_a_git_entry_that_is_a_symlink(world):
    top, sub = repository(world)
    (top / ".git").rename(world.home / "elsewhere")
    world.link(top / ".git", world.home / "elsewhere")
    expect_as_today(world, sub, top)


def test_a_git_file_that_is_not_named_in_turn(world):
    """Planted, it would have the git directory of another project written."""
    top, sub = repository(world)
    victim = make_repository(world, world.home / "victim")
    (top / ".git").rename(world.home / "aside")
    world.write(top / ".git", f"gitdir: {victim}/.git\n")
    expect_as_today(world, sub, top)
    [answer] = world.inside([("write", victim / ".git/planted")], options=["--read", world.probe], cwd=sub)
    assert not answer.ok, answer


def test_below_the_top_of_a_linked_worktree(world):
    """The same file, as git writes it, is followed as at the top."""
    main, _ = repository(world, "main")
    tree = world.home / "work/tree"
    git(world, "worktree", "add", "-q", str(tree), "-b", "side", cwd=main)
    sub = world.make_directory(tree / "part")
    world.run("sh", "-c", COMMIT, options=IDENTITY_OPTIONS, cwd=sub).expect(0)
    assert git(world, "log", "-1", "--format=%s", cwd=tree).out == "inside\n"
    assert world.run("sh", "-c", f"cat {main}/tracked.txt", cwd=sub).status != 0


def test_a_repository_at_home(world):
    make_repository(world, world.home)
    sub = world.make_directory(world.home / "plain/part")
    world.write(world.home / "private.txt", "private\n")
    expect_as_today(world, sub, world.home)
    assert "private" not in world.run("sh", "-c", f"cat {world.home}/private.txt; true", cwd=sub).out


def test_a_top_that_everybody_may_write_to(world):
    top, sub = repository(world)
    top.chmod(0o777)
    expect_as_today(world, sub, top)
    top.chmod(0o755)
    assert sees(world, sub)[0]


def test_the_nearest_repository_is_meant(world):
    outer, _ = repository(world)
    inner = make_repository(world, outer / "inner")
    sub = world.make_directory(inner / "part")
    found, _ = sees(world, sub)
    assert found
    done = world.run("sh", "-c", f"cat {inner}/tracked.txt; cat {outer}/beside/kept.txt", cwd=sub)
    assert "tracked\n" in done.out and "beside" not in done.out, done.account()
    # One that may not be granted hides what is farther above: a stranger must not choose another top.
    inner.chmod(0o777)
    expect_as_today(world, sub, inner)
    assert "beside" not in world.run("sh", "-c", f"cat {outer}/beside/kept.txt; true", cwd=sub).out


def test_a_directory_that_only_has_the_name_is_passed_over(world):
    """As git does; it must not hide the repository above."""
    top, sub = repository(world)
    world.make_directory(top / "part/.git")
    assert sees(world, sub)[0]


def test_a_bare_repository_above(world):
    make_repository(world, world.home / "model")
    store = world.home / "store.git"
    git(world, "clone", "-q", "--bare", str(world.home / "model"), str(store), cwd=world.home)
    sub = world.make_directory(store / "hooks/sub")
    done, report = world.report("sh", "-c", f"cat {store}/HEAD", cwd=sub)
    assert done.status != 0 and repo_reductions(report) == [], done.account()


def test_inside_of_a_git_directory(world):
    top, _ = repository(world)
    done, report = world.report("sh", "-c", f"cat {top}/tracked.txt", cwd=top / ".git/objects")
    assert "tracked\n" not in done.out and repo_reductions(report) == [], done.account()


def test_the_option_where_there_is_no_repository(world):
    sub = world.make_directory(world.home / "plain")
    for option in ("--read", "--write"):
        refused = world.run("true", options=[option, "@repo"], cwd=sub).expect(125)
        assert "lies in no git repository" in refused.err
    _, report = world.report("true", cwd=sub)
    assert repo_reductions(report) == []


def test_at_the_top_nothing_changes(world):
    top, _ = repository(world)
    done, report = world.report("sh", "-c", "echo x > made && rm made && git status --short", cwd=top)
    assert done.expect(0).out == "?? beside/\n" and report["reductions"] == []
