"""`policy explain` says what a run does. Random policies, ceilings and paths: one run tries every path, and its
answers are compared with those of explain, one by one. Then each change that explain advises is made, as it is
printed, until the answer is yes or nothing can grant it, and a run has to agree with that too."""

import ctypes
import json
import os
import random
import re
import shlex
import socket
import struct
import subprocess
from pathlib import Path

import pytest

from support.cures import apply_cure
from support.harness import ORDINARY_UID, free_port

# A seed is a world. `./test` takes the first ones; more by CORDON_EXPLAIN_SEEDS.
SEEDS = range(int(os.environ.get("CORDON_EXPLAIN_SEEDS", "10")))
FOLLOWED = 9  # changes that are followed in each world
MARK = b"#!/bin/sh\n# written inside\n"
PROGRAM = "#!/bin/sh\nexit 0\n"

# Tries "ACCESS PATH" lines, reads first, and answers each with 1 or an errno. A write of something that is not in
# the world opens it and writes nothing.
TRY = r"""
import errno, json, os, sys
world, questions = json.load(sys.stdin)
mark = b"#!/bin/sh\n# written inside\n"
def read(path, directory):
    if os.path.isdir(path):
        os.listdir(path)
    else:
        os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 1)
def write(path, directory):
    if directory:
        os.makedirs(path, exist_ok=True)
        path = os.path.join(path, "made-by-%d" % len(answers))
    elif not os.path.exists(path):
        os.makedirs(os.path.dirname(os.path.realpath(path)), exist_ok=True)
    ours = path.startswith(world)
    flags = os.O_WRONLY | os.O_APPEND | (0 if os.path.exists(path) else os.O_CREAT)
    file = os.open(path, flags, 0o644)
    if ours:
        os.write(file, mark)
def execute(path, directory):
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            os.execv(path, [path, "--version"])
        except OSError as error:
            os.write(writing, b"%d" % error.errno)
            os._exit(1)
    os.close(writing)
    said = os.read(reading, 16)
    os.wait()
    if said:
        raise OSError(int(said), os.strerror(int(said)))
answers = {}
os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
for what, path, directory in sorted(questions, key=lambda question: question[0] == "write"):
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        {"read": read, "write": write, "exec": execute}[what](path, directory)
        answers[what + " " + path] = "yes"
    except OSError as error:
        answers[what + " " + path] = errno.errorcode.get(error.errno, str(error.errno))
    os.dup2(kept, 1)
    os.close(kept)
json.dump(answers, sys.stdout)
"""


def plant(world):
    """A project with everything that is judged in a way of its own, and places around it."""
    project, outside, home = world.project, world.outside, world.home
    for place in ("plain.txt", "a/b/deep.txt", "sub/x.txt", "sub/key.pem", "secret.pem", "keys/one", "view/x",
                  ".vscode/tasks.json", ".git/config", ".git/HEAD", ".git/objects/x", ".git/refs/x"):
        world.write(project / place, PROGRAM)
    for place in ("a/run.sh", ".git/hooks/pre-commit"):
        world.write(project / place, PROGRAM, 0o755)
    world.write(project / "closed", PROGRAM, 0)
    world.write(project / "fixed", PROGRAM, 0o444)
    world.write(project / "locked/x", PROGRAM)
    (project / "locked").chmod(0o600)
    os.link(project / "plain.txt", project / "a/second-name")
    for place in ("data", "dir/x", "dir/y.pem", "more/z"):
        world.write(outside / place, PROGRAM)
    world.write(outside / "tool.sh", PROGRAM, 0o755)
    world.write(outside / "foreign", PROGRAM, 0o600)
    if os.geteuid() == 0:
        os.chown(outside / "foreign", *([ORDINARY_UID] * 2 if world.who.is_root else [0, 0]))
    world.link(project / "out", outside / "data")
    world.link(project / "in", "a/b/deep.txt")
    world.link(outside / "back", project)
    world.plant({".ssh/id": "x", ".npmrc": "x"})
    for place in ("notes/n", "work/team/t", "work/beside"):
        world.write(home / place, PROGRAM)


