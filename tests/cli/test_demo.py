"""`cordon demo`: real runs on the real kernel, judged by what the host looks like afterwards."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from support import harness
from support.pty_session import Terminal

pytestmark = pytest.mark.once

ACTS = {1: 0, 2: 4, 3: 3, 4: 2, 5: 3, 6: 2, 7: 3, 8: 2}
SCENARIOS = sum(ACTS.values())


def homes(world) -> Path:
    """Where demonstrations make their homes."""
    return world.home / ".local/state/cordon/demo"


def left(world) -> list[Path]:
    return sorted(homes(world).iterdir()) if homes(world).exists() else []


def bombs(world) -> list[Path]:
    return list(homes(world).glob("*/home/Downloads/bomb"))


def running(world) -> list[int]:
    # By this test's own directory: a compiler's command line may hold the program's name.
    return harness.processes_with(str(homes(world)))


def demo(world, *options, program=None, **how):
    command = [program, "demo"] if program else [world.cordon, "demo"]
    return world.execute([*command, *options], **how)


def disguised(name: str) -> Path:
    source = Path(os.environ.get("CORDON_BUILD", harness.ROOT / "out/release")) / "tests/omitted" / name
    assert source.exists(), f"{source} does not exist: build it, or set CORDON_BUILD"
    target = harness.stage().path / "bin" / name
    if not target.exists():
        shutil.copy(source, target)
        target.chmod(0o755)
    return target


def shared_leftovers() -> set[str]:
    return {str(p) for d in ("/tmp", "/var/tmp") for p in Path(d).glob("*-cordon-demo.*")}


def test_every_scenario_behaves_and_nothing_is_left(world):
    world.plant(harness.SECRET_FILES)
    world.make_directory(homes(world)).chmod(0o700)
    before, shared = harness.tree_digest(world.home), shared_leftovers()
    done = demo(world, "--no-pause", timeout=30).expect(0)
    assert done.seconds < 30
    assert f"{SCENARIOS}/{SCENARIOS} scenarios behaved exactly as designed" in done.out
    assert done.out.count("[OK]") == SCENARIOS and "NOT AS DESIGNED" not in done.out
    for word in ("command", "asked for", "clamp", "in force", "expected", "verdict"):
        assert done.out.count(f"\n    {word} ") == SCENARIOS - ACTS[7], word
    assert done.out.count("\n    seen ") == SCENARIOS
    assert done.err == ""
    assert left(world) == [] and shared_leftovers() <= shared
    assert harness.tree_digest(world.home) == before, "the user's own home was touched"
    assert running(world) == []


def test_output_is_plain_ascii_without_a_terminal(world):
    out = demo(world, "--no-pause", "--act", "2").expect(0).out
    assert out.isascii() and "\x1b" not in out and "PLANTED" not in out


def test_panel(world):
    done = demo(world, "--config-only").expect(0)
    for word in ("ceiling", "read ~/Documents", "write ~/Downloads", "native (verified", "Landlock",
                 "seccomp", "network     none", "identity    none", "run_code    off",
                 "keychain    hard-disabled"):
        assert word in done.out, f"{word}\n{done.account()}"
    assert "Act" not in done.out and left(world) == []
    done = demo(world, "--config-only", env={"CORDON_ENABLE_RUN_CODE": "1"}).expect(0)
    assert "run_code    on" in done.out


@pytest.mark.parametrize("act", ACTS)
def test_one_act_alone(world, act):
    done = demo(world, "--json", "--act", str(act)).expect(0)
    scenarios = done.json["scenarios"]
    assert [entry["act"] for entry in scenarios] == [act] * ACTS[act]
    assert done.json["behaved"] == done.json["total"] == ACTS[act]
    for entry in scenarios:
        assert set(entry) == {"act", "title", "requested", "ceiling", "dropped", "clamped", "exit",
                              "allowed", "tier", "error", "expected", "seen", "behaved"}
        assert entry["error"] is None and entry["behaved"] is True
        if entry["expected"]:
            assert entry["tier"] == "native"
            assert entry["allowed"] == (entry["expected"] == "allowed"), entry
    assert left(world) == []


def test_the_bomb_cannot_end_the_process_that_waits_for_it(world):
    bomb = demo(world, "--json", "--act", "4").expect(0).json["scenarios"][1]
    *shell, marks = bomb["requested"]["argv"]
    assert bomb["title"] == "set off a fork bomb" and marks.endswith("/Downloads/bomb")
    # Three processes are what one generation needs: whatever it forks after that fails.
    for attempt in range(8):
        mark = world.project / f"bomb.{attempt}"
        world.run(*shell, mark, options=["--write", world.project, "--pids", "3",
                                         "--timeout", "300ms"]).expect(124)
        assert mark.stat().st_size >= 1, "it did not go off"


def test_first_act_runs_nothing(world):
    out = demo(world, "--no-pause", "--act", "1").expect(0).out
    assert "This act runs nothing." in out and "[OK]" not in out


def test_what_the_scenarios_show(world):
    done = demo(world, "--json", "--act", "2", "--act", "3", "--act", "5").expect(0)
    by_title = {entry["title"]: entry for entry in done.json["scenarios"]}
    change = by_title["change a document"]
    assert [d["because"] for d in change["dropped"]] == ["outside-ceiling"]
    assert change["clamped"]["fs"]["write"] == []
    link = by_title["ask for the link itself"]
    assert [d["because"] for d in link["dropped"]] == ["symlink-escape"]
    walk = by_title["walk through the link inside a permitted directory"]
    assert walk["dropped"] == [] and walk["exit"] != 0, "the kernel alone refuses this one"
    assert [d["because"] for d in by_title["ask for the private key"]["dropped"]] == ["forbidden"]
    assert by_title["read .env in a readable directory"]["dropped"] == []


@pytest.mark.parametrize("options", [("--act", "0"), ("--act", "9"), ("--act", "x"), ("--act", ""),
                                     ("--config-only", "--act", "2"), ("2",)])
def test_bad_command_lines(world, options):
    done = demo(world, *options).expect(2)
    assert done.out == "" and left(world) == []


def test_pauses_at_a_terminal(world):
    terminal = Terminal(world, [world.cordon, "demo", "--act", "1", "--act", "2"])
    try:
        terminal.expect(b"Press Enter")
        assert b"Act 1" not in terminal.seen
        terminal.type(b"\r")
        terminal.expect(b"Act 1")
        terminal.expect(b"runs nothing")
        assert b"Act 2" not in terminal.seen
        terminal.type(b"\r")
        assert terminal.wait(20) == 0, terminal.seen
        assert b"4/4 scenarios" in terminal.seen and b"\x1b[32m" in terminal.seen
    finally:
        terminal.close()


def test_no_colour_with_no_color(world):
    terminal = Terminal(world, [world.cordon, "demo", "--no-pause", "--act", "2"],
                        env={"NO_COLOR": "1"})
    try:
        assert terminal.wait(20) == 0 and b"\x1b" not in terminal.seen
    finally:
        terminal.close()


def test_ctrl_c_at_a_pause_cleans_up(world):
    terminal = Terminal(world, [world.cordon, "demo"])
    try:
        terminal.expect(b"Press Enter")
        assert len(left(world)) == 1
        terminal.type(b"\x03")
        assert terminal.wait(10) == 128 + signal.SIGINT
    finally:
        terminal.close()
    assert left(world) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_the_middle_of_the_bomb_cleans_up(world, number):
    process = world.start([world.cordon, "demo", "--no-pause", "--act", "4"])
    assert harness.wait_until(lambda: bombs(world) and running(world), 20)
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 128 + number, (out, err)
    assert left(world) == [] and running(world) == []
    assert b"scenarios behaved" not in out


def test_what_a_killed_one_left_is_removed_by_the_next(world):
    process = world.start([world.cordon, "demo", "--no-pause", "--act", "4"])
    assert harness.wait_until(lambda: bombs(world) and running(world), 20)
    process.kill()
    process.communicate(timeout=20)
    assert harness.wait_until(lambda: running(world) == [], 5)
    [lost] = left(world)
    notes = [json.loads(note.read_text().splitlines()[0])
             for note in (lost / "home/.local/state/cordon/runs").iterdir()]
    groups = [Path(group) for note in notes for group in note["cgroups"]]
    assert notes and (not world.who.is_root or all(group.exists() for group in groups))
    demo(world, "--config-only").expect(0)
    assert left(world) == [], f"{lost} is still there"
    assert not any(group.exists() for group in groups), groups


def test_a_living_one_and_foreign_directories_are_left_alone(world):
    world.make_directory(homes(world)).chmod(0o700)
    foreign = world.make_directory(homes(world) / "cordon-demo.AAAAAA")
    link = world.link(homes(world) / "cordon-demo.BBBBBB", world.outside)
    lost = world.make_directory(homes(world) / "cordon-demo.CCCCCC")
    lost.chmod(0o700)
    terminal = Terminal(world, [world.cordon, "demo"])
    try:
        terminal.expect(b"Press Enter")
        [living] = set(left(world)) - {foreign, link}
        assert not lost.exists(), "the control: what nobody holds is removed"
        demo(world, "--no-pause", "--act", "2").expect(0)
        assert living.exists() and foreign.exists() and (world.outside / "secret").exists()
        terminal.type(b"\x03")
        terminal.wait(10)
    finally:
        terminal.close()
    assert left(world) == [foreign, link]


def test_no_sandbox_can_plant_a_home(world):
    """A planted one would have notes in it, and notes are acted on."""
    demo(world, "--config-only").expect(0)
    planted = homes(world) / "cordon-demo.DDDDDD"
    beside = world.home / ".local/beside"
    world.run("/bin/sh", "-c", f"mkdir {beside}; mkdir -p {planted}",
              options=["--write", world.home / ".local"])
    assert beside.exists() and not planted.exists()


def test_two_at_once(world):
    running = [world.start([world.cordon, "demo", "--no-pause", "--act", "2", "--act", "7"]) for _ in range(3)]
    for process in running:
        out, err = process.communicate(timeout=40)
        assert process.returncode == 0, (out, err)
    assert left(world) == []


def test_ceilings_of_the_host_do_not_hinder_it(world):
    """Nothing outside of its own home is granted, so there is nothing for them to bound."""
    world.write(world.home / ".config/cordon/ceiling.toml", "version = 1\n", 0o600)
    demo(world, "--no-pause", "--act", "2").expect(0)


@pytest.mark.parametrize("trouble", ["link", "writable", "file"])
def test_a_state_directory_that_cannot_be_trusted(world, trouble):
    world.make_directory(homes(world).parent)
    if trouble == "link":
        world.link(homes(world), world.outside)
    elif trouble == "file":
        world.write(homes(world), "")
    else:
        world.make_directory(homes(world)).chmod(0o777)
    before = harness.tree_digest(world.outside)
    done = demo(world, "--no-pause").expect(2)
    assert str(homes(world)) in done.err and "hint: " in done.err and done.out == ""
    assert harness.tree_digest(world.outside) == before


@pytest.mark.only("user")
def test_without_a_home_there_is_no_place(world):
    """Root has an account, and so a home."""
    done = world.execute(["/usr/bin/env", "-u", "HOME", world.cordon, "demo", "--no-pause"])
    assert "set HOME" in done.expect(2).err


def test_a_home_behind_a_link_works(world):
    real = world.make_directory(world.outside / "state")
    world.make_directory(world.home / ".local")
    world.link(world.home / ".local/state", real)
    demo(world, "--no-pause", "--act", "2", "--act", "3").expect(0)


def test_an_answer_that_nobody_takes_is_an_error(world):
    with open("/dev/full", "wb") as full:
        process = world.start([world.cordon, "demo", "--no-pause", "--act", "2"], stdout=full)
        process.wait(timeout=30)
        process.stderr.close()
    assert process.returncode == 2 and left(world) == []


# Without a layer: the demonstration is worth as much as its ability to fail.


@pytest.mark.parametrize("layer", ["landlock", "seccomp", "capabilities", "network_ns", "mounts",
                                   "read_only"])
def test_a_build_without_a_layer_fails(world, layer):
    program = disguised("cordon-demo-omitting")
    done = demo(world, "--no-pause", program=program, env={"CORDON_OMIT": layer})
    done.expect(1)
    assert "cannot contain" in done.err and "[OK]" not in done.out
    assert left(world) == []


def test_that_build_passes_when_nothing_is_left_out(world):
    program = disguised("cordon-demo-omitting")
    demo(world, "--no-pause", program=program).expect(0)


def test_a_backend_that_only_claims_is_found_out(world):
    shared = shared_leftovers()
    done = demo(world, "--json", program=disguised("cordon-demo-unconfined")).expect(1)
    behaved = {entry["title"]: entry["behaved"] for entry in done.json["scenarios"]}
    assert len(behaved) == SCENARIOS
    # What needs no boundary still works; everything that needs one is seen to be missing. (The link
    # between permitted directories leads to a document that is changed by then.)
    harmless = {"read a document", "write a download", "print a token of the environment",
                "verify the log as it is", "change one digit", "cut off the last record"}
    assert {title for title, good in behaved.items() if good} == harmless, behaved
    bomb = next(e for e in done.json["scenarios"] if e["title"] == "set off a fork bomb")
    assert bomb["seen"] == "not started: the limit was not proven" and bomb["exit"] is None
    assert left(world) == [] and shared_leftovers() <= shared


def test_a_host_without_user_namespaces_is_told(world):
    script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\""
    done = world.execute(["unshare", "-Ur", "/bin/sh", "-c", script, "sh", world.cordon, "demo",
                          "--no-pause"])
    done.expect(1)
    assert "cordon doctor" in done.err and "hint: " in done.err
    assert left(world) == []


def test_the_part_that_demonstrates_is_no_command_of_its_own(world):
    part = world.cordon.parent / "cordon-tools"
    assert "part of cordon" in world.execute([part, "--no-pause"]).expect(2).err
