"""The machines Cordon is run on beside the one that builds it: an architecture, a kernel of Debian's
and a program of qemu's that plays the hardware."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    name: str
    architecture: str  # as Debian calls it
    processor: str  # as the kernel calls it
    kernel_suite: str
    kernel_package: str
    landlock_abi: int
    # Where the build for this machine puts the programs, and its test programs, below the checkout.
    binaries: str
    test_programs: str
    emulator: str
    # The kinds of board and processor; see accelerated() for what plays them.
    board: tuple[str, ...]
    console: str

    def accelerated(self) -> list[str]:
        """What executes the instructions. Emulated x86_64 keeps to one thread: its memory ordering is
        stronger than that of the processors this may run on."""
        if platform.machine() == self.processor and os.access("/dev/kvm", os.R_OK | os.W_OK):
            return ["-accel", "kvm"]
        single = platform.machine() != self.processor
        return ["-accel", "tcg,thread=" + ("single" if single else "multi")]


# qemu 7.2 emulates five-level page tables and cmpxchg16b in ways that end Linux 6.12.
_PC = ("-machine", "q35", "-cpu", "max,la57=off,cx16=off")
# Pointer authentication by its own algorithm takes most of the time of an emulated machine.
_VIRT = ("-machine", "virt", "-cpu", "max,pauth-impdef=on")

MACHINES = {machine.name: machine for machine in (
    Machine("x86_64-6.1", "amd64", "x86_64", "bookworm", "linux-image-cloud-amd64", 2,
            "out/x86_64/bin", "out/x86_64/tests", "qemu-system-x86_64", _PC, "ttyS0"),
    Machine("x86_64-6.12", "amd64", "x86_64", "trixie", "linux-image-cloud-amd64", 6,
            "out/x86_64/bin", "out/x86_64/tests", "qemu-system-x86_64", _PC, "ttyS0"),
    Machine("aarch64-6.1", "arm64", "aarch64", "bookworm", "linux-image-cloud-arm64", 2,
            "build", "out/release/tests", "qemu-system-aarch64", _VIRT, "ttyAMA0"),
)}
