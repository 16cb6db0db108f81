"""`[keep]` of a ceiling: how long and how much of what runs leave behind for later stays."""

import contextlib
import fcntl
import os
import shlex
import signal
import struct
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.harness import wait_until

DAY = 86400
WAITS = "touch begun; while [ ! -e go ]; do sleep 0.1; done"


@pytest.fixture
def kept(world):
    """A run whose changes wait, one that was applied, a home and a cache."""
    return Kept(world)


class Kept:
    def __init__(self, world):
        self.world = world
        self.state = world.home / ".local/state/cordon"
        self.lasting = world.document('version = 1\nextends = "workspace"\n[fs]\nhome = "persistent"\ncaches = true\n',
                                      "lasting.toml")
        self.waiting = self.staged("waits", "--stage=review")
        self.applied = self.staged("applied", "--stage=review")
        world.cordon_verb("changes", "apply", self.applied).expect(0)
        world.run("/bin/sh", "-c", "echo login > ~/login; mkdir -p ~/.cache/x; head -c 1M /dev/zero > ~/.cache/x/big",
                  options=["--policy", self.lasting]).expect(0)
        [self.home] = [place for place in (self.state / "homes").iterdir() if place.is_dir()]
        self.home_used = self.home.with_name(self.home.name + ".used")
        self.cache = self.state / "caches"

    def staged(self, name, *options, size="64K"):
        done, report = self.world.report("/bin/sh", "-c", f"head -c {size} /dev/zero > {name}", options=list(options))
        done.expect(0)
        return report["run_id"]

    def age(self, path, days):
        then = time.time() - days * DAY - 60
        os.utime(path, (then, then))

    def held_live(self):
        """A run that staged nothing, and of which a file was held back."""
        make = "mkdir -p .vscode; echo x > .vscode/tasks.json"
        done, report = self.world.report("/bin/sh", "-c", make)
        done.expect(0)
        return report["run_id"]

    @contextlib.contextmanager
    def at_work_on_every_run(self):
        """What a run, or a `cordon changes`, has of one run."""
        locks = os.open(self.state / "changes.lock", os.O_RDWR)
        whole = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        try:
            fcntl.fcntl(locks, fcntl.F_OFD_SETLK, whole)
            yield
        finally:
            os.close(locks)

    def note(self, run):
        return self.state / f"handoff/{run}.changes"

    def stages(self):
        return sorted((self.state / "stages").iterdir())

    def run(self, *bounds, options=(), command=("true",)):
        """A run below a ceiling for each of the bounds."""
        ceilings = []
        for i, bound in enumerate(bounds):
            text = f'version = 1\n[fs]\nread = ["@system", "@toolchains"]\nwrite = ["@cwd"]\nhome = "persistent"\ncaches = true\n[keep]\n{bound}\n'
            ceilings += ["--ceiling", self.world.document(text, f"keep{i}.toml")]
        return self.world.run(*command, options=[*ceilings, *options])


def test_without_a_bound_nothing_goes(kept):
    for path in (kept.note(kept.waiting), kept.note(kept.applied), kept.home_used, kept.state / "caches.used"):
        kept.age(path, 10000)
    kept.world.run("true").expect(0)
    kept.run("").expect(0)
    assert kept.note(kept.waiting).exists() and kept.note(kept.applied).exists()
    assert (kept.home / "login").exists() and (kept.cache / "x/big").exists()


def test_what_nobody_touched_goes(kept):
    kept.age(kept.note(kept.waiting), 31)
    kept.age(kept.home_used, 31)
    before = kept.stages()
    done = kept.run("days = 30").expect(0)
    assert f"run {kept.waiting}: 1 change that waited for 31 days" in done.err and "keep0.toml keeps 30" in done.err
    assert f"removed: {kept.home}: a private home, with the logins in it, that no run used for 31 days" in done.err
    assert not kept.note(kept.waiting).exists() and len(kept.stages()) == len(before) - 1
    assert not kept.home.exists() and not kept.home_used.exists()
    # The control: what is younger is there, and can be undone.
    assert (kept.cache / "x/big").exists()
    assert kept.world.cordon_verb("changes", "list", kept.waiting).status == 1
    kept.world.cordon_verb("changes", "restore", kept.applied).expect(0)
    assert not (kept.world.project / "applied").exists()


