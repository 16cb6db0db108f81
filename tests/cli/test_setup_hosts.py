"""`cordon setup --host`: what an agent host is told, and whose file it is."""

import json
import os
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

HOSTS = ["claude", "codex", "copilot", "gemini", "vscode", "cursor"]


def set_up(world, *options, status=0, **how):
    return world.cordon_verb("setup", "--yes", *options, **how).expect(status)


def printed(world, host):
    answer = world.cordon_verb("mcp", "--print-config", host, "--json").expect(0).json
    return {place(world, file["path"]): file["content"] for file in answer["files"]}


def place(world, written):
    if written.startswith("/"):
        return Path(written)
    return world.home / written[2:] if written.startswith("~/") else world.project / written


def host_files(done):
    return {entry["path"]: entry for entry in done.json["files"] if entry["role"] == "host"}


@pytest.mark.parametrize("host", HOSTS)
def test_writes_what_is_printed_and_undoes_it(world, host):
    done = set_up(world, "--host", host)
    wanted = printed(world, host)
    for path, content in wanted.items():
        assert path.read_text() == content and path.stat().st_mode & 0o777 == 0o600
        assert path.stat().st_uid == world.who.uid
        assert f"written: {path}" in done.out and f"undo: rm -- {path}\n" in done.out
    launch = world.cordon_verb("mcp", "--print-config", host, "--json").json["launch"]
    assert f"next: {launch[0]}" in done.out
    assert "note: contained are these tools" in done.out
    again = set_up(world, "--host", host, "--json")
    assert {entry["result"] for entry in again.json["files"]} == {"unchanged"}
    for line in done.out.splitlines():
        if line.startswith("undo: rm"):
            world.bare("/bin/sh", "-c", line.removeprefix("undo: ")).expect(0)
    assert not any(path.exists() for path in wanted)


def test_adds_one_server_to_json_and_keeps_every_other_byte(world):
    path = world.home / ".copilot/mcp-config.json"
    before = '{ "mcpServers": {"mine" : {"command":"x", "n":1.50, "ü":"\\u00fc"}},\n\t"other":[1,  2] }\n'
    world.write(path, before, 0o640)
    done = set_up(world, "--host", "copilot", "--json")
    [entry] = host_files(done).values()
    assert entry["result"] == "added" and any("cordon" in line for line in done.json["undo"])
    after = path.read_text()
    head, tail = before.split('"mine"', 1)
    assert after.startswith(head) and after.endswith('"mine"' + tail)
    assert path.stat().st_mode & 0o777 == 0o640 and path.stat().st_uid == world.who.uid
    servers = json.loads(after)["mcpServers"]
    assert servers["cordon"] == json.loads(printed(world, "copilot")[path])["mcpServers"]["cordon"]
    again = set_up(world, "--host", "copilot", "--json")
    assert host_files(again)[str(path)]["result"] == "unchanged" and path.read_text() == after


def test_adds_one_server_to_toml_and_says_what_is_missing(world):
    path = world.home / ".codex/config.toml"
    before = '# mine\nmodel = "m"   # kept\n\n[mcp_servers.other]\ncommand = "x"'
    world.write(path, before, 0o600)
    done = set_up(world, "--host", "codex")
    assert f"added to: {path}" in done.out and "Codex keeps tools of its own" in done.out
    after = path.read_text()
    assert after.startswith(before)
    read = tomllib.loads(after)
    assert read["mcp_servers"]["cordon"] == tomllib.loads(printed(world, "codex")[path])["mcp_servers"]["cordon"]
    assert read["model"] == "m" and "approval_policy" not in read
    set_up(world, "--host", "codex")
    assert path.read_text() == after


def test_an_entry_of_ones_own_is_left(world):
    path = world.home / ".codex/config.toml"
    mine = '[mcp_servers.cordon]\ncommand = "/mine"\n'
    world.write(path, mine, 0o600)
    done = set_up(world, "--host", "codex")
    assert f"left as it is: {path}" in done.out and path.read_text() == mine


