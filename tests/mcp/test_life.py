"""Cases 37 to 39: ends, slow readers, many calls at once. And what a server costs."""

import json
import os
import signal
import subprocess
import time

import pytest

from peer import Peer, meta, sanitized, stage, tool_text
from support.harness import SOON, alive, wait_until

pytestmark = pytest.mark.once

ENDS = {"eof": None, "eof in a message": None, "SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM,
        "SIGHUP": signal.SIGHUP}


@pytest.mark.parametrize("how", ENDS)
def test_37_every_end_cancels_and_ends(peer, how):
    for n in range(4):
        peer.start_tool("wait", {"ms": 60_000, "tag": str(n)})
        peer.wait_mark(f"begin {n}")
    if ENDS[how] is None:
        if how != "eof":
            peer.send_bytes(b'{"jsonrpc":"2.0","id":1,"meth')
        peer.process.stdin.close()
    else:
        peer.process.send_signal(ENDS[how])
    assert peer.process.wait(SOON) == 0
    for n in range(4):
        assert f"cancelled {n}" in peer.marks()
    rest = []
    while (message := peer.next()) is not None:
        rest.append(message)
    assert rest == []


@pytest.mark.parametrize("how", ENDS)
def test_37_a_handler_that_does_not_listen_cannot_hold_the_process(peer, how):
    peer.start_tool("stubborn", {"ms": 60_000, "tag": "s"})
    peer.wait_mark("begin s")
    if ENDS[how] is None:
        peer.process.stdin.close()
    else:
        peer.process.send_signal(ENDS[how])
    assert peer.process.wait(SOON) == 0


def test_37_the_parent_is_killed_and_somebody_holds_the_pipe(who, era):
    """No end of file tells: the pipe's other end lives on in a third process."""
    holder_in, holder_out = os.pipe()
    script = ("import subprocess,sys,time\n"
              "p=subprocess.Popen(sys.argv[1:],stdin=0)\n"
              "print(p.pid,file=sys.stderr,flush=True)\n"
              "time.sleep(300)\n")
    parent = subprocess.Popen(
        [*who.prefix, "/usr/bin/python3", "-c", script, str(stage() / "mcp_fixture")],
        stdin=holder_in, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(holder_in)
    server = int(parent.stderr.readline())
    os.write(holder_out, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert json.loads(parent.stdout.readline())["result"] == {}
    parent.kill()
    parent.wait()
    assert wait_until(lambda: not alive(server), SOON)
    os.close(holder_out)
    parent.communicate()


def test_38_a_reader_that_is_gone_ends_the_server(who, era):
    read_end, write_end = os.pipe()
    process = subprocess.Popen([*who.prefix, str(stage() / "mcp_fixture")], stdin=subprocess.PIPE,
                               stdout=write_end, stderr=subprocess.PIPE, bufsize=0)
    os.close(write_end)
    os.close(read_end)
    params = {"_meta": meta()} if era == "modern" else {}
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list",
                                    "params": params}).encode() + b"\n")
    assert process.wait(SOON) == 0
    process.communicate()


def memory_of(pid, key="VmRSS"):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise AssertionError(key)


class Mute(Peer):
    """A client that writes and never reads until told to."""

    def _read(self):
        self.quiet = True
        while self.quiet:
            time.sleep(0.02)
        super()._read()


@pytest.fixture
def mute(who, era):
    made = Mute(who, "modern" if era == "modern" else "legacy", handshake=False)
    yield made
    made.quiet = False
    made.kill()


