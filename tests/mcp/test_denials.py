"""Kinds of denial of `cordon mcp`: what refuses, that it is policy, and a change that works are told for each. The
change is made, to the letter of the answer, and the same call succeeds; or it is said that nothing grants it."""

import json
import socket

import pytest

pytestmark = pytest.mark.once

ADD_PATH = "adding it to [fs] read or write of the ceiling"
ADD_WRITE = "adding the path to [fs] write of the ceiling"
TAKE_OUT = "taking it out of [fs] deny of the ceiling"
HOST = "[net] mode and allow of the ceiling"
VARIABLE = "adding it to [env] pass of the ceiling"
LIMITS = "in [limits] of the ceiling"
NOTHING = "nothing can grant it"
OUTSIDE = "outside"
READ_ONLY = "granted for reading alone"
DENIED = "denied by the operator"
HIDDEN = "a place of credentials, or of Cordon's own"
SYSTEM = "which no command changes from inside"
OUTSIDE_CHANGE = "a person changes the system, outside of the sandbox"
PROTECTED = "a protected file"

PYTHON = "/usr/bin/python3"


def python(code):
    return {"argv": [PYTHON, "-c", "import os, socket\n" + code]}


def shell(line):
    return {"argv": ["sh", "-c", line]}


def host_socket(world):
    """Of a server that lives as long as the test."""
    world.listener = socket.socket(socket.AF_UNIX)
    path = world.project / "host.sock"
    world.listener.bind(str(path))
    world.own(path)
    world.listener.listen()
    return path


class Place:
    """A world with a directory outside of the project, and a ceiling that can be changed."""

    def __init__(self, world, serve_full):
        self.world = world
        self.d = world.home / "d"
        world.write(self.d / "f", "x\n")
        world.write(self.d / "tool", "#!/bin/sh\nexit 0\n", 0o755)
        world.write(self.d / "sub/f", "x\n")
        world.write(world.project / "own", "x\n")
        world.write(world.project / "sub/own.key", "x\n")
        world.write(world.home / ".ssh/id_rsa", "PLANTED\n")
        world.write(world.home / ".aws/credentials", "PLANTED\n")
        (world.project / "link").symlink_to(self.d / "f")
        self.socket = host_socket(world)
        self.permit()
        self.server = serve_full("--ceiling", str(world.trusted / "ceiling.toml"), ceiling=None)

    def permit(self, read=(), write=(), deny=(), more=""):
        def listed(paths):
            return json.dumps([str(path) for path in paths])
        text = (f"version = 1\n[fs]\nread = {listed(['@system', *read])}\n"
                f"write = {listed([self.world.project, *write])}\ndeny = {listed(deny)}\n{more}")
        # At once: the server may be reading it.
        self.world.document(text, "ceiling.new").replace(self.world.trusted / "ceiling.toml")


# Each is given the place and returns the ceiling, the call, what is told of the rule, which change is told, and the
# ceiling after it (none: nothing helps).

