// cordon doctor --host: whether an agent host may act outside of Cordon's tools, and the command
// line that leaves it nothing else.
#include "base/text.h"
#include "config/node.h"
#include "faces/cli/console.h"
#include "faces/cli/helper_program.h"
#include "faces/cli/print_config.h"
#include "faces/cli/verbs.h"
#include "faces/doctor/agent_host.h"
#include "host/resolve.h"

namespace cordon {
namespace {

std::string tools_line(std::string_view whose, const OwnTools& tools) {
  return std::string(whose) + ": " + std::string(name_of(tools.reach)) + " (" + tools.why + ")\n";
}

std::string_view process_text(const HostProcess& process, bool line_is_enough) {
  switch (process.words) {
    case ProcessWords::AsTold:
      return line_is_enough ? ": was started with the line below\n" : ": runs by its settings\n";
    case ProcessWords::None:
      return line_is_enough ? ": was not started with the line below, and runs by its settings\n"
                            : ": runs by its settings\n";
    case ProcessWords::Own:
      return ": was not started with the line below: words of its own may give it tools\n";
  }
  return "";
}

std::string look_text(const HostSetup& setup, const AgentHostLook& look, bool line_is_enough) {
  std::string text = look.excludes_bypass()
                         ? "bypass excluded: no tool of the host's own acts outside of Cordon\n"
                         : "bypass possible: the host may act by itself, which nothing contains\n";
  text.append(tools_line("its own shell", look.shell));
  text.append(tools_line("its own file tools", look.files));
  for (const std::string& server : look.servers) {
    text.append("further server, not contained: ").append(sanitize(server)).append("\n");
  }
  for (const std::string& path : look.looked_at)
    text.append("read: ").append(quote(path)).append("\n");
  if (look.looked_at.empty()) text.append("read: no settings of it were found\n");
  for (const std::string& path : look.unread)
    text.append("not read: ").append(sanitize(path)).append("\n");
  for (const HostProcess& process : look.running) {
    text.append("process ").append(std::to_string(process.pid));
    text.append(process_text(process, line_is_enough));
  }
  if (!look.limit.empty()) text.append("not seen from here: ").append(look.limit).append("\n");
  if (!setup.launch.empty()) {
    text.append("start it with: ").append(shell_line(setup.launch)).append("\n");
  }
  for (const std::string& note : setup.notes) text.append("note: ").append(note).append("\n");
  return text;
}

Node texts(const std::vector<std::string>& words) {
  NodeList list;
  for (const std::string& word : words) list.emplace_back(word);
  return Node(std::move(list));
}

Node tools_node(const OwnTools& tools) {
  return Node(NodeMap{{"reach", Node(name_of(tools.reach))}, {"why", Node(tools.why)}});
}

std::string look_json(std::string_view host, const HostSetup& setup, const AgentHostLook& look) {
  NodeList processes;
  for (const HostProcess& process : look.running) {
    processes.emplace_back(NodeMap{{"pid", Node(process.pid)},
                                   {"as_told", Node(process.words == ProcessWords::AsTold)},
                                   {"own_words", Node(process.words == ProcessWords::Own)},
                                   {"in_project", Node(process.in_project)}});
  }
  Node document{NodeMap{}};
  document.set("host", host)
      .set("bypass", look.excludes_bypass() ? "excluded" : "possible")
      .set("shell", tools_node(look.shell))
      .set("files", tools_node(look.files))
      .set("servers", texts(look.servers))
      .set("read", texts(look.looked_at))
      .set("unread", texts(look.unread))
      .set("processes", std::move(processes))
      .set("limit", look.limit.empty() ? Node() : Node(look.limit))
      .set("launch", texts(setup.launch));
  return write_json(document, JsonStyle::Pretty) + "\n";
}

struct Answered {
  std::string text;
  bool excluded = false;
};

Result<Answered> answer(const Arguments& arguments) {
  const std::string_view host = *arguments.value(FlagId::HostName);
  CORDON_TRY(caller, identify_caller());
  // Some hosts start their servers anywhere: for them the project is named.
  CORDON_TRY(setup, host_setup_in(host, caller.cwd));
  CORDON_TRY(program, own_executable());
  const AgentHostLook look = look_at_host(
      host, setup.launch, {caller.home, caller.cwd, "/etc", caller.environment, program});
  const bool line_is_enough = line_takes_tools_away(setup.launch);
  return Answered{arguments.has(FlagId::Json) ? look_json(host, setup, look)
                                              : look_text(setup, look, line_is_enough),
                  look.excludes_bypass()};
}

}  // namespace

int doctor_host(const Arguments& arguments) {
  const auto answered = answer(arguments);
  if (!answered) {
    say_error(answered.error());
    return kAnswerError;
  }
  if (!say_answer(answered->text)) return kAnswerError;
  return answered->excluded ? kAnswerYes : kAnswerNo;
}

}  // namespace cordon
