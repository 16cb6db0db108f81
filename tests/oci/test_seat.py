"""Cordon in the seat of an OCI runtime, called as engines call one. Each refusal has the same bundle without
what it is refused for as its control."""

import json
import os
import socket
import subprocess
import threading

import pytest

from seat import SYSTEM
from support.harness import SOON, processes_with, wait_until

pytestmark = pytest.mark.only("root")
SH = ("/bin/sh", "-c")


def capabilities(*names):
    def change(config):
        for held in config["process"]["capabilities"].values():
            held.extend(names)
    return change


def mounted(source, target="/more", options=("rbind", "ro"), kind="bind"):
    def change(config):
        config["mounts"].append({"source": str(source), "destination": target, "type": kind,
                                 "options": list(options)})
    return change


def without_namespace(kind):
    def change(config):
        spaces = config["linux"]["namespaces"]
        spaces[:] = [space for space in spaces if space["type"] != kind]
    return change


def with_linux(key, value):
    return lambda config: config["linux"].__setitem__(key, value)


def with_process(key, value):
    return lambda config: config["process"].__setitem__(key, value)


def with_top(key, value):
    return lambda config: config.__setitem__(key, value)


def with_annotation(key, value):
    return with_top("annotations", {key: value})


REFUSED = {
    "a device file": (mounted("/dev/null"), "neither a file nor a directory"),
    "outside of the ceiling": (mounted("/etc/hostname"), ["does not grant it", "ceiling.toml:4", "below [fs] in"]),
    "the host's processes": (mounted("/proc", "/host"), "shows the host's processes or devices"),
    "everything": (mounted("/", "/host"), "shows the host's processes or devices"),
    "a mount over /proc/sys": (mounted("/usr", "/proc/sys"), "masks in /proc/sys"),
    "shared mounts": (mounted("/usr", "/more", ("rbind", "ro", "rshared")), "propagation"),
    "an option nobody knows": (mounted("/usr", "/more", ("rbind", "ro", "frobnicate")), "frobnicate"),
    "an overlay": (mounted("overlay", "/more", ("lowerdir=/etc",), "overlay"), "overlay"),
    "a parent": (mounted("/usr/../etc", "/more"), ".."),
    "CAP_SYS_ADMIN": (capabilities("CAP_SYS_ADMIN"), "CAP_SYS_ADMIN is asked for"),
    "the host's network": (without_namespace("network"), ["shares the network of the host", 'mode = "open"']),
    "the host's processes' numbers": (without_namespace("pid"), "the pid namespace of the host is shared"),
    "the host's messages": (without_namespace("ipc"), "the ipc namespace of the host is shared"),
    "the host's name": (without_namespace("uts"), "the uts namespace of the host is shared"),
    "a namespace by path": (with_linux("namespaces", [
        {"type": "pid", "path": "/proc/self/ns/pid"},
        *[{"type": kind} for kind in ("mount", "ipc", "uts", "network")]]),
        "the pid namespace of the host is shared"),
    "a device": (with_linux("devices", [{"path": "/dev/fuse", "type": "c", "major": 10, "minor": 229}]), "/dev/fuse"),
    "all devices": (with_linux("resources", {"devices": [{"allow": True, "access": "rwm"}]}), "devices beyond"),
    "a hook": (with_top("hooks", {"prestart": [{"path": "/usr/bin/true"}]}),
               ["hooks.prestart[0]", "cordon oci --hook /usr/bin/true"]),
    "a setting of the kernel": (with_linux("sysctl", {"kernel.core_pattern": "|/tmp/x"}), "kernel.core_pattern"),
    "shared root": (with_linux("rootfsPropagation", "rshared"), "out to the host"),
    "a listener": (with_linux("seccomp", {"defaultAction": "SCMP_ACT_ALLOW", "listenerPath": "/run/x"}), "listenerPath"),
    "a notification": (with_linux("seccomp", {"defaultAction": "SCMP_ACT_NOTIFY"}), "SCMP_ACT_NOTIFY"),
    "an order to crun": (with_annotation("run.oci.seccomp_bpf_data", "AAAA"), "an order to the runtime"),
    "an unknown key": (with_top("vm", {}), "vm: is a key that Cordon does not judge"),
    "an unknown key of linux": (with_linux("intelRdt", {}), "linux.intelRdt"),
    "an unknown key of the process": (with_process("scheduler", {"policy": "SCHED_FIFO"}), "process.scheduler"),
    "a start in what the runtime has open": (with_process("cwd", "/proc/self/fd/7"), "what the runtime has open"),
    "a policy that is not there": (with_annotation("cordon.dev/policy", "missing"), "no policy of that name"),
    "a policy by its path": (with_annotation("cordon.dev/policy", "../x"), "not the name of a policy"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_exceeds_the_ceiling_is_refused(seat, case):
    change, words = REFUSED[case]
    seat.refused(seat.bundle([*SH, "echo ran"], change), words)
    assert seat.run(seat.bundle([*SH, "echo ran"])).expect(0).out == "ran\n"
    [record] = seat.records("refused")
    assert (record["action"], record["outcome"]) == ("run", "failure"), record
    assert record["metadata"]["error_kind"] == "policy", record


def test_a_life_of_a_container(seat):
    name = seat.name()
    bundle = seat.bundle([*SH, "echo ran > /tmp/x; exec sleep 1000"])
    before = (bundle / "config.json").read_bytes()
    seat.call("create", "--bundle", bundle, "--pid-file", seat.world.path / "pid", name,
              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).expect(0)
    assert (bundle / "config.json").read_bytes() == before, "the engine's file is the engine's"
    [begun, ended] = seat.records(action="create")
    assert begun["phase"] == "pending" and ended["outcome"] == "success", seat.all_records()
    assert begun["metadata"]["backend"] == "oci" and begun["metadata"]["session"], begun
    state = seat.call("state", name).expect(0).json
    assert state["status"] == "created" and state["pid"] == int((seat.world.path / "pid").read_text())
    seat.call("start", name).expect(0)
    assert seat.call("state", name).expect(0).json["status"] == "running"
    # A second one of the name is refused, and the first goes on being judged by its own copy.
    taken = seat.call("create", "--bundle", bundle, name)
    assert taken.status == 1 and "is there already" in taken.err, taken.account()
    assert seat.left_copies(), "the copy stays as long as the container"
    seat.call("kill", name, "KILL").expect(0)
    assert wait_until(lambda: seat.state(name) == "stopped")
    seat.call("delete", name).expect(0)
    assert seat.state(name) is None and not seat.left_copies()
    # The host ended, and the container with it: its copy does not stand in the way.
    seat.call("create", "--bundle", bundle, name, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).expect(0)
    seat.bare("delete", "--force", name).expect(0)
    assert seat.left_copies()
    seat.call("create", "--bundle", bundle, name, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).expect(0)
    seat.call("delete", "--force", name).expect(0)
    assert not seat.left_copies()


STATUS = "grep -E '^(CapBnd|CapEff|CapPrm|NoNewPrivs|Seccomp):' /proc/self/status"


def status_of(text):
    return {line.split(":")[0]: line.split(":")[1].strip() for line in text.splitlines()}


def test_what_every_container_gets(seat_of):
    bundle = seat_of.bundle([*SH, STATUS], lambda config: config["linux"].pop("seccomp"))
    inside = status_of(seat_of.run(bundle).expect(0).out)
    none = "0000000000000000"
    assert inside == {"CapBnd": none, "CapEff": none, "CapPrm": none, "NoNewPrivs": "1", "Seccomp": "2"}, inside
    control = status_of(seat_of.run_bare(bundle).expect(0).out)
    assert control["CapEff"] != none and control["NoNewPrivs"] == "0" and control["Seccomp"] == "0", control


CALLS = {
    "a user namespace": "unshare -Ur true",
    "a mount": "mount -t tmpfs none /tmp",
    "a setuid bit": "cp /usr/bin/id /tmp/x && chmod u+s /tmp/x",
    "a device": "mknod /tmp/x c 1 3",
    "a local socket": "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'",
    "a packet socket": "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'",
    "a lease": "python3 -c 'import fcntl; fcntl.fcntl(open(\"/tmp/x\", \"w\"), 1024, 1)'",
    "typing into a terminal": "python3 -c 'import fcntl, errno\ntry: fcntl.ioctl(0, 0x5412, b\"x\")\n"
                              "except OSError as e: raise SystemExit(e.errno == errno.ENOSYS)'",
}


@pytest.mark.parametrize("case", CALLS)
def test_calls_that_the_filter_refuses(seat_of, case):
    # Nothing of the engine's keeps the control from it.
    everything = [f"CAP_{name}" for name in ("SYS_ADMIN", "MKNOD", "NET_RAW", "CHOWN", "FOWNER", "SETFCAP", "LEASE")]

    def change(config, sets):
        config["linux"].pop("seccomp")
        config["mounts"] = [one for one in config["mounts"] if one["destination"] != "/tmp"]
        config["process"]["capabilities"] = {name: sets for name in ("bounding", "effective", "permitted")}
    script = f"{CALLS[case]} 2>/dev/null && echo did"
    refused = seat_of.run(seat_of.bundle([*SH, script], lambda config: change(config, [])))
    assert refused.out == "" and refused.status != 125, refused.account()
    assert seat_of.run_bare(seat_of.bundle([*SH, script], lambda config: change(config, everything))).out == "did\n"


def test_the_engines_profile_is_kept_where_it_is_narrower(seat):
    def change(config):
        for call in config["linux"]["seccomp"]["syscalls"]:
            call["names"] = [name for name in call["names"] if name not in ("mkdir", "mkdirat")]
    script = "mkdir /tmp/x 2>/dev/null || echo refused; touch /tmp/y && echo made"
    assert seat.run(seat.bundle([*SH, script], change)).expect(0).out == "refused\nmade\n"
    assert seat.run(seat.bundle([*SH, script])).expect(0).out == "made\n"


def test_limits_are_narrowed_and_hold(seat):
    hungry = ["/usr/bin/python3", "-c", "x = b'x' * (300 << 20); print('had')"]
    big = with_linux("resources", {"memory": {"limit": 1 << 30}, "pids": {"limit": 2000}})
    assert seat.run(seat.bundle(hungry, big)).expect(0).out == "had\n"
    seat.ceiling(more='[limits]\nmemory = "100M"\npids = 20\nfiles = 64\n')
    killed = seat.run(seat.bundle(hungry, big))
    assert killed.status == 137 and killed.out == "", killed.account()
    files = seat.run(seat.bundle([*SH, "ulimit -n; ulimit -Hn"], big)).expect(0)
    assert files.out == "64\n64\n"
    forks = seat.bundle([*SH, "for i in $(seq 40); do sleep 5 & done; echo all"], big)
    full = seat.run(forks)
    assert "all" not in full.out, full.account()


def test_limits_that_nobody_holds_refuse(seat):
    bundle = seat.bundle([*SH, "echo ran"])
    for more, words in (('[limits]\nwall = "5s"\n', "limits.wall is set"),
                        ('[limits]\noutput_total = "1M"\n', "limits.output_total is set"),
                        ('[require]\nlayers = ["landlock"]\n', "Landlock is required"),
                        ('[require]\nbackends = ["native"]\n', "none of the backends")):
        seat.ceiling(more=more)
        seat.refused(bundle, [words, "ceiling.toml:"])
    seat.ceiling()
    assert seat.run(bundle).expect(0).out == "ran\n"


def test_what_is_to_be_staged_is_refused(seat):
    place = seat.world.make_directory(seat.world.path / "shared")
    bundle = seat.bundle([*SH, "echo x > /shared/x && echo wrote"], mounted(place, "/shared", ("rbind", "rw")))
    for more in ('mode = "staged"\n', 'stage = "review"\n'):
        seat.ceiling(write=[place], more=more)
        seat.refused(bundle, "is to be staged")
    seat.ceiling(write=[place])
    assert seat.run(bundle).expect(0).out == "wrote\n"


def test_root_of_a_user_namespace_has_no_groups(seat):
    """An engine of an ordinary user starts runtimes so, and no limit of theirs would hold."""
    seat.ceiling(more='[limits]\nmemory = "500M"\n')
    bundle = seat.bundle([*SH, "echo ran"])
    words = seat.seated("run", "--bundle", bundle, seat.name())
    refused = seat.world.execute(["unshare", "-Ur", *words])
    assert refused.status == 1 and "need a control group" in refused.err, refused.account()
    assert seat.world.execute(words).expect(0).out == "ran\n"


def test_what_links_lead_to_is_decided_once(seat):
    place = seat.world.make_directory(seat.world.path / "shared")
    seat.world.write(place / "file", "content\n")
    link = seat.world.link(seat.world.path / "link", place)
    seat.ceiling(read=[place])
    name = seat.name()
    bundle = seat.bundle([*SH, "cat /shared/file"], mounted(link, "/shared"))
    seat.call("create", "--bundle", bundle, name, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).expect(0)
    copy = json.loads((seat.copies / seat.left_copies()[0] / "config.json").read_text())
    assert [one["source"] for one in copy["mounts"] if one["destination"] == "/shared"] == [str(place)]
    seat.call("delete", "--force", name).expect(0)
    assert seat.run(bundle).expect(0).out == "content\n"
    # And a link that leads out is what it leads to.
    seat.refused(seat.bundle([*SH, "echo ran"], mounted(seat.world.link(seat.world.path / "out", "/etc"), "/shared")),
                 ["/etc is to be read", "does not grant it"])


def test_a_node_without_a_ceiling_permits_nothing(seat):
    bundle = seat.bundle([*SH, "echo ran"])
    words = [word for word in seat.seated("run", "--bundle", bundle, seat.name())]
    at = words.index("--ceiling")
    bare = seat.world.execute([*words[:at], *words[at + 2:]])
    assert bare.status == 1 and "no ceiling" in bare.err and bare.out == "", bare.account()
    assert seat.run(bundle).expect(0).out == "ran\n"


def test_an_annotation_only_narrows(seat):
    place = seat.world.make_directory(seat.world.path / "shared")
    seat.world.write(place / "file", "content\n")
    seat.ceiling(write=[place])

    def bundle(policy, options=("rbind", "rw")):
        def change(config):
            mounted(place, "/shared", options)(config)
            if policy:
                with_annotation("cordon.dev/policy", policy)(config)
        return seat.bundle([*SH, "cat /shared/file; touch /shared/new 2>/dev/null && echo wrote"], change)
    system = json.dumps(SYSTEM)
    seat.policy("reads", f'version = 1\n[fs]\nread = {system[:-1]}, "{place}"]\nscratch = "64M"\n')
    # It cannot widen: what the ceiling does not grant is not there.
    seat.policy("wide", f'version = 1\n[fs]\nread = ["/usr", "/etc"]\nwrite = ["{place}", "/srv"]\nscratch = "64M"\n')
    assert seat.run(bundle(None)).expect(0).out == "content\nwrote\n"
    (place / "new").unlink()
    seat.refused(bundle("reads"), [f"{place}", "is to be written", "reads.toml"])
    assert seat.run(bundle("reads", ("rbind", "ro"))).out == "content\n"
    assert not (place / "new").exists()

    def beyond(config):
        mounted("/srv", "/srv", ("rbind", "rw"))(config)
        with_annotation("cordon.dev/policy", "wide")(config)
    seat.refused(seat.bundle([*SH, "echo ran"], beyond), ["/srv", "ceiling.toml"])
    assert seat.run(bundle("wide")).expect(0).out == "content\nwrote\n"


def test_a_policy_without_scratch_has_a_root_that_is_read_only(seat):
    system = json.dumps(SYSTEM)
    seat.policy("still", f"version = 1\n[fs]\nread = {system}\n")
    script = "touch /etc/x 2>/dev/null && echo wrote || echo kept"
    assert seat.run(seat.bundle([*SH, script], with_annotation("cordon.dev/policy", "still"))).out == "kept\n"
    assert seat.run(seat.bundle([*SH, script])).out == "wrote\n"


def test_protected_names_stay_in_what_may_be_written(seat):
    project = seat.world.make_directory(seat.world.path / "project")
    subprocess.run(["git", "init", "-q", str(project)], check=True,
                   env={"HOME": "/nonexistent", "PATH": os.environ["PATH"]})
    seat.world.write(project / ".vscode/tasks.json", "{}\n")
    seat.ceiling(write=[project])
    script = ("cd /work; for f in .git/hooks/pre-commit .git/config .vscode/tasks.json file; do "
              "echo x >> $f 2>/dev/null && echo $f; done; mv .git elsewhere 2>/dev/null && echo moved")
    bundle = seat.bundle([*SH, script], mounted(project, "/work", ("rbind", "rw")))
    assert seat.run(bundle).out == "file\n"
    control = seat.run_bare(bundle).out.split()
    assert control == [".git/hooks/pre-commit", ".git/config", ".vscode/tasks.json", "file", "moved"]


def test_credentials_are_not_shown(seat):
    home = seat.world.home
    seat.world.plant({".ssh/id_ed25519": "SECRET-ssh\n", ".aws/credentials": "SECRET-aws\n"})
    seat.world.write(home / "project/file", "content\n")
    seat.ceiling(read=[home])
    script = "cat /home-of-host/.ssh/id_ed25519 /home-of-host/.aws/credentials /home-of-host/project/file 2>/dev/null"
    bundle = seat.bundle([*SH, script], mounted(home, "/home-of-host"))
    assert seat.run(bundle).out == "content\n"
    assert seat.run_bare(bundle).out == "SECRET-ssh\nSECRET-aws\ncontent\n"
    seat.refused(seat.bundle([*SH, "echo ran"], mounted(home / ".ssh", "/keys")), ["is held back", ".ssh"])


def test_a_socket_of_the_host_has_to_be_listed(seat):
    place = seat.world.make_directory(seat.world.path / "service")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place / "engine.sock"))
    listener.listen()
    client = ["/usr/bin/python3", "-c", "import socket; s = socket.socket(socket.AF_UNIX); "
              "s.connect('/s/engine.sock'); print('connected')"]
    seat.ceiling(read=[place])
    alone = seat.bundle(client, mounted(place / "engine.sock", "/s/engine.sock"))
    seat.refused(alone, ["leads to a service of the host", "sockets"])
    # Nor through the directory that it lies in.
    through = seat.bundle(client, mounted(place, "/s"))
    assert seat.run(through).out == ""
    assert seat.run_bare(through).out == "connected\n"
    listener.close()


