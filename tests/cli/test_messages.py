"""Mistakes of the keyboard: each is typed, the message names it, and what the message says is then done and works."""

import json
import os
import re
import shlex

import pytest

from support.harness import free_port
from support.pty_session import Terminal

pytestmark = pytest.mark.once


def hint_of(done) -> str:
    found = re.search(r"^hint: (.*)$", done.err, re.M)
    assert found, f"there is no hint\n{done.account()}"
    return found[1]


def command_in(text: str, world) -> list:
    """The words of the one command that a hint ends with."""
    found = re.search(r"cordon (?:run|session|loop|audit|policy|setup|help)\b.*", text)
    assert found, text
    words = shlex.split(found[0].split("; ")[0])
    return [world.cordon, *words[1:]]


def typed(world, *words, status=None, **how):
    done = world.execute([world.cordon, *words], **how)
    return done if status is None else done.expect(status)


# A word of the shell where a program is wanted.

@pytest.mark.parametrize("line, out", [
    ("echo hi", "hi\n"),
    ("printf 'a\\nb\\n' | wc -l", "2\n"),
    ("echo $((6*7)) \"it's\"", "42 it's\n"),
    ("test -e file.txt && echo there", "there\n"),
], ids=["words", "pipe", "quotes", "and"])
def test_a_shell_line_in_one_word(world, line, out):
    done = typed(world, "run", line, status=127)
    assert "line for a shell" in hint_of(done)
    cure = command_in(hint_of(done), world)
    assert cure[2:] == ["--", "sh", "-c", line]
    assert world.execute(cure).expect(0).out == out


def test_a_shell_line_in_a_session(world):
    made = typed(world, "session", "start", status=0).out.strip()
    try:
        done = typed(world, "session", "exec", made, "--", "echo hi", status=127)
        assert world.execute(command_in(hint_of(done), world)).expect(0).out == "hi\n"
        done = typed(world, "session", "exec", made, "--", "A=b", "printenv", "A", status=127)
        assert world.execute(command_in(hint_of(done), world)).expect(0).out == "b\n"
        done = typed(world, "session", "exec", made, "--", "cd", "sub", status=127)
        assert "--cwd sub" in hint_of(done)
    finally:
        typed(world, "session", "stop", made, status=0)


def test_a_name_with_a_blank_that_exists_outside_is_no_line(world):
    tool = world.write(world.outside / "my tool", "#!/bin/sh\necho tool\n", 0o755)
    told = hint_of(typed(world, "run", tool, status=127))
    assert "exists outside" in told and "shell" not in told
    assert typed(world, "run", "--read", tool, "--", tool, status=0).out == "tool\n"


def test_cd(world):
    world.make_directory(world.project / "sub")
    done = typed(world, "run", "--", "cd", "sub", status=127)
    told = hint_of(done)
    assert "word of the shell" in told and "--cwd sub" in told
    assert typed(world, "run", "--cwd", "sub", "--", "pwd", status=0).out == f"{world.project}/sub\n"


@pytest.mark.parametrize("words, out", [
    (["export", "GREETING=good day"], "good day\n"),
    (["GREETING=good day", "printenv", "GREETING"], "good day\n"),
    (["A=1", "GREETING=x", "printenv", "GREETING"], "x\n"),
    (["LD_PRELOAD=", "GREETING=x", "printenv", "GREETING"], "x\n"),
], ids=["export", "one", "two", "loader"])
def test_a_variable_before_a_command(world, words, out):
    done = typed(world, "run", "--", *words, status=127)
    cure = command_in(hint_of(done), world)
    cure = cure[:-1] + ["printenv", "GREETING"] if cure[-1] == "CMD" else cure
    assert world.execute(cure).expect(0).out == out


def test_a_variable_that_a_ceiling_does_not_pass(world):
    """The option would be refused, so it is not what is told."""
    ceiling = world.document(f'version = 1\n[fs]\nread = ["/usr"]\nwrite = ["{world.project}"]\n[env]\npass = []\n',
                             "ceiling.toml")
    bounded = {"CORDON_CEILING": str(ceiling)}
    refused = typed(world, "run", "--env", "A=b", "--", "printenv", "A", env=bounded)
    assert refused.status == 125, refused.account()
    done = typed(world, "run", "--", "A=b", "printenv", "A", status=127, env=bounded)
    assert world.execute(command_in(hint_of(done), world), env=bounded).expect(0).out == "b\n"