def test_a_run_that_is_refused_tells_what_went_as_well(kept):
    kept.age(kept.note(kept.waiting), 31)
    done = kept.run("days = 30", options=["--write", kept.world.outside]).expect(125)
    assert not kept.note(kept.waiting).exists()
    assert f"run {kept.waiting}: removed: 1 change that waited for 31 days" in done.err, done.account()


def test_one_ceiling_cannot_shorten_what_another_keeps(kept):
    kept.age(kept.note(kept.waiting), 20)
    assert "removed" not in kept.run("days = 10", "days = 30").expect(0).err
    assert kept.note(kept.waiting).exists()
    assert f"run {kept.waiting}" in kept.run("days = 10", "days = 15").expect(0).err
    assert not kept.note(kept.waiting).exists()


def test_what_is_touched_is_young_again(kept):
    kept.age(kept.home_used, 31)
    kept.world.run("cat", kept.world.home / "login", options=["--policy", kept.lasting]).expect(0)
    kept.run("days = 30").expect(0)
    assert (kept.home / "login").exists()


def waiting_run(kept, pool):
    """One that uses the home until the file `go` is there."""
    running = pool.submit(kept.world.run, "/bin/sh", "-c", WAITS, options=["--policy", kept.lasting])
    assert wait_until(lambda: (kept.world.project / "begun").exists())
    return running


def test_a_run_that_lasts_longer_uses_its_home_until_it_ends(kept):
    """A session of eight days, below seven that are kept."""
    with ThreadPoolExecutor(1) as pool:
        running = waiting_run(kept, pool)
        kept.age(kept.home_used, 31)
        (kept.world.project / "go").touch()
        running.result().expect(0)
    done = kept.run("days = 30").expect(0)
    assert (kept.home / "login").exists() and "removed" not in done.err
    # The control: nobody used it since.
    kept.age(kept.home_used, 31)
    kept.age(kept.state / "upkeep", 1)
    assert f"removed: {kept.home}" in kept.run("days = 30").expect(0).err
    assert not (kept.home / "login").exists()


def test_a_run_that_is_killed_has_used_its_home_until_then(kept):
    world = kept.world
    process = world.start([world.cordon, "run", "--policy", kept.lasting, "--", "/bin/sh", "-c", WAITS])
    assert wait_until(lambda: (world.project / "begun").exists())
    kept.age(kept.home_used, 31)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    done = kept.run("days = 30").expect(0)
    assert (kept.home / "login").exists() and "removed" not in done.err


def test_a_home_of_an_earlier_release_is_counted_from_now_on(kept):
    """It noted nothing, and the time of a directory says nothing of what lies below it."""
    kept.home_used.unlink()
    (kept.state / "caches.used").unlink()
    before = time.time() - 60
    # What is refused does not use it.
    kept.run("days = 1", options=["--write", kept.world.outside]).expect(125)
    assert (kept.home / "login").exists()
    assert kept.home_used.stat().st_mtime > before and (kept.state / "caches.used").exists()
    # The control: counted it is.
    kept.age(kept.home_used, 2)
    (kept.state / "upkeep").unlink()
    assert f"removed: {kept.home}" in kept.run("days = 1").expect(0).err


def test_a_run_cannot_make_its_home_old_or_young(kept):
    touch = "touch -d {} ~ && touch -d {} ~/login"
    for when, age, there in (("1990-01-01", 1, True), ("2100-01-01", 31, False)):
        kept.world.run("/bin/sh", "-c", touch.format(when, when), options=["--policy", kept.lasting]).expect(0)
        kept.age(kept.home_used, age)
        (kept.state / "upkeep").unlink(missing_ok=True)
        kept.run("days = 30").expect(0)
        assert kept.home.exists() == there, when


def test_a_look_happens_once_an_hour(kept):
    kept.run("days = 30").expect(0)
    kept.age(kept.note(kept.waiting), 31)
    kept.run("days = 30").expect(0)
    assert kept.note(kept.waiting).exists()
    kept.age(kept.state / "upkeep", 1)
    kept.run("days = 30").expect(0)
    assert not kept.note(kept.waiting).exists()


