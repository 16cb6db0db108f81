"""Profile `full`: runs that the server keeps, and processes that go on."""

import fcntl
import json
import os
import signal
import threading
import time

import pytest

from served import ON, audit_bytes, audit_lines, ceiling_of
from support.harness import SOON, processes_with, tree_digest, wait_until

pytestmark = pytest.mark.once

PYTHON = "/usr/bin/python3"


def mark():
    return f"mark-{time.monotonic_ns()}"


def read_all(server, id, **more):
    """Everything that is kept, by following the cursors."""
    out, err, missing, arguments = "", "", 0, {"process_id": id, **more}
    for _ in range(2000):
        page = server.good("read_output", arguments)
        out += page.get("stdout", "")
        err += page.get("stderr", "")
        missing += page.get("bytes_not_kept", 0)
        if not page["more"]:
            return out, err, missing
        arguments["cursor"] = page["next_cursor"]
    raise AssertionError("the cursors lead nowhere")


def until(server, id, text):
    """Reads until the text was printed."""
    seen, arguments = "", {"process_id": id, "wait_ms": 5000}
    end = time.monotonic() + 60
    while text not in seen:
        assert time.monotonic() < end, seen
        page = server.good("read_output", arguments)
        seen += page["stdout"] + page["stderr"]
        assert page["state"] == "running" or page["more"] or text in seen, (page, seen)
        arguments["cursor"] = page.get("next_cursor", arguments.get("cursor"))
    return arguments["cursor"]


def ended(server, id):
    page = server.good("read_output", {"process_id": id, "wait_ms": 10000, "tail_lines": 1})
    while page["state"] == "running":
        page = server.good("read_output", {"process_id": id, "cursor": page["next_cursor"],
                                           "wait_ms": 10000})
    return page


# run_code, with more parameters.

def test_run_code_takes_input_and_a_place(full):
    sub = full.world.make_directory(full.world.project / "sub")
    result = full.good("run_code", {"argv": ["sh", "-c", "pwd; cat"], "cwd": "sub",
                                    "stdin": "given\n"})
    assert result["stdout"] == f"{sub}\ngiven\n"
    assert full.good("run_code", {"argv": ["cat"]})["stdout"] == ""


def test_a_place_to_start_grants_and_tells_nothing(full):
    world = full.world
    told = [full.bad("run_code", {"argv": ["true"], "cwd": str(path)})
            for path in (world.outside, world.outside / "nothing")]
    assert told[0]["message"] == told[1]["message"]
    assert "outside the operator's allowed paths" in told[0]["message"]
    assert "will not help" in told[0]["help"]
    world.link(world.project / "out", world.outside)
    full.bad("run_code", {"argv": ["ls"], "cwd": "out"})


def test_variables_are_the_operators_choice(serve_full, world):
    server = serve_full(ceiling=ceiling_of(world, '[env]\npass = ["CI", "GIT_SSH"]\n'))
    asked = {"argv": ["env"], "env": ["CI=yes", "LD_PRELOAD=/x", "GIT_SSH=/x", "OTHER=1"]}
    result = server.good("run_code", asked)
    assert "CI=yes\n" in result["stdout"]
    for name in ("LD_PRELOAD", "GIT_SSH", "OTHER"):
        assert name not in result["stdout"]
        assert name in [entry["path"] for entry in result["not_granted"]]
    assert "env" in server.bad("run_code", {"argv": ["true"], "env": ["no assignment"]})["message"]
    unnamed = serve_full()
    assert "CI=yes" not in unnamed.good("run_code", asked)["stdout"]


