"""`cordon export`: what it writes is started by a runtime, read against closed schemas or typed at a shell,
and holds what it says. The bundles of ./test are crun's; ./test --all starts them with runc as well."""

import copy
import json
import os
import re
import shutil
import tarfile
from pathlib import Path

import jsonschema
import pytest
import yaml
from support import harness
from support.kube_schema import KINDS, PUBLISHED, fits_published

IMAGE = "example.com/tool@sha256:" + 64 * "0"
RUNTIMES = ("crun",) if harness.only_chosen_cases() else ("crun", "runc")


def export(world, *words, **how):
    return world.cordon_verb("export", *words, **how)


def start(world, runtime, bundle, **how):
    """As root or as an ordinary user. A crun of this age takes no host with control groups of both versions,
    so that it sees none; a user has none to give."""
    name = f"cordon-test-{os.getpid()}-{bundle.name}"
    state = world.make_directory(world.path / "state")
    words = [runtime, "--root", str(state)]
    if runtime == "crun":
        words.append("--cgroup-manager=disabled")
    elif not world.who.is_root:
        words += ["--rootless", "true"]
    words += ["run", "--bundle", str(bundle), name]
    if os.geteuid() != 0:
        return world.bare(*words, **how)
    hide = "mount -t tmpfs none /sys/fs/cgroup && " if runtime == "crun" else ""
    become = world.who.prefix
    shell = ["unshare", "-m", "/bin/sh", "-c", hide + 'exec "$@"', "sh", *become]
    process = harness.World.execute
    # Namespaces of mounts are root's to make: the runtime itself is the person's.
    asked = copy.copy(world)
    asked.who = harness.Person(world.who.name, world.who.uid)
    return process(asked, [*shell, *words], **how)


def bundle_of(world, command, options=(), drop="limits"):
    bundle = world.home / f"bundle-{len(list(world.home.glob('bundle-*')))}"
    dropped = ("--drop", drop) if drop else ()
    done = export(world, "oci", "--out", bundle, *dropped, *options, "--", *command)
    done.expect(0)
    assert done.out == f"{bundle}/config.json\n", done.account()
    return bundle


def inside(world, runtime, attempts, options=()):
    bundle = bundle_of(world, (world.probe, "batch", "-"), options)
    text = "".join("\t".join(map(str, attempt)) + "\n" for attempt in attempts)
    done = start(world, runtime, bundle, input=text)
    found = harness.answers(done.out)
    assert [one.attempt for one in found] == [attempt[0] for attempt in attempts], done.account()
    return found


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_bundle_holds_what_a_run_holds(world, runtime):
    world.plant({".ssh/id_ed25519": "SECRET-ssh\n"})
    hook = world.write(world.project / ".git/hooks/pre-commit", "#!/bin/sh\n", 0o755)
    for name in ("objects", "refs"):
        world.make_directory(world.project / ".git" / name)
    world.write(world.project / ".git/HEAD", "ref: refs/heads/main\n")
    world.write(world.project / ".git/config", "[core]\n")
    denied = world.write(world.project / "deep/.env", "SECRET-env\n")
    refused = [("read", world.outside / "secret"), ("read", world.home / ".ssh/id_ed25519"),
               ("read", denied), ("append", hook), ("append", world.project / ".git/config"),
               ("rename", world.project / ".git", world.project / "other")]
    for attempt in refused[:-1]:  # without the renaming, which would take place
        [bare] = world.outside_of([attempt])
        assert bare.ok, f"the control of {attempt} failed: {bare}"
    permitted = [("read", world.project / "file.txt"), ("write", world.project / "made"),
                 ("write", "/tmp/made"), ("read", "/usr/bin/env")]
    # The plan could be opened by its mode: Landlock has no rule for the place where it lies.
    refused += [("read", "/.cordon/plan"), ("write", "/etc/made"), ("write", "/made"), ("ptrace", 1)]
    found = inside(world, runtime, permitted + refused, options=("--deny", ".env"))
    for answer in found[:len(permitted)]:
        assert answer.ok, f"{answer} was refused"
    for answer in found[len(permitted):]:
        assert not answer.ok and answer.errno in harness.FILE_ERRORS | harness.CALL_ERRORS | {"EBUSY"}, answer
    assert (world.project / "made").exists() and not Path("/tmp/made").exists()


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_layers_are_on_the_command(world, runtime):
    words = ("Seccomp:", "NoNewPrivs:", "CapBnd:", "CapEff:")
    bundle = bundle_of(world, ("/bin/sh", "-c", "cat /proc/self/status; cat /proc/net/dev; echo pid $$"))
    done = start(world, runtime, bundle)
    done.expect(0)
    status = dict(line.split(maxsplit=1) for line in done.out.splitlines() if line.startswith(words))
    assert status == {"Seccomp:": "2", "NoNewPrivs:": "1", "CapBnd:": 16 * "0", "CapEff:": 16 * "0"}
    interfaces = re.findall(r"^ *(\w+):", done.out.split("Inter-")[1], re.MULTILINE)
    assert interfaces == ["lo"], done.account()
    # The first process is Cordon's own init.
    assert "pid 1\n" not in done.out


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("command, options, status", [
    (("/bin/sh", "-c", "exit 7"), (), 7),
    (("/bin/sh", "-c", "kill -TERM $$"), (), 143),
    (("sleep", "60"), ("--timeout", "500ms"), 124),
    (("no-such-program",), (), 127),
])
def test_the_status_is_the_commands(world, runtime, command, options, status):
    bundle = bundle_of(world, command, options, drop="limits.memory,limits.pids,limits.files")
    done = start(world, runtime, bundle)
    assert done.status == status and done.seconds < 30, done.account()


