#include "faces/doctor/host_servers.h"

#include <fcntl.h>

#include <algorithm>
#include <array>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "host/inspect.h"

namespace cordon {
namespace {

bool is_word(const Node* node, std::string_view word) {
  return node != nullptr && node->text() != nullptr && *node->text() == word;
}

// `command` and `args`, or one list of all words.
bool starts_this_program(const Node& entry, std::string_view program) {
  const Node* command = entry.find("command");
  if (command == nullptr) return false;
  if (const NodeList* words = command->list()) {
    return words->size() > 1 && is_word(words->data(), program) && is_word(&(*words)[1], "mcp");
  }
  const Node* arguments = entry.find("args");
  const NodeList* words = arguments == nullptr ? nullptr : arguments->list();
  return is_word(command, program) && words != nullptr && !words->empty() &&
         is_word(words->data(), "mcp");
}

// Only members that are printed for some host: with an address, for instance, a host asks that
// address instead of starting anything.
bool is_cordon(const Node& entry, const HostPlaces& places) {
  constexpr std::array<std::string_view, 16> kKnown{"command",
                                                    "args",
                                                    "env",
                                                    "environment",
                                                    "type",
                                                    "timeout",
                                                    "trust",
                                                    "tools",
                                                    "alwaysLoad",
                                                    "enabled",
                                                    "disabled",
                                                    "source",
                                                    "required",
                                                    "startup_timeout_sec",
                                                    "tool_timeout_sec",
                                                    "default_tools_approval_mode"};
  const NodeMap* members = entry.map();
  return members != nullptr && starts_this_program(entry, places.program) &&
         std::ranges::all_of(*members, [&](const auto& member) {
           return std::ranges::find(kKnown, member.first) != kKnown.end();
         });
}

void name_entries(AgentHostLook& look, const HostPlaces& places, const Node* servers,
                  const std::string& path) {
  if (servers == nullptr) return;
  if (servers->map() == nullptr) {
    look.servers.push_back("servers that cannot be read in " + quote(path));
    return;
  }
  for (const auto& [name, entry] : *servers->map()) {
    if (is_cordon(entry, places)) continue;
    look.servers.push_back(name + " in " + quote(path) +
                           (name == "cordon" ? ", which does not start " + places.program : ""));
  }
}

constexpr std::size_t kLongestDescription = std::size_t{1024} * 1024;

bool brings_tools(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const auto text = file.valid() ? read_all(file.get(), kLongestDescription) : std::nullopt;
  constexpr std::array<std::string_view, 4> kWords{"mcpServers", "hooks", "!`", "```!"};
  return !text || std::ranges::any_of(kWords, [&](std::string_view word) {
    return text->find(word) != std::string::npos;
  });
}

}  // namespace

void name_servers(AgentHostLook& look, const HostPlaces& places, std::span<const Settings> files,
                  std::string_view key) {
  for (const Settings& settings : files) {
    name_entries(look, places, settings.document.find(key), settings.path);
  }
}

void name_servers_of_project(AgentHostLook& look, const HostPlaces& places,
                             std::span<const Settings> files) {
  // In a second working tree the host may take the servers of the first, wherever that lies.
  const bool any = links_to_repository(places.project).has_value();
  for (const Settings& settings : files) {
    const Node* projects = settings.document.find("projects");
    if (projects == nullptr || projects->map() == nullptr) continue;
    for (const auto& [directory, project] : *projects->map()) {
      if (!any && !contains(normalize(directory), places.project)) continue;
      name_entries(look, places, project.find("mcpServers"), settings.path);
    }
  }
}

void name_plugins(AgentHostLook& look, std::span<const Settings> files, std::string_view key) {
  for (const Settings& settings : files) {
    const Node* plugins = settings.document.find(key);
    if (plugins == nullptr || plugins->map() == nullptr) continue;
    for (const auto& [name, plugin] : *plugins->map()) {
      const Node* enabled = plugin.map() == nullptr ? &plugin : plugin.find("enabled");
      const bool* on = enabled == nullptr ? nullptr : std::get_if<bool>(&enabled->value);
      if (on != nullptr && !*on) continue;
      look.servers.push_back("plugin " + name + " in " + quote(settings.path) +
                             ", which may bring servers");
    }
  }
}

void name_bringing_tools(AgentHostLook& look, std::span<const Settings> files,
                         std::initializer_list<std::string_view> keys) {
  std::string name;
  for (const std::string_view key : keys) name.append(name.empty() ? "" : ".").append(key);
  for (const Settings& settings : files) {
    const Node* value = at(settings.document, keys);
    if (value == nullptr || is_word(value, "")) continue;
    const bool* on = std::get_if<bool>(&value->value);
    if (on != nullptr && !*on) continue;
    look.servers.push_back(name + " in " + quote(settings.path) + ", which brings tools");
  }
}

void name_extensions(AgentHostLook& look, const std::string& directory) {
  for (const std::string& name : names_in(look, directory)) {
    const std::string path = join(directory, name);
    if (!Fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)).valid()) continue;
    look.servers.push_back("extension in " + quote(path) + ", which may bring servers");
  }
}

void name_descriptions(AgentHostLook& look, const std::string& directory) {
  std::vector<std::string> paths;
  for (const std::string& name : names_in(look, directory)) {
    const std::string path = join(directory, name);
    if (name.ends_with(".md")) {
      paths.push_back(path);
      continue;
    }
    for (const std::string& below : names_in(look, path)) {
      if (below.ends_with(".md")) paths.push_back(join(path, below));
    }
  }
  for (const std::string& path : paths) {
    if (!brings_tools(path)) continue;
    look.servers.push_back("description in " + quote(path) +
                           ", which may bring servers or commands");
  }
}

}  // namespace cordon
