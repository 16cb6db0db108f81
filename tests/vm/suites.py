"""What is run on a machine. A tier is a list of suites; a suite is a set of tests and who starts them.

The cases are those of the host's suites, run as they are: none is written twice. What belongs to these
machines alone lies in suites/."""

from __future__ import annotations

from dataclasses import dataclass, field

import gaps
import images
from machines import Machine

# One boot in ./test, of about 115 cases. Each line stands for a layer that differs from kernel to
# kernel or from one architecture to another; a name without brackets is run as root and as a user.
CHOSEN = {
    "the processes and the files of every preset": (
        "tests/contract/test_contract.py::test_process_state",
        "tests/contract/test_contract.py::test_strict_shows_only_what_was_granted",
    ),
    "mounts: Landlock ABI 2 and the mount calls of an older kernel": (
        "tests/attack/test_fs.py::test_R522_symlink_to_a_protected_directory",
        "tests/attack/test_fs.py::test_R524_dots_lead_nowhere",
        "tests/attack/test_fs.py::test_FS17_all_open_calls_agree",
        "tests/attack/test_fs.py::test_FS15_second_hard_link_to_a_denied_file",
        "tests/attack/test_fs.py::test_FS40_device_nodes",
        "tests/attack/test_fs.py::test_FS47_every_way_to_mount",
        "tests/attack/test_fs.py::test_FS49_nested_namespace_cannot_reveal_a_mask",
    ),
    "overlays of three layers": (
        "tests/attack/test_staged_git.py::test_what_is_steady_is_gone_with_the_run_and_is_no_change[user]",
    ),
    "other processes: scopes that this Landlock lacks are the namespace's": (
        "tests/attack/test_pr.py::test_PR01_ptrace",
        "tests/attack/test_pr.py::test_PR04_memory_file_of_an_outside_process",
        "tests/attack/test_pr.py::test_PR05_signals_to_outside_processes",
        "tests/attack/test_pr.py::test_PR07_no_capability_survives",
        "tests/attack/test_pr.py::test_PR10_unshare",
        "tests/attack/test_pr.py::test_PR11_clone3",
        "tests/attack/test_pr.py::test_PR12_setns",
        "tests/attack/test_pr.py::test_PR25_no_descriptor_beyond_the_three",
        "tests/attack/test_ip.py::test_IP07_abstract_socket",
        "tests/attack/test_ip.py::test_IP15_shared_memory_and_queues",
    ),
    "the filter, with this architecture's numbers": (
        "tests/filter/test_in_kernel.py",
        "tests/attack/test_sy.py::test_SY01_io_uring",
        "tests/attack/test_sy.py::test_SY05_userfaultfd",
        "tests/attack/test_sy.py::test_SY06_keyrings",
        "tests/attack/test_sy.py::test_SY08_machine_wide_calls",
        "tests/attack/test_sy.py::test_SY11_foreign_architecture",
        "tests/attack/test_sy.py::test_SY13_unknown_numbers",
        "tests/attack/test_sy.py::test_SY18_muted_landlock_domain_hides_nothing",
        "tests/attack/test_sy.py::test_SY23_the_filter_is_on_in_every_network_mode",
    ),
    "limits, by control groups of version 2": (
        "tests/attack/test_rs.py::test_R545_memory_bomb",
        "tests/attack/test_rs.py::test_RS14_cgroup_release_agent",
        "tests/cli/test_run.py::test_cpus_are_enforced_or_refused",
        "tests/cli/test_run.py::test_enforcement_is_always_there",
    ),
    "the end of everything that was started": (
        "tests/attack/test_rs.py::test_R532_no_survivor_after_any_end",
        "tests/attack/test_rs.py::test_RS15_death_of_cordon",
        "tests/cli/test_death.py::test_sigkill_of_cordon",
        "tests/cli/test_death.py::test_next_start_tidies_what_a_dead_one_noted",
    ),
}

GROUPS = "tests/vm/suites/test_cgroup2.py"

