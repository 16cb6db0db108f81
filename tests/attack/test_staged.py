"""Attacks on a staged run: nothing that the host runs is there before it is applied, and nothing of it
comes through without a person who names it."""

import os
import re
import stat

import pytest

from gitrepo import git, make_repository
from support.harness import ROOT


def held_names():
    """The table of docs/policy.md, as far as it counts everywhere and holds."""
    text = (ROOT / "docs/policy.md").read_text()
    rows = re.findall(r"^\| `([^`]+)` \| \w+ \| held \| anywhere \|", text, re.M)
    assert len(rows) > 30
    return rows


def changes(world, *words, status=0):
    return world.cordon_verb("changes", *words).expect(status)


def states(report):
    return {one["path"]: one["state"] for one in report["changes"]}


def auto(world, script, *options, **how):
    done, report = world.report("/bin/sh", "-c", script, options=["--stage=auto", *options], **how)
    assert report["error"] is None, done.account()
    return report


def test_no_protected_name_comes_through(world):
    names = held_names()
    make = "".join(f"mkdir -p 'new/{os.path.dirname(name)}'; echo x > 'new/{name}'; " for name in names)
    report = auto(world, "mkdir new; echo x > new/ordinary; " + make)
    assert (world.project / "new/ordinary").read_text() == "x\n"
    for name in names:
        assert not os.path.lexists(world.project / "new" / name), name
    # Nor by an apply of everything; only by its name.
    changes(world, "apply", status=1)
    changes(world, "apply", report["run_id"], "new", status=1)
    for name in names:
        assert not os.path.lexists(world.project / "new" / name), name
    if ".vscode" in names:
        changes(world, "apply", report["run_id"], "new/.vscode")
        assert os.path.lexists(world.project / "new/.vscode")


def test_git_is_not_touched_and_runs_nothing(world):
    repository = make_repository(world)
    marker = world.home / "ran"
    before = {path: path.read_bytes() for path in (repository / ".git").rglob("*") if path.is_file()}
    script = ("printf '#!/bin/sh\\ntouch %s\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; "
              "git config core.fsmonitor 'touch %s'; git config core.hooksPath .h; mkdir .h; "
              "mv .git .git2; git init -q other; printf x > other/.git/hooks/post-checkout; "
              "mkdir bare; cd bare; git init -q --bare .; git config core.fsmonitor 'touch %s'; "
              "cd ..; echo x > plain" % (marker, marker, marker))
    report = auto(world, script)
    assert {path: path.read_bytes() for path in (repository / ".git").rglob("*")
            if path.is_file()} == before
    assert (world.project / "plain").read_text() == "x\n"
    assert states(report)["plain"] == "applied"
    for name in ("other/.git", "bare/config", "bare/HEAD", "bare/hooks", ".git2"):
        assert not os.path.lexists(world.project / name), name
    git(world, "status", cwd=world.project)
    git(world, "commit", "-q", "--allow-empty", "-m", "x", cwd=world.project)
    assert not marker.exists()
    refused = changes(world, "apply", report["run_id"], "bare", ".git", status=1)
    assert "git directory" in refused.err


def test_a_repository_in_two_halves_is_held(world):
    """objects and refs look like any directory; with HEAD beside them git believes in them."""
    auto(world, "mkdir -p r/objects r/refs; echo x > r/objects/x; echo x > r/refs/x; "
                "echo '[core] fsmonitor=x' > r/settings")
    assert (world.project / "r/objects/x").exists()
    report = auto(world, "echo 'ref: refs/heads/main' > r/HEAD; echo x > r/config")
    assert states(report) == {"r": "held"}
    assert not (world.project / "r/HEAD").exists()


def test_what_a_setting_of_git_names_is_held(world):
    make_repository(world)
    git(world, "config", "core.hooksPath", ".githooks", cwd=world.project)
    git(world, "config", "diff.external", "./tools/diff.sh", cwd=world.project)
    world.write(world.project / "tools/diff.sh", "#!/bin/sh\n", 0o755)
    report = auto(world, "mkdir .githooks; echo x > .githooks/pre-commit; echo evil > tools/diff.sh; "
                         "echo x > tools/other")
    assert not (world.project / ".githooks").exists()
    assert (world.project / "tools/diff.sh").read_text() == "#!/bin/sh\n"
    assert (world.project / "tools/other").exists()
    assert states(report)["tools/diff.sh"] == "held"


def test_power_and_what_is_no_file_is_never_applied(world):
    script = ("cp /bin/true su; chmod 4755 su; mkfifo fifo; "
              "ln -s ../../outside/secret up; ln -s /nowhere out; "
              "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'; echo x > plain")
    report = auto(world, script)
    assert states(report)["plain"] == "applied"
    # The filter refuses the bit inside; without it the file is one like any other.
    assert stat.S_IMODE(os.lstat(world.project / "su").st_mode) & 0o7000 == 0
    for name in ("fifo", "up", "out"):
        assert states(report)[name] == "held", name
        changes(world, "apply", report["run_id"], name, status=1)
        assert not os.path.lexists(world.project / name), name
    assert not os.path.lexists(world.project / "sock")


