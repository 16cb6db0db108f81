"""A protected name may be a symlink that was there before the run, or a directory with symlinks in it. What it leads
to has an ordinary name, and the host reads it all the same: it is held, with the way there. Each attack has the same
script without Cordon, after which the host reads, or its git starts, what was planted; and the same run writes an
ordinary file, which reaches the host."""

import os
import re
import shlex
from dataclasses import dataclass, field

import pytest

from gitrepo import git, make_repository
from support.harness import wait_until

PLANT = "echo planted >> {}"


@dataclass
class Way:
    links: dict   # link: what it leads to
    read: str     # what the host reads
    script: str
    files: dict = field(default_factory=dict)  # with "mine" in them
    held: str = ""  # what the command writes instead, if it gets there


def chain(script):
    return Way({".vscode": "one", "one": "two", "two": "deep/editor"}, ".vscode/tasks.json",
               f"mkdir other; echo planted > other/tasks.json; {script}", {"deep/editor/tasks.json": "mine\n"})


EDITOR = {"editor/tasks.json": "mine\n"}
TASKS = {"cfg/tasks.json": "mine\n"}
TREE = ".claude/worktrees/w"
WAYS = {
    "a file in a held directory": Way({".vscode/tasks.json": "../cfg/tasks.json"}, ".vscode/tasks.json",
                                      PLANT.format("cfg/tasks.json"), TASKS, "cfg/tasks.json"),
    "its directory renamed": Way({".vscode/tasks.json": "../cfg/tasks.json"}, ".vscode/tasks.json",
                                 "mv cfg old; mkdir cfg; echo planted > cfg/tasks.json", TASKS),
    "the file": Way({".mcp.json": "cfg/mcp.json"}, ".mcp.json", PLANT.format("cfg/mcp.json"), {"cfg/mcp.json": "mine\n"},
                    "cfg/mcp.json"),
    "the directory": Way({".vscode": "editor"}, ".vscode/tasks.json", PLANT.format("editor/tasks.json"), EDITOR, "editor"),
    "a directory above it renamed": Way({".vscode": "a/b/editor"}, ".vscode/tasks.json",
                                        "mv a c; mkdir -p a/b/editor; echo planted > a/b/editor/tasks.json",
                                        {"a/b/editor/tasks.json": "mine\n"}),
    "a link in what a link leads to": Way({".vscode": "editor", "editor/tasks.json": "../cfg/tasks.json"},
                                          ".vscode/tasks.json", PLANT.format("cfg/tasks.json"), TASKS, "cfg/tasks.json"),
    "a package": Way({"packages/a/.vscode": "../../editor"}, "packages/a/.vscode/tasks.json",
                     PLANT.format("editor/tasks.json"), EDITOR, "editor"),
    "the first link of a chain": chain("rm .vscode; ln -s other .vscode"),
    "the second link of a chain": chain("rm one; ln -s other one"),
    "the last link of a chain": chain("ln -sfn other two"),
    "a link in the middle": Way({"way": "real", ".vscode": "way/editor"}, ".vscode/tasks.json",
                                "rm way; mkdir -p way/editor; echo planted > way/editor/tasks.json",
                                {"real/editor/tasks.json": "mine\n"}),
    "a directory of commands": Way({".claude/commands": "../commands"}, ".claude/commands/x.md",
                                   PLANT.format("commands/x.md"), {"commands/y.md": "mine\n"}, "commands"),
    "a name of two parts": Way({".cargo": "settings"}, ".cargo/config.toml", PLANT.format("settings/config.toml"),
                               {"settings/config.toml": "mine\n"}, "settings/config.toml"),
    # A directory in which each directory is a project of its own.
    "a worktree of an agent": Way({f"{TREE}/.claude/settings.json": "../../../../cfg/agent.json"},
                                  f"{TREE}/.claude/settings.json", PLANT.format("cfg/agent.json"),
                                  {"cfg/agent.json": "mine\n"}, "cfg/agent.json"),
    "a directory in a worktree": Way({f"{TREE}/.vscode": "../../../editor"}, f"{TREE}/.vscode/tasks.json",
                                     PLANT.format("editor/tasks.json"), EDITOR, "editor"),
    "a package in a worktree": Way({f"{TREE}/packages/a/.vscode": "../../../../../editor"},
                                   f"{TREE}/packages/a/.vscode/tasks.json",
                                   "mv editor old; mkdir editor; echo planted > editor/tasks.json", EDITOR),
    "a name of two parts in a worktree": Way({f"{TREE}/.cargo": "../../../settings"}, f"{TREE}/.cargo/config.toml",
                                             PLANT.format("settings/config.toml"), {"settings/config.toml": "mine\n"},
                                             "settings/config.toml"),
    "a repository in a worktree": Way({f"{TREE}/.git/hooks/pre-commit": "../../../../../tools/hook.sh"},
                                      f"{TREE}/.git/hooks/pre-commit", PLANT.format("tools/hook.sh"),
                                      {"tools/hook.sh": "mine\n"}, "tools/hook.sh"),
}


