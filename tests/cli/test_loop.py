"""`cordon loop` with scripted agents: who decides, what survives, and when it stops."""

import functools
import json
import os
import re
import signal
import stat
import time

import pytest

from support.harness import SOON, processes_with, wait_until

pytestmark = pytest.mark.once

PLAN = """# Plan

- [ ] one: Make the first file
  Write it.
  verify: test -s one

- [ ] two: Make the second file
  verify: test -s two
"""
# Makes the file that its prompt's verify command wants.
HONEST = r'''#!/bin/sh
file=$(sed -n 's/^    test -s //p' | head -n 1)
echo "working on $file"
echo "$file" > "$file"
'''


# A time to sleep that nothing else on this machine has in its command line.
LONG = f"86400.{os.getpid()}"


class Loop:
    def __init__(self, world):
        self.world = world
        self.plan = world.write(world.project / "PLAN.md", PLAN)

    def agent(self, text, name="agent"):
        # A known agent is asked for its version before it works.
        version = 'test "$1" != --version || { echo 1.0; exit 0; }\n' if name == "claude" else ""
        return self.world.write(self.world.project / name, text.replace("#!/bin/sh\n", "#!/bin/sh\n" + version, 1), 0o755)

    def run(self, agent, *options, **how):
        done = self.world.execute([self.world.cordon, "loop", "--json", "--net", "none", *options,
                                   "--", agent], **how)
        return done, [json.loads(line) for line in done.out.splitlines()]


@pytest.fixture
def loop(world):
    return Loop(world)


def names(events):
    return [event["event"] for event in events]


def states(events):
    return {one["id"]: one["state"] for one in events[-1]["features"]}


def audit(world):
    done = world.execute([world.cordon, "audit", "list", "--json"])
    return done.expect(0).out


def test_an_agent_works_through_the_plan(loop, world):
    done, events = loop.run(loop.agent(HONEST))
    done.expect(0)
    assert states(events) == {"one": "done", "two": "done"}
    assert events[-1]["why"] == "complete"
    assert names(events)[:2] == ["probe_started", "loop_started"]
    held = events[1]["enforcement"]
    assert held["namespaces"] and held["landlock"] and held["seccomp"] and held["network"] == "none"
    assert {"schema": "cordon.loop/1", "event": "agent_said", "text": "working on one"} in events
    log = audit(world)
    for action in ("loop_probe", "loop_agent", "loop_verify"):
        assert action in log
    assert "Write it." not in log


def test_the_verify_command_decides_and_not_the_agent(loop, world):
    liar = loop.agent("#!/bin/sh\ncat > /dev/null\necho 'all done'\nexit 0\n")
    done, events = loop.run(liar, "--attempts", "2")
    done.expect(1)
    assert states(events) == {"one": "failed", "two": "failed"}
    assert names(events).count("attempt_started") == 4
    # And the other way round: an agent that fails after it did the work.
    failing = loop.agent(HONEST + "exit 9\n")
    done, events = loop.run(failing, "--restart")
    done.expect(0)
    assert states(events) == {"one": "done", "two": "done"}


def test_the_next_attempt_is_told_why_the_last_was_not_accepted(loop, world):
    loop.plan.write_text("- [ ] a: T\n  verify: echo the-reason; test -s second\n")
    agent = loop.agent("#!/bin/sh\nif grep -q the-reason\\$; then echo x > second; else echo x > first; fi\n")
    done, events = loop.run(agent)
    done.expect(0)
    verdicts = [event["accepted"] for event in events if event["event"] == "verify_ended"]
    assert verdicts == [False, True]


def test_attempts_that_change_nothing_end_a_feature(loop, world):
    idle = loop.agent("#!/bin/sh\ncat > /dev/null\n")
    done, events = loop.run(idle, "--attempts", "50")
    done.expect(1)
    assert names(events).count("attempt_started") == 4  # two of each feature
    assert "no progress" in events[-1]["features"][0]["reason"]


