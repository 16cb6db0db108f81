"""A developer's directory, and one piece of work done in it twice: bare, and in a run of Cordon.

The directory `day` lies in the person's home:

    day/project    a clone with protected files in it, tracked, and branches that differ in them: the grant
    day/forge      bare repositories to push to and fetch from: granted for writing
    day/trees      for linked worktrees beside the project: granted for writing
    day/source     repositories to clone and to use as submodules: granted for reading

Every date is fixed and both times have the same path, so that the same work leaves the same bytes. What is
compared is the whole state of all four (support/repo_state.py)."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from support import harness, repo_state
from support.harness import World

DATE = "2024-01-01T12:00:00+0000"
ENVIRONMENT = {"GIT_AUTHOR_DATE": DATE, "GIT_COMMITTER_DATE": DATE, "TZ": "UTC", "GIT_EDITOR": "true",
               "GIT_SEQUENCE_EDITOR": "true", "GIT_PAGER": "cat", "GIT_COMMITTER_NAME": "Dev",
               "GIT_COMMITTER_EMAIL": "dev@example.org", "PYTHONDONTWRITEBYTECODE": "1"}
SECONDS = 90
LOOK = Path(repo_state.__file__).read_text()
PLACES = ("project", "forge", "trees", "source")

# Held, and on branch `other` different: changed, added and removed. The last ones are only reported.
MAKE = r"""
set -e
mkdir -p forge trees source
git init -q source/lib; cd source/lib
mkdir .vscode; echo '{"of": "lib"}' > .vscode/settings.json; echo lib > lib.txt
git add -A; git commit -q -m lib; git branch next; cd ../..
# In place of Git LFS, whose package changes /etc/gitconfig: the same filters, by the same names.
mkdir source/bin; cat > source/bin/git-lfs <<'END'
#!/bin/sh
store=$(git rev-parse --git-common-dir)/lfs/objects; mkdir -p "$store"; cat > "$store/new.$$"
case $1 in
  clean) oid=$(sha256sum < "$store/new.$$" | cut -d' ' -f1); size=$(wc -c < "$store/new.$$")
    mv "$store/new.$$" "$store/$oid"
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %s\n' "$oid" "$size" ;;
  smudge) oid=$(sed -n 's/^oid sha256://p' "$store/new.$$"); rm "$store/new.$$"; cat "$store/$oid" ;;
esac
END
chmod 755 source/bin/git-lfs

git init -q --bare forge/up.git
git init -q project; cd project
seq 1 20 > plain.txt; mkdir src sub; seq 1 9 > src/a.txt; seq 1 5 > sub/b.txt; printf '*.log\nbuild/\n' > .gitignore
git add -A; git commit -q -m first; git branch old; git tag -a v0 -m v0

mkdir -p .vscode .claude sub/.vscode .github/workflows
for f in .vscode/settings.json .vscode/tasks.json .claude/settings.json sub/.vscode/launch.json .mcp.json \
  package.json; do echo '{"on": "main"}' > $f; done
for f in .pre-commit-config.yaml .npmrc .github/workflows/ci.yml; do echo '# main' > $f; done
printf 'all:\n\ttrue\n' > Makefile
git add -A; git commit -q -m settings; git branch base
echo main >> src/a.txt; git commit -q -a -m 'work on main'; git tag v1

git checkout -q -b other base
for f in .vscode/settings.json .claude/settings.json sub/.vscode/launch.json .mcp.json package.json; do
  echo '{"on": "other"}' > $f; done
for f in .pre-commit-config.yaml .npmrc .github/workflows/ci.yml; do echo '# other' > $f; done
git rm -q .vscode/tasks.json; echo '[]' > .vscode/extensions.json; echo other > other.txt
git add -A; git commit -q -m 'settings of other'

git checkout -q -b topic base
echo one > topic.txt; git add -A; git commit -q -m 'topic one'
echo two >> topic.txt; git commit -q -a -m 'topic two'

git checkout -q -b clash base
echo clash >> src/a.txt; git commit -q -a -m clash

git checkout -q -b new base
mkdir .zed; echo '{"on": "new"}' > .zed/settings.json; echo '{"on": "new"}' > opencode.json; echo new > new.txt
git add -A; git commit -q -m 'new names'

