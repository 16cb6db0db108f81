#!/usr/bin/env python3
"""Starts a program where user namespaces are refused, the way a container's filter refuses them:
clone3 does not exist, and clone and unshare may not ask for one.

    no_namespaces.py [--clone3-only] PROGRAM [ARGUMENT]...

With --clone3-only clone and unshare are as the host has them: native, which needs clone3, is refused
and bubblewrap, which does not, works.
"""
import ctypes
import os
import platform
import signal
import struct
import sys

CALLS = {"aarch64": {"clone": 220, "clone3": 435, "unshare": 97},
         "x86_64": {"clone": 56, "clone3": 435, "unshare": 272}}[platform.machine()]
ALLOW, ERRNO = 0x7fff0000, 0x00050000
EPERM, ENOSYS = 1, 38
NEWUSER = 0x10000000
LOAD, EQUAL, ANY, GIVE = 0x20, 0x15, 0x45, 0x06


def step(code, yes, no, value):
    return struct.pack("HBBI", code, yes, no, value)


PROGRAM = b"".join([
    step(LOAD, 0, 0, 0),                      # the number
    step(EQUAL, 5, 0, CALLS["clone3"]),
    step(EQUAL, 1, 0, CALLS["clone"]),
    step(EQUAL, 0, 4, CALLS["unshare"]),
    step(LOAD, 0, 0, 16),                     # the first argument
    step(ANY, 0, 2, NEWUSER),
    step(GIVE, 0, 0, ERRNO | EPERM),
    step(GIVE, 0, 0, ERRNO | ENOSYS),
    step(GIVE, 0, 0, ALLOW),
])


CLONE3_ONLY = b"".join([
    step(LOAD, 0, 0, 0),
    step(EQUAL, 0, 1, CALLS["clone3"]),
    step(GIVE, 0, 0, ERRNO | ENOSYS),
    step(GIVE, 0, 0, ALLOW),
])


class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("program", ctypes.c_char_p)]


def main():
    libc = ctypes.CDLL(None, use_errno=True)
    words = sys.argv[1:]
    program = CLONE3_ONLY if words[0] == "--clone3-only" else PROGRAM
    if program is CLONE3_ONLY:
        del words[0]
    wanted = Filter(len(program) // 8, program)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.byref(wanted), 0, 0) != 0:
        sys.exit(f"cannot install the filter: {os.strerror(ctypes.get_errno())}")
    # The interpreter ignores these, and what it becomes would, too.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.execv(words[0], words)


main()
