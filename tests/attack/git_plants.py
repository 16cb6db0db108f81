"""What can be planted so that git starts a program, and the ordinary work that would start it.

Every plant names a program of its own outside of all grants. It leaves a file with the plant's name in a
directory that no sandbox can write, and then does what git expects of it. A file there proves that the host's
git started what a contained command left.
"""

from __future__ import annotations

from pathlib import Path

from gitrepo import IDENTITY
from support.harness import Done, World

PROGRAM = """#!/bin/sh
name=$1
shift
touch "{started}/$name"
case $name in
  *textconv) cat "$@" ;;
  *clean|*smudge|*difffilter) cat ;;
  *uploadpack) exec git-upload-pack "$@" ;;
  *receivepack) exec git-receive-pack "$@" ;;
  *pager*) cat > /dev/null ;;
  *strategy*) exit 2 ;;
esac
exit 0
"""

# Key, and what its value is made of: {} is the program.
KEYS = {
    "core.fsmonitor": "{}",
    "core.editor": "{}",
    "core.pager": "{}",
    "core.sshCommand": "{}",
    "core.askPass": "{}",
    "core.gitProxy": "{}",
    "core.alternateRefsCommand": "{}",
    "gc.recentObjectsHook": "{}",
    "sequence.editor": "{}",
    "pager.status": "{}",
    "interactive.diffFilter": "{}",
    "alias.planted": "!{}",
    "credential.helper": "!{}",
    "filter.planted.clean": "{}",
    "filter.planted.smudge": "{}",
    "filter.long.process": "{}",
    "diff.external": "{}",
    "diff.planted.command": "{}",
    "diff.text.textconv": "{}",
    "merge.planted.driver": "{}",
    "difftool.planted.cmd": "{}",
    "mergetool.planted.cmd": "{}",
    "guitool.planted.cmd": "{}",
    "gpg.ssh.defaultKeyCommand": "{}",
    "uploadpack.packObjectsHook": "{}",
    "remote.origin.uploadpack": "{}",
    "remote.origin.receivepack": "{}",
    "remote.planted.url": "ext::{}",
    "trailer.planted.command": "{}",
    "hook.planted.command": "{}",
    "submodule.sub.update": "!{}",
    "browser.planted.cmd": "{}",
    "man.planted.cmd": "{}",
    "tar.planted.command": "{}",
    "instaweb.httpd": "{}",
    "imap.tunnel": "{}",
    "sendemail.toCmd": "{}",
    "lfs.extension.planted.clean": "{}",
    "annex.planted-command": "{}",
}
# What makes other keys matter.
SWITCHES = "[protocol \"ext\"]\n\tallow = always\n[diff]\n\ttool = planted\n[merge]\n\ttool = planted\n"
# A program that signs nothing ends the commit, so these stay by themselves.
SIGNING = {"gpg.program": "{}"}
SIGN_SWITCHES = "[commit]\n\tgpgsign = true\n"

ATTRIBUTES = ("*.dat filter=planted merge=planted diff=planted\n*.lng filter=long\n*.cnv diff=text\n"
              "*.mrg merge=planted\n")

# Twenty and a few ordinary operations. None of them names what was planted.
OPERATIONS = """
git status
git diff
git log -p -3
touch again.dat
git add again.dat
echo n | git add -p
git add file.txt one.cnv
git commit -q -m 'more work'
git commit -q --amend --allow-empty
git commit -q --allow-empty -m trailer --trailer planted=x
git checkout -q -b topic
git checkout -q -
git branch -a
git rebase --continue
git cherry-pick --continue
git rebase -q HEAD~1
git rebase -q -i HEAD~1
git merge side -m merged
echo work >> file.txt
git stash
git stash pop
git fetch origin
git pull --no-rebase origin main
git push origin HEAD:refs/heads/pushed
git gc -q
git worktree list
git submodule status
git submodule update
git blame one.cnv
git show HEAD
git grep -c work
git describe --always
git tag -f work
git archive -o /dev/null HEAD
touch again.lng
git add again.lng
git ls-remote far
git ls-remote old
"""


def program(world: World, name: str) -> Path:
    """The program of one plant."""
    started = world.make_directory(world.outside / "started")
    common = world.outside / "program"
    if not common.exists():
        world.write(common, PROGRAM.format(started=started), 0o755)
    return world.write(world.outside / "plants" / name, f'#!/bin/sh\nexec {common} {name} "$@"\n', 0o755)


def started(world: World) -> set[str]:
    """What the host's git has started since the last time."""
    place = world.outside / "started"
    if not place.exists():
        return set()
    found = {path.name for path in place.iterdir()}
    for path in place.iterdir():
        path.unlink()
    return found


def configuration(world: World, keys: dict[str, str] = KEYS, switches: str = SWITCHES) -> str:
    text = switches
    for key, value in keys.items():
        section, _, rest = key.partition(".")
        name, _, last = rest.rpartition(".")
        head = f'[{section} "{name}"]' if name else f"[{section}]"
        line = value.format(program(world, key.lower()))
        text += f"{head}\n\t{last} = {line}\n"
    return text


def git(world: World, *arguments, cwd: Path) -> Done:
    return world.bare("git", *arguments, cwd=cwd, env=IDENTITY).expect(0)


def work(world: World, directory: Path) -> Done:
    """The person's own git, on a terminal, in `directory`. A filter that ends early may leave the index locked,
    so the file that has such a one comes last."""
    env = {**IDENTITY, "PAGER": "cat", "EDITOR": "true", "GIT_TERMINAL_PROMPT": "0", "TERM": "xterm",
           "GIT_MERGE_AUTOEDIT": "no"}
    script = world.write(world.outside / "operations", OPERATIONS)
    return world.bare("script", "-qec", f"sh {script}", "/dev/null", cwd=directory, env=env, timeout=60)


def fill(world: World, top: Path) -> None:
    """Two branches that will be merged, files with attributes, remotes of several kinds."""
    origin = world.outside / f"{top.parent.name}-{top.name}-origin.git"
    git(world, "init", "-q", "--bare", "-b", "main", str(origin), cwd=world.outside)
    world.write(top / ".gitattributes", ATTRIBUTES)
    for name in ("file.txt", "a.dat", "one.cnv", "two.mrg"):
        world.write(top / name, "work\n" * 5)
    for step in [("add", "."), ("commit", "-q", "-m", "first"), ("branch", "side")]:
        git(world, *step, cwd=top)
    for name in ("file.txt", "two.mrg"):
        world.write(top / name, "work\n" * 5 + "here\n")
    for step in [("commit", "-q", "-a", "-m", "second"), ("checkout", "-q", "side")]:
        git(world, *step, cwd=top)
    world.write(top / "two.mrg", "there\n" + "work\n" * 5)
    for step in [("commit", "-q", "-a", "-m", "beside"), ("checkout", "-q", "main"),
                 ("remote", "add", "origin", str(origin)), ("push", "-q", "origin", "main"),
                 ("remote", "add", "far", "ssh://127.0.0.1:1/x"),
                 ("remote", "add", "old", "git://127.0.0.1:1/x")]:
        git(world, *step, cwd=top)
    world.write(top / "file.txt", "work\n" * 6)
    world.write(top / "one.cnv", "work\n" * 6)


def repository(world: World, top: Path, *options: str) -> Path:
    world.make_directory(top.parent)
    git(world, "init", "-q", "-b", "main", *options, str(top), cwd=top.parent)
    fill(world, top)
    return top
