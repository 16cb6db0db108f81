"""`cordon mcp --print-config`: documents that mean what was asked, and nothing of the environment."""

import json
import shlex
import tomllib

import pytest

pytestmark = pytest.mark.once

HOSTS = ["claude", "codex", "copilot", "gemini", "vscode", "cursor", "opencode", "qwen", "windsurf", "zed",
         "claude-desktop", "generic"]
KEYS = {"codex": "mcp_servers", "vscode": "servers", "zed": "context_servers", "opencode": "mcp"}
# They are started as ever.
NO_LINE = ("windsurf", "zed", "claude-desktop", "generic")
# They start a server wherever they were started, so that the project has to be named.
ANYWHERE = ("windsurf", "zed", "claude-desktop")


def read(host, text):
    document = tomllib.loads(text) if host == "codex" else json.loads(text)
    entry = document[KEYS.get(host, "mcpServers")]["cordon"]
    if host == "opencode":
        entry |= {"command": entry["command"][0], "args": entry["command"][1:], "env": entry["environment"]}
    return entry


def whole(world, host, *options):
    done = world.cordon_verb("mcp", "--print-config", host, "--json", *options).expect(0)
    assert done.err == ""
    return done.json


@pytest.mark.parametrize("host", HOSTS)
def test_the_document_names_this_program_and_what_was_asked(world, host):
    workspace = world.make_directory(world.home / """it's a "work" \\ space # ü""")
    ceiling = world.document("version = 1\n", """the 'c' "x".toml""")
    done = world.cordon_verb("mcp", "--print-config", host, "--workspace", workspace, "--ceiling",
                             ceiling).expect(0)
    entry = read(host, done.out)
    assert entry["command"] == str(world.cordon)
    assert entry["args"] == ["mcp", "--workspace", str(workspace), "--ceiling", str(ceiling)]
    assert entry["env"] == {"CORDON_ENABLE_RUN_CODE": "1"}
    assert "contained are these tools, not the host" in done.err
    everything = whole(world, host, "--workspace", workspace, "--ceiling", ceiling)
    assert everything["files"][0]["content"] == done.out
    assert everything["files"][0]["path"] in done.err
    for file in everything["files"][1:]:
        assert file["path"] in done.err and file["content"] in done.err
    if host in NO_LINE:
        assert everything["launch"] == [] and "start the host with" not in done.err
    else:
        line = done.err.split("start the host with\n")[1].splitlines()[0]
        assert shlex.split(line) == everything["launch"]
    # What is printed starts a server.
    started = world.execute([entry["command"], *entry["args"]], env=entry["env"], cwd=world.outside)
    assert started.status == 0 and "serving run_code" in started.err, started.account()


@pytest.mark.parametrize("host", HOSTS)
def test_nothing_of_the_environment_is_printed(world, host):
    secrets = {"ANTHROPIC_API_KEY": "sk-SECRET", "GITHUB_TOKEN": "ghp_SECRET",
               "CORDON_ENV_FILE": str(world.write(world.trusted / "env", "A_TOKEN=SECRET\n", 0o600))}
    place = ["--workspace", "."] if host in ANYWHERE else []
    done = world.cordon_verb("mcp", "--print-config", host, *place, env=secrets).expect(0)
    assert "SECRET" not in done.out + done.err


@pytest.mark.parametrize("host", ANYWHERE)
def test_where_the_project_has_to_be_named_that_is_said(world, host):
    done = world.cordon_verb("mcp", "--print-config", host).expect(2)
    assert "--workspace DIR" in done.err and done.out == ""


def test_what_was_not_tried_is_said_to_be_so(world):
    tried = {"claude", "codex", "copilot", "gemini", "opencode", "qwen", "generic"}
    for host in HOSTS:
        said = world.cordon_verb("mcp", "--print-config", host, "--workspace", ".").expect(0).err
        assert ("was not tried" in said) == (host not in tried), host


