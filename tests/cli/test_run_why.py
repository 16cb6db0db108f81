"""`cordon run --why`: each path that the policy refused, with the rule, the layer and a change that works; and in
network mode none the names that were asked for."""

import json
import shlex
import socket

import pytest

from support.harness import alive, descendants, wait_until

NAME = "registry.example"


def watched(world, *argv, options=(), status=None, backend=None):
    chosen = ["--backend", backend] if backend else []
    done = world.run(*argv, options=["--why", "--json", *chosen, *options])
    if status is not None:
        done.expect(status)
    return json.loads(done.out)


def of_files(report):
    return [one for one in report["denials"] if one["access"] in ("read", "write", "exec")]


def denial_of(report, path, access):
    found = [one for one in of_files(report) if one["path"] == str(path) and one["access"] == access]
    assert len(found) == 1, report["denials"]
    return found[0]


@pytest.fixture
def outside(world):
    place = world.home / "outside"
    world.write(place / "notes.txt", "buy milk\n")
    return place


def test_a_hidden_file_is_told_and_the_change_works(world, outside):
    path = outside / "notes.txt"
    report = watched(world, "cat", path, status=1)
    told = denial_of(report, path, "read")
    assert told["layer"] == "mounts" and told["count"] == 1 and told["rule"] and not told["certain"]
    done = world.run("cat", path, options=["--why", *shlex.split(told["change"])]).expect(0)
    assert done.out == "buy milk\n" and "denied" not in done.err
    # The control: without the option nobody watches.
    assert of_files(json.loads(world.run("cat", path, options=["--json"]).expect(1).out)) == []


def test_the_lines_for_people_name_rule_and_cure(world, outside):
    path = outside / "notes.txt"
    done = world.run("cat", path, options=["--why"]).expect(1)
    assert f"denied: read {path} (" in done.err and f"; --read {path}" in done.err
    told = world.cordon_verb("why").expect(0).out
    assert f"denied: read {path} (" in told and f"\n    --read {path}\n" in told


WAYS = {
    "relative": "open(os.path.relpath({0!r}))",
    "through a link of the project": "os.symlink({0!r}, 'link'); open('link')",
    "through a link in a private place": "os.symlink({1!r}, '/tmp/way'); open('/tmp/way/notes.txt')",
    "by a descriptor": "open('notes.txt', opener=lambda n, f: os.open(n, f, dir_fd=os.open('/', os.O_PATH)))",
    "with dots": "open({1!r} + '/./x/../notes.txt')",
}


@pytest.mark.parametrize("way", WAYS)
def test_whatever_the_way_to_it(world, outside, way):
    path = outside / "notes.txt"
    code = WAYS[way].format(str(path), str(outside))
    if way == "by a descriptor":
        code = f"open({str(path)[1:]!r}, opener=lambda n, f: os.open(n, f, dir_fd=os.open('/', os.O_PATH)))"
    report = watched(world, "/usr/bin/python3", "-c", "import os\n" + code, status=1)
    assert denial_of(report, path, "read")["change"] == f"--read {path}"


def test_what_the_host_does_not_have_either_is_left_out(world, outside):
    report = watched(world, "cat", outside / "absent", "/opt/absent", world.project / "absent", status=1)
    assert of_files(report) == []


def test_what_is_closed_to_the_caller_anyway_is_left_out(world, outside):
    closed = world.write(outside / "closed", "x\n")
    closed.chmod(0)
    report = watched(world, "cat", closed, outside / "notes.txt", status=1)
    told = {one["path"] for one in of_files(report)}
    # Root may read it outside; inside nothing can grant it, as it has root's powers no more.
    root = {str(closed)} if world.who.uid == 0 else set()
    assert told == {str(outside / "notes.txt")} | root


def test_writes_are_told_with_what_would_permit_them(world, outside):
    code = f"for f in {outside}/new {outside}/notes.txt; do echo x > $f; done; mkdir {outside}/made"
    report = watched(world, "sh", "-c", code)
    for name in ("new", "made"):
        assert denial_of(report, outside / name, "write")["change"] == f"--write {outside}"
    told = denial_of(report, outside / "notes.txt", "write")
    assert told["change"] == f"--write {outside / 'notes.txt'}" and told["count"] == 1
    again = watched(world, "sh", "-c", code, options=["--write", str(outside)], status=0)
    assert of_files(again) == [] and (outside / "new").read_text() == "x\n"


