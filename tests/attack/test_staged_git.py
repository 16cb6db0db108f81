"""Commits made in a stage: they arrive as a checked pack and by the names that lead to them, or are
named with the line that merges them; nothing else of what a run wrote below .git arrives."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest

from gitrepo import IDENTITY, git, make_repository

# Git works in sandboxes of its own, whoever starts it.
pytestmark = pytest.mark.once

AS_A = "export " + " ".join(f"{name}={value}" for name, value in IDENTITY.items()) + "; "


def staged(world, script, mode="auto", status=0, **how):
    done, report = world.report("/bin/sh", "-ec", AS_A + script, options=[f"--stage={mode}"],
                                timeout=120, **how)
    done.expect(status)
    assert report["error"] is None, done.account()
    return done, report


def changes(world, *words, status=0, **how):
    return world.cordon_verb("changes", *words, timeout=120, **how).expect(status)


def states(report):
    return {one["path"]: one["state"] for one in report["changes"]}


def reasons(report):
    return {one["path"]: one["reason"] for one in report["changes"]}


def out(world, *words, cwd=None):
    return git(world, *words, cwd=cwd or world.project).out.strip()


def is_clean(world):
    status = out(world, "status", "--porcelain")
    if status:
        return False
    out(world, "fsck", "--strict")
    return True


def repository(world):
    """A repository in which everything that is there is tracked or ignored."""
    made = make_repository(world)
    git(world, "add", "-A", cwd=made)
    git(world, "commit", "-q", "-m", "all of it", cwd=made)
    is_clean(world)
    return made


def picture(world):
    """What the person's git says, and what lies in the work tree."""
    place = world.project
    files = {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*")
             if path.is_file() and ".git" not in path.relative_to(place).parts}
    heads = out(world, "for-each-ref", "refs/heads", "refs/tags")
    return files, heads, out(world, "symbolic-ref", "-q", "HEAD"), out(world, "status", "--porcelain")


def own_files(world):
    return [str(path) for path in (world.project / ".git").rglob("*")
            if ".cordon-" in path.name or path.suffix == ".lock"]


COMMIT = "echo more >> tracked.txt; mkdir d; echo new > d/new; git add -A; git commit -q -m second; "


def test_a_commit_leaves_a_clean_status(world):
    repository(world)
    before = picture(world)
    done, report = staged(world, COMMIT + "git rev-parse HEAD")
    assert out(world, "rev-parse", "HEAD") == done.out.strip()
    assert is_clean(world)
    assert (world.project / "d/new").read_text() == "new\n"
    assert states(report)[".git/refs/heads/main"] == "applied"
    assert states(report)[".git/index"] == "applied"
    assert states(report)[".git/logs"] == "lost"
    assert f"cordon: run {report['run_id']}" in out(world, "reflog", "-1")
    assert own_files(world) == []
    owner = (world.project / ".git").stat().st_uid
    assert all(path.lstat().st_uid == owner for path in (world.project / ".git").rglob("*"))
    # And back, and once more.
    after = picture(world)
    back = changes(world, "restore")
    assert picture(world) == before and is_clean(world) is True
    again = changes(world, "apply")
    assert picture(world) == after
    # The branch, the index, and what lies in the work tree: a person who counts misses none.
    assert "applied 5 changes of run" in again.err and "restored 5 changes of run" in back.err, (back.err, again.err)
    # On top of it the person goes on as ever.
    git(world, "commit", "-q", "--allow-empty", "-m", "mine", cwd=world.project)
    git(world, "gc", "-q", cwd=world.project)


def test_a_review_is_applied_by_the_person(world):
    repository(world)
    before = picture(world)
    done, report = staged(world, COMMIT + "echo later >> d/new; echo x > untracked", mode="review")
    assert picture(world) == before
    assert states(report)[".git/refs/heads/main"] == "held"
    changes(world, "apply")
    assert out(world, "status", "--porcelain").splitlines() == ["M d/new", "?? untracked"]
    assert out(world, "diff", "--name-only") == "d/new"
    assert out(world, "log", "-1", "--format=%s") == "second"
    assert (world.project / "d/new").read_text() == "new\nlater\n"


def test_by_its_name_it_comes_with_the_files(world):
    repository(world)
    _, report = staged(world, COMMIT + "echo x > untracked", mode="review")
    changes(world, "apply", report["run_id"], ".git")
    assert is_clean(world)
    assert not (world.project / "untracked").exists()
    assert out(world, "log", "-1", "--format=%s") == "second"


@pytest.mark.parametrize("case", ["branch", "existing", "tag", "amend", "merge", "rename", "first",
                                  "packed", "detached", "orderly gc"])
