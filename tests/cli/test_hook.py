"""`cordon hook claude`: what it answers is run by real shells, and every failure blocks."""

import json
import os
import random
import shutil
import signal
import subprocess

import pytest

from support.harness import wait_until

pytestmark = pytest.mark.once


def call_of(command, **more):
    return {"session_id": "s", "transcript_path": "/x", "cwd": "/x", "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "t",
            "tool_input": {"command": command, "description": "d", **more}}


def hook(world, message, *options, **how):
    text = message if isinstance(message, (str, bytes)) else json.dumps(message)
    return world.cordon_verb("hook", "claude", *options, input=text, **how)


def wrapped(world, command, *options):
    done = hook(world, call_of(command), *options).expect(0)
    assert done.err == ""
    decision = done.json["hookSpecificOutput"]
    assert decision["hookEventName"] == "PreToolUse"
    assert decision["permissionDecision"] == "allow"
    assert decision["updatedInput"]["description"] == "d"
    return decision["updatedInput"]["command"]


def run(world, line, shell="/bin/bash", **how):
    """As Claude Code does: the line is evaluated by a shell that is already running."""
    return world.execute([shell, "-c", 'eval "$1"', "host", line], **how)


def blocked(done, word=""):
    done.expect(2)
    assert done.out == ""
    assert done.err.startswith("cordon: ") and done.err.count("\n") == 1, done.err
    assert word in done.err, done.err


def test_the_call_becomes_a_contained_one(world):
    inside = run(world, wrapped(world, "cat file.txt; echo made > new; readlink /proc/self/ns/pid"))
    inside.expect(0)
    assert inside.out.startswith("project file\n")
    assert os.readlink("/proc/self/ns/pid") not in inside.out
    assert (world.project / "new").read_text() == "made\n"


def test_what_is_outside_stays_outside(world):
    target = world.outside / "written"
    command = f"cat {world.outside}/secret; echo x > {target}"
    assert "SECRET-outside" in world.bare("bash", "-c", command).out and target.exists()
    target.unlink()
    inside = run(world, wrapped(world, command))
    assert inside.status == 1 and "SECRET" not in inside.out and not target.exists()


def test_the_status_streams_and_input_are_the_commands_own(world):
    inside = run(world, wrapped(world, "cat; echo err >&2; exit 7"), input="from outside")
    inside.expect(7)
    assert inside.out == "from outside" and inside.err == "err\n"


@pytest.mark.parametrize("prefix", ["cordon run -- true; ", "cordon run -- sh -c true && "])
def test_a_command_that_seems_contained_is_wrapped_all_the_same(world, prefix):
    target = world.outside / "escaped"
    run(world, wrapped(world, prefix + f"echo x > {target}"))
    assert not target.exists()


def test_cordon_inside_cordon_is_refused_by_the_inner_one(world):
    target = world.project / "made"
    nested = wrapped(world, f"{world.cordon} run -- touch {target}", "--read", world.cordon)
    run(world, nested).expect(125)
    assert not target.exists()


def test_options_are_passed_on(world):
    line = wrapped(world, "echo x > new", "--policy", "readonly")
    assert run(world, line).status == 1 and not (world.project / "new").exists()
    run(world, wrapped(world, "sleep 60", "--timeout=300ms")).expect(124)
    ceiling = world.document('version = 1\n[fs]\nread = ["@system", "@cwd"]\n', "a 'b' $HOME.toml")
    assert run(world, wrapped(world, "echo x > new", "--ceiling", ceiling)).status == 1
    granted = wrapped(world, "cat " + str(world.outside / "secret"), "--read", world.outside)
    assert run(world, granted).expect(0).out == "SECRET-outside\n"


NASTY = "'\"\\$`!#&|;<>(){}[]*?~ \t\n\r=%^\x01\x1b\x7fé\u2028\U0001f512" + "ab"


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_any_text_arrives_unchanged(world, shell):
    generator = random.Random(20261115)
    for _ in range(25):
        text = "".join(generator.choice(NASTY) for _ in range(generator.randrange(1, 80)))
        command = f"cat <<'the end of it'\n{text}\nthe end of it\n"
        bare = world.bare("bash", "-c", command)
        inside = run(world, wrapped(world, command), shell)
        assert (inside.status, inside.out) == (0, text + "\n") == (bare.status, bare.out), repr(text)


@pytest.mark.parametrize("command", [
    "echo \"it's\" 'a \"b\"' $((1+2)) `echo c` $(echo d)", "for i in 1 2; do echo $i; done",
    "echo a | tr a b | cat -A", "printf '%s\\n' \"$0\" \"$#\"", "false || echo ok & wait", "cd /; pwd",
    "cat <<E\n$((3*4))\nE", "echo '\\'' | cat", "# only a comment", "", "exit 3",
    "x='a\nb'; echo \"$x\"", "echo \\\nnext", "echo ${PATH:0:1}", "[[ a == a ]] && echo yes",
    "if true; then", "'"], ids=range(17))
def test_shell_syntax_means_the_same(world, command):
    bare = world.bare("/bin/bash", "-c", command)
    inside = run(world, wrapped(world, command))
    assert (inside.status, inside.out) == (bare.status, bare.out), inside.account()


