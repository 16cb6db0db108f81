"""A program for the machine's 32-bit sister architecture that exits with 42, made by hand."""

import platform
import struct

CODE = {
    # mov r7, #1; mov r0, #42; svc 0
    "aarch64": (40, bytes.fromhex("0170a0e3" "2a00a0e3" "000000ef")),
    # mov eax, 1; mov ebx, 42; int 0x80
    "x86_64": (3, bytes.fromhex("b801000000" "bb2a000000" "cd80")),
}


def program() -> bytes:
    machine, code = CODE[platform.machine()]
    base, size = 0x10000, 52 + 32 + len(code)
    flags = 0x05000000 if machine == 40 else 0
    header = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack(
        "<HHIIIIIHHHHHH", 2, machine, 1, base + 84, 52, 0, flags, 52, 32, 1, 40, 0, 0)
    segment = struct.pack("<IIIIIIII", 1, 0, base, base, size, size, 5, 0x10000)
    return header + segment + code
