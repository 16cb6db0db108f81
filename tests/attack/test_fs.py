"""Filesystem and path handling: cases FS01 to FS52."""

import os
import subprocess
import threading

import pytest

from gitrepo import git, make_repository
from support.harness import CALL_ERRORS, FILE_ERRORS, GONE_ERRORS, only_chosen_cases, tree_digest, wait_until

AGENT_FILES = (".claude/settings.json", ".mcp.json", ".cursor/mcp.json", ".codex/config.toml",
               ".gemini/settings.json", ".vscode/tasks.json", ".idea/workspace.xml")


@pytest.mark.group("binary tampering")
@pytest.mark.parametrize("name", AGENT_FILES)
def test_FS01_protected_config_absent_at_start(world, name):
    script = f"mkdir -p \"$(dirname '{name}')\"; echo '{{}}' > '{name}'"
    done, report = world.report("/bin/sh", "-c", script)
    assert not (world.project / name).exists(), f"{name} reached the host\n{done.account()}"
    done.expect(0)
    assert [entry["path"] for entry in report["handoff"]], done.report_text
    world.bare("/bin/sh", "-c", script).expect(0)
    assert (world.project / name).exists()


def test_FS02_denied_path_that_does_not_exist_yet(world):
    def attempt():
        found = world.inside([("write", world.project / ".env"), ("read", world.project / ".env")],
                             options=["--deny", ".env"])
        return [(a.ok, a.errno) for a in found], (world.project / ".env").exists()
    first, second = attempt(), attempt()
    assert first == second
    assert not second[1], "the denied file reached the host"
    assert world.outside_of([("write", world.project / ".env")])[0].ok
    world.denied("read", world.project / ".env", options=["--deny", ".env"])


def test_FS04_wildcard_deny_is_expanded(world):
    world.write(world.project / "a.pem", "SECRET\n")
    world.write(world.project / "deep/er/b.pem", "SECRET\n")
    for path in ("a.pem", "deep/er/b.pem"):
        world.denied("read", world.project / path, options=["--deny", "*.pem"])
    world.allowed("read", world.project / "file.txt", options=["--deny", "*.pem"])


def test_FS05_any_depth_deny_is_not_anchored_to_the_cwd(world):
    world.write(world.outside / "tree/x.key", "SECRET\n")
    world.write(world.project / "one/two/x.key", "SECRET\n")
    policy = world.document('version = 1\nextends = "workspace"\n[fs]\n'
                            f'read = ["{world.outside}"]\ndeny = ["**/x.key"]\n')
    inner, outer, plain = world.inside(
        [("read", world.project / "one/two/x.key"), ("read", world.outside / "tree/x.key"),
         ("read", world.outside / "secret")], options=["--policy", policy])
    assert plain.ok, plain
    for answer in (inner, outer):
        assert not answer.ok and answer.errno in FILE_ERRORS, answer
    bare_name = world.document('version = 1\nextends = "workspace"\n[fs]\n'
                               f'read = ["{world.outside}"]\ndeny = ["x.key"]\n', "bare.toml")
    world.denied("read", world.outside / "tree/x.key", options=["--policy", bare_name])


def test_FS06_documented_deny_takes_effect_and_is_explained(world):
    world.write(world.project / ".env", "SECRET\n")
    world.write(world.project / "sub/server.pem", "SECRET\n")
    for pattern, name in ((".env", ".env"), ("**/*.pem", "sub/server.pem")):
        options = ["--deny", pattern]
        world.denied("read", world.project / name, options=options)
        told = world.cordon_verb("policy", "explain", *options, "read", world.project / name)
        told.expect(1)
    world.cordon_verb("policy", "explain", "read", world.project / ".env").expect(0)


def test_FS07_glob_with_very_many_matches_fails_closed(world):
    many = world.make_directory(world.project / "many")
    world.execute(["/bin/sh", "-c", "seq -f 'f%g.key' 4200 | xargs touch"], cwd=many)
    done = world.run("touch", "ran", options=["--deny", "*.key"])
    done.expect(125)
    assert not (world.project / "ran").exists(), "the command ran although the deny was not held"
    world.execute(["/bin/sh", "-c", "ls | tail -n +301 | xargs rm"], cwd=many)
    world.denied("read", many / os.listdir(many)[0], options=["--deny", "*.key"])


