"""The protocol of SafeClaw's helper: command line, policy, limits, exit statuses, error line."""

import json
import os
import shutil
import struct
import subprocess

import pytest

from helper import (CALLS, FOREIGN_NAME, apply, by_descriptor, policy, program, rule, system,
                    written)
from support import harness

TRUE = "/usr/bin/true"


@pytest.mark.parametrize("words", [(), (TRUE,), ("--policy-file", "x"), ("--bogus", "--", TRUE),
                                   ("--policy-file",), ("--",), ("-h",)])
def test_a_malformed_line_is_answered_with_the_usage(world, words):
    done = world.execute([program(), *words]).expect(1)
    first, second = done.err.splitlines()
    assert first.startswith("cordon-apply: error: ") and second.startswith("usage: cordon-apply ")
    world.cordon_verb("apply", *words).expect(0 if words == ("-h",) else 1)


def test_policy_from_a_file_and_from_descriptor_three(world):
    document = policy(*system())
    for way in (apply, by_descriptor):
        way(world, document, TRUE).expect(0)
        assert way(world, document, "/usr/bin/printf", "%s|", "a b", "$HOME", "--").out == "a b|$HOME|--|"
    # Through cordon itself, too.
    path = written(world, document)
    world.cordon_verb("apply", "--policy-file", path, "--", TRUE).expect(0)
    world.execute(["/bin/sh", "-c", f'exec "$0" apply -- {TRUE} 3< {path}', world.cordon]).expect(0)


def test_the_commands_own_status_and_signal_come_through(world):
    document = policy(*system())
    apply(world, document, "/bin/sh", "-c", "exit 7").expect(7)
    apply(world, document, "/bin/sh", "-c", "kill -TERM $$").expect(-15)


def test_no_descriptor_but_three_reaches_the_command(world):
    document = policy(*system(), rule("/proc", "read"), rule(world.probe, "execute"))
    path = written(world, document)
    line = f'exec 5< /etc/passwd 9< /; exec "$0" "$@" 3< {path}'
    for extra in ((), ("--status-fd", "9")):
        done = world.execute(["/bin/sh", "-c", line, program(), *extra, "--", world.probe, "fds"])
        [answer] = harness.answers(done.expect(0).out)
        assert [entry[:2] for entry in answer.detail.split()] == ["0=", "1=", "2="], answer
    [bare] = harness.answers(world.execute(
        ["/bin/sh", "-c", "exec 5< /etc/passwd; exec $0 fds", world.probe]).out)
    assert "5=/etc/passwd" in bare.detail, bare


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o400, 0o700, 0o4600, 0o606])
def test_a_policy_that_is_not_owner_only_is_refused(world, mode):
    path = written(world, policy(*system()))
    path.chmod(mode)
    done = world.execute([program(), "--policy-file", path, "--", TRUE]).expect(75)
    assert done.err == f"cordon-apply: error: {path} must have the mode 0600\n"
    path.chmod(0o600)
    world.execute([program(), "--policy-file", path, "--", TRUE]).expect(0)


def test_a_policy_of_somebody_else_is_refused(world):
    if os.geteuid() != 0:
        path = "/etc/passwd"  # another's, and of another mode: both are refused
    else:
        path = written(world, policy(*system()), mode=0o600)
        os.chown(path, 65533, 65533)
    done = world.execute([program(), "--policy-file", path, "--", TRUE]).expect(75)
    if world.who.is_root:
        assert "belongs to somebody else" in done.err


@pytest.mark.parametrize("kind", ["symlink", "directory", "fifo", "missing", "device"])
def test_a_policy_that_is_no_file_is_refused(world, kind):
    real = written(world, policy(*system()))
    path = world.trusted / kind
    if kind == "symlink":
        world.link(path, real)
    elif kind == "directory":
        world.make_directory(path).chmod(0o600)
    elif kind == "fifo":
        os.mkfifo(path, 0o600)
        world.own(path)
    elif kind == "device":
        path = "/dev/null"
    world.execute([program(), "--policy-file", path, "--", TRUE]).expect(75)
    world.execute([program(), "--policy-file", real, "--", TRUE]).expect(0)


def test_no_descriptor_three_is_refused(world):
    world.execute(["/bin/sh", "-c", f'exec "$0" -- {TRUE} 3<&-', program()]).expect(75)


def test_64_kib_are_the_most(world):
    text = json.dumps(policy(*system()))
    fits = text + " " * (65536 - len(text))
    for way in (apply, by_descriptor):
        way(world, fits, TRUE).expect(0)
        done = way(world, fits + " ", TRUE).expect(70)
        assert "64 KiB" in done.err


