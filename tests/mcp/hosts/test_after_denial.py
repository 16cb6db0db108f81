"""What a host shows its model of a denial is enough to do the right thing next: the model here takes its next call from
the answer alone, through the hosts themselves."""

import json

import pytest

import hosts

pytestmark = [pytest.mark.npm, pytest.mark.only("user")]


def script(world, prefix, **more):
    def call(name, **rest):
        return {"name": prefix + name, **more, **rest}
    return [
        # Not the form that is asked for: the answer has it.
        call("run_code", arguments={"command": "cat file.txt | tr a-z A-Z"}),
        call("run_code", read={"member": "message", "pattern": r"write (\{.*\})"}),
        # Outside of what is granted: the answer has the name by which it is explained.
        call("run_code", arguments={"argv": ["cat", str(world.outside / "secret")]}),
        call("explain_denial", read={"member": "run_id", "as": "id"}),
        # A file tool, which is refused before it begins.
        call("write_local_file", arguments={"path": str(world.outside / "made"), "content": "x"}),
        call("explain_denial", read={"member": "audit_id", "as": "id"}),
        # A host, which no argument names: the program asked for it by itself.
        call("run_code", arguments={"argv": ["python3", "-c", "import socket\nn = 'h.' + 'example'\nsocket.getaddrinfo(n, 443)"]}),
        call("explain_denial", read={"member": "run_id", "as": "id"}),
    ]


def set_up(world, host):
    ceiling = world.document(f'version = 1\n[fs]\nread = ["@system"]\nwrite = ["{world.project}"]\n', "ceiling.toml")
    printed = world.cordon_verb("mcp", "--print-config", host, "--json", "--profile", "full", "--workspace",
                                world.project, "--ceiling", ceiling).expect(0).json
    for file in printed["files"]:
        world.write(world.project / file["path"].replace("~", str(world.home)), file["content"], 0o600)
    return printed["launch"][1:]


def judge_form(told):
    first, argv = told
    assert "argv is required" in first
    assert "PROJECT FILE" in argv, argv


def judge(world, told):
    hidden, why_hidden, refused, why_refused, unknown, why_unknown = told
    assert "SECRET" not in "".join(told)
    assert "outside what is granted" in hidden and "No such file" in hidden
    for answer in (why_hidden, why_refused):
        assert "outside" in answer and "adding it to [fs] read or write of the ceiling" in answer, answer
    assert "that is policy and not absence (not among the hosts that are granted)" in unknown, unknown
    assert "[net] mode and allow of the ceiling" in why_unknown and "processes" not in why_unknown, why_unknown
    assert "outside the operator's allowed paths" in refused and not (world.outside / "made").exists()


def test_claude_code(world):
    session = hosts.claude(world, set_up(world, "claude"), script(world, "mcp__cordon__"))
    told = hosts.told_by_messages(session)
    judge_form(told[:2])
    judge(world, told[2:])


def test_codex(world):
    set_up(world, "codex")
    session = hosts.codex(world, "a-model-nobody-knows", script(world, "", namespace="mcp__cordon"))
    told = hosts.told_by_responses(session)
    judge_form(told[:2])
    judge(world, told[2:])


def test_copilot(world):
    session = hosts.copilot(world, set_up(world, "copilot"), script(world, "cordon-"))
    told = hosts.told_by_messages(session)
    judge_form(told[:2])
    judge(world, told[2:])


def test_gemini(world):
    """It looks at the form of a call by itself, so that the server is not asked."""
    session = hosts.gemini(world, set_up(world, "gemini"), script(world, "mcp_cordon_")[2:])
    judge(world, hosts.told_by_contents(session))


def test_a_model_that_is_told_nothing_has_no_next_call(world):
    """The control: without the words of the answer the model stops."""
    wishes = script(world, "mcp__cordon__")
    wishes[1]["read"]["pattern"] = "no such words (.*)"
    session = hosts.claude(world, set_up(world, "claude"), wishes)
    [told] = hosts.told_by_messages(session)
    assert json.loads(told)["success"] is False
