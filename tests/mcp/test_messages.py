"""Cases 1 to 28: what is and what is not a message. After each the server still works."""

import json
import os
import subprocess

import pytest

from peer import CAPABILITIES_KEY, VERSION_KEY, Peer, meta, sanitized, stage, tool_text

pytestmark = pytest.mark.once

PARSE, INVALID, METHOD, PARAMS = -32700, -32600, -32601, -32602


def still_works(peer):
    assert json.loads(tool_text(peer.tool("echo", {"text": "alive"}))) == {"text": "alive"}


@pytest.mark.parametrize("line", [
    b'{"jsonrpc":"2.0","id":1,"method":"tools/list"', b"nonsense", b"{,}", b'{"a":1}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/list"} {"jsonrpc":"2.0"}',   # 15
    b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}',                       # 5
    b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"\xc3"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"a\\ud800"}',                        # 6
    b'{"jsonrpc":"2.0","id":1,"method":"a\\udc00b"}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\x00',
    b"{'jsonrpc':'2.0'}", b'{"id":01}', b'{"id":NaN}', b'// comment',
], ids=range(14))
def test_01_05_06_15_not_json(peer, line):
    peer.send_bytes(line + b"\n")
    peer.idless_error(PARSE)
    still_works(peer)


@pytest.mark.parametrize("era", ["legacy"], indirect=True)
def test_01_older_peers_hear_no_error_without_id(start, era):
    peer = start(version="2025-06-18")
    peer.send_bytes(b"nonsense\n")
    assert peer.sync() == []
    still_works(peer)


def test_02_03_blank_lines_and_crlf(peer):
    peer.send_bytes(b"\n\r\n   \n\t\n")
    request = {"jsonrpc": "2.0", "id": "crlf", "method": "tools/list", "params": peer.params(None)}
    peer.send_bytes(json.dumps(request).encode() + b"\r\n")
    assert "result" in peer.answer("crlf")
    assert peer.sync() == []


def test_04_byte_order_mark(start, era):
    peer = start(handshake=False)
    bom = b"\xef\xbb\xbf"
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": peer.params(None)}
    line = json.dumps(request).encode() + b"\n"
    peer.send_bytes(bom + line)
    assert "result" in peer.answer(1)
    peer.send_bytes(bom + line)
    peer.idless_error(PARSE)


def test_07_nul_inside_a_string_is_data(peer):
    answer = peer.tool("echo", {"text": "a\x00b"})
    assert json.loads(tool_text(answer)) == {"text": "a\x00b"}


@pytest.mark.parametrize("line", [
    b'{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"wait"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",'
    b'"arguments":{"text":"a","te\\u0078t":"b"}}}',
])
def test_08_duplicate_keys(peer, line):
    peer.send_bytes(line + b"\n")
    peer.idless_error(INVALID)
    still_works(peer)
    assert peer.marks() == ["echo"]


@pytest.mark.parametrize("depth,taken", [(60, True), (65, False), (100_000, False)])
def test_09_nesting(peer, depth, taken):
    deep = b"[" * (depth - 3) + b"]" * (depth - 3)
    extra = json.dumps(peer.params(None)).encode()[:-1] + (b"," if peer.era == "modern" else b"")
    peer.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":' + extra +
                    b'"x":{"y":' + deep + b"}}}\n")
    if taken:
        assert "result" in peer.answer(1)
    else:
        peer.idless_error(INVALID)
        still_works(peer)


@pytest.mark.parametrize("front, behind, id", [
    (b'{"jsonrpc":"2.0","id":1,"method":"', b'"}', 1),
    # As other clients write it, with an id among the parameters too.
    (b'{"method":"tools/call","params":{"id":5,"text":"\\"id\\":6,', b'"},"jsonrpc":"2.0","id":"last"}', "last")])
def test_10_long_line(peer, front, behind, id):
    peer.send_bytes(front + b"a" * (9 << 20) + behind + b"\n")
    error = peer.answer(id)["error"]
    assert error["code"] == INVALID and "8388608 bytes" in error["message"]
    still_works(peer)


def test_10_long_line_without_an_id(peer):
    peer.send_bytes(b'{"jsonrpc":"2.0","method":"' + b"a" * (9 << 20) + b'"}\n')
    peer.idless_error(INVALID)
    still_works(peer)


def test_10_a_line_under_the_bound_is_taken(peer):
    text = "b" * 90_000
    assert json.loads(tool_text(peer.tool("echo", {"text": text}))) == {"text": text}


def test_10_many_values_in_a_short_line(peer):
    peer.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[' + b"1," * 300_000 +
                    b"1]}}\n")
    peer.idless_error(INVALID)
    still_works(peer)


