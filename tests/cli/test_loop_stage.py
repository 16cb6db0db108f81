"""`cordon loop --stage`: the project gets what the verify command accepted, and nothing else."""

import json

import pytest

from test_loop import HONEST, Loop, names, states
from test_stage import changes, picture, stages


@pytest.fixture
def loop(world):
    return Loop(world)


def stage_ends(events):
    return [event for event in events if event["event"] == "stage_ended"]


def test_accepted_attempts_are_applied(loop, world):
    done, events = loop.run(loop.agent(HONEST), "--stage")
    done.expect(0)
    assert states(events) == {"one": "done", "two": "done"}
    assert (world.project / "one").read_text() == "one\n"
    assert [(event["applied"], event["changes"]) for event in stage_ends(events)] == [(True, 1), (True, 1)]
    # The command of the message takes the last one back.
    changes(world, "restore", stage_ends(events)[1]["run"])
    assert not (world.project / "two").exists() and (world.project / "one").exists()


def test_a_failed_attempt_leaves_nothing_behind(loop, world):
    """The first attempt spoils everything it can; the second finds the project as it was."""
    world.write(world.project / "keep/file", "old\n")
    loop.plan.write_text("- [ ] a: T\n  verify: echo the-reason; test -s good\n")
    agent = loop.agent(
        "#!/bin/sh\nprompt=$(cat)\ncase $prompt in *'wrote at last'*)\n"
        "  case $prompt in *'project is as it was'*) ;; *) exit 1 ;; esac\n"
        "  test -e bad -o -e bad2 -o ! -e keep/file || echo x > good ;;\n"
        "*) echo x > bad; rm -r keep; echo spoiled > file.txt; mkdir .vscode; echo x > .vscode/tasks.json ;;\nesac\n")
    before = picture(world.project)
    done, events = loop.run(agent, "--stage")
    done.expect(0)
    assert [event["accepted"] for event in events if event["event"] == "verify_ended"] == [False, True]
    assert [event["applied"] for event in stage_ends(events)] == [False, True]
    after = picture(world.project)
    assert after.pop("good")[1] == b"x\n"
    assert after == before
    # What was discarded is discarded; of the applied one the stage is kept for a restore.
    assert changes(world, "list", "--json", stage_ends(events)[0]["run"]).json["changes"][0]["state"] == "discarded"


def test_the_verify_command_sees_the_attempt_and_its_traces_belong_to_it(loop, world):
    loop.plan.write_text("- [ ] a: T\n  verify: test -s made && cp made checked\n")
    done, events = loop.run(loop.agent("#!/bin/sh\ncat > /dev/null\necho x > made\n"), "--stage")
    done.expect(0)
    assert (world.project / "made").read_text() == (world.project / "checked").read_text() == "x\n"
    loop.plan.write_text("- [ ] b: T\n  attempts: 1\n  verify: echo y > trace; test -s other\n")
    done, events = loop.run(loop.agent("#!/bin/sh\ncat > /dev/null\necho x > other2\n"), "--stage", "--restart")
    done.expect(1)
    assert not (world.project / "trace").exists() and not (world.project / "other2").exists()


def test_an_agent_that_changes_nothing_is_judged_all_the_same(loop, world):
    loop.plan.write_text("- [ ] a: T\n  verify: test -s file.txt\n- [ ] b: U\n  verify: touch trace; false\n")
    done, events = loop.run(loop.agent("#!/bin/sh\ncat > /dev/null\n"), "--stage", "--attempts", "9")
    done.expect(1)
    # What passes without the agent is not its success.
    assert states(events) == {"a": "failed", "b": "failed"}
    assert "passes without them" in events[-1]["features"][0]["reason"]
    assert "no progress" in events[-1]["features"][1]["reason"]
    assert names(events).count("attempt_started") == 4
    assert not (world.project / "trace").exists()
    assert not [one for one in stages(world) if any((one / "0/upper").glob("*"))]


def test_attempts_that_fail_are_no_idle_ones(loop, world):
    loop.plan.write_text("- [ ] a: T\n  verify: false\n")
    done, events = loop.run(loop.agent("#!/bin/sh\ncat > /dev/null\ndate +%N > made\n"), "--stage", "--attempts", "4")
    done.expect(1)
    assert names(events).count("attempt_started") == 4
    assert not (world.project / "made").exists()


def test_protected_files_of_an_accepted_attempt_wait(loop, world):
    loop.plan.write_text("- [ ] a: T\n  verify: test -s made\n")
    done, events = loop.run(loop.agent("#!/bin/sh\ncat > /dev/null\necho x > made; mkdir .vscode; "
                                       "echo x > .vscode/tasks.json\n"), "--stage")
    done.expect(0)
    [end] = stage_ends(events)
    assert end["held"] == [str(world.project / ".vscode")]
    assert (world.project / "made").exists() and not (world.project / ".vscode").exists()
    changes(world, "apply", end["run"], ".vscode")
    assert (world.project / ".vscode/tasks.json").read_text() == "x\n"


