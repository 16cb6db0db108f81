// cordon mcp --print-config: the configuration of an agent host on standard output, what to do with
// it on standard error. It belongs to this program and not to the server's, because the host is to
// start this one.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "config/node.h"
#include "faces/cli/console.h"
#include "faces/cli/helper_program.h"
#include "faces/cli/policy_options.h"
#include "faces/cli/print_config.h"
#include "faces/cli/verbs.h"
#include "host/resolve.h"

namespace cordon {
namespace {

Result<std::string_view> wanted_host(const Arguments& arguments) {
  const auto host = arguments.value(FlagId::PrintConfig);
  if (!host) return fail(usage_error("--json stands beside --print-config"));
  for (const FlagId id : {FlagId::Http, FlagId::Socket, FlagId::TokenFile}) {
    if (arguments.has(id)) {
      return fail(usage_error("--print-config is for a server on standard input and output",
                              "drop --http, --socket and --token-file"));
    }
  }
  return *host;
}

Result<ServerStart> server_start(const Arguments& arguments) {
  ServerStart start;
  CORDON_TRY(executable, own_executable());
  start.executable = std::move(executable);
  CORDON_TRY(caller, identify_caller());
  start.safe_directory = caller.config_directory;
  if (const auto workspace = arguments.value(FlagId::Workspace)) {
    CORDON_TRY(found, canonicalize_existing(*workspace, caller.cwd, caller));
    start.workspace = found.path;
    if (::access((start.workspace + "/.").c_str(), X_OK) < 0) {
      return fail(setup_error("the workspace " + quote(*workspace) + " cannot be entered", errno));
    }
  }
  for (const std::string_view file : arguments.values(FlagId::Ceiling)) {
    CORDON_TRY(found, canonicalize_existing(file, caller.cwd, caller));
    start.ceilings.push_back(found.lexical);  // a symlink is refused when it is read
  }
  CORDON_TRY(profile, asked_profile(arguments));
  if (profile) start.profile = *profile;
  CORDON_TRY(backend, asked_backend(arguments));
  if (backend) start.backend = name_of(*backend);
  start.session = arguments.has(FlagId::Session);
  start.stage = arguments.has(FlagId::Stage);
  return start;
}

Node file_node(const HostFile& file) {
  return Node(NodeMap{{"path", Node(file.path)}, {"content", Node(file.content)}});
}

std::string configuration_json(std::string_view host, const HostSetup& setup) {
  NodeList files{file_node(setup.configuration)};
  for (const HostFile& file : setup.further) files.push_back(file_node(file));
  NodeList launch;
  for (const std::string& word : setup.launch) launch.emplace_back(word);
  NodeList notes;
  for (const std::string& note : setup.notes) notes.emplace_back(note);
  Node document{NodeMap{}};
  document.set("host", Node(host))
      .set("files", Node(std::move(files)))
      .set("launch", Node(std::move(launch)))
      .set("notes", Node(std::move(notes)));
  return write_json(document, JsonStyle::Pretty) + "\n";
}

void say_the_rest(const HostSetup& setup) {
  say("cordon: save the configuration as " + setup.configuration.path + "\n");
  for (const HostFile& file : setup.further) {
    say("cordon: save this as " + file.path + "\n" + file.content);
  }
  if (!setup.launch.empty()) {
    say("cordon: start the host with\n" + shell_line(setup.launch) + "\n");
  }
  for (const std::string& note : setup.notes) say("cordon: " + note + "\n");
  say("cordon: contained are these tools, not the host that calls them\n");
}

Result<bool> print(const Arguments& arguments) {
  CORDON_TRY(host, wanted_host(arguments));
  CORDON_TRY(setup, host_setup_here(host, arguments));
  if (arguments.has(FlagId::Json)) return say_answer(configuration_json(host, setup));
  if (!say_answer(setup.configuration.content)) return false;
  say_the_rest(setup);
  return true;
}

}  // namespace

Result<HostSetup> host_setup_here(std::string_view host, const Arguments& arguments) {
  CORDON_TRY(start, server_start(arguments));
  return checked_host_setup(host, start);
}

Result<HostSetup> host_setup_in(std::string_view host, const std::string& project) {
  CORDON_TRY(start, server_start({}));
  if (starts_anywhere(host)) start.workspace = project;
  return checked_host_setup(host, start);
}

int print_host_config(const Arguments& arguments) {
  const auto told = print(arguments);
  if (told) return *told ? kAnswerYes : kAnswerError;
  say_error(told.error());
  return kAnswerError;
}

}  // namespace cordon
