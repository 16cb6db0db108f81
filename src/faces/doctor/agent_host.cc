#include "faces/doctor/agent_host.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/path.h"
#include "base/text.h"
#include "config/node.h"
#include "faces/doctor/host_hooks.h"
#include "faces/doctor/host_servers.h"
#include "faces/doctor/host_settings.h"

namespace cordon {
namespace {

OwnTools off_or_hooked(OwnTools by_settings, std::optional<OwnTools> hook) {
  if (by_settings.reach == ToolReach::Off || !hook) return by_settings;
  return std::move(*hook);
}

std::string from_environment(const HostPlaces& places, const std::string& name,
                             std::string otherwise) {
  const auto found = places.environment.find(name);
  return found == places.environment.end() || found->second.empty() ? std::move(otherwise)
                                                                    : found->second;
}

using Harmless = HookSwitch::Harmless;

// The settings of a project are a stranger's, and most hosts take them only in a folder that a
// person has trusted, which is not seen here. So nothing that they take away is certain to be gone,
// and what they give back counts. Hosts look for them in the project or in a directory above it:
// each is read.

// Copilot asks every hook of its directories about every tool, and a hook that fails refuses the
// call. One that takes too long does not: it must have more time than Cordon takes for itself.
void look_at_copilot(const HostPlaces& places, AgentHostLook& look) {
  constexpr std::array<std::string_view, 1> kShell{"bash"};
  constexpr std::array<HookSwitch, 1> kSwitches{{{"disableAllHooks"}}};
  const HookForm form{.host = "copilot",
                      .event = "preToolUse",
                      .shape = HookForm::Shape::Flat,
                      .failure = HookForm::Failure::RefusesCall,
                      .command = "bash",
                      .time = "timeoutSec",
                      .remarks = {},
                      .shell = kShell,
                      .switches = kSwitches};
  look.files = {ToolReach::Outside, "no setting of this host takes them away"};
  look.limit = "only its command line takes its tools away";
  const std::string directory = from_environment(places, "COPILOT_HOME", places.home + "/.copilot");
  SettingsFiles own(look);
  own.add_all_in(directory + "/hooks");
  SettingsFiles others(look);
  others.add(directory + "/config.json");
  others.add(directory + "/settings.json");
  for (const std::string& above : upward(places.project))
    others.add_all_in(above + "/.github/hooks");
  others.add_upward(places.project, ".github/copilot/settings.json");
  others.add_upward(places.project, ".github/copilot/settings.local.json");
  look.shell = by_hook(own.all(), others.all(), form)
                   .value_or(OwnTools{ToolReach::Outside, "no setting of this host takes it away"});
  if (look.shell.reach == ToolReach::Contained && !look.unread.empty()) {
    look.shell = {ToolReach::Outside, "settings that may switch the hook off cannot be read"};
  }
}

// Each host below: which of its settings take its shell and its file tools away.

// Claude Code keeps what a person allows a project in the first working tree of its repository.
void add_first_working_tree(SettingsFiles& files, const std::string& project) {
  const auto link = links_to_repository(project);
  if (!link) return;
  constexpr std::string_view kBegin = "gitdir: ";
  const std::size_t end = link->find("/.git/worktrees/");
  if (!link->starts_with(kBegin) || end == std::string::npos) return;
  const std::string first = link->substr(kBegin.size(), end - kBegin.size());
  files.add(first + "/.claude/settings.json");
  files.add(first + "/.claude/settings.local.json");
}

// The last of them is offered only where a variable asks for it.
constexpr std::array<std::string_view, 3> kClaudeShells{"Bash", "Monitor", "PowerShell"};

std::span<const std::string_view> claude_shell(const HostPlaces& places,
                                               std::span<const Settings> own,
                                               std::span<const Settings> project) {
  constexpr std::string_view kVariable = "CLAUDE_CODE_USE_POWERSHELL_TOOL";
  const auto asks = [&](const Settings& settings) {
    return at(settings.document, {"env", kVariable}) != nullptr;
  };
  const bool asked = !from_environment(places, std::string(kVariable), {}).empty() ||
                     std::ranges::any_of(own, asks) || std::ranges::any_of(project, asks);
  return std::span(kClaudeShells).first(asked ? 3 : 2);
}

HookForm claude_hook(std::span<const std::string_view> shell) {
  static constexpr std::array<std::string_view, 1> kRemarks{"statusMessage"};
  static constexpr std::array<HookSwitch, 1> kSwitches{{{"disableAllHooks"}}};
  return {.host = "claude",
          .event = "PreToolUse",
          .command = "command",
          .time = "timeout",
          .remarks = kRemarks,
          .shell = shell,
          .switches = kSwitches};
}

// `claude mcp add` writes servers into a file of its own, by itself or below the project, and into
// one of the project that others read too.
void name_servers_of_claude(const HostPlaces& places, const std::string& directory,
                            AgentHostLook& look) {
  SettingsFiles states(look);
  states.add(from_environment(places, "CLAUDE_CONFIG_DIR", places.home) + "/.claude.json");
  states.add(directory + "/.config.json");
  SettingsFiles servers(look);
  servers.add_upward(places.project, ".mcp.json");
  servers.add(places.system + "/claude-code/managed-mcp.json");
  name_servers(look, places, states.all(), "mcpServers");
  name_servers_of_project(look, places, states.all());
  name_servers(look, places, servers.all(), "mcpServers");
  std::vector<std::string> directories{directory};
  for (const std::string& above : upward(places.project)) {
    if (above + "/.claude" != directory) directories.push_back(above + "/.claude");
  }
  for (const std::string& place : directories) {
    for (const std::string_view kind : {"agents", "skills", "commands"}) {
      name_descriptions(look, join(place, kind));
    }
  }
}

bool is_false(const Node& value) {
  const bool* on = std::get_if<bool>(&value.value);
  return on != nullptr && !*on;
}

void look_at_claude(const HostPlaces& places, AgentHostLook& look) {
  constexpr std::array<std::string_view, 6> kFiles{"Read", "Edit",         "Write",
                                                   "Glob", "NotebookEdit", "Grep"};
  const std::string directory =
      from_environment(places, "CLAUDE_CONFIG_DIR", places.home + "/.claude");
  SettingsFiles own(look);
  own.add(directory + "/settings.json");
  const std::size_t person = own.all().size();
  own.add(places.system + "/claude-code/managed-settings.json");
  own.add_all_in(places.system + "/claude-code/managed-settings.d");
  SettingsFiles project(look);
  project.add_upward(places.project, ".claude/settings.json");
  project.add_upward(places.project, ".claude/settings.local.json");
  const auto managed = own.all().subspan(person);
  add_first_working_tree(project, places.project);
  const auto alone = [&](std::string_view key) {
    return std::ranges::any_of(managed, [&](const Settings& settings) {
      const Node* value = settings.document.find(key);
      return value != nullptr && !is_false(*value);
    });
  };
  const auto shell = claude_shell(places, own.all(), project.all());
  const auto persons = own.all().first(person);
  const bool hooks_alone = alone("allowManagedHooksOnly");
  // The person's own hooks count for nothing then, and may still be in the way.
  std::vector<Settings> others(project.all().begin(), project.all().end());
  if (hooks_alone) others.insert(others.end(), persons.begin(), persons.end());
  auto hook = by_hook(hooks_alone ? managed : own.all(), others, claude_hook(shell));
  const auto rules = alone("allowManagedPermissionRulesOnly") ? managed : own.all();
  look.shell = off_or_hooked(by_lists(rules, {"permissions", "deny"}, shell), std::move(hook));
  look.files = by_lists(rules, {"permissions", "deny"}, kFiles);
  for (const SettingsFiles* files : {&own, &project}) {
    name_servers(look, places, files->all(), "mcpServers");
    name_plugins(look, files->all(), "enabledPlugins");
  }
  name_servers_of_claude(places, directory, look);
}

bool is_read_only(const Node& value) {
  return value.text() != nullptr && *value.text() == "read-only";
}

void look_at_codex(const HostPlaces& places, AgentHostLook& look) {
  SettingsFiles own(look);
  own.add(from_environment(places, "CODEX_HOME", places.home + "/.codex") + "/config.toml");
  SettingsFiles others(look);
  others.add(places.system + "/codex/config.toml");
  others.add(places.system + "/codex/managed_config.toml");
  others.add_upward(places.project, ".codex/config.toml");
  std::string where;
  const auto is = [&](std::initializer_list<std::string_view> keys, bool (*wanted)(const Node&)) {
    const Node* here = last_value(own.all(), keys, where);
    return here != nullptr && wanted(*here) &&
           std::ranges::all_of(others.all(), [&](const Settings& settings) {
             const Node* there = at(settings.document, keys);
             return there == nullptr || wanted(*there);
           });
  };
  look.shell = {ToolReach::Outside,
                "features.shell_tool and features.unified_exec are not both false"};
  if (is({"features", "shell_tool"}, is_false) && is({"features", "unified_exec"}, is_false)) {
    look.shell = {ToolReach::Off,
                  "features.shell_tool and features.unified_exec are false in " + quote(where)};
  }
  if (look.shell.reach == ToolReach::Outside && names_hook(own.all(), "PreToolUse", "codex")) {
    look.shell.why = "its hook counts only once Codex was told to trust it, which is not seen here";
  }
  look.files = {ToolReach::Outside, "sandbox_mode is not \"read-only\""};
  if (is({"sandbox_mode"}, is_read_only)) {
    look.files = {ToolReach::Off, "sandbox_mode in " + quote(where) + " refuses what they write"};
  }
  for (const SettingsFiles* files : {&own, &others}) {
    name_servers(look, places, files->all(), "mcp_servers");
    name_plugins(look, files->all(), "plugins");
    for (const std::string_view feature :
         {"apps", "plugins", "browser_use", "computer_use", "js_repl"}) {
      name_bringing_tools(look, files->all(), {"features", feature});
    }
    // A profile has values of its own for all of these.
    if (last_value(files->all(), {"profile"}, where) == nullptr) continue;
    look.shell =
        look.files = {ToolReach::Outside, "profile in " + quote(where) + " may give it back"};
  }
}

constexpr std::array<std::string_view, 1> kGeminiShell{"run_shell_command"};

HookForm gemini_hook() {
  static constexpr std::array<std::string_view, 2> kRemarks{"name", "description"};
  // Those of older versions stand beside the events and the tools.
  static constexpr std::array<HookSwitch, 5> kSwitches{{
      {"hooksConfig", "enabled", Harmless::True},
      {"hooksConfig", "disabled", Harmless::EmptyList},
      {"hooks", "enabled", Harmless::True},
      {"hooks", "disabled", Harmless::EmptyList},
      {"tools", "enableHooks", Harmless::True},
  }};
  return {.host = "gemini",
          .event = "BeforeTool",
          .command = "command",
          .time = "timeout",
          .half_minute = 30'000,
          .remarks = kRemarks,
          .shell = kGeminiShell,
          .switches = kSwitches};
}

// Gemini CLI asks no hook at all, the person's neither, in a folder that it was not told to trust.
bool is_trusted(std::span<const Settings> lists, const std::string& project) {
  bool trusted = false;
  for (const Settings& list : lists) {
    if (list.document.map() == nullptr) return false;
    for (const auto& [folder, value] : *list.document.map()) {
      const std::string path = normalize(folder);
      if (!contains(path, project)) continue;
      if (value.text() == nullptr || *value.text() != "TRUST_FOLDER") return false;
      trusted = true;
    }
  }
  return trusted;
}

std::optional<OwnTools> gemini_hooked(const HostPlaces& places, std::span<const Settings> own,
                                      std::span<const Settings> project, AgentHostLook& look) {
  auto hook = by_hook(own, project, gemini_hook());
  if (!hook || hook->reach != ToolReach::Contained) return hook;
  SettingsFiles trust(look);
  trust.add(from_environment(
      places, "GEMINI_CLI_TRUSTED_FOLDERS_PATH",
      from_environment(places, "GEMINI_CLI_HOME", places.home) + "/.gemini/trustedFolders.json"));
  if (is_trusted(trust.all(), places.project)) return hook;
  return OwnTools{ToolReach::Outside,
                  "its hook is asked only in a folder that Gemini CLI was told to trust: start it "
                  "here and answer its question with yes"};
}

// What the settings of Gemini CLI and of its kin name besides the tools of the host itself.
void name_further_tools(AgentHostLook& look, const HostPlaces& places,
                        std::span<const Settings> files) {
  name_servers(look, places, files, "mcpServers");
  for (const auto& keys : {std::array<std::string_view, 2>{"tools", "discoveryCommand"},
                           {"tools", "callCommand"},
                           {"mcp", "serverCommand"}}) {
    name_bringing_tools(look, files, {keys[0], keys[1]});
  }
  for (const std::string_view key :
       {"toolDiscoveryCommand", "toolCallCommand", "mcpServerCommand"}) {
    name_bringing_tools(look, files, {key});
  }
}

void look_at_gemini(const HostPlaces& places, AgentHostLook& look) {
  constexpr std::array<std::string_view, 6> kFiles{"replace", "write_file",     "read_file",
                                                   "glob",    "list_directory", "grep_search"};
  const std::string home = from_environment(places, "GEMINI_CLI_HOME", places.home) + "/.gemini";
  SettingsFiles own(look);
  own.add(from_environment(places, "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
                           places.system + "/gemini-cli/system-defaults.json"));
  own.add(home + "/settings.json");
  own.add(from_environment(places, "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
                           places.system + "/gemini-cli/settings.json"));
  SettingsFiles project(look);
  project.add_upward(places.project, ".gemini/settings.json");
  look.shell = off_or_hooked(by_lists(own.all(), {"tools", "exclude"}, kGeminiShell),
                             gemini_hooked(places, own.all(), project.all(), look));
  look.files = by_lists(own.all(), {"tools", "exclude"}, kFiles);
  name_further_tools(look, places, own.all());
  name_further_tools(look, places, project.all());
  name_extensions(look, home + "/extensions");
  name_descriptions(look, home + "/agents");
  for (const std::string& above : upward(places.project)) {
    if (above + "/.gemini" == home) continue;
    name_extensions(look, above + "/.gemini/extensions");
    name_descriptions(look, above + "/.gemini/agents");
  }
}

// Whether a list adds to those of other files or stands in their place differs with the version of
// Qwen Code. So the last one of the person and the system names all by itself, and none of the
// project names less.
OwnTools by_list_of_qwen(std::span<const Settings> own, std::span<const Settings> project,
                         std::span<const std::string_view> names) {
  const auto lists = [](const Settings& settings) {
    return at(settings.document, {"tools", "exclude"}) != nullptr;
  };
  for (const Settings& settings : project) {
    if (!lists(settings)) continue;
    if (by_lists({&settings, 1}, {"tools", "exclude"}, names).reach == ToolReach::Off) continue;
    return {ToolReach::Outside, "tools.exclude in " + quote(settings.path) +
                                    " names less, and may stand in the place of the person's"};
  }
  std::span<const Settings> last;
  for (const Settings& settings : own) {
    if (lists(settings)) last = {&settings, 1};
  }
  return by_lists(last, {"tools", "exclude"}, names);
}

void look_at_qwen(const HostPlaces& places, AgentHostLook& look) {
  constexpr std::array<std::string_view, 2> kShell{"run_shell_command", "monitor"};
  constexpr std::array<std::string_view, 6> kFiles{"edit", "write_file",     "read_file",
                                                   "glob", "list_directory", "grep_search"};
  const std::string home = from_environment(places, "QWEN_HOME", places.home + "/.qwen");
  SettingsFiles own(look);
  own.add(from_environment(places, "QWEN_CODE_SYSTEM_DEFAULTS_PATH",
                           places.system + "/qwen-code/system-defaults.json"));
  own.add(home + "/settings.json");
  own.add(from_environment(places, "QWEN_CODE_SYSTEM_SETTINGS_PATH",
                           places.system + "/qwen-code/settings.json"));
  SettingsFiles project(look);
  project.add_upward(places.project, ".qwen/settings.json");
  project.add_upward(places.project, ".mcp.json");
  look.shell = by_list_of_qwen(own.all(), project.all(), kShell);
  look.files = by_list_of_qwen(own.all(), project.all(), kFiles);
  name_further_tools(look, places, own.all());
  name_further_tools(look, places, project.all());
  name_extensions(look, home + "/extensions");
  name_descriptions(look, home + "/agents");
  for (const std::string& above : upward(places.project)) {
    if (above + "/.qwen" == home) continue;
    name_extensions(look, above + "/.qwen/extensions");
    name_descriptions(look, above + "/.qwen/agents");
  }
}

// Whether the name of a permission may stand for a tool: it may hold '*' and '?'.
bool may_stand_for(std::string_view name, std::string_view tool) {
  const std::size_t any = name.find_first_of("*?");
  return any == std::string_view::npos ? name == tool : tool.starts_with(name.substr(0, any));
}

// Which of several permissions wins depends on the order in which files were put together, so each
// that may stand for a tool denies it.
OwnTools by_permission(std::span<const Settings> files, std::span<const std::string_view> tools) {
  std::string where;
  for (const std::string_view tool : tools) {
    bool denied = false;
    for (const Settings& settings : files) {
      const Node* permission = settings.document.find("permission");
      if (permission == nullptr) continue;
      const NodeMap all{{"*", *permission}};
      for (const auto& [name, value] : permission->map() == nullptr ? all : *permission->map()) {
        if (!may_stand_for(name, tool)) continue;
        if (value.text() == nullptr || *value.text() != "deny") {
          return {ToolReach::Outside, "permission in " + quote(settings.path) + " says of " +
                                          shown(name) + " something else than \"deny\""};
        }
        if (name != "*" && name != tool) continue;
        denied = true;
        where = settings.path;
      }
    }
    if (!denied) {
      return {ToolReach::Outside, "permission of its settings does not deny " + std::string(tool)};
    }
  }
  return {ToolReach::Off, "permission in " + quote(where) + " denies " + joined(tools)};
}

// What may give back what the permissions take away, or act by itself: agents have permissions of
// their own, plugins and tools are programs that run in the host.
std::optional<std::string> opencode_gives_back(const HostPlaces& places,
                                               std::span<const Settings> files,
                                               std::span<const std::string> directories,
                                               AgentHostLook& look) {
  for (const Settings& settings : files) {
    for (const std::string_view key : {"agent", "mode", "tools", "plugin"}) {
      if (settings.document.find(key) == nullptr) continue;
      return std::string(key) + " in " + quote(settings.path);
    }
  }
  for (const std::string& directory : directories) {
    for (const std::string_view kind :
         {"agent", "agents", "mode", "modes", "plugin", "plugins", "tool", "tools"}) {
      const std::string path = join(directory, kind);
      if (!names_in(look, path).empty()) return "what lies in " + quote(path);
    }
  }
  for (const std::string_view name :
       {"OPENCODE_CONFIG_CONTENT", "OPENCODE_CONFIG_DIR", "OPENCODE_PERMISSION"}) {
    if (!from_environment(places, std::string(name), {}).empty()) {
      return "the variable " + std::string(name);
    }
  }
  return std::nullopt;
}

void look_at_opencode(const HostPlaces& places, AgentHostLook& look) {
  constexpr std::array<std::string_view, 1> kShell{"bash"};
  constexpr std::array<std::string_view, 5> kFiles{"edit", "read", "list", "glob", "grep"};
  std::vector<std::string> directories{
      from_environment(places, "XDG_CONFIG_HOME", places.home + "/.config") + "/opencode",
      places.home + "/.opencode", places.system + "/opencode"};
  for (const std::string& above : upward(places.project)) {
    directories.push_back(above + "/.opencode");
  }
  SettingsFiles files(look);
  files.add(directories.front() + "/config.json");
  const std::string named = from_environment(places, "OPENCODE_CONFIG", {});
  if (!named.empty()) files.add(named);
  for (const std::string_view name : {"opencode.json", "opencode.jsonc"}) {
    for (const std::string& directory : directories) files.add(join(directory, name));
    files.add_upward(places.project, name);
  }
  look.shell = by_permission(files.all(), kShell);
  look.files = by_permission(files.all(), kFiles);
  if (const auto what = opencode_gives_back(places, files.all(), directories, look)) {
    look.shell = look.files = {ToolReach::Outside, *what + " may give it back"};
  }
  name_servers(look, places, files.all(), "mcp");
}

void look_at_cursor(const HostPlaces& places, AgentHostLook& look) {
  constexpr std::array<std::string_view, 1> kShell{"Shell(*)"};
  constexpr std::array<std::string_view, 2> kFiles{"Read(**)", "Write(**)"};
  SettingsFiles files(look);
  files.add(places.home + "/.cursor/cli-config.json");
  files.add(places.project + "/.cursor/cli.json");
  look.shell = by_lists(files.all(), {"permissions", "deny"}, kShell);
  look.files = by_lists(files.all(), {"permissions", "deny"}, kFiles);
  look.limit = "in the editor its own tools cannot be taken away; this is the command line";
}

void look_at_zed(const HostPlaces& places, AgentHostLook& look) {
  SettingsFiles files(look);
  files.add(places.home + "/.config/zed/settings.json");
  std::string where;
  const Node* name = last_value(files.all(), {"agent", "default_profile"}, where);
  const Node* profile = name == nullptr || name->text() == nullptr
                            ? nullptr
                            : last_value(files.all(), {"agent", "profiles", *name->text()}, where);
  const Node* tools = profile == nullptr ? nullptr : profile->find("tools");
  const bool none = tools != nullptr && tools->map() != nullptr &&
                    std::ranges::none_of(*tools->map(), [](const auto& tool) {
                      const bool* on = std::get_if<bool>(&tool.second.value);
                      return on == nullptr || *on;
                    });
  look.shell = {ToolReach::Outside, "no default profile without tools was found"};
  if (none)
    look.shell = {ToolReach::Off, "the default profile in " + quote(where) + " has no tools"};
  look.files = look.shell;
  name_servers(look, places, files.all(), "context_servers");
  look.limit = "a person can switch to a profile that has the editor's own tools";
}

void look_at_desktop(const HostPlaces& places, AgentHostLook& look) {
  SettingsFiles files(look);
  files.add(places.home + "/.config/Claude/claude_desktop_config.json");
  look.shell = {ToolReach::Off, "it has none of its own"};
  look.files = look.shell;
  name_servers(look, places, files.all(), "mcpServers");
  look.limit = "extensions bring tools of their own, and are not looked at";
}

void look_nowhere(AgentHostLook& look, std::string limit) {
  look.shell = {ToolReach::Outside, "no setting of this host takes it away"};
  look.files = {ToolReach::Outside, "no setting of this host takes them away"};
  look.limit = std::move(limit);
}

}  // namespace

std::string_view name_of(ToolReach reach) {
  switch (reach) {
    case ToolReach::Outside:
      return "outside";
    case ToolReach::Contained:
      return "contained";
    case ToolReach::Off:
      return "off";
  }
  return "";
}

bool AgentHostLook::excludes_bypass() const {
  return shell.reach != ToolReach::Outside && files.reach == ToolReach::Off && limit.empty() &&
         unread.empty() && servers.empty() &&
         std::ranges::none_of(running, [](const HostProcess& process) {
           return process.in_project && process.words == ProcessWords::Own;
         });
}

AgentHostLook look_at_host(std::string_view host, const std::vector<std::string>& launch,
                           const HostPlaces& places) {
  AgentHostLook look;
  if (host == "claude") {
    look_at_claude(places, look);
  } else if (host == "codex") {
    look_at_codex(places, look);
  } else if (host == "gemini") {
    look_at_gemini(places, look);
  } else if (host == "qwen") {
    look_at_qwen(places, look);
  } else if (host == "opencode") {
    look_at_opencode(places, look);
  } else if (host == "cursor") {
    look_at_cursor(places, look);
  } else if (host == "zed") {
    look_at_zed(places, look);
  } else if (host == "claude-desktop") {
    look_at_desktop(places, look);
  } else if (host == "copilot") {
    look_at_copilot(places, look);
  } else if (host == "vscode") {
    look_nowhere(look, "a person can choose an agent that has the editor's own tools");
  } else if (host == "windsurf") {
    look_nowhere(look, "the editor's own tools cannot be taken away");
  } else {
    look_nowhere(look, "where a host that is not known keeps its settings is not known either");
  }
  look.running = running_hosts(launch, places.project);
  return look;
}

}  // namespace cordon
