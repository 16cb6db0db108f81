#include "faces/mcp/full/own_records.h"

#include <sys/stat.h>

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include "audit/files.h"
#include "base/private_directory.h"
#include "faces/mcp/call.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kMostNoted = 64;
constexpr std::size_t kMostDays = 2;
constexpr std::uint64_t kLookedAt = std::uint64_t{1} << 20U;  // of each day's end
constexpr std::array<std::string_view, 8> kShown{"timestamp", "event_id", "action",   "phase",
                                                 "outcome",   "reason",   "resource", "seq"};

Node shown_record(const Node& record) {
  Node node{NodeMap{}};
  for (const std::string_view name : kShown) {
    if (const Node* member = record.find(name)) node.set(std::string(name), *member);
  }
  return node;
}

Result<void> read_day(int directory, const std::string& day, const std::deque<std::string>& ids,
                      NodeList& records) {
  const Fd file(
      ::openat(directory, audit::file_of_day(day).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) < 0) {
    return fail(audit::audit_error("cannot read the log", errno));
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  audit::LineReader reader(file.get(), size > kLookedAt ? size - kLookedAt : 0, size);
  audit::Line line;
  for (;;) {
    CORDON_TRY(more, reader.next(line));
    if (!more) return {};
    if (!line.complete || line.overlong) continue;
    // A first line that is cut in two is no document.
    const auto record = read_json(line.text, "record");
    const std::string* id = record ? text_member(*record, "event_id") : nullptr;
    if (id != nullptr && std::ranges::find(ids, *id) != ids.end()) {
      records.push_back(shown_record(*record));
    }
  }
}

}  // namespace

void OwnRecords::note(const std::string& event_id) {
  const std::lock_guard lock(mutex_);
  ids_.push_back(event_id);
  if (ids_.size() > kMostNoted) ids_.pop_front();
}

Result<NodeList> OwnRecords::read(const audit::Place& place) const {
  std::deque<std::string> ids;
  {
    const std::lock_guard lock(mutex_);
    ids = ids_;
  }
  CORDON_TRY(directory, open_private_directory(place.directory));
  CORDON_TRY(days, audit::list_days(directory.get()));
  if (days.size() > kMostDays) days.erase(days.begin(), days.end() - kMostDays);
  NodeList records;
  for (const std::string& day : days) CORDON_CHECK(read_day(directory.get(), day, ids, records));
  return records;
}

