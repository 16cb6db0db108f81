"""Every way of changing a log is found, named, and found at the right line, by two programs."""

import hashlib
import json
import random
import re
import shutil
from pathlib import Path

import pytest
import verify

from support import harness

pytestmark = pytest.mark.once

# Byte changes in the value of each field, the hash and the keys included.
FIELDS = ["v", "seq", "event_id", "timestamp", "boot_id", "boot_ms", "phase", "prev", "agent_id",
          "action", "resource", "outcome", "reason", "attribution_type", "attribution_layer",
          "metadata", "mac", "hash"]


@pytest.fixture
def three_days(trail):
    """36 records: 12 on each of three days."""
    trail.write("days", "-2", "0", "6")
    assert trail.holds()["records"] == 36
    return trail


def rehashed(line, change):
    """The line as somebody would forge it who knows how hashes are made."""
    body = change(line[:line.rindex(b',"hash":"')])
    return body + b',"hash":"' + hashlib.sha256(body).hexdigest().encode() + b'"}\n'


@pytest.mark.parametrize("field", FIELDS)
def test_an_edited_byte_of_any_field(three_days, field):
    lines = three_days.lines()
    line = bytearray(lines[4])
    at = line.index(f'"{field}":'.encode()) + len(field) + 4
    line[at] = ord("0") if line[at] != ord("0") else ord("1")
    lines[4] = bytes(line)
    three_days.put_lines(lines)
    kind, file, number, seq = three_days.fault()
    assert (kind, file, number, seq) == ("edit", three_days.days[-1], 5, 29)


def test_every_byte_of_a_record(three_days):
    """Through the second implementation, and for a sample through the first as well."""
    import verify
    lines = three_days.lines()
    whole = lines[4]
    for at in range(0, len(whole) - 1):
        changed = bytearray(whole)
        changed[at] ^= 0x04
        three_days.put_lines([*lines[:4], bytes(changed), *lines[5:]])
        faults, _ = verify.verify(three_days.directory)
        assert faults, at
        if at % 40 == 0:
            assert three_days.verdict()["findings"], at


@pytest.mark.parametrize("position", ["first", "middle", "last"])
def test_an_edit_with_a_fitting_hash(three_days, position):
    day, index = {"first": (0, 0), "middle": (1, 5), "last": (2, 11)}[position]
    name = three_days.days[day]
    lines = three_days.lines(name)
    lines[index] = rehashed(lines[index], lambda body: body.replace(b'"application"', b'"os"'))
    three_days.put_lines(lines, name)
    if position == "last":
        # Sizes differ from what the head knows as well; the record is named.
        findings = three_days.verdict()["findings"]
        assert findings[0]["kind"] == "edit" and findings[0]["line"] == 12
    else:
        assert three_days.fault() == ("edit", name, index + 1, day * 12 + index + 1)


@pytest.mark.parametrize("day,index", [(0, 0), (0, 6), (1, 0), (1, 11), (2, 3)])
def test_a_removed_record(three_days, day, index):
    name = three_days.days[day]
    lines = three_days.lines(name)
    del lines[index]
    three_days.put_lines(lines, name)
    kind, file, line, seq = three_days.fault()
    assert (kind, seq) == ("removal", day * 12 + index + 1)
    # Named at the record that stands there now: the first of the next day behind a last one.
    assert (file, line) == ((name, index + 1) if index < 11 else (three_days.days[day + 1], 1))


@pytest.mark.parametrize("day,index", [(0, 0), (1, 4), (2, 10)])
def test_two_swapped_records(three_days, day, index):
    name = three_days.days[day]
    lines = three_days.lines(name)
    lines[index], lines[index + 1] = lines[index + 1], lines[index]
    three_days.put_lines(lines, name)
    assert three_days.fault()[:3] == ("reorder", name, index + 1)


def test_a_record_moved_far_away(three_days):
    name = three_days.days[1]
    lines = three_days.lines(name)
    lines.append(lines.pop(3))
    three_days.put_lines(lines, name)
    assert three_days.fault() == ("reorder", name, 4, 16)


@pytest.mark.parametrize("index", [0, 5, 11])
def test_a_doubled_record(three_days, index):
    name = three_days.days[1]
    lines = three_days.lines(name)
    lines.insert(index + 1, lines[index])
    three_days.put_lines(lines, name)
    assert three_days.fault() == ("duplication", name, index + 2, 13 + index)