@pytest.mark.group("symlink")
def test_FS09_deny_holds_through_a_symlink_alias(world):
    world.write(world.project / "secret.txt", "SECRET\n")
    world.link(world.project / "alias", "secret.txt")
    world.link(world.project / "alias-dir", world.project)
    for name in ("alias", "alias-dir/secret.txt"):
        world.denied("read", world.project / name, options=["--deny", "secret.txt"])


@pytest.mark.group("traversal")
def test_FS10_sibling_with_the_same_prefix_is_outside(world):
    good = world.make_directory(world.outside / "tree")
    evil = world.make_directory(world.outside / "tree-evil")
    # Without scratch space nothing but the grant can be written, so the verdict is the grant's.
    options = ["--policy", "strict", "--read", world.probe, "--write", good]
    world.denied("write", evil / "x", options=options)
    world.allowed("write", good / "x", options=options)
    world.cordon_verb("policy", "explain", *options, "write", evil / "y").expect(1)
    world.cordon_verb("policy", "explain", *options, "write", good / "y").expect(0)


@pytest.mark.group("traversal")
def test_FS11_cwd_option_grants_nothing(world):
    done = world.run("touch", "x", options=["--cwd", world.outside])
    assert done.status == 125 and not (world.outside / "x").exists(), done.account()
    # A directory on the way to what is granted is there, and holds nothing else of the host's.
    world.make_directory(world.outside / "sub")
    options = ["--read", world.outside / "sub", "--cwd", world.outside]
    world.run("touch", "x", options=options)
    assert not (world.outside / "x").exists()
    world.denied("read", world.outside / "secret", options=options)


@pytest.mark.group("symlink")
def test_FS12_unresolvable_path_is_not_granted_by_its_spelling(world):
    world.link(world.outside / "loop", "loop2")
    world.link(world.outside / "loop2", "loop")
    done = world.run("touch", "ran", options=["--write", world.outside / "loop" / "x"])
    assert done.status == 125, done.account()
    assert not (world.project / "ran").exists()
    world.run("touch", "ran", options=["--write", world.outside]).expect(0)


def test_FS14_git_directory_cannot_be_renamed_away(world):
    make_repository(world)
    world.denied("rename", world.project / ".git", world.project / ".git-old",
                 errors=FILE_ERRORS | {"EBUSY", "EXDEV"})
    git_now = world.project / ".git-old"
    assert git_now.exists(), "the control renamed it"
    git_now.rename(world.project / ".git")
    before = tree_digest(world.project / ".git/hooks")
    world.run("/bin/sh", "-c", "mv .git .old; mkdir -p .git/hooks;"
              "echo evil > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; true")
    assert tree_digest(world.project / ".git/hooks") == before


def test_FS15_second_hard_link_to_a_denied_file(world):
    world.write(world.project / "secret.txt", "SECRET\n")
    os.link(world.project / "secret.txt", world.project / "innocent.txt")
    done = world.run("cat", world.project / "innocent.txt", options=["--deny", "secret.txt"])
    assert "SECRET" not in done.out, f"the second link is readable\n{done.account()}"
    assert "SECRET" in world.bare("cat", world.project / "innocent.txt").out
    world.allowed("read", world.project / "file.txt", options=["--deny", "other.txt"])


def test_FS16_rename_of_and_onto_a_denied_name(world):
    world.write(world.project / "secret.txt", "SECRET\n")
    options = ["--deny", "secret.txt"]
    away, onto, swap, read = world.inside(
        [("rename", world.project / "secret.txt", world.project / "open.txt"),
         ("rename", world.project / "file.txt", world.project / "secret.txt"),
         ("exchange", world.project / "file.txt", world.project / "secret.txt"),
         ("read", world.project / "open.txt")], options=options)
    for answer in (away, onto, swap, read):
        assert not answer.ok, answer
        assert answer.errno in FILE_ERRORS | {"EBUSY", "EXDEV"}, answer
    assert (world.project / "secret.txt").read_text() == "SECRET\n"
    assert world.outside_of([("rename", world.project / "secret.txt",
                              world.project / "open.txt")])[0].ok


