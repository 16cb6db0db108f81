#include <algorithm>
#include <array>

#include "base/text.h"
#include "config/document_text.h"
#include "config/foreign/mxc_request.h"

namespace cordon {
namespace {

constexpr MxcVersion kOldest{0, 4};
constexpr MxcVersion kNewest{1, 1};
constexpr MxcVersion kFirstExact{0, 9};
constexpr std::array<std::string_view, 3> kExact{"0.9.0-alpha", "1.0.0", "1.1.0-alpha"};
constexpr std::uint64_t kMostMinor = 1000;

// MAJOR.MINOR.PATCH, then anything that a pre-release or build text may hold.
std::optional<MxcVersion> parse_semver(std::string_view text) {
  const std::string_view core = text.substr(0, text.find_first_of("-+"));
  const auto parts = split(core, '.');
  if (parts.size() != 3) return std::nullopt;
  std::array<std::uint64_t, 3> numbers{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = parse_number(parts[i]);
    const bool padded = parts[i].size() > 1 && parts[i].front() == '0';
    if (!number || padded || *number > kMostMinor) return std::nullopt;
    numbers[i] = *number;
  }
  const std::string_view rest = text.substr(core.size());
  const bool plain = std::all_of(rest.begin(), rest.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '+';
  });
  if (!plain || rest == "-" || rest == "+") return std::nullopt;
  return MxcVersion{static_cast<unsigned>(numbers[0]), static_cast<unsigned>(numbers[1])};
}

}  // namespace

Result<MxcVersion> parse_mxc_version(std::string_view text) {
  const auto version = parse_semver(text);
  if (!version) {
    return fail(policy_error(shown(text) + " is not a version", "write it as \"0.6.0-alpha\""));
  }
  if (*version < kOldest) {
    return fail(policy_error("version " + shown(text) + " is older than 0.4, the oldest known"));
  }
  if (*version > kNewest) {
    return fail(policy_error("version " + shown(text) + " is newer than 1.1, the newest known"));
  }
  if (*version >= kFirstExact && std::find(kExact.begin(), kExact.end(), text) == kExact.end()) {
    return fail(policy_error("unknown version " + shown(text),
                             "from 0.9 on it is 0.9.0-alpha, 1.0.0 or 1.1.0-alpha exactly"));
  }
  return *version;
}

}  // namespace cordon
