"""A log in the home of a person of the harness, the program that writes it, and both verifiers."""

import json
import os
import shutil
from pathlib import Path

import verify
from support import harness

WRITER = Path(os.environ.get("AUDIT_WRITER",
                             harness.ROOT / "out/release/tests/audit/audit_writer"))


class Trail:
    def __init__(self, world):
        self.world = world
        self.directory = world.home / ".local/state/cordon/audit"
        self.program = world.cordon.parent / "audit_writer"
        if not self.program.exists():
            shutil.copy(WRITER, self.program)
            self.program.chmod(0o755)

    # Writing.

    def write(self, *words, status=0, **how):
        done = self.world.execute([self.program, self.directory, *words], **how)
        assert done.status == status, done.account()
        return [line.split() for line in done.out.splitlines()]

    def start(self, *words, **how):
        return self.world.start([self.program, self.directory, *words], **how)

    # Reading.

    @property
    def days(self):
        return sorted(p.name for p in self.directory.iterdir() if verify.DAY.match(p.name))

    def lines(self, day=None):
        day = day or self.days[-1]
        return (self.directory / day).read_bytes().splitlines(keepends=True)

    def put_lines(self, lines, day=None):
        day = day or self.days[-1]
        (self.directory / day).write_bytes(b"".join(lines))

    def records(self):
        return [json.loads(line) for day in self.days for line in self.lines(day)]

    def audit(self, *words, status=0, **how):
        return self.world.cordon_verb("audit", *words, **how).expect(status)

    def verdict(self):
        done = self.world.cordon_verb("audit", "verify", "--json")
        assert done.status in (0, 1), done.account()
        answer = done.json
        assert answer["holds"] == (done.status == 0) == (not answer["findings"]), done.account()
        return answer

    def holds(self):
        """Both implementations find nothing, and count the same."""
        answer = self.verdict()
        faults, records = verify.verify(self.directory)
        assert answer["holds"] and not faults, (answer["findings"][:5], faults[:5])
        assert answer["records"] == len(records)
        return answer

    def fault(self):
        """The one fault that both implementations find: (kind, file, line, seq)."""
        findings = [(f["kind"], f["file"], f["line"], f["seq"])
                    for f in self.verdict()["findings"]]
        faults, _ = verify.verify(self.directory)
        assert len(findings) == len(faults) == 1, (findings, faults)
        kind, file, line, seq = findings[0]
        assert (kind, file, line) == faults[0][:3], (findings, faults)
        if kind != "head-mismatch":
            assert seq == faults[0][3], (findings, faults)
        return findings[0]