def test_a_network_namespace_by_path(seat):
    holder = subprocess.Popen(["unshare", "-n", "sleep", "1000"])
    try:
        path = f"/proc/{holder.pid}/ns/net"
        assert wait_until(lambda: os.stat(path).st_ino != os.stat("/proc/self/ns/net").st_ino)

        def change(config):
            for space in config["linux"]["namespaces"]:
                if space["type"] == "network":
                    space["path"] = path
        bundle = seat.bundle([*SH, "echo ran"], change)
        assert seat.run(bundle).expect(0).out == "ran\n"
        subprocess.run(["nsenter", f"--net={path}", "ip", "link", "add", "way", "type", "veth", "peer", "name", "out"],
                       check=True)
        seat.refused(bundle, ["leads out of the host", 'mode = "open"'])
        seat.ceiling(more='[net]\nmode = "open"\n')
        assert seat.run(bundle).expect(0).out == "ran\n"
    finally:
        holder.kill()
        holder.wait()


def test_a_record_that_cannot_be_written_refuses(seat):
    bundle = seat.bundle([*SH, "echo ran"])
    seat.run(bundle).expect(0)
    audit = seat.world.home / ".local/state/cordon/audit"
    audit.rename(audit.with_name("kept"))
    seat.world.write(audit, "not a directory\n")
    name = seat.name()
    refused = seat.call("create", "--bundle", bundle, name, stdout=subprocess.PIPE)
    assert refused.status == 1 and "audit" in refused.err, refused.account()
    assert seat.state(name) is None and not seat.left_copies()
    audit.unlink()
    audit.with_name("kept").rename(audit)
    assert seat.run(bundle).expect(0).out == "ran\n"


