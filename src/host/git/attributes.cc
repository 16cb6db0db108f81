#include "host/git/attributes.h"

#include <fcntl.h>

#include <algorithm>
#include <set>

#include "base/path.h"
#include "base/text.h"
#include "host/git/enclosing.h"
#include "host/inspect.h"

namespace cordon {
namespace {

constexpr std::size_t kLargestAttributes = std::size_t{256} * 1024;

// A filter that only cleans, or only smudges, is one too: clean is what a commit needs.
void take_out_drivers(const std::vector<GitSetting>& settings, std::set<std::string>& filters) {
  for (const GitSetting& setting : settings) {
    const bool cleans = setting.key == "clean" || setting.key == "process";
    if (setting.section == "filter" && cleans && setting.value && !setting.value->empty())
      filters.erase(setting.subsection);
  }
}

void add_filters_of(const std::string& directory, std::set<std::string>& filters) {
  const auto text = read_regular(AT_FDCWD, join(directory, ".gitattributes"), kLargestAttributes);
  if (!text) return;
  for (std::string& name : filters_in(*text)) filters.insert(std::move(name));
}

}  // namespace

std::vector<std::string> filters_in(std::string_view attributes) {
  constexpr std::string_view kFilter = "filter=";
  std::set<std::string> filters;
  for (const std::string_view line : split(attributes, '\n')) {
    if (line.starts_with('#')) continue;
    std::string words(line);
    std::ranges::replace_if(
        words, [](char c) { return c == '\t' || c == '\r'; }, ' ');
    const std::vector<std::string_view> found = split(words, ' ');
    // The first is the pattern.
    for (std::size_t i = 1; i < found.size(); ++i) {
      if (found[i].starts_with(kFilter) && found[i].size() > kFilter.size())
        filters.emplace(found[i].substr(kFilter.size()));
    }
  }
  return {filters.begin(), filters.end()};
}

std::vector<std::string> filters_without_driver(const Caller& caller) {
  const auto repository = find_enclosing_repository(caller);
  if (!repository) return {};
  std::set<std::string> filters;
  // Git reads the file of each directory on the way to what is committed.
  for (std::string_view place = caller.cwd;; place = parent(place)) {
    add_filters_of(std::string(place), filters);
    if (place == repository->top.path || place == "/") break;
  }
  if (filters.empty()) return {};
  if (const auto own = parse_git_config(copied_git_settings(caller)))
    take_out_drivers(*own, filters);
  for (const Canonical& git : repository->git) {
    const auto text = read_regular(AT_FDCWD, join(git.path, "config"), kGitConfigLimit);
    const auto settings = text ? parse_git_config(*text) : std::nullopt;
    if (settings) take_out_drivers(*settings, filters);
  }
  return {filters.begin(), filters.end()};
}

}  // namespace cordon
