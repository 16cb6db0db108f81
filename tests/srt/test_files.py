"""The path rules of sandbox-runtime, and what it leaves open."""

import json
import os
import pathlib
import shutil
import socket
import tempfile

import pytest

from dropin import document, settings, shell, srt

pytestmark = pytest.mark.once


def test_writes_where_it_is_allowed_and_nowhere_else(world):
    world.make_directory(world.project / "locked")
    done = shell(world, f"echo 1 > in; echo 2 > locked/out; echo 3 > {world.outside}/out; "
                        f"echo 4 > ../out; true", allowWrite=["."], denyWrite=["locked"])
    done.expect(0)
    assert (world.project / "in").read_text() == "1\n"
    for path in (world.project / "locked/out", world.outside / "out", world.home / "out"):
        assert not path.exists(), path
    world.bare("/bin/sh", "-c", "echo 2 > locked/out").expect(0)


@pytest.mark.parametrize("spelling", [".", "./", "~/project", "~/project/**", "{project}",
                                      "../project", {"path": "~/project", "literal": True}])
def test_spellings_of_a_writable_path(world, spelling):
    if isinstance(spelling, str):
        spelling = spelling.format(project=world.project)
    shell(world, "echo x > new", allowWrite=[spelling]).expect(0)
    assert (world.project / "new").exists()


def test_a_single_file_can_be_writable(world):
    shell(world, "echo new > file.txt; echo x > other", allowWrite=["file.txt"])
    assert (world.project / "file.txt").read_text() == "new\n"
    assert not (world.project / "other").exists()


def test_what_is_denied_is_not_read(world):
    world.write(world.home / "private/key", "SECRET-key\n")
    world.write(world.project / "a.pem", "SECRET-pem\n")
    world.write(world.project / "sub/b.pem", "SECRET-pem\n")
    line = f"cat ~/private/key a.pem sub/b.pem {world.outside}/secret file.txt"
    rules = {"denyRead": ["~/private", "**/*.pem", world.outside / "secret"], "allowWrite": ["."]}
    done = shell(world, line, **rules)
    assert done.status == 1 and done.out == "project file\n", done.account()
    assert shell(world, line).out.count("SECRET") == 4


def test_what_is_opened_inside_a_denied_path(world):
    """The home is closed, the project in it is not, and a key in the project is."""
    world.write(world.home / "private", "SECRET-home\n")
    world.write(world.project / "keys/key", "SECRET-key\n")
    world.make_directory(world.project / "out")
    rules = {"denyRead": ["~", "keys"], "allowRead": ["."], "allowWrite": ["out"]}
    done = shell(world, "cat file.txt; head -c 8 /var/lib/dpkg/status; echo; cat ~/private keys/key; "
                        "echo x > out/new; echo x > new; ls ~", **rules)
    assert done.out.split("\n")[:2] == ["project file", "Package:"], done.account()
    assert "SECRET-home" not in done.out and "SECRET-key" not in done.out
    assert done.out.split("\n")[2:] == ["project", ""], done.account()
    assert (world.project / "out/new").exists() and not (world.project / "new").exists()
    assert "SECRET-home" in shell(world, "cat ~/private", denyRead=["keys"]).out


def test_only_what_is_opened_is_read_if_everything_is_closed(world):
    done = shell(world, f"cat file.txt; cat {world.outside}/secret; ls {world.home}",
                 denyRead=["/"], allowRead=["."])
    assert "project file" in done.out and "SECRET" not in done.out, done.account()


