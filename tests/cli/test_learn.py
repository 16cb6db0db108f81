"""`cordon learn`: the smallest policy that would have let a command through, and nothing that a person did not want."""

import json
import re
import signal
import tomllib
from pathlib import Path

import pytest

from support.harness import wait_until
from support.pty_session import Terminal


@pytest.fixture
def outside(world):
    place = world.home / "tools" / "thing"
    world.write(place / "one.txt", "1\n")
    world.write(place / "two.txt", "2\n")
    return place


def learn(world, *argv, options=(), status=0):
    return world.cordon_verb("learn", *options, "--", *argv).expect(status)


def reads(toml):
    return tomllib.loads(toml).get("fs", {}).get("read", [])


def applied(world, toml, *argv, **how):
    file = world.trusted / "learned.toml"
    file.unlink(missing_ok=True)
    world.write(file, toml)
    return world.run(*argv, options=["--policy", str(file)], **how)


def nothing_left(world):
    """Of what the command made: what is told about a stage outlives what was in it."""
    return not list((world.home / ".local/state/cordon/stages").rglob("made"))


def test_one_thing_after_the_other(world, outside):
    """The second file is asked for only once the first was read."""
    code = f"cat {outside}/one.txt && cat {outside}/two.txt && echo done"
    done = learn(world, "sh", "-c", code)
    assert reads(done.out) == ["~/tools/thing/one.txt", "~/tools/thing/two.txt"]
    assert "Found in 3 rounds; the last ended with exit status 0." in done.out
    assert applied(world, done.out, "sh", "-c", code).expect(0).out == "1\n2\ndone\n"
    # The control.
    assert world.run("sh", "-c", code).status == 1


def test_nothing_that_it_writes_is_kept(world, outside):
    before = sorted(one.name for one in world.project.iterdir())
    learn(world, "sh", "-c", f"echo x > made; cat {outside}/one.txt; rm -rf .git")
    assert sorted(one.name for one in world.project.iterdir()) == before and nothing_left(world)


def test_writes_stand_behind_a_mark(world, outside):
    code = f"echo new > {outside}/made.txt && echo written"
    done = learn(world, "sh", "-c", code)
    assert tomllib.loads(done.out).get("fs", {}) == {}
    assert not (outside / "made.txt").exists()
    assert applied(world, done.out, "sh", "-c", code).status != 0
    # Taken up by hand, it works.
    chosen = done.out.replace('# write = [\n#   "', 'write = [\n  "').replace('\n# ]', '\n]')
    applied(world, chosen, "sh", "-c", code).expect(0)
    assert (outside / "made.txt").read_text() == "new\n"


def test_several_files_become_their_directory_and_no_wider(world):
    deep, shallow = world.home / "lib/pkg/data", world.home / "lib"
    for i in range(5):
        world.write(deep / f"{i}.txt", "x\n")
        world.write(shallow / f"{i}.txt", "x\n")
    names = " ".join(f"{place}/{i}.txt" for place in (deep, shallow) for i in range(5))
    done = learn(world, "sh", "-c", f"cat {names}")
    assert reads(done.out) == [*(f"~/lib/{i}.txt" for i in range(5)), "~/lib/pkg/data"]
    # So it is not the smallest policy, and its help promises none.
    words = " ".join(world.cordon_verb("learn", "--help").expect(0).out.split())
    assert "smallest" not in words and "a directory stands for three or more files in it" in words, words


def test_what_was_only_looked_for_counts_if_the_command_fails_without(world, outside):
    code = f"test -e {outside}/one.txt"
    done = learn(world, "sh", "-c", code)
    assert reads(done.out) == ["~/tools/thing/one.txt"] and "looked for" in done.out
    applied(world, done.out, "sh", "-c", code).expect(0)
    done = learn(world, "sh", "-c", f"{code}; true")
    assert reads(done.out) == [] and '#   "~/tools/thing/one.txt",  # looked for once' in done.out


def test_a_credential_is_never_proposed(world, outside):
    key = world.write(world.home / ".ssh/id_ed25519", "PLANTED\n")
    world.write(world.home / ".aws/credentials", "PLANTED\n")
    done = learn(world, "sh", "-c", f"cat {key} ~/.aws/credentials {outside}/one.txt")
    assert reads(done.out) == ["~/tools/thing/one.txt"]
    assert f"read {key}: it is a credential" in done.out and "PLANTED" not in done.out + done.err
    done = learn(world, "cat", key, status=1)
    assert "Left out" in done.out


def test_never_wider_than_a_ceiling(world, outside):
    ceiling = world.write(world.trusted / "ceiling.toml",
                          f'version = 1\n[fs]\nwrite = ["{world.project}"]\nread = ["@system", "{outside}/one.txt"]\n')
    done = learn(world, "sh", "-c", f"cat {outside}/one.txt; cat {outside}/two.txt", options=["--ceiling", str(ceiling)])
    assert reads(done.out) == ["~/tools/thing/one.txt"]
    assert f"read {outside}/two.txt: it takes more: " in done.out and str(ceiling) in done.out