git checkout -q -b ahead main; echo ahead > ahead.txt; git add -A; git commit -q -m ahead
git checkout -q -b feature base; echo feature > feature.txt; git add -A; git commit -q -m feature
git checkout -q main
git remote add origin ../forge/up.git
git push -q origin main other topic feature
git branch -q -u origin/main main
git push -q origin ahead:main
git update-ref refs/remotes/origin/main main
git branch -q -D ahead feature; git reflog expire --expire=now --all; git gc -q --prune=now
# Few files are soon copied. The project keeps the samples of hooks, as every repository has them.
cd ..; git -C forge/up.git gc -q; git -C source/lib gc -q; rm forge/up.git/hooks/* source/lib/.git/hooks/*
"""


@dataclass(frozen=True)
class Work:
    """One piece of work: what was done before it, the commands, and the status they end with, bare and in a run.

    `path` are directories, seen from the project, that come first on PATH. `lost` is what the run wrote to its
    private home, by the name there. `unlike` are directories whose files are never the same twice: they are not
    compared.

    `held` are the keys of what is not on the host afterwards as it would be without Cordon; everything else is
    equal, and so is everything inside but for the keys `inside`. `left` are the keys that are still different
    when all that was held back has been taken. `passes` are those of `held` that a branch of the person has at
    that path: they are on the host, unless the policy says `trust_tracked = false`.

    What follows is for limits that are known. `stopped` names directories in which work stops half way, and it
    may depend on the order of names in a directory how far it comes: what is above and below them is as it would
    be without Cordon or as it was before, inside and on the host; with `finished` only inside, because what stopped
    is finished after the run. `status_inside` is the status in a run, if it is another. `again` are names that are only reported and have been written again with the same content."""
    name: str
    script: str
    before: str = ""
    status: int = 0
    held: frozenset[str] = frozenset()
    passes: frozenset[str] = frozenset()
    inside: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()
    stopped: tuple[str, ...] = ()
    finished: bool = False
    status_inside: int | None = None
    again: frozenset[str] = frozenset()
    path: tuple[str, ...] = ()
    lost: frozenset[str] = frozenset()
    unlike: tuple[str, ...] = ()


_templates: dict[str, Path] = {}


def bare(world: World, script: str, cwd: Path):
    return world.bare("/bin/sh", "-c", script, cwd=cwd, env=ENVIRONMENT, timeout=SECONDS).expect(0)


def template(world: World) -> Path:
    """The directory `day`, made once for each person."""
    if world.who.name not in _templates:
        place = harness.stage().new_directory()
        world.own(place)
        bare(world, MAKE, place)
        _templates[world.who.name] = place
    return _templates[world.who.name]


class Day:
    def __init__(self, world: World):
        self.world = world
        self.path = world.home / "day"
        self.project = self.path / "project"
        world.write(world.home / ".gitconfig", "[user]\n\tname = Dev\n\temail = dev@example.org\n"
                    "[init]\n\tdefaultBranch = main\n")
        self.copy(template(world), self.path)

    @staticmethod
    def copy(source: Path, target: Path) -> None:
        subprocess.run(["cp", "-a", str(source), str(target)], check=True)

    def looking(self, script: str) -> list[str]:
        return ["/usr/bin/python3", "-ISc", LOOK, script, *(str(self.path / place) for place in PLACES)]

    def answer(self, done) -> dict:
        found = json.loads(done.expect(0).out)
        for moment in ("before", "state"):
            found[moment] = {key.replace(f"{self.path}/", ""): value
                             for key, value in found.get(moment, {}).items()}
        return found

    def environment(self, work: Work) -> dict[str, str]:
        first = [os.path.normpath(self.project / name) for name in work.path]
        return ENVIRONMENT | {"PATH": ":".join([*first, harness.BASE_PATH])}

    def refresh(self) -> None:
        """Git knows its files by their times and numbers, and a copy has others."""
        bare(self.world, "git status --porcelain > /dev/null", self.project)

    def without_cordon(self, work: Work) -> dict:
        """Done bare, and everything put back as it was."""
        if work.before:
            bare(self.world, work.before, self.project)
        saved = self.world.home / "day.saved"
        self.copy(self.path, saved)
        self.refresh()
        found = self.answer(self.world.bare(*self.looking(work.script), cwd=self.project,
                                            env=self.environment(work), timeout=SECONDS))
        harness.remove_tree(self.path)
        saved.rename(self.path)
        self.refresh()
        return found

    def in_a_run(self, work: Work, trust: bool = True):
        options = ["--write", self.path / "forge", "--write", self.path / "trees", "--read", self.path / "source"]
        if not trust:
            options += ["--policy", self.world.document(
                'version = 1\nextends = "workspace"\n[fs]\ntrust_tracked = false\n')]
        for name, value in ENVIRONMENT.items():
            options += ["--env", f"{name}={value}"]
        done, report = self.world.report(*self.looking(work.script), options=options, cwd=self.project,
                                         env=self.environment(work), timeout=SECONDS)
        return self.answer(done), report, done.err

    def now(self, work: Work) -> dict:
        return self.answer(self.world.bare(*self.looking(""), cwd=self.project, env=self.environment(work)))["state"]


def differences(one: dict, other: dict) -> set[str]:
    """Keys that are not equal. What `git status` shows follows from files, index and filters: it is judged by them."""
    keys = {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}
    shown = {key for key in keys if key.startswith("status ")}
    for key in sorted(shown):
        tree, _, name = key.removeprefix("status ").partition(" ")
        path = f"{tree}/{name}".rstrip("/")
        follows = f"index {tree} {name}" in keys or any(
            k == f"file {path}" or k.startswith((f"file {path}/", f"index {path} ", f"config {tree}/.git filter."))
            for k in keys)
        assert follows or (not name and f"file {tree}/.git" in keys), f"{key} follows from nothing: {sorted(keys)}"
    return keys - shown


class Told:
    """What the report of a run says, by keys of the state."""

    def __init__(self, day: Day, report: dict):
        def place(path: str) -> str:
            return str((day.project / path).relative_to(day.path))

        self.report = report
        self.lost = [e for e in report["changes"] if e["state"] == "lost"]
        self.settings = {"held": set(), "applied": set()}
        self.paths = {"held": set(), "applied": set()}
        for entry in report["changes"]:
            if entry["state"] == "lost":
                continue
            path, state = place(entry["path"]), entry["state"]
            folder, _, name = path.rpartition("/")
            _, colon, keys = entry["reason"].partition(": ")
            if name in ("config", "config.worktree") and colon:
                self.settings[state] |= {f"{name} {folder} {key}" for key in keys.split(", ")}
            else:
                self.paths[state].add(path)
        kept = [e for e in report["handoff"] if e["moved_to"] or e["restored"]]
        self.moved = {place(e["path"]) for e in kept}
        self.only_named = {place(e["path"]) for e in report["handoff"] if e not in kept}

    def names(self, key: str) -> bool:
        """Whether what is different in this key was said to be held back."""
        path = path_of(key)
        above = key.startswith("file ")
        return key in self.settings["held"] or any(within(path, held) or (above and within(held, path))
                                                   for held in self.paths["held"])


def path_of(key: str) -> str:
    """The file that a key is about."""
    kind, place, *name = key.split(" ", 2)
    return f"{place}/{name[0]}" if kind == "index" else place if kind == "file" else f"{place}/{kind}"


def within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory + "/")


def touches(path: str, keys: set[str]) -> bool:
    """Whether one of the keys is about this path or what is below it."""
    return any(within(path_of(key), path) for key in keys)


def check(world: World, work: Work, trust: bool = True) -> None:
    """The outcome inside, the outcome on the host, and the report."""
    held = work.held - work.passes if trust else work.held
    day = Day(world)
    alone = day.without_cordon(work)
    assert alone["status"] == work.status, f"the work itself: {alone['out']}\n{alone['err']}"
    inside, report, err = day.in_a_run(work, trust)
    host = day.now(work)
    told = Told(day, report)
    account = (f"{work.name} inside: {inside['out']}\n{inside['err']}\n{err}\n"
               f"{json.dumps(report['changes'], indent=1)}\n{json.dumps(report['handoff'], indent=1)}")

    wanted = work.status if work.status_inside is None else work.status_inside
    assert inside["status"] == wanted, account
    if not work.stopped:
        assert inside["out"] == alone["out"], f"{alone['out']}\n{account}"

    def stopped(keys: set[str], state: dict) -> set[str]:
        """Without what is as it was before where the work stopped."""
        keys = {key for key in keys if not any(within(path_of(key), path) for path in work.unlike)}
        return {key for key in keys if not (state.get(key) == alone["before"].get(key) and any(
            within(path_of(key), path) or within(path, path_of(key)) for path in work.stopped))}

    within_run = stopped(differences(alone["state"], inside["state"]), inside["state"])
    assert within_run == work.inside, f"inside: {sorted(within_run ^ work.inside)}\n{account}"
    different = differences(alone["state"], host) if work.finished else stopped(
        differences(alone["state"], host), host)
    assert different == held, f"on the host: {sorted(different ^ held)}\n{account}"

    # Everything that is different is named, and everything that is named is different.
    assert not (unnamed := {key for key in different if not told.names(key)}), f"{sorted(unnamed)}\n{account}"
    everything = differences(alone["state"], host)
    for path in told.paths["held"] | told.moved:
        assert touches(path, everything), f"{path} is named and not different\n{account}"
    assert told.settings["held"] <= different, f"{told.settings['held'] - different}\n{account}"
    changed = {key for key in host.keys() | alone["before"].keys() if host.get(key) != alone["before"].get(key)}
    again = {path for path in told.only_named if not touches(path, changed)}
    assert again == work.again, f"named and not changed: {again}\n{account}"
    for path in told.paths["applied"]:
        assert touches(path, changed) and not touches(path, different), f"{path}\n{account}"
    assert told.settings["applied"] <= changed - different, f"{told.settings['applied']}\n{account}"
    assert {e["path"] for e in told.lost} == {str(world.home / name) for name in work.lost}, account
    assert ("held back: " in err) == bool(told.paths["held"] or told.settings["held"]), account

    # Nothing is lost: what was held back can be taken, and then it is the same as without Cordon.
    if told.paths["held"] or told.settings["held"]:
        world.cordon_verb("changes", "apply", report["run_id"], cwd=day.project).expect(0)
        taken = day.now(work)
        rest = stopped(differences(alone["state"], taken), taken)
        assert rest == work.left, f"taken: {sorted(rest ^ work.left)}\n{account}"
