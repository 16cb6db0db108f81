"""What a machine's kernel lacks, by name. A case that needs it fails there, and the failure has to be the
one that is written here; a gap that is no longer seen has to go. Nothing is skipped."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Gap:
    case: str  # of a test id; * stands for anything
    machines: tuple[str, ...]
    lacks: str  # for people
    seen: str  # a regular expression that the failure's words match

    def concerns(self, machine: str, case: str) -> bool:
        # fnmatch takes brackets for a set of characters.
        pattern = self.case.replace("[", "[[]")
        return machine in self.machines and fnmatchcase(case, pattern)

    def explains(self, words: str) -> bool:
        return re.search(self.seen, words, re.S) is not None


GAPS: tuple[Gap, ...] = ()
