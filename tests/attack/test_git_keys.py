"""For every setting and file by which git starts a program: planted in every place where git looks, it is
not started by twenty ordinary operations of the host's git. Each place has its control: planted there without
Cordon, the same things are started, and which ones is written down.

./test takes a chosen part of the places. CORDON_GIT_KEYS=all takes every one, and plants every key alone
besides, so that none hides behind another."""

import os
from pathlib import Path

import pytest

import git_plants as plants
from gitrepo import HOOKS
from support.harness import World

EVERY_KEY = os.environ.get("CORDON_GIT_KEYS") == "all"

# What the operations of git 2.39 start in a repository with a work tree. The other keys are for commands that
# nobody types in ordinary work, or need a server.
STARTED = {"core.fsmonitor", "core.editor", "core.pager", "core.sshcommand", "core.gitproxy", "sequence.editor",
           "pager.status", "interactive.difffilter", "filter.planted.clean", "filter.long.process", "diff.external",
           "diff.text.textconv", "merge.planted.driver", "remote.origin.uploadpack", "remote.origin.receivepack",
           "trailer.planted.command"}
# In a clone, where less is left to do, and in a repository that a command made by itself.
FEW = {"core.fsmonitor", "core.editor", "core.pager", "filter.planted.clean"}


class Place:
    """One place where git looks: how the person's tree is, what a command does to it, where to work after."""

    def __init__(self, world: World, top: Path):
        self.world = world
        self.top = top
        self.worked_in = [top]
        world.make_directory(top)

    def prepare(self) -> None:
        plants.repository(self.world, self.top)

    def plant(self) -> str:
        raise NotImplementedError


class Config(Place):
    def plant(self):
        return "cat plant >> .git/config"


class ConfigByRename(Place):
    def plant(self):
        return "cat .git/config plant > .git/new; mv -f .git/new .git/config"


class ConfigOfTheWorktree(Place):
    def prepare(self):
        super().prepare()
        plants.git(self.world, "config", "extensions.worktreeConfig", "true", cwd=self.top)

    def plant(self):
        return "cat plant >> .git/config.worktree"


class Include(Place):
    """A file of the project that the configuration includes: one that is there, one that is not."""
    key = "include.path"

    def prepare(self):
        super().prepare()
        self.world.write(self.top / "tools/there.inc", "[core]\n\tabbrev = 8\n")
        for name in ("there", "absent"):
            plants.git(self.world, "config", "--add", self.key, f"../tools/{name}.inc", cwd=self.top)

    def plant(self):
        return "mkdir -p tools; cat plant >> tools/absent.inc; cat plant >> tools/there.inc"


class ConditionalInclude(Include):
    key = "includeIf.onbranch:**.path"


class IncludeOfAnInclude(Place):
    def prepare(self):
        super().prepare()
        self.world.write(self.top / "tools/one.inc", "[include]\n\tpath = deeper/two.inc\n")
        self.world.write(self.top / "tools/deeper/two.inc",
                         "[includeIf \"gitdir:**\"]\n\tpath = three.inc\n")
        plants.git(self.world, "config", "include.path", "../tools/one.inc", cwd=self.top)

    def plant(self):
        return ("cat plant > tools/deeper/three.inc; cat plant >> tools/deeper/two.inc;"
                "cat plant >> tools/one.inc")


class IncludeOfTheUser(Place):
    """~/.gitconfig includes a file of the project, on a condition that holds there."""

    def prepare(self):
        super().prepare()
        self.world.write(self.world.home / ".gitconfig",
                         f'[includeIf "gitdir:{self.top}/"]\n\tpath = {self.top}/mine.inc\n')

    def plant(self):
        return "cat plant > mine.inc"


class Submodule(Place):
    def prepare(self):
        super().prepare()
        library = plants.repository(self.world, self.world.outside / f"{self.top.name}-library")
        plants.git(self.world, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library),
                   "sub", cwd=self.top)
        self.worked_in = [self.top, self.top / "sub"]

    def plant(self):
        return "cat plant >> .git/modules/sub/config; cat plant >> .git/modules/sub/config.worktree"


