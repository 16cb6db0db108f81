"""Writers that crowd, die, starve and are lied to: no acknowledged record is lost, ever."""

import json
import os
import random
import signal
import stat
import time

import jsonschema
import pytest

from support import harness
from support.voids import NOT_STARTED_BY_ROOT, void

KILLS = int(os.environ.get("CORDON_AUDIT_KILLS", "1000"))


def acknowledged(lines):
    """{event id: closed?} of what a writer was told to be in the log."""
    found = {}
    for words in lines:
        if words[0] == "begun":
            found[words[1]] = False
        elif words[0] == "closed":
            found[words[1]] = True
    return found


def assert_all_there(trail, told):
    phases = {}
    for record in trail.records():
        phases.setdefault(record["event_id"], []).append(record["phase"])
    for event, closed in told.items():
        assert phases.get(event, [])[:1] == ["pending"], event
        if closed:
            assert phases[event] == ["pending", "closing"], event


def test_first_use_makes_private_files(trail):
    trail.write("append", "2")
    assert stat.S_IMODE(trail.directory.stat().st_mode) == 0o700
    for path in trail.directory.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        assert path.stat().st_uid == trail.world.who.uid
    assert (trail.directory / "head").stat().st_size == 512
    assert trail.holds()["records"] == 4


def test_every_line_has_the_published_form(trail):
    schema = json.loads(trail.world.cordon_verb("policy", "schema", "audit").expect(0).out)
    check = jsonschema.Draft202012Validator(schema)
    trail.write("append", "4")
    trail.write("canary", "x", "a b")
    opened = trail.start("open")
    opened.stdout.readline()
    harness.stop(opened)
    trail.write("recover")
    with open(trail.directory / trail.days[-1], "ab") as day:
        day.write(b'{"v":1,"torn')
    trail.write("append", "1")
    records = trail.records()
    assert {r["phase"] for r in records} == {"pending", "closing", "note"}
    for record in records:
        check.validate(record)
    bad = dict(records[0], outcome="maybe")
    with pytest.raises(jsonschema.ValidationError):
        check.validate(bad)


def test_fifty_writers_lose_and_interleave_nothing(trail):
    processes = [trail.start("append", "20") for _ in range(50)]
    told = {}
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, (out, err)
        told |= acknowledged(line.split() for line in out.decode().splitlines())
    assert len(told) == 1000 and all(told.values())
    assert trail.holds()["records"] == 2000
    assert_all_there(trail, told)


def test_killed_writers_lose_nothing_they_were_told(trail):
    """kill -9 at random moments; CORDON_AUDIT_KILLS says how often in all."""
    rounds = KILLS // len(harness.PEOPLE)
    told, crowd, killed = {}, [], 0
    chance = random.Random(20261115)

    def reap():
        process, first, _ = crowd.pop(0)
        os.kill(process.pid, signal.SIGKILL)
        out, _ = process.communicate(timeout=120)
        whole = (first + out).decode().rpartition("\n")[0]
        return acknowledged(line.split() for line in whole.splitlines())

    while killed < rounds:
        process = trail.start("forever", bufsize=0)
        # Every other one is known to be writing; the rest may die before they begin.
        first = process.stdout.readline() if killed % 2 else b""
        crowd.append((process, first, time.monotonic() + chance.uniform(0.0, 0.03)))
        if len(crowd) == 6:
            wait = crowd[0][2] - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            told |= reap()
            killed += 1
    while crowd:
        told |= reap()
    assert len(told) >= rounds // 2, "the writers were killed before they wrote anything"
    before = trail.holds()
    assert_all_there(trail, told)
    trail.write("recover")
    after = trail.holds()
    assert before["open"] > 0 and after["open"] == 0


