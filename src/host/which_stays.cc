#include "host/which_stays.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "host/git_config.h"

namespace cordon {
namespace {

using Section = std::pair<std::string, std::string>;

// Sections that git writes for itself: one for each remote, branch and submodule.
bool is_named_section(const GitSetting& setting) {
  return !setting.subsection.empty() &&
         (setting.section == "remote" || setting.section == "branch" ||
          setting.section == "submodule");
}

// Beyond is_harmless, which also judges repositories that a run made for itself.
bool may_be_added(const GitSetting& setting) {
  if (!is_harmless(setting) || !setting.value) return false;
  const std::string name = setting.section + "." + setting.key;
  if (name == "remote.url" || name == "remote.pushurl" || name == "submodule.url")
    return is_address_of_a_host(*setting.value);
  // The name of a remote, which could be an address instead.
  if (name == "branch.remote" || name == "branch.pushremote")
    return setting.value->find_first_of(":/") == std::string::npos;
  // Even without a command it decides what a later update does to the work tree.
  return name != "submodule.update";
}

}  // namespace

bool is_address_of_a_host(std::string_view address) {
  for (const std::string_view scheme : {"https://", "ssh://", "git://"}) {
    if (!address.starts_with(scheme)) continue;
    std::string_view host = address.substr(scheme.size());
    host = host.substr(0, host.find('/'));
    if (const std::size_t at = host.rfind('@'); at != std::string_view::npos) {
      // A user that begins with a dash becomes an option of ssh just as a host does.
      if (host.starts_with('-')) return false;
      host.remove_prefix(at + 1);
    }
    return !host.empty() && !host.starts_with('-');
  }
  // host:path, as scp writes it. A slash before the colon would make it a path of this machine.
  const std::size_t colon = address.find(':');
  if (colon == std::string_view::npos || colon == 0 || address.starts_with('-')) return false;
  const std::string_view host = address.substr(0, colon);
  if (address.substr(colon).starts_with("://")) return false;
  const std::size_t at = host.rfind('@');
  const std::string_view name = at == std::string_view::npos ? host : host.substr(at + 1);
  return host.find('/') == std::string_view::npos && !name.empty() && !name.starts_with('-');
}

bool leads_somewhere(const GitSetting& setting) {
  constexpr std::array<std::string_view, 10> kKeys = {
      "branch.merge", "branch.pushremote", "branch.remote", "remote.fetch",  "remote.mirror",
      "remote.push",  "remote.pushurl",    "remote.url",    "submodule.url", "submodule.update"};
  return !setting.subsection.empty() &&
         std::ranges::find(kKeys, setting.section + "." + setting.key) != kKeys.end();
}

Stays which_stays(KeptPath::Form form, std::string_view original, std::string_view newer) {
  if (form != KeptPath::Form::GitConfig) return Stays::Original;
  const auto before = parse_git_config(original);
  const auto after = parse_git_config(newer);
  if (!before || !after) return Stays::Original;
  std::set<Section> there;
  for (const GitSetting& setting : *before) there.emplace(setting.section, setting.subsection);
  std::vector<GitSetting> rest;
  for (const GitSetting& setting : *after) {
    const bool added =
        is_named_section(setting) && !there.contains({setting.section, setting.subsection});
    if (!added) {
      rest.push_back(setting);
    } else if (!may_be_added(setting)) {
      return Stays::Original;
    }
  }
  return rest == *before ? Stays::Newer : Stays::Original;
}

}  // namespace cordon
