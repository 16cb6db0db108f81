"""cordon changes: what a run held back is listed, shown, compared, taken, dropped and given back."""

import json
import os
import signal

import pytest

from support.harness import ROOT, wait_until

SETTINGS = ".vscode/settings.json"


@pytest.fixture
def held(world):
    """A run that changed, added and deleted protected files."""
    world.write(world.project / SETTINGS, "one\ntwo\nthree\n")
    world.write(world.project / ".vscode/old.json", "old\n")
    world.write(world.project / ".claude/settings.json", "{}\n")
    script = (f"printf 'one\\n2\\nthree\\n' > {SETTINGS}; echo new > .vscode/new.json; "
              "rm .vscode/old.json; echo x > .claude/settings.json")
    done, report = world.report("/bin/sh", "-c", script)
    done.expect(0)
    return report


def changes(world, *words, status=0, **how):
    return world.cordon_verb("changes", *words, **how).expect(status)


def states(world, *words):
    listed = changes(world, "list", "--json", *words).json
    return {entry["path"]: entry["state"] for entry in listed["changes"]}


def test_the_list_is_that_of_the_report_and_of_the_schema(world, held):
    listed = changes(world, "list", "--json").json
    assert listed["run"] == held["run_id"] and listed["mode"] == "live"
    assert listed["changes"] == held["changes"]
    schema = json.loads((ROOT / "schema/changes.schema.json").read_text())
    assert set(listed) == set(schema["required"])
    item = schema["properties"]["changes"]["items"]
    for entry in listed["changes"]:
        assert set(entry) == set(item["required"])
        assert entry["change"] in item["properties"]["change"]["enum"]
        assert entry["state"] in item["properties"]["state"]["enum"]
    text = changes(world, "list").out
    assert held["run_id"] in text and "modified" in text and "editor" in text
    for which in (held["run_id"], "last"):
        assert changes(world, "list", which).out == text
    assert changes(world, "list", ".claude").out != text
    assert changes(world, "list", "last", ".vscode").out.count(".vscode/") == 3


@pytest.mark.parametrize("verb", ["list", "show", "diff", "apply", "discard", "restore"])
def test_options_may_stand_behind_the_operands(world, held, verb):
    """A path that looks like one stands behind --; what is no option is refused and is no path."""
    if verb == "restore":
        changes(world, "apply", SETTINGS)
    for words in (("last", "--jsn"), (SETTINGS, "-x"), ("last", SETTINGS, "--json=yes")):
        refused = changes(world, verb, *words, status=2)
        assert "option " in refused.err and "nothing to do" not in refused.err, refused.err
    assert "unknown option --jsn" in changes(world, verb, "last", "--jsn", status=2).err
    # Behind -- it is a path, at which there is nothing.
    assert changes(world, verb, "--json", "last", "--", "--json", status=1).json["changes"] == []
    assert "usage: cordon changes " + verb in changes(world, verb, "last", "-h").out
    got = changes(world, verb, "last", SETTINGS, "--json").json
    assert [entry["path"] for entry in got["changes"]] == [SETTINGS]
    state = {"apply": "applied", "discard": "discarded"}.get(verb, "held")
    assert states(world)[SETTINGS] == state


def test_options_may_stand_behind_the_operands_of_other_verbs(world, held):
    """The same word, wherever it stands; only where a command follows it is the command's."""
    for words in (["policy", "explain", "write", "x"], ["policy", "show", "strict"], ["session", "list"],
                  ["why", "last"]):
        before = world.cordon_verb(*words[:2], "--json", *words[2:])
        behind = world.cordon_verb(*words, "--json")
        assert (behind.status, behind.err) == (before.status, before.err)
        assert type(behind.json) is type(before.json)
    assert world.run("/bin/echo", "--json").out == "--json\n"


def test_show_and_diff(world, held):
    assert changes(world, "show", SETTINGS).out == "one\n2\nthree\n"
    diff = changes(world, "diff", SETTINGS).out
    assert "\n-two\n+2\n" in diff and diff.startswith("--- "), diff
    assert "+new" in changes(world, "diff").out
    assert "-old" in changes(world, "diff", ".vscode/old.json").out