@pytest.mark.parametrize("host", HOSTS)
def test_a_relative_workspace_is_made_absolute(world, host):
    done = world.cordon_verb("mcp", "--print-config", host, "--workspace", ".").expect(0)
    assert read(host, done.out)["args"] == ["mcp", "--workspace", str(world.project)]


def test_the_hosts_own_tools_are_taken_away(world):
    claude = whole(world, "claude")
    assert claude["launch"][:3] == ["claude", "--tools", ""]
    assert "--strict-mcp-config" in claude["launch"]
    codex = tomllib.loads(whole(world, "codex")["files"][0]["content"])
    assert codex["sandbox_mode"] == "read-only" and codex["approval_policy"] == "never"
    assert codex["features"]["shell_tool"] is False and not any(codex["features"].values())
    assert "--available-tools=cordon" in whole(world, "copilot")["launch"]
    policy = whole(world, "gemini")["files"][1]
    rules = tomllib.loads(policy["content"])["rule"]
    assert [(rule["decision"], rule["priority"]) for rule in rules] == [("deny", 100), ("allow", 200)]
    assert whole(world, "gemini")["launch"] == ["gemini", "--admin-policy", policy["path"]]
    assert "tools: ['cordon/*']" in whole(world, "vscode")["files"][1]["content"]
    denied = json.loads(whole(world, "cursor")["files"][1]["content"])["permissions"]["deny"]
    assert denied == ["Shell(*)", "Read(**)", "Write(**)"]


@pytest.mark.parametrize("host", HOSTS)
def test_what_is_started_next_time_cannot_be_changed_from_inside(world, host):
    place = ["--workspace", "."] if host in ANYWHERE else []
    for file in whole(world, host, *place)["files"]:
        path = file["path"].replace("~", str(world.home))
        target = world.write(world.project / path, "of the operator\n")
        world.run("sh", "-c", 'echo changed > "$0"', target, options=["--write", target.parent])
        assert target.read_text() == "of the operator\n", path


@pytest.mark.parametrize("host", HOSTS)
def test_a_path_that_a_host_would_read_differently_is_refused(world, host):
    workspace = world.make_directory(world.home / "a ${HOME} $USER")
    done = world.cordon_verb("mcp", "--print-config", host, "--workspace", workspace)
    if host == "codex":
        assert read(host, done.expect(0).out)["args"][2] == str(workspace)
    else:
        assert done.expect(2).out == "" and "variable" in done.err
    bad = world.make_directory(world.home / "a\nb")
    assert world.cordon_verb("mcp", "--print-config", host, "--workspace", bad).expect(2).out == ""


@pytest.mark.parametrize("options", [
    ["nonsense"], ["claude", "--workspace", "/nowhere"], ["claude", "--workspace", "file.txt"],
    ["claude", "--ceiling", "missing.toml"], ["claude", "--profile", "other"],
    ["claude", "--http", "127.0.0.1:1"], ["claude", "operand"]])
def test_what_cannot_be_is_refused(world, options):
    done = world.cordon_verb("mcp", "--print-config", *options).expect(2)
    assert done.out == "" and done.err.startswith("cordon: ")


def test_json_without_a_host_is_refused(world):
    world.cordon_verb("mcp", "--json").expect(2)


def test_the_profile_that_was_called_seed_is_basic(world):
    done = world.cordon_verb("mcp", "--print-config", "claude", "--profile", "seed").expect(0)
    assert done.err.count("called basic now") == 1
    assert read("claude", done.out)["args"][-2:] == ["--profile", "basic"]
    plain = world.cordon_verb("mcp", "--print-config", "claude", "--profile", "basic").expect(0)
    assert plain.out == done.out and "called basic" not in plain.err


def test_a_server_with_a_profile_that_there_is_not_does_not_start(world):
    refused = world.cordon_verb("mcp", "--profile", "other").expect(2)
    assert "no profile is called other" in refused.err and "write basic or full" in refused.err
