"""A ceiling that takes the project away refuses before anything runs, and so does an option that
cannot be granted; what a document asks for is reduced. Every cure that is printed is applied."""

import json
import shlex

import pytest

from support.cures import apply_cure, hint_of

pytestmark = pytest.mark.once

TOUCH = ("/bin/sh", "-c", "pwd; echo ran > ran || echo ran > /dev/null")


def ceiling(world, text, name="ceiling.toml"):
    """The person's own ceiling, where every face finds it."""
    place = world.make_directory(world.home / ".config/cordon")
    place.chmod(0o700)
    return world.write(place / name, text, 0o600)


def elsewhere(world):
    return f'version = 1\n[fs]\nread = ["@system"]\nwrite = ["{world.outside}"]\n'


def refused(world, done, *words):
    done.expect(125)
    assert done.out == "" and not (world.project / "ran").exists(), done.account()
    for word in words:
        assert str(word) in done.err, done.account()
    return hint_of(done.err)


def records(world):
    place = world.home / ".local/state/cordon/audit"
    return [json.loads(line) for file in sorted(place.glob("*.jsonl"))
            for line in file.read_text().splitlines()]


def test_the_project_is_taken_away(world):
    file = ceiling(world, elsewhere(world))
    hint = refused(world, world.run(*TOUCH), file, world.project, "workspace asks to write",
                   "outside what is granted")
    assert hint == f'below [fs] in {file}: write = ["{world.outside}", "{world.project}"]'
    last = records(world)[-1]
    assert (last["outcome"], last["reason"]) == ("failure", "refused"), last
    done = world.run(*TOUCH, options=["--json"]).expect(125)
    assert done.json["error"]["kind"] == "policy" and done.json["exit_code"] is None
    assert str(file) in done.json["error"]["message"] and done.json["error"]["hint"] == hint
    assert not (world.project / "ran").exists()
    apply_cure(hint)
    done = world.run(*TOUCH).expect(0)
    assert done.out == f"{world.project}\n" and (world.project / "ran").exists()


def test_of_a_long_list_of_hosts_only_what_is_to_be_added_is_told(world):
    """A company's list of hosts was printed whole, once for each option."""
    hosts = ",\n  ".join(f'"h{i}.example:443"' for i in range(2000))
    file = ceiling(world, f'version = 1\n[fs]\nread = ["@system"]\nwrite = ["{world.project}"]\n'
                          f'[net]\nmode = "allow"\nallow = [{hosts}]\n')
    asked = [word for i in range(300) for word in ("--allow", f"other{i}.example:443")]
    done = world.run("true", options=asked)
    hint = refused(world, done, file, "other0.example:443", "and 280 more options cannot be granted")
    assert hint == f'leave the option out, or add "other0.example:443" to allow below [net] in {file}'
    assert len(done.err) < 10_000
    apply_cure(hint)
    assert world.run("true", options=[*asked[:2], "--dry-run"]).expect(0).err.count("other0") == 0


def test_every_face_of_a_question_says_the_same(world):
    file = ceiling(world, elsewhere(world))
    said = world.run("true").expect(125).err
    assert str(file) in said
    dry = world.run("true", options=["--dry-run"])
    assert dry.expect(125).err == said and dry.out == ""
    for verb in (["clamp"], ["explain", "read", "file.txt"], ["explain", "connect", "a.example:443"]):
        asked = world.cordon_verb("policy", *verb)
        assert asked.status == 2 and asked.err == said and asked.out == "", asked.account()


@pytest.mark.parametrize("form", ["option", "CORDON_CEILING", "json", "environment"])
def test_every_form_of_a_ceiling_is_named_with_its_cure(world, form):
    env, options = {}, []
    if form == "environment":
        env = {"CORDON_SANDBOX_READWRITE_PATHS": str(world.outside)}
        named = "CORDON_SANDBOX_"
    else:
        text = elsewhere(world)
        if form == "json":
            text = json.dumps({"version": 1, "fs": {"read": ["@system"], "write": [str(world.outside)]}})
        named = world.document(text, "bound.json" if form == "json" else "bound.toml")
        if form == "CORDON_CEILING":
            env = {"CORDON_CEILING": str(named)}
        else:
            options = ["--ceiling", named]
    hint = refused(world, world.run(*TOUCH, options=options, env=env), named)
    env |= apply_cure(hint)
    assert world.run(*TOUCH, options=options, env=env).expect(0).out == f"{world.project}\n"


def test_each_of_several_ceilings_is_named(world):
    one = ceiling(world, elsewhere(world))
    two = world.document(elsewhere(world), "two.toml")
    covers = world.document('version = 1\n[fs]\nwrite = ["@cwd"]\n', "covers.toml")
    options = ["--ceiling", two, "--ceiling", covers]
    done = world.run(*TOUCH, options=options)
    hint = refused(world, done, one, two)
    assert str(covers) not in done.err
    apply_cure(hint)
    world.run(*TOUCH, options=options).expect(0)