def symlinked(world, path):
    world.write(world.home / "dotfiles/config", "{}", 0o600)
    world.link(path, world.home / "dotfiles/config")
    return world.home / "dotfiles/config"


def linked_directory(world, path):
    world.write(world.home / "dotfiles" / path.name, "{}", 0o600)
    world.link(path.parent, world.home / "dotfiles")
    return world.home / "dotfiles" / path.name


def commented(world, path):
    return world.write(path, '{ // mine\n "mcpServers": {} }\n', 0o600)


def unfinished(world, path):
    return world.write(path, '{"mcpServers": {', 0o600)


def writable(world, path):
    return world.write(path, "{}", 0o666)


def no_table(world, path):
    return world.write(path, '{"mcpServers": [1]}', 0o600)


CASES = [symlinked, linked_directory, commented, unfinished, writable, no_table]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_what_cannot_be_changed_safely_is_left_to_the_person(world, case):
    path = world.home / ".copilot/mcp-config.json"
    real = case(world, path)
    before, mode = real.read_bytes(), real.stat().st_mode
    done = set_up(world, "--host", "copilot", status=1)
    assert f"left to you: {path}" in done.out and '"cordon": {' in done.out
    assert real.read_bytes() == before and real.stat().st_mode == mode
    assert (world.home / ".config/cordon/ceiling.toml").exists(), "the rest is set up"


def test_links_of_a_project_lead_nowhere(world):
    world.link(world.project / ".github", world.outside)
    done = set_up(world, "--host", "vscode", status=1)
    assert "a symlink leads to it" in done.out and not (world.outside / "agents").exists()
    assert (world.project / ".vscode/mcp.json").exists(), "the control"


@pytest.mark.only("user")
def test_a_file_of_somebody_else_is_left(world):
    path = world.write(world.home / ".codex/config.toml", "", 0o644)
    if os.geteuid() == 0:
        os.chown(path, 64999, 64999)
        done = set_up(world, "--host", "codex", status=1)
        assert "belongs to another user" in done.out and path.read_text() == ""


def test_dry_run_and_no_terminal_write_nothing(world):
    world.write(world.home / ".codex/config.toml", 'model = "SECRET-other"\n', 0o600)
    shown = world.cordon_verb("setup", "--dry-run", "--host", "codex", "--host", "claude", "--host",
                              "claude").expect(0)
    assert shown.out.count("claude.json") == 2, "once in its place and once in the line to go on with"
    assert "would write" in shown.out and "[mcp_servers.cordon]" in shown.out
    assert "SECRET" not in shown.out, "what is in the file is the person's affair"
    world.cordon_verb("setup", "--host", "claude").expect(2)
    world.cordon_verb("setup", "--host", "nobody").expect(2)
    assert (world.home / ".codex/config.toml").read_text() == 'model = "SECRET-other"\n'
    assert not (world.home / ".config/cordon").exists()


def test_installations_side_by_side_share_no_file(world):
    for name in ("test", "production"):
        set_up(world, "--env-file", world.home / f"agents/{name}.env", "--host", "claude")
    seen = {}
    for name in ("test", "production"):
        path = world.home / f"agents/{name}/config/cordon/claude.json"
        entry = json.loads(path.read_text())["mcpServers"]["cordon"]
        assert entry["env"]["CORDON_ENV_FILE"] == str(world.home / f"agents/{name}.env")
        seen[name] = entry
    assert not (world.home / ".config/cordon").exists()
    assert seen["test"] != seen["production"]


def test_the_server_that_is_named_starts(world):
    set_up(world, "--host", "claude")
    entry = json.loads((world.home / ".config/cordon/claude.json").read_text())["mcpServers"]["cordon"]
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
    done = world.execute([entry["command"], *entry["args"]], input=hello + "\n", env=entry["env"])
    assert '"serverInfo"' in done.expect(0).out
