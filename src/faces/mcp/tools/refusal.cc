#include "faces/mcp/tools/refusal.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/path.h"
#include "host/credentials.h"
#include "policy/decide.h"

namespace cordon::mcp {
namespace {

bool is_hidden(const std::string& path, const Caller& caller) {
  if (is_in_store(path, caller) || !machine_secret(path).empty()) return true;
  const std::array<const std::string*, 3> own{&caller.config_directory, &caller.state_directory,
                                              &caller.runtime_directory};
  return std::ranges::any_of(own, [&](const std::string* directory) {
    return !directory->empty() && contains(*directory, path);
  });
}

// By which line of the ceiling the operator changes it; empty: by none.
std::string_view line_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::Outside:
      return "a path by adding it to [fs] read or write of the ceiling";
    case Refusal::ReadOnly:
      return "writing by adding the path to [fs] write of the ceiling";
    case Refusal::Denied:
      return "a denied name by taking it out of [fs] deny of the ceiling";
    case Refusal::Host:
      return "a host by [net] mode and allow of the ceiling";
    case Refusal::Socket:
      return "a socket by adding it to [net] sockets of the ceiling";
    case Refusal::Variable:
      return "a variable by adding it to [env] pass of the ceiling";
    case Refusal::Narrowed:
    case Refusal::Hidden:
    case Refusal::Protected:
    case Refusal::System:
    case Refusal::Call:
      break;
  }
  return {};
}

bool holds(std::span<const Refusal> refusals, Refusal refusal) {
  return std::ranges::find(refusals, refusal) != refusals.end();
}

std::vector<std::string_view> lines_of(std::span<const Refusal> refusals) {
  std::vector<std::string_view> lines;
  for (const Refusal refusal : refusals) {
    const std::string_view line = line_of(refusal);
    if (!line.empty() && std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
  }
  return lines;
}

}  // namespace

Refusal refusal_of(const CallCeilings& bounds, const std::string& path, RequestedAccess wish) {
  if (is_hidden(path, bounds.caller)) return Refusal::Hidden;
  const ProtectionBound bound = protection_bound_of(bounds, path, wish);
  if (bound == ProtectionBound::Denied) return Refusal::Denied;
  if (wish == RequestedAccess::Write && is_system_place(path)) return Refusal::System;
  if (wish == RequestedAccess::Write && permitted(bounds, path, RequestedAccess::Read)) {
    return Refusal::ReadOnly;
  }
  return Refusal::Outside;
}

Refusal refusal_of(const CallCeilings& bounds, const Hint& hint) {
  switch (hint.kind) {
    case HintRule::Network:
      return Refusal::Host;
    case HintRule::Denied:
      return Refusal::Denied;
    case HintRule::Protected:
      return Refusal::Protected;
    case HintRule::System:
      return Refusal::System;
    case HintRule::Call:
      return Refusal::Call;
    case HintRule::ReadOnly:
      return permitted(bounds, hint.path, RequestedAccess::Write) ? Refusal::Narrowed
                                                                  : Refusal::ReadOnly;
    // What is masked is there, by a deny or as a store: told is what its name alone would tell.
    case HintRule::Hidden:
    case HintRule::Absent:
      break;
  }
  if (is_hidden(hint.path, bounds.caller)) return Refusal::Hidden;
  const bool denied =
      protection_bound_of(bounds, hint.path, RequestedAccess::Read) == ProtectionBound::Denied;
  return denied ? Refusal::Denied : Refusal::Outside;
}

std::optional<Refusal> refusal_of(const Denial& denial) {
  if (denial.layer != "broker" || denial.rule.starts_with("limits.")) return std::nullopt;
  if (denial.what == "resolve") return Refusal::Host;
  // Datagrams reach no host, whatever is granted, and say so.
  if (denial.what != "connect") return std::nullopt;
  return denial.rule == "net.sockets" ? Refusal::Socket : Refusal::Host;
}

std::string_view reason_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::Outside:
      return "outside what is granted: that it is not found inside says nothing about whether it "
             "is "
             "there";
    case Refusal::ReadOnly:
      return "granted for reading alone";
    case Refusal::Narrowed:
      return "this call asked for less than it may have: readonly_paths, or other paths alone";
    case Refusal::Denied:
      return "denied by the operator, whatever else is granted";
    case Refusal::Hidden:
      return "a place of credentials, or of Cordon's own: nothing grants it";
    case Refusal::Protected:
      return "a protected file: tools and agents load it, so the host keeps its own version";
    case Refusal::System:
      return "a part of the system, which no command changes from inside";
    case Refusal::Call:
      return "a system call that the filter refuses in every sandbox: nothing grants it";
    case Refusal::Host:
      return "not among the hosts that are granted";
    case Refusal::Socket:
      return "not among the sockets of the host that are granted";
    case Refusal::Variable:
      return "not among the variables the operator lets a call set";
  }
  return {};
}

std::string help_for(const CallCeilings& bounds, std::span<const Refusal> refusals) {
  std::string help;
  const auto add = [&](std::string_view sentence) {
    if (!help.empty()) help += ' ';
    help += sentence;
  };
  if (holds(refusals, Refusal::Narrowed)) {
    add("Name the path in readwrite_paths, or leave both lists of paths out, and call again.");
  }
  if (holds(refusals, Refusal::Hidden)) {
    add("Go on without it, or tell the user what you needed it for: nothing can grant it.");
  }
  if (holds(refusals, Refusal::System)) {
    add("Write into the workspace instead, or tell the user what you needed it for: a person "
        "changes "
        "the system, outside of the sandbox.");
  }
  if (holds(refusals, Refusal::Call)) {
    add("Do it without that call: for messages between processes SOCK_SEQPACKET works; a program "
        "with LeakSanitizer runs as env ASAN_OPTIONS=detect_leaks=0 CMD; a setuid or setgid bit is "
        "set, and a program traced, by a person, outside.");
  }
  if (holds(refusals, Refusal::Protected)) {
    add("Tell the user: a person can edit it; cordon changes list shows what a run made of it.");
  }
  const std::vector<std::string_view> lines = lines_of(refusals);
  if (lines.empty()) return help;
  const bool only_paths = !holds(refusals, Refusal::Host) && !holds(refusals, Refusal::Variable) &&
                          !holds(refusals, Refusal::Socket);
  add("Tell the user that this is outside ");
  help += only_paths ? "the operator's allowed paths" : "what the operator allows";
  help += ". Asking again, or in another way, will not help: only the operator can change it, ";
  if (!bounds.set_by_operator) {
    return help + "by writing a ceiling; there is none, so nothing is permitted.";
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) help += ", ";
    help += lines[i];
  }
  help += '.';
  const bool can_be_asked_for = holds(refusals, Refusal::Outside) ||
                                holds(refusals, Refusal::ReadOnly) ||
                                holds(refusals, Refusal::Host);
  if (bounds.can_ask && can_be_asked_for) {
    help += " Some of it the user can approve for a while: request_access asks them.";
  }
  return help;
}

}  // namespace cordon::mcp
