"""Root in somebody else's project: the command runs as the owner of what it may write, or it is said
before the start what would fail."""

import json
import os
import re
import stat
import subprocess

import pytest

from support import harness

OWNER = 64321
GROUP = 64322

pytestmark = pytest.mark.only("root")


def give(path, uid=OWNER, gid=GROUP):
    os.chown(path, uid, gid, follow_symlinks=False)
    if path.is_dir() and not path.is_symlink():
        for entry in path.iterdir():
            give(entry, uid, gid)


@pytest.fixture
def theirs(world):
    """A project of another user, as a checkout in a container is."""
    world.bare("git", "init", "-q", ".").expect(0)
    world.write(world.project / "src/main.c", "int main;\n")
    give(world.project)
    return world


def owners(path):
    status = path.lstat()
    return status.st_uid, status.st_gid


def test_what_is_made_belongs_to_the_owner(theirs):
    done, report = theirs.report("/bin/sh", "-c", "id -u; id -g; id -G; mkdir made; echo x > made/file; "
                                 "echo more >> src/main.c; touch /tmp/private ~/private")
    assert done.expect(0).out.split() == [str(OWNER), str(GROUP), str(GROUP)], done.account()
    for name in ("made", "made/file", "src/main.c"):
        assert owners(theirs.project / name) == (OWNER, GROUP), name
    assert report["enforcement"]["identity"] == {
        "uid": OWNER, "gid": GROUP, "outside": {"uid": OWNER, "gid": GROUP}}, done.report_text
    assert all(report["enforcement"][layer] for layer in (
        "namespaces", "pivot_root", "bind_mounts", "landlock", "seccomp", "cap_drop")), report


def test_a_closed_project_of_the_owner(theirs):
    theirs.project.chmod(0o700)
    theirs.run("touch", "made").expect(0)
    assert owners(theirs.project / "made") == (OWNER, GROUP)


def test_git_does_not_doubt_the_owner(theirs):
    done = theirs.run("/bin/sh", "-c", "git -c user.name=a -c user.email=a@b add src && "
                      "git -c user.name=a -c user.email=a@b commit -qm one && git status --short")
    assert "dubious" not in done.expect(0).err, done.account()
    assert all(owners(path) == (OWNER, GROUP) for path in (theirs.project / ".git").rglob("*"))


def test_it_has_no_rights_of_roots(theirs):
    """A file that only root may read stays closed even where it is granted; the owner's is open."""
    secret = theirs.write(theirs.outside / "roots", "SECRET\n", 0o600)
    own = theirs.write(theirs.outside / "owners", "fine\n", 0o600)
    give(own)
    options = ["--read", theirs.outside]
    assert theirs.run("cat", own, options=options).expect(0).out == "fine\n"
    done = theirs.run("cat", secret, options=options)
    assert done.status == 1 and "Permission denied" in done.err and done.out == "", done.account()


def test_streams_can_be_opened_by_name(theirs):
    done = theirs.run("/bin/sh", "-c", "echo out > /dev/stdout; echo err > /dev/stderr; cat /dev/stdin",
                      input="in\n")
    assert (done.expect(0).out, done.err) == ("out\nin\n", "err\n"), done.account()
    done = theirs.run("/bin/sh", "-c", "echo out > /dev/stdout", options=["--json"])
    assert done.expect(0).json["stdout"] == "out\n"


def test_homes_and_caches_last(theirs):
    policy = theirs.document('version = 1\nextends = "workspace"\n[fs]\nhome = "persistent"\n'
                             'caches = true\n')
    options = ["--policy", policy]
    theirs.run("/bin/sh", "-c", "echo kept > ~/kept; echo kept > ~/.cache/kept", options=options).expect(0)
    done = theirs.run("/bin/sh", "-c", "cat ~/kept ~/.cache/kept; echo again >> ~/kept", options=options)
    assert done.expect(0).out == "kept\nkept\n", done.account()
    # Another owner has others, and root has its own again.
    give(theirs.project, OWNER + 5, GROUP)
    assert theirs.run("cat", theirs.home / "kept", options=options).status == 1
    give(theirs.project, 0, 0)
    assert theirs.run("cat", theirs.home / "kept", options=options).status == 1
    theirs.run("/bin/sh", "-c", "echo roots > ~/kept", options=options).expect(0)
    state = theirs.home / ".local/state/cordon"
    assert stat.S_IMODE(state.stat().st_mode) & 0o077 == 0 and owners(state) == (0, 0)


def test_what_root_owns_stays_roots(world):
    done, report = world.report("/bin/sh", "-c", "id -u; touch made")
    assert done.expect(0).out == "1000\n"
    assert owners(world.project / "made") == (0, 0)
    assert report["enforcement"]["identity"]["outside"] == {"uid": 0, "gid": 0}, done.report_text


