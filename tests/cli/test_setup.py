"""`cordon setup`: what it writes, what it leaves alone, and whom it does not trust."""

import json
import os
import pwd
import subprocess
import tomllib
from pathlib import Path

import pytest

from support import harness
from support.pty_session import Terminal
from support.voids import NOT_STARTED_BY_ROOT, void

pytestmark = pytest.mark.once


def config_of(world) -> Path:
    return world.home / ".config/cordon"


def set_up(world, *options, **how):
    return world.cordon_verb("setup", *options, **how)


def check_document(world, path):
    world.cordon_verb("policy", "check", path).expect(0)
    status = path.stat()
    assert status.st_mode & 0o777 == 0o600 and status.st_uid == world.who.uid


def results(done) -> dict[str, str]:
    return {entry["role"]: entry["result"] for entry in done.json["files"]}


def test_writes_a_ceiling_and_a_policy_that_work(world):
    done = set_up(world, "--yes").expect(0)
    ceiling, policy = config_of(world) / "ceiling.toml", config_of(world) / "policies/project.toml"
    for path in (ceiling, policy):
        check_document(world, path)
        assert f"written: {path}" in done.out and f"undo: rm -- {path}\n" in done.out
        assert path.parent.stat().st_mode & 0o777 == 0o700
    assert "next: cordon run --policy project -- CMD" in done.out and done.err == ""
    world.run("/bin/sh", "-c", "echo made > made", options=["--policy", "project"]).expect(0)
    assert (world.project / "made").read_text() == "made\n"
    # The ceiling bounds: what it does not permit is refused, and .env is not seen.
    world.write(world.project / ".env", "SECRET-env\n")
    hidden = world.run("cat", ".env", options=["--policy", "project"])
    assert hidden.status == 1 and "SECRET-env" not in hidden.out, hidden.account()
    refused = world.run("/bin/sh", "-c", f"echo x > {world.outside}/made",
                        options=["--policy", "project", "--write", world.outside]).expect(125)
    assert "is outside what is granted" in refused.err and str(ceiling) in refused.err
    assert not (world.outside / "made").exists()
    ceiling.unlink()
    world.run("/bin/sh", "-c", f"cat .env; echo x > {world.outside}/made",
              options=["--policy", "project", "--write", world.outside]).expect(0)
    assert (world.outside / "made").exists()


def test_every_word_that_the_ceiling_grants_is_explained_in_it(world):
    set_up(world, "--yes").expect(0)
    text = (config_of(world) / "ceiling.toml").read_text()
    granted = tomllib.loads(text)["fs"]
    comments = " ".join(line.removeprefix("#") for line in text.splitlines() if line.startswith("#"))
    words = [word for word in granted["read"] + granted["write"] if word.startswith("@")]
    assert "@caches" in words and [word for word in words if word not in comments] == [], text


def test_a_second_time_changes_nothing(world):
    set_up(world, "--yes").expect(0)
    before = harness.tree_digest(world.home)
    moments = {p: p.stat().st_mtime_ns for p in config_of(world).rglob("*")}
    # Nothing is left to ask, so no terminal and no --yes is needed.
    done = set_up(world, "--json").expect(0)
    assert results(done) == {"ceiling": "unchanged", "policy": "unchanged"}
    assert done.json["undo"] == []
    assert harness.tree_digest(world.home) == before
    assert {p: p.stat().st_mtime_ns for p in config_of(world).rglob("*")} == moments


def test_edits_are_left_and_named(world):
    set_up(world, "--yes").expect(0)
    ceiling = config_of(world) / "ceiling.toml"
    edited = ceiling.read_text().replace("pids = 4096", "pids = 100")
    world.write(ceiling, edited, 0o600)
    (config_of(world) / "policies/project.toml").unlink()
    done = set_up(world, "--yes").expect(0)
    assert f"left as it is: {ceiling}" in done.out and ceiling.read_text() == edited
    check_document(world, config_of(world) / "policies/project.toml")


