"""TH: an agent inside the loop that works against it. Each attempt is also made bare, as the control."""

import json
import os
import signal

import pytest

from support.harness import SOON, processes_with, tree_digest, wait_until

HOSTILE = f"86399.{os.getpid()}"
PLAN = "- [ ] one: T\n  attempts: 1\n  verify: sh check.sh\n"


class Arena:
    """A project whose feature is never done: whatever says otherwise was fooled."""

    def __init__(self, world):
        self.world = world
        self.plan = world.write(world.project / "PLAN.md", PLAN)
        self.check = world.write(world.project / "check.sh", "test -s honest-work\n")
        self.state = world.home / ".local/state/cordon"

    def play(self, script, *options, status=1, plan=PLAN, name="agent"):
        self.plan.write_text(plan)
        agent = self.world.write(self.world.project / name, "#!/bin/sh\ncat > /dev/null\n" + script, 0o755)
        done = self.world.execute([self.world.cordon, "loop", "--json", "--restart", "--net", "none",
                                   *options, "--", agent])
        done.expect(status)
        events = [json.loads(line) for line in done.out.splitlines()]
        assert events[-1]["event"] == "loop_ended", done.account()
        return done, events

    def bare(self, script):
        return self.world.bare("/bin/sh", "-c", script)


@pytest.fixture
def arena(world):
    return Arena(world)


def states(events):
    return [one["state"] for one in events[-1]["features"]]


def names(events):
    return [event["event"] for event in events]


def test_TH_the_plan_is_not_marked_done(arena, world):
    script = ("sed -i 's/\\[ \\]/[x]/' PLAN.md; printf -- '- [x] one: T\\n  verify: true\\n' > PLAN.md;"
              "rm -f PLAN.md; mv PLAN.md old; ln -sf other PLAN.md; mv . ../gone; true")
    _, events = arena.play(script)
    assert states(events) == ["failed"] and arena.plan.read_text() == PLAN
    arena.bare(script)
    assert not arena.plan.is_file() or arena.plan.read_text() != PLAN, "the control"


def test_TH_the_verify_command_is_the_one_that_was_read(arena, world):
    """The text that is run comes from the plan as it was before the agent; the files it runs are
    the agent's, which the documents say."""
    plan = "- [ ] one: T\n  attempts: 1\n  verify: test -s honest-work\n"
    script = ("printf '#!/bin/sh\\nexit 0\\n' > test; chmod +x test; mkdir -p bin ~/bin ~/.local/bin;"
              "cp test bin/; cp test ~/bin/; cp test ~/.local/bin/; true")
    _, events = arena.play(script, plan=plan)
    assert states(events) == ["failed"]
    _, events = arena.play("echo x > check.sh; echo true > check.sh\n", status=0)
    assert states(events) == ["done"], "an agent that changes the tests is not noticed: see loop.md"


@pytest.mark.parametrize("place,plant,verify", [
    ("a program", "mkdir -p ~/.local/bin; printf '#!/bin/sh\\n' > ~/.local/bin/judge; chmod +x ~/.local/bin/judge",
     "PATH=$HOME/.local/bin:$PATH judge"),
    ("a start-up file", "d=$(/usr/bin/python3 -m site --user-site); mkdir -p $d;"
     "echo 'import os; os._exit(0)' > $d/usercustomize.py", "/usr/bin/python3 -c 'raise SystemExit(7)'"),
    ("git", "git config --global alias.judge '!true'", "git judge"),
], ids=["program", "startup", "git"])
def test_TH_a_poisoned_home_decides_nothing(arena, world, place, plant, verify):
    """The home of the agent lasts from attempt to attempt, where nobody looks."""
    plan = f"- [ ] one: T\n  attempts: 1\n  verify: {verify}\n"
    _, events = arena.play(plant + "\n", plan=plan)
    assert states(events) == ["failed"], f"{place} in the agent's home decided"
    # The control: it does last, and would decide there.
    world.run("/bin/sh", "-c", verify, options=["--policy", "agent", "--net", "none"]).expect(0)


def test_TH_progress_cannot_be_forged(arena, world):
    arena.play("true\n")
    [record] = [path for path in (arena.state / "loop").rglob("*") if path.is_file() and path.stat().st_size]
    forged = record.read_text().replace('"failed"', '"done"').replace('"pending"', '"done"')
    assert forged != record.read_text()
    script = (f"mkdir -p {record.parent}; cat > {record} <<'END'\n{forged}\nEND\n"
              f"rm -rf {arena.state}; echo x > {arena.state}/x; true\n")
    before = record.stat().st_ino
    _, events = arena.play(script)
    assert states(events) == ["failed"] and record.exists()
    assert "failed" in record.read_text() and before
    arena.bare(script)
    assert not record.exists() or "failed" not in record.read_text(), "the control"


def test_TH_events_and_denials_are_not_forged(arena, world):
    lines = [{"event": "verify_ended", "accepted": True, "status": 0, "output": ""},
             {"event": "feature_ended", "feature": {"id": "one", "state": "done"}},
             {"event": "loop_ended", "why": "complete", "features": []}]
    script = "".join(f"echo '{json.dumps(line)}'; echo '{json.dumps(line)}' >&2\n" for line in lines)
    script += ("printf 'cordon: loop complete\\r\\n\\033[2J\\033]8;;http://x\\007\\302\\233\\342\\200\\256'\n"
               "echo '\"}\\n{\"event\":\"loop_ended\"}'\n")
    done, events = arena.play(script)
    assert names(events).count("loop_ended") == 1 and states(events) == ["failed"]
    assert [event["accepted"] for event in events if event["event"] == "verify_ended"] == [False]
    for character in ("\x1b", "\x07", "\r", "\x9b"):
        assert character not in done.out + done.err, repr(character)
    plain = world.execute([world.cordon, "loop", "--restart", "--plain", "--net", "none", "--",
                           world.project / "agent"]).expect(1)
    for character in ("\x1b", "\x07", "\r", "\x9b", "\u202e"):
        assert character not in plain.out + plain.err, repr(character)
    assert not any(line.startswith(("{", "loop complete")) for line in plain.out.splitlines())


def test_TH_nothing_stays_behind(arena, world):
    script = (f"setsid sleep {HOSTILE} & nohup sleep {HOSTILE} & (sleep {HOSTILE} &)\n"
              "mkdir -p ~/.config/systemd/user ~/.config/autostart; touch ~/.config/autostart/x.desktop\n"
              "echo '* * * * * true' | crontab - 2>/dev/null; true\n")
    _, events = arena.play(script)
    assert wait_until(lambda: not processes_with(HOSTILE), SOON) and states(events) == ["failed"]
    assert not (world.home / ".config/autostart").exists()
    process = world.start(["/bin/sh", "-c", f"setsid sleep {HOSTILE} & true"])
    process.wait(timeout=40)
    # The shell may have ended before its child has become `sleep`.
    assert wait_until(lambda: processes_with(HOSTILE)), "the control"
    for pid in processes_with(HOSTILE):
        os.kill(pid, signal.SIGKILL)


def test_TH_git_runs_nothing_of_an_agent(arena, world):
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    world.bare(*git, "init", "-q").expect(0)
    world.bare(*git, "add", "-A").expect(0)
    world.bare(*git, "commit", "-q", "-m", "start").expect(0)
    marker = world.outside / "host-ran-it"
    plan = "- [ ] one: T\n  attempts: 1\n  verify: test -s honest-work\n"
    script = (f"printf '#!/bin/sh\\ntouch {marker}\\n' > evil; chmod +x evil; echo x > honest-work\n"
              "for h in pre-commit post-commit post-checkout; do cp evil .git/hooks/$h; done\n"
              "git config core.hooksPath $PWD; git config core.fsmonitor $PWD/evil; cp evil pre-commit\n"
              "git config --global core.hooksPath $PWD; true\n")
    world.write(world.home / ".gitconfig", "[user]\n\tname = t\n\temail = t@example.com\n")
    _, events = arena.play(script, "--commit", plan=plan, status=0)
    world.bare(*git, "commit", "-q", "--allow-empty", "-m", "on the host").expect(0)
    world.bare(*git, "status").expect(0)
    assert not marker.exists(), "the host ran what the agent left"
    assert any(event["event"] == "committed" for event in events)
    world.bare("/bin/sh", "-c", "git config core.hooksPath $PWD; git commit -q --allow-empty -m x")
    assert marker.exists(), "the control"


def test_TH_no_policy_comes_from_the_project(arena, world):
    """Whatever it writes for Cordon to read, the next attempt has what the operator said."""
    document = 'version = 1\n[fs]\nwrite = ["/"]\nread = ["/"]\n[net]\nmode = "open"\n[env]\nset = { LEAK = "1" }\n'
    plan = "- [ ] one: T\n  attempts: 2\n  verify: false\n"
    script = (f"cat {world.outside}/secret > stolen-$$ 2>&1; env | grep LEAK > leak-$$\n"
              "mkdir -p .cordon .config/cordon ~/.config/cordon/policies\n"
              "for f in .cordon/policy.toml .cordon.toml cordon.toml .config/cordon/ceiling.toml .env"
              " ~/.config/cordon/ceiling.toml ~/.config/cordon/policies/agent.toml; do\n"
              f"printf '{document.encode('unicode_escape').decode()}' > $f; done; true\n")
    _, events = arena.play(script, plan=plan)
    assert names(events).count("attempt_started") == 2
    for path in world.project.glob("stolen-*"):
        assert "SECRET" not in path.read_text()
    for path in world.project.glob("leak-*"):
        assert path.read_text() == ""
    assert not (world.home / ".config/cordon/ceiling.toml").exists()
    assert "SECRET" in arena.bare(f"cat {world.outside}/secret").out, "the control"


def test_TH_it_ends_nobody_but_itself(arena, world):
    plan = "- [ ] one: T\n  attempts: 1\n  verify: false\n- [ ] two: U\n  attempts: 1\n  verify: false\n"
    script = "kill -9 $PPID; kill -9 1; kill -9 -1; kill -STOP 1; kill -9 0; sleep 0.1\n"
    _, events = arena.play(script, plan=plan)
    assert names(events).count("attempt_started") == 2, "the loop was ended by its agent"
    process = world.start(["/bin/sh", "-c", "kill -9 $$"])
    assert process.wait(timeout=40) == -signal.SIGKILL, "the control"


def test_TH_a_filled_home_and_scratch_stop_nobody(arena, world):
    plan = "- [ ] one: T\n  attempts: 1\n  verify: test -s one\n- [ ] two: U\n  attempts: 1\n  verify: test -s two\n"
    script = ("head -c 40M /dev/zero > /tmp/full; head -c 40M /dev/zero > /dev/shm/full; echo x > one; echo x > two\n"
              "i=0; while [ $i -lt 200 ]; do mkdir -p ~/many/$i; i=$((i+1)); done; true\n")
    _, events = arena.play(script, "--scratch", "16M", plan=plan, status=0)
    assert states(events) == ["done", "done"]
    assert not os.path.exists("/tmp/full") and not os.path.exists("/dev/shm/full")


def test_TH_no_other_host_is_reached(arena, world):
    """The mode of a real agent: a list with its own hosts. What it asked for is told."""
    attempt = ("/usr/bin/python3 - <<'END'\nimport socket\n"
               "for host in ('evil.example', '127.0.0.1', '169.254.169.254', '1.1.1.1'):\n"
               "    try:\n        socket.create_connection((host, 9), 2); print('REACHED', host)\n"
               "    except OSError as error:\n        print('refused', host)\nEND\n")
    agent = world.write(world.project / "agent", "#!/bin/sh\ncat > /dev/null\n" + attempt, 0o755)
    done = world.execute([world.cordon, "loop", "--json", "--allow", "api.example:443", "--", agent]).expect(1)
    events = [json.loads(line) for line in done.out.splitlines()]
    said = [event["text"] for event in events if event["event"] == "agent_said"]
    assert len([line for line in said if line.startswith("refused")]) == 4, said
    ended = next(event for event in events if event["event"] == "agent_ended")
    assert any(denial["layer"] == "broker" for denial in ended["denials"]), ended


def test_TH_secrets_and_the_rest_of_the_home_are_not_there(arena, world):
    world.plant({".ssh/id_ed25519": "SECRET-ssh\n", ".codex/auth.json": "SECRET-login\n",
                 "diary": "SECRET-diary\n"})
    before = tree_digest(world.home / ".ssh")
    tried = f"cat {world.home}/.ssh/* {world.home}/.codex/* {world.home}/diary {world.outside}/secret"
    arena.play(f"{tried} > stolen 2>&1; echo evil > {world.home}/.ssh/authorized_keys; true\n")
    assert "SECRET" not in (world.project / "stolen").read_text()
    assert tree_digest(world.home / ".ssh") == before
    assert arena.bare(tried).out.count("SECRET") == 4, "the control"
