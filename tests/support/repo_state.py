"""What there is in some directories, as git and the file system tell it: one flat map of plain values.

It is a program as well, and the same one outside and inside a run, so that two states are taken in the same way:

    python3 repo_state.py SCRIPT PLACE...

runs SCRIPT in a shell, in the current directory, and prints one JSON object: the state of the places `before`
it, its `status`, `out` and `err`, and the `state` of the places afterwards. An empty SCRIPT only looks.

Keys of the state, P being a path:
    file P               a file, a link or a directory: type, permissions, content
    ref P NAME           a reference of the git directory P
    config P KEY         a setting in the configuration of the git directory P
    index P NAME         an entry of the index of the work tree P, with its flags
    status P NAME        what `git status` shows in the work tree P
    objects P            every object of the git directory P
    sound P              whether `git fsck` finds the git directory P whole
Samples of hooks are passed over: git runs none, and a run does not show them.
"""

import json
import os
import stat
import subprocess
import sys

# Of a git directory: told by refs, index and objects instead, or a cache of git's own.
STORAGE = {"objects", "refs", "packed-refs", "index", "config", "config.worktree", "sharedindex", "gc.log"}
# Every repository is looked at, whoever owns it, and looking changes nothing.
GIT = ["git", "--no-optional-locks", "-c", "safe.directory=*", "-c", "core.quotePath=false"]


def git(*words, cwd):
    done = subprocess.run([*GIT, *words], cwd=cwd, capture_output=True)
    return done.returncode, done.stdout.decode("utf-8", "surrogateescape")


def is_git_directory(path):
    return (os.path.lexists(os.path.join(path, "HEAD")) and os.path.isdir(os.path.join(path, "objects"))
            and os.path.isdir(os.path.join(path, "refs")))


def value_of(path):
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return "link " + os.readlink(path)
    if stat.S_ISDIR(status.st_mode):
        return "directory"
    mode = format(stat.S_IMODE(status.st_mode), "o")
    if not stat.S_ISREG(status.st_mode):
        return f"special {mode}"
    with open(path, "rb") as file:
        return f"{mode} " + file.read().decode("utf-8", "backslashreplace")


def is_linked_directory(path):
    return all(os.path.lexists(os.path.join(path, name)) for name in ("HEAD", "commondir", "gitdir"))


def settings(state, path):
    for name in ("config", "config.worktree"):
        if os.path.lexists(os.path.join(path, name)):
            _, text = git("config", "--file", os.path.join(path, name), "--no-includes", "--list", "-z", cwd="/")
            for entry in filter(None, text.split("\0")):
                key, _, value = entry.partition("\n")
                state.setdefault(f"{name} {path} {key}", []).append(value)


def git_directory(state, path):
    settings(state, path)
    _, refs = git("--git-dir", path, "for-each-ref", "--format=%(refname)%09%(objectname)%09%(symref)", cwd=path)
    for line in refs.splitlines():
        name, _, value = line.partition("\t")
        state[f"ref {path} {name}"] = value
    _, objects = git("--git-dir", path, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)", cwd=path)
    state[f"objects {path}"] = sorted(objects.split())
    state[f"sound {path}"] = git("--git-dir", path, "fsck", "--no-dangling", "--no-progress", cwd=path)[0]


def work_tree(state, path):
    _, index = git("ls-files", "-s", "-v", "-z", cwd=path)
    for line in filter(None, index.split("\0")):
        value, _, name = line.partition("\t")
        state.setdefault(f"index {path} {name}", []).append(value)
    code, status = git("status", "--porcelain", "-z", "-uall", "--ignored", "--no-renames", cwd=path)
    state[f"status {path}"] = code
    for line in filter(None, status.split("\0")):
        state[f"status {path} {line[3:]}"] = line[:2]


def look(places):
    state = {}
    waiting = list(places)
    while waiting:
        path = waiting.pop()
        state[f"file {path}"] = "directory"
        storage = set()
        if is_git_directory(path):
            git_directory(state, path)
            storage = STORAGE
        elif is_linked_directory(path):
            settings(state, path)
            storage = STORAGE
        names = sorted(os.listdir(path))
        if ".git" in names:
            work_tree(state, path)
        for name in names:
            child = os.path.join(path, name)
            if name in storage or (name.endswith(".sample") and os.path.basename(path) == "hooks"):
                continue
            value = state[f"file {child}"] = value_of(child)
            if value == "directory":
                waiting.append(child)
    return state


def main():
    script, *places = sys.argv[1:]
    answer = {}
    if script:
        before = look(places)
        done = subprocess.run(["/bin/sh", "-c", script], capture_output=True)
        answer = {"before": before, "status": done.returncode, "out": done.stdout.decode("utf-8", "replace"),
                  "err": done.stderr.decode("utf-8", "replace")}
    json.dump(answer | {"state": look(places)}, sys.stdout)


if __name__ == "__main__":
    main()
