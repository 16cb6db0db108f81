"""Runs one agent host against a scripted model, in a network that has nothing but loopback.

Started by `hosts.drive` inside a network namespace of its own: `drive.py SPEC ANSWER`. Both are JSON
files. In the words and the environment of the client @MODEL@ stands for the address of the model.
"""

import fcntl
import json
import socket
import struct
import subprocess
import sys
import time

from model import Model

SIOCSIFFLAGS, IFF_UP = 0x8914, 1


def bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def main(spec_file: str, answer_file: str) -> None:
    with open(spec_file, encoding="utf-8") as file:
        spec = json.load(file)
    bring_up_loopback()
    model = Model(spec["script"])
    argv = [word.replace("@MODEL@", model.url) for word in spec["argv"]]
    environment = {name: value.replace("@MODEL@", model.url)
                   for name, value in spec["environment"].items()}
    begin = time.monotonic()
    try:
        done = subprocess.run(argv, cwd=spec["cwd"], env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=spec["timeout"], check=False)
        status, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        status, out, err = None, late.stdout or b"", late.stderr or b""
    answer = {"status": status, "out": out.decode("utf-8", "replace"),
              "err": err.decode("utf-8", "replace"), "seconds": time.monotonic() - begin,
              "requests": model.requests}
    with open(answer_file, "w", encoding="utf-8") as file:
        json.dump(answer, file)


main(*sys.argv[1:])
