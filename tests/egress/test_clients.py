"""Programs that were told nothing of a sandbox: each reaches what is allowed and nothing else."""

import hashlib
import os
import shutil
import signal
import subprocess

import pytest

from support.internet import allow, running
from support import harness

RULES = allow("good.example", "both.example", "203.0.113.12:80")


def expect_clients(net, good, bad, *, text="203.0.113.1", options=RULES, **how):
    """The same command once to an allowed place and once to another; bare both work."""
    bare = net.bare(*bad, **how)
    assert text in bare.out, f"the control is broken\n{bare.account()}"
    inside = net.run(*good, options=options, **how)
    assert text in inside.out, inside.account()
    refused = net.run(*bad, options=options, **how)
    assert refused.status != 0 and text not in refused.out, refused.account()


def test_curl(net):
    expect_clients(net, ["curl", "-sS", "http://good.example/"],
                   ["curl", "-sS", "http://other.example/"])
    expect_clients(net, ["curl", "-sS", "http://203.0.113.12/"],
                   ["curl", "-sS", "http://203.0.113.11/"])
    expect_clients(net, ["curl", "-sS", "-6", "http://both.example/"],
                   ["curl", "-sS", "-6", "http://six.example/"], text="2001:db8")


def test_wget(net):
    expect_clients(net, ["wget", "-qO-", "-t1", "http://good.example/"],
                   ["wget", "-qO-", "-t1", "http://other.example/"])


def test_shell(net):
    script = 'exec 3<>/dev/tcp/$1/80; printf "GET / HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n" >&3; cat <&3'
    expect_clients(net, ["bash", "-c", script, "-", "good.example"],
                   ["bash", "-c", script, "-", "other.example"])


def test_python_asyncio(net):
    script = """
import asyncio, sys
async def main():
    reader, writer = await asyncio.open_connection(sys.argv[1], 80)
    writer.write(b"GET / HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n")
    print((await reader.read()).decode())
asyncio.run(main())
"""
    expect_clients(net, ["/usr/bin/python3", "-c", script, "good.example"],
                   ["/usr/bin/python3", "-c", script, "other.example"])


def test_node_fetch(net):
    script = ("fetch(process.argv[1]).then(r => r.text()).then(console.log)"
              ".catch(e => { console.error(e); process.exit(1) })")
    expect_clients(net, ["node", "-e", script, "http://good.example/"],
                   ["node", "-e", script, "http://other.example/"])


def test_node_with_its_own_resolver(net):
    script = ("require('dns').promises.resolve4(process.argv[1])"
              ".then(console.log).catch(e => { console.error(e); process.exit(1) })")
    done = net.run("node", "-e", script, "good.example", options=RULES).expect(0)
    assert "198.18.0." in done.out, done.account()
    assert net.run("node", "-e", script, "other.example", options=RULES).status == 1


JAVA = """
import java.net.*; import java.net.http.*;
public class Fetch { public static void main(String[] a) throws Exception {
  var r = HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(a[0])).build(),
                                          HttpResponse.BodyHandlers.ofString());
  System.out.print(r.body());
  System.out.print(new String(new URL(a[0]).openStream().readAllBytes()));
} }
"""


@pytest.mark.only("user")
def test_java(net):
    net.write(net.project / "Fetch.java", JAVA)
    done = net.run("java", "Fetch.java", "http://good.example/", options=RULES, timeout=90)
    assert done.expect(0).out.count("far 203.0.113.10") == 2, done.account()
    refused = net.run("java", "Fetch.java", "http://other.example/", options=RULES, timeout=90)
    assert refused.status != 0 and "203.0" not in refused.out


MUSL = r"""
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int count, char** words) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
  if (count != 2 || getaddrinfo(words[1], "80", &hints, &found) != 0) return 2;
  const char* ask = "GET / HTTP/1.0\r\nHost: x\r\n\r\n";
  for (; found != NULL; found = found->ai_next) {
    int s = socket(found->ai_family, found->ai_socktype, 0);
    if (connect(s, found->ai_addr, found->ai_addrlen) == 0 && write(s, ask, strlen(ask)) > 0) {
      char text[4096];
      for (ssize_t got; (got = read(s, text, sizeof text)) > 0;) fwrite(text, 1, got, stdout);
      return 0;
    }
    close(s);
  }
  return 3;
}
"""

