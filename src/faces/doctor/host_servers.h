// Further MCP servers of an agent host, and what else brings it tools. Their processes belong to
// the host, so whatever a tool of theirs does happens outside of Cordon.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "faces/doctor/agent_host.h"
#include "faces/doctor/host_settings.h"

namespace cordon {

// Those of the map at `key`, all but an entry that starts Cordon itself and nothing else. That one
// is told by what it starts: a stranger can give any name to a server.
void name_servers(AgentHostLook& look, const HostPlaces& places, std::span<const Settings> files,
                  std::string_view key);
// The same of a file in which Claude Code keeps what belongs to single projects.
void name_servers_of_project(AgentHostLook& look, const HostPlaces& places,
                             std::span<const Settings> files);
// Members that bring tools by being there with a value that is not false: plugins by their names; a
// command that lists tools, a feature.
void name_plugins(AgentHostLook& look, std::span<const Settings> files, std::string_view key);
void name_bringing_tools(AgentHostLook& look, std::span<const Settings> files,
                         std::initializer_list<std::string_view> keys);
// Directories of extensions, each of which may bring servers, hooks and tools.
void name_extensions(AgentHostLook& look, const std::string& directory);
// Descriptions of agents, skills and commands, by files in a directory or one below each of its
// directories: they may bring servers and hooks of their own, and the host itself runs commands
// that are written into one.
void name_descriptions(AgentHostLook& look, const std::string& directory);

}  // namespace cordon
