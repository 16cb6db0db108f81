"""Git directories whatever they are called, and grants that begin inside one or beside it."""

import pytest

from gitrepo import git, make_repository
from support.harness import FILE_ERRORS


def bare_repository(world, name="store"):
    make_repository(world, world.project / "model")
    git(world, "clone", "-q", "--bare", "model", name, cwd=world.project)
    return world.project / name


PARTS = ("hooks", "info", "refs", "objects")


@pytest.mark.parametrize("part", PARTS)
def test_no_option_opens_a_part_of_a_git_directory(world, part):
    store = bare_repository(world)
    world.make_directory(world.project / "plain" / part)
    for place in (store / part, world.project / "model/.git" / part):
        done = world.run("touch", place / "x", options=["--policy", "strict", "--write", place])
        assert done.status == 125 and "git" in done.err, done.account()
        assert not (place / "x").exists()
    # The same name anywhere else, and the git directory as a whole, can be written.
    ordinary = world.project / "plain" / part
    world.run("touch", ordinary / "x", options=["--policy", "strict", "--write", ordinary]).expect(0)


def test_a_policy_that_names_the_hooks_of_a_bare_repository_reads_them(world):
    store = bare_repository(world)
    policy = world.document(f'version = 1\nextends = "strict"\n[fs]\nread = ["{world.probe}"]\n'
                            f'write = ["{store}/hooks"]\n')
    [answer] = world.inside([("write", store / "hooks/post-update")], options=["--policy", policy])
    assert not answer.ok and answer.errno in FILE_ERRORS, answer
    world.bare("touch", store / "hooks/post-update").expect(0)


def test_a_worktree_in_a_bare_repository_can_be_worked_in(world):
    """`git clone --bare` and worktrees below it: the tree is no part of the git directory."""
    store = bare_repository(world)
    git(world, "worktree", "add", "-q", "main2", "-b", "main2", cwd=store)
    tree = store / "main2"
    world.run("sh", "-c", "echo more >> tracked.txt && git add tracked.txt && "
              "git -c user.name=A -c user.email=a commit -q -m more", cwd=tree).expect(0)
    assert "more" in git(world, "log", "-1", "--format=%s", cwd=tree).out
    world.run("sh", "-c", "echo x > ../../hooks/post-commit", cwd=tree)
    assert not (store / "hooks/post-commit").exists()


def test_files_named_by_a_repository_above_the_grant_are_held(world):
    """Two repositories above: the nearest does not hide the other."""
    marker = world.outside / "marker"
    make_repository(world)
    inner = make_repository(world, world.project / "inner")
    sub = world.make_directory(inner / "sub")
    world.write(sub / "watch", "#!/bin/sh\nexit 0\n", 0o755)
    git(world, "config", "core.fsmonitor", "inner/sub/watch", cwd=world.project)
    git(world, "config", "core.editor", "sub/edit.sh", cwd=inner)
    attack = f"printf '#!/bin/sh\\ntouch {marker}\\n' > watch; cp watch edit.sh; chmod 755 edit.sh"
    done, report = world.report("sh", "-c", attack, cwd=sub)
    git(world, "status", cwd=world.project)
    assert not marker.exists() and not (sub / "edit.sh").exists(), report["handoff"]
    world.bare("sh", "-c", attack, cwd=sub)
    git(world, "status", cwd=world.project)
    assert marker.exists()


def test_a_tree_whose_git_directory_lies_elsewhere_is_read_by_it(world):
    """`--write` of a linked worktree grants nothing of its repository, whose settings count all the same."""
    marker = world.outside / "marker"
    main = make_repository(world, world.home / "main")
    git(world, "config", "core.hooksPath", ".hooks", cwd=main)
    tree = world.path / "tree"
    git(world, "worktree", "add", "-q", str(tree), cwd=main)
    attack = (f"mkdir -p {tree}/.hooks; printf '#!/bin/sh\\ntouch {marker}\\n' > {tree}/.hooks/post-commit;"
              f"chmod 755 {tree}/.hooks/post-commit")
    world.run("sh", "-c", attack, options=["--write", tree])
    git(world, "commit", "-q", "--allow-empty", "-m", "x", cwd=tree)
    assert not marker.exists()
    world.bare("sh", "-c", attack).expect(0)
    git(world, "commit", "-q", "--allow-empty", "-m", "x", cwd=tree)
    assert marker.exists()