class LinkedWorktree(Place):
    def prepare(self):
        super().prepare()
        plants.git(self.world, "config", "extensions.worktreeConfig", "true", cwd=self.top)
        plants.git(self.world, "worktree", "add", "-q", "linked", "-b", "linked", cwd=self.top)
        self.world.write(self.top / "linked/file.txt", "other work\n")
        self.world.write(self.top / "linked/one.cnv", "other work\n")
        self.worked_in = [self.top / "linked"]

    def plant(self):
        return "cat plant >> .git/worktrees/linked/config.worktree"


class NewRepository(Place):
    """Made by the command itself, with files beside it that the host adds later."""

    def prepare(self):
        plants.repository(self.world, self.top / "model")
        self.worked_in = [self.top / "new"]

    def plant(self):
        return "cp -r model new; cat plant >> new/.git/config"


class NewBareRepository(NewRepository):
    def prepare(self):
        super().prepare()
        self.worked_in = [self.top / "new.git", self.top / "fake"]

    def plant(self):
        return ("git clone -q --bare model new.git; cat plant >> new.git/config;"
                "mkdir -p fake/objects fake/refs; cp model/.git/HEAD fake/; cat plant > fake/config")


class BareRepository(Place):
    def prepare(self):
        plants.repository(self.world, self.top / "model")
        plants.git(self.world, "clone", "-q", "--bare", "model", "store", cwd=self.top)
        self.worked_in = [self.top / "store"]

    def plant(self):
        return "cat plant >> store/config"


class SeparateDirectory(Place):
    """git init --separate-git-dir: the git directory has any name and lies elsewhere in the grant."""

    def prepare(self):
        self.world.make_directory(self.top / "tree")
        plants.repository(self.world, self.top / "tree", f"--separate-git-dir={self.top}/store")
        self.worked_in = [self.top / "tree"]

    def plant(self):
        return "cat plant >> store/config"


class BareWithWorktrees(Place):
    """.bare with a .git file beside it and worktrees below."""

    def prepare(self):
        plants.repository(self.world, self.world.outside / f"{self.top.name}-model")
        plants.git(self.world, "clone", "-q", "--bare", str(self.world.outside / f"{self.top.name}-model"),
                   ".bare", cwd=self.top)
        self.world.write(self.top / ".git", "gitdir: ./.bare\n")
        plants.git(self.world, "worktree", "add", "-q", "work", "main", cwd=self.top)
        self.world.write(self.top / "work/file.txt", "other work\n")
        self.worked_in = [self.top / "work"]

    def plant(self):
        return "cat plant >> .bare/config; cat plant >> .bare/worktrees/work/config.worktree"


class SharedWithoutHead(Place):
    """A linked worktree, all of it made by the command. What it shares has no HEAD: git asks for none there."""

    def prepare(self):
        plants.repository(self.world, self.top / "model")
        self.worked_in = [self.top / "lure"]

    def plant(self):
        return ("mkdir -p x/worktrees/w lure; cp -r model/.git/objects model/.git/refs x/;"
                "cp model/.git/HEAD model/.git/index x/worktrees/w/; echo ../.. > x/worktrees/w/commondir;"
                "echo $PWD/lure/.git > x/worktrees/w/gitdir;"
                "echo gitdir: $PWD/x/worktrees/w > lure/.git; cp model/.git/config x/config; cat plant >> x/config")