def has_copies(world):
    """Elsewhere what is held is read-only, so that the command changes nothing that could be told."""
    return world.backend in (None, "native")


def options_for(world, how):
    if how != "staged":
        return []
    world.backend = world.backend and "native"  # no other stages
    return ["--stage"]


def prepare(world, way):
    for name, text in way.files.items():
        world.write(world.project / name, text)
    for link, target in way.links.items():
        world.make_directory((world.project / link).parent)
        world.link(world.project / link, target)


def assert_kept(world, way):
    path = world.project / way.read
    assert not path.exists() or "planted" not in path.read_text(), path
    for link, target in way.links.items():
        assert os.readlink(world.project / link) == target


@pytest.mark.parametrize("how", ["live", "tracked", "staged"])
@pytest.mark.parametrize("name", WAYS)
def test_what_a_protected_name_leads_to_is_held(world, name, how):
    way = WAYS[name]
    prepare(world, way)
    if how == "tracked":
        make_repository(world)
        git(world, "add", "-A")
        git(world, "commit", "-q", "-m", "settings")
    options = options_for(world, how)
    done, report = world.report("sh", "-c", f"{way.script}; echo reached > ordinary", options=options)
    assert done.status == 0, done.account()
    assert_kept(world, way)
    assert (world.project / "ordinary").read_text() == "reached\n"
    if way.held and has_copies(world):
        told = [entry for entry in report["changes"] if entry["state"] == "held" and
                (entry["path"] + "/").startswith(way.held + "/")]
        assert told and "leads here" in told[0]["reason"], report["changes"]
    # The control.
    world.bare("sh", "-c", way.script)
    assert "planted" in (world.project / way.read).read_text()


NOTHING_YET = {
    "in a held directory": Way({".vscode/tasks.json": "../cfg/tasks.json"}, ".vscode/tasks.json",
                               "mkdir cfg; echo planted > cfg/tasks.json; echo reached > cfg/ordinary"),
    "a directory": Way({".vscode": "cfg/editor"}, ".vscode/tasks.json",
                       "mkdir -p cfg/editor; echo planted > cfg/editor/tasks.json; echo reached > cfg/ordinary"),
    "by a link of the run": Way({".vscode/tasks.json": "../cfg/tasks.json"}, ".vscode/tasks.json",
                                "mkdir made; echo planted > made/tasks.json; echo reached > made/ordinary; ln -s made cfg"),
    "of two parts": Way({".cargo": "cfg"}, ".cargo/config.toml",
                        "mkdir cfg; echo planted > cfg/config.toml; echo reached > cfg/ordinary"),
}


@pytest.mark.parametrize("how", ["live", "staged"])
@pytest.mark.parametrize("name", NOTHING_YET)
def test_what_appears_where_a_protected_name_leads_is_moved_away(world, name, how):
    way = NOTHING_YET[name]
    prepare(world, way)
    options = options_for(world, how)
    done = world.run("sh", "-c", way.script, options=options).expect(0)
    assert_kept(world, way)
    place = "made" if "made" in way.script else "cfg"
    assert (world.project / place / "ordinary").read_text() == "reached\n", done.account()
    world.bare("sh", "-c", f"rm -rf cfg made; {way.script}").expect(0)
    assert (world.project / way.read).read_text() == "planted\n"