def test_what_is_denied_and_opened_by_the_same_path_is_open(world):
    """Of two entries for one path the one that opens it wins; a longer one inside still holds, and nothing opens a store."""
    world.write(world.home / "private/key", "SECRET-key\n")
    world.write(world.home / "private/deep/key", "SECRET-deep\n")
    world.plant({".ssh/id_ed25519": "SECRET-ssh\n"})
    both = ["~/private", "~/.ssh"]
    line = "cat ~/private/key ~/private/deep/key ~/.ssh/id_ed25519"
    done = shell(world, line, denyRead=[*both, "~/private/deep"], allowRead=both)
    assert done.out == "SECRET-key\n", done.account()
    assert "SECRET" not in shell(world, line, denyRead=both).out
    # A file, and a directory that may be written around it: it is read and not changed.
    rules = {"denyRead": ["sub/own"], "allowRead": ["sub/own"], "allowWrite": ["."]}
    own = world.write(world.project / "sub/own", "mine\n")
    done = shell(world, "cat sub/own; echo evil > sub/own; mv sub aside; echo x > sub/new", **rules)
    assert done.out == "mine\n" and own.read_text() == "mine\n", done.account()
    assert (world.project / "sub/new").exists()
    assert "mine" not in shell(world, "cat sub/own", denyRead=["sub/own"], allowWrite=["."]).out


def test_what_every_sandbox_has_of_its_own_may_be_asked_for(world):
    rules = {"denyRead": ["/"], "allowRead": [".", "/dev", "/proc", "/dev/urandom"],
             "allowWrite": ["/dev/null", "/dev/tty"]}
    line = "cat file.txt; head -c 2 /dev/zero | wc -c; cat /proc/self/comm; echo x > /dev/null; ls /dev /proc"
    done = shell(world, line, **rules).expect(0)
    assert done.out.splitlines()[:3] == ["project file", "2", "cat"], done.account()
    # They are the sandbox's: no device of the host, and none of its processes.
    devices, processes = done.out.split("/dev:\n")[1].split("/proc:\n")
    assert "null" in devices and not {"kmsg", "mem", "sda"} & set(devices.split()), done.account()
    assert str(os.getpid()) not in processes.split(), done.account()
    assert str(os.getpid()) in world.bare("ls", "/proc").expect(0).out.split()


@pytest.fixture
def in_tmp(world):
    place = pathlib.Path(tempfile.mkdtemp(prefix="cordon-test.", dir="/tmp"))
    place.chmod(0o755)
    world.write(place / "f", "theirs\n")
    yield world.own(place)
    shutil.rmtree(place)


def test_the_callers_tmp_is_there(world, in_tmp):
    """To be read, as all of the disk; temporary files have a place of their own."""
    line = (f"cat {in_tmp}/f; echo evil > {in_tmp}/f; echo x > {in_tmp}/new; echo x > /tmp/new; "
            "file=$(mktemp) && echo made > $file && cat $file")
    done = shell(world, line, allowWrite=["."])
    assert done.out == "theirs\nmade\n" and os.listdir(in_tmp) == ["f"], done.account()
    assert (in_tmp / "f").read_text() == "theirs\n"
    # What may be written of it, and what is denied.
    shell(world, f"echo x > {in_tmp}/new", allowWrite=[in_tmp]).expect(0)
    assert (in_tmp / "new").exists()
    done = shell(world, f"cat {in_tmp}/f; mktemp /tmp/XXXXXX", denyRead=["/tmp"])
    assert "theirs" not in done.out and done.status == 0, done.account()
    done = shell(world, f"cat {in_tmp}/f", denyRead=[in_tmp])
    assert "theirs" not in done.out and done.status == 1, done.account()


def test_no_socket_in_the_callers_tmp_is_reached(world, in_tmp):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(in_tmp / "s"))
        (in_tmp / "s").chmod(0o777)
        listener.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect({str(in_tmp / 's')!r})"
        world.bare("/usr/bin/python3", "-c", code).expect(0)
        for rules in ({}, {"allowWrite": [in_tmp]}):
            path = settings(world, **rules)
            assert srt(world, "-s", path, "/usr/bin/python3", "-c", code).status != 0


