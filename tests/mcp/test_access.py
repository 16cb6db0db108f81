"""request_access: what a person may approve beyond a ceiling, and everything that must not follow."""

import json
import os
import shutil
import socket
import threading

import pytest

from peer import told
from served import ON, audit_bytes, audit_lines, ceiling_of
from support.harness import wait_until

pytestmark = pytest.mark.once

FORM = {"elicitation": {}}
YES = {"action": "accept", "content": {}}
NO = {"action": "decline"}
REASON = "to compare with the reference"


def ask_table(world, more=""):
    return f'[ask]\nread = ["{world.outside}"]\n{more}'


@pytest.fixture
def asking(serve_full, world):
    """A server whose ceiling lets reading `outside` be approved, or what `ask` says."""
    def begin(ask=None, **how):
        table = ask_table(world) if ask is None else ask
        how.setdefault("capabilities", FORM)
        return serve_full(ceiling=ceiling_of(world, table), **how)
    return begin


def wish(kind, target, reason=REASON):
    return {"kind": kind, "target": str(target), "reason": reason}


def answered(message):
    return told(message["result"])


def request(server, arguments, response):
    """Asks for access, answers the question, and returns the question and the result."""
    if server.era == "modern":
        first = server.tool("request_access", arguments)["result"]
        assert first.get("resultType") == "input_required", first
        [(key, question)] = first["inputRequests"].items()
        return question["params"], answered(server.call("tools/call", {
            "name": "request_access", "arguments": arguments,
            "requestState": first["requestState"], "inputResponses": {key: response}}))
    id = server.start_tool("request_access", arguments)
    question = server.wait_for(lambda m: m.get("method") == "elicitation/create")
    server.send({"jsonrpc": "2.0", "id": question["id"], "result": response})
    return question["params"], answered(server.answer(id))


def approve(server, kind, target):
    _, result = request(server, wish(kind, target), YES)
    assert result["success"] is True, result
    return result["approval"]


def unasked(server, kind, target):
    """A request that is denied without anybody being asked."""
    return server.bad("request_access", wish(kind, target))


def read(server, path):
    return server.tool("read_local_file", {"path": str(path)})["result"].get("isError", False) is False


def tool_names(server):
    return [tool["name"] for tool in server.call("tools/list")["result"]["tools"]]


# Whether it is there.

def test_without_the_table_there_is_nothing_to_ask(serve_full, asking, serve, world, era):
    for ceiling in (ceiling_of(world), ceiling_of(world, "[ask]\n"),
                    ceiling_of(world, '[ask]\nexpires = "1h"\n')):
        server = serve_full(era=era, ceiling=ceiling, capabilities=FORM)
        assert "request_access" not in tool_names(server)
        refused = server.bad("request_access", wish("read", world.outside))
        assert refused["message"].endswith("no ceiling says below [ask] what may be asked for"), refused
        assert server.good("get_limits", {})["can_be_asked_for"] == []
    with_table = asking(era=era)
    assert tool_names(with_table)[-1] == "request_access"
    assert with_table.good("get_limits", {})["can_be_asked_for"] == ["read"]
    assert "request_access" not in tool_names(
        serve(ceiling=ceiling_of(world, ask_table(world)), capabilities=FORM))


def test_a_policy_has_no_such_table(world):
    policy = world.document(f'version = 1\n{ask_table(world)}')
    done = world.run("true", options=["--policy", str(policy)])
    assert done.status == 125 and "[ask] is for ceilings only" in done.err, done.account()
    # In a ceiling it permits nothing by itself.
    ceiling = world.document(ceiling_of(world, ask_table(world)), "ceiling.toml")
    asks = world.document(f'version = 1\nextends = "workspace"\n[fs]\nread = ["{world.outside}"]\n',
                          "asks.toml")
    world.denied("read", world.outside / "secret",
                 options=["--ceiling", str(ceiling), "--policy", str(asks)])


# A yes.

