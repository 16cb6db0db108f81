"""`cordon run` as the contract has it: statuses, streams, options, the report."""

import errno
import json
import os
import signal
import subprocess
import time

import jsonschema
import pytest

from support.harness import BASE_PATH, ROOT

REPORT_KEYS = {"schema", "run_id", "exit_code", "signal", "timed_out", "kill_reason", "duration_ms",
               "stdout", "stderr", "stdout_bytes", "stderr_bytes", "truncated", "enforcement",
               "policy_hash", "policy", "reductions", "approvals", "denials", "handoff", "usage", "audit",
               "error"}
ENFORCEMENT_KEYS = {"backend", "namespaces", "pivot_root", "bind_mounts", "landlock",
                    "landlock_abi", "seccomp", "cap_drop", "no_new_privs", "network", "limits"}


def check_report(report):
    schema = json.loads((ROOT / "schema/report.schema.json").read_text())
    jsonschema.validate(report, schema)
    assert REPORT_KEYS <= set(report), REPORT_KEYS - set(report)
    assert ENFORCEMENT_KEYS <= set(report["enforcement"]), ENFORCEMENT_KEYS
    return report


def test_what_the_sandbox_keeps_for_itself_hinders_no_reading_of_the_disk(world):
    """What the sandbox keeps for itself (of /sys there are the processors alone) is no obstacle."""
    done = world.run("/bin/sh", "-c", f"cat {world.outside}/secret; ls /sys/* /tmp; cat /etc/shadow",
                     options=["--read", "/"])
    assert done.out == "SECRET-outside\n/sys/devices:\nsystem\n\n/tmp:\n", done.account()
    assert world.run("cat", world.outside / "secret").status == 1
    # A repository's configuration is seen through a copy, which needs a place of its own.
    world.bare("git", "init", "-q", ".").expect(0)
    world.run("git", "config", "a.b", "c", options=["--read", "/"]).expect(0)


# Exit statuses.


@pytest.mark.parametrize("code", [0, 1, 3, 42, 124, 125, 126, 127, 255])
def test_status_is_the_commands_own(world, code):
    world.run("/bin/sh", "-c", f"exit {code}").expect(code)


@pytest.mark.parametrize("number", [1, 2, 3, 6, 9, 11, 13, 15])
def test_status_of_a_signal(world, number):
    done = world.run(world.probe, "raise", number, options=["--json"])
    done.expect(128 + number)
    report = check_report(done.json)
    assert report["exit_code"] is None
    assert report["signal"] == signal.Signals(number).name
    assert report["kill_reason"] == "signal"


def test_status_124_is_the_wall_clock(world):
    done = world.run("/bin/sh", "-c", "echo partial; sleep 60", options=["--timeout", "3s",
                                                                          "--json"])
    done.expect(124)
    report = check_report(done.json)
    assert report["timed_out"] is True and report["kill_reason"] == "timeout"
    assert report["exit_code"] is None and report["stdout"] == "partial\n"
    assert 3000 <= report["duration_ms"] < 30000


def test_status_125_is_a_refusal(world):
    done = world.run("touch", "ran", options=["--policy", "nothing-of-the-kind", "--json"])
    done.expect(125)
    report = check_report(done.json)
    assert report["exit_code"] is None and report["error"]["kind"] in ("policy", "usage")
    assert set(report["error"]) >= {"kind", "code", "message", "hint"}
    assert not (world.project / "ran").exists()


def test_status_126_is_not_executable(world):
    world.write(world.project / "plain", "#!/bin/sh\n", 0o644)
    done = world.run("./plain", options=["--json"])
    done.expect(126)
    assert check_report(done.json)["error"]["kind"] == "command"
    world.run(world.project).expect(126)


def test_status_127_is_not_found(world):
    done = world.run("no-such-program", options=["--json"])
    done.expect(127)
    report = check_report(done.json)
    assert report["error"]["kind"] == "command" and "no-such-program" in report["error"]["message"]
    outside = world.write(world.outside / "tool", "#!/bin/sh\n", 0o755)
    done = world.run(outside)
    done.expect(127)
    assert "hint" in done.err, f"it exists outside: say so\n{done.account()}"


