"""`cordon run --backend landlock`: what it runs, what it reports, and what it refuses by name."""

import json
import re
import shutil
from pathlib import Path

import pytest

from support import harness
from support.omitting import omitting
from support.voids import void
from support.without_namespaces import launcher


def test_native_is_unavailable_and_names_the_other_tier(world):
    done = world.execute([*launcher(), world.cordon, "run", "--", "true"]).expect(125)
    assert "nothing can contain a run on this host" in done.err, done.account()
    assert "landlock: it goes without namespaces" in done.err, done.account()


def test_a_namespace_limit_of_zero_is_the_same(world):
    """The way a sysctl refuses them; what the test makes is gone with it."""
    # Without limits: root of such a namespace may have no cgroup for its processes.
    policy = world.document('version = 1\n[fs]\nread = ["@cwd", "@system"]\n')
    inner = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    wrap = ["unshare", "-Ur", "/bin/sh", "-c", inner, "sh", world.cordon, "run"]
    done = world.execute([*wrap, "--policy", policy, "--", "true"]).expect(125)
    assert "landlock: it goes without namespaces" in done.err, done.account()
    held = ["--backend", "landlock", "--ceiling", world.ceiling, "--policy", policy]
    done = world.execute([*wrap, *held, "--", "cat", "file.txt"])
    assert done.expect(0).out == "project file\n"


def test_report_says_what_is_held_and_what_is_lost(world):
    done, report = world.report("/bin/sh", "-c", "echo ran > ran")
    done.expect(0)
    held = report["enforcement"]
    assert held["backend"] == "landlock" and held["network"] == "none", held
    for layer in ("landlock", "seccomp", "cap_drop", "no_new_privs"):
        assert held[layer] is True, held
    for layer in ("namespaces", "pivot_root", "bind_mounts"):
        assert held[layer] is False, held
    assert held["landlock_abi"] >= 6
    assert held["missing"] == ["namespaces"], held
    lost = ["metadata", "processes", "accounts", "scratch", "loopback"]
    watched = held["limits"].get("memory") == "watch"
    assert held["lost"] == lost + ["memory-burst"] * watched + ["in-flight"], held
    assert held["limits"]["scratch"] == "watch", held
    assert (world.project / "ran").read_text() == "ran\n"
    assert "landlock, which does not hold: metadata, processes, accounts, scratch" in done.err


def test_native_loses_nothing(world):
    target = world.trusted / "report.json"
    done = world.execute([world.cordon, "run", "--report", target, "--", "true"]).expect(0)
    held = json.loads(target.read_text())["enforcement"]
    # A bound that is only watched is named; nothing of it is said at every run.
    watched = held["limits"]["memory"] == "watch"
    assert held["lost"] == ["memory-burst"] * watched + ["in-flight"], held
    assert "does not hold" not in done.err, done.account()


def test_a_cordon_inside_says_that_it_is_in_one(world):
    inner = [world.cordon, "run", "--policy", "strict", "--", "/bin/true"]
    done = world.run(*inner, options=["--read", world.cordon.parent]).expect(125)
    assert "already inside a Cordon sandbox" in done.err, done.account()


def test_without_a_ceiling_that_accepts_it_nothing_runs(world):
    done = world.execute([*launcher(), world.cordon, "run", "--backend", "landlock", "--", "touch",
                          "ran"]).expect(125)
    assert 'accept_missing = ["namespaces"]' in done.err, done.account()
    world.ceiling.write_text(re.sub(r"\[require\].*", "", world.ceiling.read_text(), flags=re.S))
    done = world.run("touch", "ran").expect(125)
    assert 'accept_missing = ["namespaces"]' in done.err, done.account()
    assert not (world.project / "ran").exists()


def test_dry_run_prints_the_plan(world):
    done = world.run("true", options=["--dry-run"]).expect(0)
    assert "scope signals to this sandbox" in done.out, done.account()
    assert f"landlock allow {world.project}" in done.out.replace('"', ""), done.account()


# What cannot be held is refused, and the same without the obstacle runs.

def test_deny_inside_a_grant(world):
    world.write(world.project / "key.pem", "SECRET\n")
    options = ["--deny", "**/*.pem"]
    done = world.run("cat", "key.pem", options=options).expect(125)
    assert "cannot hide" in done.err and "SECRET" not in done.out, done.account()
    (world.project / "key.pem").unlink()
    world.run("true", options=options).expect(0)