def test_owners_that_differ_are_refused_by_name(theirs):
    done = theirs.run("touch", "made", options=["--write", theirs.outside])
    done.expect(125)
    assert str(theirs.project) in done.err and f"uid {OWNER}" in done.err, done.account()
    assert not (theirs.project / "made").exists()
    give(theirs.outside)
    theirs.run("touch", "made", options=["--write", theirs.outside]).expect(0)
    # The other cure, as it is written.
    give(theirs.outside, 0, 0)
    [line] = re.findall(r"\((chown -R [^)]*)\)", done.err)
    theirs.bare("/bin/sh", "-c", line).expect(0)
    theirs.run("touch", theirs.outside / "made", options=["--write", theirs.outside]).expect(0)


def start_as_said(world, err, *words):
    """What the message has in brackets, with the rest of the command for its dots. The owner reaches neither root's
    home nor, there, a ceiling."""
    [line] = re.findall(r"\((setpriv .*?'HOME=\$\(mktemp -d\) cordon run) \.\.\.'\)", err)
    world.home.chmod(0o711)
    for name in (".config", ".local"):
        world.make_directory(world.home / name).chmod(0o700)
    rest = " ".join(map(str, words))
    return world.bare("/bin/sh", "-c", line.replace("cordon run", f"{world.cordon} run") + f" {rest}'")


def test_a_directory_that_everybody_may_write_is_no_obstacle(theirs):
    """Nothing would fail, so nothing is refused."""
    theirs.project.chmod(0o777)
    theirs.run("touch", "made", options=["--write", theirs.outside]).expect(0)
    assert owners(theirs.project / "made") == (0, 0)


@pytest.mark.parametrize("drop", ["setuid", "setgid"])
def test_root_without_the_power_is_refused_and_the_cure_works(theirs, drop):
    line = ["setpriv", f"--bounding-set=-{drop}", "--inh-caps=-all", theirs.cordon, "run"]
    done = theirs.execute([*line, "--", "touch", "made"])
    done.expect(125)
    assert "CAP_SETUID" in done.err and "setpriv --reuid=64321" in done.err, done.account()
    assert "--user 64321:64322" in done.err and "--cap-add SETUID" in done.err, done.account()
    start_as_said(theirs, done.err, "--", "touch", "made").expect(0)
    assert owners(theirs.project / "made") == (OWNER, GROUP)


def test_an_id_that_the_namespace_lacks(theirs):
    """Rootless containers have few ids: the owner shows as nobody there."""
    theirs.project.chmod(0o755)
    done = theirs.execute(["unshare", "-Ur", theirs.cordon, "run", "--", "touch", "made"])
    done.expect(125)
    assert "does not have that id" in done.err, done.account()


def test_what_the_owner_may_not_reach_is_named(theirs):
    """Root passes the outer directory and the owner the inner one: nobody passes both."""
    hidden = theirs.make_directory(theirs.path / "hidden")
    inner = theirs.make_directory(hidden / "inner")
    data = theirs.write(inner / "data/file", "data\n").parent
    hidden.chmod(0o700)
    inner.chmod(0o700)
    give(inner)
    done = theirs.run("cat", data / "file", options=["--read", data])
    done.expect(125)
    assert f"uid {OWNER}" in done.err and str(data) in done.err, done.account()
    assert "chmod o+x" in done.err, done.account()
    hidden.chmod(0o711)
    assert theirs.run("cat", data / "file", options=["--read", data]).expect(0).out == "data\n"