class FilesOfTheProject(Place):
    """The host's configuration names programs of the project: half of them are there, half are not."""

    def prepare(self):
        super().prepare()
        self.names = {key: f"tools/{number}.sh" for number, key in enumerate(plants.KEYS)}
        for number, (key, name) in enumerate(self.names.items()):
            if number % 2:
                content = 'cat "$@"' if key.endswith(("clean", "smudge", "textconv")) else "exit 0"
                self.world.write(self.top / name, f"#!/bin/sh\n{content}\n", 0o755)
            value = plants.KEYS[key].format(f"./{name}" if number % 3 else f"sh {name}")
            plants.git(self.world, "config", key, value, cwd=self.top)

    def plant(self):
        lines = ["mkdir -p tools"]
        for key, name in self.names.items():
            lines.append(f"printf '#!/bin/sh\\nexec {plants.program(self.world, key.lower())} \"$@\"\\n' > {name}.new;"
                         f"chmod 755 {name}.new; mv -f {name}.new {name} || cat {name}.new > {name}")
        return "\n".join(lines)


class Hooks(Place):
    """In the default directory, in a relative one that the configuration names, and in that of a worktree."""

    def prepare(self):
        super().prepare()
        plants.git(self.world, "worktree", "add", "-q", "linked", "-b", "linked", cwd=self.top)
        plants.git(self.world, "config", "core.hooksPath", ".hooks", cwd=self.top)
        plants.repository(self.world, self.top / "plain")
        plants.git(self.world, "clone", "-q", "--bare", "plain", "store", cwd=self.top)
        plants.git(self.world, "remote", "set-url", "origin", str(self.top / "store"), cwd=self.top / "plain")
        self.worked_in = [self.top, self.top / "linked", self.top / "plain"]

    def plant(self):
        lines = [f"mkdir -p {d}" for d in (".hooks", "linked/.hooks")]
        for hook in HOOKS:
            for directory in (".hooks", "linked/.hooks", "plain/.git/hooks", "store/hooks"):
                lines.append(f"printf '#!/bin/sh\\n{self.world.outside}/program {hook}\\n' > {directory}/{hook};"
                             f"chmod 755 {directory}/{hook}")
        return "\n".join(lines)


class Continued(Place):
    """What an interrupted rebase or cherry-pick left for its continuation."""

    def prepare(self):
        super().prepare()
        for name in ("rebase", "pick"):
            plants.repository(self.world, self.top / name)
            self.world.bare("git", "checkout", "-q", ".", cwd=self.top / name)
        self.worked_in = [self.top, self.top / "rebase", self.top / "pick"]

    def plant(self):
        # `git merge-planted/x` is a path in the work tree.
        programs = [f"{name}={plants.program(self.world, name)}" for name in ("todo", "strategy")]
        return ("; ".join(programs) + "\n"
                "for d in . rebase pick; do mkdir -p $d/git-merge-planted;"
                " printf \"#!/bin/sh\\nexec $strategy\\n\" > $d/git-merge-planted/x;"
                " chmod 755 $d/git-merge-planted/x; done\n"
                "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a\n"
                "git checkout -q .; GIT_SEQUENCE_EDITOR='echo break >' git rebase -q -i HEAD~1\n"
                "echo \"exec $todo\" > .git/rebase-merge/git-rebase-todo\n"
                "(cd rebase; GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i --strategy=ours HEAD~1\n"
                " echo planted/x > .git/rebase-merge/strategy)\n"
                "(cd pick; git cherry-pick side side~1 HEAD~1; mkdir -p .git/sequencer\n"
                " printf '[options]\\n\\tstrategy = planted/x\\n' > .git/sequencer/opts)\n")


class Links(Place):
    """git writes the message of a commit through a link: here into the start-up file of a shell."""

    def plant(self):
        return (f"ln -sf {self.world.home}/.bashrc .git/COMMIT_EDITMSG\n"
                f"rm -f .git/logs/HEAD; ln -sf {self.world.home}/.bash_logout .git/logs/HEAD\n"
                "echo planted > .git/MERGE_MSG")


class Legacy(Place):
    """Addresses of the oldest kind: .git/remotes/NAME, .git/branches/NAME."""

    def prepare(self):
        super().prepare()
        for name in ("origin", "far", "old"):
            plants.git(self.world, "remote", "remove", name, cwd=self.top)
        plants.git(self.world, "config", "protocol.ext.allow", "always", cwd=self.top)

    def plant(self):
        remotes, branches = (plants.program(self.world, name) for name in ("remotes", "branches"))
        return ("mkdir -p .git/remotes .git/branches;"
                f"printf 'URL: ext::{remotes}\\n' > .git/remotes/origin;"
                f"printf 'ext::{branches}\\n' > .git/branches/far")


