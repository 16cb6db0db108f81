"""Every run of the product is in its log: one beginning before anything happens, one end."""

import json
import os
import signal
import socket
import threading

import jsonschema
import pytest

from support.harness import FILE_ERRORS, SOON, commands_with, free_port, processes_with, wait_until

pytestmark = pytest.mark.once

CANARY = "canary-7f3a91"


def actions(trail):
    """event id -> its records, in order."""
    events = {}
    for record in trail.records():
        if record["phase"] != "note":
            events.setdefault(record["event_id"], []).append(record)
    return events


def pairs(trail):
    """The same when nothing runs: each action has exactly one end."""
    events = actions(trail)
    for records in events.values():
        phases = [record["phase"] for record in records]
        assert phases in (["pending", "closing"], ["closing"]), phases
    return events


def last(trail):
    trail.holds()
    return list(pairs(trail).values())[-1]


@pytest.mark.parametrize("command, options, outcome, reason, status", [
    (["true"], [], "success", None, 0),
    (["sh", "-c", "exit 3"], [], "failure", "exit", 3),
    (["sh", "-c", "kill -9 $$"], [], "failure", "signal", 137),
    (["sleep", "30"], ["--timeout", "200ms"], "failure", "timeout", 124),
    (["no-such-program"], [], "failure", "refused", 127),
], ids=["success", "exit", "signal", "timeout", "missing"])
def test_each_end_is_recorded_once(trail, command, options, outcome, reason, status):
    trail.world.run(*command, options=options).expect(status)
    pending, closing = last(trail)
    assert (pending["outcome"], pending["action"]) == ("pending", "run")
    assert (closing["outcome"], closing["reason"]) == (outcome, reason)
    assert closing["metadata"]["pending_seq"] == pending["seq"]


def test_output_limit_and_cancelled_runs(trail):
    policy = trail.world.document('extends = "workspace"\nversion = 1\n[limits]\noutput_total = "1M"\n')
    trail.world.run("sh", "-c", "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxx; done",
                    options=["--policy", policy], timeout=30).expect(137)
    assert last(trail)[1]["reason"] == "limit"
    process = trail.world.start([trail.world.cordon, "run", "--", "sh", "-c",
                                 "echo ready; sleep 30"])
    assert process.stdout.readline() in (b"ready\n", "ready\n")
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert last(trail)[1]["reason"] == "cancelled"


def test_connections_are_recorded_without_words_of_the_program(trail):
    script = ("import socket\nfor a in [('127.0.0.1', 9), ('127.0.0.1', 9), ('203.0.113.7', 99)]:\n"
              "    socket.socket().connect_ex(a)")
    trail.world.run("/usr/bin/python3", "-c", script, options=["--allow", "127.0.0.1:9"]).expect(0)
    metadata = last(trail)[1]["metadata"]
    assert [(c["allowed"], c["count"]) for c in metadata["connections"]] == [(True, 2), (False, 1)]
    assert metadata["connection_count"] == 2
    assert [(c["rule"], c["address"], c["port"]) for c in metadata["connections"]] == [
        ('net.allow "127.0.0.1:9"', "127.0.0.1", 9), ('net.mode = "allow"', None, 99)]
    assert "203.0.113" not in json.dumps(trail.records())
    trail.world.run("true", options=["--allow", "127.0.0.1:9"]).expect(0)
    assert "connections" not in last(trail)[1]["metadata"]


def test_a_listed_socket_is_recorded_by_its_label(trail):
    place = trail.world.home / "service.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        trail.world.own(place)
        server.listen()
        policy = trail.world.document(f'version = 1\nextends = "workspace"\n[net]\n'
                                      f'sockets = ["{place}"]\n')
        script = f"import socket; socket.socket(socket.AF_UNIX).connect('{place}')"
        trail.world.run("/usr/bin/python3", "-c", script, options=["--policy", policy]).expect(0)
    [reached] = last(trail)[1]["metadata"]["connections"]
    assert (reached["rule"], reached["port"], reached["allowed"]) == ("net.sockets", None, True)
    assert reached["address"].startswith("@home/#") and "service" not in json.dumps(trail.records())