# Held wherever something may be written (.gitmodules at the top of it); sandbox-runtime looks at the
# current directory and, for what is there, a few levels below it.
PROTECTED = [".gitconfig", ".gitmodules", ".bashrc", ".bash_profile", ".zshrc", ".zprofile",
             ".profile", ".ripgreprc", ".mcp.json", ".vscode/tasks.json", ".idea/workspace.xml",
             ".claude/commands/x.md", ".claude/agents/x.md", ".zshenv", ".bash_login",
             ".cursor/mcp.json"]


@pytest.mark.parametrize("where", [".", "a/b/c/d", "other"])
def test_protected_files(world, where):
    """What is there cannot be changed; what appears is moved away."""
    top = world.home / "other" if where == "other" else world.project / where
    world.make_directory(top)
    names = [name for name in PROTECTED if where != "a/b/c/d" or name != ".gitmodules"]
    present, absent = names[::2], names[1::2]
    for name in present:
        world.write(top / name, "mine\n")
    lines = [f"mkdir -p $(dirname {top}/{name}); echo evil > {top}/{name}" for name in names]
    done = shell(world, "; ".join([*lines, f"echo fine > {top}/fine"]),
                 allowWrite=[".", "~/other"] if where == "other" else ["."])
    assert (top / "fine").read_text() == "fine\n", done.account()
    for name in present:
        assert (top / name).read_text() == "mine\n", (name, done.account())
    for name in absent:
        assert not (top / name).exists(), (name, done.account())
        assert name.split("/")[0] in done.err, (name, done.account())


