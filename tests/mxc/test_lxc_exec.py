"""The executor itself: where requests come from, exit statuses, error lines, what is refused."""

import base64
import json
import os
import signal

import pytest

import sdk
from support import harness

pytestmark = pytest.mark.once


def request(command="true", **parts):
    process = {"commandLine": command, **parts.pop("process", {})}
    return {"version": parts.pop("version", "0.8.0-alpha"), "process": process, **parts}


def encoded(document):
    text = document if isinstance(document, str) else json.dumps(document)
    return base64.b64encode(text.encode()).decode()


def execute(world, document, *options, **how):
    return world.execute([sdk.executor(), "--config-base64", encoded(document), *options], **how)


def error_of(text):
    """The one line of JSON among the talk."""
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    assert len(lines) == 1 and set(lines[0]) == {"error"}, text
    return lines[0]["error"]


def test_where_requests_come_from(world):
    path = world.document(json.dumps(request("echo file")), "request.json")
    other = world.document(json.dumps(request("echo other")), "other.json")
    run = lambda *words, **how: world.execute([sdk.executor(), *words], **how).expect(0).out
    assert run(path) == "file\n"
    assert run("--config", path) == "file\n"
    assert run(other, "--config", path) == "file\n"
    assert run("--config", other, "--config-base64", encoded(request("echo encoded"))) == "encoded\n"
    assert run("-", input=json.dumps(request("echo stdin"))) == "stdin\n"
    assert world.cordon_verb("mxc", path).expect(0).out == "file\n"


@pytest.mark.parametrize("command, status", [("exit 3", 3), ("exit 300", 44), ("nosuch", 127),
                                             ("kill -9 $$", 137), ("kill -TERM $$", 143)])
def test_the_status_is_the_commands(world, command, status):
    done = execute(world, request(command)).expect(status)
    assert "{" not in done.err, done.account()


@pytest.mark.parametrize("text, code", [
    ("", "malformed_request"), ("{", "malformed_request"), ("[]", "policy_validation"),
    ('{"process":{"commandLine":"true"},"process":{}}', "malformed_request"),
    (request(bogus=1), "policy_validation"),
    (request(version="0.3.0"), "policy_validation"),
    (request(containment="lxc"), "unsupported_containment"),
    (request(containment="seatbelt"), "unsupported_containment"),
    (request(seatbelt={"keychainAccess": True}), "policy_validation")])
def test_bad_requests(world, text, code):
    if text == "":
        done = world.execute([sdk.executor(), "-"], input="").expect(1)
    else:
        done = execute(world, text).expect(1)
    assert done.out == "" and done.err.startswith("Request error\n"), done.account()
    assert error_of(done.err)["code"] == code, done.account()


@pytest.mark.parametrize("words", [(), ("--bogus",), ("a.json", "b.json"), ("--version",)])
def test_bad_command_lines(world, words):
    world.execute([sdk.executor(), *words]).expect(2)


def test_dry_runs(world):
    marker = world.project / "made"
    good = request(f"touch {marker}", filesystem={"readwritePaths": [str(world.project)]})
    done = execute(world, good, "--dry-run").expect(0)
    assert done.out.endswith("Dry run completed. Result: validation passed\n"), done.account()
    assert "Backend: native\n" in done.out and not marker.exists()
    bad = request(filesystem={"readonlyPaths": ["/no/such/place"]})
    done = execute(world, bad, "--dry-run").expect(255)
    assert "/no/such/place" in error_of(done.err)["message"], done.account()
    execute(world, good).expect(0)
    assert marker.exists()


def test_what_cannot_be_run(world):
    file = world.write(world.project / "file", "x")
    for parts in ({"filesystem": {"readwritePaths": ["/no/such/place"]}},
                  {"process": {"cwd": "/no/such/place"}}, {"process": {"cwd": str(world.outside)}},
                  {"process": {"cwd": str(file)}}):
        done = execute(world, request("echo ran", **parts)).expect(255)
        assert "ran" not in done.out and error_of(done.err)["code"] == "policy_validation"


