"""Help, versions, completions: what the flag table says, and that its examples are true."""

import json
import platform
import re
import shutil
import subprocess

import pytest

from support import harness

pytestmark = pytest.mark.once

VERBS = [(), ("run",), ("session",), ("session", "start"), ("session", "exec"), ("session", "list"),
         ("session", "show"), ("session", "stop"), ("why",), ("policy",), ("policy", "show"), ("policy", "check"), ("policy", "clamp"),
         ("policy", "explain"), ("policy", "convert"), ("policy", "schema"), ("audit",), ("audit", "list"),
         ("audit", "show"), ("audit", "tail"), ("audit", "stats"), ("audit", "verify"),
         ("audit", "export"), ("audit", "prune"), ("audit", "ship"), ("fleet",), ("fleet", "submit"), ("fleet", "status"),
         ("fleet", "collect"), ("fleet", "cancel"), ("fleet", "report"), ("mcp",), ("loop",), ("hook",),
         ("hook", "claude"), ("hook", "codex"), ("hook", "copilot"), ("hook", "gemini"), ("setup",), ("demo",), ("mxc",), ("srt",), ("apply",),
         ("doctor",), ("completion",), ("help",)]
NAMES = [" ".join(verb) or "cordon" for verb in VERBS]
# What an example answers when it is not 0: the help says so in words.
NOT_YES = {"cordon policy explain write /etc/hostname": 1,
           "cordon policy explain read ~/.ssh/id_ed25519": 1,
           "cordon policy explain connect example.com:443": 1,
           "cordon audit ship --enroll --node build7": 0,
           "cordon audit stats --json node1.jsonl node2.jsonl": 2,
           "cordon fleet report --from 'postgresql:///audit?host=/run/postgresql' fleet.html": 2,
           "cordon audit export > here.jsonl; cordon fleet report --from here.jsonl here.html": 1,
           "cordon fleet report --json --since 7d --from node1.jsonl --from node2.jsonl": 2,
           # There is no scheduler, no list, and nothing that was submitted.
           **{f"cordon fleet {rest}": 2 for rest in (
               "submit --policy strict --tasks tasks.jsonl",
               "submit --engine slurm --policy build --out /shared/ann/run7 --tasks t.jsonl",
               "submit --json --attempts 5 --partition cpu --tasks t.jsonl", "status 17", "status --follow 17",
               "status --json /shared/ann/run7", "collect 17 > records.jsonl", "collect --json 17",
               "collect /shared/ann/run7", "cancel 17", "cancel --json 17", "cancel /shared/ann/run7")},
           "cordon policy check missing.toml": 2, "cordon mxc missing.json": 1,
           "cordon srt -c 'echo hi > new-file'": 1, "cordon srt -s missing.json true": 1,
           "cordon apply --policy-file missing.json -- ls": 75,
           "cordon policy convert --from cordon --to srt strict": 2,
           "cordon loop claude": 125, "cordon loop --plan work.json --commit --total 8h codex": 125,
           "cordon loop --net none -- ./my-agent --fast": 125,
           **dict.fromkeys(("cordon why", "cordon why 0123456789abcdef", "cordon why --html"), 1),
           **dict.fromkeys(("cordon learn -- make test", "cordon learn --policy strict -- python3 -c 'print(1)'",
                            "cordon learn --json -- sh -c 'echo hello'"), 1),
           "cordon session exec last -- ls": 125,
           "cordon session exec last --timeout 5s --report end.json -- sleep 1": 125,
           "cordon session exec last --json -- id -u": 125,
           **dict.fromkeys(("cordon session list", "cordon session list --json", "cordon session show last",
                            "cordon session show 0123456789abcdef", "cordon session show last --json",
                            "cordon session stop last", "cordon session stop 0123456789abcdef"), 1),
           **{f"cordon hook {host} {rest}": 2 for host in ("claude", "codex", "copilot", "gemini")
              for rest in ("< /dev/null", "< call.json || exit 2", "--policy readonly < call.json || exit 2")}}


