"""list, show, tail, stats, export: what they answer, and that nothing in a log can harm them."""

import csv
import io
import json
import os
import shutil
import time
from datetime import datetime, timedelta
from html.parser import HTMLParser

import pytest

import ocsf
from support import harness

pytestmark = pytest.mark.once


@pytest.fixture
def busy(trail):
    trail.write("days", "-1", "0", "6")
    trail.write("canary", "x")
    return trail


def events(trail, *words, status=0):
    return trail.audit("list", "--json", *words, status=status).json["events"]


def test_without_a_log(trail):
    assert events(trail, status=1) == []
    assert trail.audit("list", status=1).out == "nothing is recorded yet\n"
    for verb in (["show", "1"], ["show", "last"], ["tail"], ["stats"], ["verify"], ["export"],
                 ["prune", "--keep-days", "1"]):
        done = trail.audit(*verb, status=1)
        assert "no audit log" in done.err
    assert not trail.directory.exists(), "asking makes nothing"


def test_list_is_newest_first_and_pairs_records(busy):
    found = events(busy)
    assert len(found) == 14
    numbers = [event["seq"] for event in found]
    assert numbers == sorted(numbers, reverse=True)
    assert {event["outcome"] for event in found} == {"success", "failure"}
    assert found[0]["reason"] == "refused" and found[0]["error_kind"] == "policy"
    text = busy.audit("list").out
    assert len(text.splitlines()) == 15 and text.splitlines()[0].split()[0] == "SEQ"


def test_a_list_is_of_the_newest_twenty(busy):
    busy.write("append", "30")
    done = busy.audit("list")
    assert len(done.out.splitlines()) == 21 and "--limit" in done.err, done.account()
    rows = [int(line.split()[0]) for line in done.out.splitlines()[1:]]
    assert rows == [event["seq"] for event in events(busy)][:20]
    done = busy.audit("list", "--limit", "25")
    assert len(done.out.splitlines()) == 26 and done.err == "", done.account()
    assert len(events(busy)) == 44


def test_times_are_those_of_the_persons_clock(busy):
    begun = events(busy)[0]["begun"]
    local = datetime.fromisoformat(begun.replace("Z", "+00:00")) + timedelta(hours=5, minutes=30)
    head, first = busy.audit("list", env={"TZ": "IST-05:30"}).out.splitlines()[:2]
    assert "BEGUN (IST)" in head and local.strftime("%Y-%m-%d %H:%M:%S") in first


def test_what_was_denied(busy):
    found = events(busy, "--denied")
    assert found and found == [event for event in events(busy) if event["denials"] or event["reason"] == "denied"]
    assert "1 denied" in busy.audit("list", "--denied").out


def test_an_empty_list_says_so(busy):
    assert busy.audit("list", "--denied", "--tool", "absent", status=1).out == "nothing was denied\n"
    assert busy.audit("list", "--tool", "absent", status=1).out == "nothing that is recorded fits\n"
    for option in ("--tool", "--agent", "--session-id"):
        refused = busy.audit("list", option, "", status=2)
        assert refused.out == "" and f"{option} has an empty value" in refused.err, refused.account()


@pytest.mark.parametrize("words,count", [
    (["--outcome", "success"], 5), (["--outcome", "failure"], 9), (["--outcome", "timeout"], 4),
    (["--outcome", "refused"], 1), (["--tool", "run"], 12), (["--limit", "3"], 3),
    (["--since", "1h"], 8), (["--until", "1h"], 6), (["--since", "3d"], 14),
    (["--path", "/home/somebody/project"], 12), (["--path", "@nowhere"], 0),
    (["--since", "2d", "--outcome", "exit"], 4)])
def test_filters(busy, words, count):
    assert len(events(busy, *words, status=0 if count else 1)) == count


def test_filters_by_day(busy):
    day = busy.days[-1].removesuffix(".jsonl")
    before = busy.days[0].removesuffix(".jsonl")
    assert len(events(busy, "--since", day)) == 8
    assert len(events(busy, "--until", before)) == 6
    assert len(events(busy, "--since", before, "--until", day)) == 14


@pytest.mark.parametrize("words", [["--since", "yesterday"], ["--limit", "0"], ["--limit", "x"],
                                   ["--outcome", "maybe"], ["--until", "2026-13-01"], ["operand"]])
def test_bad_filters_are_usage_errors(busy, words):
    busy.audit("list", *words, status=2)