def test_other_words_of_the_shell(world):
    world.write(world.project / "x.sh", "echo sourced\n")
    done = typed(world, "run", "--", "source", "./x.sh", status=127)
    assert world.execute(command_in(hint_of(done), world)).expect(0).out == "sourced\n"
    done = typed(world, "run", "--", "ulimit", "-c", status=127)
    assert world.execute(command_in(hint_of(done), world)).expect(0).out == "0\n"


def test_help_is_no_program(world):
    done = typed(world, "run", "help", status=127)
    told = hint_of(done)
    assert "usage: cordon run" in world.execute(command_in(told, world)).expect(0).out
    # A program of that name is one.
    world.write(world.project / "bin/help", "#!/bin/sh\necho mine\n", 0o755)
    path = {"PATH": f"{world.project}/bin:/usr/bin:/bin"}
    done = typed(world, "run", "help", env=path)
    assert done.out == "mine\n" or "--help explains" not in done.err, done.account()


def test_a_program_that_is_not_on_the_path_inside(world):
    done = typed(world, "run", "--env", "PATH=/x", "--", "env", status=127)
    told = hint_of(done)
    place = re.search(r"it is inside as (\S+), but PATH there is /x", told)
    assert place and "--read" not in told, told
    assert "PATH=/x" in typed(world, "run", "--env", "PATH=/x", "--", place[1], status=0).out
    typed(world, "run", "--", "env", status=0)


def test_what_is_nowhere_is_not_installed(world):
    assert "not installed" in hint_of(typed(world, "run", "no-such-program", status=127))


@pytest.mark.parametrize("text, mode, said", [
    ("#!/bin/sh\necho ran\n", 0o644, "chmod +x ./tool"),
    ("echo ran\n", 0o755, "sh ./tool"),
], ids=["mode", "no-interpreter"])
def test_what_cannot_be_executed(world, text, mode, said):
    world.write(world.project / "tool", text, mode)
    done = typed(world, "run", "./tool", status=126)
    told = hint_of(done)
    assert said in told, told
    assert world.execute(command_in(told, world)).expect(0).out == "ran\n"
    os.chmod(world.project / "tool", 0o755)
    world.write(world.project / "tool", "#!/bin/sh\necho ran\n", 0o755)
    typed(world, "run", "./tool", status=0)


def test_a_path_at_which_nothing_is(world):
    for name in ("./tool", "sub/tool", str(world.project / "tool")):
        told = hint_of(typed(world, "run", "--", name, status=127))
        assert "correct the spelling" in told and "PATH" not in told, told
    assert f"nothing is at {world.project}/tool:" in hint_of(typed(world, "run", "--", "./tool", status=127))
    world.write(world.project / "tool", "#!/bin/sh\necho ran\n", 0o755)
    assert typed(world, "run", "--", "./tool", status=0).out == "ran\n"


def test_a_directory_is_no_program(world):
    assert "directory" in hint_of(typed(world, "run", world.project, status=126))


# Options.