def test_credentials_under_a_broad_grant(world):
    world.plant({".config/gh/hosts.yml": "SECRET\n", ".config/app/plain": "plain\n"})
    broad = ["--policy", "readonly", "--read", world.home / ".config"]
    done = world.run("cat", world.home / ".config/app/plain", options=broad).expect(125)
    assert "cannot hide" in done.err and "gh" in done.err, done.account()
    shutil.rmtree(world.home / ".config/gh")
    done = world.run("cat", world.home / ".config/app/plain", options=broad)
    assert done.expect(0).out == "plain\n"


def test_whole_home(world):
    done = world.run("true", options=["--policy", "readonly", "--read", world.home]).expect(125)
    assert "cordon's own files" in done.err, done.account()


def test_a_directory_on_the_way_to_what_the_policy_names(world):
    world.write(world.project / "a/b/plan", "plan\n")
    policy = world.document('version = 1\nextends = "workspace"\n[fs]\n'
                            f'read = ["{world.project}/a/b/plan"]\n')
    done = world.run("true", options=["--policy", policy]).expect(125)
    assert "from being renamed" in done.err, done.account()


@pytest.mark.parametrize("path", ["/", "/proc", "/dev", "/sys/kernel"])
def test_grants_that_would_show_the_machine(world, path):
    done = world.run("true", options=["--policy", "readonly", "--read", path]).expect(125)
    words = "would show the host's" if path == "/proc" else "landlock cannot leave"
    assert words in done.err, done.account()


def test_published_port(world):
    policy = world.document('version = 1\nextends = "workspace"\n[net]\npublish = ["8080"]\n')
    done = world.run("true", options=["--policy", policy]).expect(125)
    assert "net.publish" in done.err, done.account()


# Private directories.

def test_private_home_and_temporary_directory(world):
    script = ('echo "$HOME" "$TMPDIR"; cd && pwd; echo x > "$HOME/a"; echo y > "$TMPDIR/b"; '
              'mkdir "$HOME/closed"; touch "$HOME/closed/x"; chmod 000 "$HOME/closed"')
    done = world.run("/bin/sh", "-c", script).expect(0)
    home, temporary = done.out.splitlines()[0].split()
    private = str(world.home / ".local/state/cordon/private")
    assert home.startswith(private) and temporary.startswith(private), done.account()
    assert world.left_behind() == [], "private directories outlive the run"
    assert world.run("/bin/sh", "-c", 'ls -A "$HOME"').expect(0).out.replace(".gitconfig\n", "") == ""


def test_persistent_home_and_caches(world):
    policy = world.document('version = 1\nextends = "build"\n[fs]\nhome = "persistent"\n')
    script = 'cat "$HOME/kept" "$XDG_CACHE_HOME/kept"; echo k > "$HOME/kept"; echo c > "$XDG_CACHE_HOME/kept"'
    world.run("/bin/sh", "-c", script, options=["--policy", policy])
    assert world.run("/bin/sh", "-c", script, options=["--policy", policy]).out == "k\nc\n"


def test_other_runs_private_directories_are_out_of_reach(world):
    process = world.start_run("/bin/sh", "-c", 'echo s > "$HOME/secret"; echo "$HOME"; sleep 300')
    home = process.stdout.readline().decode().strip()
    try:
        assert Path(home, "secret").read_text() == "s\n"
        done = world.run("cat", home + "/secret")
        assert done.status == 1 and "Permission denied" in done.err, done.account()
    finally:
        process.terminate()
        process.communicate()


# Limits.

def test_wall_clock(world):
    done = world.run("sleep", "60", options=["--timeout", "300ms"]).expect(124)
    assert done.seconds < 30, done.account()


def test_scratch_is_watched(world):
    script = 'dd if=/dev/zero of="$TMPDIR/big" bs=1M count=64 2>/dev/null; sync; sleep 60'
    done, report = world.report("/bin/sh", "-c", script, options=["--scratch", "8M"])
    assert done.expect(137).seconds < 35
    assert report["kill_reason"] == "scratch", report
    assert world.left_behind() == []


def test_memory(world):
    code = "x = bytearray(512 << 20)\nimport time; time.sleep(60)"
    done, report = world.report("/usr/bin/python3", "-c", code, options=["--memory", "64M"])
    assert done.expect(137).seconds < 35 and report["kill_reason"] == "oom", done.account()
    assert report["enforcement"]["limits"]["memory"] in ("cgroup", "watch")


