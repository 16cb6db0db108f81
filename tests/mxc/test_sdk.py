"""The published SDKs drive the executor through MXC_BIN_DIR."""

import contextlib
import socket
import threading

import pytest

import sdk
from support import harness

pytestmark = pytest.mark.npm


@pytest.fixture(params=sdk.RELEASES)
def release(request):
    return request.param


def policy(**parts):
    return {"version": "0.6.0-alpha", **parts}


@contextlib.contextmanager
def listener():
    """A host service on loopback that counts who reached it."""
    reached = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        stop = threading.Event()

        def serve():
            while not stop.is_set():
                with contextlib.suppress(TimeoutError):
                    reached.append(server.accept()[0].close())
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1], reached
        finally:
            stop.set()
            thread.join()


def dial(port):
    return ("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", %d), 3); "
            "print(\"connected\")'" % port)


def test_the_example_of_the_package(world, release):
    done = sdk.drive(world, release, "piped", {
        "script": "python3 -c \"print('hello from sandbox')\"; exit 7",
        "policy": policy(filesystem={"readonlyPaths": ["/usr"],
                                     "readwritePaths": [str(world.project)]},
                         network={"allowOutbound": False}, timeoutMs=30000)})
    assert (done["code"], done["out"]) == (7, "hello from sandbox\n"), done


def test_a_terminal(world, release):
    done = sdk.drive(world, release, "terminal", {"script": "test -t 1 && echo at a terminal",
                                                  "policy": policy()})
    assert done["code"] == 0 and "at a terminal" in done["out"], done


def test_a_blocked_write(world, release):
    inside = world.make_directory(world.project / "inside")
    secret = world.write(world.home / "notes", "mine")
    done = sdk.drive(world, release, "piped", {
        "script": f"echo x > {inside}/new; echo x > {world.outside}/new; echo x > {secret}; "
                  f"cat {secret}; true",
        "policy": policy(filesystem={"readwritePaths": [str(inside)]})})
    assert done["code"] == 0, done
    assert (inside / "new").read_text() == "x\n"
    assert not (world.outside / "new").exists() and secret.read_text() == "mine"
    # MXC shows the whole disk to a document of this version; Cordon does not.
    assert "mine" not in done["out"], done


def test_a_blocked_network(world, release):
    with listener() as (port, reached):
        open_policy = policy(network={"allowOutbound": True})
        control = sdk.drive(world, release, "piped", {"script": dial(port), "policy": open_policy})
        assert control["out"] == "connected\n" and len(reached) == 1, control
        for network in ({"allowOutbound": False}, None):
            wish = policy(network=network) if network else policy()
            done = sdk.drive(world, release, "piped", {"script": dial(port), "policy": wish})
            assert done["code"] != 0 and len(reached) == 1, done


def test_a_host_list_does_not_open_the_network(world, release):
    with listener() as (port, reached):
        done = sdk.drive(world, release, "piped", {
            "script": dial(port),
            "policy": policy(network={"allowOutbound": False, "allowedHosts": ["192.0.2.1"]})})
        assert done["code"] != 0 and reached == [], done


def test_a_timeout_leaves_nothing(world, release):
    marker = f"31{release.replace('.', '')}.{world.who.uid}"
    done = sdk.drive(world, release, "piped", {
        "script": f"trap '' TERM; (setsid sleep {marker} &) ; sleep {marker}",
        "policy": policy(timeoutMs=1500)})
    assert done["code"] == 255 and "timed out" in done["err"], done
    assert harness.wait_until(lambda: not harness.processes_with(marker), harness.SOON)


def test_errors_reach_the_caller_with_their_code(world):
    wish = {"script": "true", "policy": policy(filesystem={"readwritePaths": ["/no/such/place"]})}
    done = sdk.drive(world, "0.8.0", "terminal", wish)
    assert done["code"] == "policy_validation" and "/no/such/place" in done["failed"], done
    done = sdk.drive(world, "0.8.0", "terminal", {"script": "sleep 20",
                                                  "policy": policy(timeoutMs=600)})
    assert done["code"] == "backend_error" and "timed out" in done["failed"], done


def test_the_lifecycle(world, release):
    inside = world.make_directory(world.project / "inside")
    done = sdk.drive(world, release, "lifecycle", {
        "containment": "isolation_session",
        "policy": {"version": "0.6.0-alpha", "filesystem": {"readwritePaths": [str(inside)]}},
        "script": f"echo hi; echo x > {inside}/new; echo x > {world.outside}/new; exit 5"})
    assert done["id"].startswith("iso:"), done
    assert done["early"]["code"] == "not_started" and done["again"]["code"] == "already_started"
    assert (done["exec"]["exitCode"], done["exec"]["stdout"]) == (5, "hi\n"), done
    assert (inside / "new").exists() and not (world.outside / "new").exists()
    assert done["widened"]["code"] == "policy_validation", done
    assert done["late"]["code"] == "not_started" and done["gone"]["code"] == "stale_id", done
    assert list((world.home / ".local/state/cordon/mxc").iterdir()) == []
