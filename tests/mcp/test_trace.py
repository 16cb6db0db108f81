"""What a call of a tool does to the host, read from a trace of the server and all it starts."""

import os
import re

import pytest

from peer import Peer
from support.harness import wait_until

pytestmark = pytest.mark.once

NASTY = "'; touch \"$HOME/ran\"; $(touch ran) `touch ran` \\ -n\n"


@pytest.fixture
def traced(world):
    made = []

    def begin(*strace):
        path = world.document(f'version = 1\n[fs]\nwrite = ["{world.project}"]\n', "ceiling.toml")
        trace = world.trusted / "trace"
        command = ["strace", "-f", "-qq", "-s", "4096", "-o", trace, *strace, world.cordon, "mcp"]
        made.append(Peer(world.who, "modern", "--ceiling", str(path), command=command,
                         env=world.environment({"CORDON_ENABLE_RUN_CODE": "1"}),
                         cwd=world.project))
        return made[-1], trace
    yield begin
    for one in made:
        one.kill()


def starts(trace):
    """How many programs were started. Their names lie in memory that no tracer of the same user
    may read."""
    return len(re.findall(r"execve[^\n]* = 0\n", trace.read_text()))


def test_R172_no_shell_handles_a_path_or_a_content(traced, world):
    server, trace = traced("-e", "trace=execve,execveat")
    server.call("tools/list")
    before = starts(trace)
    # The name of the file is a command line too.
    name = str(world.project / "a;touch ran;$(touch ran)")
    assert not server.tool("write_local_file", {"path": name, "content": NASTY})["result"]["isError"]
    assert not server.tool("read_local_file", {"path": name})["result"]["isError"]
    assert (world.project / name).read_text() == NASTY
    assert starts(trace) - before == 2, "something besides the helper was started"
    server.tool("run_code", {"argv": ["sh", "-c", "/bin/true; true"]})
    assert starts(trace) - before == 4


def test_R168_the_pending_record_is_durable_before_the_command_starts(traced, world):
    # A slow disk: the sandbox is long built when the record is durable.
    server, trace = traced("-y", "-e", "trace=clone3,fdatasync,execve",
                           "-e", "inject=fdatasync:delay_exit=2000000")
    server.call("tools/list")
    before = len(trace.read_text())
    server.tool("run_code", {"argv": ["true"]})
    text = trace.read_text()[before:]
    asked = re.search(r"fdatasync\(\d+<[^>]*/audit/[^>]*\.jsonl>", text)
    synced = re.search(r"fdatasync(\(\d+<[^>]*/audit/[^>]*\.jsonl>| resumed>)\) *= 0", text)
    cloned = re.search(r"clone3\(\{flags=[^}]*CLONE_NEWPID", text)
    executed = re.search(r"execve\(", text)
    assert asked and synced and cloned and executed, text[-2000:]
    assert cloned.start() < synced.start(), "nothing was built while the disk was waited for"
    assert synced.start() < executed.start(), "the command was released before its record was durable"


def helper_inside(world):
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            words = open(f"/proc/{entry}/cmdline", "rb").read().split(b"\0")
        except OSError:
            continue
        if words[1:2] == [b"file-inside"] and str(world.project / "asked").encode() in words:
            return entry
    return None


def test_R169_a_sibling_of_the_file_is_not_there(traced, world):
    world.write(world.project / "asked", "asked")
    world.write(world.project / "sibling", "sibling")
    # The helper is kept at its exit for long enough to look round in its root.
    server, _ = traced("-e", "trace=exit_group", "-e", "inject=exit_group:delay_enter=5000000")
    server.start_tool("read_local_file", {"path": str(world.project / "asked")})
    def seen():
        """What is in the directory of the file, as the helper has it: before it has its root, what the host has."""
        try:
            return os.listdir(f"/proc/{helper_inside(world)}/root{world.project}")
        except OSError:
            return None
    assert wait_until(lambda: seen() == ["asked"], 60), seen()
