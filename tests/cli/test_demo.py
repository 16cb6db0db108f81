"""`cordon demo`: real runs on the real kernel, judged by what the host looks like afterwards."""

import json
import os
import re
import shutil
import signal
from pathlib import Path

import pyte
import pytest

from support import harness
from support.pty_session import Terminal
from support.without_namespaces import launcher

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


def shares_no_more_than(before: set[str]) -> bool:
    """A demonstration of another test process may be under way; what it makes there goes."""
    return harness.wait_until(lambda: shared_leftovers() <= before)


def test_every_scenario_behaves_and_nothing_is_left(world):
    world.plant(harness.SECRET_FILES)
    world.make_directory(homes(world)).chmod(0o700)
    before, shared = harness.tree_digest(world.home), shared_leftovers()
    done = demo(world, "--no-pause", "--verbose", timeout=90).expect(0)
    assert f"{SCENARIOS}/{SCENARIOS} scenarios behaved exactly as designed" in done.out
    assert done.out.count("[OK]") == SCENARIOS and "NOT AS DESIGNED" not in done.out
    for word in ("command", "asked for", "clamp", "in force", "expected", "verdict"):
        assert done.out.count(f"\n    {word} ") == SCENARIOS - ACTS[7], word
    assert done.out.count("\n    seen ") == SCENARIOS
    assert done.err == ""
    assert left(world) == [] and shares_no_more_than(shared)
    assert harness.tree_digest(world.home) == before, "the user's own home was touched"
    assert running(world) == []


def test_output_is_plain_ascii_without_a_terminal(world):
    out = demo(world, "--no-pause", "--verbose", "--act", "2").expect(0).out
    assert out.isascii() and "\x1b" not in out and "PLANTED" not in out


# One screen for each act.

GOOD = "ALLOWED|BLOCKED|STOPPED|AS DESIGNED"
PROMPT = b"Press Enter to go on, Ctrl-C to end. "


class Watched(Terminal):
    """A demonstration at a terminal, and what stands on its screen."""

    def __init__(self, world, *options, columns, rows, before=(), **how):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.fed = 0
        super().__init__(world, [*before, world.cordon, "demo", *options], columns=columns, rows=rows, **how)

    def lines(self) -> list[str]:
        self.stream.feed(self.seen[self.fed:])
        self.fed = len(self.seen)
        return [line.rstrip() for line in self.screen.display]

    def scenes(self) -> dict[int, list[str]]:
        """What is on the screen whenever it waits, and at the end, from the heading on."""
        found = {}
        for act in ACTS:
            if act < len(ACTS):
                assert harness.wait_until(lambda: self.prompts() == act), self.seen
            else:
                assert self.wait() == 0, self.seen
            lines = self.lines()
            headings = [i for i, line in enumerate(lines) if line.startswith(f"Act {act}: ")]
            assert headings, f"act {act} does not begin on this screen: {lines}"
            found[act] = lines[headings[-1]:] if act > 1 else lines
            if act < len(ACTS):
                self.type(b"\r")
        return found

    def prompts(self) -> int:
        self.read_for(0.05)
        return self.seen.count(PROMPT)


def words(line: str) -> str:
    return re.sub(r" {2,}", "  ", re.sub(r" +\| ", " | ", line))