def read_a_file(p): return {}, ("read_local_file", {"path": str(p.d / "f")}), OUTSIDE, ADD_PATH, {"read": [p.d / "f"]}
def read_relatively(p): return {}, ("read_local_file", {"path": "../d/f"}), OUTSIDE, ADD_PATH, {"read": [p.d]}
def read_through_a_link(p): return {}, ("read_local_file", {"path": "link"}), OUTSIDE, ADD_PATH, {"read": [p.d]}
def write_a_file(p): return {}, ("write_local_file", {"path": str(p.d / "f"), "content": "y"}), OUTSIDE, ADD_PATH, {"write": [p.d]}
def make_a_file(p): return {}, ("write_local_file", {"path": str(p.d / "new"), "content": "y"}), OUTSIDE, ADD_PATH, {"write": [p.d]}
def write_what_is_read(p): return {"read": [p.d]}, ("write_local_file", {"path": str(p.d / "f"), "content": "y"}), READ_ONLY, ADD_WRITE, {"write": [p.d]}
def edit_what_is_read(p): return {"read": [p.d]}, ("edit_local_file", {"path": str(p.d / "f"), "edits": [{"old": "x", "new": "y"}]}), READ_ONLY, ADD_WRITE, {"write": [p.d]}
def edit_a_file(p): return {}, ("edit_local_file", {"path": str(p.d / "f"), "edits": [{"old": "x", "new": "y"}]}), OUTSIDE, ADD_PATH, {"write": [p.d]}
def list_a_directory(p): return {}, ("list_files", {"path": str(p.d)}), OUTSIDE, ADD_PATH, {"read": [p.d]}
def search_a_directory(p): return {}, ("search_files", {"path": str(p.d), "pattern": "x"}), OUTSIDE, ADD_PATH, {"read": [p.d]}
def read_what_is_denied(p): return {"deny": ["*.key"]}, ("read_local_file", {"path": "sub/own.key"}), DENIED, TAKE_OUT, {}
def write_what_is_denied(p): return {"deny": ["*.key"]}, ("write_local_file", {"path": "sub/own.key", "content": "y"}), DENIED, TAKE_OUT, {}
def read_below_what_is_denied(p): return {"deny": ["sub"]}, ("read_local_file", {"path": "sub/own.key"}), DENIED, TAKE_OUT, {}
def read_a_key(p): return {}, ("read_local_file", {"path": str(p.world.home / ".ssh/id_rsa")}), HIDDEN, NOTHING, None
def read_a_token(p): return {"read": [p.world.home]}, ("read_local_file", {"path": str(p.world.home / ".aws/credentials")}), HIDDEN, NOTHING, None
def read_the_key_of_the_log(p): return {}, ("read_local_file", {"path": str(p.world.home / ".local/state/cordon/audit/key")}), HIDDEN, NOTHING, None
def write_a_hook(p): return {}, ("write_local_file", {"path": ".git/hooks/post-commit", "content": "y"}), PROTECTED, "a person can edit it", None
def write_settings(p): return {}, ("write_local_file", {"path": ".vscode/tasks.json", "content": "{}"}), PROTECTED, "a person can edit it", None
def start_elsewhere(p): return {}, ("run_code", {"argv": ["true"], "cwd": str(p.d)}), OUTSIDE, ADD_PATH, {"read": [p.d]}
def ask_to_read(p): return {}, ("run_code", {"argv": ["true"], "readonly_paths": [str(p.d)]}), OUTSIDE, ADD_PATH, {"read": [p.d]}
def ask_to_write(p): return {}, ("run_code", {"argv": ["true"], "readwrite_paths": [str(p.d)]}), OUTSIDE, ADD_PATH, {"write": [p.d]}
def cat_a_file(p): return {}, ("run_code", {"argv": ["cat", str(p.d / "f")]}), OUTSIDE, ADD_PATH, {"read": [p.d]}
def cat_relatively(p): return {}, ("run_code", {"argv": ["cat", "../d/f"]}), OUTSIDE, ADD_PATH, {"read": [p.d]}
def ls_a_directory(p): return {}, ("run_code", {"argv": ["ls", str(p.d)]}), OUTSIDE, ADD_PATH, {"read": [p.d]}
def redirect_to_a_file(p): return {}, ("run_code", shell(f"echo y > {p.d}/f")), OUTSIDE, ADD_PATH, {"write": [p.d]}
def append_to_what_is_read(p): return {"read": [p.d]}, ("run_code", shell(f"echo y >> {p.d}/f")), READ_ONLY, ADD_WRITE, {"write": [p.d]}
def touch_what_is_read(p): return {"read": [p.d]}, ("run_code", {"argv": ["touch", str(p.d / "new")]}), READ_ONLY, ADD_WRITE, {"write": [p.d]}
def mkdir_in_what_is_read(p): return {"read": [p.d]}, ("run_code", {"argv": ["mkdir", str(p.d / "m")]}), READ_ONLY, ADD_WRITE, {"write": [p.d]}
def run_a_program(p): return {}, ("run_code", {"argv": [str(p.d / "tool")]}), OUTSIDE, ADD_PATH, {"read": [p.d]}
def cat_what_is_denied(p): return {"deny": ["*.key"]}, ("run_code", {"argv": ["cat", "sub/own.key"]}), DENIED, TAKE_OUT, {}
def cat_a_denied_name(p): return {"deny": ["own"]}, ("run_code", {"argv": ["cat", "own"]}), DENIED, TAKE_OUT, {}
def open_a_denied_name(p): return {"deny": ["own"]}, ("run_code", python("open('own').read()")), DENIED, TAKE_OUT, {}
def cat_a_key(p): return {}, ("run_code", {"argv": ["cat", str(p.world.home / ".ssh/id_rsa")]}), HIDDEN, NOTHING, None
def cat_no_key(p): return {}, ("run_code", {"argv": ["cat", str(p.world.home / ".gnupg/none")]}), HIDDEN, NOTHING, None
def write_the_system(p): return {}, ("run_code", shell("echo y > /usr/cordon-test")), SYSTEM, OUTSIDE_CHANGE, None
def write_settings_of_the_system(p): return {}, ("run_code", shell("echo y > /etc/cordon-test")), SYSTEM, OUTSIDE_CHANGE, None
def touch_the_system(p): return {"read": ["/opt"]}, ("run_code", {"argv": ["touch", "/boot/cordon-test"]}), SYSTEM, OUTSIDE_CHANGE, None
def write_a_file_of_the_system(p): return {}, ("write_local_file", {"path": "/etc/cordon-test", "content": "y"}), SYSTEM, OUTSIDE_CHANGE, None
def ask_for_the_system(p): return {}, ("run_code", {"argv": ["true"], "readwrite_paths": ["/etc"]}), "allowed paths", OUTSIDE_CHANGE, None
def cat_password_hashes(p): return {}, ("run_code", {"argv": ["cat", "/etc/shadow"]}), HIDDEN, NOTHING, None
def read_password_hashes(p): return {}, ("read_local_file", {"path": "/etc/shadow"}), HIDDEN, NOTHING, None
def background_cat(p): return {}, ("start_process", {"argv": ["cat", str(p.d / "f")]}), OUTSIDE, ADD_PATH, {"read": [p.d]}
def a_host_without_a_network(p): return {}, ("run_code", shell(": https://h.example/x; exit 6")), "not among the hosts", HOST, None
def a_name_without_a_network(p): return {}, ("run_code", python("socket.getaddrinfo('h.example', 443)")), "not among the hosts", HOST, {"more": '[net]\nmode = "allow"\nallow = ["h.example:443"]\n'}
def a_name_of_another_host(p): return {"more": '[net]\nmode = "allow"\nallow = ["g.example:443"]\n'}, ("run_code", python("socket.getaddrinfo('h.example', 443)")), "not among the hosts", HOST, {"more": '[net]\nmode = "allow"\nallow = ["h.example:443"]\n'}
def a_socket_of_the_host(p): return {}, ("run_code", python("socket.socket(socket.AF_UNIX).connect('host.sock')")), "not among the sockets", "[net] sockets of the ceiling", {"more": f'[net]\nsockets = ["{p.socket}"]\n'}
def too_long(p): return {"more": '[limits]\nwall = "1s"\n'}, ("run_code", {"argv": ["sleep", "4"]}), "killed after 1s", LIMITS, {"more": '[limits]\nwall = "30s"\n'}
def too_large_a_file(p): return {"more": '[limits]\nfile_size = "1M"\n'}, ("run_code", shell("exec head -c 3M /dev/zero > big")), "file_size", LIMITS, {"more": '[limits]\nfile_size = "64M"\n'}
def too_much_output(p): return {"more": '[limits]\noutput_total = "1M"\n'}, ("run_code", shell("exec head -c 3M /dev/zero")), "output", LIMITS, {"more": '[limits]\noutput_total = "64M"\n'}
def a_variable(p): return {"more": '[env]\npass = ["SHOWN"]\n'}, ("run_code", {**shell('test "$OTHER" = 1'), "env": ["OTHER=1"]}), "not among the variables", VARIABLE, {"more": '[env]\npass = ["SHOWN", "OTHER"]\n'}
def too_many_processes(p): return {"more": "[limits]\npids = 12\n"}, ("run_code", shell("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep 3 & done; wait")), "pids", LIMITS, {"more": "[limits]\npids = 200\n"}
def too_much_memory(p): return {"more": '[limits]\nmemory = "48M"\n'}, ("run_code", python("x = bytearray(200 << 20)")), "memory", LIMITS, {"more": '[limits]\nmemory = "1G"\n'}


