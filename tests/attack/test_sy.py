"""System call surface: cases SY01 to SY24."""

import os
import platform
import signal

import pytest

import foreign
from support.harness import CALL_ERRORS, FILE_ERRORS
from support.pty_session import Terminal, may_type_into_terminals

MODES = (["--net", "none"], ["--net", "open"])


def test_SY01_io_uring(world):
    world.denied("io-uring", errors={"ENOSYS", "EPERM"})
    found = world.inside([("syscall", "io_uring_enter"), ("syscall", "io_uring_register")])
    assert all(a.errno in CALL_ERRORS for a in found), found
    bare = world.outside_of([("syscall", "io_uring_enter")])
    assert bare[0].errno not in CALL_ERRORS, bare


def test_SY02_vsock_without_io_uring_either(world):
    world.denied("io-uring", errors={"ENOSYS", "EPERM"}, options=["--net", "open"])
    world.denied("vsock", errors=CALL_ERRORS | {"EAFNOSUPPORT"}, options=["--net", "open"])


def test_SY04_perf(world):
    world.denied("perf", errors=CALL_ERRORS)


def test_SY05_userfaultfd(world):
    world.denied("userfaultfd", errors=CALL_ERRORS)


@pytest.mark.group("secrets")
def test_SY06_keyrings(world):
    name = f"cordon-{os.getpid()}-{world.path.name}"
    [planted] = world.outside_of([("add-key", name)])
    assert planted.ok, planted
    for attempt in (("read-key", name), ("request-key", name), ("keyctl",), ("add-key", name)):
        world.denied(*attempt, errors=CALL_ERRORS)
    assert world.outside_of([("remove-key", name)])[0].ok


SYSTEM_CALLS = ("reboot", "swapon", "swapoff", "settimeofday", "clock_settime", "adjtimex",
                "clock_adjtime", "acct", "syslog", "kexec_load", "kexec_file_load", "init_module",
                "finit_module", "delete_module", "quotactl", "sethostname", "setdomainname",
                "lookup_dcookie", "nfsservctl")
ABSENT_OFTEN = {"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module",
                "lookup_dcookie", "nfsservctl", "quotactl"}


def test_SY08_machine_wide_calls(world):
    found = world.inside([("syscall", name) for name in SYSTEM_CALLS])
    for name, answer in zip(SYSTEM_CALLS, found):
        # clock readings share a call with the settings, so a bad pointer may be what is seen.
        reading = {"adjtimex", "clock_adjtime"}
        assert not answer.ok, (name, answer)
        assert answer.errno in CALL_ERRORS or (name in reading and answer.errno == "EFAULT"), (
            name, answer)
    if world.who.is_root:
        bare = world.outside_of([("syscall", n) for n in SYSTEM_CALLS if n not in ABSENT_OFTEN])
        assert not any(a.errno in CALL_ERRORS for a in bare), bare


@pytest.mark.parametrize("attempt", ["tiocsti", "tiocsti-high"])
def test_SY10_high_bits_of_an_ioctl(world, attempt):
    def play(argv):
        terminal = Terminal(world, argv)
        try:
            terminal.wait()
            return terminal.seen.decode()
        finally:
            terminal.close()
    contained = play([world.cordon, "run", "--", world.probe, attempt])
    assert '"ok":false' in contained and '"EPERM"' in contained, contained
    assert "TYPED" not in contained, contained
    bare = play([world.probe, attempt])
    # Kernels can be told to refuse it to everybody; then there is nothing to prove.
    legacy = may_type_into_terminals()
    assert ('"ok":true' in bare) == (legacy or world.who.is_root), bare


def test_SY11_foreign_architecture(world):
    program = world.write(world.project / "foreign", foreign.program(), 0o755)
    # Where the processor cannot run it, the kernel says so before any filter is asked.
    runs = _can_run(program)
    world.run(program).expect(128 + signal.SIGSYS if runs else 126)
    world.bare("/bin/sh", "-c", f"'{program}'").expect(42 if runs else 126)


def _can_run(program):
    try:
        return os.spawnv(os.P_WAIT, program, [program]) == 42
    except OSError:
        return False


def test_SY13_unknown_numbers(world):
    numbers = (600, 700, 1023, 4095, 65535)
    for answer in world.inside([("syscall", n) for n in numbers]):
        assert answer.errno == "ENOSYS", answer
    assert world.inside([("syscall", "getpid")])[0].ok


def test_SY18_muted_landlock_domain_hides_nothing(world):
    done, report = world.report(
        "/bin/sh", "-c", f"'{world.probe}' landlock-mute '{world.outside}/secret'; "
        "for i in $(seq 60); do sleep 5 & done", options=["--pids", "16"])
    assert "SECRET" not in done.out and '"ok":true' not in done.out, done.account()
    assert any(d["what"] == "pids" for d in report["denials"]), done.report_text
    assert world.outside_of([("landlock-mute", world.outside / "secret")])[0].ok


def test_SY20_page_cache_of_a_read_only_file(world):
    shared = world.write(world.outside / "readable", "original content of the file\n")
    [answer] = world.inside([("splice-cache", shared)], options=["--read", world.outside])
    assert not answer.ok, answer
    assert answer.detail.startswith("original"), answer
    assert shared.read_text() == "original content of the file\n"
    assert "kernel" in world.cordon_verb("doctor").out.lower()


def test_SY21_own_death_signal_and_tracer(world):
    clear, tracer, mm = world.inside([("pdeathsig-clear",), ("set-ptracer", 1), ("set-mm",)])
    assert not mm.ok and mm.errno in CALL_ERRORS, mm
    assert not tracer.ok and tracer.errno in CALL_ERRORS, tracer
    # Clearing one's own death signal is harmless: the first process ends the namespace. That a
    # tree which did so dies with Cordon is proved in the lifecycle family.
    assert clear.ok, clear


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode[1])
def test_SY23_the_filter_is_on_in_every_network_mode(world, mode):
    status, unshare, uring, outside = world.inside(
        [("status",), ("unshare-user",), ("io-uring",), ("read", world.outside / "secret")],
        options=mode)
    assert "Seccomp=2" in status.detail, status
    assert unshare.errno in CALL_ERRORS and uring.errno in CALL_ERRORS, (unshare, uring)
    assert not outside.ok and outside.errno in FILE_ERRORS, outside
    assert world.outside_of([("unshare-user",)])[0].ok


FAMILIES = (("packet", "raw"), ("vsock", "stream"), ("xdp", "raw"), ("alg", "seqpacket"),
            ("bluetooth", "raw"), ("key", "raw"), ("tipc", "seqpacket"), ("rds", "seqpacket"),
            ("can", "raw"), ("inet", "raw", "1"))


@pytest.mark.group("network")
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode[1])
def test_SY24_socket_families(world, mode):
    found = world.inside([("socket", *family) for family in FAMILIES], options=mode)
    for family, answer in zip(FAMILIES, found):
        assert not answer.ok, (family, answer)
        assert answer.errno in {"EPERM", "EACCES", "EAFNOSUPPORT", "EPROTONOSUPPORT",
                                "ESOCKTNOSUPPORT"}, (family, answer)
    assert world.inside([("socket", "inet", "stream")], options=mode)[0].ok
    assert world.outside_of([("socket", "vsock", "stream")])[0].ok


if platform.machine() == "x86_64":
    def test_SY12_x32_numbers(world):
        [answer] = world.inside([("syscall", 0x40000000 | 39)])
        assert not answer.ok, answer
        assert world.inside([("syscall", 39)])[0].ok
