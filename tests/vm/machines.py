"""The machines Cordon is run on beside the one that builds it: an architecture, a kernel of Debian's
and a program of qemu's that plays the hardware."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path


PROCESSORS = Path("/proc/cpuinfo")


def has_kvm() -> bool:
    """Whether the processor itself runs machines. A device alone does not say so: on x86_64 one also exists where
    the processor is a virtual one without the extension, and the kernel interprets what it cannot execute, which
    ends Debian's kernels while they start."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    flags = PROCESSORS.read_text().split()
    return platform.machine() != "x86_64" or "vmx" in flags or "svm" in flags


@dataclass(frozen=True)
class Machine:
    name: str
    architecture: str  # as Debian calls it
    processor: str  # as the kernel calls it
    kernel_suite: str
    kernel_package: str
    landlock_abi: int
    emulator: str
    board: str
    emulated_processor: str
    console: str

    @property
    def native(self) -> bool:
        return platform.machine() == self.processor

    @property
    def preset(self) -> str:
        """Which build makes the programs for this machine."""
        return "release" if self.native else self.processor

    @property
    def binaries(self) -> str:
        """Where that build puts the programs, below the checkout."""
        return "build" if self.native else f"out/{self.preset}/bin"

    @property
    def test_programs(self) -> str:
        return f"out/{self.preset}/tests"

    def hardware(self) -> list[str]:
        """The board, and what executes the instructions. Emulated x86_64 keeps to one thread: its memory
        ordering is stronger than that of the processors this may run on."""
        board = ["-machine", self.board]
        if self.native and has_kvm():
            return [*board, "-accel", "kvm", "-cpu", "host"]
        single = self.processor == "x86_64" and not self.native
        return [*board, "-accel", "tcg,thread=" + ("single" if single else "multi"),
                "-cpu", self.emulated_processor]


# qemu 7.2 emulates five-level page tables and cmpxchg16b in ways that end Linux 6.12.
_PC = ("qemu-system-x86_64", "q35", "max,la57=off,cx16=off", "ttyS0")
# Pointer authentication by its own algorithm takes most of the time of an emulated machine.
_VIRT = ("qemu-system-aarch64", "virt", "max,pauth-impdef=on", "ttyAMA0")

MACHINES = {machine.name: machine for machine in (
    Machine("x86_64-6.1", "amd64", "x86_64", "bookworm", "linux-image-cloud-amd64", 2, *_PC),
    Machine("x86_64-6.12", "amd64", "x86_64", "trixie", "linux-image-cloud-amd64", 6, *_PC),
    Machine("aarch64-6.1", "arm64", "aarch64", "bookworm", "linux-image-cloud-arm64", 2, *_VIRT),
)}
