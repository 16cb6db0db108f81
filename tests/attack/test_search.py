"""The search after a run cannot be led astray: by names, by depth, by number, by closed
directories, by a second run in the same tree, or by what an earlier run left behind."""
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from gitrepo import git, make_repository
from support.harness import wait_until

HOOK = "printf '#!/bin/sh\\ntouch /tmp/evil\\n' > {0}/post-checkout; chmod +x {0}/post-checkout"


def moved_from(report):
    return [entry["path"] for entry in report["handoff"] if entry["moved_to"]]


def started(world, script, *, options=(), cwd=None, name="run"):
    """A run in the background, and where its report will be."""
    target = world.trusted / f"{name}.json"
    argv = [world.cordon, "run", *options, "--report", target, "--", "/bin/sh", "-c", script]
    return world.start(argv, cwd=cwd), target


def ended(process, target):
    out, err = process.communicate(timeout=90)
    assert process.returncode == 0, (out, err)
    return json.loads(target.read_text())


# Nothing is skipped by name.


HIDING = {
    "objects": "{git}/objects/ab/deep",
    "fan-out": "{git}/objects/cd",
    "refs": "{git}/refs/heads/x",
    "logs": "{git}/logs/x",
    "head": "fake/objects/x",
    "conftest": "sub/conftest.py",
    "devcontainer": ".devcontainer",
    "workflows": ".github/workflows/x",
}


@pytest.mark.parametrize("where", HIDING)
def test_no_directory_is_passed_over_for_its_name(world, where):
    make_repository(world)
    place = HIDING[where].format(git=".git")
    script = (f"mkdir -p fake/refs {place}/.vscode {place}/repo; echo ref: x > fake/HEAD; "
              f"echo evil > {place}/.vscode/tasks.json; echo evil > {place}/.mcp.json; "
              f"git init -q {place}/repo; mkdir -p {place}/repo/.git/hooks; "
              + HOOK.format(f"{place}/repo/.git/hooks"))
    done, report = world.report("/bin/sh", "-c", script)
    done.expect(0)
    planted = [world.project / place / name
               for name in (".vscode", ".mcp.json", "repo/.git/hooks/post-checkout")]
    left = [path for path in planted if os.path.lexists(path)]
    assert not left, f"{left}\n{done.report_text}"
    assert len(moved_from(report)) >= 3, done.report_text
    assert (world.project / place / "repo/.git/HEAD").exists(), "the repository itself works"
    world.bare("/bin/sh", "-c", script).expect(0)
    assert all(path.exists() for path in planted), "the control planted nothing"


@pytest.mark.parametrize("made", ["before", "by an earlier run"])
@pytest.mark.parametrize("name", [".vscode/tasks.json", ".exrc"])
def test_what_a_package_may_have_is_taken_where_it_counts(world, name, made):
    """Editor files in a package are only reported. Moved out with the package, they are in a directory that is opened."""
    make = f"mkdir -p $(dirname vendor/a/{name}) && echo mine > vendor/a/{name}"
    (world.bare if made == "before" else world.run)("sh", "-c", make).expect(0)
    assert (world.project / "vendor/a" / name).read_text() == "mine\n"
    move = f"echo planted > vendor/a/{name}; echo reached > vendor/a/ordinary; mv vendor/a app"
    done, report = world.report("sh", "-c", move)
    done.expect(0)
    assert not (world.project / "app" / name).exists(), done.account()
    assert moved_from(report) == [f"app/{name.split('/')[0]}"]
    assert (world.project / "app/ordinary").read_text() == "reached\n"
    world.bare("sh", "-c", f"rm -rf app; {make}; {move}").expect(0)
    assert (world.project / "app" / name).read_text() == "planted\n"


def test_the_storage_of_git_is_left_alone(world):
    """The control: an ordinary commit makes objects, refs and logs, and all of them stay."""
    make_repository(world)
    done, report = world.report("/bin/sh", "-c", "echo x > new.txt && git add . && "
                                "git -c user.name=A -c user.email=a@b commit -qm two")
    done.expect(0)
    assert not moved_from(report), done.report_text
    git(world, "fsck", "--strict")
    assert "two" in git(world, "log", "--oneline").out


# Directories that may be entered and not listed.


