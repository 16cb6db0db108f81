"""What `cordon doctor --host` calls off is off: with the settings that it believes, the hosts themselves offer no such
tool. Claude Code is in test_claude.py."""

import json

import pytest

import hosts

pytestmark = pytest.mark.npm

GEMINI = ["run_shell_command", "replace", "write_file", "read_file", "glob", "list_directory", "grep_search"]
QWEN = ["run_shell_command", "monitor", "edit", *GEMINI[2:]]


def offered(session):
    """Every name of a tool in every request, whatever the dialect."""
    names = set()
    for request in session.requests:
        for tool in request["body"].get("tools", []):
            names |= {tool.get("name")} | {inner["name"] for inner in tool.get("functionDeclarations", [])}
    assert session.requests, session.account()
    return names


def excluded(world, host, path, document):
    world.write(world.home / path, document if isinstance(document, str) else json.dumps(document), 0o600)
    assert world.cordon_verb("doctor", "--host", host, "--json").expect(0).json["bypass"] == "excluded"


@pytest.mark.only("user")
def test_gemini(world):
    excluded(world, "gemini", ".gemini/settings.json", {"tools": {"exclude": GEMINI}})
    made = world.project / "made"
    session = hosts.gemini(world, ["--yolo"], [
        {"name": "run_shell_command", "arguments": {"command": "touch made"}},
        {"name": "write_file", "arguments": {"file_path": str(made), "content": "x"}}])
    assert not offered(session) & set(GEMINI) and not made.exists()


@pytest.mark.only("user")
def test_codex(world):
    excluded(world, "codex", ".codex/config.toml",
             'sandbox_mode = "read-only"\n[features]\nshell_tool = false\nunified_exec = false\n')
    session = hosts.codex(world, "a-model-nobody-knows", [
        {"name": "exec_command", "arguments": {"cmd": "touch made"}},
        {"name": "shell", "arguments": {"command": ["touch", "made"]}}])
    assert not offered(session) & {"exec_command", "shell", "shell_command", "local_shell", "write_stdin"}
    assert not (world.project / "made").exists()


@pytest.mark.only("user")
def test_opencode(world):
    permission = {"permission": {"*": "deny", "cordon_*": "allow"}}
    settings = world.write(world.home / "opencode.json", json.dumps(permission), 0o600)
    answer = world.cordon_verb("doctor", "--host", "opencode", "--json", env={"OPENCODE_CONFIG": str(settings)})
    assert answer.expect(0).json["bypass"] == "excluded"
    session = hosts.opencode(world, [f"OPENCODE_CONFIG={settings}"], [
        {"name": "bash", "arguments": {"command": "touch made", "description": "d"}}])
    assert not offered(session) & {"bash", "edit", "write", "read", "list", "glob", "grep", "patch"}
    assert not (world.project / "made").exists()


@pytest.mark.only("root")
def test_qwen(world):
    excluded(world, "qwen", ".qwen/settings.json", {"tools": {"exclude": QWEN}})
    session = hosts.qwen(world, [], [
        {"name": "run_shell_command", "arguments": {"command": "touch made", "description": "d", "is_background": False}},
        {"name": "monitor", "arguments": {"command": "touch made", "description": "d"}}])
    assert not offered(session) & set(QWEN) and not (world.project / "made").exists()