def test_a_host_is_proposed_and_never_reached(world):
    code = "import socket\nsocket.create_connection(('registry.example', 443))"
    done = learn(world, "/usr/bin/python3", "-c", code)
    assert "net" not in tomllib.loads(done.out)
    assert '# [net]\n# allow = [\n#   "registry.example:443",' in done.out and "1 round;" in done.out


def test_with_a_network_nothing_is_granted_that_nobody_accepted(world, outside):
    code = f"cat {outside}/one.txt && cat {outside}/two.txt"
    done = learn(world, "sh", "-c", code, options=["--allow", "good.example"])
    assert "Found in 1 round;" in done.out
    assert reads(done.out) == ["~/tools/thing/one.txt"]


def test_nothing_waits_for_a_run_with_a_network(world, outside):
    """A home that lasts would carry what nobody accepted to a run that may send it away."""
    policy = world.document('version = 1\nextends = "workspace"\n[fs]\nhome = "persistent"\ncaches = true\n', "lasting.toml")
    options = ["--policy", str(policy)]
    carry = f"mkdir -p ~/.cache; cat {outside}/one.txt | tee ~/kept ~/.cache/kept; echo own > ~/own; test -s ~/kept"
    learn(world, "sh", "-c", carry, options=options)
    look = "cat ~/kept ~/.cache/kept; cat ~/own"
    assert world.run("sh", "-c", look, options=options).out == "own\n"
    # The control: what is granted by a person is theirs to keep.
    world.run("sh", "-c", carry, options=[*options, "--read", str(outside)]).expect(0)
    assert world.run("sh", "-c", look, options=options).out == "1\n1\nown\n"


def test_at_most_five_rounds(world, outside):
    for i in range(9):
        world.write(world.home / f"tools/d{i}/x{i}/f.txt", "x\n")
    code = " && ".join(f"cat ~/tools/d{i}/x{i}/f.txt" for i in range(9))
    done = learn(world, "sh", "-c", code)
    assert "Found in 5 rounds;" in done.out and len(reads(done.out)) == 5


def test_hostile_names_are_data(world):
    place = world.home / "tools/odd"
    names = ['a"]\nwrite = ["~', "b'#c", 'd"]#', "\u202eevil", "e\x1b[2J"]
    for name in names:
        world.write(place / name, "x\n")
    argv = ["cat", *(place / name for name in names)]
    done = learn(world, *argv)
    document = tomllib.loads(done.out)
    assert set(document) <= {"version", "extends", "fs"} and set(document["fs"]) == {"read"}
    assert "\x1b" not in done.out
    applied(world, done.out, "cat", place / "b'#c").expect(0)


def test_nothing_to_propose(world):
    done = learn(world, "true", status=1)
    assert done.out == "" and "nothing to propose" in done.err
    answer = json.loads(learn(world, "true", options=["--json"], status=1).out)
    assert answer["schema"] == "cordon.learn/1" and answer["lines"] == []


def test_what_a_person_may_not_read_outside_is_named_too(world):
    """Root could read it outside, and no policy grants it; for anybody else it is no denial, and is what failed."""
    done = learn(world, "cat", "/etc/shadow", status=1)
    assert "/etc/shadow" in done.out + done.err and "that the host has" not in done.err, done.account()
    if world.who.is_root:
        assert "read /etc/shadow: it is a credential" in done.out or "/etc/shadow: nothing can grant it" in done.out
    else:
        assert 'outside what is granted: read /etc/shadow (mask "/etc/shadow")' in done.err, done.account()
        assert "you could have done outside" in done.err and done.out == "", done.account()
    assert "/etc/shadow" not in reads(done.out or "version = 1")


def test_for_a_program(world, outside):
    answer = json.loads(learn(world, "cat", outside / "one.txt", options=["--json"]).out)
    [line] = answer["lines"]
    assert line == {"list": "read", "value": str(outside / "one.txt"), "count": 1, "only_looked": False, "live": True}
    assert reads(answer["policy"]) == ["~/tools/thing/one.txt"]


def test_a_policy_of_a_file_gets_the_lines_to_add(world, outside):
    policy = world.write(world.trusted / "own.toml", 'version = 1\nextends = "workspace"\n')
    done = learn(world, "cat", outside / "one.txt", options=["--policy", str(policy)])
    assert "extends" not in done.out and f"to be added to {policy}" in done.out
    policy.write_text(policy.read_text() + done.out)
    world.run("cat", outside / "one.txt", options=["--policy", str(policy)]).expect(0)


