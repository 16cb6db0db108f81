"""Protected files of a project, where no mount holds them: a run can change them, and when it is
over they are as they were. What it left in their place is handed off. Every attack is also made
without a sandbox, where it works."""

import os
import stat

import pytest

from support.harness import alive, noted_processes, wait_until

EVIL = "#!/bin/sh\necho EVIL > ran-on-the-host\n"
HOOK = "#!/bin/sh\nexit 0\n"


def git(world, *words):
    done = world.bare("git", "-c", "safe.directory=*", *words)
    assert done.status == 0, done.account()
    return done.out


@pytest.fixture
def project(world):
    """A repository with a hook, editor settings and a tool's configuration."""
    git(world, "init", "-q", ".")
    git(world, "config", "user.name", "a")
    git(world, "config", "user.email", "a@example.com")
    world.write(world.project / ".git/hooks/pre-commit", HOOK, 0o755)
    world.write(world.project / ".mcp.json", "{}\n", 0o640)
    world.write(world.project / ".vscode/settings.json", '{"a": 1}\n')
    git(world, "add", "-A")
    git(world, "commit", "-q", "-m", "first")
    return world.project


def snapshot(project):
    """What is protected, with modes and times."""
    found = {".git": stat.S_IMODE((project / ".git").lstat().st_mode)}
    for top in (".mcp.json", ".vscode", ".git/config", ".git/hooks"):
        for path in [project / top, *sorted((project / top).rglob("*"))]:
            status = path.lstat()
            small = path.is_file() and status.st_size < 1 << 20
            text = path.read_bytes() if small else status.st_size if path.is_file() else b""
            found[str(path.relative_to(project))] = (
                stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode),
                0 if path.is_dir() else status.st_mtime_ns, status.st_uid, text)
    return found


def attacked(world, script, options=()):
    """The script in a sandbox; afterwards everything protected is as it was."""
    before = snapshot(world.project)
    done, report = world.report("/bin/sh", "-c", script, options=options)
    assert snapshot(world.project) == before, done.account()
    assert world.left_behind() == [], "something was left behind"
    assert "protected" in report["enforcement"]["lost"], report
    return done, report


def restored(report):
    return {entry["path"]: entry["moved_to"] for entry in report["handoff"] if entry["restored"]}


# What a policy grants read-only inside what it lets be written.

def test_a_read_only_file_and_directory_come_back(world):
    world.write(world.project / "PLAN.md", "plan\n", 0o640)
    world.write(world.project / "vendor/lib/code", "code\n")
    policy = world.document('version = 1\nextends = "workspace"\n[fs]\n'
                            f'read = ["{world.project}/PLAN.md", "{world.project}/vendor"]\n')
    script = ("cat PLAN.md vendor/lib/code; echo mine > PLAN.md; rm -r vendor/lib; echo new > vendor/new; "
              "chmod 600 PLAN.md; echo kept > other")
    done, report = world.report("/bin/sh", "-c", script, options=["--policy", policy])
    assert done.expect(0).out == "plan\ncode\n", done.account()
    assert "protected" in report["enforcement"]["lost"], report["enforcement"]
    plan = world.project / "PLAN.md"
    assert plan.read_text() == "plan\n" and stat.S_IMODE(plan.stat().st_mode) == 0o640
    assert (world.project / "vendor/lib/code").read_text() == "code\n"
    assert not (world.project / "vendor/new").exists()
    assert (world.project / "other").read_text() == "kept\n", "the rest stays"
    changed = restored(report)["PLAN.md"]
    assert changed and open(changed).read() == "mine\n", report["handoff"]
    assert world.left_behind() == []
    # Without the grant the same script works: the control.
    done, report = world.report("/bin/sh", "-c", script)
    assert plan.read_text() == "mine\n" and restored(report) == {}, done.account()


# Ordinary work.

def test_git_works_in_a_repository(world, project):
    script = ("git config --global --add safe.directory '*'; echo x > new && git add new && "
              "git commit -q -m second && git log --oneline | wc -l && git status --porcelain")
    done, report = attacked(world, script)
    assert done.expect(0).out == "2\n", done.account()
    assert report["handoff"] == [], report["handoff"]
    assert git(world, "log", "--oneline").count("\n") == 2
    assert git(world, "status", "--porcelain") == ""


def test_an_untouched_project_is_left_alone(world, project):
    done, report = attacked(world, "cat .git/config .mcp.json >/dev/null; echo y > file.txt")
    done.expect(0)
    assert report["handoff"] == [] and "put back" not in done.err, done.account()
    assert "does not hold" in done.err and "protected" in done.err, done.account()