def examples(text):
    assert "\nExamples:\n" in text
    tail = text.split("\nExamples:\n")[1]
    return [line.strip() for line in tail.splitlines() if line.startswith(("  cordon ", "  CORDON_"))]


@pytest.mark.parametrize("verb", VERBS, ids=NAMES)
def test_examples_of_the_long_help_are_true(world, verb):
    listed = examples(world.cordon_verb(*verb, "--help").expect(0).out)
    assert len(listed) == 3
    try:
        for line in listed:
            # There is no log in a new home, and the help says that the answer is 1 then.
            expected = NOT_YES.get(line, 1 if verb[:1] == ("audit",) else 0)
            if verb == ("session",):
                expected = 0  # one after the other
            done = world.execute(["/bin/sh", "-c", line],
                                 env={"PATH": f"{world.cordon.parent}:/usr/local/bin:/usr/bin:/bin"})
            done.expect(expected)
    finally:
        while verb[:1] == ("session",) and world.cordon_verb("session", "stop", "last").status == 0:
            pass


@pytest.mark.parametrize("verb", VERBS, ids=NAMES)
def test_short_help_fits_the_columns(world, verb):
    done = world.cordon_verb(*verb, "-h").expect(0)
    assert done.err == "" and done.out.startswith("usage: cordon")
    assert max(map(len, done.out.splitlines())) <= 79, done.out


def test_help_verb_is_the_long_help(world):
    assert world.cordon_verb("help", "run").out == world.cordon_verb("run", "--help").out
    assert world.cordon_verb("help").out == world.cordon_verb("--help").out
    world.cordon_verb("help", "nonsense").expect(2)


def test_completion_is_that_of_help_and_names_what_it_has(world):
    for shell in ("bash", "zsh", "fish"):
        assert (world.cordon_verb("completion", shell).expect(0).out
                == world.cordon_verb("help", "--format", shell).expect(0).out)
    assert "bash, zsh and fish" in world.cordon_verb("completion", "tcsh").expect(2).err
    assert "no shell was named" in world.cordon_verb("completion").expect(2).err


def test_version(world):
    assert world.cordon_verb("--version").expect(0).out == "cordon 0.1.0\n" == world.cordon_verb("-V").expect(0).out
    told = world.cordon_verb("--version", "--verbose").expect(0).out
    assert told.startswith("cordon 0.1.0\n") and "architecture" in told and "unproven" in told
    accounts = json.loads((harness.ROOT / "tests/vm/proven.json").read_text())["machines"]
    lines = [line for line in told.splitlines() if line.startswith("proven on: ")]
    assert len(lines) == len(accounts)
    for line, account in zip(lines, accounts):
        cases = sum(suite["passed"] for suite in account["suites"])
        assert f"{account['architecture']}, Linux {account['kernel']}, " in line
        assert f": {cases} cases, " in line and account["commit"][:12] in line
    ran = [name for account in accounts if account["architecture"] == platform.machine()
           for name in account.get("executors", [])]
    assert (f"mxc: proven with {', '.join(ran)}\n" if ran else "mxc: unproven: no suite ran an executor") in told


def test_nothing_at_all_is_a_usage_error(world):
    done = world.cordon_verb()
    done.expect(2)
    assert done.out == "" and done.err.startswith("cordon: ")


def test_answers_go_nowhere_without_a_complaint_to_stdout(world):
    with open("/dev/full", "wb") as full:
        process = world.start([world.cordon, "policy", "show"], stdout=full)
        process.wait(timeout=40)
        process.stderr.close()
    assert process.returncode == 2


def complete(world, words):
    """What bash offers for the last word. Bash hands the words over taken apart at colons."""
    words = [part for word in words for part in re.split("(:)", word) if part or part == word]
    script = world.cordon_verb("help", "--format=bash").expect(0).out
    quoted = " ".join(f"'{word}'" for word in words)
    script += (f"\nCOMP_WORDS=({quoted})\nCOMP_CWORD={len(words) - 1}\n_cordon\n"
               "printf '%s\\n' \"${COMPREPLY[@]}\"\n")
    done = world.execute(["bash", "--norc", "-c", script])
    done.expect(0)
    return done.out.split()