# What the host's git starts
MARK = "printf '#!/bin/sh\\ntouch {mark}\\n' > {at}; chmod 755 {at}"
SET = "printf '[core]\\n\\tfsmonitor = \"touch {mark}; false\"\\n' >> {at}"
HOOK = "#!/bin/sh\nexit 0\n"


def hook_that_is_a_link(world):
    world.write(world.project / "tools/hook.sh", HOOK, 0o755)
    world.link(world.project / ".git/hooks/pre-commit", "../../tools/hook.sh")
    return MARK, "tools/hook.sh"


def hook_that_is_a_link_by_a_renamed_directory(world):
    hook_that_is_a_link(world)
    return "mv tools old; mkdir tools; " + MARK, "tools/hook.sh"


def hooks_that_are_a_link(world):
    world.bare("rm", "-rf", ".git/hooks").expect(0)
    world.write(world.project / "team/hooks/pre-commit", HOOK, 0o755)
    world.link(world.project / ".git/hooks", "../team/hooks")
    return "mv team old; mkdir -p team/hooks; " + MARK, "team/hooks/pre-commit"


def hooks_path(world):
    world.write(world.project / "tools/hook.sh", HOOK, 0o755)
    world.make_directory(world.project / "own")
    world.link(world.project / "own/pre-commit", "../tools/hook.sh")
    git(world, "config", "core.hooksPath", "own")
    return MARK, "tools/hook.sh"


def configuration(world):
    world.make_directory(world.project / "cfg")
    world.bare("mv", ".git/config", "cfg/gitconfig").expect(0)
    world.link(world.project / ".git/config", "../cfg/gitconfig")
    return "mv cfg old; mkdir -p cfg; cat old/gitconfig > cfg/gitconfig; " + SET, "cfg/gitconfig"


def configuration_by_a_chain(world):
    configuration(world)
    world.bare("sh", "-c", "mv cfg real; ln -s real cfg").expect(0)
    return "rm cfg; mkdir -p cfg; cat real/gitconfig > cfg/gitconfig; " + SET, "cfg/gitconfig"


def included(world):
    world.write(world.project / "real/team.inc", "[core]\n\tabbrev = 9\n")
    world.link(world.project / "shared", "real")
    git(world, "config", "include.path", "../shared/team.inc")
    return "rm shared; mkdir -p shared; " + SET, "shared/team.inc"


@pytest.mark.parametrize("arrange", [hook_that_is_a_link, hook_that_is_a_link_by_a_renamed_directory,
                                     hooks_that_are_a_link, hooks_path, configuration, configuration_by_a_chain, included])
def test_git_starts_nothing_that_a_link_leads_to(world, arrange):
    make_repository(world)
    script, at = arrange(world)
    mark = world.path / "started"
    script = script.format(at=at, mark=mark)
    work = ("git status >/dev/null 2>&1; echo x >> tracked.txt; "
            "git -c user.name=a -c user.email=a@example.org commit -q -a -m x >/dev/null 2>&1; git status >/dev/null 2>&1")
    done = world.run("sh", "-c", f"{script}; echo reached > ordinary")
    assert (world.project / "ordinary").read_text() == "reached\n", done.account()
    world.bare("sh", "-c", work)
    assert not mark.exists(), done.account()
    assert git(world, "log", "--format=%s").out.splitlines() == ["x", "first"]
    world.bare("sh", "-c", script)
    world.bare("sh", "-c", work)
    assert mark.exists()


# Link in the home, what it leads to in the project, and the file that the host reads there.
IN_HOMES = {
    "a file": (".bashrc", "bashrc", "bashrc"),
    "a directory": (".config/nvim", "nvim", "nvim/init.lua"),
    "a file in a directory": (".config/fish/config.fish", "abbreviations", "abbreviations"),
    "a directory in a directory": (".claude/commands", "prompts", "prompts/x.md"),
    "the directory above": (".config", "dots", "dots/nvim/init.lua"),
}


# A home that is listed, one whose list does not tell what its file system takes for the same name, and one that its
# owner has closed to lists.
HOMES = {"listed": ("Books", 0o755), "in letters of its own": ("B\u00fccher", 0o755), "entered": ("Books", 0o311)}


