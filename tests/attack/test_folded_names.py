"""Where a file system folds case, the host's git opens `.git/config` and reads `.GIT/Config`. What a run makes, or
changes, under another spelling of a protected name is found as that name. FS27."""

import pytest

from support import folding
from support.voids import NO_FILE_SYSTEM, no_file_system_of_ones_own, void

pytestmark = pytest.mark.group("symlink")

EVIL = "[core]\n\tfsmonitor = evil\n"
GIT = {"HEAD": "ref: refs/heads/main\n", "config": EVIL, "objects/x": "", "refs/heads/x": ""}

# How a run spells what the host reads by the name on the right.
SPELLINGS = {
    ".VSCode/tasks.json": ".vscode/tasks.json",
    ".Mcp.Json": ".mcp.json",
    ".mcp.j\u017fon": ".mcp.json",
    ".vs\u00adcode/tasks.json": ".vscode/tasks.json",
    ".GitHub/Hooks/run.json": ".github/hooks/run.json",
    ".Cargo/config.toml": ".cargo/config.toml",
    "sub/.Cla\u200bude/settings.json": "sub/.claude/settings.json",
    "MISE.TOML": "mise.toml",
}


@pytest.fixture
def folded(world):
    made = folding.FoldingFileSystem(world.who.uid)
    made.place = world.make_directory(world.home / "folded")
    made.write("ordinary", "")

    def inside(script):
        return made.run(made.place, world.who.prefix, [world.cordon, "run", "--", "sh", "-c", script],
                        env=world.environment())

    def bare(script):
        done = made.run(made.place, world.who.prefix, ["sh", "-c", script], env=world.environment())
        assert done.returncode == 0, done.stderr
        return done

    made.inside, made.bare = inside, bare
    return made


def writing(path, text="evil"):
    return f"mkdir -p \"$(dirname '{path}')\"; printf '%s' '{text}' > '{path}'; echo reached > ordinary; "


def test_FS27_a_name_in_other_letters_is_the_name(folded):
    """The file system itself: what the attack relies on."""
    if no_file_system_of_ones_own():
        return void(NO_FILE_SYSTEM)
    assert folded.bare("mkdir .GIT; echo x > .GIT/Config; cat .git/config; ls -A").stdout.split() == ["x", ".GIT", "ordinary"]


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_FS27_what_appears_under_another_spelling(folded, spelled):
    if no_file_system_of_ones_own():
        return void(NO_FILE_SYSTEM)
    done = folded.inside(writing(spelled))
    assert done.returncode == 0, done.stderr
    assert folded.text("ordinary") == "reached\n"
    assert folded.text(SPELLINGS[spelled]) is None, done.stderr
    folded.bare(writing(spelled))
    assert folded.text(SPELLINGS[spelled]) == "evil"


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_FS27_what_is_there_under_another_spelling(folded, spelled):
    if no_file_system_of_ones_own():
        return void(NO_FILE_SYSTEM)
    folded.write(spelled, "mine")
    done = folded.inside(writing(spelled))
    assert done.returncode == 0, done.stderr
    assert folded.text("ordinary") == "reached\n"
    assert folded.text(SPELLINGS[spelled]) == "mine", done.stderr
    folded.bare(writing(spelled))
    assert folded.text(SPELLINGS[spelled]) == "evil"


@pytest.mark.parametrize("spelled", [str.upper, str.lower, str.title])
def test_FS27_a_git_directory_in_other_letters(folded, spelled):
    if no_file_system_of_ones_own():
        return void(NO_FILE_SYSTEM)
    script = "".join(writing(f"sub/{spelled('.git')}/" + spelled(name), text) for name, text in GIT.items())
    done = folded.inside(script)
    assert done.returncode == 0, done.stderr
    assert "fsmonitor" not in (folded.text("sub/.git/config") or ""), done.stderr
    folded.bare(script)
    assert folded.text("sub/.git/config") == EVIL


def test_FS27_a_configuration_in_other_letters(folded):
    if no_file_system_of_ones_own():
        return void(NO_FILE_SYSTEM)
    for name, text in GIT.items():
        folded.write("sub/.git/" + name, text if name != "config" else "[core]\n\tbare = false\n")
    script = "printf '[core]\\n\\tfsmonitor = evil\\n' >> sub/.Git/CONFIG; echo reached > ordinary"
    done = folded.inside(script)
    assert done.returncode == 0 and folded.text("ordinary") == "reached\n", done.stderr
    settings = folded.text("sub/.git/config")
    assert "fsmonitor" not in settings and "bare" in settings, (settings, done.stderr)
    folded.bare(script)
    assert "fsmonitor" in folded.text("sub/.git/config")


def test_FS27_a_pointer_in_other_letters(folded):
    if no_file_system_of_ones_own():
        return void(NO_FILE_SYSTEM)
    script = "".join(writing("store/" + name, text) for name, text in GIT.items() if name != "config")
    script += writing("store/Config", EVIL) + writing("sub/.GIT", "gitdir: ../store")
    done = folded.inside(script)
    assert done.returncode == 0, done.stderr
    assert "fsmonitor" not in (folded.text("store/config") or ""), done.stderr
    folded.bare(script)
    assert folded.text("store/config") == EVIL and folded.text("sub/.git") == "gitdir: ../store"


def test_FS27_work_goes_on(folded):
    """Git works there as ever, and names in capitals that mean nothing are left alone."""
    if no_file_system_of_ones_own():
        return void(NO_FILE_SYSTEM)
    done = folded.inside("git init -q . && git add ordinary && git -c user.name=A -c user.email=a commit -q -m one && "
                         "mkdir Docs && echo x > Docs/README.MD && echo y > HEADER && git status --short")
    assert done.returncode == 0 and done.stdout.split() == ["??", "Docs/", "??", "HEADER"], done
    told = folded.bare("git -c safe.directory='*' log --format=%s; ls")
    assert told.stdout.split() == ["one", "Docs", "HEADER", "ordinary"]
