"""run --stage: what a run writes lies in a layer of its own until it is applied; cordon changes shows,
applies, restores and drops it."""

import errno
import fcntl
import json
import os
import signal
import stat

import pytest

from support.harness import ROOT, alive, brief, noted_processes, wait_until
from support.pty_session import Terminal

# Every kind of change at once, in names without meaning to any tool.
CHANGES = ("echo new > added.txt; mkdir -p d/e; echo deep > d/e/f.txt; echo more >> file.txt; "
           "rm gone.txt; rm -r tree; chmod 755 mode.sh; rm kind; mkdir kind; echo in > kind/x; "
           "ln -s file.txt link; : >> opened.txt")
WANTED = {"added.txt": "added", "d": "added", "d/e": "added", "d/e/f.txt": "added",
          "file.txt": "modified", "gone.txt": "deleted", "tree": "deleted", "tree/a": "deleted",
          "tree/b": "deleted", "tree/b/c": "deleted", "mode.sh": "mode", "kind": "type",
          "kind/x": "added", "link": "added"}


def prepare(world):
    for name in ("gone.txt", "tree/a", "tree/b/c", "mode.sh", "kind", "opened.txt"):
        world.write(world.project / name, f"old {name}\n")


def staged(world, script, *options, status=0, **how):
    done, report = world.report("/bin/sh", "-ec", script, options=options or ["--stage=review"], **how)
    done.expect(status)
    return report


def changes(world, *words, status=0, **how):
    return world.cordon_verb("changes", *words, **how).expect(status)


def listed(world, *words):
    return {one["path"]: (one["change"], one["state"], one["reason"])
            for one in changes(world, "list", "--json", *words).json["changes"]}


def picture(path):
    """Everything in a tree: type, mode, content."""
    seen = {}
    for top, directories, files in os.walk(path):
        for name in directories + files:
            full = os.path.join(top, name)
            state = os.lstat(full)
            content = None
            if stat.S_ISLNK(state.st_mode):
                content = os.readlink(full)
            elif stat.S_ISREG(state.st_mode):
                with open(full, "rb") as file:
                    content = file.read()
            seen[os.path.relpath(full, path)] = (state.st_mode, content)
    return seen


def stages(world):
    place = world.home / ".local/state/cordon/stages"
    return sorted(place.iterdir()) if place.exists() else []


def test_nothing_reaches_the_project_before_it_is_applied(world):
    prepare(world)
    before = picture(world.project)
    report = staged(world, CHANGES + "; cat file.txt added.txt; test ! -e gone.txt")
    assert picture(world.project) == before
    assert report["policy"]["fs"]["mode"] == "staged"
    assert {one["path"]: one["change"] for one in report["changes"]} == WANTED
    assert {one["state"] for one in report["changes"]} == {"held"}
    assert changes(world, "list", "--json").json["mode"] == "staged"
    assert changes(world, "list", "--json").json["changes"] == report["changes"]
    assert "staged" in changes(world, "list").out
    assert changes(world, "show", "added.txt").out == "new\n"
    assert "\n+more\n" in changes(world, "diff", "file.txt").out


def test_apply_makes_the_project_what_the_run_saw_and_restore_undoes_it(world):
    prepare(world)
    before = picture(world.project)
    staged(world, CHANGES)
    done = changes(world, "apply")
    assert "applied 14 changes" in done.err
    after = picture(world.project)
    assert (world.project / "added.txt").read_text() == "new\n"
    assert (world.project / "d/e/f.txt").read_text() == "deep\n"
    assert (world.project / "file.txt").read_text() == "project file\nmore\n"
    assert not (world.project / "gone.txt").exists() and not (world.project / "tree").exists()
    assert (world.project / "mode.sh").stat().st_mode & 0o777 == 0o755
    assert (world.project / "kind/x").read_text() == "in\n"
    assert os.readlink(world.project / "link") == "file.txt"
    owner = (world.project / "file.txt").stat().st_uid
    assert all(os.lstat(world.project / name).st_uid == owner for name in after)
    assert {state for _, state, _ in listed(world).values()} == {"applied"}
    changes(world, "apply", status=1)
    changes(world, "restore")
    assert picture(world.project) == before
    assert {state for _, state, _ in listed(world).values()} == {"held"}
    changes(world, "apply")
    assert picture(world.project) == after
    # What is left to drop is what a restore would need.
    changes(world, "discard")
    assert stages(world) == []
    assert picture(world.project) == after
    changes(world, "restore", status=1)


