// The settings of sandbox-runtime. There everything may be read but what is denied, and nothing
// written but what is allowed; unknown keys, which it drops without a word, are refused here.

#include <algorithm>
#include <array>
#include <span>

#include "compat/dialect/foreign_table.h"
#include "compat/srt/srt_filesystem.h"
#include "compat/srt/srt_network.h"
#include "config/node.h"
#include "config/section.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 19> kSrtTopKeys{"network",
                                                       "filesystem",
                                                       "credentials",
                                                       "ignoreViolations",
                                                       "enableWeakerNestedSandbox",
                                                       "allowNestedUserNamespaces",
                                                       "enableWeakerNetworkIsolation",
                                                       "allowAppleEvents",
                                                       "allowPty",
                                                       "mandatoryDenySearchDepth",
                                                       "ripgrep",
                                                       "bwrapPath",
                                                       "socatPath",
                                                       "javaAgentJarPath",
                                                       "seccomp",
                                                       "git",
                                                       "windows",
                                                       "$schema",
                                                       "_comment"};
// Keys that say how, or that only permit more: without them less is permitted or the same.
constexpr std::array<std::string_view, 14> kIdleTopKeys{"ignoreViolations",
                                                        "enableWeakerNestedSandbox",
                                                        "allowNestedUserNamespaces",
                                                        "enableWeakerNetworkIsolation",
                                                        "allowAppleEvents",
                                                        "allowPty",
                                                        "mandatoryDenySearchDepth",
                                                        "ripgrep",
                                                        "bwrapPath",
                                                        "socatPath",
                                                        "javaAgentJarPath",
                                                        "seccomp",
                                                        "git",
                                                        "windows"};
constexpr std::array<std::string_view, 2> kCredentialKeys{"files", "envVars"};
constexpr std::array<std::string_view, 2> kCredentialFileKeys{"path", "mode"};
constexpr std::array<std::string_view, 2> kCredentialVariableKeys{"name", "mode"};

class SrtReader {
 public:
  SrtReader(const Node& document, const std::string& file, const Places& places)
      : document_(document), file_(file), places_(places), tables_(file, false) {}

  Result<Imported> read();

 private:
  Result<void> read_credentials(const Section& top);
  Result<void> withhold_variable(const Section& entry, const Node& node);

  const Node& document_;
  const std::string& file_;
  const Places& places_;
  ForeignTables tables_;
  Policy policy_;
};

// One that every sandbox has cannot be withheld.
Result<void> SrtReader::withhold_variable(const Section& entry, const Node& node) {
  constexpr std::array<std::string_view, 6> kAlways{"PATH",    "HOME",  "USER",
                                                    "LOGNAME", "SHELL", "PWD"};
  CORDON_TRY(name, entry.text("name"));
  if (!name) return fail(entry.error_at(node, "missing key \"name\""));
  if (std::find(kAlways.begin(), kAlways.end(), *name->text) != kAlways.end()) {
    return fail(entry.error_at(*name->node,
                               shown(*name->text) + " cannot be withheld: every sandbox has one",
                               "remove it"));
  }
  std::erase(policy_.env.pass, *name->text);
  return {};
}

Result<void> SrtReader::read_credentials(const Section& top) {
  CORDON_TRY(credentials,
             tables_.member(top, "", "credentials", kCredentialKeys, UnknownKeys::Refused));
  constexpr std::array<std::string_view, 1> kCredentialModes{"deny"};
  for (const std::string_view key : kCredentialKeys) {
    const Node* list = credentials.find(key);
    if (list == nullptr) continue;
    if (list->list() == nullptr) return fail(credentials.error_at(*list, "must be a list"));
    for (const Node& node : *list->list()) {
      const bool file = key == "files";
      CORDON_TRY(one, tables_.open(node, "credentials." + std::string(key),
                                   file ? std::span<const std::string_view>(kCredentialFileKeys)
                                        : kCredentialVariableKeys,
                                   UnknownKeys::Refused));
      CORDON_TRY(mode, one_of(one, "mode", kCredentialModes));
      if (!mode) return fail(one.error_at(node, "missing key \"mode\""));
      if (!file) {
        CORDON_CHECK(withhold_variable(one, node));
        continue;
      }
      const Node* path = one.find("path");
      if (path == nullptr) return fail(one.error_at(node, "missing key \"path\""));
      CORDON_TRY(denied, read_srt_entry(one, *path, places_, tables_));
      policy_.fs.deny.push_back({denied.path, {}});
    }
  }
  return {};
}

Result<Imported> SrtReader::read() {
  policy_.name = file_;
  policy_.require.layers = {Layer::Namespaces, Layer::Landlock, Layer::Seccomp,
                            Layer::Capabilities};
  policy_.env.pass = {"LANG", "LC_ALL", "LC_CTYPE", "TERM", "COLORTERM", "NO_COLOR", "TZ"};
  for (const std::string& name : places_.variables) {
    auto& pass = policy_.env.pass;
    if (std::find(pass.begin(), pass.end(), name) == pass.end()) pass.push_back(name);
  }
  CORDON_TRY(top, tables_.open(document_, "", kSrtTopKeys, UnknownKeys::Refused));
  CORDON_CHECK(read_srt_network(top, tables_, policy_.net));
  CORDON_CHECK(read_srt_filesystem(top, places_, tables_, policy_));
  CORDON_CHECK(read_credentials(top));
  for (const std::string_view key : kIdleTopKeys) {
    if (top.find(key) != nullptr) {
      tables_.lose(std::string(key), "it has no meaning for this sandbox");
    }
  }
  if (places_.variables.empty()) {
    tables_.lose("environment", "only a few harmless variables are passed on, not all of them");
  }
  return Imported{std::move(policy_), std::move(tables_).take_losses()};
}

}  // namespace

Result<Imported> import_srt(const Node& document, const std::string& file, const Places& places) {
  return SrtReader(document, file, places).read();
}

}  // namespace cordon