def test_an_agent_that_hangs_is_ended(loop, world):
    loop.plan.write_text("- [ ] a: T\n  timeout: 300ms\n  attempts: 1\n  verify: false\n")
    hanging = loop.agent(f"#!/bin/sh\nsetsid sleep {LONG} & sleep {LONG}\n")
    done, events = loop.run(hanging)
    done.expect(1)
    ended = next(event for event in events if event["event"] == "agent_ended")
    assert ended["timed_out"]
    assert wait_until(lambda: not processes_with(LONG), SOON)


def test_nothing_goes_on_once_containment_is_in_doubt(loop, world):
    """The first agent makes the next run impossible to contain as the policy asks."""
    state = world.home / ".local/state/cordon"
    agent = loop.agent(HONEST)
    # The audit log cannot be written any more while the first agent works: the second run is refused.
    loop.plan.write_text("- [ ] one: T\n  verify: test -s one\n- [ ] two: U\n  verify: test -s two\n")
    process = world.start([world.cordon, "loop", "--json", "--net", "none", "--", loop.agent(
        "#!/bin/sh\necho ready; while [ ! -e go ]; do sleep 0.05; done\n" + HONEST.split("\n", 1)[1],
        "slow")])
    assert wait_until(lambda: state.joinpath("audit").exists() and any(state.joinpath("audit").glob("*.jsonl")))
    day = next(state.joinpath("audit").glob("*.jsonl"))
    assert wait_until(lambda: day.read_text().count("loop_agent") >= 1)
    with open(day, "a") as log:
        log.write("{}\n")
    world.write(world.project / "go", "")
    out, err = process.communicate(timeout=60)
    events = [json.loads(line) for line in out.splitlines()]
    assert process.returncode == 125, err
    assert events[-1]["why"] == "uncontained" and events[-1]["error"]["kind"] == "audit"
    assert names(events).count("attempt_started") == 1, "a second agent was started"
    assert agent.exists() and not (world.project / "two").exists()


def test_without_containment_no_agent_is_started(loop, world):
    marker = world.project / "ran"
    agent = loop.agent(f"#!/bin/sh\ntouch {marker}\n")
    words = [world.cordon, "loop", "--json", "--net", "none", "--", agent]
    # A host that lets nobody make a namespace.
    closed = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'
    done = world.execute(["unshare", "-Ur", "/bin/sh", "-c", closed, "sh", *words])
    events = [json.loads(line) for line in done.out.splitlines()]
    done.expect(125)
    assert names(events) == ["probe_started", "loop_ended"] and not marker.exists()
    assert events[-1]["why"] == "uncontained" and events[-1]["error"]["hint"]
    # A policy under which not even that can be started, and one that cannot be held.
    narrow = world.document('version = 1\nextends = "workspace"\n[limits]\nfiles = 1\n')
    for more in (["--policy", narrow], ["--policy", "no-such-preset"]):
        done = world.execute([*words[:3], *more, *words[3:]])
        assert done.status == 125 and not marker.exists(), done.account()
        assert "attempt_started" not in done.out
    world.execute(words)
    assert marker.exists()


def test_a_ceiling_that_is_narrowed_holds_for_the_next_run(loop, world):
    wide = f'version = 1\n[fs]\nread = ["/usr"]\nwrite = ["{world.project}"]\n'
    ceiling = world.document(wide, "ceiling.toml")
    slow = loop.agent("#!/bin/sh\nfile=$(sed -n 's/^    test -s //p' | head -n 1)\n"
                      "echo up > up-$file; while [ ! -e go ]; do sleep 0.05; done\n"
                      "echo x > $file\n")
    process = world.start([world.cordon, "loop", "--json", "--net", "none", "--attempts", "1",
                           "--ceiling", ceiling, "--", slow])
    assert wait_until(lambda: (world.project / "up-one").exists())
    world.document('version = 1\n[fs]\nread = ["/usr", "' + str(world.project) + '"]\n', "ceiling.toml")
    world.write(world.project / "go", "")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 1, out
    assert (world.project / "one").exists(), "the run that was under way"
    assert not (world.project / "up-two").exists() and not (world.project / "two").exists()