def test_what_an_argument_of_an_alias_is_called_can_be_made(world):
    """`!make build`: a word that is no path is a file only if it was one before."""
    make_repository(world)
    git(world, "config", "alias.b", "!make build", cwd=world.project)
    git(world, "config", "alias.t", "!sh run.sh", cwd=world.project)
    world.write(world.project / "run.sh", "exit 0\n")
    done, report = world.report("sh", "-c", "echo x > build; echo y > run.sh")
    assert (world.project / "build").exists() and report["handoff"] == [], done.report_text
    assert (world.project / "run.sh").read_text() == "exit 0\n"


@pytest.mark.parametrize("key", ["core.fsmonitor", "gc.recentObjectsHook"])
def test_what_newer_versions_of_git_run_is_held(world, key):
    """The table of keys follows git's releases; the git of this host need not know the key."""
    make_repository(world)
    tool = world.write(world.project / "tools/helper", "#!/bin/sh\nexit 0\n", 0o755)
    git(world, "config", key, "./tools/helper")
    _, report = world.report("sh", "-c", "echo evil > tools/helper; cat tools/helper")
    assert "evil" not in tool.read_text(), report["changes"]
    git(world, "config", "--unset", key)
    world.run("sh", "-c", "echo evil > tools/helper").expect(0)
    assert tool.read_text() == "evil\n"


# A variable of the person's shell names a command, a directory or a file of settings, as a configuration does.
VARIABLES = {
    "GIT_CONFIG_GLOBAL": "{tools}/settings",
    "GIT_CONFIG_SYSTEM": "{tools}/settings",
    "GIT_EXTERNAL_DIFF": "{tools}/settings",
    "GIT_SSH_COMMAND": "{tools}/settings -v",
    "GIT_SEQUENCE_EDITOR": "{tools}/settings",
    "VISUAL": "{tools}/settings --wait",
    "PAGER": "{tools}/settings",
    "GIT_TEMPLATE_DIR": "{tools}",
}


@pytest.mark.once
@pytest.mark.parametrize("there", [True, False], ids=["there", "made by the run"])
@pytest.mark.parametrize("name", VARIABLES)
def test_what_a_variable_of_git_names_is_held(world, name, there):
    make_repository(world)
    place = world.make_directory(world.project / "tools")
    if there:
        world.write(place / "settings", "# mine\n", 0o755)
    value = VARIABLES[name].format(tools=place)
    world.run("sh", "-c", "rm -rf tools/settings 2>&-; mkdir -p tools; echo evil > tools/settings; true",
              env={name: value}).expect(0)
    left = (place / "settings").read_text() if (place / "settings").exists() else None
    assert left == ("# mine\n" if there else None), left
    world.run("sh", "-c", "mkdir -p tools; echo more > tools/settings").expect(0)
    assert (place / "settings").read_text() == "more\n", "nothing names it now"


def test_settings_of_variables_are_read_like_those_of_files(world):
    make_repository(world)
    world.write(world.project / "hooks/pre-commit", "#!/bin/sh\n", 0o755)
    env = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": "hooks"}
    world.run("sh", "-c", "echo evil > hooks/pre-commit", env=env).expect(0)
    assert (world.project / "hooks/pre-commit").read_text() == "#!/bin/sh\n"
    world.run("sh", "-c", "echo mine > hooks/pre-commit").expect(0)
    assert (world.project / "hooks/pre-commit").read_text() == "mine\n"


@pytest.mark.once
@pytest.mark.parametrize("variable, written", [
    ("XDG_CONFIG_HOME", "git/config"), ("XDG_CONFIG_HOME", "nvim/init.lua"), ("XDG_CONFIG_HOME", "environment.d/x.conf"),
    ("XDG_CONFIG_HOME", "fish/completions/x.fish"), ("CARGO_HOME", "config.toml")])
@pytest.mark.parametrize("there", [True, False], ids=["there", "made by the run"])
def test_a_home_of_settings_that_a_variable_names_is_one(world, variable, written, there):
    """Who keeps dotfiles in a project of their own and leads programs there by a variable."""
    place = world.make_directory(world.project / "dots")
    if there:
        world.write(place / written, "# mine\n")
    script = f"mkdir -p $(dirname dots/{written}); echo evil > dots/{written}"
    done = world.run("sh", "-c", script, env={variable: str(place)}).expect(0)
    left = (place / written).read_text() if (place / written).exists() else None
    assert left == ("# mine\n" if there else None), done.account()
    assert "cordon changes apply" in done.err, done.account()
    world.run("sh", "-c", script).expect(0)
    assert (place / written).read_text() == "evil\n", "without the variable it is a directory like any other"
