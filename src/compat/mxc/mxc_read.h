// Every key that an MXC document may hold, by table: what the reader opens tables with, and what
// the test of keys that narrow goes through (mxc_narrowing_test.cc). A key that stands in no list
// here is refused or ignored as unknown, so none can be read without being tested.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "compat/dialect/foreign_table.h"
#include "compat/mxc/mxc_document.h"

namespace cordon {

struct MxcTable {
  std::string_view name;  // from the top: "network.proxy"; empty: the document itself
  std::span<const std::string_view> keys;
};

namespace mxc_keys {

inline constexpr std::array<std::string_view, 22> kTop{"$schema",
                                                       "_comment",
                                                       "version",
                                                       "phase",
                                                       "sandboxId",
                                                       "containerId",
                                                       "containment",
                                                       "process",
                                                       "lifecycle",
                                                       "appContainer",
                                                       "lxc",
                                                       "filesystem",
                                                       "fallback",
                                                       "network",
                                                       "ui",
                                                       "processContainer",
                                                       "experimental",
                                                       "seatbelt",
                                                       "macos_sandbox",
                                                       "runtimeConfig",
                                                       "telemetry",
                                                       "correlationVector"};
inline constexpr std::array<std::string_view, 5> kProcess{"commandLine", "cwd", "env", "timeout",
                                                          "inheritDefaultEnv"};
inline constexpr std::array<std::string_view, 3> kUi{"disable", "clipboard", "injection"};
inline constexpr std::array<std::string_view, 2> kLifecycle{"destroyOnExit", "preservePolicy"};
inline constexpr std::array<std::string_view, 1> kFallback{"allowDaclMutation"};
inline constexpr std::array<std::string_view, 3> kFilesystem{"readwritePaths", "readonlyPaths",
                                                             "deniedPaths"};
inline constexpr std::array<std::string_view, 8> kNetwork{
    "defaultPolicy",     "enforcementMode", "allowedHosts", "blockedHosts",
    "allowLocalNetwork", "proxy",           "egress",       "ingress"};
inline constexpr std::array<std::string_view, 3> kProxy{"localhost", "url", "builtinTestServer"};
inline constexpr std::array<std::string_view, 3> kEgress{"default", "allow", "deny"};
inline constexpr std::array<std::string_view, 2> kIngress{"default", "hostLoopback"};
inline constexpr std::array<std::string_view, 2> kRule{"to", "ports"};
inline constexpr std::array<std::string_view, 2> kTo{"cidr", "except"};
inline constexpr std::array<std::string_view, 3> kPort{"protocol", "port", "endPort"};
inline constexpr std::array<std::string_view, 1> kRuntime{"networkProxy"};

}  // namespace mxc_keys

namespace mxc_table {

inline constexpr MxcTable kTop{"", mxc_keys::kTop};
inline constexpr MxcTable kProcess{"process", mxc_keys::kProcess};
inline constexpr MxcTable kUi{"ui", mxc_keys::kUi};
inline constexpr MxcTable kLifecycle{"lifecycle", mxc_keys::kLifecycle};
inline constexpr MxcTable kFallback{"fallback", mxc_keys::kFallback};
inline constexpr MxcTable kFilesystem{"filesystem", mxc_keys::kFilesystem};
inline constexpr MxcTable kNetwork{"network", mxc_keys::kNetwork};
inline constexpr MxcTable kProxy{"network.proxy", mxc_keys::kProxy};
inline constexpr MxcTable kEgress{"network.egress", mxc_keys::kEgress};
inline constexpr MxcTable kIngress{"network.ingress", mxc_keys::kIngress};
inline constexpr MxcTable kRule{"network.egress.rule", mxc_keys::kRule};
inline constexpr MxcTable kTo{"network.egress.rule.to", mxc_keys::kTo};
inline constexpr MxcTable kPort{"network.egress.rule.ports", mxc_keys::kPort};
inline constexpr MxcTable kRuntime{"runtimeConfig", mxc_keys::kRuntime};

inline constexpr std::array<MxcTable, 14> kAll{kTop,        kProcess, kUi,    kLifecycle, kFallback,
                                               kFilesystem, kNetwork, kProxy, kEgress,    kIngress,
                                               kRule,       kTo,      kPort,  kRuntime};

}  // namespace mxc_table

// One document while it is read.
struct MxcDocument {
  ForeignTables& tables;  // opened by member() and element() alone
  const Section& top;
  MxcVersion version;

  [[nodiscard]] UnknownKeys nested() const {
    return version.at_least(0, 8) ? UnknownKeys::Refused : UnknownKeys::Ignored;
  }
  // The table as a member of the one it is named after.
  Result<Section> member(const Section& parent, const MxcTable& table) const {
    const std::size_t dot = table.name.rfind('.');
    const bool direct = dot == std::string_view::npos;
    return tables.member(parent, direct ? "" : table.name.substr(0, dot),
                         direct ? table.name : table.name.substr(dot + 1), table.keys, nested());
  }
  // One of a list of such tables; `name` says which list, for messages.
  Result<Section> element(const Node& node, const std::string& name, const MxcTable& table) const {
    return tables.open(node, name, table.keys, nested());
  }
};

}  // namespace cordon
