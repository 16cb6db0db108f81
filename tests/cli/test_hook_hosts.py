"""`cordon hook` in the words of each host, and what becomes of a hooked command when its host dies."""

import json
import os
import signal

import pytest

from support.harness import SOON, processes_with, wait_until

pytestmark = pytest.mark.once


def message_of(host, command, **more):
    call = {"command": command, **more}
    if host == "copilot":
        return {"sessionId": "s", "timestamp": 1, "cwd": "/x", "toolName": "bash", "toolArgs": call}
    names = {"claude": ("PreToolUse", "Bash"), "codex": ("PreToolUse", "Bash"),
             "gemini": ("BeforeTool", "run_shell_command")}[host]
    return {"session_id": "s", "cwd": "/x", "hook_event_name": names[0], "tool_name": names[1],
            "tool_input": call}


def command_in(host, answer):
    if host == "copilot":
        assert answer["permissionDecision"] == "allow"
        return answer["modifiedArgs"]["command"]
    if host == "gemini":
        assert answer["decision"] == "allow"
        return answer["hookSpecificOutput"]["tool_input"]["command"]
    assert answer["hookSpecificOutput"]["permissionDecision"] == "allow"
    return answer["hookSpecificOutput"]["updatedInput"]["command"]


HOSTS = ["claude", "codex", "copilot", "gemini"]


@pytest.mark.parametrize("host", HOSTS)
def test_the_call_becomes_a_contained_one(world, host):
    target = world.outside / "written"
    command = f"cat file.txt; readlink /proc/self/ns/pid; echo made > new; echo x > {target}"
    done = world.cordon_verb("hook", host, input=json.dumps(message_of(host, command))).expect(0)
    assert done.err == ""
    inside = world.execute(["/bin/bash", "-c", command_in(host, done.json)])
    assert inside.out.startswith("project file\npid:[")
    assert os.readlink("/proc/self/ns/pid") not in inside.out
    assert (world.project / "new").read_text() == "made\n" and not target.exists()


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("message", ["", "{", "[]", "{}", '{"toolName": "bash"}',
                                     '{"hook_event_name": "PreToolUse", "tool_name": "Bash"}'])
def test_what_is_no_call_is_blocked(world, host, message):
    done = world.cordon_verb("hook", host, input=message).expect(2)
    assert done.out == "" and done.err.startswith("cordon: hook: ")


@pytest.mark.parametrize("host, reason", [
    ("cursor", "beforeShellExecution"), ("windsurf", "pre_run_command"), ("vscode", "preview"), ("opencode", "plugin"),
    ("qwen", "as it came")])
def test_hosts_without_a_hook_are_told_why(world, host, reason):
    done = world.cordon_verb("hook", host, input=json.dumps(message_of("claude", "touch made"))).expect(2)
    assert done.out == "" and f"there is no hook for {host}: " in done.err and reason in done.err
    cure = done.err.split("give it contained tools: cordon ")[1].split()
    assert '"mcp' in world.cordon_verb(*cure).expect(0).out
    assert "unknown verb" in world.cordon_verb("hook", "nobody").expect(2).err  # the control


# A host that asks its hook through a shell, runs the answer as it does, and waits.
HOST = """
import json, subprocess, sys
cordon, host, message, keep = sys.argv[1:]
hook = subprocess.run(["timeout", "30", "/bin/sh", "-c", '"$0" hook "$1" || exit 2', cordon, host], input=message,
                      capture_output=True, text=True, check=True)
answer = json.loads(hook.stdout)
call = answer.get("modifiedArgs") or answer["hookSpecificOutput"].get("updatedInput") or \\
    answer["hookSpecificOutput"]["tool_input"]
words = call["command"].split(" ")
if keep == "without":
    words = [word for word in words if "--ends-with" not in word]
subprocess.Popen(["/bin/bash", "-c", " ".join(words)], start_new_session=True)
print("started", flush=True)
sys.stdin.read()
"""


def sleeping(seconds):
    return processes_with(f"sleep\0{seconds}")