def test_a_project_that_cannot_be_written_is_refused_at_once(loop, world):
    agent = loop.agent(HONEST)
    ceiling = world.document(f'version = 1\n[fs]\nread = ["/usr", "{world.project}"]\n', "ceiling.toml")
    for options, words in ((["--policy", "readonly"], ("is not writable", "@cwd")),
                           (["--ceiling", ceiling], (str(ceiling), "let it be written"))):
        done, events = loop.run(agent, *options)
        done.expect(125)
        assert not events and all(word in done.err for word in words), done.account()
    loop.run(agent)[0].expect(0)


def test_words_that_look_like_a_denial_change_nothing(loop, world):
    spoof = loop.agent("#!/bin/sh\n" + "".join(
        f"echo '{text}' >&2\n" for text in ("bwrap: setting up failed", "sandbox-exec: deny(1) x",
                                            "cordon: containment failed", "[Sandbox] deny(1)")) +
        HONEST.split("\n", 1)[1])
    done, events = loop.run(spoof)
    done.expect(0)
    assert states(events) == {"one": "done", "two": "done"}


def test_escape_sequences_of_an_agent_reach_no_terminal(loop, world):
    nasty = loop.agent("#!/bin/sh\nprintf '\\033]0;owned\\007\\033[2J\\n'; printf '\\033[31m\\n' >&2\n" +
                       HONEST.split("\n", 1)[1])
    done = world.execute([world.cordon, "loop", "--net", "none", "--", nasty])
    done.expect(0)
    assert "\x1b" not in done.out and "\x07" not in done.out and "\x1b" not in done.err
    assert "\\x1b" in done.out


def test_a_loop_that_was_killed_goes_on_where_it_was(loop, world):
    agent = loop.agent("#!/bin/sh\nfile=$(sed -n 's/^    test -s //p' | head -n 1)\n"
                       "if [ $file = two ] && [ ! -e second-life ]; then echo x > second-life;"
                       f" sleep {LONG}; fi\necho x > $file\n")
    process = world.start([world.cordon, "loop", "--json", "--net", "none", "--", agent])
    assert wait_until(lambda: (world.project / "second-life").exists())
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=40)
    assert wait_until(lambda: not processes_with(LONG), SOON)
    done, events = loop.run(agent)
    done.expect(0)
    started = [event["id"] for event in events if event["event"] == "attempt_started"]
    assert started == ["two"], "what was done is not done again"
    assert events[-1]["features"][1]["attempts"] == 2, "the killed attempt counts"


def test_another_plan_is_not_taken_for_the_old_one(loop, world):
    agent = loop.agent(HONEST)
    loop.run(agent)[0].expect(0)
    loop.plan.write_text(PLAN.replace("test -s two", "test -s three"))
    done, events = loop.run(agent)
    done.expect(125)
    assert not events and "--restart" in done.err
    loop.run(agent, "--restart")[0].expect(0)


def test_the_agent_changes_neither_plan_nor_prompt_nor_progress(loop, world):
    world.write(world.project / "prompts/one.md", "the words\n")
    loop.plan.write_text("- [ ] one: T\n  prompt: prompts/one.md\n  verify: test -s one\n")
    before = loop.plan.read_bytes()
    hostile = loop.agent("#!/bin/sh\ngrep -q 'the words' && echo x > one\n"
                         "for f in PLAN.md prompts/one.md; do echo '- [x] one: T' > $f; rm -f $f;"
                         " mv $f gone; done\nls -A ~/.local/state/cordon > seen 2>&1\n")
    done, events = loop.run(hostile)
    done.expect(0)
    assert loop.plan.read_bytes() == before
    assert (world.project / "prompts/one.md").read_text() == "the words\n"
    assert "loop" not in (world.project / "seen").read_text().split()
    # The control: the same agent without a sandbox.
    world.bare("/bin/sh", "-c", "echo 'the words' | ./agent").expect(0)
    assert loop.plan.exists() is False or loop.plan.read_bytes() != before