def test_show(busy):
    event = events(busy)[3]
    for name in (event["event_id"], str(event["seq"]), event["event_id"][:23]):
        shown = busy.audit("show", "--json", name).json
        assert shown["event_id"] == event["event_id"]
        assert shown["pending"]["seq"] == event["seq"]
        assert shown["closing"]["metadata"]["pending_seq"] == event["seq"]
    assert event["event_id"] in busy.audit("show", str(event["seq"])).out
    assert busy.audit("show", "--json", "last").json["seq"] == events(busy)[0]["seq"]
    busy.audit("show", "999999", status=1)
    busy.audit("show", "%", status=1)
    busy.audit("show", "0", status=2)  # begins all of them
    assert busy.audit("show").out == busy.audit("show", "-1").out == busy.audit("show", "last").out
    assert busy.audit("show", "--json", "-2").json["seq"] == events(busy)[1]["seq"]
    busy.audit("show", "1", "2", status=2)


def test_tail_shows_the_last_and_follows(busy):
    assert len(busy.audit("tail").out.splitlines()) == 10
    assert len(busy.audit("tail", "--limit", "100").out.splitlines()) == 27
    lines = busy.audit("tail", "--json", "--limit", "2").out.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [26, 27]
    follower = busy.world.start([busy.world.cordon, "audit", "tail", "-f", "--json", "--limit", "1"])
    assert json.loads(follower.stdout.readline())["seq"] == 27
    busy.write("append", "2")
    assert [json.loads(follower.stdout.readline())["seq"] for _ in range(4)] == [28, 29, 30, 31]
    busy.write("days", "1", "1", "1")
    assert json.loads(follower.stdout.readline())["seq"] == 32, "a new day was not noticed"
    harness.stop(follower)


def test_stats(busy):
    answer = busy.audit("stats", "--json").json
    assert answer["all"]["actions"] == 14 and answer["all"]["refusals"] == 1
    assert answer["all"]["denials"] == 1
    assert sum(row["actions"] for row in answer["days"].values()) == 14
    assert len(answer["days"]) == 2
    text = busy.audit("stats").out
    assert "14 actions" in text and "#" in text and "█" not in text
    assert busy.audit("stats", "--json", "--outcome", "timeout").json["all"]["actions"] == 4


def test_stats_of_files(busy, world):
    """What other hosts exported is summed up as one's own log is, whatever the order and however often it is named."""
    own = busy.audit("stats", "--json").json
    files = [world.write(world.outside / day, (busy.directory / day).read_bytes()) for day in busy.days]
    for named in (files, files[::-1], files * 2):
        assert busy.audit("stats", "--json", *named).json == own
    assert busy.audit("stats", "--json", "--outcome", "timeout", *files).json["all"]["actions"] == 4
    exported = world.write(world.outside / "export.jsonl", busy.audit("export").out)
    shutil.rmtree(busy.directory)
    assert busy.audit("stats", "--json", exported).json == own
    assert not busy.directory.exists(), "asking makes nothing"
    # An action that ends in another file than it began in is one action, in either order.
    for name, kept in (("begun", '"phase":"pending"'), ("ended", '"phase":"closing"')):
        text = exported.read_text().splitlines(keepends=True)
        world.write(world.outside / name, "".join(line for line in text if kept in line))
    halves = [world.outside / "begun", world.outside / "ended"]
    for named in (halves, halves[::-1]):
        assert busy.audit("stats", "--json", *named).json == own
    # What is no record is not counted, and told.
    torn = exported.read_bytes()[:-5] + b"\nno record\n"
    done = busy.audit("stats", "--json", world.write(world.outside / "torn", torn))
    assert "2 line(s) are no records" in done.err, done.account()
    for bad in (world.write(world.outside / "text", "hello\n"), world.outside / "missing", world.outside):
        said = busy.audit("stats", bad, status=2).err
        assert str(bad) in said, said


def test_stats_count_what_a_limit_ended(busy):
    answer = busy.audit("stats", "--json").json
    assert answer["all"]["limits"] == 4 == answer["outcomes"]["timeout"]["limits"]
    assert answer["outcomes"]["exit"]["limits"] == 0
    assert "4 ended by a limit" in busy.audit("stats").out


