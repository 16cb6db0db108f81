"""What the log does for itself when a run has ended: days that no ceiling keeps go, and it is signed."""

import json
import os
import subprocess

import pytest

from support.harness import stop

# Days of the log before the run, with one action each; the run adds today's.
OLD_DAYS = 6


@pytest.fixture
def old(trail):
    trail.write("days", str(-OLD_DAYS), "-1", "1")
    return trail


def ceiling(world, name, *lines):
    text = 'version = 1\n[fs]\nread = ["@system"]\nwrite = ["~"]\n[audit]\n' + "\n".join(lines) + "\n"
    return world.document(text, f"{name}.toml")


def run(trail, *ceilings, command=("true",)):
    options = [word for path in ceilings for word in ("--ceiling", path)]
    return trail.world.run(*command, options=options)


def test_without_bounds_all_days_stay(old):
    done = run(old)
    assert done.status == 0 and len(old.days) == OLD_DAYS + 1, done.account()
    old.holds()


def test_days_that_are_too_old_go(old):
    days = old.days
    bound = ceiling(old.world, "bound", "keep_days = 3")
    done = run(old, bound)
    assert done.status == 0 and done.err == "", done.account()
    # Two of them, and today.
    assert old.days[:-1] == days[-2:]
    answer = old.holds()
    assert answer["checkpoints"] >= 1
    # What is left can still be asked for, by an index that had the rest as well.
    assert len(old.audit("list", "--json").json["events"]) == 3


def test_an_index_forgets_the_days_that_went(old):
    assert len(old.audit("list", "--json").json["events"]) == OLD_DAYS
    run(old, ceiling(old.world, "bound", "keep_days = 3"))
    kept = old.audit("list", "--json").json["events"]
    assert len(kept) == 3
    (old.directory / "index.sqlite").unlink()
    assert old.audit("list", "--json").json["events"] == kept


def test_a_log_that_is_too_large_loses_its_oldest_days(old):
    size = sum((old.directory / day).stat().st_size for day in old.days[-2:])
    # A size is written in units; a run's record of today is larger than the rest.
    bound = ceiling(old.world, "bound", 'keep_size = "1K"')
    assert size > 1024
    done = run(old, bound)
    assert done.status == 0, done.account()
    assert len(old.days) == 1
    old.holds()
    # The control: room for all.
    run(old, ceiling(old.world, "wide", 'keep_size = "1G"'))
    assert len(old.days) == 1


def test_one_ceiling_cannot_shorten_what_another_keeps(old):
    short = ceiling(old.world, "short", "keep_days = 1")
    long = ceiling(old.world, "long", "keep_days = 5")
    run(old, short, long)
    assert len(old.days) == 5
    old.holds()


def test_days_that_do_not_hold_stay_and_every_run_says_so(old):
    first = old.days[0]
    lines = old.lines(first)
    old.put_lines(lines[1:], first)
    bound = ceiling(old.world, "bound", "keep_days = 3")
    for _ in range(2):
        done = run(old, bound)
        assert done.status == 0
        assert "days that are no longer kept do not hold, and were left" in done.err, done.account()
        assert "cordon audit verify" in done.err
        assert len(old.days) == OLD_DAYS + 1
    old.put_lines(lines, first)
    assert run(old, bound).err == ""
    assert len(old.days) == 3
    old.holds()


def test_a_policy_cannot_shorten_the_log(old):
    policy = old.world.document("version = 1\n[audit]\nkeep_days = 1\n")
    done = old.world.run("true", options=["--policy", policy])
    assert done.status == 125 and "[audit] is for ceilings only" in done.err, done.account()
    assert len(old.days) >= OLD_DAYS


def test_the_end_is_signed_on_another_day(old):
    """The log began days ago, and nobody has asked for a checkpoint."""
    assert not (old.directory / "checkpoints.jsonl").exists()
    run(old)
    assert old.holds()["checkpoints"] == 1
    run(old)
    assert old.holds()["checkpoints"] == 1


