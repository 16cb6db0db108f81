"""`cordon policy`: show, check, clamp, explain, schema."""

import json
import pwd
from pathlib import Path

import jsonschema
import pytest

from support.harness import ROOT

pytestmark = pytest.mark.once

PRESETS = ("strict", "workspace", "readonly", "build", "agent")


@pytest.mark.parametrize("preset", PRESETS)
def test_show_is_read_back(world, preset):
    done = world.cordon_verb("policy", "show", preset)
    done.expect(0)
    path = world.document(done.out)
    world.cordon_verb("policy", "check", path).expect(0)
    again = world.cordon_verb("policy", "show", path)
    again.expect(0)
    assert again.out == done.out


@pytest.mark.parametrize("preset", PRESETS)
def test_show_as_json_fits_the_schema(world, preset):
    done = world.cordon_verb("policy", "show", "--json", preset)
    done.expect(0)
    schema = json.loads((ROOT / "schema/policy.schema.json").read_text())
    jsonschema.validate(done.json, schema)


def test_shipped_schemas_are_the_compiled_ones(world):
    for word in ("policy", "report", "audit"):
        done = world.cordon_verb("policy", "schema", word)
        done.expect(0)
        assert done.json == json.loads((ROOT / f"schema/{word}.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(done.json)


def test_check_says_yes_no_and_where(world):
    good = world.document('version = 1\nextends = "workspace"\n', "good.toml")
    world.cordon_verb("policy", "check", good).expect(0)
    bad = world.document('version = 1\n\n[fs]\nraed = ["/usr"]\n', "bad.toml")
    done = world.cordon_verb("policy", "check", bad)
    done.expect(2)
    assert "bad.toml:4:1" in done.err + done.out and "read" in done.err + done.out, done.account()
    world.cordon_verb("policy", "check", world.trusted / "absent.toml").expect(2)


@pytest.mark.parametrize("name", ["policy.toml", "ceiling.toml"])
@pytest.mark.parametrize("key, path", [("write", "/etc"), ("write", "/usr"), ("write", "/proc"),
                                       ("write", "/sys/kernel"), ("write", "/dev"),
                                       ("write", "~/.config/cordon"), ("read", "/proc/self")])
def test_check_names_the_paths_that_no_run_is_given(world, name, key, path):
    """The run itself refuses such a policy; what is left without the path is valid and runs."""
    world.make_directory(world.home / ".config/cordon")
    text = f'version = 1\n[fs]\n{key} = [\n  "{world.project}",\n  "{path}",\n]\n'
    document = world.document(text, name)
    done = world.cordon_verb("policy", "check", document).expect(2)
    assert f"{name}:5:3: " in done.err and path in done.err and "\nhint: " in done.err, done.account()
    told = world.cordon_verb("policy", "check", "--json", document).expect(2).json
    assert told["valid"] is False and [error["place"]["line"] for error in told["errors"]] == [5]
    cured = world.document(text.replace(f'  "{path}",\n', ""), name)
    world.cordon_verb("policy", "check", cured).expect(0)
    if name == "policy.toml":
        world.run("true", options=["--policy", cured]).expect(0)
        refused = world.run("true", options=["--policy", world.document(text, name)]).expect(125)
        assert path in refused.err, refused.account()


def test_check_lets_a_ceiling_name_a_home_and_what_is_not_there(world):
    """They bound what lies below: a run is given a project in a home, and never the home."""
    text = 'version = 1\n[fs]\nread = ["/"]\nwrite = ["~", "/home", "/run", "/nonexistent"]\n'
    ceiling = world.document(text, "ceiling.toml")
    world.cordon_verb("policy", "check", ceiling).expect(0)
    policy = world.document('version = 1\nextends = "readonly"\n[fs]\nwrite = ["~"]\n')
    done = world.cordon_verb("policy", "check", policy).expect(2)
    assert "a whole home" in done.err and "policy.toml:4:10: " in done.err, done.account()


def test_clamp_shows_what_is_left_and_why(world):
    ceiling = world.document('version = 1\n[fs]\nread = ["/usr"]\n'
                             f'write = ["{world.project}"]\n[limits]\nwall = "10s"\n',
                             "ceiling.toml")
    policy = world.document('version = 1\n[fs]\nread = ["/usr"]\n'
                            f'write = ["{world.project}/sub", "{world.outside}"]\n'
                            '[limits]\nwall = "60s"\n')
    world.make_directory(world.project / "sub")
    done = world.cordon_verb("policy", "clamp", "--json", "--policy", policy, "--ceiling", ceiling)
    done.expect(0)
    text = done.out
    assert f"{world.project}/sub" in text and "outside-ceiling" in text, done.account()
    plain = world.cordon_verb("policy", "clamp", "--policy", policy, "--ceiling", ceiling)
    plain.expect(0)
    assert str(world.outside) in plain.out + plain.err


CASES = [
    ("read", "{project}/file.txt", [], 0),
    ("write", "{project}/file.txt", [], 0),
    ("write", "{project}/not/there/yet", [], 0),
    ("write", "{project}/.git/hooks/pre-commit", [], 1),
    ("write", "{project}/.vscode/tasks.json", [], 1),
    ("write", "{project}/file.txt", ["--policy", "readonly"], 1),
    ("read", "{project}/file.txt", ["--policy", "strict"], 1),
    ("read", "{outside}/secret", [], 1),
    ("read", "{outside}/secret", ["--read", "{outside}"], 0),
    ("write", "{outside}/secret", ["--read", "{outside}"], 1),
    ("read", "{home}/.ssh/id_ed25519", ["--read", "{home}"], 1),
    ("exec", "/usr/bin/env", [], 0),
    ("write", "/usr/bin/env", [], 1),
    ("read", "/etc/shadow", [], 1),
    *[("read", path, [], 0) for path in ("/etc/passwd", "/etc/hosts", "/etc/hostname", "/etc/group",
                                         "/etc/nsswitch.conf", "/etc/resolv.conf", "/dev/null",
                                         "/proc/self/mem", "/proc/cpuinfo")],
    *[("list", path, [], 0) for path in ("/", "/run", "/etc", "/dev", "/var")],
    ("list", "/run/lock", [], 1),
    ("list", "/run/lock", ["--read", "/"], 1),
    ("list", "/sys", ["--read", "/"], 0),
    ("list", "/sys/kernel", ["--read", "/"], 1),
    ("read", "/sys/devices/system/cpu/online", [], 0),
    ("write", "/sys/devices/system/cpu/online", [], 1),
    ("read", "/etc/fstab", ["--read", "/"], 1),
    ("read", "/etc/fstab", ["--read", "/etc"], 0),
    ("read", "/proc/kcore", [], 1),
    ("read", "/proc/1/environ", [], 1),
    ("write", "/etc/passwd", [], 1),
    ("write", "/proc/self/comm", [], 1),
    ("write", "/var", [], 1),
    ("exec", "/etc/profile", [], 1),
    ("connect", "example.org:443", [], 1),
    ("connect", "example.org:443", ["--net", "open"], 0),
    ("connect", "example.org:443", ["--allow", "example.org:443"], 0),
    ("connect", "evilexample.org:443", ["--allow", "example.org:443"], 1),
    ("connect", "example.org:80", ["--allow", "example.org:443"], 1),
]


@pytest.mark.parametrize("what,target,options,status", CASES,
                         ids=[f"{c[0]}-{c[1]}-{'-'.join(c[2])}" for c in CASES])
def test_explain(world, what, target, options, status):
    world.plant({".ssh/id_ed25519": "SECRET\n"})
    names = {"project": world.project, "outside": world.outside, "home": world.home}
    words = [word.format(**names) for word in options]
    asked = "read" if what == "list" else what
    done = world.cordon_verb("policy", "explain", *words, asked, target.format(**names))
    done.expect(status)
    assert done.out.strip(), done.account()
    attempt = {"read": "open-read", "write": "append", "list": "list"}.get(what)
    if attempt and target not in ("/etc/shadow", "/var"):
        verdict = world.run(world.probe, attempt, target.format(**names),
                            options=[*words, "--read", world.probe])
        if "not/there" not in target and ".git/" not in target and ".vscode" not in target:
            assert (verdict.status == 0) == (status == 0), (
                f"explain and the kernel disagree\n{done.account()}\n{verdict.account()}")


def test_explain_names_what_was_asked_for(world):
    done = world.cordon_verb("policy", "explain", "read", "/proc/self/mem")
    done.expect(0)
    assert "yes: read /proc/self/mem" in done.out, done.account()


@pytest.mark.only("user")
@pytest.mark.parametrize("options", [[], ["--read", pwd.getpwuid(0).pw_dir], ["--read", "/"]])
def test_what_the_caller_may_not_reach_is_a_no(world, options):
    key = Path(pwd.getpwuid(0).pw_dir, ".ssh/id")
    done = world.cordon_verb("policy", "explain", *options, "read", key)
    done.expect(1)
    assert done.out.startswith(f"no: read {key}"), done.account()


@pytest.mark.parametrize("words,status", [(["run", "--", "true"], 125),
                                          (["policy", "clamp"], 2),
                                          (["policy", "explain", "read", "/usr"], 2)],
                         ids=lambda value: str(value))
def test_an_empty_name_of_a_ceiling_is_no_ceiling(world, words, status):
    done = world.cordon_verb(*words, env={"CORDON_CEILING": ""})
    done.expect(status)
    assert "CORDON_CEILING is set but empty" in done.err, done.account()
    world.cordon_verb(*words).expect(0)


@pytest.mark.parametrize("name,said", [("", "the name of a policy is empty"),
                                       ("..", "not a regular file"),
                                       (".", "not a regular file")])
def test_what_is_no_name_of_a_policy(world, name, said):
    done = world.run("true", options=["--policy", name])
    done.expect(125)
    assert said in done.err and ".toml" not in done.err.replace("./policy.toml", ""), done.account()


def test_explain_json(world):
    done = world.cordon_verb("policy", "explain", "--json", "read", world.outside / "secret")
    done.expect(1)
    assert done.json["allowed"] is False, done.account()


def test_bad_questions(world):
    for words in (["explain"], ["explain", "eat", "x"], ["explain", "connect", "nonsense:::"],
                  ["nothing"], ["show", "absent-preset"]):
        done = world.cordon_verb("policy", *words)
        assert done.status == 2, done.account()
        assert len(done.err.splitlines()) <= 2, done.account()
