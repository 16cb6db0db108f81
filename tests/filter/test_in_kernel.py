"""The compiled filter in the running kernel, over every system-call number, against the interpreter."""

import json
import os
import platform
import subprocess

from support import harness

PROGRAM = harness.ROOT / "out/release/tests/filter/filter_in_kernel"


def test_the_kernel_and_the_interpreter_agree_on_every_number():
    # Where every call is emulated: two profiles of the eight, and of the numbers that cost a process each an eighth.
    few = os.environ.get("CORDON_TEST_FILTER") == "few"
    done = subprocess.run([PROGRAM, *(["few"] if few else [])], stdout=subprocess.PIPE, timeout=600,
                          check=False, text=True)
    told = json.loads(done.stdout)
    assert told["differences"] == []
    assert done.returncode == 0
    assert told["architecture"] == platform.machine()
    # Numbers times arguments times profiles; connect, bind and listen where there is a broker, and renames in a
    # stage.
    assert told["answers"] > (2 if few else 8) * 100_000
    assert told["supervised"] == (3 if few else 16)
    if platform.machine() == "x86_64":
        assert told["kernels_own"] == 2
        # x32 with every number, with and without the highest bit, and what lies beyond.
        assert told["killed"] >= 2 * 1024 // (8 if few else 1)
        # The other gate of 32 bits, which no program needs to be one of 32 bits for.
        assert told["int80"] == 512 // (8 if few else 1)
        assert told["program32"] == "killed"
    else:
        # There is no other way in but from a program of 32 bits, and not every processor runs one.
        assert told["killed"] == 0 and told["int80"] == 0
        assert told["program32"] in ("killed", "none")
