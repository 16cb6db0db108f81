"""A PostgreSQL of the test's own, on a socket in a directory of its own, and nodes that ship to it."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from support import apart, harness
from trail import Trail

PROGRAMS = Path("/usr/lib/postgresql/15/bin")
# initdb and the server refuse root; with an ordinary user of the test's own they ask what the account is called. It is
# in a table of accounts that only they see.
PERSON = harness.Person("user", harness.ORDINARY_UID, () if os.geteuid() != 0 else (
    "setpriv", f"--reuid={harness.ORDINARY_UID}", f"--regid={harness.ORDINARY_UID}", "--clear-groups", "--inh-caps=-all"))
WITH_ACCOUNT = () if os.geteuid() != 0 else (
    "unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/passwd && exec "$@"')
ENVIRONMENT = {"PATH": harness.BASE_PATH, "LC_ALL": "C.UTF-8", "PGCONNECT_TIMEOUT": "20"}
LONG = 120
# Of what a million records take.
HOUR = 3600
# A day that is longer than one batch, by its bytes and not by how many lines there are.
LARGE_LINES = [b'{"seq":%d,"x":"' % number + b"x" * 9000 + b'"}\n' for number in range(1, 1400)]


class Server:
    """Its superuser is `postgres`. Over the socket everybody is who he says; over TCP, once there are certificates,
    with a password."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="cordon-pg.", dir="/var/tmp"))
        self.directory.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(self.directory, PERSON.uid, PERSON.uid)
        accounts = self.directory / "passwd"
        accounts.write_text(f"server:x:{PERSON.uid}:{PERSON.uid}::/:/bin/sh\n")
        self.prefix = [*WITH_ACCOUNT, *([str(accounts)] if WITH_ACCOUNT else []), *PERSON.prefix]
        self.port = apart.own_ports(PERSON.uid)[600]
        self.data = self.directory / "data"
        self.log = self.directory / "log"
        self.options: list[str] = []
        self.process: subprocess.Popen | None = None
        self.count = 0
        self.call(PROGRAMS / "initdb", "--no-sync", "-U", "postgres", "-A", "trust", "-D", self.data)
        self.up()

    def call(self, *argv, **how) -> subprocess.CompletedProcess:
        done = subprocess.run([*self.prefix, *map(str, argv)], capture_output=True, text=True, env=ENVIRONMENT,
                              cwd=self.directory, timeout=LONG, check=False, **how)
        assert done.returncode == 0, (argv, done.stdout, done.stderr)
        return done

    def up(self) -> None:
        """Starts it, unless it runs. What a killed one left behind goes by itself within moments: until then a new one
        refuses to start."""
        if self.process is not None and self.process.poll() is None:
            return

        def started() -> bool:
            if self.process is None or self.process.poll() is not None:
                with self.log.open("ab") as log:
                    self.process = subprocess.Popen(
                        [*self.prefix, str(PROGRAMS / "postgres"), "-D", str(self.data), "-k", str(self.directory),
                         "-p", str(self.port), "-c", "fsync=off", "-c", "max_connections=30", "-c",
                         "shared_buffers=32MB", *(self.options or ["-c", "listen_addresses="])],
                        stdout=log, stderr=log, env=ENVIRONMENT, cwd=self.directory)
            ready = subprocess.run([PROGRAMS / "pg_isready", "-q", "-h", self.directory, "-p", str(self.port)],
                                   check=False)
            return ready.returncode == 0 and self.process.poll() is None
        assert harness.wait_until(started, LONG, 0.05), self.log.read_text()

    def kill(self, number: int = signal.SIGKILL) -> None:
        self.process.send_signal(number)
        self.process.wait(LONG)

    def remove(self) -> None:
        self.kill(signal.SIGQUIT)
        harness.remove_tree(self.directory)

    def sql(self, text: str, database: str = "postgres", user: str = "postgres") -> list[list[str]]:
        done = self.attempt(text, database, user)
        assert done.returncode == 0, (text, done.stderr)
        return [line.split("|") for line in done.stdout.splitlines()]

    def attempt(self, text: str, database: str, user: str) -> subprocess.CompletedProcess:
        return subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", str(self.directory), "-p",
                               str(self.port), "-U", user, "-d", database], input=text, capture_output=True, text=True,
                              env=ENVIRONMENT, timeout=HOUR, check=False)

    def database(self) -> "Database":
        self.count += 1
        self.sql(f"CREATE DATABASE d{self.count}")
        return Database(self, f"d{self.count}")


