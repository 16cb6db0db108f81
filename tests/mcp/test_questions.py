"""Asking the person at the client: everything but a clear yes is a no."""

import pytest

from peer import tool_text

pytestmark = pytest.mark.once

FORM = {"elicitation": {}}
ALLOW = {"action": "accept", "content": {"decision": "allow once"}}


def ask(peer, response, error=None):
    """Calls the tool that asks, gives it this answer, and returns its verdict."""
    if peer.era == "modern":
        first = peer.tool("approve", {"what": "x"})["result"]
        assert first["resultType"] == "input_required", first
        assert first["inputRequests"]["approve"]["method"] == "elicitation/create"
        answer = peer.call("tools/call", {
            "name": "approve", "arguments": {"what": "x"}, "requestState": first["requestState"],
            "inputResponses": {} if error else {"approve": response}})
        return tool_text(answer)
    id = peer.start_tool("approve", {"what": "x"})
    question = peer.wait_for(lambda m: m.get("method") == "elicitation/create")
    assert isinstance(question["id"], str)
    reply = {"jsonrpc": "2.0", "id": question["id"]}
    peer.send({**reply, "error": error} if error else {**reply, "result": response})
    return tool_text(peer.answer(id))


def test_an_acceptance_is_the_only_yes(start):
    peer = start(capabilities=FORM)
    assert ask(peer, ALLOW) == "granted"
    assert peer.marks() == ["granted"]


@pytest.mark.parametrize("response", [
    {"action": "decline"}, {"action": "cancel"}, {"action": "accept"}, {"action": "ACCEPT", **{
        "content": {"decision": "allow once"}}}, {"action": "accept", "content": []},
    {"action": "accept", "content": {"decision": "deny"}}, {"action": "accept", "content": {}},
    {"content": {"decision": "allow once"}}, {}, {"action": True},
])
def test_everything_else_is_a_no(start, response):
    peer = start(capabilities=FORM)
    assert ask(peer, response) == "denied"
    assert peer.marks() == ["denied"]


@pytest.mark.parametrize("response", [12345, "accept", [ALLOW], None, True])
def test_malformed_answers_are_a_no(start, response):
    peer = start(capabilities=FORM)
    assert ask(peer, response) == "denied"


def test_an_error_is_a_no(start, era):
    peer = start(capabilities=FORM)
    if era == "modern":
        # No answer among the responses: the handler asks again, and nothing was granted.
        first = peer.tool("approve", {"what": "x"})["result"]
        again = peer.call("tools/call", {"name": "approve", "arguments": {"what": "x"},
                                         "requestState": first["requestState"],
                                         "inputResponses": {"other": ALLOW}})["result"]
        assert again["resultType"] == "input_required"
        assert peer.marks() == []
    else:
        assert ask(peer, None, {"code": -1, "message": "no"}) == "denied"


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}, {"elicitation": True},
                                          {"sampling": {}}])
def test_a_client_that_cannot_be_asked(start, capabilities):
    peer = start(capabilities=capabilities)
    assert tool_text(peer.tool("approve", {"what": "x"})) == "denied"
    assert [m for m in peer.kept if "method" in m] == []


@pytest.mark.parametrize("era", ["legacy"], indirect=True)
def test_no_answer_in_time_is_a_no(start, era):
    peer = start("--answer-ms", "200", capabilities=FORM)
    id = peer.start_tool("approve", {"what": "x"})
    question = peer.wait_for(lambda m: m.get("method") == "elicitation/create")
    assert tool_text(peer.answer(id)) == "denied"
    withdrawn = peer.wait_for(lambda m: m.get("method") == "notifications/cancelled")
    assert withdrawn["params"]["requestId"] == question["id"]
    peer.send({"jsonrpc": "2.0", "id": question["id"], "result": ALLOW})   # too late
    peer.sync()
    assert peer.marks() == ["denied"]


