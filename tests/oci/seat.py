"""An engine that calls a runtime by hand, with Cordon in the runtime's seat, and with the runtime itself for
the control."""

import json
import os
from pathlib import Path

from support import container

# What the bundles of support/container.py show of the host.
SYSTEM = ["/usr", *[f"/etc/{name}" for name in ("passwd", "group", "nsswitch.conf", "ld.so.cache", "alternatives")
                    if Path("/etc", name).exists()]]
# crun knows no host that mounts control groups of both versions, so it is shown none.
HIDDEN = ["unshare", "-m", "/bin/sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh"]


class Seat:
    """One node: its ceiling, the runtime's state, and bundles."""

    def __init__(self, world, runtime="runc"):
        self.world = world
        self.runtime = runtime
        self.root = world.path / "runtime"
        self.copies = world.path / "copies"
        self.policies = world.make_directory(world.trusted / "policies")
        self.log = world.path / "log.json"
        self.link = world.link(world.home / "cordon-oci", world.cordon)
        self.ceiling_file = world.trusted / "ceiling.toml"
        self.ceiling()
        self.count = 0

    def ceiling(self, read=(), write=(), more=""):
        """Of this node: the host's programs, and what is named."""
        names = json.dumps([*SYSTEM, *map(str, read)])
        self.world.write(self.ceiling_file, f"version = 1\n\n[fs]\nread = {names}\n"
                         f"write = {json.dumps(list(map(str, write)))}\n{more}", 0o600)

    def policy(self, name, text):
        return self.world.write(self.policies / f"{name}.toml", text, 0o600)

    def name(self):
        self.count += 1
        return f"oci-test-{os.getpid()}-{self.world.path.name}-{self.count}"

    def bundle(self, argv, change=None, shown=()):
        """A directory of its own with a config.json that `change` got to see."""
        self.count += 1
        place = self.world.path / f"bundle{self.count}"
        place.mkdir(mode=0o755)
        environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/tmp"}
        container.bundle(place, list(map(str, argv)), environment, Path("/"), list(shown))
        config = json.loads((place / "config.json").read_text())
        if change:
            change(config)
        (place / "config.json").write_text(json.dumps(config))
        return place

    def seated(self, *words):
        """The words of a call of Cordon, as an engine's configuration would have them."""
        options = ["--runtime", self.runtime, "--ceiling", self.ceiling_file, "--policies", self.policies,
                   "--state", self.copies]
        if self.runtime == "crun":
            options = [*options, "--cgroup-manager", "disabled"]
        return [*self.hidden(), self.link, *options, "--root", self.root, "--log", self.log, "--log-format", "json",
                *words]

    def hidden(self):
        return HIDDEN if self.runtime == "crun" else []

    def call(self, *words, **how):
        return self.world.execute(self.seated(*words), **how)

    def bare(self, *words, **how):
        """The runtime itself."""
        options = ["--cgroup-manager=disabled"] if self.runtime == "crun" else []
        return self.world.execute([*self.hidden(), self.runtime, *options, "--root", self.root, *words], **how)

    def run(self, bundle, **how):
        return self.call("run", "--bundle", bundle, self.name(), **how)

    def run_bare(self, bundle, **how):
        return self.bare("run", "--bundle", bundle, self.name(), **how)

    def refused(self, bundle, words):
        """Refused with these words, on standard error and in the runtime's log, and recorded."""
        before = len(self.records("refused"))
        done = self.run(bundle)
        assert done.status == 1 and done.out == "", done.account()
        for word in [words] if isinstance(words, str) else words:
            assert word in done.err, done.account()
        line = json.loads(self.log.read_text().splitlines()[-1])
        assert line["level"] == "error" and line["msg"].startswith("cordon: "), line
        assert len(self.records("refused")) == before + 1, self.all_records()
        assert not self.left_copies()
        return done

    def all_records(self):
        lines = []
        for file in sorted((self.world.home / ".local/state/cordon/audit").glob("*.jsonl")):
            lines += [json.loads(line) for line in file.read_text().splitlines()]
        return lines

    def records(self, reason=None, action=None):
        return [record for record in self.all_records()
                if (reason is None or record["reason"] == reason) and (action is None or record["action"] == action)]

    def left_copies(self):
        return sorted(os.listdir(self.copies)) if self.copies.exists() else []

    def state(self, name):
        done = self.bare("state", name)
        return json.loads(done.out)["status"] if done.status == 0 else None

    def leave(self):
        """Whatever a test that failed has left."""
        names = os.listdir(self.root) if self.root.exists() else []
        for name in names:
            self.bare("delete", "--force", name)
