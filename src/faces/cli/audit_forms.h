// Actions in the forms of other programs. Each form is one table.
#pragma once

#include <functional>
#include <string>

#include "audit/index.h"
#include "faces/cli/arguments.h"
#include "policy/host_facts.h"

namespace cordon {

// What the verbs of `cordon audit` share: where the log lies, which actions are wanted, and how an
// action looks to a person.

struct AuditPlace {
  Caller caller;
  audit::Place place;
};
// Tidies up after dead runs, as every start does.
Result<AuditPlace> audit_place();
// True if the error means that there is no log yet.
bool is_no_log(const Error& error);

// The filter flags. A path is turned into its label with the key of the log.
Result<audit::Filter> audit_filter(const Arguments& arguments, const AuditPlace& where);
// "2h", "7d", "2026-11-15", "2026-11-15T08:30:00Z", in microseconds since 1970.
enum class DayEdge { First, Behind };
std::optional<std::int64_t> parse_when(std::string_view text, std::int64_t now_us, DayEdge edge);

// Shows on a terminal how far a long reading is.
audit::Progress audit_progress(std::string_view what);

// Prints an error and answers with the exit status: 1 if there is no log, else 2.
int audit_failure_status(const Error& error);

std::string outcome_text(const audit::Event& event);  // "success", "timeout", "exit 3"
std::string what_text(const audit::Event& event);     // "run_code", "run"
Node event_node(const audit::Event& event);

std::string csv_header();
std::string csv_row(const audit::Event& event);  // RFC 4180, with its line end
// OCSF 1.4, class Process Activity (1007), activity Launch. `host` names the device.
Node ocsf_event(const audit::Event& event, const std::string& host);

}  // namespace cordon