@pytest.mark.only("user")
@pytest.mark.parametrize("mode", [0o311, 0o000])
def test_a_directory_that_cannot_be_searched_is_not_written(world, mode):
    place = world.make_directory(world.project / "drop/known")
    world.write(place / ".vscode/tasks.json", "mine\n")
    place.parent.chmod(mode)
    try:
        script = ("chmod 755 drop; echo evil > drop/known/.mcp.json; "
                  "mv drop/known/.vscode drop/known/v; mkdir -p open && echo ok > open/file")
        done, report = world.report("/bin/sh", "-c", script)
        done.expect(0)
        assert (world.project / "open/file").exists(), "another directory can be written"
        assert (world.project / "drop").stat().st_mode & 0o777 == mode
        assert not moved_from(report), done.report_text
    finally:
        place.parent.chmod(0o755)
    assert not (place / ".mcp.json").exists()
    assert (place / ".vscode/tasks.json").read_text() == "mine\n"
    world.bare("/bin/sh", "-c", "echo evil > drop/known/.mcp.json").expect(0)


def test_a_directory_that_a_run_closes_is_searched(world):
    script = ("mkdir -p shut/known/.vscode; echo evil > shut/known/.vscode/tasks.json; "
              "chmod 311 shut; mkdir -p dark/.vscode; chmod 0 dark")
    done, report = world.report("/bin/sh", "-c", script)
    done.expect(0)
    assert (world.project / "shut").stat().st_mode & 0o777 == 0o311, "it is closed again"
    for name in ("shut", "dark"):
        (world.project / name).chmod(0o755)
    assert not (world.project / "shut/known/.vscode").exists(), done.report_text
    assert not (world.project / "dark/.vscode").exists(), done.report_text
    assert len(moved_from(report)) == 2, done.report_text


# Two runs in one tree.


def test_what_an_older_run_planted_is_new_to_the_younger_one(world):
    mine = world.write(world.project / "mine/.mcp.json", "mine\n")
    first = ("echo evil > .mcp.json; ln .mcp.json spare; touch planted; "
             "until [ -e second ]; do sleep 0.05; done; ln spare later; true")
    older, older_report = started(world, first, name="older")
    assert wait_until(lambda: (world.project / "planted").exists())
    second = ("touch second; until [ -e gone ]; do sleep 0.05; done; mv -f later .mcp.json; "
              "ls -la .mcp.json")
    younger, younger_report = started(world, second, name="younger")
    report = ended(older, older_report)
    assert moved_from(report) == [".mcp.json"], report
    world.write(world.project / "gone", "")
    report = ended(younger, younger_report)
    assert not (world.project / ".mcp.json").exists(), report
    assert moved_from(report) == [".mcp.json"], report
    assert mine.read_text() == "mine\n"


def test_three_runs_reach_back_to_the_oldest(world):
    """The one in the middle has ended, and with it its note."""
    first = ("echo evil > .mcp.json; ln .mcp.json a; ln a b; touch one; "
             "until [ -e three ]; do sleep 0.05; done; ln b c; true")
    older, _ = started(world, first, name="one")
    assert wait_until(lambda: (world.project / "one").exists(), 30)
    middle, _ = started(world, "touch two; until [ -e end2 ]; do sleep 0.05; done", name="two")
    assert wait_until(lambda: (world.project / "two").exists(), 30)
    last, report = started(world, "touch three; until [ -e end3 ]; do sleep 0.05; done; "
                                  "mv -f c .mcp.json", name="three")
    older.communicate(timeout=60)
    world.write(world.project / "end2", "")
    middle.communicate(timeout=60)
    world.write(world.project / "end3", "")
    found = ended(last, report)
    assert not (world.project / ".mcp.json").exists(), found


# Depth and number.


def peak_of(process):
    """The most memory Cordon itself had, in KiB, as far as it could be looked at."""
    peak = 0
    while process.poll() is None:
        try:
            text = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        if "Name:\tcordon" in text and "VmHWM" in text:
            peak = int(text.split("VmHWM:")[1].split()[0])
        time.sleep(0.004)
    return peak


# ./test takes a part of each, ./test --all the whole.
LEVELS = int(os.environ.get("CORDON_SEARCH_LEVELS", "1200"))
NAMES = int(os.environ.get("CORDON_SEARCH_NAMES", "5000"))