@pytest.mark.parametrize("kind", HOMES)
@pytest.mark.parametrize("name", IN_HOMES)
def test_a_start_up_file_that_leads_into_the_project_is_held(world, name, kind):
    """As trees of dotfiles are linked into a home."""
    beside, mode = HOMES[kind]
    world.make_directory(world.home / beside)
    link, target, file = IN_HOMES[name]
    world.write(world.project / file, "mine\n")
    world.link(world.home / link, world.project / target)
    world.home.chmod(mode)
    script = f"echo planted >> {file}; echo reached > ordinary"
    done = world.run("sh", "-c", script).expect(0)
    assert (world.project / file).read_text() == "mine\n"
    assert (world.project / "ordinary").read_text() == "reached\n"
    assert "leads here" in done.err or not has_copies(world), done.err
    world.bare("sh", "-c", script).expect(0)
    assert "planted" in (world.project / file).read_text()
    world.home.chmod(0o755)


def test_what_appears_where_a_directory_of_a_home_leads_is_moved_away(world):
    world.make_directory(world.project / "dots")
    world.link(world.home / ".config", world.project / "dots")
    script = "mkdir dots/nvim; echo planted > dots/nvim/init.lua; echo reached > dots/ordinary"
    world.run("sh", "-c", script).expect(0)
    assert (world.project / "dots/ordinary").exists() and not (world.home / ".config/nvim").exists()
    world.bare("sh", "-c", f"rm dots/ordinary; {script}").expect(0)
    assert (world.home / ".config/nvim/init.lua").read_text() == "planted\n"


def test_what_a_worktree_of_an_agent_shares_is_left_alone(world):
    """What is large is linked into it, and a worktree may be a link itself: those are searched where they are."""
    for place in ("node_modules/dep", "trees/v/.vscode", f"{TREE}/src"):
        world.make_directory(world.project / place)
    world.write(world.project / "trees/v/.vscode/tasks.json", "mine\n")
    world.link(world.project / TREE / "node_modules", "../../../node_modules")
    world.link(world.project / ".claude/worktrees/v", "../../trees/v")
    script = ("mv node_modules/dep node_modules/old && mkdir node_modules/dep && echo new > node_modules/dep/index.js && "
              "rm -r node_modules/old && echo new > trees/v/main.c && mv trees/v/main.c trees/v/other.c")
    done = world.run("sh", "-c", script).expect(0)
    assert (world.project / "node_modules/dep/index.js").read_text() == "new\n", done.account()
    assert (world.project / "trees/v/other.c").read_text() == "new\n"
    plant = "echo planted >> trees/v/.vscode/tasks.json"
    world.run("sh", "-c", plant)
    assert (world.project / ".claude/worktrees/v/.vscode/tasks.json").read_text() == "mine\n"
    world.bare("sh", "-c", plant).expect(0)
    assert "planted" in (world.project / ".claude/worktrees/v/.vscode/tasks.json").read_text()


def run_meanwhile(world, script, work):
    """`work` is done outside while the script waits inside for it."""
    process = world.start([world.cordon, "run", "--", "sh", "-c",
                           f"touch ready; until [ -e go ]; do sleep 0.05; done; {script}"], text=True)
    assert wait_until(lambda: (world.project / "ready").exists())
    work()
    world.write(world.project / "go", "")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err
    return err


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("link", ["project/.vscode/tasks.json", "project/.mcp.json", ".bashrc"])
def test_what_the_person_replaces_meanwhile_is_no_way_in(world, link, times):
    """The kernel takes the mount away from a file that is replaced outside, and an inode number is used again."""
    file = world.write(world.project / "cfg/it", "before\n")
    plain = world.write(world.project / "plain", "before\n")
    world.link(world.home / link, file)

    def work():
        for path in (file, plain):
            for number in range(times):
                world.write(path.with_name("fresh"), f"mine {number}\n").rename(path)

    err = run_meanwhile(world, "echo planted >> cfg/it; echo planted >> plain", work)
    assert os.readlink(world.home / link) == str(file) and not (world.home / link).exists(), err
    assert plain.read_text() == f"mine {times - 1}\nplanted\n", "the run could write what was replaced"
    world.cordon_verb("changes", "apply", "last", "cfg/it").expect(0)
    assert file.read_text() == f"mine {times - 1}\nplanted\n"