@pytest.mark.parametrize("written", ["/etc/passwd", "../secret", "~/x", "link"])
def test_a_prompt_outside_of_the_project_is_refused(loop, world, written):
    world.write(world.project.parent / "secret", "x")
    world.link(world.project / "link", "/etc/passwd")
    loop.plan.write_text(f"- [ ] one: T\n  prompt: {written}\n  verify: true\n")
    done, events = loop.run(loop.agent(HONEST))
    done.expect(125)
    assert not events


IDLE = "#!/bin/sh\ncat > /dev/null\n"


@pytest.mark.parametrize("stage", [[], ["--stage"]])
def test_a_verify_command_that_passes_already_is_no_success_of_the_agent(loop, world, stage):
    """An agent that is not logged in does nothing, and the tests pass as they did before."""
    loop.plan.write_text("- [ ] a: T\n  verify: true\n")
    done, events = loop.run(loop.agent(IDLE), *stage, "--attempts", "1")
    done.expect(1)
    [before] = [event for event in events if event["event"] == "baseline_ended"]
    assert before == {"schema": "cordon.loop/1", "event": "baseline_ended", "id": "a", "passed": True, "status": 0}
    [verdict] = [event for event in events if event["event"] == "verify_ended"]
    assert verdict["status"] == 0 and verdict["accepted"] is False
    assert verdict["refused"] == "passed before the agent began, and the agent changed nothing"
    assert states(events) == {"a": "failed"} and verdict["refused"] in events[-1]["features"][0]["reason"]
    # Nor is it one if the agent itself failed.
    done, events = loop.run(loop.agent(IDLE + "echo x > made; exit 7\n"), *stage, "--attempts", "1", "--restart")
    done.expect(1)
    assert "the agent ended with status 7" in events[-1]["features"][0]["reason"]
    # The control: one that worked; people are told what that is worth.
    done, events = loop.run(loop.agent(IDLE + "echo y > other\n"), *stage, "--restart")
    done.expect(0)
    assert states(events) == {"a": "done"} and (world.project / "other").exists()
    loop.plan.write_text("- [ ] b: T\n  verify: true\n")
    plain = world.execute([world.cordon, "loop", "--plain", "--net", "none", "--restart", "--", loop.agent(IDLE)])
    assert "verify passes already" in plain.out + plain.err


def test_the_run_before_the_first_attempt_leaves_nothing_in_a_stage(loop, world):
    loop.plan.write_text("- [ ] a: T\n  verify: echo x >> trace; test -s made\n")
    done, events = loop.run(loop.agent(IDLE + "test ! -e trace && echo y > made\n"), "--stage")
    done.expect(0)
    assert names(events).count("stage_ended") == 1
    assert (world.project / "trace").read_text() == "x\n"


def test_what_an_attempt_changed_is_told(loop, world):
    world.write(world.project / "old", "1\n")
    world.write(world.project / "dir/gone", "1\n")
    loop.plan.write_text("- [ ] a: T\n  attempts: 1\n  verify: false\n")
    work = "echo 2 >> old; rm -r dir; mkdir -p new/sub empty .vscode; echo x > new/sub/made; echo > .vscode/x.json\n"
    done, events = loop.run(loop.agent(IDLE + work))
    done.expect(1)
    [told] = [event for event in events if event["event"] == "files_changed"]
    assert told["files"] == ["deleted dir/gone", "added empty/", "added new/sub/made", "modified old"], told
    assert told["changes"] == 4 and names(events).index("files_changed") > names(events).index("agent_ended")
    plain = world.execute([world.cordon, "loop", "--plain", "--net", "none", "--restart", "--",
                           loop.agent(IDLE + 'for i in $(seq 30); do echo x > f$i; done\n')]).expect(1)
    assert "in the project: 30 changes\n" in plain.out and "  added f1\n" in plain.out, plain.account()
    assert "  and 10 more\n" in plain.out
    # The control: an agent that leaves everything as it is.
    _, events = loop.run(loop.agent(IDLE), "--restart")
    assert "files_changed" not in names(events)