def test_what_was_replaced_since_is_not_started(world):
    grant = world.make_directory(world.home / "reference")
    world.write(grant / "facts", "facts\n")
    command = ("/bin/cat", grant / "facts")
    bundle = bundle_of(world, command, options=("--read", grant))
    start(world, "crun", bundle).expect(0)
    grant.rename(world.home / "moved")
    world.write(world.make_directory(grant) / "facts", "other\n")
    refused = start(world, "crun", bundle)
    assert refused.status == 125 and refused.out == "", refused.account()
    assert f"bind read-only {grant}: what is there is not what was judged" in refused.err
    assert "export the policy again" in refused.err
    again = start(world, "crun", bundle_of(world, command, options=("--read", grant)))
    assert again.out == "other\n", again.account()


def test_a_link_in_the_place_of_a_protected_name_shows_nothing(world):
    held = world.make_directory(world.project / ".vscode")
    world.write(held / "secret", "harmless\n")
    bundle = bundle_of(world, ("/bin/cat", held / "secret"))
    assert start(world, "crun", bundle).out == "harmless\n"
    held.rename(world.project / "was")
    world.link(held, world.outside)
    # crun finds it itself; a runtime that follows the link is stopped by cordon-inside.
    for runtime in RUNTIMES:
        refused = start(world, runtime, bundle)
        assert refused.status == (1 if runtime == "crun" else 125) and refused.out == "", refused.account()


def test_nothing_is_left_of_a_container(world):
    bundle = bundle_of(world, ("/bin/sh", "-c", "sleep 300 & echo away > /tmp/x"))
    before = sorted(path.relative_to(bundle) for path in bundle.rglob("*"))
    start(world, "crun", bundle).expect(0)
    assert sorted(path.relative_to(bundle) for path in bundle.rglob("*")) == before
    assert harness.wait_until(lambda: not harness.processes_with(str(bundle)))


# crun is started without control groups here, and nothing else binds root.
@pytest.mark.parametrize("runtime", [pytest.param("crun", marks=pytest.mark.only("user")), *RUNTIMES[1:]])
def test_processes_are_bounded(world, runtime):
    command = ("/bin/sh", "-c", "for i in $(seq 40); do sleep 30 & done; echo all")
    dropped = "limits.memory,limits.files"
    bounded = start(world, runtime, bundle_of(world, command, ("--pids", "20"), drop=dropped))
    assert bounded.status != 0 and "annot fork" in bounded.err and bounded.out == "", bounded.account()
    wide = start(world, runtime, bundle_of(world, command, ("--pids", "200"), drop=dropped))
    assert wide.out == "all\n", wide.account()


if not harness.only_chosen_cases():
    @pytest.mark.only("root")
    def test_memory_is_bounded_by_the_group_of_the_runtime(world):
        command = ("python3", "-c", "x = bytearray(200 << 20); print('held')")
        dropped = "limits.pids,limits.files"
        bounded = start(world, "runc", bundle_of(world, command, ("--memory", "64M"), drop=dropped))
        assert bounded.status == 137 and bounded.out == "", bounded.account()
        wide = start(world, "runc", bundle_of(world, command, ("--memory", "400M"), drop=dropped))
        assert wide.out == "held\n", wide.account()


