"""Which backend carries out a run that names none: the first of native, bwrap and landlock that works
and that every ceiling permits, in every verb; what it says of that, and what it refuses."""

import base64
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from support import harness
from support.without_namespaces import launcher

LOST = ["metadata", "processes", "accounts", "scratch"]


class ChoiceWorld(harness.World):
    """A home whose ceiling is the user's own, so that every verb finds it."""

    backend = None

    def ceiling(self, require='accept_missing = ["namespaces"]', net="open", read="/"):
        self.config = self.home / ".config/cordon/ceiling.toml"
        text = (f'version = 1\n[fs]\nread = ["{read}"]\nwrite = ["{self.project}"]\n'
                f'[net]\nmode = "{net}"\n[require]\n{require}\n')
        self.write(self.config, text, 0o600)
        self.config.parent.chmod(0o700)
        return self.config

    def without_namespaces(self, *words, **how):
        return self.execute([*launcher(), *words], **how)


@pytest.fixture
def world(who):
    made = ChoiceWorld(who, harness.stage().new_directory())
    yield made
    made.leave()


def clone3_only():
    return [*launcher(), "--clone3-only"]


def limit_of_zero():
    """Refused as by the sysctl user.max_user_namespaces=0, in a user namespace of the test's own."""
    return ["unshare", "-Ur", "/bin/sh", "-c",
            'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh"]


def the_line(done):
    lines = [line for line in done.err.splitlines() if "contained by" in line]
    assert len(lines) == 1, done.account()
    return lines[0]


# The default.

def test_native_where_it_works_says_nothing(world):
    done = world.cordon_verb("run", "--json", "--", "true").expect(0)
    assert done.err == "", done.account()
    held = done.json["enforcement"]
    assert held["backend"] == "native", held
    assert set(held["lost"]) <= {"memory-burst", "in-flight"}, held
    assert held["chosen"] == {"backend": "native", "by": "default", "passed_over": []}, held


@pytest.mark.parametrize("refused", ["filter", "limit"])
def test_landlock_where_nothing_else_works(world, refused):
    world.ceiling()
    # Root of such a namespace may have no cgroup for its processes, so without limits.
    policy = world.document('version = 1\n[fs]\nread = ["@system"]\nwrite = ["@cwd"]\n')
    host = launcher() if refused == "filter" else limit_of_zero()
    done, report = None, world.trusted / "report.json"
    done = world.execute([*host, world.cordon, "run", "--policy", policy, "--report", report, "--",
                          "/bin/sh", "-c", "echo ran > ran; cat file.txt"]).expect(0)
    assert done.out == "project file\n" and (world.project / "ran").exists()
    line = the_line(done)
    assert "contained by landlock" in line and ", ".join(LOST[:3]) in line, line
    assert "user-namespace" in line and "bwrap: " in line, line
    held = json.loads(report.read_text())["enforcement"]
    assert held["backend"] == "landlock" and set(LOST[:3]) <= set(held["lost"]), held
    assert held["chosen"]["by"] == "default", held
    assert [p["backend"] for p in held["chosen"]["passed_over"]] == ["native", "bwrap"], held
    assert held["chosen"]["passed_over"][0]["cure"], held


def test_bwrap_where_it_works_and_native_does_not(world):
    done, report = None, world.trusted / "report.json"
    done = world.execute([*clone3_only(), world.cordon, "run", "--report", report, "--", "cat",
                          "file.txt"]).expect(0)
    assert done.out == "project file\n"
    assert "contained by bwrap" in the_line(done) and "native: " in the_line(done), done.account()
    held = json.loads(report.read_text())["enforcement"]
    assert held["backend"] == "bwrap" and held["namespaces"] is True, held
    assert set(held["lost"]) <= {"memory-burst", "in-flight", "inotify"}, held


def test_the_audit_log_has_the_backend_that_contained(world):
    world.execute([*clone3_only(), world.cordon, "run", "--", "true"]).expect(0)
    log = world.home / ".local/state/cordon/audit"
    begun = [json.loads(line) for file in sorted(log.glob("*.jsonl"))
             for line in file.read_text().splitlines()]
    begun = [line["metadata"] for line in begun if line["phase"] == "pending"]
    assert [one["backend"] for one in begun] == ["bwrap"], begun


@pytest.mark.only("root")  # who alone can make such a place; the launch is the same
def test_a_refusal_without_a_sign_is_found_at_the_start(world):
    """A chroot shows no sign and the kernel refuses: native is tried, nothing of the command runs,
    the next backend has a record of its own, and a query comes to the same."""
    world.ceiling()
    root = harness.stage().new_directory()
    script = (f'mount -t tmpfs none {root} && for d in usr etc proc dev sys var; do mkdir {root}/$d; '
              f'mount --rbind /$d {root}/$d; done; for l in bin lib sbin lib64; do '
              f'[ -L /$l ] && cp -P /$l {root}/$l; done; mkdir {root}/in {root}/in/usr; '
              f'exec /usr/sbin/chroot {root} "$@"')
    # The root of a chroot that is a mount is none that mountinfo would show as missing.
    wrap = ["unshare", "-m", "sh", "-c", script, "sh", "/usr/bin/env", "-C", str(world.project)]
    done = world.execute([*wrap, str(world.cordon), "run", "--", "touch", "ran"]).expect(0)
    assert "contained by landlock" in the_line(done) and (world.project / "ran").exists()
    planned = world.execute([*wrap, str(world.cordon), "run", "--dry-run", "--", "touch", "ran"])
    assert planned.expect(0).out.startswith("backend landlock"), planned.account()
    log = world.home / ".local/state/cordon/audit"
    lines = [json.loads(line) for file in sorted(log.glob("*.jsonl"))
             for line in file.read_text().splitlines()]
    # What native could not begin is one record, of a refusal.
    assert [(line["phase"], line["outcome"]) for line in lines] == [
        ("closing", "failure"), ("pending", "pending"), ("closing", "success")], lines
    assert lines[0]["metadata"]["request"]["backend"] == "native", lines
    assert lines[1]["metadata"]["backend"] == "landlock", lines


# What is refused, with a change that works.

def test_without_acceptance_nothing_runs_and_the_cure_is_the_sysctl(world):
    policy = world.document('version = 1\n[fs]\nread = ["@system"]\nwrite = ["@cwd"]\n')
    run = [world.cordon, "run", "--policy", policy, "--", "touch", "ran"]
    done = world.execute([*limit_of_zero(), *run]).expect(125)
    assert not (world.project / "ran").exists()
    assert "nothing can contain a run on this host" in done.err, done.account()
    for words in ("native: ", "bwrap: ", "landlock: it goes without namespaces"):
        assert words in done.err, done.account()
    assert "cordon setup" in done.err, done.account()
    cure = re.search(r"sudo (sysctl -w user\.max_user_namespaces=\d+)", done.err)
    assert cure, done.account()
    followed = limit_of_zero()
    followed[4] = followed[4].replace('exec "$@"', '/usr/sbin/' + cure[1] + ' >/dev/null && exec "$@"')
    world.execute([*followed, *run]).expect(0)
    assert (world.project / "ran").exists()


def test_the_ceiling_to_change_is_named_and_changing_it_works(world):
    ceiling = world.ceiling(require="")
    done = world.without_namespaces(world.cordon, "run", "--", "touch", "ran").expect(125)
    assert str(ceiling) in done.err and not (world.project / "ran").exists(), done.account()
    line = re.search(r'\[require\] (accept_missing = \["namespaces"\])', done.err)
    assert line, done.account()
    ceiling.write_text(ceiling.read_text() + line[1] + "\n")
    world.without_namespaces(world.cordon, "run", "--", "touch", "ran").expect(0)
    assert (world.project / "ran").exists()


def test_setup_offers_the_line_where_nothing_is_better(world):
    done = world.without_namespaces(world.cordon, "setup", "--yes").expect(0)
    ceiling = world.home / ".config/cordon/ceiling.toml"
    assert 'accept_missing = ["namespaces"]' in ceiling.read_text(), done.account()
    world.without_namespaces(world.cordon, "run", "--", "touch", "ran").expect(0)
    assert (world.project / "ran").exists()


def test_setup_does_not_offer_it_elsewhere_and_notes_what_a_ceiling_lacks(world):
    world.cordon_verb("setup", "--yes").expect(0)
    ceiling = world.home / ".config/cordon/ceiling.toml"
    assert "accept_missing" not in ceiling.read_text()
    done = world.without_namespaces(world.cordon, "setup", "--yes")
    assert "accept_missing" not in ceiling.read_text()
    assert f'{ceiling}' in done.out and 'accept_missing = ["namespaces"]' in done.out, done.account()


def test_what_landlock_cannot_hold_is_refused_with_the_cure(world):
    world.ceiling(net="open")
    world.write(world.project / ".env", "SECRET\n")
    policy = world.document('version = 1\nextends = "workspace"\n[fs]\ndeny = [".env"]\n')
    run = [world.cordon, "run", "--policy", policy, "--", "touch", "ran"]
    done = world.execute([*limit_of_zero(), *run]).expect(125)
    assert "landlock cannot hide" in done.err and "native: " in done.err, done.account()
    assert "sysctl -w user.max_user_namespaces" in done.err, done.account()
    assert "use --backend native" not in done.err, done.account()
    assert not (world.project / "ran").exists()
    world.execute(run).expect(0)  # the control: native holds it
    # What is said to do where namespaces stay refused: move the file, or take the deny back.
    (world.project / "ran").unlink()
    assert "move it out of what is granted" in done.err and "take it out of the deny" in done.err, done.account()
    (world.project / ".env").rename(world.home / ".env")
    world.execute([*limit_of_zero(), *run]).expect(0)
    (world.home / ".env").rename(world.project / ".env")
    policy.write_text('version = 1\nextends = "workspace"\n')
    world.execute([*limit_of_zero(), *run]).expect(0)


def test_no_backend_goes_below_what_is_required(world):
    """Neither the option nor the variable does."""
    for how in (["--backend", "landlock"], []):
        env = {} if how else {"CORDON_BACKEND": "landlock"}
        done = world.cordon_verb("run", *how, "--", "touch", "ran", env=env).expect(125)
        assert "goes without namespaces" in done.err, done.account()
    world.ceiling()
    world.cordon_verb("run", "--backend", "landlock", "--", "touch", "ran").expect(0)
    assert (world.project / "ran").exists()


# Being told.

def chosen(done):
    return done.json["enforcement"]["backend"], done.json["enforcement"]["chosen"]["by"]


def test_the_option_counts_before_the_variable(world):
    env = {"CORDON_BACKEND": "bwrap"}
    done = world.cordon_verb("run", "--json", "--", "true", env=env).expect(0)
    assert chosen(done) == ("bwrap", "variable") and done.err == "", done.account()
    done = world.cordon_verb("run", "--json", "--backend", "native", "--", "true", env=env)
    assert chosen(done.expect(0)) == ("native", "option")


@pytest.mark.parametrize("value, said", [("", "set but empty"), ("nativ", "did you mean native"),
                                         ("docker", "known: native, bwrap")])
def test_a_variable_that_names_none_is_an_error(world, value, said):
    done = world.cordon_verb("run", "--", "touch", "ran", env={"CORDON_BACKEND": value}).expect(125)
    assert said in done.err and "CORDON_BACKEND" in done.err, done.account()
    assert not (world.project / "ran").exists()


def test_nothing_stands_in_for_one_that_was_named(world):
    world.ceiling()
    for how, env in ((["--backend", "native"], {}), ([], {"CORDON_BACKEND": "native"})):
        done = world.without_namespaces(world.cordon, "run", *how, "--", "touch", "ran", env=env)
        done.expect(125)
        assert "cannot create namespaces" in done.err, done.account()
    assert not (world.project / "ran").exists()


# Ceilings.

def test_a_ceiling_names_what_is_permitted(world):
    world.ceiling('backends = ["bwrap", "landlock"]')
    done = world.cordon_verb("run", "--json", "--", "true").expect(0)
    assert chosen(done) == ("bwrap", "default"), done.account()
    done = world.cordon_verb("run", "--backend", "native", "--", "touch", "ran").expect(125)
    assert "not permitted" in done.err and "ceiling.toml" in done.err, done.account()
    assert '"native" to backends' in done.err, done.account()
    assert not (world.project / "ran").exists()
    world.config.write_text(world.config.read_text().replace('["bwrap"', '["native", "bwrap"'))
    world.cordon_verb("run", "--backend", "native", "--", "touch", "ran").expect(0)


def test_several_ceilings_are_intersected(world):
    world.ceiling('backends = ["native", "bwrap"]')
    other = world.document('version = 1\n[fs]\nread = ["/"]\nwrite = ["/"]\n[require]\n'
                           'backends = ["bwrap", "landlock"]\n', "other.toml")
    other.write_text(other.read_text().replace('write = ["/"]', f'write = ["{world.project}"]'))
    done = world.cordon_verb("run", "--json", "--ceiling", other, "--", "true").expect(0)
    assert chosen(done) == ("bwrap", "default"), done.account()
    other.write_text(other.read_text().replace('"bwrap", ', ""))
    done = world.cordon_verb("run", "--ceiling", other, "--", "touch", "ran").expect(125)
    assert "permit no backend" in done.err and "other.toml" in done.err, done.account()
    assert not (world.project / "ran").exists()


def test_native_alone_is_not_replaced(world):
    world.ceiling('backends = ["native"]\naccept_missing = ["namespaces"]')
    done = world.without_namespaces(world.cordon, "run", "--", "touch", "ran").expect(125)
    assert "landlock: a ceiling does not permit it" in done.err, done.account()
    assert not (world.project / "ran").exists()


@pytest.mark.parametrize("line, said", [
    ("backends = []", "names none"), ('backends = ["nativ"]', "native"),
    ('backends = ["podman"]', "unknown backend"), ('backends = "native"', "backends")])
def test_a_ceiling_that_names_them_wrongly_is_refused(world, line, said):
    world.ceiling(line)
    done = world.cordon_verb("run", "--", "touch", "ran").expect(125)
    assert said in done.err and not (world.project / "ran").exists(), done.account()


def test_a_policy_may_not_name_backends(world):
    policy = world.document('version = 1\nextends = "workspace"\n[require]\nbackends = ["native"]\n')
    done = world.cordon_verb("run", "--policy", policy, "--", "true").expect(125)
    assert "for ceilings only" in done.err, done.account()


# Queries show what a run would have.

@pytest.mark.parametrize("host, backend", [([], "native"), ("clone3", "bwrap"), ("none", "landlock")])
def test_queries_show_the_same_choice(world, host, backend):
    world.ceiling()
    host = {"clone3": clone3_only(), "none": launcher()}.get(host or "", [])
    report = world.trusted / "report.json"
    world.execute([*host, world.cordon, "run", "--report", report, "--", "true"]).expect(0)
    assert json.loads(report.read_text())["enforcement"]["backend"] == backend
    done = world.execute([*host, world.cordon, "run", "--dry-run", "--", "true"]).expect(0)
    assert done.out.startswith(f"backend {backend}\n"), done.account()
    done = world.execute([*host, world.cordon, "run", "--dry-run", "--json", "--", "true"])
    assert done.expect(0).json["backend"] == backend
    ask = [world.cordon, "policy", "explain"]
    done = world.execute([*host, *ask, "--json", "read", "file.txt"]).expect(0)
    assert done.json["backend"] == backend, done.account()
    assert ("metadata" in done.json["lost"]) == (backend == "landlock"), done.account()
    text = world.execute([*host, *ask, "read", "file.txt"]).expect(0).out
    assert (f"contained by {backend}" in text) == (backend != "native"), text


def test_explain_refuses_what_a_run_would_refuse(world):
    done = world.without_namespaces(world.cordon, "policy", "explain", "read", "file.txt")
    assert "nothing can contain a run on this host" in done.expect(2).err, done.account()


# Every verb.

def test_hook(world):
    world.ceiling()
    call = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "id -u"}}
    done = world.cordon_verb("hook", "claude", "--backend", "bwrap", input=json.dumps(call))
    line = done.expect(0).json["hookSpecificOutput"]["updatedInput"]["command"]
    assert "--backend=bwrap" in line, line
    world.execute(["/bin/bash", "-c", line]).expect(0)
    done = world.cordon_verb("hook", "claude", input=json.dumps(call)).expect(0)
    line = done.json["hookSpecificOutput"]["updatedInput"]["command"]
    done = world.without_namespaces("/bin/bash", "-c", line).expect(0)
    assert "contained by landlock" in the_line(done), done.account()