DEEP = f"""
import os
for level in range({LEVELS}):
    os.mkdir(".vscode")
    if level % 40 == 0:
        os.makedirs(".git/hooks"); os.mkdir(".git/objects"); os.mkdir(".git/refs")
        open(".git/HEAD", "w").write("ref: refs/heads/main\\n")
        open(".git/hooks/post-checkout", "w").write("evil")
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
"""


def test_depth_costs_no_memory_and_hides_nothing(world):
    """A path of up to a megabyte, with a protected name on every level and a hook on every fortieth."""
    script = world.write(world.project / "deep.py", DEEP)
    target = world.trusted / "deep.json"
    process = world.start([world.cordon, "run", "--report", target, "--",
                           "/usr/bin/python3", script], stderr=subprocess.DEVNULL)
    peak = peak_of(process)
    assert process.wait(timeout=120) == 0
    assert 0 < peak < 64 * 1024, f"{peak} KiB"
    report = json.loads(target.read_text())
    assert len(report["handoff"]) <= 1002 and target.stat().st_size < 16 << 20
    last = report["handoff"][-1]
    assert last["kind"] == "not listed"
    taken = os.listdir(last["moved_to"])
    assert sum(".vscode" in name for name in taken) == LEVELS
    assert sum("hooks" in name for name in taken) == len(range(0, LEVELS, 40))
    process = world.start([world.cordon, "run", "--", "touch", "next"], stderr=subprocess.DEVNULL)
    peak = peak_of(process)
    assert process.wait(timeout=60) == 0
    assert peak < 64 * 1024
    assert (world.project / "next").exists()


def test_number_costs_no_memory_and_every_file_is_taken(world):
    script = world.write(world.project / "many.py", "import os\nos.mkdir('many')\n"
                         f"for i in range({NAMES}):\n    os.close(os.open(f'many/{{i}}.key', 65))\n")
    target = world.trusted / "many.json"
    process = world.start([world.cordon, "run", "--deny", "*.key", "--report", target, "--",
                           "/usr/bin/python3", script])
    peak = peak_of(process)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err[-2000:]
    assert 0 < peak < 64 * 1024, f"{peak} KiB"
    assert err.count(b"\n") < 100, "what is printed is bounded too"
    assert not list((world.project / "many").iterdir())
    report = json.loads(target.read_text())
    assert len(report["handoff"]) == 1001
    last = report["handoff"][-1]
    assert last["path"] == f"and {NAMES - 1000} more" and len(os.listdir(last["moved_to"])) == NAMES


def test_a_search_works_with_few_open_files(world):
    """Fewer, and the run is refused by name: making the sandbox needs them."""
    script = "p=.; for i in $(seq 200); do p=$p/d; done; mkdir -p $p/.vscode"
    done = world.execute(["/bin/sh", "-c", 'ulimit -n 110; exec "$@"', "sh", world.cordon, "run",
                          "--", "/bin/sh", "-c", script])
    done.expect(0)
    assert "moved out of the tree" in done.err, done.account()
    assert not world.bare("find", ".", "-name", ".vscode").out


# Roots.


def test_a_root_that_another_run_renames_is_searched_where_it_is(world):
    world.make_directory(world.project / "sub")
    outer, _ = started(world, "touch ready; until [ -e sub/inner ]; do sleep 0.05; done; "
                              "mv sub elsewhere; mkdir sub; touch elsewhere/renamed; "
                              "until [ -e end ]; do sleep 0.05; done", name="outer")
    assert wait_until(lambda: (world.project / "ready").exists(), 30)
    inner, target = started(world, "touch inner; until [ -e renamed ]; do sleep 0.05; done; "
                                   "mkdir .vscode; echo evil > .mcp.json",
                            cwd=world.project / "sub", name="inner")
    report = ended(inner, target)
    assert not (world.project / "elsewhere/.vscode").exists(), report
    assert not (world.project / "elsewhere/.mcp.json").exists(), report
    unchecked = [entry for entry in report["handoff"] if entry["kind"].startswith("unchecked")]
    assert len(unchecked) == 1 and "another directory" in unchecked[0]["kind"], report
    world.write(world.project / "end", "")
    outer.communicate(timeout=60)