def questions_of(world, dice):
    project, outside, home = world.project, world.outside, world.home
    places = [project, *(project / name for name in (
        "plain.txt", "a", "a/b/deep.txt", "a/run.sh", "a/second-name", "sub", "sub/x.txt", "sub/key.pem", "secret.pem",
        "keys", "keys/one", "view/x", ".vscode/tasks.json", ".vscode/made.json", ".vscode", ".git/config",
        ".git/hooks/pre-commit", ".git/objects/x", "closed", "fixed", "locked", "locked/x", "out", "in", "none.txt",
        "no/such/thing", ".idea/new.xml")),
        *(outside / name for name in ("data", "dir", "dir/x", "dir/y.pem", "dir/none", "more/z", "tool.sh", "foreign",
                                      "back/plain.txt", "none")),
        *(home / name for name in (".ssh/id", ".npmrc", "notes/n", "notes", "work", "work/beside", "work/team/t",
                                   "none", ".cache/x")),
        *map(Path, ("/", "/usr/bin/env", "/usr", "/usr/none", "/etc", "/etc/passwd", "/etc/hostname", "/etc/none",
                    "/etc/shadow", "/tmp", "/tmp/none", "/run", "/dev/null", "/dev/zero", "/dev/none",
                    "/proc/self/status", "/proc/kcore", "/sys", "/none/x", "/var"))]
    asked = [(what, str(place)) for place in places for what in ("read", "write", "exec")]
    return dice.sample(asked, 60)


def lists(world, dice, kinds=("read", "write")):
    project, outside, home = world.project, world.outside, world.home
    places = [project, project / "a", project / "sub", project / "view", project / "plain.txt", outside,
              outside / "dir", outside / "tool.sh", home / "work/team", home / "notes", outside / "foreign"]
    text = ""
    for kind in kinds:
        some = sorted({str(place) for place in dice.sample(places, dice.randint(0, 4))})
        if kind == "read" and dice.random() < .7:
            some.append("@system")
        text += f"{kind} = {json.dumps(some)}\n"
    if dice.random() < .5:
        text += f"deny = {json.dumps(dice.sample(['*.pem', str(project / 'keys'), str(outside / 'dir/x')], 1))}\n"
    return text


def asked_for(world, dice):
    """Options of one request, with the documents that they name."""
    options = []
    kind = dice.choice(["workspace", "workspace", "readonly", "strict", "file", "file", "file"])
    if kind == "file":
        view = dice.choice(["", 'scratch = "16M"\n', 'scratch = "16M"\nhome = "private"\n', 'home = "persistent"\n'])
        options += ["--policy", world.document("version = 1\n[fs]\n" + lists(world, dice) + view, "asked.toml")]
    elif kind != "workspace":
        options += ["--policy", kind]
    for flag, place in (("--read", world.outside), ("--write", world.outside / "more"), ("--deny", "*.pem"),
                        ("--deny", world.project / "keys"), ("--read", world.home / "notes")):
        if dice.random() < .15:
            options += [flag, place]
    for number in range(dice.choice([0, 0, 1, 1, 2])):
        whole = f'write = ["{world.project}", "{world.outside}"]\nread = ["@system"]\n' if dice.random() < .4 else None
        text = "version = 1\n[fs]\n" + (whole or lists(world, dice))
        options += ["--ceiling", world.document(text, f"ceiling{number}.toml")]
    if dice.random() < .2:
        options += [dice.choice(["--stage", "--stage=review"])]
    return [str(word) for word in options]


def explain(world, options, what, target):
    return world.cordon_verb("policy", "explain", "--json", *options, what, target)