def test_git(world):
    run = lambda *words: world.bare("git", *words).expect(0)
    run("init", "-q", ".")
    run("-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "first")
    shell(world, "echo evil > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; "
                 "git config core.fsmonitor evil; echo '[core]' >> .git/config; "
                 "mv .git aside; echo x > work; git add work; "
                 "git -c user.name=a -c user.email=b commit -q --no-verify -m second", allowWrite=["."])
    assert not (world.project / ".git/hooks/pre-commit").exists()
    assert "evil" not in (world.project / ".git/config").read_text()
    assert world.bare("git", "log", "--format=%s").expect(0).out == "second\nfirst\n"


@pytest.mark.parametrize("allowed", [None, False, True])
def test_what_runs_nothing_reaches_gits_configuration(world, allowed):
    """Whether or not it is allowed; what makes git run something never does."""
    world.bare("git", "init", "-q", ".").expect(0)
    rules = {} if allowed is None else {"allowGitConfig": allowed}
    done = shell(world, "git remote add origin https://h.example/x.git && git config core.fsmonitor evil && "
                        "git config --get core.fsmonitor", allowWrite=["."], **rules)
    assert done.expect(0).out == "evil\n", done.account()
    kept = (world.project / ".git/config").read_text()
    assert "https://h.example/x.git" in kept and "evil" not in kept, done.account()
    assert "cordon changes" in done.err


def test_nothing_is_left_in_the_project(world):
    """sandbox-runtime puts eleven empty files and a directory there while a command runs."""
    done = shell(world, "ls -A", allowWrite=["."])
    assert done.expect(0).out.split() == ["file.txt", "probe"], done.account()
    assert sorted(os.listdir(world.project)) == ["file.txt", "probe"]


def test_a_held_path_cannot_be_replaced(world):
    kept = world.write(world.project / "a/b/kept", "mine\n")
    done = shell(world, "echo evil > a/b/kept; rm -f a/b/kept; mv a aside; mv a/b a/aside; "
                        "mkdir -p a/b; echo evil > a/b/kept; echo evil > a/absent; echo x > a/new",
                 allowWrite=["."], denyWrite=["a/b/kept", "a/absent"])
    assert kept.read_text() == "mine\n", done.account()
    assert not (world.project / "a/absent").exists() and (world.project / "a/new").exists()
    assert not (world.project / "aside").exists()


def test_the_settings_are_held(world):
    """In a writable directory, too: the next run would obey what this one wrote."""
    text = json.dumps(document(allowWrite=["."]))
    path = world.write(world.project / "conf/srt.json", text, 0o600)
    done = srt(world, "-s", path, "-c", "echo '{}' > conf/srt.json; rm -f conf/srt.json; "
                                        "mv conf aside; echo x > new")
    assert path.read_text() == text, done.account()
    assert (world.project / "new").exists() and not (world.project / "aside").exists()


def test_links_lead_no_further(world):
    world.write(world.home / "private/key", "SECRET-key\n")
    world.link(world.project / "docs", world.home / "private")
    # A link that an earlier command may have left is no grant of what it leads to.
    done = shell(world, "echo x > docs/new", allowWrite=["docs"]).expect(1)
    assert "link" in done.err and not (world.home / "private/new").exists()
    done = shell(world, "cat docs/key", denyRead=["~/private"], allowRead=["docs"])
    assert done.status == 1 and "SECRET" not in done.out
    # Nor by the name of a file that is held.
    world.link(world.project / ".gitmodules", world.home / "private/key")
    done = shell(world, "cat .gitmodules ~/private/key", denyRead=["~"], allowWrite=["."])
    assert "SECRET" not in done.out, done.account()
    # Writing through one is judged by where it lands.
    shell(world, "echo x > docs/new", allowWrite=["."])
    assert not (world.home / "private/new").exists()
    # One that must not be replaced could be.
    done = shell(world, "rm docs; mkdir docs; echo x > docs/new", allowWrite=["."],
                 denyWrite=["docs"]).expect(1)
    assert "link" in done.err and (world.project / "docs").is_symlink()


def test_credentials_are_not_there(world):
    """sandbox-runtime shows what nobody thought of denying."""
    world.plant({".ssh/id_ed25519": "SECRET-ssh\n", ".aws/credentials": "SECRET-aws\n"})
    line = "cat ~/.ssh/id_ed25519 ~/.aws/credentials"
    assert "SECRET" not in shell(world, line).out
    assert world.bare("/bin/sh", "-c", line).out.count("SECRET") == 2
    path = settings(world, top={"credentials": {"files": [
        {"path": str(world.outside / "secret"), "mode": "deny"}]}})
    done = srt(world, "-s", path, "cat", world.outside / "secret")
    assert done.status == 1 and "SECRET" not in done.out


def test_what_is_moved_into_a_denied_directory_is_not_lost(world):
    """sandbox-runtime puts a writable, empty one over it."""
    world.write(world.project / "held/secret", "SECRET-held\n")
    kept = world.write(world.project / "kept", "kept\n")
    done = shell(world, "mv kept held/; echo x > held/new; cat held/secret; true",
                 denyRead=["held"], allowWrite=["."])
    assert kept.read_text() == "kept\n" and "SECRET" not in done.expect(0).out, done.account()
    assert os.listdir(world.project / "held") == ["secret"]


def test_programs_that_a_command_planted_are_not_run_outside(world):
    """sandbox-runtime starts its helpers from PATH, where a command may have put its own."""
    planted = world.make_directory(world.project / "node_modules/.bin")
    marker = world.home / "marker"
    for name in ("bwrap", "socat", "rg", "bash", "sh", "which", "node", "cordon"):
        world.write(planted / name, f"#!/bin/sh\necho {name} >> {marker}\n", 0o755)
    path = f"{planted}:/usr/bin:/bin"
    assert world.bare("bwrap", env={"PATH": path}).status == 0 and marker.exists()
    marker.unlink()
    path_rules = settings(world, allowWrite=["."])
    srt(world, "-s", path_rules, "-c", "true", env={"PATH": path})
    srt(world, "-s", path_rules, "ls", env={"PATH": path}).expect(0)
    assert not marker.exists(), marker.read_text()


def test_there_are_limits(world):
    done = shell(world, "ulimit -n")
    assert int(done.expect(0).out) <= 4096