def test_the_agent_is_told_where_it_is(loop, world):
    keep = IDLE.replace("/dev/null", "prompt")
    loop.plan.write_text("- [ ] a: T\n  verify: test -s prompt\n")
    loop.run(loop.agent(keep))[0].expect(0)
    prompt = (world.project / "prompt").read_text()
    assert "inside a sandbox" in prompt and "There is no network." in prompt and "may be there" in prompt
    ceiling = world.document(f"""version = 1
[fs]
write = ["{world.project}"]
[net]
mode = "allow"
allow = ["a.example:443", "x.c.example:443"]
""", "ceiling.toml")
    policy = world.document(f"""version = 1
extends = "agent"
[net]
mode = "allow"
allow = ["a.example:443", "b.example:443", "*.c.example:443"]
""", "policy.toml")
    world.execute([world.cordon, "loop", "--json", "--restart", "--policy", policy, "--ceiling", ceiling, "--",
                   loop.agent(keep)]).expect(0)
    prompt = (world.project / "prompt").read_text()
    # What the ceiling leaves, and nothing else that was asked for.
    [hosts] = re.findall(r"The network leads to these hosts alone: (.*?)\. A file", prompt)
    assert hosts == "a.example:443, x.c.example:443", prompt
    world.execute([world.cordon, "loop", "--json", "--restart", "--", loop.agent(keep)]).expect(0)
    assert "No host outside can be reached." in (world.project / "prompt").read_text()


def test_what_a_known_agent_will_miss_is_told_before_it_starts(loop, world):
    loop.agent(IDLE, name="claude")
    loop.plan.write_text("- [ ] a: T\n  attempts: 1\n  verify: false\n")

    def warnings(*options, **variables):
        done = world.execute([world.cordon, "loop", "--json", "--restart", *options, "--", "claude"],
                             env=world.environment({"PATH": f"{world.project}:/usr/bin:/bin", **variables}))
        [started] = [json.loads(line) for line in done.expect(1).out.splitlines() if "loop_started" in line]
        return "\n".join(started["warnings"])

    told = warnings("--net", "none")
    assert "has no key and no login inside: set ANTHROPIC_API_KEY" in told
    assert "claude cannot reach its model: there is no network by the options" in told
    # What it says helps.
    assert warnings(ANTHROPIC_API_KEY="x") == ""
    ceiling = world.write(world.home / ".config/cordon/ceiling.toml",
                          f'version = 1\n[fs]\nread = ["/"]\nwrite = ["{world.project}"]\n'
                          '[net]\nmode = "allow"\nallow = ["console.anthropic.com:443"]\n')
    told = warnings(ANTHROPIC_API_KEY="x")
    [line] = re.findall(r"from api.anthropic.com:443, the model: cordon (policy explain .*) says which", told)
    assert str(ceiling) in world.cordon_verb(*line.split()).expect(1).out
    ceiling.write_text(ceiling.read_text().replace("console.", "*."))
    assert warnings(ANTHROPIC_API_KEY="x") == ""


def test_a_signal_ends_agent_and_loop(loop, world):
    slow = loop.agent(f"#!/bin/sh\nsetsid sleep {LONG} & sleep {LONG}\n")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process = world.start([world.cordon, "loop", "--json", "--net", "none", "--", slow])
        assert wait_until(lambda: processes_with(LONG))
        os.kill(process.pid, number)
        out, err = process.communicate(timeout=40)
        assert process.returncode == 130, err
        assert json.loads(out.splitlines()[-1])["why"] == "stopped"
        assert wait_until(lambda: not processes_with(LONG), SOON)


def test_two_loops_of_one_project(loop, world):
    slow = loop.agent(f"#!/bin/sh\nsleep {LONG}\n")
    process = world.start([world.cordon, "loop", "--json", "--net", "none", "--", slow])
    assert wait_until(lambda: processes_with(LONG))
    done, events = loop.run(slow)
    done.expect(125)
    assert "another loop" in done.err and not events
    os.kill(process.pid, signal.SIGTERM)
    process.communicate(timeout=40)


