"""Files that the host's tools act on, planted by several calls of which none writes one: each call is a run of its own,
which finds what the ones before it left and takes it for the person's."""

import os
import shlex

import pytest

pytestmark = pytest.mark.once

GIT = "mkdir -p {0}/hooks {0}/objects {0}/refs && echo evil > {0}/hooks/pre-commit && echo 'ref: refs/heads/m' > {0}/"
# A string that begins with "> " is a call of write_local_file, any other one of run_code; and what must not be there.
PLANTS = {
    "a bare repository, piece by piece": (
        ["> store/hooks/post-update", "> store/objects/x", "> store/refs/x", "> store/HEAD"], "store/hooks/post-update"),
    "a git directory under another name": (["> gd/hooks/pre-commit", GIT.format("gd") + "no", "mkdir n && mv gd n/.git",
                                            "mv n/.git/no n/.git/HEAD"], "n/.git/hooks/pre-commit"),
    "one that is closed meanwhile": ([GIT.format("shut") + "HEAD; chmod 000 shut", "chmod 755 shut"], "shut/hooks/pre-commit"),
    "a pointer to one": (["> tree/pointer", "echo gitdir: ../gx > tree/pointer; " + GIT.format("gx") + "no",
                          "mv gx/no gx/HEAD; mv tree/pointer tree/.git"], "gx/hooks/pre-commit"),
    "an editor's directory by its name": (["> a/vscode/tasks.json", "mv a/vscode a/.vscode"], "a/.vscode/tasks.json"),
    "by a link": (["> editor/tasks.json", "mkdir a; ln -s ../editor a/.vscode"], "a/.vscode/tasks.json"),
    "by a link to a link": (["> editor/tasks.json", "ln -s editor one; mkdir a", "ln -s ../one a/.vscode"],
                            "a/.vscode/tasks.json"),
    "out of a package": (["> node_modules/x/.vscode/tasks.json", "mv node_modules/x x"], "x/.vscode/tasks.json"),
    "in the worktree of an agent": (["mkdir -p .claude/worktrees/w/claude; echo evil > .claude/worktrees/w/claude/settings.json",
                                     "mv .claude/worktrees/w/claude .claude/worktrees/w/.claude"],
                                    ".claude/worktrees/w/.claude/settings.json"),
    "deeper than a path is long": ([
        "/usr/bin/python3 -c \"import os\nfor i in range(60): os.mkdir('d' * 100); os.chdir('d' * 100)\n"
        "os.makedirs('vscode'); open('vscode/tasks.json', 'w')\"",
        "/usr/bin/python3 -c \"import os\nfor i in range(60): os.chdir('d' * 100)\nos.rename('vscode', '.vscode')\""], None),
}


def names_below(top):
    """However deep: by descriptors."""
    for _, directories, files, _ in os.fwalk(top):
        yield from directories + files


@pytest.mark.parametrize("how", PLANTS)
def test_nothing_is_planted_by_several_calls(full, how):
    world = full.world
    steps, planted = PLANTS[how]
    held = []
    for step in steps:
        if step.startswith("> "):
            arguments = {"path": str(world.project / step[2:]), "content": "evil\n", "create_dirs": True}
            answer, _ = full.result("write_local_file", arguments)
        else:
            answer, _ = full.result("run_code", {"argv": ["sh", "-c", step]})
        held.append(bool(answer.get("changes_held_back") or answer["success"] is False))
    assert any(held), "it was not told"
    assert not (planted and (world.project / planted).exists()) and ".vscode" not in names_below(world.project)
    # Control: the same, by somebody whom nothing contains.
    control = world.make_directory(world.path / "control")
    for step in steps:
        path = shlex.quote(step[2:])
        words = f"mkdir -p $(dirname {path}) && echo evil > {path}" if step.startswith("> ") else step
        world.bare("sh", "-c", words, cwd=control).expect(0)
    assert (control / planted).exists() if planted else ".vscode" in names_below(control)