def test_a_blocked_host_beside_an_open_network_is_refused_in_the_documents_words(world):
    """The advice is about the document, and works."""
    network = {"defaultPolicy": "allow", "blockedHosts": ["192.0.2.1"]}
    done = execute(world, request("echo ran", version="0.7.0-alpha", network=network)).expect(255)
    error = error_of(done.err)
    assert "ran" not in done.out and error["code"] == "policy_validation", done.account()
    assert "blockedHosts" in error["message"] and "defaultPolicy" in error["message"], done.account()
    assert "allowedHosts" in error["remediation"] and "--" not in error["remediation"], done.account()
    dry = execute(world, request(version="0.7.0-alpha", network=network), "--dry-run").expect(255)
    assert error_of(dry.err) == error, dry.account()
    for cured in ({**network, "allowedHosts": ["192.0.2.2"]}, {"defaultPolicy": "allow"}):
        execute(world, request("echo ran", version="0.7.0-alpha", network=cured)).expect(0)


def test_a_timeout(world):
    marker = f"401.{os.getpid()}{world.who.uid}"
    done = execute(world, request(f"sleep {marker} & sleep {marker}", process={"timeout": 700}))
    done.expect(255)
    assert error_of(done.err) == {"code": "backend_error",
                                  "message": "script timed out after 700ms"}
    assert harness.wait_until(lambda: not harness.processes_with(marker), harness.SOON)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killing_the_executor_ends_everything(world, number):
    marker = f"501.{os.getpid()}{world.who.uid}{int(number)}"
    process = world.start([sdk.executor(), "--config-base64",
                           encoded(request(f"trap '' TERM; sleep {marker}; sleep {marker}"))])
    assert harness.wait_until(lambda: any(b"sleep" in harness.Path(f"/proc/{pid}/cmdline")
                                          .read_bytes()[:6]
                                          for pid in harness.processes_with(marker)))
    process.send_signal(number)
    process.wait(timeout=40)
    process.stderr.close()
    assert harness.wait_until(lambda: not harness.processes_with(marker), harness.SOON)


def test_the_environment_is_the_documents(world):
    done = execute(world, request("echo [$SECRET] [$A] [$PATH]", process={"env": ["A=1"]}),
                   env={"SECRET": "s"}).expect(0)
    assert done.out.startswith("[] [1] [/usr/local/sbin:"), done.account()


def test_where_a_command_starts(world):
    inside = world.make_directory(world.project / "inside")
    grants = {"readonlyPaths": [str(world.project)], "readwritePaths": [str(inside)]}
    assert execute(world, request("pwd", filesystem=grants)).expect(0).out == f"{inside}\n"
    assert execute(world, request("pwd")).expect(0).out == "/\n"
    there = request("pwd", filesystem=grants, process={"cwd": str(world.project)})
    assert execute(world, there).expect(0).out == f"{world.project}\n"


def test_denied_paths_lose_nothing(world):
    """MXC puts a writable, empty directory over a denied one: what is moved there is destroyed."""
    inside = world.make_directory(world.project / "inside")
    held = world.make_directory(inside / "held")
    world.write(held / "secret", "s3cret")
    kept = world.write(inside / "kept", "kept")
    done = execute(world, request(f"mv {kept} {held}/; cat {held}/secret; ls {held}; true",
                                  filesystem={"readwritePaths": [str(inside)],
                                              "deniedPaths": [str(held)]})).expect(0)
    assert kept.read_text() == "kept" and "s3cret" not in done.out, done.account()


def test_the_longer_path_decides(world):
    """Within one document since 0.8, as in MXC; a deny of Cordon's own wins over every grant."""
    top = world.make_directory(world.outside / "data")
    child = world.make_directory(top / "child")
    world.write(child / "keep", "kept\n")
    world.write(top / "sibling", "s3cret\n")
    script = f"cat {child}/keep; echo new > {child}/new && cat {child}/new; cat {top}/sibling; ls {top}; true"
    files = {"readwritePaths": [str(child)], "deniedPaths": [str(top)]}
    done = execute(world, request(script, filesystem=files)).expect(0)
    assert done.out.startswith("kept\nnew\n") and "s3cret" not in done.out, done.account()
    assert "sibling" not in done.out and (child / "new").read_text() == "new\n"
    # Around the deny something is granted: what lies in it stays closed, and the rest is there.
    files = {"readonlyPaths": [str(world.outside)], **files}
    done = execute(world, request(script + f"; ls {world.outside}", filesystem=files)).expect(0)
    assert "kept" not in done.out and "s3cret" not in done.out and "secret\n" in done.out, done.account()
    # The control, and before 0.8 a denied parent wins.
    assert "s3cret" in world.bare("sh", "-c", script).expect(0).out
    old = request(script, filesystem={"readwritePaths": [str(child)], "deniedPaths": [str(top)]})
    old["version"] = "0.7.0"
    assert "kept" not in execute(world, old).expect(0).out


