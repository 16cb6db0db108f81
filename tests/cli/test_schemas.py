"""Every answer of --json names its schema, and is as that schema says."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

pytestmark = pytest.mark.once

SHIPPED = Path(__file__).parents[2] / "schema"
NAMES = sorted(path.name.removesuffix(".schema.json") for path in SHIPPED.glob("*.schema.json"))


def schema(world, name):
    return world.cordon_verb("policy", "schema", name).expect(0).json


def holds(world, answer):
    """Its schema is the one that it names; what breaks the schema is refused by it."""
    name = re.fullmatch(r"cordon\.([a-z-]+)/1", answer["schema"])[1]
    text = schema(world, name)
    jsonschema.validate(answer, text)
    assert answer["schema"] in text["title"] or name == "report"
    without = {key: value for key, value in answer.items() if key != text["required"][-1]}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(without, text)
    return name


def test_each_shipped_schema_is_printed_and_is_one(world):
    assert len(NAMES) > 20
    for name in NAMES:
        text = schema(world, name)
        assert text == json.loads((SHIPPED / f"{name}.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(text)
    refused = world.cordon_verb("policy", "schema", "nothing").expect(2)
    assert all(name in refused.err for name in NAMES), refused.account()
    completion = world.cordon_verb("completion", "bash").expect(0).out
    assert all(name in completion for name in NAMES)


def test_answers_about_policies(world):
    broken = world.document('version = 1\n[fs]\nreda = ["/usr"]\n[limits]\npids = "x"\n', "broken.toml")
    whole = world.document('version = 1\nextends = "workspace"\n', "whole.toml")
    ceiling = world.document('version = 1\n[fs]\nread = ["@system"]\nwrite = ["@cwd"]\n', "ceiling.toml")
    answers = [
        world.cordon_verb("policy", "check", "--json", broken).expect(2),
        world.cordon_verb("policy", "check", "--json", whole).expect(0),
        world.cordon_verb("policy", "clamp", "--json", "--ceiling", ceiling).expect(0),
        world.cordon_verb("policy", "explain", "--json", "read", "/etc/shadow").expect(1),
        world.cordon_verb("policy", "explain", "--json", "write", ".").expect(0),
        world.cordon_verb("policy", "convert", "--json", "--from", "cordon", "--to", "mxc", "strict"),
        world.cordon_verb("policy", "convert", "--json", "--from", "cordon", "--to", "mxc", "--drop",
                          "fs.scratch,limits", "strict").expect(0),
        world.run("true", options=["--dry-run", "--json"]).expect(0)]
    assert [holds(world, done.json) for done in answers] == [
        "check", "check", "clamp", "explain", "explain", "convert", "convert", "plan"]


def test_answers_about_runs(world):
    assert holds(world, world.run("true", options=["--json"]).json) == "report"
    assert holds(world, world.run("sh", "-c", "exit 3", options=["--json", "--timeout", "5s"]).json) == "report"
    assert holds(world, world.cordon_verb("why", "--json").json) == "report"
    assert holds(world, world.cordon_verb("changes", "list", "--json").json) == "changes"
    asked = (["list"], ["show", "last"], ["stats"], ["verify"])
    found = [world.cordon_verb("audit", words[0], "--json", *words[1:]) for words in asked]
    assert [holds(world, done.json) for done in found] == ["audit-list", "audit-show", "audit-stats", "audit-verify"]
    pruned = world.cordon_verb("audit", "prune", "--json", "--keep-days", "365")
    assert holds(world, pruned.json) == "audit-prune"
    for line in world.cordon_verb("audit", "tail", "--json").out.splitlines()[:3]:
        jsonschema.validate(json.loads(line), schema(world, "audit"))


def test_answers_about_the_host_and_its_setting_up(world):
    assert holds(world, world.cordon_verb("doctor", "--json").json) == "doctor"
    assert holds(world, world.cordon_verb("doctor", "--kube", "--json").json) == "doctor-kube"
    assert holds(world, world.cordon_verb("setup", "--dry-run", "--json").json) == "setup"
    assert holds(world, world.cordon_verb("learn", "--json", "--", "cat", world.outside / "secret").json) == "learn"


def test_answers_about_sessions(world):
    started = world.cordon_verb("session", "start", "--json").expect(0).json
    try:
        assert holds(world, started) == "session"
        assert holds(world, world.cordon_verb("session", "show", "--json", "last").json) == "session"
        assert holds(world, world.cordon_verb("session", "list", "--json").json) == "sessions"
    finally:
        world.cordon_verb("session", "stop", started["id"])
    assert holds(world, world.cordon_verb("session", "list", "--json").expect(1).json) == "sessions"


def test_lines_of_a_loop(world):
    world.write(world.project / "PLAN.md", "- [ ] one: Do it\n  verify: test -e done\n")
    world.write(world.project / "agent", "#!/bin/sh\ntouch done\n", 0o755)
    done = world.cordon_verb("loop", "--json", "--", "./agent")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert lines, done.account()
    for line in lines:
        jsonschema.validate(line, schema(world, "loop"))


def test_the_demonstration(world):
    assert holds(world, world.cordon_verb("demo", "--json", timeout=90).json) == "demo"
