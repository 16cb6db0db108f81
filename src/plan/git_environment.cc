#include "plan/git_environment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace cordon {
namespace {

constexpr std::string_view kGitConfigCount = "GIT_CONFIG_COUNT=";
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kStatSettings = {
    {{"core.checkStat", "minimal"}, {"core.trustctime", "false"}}};

}  // namespace

void add_git_stat_settings(std::vector<std::string>& environment) {
  const auto is_count = [](const std::string& one) { return one.starts_with(kGitConfigCount); };
  const auto there = std::ranges::find_if(environment, is_count);
  unsigned count = 0;
  if (there != environment.end()) {
    const std::string_view text = std::string_view(*there).substr(kGitConfigCount.size());
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || end != text.data() + text.size() || count > 10000) return;
    environment.erase(there);
  }
  for (const auto& [key, value] : kStatSettings) {
    const std::string number = std::to_string(count++);
    environment.push_back("GIT_CONFIG_KEY_" + number + "=" + std::string(key));
    environment.push_back("GIT_CONFIG_VALUE_" + number + "=" + std::string(value));
  }
  environment.push_back(std::string(kGitConfigCount) + std::to_string(count));
}

}  // namespace cordon