def test_processes(world):
    code = ("import os, sys, time\nn = 0\n"
            "try:\n"
            "  while n < 400:\n"
            "    if os.fork() == 0: time.sleep(300); os._exit(0)\n"
            "    n += 1\n"
            "except BlockingIOError: pass\nprint(n)")
    done = world.run("/usr/bin/python3", "-c", code, options=["--pids", "50"])
    assert 10 < int(done.out) <= 50, done.account()


# Ordinary work.

def test_compiler_and_what_it_made(world):
    world.write(world.project / "a.c", '#include <stdio.h>\nint main(void) { puts("made"); }\n')
    done = world.run("/bin/sh", "-c", "cc -o a a.c && ./a && touch -d @0 a.c && chmod 640 a.c")
    assert done.expect(0).out == "made\n", done.account()
    status = (world.project / "a.c").stat()
    assert status.st_mtime == 0 and status.st_mode & 0o777 == 0o640


def test_archive_with_modes_and_times(world):
    script = ("mkdir d && echo x > d/f && chmod 700 d && chmod 750 d/f && touch -d @1000 d/f && "
              "tar cf t.tar d && rm -r d && tar xpf t.tar && cp -a d e && stat -c '%a %Y' e/f")
    assert world.run("/bin/sh", "-c", script).expect(0).out == "750 1000\n"


def test_files_move_between_directories(world):
    """The domain that scopes signals must not forbid what the grant permits."""
    code = ("import os\nfor name in ('a', 'b'): os.mkdir(name)\n"
            "open('a/f', 'w'); os.rename('a/f', 'b/f'); os.link('b/f', 'a/g'); os.rename('a', 'b/a')")
    world.run("/usr/bin/python3", "-c", code).expect(0)
    assert (world.project / "b/a/g").exists()
    done = world.run("/usr/bin/python3", "-c", f"import os; os.rename('b/f', '{world.outside}/f')")
    assert done.status == 1 and not (world.outside / "f").exists(), done.account()


def test_symlink_times_and_descriptors(world):
    code = ("import os\n"
            "os.symlink('file.txt', 'l'); os.utime('l', (5, 5), follow_symlinks=False)\n"
            "d = os.open('.', os.O_RDONLY); os.chmod('file.txt', 0o600, dir_fd=d)\n"
            "f = os.open('file.txt', os.O_RDWR); os.fchmod(f, 0o640); os.utime(f, (7, 7))\n"
            "print(os.lstat('l').st_mtime, os.fstat(f).st_mtime, oct(os.fstat(f).st_mode & 0o777))")
    done = world.run("/usr/bin/python3", "-c", code).expect(0)
    assert done.out == "5.0 7.0 0o640\n", done.account()


def test_terminal(world):
    from support.pty_session import Terminal
    terminal = Terminal(world, [*launcher(), world.cordon, "run", "--backend", "landlock",
                                "--ceiling", world.ceiling, "--", "/bin/sh", "-c",
                                "test -t 0 && echo TTY-yes; echo hello > /dev/tty"])
    try:
        terminal.wait()
        assert b"TTY-yes" in terminal.seen and b"hello" in terminal.seen, terminal.seen
    finally:
        terminal.close()


def test_doctor_names_the_tier(world):
    done = world.execute([*launcher(), world.cordon, "doctor"])
    line = next(line for line in done.out.splitlines() if "backend-landlock" in line)
    assert "[PASS]" in line and "without namespaces" in line, done.account()
    usual = world.cordon_verb("doctor").out
    line = next(line for line in usual.splitlines() if "backend-landlock" in line)
    assert "holds less" in line, usual


# A layer that is not in force.

@pytest.mark.parametrize("layer", ["landlock", "seccomp", "capabilities", "broker"])
def test_absent_layer_is_refused(world, layer):
    if layer == "capabilities" and not world.who.is_root:
        return void("an ordinary user has no capability to keep")
    argv = [*launcher(), omitting(), "run", "--backend", "landlock", "--ceiling", world.ceiling, "--",
            "touch", "ran"]
    done = world.execute(argv, env={"CORDON_OMIT": layer}).expect(125)
    assert f"layer {layer}" in done.err, done.account()
    assert not (world.project / "ran").exists() and world.left_behind() == []
    world.execute(argv).expect(0)
    assert (world.project / "ran").exists()
