#include "faces/setup/setup_view.h"

#include <unistd.h>

#include "base/text.h"
#include "faces/cli/console.h"
#include "run/answers.h"

namespace cordon {
namespace {

using setup::Document;
using setup::Prospect;
using setup::Role;
using Became = SetupStep::Became;

std::string_view name_of(Became result) {
  switch (result) {
    case Became::Written:
      return "written";
    case Became::Added:
      return "added";
    case Became::Unchanged:
      return "unchanged";
    case Became::Left:
      return "left";
    case Became::ByHand:
      return "by_hand";
    case Became::Declined:
      return "declined";
    case Became::Planned:
      return "planned";
  }
  return "";
}

std::string step_text(const SetupStep& step) {
  const std::string path = quote(step.path);
  switch (step.result) {
    case Became::Written:
      return "written: " + path + ", " + step.purpose;
    case Became::Added:
      return "added to: " + path + ", " + step.purpose;
    case Became::Unchanged:
      return "unchanged: " + path;
    case Became::Left:
      return "left as it is: " + path + ", which is not what setup writes";
    case Became::ByHand:
      return "left to you: " + path + ", since " + sanitize(step.why) + "; what it is to hold:";
    case Became::Declined:
      return "not written: " + path;
    case Became::Planned:
      return "would write: " + path + ", " + step.purpose;
  }
  return {};
}

bool shows_text(const SetupStep& step) {
  return step.result == Became::Planned || step.result == Became::ByHand;
}

std::vector<std::string> undo_lines(const std::vector<SetupStep>& steps) {
  std::vector<std::string> lines;
  for (const SetupStep& step : steps) {
    const bool done = step.result == Became::Written || step.result == Became::Added;
    if (done) lines.push_back(step.undo);
  }
  return lines;
}

std::vector<std::string> next_lines(const Prospect& prospect, const HostAdvice& advice) {
  std::vector<std::string> lines;
  for (const Document& document : prospect.documents) {
    if (document.role != Role::Variables) continue;
    lines.push_back("set -a; . " + document.path() + "; set +a");
  }
  lines.push_back("cordon run --policy " + prospect.name + " -- CMD");
  lines.insert(lines.end(), advice.next.begin(), advice.next.end());
  return lines;
}

std::string listed(const std::vector<std::string>& items, std::string_view none) {
  if (items.empty()) return std::string(none);
  std::string text;
  for (const std::string& item : items) {
    text += (text.empty() ? "" : ", ") + quote(item);
  }
  return text;
}

}  // namespace

std::string setup_text(const Prospect& prospect, const std::vector<SetupStep>& steps,
                       const HostAdvice& advice) {
  std::vector<std::string> agents;
  for (const FoundAgent& agent : prospect.agents) agents.push_back(agent.path);
  std::string text = "project: " + quote(prospect.caller.cwd) + ", policy " + prospect.name + "\n";
  text += "toolchains: " + listed(prospect.toolchains, "those of the system") + "\n";
  text += "agents: " + listed(agents, "none on PATH") + "\n";
  for (std::size_t i = 0; i < prospect.keys.size(); ++i) {
    const auto& key = prospect.keys[i];
    if (!key) continue;
    text += "key of " + prospect.agents[i].name + ": " + sanitize(key->what) + "\n";
    if (!key->change.empty()) text += "  " + sanitize(key->change) + "\n";
  }
  for (const SetupStep& step : steps) {
    text += step_text(step) + "\n";
    if (shows_text(step)) text += "\n" + step.text + "\n";
  }
  for (const Reduction& reduction : prospect.reductions) {
    text += tinted(STDOUT_FILENO, Tint::Warning, "the ceiling takes away:") + " " +
            reduction_line(reduction) + "\n";
  }
  for (const std::string& line : undo_lines(steps)) text += "undo: " + line + "\n";
  for (const std::string& line : next_lines(prospect, advice)) text += "next: " + line + "\n";
  for (const std::string& note : advice.notes) text += "note: " + note + "\n";
  return text;
}

std::string setup_json(const Prospect& prospect, const std::vector<SetupStep>& steps,
                       const HostAdvice& advice) {
  Node node{NodeMap{}};
  node.set("schema", "cordon.setup/1");
  node.set("project", prospect.caller.cwd);
  node.set("name", prospect.name);
  node.set("config_directory", prospect.caller.config_directory);
  node.set("state_directory", prospect.caller.state_directory);
  NodeList files;
  for (const SetupStep& step : steps) {
    Node file{NodeMap{}};
    file.set("path", step.path);
    file.set("role", step.role);
    file.set("result", name_of(step.result));
    file.set("text", shows_text(step) ? Node(step.text) : Node());
    file.set("why", step.why.empty() ? Node() : Node(step.why));
    files.push_back(std::move(file));
  }
  node.set("files", std::move(files));
  node.set("toolchains", text_list(prospect.toolchains));
  NodeList agents;
  for (std::size_t i = 0; i < prospect.agents.size(); ++i) {
    const FoundAgent& agent = prospect.agents[i];
    const auto& key = prospect.keys[i];
    Node found{NodeMap{}};
    found.set("name", agent.name);
    found.set("path", agent.path);
    found.set("key", key ? Node(name_of(key->where)) : Node());
    found.set("key_what", key ? Node(key->what) : Node());
    found.set("key_change", key && !key->change.empty() ? Node(key->change) : Node());
    agents.push_back(std::move(found));
  }
  node.set("agents", std::move(agents));
  node.set("reductions", reductions_list(prospect.reductions));
  node.set("undo", text_list(undo_lines(steps)));
  node.set("next", text_list(next_lines(prospect, advice)));
  node.set("notes", text_list(advice.notes));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

}  // namespace cordon
