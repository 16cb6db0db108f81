"""What the attempts of the table aim at."""

import os
import socket
from pathlib import Path

from support import harness


def preset_options(preset, world):
    options = ["--policy", preset]
    if preset == "strict":
        options += ["--read", world.probe]
    return options


class Surroundings:
    """What the attempts aim at: processes, sockets, keys and files of one person."""

    world_type = harness.World

    def __init__(self, who):
        self.world = self.world_type(who, harness.stage().new_directory())
        world = self.world
        self.unique = f"cordon-probe-{os.getpid()}-{world.path.name}"
        world.plant({".ssh/id_ed25519": "SECRET\n", ".netrc": "SECRET\n", "plain.txt": "SECRET\n"})
        world.write(world.project / "program", world.probe.read_bytes(), 0o755)
        world.make_directory(world.project / "subdir")
        self.refill()
        self.tcp = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind("\0" + self.unique)
        self.abstract.listen(64)
        self.unix = self.listen(world.outside / "socket", socket.SOCK_STREAM)
        self.inner = self.listen(world.project / "socket", socket.SOCK_STREAM)
        self.datagram = self.listen(world.project / "datagram", socket.SOCK_DGRAM)
        self.target = harness.start_target(world)
        # Two test processes may have surroundings at once; the ordinary user is each one's own where root gives it.
        own = harness.ORDINARY_UID if os.geteuid() == 0 else os.getpid()
        self.shm_key = 0x0C000000 | (own & 0x3FFFF) << 1 | who.is_root
        made = world.outside_of([("sysv-shm-make", hex(self.shm_key)),
                                 ("mq-make", "/" + self.unique)])
        assert all(a.ok for a in made), made
        self.shm_id = made[0].detail
        self.names = {
            "home": world.home, "project": world.project, "outside": world.outside,
            "port": self.tcp.getsockname()[1], "abstract": self.unique,
            "socket": world.outside / "socket", "pid": self.target.pid,
            "address": self.target.address, "shm": hex(self.shm_key), "queue": "/" + self.unique,
            "key": self.unique, "unique": self.unique,
        }

    def listen(self, path, kind):
        made = socket.socket(socket.AF_UNIX, kind)
        made.bind(str(path))
        path.chmod(0o777)
        self.world.own(path)
        if kind == socket.SOCK_STREAM:
            made.listen(64)
        return made

    def refill(self):
        """Puts back what attempts take away, so that each preset and the control meet the same."""
        world = self.world
        for name in ("append", "unlink", "rename", "truncate", "out"):
            world.write(world.project / f"{name}.txt", name)
        for name in ("unlink", "rename", "truncate"):
            world.write(world.outside / f"{name}.txt", name)
        for path in (world.project / "new.txt", world.project / "renamed.txt",
                     world.project / "linked.txt", world.project / "sym.txt",
                     world.project / "tmpfile.txt", world.project / "fifo"):
            path.unlink(missing_ok=True)
        for path in (world.home / "private.txt", Path("/tmp", self.unique),
                     Path("/dev/shm", self.unique)):
            path.unlink(missing_ok=True)
        if (world.project / "newdir").exists():
            (world.project / "newdir").rmdir()

    def attempt(self, row):
        return tuple(str(word).format(**self.names) for word in row.attempt)

    def close(self):
        self.world.outside_of([("sysv-shm-remove", self.shm_id), ("mq-remove", "/" + self.unique),
                               ("remove-key", self.unique)])
        self.world.tidy()
        harness.stop(self.target.process)
        for made in (self.tcp, self.abstract, self.unix, self.inner, self.datagram):
            made.close()
        harness.remove_tree(self.world.path)
