// What the audit log holds about one action: a Pending before anything happens, one Closing
// afterwards. docs/audit-format.md is the published description.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cordon/error.h"

namespace cordon::audit {

// Label: text that may stand in the audit log. Only a Redactor makes one, so that an argument, a
// path, a variable or a piece of content cannot reach the log by oversight: it does not compile.

class Label {
 public:
  Label() = default;  // nothing: written as null
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  auto operator<=>(const Label&) const = default;

 private:
  friend class Redactor;
  explicit Label(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

// Something that was asked for and not given.
struct ReductionMark {
  Label what;        // "read", "limits.wall"
  Label because;     // its code
  Label asked_hash;  // of what was asked for
};

struct CeilingMark {
  Label id;
  Label hash;  // of its content: tells one version from the next
};

// A request that a run sends to a host which is reached by requests alone.
struct RequestMark {
  Label rule;       // that decided, in the policy's words
  Label method;     // as it is, or a hash
  Label path_hash;  // without the query
  Label secret;     // the name of the one that is added; nothing: none is
  Label run;        // the event id of the run
};

// What is about to be done.
struct Pending {
  Label action;    // "run"
  Label resource;  // what it is done to
  Label tool;      // the MCP tool, if one asked
  Label tool_call_id;
  Label session;       // that it happens in
  Label agent;         // that the session was started for
  Label conversation;  // likewise
  Label backend;
  std::vector<CeilingMark> ceilings;
  Label policy;
  Label policy_hash;
  std::vector<Label> read;
  std::vector<Label> write;
  Label net;
  Label cwd;
  Label argv_hash;
  std::uint64_t argc = 0;
  std::optional<std::uint64_t> timeout_ms;
  std::vector<Label> approvals;  // of a person, that it makes use of
  std::vector<ReductionMark> reductions;
  std::optional<RequestMark> request;  // of the action "request" alone
};

// Actions of runs that Cordon starts for itself: the checks of `cordon doctor`, and git on the
// commits of a stage. They are recorded as every run is; no person asked for the command in them.
inline constexpr std::array<std::string_view, 2> kOwnActions{"doctor", "git"};

inline bool is_own_action(std::string_view action) {
  return std::ranges::find(kOwnActions, action) != kOwnActions.end();
}

// How it ended. Success alone has the outcome `success`; every other one is a `failure`, and its
// name is the reason.
enum class Ending {
  Success,
  Exit,       // a status other than zero
  Signal,     // a signal that Cordon did not send
  Limit,      // killed at a bound other than the wall clock
  Timeout,    // killed at the wall clock
  Cancelled,  // ended by the caller
  Denied,     // outside of what the operator permits
  Refused,    // Cordon refused or failed before anything started
  Crash,      // nobody lived to record the end; closed by recovery
};

struct DenialMark {
  Label what;
  Label layer;
  Label detail_hash;
  std::uint64_t count = 1;
  Label rule = {};  // that decided, in the policy's words; nothing for a limit
};

// A destination that was tried in network mode allow.
struct ConnectionMark {
  Label destination_hash;  // of "HOST:PORT" as the report names it, by name where it has one
  Label address;           // only of what was allowed: else the contained code chose it
  std::optional<std::uint64_t> port;  // absent for a local socket
  Label rule;                         // that decided, in the policy's words
  bool allowed = false;
  std::uint64_t count = 1;
  std::optional<std::uint64_t> sent;  // bytes; absent: nobody could tell
  std::optional<std::uint64_t> received;
};

// A port of the host's loopback that led to a server inside.
struct PublishedMark {
  std::uint64_t host_port = 0;
  std::uint64_t connections = 0;
  std::uint64_t sent = 0;  // bytes that came out
  std::uint64_t received = 0;
};

// What became of a request.
struct AnswerMark {
  std::uint64_t status = 0;  // of HTTP; zero: there was no answer
  std::uint64_t sent = 0;    // bytes
  std::uint64_t received = 0;
};

struct Closing {
  Ending ending = Ending::Crash;
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::optional<std::uint64_t> duration_ms;
  std::optional<std::uint64_t> stdout_bytes;  // absent: not captured
  std::optional<std::uint64_t> stderr_bytes;
  bool truncated = false;
  std::vector<DenialMark> denials;
  std::vector<ConnectionMark> connections;
  std::vector<PublishedMark> published;
  std::optional<AnswerMark> answer;  // of the action "request" alone
  std::uint64_t handoffs = 0;
  // What became of what it wrote, where that is not simply there.
  std::uint64_t held = 0;       // back, for a person
  std::uint64_t lost = 0;       // with the private places
  std::uint64_t conflicts = 0;  // with what the host changed
  std::optional<ErrorKind> error_kind;
};

// Proof that a pending record is durable; needed to close it.
struct Receipt {
  std::string event_id;
  std::uint64_t seq = 0;
  std::size_t slot = 0;  // where the table of open actions keeps it
  std::string action;    // as the pending record has them
  std::string resource;
};

enum class Phase { Pending, Closing, Note };  // Note: the log about itself

std::string_view name_of(Phase phase);
std::optional<Phase> phase_named(std::string_view name);
std::string_view outcome_of(Ending ending);                // "success" or "failure"
std::optional<std::string_view> reason_of(Ending ending);  // nothing for Success
std::optional<Ending> ending_with_reason(std::string_view reason);

// "audit: run @home/#0f3c... → failure (timeout)", for standard error.
std::string line_for_people(const Pending& pending);
std::string line_for_people(const Pending& pending, const Closing& closing);
std::string line_for_people(const Receipt& receipt, const Closing& closing);

Error audit_error(std::string what, int error_number, std::string hint = {});

// Texts in files of fixed layout: what is left of a field is zero bytes.

template <std::size_t N>
std::string text_in(const std::array<char, N>& field) {
  return {field.begin(), std::ranges::find(field, '\0')};
}

// Moments in UTC, to the microsecond, as the log writes them: "2026-11-15T05:58:18.123456Z".

inline constexpr std::int64_t kDayUs = std::int64_t{86'400} * 1'000'000;
inline constexpr std::size_t kDayLength = 10;  // of "2026-11-15"

struct Clock {
  // Microseconds since 1970 in UTC, which may jump, and milliseconds since the start of the host,
  // which may not.
  std::int64_t (*wall_us)();
  std::uint64_t (*boot_ms)();
};
Clock system_clock();

std::string format_moment(std::int64_t wall_us);
std::optional<std::int64_t> parse_moment(std::string_view text);  // exactly that form

// "2026-11-15"; days order as their texts do.
std::string day_of(std::int64_t wall_us);
// The first microsecond of a day; nothing if there is no such day.
std::optional<std::int64_t> start_of_day(std::string_view day);

}  // namespace cordon::audit