def test_files_move_between_directories(world, project):
    """The domain that scopes signals must not forbid what the grant permits."""
    script = ("git config --global --add safe.directory '*'; mkdir a b; echo x > a/f; git add a; "
              "git mv a/f b/f && ln b/f a/g && mv a b/a && git status --porcelain")
    done, report = attacked(world, script)
    assert done.expect(0).out == "A  b/f\n?? b/a/\n", done.account()
    # The control: no further than the grant.
    done = world.run("/bin/sh", "-c", f"mv b/f '{world.outside}/'")
    assert done.status == 1 and not (world.outside / "f").exists(), done.account()


def test_what_git_adds_for_itself_stays_and_the_original_is_named(world, project):
    before = (project / ".git/config").read_text()
    script = ("git -c safe.directory='*' remote add fork https://example.com/a.git && "
              "git -c safe.directory='*' config branch.topic.remote fork")
    done, report = world.report("/bin/sh", "-c", script, options=[])
    [entry] = report["handoff"]
    assert entry["path"] == ".git/config" and entry["moved_to"] is None, entry
    assert entry["restored"] is False
    assert open(entry["original"]).read() == before
    assert "example.com" in (project / ".git/config").read_text()
    assert "to nothing that runs" in done.err, done.account()


def test_dry_run_changes_nothing(world, project):
    before = snapshot(project)
    done = world.run("true", options=["--dry-run"]).expect(0)
    assert snapshot(project) == before and world.left_behind() == []
    assert "protected" in done.out, done.account()


def test_an_activated_environment_on_the_path(world):
    """A directory of the project on PATH is protected, and so is its name."""
    tool = world.write(world.project / ".venv/bin/tool", HOOK, 0o755)
    path = {"PATH": f"{tool.parent}:/usr/bin:/bin"}
    script = "echo evil > .venv/bin/tool; echo evil > .venv/bin/git; mv .venv moved"
    done, report = world.report("/bin/sh", "-c", script, env=path)
    assert tool.read_text() == HOOK and not (tool.parent / "git").exists(), done.account()
    assert not (world.project / "moved").exists()
    assert ".venv" in restored(report), report["handoff"]


# Attacks.

