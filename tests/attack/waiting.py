"""Cases of the eleven families that no test here can run, each with its reason.

WAITING holds those for later work, by subject. ELSEWHERE names the tests of other directories that
prove a case. NOT_ON_THIS_MACHINE is for another processor or kernel. test_catalogue.py
asserts the counts, so a case can neither be dropped silently nor stay here once its subject exists.
"""

import platform

PROCESSES = "rules for single programs inside: one policy holds for the whole sandbox"
COMMAND_TEXT = "judging the text of a command: nothing is, so nothing can be swapped after it"
EVENTS = ("an event for each refused open of any run: only one with --why is watched, and else the kernel tells its own "
          "audit alone; a file that the view hides is not there at all")
EXECUTABLE_MEMORY = "a policy option for memory that is never writable and executable"

WAITING = {
    "PR20": COMMAND_TEXT,
    "SY17": EXECUTABLE_MEMORY,
    "NT41": PROCESSES,
    "AU07": EVENTS,
}

# Case -> the tests that prove it: (file below the project, names of its tests)...
ELSEWHERE = {
    "SY15": (("src/sandbox/native/syscall_table_test.cc", "HoldsEachNumberOnceAndInNameOrder",
              "NeverAllowsWhatIsAlwaysRefused"),),
    "SY16": (("src/sandbox/native/bpf_assembler_test.cc", "AProgramLongerThanTheKernelTakesIsABug",
              "JumpsFartherThanEightBitsStillArrive", "AJumpOutOfTheProgramIsABug"),),
    "NT37": (("tests/cli/test_omitted_layers.py", "test_absent_layer_is_refused_in_network_mode_allow"),),
    "AU01": (("tests/audit/test_runs.py", "test_the_log_is_out_of_reach_from_inside"),),
    "AU02": (("tests/audit/test_tampering.py", "test_two_swapped_records", "test_a_removed_record",
              "test_an_edited_byte_of_any_field", "test_last_records_that_are_gone",
              "test_a_last_line_that_is_cut"),),
    "AU04": (("tests/audit/test_writers.py", "test_killed_writers_lose_nothing_they_were_told"),),
    "AU05": (("tests/audit/test_writers.py", "test_a_full_disk_refuses_and_leaves_a_log_that_holds",
              "test_a_read_only_directory_refuses"),),
    "AU06": (("tests/audit/test_writers.py", "test_a_clock_that_goes_back_stays_in_the_later_file"),),
    "AU10": (("tests/egress/test_chaos.py", "test_the_broker_survives_and_holds"),
             ("tests/egress/test_sockets.py", "test_bad_arguments_answer_as_the_kernel_does"),
             ("tests/egress/test_clients.py", "test_when_cordon_is_killed_mid_transfer_everything_stops"),
             ("tests/mcp/test_messages.py", "test_01_05_06_15_not_json", "test_12_many_faults_in_a_row"),
             ("src/egress/resolver_test.cc", "SurvivesWhateverIsSent")),
    "NT12": (("tests/gate/test_attacks.py", "test_requests_that_can_be_read_in_two_ways_end_at_the_gate",
              "test_only_the_rules_name_is_answered_for"),),
    "NT13": (("tests/gate/test_attacks.py", "test_only_the_rules_name_is_answered_for"),
             ("tests/egress/test_real_name.py", "test_what_does_not_fit_the_rule_is_refused_and_told")),
    "NT15": (("tests/gate/test_requests.py", "test_a_websocket_passes_where_a_rule_says_so"),),
    "NT16": (("tests/gate/test_requests.py", "test_a_websocket_passes_where_a_rule_says_so"),),
    "NT38": (("tests/gate/test_secrets.py", "test_a_placeholder_in_a_body_stays_one"),),
    "NT40": (("tests/egress/test_http_rules.py", "test_a_request_is_judged_and_sent",
              "test_a_ceiling_demands_requests_alone"),),
    "NT43": (("tests/gate/test_attacks.py", "test_only_the_rules_name_is_answered_for"),
             ("tests/gate/test_secrets.py", "test_no_other_process_of_the_user_reads_the_memory")),
    "NT46": (("tests/gate/test_attacks.py", "test_requests_that_can_be_read_in_two_ways_end_at_the_gate"),),
    "PL15": (("tests/cli/test_session.py", "test_a_ceiling_that_widens_counts_for_the_next_session_alone"),),
    "PL14": (("tests/mcp/test_tools.py", "test_paths_only_narrow"),),
    "TT05": (("tests/mcp/test_approval.py", "test_the_question_cannot_be_drawn_by_a_path"),),
    "TT06": (("tests/mcp/test_access.py", "test_neither_path_nor_reason_draws_another_dialog"),),
    "NT47": (("tests/mcp/test_access.py", "test_a_host_that_was_approved_can_be_reached",
              "test_it_ends_by_the_clock_and_takes_its_runs_along", "test_it_dies_with_the_server"),),
    "NT49": (("tests/mcp/test_access.py", "test_everything_else_is_a_no", "test_a_cancelled_question_is_a_no",
              "test_a_ceiling_that_cannot_be_read_stops_everything", "test_without_a_log_nothing_is_granted"),),
    "RS17": (("tests/mcp/test_access.py", "test_many_noes_end_the_asking"),),
    "PL04": (("tests/mcp/test_access.py", "test_beyond_the_table_nobody_is_asked",
              "test_a_deny_holds_although_the_approval_begins_below_it",
              "test_an_answer_is_good_for_its_question_alone"),),
    "CR07": (("tests/audit/test_runs.py", "test_nothing_of_a_run_is_kept_in_words"),),
    "CR10": (("tests/cli/test_agent_login.py", "test_CR10_what_a_plan_runs_has_no_credential"),),
}

NOT_ON_THIS_MACHINE = {}
if platform.machine() != "x86_64":
    NOT_ON_THIS_MACHINE["SY12"] = "x32 exists on x86_64 only; see KillsX32NumbersOnX86Alone"
