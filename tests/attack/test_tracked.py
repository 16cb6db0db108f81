"""fs.trust_tracked: what a run makes of a protected file goes through if one of the person's own
branches has it at that path, and nothing else does. Every attack has its control: the same content,
put into a branch by the person, passes. ./test goes through it as a user, CORDON_GIT_DAY=all as root too."""

import json
import os
import signal

import pytest

from gitrepo import IDENTITY, git, make_repository
from support import harness
from support.harness import alive, noted_processes, wait_until

SETTINGS = ".vscode/settings.json"
AGENT = ".claude/settings.json"
EVIL = '{"evil": true}\n'

# Inside, the project belongs to another id where root runs it.
PREPARE = ("git config --global --add safe.directory '*'; git config --global user.name A; "
           "git config --global user.email a@example.org; ")


PEOPLE = [person for person in harness.PEOPLE if not person.is_root or os.environ.get("CORDON_GIT_DAY") == "all"]


@pytest.fixture(params=PEOPLE or harness.PEOPLE, ids=lambda person: person.name)
def who(request):
    return request.param


def shell(world, script, **how):
    return world.report("/bin/sh", "-c", PREPARE + script, env=IDENTITY, **how)


def commit(world, files, message, cwd=None):
    top = cwd or world.project
    for name, text in files.items():
        world.write(top / name, text)
    git(world, "add", "-f", *files, cwd=top)
    git(world, "commit", "-q", "-m", message, cwd=top)
    return git(world, "rev-parse", "HEAD", cwd=top).out.strip()


@pytest.fixture
def project(world):
    """`feature` differs from `main` in a held directory and in a single held file, and has a held
    directory that `main` has not. Its last commit changes the settings once more."""
    make_repository(world)
    commit(world, {SETTINGS: '{"on": "main"}\n', ".mcp.json": '{"on": "main"}\n',
                   "plain.txt": "main\n"}, "main")
    git(world, "checkout", "-q", "-b", "feature")
    commit(world, {SETTINGS: '{"on": "half way"}\n'}, "half way")
    commit(world, {SETTINGS: '{"on": "feature"}\n', ".mcp.json": '{"on": "feature"}\n',
                   AGENT: '{"on": "feature"}\n', "plain.txt": "feature\n"}, "feature")
    git(world, "checkout", "-q", "main")
    return world.project


def status(world, cwd=None):
    return git(world, "status", "--porcelain", "--untracked-files=no", cwd=cwd).out


def states(report):
    return {entry["path"]: entry["state"] for entry in report["changes"]
            if entry["state"] != "lost"}


def reason(report, path):
    return next(entry["reason"] for entry in report["changes"] if entry["path"] == path)


def held(world, path, script, before, **how):
    """The script leaves its version of `path` held back, and the host has its own."""
    done, report = shell(world, script, **how)
    assert states(report).get(path) == "held", json.dumps(report["changes"]) + done.account()
    there = world.project / path
    assert (there.read_text() if there.exists() else None) == before, done.account()
    return done, report


def passed(world, path, script, after, **how):
    done, report = shell(world, script, **how)
    assert states(report).get(path) == "applied", json.dumps(report["changes"]) + done.account()
    assert (world.project / path).read_text() == after, done.account()
    return done, report