def test_what_the_person_does_at_the_end_of_a_way_stays(world):
    """In a directory that a link leads to, which is the same one all the time."""
    settings = world.write(world.project / "editor/tasks.json", "before\n")
    world.link(world.project / ".vscode", "editor")

    def work():
        world.write(settings.with_name("fresh"), "after\n").rename(settings)
        world.write(settings.with_name("launch.json"), "new\n")

    run_meanwhile(world, "echo planted > editor/launch.json; true", work)
    assert settings.read_text() == "after\n" and settings.with_name("launch.json").read_text() == "new\n"
    world.bare("sh", "-c", "echo planted > editor/launch.json").expect(0)
    assert (world.project / ".vscode/launch.json").read_text() == "planted\n"


# Directories on PATH

def path_with(world, *directories):
    return {"PATH": ":".join([*map(str, directories), world.environment()["PATH"]])}


# Link, what it leads to, and the file that is started by its name.
COMMANDS = {
    "a command that everybody types": ("project/bin/git", "../tools/it.sh", "tools/it.sh"),
    "by a second link": ("project/bin/git", "../current/it.sh", "tools/it.sh"),
    "a script that is sourced": ("project/venv/bin/activate", "../../tools/it.sh", "tools/it.sh"),
    "beside the packages": ("project/node_modules/.bin/node", "../../tools/it.sh", "tools/it.sh"),
    "one that another directory has": ("project/bin/other-tool", "../tools/it.sh", "tools/it.sh"),
    "in the home": ("bin/git", "../project/tools/it.sh", "tools/it.sh"),
}


@pytest.mark.parametrize("how", ["written", "renamed", "staged"])
@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_leads_to_is_held_if_it_hides_another(world, name, how):
    link, target, file = COMMANDS[name]
    mark = world.path / "started"
    world.write(world.project / file, "#!/bin/sh\nexit 0\n", 0o755)
    world.write(world.outside / "bin/other-tool", "#!/bin/sh\nexit 0\n", 0o755)
    world.link(world.project / "current", "tools")
    place = (world.home / link).parent
    world.link(world.home / link, target)
    env = path_with(world, place, world.outside / "bin")
    planted = f"printf '#!/bin/sh\\ntouch {mark}\\n' > {file}; chmod 755 {file}"
    script = f"mv tools old; mkdir tools; {planted}" if how == "renamed" else planted
    options = options_for(world, how)
    done = world.run("sh", "-c", f"{script}; echo reached > ordinary", options=options, env=env)
    assert (world.project / "ordinary").read_text() == "reached\n", done.account()
    start = f". {world.home / link}" if "activate" in link else (world.home / link).name
    world.bare("sh", "-c", start, env=env).expect(0)
    assert not mark.exists(), done.account()
    assert "leads here" in done.err or how != "written" or not has_copies(world), done.err
    world.bare("sh", "-c", script).expect(0)
    world.bare("sh", "-c", start, env=env).expect(0)
    assert mark.exists()


@pytest.mark.parametrize("target", ["own-git", "lib/own-git"])
def test_what_a_command_leads_to_in_its_own_directory_is_held_back(world, target):
    """What is installed there is put on the host after the run, and what a link with the name of a known command
    leads to is no new command."""
    mark = world.path / "started"
    place = world.project / "bin"
    world.write(place / target, "#!/bin/sh\nexit 0\n", 0o755)
    world.link(place / "git", target)
    env = path_with(world, place)
    script = f"printf '#!/bin/sh\\ntouch {mark}\\n' > bin/{target}; echo new > bin/own-tool; echo new > bin/lib.txt"
    world.backend = world.backend and "native"  # elsewhere nothing can be installed
    done, report = world.report("sh", "-c", script, env=env)
    done.expect(0)
    assert (place / "own-tool").exists()
    assert [entry["path"] for entry in report["changes"] if entry["state"] == "held"] == [f"bin/{target}"], report
    world.bare("git", "status", env=env).expect(0)
    assert not mark.exists()
    world.bare("sh", "-c", script).expect(0)
    world.bare("git", "status", env=env).expect(0)
    assert mark.exists()