def started(seat, change=None):
    name = seat.name()
    bundle = seat.bundle([*SH, "exec sleep 1000"], change)
    seat.call("run", "--detach", "--bundle", bundle, name, stdout=subprocess.DEVNULL,
              stderr=subprocess.DEVNULL).expect(0)
    return name


def test_exec_is_judged_and_recorded(seat):
    name = started(seat)
    inside = status_of(seat.call("exec", name, *SH, STATUS).expect(0).out)
    assert inside["CapEff"] == "0000000000000000" and inside["NoNewPrivs"] == "1" and inside["Seccomp"] == "2", inside
    [begun, ended] = seat.records(action="exec")
    assert (begun["phase"], ended["outcome"]) == ("pending", "success"), seat.all_records()
    assert seat.call("exec", name, *SH, "exit 7").status == 7
    for words in (["--cap", "CAP_SYS_ADMIN"], ["--cgroup", "/"], ["--frobnicate"], ["--cwd", "/proc/self/fd/8"]):
        done = seat.call("exec", *words, name, "/bin/true")
        assert done.status == 1 and "cordon: " in done.err, done.account()
    seat.call("exec", "--cwd", "/tmp", "--env", "A=b", name, "/bin/true").expect(0)

    process = {"terminal": False, "user": {"uid": 0, "gid": 0}, "args": [*SH, STATUS], "cwd": "/",
               "env": ["PATH=/usr/bin:/bin"], "noNewPrivileges": False,
               "capabilities": {key: ["CAP_CHOWN"] for key in ("bounding", "effective", "permitted")}}
    file = seat.world.write(seat.world.path / "process.json", json.dumps(process), 0o600)
    inside = status_of(seat.call("exec", "--process", file, name).expect(0).out)
    assert inside["CapEff"] == "0000000000000000" and inside["NoNewPrivs"] == "1", inside
    control = status_of(seat.bare("exec", "--process", file, name).expect(0).out)
    assert control["CapEff"] != "0000000000000000", control
    process["capabilities"]["effective"].append("CAP_SYS_PTRACE")
    seat.world.write(file, json.dumps(process), 0o600)
    refused = seat.call("exec", "--process", file, name)
    assert refused.status == 1 and "CAP_SYS_PTRACE is asked for" in refused.err, refused.account()
    assert [name for name in os.listdir(seat.copies / seat.left_copies()[0])] == ["config.json"]
    seat.call("delete", "--force", name).expect(0)


