"""What must not be seen and is not there yet: a credential store or a denied name that is made, or
replaced, on the host while the command runs."""
import os

import pytest

from support.harness import wait_until

LATER = """
touch {ready}
while [ ! -e {go} ]; do sleep 0.02; done
cat {go} "$@"
"""


def read_later(world, paths, options, change):
    """A contained command reads `paths` after `change` was made outside. It is told when by a file in
    a directory of its own, which is live."""
    signs = world.make_directory(world.project / "signs")
    go = world.write(signs / "start", "started\n")
    ready, go = signs / "ready", signs / "go"
    script = LATER.format(ready=ready, go=go)
    process = world.start([world.cordon, "run", "--write", world.project, *options, "--", "sh", "-c",
                           script, "sh", *paths])
    try:
        assert wait_until(ready.exists), process.poll()
        change()
        world.write(signs / "new", "new\n")
        os.rename(signs / "new", go)
        out, err = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    assert b"new\n" in out, err
    return out.decode()


@pytest.mark.parametrize("name", [".aws/credentials", ".netrc", ".config/gh/hosts.yml",
                                  ".cargo/credentials.toml"])
@pytest.mark.parametrize("grant", ["home", "above", "disk"])
def test_a_store_that_is_made_meanwhile(world, name, grant):
    world.write(world.home / ".config/plain/settings", "plain\n")
    world.write(world.home / ".cargo/config.toml", "plain\n")
    secret = world.home / name
    options = {"home": ["--read", world.home], "above": ["--read", world.path],
               "disk": ["--read", "/"]}[grant]
    out = read_later(world, [world.home / ".config/plain/settings", secret], options,
                     lambda: world.write(secret, "SECRET\n"))
    assert "plain\n" in out and "SECRET" not in out
    assert world.bare("cat", secret).out == "SECRET\n"


def test_a_store_that_is_replaced_meanwhile(world):
    """git writes its credentials beside the file and renames them over it; a mount goes with the name."""
    secret = world.write(world.home / ".git-credentials", "SECRET-old\n", 0o600)
    world.write(world.home / ".aws/credentials", "SECRET-old\n", 0o600)

    def replace():
        os.rename(world.write(world.home / ".new", "SECRET-new\n"), secret)
        os.rename(world.home / ".aws", world.home / ".aws.old")
        world.write(world.home / ".aws/credentials", "SECRET-new\n")
    out = read_later(world, [secret, world.home / ".aws/credentials"],
                     ["--read", world.home], replace)
    assert "SECRET" not in out, out


@pytest.mark.parametrize("deny, made", [
    ("data/secret", "data/secret"),
    ("data/deep/secret", "data/deep/secret"),
    ("data/there/secret", "data/there/secret"),
    ("data/there/*.key", "data/there/a.key"),
])
def test_a_denied_name_that_is_made_meanwhile(world, deny, made):
    world.write(world.path / "data/there/plain", "plain\n")
    target = world.path / made
    options = ["--read", world.path / "data", "--deny", world.path / deny]
    out = read_later(world, [world.path / "data/there/plain", target], options,
                     lambda: world.write(target, "SECRET\n"))
    assert "plain\n" in out and "SECRET" not in out, out


def test_what_no_deny_names_is_live(world):
    """The control: without the deny the same file is seen, and below an entry everything is."""
    world.write(world.path / "data/there/plain", "plain\n")
    target = world.path / "data/secret"
    out = read_later(world, [target], ["--read", world.path / "data"],
                     lambda: world.write(target, "seen\n"))
    assert "seen\n" in out
    below = world.path / "data/there/later"
    out = read_later(world, [below],
                     ["--read", world.path / "data", "--deny", world.path / "data/other"],
                     lambda: world.write(below, "seen\n"))
    assert "seen\n" in out


def test_a_frozen_directory_shows_every_kind_of_entry(world):
    place = world.path / "data"
    world.write(place / "directory/file", "in it\n")
    world.write(place / "a file", "a file\n", 0o755)
    world.link(place / "link", "a file")
    world.link(place / "nowhere", "/nowhere")
    os.mkfifo(place / "pipe")
    world.write(place / "closed/file", "closed\n")
    script = ("cat directory/file 'a file' link && ls -A | sort && test -p pipe && "
              "readlink nowhere && ! touch new && ! rm -f 'a file' && ! touch directory/new")
    done = world.run("sh", "-c", f"cd {place} && {script}",
                     options=["--read", place, "--deny", place / "absent"])
    assert done.expect(0).out == ("in it\na file\na file\na file\nclosed\ndirectory\nlink\nnowhere\n"
                                  "pipe\n/nowhere\n"), done.account()
    assert not (place / "new").exists()


def test_grants_inside_a_frozen_directory_stay_what_they_are(world):
    place = world.path / "data"
    world.write(place / "out/file", "out\n")
    world.write(place / "in/file", "in\n")
    done = world.run("sh", "-c", f"echo x > {place}/out/made && cat {place}/in/file && "
                                 f"! touch {place}/in/made",
                     options=["--read", place, "--write", place / "out", "--deny", place / "absent"])
    assert done.expect(0).out == "in\n", done.account()
    assert (place / "out/made").exists() and not (place / "in/made").exists()


def test_a_home_with_more_entries_than_can_be_mounted_is_named(world):
    for number in range(4200):
        world.write(world.home / f"file{number}", "")
    world.write(world.home / "part/file", "part\n")
    done = world.run("true", options=["--read", world.home]).expect(125)
    assert f"{world.home} has 42" in done.err and "grant the directories in it" in done.err, done.account()
    part = world.home / "part"
    assert world.run("cat", part / "file", options=["--read", part]).expect(0).out == "part\n"


def test_a_directory_that_may_not_be_listed_is_named(world):
    """It cannot be shown entry by entry, because nobody can say what is in it: what appears there is seen, and the
    report says so."""
    place = world.make_directory(world.path / "data")
    world.write(place / "plain", "plain\n")
    options = ["--read", place, "--deny", place / "secret"]
    _, listed = world.report("cat", place / "plain", options=options)
    assert "appearing" not in listed["enforcement"]["lost"], listed["enforcement"]
    os.chmod(place, 0o311)
    try:
        done, report = world.report("cat", place / "plain", options=options)
        assert done.expect(0).out == "plain\n"
        # Root lists it all the same, and the entries are shown one by one.
        assert ("appearing" in report["enforcement"]["lost"]) == (not world.who.is_root), report["enforcement"]
    finally:
        os.chmod(place, 0o755)