@pytest.mark.parametrize("era", ["legacy"], indirect=True)
def test_cancelling_while_the_question_is_open(start, era):
    peer = start(capabilities=FORM)
    id = peer.start_tool("approve", {"what": "x"})
    question = peer.wait_for(lambda m: m.get("method") == "elicitation/create")
    peer.cancel(id)
    peer.wait_for(lambda m: m.get("method") == "notifications/cancelled"
                  and m["params"]["requestId"] == question["id"])
    peer.send({"jsonrpc": "2.0", "id": question["id"], "result": ALLOW})
    peer.tool("echo", {"text": "x"})
    assert [m for m in peer.sync() if m.get("id") == id] == []
    assert "granted" not in peer.marks()


@pytest.mark.parametrize("era", ["modern"], indirect=True)
def test_40_states_that_are_not_ours(start, era):
    peer = start(capabilities=FORM)

    def retry(state, what="x", tool="approve", key="approve"):
        return peer.call("tools/call", {"name": tool, "arguments": {"what": what},
                                        "requestState": state, "inputResponses": {key: ALLOW}})

    def fresh():
        return peer.tool("approve", {"what": "x"})["result"]["requestState"]

    state = fresh()
    flipped = ("0" if state[0] != "0" else "1") + state[1:]
    for bad in (flipped, state + "-TAMPERED", state[:-1], "", "x", 7, None, {}):
        assert retry(bad)["error"]["code"] == -32602
    assert tool_text(retry(state)) == "granted"                # the control
    assert retry(state)["error"]["code"] == -32602             # replay
    assert retry(fresh(), what="y")["error"]["code"] == -32602  # other arguments
    used = fresh()
    assert retry(used, what="y")["error"]["code"] == -32602
    assert retry(used)["error"]["code"] == -32602              # and it is gone
    other = peer.tool("test_input_required_result_elicitation", {})["result"]["requestState"]
    assert retry(other)["error"]["code"] == -32602             # of another tool
    # Answers without a state are answers to nothing.
    alone = peer.call("tools/call", {"name": "approve", "arguments": {"what": "x"},
                                     "inputResponses": {"approve": ALLOW}})
    assert alone["result"]["resultType"] == "input_required"
    assert peer.marks() == ["granted"]
    # One process's state means nothing to another.
    assert start(capabilities=FORM).call("tools/call", {
        "name": "approve", "arguments": {"what": "x"}, "requestState": fresh(),
        "inputResponses": {"approve": ALLOW}})["error"]["code"] == -32602


@pytest.mark.parametrize("era", ["modern"], indirect=True)
def test_many_open_questions_do_not_pile_up(start, era):
    peer = start(capabilities=FORM)
    states = [peer.tool("approve", {"what": "x"})["result"]["requestState"] for _ in range(300)]

    def retry(state):
        return peer.call("tools/call", {"name": "approve", "arguments": {"what": "x"},
                                        "requestState": state,
                                        "inputResponses": {"approve": ALLOW}})
    assert "error" in retry(states[0])
    assert tool_text(retry(states[-1])) == "granted"


def test_two_rounds_keep_the_first_answer(start):
    peer = start(capabilities=FORM)
    name, color = {"name": "Ada"}, {"color": "blue"}
    tool = "test_input_required_result_multi_round"
    if peer.era == "modern":
        one = peer.tool(tool, {})["result"]
        two = peer.call("tools/call", {
            "name": tool, "arguments": {}, "requestState": one["requestState"],
            "inputResponses": {"step1": {"action": "accept", "content": name}}})["result"]
        assert two["requestState"] != one["requestState"] and "step2" in two["inputRequests"]
        done = peer.call("tools/call", {
            "name": tool, "arguments": {}, "requestState": two["requestState"],
            "inputResponses": {"step2": {"action": "accept", "content": color}}})
    else:
        id = peer.start_tool(tool, {})
        for content in (name, color):
            question = peer.wait_for(lambda m: m.get("method") == "elicitation/create")
            peer.send({"jsonrpc": "2.0", "id": question["id"],
                       "result": {"action": "accept", "content": content}})
        done = peer.answer(id)
    assert tool_text(done) == '{"name":"Ada"} likes {"color":"blue"}'
