"""Process and privilege: cases PR01 to PR30."""

import os
import platform
import shutil
import subprocess

import pytest

from support.harness import CALL_ERRORS, FILE_ERRORS, GONE_ERRORS, ORDINARY_UID, answers

RUN_FACES = {"plain": [], "json": ["--json"], "tty": ["--tty"], "open": ["--net", "open"]}


def test_PR01_ptrace(world, target):
    world.denied("ptrace", target.pid, errors=GONE_ERRORS)


def test_PR02_process_vm(world, target):
    world.denied("process-vm", target.pid, target.address, errors=GONE_ERRORS)
    world.denied("process-vm-write", target.pid, target.address, errors=GONE_ERRORS)


def test_PR04_memory_file_of_an_outside_process(world, target):
    world.denied("proc-mem", target.pid, target.address, errors=GONE_ERRORS)


def test_PR05_signals_to_outside_processes(world, target):
    world.denied("kill", target.pid, errors=GONE_ERRORS)
    world.denied("pidfd-kill", target.pid, errors=GONE_ERRORS | {"ENOSYS"})
    done = world.run("/bin/sh", "-c", "kill -STOP -1; kill -9 1; echo alive")
    assert "alive" in done.out, done.account()
    assert target.process.poll() is None


@pytest.mark.group("secrets")
def test_PR06_environment_of_an_outside_process(world, target):
    world.denied("environ-of", target.pid, errors=GONE_ERRORS)


def test_PR07_no_capability_survives(world):
    world.denied("caps", errors={None})
    assert all(field.endswith("=" + "0" * 16) for field in
               world.inside([("caps",)])[0].detail.split())


@pytest.mark.only("root")
def test_PR09_supplementary_groups(world):
    shared = world.write(world.project / "group.txt", "SECRET\n", 0o640)
    os.chown(shared, 65533, 4)
    wrap = ["setpriv", "--groups", "4,24"]
    [answer] = world.outside_of([("groups",)], wrap=wrap)
    assert answer.detail.endswith(" 4 24"), f"the control has no groups: {answer}"
    done = world.execute([*wrap, world.cordon, "run", "--", world.probe, "groups"])
    done.expect(0)
    assert '"detail":"uid=' in done.out, done.account()
    numbers = done.out.split('"detail":"', 1)[1].split('"')[0].split()[2:]
    assert not set(numbers) & {"4", "24"}, f"groups survive\n{done.account()}"
    done = world.execute([*wrap, world.cordon, "run", "--", "cat", shared]).expect(1)
    assert "SECRET" not in done.out and "Permission denied" in done.err, (
        f"the group still opens files\n{done.account()}")
    # What the group is worth: somebody who is not root reads the file by it, and without it does not.
    somebody = ["setpriv", f"--reuid={ORDINARY_UID}", "--regid=64124"]
    assert world.execute([*somebody, "--groups", "4,24", "cat", shared]).expect(0).out == "SECRET\n"
    world.execute([*somebody, "--clear-groups", "cat", shared]).expect(1)


def test_PR10_unshare(world):
    world.denied("unshare-user", errors=CALL_ERRORS)
    done = world.run("unshare", "-Ur", "id")
    assert "Operation not permitted" in done.expect(1).err, done.account()
    world.bare("unshare", "-Ur", "id").expect(0)


def test_PR11_clone3(world):
    world.denied("clone3-newuser", errors={"ENOSYS"})
    world.denied("clone-newuser", errors=CALL_ERRORS)
    world.denied("clone3-plain", errors={"ENOSYS"})
    world.allowed("threads", 8)


def test_PR12_setns(world):
    world.denied("setns", "/proc/self/ns/mnt", errors=CALL_ERRORS, control="namespaces")


def denied_tool(world):
    tool = world.write(world.project / "tool", b"", 0o755)
    shutil.copy("/usr/bin/id", tool)
    return tool


LOADERS = {"aarch64": "/lib/ld-linux-aarch64.so.1", "x86_64": "/lib64/ld-linux-x86-64.so.2"}


