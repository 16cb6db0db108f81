"""Cases 29 to 36 and 40: calls, their arguments, their cancellation, and questions."""

import json
import time

import pytest

from peer import CAPABILITIES_KEY, VERSION_KEY, tool_text
from support import harness

pytestmark = pytest.mark.once

INVALID, METHOD, PARAMS = -32600, -32601, -32602


def test_29_arguments_absent_or_wrong(peer):
    assert "result" in peer.call("tools/call", {"name": "wait", "arguments": {"ms": 1}})
    assert tool_text(peer.call("tools/call", {"name": "test_simple_text"})).startswith("This is")
    for wrong in ([], "x", 1, None):
        answer = peer.call("tools/call", {"name": "echo", "arguments": wrong})
        assert answer["error"]["code"] == PARAMS
    for name in (None, 1, {}, []):
        assert peer.call("tools/call", {"name": name})["error"]["code"] == PARAMS
    assert peer.call("tools/call", {})["error"]["code"] == PARAMS
    assert peer.marks() == ["begin ", "end "]


def test_30_unknown_tool(peer):
    answer = peer.tool("no_such_tool", {})
    assert answer["error"]["code"] == PARAMS
    assert "no_such_tool" not in json.dumps(answer)
    assert peer.tool("run_code", {"argv": ["true"]})["error"] == answer["error"]


@pytest.mark.parametrize("arguments,field", [
    ({}, "text is required"),
    ({"text": 1}, "text must be a string"),
    ({"text": None}, "text must be a string"),
    ({"text": ""}, "text must be at least 1"),
    ({"text": "x" * 100_001}, "text must be at most 100000"),
    ({"text": "x", "more": 1}, "more is not a parameter"),
    ({"text": "x", "__proto__": {}}, "__proto__ is not a parameter"),
    ({"text": "x", "count": 0}, "count must be at least 1"),
    ({"text": "x", "count": 10}, "count must be at most 9"),
    ({"text": "x", "count": 1.5}, "count must be an integer"),
    ({"text": "x", "count": "1"}, "count must be an integer"),
    ({"text": "x", "count": True}, "count must be an integer"),
    ({"text": "x", "on": 1}, "on must be a boolean"),
    ({"text": "x", "ratio": "1"}, "ratio must be a number"),
    ({"text": "x", "mode": "middling"}, "mode must be one of"),
    ({"text": "x", "argv": "ls"}, "argv must be an array"),
    ({"text": "x", "argv": []}, "argv must be at least 1"),
    ({"text": "x", "argv": ["a"] * 5}, "argv must be at most 4"),
    ({"text": "x", "argv": ["a", 1]}, "argv[1] must be a string"),
    ({"text": "x", "argv": ["a", ""]}, "argv[1] must be at least 1"),
    ({"text": "x", "edits": [{"old": "a"}, {}]}, "edits[1].old is required"),
    ({"text": "x", "edits": [{"old": "a", "x\u001b[31m": 1}]}, "edits[0].x\\x1b[31m is not"),
])
def test_31_bad_arguments_run_nothing(peer, arguments, field):
    result = peer.tool("echo", arguments)["result"]
    assert result["isError"] is True
    assert field in result["content"][0]["text"]
    assert peer.marks() == []


def test_31_good_arguments_of_every_kind(peer):
    given = {"text": "é😀", "count": 9, "ratio": 0.5, "on": False, "mode": "slow",
             "argv": ["a", "b", "c", "d"], "edits": [{"old": ""}]}
    assert json.loads(tool_text(peer.tool("echo", given))) == given
    whole = peer.tool("echo", {"text": "x", "count": 3.0})
    assert tool_text(whole) == '{"text":"x","count":3}'


def test_32_before_and_after_the_handshake(start, era):
    {"modern": without_handshake, "legacy": with_handshake}[era](start(handshake=False))


def without_handshake(peer):
    assert "result" in peer.tool("echo", {"text": "no handshake needed"})
    for removed in ("initialize", "ping", "logging/setLevel", "resources/subscribe"):
        assert peer.call(removed)["error"]["code"] == METHOD


