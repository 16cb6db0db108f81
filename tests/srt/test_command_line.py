"""The command line of sandbox-runtime: words, statuses, streams, settings that cannot be used."""

import json
import os
import re
import signal

import pytest

from dropin import document, program, settings, shell, srt
from support import harness

pytestmark = pytest.mark.once


def test_words_reach_the_command_as_they_are(world):
    words = ["a b", "", "$HOME", "'", '"', "*", ";", "\\", "-c", "--settings", "--"]
    done = srt(world, "printf", "[%s]", *words).expect(0)
    assert done.out == "".join(f"[{word}]" for word in words)


def test_a_string_is_for_bash(world):
    done = srt(world, "-c", "x='a  b'; printf '[%s]' \"$x\" $x; [[ a == a* ]] && echo \" $0\"")
    assert done.expect(0).out == "[a  b][a][b] bash\n"


@pytest.mark.parametrize("words, said", [
    (["git", "-c", "user.name=x", "config", "user.name"], "x\n"),
    (["grep", "-c", "project", "file.txt"], "1\n"),
    (["python3", "--version"], "Python"),
    (["--", "echo", "-d"], "-d\n"),
    (["env", "proxy=1", "printenv", "proxy"], "1\n")])
def test_options_end_at_the_command(world, words, said):
    """sandbox-runtime takes them from anywhere, so that `git -c x` runs x."""
    assert srt(world, *words).expect(0).out.startswith(said)


@pytest.mark.parametrize("line, status", [("exit 0", 0), ("exit 42", 42), ("exit 255", 255),
                                          ("kill -9 $$", 137), ("kill -TERM $$", 143),
                                          ("nosuch", 127), ("./file.txt", 126)])
def test_the_status_is_the_commands(world, line, status):
    srt(world, "-c", line).expect(status)


def test_programs_that_cannot_be_started(world):
    done = srt(world, "nosuch-program").expect(127)
    assert done.err.startswith("Error: ") and done.out == ""
    srt(world, "./file.txt").expect(126)
    assert "-c" in srt(world, "echo one word").expect(127).err


def test_standard_input_passes_through(world):
    assert srt(world, "cat", input="line\nwithout end").expect(0).out == "line\nwithout end"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_command_and_the_status_tells(world, number):
    """sandbox-runtime kills without a chance to clean up, and ends with 0."""
    process = world.start([program(), "-c", "trap 'echo trapped; exit 9' INT TERM; echo on; "
                                            "while :; do sleep 0.05; done"])
    assert process.stdout.readline() == b"on\n"
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + number and out == b"trapped\n"


def test_nothing_lives_on_when_srt_is_killed(world):
    """There the command goes on."""
    marker = f"601.{os.getpid()}{world.who.uid}"
    process = world.start([program(), "-c", f"echo on; sleep {marker}; sleep {marker}"])
    assert process.stdout.readline() == b"on\n" and harness.processes_with(marker)
    process.kill()
    process.communicate(timeout=60)
    assert harness.wait_until(lambda: not harness.processes_with(marker), harness.SOON)


@pytest.mark.parametrize("words", [(), ("-c", ""), ("-d",)])
def test_no_command(world, words):
    done = srt(world, *words).expect(1)
    assert "No command specified" in done.err and done.out == ""


@pytest.mark.parametrize("words", [("--bogus", "touch", "ran"), ("-s",), ("proxy", "touch", "ran"),
                                   ("-c", "touch ran", "touch", "ran"),
                                   ("windows-install",), ("--control-fd", "2", "touch", "ran"),
                                   ("--control-fd", "x", "touch", "ran"),
                                   ("--control-fd", "3", "touch", "ran"),
                                   ("--control-fd", "77", "touch", "ran")])
def test_bad_command_lines(world, words):
    rules = {"allowWrite": ["."]}
    done = srt(world, *words, rules=rules).expect(1)
    assert done.err and not (world.project / "ran").exists()
    srt(world, "touch", "ran", rules=rules).expect(0)


def test_help_and_version(world):
    assert srt(world, "-h").expect(0).out == world.cordon_verb("srt", "-h").expect(0).out
    for word in ("-V", "--version"):
        assert srt(world, word).expect(0).out == "cordon 0.1.0\n"


def test_the_verb_is_the_same(world):
    path = settings(world, allowWrite=["."])
    world.cordon_verb("srt", "-s", path, "-c", "echo new > new").expect(0)
    assert (world.project / "new").read_text() == "new\n"


