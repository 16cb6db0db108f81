#!/usr/bin/env python3
"""What each OCI runtime holds, asked of the runtimes that are installed: the table in docs/engines.md.

  tests/oci/runtimes.py [--runtime NAME=PROGRAM]... [--write docs/engines.md]

As root. Every cell is an answer from inside of a container, or the words of a refusal. The containers are made from
bundles with no more in them than the question needs; the last two rows are runs of Cordon."""

import argparse
import errno
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.append(str(TESTS))

from support import container  # noqa: E402

BEGIN, END = "<!-- begin runtimes -->", "<!-- end runtimes -->"
CORDON = TESTS.parent / "build/cordon"
NOBODY = 65534
ASK = """
import ctypes, json, os
libc = ctypes.CDLL(None, use_errno=True)
def call(*words):
    ctypes.set_errno(0)
    return libc.syscall(*words), ctypes.get_errno()
LANDLOCK, SECCOMP = 444, {"x86_64": 317, "aarch64": 277}[os.uname().machine]
listener = ctypes.c_uint32(0x7fc00000)
print("ANSWER " + json.dumps({
    "landlock": call(LANDLOCK, None, 0, 1), "listener": call(SECCOMP, 2, 0, ctypes.byref(listener)),
    "descriptors": sorted(map(int, os.listdir("/proc/self/fd"))),
    "uid_map": open("/proc/self/uid_map").read().split(),
    "refused": os.strerror(call({"x86_64": 218, "aarch64": 96}[os.uname().machine], 0)[1])}))
"""
# set_tid_address, which does no harm, answers this.
CHOSEN = errno.ENOANO


class Runtime:
    def __init__(self, name, program):
        self.name, self.program = name, program

    def version(self):
        words = subprocess.run([self.program, "--version"], capture_output=True, text=True).stdout.split()
        return words[words.index("version") + 1] if "version" in words else "?"

    def command(self, state, bundle, *options):
        words = [self.program, "--root", str(state)]
        hide = []
        if self.name == "crun":
            # One before 1.9 takes no host that mounts control groups of both versions.
            hide = ["unshare", "-m", "/bin/sh", "-c", 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"', "sh"]
            words.append("--cgroup-manager=disabled")
        if self.name == "runsc":
            words += ["--network=none", "--platform=ptrace", "--ignore-cgroups"]
        return [*hide, *words, "run", *options, "--bundle", str(bundle), f"cordon-ask-{os.getpid()}"]

    def run(self, place, bundle, *options):
        # With one descriptor more than a program has.
        words = ["/bin/sh", "-c", 'exec "$@" 3</dev/null', "sh", *self.command(place / "state", bundle, *options)]
        return subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)

    def ask(self, place, change=lambda config: None, options=()):
        """What a process in a container answers; else what the runtime said."""
        bundle = Path(tempfile.mkdtemp(dir=place))
        container.bundle(bundle, ["/usr/bin/python3", "-c", ASK], {"PATH": "/usr/bin:/bin"}, Path("/"), [])
        config = json.loads((bundle / "config.json").read_text())
        del config["linux"]["seccomp"]
        change(config)
        (bundle / "config.json").write_text(json.dumps(config))
        done = self.run(place, bundle, *options)
        found = re.search(r"^ANSWER (.*)$", done.stdout, re.MULTILINE)
        return json.loads(found[1]) if found else last_words(done)


def last_words(done):
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line and not line.startswith("hint: ")]
    named = [line for line in lines if re.search(r"error|flag|unknown|cannot", line)] or lines[-1:]
    text = re.sub(r'^time=.*msg="(.*)"$', r"\1", named[0]) if named else f"status {done.returncode}"
    return re.sub(r"[|`]", "", text)[:120]


def exported(runtime, place):
    out = place / "exported"
    if not out.exists():
        subprocess.run([CORDON, "export", "oci", "--policy", "strict", "--drop", "limits", "--out", out, "--",
                        "/bin/echo", "ran"], check=True, capture_output=True, cwd=place,
                       env={"HOME": str(place), "PATH": "/usr/bin:/bin"})
    done = runtime.run(place, out)
    return "starts it" if done.stdout.strip() == "ran" else f"refused: {last_words(done)}"


def landlock(runtime, place):
    answer = runtime.ask(place)
    if isinstance(answer, str):
        return answer
    result, number = answer["landlock"]
    return f"ABI {result}" if result > 0 else f"none ({errno.errorcode[number]})"


