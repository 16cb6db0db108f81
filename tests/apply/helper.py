"""Starts cordon-apply with policies of SafeClaw, the way its callers do."""

import json
import shutil

from support import harness

FOREIGN_NAME = "safeclaw-sandbox-helper"

# What the static probe and small dynamic programs call, on both architectures. Tests of the lists
# that are shipped ask the program for them.
CALLS = """read write exit exit_group brk mmap close fstat mprotect munmap rt_sigaction rt_sigprocmask
    rt_sigreturn ioctl access getpid gettid getppid clone execve wait4 uname fcntl getcwd arch_prctl
    set_tid_address set_robust_list rseq prlimit64 getrandom openat open newfstatat stat lstat statx
    pread64 readlink readlinkat lseek writev readv getdents64 mremap madvise futex tgkill kill alarm
    setitimer rename renameat renameat2 link linkat symlink symlinkat unlink unlinkat mkdir mkdirat
    rmdir mknod mknodat truncate ftruncate creat chmod fchmodat faccessat faccessat2 dup dup2 dup3
    pipe pipe2 poll ppoll getuid geteuid getgid getegid getresuid getresgid getpgid getpgrp sysinfo
    setpgid getrusage umask chdir fchdir fadvise64 statfs clock_nanosleep nanosleep clock_gettime
    socket socketpair connect sendto recvfrom bind listen prctl vfork capget getgroups
    rt_sigsuspend rt_sigtimedwait waitid""".split()

_places = {}


def program(name="cordon-apply"):
    """A copy alone in its directory: it must need nothing beside it."""
    if name not in _places:
        place = harness.stage().path / f"apply-{name}"
        place.mkdir(mode=0o755)
        shutil.copy(harness.stage().cordon.parent / "cordon-apply", place / name)
        _places[name] = place / name
    return _places[name]


def rule(path, access):
    return {"path": str(path), "access": access}


def policy(*rules, deny=(), calls=CALLS, **top):
    return {"filesystem": {"allow": list(rules), "deny": list(deny)},
            "syscalls": {"allow": list(calls), "defaultDeny": True}, **top}


def system():
    """What dynamic programs of the distribution need."""
    return [rule(path, "execute") for path in ("/bin", "/lib", "/lib64", "/usr")] + [
        rule("/etc/ld.so.cache", "read"), rule("/dev/null", "readwrite")]


def written(world, document, name="policy.json", mode=0o600):
    text = document if isinstance(document, (str, bytes)) else json.dumps(document)
    return world.write(world.trusted / name, text, mode)


def apply(world, document, *command, options=(), name="cordon-apply", **how):
    """`cordon-apply --policy-file FILE OPTIONS -- COMMAND`."""
    return world.execute([program(name), "--policy-file", written(world, document), *options, "--",
                          *command], **how)


def by_descriptor(world, document, *command, options=(), **how):
    """The same with the policy on descriptor 3."""
    path = written(world, document)
    return world.execute(["/bin/sh", "-c", f'exec "$0" "$@" 3< {path}', program(), *options, "--",
                          *command], **how)


def attempts(world, document, tries, **how):
    """Attempts of the probe under a policy that lets the probe itself be executed."""
    document = json.loads(json.dumps(document))
    document["filesystem"]["allow"].append(rule(world.probe, "execute"))
    done = apply(world, document, world.probe, "batch", "-",
                 input="".join("\t".join(map(str, words)) + "\n" for words in tries), **how)
    found = harness.answers(done.out)
    assert [a.attempt for a in found] == [words[0] for words in tries], done.account()
    return found
