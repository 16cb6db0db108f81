// A mirror, a proxy and a repository are copied whole or not at all: one without its address, or
// with another scope, would send maven somewhere else than the person decided.
#include "host/maven_settings.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "base/path.h"
#include "config/node.h"
#include "config/xml.h"
#include "host/home_settings.h"

namespace cordon {
namespace {

using Elements = std::vector<XmlElement>;
using Keys = std::span<const std::string_view>;

constexpr auto kMirrorKeys = std::to_array<std::string_view>(
    {"blocked", "id", "layout", "mirrorOf", "mirrorOfLayouts", "name", "url"});
constexpr auto kProxyKeys =
    std::to_array<std::string_view>({"active", "host", "id", "nonProxyHosts", "port", "protocol"});
constexpr auto kRepositoryKeys = std::to_array<std::string_view>({"id", "layout", "name", "url"});
constexpr auto kRepositoryPolicies = std::to_array<std::string_view>({"releases", "snapshots"});
constexpr auto kPolicyKeys =
    std::to_array<std::string_view>({"checksumPolicy", "enabled", "updatePolicy"});
constexpr auto kActivationKeys = std::to_array<std::string_view>({"activeByDefault"});

bool is_among(Keys keys, std::string_view name) {
  return std::ranges::find(keys, name) != keys.end();
}

std::string_view value_of(const XmlElement& element) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::string_view text = element.text;
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// An entry with the values of those names. Nothing if one of them must not be seen.
std::optional<XmlElement> copied_values(const XmlElement& entry, Keys keys) {
  XmlElement copy{entry.name, {}, {}};
  for (const XmlElement& child : entry.children) {
    if (!is_among(keys, child.name) || !child.children.empty()) continue;
    const std::string_view value = value_of(child);
    if (!is_public_setting(value)) return std::nullopt;
    copy.children.push_back({child.name, std::string(value), {}});
  }
  return copy;
}

std::optional<XmlElement> copied_proxy(const XmlElement& proxy) {
  if (proxy.find("username") != nullptr || proxy.find("password") != nullptr) return std::nullopt;
  return copied_values(proxy, kProxyKeys);
}

std::optional<XmlElement> copied_repository(const XmlElement& repository) {
  auto copy = copied_values(repository, kRepositoryKeys);
  for (const XmlElement& child : repository.children) {
    if (!copy) break;
    if (!is_among(kRepositoryPolicies, child.name)) continue;
    if (auto policy = copied_values(child, kPolicyKeys)) copy->children.push_back(*policy);
  }
  return copy;
}

// A list with those of its entries that `copied` lets pass; it is left out if none does.
template <typename Copied>
void add_list(const XmlElement& from, std::string_view list, std::string_view entry,
              const Copied& copied, Elements& into) {
  const XmlElement* entries = from.find(list);
  if (entries == nullptr) return;
  XmlElement copy{std::string(list), {}, {}};
  for (const XmlElement& one : entries->children) {
    if (one.name != entry) continue;
    if (auto passed = copied(one)) copy.children.push_back(*std::move(passed));
  }
  if (!copy.children.empty()) into.push_back(std::move(copy));
}

// Nothing if no repository of it passes. What else activates it (a system, a property) is left out.
std::optional<XmlElement> copied_profile(const XmlElement& profile) {
  const XmlElement* id = profile.find("id");
  if (id == nullptr || !is_public_setting(value_of(*id))) return std::nullopt;
  XmlElement copy{profile.name, {}, {}};
  copy.children.push_back({"id", std::string(value_of(*id)), {}});
  const std::size_t before = copy.children.size();
  add_list(profile, "repositories", "repository", copied_repository, copy.children);
  add_list(profile, "pluginRepositories", "pluginRepository", copied_repository, copy.children);
  if (copy.children.size() == before) return std::nullopt;
  if (const XmlElement* activation = profile.find("activation")) {
    auto passed = copied_values(*activation, kActivationKeys);
    if (passed && !passed->children.empty()) copy.children.push_back(*std::move(passed));
  }
  return copy;
}

void add_local_repository(const XmlElement& settings, const std::string& home,
                          const HasPlace& has_place, Elements& into) {
  constexpr std::string_view kHome = "${user.home}";
  const XmlElement* named = settings.find("localRepository");
  if (named == nullptr) return;
  const std::string_view value = value_of(*named);
  const bool in_home = value.starts_with(kHome);
  const std::string place =
      in_home ? home + std::string(value.substr(kHome.size())) : std::string(value);
  if (!place.starts_with('/') || has_dotdot(place) || !is_public_setting(place)) return;
  if (!has_place(normalize(place))) return;
  into.push_back({named->name, std::string(value), {}});
}

// Maven warns of an active profile that is not there.
void add_active_profiles(const XmlElement& settings, Elements& into) {
  Elements profiles;
  add_list(settings, "profiles", "profile", copied_profile, profiles);
  if (profiles.empty()) return;
  const Elements kept = profiles.front().children;
  into.push_back(std::move(profiles.front()));
  const auto is_kept = [&](const XmlElement& active) -> std::optional<XmlElement> {
    const auto is_it = [&](const XmlElement& one) {
      return one.children.front().text == value_of(active);
    };
    if (std::ranges::none_of(kept, is_it)) return std::nullopt;
    return XmlElement{active.name, std::string(value_of(active)), {}};
  };
  add_list(settings, "activeProfiles", "activeProfile", is_kept, into);
}

void write_escaped(std::string_view text, std::string& out) {
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += c;
    }
  }
}

void write_element(const XmlElement& element, std::size_t depth, std::string& out) {
  const std::string indent(2 * depth, ' ');
  out.append(indent).append("<").append(element.name).append(">");
  if (element.children.empty()) {
    write_escaped(element.text, out);
  } else {
    out += '\n';
    for (const XmlElement& child : element.children) write_element(child, depth + 1, out);
    out += indent;
  }
  out.append("</").append(element.name).append(">\n");
}

}  // namespace

Result<std::string> copied_maven_settings(std::string_view text, const std::string& name,
                                          const std::string& home, const HasPlace& has_place) {
  CORDON_TRY(settings, read_xml(text, name));
  if (settings.name != "settings") {
    return fail(document_error(name, Position{0, 0}, "it begins with <" + settings.name + ">"));
  }
  XmlElement copy{settings.name, {}, {}};
  add_local_repository(settings, home, has_place, copy.children);
  add_list(
      settings, "mirrors", "mirror",
      [](const XmlElement& mirror) { return copied_values(mirror, kMirrorKeys); }, copy.children);
  add_list(settings, "proxies", "proxy", copied_proxy, copy.children);
  add_active_profiles(settings, copy.children);
  if (copy.children.empty()) return std::string();
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  write_element(copy, 0, out);
  return out;
}

}  // namespace cordon
