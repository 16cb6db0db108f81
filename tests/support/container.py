"""Containers as podman makes them, by the runtime that podman starts: crun, with podman's default
seccomp profile, capabilities and hidden paths. Their root shows the host's programs, so that no image has
to be fetched."""

import json
import os
import platform
from dataclasses import dataclass, field
from pathlib import Path

PROFILE = Path("/usr/share/containers/seccomp.json")
# What podman leaves to root of a container.
CAPABILITIES = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL",
                "CAP_NET_BIND_SERVICE", "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID",
                "CAP_SYS_CHROOT"]
MASKED = ["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sched_debug",
          "/proc/scsi", "/proc/timer_list", "/proc/timer_stats", "/sys/dev/block",
          "/sys/devices/virtual/powercap", "/sys/firmware", "/sys/fs/selinux"]
READ_ONLY = ["/proc/asound", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
             "/proc/sysrq-trigger"]
ARCH = {"aarch64": ("arm64", "SCMP_ARCH_AARCH64"),
        "x86_64": ("amd64", "SCMP_ARCH_X86_64")}[platform.machine()]


def applies(rule: dict) -> bool:
    """As podman chooses the rules of its profile: by architecture and capability."""
    wanted, unwanted = rule.get("includes") or {}, rule.get("excludes") or {}
    if wanted.get("arches") and ARCH[0] not in wanted["arches"]:
        return False
    if any(name not in CAPABILITIES for name in wanted.get("caps") or []):
        return False
    if ARCH[0] in (unwanted.get("arches") or []):
        return False
    return not any(name in CAPABILITIES for name in unwanted.get("caps") or [])


def seccomp() -> dict:
    profile = json.loads(PROFILE.read_text())
    calls = []
    for rule in profile["syscalls"]:
        if not applies(rule):
            continue
        call = {"names": rule["names"], "action": rule["action"]}
        if rule.get("args"):
            call["args"] = rule["args"]
        if rule["action"] == "SCMP_ACT_ERRNO" and "errnoRet" in rule:
            call["errnoRet"] = rule["errnoRet"]
        calls.append(call)
    return {"defaultAction": profile["defaultAction"],
            "defaultErrnoRet": profile.get("defaultErrnoRet", 1),
            "architectures": [ARCH[1]], "syscalls": calls}


def mount(source, target=None, kind="bind", options=("rbind", "rw")) -> dict:
    return {"source": str(source), "destination": str(target or source), "type": kind,
            "options": list(options)}


def system_mounts() -> list[dict]:
    """The host's programs, read-only, and the few settings that they need."""
    mounts = [mount("/usr", options=("rbind", "ro"))]
    for name in ("passwd", "group", "nsswitch.conf", "ld.so.cache", "alternatives"):
        if Path("/etc", name).exists():
            mounts.append(mount(f"/etc/{name}", options=("rbind", "ro")))
    return mounts


@dataclass
class Options:
    """How a container was asked for; as podman makes one that was not."""
    capabilities: list[str] = field(default_factory=lambda: CAPABILITIES)
    filtered: bool = True  # else --security-opt seccomp=unconfined
    masked: bool = True  # else --security-opt unmask=ALL


def bundle(place: Path, argv: list[str], environment: dict[str, str], cwd: Path,
           shown: list[Path], options: Options = Options()) -> Path:
    """The directory of a container that runs argv."""
    root = place / "root"
    for name in ("proc", "dev", "sys", "etc", "tmp", "var/tmp", "usr"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        target = Path("/", name)
        if target.is_symlink() and not (root / name).is_symlink():
            (root / name).symlink_to(os.readlink(target))
    namespaces = ["pid", "mount", "ipc", "uts", "network"]
    mounts = [mount("proc", "/proc", "proc", ("nosuid", "noexec", "nodev")),
              mount("tmpfs", "/dev", "tmpfs", ("nosuid", "mode=755", "size=65536k")),
              mount("devpts", "/dev/pts", "devpts",
                    ("nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620")),
              mount("shm", "/dev/shm", "tmpfs", ("nosuid", "noexec", "nodev", "mode=1777")),
              mount("tmpfs", "/tmp", "tmpfs", ("nosuid", "nodev", "mode=1777")),
              *system_mounts(), *[mount(path) for path in shown]]
    linux = {"namespaces": [{"type": name} for name in namespaces]}
    if options.masked:
        linux |= {"maskedPaths": MASKED, "readonlyPaths": READ_ONLY}
    if options.filtered:
        linux["seccomp"] = seccomp()
    sets = ("bounding", "effective", "permitted")
    config = {"ociVersion": "1.0.2", "hostname": "container",
              "root": {"path": "root", "readonly": False}, "mounts": mounts, "linux": linux,
              "process": {"terminal": False, "user": {"uid": 0, "gid": 0}, "args": argv,
                          "cwd": str(cwd), "noNewPrivileges": False,
                          "env": [f"{name}={value}" for name, value in environment.items()],
                          "capabilities": {name: options.capabilities for name in sets}}}
    (place / "config.json").write_text(json.dumps(config))
    return place


def command(place: Path, state: Path, uid: int) -> list[str]:
    """The runtime, without control groups of its own, since a rootless one has none here and it does not
    know hosts with both versions. Started by another user than root it is in a user namespace of that
    user, as podman starts it."""
    hide = 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"'
    return ["unshare", "-m" if uid == 0 else "-Urm", "/bin/sh", "-c", hide, "sh", "crun", "--root",
            str(state), "--cgroup-manager=disabled", "run", "--bundle", str(place),
            f"cordon-test-{os.getpid()}-{place.name}"]