@pytest.mark.parametrize("words, named, told", [
    (["run", "-x", "--", "true"], "-x", "cordon run -h"),
    (["run", "-w", ".", "--", "true"], "-w", "--write"),
    (["run", "--policy", "--", "true"], "--policy", "--policy FILE|PRESET"),
    (["run", "--json=yes", "--", "true"], "--json", "write --json alone"),
    (["run", "--pids", "abc", "--", "true"], "abc", "--pids 256"),
    (["run", "--env", "LD_PRELOAD=", "--", "true"], "LD_PRELOAD=", "leave it out"),
    (["run", "--color", "blue", "--", "true"], "blue", "auto, always or never"),
    (["run", "--policy", "agent:cladue", "--", "true"], "agent:cladue", "did you mean agent:claude?"),
    (["run", "--policy", "of-mien", "--", "true"], "of-mien", "did you mean of-mine?"),
    (["audit", "list", "-1"], "-1", "--limit 1"),
    (["audit", "show", "1", "2"], "ID", "cordon audit show last"),
    (["-v"], "-v", "did you mean --version or --verbose?"),
    (["-x"], "-x", "cordon -h"),
    (["audit", "show", "X"], "X", "cordon audit list"),
    (["policy", "check"], "name one file", "cordon policy check"),
    (["policy", "convert"], "name one document", "cordon policy convert"),
    (["policy", "explain"], "name an access", "cordon policy explain"),
    (["policy", "explain", "read", "x", "--polcy", "strict"], "--polcy", "did you mean --policy"),
    (["policy", "explain", "read", "x", "y"], "operand y", "one thing at a time"),
    (["policy", "explain", "connect", "http://h.example/a"], "http://h.example/a", "write h.example:80;"),
    (["--policy", "strict", "run", "true"], "--policy", "cordon run --policy"),
    (["--color", "never", "run", "true"], "--color", "behind it: cordon run --color"),
    (["--color=always", "doctor"], "--color", "behind it: cordon doctor --color"),
    (["--limit", "5", "audit", "list"], "--limit", "behind it: cordon audit list --limit"),
    (["run", "--stage", "auto", "--", "true"], "auto does not exist", 'behind "=": write --stage=auto'),
    (["run", "--allow", "", "--", "true"], "--allow ''", '"example.com:443"'),
    (["run", "--allow", "a.example:1,b.example:1", "--", "true"], "a.example:1,b.example:1", "a rule for each"),
    (["run", "--write", "", "--", "true"], "--write ''", "name a path, or leave it out"),
    (["run", "--write", "a\nb", "--", "true"], r"a\x0ab", "rename it"),
    (["run", "--cwd", "file", "--", "true"], "--cwd file is not a directory", "name the directory"),
    (["run", "--policy", "dir", "--", "true"], "the directory of that name is no policy", "./dir/policy.toml"),
    (["run", "--policy", "file", "--", "true"], "called file", "write ./file"),
    (["run", "--policy", "./bytes", "--", "true"], "bytes:1:1", "text file"),
    (["audit", "list", "--limit", "0"], "--limit 0", "--limit 50"),
    (["audit", "tail", "--limit", "x"], "--limit x", "--limit 50"),
    (["audit", "list", "--tool", ""], "--tool has an empty value", "leave it out"),
    (["run", "--report", "-", "--", "true"], "--report -", "write /dev/stdout"),
    (["audit", "list", "--outcome", "deneid"], "deneid", "did you mean denied?"),
    (["mcp", "--workspace", "nowhere"], "nowhere", "a directory that is there"),
])
def test_an_option_that_is_not_understood(world, words, named, told):
    typed(world, "run", "--", "true", status=0)
    world.write(world.project / "dir/policy.toml", "version = 1\n")
    world.write(world.project / "file", "version = 1\n")
    (world.project / "bytes").write_bytes(b"\0\1")
    world.write(world.home / ".config/cordon/policies/of-mine.toml", "version = 1\n")
    done = typed(world, *words)
    assert done.status != 0 and named in done.err, done.account()
    assert told in hint_of(done), done.account()


@pytest.mark.parametrize("words", [
    ["run", "--write", ".", "--", "true"], ["run", "--policy", "workspace", "--", "true"],
    ["run", "--json", "--", "true"], ["run", "--pids", "256", "--", "true"], ["audit", "list", "--limit", "1"],
    ["audit", "show", "last"], ["audit", "show", "-1"], ["audit", "show"], ["run", "--color", "never", "--", "true"],
    ["doctor", "--color=always", "--fix-hints"], ["run", "--report", "/dev/stdout", "--", "true"],
    ["run", "--stage=auto", "--", "true"], ["run", "--stage", "--", "true"],
    ["run", "--allow", "a.example:1", "--allow", "b.example:1", "--", "true"],
    ["audit", "list", "--limit", "50"], ["audit", "tail", "--limit", "50"],
    ["run", "--", "env", "LD_PRELOAD=", "true"]], ids=" ".join)
