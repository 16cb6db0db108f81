// cordon doctor --host: whether an agent host may act outside of Cordon's tools, and the command
// line that leaves it nothing else. A host cannot be looked into from here, so the answer is no
// better than "possible" for any of them.
#include "base/shell_word.h"
#include "cli/print_config.h"
#include "cli/talk.h"
#include "cli/verbs.h"
#include "config/node.h"

namespace cordon {
namespace {

constexpr std::string_view kBypass =
    "a host may have tools of its own, which nothing contains; whether they are taken away cannot "
    "be "
    "seen from here";

std::string as_text(const HostSetup& setup) {
  std::string text = "bypass possible: " + std::string(kBypass) + "\n";
  text.append("start it with: ").append(shell_line(setup.launch)).append("\n");
  for (const std::string& note : setup.notes) text.append("note: ").append(note).append("\n");
  return text;
}

std::string host_check_json(std::string_view host, const HostSetup& setup) {
  NodeList launch;
  for (const std::string& word : setup.launch) launch.emplace_back(word);
  Node document{NodeMap{}};
  document.set("host", host).set("bypass", "possible").set("reason", kBypass);
  document.set("launch", std::move(launch));
  return write_json(document, JsonStyle::Pretty) + "\n";
}

}  // namespace

int doctor_host(const Arguments& arguments) {
  const std::string_view host = *arguments.value(FlagId::HostName);
  const auto setup = host_setup_here(host, {});
  if (!setup) {
    say_error(setup.error());
    return kAnswerError;
  }
  const bool json = arguments.has(FlagId::Json);
  return say_answer(json ? host_check_json(host, *setup) : as_text(*setup)) ? kAnswerNo
                                                                            : kAnswerError;
}

}  // namespace cordon