def padded(rules, count):
    return rules + [rule("/usr", "execute")] * (count - len(rules))


@pytest.mark.parametrize("good, bad", [
    (policy(*padded(system(), 64)), policy(*padded(system(), 65))),
    (policy(*system(), deny=[rule("/nowhere", "read")] * 16),
     policy(*system(), deny=[rule("/nowhere", "read")] * 17)),
    (policy(*system(), calls=CALLS + ["read"] * (256 - len(CALLS))),
     policy(*system(), calls=CALLS + ["read"] * (257 - len(CALLS)))),
    (policy(*system(), rule("/" + "/".join(["d" * 200] * 20) + "/" + "x" * 73, "read")),
     policy(*system(), rule("/" + "/".join(["d" * 200] * 20) + "/" + "x" * 75, "read"))),
], ids=["allow", "deny", "syscalls", "path"])
def test_one_over_a_limit_is_refused_and_nothing_is_cut(world, good, bad):
    apply(world, good, TRUE).expect(0)
    apply(world, bad, TRUE).expect(70)


def test_names_of_32_bytes_are_refused(world):
    apply(world, policy(*system(), calls=[*CALLS, "x" * 32]), TRUE).expect(70)
    apply(world, policy(*system(), calls=[*CALLS, "x" * 31]), TRUE).expect(72)


@pytest.mark.parametrize("spoilt", [
    lambda text: text + "x", lambda text: text[:-1], lambda text: "[" + text + "]",
    lambda text: text.replace('"defaultDeny": true', '"defaultDeny": false'),
    lambda text: text.replace('"execute"', '"run"', 1),
    lambda text: text.replace('"/bin"', '"bin"'), lambda text: text.replace('"/bin"', '"/bin\\q"'),
    lambda text: text.replace('"/bin"', '"/bin\\u0000x"'),
    lambda text: text.replace('"syscalls"', '"sycalls"'),
    lambda text: text.replace('{"filesystem"', '{"extra": 1, "filesystem"'),
    lambda text: text.replace('{"filesystem"', '{"syscalls": {"allow": []}, "filesystem"'),
    lambda text: "\ufeff" + text, lambda text: "", lambda text: "\0" + text,
])
def test_a_policy_that_is_not_exactly_one_is_refused_on_one_line(world, spoilt):
    text = json.dumps(policy(*system()))
    apply(world, text, TRUE).expect(0)
    done = apply(world, spoilt(text), TRUE).expect(70)
    assert done.err.startswith("cordon-apply: error: ") and done.err.count("\n") == 1, done.err


def test_control_characters_of_a_policy_reach_no_terminal(world):
    done = apply(world, policy(rule("/\x1b[31m\n/x", "bogus")), TRUE).expect(70)
    assert "\x1b" not in done.err and done.err.count("\n") == 1
    done = apply(world, policy(*system()), "/no\x1b[31m\nthing").expect(74)
    assert "\x1b" not in done.err and done.err.count("\n") == 1


@pytest.mark.parametrize("name", ["no_such_call", "mount", "ptrace", "unshare", "bpf", "keyctl",
                                  "perf_event_open", "userfaultfd", "kexec_load", "open_by_handle_at"])
def test_a_name_that_may_not_be_listed_is_refused_by_name(world, name):
    marker = world.project / "made"
    done = apply(world, policy(*system(), rule(world.project, "readwrite"), calls=[*CALLS, name]),
                 "/usr/bin/touch", marker).expect(72)
    assert name in done.err and not marker.exists()
    apply(world, policy(*system(), rule(world.project, "readwrite"),
                        calls=[*CALLS, "utimensat"]), "/usr/bin/touch", marker).expect(0)


def test_a_list_without_execve_starts_nothing(world):
    done = apply(world, policy(*system(), calls=[c for c in CALLS if c != "execve"]), TRUE).expect(72)
    assert "execve" in done.err


def test_a_call_that_is_not_listed_kills(world):
    listed = policy(*system())
    unlisted = policy(*system(), calls=[c for c in CALLS if c not in ("getcwd",)])
    apply(world, listed, "/usr/bin/pwd").expect(0)
    apply(world, unlisted, "/usr/bin/pwd").expect(-31)