def test_a_container_that_was_not_judged_gets_no_commands(seat):
    name = seat.name()
    seat.bare("run", "--detach", "--bundle", seat.bundle([*SH, "exec sleep 1000"]), name, stdout=subprocess.DEVNULL,
              stderr=subprocess.DEVNULL).expect(0)
    done = seat.call("exec", name, "/bin/true")
    assert done.status == 1 and "was not started by cordon oci" in done.err, done.account()
    seat.bare("exec", name, "/bin/true").expect(0)


def test_updates_stay_within_the_limits(seat):
    seat.ceiling(more='[limits]\nmemory = "200M"\n')
    name = started(seat)

    def update(resources):
        return seat.call("update", "--resources", "-", name, input=json.dumps(resources))
    lifted = update({"memory": {"limit": 1 << 30}})
    assert lifted.status == 1 and "limits.memory" in lifted.err, lifted.account()
    assert update({"memory": {"limit": -1}}).status == 1
    assert update({"unified": {"memory.max": "max"}}).status == 1
    # containerd repeats the devices of the container.
    update({"devices": [{"allow": True, "access": "rwm"}], "memory": {"limit": 160 << 20, "swap": 160 << 20}}).expect(0)
    update({"memory": {"limit": 150 << 20, "swap": 150 << 20}}).expect(0)
    assert [record["outcome"] for record in seat.records(action="update")][-2:] == ["pending", "success"]
    seat.call("delete", "--force", name).expect(0)