def test_a_ceiling_that_takes_the_project_away_is_told(world):
    world.write(config_of(world) / "ceiling.toml",
                'version = 1\n[fs]\nread = ["@system", "@toolchains"]\nwrite = ["~/other"]\n', 0o600)
    config_of(world).chmod(0o700)
    world.make_directory(world.home / "other")
    done = set_up(world, "--yes", "--json").expect(0)
    assert any(entry["what"] == "write" and entry["because"] == "outside-ceiling"
               for entry in done.json["reductions"]), done.account()
    assert results(done)["ceiling"] == "left"
    inside = set_up(world, "--yes", "--json", cwd=world.home / "other").expect(0)
    assert not any(entry["what"] == "write" for entry in inside.json["reductions"])


def test_without_a_terminal_somebody_must_have_said_yes(world):
    before = harness.tree_digest(world.home)
    done = set_up(world).expect(2)
    assert "no terminal" in done.err and "--yes" in done.err and done.out == ""
    done = set_up(world, input="y\ny\ny\n").expect(2)
    assert harness.tree_digest(world.home) == before


def test_dry_run_writes_nothing_and_shows_everything(world):
    before = harness.tree_digest(world.home)
    shown = set_up(world, "--dry-run", "--json").expect(0).json
    assert harness.tree_digest(world.home) == before
    told = set_up(world, "--dry-run").expect(0).out
    set_up(world, "--yes").expect(0)
    for entry in shown["files"]:
        assert entry["result"] == "planned"
        assert Path(entry["path"]).read_text() == entry["text"] and entry["text"] in told


@pytest.mark.parametrize("typed,status,made", [
    (b"y\rYes\r", 0, {"ceiling.toml", "project.toml"}), (b"\ry\r", 1, {"project.toml"}),
    (b"n\rno\r", 1, set()), (b"yep\rY \r", 1, set()), (b"\x04\x04", 1, set())],
    ids=["yes", "one", "no", "neither", "end"])
def test_asks_at_a_terminal(world, typed, status, made):
    terminal = Terminal(world, [world.cordon, "setup"])
    try:
        terminal.expect(b"[y/N]")
        terminal.type(typed)
        assert terminal.wait() == status, terminal.seen
    finally:
        terminal.close()
    assert {p.name for p in config_of(world).rglob("*.toml")} == made
    assert (b"not written: " in terminal.seen) == (status == 1)


def test_colour_is_not_used_with_no_color(world):
    terminal = Terminal(world, [world.cordon, "setup"], env={"NO_COLOR": "1"})
    try:
        terminal.expect(b"[y/N]")
        terminal.type(b"n\rn\r")
        terminal.wait()
        assert b"\x1b" not in terminal.seen
    finally:
        terminal.close()


def test_finds_agents_and_toolchains_without_starting_them(world):
    tools = world.make_directory(world.home / ".cargo/bin")
    for name in ("claude", "codex", "gemini", "copilot", "claudius"):
        world.write(tools / name, f"#!/bin/sh\ntouch {world.outside}/started\n", 0o755)
    world.write(tools / "aider", "not executable\n", 0o644)
    done = set_up(world, "--dry-run", "--json",
                  env={"PATH": f"{tools}:{harness.BASE_PATH}"}).expect(0)
    found = {agent["name"]: agent["path"] for agent in done.json["agents"]}
    assert found == {name: str(tools / name) for name in ("claude", "codex", "copilot", "gemini")}
    assert str(tools) in done.json["toolchains"]
    assert not (world.outside / "started").exists()


# Attacks.


def expect_refusal(world, done, *words):
    done.expect(2)
    assert done.out == "" and all(word in done.err for word in words), done.account()
    assert "hint: " in done.err, done.account()


def test_configuration_directory_that_is_a_symlink(world):
    elsewhere = world.make_directory(world.outside / "elsewhere")
    elsewhere.chmod(0o700)
    world.make_directory(world.home / ".config")
    world.link(config_of(world), elsewhere)
    expect_refusal(world, set_up(world, "--yes"), str(config_of(world)))
    assert list(elsewhere.iterdir()) == []