def test_a_yes_opens_just_that(asking, world, era):
    other = world.write(world.outside / "other", "SECRET-other\n")
    server = asking(era=era)
    secret = world.outside / "secret"
    denied = server.bad("read_local_file", {"path": str(secret)})
    assert "request_access" in denied["help"]
    question, result = request(server, wish("read", secret), YES)
    assert str(secret) in question["message"] and REASON in question["message"]
    assert "below" not in question["message"]
    assert "15m" in question["message"] and len(question["message"]) <= 300
    # To accept is a yes, whatever a client makes of an empty form; what it is about comes first.
    assert question["requestedSchema"] == {"type": "object", "properties": {}}
    assert question["message"].startswith(f"{secret}\n") and "for 15m?\n" in question["message"]
    assert all(len(line) <= 80 for line in question["message"].split("\n"))
    assert result["kind"] == "read" and 0 < result["expires_in_ms"] <= 15 * 60 * 1000
    id = result["approval"]
    assert server.good("read_local_file", {"path": str(secret)})["approvals"] == [id]
    ran = server.good("run_code", {"argv": ["cat", str(secret)]})
    assert ran["stdout"] == "SECRET-outside\n" and ran["approvals"] == [id]
    # What names something else makes no use of it, and nothing else is open.
    narrow = server.good("run_code", {"argv": ["true"], "readonly_paths": []})
    assert "approvals" not in narrow
    server.bad("read_local_file", {"path": str(other)})
    server.bad("write_local_file", {"path": str(secret), "content": "x"})
    [shown] = server.good("get_limits", {})["approvals"]
    assert shown["approval"] == id and shown["target"] == str(secret)
    [content] = server.call("resources/read", {"uri": "cordon://policy"})["result"]["contents"]
    assert json.loads(content["text"])["approvals"][0]["approval"] == id
    # It is not asked about twice.
    again = server.good("request_access", wish("read", secret))
    assert again["already_allowed"] is True
    assert secret.read_text() == "SECRET-outside\n"


def test_it_is_recorded_before_it_holds(asking, world):
    server = asking()
    id = approve(server, "read", world.outside)
    ran = server.good("run_code", {"argv": ["true"]})
    lines = audit_lines(world)
    made = [line for line in lines if line["action"] == "request_access"]
    assert [line["phase"] for line in made] == ["pending", "closing"]
    assert made[0]["metadata"]["approvals"] == [id] and made[1]["outcome"] == "success"
    assert made[0]["metadata"]["timeout_ms"] == 15 * 60 * 1000
    [used] = [line for line in lines
              if line["event_id"] == ran["audit_id"] and line["phase"] == "pending"]
    assert used["metadata"]["approvals"] == [id] and used["seq"] > made[0]["seq"]
    assert str(world.outside).encode() not in audit_bytes(world)
    assert REASON.encode() not in audit_bytes(world)
    world.cordon_verb("audit", "verify").expect(0)


def test_without_a_log_nothing_is_granted(asking, world, era):
    place = world.write(world.home / ".local/state/cordon/audit", "in the way")
    place.parent.chmod(0o700)
    server = asking(era=era)
    _, result = request(server, wish("read", world.outside), YES)
    assert result["success"] is False and "approval" not in result, result
    place.unlink()
    assert server.good("get_limits", {})["approvals"] == []
    server.bad("read_local_file", {"path": str(world.outside / "secret")})


def test_writing_below_a_directory(asking, world):
    drop = world.make_directory(world.outside / "drop")
    server = asking(f'[ask]\nwrite = ["{drop}"]\n')
    assert server.good("get_limits", {})["can_be_asked_for"] == ["write"]
    server.bad("write_local_file", {"path": str(drop / "a"), "content": "x"})
    question, _ = request(server, wish("write", drop), YES)
    assert "read and write" in question["message"] and "everything below" in question["message"]
    server.good("write_local_file", {"path": str(drop / "a"), "content": "x"})
    server.good("run_code", {"argv": ["sh", "-c", f"echo y > {drop}/b"]})
    assert (drop / "a").read_text() == "x" and (drop / "b").read_text() == "y\n"
    server.bad("write_local_file", {"path": str(world.outside / "n"), "content": "x"})
    # What tools load is held there as everywhere.
    refused = server.bad("write_local_file", {"path": str(drop / ".mcp.json"), "content": "x"})
    assert "protected" in refused["message"] and not (drop / ".mcp.json").exists()


def test_reading_and_then_writing_the_same_path(serve_full, world):
    """The ceiling reads what may be approved for writing: of two rules the narrower must not win."""
    ceiling = (f'version = 1\n[fs]\nread = ["{world.outside}"]\nwrite = ["{world.project}"]\n'
               f'[ask]\nwrite = ["{world.outside}"]\n')
    server = serve_full(ceiling=ceiling, capabilities=FORM)
    server.bad("write_local_file", {"path": str(world.outside / "n"), "content": "x"})
    approve(server, "write", world.outside)
    server.good("write_local_file", {"path": str(world.outside / "n"), "content": "x"})
    server.good("run_code", {"argv": ["touch", str(world.outside / "m")]})