def test_budgets(loop, world):
    counting = loop.agent("#!/bin/sh\ncat > /dev/null; date +%N > tick\n")
    done, events = loop.run(counting, "--total", "1ms", "--attempts", "100")
    done.expect(1)
    assert "time budget" in events[-1]["reason"]
    # As a known agent tells them; the name is what counts.
    claude = loop.agent("#!/bin/sh\ncat > /dev/null; date +%N > tick\n"
                        "echo '{\"type\":\"result\",\"is_error\":false,\"total_cost_usd\":1.5,"
                        "\"usage\":{\"input_tokens\":700,\"output_tokens\":1}}'\n", "claude")
    for option, word in ((("--tokens", "1000"), "token"), (("--cost", "2"), "cost")):
        done = world.execute([world.cordon, "loop", "--restart", "--json", "--net", "none",
                              "--attempts", "100", *option, "--read", claude, "--", "claude"],
                             env={"PATH": f"{world.project}:/usr/bin:/bin"})
        events = [json.loads(line) for line in done.out.splitlines()]
        done.expect(1)
        assert f"{word} budget" in events[-1]["reason"]
        assert names(events).count("attempt_started") == 2
        total = events[-1]["total"]
        assert (total["attempts"], total["tokens"], total["micro_dollars"]) == (2, 1402, 3_000_000)
        assert total["wall_ms"] == sum(one["wall_ms"] for one in events[-1]["features"])
    said = world.execute([world.cordon, "loop", "--restart", "--net", "none", "--attempts", "100", "--tokens", "1000",
                          "--read", claude, "--", "claude"], env={"PATH": f"{world.project}:/usr/bin:/bin"}).expect(1)
    assert "in all: 2 attempts, " in said.out and "1402 tokens, $3.00" in said.out


@pytest.mark.parametrize("script, said", [
    ("echo 'cannot load a library' >&2; exit 1", "cannot load a library"),
    ("kill -9 $$", ""), ("echo x > made; exit 3", "Read-only file system")])
def test_an_agent_that_does_not_answer_is_told_before_it_works(loop, world, script, said):
    agent = world.write(world.project / "claude", f"#!/bin/sh\n{script}\n", 0o755)
    loop.plan.write_text("- [ ] a: T\n  attempts: 1\n  verify: false\n")
    loop_claude = [world.cordon, "loop", "--restart", "--net", "none", "--read", agent, "--", "claude"]
    path = {"PATH": f"{world.project}:/usr/bin:/bin"}
    done = world.execute(loop_claude, env=path).expect(126)
    told = done.out + done.err
    assert "the agent claude does not answer inside" in told and said in told, told
    assert "cordon run --why --policy agent:claude -- claude --version" in told
    assert not (world.project / "made").exists()
    # The control: one that answers works, and its failure is another.
    world.write(agent, '#!/bin/sh\ntest "$1" = --version || echo x > made\n', 0o755)
    world.execute(loop_claude, env=path).expect(1)
    assert (world.project / "made").exists()


def test_an_agent_that_is_not_signed_in_is_told_before_it_works(loop, world):
    """It says so itself, asked without a network. A person's own words may name a key that it does not know of then."""
    loop.plan.write_text("- [ ] a: T\n  attempts: 1\n  verify: test -s made\n")
    path = {"PATH": f"{world.project}:/usr/bin:/bin"}

    def work(answer, *words, variables=None):
        agent = world.write(world.project / "claude", f"""#!/bin/sh
test "$1" != --version || exit 0
if test "$1" = auth; then
  echo x > asked
  getent hosts api.anthropic.com > /dev/null && exec echo '{{"loggedIn": true}}'  # it could have asked its model
  exec echo '{answer}'
fi
echo x > made
""", 0o755)
        return world.execute([world.cordon, "loop", "--restart", "--json", "--read", agent, "--", "claude", *words],
                             env={**path, **(variables or {})})
    done = work('{"loggedIn": false}').expect(126)
    [ended] = [json.loads(line) for line in done.out.splitlines() if "loop_ended" in line]
    assert ended["error"]["message"] == "claude is not signed in inside: claude auth status says so", ended
    assert "ANTHROPIC_API_KEY" in ended["error"]["hint"] and "-- claude" in ended["error"]["hint"]
    assert not (world.project / "made").exists() and not (world.project / "asked").exists()
    assert not [line for line in done.out.splitlines() if "attempt_started" in line]
    # Whoever says nothing, or that it is, works; so does one with a key, and one that may have a key by its own words.
    for more in (('{"loggedIn": true}',), ("no such command",), ('{"loggedIn": false}', "--settings", "mine.json")):
        work(*more).expect(0)
        (world.project / "made").unlink()
    work('{"loggedIn": false}', variables={"ANTHROPIC_API_KEY": "x"}).expect(0)