def test_the_root_of_a_living_run_is_not_renamed_by_a_younger_one(world):
    world.make_directory(world.project / "way/sub")
    world.make_directory(world.project / "other")
    inner, target = started(world, "touch inner; until [ -e end ]; do sleep 0.05; done",
                            cwd=world.project / "way/sub", name="inner")
    assert wait_until(lambda: (world.project / "way/sub/inner").exists(), 30)
    sub, way, other = world.inside([
        ("rename", world.project / "way/sub", world.project / "way/moved"),
        ("rename", world.project / "way", world.project / "moved"),
        ("rename", world.project / "other", world.project / "free")])
    assert (sub.errno, way.errno) == ("EBUSY", "EBUSY"), (sub, way)
    assert other.ok, "another directory can be renamed"
    world.write(world.project / "way/sub/end", "")
    ended(inner, target)
    [control] = world.inside([("rename", world.project / "way/sub", world.project / "moved")])
    assert control.ok, "nobody works there any more"


INSIDE = [".claude/commands", ".cursor/rules", ".vscode/deep/er", ".git/modules/M",
          ".git/rebase-merge", "bare.git/refs"]


@pytest.mark.parametrize("place", INSIDE)
def test_a_grant_inside_a_protected_place_is_refused(world, place):
    make_repository(world)
    git(world, "init", "-q", "--bare", "bare.git")
    world.make_directory(world.project / place)
    if place.endswith("/M"):
        git(world, "init", "-q", "--bare", place)
    done = world.run("touch", f"{place}/x", options=["--write", place])
    done.expect(125)
    assert "never more than readable" in done.err or "git directory" in done.err, done.account()
    assert "hint:" in done.err
    assert not (world.project / place / "x").exists()
    world.make_directory(world.project / "plain/commands")
    world.run("touch", "plain/commands/x", options=["--write", "plain/commands"]).expect(0)


@pytest.mark.parametrize("place", [".claude/commands", ".cursor/rules"])
def test_a_run_that_starts_inside_a_protected_place_changes_nothing(world, place):
    inside = world.make_directory(world.project / place)
    done, report = world.report("touch", "x", cwd=inside)
    assert done.status == 1 and not (inside / "x").exists(), done.account()
    assert [entry["what"] for entry in report["reductions"]] == ["write"], done.report_text


def test_a_worktree_inside_its_bare_repository_is_a_project(world):
    source = make_repository(world, world.home / "source")
    git(world, "clone", "-q", "--bare", source, world.home / "all.git", cwd=world.home)
    git(world, "worktree", "add", "-q", "main2", "-b", "main2", cwd=world.home / "all.git")
    world.run("touch", "x", cwd=world.home / "all.git/main2").expect(0)
    assert (world.home / "all.git/main2/x").exists()


# Denies.


def test_a_pattern_keeps_the_directories_it_names(world):
    secret = world.write(world.project / "svc/conf/a.key", "SECRET\n")
    options = ["--deny", "**/conf/*.key"]
    conf, svc = world.inside([("rename", secret.parent, world.project / "svc/c"),
                              ("rename", world.project / "svc", world.project / "service")],
                             options=options)
    assert conf.errno == "EBUSY", conf
    assert svc.ok, "the pattern matches there as well"
    secret = world.project / "service/conf/a.key"
    done = world.run("cat", secret, options=options)
    assert done.status == 1 and "SECRET" not in done.out
    world.run("cat", secret).expect(0)


def test_a_pattern_counts_from_the_top(world):
    secret = world.write(world.project / "conf/a.key", "SECRET\n")
    # The second denies what is granted, and so the grant.
    for deny, status in (("**/conf/*.key", 1), ("**/conf", 125)):
        done = world.run("cat", secret, options=["--policy", "readonly", "--read", secret.parent,
                                                 "--deny", deny], cwd=world.outside)
        assert "SECRET" not in done.expect(status).out, done.account()
    world.run("cat", secret, options=["--policy", "readonly", "--read", secret.parent],
              cwd=world.outside).expect(0)