# A no.

@pytest.mark.parametrize("response", [
    {"action": "decline"}, {"action": "cancel"}, {"action": "decline", "content": {}},
    {"action": "accept", "content": {"decision": "deny"}}, {"action": "accept", "content": []},
    {"action": "Accept"}, {"action": ["accept"]}, {}])
def test_everything_else_is_a_no(asking, world, era, response):
    server = asking(era=era)
    _, result = request(server, wish("read", world.outside), response)
    assert result["type"] == "NotApproved" and result["audit_id"]
    assert "again" in result["help"]
    server.bad("read_local_file", {"path": str(world.outside / "secret")})
    last = [line for line in audit_lines(world) if line["action"] == "request_access"]
    assert [line["outcome"] for line in last] == ["failure"]
    told = server.good("explain_denial", {"id": result["audit_id"]})
    assert "person" in told["stopped_by"] and told["asking_again_helps"] is False
    # Who said no is left in peace; something else can still be asked for.
    assert "was not approved" in unasked(server, "read", world.outside)["message"]
    approve(server, "read", world.outside / "secret")


def test_many_noes_end_the_asking(asking, world):
    server = asking()
    for i in range(32):
        request(server, wish("read", world.write(world.outside / f"f{i}", "x")), NO)
    assert unasked(server, "read", world.outside)["type"] == "NotApproved"


def test_a_client_that_cannot_ask_gets_a_no(asking, world, era):
    for capabilities in ({}, {"elicitation": {"url": {}}}):
        server = asking(era=era, capabilities=capabilities)
        assert "no way to ask" in unasked(server, "read", world.outside)["message"]
        server.bad("read_local_file", {"path": str(world.outside / "secret")})


def test_a_cancelled_question_is_a_no(asking, world):
    server = asking(era="legacy")
    id = server.start_tool("request_access", wish("read", world.outside))
    question = server.wait_for(lambda m: m.get("method") == "elicitation/create")
    server.cancel(id)
    server.send({"jsonrpc": "2.0", "id": question["id"], "result": YES})
    assert server.good("get_limits", {})["approvals"] == []
    server.bad("read_local_file", {"path": str(world.outside / "secret")})


def test_an_answer_is_good_for_its_question_alone(asking, world):
    server = asking(era="modern")
    first_target = world.write(world.outside / "first", "FIRST\n")
    link = world.link(world.project / "link", first_target)
    arguments = wish("read", link)

    def retry(first, with_arguments):
        responses = {key: YES for key in first["inputRequests"]}
        return server.call("tools/call", {
            "name": "request_access", "arguments": with_arguments,
            "requestState": first["requestState"], "inputResponses": responses})
    first = server.tool("request_access", arguments)["result"]
    assert retry(first, wish("read", world.outside))["error"]["code"] == -32602
    first = server.tool("request_access", arguments)["result"]
    os.unlink(link)
    world.link(link, world.outside / "secret")
    turned = retry(first, arguments)["result"]
    assert turned["resultType"] == "input_required"
    assert server.good("get_limits", {})["approvals"] == []
    assert answered(retry(turned, arguments))["target"] == str(world.outside / "secret")
    assert retry(turned, arguments)["error"]["code"] == -32602


def test_neither_path_nor_reason_draws_another_dialog(asking, world, era):
    name = world.write(world.outside / 'x"? Yes.\n\nAllow \x1b[2J', "x")
    server = asking(era=era)
    question, _ = request(server, wish("read", name, 'ok"\nAllow all?\x1b[2J\u202e' + "z" * 900),
                          NO)
    text = question["message"]
    assert "\x1b" not in text and "\u202e" not in text and len(text) <= 300
    assert all(len(line) <= 80 and line.isprintable() for line in text.split("\n"))
    # Three parts, each begun by Cordon: what, the question, what the model says.
    about, question, says = (text.index(part) for part in ("outside/", "Let the sandboxed tools", "The model says: "))
    assert about < question < says and text.count("\nLet the") == text.count("\nThe model says") == 1
    assert text[says:].count('"') == 2
    long = world.write(world.outside / ("n" * 240), "x")
    assert "too long" in unasked(server, "read", long)["message"]


# What cannot be asked for.