def test_a_write_to_what_may_only_be_read(world, outside):
    report = watched(world, "sh", "-c", f"echo x > {outside}/new; rm {outside}/notes.txt", options=["--read", str(outside)])
    for name in ("new", "notes.txt"):
        told = denial_of(report, outside / name, "write")
        # To remove a name is to write its directory.
        assert told["layer"] == "mounts" and told["change"] == f"leave out --read {outside}; --write {outside}"
    assert (outside / "notes.txt").exists()
    # What fails everywhere is no denial: the directory is there.
    report = watched(world, "mkdir", "-p", f"{outside}/deep/er", options=["--write", str(outside)], status=0)
    assert of_files(report) == []
    # In a private place it succeeds, and is told as gone.
    report = watched(world, "sh", "-c", "echo x > ~/made; echo x > /tmp/made", status=0)
    assert of_files(report) == []


def test_a_hidden_program_is_told(world, outside):
    tool = world.write(outside / "tool", "#!/bin/sh\necho tool\n")
    tool.chmod(0o755)
    code = f"import subprocess; subprocess.run([{str(tool)!r}])"
    report = watched(world, "/usr/bin/python3", "-c", code, status=1)
    told = denial_of(report, tool, "exec")
    done = world.run(tool, options=shlex.split(told["change"])).expect(0)
    assert done.out == "tool\n"


def test_a_deny_and_a_credential_are_told_and_never_opened(world, outside):
    key = world.write(world.home / ".ssh/id_ed25519", "PLANTED\n")
    secret = world.write(world.project / "secret.txt", "x\n")
    report = watched(world, "cat", key, secret, options=["--deny", "secret.txt"], status=1)
    told = denial_of(report, key, "read")
    assert told["change"] is None and "PLANTED" not in json.dumps(report)
    assert denial_of(report, secret, "read")["change"] == "leave out --deny secret.txt"
    assert "nothing can grant it" in world.run("cat", key, options=["--why"]).expect(1).err


def test_an_ordinary_command_is_told_nothing(world):
    for argv in (["true"], ["ls", "-l"], ["/usr/bin/python3", "-c", "import json, ssl"],
                 ["sh", "-c", "echo x > made; cat made; rm made; command -v absent-command"]):
        done = world.run(*argv, options=["--why"])
        assert "denied" not in done.err, (argv, done.err)


def test_it_only_tells(world, outside):
    """The same command under the same policy comes to the same, watched or not."""
    code = f"cat {outside}/notes.txt; ls {outside}; touch made; mkdir sub; mv made sub/; chmod 600 sub/made; ln -s sub link; stat -c %a link/made; rm -r sub link; echo $?"
    plain = world.run("sh", "-c", code)
    seen = world.run("sh", "-c", code, options=["--why"])
    assert (plain.status, plain.out) == (seen.status, seen.out)
    # What the filter refuses it refuses: nothing that is shown to the supervisor is let through by it.
    suid = "import os\ntry:\n os.open('s', os.O_CREAT | os.O_WRONLY, 0o4755)\nexcept PermissionError: print('refused')"
    for options in ([], ["--why"]):
        assert world.run("/usr/bin/python3", "-c", suid, options=options).expect(0).out == "refused\n"


def test_a_storm_of_calls_from_many_threads(world, outside):
    code = f"""
import os, threading
def ask(n):
    for i in range(2000):
        try: os.stat({str(outside)!r} + f'/{{n}}-{{i}}')
        except FileNotFoundError: pass
        open('own').close()
open('own', 'w').write('x')
threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
for one in threads: one.start()
for one in threads: one.join()
try: open({str(outside / 'notes.txt')!r})
except FileNotFoundError: print('hidden')
"""
    report = watched(world, "/usr/bin/python3", "-c", code, status=0)
    assert report["stdout"] == "hidden\n"
    # The names that are nowhere take no room from the one that is.
    assert denial_of(report, outside / "notes.txt", "read")["count"] == 1
    assert {one["path"] for one in of_files(report)} <= {str(outside / "notes.txt"), str(outside)}
    assert not [one for one in report["denials"] if one["what"] == "file"]