def test_policies_directory_that_is_a_symlink(world):
    elsewhere = world.make_directory(world.outside / "elsewhere")
    world.make_directory(config_of(world)).chmod(0o700)
    world.link(config_of(world) / "policies", elsewhere)
    expect_refusal(world, set_up(world, "--yes"), "policies")
    assert list(elsewhere.iterdir()) == []
    assert not (config_of(world) / "ceiling.toml").exists(), "half of it was written"


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_configuration_directory_that_others_may_write(world, mode):
    world.make_directory(config_of(world)).chmod(mode)
    expect_refusal(world, set_up(world, "--yes"), "others", "chmod")
    assert list(config_of(world).iterdir()) == []
    config_of(world).chmod(0o700)
    set_up(world, "--yes").expect(0)


def test_configuration_directory_of_somebody_else(world):
    if os.geteuid() != 0:
        return void(NOT_STARTED_BY_ROOT)
    world.make_directory(config_of(world)).chmod(0o755)
    os.chown(config_of(world), 64999, 64999)
    expect_refusal(world, set_up(world, "--yes"), "others")
    assert list(config_of(world).iterdir()) == []


def test_a_home_of_somebody_else(world):
    """As with sudo: what is made there its owner could not read, and no run of theirs would start."""
    if os.geteuid() != 0:
        return void(NOT_STARTED_BY_ROOT)
    os.chown(world.home, 64999, 64999)
    world.home.chmod(0o777)
    expect_refusal(world, set_up(world, "--yes"), str(world.home), "another user")
    assert not (world.home / ".config").exists()
    os.chown(world.home, world.who.uid, world.who.uid)
    set_up(world, "--yes").expect(0)


@pytest.mark.parametrize("name", ["ceiling.toml", "policies/project.toml"])
@pytest.mark.parametrize("kind", ["link", "dangling", "directory", "fifo", "writable"])
def test_a_name_that_is_taken_by_something_else(world, name, kind):
    place = config_of(world) / name
    world.make_directory(place.parent)
    for directory in (config_of(world), place.parent):
        directory.chmod(0o700)
    victim = world.write(world.outside / "victim", "version = 1\n")
    if kind == "link":
        world.link(place, victim)
    elif kind == "dangling":
        world.link(place, world.outside / "made-by-setup")
    elif kind == "directory":
        world.make_directory(place)
    elif kind == "fifo":
        os.mkfifo(place, 0o600)
        world.own(place)
    else:
        world.write(place, "version = 1\n", 0o666)
    before = harness.tree_digest(world.outside)
    expect_refusal(world, set_up(world, "--yes"), str(place))
    assert harness.tree_digest(world.outside) == before
    written = [p for p in config_of(world).rglob("*.toml") if p != place]
    assert written == [], "something was written although the set-up was refused"


@pytest.mark.parametrize("text", ["version = 1\n[fs]\nwrote = []\n", "version = 2\n", "[fs\n", "",
                                  'version = 1\nextends = "workspace"\n', "\x00"])
def test_a_malformed_ceiling_is_named_and_left(world, text):
    ceiling = world.write(config_of(world) / "ceiling.toml", text, 0o600)
    config_of(world).chmod(0o700)
    expect_refusal(world, set_up(world, "--yes"), str(ceiling))
    assert ceiling.read_text() == text
    assert not (config_of(world) / "policies").exists()
    ceiling.unlink()
    set_up(world, "--yes").expect(0)


def test_a_malformed_policy_is_named_and_left(world):
    policy = world.write(config_of(world) / "policies/project.toml", "version = 1\nfs = 3\n", 0o600)
    for directory in (config_of(world), policy.parent):
        directory.chmod(0o700)
    expect_refusal(world, set_up(world, "--yes"), str(policy))
    assert not (config_of(world) / "ceiling.toml").exists()