class Database:
    def __init__(self, server: Server, name: str) -> None:
        self.server, self.name = server, name
        self.nodes: list[str] = []
        self.reader = f"reader_{name}"

    def url(self, user: str, **settings: str) -> str:
        words = "&".join(f"{key}={value}" for key, value in
                         {"host": self.server.directory, "port": self.server.port, **settings}.items())
        return f"postgresql://{user}@/{self.name}?{words}"

    def sql(self, text: str, user: str = "postgres") -> list[list[str]]:
        return self.server.sql(text, self.name, user)

    def number(self, text: str) -> int:
        return int(self.sql(text)[0][0])

    def refused(self, text: str, user: str) -> str:
        done = self.server.attempt(text, self.name, user)
        assert done.returncode != 0, (text, done.stdout)
        return done.stderr

    def lines(self, node: str) -> list[bytes]:
        return [bytes.fromhex(row[0]) for row in
                self.sql(f"SELECT encode(line, 'hex') FROM cordon.records WHERE node = '{node}' ORDER BY seq")]

    def drop(self) -> None:
        self.server.sql(f"DROP DATABASE {self.name} WITH (FORCE)")
        for role in [*self.nodes, self.reader]:
            self.server.sql(f'DROP ROLE IF EXISTS "{role}"')


class Node:
    """The log of a world, enrolled under a name of its own."""

    def __init__(self, world, database: Database, name: str | None = None) -> None:
        self.world, self.database, self.trail = world, database, Trail(world)
        self.name = name or f"{database.name}-node{len(database.nodes)}"
        if not database.nodes:
            tables = world.cordon_verb("audit", "ship", "--schema").expect(0).out
            database.sql(tables)
            database.sql(f"CREATE ROLE {database.reader} LOGIN; GRANT cordon_read TO {database.reader}")
        database.nodes.append(self.name)
        self.enroll()

    def enroll(self) -> None:
        self.database.sql(self.world.cordon_verb("audit", "ship", "--enroll", "--node", self.name).expect(0).out)

    @property
    def url(self) -> str:
        return self.database.url(self.name)

    def ship(self, *words, status: int = 0, **how) -> dict:
        done = self.world.cordon_verb("audit", "ship", "--json", "--to", self.url, *words, **how).expect(status)
        return done.json

    def start(self, *words, **how) -> subprocess.Popen:
        return self.world.start([self.world.cordon, "audit", "ship", "--to", self.url, *words], **how)

    def ask(self, verb: str, *words, status: int = 0):
        return self.world.cordon_verb("audit", verb, "--from", self.database.url(self.database.reader), *words,
                                      timeout=HOUR).expect(status)

    def verdict(self, status: int = 0) -> dict:
        answer = self.ask("verify", "--json", "--node", self.name, status=status).json
        assert answer["holds"] == (status == 0), answer
        return answer["nodes"][0]

    def kinds(self) -> set[str]:
        return {finding["kind"] for finding in self.verdict(status=1)["findings"]}

    @property
    def stored(self) -> list[bytes]:
        return self.database.lines(self.name)

    @property
    def written(self) -> list[bytes]:
        return [line.rstrip(b"\n") for day in self.trail.days for line in self.trail.lines(day)]

    def stored_digests(self) -> list[str]:
        """SHA-256 of each line, of as many as there are."""
        rows = self.database.sql("SELECT encode(sha256(line), 'hex') FROM cordon.records "
                                 f"WHERE node = '{self.name}' ORDER BY seq")
        return [row[0] for row in rows]

    def written_digests(self) -> list[str]:
        found = []
        for day in self.trail.days:
            with (self.trail.directory / day).open("rb") as lines:
                found += [hashlib.sha256(line.rstrip(b"\n")).hexdigest() for line in lines]
        return found

    @property
    def positions(self) -> Path:
        return self.world.home / ".local/state/cordon/ship"

    def copy_of_log(self) -> Path:
        kept = self.world.path / "kept"
        shutil.copytree(self.trail.directory, kept)
        return kept

    def put_back(self, kept: Path) -> None:
        shutil.rmtree(self.trail.directory)
        shutil.copytree(kept, self.trail.directory)
        for path in (self.trail.directory, *self.trail.directory.iterdir()):
            self.world.own(path)