def test_what_is_told_instead_works(world, words):
    typed(world, "run", "--", "true", status=0)
    typed(world, *words, status=0)


def test_an_option_behind_the_command_is_the_commands(world):
    """It is passed on, as everything there; if the command fails of it, the line that was meant is told."""
    done = typed(world, "run", "ls", "-a", "--policy", "readonly", status=2)
    [told] = [line for line in done.err.splitlines() if line.startswith("cordon: ")]
    assert "--policy went to ls: options of cordon stand before the command: " in told, told
    cure = told.partition("the command: ")[2]
    assert cure == "cordon run --policy readonly -- ls -a"
    world.execute([world.cordon, *shlex.split(cure)[1:]]).expect(0)
    # One that succeeds knows its option; "--" says that all behind it is the command's.
    assert "went to" not in typed(world, "run", "echo", "--policy", "readonly", status=0).err
    assert "went to" not in typed(world, "run", "--", "ls", "--policy=readonly", status=2).err
    assert "run '--write=x' -- ls" in typed(world, "run", "ls", "--write=x", status=2).err


def test_a_very_long_word_is_abridged(world):
    for words in (["run", "--", "x" * 5000], ["run", "--write", "y" * 5000, "--", "true"],
                  ["run", "--policy", "z" * 5000, "--", "true"]):
        done = typed(world, *words)
        assert done.status >= 125 and len(done.err) < 2500, len(done.err)
    assert "bytes left out" in typed(world, "run", "--", "x" * 5000).err


@pytest.mark.parametrize("url, rule", [
    ("http://example.test", "example.test:80"), ("https://example.test/a?b#c", "example.test:443"),
    ("HTTPS://me:secret@example.test:8443/x", "example.test:8443"), ("ssh://git@example.test/r", "example.test:22"),
    ("https://[2001:db8::1]/", "[2001:db8::1]:443"), ("gopher://example.test", "example.test"),
])
def test_a_url_is_no_rule(world, url, rule):
    done = typed(world, "run", "--allow", url, "--", "true", status=125)
    assert f"--allow {shlex.quote(url)}" in done.err and "URL" in done.err
    told = shlex.split(hint_of(done).removeprefix("write "))
    assert told == ["--allow", rule]
    typed(world, "run", *told, "--", "true", status=0)
    policy = world.document(f'version = 1\nextends = "workspace"\n[net]\nallow = ["{url}"]\n')
    done = typed(world, "policy", "check", policy, status=2)
    assert f"{policy}:4:" in done.err and f'"{rule}"' in hint_of(done)


def test_a_system_directory_is_never_writable(world):
    for place in ("/etc", "/usr"):
        done = typed(world, "run", "--write", place, "--", "true", status=125)
        assert f"--write {place} cannot be granted: Cordon makes" in done.err, done.account()
        assert "name a directory of yours" in hint_of(done)
    typed(world, "run", "--write", world.outside, "--", "touch", world.outside / "made", status=0)
    assert (world.outside / "made").exists()
    # Where no option asks for it.
    policy = world.document('version = 1\nextends = "workspace"\n[fs]\nwrite = ["/etc"]\n')
    assert "write /etc cannot be granted" in typed(world, "run", "--policy", policy, "true", status=125).err
    # To read what the sandbox has is no contradiction.
    typed(world, "run", "--read", "/usr", "--", "true", status=0)


# Documents.

@pytest.mark.parametrize("text, named, told, cured", [
    ("[filesystem]\nread = []\n", "filesystem", "did you mean [fs]?", "[fs]\nread = []\n"),
    ("[network]\nmode = \"none\"\n", "network", "did you mean [net]?", "[net]\nmode = \"none\"\n"),
    ("[quux]\n", "quux", "the keys are version extends fs", ""),
    ("[limits]\npids = \"256\"\n", "pids", "digits alone", "[limits]\npids = 256\n"),
    ("[limits]\nmemory = 1\n", "memory", "with a unit", "[limits]\nmemory = \"1G\"\n"),
    ("[fs]\nread = [/usr]\n", "malformed TOML", 'read = ["/usr"]', '[fs]\nread = ["/usr"]\n'),
    ("[fs]\ncaches = \"yes\"\n", "caches", "true or false", "[fs]\ncaches = true\n"),
    ("[fs]\nhome = 1\n", "home", "quotes", '[fs]\nhome = "private"\n'),
])
def test_a_document_that_is_not_understood(world, text, named, told, cured):
    policy = world.document("version = 1\n" + text)
    done = typed(world, "policy", "check", policy, status=2)
    assert named in done.err and f"{policy}:" in done.err and told in hint_of(done), done.account()
    typed(world, "policy", "check", world.document("version = 1\n" + cured), status=0)


