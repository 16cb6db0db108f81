"""Cases of the ten families that no test here can run, each with its reason.

WAITING holds those for later work, by subject. ELSEWHERE names the test that covers a case which
has no outside view. NOT_ON_THIS_MACHINE is for another processor or kernel. The counts are
asserted, so a case can neither be dropped silently nor stay here once its subject exists.
"""

import platform

REQUESTS = ("a proxy that reads requests: the broker hands over connected sockets and sees no byte, so "
            "there is no header, path or credential to judge")
PROCESSES = "rules for single programs inside: one policy holds for the whole sandbox"
APPROVALS = "approvals: nothing is asked and no command text is judged before them"
SESSIONS = "sessions and attaching to them"
MCP = "the MCP server"
AGENTS = "the agent loop and hooks, which start helpers"
EXECUTABLE_MEMORY = "a policy option for memory that is never writable and executable"

WAITING = {
    "PR20": APPROVALS,
    "PR29": SESSIONS,
    "SY17": EXECUTABLE_MEMORY,
    "IP19": SESSIONS,
    "CR10": AGENTS,
    "TT05": APPROVALS,
    "TT06": APPROVALS,
    "RS17": APPROVALS,
    "PL04": APPROVALS,
    "PL14": MCP,
    "PL15": SESSIONS,
    "NT12": REQUESTS,
    "NT13": REQUESTS,
    "NT15": REQUESTS,
    "NT16": REQUESTS,
    "NT38": REQUESTS,
    "NT40": REQUESTS,
    "NT41": PROCESSES,
    "NT43": REQUESTS,
    "NT46": REQUESTS,
    "NT47": APPROVALS,
    "NT49": APPROVALS,
}

# Case -> (file below the project, text that must be in it).
ELSEWHERE = {
    "SY15": ("src/backend/native/syscall_table_test.cc", "NeverAllowsWhatIsAlwaysRefused"),
    "SY16": ("src/backend/native/bpf_assembler_test.cc", "AProgramLongerThanTheKernelTakesIsABug"),
    "RS20": ("tests/fault", ""),
    "NT37": ("tests/cli/test_sabotage.py", '"broker"'),
    "CR07": ("tests/audit/test_runs.py", "test_nothing_of_a_run_is_kept_in_words"),
}

NOT_ON_THIS_MACHINE = {"FS27": "no filesystem of the test kernel folds case"}
if platform.machine() != "x86_64":
    NOT_ON_THIS_MACHINE["SY12"] = "x32 exists on x86_64 only; see KillsX32NumbersOnX86Alone"

WAITING_COUNT = 22
ELSEWHERE_COUNT = 5
NOT_ON_THIS_MACHINE_COUNT = 1 if platform.machine() == "x86_64" else 2
# Calls of `denied` in this directory that give a reason in place of a control.
UNCONTROLLED_COUNT = 8
