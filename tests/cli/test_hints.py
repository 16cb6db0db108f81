"""What a failed command may have failed of: told to a person with the change, to a model by policy alone."""

import json
import re
import shlex

import pytest

from support.pty_session import Terminal


def at_a_terminal(world, *argv):
    terminal = Terminal(world, [world.cordon, "run", *argv], columns=300)
    status = terminal.wait()
    return status, terminal.seen.decode()


def lines(text, start):
    return [line for line in text.splitlines() if start in line]


def test_a_person_is_told_the_option_and_it_works(world):
    note = world.write(world.home / "notes.txt", "buy milk\n")
    status, seen = at_a_terminal(world, "--", "cat", str(note))
    assert status == 1
    change = re.search(r"not granted: read \S+; (--read \S+)", seen)
    assert change, seen
    status, seen = at_a_terminal(world, *shlex.split(change[1]), "--", "cat", str(note))
    assert status == 0 and "buy milk" in seen and "granted" not in seen


@pytest.mark.parametrize("name", ["there", "new"])
@pytest.mark.parametrize("place", ["home", "outside"])
def test_of_a_write_the_option_that_lets_it_be_written_is_told(world, place, name):
    """A right to read would have it fail once more."""
    directory = {"home": world.home / "d", "outside": world.outside / "d"}[place]
    world.write(directory / "there", "x\n")
    command = ["--", "sh", "-c", f"echo y > {directory / name}"]
    status, seen = at_a_terminal(world, *command)
    change = re.search(r"not granted: write \S+; (--write \S+)", seen)
    assert status == 2 and change and "--read" not in seen, seen
    status, seen = at_a_terminal(world, *shlex.split(change[1]), *command)
    assert status == 0 and "granted" not in seen and (directory / name).read_text() == "y\n", seen


def test_a_person_is_not_told_of_what_is_nowhere(world):
    status, seen = at_a_terminal(world, "--", "cat", str(world.home / "no-such-file"))
    assert status == 1 and "granted" not in seen


def test_what_the_command_made_in_a_private_place_was_there(world):
    """It is gone with the run, which is told; that it was not granted would be wrong."""
    done = world.run("sh", "-c", "echo x > ~/made; test -s ~/made; exit 3").expect(3)
    assert "gone with the run: 1 file in the private home (~/made)" in done.err
    assert "granted" not in done.err
    # The control.
    assert "granted" in world.run("sh", "-c", "test -s ~/other").expect(1).err


def test_a_protected_name_that_the_command_could_write_is_no_reason(world):
    """The host keeps its own, or what appeared is moved away: inside the write went through."""
    world.write(world.project / ".mcp.json", "{}\n")
    for name in (".mcp.json", ".vscode"):
        path = world.project / name
        done = world.run("sh", "-c", f"echo x > {path} && grep -q x {path} && exit 3").expect(3)
        assert "granted" not in done.err and "held back" in done.err, done.err
    # The control: git finds the repository by this file, which a mount holds.
    world.bare("git", "init", "-q", "--separate-git-dir", world.outside / "repository", world.project).expect(0)
    pointer = world.project / ".git"
    assert "granted" in world.run("sh", "-c", f"echo x > {pointer}").expect(2).err


def test_nothing_grants_a_credential(world):
    key = world.write(world.home / ".ssh/id_ed25519", "PLANTED\n")
    status, seen = at_a_terminal(world, "--", "cat", str(key))
    assert status == 1 and "PLANTED" not in seen
    assert "outside what is granted: read" in seen and "--read" not in seen


@pytest.mark.parametrize("path", ["/etc/shadow", "/etc/ssh/ssh_host_none_key", "/etc/ssl/private/x", "/etc/fstab",
                                  "{home}/.ssh/id_ed25519", "{home}/notes.txt"])