MANY = """extends = "workspace"
[filesystem]
read = ["/x"]
[net]
mode = "alow"
allow = ["http://a.test", "good.test", "*"]
[limits]
pids = "many"
wall = "soon"
[fs]
wrote = ["x"]
write = ["@nowhere", "./ok", "~root"]
"""


@pytest.mark.parametrize("text, place, cured", [
    ('{"version": 1, "fs": {,}}', "1:23", "one comma between two entries"),
    ('{"version": 1,\n}', "2:1", "remove the comma before it"),
    ('{"version": 1\n "fs": {}}', "2:2", "a comma between two entries"),
    ('{\n  // mine\n  "version": 1}', "2:3", "no comments"),
    ("{'version': 1}", "1:2", "double quotes"),
    ('{"version": 1, "fs": {"read": ["/usr"', "1:38", "too early: close"),
    ('{version: 1}', "1:2", "double quotes"),
    ("", "1:1", "the document is empty"),
], ids=["comma", "last comma", "no comma", "comment", "single quotes", "open", "bare name", "empty"])
def test_json_that_is_not_understood(world, text, place, cured):
    """Its place and what to write instead, whichever verb reads it."""
    file = world.document(text, "wrong.json")
    for words in (["policy", "check", file], ["run", "--policy", file, "--", "true"],
                  ["policy", "convert", "--from", "mxc", "--to", "cordon", file],
                  ["policy", "convert", "--from", "srt", "--to", "cordon", file]):
        done = typed(world, *words, status=125 if words[0] == "run" else 2)
        assert f"wrong.json:{place}: malformed JSON: " in done.err and cured in hint_of(done), done.account()


@pytest.mark.parametrize("words, named, cured", [
    (["--timeout", "0s"], "--timeout 0s: it is zero", "more than zero"),
    (["--timeout", "99999999999999999999h"], "--timeout 99999999999999999999h: it is larger", "a smaller one"),
    (["--memory", "99999999T"], "--memory 99999999T: it is larger", "a smaller one"),
    (["--memory", "99999999"], "--memory 99999999: not a size", "512M"),
    (["--pids", "99999999999999999999"], "--pids 99999999999999999999: it is larger", "a smaller one"),
    (["--pids", "0"], "--pids 0: not a number above zero", "--pids 256"),
    (["--files", "5"], "limits.files = 5: a sandbox needs 16", "--files 16"),
    (["--cwd", ""], "--cwd is empty", "name the directory"),
    (["--ceiling", ""], "--ceiling is empty", "name a file"),
    (["--http", "GET"], "request GET names no method, host and path", "POST api.example.com/v1/messages"),
    (["--http", "POST /v1"], "request 'POST /v1' names no host", "POST api.example.com/v1/messages"),
])
def test_a_value_that_is_out_of_bounds(world, words, named, cured):
    done = typed(world, "run", *words, "--", "true", status=125)
    assert named in done.err and cured in hint_of(done), done.account()


def test_the_fewest_files_are_enough(world):
    """What the message advises works, with everything that takes descriptors."""
    for more in ([], ["--allow", "a.example:1"], ["--why", "--stage", "--allow", "a.example:1"]):
        typed(world, "run", "--files", "16", *more, "--", "true", status=0)


