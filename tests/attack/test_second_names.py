"""What must not be seen is one object, whatever its name: a bind mount shows a credential store and
Cordon's own files under a second path, and no grant opens it there. Mounts are made in a namespace of
the test's own."""
import os
import shutil

import pytest

from gitrepo import git, make_repository
from support.harness import SECRET_FILES

KEY = ".local/state/cordon/audit/key"


def with_mounts(world, mounts, *command, options=(), tracer=(), **how):
    """`cordon run` where each pair of `mounts` is bound: (source, where). `tracer` starts it."""
    script = "".join(f'mount --bind "{source}" "{where}" && ' for source, where in mounts)
    if world.who.is_root:
        wrap, drop = ["unshare", "-m"], ""
    else:
        # The same user inside: only the mounting needs capabilities.
        wrap = ["unshare", "-c", "--keep-caps", "-m"]
        drop = "setpriv --ambient-caps=-all --inh-caps=-all "
    return world.bare(*wrap, "/bin/sh", "-c", f'{script}exec {drop}"$@"', "sh", *tracer, world.cordon,
                      "run", *options, "--", *command, **how)


def outside(world, mounts, *command):
    script = "".join(f'mount --bind "{source}" "{where}" && ' for source, where in mounts)
    return world.bare(*world.own_namespaces(), "/bin/sh", "-c", script + 'exec "$@"', "sh", *command)


@pytest.fixture
def granted(world):
    """A directory that a grant covers, with something that may be read."""
    world.plant(SECRET_FILES)
    world.run("true").expect(0)
    place = world.make_directory(world.path / "granted")
    world.make_directory(place / "second")
    world.write(place / "file", "")
    world.write(place / "plain", "plain\n")
    return place


@pytest.mark.parametrize("source, name, second", [
    (".ssh", "second/id_ed25519", True),
    ("", "second/.ssh/id_ed25519", True),
    ("", "second/" + KEY, True),
    (".local/state/cordon", "second/audit/key", True),
    (".local/state/cordon/audit", "second/key", True),
    (".netrc", "file", False),
    (".ssh/id_ed25519", "file", False),
    (KEY, "file", False),
])
@pytest.mark.parametrize("option", ["--read", "--write"])
def test_a_second_name_shows_nothing(world, granted, source, name, second, option):
    mounts = [(world.home / source, granted / ("second" if second else "file"))]
    script = f'cat "{granted}/plain"; cat "{granted}/{name}"'
    done = with_mounts(world, mounts, "sh", "-c", script, options=[option, granted])
    assert done.out == "plain\n" and done.status == 1, done.account()
    bare = outside(world, mounts, "sh", "-c", script)
    assert len(bare.out) > len("plain\n"), "the mount is not there: " + bare.account()


def test_a_grant_of_the_second_name_itself(world, granted):
    mounts = [(world.home / ".ssh", granted / "second")]
    for grant in ("second", "second/id_ed25519"):
        done = with_mounts(world, mounts, "cat", granted / "second/id_ed25519",
                           options=["--read", granted / grant])
        assert done.expect(125).out == "" and "cannot be granted" in done.err, done.account()
    bare = outside(world, mounts, "cat", granted / "second/id_ed25519")
    assert "SECRET" in bare.expect(0).out


def test_nothing_runs_where_the_mounts_cannot_be_told(world, granted):
    """Taken for empty, the table would leave every second name open."""
    mounts = [(world.home / ".ssh", granted / "second")]
    tracer = ["strace", "-f", "-o", "/dev/null", "-P", "/proc/self/mountinfo", "-e", "inject=openat:error=EACCES"]
    done = with_mounts(world, mounts, "cat", granted / "plain", options=["--read", granted], tracer=tracer)
    assert done.expect(125).out == "" and "/proc/self/mountinfo" in done.err, done.account()
    done = with_mounts(world, mounts, "cat", granted / "plain", options=["--read", granted])
    assert done.expect(0).out == "plain\n"


def test_a_second_name_of_a_whole_home_shows_the_rest_of_it(world):
    world.plant(SECRET_FILES)
    place = world.make_directory(world.path / "granted/deep/second")
    mounts = [(world.home, place)]
    done = with_mounts(world, mounts, "cat", place / ".aws/credentials", place / "project/file.txt",
                       options=["--read", world.path / "granted"])
    assert done.out == "project file\n", done.account()