def test_FS17_all_open_calls_agree(world):
    secret, new = world.outside / "secret", world.outside / "new"
    found = world.inside([("read", secret), ("openat2-read", secret), ("open-path-reopen", secret),
                          ("write", new), ("creat", new), ("openat2-write", new)])
    assert {a.ok for a in found} == {False}, found
    # openat2 is answered as by an older kernel: its mode cannot be judged.
    assert {a.errno for a in found} <= FILE_ERRORS | {"ENOSYS"}, found
    assert all(a.ok for a in world.outside_of([
        ("read", secret), ("openat2-read", secret), ("open-path-reopen", secret), ("write", new),
        ("creat", new), ("openat2-write", new)]))


@pytest.mark.group("traversal")
@pytest.mark.parametrize("alias", ["/proc/self/root{0}", "/proc/self/cwd/../../outside/secret",
                                   "/proc/thread-self/root{0}", "/proc/1/root{0}",
                                   "/dev/fd/../root{0}"])
def test_FS24_proc_aliases(world, alias):
    path = alias.format(world.outside / "secret")
    control = "why: the host's first process belongs to the machine"
    world.denied("read", path, control=control if "/proc/1/" in path else "bare")


def test_FS25_reopening_through_proc(world, target):
    for path in (f"/proc/{target.pid}/root{world.outside}/secret",
                 f"/proc/{target.pid}/cwd/../../outside/secret"):
        world.denied("read", path, errors=GONE_ERRORS | FILE_ERRORS)
    world.denied("open-path-reopen", world.outside / "secret")
    found = world.inside([("readlink", "/proc/1/exe"), ("list", "/proc/1/fd"),
                          ("open-read", "/proc/1/root")])
    assert not any(a.ok for a in found), found


@pytest.mark.group("traversal")
def test_FS26_dots_after_a_symlink_are_physical(world):
    world.write(world.outside / "deep/er/x", "x")
    world.write(world.outside / "b", "SECRET\n")
    world.link(world.project / "a", world.outside / "deep/er")
    world.denied("read", f"{world.project}/a/../../b")
    told = world.cordon_verb("policy", "explain", "read", f"{world.project}/a/../../b")
    told.expect(1)


def test_FS29_control_characters_in_names(world):
    script = "mkdir -p \"$(printf 'a\\nb\\033[31m')/.vscode\"; " \
             "echo {} > \"$(printf 'a\\nb\\033[31m')/.vscode/tasks.json\"; ls"
    done, report = world.report("/bin/sh", "-c", script)
    done.expect(0)
    assert "\x1b" not in done.err, f"a raw escape in Cordon's own words\n{done.err!r}"
    paths = [entry["path"] for entry in report["handoff"]]
    assert any(".vscode" in path for path in paths), done.report_text
    assert not (world.project / "a\nb\x1b[31m" / ".vscode").exists()


def flip(path, first, second, ended):
    """Keeps replacing `path` by a link to each in turn."""
    spare = path.with_name(path.name + ".spare")
    while not ended.is_set():
        for target in (first, second):
            os.symlink(target, spare)
            os.rename(spare, path)


@pytest.mark.group("symlink")
def test_FS30_grant_swapped_for_a_symlink(world):
    inner = world.make_directory(world.project / "inner")
    world.write(inner / "secret", "inside\n")
    grant = world.link(world.home / "grant", inner)
    ended = threading.Event()
    flipper = threading.Thread(target=flip, args=(grant, world.outside, inner, ended))
    flipper.start()
    try:
        # The grant is `inner` by a ceiling, so whatever the name leads to, only that may be read.
        ceiling = world.document(f'version = 1\n[fs]\nread = ["{inner}", "/usr"]\n'
                                 f'write = ["{world.project}"]\n', "ceiling.toml")
        for _ in range(20 if only_chosen_cases() else 60):
            done = world.run("cat", grant / "secret",
                             options=["--read", grant, "--ceiling", ceiling])
            assert "SECRET" not in done.out, done.account()
    finally:
        ended.set()
        flipper.join()
    world.run("cat", inner / "secret", options=["--ceiling", ceiling]).expect(0)
    assert "SECRET" in world.bare("cat", world.outside / "secret").out