def test_apply_and_restore(world, held):
    changes(world, "apply", "last", ".vscode")
    assert (world.project / SETTINGS).read_text() == "one\n2\nthree\n"
    assert (world.project / ".vscode/new.json").read_text() == "new\n"
    assert not (world.project / ".vscode/old.json").exists()
    assert (world.project / ".claude/settings.json").read_text() == "{}\n"
    assert (world.project / SETTINGS).stat().st_uid == (world.project / ".vscode").stat().st_uid
    assert states(world)[SETTINGS] == "applied"
    assert states(world)[".claude/settings.json"] == "held"
    changes(world, "apply", "last", ".vscode", status=1)  # nothing left to do
    changes(world, "restore")
    assert (world.project / SETTINGS).read_text() == "one\ntwo\nthree\n"
    assert (world.project / ".vscode/old.json").read_text() == "old\n"
    assert not (world.project / ".vscode/new.json").exists()
    assert set(states(world).values()) == {"held"}
    changes(world, "restore", status=1)
    changes(world, "apply")
    assert (world.project / ".claude/settings.json").read_text() == "x\n"


def test_discard(world, held):
    changes(world, "discard", "last", SETTINGS)
    assert states(world)[SETTINGS] == "discarded"
    changes(world, "show", SETTINGS, status=1)
    changes(world, "apply", SETTINGS, status=1)
    assert (world.project / SETTINGS).read_text() == "one\ntwo\nthree\n"
    changes(world, "discard")
    changes(world, "discard", status=1)
    assert set(states(world).values()) == {"discarded"}


def test_what_changed_meanwhile_is_a_conflict(world, held):
    (world.project / SETTINGS).write_text("mine\n")
    done = changes(world, "apply", status=1)
    assert "conflict" in done.err
    assert (world.project / SETTINGS).read_text() == "mine\n"
    assert (world.project / ".vscode/new.json").exists()
    assert states(world)[SETTINGS] == "conflict"
    assert changes(world, "show", SETTINGS).out == "one\n2\nthree\n"
    # Once it is what the run began with, it can be taken.
    (world.project / SETTINGS).write_text("one\ntwo\nthree\n")
    changes(world, "apply")
    assert (world.project / SETTINGS).read_text() == "one\n2\nthree\n"
    (world.project / SETTINGS).write_text("edited after that\n")
    changes(world, "restore", status=1)
    assert (world.project / SETTINGS).read_text() == "edited after that\n"


def test_a_change_of_the_person_during_the_run_is_a_conflict(world):
    world.write(world.project / SETTINGS, "one\n")
    run = world.start([world.cordon, "run", "--", "/bin/sh", "-c",
                       f"echo run > {SETTINGS}; touch ready; while [ ! -e go ]; do sleep 0.05; done"])
    assert wait_until((world.project / "ready").exists), run.poll()
    (world.project / SETTINGS).write_text("person\n")
    world.write(world.project / "go", "")
    run.communicate(timeout=30)
    assert (world.project / SETTINGS).read_text() == "person\n"
    changes(world, "apply", status=1)
    assert (world.project / SETTINGS).read_text() == "person\n"
    assert changes(world, "show", SETTINGS).out == "run\n"


def test_links_are_not_followed(world, held):
    target = world.write(world.outside / "file", "outside\n")
    (world.project / SETTINGS).unlink()
    world.link(world.project / SETTINGS, target)
    changes(world, "apply", "last", SETTINGS, status=1)
    assert target.read_text() == "outside\n"
    elsewhere = world.make_directory(world.outside / "d")
    os.rename(world.project / ".vscode", world.outside / "vscode")
    world.link(world.project / ".vscode", elsewhere)
    done = world.cordon_verb("changes", "apply", "last")
    assert done.status == 1 and list(elsewhere.iterdir()) == [], done.account()


def test_words_that_are_paths_and_words_that_are_none(world, held):
    changes(world, "list", "nothing-here", status=1)
    changes(world, "list", "0123456789abcdef", status=1)
    changes(world, "list", "--", held["run_id"], status=1)
    changes(world, "list", "--", SETTINGS)
    changes(world, "list", "last", "--", SETTINGS)
    changes(world, "list", "../" + world.project.name + "/" + SETTINGS)
    changes(world, "list", str(world.project))
    changes(world, "list", "--nonsense", status=2)
    world.cordon_verb("changes").expect(2)
    world.cordon_verb("changes", "nonsense").expect(2)


def test_without_any_run_there_is_nothing(world):
    done = changes(world, "list", status=1)
    assert "no run has held anything back" in done.err
    empty = world.cordon_verb("changes", "list", "--json").expect(1).json
    assert empty["run"] is None and empty["changes"] == [] and empty["unnoted"] == []
    for verb in ("show", "diff", "apply", "discard", "restore"):
        changes(world, verb, status=1)


