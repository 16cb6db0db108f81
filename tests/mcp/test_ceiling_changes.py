"""A ceiling that changes while a process goes on holds for its next connection."""

import socket
import threading

import pytest

from served import ceiling_of
from test_processes import until

pytestmark = pytest.mark.once

CLIENT = """
import errno, socket, sys
for line in sys.stdin:
    s = socket.socket()
    print(line.strip(), errno.errorcode.get(s.connect_ex(("127.0.0.1", int(sys.argv[1]))), "ok"),
          flush=True)
    s.close()
"""


def test_the_next_connection_is_judged_by_the_new_ceiling(serve_full, world):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        threading.Thread(target=lambda: [server.accept() for _ in range(2)], daemon=True).start()
        net = f"[net]\nhost_ports = [{port}]\n"
        full = serve_full(ceiling=ceiling_of(world, net))
        id = full.good("start_process", {"argv": ["/usr/bin/python3", "-c", CLIENT, str(port)]})[
            "process_id"]

        def connect(word, answer):
            full.good("write_stdin", {"process_id": id, "data": word + "\n"})
            until(full, id, f"{word} {answer}\n")

        connect("permitted", "ok")
        world.document(ceiling_of(world), "ceiling.toml")
        connect("withdrawn", "ECONNREFUSED")
        world.document(ceiling_of(world, net), "ceiling.toml")
        connect("again", "ok")


def test_a_ceiling_that_names_what_no_run_is_given_leaves_the_rest(serve, world):
    """Such an entry bounds what is asked for by name; it is no reason to refuse every call."""
    there = 'read = ["/proc", "/dev"]\n' + f'write = ["/etc", "{world.project}"]\n'
    server = serve(ceiling="version = 1\n[fs]\n" + there)
    done, _ = server.result("run_code", {"argv": ["sh", "-c", "echo kept > made; touch /etc/cordon-made"]})
    assert done["exit_code"] == 1 and "/etc/cordon-made" in done["stderr"], done
    assert (world.project / "made").read_text() == "kept\n"
    server.bad("run_code", {"argv": ["true"], "readwrite_paths": ["/etc"]})