def test_what_was_removed_below_a_directory_that_was_made_anew_goes(world):
    """The kernel marks the new directory alone, and not what is made in it."""
    for name in ("b/z/deep/file", "b/z/other", "b/kept/file"):
        world.write(world.project / name, "old\n")
    report = staged(world, "rm -r b; mkdir -p b/z/deep b/kept; echo old > b/kept/file; find b | sort")
    told = {one["path"]: one["change"] for one in report["changes"]}
    assert told == {"b/z/deep/file": "deleted", "b/z/other": "deleted"}
    changes(world, "apply")
    left = sorted(str(path.relative_to(world.project)) for path in (world.project / "b").rglob("*"))
    assert left == ["b/kept", "b/kept/file", "b/z", "b/z/deep"]
    changes(world, "restore")
    assert (world.project / "b/z/deep/file").read_text() == "old\n" and (world.project / "b/z/other").exists()


def test_what_was_applied_beside_what_was_discarded_can_be_restored_and_applied_again(world):
    """The version of the run went with what was discarded, and restoring told that it was kept."""
    world.write(world.project / "gone.txt", "old\n")
    staged(world, "echo new > kept.txt; echo more >> file.txt; rm gone.txt")
    changes(world, "apply", "last", "kept.txt", "file.txt")
    changes(world, "discard")
    assert (world.project / "gone.txt").exists()
    changes(world, "restore")
    assert not (world.project / "kept.txt").exists()
    assert listed(world)["kept.txt"][1] == "held"
    changes(world, "apply")
    assert (world.project / "kept.txt").read_text() == "new\n"
    assert (world.project / "file.txt").read_text().endswith("more\n")
    # Dropped for good once nothing is to be restored any more.
    changes(world, "discard")
    assert stages(world) == []


def test_a_path_is_applied_with_the_directories_it_needs_and_nothing_else(world):
    staged(world, "mkdir -p a/b; echo 1 > a/b/one; echo 2 > a/b/two; echo 3 > three; rm file.txt")
    changes(world, "apply", "a/b/one")
    assert picture(world.project).keys() >= {"a", "a/b", "a/b/one", "file.txt"}
    assert not (world.project / "a/b/two").exists() and not (world.project / "three").exists()
    assert listed(world)["a/b/two"][1] == "held"
    changes(world, "discard", "last", "three")
    changes(world, "apply")
    assert not (world.project / "three").exists() and not (world.project / "file.txt").exists()
    assert (world.project / "a/b/two").read_text() == "2\n"


def test_auto_applies_what_is_ordinary_and_holds_the_rest(world):
    world.write(world.project / ".vscode/settings.json", "{}\n")
    script = ("echo x > made; echo evil > .vscode/tasks.json; mkdir .claude; echo y > .claude/a; "
              "ln -s /root/secret out; ln -s /usr/bin/env env; mkfifo pipe")
    done, report = world.report("/bin/sh", "-ec", script, options=["--stage"])
    done.expect(0)
    states = {one["path"]: one["state"] for one in report["changes"]}
    assert states == {"made": "applied", "env": "applied", ".vscode/tasks.json": "held",
                      ".claude": "held", ".claude/a": "held", "out": "held", "pipe": "held"}
    assert (world.project / "made").read_text() == "x\n"
    for name in (".vscode/tasks.json", ".claude", "out", "pipe"):
        assert not os.path.lexists(world.project / name)
    assert f"cordon changes restore {report['run_id']}" in done.err
    # What the message says works.
    assert f"cordon changes apply {report['run_id']} .claude" in done.err
    changes(world, "apply", report["run_id"], ".claude")
    assert (world.project / ".claude/a").read_text() == "y\n"
    # All of it by naming the project is not naming it.
    changes(world, "apply", report["run_id"], ".", status=1)
    assert not (world.project / ".vscode/tasks.json").exists()
    refused = changes(world, "apply", report["run_id"], "out", "pipe", status=1)
    assert "link leads out" in refused.err and "ln -s" in refused.err
    assert not os.path.lexists(world.project / "out")
    changes(world, "apply", report["run_id"], ".vscode/tasks.json")
    assert (world.project / ".vscode/tasks.json").read_text() == "evil\n"


def test_a_run_that_changes_nothing_leaves_nothing(world):
    report = staged(world, "cat file.txt; : >> file.txt", "--stage")
    assert report["changes"] == [] and stages(world) == []
    assert not (world.home / ".local/state/cordon/handoff").exists()