def test_absent_paths_are_left_out_and_unreachable_ones_are_fatal(world):
    document = policy(*system(), rule(world.path / "absent", "readwrite"))
    apply(world, document, TRUE).expect(0)
    loop = world.link(world.path / "loop", "loop")
    done = apply(world, policy(*system(), rule(loop, "read")), TRUE).expect(71)
    assert str(loop) in done.err
    apply(world, policy(*system(), rule(world.project / "file.txt" / "x", "read")), TRUE).expect(71)
    if not world.who.is_root:
        closed = world.make_directory(world.path / "closed")
        world.make_directory(closed / "inside")
        closed.chmod(0)
        apply(world, policy(*system(), rule(closed / "inside", "read")), TRUE).expect(71)


def injected(world, fault, *options):
    """A run in which one system call of the helper fails, or answers something else."""
    path = written(world, policy(*system()))
    words = [program(), "--policy-file", path, *options, "--", "/usr/bin/printf", "started"]
    if fault is None:
        return world.execute(words)
    return world.execute(["strace", "-qq", "-o", "/dev/null", "-e", f"trace={fault.split(':')[0]}",
                          "-e", f"inject={fault}", *words])


@pytest.mark.parametrize("fault, status", [
    ("landlock_create_ruleset:error=ENOSYS", 71),
    ("landlock_create_ruleset:error=EOPNOTSUPP", 71),
    ("landlock_create_ruleset:retval=2:when=1", 71),  # an old kernel
    ("landlock_create_ruleset:error=ENOMEM:when=2", 71),
    ("landlock_add_rule:error=EINVAL:when=3", 71),
    ("landlock_restrict_self:error=E2BIG", 71),
    ("seccomp:error=EINVAL", 72),
    ("capset:error=EPERM", 73),
    ("close_range:error=EINVAL", 75),
    ("prctl:error=EINVAL:when=1", 75),
])
def test_whatever_fails_starts_nothing(world, fault, status):
    done = injected(world, fault).expect(status)
    assert done.out == "" and done.err.startswith("cordon-apply: error: "), done.account()
    assert injected(world, None).expect(0).out == "started"


@pytest.mark.parametrize("command", ["no-such-command", "/no/such", "/etc/passwd", "/", "./file.txt"])
def test_a_command_that_cannot_be_executed(world, command):
    done = apply(world, policy(*system(), rule("/etc", "read"), rule(world.project, "read")), command)
    done.expect(74)
    assert command in done.err


def test_execution_is_withheld_where_no_rule_gives_it(world):
    copied = world.project / "copied"
    shutil.copy(TRUE, copied)
    world.own(copied)
    done = apply(world, policy(*system(), rule(world.project, "readwrite")), copied).expect(74)
    # a word of advice beforehand; the kernel decides.
    warning, error = done.err.splitlines()
    assert warning == f"cordon-apply: warning: no rule of the policy lets {copied} be executed"
    assert error.startswith("cordon-apply: error: cannot execute the command: ")
    done = apply(world, policy(*system(), rule(world.project, "readwriteexecute")), copied)
    assert done.expect(0).err == ""


@pytest.fixture
def installed(who):
    """A copy of the program that belongs to root, and a world of somebody else."""
    person = next(p for p in harness.PEOPLE if not p.is_root)
    world = harness.World(person, harness.stage().new_directory())
    own = world.path / "helper"
    shutil.copy(program(), own)
    os.chown(own, 0, 0)
    own.chmod(0o755)
    yield world, own, [own, "--policy-file", written(world, policy(*system())), "--", TRUE]
    harness.remove_tree(world.path)


@pytest.mark.only("root")
@pytest.mark.parametrize("bits", [0o4755, 0o2755])
def test_a_setuid_or_setgid_start_is_refused(installed, bits):
    world, own, words = installed
    world.execute(words).expect(0)
    own.chmod(bits)
    assert "setuid" in world.execute(words).expect(76).err


@pytest.mark.only("root")
def test_file_capabilities_are_refused(installed):
    world, own, words = installed
    net_raw = struct.pack("<IIIII", 0x02000001, 1 << 13, 0, 0, 0)  # permitted and in effect
    os.setxattr(own, "security.capability", net_raw)
    world.execute(words).expect(76)
    os.removexattr(own, "security.capability")
    world.execute(words).expect(0)


@pytest.mark.only("root")
@pytest.mark.parametrize("effective, status", [(harness.ORDINARY_UID, 0), (0, 76)])
def test_a_caller_of_two_identities_is_refused(installed, effective, status):
    _, _, words = installed
    script = (f"import os, sys; os.setresgid(*[{harness.ORDINARY_UID}] * 3); "
              f"os.setresuid({harness.ORDINARY_UID}, {effective}, {effective}); "
              "os.execv(sys.argv[1], sys.argv[1:])")
    done = subprocess.run(["/usr/bin/python3", "-c", script, *map(str, words)], capture_output=True,
                          check=False)
    assert done.returncode == status, done


