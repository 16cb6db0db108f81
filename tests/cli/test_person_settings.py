"""Settings of the person that run nothing: the private home has copies of them, built from lists of keys."""

import pytest


TOKEN = "hunter2"


def git(world, *words, cwd):
    return world.bare("git", "-c", "user.name=Me", "-c", "user.email=me@example.com", *words, cwd=cwd).expect(0)


def make_repository(world, path):
    world.make_directory(path)
    git(world, "init", "-q", cwd=path)
    return path


def cat(world, name, *options):
    return world.run("sh", "-c", f"cat ~/{name} 2> /dev/null", options=options)


@pytest.mark.parametrize("preset", ["workspace", "build"])
def test_git_treats_lines_as_outside(world, preset):
    """The working tree of a person with autocrlf has CR LF: without the setting each file is changed inside."""
    world.write(world.home / ".gitconfig", "[user]\n\tname = Me\n\temail = me@example.com\n[core]\n\tautocrlf = true\n"
                "\tpager = evil\n[alias]\n\tst = status --short\n\tsh = !touch /tmp/ran\n\topt = -c core.pager=x log\n"
                "[pull]\n\trebase = true\n[credential]\n\thelper = store\n"
                "[url \"https://u:hunter2@h/\"]\n\tinsteadOf = gh:\n")
    top = make_repository(world, world.home / "work/lines")
    world.write(top / "dos.txt", "one\r\ntwo\r\n")
    git(world, "add", "dos.txt", cwd=top)
    git(world, "commit", "-q", "-m", "dos", cwd=top)
    (top / "dos.txt").touch()
    done = world.run("sh", "-c", "touch dos.txt; git st; git config pull.rebase; git sh; git opt; "
                     "git config core.pager",
                     cwd=top, options=["--policy", preset])
    assert done.out == "true\n", done.account()
    assert "'sh' is not a git command" in done.err and "'opt' is not a git command" in done.err
    text = cat(world, ".gitconfig", "--policy", preset).expect(0).out
    assert TOKEN not in text and "helper" not in text and "evil" not in text


@pytest.mark.once
def test_gits_own_files_are_copied(world):
    world.write(world.home / ".gitconfig", "[core]\n\texcludesFile = ~/.ignored\n")
    world.write(world.home / ".ignored", "*.scratch\n")
    world.write(world.home / ".config/git/attributes", "*.dos text eol=crlf\n")
    top = make_repository(world, world.home / "work/ignoring")
    world.write(top / "a.scratch", "x\n")
    done = world.run("sh", "-c", "git status --short; git check-attr eol a.dos", cwd=top).expect(0)
    assert done.out == "a.dos: eol: crlf\n", done.account()
    # A store of credentials is no file of git's, whatever a setting says.
    world.write(world.home / ".gitconfig", "[core]\n\texcludesFile = ~/.netrc\n")
    world.plant({".netrc": "machine h password hunter2\n"})
    assert TOKEN not in world.run("sh", "-c", "cat ~/.config/git/ignore", cwd=top).out


NPMRC = """; settings
registry=https://npm.example/
@corp:registry=https://npm.corp.example/path/
//npm.corp.example/:_authToken=hunter2
_auth=hunter2
proxy=http://me:hunter2@proxy.example:3128
https-proxy=http://proxy.example:3128
script-shell=/tmp/evil
node-options=--require=/tmp/evil
cafile=/etc/ca.pem
@odd:registry=https://npm.example/?token=hunter2
save-exact=true
email=me@example.com
"""


@pytest.mark.once
def test_npm_knows_its_registry_and_no_token(world):
    world.write(world.home / ".npmrc", NPMRC, 0o600)
    assert cat(world, ".npmrc").expect(0).out.splitlines() == [
        "registry=https://npm.example/", "@corp:registry=https://npm.corp.example/path/",
        "https-proxy=http://proxy.example:3128", "save-exact=true"]
    # Also for a policy without a home of its own there is nothing of it.
    assert cat(world, ".npmrc", "--policy", "strict").out == ""


PIP = """[global]
index-url = https://pypi.example/simple
extra-index-url = https://me:hunter2@corp.example/simple
    https://open.example/simple
timeout = 60
cert = /etc/ca.pem
[install]
trusted_host = pypi.example
client-cert = /home/me/key.pem
find-links = /tmp/evil
"""


def test_pip_asks_its_index(world):
    """pip itself reads the copy."""
    world.write(world.home / ".config/pip/pip.conf", PIP)
    done = world.run("python3", "-m", "pip", "config", "list").expect(0)
    assert done.out.splitlines() == [
        "global.extra-index-url='https://open.example/simple'", "global.index-url='https://pypi.example/simple'",
        "global.timeout='60'", "install.trusted-host='pypi.example'"], done.account()


MAVEN = """<?xml version="1.0" encoding="UTF-8"?>
<settings>
  <localRepository>{local}</localRepository>
  <servers><server><id>corp</id><username>me</username><password>hunter2</password></server></servers>
  <mirrors>
    <mirror><id>corp</id><url>https://maven.example/all/</url><mirrorOf>*</mirrorOf></mirror>
    <mirror><id>login</id><url>https://me:hunter2@maven.example/</url><mirrorOf>x</mirrorOf></mirror>
  </mirrors>
  <profiles><profile><id>sign</id><properties><passphrase>hunter2</passphrase></properties></profile></profiles>
</settings>
"""


