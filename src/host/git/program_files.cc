#include "host/git/program_files.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "host/git/config.h"

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

}  // namespace cordon
