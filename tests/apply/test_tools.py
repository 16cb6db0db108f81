"""Real tools under the policies that are shipped."""

import json
import shutil

import pytest

from helper import apply, policy, program, rule, system
from support import harness

pytestmark = pytest.mark.once


def variables(world):
    """Temporary files of the test's own: all of /tmp would be everybody's."""
    return {"TMPDIR": str(world.make_directory(world.path / "temporary"))}


def printed(world, *options):
    return world.cordon_verb("apply", "--print-policy", *options, env=variables(world)).expect(0)


def development(world, line, *options):
    """A line for bash under the policy for development of the project."""
    document = printed(world, "development", *options).out
    return apply(world, document, "/bin/bash", "-c", line, env=variables(world), timeout=120)


CPP = r"""
cat > main.cc <<'END'
#include <iostream>
#include <thread>
int main() { std::thread t([] { std::cout << "compiled\n"; }); t.join(); }
END
printf 'all: main\nmain: main.cc\n\tg++ -pthread -o main main.cc\n' > Makefile
make -s -j2 && ./main
"""

TOOLS = {
    "git": ("git init -q . && git config user.email a@b && git config user.name a && git add file.txt && "
            "git commit -qm one && git log --format=%s && git clone -q . copy && git -C copy status -sb",
            "one\n## "),
    "make and g++": (CPP, "compiled\n"),
    "python3": ("/usr/bin/python3 -c 'import subprocess, tempfile, threading, multiprocessing.pool as p; "
                "t = threading.Thread(target=print, args=(\"thread\",)); t.start(); t.join(); "
                "print(subprocess.check_output([\"echo\", \"child\"]).decode(), end=\"\"); "
                "tempfile.NamedTemporaryFile().write(b\"x\")'", "thread\nchild\n"),
    "tar": ("tar -czf all.tgz file.txt && mkdir out && tar -xzf all.tgz -C out && cat out/file.txt",
            "project file\n"),
    "shell": ("mkdir a && cp file.txt a && mv a/file.txt a/b && ln a/b a/c && ln -s b a/d && "
              "sort a/b | sed s/project/a/ | grep -c . && find a -type f | wc -l && rm -r a", "1\n2\n"),
    "node": ("node -e 'const fs = require(\"fs\"), c = require(\"child_process\"); "
             "fs.writeFileSync(\"made\", \"x\"); console.log(c.execSync(\"echo child\").toString().trim()); "
             "new (require(\"worker_threads\").Worker)(\"console.log(1)\", {eval: true})'", "child\n1\n"),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_development_runs(world, tool):
    line, expected = TOOLS[tool]
    done = development(world, line).expect(0)
    assert done.out.startswith(expected), done.account()
    world.bare("/bin/bash", "-c", "rm -rf -- .git copy main Makefile out; " + line).expect(0)


def test_development_keeps_to_the_project(world):
    world.plant(harness.SECRET_FILES)
    world.plant(harness.BROWSING_FILES)
    world.write(world.home / ".gitconfig", "[user]\n\tname = N\n")
    world.make_directory(world.home / ".safeclaw")
    secrets = [world.home / name for name in {**harness.SECRET_FILES, **harness.BROWSING_FILES}]
    look = "for f in " + " ".join(f"'{path}'" for path in secrets) + "; do cat \"$f\"; done"
    done = development(world, f"{look}; ls -a ~; cat ~/.gitconfig {world.outside}/secret; "
                              "cat /etc/shadow; echo x > ~/new; echo x > ~/.safeclaw/state; "
                              "rm ~/.gitconfig; echo x > inside; cat inside")
    assert done.out == "[user]\n\tname = N\nx\n", done.account()
    assert not (world.home / "new").exists() and not (world.home / ".safeclaw/state").exists()
    assert (world.home / ".gitconfig").exists()
    assert world.bare("/bin/bash", "-c", look).out.count("SECRET") == len(secrets)


def test_development_has_no_network_and_no_other_processes(world, target):
    done = development(world, f"kill -0 {target.process.pid} && echo killed; "
                              f"(exec 5<> /dev/tcp/127.0.0.1/1) 2>&1; python3 -c 'import socket; "
                              "socket.socket()'")
    assert "killed" not in done.out and "not supported" in done.err, done.account()


def test_the_home_is_never_writable(world):
    done = world.cordon_verb("apply", "--print-policy", "development", cwd=world.home)
    assert done.status == 2 and "no project" in done.err
    done = world.cordon_verb("apply", "--print-policy", "development", "--write", "~")
    assert done.status == 2, done.account()


def test_further_grants_of_development(world):
    extra = world.make_directory(world.path / "extra")
    tools = world.make_directory(world.path / "tools")
    shutil.copy("/usr/bin/printf", tools / "say")
    world.own(tools / "say")
    line = f"cat {world.outside}/secret; echo x > {extra}/new; {tools}/say said"
    assert development(world, line).expect(126).out == ""
    assert not (extra / "new").exists()
    done = development(world, line, "--read", world.outside, "--write", extra, "--execute", tools)
    assert done.expect(0).out == "SECRET-outside\nsaid" and (extra / "new").exists()
    # Two rules for one path: the narrower holds, and it is told.
    done = printed(world, "development", "--read", world.project)
    rules = {r["path"]: r["access"] for r in json.loads(done.out)["filesystem"]["allow"]}
    assert rules[str(world.project)] == "read" and "two rules" in done.err
    done = printed(world, "development", "--allow", "a.example")
    assert json.loads(done.out)["network"] == {"allowedDomains": ["a.example"], "deniedDomains": []}
    world.cordon_verb("apply", "--print-policy", "development", "--allow", "10.0.0.0/8").expect(2)
    world.cordon_verb("apply", "--print-policy", "default", "--read", "/x").expect(2)
    world.cordon_verb("apply", "--print-policy", "generous").expect(2)


def test_minimal_dynamic_starts_a_program_and_the_default_does_not(world):
    minimal = json.loads(printed(world, "minimal-dynamic").out)
    default = json.loads(printed(world, "default").out)
    apply(world, minimal, "/bin/true").expect(0)
    assert default["filesystem"] == {"allow": [], "deny": []} and default["timeoutMs"] == 30000
    assert len(default["syscalls"]["allow"]) == 27 and default["network"] == "none"
    assert all(default["namespaces"].values())
    assert "openat" in minimal["syscalls"]["allow"] and "openat" not in default["syscalls"]["allow"]
    # With files to load but the default's calls it is killed at the first open.
    default["filesystem"] = minimal["filesystem"]
    apply(world, default, "/bin/true").expect(-31)


def test_two_layers_hold_what_one_cannot(world):
    """The settings for the outer layer, and the policy inside: SafeClaw's arrangement."""
    world.plant(harness.SECRET_FILES)
    elsewhere = world.make_directory(world.path / "elsewhere")
    shutil.rmtree(world.home / ".aws")
    world.write(elsewhere / "credentials", "SECRET-linked\n")
    world.link(world.home / ".aws", elsewhere)
    path = world.write(world.trusted / "policy.json", printed(world, "development").out, 0o600)
    settings = world.cordon_verb("apply", "--policy-file", path, "--print-settings").expect(0)
    unreadable = settings.json["filesystem"]["denyRead"]
    assert str(world.home / ".ssh") in unreadable and str(elsewhere) in unreadable
    assert str(world.home / ".gnupg") in unreadable and str(world.home / ".aws") not in unreadable
    outer = world.write(world.trusted / "settings.json", settings.out, 0o600)

    def layered(line, inner=True):
        words = [program(), "--policy-file", path, "--"] if inner else []
        return world.execute([world.cordon, "srt", "-s", outer, *words, "/bin/sh", "-c", line])

    done = layered(f"echo x > new; cat new; mkdir -p .git/hooks && echo x > .git/hooks/pre-commit; "
                   f"cat {world.outside}/secret ~/.ssh/id_ed25519 {elsewhere}/credentials; true")
    assert done.expect(0).out == "x\n", done.account()
    assert not (world.project / ".git/hooks/pre-commit").exists()
    # The inner layer alone keeps what nobody granted from being read.
    assert "SECRET-outside" in layered(f"cat {world.outside}/secret", inner=False).out
    apply(world, path.read_text(), "/bin/sh", "-c",
          "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit").expect(0)


@pytest.mark.parametrize("network", ["localhost", {"allowedDomains": ["a.example"]}])
def test_inside_bubblewrap_the_outer_layer_is_seen(world, network):
    """As SafeClaw starts its helper: a user namespace, one network of its own, the policy in a file."""
    path = world.write(world.trusted / "policy.json", json.dumps(
        policy(*system(), rule(world.project, "readwrite"), network=network)), 0o600)
    words = [program("safeclaw-sandbox-helper"), "--policy-file", path, "--", "/bin/sh", "-c",
             f"echo x > new; cat new {world.outside}/secret"]
    outer = ["bwrap", "--ro-bind", "/", "/", "--bind", world.project, world.project, "--dev", "/dev",
             "--unshare-user", "--unshare-pid"]
    done = world.execute([*outer, "--unshare-net", *words])
    assert done.status == 1 and done.out == "x\n", done.account()
    assert "SECRET" in world.execute([*outer, "/bin/cat", world.outside / "secret"]).out


def test_a_write_rule_is_one_for_reading_and_writing_in_both_layers(world):
    path = world.write(world.trusted / "policy.json",
                       json.dumps(policy(*system(), rule(world.project, "write"))), 0o600)
    settings = world.cordon_verb("apply", "--policy-file", path, "--print-settings").expect(0).json
    assert str(world.project) in settings["filesystem"]["allowWrite"]
    done = apply(world, path.read_text(), "/bin/sh", "-c", "echo x > new && cat new file.txt")
    assert done.expect(0).out == "x\nproject file\n"


def test_settings_are_made_of_a_policy_that_would_be_applied(world):
    path = world.write(world.trusted / "policy.json", json.dumps(policy(*system())), 0o644)
    world.cordon_verb("apply", "--policy-file", path, "--print-settings").expect(2)
    world.cordon_verb("apply", "--print-settings").expect(2)