def test_PR14_denied_binary_through_the_loader(world):
    tool = denied_tool(world)
    loader = LOADERS[platform.machine()]
    done = world.run(loader, tool, options=["--deny", "tool"]).expect(127)
    assert "cannot open shared object file" in done.err and "Permission denied" in done.err, done.account()
    world.run(loader, tool).expect(0)


def test_PR15_denied_binary_from_a_child(world):
    tool = denied_tool(world)
    script = f"'{tool}' || exit 7"
    world.run("/bin/sh", "-c", script, options=["--deny", "tool"]).expect(7)
    world.run("/bin/sh", "-c", script).expect(0)


def test_PR16_denied_binary_under_another_name(world):
    tool = denied_tool(world)
    world.link(world.project / "innocent", "tool")
    world.run(world.project / "innocent", options=["--deny", "tool"]).expect(126)
    world.run(world.project / "innocent").expect(0)
    # No collateral: the system's own program of the same kind still runs.
    world.run("/usr/bin/id", options=["--deny", "tool"]).expect(0)
    assert tool.exists()


WRAPPERS = {
    "env": ["env", "cat"], "nice": ["nice", "cat"], "setsid": ["setsid", "-w", "cat"],
    "timeout": ["timeout", "5", "cat"], "nohup": ["nohup", "cat"],
    "find": ["find", "{}", "-exec", "cat"], "xargs": ["xargs", "-a", "/dev/null", "cat"],
}


@pytest.mark.group("secrets")
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_PR17_wrappers_change_nothing(world, wrapper):
    secret = str(world.outside / "secret")
    words = [word.format(secret) for word in WRAPPERS[wrapper]]
    command = [*words, secret] + (["{}", ";"] if wrapper == "find" else [])
    done = world.run(*command)
    assert "SECRET" not in done.out and "No such file" in done.err, done.account()
    assert "SECRET" in world.bare(*command).out


def test_PR19_shebang_and_binfmt(world):
    tool = denied_tool(world)
    script = world.write(world.project / "script", f"#!{tool}\n", 0o755)
    world.run(script, options=["--deny", "tool"]).expect(126)
    world.run("/bin/sh", "-c", f"'{script}'", options=["--deny", "tool"]).expect(126)
    # Without the deny the interpreter starts: id, which takes the script's name for a user's.
    for done in (world.run(script), world.bare(str(script))):
        assert "no such user" in done.expect(1).err, done.account()
    [register] = world.inside([("open-write", "/proc/sys/fs/binfmt_misc/register")])
    assert not register.ok and register.errno in FILE_ERRORS, register


@pytest.mark.parametrize("face", RUN_FACES)
def test_PR21_every_face_is_contained(world, face):
    done = world.run(world.probe, "status", options=RUN_FACES[face])
    assert done.status == 0, done.account()
    text = done.json["stdout"] if face == "json" else done.out
    assert "NoNewPrivs=1" in text and "Seccomp=2" in text, done.account()


def test_PR22_child_session_is_not_wider(world):
    inner = world.write(world.project / "inner-cordon", world.cordon.read_bytes(), 0o755)
    done = world.run(inner, "run", "--write", world.outside, "--", "touch", world.outside / "x")
    assert done.status == 125, done.account()
    assert not (world.outside / "x").exists()
    world.bare(inner, "run", "--write", str(world.outside), "--", "touch",
               str(world.outside / "x")).expect(0)


@pytest.fixture
def evil_library(world):
    """A library whose constructor leaves a marker that no sandbox could."""
    marker = world.outside / "preloaded"
    source = world.write(world.outside / "evil.c", "#include <fcntl.h>\n#include <unistd.h>\n"
                         "__attribute__((constructor)) static void go(void) {\n"
                         f'  close(open("{marker}", O_CREAT | O_WRONLY, 0666));\n}}\n'
                         "unsigned la_version(unsigned version) { return version; }\n")
    library = world.outside / "evil.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    library.chmod(0o755)
    return library, marker