CHANGES = {
    "in place": "echo EVIL >> .mcp.json",
    "replaced": "echo EVIL > x && mv x .mcp.json",
    "removed": "rm .mcp.json",
    "a link": "ln -sf /etc/hostname .mcp.json",
    "a directory": "rm .mcp.json && mkdir .mcp.json && echo EVIL > .mcp.json/x",
    "a fifo": "rm .mcp.json && mkfifo .mcp.json",
    "closed": "echo EVIL > .mcp.json; chmod 0 .mcp.json",
    "a closed directory": "rm .mcp.json && mkdir .mcp.json && chmod 0 .mcp.json",
    "huge": "rm .mcp.json && truncate -s 1T .mcp.json",
    "by another name": "rm -f alias; ln .mcp.json alias && echo EVIL > alias",
    "mode alone": "chmod 777 .mcp.json",
    "with an old time": "echo EVIL > .mcp.json; touch -d @1000 .mcp.json",
    "settings": "echo EVIL > .vscode/settings.json",
    "more settings": "echo EVIL > .vscode/tasks.json",
    "no settings": "rm -r .vscode",
    "other settings": "mv .vscode v && mkdir .vscode && echo EVIL > .vscode/tasks.json",
    "settings elsewhere": "mv .vscode /tmp/ 2>/dev/null || mv .vscode v; ln -s v .vscode",
    "closed settings": "chmod 0 .vscode",
    "hook": "echo EVIL > .git/hooks/pre-commit",
    "new hook": "echo EVIL > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout",
    "hooks elsewhere": "mv .git/hooks h && ln -s ../h .git/hooks",
    "fsmonitor": "git -c safe.directory='*' config core.fsmonitor ./evil",
    "configuration removed": "rm .git/config",
    "repository moved": "mv .git moved && cp -r moved .git && echo '[core]' > .git/config",
    "repository inside another": "mv .git m && mkdir .git && mv m .git/m",
    "repository closed": "chmod 0 .git",
    "a file in place of the repository": "mv .git m; echo 'gitdir: m' > .git; echo x > m/config",
    "everything": "chmod -R 777 .git; rm -rf .vscode .mcp.json .git/hooks .git/config",
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_changed_is_put_back(world, project, change):
    done, report = attacked(world, CHANGES[change])
    # Nothing that means anything is left; what was changed is named, and kept where it exists.
    assert report["handoff"], done.account()
    for entry in report["handoff"]:
        assert entry["moved_to"] is None or os.path.lexists(entry["moved_to"]), entry
    assert git(world, "status", "--porcelain", "--ignored").count(".cordon") == 0
    git(world, "fsck")
    # The control: without a sandbox the change stays.
    before = snapshot(project)
    world.bare("/bin/sh", "-c", CHANGES[change])
    try:
        same = snapshot(project) == before
    except OSError:
        same = False
    assert not same, f"{change} changes nothing"


def test_a_planted_monitor_does_not_run_on_the_host(world, project):
    world.write(project / "evil", EVIL, 0o755)
    plant = "git -c safe.directory='*' config core.fsmonitor ./evil"
    attacked(world, plant)
    git(world, "status")
    assert not (project / "ran-on-the-host").exists()
    world.bare("/bin/sh", "-c", plant)
    git(world, "status")
    assert (project / "ran-on-the-host").exists(), "the attack itself is broken"


def test_a_directory_above_is_exchanged_for_a_link(world, project):
    """The way back must not lead where the link leads."""
    world.write(project / "sub/.mcp.json", "inner\n")
    script = f"rm -rf sub && ln -s '{world.shared}' sub && echo EVIL > '{world.shared}/.mcp.json'"
    options = ["--write", world.shared]
    done, report = world.report("/bin/sh", "-c", script, options=options)
    assert (project / "sub").is_dir() and not (project / "sub").is_symlink(), done.account()
    assert (project / "sub/.mcp.json").read_text() == "inner\n"
    assert not (world.shared / ".mcp.json").exists()
    assert "sub" in restored(report), report["handoff"]


@pytest.mark.parametrize("attack", ["rm .zed; mkdir .zed; echo EVIL > .zed/tasks.json", "ln -sfn evil .zed",
                                    "mv .zed gone", "rm .zed"])
def test_a_protected_link_comes_back(world, project, attack):
    settings = world.write(project / "settings/tasks.json", "mine\n")
    os.symlink("settings", project / ".zed")
    script = f"mkdir -p evil; echo EVIL > evil/tasks.json; {attack}"
    done, report = attacked(world, script)
    done.expect(0)
    assert os.readlink(project / ".zed") == "settings" and settings.read_text() == "mine\n", done.account()
    assert ".zed" in restored(report), report["handoff"]
    world.bare("/bin/sh", "-c", script)
    assert not os.path.islink(project / ".zed") or os.readlink(project / ".zed") == "evil"


def test_a_moved_repository_is_not_believed(world, project):
    """The old one with a changed configuration does not stay under another name."""
    done, report = attacked(
        world, "cp -r .git copy; echo '[core]\n\tfsmonitor = ./evil' >> copy/config")
    assert "fsmonitor" not in (project / "copy/config").read_text(), done.account()


def test_a_file_with_a_name_elsewhere_is_refused(world, project):
    os.link(project / ".mcp.json", world.outside / "alias")
    done = world.run("true").expect(125)
    assert ".mcp.json" in done.err and "one file with another" in done.err, done.account()
    (world.outside / "alias").unlink()
    world.run("true").expect(0)


def test_too_much_is_refused_by_name(world, project):
    large = world.write(project / ".vscode/large", "")
    os.truncate(large, 300 << 20)
    done = world.run("true").expect(125)
    assert "large" in done.err and "larger than" in done.err, done.account()
    assert world.left_behind() == []
    os.truncate(large, 1 << 20)
    world.run("true").expect(0)


@pytest.mark.only("root")
def test_the_owner_comes_back(world, project):
    os.chown(project / ".mcp.json", 64200, 64200)
    os.chmod(project / ".mcp.json", 0o666)
    attacked(world, "rm -f .mcp.json; echo EVIL > .mcp.json")


# Two runs in one tree.

def started(world, script, ready):
    process = world.start_run("/bin/sh", "-c", script)
    assert wait_until(lambda: (world.project / ready).exists()), process.poll()
    return process


@pytest.mark.parametrize("first_ends", ["first", "last"])
def test_a_second_run_does_not_keep_what_the_first_has_changed(world, project, first_ends):
    before = snapshot(project)
    script = ("echo EVIL > .mcp.json; echo EVIL > .cursorrules; mkdir .idea; echo EVIL > .idea/x; "
              "git -c safe.directory='*' config core.fsmonitor ./evil; "
              "touch ready; while [ ! -e end-{0} ]; do sleep 0.05; done")
    one = started(world, script.format(1), "ready")
    (project / "ready").unlink()
    other = started(world, "touch ready; while [ ! -e end-2 ]; do sleep 0.05; done", "ready")
    order = [(one, "end-1"), (other, "end-2")]
    for process, end in order if first_ends == "first" else reversed(order):
        world.write(project / end, "")
        process.communicate(timeout=60)
    assert snapshot(project) == before
    assert not (project / ".idea").exists()
    assert world.left_behind() == []


# The end of Cordon.

def test_sigkill_of_cordon_and_the_next_start(world, project):
    before = snapshot(project)
    process = started(world, "echo EVIL > .mcp.json; rm -r .git/hooks; mv .vscode v; "
                             "echo x > .git/config; touch ready; sleep 300", "ready")
    # Else the next start cannot know whom to wait for, and leaves it to a later one.
    assert wait_until(lambda: noted_processes(world.home))
    marks = noted_processes(world.home)
    process.kill()
    process.communicate()
    assert wait_until(lambda: not any(alive(one) for one in marks))
    assert snapshot_or_none(project) != before, "the run changed nothing"
    assert any("kept" in str(path) for path in world.left_behind())
    done, report = world.report("true", options=["--policy", "strict"])
    done.expect(0)
    assert snapshot(project) == before
    assert {".mcp.json", ".git/config"} <= set(restored(report)), report["handoff"]
    assert world.left_behind() == []


def test_a_start_right_after_the_kill_puts_back_what_stays(world, project):
    """Processes of the dead run that are still on their way write again after nobody."""
    writers = "for i in 1 2 3 4; do (while :; do echo EVIL > .mcp.json; done) & done; touch ready; wait"
    for _ in range(5):
        (project / "ready").unlink(missing_ok=True)
        process = started(world, writers, "ready")
        assert wait_until(lambda: noted_processes(world.home))
        process.kill()

        def is_put_back():
            """A start for which the processes take too long to go leaves everything to a later one."""
            world.run("true", options=["--policy", "strict"]).expect(0)
            return world.left_behind() == []
        assert wait_until(is_put_back)
        assert (project / ".mcp.json").read_text() == "{}\n"
        process.communicate()
        assert not wait_until(lambda: (project / ".mcp.json").read_text() != "{}\n", 0.3)


def snapshot_or_none(project):
    try:
        return snapshot(project)
    except OSError:
        return None


def test_nothing_is_started_if_nothing_can_be_kept(world, project):
    """The state directory takes no files."""
    kept = world.make_directory(world.home / ".local/state/cordon/kept")
    world.write(kept / "lock", "")
    (kept / "lock").unlink()
    (kept / "lock").symlink_to("/nonexistent/nowhere")
    done = world.run("touch", "ran").expect(125)
    assert "lock" in done.err and not (project / "ran").exists(), done.account()
    (kept / "lock").unlink()
    world.run("touch", "ran").expect(0)


@pytest.mark.only("root")
def test_a_full_disk_when_it_is_put_back(world):
    """What the run left goes; the original comes back with the next start that finds room."""
    place = world.make_directory(world.path / "small")
    script = f"""
set -e
mount -t tmpfs -o size=256k tmpfs {place}
mkdir {place}/p; cd {place}/p
head -c 65536 /dev/urandom > .mcp.json; sum=$(sha256sum < .mcp.json)
set +e
"$@" /bin/sh -c 'rm .mcp.json; echo EVIL > .mcp.json; cat /dev/zero > fill' 2> {world.trusted}/first
[ ! -e .mcp.json ] || echo STAYED
rm fill
"$@" true 2> {world.trusted}/second
[ "$sum" = "$(sha256sum < .mcp.json)" ] && echo BACK
"""
    world.ceiling.write_text(world.ceiling.read_text().replace(
        'write = [', f'write = ["{place}", '))
    from support.without_namespaces import launcher
    done = world.execute(["unshare", "-m", "/bin/sh", "-c", script, "sh", *launcher(), world.cordon,
                          "run", "--backend", "landlock", "--ceiling", world.ceiling, "--"])
    first = (world.trusted / "first").read_text()
    assert done.out == "BACK\n", (done.account(), first)
    assert "cannot be put back" in first and "No space left" in first, first