def test_the_last_run_wins_and_its_name_is_taken_after_an_equals_sign_alone(world):
    done = world.cordon_verb("run", "--stage", "review")
    assert done.status == 127, done.account()  # "review" is the command
    refused = world.cordon_verb("run", "--stage=never", "--", "true").expect(125)
    assert "--stage=auto" in refused.err


def test_a_ceiling_stages_every_run(world):
    grants = f'read = ["/"]\nwrite = ["{world.project}"]\n'
    ceiling = world.document(f'version = 1\n[fs]\n{grants}mode = "staged"\n', "ceiling.toml")
    done, report = world.report("/bin/sh", "-c", "echo x > made", options=["--ceiling", ceiling])
    done.expect(0)
    assert report["changes"][0]["state"] == "applied"
    assert {"what": "mode", "asked": "live", "got": "staged", "because": "narrowed"} in (
        report["reductions"])
    review = world.document(f'version = 1\n[fs]\n{grants}stage = "review"\n', "review.toml")
    done, report = world.report("/bin/sh", "-c", "echo x > other", options=["--ceiling", review])
    assert not (world.project / "other").exists()
    assert report["changes"][0]["state"] == "held"
    refused = world.run("true", options=["--ceiling", review, "--stage=auto"]).expect(125)
    assert "--stage=review" in refused.err
    world.run("true", options=["--ceiling", review, "--stage=review"]).expect(0)
    world.run("true", options=["--ceiling", review, "--stage"]).expect(0)


CONFLICTS = {
    "edit": ("echo host >> file.txt", "echo run >> file.txt"),
    "rename over": ("echo host > h; mv h file.txt", "echo run >> file.txt"),
    "edit of what is deleted": ("echo host >> file.txt", "rm file.txt"),
    "both create": ("echo host > new", "echo run > new"),
    "delete": ("rm file.txt", "echo run >> file.txt"),
    "chmod": ("chmod 600 file.txt", "echo run >> file.txt"),
    "edit with the old time": ("touch -r file.txt ref; printf 'Project file\\n' > file.txt; "
                               "touch -r ref file.txt; rm ref", "echo run >> file.txt"),
}


@pytest.mark.parametrize("when", ["during", "after"])
@pytest.mark.parametrize("case", CONFLICTS)
def test_what_the_host_changed_too_is_kept_in_both_versions(world, case, when):
    host, run = CONFLICTS[case]
    if when == "after":
        world.run("/bin/sh", "-ec", run, options=["--stage=review"]).expect(0)
        world.bare("/bin/sh", "-ec", host).expect(0)
        changes(world, "apply", status=1)
    else:
        # The wait goes through a pipe: what a staged run writes nobody outside sees.
        process = world.start([world.cordon, "run", "--stage", "--", "/bin/sh", "-ec",
                               run + "; echo ready; read line"], stdin=-1)
        assert process.stdout.readline() == b"ready\n"
        world.bare("/bin/sh", "-ec", host).expect(0)
        process.communicate(b"go\n", timeout=60)
        assert process.returncode == 0
    name = "new" if case == "both create" else "file.txt"
    assert listed(world)[name][1] == "conflict"
    if case == "delete":
        assert not (world.project / name).exists()
    else:
        assert "run" not in (world.project / name).read_text()
    if case == "edit of what is deleted":
        # The run left no version of it that could be shown; the person's stays.
        changes(world, "discard", "last", name)
        assert "host" in (world.project / name).read_text()
    else:
        assert "run\n" in changes(world, "show", name).out
        # Both ways that the hint names.
        if case != "delete":
            refused = changes(world, "apply", "last", name, status=1)
            assert "mv " in refused.err and "cordon changes discard" in refused.err
            (world.project / name).rename(world.project / f"{name}.mine")
        changes(world, "apply", "last", name)
        assert "run\n" in (world.project / name).read_text()


def test_an_unrelated_change_beside_it_is_no_conflict(world):
    world.write(world.project / "dir/a", "a\n")
    process = world.start([world.cordon, "run", "--stage", "--", "/bin/sh", "-ec",
                           "echo run >> dir/a; mv file.txt dir/file.txt; echo ready; read line"],
                          stdin=-1)
    assert process.stdout.readline() == b"ready\n"
    world.write(world.project / "dir/b", "b\n")
    world.write(world.project / "c", "c\n")
    process.communicate(b"go\n", timeout=60)
    assert (world.project / "dir/a").read_text() == "a\nrun\n"
    assert not (world.project / "file.txt").exists()