def with_handshake(peer):
    assert "result" in peer.call("tools/list")
    assert peer.call("ping")["result"] == {}
    assert peer.tool("echo", {"text": "x"})["error"]["code"] == INVALID
    hello = {"protocolVersion": "2024-11-05", "capabilities": {}}
    assert peer.call("initialize", {"capabilities": {}})["error"]["code"] == PARAMS
    assert peer.call("initialize", hello)["result"]["protocolVersion"] == "2024-11-05"
    peer.start_tool("wait", {"ms": 30_000, "tag": "a"}, id=1)
    peer.wait_mark("begin a")
    assert peer.call("initialize", hello)["error"]["code"] == INVALID
    peer.cancel(1)
    peer.wait_mark("cancelled a")
    assert harness.wait_until(
        lambda: "result" in peer.call("initialize", {**hello, "protocolVersion": "1999-01-01"}))
    assert peer.call("initialize", {**hello, "protocolVersion": "2025-03-26"})["result"][
        "protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("era", ["modern"], indirect=True)
def test_33_modern_meta(start, era):
    peer = start(handshake=False)
    def ask(meta, method="tools/list"):
        peer.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}})
        return peer.answer(1)
    assert ask({VERSION_KEY: "2026-07-28"})["error"]["code"] == PARAMS
    assert ask({VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: []})["error"]["code"] == PARAMS
    assert ask({VERSION_KEY: 5, CAPABILITIES_KEY: {}})["error"]["code"] == PARAMS
    assert ask([])["error"]["code"] == PARAMS
    assert ask({}, "server/discover")["error"]["code"] == PARAMS
    other = ask({VERSION_KEY: "2099-01-01", CAPABILITIES_KEY: {}})["error"]
    assert other["code"] == -32022
    assert other["data"] == {"supported": ["2026-07-28"], "requested": "2099-01-01"}
    assert "result" in ask({VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}})


def test_34_stray_responses(peer):
    for id in (1, "cordon-1", "cordon-99"):
        peer.send({"jsonrpc": "2.0", "id": id, "result": {"action": "accept"}})
        peer.send({"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": "m"}})
    assert peer.sync() == []


def test_35_cancels_that_mean_nothing(peer):
    peer.tool("echo", {"text": "x"}, id=77)
    for id in (77, 12345, "nobody", None, 1.5, [], {}):
        peer.cancel(id)
    peer.send({"jsonrpc": "2.0", "method": "notifications/cancelled"})
    peer.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": []})
    assert peer.sync() == []
    assert "result" in peer.tool("echo", {"text": "x"})


def test_36_cancelled_calls_stop_and_stay_silent(peer):
    id = peer.start_tool("wait", {"ms": 30_000, "tag": "a"})
    peer.wait_mark("begin a")
    peer.cancel(id)
    peer.wait_mark("cancelled a")
    assert [m for m in peer.sync() if m.get("id") == id] == []
    # Control: the same call that nobody cancels is answered.
    assert tool_text(peer.tool("wait", {"ms": 1, "tag": "b"})) == "waited b"


def test_36_cancel_racing_completion(peer):
    """Exactly one of answer and silence, whichever comes first; never two answers."""
    for n in range(200):
        peer.start_tool("wait", {"ms": n % 3, "tag": "r"}, id=5000 + n)
        if n % 4 < 2:
            time.sleep(0.0005 * (n % 5))
        peer.cancel(5000 + n)
    assert harness.wait_until(lambda: "result" in peer.tool("echo", {"text": "x"}))
    answers = [m["id"] for m in peer.sync() if "id" in m and m["id"] < 6000]
    assert len(answers) == len(set(answers))


def test_36_a_call_that_waits_for_a_worker_is_cancelled_before_it_begins(start):
    peer = start("--workers", "1")
    first = peer.start_tool("wait", {"ms": 60_000, "tag": "first"})
    peer.wait_mark("begin first")
    second = peer.start_tool("wait", {"ms": 1, "tag": "second"})
    peer.cancel(second)
    peer.cancel(first)
    assert tool_text(peer.tool("wait", {"ms": 1, "tag": "third"})) == "waited third"
    assert "begin second" not in peer.marks()


def test_progress_grows_and_belongs_to_its_token(peer):
    answer = peer.call("tools/call", {"name": "test_tool_with_progress",
                                      "_meta": {"progressToken": "t1"}})
    assert "result" in answer
    said = [m["params"] for m in peer.kept if m.get("method") == "notifications/progress"]
    assert [p["progress"] for p in said] == [0, 50, 100]
    assert {p["progressToken"] for p in said} == {"t1"}
    peer.kept = []
    peer.call("tools/call", {"name": "test_tool_with_progress"})
    assert peer.sync() == []


