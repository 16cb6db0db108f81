"""Two hostile runs in one tree, against each other and against what is protected, while the person works outside
(hostile_run.py). Afterwards nothing that they planted is in force, what the person did is there, nothing is left
of the runs, their reports are valid, and the next run starts.

CORDON_TWO_RUNS_SECONDS says for how long; ./test --all takes a minute."""

import json
import os
import re
import signal
import time
from pathlib import Path

import jsonschema
import pytest

from gitrepo import IDENTITY, git, make_repository
from support import harness
from support.harness import processes_with, remove_tree, wait_until
from support.repo_state import is_git_directory

SECONDS = float(os.environ.get("CORDON_TWO_RUNS_SECONDS", "3"))
HOSTILE = Path(__file__).with_name("hostile_run.py").read_text()
PROTECTED = {".vscode", ".claude", ".zed", ".idea", ".mcp.json", ".exrc", ".bashrc", "opencode.json"}
# Who ends first. The older run can move parts of the younger one's tree, so it is the last to search
# (docs/adr/0051-the-search-after-a-run.md).
TREES = {"one tree, the older ends first": (".", -0.4, []), "one tree, the younger ends first": (".", 0.4, []),
         "a tree in a tree": ("sub", 0.8, []), "the configuration": (".", 0.4, ["config"])}


def are_hooks(path):
    """Whether git runs them. What is left of a git directory that was removed by half is not taken for one."""
    above = os.path.dirname(path)
    has = {part for part in ("objects", "refs", "HEAD", "worktrees") if os.path.lexists(os.path.join(above, part))}
    return os.path.basename(path) == "hooks" and {"objects", "refs"} < has


def in_force(top):
    """Planted files under names that somebody outside would act on, and the repositories of the tree."""
    found, repositories = [], []
    for path, directories, files in os.walk(top):
        if is_git_directory(path):
            repositories.append(Path(path))
        inside_git = is_git_directory(path) or ".git/worktrees/" in path
        parts = set(Path(path).relative_to(top).parts)
        for name in files:
            acts = parts & PROTECTED or name in PROTECTED or are_hooks(path) or (
                inside_git and name in ("config", "config.worktree", "commondir"))
            item = Path(path, name)
            if acts and item.exists() and "PLANTED" in item.read_text():
                found.append(str(item))
        # A link to what was planted is followed by whoever opens it.
        found += [str(Path(path, name)) for name in files + directories
                  if name in PROTECTED and os.path.islink(Path(path, name))]
    return found, repositories


def left_of(world, reports):
    """Mounts and control groups of these runs, and what Cordon keeps while one lives."""
    groups = {f"cordon-{report['run_id']}" for report in reports}
    state = world.home / ".local/state/cordon"
    return ([line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(world.path) in line]
            + [path for path, _, _ in os.walk("/sys/fs/cgroup") if os.path.basename(path) in groups]
            + [str(path) for part in ("runs", "private") for path in (state / part).glob("*")])


def open_all(world):
    """What the runs closed can be looked at. Directories of an ordinary user are no obstacle to root."""
    for path, directories, _ in os.walk(world.project):
        for name in directories:
            if not os.path.islink(os.path.join(path, name)):
                os.chmod(os.path.join(path, name), 0o755)


@pytest.fixture(params=harness.PEOPLE, ids=lambda person: person.name)
def who(request):
    return request.param


@pytest.fixture
def tree(world):
    make_repository(world)
    world.write(world.project / ".vscode/settings.json", "mine 0\n")
    world.write(world.project / ".mcp.json", "mine\n")
    world.write(world.project / ".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n", 0o755)
    for place in ("conf", "deep/conf", "sub/conf"):
        world.write(world.project / place / "secret.key", "SECRET\n")
    make_repository(world, world.project / "sub")
    git(world, "remote", "add", "origin", "https://example.com/o.git")
    return world.project


def command(name, marker):
    return ["/usr/bin/python3", "-c", HOSTILE, name, str(marker), str(7 * len(name))]