def test_bash_completion(world):
    assert {"run", "policy", "doctor", "help"} <= set(complete(world, ["cordon", ""]))
    assert complete(world, ["cordon", "doc"]) == ["doctor"]
    assert complete(world, ["cordon", "policy", "ex"]) == ["explain"]
    assert complete(world, ["cordon", "run", "--out"]) == ["--output-limit"]
    assert complete(world, ["cordon", "run", "--net", ""]) == ["none", "open"]
    assert "strict" in complete(world, ["cordon", "run", "--policy", ""])
    assert complete(world, ["cordon", "policy", "explain", "--policy", "strict", "re"]) == ["read"]
    assert "--json" not in complete(world, ["cordon", "run", "--", "--js"])


PRESETS = {"strict", "workspace", "agent", "agent:claude", "agent:codex", "agent:gemini", "agent:copilot", "mine"}


def own_policy(world, name="mine"):
    world.write(world.home / f".config/cordon/policies/{name}.toml", 'version = 1\nextends = "workspace"\n')


def test_bash_completes_policies(world):
    own_policy(world)
    own_policy(world, "$(touch planted)")
    for words in (["run", "--policy"], ["policy", "show"], ["policy", "clamp", "--policy"]):
        assert PRESETS <= set(complete(world, ["cordon", *words, ""])), words
        assert complete(world, ["cordon", *words, "mi"]) == ["mine"]
        # What stands before the colon is on the line already.
        assert complete(world, ["cordon", *words, "agent:cl"]) == ["claude"]
        assert {"claude", "codex"} <= set(complete(world, ["cordon", *words, "agent:"]))
    assert complete(world, ["cordon", "run", "--allow", "a.example:443", "--net", "n"]) == ["none"]
    assert not (world.project / "planted").exists()


def test_fish_completes_policies(world):
    own_policy(world)
    script = world.write(world.outside / "cordon.fish", world.cordon_verb("completion", "fish").expect(0).out)

    def offered(line):
        done = world.execute(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"]).expect(0)
        assert done.err == "", done.account()
        return {one.split("\t")[0] for one in done.out.splitlines()}
    for line in ("cordon run --policy ", "cordon policy show "):
        assert PRESETS <= offered(line), line
    assert offered("cordon run --policy mi") == {"mine"}
    assert {"bash", "zsh", "fish"} <= offered("cordon completion ")
    world.execute(["rm", "-r", world.home / ".config/cordon/policies"]).expect(0)
    assert PRESETS - {"mine"} <= offered("cordon run --policy ")


# A zsh in a terminal of its own: keys are typed, and its list of what it offers is read.
ZSH = r"""
zmodload zsh/zpty; zpty inner zsh -f -i
zpty -w inner "PS1=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -d $1/dump; stty -echo cols 200
zstyle ':completion:*' list-colors; setopt no_beep; LISTMAX=1000; bindkey '^I' list-choices; echo be''gin"
while zpty -r inner line && [[ $line != *begin* ]]; do :; done
zpty -n -w inner "$2"$'\t'
sleep 1
zpty -w inner $'\x15exit'
while zpty -r inner line; do print -r -- $line; done
"""


def test_zsh_completes_policies(world):
    own_policy(world)
    world.write(world.outside / "_cordon", world.cordon_verb("completion", "zsh").expect(0).out)
    for line in ("cordon run --policy ", "cordon policy show "):
        done = world.execute(["zsh", "-f", "-c", ZSH, "zsh", world.outside, line],
                             env=world.environment({"TERM": "xterm"})).expect(0)
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", " ", done.out)
        assert set(re.findall(r"[\w:]+", plain)) >= PRESETS, done.account()


def test_bash_completion_is_clean(world):
    checker = shutil.which("shellcheck")
    assert checker, "shellcheck is part of the test set-up"
    script = world.cordon_verb("help", "--format=bash").expect(0).out
    done = subprocess.run([checker, "-s", "bash", "-"], input=script, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout
