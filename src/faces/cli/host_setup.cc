#include "faces/cli/host_setup.h"

#include <algorithm>

#include "base/check.h"
#include "base/path.h"
#include "base/text.h"
#include "config/node.h"

namespace cordon {
namespace {

constexpr std::int64_t kCallMilliseconds = 600'000;
constexpr std::string_view kUntried =
    "this follows the documentation of the host and was not tried with it: look at the tools that "
    "it offers";

NodeList arguments(const ServerStart& start, std::string_view here) {
  NodeList words{Node("mcp"), Node("--workspace"),
                 start.workspace.empty() ? Node(here) : Node(start.workspace)};
  for (const std::string& ceiling : start.ceilings) {
    words.emplace_back("--ceiling");
    words.emplace_back(ceiling);
  }
  if (!start.profile.empty()) {
    words.emplace_back("--profile");
    words.emplace_back(start.profile);
  }
  if (!start.backend.empty()) {
    words.emplace_back("--backend");
    words.emplace_back(start.backend);
  }
  if (start.session) words.emplace_back("--session");
  if (start.stage) words.emplace_back("--stage");
  return words;
}

Node environment(const ServerStart& start) {
  Node variables(NodeMap{{"CORDON_ENABLE_RUN_CODE", Node("1")}});
  if (!start.env_file.empty()) variables.set("CORDON_ENV_FILE", Node(start.env_file));
  return variables;
}

Node entry_of(const ServerStart& start, std::string_view here, NodeMap more) {
  NodeMap entry{{"command", Node(start.executable)},
                {"args", Node(arguments(start, here))},
                {"env", environment(start)}};
  for (auto& member : more) entry.push_back(std::move(member));
  return Node(std::move(entry));
}

// {"mcpServers": {"cordon": {...}}}, with what this host adds to the entry.
std::string servers(std::string_view key, const ServerStart& start, std::string_view here,
                    NodeMap more) {
  Node document{NodeMap{}};
  document.set(std::string(key), Node(NodeMap{{"cordon", entry_of(start, here, std::move(more))}}));
  return write_json(document, JsonStyle::Pretty) + "\n";
}

HostSetup claude(const ServerStart& start) {
  const std::string file = join(start.safe_directory, "claude.json");
  return {{file, servers("mcpServers", start, ".",
                         {{"type", Node("stdio")},
                          {"alwaysLoad", Node(true)},
                          {"timeout", Node(kCallMilliseconds)}})},
          {},
          {"claude", "--tools", "", "--strict-mcp-config", "--mcp-config", file, "--allowedTools",
           "mcp__cordon__*"},
          {}};
}

HostSetup codex(const ServerStart& start) {
  std::string text =
      "approval_policy = \"never\"\n"
      "sandbox_mode = \"read-only\"\n"
      "web_search = \"disabled\"\n"
      "\n[features]\n";
  for (const std::string_view feature :
       {"shell_tool", "unified_exec", "multi_agent", "view_image", "goals", "apps", "plugins",
        "browser_use", "computer_use", "image_generation"}) {
    text.append(feature).append(" = false\n");
  }
  text.append("\n[mcp_servers.cordon]\ncommand = ").append(write_toml_value(start.executable));
  text.append("\nargs = ").append(write_toml_value(arguments(start, ".")));
  text.append("\nenv = ").append(write_toml_value(environment(start)));
  text.append(
      "\nstartup_timeout_sec = 10\n"
      "tool_timeout_sec = 600\n"
      "default_tools_approval_mode = \"approve\"\n"
      "required = true\n");
  return {{"~/.codex/config.toml", std::move(text)},
          {},
          {"codex"},
          {"models that bring apply_patch keep it; sandbox_mode \"read-only\" refuses its writes"}};
}

HostSetup copilot(const ServerStart& start) {
  return {{"~/.copilot/mcp-config.json", servers("mcpServers", start, ".",
                                                 {{"type", Node("local")},
                                                  {"tools", Node(NodeList{Node("*")})},
                                                  {"timeout", Node(kCallMilliseconds)}})},
          {},
          {"copilot", "--available-tools=cordon", "--allow-tool=cordon", "--disable-builtin-mcps"},
          {}};
}

HostSetup gemini(const ServerStart& start) {
  const std::string policy = join(start.safe_directory, "gemini-policy.toml");
  return {{".gemini/settings.json",
           servers("mcpServers", start, ".",
                   {{"timeout", Node(kCallMilliseconds)}, {"trust", Node(true)}})},
          {{policy,
            "[[rule]]\n"
            "toolName = \"*\"\n"
            "decision = \"deny\"\n"
            "priority = 100\n"
            "\n[[rule]]\n"
            "mcpName = \"cordon\"\n"
            "toolName = \"*\"\n"
            "decision = \"allow\"\n"
            "priority = 200\n"}},
          {"gemini", "--admin-policy", policy},
          {"the project has to be a trusted folder: answer its question at the first start with "
           "yes, or its settings are not read"}};
}

HostSetup vscode(const ServerStart& start) {
  return {{".vscode/mcp.json",
           servers("servers", start, "${workspaceFolder}", {{"type", Node("stdio")}})},
          {{".github/agents/cordon.agent.md",
            "---\n"
            "description: Works through Cordon's contained tools alone\n"
            "tools: ['cordon/*']\n"
            "agents: []\n"
            "---\n"}},
          {"code", "."},
          {std::string(kUntried),
           "choose the agent cordon; a person can switch to one that has the editor's own tools",
           "do not set sandboxEnabled for this server: one sandbox cannot be made inside another"}};
}

HostSetup cursor(const ServerStart& start) {
  Node denied{NodeMap{}};
  denied.set("allow", Node(NodeList{Node("Mcp(cordon:*)")}))
      .set("deny", Node(NodeList{Node("Shell(*)"), Node("Read(**)"), Node("Write(**)")}));
  return {
      {".cursor/mcp.json", servers("mcpServers", start, "${workspaceFolder}", {})},
      {{".cursor/cli.json",
        write_json(Node(NodeMap{{"permissions", std::move(denied)}}), JsonStyle::Pretty) + "\n"}},
      {"cursor-agent"},
      {std::string(kUntried),
       "this holds for the command line; the editor's own tools cannot be taken away"}};
}

// Denied by name where only names can be: what a later version adds is there.
HostSetup qwen(const ServerStart& start) {
  const std::string file = join(start.safe_directory, "qwen.json");
  NodeList own;
  for (const std::string_view tool :
       {"run_shell_command", "edit", "write_file", "read_file", "read_many_files", "glob",
        "grep_search", "search_file_content", "list_directory", "web_fetch", "web_search",
        "save_memory", "task", "agent", "monitor"}) {
    own.emplace_back(tool);
  }
  Node document{NodeMap{}};
  document
      .set("mcpServers", Node(NodeMap{{"cordon", entry_of(start, ".",
                                                          {{"timeout", Node(kCallMilliseconds)},
                                                           {"trust", Node(true)}})}}))
      .set("tools", Node(NodeMap{{"exclude", Node(std::move(own))}}));
  return {{file, write_json(document, JsonStyle::Pretty) + "\n"},
          {},
          {"env", "QWEN_CODE_SYSTEM_SETTINGS_PATH=" + file, "qwen"},
          {}};
}

HostSetup opencode(const ServerStart& start) {
  const std::string file = join(start.safe_directory, "opencode.json");
  NodeList command{Node(start.executable)};
  for (Node& word : arguments(start, ".")) command.push_back(std::move(word));
  Node server{NodeMap{{"type", Node("local")},
                      {"command", Node(std::move(command))},
                      {"environment", environment(start)},
                      {"enabled", Node(true)},
                      {"timeout", Node(kCallMilliseconds)}}};
  Node document{NodeMap{}};
  document.set("$schema", Node("https://opencode.ai/config.json"))
      .set("mcp", Node(NodeMap{{"cordon", std::move(server)}}))
      .set("permission", Node(NodeMap{{"*", Node("deny")}, {"cordon_*", Node("allow")}}));
  return {{file, write_json(document, JsonStyle::Pretty) + "\n"},
          {},
          {"env", "OPENCODE_CONFIG=" + file, "opencode"},
          {"an opencode.json of the project counts as well, and can give tools back"}};
}

HostSetup zed(const ServerStart& start) {
  Node profile{NodeMap{{"name", Node("Cordon")},
                       {"tools", Node(NodeMap{})},
                       {"enable_all_context_servers", Node(true)}}};
  Node document{NodeMap{}};
  document
      .set("context_servers",
           Node(NodeMap{{"cordon", entry_of(start, ".", {{"source", Node("custom")}})}}))
      .set("agent", Node(NodeMap{{"default_profile", Node("cordon")},
                                 {"profiles", Node(NodeMap{{"cordon", std::move(profile)}})}}));
  return {{"~/.config/zed/settings.json", write_json(document, JsonStyle::Pretty) + "\n"},
          {},
          {},
          {std::string(kUntried), "add these members to the file that is there",
           "a person can switch to a profile that has the editor's own tools"}};
}

HostSetup windsurf(const ServerStart& start) {
  return {{"~/.codeium/windsurf/mcp_config.json", servers("mcpServers", start, ".", {})},
          {},
          {},
          {std::string(kUntried), "the editor's own tools cannot be taken away"}};
}

HostSetup claude_desktop(const ServerStart& start) {
  return {{"~/.config/Claude/claude_desktop_config.json", servers("mcpServers", start, ".", {})},
          {},
          {},
          {std::string(kUntried),
           "on macOS the file is ~/Library/Application Support/Claude/claude_desktop_config.json",
           "it has no shell and no file tools of its own; extensions and other servers may"}};
}

// As most hosts read it.
HostSetup generic(const ServerStart& start) {
  return {
      {join(start.safe_directory, "mcp.json"), servers("mcpServers", start, ".", {})},
      {},
      {},
      {"name that file to your host, or save it where it reads its servers from, outside of the "
       "project",
       "take the host's own shell and file tools away: they are not contained"}};
}

}  // namespace

HostSetup host_setup(std::string_view host, const ServerStart& start) {
  if (host == "claude") return claude(start);
  if (host == "codex") return codex(start);
  if (host == "copilot") return copilot(start);
  if (host == "gemini") return gemini(start);
  if (host == "vscode") return vscode(start);
  if (host == "cursor") return cursor(start);
  if (host == "opencode") return opencode(start);
  if (host == "qwen") return qwen(start);
  if (host == "windsurf") return windsurf(start);
  if (host == "zed") return zed(start);
  if (host == "claude-desktop") return claude_desktop(start);
  if (host == "generic") return generic(start);
  CORDON_BUG("no such host");
}

bool starts_anywhere(std::string_view host) {
  return host == "windsurf" || host == "zed" || host == "claude-desktop";
}

Result<HostSetup> checked_host_setup(std::string_view host, const ServerStart& start) {
  const auto& known = flags::kPrintedHostChoices;
  if (std::ranges::find(known, host) == known.end()) {
    std::string names;
    for (const std::string_view name : known) {
      names.append(names.empty() ? "" : name == known.back() ? " or " : ", ").append(name);
    }
    return fail(usage_error("no host is called " + quote(host), "write " + names));
  }
  if (start.workspace.empty() && starts_anywhere(host)) {
    return fail(usage_error(std::string(host) + " does not start a server in the project",
                            "name the project: --workspace DIR"));
  }
  for (const std::string* text :
       {&start.executable, &start.workspace, &start.safe_directory, &start.env_file}) {
    CORDON_CHECK(check_portable(host, *text));
  }
  for (const std::string& ceiling : start.ceilings) CORDON_CHECK(check_portable(host, ceiling));
  return host_setup(host, start);
}

Result<void> check_portable(std::string_view host, std::string_view text) {
  const bool controls = std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
  if (controls || !is_valid_utf8(text)) {
    return fail(usage_error(quote(text) + " cannot be written into a configuration",
                            "use a path without control characters, in UTF-8"));
  }
  if (host != "codex" && text.find('$') != std::string_view::npos) {
    return fail(usage_error(quote(text) + " holds a $, which this host reads as a variable",
                            "use another path"));
  }
  return {};
}

}  // namespace cordon