def test_a_command_of_the_project_is_worked_on(world):
    """Its name is found nowhere else: what the link leads to is a file like any other, built and replaced."""
    for link, file in (("bin/own-tool", "src/own.py"), ("node_modules/.bin/checker", "packages/checker/cli.js")):
        world.write(world.project / file, "old\n", 0o755)
        world.link(world.project / link, world.project / file)
    world.link(world.home / "bin/other-tool", world.project / "src/other.py")
    world.write(world.outside / "bin/other-tool", "#!/bin/sh\n", 0o755)
    env = path_with(world, world.project / "bin", world.project / "node_modules/.bin", world.home / "bin",
                    world.outside / "bin")
    script = ("for file in src/own.py src/other.py packages/checker/cli.js; do echo new > new; mv new $file || exit 1; done; "
              "mv packages old && mv old packages")
    world.run("sh", "-c", script, env=env).expect(0)
    for file in ("src/own.py", "src/other.py", "packages/checker/cli.js"):
        assert (world.project / file).read_text() == "new\n"


@pytest.mark.parametrize("there", [True, False], ids=["there", "missing"])
def test_a_package_manager_replaces_its_package(world, there):
    """Its own link stands for the package, whatever else has the name of the command."""
    if there:
        world.write(world.project / "node_modules/linter/bin/linter.js", "old\n", 0o755)
    world.link(world.project / "node_modules/.bin/linter", "../linter/bin/linter.js")
    world.write(world.outside / "bin/linter", "#!/bin/sh\n", 0o755)
    env = path_with(world, world.project / "node_modules/.bin", world.outside / "bin")
    script = ("mv node_modules/linter node_modules/.linter-old; set -e; mkdir -p node_modules/linter/bin; "
              "echo new > node_modules/linter/bin/linter.js; rm -rf node_modules/.linter-old")
    world.run("sh", "-c", script, env=env).expect(0)
    assert (world.project / "node_modules/.bin/linter").read_text() == "new\n"


def test_the_way_to_a_directory_on_path_stays(world):
    world.write(world.project / ".envs/a/bin/own-tool", "#!/bin/sh\n", 0o755)
    world.link(world.project / "env", ".envs/a")
    env = path_with(world, world.project / "env/bin")
    script = "rm env; mkdir -p env/bin; echo planted > env/bin/ls; chmod 755 env/bin/ls; echo reached > ordinary"
    done = world.run("sh", "-c", script, env=env)
    assert (world.project / "ordinary").exists(), done.account()
    assert os.readlink(world.project / "env") == ".envs/a"
    assert (world.project / "env/bin/own-tool").exists() and not (world.project / "env/bin/ls").exists()
    world.bare("sh", "-c", script)
    assert (world.project / "env/bin/ls").read_text() == "planted\n"


def test_what_appears_where_a_command_leads_is_moved_away(world):
    world.link(world.project / "bin/git", "../tools/git.sh")
    env = path_with(world, world.project / "bin")
    script = "mkdir tools; echo planted > tools/git.sh; echo reached > tools/ordinary"
    done, report = world.report("sh", "-c", script, env=env)
    done.expect(0)
    assert (world.project / "tools/ordinary").exists() and not (world.project / "bin/git").exists(), done.account()
    assert ["path"] == [entry["kind"] for entry in report["handoff"] if entry["path"] == "tools/git.sh"]
    world.bare("sh", "-c", f"rm -r tools; {script}").expect(0)
    assert (world.project / "bin/git").read_text() == "planted\n"


@pytest.mark.parametrize("how", ["live", "staged"])
def test_a_link_of_the_run_makes_no_protected_file(world, how):
    script = "mkdir made; echo planted > made/config.toml; ln -s made .cargo; ln -s made ordinary"
    options = options_for(world, how)
    done, report = world.report("sh", "-c", script, options=options)
    done.expect(0)
    assert not (world.project / ".cargo").is_symlink() and (world.project / "ordinary").is_symlink()
    assert (world.project / "made/config.toml").read_text() == "planted\n"
    assert [entry["state"] for entry in report["changes"] if entry["path"] == ".cargo"] == ["held"], report["changes"]
    world.bare("sh", "-c", f"rm -rf made ordinary; {script}").expect(0)
    assert (world.project / ".cargo/config.toml").read_text() == "planted\n"