def test_without_settings_nothing_is_written_and_everything_read(world):
    done = srt(world, "-c", f"cat {world.outside}/secret; echo x > new; echo x > {world.home}/new; "
                            "mktemp > /dev/null && echo temporary")
    assert done.expect(0).out == "SECRET-outside\ntemporary\n", done.account()
    assert not (world.project / "new").exists() and not (world.home / "new").exists()


def test_settings_by_a_relative_path(world):
    world.write(world.project / "s.json", json.dumps(document(allowWrite=["."])), 0o600)
    inside = world.make_directory(world.project / "inside")
    for number, spelling in enumerate(["../s.json", "./../inside/../s.json"]):
        srt(world, "-s", spelling, "-c", f"echo x > new{number}", cwd=inside).expect(0)
        assert (inside / f"new{number}").exists()


def test_the_default_place(world):
    world.write(world.home / ".srt-settings.json", json.dumps(document(allowWrite=["."])), 0o600)
    srt(world, "-c", "echo x > new").expect(0)
    assert (world.project / "new").exists()


BAD = {
    "absent": (None, "does not exist"), "empty": ("", "is empty"), "blank": (" \n", "is empty"),
    "no json": ("{", "is not valid JSON"), "twice": ('{"network": {}, "network": {}}', "not valid"),
    "no table": ("[]", "does not hold a valid config"),
    "nothing in it": ("{}", "does not hold a valid config"),
    "misspelt": (json.dumps(document(network={"allowedDomain": []})), "allowedDomain"),
    "unknown": (json.dumps(document(top={"bogus": 1})), "bogus"),
    "no rules": (json.dumps(document(disabled=True)), "disabled"),
    "proxy": (json.dumps(document(network={"httpProxyPort": 3128})), "httpProxyPort"),
    "all hosts": (json.dumps(document(hosts=["*"])), "*"),
    "pattern to write": (json.dumps(document(allowWrite=["g*"])), "g*"),
    "pattern to hold": (json.dumps(document(denyWrite=["*.lock"])), "*.lock"),
    "masked": (json.dumps(document(top={"credentials": {"files": [
        {"path": "/k", "mode": "mask"}]}})), "mask"),
}


# Default settings that are not there are no trouble.
@pytest.mark.parametrize("place,name", [(place, name) for place in ("named", "default") for name in BAD
                                        if place == "named" or BAD[name][0] is not None])
def test_settings_that_cannot_be_used(world, name, place):
    text, phrase = BAD[name]
    path = world.home / ".srt-settings.json" if place == "default" else world.trusted / "s.json"
    if text is not None:
        world.write(path, text, 0o600)
    done = srt(world, *(["-s", path] if place == "named" else []), "echo", "ran").expect(1)
    assert done.out == "" and done.err.startswith("Error: ") and phrase in done.err, done.account()
    # The file is named once, with the place in it behind.
    assert done.err.split("\n")[0].count(path.name) == 1, done.account()


def test_settings_of_others_and_links_are_refused(world):
    path = settings(world)
    path.chmod(0o666)
    assert "could not be read" in srt(world, "-s", path, "echo", "ran").expect(1).err
    path.chmod(0o600)
    link = world.link(world.trusted / "link.json", path)
    assert "symlink" in srt(world, "-s", link, "echo", "ran").expect(1).err
    srt(world, "-s", path, "echo", "ran").expect(0)
    world.link(world.home / ".srt-settings.json", "nowhere")
    assert srt(world, "echo", "ran").expect(1).out == ""


def test_debugging(world):
    quiet = srt(world, "true").expect(0)
    assert quiet.err == ""
    for how in ({"words": ["-d", "true"]}, {"words": ["--debug", "true"]},
                {"words": ["true"], "env": {"SRT_DEBUG": "1"}}):
        done = srt(world, *how["words"], env=how.get("env")).expect(0)
        assert "[SandboxDebug] " in done.err and done.out == "", done.account()
    # The words that sandbox-runtime's own suite looks for.
    done = srt(world, "-d", "echo", "a b").expect(0)
    assert "[SandboxDebug] Original command: echo 'a b'\n" in done.err, done.account()
    assert f"[SandboxDebug] No config found at {world.home}/.srt-settings.json, using default config\n" in done.err
    done = srt(world, "-d", "-c", "echo $((1 + 1))").expect(0)
    assert "[SandboxDebug] Command string mode (-c): echo $((1 + 1))\n" in done.err and done.out == "2\n", done.account()
    path = settings(world, top={"allowPty": True})
    assert "no effect: allowPty" in srt(world, "-d", "-s", path, "true").expect(0).err