@pytest.mark.parametrize("keep", [1, 50, -2, -1])
def test_a_last_line_that_is_cut(three_days, keep):
    lines = three_days.lines()
    lines[-1] = lines[-1][:keep]
    three_days.put_lines(lines)
    assert three_days.fault() == ("truncation", three_days.days[-1], 12, 36)


@pytest.mark.parametrize("count", [1, 2, 12])
def test_last_records_that_are_gone(three_days, count):
    lines = three_days.lines()[:-count]
    three_days.put_lines(lines)
    kind, _, line, seq = three_days.fault()
    assert (kind, seq) == ("truncation", 37 - count)
    assert line == 13 - count


@pytest.mark.parametrize("day", [0, 1, 2])
def test_a_day_that_is_gone(three_days, day):
    names = three_days.days
    (three_days.directory / names[day]).unlink()
    kind, file, line, seq = three_days.fault()
    assert (kind, seq) == ("removal", day * 12 + 1)
    assert (file, line) == (names[min(day + 1, 2)], 1)


def test_a_head_that_is_gone_or_foreign_or_old(three_days):
    head = three_days.directory / "head"
    old = head.read_bytes()
    three_days.write("append", "2")
    new = head.read_bytes()
    head.write_bytes(old)
    assert three_days.fault()[0] == "head-mismatch"
    head.write_bytes(new[:200] + b"x" + new[201:])
    assert three_days.fault()[:2] == ("head-mismatch", "head")
    head.unlink()
    assert three_days.fault()[:2] == ("head-mismatch", "head")
    head.write_bytes(new)
    head.chmod(0o600)
    if three_days.world.who.uid:
        three_days.world.own(head)
    three_days.holds()


@pytest.mark.parametrize("count", [1, 2])
def test_a_forged_record_at_the_end(three_days, count):
    """Chained as it should be, without the key."""
    lines = three_days.lines()
    for _ in range(count):
        last = json.loads(lines[-1])

        def change(body, last=last):
            body = re.sub(rb'"seq":\d+', f'"seq":{last["seq"] + 1}'.encode(), body)
            return re.sub(rb'"prev":"[0-9a-f]{64}"', f'"prev":"{last["hash"]}"'.encode(), body)
        lines.append(rehashed(lines[-1], change))
    three_days.put_lines(lines)
    findings = [(f["kind"], f["file"], f["line"], f["seq"]) for f in three_days.verdict()["findings"]]
    assert [finding[0] for finding in findings] == ["edit"] * count
    assert findings == verify.verify(three_days.directory)[0]


def tamper(rng, trail):
    """Changes one thing, of every kind; answers with what was done."""
    names = trail.days
    name = rng.choice(names)
    path = trail.directory / name
    data, lines = path.read_bytes(), trail.lines(name)
    how = rng.choice(["bit", "cut", "swap", "move", "double", "remove", "wrong mac", "no mac", "exchange", "graft",
                      "junk"])
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    if how == "bit":
        changed = bytearray(data)
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        lines = [bytes(changed)]
    elif how == "cut":
        lines = [data[:rng.randrange(len(data))]]
    elif how == "swap":
        lines[at], lines[to] = lines[to], lines[at]
    elif how == "move":
        lines.insert(to, lines.pop(at))
    elif how == "double":
        lines.insert(to, lines[at])
    elif how == "remove":
        del lines[at:at + rng.randrange(1, 4)]
    elif how == "wrong mac":
        lines[at] = rehashed(lines[at], lambda body: body[:-65] + b"0" * 64 + b'"')
    elif how == "no mac":
        lines[at] = rehashed(lines[at], lambda body: body[:body.rindex(b',"mac":"')])
    elif how == "exchange":
        other = trail.directory / rng.choice(names)
        lines = [other.read_bytes()]
        other.write_bytes(data)
    elif how == "graft":
        lines.insert(to, rng.choice(trail.lines(rng.choice(names))))
    elif how == "junk":
        lines[at] = rng.choice([b"", b"{}", b"null", b"x" * 70000, b"\0", b"[" * 100]) + b"\n"
    trail.put_lines(lines, name)
    return how, name, at, to


@pytest.mark.parametrize("seed", range(4))
def test_any_change_is_first_seen_at_the_same_place_by_both(three_days, seed):
    """Lines are decoded many at a time; what is said of them is what one after the other says."""
    rng = random.Random(seed)
    before = {name: (three_days.directory / name).read_bytes() for name in three_days.days}
    for _ in range(12):
        done = tamper(rng, three_days)
        findings = [(f["kind"], f["file"], f["line"], f["seq"]) for f in three_days.verdict()["findings"]]
        faults, _ = verify.verify(three_days.directory)
        assert findings[:1] == faults[:1], (done, findings, faults)
        changed = any((three_days.directory / name).read_bytes() != data for name, data in before.items())
        assert bool(findings) == changed, (done, findings)
        for name, data in before.items():
            (three_days.directory / name).write_bytes(data)
    three_days.holds()


def test_lines_of_another_log(three_days, tmp_path):
    other = three_days.directory.parent / "mine"
    three_days.directory.rename(other)
    three_days.write("append", "6")
    foreign = three_days.lines()
    shutil.rmtree(three_days.directory)
    other.rename(three_days.directory)
    lines = three_days.lines()
    lines[3] = foreign[3]
    three_days.put_lines(lines)
    findings = three_days.verdict()["findings"]
    assert findings and findings[0]["line"] == 4


# Checkpoints and pruning.


def test_a_checkpoint_shows_that_a_log_was_rolled_back(three_days):
    kept = three_days.directory.parent / "kept"
    shutil.copytree(three_days.directory, kept)
    three_days.write("append", "3")
    answer = three_days.world.cordon_verb("audit", "verify", "--checkpoint", "--json").expect(0).json
    assert json.loads(answer["checkpoint"])["seq"] == 42
    assert three_days.holds()["checkpoints"] == 1
    # Log and head as they were before agree with each other.
    for name in ["head", "open", three_days.days[-1]]:
        (three_days.directory / name).write_bytes((kept / name).read_bytes())
    findings = three_days.verdict()["findings"]
    assert [f["kind"] for f in findings] == ["checkpoint"] and findings[0]["seq"] == 42


def test_a_forged_checkpoint(three_days):
    three_days.audit("verify", "--checkpoint")
    path = three_days.directory / "checkpoints.jsonl"
    good = path.read_bytes()
    path.write_bytes(good.replace(b'"seq":36', b'"seq":35'))
    assert [f["kind"] for f in three_days.verdict()["findings"]] == ["checkpoint"]
    path.write_bytes(good)
    three_days.holds()


def test_a_log_that_does_not_hold_is_not_signed(three_days):
    lines = three_days.lines()
    three_days.put_lines(lines[:-1])
    answer = three_days.world.cordon_verb("audit", "verify", "--checkpoint", "--json").expect(1).json
    assert answer["checkpoint"] is None
    assert not (three_days.directory / "checkpoints.jsonl").exists()


def test_pruning_keeps_a_log_that_holds(trail):
    trail.write("days", "-5", "0", "2")
    trail.audit("list")
    names = trail.days
    done = trail.audit("prune", "--keep-days", "2", "--json")
    assert done.json["records"] == 16 and [f"{d}.jsonl" for d in done.json["days"]] == names[:4]
    assert trail.days == names[4:]
    answer = trail.holds()
    assert answer["first_seq"] == 17 and answer["records"] == 9
    trail.write("append", "1")
    trail.holds()
    assert len(trail.audit("list", "--json").json["events"]) == 5
    # Again: nothing is old enough.
    trail.audit("prune", "--keep-days", "2", status=1)
    # Without the signature the beginning is simply missing.
    (trail.directory / "checkpoints.jsonl").unlink()
    findings = trail.verdict()["findings"]
    assert findings[0]["kind"] == "removal" and findings[0]["seq"] == 1


def test_an_interrupted_prune_leaves_a_log_that_holds(trail):
    trail.write("days", "-5", "0", "2")
    names = trail.days
    kept = {name: (trail.directory / name).read_bytes() for name in names}
    trail.audit("prune", "--keep-days", "2")
    for name in reversed(names[:4]):  # as if it had been stopped before it removed them
        path = trail.directory / name
        path.write_bytes(kept[name])
        path.chmod(0o600)
        trail.world.own(path)
        trail.holds()
    # Done again it ends.
    trail.audit("prune", "--keep-days", "2")
    assert trail.days == names[4:]
    trail.holds()


def test_pruning_never_takes_the_newest_day_nor_an_open_action(trail):
    trail.write("days", "-9", "-8", "1")
    trail.audit("prune", "--keep-days", "1")
    assert len(trail.days) >= 1
    assert trail.holds()["records"] >= 2


def test_a_tampered_log_is_not_pruned(three_days):
    name = three_days.days[0]
    lines = three_days.lines(name)
    three_days.put_lines(lines[1:], name)
    three_days.audit("prune", "--keep-days", "1", status=2)
    assert len(three_days.days) == 3


# Lines are keyed: hashes anybody can compute.


def forged_behind(line, **changes):
    """The next record after `line`, as somebody writes it who has no key."""
    record = json.loads(line)
    made = {**record, "seq": record["seq"] + 1, "prev": record["hash"],
            "event_id": record["event_id"][:-4] + "ffff", **changes}
    del made["hash"]
    body = json.dumps(made, separators=(",", ":"), ensure_ascii=False)[:-1].encode()
    return body + b',"hash":"' + hashlib.sha256(body).hexdigest().encode() + b'"}\n'


@pytest.mark.parametrize("mac", ["an old one", "none"])
def test_a_tail_cannot_be_written_without_the_key(trail, mac):
    """After a power cut the head may be an older one, so what stands behind it was taken at its word."""
    trail.write("earlier", "3", "closed")
    lines = trail.lines()
    [last] = [json.loads(lines[-1])]
    changes = {"metadata": {**last["metadata"], "pending_seq": None}}
    forged = forged_behind(lines[-1], **changes)
    if mac == "none":
        record = json.loads(forged)
        del record["mac"], record["hash"]
        body = json.dumps(record, separators=(",", ":"), ensure_ascii=False)[:-1].encode()
        forged = body + b',"hash":"' + hashlib.sha256(body).hexdigest().encode() + b'"}\n'
    trail.put_lines([*lines, forged])
    assert trail.fault()[0] == "edit"
    [error] = trail.write("append", "1", status=1)
    assert error[:2] == ["error", "audit"]
    assert trail.lines() == [*lines, forged], "the evidence was changed"
    trail.put_lines(lines)
    trail.holds()


def test_what_a_crash_left_behind_the_head_is_adopted_and_named(trail):
    trail.write("append", "2")
    head = (trail.directory / "head").read_bytes()
    writer = trail.start("open")
    opened = writer.stdout.readline().decode().split()[1]
    harness.stop(writer)
    # As if it had died between its record and the head.
    (trail.directory / "head").write_bytes(head)
    assert trail.write("recover") == [["lost", opened]]
    [note] = [r for r in trail.records() if r["phase"] == "note"]
    assert note["action"] == "audit.recovery" and note["seq"] == 6
    assert (note["metadata"]["adopted_from"], note["metadata"]["adopted_to"]) == (5, 5)
    assert note["metadata"]["cut_bytes"] == 0 and note["metadata"]["lost_from"] is None
    trail.holds()


def test_a_log_of_the_previous_release_is_read_and_continued(trail):
    """Stored as that release wrote it: without a mac."""
    trail.directory.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(Path(__file__).parent / "old_log", trail.directory)
    trail.directory.chmod(0o700)
    for path in [trail.directory.parent, trail.directory, *trail.directory.iterdir()]:
        trail.world.own(path)
        if path.is_file():
            path.chmod(0o600)
    for path in (trail.world.home / ".local", trail.world.home / ".local/state"):
        trail.world.own(path)
    trail.directory.parent.chmod(0o700)
    before = trail.holds()["records"]
    assert before == 8 and "mac" not in trail.records()[0]
    trail.write("append", "1")
    assert trail.holds()["records"] == before + 2
    assert "mac" in trail.records()[-1]
    # From there on a line without one is not believed.
    lines = trail.lines()
    record = json.loads(lines[-1])
    del record["mac"], record["hash"]
    body = json.dumps(record, separators=(",", ":"), ensure_ascii=False)[:-1].encode()
    trail.put_lines([*lines[:-1], body + b',"hash":"' + hashlib.sha256(body).hexdigest().encode()
                     + b'"}\n'])
    assert trail.fault()[0] == "edit"