def test_what_lies_in_a_hidden_root_did_not_appear(world):
    mine = world.write(world.home / "data/.vscode/tasks.json", "mine\n")
    policy = world.document('version = 1\nextends = "workspace"\n[fs]\n'
                            f'write = ["@cwd", "{mine.parent.parent}"]\n'
                            f'deny = ["{mine.parent.parent}"]\n')
    done, report = world.report("touch", "x", options=["--policy", policy])
    done.expect(0)
    assert not report["handoff"], done.report_text
    assert mine.read_text() == "mine\n"


# Notes.


def runs_of(world):
    return world.home / ".local/state/cordon/runs"


def dead_note(world, run_id, project, **more):
    note = {"run_id": run_id, "pid": 1, "cgroups": [], "writable": [str(project)], "deny": [],
            "snapshot": [], **more}
    path = world.write(runs_of(world) / run_id, json.dumps(note), 0o600)
    # A note without a process is of a run that was killed while it was launched, if it is a moment old.
    os.utime(path, (time.time() - 60, time.time() - 60))
    return path


def test_a_note_that_cannot_be_read_is_kept_and_stops_nothing(world):
    world.run("true").expect(0)
    broken = world.write(runs_of(world) / "0000000000000001", '{"run_id": "x', 0o600)
    planted = world.write(world.project / "old/.vscode/tasks.json", "evil\n")
    dead = dead_note(world, "0000000000000002", world.project / "old")
    done, report = world.report("true")
    done.expect(0)
    assert broken.exists() and not dead.exists()
    assert not planted.exists(), done.report_text
    assert any("cannot be read" in entry["kind"] for entry in report["handoff"]), done.report_text


def test_a_note_of_any_size_is_read(world):
    """More than a document of Cordon's may have."""
    world.run("true").expect(0)
    planted = world.write(world.project / "old/.vscode/tasks.json", "evil\n")
    dead = dead_note(world, "0000000000000002", world.project / "old",
                     snapshot=[f"loose:1:{n}:r:{n}" for n in range(100000)])
    assert dead.stat().st_size > 2 << 20
    done, report = world.report("true")
    done.expect(0)
    assert not planted.exists() and not dead.exists(), done.report_text


def test_a_recovery_that_ended_cordon_does_not_end_every_start(world):
    """The name of the note counts the attempts."""
    world.run("true").expect(0)
    planted = world.write(world.home / "old/.vscode/tasks.json", "evil\n")
    dead = dead_note(world, "0000000000000002", world.home / "old")
    dead = dead.rename(dead.with_name("0000000000000002~2"))
    done, report = world.report("true")
    done.expect(0)
    assert dead.exists() and planted.exists()
    assert any("cut off twice" in entry["kind"] for entry in report["handoff"]), done.report_text
    dead = dead.rename(dead.with_name("0000000000000002~1"))
    world.run("true").expect(0)
    assert not dead.exists() and not planted.exists(), "the second attempt is made"


def test_a_recovered_root_is_known_by_identity(world):
    world.run("true").expect(0)
    mine = world.write(world.project / "old/.vscode/tasks.json", "mine\n")
    status = (world.project / "old").stat()
    wrong = [[str(world.project / "old"), str(status.st_dev), str(status.st_ino + 1), "0"]]
    dead = dead_note(world, "0000000000000002", world.project / "old", roots=wrong)
    done, report = world.report("true")
    done.expect(0)
    assert mine.read_text() == "mine\n" and not dead.exists()
    assert any("another directory" in entry["kind"] for entry in report["handoff"])
    right = [[str(world.project / "old"), str(status.st_dev), str(status.st_ino), "0"]]
    dead_note(world, "0000000000000002", world.project / "old", roots=right)
    world.run("true").expect(0)
    assert not mine.exists(), "the control"


# What the person does outside.


def meanwhile(world, script, work, *, options=()):
    """`work` is done outside while the script waits inside for it."""
    process, target = started(world, f"touch ready; until [ -e go ]; do sleep 0.05; done; {script}",
                              options=options)
    assert wait_until(lambda: (world.project / "ready").exists(), 30)
    work()
    world.write(world.project / "go", "")
    return ended(process, target)


def test_a_worktree_that_the_person_adds_meanwhile_stays(world):
    make_repository(world)
    beside = world.home / "beside"
    report = meanwhile(world, "true", lambda: git(world, "worktree", "add", "-q", beside))
    assert not moved_from(report), report
    assert "beside" in git(world, "worktree", "list").out
    git(world, "status", cwd=beside)