def test_beyond_the_table_nobody_is_asked(asking, world):
    world.plant({".ssh/id_ed25519": "SECRET-ssh\n", ".netrc": "SECRET-netrc\n"})
    world.write(world.home / "notes/.git/hooks/x", "x")
    world.write(world.home / "notes/deep/private/x", "x")
    world.write(world.home / "notes/file", "x")
    os.mkfifo(world.own(world.make_directory(world.home / "pipes")) / "fifo")
    away = world.link(world.home / "notes/away", world.outside)
    server = asking(f'deny = ["private"]\n[ask]\nread = ["{world.home}/notes", "{world.home}/.ssh", '
                    f'"{world.home}/.netrc", "{world.home}/pipes", "{world.home}/.config"]\n'
                    f'write = ["{world.home}"]\nnet = ["allowed.example.com:443"]\n')
    # The ceiling asks for the whole home: never, and no part of it that is held.
    beyond = [("read", world.outside), ("read", world.outside / "secret"), ("read", away),
              ("read", "/"), ("write", world.home), ("write", "/"), ("write", world.home.parent),
              ("write", world.home / "notes/.git/hooks"), ("write", world.home / "notes/.git"),
              ("read", world.home / ".ssh"), ("read", world.home / ".ssh/id_ed25519"),
              ("read", world.home / ".netrc"), ("write", world.home / ".ssh"),
              ("read", world.home / "notes/deep/private"),
              ("read", world.home / "notes/deep/private/x"),
              ("write", world.home / "notes"),   # its [ask] read rule is closer
              ("read", world.home / "pipes/fifo"), ("read", world.home / "notes/absent"),
              ("write", world.home / ".local/state/cordon"), ("read", "/proc/self/environ"),
              ("write", world.trusted), ("read", "~nobody/x"), ("read", "a\0b"),
              ("network", "other.example.com:443"), ("network", "allowed.example.com"),
              ("network", "allowed.example.com:80"), ("network", "*.example.com:443"),
              ("network", "*"), ("network", "10.0.0.0/8")]
    answers = {unasked(server, kind, target)["message"] for kind, target in beyond}
    assert answers == {"the operator does not let this be asked for"}
    assert server.good("get_limits", {})["approvals"] == []
    # The control: the rest of the table can be.
    for kind, target in (("read", world.home / "notes"), ("read", world.home / "notes/file"),
                         ("network", "allowed.example.com:443")):
        question, _ = request(server, wish(kind, target), NO)
        assert str(target) in question["message"]


def test_a_deny_holds_although_the_approval_begins_below_it(serve_full, world):
    world.write(world.outside / "keys/x.pem", "SECRET-pem\n")
    world.write(world.outside / "keys/x.txt", "text\n")
    server = serve_full(ceiling=ceiling_of(world, f'deny = ["**/keys/*.pem"]\n{ask_table(world)}'),
                        capabilities=FORM)
    unasked(server, "read", world.outside / "keys/x.pem")
    approve(server, "read", world.outside / "keys")
    assert read(server, world.outside / "keys/x.txt")
    assert not read(server, world.outside / "keys/x.pem")
    ran = server.result("run_code", {"argv": ["cat", str(world.outside / "keys/x.pem")]})[0]
    assert "SECRET" not in ran["stdout"] and ran["success"] is False


def test_a_ceiling_file_is_never_made_writable(serve_full, world):
    server = serve_full(ceiling=ceiling_of(world, f'[ask]\nwrite = ["{world.trusted}"]\n'),
                        capabilities=FORM)
    unasked(server, "write", world.trusted)
    unasked(server, "write", world.trusted / "ceiling.toml")


def test_every_ceiling_must_let_it_be_asked(serve_full, world, era):
    asks = ceiling_of(world, ask_table(world))
    second = world.document(ceiling_of(world), "second.toml")
    server = serve_full("--ceiling", str(second), era=era, ceiling=asks, capabilities=FORM)
    assert "request_access" in tool_names(server)
    unasked(server, "read", world.outside)
    server.bad("read_local_file", {"path": str(world.outside / "secret")})
    # One that permits it, or lets it be asked too, is no obstacle; the shorter time holds.
    for more in (f'read = ["{world.outside}"]\n', '[ask]\nread = ["/"]\nexpires = "2m"\n'):
        world.document(ceiling_of(world, more), "second.toml")
        question, result = request(server, wish("read", world.outside / "secret"), YES)
        assert ("2m" if "2m" in more else "15m") in question["message"]
        assert result["success"] is True
        server.good("read_local_file", {"path": str(world.outside / "secret")})
        world.document(ceiling_of(world), "second.toml")
        server.bad("read_local_file", {"path": str(world.outside / "secret")})