@pytest.mark.parametrize("columns, rows", [(80, 24), (100, 24), (120, 30)])
def test_each_act_is_one_screen(world, columns, rows):
    shared = shared_leftovers()
    terminal = Watched(world, columns=columns, rows=rows)
    try:
        scenes = terminal.scenes()
    finally:
        terminal.close()
    assert scenes[1][0].startswith("Each attempt is made twice"), "the opening has left the screen"
    assert any("19/19 scenarios behaved exactly as designed" in line for line in scenes[8])
    wide = columns >= 100
    verdict = re.compile(rf"\| ({GOOD}) +|^  (AS DESIGNED)  " if wide else rf"^  ({GOOD})  ")
    for act, lines in scenes.items():
        found = [line for line in lines if verdict.search(line)]
        assert len(found) == ACTS[act], (act, lines)
        assert not any("NOT " in line and "NOT RUN" not in line for line in lines), lines
    secrets = [words(line) for line in scenes[5]]
    if wide:
        row = "  cat ~/.ssh/id_ed25519 | DONE PLANTED-KEY-93ab | BLOCKED No such file or directory"
        assert row in secrets, secrets
    else:
        without, inside = secrets.index("without Cordon"), secrets.index("with Cordon")
        assert without < secrets.index("  DONE  cat ~/.ssh/id_ed25519  PLANTED-KEY-93ab") < inside
        assert inside < secrets.index("  BLOCKED  cat ~/.ssh/id_ed25519  No such file or directory")
    # Nothing goes on in the next line of the terminal.
    plain = re.sub(rb"\x1b\[[0-9]*m", b"", terminal.seen).decode()
    assert max(map(len, plain.replace("\r", "").split("\n"))) < columns
    assert left(world) == [] and running(world) == [] and shared_leftovers() <= shared


def test_without_a_terminal_a_scene_is_plain_text(world):
    out = demo(world, "--no-pause").expect(0).out
    assert out.isascii() and not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", out)
    assert max(map(len, out.splitlines())) < 80
    assert len(re.findall(rf"^  (?:{GOOD})  ", out, re.M)) == SCENARIOS
    assert "\nwithout Cordon\n" in out and " | " not in out
    assert "  NOT RUN  set off a fork bomb  (too dangerous)\n" in out


def test_what_is_shown_without_cordon_was_done_without_cordon(world):
    out = demo(world, "--no-pause", "--act", "2", "--act", "6", "--act", "8").expect(0).out
    blocks = re.findall(r"^without Cordon\n((?:  .*\n)+)with Cordon\n", out, re.M)
    done = [words(line).split("  ")[1:] for line in "".join(blocks).splitlines()]
    assert [line[0] for line in done] == ["DONE"] * (ACTS[2] + ACTS[6] + ACTS[8]), out
    assert [line[2] for line in done] == [
        "report: all quiet", "(it was changed)", "(it is on the host)", "(it is on the host)",
        "(it was reached)", "(it is on the host)", "PLANTED-NOTE-e2d7", "(it was ended)"]


def test_a_boundary_that_holds_nothing_is_told_in_plain_words(world):
    shared = shared_leftovers()
    done = demo(world, "--no-pause", program=disguised("cordon-demo-unconfined"), timeout=90).expect(1)
    inside = re.findall(r"^  BLOCKED +(.*)", done.out, re.M)
    assert len(inside) == 1 and inside[0].startswith("printenv "), "variables are no part of the boundary"
    assert re.search(r"^  NOT BLOCKED +cat ~/.ssh/id_ed25519 +PLANTED-KEY-93ab$", done.out, re.M), done.account()
    for line in ("NOT BLOCKED: change a document: it was changed",
                 "NOT AS DESIGNED: write to /tmp: it is on the host",
                 "NOT BLOCKED: ask for the private key: the secret was printed",
                 "NOT BLOCKED: connect to the collector: it was reached",
                 "NOT RUN: set off a fork bomb: not started: the limit was not proven",
                 "NOT BLOCKED: kill a process of a neighbour: it was ended"):
        assert line + "\n" in done.out, done.account()
    [behaved] = re.findall(rf"^(\d+)/{SCENARIOS} scenarios", done.out, re.M)
    assert int(behaved) < SCENARIOS / 2, done.account()
    assert left(world) == [] and shares_no_more_than(shared)


def with_other_cat(world, script) -> list:
    """Begins a command for which /bin/cat is this script, in a mount namespace of its own."""
    other = world.write(world.outside / "cat", script, 0o755)
    bind = 'mount --bind "$1" "$(readlink -f /bin/cat)" && shift && exec "$@"'
    outer = ["unshare", "-m"] if world.who.is_root else ["unshare", "-Urm"]
    return [*outer, "/bin/sh", "-c", bind, "sh", other]