def test_a_first_run_signs_nothing(trail):
    run(trail)
    assert trail.holds()["checkpoints"] == 0
    assert not (trail.directory / "signing.key").exists()


def test_a_log_that_was_rolled_back_is_found_out_by_what_was_signed(old):
    names = ["head", "open", old.days[-1]]
    kept = {name: (old.directory / name).read_bytes() for name in names}
    run(old)
    today = old.directory / old.days[-1]
    assert old.holds()["checkpoints"] == 1
    today.unlink()
    for name, content in kept.items():
        (old.directory / name).write_bytes(content)
    assert [f["kind"] for f in old.verdict()["findings"]] == ["checkpoint"]


def asked(server, number, method, params):
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()
    while True:
        answer = json.loads(server.stdout.readline())
        if answer.get("id") == number:
            return answer["result"]


def test_it_is_the_same_for_a_server(old):
    """It reads its ceilings anew at each call."""
    world = old.world
    bound = ceiling(world, "bound", "keep_days = 5")
    server = world.start([world.cordon, "mcp", "--ceiling", bound], stdin=subprocess.PIPE,
                         env={"CORDON_ENABLE_RUN_CODE": "1"})
    try:
        asked(server, 1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                        "clientInfo": {"name": "test", "version": "1"}})
        for number, days in ((2, 5), (3, 3)):
            ceiling(world, "bound", f"keep_days = {days}")
            answer = asked(server, number, "tools/call",
                           {"name": "run_code", "arguments": {"argv": ["echo", "hi"]}})
            assert not answer.get("isError"), answer
            assert len(old.days) == days
    finally:
        stop(server)
    old.holds()


def loop_of(world, bound, *options):
    world.write(world.project / "PLAN.md", "- [ ] one: T\n  verify: test -s one\n")
    agent = world.write(world.project / "agent", "#!/bin/sh\ncat > /dev/null\necho x >> one\n", 0o755)
    return world.execute([world.cordon, "loop", *options, "--net", "none", "--restart", "--ceiling", bound, "--", agent])


def warnings(done):
    events = [json.loads(line) for line in done.expect(0).out.splitlines()]
    return [event for event in events if event["event"] == "warning"]


def test_a_loop_says_it_too(old):
    first = old.days[0]
    lines = old.lines(first)
    old.put_lines(lines[1:], first)
    bound = ceiling(old.world, "bound", "keep_days = 3")
    [warning] = warnings(loop_of(old.world, bound, "--json"))
    assert "days that are no longer kept do not hold, and were left" in warning["text"]
    assert warning["hint"] == "cordon audit verify says what is wrong with them"
    plain = loop_of(old.world, bound, "--plain").expect(0)
    said = plain.out + plain.err
    assert said.count("warning: days that are no longer kept") == said.count("hint: cordon audit verify") == 1, plain.account()
    # The control: nothing is wrong with them.
    old.put_lines(lines, first)
    assert warnings(loop_of(old.world, bound, "--json")) == []
    assert len(old.days) == 3
    old.holds()


def test_a_loop_says_what_it_removed(old):
    """The run that looks is the first one, which is the loop's own."""
    world = old.world
    world.run("/bin/sh", "-c", "echo x > waits", options=["--stage=review"]).expect(0)
    [note] = (world.home / ".local/state/cordon/handoff").glob("*.changes")
    long_ago = note.stat().st_mtime - 40 * 86400
    os.utime(note, (long_ago, long_ago))
    bound = world.document('version = 1\n[fs]\nread = ["@system"]\nwrite = ["~"]\n[keep]\ndays = 30\n', "keep.toml")
    [warning] = warnings(loop_of(world, bound, "--json"))
    assert warning["text"].startswith(f"run {note.stem}: removed: 1 change that waited for 40 days"), warning
    assert not note.exists()