def tried(world, options, questions):
    asked = [(what, target, os.path.isdir(target)) for what, target in questions]
    return world.run("/usr/bin/python3", "-I", "-c", TRY, options=options, input=json.dumps([str(world.path), asked]),
                     timeout=90)


def compare(what, target, told, answer):
    """explain and the run, about whether the call succeeds inside."""
    masked_directory = told["rule"].startswith(("mask", "deny")) and what == "read" and answer == "yes"
    assert told["inside"] == (answer == "yes") or masked_directory, (
        f"{what} {target}: explain says inside={told['inside']}, a run {answer}\n{json.dumps(told, indent=1)}")
    assert told["allowed"] <= told["inside"], told
    assert (told["then"] is not None) == (what == "write" and told["inside"]), told


def find_request(world, dice):
    """A request that a run carries out. One that it refuses is refused by explain with the same words."""
    while True:
        options = asked_for(world, dice)
        done = world.run("/usr/bin/true", options=options)
        if done.status == 0:
            return options
        told = explain(world, options, "read", world.project / "plain.txt")
        owners = told.status == 1 and told.json["rule"] == "owner"
        assert done.status == 125 and (owners or (told.status == 2 and told.err == done.err)), (
            f"{done.account()}\n{told.account()}")


class Follower:
    """Makes the changes that explain prints, as a person would who does what is written there."""

    def __init__(self, world, options, what, target):
        self.world, self.options, self.what, self.target = world, list(options), what, str(target)
        self.applied = False

    def leave_out(self, flag, value):
        at = next(i for i, word in enumerate(self.options[:-1])
                  if word == flag and self.options[i + 1] in (value, str(self.world.project / value)))
        del self.options[at:at + 2]

    def make(self):
        path = Path(self.target)
        assert str(path).startswith(str(self.world.path)), f"nothing is made outside the world: {path}"
        self.world.write(path, PROGRAM, 0o755)

    def step(self, text):
        words = shlex.split(text)
        if text.startswith("make it first"):
            self.make()
            words = words[4:]
        if found := re.fullmatch(r"cordon changes apply last -- (.*), after the run", text):
            tried(self.world, self.options, [(self.what, self.target)]).expect(0)
            self.world.cordon_verb("changes", "apply", "last", "--", *shlex.split(found[1])).expect(0)
            self.applied = True
        elif words[:2] == ["--policy", "workspace"]:
            self.leave_out("--policy", "readonly")
        elif words and words[0] in ("--read", "--write", "--allow", "--publish", "--socket"):
            self.options += words
        elif words[:2] == ["leave", "out"]:
            self.leave_out(*words[2:4])
        elif words[:1] == ["chmod"]:
            subprocess.run(words, check=True)
        elif words[:3] == ["use", "the", "name"]:
            self.target = words[3]
        elif words[:1] == ["take"]:
            file = Path(words[words.index("in") + 1])
            denies = json.loads(re.search(r"^deny = (.*)$", file.read_text(), re.M)[1])
            denies.remove(words[1])
            line = f"deny = {json.dumps(denies)}"
            file.write_text(re.sub(r"^deny = .*$", lambda _: line, file.read_text(), flags=re.M))
        elif words:
            apply_cure(text)

    def follow(self):
        """To the end; what explain says then."""
        for _ in range(5):
            done = explain(self.world, self.options, self.what, self.target)
            assert done.status in (0, 1), f"a change that was advised is refused\n{self.options}\n{done.account()}"
            told = done.json
            if told["allowed"] or told["change"] is None:
                return told
            for text in told["change"].split("; "):
                self.step(text)
            if self.applied:
                return told
        raise AssertionError(f"no end is found: {self.what} {self.target} {self.options}\n{done.account()}")


def documents(world):
    return {file: file.read_text() for file in world.trusted.glob("*.toml")}