def work_outside(world, until):
    """Settings, worktrees and an editor's files, as long as the runs last. Git may stumble over what they plant."""
    rounds, noted, trees = 0, [], []
    settings = world.project / ".vscode/settings.json"
    while time.time() < until:
        rounds += 1
        if world.bare("git", "config", f"branch.b{rounds}.description", str(rounds)).status == 0:
            noted.append(rounds)
        if rounds <= 5:
            tree = world.outside / f"wt{rounds}"
            if world.bare("git", "worktree", "add", "-q", "-b", f"b{rounds}", str(tree)).status == 0:
                trees.append(tree)
        world.write(world.project / ".vscode/new", f"mine {rounds}\n").rename(settings)
        time.sleep(0.05)
    return rounds, noted, trees


def begun(world, name, cwd, marker, *words):
    """A run that has reached its command, and where its report will be."""
    report = world.trusted / f"{name}.json"
    process = world.start([world.cordon, "run", "--deny", "**/conf/*.key", "--report", report, "--",
                           *command(name, marker), *words], cwd=cwd)
    ready = cwd / f"ready-{name}.txt"
    if not wait_until(lambda: process.poll() is not None or ready.exists()) or process.poll() is not None:
        raise AssertionError(process.communicate(timeout=20))
    return process, report


def let_go(world, name, cwd, until):
    world.write(world.trusted / "go", str(until)).rename(cwd / f"go-{name}")


# A minute is for everybody in every kind; a moment for root in one and for a user in the others.
CASES = [pytest.param(person, kind, id=f"{person.name}-{kind}") for person in harness.PEOPLE for kind in TREES
         if SECONDS > 10 or person.is_root == (kind == "one tree, the younger ends first")]


@pytest.mark.parametrize("who, kind", CASES, indirect=["who"])
def test_two_hostile_runs(world, tree, kind):
    where, later, also = TREES[kind]
    marker = world.outside / "marker"
    mark = f"{world.path.name}-two-runs-{os.getpid()}"
    runs = [begun(world, "older", tree, marker, mark, *also),
            begun(world, "younger", tree / where, marker, mark, *also)]
    until = time.time() + SECONDS
    let_go(world, "younger", tree / where, until)
    let_go(world, "older", tree, until + later)
    rounds, noted, trees = work_outside(world, until)
    done, told = [], []
    for process, report in runs:
        out, err = process.communicate(timeout=120 + SECONDS)
        assert process.returncode == 0, err[-3000:]
        done.append(json.loads(out))
        told.append(err.decode()[-3000:])
    reports = [json.loads(report.read_text()) for _, report in runs]
    schema = world.cordon_verb("policy", "schema", "report").expect(0).json
    for report in reports:
        jsonschema.validate(report, schema)

    # They did work: every step succeeded or was refused more than once, and something was taken away.
    for steps in done:
        assert all(sum(counts) > 1 for counts in steps.values()), steps
        assert steps["ordinary"][0] and steps["protected_file"][0] and steps["git_directory"][0], steps
    assert any(entry["moved_to"] for report in reports for entry in report["handoff"])
    assert "ORDINARY older" in next((tree / "work-older").iterdir()).read_text()

    # A new git directory is live until its run ends (T3), and the person's git may have met one. From now on not.
    marker.unlink(missing_ok=True)
    open_all(world)
    found, repositories = in_force(tree)
    assert not found, found
    assert not list(tree.rglob("LEAK-*")) and not list(tree.glob("LEAK-*"))
    for repository in repositories:
        for words in (["status"], ["log", "-1"], ["worktree", "list"], ["checkout", "-q", "-b", "look"]):
            world.bare("git", *words, cwd=repository.parent, env=IDENTITY)
            world.bare("git", f"--git-dir={repository}", *words, cwd=world.outside, env=IDENTITY)
    assert not marker.exists()

    # What the person did is there, byte for byte.
    assert (tree / ".vscode/settings.json").read_text() == f"mine {rounds}\n"
    assert (tree / ".mcp.json").read_text() == "mine\n"
    assert (tree / ".git/hooks/pre-commit").read_text() == "#!/bin/sh\nexit 0\n"
    assert git(world, "config", "--file", ".git/config", "remote.origin.url").out == "https://example.com/o.git\n"
    # Settings that the person makes meanwhile are not safe from a run that writes over them (T3).
    for n in [] if also else noted:
        assert git(world, "config", f"branch.b{n}.description").out == f"{n}\n"
    for place in trees:
        assert git(world, "status", "--porcelain", cwd=place).out == ""

    # Nothing is left of the runs, and the next one starts.
    assert not processes_with(mark)
    assert not left_of(world, reports), told
    world.run("touch", "next").expect(0)
    assert (tree / "next").exists()


