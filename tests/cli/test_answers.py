"""An answer that cannot be written is an error: one line on standard error, and the status says so."""

import pytest

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


def test_a_report_that_cannot_be_written_is_told_and_changes_nothing(world):
    with open("/dev/full", "w") as full:
        done = world.run("/bin/sh", "-c", "exit 7", options=["--json"], stdout=full)
    done.expect(7)
    assert "cannot write the answer" in done.err, done.account()