@pytest.mark.group("symlink")
def test_FS31_way_to_a_mask_swapped_for_a_symlink(world):
    """Both files are denied by name and never move; only the way to them keeps changing."""
    for name in ("one", "two"):
        world.write(world.project / name / "masked", "SECRET\n")
    way = world.link(world.project / "way", "one")
    ended = threading.Event()
    flipper = threading.Thread(target=flip, args=(way, "two", "one", ended))
    flipper.start()
    started = 0
    try:
        for _ in range(20 if only_chosen_cases() else 40):
            done = world.run("cat", "way/masked", "one/masked", "two/masked", "file.txt",
                             options=["--deny", "masked"])
            assert "SECRET" not in done.out, done.account()
            started += "project file" in done.out
    finally:
        ended.set()
        flipper.join()
    assert started, "every run was refused: nothing was proved"
    world.denied("read", way / "masked", options=["--deny", "masked"])


@pytest.mark.group("symlink")
def test_FS32_persistent_directory_holds_a_symlink_at_the_next_start(world):
    options = ["--policy", "build"]
    cache = world.home / ".cache"
    world.run("/bin/sh", "-c", f"ln -s '{world.outside}' '{cache}/evil' && ls -l '{cache}'",
              options=options).expect(0)
    world.denied("read", cache / "evil/secret", options=options,
                 control="why: the cache is private, so the host has no such name")
    assert not (cache / "evil").exists()
    world.run("/bin/sh", "-c", f"rm -rf '{cache}'; ln -s '{world.outside}' '{cache}'",
              options=options)
    world.denied("read", cache / "secret", options=options,
                 control="why: the cache is private, so the host has no such name")


def worktree(world):
    main = make_repository(world, world.outside / "main")
    world.project.rename(world.home / "old")
    git(world, "worktree", "add", "-q", str(world.project), "-b", "side", cwd=main)
    world.write(world.project / "probe", (world.home / "old/probe").read_bytes(), 0o755)
    return main


def test_FS34_worktree_pointer_is_held_and_opens_only_its_git_directory(world):
    main = worktree(world)
    pointer = (world.project / ".git").read_text()
    config = (main / ".git/config").read_bytes()
    world.run("/bin/sh", "-c", "git status && echo x >> tracked.txt && git add -A . && "
              "git -c user.name=a -c user.email=a@example.org commit -q -m inside").expect(0)
    world.inside([("write", main / "stray.txt"), ("append", main / "tracked.txt")])
    assert not (main / "stray.txt").exists(), "the whole main repository is writable"
    assert (main / "tracked.txt").read_text() == "tracked\n"
    world.run("/bin/sh", "-c", f"echo 'gitdir: {world.outside}' > .git; "
              f"git config core.fsmonitor /bin/evil; true")
    assert (world.project / ".git").read_text() == pointer
    assert (main / ".git/config").read_bytes() == config


def test_FS34_planted_pointer_grants_nothing(world):
    other = make_repository(world, world.home / "other")
    world.write(world.project / ".git", f"gitdir: {other}/.git\n")
    world.denied("write", other / ".git/planted")
    world.denied("read", other / ".git/config")


@pytest.mark.group("symlink")
def test_FS35_protected_directory_becomes_a_symlink(world):
    world.write(world.project / ".vscode/settings.json", "{}\n")
    before = tree_digest(world.project / ".vscode")
    world.run("/bin/sh", "-c", "mkdir evil; echo '{\"x\":1}' > evil/settings.json;"
              "rm -rf .vscode; mv .vscode away; ln -s evil .vscode;"
              "ln -s evil .idea; true").expect(0)
    assert not (world.project / ".vscode").is_symlink()
    assert tree_digest(world.project / ".vscode") == before
    assert not os.path.lexists(world.project / ".idea"), "a link made during the run stayed"
    world.bare("/bin/sh", "-c", "ln -s evil .idea").expect(0)


