"""Makes what a machine boots from: a kernel, an initramfs that knows two disks, and a root file system
of Debian packages. Nothing of another architecture is executed for it.

Each is made once and kept under build/vm, named by the hash of its recipe; the list of packages with
their versions lies beside it. An image that is half made is never found under that name."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from machines import Machine

CHECKOUT = Path(__file__).resolve().parents[2]
STORE = CHECKOUT / "build" / "vm"
GUEST = Path(__file__).resolve().parent / "guest"

# What the suites use of a host. No package is configured: no program of the image runs before it boots.
ROOT_PACKAGES = (
    "base-files", "base-passwd", "bash", "bsdutils", "bubblewrap", "coreutils", "curl", "dash",
    "debianutils", "diffutils", "dpkg", "e2fsprogs", "findutils", "gawk", "gcc", "git", "grep", "gzip",
    "hostname", "iproute2",
    "libc-bin", "libc6-dev", "login", "media-types", "mount", "ncurses-base", "ncurses-bin", "netbase", "openssl",
    "passwd", "procps", "python3", "python3-cryptography", "python3-jsonschema", "python3-paramiko", "python3-pyte",
    "python3-pytest", "sed", "strace", "tar", "util-linux")
ROOT_SUITE = "bookworm"


@dataclass(frozen=True)
class System:
    """What is installed on a machine."""
    name: str
    packages: tuple[str, ...]
    size: str  # of its disk, which is sparse: what the suites write goes to a file that is dropped
    memory: str  # in MiB
    # Whether the scripts of its packages are run, which only the host's own architecture can do.
    installed: bool


PLAIN = System("root", ROOT_PACKAGES, "3G", "2048", False)
# Of somebody who does what the documents show.
DEVELOPERS = System("developer", (
    *ROOT_PACKAGES, "ca-certificates", "cargo", "chromium", "golang-go", "jq", "make", "maven", "nodejs", "npm",
    "openjdk-17-jdk-headless", "openssh-client", "postgresql-15", "postgresql-client-15", "python3-pip", "python3-requests",
    "python3-venv", "python3-yaml", "redis-server", "ripgrep", "socat", "wget"), "12G", "6144", True)
SYSTEMS = {system.name: system for system in (PLAIN, DEVELOPERS)}

# The disks, the root's file system, and what sandboxes and the small internet of the tests use.
MODULES = ("virtio_pci", "virtio_blk", "crc32c_generic", "ext4", "overlay", "veth", "dummy", "fuse",
           "loop", "unix_diag", "inet_diag", "tcp_diag", "vsock")


@dataclass(frozen=True)
class Image:
    kernel: Path
    initramfs: Path
    root: Path
    kernel_version: str
    memory: str


def image_of(machine: Machine, system: System = PLAIN) -> Image:
    boot = _kept("boot", {"recipe": 1, "suite": machine.kernel_suite, "arch": machine.architecture,
                          "package": machine.kernel_package, "modules": MODULES,
                          "init": (GUEST / "init").read_text()}, _make_boot)
    if system.installed and not machine.native:
        raise SystemExit(f"tests/vm: {system.name} is made on a host of its own architecture, {machine.processor}")
    root = _kept(system.name, {"recipe": 2, "suite": ROOT_SUITE, "arch": machine.architecture,
                               "packages": system.packages, "size": system.size},
                 partial(_make_root, system.installed))
    version = (boot / "version").read_text().strip()
    return Image(boot / "vmlinuz", boot / "initramfs", root / "root.ext4", version, system.memory)


def _kept(kind: str, recipe: dict, make) -> Path:
    text = json.dumps(recipe, sort_keys=True)
    name = f"{kind}-{recipe['arch']}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    place = STORE / name
    if place.is_dir():
        return place
    if os.geteuid() != 0:
        raise SystemExit(f"tests/vm: making {place} needs root: the files in it belong to root")
    STORE.mkdir(parents=True, exist_ok=True)
    print(f"making {place.relative_to(CHECKOUT)}", flush=True)
    with tempfile.TemporaryDirectory(prefix=f"{kind}.", dir=STORE) as temporary:
        made = Path(temporary, "made")
        made.mkdir(mode=0o755)
        (made / "recipe.json").write_text(text + "\n")
        make(recipe, Path(temporary), made)
        made.rename(place)
    return place


def _extract(recipe: dict, packages, tree: Path, made: Path, variant: str = "extract") -> None:
    """Unpacks Debian packages, with a merged /usr, and records which. Other variants install them as well."""
    merge = 'for d in bin sbin lib lib64; do mkdir -p "$1/usr/$d"; ln -s "usr/$d" "$1/$d"; done'
    record = f'ls "$1/var/cache/apt/archives" | grep "[.]deb$" >"{made}/packages"'
    done = subprocess.run(
        ["mmdebstrap", "--quiet", "--mode=root", f"--variant={variant}",
         f"--architectures={recipe['arch']}", "--dpkgopt=force-unsafe-io", f"--include={','.join(packages)}",
         f"--setup-hook={merge}", f"--extract-hook={record}", recipe["suite"], str(tree)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SystemExit(f"tests/vm: mmdebstrap failed\n{done.stdout[-4000:]}")


def _make_root(installed: bool, recipe: dict, temporary: Path, made: Path) -> None:
    tree = temporary / "tree"
    _extract(recipe, recipe["packages"], tree, made, "apt" if installed else "extract")
    for name in ("dev", "proc", "sys", "run", "tmp", "root", "home", "srv"):
        (tree / name).mkdir(exist_ok=True)
    (tree / "tmp").chmod(0o1777)
    (tree / "var/tmp").mkdir(parents=True, exist_ok=True)
    (tree / "var/tmp").chmod(0o1777)
    (tree / "root").chmod(0o700)
    for name in () if installed else ("passwd", "group"):
        shutil.copy(tree / "usr/share/base-passwd" / f"{name}.master", tree / "etc" / name)
    with open(tree / "etc/passwd", "a") as accounts:
        accounts.write("person:x:1000:1000:A Person:/home/person:/bin/bash\n")
    with open(tree / "etc/group", "a") as groups:
        groups.write("person:x:1000:\n")
    with open(tree / "etc/shadow", "w") as secrets:
        secrets.write("root:*:20000:0:99999:7:::\nperson:!:20000:0:99999:7:::\n")
    (tree / "etc/shadow").chmod(0o640)
    (tree / "home/person").mkdir(mode=0o755)
    os.chown(tree / "home/person", 1000, 1000)
    _settle_in(tree, recipe["arch"])
    (tree / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    (tree / "etc/hostname").write_text("machine\n")
    (tree / "etc/resolv.conf").write_text("nameserver 192.0.2.53\n")
    for link, target in (("sh", "dash"), ("awk", "gawk"), ("cc", "gcc")):
        if not (tree / "usr/bin" / link).exists():
            (tree / "usr/bin" / link).symlink_to(target)
    _compile_python(tree)
    shutil.rmtree(tree / "usr/share/doc", ignore_errors=True)
    shutil.rmtree(tree / "usr/share/man", ignore_errors=True)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", str(tree),
                    str(made / "root.ext4"), recipe["size"]], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL)


def _settle_in(tree: Path, architecture: str) -> None:
    """What ordinary packages and administrators leave on a host that the one that builds may lack: further
    people, a configuration of git's for all of them, libraries of another architecture, a /lib64."""
    with open(tree / "etc/passwd", "a") as accounts:
        accounts.write("other:x:1001:1001:Somebody Else:/home/other:/bin/bash\n"
                       "service:x:998:998::/var/lib/service:/usr/sbin/nologin\n")
    with open(tree / "etc/group", "a") as groups:
        groups.write("other:x:1001:\nservice:x:998:\nstaff-of-all:x:1100:person,other\n")
    (tree / "home/other/.ssh").mkdir(parents=True)
    (tree / "home/other/.ssh/id_ed25519").write_text("not for others\n")
    for path in (tree / "home/other", tree / "home/other/.ssh", tree / "home/other/.ssh/id_ed25519"):
        os.chown(path, 1001, 1001)
        path.chmod(0o700 if path.is_dir() else 0o600)
    (tree / "etc/gitconfig").write_text("[init]\n\tdefaultBranch = trunk\n[color]\n\tui = auto\n")
    foreign = "aarch64" if architecture == "amd64" else "x86_64"
    (tree / f"usr/lib/{foreign}-linux-gnu").mkdir(exist_ok=True)
    (tree / f"usr/lib/{foreign}-linux-gnu/libforeign.so.1").write_bytes(b"\x7fELF")
    if not (tree / "usr/lib64").is_dir() or not (tree / "lib64").is_symlink():
        raise SystemExit("tests/vm: the image has no /lib64")