def tree(world):
    """Every file of the world, as far as it is not Cordon's own."""
    found = {}
    for top in (world.project, world.outside, world.home / "notes", world.home / "work"):
        for path, _, files in os.walk(top):
            for name in files:
                place = Path(path, name)
                found[str(place)] = place.read_bytes() if not place.is_symlink() else b""
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_explain_says_what_a_run_does(world, seed):
    dice = random.Random(f"explain {seed} {world.who.name}")
    plant(world)
    options = find_request(world, dice)
    questions = questions_of(world, dice)
    before = tree(world)
    answers = {question: explain(world, options, *question) for question in questions}
    assert tree(world) == before, "explain has changed something"
    for done in answers.values():
        assert done.status in (0, 1), done.account()
    done = tried(world, options, questions).expect(0)
    for (what, target), told in answers.items():
        compare(what, target, told.json, done.json[f"{what} {target}"])
        # What the host has after the run, of what was not made by another question.
        place = Path(told.json["target"])
        if what == "write" and told.json["inside"] and not place.is_dir() and not (
                place.exists() and place.stat().st_nlink > 1):
            now = tree(world).get(str(place), b"")
            if told.json["then"] == "written":
                assert MARK in now, told.account()
            elif told.json["then"] in ("gone", "private", "held"):
                assert MARK not in now, told.account()

    refused = [question for question, told in answers.items()
               if not told.json["allowed"] and question[1].startswith(str(world.path))]
    texts = documents(world)
    for what, target in dice.sample(refused, min(FOLLOWED, len(refused))):
        follower = Follower(world, options, what, target)
        told = follower.follow()
        if follower.applied:
            assert Path(follower.target).is_dir() or MARK in Path(follower.target).read_bytes(), told
        elif told["allowed"]:
            again = tried(world, follower.options, [(what, follower.target)]).expect(0)
            assert again.json[f"{what} {follower.target}"] == "yes", (what, target, follower.options, told, again.out)
        else:
            text = world.cordon_verb("policy", "explain", *follower.options, what, follower.target).expect(1).out
            assert "change: nothing can grant this, because " in text, text
        for file, text in texts.items():
            file.write_text(text)


@pytest.mark.parametrize("backend", ["bwrap", "landlock"])
def test_other_mechanisms_are_explained_as_they_are(world, backend):
    dice = random.Random(f"explain {backend}")
    plant(world)
    ceiling = world.document(f'version = 1\n[fs]\nread = ["@system", "{world.outside}"]\nwrite = ["{world.project}"]\n'
                             '[require]\naccept_missing = ["namespaces"]\n[net]\nmode = "open"\n')
    options = ["--backend", backend, "--ceiling", str(ceiling), "--read", str(world.outside / "dir")]
    questions = questions_of(world, dice)
    answers = {question: explain(world, options, *question) for question in questions}
    done = tried(world, options, questions).expect(0)
    for (what, target), told in answers.items():
        compare(what, target, told.json, done.json[f"{what} {target}"])


# What is asked about one path is found out on the way to it.

IN_OPEN = 0x20


class Opened:
    """Which of some directories somebody opens meanwhile."""

    def __init__(self, directories):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self.descriptor >= 0
        self.names = {}
        for directory in directories:
            number = self.libc.inotify_add_watch(self.descriptor, str(directory).encode(), IN_OPEN)
            assert number >= 0, directory
            self.names[number] = Path(directory)

    def take(self):
        found, data = set(), b""
        while True:
            try:
                data += os.read(self.descriptor, 1 << 20)
            except BlockingIOError:
                break
        while data:
            number, _, _, length = struct.unpack_from("iIII", data)
            # What is in them counts for them, and they count themselves.
            if length == 0:
                found.add(self.names[number])
            data = data[16 + length:]
        return found

    def close(self):
        os.close(self.descriptor)