def test_bare_the_same_plants_are_in_force(world, tree):
    marker = world.outside / "marker"
    # Its ordinary work comes last: on a slow machine it takes more than a second to get there.
    for seconds in (1, 4, 16):
        let_go(world, "older", tree, time.time() + seconds)
        world.bare(*command("older", marker))
        if (tree / "work-older").is_dir():
            break
    open_all(world)
    found, _ = in_force(tree)
    assert found
    assert list(tree.rglob("LEAK-*")) and (tree / "work-older").is_dir()
    remove_tree(tree)


def test_a_start_in_a_tree_that_changes_is_a_run_or_a_refusal(world, tree):
    """A hostile run can keep others from starting in its tree as long as it lasts: what was looked at is replaced
    before it is held. It cannot make one start with less than it was to have."""
    marker = world.outside / "marker"
    process, _ = begun(world, "older", tree, marker)
    let_go(world, "older", tree, time.time() + 2)
    ended = []
    while process.poll() is None:
        done = world.run("cat", "conf/secret.key", options=["--deny", "**/conf/*.key"], cwd=tree)
        assert "SECRET" not in done.out, done.account()
        assert done.status == 1 or (done.status == 125 and str(tree) in done.err), done.account()
        ended.append(done.status)
    process.communicate()
    assert ended
    open_all(world)
    world.run("touch", "next").expect(0)


# A configuration that the person replaces has no mount any more, and the run can write it (T3). For each: what the
# person sets, what the run does then, what is there in the end, and what the report says of the file. The first
# is what happens now and should be better.
HAD = {"remote.origin.url": "https://example.com/o.git", "user.name": "Person", "core.bare": "false"}
EVIL = "printf '[core]\\n\\tfsmonitor = evil\\n' > "
AFTER = {
    # A setting that Cordon does not know is held back, whoever made it.
    "let alone": ("note.mine", "true", HAD | {"note.mine": ""}, ["added"]),
    # The next push goes to where a remote leads.
    "led elsewhere": ("user.email", "git config remote.origin.url https://evil.example/x", HAD | {"user.email": "1"},
                      ["added"]),
    "led to two places": ("user.email", "git config remote.origin.pushurl https://evil.example/x",
                          HAD | {"remote.origin.pushurl": "", "user.email": "1"}, ["added"]),
    "a new remote": ("remote.up.url", "true", HAD | {"remote.up.url": "1"}, []),
    "overwritten": ("user.email", EVIL + ".git/config", HAD | {"core.fsmonitor": ""}, ["added"]),
    "replaced": ("user.email", EVIL + "x; mv -f x .git/config", HAD | {"core.fsmonitor": ""}, ["added"]),
    "removed": ("user.email", "rm .git/config", HAD, ["deleted"]),
    "under a lock": ("user.email", EVIL + ".git/config; touch .git/config.lock", HAD | {"core.fsmonitor": ""}, ["added"]),
    "harmless": ("user.email", "true", HAD | {"user.email": "1"}, []),
}


@pytest.mark.parametrize("how", AFTER)
def test_a_configuration_that_the_person_replaced(world, how):
    key, attack, settings, told = AFTER[how]
    make_repository(world)
    git(world, "remote", "add", "origin", "https://example.com/o.git")
    git(world, "config", "user.name", "Person")
    report = world.trusted / "report.json"
    run = world.start([world.cordon, "run", "--report", report, "--", "/bin/sh", "-c",
                       f"touch ready; until [ -e go ]; do sleep 0.05; done; {attack}"])
    assert wait_until((world.project / "ready").exists)
    git(world, "config", key, "1")
    world.write(world.project / "go", "")
    _, err = run.communicate(timeout=60)
    assert run.returncode == 0, err
    for name, value in settings.items():
        assert world.bare("git", "config", "--file", ".git/config", name).out.strip() == value, (name, err)
    assert [e["change"] for e in json.loads(report.read_text())["changes"] if e["path"] == ".git/config"] == told


