"""Programs inside talk to each other over local sockets, in every network mode, as they do outside."""

import pytest

PRELUDE = """
import ctypes, errno, os, select, socket, struct, sys, threading, time
def code(function, *args):
    try:
        function(*args)
        return "ok"
    except OSError as error:
        return errno.errorcode[error.errno]
"""
MODES = {"none": (), "open": ("--net", "open"), "allow": ("--allow", "good.example")}


@pytest.fixture(params=MODES)
def mode(request):
    return MODES[request.param]


def same_inside_and_bare(world, script, options=()):
    argv = ("/usr/bin/python3", "-c", PRELUDE + script)
    inside = world.run(*argv, options=options).expect(0).out.splitlines()
    for left in world.project.glob("*.sock"):
        left.unlink()
    bare = world.bare(*argv).expect(0).out.splitlines()
    assert inside == bare, (inside, bare)
    return inside


@pytest.mark.parametrize("kind", ["STREAM", "SEQPACKET"])
def test_streams_and_packets(world, mode, kind):
    place = "/tmp" if "open" in mode else "."
    assert same_inside_and_bare(world, f"""
name = "{place}/echo-{world.path.name}.sock"
kind = socket.SOCK_{kind}
server = socket.socket(socket.AF_UNIX, kind)
server.bind(name)
server.listen(1)
print(server.getsockname() == name)
client = socket.socket(socket.AF_UNIX, kind)
print(code(client.connect, name), code(client.connect, name), client.getblocking(),
      client.getpeername() == name)
accepted = server.accept()[0]
client.sendall(b"hello")
print(accepted.recv(100))
receiver, sender = os.pipe()
socket.send_fds(accepted, [b"x"], [sender])
text, fds, _, _ = socket.recv_fds(client, 10, 1)
os.write(fds[0], b"passed")
print(os.read(receiver, 10), text)
os.unlink(name)
print(code(socket.socket(socket.AF_UNIX, kind).connect, name))
""", mode)[1] == "ok EISCONN True True"


def test_a_full_queue(world):
    same_inside_and_bare(world, f"""
name = "full.sock"
server = socket.socket(socket.AF_UNIX)
server.bind(name)
server.listen(0)
first = socket.socket(socket.AF_UNIX)
print(code(first.connect, name))
eager = socket.socket(socket.AF_UNIX)
eager.setblocking(False)
print(code(eager.connect, name))
timed = socket.socket(socket.AF_UNIX)
timed.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 50000))
print(code(timed.connect, name), timed.getblocking())
patient = socket.socket(socket.AF_UNIX)
done = []
waiting = threading.Thread(target=lambda: done.append(code(patient.connect, name)))
waiting.start()
time.sleep(0.1)
print(done)
server.accept()
waiting.join(10)
print(done)
server.close()
print(code(socket.socket(socket.AF_UNIX).connect, name))
""")


def test_children_and_threads(world):
    same_inside_and_bare(world, """
server = socket.socket(socket.AF_UNIX)
server.bind("many.sock")
server.listen(200)
def client(number):
    s = socket.socket(socket.AF_UNIX)
    s.connect("many.sock")
    s.sendall(b"%03d" % number)
threads = [threading.Thread(target=client, args=(n,)) for n in range(50)]
for thread in threads: thread.start()
for number in range(50, 80):
    if os.fork() == 0:
        client(number)
        os._exit(0)
got = sorted(int(server.accept()[0].recv(10, socket.MSG_WAITALL)) for _ in range(80))
print(got == list(range(80)))
""")