# What a machine of these cannot run. It is left out by name, and how many cases that are is shown.
LEFT_OUT = {
    "tests/attack/test_rs.py::test_R531_timeout_is_exact": "measures time, which an emulator stretches",
    "tests/attack/test_rs.py::test_RS01_the_host_goes_on_beside_a_fork_bomb": "measures time",
    "tests/attack/test_rs.py::test_RS09_stubborn_process_meets_the_deadline": "measures time",
    "tests/attack/test_rs.py::test_RS09_vfork_stall": "measures time",
    "tests/attack/test_quotas.py::test_twenty_thousand_denies_start_in_a_second": "measures processor time",
    "tests/contract/test_contract.py::test_whole_matrix_is_quick": "measures time",
    "tests/attack/test_older_landlock.py": "plays the older kernels that these machines have",
    "tests/attack/test_rs.py::test_RS20_a_start_that_fails_at_any_step": "an emulator stretches its time limit",
    "tests/attack/test_catalogue.py": "reads the sources, which are not brought in",
    "tests/contract/test_voids.py": "reads the tests themselves, which are the same everywhere",
    "tests/attack/test_developers_list.py": "needs npm, cmake and pip, which are not brought in",
    "tests/attack/test_two_runs.py::test_two_hostile_runs": "what two runs do in seconds, which an emulator stretches",
    "tests/attack/test_git_keys.py": "what git reads is the same on every kernel, and each of its places takes a minute",
    "tests/attack/test_tracked.py": "what git's objects say of a file is the same on every kernel, and took a third of an "
                                    "hour",
    "tests/contract/test_chosen.py": "reads the tests themselves",
    # One of them stays, with all layers at once: a checkout of protected files.
    **dict.fromkeys((f"tests/attack/test_git_day.py::{name}" for name in (
        "test_git[root", "test_git[user-clone]", "test_git[user-commit]", "test_git[user-stash pop]",
        "test_git[user-merge of held files]", "test_git[user-push -u]", "test_git[user-config, dangerous]",
        "test_git_without_trust")), "nearly all of it is git's own work, which an emulator stretches"),
    **dict.fromkeys((f"tests/attack/test_held.py::test_{name}" for name in (
        "git_replaces_protected_files_inside_and_not_on_the_host", "the_same_operations_work_bare",
        "every_kind_of_change_is_held_and_named", "the_table_of_settings_that_last")),
        "what git and Cordon's end of a run do with ordinary files, which is the same on every kernel"),
    **dict.fromkeys((f"tests/attack/test_{name}" for name in (
        "pl.py::test_PL07_quotes_end_nothing", "pl.py::test_PL16_senseless_limits",
        "pl.py::test_PL16_senseless_flags", "pl.py::test_PL12_command_text_decides_nothing[root",
        "nt.py::test_rule_that_is_refused_at_load")), "how a policy is spelled, which no kernel is asked about"),
    **dict.fromkeys((f"tests/attack/test_fs.py::test_{name}[root]" for name in (
        "FS30_grant_swapped_for_a_symlink", "FS31_way_to_a_mask_swapped_for_a_symlink")),
        "a race of many runs, which is made as a user"),
    "tests/attack/test_rs.py::test_RS16_many_at_once_and_in_a_row": f"{GROUPS} makes 500 runs and looks for the same",
    "tests/attack/test_appearing.py::test_a_home_with_more_entries_than_can_be_mounted_is_named":
        "4200 files, which an emulator makes in a minute, and a number that Cordon itself counts",
    "tests/attack/test_tt.py::test_R544_two_gigabytes_of_output_are_bounded":
        "two gigabytes through an emulator take longer than the whole tier",
}


@dataclass(frozen=True)
class Suite:
    name: str
    place: str  # who starts it: see guest/session.py
    tests: tuple[str, ...]
    minutes: float
    env: dict = field(default_factory=dict)
    # What it is about needs this version of Landlock's interface; elsewhere a machine lacks it, by name.
    needs_abi: int = 0
    lacks: str = ""
    # Whether the Debian package is brought along, and the agents that the documents show.
    package: bool = False
    agents: bool = False

    def job(self) -> dict:
        deselected = [word for name in LEFT_OUT for word in ("--deselect", name)]
        return {"name": self.name, "as": self.place, "seconds": self.minutes * 60, "env": self.env,
                "package": self.package, "agents": self.agents, "pytest": [*self.tests, *deselected]}


# Of one machine's kernel, in the words of gaps.py.
NO_SCOPES = gaps.NO_SCOPES
INITRAMFS = "tests/vm/suites/test_initramfs.py"

