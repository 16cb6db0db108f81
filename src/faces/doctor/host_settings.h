// The settings of an agent host as rules about its tools: files that are read with care, and lists
// that take tools away.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "faces/doctor/agent_host.h"

namespace cordon {

struct Settings {
  std::string path;
  Node document;
};

// The settings of one host, in the order in which they count: what comes later wins.
class SettingsFiles {
 public:
  explicit SettingsFiles(AgentHostLook& look) : look_(look) {}
  // A file that is there and cannot be read is named in the look.
  // One that was read before for this look is not read again: it counts where it came first.
  void add(const std::string& path);
  // Those below a directory that end in .json, by their names.
  void add_all_in(const std::string& directory);
  // The file of this name in the project and in each directory above it.
  void add_upward(const std::string& project, std::string_view name);
  [[nodiscard]] std::span<const Settings> all() const { return read_; }

 private:
  void unread(const std::string& path, std::string_view why);

  AgentHostLook& look_;
  std::vector<Settings> read_;
};

const Node* at(const Node& document, std::initializer_list<std::string_view> keys);
// The last of the files that has the value.
const Node* last_value(std::span<const Settings> files,
                       std::initializer_list<std::string_view> keys, std::string& where);
// The project and each directory above it.
std::vector<std::string> upward(const std::string& project);
// What the `.git` of a second working tree says, which is a file there: where its repository lies.
std::optional<std::string> links_to_repository(const std::string& project);
// What lies in a directory, sorted; one that is there and cannot be listed is named in the look.
std::vector<std::string> names_in(AgentHostLook& look, const std::string& directory);
std::string joined(std::span<const std::string_view> words);

// Off if lists at `keys` hold all names.
OwnTools by_lists(std::span<const Settings> files, std::initializer_list<std::string_view> keys,
                  std::span<const std::string_view> names);

}  // namespace cordon