# One run has a mount over a protected file, the other has none, since git may replace the file there: taken away and
# put back by the other, the file has lost its mount.
TAKE_AWAY = {
    "by a link": "ln .mcp.json x && rm .mcp.json && ln x .mcp.json && rm x",
    "by an earlier link": "rm .mcp.json && mv x .mcp.json",
    "by a name": "mv .mcp.json x && mv x .mcp.json",
}


@pytest.mark.parametrize("first", ["with a mount", "without"])
@pytest.mark.parametrize("how", TAKE_AWAY)
def test_a_run_does_not_take_the_mount_of_another_away(world, first, how):
    """The repository belongs to one of the two alone, so the other would mount over its file."""
    make_repository(world)
    sub = world.project / "sub"
    world.write(sub / ".mcp.json", "{}\n")
    git(world, "add", "sub")
    git(world, "-c", "user.name=A", "-c", "user.email=a", "commit", "-q", "-m", "settings")
    elsewhere = world.make_directory(world.home / "elsewhere")

    def wait(name):
        return f"n=0; until [ -e {sub}/{name} ] || [ $n = 300 ]; do n=$((n+1)); sleep 0.05; done; "

    take = ("ln .mcp.json x; " if "earlier" in how else "") + "touch taker; " + wait("taken") + \
        TAKE_AWAY[how] + "; touch away; " + wait("over")
    plant = f"touch {sub}/planter; " + wait("away") + wait("gone") + f"echo evil > {sub}/.mcp.json; cat {sub}/.mcp.json"
    starts = {
        "taker": lambda: world.start([world.cordon, "run", "--", "sh", "-c", take], cwd=sub),
        "planter": lambda: world.start([world.cordon, "run", "--write", sub, "--", "sh", "-c", plant], cwd=elsewhere)}
    runs = {}
    for name in ("planter", "taker") if first == "with a mount" else ("taker", "planter"):
        runs[name] = starts[name]()
        assert wait_until((sub / name).exists), runs[name].communicate(timeout=60)
    world.write(sub / "taken", "")
    assert wait_until((sub / "away").exists)
    # The one that took it away ends first, and finds everything as it was.
    world.write(sub / "over", "")
    _, err = runs["taker"].communicate(timeout=60)
    assert runs["taker"].returncode == 0, err
    world.write(sub / "gone", "")
    out, err = runs["planter"].communicate(timeout=60)
    assert runs["planter"].returncode == 0, err
    assert (sub / ".mcp.json").read_text() == "{}\n", err
    # A further name is read-only, whatever it is called by then.
    if b"Read-only" not in err:
        assert b"evil" in out and b"sub/.mcp.json" in err and b"cordon changes" in err, (out, err)


@pytest.mark.parametrize("first", ["native", "landlock"])
def test_a_run_without_mounts_does_not_work_beside_one_with_mounts(world, first):
    """It could take away the mount on git's configuration, put the same file back, and the other would write it."""
    make_repository(world)
    ceiling = world.document(f'version = 1\n[require]\naccept_missing = ["namespaces"]\n[fs]\nread = ["/"]\n'
                             f'write = ["{world.project}"]\n', "ceiling.toml")

    def run(backend, script):
        return [world.cordon, "run", "--backend", backend, "--ceiling", ceiling, "--", "sh", "-c", script]

    second = "landlock" if first == "native" else "native"
    older = world.start(run(first, "touch ready; until [ -e go ]; do sleep 0.05; done"))
    assert wait_until((world.project / "ready").exists), older.communicate(timeout=60)
    refused = world.execute(run(second, "touch made"))
    assert refused.status == 125 and "is at work in this tree with" in refused.err, refused.account()
    assert not (world.project / "made").exists()
    # Beside one of its own kind it works.
    world.execute(run(first, "touch made")).expect(0)
    world.write(world.project / "go", "")
    _, err = older.communicate(timeout=60)
    assert older.returncode == 0, err
    world.execute(run(second, "touch more")).expect(0)
    assert (world.project / "more").exists()


BEGUN_TOGETHER = int(os.environ.get("CORDON_BEGUN_TOGETHER", "8"))


