"""Protected files as private copies: work inside succeeds, the host keeps its own version, and what
differs is kept aside and named. Every test of what is held has the same step bare, where it works."""

import json
import os
import signal

import pytest

from gitrepo import IDENTITY, git, make_repository
from support.harness import alive, noted_processes, remove_tree, tree_digest, wait_until

SETTINGS = ".vscode/settings.json"


def safe(script):
    """Inside, the project belongs to another id where root runs it."""
    return ("git config --global --add safe.directory '*'; git config --global user.name A; "
            "git config --global user.email a@example.org; " + script)


def holding(world):
    """Options under which what the person's other branches have is held back as well."""
    policy = world.document('version = 1\nextends = "workspace"\n[fs]\ntrust_tracked = false\n',
                            "holding.toml")
    return ["--policy", policy]


def shell(world, script, **how):
    return world.report("/bin/sh", "-c", safe(script), **how, env=IDENTITY | how.pop("env", {}))


@pytest.fixture
def branches(world):
    """Two branches that differ in a protected directory, a protected file and an ordinary one."""
    make_repository(world)
    world.write(world.project / SETTINGS, '{"on": "main"}\n')
    world.write(world.project / ".vscode/tasks.json", "{}\n")
    world.write(world.project / ".mcp.json", '{"on": "main"}\n')
    world.write(world.project / "plain.txt", "main\n")
    git(world, "add", SETTINGS, ".vscode/tasks.json", ".mcp.json", "plain.txt")
    git(world, "commit", "-q", "-m", "settings")
    git(world, "checkout", "-q", "-b", "other")
    world.write(world.project / SETTINGS, '{"on": "other"}\n')
    world.write(world.project / ".vscode/extensions.json", "[]\n")
    (world.project / ".vscode/tasks.json").unlink()
    world.write(world.project / ".mcp.json", '{"on": "other"}\n')
    world.write(world.project / "plain.txt", "other\n")
    git(world, "add", "-A", ".vscode", ".mcp.json", "plain.txt")
    git(world, "commit", "-q", "-m", "other")
    git(world, "checkout", "-q", "main")
    return world.project


def protected(project):
    return (tree_digest(project / ".vscode"), (project / ".mcp.json").read_bytes(),
            tree_digest(project / ".git/hooks"))


def changes(report):
    """Without what is gone with the private home: there git's own settings were made."""
    return {(entry["path"], entry["change"], entry["state"]) for entry in report["changes"]
            if entry["state"] != "lost"}


@pytest.fixture
def submodule(world):
    """A project with a submodule `dep`."""
    make_repository(world)
    library = world.home / "library"
    world.bare("/bin/sh", "-c", f"git init -q {library} && cd {library} && echo p > p && git add p && git commit -q -m p",
               env=IDENTITY).expect(0)
    git(world, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "dep")
    git(world, "commit", "-q", "-m", "dep")
    return world.project / "dep"


FALSE = ("git init -q x; git -C x -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m x; "
         "git -C x config core.fsmonitor \"touch $PWD/ran; false\"; ")
FALSE_POINTERS = {
    "rewritten": FALSE + "echo 'gitdir: ../x/.git' > dep/.git",
    "replaced": FALSE + "rm dep/.git; echo 'gitdir: ../x/.git' > dep/.git",
    "a repository": FALSE + "rm dep/.git; cp -r x/.git dep/.git",
    "a link": FALSE + "rm dep/.git; ln -s ../x/.git dep/.git",
    "with its directory": FALSE + "mv dep old; mkdir dep; echo 'gitdir: ../x/.git' > dep/.git; rm old/.git",
}


@pytest.mark.parametrize("way", FALSE_POINTERS)
def test_a_false_pointer_of_a_submodule_is_gone_after_the_run(world, submodule, way):
    """Git removes the file with a submodule, so it is no mount: it is put back, and nothing that was planted runs."""
    pointer = submodule / ".git"
    before = pointer.read_bytes()
    ran = world.project / "ran"
    status = "git status; git -C dep status; git submodule status; true"
    control = world.home / "control"
    world.bare("/bin/sh", "-c", f"cp -a . {control}; cd {control}; {FALSE_POINTERS[way]}; {status}", env=IDENTITY)
    assert (control / "ran").exists(), "the plant runs nothing where nothing holds it"
    done, report = shell(world, FALSE_POINTERS[way])
    assert pointer.is_file() and not pointer.is_symlink() and pointer.read_bytes() == before, done.account()
    assert any(entry["path"].startswith("dep/.git") for entry in report["handoff"] + report["changes"]), report
    assert not ran.exists()
    world.bare("/bin/sh", "-c", status, env=IDENTITY)
    assert not ran.exists(), done.account()