@pytest.mark.parametrize("denied", ["hidden", "hidden/file"])
def test_a_denied_path_under_a_second_name(world, granted, denied):
    world.write(granted / "hidden/file", "SECRET\n")
    mounts = [(granted / "hidden", granted / "second")]
    for name in ("hidden", "second"):
        command = ("cat", granted / name / "file")
        shown = with_mounts(world, mounts, *command, options=["--read", granted])
        assert shown.expect(0).out == "SECRET\n"
        done = with_mounts(world, mounts, *command,
                           options=["--read", granted, "--deny", granted / denied])
        assert done.expect(1).out == "", done.account()


def test_cordon_itself_under_a_second_name_cannot_be_written(world, granted):
    program = world.path / "bin/cordon"
    world.make_directory(program.parent)
    for helper in world.cordon.parent.glob("cordon*"):
        world.own(shutil.copy(helper, program.parent / helper.name))
    world.cordon = program
    mounts = [(program.parent, granted / "second")]
    before = {path.name: path.read_bytes() for path in program.parent.iterdir()}
    # Not only by writing: the kernel refuses that of a program that runs. Its helpers do not.
    for name in ("cordon", "cordon-tools"):
        second = f"{granted}/second/{name}"
        for attack in (f"echo x >> {second}", f"rm -f {second}", f"mv {second} {granted}/away",
                       f"cp {granted}/made {second}.new && mv -f {second}.new {second}"):
            done = with_mounts(world, mounts, "sh", "-c", f"echo x > {granted}/made; {attack}",
                               options=["--write", granted])
            assert done.status in (1, 2), f"{attack}\n{done.account()}"
            assert (granted / "made").exists(), "the command did not run"
            for path in program.parent.glob("*.new"):
                path.unlink()
            assert {path.name: path.read_bytes() for path in program.parent.iterdir()} == before, attack
    outside(world, mounts, "sh", "-c", f"rm -f {granted}/second/cordon").expect(0)
    assert not program.exists()


# What a run may not change under its own name is written through another one: a repository that is mounted twice, a
# part of what is held, and what lies in the home, which no grant covers.
def changeable(world):
    make_repository(world)
    world.write(world.project / ".vscode/tasks.json", "{}\n")
    world.write(world.project / ".mcp.json", "{}\n")
    world.write(world.home / ".bashrc", "# mine\n")
    world.write(world.home / ".config/nvim/init.lua", "-- mine\n")
    world.make_directory(world.home / ".config/autostart")
    world.make_directory(world.project / "second")
    world.write(world.project / "file", "")
    return {"source": world.project, "home": world.home}


@pytest.mark.once
@pytest.mark.parametrize("source, where, written", [
    ("source/model", "second", ".git/hooks/pre-commit"),
    ("source/model", "second", ".git/config"),
    ("source/model/.git", "second", "hooks/pre-commit"),
    ("source/.git/hooks", "second", "pre-commit"),
    ("source/.git/config", "file", ""),
    ("source/.vscode", "second", "tasks.json"),
    ("source/.vscode/tasks.json", "file", ""),
    ("source/.mcp.json", "file", ""),
    ("home/.bashrc", "file", ""),
    ("home/.config/nvim", "second", "init.lua"),
    ("home/.config", "second", "nvim/init.lua"),
    ("home/.config", "second", "environment.d/made.conf"),
])
def test_what_is_held_is_not_written_under_a_second_name(world, source, where, written):
    places = changeable(world)
    git(world, "clone", "-q", world.project, world.project / "model", cwd=world.home)
    top, _, rest = source.partition("/")
    first, second = places[top] / rest, world.project / where
    original = first / written if written else first
    before = original.read_text() if original.exists() else None
    script = "".join(f'mkdir -p "$(dirname "{name / written}")"; echo evil >> "{name / written}"; '
                     f'chmod +x "{name / written}"; ' for name in (first, second)) + "true"
    done = with_mounts(world, [(first, second)], "sh", "-c", script).expect(0)
    after = original.read_text() if original.exists() else None
    assert after == before, done.account()
    outside(world, [(first, second)], "sh", "-c", script).expect(0)
    assert "evil" in original.read_text(), "the mount is not there"