def attacks(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/attack/test_{name}.py" for name in names)


# How policies are read, what git does, and what Cordon makes of ordinary files when a run is over: no kernel
# answers differently there, so one person asks. The host's own suite asks as both.
OF_CORDON_ITSELF = attacks("pl", "held", "search", "kept_ways", "git_places", "git_day",
                           "protected_names", "two_runs", "followed_grants", "ways")
# The second half of the other attacks, by what they took on the slowest machine. The first half is all the
# others, so that a new file is in one of them.
SECOND_HALF = attacks("fs", "cr", "second_names", "appearing", "nt", "ip_sockets")

# Nearly all of it is git's own work: one way that arrives, one that does not, what is hostile, and a death.
STAGED_GIT = "tests/attack/test_staged_git.py"
OF_STAGED_GIT = tuple(f"{STAGED_GIT}::test_{name}" for name in (
    "a_commit_leaves_a_clean_status", "what_the_host_moved_is_merged_by_the_line_that_is_told",
    "a_hostile_repository_runs_nothing_and_lies_about_nothing", "the_control_of_those",
    "a_run_that_is_killed_while_it_applies_is_finished_by_the_next",
    "a_lock_of_the_hosts_git_does_not_stop_git_inside[user---stage=review]",
    "a_commit_that_arrives_meanwhile_is_not_undone_by_the_next"))

# What is run in one boot. The boots of a tier are made side by side: emulated, one machine is one core.
Boot = list[Suite]


def chosen(_: Machine) -> list[Boot]:
    names = tuple(name for group in CHOSEN.values() for name in group)
    few = {"CORDON_TEST_CGROUP_RUNS": "8"}
    # A quarter of a minute each, of what an emulator stretches most; the whole tier has them.
    slow = tuple(word for name in ("the_smallest_share_of_a_processor_is_one_the_kernel_takes",
                                   "reclaiming_at_the_bound_is_no_kill")
                 for word in ("--deselect", f"{GROUPS}::test_{name}"))
    return [[
        Suite("chosen", "root", (*names, INITRAMFS), 25, {"CORDON_TEST_FILTER": "few"}),
        Suite("groups-of-root", "root", (
            f"{GROUPS}::test_a_run_without_trouble_is_left_alone", f"{GROUPS}::test_memory_is_held_and_told",
            f"{GROUPS}::test_the_whole_group_is_ended", f"{GROUPS}::test_many_runs_leave_nothing",
            f"{GROUPS}::test_a_group_of_ones_own_that_holds_processes"), 10, few),
        Suite("delegated", "delegated", (GROUPS, *slow), 10, few),
    ]]


def whole(machine: Machine) -> list[Boot]:
    """Attacks as root and as a user, the contract once, and some of everything else."""
    once = {"CORDON_TEST_AS": "user"}
    # What no kernel and no architecture answers differently is asked on the machines of x86_64: emulated on the other
    # architecture a machine of aarch64 is the slower one, and has no more than 40 minutes either. What is not asked
    # leaves room in its second boot.
    asks_all = machine.processor == "x86_64"
    second = SECOND_HALF if asks_all else (*SECOND_HALF, *attacks("repository_above", "unseen_worktrees"))
    others = tuple(word for name in (*second, *OF_CORDON_ITSELF, STAGED_GIT)
                   for word in ("--ignore", name))
    first_boot = [
        Suite("attack", "root", ("tests/attack", *others), 33),
        Suite("groups-of-root", "root", (GROUPS, INITRAMFS), 7,
              {"CORDON_TEST_CGROUP_RUNS": "500" if asks_all else "100"}),
        Suite("delegated", "delegated", (
            GROUPS, "tests/attack/test_rs.py::test_R545_memory_bomb",
            "tests/attack/test_rs.py::test_R532_no_survivor_after_any_end",
            "tests/cli/test_run.py::test_cpus_are_enforced_or_refused"), 4),
        Suite("login", "login", (
            GROUPS, "tests/attack/test_rs.py::test_R545_memory_bomb",
            "tests/cli/test_run.py::test_cpus_are_enforced_or_refused"), 3),
        Suite("filter", "root", ("tests/filter",), 3, once),
        Suite("without-namespaces", "root", ("tests/landlock/test_runs.py",), 4, once, 6, NO_SCOPES),
    ]
    second_boot = [
        Suite("attack-second", "root", second, 32),
        Suite("contract", "root", ("tests/contract",), 10, once),
        Suite("awkward-hosts", "root", ("tests/cli/test_awkward_hosts.py", "tests/cli/test_death.py"), 5, once),
        Suite("doctor", "root", tuple(f"tests/cli/test_doctor.py::test_{name}" for name in (
            "this_host_can_contain", "every_trouble_has_a_next_line", "json", "host_without_user_namespaces_fails",
            "doctor_tells_one_cause_once")), 4, once),
        Suite("egress", "root", ("tests/egress/test_reach.py",), 4, once),
        Suite("audit", "root", ("tests/audit/test_runs.py",), 3, once),
        Suite("mcp", "root", tuple(f"tests/mcp/test_tools.py::test_{name}" for name in (
            "run_code_answers_as_documented", "what_lies_outside_cannot_be_probed",
            "a_ceiling_that_changes_counts_at_once", "writes_outside_change_nothing",
            "every_end_leaves_no_process", "over_http")), 3, once),
    ]
    if asks_all:
        first_boot.insert(1, Suite("commits-of-a-stage", "root", OF_STAGED_GIT, 8, once))
        second_boot.insert(1, Suite(
            "attack-once", "root", OF_CORDON_ITSELF, 20,
            {**once, "CORDON_GIT_DAY": "few", "CORDON_SEARCH_LEVELS": "1010", "CORDON_SEARCH_NAMES": "1100"}))
        # The other architecture's package is installed in trees of the host (tests/release).
        second_boot.append(Suite("package", "root", ("tests/vm/suites/test_package.py",), 4, package=True))
    return [first_boot, second_boot]


def documents(_: Machine) -> list[Boot]:
    """What the documents show, typed by somebody who has an account and nothing else."""
    return [[Suite("documents", "login", ("tests/docs/test_commands.py",), 40, agents=True)]]


TIERS = {"chosen": chosen, "whole": whole, "documents": documents}
# Whose accounts say what is proven on a machine.
PROVING = ("chosen", "whole")
# Where it is not a plain one.
SYSTEMS = {"documents": images.DEVELOPERS}
