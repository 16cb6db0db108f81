"""Profile `full`: what changed, what stopped something, within which bounds there is to work."""

import hashlib
import json
import re
import shutil
import subprocess

import pytest

from served import ON, audit_lines, ceiling_of

pytestmark = pytest.mark.once

BASIC_LIST = "a104c1b4012a3e2375730848a096cda66d2e2c1630440e15d42adcf480ddfcc8"
FULL_TOOLS = ["run_code", "start_process", "read_output", "write_stdin", "stop_process",
              "list_processes", "read_local_file", "write_local_file", "edit_local_file",
              "list_files", "search_files", "workspace_diff", "explain_denial", "get_limits"]


# The table.

def test_the_tools_and_their_schemas(serve_full, era):
    server = serve_full(era=era)
    tools = server.call("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == FULL_TOOLS
    assert len(json.dumps(tools, separators=(",", ":"))) < 14_000

    def check(schema, place):
        assert isinstance(schema["type"], str), place
        assert not {"anyOf", "oneOf", "allOf", "$ref"} & set(schema), place
        if schema["type"] == "object":
            assert schema["additionalProperties"] is False, place
            for name, inner in schema["properties"].items():
                check(inner, f"{place}.{name}")
        if schema["type"] == "array":
            assert {"minItems", "maxItems"} <= set(schema), place
            check(schema["items"], f"{place}[]")
        if schema["type"] == "integer":
            assert {"minimum", "maximum"} <= set(schema), place
        if schema["type"] == "string":
            assert {"maxLength"} <= set(schema) or "enum" in schema, place
    for tool in tools:
        check(tool["inputSchema"], tool["name"])
        assert len(tool["description"]) < 1536
        assert not {"network", "policy", "ceiling"} & set(tool["inputSchema"]["properties"])
        assert set(tool["annotations"]) >= {"readOnlyHint", "destructiveHint", "idempotentHint",
                                            "openWorldHint"}
    for name in ("run_code", "read_local_file", "write_local_file"):
        text = next(tool["description"] for tool in tools if tool["name"] == name)
        assert "the way to the user's LOCAL disk" in text and "let the kernel decide" in text


def test_every_parameter_is_described(serve_full):
    for tool in serve_full().call("tools/list")["result"]["tools"]:
        for name, schema in tool["inputSchema"]["properties"].items():
            assert len(schema.get("description", "").split()) > 1, (tool["name"], name)


# What a model reads: what a program or a file said, and one line of Cordon's own.

def text_and_meta(server, tool, arguments):
    result = server.tool(tool, arguments)["result"]
    [block] = result["content"]
    above, _, line = block["text"].rpartition("\n")
    return above, json.loads(line), result["_meta"]["cordon/result"], block["text"]


def test_the_payload_comes_first(serve_full, era, world):
    server = serve_full(era=era)
    above, line, meta, text = text_and_meta(server, "run_code", {"argv": ["echo", "hi"]})
    assert text.startswith("hi\n{") and len(text) < 150
    assert set(line) == {"run_id", "exit_code", "duration_ms"} and line["exit_code"] == 0
    assert meta["enforcement"]["landlock"] is True and meta["policy_hash"].startswith("sha256:") and meta["audit_id"]
    above, line, meta, _ = text_and_meta(
        server, "run_code", {"argv": ["sh", "-c", "printf out; echo err >&2; echo '{\"exit_code\":0}'; exit 3"]})
    assert above == 'out{"exit_code":0}\nstderr:\nerr' and line["exit_code"] == 3
    # A file, and whether its last line has an end.
    for content, ends in (("one\ntwo\n", False), ("one\ntwo", True)):
        world.write(world.project / "f", content)
        above, line, meta, _ = text_and_meta(server, "read_local_file", {"path": "f"})
        assert above == "one\ntwo" and line.get("ends_without_newline", False) is ends and line["sha256"]
    for tool, arguments, begin in (("list_files", {"glob": "f"}, "file 7 f\n"),
                                   ("search_files", {"pattern": "two"}, "f:2:two\n"),
                                   ("edit_local_file", {"path": "f", "edits": [{"old": "two", "new": "2"}]}, "@@ -1,2 ")):
        assert text_and_meta(server, tool, arguments)[3].startswith(begin), tool


def test_control_characters_of_a_payload_stay_escaped(serve_full, world):
    """A client may print what it shows a model to the person's terminal."""
    server = serve_full()
    world.write(world.project / "f", "red \x1b[31m\r\n")
    above, line, _, text = text_and_meta(server, "read_local_file", {"path": "f"})
    assert above == "" and line["content"] == "red \x1b[31m\r\n" and "\x1b" not in text
    above, _, _, text = text_and_meta(server, "run_code", {"argv": ["printf", "a\\033[31mb\n"]})
    assert "\x1b" not in text and above.startswith("a")


def test_what_was_refused_is_explained_by_the_id_of_the_last_line(serve_full, world):
    server = serve_full()
    above, line, _, _ = text_and_meta(server, "read_local_file", {"path": str(world.outside / "secret")})
    assert above == "" and line["success"] is False and "outside the operator's allowed paths" in line["message"]
    assert server.good("explain_denial", {"id": line["audit_id"]})["what_helps"]


@pytest.mark.parametrize("profile", ["basic", "full"])
def test_arguments_that_are_too_long_are_said_to_be_so(serve, serve_full, world, profile):
    """It is not the program that is missing."""
    server = serve_full() if profile == "full" else serve(ceiling=ceiling_of(world))
    long = ["x" * 130_000] * 30
    refused = server.bad("run_code", {"argv": ["echo", *long]})
    assert "longer together than the kernel takes" in refused["message"], refused
    assert server.good("run_code", {"argv": ["echo", long[0]]})["exit_code"] == 0  # the control
    # What it says works.
    (world.project / "data").write_text("\n".join(long))
    world.own(world.project / "data")
    assert server.good("run_code", {"argv": ["wc", "-c", str(world.project / "data")]})["stdout"].startswith("3900029")


def test_the_profile_basic_is_what_it_was(serve):
    server = serve(env={**ON, "CORDON_ENABLE_UNSAFE_WRITE": "1"}, era="legacy")
    server.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    line = server.lines.get(timeout=40)
    assert hashlib.sha256(line).hexdigest() == BASIC_LIST
    assert "the profile basic does not have it" in server.bad("start_process", {"argv": ["true"]})["message"]


def test_nothing_is_there_unless_it_is_switched_on(serve_full):
    server = serve_full(env={"CORDON_ENABLE_RUN_CODE": "true"})
    assert server.call("tools/list")["result"]["tools"] == []
    off = server.bad("get_limits", {})
    assert off["message"] == "get_limits is switched off: CORDON_ENABLE_RUN_CODE is not 1", off


def test_a_tool_that_is_switched_off_says_by_what(serve, serve_full, world):
    """Whatever leaves it out; the call is recorded, and nothing is done."""
    both = {**ON, "CORDON_ENABLE_UNSAFE_WRITE": "1"}
    every = {tool["name"] for tool in serve_full(env=both, ceiling=ceiling_of(world, '[ask]\nread = ["/usr"]\n'))
             .call("tools/list")["result"]["tools"]}
    assert {"request_access", "unsafe_write_local_file", "start_process"} < every
    basic = serve(env={})
    for name in every:
        off = basic.bad(name, {})
        assert off["error"] == "Tool switched off" and off["message"].startswith(f"{name} is switched off: "), off
        assert off["type"] == "ToolSwitchedOff" and "the operator " in off["help"], off
    message = basic.bad("list_files", {})["message"]
    assert "the profile basic does not have it" in message and "CORDON_ENABLE_RUN_CODE is not 1" in message
    assert "--profile full" in basic.bad("list_files", {})["help"]
    full = serve_full()
    assert full.bad("request_access", {})["message"].endswith(
        "no ceiling says below [ask] what may be asked for")
    assert "CORDON_ENABLE_UNSAFE_WRITE=1" in full.bad(
        "unsafe_write_local_file", {"path": str(world.outside / "made"), "content": "x"})["help"]
    assert not (world.outside / "made").exists()
    last = audit_lines(world)[-1]
    assert (last["action"], last["outcome"], last["reason"]) == ("unsafe_write_local_file", "failure", "refused"), last


# workspace_diff.

def changes(page):
    return page["changes"].splitlines()


def test_what_changed_since_the_start_and_since_a_snapshot(full):
    world = full.world
    first = full.good("workspace_diff", {})
    assert changes(first) == [] and "first look" in first["note"]
    world.write(world.project / "kept", "same")
    world.write(world.project / "gone", "x")
    full.good("write_local_file", {"path": "new", "content": "x"})
    first = full.good("workspace_diff", {})
    # The first look was the first answer above: what came later counts, whoever did it.
    assert set(changes(first)) == {"created gone", "created kept", "created new"}
    full.good("run_code", {"argv": ["sh", "-c", "echo y >> file.txt; rm gone; mkdir d; echo > d/e"]})
    page = full.good("workspace_diff", {"since": first["snapshot"]})
    assert changes(page) == ["created d/e", "changed file.txt", "deleted gone"]
    assert changes(full.good("workspace_diff", {"since": page["snapshot"]})) == []
    assert "since" in full.bad("workspace_diff", {"since": "s-0000000000000000"})["message"]


def test_the_start_is_before_the_first_change(full):
    full.good("run_code", {"argv": ["sh", "-c", "echo y >> file.txt"]})
    assert changes(full.good("workspace_diff", {})) == ["changed file.txt"]
    # A change that keeps size and time is one.
    full.good("run_code", {"argv": ["sh", "-c", "touch -r probe m; echo a > n; touch -r probe n"]})
    snapshot = full.good("workspace_diff", {})["snapshot"]
    full.good("run_code", {"argv": ["sh", "-c", "echo b > n; touch -r probe n"]})
    assert changes(full.good("workspace_diff", {"since": snapshot})) == ["changed n"]


def test_a_long_difference_is_paged(full):
    full.good("run_code", {"argv": ["sh", "-c", "for i in $(seq 1000 1999); do : > a-name-$i; done"]})
    seen, arguments = [], {}
    while True:
        page = full.good("workspace_diff", arguments)
        seen += changes(page)
        if not page["more"]:
            break
        arguments = {"cursor": page["next_cursor"]}
    assert seen == [f"created a-name-{i}" for i in range(1000, 2000)]
    assert "cursor" in full.bad("workspace_diff", {"cursor": "5-0-00"})["message"]


def test_a_part_of_the_workspace(full):
    world = full.world
    full.good("run_code", {"argv": ["sh", "-c", "mkdir a ab; echo > a/x; echo > ab/x; rm file.txt"]})
    assert changes(full.good("workspace_diff", {"path": "a"})) == ["created a/x"]
    assert changes(full.good("workspace_diff", {"path": f"{world.project}/ab/"})) == ["created ab/x"]
    assert changes(full.good("workspace_diff", {"path": "file.txt"})) == ["deleted file.txt"]
    assert len(changes(full.good("workspace_diff", {"path": "."}))) == 3
    for outside in ("..", "a/../../x", str(world.outside), f"{world.project}x"):
        assert "workspace" in full.bad("workspace_diff", {"path": outside})["message"]


def test_a_patch_can_be_applied(full, tmp_path):
    world = full.world
    world.write(world.project / "code", "".join(f"line {i}\n" for i in range(100)))
    world.write(world.project / "gone", "one\ntwo\n")
    world.write(world.project / "no-end", "a\nb")
    world.write(world.project / "binary", b"\0\1\2")
    before = tmp_path / "before"
    shutil.copytree(world.project, before)
    full.good("run_code", {"argv": [
        "sh", "-c", "sed -i 's/^line 5$/LINE/; s/^line 50$/&\\nmore/' code; rm gone; mkdir d; "
        "echo new > d/new; printf c >> no-end; echo >> binary"]})
    page = full.good("workspace_diff", {"format": "patch"})
    assert "changed binary (no patch" in page["patch"] and not page["more"]
    assert "-line 5\n+LINE\n" in page["patch"]
    subprocess.run(["patch", "-p1", "-s", "-f"], input=page["patch"], text=True, cwd=before,
                   check=True)
    for name in ("code", "d/new", "no-end"):
        assert (before / name).read_text() == (world.project / name).read_text()
    assert not (before / "gone").exists()
    alone = full.good("workspace_diff", {"format": "patch", "path": "no-end"})["patch"]
    assert alone.startswith("--- a/no-end\n+++ b/no-end\n") and alone.count("---") == 1


def test_a_long_patch_is_paged(full):
    full.good("run_code", {"argv": ["sh", "-c", "seq 1 9000 > many; seq 1 100 > few"]})
    seen, arguments = "", {"format": "patch"}
    while True:
        page = full.good("workspace_diff", arguments)
        seen += page["patch"]
        if not page["more"]:
            break
        arguments = {"format": "patch", "cursor": page["next_cursor"]}
    added = [line[1:] for line in seen.splitlines() if line.startswith("+") and line[1:].isdigit()]
    assert added == [str(i) for i in range(1, 101)] + [str(i) for i in range(1, 9001)]
    assert "cursor" in full.bad("workspace_diff", {"cursor": arguments["cursor"]})["message"]


def test_a_patch_shows_neither_secrets_nor_escapes(serve_full, world):
    server = serve_full(env={**ON, "API_TOKEN": "hunter2-hunter2-hunter2"})
    server.good("write_local_file", {"path": "s", "content": "x=hunter2-hunter2-hunter2\n\x1b[2J\n"})
    page = server.good("workspace_diff", {"format": "patch"})
    assert "hunter2" not in page["patch"] and "\x1b" not in page["patch"]
    assert "[secret]" in page["patch"]


def test_since_a_run_is_since_the_last_look_before_it(full):
    full.good("run_code", {"argv": ["touch", "early"]})
    full.good("workspace_diff", {})
    ran = full.good("run_code", {"argv": ["touch", "late"]})
    page = full.good("workspace_diff", {"since": ran["run_id"]})
    assert changes(page) == ["created late"] and "before that run" in page["note"]
    later = full.good("run_code", {"argv": ["touch", "latest"]})
    assert changes(full.good("workspace_diff", {"since": later["run_id"]})) == ["created latest"]
    assert "created early" in changes(full.good("workspace_diff", {}))
    assert "since" in full.bad("workspace_diff", {"since": "p-0000000000000000"})["message"]


def test_a_workspace_that_may_not_be_seen_has_no_difference(serve_full):
    server = serve_full(ceiling="version = 1\n")
    server.bad("run_code", {"argv": ["true"]})
    assert server.bad("workspace_diff", {})["type"] == "SandboxDeniedError"


# explain_denial.

def test_denials_are_explained_without_a_menu(full):
    world = full.world
    refused = full.bad("read_local_file", {"path": str(world.outside / "secret")})
    told = full.good("explain_denial", {"id": refused["audit_id"]})
    assert "ceiling" in told["stopped_by"] and told["tool"] == "read_local_file"
    assert told["asking_again_helps"] is False
    narrowed = full.good("run_code", {"argv": ["echo", "said by a program"],
                                      "readonly_paths": [str(world.outside)]})
    told = full.good("explain_denial", {"id": narrowed["run_id"]})
    assert "clamp" in told["stopped_by"] and told["told"]["not_granted"]
    assert "said by a program" not in json.dumps(told)
    assert str(world.project) not in json.dumps(told)
    timed, _ = full.result("run_code", {"argv": ["sleep", "60"], "wait_ms": 100})
    assert "wall clock" in full.good("explain_denial", {"id": timed["run_id"]})["stopped_by"]
    fine = full.good("run_code", {"argv": ["false"]} | {"argv": ["true"]})
    assert "nothing" in full.good("explain_denial", {"id": fine["run_id"]})["stopped_by"]
    unknown = full.bad("explain_denial", {"id": "p-0000000000000000"})
    assert "audit_id" in unknown["help"]


@pytest.mark.parametrize("member", ["command", "cmd", "argv"])
def test_a_line_for_a_shell_is_answered_with_the_words_to_send(full, member):
    line = """echo "a  b" 'c' | tr a-z A-Z"""
    refused = full.bad("run_code", {member: line})
    instead = json.loads(refused["message"].split("write ", 1)[1])
    assert full.good("run_code", instead)["stdout"] == "A  B C\n"


def test_a_program_that_is_not_inside_is_named(full):
    """Nothing is said of what is outside: a model is not to call it uninstalled."""
    told = full.bad("run_code", {"argv": ["no-such-program", "x"]})
    assert told["message"].startswith("no-such-program is not among the programs inside")
    assert "says nothing about whether it is installed" in told["message"] and "tell the user" in told["help"]
    told = full.bad("run_code", {"argv": ["./no-such-file"]})
    assert told["message"] == "./no-such-file is not there inside the sandbox"
    told = full.bad("run_code", {"argv": ["echo hi | tr h j"]})
    instead = json.loads(re.search(r"Call again with (.*)\.$", told["help"])[1])
    assert full.good("run_code", instead)["stdout"] == "ji\n"


def test_the_list_of_processes_tells_what_was_asked_for(full):
    long = ["sleep", "60", "x" * 1000, *["w"] * 40]
    id = full.good("start_process", {"argv": ["sh", "-c", "exec sleep 60", *long]})["process_id"]
    entry = full.good("list_processes", {})["processes"][0]
    assert entry["process_id"] == id and entry["argv"][:3] == ["sh", "-c", "exec sleep 60"]
    assert len(entry["argv"]) == 17 and max(map(len, entry["argv"])) <= 203
    full.good("stop_process", {"process_id": id})


def test_a_command_that_fails_at_the_boundary_is_told_so(full):
    world = full.world
    (world.outside / "planted.txt").write_text("there\n")
    answers = []
    for name in ("planted.txt", "missing.txt"):
        path = str(world.outside / name)
        ran, _ = full.result("run_code", {"argv": ["cat", path]})
        assert ran["success"] is False and "No such file" in ran["stderr"]
        assert [(hint["access"], hint["path"]) for hint in ran["hints"]] == [("read", path)]
        assert "outside what is granted" in ran["hints"][0]["reason"] and "operator" in ran["help"]
        told = full.good("explain_denial", {"id": ran["run_id"]})
        assert "outside what is granted" in told["stopped_by"] and told["told"]["hints"] == 1
        assert path not in json.dumps(told)
        answers.append(json.dumps([ran["hints"], ran["help"], told["stopped_by"]]).replace(name, "NAME"))
    assert answers[0] == answers[1], "a model could tell what exists outside"
    host, _ = full.result("run_code", {"argv": ["sh", "-c", ": https://pkg.example/x; exit 6"]})
    assert [(hint["access"], hint["path"]) for hint in host["hints"]] == [("connect", "pkg.example:443")]
    assert "[net] mode and allow" in host["help"], "a host is not allowed by [fs]"
    fails, _ = full.result("run_code", {"argv": ["cat", str(world.project / "absent")]})
    assert "hints" not in fails and "help" not in fails


def test_what_the_operator_is_told_to_change_for_a_host_grants_it(serve_full, world):
    net = '[net]\nmode = "allow"\nallow = ["pkg.example:443"]\n'
    server = serve_full(ceiling=ceiling_of(world, net))
    ran, _ = server.result("run_code", {"argv": ["sh", "-c", ": https://pkg.example/x; exit 6"]})
    assert ran["exit_code"] == 6 and "hints" not in ran and ran["enforcement"]["network"] == "allow"


def test_a_limit_that_was_met_is_explained(serve_full, world):
    server = serve_full(ceiling=ceiling_of(world, '[limits]\npids = 12\n'))
    script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep 3 & done; wait"
    ran, _ = server.result("run_code", {"argv": ["sh", "-c", script]})
    told = server.good("explain_denial", {"id": ran["run_id"]})
    assert "denials" in told["stopped_by"] and told["told"]["denials"][0]["what"] == "pids"


# get_limits.

def test_limits_are_told_and_paths_are_not(serve_full, world):
    more = world.make_directory(world.home / "other")
    server = serve_full(ceiling=f'version = 1\n[fs]\nwrite = ["{world.project}"]\n'
                                f'read = ["{more}"]\n[limits]\nwall = "7s"\nmemory = "300M"\n'
                                '[env]\npass = ["CI"]\n')
    told = server.good("get_limits", {})
    assert told["workspace"] == {"path": str(world.project), "readable": True, "writable": True}
    assert told["network"] == "none" and told["limits"]["wall_ms"] == 7000
    assert told["limits"]["memory_bytes"] == 300 << 20 and told["process_wall_ms"] == 7000
    assert told["tools"] == FULL_TOOLS and told["may_set_some_variables"] is True
    assert str(more) not in json.dumps(told) and '"CI"' not in json.dumps(told)
    world.document('version = 1\n[net]\nmode = "open"\n', "ceiling.toml")
    told = server.good("get_limits", {})
    assert told["workspace"]["readable"] is False and told["network"] == "open"
    world.document("nonsense", "ceiling.toml")
    assert server.bad("get_limits", {})["error"] == "Policy error"


def test_teaching_is_recorded(full):
    full.good("get_limits", {})
    full.bad("explain_denial", {"id": "x"})
    lines = [line for line in audit_lines(full.world)
             if line["action"] in ("get_limits", "explain_denial")]
    assert [line["phase"] for line in lines] == ["pending", "closing"] * 2
