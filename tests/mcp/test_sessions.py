"""`cordon mcp --session` and `--stage`: one sandbox for a client, and what of it the project has."""

import http.client
import json
import os

import pytest

import peer
from served import ON, Served, audit_lines, ceiling_of
from support.harness import SOON, processes_with, stop, tree_digest, wait_until

pytestmark = pytest.mark.once


def sh(text):
    return {"argv": ["sh", "-c", text]}


def test_a_session_lasts_from_call_to_call(serve, world):
    server = serve("--session", ceiling=ceiling_of(world), era="modern")
    mark = f"of-{os.getpid()}-{world.path.name}"
    server.good("run_code", sh(f"echo kept > /tmp/note; '{world.probe}' linger {mark} 300 >/dev/null 2>&1 &"))
    assert server.good("run_code", sh("cat /tmp/note"))["stdout"] == "kept\n"
    assert wait_until(lambda: processes_with(mark))
    assert server.good("run_code", {"argv": ["true"], "timeout_ms": 20000})["exit_code"] == 0
    # What narrows has a sandbox of its own, and so have file tools: both see the project.
    assert server.good("run_code", {"argv": ["ls", "/tmp"], "readonly_paths": []})["stdout"] == ""
    server.good("run_code", sh("echo made > made"))
    assert server.good("read_local_file", {"path": str(world.project / "made")})["content"] == "made\n"
    assert (world.project / "made").read_text() == "made\n"
    slow = server.result("run_code", {"argv": ["sleep", "60"], "timeout_ms": 500})[0]
    assert slow["timed_out"] is True, slow
    assert processes_with(mark), "a limit of one call ended another's process"
    status, _ = server.end()
    assert status == 0 and wait_until(lambda: not processes_with(mark), SOON)
    begun = [(line["action"], line["metadata"]["tool"]) for line in audit_lines(world) if line["phase"] == "pending"]
    assert begun.count(("run_code", "run_code")) >= 6 and begun.count(("session", "run_code")) == 1, begun


def test_without_it_nothing_lasts(served):
    served.good("run_code", sh("echo kept > /tmp/note"))
    assert served.result("run_code", sh("cat /tmp/note"))[0]["exit_code"] == 1


def test_a_ceiling_that_changes_gives_another_session(serve, world):
    ceiling = world.document(ceiling_of(world, f'read = ["{world.outside}"]\n'), "ceiling.toml")
    server = serve("--session", "--ceiling", str(ceiling), era="modern")
    server.good("run_code", sh("echo kept > /tmp/note"))
    secret = {"argv": ["cat", str(world.outside / "secret")]}
    assert "SECRET" in server.good("run_code", secret)["stdout"]
    ceiling.write_text(ceiling_of(world))
    assert server.result("run_code", secret)[0]["exit_code"] == 1
    assert server.result("run_code", sh("cat /tmp/note"))[0]["exit_code"] == 1


@pytest.mark.parametrize("how", ["option", "ceiling"])
def test_a_stage_is_one_for_all_tools_and_a_person_applies_it(serve_full, world, how):
    world.write(world.project / "old", "old\n")
    before = tree_digest(world.project)
    more = 'stage = "review"\n' if how == "ceiling" else ""
    server = serve_full(*(["--stage"] if how == "option" else []), ceiling=ceiling_of(world, more))
    server.good("run_code", sh("mkdir sub; echo one > sub/one; echo more >> old"))
    made = str(world.project / "sub/one")
    assert "one" in json.dumps(server.good("read_local_file", {"path": made}))
    server.good("write_local_file", {"path": str(world.project / "sub/two"), "content": "two\n"})
    assert server.good("run_code", sh("cat sub/two old"))["stdout"] == "two\nold\nmore\n"
    listed = json.dumps(server.good("list_files", {"path": "sub"}))
    assert "one" in listed and "two" in listed
    diff = server.good("workspace_diff", {})
    told = diff["changes"].splitlines()
    assert "created sub/one" in told and "created sub/two" in told and "changed old" in told, told
    assert "cordon changes" in diff["note"]
    patch = server.good("workspace_diff", {"format": "patch"})["patch"]
    assert "+more" in patch and "+two" in patch, patch
    assert tree_digest(world.project) == before
    started = server.good("start_process", sh("cat sub/one; sleep 300"))
    assert wait_until(lambda: "one" in json.dumps(server.good(
        "read_output", {"process_id": started["process_id"]})))
    refused = server.bad("run_code", {"argv": ["true"], "readonly_paths": [str(world.project)]})
    assert "leave them out" in json.dumps(refused), refused
    status, err = server.end()
    assert status == 0 and "wait; cordon changes list" in err, err
    assert tree_digest(world.project) == before
    told = json.loads(world.cordon_verb("changes", "list", "--json").expect(0).out)
    assert {"sub", "sub/one", "sub/two", "old"} <= {change["path"] for change in told["changes"]}, told
    world.cordon_verb("changes", "apply").expect(0)
    assert (world.project / "sub/two").read_text() == "two\n"
    assert (world.project / "old").read_text() == "old\nmore\n"


