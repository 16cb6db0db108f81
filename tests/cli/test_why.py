"""`cordon why`: what was denied in a run that is over, by what, and a change that works."""

import fcntl
import json
import re

import pytest


def why(world, *words, status=0):
    return world.cordon_verb("why", *words).expect(status).out


def test_nothing_denied(world):
    assert "nothing has been run yet" in world.cordon_verb("why").expect(1).err
    world.run("true").expect(0)
    assert "nothing was denied in run" in world.cordon_verb("why").expect(1).err


def test_a_command_that_just_failed_is_no_denial(world):
    world.run("sh", "-c", "exit 3").expect(3)
    told = world.cordon_verb("why").expect(1)
    assert "exit status 3" in told.out and "policy explain read PATH" in told.out


def test_last_is_the_newest_whatever_it_was(world):
    world.run("sleep", "9", options=["--timeout", "200ms"]).expect(124)
    first = json.loads(why(world, "--json"))["run_id"]
    assert "wall clock" in why(world)
    world.run("true").expect(0)
    assert "nothing was denied" in world.cordon_verb("why").expect(1).err
    assert first in why(world, first) and "wall clock" in why(world, first)
    assert "no account" in world.cordon_verb("why", "0123456789abcdef").expect(1).err


def test_the_newest_is_known_whatever_stood_there(world):
    world.run("true").expect(0)
    last = world.home / ".local/state/cordon/accounts/last"
    before = last.read_text()
    assert re.fullmatch("[0-9a-f]{16}\n", before)
    with open(last, "a", encoding="utf-8") as file:
        file.write("what no version of it wrote\n" * 9)
    world.run("true").expect(0)
    after = last.read_text()
    assert re.fullmatch("[0-9a-f]{16}\n", after) and after != before


def test_a_reader_that_stands_still_holds_up_no_run(world):
    world.run("true").expect(0)
    last = world.home / ".local/state/cordon/accounts/last"
    with open(last, encoding="utf-8") as reader:
        before = reader.read()
        fcntl.flock(reader, fcntl.LOCK_SH)
        world.run("true").expect(0)
    assert last.read_text() != before


def test_the_advice_for_a_limit_works(world):
    fill = ["sh", "-c", "head -c 3000000 /dev/zero > /tmp/fill; sleep 1; test $(stat -c %s /tmp/fill) = 3000000"]
    assert world.run(*fill, options=["--scratch", "1M"]).status != 0
    told = why(world)
    assert "limit reached: scratch" in told and "--scratch SIZE" in told, told
    world.run(*fill, options=["--scratch", "16M"]).expect(0)


def test_what_a_ceiling_took_away(world):
    ceiling = world.document(f'version = 1\n[fs]\nread = ["/usr"]\nwrite = ["{world.project}"]\n', "ceiling.toml")
    policy = world.document(f'version = 1\nextends = "workspace"\n[fs]\nread = ["{world.outside}"]\n')
    world.run("true", options=["--ceiling", ceiling, "--policy", policy]).expect(0)
    told = why(world)
    assert f"taken away: read {world.outside}" in told and "outside-ceiling" in told, told


def test_a_refusal_is_told_with_its_hint(world):
    refused = world.run("true", options=["--policy", world.document("version = 7\n")])
    assert refused.status == 125
    hint = re.search("hint: (.*)", refused.err)[1]
    assert hint in why(world) and "not started" in why(world)
    world.run("no-such-program").expect(127)
    assert "not installed" in why(world)


def test_what_was_moved_can_be_taken_as_told(world):
    world.run("sh", "-c", "mkdir .vscode && echo {} > .vscode/tasks.json").expect(0)
    told = why(world)
    [line] = [line for line in told.splitlines() if "takes it" in line]
    words = line.split(" takes it")[0].split()
    assert words[:3] == ["cordon", "changes", "apply"]
    world.cordon_verb(*[word.strip("'") for word in words[1:]]).expect(0)
    assert (world.project / ".vscode/tasks.json").exists()


def test_what_waits_is_told_until_it_is_taken(world):
    world.run("sh", "-c", "echo a > a.txt; echo b > b.txt; mkdir sub .vscode; echo a > sub/a.txt; echo {} > .vscode/x",
              options=["--stage=review"]).expect(0)
    told = why(world)
    assert "not applied yet: a.txt\n" in told and "not applied yet: sub/a.txt\n" in told, told
    assert "held back: .vscode (editor)" in told and "()" not in told, told
    [line] = [line for line in told.splitlines() if line.endswith(" a.txt takes it")]
    world.cordon_verb(*line.split(" takes it")[0].split()[1:]).expect(0)
    told = why(world)
    assert "yet: a.txt" not in told and "yet: b.txt" in told and "yet: sub/a.txt" in told, told
    world.cordon_verb("changes", "discard").expect(0)
    assert "yet:" not in (told := why(world, status=1)) and "held back" not in told, told


def test_what_was_moved_is_told_once_and_what_became_of_it(world):
    world.run("sh", "-c", "mkdir .vscode && echo {} > .vscode/tasks.json").expect(0)
    assert why(world).count(": .vscode") == 1
    world.cordon_verb("changes", "apply", "last", ".vscode").expect(0)
    told = why(world)
    assert "moved out of the tree: .vscode (editor); applied since" in told and "takes it" not in told, told


def test_a_command_of_a_session_has_an_account(world):
    started = world.cordon_verb("session", "start").expect(0).out.strip()
    try:
        world.cordon_verb("session", "exec", started, "--timeout", "200ms", "--", "sleep", "9").expect(124)
        assert "wall clock" in why(world)
    finally:
        world.cordon_verb("session", "stop", started).expect(0)
    # The session's own end is not what is asked about.
    assert "wall clock" in why(world)


def test_accounts_are_the_owners_alone_and_bounded(world):
    for number in range(3):
        world.run("sh", "-c", f"exit {number + 1}", input="secret-in-a-stream")
    place = world.home / ".local/state/cordon/accounts"
    assert place.stat().st_mode & 0o777 == 0o700
    for file in place.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600
    for number in range(220):
        world.write(place / f"{number:016x}.json", "{}", 0o600)
    world.run("sh", "-c", "exit 9").expect(9)
    assert len(list(place.iterdir())) < 130
    assert "exit status 9" in world.cordon_verb("why").out
    assert world.run("cat", place / "last").status == 1


@pytest.mark.parametrize("text", ["{", "[]", "\\x00", '{"denials": 7, "error": []}'])
def test_a_damaged_account_is_no_crash(world, text):
    world.run("sh", "-c", "exit 3").expect(3)
    run = json.loads(why(world, "--json"))["run_id"]
    (world.home / f".local/state/cordon/accounts/{run}.json").write_text(text)
    assert world.cordon_verb("why", run).status in (0, 1, 2)
