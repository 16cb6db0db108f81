"""cordon audit ship and --from against a real PostgreSQL: what arrives, how often, and who may write what."""

import json
import os
import random
import shutil
import signal
import subprocess
import time

import fleet
import jsonschema
import pytest

from support import harness

pytestmark = pytest.mark.once


def validated(world, done):
    answer = done if isinstance(done, dict) else done.json
    name = answer["schema"].removeprefix("cordon.").removesuffix("/1")
    jsonschema.validate(answer, world.cordon_verb("policy", "schema", name).expect(0).json)
    return answer


# What arrives.

def test_records_arrive_as_they_are_and_once(node):
    node.trail.write("days", "-1", "0", "30")
    node.trail.write("canary", "x")
    first = validated(node.world, node.ship("--once"))
    assert (first["sent"], first["stored"], first["node"], first["complete"]) == (len(node.written), len(node.written),
                                                                                 node.name, True)
    assert node.stored == node.written
    again = node.ship("--once")
    assert (again["sent"], again["stored"], again["last_seq"]) == (0, 0, first["last_seq"])
    node.trail.write("append", "3")
    assert node.ship()["sent"] == 6
    # Without the file that tells how far it came everything is sent again, and nothing is stored twice.
    shutil.rmtree(node.positions)
    repeated = node.ship("--once")
    assert (repeated["sent"], repeated["stored"]) == (len(node.written), 0)
    assert node.stored == node.written
    assert node.database.number("SELECT count(*) FROM cordon.forks") == 0
    verdict = node.verdict()
    assert verdict["records"] == len(node.written) and verdict["signed_seq"] == verdict["last_seq"] == len(node.written)


def test_the_fleet_is_asked_as_one_log_is(node, world):
    node.trail.write("days", "-1", "0", "6")
    node.trail.write("canary", "x")
    node.ship("--once")
    for words in ([], ["--outcome", "timeout"], ["--denied"], ["--limit", "3"], ["--since", "1d", "--tool", "run"]):
        own = node.trail.audit("list", "--json", *words).json["events"]
        told = validated(world, node.ask("list", "--json", *words))["events"]
        assert {event.pop("node") for event in told} == {node.name}
        assert sorted(told, key=str) == sorted(own, key=str), words
    own = node.trail.audit("stats", "--json").json
    told = validated(world, node.ask("stats", "--json"))
    assert told.pop("nodes") == {node.name: own["all"]} and told == own
    assert node.name in node.ask("stats").out and node.name in node.ask("list").out
    assert "the log holds" in node.ask("verify").out
    validated(world, node.ask("verify", "--json"))
    assert json.loads(node.ask("list", "--json", "--node", "nobody", status=1).out)["events"] == []
    node.ask("verify", "--node", "nobody", status=2)
    for words in (["list", "--path", "/usr"], ["verify", "--checkpoint"], ["stats", "some-file"]):
        node.ask(*words, status=2)


def test_what_was_pruned_before_it_was_copied(node):
    """A log that was pruned before its node was enrolled is whole from there on; one pruned before it was copied has a
    gap, and it is told."""
    node.trail.write("days", "-3", "0", "5")
    node.trail.audit("prune", "--keep-days", "2")
    node.ship("--once")
    verdict = node.verdict()
    assert verdict["first_seq"] > 1 and verdict["records"] == len(node.written)
    node.trail.write("days", "1", "4", "5")
    kept = node.trail.days
    for day in kept[:-1]:
        (node.trail.directory / day).unlink()
    node.ship("--once")
    assert "removal" in node.kinds()


def test_a_day_of_large_records_is_left_behind_by_none_of_them(node):
    """What did not fit into the batch comes before the next day."""
    node.trail.write("days", "-1", "0", "2")
    node.trail.put_lines(fleet.LARGE_LINES, node.trail.days[0])
    node.ship("--once")
    # Two of these lines have one number: the second is a fork.
    assert node.database.number("SELECT (SELECT count(*) FROM cordon.records) + (SELECT count(*) FROM cordon.forks)"
                                ) == len(node.written)