CONFIGURATIONS = [Config, IncludeOfAnInclude, IncludeOfTheUser, Submodule, BareWithWorktrees, SharedWithoutHead]
OTHER_CONFIGURATIONS = [ConfigByRename, ConfigOfTheWorktree, Include, ConditionalInclude, LinkedWorktree,
                        NewRepository, NewBareRepository, BareRepository, SeparateDirectory]
FILES = [FilesOfTheProject, Hooks, Continued, Links, Legacy]
PLACES = CONFIGURATIONS + FILES + (OTHER_CONFIGURATIONS if EVERY_KEY else [])
# Without a work tree most operations refuse; what is left is the pager.
CONTROLS = {NewBareRepository: {"core.pager"}, BareRepository: {"core.pager"}, SharedWithoutHead: {"core.fsmonitor"},
            BareWithWorktrees: FEW, Submodule: FEW, LinkedWorktree: FEW, SeparateDirectory: FEW, NewRepository: FEW,
            Hooks: {"post-commit", "pre-commit", "pre-push", "post-checkout", "post-receive"},
            Continued: {"todo", "strategy"}, Links: set(), Legacy: {"remotes", "branches"},
            FilesOfTheProject: FEW | {"diff.text.textconv", "merge.planted.driver"}}


def contained(world: World, place: Place) -> None:
    world.run("sh", "-c", place.plant() + "\ntrue", cwd=place.top, timeout=120).expect(0)


def uncontained(world: World, place: Place) -> None:
    world.bare("sh", "-c", place.plant() + "\ntrue", cwd=place.top, timeout=120).expect(0)


def played(world: World, kind: type, name: str, text: str, how) -> set[str]:
    """What was started by ordinary work after `how` planted the text."""
    place = kind(world, world.home / name)
    place.prepare()
    world.write(place.top / "plant", text)
    plants.started(world)
    how(world, place)
    for directory in place.worked_in:
        if directory.exists():
            plants.work(world, directory)
    return plants.started(world)


@pytest.mark.parametrize("kind", PLACES, ids=lambda kind: kind.__name__)
def test_nothing_that_was_planted_is_started(world, kind):
    text = plants.configuration(world)
    assert played(world, kind, "project2", text, contained) == set()
    for name in (".bashrc", ".bash_logout"):
        assert not (world.home / name).exists(), name
    found = played(world, kind, "control", text, uncontained)
    missing = CONTROLS.get(kind, STARTED) - found
    assert not missing, f"the control started only {sorted(found)}"
    if kind is Links:
        assert (world.home / ".bashrc").exists() and (world.home / ".bash_logout").exists()


@pytest.mark.parametrize("kind", [Config, NewRepository, Submodule] if EVERY_KEY else [NewRepository],
                         ids=lambda kind: kind.__name__)
def test_no_program_that_signs_is_started(world, kind):
    text = plants.configuration(world, plants.SIGNING, plants.SIGN_SWITCHES)
    assert played(world, kind, "project2", text, contained) == set()
    assert played(world, kind, "control", text, uncontained) == {"gpg.program"}


if EVERY_KEY:
    @pytest.mark.parametrize("kind", [Config, IncludeOfAnInclude, NewRepository, SeparateDirectory],
                             ids=lambda kind: kind.__name__)
    @pytest.mark.parametrize("key", [*plants.KEYS, *plants.SIGNING])
    def test_no_key_alone_is_started(world, kind, key):
        value = {**plants.KEYS, **plants.SIGNING}[key]
        text = plants.configuration(world, {key: value}, plants.SWITCHES + plants.SIGN_SWITCHES)
        assert played(world, kind, "project2", text, contained) == set()