@pytest.mark.once
def test_what_a_bundle_cannot_hold_stops_it_until_it_is_given_up(world):
    refused = export(world, "oci", "--policy", "strict", "--", "true")
    refused.expect(2)
    assert refused.out == "" and "limits.output_total" in refused.err, refused.account()
    hint = re.search(r"(--drop) (\S+)", refused.err)
    done = export(world, "oci", *hint.groups(), "--policy", "strict", "--", "true")
    done.expect(0)
    assert "impossible limits.output_total: given up with --drop" in done.err, done.account()
    unknown = export(world, "oci", "--drop", "limits.cpus", "--policy", "strict", "--", "true")
    unknown.expect(2)
    assert 'no restriction "limits.cpus" to give up' in unknown.err


@pytest.mark.once
def test_a_ceilings_bound_cannot_be_given_up(world):
    ceiling = world.document(f'version = 1\n[fs]\nread = ["/"]\nwrite = ["{world.project}"]\n'
                             '[limits]\noutput_total = "1M"\n', "ceiling.toml")
    words = ("--ceiling", ceiling, "--drop", "limits", "--", "true")
    refused = export(world, "oci", *words)
    refused.expect(2)
    assert "a ceiling asks for it" in refused.err, refused.account()
    export(world, "oci", *words[2:]).expect(0)


@pytest.mark.once
def test_what_a_layer_cannot_be_held_by_is_refused_whatever_is_given_up(world):
    words = ("--image", IMAGE, "--drop", "limits", "--policy", "strict")
    refused = export(world, "kube", *words, "--", "true")
    refused.expect(2)
    assert "requires the layer landlock" in refused.err and "--inside PATH" in refused.err
    export(world, "kube", *words, "--inside", "/cordon-inside", "--", "true").expect(0)


@pytest.mark.once
def test_an_export_lies_outside_of_what_the_command_may_write(world):
    refused = export(world, "oci", "--drop", "limits", "--out", world.project / "bundle", "--", "true")
    refused.expect(2)
    assert "writable grant" in refused.err and not (world.project / "bundle").exists()
    out = world.home / "bundle"
    export(world, "oci", "--drop", "limits", "--out", out, "--", "true").expect(0)
    there = export(world, "oci", "--drop", "limits", "--out", out, "--", "true")
    there.expect(2)
    assert "is there already" in there.err


@pytest.mark.once
def test_the_account_is_written_and_printed(world):
    out = world.home / "bundle"
    done = export(world, "oci", "--json", "--drop", "limits", "--out", out, "--", "true")
    done.expect(0)
    answer = done.json
    assert answer["schema"] == "cordon.export/1" and answer["directory"] == str(out)
    assert answer["account"] == json.loads((out / "losses.json").read_text())
    kinds = {one["how"] for one in answer["account"]}
    assert kinds == {"carried", "weakened", "impossible"}
    assert json.loads(answer["document"]) == json.loads((out / "config.json").read_text())
    assert (out / "config.json").stat().st_mode & 0o777 == 0o600


def checked(text):
    """The objects by kind, each read against its published schema and against what is promised."""
    objects = {}
    for one in yaml.safe_load_all(text):
        fits_published(one)
        jsonschema.validate(one, KINDS[one["kind"]])
        objects[one["kind"]] = one
    return objects