def test_an_own_loopback_without_a_network(world):
    same_inside_and_bare(world, """
server = socket.create_server(("127.0.0.1", 0))
address = server.getsockname()
client = socket.socket()
print(code(client.connect, address), code(client.connect, address), client.getblocking())
eager = socket.socket()
eager.setblocking(False)
print(eager.connect_ex(address) in (0, errno.EINPROGRESS), len(select.select([], [eager], [], 10)[1]))
udp = socket.socket(type=socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 0))
other = socket.socket(type=socket.SOCK_DGRAM)
print(code(other.connect, udp.getsockname()), other.send(b"x"), udp.recv(10))
six = socket.socket(socket.AF_INET6)
print(code(six.bind, ("::1", 0)))
print(code(socket.socket().connect, ("127.0.0.1", 1)))
full = socket.create_server(("127.0.0.1", 0), backlog=0)
held = [socket.socket() for _ in range(4)]
for s in held:
    s.setblocking(False)
    s.connect_ex(full.getsockname())
timed = socket.socket()
timed.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 100000))
print(code(timed.connect, full.getsockname()), timed.getblocking())
print([name for _, name in socket.if_nameindex()][:1])
link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
print(code(link.bind, (0, 1)))
""")


def test_python_multiprocessing(world):
    script = """
import multiprocessing, sys
from multiprocessing.connection import Client, Listener
def square(x): return x * x
def talk(address):
    with Client(address, authkey=b"k") as connection: connection.send(7)
if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool: print(method, pool.map(square, range(5)))
        with context.Manager() as manager:
            shared = manager.dict(a=1)
            shared["b"] = 2
            print(dict(shared))
    for family, address in (("AF_UNIX", "/tmp/listener"), ("AF_INET", None)):
        with Listener(address, family, authkey=b"k") as listener:
            child = multiprocessing.Process(target=talk, args=(listener.address,))
            child.start()
            print(family, listener.accept().recv())
            child.join()
"""
    world.write(world.project / "work.py", script)
    out = world.run("/usr/bin/python3", "work.py").expect(0).out.splitlines()
    assert out == ["fork [0, 1, 4, 9, 16]", "{'a': 1, 'b': 2}", "spawn [0, 1, 4, 9, 16]",
                   "{'a': 1, 'b': 2}", "forkserver [0, 1, 4, 9, 16]", "{'a': 1, 'b': 2}",
                   "AF_UNIX 7", "AF_INET 7"], out


def test_node(world, mode):
    script = """
const net = require("net");
const name = process.argv[1];
const server = net.createServer(c => c.on("data", d => c.end("echo " + d)));
server.listen(name, () => {
  const client = net.connect(name, () => client.write("hello"));
  client.on("data", d => { console.log(String(d)); server.close(); });
});
net.connect("/tmp/missing").on("error", e => console.log(e.code));
"""
    out = world.run("node", "-e", script, "/tmp/node.sock", options=mode).expect(0).out.split("\n")
    assert sorted(out) == ["", "ENOENT", "echo hello"], out


def test_ssh_agent(world):
    script = """set -e
eval "$(ssh-agent -a /tmp/agent.sock)" > /dev/null
if ssh-add -l; then exit 9; fi
ssh-keygen -q -t ed25519 -N '' -C inside -f /tmp/key
ssh-add -q /tmp/key
ssh-add -l
kill $SSH_AGENT_PID
"""
    done = world.run("/bin/sh", "-c", script).expect(0)
    assert "The agent has no identities." in done.out and "inside (ED25519)" in done.out, done.out


def test_what_explains_a_socket(world):
    policy = world.document('version = 1\nextends = "workspace"\n[net]\nsockets = ["docker.sock"]\n')
    import socket
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(world.trusted / "docker.sock"))
        listed, other = world.trusted / "docker.sock", world.trusted / "other.sock"
        yes = world.cordon_verb("policy", "explain", "--policy", policy, "connect", listed)
        assert yes.expect(0).out.startswith("yes: connect") and "beware: its engine" in yes.out
        no = world.cordon_verb("policy", "explain", "--policy", policy, "connect", other)
        assert "rule: net.sockets" in no.expect(1).out
        assert "beware of net.sockets docker.sock" in world.cordon_verb(
            "policy", "check", policy).expect(0).err
        assert "beware of net.sockets docker.sock" in world.run(
            "true", options=("--policy", policy)).expect(0).err
    listed.unlink()
    gone = world.run("true", options=("--policy", policy)).expect(0)
    assert "reduced sockets docker.sock: nonexistent" in gone.err, gone.err
    listed.write_text("no socket")
    world.own(listed)
    assert "which is no socket" in world.run("true", options=("--policy", policy)).expect(125).err
