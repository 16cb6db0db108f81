#include "host/git_writes.h"

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "host/git_config.h"
#include "host/survey.h"

namespace cordon {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::string_view(" \t\r\n").find(text.back()) != std::string_view::npos)
    text.remove_suffix(1);
  while (!text.empty() && std::string_view(" \t\r\n").find(text.front()) != std::string_view::npos)
    text.remove_prefix(1);
  return text;
}

// "git merge-NAME" is started for any other, and NAME with a slash is a path in the work tree.
bool is_known_strategy(std::string_view text) {
  constexpr std::array<std::string_view, 6> kKnown = {"octopus",   "ort",     "ours",
                                                      "recursive", "resolve", "subtree"};
  return std::ranges::find(kKnown, trimmed(text)) != kKnown.end();
}

bool is_known_option(std::string_view option) {
  constexpr std::array<std::string_view, 14> kKnown = {"find-renames",
                                                       "histogram",
                                                       "ignore-all-space",
                                                       "ignore-cr-at-eol",
                                                       "ignore-space-at-eol",
                                                       "ignore-space-change",
                                                       "minimal",
                                                       "no-renames",
                                                       "no-renormalize",
                                                       "ours",
                                                       "patience",
                                                       "renormalize",
                                                       "subtree",
                                                       "theirs"};
  constexpr std::array<std::string_view, 4> kWithValue = {
      "diff-algorithm=", "find-renames=", "rename-threshold=", "subtree="};
  if (option.starts_with("--")) option.remove_prefix(2);
  return std::ranges::find(kKnown, option) != kKnown.end() ||
         std::ranges::any_of(kWithValue, [&](std::string_view prefix) {
           return option.starts_with(prefix) && option.find('/') == std::string_view::npos;
         });
}

// Words as git quotes them: blanks between, each plain or in single quotes.
bool are_known_options(std::string_view text) {
  for (std::string_view word : split(trimmed(text), ' ')) {
    if (word.size() >= 2 && word.front() == '\'' && word.back() == '\'')
      word = word.substr(1, word.size() - 2);
    if (!word.empty() && !is_known_option(word)) return false;
  }
  return true;
}

bool is_harmless_sequencer(std::string_view text) {
  constexpr std::array<std::string_view, 12> kHarmless = {"allow-empty",
                                                          "allow-empty-message",
                                                          "allow-ff",
                                                          "allow-rerere-auto",
                                                          "edit",
                                                          "keep-redundant-commits",
                                                          "mainline",
                                                          "no-commit",
                                                          "record-origin",
                                                          "signoff",
                                                          "default-msg-cleanup",
                                                          "drop-redundant-commits"};
  const auto settings = parse_git_config(text);
  if (!settings) return false;
  return std::ranges::all_of(*settings, [&](const GitSetting& setting) {
    if (setting.section != "options" || !setting.subsection.empty()) return false;
    const std::string_view value = setting.value ? std::string_view(*setting.value) : "true";
    if (setting.key == "strategy") return is_known_strategy(value);
    if (setting.key == "strategy-option") return is_known_option(value);
    if (setting.key == "gpg-sign") return value.find('/') == std::string_view::npos;
    return std::ranges::find(kHarmless, setting.key) != kHarmless.end();
  });
}

bool is_harmless_todo(std::string_view text) { return !runs_something(text); }

// Read by the shell of older gits: nothing but words in single quotes.
bool is_quoted(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') {
      quoted = !quoted;
    } else if (!quoted && text[i] == '\\' && i + 1 < text.size() &&
               (text[i + 1] == '\'' || text[i + 1] == '!')) {
      ++i;
    } else if (!quoted && text[i] != ' ' && text[i] != '\n') {
      return false;
    }
  }
  return !quoted;
}

bool is_author_script(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = line.substr(0, equals);
    if (name != "GIT_AUTHOR_NAME" && name != "GIT_AUTHOR_EMAIL" && name != "GIT_AUTHOR_DATE")
      return false;
    if (!is_quoted(line.substr(equals + 1))) return false;
  }
  return true;
}

