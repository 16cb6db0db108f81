#include "faces/mcp/tools/run_request.h"

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/path.h"
#include "base/text.h"
#include "faces/mcp/call.h"
#include "faces/mcp/tools/answer.h"
#include "faces/mcp/tools/guidance.h"
#include "faces/mcp/tools/output_progress.h"
#include "faces/mcp/tools/run_answer.h"
#include "faces/mcp/tools/tools.h"
#include "host/resolve.h"
#include "host/writable.h"
#include "policy/environment.h"

namespace cordon::mcp {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace

Result<std::map<std::string, std::string>> read_env_lines(std::string_view text,
                                                          const std::string& file) {
  std::map<std::string, std::string> variables;
  unsigned number = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trimmed(raw);
    if (line.empty() || line.front() == '#') continue;
    const std::size_t equals = line.find('=');
    const std::string name(trimmed(line.substr(0, equals)));
    if (equals == std::string_view::npos || !is_valid_variable_name(name) ||
        line.find('\0') != std::string_view::npos) {
      Error error = policy_error("not an assignment", "write NAME=value");
      error.place = Place{file, number, 1};
      return fail(std::move(error));
    }
    variables.insert_or_assign(name, std::string(trimmed(line.substr(equals + 1))));
  }
  return variables;
}

Result<std::string> load_env_file(const Caller& caller) {
  std::string named;
  for (const char* name : {"CORDON_ENV_FILE", "ENTRABOT_ENV_FILE"}) {
    const auto found = caller.environment.find(name);
    if (found != caller.environment.end() && named.empty()) named = found->second;
  }
  if (named.empty()) return std::string();
  CORDON_TRY(place, canonicalize(named, caller.cwd, caller));
  CORDON_TRY(text, read_trusted_file(place.lexical, caller));
  CORDON_TRY(variables, read_env_lines(text, place.lexical));
  for (const auto& [name, value] : variables) {
    if (::setenv(name.c_str(), value.c_str(), 0) < 0) {
      return fail(setup_error("cannot set the variable " + quote(name), errno));
    }
  }
  return place.lexical;
}

CallKind kind_of(const RunRequest& request) {
  const bool narrowed = request.wish.read || request.wish.write;
  return narrowed ? CallKind::NarrowedCommand : CallKind::Command;
}

ToolResult run_code(ToolContext& context, Call& call) {
  const std::string tool = "run_code";
  auto made = run_request(context, call, tool, kDefaultWallMs);
  if (auto* refused = std::get_if<ToolResult>(&made)) return std::move(*refused);
  auto& request = std::get<RunRequest>(made);
  const Report report = [&] {
    OutputProgress progress(call, context.mask());
    request.input.streams.out = progress.output();
    return context.run(call.client(), request.bounds, request.input, request.caller,
                       kind_of(request));
  }();
  if (report.error) return answer_not_started(context, request, report);
  return answer_run(report, request.wish, std::move(request.refused), request.bounds,
                    context.mask());
}