namespace {

constexpr std::size_t kMostVerdicts = 64;
constexpr std::array<std::string_view, 3> kIds{"audit_id", "run_id", "process_id"};
// Words of Cordon's own; everything else in an answer may have been written by somebody else.
constexpr std::array<std::string_view, 14> kOwnWords{"error",
                                                     "message",
                                                     "help",
                                                     "type",
                                                     "not_granted",
                                                     "denials",
                                                     "kill_reason",
                                                     "timed_out",
                                                     "exit_code",
                                                     "signal",
                                                     "protected_files_moved_away",
                                                     "changes_held_back",
                                                     "state",
                                                     "success"};

bool has_entries(const Node& node, std::string_view name) {
  const Node* member = node.find(name);
  return member != nullptr && member->list() != nullptr && !member->list()->empty();
}

struct Cause {
  std::string_view stopped_by;
  std::string_view cure;
};

NodeList reasons_in(const NodeList& hints) {
  std::set<std::string> reasons;
  for (const Node& hint : hints) {
    if (const std::string* reason = text_member(hint, "reason")) reasons.insert(*reason);
  }
  return NodeList(reasons.begin(), reasons.end());
}

// Null: it has none.
const NodeList* entries_of(const Node& node, std::string_view name) {
  const Node* member = node.find(name);
  const NodeList* entries = member != nullptr ? member->list() : nullptr;
  return entries != nullptr && !entries->empty() ? entries : nullptr;
}

// "read" or "write" is held by what the sandbox shows, "connect" by the broker, "call" by the
// filter.
std::string_view layer_of_hints(const NodeList& hints) {
  const auto all_ask = [&](std::string_view for_what) {
    return std::ranges::all_of(hints, [&](const Node& hint) {
      const std::string* access = text_member(hint, "access");
      return access != nullptr && *access == for_what;
    });
  };
  if (all_ask("call")) return "seccomp";
  return all_ask("connect") ? "broker" : "mounts";
}

// What refused it: the layer of a limit or a filter, "mounts" or "broker"; "policy" if nothing was
// started with it; "person", "clock". Empty: nothing that Cordon knows of.
std::string layer_of(const Node& answer) {
  const std::string* type = text_member(answer, "type");
  if (type != nullptr && *type == "NotApproved") return "person";
  if (type != nullptr && *type == "SandboxTimeoutError") return "clock";
  if (const NodeList* denials = entries_of(answer, "denials")) {
    const std::string* layer = text_member(denials->front(), "layer");
    if (layer != nullptr) return *layer;
  }
  if (entries_of(answer, "not_granted") != nullptr) return "policy";
  if (const NodeList* hints = entries_of(answer, "hints")) {
    return std::string(layer_of_hints(*hints));
  }
  if (type != nullptr && *type == "SandboxDeniedError") {
    return answer.find("enforcement") != nullptr ? "mounts" : "policy";
  }
  // A program whose path nothing grants; of any other it is not known why it is not there.
  const std::string* message = text_member(answer, "message");
  if (message != nullptr && message->starts_with("argv[0]: ")) return "mounts";
  return {};
}

// The broker refuses what is not granted, and what is more than a limit permits.
bool has_refused_connections(const Node& told) {
  const NodeList* denials = entries_of(told, "denials");
  return denials != nullptr && std::ranges::any_of(*denials, [](const Node& denial) {
           const std::string* layer = text_member(denial, "layer");
           const std::string* rule = text_member(denial, "rule");
           return layer != nullptr && *layer == "broker" &&
                  (rule == nullptr || !rule->starts_with("limits."));
         });
}

Cause cause_of(const Node& told) {
  const std::string* type = text_member(told, "type");
  const std::string_view name = type != nullptr ? std::string_view(*type) : std::string_view();
  if (name == "SandboxDeniedError") {
    return {
        "the operator's ceiling, or a rule of Cordon's own that no ceiling lifts; message says "
        "which. The sandbox was built without that access, and the kernel refused it (mount view "
        "and Landlock)",
        "Neither narrowing nor asking again helps. Tell the user what you needed it for."};
  }
  if (name == "NotApproved") {
    return {"a person, or that there was none to be asked: the operator lets it be asked for",
            "Do not ask again. Go on without it, or tell the user what you needed it for."};
  }
  if (name == "SandboxTimeoutError" || flag_member(told, "timed_out")) {
    return {"the wall clock",
            "Give it less to do, or start_process for what takes long. Past the operator's bound "
            "nothing helps."};
  }
  if (name == "InvalidArguments" || name == "StaleFile") {
    return {"nothing: the call itself could not be carried out as it was",
            "Fix the call as the message says."};
  }
  if (name == "SandboxExecutionError" && number_member(told, "exit_code")) {
    return {"perhaps the policy: the program is not there inside, or cannot be executed there",
            "Name a program that is there."};
  }
  if (!name.empty()) {
    return {"Cordon, before anything was started",
            "Tell the user; the operator has to look at it."};
  }
  if (has_entries(told, "not_granted")) {
    return {
        "the clamp, before the command began: what was named is not within the ceiling, and the "
        "command ran without it",
        "Leave out what was not granted. Only the operator can allow more."};
  }
  if (told.find("hints") != nullptr) {
    return {
        "perhaps the policy: the command failed, and names what is outside what is granted. \"Not "
        "found\" inside says nothing about what exists there",
        "Do it with what is granted, or tell the user what you needed it for."};
  }
  if (told.find("changes_held_back") != nullptr) {
    return {
        "the policy, after the command had ended: the project keeps its own version of protected "
        "files, which tools and agents load",
        "Tell the user: cordon changes list shows what was held back."};
  }
  if (has_refused_connections(told)) {
    return {
        "the operator's policy, while it ran: it asked for a host or a socket that is not granted, "
        "which is policy and not absence; denials has each with its layer",
        "Do it without, or tell the user what you needed it for."};
  }
  if (has_entries(told, "denials")) {
    return {"a limit or a filter while it ran; each entry of denials names the layer",
            "Stay below the limit: fewer processes, less memory, less output."};
  }
  if (text_member(told, "kill_reason") != nullptr) {
    return {"a kill: see kill_reason", "stop_process, a cancelled call and a limit all kill."};
  }
  return {
      "nothing that Cordon knows of",
      "\"Operation not permitted\" for mounts, namespaces, tracing or raw sockets is the filter of "
      "system calls, which nothing lifts and nobody counts. Else a program that failed did so by "
      "itself. What lies outside of the allowed paths looks as if it were not there."};
}

}  // namespace

Verdict verdict_from(const std::string& tool, const Node& answer) {
  Verdict verdict{tool, Node(NodeMap{}), {}};
  for (const std::string_view name : kIds) {
    if (const Node* member = answer.find(name)) verdict.told.set(std::string(name), *member);
  }
  for (const std::string_view name : kOwnWords) {
    if (const Node* member = answer.find(name)) verdict.told.set(std::string(name), *member);
  }
  // How many, and why: the program may have written what they name.
  if (has_entries(answer, "hints")) {
    const NodeList& hints = *answer.find("hints")->list();
    verdict.told.set("hints", hints.size()).set("reasons", reasons_in(hints));
  }
  verdict.layer = layer_of(answer);
  return verdict;
}

void Verdicts::note(const std::string& tool, const Node& answer) {
  const bool worth = answer.find("error") != nullptr || has_entries(answer, "not_granted") ||
                     has_entries(answer, "denials") || has_entries(answer, "hints") ||
                     answer.find("kill_reason") != nullptr ||
                     answer.find("changes_held_back") != nullptr;
  if (!worth) return;
  const std::lock_guard lock(mutex_);
  verdicts_.push_back(verdict_from(tool, answer));
  if (verdicts_.size() > kMostVerdicts) verdicts_.pop_front();
}

std::optional<Verdict> Verdicts::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto is_it = [&](const Verdict& verdict) {
    return std::ranges::any_of(kIds, [&](std::string_view name) {
      const std::string* text = text_member(verdict.told, name);
      return text != nullptr && *text == id;
    });
  };
  const auto found = std::find_if(verdicts_.rbegin(), verdicts_.rend(), is_it);
  return found != verdicts_.rend() ? std::optional(*found) : std::nullopt;
}

Node explained(const Verdict& verdict) {
  const Cause cause = cause_of(verdict.told);
  Node node{NodeMap{}};
  // What the answer itself advised is about this very call.
  const std::string* advised = text_member(verdict.told, "help");
  node.set("tool", verdict.tool)
      .set("stopped_by", cause.stopped_by)
      .set("what_helps", advised != nullptr ? std::string_view(*advised) : cause.cure);
  node.set("layer", verdict.layer.empty() ? Node() : Node(verdict.layer));
  node.set("asking_again_helps", false);
  node.set("told", verdict.told);
  return node;
}

}  // namespace cordon::mcp
