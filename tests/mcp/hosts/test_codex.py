"""Codex CLI itself, with exactly the configuration that is printed for it.

Which tools the model gets depends on the model: one Codex knows nothing about gets them as they are,
others get them behind a search, or behind a JavaScript interpreter that calls them.
"""

import json

import pytest

import hosts

pytestmark = pytest.mark.npm

OURS = {"mcp__cordon/read_local_file", "mcp__cordon/run_code", "mcp__cordon/write_local_file"}
# They read what servers offer, ask the person, or list: none of them runs or writes anything.
HARMLESS = {"list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource",
            "request_user_input"}
PATCH = ("*** Begin Patch\n*** Add File: planted.txt\n+x\n*** Update File: file.txt\n@@\n"
         "-project file\n+changed\n*** End Patch")


def call(name, **arguments):
    return {"name": name, "namespace": "mcp__cordon", "arguments": arguments}


def offered(session):
    names = set()
    for request in session.requests:
        for tool in request["body"].get("tools", []):
            if tool["type"] == "namespace":
                names |= {f"{tool['name']}/{inner['name']}" for inner in tool["tools"]}
            else:
                names.add(tool.get("name", tool["type"]))
    return names


results = hosts.told_by_responses


def set_up(world):
    ceiling = world.document(f'version = 1\n[fs]\nwrite = ["{world.project}"]\n', "ceiling.toml")
    printed = world.cordon_verb("mcp", "--print-config", "codex", "--json", "--workspace",
                                world.project, "--ceiling", ceiling).expect(0).json
    [file] = printed["files"]
    assert file["path"] == "~/.codex/config.toml" and printed["launch"] == ["codex"]
    world.write(world.home / ".codex/config.toml", file["content"], 0o600)


def json_of(text):
    return json.loads(text[text.index("{"):])


def test_the_printed_configuration_leaves_our_tools_alone(world):
    set_up(world)
    outside = world.outside / "planted"
    session = hosts.codex(world, "a-model-nobody-knows", [
        call("run_code", argv=["cat", "file.txt"]),
        call("write_local_file", path=str(world.project / "made"), content="by a model\n"),
        call("read_local_file", path=str(world.outside / "secret")),
        call("run_code", argv=["touch", str(outside)], readwrite_paths=[str(world.outside)]),
        {"name": "exec_command", "arguments": {"cmd": f"touch {outside}"}},
    ])
    assert offered(session) == OURS | HARMLESS
    ran, wrote, denied, refused, shell = results(session)
    assert json_of(ran)["stdout"] == "project file\n" and json_of(ran)["exit_code"] == 0
    assert json_of(ran)["enforcement"]["landlock"] is True
    assert json_of(wrote)["bytes_written"] == 11
    assert (world.project / "made").read_text() == "by a model\n"
    for text in (denied, refused):
        assert "SECRET" not in text and str(world.project) not in text
        assert "outside the operator's allowed paths" in json_of(text)["help"]
        assert "will not help" in json_of(text)["help"]
    assert "unsupported call" in shell
    assert not outside.exists()


@pytest.mark.only("user")
def test_a_model_that_brings_a_patch_tool_cannot_write_with_it(world):
    set_up(world)
    session = hosts.codex(world, "gpt-5.5", [{"name": "apply_patch", "arguments": PATCH},
                                             call("run_code", argv=["cat", "file.txt"])])
    assert offered(session) == HARMLESS | {"apply_patch", "tool_search"}
    patched, ran = results(session)
    assert "read-only" in patched and json_of(ran)["stdout"] == "project file\n"
    assert not (world.project / "planted.txt").exists()


@pytest.mark.only("user")
def test_a_model_with_an_interpreter_reaches_nothing_else_through_it(world):
    set_up(world)
    script = ("text(JSON.stringify(ALL_TOOLS.map(tool => tool.name)));\n"
              "const ran = await tools.mcp__cordon__run_code({argv: ['cat', 'file.txt']});\n"
              "text(ran.content[0].text);\n"
              f"try {{ text(await tools.apply_patch({json.dumps(PATCH)})) }}\n"
              "catch (error) { text('' + error) }")
    session = hosts.codex(world, "gpt-6.1-sol", [
        {"name": "exec", "namespace": "functions", "arguments": script}])
    [told] = results(session)
    names, ran, patched = [line for line in told.splitlines() if line][-3:]
    assert set(json.loads(names)) - {name.replace("/", "__") for name in OURS} == \
        (HARMLESS - {"request_user_input"}) | {"apply_patch", "clock__curr_time"}
    assert json.loads(ran)["stdout"] == "project file\n"
    assert "read-only" in patched and not (world.project / "planted.txt").exists()


@pytest.mark.only("user")
def test_without_it_the_host_has_hands_of_its_own(world):
    """The control: the same harness sees a shell where there is one, and it acts."""
    world.write(world.home / ".codex/config.toml",
                'approval_policy = "never"\nsandbox_mode = "danger-full-access"\n', 0o600)
    made = world.outside / "by-the-host"
    session = hosts.codex(world, "a-model-nobody-knows", [
        {"name": "exec_command", "arguments": {"cmd": f"touch {made}"}}])
    assert "exec_command" in offered(session) and made.exists()