def test_a_damaged_note_is_an_error_and_nothing_is_touched(world, held):
    note = world.home / f".local/state/cordon/handoff/{held['run_id']}.changes"
    assert note.stat().st_mode & 0o777 == 0o600
    whole = note.read_bytes()
    for damaged in (b"", whole[:50], whole.replace(b"held", b"gone", 1), b"x" * 5000):
        note.write_bytes(damaged)
        changes(world, "apply", status=2)
        assert (world.project / SETTINGS).read_text() == "one\ntwo\nthree\n"
    note.write_bytes(whole.replace(str(world.project).encode() + b"/.vscode/new.json\0",
                                   b"/../../etc/x\0", 1))
    changes(world, "apply", status=2)


def test_control_characters_are_not_printed(world):
    world.write(world.project / SETTINGS, "one\n")
    world.run("/bin/sh", "-c", f"printf '\\033[2Jevil\\n' > {SETTINGS}").expect(0)
    assert "\x1b" not in changes(world, "diff").out
    assert "\x1b" in changes(world, "show").out  # no terminal: the bytes themselves


def test_an_interrupted_apply_goes_on(world, held):
    """Killed at any moment, the next attempt finishes, and what was there can be given back."""
    for delay in (0.0, 0.002, 0.005, 0.01):
        process = world.start([world.cordon, "changes", "apply"])
        try:
            process.wait(timeout=delay)
        except Exception:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        world.cordon_verb("changes", "apply")
        assert (world.project / SETTINGS).read_text() == "one\n2\nthree\n"
        assert (world.project / ".vscode/new.json").read_text() == "new\n"
        left = [p.name for p in (world.project / ".vscode").iterdir() if p.name.startswith(".cordon-")]
        changes(world, "restore")
        assert (world.project / SETTINGS).read_text() == "one\ntwo\nthree\n"
        assert len(left) <= 1
        for name in left:
            (world.project / ".vscode" / name).unlink()


def test_what_appeared_can_be_taken(world):
    script = "mkdir -p .vscode/sub; echo a > .vscode/sub/a; echo b > .mcp.json; chmod 755 .mcp.json"
    done, report = world.report("/bin/sh", "-c", script)
    assert not (world.project / ".vscode").exists()
    assert {(e["path"], e["change"], e["state"]) for e in report["changes"]} == {
        (".vscode", "added", "held"), (".mcp.json", "added", "held")}
    assert f"cordon changes list {report['run_id']}" in done.err
    changes(world, "apply")
    assert (world.project / ".vscode/sub/a").read_text() == "a\n"
    assert (world.project / ".mcp.json").stat().st_mode & 0o777 == 0o755
    changes(world, "restore")
    assert not (world.project / ".vscode").exists() and not (world.project / ".mcp.json").exists()


# The private home

def test_what_is_gone_with_the_private_home_is_named(world):
    done, report = world.report("/bin/sh", "-c", "echo lost > ~/x; mkdir ~/d; echo lost > ~/d/y; "
                                "mkdir ~/.cache; echo cached > ~/.cache/c; echo kept > kept")
    assert "gone with the run: 3 files in the private home (~/d, ~/x)" in done.err, done.err
    lost = {e["path"] for e in report["changes"] if e["state"] == "lost"}
    assert lost == {str(world.home / "d"), str(world.home / "x")}
    assert not (world.home / "x").exists() and (world.project / "kept").exists()
    quiet, report = world.report("/bin/sh", "-c", "echo kept > kept")
    assert "gone with" not in quiet.err and report["changes"] == []


def test_what_is_gone_with_the_private_tmp_is_named(world):
    """A granted file in a private place was there before; a socket is nothing that anybody looks for."""
    given = world.write(world.path / "given", "given\n")
    done, report = world.report("/bin/sh", "-c", "echo lost > /tmp/out; mkdir /tmp/d; echo lost > /tmp/d/y; "
                                "echo hidden > /tmp/.hidden; echo v > /var/tmp/v; rm -f /tmp/none; mktemp -u; "
                                "echo s > /dev/shm/s; echo s > /dev/shm/.hidden; mkdir /run/r; echo r > /run/r/r",
                                options=["--read", given])
    assert "gone with the run: 3 files in the private /tmp (/tmp/d, /tmp/out)" in done.err, done.err
    assert "gone with the run: 1 file in the private /var/tmp (/var/tmp/v)" in done.err, done.err
    assert "gone with the run: 2 files in the private /dev/shm (/dev/shm/s)" in done.err, done.err
    assert "gone with the run: 1 file in the private /run (/run/r)" in done.err, done.err
    lost = {e["path"]: e["reason"] for e in report["changes"] if e["state"] == "lost"}
    assert set(lost) == {"/tmp/d", "/tmp/out", "/var/tmp/v", "/dev/shm/s", "/run/r"}
    assert lost["/tmp/d"].startswith("private /tmp: 3 files, "), lost
    quiet, report = world.report("/bin/sh", "-c", "f=$(mktemp); rm $f; cat " + str(given), options=["--read", given])
    assert "gone with" not in quiet.err and report["changes"] == [], quiet.err


