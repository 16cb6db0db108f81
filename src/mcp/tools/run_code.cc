#include "host/resolve.h"
#include "mcp/tools/answer.h"
#include "mcp/tools/tools.h"

namespace cordon::mcp {
namespace {

std::optional<std::vector<std::string>> paths(const Node& arguments, const char* name) {
  const Node* list = arguments.find(name);
  return list != nullptr ? std::optional(texts_of(list)) : std::nullopt;
}

RunWish wish_of(const Node& arguments) {
  RunWish wish{paths(arguments, "readonly_paths"), paths(arguments, "readwrite_paths"), {}};
  if (const Node* timeout = arguments.find("timeout_ms")) {
    if (const auto* number = std::get_if<std::int64_t>(&timeout->value)) {
      wish.timeout_ms = static_cast<std::uint64_t>(*number);
    }
  }
  return wish;
}

bool holds_nul(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.find('\0') != std::string::npos) return true;
  }
  return false;
}

// What cannot be named would refuse the whole run; say which one it was.
std::optional<std::string> unnameable(const std::optional<std::vector<std::string>>& paths,
                                      const char* name, const Caller& caller) {
  if (!paths) return std::nullopt;
  for (std::size_t i = 0; i < paths->size(); ++i) {
    Policy alone;
    const std::string& path = (*paths)[i];
    (std::string_view(name) == "readonly_paths" ? alone.fs.read
                                                : alone.fs.write) = {{path, caller.cwd}};
    if (!resolve(alone, caller)) {
      return std::string(name) + "[" + std::to_string(i) +
             "] cannot be granted: it cannot be resolved, or it is too wide (the root, a whole "
             "home)";
    }
  }
  return std::nullopt;
}

// The paths without those that would step round what is held; these are listed.
std::optional<std::vector<std::string>> unshielded(
    const std::optional<std::vector<std::string>>& paths, Wish wish, const Bounds& bounds,
    NodeList& shielded) {
  if (!paths) return std::nullopt;
  std::vector<std::string> kept;
  for (const std::string& path : *paths) {
    const auto place = canonicalize(path, bounds.caller.cwd, bounds.caller);
    const Shield shield = place ? shield_of(bounds, place->path, wish) : Shield::None;
    if (shield == Shield::None) {
      kept.push_back(path);
    } else {
      shielded.push_back(not_granted_entry(wish == Wish::Write ? "write" : "read", path,
                                           shield == Shield::Protected
                                               ? "protected: tools and agents load it"
                                               : "outside the operator's allowed paths"));
    }
  }
  return kept;
}

}  // namespace

ToolResult run_code(Toolbox& toolbox, const Call& call) {
  const std::string tool = "run_code";
  const auto caller = identify_caller();
  if (!caller) return answer_fault(fault_of(caller.error()), std::nullopt);
  const RunWish wish = wish_of(call.arguments());
  const std::vector<std::string> argv = texts_of(call.arguments().find("argv"));
  const auto refuse = [&](const Error& error, const ToolFault& fault) {
    return answer_fault(fault, toolbox.refuse(*caller, call, tool, error));
  };
  const auto bounds = toolbox.bounds(*caller);
  if (!bounds) return refuse(bounds.error(), fault_of(bounds.error()));
  std::optional<std::string> bad;
  if (argv.empty() || argv.front().empty()) bad = "argv[0] is empty";
  if (holds_nul(argv)) bad = "argv holds a NUL character";
  if (!bad) bad = unnameable(wish.read, "readonly_paths", *caller);
  if (!bad) bad = unnameable(wish.write, "readwrite_paths", *caller);
  if (bad) return refuse(usage_error(*bad), bad_arguments(*bad));

  NodeList shielded;
  const RunWish named{unshielded(wish.read, Wish::Read, *bounds, shielded),
                      unshielded(wish.write, Wish::Write, *bounds, shielded), wish.timeout_ms};
  RunInput input = toolbox.input(*bounds, call, tool);
  input.argv = argv;
  input.policy = run_policy(*bounds, named);
  const Report report = run_contained(input, *caller);
  if (!report.error) return answer_run(report, named, std::move(shielded), *bounds, toolbox.mask());
  toolbox.tell_operator(tool, *report.error);
  const std::optional<int> status = report.error->kind == ErrorKind::Command
                                        ? std::optional(report.error->exit_status)
                                        : std::nullopt;
  return answer_fault(fault_of(*report.error),
                      report.audit ? std::optional(report.audit->event_id) : std::nullopt, status);
}

}  // namespace cordon::mcp
