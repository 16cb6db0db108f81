"""A server that lives long: its memory and its descriptors stay what they were."""

import itertools
import json
import os
import time
from pathlib import Path

import pytest

from peer import Peer, told

CALLS = int(os.environ.get("CORDON_MCP_CALLS", "5000"))
IN_FLIGHT = 10
# With one arena for all threads. With one for each worker every arena finds its size by itself, and what
# looks like growth goes on for tens of thousands of calls: 264 KiB over 50 000. With one it is 140 KiB,
# whether 5 000 calls were made or 50 000: fragments, not a leak. A hundred bytes forgotten in each call
# would be 440 KiB more between 500 and 5 000, a third of it in each third of the calls. On a busy machine more calls
# are in the same step at once than ever before, and the heap grows for them once: by up to 480 KiB, in one third.
ONE_ARENA = {"MALLOC_ARENA_MAX": "1"}
WARM = 500
GROWTH_KIB = 384
PARTS = 3


def account(pid):
    """What the server holds: memory of its own in KiB, descriptors, threads, children."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    children = sum(len(file.read_text().split())
                   for file in Path(f"/proc/{pid}/task").glob("*/children"))
    return {"memory": int(status["RssAnon"].split()[0]), "threads": int(status["Threads"]),
            "descriptors": len(os.listdir(f"/proc/{pid}/fd")), "children": children}


def at_rest(pid):
    """The account once it has stayed the same for a second: a call's last descriptor is closed after its answer
    is sent, and on a busy machine the thread that closes it may wait for its turn."""
    seen, since = account(pid), time.monotonic()
    give_up = since + 30
    while time.monotonic() < min(since + 1, give_up):
        time.sleep(0.1)
        last, seen = seen, account(pid)
        if seen != last:
            since = time.monotonic()
    return seen


def make_calls(server, count):
    """Keeps IN_FLIGHT calls going until `count` were answered, each as it must be. Nobody reads the
    server's standard error meanwhile, on which each program that is not there is told."""
    argv = [["true"], ["echo", "x" * 200], ["sh", "-c", "exit 3"], ["no-such-program"]]
    wanted = {}
    begun = 0
    while begun < count or wanted:
        while begun < count and len(wanted) < IN_FLIGHT:
            which = begun % len(argv)
            wanted[server.start_tool("run_code", {"argv": argv[which]})] = which
            begun += 1
        message = server.next(timeout=60)
        assert message is not None, server.end()
        which = wanted.pop(message["id"])
        result = told(message["result"])
        assert result["exit_code"] == (0, 0, 3, 127)[which], result


# One person and one era: what is looked at is the process, and it is the same.
@pytest.mark.only("user")
def test_a_long_life_leaves_nothing_behind(world):
    ceiling = world.document(f'version = 1\n[fs]\nwrite = ["{world.project}"]\n', "ceiling.toml")
    server = Peer(world.who, "modern", command=[world.cordon, "mcp", "--ceiling", ceiling],
                  env=world.environment({"CORDON_ENABLE_RUN_CODE": "1", **ONE_ARENA}),
                  cwd=world.project)
    try:
        make_calls(server, WARM)
        accounts = [at_rest(server.process.pid)]
        for _ in range(PARTS):
            make_calls(server, (CALLS - WARM) // PARTS)
            accounts.append(at_rest(server.process.pid))
        before, after = accounts[0], accounts[-1]
        assert after["descriptors"] == before["descriptors"], accounts
        assert after["threads"] == before["threads"] and after["children"] == 0, accounts
        grown = [later["memory"] - earlier["memory"] for earlier, later in itertools.pairwise(accounts)]
        assert min(grown) < GROWTH_KIB / PARTS, accounts
        print(f"{CALLS} calls: {accounts}")
    finally:
        server.kill()