namespace {

std::optional<std::vector<std::string>> paths(const Node& arguments, const char* name) {
  const Node* list = arguments.find(name);
  return list != nullptr ? std::optional(texts_of(list)) : std::nullopt;
}

RequestedRun wish_of(const Node& arguments, std::uint64_t unattended_wall_ms) {
  RequestedRun wish{paths(arguments, "readonly_paths"),
                    paths(arguments, "readwrite_paths"),
                    {},
                    unattended_wall_ms};
  if (const auto timeout = number_member(arguments, "timeout_ms")) {
    wish.timeout_ms = static_cast<std::uint64_t>(*timeout);
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
std::optional<std::vector<std::string>> without_protected(
    const std::optional<std::vector<std::string>>& paths, RequestedAccess wish,
    const CallCeilings& bounds, NodeList& left_out) {
  if (!paths) return std::nullopt;
  std::vector<std::string> kept;
  for (const std::string& path : *paths) {
    const auto place = canonicalize(path, bounds.caller.cwd, bounds.caller);
    const ProtectionBound protection_bound =
        place ? protection_bound_of(bounds, place->path, wish) : ProtectionBound::None;
    if (protection_bound == ProtectionBound::None) {
      kept.push_back(path);
    } else {
      left_out.push_back(not_granted_entry(wish == RequestedAccess::Write ? "write" : "read", path,
                                           protection_bound == ProtectionBound::Protected
                                               ? "protected: tools and agents load it"
                                               : "outside the operator's allowed paths"));
    }
  }
  return kept;
}

// A request sets a variable only if the operator named it, and never one that makes a loader or an
// interpreter run something.
bool may_set(const CallCeilings& bounds, const std::string& name) {
  bool named = false;
  for (const Ceiling& ceiling : bounds.ceilings) {
    if (!ceiling.bounds_env) continue;
    const EnvRules& env = ceiling.policy.env;
    const bool listed = env.set.contains(name) ||
                        std::find(env.pass.begin(), env.pass.end(), name) != env.pass.end();
    if (!listed) return false;
    named = true;
  }
  return named && !is_injection_variable(name);
}

std::optional<std::string> set_variables(const Node& arguments, RunRequest& request) {
  for (const std::string& entry : texts_of(arguments.find("env"))) {
    const std::size_t equals = entry.find('=');
    const std::string name = entry.substr(0, equals);
    if (equals == std::string::npos || !is_valid_variable_name(name)) {
      return "env holds an entry that is not NAME=value";
    }
    if (may_set(request.bounds, name)) {
      request.input.policy.env.set[name] = entry.substr(equals + 1);
    } else {
      request.refused.push_back(
          not_granted_entry("env", name, "not among the variables the operator lets a call set"));
    }
  }
  return std::nullopt;
}

// Whether a directory is there is told only where the operator lets it be seen.
bool may_start_in(const std::string& cwd, const CallCeilings& bounds) {
  const auto place = canonicalize(cwd, bounds.caller.cwd, bounds.caller);
  return place && permitted(bounds, place->path, RequestedAccess::Read);
}

}  // namespace

std::variant<RunRequest, ToolResult> run_request(ToolContext& context, const Call& call,
                                                 const std::string& tool,
                                                 std::uint64_t unattended_wall_ms) {
  const auto caller = identify_caller();
  if (!caller) return answer_fault(fault_of(caller.error()), std::nullopt);
  const Node& arguments = call.arguments();
  const RequestedRun wish = wish_of(arguments, unattended_wall_ms);
  const auto refuse = [&](const Error& error, const ToolFault& fault) {
    return answer_fault(fault, context.refuse(*caller, call, tool, error));
  };
  auto bounds = context.bounds(*caller, call);
  if (!bounds) return refuse(bounds.error(), fault_of(bounds.error()));
  const std::vector<std::string> argv = texts_of(arguments.find("argv"));
  std::optional<std::string> bad;
  if (argv.empty() || argv.front().empty()) bad = "argv[0] is empty";
  if (holds_nul(argv)) bad = "argv holds a NUL character";
  if (!bad) bad = unnameable(wish.read, "readonly_paths", *caller);
  if (!bad) bad = unnameable(wish.write, "readwrite_paths", *caller);

  if (!bad && (wish.read || wish.write) && context.sessions().sharing(*bounds) == Sharing::Stage) {
    bad =
        "readonly_paths and readwrite_paths: all calls of this server share one sandbox, so one "
        "cannot ask for less than the others; leave them out";
  }

  RunRequest request{*caller, std::move(*bounds), {}, {}, {}};
  if (!bad) {
    request.wish = {
        without_protected(wish.read, RequestedAccess::Read, request.bounds, request.refused),
        without_protected(wish.write, RequestedAccess::Write, request.bounds, request.refused),
        wish.timeout_ms, wish.unattended_wall_ms};
    request.input = context.input(request.bounds, call, tool);
    request.input.ceilings_now = context.ceilings_now(*caller, call);
    request.input.argv = argv;
    request.input.policy = run_policy(request.bounds, request.wish);
    end_with_approvals(request.input.policy, request.bounds);
    bad = set_variables(arguments, request);
  }
  if (bad) return refuse(usage_error(*bad), bad_arguments(*bad));
  if (const std::string* text = text_member(arguments, "stdin"))
    request.input.streams.in = Input::of_bytes(*text);
  if (const std::string* cwd = text_member(arguments, "cwd")) {
    if (!may_start_in(*cwd, request.bounds)) {
      return refuse(policy_error("cwd lies outside the ceiling"),
                    {"Policy error", "cwd is outside the operator's allowed paths",
                     outside_help(request.bounds), "SandboxDeniedError"});
    }
    request.input.cwd = *cwd;
  } else if (!request.bounds.set_by_operator) {
    request.input.cwd = "/";  // nothing is granted, and the server says so
  } else if (const auto lost = lost_workspace(request.bounds)) {
    return refuse(*lost, {"Policy error", "the working directory is outside what is granted",
                          outside_help(request.bounds), "SandboxDeniedError"});
  }
  return request;
}

namespace {

// A program that is named by a path no ceiling permits: that it is not found says nothing.
std::optional<Refusal> refused_program(const RunRequest& request) {
  const std::string& program = request.input.argv.front();
  if (program.find('/') == std::string::npos) return std::nullopt;
  const auto place = canonicalize(program, request.caller.cwd, request.caller);
  if (!place || is_system_directory(parent(place->path)) ||
      permitted(request.bounds, place->path, RequestedAccess::Read)) {
    return std::nullopt;
  }
  return refusal_of(request.bounds, place->path, RequestedAccess::Read);
}

// Of a program that is not inside, whatever may be outside. A place that is granted shows what is
// there; of a name that PATH was searched for nothing is known.
void tell_missing_program(const RunRequest& request, ToolFault& fault) {
  constexpr std::size_t kLongestNamed = 200;
  const std::vector<std::string>& argv = request.input.argv;
  const std::string& program = argv.front();
  const std::string named = quote(program.substr(0, kLongestNamed));
  const bool by_path = program.find('/') != std::string::npos;
  fault.message = named + (by_path ? " is not there inside the sandbox"
                                   : " is not among the programs inside the sandbox: that says "
                                     "nothing about whether it is installed");
  const bool is_line = argv.size() == 1 && program.size() <= kLongestNamed &&
                       program.find_first_of(" \t\n|&;<>()$") != std::string::npos;
  if (is_line) {
    Node words{NodeMap{}};
    words.set("argv", Node(NodeList{Node("sh"), Node("-c"), Node(program)}));
    fault.help = "There is no shell that would split a line. Call again with " +
                 write_json(words, JsonStyle::Compact) + ".";
  } else if (!by_path) {
    fault.help =
        "Do it with a program that is there, or tell the user which one you need. Each argument is "
        "an item of its own; there is no shell that would split them.";
  }
}

}  // namespace

ToolResult answer_not_started(const ToolContext& context, const RunRequest& request,
                              const Report& report) {
  context.tell_operator(request.input.asker.tool, *report.error);
  ToolFault fault = fault_of(*report.error);
  std::optional<int> status;
  if (report.error->kind == ErrorKind::Command) {
    status = report.error->exit_status;
    const auto refusal =
        report.error->error_number != E2BIG ? refused_program(request) : std::nullopt;
    if (refusal) {
      fault.message = "argv[0]: " + std::string(reason_of(*refusal));
      fault.help = help_for(request.bounds, std::array{*refusal});
    } else if (status == 127) {
      tell_missing_program(request, fault);
    }
  }
  return answer_fault(fault, report.audit ? std::optional(report.audit->event_id) : std::nullopt,
                      status);
}

}  // namespace cordon::mcp