KINDS = [value for name, value in list(globals().items()) if callable(value) and getattr(value, "__code__", None)
         and value.__code__.co_varnames[:1] == ("p",)]


# What refuses it: of a command that names a place the mount view, of a call that asks for one the policy. Here the others.
BEFORE_ANYTHING_IS_STARTED = {"policy"}
LAYERS = {
    **{name: BEFORE_ANYTHING_IS_STARTED for name in (
        "write_a_hook", "write_settings", "read_the_key_of_the_log", "read_what_is_denied", "write_what_is_denied", "read_below_what_is_denied")},
    "run_a_program": {"mounts"},
    **{name: {"broker"} for name in ("a_host_without_a_network", "a_name_without_a_network", "a_name_of_another_host", "a_socket_of_the_host")},
    "too_long": {"clock"},
    "too_large_a_file": {"rlimit"},
    "too_much_output": {"relay"},
    "too_many_processes": {"cgroup", "rlimit", "watch"},
    "too_much_memory": {"cgroup", "rlimit", "watch"},
}


@pytest.fixture
def place(world, serve_full):
    return Place(world, serve_full)


def refused(answer):
    """Whether the answer says that something was not given."""
    return (answer["success"] is False or bool(answer.get("not_granted") or answer.get("hints"))
            or answer.get("exit_code", 0) != 0)


