"""A repository as a person would have it, made by the host's own git."""

from __future__ import annotations

from pathlib import Path

from support.harness import World

IDENTITY = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org"}

HOOKS = ("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit",
         "prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout",
         "post-merge", "pre-push", "pre-receive", "update", "proc-receive", "post-receive",
         "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite",
         "sendemail-validate", "fsmonitor-watchman", "p4-changelist", "post-index-change")


def git(world: World, *arguments, cwd: Path | None = None):
    return world.bare("git", *arguments, cwd=cwd, env=IDENTITY).expect(0)


def make_repository(world: World, path: Path | None = None) -> Path:
    path = path or world.project
    world.make_directory(path)
    git(world, "init", "-q", "-b", "main", str(path), cwd=world.path)
    world.write(path / "tracked.txt", "tracked\n")
    git(world, "add", "tracked.txt", cwd=path)
    git(world, "commit", "-q", "-m", "first", cwd=path)
    return path


def payload(world: World, path: Path, marker: Path) -> Path:
    """An executable that leaves a marker where no sandbox can: it proves that the host ran it."""
    return world.write(path, f"#!/bin/sh\ntouch '{marker}'\nexit 0\n", 0o755)