@pytest.mark.once
def test_objects_of_kubernetes_fit_closed_schemas(world):
    words = ("--image", IMAGE, "--inside", "/cordon-inside", "--job-name", "fix-tests",
             "--drop", "limits.pids,limits.files", "--timeout", "90s", "--cpus", "1.5")
    plain = checked(export(world, "kube", *words, "--", "true").expect(0).out)
    assert set(plain) == {"NetworkPolicy", "ConfigMap", "Job"}
    assert plain["NetworkPolicy"]["spec"]["egress"] == []
    assert plain["Job"]["spec"]["activeDeadlineSeconds"] == 90
    bounds = plain["Job"]["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert bounds["cpu"] == "1500m" and int(bounds["memory"]) > 0
    named = export(world, "kube", *words, "--kind", "pod", "--runtime-class", "gvisor",
                   "--allow", "10.1.0.0/16:443", "--allow", "example.com:443", "--", "true").expect(0)
    objects = checked(named.out)
    [rule] = objects["NetworkPolicy"]["spec"]["egress"]
    assert rule["to"][0]["ipBlock"]["cidr"] == "10.1.0.0/16" and rule["ports"][0]["port"] == 443
    assert "impossible net.allow: example.com:443" in named.err, named.account()
    assert objects["Pod"]["spec"]["runtimeClassName"] == "gvisor"
    sandbox = checked(export(world, "kube", *words, "--kind", "sandbox", "--", "true").expect(0).out)
    assert set(sandbox) == {"NetworkPolicy", "ConfigMap", "Sandbox"}
    pod = checked(export(world, "kube", *words, "--kind", "pod", "--", "true").expect(0).out)["Pod"]
    assert sandbox["Sandbox"]["spec"]["podTemplate"]["spec"] == pod["spec"]
    # The pod is marked, whoever makes it.
    marks = {one["metadata"]["annotations"]["cordon.dev/policy"] for one in (
        pod, plain["Job"]["spec"]["template"], sandbox["Sandbox"]["spec"]["podTemplate"])}
    assert len(marks) == 1 and marks.pop().startswith("sha256:")
    node = checked(export(world, "kube", *words, "--node-policy", "batch", "--", "true").expect(0).out)
    assert node["Job"]["spec"]["template"]["metadata"]["annotations"] == {"cordon.dev/policy": "batch"}


def renamed(document, old, new):
    """Every field `old` anywhere below; how many there were."""
    if isinstance(document, list):
        return sum(renamed(one, old, new) for one in document)
    if not isinstance(document, dict):
        return 0
    count = sum(renamed(one, old, new) for one in list(document.values()))
    if old in document:
        document[new] = document.pop(old)
        count += 1
    return count


@pytest.mark.once
@pytest.mark.parametrize("kind, field", [
    ("Job", "backoffLimit"), ("Job", "automountServiceAccountToken"), ("Job", "readOnlyRootFilesystem"),
    ("Pod", "runtimeClassName"), ("Pod", "allowPrivilegeEscalation"), ("Pod", "sizeLimit"), ("Sandbox", "podTemplate"),
    ("Sandbox", "seccompProfile"), ("NetworkPolicy", "policyTypes"), ("NetworkPolicy", "ipBlock"),
    ("ConfigMap", "binaryData")])
def test_a_misspelt_field_is_refused_by_the_published_schemas(world, kind, field):
    made = export(world, "kube", "--image", IMAGE, "--inside", "/cordon-inside", "--drop", "limits.pids,limits.files",
                  "--runtime-class", "gvisor", "--allow", "10.1.0.0/16:443", "--kind",
                  kind.lower() if kind in ("Pod", "Sandbox") else "job", "--", "true")
    [document] = [one for one in yaml.safe_load_all(made.expect(0).out) if one["kind"] == kind]
    fits_published(document)
    assert renamed(document, field, field[:-1] + field[-1].swapcase()) > 0
    with pytest.raises(jsonschema.ValidationError, match="Additional properties|required property"):
        fits_published(document)


@pytest.mark.once
@pytest.mark.parametrize("words, complaint", [
    ((), "--image is missing"),
    (("--image", "example.com/tool:latest"), "not an image by its digest"),
    (("--image", IMAGE, "--job-name", "Fix_Tests"), "not the name of an object"),
    (("--image", IMAGE, "--inside", "cordon-inside"), "is not absolute"),
    (("--image", IMAGE, "--node-policy", "../batch"), "not the name of a policy"),
    (("--image", IMAGE, "--node-policy", "sha256:00"), "not the name of a policy"),
    (("--image", IMAGE, "--kind", "deployment"), "deployment"),
])
def test_kubernetes_is_given_nothing_that_it_would_refuse(world, words, complaint):
    refused = export(world, "kube", *words, "--", "true")
    refused.expect(2)
    assert complaint in refused.err and refused.out == "", refused.account()


@pytest.mark.once
def test_a_batch_script_runs_the_command_under_the_policy(world):
    out = world.home / "job"
    secret = world.outside / "secret"
    script = f"cat file.txt; cat '{secret}' && echo SEEN; printf '%s\\n' \"$0\""
    export(world, "slurm", "--out", out, "--timeout", "90s", "--job-name", "fix", "--",
           "/bin/sh", "-c", script, "a 'b' $c").expect(0)
    text = (out / "job.sh").read_text()
    assert "#SBATCH --time=3\n" in text and "#SBATCH --job-name=fix\n" in text
    assert f"#SBATCH --chdir={world.project}\n" in text
    # The scheduler starts it in that directory.
    done = world.bare(out / "job.sh")
    assert done.out == "project file\na 'b' $c\n" and done.status == 0, done.account()
    control = world.bare("/bin/sh", "-c", script, "a 'b' $c")
    assert "SEEN" in control.out


@pytest.mark.once
def test_a_document_that_is_only_printed_says_what_is_missing(world):
    """A script that was copied from the terminal names a policy that nobody wrote."""
    words = ("--image", IMAGE, "--inside", "/cordon-inside", "--drop", "limits.pids,limits.files")
    for engine, document, more in (("slurm", "job.sh", ()), ("oci", "config.json", ("--drop", "limits"))):
        shown = export(world, engine, *more, "--", "true").expect(0)
        assert f"only {document} is printed" in shown.err and "--out DIR writes all" in shown.err, shown.err
        written = export(world, engine, *more, "--out", world.home / engine, "--", "true").expect(0)
        assert "is printed" not in written.err, written.err
    assert "is printed" not in export(world, "kube", *words, "--", "true").expect(0).err


@pytest.mark.once
def test_a_policy_means_the_same_in_its_new_place(world):
    world.make_directory(world.trusted / "data")
    policy = world.document('version = 1\nextends = "strict"\n[fs]\nread = ["data", "@cwd"]\ndeny = [".env"]\n')
    out = world.home / "job"
    export(world, "slurm", "--policy", policy, "--out", out, "--", "true").expect(0)
    text = (out / "policy.toml").read_text()
    assert f'"{world.trusted}/data"' in text and '".env"' in text and '"@cwd"' in text, text
    world.cordon_verb("policy", "check", out / "policy.toml").expect(0)


class Podman:
    """With places of its own, and of the host's settings only what this test needs."""

    def __init__(self, world):
        self.world = world
        self.place = world.make_directory(world.path / "podman")
        world.write(self.place / "containers.conf",
                    '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n'
                    '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\nruntime = "runc"\n'
                    f'init_path = "{shutil.which("catatonit")}"\n')

    def __call__(self, *words):
        own = ["podman", "--root", self.place / "root", "--runroot", self.place / "run",
               "--storage-driver", "vfs", "--log-level", "error"]
        # Libraries and programs may lie where whoever runs the tests has them.
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        process = self.world.start([*own, *words],
                                   env={**kept, "CONTAINERS_CONF": str(self.place / "containers.conf")})
        out, err = process.communicate(timeout=120)
        return harness.Done(process.args, process.returncode, out.decode(), err.decode(), 0)


def played(podman, name, digest, attempt, *options):
    """What one attempt of the probe came to in a pod."""
    inside = options or ("--inside", "/cordon-inside", "--drop", "limits.pids")
    made = export(podman.world, "kube", "--kind", "pod", "--image", f"localhost/tool@{digest}", "--job-name", name,
                  "--timeout", "60s", *inside, "--", "/bin/probe", *attempt)
    document = podman.world.write(podman.place / f"{name}.yaml", made.expect(0).out)
    podman("kube", "play", "--network", "none", document).expect(0)
    # `podman wait` takes twenty seconds for what has ended already.
    state = ("inspect", "--format", "{{.State.Status}}", f"{name}-command")
    assert harness.wait_until(lambda: podman(*state).out in ("exited\n", "stopped\n"), seconds=30, step=0.2)
    logs = podman("logs", f"{name}-command").expect(0)
    found = harness.answers(logs.out)
    assert len(found) == 1, logs.account()
    return found[0]


if not harness.only_chosen_cases():
    @pytest.mark.only("root")
    def test_podman_plays_the_pod(world):
        """podman's own objects know Pods; the NetworkPolicy it passes over without a word."""
        podman = Podman(world)
        archive = world.path / "image.tar"
        with tarfile.open(archive, "w") as image:
            image.add(world.probe, "bin/probe")
            image.add(world.cordon.parent / "cordon-inside", "cordon-inside")
            image.add(world.write(world.path / "secret", "SECRET-of-the-image\n"), "srv/secret")
        podman("import", archive, "localhost/tool:1").expect(0)
        digest = podman("images", "--format", "{{.Digest}}").expect(0).out.strip()
        try:
            made = world.project / "made"
            assert played(podman, "writes", digest, ("write", made)).ok
            # A policy that requires no layer goes without cordon-inside: the same attempt succeeds.
            plain = world.document('version = 1\n[fs]\nwrite = ["@cwd"]\n')
            assert played(podman, "plain", digest, ("read", "/srv/secret"), "--policy", plain).ok
            hidden = played(podman, "hidden", digest, ("read", "/srv/secret"))
            assert not hidden.ok and hidden.errno == "EACCES", hidden
            for name, attempt in {"plan": ("read", "/.cordon/plan"), "root": ("write", "/made"),
                                  "mount": ("syscall", "mount")}.items():
                answer = played(podman, name, digest, attempt)
                assert not answer.ok and answer.errno in harness.FILE_ERRORS, answer
        finally:
            podman("pod", "rm", "--all", "--force", "--time", "0")
