"""The table of verdicts: what each attempt comes to under each preset.

A row's verdict is one letter per preset, in the order of PRESETS: A allowed, R refused. Refused
rows say which errors are a refusal (any other means that the attempt failed by itself) and how the
probe is shown to work without a sandbox:

  bare        the same attempt succeeds unsandboxed
  namespaces  it succeeds in a mount namespace of the person's own, where it harms nobody
  reaches     it fails bare as well, but with one of the errors named: the kernel saw the arguments
  a mapping   {"root": ..., "user": ...}, where the two differ
  why: ...    there can be no control for this person; the reason follows

{home} {project} {outside} {port} {abstract} {socket} {pid} {address} {shm} {queue} {key} are filled
in by the test.
"""

from dataclasses import dataclass, field

from support.harness import CALL_ERRORS, FILE_ERRORS, GONE_ERRORS, NET_ERRORS

PRESETS = ("strict", "workspace", "readonly", "build", "agent")

NOT_ROOT = "why: an ordinary user may not do this anywhere"
ABSENT = "why: this kernel was built without it"


@dataclass(frozen=True)
class Row:
    name: str
    attempt: tuple
    verdicts: str
    errors: frozenset = field(default=FILE_ERRORS)
    control: object = "bare"
    reaches: frozenset = field(default=frozenset())

    def control_for(self, person: str) -> str:
        return self.control[person] if isinstance(self.control, dict) else self.control


def call(name: str, *reaches: str, user: str = "reaches") -> Row:
    """A system call given impossible arguments: refused by the filter, seen by a bare kernel."""
    root = "reaches" if reaches else ABSENT
    return Row(f"syscall-{name}", ("syscall", name), "RRRRR", CALL_ERRORS,
               {"root": root, "user": user if reaches else ABSENT}, frozenset(reaches))


