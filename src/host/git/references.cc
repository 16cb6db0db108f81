#include "host/git/references.h"

#include <fcntl.h>
#include <limits.h>

#include <algorithm>

#include "base/path.h"
#include "base/text.h"
#include "host/git/config.h"
#include "host/git/layout.h"
#include "host/git/settings.h"
#include "host/inspect.h"
#include "host/resolve.h"

namespace cordon {
namespace {

std::string_view first_line(std::string_view text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

// The place a pointer file leads to; empty if nowhere.
std::string follow(std::string_view written, std::string_view base, const Caller& caller) {
  if (written.empty()) return {};
  const std::string spelled =
      written.front() == '/' ? std::string(written) : "./" + std::string(written);
  const Result<Canonical> place = canonicalize(spelled, base, caller);
  return place && place->kind != FileKind::Absent ? place->path : std::string();
}

std::string common_directory(const std::string& directory, const Caller& caller) {
  const Fd fd = open_canonical(directory, O_PATH | O_DIRECTORY);
  const auto text =
      fd.valid() ? read_regular(fd.get(), "commondir", kGitPointerLimit) : std::nullopt;
  return text ? follow(first_line(*text), directory, caller) : std::string();
}

// A long line for the shell is a word like any other, and to look at it would fail with
// ENAMETOOLONG.
bool is_path(std::string_view path) {
  return path.size() < PATH_MAX && std::ranges::all_of(components(path), [](std::string_view part) {
           return part.size() <= NAME_MAX;
         });
}

// What one setting names, at every top.
class Names {
 public:
  Names(const std::set<std::string>& tops, const Caller& caller, std::set<GitReference>& out)
      : tops_(tops), caller_(caller), out_(out) {}

  void add(const GitSetting& setting) {
    const GitKey* key = find_git_key(setting);
    if (key == nullptr || !setting.value || setting.value->empty()) return;
    const std::string_view value = *setting.value;
    constexpr std::string_view kExternal = "ext::";
    switch (key->value) {
      case GitValue::Directory:
        return add_path(value, true, true);
      case GitValue::Command:
        return add_line(value);
      case GitValue::Bang:
        // An alias of git's own words may still set "-c core.pager=./x".
        return value.starts_with('!') ? add_line(value.substr(1)) : add_words(value, Words::Paths);
      case GitValue::Address:
        if (value.starts_with(kExternal)) add_line(value.substr(kExternal.size()));
        return;
    }
  }

 private:
  enum class Words { All, Paths };

  void add_line(std::string_view line) {
    if (line.starts_with('!')) line.remove_prefix(1);  // credential.helper
    const std::size_t begin = line.find_first_not_of(" \t\n");
    if (begin == std::string_view::npos) return;
    line.remove_prefix(begin);
    // A path with blanks in it, which git starts without a shell if nothing else is special.
    if (line.find('/') != std::string_view::npos) add_path(line, false, true);
    add_words(line, Words::All);
  }

  void add_words(std::string_view line, Words which) {
    constexpr std::string_view kBetween = " \t\r\n;|&<>()`'\"=,:{}";
    bool first = which == Words::All;
    while (!line.empty()) {
      const std::size_t end = std::min(line.find_first_of(kBetween), line.size());
      const std::string_view word = line.substr(0, end);
      line.remove_prefix(std::min(end + 1, line.size()));
      if (word.empty()) continue;
      const bool path = word.find('/') != std::string_view::npos;
      // Looked up on PATH.
      const bool program = first && !path;
      first = false;
      if (program || (which == Words::Paths && !path)) continue;
      add_path(word, false, path || word.find('.') != std::string_view::npos);
    }
  }

  void add_path(std::string_view written, bool directory, bool certain) {
    std::string text(written);
    for (const std::string_view home : {"$HOME/", "${HOME}/"})
      if (written.starts_with(home)) text = "~/" + std::string(written.substr(home.size()));
    if (text.find('\0') != std::string::npos) return;
    if (!directory && (text == "." || text == "..")) return;
    if (text.front() == '/' || text.front() == '~' || text.starts_with("%(prefix)/")) {
      if (auto path = git_path(text, "/", caller_); path && is_path(*path))
        out_.insert({std::move(*path), directory, certain});
      return;
    }
    for (const std::string& top : tops_)
      if (std::string path = normalize(join(top, text)); is_path(path))
        out_.insert({std::move(path), directory, certain});
  }

  const std::set<std::string>& tops_;
  const Caller& caller_;
  std::set<GitReference>& out_;
};

}  // namespace

GitReferences::Repository& GitReferences::join_repository(const std::string& directory,
                                                          GitRole role) {
  std::string common;
  if (role == GitRole::Worktree) common = common_directory(directory, caller_);
  Repository& repository = repositories_[common.empty() ? directory : common];
  repository.directories.insert(directory);
  if (!common.empty()) repository.directories.insert(common);
  return repository;
}

void GitReferences::add(const std::string& directory, GitRole role) {
  Repository& repository = join_repository(directory, role);
  const Fd fd = open_canonical(directory, O_PATH | O_DIRECTORY);
  if (!fd.valid()) return;
  repository.tops.insert(directory);
  if (basename(directory) == ".git") repository.tops.insert(std::string(parent(directory)));
  if (role != GitRole::Worktree) return;
  if (const auto pointer = read_regular(fd.get(), "gitdir", kGitPointerLimit)) {
    const std::string file = follow(first_line(*pointer), directory, caller_);
    if (!file.empty()) repository.tops.insert(std::string(parent(file)));
  }
}

void GitReferences::add_pointer(const std::string& file) {
  const std::string top(parent(file));
  const Fd fd = open_canonical(top, O_PATH | O_DIRECTORY);
  const auto text = fd.valid()
                        ? read_regular(fd.get(), std::string(basename(file)), kGitPointerLimit)
                        : std::nullopt;
  const auto written = text ? parse_git_file(*text) : std::nullopt;
  const std::string directory = written ? follow(*written, top, caller_) : std::string();
  if (directory.empty()) return;
  const bool linked = inspect_path(join(directory, "commondir")).has_value();
  const GitRole role = linked ? GitRole::Worktree : GitRole::Main;
  add(directory, role);
  join_repository(directory, role).tops.insert(top);
}

void GitReferences::add_above(const std::string& directory) {
  for (std::string_view above = directory; above != "/";) {
    above = parent(above);
    const std::string name = join(above, ".git");
    if (const auto seen = inspect_path(name)) {
      if (seen->kind == FileKind::Directory) add(name, GitRole::Main);
      if (seen->kind == FileKind::Regular) add_pointer(name);
    }
    if (is_git_directory(std::string(above))) {
      const bool linked = inspect_path(join(above, "commondir")).has_value();
      add(std::string(above), linked ? GitRole::Worktree : GitRole::Main);
    }
  }
}

std::set<GitReference> GitReferences::find() const {
  std::set<GitReference> found;
  const auto add_all = [&](Names& names, const std::vector<GitSetting>& settings) {
    for (const GitSetting& setting : settings) names.add(setting);
  };
  const auto add_included = [&](const std::vector<std::string>& files) {
    for (const std::string& path : files)
      if (is_path(path)) found.insert({path, false, true});
  };
  add_included(user_.included);
  const std::set<std::string> nowhere;
  Names everywhere(nowhere, caller_, found);
  add_all(everywhere, user_.settings);
  add_all(everywhere, user_.conditional);
  for (const auto& [common, repository] : repositories_) {
    GitConfigFiles files(caller_);
    for (const std::string& directory : repository.directories)
      for (const char* name : {"config", "config.worktree"}) files.read(join(directory, name));
    add_included(files.included);
    std::set<std::string> tops = repository.tops;
    for (const auto* settings : {&files.settings, &files.conditional})
      for (const GitSetting& setting : *settings)
        if (setting.section == "core" && setting.key == "worktree" && setting.value)
          for (const std::string& directory : repository.directories)
            if (const std::string top = follow(*setting.value, directory, caller_); !top.empty())
              tops.insert(top);
    Names names(tops, caller_, found);
    add_all(names, files.settings);
    add_all(names, files.conditional);
    add_all(names, user_.settings);
    add_all(names, user_.conditional);
  }
  return found;
}

}  // namespace cordon