def test_FS36_protected_name_at_great_depth(world):
    deep = "/".join(f"d{i}" for i in range(24))
    world.write(world.project / deep / ".mcp.json", "{}\n")
    world.allowed("write", world.project / deep / ".mcp.json")  # of a private copy
    assert (world.project / deep / ".mcp.json").read_text() == "{}\n"
    [bare] = world.outside_of([("write", world.project / deep / ".mcp.json")])
    assert bare.ok
    script = f"mkdir -p {deep}/new/.claude; echo x > {deep}/new/.claude/settings.json"
    world.run("/bin/sh", "-c", script)
    assert not (world.project / deep / "new/.claude").exists()


def test_FS37_metadata_outside_writable_roots(world):
    world.write(world.outside / "readable", "x")
    options = ["--read", world.outside]
    for attempt in ("chmod", "chown", "utimes", "setxattr"):
        world.denied(attempt, world.outside / "readable", options=options)
    world.allowed("read", world.outside / "readable", options=options)
    for attempt in ("chmod", "chown", "utimes"):
        world.allowed(attempt, world.project / "file.txt")


@pytest.mark.group("traversal")
def test_FS39_directory_moved_out_of_its_mount(world):
    world.write(world.project / "sub/x", "x")
    script = "cd sub && echo ready && read line && cat ../secret ../../outside/secret; ls ..; true"

    def play(argv):
        process = world.start(argv, stdin=subprocess.PIPE)
        assert process.stdout.readline() == b"ready\n", process.communicate()
        (world.project / "sub").rename(world.outside / "sub")
        out, err = process.communicate(b"go\n", timeout=40)
        (world.outside / "sub").rename(world.project / "sub")
        return out + err
    assert b"SECRET" not in play([world.cordon, "run", "--", "/bin/sh", "-c", script])
    assert b"SECRET" in play(["/bin/sh", "-c", script])


@pytest.mark.only("root")
@pytest.mark.parametrize("attempt", ["mknod-dev", "mknod-block"])
def test_FS40_device_nodes(world, attempt):
    world.denied(attempt, world.project / "node", errors=FILE_ERRORS)


def test_FS41_setuid_and_file_capabilities(world):
    answer = world.inside([("file-capability", world.project / "probe")])[0]
    assert not answer.ok and answer.errno in CALL_ERRORS | FILE_ERRORS, answer
    setuid = world.write(world.outside / "setuid", world.probe.read_bytes(), 0o755)
    if world.who.prefix:
        os.chown(setuid, 0, 0)
        setuid.chmod(0o6755)
        groups = world.inside([("groups",)])[0].detail
        done = world.run(setuid, "groups", options=["--read", world.outside]).expect(0)
        assert "uid=" in groups and groups.split()[0] in done.out, done.account()
        assert "uid=0 " in world.bare(setuid, "groups").out, "the control gained nothing"
    done = world.run("/bin/sh", "-c", "cp probe mine && ./mine caps; ./mine status")
    assert "NoNewPrivs=1" in done.out, done.account()


@pytest.mark.parametrize("bits", [0o4755, 0o2755, 0o6755])
def test_FS41_nothing_that_runs_as_its_owner_is_left_on_the_host(world, bits):
    """Inside it gains nothing; on the host anybody who may execute it becomes the caller."""
    script = ("import ctypes, os\n"
              f"bits, libc = {bits:#o}, ctypes.CDLL(None, use_errno=True)\n"
              "open('plain', 'w').close()\n"
              "os.chmod('plain', 0o755)\n"
              "def tried(call, *arguments, **how):\n"
              "    try: call(*arguments, **how); return 'done'\n"
              "    except OSError as error: return error.errno\n"
              "flags = os.O_CREAT | os.O_WRONLY\n"
              "print(tried(os.chmod, 'plain', bits),\n"
              "      tried(os.fchmod, os.open('plain', os.O_RDONLY), bits),\n"
              "      tried(os.chmod, 'plain', bits, dir_fd=os.open('.', os.O_RDONLY)),\n"
              "      tried(os.open, 'made', flags, bits),\n"
              "      tried(os.open, '.', os.O_TMPFILE | os.O_WRONLY, bits),\n"
              "      tried(os.mknod, 'node', 0o100000 | bits))\n"
              "how = (ctypes.c_uint64 * 3)(flags, bits, 0)\n"
              "print(libc.syscall(437, -100, b'made2', how, 24), ctypes.get_errno())\n")
    program = world.write(world.project / "attempt.py", script)
    done = world.run("/usr/bin/python3", program).expect(0)
    assert done.out.split() == ["1"] * 6 + ["-1", "38"], done.account()
    left = [path for path in world.project.iterdir() if path.stat().st_mode & 0o6000]
    assert left == []
    assert (world.project / "plain").stat().st_mode & 0o7777 == 0o755, "an ordinary mode is set"
    control = world.bare("/usr/bin/python3", str(program)).expect(0)
    assert control.out.split()[:6] == ["done"] * 6, control.account()


