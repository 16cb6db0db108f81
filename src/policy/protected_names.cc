#include "policy/protected_names.h"

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "policy/deny_index.h"

namespace cordon {
namespace {

constexpr auto kHold = HoldAction::Hold;
constexpr auto kReport = HoldAction::Report;
constexpr bool kAnywhere = false;
constexpr bool kHomeOnly = true;

// Start-up files are held at any depth, not in a home alone: a tree of dotfiles is linked into it.
constexpr std::array kTable{
    // Git.
    ProtectedName{".git/hooks", HoldKind::Git, kHold, kAnywhere, "git runs hooks"},
    ProtectedName{".git/config", HoldKind::Git, kHold, kAnywhere,
                  "core.fsmonitor, aliases and drivers in it run commands"},
    ProtectedName{".git/config.worktree", HoldKind::Git, kHold, kAnywhere,
                  "read like config where extensions.worktreeConfig is set"},
    ProtectedName{".git/commondir", HoldKind::Git, kHold, kAnywhere,
                  "git status takes config and hooks from where it leads"},
    ProtectedName{".gitconfig", HoldKind::Git, kHold, kAnywhere,
                  "aliases, pagers, filters and signing programs in it are run by git"},
    ProtectedName{".config/git", HoldKind::Git, kHold, kHomeOnly,
                  "the second place of the user's git configuration"},
    // git submodule add writes it, and git copies nothing from it that runs without being asked.
    ProtectedName{".gitmodules", HoldKind::Git, kReport, kAnywhere,
                  "git fetches submodules from the addresses in it"},

    // Read by a hook that is installed once: the next git commit runs what they name.
    ProtectedName{".pre-commit-config.yaml", HoldKind::Git, kHold, kAnywhere,
                  "the hook of pre-commit runs the programs it names"},
    ProtectedName{"lefthook.yml", HoldKind::Git, kHold, kAnywhere,
                  "the hooks of lefthook run the commands in it"},
    ProtectedName{"lefthook.yaml", HoldKind::Git, kHold, kAnywhere,
                  "the hooks of lefthook run the commands in it"},
    ProtectedName{".lefthook.yml", HoldKind::Git, kHold, kAnywhere,
                  "the hooks of lefthook run the commands in it"},
    ProtectedName{".lefthook.yaml", HoldKind::Git, kHold, kAnywhere,
                  "the hooks of lefthook run the commands in it"},
    ProtectedName{"lefthook.toml", HoldKind::Git, kHold, kAnywhere,
                  "the hooks of lefthook run the commands in it"},
    ProtectedName{"lefthook.json", HoldKind::Git, kHold, kAnywhere,
                  "the hooks of lefthook run the commands in it"},
    ProtectedName{"lefthook-local.yml", HoldKind::Git, kHold, kAnywhere,
                  "read by the hooks of lefthook beside lefthook.yml"},
    ProtectedName{".lefthook", HoldKind::Git, kHold, kAnywhere,
                  "the hooks of lefthook run the scripts in it"},
    ProtectedName{".lefthook-local.yml", HoldKind::Git, kHold, kAnywhere,
                  "read by the hooks of lefthook beside lefthook.yml"},
    ProtectedName{"lefthook-local.yaml", HoldKind::Git, kHold, kAnywhere,
                  "read by the hooks of lefthook beside lefthook.yml"},
    ProtectedName{".lefthook-local.yaml", HoldKind::Git, kHold, kAnywhere,
                  "read by the hooks of lefthook beside lefthook.yml"},
    ProtectedName{".lefthook.toml", HoldKind::Git, kHold, kAnywhere,
                  "the hooks of lefthook run the commands in it"},
    ProtectedName{"lefthook-local.toml", HoldKind::Git, kHold, kAnywhere,
                  "read by the hooks of lefthook beside lefthook.yml"},
    ProtectedName{".lefthook-local.toml", HoldKind::Git, kHold, kAnywhere,
                  "read by the hooks of lefthook beside lefthook.yml"},
    ProtectedName{".lefthook.json", HoldKind::Git, kHold, kAnywhere,
                  "the hooks of lefthook run the commands in it"},
    ProtectedName{"lefthook-local.json", HoldKind::Git, kHold, kAnywhere,
                  "read by the hooks of lefthook beside lefthook.yml"},
    ProtectedName{".lefthook-local.json", HoldKind::Git, kHold, kAnywhere,
                  "read by the hooks of lefthook beside lefthook.yml"},
    ProtectedName{"lefthook.jsonc", HoldKind::Git, kHold, kAnywhere,
                  "the hooks of lefthook run the commands in it"},
    ProtectedName{".lefthook.jsonc", HoldKind::Git, kHold, kAnywhere,
                  "the hooks of lefthook run the commands in it"},
    ProtectedName{"lefthook-local.jsonc", HoldKind::Git, kHold, kAnywhere,
                  "read by the hooks of lefthook beside lefthook.yml"},
    ProtectedName{".lefthook-local.jsonc", HoldKind::Git, kHold, kAnywhere,
                  "read by the hooks of lefthook beside lefthook.yml"},
    ProtectedName{".lefthook-local", HoldKind::Git, kHold, kAnywhere,
                  "the hooks of lefthook run the scripts in it"},
    // Its core.hooksPath is .husky/_, which holds nothing but calls of what lies beside it.
    ProtectedName{".husky", HoldKind::Git, kHold, kAnywhere,
                  "the hooks of husky run the scripts in it"},

    // Shells and what they read at start.
    ProtectedName{".bashrc", HoldKind::Shell, kHold, kAnywhere, "bash runs it at every start"},
    ProtectedName{".bash_profile", HoldKind::Shell, kHold, kAnywhere, "bash runs it at login"},
    ProtectedName{".bash_login", HoldKind::Shell, kHold, kAnywhere, "bash runs it at login"},
    ProtectedName{".bash_logout", HoldKind::Shell, kHold, kAnywhere, "bash runs it at logout"},
    ProtectedName{".bash_aliases", HoldKind::Shell, kHold, kAnywhere,
                  "the stock .bashrc of Debian runs it"},
    ProtectedName{".profile", HoldKind::Shell, kHold, kAnywhere,
                  "login shells and display managers run it"},
    ProtectedName{".zshrc", HoldKind::Shell, kHold, kAnywhere, "zsh runs it at every start"},
    ProtectedName{".zshenv", HoldKind::Shell, kHold, kAnywhere, "zsh runs it even for scripts"},
    ProtectedName{".zprofile", HoldKind::Shell, kHold, kAnywhere, "zsh runs it at login"},
    ProtectedName{".zlogin", HoldKind::Shell, kHold, kAnywhere, "zsh runs it at login"},
    ProtectedName{".zlogout", HoldKind::Shell, kHold, kAnywhere, "zsh runs it at logout"},
    ProtectedName{".inputrc", HoldKind::Shell, kHold, kAnywhere,
                  "readline binds keys to commands by it"},
    ProtectedName{".kshrc", HoldKind::Shell, kHold, kAnywhere, "ksh runs it at start"},
    ProtectedName{".mkshrc", HoldKind::Shell, kHold, kAnywhere, "mksh runs it at start"},
    ProtectedName{".cshrc", HoldKind::Shell, kHold, kAnywhere, "csh runs it at start"},
    ProtectedName{".tcshrc", HoldKind::Shell, kHold, kAnywhere, "tcsh runs it at start"},
    ProtectedName{".login", HoldKind::Shell, kHold, kAnywhere, "csh runs it at login"},
    ProtectedName{".logout", HoldKind::Shell, kHold, kAnywhere, "csh runs it at logout"},
    ProtectedName{".xprofile", HoldKind::Shell, kHold, kAnywhere,
                  "display managers run it at login"},
    ProtectedName{".xinitrc", HoldKind::Shell, kHold, kAnywhere, "startx runs it"},
    ProtectedName{".xsession", HoldKind::Shell, kHold, kAnywhere,
                  "display managers run it as the session"},
    ProtectedName{".xsessionrc", HoldKind::Shell, kHold, kAnywhere,
                  "Debian's X session runs it at login"},
    ProtectedName{".pam_environment", HoldKind::Shell, kHold, kAnywhere,
                  "sets loader variables for every login"},
    ProtectedName{"config.fish", HoldKind::Shell, kHold, kAnywhere, "fish runs it at every start"},
    ProtectedName{"fish/conf.d", HoldKind::Shell, kHold, kAnywhere,
                  "fish runs every file in it at start"},
    ProtectedName{"fish/functions", HoldKind::Shell, kHold, kAnywhere,
                  "fish loads a function when its name is typed"},
    ProtectedName{".config/fish", HoldKind::Shell, kHold, kHomeOnly,
                  "fish runs what is in it at start"},
    ProtectedName{".oh-my-zsh", HoldKind::Shell, kHold, kHomeOnly, "sourced by .zshrc"},
    ProtectedName{".bashrc.d", HoldKind::Shell, kHold, kHomeOnly, "sourced by .bashrc"},
    ProtectedName{".tmux.conf", HoldKind::Shell, kHold, kHomeOnly, "tmux runs commands in it"},
    ProtectedName{".screenrc", HoldKind::Shell, kHold, kHomeOnly, "screen runs commands in it"},
    ProtectedName{".gdbinit", HoldKind::Shell, kHold, kHomeOnly, "gdb runs it at start"},
    ProtectedName{".lldbinit", HoldKind::Shell, kHold, kHomeOnly, "lldb runs it at start"},
    ProtectedName{".psqlrc", HoldKind::Shell, kHold, kHomeOnly, "psql runs it at start"},
    ProtectedName{".sqliterc", HoldKind::Shell, kHold, kHomeOnly, "sqlite3 runs it at start"},
    // Trusted once, by its path: a change is run on the next cd.
    ProtectedName{"mise.toml", HoldKind::Shell, kHold, kAnywhere,
                  "mise runs what it names on entering the directory"},
    ProtectedName{".mise.toml", HoldKind::Shell, kHold, kAnywhere,
                  "mise runs what it names on entering the directory"},
    ProtectedName{"mise.local.toml", HoldKind::Shell, kHold, kAnywhere,
                  "mise runs what it names on entering the directory"},
    ProtectedName{".mise.local.toml", HoldKind::Shell, kHold, kAnywhere,
                  "mise runs what it names on entering the directory"},
    ProtectedName{".mise/config.toml", HoldKind::Shell, kHold, kAnywhere,
                  "mise runs what it names on entering the directory"},
    ProtectedName{".mise/config.local.toml", HoldKind::Shell, kHold, kAnywhere,
                  "mise runs what it names on entering the directory"},
    ProtectedName{"mise/config.toml", HoldKind::Shell, kHold, kAnywhere,
                  "mise runs what it names on entering the directory"},
    ProtectedName{"mise/config.local.toml", HoldKind::Shell, kHold, kAnywhere,
                  "mise runs what it names on entering the directory"},
    ProtectedName{"mise/conf.d", HoldKind::Shell, kHold, kAnywhere,
                  "mise runs what it names on entering the directory"},
    ProtectedName{".mise/conf.d", HoldKind::Shell, kHold, kAnywhere,
                  "mise runs what it names on entering the directory"},
    // Read only where RIPGREP_CONFIG_PATH names it, but nothing makes one by accident.
    ProtectedName{".ripgreprc", HoldKind::Shell, kHold, kAnywhere,
                  "ripgrep runs the program its --pre names"},
    ProtectedName{".hg/hgrc", HoldKind::Shell, kHold, kAnywhere,
                  "Mercurial runs the hooks, aliases and extensions in it"},
    ProtectedName{".hgrc", HoldKind::Shell, kHold, kHomeOnly,
                  "Mercurial runs the hooks, aliases and extensions in it"},

    // Editors.
    ProtectedName{".vscode", HoldKind::Editor, kHold, kAnywhere,
                  "tasks and settings in it run programs when the folder is opened"},
    ProtectedName{".idea", HoldKind::Editor, kHold, kAnywhere,
                  "run configurations and start-up tasks are run by the IDE"},
    // With 'exrc' set vim looks for three names where it is started.
    ProtectedName{".vimrc", HoldKind::Editor, kHold, kAnywhere,
                  "vim runs it at start, with 'exrc' set wherever it is started"},
    ProtectedName{".gvimrc", HoldKind::Editor, kHold, kAnywhere,
                  "gvim runs it at start, with 'exrc' set wherever it is started"},
    ProtectedName{".vim", HoldKind::Editor, kHold, kHomeOnly, "vim runs plugins in it at start"},
    ProtectedName{".config/nvim", HoldKind::Editor, kHold, kHomeOnly, "neovim runs it at start"},
    ProtectedName{".emacs", HoldKind::Editor, kHold, kHomeOnly, "emacs runs it at start"},
    ProtectedName{".emacs.d", HoldKind::Editor, kHold, kHomeOnly, "emacs runs init.el in it"},
    ProtectedName{".config/Code", HoldKind::Editor, kHold, kHomeOnly,
                  "user settings and tasks of the editor"},
    ProtectedName{".config/zed", HoldKind::Editor, kHold, kHomeOnly,
                  "user settings of the editor, which name tool and language servers"},
    ProtectedName{".zed", HoldKind::Editor, kHold, kAnywhere,
                  "Zed starts language servers and tasks by it when the folder is opened"},
    ProtectedName{".helix", HoldKind::Editor, kHold, kAnywhere,
                  "Helix starts the language servers and formatters it names"},
    ProtectedName{".exrc", HoldKind::Editor, kHold, kAnywhere,
                  "vim runs it in the directory it is started in, with 'exrc' set"},
    ProtectedName{".nvimrc", HoldKind::Editor, kHold, kAnywhere,
                  "neovim runs it in the directory it is started in, with 'exrc' set"},
    ProtectedName{".nvim.lua", HoldKind::Editor, kHold, kAnywhere,
                  "neovim runs it in the directory it is started in, with 'exrc' set"},
    ProtectedName{".dir-locals.el", HoldKind::Editor, kHold, kAnywhere,
                  "emacs sets variables and evaluates forms by it for every file it opens"},
    ProtectedName{".dir-locals-2.el", HoldKind::Editor, kHold, kAnywhere,
                  "emacs reads it beside .dir-locals.el"},
    // Opening a Rust project makes rust-analyzer run cargo.
    ProtectedName{".cargo/config.toml", HoldKind::Editor, kHold, kAnywhere,
                  "cargo runs the wrappers, linkers and runners it names"},
    ProtectedName{".cargo/config", HoldKind::Editor, kHold, kAnywhere,
                  "cargo runs the wrappers, linkers and runners it names"},
    ProtectedName{".devcontainer", HoldKind::Editor, kReport, kAnywhere,
                  "editors build and start a container from it when told to"},

    // Agents.
    ProtectedName{".claude", HoldKind::Agent, kHold, kAnywhere,
                  "hooks, commands and permissions of the agent outside"},
    ProtectedName{".claude.json", HoldKind::Agent, kHold, kHomeOnly,
                  "starts tool servers and holds permissions"},
    ProtectedName{".mcp.json", HoldKind::Agent, kHold, kAnywhere, "starts tool servers"},
    ProtectedName{".codex", HoldKind::Agent, kHold, kAnywhere,
                  "configuration and tool servers of the agent outside"},
    ProtectedName{".cursor", HoldKind::Agent, kHold, kAnywhere,
                  "rules and tool servers of the agent outside"},
    ProtectedName{".gemini", HoldKind::Agent, kHold, kAnywhere,
                  "settings and tool servers of the agent outside"},
    ProtectedName{".copilot", HoldKind::Agent, kHold, kAnywhere,
                  "settings and tool servers of the agent outside"},
    ProtectedName{".windsurf", HoldKind::Agent, kHold, kAnywhere,
                  "rules, workflows and tool servers of the agent outside"},
    ProtectedName{".kiro", HoldKind::Agent, kHold, kAnywhere,
                  "hooks that run when a file is saved, and tool servers of the agent outside"},
    ProtectedName{".roo", HoldKind::Agent, kHold, kAnywhere,
                  "modes and tool servers of the agent outside"},
    ProtectedName{".continue", HoldKind::Agent, kHold, kAnywhere,
                  "configuration and tool servers of the agent outside"},
    ProtectedName{".opencode", HoldKind::Agent, kHold, kAnywhere,
                  "plugins that the agent outside loads when it starts"},
    ProtectedName{"opencode.json", HoldKind::Agent, kHold, kAnywhere,
                  "plugins, formatters and tool servers of the agent outside"},
    ProtectedName{"opencode.jsonc", HoldKind::Agent, kHold, kAnywhere,
                  "plugins, formatters and tool servers of the agent outside"},
    ProtectedName{".config/opencode", HoldKind::Agent, kHold, kHomeOnly,
                  "plugins, formatters and tool servers of the agent outside"},
    ProtectedName{".qwen", HoldKind::Agent, kHold, kAnywhere,
                  "settings and tool servers of the agent outside"},
    ProtectedName{".kilocode", HoldKind::Agent, kHold, kAnywhere,
                  "tool servers and modes of the agent outside"},
    ProtectedName{".trae", HoldKind::Agent, kHold, kAnywhere, "tool servers of the agent outside"},
    ProtectedName{".factory", HoldKind::Agent, kHold, kAnywhere,
                  "hooks and tool servers of the agent outside"},
    ProtectedName{".junie", HoldKind::Agent, kHold, kAnywhere, "tool servers of the agent outside"},
    ProtectedName{".amazonq", HoldKind::Agent, kHold, kAnywhere,
                  "tool servers of the agent outside, and commands that its agents run"},
    ProtectedName{".crush.json", HoldKind::Agent, kHold, kAnywhere,
                  "hooks, tool and language servers of the agent outside"},
    ProtectedName{"crush.json", HoldKind::Agent, kHold, kAnywhere,
                  "hooks, tool and language servers of the agent outside"},
    ProtectedName{".aider.conf.yml", HoldKind::Agent, kHold, kAnywhere,
                  "the agent outside runs the linter and the tests that it names after each edit"},
    // Beside it lie texts for the model, which honest work writes.
    ProtectedName{".clinerules/hooks", HoldKind::Agent, kHold, kAnywhere,
                  "the agent outside runs the scripts in it around its tools"},
    ProtectedName{".codeium", HoldKind::Agent, kHold, kHomeOnly,
                  "tool servers of the agent outside"},
    ProtectedName{".config/Claude", HoldKind::Agent, kHold, kHomeOnly,
                  "tool servers that Claude Desktop starts"},
    ProtectedName{".github/agents", HoldKind::Agent, kHold, kAnywhere,
                  "says which tools the agent outside has"},
    ProtectedName{".github/hooks", HoldKind::Agent, kHold, kAnywhere,
                  "commands that the agent outside runs beside its tools"},

    // Keys, programs on PATH, sessions, schedules.
    ProtectedName{".ssh", HoldKind::Ssh, kHold, kHomeOnly,
                  "authorized_keys admits strangers, config runs ProxyCommand"},
    ProtectedName{"bin", HoldKind::Path, kHold, kHomeOnly, "login shells put it on PATH"},
    ProtectedName{".local/bin", HoldKind::Path, kHold, kHomeOnly, "login shells put it on PATH"},
    ProtectedName{".config/autostart", HoldKind::Autostart, kHold, kHomeOnly,
                  "the desktop starts what is in it"},
    ProtectedName{".config/systemd", HoldKind::Autostart, kHold, kHomeOnly,
                  "the user's service manager starts units in it"},
    ProtectedName{".config/environment.d", HoldKind::Autostart, kHold, kHomeOnly,
                  "sets variables for every service of the user"},
    // Install trees of a project hold the same names.
    ProtectedName{"systemd/user", HoldKind::Autostart, kReport, kAnywhere,
                  "the user's service manager starts units in it"},
    ProtectedName{"cron.d", HoldKind::Cron, kHold, kAnywhere, "cron runs what is in it"},
    ProtectedName{"crontabs", HoldKind::Cron, kHold, kAnywhere, "cron runs what is in it"},

    // Run by people and services on purpose, and written by honest work every day.
    ProtectedName{".github/workflows", HoldKind::Build, kReport, kAnywhere,
                  "run by the forge after a push"},
    ProtectedName{"package.json", HoldKind::Build, kReport, kAnywhere,
                  "npm runs the scripts in it"},
    ProtectedName{"Makefile", HoldKind::Build, kReport, kAnywhere, "make runs it"},
    ProtectedName{"makefile", HoldKind::Build, kReport, kAnywhere, "make runs it"},
    ProtectedName{"GNUmakefile", HoldKind::Build, kReport, kAnywhere, "make runs it"},
    ProtectedName{".envrc", HoldKind::Build, kReport, kAnywhere,
                  "direnv runs it on entering the directory, once allowed"},
    ProtectedName{"conftest.py", HoldKind::Build, kReport, kAnywhere, "pytest imports it"},
    ProtectedName{".npmrc", HoldKind::Build, kReport, kAnywhere,
                  "npm takes its shell and the options of node from it"},
    ProtectedName{".yarnrc.yml", HoldKind::Build, kReport, kAnywhere,
                  "yarn runs the program and the plugins it names"},
};

// git's own names below a git directory, of all gits since the first: gitrepository-layout(5), and
// what the commands for interrupted work and the usual extensions make.
constexpr std::array<std::string_view, 23> kRepositoryNames = {
    "annex",       "branches",     "commondir",    "config",  "config.worktree",
    "description", "gitdir",       "HEAD",         "hooks",   "index",
    "info",        "lfs",          "logs",         "modules", "objects",
    "packed-refs", "rebase-apply", "rebase-merge", "refs",    "remotes",
    "rr-cache",    "sequencer",    "worktrees"};

std::string_view last_component(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

bool parent_fits(const ProtectedName& entry, std::string_view parent_name) {
  const std::size_t slash = entry.name.find('/');
  return slash == std::string_view::npos || entry.name.substr(0, slash) == parent_name;
}

// Sorted by last component; names with a parent come first, so the more exact entry is found first.
constexpr auto sorted_table() {
  auto table = kTable;
  std::sort(table.begin(), table.end(), [](const ProtectedName& a, const ProtectedName& b) {
    const auto last = [](std::string_view name) {
      const std::size_t slash = name.rfind('/');
      return slash == std::string_view::npos ? name : name.substr(slash + 1);
    };
    if (last(a.name) != last(b.name)) return last(a.name) < last(b.name);
    return a.name.size() > b.name.size();
  });
  return table;
}

}  // namespace

std::span<const ProtectedName> protected_names() { return kTable; }

const ProtectedName* find_protected(std::string_view parent_name, std::string_view name) {
  // Asked once for every entry of a tree: the table is sorted when compiling.
  static constexpr auto kSorted = sorted_table();
  const auto* entry = std::lower_bound(
      kSorted.begin(), kSorted.end(), name,
      [](const ProtectedName& a, std::string_view key) { return last_component(a.name) < key; });
  for (; entry != kSorted.end() && last_component(entry->name) == name; ++entry) {
    if (parent_fits(*entry, parent_name)) return entry;
  }
  return nullptr;
}

std::string_view added_name(std::string_view parent_name, std::string_view name,
                            const ProtectRules& rules) {
  for (const std::string& entry : rules.add) {
    const std::size_t slash = entry.find('/');
    if (std::string_view(entry).substr(slash == std::string::npos ? 0 : slash + 1) != name)
      continue;
    if (slash == std::string::npos || std::string_view(entry).substr(0, slash) == parent_name)
      return entry;
  }
  return {};
}

const ProtectedName* find_protected(std::string_view parent_name, std::string_view name,
                                    const ProtectRules& rules) {
  static constexpr ProtectedName kAdded{"", HoldKind::Operator, kHold, kAnywhere,
                                        "an operator protects this name"};
  const ProtectedName* found = find_protected(parent_name, name);
  if (rules.add.empty() && rules.release.empty()) return found;
  const bool released =
      found != nullptr && std::ranges::find(rules.release, found->name) != rules.release.end();
  if (found != nullptr && !released && found->action == kHold) return found;
  if (!added_name(parent_name, name, rules).empty()) return &kAdded;
  return released ? nullptr : found;
}

std::vector<NameBehind> names_behind(std::string_view first, const ProtectRules& rules) {
  std::vector<std::string_view> names(rules.add.begin(), rules.add.end());
  for (const ProtectedName& name : kTable) names.push_back(name.name);
  std::vector<NameBehind> found;
  for (const std::string_view name : names) {
    const std::size_t slash = name.find('/');
    if (slash == std::string_view::npos || name.substr(0, slash) != first) continue;
    const std::string_view last = name.substr(slash + 1);
    const ProtectedName* meant = find_protected(first, last, rules);
    if (meant != nullptr && meant->action == kHold) found.push_back({last, meant});
  }
  return found;
}

bool can_be_released(std::string_view name) {
  return !name.starts_with(".git/") && std::ranges::any_of(kTable, [&](const ProtectedName& entry) {
    return entry.name == name;
  });
}

bool counts_in(const ProtectedName& name, std::string_view directory,
               std::span<const std::string> homes) {
  if (!name.home_only) return true;
  const bool nested = name.name.find('/') != std::string_view::npos;
  const std::string_view base = nested ? parent(directory) : directory;
  return std::find(homes.begin(), homes.end(), base) != homes.end();
}

bool is_held_in(const ProtectedName& name, std::string_view directory,
                std::span<const std::string> homes) {
  if (name.action != HoldAction::Hold || !counts_in(name, directory, homes)) return false;
  if (name.kind != HoldKind::Editor) return true;
  const auto parts = components(directory);
  return std::none_of(parts.begin(), parts.end(), is_package_directory);
}

std::string_view name_of(HoldKind kind) {
  switch (kind) {
    case HoldKind::Git:
      return "git";
    case HoldKind::Shell:
      return "shell";
    case HoldKind::Editor:
      return "editor";
    case HoldKind::Agent:
      return "agent";
    case HoldKind::Ssh:
      return "ssh";
    case HoldKind::Path:
      return "path";
    case HoldKind::Autostart:
      return "autostart";
    case HoldKind::Cron:
      return "cron";
    case HoldKind::Denied:
      return "denied";
    case HoldKind::ReadOnly:
      return "read-only";
    case HoldKind::Build:
      return "build";
    case HoldKind::Operator:
      return "operator";
  }
  return "denied";
}

bool is_git_name(std::string_view name) {
  return std::ranges::find(kRepositoryNames, name) != kRepositoryNames.end() ||
         name.starts_with("BISECT_") || name.ends_with("_HEAD") || name.ends_with("_MSG") ||
         name.ends_with("_EDITMSG");
}

bool is_package_directory(std::string_view name) {
  return name == "node_modules" || name == "site-packages" || name == "vendor";
}

namespace {

// A deny with a '/' means the same whatever grant a path lies in; one without means names inside
// the grants, and so depends on where a grant begins.
bool is_denied(const ResolvedCeiling& ceiling, std::string_view path) {
  return std::any_of(ceiling.deny.begin(), ceiling.deny.end(), [&](const DenyGlob& deny) {
    return deny.anchor.empty() && deny_matches(deny, path);
  });
}

bool is_protected(const HeldPlaces& places, std::string_view path, Grant::Source asked) {
  if (std::find(places.on_path.begin(), places.on_path.end(), path) != places.on_path.end()) {
    return true;
  }
  // The git directory of a linked worktree is asked for by Cordon itself, and arranged as one.
  const bool arranged = asked == Grant::Source::GitDirectory;
  if (!arranged && (lower_case(basename(path)) == ".git" || is_in_git_part(path, places)))
    return true;
  const ProtectedName* name = held_name(path, places);
  return name != nullptr && !(arranged && name->kind == HoldKind::Git);
}

}  // namespace

const ProtectedName* held_name(std::string_view path, const HeldPlaces& places) {
  const std::string_view directory = parent(path);
  const std::string_view above = basename(directory);
  const ProtectedName* name = find_protected(above, basename(path), places.protect);
  if (name == nullptr)
    name = find_protected(lower_case(above), lower_case(basename(path)), places.protect);
  return name != nullptr && is_held_in(*name, directory, places.homes) ? name : nullptr;
}

const ProtectedName* held_place(std::string_view path, const HeldPlaces& places) {
  for (std::string_view at = path; at != "/"; at = parent(at)) {
    // Claude Code keeps working trees here, each a project of its own.
    if (parent(at).ends_with("/.claude/worktrees")) return nullptr;
    const ProtectedName* name = held_name(at, places);
    if (name != nullptr && (at == path || name->kind != HoldKind::Path)) return name;
  }
  return nullptr;
}

bool is_in_agent_directory(std::string_view path, const HeldPlaces& places) {
  for (; path != "/"; path = parent(path)) {
    const auto home = std::ranges::find(places.homes, parent(path));
    if (home == places.homes.end()) continue;
    const ProtectedName* name = held_name(path, places);
    if (name != nullptr && name->kind == HoldKind::Agent) return true;
  }
  return false;
}

bool is_in_git_part(std::string_view path, const HeldPlaces& places) {
  std::string_view innermost;
  for (const std::string& directory : places.git)
    if (contains(directory, path) && directory.size() > innermost.size()) innermost = directory;
  if (innermost.empty() || innermost == path) return false;
  const std::string_view below = path.substr(innermost.size() + 1);
  return is_git_name(below.substr(0, below.find('/')));
}

ProtectionBound protection_bound_below(const ResolvedCeiling& ceiling, std::string_view root,
                                       std::string_view path, Grant::Source asked) {
  ProtectionBound protection_bound = ProtectionBound::None;
  for (; path != root && path != "/"; path = parent(path)) {
    if (is_denied(ceiling, path)) return ProtectionBound::Denied;
    if (is_protected(ceiling.held, path, asked)) protection_bound = ProtectionBound::Protected;
  }
  return protection_bound;
}

ProtectionBound protection_bound_of(const ResolvedCeiling& ceiling, std::string_view path) {
  const PathModes modes(ceiling.read, ceiling.write);
  const PathEntry* rule = modes.deepest(path);
  if (rule == nullptr) return ProtectionBound::None;
  return protection_bound_below(ceiling, rule->grant->path, path, Grant::Source::Policy);
}

PathMode bound_of(ProtectionBound protection_bound) {
  switch (protection_bound) {
    case ProtectionBound::None:
      return PathMode::Write;
    case ProtectionBound::Protected:
      return PathMode::Read;
    case ProtectionBound::Denied:
      return PathMode::None;
  }
  return PathMode::None;
}

}  // namespace cordon