def test_a_run_that_outlasts_its_wait(full):
    """Killed by default; with `background` it goes on and can be read."""
    result, _ = full.result("run_code", {"argv": ["sleep", "60"], "wait_ms": 200})
    assert result["timed_out"] is True and result["error"] == "Timeout"
    one = mark()
    go = full.world.project / "go"
    script = f"echo early; while [ ! -e {go} ]; do sleep 0.05; done; echo {one}"
    result = full.good("run_code", {"argv": ["sh", "-c", script], "wait_ms": 3000, "on_deadline": "background"})
    assert result["state"] == "running" and result["stdout"] == "early\n"
    full.world.write(go, "")
    page = ended(full, result["process_id"])
    assert page["state"] == "exited" and page["exit_code"] == 0
    assert read_all(full, result["process_id"])[0] == f"early\n{one}\n"


def test_a_run_stays_readable(full):
    result = full.good("run_code", {"argv": ["seq", "1", "20000"], "max_output": 3000})
    assert result["truncated"]["stdout"] is True and "read_output" in result["more"]
    out, _, missing = read_all(full, result["run_id"])
    assert out == "".join(f"{i}\n" for i in range(1, 20001)) and missing == 0
    big = full.good("run_code", {"argv": ["seq", "1", "5000"], "max_output": 20000})
    small = full.good("run_code", {"argv": ["seq", "1", "5000"]})
    assert len(big["stdout"]) > 15000 > len(small["stdout"])


@pytest.mark.parametrize("arguments, field", [
    ({"argv": ["true"], "max_output": 20001}, "max_output"),
    ({"argv": ["true"], "wait_ms": 0}, "wait_ms"),
    ({"argv": ["true"], "on_deadline": "never"}, "on_deadline"),
    ({"argv": ["true"], "env": {"A": "b"}}, "env"),
    ({"argv": ["true"], "network": "open"}, "network")])
def test_bad_arguments(full, arguments, field):
    result = full.bad("run_code", arguments)
    assert result["error"] == "Invalid arguments" and field in result["message"]
    assert audit_lines(full.world)[-1]["event_id"] == result["audit_id"]


# Processes.

def test_a_conversation_with_a_process(serve_full, era):
    full = serve_full(era=era)
    started = full.good("start_process", {"argv": ["sh", "-c", "while read l; do echo got $l; done"],
                                          "name": "echo"})
    id = started["process_id"]
    assert started["state"] == "running"
    assert full.good("write_stdin", {"process_id": id, "data": "one\n"})["bytes_accepted"] == 4
    cursor = until(full, id, "got one\n")
    # Another run in between: it must not hold the other's input open.
    other = full.good("start_process", {"argv": ["sleep", "60"]})["process_id"]
    full.good("write_stdin", {"process_id": id, "data": "two\n", "eof": True})
    page = ended(full, id)
    assert page["state"] == "exited" and page["exit_code"] == 0
    assert full.good("read_output", {"process_id": id, "cursor": cursor})["stdout"] == "got two\n"
    listed = full.good("list_processes", {})["processes"]
    assert [(one["process_id"], one["state"]) for one in listed] == [(other, "running"),
                                                                     (id, "exited")]
    assert listed[1]["name"] == "echo"


def test_start_waits_for_a_text(full):
    script = "import time; time.sleep(.3); print('ready now', flush=True); time.sleep(300)"
    began = time.monotonic()
    started = full.good("start_process", {"argv": [PYTHON, "-c", script], "ready_text": "ready now",
                                          "ready_ms": 20000})
    assert "ready now" in started["stdout"] and time.monotonic() - began < 19
    never = full.good("start_process", {"argv": ["sleep", "60"], "ready_text": "x",
                                        "ready_ms": 100})
    assert never["state"] == "running"


