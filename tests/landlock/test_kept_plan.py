"""`cordon loop` where the plan can only be kept and put back."""

import json

import pytest

from cli.test_loop import HONEST, PLAN, states
from support.without_namespaces import CEILING, launcher


@pytest.fixture
def loop(world):
    config = world.home / ".config/cordon/ceiling.toml"
    world.write(config, CEILING.format(project=world.project, shared=world.shared), 0o600)
    config.parent.chmod(0o700)
    plan = world.write(world.project / "PLAN.md", PLAN)

    def run(script, *options):
        agent = world.write(world.project / "agent", script, 0o755)
        done = world.execute([*launcher(), world.cordon, "loop", "--json", "--net", "none", *options,
                              "--", agent], env={"CORDON_BACKEND": "landlock"}, timeout=120)
        return done, [json.loads(line) for line in done.out.splitlines()]

    run.plan = plan
    return run


def test_an_agent_works_through_the_plan(loop):
    done, events = loop(HONEST)
    done.expect(0)
    assert states(events) == {"one": "done", "two": "done"}, done.account()
    held = next(event["enforcement"] for event in events if "enforcement" in event)
    assert held["landlock"] and not held["namespaces"], held
    assert loop.plan.read_text().count("- [x]") in (0, 2)


def test_an_agent_cannot_rewrite_its_plan(loop):
    """What it writes is there while it runs, and neither its verification nor the next attempt sees it."""
    before = loop.plan.read_text()
    liar = "#!/bin/sh\ncat > /dev/null\nprintf -- '- [ ] one: T\\n  verify: true\\n' > PLAN.md\n"
    done, events = loop(liar, "--attempts", "1")
    done.expect(1)
    assert states(events) == {"one": "failed", "two": "failed"}, done.account()
    assert loop.plan.read_text() == before
