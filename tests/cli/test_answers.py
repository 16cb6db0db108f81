"""An answer that cannot be written is an error: one line on standard error, and the status says so."""

import pytest

pytestmark = pytest.mark.once

ANSWERS = [
    (["--help"], 2),
    (["--version"], 2),
    (["policy", "show", "workspace"], 2),
    (["policy", "schema", "report"], 2),
    (["policy", "explain", "read", "/usr"], 2),
    (["doctor"], 2),
    (["help", "run"], 2),
    (["run", "--help"], 125),
    (["run", "--dry-run", "--", "true"], 125),
]


@pytest.mark.parametrize("words,status", ANSWERS, ids=lambda value: str(value))
def test_a_full_disk_is_told(world, words, status):
    with open("/dev/full", "w") as full:
        done = world.cordon_verb(*words, stdout=full)
    done.expect(status)
    assert done.err.splitlines() == [
        "cordon: cannot write the answer (No space left on device)"], done.account()


LOGGED = [
    (["audit", "list"], 2),
    (["audit", "tail"], 2),
    (["audit", "tail", "--json"], 2),
    (["audit", "stats"], 2),
    (["audit", "verify"], 2),
    (["audit", "export"], 2),
    (["audit", "export", "--format", "csv"], 2),
    (["setup", "--dry-run"], 2),
    (["mcp", "--print-config", "claude"], 2),
    (["hook", "--help"], 2),
]


@pytest.mark.parametrize("words,status", LOGGED, ids=lambda value: str(value))
def test_a_full_disk_is_told_where_there_is_a_log(world, words, status):
    world.run("true").expect(0)
    bare = world.cordon_verb(*words)
    assert bare.status in (0, 1) and bare.out, bare.account()
    with open("/dev/full", "w") as full:
        done = world.cordon_verb(*words, stdout=full)
    done.expect(status)
    assert done.err.count("cannot write the answer (No space left on device)") == 1, done.account()


def test_a_loop_whose_lines_are_lost_does_not_succeed(world):
    """The work is done all the same: the project has it."""
    world.write(world.project / "PLAN.md", "# Plan\n\n- [ ] one: Make it\n  verify: test -s one\n")
    words = ["loop", "--plain", "--net", "none", "--", "/bin/sh", "-c", "echo x > one"]
    world.cordon_verb(*words).expect(0)
    (world.project / "one").unlink()
    words.insert(1, "--restart")
    with open("/dev/full", "w") as full:
        done = world.cordon_verb(*words, stdout=full)
    done.expect(2)
    assert done.err.count("cannot write the answer (No space left on device)") == 1, done.account()
    assert (world.project / "one").exists()


def test_a_report_that_cannot_be_written_is_no_success(world):
    with open("/dev/full", "w") as full:
        done = world.run("true", options=["--json"], stdout=full)
    done.expect(141)
    assert "cannot write the answer (No space left on device)" in done.err, done.account()


def test_a_report_that_cannot_be_written_is_told_and_changes_nothing(world):
    with open("/dev/full", "w") as full:
        done = world.run("/bin/sh", "-c", "exit 7", options=["--json"], stdout=full)
    done.expect(7)
    assert "cannot write the answer" in done.err, done.account()