def _compile_python(tree: Path) -> None:
    """Compiling its library at each start would take an emulated python seconds. The result depends on
    the version alone; where this machine's differs, the image is merely slower."""
    library = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if (tree / "usr/lib" / library).is_dir():
        subprocess.run([sys.executable, "-m", "compileall", "-q", "-s", str(tree), "-p", "/",
                        "--invalidation-mode", "unchecked-hash", str(tree / "usr/lib" / library),
                        str(tree / "usr/lib/python3")], check=False, stdout=subprocess.DEVNULL)


def _make_boot(recipe: dict, temporary: Path, made: Path) -> None:
    tree = temporary / "tree"
    _extract(recipe, [recipe["package"], "busybox-static"], tree, made)
    [kernel] = (tree / "boot").glob("vmlinuz-*")
    version = kernel.name.removeprefix("vmlinuz-")
    (made / "version").write_text(version + "\n")
    shutil.copy(kernel, made / "vmlinuz")
    shutil.copy(tree / "boot" / f"config-{version}", made / "config")

    small = temporary / "initramfs"
    for name in ("bin", "modules", "dev", "proc", "root"):
        (small / name).mkdir(parents=True)
    shutil.copy(tree / "usr/bin/busybox", small / "bin/busybox")
    order = []
    for name in recipe["modules"]:
        _copy_module(name, tree / "usr/lib/modules" / version, small / "modules", order)
    (small / "modules/order").write_text("".join(f"{name}\n" for name in order))
    shutil.copy(GUEST / "init", small / "init")
    (small / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(small)) for path in sorted(small.rglob("*")))
    archive = subprocess.run(["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"], cwd=small,
                             input=names.encode(), stdout=subprocess.PIPE, check=True).stdout
    (made / "initramfs").write_bytes(gzip.compress(archive, 1))


def _copy_module(name: str, modules: Path, target: Path, order: list[str]) -> None:
    """A module and, before it, what it needs. One that is part of the kernel needs no file, and one
    that this kernel does not have is missed by the case that needs it."""
    if name in order:
        return
    found = [path for path in modules.rglob("*.ko*")
             if path.name.split(".")[0].replace("-", "_") == name]
    if not found:
        return
    content = found[0].read_bytes()
    if found[0].suffix == ".xz":
        content = lzma.decompress(content)
    start = content.find(b"\0depends=")
    needs = content[start + 9:content.index(b"\0", start + 9)].decode() if start >= 0 else ""
    for need in filter(None, needs.split(",")):
        _copy_module(need.replace("-", "_"), modules, target, order)
    (target / f"{name}.ko").write_bytes(content)
    order.append(name)