WITHOUT_HOME = ["/usr/bin/env", "-u", "HOME"]


@pytest.mark.only("root")
def test_without_a_home_the_account_counts(world):
    done = world.execute([*WITHOUT_HOME, world.cordon, "setup", "--dry-run", "--json"]).expect(0)
    assert done.json["config_directory"] == os.path.join(pwd.getpwuid(0).pw_dir, ".config/cordon")


@pytest.mark.only("user")
def test_without_a_home_and_an_account_a_place_is_named(world):
    options = [*WITHOUT_HOME, world.cordon, "setup", "--dry-run", "--json"]
    expect_refusal(world, world.execute(options), "home", "HOME")
    place = world.make_directory(world.outside / "config")
    done = world.execute(options, env={"XDG_CONFIG_HOME": str(place)})
    assert done.expect(0).json["config_directory"] == f"{place}/cordon"


@pytest.mark.only("user")
def test_a_home_that_cannot_be_written(world):
    world.home.chmod(0o555)
    done = set_up(world, "--yes")
    expect_refusal(world, done, "cannot make", "XDG_CONFIG_HOME")
    world.home.chmod(0o755)
    set_up(world, "--yes").expect(0)


def test_a_home_on_a_read_only_file_system(world):
    """Nobody can write there, root included."""
    script = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'
    done = world.execute([*world.own_namespaces(), "/bin/sh", "-c", script, "sh", world.home,
                          world.cordon, "setup", "--yes"], cwd=world.outside)
    expect_refusal(world, done, "cannot make")


def test_a_failure_half_way_is_told(world):
    """The policies cannot be made; the ceiling before them was, and is named."""
    world.make_directory(config_of(world)).chmod(0o700)
    script = ('mkdir "$1/policies" && mount -t tmpfs -o ro,mode=700 none "$1/policies" && shift && '
              'exec "$@"')
    done = world.execute([*world.own_namespaces(), "/bin/sh", "-c", script, "sh", config_of(world),
                          world.cordon, "setup", "--yes"])
    done.expect(2)
    ceiling = config_of(world) / "ceiling.toml"
    assert f"written before that: {ceiling}" in done.err and ceiling.exists(), done.account()


def test_many_at_once_agree(world):
    running = [world.start([world.cordon, "setup", "--yes", "--json"]) for _ in range(8)]
    answers = []
    for process in running:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        answers.append({e["role"]: e["result"] for e in json.loads(out)["files"]})
    for role in ("ceiling", "policy"):
        seen = sorted(answer[role] for answer in answers)
        assert seen == ["unchanged"] * 7 + ["written"], answers
    names = {p.name for p in config_of(world).rglob("*")}
    assert names == {"ceiling.toml", "policies", "project.toml"}, "something was left behind"
    check_document(world, config_of(world) / "ceiling.toml")


@pytest.mark.parametrize("directory,name", [
    ("My Project", "My-Project"), ("strict", "strict-project"), ("-rf", "rf"), ("a.toml", "a.toml-project"),
    ("ä", "project"), ("x\n\x1b[31mred", "x-31mred"), ("...", "project"), ("$(id)", "id"),
    ("n" * 255, "n" * 56)])
def test_strange_directories_get_a_plain_name(world, directory, name):
    place = world.make_directory(world.home / directory)
    done = set_up(world, "--yes", cwd=place).expect(0)
    assert "\x1b" not in done.out
    check_document(world, config_of(world) / f"policies/{name}.toml")
    world.run("/bin/sh", "-c", "echo > made", options=["--policy", name], cwd=place).expect(0)
    assert (place / "made").exists()


@pytest.mark.parametrize("name", ["../evil", "a/b", "", ".", "-x", "strict", "x.toml", "a b", "\n",
                                  "n" * 65])
def test_names_that_are_refused(world, name):
    before = harness.tree_digest(world.home)
    done = set_up(world, "--yes", f"--name={name}").expect(2)
    assert done.out == "" and harness.tree_digest(world.home) == before, done.account()