// Options of git apply that only say how a patch is matched.
bool is_harmless_apply(std::string_view text) {
  constexpr std::array<std::string_view, 10> kHarmless = {
      "--whitespace=",         "-C",       "-p",         "--3way",    "-3", "--ignore-whitespace",
      "--ignore-space-change", "--reject", "--exclude=", "--include="};
  for (std::string_view word : split(trimmed(text), ' ')) {
    if (word.size() >= 2 && word.front() == '\'' && word.back() == '\'')
      word = word.substr(1, word.size() - 2);
    const auto begins = [&](std::string_view prefix) { return word.starts_with(prefix); };
    if (!word.empty() && std::ranges::none_of(kHarmless, begins)) return false;
  }
  return true;
}

constexpr std::array kFiles{
    GitFile{"rebase-merge/git-rebase-todo", is_harmless_todo, "rebase runs its exec lines"},
    GitFile{"rebase-apply/git-rebase-todo", is_harmless_todo, "rebase runs its exec lines"},
    GitFile{"sequencer/todo", is_harmless_todo, "rebase and cherry-pick run its exec lines"},
    GitFile{"rebase-merge/strategy", is_known_strategy, "rebase runs git merge-NAME"},
    GitFile{"rebase-merge/strategy_opts", are_known_options, "options of that program"},
    GitFile{"rebase-apply/strategy", is_known_strategy, "rebase runs git merge-NAME"},
    GitFile{"rebase-apply/strategy_opts", are_known_options, "options of that program"},
    GitFile{"sequencer/opts", is_harmless_sequencer, "cherry-pick runs git merge-NAME by it"},
    GitFile{"rebase-merge/author-script", is_author_script, "older gits give it to the shell"},
    GitFile{"rebase-apply/author-script", is_author_script, "older gits give it to the shell"},
    GitFile{"rebase-apply/apply-opt", is_harmless_apply, "am passes it to git apply"},
    GitFile{"BISECT_NAMES", is_quoted, "older gits give it to the shell"},
};

}  // namespace

std::span<const GitFile> git_files() { return kFiles; }

bool runs_something(std::string_view todo) {
  for (std::string_view line : split(todo, '\n')) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) continue;
    line.remove_prefix(begin);
    const std::string_view word = line.substr(0, line.find_first_of(" \t\r"));
    if (word == "exec" || word == "x" || word.starts_with('!')) return true;
  }
  return false;
}

namespace {

// The settings a fresh repository may carry: what git init, git clone and their like write, and
// what only changes how git stores or shows things.

constexpr std::array<std::string_view, 79> kHarmlessPlain = {
    "advice.detachedhead",
    "branch.autosetupmerge",
    "branch.autosetuprebase",
    "clone.defaultremotename",
    "color.branch",
    "color.diff",
    "color.status",
    "color.ui",
    "commit.cleanup",
    "commit.status",
    "commit.verbose",
    "core.abbrev",
    "core.autocrlf",
    "core.bare",
    "core.bigfilethreshold",
    "core.checkstat",
    "core.commentchar",
    "core.compression",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.ignorestat",
    "core.logallrefupdates",
    "core.longpaths",
    "core.multipackindex",
    "core.precomposeunicode",
    "core.preloadindex",
    "core.protecthfs",
    "core.protectntfs",
    "core.quotepath",
    "core.repositoryformatversion",
    "core.safecrlf",
    "core.sharedrepository",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "core.trustctime",
    "core.untrackedcache",
    "core.usereplacerefs",
    "core.warnambiguousrefs",
    "core.whitespace",
    "diff.algorithm",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.renames",
    "extensions.compatobjectformat",
    "extensions.noop",
    "extensions.objectformat",
    "extensions.partialclone",
    "extensions.preciousobjects",
    "extensions.refstorage",
    "extensions.worktreeconfig",
    "feature.manyfiles",
    "fetch.prune",
    "fetch.prunetags",
    "fetch.recursesubmodules",
    "gc.auto",
    "gc.autodetach",
    "gc.reflogexpire",
    "index.sparse",
    "index.threads",
    "index.version",
    "init.defaultbranch",
    "lfs.repositoryformatversion",
    "maintenance.auto",
    "merge.conflictstyle",
    "merge.ff",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "rebase.autosquash",
    "rebase.autostash",
    "rerere.enabled",
    "status.showuntrackedfiles",
    "submodule.active",
    "submodule.recurse",
    "user.email",
    "user.name",
};
static_assert(std::is_sorted(kHarmlessPlain.begin(), kHarmlessPlain.end()));

// Keys below a named remote, branch or submodule; those that hold an address are checked further.
constexpr std::array<std::string_view, 19> kHarmlessNamed = {
    "branch.description",
    "branch.merge",
    "branch.rebase",
    "remote.fetch",
    "remote.mirror",
    "remote.partialclonefilter",
    "remote.promisor",
    "remote.prune",
    "remote.prunetags",
    "remote.push",
    "remote.skipdefaultupdate",
    "remote.skipfetchall",
    "remote.tagopt",
    "submodule.active",
    "submodule.branch",
    "submodule.fetchrecursesubmodules",
    "submodule.ignore",
    "submodule.shallow",
    "submodule.update",
};
static_assert(std::is_sorted(kHarmlessNamed.begin(), kHarmlessNamed.end()));

constexpr std::array<std::string_view, 5> kAddresses = {
    "branch.pushremote", "branch.remote", "remote.pushurl", "remote.url", "submodule.url"};
static_assert(std::is_sorted(kAddresses.begin(), kAddresses.end()));

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& table, std::string_view name) {
  return std::binary_search(table.begin(), table.end(), name);
}