OPERATIONS = {
    "checkout": "git checkout -q feature",
    "merge": "git merge -q --no-edit feature",
    "merge commit": "git merge -q --no-ff --no-edit feature",
    "rebase": "git checkout -q -b topic main && git commit -q --allow-empty -m x && "
              "git rebase -q feature",
    "reset": "git reset -q --hard feature",
    "stash": f"echo x > {SETTINGS}; echo x > .mcp.json; git stash -q && git stash pop -q && "
             "git checkout -q -f feature",
    "cherry-pick": "git cherry-pick -q main..feature >/dev/null 2>&1 || "
                   "git cherry-pick main..feature >/dev/null",
    "detached": "git checkout -q --detach feature",
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_ordinary_work_between_the_persons_branches_leaves_a_clean_tree(world, project, operation):
    tip = git(world, "rev-parse", "feature").out.strip()
    done, report = shell(world, OPERATIONS[operation])
    done.expect(0)
    for path in (SETTINGS, ".mcp.json", AGENT):
        assert (project / path).read_text() == '{"on": "feature"}\n', done.account()
        assert (project / path).stat().st_uid == project.stat().st_uid
        assert (project / path).stat().st_mode & 0o777 == 0o644
        assert states(report)[path] == "applied", report["changes"]
        assert f"tracked by branch feature, commit {tip[:12]}" in reason(report, path)
    assert report["handoff"] == [], report["handoff"]
    assert "held back" not in done.err, done.err
    assert status(world) == ""
    # It can be undone like everything that was applied.
    world.cordon_verb("changes", "restore", report["run_id"]).expect(0)
    for path in (SETTINGS, ".mcp.json"):
        assert (project / path).read_text() == '{"on": "main"}\n'
    assert not (project / AGENT).exists()


def test_a_commit_behind_the_tip_counts(world, project):
    """As bisect and checkout of an older commit do it."""
    older = git(world, "rev-parse", "feature~1").out.strip()
    _, report = passed(world, SETTINGS, "git checkout -q feature~1", '{"on": "half way"}\n')
    assert f"branch feature, commit {older[:12]}" in reason(report, SETTINGS)
    assert status(world) == ""


def test_packed_refs_and_objects_count(world, project):
    git(world, "pack-refs", "--all")
    git(world, "gc", "-q", "--prune=now")
    passed(world, SETTINGS, "git checkout -q feature", '{"on": "feature"}\n')


def test_a_repository_with_the_longer_hash(world):
    git(world, "init", "-q", "-b", "main", "--object-format=sha256", str(world.project))
    commit(world, {SETTINGS: "main\n"}, "main")
    git(world, "checkout", "-q", "-b", "feature")
    commit(world, {SETTINGS: "feature\n"}, "feature")
    git(world, "checkout", "-q", "main")
    passed(world, SETTINGS, "git checkout -q feature", "feature\n")


def test_a_linked_worktree_from_before_the_run(world, project):
    git(world, "worktree", "add", "-q", "-b", "linked", "wt", "main")
    passed(world, f"wt/{SETTINGS}", "cd wt && git reset -q --hard feature", '{"on": "feature"}\n')
    assert status(world, project / "wt") == ""
    # One that the run makes is not the person's, and what is held there stays held.
    _, report = shell(world, "git worktree add -q -b other new feature; true")
    assert not (project / "new/.vscode").exists(), report["changes"]


def test_a_linked_worktree_whose_repository_lies_elsewhere(world):
    main = make_repository(world, world.outside / "main")
    commit(world, {SETTINGS: "main\n"}, "main", cwd=main)
    git(world, "checkout", "-q", "-b", "feature", cwd=main)
    commit(world, {SETTINGS: "feature\n"}, "feature", cwd=main)
    git(world, "checkout", "-q", "main", cwd=main)
    git(world, "worktree", "add", "-q", "-b", "linked", str(world.project / "wt"), "main", cwd=main)
    top = world.project / "wt"
    done, report = shell(world, "git reset -q --hard feature", cwd=top)
    assert (top / SETTINGS).read_text() == "feature\n", done.account() + json.dumps(report["changes"])
    assert status(world, top) == ""
    done, report = shell(world, f"echo evil > {SETTINGS}; git commit -q -a -m evil", cwd=top)
    assert (top / SETTINGS).read_text() == "feature\n", done.account()
    git(world, "checkout", "-q", "-f", "--detach", "main", cwd=top)
    done, report = shell(world, "git checkout -q -f linked", cwd=top)
    assert (top / SETTINGS).read_text() == "main\n", done.account()
    assert states(report)[SETTINGS] == "held", report["changes"]


@pytest.mark.parametrize("bound", ["policy", "ceiling"])
def test_policies_and_ceilings_can_say_no(world, project, bound):
    if bound == "policy":
        policy = world.document('version = 1\nextends = "workspace"\n[fs]\ntrust_tracked = false\n')
        options = ["--policy", policy]
    else:
        ceiling = world.document('version = 1\n[fs]\nread = ["/"]\nwrite = ["@cwd"]\n'
                                 'trust_tracked = false\n', "ceiling.toml")
        options = ["--ceiling", ceiling]
    _, report = held(world, SETTINGS, "git checkout -q feature", '{"on": "main"}\n',
                     options=options)
    assert report["policy"]["fs"]["trust_tracked"] is False
    shell(world, "git checkout -q -f main")
    _, report = passed(world, SETTINGS, "git checkout -q feature", '{"on": "feature"}\n')
    assert report["policy"]["fs"]["trust_tracked"] is True


# What is not the same file at the same path

def test_a_deletion_is_held(world, project):
    git(world, "checkout", "-q", "feature")
    _, report = shell(world, "git checkout -q main")
    assert (project / AGENT).exists() and states(report)[AGENT] == "held", report["changes"]
    assert (project / SETTINGS).read_text() == '{"on": "main"}\n'


def test_another_mode_is_held(world, project):
    held(world, SETTINGS, f"git checkout -q feature && chmod 755 {SETTINGS}", '{"on": "main"}\n')
    assert (project / SETTINGS).stat().st_mode & 0o777 == 0o644
    shell(world, "git checkout -q -f main")
    # What git does not know of a mode does not come with it.
    passed(world, SETTINGS, f"git checkout -q -f feature && chmod 666 {SETTINGS}",
           '{"on": "feature"}\n')
    assert (project / SETTINGS).stat().st_mode & 0o777 == 0o644


def test_another_path_is_held(world, project):
    held(world, ".vscode/tasks.json", f"git show feature:{SETTINGS} > .vscode/tasks.json", None)
    held(world, ".mcp.json", "git show feature~1:.vscode/settings.json > .mcp.json",
         '{"on": "main"}\n')
    passed(world, SETTINGS, f"git show feature:{SETTINGS} > {SETTINGS}", '{"on": "feature"}\n')


def test_what_lies_beside_a_tracked_file_is_held_alone(world, project):
    done, report = shell(world, "git checkout -q feature; echo evil > .claude/extra.json; "
                         "ln -s /etc/passwd .claude/link")
    found = states(report)
    assert (project / AGENT).read_text() == '{"on": "feature"}\n', done.account()
    assert not (project / ".claude/extra.json").exists()
    assert not (project / ".claude/link").is_symlink()
    assert found[AGENT] == "applied" and found[".claude/extra.json"] == "held", found
    assert found[".claude/link"] == "held", found
    world.cordon_verb("changes", "apply", report["run_id"], ".claude/extra.json").expect(0)
    assert (project / ".claude/extra.json").read_text() == "evil\n"


def test_a_second_name_of_the_file_keeps_it_held(world, project):
    """The next run could write it by the other name."""
    done, report = shell(world, f"git checkout -q feature && ln {AGENT} other-name")
    assert not (project / AGENT).exists(), done.account()
    assert ".claude" in {entry["path"] for entry in report["handoff"]}, report["handoff"]


def test_a_denied_name_does_not_pass(world, project):
    git(world, "checkout", "-q", "feature")
    commit(world, {"secret.key": "x\n", ".claude/secret.key": "x\n"}, "key")
    git(world, "checkout", "-q", "main")
    done, report = shell(world, "git checkout -q feature", options=["--deny", "**/*.key"])
    assert not (project / "secret.key").exists(), done.account() + json.dumps(report["changes"])
    assert not (project / ".claude/secret.key").exists(), report["changes"]
    assert (project / AGENT).read_text() == '{"on": "feature"}\n', report["changes"]


def test_what_the_person_changed_meanwhile_stays(world, project):
    run = world.start([world.cordon, "run", "--", "/bin/sh", "-c", PREPARE +
                       "git checkout -q feature; touch ready; while [ ! -e go ]; do sleep 0.05; done"])
    assert wait_until((project / "ready").exists)
    world.write(project / SETTINGS, "mine\n")
    world.write(project / "go", "")
    run.communicate(timeout=60)
    assert (project / SETTINGS).read_text() == "mine\n"
    listed = world.cordon_verb("changes", "list", "--json").expect(0).json
    assert {e["path"]: e["state"] for e in listed["changes"]}[SETTINGS] == "held"


# What runs wrote into branches

PLANT = f"printf '%s' '{EVIL.strip()}' > {SETTINGS}; echo >> {SETTINGS}; git add -f {SETTINGS}; "


def test_a_branch_that_a_run_wrote_is_not_the_persons(world, project):
    held(world, SETTINGS, f"git checkout -q -b evil; {PLANT} git commit -q -m evil",
         '{"on": "main"}\n')
    git(world, "checkout", "-q", "-f", "main")
    held(world, SETTINGS, "git checkout -q evil", '{"on": "main"}\n')
    git(world, "checkout", "-q", "-f", "main")
    # The run's branch under another name is still the run's.
    git(world, "branch", "-q", "-m", "evil", "renamed")
    git(world, "pack-refs", "--all")
    held(world, SETTINGS, "git checkout -q renamed", '{"on": "main"}\n')
    git(world, "checkout", "-q", "-f", "main")
    # Content that the person commits is the person's.
    git(world, "checkout", "-q", "-b", "own")
    commit(world, {SETTINGS: EVIL}, "own")
    git(world, "checkout", "-q", "main")
    passed(world, SETTINGS, "git checkout -q own", EVIL)


def test_a_commit_of_the_person_on_top_does_not_open_what_a_run_committed_below(world, project):
    held(world, SETTINGS, f"{PLANT} git commit -q -m evil; echo x >> {SETTINGS}; "
         f"git checkout -q HEAD~1 -- {SETTINGS}; git commit -q -m 'out again'; echo y > {SETTINGS}",
         '{"on": "main"}\n')
    git(world, "checkout", "-q", "-f", "main")
    commit(world, {"plain.txt": "more\n"}, "on top")
    assert git(world, "show", f"HEAD~2:{SETTINGS}").out == EVIL
    held(world, SETTINGS, f"git checkout -q HEAD~2 -- {SETTINGS}", '{"on": "main"}\n')
    git(world, "checkout", "-q", "-f", "main")
    passed(world, SETTINGS, "git checkout -q feature", '{"on": "feature"}\n')


def test_a_run_that_was_killed_wrote_its_tips_too(world, project):
    run = world.start([world.cordon, "run", "--", "/bin/sh", "-c", PREPARE +
                       f"git checkout -q -b evil; {PLANT} git commit -q -m evil; git checkout -q main; "
                       "touch ready; sleep 300"], env=IDENTITY)
    try:
        assert wait_until((project / "ready").exists)
        # A start that cannot know whom to wait for, or for whom it waits too long, leaves it to a later one.
        assert wait_until(lambda: noted_processes(world.home))
        started = noted_processes(world.home)
        os.killpg(run.pid, signal.SIGKILL)
    finally:
        run.wait()
    assert wait_until(lambda: not any(alive(one) for one in started))
    held(world, SETTINGS, "git checkout -q evil", '{"on": "main"}\n')
    shell(world, "git checkout -q -f main")
    # The person's own branches were there before that run, and its note says so.
    passed(world, SETTINGS, "git checkout -q feature", '{"on": "feature"}\n')


def test_a_repository_that_a_run_made_has_no_branch_of_the_person(world, project):
    shell(world, f"git init -q -b main sub && cd sub && mkdir .vscode && {PLANT} "
          "git commit -q -m evil")
    assert not (project / "sub" / SETTINGS).exists()
    script = f"cd sub; mkdir .vscode; git show main:{SETTINGS} > {SETTINGS}"
    held(world, "sub/.vscode", script, None)
    # A commit of the person on top of it is the person's, with everything in its tree.
    commit(world, {"own.txt": "x\n"}, "own", cwd=project / "sub")
    passed(world, f"sub/{SETTINGS}", script, EVIL)


@pytest.mark.parametrize("how", ["loose", "packed", "capitals", "double line", "symbolic"])
def test_refs_that_the_run_moves_count_for_nothing(world, project, how):
    make = (f"git checkout -q --detach; {PLANT} git commit -q -m evil; evil=$(git rev-parse HEAD); "
            "git checkout -q -f main; ")
    moves = {
        "loose": "echo $evil > .git/refs/heads/x; ",
        "packed": "git pack-refs --all; echo $evil refs/heads/x >> .git/packed-refs; ",
        "capitals": "echo $evil | tr a-f A-F > .git/refs/heads/x; ",
        "double line": "git pack-refs --all; f=$(git rev-parse feature); "
                       "(grep ^# .git/packed-refs; echo $evil refs/heads/x; echo $f refs/heads/x; "
                       "grep -v ^# .git/packed-refs) > p; mv p .git/packed-refs; ",
        "symbolic": "git update-ref refs/remotes/origin/x $evil; "
                    "echo 'ref: refs/remotes/origin/x' > .git/refs/heads/x; ",
    }
    take = f"git show $evil:{SETTINGS} > {SETTINGS}; "
    # In the same run, and in the next one.
    held(world, SETTINGS, make + moves[how] + take, '{"on": "main"}\n')
    shell(world, "echo $(git rev-parse x) > evil-id")
    evil = (project / "evil-id").read_text().strip().lower()
    held(world, SETTINGS, f"git show {evil}:{SETTINGS} > {SETTINGS}" if len(evil) == 40 else
         f"git show x:{SETTINGS} > {SETTINGS}", '{"on": "main"}\n')


def test_remote_tracking_refs_never_count(world, project):
    upstream = world.path / "upstream"
    git(world, "clone", "-q", str(project), str(upstream), cwd=world.path)
    git(world, "checkout", "-q", "-b", "theirs", cwd=upstream)
    commit(world, {SETTINGS: EVIL}, "theirs", cwd=upstream)
    git(world, "remote", "add", "origin", str(upstream))
    git(world, "fetch", "-q", "origin")
    git(world, "update-ref", "refs/cordon/x", "origin/theirs")
    git(world, "tag", "theirs-tag", "origin/theirs")
    held(world, SETTINGS, f"git checkout -q origin/theirs -- {SETTINGS}", '{"on": "main"}\n')
    git(world, "checkout", "-q", "-f", "main")
    git(world, "branch", "-q", "taken", "origin/theirs")
    passed(world, SETTINGS, f"git checkout -q taken -- {SETTINGS}", EVIL)


# Objects

FORGE = r"""
import hashlib, os, subprocess, sys, zlib
def git(*words):
    return subprocess.run(["git", *words], check=True, capture_output=True).stdout
def put(identity, kind, content):
    path = ".git/objects/" + identity[:2] + "/" + identity[2:]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path): os.unlink(path)
    with open(path, "wb") as file:
        file.write(zlib.compress(kind + b" %d\0" % len(content) + content))
what, settings = sys.argv[1:]
blob = git("hash-object", "-w", settings).decode().strip()
tree = b"100644 settings.json\0" + bytes.fromhex(blob)
below = git("rev-parse", "feature:.vscode").decode().strip()
if what == "tree":
    put(below, b"tree", tree)
honest = hashlib.sha1(b"tree %d\0" % len(tree) + tree).hexdigest()
put(honest, b"tree", tree)
root = b"40000 .vscode\0" + bytes.fromhex(honest)
name = hashlib.sha1(b"tree %d\0" % len(root) + root).hexdigest()
put(name, b"tree", root)
if what == "root":
    put(git("rev-parse", "feature^{tree}").decode().strip(), b"tree", root)
commit = b"tree " + name.encode() + b"\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nx\n"
if what == "commit":
    put(git("rev-parse", "feature").decode().strip(), b"commit", commit)
evil = hashlib.sha1(b"commit %d\0" % len(commit) + commit).hexdigest()
put(evil, b"commit", commit)
if what == "replace":
    git("replace", "-f", git("rev-parse", "feature").decode().strip(), evil)
if what == "graft":
    os.makedirs(".git/info", exist_ok=True)
    open(".git/info/grafts", "w").write(git("rev-parse", "feature").decode().strip() + " " + evil + "\n")
"""


@pytest.mark.parametrize("what", ["tree", "root", "commit", "replace", "graft"])
def test_forged_objects_prove_nothing(world, project, what):
    world.write(world.project / "forge.py", FORGE)
    held(world, SETTINGS, f"{PLANT} git reset -q; python3 forge.py {what} {SETTINGS}",
         '{"on": "main"}\n')
    # Git itself believes it.
    shown = "feature^1" if what == "graft" else "feature"
    assert world.bare("git", "show", f"{shown}:{SETTINGS}", env=IDENTITY).out == EVIL


def test_an_object_that_exhausts_memory_ends_in_its_sandbox(world, project):
    script = ("import os,subprocess,zlib\n"
              "t=subprocess.run(['git','rev-parse','feature'],capture_output=True,text=True).stdout.strip()\n"
              "p='.git/objects/'+t[:2]+'/'+t[2:]\n"
              "os.unlink(p); c=zlib.compressobj(1); f=open(p,'wb')\n"
              "f.write(c.compress(b'commit 700000000\\0'))\n"
              "for i in range(700): f.write(c.compress(bytes(1000000)))\n"
              "f.write(c.flush())\n")
    world.write(project / "bomb.py", script)
    done, report = held(world, SETTINGS, "git checkout -q feature && git checkout -q --detach && "
                        "python3 bomb.py", '{"on": "main"}\n', timeout=90)
    assert "not looked for in branches" in reason(report, SETTINGS), report["changes"]
    assert done.status == 0, reason(report, SETTINGS)


def test_objects_that_lie_outside_of_the_git_directory_are_not_read(world, project):
    """An alternate leads git to wherever a run wants it; the sandbox has the git directory alone."""
    shared = world.project / "shared"
    git(world, "clone", "-q", "--shared", str(project), str(shared))
    git(world, "branch", "-q", "feature", "origin/feature", cwd=shared)
    script = "cd shared; git checkout -q feature"
    _, report = held(world, f"shared/{SETTINGS}", script, '{"on": "main"}\n')
    git(world, "checkout", "-q", "-f", "main", cwd=shared)
    git(world, "repack", "-a", "-d", "-q", cwd=shared)
    (shared / ".git/objects/info/alternates").unlink()
    passed(world, f"shared/{SETTINGS}", "cd shared; git checkout -q -f feature",
           '{"on": "feature"}\n')


# Two runs

def test_beside_another_run_nothing_passes(world, project):
    run = world.start([world.cordon, "run", "--", "/bin/sh", "-c",
                       "touch ready; while [ ! -e go ]; do sleep 0.05; done"])
    try:
        assert wait_until((project / "ready").exists)
        _, report = held(world, SETTINGS, "git checkout -q feature", '{"on": "main"}\n')
        assert "another run" in reason(report, SETTINGS)
        world.write(project / "go", "")
    finally:
        run.communicate(timeout=60)
    shell(world, "git checkout -q -f main")
    passed(world, SETTINGS, "git checkout -q feature", '{"on": "feature"}\n')


def test_two_runs_cannot_pass_a_tip_between_them(world, project):
    """The older run writes a tip and takes it back before it ends; the younger one, which found it
    there, writes it again."""
    wait = "while [ ! -e {0} ]; do sleep 0.05; done; "
    older = world.start([world.cordon, "run", "--", "/bin/sh", "-c", PREPARE +
                         f"git checkout -q -b evil; {PLANT} git commit -q -m evil; git checkout -q -f main; "
                         "touch made; " + wait.format("seen") + "git branch -q -D evil; touch back; "],
                        env=IDENTITY)
    assert wait_until((project / "made").exists)
    younger = world.start([world.cordon, "run", "--", "/bin/sh", "-c", PREPARE +
                           "e=$(git rev-parse evil); touch seen; " + wait.format("over") +
                           "git branch -q evil $e"], env=IDENTITY)
    older.communicate(timeout=60)
    world.write(project / "over", "")
    younger.communicate(timeout=60)
    assert git(world, "show", f"evil:{SETTINGS}").out == EVIL
    held(world, SETTINGS, "git checkout -q -f evil", '{"on": "main"}\n')


# The list of written tips

def test_without_the_list_nothing_is_believed(world, project):
    state = world.home / ".local/state/cordon"
    shell(world, "true")[0].expect(0)
    world.write(state / "written-tips", "junk\n", 0o600)
    _, report = held(world, SETTINGS, "git checkout -q feature", '{"on": "main"}\n')
    assert "written-tips" in reason(report, SETTINGS)
    (state / "written-tips").unlink()
    shell(world, "git checkout -q -f main")
    passed(world, SETTINGS, "git checkout -q feature", '{"on": "feature"}\n')


def test_more_branches_than_are_read_close_that_repository_alone(world, project):
    other = make_repository(world, project / "other")
    commit(world, {SETTINGS: "main\n"}, "main", cwd=other)
    git(world, "checkout", "-q", "-b", "feature", cwd=other)
    commit(world, {SETTINGS: "feature\n"}, "feature", cwd=other)
    git(world, "checkout", "-q", "main", cwd=other)
    shell(world, "m=$(git rev-parse main); mkdir .git/refs/heads/x; "
          "for i in $(seq 4200); do echo $m > .git/refs/heads/x/$i; done; ", timeout=90)
    world.bare("rm", "-r", ".git/refs/heads/x").expect(0)
    _, report = held(world, SETTINGS, "git checkout -q feature", '{"on": "main"}\n')
    why = reason(report, SETTINGS)
    assert "look through them" in why and "written-tips" in why, why
    passed(world, f"other/{SETTINGS}", "cd other; git checkout -q feature", "feature\n")


def test_moving_between_branches_writes_nothing_down(world, project):
    state = world.home / ".local/state/cordon"
    shell(world, "git checkout -q feature; git checkout -q -b copy; git checkout -q main")
    assert not (state / "written-tips").exists()
    shell(world, "git commit -q --allow-empty -m x")
    tip = git(world, "rev-parse", "main").out
    assert (state / "written-tips").read_text() == tip


def test_the_list_cannot_be_reached_from_inside(world, project):
    shell(world, "git commit -q --allow-empty -m x")
    path = world.home / ".local/state/cordon/written-tips"
    before = path.read_bytes()
    assert world.bare("cat", str(path)).expect(0).out == before.decode() != ""
    done, _ = shell(world, f"cat {path}; echo > {path}; rm -f {path}", options=["--read", world.home])
    assert before.decode() not in done.out and path.read_bytes() == before, done.account()