@pytest.mark.parametrize("place", ["/", "/usr", "home"])
def test_where_no_project_can_be(world, place):
    before = harness.tree_digest(world.home)
    done = set_up(world, "--yes", cwd=world.home if place == "home" else place)
    expect_refusal(world, done)
    assert harness.tree_digest(world.home) == before


# A second installation.


def test_two_installations_share_no_file(world):
    first, second = world.home / "agents/test.env", world.home / "agents/production.env"
    for file in (first, second):
        done = set_up(world, "--yes", "--env-file", file).expect(0)
        assert str(world.home / ".config") not in done.out
    assert not (world.home / ".config").exists() and not (world.home / ".local").exists()
    before = harness.tree_digest(world.home / "agents/production")
    assert before
    variables = dict(line.split("=", 1) for line in first.read_text().splitlines()
                     if line and not line.startswith("#"))
    assert set(variables) == {"XDG_CONFIG_HOME", "XDG_STATE_HOME"}
    world.run("/bin/true", options=["--policy", "project"], env=variables).expect(0)
    assert list((world.home / "agents/test/state/cordon/audit").glob("*.jsonl"))
    assert harness.tree_digest(world.home / "agents/production") == before
    assert not (world.home / ".local").exists(), "the run used the user's own state"


def test_a_server_uses_the_installation_of_its_file(world):
    file = world.home / "agents/test.env"
    set_up(world, "--yes", "--env-file", file).expect(0)
    world.write(file, file.read_text().replace("#CORDON_ENABLE", "CORDON_ENABLE"), 0o600)
    done = world.cordon_verb("mcp", env={"CORDON_ENV_FILE": str(file)}).expect(0)
    assert "serving run_code" in done.err and "there is no ceiling" not in done.err
    assert set_up(world, "--yes", "--json", "--env-file", file).json["files"][2]["result"] == "left"


def test_shell_takes_the_variables(world):
    file = world.home / "agents/test.env"
    set_up(world, "--yes", "--env-file", file).expect(0)
    line = f". {file}; echo $XDG_CONFIG_HOME; {world.cordon} setup --env-file {file}"
    done = world.execute(["/bin/sh", "-c", f"set -a; {line}"]).expect(0)
    assert done.out.startswith(f"{world.home}/agents/test/config\n")


@pytest.mark.parametrize("place,words", [
    ("project/test.env", "lies in the project"), ("test.txt", "does not end in .env"),
    (".env", "does not end in .env"), ("a b/test.env", "shell"), ("$(id)/test.env", "shell")])
def test_places_that_are_refused(world, place, words):
    before = harness.tree_digest(world.home)
    expect_refusal(world, set_up(world, "--yes", "--env-file", world.home / place), words)
    assert harness.tree_digest(world.home) == before


def test_a_link_into_the_project_is_seen_through(world):
    world.link(world.home / "innocent", world.project)
    expect_refusal(world, set_up(world, "--yes", "--env-file", world.home / "innocent/test.env"),
                   "lies in the project")


def test_a_variable_that_would_win_is_refused(world):
    done = set_up(world, "--yes", "--env-file", world.home / "agents/test.env",
                  env={"XDG_STATE_HOME": str(world.home / "state")})
    expect_refusal(world, done, "XDG_STATE_HOME")
    assert not (world.home / "agents").exists()


def test_a_directory_everybody_may_write_is_no_place_for_variables(world):
    shared = world.make_directory(world.outside / "shared")
    shared.chmod(0o1777)
    expect_refusal(world, set_up(world, "--yes", "--env-file", shared / "test.env"), "others")
    assert list(shared.iterdir()) == []


def test_the_part_that_sets_up_is_no_command_of_its_own(world):
    part = world.cordon.parent / "cordon-tools"
    done = world.execute([part, "--yes"]).expect(2)
    assert "part of cordon" in done.err
    assert subprocess.run([part], capture_output=True, check=False).returncode == 2