def test_a_stage_goes_on_when_a_ceiling_changes(serve_full, world):
    ceiling = world.document(ceiling_of(world), "ceiling.toml")
    server = serve_full("--stage", "--ceiling", str(ceiling), ceiling=None)
    server.good("run_code", sh("echo one > one"))
    ceiling.write_text(ceiling_of(world, "[limits]\npids = 200\n"))
    assert server.good("run_code", sh("cat one; echo two > two"))["stdout"] == "one\n"
    assert not (world.project / "one").exists()
    server.end()
    told = json.loads(world.cordon_verb("changes", "list", "--json").expect(0).out)
    assert [change["path"] for change in told["changes"]] == ["one", "two"], told


def test_a_protected_file_of_a_stage_never_reaches_the_project_by_itself(serve_full, world):
    server = serve_full("--stage")
    server.good("run_code", sh("mkdir .vscode; echo {} > .vscode/tasks.json"))
    server.good("write_local_file", {"path": str(world.project / "plain"), "content": "x"})
    server.end()
    assert not (world.project / ".vscode").exists()
    world.cordon_verb("changes", "apply")
    assert not (world.project / ".vscode").exists() and (world.project / "plain").exists()


def test_clients_over_http_have_sessions_of_their_own(world):
    token = "t" * 40
    file = world.write(world.trusted / "token", token + "\n", 0o600)
    server = world.start([world.cordon, "mcp", "--session", "--http", "127.0.0.1:0", "--token-file", file,
                          "--ceiling", world.document(ceiling_of(world), "ceiling.toml")], env=ON)
    try:
        port = None
        while port is None:
            line = server.stderr.readline().decode()
            port = int(line.split()[-1]) if "listening" in line else None

        def post(body, more):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **body}), {
                "Authorization": f"Bearer {token}", "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream", **more})
            answer = connection.getresponse()
            return answer, answer.read().decode()

        def client():
            answer, _ = post({"id": 0, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {}}}, {})
            own = {"Mcp-Session-Id": answer.getheader("Mcp-Session-Id"), "MCP-Protocol-Version": "2025-11-25"}
            post({"method": "notifications/initialized"}, own)

            def call(text):
                _, told = post({"id": 1, "method": "tools/call", "params": {
                    "name": "run_code", "arguments": sh(text)}}, own)
                message = json.loads(next(line for line in told.splitlines() if "content" in line)
                                     .removeprefix("data: "))
                return peer.told(message["result"])

            def leave():
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
                connection.request("DELETE", "/mcp", headers={"Authorization": f"Bearer {token}", **own})
                assert connection.getresponse().status < 300
            call.leave = leave
            return call
        one, other = client(), client()
        assert one("echo of-one > /tmp/note; cat /tmp/note")["stdout"] == "of-one\n"
        assert other("cat /tmp/note")["exit_code"] == 1
        assert one("cat /tmp/note")["stdout"] == "of-one\n"
        mark = f"left-{os.getpid()}-{world.path.name}"
        one(f"'{world.probe}' linger {mark} 300 >/dev/null 2>&1 &")
        assert wait_until(lambda: processes_with(mark))
        one.leave()
        assert wait_until(lambda: not processes_with(mark), SOON), "a session outlives its client"
    finally:
        stop(server)


def test_stage_auto_is_refused_with_what_does_it(world):
    done = world.cordon_verb("mcp", "--stage=auto").expect(2)
    assert 'mode = "staged"' in done.err, done.account()
    ceiling = world.document(ceiling_of(world, 'mode = "staged"\n'), "ceiling.toml")
    server = Served(world, "modern", "--ceiling", str(ceiling))
    try:
        server.good("run_code", sh("echo applied > applied"))
        assert (world.project / "applied").read_text() == "applied\n"
    finally:
        server.kill()