def test_mistakes(world, outside):
    assert "no command was given" in world.cordon_verb("learn").expect(2).err
    there = world.write(world.trusted / "there.toml", "mine\n")
    done = learn(world, "cat", outside / "one.txt", options=["--out", str(there)], status=2)
    assert "exists" in done.err and there.read_text() == "mine\n"
    absent = world.trusted / "absent.toml"
    done = learn(world, "cat", outside / "one.txt", options=["--out", str(absent)], status=2)
    assert "one.txt" in done.out and "is not written: nobody accepted a line" in done.err and not absent.exists()
    learn(world, "no-such-command", status=2)


def test_at_a_terminal_each_line_is_asked_for(world, outside):
    out = world.trusted / "accepted.toml"
    other = world.home / "tools/other"
    world.write(other / "log", "")
    code = f"cat {outside}/one.txt; echo x > {other}/three.txt; cat {outside}/two.txt"
    terminal = Terminal(world, [world.cordon, "learn", "--out", str(out), "--", "sh", "-c", code], columns=200)
    for line, answer in (("read ~/tools/thing/one.txt", "y"), ("read ~/tools/thing/two.txt", "n"),
                         ("write ~/tools/other", "y")):
        terminal.expect(f"cordon: {line}, asked for once? y, n, q (no more questions): ".encode())
        terminal.type(answer.encode() + b"\n")
    assert terminal.wait() == 0, terminal.seen
    document = tomllib.loads(out.read_text())
    assert document["fs"] == {"read": ["~/tools/thing/one.txt"], "write": ["~/tools/other"]}
    assert '#   "~/tools/thing/two.txt"' in out.read_text() and out.stat().st_mode & 0o777 == 0o600
    assert not (other / "three.txt").exists()


@pytest.mark.parametrize("where", ["project", "elsewhere"])
def test_what_was_written_is_used_as_it_is_told(world, outside, where):
    """In the project a run would refuse it, since it could rewrite it."""
    out = "needs.toml" if where == "project" else str(world.trusted / "needs.toml")
    code = f"cat {outside}/one.txt && echo x > {outside}/new && echo done"
    terminal = Terminal(world, [world.cordon, "learn", "--out", out, "--", "sh", "-c", code], columns=1000)
    terminal.expect(b"(no more questions): ")
    terminal.type(b"y\n")
    assert terminal.wait() == 0, terminal.seen
    [line] = re.findall(r"^next: (.*?)\r?$", terminal.seen.decode(), re.M)
    done = world.bare("sh", "-c", line, env=world.environment({"PATH": f"{Path(world.cordon).parent}:/usr/bin:/bin"}))
    assert done.expect(0).out == "1\ndone\n", done.account()
    assert (world.project / "needs.toml").exists() is False


def test_what_seemed_to_be_written_and_is_gone(world, outside):
    """One file of a directory is granted for reading, so that the directory is there, and is the sandbox's own."""
    code = f"cat {outside}/one.txt && echo x > {outside}/new && echo done"
    done = learn(world, "sh", "-c", code)
    assert "the last ended with exit status 0" in done.out and not (outside / "new").exists()
    told = done.out.partition("gone with the run")[2]
    assert "#   ~/tools\n" in told, done.out
    told = learn(world, "sh", "-c", code, options=["--json"]).json
    assert told["gone"] == [f"{world.home}/tools"], told
    # As it says: a line below write, and it stays.
    toml = done.out.replace("[fs]\n", '[fs]\nwrite = ["~/tools/thing"]\n')
    applied(world, toml, "sh", "-c", code).expect(0)
    assert (outside / "new").read_text() == "x\n"
    assert "gone with the run" not in learn(world, "cat", outside / "two.txt").out


def test_what_is_left_out_is_named_once(world, outside):
    world.plant({".ssh/id_ed25519": "x"})
    code = f"cat ~/.ssh/id_ed25519; cat {outside}/one.txt && cat {outside}/two.txt"
    done = learn(world, "sh", "-c", code)
    assert "Found in 3 rounds" in done.out and done.out.count("it is a credential") == 1, done.out


@pytest.mark.parametrize("key", [b"\x03", b"\x04"], ids=["interrupt", "end"])
def test_giving_up_at_a_question(world, outside, key):
    out = world.trusted / "accepted.toml"
    terminal = Terminal(world, [world.cordon, "learn", "--out", str(out), "--", "cat", str(outside / "one.txt")])
    terminal.expect(b"(no more questions): ")
    terminal.type(key)
    assert terminal.wait() == 2, terminal.seen
    assert b"given up" in terminal.seen and not out.exists() and nothing_left(world)


def test_an_interrupt_leaves_nothing(world, outside):
    process = world.start([world.cordon, "learn", "--", "sh", "-c", "echo x > made; echo up >&2; sleep 60"])
    assert process.stderr.readline() == b"up\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=40) == 2
    assert wait_until(lambda: nothing_left(world)) and not (world.project / "made").exists()