def test_for_its_size_only_what_is_nobodys_work_goes(kept):
    done = kept.run('size = "100K"').expect(0)
    assert "removed" not in done.err
    assert not (kept.cache / "x").exists() and not kept.note(kept.applied).exists()
    assert kept.note(kept.waiting).exists() and (kept.home / "login").exists()


def test_no_room_refuses_a_stage_and_says_what_makes_it(kept):
    stage = ["--stage=review"]
    refused = kept.run('size = "32K"', options=stage).expect(125)
    assert "what runs have left behind takes" in refused.err and "keep0.toml keeps 32K" in refused.err
    assert f"cordon changes list {kept.waiting}" in refused.err
    kept.run('size = "32K"').expect(0)  # the control: what stages nothing is not refused
    assert (kept.note(kept.waiting)).exists()
    assert refused.err.rstrip().endswith(f"or cordon changes discard {kept.waiting}")
    kept.world.cordon_verb("changes", "discard", kept.waiting).expect(0)
    kept.run('size = "32K"', options=stage).expect(0)


def test_a_stage_makes_room_in_the_caches_that_its_run_uses(kept):
    (kept.cache / "x/big").unlink()
    kept.run('size = "512K"').expect(0)  # what is looked at once an hour was
    fill = "mkdir -p ~/.cache/x; head -c 2M /dev/zero > ~/.cache/x/big"
    kept.world.run("/bin/sh", "-c", fill, options=["--policy", kept.lasting]).expect(0)
    kept.run('size = "512K"', options=["--stage=review", "--policy", kept.lasting],
             command=["/bin/sh", "-c", "echo x > staged; mkdir -p ~/.cache/y; echo y > ~/.cache/y/z"]).expect(0)
    assert not (kept.cache / "x").exists() and (kept.cache / "y/z").exists()
    assert "staged" in kept.world.cordon_verb("changes", "list").expect(0).out


def test_what_is_applied_makes_room_as_well(kept):
    refused = kept.run('size = "32K"', options=["--stage=review"]).expect(125)
    assert f"cordon changes apply {kept.waiting}" in refused.err
    kept.world.cordon_verb("changes", "apply", kept.waiting).expect(0)
    kept.run('size = "32K"', options=["--stage=review"]).expect(0)
    assert (kept.world.project / "waits").exists()


def test_a_home_that_takes_most_is_named(kept):
    (kept.home / "big").write_bytes(bytes(1 << 20))
    if kept.world.who.uid == 0:
        os.chown(kept.home / "big", kept.home.stat().st_uid, kept.home.stat().st_gid)
    refused = kept.run('size = "512K"', options=["--stage=review"]).expect(125)
    assert f"rm -r {kept.home}" in refused.err
    kept.world.bare("rm", "-r", kept.home).expect(0)
    kept.run('size = "512K"', options=["--stage=review"]).expect(0)


def test_what_a_run_hides_is_counted(kept):
    """Directories that it closed to everybody, and deeper ones than a path is long."""
    hide = "mkdir -m 700 closed; head -c 1M /dev/zero > closed/big; chmod 0 closed"
    kept.world.run("/bin/sh", "-c", hide, options=["--stage=review"]).expect(0)
    assert "takes" in kept.run('size = "900K"', options=["--stage=review"]).expect(125).err
    kept.world.cordon_verb("changes", "discard", "last").expect(0)
    kept.run('size = "900K"', options=["--stage=review"]).expect(0)
    kept.world.cordon_verb("changes", "discard", "last")
    deep = ("import os\nfor _ in range(3000):\n    os.mkdir('d'); os.chdir('d')\n"
            "open('big', 'wb').write(bytes(1 << 20))\n")
    kept.world.run("/usr/bin/python3", "-c", deep, options=["--stage=review"]).expect(0)
    assert "takes" in kept.run('size = "900K"', options=["--stage=review"]).expect(125).err


