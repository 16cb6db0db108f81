"""What `cordon setup --host` wrote, read by the hosts themselves."""

import json

import pytest

import hosts

pytestmark = pytest.mark.npm


def test_codex_lists_the_server_in_a_file_of_ones_own(world):
    mine = 'model = "mine"\n\n[mcp_servers.other]\ncommand = "/bin/true"\n'
    world.write(world.home / ".codex/config.toml", mine, 0o600)
    listed = world.execute([hosts.program("codex"), "mcp", "list", "--json"]).expect(0).json
    assert [server["name"] for server in listed] == ["other"], "the control"
    world.cordon_verb("setup", "--yes", "--host", "codex").expect(0)
    listed = world.execute([hosts.program("codex"), "mcp", "list", "--json"]).expect(0).json
    by_name = {server["name"]: server for server in listed}
    assert set(by_name) == {"cordon", "other"}
    assert by_name["cordon"]["transport"]["command"] == str(world.cordon)
    world.execute([hosts.program("codex"), "mcp", "remove", "cordon"]).expect(0)
    assert (world.home / ".codex/config.toml").read_text().rstrip("\n") == mine.rstrip("\n")


def test_claude_code_starts_the_server(world):
    world.cordon_verb("setup", "--yes", "--host", "claude").expect(0)
    launch = world.cordon_verb("mcp", "--print-config", "claude", "--json").expect(0).json["launch"]
    script = [{"name": "mcp__cordon__run_code", "arguments": {"argv": ["/bin/sh", "-c", "echo x > made"]}}]
    session = hosts.claude(world, launch[1:], script)
    assert (world.project / "made").read_text() == "x\n", session.account()
    offered = {tool["name"] for request in session.requests for tool in request["body"].get("tools", [])}
    assert "mcp__cordon__run_code" in offered and "Bash" not in offered
    assert json.loads((world.home / ".config/cordon/claude.json").read_text())["mcpServers"]
