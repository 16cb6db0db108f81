// One entry point for each verb. Each is given the arguments behind its name and answers with the
// exit status of the process.
#pragma once

#include <span>

#include "faces/cli/arguments.h"

namespace cordon {

int command_line(std::span<const char* const> words);  // without argv[0]

int verb_run(const Arguments& arguments);
int verb_doctor(const Arguments& arguments);
int verb_help(const Arguments& arguments);
int verb_policy_show(const Arguments& arguments);
int verb_policy_check(const Arguments& arguments);
int verb_policy_clamp(const Arguments& arguments);
int verb_policy_explain(const Arguments& arguments);
int verb_policy_convert(const Arguments& arguments);
int verb_policy_schema(const Arguments& arguments);
int verb_audit_list(const Arguments& arguments);
int verb_audit_show(const Arguments& arguments);
int verb_audit_tail(const Arguments& arguments);
int verb_audit_stats(const Arguments& arguments);
int verb_audit_verify(const Arguments& arguments);
int verb_audit_export(const Arguments& arguments);
int verb_audit_prune(const Arguments& arguments);
int verb_audit_ship(const Arguments& arguments);
int fleet_list(const Arguments& arguments);  // audit list --from
int fleet_stats(const Arguments& arguments);
int fleet_verify(const Arguments& arguments);
int fleet_export(const Arguments& arguments);
int verb_fleet_submit(const Arguments& arguments);
int verb_fleet_status(const Arguments& arguments);
int verb_fleet_collect(const Arguments& arguments);
int verb_fleet_cancel(const Arguments& arguments);
int verb_fleet_report(const Arguments& arguments);
int verb_changes_list(const Arguments& arguments);
int verb_changes_show(const Arguments& arguments);
int verb_changes_diff(const Arguments& arguments);
int verb_changes_apply(const Arguments& arguments);
int verb_changes_discard(const Arguments& arguments);
int verb_changes_restore(const Arguments& arguments);
int verb_session_start(const Arguments& arguments);
int verb_session_exec(const Arguments& arguments);
int verb_session_list(const Arguments& arguments);
int verb_session_show(const Arguments& arguments);
int verb_session_stop(const Arguments& arguments);
int verb_completion(const Arguments& arguments);
int verb_export_oci(const Arguments& arguments);
int verb_export_kube(const Arguments& arguments);
int verb_export_slurm(const Arguments& arguments);
int verb_oci(const Arguments& arguments);
int verb_learn(const Arguments& arguments);
int verb_why(const Arguments& arguments);
int verb_hook_claude(const Arguments& arguments);
int verb_hook_codex(const Arguments& arguments);
int verb_hook_copilot(const Arguments& arguments);
int verb_hook_gemini(const Arguments& arguments);
int verb_mcp(const Arguments& arguments);
int verb_loop(const Arguments& arguments);
int print_host_config(const Arguments& arguments);  // mcp --print-config
int print_for_apply(const Arguments& arguments);    // apply --print-…
int doctor_host(const Arguments& arguments);        // doctor --host
int doctor_kube(const Arguments& arguments);        // doctor --kube
int verb_setup(const Arguments& arguments);
int verb_demo(const Arguments& arguments);
int verb_srt(const Arguments& arguments);
int verb_mxc(std::span<const char* const> words);  // its options may stand behind the operand

// What `--version`, and `--version --verbose`, print.
std::string version_line();
std::string version_details();

// The report of a run whose command line was not understood, for --json.
void answer_refusal(const Error& error);

inline constexpr int kAnswerYes = 0;
inline constexpr int kAnswerNo = 1;
inline constexpr int kAnswerError = 2;

}  // namespace cordon