def test_40_one_progress_token_for_two_calls(peer):
    ids = [peer.start("tools/call", {"name": "test_tool_with_progress",
                                     "_meta": {"progressToken": 1}}) for _ in range(2)]
    for id in ids:
        assert "result" in peer.answer(id)


def test_log_messages_only_on_request(start, era):
    peer = start()
    peer.tool("test_logging_tool", {})
    assert peer.sync() == []
    if era == "legacy":
        assert peer.call("logging/setLevel", {"level": "loud"})["error"]["code"] == PARAMS
        assert peer.call("logging/setLevel", {"level": "info"})["result"] == {}
        peer.tool("test_logging_tool", {})
    else:
        peer.call("tools/call", {"name": "test_logging_tool", "arguments": {},
                                 "_meta": {"io.modelcontextprotocol/logLevel": "debug"}})
    assert [m["method"] for m in peer.sync()] == ["notifications/message"] * 3


def test_lists_are_paged_by_cursors(start):
    peer = start("--page", "5")
    names, cursor = [], None
    while True:
        result = peer.call("tools/list", {"cursor": cursor} if cursor else {})["result"]
        assert len(result["tools"]) <= 5
        names += [tool["name"] for tool in result["tools"]]
        cursor = result.get("nextCursor")
        if not cursor:
            break
    assert len(names) == len(set(names)) and "echo" in names and len(names) > 20
    for bad in ("", "x", "tools@", "tools@0", "tools@999", "tools@-1", "prompts@5", "tools@5x", 5,
                None):
        assert peer.call("tools/list", {"cursor": bad})["error"]["code"] == PARAMS, bad


def test_resources(peer, era):
    text = peer.call("resources/read", {"uri": "test://static-text"})["result"]["contents"][0]
    assert text["text"].startswith("This is the content")
    templated = peer.call("resources/read", {"uri": "test://template/é%2f/data"})["result"]
    assert json.loads(templated["contents"][0]["text"])["id"] == "é%2f"
    code = PARAMS if era == "modern" else -32002
    for uri in ("test://nothing", "test://template/missing/data", "test://template//data",
                "test://template/a/b/data", "test://template/a/data/", ""):
        error = peer.call("resources/read", {"uri": uri})["error"]
        assert (error["code"], error["data"]["uri"]) == (code, uri)
    assert peer.call("resources/read", {"uri": 1})["error"]["code"] == PARAMS


def test_prompts_and_completion(peer):
    good = peer.call("prompts/get", {"name": "test_prompt_with_arguments",
                                     "arguments": {"arg1": "a", "arg2": "b"}})
    assert "arg1='a', arg2='b'" in json.dumps(good["result"]["messages"])
    for bad in ({"arg1": "a"}, {"arg1": "a", "arg2": 1}, {"arg1": "a", "arg2": "b", "c": "d"}):
        answer = peer.call("prompts/get", {"name": "test_prompt_with_arguments", "arguments": bad})
        assert answer["error"]["code"] == PARAMS
    assert peer.call("prompts/get", {"name": "nobody"})["error"]["code"] == PARAMS
    completion = peer.call("completion/complete", {
        "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
        "argument": {"name": "arg1", "value": "test"}})["result"]["completion"]
    assert completion == {"values": ["test-one", "test-two"], "total": 2, "hasMore": False}
    assert peer.call("completion/complete", {"ref": 1})["error"]["code"] == PARAMS


def test_subscriptions_belong_to_the_legacy_era(peer, era):
    {"modern": no_subscriptions, "legacy": subscriptions}[era](peer, "test://watched-resource")


def no_subscriptions(peer, uri):
    assert peer.call("resources/subscribe", {"uri": uri})["error"]["code"] == METHOD
    assert peer.call("subscriptions/listen", {"notifications": {}})["error"]["code"] == METHOD


def subscriptions(peer, uri):
    peer.tool("touch", {})
    assert peer.sync() == []
    assert peer.call("resources/subscribe", {"uri": "test://no"})["error"]["code"] == PARAMS
    assert peer.call("resources/subscribe", {"uri": uri})["result"] == {}
    peer.tool("touch", {})
    assert [m["params"] for m in peer.sync()] == [{"uri": uri}]
    assert peer.call("resources/unsubscribe", {"uri": uri})["result"] == {}
    peer.tool("touch", {})
    assert peer.sync() == []