def test_a_link_put_in_the_way_is_not_followed_by_apply(world):
    """The host's tree can change while changes are applied: another run may work in it."""
    report = auto(world, "mkdir -p a/b; echo x > a/b/c", "--stage=review")
    world.link(world.project / "a", world.outside)
    changes(world, "apply", report["run_id"], status=1)
    assert list(world.outside.iterdir()) == [world.outside / "secret"]
    (world.project / "a").unlink()
    changes(world, "apply", report["run_id"], "a")
    assert (world.project / "a/b/c").read_text() == "x\n"


def test_the_layer_cannot_be_reached_from_inside(world):
    """Neither the upper directory, nor a forged whiteout or mark in it."""
    state = world.home / ".local/state/cordon"
    world.write(world.project / "kept", "kept\n")
    world.make_directory(world.project / "dir")
    world.write(world.project / "dir/kept", "kept\n")
    script = (f"ls {state}; cat {state}/stages/*/stage; mknod kept2 c 0 0; "
              "setfattr -n user.overlay.opaque -v y dir 2>/dev/null; "
              "python3 -c 'import os; os.setxattr(\"dir\", \"user.overlay.opaque\", b\"y\")'; "
              "cat /proc/self/mounts")
    done, report = world.report("/bin/sh", "-c", script, options=["--stage=auto"])
    assert "cordon-stage" not in done.out, done.account()
    assert str(state) not in done.out, done.account()
    assert (world.project / "dir/kept").read_text() == "kept\n"
    assert report["changes"] == []


def test_a_deep_or_strange_tree_is_told_and_not_lost(world):
    script = ("python3 -c '\n"
              "import os\n"
              "open(\"plain\", \"w\").close()\n"
              "open(b\"bad\\xff\\n\", \"w\").close()\n"
              "for i in range(400):\n"
              "    os.mkdir(\"d\"); os.chdir(\"d\")\n"
              "'")
    report = auto(world, script)
    assert states(report)["plain"] == "applied"
    assert "held" in states(report).values()
    assert os.path.lexists(os.fsencode(world.project) + b"/bad\xff\n")


def test_masks_hold_whatever_is_done_around_them(world):
    world.write(world.project / "conf/deep/secret.key", "SECRET\n")
    script = ("cat conf/deep/secret.key; mv conf other; mv conf/deep x; mv conf/deep/secret.key y; "
              "ln conf/deep/secret.key z; rm -rf conf; cat other/deep/secret.key x/secret.key y z; "
              "cp -r conf copy; cat copy/deep/secret.key")
    done = world.run("/bin/sh", "-c", script, options=["--stage=auto", "--deny", "**/*.key"])
    assert "SECRET" not in done.out + done.err, done.account()
    assert (world.project / "conf/deep/secret.key").read_text() == "SECRET\n"
    bare = world.bare("cat", "conf/deep/secret.key")
    assert bare.out == "SECRET\n"


def test_the_project_is_read_only_but_for_the_layer(world):
    """The very inode of the project cannot be written through the overlay."""
    before = os.stat(world.project / "file.txt")
    world.write(world.project / "second", "x\n")
    os.link(world.project / "file.txt", world.project / "linked")
    auto(world, "echo more >> file.txt; chmod 777 linked; truncate -s 0 second", "--stage=review")
    after = os.stat(world.project / "file.txt")
    assert (after.st_ino, after.st_mode, after.st_size) == (before.st_ino, before.st_mode, before.st_size)
    assert (world.project / "second").read_text() == "x\n"
    assert stat.S_IMODE(os.stat(world.project / "linked").st_mode) == 0o644


def test_looking_at_a_repository_changes_nothing(world):
    repository = make_repository(world)
    world.write(repository / "tracked.txt", "tracked\n")  # with another time
    report = auto(world, "git status; git diff --stat")
    assert report["changes"] == []
    index = (repository / ".git/index").read_bytes()
    # What is added is a change, also where its object was there before.
    report = auto(world, "cp tracked.txt second.txt; git add second.txt")
    assert states(report) == {".git/index": "held", "second.txt": "applied"}
    report = auto(world, "git update-index --assume-unchanged tracked.txt")
    assert states(report) == {".git/index": "held"}
    assert (repository / ".git/index").read_bytes() == index


def test_git_takes_no_file_for_changed_that_did_not(world):
    """`git diff-files` and `git apply --index` believe what stat says of a file: in a stage root shows another owner."""
    repository = make_repository(world)
    git(world, "add", "-A", cwd=repository)
    git(world, "commit", "-q", "-m", "all of it", cwd=repository)
    git(world, "status", cwd=repository)
    script = ("git diff-files --exit-code --name-only && echo unchanged && echo more >> tracked.txt && "
              "! git diff-files --exit-code --name-only")
    done = world.run("/bin/sh", "-c", script, options=["--stage=review"], cwd=repository)
    assert done.expect(0).out == "unchanged\ntracked.txt\n"