@pytest.mark.parametrize("name", [".mcp.json", ".git", ".vscode", "package.json", "Makefile"])
def test_FS42_fifo_where_the_host_will_look(world, name):
    done, _ = world.report(world.probe, "mkfifo", world.project / name)
    assert done.seconds < 30
    planted = world.project / name
    if not os.path.lexists(planted):
        world.bare("mkfifo", str(planted)).expect(0)
    world.run("true")
    world.cordon_verb("policy", "explain", "read", planted)


def test_FS44_temporary_files_are_private(world):
    before = {place: set(os.listdir(place)) for place in ("/tmp", "/var/tmp", "/dev/shm")}
    world.run("/bin/sh", "-c", "mkdir .claude; echo x > .claude/settings.json; echo > /tmp/mine")
    for place, names in before.items():
        fresh = [n for n in set(os.listdir(place)) - names if "cordon-run" in n or n == "mine"]
        assert not fresh, f"{fresh} appeared in {place}"
    state = world.home / ".local/state/cordon"
    assert state.is_dir(), "the handoff is not where the contract says"
    for directory in (state, *[p for p in state.rglob("*") if p.is_dir() and "handoff" != p.name]):
        if directory.parent in (state.parent, state):
            assert directory.stat().st_mode & 0o077 == 0, f"{directory} is open to others"


def test_FS45_leaked_directory_descriptor(world):
    fd = os.open(world.outside, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.set_inheritable(fd, True)
        attempts = [("read", f"/proc/self/fd/{fd}/secret"), ("fds",)]
        leaked, fds = world.inside(attempts, pass_fds=(fd,))
        assert not leaked.ok, leaked
        assert [part.split("=")[0] for part in fds.detail.split()] == ["0", "1", "2"], fds
        control = world.outside_of(attempts, pass_fds=(fd,))
        assert control[0].ok, control
    finally:
        os.close(fd)
    [here] = world.inside([("cwd",)])
    assert here.detail == str(world.project)


@pytest.mark.only("root")
def test_FS46_open_by_handle(world):
    world.denied("open-by-handle", world.project / "file.txt", errors=CALL_ERRORS)
    world.denied("open-root-by-handle", world.project, errors=CALL_ERRORS)


@pytest.mark.parametrize("attempt", [("fsopen",), ("mount-tmpfs", "/tmp"), ("umount", "/tmp"),
                                     ("mount-bind", "/usr", "/mnt")])
def test_FS47_every_way_to_mount(world, attempt):
    # A host mount is locked in an ordinary user's own namespace; root may detach it there.
    may = attempt[0] != "umount"
    world.denied(*attempt, errors=CALL_ERRORS,
                 control="namespaces" if may else "why: nothing is mounted there on the host")


def test_FS49_nested_namespace_cannot_reveal_a_mask(world):
    world.write(world.project / "secret.txt", "SECRET\n")
    world.denied("nested-mount", world.project, errors=CALL_ERRORS)
    done = world.run("unshare", "-Urm", "/bin/sh", "-c", "umount secret.txt; cat secret.txt",
                     options=["--deny", "secret.txt"])
    assert "SECRET" not in done.out and done.status == 1, done.account()
    assert "SECRET" in world.bare("unshare", "-Urm", "cat", "secret.txt").out


@pytest.mark.only("root")
@pytest.mark.parametrize("path", ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname",
                                  "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/pid_max"])
def test_FS50_kernel_settings(world, path):
    world.denied("proc-sys-write", path)


