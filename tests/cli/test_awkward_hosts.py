"""Hosts that lack something, or have it in another shape: left out, or said by name with a cure.

Each odd host is a mount namespace of the test's own; nothing of the real one is changed. What a
message tells to do is done, and must work."""

import json
import os
import re

import pytest

from support.without_namespaces import launcher

# Without limits: in a user namespace of its own the ordinary user is root without a cgroup.
POLICY = 'version = 1\n[fs]\nread = ["@system"]\nwrite = ["@cwd"]\nscratch = "16M"\n'
CEILING = ('version = 1\n[fs]\nread = ["/"]\nwrite = ["{}"]\n[net]\nmode = "open"\n[require]\n'
           'accept_missing = ["namespaces"]\n')
NEEDED_OF_ETC = ("passwd group nsswitch.conf hostname ld.so.cache ld.so.conf ld.so.conf.d "
                 "alternatives")


class OddHost:
    """Runs commands after a shell script has rearranged the mounts."""

    def __init__(self, world, script):
        self.world = world
        self.setup = world.write(world.path / "setup.sh", f'set -e\ncd "{world.path}"\n{script}\n'
                                 f'cd "{world.project}"\nexec "$@"\n')
        self.policy = world.document(POLICY)

    def execute(self, *argv, **how):
        wrap = self.world.own_namespaces()
        return self.world.execute([*wrap, "/bin/sh", self.setup, *argv], **how)

    def run(self, *command, options=(), before=(), **how):
        return self.execute(*before, self.world.cordon, "run", "--policy", self.policy, *options,
                            "--", *command, **how)

    def run_landlock(self, *command, options=(), **how):
        ceiling = self.world.document(CEILING.format(self.world.project), "ceiling.toml")
        return self.run(*command, options=["--backend", "landlock", "--ceiling", ceiling, *options],
                        before=launcher(), **how)


def etc_of(world, extra=""):
    """An /etc of few files, with what `extra` makes of it."""
    return (f'rm -rf etc\nmkdir etc\n'
            f'for f in {NEEDED_OF_ETC}; do [ ! -e /etc/$f ] || cp -dR /etc/$f etc/; done\n'
            f'{extra}\nmount --bind etc /etc')


@pytest.mark.parametrize("extra", ["", "ln -s /nowhere/resolv.conf etc/resolv.conf"],
                         ids=["absent", "dangling"])
def test_network_files_that_are_not_there_are_left_out(world, extra):
    host = OddHost(world, etc_of(world, extra))
    inside = host.run("/bin/ls", "/etc", options=["--net", "open"]).expect(0).out.split()
    assert "hosts" not in inside and "passwd" in inside, inside
    host.run("/bin/true", options=["--net", "none"]).expect(0)
    control = OddHost(world, etc_of(world, "echo 127.0.0.1 localhost > etc/hosts"))
    done = control.run("/bin/cat", "/etc/hosts", options=["--net", "open"])
    assert done.expect(0).out == "127.0.0.1 localhost\n"


def test_a_host_without_shared_files_runs_commands(world):
    host = OddHost(world, "mkdir -p none\nmount --bind none /usr/share")
    assert host.run("/bin/sh", "-c", "echo ran; ls /usr/share").expect(0).out == "ran\n"


@pytest.mark.parametrize("absent", ["true", "sh"])
def test_a_host_without_a_usual_program_contains_all_the_same(world, absent):
    """What Cordon tries before a command starts, it tries with nothing of the host's."""
    upper = world.make_directory(world.path / "upper")
    work = world.make_directory(world.path / "work")
    host = OddHost(world, "mount -t overlay -o userxattr,lowerdir=/usr/bin,"
                          f"upperdir={upper},workdir={work} none /usr/bin\nrm -f /usr/bin/{absent}")
    for run in (host.run, host.run_landlock):
        assert run("/usr/bin/echo", "ran").expect(0).out == "ran\n"
        assert run(f"/usr/bin/{absent}", "-c", "true").status == 127
    checks = host.execute(world.cordon, "doctor", "--json").json["checks"]
    live = [check for check in checks if check["name"].startswith("live-")]
    assert len(live) >= 5 and all(check["status"] == "pass" for check in live), live
    # Root of a namespace has no group to bound processes by: they are counted from time to time.
    [forks] = [check for check in live if check["name"] == "live-fork-limit"]
    held = "held by " if world.who.is_root else "refused with the end of the run, held by watch"
    assert held in forks["message"], forks


def test_a_system_configuration_of_git_is_not_seen(world):
    """Files that no sandbox shows are absent in one view and refused in the other."""
    odd = "printf '[user]\\n\\tname = System\\n' > etc/gitconfig; echo '* text' > etc/gitattributes"
    host = OddHost(world, etc_of(world, odd))
    script = ("git init -q made && cd made && git status --short && git config --list; "
              "rm -rf ../made")
    for run in (host.run, host.run_landlock):
        done = run("/bin/sh", "-c", f"set -e; {script}").expect(0)
        assert "System" not in done.out and "unable to access" not in done.err, done.account()
    assert "name=System" in host.execute("git", "config", "--system", "--list").expect(0).out


def test_a_covered_proc_is_named(world):
    place = next(path for path in ("/proc/irq", "/proc/fs", "/proc/bus") if os.path.isdir(path))
    host = OddHost(world, f"mount -t tmpfs none {place}")
    done = host.run("/bin/true").expect(125)
    assert "a fresh /proc cannot be mounted" in done.err and place in done.err, done.account()
    assert 'accept_missing = ["namespaces"]' in done.err, done.account()
    assert host.run_landlock("/bin/echo", "ran").expect(0).out == "ran\n"
    OddHost(world, f"mount -t tmpfs none {place}; umount {place}").run("/bin/true").expect(0)