def test_a_denied_link_closes_what_it_leads_to(world):
    data = world.make_directory(world.outside / "object")
    world.write(data / "secret", "s3cret\n")
    link = world.link(world.outside / "alias", data)
    script = f"cat {data}/secret || echo masked"
    assert "s3cret" in execute(world, request(script, filesystem={"readwritePaths": [str(data)]})).expect(0).out
    done = execute(world, request(script, filesystem={"readwritePaths": [str(data)], "deniedPaths": [str(link)]}))
    assert done.expect(0).out == "masked\n", done.account()


def test_ceilings_count(world):
    ceiling = world.document("version = 1\n[fs]\nread = [\"/usr\"]\n", "ceiling.toml")
    wish = request(f"touch {world.project}/new",
                   filesystem={"readwritePaths": [str(world.project)]})
    assert execute(world, wish, env={"CORDON_CEILING": str(ceiling)}).status == 255
    assert not (world.project / "new").exists()
    execute(world, wish).expect(0)
    assert (world.project / "new").exists()


def test_diagnostics(world):
    log = world.project / "log"
    wish = request("echo ran", version="0.6.0-alpha", bogus=1)
    assert execute(world, wish).expect(0).err == ""
    done = execute(world, wish, "--debug", "--log-file", log, "--experimental").expect(0)
    assert done.out == "ran\n" and "no effect: bogus" in done.err
    assert "no effect: bogus" in log.read_text()
    link = world.link(world.project / "link", world.home / "target")
    done = execute(world, wish, "--log-file", link).expect(0)
    assert "warning" in done.err and not (world.home / "target").exists()


def test_backends_are_tried(world):
    done = world.execute([sdk.executor(), "--available-backends"]).expect(0)
    assert [entry["backend"] for entry in done.json] == ["bubblewrap"]


@pytest.mark.parametrize("document, code", [
    ({"phase": "dance"}, "unsupported_phase"),
    ({"phase": "provision", "containment": "lxc"}, "unsupported_containment"),
    ({"phase": "provision", "containment": "wslc", "experimental": {"wslc": {"image": "x"}}},
     "malformed_request"),
    ({"phase": "provision", "containment": "wslc", "filesystem": {"readwritePaths": ["/"]}},
     "policy_validation"),
    ({"phase": "start"}, "malformed_id"), ({"phase": "start", "sandboxId": "x"}, "malformed_id"),
    ({"phase": "start", "sandboxId": "iso:../../../etc/passwd"}, "malformed_id"),
    ({"phase": "stop", "sandboxId": "iso:" + "0" * 32}, "stale_id")])
def test_bad_phases(world, document, code):
    done = execute(world, {"version": "0.8.0-alpha", **document}).expect(1)
    assert done.err == "" and error_of(done.out)["code"] == code, done.account()


def test_a_dry_run_of_a_phase_changes_nothing(world):
    store = world.home / ".local/state/cordon/mxc"
    provision = {"version": "0.8.0-alpha", "phase": "provision", "containment": "wslc"}
    done = execute(world, provision, "--dry-run").expect(1)
    assert error_of(done.out)["code"] == "unsupported_phase" and not store.exists()
    name = execute(world, provision).expect(0).json["result"]["sandboxId"]
    phase = lambda word, **more: {"version": "0.8.0-alpha", "phase": word, "sandboxId": name, **more}
    execute(world, phase("start")).expect(0)
    wish = phase("exec", process={"commandLine": "echo ran"})
    assert "ran" not in execute(world, wish, "--dry-run").expect(0).out
    assert execute(world, wish).expect(0).out == "ran\n"
    execute(world, phase("deprovision")).expect(0)
    assert list(store.iterdir()) == []