// "helper::address" starts the program git-remote-helper, and ext:: any program at all; a leading
// dash becomes an option of the transport's program.
bool is_plain_address(std::string_view address) {
  return !address.starts_with('-') && address.find("::") == std::string_view::npos &&
         std::none_of(address.begin(), address.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

}  // namespace

bool is_harmless(const GitSetting& setting) {
  const std::string name = setting.section + "." + setting.key;
  const std::string_view value = setting.value ? std::string_view(*setting.value) : "true";
  if (setting.subsection.empty()) return holds(kHarmlessPlain, name);
  // "!command" as an update method is run by the shell.
  if (name == "submodule.update") return !value.starts_with('!');
  if (holds(kAddresses, name)) return is_plain_address(value);
  return holds(kHarmlessNamed, name);
}

namespace {

// Where git looks, the least of them first. A variable takes the place of a file for whoever has it
// set; both count here, since the person's next shell may be without it.
std::vector<std::string> user_files(const Caller& caller) {
  std::vector<std::string> files = {"/etc/gitconfig"};
  if (!caller.config_directory.empty())
    files.push_back(join(parent(caller.config_directory), "git/config"));
  if (!caller.home.empty()) files.push_back(join(caller.home, ".gitconfig"));
  for (const char* name : {"GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL"}) {
    const auto named = caller.environment.find(name);
    if (named != caller.environment.end() && named->second.starts_with('/'))
      files.push_back(normalize(named->second));
  }
  return files;
}

}  // namespace

UserGit read_user_git_config(const Caller& caller) {
  GitConfigFiles files(caller);
  for (const std::string& path : user_files(caller)) files.read(path);
  return {std::move(files.settings), std::move(files.conditional), std::move(files.included)};
}

std::string git_identity(std::span<const GitSetting> settings) {
  struct Wanted {
    const char* section;
    const char* key;
  };
  constexpr std::array<Wanted, 3> kWanted = {
      {{"user", "name"}, {"user", "email"}, {"init", "defaultbranch"}}};
  std::vector<GitSetting> kept;
  for (const Wanted& wanted : kWanted)
    if (auto value = last_value(settings, wanted.section, "", wanted.key))
      kept.push_back({wanted.section, "", wanted.key, std::move(value)});
  return write_git_config(kept);
}

std::string git_identity(const Caller& caller) {
  return git_identity(std::span<const GitSetting>(read_user_git_config(caller).settings));
}

}  // namespace cordon