def test_a_null_device_that_is_a_file_is_named(world):
    host = OddHost(world, "echo precious > null\nchmod 666 null\nmount --bind null /dev/null")
    for run in (host.run, host.run_landlock):
        done = run("/bin/sh", "-c", "echo lost > /dev/null").expect(125)
        assert "/dev/null of this host is not a device but a regular file" in done.err
        assert "mknod -m 666 /dev/null c 1 3" in done.err, done.account()
    assert (world.path / "null").read_text() == "precious\n"


HOME = ('mkdir -p h\nmount -t tmpfs -o {options} none h\nmkdir -p h/project\n'
        'cp "{project}/probe" h/project/tool\nprintf "echo script\\n" > h/project/script\n'
        'chmod 755 h/project/tool h/project/script\n{after}\n')


def home(world, options, after=":"):
    made = OddHost(world, HOME.format(options=options, project=world.project, after=after))
    made.setup.write_text(made.setup.read_text().replace(
        f'cd "{world.project}"\nexec', 'export HOME="$PWD/h"\ncd h/project\nexec'))
    return made


def test_a_home_mounted_noexec_is_named(world):
    host = home(world, "noexec,nosuid")
    done = host.run("./tool", "cwd").expect(126)
    assert "is mounted noexec" in done.err and str(world.path / "h") in done.err, done.account()
    assert host.run("/bin/sh", "script").expect(0).out == "script\n", "the cure"
    assert '"ok":true' in home(world, "nosuid").run("./tool", "cwd").expect(0).out


def test_a_read_only_home_is_named(world):
    host = home(world, "mode=755", "mount -o remount,ro,bind h || mount -o remount,ro h")
    done = host.run("/bin/true").expect(125)
    assert "Read-only file system" in done.err and "XDG_STATE_HOME" in done.err, done.account()
    state = world.make_directory(world.path / "state")
    env = {"XDG_STATE_HOME": str(state)}
    done = host.run("/bin/cat", "script", env=env).expect(125)
    assert "file system is mounted read-only" in done.err, done.account()
    assert "--policy readonly" in done.err, done.account()
    host.policy = world.document('version = 1\n[fs]\nread = ["@cwd", "@system"]\n')
    assert host.run("/bin/cat", "script", env=env).expect(0).out == "echo script\n", "the cure"


@pytest.mark.only("user")
def test_no_home_is_named(world):
    """Nobody's account has this uid."""
    argv = [world.cordon, "run", "--", "/bin/echo", "ran"]
    done = world.execute(["env", "-u", "HOME", *argv]).expect(125)
    assert "set HOME or XDG_STATE_HOME" in done.err, done.account()
    state = world.make_directory(world.path / "state")
    done = world.execute(["env", "-u", "HOME", f"XDG_STATE_HOME={state}", *argv])
    assert done.expect(0).out == "ran\n", "the cure"


@pytest.mark.parametrize("files", [16, 32, 64])
def test_too_few_open_files_are_named_with_the_number_that_does(world, files):
    script = 'ulimit -Sn "$1"; shift; exec "$@"'
    argv = [world.cordon, "run", "--", "/bin/echo", "ran"]
    done = world.execute(["/bin/sh", "-c", script, "sh", files, *argv]).expect(125)
    needed = re.search(rf"ulimit -n is {files}, and (\d+) are needed", done.err)
    assert needed, done.account()
    assert f"ulimit -Sn {needed[1]}" in done.err, done.account()
    done = world.execute(["/bin/sh", "-c", script, "sh", needed[1], *argv])
    assert done.expect(0).out == "ran\n", "the cure"


def test_a_cordon_inside_says_that_it_is_in_one(world):
    options = ["--read", world.cordon.parent]
    inner = [world.cordon, "run", "--policy", "strict", "--", "/bin/true"]
    done = world.run(*inner, options=options).expect(125)
    assert "already inside a Cordon sandbox" in done.err, done.account()
    assert "start the command without cordon" in done.err, done.account()
    world.run("/bin/true", options=options).expect(0)


@pytest.mark.parametrize("question", [["run", "--dry-run", "--", "true"], ["policy", "clamp"],
                                      ["policy", "explain", "read", "file.txt"],
                                      ["loop", "--plan", "PLAN.md", "true"]], ids=lambda words: " ".join(words[:2]))
def test_its_questions_say_so_too(world, question):
    """Paths cannot be judged there, and what the kernel answers to the attempt explains nothing."""
    world.write(world.project / "PLAN.md", world.cordon_verb("loop", "--example").expect(0).out)
    done = world.run(world.cordon, *question, options=["--read", world.cordon.parent])
    assert done.status in (2, 125) and done.out == "", done.account()
    assert "already inside a Cordon sandbox" in done.err and "again" not in done.err, done.account()
    if question[0] != "loop":
        world.cordon_verb(*question).expect(0)


def test_directories_in_place_of_control_groups_hold_nothing(world):
    """What an engine leaves that mounts no hierarchy: nothing can be held by a group in there."""
    host = OddHost(world, "mount -t tmpfs none /sys/fs/cgroup\nmkdir /sys/fs/cgroup/cpu "
                          "/sys/fs/cgroup/memory /sys/fs/cgroup/pids")
    report = world.trusted / "report.json"
    # A bound of memory is what a group is made for.
    options = ["--memory", "256M", "--report", report]
    assert host.run("/bin/echo", "ran", options=options).expect(0).out == "ran\n"
    assert json.loads(report.read_text())["enforcement"]["limits"]["memory"] == "watch"
    checks = host.execute(world.cordon, "doctor", "--json").json["checks"]
    [group] = [check for check in checks if check["name"] == "cgroup"]
    assert group["status"] == "warn" and "no group may be made" in group["message"], group