def family(name: str, kind: str, *protocol: str, control: object = "bare") -> Row:
    return Row(f"socket-{name}-{kind}", ("socket", name, kind, *protocol), "RRRRR",
               frozenset({"EPERM", "EACCES", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT"}),
               control)


ROOT_ONLY = {"root": "bare", "user": NOT_ROOT}
PAIR_ERRORS = frozenset({"EPERM", "EACCES", "EAFNOSUPPORT", "EOPNOTSUPP"})
UNIX_ERRORS = NET_ERRORS | {"ENOENT"}

ROWS = [
    # Files.
    Row("read-project", ("read", "{project}/file.txt"), "RAAAA"),
    Row("list-project", ("list", "{project}/subdir"), "RAAAA"),
    Row("write-project", ("write", "{project}/new.txt"), "RARAA"),
    Row("append-project", ("append", "{project}/append.txt"), "RARAA"),
    Row("mkdir-project", ("mkdir", "{project}/newdir"), "RARAA"),
    Row("unlink-project", ("unlink", "{project}/unlink.txt"), "RARAA"),
    Row("rename-project", ("rename", "{project}/rename.txt", "{project}/renamed.txt"), "RARAA"),
    Row("link-project", ("link", "{project}/file.txt", "{project}/linked.txt"), "RARAA"),
    Row("symlink-project", ("symlink", "file.txt", "{project}/sym.txt"), "RARAA"),
    Row("truncate-project", ("truncate", "{project}/truncate.txt"), "RARAA"),
    Row("chmod-project", ("chmod", "{project}/file.txt", "0644"), "RARAA"),
    Row("utimes-project", ("utimes", "{project}/file.txt"), "RARAA"),
    Row("tmpfile-project", ("tmpfile-link", "{project}", "{project}/tmpfile.txt"), "RARAA",
        FILE_ERRORS | {"EOPNOTSUPP"}),
    Row("fifo-project", ("mkfifo", "{project}/fifo"), "RARAA"),
    Row("read-outside", ("read", "{outside}/secret"), "RRRRR"),
    Row("read-outside-openat2", ("openat2-read", "{outside}/secret"), "RRRRR",
        FILE_ERRORS | {"ENOSYS"}),
    Row("read-outside-reopened", ("open-path-reopen", "{outside}/secret"), "RRRRR"),
    Row("read-outside-by-root-link", ("read", "/proc/self/root{outside}/secret"), "RRRRR"),
    Row("read-outside-by-dots", ("read", "{project}/../../outside/secret"), "RRRRR"),
    Row("stat-outside", ("stat", "{outside}/secret"), "RRRRR"),
    Row("list-outside", ("list", "{outside}"), "RRRRR"),
    Row("write-outside", ("write", "{outside}/new.txt"), "RRRRR"),
    Row("creat-outside", ("creat", "{outside}/creat.txt"), "RRRRR"),
    Row("mkdir-outside", ("mkdir", "{outside}/dir"), "RRRRR"),
    Row("unlink-outside", ("unlink", "{outside}/unlink.txt"), "RRRRR"),
    Row("rename-outside", ("rename", "{outside}/rename.txt", "{outside}/renamed.txt"), "RRRRR"),
    Row("rename-out", ("rename", "{project}/out.txt", "{outside}/out.txt"), "RRRRR",
        FILE_ERRORS | {"EXDEV"}),
    Row("link-in", ("link", "{outside}/secret", "{project}/linked-secret"), "RRRRR",
        FILE_ERRORS | {"EXDEV"}),
    Row("truncate-outside", ("truncate", "{outside}/truncate.txt"), "RRRRR"),
    Row("chmod-outside", ("chmod", "{outside}/secret", "0644"), "RRRRR"),
    Row("chown-outside", ("chown", "{outside}/secret"), "RRRRR"),
    Row("utimes-outside", ("utimes", "{outside}/secret"), "RRRRR"),
    Row("setxattr-outside", ("setxattr", "{outside}/secret"), "RRRRR"),
    Row("read-ssh-key", ("read", "{home}/.ssh/id_ed25519"), "RRRRR"),
    Row("read-netrc", ("read", "{home}/.netrc"), "RRRRR"),
    Row("read-real-home", ("read", "{home}/plain.txt"), "RRRRR"),
    Row("write-private-home", ("write", "{home}/private.txt"), "RAAAA"),
    Row("write-private-tmp", ("write", "/tmp/{unique}"), "RAAAA"),
    Row("write-private-shm", ("write", "/dev/shm/{unique}"), "RAAAA"),
    Row("read-passwd", ("read", "/etc/passwd"), "AAAAA"),
    Row("read-shadow", ("read", "/etc/shadow"), "RRRRR", FILE_ERRORS, ROOT_ONLY),
    Row("open-system-for-writing", ("open-write", "/usr/lib/os-release"), "RRRRR", FILE_ERRORS,
        ROOT_ONLY),
    Row("chmod-system", ("chmod", "/usr/lib/os-release", "0644"), "RRRRR", FILE_ERRORS, ROOT_ONLY),
    Row("setxattr-system", ("setxattr", "/usr/lib/os-release", "user.cordon-probe"), "RRRRR",
        FILE_ERRORS | {"EOPNOTSUPP"}, "why: it would change the host"),
    Row("core-pattern", ("proc-sys-write", "/proc/sys/kernel/core_pattern"), "RRRRR", FILE_ERRORS,
        ROOT_ONLY),
    Row("sysrq", ("open-write", "/proc/sysrq-trigger"), "RRRRR", FILE_ERRORS,
        "why: many kernels are built without it"),
    Row("kernel-log", ("open-read", "/dev/kmsg"), "RRRRR", FILE_ERRORS, ROOT_ONLY),
    Row("device-node", ("mknod-dev", "{outside}/../node"), "RRRRR", FILE_ERRORS, ROOT_ONLY),
    Row("device-node-in-project", ("mknod-dev", "{project}/node"), "RRRRR", FILE_ERRORS, ROOT_ONLY),
    Row("block-node-in-project", ("mknod-block", "{project}/block"), "RRRRR", FILE_ERRORS,
        ROOT_ONLY),
    Row("file-capability", ("file-capability", "{project}/file.txt"), "RRRRR", FILE_ERRORS,
        ROOT_ONLY),
    Row("handle", ("open-by-handle", "/usr/lib/os-release"), "RRRRR",
        CALL_ERRORS | {"EOPNOTSUPP"}, ROOT_ONLY),
    Row("root-handle", ("open-root-by-handle", "/usr"), "RRRRR", CALL_ERRORS, ROOT_ONLY),
    Row("null-device", ("open-write", "/dev/null"), "AAAAA"),
    Row("random-device", ("open-read", "/dev/urandom"), "AAAAA"),
    # Programs.
    Row("exec-system", ("exec", "/usr/bin/true"), "AAAAA"),
    Row("exec-project", ("exec", "{project}/program", "cwd"), "RAAAA"),
    # Processes.
    Row("ptrace", ("ptrace", "{pid}"), "RRRRR", GONE_ERRORS),
    Row("read-memory", ("process-vm", "{pid}", "{address}"), "RRRRR", GONE_ERRORS),
    Row("write-memory", ("process-vm-write", "{pid}", "{address}"), "RRRRR", GONE_ERRORS),
    Row("memory-file", ("proc-mem", "{pid}", "{address}"), "RRRRR", GONE_ERRORS),
    Row("environ", ("environ-of", "{pid}"), "RRRRR", GONE_ERRORS),
    Row("signal", ("kill", "{pid}"), "RRRRR", GONE_ERRORS),
    Row("signal-by-pidfd", ("pidfd-kill", "{pid}"), "RRRRR", GONE_ERRORS | {"ENOSYS"}),
    Row("take-descriptor", ("pidfd-getfd", "{pid}", "0"), "RRRRR", GONE_ERRORS | {"ENOSYS"}),
    Row("init-memory-read", ("open-read", "/proc/1/mem"), "RRRRR", GONE_ERRORS,
        "why: the host's first process belongs to the machine"),
    Row("init-memory", ("proc1-mem",), "RRRRR", GONE_ERRORS | {"EROFS"},
        "why: the host's first process belongs to the machine"),
    Row("init-environ", ("environ-of", "1"), "RRRRR", GONE_ERRORS,
        "why: the host's first process belongs to the machine"),
    Row("capabilities", ("caps",), "RRRRR", frozenset({None})),
    # Namespaces and mounts.
    Row("unshare-user", ("unshare-user",), "RRRRR", CALL_ERRORS),
    Row("unshare-mount", ("unshare-mount",), "RRRRR", CALL_ERRORS, "namespaces"),
    Row("unshare-net", ("unshare-net",), "RRRRR", CALL_ERRORS, "namespaces"),
    Row("clone-newuser", ("clone-newuser",), "RRRRR", CALL_ERRORS),
    Row("clone3-newuser", ("clone3-newuser",), "RRRRR", frozenset({"ENOSYS"})),
    Row("clone3", ("clone3-plain",), "RRRRR", frozenset({"ENOSYS"})),
    Row("setns", ("setns", "/proc/self/ns/mnt"), "RRRRR", CALL_ERRORS, "namespaces"),
    Row("mount-tmpfs", ("mount-tmpfs", "{outside}"), "RRRRR", CALL_ERRORS, "namespaces"),
    Row("mount-bind", ("mount-bind", "/usr", "/etc"), "RRRRR", CALL_ERRORS, "namespaces"),
    Row("remount", ("remount-writable", "/usr"), "RRRRR", CALL_ERRORS,
        "why: /usr is not a mount point outside"),
    Row("umount", ("umount", "/proc"), "RRRRR", CALL_ERRORS,
        {"root": "namespaces", "user": "why: host mounts are locked in a namespace of one's own"}),
    Row("fsopen", ("fsopen",), "RRRRR", CALL_ERRORS, "namespaces"),
    Row("open-tree", ("open-tree", "/usr"), "RRRRR", CALL_ERRORS,
        {"root": "namespaces", "user": "why: a tree with locked mounts below may not be cloned"}),
    Row("pivot-root", ("pivot", "/"), "RRRRR", CALL_ERRORS, {"root": "reaches", "user": NOT_ROOT},
        frozenset({"EINVAL", "EBUSY"})),
    Row("chroot", ("chroot", "/usr"), "RRRRR", CALL_ERRORS, "namespaces"),
    Row("nested-mount", ("nested-mount", "/etc"), "RRRRR", CALL_ERRORS),
    # System calls.
    Row("io-uring", ("io-uring",), "RRRRR", frozenset({"ENOSYS"})),
    Row("bpf", ("bpf",), "RRRRR", CALL_ERRORS, ROOT_ONLY),
    Row("perf", ("perf",), "RRRRR", CALL_ERRORS),
    Row("userfaultfd", ("userfaultfd",), "RRRRR", CALL_ERRORS),
    Row("keyctl", ("keyctl",), "RRRRR", CALL_ERRORS),
    Row("add-key", ("add-key", "{key}"), "RRRRR", CALL_ERRORS),
    Row("read-key", ("read-key", "{key}"), "RRRRR", CALL_ERRORS),
    Row("request-key", ("request-key", "{key}"), "RRRRR", CALL_ERRORS),
    Row("own-filter", ("own-filter",), "AAAAA"),
    Row("listening-filter", ("listening-filter",), "RRRRR", CALL_ERRORS | {"EINVAL", "EBUSY"}),
    Row("own-landlock", ("landlock-ruleset",), "AAAAA"),
    Row("unknown-call", ("syscall", "1023"), "RRRRR", frozenset({"ENOSYS"}),
        "why: no kernel knows the number"),
    call("reboot", "EINVAL", user=NOT_ROOT),
    call("swapon", "EINVAL", "EFAULT"),
    call("swapoff", "EINVAL", "EFAULT", user=NOT_ROOT),
    call("settimeofday", "EFAULT"),
    call("clock_settime", "EFAULT", "EINVAL"),
    call("sethostname", "EINVAL", user=NOT_ROOT),
    call("setdomainname", "EINVAL", user=NOT_ROOT),
    call("acct", "EFAULT", user=NOT_ROOT),
    call("syslog", "EINVAL", user=NOT_ROOT),
    call("mount", "EFAULT"),
    call("umount2", "EINVAL"),
    call("mount_setattr", "EINVAL", "EBADF", "E2BIG"),
    call("move_mount", "EINVAL", "EFAULT", user=NOT_ROOT),
    call("fspick", "EINVAL", "EFAULT", user=NOT_ROOT),
    call("fsconfig", "EINVAL"),
    call("fsmount", "EINVAL", user=NOT_ROOT),
    call("quotactl", "EINVAL", "ENOSYS", "EFAULT", "ENODEV", "EOPNOTSUPP", "ENOTBLK"),
    call("ptrace", "ESRCH"),
    call("setns", "EBADF"),
    call("unshare", "EINVAL"),
    call("fanotify_init", "EINVAL", user=NOT_ROOT),
    call("kexec_load"),
    call("init_module"),
    call("finit_module"),
    call("delete_module"),
    # Sockets.
    Row("host-tcp", ("connect", "127.0.0.1:{port}"), "RRRRR", NET_ERRORS),
    Row("host-mptcp", ("mptcp-connect", "127.0.0.1:{port}"), "RRRRR", NET_ERRORS),
    Row("host-fastopen", ("fastopen", "127.0.0.1:{port}"), "RRRRR", NET_ERRORS),
    Row("internet", ("connect", "192.0.2.1:80"), "RRRRR", NET_ERRORS,
        "why: tests use no network but their own"),
    Row("internet-udp", ("udp-send", "192.0.2.1:53"), "RRRRR", NET_ERRORS,
        "why: tests use no network but their own"),
    Row("own-loopback", ("loopback",), "AAAAA"),
    Row("route-netlink", ("netlink", "0"), "AAAAA"),
    Row("audit-netlink", ("netlink", "9"), "RRRRR", NET_ERRORS),
    Row("uevent-netlink", ("netlink", "15"), "RRRRR", NET_ERRORS),
    Row("diag-netlink", ("netlink", "4"), "RRRRR", NET_ERRORS),
    Row("unix-path", ("unix-connect", "{socket}"), "RRRRR", UNIX_ERRORS),
    Row("unix-path-in-project", ("unix-connect", "{project}/socket"), "RRRRR", UNIX_ERRORS),
    Row("unix-datagram", ("unix-dgram-sendto", "{project}/datagram"), "RRRRR", UNIX_ERRORS),
    Row("unix-abstract", ("abstract-connect", "{abstract}"), "RRRRR", UNIX_ERRORS),
    Row("pair-stream", ("socketpair-stream",), "AAAAA"),
    Row("pair-seqpacket", ("socketpair-seqpacket",), "AAAAA"),
    Row("pair-datagram", ("socketpair-dgram",), "RRRRR", PAIR_ERRORS),
    Row("pair-redirected", ("socketpair-redirect", "{project}/datagram"), "RRRRR",
        PAIR_ERRORS | {"ENOENT"}),
    Row("vsock", ("vsock",), "RRRRR", NET_ERRORS),
    Row("packet", ("packet",), "RRRRR", NET_ERRORS, ROOT_ONLY),
    family("inet", "raw", "1", control=ROOT_ONLY),
    family("inet6", "raw", "58", control=ROOT_ONLY),
    family("xdp", "raw", control=ROOT_ONLY),
    family("alg", "seqpacket", control=ABSENT),
    family("bluetooth", "raw", control=ABSENT),
    family("key", "raw", control=ABSENT),
    family("tipc", "seqpacket", control=ABSENT),
    family("rds", "seqpacket", control=ABSENT),
    family("can", "raw", control=ABSENT),
    # Shared objects.
    Row("host-shm", ("sysv-shm", "{shm}"), "RRRRR", GONE_ERRORS | {"ENOSYS"}),
    Row("host-queue", ("mq", "{queue}"), "RRRRR", GONE_ERRORS | {"ENOSYS"}),
]

# Rows without a positive control, by person. A change here is a change of what is proved.
UNCONTROLLED = {"root": 19, "user": 48}