def start_host(world, host, sleep, keep):
    message = json.dumps(message_of(host, f"sleep {sleep}"))
    started = world.start(["/usr/bin/python3", "-c", HOST, world.cordon, host, message, keep],
                          stdin=-1)
    assert started.stdout.readline() == b"started\n"
    assert wait_until(lambda: sleeping(sleep))
    return started


def kill_host(started):
    os.kill(started.pid, signal.SIGKILL)
    started.wait()


@pytest.mark.parametrize("host", HOSTS)
def test_a_hooked_command_dies_with_its_host(world, host):
    sleep = f"300.{os.getpid()}{HOSTS.index(host)}"
    kill_host(start_host(world, host, sleep, "with"))
    assert wait_until(lambda: not sleeping(sleep), SOON)


def test_without_the_option_it_goes_on(world):
    """The control: killing the host alone ends nothing."""
    sleep = f"301.{os.getpid()}"
    kill_host(start_host(world, "claude", sleep, "without"))
    try:
        assert not wait_until(lambda: not sleeping(sleep), 2)
    finally:
        for pid in sleeping(sleep):
            os.kill(pid, signal.SIGKILL)
    assert wait_until(lambda: not sleeping(sleep), SOON)


@pytest.mark.parametrize("wrapper, status", [
    (["/bin/sh", "-c", '"$@"; exit $?', "sh"], 0),
    (["/usr/bin/python3", "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"], 125)])
def test_what_starts_the_hook_is_taken_for_the_host(world, wrapper, status):
    """As docs/hosts.md says: behind a wrapper that is no known shell no command runs, and it says so."""
    message = json.dumps(message_of("claude", "touch made"))
    answer = world.execute([*wrapper, world.cordon, "hook", "claude"], input=message).expect(0).json
    done = world.execute(["/bin/bash", "-c", command_in("claude", answer)]).expect(status)
    assert ("there is no process" in done.err) == (status == 125)
    assert (world.project / "made").exists() == (status == 0)


def test_a_run_ends_with_the_process_it_names(world):
    other = world.start(["sleep", "300"])
    sleep = f"302.{os.getpid()}"
    # Not "sleep" and the time: the words of Cordon's own process would be those of the command.
    run = world.start([world.cordon, "run", "--ends-with", str(other.pid), "--", "sh", "-c", f"exec sleep {sleep}"])
    assert wait_until(lambda: sleeping(sleep))
    assert run.poll() is None
    other.kill()
    other.wait()
    assert run.wait(30) == 137


@pytest.mark.parametrize("value", ["", "x", "0", "-1", "4294967297", "99999999999999999999"])
def test_a_process_that_cannot_be_is_refused(world, value):
    done = world.run("true", options=["--ends-with=" + value]).expect(125)
    assert "--ends-with" in done.err or "no process" in done.err


def test_a_process_that_has_ended_is_refused(world):
    other = world.start(["true"])
    other.wait()
    done = world.run("touch", "made", options=["--ends-with", str(other.pid)]).expect(125)
    assert f"there is no process {other.pid}" in done.err
    assert not (world.project / "made").exists()


def test_as_a_prefix_it_runs_one_command_contained(world):
    target = world.outside / "written"
    command = f"cat file.txt; echo \"it's $((1 + 1))\"; touch {target}; exit 7"
    done = world.cordon_verb("-c", command).expect(7)
    assert done.out == "project file\nit's 2\n" and not target.exists()


@pytest.mark.parametrize("words", [["-c"], ["-c", "true", "true"], ["-c", "true", "--version"],
                                   ["--version", "-c", "true"]])
def test_a_prefix_without_its_one_command_is_refused(world, words):
    done = world.cordon_verb(*words).expect(2)
    assert "COMMAND" in done.err and done.out == ""


def test_a_command_behind_the_prefix_dies_with_its_host(world):
    sleep = f"303.{os.getpid()}"
    start = "import subprocess, sys; subprocess.Popen(sys.argv[1:], start_new_session=True); sys.stdin.read()"
    host = world.start(["/usr/bin/python3", "-c", start, "/bin/bash", "-c", '"$0" -c "$1"; true', world.cordon,
                        f"sleep {sleep}"], stdin=-1)
    assert wait_until(lambda: sleeping(sleep))
    kill_host(host)
    assert wait_until(lambda: not sleeping(sleep), SOON)