@pytest.mark.parametrize("kind", KINDS, ids=lambda one: one.__name__)
def test_a_denial_says_what_refuses_and_what_helps(place, kind):
    bounds, (tool, arguments), rule, change, cured = kind(place)
    place.permit(**bounds)
    answer, _ = place.server.result(tool, arguments, timeout=60)
    assert refused(answer), answer
    said = json.dumps(answer)
    assert rule in said and change in answer["help"], answer
    assert "PLANTED" not in said
    id = answer.get("run_id") or answer.get("process_id") or answer["audit_id"]
    told = place.server.good("explain_denial", {"id": id})
    assert "nothing that Cordon knows of" not in told["stopped_by"], told
    assert change in told["what_helps"], told
    assert told["layer"] in LAYERS.get(kind.__name__, {"mounts" if tool not in ("run_code", "start_process")
                                                       or answer.get("hints") else "policy"}), told
    if cured is not None:
        place.permit(**cured)
        again, is_error = place.server.result(tool, arguments, timeout=60)
        assert not is_error and not refused(again) and "help" not in again, again


@pytest.mark.parametrize("kind", [a_name_without_a_network, a_name_of_another_host, a_socket_of_the_host], ids=lambda one: one.__name__)
def test_a_connection_is_no_limit(place, kind):
    """The cause is the policy, and not that the command used too much."""
    bounds, (tool, arguments), _, _, _ = kind(place)
    place.permit(**bounds)
    answer, _ = place.server.result(tool, arguments)
    assert "that is policy and not absence" in answer["help"]
    told = place.server.good("explain_denial", {"id": answer["run_id"]})
    assert "the operator's policy" in told["stopped_by"] and "limit" not in told["stopped_by"] + told["what_helps"], told
    # A command that succeeded all the same needs no advice.
    quiet = {"argv": ["sh", "-c", '"$@" 2> /dev/null; true', "sh", *arguments["argv"]]}
    assert "help" not in place.server.good(tool, quiet)