def test_what_is_hidden_behind_a_closed_directory(theirs):
    """The owner cannot search it, so it is hidden as a whole, and stays so when it is opened."""
    shown = theirs.make_directory(theirs.path / "shown")
    theirs.write(shown / "file", "data\n")
    closed = theirs.make_directory(shown / "closed")
    secret = theirs.write(closed / ".ssh/id_rsa", "SECRET\n", 0o644)
    closed.chmod(0o700)
    options = ["--read", shown, "--deny", closed / ".ssh"]
    process = theirs.start([theirs.cordon, "run", *options, "--", "/bin/sh", "-c",
                            f"cat {shown}/file; read -r go; cat {secret} {closed}/.ssh/*"],
                           stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"data\n"
    closed.chmod(0o777)
    out, err = process.communicate(b"go\n", timeout=40)
    assert b"SECRET" not in out + err and process.returncode == 1, (out, err)
    # Nor is anything else in it shown, whose own mode would let the owner read it.
    theirs.write(closed / "other", "OTHER\n", 0o644)
    closed.chmod(0o700)
    done = theirs.run("/bin/sh", "-c", f"ls {closed}; cat {closed}/other", options=options)
    assert done.status == 1 and "OTHER" not in done.out and "other" not in done.out, done.account()
    closed.chmod(0o755)
    assert theirs.run("cat", closed / "other", options=options).expect(0).out == "OTHER\n"
    # The same where only the directory above is shown entry by entry.
    closed.chmod(0o700)
    theirs.write(closed / ".env", "SECRET\n", 0o644)
    done = theirs.run("/bin/sh", "-c", f"cat {shown}/file; ls {closed}/",
                      options=["--read", shown, "--deny", shown / "absent", "--deny", ".env"])
    assert done.expect(0).out == "data\n", done.account()
    # A grant that lies behind it is no secret to be dropped with the rest.
    closed.chmod(0o700)
    theirs.write(closed / "wanted/file", "wanted\n")
    done = theirs.run("true", options=[*options, "--read", closed / "wanted"]).expect(125)
    assert str(closed / "wanted") in done.err, done.account()


def test_the_whole_disk_can_be_read(theirs):
    theirs.plant(harness.SECRET_FILES)
    done = theirs.run("/bin/sh", "-c", f"touch made && cat {theirs.outside}/secret "
                      f"{theirs.home}/.ssh/id_ed25519", options=["--read", "/"])
    assert done.out == "SECRET-outside\n" and done.status == 1, done.account()


def test_a_way_that_only_root_may_go(theirs):
    """A toolchain below a closed home of root's is mounted all the same."""
    hidden = theirs.make_directory(theirs.path / "hidden")
    tool = theirs.write(hidden / "tools/tool", "#!/bin/sh\necho works\n", 0o755)
    hidden.chmod(0o700)
    assert theirs.run(tool, options=["--read", tool.parent]).expect(0).out == "works\n"


@pytest.mark.parametrize("backend", ["bwrap", "landlock"])
def test_other_backends_name_the_cure(theirs, backend):
    ceiling = theirs.write(theirs.path / "ceiling.toml", 'version = 1\n[fs]\nread = ["@system"]\nwrite = ["@cwd"]\n'
                           '[require]\naccept_missing = ["namespaces"]\n')
    options = ["--ceiling", ceiling, "--backend", backend]
    done = theirs.run("touch", "made", options=options)
    done.expect(125)
    assert "--backend native" in done.err and "/etc/cordon" not in done.err, done.account()
    # One that root alone reads, which the owner does not have.
    own = theirs.write(theirs.make_directory(theirs.home / ".config/cordon") / "ceiling.toml", ceiling.read_text(), 0o600)
    said = theirs.run("touch", "made", options=options).expect(125).err
    assert f"install -D -m 644 {own} /etc/cordon/ceiling.toml" in said, said
    start_as_said(theirs, done.err, *options, "--", "touch", "made").expect(0)
    assert owners(theirs.project / "made") == (OWNER, GROUP)
    theirs.run("touch", "made", options=["--backend", "native"]).expect(0)


def test_explain_knows_it(theirs):
    done = theirs.cordon_verb("policy", "explain", "write", "made").expect(0)
    assert f"uid {OWNER}" in done.out, done.account()
    done = theirs.cordon_verb("policy", "explain", "--write", theirs.outside, "write", "made")
    assert f"uid {OWNER}" in done.expect(1).out and "owners" in done.out, done.account()
    assert json.loads(theirs.cordon_verb("policy", "explain", "--json", "write", "made").out)["allowed"]


def test_a_terminal(theirs):
    done = theirs.run("/bin/sh", "-c", "test -t 0 && echo x > $(tty) && id -u", options=["--tty"])
    assert str(OWNER) in done.expect(0).out, done.account()


def test_attempts_are_answered_as_in_a_project_of_roots(theirs):
    """Equal verdicts: what is denied in root's own project is denied here, and what works works."""
    theirs.plant(harness.SECRET_FILES)
    attempts = [("read", theirs.outside / "secret"), ("append", theirs.outside / "secret"),
                ("creat", theirs.outside / "made"), ("creat", "/usr/made"),
                ("read", theirs.home / ".ssh/id_ed25519"), ("read", "/etc/shadow"),
                ("append", theirs.project / ".git/hooks/pre-commit"),
                ("creat", theirs.project / "made-inside"), ("read", theirs.project / "file.txt")]
    here = [answer.ok for answer in theirs.inside(attempts)]
    (theirs.project / "made-inside").unlink()
    give(theirs.project, 0, 0)
    assert here == [answer.ok for answer in theirs.inside(attempts)]
    assert here == [False] * 7 + [True] * 2, here


def test_a_shared_login_is_the_owners_and_no_link_leads_it_away(theirs):
    policies = theirs.make_directory(theirs.home / ".config/cordon/policies")
    for directory in (policies, policies.parent):
        directory.chmod(0o700)
    theirs.write(policies / "sharing.toml", 'version = 1\nextends = "agent:codex"\n[agent]\nshare_login = true\n',
                 0o600)
    roots = theirs.write(theirs.home / ".codex/auth.json", "TOKEN\n", 0o600)
    options = ["--policy", "sharing"]
    done = theirs.run("/bin/sh", "-c", "cat ~/.codex/auth.json && echo new > ~/.codex/auth.json", options=options)
    assert done.expect(0).out == "TOKEN\n", done.account()
    [copy] = (theirs.home / ".local/state/cordon/homes").glob("*/.codex/auth.json")
    assert owners(copy) == owners(copy.parent) == (OWNER, GROUP)
    # The command may put a link in the place of the directory: nothing of root's is given away by it.
    theirs.run("/bin/sh", "-c", f"rm -r ~/.codex && ln -s {roots.parent} ~/.codex", options=options).expect(0)
    done = theirs.run("true", options=options).expect(125)
    assert "in the private home is not a directory" in done.err, done.account()
    assert owners(roots) == owners(roots.parent) == (0, 0) and roots.read_text() == "TOKEN\n"