def test_a_part_that_is_left_is_a_reduction(world):
    for bound in (f'read = ["{world.project}"]', f'write = ["{world.project}/sub"]'):
        world.make_directory(world.project / "sub")
        ceiling(world, f"version = 1\n[fs]\n{bound}\n")
        done, report = world.report("pwd")
        assert done.expect(0).out == f"{world.project}\n"
        assert any(r["what"] == "write" for r in report["reductions"])


def test_strict_starts_in_the_root_and_says_so(world):
    ceiling(world, elsewhere(world))
    done, report = world.report("pwd", options=["--policy", "strict"])
    assert done.expect(0).out == "/\n"
    assert {"what": "cwd", "asked": str(world.project), "got": "/", "because": "nonexistent"} in \
        report["reductions"]


def test_a_policy_file_that_asks_for_the_project_is_held_to_it_too(world):
    file = ceiling(world, elsewhere(world))
    for text in ('[fs]\nread = ["@cwd"]\n', f'[fs]\nread = ["{world.home}"]\n'):
        policy = world.document("version = 1\n" + text, "asks.toml")
        done = world.run("pwd", options=["--policy", policy])
        hint = refused(world, done, file, policy)
        assert hint.startswith(f"below [fs] in {file}: read = ")
    policy = world.document('version = 1\nextends = "workspace"\n', "extends.toml")
    apply_cure(refused(world, world.run(*TOUCH, options=["--policy", policy]), file))
    world.run(*TOUCH, options=["--policy", policy]).expect(0)


BASE = '[fs]\nread = ["@system"]\nwrite = ["@cwd"]\nscratch = "64M"\n[net]\nmode = "none"\n' \
       '[env]\npass = ["TERM"]\n[limits]\nwall = "20s"\nmemory = "512M"\npids = 64\n' \
       'output = "1M"\n'