@pytest.mark.once
def test_runs_that_begin_together_all_work(world):
    """As the calls of an agent do. What git tracks is live for a run that was granted the repository, and held by a mount
    for one that was granted a part: of those that begin in the same moment, the later ones follow the first."""
    make_repository(world)
    world.write(world.project / "sub/.mcp.json", "{}\n")
    git(world, "add", "sub/.mcp.json")
    git(world, "commit", "-q", "-m", "more")
    whole = [world.cordon, "run", "--", "sh", "-c", "echo evil > sub/.mcp.json"]
    part = [world.cordon, "run", "--policy", "strict", "--read", "@system", "--read", "@toolchains", "--write",
            world.project / "sub", "--", "sh", "-c", f"echo evil > {world.project}/sub/.mcp.json"]
    for _ in range(BEGUN_TOGETHER):
        runs = [world.start(each) for each in (whole, part) * 3]
        for run in runs:
            _, err = run.communicate(timeout=60)
            assert b"same moment" not in err, err.decode()
            assert run.returncode != 125, err.decode()
        assert (world.project / "sub/.mcp.json").read_text() == "{}\n"


ENDED_TOGETHER = int(os.environ.get("CORDON_ENDED_TOGETHER", "6"))


def test_two_runs_that_end_together(world):
    """Both could write a configuration that the person had replaced. Their searches take turns: what one of them has
    just put there is not taken for something of the other run."""
    make_repository(world)
    for name, value in HAD.items():
        git(world, "config", name, value)
    for n in range(300):
        world.make_directory(world.project / f"tree/{n}")
    for turn in range(ENDED_TOGETHER):
        runs = [world.start([world.cordon, "run", "--", "/bin/sh", "-c",
                             f"touch ready-{name}; until [ -e go-{turn} ]; do sleep 0.01; done; {EVIL} .git/config"])
                for name in ("one", "two")]
        assert wait_until(lambda: all((world.project / f"ready-{name}").exists() for name in ("one", "two")))
        git(world, "config", "user.email", str(turn))
        world.write(world.project / f"go-{turn}", "")
        for run in runs:
            _, err = run.communicate(timeout=60)
            assert run.returncode == 0, err
        for name, value in HAD.items():
            assert world.bare("git", "config", "--file", ".git/config", name).out.strip() == value, (turn, name)
        assert world.bare("git", "config", "--file", ".git/config", "core.fsmonitor").out == "", turn
        for name in ("one", "two"):
            (world.project / f"ready-{name}").unlink()


def test_a_search_that_cannot_have_its_turn_is_made_by_the_next_start(world):
    make_repository(world)
    locks = world.home / ".local/state/cordon/searches.lock"
    world.make_directory(locks)
    plant = ["sh", "-c", "mkdir -p sub/.vscode && echo x > sub/.vscode/tasks.json"]
    done = world.run(*plant).expect(0)
    assert "unchecked" in done.err and "searches.lock" in done.err, done.account()
    assert (world.project / "sub/.vscode/tasks.json").exists()
    locks.rmdir()
    after = world.run("true").expect(0)
    assert "sub/.vscode" in after.err, after.account()
    assert not (world.project / "sub/.vscode").exists()
    world.run("true").expect(0)


CROWD = "seq 4200 | sed 's|.*|crowd/&/.vscode|' | xargs mkdir -p; touch ready; exec sleep 300"


def test_who_is_kept_from_starting_is_told_whom_to_end(world):
    """A run can make the tree one that no run can be started in. The refusal names it, and ending it helps."""
    hostile = world.start([world.cordon, "run", "--", "sh", "-c", CROWD], cwd=world.project)
    try:
        assert wait_until((world.project / "ready").exists, 60)
        refused = world.run("true")
        assert refused.status == 125, refused.account()
        found = re.search(r"run [0-9a-f]{16} is at work in this tree and may be the cause: end it \(kill (\d+)\)", refused.err)
        assert found, refused.account()
        os.kill(int(found[1]), signal.SIGTERM)
        hostile.communicate(timeout=60)
    finally:
        if hostile.poll() is None:
            hostile.kill()
            hostile.communicate()
    world.run("true").expect(0)