@pytest.mark.only("user")  # nothing is closed to root
def test_what_cannot_be_counted_is_refused(kept):
    """More closed directories than are opened for a look."""
    hide = "for i in $(seq 300); do mkdir c$i; chmod 0 c$i; done"
    kept.world.run("/bin/sh", "-c", hide, options=["--stage=review"]).expect(0)
    refused = kept.run('size = "1G"', options=["--stage=review"]).expect(125)
    assert "cannot be measured" in refused.err and "cordon changes list" in refused.err
    kept.world.cordon_verb("changes", "discard", "last").expect(0)
    kept.run('size = "1G"', options=["--stage=review"]).expect(0)


def test_what_is_used_stays(kept):
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(kept.world.run, "/bin/sh", "-c", "touch begun; while [ ! -e go ]; do sleep 0.1; done; cat ~/login",
                              options=["--policy", kept.lasting])
        assert wait_until(lambda: (kept.world.project / "begun").exists())
        kept.age(kept.home_used, 31)
        kept.run("days = 30", 'size = "1K"').expect(0)
        assert (kept.home / "login").exists() and (kept.cache / "x/big").exists()
        (kept.world.project / "go").touch()
        assert running.result().expect(0).out == "login\n"


def is_waited_for(path):
    """Whether somebody waits for a lock of it."""
    if not path.exists():
        return False
    inode = f":{path.stat().st_ino} "
    return any("->" in line and inode in line for line in open("/proc/locks", encoding="utf-8"))


def test_a_run_takes_no_home_that_is_being_removed(kept):
    """It has opened the home when a start that removes it has the lock."""
    world = kept.world
    home = os.open(kept.home, os.O_RDONLY)
    fcntl.flock(home, fcntl.LOCK_EX)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(world.run, "/bin/sh", "-c", "touch begun; echo new > ~/new", options=["--policy", kept.lasting])
        assert wait_until(lambda: is_waited_for(kept.home) or running.done())
        gone = kept.home.with_name(kept.home.name + ".gone")
        kept.home.rename(gone)
        assert not (world.project / "begun").exists()
        os.close(home)
        running.result().expect(0)
    assert (kept.home / "new").read_text() == "new\n" and not (gone / "new").exists()
    assert not (kept.home / "login").exists()


def test_what_somebody_works_on_stays(kept):
    """The lock of a run, which it has itself, or a `cordon changes`."""
    live = kept.held_live()
    for run in (live, kept.waiting, kept.applied):
        kept.age(kept.note(run), 31)
    with kept.at_work_on_every_run():
        refused = kept.world.cordon_verb("changes", "apply", live).expect(2)
        assert f"somebody else is at work on the changes of run {live}" in refused.err
        assert "wait until the run, or the other cordon changes, has ended" in refused.err
        # A run has one of its own, which nobody else has.
        done = kept.run("days = 30", 'size = "1K"', options=["--backend", "native"])
        assert done.status == 125 and "somebody else is at work" in done.err, done.account()
        for run in (live, kept.waiting, kept.applied):
            assert kept.note(run).exists(), run
        assert (kept.state / "handoff" / live).exists()
    # The cure, and the control.
    kept.world.cordon_verb("changes", "apply", live).expect(0)
    assert (kept.world.project / ".vscode/tasks.json").read_text() == "x\n"
    (kept.state / "upkeep").unlink()
    assert f"run {kept.waiting}: 1 change that waited" in kept.run("days = 30").expect(0).err
    assert kept.note(live).exists()  # young again
    assert not kept.note(kept.waiting).exists() and not kept.note(kept.applied).exists()


def test_a_run_holds_its_own_lock(kept):
    with ThreadPoolExecutor(1) as pool:
        running = waiting_run(kept, pool)
        with pytest.raises(OSError):
            with kept.at_work_on_every_run():
                pass
        (kept.world.project / "go").touch()
        running.result().expect(0)
    with kept.at_work_on_every_run():
        pass