def test_a_program_that_asks_for_a_host_until_its_time_is_over(place):
    """As npm does: the clock ends it, and the cause is another."""
    asks = python("import time\nwhile True:\n  try: socket.getaddrinfo('h.example', 443)\n  except OSError: time.sleep(0.2)")
    answer, _ = place.server.result("run_code", {**asks, "timeout_ms": 5000})
    assert answer["error"] == "Timeout" and "that is policy and not absence" in answer["help"] and HOST in answer["help"], answer
    told = place.server.good("explain_denial", {"id": answer["run_id"]})
    assert HOST in told["what_helps"], told
    # The control: of one that only took long nothing of the kind is said.
    answer, _ = place.server.result("run_code", {"argv": ["sleep", "60"], "timeout_ms": 1500})
    assert answer["error"] == "Timeout" and "policy" not in answer["help"], answer


def test_what_was_written_to_private_places_is_told(place):
    answer = place.server.good("run_code", shell("echo x > /tmp/of-this-run; echo y > kept; for i in 1 2 3 4 5; do echo $i > ~/n$i; done"))
    gone = answer["gone_with_this_run"]
    assert len(gone) == 5 and gone[-1] == "and 2 more" and (place.world.project / "kept").exists(), answer
    assert any(name.endswith("of-this-run") for name in place.server.good("run_code", shell("echo x > /tmp/of-this-run"))["gone_with_this_run"])
    # It is gone indeed, and a run that kept everything says nothing.
    again = place.server.good("run_code", shell("test ! -e /tmp/of-this-run && test -e kept"))
    assert "gone_with_this_run" not in again


def test_what_a_call_narrowed_itself_it_can_have(place):
    argv = {"argv": ["touch", "sub/new"]}
    answer, _ = place.server.result("run_code", {**argv, "readonly_paths": [str(place.world.project)]})
    assert "this call asked for less" in answer["hints"][0]["reason"], answer
    assert "leave both lists of paths out" in answer["help"]
    assert place.server.good("run_code", argv)["exit_code"] == 0


def test_protected_files_that_a_run_made_are_named(place):
    answer = place.server.good("run_code", shell("mkdir .vscode && echo '{}' > .vscode/tasks.json"))
    assert answer["changes_held_back"] == 1 and answer["held_back"] == [".vscode"], answer
    assert "cordon changes list" in answer["help"]
    told = place.server.good("explain_denial", {"id": answer["run_id"]})
    assert "protected files" in told["stopped_by"] and ".vscode" not in json.dumps(told), told
    # What is advised is there.
    assert ".vscode" in place.world.cordon_verb("changes", "list").expect(0).out


def test_nothing_tells_whether_a_store_is_there(place):
    """A store that is masked and one that is not there are refused in the same words."""
    answers = []
    for name in (".ssh/id_rsa", ".gnupg/id_rsa"):
        path = str(place.world.home / name)
        ran, _ = place.server.result("run_code", {"argv": ["cat", path]})
        read = place.server.bad("read_local_file", {"path": path})
        answers.append([ran["hints"][0]["reason"], ran["help"], read["message"], read["help"]])
    assert answers[0] == answers[1]


def test_a_program_that_failed_by_itself_is_not_blamed_on_the_policy(place):
    answer, _ = place.server.result("run_code", {"argv": ["cat", "absent"]})
    assert answer["success"] is False and "hints" not in answer and "help" not in answer, answer
    told = place.server.good("explain_denial", {"id": answer["run_id"]})
    assert "nothing that Cordon knows of" in told["stopped_by"]
