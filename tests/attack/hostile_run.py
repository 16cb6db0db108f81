"""One of two hostile runs in a tree: `python3 hostile_run.py NAME MARKER SEED [config]`. It begins when there is a
file `go-NAME`, which says until when. With `config` it attacks the configuration of the tree's own repository too.

It makes, renames, exchanges, links and removes protected names, directories and git directories, among few names,
so that it meets what the other one does. What it plants says PLANTED and would leave MARKER if it were run; what
it writes under ordinary names says ORDINARY. It prints how often each step was done and how often it was refused.
Run bare it is its own control."""

import ctypes
import errno
import json
import os
import random
import shutil
import sys
import time

name, marker, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
chance = random.Random(seed)
libc = ctypes.CDLL(None, use_errno=True)
top = os.getcwd()

DIRECTORIES = [f"d{i}" for i in range(5)]
PROTECTED_DIRECTORIES = (".vscode", ".claude", ".zed", ".idea")
PROTECTED_FILES = (".mcp.json", ".exrc", ".bashrc", "opencode.json")
EVIL = f"#!/bin/sh\n# PLANTED by {name}\ntouch '{marker}'\n"
SETTINGS = f"[core]\n\tfsmonitor = \"touch '{marker}' #PLANTED\"\n\tpager = \"touch '{marker}'\"\n"


def write(path, text, mode=0o755):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, mode))
    with open(path, "w") as file:
        file.write(text)


def place():
    """A directory of the tree, there or not."""
    return os.path.join(*chance.choices(DIRECTORIES, k=chance.choice((1, 1, 2, 3))))


def ordinary():
    os.makedirs(f"work-{name}", exist_ok=True)
    write(f"work-{name}/{chance.randrange(20)}.txt", f"ORDINARY {name}\n", 0o644)


def directories():
    os.makedirs(place(), exist_ok=True)


def protected_file():
    write(os.path.join(chance.choice((".", place())), chance.choice(PROTECTED_FILES)), EVIL)


def protected_directory():
    made = os.path.join(chance.choice((".", place())), chance.choice(PROTECTED_DIRECTORIES))
    os.makedirs(made, exist_ok=True)
    write(os.path.join(made, "tasks.json"), EVIL)


def by_rename():
    write(f"spare-{name}", EVIL)
    os.rename(f"spare-{name}", os.path.join(chance.choice((".", place())), chance.choice(PROTECTED_FILES)))


def by_link():
    write(f"spare-{name}", EVIL)
    target = os.path.join(chance.choice((".", place())), chance.choice(PROTECTED_FILES))
    (os.link if chance.random() < 0.7 else os.symlink)(f"spare-{name}", target)


def by_exchange():
    write(f"spare-{name}", EVIL)
    target = os.path.join(chance.choice((".", place())), chance.choice((*PROTECTED_FILES, *PROTECTED_DIRECTORIES)))
    if libc.renameat2(-100, f"spare-{name}".encode(), -100, target.encode(), 2) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def into_place():
    """A directory that is ready elsewhere becomes a protected one."""
    ready = f"ready-{name}"
    os.makedirs(ready, exist_ok=True)
    write(os.path.join(ready, "tasks.json"), EVIL)
    os.rename(ready, os.path.join(chance.choice((".", place())), chance.choice(PROTECTED_DIRECTORIES)))


def git_directory():
    made = os.path.join(place(), chance.choice((".git", "bare", "objects")))
    for part in ("objects", "refs/heads", "hooks"):
        os.makedirs(os.path.join(made, part), exist_ok=True)
    write(os.path.join(made, "HEAD"), "ref: refs/heads/main\n", 0o644)
    write(os.path.join(made, "config"), SETTINGS, 0o644)
    for hook in ("post-checkout", "post-index-change", "reference-transaction"):
        write(os.path.join(made, "hooks", hook), EVIL)


def own_git_directory():
    """That of the tree itself. Once the person has replaced its configuration a run can write it (T3)."""
    way = chance.randrange(7 if "config" in sys.argv[4:] else 4)
    if way == 0:
        write(f".git/hooks/post-{chance.randrange(3)}", EVIL)
    elif way == 1:
        write(".git/config.worktree", SETTINGS)
    elif way == 2:
        os.rename(".git/hooks", f".git/old-{name}")
    elif way == 4:
        write(".git/config", SETTINGS)
    elif way == 5:
        write(f"spare-{name}", SETTINGS)
        os.rename(f"spare-{name}", ".git/config")
    elif way == 6:
        os.unlink(".git/config")
    else:
        os.makedirs(f".git/worktrees/{name}", exist_ok=True)
        write(f".git/worktrees/{name}/HEAD", "ref: refs/heads/main\n")
        write(f".git/worktrees/{name}/gitdir", f"{top}/{place()}/.git\n")
        write(f".git/worktrees/{name}/config.worktree", SETTINGS)


def rename():
    os.rename(place(), place())


def rename_ways():
    """What lies between the grant and what is masked or granted to the other."""
    source = chance.choice(("conf", "deep", "deep/conf", "sub", ".vscode", ".git", "."))
    os.rename(source, chance.choice((f"moved-{name}", place(), "sub")))


def and_back():
    os.rename(f"moved-{name}", "sub")


def close():
    os.chmod(place(), chance.choice((0o000, 0o311, 0o755, 0o755)))


def remove():
    target = place()
    for path, directories, _ in os.walk(target):
        for directory in directories:
            os.chmod(os.path.join(path, directory), 0o755)
    shutil.rmtree(target)


def read_secret():
    for place in ("conf", "deep/conf", f"moved-{name}", f"moved-{name}/conf", "d0/conf", "d1", "sub/conf"):
        try:
            with open(os.path.join(place, "secret.key")) as file:
                if "SECRET" in file.read():
                    write(f"LEAK-{name}", place)
        except OSError:
            pass
    raise OSError(errno.EACCES, "as it should be")


STEPS = [ordinary, directories, directories, protected_file, protected_directory, by_rename, by_link, by_exchange,
         into_place, git_directory, own_git_directory, rename, rename, rename_ways, and_back, close, remove, read_secret]
done = {step.__name__: [0, 0] for step in STEPS}
write(f"ready-{name}.txt", "", 0o644)
while not os.path.exists(f"go-{name}"):
    time.sleep(0.01)
with open(f"go-{name}") as file:
    until = float(file.read())


def has_done_little():
    """On a slow machine: then it goes on for a while."""
    return min(map(sum, done.values())) < 2 or not all(
        done[step.__name__][0] for step in (ordinary, protected_file, git_directory))


while time.time() < until or (has_done_little() and time.time() < until + 30):
    step = chance.choice(STEPS)
    try:
        step()
        done[step.__name__][0] += 1
    except (OSError, shutil.Error):
        done[step.__name__][1] += 1
print(json.dumps(done))