def test_what_is_lost_is_listed(world):
    world.write(world.project / ".vscode/settings.json", "mine\n")
    _, first = world.report("/bin/sh", "-c", "echo x > ~/lost")
    assert world.cordon_verb("changes", "list", "--json").expect(0).json["run"] == first["run_id"]
    _, held = world.report("/bin/sh", "-c", "echo x > .vscode/settings.json")
    _, gone = world.report("/bin/sh", "-c", "echo x > ~/lost; echo y > /tmp/lost")
    listed = world.cordon_verb("changes", "list", "--json", gone["run_id"]).expect(0).json
    assert listed["run"] == gone["run_id"]
    assert {(e["path"], e["state"]) for e in listed["changes"]} == {
        (str(world.home / "lost"), "lost"), ("/tmp/lost", "lost")}
    text = world.cordon_verb("changes", "list", gone["run_id"]).expect(0).out
    assert "/tmp/lost" in text and "lost" in text
    # Nothing of it can be taken; what is listed without a name is what is taken: the last that was held back.
    assert world.cordon_verb("changes", "list", "--json").expect(0).json["run"] == held["run_id"]
    assert world.cordon_verb("changes", "apply", gone["run_id"]).status == 1
    world.cordon_verb("changes", "apply").expect(0)
    assert (world.project / ".vscode/settings.json").read_text() == "x\n"
    again = world.cordon_verb("changes", "list", "--json", held["run_id"])
    assert {e["state"] for e in again.expect(0).json["changes"]} == {"applied"}
    # Both in one run.
    _, both = world.report("/bin/sh", "-c", "echo z > .vscode/settings.json; echo x > ~/lost")
    listed = world.cordon_verb("changes", "list", "--json").expect(0).json
    assert {e["state"] for e in listed["changes"]} == {"held", "lost"} and listed["run"] == both["run_id"]


def test_the_list_of_what_was_lost_is_bounded(world):
    world.run("true").expect(0)
    place = world.make_directory(world.home / ".local/state/cordon/lost")
    os.chmod(place, 0o700)
    for number in range(250):
        world.write(place / f"{number:016x}.changes", "old")
        os.utime(place / f"{number:016x}.changes", (1000 + number, 1000 + number))
    done, report = world.report("/bin/sh", "-c", "echo x > ~/lost")
    left = os.listdir(place)
    assert len(left) == 100 and f"{report['run_id']}.changes" in left and f"{249:016x}.changes" in left, done.err


def test_beside_a_grant_in_a_private_home_is_read_only(world):
    deep = world.make_directory(world.home / "work/team/deep")
    done = world.run("/bin/sh", "-c", "echo a > here && (echo x > ../x; echo y > ../../y; "
                     "echo z > ~/z && cat ~/z)", cwd=deep)
    assert done.out == "z\n" and done.err.count("Read-only file system") == 2, done.account()
    assert (deep / "here").exists()
    explained = world.cordon_verb("policy", "explain", "write", str(world.home / "work/team/x"),
                                  cwd=deep)
    assert explained.status == 1 and "leads to a grant" in explained.out, explained.account()
    gone = world.cordon_verb("policy", "explain", "write", str(world.home / "x"), cwd=deep)
    assert gone.status == 0 and "gone after the run" in gone.out, gone.account()


# Clones that a run made

def test_a_clone_made_inside_does_not_lose_its_held_files(world):
    identity = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org",
                "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org"}
    source = world.make_directory(world.project / "source")
    world.bare("git", "init", "-q", "-b", "main", ".", cwd=source).expect(0)
    world.write(source / SETTINGS, "{}\n")
    world.write(source / "plain", "plain\n")
    world.bare("git", "add", "-A", cwd=source).expect(0)
    world.bare("git", "commit", "-q", "-m", "first", cwd=source, env=identity).expect(0)
    done, report = world.report(
        "/bin/sh", "-c", "git config --global --add safe.directory '*'; "
        "git clone -q --no-local source clone && cat clone/" + SETTINGS, env=identity)
    assert done.expect(0).out == "{}\n"
    clone = world.project / "clone"
    assert not (clone / ".vscode").exists()
    status = world.bare("git", "status", "--porcelain", cwd=clone).expect(0)
    assert status.out == "", status.out
    world.write(clone / "plain", "changed\n")
    world.bare("git", "commit", "-q", "-a", "-m", "second", cwd=clone, env=identity).expect(0)
    tree = world.bare("git", "ls-tree", "-r", "--name-only", "HEAD", cwd=clone).expect(0)
    assert SETTINGS in tree.out.split()
    world.bare("git", "fsck", cwd=clone).expect(0)


