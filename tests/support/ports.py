"""The ports that the kernel gives to whoever connects: so few of them, in a network of one's own, that it can be told
which one a socket gets. Where it is the one that is to be reached, and nobody listens there, the socket is connected
with itself."""

import contextlib
import socket
import struct
from pathlib import Path

PORT = 40001
RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def give_none_but_it() -> None:
    RANGE.write_text(f"{PORT} {PORT}")


def give_many() -> None:
    RANGE.write_text("41000 42000")


def is_answered_by_itself(host: str = "127.0.0.1") -> bool:
    """What a plain socket gets there. It leaves nothing behind."""
    with contextlib.closing(socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.connect((host, PORT))
        return one.getsockname() == one.getpeername()


def can_be_bound(host: str = "127.0.0.1") -> bool:
    """By a server that is not told to pass over connections that have just ended."""
    with contextlib.closing(socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)) as server:
        try:
            server.bind((host, PORT))
        except OSError:
            return False
        return True