def test_a_name_that_leads_to_the_whole_project_is_refused(world):
    world.link(world.project / ".vscode", ".")
    done = world.run("sh", "-c", "echo planted > tasks.json")
    assert done.status == 125 and ".vscode" in done.err and "leads to" in done.err, done.account()
    assert not (world.project / "tasks.json").exists()
    (world.project / ".vscode").unlink()
    world.run("sh", "-c", "echo planted > tasks.json").expect(0)
    assert (world.project / "tasks.json").exists()


def test_what_leads_out_of_the_grants_is_left_alone(world):
    """It cannot be written, and a link to it is no reason to refuse anything."""
    world.write(world.outside / "editor/tasks.json", "mine\n")
    world.link(world.project / ".vscode", world.outside / "editor")
    world.make_directory(world.project / ".idea")
    world.link(world.project / ".idea/loop", "loop")
    done, report = world.report("sh", "-c", f"echo planted >> {world.outside}/editor/tasks.json; echo reached > ordinary")
    assert (world.outside / "editor/tasks.json").read_text() == "mine\n"
    assert (world.project / "ordinary").exists() and done.status == 0, done.account()
    assert [entry["path"] for entry in report["changes"] if entry["state"] == "held"] == []
    assert (world.project / ".vscode").is_symlink()


@pytest.mark.parametrize("tracked", [False, True], ids=["untracked", "tracked"])
@pytest.mark.parametrize("links, file", [
    ({".mcp.json": ".vscode/mcp.json"}, ".vscode/mcp.json"), ({".cursor": ".claude/rules"}, ".claude/rules/x.md"),
    ({".vscode": "editor", ".mcp.json": "editor/mcp.json"}, "editor/mcp.json")])
def test_a_link_into_what_is_held_stays(world, links, file, tracked):
    """Nothing in such a directory is the run's, so the link leads to nothing new: whatever it is, the person's work."""
    held = world.write(world.project / file, "mine\n")
    for link, target in links.items():
        world.link(world.project / link, target)
    if tracked:
        make_repository(world)
        git(world, "add", "-A")
        git(world, "commit", "-q", "-m", "links")

    def assert_there(text):
        assert held.read_text() == text
        for link, target in links.items():
            assert os.readlink(world.project / link) == target

    quiet, report = world.report("true")
    assert_there("mine\n")
    assert report["handoff"] == [] and report["changes"] == [] and "moved" not in quiet.err, quiet.err
    world.run("sh", "-c", f"echo planted >> {file}")
    assert_there("mine\n")
    run_meanwhile(world, "true", lambda: world.write(held.with_name("fresh"), "after\n").rename(held))
    assert_there("after\n")
    world.bare("sh", "-c", f"echo planted >> {file}").expect(0)
    assert_there("after\nplanted\n")


# How it comes back

def command_told(done):
    [line] = [line for line in done.err.splitlines() if "cordon changes apply " in line]
    return shlex.split(re.search(r"cordon (changes apply .*)$", line).group(1))


@pytest.mark.parametrize("script, path", [
    ("echo new > cfg/tasks.json", "cfg/tasks.json"), ("echo new > .mcp.json", ".mcp.json"),
    ("mkdir -p 'my dir/.idea'; echo new > 'my dir/.idea/x.xml'", "my dir/.idea/x.xml"),
    ("mkdir made; echo new > made/config.toml; ln -s made .cargo", ".cargo/config.toml"),
    ("mkdir late; echo new > late/tasks.json", "late/tasks.json")])
def test_the_command_that_is_told_takes_it(world, script, path):
    prepare(world, WAYS["a file in a held directory"])
    world.link(world.project / ".vscode/late.json", "../late/tasks.json")
    world.backend = world.backend and "native"  # what is read-only is never held back
    done = world.run("sh", "-c", script).expect(0)
    assert not (world.project / path).exists() or (world.project / path).read_text() == "mine\n"
    world.cordon_verb(*command_told(done)).expect(0)
    assert (world.project / path).read_text() == "new\n"


def test_of_several_moved_files_each_is_in_the_command(world):
    done = world.run("sh", "-c", "for name in .mcp.json .bashrc .envrc; do echo new > $name; done").expect(0)
    assert not (world.project / ".mcp.json").exists() and (world.project / ".envrc").exists()
    world.cordon_verb(*command_told(done)).expect(0)
    for name in (".mcp.json", ".bashrc"):
        assert (world.project / name).read_text() == "new\n"