def memory_of(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


def test_11_endless_line(peer):
    block = b"x" * (1 << 20)
    with pytest.raises(BrokenPipeError):
        for _ in range(200):
            peer.send_bytes(block)
    peer.process.stdin = None
    assert peer.process.wait(30) == 1
    assert b"without end" in peer.process.stderr.read()


def test_11_memory_while_a_line_has_no_end(peer):
    block = b"x" * (1 << 20)
    for _ in range(40):
        peer.send_bytes(block)
    assert memory_of(peer.process.pid) < (900 << 20 if sanitized() else 64 << 20)


def test_12_many_faults_in_a_row(peer):
    try:
        for _ in range(200):
            peer.send_bytes(b"nonsense\n")
    except BrokenPipeError:
        pass
    peer.process.stdin = None
    assert peer.process.wait(30) == 1


def test_12_faults_between_good_messages_are_forgiven(peer):
    for _ in range(3):
        for _ in range(60):
            peer.send_bytes(b"nonsense\n")
        still_works(peer)


@pytest.mark.parametrize("line", [
    b"[]", b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":2}]',   # 13
    b"null", b"1", b'"tools/list"', b"true",                                               # 14
    b"{}", b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","method":7}',
    b'{"jsonrpc":"2.0","method":"tools/list","result":{}}',
])
def test_13_14_not_a_message(peer, line):
    peer.send_bytes(line + b"\n")
    peer.idless_error(INVALID)
    assert peer.sync() == []


def test_16_byte_by_byte(peer):
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": peer.params(None)}
    for byte in json.dumps(request).encode() + b"\n":
        peer.send_bytes(bytes([byte]))
    assert "result" in peer.answer(1)


@pytest.mark.parametrize("version", [None, "1.0", 2.0, 2])
def test_17_jsonrpc(peer, version):
    message = {"id": 7, "method": "tools/list", "params": peer.params(None)}
    if version is not None:
        message["jsonrpc"] = version
    peer.send(message)
    assert peer.answer(7)["error"]["code"] == INVALID


@pytest.mark.parametrize("id", ["null", "1.5", "1.0", "{}", "[]", "true", "1e3",
                                "9223372036854775808", "-9223372036854775809",
                                "123456789012345678901234567890", '"' + "i" * 1025 + '"'])
def test_18_19_20_ids_that_are_refused(peer, id):
    params = json.dumps(peer.params({"name": "echo", "arguments": {"text": "x"}}))
    peer.send_bytes(b'{"jsonrpc":"2.0","id":' + id.encode() +
                    b',"method":"tools/call","params":' + params.encode() + b"}\n")
    peer.idless_error(INVALID)
    assert peer.sync() == []
    assert peer.marks() == []


@pytest.mark.parametrize("id", ["", "i" * 1024, "é\u0000😀\"\\", 0, -1, 9223372036854775807,
                                -9223372036854775808])
def test_21_ids_are_echoed(peer, id):
    assert "result" in peer.call("tools/list", id=id)


def test_22_number_and_string_are_two_ids(peer):
    peer.start_tool("wait", {"ms": 300, "tag": "number"}, id=1)
    peer.start_tool("wait", {"ms": 300, "tag": "string"}, id="1")
    assert tool_text(peer.answer(1)) == "waited number"
    assert tool_text(peer.answer("1")) == "waited string"


def test_23_duplicate_id_in_flight(peer):
    peer.start_tool("wait", {"ms": 60_000, "tag": "first"}, id=5)
    peer.wait_mark("begin first")
    peer.start_tool("wait", {"ms": 1, "tag": "second"}, id=5)
    assert peer.answer(5)["error"]["code"] == INVALID
    peer.cancel(5)
    peer.wait_mark("cancelled first")
    assert "begin second" not in peer.marks()


def test_24_25_unknown_methods(peer):
    assert peer.call("no/such")["error"]["code"] == METHOD
    peer.send({"jsonrpc": "2.0", "method": "notifications/no-such", "params": {}})
    assert peer.sync() == []


def test_26_notification_with_an_id(peer):
    peer.start_tool("wait", {"ms": 1200, "tag": "a"}, id=1)
    peer.wait_mark("begin a")
    assert peer.call("notifications/cancelled", {"requestId": 1})["error"]["code"] == METHOD
    assert tool_text(peer.answer(1)) == "waited a"


def test_27_request_without_id_runs_nothing(peer):
    peer.send({"jsonrpc": "2.0", "method": "tools/call",
               "params": peer.params({"name": "echo", "arguments": {"text": "x"}})})
    assert peer.sync() == []
    assert peer.marks() == []


@pytest.mark.parametrize("params", ["[]", '"x"', "null", "1"])
def test_28_params(peer, params):
    peer.send_bytes(b'{"jsonrpc":"2.0","id":3,"method":"tools/list","params":' + params.encode() +
                    b"}\n")
    assert peer.answer(3)["error"]["code"] == PARAMS


def test_nothing_but_protocol_on_stdout_and_children_do_not_hold_it(peer):
    """Descriptors 0 and 1 are not the protocol any more."""
    here = f"/proc/{peer.process.pid}/fd"
    peer.call("tools/list")
    assert os.readlink(f"{here}/0") == "/dev/null"
    assert os.readlink(f"{here}/1") == os.readlink(f"{here}/2")
    for number in os.listdir(here):
        if int(number) > 2:
            flags = [line for line in open(f"/proc/{peer.process.pid}/fdinfo/{number}")
                     if line.startswith("flags")][0].split()[1]
            assert int(flags, 8) & os.O_CLOEXEC, (number, os.readlink(f"{here}/{number}"))


def test_a_script_that_closes_its_pipe_at_once_gets_its_answers(who):
    lines = b"".join(
        json.dumps({"jsonrpc": "2.0", "id": n, "method": "tools/list",
                    "params": {"_meta": meta()}}).encode() + b"\n" for n in range(20))
    done = subprocess.run([*who.prefix, str(stage() / "mcp_fixture")], input=lines,
                          capture_output=True, timeout=60)
    assert done.returncode == 0
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == list(range(20))


def test_eras_may_be_mixed_on_one_pipe(who):
    peer = Peer(who, "legacy")
    try:
        peer.send({"jsonrpc": "2.0", "id": "m", "method": "tools/list",
                   "params": {"_meta": {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}}})
        assert peer.answer("m")["result"]["resultType"] == "complete"
        assert "resultType" not in peer.call("tools/list")["result"]
    finally:
        peer.kill()