def test_a_run_that_was_cut_off_is_shown_by_the_next_and_nothing_is_lost(world):
    process = world.start([world.cordon, "run", "--stage", "--", "/bin/sh", "-ec",
                           "echo work > made; echo ready; read line"], stdin=-1)
    assert process.stdout.readline() == b"ready\n"
    # Busy while it runs.
    [place] = stages(world)
    assert wait_until(lambda: noted_processes(world.home))
    started = noted_processes(world.home)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert wait_until(lambda: not any(alive(one) for one in started))
    assert not (world.project / "made").exists()
    done, report = world.report("true")
    done.expect(0)
    assert "was cut off" in done.err and "cordon changes list" in done.err
    assert any("was cut off" in one["kind"] for one in report["handoff"])
    assert not (world.project / "made").exists()
    assert listed(world)["made"] == ("added", "held", "")
    changes(world, "apply")
    assert (world.project / "made").read_text() == "work\n"
    assert stages(world) == [place]
    done, _ = world.report("true")
    assert "was cut off" not in done.err


def test_a_stage_in_use_is_taken_by_nobody_else(world):
    report = staged(world, "echo x > made")
    [place] = stages(world)
    held = os.open(place / "stage", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    busy = changes(world, "apply", report["run_id"], status=2)
    assert "somebody else is at work" in busy.err
    os.close(held)
    changes(world, "apply", report["run_id"])


def test_what_cannot_be_staged_is_refused_by_name_with_a_cure_that_works(world):
    refused = world.run("true", options=["--stage", "--write", "file.txt"], cwd=world.home).expect(125)
    assert "file.txt" in refused.err
    single = world.document('version = 1\n[fs]\nread = ["@system"]\nwrite = ["%s"]\n'
                            % (world.project / "file.txt"))
    refused = world.run("true", options=["--policy", single, "--stage"]).expect(125)
    assert "not a directory" in refused.err
    world.run("true", options=["--policy", single]).expect(0)
    # Cordon's own state in the project.
    state = {"XDG_STATE_HOME": str(world.project / "state")}
    refused = world.run("true", options=["--stage"], env=state).expect(125)
    assert "XDG_STATE_HOME" in refused.err
    state = {"XDG_STATE_HOME": str(world.home / "state")}
    world.run("true", options=["--stage"], env=state).expect(0)


@pytest.mark.only("root")
def test_a_mount_below_the_project_or_a_foreign_owner_is_refused_by_name(world):
    script = (f"mkdir sub && mount -t tmpfs none sub && {world.cordon} run --stage -- true; "
              f"echo $? && umount sub && {world.cordon} run --stage -- true; echo $?")
    done = world.bare("unshare", "-m", "/bin/sh", "-c", script)
    assert done.out == "125\n0\n", done.account()
    assert "mounted below" in done.err and str(world.project / "sub") in done.err
    os.chown(world.project, 0, 64123)
    refused = world.run("true", options=["--stage"]).expect(125)
    assert "group 64123" in refused.err and "chown -R 0:0" in refused.err
    os.chown(world.project, 0, 0)
    world.run("true", options=["--stage"]).expect(0)


def test_other_mechanisms_refuse(world):
    refused = world.run("true", options=["--stage", "--backend", "bwrap"])
    assert refused.status == 125, refused.account()


def test_denied_names_stay_hidden_in_a_stage(world):
    world.write(world.project / "keys/a.pem", "SECRET\n")
    world.write(world.project / ".env", "SECRET\n")
    done = world.run("/bin/sh", "-c", "cat .env keys/a.pem; mv keys kept; rm -rf keys; ls keys",
                     options=["--stage", "--deny", ".env", "--deny", "*.pem"])
    assert "SECRET" not in done.out, done.account()
    assert (world.project / "keys/a.pem").read_text() == "SECRET\n"
    assert (world.project / ".env").read_text() == "SECRET\n"
    # Made inside, a denied name is held back.
    world.run("/bin/sh", "-c", "echo x > new.pem", options=["--stage", "--deny", "*.pem"]).expect(0)
    assert not (world.project / "new.pem").exists()
    assert listed(world)["new.pem"][1:] == ("held", "denied")


def test_two_roots_are_two_layers(world):
    other = world.make_directory(world.home / "other")
    world.write(other / "f", "f\n")
    done, report = world.report("/bin/sh", "-ec", f"echo a > a; echo b > {other}/b; rm {other}/f",
                                options=["--stage=review", "--write", other])
    done.expect(0)
    assert {one["path"] for one in report["changes"]} == {"a", f"{other}/b", f"{other}/f"}
    assert (other / "f").exists() and not (other / "b").exists()
    changes(world, "apply")
    assert not (other / "f").exists() and (other / "b").read_text() == "b\n"


def test_what_the_run_closed_is_read_all_the_same(world):
    staged(world, "mkdir c; echo x > c/x; chmod 0 c/x; chmod 0 c")
    changes(world, "apply")
    assert stat.S_IMODE(os.lstat(world.project / "c").st_mode) == 0
    (world.project / "c").chmod(0o700)
    assert stat.S_IMODE(os.lstat(world.project / "c/x").st_mode) == 0
    (world.project / "c/x").chmod(0o600)
    assert (world.project / "c/x").read_text() == "x\n"


def test_the_schema_knows_the_mode(world):
    schema = json.loads((ROOT / "schema/changes.schema.json").read_text())
    assert set(schema["properties"]["mode"]["enum"]) == {"live", "staged"}


@pytest.mark.only("root")
def test_root_stages_the_project_of_another_as_that_other(world):
    other = 64123
    for path in [world.project, *world.project.rglob("*")]:
        os.chown(path, other, other, follow_symlinks=False)
    staged(world, "echo more >> file.txt; mkdir d; echo x > d/x; rm probe")
    assert (world.project / "file.txt").read_text() == "project file\n"
    changes(world, "apply")
    assert (world.project / "file.txt").read_text() == "project file\nmore\n"
    assert not (world.project / "probe").exists()
    for path in world.project.rglob("*"):
        assert (path.lstat().st_uid, path.lstat().st_gid) == (other, other), path
    changes(world, "restore")
    assert (world.project / "file.txt").read_text() == "project file\n"
    assert (world.project / "probe").stat().st_uid == other


@pytest.mark.only("root")
def test_a_full_disk_under_the_stage_is_named(world):
    place = world.make_directory(world.home / "small")
    script = (f"mount -t tmpfs -o size=4M none {place} && XDG_STATE_HOME={place} {world.cordon} run --stage "
              "--json -- sh -c 'echo x > made; dd if=/dev/zero of=big bs=64K count=200'")
    done = world.bare("unshare", "-m", "/bin/sh", "-c", script)
    report = json.loads(done.out)
    assert report["exit_code"] != 0 and "No space left" in report["stderr"], done.account()
    assert [one["what"] for one in report["denials"]] == ["stage"], done.account()
    assert not (world.project / "big").exists() or (world.project / "big").stat().st_size < 64 * 200 * 1024


def test_a_rename_is_shown_as_one(world):
    world.write(world.project / "old name", "content of its own\n")
    world.write(world.project / "other", "another content here\n")
    staged(world, "mkdir d; mv 'old name' d/new; rm other; echo 'something else here!' > fresh")
    text = changes(world, "list").out
    [line] = [line for line in text.splitlines() if line.startswith("d/new")]
    assert line.endswith("renamed from old name"), text
    assert text.count("renamed") == 1, text


def test_many_work_at_once_and_are_applied_in_any_order(world):
    """Each sees its own work alone; who comes first has the file that all of them changed."""
    agents = [world.start([world.cordon, "run", "--stage=review", "--", "/bin/sh", "-ec",
                           f"echo {number} > own{number}; echo {number} > file.txt; echo ready; read line; "
                           f"test $(ls own* | wc -l) = 1"], stdin=-1)
              for number in range(6)]
    for agent in agents:
        assert agent.stdout.readline() == b"ready\n"
    assert len(stages(world)) == 6
    for agent in agents:
        agent.communicate(b"go\n", timeout=60)
        assert agent.returncode == 0
    assert sorted(path.name for path in world.project.glob("own*")) == []
    runs = sorted(path.name.split(".")[0]
                  for path in (world.home / ".local/state/cordon/handoff").glob("*.changes"))
    assert len(runs) == 6
    changes(world, "apply", runs[3])
    first = (world.project / "file.txt").read_text()
    for run in (*runs[:3], *runs[4:]):
        done = changes(world, "apply", run, status=1)
        assert done.err.count("conflict: ") == 1 and "file.txt" in done.err, done.account()
    assert (world.project / "file.txt").read_text() == first
    assert len(list(world.project.glob("own*"))) == 6


@pytest.mark.only("root")
def test_a_directory_of_somebody_else_is_refused_by_name(world):
    world.write(world.project / "deep/theirs/file", "x\n")
    os.chown(world.project / "deep/theirs", 12345, 12345)
    refused = world.run("true", options=["--stage"]).expect(125)
    assert str(world.project / "deep/theirs") in refused.err and "user 12345" in refused.err
    world.run("true").expect(0)
    # The cure that it names.
    cure = refused.err.split("hint: ")[1].split(", or run")[0]
    assert cure.startswith("chown -R "), refused.err
    assert os.system(cure) == 0
    world.run("true", options=["--stage"]).expect(0)


def test_names_that_steer_a_terminal_are_told_in_words_that_can_be_pasted(world):
    report = staged(world, "mkdir \"$(printf 'x\\033[2J')\"; mkdir \"$(printf 'x\\033[2J')/.vscode\"")
    done = changes(world, "apply")
    assert "\x1b" not in done.err + done.out, repr(done.err)
    [line] = [line for line in done.err.splitlines() if "cordon changes apply" in line]
    command = line.split("; ")[1].replace("cordon ", f"{world.cordon} ", 1)
    assert report["run_id"] in command
    world.bare("bash", "-c", command).expect(0)
    assert (world.project / "x\x1b[2J/.vscode").is_dir()
    assert "\x1b" not in changes(world, "list").out


def test_a_terminal_shows_a_diff_in_colour_and_a_pipe_does_not(world):
    staged(world, "echo more >> file.txt")
    assert "\x1b" not in changes(world, "diff").out
    terminal = Terminal(world, [world.cordon, "changes", "diff"])
    assert terminal.wait() == 0
    assert b"\x1b[32m+more\x1b[0m" in terminal.seen, terminal.seen
    terminal.close()
    plain = Terminal(world, [world.cordon, "changes", "diff"], env={"NO_COLOR": "1"})
    assert plain.wait() == 0
    assert b"\x1b" not in plain.seen and b"+more" in plain.seen
    plain.close()


@pytest.mark.parametrize("way", ["os.rename('d', 'e')", "os.rename(os.getcwd() + '/d', 'e')",
                                 "os.rename('d', 'e', src_dir_fd=os.open('.', 0), dst_dir_fd=os.open('.', 0))",
                                 "os.rename('link/d', 'e')"])
def test_a_directory_that_cannot_be_renamed_is_told_with_what_to_do(world, way):
    """The kernel says EXDEV in an overlay, and a program only "Invalid cross-device link"."""
    world.write(world.project / "d/file", "x\n")
    world.write(world.project / "seen", "")
    (world.project / "link").symlink_to(".")
    report = world.trusted / "report.json"
    script = f"import os, time\ntry:\n  {way}\nexcept OSError as error:\n  print(error.errno)\ntime.sleep(0.5)"
    done = world.run("python3", "-c", script, options=["--stage=review", "--report", report]).expect(0)
    assert done.out == f"{errno.EXDEV}\n"
    assert {"what": "rename", "detail": str(world.project / "d"), "layer": "stage", "count": 1} in (
        brief(json.loads(report.read_text())["denials"]))
    assert "cannot be renamed in a stage (EXDEV)" in done.err and "as mv does" in done.err
    # What is told works.
    again = world.run("sh", "-c", "mv d e && cat e/file", options=["--stage=review"]).expect(0)
    assert again.out == "x\n"


def test_renames_that_a_stage_can_do_are_not_told(world):
    world.write(world.project / "d/file", "x\n")
    script = ("import os, shutil; os.rename('file.txt', 'other'); os.mkdir('new'); os.rename('new', 'newer'); "
              "shutil.rmtree('d'); os.mkdir('d'); os.rename('d', 'e')")
    done, report = world.report("python3", "-c", script, options=["--stage=review"])
    done.expect(0)
    assert report["denials"] == []
    # Live nothing is looked at.
    world.write(world.project / "live/file", "x\n")
    done, report = world.report("python3", "-c", "import os; os.rename('live', 'lively')")
    done.expect(0)
    assert report["denials"] == [] and (world.project / "lively/file").exists()


def test_many_renames_at_once_are_all_carried_out(world):
    """Each is seen by the supervisor first, which has few threads."""
    script = """
import os, threading
def work(n):
    for i in range(200):
        open(f"f{n}-{i}", "w").close(); os.rename(f"f{n}-{i}", f"g{n}-{i}")
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(len([n for n in os.listdir(".") if n.startswith("g")]))"""
    assert world.run("python3", "-c", script, options=["--stage=review"]).expect(0).out == "1600\n"