def test_recovery_closes_the_dead_and_spares_the_living(trail):
    living, dead = trail.start("open"), trail.start("open")
    alive = living.stdout.readline().decode().split()[1]
    gone = dead.stdout.readline().decode().split()[1]
    harness.stop(dead)
    assert trail.write("recover") == [["lost", gone]]
    closing = trail.records()[-1]
    assert (closing["event_id"], closing["outcome"], closing["reason"]) == (gone, "failure", "crash")
    assert trail.write("recover") == [], "closed twice"
    assert trail.holds()["open"] == 1
    harness.stop(living)
    assert trail.write("recover") == [["lost", alive]]
    assert trail.holds()["open"] == 0


def test_a_torn_line_is_cut_off_and_told(trail):
    trail.write("append", "2")
    with open(trail.directory / trail.days[-1], "ab") as day:
        day.write(b'{"v":1,"seq":5,"event')
    assert trail.holds()["notices"], "a torn line is told before it is healed"
    trail.write("append", "1")
    notes = [r for r in trail.records() if r["phase"] == "note"]
    assert [n["action"] for n in notes] == ["audit.recovery"]
    assert notes[0]["metadata"]["cut_bytes"] == 21
    assert trail.holds()["records"] == 7


def test_a_line_that_nobody_wrote_stops_the_log(trail):
    trail.write("append", "2")
    with open(trail.directory / trail.days[-1], "ab") as day:
        day.write(b'{"v":1}\n')
    [error] = trail.write("append", "1", status=1)
    assert error[:2] == ["error", "audit"]
    trail.audit("verify", status=1)


@pytest.mark.parametrize("change", ["remove head", "spoil head", "remove key", "shorten"])
def test_a_log_that_contradicts_its_head_takes_no_records(trail, change):
    trail.write("append", "2")
    before = trail.lines()
    if change == "remove head":
        (trail.directory / "head").unlink()
    elif change == "spoil head":
        data = bytearray((trail.directory / "head").read_bytes())
        data[8] ^= 1
        (trail.directory / "head").write_bytes(data)
    elif change == "remove key":
        (trail.directory / "key").unlink()
    else:
        before = before[:-1]
        trail.put_lines(before)
    [error] = trail.write("append", "1", status=1)
    assert error[:2] == ["error", "audit"]
    assert trail.lines() == before, "the evidence was changed"
    trail.audit("verify", status=1)


# A power cut: what was not synced may go, and that is not taken for tampering.


def test_a_power_cut_may_take_what_was_not_synced(trail):
    told = trail.write("earlier", "3")
    lines = trail.lines()
    # All pending records were synced; the head was written in another start of the host. The last
    # line is a synced pending one: nothing may be missing.
    trail.put_lines(lines[:-1])
    assert trail.fault()[0] == "truncation"
    trail.put_lines(lines)
    assert trail.holds()["records"] == 7
    trail.write("append", "1")
    # The open action of the earlier start is closed by recovery.
    opened = told[-1][1]
    assert trail.write("recover") == [["lost", opened]]
    assert trail.holds()["open"] == 0


def test_records_lost_in_a_power_cut_are_told(trail):
    trail.write("earlier", "3", "closed")
    lines = trail.lines()
    trail.put_lines(lines[:-1])  # a closing record, written and not synced
    answer = trail.holds()
    assert any("power cut" in notice for notice in answer["notices"])
    trail.write("append", "1")
    note = trail.records()[len(lines) - 1]
    assert note["action"] == "audit.recovery" and note["seq"] == 7
    assert (note["metadata"]["lost_from"], note["metadata"]["lost_to"]) == (6, 6)
    # The action whose end was lost is closed again.
    assert len(trail.write("recover")) == 1
    answer = trail.holds()
    assert answer["open"] == 0 and any("power cut" in notice for notice in answer["notices"])
    # A number that is missing without such a note is a removal.
    lines = trail.lines()
    del lines[5]
    trail.put_lines(lines)
    assert trail.fault()[0] in ("removal", "truncation")


def test_a_power_cut_may_tear_the_last_line(trail):
    trail.write("earlier", "3", "closed")
    lines = trail.lines()
    trail.put_lines([*lines[:-1], lines[-1][:40]])
    trail.write("append", "1")
    note = trail.records()[len(lines) - 1]
    assert note["metadata"] == {"cut_bytes": 40, "lost_from": 6, "lost_to": 6,
                                "adopted_from": None, "adopted_to": None}
    trail.write("recover")
    assert trail.holds()["open"] == 0