def test_what_git_does_every_day_arrives(world, case):
    repository(world)
    git(world, "checkout", "-q", "-b", "other", cwd=world.project)
    world.write(world.project / "other.txt", "other\n")
    git(world, "add", "-A", cwd=world.project)
    git(world, "commit", "-q", "-m", "other", cwd=world.project)
    git(world, "checkout", "-q", "main", cwd=world.project)
    if case == "detached":
        git(world, "checkout", "-q", "--detach", cwd=world.project)
    if case == "first":
        world.bare("rm", "-rf", ".git").expect(0)
        git(world, "init", "-q", "-b", "main", ".", cwd=world.project)
    if case == "packed":
        git(world, "pack-refs", "--all", cwd=world.project)
    scripts = {
        "branch": "git checkout -q -b feature/x; " + COMMIT,
        "existing": "git checkout -q other; " + COMMIT,
        "tag": COMMIT + "git tag v1; git tag -a -m annotated v2",
        "amend": COMMIT + "echo x >> d/new; git commit -q -a --amend -m amended",
        "merge": COMMIT + "git merge -q -m merged other",
        "rename": "git mv tracked.txt moved.txt; git commit -q -m moved; git branch -m other renamed",
        "first": COMMIT, "packed": COMMIT + "git pack-refs --all", "detached": COMMIT,
        "orderly gc": COMMIT + "git gc -q --prune=now; git repack -q -a -d"}
    show = "\ngit rev-parse HEAD; git symbolic-ref -q HEAD || true; git for-each-ref refs/heads refs/tags"
    done, report = staged(world, scripts[case] + show)
    told = done.out.splitlines()
    now = out(world, "rev-parse", "HEAD").splitlines()
    symbolic = world.bare("git", "symbolic-ref", "-q", "HEAD").out.splitlines()
    refs = out(world, "for-each-ref", "refs/heads", "refs/tags").splitlines()
    if case == "rename":
        # The old name stays, and is told.
        assert "other" in done.err and "git branch -D" in done.err
        refs = [line for line in refs if not line.endswith("refs/heads/other")]
    assert told == now + symbolic + refs, done.account()
    assert is_clean(world), done.account()
    if case == "tag":
        assert out(world, "cat-file", "-t", "v2") == "tag"


def host_commits(world, name="host.txt"):
    world.write(world.project / name, "host\n")
    git(world, "add", name, cwd=world.project)
    git(world, "commit", "-q", "-m", "host", cwd=world.project)


def merge_line(done, run):
    """The line that is told, typed by the person."""
    [line] = set(re.findall(r"git merge refs/cordon/" + run, done.err))
    return line


def test_what_the_host_moved_is_merged_by_the_line_that_is_told(world):
    repository(world)
    done, report = staged(world, COMMIT + "echo x > untracked", mode="review")
    host_commits(world)
    before = picture(world)
    done = changes(world, "apply", status=1)
    line = merge_line(done, report["run_id"])
    files, heads, head, status = picture(world)
    assert (heads, head) == (before[1], before[2]) and status == "?? untracked"
    assert not (world.project / "d").exists()
    listed = changes(world, "list", "--json").json
    assert states(listed)[".git/refs/heads/main"] == "conflict"
    assert "git merge" in reasons(listed)["d/new"]
    world.bare("/bin/sh", "-c", AS_A + line + " -m merged").expect(0)
    assert (world.project / "d/new").read_text() == "new\n"
    assert (world.project / "host.txt").exists()
    assert out(world, "status", "--porcelain") == "?? untracked"


def test_the_same_during_an_automatic_run(world):
    repository(world)
    process = world.start([world.cordon, "run", "--stage", "--", "/bin/sh", "-ec",
                           AS_A + COMMIT + "echo ready; read line"], stdin=-1)
    assert process.stdout.readline() == b"ready\n"
    host_commits(world)
    _, errors = process.communicate(b"go\n", timeout=120)
    [line] = set(re.findall(r"git merge refs/cordon/\w+", errors.decode()))
    assert is_clean(world) and out(world, "log", "-1", "--format=%s") == "host"
    world.bare("/bin/sh", "-c", AS_A + line + " -m merged").expect(0)
    assert is_clean(world) and (world.project / "d/new").exists()


@pytest.mark.parametrize("case", ["file", "index", "switched", "merging", "worktree"])
def test_what_the_work_tree_cannot_follow_does_not_move(world, case):
    repository(world)
    git(world, "branch", "other", cwd=world.project)
    _, report = staged(world, COMMIT, mode="review")
    if case == "file":
        world.write(world.project / "tracked.txt", "mine\n")
    elif case == "index":
        world.write(world.project / "tracked.txt", "staged\n")
        git(world, "add", "tracked.txt", cwd=world.project)
        world.write(world.project / "tracked.txt", "tracked\n")
    elif case == "switched":
        git(world, "checkout", "-q", "other", cwd=world.project)
    elif case == "merging":
        world.write(world.project / ".git/MERGE_HEAD", out(world, "rev-parse", "other") + "\n")
    elif case == "worktree":
        git(world, "checkout", "-q", "other", cwd=world.project)
        git(world, "worktree", "add", "-q", str(world.home / "linked"), "main", cwd=world.project)
    before = picture(world)
    done = changes(world, "apply", status=1)
    assert f"refs/cordon/{report['run_id']}" in done.err, done.account()
    assert picture(world) == before, done.account()
    assert out(world, "log", "-1", "--format=%s", f"refs/cordon/{report['run_id']}") == "second"
    if case == "file":
        assert "tracked.txt" in done.err
        # The person decides for the run's version; the next apply takes all of it.
        git(world, "checkout", "-q", "tracked.txt", cwd=world.project)
        done = world.cordon_verb("changes", "apply", timeout=120)
        world.bare("/bin/sh", "-c", f"git merge -q refs/cordon/{report['run_id']}").expect(0)
        assert is_clean(world)


PROTECTED = {
    "editor": "mkdir .vscode; echo '{}' > .vscode/tasks.json",
    "attributes": "echo '* filter=evil' > .gitattributes",
    "modules": "printf '[submodule \"x\"]\\n\\tpath=x\\n\\turl=ext::sh\\n' > .gitmodules",
    "gitlink": "mkdir sub; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub",
    "link": "ln -s ../outside/secret out",
    "absolute link": "ln -s /etc/passwd out",
    "agent": "mkdir .claude; echo '{}' > .claude/settings.json",
    "below": "mkdir -p a/b/.vscode; echo '{}' > a/b/.vscode/tasks.json",
}