def test_no_tree_is_walked_for_a_question(world):
    for one in range(12):
        for two in range(12):
            world.write(world.project / f"d{one}/e{two}/file", "x")
    directories = [Path(path) for path, _, _ in os.walk(world.project)]
    asked = world.project / "d3/e4/file"
    opened = Opened(directories)
    try:
        for what, options in (("read", []), ("write", []), ("write", ["--policy", "readonly"]),
                              ("read", ["--deny", "*.key"])):
            explain(world, options, what, asked)
            assert opened.take() <= {world.project, world.project / "d3", world.project / "d3/e4"}
        explain(world, [], "connect", "a.example:443").expect(1)
        assert opened.take() <= {world.project}
        # A run has to know them all.
        world.run("true", options=["--dry-run"]).expect(0)
        assert len(opened.take()) > 100
    finally:
        opened.close()


# Single answers, as a person meets them.

def answer(world, *words, status=1):
    done = world.cordon_verb("policy", "explain", *words)
    assert done.status == status, done.account()
    return done.out


def test_the_ceiling_is_named_with_its_line(world):
    file = world.document(f'version = 1\n\n[fs]\nread = ["@system", "{world.project}"]\nwrite = ["{world.outside}"]\n')
    out = answer(world, "--ceiling", file, "write", world.project / "file.txt")
    assert f'rule: ceiling "{file}:5"' in out and "does not let it be written" in out, out
    assert f"change: below [fs] in {file}: write = " in out, out
    apply_cure(re.search("^change: (.*)$", out, re.M)[1])
    answer(world, "--ceiling", file, "write", world.project / "file.txt", status=0)
    world.run("/bin/sh", "-c", "echo > file.txt", options=["--ceiling", file]).expect(0)


def test_what_a_write_comes_to(world):
    world.write(world.project / ".vscode/tasks.json", "{}\n")
    made = world.project / "made.txt"
    for target, options, then, word in (
            (made, [], "written", "yes:"), ("/tmp/x", [], "gone", "gone after the run"),
            (world.project / ".vscode/tasks.json", [], "held", "written inside, and held back at the end"),
            (world.project / ".idea/x.xml", [], "held", "written inside, and held back at the end"),
            (made, ["--stage"], "staged", "in the stage, applied when the run is over"),
            (made, ["--stage=review"], "staged", "in the stage, applied by cordon changes apply")):
        told = explain(world, options, "write", target)
        assert told.json["then"] == then and told.json["inside"], told.account()
        assert word in answer(world, *options, "write", target, status=told.status)


def test_rights_of_the_file_come_after_the_policy(world):
    closed = world.write(world.project / "closed", "x", 0)
    out = answer(world, "read", closed)
    assert "rule: permissions" in out and f"change: chmod u+r {closed}" in out, out
    subprocess.run(["chmod", "u+r", closed], check=True)
    answer(world, "read", closed, status=0)
    out = answer(world, "exec", closed)
    assert f"change: chmod u+x {closed}" in out, out


@pytest.mark.only("root")
def test_what_belongs_to_somebody_else_is_theirs(world):
    foreign = world.write(world.outside / "foreign", "x", 0o600)
    os.chown(foreign, ORDINARY_UID, ORDINARY_UID)
    out = answer(world, "read", foreign)
    assert "rule: permissions" in out and "change: nothing can grant this, because" in out, out
    assert "chmod" not in out and "--read" not in out, out


@pytest.mark.parametrize("what,target", [("write", "/etc/hostname"), ("write", "/usr"), ("write", "/dev/none"),
                                         ("read", "/proc/kcore"), ("read", "{home}/.npmrc"),
                                         ("exec", "/proc/self/exe")])
def test_what_nothing_can_grant(world, what, target):
    world.plant({".npmrc": "x"})
    out = answer(world, what, target.format(home=world.home))
    assert "change: nothing can grant this, because " in out, out
    # The reason is told once.
    reason = out.partition("nothing can grant this, because ")[2].strip()
    assert out.count(reason) == 1 and "\nbecause: " not in out, out
    assert explain(world, [], what, target.format(home=world.home)).json["change"] is None


