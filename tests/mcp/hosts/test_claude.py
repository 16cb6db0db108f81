"""Claude Code itself, with exactly the configuration that is printed for it, and with the hook."""

import json
import os
import shlex

import pytest

import hosts

pytestmark = pytest.mark.npm

# The placeholder takes nothing and does nothing; it is in every list.
TOOLS = ["DeferredToolPlaceholder", "mcp__cordon__read_local_file", "mcp__cordon__run_code",
         "mcp__cordon__write_local_file"]


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def offered(session):
    """The tools of every request of the conversation."""
    listed = [sorted(tool["name"] for tool in request["body"]["tools"])
              for request in session.requests if request["body"].get("tools")]
    assert listed, session.account()
    return listed


def set_up(world):
    """Saves what is printed where it says; answers with the options of the line that is printed."""
    ceiling = world.document(f'version = 1\n[fs]\nwrite = ["{world.project}"]\n', "ceiling.toml")
    printed = world.cordon_verb("mcp", "--print-config", "claude", "--json", "--workspace",
                                world.project, "--ceiling", ceiling).expect(0).json
    [file] = printed["files"]
    world.write(world.home / file["path"], file["content"], 0o600)
    assert printed["launch"][0] == "claude"
    return printed["launch"][1:]


def test_the_printed_configuration_leaves_our_tools_alone(world):
    outside = world.outside / "planted"
    session = hosts.claude(world, set_up(world), [
        call("mcp__cordon__run_code", argv=["sh", "-c", "cat file.txt; readlink /proc/self/ns/pid"]),
        call("mcp__cordon__write_local_file", path=str(world.project / "made"), content="by a model\n"),
        call("mcp__cordon__read_local_file", path=str(world.outside / "secret")),
        call("mcp__cordon__write_local_file", path=str(outside), content="x"),
        call("Bash", command=f"touch {outside}"),
    ])
    assert all(names == TOOLS for names in offered(session)), offered(session)
    ran, wrote, denied, refused, shell = hosts.results_in_messages(session)
    told = json.loads(ran[0])
    assert told["success"] is True and told["exit_code"] == 0 and not ran[1]
    assert told["stdout"].startswith("project file\npid:[")
    assert os.readlink("/proc/self/ns/pid") not in told["stdout"]
    assert json.loads(wrote[0])["bytes_written"] == 11
    assert (world.project / "made").read_text() == "by a model\n"
    for text, is_error in (denied, refused):
        assert is_error and "SECRET" not in text
        told = json.loads(text)
        assert "outside the operator's allowed paths" in told["help"], told
        assert "will not help" in told["help"] and str(world.project) not in text
    assert shell[1] and "No such tool" in shell[0]
    assert not outside.exists()


@pytest.mark.only("user")
def test_without_that_line_the_host_has_hands_of_its_own(world):
    """The control: the same harness sees tools that are there, and they do act outside."""
    made = world.outside / "by-the-host"
    session = hosts.claude(world, ["--allowedTools", "Bash"], [call("Bash", command=f"touch {made}")])
    assert all({"Bash", "Edit", "Write"} <= set(names) for names in offered(session))
    assert made.exists()


@pytest.mark.only("user")
def test_what_doctor_calls_off_is_off(world):
    denied = ["Bash", "Monitor", "Read", "Edit", "Write", "Glob", "NotebookEdit", "Grep"]
    made = world.outside / "by-the-host"
    world.write(world.home / ".claude/settings.json", json.dumps({"permissions": {"deny": denied}}))
    assert world.cordon_verb("doctor", "--host", "claude", "--json").expect(0).json["bypass"] == "excluded"
    session = hosts.claude(world, ["--allowedTools", "Bash"], [call("Bash", command=f"touch {made}")])
    assert not any(set(denied) & set(names) for names in offered(session))
    assert not made.exists()


def hooked(world, command, **more):
    hook = {"type": "command", "command": command, **more}
    settings = {"hooks": {"PreToolUse": [{"matcher": "Bash|Monitor", "hooks": [hook]}]}}
    world.write(world.home / ".claude/settings.json", json.dumps(settings))


def test_the_hook_contains_the_shell(world):
    made = world.outside / "by-the-shell"
    hooked(world, f"{shlex.quote(str(world.cordon))} hook claude --timeout 20s || exit 2",
           onFailure="block")
    nasty = "cat <<'E'\nit's \"$HOME\" `id` $(id) \\ !\nE\n"
    session = hosts.claude(world, [], [
        call("Bash", command="cat file.txt; readlink /proc/self/ns/pid; echo x > new", description="d"),
        call("Bash", command=nasty, description="d"),
        call("Bash", command=f"echo one | tr a-z A-Z | cat && touch {made}", description="d"),
        call("Bash", command="exit 7", description="d"),
        call("Bash", command=f"{world.cordon} run -- true; touch {made}", description="d"),
    ])
    first, quoted, denied, status, nested = hosts.results_in_messages(session)
    assert first[0].startswith("project file\npid:[") and not first[1]
    assert os.readlink("/proc/self/ns/pid") not in first[0]
    assert (world.project / "new").read_text() == "x\n"
    assert quoted[0] == 'it\'s "$HOME" `id` $(id) \\ !'
    assert denied[1] and denied[0].startswith("Exit code 1\nONE\n")
    assert status[1] and status[0].startswith("Exit code 7")
    assert nested[1] and not made.exists()


@pytest.mark.only("user")
def test_the_prefix_contains_the_shell(world):
    made = world.outside / "by-the-shell"
    session = hosts.claude(world, ["--allowedTools", "Bash"], [
        call("Bash", command="cat file.txt; readlink /proc/self/ns/pid; echo x > new", description="d"),
        call("Bash", command=f"touch {made}; exit 7", description="d"),
    ], {"CLAUDE_CODE_SHELL_PREFIX": f"{world.cordon} -c"})
    first, status = hosts.results_in_messages(session)
    assert first[0].startswith("project file\npid:[") and not first[1]
    assert os.readlink("/proc/self/ns/pid") not in first[0]
    assert (world.project / "new").read_text() == "x\n"
    assert status[1] and status[0].startswith("Exit code 7") and not made.exists()


@pytest.mark.only("user")
def test_without_cordon_the_prefix_lets_no_command_run(world):
    made = world.project / "by-the-shell"
    touch = [call("Bash", command=f"touch {made}", description="d")]
    allowed = ["--allowedTools", "Bash"]
    [(_, is_error)] = hosts.results_in_messages(
        hosts.claude(world, allowed, touch, {"CLAUDE_CODE_SHELL_PREFIX": "/nowhere/cordon -c"}))
    assert is_error and not made.exists()
    hosts.claude(world, allowed, touch)
    assert made.exists()  # the control


@pytest.mark.only("user")
def test_a_hook_that_fails_blocks_as_it_is_installed(world):
    ran = world.project / "ran"
    touch = [call("Bash", command="touch ran", description="d")]
    allowed = ["--allowedTools", "Bash"]
    hooked(world, "/nowhere/cordon hook claude")
    hosts.claude(world, allowed, touch)
    assert ran.exists()  # the control: this is what the two below prevent
    ran.unlink()
    for command, more in (("/nowhere/cordon hook claude || exit 2", {}),
                          ("/nowhere/cordon hook claude", {"onFailure": "block"}),
                          (f"{world.cordon} hook claude --no-such-option", {})):
        hooked(world, command, **more)
        [(_, is_error)] = hosts.results_in_messages(hosts.claude(world, allowed, touch))
        assert is_error and not ran.exists(), command
