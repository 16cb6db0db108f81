"""Cases that prove nothing where they run: named, counted, and none of them by accident.

A test that has nothing to try for a person, a parameter or a host ends with `return void("why")`. The run
prints how many cases were void and why, and fails if a case was void that EXPECTED does not name, or was
not void although EXPECTED names it: so no case becomes void unnoticed, and no entry outlives its reason.
(A case that concerns one person alone has the mark `only` and is not collected for the other.)"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Callable

NO_FILE_SYSTEM = "one that folds case is mounted by root, through /dev/fuse"
NOT_STARTED_BY_ROOT = "only root can give a file away or look into another's process"


@dataclass(frozen=True)
class Expected:
    case: str  # a regular expression of the whole case, as pytest names it
    why: str
    here: Callable[[], bool] = field(default=lambda: True)


def started_by_another_than_root() -> bool:
    return os.geteuid() != 0


def no_file_system_of_ones_own() -> bool:
    return os.geteuid() != 0 or not os.path.exists("/dev/fuse")


EXPECTED = (
    Expected(r"tests/attack/test_folded_names\.py::test_FS27_\w+.*", NO_FILE_SYSTEM, no_file_system_of_ones_own),
    Expected(r"tests/attack/test_others_sessions\.py::test_(IP19_another_user_at_the_socket_of_a_session|"
             r"PR29_a_session_that_another_user_made_up).*", NOT_STARTED_BY_ROOT, started_by_another_than_root),
    Expected(r"tests/attack/test_repository_above\.py::test_a_git_directory_of_somebody_else.*",
             NOT_STARTED_BY_ROOT, started_by_another_than_root),
    Expected(r"tests/audit/test_writers\.py::test_a_directory_of_others_is_refused\[.*foreign.*\]",
             NOT_STARTED_BY_ROOT, started_by_another_than_root),
    Expected(r"tests/bwrap/test_life\.py::test_the_first_process_runs_a_program_that_nobody_can_change.*",
             NOT_STARTED_BY_ROOT, started_by_another_than_root),
    Expected(r"tests/cli/test_agent_login\.py::test_a_login_of_somebody_else_is_refused.*",
             NOT_STARTED_BY_ROOT, started_by_another_than_root),
    Expected(r"tests/cli/test_setup\.py::test_(configuration_directory|a_home)_of_somebody_else.*",
             NOT_STARTED_BY_ROOT, started_by_another_than_root),
    Expected(r"tests/landlock/test_runs\.py::test_absent_layer_is_refused\[user-capabilities\]",
             "an ordinary user has no capability to keep"),
)

_void: dict[str, str] = {}
_ran: list[str] = []


def current_case() -> str:
    return os.environ["PYTEST_CURRENT_TEST"].rsplit(" ", 1)[0]


def void(why: str) -> None:
    """To be returned: `return void("an ordinary user has none")`."""
    _void[current_case()] = why


def note_run(case: str) -> None:
    _ran.append(case)


def troubles(void_cases: dict[str, str], ran: list[str], expected=EXPECTED) -> list[str]:
    found = []
    due = [entry for entry in expected if entry.here()]
    for case, why in void_cases.items():
        if not any(re.fullmatch(entry.case, case) and entry.why == why for entry in due):
            found.append(f"{case} was void and is not expected to be: {why}")
    for case in ran:
        entry = next((entry for entry in due if re.fullmatch(entry.case, case)), None)
        if entry and case not in void_cases:
            found.append(f"{case} was not void; tests/support/voids.py says: {entry.why}")
    return found


def account() -> list[str]:
    """Lines for the end of a run: how many were void, and why."""
    by_reason: dict[str, int] = {}
    for why in _void.values():
        by_reason[why] = by_reason.get(why, 0) + 1
    return [f"{count:4} void: {why}" for why, count in sorted(by_reason.items())]


def troubles_of_this_run() -> list[str]:
    return troubles(_void, _ran)
