"""Names that opening a project runs, and names that operators add and release."""

import pytest

CEILING = 'version = 1\n[fs]\nread = ["/"]\nwrite = ["{}"]\n[net]\nmode = "open"\n[protect]\n'


def test_an_operator_adds_and_releases_names(world):
    plain = world.document(CEILING.format(world.project), "plain.toml")
    own = world.document(CEILING.format(world.project) +
                         'add = ["deploy.sh", "ci/run"]\nrelease = [".vscode"]\n', "own.toml")
    make = ("mkdir -p ci other .vscode; echo x > deploy.sh; echo x > ci/run; echo x > other/run;"
            "echo x > .vscode/tasks.json; mkdir -p .idea; echo x > .idea/x")
    for ceilings, moved in (([plain], {".vscode", ".idea"}),
                            ([own], {"deploy.sh", "ci/run", ".idea"}),
                            ([own, plain], {"deploy.sh", "ci/run", ".vscode", ".idea"})):
        options = [word for path in ceilings for word in ("--ceiling", path)]
        done, report = world.report("sh", "-c", make, options=options)
        done.expect(0)
        assert {entry["path"] for entry in report["handoff"]} == moved, done.report_text
        world.bare("rm", "-rf", "ci", "other", ".vscode", "deploy.sh").expect(0)
    # What is there is held, and the reason is told.
    world.write(world.project / "deploy.sh", "mine")
    world.run("sh", "-c", "echo x > deploy.sh", options=["--ceiling", own])
    assert (world.project / "deploy.sh").read_text() == "mine"
    told = world.cordon_verb("policy", "explain", "--ceiling", own, "write", world.project / "ci/run")
    assert told.status == 1 and "ci/run" in told.out + told.err, told.account()


def test_a_policy_adds_names_and_releases_none(world):
    base = 'version = 1\nextends = "workspace"\n[protect]\n'
    adds = world.document(base + 'add = ["deploy.sh"]\n')
    world.run("sh", "-c", "echo x > deploy.sh", options=["--policy", adds]).expect(0)
    assert not (world.project / "deploy.sh").exists()
    for line, word in (('release = [".vscode"]', "ceilings only"), ('add = ["a/b/c"]', "not a name"),
                       ('add = ["*.sh"]', "not a name")):
        done = world.run("touch", "ran", options=["--policy", world.document(base + line + "\n")])
        assert done.status == 125 and word in done.err, done.account()
    for name in (".git/hooks", "main.c"):
        bad = world.document(CEILING.format(world.project) + f'release = ["{name}"]\n', "bad.toml")
        done = world.run("touch", "ran", options=["--ceiling", bad])
        assert done.status == 125 and "cannot be released" in done.err, done.account()


@pytest.mark.parametrize("name", [".zed/settings.json", ".kiro/hooks/a", "opencode.json", "lefthook.yml",
                                  ".pre-commit-config.yaml", ".nvim.lua", "mise.toml", ".cargo/config.toml",
                                  ".husky/pre-commit", "lefthook-local.yml", ".dir-locals-2.el", ".mise/config.toml",
                                  ".vimrc", ".gvimrc", ".helix/languages.toml", ".config/lefthook.yml", "lefthook-local.toml",
                                  ".lefthook-local.yml", ".lefthook.jsonc", ".lefthook-local/pre-commit/x",
                                  ".config/mise.toml", ".config/mise/config.toml", "mise/conf.d/x.toml",
                                  ".kilocode/mcp.json", ".trae/mcp.json", ".factory/settings.json",
                                  ".junie/mcp/mcp.json"])
def test_what_opening_a_project_runs_is_held(world, name):
    path = world.write(world.project / "there" / name, "mine\n")
    make = f"mkdir -p $(dirname new/{name}); echo x > new/{name}; echo x > there/{name}; echo x > new/ordinary"
    world.run("sh", "-c", make)
    assert path.read_text() == "mine\n"
    assert not (world.project / "new" / name).exists() and (world.project / "new/ordinary").exists()
    world.bare("sh", "-c", make).expect(0)
    assert path.read_text() == "x\n" and (world.project / "new" / name).exists()


def test_what_a_hook_of_husky_runs_is_held(world):
    """husky sets core.hooksPath to .husky/_, and the files there run those beside that directory: a run that
    adds .husky/pre-commit would have the person's next commit run it."""
    world.bare("sh", "-c", "git init -q . && git config user.email a@b && git config user.name a && mkdir -p .husky/_ && "
               "printf '#!/bin/sh\\n. .husky/pre-commit\\n' > .husky/_/pre-commit && chmod 755 .husky/_/pre-commit && "
               "git config core.hooksPath .husky/_").expect(0)
    commit = "echo x >> f; git add f; git commit -q -m x 2>/dev/null; test -e planted"
    plant = "echo 'touch planted' > .husky/pre-commit"
    world.run("sh", "-c", plant)
    assert world.bare("sh", "-c", commit).status == 1
    # The control: written outside, it is run.
    world.bare("sh", "-c", plant).expect(0)
    world.bare("sh", "-c", commit).expect(0)