def test_ceilings_count(world):
    ceiling = world.document('version = 1\n[fs]\nread = ["/usr"]\n', "ceiling.toml")
    path = settings(world, allowWrite=["."])
    away = srt(world, "-s", path, "echo", "ran", env={"CORDON_CEILING": str(ceiling)})
    assert away.status == 1 and away.out == "" and str(ceiling) in away.err, away.account()
    world.document(f'version = 1\n[fs]\nread = ["/usr", "{world.project}"]\n', "ceiling.toml")
    done = srt(world, "-d", "-s", path, "-c", f"echo x > {world.project}/new",
               env={"CORDON_CEILING": str(ceiling)})
    assert done.status == 1 and not (world.project / "new").exists()
    assert "outside-ceiling" in done.err, done.account()
    srt(world, "-s", path, "-c", "echo x > new").expect(0)


def test_variables_are_passed_on_but_what_loads_something_or_holds_a_secret(world):
    """sandbox-runtime passes every variable on, BASH_ENV among them, which its own shells run."""
    planted = world.write(world.outside / "planted", "echo planted\n")
    env = {"TOKEN": "s3cret", "BASH_ENV": str(planted), "CI": "1", "MY_OWN": "a b", "LD_PRELOAD": "/none.so",
           "INDEX": "https://me:pw@h.example/", "HTTPS_PROXY": "http://127.0.0.1:9", "LANG": "C"}
    line = "echo [$TOKEN][$CI][$MY_OWN][$OTHER][$LD_PRELOAD][$INDEX][$HTTPS_PROXY][$BASH_ENV][$LANG]"
    done = srt(world, "-d", "-c", line, env=env).expect(0)
    assert done.out == "[][1][a b][][][][][][C]\n", done.account()
    # Each that is left out is named, with the option that passes it; and that works, or there is none.
    told = dict(re.findall(r"not passed on: (\w+): (.*)", done.err))
    assert set(told) == {"TOKEN", "BASH_ENV", "LD_PRELOAD", "INDEX", "HTTPS_PROXY"}, told
    assert "s3cret" not in done.err and "pw" not in done.err
    assert "--env" not in told.pop("LD_PRELOAD")
    for name, words in told.items():
        option = re.search(r"--env (\w+) passes it", words)[1]
        again = srt(world, "--env", option, "-c", f"printf '%s' \"${name}\"", env={**env, "BASH_ENV": "/dev/null"})
        assert again.expect(0).out == {**env, "BASH_ENV": "/dev/null"}[name]
    done = srt(world, "--env", "OTHER=2", "-c", line, env=env)
    assert done.expect(0).out == "[][1][a b][2][][][][][C]\n"


def test_a_variable_that_the_settings_withhold_is_not_passed_on(world):
    path = settings(world, top={"credentials": {"envVars": [{"name": "MY_OWN", "mode": "deny"}]}})
    env = {"MY_OWN": "1", "OTHER": "2"}
    assert srt(world, "-s", path, "-c", "echo [$MY_OWN][$OTHER]", env=env).expect(0).out == "[][2]\n"
    assert srt(world, "-c", "echo [$MY_OWN][$OTHER]", env=env).expect(0).out == "[1][2]\n"


def test_runs_and_refusals_are_recorded(world):
    srt(world, "-s", world.trusted / "absent.json", "true").expect(1)
    srt(world, "true").expect(0)
    records = [json.loads(line) for file in (world.home / ".local/state/cordon/audit").glob("*.jsonl")
               for line in file.read_text().splitlines()]
    assert [r["outcome"] for r in records] == ["failure", "pending", "success"], records


def test_an_inherited_descriptor_stays_outside(world):
    """Past 15 sandbox-runtime leaves them open: a directory outside could be written through one."""
    held = os.open(world.outside, os.O_RDONLY | os.O_DIRECTORY)
    try:
        line = "cat /proc/self/fd/50/secret"
        os.dup2(held, 50, inheritable=True)
        control = world.bare("/bin/sh", "-c", line, pass_fds=[50])
        assert control.out == "SECRET-outside\n", control.account()
        done = world.execute([program(), "-c", line], pass_fds=[50])
        assert done.status == 1 and "SECRET" not in done.out
    finally:
        os.close(held)
        os.close(50)
