"""What an operator signed for one agent narrows its sessions; without it there are none. /etc is the namespace's own."""

import os
import subprocess

import pytest

KEY = "openssl genpkey -algorithm ed25519 -out {0}/key.pem && openssl pkey -in {0}/key.pem -pubout -out {1}/governance.pub"
SIGN = "openssl pkeyutl -sign -rawin -inkey {0}/key.pem -in {1} -out {1}.sig"


@pytest.fixture
def etc(world):
    """An /etc with the governance of `claude`: the project, but no other place and only 64 open files."""
    place = world.make_directory(world.path / "etc")
    for name in ("group", "nsswitch.conf", "ld.so.cache"):
        if os.path.exists(f"/etc/{name}"):
            world.write(place / name, open(f"/etc/{name}", "rb").read())
    world.write(place / "passwd", f"a:x:{world.who.uid}:{world.who.uid}::{world.home}:/bin/sh\n")
    document = f'version = 1\n[governance]\nagent = "claude"\n[fs]\nread = ["@system"]\nwrite = ["{world.project}"]\n' \
               '[limits]\nfiles = 64\n'
    world.write(place / "cordon/governance/claude.toml", document)
    signed = place / "cordon/governance/claude.toml"
    world.bare("sh", "-ec", KEY.format(world.trusted, place / "cordon") + "; " + SIGN.format(world.trusted, signed)).expect(0)
    return place


def there(world, etc, script, **how):
    """A script where that /etc is; $CORDON is the program."""
    wrap = ["unshare", "-m"] if world.who.is_root else ["unshare", "-c", "--keep-caps", "-m"]
    drop = "" if world.who.is_root else "setpriv --ambient-caps=-all --inh-caps=-all "
    return world.bare(*wrap, "/bin/sh", "-c", f'mount --bind "{etc}" /etc && exec {drop}/bin/sh -c "$0"',
                      f"CORDON='{world.cordon}'; G=/etc/cordon/governance; " + script, timeout=60, **how)


START = "ID=$($CORDON session start --agent claude) || exit 9; trap '$CORDON session stop $ID' EXIT; "
EXEC = "$CORDON session exec $ID -- "


def test_a_signed_document_narrows_the_sessions_of_its_agent(world, etc):
    done = there(world, etc, START + EXEC + "sh -c 'ulimit -n; echo made > made'")
    assert done.expect(0).out.split()[0] == "64"
    assert (world.project / "made").read_text() == "made\n"
    # The control: a session that is no agent's.
    done = there(world, etc, (START + EXEC).replace(" --agent claude", "") + "sh -c 'ulimit -n'")
    assert int(done.expect(0).out.split()[0]) > 64


@pytest.mark.parametrize("change,why", [
    ("rm $G/claude.toml.sig", "is not signed"), ("rm $G/claude.toml", "has no governance on this machine"),
    ("echo '# more' >>$G/claude.toml", "signature of this governance does not hold"),
    ("echo claude >$G/revoked", "was revoked"), ("rm -r $G /etc/cordon/governance.pub", "is gone"),
    ("rm /etc/cordon/governance.pub", "does not exist")], ids=lambda value: value.split()[0])
def test_without_it_the_next_command_is_refused(world, etc, change, why):
    script = START + EXEC + f"echo first || exit 8; {change}; " + EXEC + "touch second"
    done = there(world, etc, script)
    assert done.status == 125 and done.out.startswith("first\n") and why in done.err, done.account()
    assert not (world.project / "second").exists()
    # Where nothing of it is left, a machine has no governance.
    started = there(world, etc, START)
    assert (started.status == 0) if "is gone" in why else (started.status == 9 and why in started.err), started.account()


def test_an_agent_without_a_document_has_no_session(world, etc):
    done = there(world, etc, START.replace("claude", "gemini"))
    assert done.status == 9 and "the agent gemini has no governance on this machine" in done.err, done.account()
    for name in ("toml", "toml.sig"):
        world.write(etc / f"cordon/governance/gemini.{name}", (etc / f"cordon/governance/claude.{name}").read_bytes())
    done = there(world, etc, START.replace("claude", "gemini"))
    assert done.status == 9 and "does not say that it is for the agent gemini" in done.err, done.account()


def test_the_cure_that_is_told_works(world, etc):
    document = etc / "cordon/governance/claude.toml"
    document.write_text(document.read_text().replace("64", "65"))
    done = there(world, etc, START)
    assert done.status == 9 and "openssl pkeyutl -sign -rawin -inkey KEY -in /etc/cordon/governance/claude.toml" in done.err
    subprocess.run(["sh", "-ec", SIGN.format(world.trusted, document)], check=True)
    assert there(world, etc, START + EXEC + "sh -c 'ulimit -n'").expect(0).out.split()[0] == "65"