def test_refusals_are_recorded(world):
    execute(world, request(containment="lxc")).expect(1)
    execute(world, request(process={"cwd": "/no/such/place"})).expect(255)
    execute(world, request("true")).expect(0)
    records = [json.loads(line) for file in (world.home / ".local/state/cordon/audit").glob("*.jsonl")
               for line in file.read_text().splitlines()]
    assert [r["outcome"] for r in records] == ["failure", "failure", "pending", "success"], records


# Documents with one thing out of the ordinary each, for each version to judge.
CORPUS = [
    {}, {"bogus": 1}, {"ui": {"bogus": 1}}, {"filesystem": {"clearPolicyOnExit": True}},
    {"ui": {"clipboard": "readwrite"}}, {"ui": {"clipboard": "sometimes"}}, {"ui": {"disable": 1}},
    {"network": None}, {"network": {"defaultPolicy": "maybe"}}, {"network": {"defaultPolicy": 1}},
    {"network": {"enforcementMode": "none"}}, {"network": {"egress": {"default": "deny"}}},
    {"network": {"egress": {"default": "perhaps"}}}, {"network": {"egress": {"allow": [{"to": []}]}}},
    {"network": {"defaultPolicy": "block", "egress": {}}}, {"network": {"allowedHosts": "x"}},
    {"network": {"defaultPolicy": "allow", "proxy": {}}},
    {"network": {"defaultPolicy": "allow", "proxy": {"localhost": 0}}},
    {"network": {"defaultPolicy": "allow", "proxy": {"localhost": 70000}}},
    {"network": {"defaultPolicy": "allow", "proxy": {"url": "ftp://x"}}},
    {"network": {"defaultPolicy": "block", "proxy": {"localhost": 3128}}},
    {"network": {"ingress": {"default": "allow"}}}, {"lxc": {"distribution": "alpine"}},
    {"processContainer": {}}, {"lifecycle": {"destroyOnExit": "yes"}}, {"containment": "nonsense"},
    {"filesystem": {"readonlyPaths": "/usr"}}, {"filesystem": {"readonlyPaths": ['/a"b']}},
    {"filesystem": {"readwritePaths": [1]}}, {"sandboxId": "iso:1"}, {"phase": "exec"},
    {"version": "0.6"}, {"version": "0.3.0"}, {"version": "7.0.0"}, {"version": 6},
    {"process": {}}, {"process": {"commandLine": ""}}, {"process": {"commandLine": "x", "env": "A=1"}},
    {"process": {"commandLine": "x", "timeout": -1}}, {"process": {"commandLine": "x", "timeout": 1.5}},
    {"process": {"commandLine": "x", "timeout": 100}}, {"process": None}, {"$schema": "x"},
    {"_comment": "x"}, {"fallback": {"allowDaclMutation": 1}},
]
# Where Cordon refuses what that version's own executor ignores: rules by direction are meant.
DIRECTIONS = [parts for parts in CORPUS if {"egress", "ingress"} & set(parts.get("network") or ())]
STRICTER = {"0.6.0": [{"sandboxId": "iso:1"}, {"phase": "exec"}, *DIRECTIONS],
            "0.7.0": DIRECTIONS, "0.8.0": []}


@pytest.mark.npm
@pytest.mark.parametrize("release", sdk.RELEASES)
def test_verdicts_are_those_of_the_shipped_executor(release):
    """What the executor of a version refuses is refused, and what it takes is taken."""
    world = harness.World(harness.PEOPLE[0], harness.stage().new_directory())
    differences = []
    for parts in CORPUS:
        document = {"version": f"{release}-alpha", "process": {"commandLine": "true"}, **parts}
        text = encoded(document)
        theirs = world.execute([sdk.shipped(release), "--config-base64", text, "--dry-run"]).status
        ours = world.execute([sdk.executor(), "--config-base64", text, "--dry-run"]).status
        if (theirs == 0) != (ours == 0) and parts not in STRICTER[release]:
            differences.append((parts, theirs, ours))
    harness.remove_tree(world.path)
    assert differences == [], "\n".join(map(str, differences))