def test_work_under_a_second_name_goes_on(world):
    """A repository that is seen twice is one repository: what is committed through either is there."""
    changeable(world)
    git(world, "clone", "-q", world.project, world.project / "model", cwd=world.home)
    script = ("for name in model second; do cd $name; echo $name > made-$name; git add made-$name; "
              "git -c user.name=A -c user.email=a commit -q -m $name || exit 1; cd ..; done")
    with_mounts(world, [(world.project / "model", world.project / "second")], "sh", "-c", script).expect(0)
    told = git(world, "log", "--format=%s", cwd=world.project / "model").out.split()
    assert told[:2] == ["second", "model"], told


def test_a_zombie_does_not_stop_the_search_for_further_links(world):
    """Nothing in /proc can be opened of a process that has ended and was not waited for."""
    world.plant(SECRET_FILES)
    link = world.path / "second-link"
    os.link(world.home / ".ssh/id_ed25519", link)
    script = f'cat "{link}"; echo reached'
    zombie = world.start(["/bin/true"])
    try:
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        # The search goes through every directory of the machine.
        done = world.run("sh", "-c", script, options=["--read", "/"], timeout=240)
    finally:
        zombie.communicate()
    assert done.expect(0).out == "reached\n", done.account()
    assert "SECRET" in world.bare("sh", "-c", script).expect(0).out


def test_the_systems_ceiling_means_the_accounts_home(world):
    """`~` in /etc/cordon/ceiling.toml does not follow $HOME. Here /etc is the namespace's own."""
    account = world.make_directory(world.path / "account")
    world.write(account / "file", "of the account\n")
    world.write(world.home / "file", "of the variable\n")
    settings = world.make_directory(world.path / "etc")
    # A small host has no cache of libraries, and may have no list of name services.
    for name in ("group", "nsswitch.conf", "ld.so.cache"):
        if os.path.exists(f"/etc/{name}"):
            world.write(settings / name, open(f"/etc/{name}", "rb").read())
    world.write(settings / "passwd", f"a:x:{world.who.uid}:{world.who.uid}::{account}:/bin/sh\n")
    world.write(settings / "cordon/ceiling.toml",
                'version = 1\n[fs]\nread = ["@system", "~"]\nwrite = ["~/out"]\n', 0o600)
    mounts = [(settings, "/etc")]
    options = ["--policy", world.document('version = 1\n[fs]\nread = ["@system", "/"]\n')]
    done = with_mounts(world, mounts, "cat", account / "file", options=options, cwd=account)
    assert done.expect(0).out == "of the account\n"
    done = with_mounts(world, mounts, "cat", world.home / "file", options=options, cwd=account)
    assert done.status == 1 and not done.out, done.account()
    assert outside(world, mounts, "cat", world.home / "file").out == "of the variable\n"


def explained(world, mounts, *words):
    script = "".join(f'mount --bind "{source}" "{where}" && ' for source, where in mounts)
    wrap = ["unshare", "-m"] if world.who.is_root else ["unshare", "-c", "--keep-caps", "-m"]
    drop = "" if world.who.is_root else "setpriv --ambient-caps=-all --inh-caps=-all "
    return world.bare(*wrap, "/bin/sh", "-c", f'{script}exec {drop}"$@"', "sh", world.cordon, "policy", "explain", *words)


def test_what_is_advised_for_a_second_name_works_or_is_not_advised(world, granted):
    """`--read` of a second name of a store shows nothing, so nobody is told to write it."""
    mounts = [(world.home / ".ssh", granted / "second")]
    key = granted / "second/id_ed25519"
    told = explained(world, mounts, "read", key)
    assert told.status == 1 and "another name of" in told.out and "--read" not in told.out, told.account()
    # The control: for a plain file the option is advised, and does what it says.
    plain = explained(world, mounts, "read", granted / "plain")
    assert plain.status == 1 and f"change: --read {granted}/plain" in plain.out, plain.account()
    world.run("cat", granted / "plain", options=["--read", granted / "plain"]).expect(0)


def test_what_a_ceiling_forbids_is_not_advised(world, granted):
    ceiling = world.document(f'version = 1\n[fs]\nread = ["{world.project}"]\nwrite = ["{world.project}"]\n')
    told = world.cordon_verb("policy", "explain", "--ceiling", ceiling, "read", granted / "plain")
    assert told.status == 1 and "change: --read" not in told.out, told.account()
    assert f'rule: ceiling "{ceiling}:3"' in told.out and f"change: below [fs] in {ceiling}: read = " in told.out
    refused = world.run("true", options=["--ceiling", ceiling, "--read", granted / "plain"])
    assert refused.status == 125, refused.account()
