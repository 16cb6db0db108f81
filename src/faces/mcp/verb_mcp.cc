// cordon mcp: from a command line to a server, until its client goes away.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "audit/log.h"
#include "base/path.h"
#include "base/text.h"
#include "compat/backends.h"
#include "faces/cli/console.h"
#include "faces/cli/policy_options.h"
#include "faces/cli/verbs.h"
#include "faces/mcp/full/full_table.h"
#include "faces/mcp/http/listener.h"
#include "faces/mcp/server.h"
#include "faces/mcp/status_reporter.h"
#include "faces/mcp/stdio.h"
#include "faces/mcp/tools/run_request.h"
#include "faces/mcp/tools/switched_off.h"
#include "faces/mcp/tools/tools.h"
#include "host/resolve.h"

namespace cordon {
namespace {

struct HttpOptions {
  mcp::HttpAddress address;
  std::string token;
};

struct McpOptions {
  bool full = false;  // the profile
  std::vector<std::string> ceilings;
  std::vector<std::string> hidden;
  std::optional<HttpOptions> http;
  std::optional<BackendKind> backend;
  MakeBackend backends;
  mcp::Sharing sharing = mcp::Sharing::None;
};

void say_line(const std::string& line) { say("cordon: " + sanitize(line) + "\n"); }

Result<std::string> absolute(std::string_view path, const Caller& caller) {
  CORDON_TRY(found, canonicalize_existing(path, caller.cwd, caller));
  if (is_glob(found.path)) {
    return fail(usage_error("the path " + quote(path) + " holds wildcard characters",
                            "it could not be hidden from commands: rename it"));
  }
  return found.path;
}

Result<std::optional<HttpOptions>> http_options(const Arguments& arguments, McpOptions& options,
                                                const Caller& caller) {
  const auto http = arguments.value(FlagId::Http);
  const auto socket = arguments.value(FlagId::Socket);
  const auto token_file = arguments.value(FlagId::TokenFile);
  if (http && socket) return fail(usage_error("--http contradicts --socket", "drop one of them"));
  if (!http && !socket) {
    if (token_file) return fail(usage_error("--token-file stands beside --http or --socket"));
    return std::nullopt;
  }
  if (!token_file) {
    return fail(usage_error("HTTP needs a --token-file",
                            "umask 077; head -c 32 /dev/urandom | base64 > token"));
  }
  const bool wrong = http && http->starts_with('/');
  if (wrong) return fail(usage_error("--http takes an address", "use --socket for a path"));
  CORDON_TRY(address, mcp::parse_http_address(http ? *http : join(caller.cwd, *socket)));
  CORDON_TRY(path, absolute(*token_file, caller));
  CORDON_TRY(token, mcp::read_token_file(path));
  options.hidden.push_back(path);
  return HttpOptions{std::move(address), std::move(token)};
}

Result<McpOptions> mcp_options(const Arguments& arguments, const Caller& caller) {
  McpOptions options;
  CORDON_TRY(profile, asked_profile(arguments));
  options.full = profile == "full";
  for (const std::string_view file : arguments.values(FlagId::Ceiling)) {
    CORDON_TRY(found, canonicalize(file, caller.cwd, caller));
    // The spelling is kept: reading it must still notice that it is a symlink.
    options.ceilings.push_back(found.lexical);
  }
  CORDON_TRY(backend, asked_backend(arguments));
  options.backend = backend;
  options.backends = every_backend(caller);
  if (arguments.has(FlagId::Session)) options.sharing = mcp::Sharing::Session;
  if (arguments.has(FlagId::Stage)) {
    if (arguments.value(FlagId::Stage) == "auto") {
      return fail(usage_error("--stage=auto is not for a server: its stage waits for a person",
                              "leave \"=auto\" out; a ceiling with mode = \"staged\" below [fs] "
                              "applies what each call wrote when it ends"));
    }
    options.sharing = mcp::Sharing::Stage;
  }
  CORDON_TRY(http, http_options(arguments, options, caller));
  options.http = std::move(http);
  return options;
}

void say_banner(const mcp::Registry& registry, const mcp::CallCeilings& bounds) {
  if (registry.tools.empty()) {
    say_line(
        "mcp: no tool is switched on; set CORDON_ENABLE_RUN_CODE=1 for run_code, "
        "read_local_file and write_local_file");
    return;
  }
  std::string names;
  for (const mcp::Tool& tool : registry.tools) names.append(" ").append(tool.name);
  say_line("mcp: serving" + names);
  if (!bounds.set_by_operator) {
    say_line("mcp: there is no ceiling, so nothing is granted; write " +
             quote(join(bounds.caller.config_directory, "ceiling.toml")));
  } else if (const auto lost = mcp::lost_workspace(bounds)) {
    say_line("mcp: no command can start: " + message(*lost) + "; " + lost->hint);
  }
  say_line(
      "mcp: the sandbox contains these tools, not the host that calls them. Deny the host's "
      "own: Bash Write Edit NotebookEdit Read Glob Grep WebFetch WebSearch Task");
  say_line(
      "mcp: Claude Code: claude --tools \"\" --strict-mcp-config --mcp-config cordon.json "
      "--allowedTools \"mcp__cordon__*\"");
}

Result<int> serve_over_http(mcp::Server& server, HttpOptions wish) {
  CORDON_TRY(listener, mcp::HttpListener::open(wish.address));
  if (const auto port = listener.port()) {
    say_line("mcp: listening on loopback, port " + std::to_string(*port));
  }
  return mcp::serve_http(server, std::move(listener), std::move(wish.token));
}

Result<int> serve(McpOptions options, const Caller& caller) {
  // A ceiling that cannot be read is told at once; calls would be refused one by one.
  CORDON_TRY(bounds, mcp::read_call_ceilings(caller, options.ceilings, options.hidden));
  audit::Recorder recorder(audit::place_of(caller), AuditChoice{});
  const auto voice = std::make_shared<StatusReporter>();
  const auto tell = [voice](const std::string& line) { voice->say_line(line); };
  recorder.tell(tell);
  mcp::SecretMask mask(caller.environment);
  if (options.http) mask.add(options.http->token);
  const bool can_ask = options.full && std::ranges::any_of(bounds.ceilings, mcp::has_requestable);
  const auto context = std::make_shared<mcp::ToolContext>(
      mcp::ToolContextOptions{std::move(options.ceilings), std::move(options.hidden), tell, can_ask,
                              options.backend, std::move(options.backends), options.sharing},
      recorder, std::move(mask));
  mcp::Registry registry;
  const mcp::Switches switches = mcp::read_switches(caller.environment);
  if (options.full) {
    mcp::add_full_tools(registry, switches,
                        std::make_shared<mcp::FullToolContext>(context, caller.state_directory));
  } else {
    mcp::add_tools(registry, switches, context);
  }
  mcp::add_switched_off(registry, options.full ? mcp::ToolProfile::Full : mcp::ToolProfile::Basic,
                        switches, context);
  say_banner(registry, bounds);
  std::string about = options.full ? mcp::full_instructions(bounds) : mcp::instructions(bounds);
  mcp::Server server({"cordon", "Cordon", std::string(version()), std::move(about)},
                     std::move(registry), {});
  if (options.http) return serve_over_http(server, std::move(*options.http));
  CORDON_TRY(pipes, mcp::take_standard_streams());
  return mcp::serve_stdio(server, std::move(pipes));
}

Result<int> start(const Arguments& arguments) {
  if (const auto workspace = arguments.value(FlagId::Workspace)) {
    if (::chdir(std::string(*workspace).c_str()) < 0) {
      return fail(setup_error("cannot change into the workspace " + quote(*workspace), errno,
                              "name a directory that is there"));
    }
  }
  CORDON_TRY(before, identify_caller());
  CORDON_TRY(env_file, mcp::load_env_file(before));
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(options, mcp_options(arguments, caller));
  if (!env_file.empty()) {
    CORDON_TRY(hidden, absolute(env_file, caller));
    options.hidden.push_back(std::move(hidden));
  }
  return serve(std::move(options), caller);
}

}  // namespace

int verb_mcp(const Arguments& arguments) {
  const auto status = start(arguments);
  if (status) return *status;
  say_error(status.error());
  return kAnswerError;
}

}  // namespace cordon