def test_the_configuration_of_a_new_repository(world):
    """It said yes and no more, and what git would have run was moved away."""
    subprocess.run(["rm", "-rf", world.project / ".git"], check=True)
    told = explain(world, [], "write", world.project / ".git/config").expect(0).json
    assert told["rule"] == 'protected ".git/config"' and "the rest is held back" in told["reason"], told
    code = "git init -q . && git config core.autocrlf input && git config core.pager ./x"
    world.run("sh", "-c", code).expect(0)
    text = (world.project / ".git/config").read_text()
    assert "autocrlf" in text and "pager" not in text, text


def test_a_credential_that_is_not_there_yet(world):
    """To make it first was the advice, and then it was masked."""
    key = world.home / ".ssh/id_new"
    told = explain(world, ["--read", str(world.home)], "read", key).expect(1).json
    assert told["change"] is None and "credentials" in told["reason"], told
    world.plant({".ssh/id_new": "x"})
    assert explain(world, ["--read", str(world.home)], "read", key).expect(1).json["change"] is None
    # The control: what is no credential can be made and read.
    other = world.home / "notes-of-mine"
    assert explain(world, ["--read", str(world.home)], "read", other).expect(1).json["change"] == "make it first"
    world.write(other, "x")
    explain(world, ["--read", str(world.home)], "read", other).expect(0)


@pytest.mark.only("user")
@pytest.mark.parametrize("target", ["/usr/new", "/etc/new", "/boot/new"])
def test_what_the_caller_could_not_make_in_the_system(world, target):
    out = answer(world, "write", target)
    assert "change: nothing can grant this, because " in out and "every sandbox has its own there" in out, out


@pytest.mark.only("root")
@pytest.mark.parametrize("place", ["/usr/local/src", "/etc/skel", "/boot"])
def test_a_directory_of_the_system_is_granted_to_whoever_may_write_it(world, place):
    """What was told to be granted by nothing was granted by an option. On a mount of the test's own."""
    own = ["unshare", "-m", "sh", "-ec", f'mount -t tmpfs none {place}; exec "$@"', "sh"]
    told = world.execute([*own, world.cordon, "policy", "explain", "--json", "write", f"{place}/x"]).expect(1).json
    assert told["change"] == f"make it first, then --write {place}/x", told
    done = world.execute([*own, "sh", "-ec", f'echo > {place}/x; "$0" run --write {place}/x -- sh -c "echo new > {place}/x"; '
                          f'cat {place}/x', world.cordon])
    assert done.expect(0).out == "new\n", done.account()
    # What it is built of itself stays, whoever asks.
    refused = world.execute([*own, world.cordon, "policy", "explain", "write", "/etc"]).expect(1)
    assert "change: nothing can grant this, because " in refused.out


def test_connections_under_ceilings(world):
    with socket.create_server(("127.0.0.1", 0)) as server:
        target = f"127.0.0.1:{server.getsockname()[1]}"
        file = world.document('version = 1\n[fs]\nread = ["@system"]\nwrite = ["@cwd"]\n[net]\nmode = "none"\n')
        follower = Follower(world, ["--ceiling", str(file), "--net", "none"], "connect", target)
        first = explain(world, follower.options, "connect", target).expect(1).json
        assert first["rule"] == f'ceiling "{file}:6"' and "leave out --net none" in first["change"], first
        assert follower.follow()["allowed"]
        code = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 30)"
        world.run("/usr/bin/python3", "-I", "-c", code, options=follower.options).expect(0)