def test_following_copies_what_is_written_meanwhile(node):
    node.trail.write("append", "2")
    follower = node.start("--follow", "--json")
    count = "SELECT count(*) FROM cordon.records"
    assert harness.wait_until(lambda: node.database.number(count) == 4, fleet.LONG)
    node.trail.write("append", "5")
    assert harness.wait_until(lambda: node.database.number(count) == 14, fleet.LONG)
    other = node.world.cordon_verb("audit", "ship", "--once", "--to", node.url).expect(2)
    assert "another cordon audit ship" in other.err
    follower.send_signal(signal.SIGTERM)
    out, err = follower.communicate(timeout=fleet.LONG)
    assert follower.returncode == 0 and json.loads(out)["sent"] == 14, err


# The database is away.

def test_a_database_that_is_away_is_told_and_waited_for(node):
    node.trail.write("append", "10")
    node.database.server.kill()
    done = node.world.cordon_verb("audit", "ship", "--once", "--json", "--to", node.url).expect(2)
    assert "cannot reach" in done.err and node.database.name in done.err and done.json["complete"] is False
    waiting = node.start("--json")
    assert b"nothing is lost" in waiting.stderr.readline()
    node.database.server.up()
    out, err = waiting.communicate(timeout=fleet.LONG)
    assert waiting.returncode == 0 and b"is back" in err and json.loads(out)["stored"] == 20, err
    assert node.stored == node.written


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_person_who_no_longer_waits_ends_it(node, number):
    node.trail.write("append", "2")
    node.database.server.kill()
    # A shell that starts this in the background has it ignore the first of them.
    waiting = node.start("--json", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert b"nothing is lost" in waiting.stderr.readline()
    waiting.send_signal(number)
    out, _ = waiting.communicate(timeout=fleet.LONG)
    assert waiting.returncode == 1 and json.loads(out)["complete"] is False


def test_a_database_that_takes_nothing_at_the_moment(node):
    node.trail.write("append", "2")
    node.database.sql(f"ALTER DATABASE {node.database.name} SET default_transaction_read_only = on")
    done = node.world.cordon_verb("audit", "ship", "--once", "--to", node.url).expect(2)
    assert "read-only" in done.err, done.account()
    waiting = node.start()
    assert b"read-only" in waiting.stderr.readline()
    node.database.sql(f"SET default_transaction_read_only = off; "
                      f"ALTER DATABASE {node.database.name} RESET default_transaction_read_only")
    assert waiting.wait(fleet.LONG) == 0
    waiting.communicate()
    assert node.stored == node.written


def test_nothing_is_lost_or_doubled_when_either_side_is_killed(node):
    """While a writer goes on, the shipper or the server is killed at a random moment, again and again."""
    kills = int(os.environ.get("CORDON_FLEET_KILLS", "6"))
    actions = int(os.environ.get("CORDON_FLEET_ACTIONS", "1500"))
    chance = random.Random(os.environ.get("CORDON_FLEET_SEED", "7"))
    node.trail.write("append", str(actions), timeout=2 * fleet.HOUR)
    writer = node.trail.start("forever", stdout=subprocess.DEVNULL)
    interrupted = 0
    try:
        for turn in range(kills):
            shipper = node.start("--follow")
            time.sleep(chance.uniform(0, 0.4))
            interrupted += shipper.poll() is None
            if turn % 2:
                node.database.server.kill()
                time.sleep(chance.uniform(0, 0.2))
                node.database.server.up()
            harness.stop(shipper)
            if turn % 3 == 0:
                shutil.rmtree(node.positions, ignore_errors=True)
    finally:
        harness.stop(writer)
    # The line that the writer was about to write may be torn: the next one tells it.
    node.trail.write("recover")
    node.trail.write("append", "1")
    assert interrupted == kills, "a shipper ended by itself"
    assert node.ship("--once", timeout=fleet.HOUR)["complete"]
    stored = node.stored_digests()
    assert stored == node.written_digests() and len(stored) > 2 * actions
    assert node.database.number("SELECT count(*) FROM cordon.forks") == 0
    assert node.verdict()["records"] == len(stored)
    node.trail.audit("verify", timeout=fleet.HOUR)


# What was done to a log is found.

def test_a_history_that_was_rolled_back_is_a_fork(node):
    node.trail.write("append", "4")
    kept = node.copy_of_log()
    node.trail.write("append", "6")
    node.ship("--once")
    before = node.stored
    assert node.verdict()["records"] == len(before)
    node.put_back(kept)
    node.trail.write("append", "6")
    done = node.world.cordon_verb("audit", "ship", "--once", "--to", node.url).expect(0)
    assert "no longer the one" in done.err
    assert node.stored == before, "what was stored first stays"
    assert node.database.number("SELECT count(*) FROM cordon.forks") == 12
    assert "fork" in node.kinds()
    assert "fork" in node.ask("verify", status=1).out


def edit(lines):
    lines[3] = lines[3].replace(b'"outcome":"', b'"outcome" :"')


def remove(lines):
    del lines[3]


def break_text(lines):
    lines[3] = b"\xff\x00" + lines[3]


@pytest.mark.parametrize("change,kind", [(edit, "edit"), (remove, "removal"), (break_text, "edit")])
def test_a_tampered_node_is_found(node, change, kind):
    node.trail.write("append", "4")
    lines = node.trail.lines()
    changed = list(lines)
    change(changed)
    node.trail.put_lines(changed)
    assert node.ship("--once")["complete"]
    assert kind in node.kinds()
    # The control: the same log as it was written, by another node of the same person.
    node.trail.put_lines(lines)
    node.database.sql(f"DELETE FROM cordon.records; DELETE FROM cordon.checkpoints WHERE node = '{node.name}'")
    shutil.rmtree(node.positions)
    node.ship("--once")
    node.verdict()


@pytest.mark.parametrize("statement,kind", [
    ("UPDATE cordon.records SET line = overlay(line placing 'x'::bytea from 40) WHERE seq = 3", "edit"),
    ("UPDATE cordon.records SET outcome = 'success' WHERE seq = 4", "columns"),
    ("UPDATE cordon.records SET denials = 0, reason = NULL, phase = NULL WHERE seq = 4", "columns"),
    ("DELETE FROM cordon.records WHERE seq = 3", "removal"),
    ("DELETE FROM cordon.records WHERE seq > 5", "truncation"),
    ("DELETE FROM cordon.records", "truncation"),
    ("UPDATE cordon.checkpoints SET line = overlay(line placing '9' from 14)", "checkpoint"),
    (f"UPDATE cordon.nodes SET public_key = '{'0' * 64}'", "checkpoint"),
    ("UPDATE cordon.nodes SET node = 'renamed'", "unknown-node")])
def test_what_the_database_was_changed_to_is_found(node, statement, kind):
    node.trail.write("append", "4")
    node.ship("--once")
    node.verdict()
    node.database.sql(statement)
    found = node.ask("verify", "--json", status=1).json
    assert kind in {finding["kind"] for one in found["nodes"] for finding in one["findings"]}, found


# Who may write what.

RECORD = "INSERT INTO cordon.records (node, seq, line) VALUES ('{}', {}, 'x')"
CHECKPOINT = "INSERT INTO cordon.checkpoints (node, line) VALUES ('{}', 'x')"


def test_a_node_can_add_and_nothing_else(node):
    node.trail.write("append", "2")
    node.ship("--once")
    assert "permission denied" in node.database.refused("SELECT * FROM cordon.actions", node.name)
    for table in ("records", "checkpoints", "forks", "nodes"):
        for statement in (f"SELECT * FROM cordon.{table}", f"DELETE FROM cordon.{table}", f"TRUNCATE cordon.{table}",
                          f"UPDATE cordon.{table} SET node = node"):
            assert "permission denied" in node.database.refused(statement, node.name), statement
    for statement in (RECORD.format(node.name, 90) + " RETURNING line", "SET ROLE cordon_read", "SET ROLE postgres",
                      "INSERT INTO cordon.records (node, seq, line, received) VALUES ('x', 1, 'x', now())",
                      f"INSERT INTO cordon.nodes (node, login, public_key) VALUES ('x', 'x', '{'0' * 64}')",
                      f"INSERT INTO cordon.forks (node, seq, line) VALUES ('{node.name}', 1, 'x')",
                      "SELECT cordon.take_record()", "CREATE TABLE cordon.t (i int)", "DROP SCHEMA cordon CASCADE"):
        node.database.refused(statement, node.name)
    assert node.stored == node.written
    # The control: what it may do, by the same way.
    node.database.sql(RECORD.format(node.name, 90), node.name)
    node.database.sql(CHECKPOINT.format(node.name), node.name)
    assert node.stored[-1] == b"x"
    # And somebody who reads reads, and adds nothing.
    reader = node.database.reader
    assert node.database.sql("SELECT count(*) FROM cordon.records", reader) == [["5"]]
    assert "permission denied" in node.database.refused(RECORD.format(node.name, 91), reader)


def test_a_node_writes_as_nobody_else(node, world):
    node.trail.write("append", "2")
    node.ship("--once")
    other = f"{node.database.name}-other"
    node.database.sql(f'CREATE ROLE "{other}" LOGIN; GRANT cordon_ship TO "{other}"')
    node.database.nodes.append(other)
    # Somebody who is not enrolled writes as nobody at all.
    for name in (node.name, other):
        assert "cannot write as" in node.database.refused(RECORD.format(name, 50), other)
    done = world.cordon_verb("audit", "ship", "--once", "--to", node.database.url(other)).expect(2)
    assert "not enrolled" in done.err and "--enroll" in done.err
    node.database.sql(f"INSERT INTO cordon.nodes (node, login, public_key) VALUES ('{other}', '{other}', '{'0' * 64}')")
    # A new record, one that would be a fork, one that is there already, and a checkpoint.
    for statement in (RECORD.format(node.name, 50), RECORD.format(node.name, 1),
                      RECORD.format(node.name, 1) + " ON CONFLICT DO NOTHING", CHECKPOINT.format(node.name)):
        said = node.database.refused(statement, other)
        assert "cannot write as" in said or "row-level security" in said, said
    # A search path with one's own operators changes nothing of what the trigger does.
    said = node.database.refused(f"SET search_path = pg_temp; {RECORD.format(node.name, 1)}", other)
    assert "cannot write as" in said
    assert node.database.number("SELECT count(*) FROM cordon.forks") == 0 and node.stored == node.written
    # The control: as itself it may.
    node.database.sql(RECORD.format(other, 50), other)
    # With another's login, the log of this host is not that node's.
    done = world.cordon_verb("audit", "ship", "--once", "--to", node.database.url(other)).expect(2)
    assert "another signing key" in done.err
    node.verdict()


def test_two_writers_of_one_node_lose_no_fork(node):
    """The second waits until the first has committed, and then its record is a fork."""
    statement = "INSERT INTO cordon.records (node, seq, line) VALUES ('{}', 7, '{}') ON CONFLICT DO NOTHING"
    first = subprocess.Popen(["psql", "-X", "-q", "-h", str(node.database.server.directory), "-p",
                              str(node.database.server.port), "-U", node.name, "-d", node.database.name],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=fleet.ENVIRONMENT)
    first.stdin.write(f"BEGIN; {statement.format(node.name, 'one')}; \\echo there\n")
    first.stdin.flush()
    assert first.stdout.readline() == "there\n"
    second = subprocess.Popen(["psql", "-X", "-q", "-h", str(node.database.server.directory), "-p",
                               str(node.database.server.port), "-U", node.name, "-d", node.database.name, "-c",
                               statement.format(node.name, "two")], env=fleet.ENVIRONMENT)
    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    assert harness.wait_until(lambda: node.database.number(waits) == 1, fleet.LONG)
    first.communicate("COMMIT;\n", timeout=fleet.LONG)
    assert second.wait(fleet.LONG) == 0
    assert node.stored == [b"one"]
    assert node.database.sql("SELECT seq, encode(line, 'escape') FROM cordon.forks") == [["7", "two"]]
