"""What is installed is one small static program."""

import json
import subprocess

import pytest

from helper import program
from support.harness import ROOT

pytestmark = pytest.mark.once

MOST_BYTES = 1_300_000
# What was written for it. Shared with the rest of the product and not counted: the reader of JSON, the
# table of system calls, the assembler of filters and its rules for arguments. Nor are comments and empty lines.
MOST_LINES = 1_300
PARTS = ["src/faces/main_apply.cc", "src/sandbox/native/seccomp_filter.cc", "src/sys/landlock.cc",
         "src/compat/safeclaw/safeclaw_policy.cc"]


def test_it_is_static_stripped_and_small():
    binary = program()
    headers = subprocess.run(["readelf", "-ldS", binary], capture_output=True, text=True,
                             check=True).stdout
    assert "INTERP" not in headers and "(NEEDED)" not in headers
    assert "GNU_STACK" in headers and "GNU_RELRO" in headers and ".symtab" not in headers
    assert binary.stat().st_size <= MOST_BYTES, binary.stat().st_size


def test_it_needs_no_file_but_its_own(world):
    """Nothing is opened before the policy: no loader, no locale, no name service."""
    trace = world.write(world.trusted / "trace", "")
    policy = world.write(world.trusted / "policy.json", json.dumps({}), 0o600)
    world.execute(["strace", "-qq", "-e", "trace=openat,open,socket,connect", "-o", trace, program(),
                   "--policy-file", policy, "--", "/bin/true"]).expect(70)
    lines = trace.read_text().splitlines()
    assert len(lines) == 1 and "policy.json" in lines[0], lines


def test_its_sources_stay_short():
    own = [path for path in (ROOT / "src/compat/safeclaw/apply").iterdir() if not path.stem.endswith("_test")]
    lines = [line.strip() for path in [*own, *(ROOT / p for p in PARTS)] for line in path.read_text().splitlines()]
    code = [line for line in lines if line and not line.startswith("//")]
    assert 400 < len(code) <= MOST_LINES, len(code)
    assert max(len(path.read_text().splitlines()) for path in own) <= 250