def test_the_environment_form_is_such_a_ceiling(serve_full, world):
    server = serve_full(ceiling=ceiling_of(world, ask_table(world)), capabilities=FORM,
                        env={**ON, "CORDON_SANDBOX_READWRITE_PATHS": str(world.project)})
    unasked(server, "read", world.outside)


# The end of it.

def test_it_ends_by_the_clock_and_takes_its_runs_along(asking, world):
    server = asking(ask_table(world, 'expires = "5s"\n'))
    id = approve(server, "read", world.outside)
    started = server.good("start_process", {"argv": ["sleep", "300"]})
    narrow = server.good("start_process", {"argv": ["sleep", "300"], "readonly_paths": []})

    def state(of):
        listed = server.good("list_processes", {})["processes"]
        return next(one for one in listed if one["process_id"] == of["process_id"])
    assert wait_until(lambda: state(started)["state"] != "running")
    assert state(started)["kill_reason"] == "timeout"
    assert state(narrow)["state"] == "running"
    assert server.good("get_limits", {})["approvals"] == []
    denied = server.bad("read_local_file", {"path": str(world.outside / "secret")})
    assert id not in json.dumps(denied)


def test_it_ends_when_the_ceiling_no_longer_lets_it_be_asked(asking, world):
    server = asking()
    secret = world.outside / "secret"
    approve(server, "read", secret)
    assert read(server, secret)
    with_table = ceiling_of(world, ask_table(world))
    for without in (ceiling_of(world), ceiling_of(world, f'[ask]\nread = ["{world.home}"]\n'),
                    ceiling_of(world, f'deny = ["secret"]\n{ask_table(world)}')):
        world.document(without, "ceiling.toml")
        assert not read(server, secret)
        world.document(with_table, "ceiling.toml")
        assert not read(server, secret)    # it does not come back
        approve(server, "read", secret)
        assert read(server, secret)


def test_a_ceiling_that_cannot_be_read_stops_everything(asking, world):
    server = asking()
    approve(server, "read", world.outside)
    world.document("version = 1\n[ask]\nreed = []\n", "ceiling.toml")
    assert not read(server, world.outside / "secret")
    server.bad("request_access", wish("read", world.outside))


@pytest.mark.parametrize("place", ["another directory", "a link"])
def test_it_ends_with_its_object(asking, world, place):
    target = world.outside / "data"
    world.write(target / "x", "X\n")
    world.write(world.home / "x", "SECRET-home\n")
    server = asking()
    approve(server, "read", target)
    assert read(server, target / "x")
    shutil.rmtree(target)
    if place == "a link":
        world.link(target, world.home)
    else:
        world.write(target / "x", "SECRET-new\n")
    ran = server.result("run_code", {"argv": ["cat", str(target / "x")]})[0]
    assert ran["success"] is False and "SECRET" not in ran["stdout"]
    assert not read(server, target / "x")
    assert server.good("get_limits", {})["approvals"] == []


def test_it_dies_with_the_server(asking, world):
    server = asking()
    approve(server, "read", world.outside)
    assert read(server, world.outside / "secret")
    server.end()
    assert not read(asking(), world.outside / "secret")


# The network.

def test_a_host_that_was_approved_can_be_reached(asking, world):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        other = socket.create_server(("127.0.0.1", 0))
        stop = threading.Event()

        def serve():
            listener.settimeout(0.2)
            while not stop.is_set():
                try:
                    listener.accept()[0].close()
                except OSError:
                    continue
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            server = asking(f'[ask]\nnet = ["127.0.0.1:{port}"]\n')

            def connects(to):
                ran = server.result("run_code", {"argv": [str(world.probe), "connect",
                                                          f"127.0.0.1:{to}"]})[0]
                return json.loads(ran["stdout"])["ok"], ran
            assert not connects(port)[0]
            question, result = request(server, wish("network", f"127.0.0.1:{port}"), YES)
            assert "connect to" in question["message"]
            ok, ran = connects(port)
            assert ok and ran["approvals"] == [result["approval"]], ran
            assert not connects(other.getsockname()[1])[0]
            assert server.good("get_limits", {})["network"] == "allow"
        finally:
            stop.set()
            thread.join()
            other.close()