def test_words_that_are_not_known_are_refused(seat):
    bundle = seat.bundle([*SH, "echo ran"])
    for words in (["frobnicate", "one"], ["restore", "one"], ["checkpoint", "one"],
                  ["run", "--no-pivot", "--bundle", bundle, "one"], ["run", "--frobnicate", "--bundle", bundle, "one"],
                  ["run", "--bundle", bundle], ["run", "--bundle", bundle, "../one"]):
        done = seat.call(*words)
        assert done.status == 1 and done.err.startswith("cordon: ") and done.out == "", done.account()
    assert len(seat.records("refused", "run")) == 4, seat.all_records()
    version = seat.world.execute([seat.link, "--runtime", "runc", "--version"]).expect(0)
    assert version.out == seat.world.execute(["runc", "--version"]).expect(0).out
    assert json.loads(seat.call("list", "--format", "json").expect(0).out) in ([], None)
    assert seat.run(bundle).expect(0).out == "ran\n"


def test_descriptors_that_lead_out_are_refused(seat):
    bundle = seat.bundle([*SH, "cat <&3"])
    held = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    reader, writer = os.pipe()
    os.write(writer, b"piped\n")
    os.close(writer)

    def call(descriptor):
        wrap = ["/bin/bash", "-c", f'exec 3<&{descriptor}; exec "$@"', "sh"]
        words = seat.seated("run", "--preserve-fds", "1", "--bundle", bundle, seat.name())
        return seat.world.execute([*wrap, *words], pass_fds=(descriptor,))
    refused = call(held)
    assert refused.status == 1 and "leads to a directory" in refused.err, refused.account()
    assert call(reader).expect(0).out == "piped\n"
    os.close(held)
    os.close(reader)