def test_38_a_client_that_does_not_read_costs_no_memory(mute, era):
    if era == "legacy":
        mute.send({"jsonrpc": "2.0", "id": 0, "method": "initialize",
                   "params": {"protocolVersion": "2025-11-25", "capabilities": {}}})
    mute.start_tool("chatter", {"count": 200_000}, id=1, _meta={"progressToken": 1})
    os.set_blocking(mute.process.stdin.fileno(), False)
    sent = 0
    request = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list",
                          "params": mute.params(None)}).encode() + b"\n"
    stalled = time.monotonic()
    while time.monotonic() - stalled < 1.0:
        try:
            if mute.process.stdin.write(request):
                sent += 1
                stalled = time.monotonic()
        except BlockingIOError:
            pass
        time.sleep(0)
        assert sent < 20_000, "the server kept reading"
    limit = (900 << 20) if sanitized() else (64 << 20)
    assert memory_of(mute.process.pid) < limit
    # Signals are heeded although the writer is stuck.
    mute.process.send_signal(signal.SIGTERM)
    assert mute.process.wait(SOON) == 0


def test_38_what_was_asked_is_answered_once_the_client_reads(mute, era):
    if era == "legacy":
        mute.send({"jsonrpc": "2.0", "id": 0, "method": "initialize",
                   "params": {"protocolVersion": "2025-11-25", "capabilities": {}}})
    for n in range(1, 21):
        mute.start_tool("big", {"bytes": 500_000}, id=n)
    time.sleep(0.3)
    mute.quiet = False
    for n in range(1, 21):
        assert len(tool_text(mute.answer(n))) == 500_000


def test_39_many_calls_at_once(start):
    peer = start("--workers", "4", "--in-flight", "40")
    # In one piece, so that the first are not over before the last are there.
    calls = [{"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": peer.params(
        {"name": "wait", "arguments": {"ms": 500, "tag": str(n)}})} for n in range(1, 101)]
    peer.send_bytes(b"".join(json.dumps(call).encode() + b"\n" for call in calls))
    answers = [peer.answer(call["id"])["result"] for call in calls]
    busy = [a for a in answers if a["isError"]]
    done = [a for a in answers if not a["isError"]]
    assert len(done) == 40 and len(busy) == 60
    assert all("too many calls" in a["content"][0]["text"] for a in busy)
    assert tool_text(peer.tool("wait", {"ms": 1, "tag": "after"})) == "waited after"


def test_39_lists_are_answered_while_every_worker_is_busy(start, era):
    peer = start("--workers", "2")
    for n in range(10):
        peer.start_tool("wait", {"ms": 60_000, "tag": str(n)})
    peer.wait_mark("begin 1")
    waits = []
    for _ in range(20):
        began = time.monotonic()
        peer.call("tools/list")
        waits.append(time.monotonic() - began)
    if era == "legacy":
        assert peer.call("ping")["result"] == {}
    assert sorted(waits)[10] < 0.5, waits
    assert "end 0" not in peer.marks()


def threads_of(pid):
    """Without the one that ThreadSanitizer keeps."""
    names = [open(f"/proc/{pid}/task/{task}/comm").read() for task in
             os.listdir(f"/proc/{pid}/task")]
    return len(names) - (1 if "tsan" in os.environ.get("MCP_FIXTURE", "") else 0)


def test_discovery_starts_nothing(start, era):
    peer = start(handshake=False)
    if era == "modern":
        assert peer.call("server/discover")["result"]["supportedVersions"] == ["2026-07-28"]
    else:
        peer.call("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
    peer.call("tools/list")
    assert threads_of(peer.process.pid) == 2   # the loop and the writer
    peer.tool("echo", {"text": "x"})
    assert threads_of(peer.process.pid) == 3


def descriptors_at_rest(pid):
    """A call's own is closed just after its answer was sent."""
    seen = []
    for _ in range(30):
        seen.append(len(os.listdir(f"/proc/{pid}/fd")))
        time.sleep(0.01)
    return min(seen)


def test_memory_and_descriptors_are_flat(peer):
    def many(count):
        for _ in range(count // 50):
            ids = [peer.start_tool("echo", {"text": "x" * 200}) for _ in range(50)]
            for id in ids:
                peer.answer(id)
    many(1000)
    memory, descriptors = memory_of(peer.process.pid), descriptors_at_rest(peer.process.pid)
    many(4000)
    assert descriptors_at_rest(peer.process.pid) == descriptors
    assert memory_of(peer.process.pid) <= memory * (2 if sanitized() else 1.05) + (1 << 20)
