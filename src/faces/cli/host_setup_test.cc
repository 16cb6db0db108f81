#include "faces/cli/host_setup.h"

#include <gtest/gtest.h>

#include <map>
#include <variant>

#include "config/node.h"

namespace cordon {
namespace {

ServerStart somewhere() {
  return {R"(/opt/a 'b' "c" \d/cordon)",
          R"(/home/ü/it's "here" #1)",
          {"/etc/c x.toml"},
          "full",
          "/home/u/.config/cordon"};
}

struct Started {
  std::string command;
  std::string arguments;  // joined by '|'
  std::size_t variables = 0;
};

// What a host reads from its configuration.
Started as_read(const std::string& host, const ServerStart& start) {
  const HostSetup setup = host_setup(host, start);
  const auto document = host == "codex" ? read_toml(setup.configuration.content, "c")
                                        : read_json(setup.configuration.content, "c");
  if (!document) return {setup.configuration.content, document.error().what};
  const std::map<std::string, const char*> keys{{"codex", "mcp_servers"},
                                                {"vscode", "servers"},
                                                {"zed", "context_servers"},
                                                {"opencode", "mcp"}};
  const auto other = keys.find(host);
  const char* key = other == keys.end() ? "mcpServers" : other->second;
  const Node* servers = document->find(key);
  const Node* entry = servers == nullptr ? nullptr : servers->find("cordon");
  if (entry == nullptr) return {};
  Started read;
  for (const auto& [name, member] : std::get<NodeMap>(entry->value)) {
    // One list of both.
    const NodeList* whole = name == "command" ? member.list() : nullptr;
    if (whole != nullptr) {
      read.command = std::get<std::string>(whole->front().value);
      for (std::size_t i = 1; i < whole->size(); ++i) {
        read.arguments.append(std::get<std::string>((*whole)[i].value)).append("|");
      }
    } else if (name == "command") {
      read.command = std::get<std::string>(member.value);
    }
    if (name == "env" || name == "environment")
      read.variables = std::get<NodeMap>(member.value).size();
    if (name != "args") continue;
    for (const Node& word : std::get<NodeList>(member.value)) {
      read.arguments.append(std::get<std::string>(word.value)).append("|");
    }
  }
  return read;
}

TEST(HostSetup, WritesEveryPathSoThatItComesBack) {
  for (const std::string_view host : flags::kPrintedHostChoices) {
    const ServerStart start = somewhere();
    const Started read = as_read(std::string(host), start);
    EXPECT_EQ(read.command, start.executable) << host;
    EXPECT_EQ(read.arguments,
              "mcp|--workspace|" + start.workspace + "|--ceiling|/etc/c x.toml|--profile|full|")
        << host;
    EXPECT_EQ(read.variables, 1U) << host;
  }
}

TEST(HostSetup, LeavesTheWorkspaceToTheHostIfNoneIsGiven) {
  ServerStart start = somewhere();
  start.workspace.clear();
  for (const std::string_view host : flags::kPrintedHostChoices) {
    const bool editor = host == "vscode" || host == "cursor";
    const std::string here = editor ? "${workspaceFolder}" : ".";
    EXPECT_TRUE(as_read(std::string(host), start).arguments.starts_with("mcp|--workspace|" + here))
        << host;
  }
}

TEST(HostSetup, KeepsWhatIsStartedNextTimeOutOfTheWorkspace) {
  EXPECT_EQ(host_setup("claude", somewhere()).configuration.path,
            "/home/u/.config/cordon/claude.json");
  EXPECT_EQ(host_setup("gemini", somewhere()).launch.back(),
            "/home/u/.config/cordon/gemini-policy.toml");
}

TEST(HostSetup, RefusesTextThatAHostWouldReadDifferently) {
  for (const std::string_view host : flags::kPrintedHostChoices) {
    EXPECT_TRUE(check_portable(host, "/a 'b' \"c\" \\ ü"));
    EXPECT_FALSE(check_portable(host, "/a\nb"));
    EXPECT_FALSE(check_portable(host, "/a\x7f"));
    EXPECT_FALSE(check_portable(host, "/a\xff"));
    EXPECT_EQ(check_portable(host, "/${HOME}/x").has_value(), host == "codex");
  }
}

}  // namespace
}  // namespace cordon