def test_values_of_other_verbs_are_named(world):
    world.write(world.project / "PLAN.md", "- [ ] one: T\n  verify: test -e x\n")
    world.make_directory(world.project / "directory")
    for words, status, named, cured in [
            (["setup", "--name", ""], 2, "--name is empty", "the directory's name"),
            (["setup", "--env-file", ""], 2, "--env-file is empty", "--env-file ~/"),
            (["audit", "prune", "--keep-days", "x"], 2, "--keep-days x is not", "--keep-days 90"),
            (["audit", "prune"], 2, "--keep-days is missing", "--keep-days 90"),
            (["loop", "--attempts", "0", "sh"], 125, "--attempts 0 is not", "--attempts 3"),
            (["loop", "--cost", "1.5", "sh"], 125, "--cost 1.5 is not", "whole dollars"),
            (["loop", "--total", "5", "sh"], 125, "--total 5 is not a duration", "--total 30m"),
            (["loop", "--plan", "directory", "sh"], 125, "directory is not a regular file", "--example")]:
        done = typed(world, *words, status=status)
        assert named in done.err and cured in hint_of(done), done.account()


def test_a_run_of_which_nothing_is_kept(world):
    world.run("sh", "-c", "echo x > new", options=["--stage=review"]).expect(0)
    other = "0123456789abcdef"
    assert f"run {other} has nothing that is kept" in typed(world, "changes", "list", other, status=1).err
    assert "new" in typed(world, "changes", "list", status=0).out


def test_a_policy_that_is_no_text(world):
    file = world.document(b"\xff\xfev\0", "latin.toml")
    assert "NUL byte" in typed(world, "policy", "check", file, status=2).err
    file = world.document(b"version = 1\n# caf\xe9\n", "latin.toml")
    assert "UTF-8" in hint_of(typed(world, "policy", "check", file, status=2))


def test_check_tells_every_fault_at_once(world):
    policy = world.document(MANY)
    done = typed(world, "policy", "check", "--json", policy, status=2)
    answer = json.loads(done.out)
    assert answer["schema"] == "cordon.check/1" and answer["valid"] is False
    errors = answer["errors"]
    lines = sorted(error["place"]["line"] for error in errors)
    assert lines == [1, 2, 5, 6, 6, 8, 9, 11, 12, 12], errors
    assert {key: errors[0][key] for key in answer["error"]} == answer["error"]
    assert errors[0]["place"] == answer["place"]
    # A person reads them all, and each names its place.
    told = typed(world, "policy", "check", policy, status=2).err
    for error in errors:
        assert error["message"] in told
    # A run is refused with the first.
    assert errors[0]["message"] in typed(world, "run", "--policy", policy, "true", status=125).err


def test_check_tells_no_fault_that_another_one_entails(world):
    for text, lines in (('version = 1\nextends = "agent:clod"\n[agent]\nshare_login = true\n', [2]),
                        ('version = 2\n[fs]\nread = [1]\n', [1, 3]),
                        ('version = 1\n[agent]\nname = "clod"\nshare_login = true\n', [3])):
        answer = json.loads(typed(world, "policy", "check", "--json", world.document(text), status=2).out)
        assert [error["place"]["line"] for error in answer["errors"]] == lines, answer
    valid = typed(world, "policy", "check", "--json", world.document("version = 1\n"), status=0)
    assert json.loads(valid.out)["errors"] == []
    gone = typed(world, "policy", "check", "--json", world.trusted / "none.toml", status=2)
    assert len(json.loads(gone.out)["errors"]) == 1


# Whole verbs.

def test_a_loop_without_a_plan(world):
    done = typed(world, "loop", "true", status=125)
    assert "PLAN.md" in done.err
    cure = command_in(hint_of(done), world)
    assert cure[1:4] == ["loop", "--example", ">"]
    plan = typed(world, *cure[1:3], status=0).out
    world.write(world.project / "PLAN.md", plan)
    # It is read, and an agent that does the work is done with it.
    agent = "#!/bin/sh\nprintf 'echo \"Hello, ${1:-world}\"\\n' > greet.sh\n"
    world.write(world.project / "agent", agent, 0o755)
    typed(world, "loop", "--plain", "./agent", status=0)
    world.write(world.project / "PLAN.md", "# nothing\n")
    assert "- [ ] parse-flags: Parse the flags" in hint_of(typed(world, "loop", "true", status=125))