GO = """
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

func main() {
	found, err := (&net.Resolver{PreferGo: true}).LookupHost(context.Background(), os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	answer, err := http.Get("http://" + os.Args[1] + "/")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	fmt.Println(len(found) > 0)
	io.Copy(os.Stdout, answer.Body)
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Programs whose resolver is not glibc's, linked statically."""
    place = tmp_path_factory.mktemp("compiled")
    (place / "musl.c").write_text(MUSL)
    (place / "go.go").write_text(GO)
    subprocess.run(["musl-gcc", "-static", "-O1", "-o", place / "musl", place / "musl.c"], check=True)
    subprocess.run(["go", "build", "-o", place / "go", place / "go.go"], check=True,
                   env={"PATH": os.environ["PATH"], "HOME": str(place), "CGO_ENABLED": "0",
                        "GOCACHE": str(place / "cache"), "GO111MODULE": "off"})
    return place


@pytest.mark.parametrize("language", ["musl", "go"])
def test_a_static_program_with_its_own_resolver(net, compiled, language):
    program = net.project / language
    shutil.copy(compiled / language, program)
    net.own(program)
    expect_clients(net, [program, "good.example"], [program, "other.example"])


def test_git(net):
    good = ["git", "clone", "-q", "git://good.example/repo", "clone"]
    net.run(*good, options=allow("good.example:9418")).expect(0)
    assert (net.project / "clone/file").read_text() == "content\n"
    refused = net.run("git", "clone", "-q", "git://other.example/repo", "second",
                      options=allow("good.example:9418"))
    assert refused.status != 0 and not (net.project / "second").exists()
    net.bare("git", "clone", "-q", "git://other.example/repo", "second").expect(0)


@pytest.mark.only("user")
def test_psql_up_to_its_first_exchange(net):
    words = ["psql", "-h", "good.example", "-p", "7", "-U", "x", "-d", "postgres", "-c", "select 1"]
    done = net.run(*words, options=[*allow("good.example:7"), "--env", "PGSSLMODE=disable"])
    assert "expected authentication request" in done.err, done.account()
    refused = net.run(*words, options=[*allow("good.example:8"), "--env", "PGSSLMODE=disable"])
    assert "Permission denied" in refused.err, refused.account()


@pytest.mark.only("user")
def test_many_transfers_are_exact(net):
    """A thousand transfers, 300 MB in all, twenty at a time, while other connections come and go."""
    script = """
import concurrent.futures, hashlib, socket, sys, threading, urllib.request
def one(i):
    size = 300000 + i
    data = urllib.request.urlopen(f"http://good.example/bytes/{size}", timeout=60).read()
    return len(data) == size and hashlib.sha256(data).hexdigest()
def churn():
    while not over.is_set():
        socket.create_connection(("good.example", 80), 20).close()
over = threading.Event()
noise = threading.Thread(target=churn)
noise.start()
with concurrent.futures.ThreadPoolExecutor(20) as pool:
    for digest in pool.map(one, range(1000)):
        print(digest)
over.set()
noise.join()
"""
    done = net.run("/usr/bin/python3", "-c", script, options=RULES, timeout=120).expect(0)
    block = b"0123456789abcdef" * 4096 * 16
    wanted = [hashlib.sha256(block[:300000 + i]).hexdigest() for i in range(1000)]
    assert done.out.split() == wanted


@pytest.mark.only("user")
def test_a_thousand_connections_at_once(net):
    script = """
import resource, socket
open_sockets = [socket.create_connection(("good.example", 7), 30) for _ in range(1000)]
for s in open_sockets:
    s.sendall(b"x")
print(sum(len(s.recv(1)) for s in open_sockets))
"""
    done, report = net.python(script, options=allow("good.example:7"), timeout=90)
    assert done.expect(0).out == "1000\n"
    assert report["connections"][0]["count"] == 1000


def test_when_cordon_is_killed_mid_transfer_everything_stops(net):
    """The program, its connection and its way out are gone within a second."""
    marker = f"cordon-test-{os.getpid()}-{net.path.name}"
    script = """
import socket
s = socket.socket()
s.bind(("", 0))
s.connect(("good.example", 80))
s.sendall(b"GET /bytes/1000000000000 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
taken = 0
while True:
    taken += len(s.recv(65536))
    if taken > 1 << 20 and s:
        print(s.getsockname()[1], flush=True)
        taken = -(1 << 60)
"""

    def connected(port):
        table = subprocess.run([*net.internet.enter(), "ss", "-Htn"], capture_output=True, text=True,
                               check=True).stdout
        return any(line.split()[3].endswith(f":{port}") and line.startswith("ESTAB")
                   for line in table.splitlines())

    with running(net.start([net.cordon, "run", *allow("good.example:80"), "--", "/usr/bin/python3",
                            "-c", script, marker])) as process:
        port = int(process.stdout.readline())
        assert connected(port), "the control is broken"
        os.kill(process.pid, signal.SIGKILL)
        assert harness.wait_until(
            lambda: not harness.processes_with(marker) and not connected(port), harness.SOON)
