"""`--report FILE` replaces an empty file and an older report, and nothing else, ever."""

import json
import os
import shlex
import stat
import subprocess
import threading

import pytest

pytestmark = pytest.mark.once


def is_report(text):
    return json.loads(text)["schema"] == "cordon.report/1"


def refused(world, path, *words, **how):
    """Refused before the run: status 125, nothing ran, every word said."""
    done = world.run("touch", "ran", options=["--report", path], **how)
    done.expect(125)
    assert not (world.project / "ran").exists(), done.account()
    for word in (str(path), *words):
        assert word in done.err, (word, done.account())
    return done


def test_a_new_file_is_private(world):
    path = world.trusted / "report.json"
    done = world.run("echo", "out", options=["--report", path])
    assert done.expect(0).out == "out\n"
    assert is_report(path.read_text())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_uid == world.who.uid
    assert [entry.name for entry in world.trusted.iterdir()] == ["report.json"]


def test_an_older_report_is_replaced_whole(world):
    path = world.trusted / "report.json"
    world.run("true", options=["--report", path]).expect(0)
    first, inode = json.loads(path.read_text()), path.stat().st_ino
    with open(path) as reader:
        world.run("false", options=["--report", path]).expect(1)
        assert json.loads(reader.read()) == first  # whoever has it open sees the old one, whole
    assert json.loads(path.read_text())["exit_code"] == 1
    assert path.stat().st_ino != inode


def test_an_empty_file_is_replaced(world):
    path = world.write(world.trusted / "empty", "", 0o644)
    world.run("true", options=["--report", path]).expect(0)
    assert is_report(path.read_text()) and stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [
    "precious\n", "{}", '{"schema": "cordon.plan/1"}', '{"schema": "cordon.report/1"} trailing',
    '["cordon.report/1"]', "\n", "\0" * 10, '{"schema": "cordon.report/1"', " "],
    ids=lambda content: repr(content)[:30])
def test_any_other_file_is_refused_and_kept(world, content):
    path = world.write(world.trusted / "precious", content)
    refused(world, path, "is not a report", "hint: name another file")
    assert path.read_text() == content
    # The advice works.
    world.run("true", options=["--report", world.trusted / "other"]).expect(0)
    path.unlink()
    world.run("true", options=["--report", path]).expect(0)
    assert is_report(path.read_text())


def test_a_source_file_is_kept_whatever_else_is_wrong(world):
    """Not even the report of a refusal replaces it."""
    path = world.write(world.project / "main.c", "int main;\n")
    for options in (["--policy", "absent"], ["--dry-run"], ["--json"]):
        world.run("true", options=["--report", path, *options]).expect(125)
        assert path.read_text() == "int main;\n"


def test_a_symlink_is_refused(world):
    report = world.trusted / "report.json"
    world.run("true", options=["--report", report]).expect(0)
    for target in (report, world.write(world.outside / "victim", ""), world.outside / "absent"):
        link = world.link(world.trusted / f"link-{target.name}", target)
        before = target.read_text() if target.exists() else None
        refused(world, link, "is a symlink", "name the file itself")
        assert link.is_symlink() and (target.read_text() if target.exists() else None) == before


def test_directories_and_missing_ones_are_refused(world):
    refused(world, world.project, "is a directory", "name a file in it")
    refused(world, str(world.project) + "/", "names no file")
    refused(world, world.trusted / "absent/report.json", "No such file or directory",
            "make the directory first")
    world.make_directory(world.trusted / "absent")
    world.run("true", options=["--report", world.trusted / "absent/report.json"]).expect(0)


@pytest.mark.only("user")
def test_a_directory_that_cannot_be_written_is_refused(world):
    closed = world.make_directory(world.trusted / "closed")
    closed.chmod(0o555)
    refused(world, closed / "report.json", "Permission denied", "its directory must be writable")
    closed.chmod(0o755)
    world.run("true", options=["--report", closed / "report.json"]).expect(0)


def test_devices_are_written_to(world):
    world.run("true", options=["--report", "/dev/null"]).expect(0)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    done = world.run("true", options=["--report", "/dev/full"])
    done.expect(141)
    assert "cannot write the report file /dev/full (No space left on device)" in done.err
    assert "name a file elsewhere" in done.err


def test_open_descriptors_by_name(world):
    done = world.run("echo", "out", options=["--report", "/dev/stdout"]).expect(0)
    first, second = done.out.splitlines()
    assert first == "out" and is_report(second)
    done = world.run("echo", "out", options=["--report", "/dev/stderr"]).expect(0)
    assert done.out == "out\n" and is_report(done.err)
    line = shlex.join(world.command([world.cordon, "run", "--report", "/dev/fd/7", "--", "true"])
                      [len(world.who.prefix):])
    done = world.execute(["/bin/sh", "-c", f"exec 7>>log; {line} && {line}"]).expect(0)
    log = (world.project / "log").read_text().splitlines()
    assert len(log) == 2 and all(map(is_report, log)), done.account()
    refused(world, "/dev/fd/63", "Bad file descriptor")
    with open("/dev/null") as readable:
        refused(world, "/dev/fd/0", "open for reading only", stdin=readable)


def test_a_report_for_another_program(world):
    line = shlex.join(world.command([world.cordon, "run", "--report"])[len(world.who.prefix):])
    done = world.execute(["/bin/bash", "-c", f"{line} >(cat > copy) -- true; wait $!; cat copy"])
    assert is_report(done.expect(0).out)


def test_a_fifo_is_written_to(world):
    fifo = world.trusted / "fifo"
    os.mkfifo(fifo)
    world.own(fifo)
    refused(world, fifo, "nobody reads from it")
    taken = []
    reader = threading.Thread(target=lambda: taken.append(fifo.read_text()))
    reader.start()
    process = None
    while process is None or process.status == 125:  # until the reader is there
        process = world.run("true", options=["--report", fifo])
    reader.join()
    assert is_report(taken[0]) and stat.S_ISFIFO(fifo.stat().st_mode)


@pytest.mark.parametrize("trick", ["ln -s ../../outside/victim report.json", "mkdir report.json",
                                   "echo mine > report.json", "mkfifo report.json"])
def test_what_the_command_puts_there_is_not_replaced(world, trick):
    victim = world.write(world.outside / "victim", "precious\n")
    path = world.project / "report.json"
    done = world.run("/bin/sh", "-c", trick, options=["--report", path]).expect(141)
    assert victim.read_text() == "precious\n"
    assert str(path) in done.err and not [
        entry for entry in os.listdir(world.project) if entry.startswith(".cordon-")]
    # A command that leaves the place alone gets its report, in the same directory.
    subprocess.run(["rm", "-rf", path], check=True)
    world.run("true", options=["--report", path]).expect(0)
    assert is_report(path.read_text())


def test_a_directory_that_the_command_replaces_is_not_followed(world):
    """The report goes into the directory that was looked at, wherever that is now."""
    world.make_directory(world.project / "out")
    done = world.run("/bin/sh", "-c", "mv out old && ln -s ../../outside out",
                     options=["--report", "out/report.json"])
    done.expect(0)
    assert not (world.outside / "report.json").exists()
    assert is_report((world.project / "old/report.json").read_text())


def test_a_dry_run_writes_none(world):
    path = world.trusted / "report.json"
    world.run("true", options=["--report", path, "--dry-run"]).expect(0)
    assert not path.exists()
