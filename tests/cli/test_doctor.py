"""`cordon doctor`: what this host can enforce."""

import re

import pytest

from support.pty_session import Terminal

LINE = re.compile(r"^\s*\[(PASS|WARN|FAIL)\] [^:]+: .+$")
SUMMARY = re.compile(r"^Summary: (\d+) passed, (\d+) warning\(s\), (\d+) failed$")


def test_form(world):
    done = world.cordon_verb("doctor")
    lines = done.out.splitlines()
    marked = [line for line in lines if "[PASS]" in line or "[WARN]" in line or "[FAIL]" in line]
    assert marked and all(LINE.match(line) for line in marked), done.account()
    summary = [SUMMARY.match(line) for line in lines if SUMMARY.match(line)]
    assert len(summary) == 1, done.account()
    counts = [sum(f"[{word}]" in line for line in marked) for word in ("PASS", "WARN", "FAIL")]
    assert counts == [int(n) for n in summary[0].groups()], done.account()
    assert done.status == (1 if counts[2] else 0), done.account()
    assert lines[0] and not LINE.match(lines[0]), "no title"
    places = [lines.index(line) for word in ("system", "security", "config")
              for line in lines if line.strip().lower().rstrip(":").startswith(word)][:3]
    assert places == sorted(places) and len(places) == 3, done.account()


def test_this_host_can_contain(world):
    done = world.cordon_verb("doctor")
    done.expect(0)
    for word in ("landlock", "seccomp", "namespace", "cgroup"):
        assert word in done.out.lower(), word


def test_every_trouble_has_a_next_line(world):
    lines = world.cordon_verb("doctor").out.splitlines()
    for index, line in enumerate(lines):
        if "[WARN]" in line or "[FAIL]" in line:
            assert index + 1 < len(lines) and not LINE.match(lines[index + 1]), line


def test_json(world):
    done = world.cordon_verb("doctor", "--json")
    failed = [check["name"] for check in done.json["checks"] if check["status"] == "fail"]
    assert done.json["checks"] and done.status == (1 if failed else 0), done.account()


def test_colour_only_on_a_terminal(world):
    assert "\x1b" not in world.cordon_verb("doctor").out
    for variables, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        terminal = Terminal(world, [world.cordon, "doctor"], env=variables)
        try:
            terminal.wait()
            assert (b"\x1b[" in terminal.seen) == coloured, terminal.seen
        finally:
            terminal.close()


def test_host_without_user_namespaces_fails(world):
    setup = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\""
    done = world.execute(["unshare", "-Ur", "/bin/sh", "-c", setup, "sh", world.cordon, "doctor"])
    done.expect(1)
    assert "[FAIL]" in done.out, done.account()


def test_invalid_ceiling_fails(world):
    world.write(world.home / ".config/cordon/ceiling.toml", "version = 1\nnonsense = 1\n", 0o600)
    done = world.cordon_verb("doctor")
    done.expect(1)
    assert "ceiling.toml" in done.out, done.account()


def test_a_place_that_takes_no_probes_is_named_with_its_reason(world):
    read_only = world.make_directory(world.path / "read-only")
    read_only.chmod(0o555)
    place = "/proc" if world.who.is_root else read_only
    done = world.cordon_verb("doctor", env={"TMPDIR": str(place)}).expect(1)
    assert f"[FAIL] live-probes: cannot make a directory for the probes in {place} (" in done.out, done.account()
    assert f"make {place} writable, or set TMPDIR to a directory that is" in done.out, done.account()
    writable = world.make_directory(world.path / "writable")
    done = world.cordon_verb("doctor", env={"TMPDIR": str(writable)})
    assert "live-probes" not in done.out and "live-write-outside" in done.out, done.account()


def test_doctor_inside_says_it_once(world):
    done = world.run(world.cordon, "doctor", options=["--read", world.cordon.parent]).expect(1)
    assert done.out.count("already inside a Cordon sandbox") == 1, done.account()
    assert done.out.count("[FAIL]") == 1 and "more checks depend on it" in done.out


def test_doctor_tells_one_cause_once(world):
    setup = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\""
    wrap = ["unshare", "-Ur", "/bin/sh", "-c", setup, "sh", world.cordon, "doctor"]
    done = world.execute(wrap).expect(1)
    counted = re.search(r"(\d+) more checks depend on it: (.+)", done.out)
    assert counted and int(counted[1]) == len(counted[2].split(", ")) >= 8, done.account()
    for name in ("mount-namespace", "live-write-outside", "live-tree-kill"):
        assert name in counted[2] and done.out.count(name) == 1, done.account()
    lines = [line.strip() for line in done.out.splitlines() if line.startswith("         ")]
    assert len(lines) == len(set(lines)), done.account()
    assert "cordon doctor" not in done.out, done.account()
    checks = {check["name"]: check for check in world.execute([*wrap, "--json"]).json["checks"]}
    assert checks["live-write-outside"]["cause"] == "user-namespace", checks
    assert checks["user-namespace"]["cause"] is None, checks