@pytest.mark.parametrize("case, how", [*((case, "main") for case in PROTECTED), ("editor", "branch"),
                                       ("editor", "tag"), ("link", "branch")])
def test_nothing_moves_with_a_protected_path_in_it(world, case, how):
    repository(world)
    before = picture(world)
    begin = {"main": "", "branch": "git branch feature; git checkout -q feature; ",
             "tag": "git checkout -q --detach; "}[how]
    end = {"main": "", "branch": "", "tag": "; git tag v1; git checkout -q main"}[how]
    done, report = staged(world, f"{begin}echo x > plain.txt; {PROTECTED[case]}; git add -A; "
                                 f"git commit -q -m evil{end}")
    files, heads, head, status = picture(world)
    assert "protected" in done.err and f"refs/cordon/{report['run_id']}" in done.err, done.account()
    assert (heads, head) == (before[1], before[2]), done.account()
    if how != "tag":
        assert (files, status) == (before[0], before[3]), done.account()
    name = {"editor": ".vscode", "attributes": ".gitattributes", "modules": ".gitmodules",
            "gitlink": "sub", "link": "out", "absolute link": "out", "agent": ".claude",
            "below": "a/b/.vscode"}[case]
    # The directory of a submodule is empty, and git does not see it.
    assert case == "gitlink" or not os.path.lexists(world.project / name)
    assert name in done.err
    assert out(world, "log", "-1", "--format=%s", f"refs/cordon/{report['run_id']}") == "evil"
    changes(world, "apply", status=1)
    assert picture(world)[1:3] == before[1:3]
    assert case == "gitlink" or not os.path.lexists(world.project / name)


def test_the_control_of_those(world):
    repository(world)
    staged(world, "echo x > plain.txt; ln -s plain.txt link; git add -A; git commit -q -m good")
    assert is_clean(world) and os.readlink(world.project / "link") == "plain.txt"


# Trees that no git would write by itself, made of bytes.
WRITE_TREE = r"""
import hashlib, os, sys, zlib
def put(kind, data):
    raw = kind.encode() + b" %d\0" % len(data) + data
    name = hashlib.sha1(raw).hexdigest()
    os.makedirs(".git/objects/" + name[:2], exist_ok=True)
    path = ".git/objects/" + name[:2] + "/" + name[2:]
    if not os.path.exists(path):
        open(path, "wb").write(zlib.compress(raw))
    return name
names = [n.encode() for n in sys.argv[1].split("/")]
blob = put("blob", b"evil\n")
head = open(".git/refs/heads/main").read().strip()
below, mode = blob, b"100644"
for n in reversed(names):
    below, mode = put("tree", mode + b" " + n + b"\0" + bytes.fromhex(below)), b"40000"
text = "tree %s\nparent %s\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nevil\n" % (below, head)
open(".git/refs/heads/main", "w").write(put("commit", text.encode()) + "\n")
"""


@pytest.mark.parametrize("path", [".git/hooks", ".GIT/hooks", "../up", "./x", "a/.git/config",
                                  "git~1/hooks", ".g\u200cit/x"])
def test_trees_that_no_checkout_should_see_do_not_arrive(world, path):
    repository(world)
    before = picture(world)
    world.write(world.project / "make.py", WRITE_TREE)
    before = picture(world)
    done, report = staged(world, f"python3 make.py {shlex.quote(path)}")
    assert picture(world) == before, done.account()
    assert states(report)[".git/refs/heads/main"] == "held"
    assert "not applied" in done.err or "held back" in done.err
    if not path.startswith("./"):
        assert world.bare("git", "rev-parse", "-q", "--verify",
                          f"refs/cordon/{report['run_id']}").status != 0
    if path == ".git/hooks":
        # The control: a tree of the same making with a plain name arrives.
        staged(world, "python3 make.py plain/file; git reset -q --hard")
        assert out(world, "ls-tree", "-r", "--name-only", "HEAD") == "plain/file"


