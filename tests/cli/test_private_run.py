"""/run is private like /tmp, and of /sys the processors are there."""

import os

import pytest


def test_a_server_keeps_its_pid_and_socket_in_run(world):
    before = set(os.listdir("/run"))
    script = """
import os, socket, threading
os.makedirs("/run/server")
open("/run/server/pid", "w").write(str(os.getpid()))
s = socket.socket(socket.AF_UNIX); s.bind("/run/server/sock"); s.listen()
c = socket.socket(socket.AF_UNIX); c.connect("/run/server/sock")
print(sorted(os.listdir("/run/server")), os.listdir("/run"))
"""
    for options in ([], ["--policy", "build"]):
        done, report = world.report("/usr/bin/python3", "-c", script, options=options)
        assert done.expect(0).out == "['pid', 'sock'] ['server']\n", done.account()
        assert report["denials"] == []
    # Others make and remove there what they need; nobody but the script makes this.
    assert "server" not in set(os.listdir("/run")) - before


@pytest.mark.once
def test_without_a_private_space_run_is_empty_and_closed(world):
    done = world.run("sh", "-c", "ls -A /run; touch /run/x", options=["--policy", "strict"])
    assert done.out == "" and done.status != 0, done.account()


@pytest.mark.once
def test_it_counts_against_the_private_space(world):
    done = world.run("dd", "if=/dev/zero", "of=/run/big", "bs=1M", "count=8", options=["--scratch", "4M"])
    assert done.status != 0 and "No space left" in done.err, done.account()


@pytest.mark.once
def test_the_processors_and_nothing_else_of_sys(world):
    done = world.run("sh", "-c", "cat /sys/devices/system/cpu/online; ls /sys /sys/devices /sys/devices/system; "
                     "echo 0 > /sys/devices/system/cpu/cpu1/online")
    online = open("/sys/devices/system/cpu/online").read()
    assert done.out == f"{online}/sys:\ndevices\n\n/sys/devices:\nsystem\n\n/sys/devices/system:\ncpu\n", done.account()
    assert done.status != 0
    assert world.run("ls", "/sys", options=["--policy", "strict"]).status != 0
