// What an agent host may do by itself on this machine. Cordon contains what a host asks it for; a
// shell or an editor that belongs to the host acts outside. Whether the host has them is read from
// its settings and from how its running processes were started.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "faces/cli/host_setup.h"

namespace cordon {

// Of the host's own tools of one kind.
enum class ToolReach {
  Outside,    // they act outside of Cordon, as far as anything shows
  Contained,  // each call is made one of `cordon run`
  Off,        // the host does not offer them
};
std::string_view name_of(ToolReach reach);

struct OwnTools {
  ToolReach reach = ToolReach::Outside;
  std::string why;  // the rule that decides and its file, or what is missing
};

enum class ProcessWords {
  AsTold,  // those of the line that is printed, with its variables, and no others
  None,    // none at all: what it has is a matter of its settings
  Own,     // others, each of which may give it tools
};

struct HostProcess {
  std::uint64_t pid = 0;
  ProcessWords words = ProcessWords::Own;
  bool in_project = true;  // or where it works cannot be seen
};

struct AgentHostLook {
  OwnTools shell;
  OwnTools files;
  std::vector<std::string> looked_at;  // settings that were there
  std::vector<std::string> unread;   // settings that are there and cannot be read, with the reason
  std::vector<std::string> servers;  // further MCP servers that the settings name
  std::vector<HostProcess> running;
  std::string limit;  // what no setting of this host excludes; empty: nothing
  // Nothing of its own acts outside, by settings that were read, and no process in the project was
  // started with words that are not judged.
  [[nodiscard]] bool excludes_bypass() const;
};

// Where settings lie.
struct HostPlaces {
  std::string home;
  std::string project;
  std::string system = "/etc";
  std::map<std::string, std::string> environment;
  std::string program = {};  // the `cordon` that servers of the settings may start
};

// This user's. `line` is what is printed for the host.
std::vector<HostProcess> running_hosts(const std::vector<std::string>& line,
                                       const std::string& project);
// Whether that line takes the tools away by itself: it needs no settings then.
bool line_takes_tools_away(const std::vector<std::string>& line);

// `host` is one of the choices of --print-config, `launch` the line that is printed for it.
AgentHostLook look_at_host(std::string_view host, const std::vector<std::string>& launch,
                           const HostPlaces& places);

}  // namespace cordon
