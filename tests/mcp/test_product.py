"""The official inspector against `cordon mcp` itself, over stdio, in both eras."""

import json

import pytest

import suites
from served import ON
from support import harness

pytestmark = pytest.mark.npm


@pytest.fixture(params=["basic", "full"])
def inspect(request, era, tmp_path):
    """The inspector with a ceiling that permits one directory."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "file.txt").write_text("project file\n")
    ceiling = tmp_path / "ceiling.toml"
    ceiling.write_text(f'version = 1\n[fs]\nwrite = ["{project}"]\n[ask]\nread = ["{tmp_path}"]\n')
    ceiling.chmod(0o600)
    wish = ["--profile", request.param, "--workspace", str(project), "--ceiling", str(ceiling)]
    config = tmp_path / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"cordon": {
        "command": str(harness.source_binary()), "args": ["mcp", *wish],
        "env": {**ON, "CORDON_ENABLE_UNSAFE_WRITE": "1", "HOME": str(tmp_path)}}}}))

    def run(*arguments):
        return suites.inspector("--config", str(config), "--server", "cordon", "--protocol-era", era,
                                *arguments, "-q")
    run.profile = request.param
    run.file = str(project / "file.txt")
    return run


def test_schemas_are_portable(inspect):
    done = inspect("--method", "tools/list", "--strict")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


def test_a_call_and_a_resource(inspect):
    done = inspect("--method", "tools/call", "--tool-name", "read_local_file", "--tool-args-json",
                   json.dumps({"path": inspect.file}), "--format", "json")
    assert done.returncode == 0, done.stderr
    text = json.loads(done.stdout)["result"]["content"][0]["text"]
    assert json.loads(text)["content"] == "project file\n"
    if inspect.profile == "full":
        done = inspect("--method", "resources/read", "--uri", "cordon://policy", "--format", "json")
        assert done.returncode == 0 and "writable" in done.stdout, done.stderr