def test_hostile_output_cannot_move_the_cursor(world):
    before = with_other_cat(world, "#!/bin/sh\nprintf '\\033[2J\\033[H\\033]0;x\\007\\r\\b\\302\\233A\\377\\n'\n")
    terminal = Watched(world, "--no-pause", "--act", "5", columns=80, rows=24, before=before,
                       env={"NO_COLOR": "1"})
    try:
        assert terminal.wait() == 1, "what cat printed was not what was planted"
        lines = terminal.lines()
    finally:
        terminal.close()
    assert not re.search(rb"[^\x20-\x7e\r\n]", terminal.seen), terminal.seen
    printed = terminal.seen.decode().replace("\r", "").split("\n")
    assert lines == printed[-len(lines):], "the cursor was moved"
    assert sum(r"\x1b[2J\x1b[H" in line for line in lines) == 4, lines


def test_a_command_that_fails_anyway_shows_nothing(world):
    before = with_other_cat(world, "#!/bin/sh\necho \"cat: broken\" >&2\nexit 3\n")
    done = world.execute([*before, world.cordon, "demo", "--no-pause", "--act", "5"]).expect(1)
    out = [words(line) for line in done.out.splitlines()]
    assert out.count("  FAILED  cat ~/.ssh/id_ed25519  broken") == 1, done.account()
    assert out.count("  NOT SHOWN  cat ~/.ssh/id_ed25519  broken") == 1, done.account()
    assert "NOT SHOWN: ask for the private key: it was not done without Cordon either" in out
    assert "  BLOCKED  printenv DEMO_API_KEY  (set here, not inside)" in out
    assert f"1/{ACTS[5]} scenarios" in done.out


# Outside of a sandbox, where there is such a home, it waits, with its process' number in there.
WAITS = '#!/bin/sh\n[ -d "$HOME/Downloads" ] || exit 1\necho $$ > "$HOME/Downloads/waits"\nexec sleep 300\n'


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_what_runs_without_cordon(world, number):
    before = with_other_cat(world, WAITS)
    process = world.start([*before, world.cordon, "demo", "--no-pause", "--act", "2"])
    marks = lambda: [text for mark in homes(world).glob("*/home/Downloads/waits") if (text := mark.read_text())]
    assert harness.wait_until(marks)
    [waiting] = marks()
    command = Path(f"/proc/{int(waiting)}/cmdline")
    assert harness.wait_until(lambda: command.read_bytes().startswith(b"sleep"))
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode in (128 + number, -number), (out, err)
    assert harness.wait_until(lambda: not Path(f"/proc/{int(waiting)}").exists(), harness.SOON)
    if number != signal.SIGKILL:
        assert b"scenarios behaved" not in out
    else:
        demo(world, "--config-only").expect(0)
    assert left(world) == []


def test_what_a_killed_one_left_for_others_is_removed_by_the_next(world):
    world.make_directory(homes(world)).chmod(0o700)
    lost = world.make_directory(homes(world) / f"cordon-demo.{os.getpid() % 1000000:06}")
    lost.chmod(0o700)
    notes = [Path(place + lost.name) for place in ("/tmp/note-", "/tmp/other-", "/var/tmp/drop-")]
    try:
        for note in notes:
            world.execute(["/usr/bin/touch", note]).expect(0)
        demo(world, "--config-only").expect(0)
        assert left(world) == [] and not any(note.exists() for note in notes)
    finally:
        for note in notes:
            note.unlink(missing_ok=True)


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


def test_a_host_without_namespaces_is_told_nothing_about_files_that_are_gone(world):
    """The demonstration has a ceiling of its own, and a change in that one would be no cure."""
    done = world.execute([*launcher(), world.cordon, "demo"]).expect(1)
    assert "nothing can contain a run on this host" in done.err and "cordon doctor" in done.err, done.account()
    assert "/demo/" not in done.err and left(world) == [], done.account()