def test_the_rule_is_the_one_that_explain_names(world, path):
    """By the name alone, as explain has it: also of a secret of the machine, whether it is there or not."""
    world.plant({".ssh/id_ed25519": "PLANTED\n", "notes.txt": "buy milk\n"})
    path = path.format(home=world.home)
    told = re.search(r"outside what is granted: read \S+ \((.*)\)\n", world.run("cat", path).expect(1).err)
    explained = world.cordon_verb("policy", "explain", "read", path).expect(1).out
    assert told and f"\nrule: {told[1]}\n" in explained, (told and told[0], explained)
    if path.startswith(("/etc/sh", "/etc/ss")):
        assert told[1].startswith('mask "/etc/s') and "nothing can grant this, because machine secret" in explained
        assert "make it first" not in explained


def test_without_a_terminal_nothing_is_told_of_what_exists(world):
    world.write(world.home / "exists.txt", "there\n")
    told = []
    for name in ("exists.txt", "absent.txt"):
        done = world.run("cat", world.home / name).expect(1)
        assert f"outside what is granted: read {world.home / name}" in done.err
        assert "--read" not in done.err
        told.append(done.err.replace(name, "NAME"))
    assert told[0] == told[1], "a model could tell what exists outside"


@pytest.mark.parametrize("command, status", [
    (["true", "/opt/elsewhere"], 0),
    (["sh", "-c", "exit 3"], 3),
    (["cat", "/bin/no-such-program"], 1),
    (["cat", "/tmp/../usr/share/no-such-file"], 1),
    (["cat", "missing/in/the/project"], 1),
], ids=["success", "no path", "system link", "system", "project"])
def test_what_is_granted_or_went_well_is_not_told(world, command, status):
    assert "granted" not in world.run(*command).expect(status).err


def test_the_report_has_guesses_apart_from_denials(world):
    shown = world.write(world.project / "shown", "shown\n")
    script = f"cat {shown}; cat /srv/hidden; touch /usr/share/new"
    done = world.run("sh", "-c", f"eval '{script}'", options=["--json"])
    assert done.status != 0
    hints = {hint["path"]: hint for hint in done.json["hints"]}
    assert set(hints) == {"/srv/hidden", "/usr/share/new"}, hints
    assert hints["/srv/hidden"]["access"] == "read" and hints["/usr/share/new"]["access"] == "write"
    assert all(hint["change"] is None and hint["rule"] for hint in hints.values())
    assert done.json["denials"] == []


def test_a_host_is_told_where_there_is_no_network(world):
    address = "https://registry.example/x"
    status, seen = at_a_terminal(world, "--", "sh", "-c", f": {address}; exit 6")
    change = re.search(r"not granted: connect registry.example:443; (--allow \S+)", seen)
    assert status == 6 and change, seen
    # With the option it is granted: there is nothing left to be told.
    _, seen = at_a_terminal(world, *shlex.split(change[1]), "--", "sh", "-c", f": {address}; exit 6")
    assert "granted" not in seen, seen
    told = world.run("sh", "-c", "echo could not resolve host: pkg.example >&2; exit 1", options=["--json"])
    assert [(hint["access"], hint["path"]) for hint in told.expect(1).json["hints"]] == [
        ("connect", "pkg.example:443")]
    quiet = world.run("sh", "-c", "exit 1", "http://localhost:3000/").expect(1)
    assert "granted" not in quiet.err


def test_messages_count_and_a_flood_of_them_does_not(world):
    one = world.run("python3", "-c", "import sys; sys.exit(chr(47) + 'srv' + chr(47) + 'data: not found')",
                    options=["--json"])
    assert [hint["path"] for hint in one.json["hints"]] == ["/srv/data"]
    flood = world.run("sh", "-c", "i=0; while [ $i -lt 2000 ]; do echo /s$i: not found; i=$((i+1)); done; exit 1",
                      options=["--json"]).expect(1)
    assert 0 < len(flood.json["hints"]) <= 4