@pytest.mark.parametrize("relative", [".", "", "sub/.."], ids=["dot", "empty", "dots"])
def test_program_is_not_taken_from_a_relative_entry_of_path(world, relative):
    world.make_directory(world.project / "sub")
    world.write(world.project / "ls", "#!/bin/sh\necho planted\n", 0o755)
    ahead = {"PATH": f"{relative}:{BASE_PATH}"}
    done = world.run("ls", env=ahead).expect(0)
    assert "planted" not in done.out and "file.txt" in done.out, done.account()
    assert world.bare("/bin/sh", "-c", "ls", env=ahead).expect(0).out == "planted\n"
    # An entry that names the directory is the caller's word.
    ahead = {"PATH": f"{world.project}:{BASE_PATH}"}
    assert world.run("ls", env=ahead).expect(0).out == "planted\n"


# Tracers.


def test_who_traces_a_run_can_make_a_call_fail(world):
    """strace does so by a number that no call has; on x86_64 it looks like one of the x32 ABI, which kills."""
    command = ["python3", "-c", "import os\ntry: print(os.posix_fadvise(0, 0, 0, os.POSIX_FADV_NORMAL))\n"
                                "except OSError as error: print(error.errno)"]
    traced = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=fadvise64:error=EDQUOT"]
    assert world.execute([*traced, world.cordon, "run", "--", *command]).expect(0).out == f"{errno.EDQUOT}\n"
    untouched = world.run(*command).expect(0)
    assert untouched.out in ("None\n", f"{errno.ESPIPE}\n"), untouched.account()


# Signals.


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_signal_is_forwarded(world, number):
    process = world.start([world.cordon, "run", "--", world.probe, "catch-signal", 60])
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=40)
    assert f'"detail":"{number.name}"'.encode() in out, (out, err)
    assert process.returncode == 128 + number, (process.returncode, err)


def test_signal_grace_then_kill(world):
    process = world.start([world.cordon, "run", "--", world.probe, "ignore-signals", 60])
    assert process.stdout.readline() == b"ready\n"
    begin = time.monotonic()
    process.terminate()
    process.communicate(timeout=40)
    assert 0.8 <= time.monotonic() - begin < 30
    assert process.returncode == 128 + signal.SIGTERM


def test_second_signal_kills_at_once(world):
    def seconds_until_it_ends():
        process = world.start([world.cordon, "run", "--", world.probe, "ignore-signals", 60])
        assert process.stdout.readline() == b"ready\n"
        begin = time.monotonic()
        process.terminate()
        time.sleep(0.1)
        process.terminate()
        process.communicate(timeout=40)
        return time.monotonic() - begin
    # Less than the second that one signal leaves the command. Two that come as one on a busy machine are one.
    assert any(seconds_until_it_ends() < 0.8 for _ in range(5))


# Streams.


def test_stdin_passes_through(world):
    assert world.run("cat", input="hello\n").out == "hello\n"
    done = world.run("cat", input="hello\n", options=["--json"])
    assert done.json["stdout"] == "hello\n"
    assert world.run("wc", "-c", input=b"x" * 3_000_000).out.strip() == "3000000"