@pytest.mark.group("binary tampering")
@pytest.mark.parametrize("variable", ["LD_PRELOAD", "LD_AUDIT"])
def test_PR24_loader_variables_reach_neither_launcher_nor_command(world, evil_library, variable):
    library, marker = evil_library
    # Through env, so that the library is not loaded by the wrapper that starts the test program.
    launch = ["env", f"{variable}={library}", "GLIBC_TUNABLES=glibc.malloc.check=1"]
    done = world.execute([*launch, world.cordon, "run", "--", "env"])
    done.expect(0)
    assert not marker.exists(), "the launcher loaded it"
    for name in ("LD_PRELOAD", "LD_AUDIT", "GLIBC_TUNABLES"):
        assert name not in done.out, done.account()
    refused = world.run("true", options=["--env", f"{variable}={library}"])
    assert variable in refused.expect(125).err and not marker.exists(), refused.account()
    world.execute([*launch[:2], "true"]).expect(0)
    assert marker.exists(), "the library does not work"


def test_PR25_no_descriptor_beyond_the_three(world):
    held = [os.open("/etc/passwd", os.O_RDONLY) for _ in range(5)]
    try:
        [fds] = world.inside([("fds",)], pass_fds=held)
        assert [part.split("=")[0] for part in fds.detail.split()] == ["0", "1", "2"], fds
        [bare] = world.outside_of([("fds",)], pass_fds=held)
        assert len(bare.detail.split()) >= 8, bare
    finally:
        for fd in held:
            os.close(fd)


def test_PR26_no_core_dumps(world):
    # Under a caller who wants them: else there would be none in any case.
    wanted = ["prlimit", "--core=4096"]
    [control] = world.outside_of([("core-limit",)], wrap=wanted)
    assert control.ok, control
    done = world.execute([*wanted, world.cordon, "run", "--", world.probe, "core-limit"])
    [limit] = answers(done.out)
    assert not limit.ok and limit.detail == "0", limit
    line = "ulimit -c 8; kill -SEGV $$"
    done = world.execute([*wanted, world.cordon, "run", "--", "/bin/sh", "-c", line]).expect(139)
    assert "ulimit" in done.err, "the limit could be raised"
    assert not [name for name in os.listdir(world.project) if name.startswith("core")]


def test_PR27_first_process_is_closed(world):
    found = world.inside([("ptrace", 1), ("proc1-mem",), ("open-read", "/proc/1/mem"),
                          ("environ-of", 1),
                          ("process-vm", 1, "0x1000"), ("list", "/proc/1/fd"),
                          ("list", "/proc/1/map_files"), ("readlink", "/proc/1/cwd")])
    for answer in found:
        assert not answer.ok and answer.errno in GONE_ERRORS | {"EROFS"}, answer
    own = world.inside([("environ-of", "self"), ("list", "/proc/self/fd")])
    assert all(a.ok for a in own), own


@pytest.mark.parametrize("word", ["--version", "--policy", "-h", "--", "--net=open"])
def test_PR30_command_that_looks_like_an_option(world, word):
    world.run(word).expect(127)
    done = world.run("printf", "%s|", word, "--net", "open", "--policy=x")
    done.expect(0)
    assert done.out == f"{word}|--net|open|--policy=x|", done.account()


def test_PR30_argument_confusion(world):
    executable = world.write(world.project / "--net", "#!/bin/sh\necho ran\n", 0o755)
    done = world.execute([world.cordon, "run", "--", "./--net", "open"])
    assert done.out == "ran\n", done.account()
    assert executable.exists()
    big = "x" * (100 * 1024)
    words = [big] * 10
    done = world.run("/bin/sh", "-c", 'echo $# ${#1}', "sh", *words)
    assert done.out.split() == ["10", str(len(big))], done.account()
    done = world.execute([world.cordon, "run", "--", ""])
    assert "no command was given" in done.expect(125).err, done.account()