def test_a_power_cut_may_take_a_whole_new_day(trail):
    trail.write("days", "-1", "-1", "2")
    trail.write("earlier", "1", "closed")
    assert len(trail.days) == 2
    head = (trail.directory / "head").read_bytes()
    trail.put_lines([])
    # The pending record was synced: losing it is no power cut.
    assert trail.fault()[0] == "truncation"
    [error] = trail.write("append", "1", status=1)
    assert error[:2] == ["error", "audit"] and (trail.directory / "head").read_bytes() == head


def test_a_power_cut_may_bring_back_an_older_head(trail):
    trail.write("earlier", "2")
    head = (trail.directory / "head").read_bytes()
    trail.write("earlier", "1")
    count = len(trail.lines())
    (trail.directory / "head").write_bytes(head)
    answer = trail.holds()
    assert any("behind audit/head" in notice for notice in answer["notices"])
    trail.write("append", "1")
    # One tells what was adopted.
    assert trail.holds()["records"] == count + 3
    assert len(trail.write("recover")) == 2
    # In this start of the host an older head is tampering.
    (trail.directory / "head").write_bytes(head)
    assert trail.fault()[0] == "head-mismatch"


# The clock.


def test_the_chain_goes_over_midnight(trail):
    trail.write("days", "-3", "0", "2")
    assert len(trail.days) == 4
    assert trail.holds()["records"] == 16
    first = json.loads(trail.lines(trail.days[1])[0])
    last = json.loads(trail.lines(trail.days[0])[-1])
    assert first["prev"] == last["hash"] and first["seq"] == last["seq"] + 1


def test_a_clock_that_goes_back_stays_in_the_later_file(trail):
    trail.write("days", "2", "0", "2")
    assert len(trail.days) == 1
    numbers = [r["seq"] for r in trail.records()]
    assert numbers == list(range(1, 13))
    trail.holds()


# Storage.


@pytest.mark.only("root")
def test_a_full_disk_refuses_and_leaves_a_log_that_holds(trail):
    trail.directory.mkdir(parents=True)
    script = f"""set -e
mount -t tmpfs -o size=64k,mode=0700 tmpfs {trail.directory}
{trail.program} {trail.directory} append 2 >/dev/null
set +e
{trail.program} {trail.directory} append 1000 >{trail.world.outside}/told
echo "status $?"
{trail.world.cordon} audit verify --json
rm -f {trail.directory}/ballast
# Space again: the log goes on.
mount -o remount,size=256k {trail.directory}
{trail.program} {trail.directory} append 3 >/dev/null; echo "again $?"
{trail.program} {trail.directory} recover
{trail.world.cordon} audit verify >/dev/null; echo "verify $?"
/usr/bin/python3 {harness.ROOT}/tests/audit/verify.py {trail.directory}; echo "second $?"
"""
    done = trail.world.execute(["unshare", "-m", "sh", "-c", script])
    told = (trail.world.outside / "told").read_text()
    assert "status 1" in done.out and "error audit" in told and "No space left" in told
    assert told.count("closed") > 3
    for word in ("again 0", "verify 0", "second 0"):
        assert word in done.out, done.account()


@pytest.mark.only("root")
def test_a_directory_on_a_read_only_mount_refuses(trail):
    trail.write("append", "1")
    script = (f"mount --bind {trail.directory} {trail.directory} && "
              f"mount -o remount,bind,ro {trail.directory} && "
              f"{trail.program} {trail.directory} append 1; echo status $?; "
              f"{trail.world.cordon} audit list")
    done = trail.world.execute(["unshare", "-m", "sh", "-c", script])
    assert "error audit" in done.out and "status 1" in done.out
    assert "success" in done.out, "reading needs no writable directory"