def test_streams_are_live_and_apart(world):
    process = world.start([world.cordon, "run", "--", "/bin/sh", "-c",
                           "echo first; echo talk >&2; read x; echo second $x"],
                          stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"first\n"
    out, err = process.communicate(b"go\n", timeout=40)
    assert (out, err) == (b"second go\n", b"talk\n")


def test_closed_reader_ends_the_writer(world):
    done = world.bare("/bin/sh", "-c", f"'{world.cordon}' run -- yes | head -n 1")
    assert done.out == "y\n"


@pytest.mark.parametrize("attempt", ["stdout-truncate", "stdout-seek", "stdout-reopen"])
def test_redirected_file_cannot_be_cut(world, attempt):
    target = world.write(world.outside / "log", "precious\n")
    for argv, kept in (([world.cordon, "run", "--", world.probe, attempt], True),
                       ([world.probe, attempt], False)):
        with open(target, "r+b") as stream:
            stream.seek(0, os.SEEK_END)
            process = world.start(argv, stdout=stream)
            process.wait(timeout=40)
            process.stderr.close()
        text = target.read_text()
        answer = [line for line in text.splitlines() if line.startswith("{")]
        if kept:
            # Reopening a pipe is possible and does nothing; the file must be whole in every case.
            assert text.startswith("precious\n") and len(answer) == 1, text
            assert '"ok":false' in answer[0] or attempt == "stdout-reopen", text
        else:
            assert '"ok":true' in text, f"the control is broken: {text!r}"
            target.write_text("precious\n")


def test_redirected_stderr_cannot_be_cut(world):
    target = world.write(world.outside / "log", "precious\n")
    with open(target, "ab") as stream:
        process = world.start([world.cordon, "run", "--", world.probe, "stderr-truncate"],
                              stderr=stream)
        out, _ = process.communicate(timeout=40)
    assert b'"ok":false' in out and target.read_text().startswith("precious\n")


@pytest.mark.parametrize("bounded", [False, True])
def test_what_others_wrote_into_the_pipe(world, bounded):
    """T8: a pipe is handed over as it is, unless the policy bounds the output."""
    bound = '[limits]\noutput_total = "1M"\n' if bounded else ""
    policy = world.document(f'version = 1\nextends = "workspace"\n{bound}')
    read_end, write_end = os.pipe()
    os.fchown(write_end, world.who.uid, -1)
    os.write(write_end, b"SECRET\n")
    done = world.run("/bin/sh", "-c", "exec 3</proc/self/fd/1; dd bs=7 count=1 iflag=nonblock status=none <&3 >&2",
                     options=["--policy", policy], stdout=write_end)
    os.close(write_end)
    left = os.read(read_end, 100)
    os.close(read_end)
    assert ("SECRET" in done.err) != bounded, done.account()
    assert (left == b"SECRET\n") == bounded, left


def test_capture_keeps_head_and_tail(world):
    done = world.run("/bin/sh", "-c", "echo HEAD; seq 1 20000; echo TAIL",
                     options=["--json", "--output-limit", "2K"])
    done.expect(0)
    report = check_report(done.json)
    assert report["truncated"] is True
    assert report["stdout"].startswith("HEAD\n") and report["stdout"].endswith("TAIL\n")
    assert len(report["stdout"].encode()) < 2048 + 200
    assert report["stdout_bytes"] == len("HEAD\nTAIL\n") + sum(len(str(i)) + 1
                                                               for i in range(1, 20001))


# The command and its arguments.


def test_arguments_are_verbatim(world):
    words = ["a; id", "$(id)", "> f", "", " ", "*", "\\", "'", '"', "\n", "é", "-n", "--json"]
    done = world.run("printf", "[%s]", *words)
    done.expect(0)
    assert done.out == "".join(f"[{word}]" for word in words)
    assert not (world.project / "f").exists()
    assert world.run("echo", "a; id", "$(id)", "> f").out == "a; id $(id) > f\n"


def test_options_stop_at_the_first_operand(world):
    done = world.execute([world.cordon, "run", "echo", "--json", "--policy", "x", "--"])
    done.expect(0)
    assert done.out == "--json --policy x --\n"


def test_nothing_to_run_is_a_usage_error(world):
    for argv in (["run"], ["run", "--"], ["run", "--json"]):
        done = world.cordon_verb(*argv)
        done.expect(125)


@pytest.mark.parametrize("wrong,right", [("--polcy", "--policy"), ("--timout", "--timeout"),
                                         ("--reed", "--read")])
def test_unknown_flag_names_the_nearest(world, wrong, right):
    done = world.run("touch", "ran", options=[wrong, "x"])
    done.expect(125)
    assert wrong in done.err and right in done.err, done.account()
    assert not (world.project / "ran").exists()


def test_unknown_verb_names_the_nearest(world):
    done = world.cordon_verb("rnu", "--", "true")
    assert "did you mean cordon run?" in done.expect(2).err, done.account()


@pytest.mark.parametrize("options", [["--net", "maybe"],
                                     ["--net", "none", "--allow", "example.org"],
                                     ["--tty", "--json"], ["--env", "LD_PRELOAD=x"],
                                     ["--env", "GLIBC_TUNABLES=x"], ["--env", "=x"],
                                     ["--require", "magic"], ["--write", "/"],
                                     ["--write", "~"]], ids=lambda o: " ".join(o))
def test_contradictory_options_are_refused(world, options):
    done = world.run("touch", "ran", options=options)
    done.expect(125)
    assert not (world.project / "ran").exists() and done.err.startswith("cordon: "), done.account()


def test_a_rule_in_the_range_that_stands_for_names_is_refused(world):
    done = world.run("touch", "ran", options=["--allow", "198.18.3.0/24:443", "--json"])
    done.expect(125)
    assert done.json["error"]["kind"] == "unsupported", done.account()
    assert not (world.project / "ran").exists()
    world.run("touch", "ran", options=["--allow", "198.17.3.0/24:443"]).expect(0)


# Where and with what it runs.


def test_cwd(world):
    world.make_directory(world.project / "sub")
    assert world.run("pwd").out == f"{world.project}\n"
    assert world.run("/bin/sh", "-c", "echo $PWD").out == f"{world.project}\n"
    assert world.run("pwd", options=["--cwd", "sub"]).out == f"{world.project}/sub\n"
    done = world.run("pwd", options=["--cwd", "absent"])
    assert done.status == 125 and "absent does not exist" in done.err, done.account()
    assert world.run("pwd", cwd=world.project / "sub").out == f"{world.project}/sub\n"
    world.link(world.home / "alias", world.project)
    assert world.run("pwd", cwd=world.home / "alias",
                     env={"PWD": str(world.home / "alias")}).out == f"{world.project}\n"


def test_an_unreachable_cwd_is_refused(world):
    for place in (world.outside, world.outside / "absent"):
        done = world.run("pwd", options=["--policy", "strict", "--cwd", place])
        assert done.expect(125).out == "" and str(place) in done.err, done.account()
    options = ["--policy", "strict", "--cwd", world.outside, "--read", world.outside]
    assert world.run("pwd", options=options).expect(0).out == f"{world.outside}\n"


@pytest.mark.parametrize("place", ["/", "/usr", "/etc", "home", "above"])
def test_workspace_refuses_a_senseless_cwd(world, place):
    where = {"home": world.home, "above": world.path}.get(place, place)
    done = world.run("true", cwd=where)
    done.expect(125)
    assert "--policy readonly" in done.err or "--write" in done.err, done.account()
    if place != "above":
        world.run("true", cwd=where, options=["--policy", "strict"]).expect(0)


def test_environment(world):
    caller = {"PASSED": "yes", "HIDDEN": "SECRET", "LANG": "C.UTF-8"}
    done = world.run("env", options=["--env", "PASSED", "--env", "SET=a=b", "--env", "ABSENT"],
                     env=caller)
    done.expect(0)
    lines = done.out.splitlines()
    assert "PASSED=yes" in lines and "SET=a=b" in lines, done.account()
    assert "SECRET" not in done.out and not any(l.startswith("ABSENT=") for l in lines)
    assert f"HOME={world.home}" in lines and f"PWD={world.project}" in lines


def test_read_and_write_options(world):
    world.run("cat", world.outside / "secret", options=["--read", world.outside]).expect(0)
    done = world.run("touch", world.outside / "x", options=["--read", world.outside]).expect(1)
    assert "Read-only file system" in done.err and not (world.outside / "x").exists(), done.account()
    world.run("touch", world.outside / "x", options=["--write", world.outside]).expect(0)
    assert (world.outside / "x").exists()
    world.run("cat", "../../outside/secret", options=["--read", "../../outside"]).expect(0)


def test_the_whole_disk_can_be_read(world):
    options = ["--read", "/"]
    assert world.run("cat", world.outside / "secret", options=options).out == "SECRET-outside\n"
    world.denied("append", world.outside / "secret", options=options)
    world.denied("creat", world.outside / "made", options=options)
    # What the sandbox has of its own stays so.
    listing = world.run("ls", "-A", "/dev", options=options).out.split()
    assert "null" in listing and "kmsg" not in listing, listing
    assert world.run("cat", "/etc/hostname", options=options).out == "cordon\n"
    world.run("touch", "/tmp/x", options=options).expect(0)


@pytest.mark.parametrize("grant", ["/", "/run"])
def test_git_works_under_a_grant_over_the_systems_own_places(world, grant):
    world.bare("git", "init", "-q", ".").expect(0)
    done = world.run("git", "config", "core.editor", "true", options=["--read", grant])
    done.expect(0)
    assert "editor" not in (world.project / ".git/config").read_text()


def test_explicit_grant_shows_through_private_home(world):
    world.write(world.home / "shared/data", "data\n")
    world.write(world.home / "other", "SECRET\n")
    options = ["--read", "~/shared"]
    assert world.run("cat", world.home / "shared/data", options=options).out == "data\n"
    listing = world.run("ls", "-A", world.home, options=options).out.split()
    assert "other" not in listing and {"project", "shared"} <= set(listing), listing


def test_limits_options(world):
    done, report = world.report("true", options=["--memory", "256M", "--pids", 100, "--timeout",
                                                 "20s", "--scratch", "32M"])
    done.expect(0)
    limits = report["policy"]["limits"]
    assert limits["memory_bytes"] == 256 << 20 and limits["pids"] == 100
    assert limits["wall_ms"] == 20000
    assert {"memory", "pids"} <= set(report["enforcement"]["limits"]), report["enforcement"]


def test_cpus_are_enforced_or_refused(world):
    done, report = world.report("true", options=["--cpus", "0.5"])
    if done.status == 0:
        assert "cpus" in report["enforcement"]["limits"], done.report_text
    else:
        done.expect(125)
        assert report["error"]["kind"] == "unsupported", done.report_text


# The report.


def test_report_on_stdout(world):
    done = world.run("/bin/sh", "-c", "echo out; echo err >&2; exit 3", options=["--json"])
    done.expect(3)
    report = check_report(done.json)
    assert done.err == ""
    assert (report["exit_code"], report["stdout"], report["stderr"]) == (3, "out\n", "err\n")
    assert (report["stdout_bytes"], report["stderr_bytes"]) == (4, 4)
    assert report["signal"] is None and report["error"] is None and report["truncated"] is False
    assert report["usage"]["max_rss_bytes"] > 0
    assert report["policy_hash"].startswith("sha256:")


def test_report_in_a_file_leaves_the_streams_alone(world):
    done, report = world.report("/bin/sh", "-c", "echo out; exit 4")
    done.expect(4)
    check_report(report)
    assert done.out == "out\n" and report["exit_code"] == 4
    assert report["stdout"] is None and report["stdout_bytes"] is None


def test_report_file_is_not_followed(world):
    victim = world.write(world.outside / "victim", "precious\n")
    link = world.link(world.trusted / "link.json", victim)
    done = world.run("true", options=["--report", link])
    assert victim.read_text() == "precious\n", done.account()


@pytest.mark.parametrize("command,status", [(["true"], 0), (["absent-program"], 127)])
def test_enforcement_is_always_there(world, command, status):
    done = world.run(*command, options=["--json"])
    done.expect(status)
    report = check_report(done.json)
    if status == 0:
        enforced = report["enforcement"]
        assert all(enforced[key] for key in ("namespaces", "pivot_root", "bind_mounts", "landlock",
                                             "seccomp", "cap_drop", "no_new_privs")), enforced
        assert enforced["backend"] == (world.backend or "native")
        assert enforced["network"] == "none"


def test_policy_hash_is_stable_and_honest(world):
    def digest(*options):
        done = world.run("true", options=["--json", *options])
        done.expect(0)
        return done.json["policy_hash"]
    first = digest()
    assert digest() == first
    assert digest("--read", world.outside, "--read", "/usr") == digest("--read", "/usr", "--read",
                                                                       world.outside)
    assert digest() != digest("--read", world.outside)


def test_reductions_are_listed(world):
    ceiling = world.document(f'version = 1\n[fs]\nread = ["/usr"]\nwrite = ["{world.project}"]\n'
                             '[limits]\nwall = "10s"\n', "ceiling.toml")
    policy = world.document(f'version = 1\n[fs]\nwrite = ["@cwd", "{world.outside}"]\n'
                            '[limits]\nwall = "60s"\n')
    done, report = world.report("true", options=["--ceiling", ceiling, "--policy", policy])
    done.expect(0)
    check_report(report)
    found = {(r["what"], r["because"]) for r in report["reductions"]}
    assert ("write", "outside-ceiling") in found, report["reductions"]
    assert any("wall" in what for what, _ in found), report["reductions"]
    assert report["policy"]["limits"]["wall_ms"] == 10000


def test_json_never_changes_the_status(world):
    for command in (["true"], ["false"], ["/bin/sh", "-c", "kill -9 $$"], ["absent"]):
        assert world.run(*command).status == world.run(*command, options=["--json"]).status


def test_dry_run_prints_the_profile_for_macos(world):
    policy = world.document(f'''version = 1
[fs]
write = ["{world.project}"]
deny = ["*.pem"]
''')
    options = ["--backend", "seatbelt", "--policy", policy]
    done = world.run("touch", "ran", options=[*options, "--dry-run"]).expect(0)
    assert "(deny default)" in done.out and "sandbox-exec" in done.out
    assert "(subpath " in done.out and str(world.project) in done.out, done.account()
    document = world.run("touch", "ran", options=[*options, "--dry-run", "--json"]).expect(0).json
    assert any("(deny default)" in line for line in document["confine"])
    done = world.run("touch", "ran", options=[*options, "--json"]).expect(125)
    assert done.json["error"]["kind"] == "unavailable"
    assert not (world.project / "ran").exists()


def test_a_summary_has_ten_lines_at_most(world):
    done, report = world.report("sh", "-c", "echo out; mkdir .vscode; exit 3", options=["--summary"])
    lines = [line for line in done.expect(3).err.splitlines() if line.startswith("  ")]
    assert done.out == "out\n" and 4 <= len(lines) <= 10, done.account()
    assert f"{report['run_id']}: exit 3 after" in lines[0]
    told = dict(line.strip().split(None, 1) for line in lines)
    assert told["denied"] == "nothing" and "moved away 1" in told["changed"], done.account()
    event = told["recorded"].removeprefix("cordon audit show ")
    assert world.cordon_verb("audit", "show", "--json", event).expect(0).json["event_id"] == report["audit"]["event_id"]
    refused = world.run("true", options=["--summary", "--policy", "absent.toml"]).expect(125)
    assert "not started" in refused.err, refused.account()
    assert "  run " not in world.run("true").err


def test_dry_run_starts_nothing(world):
    done = world.run("touch", "ran", options=["--dry-run"])
    done.expect(0)
    assert not (world.project / "ran").exists()
    assert len(done.out.splitlines()) > 10 and str(world.project) in done.out, done.account()
    assert not done.err


def test_copied_binary_runs_under_any_name(world):
    renamed = world.write(world.trusted / "renamed", world.cordon.read_bytes(), 0o755)
    done = world.execute([renamed, "run", "--", "echo", "hi"])
    assert done.out == "hi\n", done.account()
    world.execute([renamed, "policy", "show", "strict"]).expect(0)


def test_version(world):
    done = world.cordon_verb("--version")
    done.expect(0)
    assert done.out.startswith("cordon ") and len(done.out.splitlines()) == 1, done.account()


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help(world, flag):
    done = world.cordon_verb("run", flag)
    done.expect(0)
    assert "--policy" in done.out
    if flag == "-h":
        assert max(map(len, done.out.splitlines())) <= 79


def test_report_comes_when_a_child_is_left_behind(world):
    done, report = world.report(world.probe, "daemonize", f"noise-{world.path.name}", 60)
    done.expect(0)
    check_report(report)
    assert done.seconds < 30, done.account()


def test_usage_counts_what_the_command_left_behind(world):
    """Orphans are killed and reaped before the end is reported, so their time is in it."""
    _, idle = world.report("sleep", "0.5")
    assert idle["usage"]["cpu_ms"] < 150, idle["usage"]
    # It leaves when the child has used 300 ms, however long that takes on a busy machine.
    _, busy = world.report("sh", "-c", "setsid sh -c 'while :; do :; done' >/dev/null 2>&1 & "
                                       "until [ $(cut -d' ' -f14 /proc/$!/stat) -ge 30 ]; "
                                       "do sleep 0.05; done")
    assert busy["exit_code"] == 0 and busy["usage"]["cpu_ms"] > 200, busy["usage"]


def test_usage_is_right_after_a_kill(world):
    """What is killed at a limit has used its time all the same."""
    policy = world.document('version = 1\nextends = "workspace"\n[limits]\noutput_total = "1M"\n')
    script = "import os, time\nwhile time.process_time() < 0.4: pass\nwhile True: os.write(1, bytes(4096))"
    done, report = world.report("/usr/bin/python3", "-c", script, options=["--policy", policy])
    assert done.status == 137 and report["kill_reason"] == "output", done.account()
    assert 200 < report["usage"]["cpu_ms"] < 10000, report["usage"]