def test_srt(world):
    world.ceiling()
    settings = world.document(json.dumps({
        "network": {"allowedDomains": [], "deniedDomains": []},
        "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}), "settings.json")
    srt = [world.cordon, "srt", "-s", settings]
    done = world.execute([*clone3_only(), *srt, "cat", "file.txt"]).expect(0)
    assert done.out == "project file\n" and "contained by bwrap" in the_line(done), done.account()
    done = world.execute([*srt, "--backend", "bwrap", "cat", "file.txt"]).expect(0)
    assert done.out == "project file\n" and done.err == "", done.account()
    done = world.execute([*clone3_only(), *srt, "--backend", "native", "touch", "ran"]).expect(1)
    assert "cannot create namespaces" in done.err and not (world.project / "ran").exists()


def test_lxc_exec(world):
    world.ceiling()
    request = {"version": "0.8.0-alpha", "process": {"commandLine": "echo ran"}}
    text = base64.b64encode(json.dumps(request).encode()).decode()
    mxc = [world.cordon, "mxc", "--config-base64", text]
    done = world.execute([*launcher(), *mxc]).expect(0)
    assert done.out == "ran\n" and "contained by landlock" in the_line(done), done.account()
    assert "Backend: landlock" in world.execute([*launcher(), *mxc, "--dry-run"]).expect(0).out
    done = world.execute([*mxc, "--backend", "bwrap", "--dry-run"]).expect(0)
    assert "Backend: bwrap" in done.out, done.account()
    done = world.execute([*mxc, "--backend", "nonsense"])
    assert done.status == 1 and "unknown backend" in done.err, done.account()


def test_loop(world):
    world.ceiling()
    world.write(world.project / "PLAN.md", "- [ ] one: Make it\n  verify: test -s one\n")
    agent = world.write(world.project / "agent", "#!/bin/sh\ncat >/dev/null; echo one > one\n", 0o755)
    loop = [world.cordon, "loop", "--json", "--net", "none"]

    def backend_of(done):
        events = [json.loads(line) for line in done.out.splitlines()]
        [held] = [event["enforcement"] for event in events if "enforcement" in event]
        return held["backend"]
    done = world.execute([*clone3_only(), *loop, "--", agent]).expect(0)
    assert backend_of(done) == "bwrap" and "contained by bwrap" in the_line(done), done.account()
    (world.project / "one").unlink()
    done = world.execute([*loop, "--restart", "--backend", "bwrap", "--", agent]).expect(0)
    assert backend_of(done) == "bwrap" and done.err == "", done.account()
    (world.project / "one").unlink()
    named = [*loop, "--restart", "--backend", "native", "--", agent]
    world.execute([*clone3_only(), *named]).expect(125)
    assert not (world.project / "one").exists()


class Server:
    """A server on standard input and output, as an agent host has one."""

    def __init__(self, world, *options, host=()):
        self.process = world.start([*host, world.cordon, "mcp", *options],
                                   stdin=harness.subprocess.PIPE,
                                   env={"CORDON_ENABLE_RUN_CODE": "1"})
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                "clientInfo": {"name": "t", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == 1:
                return answer

    def run_code(self, *argv):
        answer = self.ask("tools/call", {"name": "run_code", "arguments": {"argv": list(argv)}})
        return json.loads(answer["result"]["content"][0]["text"])

    def end(self):
        _, err = self.process.communicate(timeout=60)
        return err.decode()


def test_mcp(world):
    world.ceiling(read="@system")  # its tools get all of it, and Landlock cannot take /proc out of /
    server = Server(world, host=launcher())
    for _ in range(2):
        answer = server.run_code("cat", "file.txt")
        assert answer["success"] and answer["stdout"] == "project file\n", answer
        assert answer["enforcement"]["backend"] == "landlock", answer
    err = server.end()
    assert err.count("contained by landlock") == 1, err  # calls are many, the line is one
    server = Server(world, "--backend", "bwrap")
    answer = server.run_code("cat", "file.txt")
    assert answer["enforcement"]["backend"] == "bwrap", answer
    assert "contained by" not in server.end()


def test_mcp_without_acceptance_runs_nothing(world):
    world.ceiling(require="")
    server = Server(world, host=launcher())
    answer = server.run_code("touch", "ran")
    assert not answer["success"] and answer["type"] == "SandboxUnavailableError", answer
    assert "/" not in answer["message"], answer  # a model is told no path of the operator's
    assert "accept_missing" in server.end() and not (world.project / "ran").exists()


def test_print_config_keeps_the_backend(world):
    done = world.cordon_verb("mcp", "--print-config", "claude", "--backend", "bwrap").expect(0)
    assert '"--backend",\n' in done.out and '"bwrap"' in done.out, done.account()