def test_a_missing_agent_is_told(loop, world):
    done, events = loop.run("no-such-agent")
    done.expect(127)
    assert events[-1]["error"]["kind"] == "command"
    assert "not installed" in events[-1]["error"]["hint"]
    assert "attempt_started" not in names(events)
    # One that is there, where the agent would not see it.
    hidden = world.write(world.home / "hidden/agent", "#!/bin/sh\n", 0o755)
    done, events = loop.run(hidden)
    done.expect(127)
    assert "--read" in events[-1]["error"]["hint"] and "attempt_started" not in names(events)


def test_a_commit_takes_what_the_feature_changed_and_nothing_else(loop, world):
    """What the person works on meanwhile, staged or not, stays theirs."""
    git = functools.partial(world.bare, "git", "-c", "user.name=a", "-c", "user.email=a@example")
    agent = loop.agent(HONEST + "rm -f gone scratch; echo more >> 'odd : [name]'\n")
    git("init", "-q").expect(0)
    for name in ("tracked", "staged", "gone", "odd : [name]"):
        world.write(world.project / name, "first\n")
    world.write(world.project / ".gitignore", "ignored\n")
    git("add", "-A").expect(0)
    git("config", "user.name", "a").expect(0)
    git("config", "user.email", "a@example").expect(0)
    git("commit", "-q", "-m", "start").expect(0)
    for name in ("tracked", "staged", "untracked", "scratch", "ignored"):
        world.write(world.project / name, "of the person\n")
    git("add", "staged").expect(0)
    before = git("status", "--porcelain").out
    done, events = loop.run(agent, "--commit")
    done.expect(0)
    assert [event["done"] for event in events if event["event"] == "committed"] == [True, True], events
    changed = git("diff", "--name-only", "-z", "HEAD~2", "HEAD").out.strip("\0").split("\0")
    assert sorted(changed) == sorted(["one", "two", "gone", "odd : [name]"])
    # Only what the agent itself removed, which was never git's, is not as before.
    assert git("status", "--porcelain").out == before.replace("?? scratch\n", "")


def test_commits_each_accepted_feature(loop, world):
    git = lambda *words: world.bare("git", "-c", "user.name=t", "-c", "user.email=t@t", *words)
    world.write(world.home / ".gitconfig", "[user]\n\tname = t\n\temail = t@example.com\n")
    git("init", "-q").expect(0)
    agent = loop.agent(HONEST)
    git("add", "-A").expect(0)
    git("commit", "-q", "-m", "start").expect(0)
    done, events = loop.run(agent, "--commit")
    done.expect(0)
    assert [event["done"] for event in events if event["event"] == "committed"] == [True, True]
    log = git("log", "--format=%s").expect(0).out
    assert log.split("\n")[:2] == ["Make the second file", "Make the first file"]


def test_progress_is_private(loop, world):
    loop.run(loop.agent(HONEST))[0].expect(0)
    files = list((world.home / ".local/state/cordon/loop").rglob("*"))
    assert files
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_skip_permission_flags_stand_in_one_place(world):
    from support.harness import ROOT
    for flag in ("--dangerously-skip-permissions", "--dangerously-bypass-approvals-and-sandbox",
                 "--yolo", "--skip-trust", "--allow-all-tools", "--allow-all-paths"):
        places = [path.name for path in (ROOT / "src").rglob("*.cc")
                  if flag in path.read_text() and not path.name.endswith("_test.cc")]
        assert places == ["agent.cc"], (flag, places)