def test_a_stage_of_which_nobody_knows_whose_it_is_stays(kept):
    [stage] = [place for place in kept.stages() if kept.waiting.encode() in (place / "stage").read_bytes()]
    record = (stage / "stage").read_bytes()
    kept.age(kept.note(kept.waiting), 31)
    (stage / "stage").write_bytes(b"damaged")
    done = kept.run("days = 30", 'size = "1K"').expect(0)
    assert f"unchecked: {stage}: what is noted of the stage of run {kept.waiting} cannot be read" in done.err
    assert (stage / "0/upper/waits").exists() and kept.note(kept.waiting).exists()
    refused = kept.run('size = "32K"', options=["--stage=review"]).expect(125)
    assert "look at what lies there, then rm -r" in refused.err
    # The control: it is known again.
    (stage / "stage").write_bytes(record)
    (kept.state / "upkeep").unlink()
    assert f"run {kept.waiting}: 1 change" in kept.run("days = 30").expect(0).err
    assert not stage.exists()


def test_the_removal_that_a_refusal_names_makes_room(kept):
    [stage] = [place for place in kept.stages() if kept.waiting.encode() in (place / "stage").read_bytes()]
    (stage / "stage").write_bytes(b"damaged")
    (kept.home / "login").unlink()
    refused = kept.run('size = "32K"', options=["--stage=review"]).expect(125)
    cure = shlex.split(refused.err[refused.err.index("rm -r"):])
    assert cure == ["rm", "-r", str(stage)]
    kept.world.bare(*cure).expect(0)
    kept.run('size = "32K"', options=["--stage=review"]).expect(0)


def test_a_stage_that_another_run_works_in_is_given_back_whole(kept):
    """Its note would go for size: nothing waits in it while that run lives."""
    world = kept.world
    process = world.start([world.cordon, "run", "--stage-from", kept.waiting, "--stage=review", "--",
                           "/bin/sh", "-c", "touch begun; read line"], stdin=subprocess.PIPE)
    uppers = lambda: [place / "0/upper" for place in kept.stages() if (place / "0/upper/begun").exists()]
    assert wait_until(uppers)
    kept.run('size = "1K"').expect(0)
    assert kept.note(kept.waiting).exists() and not kept.note(kept.applied).exists()
    [upper] = uppers()
    process.communicate(b"\n")
    assert process.returncode == 0
    assert "waits" in world.cordon_verb("changes", "list").expect(0).out
    # The control: the other run has its changes now.
    (kept.state / "upkeep").unlink()
    kept.run('size = "1K"').expect(0)
    assert not kept.note(kept.waiting).exists() and (upper / "waits").exists()


def test_a_removal_that_was_cut_off_is_finished(kept):
    left = [kept.home.with_name(kept.home.name + ".gone"), kept.state / "stages/0123456789abcdef.gone"]
    kept.home.rename(left[0])
    kept.world.make_directory(left[1])
    kept.run("days = 30").expect(0)
    assert not any(place.exists() for place in left)


def test_the_day_of_its_removal_is_listed(kept):
    """As the next start counts it: on that day it goes, and not before."""
    changes = lambda *words: kept.world.cordon_verb("changes", "list", *words, kept.waiting, env={"TZ": "UTC"}).expect(0)
    assert "removed on" not in changes().out and changes("--json").json["removed_on"] is None
    ceiling = kept.world.write(kept.world.home / ".config/cordon/ceiling.toml",
                               f'version = 1\n[fs]\nread = ["@system"]\nwrite = ["{kept.world.home}"]\n[keep]\ndays = 30\n', 0o600)
    ceiling.parent.chmod(0o700)
    kept.age(kept.note(kept.waiting), 10)
    day = time.strftime("%Y-%m-%d", time.gmtime(kept.note(kept.waiting).stat().st_mtime + 30 * DAY))
    assert f"run {kept.waiting}, staged, " in changes().out and f", removed on {day} by [keep] days\n" in changes().out
    assert changes("--json").json["removed_on"] == day
    # The bounds of a start are those of the list.
    kept.world.run("true").expect(0)
    assert kept.note(kept.waiting).exists()
    kept.age(kept.note(kept.waiting), 31)
    (kept.state / "upkeep").unlink()
    kept.world.run("true").expect(0)
    assert not kept.note(kept.waiting).exists()


def test_a_policy_cannot_say_it(kept):
    policy = kept.world.document("version = 1\n[keep]\ndays = 1\n")
    done = kept.world.run("true", options=["--policy", policy]).expect(125)
    assert "[keep] is for ceilings only" in done.err
