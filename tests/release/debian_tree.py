"""Fresh Debian systems as directories: made once by mmdebstrap, kept packed, unpacked for each test.

A command in one runs with the tree as the root of its mount namespace, as in a container: in a mere
chroot the kernel refuses user namespaces, which no ordinary user's Cordon could do without."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from releases import DEBIAN_NAMES, call
from support.harness import ORDINARY_UID, ROOT, remove_tree

# Runs in a mount and a process namespace of its own. $1 is the tree.
ENTER = """
mount --bind "$1" "$1" && mount --rbind /sys "$1/sys" && cd "$1" && mkdir -p .host && pivot_root . .host && cd / &&
mount -t proc proc /proc && umount -l /.host && rmdir /.host && shift && exec "$@"
"""
# AppArmor as the suite has it, to be installed without a network.
FETCH_APPARMOR = ('chroot "$1" sh -c "apt-get -qq -y --no-install-recommends --download-only install apparmor'
                  ' && mkdir /packages && cp /var/cache/apt/archives/*.deb /packages"')


def packed(suite: str) -> Path:
    """The system as mmdebstrap made it; made anew only when it is not there."""
    machine = DEBIAN_NAMES[os.uname().machine]
    kept = ROOT / "out/trees" / f"{suite}-{machine}.tar"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_suffix(".new.tar")
        call("mmdebstrap", "--mode=root", "--variant=minbase", f"--customize-hook={FETCH_APPARMOR}",
             suite, unfinished, timeout=900)
        unfinished.rename(kept)
    return kept


class DebianTree:
    def __init__(self, suite: str) -> None:
        self.suite = suite
        self.path = Path(tempfile.mkdtemp(prefix="cordon-tree.", dir="/var/tmp"))
        self.path.chmod(0o755)
        call("tar", "-C", self.path, "-xf", packed(suite))
        # What an installer of Debian writes, and mmdebstrap does not.
        (self.path / "etc/hosts").write_text("127.0.0.1\tlocalhost\n::1\tlocalhost\n")
        for name, owner in (("root-project", 0), ("user-project", ORDINARY_UID), ("user-home", ORDINARY_UID),
                            ("user-outside", ORDINARY_UID)):
            (self.path / "srv" / name).mkdir()
            os.chown(self.path / "srv" / name, owner, owner)

    def run(self, *argv, user: bool = False, cwd: str | None = None) -> subprocess.CompletedProcess:
        words = [str(word) for word in argv]
        home, project = ("/srv/user-home", "/srv/user-project") if user else ("/root", "/srv/root-project")
        if user:
            words = ["setpriv", f"--reuid={ORDINARY_UID}", f"--regid={ORDINARY_UID}", "--clear-groups",
                     "--inh-caps=-all", *words]
        words = ["env", "-i", f"HOME={home}", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive",
                 "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                 "sh", "-c", 'cd "$0" && exec "$@"', cwd or project, *words]
        return subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation=private", "sh", "-c", ENTER, "sh",
                               str(self.path), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300, check=False)

    def works(self, *argv, **how) -> str:
        done = self.run(*argv, **how)
        assert done.returncode == 0, f"{self.suite}: {argv}\n{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def add(self, file: Path) -> str:
        """Copies a file of the host in; returns its name inside."""
        call("cp", file, self.path / "srv" / file.name)
        return f"/srv/{file.name}"

    def listing(self) -> set[str]:
        """Every path with kind, mode, owner and target, but for what dpkg, mount and the tests note."""
        found = call("find", self.path, "-xdev", "-printf", "%P %y %m %U:%G %l\n").stdout.splitlines()
        return {line for line in found if not line.startswith(("var/lib/dpkg/", "var/log/", "var/cache/ldconfig", "run/", "srv/"))}

    def remove(self) -> None:
        remove_tree(self.path)