def listener(runtime, place):
    answer = runtime.ask(place)
    return answer if isinstance(answer, str) else "yes" if answer["listener"][0] == 0 else (
        f"none ({errno.errorcode[answer['listener'][1]]})")


def descriptors(runtime, place):
    answer = runtime.ask(place, options=("--preserve-fds", "1"))
    if isinstance(answer, str):
        return f"refused: {answer}"
    # To list them takes one more.
    return "passed on" if answer["descriptors"] == [0, 1, 2, 3, 4] else "closed"


def profile(runtime, place):
    def change(config):
        config["linux"]["seccomp"] = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
            {"names": ["set_tid_address"], "action": "SCMP_ACT_ERRNO", "errnoRet": CHOSEN}]}
    # The C library makes this call when a program starts, and does not look at the answer.
    answer = runtime.ask(place, change)
    if isinstance(answer, str):
        return answer
    return "held, with its errno" if answer["refused"] == os.strerror(CHOSEN) else "**ignored**"


def identities(runtime, place):
    def change(config):
        config["linux"]["namespaces"].append({"type": "user"})
        for key in ("uidMappings", "gidMappings"):
            config["linux"][key] = [{"containerID": 0, "hostID": 0, "size": 1}]
        config["mounts"] = [one for one in config["mounts"] if one["type"] != "devpts"]
    answer = runtime.ask(place, change)
    if isinstance(answer, str):
        return f"refused: {answer}"
    return "one id of one" if answer["uid_map"] == ["0", "0", "1"] else f"shown as {' '.join(answer['uid_map'])}"


def run_of_cordon(runtime, place, uid):
    home = Path(tempfile.mkdtemp(dir=place))
    project = home / "project"
    project.mkdir()
    prefix = []
    if uid:
        for path in (home, project):
            os.chown(path, uid, uid)
        prefix = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=-all"]
    words = [CORDON, "run", "--backend", "oci", "--runtime", runtime.name, "--json", "--", "true"]
    if runtime.name == "crun":
        hide = 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"'
        prefix = ["unshare", "-m", "/bin/sh", "-c", hide, "sh", *prefix]
    done = subprocess.run([*prefix, *words], capture_output=True, text=True, cwd=project, stdin=subprocess.DEVNULL,
                          env={"HOME": str(home), "PATH": "/usr/bin:/bin", "USER": "person"})
    report = json.loads(done.stdout)
    if report["error"]:
        return "refused by name"
    held = report["enforcement"]
    layers = ("namespaces", "pivot_root", "bind_mounts", "landlock", "seccomp", "cap_drop", "no_new_privs")
    missing = [layer for layer in layers if not held[layer]]
    limits = sorted({held["limits"][name] for name in ("memory", "pids")})
    return f"every layer read back; memory and processes by {' and '.join(limits)}" if not missing else (
        f"without {', '.join(missing)}")


ROWS = {
    "a bundle of `cordon export oci`": exported,
    "Landlock inside": landlock,
    "a filter's listener inside": listener,
    "`--preserve-fds`": descriptors,
    "`linux.seccomp`": profile,
    "`linux.uidMappings`": identities,
    "`cordon run --backend oci`, by root": lambda runtime, place: run_of_cordon(runtime, place, 0),
    "`cordon run --backend oci`, by an ordinary user": lambda runtime, place: run_of_cordon(runtime, place, NOBODY),
}


def table(runtimes):
    lines = ["Written by `tests/oci/runtimes.py --write docs/engines.md`; no cell was typed.", "",
             "| | " + " | ".join(f"{one.name} {one.version()}" for one in runtimes) + " |",
             "|---|" + "---|" * len(runtimes)]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        place = Path(name)
        place.chmod(0o755)
        for title, question in ROWS.items():
            lines.append(f"| {title} | " + " | ".join(question(one, place) for one in runtimes) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runtime", action="append", default=[])
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    programs = {"runc": "/usr/sbin/runc", "crun": "/usr/bin/crun", "runsc": "/usr/bin/runsc"}
    programs.update(one.split("=", 1) for one in asked.runtime)
    text = table([Runtime(name, program) for name, program in programs.items() if Path(program).exists()])
    if not asked.write:
        print(text, end="")
        return
    page = asked.write.read_text()
    before, rest = page.split(BEGIN + "\n")
    asked.write.write_text(before + BEGIN + "\n" + text + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
