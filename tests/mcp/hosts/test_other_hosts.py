"""Copilot CLI, Gemini CLI, opencode and Qwen Code themselves, with exactly the configuration that is printed for them."""

from pathlib import Path

import pytest

import hosts

pytestmark = pytest.mark.npm


def set_up(world, host):
    ceiling = world.document(f'version = 1\n[fs]\nwrite = ["{world.project}"]\n', "ceiling.toml")
    printed = world.cordon_verb("mcp", "--print-config", host, "--json", "--workspace", world.project,
                                "--ceiling", ceiling).expect(0).json
    for file in printed["files"]:
        place = Path(file["path"].replace("~", str(world.home)))
        world.write(world.project / place, file["content"], 0o600)
    words = printed["launch"]
    return words[words.index(host) + 1:] or words[1:words.index(host)]


def script(world, run_code, write, read, shell):
    return [{"name": run_code, "arguments": {"argv": ["cat", "file.txt"]}},
            {"name": write, "arguments": {"path": str(world.project / "made"), "content": "by a model\n"}},
            {"name": read, "arguments": {"path": str(world.outside / "secret")}},
            {"name": shell, "arguments": {"command": f"touch {world.outside}/planted", "description": "d"}}]


def judge(world, told):
    ran, wrote, denied, shell = told
    assert "project file" in ran and '"exit_code":0' in ran and '"bytes_written":11' in wrote
    assert (world.project / "made").read_text() == "by a model\n"
    assert "SECRET" not in denied and "outside the operator's allowed paths" in denied
    assert "planted" not in shell and not (world.outside / "planted").exists()


def test_copilot_has_our_tools_alone(world):
    names = [f"cordon-{name}" for name in ("run_code", "write_local_file", "read_local_file")]
    session = hosts.copilot(world, set_up(world, "copilot"), script(world, *names, "bash"))
    for request in session.requests:
        assert sorted(tool["name"] for tool in request["body"]["tools"]) == sorted(names)
    judge(world, hosts.told_by_messages(session))


def test_gemini_has_our_tools_alone(world):
    names = [f"mcp_cordon_{name}" for name in ("run_code", "write_local_file", "read_local_file")]
    session = hosts.gemini(world, set_up(world, "gemini"), script(world, *names, "run_shell_command"))
    for request in session.requests:
        [tools] = request["body"]["tools"]
        assert sorted(tool["name"] for tool in tools["functionDeclarations"]) == sorted(names)
    judge(world, hosts.told_by_contents(session))


@pytest.mark.only("user")
def test_opencode_has_our_tools_alone(world):
    names = [f"cordon_{name}" for name in ("run_code", "write_local_file", "read_local_file")]
    session = hosts.opencode(world, set_up(world, "opencode"), script(world, *names, "bash"))
    offered = [sorted(tool["name"] for tool in request["body"]["tools"]) for request in session.requests
               if request["body"].get("tools")]
    assert offered and all(tools == sorted(names) for tools in offered), offered
    judge(world, hosts.told_by_messages(session))


# It asks the system for the account of its user, and has none to ask for in a test's.
@pytest.mark.only("root")
def test_qwen_has_nothing_else_that_acts(world):
    harmless = {"tool_search", "task_stop", "send_message", "skill", "todo_write"}
    names = [f"mcp__cordon__{name}" for name in ("run_code", "write_local_file", "read_local_file")]
    wanted = script(world, *names, "run_shell_command")
    planted = world.outside / "by-monitor"
    wanted.append({"name": "monitor", "arguments": {"command": f"touch {planted}", "description": "d"}})
    session = hosts.qwen(world, set_up(world, "qwen"), wanted)
    for request in session.requests:
        # Servers' tools are found by a search, and may be called without it.
        assert {tool["name"] for tool in request["body"]["tools"]} <= harmless | set(names)
    *told, monitor = hosts.told_by_messages(session)
    judge(world, told)
    assert not planted.exists(), monitor


@pytest.mark.only("user")
def test_without_that_line_they_have_hands_of_their_own(world):
    """The control: the same harness sees tools that are there, and they do act outside."""
    made = world.outside / "by-copilot"
    hosts.copilot(world, ["--allow-all-tools", "--allow-all-paths"], [
        {"name": "bash", "arguments": {"command": f"touch {made}", "description": "d"}}])
    assert made.exists()
    made = world.outside / "by-gemini"
    hosts.gemini(world, ["--yolo"], [{"name": "run_shell_command", "arguments": {"command": f"touch {made}"}}])
    assert made.exists()
    made = world.project / "by-opencode"
    hosts.opencode(world, [], [{"name": "bash", "arguments": {"command": f"touch {made}", "description": "d"}}])
    assert made.exists()


@pytest.mark.only("root")
def test_without_that_line_qwen_has_hands_of_its_own(world):
    made = world.project / "by-qwen"
    hosts.qwen(world, [], [{"name": "run_shell_command", "arguments": {
        "command": f"touch {made}", "description": "d", "is_background": False}}])
    assert made.exists()