def test_more_paths_than_there_is_room_for(world, outside):
    """That is said, and not that they were denied."""
    for i in range(4200):
        (outside / str(i)).touch()
    code = f"import os\nfor i in range(4200):\n    try: os.stat({str(outside)!r} + f'/{{i}}')\n    except FileNotFoundError: pass"
    report = watched(world, "/usr/bin/python3", "-c", code, status=0)
    [rest] = [one for one in report["denials"] if one["what"] == "file"]
    assert rest["count"] >= 4000 and rest["detail"] == "not judged" and not rest["certain"] and rest["path"] is None
    told = world.cordon_verb("why").expect(0).out
    assert f"more paths were asked for in vain than are judged: {rest['count']} accesses" in told


def test_hostile_names_are_safe_to_print(world, outside):
    name = "a\x1b]0;owned\x07\nb"
    world.write(outside / name, "x\n")
    done = world.run("cat", outside / name, options=["--why"]).expect(1)
    mine = [line for line in done.err.splitlines() if line.startswith("cordon:")]
    assert mine and not any("\x1b" in line or "\x07" in line for line in mine)
    assert any("denied: read" in line for line in mine)


@pytest.mark.parametrize("backend", ["bwrap", "landlock"])
def test_with_the_other_backends(world, outside, backend):
    options = []
    if backend == "landlock":
        ceiling = world.write(world.home / "accepting.toml",
                              'version = 1\n[fs]\nwrite = ["~"]\nread = ["/"]\n'
                              '[require]\naccept_missing = ["namespaces"]\n')
        options = ["--ceiling", str(ceiling)]
    path = outside / "notes.txt"
    report = watched(world, "cat", path, backend=backend, options=options, status=1)
    told = denial_of(report, path, "read")
    assert told["layer"] == ("landlock" if backend == "landlock" else "mounts")
    done = world.run("cat", path, options=["--backend", backend, *options, *shlex.split(told["change"])]).expect(0)
    assert done.out == "buy milk\n"


def test_in_network_mode_allow_and_in_a_stage(world, outside):
    path = outside / "notes.txt"
    report = watched(world, "sh", "-c", f"cat {path}; echo x > made; mv made moved", options=["--allow", "other.example"])
    assert denial_of(report, path, "read")
    report = watched(world, "sh", "-c", f"cat {path}; echo x > made; mv made moved", options=["--stage"])
    assert denial_of(report, path, "read")
    assert (world.project / "moved").read_text() == "x\n"


def test_a_dead_supervisor_leaves_nothing_running(world, outside):
    world.write(world.project / "own", "x\n")
    process = world.start([world.cordon, "run", "--why", "--", "sh", "-c", "echo up; while :; do cat own; done"])
    assert process.stdout.readline() == b"up\n"
    inside = descendants(process.pid)
    assert inside
    process.kill()
    process.wait()
    assert wait_until(lambda: not any(alive(pid) for pid in inside))


def test_it_is_in_the_plan(world):
    assert "paths shown to the supervisor" in world.run("true", options=["--why", "--dry-run"]).expect(0).out
    assert "paths shown" not in world.run("true", options=["--dry-run"]).expect(0).out


def asked_for(report):
    return {one["path"]: one for one in report["denials"] if one["access"] == "connect"}


GETADDRINFO = f"""
import socket
try: socket.getaddrinfo({NAME!r}, 443)
except socket.gaierror as error: print(error.errno == socket.EAI_NONAME)
"""


def test_without_a_network_a_name_is_told_with_the_option(world):
    done = world.run("/usr/bin/python3", "-c", GETADDRINFO).expect(0)
    assert done.out == "True\n"
    line = f"no network inside; asked for {NAME}:443, 2 times (--allow {NAME}:443)"
    assert line in done.err.replace(":443 (", ":443, 2 times ("), done.err
    # The change works: the name exists inside.
    again = world.run("/usr/bin/python3", "-c", GETADDRINFO, options=["--allow", f"{NAME}:443"]).expect(0)
    assert again.out == "" and "no network" not in again.err
    # The control.
    assert "asked for" not in world.run("/usr/bin/python3", "-c", GETADDRINFO.replace(NAME, "localhost")).expect(0).err


def test_the_port_that_the_command_line_names_is_told(world):
    done = world.run("curl", "-s", f"http://{NAME}:8080/x").expect(6)
    assert f"asked for {NAME}:8080" in done.err and f"(--allow {NAME}:8080)" in done.err
    assert done.err.count(NAME) == 2, done.err