@pytest.mark.only("root")
@pytest.mark.parametrize("path", ["/proc/sysrq-trigger", "/sys/kernel/uevent_helper",
                                  "/proc/sys/fs/binfmt_misc/register", "/sys/power/state"])
def test_FS50_kernel_triggers(world, path):
    world.denied("open-write", path, control="why: not every kernel has it")


@pytest.mark.group("binary tampering")
def test_FS51_launcher_cannot_be_overwritten(world):
    before = world.cordon.read_bytes()
    found = world.inside([("open-write", "/proc/1/exe"), ("write", "/proc/1/exe"),
                          ("open-write", world.cordon)])
    assert not any(a.ok for a in found), found
    assert world.cordon.read_bytes() == before
    own = world.write(world.project / "mycordon", before, 0o755)
    done = world.execute([own, "run", "--", world.probe, "append", own])
    assert done.status == 1, f"the launcher in a grant is writable\n{done.account()}"
    assert own.read_bytes() == before
    assert world.outside_of([("append", own)])[0].ok


def test_FS52_memory_files(world, target):
    world.denied("proc-mem", target.pid, target.address, errors=GONE_ERRORS)
    world.denied("proc1-mem", errors=GONE_ERRORS | {"EROFS"},
                 control="why: the host's first process belongs to the machine")
    # Writing one's own read-only pages crosses no boundary, so either verdict will do; that the
    # pages of a file shared with the host stay as they are will not.
    shared = world.write(world.outside / "mapped", "original\n")
    world.inside([("self-mem-write",), ("splice-cache", shared)], options=["--read", world.outside])
    assert shared.read_text() == "original\n"


@pytest.mark.group("symlink")
def test_R522_symlink_to_a_protected_directory(world):
    world.link(world.project / "link", world.outside)
    world.denied("read", world.project / "link/secret")


@pytest.mark.group("symlink")
def test_R523_symlink_inside_a_grant_works(world):
    world.write(world.project / "real/data", "inside\n")
    world.link(world.project / "link", "real")
    assert world.allowed("read", world.project / "link/data").detail == "inside\n"


@pytest.mark.group("traversal")
def test_R524_dots_lead_nowhere(world):
    world.denied("read", f"{world.project}/../../outside/secret")


@pytest.mark.group("traversal")
def test_R525_absolute_path_outside(world):
    world.denied("read", world.outside / "secret")


@pytest.mark.group("symlink")
def test_R537_symlink_race_inside(world):
    for base in (world.project / "race", world.project / "control"):
        world.make_directory(base)
        world.write(base / "inside/secret", "inside\n")
    # On a busy machine the two that race take turns in long pieces, and few rounds see one side alone.
    for rounds in (10_000, 100_000, 1_000_000):
        answer = world.inside([("race-symlink", world.project / "race", world.outside, rounds)])[0]
        assert "escapes=0" in answer.detail, answer
        bare = world.outside_of([("race-symlink", world.project / "control", world.outside, rounds)])[0]
        if bare.ok and " good=0" not in answer.detail:
            break
    assert bare.ok, f"the race proves nothing: {bare}"
    assert " good=0" not in answer.detail, answer


@pytest.mark.group("symlink")
def test_R538_hard_link_placed_before_the_run(world):
    """A link to an outside inode that already lies in the grant is part of the grant: whoever made
    it could have copied the file. What a run may not do is make one."""
    world.write(world.outside / "shared", "shared\n")
    os.link(world.outside / "shared", world.project / "shared")
    assert world.allowed("read", world.project / "shared").detail == "shared\n"
    world.denied("link", world.outside / "secret", world.project / "taken",
                 errors=FILE_ERRORS | {"EXDEV"})


@pytest.mark.group("cleanup")
def test_R536_no_write_after_the_end(world):
    growing = world.project / "growing"
    world.run("/bin/sh", "-c", f"'{world.probe}' daemonize R536-{os.getpid()} 60 '{growing}'; "
              f"until [ -s '{growing}' ]; do sleep 0.05; done").expect(0)
    size = growing.stat().st_size
    assert size > 0, "the writer never wrote"
    assert not wait_until(lambda: growing.stat().st_size != size, 1.0), "the file still grows"