def test_the_name_of_the_line_is_the_helpers(world):
    done = apply(world, "{}", TRUE, name=FOREIGN_NAME).expect(70)
    assert done.err.startswith(f"{FOREIGN_NAME}: error: ")
    apply(world, policy(*system()), TRUE, name=FOREIGN_NAME).expect(0)
    # A first word "apply" is cordon's way to start it, not SafeClaw's.
    world.execute([program(FOREIGN_NAME), "apply", "--", TRUE]).expect(1)


def told(world, document, *command):
    path = written(world, document)
    target = world.write(world.trusted / "status", "")
    done = world.execute(["/bin/sh", "-c", f'exec "$0" "$@" 7> {target}', program(), "--policy-file",
                          path, "--status-fd", "7", "--", *command])
    return done, target.read_text()


def test_the_status_descriptor_tells_the_same_to_machines(world):
    done, text = told(world, policy(*system(), rule('/a"\\b', "bogus")), TRUE)
    line = json.loads(text)
    assert line["schema"] == "cordon.apply/1" and line["status"] == done.status == 70
    assert done.err == f"cordon-apply: error: {line['error']}\n" and text.count("\n") == 1
    done, text = told(world, policy(*system()), "/no/such")
    assert json.loads(text)["status"] == done.status == 74
    done, text = told(world, policy(*system()), TRUE)
    assert (done.status, text) == (0, "")
    world.execute([program(), "--status-fd", "77", "--policy-file", written(world, policy()), "--",
                   TRUE]).expect(1)


def test_dry_run_tells_what_would_be_applied_and_applies_nothing(world):
    marker = world.project / "made"
    document = policy(*system(), rule(world.project, "readwrite"), rule("/nowhere", "read"),
                      rule("/etc/passwd", "write"), calls=[*CALLS, "clone3"])
    done = apply(world, document, "/usr/bin/touch", marker, options=["--dry-run"]).expect(0)
    assert not marker.exists()
    rights = {entry["path"]: entry["rights"] for entry in done.json["rules"]}
    assert rights["/nowhere"] == [] and rights["/bin"] == ["EXECUTE", "READ_FILE", "READ_DIR"]
    assert rights["/etc/passwd"] == ["WRITE_FILE", "READ_FILE", "TRUNCATE"]
    assert "MAKE_SOCK" in done.json["withheld"] and "MAKE_SOCK" not in rights[str(world.project)]
    assert done.json["calls"]["unanswered"] == ["clone3"]
    apply(world, {}, TRUE, options=["--dry-run"]).expect(70)
    with open("/dev/full", "w", encoding="ascii") as full:
        apply(world, document, TRUE, options=["--dry-run"], stdout=full).expect(75)


def test_layers_are_put_on_in_their_order_and_without_memory(world):
    """no_new_privs, Landlock, descriptors, capabilities, filter, command; nothing is allocated or
    opened between the first and the last."""
    trace = world.write(world.trusted / "trace", "")
    path = written(world, policy(*system()))
    world.execute(["strace", "-qq", "-o", trace, program(), "--policy-file", path, "--", TRUE]).expect(0)
    calls = [line.split("(")[0] for line in trace.read_text().splitlines()]
    first = next(i for i, line in enumerate(trace.read_text().splitlines())
                 if line.startswith("prctl(PR_SET_NO_NEW_PRIVS"))
    last = next(i for i in range(first, len(calls)) if calls[i] == "execve")
    between = calls[first:last + 1]
    order = [call for i, call in enumerate(between) if i == 0 or call != between[i - 1]]
    assert [c for c in order if c != "prctl"] == ["landlock_restrict_self", "close_range", "capset",
                                                  "seccomp", "execve"], order
    assert set(between) <= {"prctl", "landlock_restrict_self", "close_range", "capset", "seccomp",
                            "execve"}


def test_denies_are_held_or_refused(world):
    held = world.make_directory(world.project / "held")
    link = world.link(world.path / "link", held)
    grant = rule(world.project, "readwrite")
    for denied in (rule(held, "read"), rule(held / "new", "write"), rule(link, "readwrite"),
                   rule(world.project, "read"), rule(world.path, "read"),
                   {"path": str(held)}):
        done = apply(world, policy(*system(), grant, deny=[denied]), TRUE).expect(70)
        assert "cannot be held" in done.err
    for denied in (rule(held, "execute"), rule(world.outside, "readwriteexecute"),
                   rule("/usr/share", "write"), rule("/nowhere/at/all", "read")):
        apply(world, policy(*system(), grant, deny=[denied]), TRUE).expect(0)