def test_a_long_command_runs(world):
    text = "x" * 100_000
    assert run(world, wrapped(world, f"printf %s {text} | wc -c")).expect(0).out == "100000\n"


# Failures.

@pytest.mark.parametrize("message, word", [
    ("", "cannot be read"), ("{", "cannot be read"), ("[]", "hook_event_name"), (b"\xff\xfe", ""),
    ('{"hook_event_name":"PreToolUse","hook_event_name":"PreToolUse"}', ""),
    (call_of(None), "command"), (call_of(["ls"]), "command"), (call_of("a\0b"), "NUL"),
    (call_of("ls", _simulatedSedEdit={"filePath": "/x"}), "_simulatedSedEdit"),
    (call_of("x" * 140_000), "128 KiB"), (json.dumps(call_of("x" * (9 << 20))), "8 MiB"),
    ({**call_of("ls"), "hook_event_name": "PostToolUse"}, "PreToolUse"),
    ({**call_of("ls"), "tool_name": "Monitor"}, "Monitor"),
    ({**call_of("ls"), "tool_name": "Mon\x1b[2Jitor"}, "Mon"),
    ({**call_of("ls"), "tool_input": "ls"}, "tool_input")], ids=range(15))
def test_what_is_not_understood_is_blocked(world, message, word):
    done = hook(world, message)
    blocked(done, word)
    assert "\x1b" not in done.err


def test_other_tools_pass_in_silence(world):
    for tool in ("Read", "Write", "mcp__cordon__run_code"):
        done = hook(world, {**call_of("x"), "tool_name": tool, "tool_input": {"file_path": "/x"}})
        done.expect(0)
        assert done.out == "" and done.err == ""


@pytest.mark.parametrize("options", [["--no-such"], ["--policy"], ["operand"], ["--", "x"],
                                     ["--json"]])
def test_a_bad_command_line_blocks(world, options):
    done = hook(world, call_of("ls"), *options)
    done.expect(2)
    assert done.out == "" and done.err


def test_another_host_is_blocked(world):
    world.cordon_verb("hook", "nonsense", input="{}").expect(2)
    world.cordon_verb("hook", input="{}").expect(2)


def test_a_program_that_is_gone_blocks(world):
    copy = world.project / "cordon-copy"
    shutil.copy(world.cordon, copy)
    world.own(copy)
    process = world.start([copy, "hook", "claude"], stdin=subprocess.PIPE)
    link = f"/proc/{process.pid}/exe"
    # Once it is this program and no longer setpriv, its name may go.
    assert wait_until(lambda: os.readlink(link).endswith("cordon-copy"))
    assert wait_until(lambda: reads_its_input(process.pid))
    # It found itself before it began to read; a later start does not.
    copy.unlink()
    process.communicate(json.dumps(call_of("ls")).encode(), timeout=20)
    line = f"{copy} hook claude || exit 2"
    world.execute(["/bin/sh", "-c", line], input=json.dumps(call_of("ls"))).expect(2)


def reads_its_input(pid):
    with open(f"/proc/{pid}/wchan", encoding="ascii") as file:
        return "pipe" in file.read()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT", "SIGSEGV", "SIGABRT", "SIGPIPE",
                                  "SIGALRM"])
def test_a_death_by_signal_blocks(world, name):
    process = world.start([world.cordon, "hook", "claude"], stdin=subprocess.PIPE)
    assert wait_until(lambda: catches(process.pid, signal.SIGALRM))
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=20)
    assert process.returncode == 2 and out == b"" and b"blocked" in err


def catches(pid, number):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        caught = next(line for line in file if line.startswith("SigCgt"))
    return int(caught.split()[1], 16) >> (number - 1) & 1


def test_an_answer_that_cannot_be_written_blocks(world):
    with open("/dev/full", "wb") as full:
        process = world.start([world.cordon, "hook", "claude"], stdin=subprocess.PIPE, stdout=full)
        process.communicate(json.dumps(call_of("ls")).encode(), timeout=20)
    assert process.returncode == 2


def test_no_memory_blocks(world):
    limited = ["prlimit", "--data=6291456", world.cordon, "hook", "claude"]
    world.execute(limited, input=json.dumps(call_of("ls"))).expect(0)
    world.execute(limited, input=json.dumps(call_of("x" * (7 << 20)))).expect(2)


@pytest.mark.parametrize("where", ["policy", "ceiling"])
def test_what_waits_for_a_review_is_refused_and_its_cure_works(world, where):
    """Each call would write into a stage of its own, and the next one would not see it."""
    grants = f'read = ["/"]\nwrite = ["{world.project}"]\n'
    file = world.document(f'version = 1\n[fs]\n{grants}mode = "staged"\nstage = "review"\n', f"{where}.toml")
    options = [f"--{where}={file}"]
    blocked(hook(world, call_of("echo a > made"), *options), 'stage = "auto"')
    assert not (world.project / "made").exists()
    # A tool that runs nothing is none of its business.
    hook(world, dict(call_of("x"), tool_name="Read", tool_input={"file_path": "/x"}), *options).expect(0)
    world.write(file, file.read_text().replace("review", "auto"))
    run(world, wrapped(world, "echo a > made", *options)).expect(0)
    run(world, wrapped(world, "grep a made", *options)).expect(0)
    assert (world.project / "made").read_text() == "a\n"