def test_setup_in_a_home(world):
    done = typed(world, "setup", cwd=world.home)
    assert done.status == 2 and "not a project directory" in done.err
    told = hint_of(done)
    assert "change into a project" in told and "--policy" not in told and "--write" not in told
    project = world.make_directory(world.home / "other")
    typed(world, "setup", "--yes", cwd=project, status=0)


def test_a_project_in_the_devices(world):
    """Neither another preset nor another grant helps there: the advice of other places would be refused."""
    done = world.run("true", cwd="/dev/shm").expect(125)
    assert "not a project directory" in done.err
    told = hint_of(done)
    assert "copy the project" in told and "--policy" not in told and "--write" not in told
    world.run("true", cwd=world.make_directory(world.outside / "copied")).expect(0)


def test_a_limit_of_open_files(world):
    done = world.bare("sh", "-c", f"ulimit -Sn 20; exec {world.cordon} run -- true")
    cure = re.search(r"ulimit -\w*n \d+", hint_of(done))
    assert done.status == 125 and cure, done.account()
    world.bare("sh", "-c", f"{cure[0]}; exec {world.cordon} run -- true").expect(0)


@pytest.mark.parametrize("files", [16, 20])
def test_a_limit_of_open_files_that_cannot_be_raised(world, files):
    """The hard limit is as low, so that to raise the soft one would be refused."""
    done = world.bare("sh", "-c", f"ulimit -n {files}; exec {world.cordon} run -- true")
    assert done.status == 125 and f"ulimit -n is {files}" in done.err, done.account()
    assert "the hard limit is" in hint_of(done) and "ulimit -Sn" not in done.err, done.account()
    world.bare("sh", "-c", f"ulimit -n 1024; exec {world.cordon} run -- true").expect(0)


@pytest.mark.parametrize("verb", ["run -- true", "doctor", "audit list"])
@pytest.mark.parametrize("size", [16, 64, 256])
def test_a_small_stack_is_refused_with_its_cure(world, verb, size):
    """It ended by SIGSEGV, which looks like an end of the command."""
    done = world.bare("bash", "-c", f"ulimit -Ss {size}; exec {world.cordon} {verb}").expect(125)
    assert f"limited to {size} KiB (ulimit -s)" in done.err, done.account()
    cure = re.search(r"ulimit -Ss \d+", hint_of(done))
    assert world.bare("bash", "-c", f"ulimit -Ss {size}; {cure[0]}; exec {world.cordon} {verb}").status in (0, 1)
    hard = world.bare("bash", "-c", f"ulimit -s {size}; exec {world.cordon} {verb}").expect(125)
    assert "the hard limit is as low" in hint_of(hard), hard.account()


@pytest.mark.parametrize("blocks", [0, 1])
def test_a_limit_of_file_size_is_an_error_with_its_cure(world, blocks):
    """It ended by SIGXFSZ. The command itself has the limit that its caller has."""
    done = world.bare("bash", "-c", f"ulimit -Sf {blocks}; exec {world.cordon} run -- true").expect(125)
    assert "File too large" in done.err and f"{blocks} KiB" in hint_of(done), done.account()
    cure = re.search(r"ulimit -f unlimited", hint_of(done))
    world.bare("bash", "-c", f"ulimit -Sf {blocks}; {cure[0]}; exec {world.cordon} run -- true").expect(0)
    inside = f"ulimit -Sf 64; exec {world.cordon} run -- head -c 100000 /dev/zero > /dev/null"
    world.bare("bash", "-c", inside).expect(0)
    grows = world.bare("bash", "-c", f"ulimit -Sf 64; exec {world.cordon} run -- "
                                     "sh -c 'head -c 100000 /dev/zero > big'").status
    assert grows == world.bare("bash", "-c", "ulimit -Sf 64; sh -c 'head -c 100000 /dev/zero > big'").status