def test_the_bomb_cannot_end_the_process_that_waits_for_it(world):
    bomb = demo(world, "--json", "--act", "4").expect(0).json["scenarios"][1]
    *shell, marks = bomb["requested"]["argv"]
    assert bomb["title"] == "set off a fork bomb" and marks.endswith("/Downloads/bomb")
    # Three processes are what one generation needs: whatever it forks after that fails.
    went_off = 0
    for attempt in range(8):
        mark = world.project / f"bomb.{attempt}"
        world.run(*shell, mark, options=["--write", world.project, "--pids", "3",
                                         "--timeout", "500ms"]).expect(124)
        went_off += mark.exists() and mark.stat().st_size >= 1
    # A machine that stands still ends one or another before it has begun.
    assert went_off >= 4, f"it went off {went_off} times"


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
                                     ("--config-only", "--act", "2"), ("2",),
                                     ("--json", "--verbose")])
def test_bad_command_lines(world, options):
    done = demo(world, *options).expect(2)
    assert done.out == "" and left(world) == []


def test_pauses_at_a_terminal(world):
    terminal = Terminal(world, [world.cordon, "demo", "--act", "1", "--act", "2"])
    try:
        terminal.expect(b"Press Enter")
        assert b"runs nothing" in terminal.seen and b"Act 2" not in terminal.seen
        terminal.type(b"\r")
        assert terminal.wait() == 0, terminal.seen
        assert b"4/4 scenarios" in terminal.seen and b"\x1b[32m" in terminal.seen
        assert terminal.seen.count(b"Press Enter") == 1
    finally:
        terminal.close()


def test_pauses_before_each_act_at_length(world):
    terminal = Terminal(world, [world.cordon, "demo", "--verbose", "--act", "1", "--act", "2"])
    try:
        terminal.expect(b"Press Enter")
        assert b"Act 1" not in terminal.seen
        terminal.type(b"\r")
        terminal.expect(b"Act 1")
        terminal.expect(b"runs nothing")
        assert b"Act 2" not in terminal.seen
        terminal.type(b"\r")
        assert terminal.wait() == 0, terminal.seen
        assert b"4/4 scenarios" in terminal.seen and b"\x1b[32m" in terminal.seen
    finally:
        terminal.close()


def test_no_colour_with_no_color(world):
    terminal = Terminal(world, [world.cordon, "demo", "--no-pause", "--act", "2"],
                        env={"NO_COLOR": "1"})
    try:
        assert terminal.wait() == 0 and b"\x1b" not in terminal.seen
    finally:
        terminal.close()


def test_ctrl_c_at_a_pause_cleans_up(world):
    terminal = Terminal(world, [world.cordon, "demo"])
    try:
        terminal.expect(b"Press Enter")
        assert len(left(world)) == 1
        terminal.type(b"\x03")
        assert terminal.wait() == 128 + signal.SIGINT
    finally:
        terminal.close()
    assert left(world) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_the_middle_of_the_bomb_cleans_up(world, number):
    process = world.start([world.cordon, "demo", "--no-pause", "--act", "4"])
    assert harness.wait_until(lambda: bombs(world) and running(world))
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, (out, err)
    assert left(world) == [] and running(world) == []
    assert b"scenarios behaved" not in out


def test_what_a_killed_one_left_is_removed_by_the_next(world):
    process = world.start([world.cordon, "demo", "--no-pause", "--act", "4"])
    assert harness.wait_until(lambda: bombs(world) and running(world))
    process.kill()
    process.communicate(timeout=60)
    assert harness.wait_until(lambda: running(world) == [], harness.SOON)
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
        terminal.wait()
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
        out, err = process.communicate(timeout=120)
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
        process.wait(timeout=60)
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
    assert left(world) == [] and shares_no_more_than(shared)


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