def test_of_many_names_a_few_get_advice_and_all_are_told(world):
    code = ("import socket\nfor i in range(60):\n"
            "    try: socket.getaddrinfo(f'h{i}.example', 443)\n    except socket.gaierror: pass")
    report = json.loads(world.run("/usr/bin/python3", "-c", code, options=["--json"]).expect(0).out)
    assert len(asked_for(report)) == 60
    assert sum(one["change"] is not None for one in asked_for(report).values()) == 20


def test_a_question_that_needs_no_connect(world):
    """As musl asks: a datagram to the address of the resolver, by sendto alone."""
    code = r"""
import socket
ask = bytes.fromhex('123401000001000000000000') + b'\x08registry\x07example\x00' + bytes.fromhex('00010001')
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.settimeout(20)
one.sendto(ask, ('127.0.0.1', 53))
print(one.recv(512)[3] & 15)
"""
    done = world.run("/usr/bin/python3", "-c", code).expect(0)
    assert done.out == "3\n" and f"asked for {NAME}:443" in done.err


def test_an_address_is_told(world):
    code = "import socket\ntry: socket.create_connection(('192.0.2.7', 8443))\nexcept OSError as e: print(e.errno)"
    done = world.run("/usr/bin/python3", "-c", code, options=["--json"]).expect(0)
    report = json.loads(done.out)
    assert report["stdout"] == "101\n"
    told = asked_for(report)["192.0.2.7:8443"]
    assert told["rule"] == 'net.mode = "none"' and told["change"] == "--allow 192.0.2.7:8443" and told["certain"]
    # The sandbox's own loopback is its own.
    own = "import socket\ns = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); socket.create_connection(s.getsockname())"
    assert asked_for(json.loads(world.run("/usr/bin/python3", "-c", own, options=["--json"]).expect(0).out)) == {}


def test_nothing_is_looked_up_on_the_host(world):
    """A name that only this host's resolver could know is as unknown as any other."""
    done = world.run("getent", "hosts", socket.gethostname() + ".example", options=["--json"])
    assert done.status != 0
    assert json.loads(done.out)["stdout"] == ""


def test_under_a_ceiling_the_line_to_add_is_told(world):
    ceiling = world.write(world.home / "ceiling.toml", f'version = 1\n[fs]\nwrite = ["{world.project}"]\nread = ["@system"]\n')
    report = json.loads(
        world.run("/usr/bin/python3", "-c", GETADDRINFO, options=["--json", "--ceiling", str(ceiling)]).expect(0).out)
    told = asked_for(report)[f"{NAME}:443"]
    assert str(ceiling) in told["change"]


def test_the_record_has_rule_and_layer_and_no_path(world, outside):
    watched(world, "cat", outside / "notes.txt", status=1)
    record = json.loads(world.cordon_verb("audit", "show", "--json", "last").expect(0).out)
    marks = record["closing"]["metadata"]["denials"]
    assert [one["what"] for one in marks] == ["read"] and marks[0]["layer"] == "mounts" and marks[0]["rule"]
    assert "notes.txt" not in json.dumps(marks)




def test_the_record_has_what_was_taken_away_and_what_was_lost(world):
    ceiling = world.write(world.trusted / "c.toml", f'version = 1\n[fs]\nwrite = ["{world.project}"]\nread = ["@system"]\n')
    asks = world.document(f'version = 1\nextends = "workspace"\n[fs]\nread = ["{world.outside}"]\n', "asks.toml")
    world.run("sh", "-c", "echo x > /tmp/gone; mkdir .vscode", options=["--ceiling", str(ceiling), "--policy", str(asks)]).expect(0)
    record = json.loads(world.cordon_verb("audit", "show", "--json", "last").expect(0).out)
    taken = record["pending"]["metadata"]["reductions"]
    assert {"read", "outside-ceiling"} <= {one[key] for one in taken for key in ("what", "because")}, taken
    assert all(one["asked_hash"].startswith("#") for one in taken)
    closing = record["closing"]["metadata"]
    assert closing["lost"] == 1 and closing["handoffs"] + closing.get("held", 0) >= 1
    # The control.
    world.run("true").expect(0)
    record = json.loads(world.cordon_verb("audit", "show", "--json", "last").expect(0).out)
    assert "reductions" not in record["pending"]["metadata"] and "lost" not in record["closing"]["metadata"]
