"""Runs one machine: starts qemu on an image, passes its console on, holds a time limit and brings back
what the machine wrote on its last disk. Whatever happens, qemu is ended before this returns."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import signal
import subprocess
import tarfile
import threading
from dataclasses import dataclass
from pathlib import Path

from images import Image
from machines import Machine

RESULTS_SIZE = 64 << 20


@dataclass
class Ended:
    files: dict[str, bytes]  # what the machine handed over, by name
    trouble: str | None


def _before_qemu() -> None:
    """Does not outlive a runner that is killed, and goes before whatever else is tested meanwhile: a machine that
    waits for its turn runs into the time limits of its own tests. Only root may ask for that, and only a kernel
    that groups by session has the file."""
    set_death_signal = 1
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text("-20")


def run(machine: Machine, image: Image, brought: Path, place: Path, seconds: float, processors: int,
        console, started) -> Ended:
    """`brought` is a tar archive, `place` a directory for what is needed meanwhile, `console` is given
    every line the machine prints, `started` the process of qemu, to be killed by who gives up."""
    results = place / "results.disk"
    with open(results, "wb") as disk:
        disk.truncate(RESULTS_SIZE)
    disks = [f"file={image.root},snapshot=on", f"file={brought},readonly=on", f"file={results}"]
    words = [machine.emulator, *machine.hardware(), "-smp", str(processors), "-m", image.memory,
             "-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio",
             "-kernel", str(image.kernel), "-initrd", str(image.initramfs),
             "-append", f"console={machine.console} quiet loglevel=3 panic=-1 "
                        "random.trust_cpu=on mitigations=off "
                        # The daemon that gathers pages never ends where memory is emulated (6.12).
                        "transparent_hugepage=never",
             "-device", "virtio-rng-pci"]
    for disk in disks:
        words += ["-drive", f"{disk},format=raw,if=virtio,cache=unsafe"]
    # snapshot=on keeps what is written beside the other temporary files. Of its own session: an
    # interrupt of the terminal reaches this process alone, which ends qemu.
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True,
                               env={**os.environ, "TMPDIR": str(place)},
                               preexec_fn=_before_qemu)
    started(process)
    late = threading.Event()

    def end_late() -> None:
        late.set()
        process.kill()
    limit = threading.Timer(seconds, end_late)
    limit.start()
    try:
        for line in io.TextIOWrapper(process.stdout, "utf-8", "replace", newline=None):
            console(line.rstrip("\r\n"))
        process.wait()
    finally:
        limit.cancel()
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
    files = _handed_over(results)
    results.unlink()
    if late.is_set():
        return Ended(files, f"the machine did not end within {seconds:.0f}s")
    if not files:
        return Ended(files, f"the machine handed nothing over (qemu ended with {process.returncode})")
    return Ended(files, None)


def _handed_over(results: Path) -> dict[str, bytes]:
    found = {}
    try:
        with tarfile.open(results, "r:") as archive:
            for member in archive:
                if member.isfile():
                    found[os.path.normpath(member.name)] = archive.extractfile(member).read()
    except tarfile.TarError:
        return {}
    return found