def test_the_pointer_of_a_writable_submodule_itself_stays_a_mount(world, submodule):
    done, _ = world.report("/bin/sh", "-c", "rm .git || echo x > .git", cwd=submodule)
    assert done.status != 0 and "busy" in done.err.lower(), done.account()
    assert (submodule / ".git").is_file()


def test_the_pointer_that_a_killed_run_changed_is_put_back_by_the_next(world, submodule):
    pointer = submodule / ".git"
    before = pointer.read_bytes()
    run = world.start([world.cordon, "run", "--", "/bin/sh", "-c",
                       "rm dep/.git; echo 'gitdir: ../x' > dep/.git; touch ready; sleep 300"])
    try:
        assert wait_until((world.project / "ready").exists)
        assert wait_until(lambda: noted_processes(world.home))
        started = noted_processes(world.home)
        os.killpg(run.pid, signal.SIGKILL)
    finally:
        run.wait()
    assert wait_until(lambda: not any(alive(one) for one in started))
    assert pointer.read_bytes() != before
    done = world.run("/bin/cat", "dep/.git").expect(0)
    assert done.out.encode() == before and pointer.read_bytes() == before, done.account()


OPERATIONS = {
    "checkout": ("git checkout -q other", "other"),
    "merge": ("git merge -q --no-edit other", "other"),
    "rebase": ("git checkout -q -b topic main~1 2>/dev/null && git commit -q --allow-empty -m x && "
               "git rebase -q other", "other"),
    "reset": ("git reset -q --hard other", "other"),
    "stash": (f"echo changed > {SETTINGS}; echo changed > .mcp.json; echo changed > plain.txt; "
              "git stash -q && git stash pop -q && git checkout -q -- plain.txt && "
              "git checkout -q -f other", "other"),
    "cherry-pick": ("git cherry-pick other >/dev/null", "other"),
    "restore": ("git restore -s other -- .vscode .mcp.json plain.txt", "other"),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_git_replaces_protected_files_inside_and_not_on_the_host(world, branches, operation):
    script, plain = OPERATIONS[operation]
    before = protected(branches)
    done, report = shell(world, f"{script} && cat {SETTINGS} .mcp.json plain.txt && ls .vscode",
                         options=holding(world))
    done.expect(0)
    assert done.out == ('{"on": "other"}\n{"on": "other"}\nother\n'
                        "extensions.json\nsettings.json\n"), done.account()
    assert protected(branches) == before, done.account()
    assert (branches / "plain.txt").read_text() == plain + "\n"
    assert {(SETTINGS, "modified", "held"), (".vscode/extensions.json", "added", "held"),
            (".vscode/tasks.json", "deleted", "held"),
            (".mcp.json", "modified", "held")} <= changes(report), report["changes"]
    assert "held back: .vscode (3 files); cordon changes apply " in done.err, done.err
    assert "protected" in report["enforcement"]["lost"]
    assert world.left_behind() == [] if hasattr(world, "left_behind") else True
    # Taken, the tree is what git made of it.
    world.cordon_verb("changes", "apply", report["run_id"]).expect(0)
    assert (branches / SETTINGS).read_text() == '{"on": "other"}\n'
    assert (branches / ".mcp.json").read_text() == '{"on": "other"}\n'
    assert sorted(p.name for p in (branches / ".vscode").iterdir()) == ["extensions.json",
                                                                        "settings.json"]
    if operation in ("checkout", "reset", "merge"):
        assert git(world, "status", "--porcelain", "--untracked-files=no").out == ""
    # And back.
    world.cordon_verb("changes", "restore", report["run_id"]).expect(0)
    assert protected(branches) == before


def test_the_same_operations_work_bare(world, branches):
    for script, _ in OPERATIONS.values():
        world.bare("git", "checkout", "-q", "-f", "main", env=IDENTITY).expect(0)
        world.bare("git", "branch", "-q", "-f", "other", "other", env=IDENTITY)
        head = git(world, "rev-parse", "HEAD").out.strip()
        world.bare("/bin/sh", "-c", script, env=IDENTITY).expect(0)
        assert (branches / SETTINGS).read_text() == '{"on": "other"}\n', script
        git(world, "checkout", "-q", "-f", "main")
        git(world, "reset", "-q", "--hard", head)
        world.bare("git", "branch", "-q", "-D", "topic", env=IDENTITY)


def test_sparse_checkout_works_inside(world, branches):
    before = protected(branches)
    done, report = shell(world, "git status >/dev/null; git sparse-checkout set --no-cone /plain.txt && ls .vscode | wc -l")
    assert done.expect(0).out.strip() == "0", done.account()
    assert protected(branches) == before
    assert (SETTINGS, "deleted", "held") in changes(report)
    assert any(e["path"] == ".git/config" and "core.sparsecheckout" in e["reason"]
               for e in report["changes"]) or any(
                   "worktreeconfig" in e["reason"] for e in report["changes"]), report["changes"]


def test_nothing_changed_is_nothing_told(world, branches):
    done, report = shell(world, "git status --porcelain; cat .mcp.json >/dev/null; ls .vscode")
    assert changes(report) == set() and "held back" not in done.err, done.account()
    assert not (world.home / ".local/state/cordon/handoff").exists()
    assert list((world.home / ".local/state/cordon/private").iterdir()) == []


@pytest.mark.parametrize("script,change", [
    (f"echo evil > {SETTINGS}", (SETTINGS, "modified", "held")),
    (f"rm {SETTINGS}", (SETTINGS, "deleted", "held")),
    (f"chmod 777 {SETTINGS}", (SETTINGS, "mode", "held")),
    (f"rm {SETTINGS}; ln -s /etc/passwd {SETTINGS}", (SETTINGS, "type", "held")),
    ("mkdir .vscode/d; echo evil > .vscode/d/x", (".vscode/d/x", "added", "held")),
    (f"mv {SETTINGS} .vscode/y", (".vscode/y", "added", "held")),
    ("rm -rf .vscode/*; chmod 0 .vscode", (SETTINGS, "deleted", "held")),
    ("echo evil > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
     (".git/hooks/pre-commit", "added", "held")),
])
def test_every_kind_of_change_is_held_and_named(world, branches, script, change):
    before = protected(branches)
    done, report = shell(world, script)
    done.expect(0)
    assert protected(branches) == before
    assert change in changes(report), report["changes"]
    assert (branches / SETTINGS).stat().st_mode & 0o777 == 0o644
    world.bare("/bin/sh", "-c", script).expect(0)
    world.bare("/bin/sh", "-c", "chmod 700 .vscode").expect(0)
    assert protected(branches) != before or (branches / SETTINGS).stat().st_mode & 0o777 == 0o777


def test_the_copy_cannot_be_removed_or_replaced(world, branches):
    before = protected(branches)
    done, _ = shell(world, "rmdir .vscode; mv .vscode gone; rm -rf .vscode; mkdir -p .vscode; "
                    f"echo evil > {SETTINGS}; cat {SETTINGS}")
    assert done.out == "evil\n", done.account()
    assert protected(branches) == before


def test_a_second_run_sees_the_hosts_version(world, branches):
    shell(world, f"echo evil > {SETTINGS}")[0].expect(0)
    done, _ = shell(world, f"cat {SETTINGS}")
    assert done.out == '{"on": "main"}\n'


def test_too_much_stays_read_only_and_that_is_said(world, branches):
    for number in range(3):
        world.write(branches / f".vscode/large{number}", b"x" * (30 << 20))
    done, report = shell(world, f"echo evil > {SETTINGS}; echo {SETTINGS} > /dev/null")
    assert "Read-only file system" in done.err, done.account()
    assert any(entry["what"] == "held" and entry["asked"].endswith(".vscode")
               for entry in report["reductions"]), report["reductions"]
    assert (branches / SETTINGS).read_text() == '{"on": "main"}\n'


def test_what_is_masked_in_a_held_directory_stays_masked(world, branches):
    world.write(branches / ".vscode/secret.key", "SECRET\n")
    done, _ = shell(world, f"cat .vscode/secret.key; echo evil > {SETTINGS}; echo done",
                    options=["--deny", "**/*.key"])
    assert "SECRET" not in done.out and "done" in done.out, done.account()
    assert (branches / SETTINGS).read_text() == '{"on": "main"}\n'
    plain, _ = shell(world, "cat .vscode/secret.key")
    assert plain.out == "SECRET\n"


@pytest.mark.only("root")
def test_a_copy_shows_root_nothing_that_the_original_would_not(world, branches):
    """Root reads every file; its command, without root's powers, does not."""
    theirs = world.write(branches / ".vscode/theirs", "SECRET\n", 0o600)
    os.chown(theirs, 64123, 64123)
    assert world.bare("cat", str(theirs)).expect(0).out == "SECRET\n"
    done, report = shell(world, f"cat .vscode/theirs; echo evil > {SETTINGS}")
    assert "SECRET" not in done.out and "Read-only file system" in done.err, done.account()
    assert any(entry["what"] == "held" for entry in report["reductions"]), report["reductions"]


def test_a_single_file_that_git_does_not_track_is_a_private_copy(world, branches):
    git(world, "rm", "-q", "--cached", ".mcp.json")
    git(world, "commit", "-q", "-m", "untracked")
    before = (branches / ".mcp.json").read_bytes()
    done, report = shell(world, "echo evil > .mcp.json && cat .mcp.json; rm .mcp.json")
    assert done.out == "evil\n" and "busy" in done.err.lower(), done.account()
    assert (branches / ".mcp.json").read_bytes() == before
    assert (".mcp.json", "modified", "held") in changes(report)
    assert "protected" not in report["enforcement"]["lost"]


# A protected name that is a symlink: into the project, and to a place that is granted nowhere.

LINK_ATTACKS = {"replaced by a directory": "rm .zed; mkdir .zed; echo evil > .zed/tasks.json",
                "led elsewhere": "ln -sfn evil .zed", "renamed": "mv .zed gone", "removed": "rm -f .zed"}


@pytest.mark.parametrize("attack", LINK_ATTACKS)
@pytest.mark.parametrize("tracked", [False, True], ids=["untracked", "tracked"])
@pytest.mark.parametrize("inside", [True, False], ids=["into the project", "elsewhere"])
def test_a_protected_link_stays(world, attack, tracked, inside):
    make_repository(world)
    place = world.make_directory((world.project if inside else world.outside) / "settings")
    world.write(place / "tasks.json", "mine\n")
    target = "settings" if inside else str(place)
    os.symlink(target, world.project / ".zed")
    world.own(world.project / ".zed")
    if tracked:
        git(world, "add", ".zed")
        git(world, "commit", "-q", "-m", "link")
    script = f"mkdir evil; echo evil > evil/tasks.json; {LINK_ATTACKS[attack]}; touch reached"
    done, report = shell(world, script)
    assert (world.project / "reached").exists(), done.account()
    assert os.readlink(world.project / ".zed") == target, done.account() + json.dumps(report["changes"])
    assert (place / "tasks.json").read_text() == "mine\n"
    # What was done to it is named: it was refused, or put back. Under its new name it protects nothing.
    told = [entry["path"] for entry in report["handoff"]]
    assert "busy" in done.err.lower() or ".zed" in told, done.account()
    if tracked:
        assert git(world, "status", "--porcelain", ".zed").out == ""
    world.bare("/bin/sh", "-c", script.replace("mkdir evil; ", "mkdir -p evil; "))
    assert not os.path.islink(world.project / ".zed") or os.readlink(world.project / ".zed") == "evil"


def test_git_changes_a_tracked_link_inside_and_not_on_the_host(world):
    make_repository(world)
    for name in ("one", "two"):
        world.write(world.project / name / "tasks.json", name)
    os.symlink("one", world.project / ".zed")
    git(world, "add", ".")
    git(world, "commit", "-q", "-m", "one")
    git(world, "checkout", "-q", "-b", "other")
    (world.project / ".zed").unlink()
    os.symlink("two", world.project / ".zed")
    git(world, "commit", "-q", "-a", "-m", "two")
    git(world, "checkout", "-q", "main")
    done, report = shell(world, "git checkout -q other && cat .zed/tasks.json", options=holding(world))
    assert done.expect(0).out == "two", done.account()
    assert os.readlink(world.project / ".zed") == "one", done.account()
    assert ".zed" in [entry["path"] for entry in report["changes"] if entry["state"] == "held"], report["changes"]
    world.cordon_verb("changes", "apply", report["run_id"]).expect(0)
    assert os.readlink(world.project / ".zed") == "two"
    assert git(world, "status", "--porcelain").out == ""


def test_a_killed_run_keeps_what_it_changed(world, branches):
    before = protected(branches)
    run = world.start([world.cordon, "run", "--", "/bin/sh", "-c",
                       f"echo evil > {SETTINGS}; echo evil > .mcp.json; touch ready; sleep 300"])
    try:
        assert wait_until((branches / "ready").exists)
        # A start that cannot know whom to wait for, or for whom it waits too long, leaves it to a later one.
        assert wait_until(lambda: noted_processes(world.home))
        started = noted_processes(world.home)
        os.killpg(run.pid, signal.SIGKILL)
    finally:
        run.wait()
    assert wait_until(lambda: not any(alive(one) for one in started))
    done, report = shell(world, f"cat {SETTINGS} .mcp.json")
    assert done.out == '{"on": "main"}\n{"on": "main"}\n', done.account()
    assert protected(branches) == before
    assert ".vscode" in done.err and "the changed one is" in done.err, done.err
    listed = world.cordon_verb("changes", "list", "--json").expect(0).json
    assert {(SETTINGS, "modified"), (".mcp.json", "modified")} <= {
        (entry["path"], entry["change"]) for entry in listed["changes"]}, listed
    assert listed["run"] != report["run_id"]
    world.cordon_verb("changes", "apply", listed["run"], ".vscode").expect(0)
    assert (branches / SETTINGS).read_text() == "evil\n"


def test_a_hook_in_a_closed_repository_is_nothing_that_a_commit_deletes(world):
    """No index has it, so nothing is to be marked there and nobody is warned."""
    plant = "git init -q g && echo x > g/.git/hooks/post-commit && echo '{}' > g/.mcp.json; "
    _, report = world.report("sh", "-c", plant + "git -C g add .mcp.json; chmod 311 g/.git")
    assert "g/.git/hooks" in str(report["handoff"]), report["handoff"]
    told = [entry["kind"] for entry in report["handoff"] if "may delete" in entry["kind"]]
    # The file that the index has is told, and the hook is not.
    assert ".git/hooks" not in str(told), told
    world.bare("chmod", "-R", "u+rwx", world.project / "g").expect(0)


# git's configuration

CONFIG_KEYS = [
    # written back
    ("remote.fork.url", "https://example.com/a.git", True),
    ("remote.fork.url", "ssh://git@example.com/a.git", True),
    ("remote.fork.url", "git@example.com:me/a.git", True),
    ("remote.fork.fetch", "+refs/heads/*:refs/remotes/fork/*", True),
    ("branch.topic.remote", "origin", True),
    ("branch.topic.merge", "refs/heads/topic", True),
    ("branch.topic.rebase", "true", True),
    ("submodule.lib.url", "https://example.com/lib.git", True),
    ("submodule.lib.active", "true", True),
    # held back
    ("remote.fork.url", "/tmp/evil", False),
    ("remote.fork.url", "ext::sh -c evil", False),
    ("remote.fork.url", "ssh://a@-oProxyCommand=evil/x", False),
    ("remote.fork.fetch", "+refs/heads/*:refs/heads/*", False),
    ("remote.fork.pushurl", "https://example.com/b.git", False),
    ("remote.fork.uploadpack", "evil", False),
    ("remote.fork.vcs", "evil", False),
    ("remote.fork.proxy", "http://evil.example", False),
    ("remote.origin.url", "https://evil.example/a.git", False),
    ("remote.origin.pushurl", "https://evil.example/a.git", False),
    ("branch.topic.remote", "https://evil.example/a.git", False),
    ("branch.topic.pushremote", "evil", False),
    ("submodule.lib.update", "!evil", False),
    ("user.email", "evil@example.com", False),
    ("core.fsmonitor", "./evil", False),
    ("core.hooksPath", "./evil", False),
    ("alias.st", "!evil", False),
    ("include.path", "./evil", False),
    ("url.https://evil.example/.insteadOf", "https://example.com/", False),
    ("credential.helper", "!evil", False),
    ("filter.x.clean", "evil", False),
]


def test_the_table_of_settings_that_last(world):
    make_repository(world)
    git(world, "remote", "add", "origin", "https://example.com/origin.git")
    config = world.project / ".git/config"
    original = config.read_bytes()
    wrong = []
    for key, value, lasts in CONFIG_KEYS:
        done, report = shell(world, f"git config '{key}' '{value}' && git config '{key}'")
        assert done.expect(0).out == value + "\n"
        there = world.bare("git", "config", key, env=IDENTITY)
        [entry] = [e for e in report["changes"] if e["path"] == ".git/config"] or [None]
        state = entry and entry["state"]
        held = there.out.strip() != value or original == config.read_bytes()
        if held == lasts or state != ("applied" if lasts else "held"):
            wrong.append((key, value, there.out, state))
        elif key.lower() not in entry["reason"].lower():
            wrong.append((key, "is not named", entry["reason"]))
        if not lasts:
            assert f"held back: .git/config: " in done.err, done.err
            assert original == config.read_bytes(), key
        config.write_bytes(original)
        world.own(config)
    assert not wrong, wrong


def test_ordinary_git_work_lasts(world):
    make_repository(world)
    bare = world.make_directory(world.project / "up.git")
    git(world, "init", "-q", "--bare", str(bare))
    config = world.project / ".git/config"
    done, report = shell(world, "git remote add up https://example.com/up.git && "
                         "git checkout -q -b topic && git config branch.topic.remote up && "
                         "git config branch.topic.merge refs/heads/topic && "
                         "git config user.email evil@example.com")
    done.expect(0)
    assert git(world, "config", "remote.up.url").out == "https://example.com/up.git\n"
    assert git(world, "config", "branch.topic.merge").out == "refs/heads/topic\n"
    assert "evil" not in config.read_text()
    assert "held back: .git/config: user.email; cordon changes apply" in done.err, done.err
    assert not (world.project / ".git/config.lock").exists()
    world.cordon_verb("changes", "apply", report["run_id"], ".git/config").expect(0)
    assert git(world, "config", "user.email").out == "evil@example.com\n"


def test_a_lock_or_a_change_of_the_host_wins(world):
    make_repository(world)
    config = world.project / ".git/config"
    before = config.read_bytes()
    script = ("git config branch.topic.remote origin; touch ready; "
              "while [ ! -e go ]; do sleep 0.05; done")
    for step in ("lock", "change"):
        run = world.start([world.cordon, "run", "--", "/bin/sh", "-c", safe(script)], env=IDENTITY)
        assert wait_until((world.project / "ready").exists)
        if step == "lock":
            lock = world.write(world.project / ".git/config.lock", "")
        else:
            git(world, "config", "user.name", "Person")
        world.write(world.project / "go", "")
        _, err = run.communicate(timeout=60)
        assert b"held back: .git/config: branch.topic.remote" in err, err
        assert b"branch" not in config.read_bytes()
        if step == "lock":
            assert config.read_bytes() == before
            lock.unlink()
        for name in ("ready", "go"):
            (world.project / name).unlink()
    assert git(world, "config", "user.name").out == "Person\n"
    world.cordon_verb("changes", "apply", "last", ".git/config").expect(1)
    assert git(world, "config", "user.name").out == "Person\n"


# Removal

def test_a_nested_repository_can_be_removed(world):
    make_repository(world)
    make_repository(world, world.project / "build/deps/lib")
    world.write(world.project / "build/deps/lib/.vscode/settings.json", "{}\n")
    done, report = shell(world, "rm -rf build; true")
    assert not (world.project / "build").exists(), done.account()
    assert (world.project / ".git/HEAD").exists()
    gone = [e for e in report["changes"] if e["reason"] == "removed by the run"]
    assert "finished what the run began to remove" in done.err
    assert {"build/deps/lib/.git"} <= {e["path"] for e in gone}, report["changes"]
    world.cordon_verb("changes", "restore", report["run_id"]).expect(0)
    assert (world.project / "build/deps/lib/.git/config").exists()


def test_a_clone_with_protected_files_of_its_own_can_be_removed(world):
    """What git tracks of them is no mount: the run removes it, it is put back, and goes with the rest."""
    make_repository(world)
    lib = make_repository(world, world.project / "build/deps/lib")
    names = [".mcp.json", ".pre-commit-config.yaml", "sub/mise.toml"]
    for name in names:
        world.write(lib / name, "x\n")
    os.symlink("nowhere", lib / ".zed")
    git(world, "add", "-A", cwd=lib)
    git(world, "commit", "-q", "-m", "protected", cwd=lib)
    os.symlink("nowhere", lib / ".idea")
    removed = lib / ".mcp.json"
    shell(world, f"rm {removed}")[0].expect(0)
    assert removed.read_text() == "x\n", "by itself it is put back"
    done, report = shell(world, "rm -rf build; true")
    assert not (world.project / "build").exists(), done.account() + json.dumps(report["changes"])
    assert "put back" not in done.err and "finished what the run began to remove" in done.err, done.err
    told = {entry["path"]: entry["state"] for entry in report["changes"] if entry["state"] != "lost"}
    taken = {name.partition("/")[0] for name in names} | {".zed", ".idea", ".git"}
    assert {f"build/deps/lib/{name}" for name in taken} <= set(told), told
    assert set(told.values()) == {"applied"} and not report["handoff"], report
    world.cordon_verb("changes", "restore", report["run_id"]).expect(0)
    assert all((lib / name).read_text() == "x\n" for name in names)
    assert os.readlink(lib / ".zed") == os.readlink(lib / ".idea") == "nowhere"
    assert git(world, "config", "--file", lib / ".git/config", "core.bare").out == "false\n"


def test_a_linked_worktree_can_be_removed(world):
    make_repository(world)
    git(world, "worktree", "add", "-q", "wt")
    assert (world.project / "wt/tracked.txt").exists()
    done, report = shell(world, "rm -rf wt; true")
    assert not (world.project / "wt").exists(), done.account() + json.dumps(report["changes"])
    assert not (world.project / ".git/worktrees/wt").exists(), done.account()
    assert "/wt" not in git(world, "worktree", "list").out
    assert git(world, "worktree", "prune", "-v").out == ""
    world.cordon_verb("changes", "restore", report["run_id"]).expect(0)
    assert "/wt" in git(world, "worktree", "list").out


def test_what_was_not_emptied_stays(world):
    make_repository(world)
    nested = make_repository(world, world.project / "nested")
    before = tree_digest(nested)
    shell(world, "rm -rf nested/.git/hooks; true")[0].expect(0)
    assert tree_digest(nested) == before
    shell(world, "rm -rf nested/tracked.txt nested/.git/objects; true")
    assert (nested / ".git/config").exists() and (nested / ".git/HEAD").exists()


def test_the_repository_of_the_grant_is_never_finished_off(world):
    make_repository(world)
    shell(world, "rm -rf .git; true")
    assert (world.project / ".git/config").exists()


def test_what_cannot_be_taken_keeps_nothing_else_from_it(world):
    """A run leaves a FIFO, and what it closed, among its changes without effort; and a link in place of a directory."""
    for name in ("settings.json", "tasks.json", "sub/one"):
        world.write(world.project / ".vscode" / name, "mine\n")
    before = tree_digest(world.project / ".vscode")
    script = ("cd .vscode; mkfifo a-pipe; echo closed > b-closed; mkdir c; echo x > c/x; echo new > settings.json; rm -r sub; "
              "ln -s /etc sub; rm tasks.json; chmod 0 b-closed c/x c")
    world.backend = world.backend and "native"  # elsewhere nothing is held back
    world.run("/bin/sh", "-ec", script).expect(0)
    assert tree_digest(world.project / ".vscode") == before
    applied = world.cordon_verb("changes", "apply", "last", ".vscode").expect(1)
    assert "a-pipe: neither a file" in applied.err and "conflict" not in applied.err, applied.account()
    place = world.project / ".vscode"
    assert sorted(path.name for path in place.iterdir()) == ["b-closed", "c", "settings.json", "sub"]
    assert (place / "settings.json").read_text() == "new\n" and os.readlink(place / "sub") == "/etc"
    assert (place / "b-closed").stat().st_mode & 0o777 == 0 and (place / "c/x").stat().st_size == 2
    listed = world.cordon_verb("changes", "list", "--json", "last").json["changes"]
    assert [one["path"] for one in listed if one["state"] == "held"] == [".vscode/a-pipe"], listed
    world.cordon_verb("changes", "restore", "last").expect(0)
    (place / "c").rmdir()  # it came with what was in it
    assert tree_digest(place) == before
    # The control: without them all of it is taken.
    world.run("/bin/sh", "-ec", "echo new > .vscode/settings.json").expect(0)
    world.cordon_verb("changes", "apply", "last", ".vscode").expect(0)


def test_a_fifo_keeps_nothing_else_of_a_stage_from_being_taken(world):
    world.backend = world.backend and "native"  # no other stages
    script = "mkdir .vscode; echo new > .vscode/settings.json; "
    for pipe, status in (("mkfifo .vscode/a-pipe", 1), ("true", 0)):
        world.run("/bin/sh", "-ec", script + pipe, options=["--stage"]).expect(0)
        applied = world.cordon_verb("changes", "apply", "last", ".vscode").expect(status)
        assert ("a-pipe: neither a file" in applied.err) == (status == 1), applied.account()
        assert [path.name for path in (world.project / ".vscode").iterdir()] == ["settings.json"]
        remove_tree(world.project / ".vscode")


def test_the_refusal_of_a_protected_name_says_what_becomes_of_it(world):
    world.write(world.project / SETTINGS, "mine\n")
    start = world.make_directory(world.home / ".config/fish")
    refused = world.run("/bin/true", options=["--write", ".vscode"])
    assert refused.status == 125 and "what a command gets to write there is held back" in refused.err, refused.account()
    elsewhere = world.run("/bin/true", options=["--write", start])
    assert elsewhere.status == 125 and "make the change outside" in elsewhere.err, elsewhere.account()
    # What it says of the one, and would not be true of the other.
    script = f"echo new > {SETTINGS}; mkdir -p {start}; echo new > {start}/config.fish; true"
    done = world.run("/bin/sh", "-c", script)
    assert (world.project / SETTINGS).read_text() == "mine\n" and not (start / "config.fish").exists()
    if world.backend in (None, "native"):
        assert "held back: .vscode (1 file)" in done.err, done.account()
        world.cordon_verb("changes", "apply", "last", ".vscode").expect(0)
        assert (world.project / SETTINGS).read_text() == "new\n"
    else:
        assert f"{SETTINGS}: Read-only file system" in done.err, done.account()
    assert not (start / "config.fish").exists()


# Directories on PATH

@pytest.fixture
def venv(world):
    world.write(world.project / "venv/pyvenv.cfg", "home = /usr/bin\n")
    world.write(world.project / "venv/bin/activate", "export X=1\n")
    world.write(world.project / "venv/bin/tool", "#!/bin/sh\necho old\n", 0o755)
    return {"PATH": f"{world.project}/venv/bin:{os.environ.get('PATH', '/usr/bin:/bin')}",
            "VIRTUAL_ENV": str(world.project / "venv")}


def test_a_virtual_environment_can_be_installed_into(world, venv):
    place = world.project / "venv/bin"
    script = ("cd venv/bin && printf '#!/bin/sh\\necho new\\n' > newtool-x && chmod 755 newtool-x && "
              "echo changed > tool && ln -s newtool-x linked-x && mkdir __pycache__ && "
              "echo c > __pycache__/a && echo evil > git && echo evil > ls && echo evil >> activate")
    done, report = world.report("/bin/sh", "-c", script, env=venv)
    done.expect(0)
    assert (place / "newtool-x").read_text() == "#!/bin/sh\necho new\n"
    assert (place / "newtool-x").stat().st_mode & 0o777 == 0o755
    assert (place / "newtool-x").stat().st_uid == (world.project / "venv").stat().st_uid
    assert os.readlink(place / "linked-x") == "newtool-x"
    assert (place / "tool").read_text() == "changed\n"
    assert (place / "__pycache__/a").exists()
    assert not (place / "git").exists() and not (place / "ls").exists()
    assert (place / "activate").read_text() == "export X=1\n"
    found = changes(report)
    assert ("venv/bin/newtool-x", "added", "applied") in found
    for name in ("git", "ls"):
        assert (f"venv/bin/{name}", "added", "held") in found
    assert ("venv/bin/activate", "modified", "held") in found
    assert "held back: venv/bin (3 files)" in done.err, done.err


def test_what_another_directory_of_path_has_is_held_back(world, venv):
    world.write(world.outside / "bin/mytool", "#!/bin/sh\n", 0o755)
    venv["PATH"] += f":{world.outside}/bin"
    done, report = world.report("/bin/sh", "-c", "echo evil > venv/bin/mytool", env=venv)
    assert not (world.project / "venv/bin/mytool").exists(), done.account()
    assert ("venv/bin/mytool", "added", "held") in changes(report)


def test_writing_a_directory_on_path_is_refused_with_its_reason(world):
    place = world.make_directory(world.home / ".local/bin")
    done = world.run("/bin/true", options=["--write", place],
                     env={"PATH": f"{place}:/usr/bin:/bin"})
    assert done.status == 125 and "PATH" in done.err and "mounts" not in done.err, done.account()
    own = world.make_directory(world.outside / "bin")
    done = world.run("/bin/true", options=["--write", own], env={"PATH": f"{own}:/usr/bin:/bin"})
    assert done.status == 125 and "PATH" in done.err, done.account()
    world.run("/bin/true", options=["--write", own], env={"PATH": "/usr/bin:/bin"}).expect(0)


def test_a_clone_without_an_index_is_not_left_locked(world):
    """What is moved out of a clone is marked in its index; one that has none yet is left as it is."""
    world.bare("/bin/sh", "-ec", "git init -q source; cd source; git config user.name a; git config user.email "
               "a@example.org; echo x > x; git add x; git commit -q -m x").expect(0)
    world.run("/bin/sh", "-ec", "git clone -q -n source copy; mkdir copy/.vscode; echo x > copy/.vscode/a").expect(0)
    assert not (world.project / "copy/.vscode").exists()
    assert not (world.project / "copy/.git/index.lock").exists()
    world.bare("git", "-C", str(world.project / "copy"), "checkout", "-q").expect(0)
    assert (world.project / "copy/x").read_text() == "x\n"


@pytest.mark.parametrize("locked", [True, False], ids=["locked", "control"])
def test_an_index_that_cannot_be_marked_is_told_with_the_command_that_marks_it(world, locked):
    """Else the next commit of everything would delete what was moved away, without a word."""
    world.bare("/bin/sh", "-ec", "git init -q ../source; cd ../source; git config user.name a; git config user.email "
               "a@example.org; mkdir .vscode; echo x > .vscode/tasks.json; echo x > x; git add -A; "
               "git commit -q -m x").expect(0)
    source = world.project.parent / "source"
    lock = "; touch 'my copy/.git/index.lock'" if locked else ""
    done, report = world.report("/bin/sh", "-ec", f"git clone -q {source} 'my copy'{lock}",
                                options=["--read", source])
    done.expect(0)
    copy = world.project / "my copy"
    assert not (copy / ".vscode").exists()
    told = [line.split("when no git is at work there: ")[1] for line in done.err.splitlines()
            if "when no git is at work there: " in line]
    assert len(told) == (1 if locked else 0), done.err
    assert len([one for one in report["handoff"] if one["kind"].startswith("unchecked: ")]) == len(told)
    for command in told:
        world.bare("/bin/sh", "-ec", command).expect(0)
    world.bare("/bin/sh", "-ec", "cd 'my copy'; echo y >> x; git -c user.name=a -c user.email=a@example.org "
               "commit -q -a -m y").expect(0)
    assert ".vscode/tasks.json" in world.bare("git", "-C", copy, "ls-tree", "-r", "--name-only", "HEAD").out
    if not locked:
        applied = world.cordon_verb("changes", "apply", "last", "my copy/.vscode").expect(0)
        assert "git" not in applied.err, applied.err
    # What the person takes then, while their own git holds the lock, is told as well.
    world.write(copy / ".git/index.lock", "")
    verb = "restore" if not locked else "apply"
    taken = world.cordon_verb("changes", verb, "last", "my copy/.vscode").expect(0)
    [hint] = [line for line in taken.err.splitlines() if line.startswith("hint: when no git is at work there: ")]
    assert "index.lock" in taken.err
    world.bare("/bin/sh", "-ec", hint.split(": ", 2)[2]).expect(0)
    assert world.bare("git", "-C", copy, "status", "--porcelain").out == ""