def test_the_newest_records_are_counted_from_the_end(world):
    for status in (3, 4, 5):
        world.run("sh", "-c", f"exit {status}").expect(status)

    def ended(*words):
        return typed(world, "audit", "show", "--json", *words, status=0).json["exit_code"]
    assert [ended(), ended("last"), ended("-1"), ended("-2"), ended("-3")] == [5, 5, 5, 4, 3]
    for words in (["-0"], ["-99"], ["-99999999999999"]):
        assert "cordon audit list shows them" in hint_of(typed(world, "audit", "show", *words, status=1))


def test_a_log_in_which_nothing_is_old(world):
    """Silence would read as if something were gone."""
    world.run("true").expect(0)
    done = typed(world, "audit", "prune", "--keep-days", "1", status=1)
    assert "nothing is removed" in done.err and done.out == ""


def test_a_variable_that_is_not_set(world):
    done = world.run("sh", "-c", "echo ${OTHER-unset}", options=["--env", "OTHER"]).expect(0)
    assert done.out == "unset\n" and "--env OTHER: it is not set here" in done.err
    cure = re.search(r"--env OTHER=\w+", done.err)[0].split()
    assert world.run("printenv", "OTHER", options=cure).expect(0).out == "VALUE\n"
    quiet = world.run("printenv", "OTHER", options=["--env", "OTHER"], env=world.environment({"OTHER": "1"}))
    assert quiet.expect(0).out == "1\n" and quiet.err == ""


def test_two_ports_of_one(world):
    """The second would have taken the place of the first without a word."""
    one, two = free_port(), free_port()
    done = world.run("true", options=["--publish", f"{one}:80", "--publish", f"{one}:81"]).expect(125)
    cure = re.search(r"--publish PORT:81", hint_of(done))[0].replace("PORT", str(two)).split()
    world.run("true", options=["--publish", f"{one}:80", *cure]).expect(0)
    world.run("true", options=["--publish", f"{one}:80", "--publish", f"{one}:80"]).expect(0)


def test_a_builder_that_was_killed(world):
    call = "mount_setattr"
    traced = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}"]
    killed = ["-e", f"inject={call}:signal=SIGKILL:when=1"]
    done = world.bare(*traced, *killed, world.cordon, "run", "--backend", "native", "--", "true")
    assert done.status == 125 and "the process that builds the sandbox was killed by SIGKILL" in done.err
    assert "want of memory" in hint_of(done)
    world.bare(*traced, world.cordon, "run", "--backend", "native", "--", "true").expect(0)


# Colours.

def errors_at_a_terminal(world, *options, env=None):
    terminal = Terminal(world, [world.cordon, "policy", "check", *options, "none.toml"], env=env)
    terminal.wait()
    return "\x1b[3" in terminal.seen.decode()


def test_colours(world):
    assert errors_at_a_terminal(world)
    assert not errors_at_a_terminal(world, env={"TERM": "dumb"})
    assert not errors_at_a_terminal(world, env={"NO_COLOR": "1"})
    assert not errors_at_a_terminal(world, "--color", "never")
    assert errors_at_a_terminal(world, "--color=always", env={"NO_COLOR": "1", "TERM": "dumb"})
    typed(world, "run", "--", "true", status=0)
    for verb, operand in (("policy check", "x"), ("audit show", "x"), ("run", "no-such-program"), ("doctor", None),
                          ("loop", "x"), ("session show", "x"), ("completion", "x")):
        words = [*verb.split(), *([operand] if operand else [])]
        plain = typed(world, *words)
        assert "\x1b[" not in plain.err + plain.out, verb
        always = typed(world, *verb.split(), "--color=always", *([operand] if operand else []))
        assert "\x1b[" in always.err + always.out, verb


def test_a_dumb_terminal_gets_no_codes(world):
    """Nor a line that counts, which could not be written over."""
    typed(world, "run", "--", "true", status=0)
    for variables, codes in (({"TERM": "dumb"}, False), ({}, True)):
        (world.home / ".local/state/cordon/audit/index.sqlite").unlink(missing_ok=True)
        terminal = Terminal(world, [world.cordon, "audit", "list"], env=variables)
        terminal.wait()
        assert (b"\x1b" in terminal.seen) is codes and (b"indexing" in terminal.seen) is codes, terminal.seen
        assert b"success" in terminal.seen
        terminal.close()
