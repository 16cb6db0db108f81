"""The way to the database: no password in an address, TLS that checks who answers, and libpq that may be missing."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import fleet
import pytest

from support import harness

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "gate")]
from gates import Authority  # noqa: E402

pytestmark = pytest.mark.once

NAME = "db.example.org"
OTHER = "other.example.org"


@pytest.fixture
def logged(world):
    """A world with a log, and a database that nobody needs to reach."""
    world.run("true").expect(0)
    return world


def ship(world, url, status=2, **how):
    return world.cordon_verb("audit", "ship", "--once", "--to", url, **how).expect(status)


@pytest.mark.parametrize("url", [
    "postgresql://me:hunter2@db.example.org/audit", "postgres://me:hunter2@db.example.org/audit",
    "postgresql://me:hun%40ter2@db.example.org", "postgresql://me:hunter2/x@db.example.org/audit",
    "postgresql://db.example.org/audit?password=hunter2", "postgresql://db.example.org/a?user=me&pass%77ord=hunter2",
    "postgresql://db.example.org/audit?sslpassword=hunter2"])
def test_a_password_in_an_address_is_refused_and_not_repeated(logged, url):
    for verb, option in (("ship", "--to"), ("list", "--from"), ("stats", "--from"), ("verify", "--from")):
        done = logged.cordon_verb("audit", verb, option, url).expect(2)
        assert "holds a password" in done.err and ".pgpass" in done.err, done.account()
        assert "hun" not in done.out + done.err


@pytest.mark.parametrize("text", ["host=db.example.org password=hunter2", "mysql://me@db/x", "db.example.org", ""])
def test_what_is_no_address_of_postgresql_is_not_repeated(logged, text):
    done = ship(logged, text)
    assert "postgresql://" in done.err and "hunter2" not in done.err


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer", "require", "verify-ca"])
def test_over_a_network_only_tls_that_checks_who_answers(logged, mode):
    for host in ("//me@127.0.0.1:1/audit?", "///audit?host=127.0.0.1&port=1&", "///audit?hostaddr=127.0.0.1&port=1&",
                 "///audit?host=/tmp,127.0.0.1&port=1&", "///audit?port=1&"):
        done = ship(logged, f"postgresql:{host}sslmode={mode}")
        assert f"sslmode={mode} does not check who answers" in done.err and "verify-full" in done.err, done.account()
    # The control: on a socket of this host there is nobody in between, and verify-full is no fault anywhere.
    for url in (f"postgresql:///audit?host={logged.path}&port=1&sslmode={mode}",
                "postgresql://me@127.0.0.1:1/audit?sslmode=verify-full"):
        done = ship(logged, url)
        assert "cannot reach" in done.err and "does not check" not in done.err, done.account()
        assert "\\x" not in done.err, "libpq indents its second line"


def test_without_libpq_its_package_is_named(logged):
    [library] = {path.resolve() for path in Path("/usr/lib").glob("*/libpq.so.5")
                 if os.uname().machine in str(path) or len(list(Path("/usr/lib").glob("*/libpq.so.5"))) == 1}
    hidden = [*logged.own_namespaces(), "sh", "-c", 'mount --bind /dev/null "$0" && exec "$@"', library]
    words = [logged.cordon, "audit", "ship", "--once", "--to", "postgresql://me@127.0.0.1:1/audit"]
    done = logged.execute([*hidden, *words]).expect(2)
    assert "libpq.so.5" in done.err and "libpq5" in done.err, done.account()
    # What needs none works, and with it the same words come as far as the network.
    logged.execute([*hidden, logged.cordon, "audit", "ship", "--schema"]).expect(0)
    logged.execute([*hidden, logged.cordon, "audit", "stats"]).expect(0)
    assert "cannot reach" in logged.execute(words).expect(2).err


def test_a_missing_executable_breaks_its_own_verbs_alone(logged):
    alone = logged.path / "alone"
    logged.make_directory(alone)
    for name in ("cordon", "cordon-tools", "cordon-inside"):
        shutil.copy(logged.cordon.parent / name, alone / name)
    done = logged.execute([alone / "cordon", "audit", "ship", "--schema"]).expect(2)
    assert "cannot start cordon-ship" in done.err
    logged.execute([alone / "cordon", "audit", "stats"]).expect(0)


def test_bad_words(logged):
    for words in ([], ["--to", "postgresql:///x", "--schema"], ["--to", "postgresql:///x", "--once", "--follow"],
                  ["--to", "postgresql:///x", "--node", "n"], ["--enroll", "--node", "a'b"], ["--enroll", "--node", ""],
                  ["--schema", "operand"]):
        assert logged.cordon_verb("audit", "ship", *words).expect(2).out == ""
    # An enrolment is of one key: asked twice it is the same.
    asked = [logged.cordon_verb("audit", "ship", "--enroll", "--node", "n1").expect(0).out for _ in range(2)]
    assert asked[0] == asked[1] and "'n1'" in asked[0]


def test_there_is_no_log_yet(world):
    done = ship(world, "postgresql://me@127.0.0.1:1/audit", status=1)
    assert "no audit log" in done.err
    assert not (world.home / ".local/state/cordon/audit").exists()


# Over TLS, with a password.

@pytest.fixture(scope="module")
def authority():
    directory = Path(tempfile.mkdtemp(prefix="cordon-ca.", dir="/var/tmp"))
    directory.chmod(0o755)
    yield Authority(directory, "authority")
    harness.remove_tree(directory)


@pytest.fixture
def over_network(node, authority):
    """The server listens on loopback with a certificate for NAME, and asks for a password."""
    server = node.database.server
    server.kill()
    authority.context(NAME)
    made = max(authority.directory.glob("server-*.pem"), key=lambda path: path.stat().st_mtime_ns)
    pair = server.directory / "server.pem"
    shutil.copy(made, pair)
    pair.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(pair, fleet.PERSON.uid, fleet.PERSON.uid)
    hba = server.data / "pg_hba.conf"
    before = hba.read_text()
    hba.write_text(before.replace("127.0.0.1/32            trust", "127.0.0.1/32            scram-sha-256"))
    assert hba.read_text() != before
    secure = ["-c", "listen_addresses=127.0.0.1"]
    server.options = [*secure, "-c", "ssl=on", "-c", f"ssl_cert_file={pair}", "-c", f"ssl_key_file={pair}"]
    server.up()
    node.database.sql(f"ALTER ROLE \"{node.name}\" PASSWORD 'hunter2'")
    yield node
    server.kill()
    hba.write_text(before)
    server.options = []
    server.up()


def address(node, host, **settings):
    words = "".join(f"&{key}={value}" for key, value in settings.items())
    return (f"postgresql://{node.name}@{host}:{node.database.server.port}/{node.database.name}?hostaddr=127.0.0.1"
            f"{words}")


def test_tls_and_a_password_from_the_usual_places(over_network, authority):
    node, world = over_network, over_network.world
    node.trail.write("append", "2")
    root = authority.path
    kept = world.write(world.home / ".pgpass", "*:*:*:*:hunter2\n", 0o600)
    # The address itself says nothing of sslmode, and a variable that says less changes nothing.
    good = address(node, NAME, sslrootcert=root)
    assert "TLS" in node.database.sql("SHOW ssl_min_protocol_version")[0][0]
    ship(world, good, status=0, env={"PGSSLMODE": "disable", "PGGSSENCMODE": "prefer"})
    assert node.stored == node.written
    # Another name than that of the certificate, and an authority that nobody trusts.
    assert OTHER in ship(world, address(node, OTHER, sslrootcert=root)).err
    stranger = Authority(authority.directory, "stranger")
    assert "certificate verify failed" in ship(world, address(node, NAME, sslrootcert=stranger.path)).err
    # Without the password nothing is sent; it comes from a variable as well.
    kept.unlink()
    assert "password" in ship(world, good).err
    ship(world, good, status=0, env={"PGPASSWORD": "hunter2"})


def test_a_server_without_tls_is_not_spoken_to(over_network, authority):
    node, server = over_network, over_network.database.server
    node.trail.write("append", "1")
    server.kill()
    server.options = server.options[:2]
    server.up()
    done = ship(node.world, address(node, NAME, sslrootcert=authority.path), env={"PGPASSWORD": "hunter2"})
    assert "does not support SSL" in done.err and node.stored == []
    # The control: it is there, for whoever asks for less.
    plain = subprocess.run(["psql", "-X", "-c", "SELECT 1", f"postgresql://{node.name}@127.0.0.1:{server.port}/"
                            f"{node.database.name}?sslmode=disable"], capture_output=True, text=True, check=False,
                           env={**fleet.ENVIRONMENT, "PGPASSWORD": "hunter2"}, timeout=fleet.LONG)
    assert plain.returncode == 0, plain.stderr
