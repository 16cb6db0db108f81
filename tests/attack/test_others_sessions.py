"""A session and another user: IP19 at the socket of somebody's session, PR29 in the place of its server.

The modes of the files keep users apart as a rule. Here they are open, and root, whom they do not bind, is one of the
two, so the users that the kernel names at both ends of the socket are all that is left to hold."""

import os
import subprocess

from support import harness
from support.harness import Person
from support.voids import NOT_STARTED_BY_ROOT, void

ROOT = Person("root", 0)
USER = Person("user", harness.ORDINARY_UID, ("setpriv", f"--reuid={harness.ORDINARY_UID}",
              f"--regid={harness.ORDINARY_UID}", "--clear-groups", "--inh-caps=-all"))

# Asks the server of a session as `cordon session exec` does.
CLIENT = """
import json, os, socket, struct, sys
place, handle, *words = sys.argv[1:]
os.chdir(place)
request = json.dumps({"ask": "exec", "handle": handle, "conversation": "", "argv": words}).encode()
server = socket.socket(socket.AF_UNIX)
server.connect("socket")
try:
    socket.send_fds(server, [struct.pack("II", 1, len(request))], [0, 1, 2])
    server.sendall(request)
    answer = server.recv(4)
except (BrokenPipeError, ConnectionResetError):
    answer = b""
print("status", struct.unpack("i", answer)[0]) if answer else print("no answer")
"""

# Says that every command has ended well, and tells what it was asked.
FALSE_SERVER = """
import fcntl, json, os, socket, struct, sys, time
place = sys.argv[1]
os.umask(0)
os.makedirs(place)
os.chdir(place)
note = {"id": os.path.basename(place), "agent": "", "conversation": "", "backend": "native", "cwd": "/",
        "started": int(time.time()), "server": os.getpid()}
for name, text in (("session.json", json.dumps(note)), ("handle", "0" * 64), ("lock", "")):
    with open(name, "w") as file:
        file.write(text)
lock = open("lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
server = socket.socket(socket.AF_UNIX)
server.bind("socket")
server.listen()
print("ready", flush=True)
while True:
    client, _ = server.accept()
    head, streams, _, _ = socket.recv_fds(client, 8, 3)
    text = client.recv(struct.unpack("II", head)[1], socket.MSG_WAITALL) if head else b""
    if streams:
        os.write(streams[1], b"it ran, it says\\n")
        client.sendall(struct.pack("i", 0))
    for stream in streams:
        os.close(stream)
    client.close()
    print("asked", len(streams), text.decode(), flush=True)
"""


def somebody_else(world):
    return USER if world.who.is_root else ROOT


def as_person(world, person, argv, **how):
    own = world.who
    world.who = person
    try:
        return world.execute(argv, **how)
    finally:
        world.who = own


def test_IP19_another_user_at_the_socket_of_a_session(world):
    if os.geteuid() != 0:
        return void(NOT_STARTED_BY_ROOT)
    id = world.cordon_verb("session", "start").expect(0).out.strip()
    try:
        place = world.home / ".local/state/cordon/run/sessions" / id
        handle = (place / "handle").read_text().strip()
        for path in (*place.iterdir(), place, *place.parents):
            if path == world.home:
                break
            path.chmod(0o777)

        def ask(person, name):
            return as_person(world, person, ["/usr/bin/python3", "-c", CLIENT, place, handle, "touch", name])
        assert ask(somebody_else(world), "foreign").expect(0).out == "no answer\n"
        assert ask(world.who, "own").expect(0).out == "status 0\n", "the control"
        assert (world.project / "own").exists() and not (world.project / "foreign").exists()
        # Who asks with Cordon is told why, and nothing was asked for.
        there = as_person(world, somebody_else(world), [world.cordon, "session", "exec", id, "--", "touch", "foreign"])
        assert "belongs to another user" in there.expect(125).err, there.account()
        assert not (world.project / "foreign").exists()
    finally:
        world.cordon_verb("session", "stop", id).expect(0)


def test_PR29_a_session_that_another_user_made_up(world):
    if os.geteuid() != 0:
        return void(NOT_STARTED_BY_ROOT)
    # As su and sudo -E leave it: the variable still names the directory of who called them.
    runtime = harness.stage().new_directory()
    other = somebody_else(world)
    os.chown(runtime, other.uid, other.uid)
    id = "0123456789abcdef"
    words = ["/usr/bin/python3", "-c", FALSE_SERVER, str(runtime / "cordon/sessions" / id)]
    server = subprocess.Popen([*other.prefix, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              cwd="/")
    environment = {"XDG_RUNTIME_DIR": str(runtime)}
    try:
        assert server.stdout.readline() == "ready\n"

        def ask(person, *words):
            return as_person(world, person, [world.cordon, "session", *words], env=environment)
        for name in (id, "last"):
            done = ask(world.who, "exec", name, "--", "echo", "trusting").expect(125)
            assert "it ran" not in done.out and "belongs to another user" in done.err, done.account()
            # Whoever connects is told apart from who hands over: a connection with nothing in it.
            assert server.stdout.readline() == "asked 0 \n"
        assert "belongs to another user" in ask(world.who, "stop", id).expect(1).err
        assert server.stdout.readline() == "asked 0 \n"
        # The control: nothing but its user tells it from a real one.
        assert ask(other, "exec", "last", "--", "echo", "trusting").expect(0).out == "it ran, it says\n"
        told = server.stdout.readline()
        assert told.startswith("asked 3 {") and "trusting" in told, told
    finally:
        harness.stop(server)
        harness.remove_tree(runtime)
