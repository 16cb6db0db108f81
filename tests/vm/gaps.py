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


NO_SCOPES = "scopes of Landlock (ABI 6), so that there is no backend landlock"
OLD = ("x86_64-6.1", "aarch64-6.1")

GAPS: tuple[Gap, ...] = (
    *(Gap(f"tests/cli/test_awkward_hosts.py::test_{name}[*]", OLD, NO_SCOPES, seen) for name, seen in (
        ("a_system_configuration_of_git_is_not_seen", "needs Landlock ABI 6, this kernel has 2"),
        ("a_null_device_that_is_a_file_is_named", "needs Landlock ABI 6, this kernel has 2"),
        ("a_host_without_a_usual_program_contains_all_the_same", "needs Landlock ABI 6, this kernel has 2"),
        ("a_covered_proc_is_named", "unmount it, since the kernel then refuses a fresh one"))),
    Gap("tests/audit/test_runs.py::test_no_command_is_released_whose_record_is_not_durable[*-landlock]", OLD, NO_SCOPES,
        "needs Landlock ABI 6, this kernel has 2"),
    Gap("tests/attack/test_sy.py::test_SY18_muted_landlock_domain_hides_nothing[*]",
        ("x86_64-6.1", "x86_64-6.12", "aarch64-6.1"),
        "domains that mute the log of Landlock (ABI 7), so the attack itself is impossible",
        r"landlock-mute.*EINVAL.*restrict"),
)
