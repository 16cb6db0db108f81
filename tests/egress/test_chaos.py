"""Many threads and processes at once, with arguments nobody would give: the broker stays, answers, and
lets nothing else through."""

from support.internet import allow

SCRIPT = """
import ctypes, errno, os, random, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
end = time.monotonic() + float(sys.argv[1])

def address(chance):
    family = chance.choice([0, 1, 2, 2, 2, 2, 10, 10, 16, 255])
    port = chance.choice([0, 7, 53, 80, 8081, 65535])
    four = chance.choice(["203.0.113.10", "203.0.113.11", "127.0.0.1", "0.0.0.0", "10.1.2.3",
                          "198.18.0.1", "198.18.9.9", "255.255.255.255", "224.0.0.1"])
    six = chance.choice(["2001:db8::20", "2001:db8::21", "::1", "::", "::ffff:203.0.113.10",
                         "::ffff:127.0.0.1", "64:ff9b::a01:203", "fe80::1", "ff02::1"])
    body = struct.pack("=H", family) + struct.pack("!H", port)
    if family == 10:
        body += bytes(4) + socket.inet_pton(socket.AF_INET6, six) + bytes(chance.choice([4, 0, 4]))
    else:
        body += socket.inet_aton(four) + bytes(8)
    if chance.random() < 0.05:
        body = os.urandom(chance.randrange(128))
    return ctypes.create_string_buffer(body, max(len(body), 1)), len(body)

def worker(seed):
    chance = random.Random(seed)
    held = []
    while time.monotonic() < end:
        try:
            kind = chance.choice([socket.SOCK_STREAM] * 4 + [socket.SOCK_DGRAM])
            flags = chance.choice([0, socket.SOCK_NONBLOCK])
            held.append(socket.socket(chance.choice([socket.AF_INET, socket.AF_INET6]), kind | flags))
            if chance.random() < 0.2:
                held.append(held[-1].dup())
        except OSError:
            pass
        number = chance.choice([s.fileno() for s in held] + [0, 1, -1, 77, 4095]) if held else -1
        buffer, size = address(chance)
        if chance.random() < 0.1:
            size = chance.choice([-1, 0, 1, 15, 27, 129, 2**31 - 1])
        pointer = buffer if chance.random() > 0.05 else ctypes.c_void_p(chance.choice([0, 8, 2**47]))
        call = chance.random()
        if call < 0.8:
            libc.connect(number, pointer, size)
        elif call < 0.9:
            libc.bind(number, pointer, size)
        else:
            libc.listen(number, chance.choice([0, 5, -1]))
        while len(held) > 20 or (held and chance.random() < 0.5):
            held.pop(chance.randrange(len(held))).close()

def group(seed):
    threads = [threading.Thread(target=worker, args=(seed * 100 + i,)) for i in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]

socket.setdefaulttimeout(5)
children = []
for seed in range(4):
    pid = os.fork()
    if pid == 0:
        group(seed)
        os._exit(0)
    children.append(pid)
for pid in children:
    print(os.waitpid(pid, 0)[1])
s = socket.create_connection(("good.example", 7))
s.sendall(b"still here")
print(s.recv(10).decode())
"""


def test_the_broker_survives_and_holds(net):
    done, report = net.python(SCRIPT, "5", options=allow("203.0.113.10:80", "[2001:db8::20]:80",
                                                         "good.example:7"), timeout=60)
    assert done.expect(0).out.splitlines() == ["0"] * 4 + ["still here"], done.account()
    reached = {(c["address"], c["port"]) for c in report["connections"] if c["allowed"]}
    assert reached <= {("203.0.113.10", 80), ("2001:db8::20", 80), ("203.0.113.10", 7)}, reached
    assert len(reached) == 3, "too little was tried"
    refused = {c["address"] for c in report["connections"] if not c["allowed"]}
    assert {"203.0.113.11", "10.1.2.3"} <= refused, "too little was tried"