# An option, and how a policy file asks for the same.
OPTIONS = {
    "read": (["--read", "OUTSIDE"], '[fs]\nread = ["OUTSIDE"]\nwrite = ["@cwd"]\n'),
    "write": (["--write", "OUTSIDE"], '[fs]\nwrite = ["OUTSIDE", "@cwd"]\n'),
    "open": (["--net", "open"], '[net]\nmode = "open"\n[fs]\nwrite = ["@cwd"]\n'),
    "allow": (["--allow", "a.example:443"], '[net]\nallow = ["a.example:443"]\n[fs]\nwrite = ["@cwd"]\n'),
    "env": (["--env", "LC_TIME=C"], '[env]\nset = { LC_TIME = "C" }\n[fs]\nwrite = ["@cwd"]\n'),
    "timeout": (["--timeout", "1m"], '[limits]\nwall = "1m"\n[fs]\nwrite = ["@cwd"]\n'),
    "memory": (["--memory", "1G"], '[limits]\nmemory = "1G"\n[fs]\nwrite = ["@cwd"]\n'),
    "pids": (["--pids", "100"], '[limits]\npids = 100\n[fs]\nwrite = ["@cwd"]\n'),
    "output": (["--output-limit", "2M"], '[limits]\noutput = "2M"\n[fs]\nwrite = ["@cwd"]\n'),
    "scratch": (["--scratch", "128M"], '[fs]\nwrite = ["@cwd"]\nscratch = "128M"\n'),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_is_granted_in_full_or_refused(world, name):
    words, asked = OPTIONS[name]
    option = [word.replace("OUTSIDE", str(world.outside)) for word in words]
    file = ceiling(world, "version = 1\n" + BASE)
    done = world.run(*TOUCH, options=["--policy", "strict", "--write", ".", *option])
    hint = refused(world, done, file, option[0], option[1].split("=")[0])
    clamped = world.cordon_verb("policy", "clamp", *option)
    assert clamped.status == 2 and str(file) in clamped.err and option[0] in clamped.err
    # The same from a file is reduced.
    policy = world.document("version = 1\n" + asked.replace("OUTSIDE", str(world.outside)))
    reduced, report = world.report(*TOUCH, options=["--policy", policy])
    assert reduced.expect(0) and report["reductions"], reduced.report_text
    (world.project / "ran").unlink()
    apply_cure(hint)
    world.run(*TOUCH, options=["--policy", "strict", "--write", ".", *option]).expect(0)


def test_a_share_of_processors(world):
    """Not every host can hold it, so only the question is asked."""
    file = ceiling(world, 'version = 1\n[fs]\nwrite = ["@cwd"]\n[limits]\ncpus = 1.0\n')
    apply_cure(refused(world, world.run(*TOUCH, options=["--cpus", "1.5"]), file, "--cpus 1.5", "1.0"))
    world.cordon_verb("policy", "clamp", "--cpus", "1.5").expect(0)


def test_several_options_are_all_named(world):
    ceiling(world, "version = 1\n" + BASE)
    done = world.run(*TOUCH, options=["--memory", "1G", "--read", world.outside, "--allow", "a.example"])
    done.expect(125)
    for word in ("--memory", "--read", "--allow"):
        assert word in done.err, done.account()
    # What is within the ceiling is no less than was asked for.
    world.run(*TOUCH, options=["--memory", "256M", "--pids", "50", "--timeout", "10s", "--env",
                               "TERM"]).expect(0)


def test_an_option_for_what_the_ceiling_only_lets_be_read(world):
    file = ceiling(world, f'version = 1\n[fs]\nread = ["{world.project}"]\n')
    assert world.run("pwd").expect(0).out == f"{world.project}\n"
    hint = refused(world, world.run(*TOUCH, options=["--write", "."]), file, "--write .")
    apply_cure(hint)
    world.run(*TOUCH, options=["--write", "."]).expect(0)


def test_an_option_for_nothing_that_is_there(world):
    hint = refused(world, world.run(*TOUCH, options=["--read", "absent"]), "--read absent")
    assert "make it first" in hint
    policy = world.document('version = 1\n[fs]\nread = ["absent"]\nwrite = ["@cwd"]\n')
    _, report = world.report("true", options=["--policy", policy])
    assert [r["because"] for r in report["reductions"]] == ["nonexistent"]
    world.make_directory(world.project / "absent")
    world.run(*TOUCH, options=["--read", "absent"]).expect(0)


def test_an_option_for_credentials_or_a_protected_name(world):
    world.write(world.home / ".ssh/id_ed25519", "KEY")
    for option, why in ((["--read", world.home / ".ssh"], "credentials"),
                        (["--read", world.home / ".ssh/id_ed25519"], "credentials"),
                        (["--write", world.make_directory(world.project / ".vscode")],
                         "never more than readable")):
        refused(world, world.run(*TOUCH, options=option), *option, why)


def test_an_option_to_write_where_the_host_finds_programs(world):
    place = world.make_directory(world.project / "tools")
    usual = world.make_directory(world.home / "bin")
    path = {"PATH": f"{place}:{usual}:/usr/bin:/bin"}
    for option in (place, usual):
        refused(world, world.run(*TOUCH, options=["--write", option], env=path), f"--write {option}",
                "never more than readable")
    world.run("touch", place / "made", options=["--write", place]).expect(0)
    assert (place / "made").exists()


def test_an_option_against_a_rule_for_reading(world):
    refused(world, world.run(*TOUCH, options=["--policy", "readonly", "--write", "."]),
            "--write .", "readonly")
    refused(world, world.run(*TOUCH, options=["--read", ".", "--write", "."]), "--write .", "--read")


def test_an_option_for_a_host_that_is_denied(world):
    file = ceiling(world, 'version = 1\n[fs]\nwrite = ["@cwd"]\n[net]\nallow = ["a.example"]\n'
                          'deny = ["a.example:443"]\n')
    refused(world, world.run(*TOUCH, options=["--allow", "a.example:443"]), file, "is denied by")
    world.run(*TOUCH, options=["--allow", "a.example:80"]).expect(0)


def test_a_place_to_start_in_that_is_not_granted(world):
    hint = refused(world, world.run("pwd", options=["--cwd", world.outside]), f"--cwd {world.outside}",
                   "outside what is granted")
    assert "--read" in hint
    options = ["--cwd", world.outside, "--read", world.outside]
    assert world.run("pwd", options=options).expect(0).out == f"{world.outside}\n"


def hook_line(world, command, *options):
    call = {"session_id": "s", "transcript_path": "/x", "cwd": "/x", "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "t",
            "tool_input": {"command": command, "description": "d"}}
    done = world.cordon_verb("hook", "claude", *options, input=json.dumps(call)).expect(0)
    return done.json["hookSpecificOutput"]["updatedInput"]["command"]


def test_a_call_that_a_hook_contains_runs_nothing(world):
    file = ceiling(world, elsewhere(world))
    line = hook_line(world, shlex.join(TOUCH))
    done = world.execute(["/bin/bash", "-c", 'eval "$1"', "host", line])
    apply_cure(refused(world, done, file, "outside what is granted"))
    done = world.execute(["/bin/bash", "-c", 'eval "$1"', "host", line])
    assert done.expect(0).out == f"{world.project}\n" and (world.project / "ran").exists()


@pytest.mark.parametrize("bound", ["elsewhere", "read-only"])
def test_a_loop_begins_nothing(world, bound):
    world.write(world.project / "PLAN.md",
                "- [ ] one: make it\n  verify: test -s one\n")
    agent = world.write(world.outside / "agent", "#!/bin/sh\necho ran > ran; echo x > one\n", 0o755)
    text = f'version = 1\n[fs]\nread = ["{world.outside}"]\n'
    if bound == "read-only":
        text = f'version = 1\n[fs]\nread = ["{world.outside}", "{world.project}"]\n'
    file = ceiling(world, text)
    words = ["loop", "--json", "--net", "none", "--read", world.outside, "--", agent]
    apply_cure(refused(world, world.cordon_verb(*words), file, world.project))
    last = records(world)[-1]
    assert (last["outcome"], last["reason"]) == ("failure", "refused"), last
    world.cordon_verb(*words).expect(0)
    assert (world.project / "ran").exists()