def test_a_hook_that_the_operator_names_runs(seat):
    hook = seat.world.write(seat.world.path / "hook", "#!/bin/sh\ncat > /dev/null\necho ran > " +
                            str(seat.world.path / "hooked") + "\n", 0o755)
    bundle = seat.bundle([*SH, "echo ran"], with_top("hooks", {"prestart": [{"path": str(hook)}]}))
    seat.refused(bundle, "outside of the container")
    assert not (seat.world.path / "hooked").exists()
    seat.ceiling(more='[net]\nmode = "open"\n')  # it could connect the network
    words = seat.seated("run", "--bundle", bundle, seat.name())
    done = seat.world.execute([words[0], "--hook", hook, *words[1:]])
    assert done.expect(0).out == "ran\n" and (seat.world.path / "hooked").exists()


@pytest.mark.parametrize("delay", [0.0, 0.03, 0.08, 0.15, 0.3])
def test_killed_at_create_nothing_is_left(seat, delay):
    name = seat.name()
    bundle = seat.bundle([*SH, "exec sleep 1000"])
    process = seat.world.start(seat.seated("create", "--bundle", bundle, name), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    threading.Event().wait(delay)
    ended = process.poll() == 0
    process.kill()
    process.wait()
    if ended:  # it came to its end before: the container is the engine's
        assert seat.state(name) == "created"
        seat.call("delete", "--force", name).expect(0)
    assert wait_until(lambda: not processes_with(name), SOON), processes_with(name)
    assert wait_until(lambda: seat.state(name) is None, SOON)
    # And the name can be used again.
    assert seat.call("run", "--bundle", seat.bundle([*SH, "echo ran"]), name).expect(0).out == "ran\n"


def test_under_another_bundle_than_the_engines_own(seat):
    bundle = seat.bundle([*SH, "echo ran"])
    (bundle / "config.json").chmod(0o666)
    done = seat.run(bundle)
    assert done.status == 1 and "may be written by others" in done.err, done.account()
    (bundle / "config.json").chmod(0o644)
    bundle.chmod(0o777)
    done = seat.run(bundle)
    assert done.status == 1 and "not a directory of the engine's own" in done.err, done.account()
    bundle.chmod(0o755)
    assert seat.run(bundle).expect(0).out == "ran\n"
