"""What is released: a commit of a clean tree, its version and its time."""

import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path


class Refusal(Exception):
    """Something that must be changed before a release can begin."""


@dataclass(frozen=True)
class Tree:
    root: Path
    version: str  # of the archive and the package
    commit: str
    epoch: int  # time of the commit: the only time in the products

    def date(self) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.epoch))


def git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Refusal("git is not installed; a release is made from a commit") from None
    if done.returncode != 0:
        raise Refusal(f"{root} is not a git checkout: {done.stderr.strip()}")
    return done.stdout


def refuse_dirty(root: Path, *, trial: bool) -> None:
    """A file that is not in the commit would be released without anybody being able to find it."""
    changed = git(root, "status", "--porcelain", "--untracked-files=all").splitlines()
    if not changed or trial:
        return
    shown = "\n".join(f"  {line}" for line in changed[:20])
    more = f"\n  and {len(changed) - 20} more" if len(changed) > 20 else ""
    raise Refusal(f"the tree is not clean:\n{shown}{more}\n"
                  "commit these files, or remove them; --trial packs the tree as it is")


def read(root: Path, *, trial: bool) -> Tree:
    text = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    found = re.search(r"project\(cordon VERSION ([0-9.]+)", text)
    if not found:
        raise Refusal("CMakeLists.txt names no version of the project")
    commit = git(root, "rev-parse", "HEAD").strip()
    epoch = int(git(root, "log", "-1", "--format=%ct", "HEAD"))
    # "~" sorts before the release itself, so that a trial never keeps the release from installing.
    return Tree(root, found.group(1) + ("~trial" if trial else ""), commit, epoch)