@pytest.mark.only("user")
def test_a_read_only_directory_refuses(trail):
    state = trail.directory.parent
    state.mkdir(parents=True)
    trail.world.own(state)
    for path in (state, state.parent, state.parent.parent):
        os.chown(path, trail.world.who.uid, trail.world.who.uid)
    state.chmod(0o500)
    [error] = trail.write("append", "1", status=1)
    assert error[:2] == ["error", "audit"]
    state.chmod(0o700)
    trail.write("append", "1")


@pytest.mark.parametrize("trouble", ["symlink", "loose", "foreign"])
def test_a_directory_of_others_is_refused(trail, trouble):
    if trouble == "foreign" and os.geteuid() != 0:
        return void(NOT_STARTED_BY_ROOT)
    trail.write("append", "1")
    if trouble == "symlink":
        trail.directory.rename(trail.directory.parent / "elsewhere")
        trail.directory.symlink_to("elsewhere")
    elif trouble == "loose":
        trail.directory.chmod(0o750)
    else:
        other = 64124
        os.chown(trail.directory, other, other)
    [error] = trail.write("append", "1", status=1)
    assert error[:2] == ["error", "audit"]
    trail.audit("verify", status=2)


def test_a_directory_replaced_under_a_writer_is_noticed(trail):
    process = trail.start("choice", "deny", "9", stdin=-1)

    def turn():
        process.stdin.write(b"go\n")
        process.stdin.flush()
        return process.stdout.readline().decode().split()

    assert turn()[0] == "begun"
    assert process.stdout.readline().startswith(b"closed")
    moved = trail.directory.parent / "moved"
    trail.directory.rename(moved)
    trail.write("append", "1")
    assert turn()[:2] == ["error", "audit"]
    harness.stop(process)
    assert len(list(moved.glob("*.jsonl"))[0].read_bytes().splitlines()) == 2


# The operator's choice.


@pytest.mark.parametrize("choice", ["deny", "buffer", "warn"])
def test_what_happens_while_the_log_cannot_be_written(trail, choice):
    process = trail.start("choice", choice, "9", stdin=-1)

    def turn():
        process.stdin.write(b"go\n")
        process.stdin.flush()
        return process.stdout.readline().decode().split()

    def good_turn():
        words = turn()
        assert words[0] == "begun", words
        assert process.stdout.readline().startswith(b"closed")

    good_turn()
    aside = trail.directory.parent / "aside"
    trail.directory.rename(aside)
    answers = [turn() for _ in range(3)]
    aside.rename(trail.directory)
    good_turn()
    harness.stop(process)
    records = trail.records()
    gaps = [r["metadata"] for r in records if r["action"] == "audit.gap"]
    events = {r["event_id"] for r in records if r["phase"] == "closing"}
    if choice == "deny":
        assert all(words[:2] == ["error", "audit"] for words in answers)
        assert not gaps and len(events) == 2
    else:
        assert all(words[0] == "unwritten" for words in answers)
        [gap] = gaps
        late = choice == "buffer"
        assert (gap["late"], gap["dropped"]) == ((3, 0) if late else (0, 3))
        assert {words[1] for words in answers} <= events if late else len(events) == 2
    assert trail.holds()["open"] == 0


# What must never be in it.


def test_canaries_never_reach_the_bytes(trail):
    canaries = ["CANARY-argv-ghp_0123456789", "CANARY token", "CANARY\x1b[31m", "CANARY\u202e"]
    trail.write("canary", *canaries)
    assert len(trail.records()) == 3 * len(canaries)
    trail.audit("list")
    for path in trail.directory.iterdir():
        assert b"CANARY" not in path.read_bytes(), path
    for word in ("somebody", "ghp_"):
        assert all(word.encode() not in p.read_bytes() for p in trail.directory.iterdir()), word


def test_hashes_are_equal_here_and_different_elsewhere(trail):
    trail.write("append", "2")
    first = [r["metadata"]["argv_hash"] for r in trail.records() if r["phase"] == "pending"]
    trail.directory.rename(trail.directory.parent / "before")
    trail.write("append", "1")
    other = trail.records()[0]["metadata"]["argv_hash"]
    assert first[0] == first[1] != other