def test_the_last_run_is_that_of_this_project(world, held):
    """A run of another project is neither listed nor taken by who names none."""
    other = world.make_directory(world.path / "another")
    world.run("/bin/sh", "-c", "mkdir .vscode; echo theirs > .vscode/new.json", cwd=other).expect(0)
    theirs = changes(world, "list", "--json", cwd=other).json["run"]
    assert theirs != held["run_id"]
    below = world.make_directory(world.project / "deep/er")
    for place in (world.project, below):
        assert changes(world, "list", "--json", cwd=place).json["run"] == held["run_id"]
    changes(world, "apply", SETTINGS)
    assert (world.project / SETTINGS).read_text() == "one\n2\nthree\n"
    assert not (other / ".vscode").exists()
    changes(world, "apply", "last", cwd=other)
    assert (other / ".vscode/new.json").read_text() == "theirs\n"


@pytest.mark.parametrize("verb", ["list", "show", "diff", "apply", "discard", "restore"])
def test_of_another_project_the_command_is_told(world, held, verb):
    elsewhere = world.make_directory(world.path / "elsewhere")
    done = changes(world, verb, status=1, cwd=elsewhere)
    assert held["run_id"] in done.err and str(world.project) in done.err, done.account()
    [line] = [line for line in done.err.splitlines() if line.startswith("hint: name it: ")]
    told = line.removeprefix("hint: name it: cordon ").split()
    assert world.cordon_verb(*told, cwd=elsewhere).expect(0).out == changes(world, "list", told[-1],
                                                                            cwd=elsewhere).out
    assert changes(world, verb, "--json", status=1, cwd=elsewhere).json["run"] is None
    assert states(world) == {entry["path"]: "held" for entry in held["changes"]}  # nothing was taken


def test_the_top_of_a_repository_has_the_runs_below_it(world):
    world.bare("git", "init", "-q").expect(0)
    below = world.make_directory(world.project / "part")
    world.run("/bin/sh", "-c", "mkdir .vscode; echo x > .vscode/a", cwd=below).expect(0)
    assert states(world) == {"part/.vscode": "held"}
    # A home is no project of what lies below it.
    assert "no run that worked in" in changes(world, "list", status=1, cwd=world.home).err


@pytest.mark.only("root")
def test_what_could_not_be_noted_is_listed_with_the_way_to_take_it(world):
    """The disk of the state directory is full when the run ends."""
    disk = world.make_directory(world.path / "disk")
    cordon = world.cordon
    script = f"""
mount -t tmpfs -o size=1M none {disk}; mkdir {disk}/project; cd {disk}/project
export XDG_STATE_HOME={disk}/state; mkfifo {world.trusted}/go
{cordon} changes list > {world.trusted}/before; test $? = 1
{cordon} run -- sh -c 'mkdir .vscode; echo precious > .vscode/a; echo written; read line' \
    < {world.trusted}/go > {world.trusted}/said 2> {world.trusted}/err &
exec 8> {world.trusted}/go
until grep -q written {world.trusted}/said; do sleep 0.05; done
! dd if=/dev/zero of={disk}/full bs=4K 2> {world.trusted}/dd || exit 9
echo >&8; wait $!
rm {disk}/full; {cordon} run -- true 2> {world.trusted}/recovered
{cordon} changes list --json > {world.trusted}/json; {cordon} changes list
"""
    done = world.bare("unshare", "-m", "/bin/sh", "-c", script + f"""
{cordon} changes list | sed -n 's/.* started in: //p' | sh; cat .vscode/a
""")
    said = (world.trusted / "err").read_text()
    assert "unchecked: " in said and "No space left" in said, said
    assert "No space left" in (world.trusted / "dd").read_text(), "the control: the disk was full"
    assert done.out.splitlines()[-1] == "precious", done.account()
    [line] = [line for line in done.out.splitlines() if line.startswith("not noted: ")]
    assert "moved away .vscode and could not write it down" in line, done.account()
    [told] = json.loads((world.trusted / "json").read_text())["unnoted"]
    assert told["path"] == ".vscode" and told["kept"] in line and told["run"] in line, told
