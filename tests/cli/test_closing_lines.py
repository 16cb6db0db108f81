"""What `cordon run` says when the command has ended: at a terminal one line of each kind, the first with its cure and how
many more there are; nothing when all went well. Whoever reads a pipe gets each line."""

import re
import shlex

import pytest

from support.pty_session import Terminal

pytestmark = pytest.mark.once


def at_a_terminal(world, *words):
    terminal = Terminal(world, [world.cordon, "run", *words], columns=400)
    status = terminal.wait()
    text = re.sub(r"\x1b\[\d*m", "", terminal.seen.decode())
    terminal.close()
    return status, [line.strip() for line in text.splitlines()]


def in_a_pipe(world, *words):
    done = world.cordon_verb("run", *words)
    return done.status, done.err.splitlines()


def notices(lines, start):
    return [line for line in lines if line.startswith(f"cordon: {start}")]


def the_rest(world, line):
    """How many more a line tells of, and what the command that it names says."""
    more, verb = re.search(r"; and (\d+) more: cordon (\S.*)$", line).groups()
    return int(more), world.cordon_verb(*shlex.split(verb)).expect(0).out


def test_nothing_is_said_when_all_went_well(world):
    for words in (["true"], ["sh", "-c", "echo x > made && cat made"], ["--", "sh", "-c", "mkdir -p d && rm -r d"]):
        status, lines = at_a_terminal(world, *words)
        assert status == 0 and not [line for line in lines if "cordon" in line], lines
    # The control.
    assert notices(at_a_terminal(world, "--", "cat", "/none/such", world.write(world.home / "there", "x"))[1], "not granted")


def test_hints_are_one_line(world):
    paths = [world.write(world.home / name, "x\n") for name in ("a", "b", "c", "d")]
    status, lines = at_a_terminal(world, "--", "cat", *map(str, paths))
    assert status == 1
    [line] = notices(lines, "not granted: ")
    assert f"read {paths[0]}; --read {paths[0]}; and 3 more: cordon why" in line
    more, listed = the_rest(world, line)
    assert more == 3 and all(f"read {path}" in listed and f"--read {path}" in listed for path in paths), listed
    _, lines = in_a_pipe(world, "--", "cat", *map(str, paths))
    assert len(notices(lines, "outside what is granted: ")) == 4, lines
    # One alone is as it is.
    _, lines = at_a_terminal(world, "--", "cat", str(paths[0]))
    assert notices(lines, "not granted: ") == [f"cordon: not granted: read {paths[0]}; --read {paths[0]}"]


def test_kinds_are_apart_and_what_ended_it_is_never_folded(world):
    code = ("import socket, time\nfor name in 'abcde':\n  try: socket.getaddrinfo(name + '.example', 443)\n"
            "  except OSError: pass\nopen('/tmp/gone', 'w').write('x')\ntime.sleep(60)")
    # All of that is done before the time is over, on a machine that stands still for some seconds as well.
    words = ["--timeout", "8s", "--", "/usr/bin/python3", "-c", code]
    status, lines = at_a_terminal(world, *words)
    assert status == 124
    assert notices(lines, "killed: ") == ["cordon: killed: wall-clock limit 8s"]
    assert len(notices(lines, "gone with the run: 1 file")) == 1, lines
    [line] = notices(lines, "no network inside")
    assert re.match(r"cordon: no network inside; asked for a\.example:443.* \(--allow a\.example:443\); and 4 more: ", line), line
    more, listed = the_rest(world, line)
    assert more == 4 and all(f"{name}.example:443" in listed for name in "abcde"), listed
    _, lines = in_a_pipe(world, *words)
    assert len(notices(lines, "no network inside")) == 5, lines


def test_reductions_are_one_line(world):
    kept = [world.make_directory(world.outside / name) for name in ("a", "b", "c")]
    ceiling = world.document(f'version = 1\n[fs]\nread = ["/usr"]\nwrite = ["{world.project}"]\n', "ceiling.toml")
    policy = world.document(f'version = 1\nextends = "workspace"\n[fs]\nread = {list(map(str, kept))}\n')
    words = ["--ceiling", str(ceiling), "--policy", str(policy), "--", "true"]
    status, lines = at_a_terminal(world, *words)
    _, each = in_a_pipe(world, *words)
    assert status == 0 and len(notices(each, "reduced ")) >= 3, each
    [line] = notices(lines, "reduced ")
    assert line.startswith(notices(each, "reduced ")[0])
    more, listed = the_rest(world, line)
    assert more == len(notices(each, "reduced ")) - 1
    assert all(f"taken away: read {path}" in listed for path in kept), listed


def test_protected_files_are_one_line(world):
    script = "for name in .vscode .idea .mcp.json .envrc; do mkdir -p $name.d && mv $name.d $name; done; exit 0"
    status, lines = at_a_terminal(world, "--", "sh", "-c", script)
    assert status == 0
    _, each = in_a_pipe(world, "--", "sh", "-c", script)
    moved = notices(each, "moved out of the tree: ")
    assert len(moved) >= 3, each
    [line] = notices(lines, "moved out of the tree: ")
    more, listed = the_rest(world, line)
    assert more == len(moved) - 1 and ".vscode" in listed and ".idea" in listed, listed
    # With the command that takes them.
    [held] = notices(lines, "held back: ")
    assert "cordon changes list" in held and "named above" not in held and lines.index(held) > lines.index(line), lines
    # One alone is named, and above.
    world.cordon_verb("changes", "discard")
    status, lines = at_a_terminal(world, "--", "sh", "-c", "echo {} > .mcp.json")
    [line], [held] = notices(lines, "moved out of the tree: "), notices(lines, "held back: ")
    assert "1 file named above" in held and lines.index(held) > lines.index(line), lines


def test_who_asks_for_the_list_gets_it(world):
    """--why is the wish to see each access that was refused."""
    paths = [world.write(world.home / name, "x\n") for name in ("a", "b", "c")]
    _, lines = at_a_terminal(world, "--why", "--", "cat", *map(str, paths))
    assert len(notices(lines, "denied: file ")) + len(notices(lines, "denied: ")) >= 3, lines
    assert not [line for line in lines if " more: cordon" in line], lines


def test_a_limit_that_nothing_met_is_not_told(world):
    """The command and the sandbox's first process stand at such a bound, whatever the command does."""
    for number in (2, 3, 4):
        for command in (["true"], ["sh", "-c", "true"]):
            done, report = world.report(*command, options=["--pids", number])
            assert "limit reached" not in done.expect(0).err and report["denials"] == [], done.account()
    # The controls: no room for one more, and a bound that was met while others stood at it.
    by = report["enforcement"]["limits"]["pids"]
    if by == "rlimit":
        done, report = world.report("sh", "-c", "sleep 5 & wait", options=["--pids", 2])
        assert done.status != 0 and "full at limit pids 2" in done.err and "gets EAGAIN" in done.err, done.account()
    if by != "watch":
        done, report = world.report("sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 9 & done; wait", options=["--pids", 6])
        assert [one["what"] for one in report["denials"]] == ["pids"], done.account()