def test_stats_draw_blocks_on_a_terminal(busy):
    controller, terminal = os.openpty()
    process = busy.world.start([busy.world.cordon, "audit", "stats"], stdout=terminal)
    os.close(terminal)
    shown = b""
    while True:
        try:
            piece = os.read(controller, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    process.communicate()
    os.close(controller)
    assert "█" in shown.decode()


def test_exported_records_are_those_of_the_files(busy):
    exported = busy.audit("export").out.encode().splitlines(keepends=True)
    stored = [line for day in busy.days for line in busy.lines(day)]
    assert sorted(exported) == sorted(stored)


def test_export_as_csv(busy):
    rows = list(csv.DictReader(io.StringIO(busy.audit("export", "--format", "csv").out)))
    assert len(rows) == 14 and [int(r["seq"]) for r in rows] == sorted(int(r["seq"]) for r in rows)
    assert rows[-1]["reason"] == "refused" and rows[0]["outcome"] == "success"
    last = list(csv.DictReader(io.StringIO(
        busy.audit("export", "--format", "csv", "--limit", "2").out)))
    assert last == rows[-2:]


def test_export_as_ocsf(busy):
    found = [json.loads(line) for line in busy.audit("export", "--format", "ocsf").out.splitlines()]
    assert len(found) == 14
    for event in found:
        ocsf.check(event)
        assert event["metadata"]["product"]["name"] == "Cordon" and event["time"] > 10 ** 12
        assert event["device"]["name"] == os.uname().nodename
    assert found[-1]["status_id"] == 2 and found[-1]["status_detail"] == "refused"
    busy.audit("export", "--format", "xml", status=2)


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.rows, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        self.text += data
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.strip()


def test_export_as_a_page(busy):
    out = busy.audit("export", "--format", "html").out
    page = Page()
    page.feed(out)
    assert {"script", "img", "iframe", "link", "a"}.isdisjoint(page.tags) and "default-src 'none'" in out
    assert "14 actions on 2 days" in page.text and page.tags.count("meter") >= 4
    one_by_one = page.rows[[row[:1] for row in page.rows].index(["When"]) + 1:]
    assert len(one_by_one) == 14
    # The newest first, with the ids that `show` takes.
    assert [row[-1] for row in one_by_one] == [event["event_id"] for event in events(busy)]
    busy.audit("show", one_by_one[0][-1])
    assert "no such action" in busy.audit("export", "--format", "html", "--tool", "absent", status=1).out


# The index proves nothing and may be anything.


@pytest.mark.parametrize("trouble", ["gone", "garbage", "empty", "half", "loose"])
def test_a_bad_index_is_made_anew(busy, trouble):
    index = busy.directory / "index.sqlite"
    before = events(busy)
    if trouble == "gone":
        index.unlink()
    elif trouble == "garbage":
        index.write_bytes(b"not a database at all" * 400)
    elif trouble == "empty":
        index.write_bytes(b"")
    elif trouble == "half":
        index.write_bytes(index.read_bytes()[:6000])
    else:
        index.chmod(0o644)
    assert events(busy) == before


def test_an_index_of_another_log_is_made_anew(busy):
    events(busy)
    other = (busy.directory / "index.sqlite").read_bytes()
    busy.directory.rename(busy.directory.parent / "mine")
    busy.write("append", "1")
    (busy.directory / "index.sqlite").write_bytes(other)
    os.chmod(busy.directory / "index.sqlite", 0o600)
    busy.world.own(busy.directory / "index.sqlite")
    assert len(events(busy)) == 1


def test_the_index_follows_what_is_appended(busy):
    assert len(events(busy)) == 14
    busy.write("append", "2")
    assert len(events(busy)) == 16
    busy.write("days", "1", "1", "1")
    assert len(events(busy)) == 17


def test_an_index_cannot_fool_verify(busy):
    events(busy)
    lines = busy.lines()
    busy.put_lines(lines[:-1])
    busy.audit("verify", status=1)


def test_queries_at_once(busy):
    processes = [busy.world.start([busy.world.cordon, "audit", "list", "--json"]) for _ in range(8)]
    for process in processes:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0 and len(json.loads(out)["events"]) == 14, err


# A log that somebody wrote to.


def test_nothing_in_a_log_reaches_the_terminal(busy):
    with open(busy.directory / busy.days[-1], "ab") as day:
        day.write(b'{"v":1,"x":"\x1b]0;owned\x07\x9b31m \xe2\x80\xae"}\n')
        day.write(b"\x1b[2J" * 50 + b"\n")
    for words, status in ((["list"], 0), (["tail"], 0), (["tail", "--json"], 0), (["stats"], 0),
                          (["verify"], 1), (["show", "1"], 0)):
        done = busy.audit(*words, status=status)
        assert "\x1b" not in done.out + done.err and "\u202e" not in done.out + done.err


def test_huge_and_odd_files_do_not_break_reading(busy):
    path = busy.directory / busy.days[-1]
    good = path.read_bytes()
    for odd in (b"", b"\n" * 1000, b"\0" * 100000, b"x" * (1 << 20), b"[" * 50000 + b"\n",
                good + b"y" * (3 << 20) + b"\n" + good):
        path.write_bytes(odd)
        began = time.monotonic()
        busy.audit("verify", status=1)
        busy.world.cordon_verb("audit", "list")
        assert time.monotonic() - began < 60