def test_what_the_host_changed_meanwhile_is_not_overwritten(loop, world):
    loop.plan.write_text("- [ ] a: T\n  attempts: 1\n  verify: test -s made\n")
    # What the host makes meanwhile may not be seen in a stage: the agent waits for it in a directory that it reads.
    go = world.outside / "go"
    agent = loop.agent("#!/bin/sh\ncat > /dev/null\necho x > made; echo run >> file.txt; echo ready\n"
                       f"while [ ! -e {go} ]; do sleep 0.05; done\n")
    process = world.start([world.cordon, "loop", "--json", "--net", "none", "--stage", "--read", world.outside, "--",
                           agent])
    for line in process.stdout:
        if json.loads(line).get("text") == "ready":
            break
    world.write(world.project / "file.txt", "host\n")
    world.write(go, "")
    out, err = process.communicate(timeout=60)
    events = [json.loads(line) for line in out.splitlines()]
    assert process.returncode == 1, err
    assert (world.project / "file.txt").read_text() == "host\n"
    [end] = stage_ends(events)
    assert end["conflicts"] == [str(world.project / "file.txt")]
    assert "cordon changes list" in events[-1]["features"][0]["reason"]
    assert changes(world, "show", end["run"], "file.txt").out == "project file\nrun\n"


def test_a_policy_or_a_ceiling_stages_a_loop_and_a_review_is_refused(loop, world):
    grants = f'read = ["/"]\nwrite = ["{world.project}"]\n'
    ceiling = world.document(f'version = 1\n[fs]\n{grants}mode = "staged"\n', "ceiling.toml")
    loop.plan.write_text("- [ ] a: T\n  attempts: 1\n  verify: false\n")
    agent = loop.agent("#!/bin/sh\ncat > /dev/null\necho x > made\n")
    done, events = loop.run(agent, "--ceiling", ceiling)
    done.expect(1)
    assert not (world.project / "made").exists() and len(stage_ends(events)) == 1
    review = world.document(f'version = 1\n[fs]\n{grants}stage = "review"\n', "review.toml")
    done, events = loop.run(agent, "--ceiling", review, "--restart")
    done.expect(125)
    assert "cannot wait for a review" in events[-1]["error"]["message"]
    assert 'stage = "auto"' in events[-1]["error"]["hint"]
    assert "attempt_started" not in names(events)
    done, events = loop.run(agent, "--stage=review")
    done.expect(125)
    assert "write --stage alone" in done.err and events == []
    loop.run(agent, "--stage=auto", "--restart")[0].expect(1)
    assert not (world.project / "made").exists()
    # Without it, nothing is held apart.
    done, events = loop.run(agent, "--restart")
    done.expect(1)
    assert (world.project / "made").exists() and stage_ends(events) == []


def test_accepted_features_are_committed(loop, world):
    git = lambda *words: world.bare("git", "-c", "user.name=t", "-c", "user.email=t@t", *words)
    world.write(world.home / ".gitconfig", "[user]\n\tname = t\n\temail = t@example.com\n")
    git("init", "-q").expect(0)
    agent = loop.agent(HONEST)
    git("add", "-A").expect(0)
    git("commit", "-q", "-m", "start").expect(0)
    done, events = loop.run(agent, "--stage", "--commit")
    done.expect(0)
    assert [event["done"] for event in events if event["event"] == "committed"] == [True, True]
    log = git("log", "--format=%s").expect(0).out
    assert log.split("\n")[:2] == ["Make the second file", "Make the first file"]


def test_commits_of_an_accepted_attempt_arrive_and_of_a_refused_one_do_not(loop, world):
    def git(*words):
        return world.bare("git", "-c", "user.name=a", "-c", "user.email=a@example", *words).expect(0).out.strip()
    loop.plan.write_text("- [ ] a: T\n  verify: test -s good\n")
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "first")
    agent = loop.agent(
        "#!/bin/sh\ncase $(cat) in *'wrote at last'*) name=good ;; *) name=bad ;; esac\necho x > $name\n"
        "git add $name\ngit -c user.name=b -c user.email=b@example commit -q -m $name\n")
    done, events = loop.run(agent, "--stage")
    done.expect(0)
    assert [event["applied"] for event in stage_ends(events)] == [False, True]
    assert git("log", "--format=%s").splitlines() == ["good", "first"]
    assert git("ls-files", "good", "bad") == "good"
    assert git("diff", "HEAD", "--stat") == ""