def test_stopping_is_gentle_first_and_takes_the_tree(full):
    one = mark()
    polite = full.good("start_process", {
        "argv": ["sh", "-c", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.1; done"],
        "ready_text": "up"})["process_id"]
    stopped = full.good("stop_process", {"process_id": polite, "grace_ms": 5000})
    assert stopped["state"] == "killed" and read_all(full, polite)[0] == "up\nbye\n"
    stubborn = full.good("start_process", {
        "argv": ["sh", "-c", f"trap '' TERM; sleep 60 & : {one}; echo up; sleep 301; sleep 302"],
        "ready_text": "up"})["process_id"]
    assert processes_with(one)
    assert full.good("stop_process", {"process_id": stubborn, "grace_ms": 100})["state"] == "killed"
    assert wait_until(lambda: not processes_with(one), SOON)
    again = full.good("stop_process", {"process_id": stubborn})
    assert again["state"] == "killed"


def test_input_for_a_dead_process(full):
    id = full.good("start_process", {"argv": ["true"]})["process_id"]
    ended(full, id)
    result = full.bad("write_stdin", {"process_id": id, "data": "x"})
    assert result["error"] == "Write failed" and "start_process" in result["help"]
    full.good("run_code", {"argv": ["true"]})  # the server lives: no SIGPIPE
    closed = full.good("start_process", {"argv": ["sh", "-c", "exec <&-; echo up; sleep 60"],
                                         "ready_text": "up"})["process_id"]
    assert full.bad("write_stdin", {"process_id": closed, "data": "x"})["error"] == "Write failed"


def test_input_nobody_reads_is_bounded(full):
    id = full.good("start_process", {"argv": ["sleep", "60"]})["process_id"]
    result = full.good("write_stdin", {"process_id": id, "data": "x" * 500_000}, timeout=20)
    assert result["all_accepted"] is False and 0 < result["bytes_accepted"] < 500_000


def test_ids_of_another_server_are_nothing(full, serve_full):
    other = serve_full()
    started = other.good("start_process", {"argv": ["sleep", "60"]})
    id, cursor = started["process_id"], started["next_cursor"]
    for name, more in (("read_output", {}), ("write_stdin", {"data": "x"}), ("stop_process", {})):
        result = full.bad(name, {"process_id": id, **more})
        assert result["error"] == "Unknown process" and "list_processes" in result["help"]
    mine = full.good("start_process", {"argv": ["sleep", "60"]})
    for wrong in (cursor, "0-0-000000000000000000000000", "x", mine["next_cursor"] + "0",
                  "1" + mine["next_cursor"]):
        assert "cursor" in full.bad("read_output", {"process_id": mine["process_id"],
                                                    "cursor": wrong})["message"]
    full.good("read_output", {"process_id": mine["process_id"], "cursor": mine["next_cursor"]})
    assert other.good("list_processes", {})["processes"][0]["state"] == "running"


def test_a_flood_is_bounded_on_disk_and_in_memory(full):
    """60 MB through one process: its beginning and its end stay, nothing else."""
    flood = "import sys\nfor i in range(60): sys.stdout.write(('%07d\\n' % i) * 131072)"
    id = full.good("start_process", {"argv": [PYTHON, "-c", flood]})["process_id"]
    page = ended(full, id)
    assert page["stdout_bytes"] == 60 << 20 and page["state"] == "exited"
    out, _, missing = read_all(full, id, max_output=20000)
    assert out.startswith("0000000\n") and out.endswith("0000059\n")
    assert missing == (60 << 20) - len(out) and len(out) == (64 << 10) + (1 << 20)
    status = open(f"/proc/{full.process.pid}/status").read()
    assert int(status.split("VmRSS:")[1].split()[0]) < 64 << 10
    state = full.world.home / ".local/state/cordon"
    assert not [name for name in os.listdir(state) if name.startswith(".")]


def test_what_an_operator_lets_be_kept_bounds_the_disk_too(serve_full, world):
    server = serve_full(ceiling=ceiling_of(world, '[limits]\noutput = "4K"\n'))
    result = server.good("run_code", {"argv": ["seq", "1", "20000"]})
    out, _, missing = read_all(server, result["run_id"])
    assert len(out) == 4096 and missing > 100_000


def test_pages_are_escaped_masked_and_searchable(serve_full, world):
    server = serve_full(ceiling=ceiling_of(world),
                        env={**ON, "DEPLOY_TOKEN": "planted-canary-value"})
    script = ("import sys\nprint('\\x1b[2J\\x07é')\nprint('planted-canary-value')\n"
              "sys.stdout.flush()\nsys.stdout.buffer.write(b'\\xff\\xfe\\n')\n"
              "sys.stdout.flush()\nfor i in range(5000): print('row', i)\n"
              "print('oops', file=sys.stderr)")
    id = server.good("run_code", {"argv": [PYTHON, "-c", script]})["run_id"]
    out, err, _ = read_all(server, id)
    assert "\x1b" not in out and "\x07" not in out and "é" in out and "\\xff" in out
    assert "planted-canary" not in out and "[secret]" in out and err == "oops\n"
    assert out.endswith("row 4998\nrow 4999\n")
    assert read_all(server, id, grep="row 499")[0].count("\n") == 11
    assert read_all(server, id, grep="row 499", stream="stderr") == ("", "", 0)
    assert read_all(server, id, tail_lines=2, stream="stdout")[0] == "row 4998\nrow 4999\n"


def test_too_many_are_refused_and_old_ones_forgotten(full):
    ids = [full.good("start_process", {"argv": ["sleep", "60"]})["process_id"] for _ in range(16)]
    refused = full.bad("start_process", {"argv": ["true"]})
    assert "too many" in refused["message"] and refused["audit_id"]
    full.bad("run_code", {"argv": ["true"]})
    for id in ids:
        full.good("stop_process", {"process_id": id, "grace_ms": 0})
    for _ in range(10):
        last = full.good("run_code", {"argv": ["true"]})["run_id"]
    listed = full.good("list_processes", {})["processes"]
    assert len(listed) == 24 and listed[0]["process_id"] == last
    assert full.bad("read_output", {"process_id": ids[0]})["error"] == "Unknown process"


def test_processes_are_held_like_any_run(full):
    world = full.world
    before = tree_digest(world.outside)
    id = full.good("start_process", {"argv": ["sh", "-c", 'cat "$0"; echo x > "$0"',
                                              str(world.outside / "secret")]})["process_id"]
    page = ended(full, id)
    assert page["exit_code"] != 0 and "SECRET" not in json.dumps(page)
    assert tree_digest(world.outside) == before
    asked = full.good("start_process", {"argv": ["sleep", "60"],
                                        "readwrite_paths": [str(world.project / ".git")]})
    assert asked["state"] == "running"
    missing, refused = full.result("start_process", {"argv": ["no-such-program"]})
    if refused:
        assert missing["exit_code"] == 127
    else:  # The kernel took longer to say so than start_process looks.
        assert ended(full, missing["process_id"])["state"] == "not_started"


def test_a_start_that_takes_long_is_waited_for(full):
    """Its record waits for the log, as a busy disk makes it: nothing runs yet."""
    full.good("run_code", {"argv": ["true"]})
    log = os.open(full.world.home / ".local/state/cordon/audit", os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(log, fcntl.LOCK_EX)
        threading.Timer(1, fcntl.flock, (log, fcntl.LOCK_UN)).start()
        begun = time.monotonic()
        started = full.good("start_process", {"argv": ["sh", "-c", "echo here; sleep 60"], "ready_text": "here",
                                              "ready_ms": 200})
        assert time.monotonic() - begun >= 0.9, "the control: the lock held it up"
        assert started["age_ms"] >= 900, started
    finally:
        os.close(log)


def test_the_ceilings_clock_counts(serve_full, world):
    server = serve_full(ceiling=ceiling_of(world, '[limits]\nwall = "700ms"\n'))
    id = server.good("start_process", {"argv": ["sleep", "60"], "timeout_ms": 60000})["process_id"]
    page = ended(server, id)
    assert page["kill_reason"] == "timeout"
    assert server.result("run_code", {"argv": ["sleep", "60"], "wait_ms": 30000})[0]["timed_out"]


def test_every_call_is_recorded_and_nothing_of_it_told(full):
    world = full.world
    id = full.good("start_process", {"argv": ["cat"], "name": "CANARY-name"})["process_id"]
    full.good("write_stdin", {"process_id": id, "data": "CANARY-data\n", "eof": True})
    ended(full, id)
    full.good("read_output", {"process_id": id, "grep": "CANARY-grep"})
    full.good("list_processes", {})
    full.good("stop_process", {"process_id": id})
    full.bad("stop_process", {"process_id": "CANARY-id"})
    lines = audit_lines(world)
    for tool in ("start_process", "write_stdin", "read_output", "list_processes", "stop_process"):
        mine = [line for line in lines if line["action"] == tool]
        begun = {line["event_id"] for line in mine if line["phase"] == "pending"}
        assert begun and begun == {line["event_id"] for line in mine if line["phase"] != "pending"}
    assert b"CANARY" not in audit_bytes(world)
    assert world.cordon_verb("audit", "verify").status == 0


# Ends.

@pytest.mark.parametrize("how", ["eof", "SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"])
def test_every_end_takes_all_processes(serve_full, era, how):
    full = serve_full(era=era)
    one = mark()
    for _ in range(3):
        full.good("start_process", {"argv": ["sh", "-c", f"sleep 300 & : {one}; sleep 301"]})
    reader = full.start_tool("read_output", {
        "process_id": full.good("list_processes", {})["processes"][0]["process_id"],
        "wait_ms": 20000})
    assert wait_until(lambda: len(processes_with(one)) >= 3) and reader
    if how == "eof":
        full.process.stdin.close()
    else:
        full.process.send_signal(getattr(signal, how))
    full.process.wait(SOON)
    assert wait_until(lambda: not processes_with(one), SOON)
    if how != "SIGKILL":
        lines = [line for line in audit_lines(full.world) if line["action"] == "start_process"]
        closed = [line["event_id"] for line in lines if line["phase"] == "closing"]
        assert len(closed) == 3 and len(lines) == 6, "an end was not recorded"


def test_cancelling_a_call_kills_what_it_runs(serve_full, era):
    full = serve_full(era=era)
    one = mark()
    id = full.start_tool("run_code", {"argv": ["sh", "-c", f": {one}; sleep 301; sleep 302"],
                                      "on_deadline": "background"})
    assert wait_until(lambda: processes_with(one))
    full.cancel(id)
    assert wait_until(lambda: not processes_with(one), SOON)
    assert wait_until(lambda: '"cancelled"' in json.dumps(audit_lines(full.world)[-1]))


@pytest.mark.parametrize("size", [2000, 2037, 2061, 2100])
def test_a_secret_that_a_page_cuts_in_two_is_masked(full, size):
    """Pages end where there is room; what stands before one tells that it begins inside a secret."""
    token = "ghp_" + "a1B2" * 9
    script = f"import sys; sys.stdout.write('x' * {size} + ' {token} ' + 'y' * 3000)"
    id = full.good("start_process", {"argv": [PYTHON, "-c", script]})["process_id"]
    ended(full, id)
    pages, arguments = [], {"process_id": id, "max_output": 2600}
    for _ in range(100):
        page = full.good("read_output", arguments)
        pages.append(page["stdout"])
        if not page["more"]:
            break
        arguments["cursor"] = page["next_cursor"]
    assert len(pages) > 2 and "[secret]" in "".join(pages)
    shown = "".join(pages).replace("[secret]", "")
    assert "a1B2" not in shown and "ghp_" not in shown, pages
    assert shown.count("y") == 3000 and shown.count("x") == size


def test_a_line_inside_a_private_key_is_masked(full):
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\\n" + "AAAAneedle\\n" * 20 + "-----END OPENSSH PRIVATE KEY-----\\n"
    id = full.good("start_process", {"argv": ["printf", key]})["process_id"]
    ended(full, id)
    page = full.good("read_output", {"process_id": id, "grep": "needle"})
    assert "needle" not in page["stdout"], page