def test_a_worktree_that_the_run_makes_up_goes(world):
    make_repository(world)
    script = ("mkdir -p .git/worktrees/w; echo ../.. > .git/worktrees/w/commondir; "
              "echo ref: refs/heads/main > .git/worktrees/w/HEAD; "
              f"echo {world.outside}/.git > .git/worktrees/w/gitdir")
    _, report = world.report("/bin/sh", "-c", script)
    assert moved_from(report) == [".git/worktrees/w"], report
    assert not (world.project / ".git/worktrees/w").exists()


@pytest.mark.parametrize("times", [1, 2, 3])
def test_settings_that_the_person_changes_meanwhile_stay(world, times):
    make_repository(world)
    git(world, "config", "core.editor", "vi -e")
    git(world, "config", "alias.st", "status")

    def work():
        for number in range(times):
            git(world, "config", "user.name", f"name {number}")

    report = meanwhile(world, "true", work)
    assert not moved_from(report), report
    for key, value in (("user.name", f"name {times - 1}"), ("core.editor", "vi -e"),
                       ("alias.st", "status")):
        assert git(world, "config", key).out.strip() == value


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_run_does_not_hide_its_settings_behind_those_of_the_person(world, times):
    """A file that is replaced outside loses its mount, and an inode number is used again."""
    make_repository(world)
    git(world, "config", "core.editor", "vi -e")

    def work():
        for number in range(times):
            git(world, "config", "user.name", f"name {number}")

    report = meanwhile(world, "printf '[core]\\n\\tfsmonitor = evil\\n' >> .git/config", work)
    text = (world.project / ".git/config").read_text()
    assert "evil" not in text, report
    assert f"name {times - 1}" in text and "vi -e" in text, "and the person's own are there"


def test_an_editor_outside_and_a_run_are_not_told_apart(world):
    """Whoever made it, it would run: it is held back, kept, and named."""
    report = meanwhile(world, "true", lambda: world.write(
        world.project / ".vscode/tasks.json", "mine\n"))
    [entry] = [entry for entry in report["handoff"] if entry["moved_to"]]
    assert entry["path"] == ".vscode"
    assert Path(entry["moved_to"], "tasks.json").read_text() == "mine\n"


def test_what_the_person_writes_into_a_held_directory_stays(world):
    held = world.write(world.project / ".vscode/tasks.json", "before\n")

    def work():
        fresh = world.write(held.with_name("new"), "after\n")
        fresh.rename(held)
        world.write(held.with_name("launch.json"), "new\n")

    report = meanwhile(world, "echo evil > .vscode/launch.json; rm -rf .vscode; true", work)
    assert not moved_from(report), report
    assert held.read_text() == "after\n"
    assert held.with_name("launch.json").read_text() == "new\n"


# Across file systems.


@pytest.mark.only("root")
def test_a_huge_file_of_another_file_system_is_not_copied(world):
    """A namespace of the test's own, with a small file system in the project."""
    other = world.make_directory(world.project / "other")
    script = ("truncate -s 1T .bashrc; mkdir .vscode; "
              "head -c 300000000 /dev/zero > .vscode/big; echo small > .mcp.json")
    inner = (f"mount -t tmpfs -o size=600m tmpfs {other} && cd {other} && "
             f"{world.cordon} run --report {world.trusted}/x.json -- sh -c '{script}'; "
             f"ls -A {other}; du -sk {world.home}/.local/state/cordon/handoff")
    done = world.execute(["unshare", "-m", "sh", "-c", inner], timeout=120)
    done.expect(0)
    report = json.loads((world.trusted / "x.json").read_text())
    places = {Path(entry["path"]).name: entry["moved_to"] for entry in report["handoff"]}
    assert places[".vscode"].startswith(f"{other}/cordon-handoff-"), report
    assert "handoff/" in places[".bashrc"] and "handoff/" in places[".mcp.json"], report
    assert Path(places[".bashrc"]).stat().st_size == 1 << 40
    lines = done.out.split("\n")
    assert ".vscode" not in lines and ".bashrc" not in lines and ".mcp.json" not in lines
    assert int(lines[-2].split()[0]) < 1024, "holes are not filled"
    shutil.rmtree(world.home / ".local/state/cordon/handoff")