def test_bytes_and_published_ports_are_recorded(trail):
    published = free_port()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        threading.Thread(target=lambda: server.accept()[0].recv(100), daemon=True).start()
        policy = trail.world.document(f'version = 1\nextends = "workspace"\n[net]\n'
                                      f'host_ports = [{port}]\npublish = ["{published}"]\n')
        script = f"import socket; socket.create_connection(('127.0.0.1', {port})).sendall(b'x' * 77)"
        trail.world.run("/usr/bin/python3", "-c", script, options=["--policy", policy]).expect(0)
    metadata = last(trail)[1]["metadata"]
    assert metadata["connections"][0]["sent"] == 77
    assert metadata["published"] == [{"host_port": published, "connections": 0, "sent": 0,
                                      "received": 0}]
    schema = trail.world.cordon_verb("policy", "schema", "audit").expect(0).out
    for record in trail.records():
        jsonschema.validate(record, json.loads(schema))


@pytest.mark.parametrize("options, kind", [
    (["--policy", "no-such-policy"], "policy"),
    (["--allow", "198.18.1.1"], "unsupported"),
    (["--ceiling", "/nonexistent/ceiling.toml"], "policy"),
], ids=["policy", "unsupported", "ceiling"])
def test_a_refusal_is_recorded_alone(trail, options, kind):
    trail.world.run("true", options=options).expect(125)
    records = last(trail)
    assert len(records) == 1, records
    assert (records[0]["outcome"], records[0]["reason"]) == ("failure", "refused")
    assert records[0]["metadata"]["error_kind"] == kind
    trail.world.run("true").expect(0)
    assert len(last(trail)) == 2


def test_what_is_no_action_is_not_recorded(trail):
    trail.world.run("true").expect(0)
    before = len(trail.records())
    trail.world.run("true", options=["--no-such-flag"]).expect(125)
    trail.world.run("true", options=["--dry-run"]).expect(0)
    trail.world.cordon_verb("policy", "show", "strict").expect(0)
    assert len(trail.records()) == before


def test_the_report_names_the_event(trail):
    done, report = trail.world.report("true")
    pending, closing = last(trail)
    assert report["audit"] == {"event_id": pending["event_id"], "outcome": "success"}, done.account()
    assert report["policy_hash"] == pending["metadata"]["policy_hash"]


def test_nothing_of_a_run_is_kept_in_words(trail):
    world = trail.world
    world.write(world.project / f"{CANARY}-file", CANARY)
    world.run("sh", "-c", f"echo {CANARY}; cat {CANARY}-file; exit 1", CANARY,
              options=["--env", f"SECRET={CANARY}", "--read", world.project / f"{CANARY}-file"],
              env={"TOKEN": CANARY}).expect(1)
    world.run(f"/{CANARY}").expect(127)
    trail.holds()
    for path in trail.directory.iterdir():
        assert CANARY.encode() not in path.read_bytes(), path
    # The same words are found where they may be.
    assert CANARY in world.run("echo", CANARY).out


def test_a_list_names_projects_to_their_owner(trail):
    world = trail.world
    for _ in range(2):
        world.run("true").expect(0)
    row = trail.audit("list").out.splitlines()[1]
    assert f"~/{world.project.relative_to(world.home)} " in row, row
    names = trail.directory.parent / "projects.jsonl"
    assert names.stat().st_mode & 0o777 == 0o600 and len(names.read_text().splitlines()) == 1
    assert world.run("cat", names).status == 1, "a run reads the names of other projects"
    names.unlink()
    row = trail.audit("list").out.splitlines()[1]
    assert str(world.project.relative_to(world.home)) not in row and "/#" in row, row


def test_no_record_no_run(trail):
    """A log that cannot be written refuses the run before any process of it exists."""
    world = trail.world
    marker = world.project / "ran"
    world.run("touch", marker).expect(0)
    marker.unlink()
    (trail.directory / "head").rename(trail.directory / "head.away")
    done = world.run("touch", marker, options=["--json"])
    assert done.status == 125 and not marker.exists(), done.account()
    assert done.json["error"]["kind"] == "audit" and done.json["audit"] is None
    (trail.directory / "head.away").rename(trail.directory / "head")
    world.run("touch", marker).expect(0)
    assert marker.exists()
    trail.holds()