HOSTILE = {
    "alternates": "mkdir -p .git/objects/info; echo /etc > .git/objects/info/alternates",
    "replace": "git replace HEAD~1 HEAD",
    "graft": "mkdir -p .git/info; git rev-parse HEAD > .git/info/grafts",
    "config": "printf '[core]\\n\\tfsmonitor = touch MARK\\n\\thooksPath = .\\n[filter \"x\"]\\n"
              "\\tclean = touch MARK\\n\\tsmudge = touch MARK\\n' >> .git/config",
    "hooks": "for h in reference-transaction post-checkout post-commit post-index-change; do "
             "printf '#!/bin/sh\\ntouch MARK\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done",
    "commit graph": "git commit-graph write --reachable; rm -f .git/objects/info/commit-graph; printf junk > .git/objects/info/commit-graph",
    "broken pack": "git repack -q -a; for f in .git/objects/pack/*.pack; do chmod 644 $f; "
                   "cp $f $f.x; printf broken | dd of=$f conv=notrunc seek=40 bs=1 2>/dev/null; done",
    "fifo object": "mkdir -p .git/objects/ff; mkfifo .git/objects/ff/" + "0" * 38,
    "closed": "chmod 0 .git/objects/??",
    "promisor": "git repack -q -a -d; for f in .git/objects/pack/*.pack; do : > ${f%.pack}.promisor; done",
    "shallow": "git rev-parse HEAD > .git/shallow",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_repository_runs_nothing_and_lies_about_nothing(world, case):
    repository(world)
    marker = world.home / "ran"
    before = {path: path.read_bytes() for name in ("config", "hooks", "info")
              for path in sorted((world.project / ".git" / name).rglob("*")) + [world.project / ".git" / name]
              if path.is_file()}
    script = COMMIT + "git rev-parse HEAD; " + HOSTILE[case].replace("MARK", str(marker))
    done, report = staged(world, script)
    assert {path: path.read_bytes() for path in before} == before
    assert not (world.project / ".git/objects/info/alternates").exists()
    assert not (world.project / ".git/shallow").exists()
    state = states(report)[".git/refs/heads/main"]
    if state == "applied":
        assert out(world, "rev-parse", "HEAD") == done.out.splitlines()[0]
        assert is_clean(world)
    else:
        # Then it is told, and the work tree is there to be committed.
        assert case in ("broken pack", "fifo object"), done.account()
        assert "cannot be taken over" in done.err, done.account()
        assert out(world, "log", "-1", "--format=%s") == "all of it"
    if case in ("config", "hooks"):
        assert state == "applied"
        assert f".git/{case}" in done.err
        assert any(path.startswith(f".git/{case}") for path in states(report))
    assert out(world, "fsck") == "" or "dangling" in out(world, "fsck")
    git(world, "commit", "-q", "--allow-empty", "-m", "mine", cwd=world.project)
    assert not marker.exists()


BAD_NAMES = ["-x", "a..b", "x.lock", "sp ace", ".dot", "a@{b", "HEAD", "t~1", "esc\x1b[2J", "new\nline"]
BAD_VALUES = ["abc", "0" * 39, "0" * 41, "ref: refs/heads/main", "Z" * 40, "../../../etc/passwd", ""]
WRITE_REFS = """
import json, os, sys
for name, value in json.load(sys.stdin).items():
    with open(os.path.join(".git/refs/heads", name), "w") as file:
        file.write(value + "\\n")
"""


def test_names_and_values_that_are_none_do_not_arrive(world):
    repository(world)
    before = picture(world)
    tip = out(world, "rev-parse", "HEAD")
    refs = {name: tip for name in BAD_NAMES} | {f"v{i}": value for i, value in enumerate(BAD_VALUES)}
    # The control is among them.
    refs["good"] = tip
    done, report = staged(world, f"python3 -c {shlex.quote(WRITE_REFS)}", input=json.dumps(refs))
    assert "\x1b" not in done.err
    told = states(report)
    assert told.pop(".git/refs/heads/good") == "applied"
    assert set(told.values()) == {"held"} and len(told) == len(refs) - 2, told  # a lock is no ref
    heads = out(world, "for-each-ref", "refs/heads", "refs/tags").splitlines()
    assert [line for line in heads if not line.endswith("/good")] == before[1].splitlines()


def test_an_object_that_is_not_there_does_not_arrive(world):
    repository(world)
    before = picture(world)
    done, report = staged(world, "printf '%040d\\n' 7 > .git/refs/heads/main; echo x > plain")
    assert picture(world)[1:3] == before[1:3]
    assert "cannot be taken over" in done.err, done.account()
    assert f"cordon changes apply {report['run_id']}" in done.err
    assert (world.project / "plain").exists()


def test_what_does_not_arrive_is_named_with_what_to_do(world):
    repository(world)
    script = ("git config alias.x y; echo x > .git/hooks/pre-push; echo more >> tracked.txt; git stash -q; "
              "git update-ref refs/remotes/origin/main HEAD; git update-ref refs/notes/x HEAD; "
              "echo y > staged; git add staged; git rev-parse HEAD > .git/MERGE_HEAD; echo z >> .git/info/exclude")
    done, report = staged(world, script)
    told = reasons(report)
    for name in (".git/config", ".git/hooks/pre-push", ".git/refs/stash", ".git/index",
                 ".git/refs/remotes/origin/main", ".git/refs/notes/x", ".git/MERGE_HEAD", ".git/info"):
        assert states(report)[name] == "held" and told[name], (name, report["changes"])
        assert f"not applied: {name}" in done.err or "and " in done.err
    assert states(report)[".git/logs"] == "lost"
    # What was staged beside a commit is told as well.
    done, report = staged(world, COMMIT + "echo s > staged2; git add staged2")
    assert states(report)[".git/refs/heads/main"] == "applied"
    assert reasons(report)[".git/index"].startswith("staged")
    assert "?? staged2" in out(world, "status", "--porcelain")
    # A branch that was deleted stays.
    git(world, "branch", "old", cwd=world.project)
    done, report = staged(world, "git branch -q -D old")
    assert states(report)[".git/refs/heads/old"] == "held" and "git branch -D" in done.err
    assert out(world, "branch", "--list", "old")


def test_a_linked_worktree_and_a_bare_repository_are_refused_by_name(world):
    repository(world)
    linked = world.home / "linked"
    git(world, "worktree", "add", "-q", "-b", "linked", str(linked), cwd=world.project)
    done, report = world.report("/bin/sh", "-ec", AS_A + COMMIT, options=["--stage"], cwd=linked,
                                timeout=120)
    done.expect(0)
    assert "linked worktree" in done.err and "commit outside" in done.err, done.account()
    # What it says works.
    git(world, "add", "-A", cwd=linked)
    git(world, "commit", "-q", "-m", "outside", cwd=linked)
    assert out(world, "status", "--porcelain", cwd=linked) == ""
    git(world, "init", "-q", "--bare", "bare.git", cwd=world.project)
    done, report = staged(world, "cd bare.git; git --git-dir=. config x.y z")
    assert states(report)["bare.git"] == "held"


def test_commits_of_a_run_are_never_taken_for_the_persons_own(world):
    """trust_tracked: what a run committed passes no protected file later."""
    repository(world)
    staged(world, COMMIT)
    tip = out(world, "rev-parse", "HEAD")
    tips = (world.home / ".local/state/cordon/written-tips").read_text().split()
    assert tip in tips


def test_ten_agents_on_branches_of_their_own(world):
    repository(world)
    script = "git checkout -q -b agent{0}; echo {0} > own{0}; git add -A; git commit -q -m 'by {0}'; echo ready; read line"
    agents = [world.start([world.cordon, "run", "--stage=review", "--", "/bin/sh", "-ec",
                           AS_A + script.format(number)], stdin=-1) for number in range(10)]
    for agent in agents:
        assert agent.stdout.readline() == b"ready\n"
    for agent in agents:
        agent.communicate(b"go\n", timeout=120)
        assert agent.returncode == 0
    runs = sorted(path.name.split(".")[0]
                  for path in (world.home / ".local/state/cordon/handoff").glob("*.changes"))
    assert len(runs) == 10
    for run in runs[5:] + runs[:5]:
        world.cordon_verb("changes", "apply", run, timeout=120)
        world.bare("git", "checkout", "-q", "main").expect(0)
    names = out(world, "for-each-ref", "--format=%(refname)").splitlines()
    for number in range(10):
        assert f"refs/heads/agent{number}" in names, names
        git(world, "merge", "-q", "-m", "all", f"agent{number}", cwd=world.project)
    assert is_clean(world)
    assert len(list(world.project.glob("own*"))) == 10


def test_git_never_finds_what_waits_to_be_put_in_place(world):
    """`git add -A` of the person, or of another run, would add it, or stop because it is gone."""
    repository(world)
    _, report = staged(world, "echo new > new.txt; mkdir d; ln -s new.txt d/link; echo more >> tracked.txt",
                       mode="review")
    # Slow disk: what waits does so for half a second.
    log = world.path / "trace"
    applying = world.start(["strace", "-qq", "-o", log, "-e", "trace=fsync,openat", "-y", "-e",
                            "inject=fsync:delay_enter=100000", world.cordon, "changes", "apply"])
    looks = 0
    while applying.poll() is None:
        assert ".cordon-" not in out(world, "--no-optional-locks", "status", "--porcelain", "-uall")
        # What is looked through changes meanwhile, which os.walk does not mind.
        assert not [Path(top, name) for top, directories, files in os.walk(world.project)
                    for name in directories + files if name.startswith(".cordon-")
                    and (Path(top) == world.project or not os.path.basename(top).startswith("."))]
        looks += 1
    _, errors = applying.communicate(timeout=60)
    assert applying.returncode == 0 and looks > 0, errors
    # The control: something did wait, for as long as that.
    trace = log.read_text()
    assert re.search(r'/\.git>, "\.cordon-[0-9a-f]+-\d+", O_WRONLY\|O_CREAT.*\n(.*\n)*?fsync.*DELAYED', trace), trace
    assert own_files(world) == []
    assert states(report).keys() >= {"new.txt", "d/link", "tracked.txt"}
    assert (world.project / "d/link").readlink().name == "new.txt"
    # Restored it is the same.
    changes(world, "restore")
    assert is_clean(world) and own_files(world) == []


def test_where_git_makes_other_files_it_waits_beside_its_place(world):
    """A directory that hands its group on does so for what is applied as well."""
    repository(world)
    shared = world.project / "shared"
    shared.mkdir()
    owner = (world.project / ".git").stat()
    os.chown(shared, owner.st_uid, owner.st_gid)
    shared.chmod(0o2755)
    staged(world, "echo x > shared/new; echo y > plain", mode="review")
    done = traced(world, "apply", "-y", "-e", "trace=renameat2").expect(0)
    froms = dict(re.findall(r"renameat2\(\d+<([^>]*)>, \"\.cordon-[^\"]*\", \d+<[^>]*>, \"(new|plain)\"", done.err))
    assert froms == {str(shared): "new", str(world.project / ".git"): "plain"}, done.err
    assert (shared / "new").stat().st_gid == shared.stat().st_gid


def at_each_line(world, script, options=("--stage=review",)):
    """A staged run that does the next part of its script, a line of it, when it is told to."""
    lines = "; ".join(f"read go; {line}; echo done $?" for line in script)
    agent = world.start([world.cordon, "run", *options, "--", "/bin/sh", "-c", AS_A + lines], stdin=-1)

    def go_on():
        agent.stdin.write(b"go\n")
        agent.stdin.flush()
        return agent.stdout.readline().decode().strip()

    return agent, go_on


LOCKS = ["index.lock", "HEAD.lock", "packed-refs.lock", "config.lock", "refs/heads/main.lock"]


@pytest.mark.parametrize("stage", ["--stage=review", "--stage=copy"])
def test_a_lock_of_the_hosts_git_does_not_stop_git_inside(world, stage):
    """The person commits while an agent works. Without the steady layer the agent's git finds the
    lock, and finds it again when it is long gone."""
    repository(world)
    held = [world.write(world.project / ".git" / name, "") for name in LOCKS]
    agent, go_on = at_each_line(world, ["git status >/dev/null", "echo a > a; git add -A", "git commit -q -m a",
                                        "git branch b; git config x.y z", "echo c > a; git commit -q -am c"],
                                options=[stage])
    assert go_on() == "done 0"
    # The control: outside it does stop git.
    assert world.bare("git", "add", "-A").status == 128
    assert go_on() == "done 0" and go_on() == "done 0"
    for lock in held:
        lock.unlink()
    assert go_on() == "done 0"
    for name in LOCKS:
        world.write(world.project / ".git" / name, "")
    assert go_on() == "done 0"
    assert agent.communicate(timeout=60)[1].decode().count(".lock") == 0 and agent.returncode == 0
    for lock in held:
        assert lock.exists()
        lock.unlink()
    assert "settings of git" in changes(world, "apply").err
    assert out(world, "log", "--format=%s", "-2").split() == ["c", "a"] and is_clean(world)


def test_a_commit_that_arrives_meanwhile_is_not_undone_by_the_next(world):
    """The index was read before it arrived. A branch that is read after would make the commit of the
    run take the person's file away, without a conflict."""
    repository(world)
    agent, go_on = at_each_line(world, ["git ls-files >/dev/null", "cat .git/HEAD .git/refs/heads/main >&2",
                                        "echo own > own; git add own; git commit -q -m own"])
    assert go_on() == "done 0"
    before = out(world, "rev-parse", "HEAD")
    world.write(world.project / "theirs", "of the person")
    git(world, "add", "theirs", cwd=world.project)
    git(world, "commit", "-q", "-m", "theirs", cwd=world.project)
    assert go_on() == "done 0" and go_on() == "done 0"
    errors = agent.communicate(timeout=60)[1].decode()
    assert agent.returncode == 0 and before in errors and out(world, "rev-parse", "HEAD") not in errors
    done = world.cordon_verb("changes", "apply")
    [line] = re.findall(r"git merge refs/cordon/[0-9a-f]+", done.err)
    world.bare("/bin/sh", "-c", AS_A + line + " -q -m merged").expect(0)
    assert (world.project / "theirs").read_text() == "of the person" and (world.project / "own").exists()
    assert is_clean(world)


@pytest.mark.only("root")
def test_root_stages_the_repository_of_somebody_else(world):
    """The overlay is made by the owner of the project, who may enter nothing that root made for itself."""
    repository(world)
    for path in [world.project, *world.project.rglob("*")]:
        os.chown(path, 64124, 64124, follow_symlinks=False)
    script = AS_A + COMMIT + "git status --porcelain"
    done = world.execute(["sh", "-c", 'umask 077; exec "$0" "$@"', world.cordon, "run", "--stage", "--", "/bin/sh",
                          "-ec", script], timeout=120)
    assert done.expect(0).out == "", done.account()
    log = world.execute(["git", "-c", "safe.directory=*", "log", "--format=%s", "-1"])
    assert log.expect(0).out == "second\n"
    assert (world.project / "d/new").stat().st_uid == 64124


def test_what_is_steady_is_gone_with_the_run_and_is_no_change(world):
    repository(world)
    git(world, "checkout", "-q", "-b", "feature/deep", cwd=world.project)
    git(world, "pack-refs", "--all", cwd=world.project)
    look = "git status --porcelain; git symbolic-ref HEAD; git rev-parse HEAD"
    outside = world.bare("/bin/sh", "-c", look + "; git rev-parse HEAD").expect(0).out
    os.utime(world.project / ".git/refs", (1, 1))
    os.utime(world.project / ".git", (2, 2))
    modes = [oct((world.project / name).stat().st_mode & 0o7777)[2:] for name in (".git", ".git/refs", ".git/HEAD")]
    done, report = staged(world, "stat -c '%a %Y' .git .git/refs; stat -c %a .git/HEAD; " + look +
                          "; cat .git/refs/heads/feature/deep", mode="review")
    assert done.out == f"{modes[0]} 2\n{modes[1]} 1\n{modes[2]}\n" + outside
    assert report["changes"] == []
    assert not list((world.home / ".local/state/cordon/stages").glob("*/*/steady"))


def test_ten_agents_on_one_branch(world):
    repository(world)
    script = "echo {0} > own{0}; git add -A; git commit -q -m 'by {0}'"
    agents = [world.start([world.cordon, "run", "--stage", "--json", "--", "/bin/sh", "-ec",
                           AS_A + script.format(number)]) for number in range(10)]
    reports = []
    for agent in agents:
        text, errors = agent.communicate(timeout=300)
        assert agent.returncode == 0, (text, errors)
        reports.append(json.loads(text))
    moved = [one for one in reports if states(one)[".git/refs/heads/main"] == "applied"]
    assert moved, [reasons(one) for one in reports]
    assert is_clean(world), [reasons(one) for one in reports]
    for one in reports:
        if one in moved:
            continue
        reason = reasons(one)[".git/refs/heads/main"]
        [line] = re.findall(r"git merge refs/cordon/" + one["run_id"], reason)
        world.bare("/bin/sh", "-c", AS_A + line + " -q -m merged").expect(0)
    assert is_clean(world)
    assert len(list(world.project.glob("own*"))) == 10
    assert own_files(world) == []


# At every so many of each.
CUT_CALLS = {"linkat": 1, "renameat": 1, "renameat2": 3, "unlinkat": 7, "fsync": 9}


def traced(world, verb, *options):
    return world.execute(["strace", "-qq", *options, world.cordon, "changes", verb], timeout=120)


@pytest.mark.only("user")
@pytest.mark.parametrize("verb", ["apply", "restore"])
def test_killed_anywhere_it_is_finished_or_undone(world, verb):
    """At calls that change something on the disk: the next verb finds one state or the other."""
    repository(world)
    before = picture(world)
    staged(world, "git checkout -q -b feature; git branch side; " + COMMIT + "echo x > loose.txt", mode="review")
    changes(world, "apply")
    after = picture(world)
    assert after[2].endswith("feature") and after[3] == "?? loose.txt"
    if verb == "apply":
        changes(world, "restore")
        assert picture(world) == before
    other = {"apply": "restore", "restore": "apply"}[verb]
    wanted = {"apply": after, "restore": before}
    done = traced(world, verb, "-e", "trace=" + ",".join(CUT_CALLS)).expect(0)
    counted = {call: len(re.findall(rf"^{call}\(", done.err, re.M)) for call in CUT_CALLS}
    assert counted["linkat"] >= 3 and counted["renameat"] >= 3, counted
    changes(world, other)
    for call, step in CUT_CALLS.items():
        for occurrence in range(1, counted[call] + 1, step):
            done = traced(world, verb, "-e", f"trace={call}",
                          "-e", f"inject={call}:signal=KILL:when={occurrence}")
            told = f"{verb} killed at {call} number {occurrence}: {done.account()}"
            assert done.status not in (0, 1), told
            again = world.cordon_verb("changes", verb, timeout=120)
            assert again.status in (0, 1), told + again.account()
            assert picture(world) == wanted[verb], told + again.account()
            assert own_files(world) == [], told
            back = world.cordon_verb("changes", other, timeout=120)
            assert back.status == 0, told + back.account()
            assert picture(world) == wanted[other], told + back.account()


def test_a_lock_of_somebody_else_is_respected(world):
    repository(world)
    _, report = staged(world, COMMIT, mode="review")
    before = picture(world)
    lock = world.write(world.project / ".git/index.lock", "")
    done = changes(world, "apply", status=1)
    assert lock.exists() and f"refs/cordon/{report['run_id']}" in done.err
    lock.unlink()
    assert picture(world) == before
    changes(world, "apply")
    assert is_clean(world) and out(world, "log", "-1", "--format=%s") == "second"


def test_a_restore_does_not_undo_what_the_person_did_since(world):
    repository(world)
    staged(world, COMMIT)
    host_commits(world)
    before = picture(world)
    done = changes(world, "restore", status=1)
    assert "moved since" in done.err, done.account()
    assert picture(world) == before


def test_a_ceiling_that_stages_every_run_lets_commits_arrive(world):
    repository(world)
    ceiling = world.document(f'version = 1\n[fs]\nread = ["@system"]\nwrite = ["{world.project}"]\n'
                             'mode = "staged"\n', "ceiling.toml")
    done, report = world.report("/bin/sh", "-ec", AS_A + COMMIT, options=["--ceiling", ceiling],
                                timeout=120)
    done.expect(0)
    assert states(report)[".git/refs/heads/main"] == "applied", done.account()
    assert is_clean(world)


@pytest.mark.only("root")
def test_root_leaves_the_repository_to_its_owner(world):
    repository(world)
    other = 64123
    for path in [world.project, *world.project.rglob("*")]:
        os.chown(path, other, other, follow_symlinks=False)
    done, report = staged(world, COMMIT)
    assert states(report)[".git/refs/heads/main"] == "applied", done.account()
    for path in world.project.rglob("*"):
        assert (path.lstat().st_uid, path.lstat().st_gid) == (other, other), path
    trust = ["git", "-c", f"safe.directory={world.project}"]
    assert world.bare(*trust, "log", "-1", "--format=%s").expect(0).out == "second\n"
    assert world.bare(*trust, "status", "--porcelain").expect(0).out == ""


def test_a_merge_of_the_person_that_the_run_ended_is_told(world):
    repository(world)
    for branch, text in (("x", "theirs\n"), ("main", "ours\n")):
        if branch == "x":
            git(world, "branch", "x", cwd=world.project)
        git(world, "checkout", "-q", branch, cwd=world.project)
        world.write(world.project / "tracked.txt", text)
        git(world, "commit", "-q", "-am", text.strip(), cwd=world.project)
    world.bare("git", "merge", "-q", "x", env=IDENTITY)
    assert "UU tracked.txt" in out(world, "status", "--porcelain")
    done, report = staged(world, "echo both > tracked.txt; git commit -q -am resolved")
    assert states(report)[".git/MERGE_HEAD"] == "held"
    assert "under way" in done.err, done.account()
    assert "UU tracked.txt" in out(world, "status", "--porcelain")
    # As it says: given up, and merged.
    line = merge_line(done, report["run_id"])
    world.bare("/bin/sh", "-c", f"git merge --abort && {line}").expect(0)
    assert is_clean(world) and (world.project / "tracked.txt").read_text() == "both\n"


def test_a_repository_in_a_repository_has_its_own_commits(world):
    repository(world)
    inner = make_repository(world, world.project / "inner")
    world.write(world.project / ".git/info/exclude", "inner\n")
    done, report = staged(world, COMMIT + "cd inner; echo i > i; git add i; git commit -q -m inner; "
                                          "git worktree add -q ../wt -b wt; cd ../wt; echo w > w; git add w; "
                                          "git commit -q -m wt")
    assert out(world, "log", "-1", "--format=%s") == "second"
    assert out(world, "log", "-1", "--format=%s", cwd=inner) == "inner", done.account()
    assert out(world, "status", "--porcelain", cwd=inner) == ""
    # The branch of a worktree that was made inside arrives, the worktree does not.
    assert out(world, "log", "-1", "--format=%s", "wt", cwd=inner) == "wt"
    assert states(report)["inner/.git/worktrees/wt"] == "held"
    assert "git worktree add" in done.err


@pytest.mark.only("user")
def test_a_run_that_is_killed_while_it_applies_is_finished_by_the_next(world):
    repository(world)
    command = [world.cordon, "run", "--stage", "--", "/bin/sh", "-ec", AS_A + COMMIT]
    base = out(world, "rev-parse", "HEAD")
    # The first rename makes the stage, before the command is started.
    for call, occurrence in (("linkat", 1), ("linkat", 2), ("renameat", 2), ("renameat", 3)):
        done = world.execute(["strace", "-qq", "-e", f"trace={call}", "-e",
                              f"inject={call}:signal=KILL:when={occurrence}", *command], timeout=120)
        assert done.status not in (0, 1), done.account()
        told = f"{call} number {occurrence}"
        world.run("true").expect(0)
        world.cordon_verb("changes", "apply", timeout=120)
        assert own_files(world) == [], told
        assert is_clean(world) and out(world, "log", "-1", "--format=%s") == "second", told
        world.bare("/bin/sh", "-c", f"git reset -q --hard {base} && git clean -q -f -d").expect(0)
        assert is_clean(world), told


@pytest.mark.parametrize("what", ["HEAD^{tree}", "HEAD:tracked.txt"])
def test_a_branch_leads_to_a_commit(world, what):
    repository(world)
    before = picture(world)
    done, report = staged(world, f"git rev-parse '{what}' > id; cp id .git/refs/heads/main; "
                                 "cp id .git/refs/heads/new; cp id .git/refs/tags/new; rm id")
    assert picture(world) == before, done.account()
    assert states(report)[".git/refs/heads/main"] == "held" and "held back" in done.err
    assert "refs/cordon" not in out(world, "for-each-ref")


def test_a_directory_that_the_commit_removes_stays_with_the_commit(world):
    repository(world)
    world.write(world.project / "old/f", "f\n")
    git(world, "add", "-A", cwd=world.project)
    git(world, "commit", "-q", "-m", "old", cwd=world.project)
    _, report = staged(world, "git rm -q -r old; echo x >> tracked.txt; git commit -q -am removed",
                       mode="review")
    world.write(world.project / "tracked.txt", "mine\n")
    done = changes(world, "apply", status=1)
    assert (world.project / "old/f").exists() and "conflict: " in done.err
    assert done.err.count("conflict: ") == 1, done.account()
    git(world, "checkout", "-q", "tracked.txt", cwd=world.project)
    world.bare("/bin/sh", "-c", merge_line(done, report["run_id"])).expect(0)
    assert is_clean(world) and not (world.project / "old").exists()


def went_on(world, first, script, mode, how="from"):
    done, report = world.report("/bin/sh", "-ec", AS_A + script, timeout=120,
                                options=[f"--stage={mode}", f"--stage-{how}", first["run_id"]])
    done.expect(0)
    assert report["error"] is None, done.account()
    return done, report


@pytest.mark.parametrize("how", ["from", "fork"])
def test_commits_of_a_stage_that_goes_on_arrive_together(world, how):
    repository(world)
    _, first = staged(world, COMMIT, mode="review")
    done, _ = went_on(world, first, "echo third > third; git add -A; git commit -q -m third; git rev-parse HEAD",
                      "auto", how)
    assert out(world, "rev-parse", "HEAD") == done.out.strip()
    assert out(world, "log", "--format=%s", "-2").splitlines() == ["third", "second"]
    assert is_clean(world)


@pytest.mark.parametrize("how", ["from", "fork"])
def test_a_commit_of_the_person_between_two_runs_of_a_stage_is_not_lost(world, how):
    """The layer's branch was made from what the host's was before the first run, not before the second."""
    repository(world)
    _, first = staged(world, COMMIT, mode="review")
    world.write(world.project / "mine", "mine\n")
    git(world, "add", "-A", cwd=world.project)
    git(world, "commit", "-q", "-m", "mine", cwd=world.project)
    mine = out(world, "rev-parse", "HEAD")
    done, report = went_on(world, first, "echo third > third; git add -A; git commit -q -m third", "auto", how)
    assert out(world, "rev-parse", "HEAD") == mine and is_clean(world)
    assert f"git merge refs/cordon/{report['run_id']}" in done.err, done.account()
    world.bare("/bin/sh", "-c", f"{AS_A} git merge -q -m merged refs/cordon/{report['run_id']}").expect(0)
    assert (world.project / "mine").exists() and (world.project / "third").exists() and is_clean(world)


@pytest.mark.parametrize("name", ["index", "main"])
def test_what_cannot_be_written_is_told_and_no_lock_is_left(world, name):
    """Git's last step, the rename of its lock, fails; the command that is told mends it."""
    repository(world)
    staged(world, COMMIT, mode="review")
    before = out(world, "rev-parse", "HEAD")
    done = world.execute(["strace", "-f", "-o", "/dev/null", "-P", f"{name}.lock", "-e", "trace=renameat", "-e",
                          "inject=renameat:error=EIO", world.cordon, "changes", "apply"], cwd=world.project, timeout=120)
    assert done.status == 1 and "it cannot be written" in done.err, done.account()
    assert own_files(world) == []
    if name == "index":
        assert "git reset" in done.err
        git(world, "reset", "-q", cwd=world.project)
        assert is_clean(world) and out(world, "log", "-1", "--format=%s") == "second"
    else:
        assert out(world, "rev-parse", "HEAD") == before