@pytest.mark.parametrize("preset", ["workspace", "build"])
def test_maven_knows_its_mirror_and_no_password(world, preset):
    world.write(world.home / ".m2/settings.xml", MAVEN.format(local="/nowhere/m2"), 0o600)
    world.make_directory(world.home / ".m2/repository")
    done = cat(world, ".m2/settings.xml", "--policy", preset).expect(0)
    assert "<url>https://maven.example/all/</url>" in done.out and "<mirrorOf>*</mirrorOf>" in done.out
    assert TOKEN not in done.out and "login" not in done.out and "/nowhere" not in done.out
    assert "settings.xml" not in done.err
    # Beside it the person's own repository is as it was.
    assert world.run("ls", f"{world.home}/.m2", options=["--policy", preset]).expect(0).out.split() == [
        "repository", "settings.xml"]


@pytest.mark.once
def test_mavens_repository_is_named_where_it_is_granted(world):
    place = world.make_directory(world.outside / "m2")
    world.write(world.home / ".m2/settings.xml", MAVEN.format(local=place), 0o600)
    assert str(place) not in cat(world, ".m2/settings.xml").expect(0).out
    granted = cat(world, ".m2/settings.xml", "--write", place).expect(0)
    assert f"<localRepository>{place}</localRepository>" in granted.out


@pytest.mark.once
@pytest.mark.parametrize("text, said", [("<settings>\n  <mirrors>\n</settings>\n", ":3:3: mismatched tag"),
                                        ("<!DOCTYPE settings>\n<settings/>\n", "document type")])
def test_settings_of_maven_that_cannot_be_read_are_told(world, text, said):
    path = world.write(world.home / ".m2/settings.xml", text)
    done = cat(world, ".m2/settings.xml")
    assert done.status == 1 and done.out == "", done.account()
    [told] = [line for line in done.err.splitlines() if "nothing of it is inside" in line]
    assert f"{path}:" in told and said in told, done.account()
    # The change that it names; and a policy without a home has nothing to tell.
    assert "settings.xml" not in world.run("true", options=["--policy", "strict"]).err
    world.write(path, MAVEN.format(local="/x"))
    done = cat(world, ".m2/settings.xml").expect(0)
    assert "maven.example" in done.out and "settings.xml" not in done.err


@pytest.mark.once
def test_copies_are_nobodys_loss_unless_they_were_changed(world):
    world.write(world.home / ".npmrc", NPMRC, 0o600)
    world.write(world.home / ".gitconfig", "[user]\n\tname = Me\n")
    _, report = world.report("true")
    assert report["changes"] == []
    _, report = world.report("sh", "-c", "echo registry=http://other/ >> ~/.npmrc")
    assert [c["path"] for c in report["changes"]] == [str(world.home / ".npmrc")]
    assert (world.home / ".npmrc").read_text() == NPMRC


def warnings(world, top, *options):
    done = world.run("true", cwd=top, options=options).expect(0)
    return [line for line in done.err.splitlines() if "filter" in line]


def test_a_filter_without_a_driver_is_told_before_the_command(world):
    """Git would commit the whole file where a pointer, or a file without secrets, was to be."""
    top = make_repository(world, world.home / "work/filtered")
    world.write(top / ".gitattributes", "*.bin filter=strip\n")
    git(world, "config", "--global", "filter.strip.clean", "sed s/secret//", cwd=top)
    [line] = warnings(world, top)
    assert "filter strip," in line and "no driver inside" in line
    # What it is about: the same commit, inside and outside.
    world.write(top / "a.bin", "secret\n")
    world.run("git", "-c", "user.name=M", "-c", "user.email=m@h", "add", "a.bin", cwd=top).expect(0)
    assert git(world, "cat-file", "-p", ":a.bin", cwd=top).out == "secret\n"
    git(world, "rm", "-q", "-f", "--cached", "a.bin", cwd=top)
    git(world, "add", "a.bin", cwd=top)
    assert git(world, "cat-file", "-p", ":a.bin", cwd=top).out == "\n"
    # The change that it names.
    git(world, "config", "filter.strip.clean", "sed s/secret//", cwd=top)
    assert warnings(world, top) == []


@pytest.mark.once
def test_the_filter_of_git_lfs_passes_and_another_of_that_name_does_not(world):
    top = make_repository(world, world.home / "work/large")
    world.write(top / ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    assert len(warnings(world, top)) == 1
    for key, value in [("clean", "git-lfs clean -- %f"), ("smudge", "git-lfs smudge -- %f"),
                       ("process", "git-lfs filter-process"), ("required", "true")]:
        git(world, "config", "--global", f"filter.lfs.{key}", value, cwd=top)
    assert warnings(world, top) == []
    # Without the program the commit fails, as it has to.
    world.write(top / "a.bin", "large\n")
    done = world.run("git", "add", "a.bin", cwd=top, env={"PATH": "/usr/bin:/bin"})
    assert done.status != 0, done.account()
    git(world, "config", "--global", "filter.lfs.clean", "/tmp/evil %f", cwd=top)
    git(world, "config", "--global", "--unset", "filter.lfs.process", cwd=top)
    assert len(warnings(world, top)) == 1
    assert "evil" not in world.run("sh", "-c", "cat ~/.gitconfig", cwd=top).out