def test_the_operator_may_choose_to_go_on(trail):
    world = trail.world
    world.run("true").expect(0)
    ceiling = world.write(world.home / "ceiling.toml",
                          'version = 1\n[fs]\nread = ["/"]\nwrite = ["@cwd"]\n'
                          '[audit]\non_failure = "warn"\n', 0o600)
    os.rename(trail.directory / "head", trail.directory / "head.away")
    done = world.run("echo", "on", options=["--ceiling", ceiling])
    assert done.status == 0 and done.out == "on\n" and "audit" in done.err, done.account()
    # A policy cannot choose that.
    policy = world.document('version = 1\nextends = "workspace"\n[audit]\non_failure = "warn"\n')
    world.run("true", options=["--policy", policy]).expect(125)


def test_a_killed_run_is_closed_by_the_next(trail):
    world = trail.world
    mark = f"audit-{os.getpid()}-{world.path.name}"
    process = world.start([world.cordon, "run", "--", world.probe, "linger", mark, "300"])
    assert wait_until(lambda: commands_with(world.probe, mark))
    process.kill()
    process.communicate()
    assert wait_until(lambda: not processes_with(mark), SOON)
    killed = list(actions(trail).values())[-1]
    assert [record["phase"] for record in killed] == ["pending"]
    world.run("true").expect(0)
    events = pairs(trail)
    closed = events[killed[0]["event_id"]]
    assert (closed[1]["outcome"], closed[1]["reason"]) == ("failure", "crash")
    trail.holds()


def test_the_log_is_out_of_reach_from_inside(trail):
    """AU01, with a grant that covers it."""
    world = trail.world
    world.run("true").expect(0)
    before = trail.lines()
    day = trail.directory / trail.days[-1]
    options = ["--read", world.home, "--write", world.project]
    copy = world.write(world.project / "copy", day.read_bytes())
    kinds = ("read", "write", "truncate", "unlink")
    aside = [("rename", day, day.with_suffix(".aside"))]
    for answer in world.inside([(kind, day) for kind in kinds] + aside, options=options):
        assert not answer.ok and answer.errno in FILE_ERRORS, answer
    # The same attempts work on a copy that is granted.
    aside = [("rename", world.write(world.project / "other", "x"), copy.with_suffix(".aside"))]
    for answer in world.inside([(kind, copy) for kind in kinds] + aside, options=options):
        assert answer.ok, answer
    assert trail.lines()[:len(before)] == before
    trail.holds()


def test_many_runs_at_once(trail):
    world = trail.world
    world.run("true").expect(0)
    running = [world.start([world.cordon, "run", "--policy", "strict", "--", "/bin/true"])
               for _ in range(24)]
    for process in running:
        process.communicate()
        assert process.returncode == 0
    trail.holds()
    assert sum(len(records) == 2 for records in pairs(trail).values()) == 25


def test_records_fit_their_schema(trail):
    schema = json.loads(trail.world.cordon_verb("policy", "schema", "audit").out)
    trail.world.run("true").expect(0)
    trail.world.run("true", options=["--policy", "nosuch"]).expect(125)
    for record in trail.records():
        jsonschema.validate(record, schema)


@pytest.mark.parametrize("backend", ["native", "bwrap", "landlock"])
def test_no_command_is_released_whose_record_is_not_durable(trail, backend):
    world = trail.world
    mark = world.project / "mark"
    ceiling = world.document(f'version = 1\n[fs]\nread = ["/"]\nwrite = ["{world.project}"]\n'
                             '[require]\naccept_missing = ["namespaces"]\n', "ceiling.toml")
    run = [world.cordon, "run", "--backend", backend, "--ceiling", ceiling, "--", "touch", mark]
    strace = ["strace", "-f", "-qq", "-o", world.trusted / "trace", "-e", "trace=fdatasync"]
    world.execute([*strace, *run]).expect(0)
    assert mark.exists(), "the control did not run"
    mark.unlink()
    done = world.execute([*strace, "-e", "inject=fdatasync:error=EIO:delay_enter=300000", *run]).expect(125)
    assert "audit" in done.err and "Input/output error" in done.err
    assert not mark.exists(), "a command ran that is not in the log"
    assert wait_until(lambda: processes_with(str(mark)) == [], SOON)
