"""cordon fleet report: what many hosts did, on one page and as JSON."""

import html.parser
import json
import os
import re
import resource
import signal
import subprocess

import fleet
import jsonschema
import made_records as made
import pytest

from support import harness

pytestmark = pytest.mark.once

MARK = '<meta name="generator" content="cordon.fleet-report/1">'


def report(world, *words, status=0, **how):
    return world.cordon_verb("fleet", "report", *words, timeout=fleet.HOUR, **how).expect(status)


def sums(world, *words, status=0):
    done = report(world, "--json", *words, status=status)
    schema = world.cordon_verb("policy", "schema", "fleet-report").expect(0).json
    jsonschema.validate(done.json, schema)
    return done.json


def put(world, name, text):
    return world.write(world.project / name, text)


def rows(table, key="name"):
    return {row[key]: row for row in table["rows"]}


def page(world, *words, status=0, name="fleet.html"):
    place = world.project / name
    report(world, *words, place, status=status)
    text = place.read_text()
    assert text.startswith("<!DOCTYPE html>") and MARK in text[:512] and text.endswith("</html>\n")
    return text


class Elements(html.parser.HTMLParser):
    """What a browser makes of a page: its elements, their attributes, and the text between them."""

    def __init__(self, text):
        super().__init__()
        self.names, self.attributes, self.words = set(), [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


# What is counted.

def test_one_log_is_summed_up(world):
    log = put(world, "node1.jsonl", made.busy())
    found = sums(world, "--from", log)
    assert found["all"] == {"actions": 8, "failures": 5, "refusals": 2, "denials": 2, "limits": 2, "duration_ms": 30_070}
    assert (found["records"], found["commands"], found["pending"]) == (14, 7, 0)
    assert rows(found["nodes"]).keys() == {"node1"} and rows(found["nodes"])["node1"]["connections"] == 4
    assert {name: row["actions"] for name, row in rows(found["tools"]).items()} == {"run": 6, "run_code": 1, "request": 1}
    assert rows(found["agents"])["claude"]["actions"] == 1
    assert {name: row["actions"] for name, row in rows(found["outcomes"]).items()} == {
        "success": 3, "exit": 1, "timeout": 1, "limit": 1, "refused": 1, "denied": 1}
    assert rows(found["denials"], "what")["connect"] == {"what": "connect", "layer": "broker", "rule": "gist.github.com",
                                                         "count": 2, "nodes": 1}
    assert {(row["reason"], row["error_kind"]) for row in found["refusals"]["rows"]} == {("refused", "policy"),
                                                                                         ("denied", "policy")}
    assert {row["limit"]: row["count"] for row in found["limits"]["rows"]} == {"wall clock": 1, "memory": 1}
    reached = rows(found["hosts"], "rule")["packages.example.com:443"]
    assert reached == {"rule": "packages.example.com:443", "address": "198.51.100.7", "port": "443", "count": 3,
                       "sent": 300, "received": 6144, "nodes": 1}
    [request] = found["requests"]["rows"]
    assert (request["rule"], request["method"], request["count"], request["received"]) == (
        "GET api.github.com/repos/**", "GET", 1, 5000)
    assert found["time"]["unit"] == "hour" and sum(row["actions"] for row in found["time"]["rows"]) == 8
    # The page has the same, and says it in words.
    shown = Elements(page(world, "--from", log)).text
    for word in ("packages.example.com:443", "gist.github.com", "GET api.github.com/repos/**", "wall clock", "run_code",
                 "node1", "198.51.100.7", "8 actions", "1 node"):
        assert word in shown, word


def test_what_was_done_really_is_in_it(world):
    """The log of real runs, against what `audit stats` says of it."""
    world.run("true").expect(0)
    world.run("sh", "-c", "exit 3").expect(3)
    world.run("sleep", "600", options=["--timeout", "200ms"]).expect(124)
    world.run("true", options=["--read", "/no such place"]).expect(125)
    log = put(world, "real.jsonl", world.cordon_verb("audit", "export").expect(0).out)
    found, own = sums(world, "--from", log), world.cordon_verb("audit", "stats", "--json").expect(0).json
    assert found["all"] == own["all"] and found["all"]["actions"] == 4
    assert {name: {key: row[key] for key in own["all"]} for name, row in rows(found["outcomes"]).items()} == own["outcomes"]
    assert "4 actions" in Elements(page(world, "--from", log)).text


def test_several_hosts_and_a_record_that_comes_twice(world):
    one, two = made.busy(1), made.busy(2)
    files = [put(world, f"node{i}.jsonl", text) for i, text in ((1, one), (2, two))]
    found = sums(world, "--from", files[0], "--from", files[1])
    assert found["all"]["actions"] == 16 and rows(found["nodes"]).keys() == {"node1", "node2"}
    assert rows(found["hosts"], "rule")["packages.example.com:443"]["nodes"] == 2
    # Twice the same file, and records in another order.
    again = sums(world, "--from", files[0], "--from", files[0])
    assert again["all"]["actions"] == 8
    turned = put(world, "turned.jsonl", "".join(f"{line}\n" for line in reversed(one.splitlines())))
    assert sums(world, "--from", turned)["all"] == again["all"]
    # Two files of one name are two hosts.
    for place in ("a", "b"):
        world.make_directory(world.project / place)
    same = [put(world, f"{place}/log.jsonl", text) for place, text in (("a", one), ("b", two))]
    assert rows(sums(world, "--from", same[0], "--from", same[1])["nodes"]).keys() == set(map(str, same))
    assert rows(sums(world, "--from", files[0], "--from", files[1], "--node", "node2")["nodes"]).keys() == {"node2"}


def test_a_time_is_asked_for(world):
    log = put(world, "node1.jsonl", made.export(made.action(1, back=100), made.action(3, back=3), made.action(5, back=1)))
    assert sums(world, "--from", log)["all"]["actions"] == 3
    assert sums(world, "--from", log, "--since", "2h")["all"]["actions"] == 1
    assert sums(world, "--from", log, "--until", "2h")["all"]["actions"] == 2
    for word in ("--since", "--until"):
        assert "not a time" in report(world, "--json", "--from", log, word, "yesterday", status=2).err


@pytest.mark.parametrize("hours,unit", [(50, "hour"), (24 * 60, "day"), (24 * 800, "month")])
def test_time_has_the_width_that_nearly_all_fits_into(world, hours, unit):
    spread = [made.action(1 + 2 * i, back=1 + i * hours / 200) for i in range(200)]
    # One clock was at its beginning, as those of small boards are; another is years ahead.
    spread += [made.action(1001, back=24 * 365 * 40), made.action(1003, back=-24 * 365 * 3)]
    found = sums(world, "--from", put(world, "node1.jsonl", made.export(*spread)))
    assert found["time"]["unit"] == unit
    assert found["time"]["in_the_future"]["actions"] == 1
    assert sum(row["actions"] for row in found["time"]["rows"]) + found["time"]["earlier"]["actions"] == 201
    [node] = found["nodes"]["rows"]
    assert node["clock_ahead_ms"] > 2 * 365 * 86_400_000
    shown = Elements(page(world, "--from", log_of(world))).text
    assert "ahead" in shown and "in the future of this host" in shown


def log_of(world):
    return world.project / "node1.jsonl"


# What it may not become.

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;\x1b[31m\u202e"


def test_nothing_of_a_record_becomes_markup(world):
    text = made.export(
        made.action(1, tool=HOSTILE, agent=HOSTILE, reason="exit", denials=[made.denial(HOSTILE, HOSTILE, HOSTILE)],
                    connections=[made.connection(HOSTILE, HOSTILE)]),
        made.action(3, name="request", http={"rule": HOSTILE, "method": HOSTILE}, answer={"status": 1}),
        made.action(5, name=HOSTILE), made.action(7, reason="limit", denials=[made.denial(HOSTILE, "x")]))
    log = put(world, "node<b>1&.jsonl", text)
    whole = page(world, "--from", log)
    seen = Elements(whole)
    assert not seen.names & {"script", "img", "b", "iframe", "object", "link"}, seen.names
    assert not [name for name, _ in seen.attributes if name.startswith("on") or name in ("src", "href")]
    assert "\x1b" not in whole and "\u202e" not in whole
    # The control: the same text is there, for people to read.
    assert seen.text.count("<script>alert(1)</script>") >= 8 and "node<b>1&" in seen.text
    assert "default-src 'none'" in whole
    found = sums(world, "--from", log)
    assert found["agents"]["rows"][0]["name"].startswith("<script>")


def test_a_record_of_other_types_and_numbers_counts_as_little_as_it_says(world):
    """The chain holds whatever a node writes: what is no number counts as nothing, and none makes a sum wrap."""
    end = {"pending_seq": 1, "duration_ms": -5, "denials": "none", "denial_count": 2**62, "connections": [7, {"allowed": True}]}
    event = "01a1dde0-94df-7000-8000-000000000001"
    text = made.export([made.line(1, "pending", {"tool": 7, "http": []}, event=event),
                        made.line(2, "closing", end, event=event)] * 1)
    found = sums(world, "--from", put(world, "odd.jsonl", text))
    assert found["all"]["actions"] == 1 and found["all"]["duration_ms"] == 0 and found["all"]["denials"] == 2**43
    page(world, "--from", world.project / "odd.jsonl")


def test_tables_are_bounded_and_say_what_is_left_out(world):
    many = [made.action(1 + 2 * i, tool=f"tool{i}", connections=[made.connection(f"host{i}.example.com:443")])
            for i in range(130)]
    log = put(world, "many.jsonl", made.export(*many))
    found = sums(world, "--from", log)
    assert len(found["tools"]["rows"]) == 50 and found["tools"]["left_out"]["names"] == 80
    assert found["tools"]["left_out"]["actions"] == 80 and not found["tools"]["left_out"]["more_names"]
    assert found["hosts"]["left_out"]["count"] == 80
    shown = Elements(page(world, "--from", log)).text
    assert "The first 50 of 130; the other 80 are left out, with 80 actions" in shown
    assert "The first 50 of 130; the other 80 are left out, with 80 connections" in shown


# What is no export of a log.

def refused(world, *words):
    """With an older page in its place, which stays as it was."""
    place = world.project / "old.html"
    if not place.exists():
        put(world, "good.jsonl", made.busy())
        report(world, "--from", world.project / "good.jsonl", place)
    before = place.read_bytes()
    done = report(world, *words, place, status=2)
    assert done.out == "" and place.read_bytes() == before
    assert sorted(path.name for path in world.project.iterdir() if path.name.startswith(".cordon-report")) == []
    return done.err


NO_EXPORT = {"words": "hello\n", "object": "{}\n", "csv": "seq,event_id\r\n1,2\r\n", "third": "\n\n[1]\n",
             "page": "<!DOCTYPE html>\n", "endless": "x" * 300_000, "half": '{"node":"a","seq":1}\n', "zeros": "\0" * 100}


@pytest.mark.parametrize("text", NO_EXPORT.values(), ids=NO_EXPORT.keys())
def test_a_file_that_is_no_export_is_named_with_its_line(world, text):
    log = put(world, "other.jsonl", text)
    said = refused(world, "--from", log)
    number = 3 if text.startswith("\n") else 1
    assert f"other.jsonl:{number}:1: this is no export of an audit log" in said and "cordon audit export" in said, said


def test_a_bad_line_in_the_middle_is_named_with_what_to_do(world):
    lines = made.busy().splitlines()
    for bad in ("garbage", lines[5].replace("closing", "pending"), lines[5][:-20], lines[5] + lines[6]):
        log = put(world, "a log.jsonl", "\n".join([*lines[:5], bad, *lines[6:]]) + "\n")
        said = refused(world, "--from", log)
        assert "a log.jsonl:6:1: this line is no record of an audit log" in said, said
        # What it says to do works.
        command = re.search(r"sed 6d .*COPY.jsonl", said)
        world.execute(["/bin/sh", "-c", command.group(0)], cwd=world.project).expect(0)
        sums(world, "--from", world.project / "COPY.jsonl")
        (world.project / "COPY.jsonl").unlink()
    log = put(world, "cut.jsonl", made.busy()[:-30])
    assert "the file ends in the middle of a record" in refused(world, "--from", log)
    # The control: without the newline at its end a file is whole.
    assert sums(world, "--from", put(world, "whole.jsonl", made.busy().rstrip("\n")))["all"]["actions"] == 8


def test_what_cannot_be_read_is_told(world):
    assert "No such file" in refused(world, "--from", world.project / "absent.jsonl")
    assert "is a directory" in refused(world, "--from", world.project)
    assert "holds a password" in refused(world, "--from", "postgresql://me:hunter2@db.example.org/audit")


def test_bad_words(world):
    log = put(world, "node1.jsonl", made.busy())
    for words, said in (([], "--from"), (["--from", log], "name the page"), (["--from", log, "a.html", "b.html"], "b.html"),
                        (["--from", log, "sums.json"], "--json"), ([log, "fleet.html"], "--from"),
                        (["--from", log, "no such place/fleet.html"], "directory"), (["--from", log, world.project], "directory")):
        done = report(world, *words, status=2)
        assert said in done.err and done.out == "", done.account()


# Where it goes.

def test_nothing_but_an_older_page_is_replaced(world):
    log = put(world, "node1.jsonl", made.busy())
    run_page = world.project / "run.html"
    world.run("true", options=["--report", run_page]).expect(0)
    other = put(world, "other.html", "<!DOCTYPE html><html></html>\n")
    for place in (run_page, other, put(world, "records.html", made.busy())):
        before = place.read_bytes()
        done = report(world, "--from", log, place, status=2)
        assert "not a page of cordon fleet report, so it is not replaced" in done.err, done.account()
        assert place.read_bytes() == before
    link = world.project / "link.html"
    link.symlink_to(world.outside / "target")
    assert "symlink" in report(world, "--from", log, link, status=2).err
    # The controls: an older page, an empty file, and what is written to as it is.
    place = world.project / "fleet.html"
    first = page(world, "--from", log)
    put(world, "node1.jsonl", made.busy() + made.export(made.action(101)))
    assert page(world, "--from", log) != first and "9 actions" in Elements(place.read_text()).text
    place.write_text("")
    page(world, "--from", log)
    assert MARK in report(world, "--from", log, "/dev/stdout").out
    # A page of a fleet is no report of a run either.
    world.run("true", options=["--report", place]).expect(125)
    assert MARK in place.read_text()


def test_nothing_recorded_is_a_page_that_says_so(world):
    empty = put(world, "empty.jsonl", "")
    text = page(world, "--from", empty, status=1)
    assert "Nothing is recorded there." in Elements(text).text
    assert "nothing is recorded" in report(world, "--json", "--from", empty, status=1).err
    log = put(world, "node1.jsonl", made.busy())
    assert sums(world, "--from", log, "--node", "nobody", status=1)["all"]["actions"] == 0


def test_records_come_through_a_pipe(world):
    world.write(world.project / "node1.jsonl", made.busy())
    script = 'cat node1.jsonl | "$0" fleet report --from /dev/stdin --json'
    done = world.execute(["/bin/sh", "-c", script, world.cordon], cwd=world.project).expect(0)
    assert done.json["all"]["actions"] == 8


@pytest.mark.only("root")
def test_a_full_disk_leaves_the_older_page(world):
    world.write(world.project / "node1.jsonl", made.busy())
    place = world.make_directory(world.outside / "small")
    script = f"""set -e
mount -t tmpfs -o size=64k,mode=0700 tmpfs {place}
cd {world.project}
{world.cordon} fleet report --from node1.jsonl {place}/fleet.html 2>/dev/null; echo "first $?"
cp {place}/fleet.html {world.outside}/first
dd if=/dev/zero of={place}/ballast bs=1k count=200 2>/dev/null || true
set +e
{world.cordon} fleet report --from node1.jsonl {place}/fleet.html; echo "full $?"
cmp {place}/fleet.html {world.outside}/first; echo "same $?"
ls -A {place} | grep -c cordon-report; echo "left over"
rm {place}/ballast
{world.cordon} fleet report --from node1.jsonl {place}/fleet.html 2>/dev/null; echo "again $?"
"""
    done = world.execute(["unshare", "-m", "sh", "-c", script])
    for word in ("first 0", "full 2", "same 0", "0\nleft over", "again 0"):
        assert word in done.out, done.account()
    assert "cannot write the report file" in done.err and "No space left on device" in done.err, done.account()


def test_an_answer_that_cannot_be_written_is_an_error(world):
    log = put(world, "node1.jsonl", made.busy())
    with open("/dev/full", "w") as full:
        done = world.cordon_verb("fleet", "report", "--json", "--from", log, stdout=full).expect(2)
    assert "cannot write the answer" in done.err


# Of a database.

def asked(node, *words, status=0):
    return report(node.world, "--from", node.database.url(node.database.reader), *words, status=status)


def test_a_database_is_asked(node):
    node.trail.write("days", "-1", "0", "6")
    node.trail.write("canary", "x")
    node.ship("--once")
    url = node.database.url(node.database.reader)
    found = sums(node.world, "--from", url)
    own = node.trail.audit("stats", "--json").json
    assert found["all"] == own["all"] and rows(found["nodes"]).keys() == {node.name}
    assert found["from"] == [url] and found["unreadable"]["count"] == 0
    place = node.world.project / "fleet.html"
    asked(node, place)
    assert node.name in Elements(place.read_text()).text
    # The same through a file, which holds each line as it was written.
    exported = node.ask("export").out
    [lines] = [[json.loads(line) for line in exported.splitlines()]]
    assert [one["node"] for one in lines] == [node.name] * len(lines)
    kept = [line.encode().split(b',"record":', 1)[1][:-1] for line in exported.splitlines()]
    assert set(kept) <= set(node.written) and len(kept) == sum(b'"phase":"note"' not in one for one in node.written)
    through = sums(node.world, "--from", put(node.world, "fleet.jsonl", exported))
    assert {**through, "from": 0} == {**found, "from": 0}
    assert sums(node.world, "--from", url, "--since", "12h")["all"] == node.trail.audit(
        "stats", "--json", "--since", "12h").json["all"]
    assert sums(node.world, "--from", url, "--node", "nobody", status=1)["all"]["actions"] == 0


def test_an_export_of_a_fleet_is_asked_for_as_a_list_is(node):
    node.trail.write("days", "-1", "0", "6")
    node.ship("--once")
    for words in ([], ["--outcome", "timeout"], ["--limit", "3"], ["--since", "1d", "--tool", "run"]):
        listed = node.ask("list", "--json", *words).json["events"]
        exported = [json.loads(line) for line in node.ask("export", *words).out.splitlines()]
        assert len(exported) == 2 * len(listed), words
        assert {one["record"]["event_id"] for one in exported} == {one["event_id"] for one in listed}, words
        assert [one["seq"] for one in exported] == sorted(one["seq"] for one in exported)
    assert node.ask("export", "--outcome", "crash", status=1).out == ""
    for words, said in ((["--format", "csv"], "--format csv"), (["--path", "/usr"], "--path"), (["--agent", "x"], "--agent")):
        assert said in node.ask("export", *words, status=2).err


def test_several_nodes_and_a_hostile_one(node, world):
    """Whoever has a node writes what it likes as that node: it does not become markup, and stops no report."""
    node.trail.write("append", "4")
    node.ship("--once")
    other = fleet.Node(world, node.database)
    hostile = [*made.action(1, tool=HOSTILE, reason="exit", denials=[made.denial(HOSTILE)], back=-48), "no record at all",
               made.line(4, "pending", {}).replace(',"phase"', ',\n"phase"')]
    for seq, one in enumerate(hostile, 1):
        text = one.encode().hex()
        node.database.sql("INSERT INTO cordon.records (node, seq, line, at, phase, pending_seq) VALUES "
                          f"('{other.name}', {seq}, '\\x{text}', now(), '{'closing' if seq == 2 else 'pending'}', "
                          f"{1 if seq == 2 else 'NULL'})", other.name)
    done = asked(node, "--json")
    found = done.json
    assert "2 record(s) cannot be read" in done.err and "verify --from" in done.err
    assert found["unreadable"] == {"count": 2, "first": [{"node": other.name, "seq": 3}, {"node": other.name, "seq": 4}]}
    assert rows(found["nodes"])[node.name]["actions"] == 4 and rows(found["nodes"])[other.name]["actions"] == 1
    assert rows(found["nodes"])[other.name]["clock_ahead_ms"] > 40 * 3_600_000
    assert rows(found["nodes"])[node.name]["clock_ahead_ms"] == 0
    place = world.project / "fleet.html"
    asked(node, place)
    seen = Elements(place.read_text())
    assert "script" not in seen.names and "<script>alert(1)" in seen.text and "2 records of the database" in seen.text
    # Its lines stay lines of that node.
    lines = node.ask("export").out.splitlines()
    assert len(lines) == 8 + 4 and [json.loads(line)["record"] for line in lines[-2:]] == [None, None]


def test_a_database_that_is_away_or_ends_in_the_middle(node):
    node.trail.write("append", "400")
    node.ship("--once")
    place = node.world.project / "fleet.html"
    asked(node, place)
    before = place.read_bytes()
    node.database.server.kill()
    done = asked(node, place, status=2)
    assert "cannot reach" in done.err and node.database.name in done.err and done.err.count("cordon:") == 1, done.account()
    assert place.read_bytes() == before
    node.database.server.up()
    asked(node, place)
    # What a person without the role may not read is told, and a database that only reads is enough.
    done = report(node.world, "--from", node.url, place, status=2)
    assert "permission denied" in done.err, done.account()
    node.database.sql(f"ALTER DATABASE {node.database.name} SET default_transaction_read_only = on")
    asked(node, place)


def test_a_program_that_is_missing_is_named(node):
    alone = node.world.path / "alone"
    node.world.make_directory(alone)
    for name in ("cordon", "cordon-tools", "cordon-inside"):
        subprocess.run(["cp", node.world.cordon.parent / name, alone / name], check=True)
    log = put(node.world, "node1.jsonl", made.busy())
    words = [alone / "cordon", "fleet", "report", "--json", "--from"]
    assert "cannot start cordon-ship" in node.world.execute([*words, "postgresql:///x"]).expect(2).err
    node.world.execute([*words, log]).expect(0)


def test_a_long_log_is_summed_up_in_bounded_memory(world):
    """Actions of which each names a tool and a host of its own, in as much memory as is told here."""
    count = int(os.environ.get("CORDON_FLEET_RECORDS", "60000")) // 2
    place = world.project / "long.jsonl"
    with place.open("w") as out:
        for i in range(count):
            out.write(made.export(made.action(1 + 2 * i, tool=f"tool{i}", back=1 + i / 1000,
                                              connections=[made.connection(f"host{i}.example.com", "a" * 5000)])))
    world.own(place)
    bound = 512 << 20
    found = world.cordon_verb(
        "fleet", "report", "--json", "--from", place, timeout=fleet.HOUR,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (bound, bound))).expect(0).json
    assert found["all"]["actions"] == count
    left = found["tools"]["left_out"]
    assert left["more_names"] and left["names"] == 20_000 - 50 and left["actions"] == count - 50
    assert found["hosts"]["left_out"]["count"] == count - 50


def test_a_person_who_no_longer_waits_ends_it(node):
    """Both programs go, and nothing is left."""
    node.trail.write("append", "20")
    node.ship("--once")
    held = subprocess.Popen(["psql", "-X", "-q", "-h", str(node.database.server.directory), "-p",
                             str(node.database.server.port), "-U", "postgres", "-d", node.database.name],
                            stdin=subprocess.PIPE, text=True, env=fleet.ENVIRONMENT)
    held.stdin.write("BEGIN; LOCK TABLE cordon.records IN ACCESS EXCLUSIVE MODE;\n")
    held.stdin.flush()
    place = node.world.project / "fleet.html"
    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    locked = ("SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE mode = 'AccessExclusiveLock' "
              "AND granted AND datname = current_database() AND locktype = 'relation'")
    assert harness.wait_until(lambda: node.database.number(locked) > 0, fleet.LONG)
    waiting = node.world.start([node.world.cordon, "fleet", "report", "--from", node.database.url(node.database.reader), place],
                               start_new_session=True)
    assert harness.wait_until(lambda: node.database.number(waits) == 1, fleet.LONG)
    os.killpg(waiting.pid, signal.SIGTERM)
    waiting.communicate(timeout=fleet.LONG)
    assert waiting.returncode != 0 and not place.exists()
    assert harness.wait_until(lambda: not harness.processes_with(node.database.url(node.database.reader)), fleet.LONG)
    held.communicate("COMMIT;\n", timeout=fleet.LONG)