@pytest.mark.parametrize("listed", ["", '{key} = ["{other}"]\n', '{key} = ["{target}"]\n'])
@pytest.mark.parametrize("what", ["publish", "connect"])
def test_ports_and_sockets_under_ceilings(world, what, listed):
    """The option that is told, and the line of each ceiling that does not list it; of no other."""
    port = str(free_port())
    place, other = world.outside / "s", world.outside / "other"
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as two:
        one.bind(str(place))
        two.bind(str(other))
        key, target = ("publish", port) if what == "publish" else ("sockets", str(place))
        line = listed.format(key=key, target=target, other="9" if what == "publish" else other)
        text = 'version = 1\n[fs]\nread = ["@system"]\nwrite = ["@cwd"]\n[net]\nmode = "none"\n'
        options = []
        for name, more in (("a.toml", line), ("b.toml", f'{key} = ["{target}"]\n')):
            options += ["--ceiling", str(world.document(text + more, name))]
        follower = Follower(world, options, what, target)
        first = explain(world, options, what, target).expect(1).json
        option = f"--{'publish' if what == 'publish' else 'socket'} {target}"
        assert first["change"].endswith(option) and "b.toml" not in first["change"], first
        assert ("a.toml" in first["change"]) == (listed.find("target") < 0), first
        assert first["rule"].startswith("ceiling " if "a.toml" in first["change"] else f"net.{key}"), first
        assert follower.follow()["allowed"]
        world.run("true", options=follower.options).expect(0)


@pytest.mark.parametrize("net", ["", '[net]\nmode = "none"\npublish = ["9"]\n'])
def test_a_ceiling_without_a_table_for_the_network_is_told(world, net):
    """Nothing of it is in the file, so the reason has to say why it decides."""
    file = world.document('version = 1\n[fs]\nread = ["@system"]\nwrite = ["@cwd"]\n' + net, "bare.toml")
    absent = "(a ceiling without [net] permits nothing of the network)"
    for what, target in (("connect", "h.example:443"), ("publish", "18080")):
        told = world.cordon_verb("policy", "explain", "--ceiling", file, what, target).expect(1)
        assert "does not permit it" in told.out and (absent in told.out) == (net == ""), told.account()
    for option in (["--publish", "18080"], ["--allow", "h.example"], ["--net", "open"]):
        refused = world.run("true", options=["--ceiling", str(file), *option]).expect(125)
        assert "the ceiling" in refused.err and (absent in refused.err) == (net == ""), refused.account()


def test_what_is_no_socket_is_told(world):
    assert "nothing can grant this, because it is no socket" in answer(world, "connect", str(world.project / "file.txt"))
    told = answer(world, "connect", str(world.project / "none"))
    assert "nothing is there now" in told and "start what listens there" in told


def test_what_of_a_staged_git_directory_arrives(world):
    """Explained before a run, and looked for on the host after it."""
    def git(*words):
        return world.bare("git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words).expect(0).out.strip()
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "first")
    answers = {name: world.cordon_verb("policy", "explain", "--json", "--stage", "write", world.project / ".git" / name)
               for name in ("config", "hooks/pre-commit", "info/attributes", "refs/heads/new", "HEAD", "index")}
    said = {name: (done.json["allowed"], done.json["then"]) for name, done in answers.items()}
    world.run("/bin/sh", "-ec", "git config alias.x '!id'; mkdir -p .git/hooks .git/info; echo x > .git/hooks/pre-commit; "
              "echo '* filter=x' > .git/info/attributes; git checkout -q -b new; echo x > made; git add made; "
              "git -c user.name=b -c user.email=b@example.org commit -q --no-verify -m second",
              options=["--stage"]).expect(0)
    arrived = {"config": "alias" in (world.project / ".git/config").read_text(),
               "hooks/pre-commit": (world.project / ".git/hooks/pre-commit").exists(),
               "info/attributes": (world.project / ".git/info/attributes").exists(),
               "refs/heads/new": git("log", "-1", "--format=%s", "new") == "second",
               "HEAD": git("symbolic-ref", "HEAD") == "refs/heads/new",
               "index": git("ls-files", "made") == "made"}
    assert said == {name: (there, "staged" if there else "held") for name, there in arrived.items()}, (said, arrived)