def test_hostile_names_reach_no_terminal(world):
    done = world.run("sh", "-c", r"printf '/srv/\033[31mred: not found\n' >&2; exit 1", "/srv/\x1b[2Jx",
                     ).expect(1)
    told = "\n".join(lines(done.err, "granted"))
    assert told and "\x1b" not in told


DATAGRAMS = ("import socket; a, b = socket.socketpair(socket.AF_UNIX, socket.{}); "
             "a.send(b'one'); a.send(b'two'); print(b.recv(9), b.recv(9))")


OWNERS_MODE = ("chmod with a setuid or setgid bit", "set the bit outside")


@pytest.mark.parametrize("command, named, change", [
    (["chmod", "g+s", "d"], *OWNERS_MODE),
    (["sh", "-c", "install -d -m 2775 e"], *OWNERS_MODE),
    (["git", "init", "-q", "--shared", "{at}/shared"], *OWNERS_MODE),
    (["python3", "-c", DATAGRAMS.format("SOCK_DGRAM")], "a local socket of type SOCK_DGRAM", "use SOCK_SEQPACKET"),
    (["strace", "-o", "/dev/null", "true"], "ptrace", "trace outside"),
], ids=["chmod", "install", "git", "socketpair", "strace"])
def test_a_call_that_no_sandbox_permits_is_told_by_name(world, command, named, change):
    world.make_directory(world.project / "d")
    inside = [word.replace("{at}", "/tmp") for word in command]
    done = world.run(*inside)
    assert done.status != 0, done.account()
    [told] = lines(done.err, "refused in every sandbox")
    assert named in told and "seccomp" in told and change in told
    why = world.cordon_verb("why").expect(0).out
    assert f"{named} is refused in every sandbox" in why and change in why
    [hint] = [hint for hint in world.run(*inside, options=["--json"]).json["hints"] if hint["access"] == "call"]
    assert hint["path"] == named and hint["change"].startswith(change)
    # The control: outside nothing refuses it.
    world.bare(*[word.replace("{at}", str(world.outside)) for word in command], cwd=world.project).expect(0)


def test_what_is_told_instead_of_such_a_call_works(world):
    done = world.run("python3", "-c", DATAGRAMS.format("SOCK_SEQPACKET")).expect(0)
    assert done.out == "b'one' b'two'\n" and "refused" not in done.err
    # A bit that was set outside stays, and what is made below has it.
    place = world.make_directory(world.project / "d")
    world.bare("chmod", "g+s", place).expect(0)
    assert world.run("sh", "-c", "mkdir d/e && stat -c %A d/e").expect(0).out[6] == "s"
    # chmod asks for it again, whatever it was told to change.
    assert lines(world.run("chmod", "g-w", "d/e").expect(1).err, "refused in every sandbox")
    assert "refused" not in world.run("sh", "-c", "mkdir f && chmod 1777 f; exit 3").expect(3).err


def test_a_sanitized_program(world):
    """It ended with status 1 once its work was done, and spoke of strace and gdb, which nobody had started."""
    source = world.write(world.project / "a.c", "int main(void) { return 0; }\n")
    world.bare("cc", "-fsanitize=address", "-o", world.project / "a", source).expect(0)
    told = world.run("./a", options=["--json"]).json
    [hint] = told["hints"]
    assert told["exit_code"] != 0 and (hint["access"], hint["path"]) == ("call", "ptrace"), told
    cure = re.search(r"env \S+ CMD", hint["change"])[0].split()
    world.run(*cure[:-1], "./a").expect(0)


def test_why_repeats_it(world):
    world.run("cat", world.home / "notes.txt").expect(1)
    told = world.cordon_verb("why").expect(0).out
    assert f"read {world.home / 'notes.txt'} is not granted" in told
    assert f"cordon policy explain read {world.home / 'notes.txt'}" in told
    explained = world.cordon_verb("policy", "explain", "--json", "read", world.home / "notes.txt")
    assert json.loads(explained.expect(1).out)["allowed"] is False
