// The policies of SafeClaw's helper: rules of a path and an access, a list of system calls, a
// network.
#include <algorithm>
#include <array>

#include "config/decode.h"
#include "config/document_text.h"
#include "config/foreign/dialects.h"
#include "config/foreign/foreign_table.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 5> kTopKeys{"filesystem", "syscalls", "network",
                                                   "namespaces", "timeoutMs"};
constexpr std::array<std::string_view, 2> kFilesystemKeys{"allow", "deny"};
constexpr std::array<std::string_view, 2> kRuleKeys{"path", "access"};
constexpr std::array<std::string_view, 2> kSyscallKeys{"allow", "defaultDeny"};
constexpr std::array<std::string_view, 4> kNamespaceKeys{"pid", "net", "mnt", "user"};
constexpr std::array<std::string_view, 2> kNetworkKeys{"allowedDomains", "deniedDomains"};
constexpr std::array<std::string_view, 2> kNetworkWords{"none", "localhost"};
constexpr std::array<std::string_view, 5> kAccesses{"read", "write", "readwrite", "execute",
                                                    "readwriteexecute"};
constexpr std::size_t kMostAllow = 64;
constexpr std::size_t kMostDeny = 16;
constexpr std::size_t kMostSyscalls = 256;
constexpr std::size_t kLongestSyscall = 31;
constexpr std::uint64_t kMostTimeout = 0xFFFFFFFF;

class SafeClawReader {
 public:
  SafeClawReader(const std::string& file, const Places& places, Restrictions& restrictions)
      : tables_(file, false), places_(places), restrictions_(restrictions) {
    policy_.name = file;
    policy_.require.layers = {Layer::Namespaces, Layer::Landlock, Layer::Seccomp,
                              Layer::Capabilities};
  }

  Result<Imported> read(const Node& document);

 private:
  Result<const NodeList*> list(const Section& table, std::string_view key, std::size_t most);
  Result<void> read_filesystem(const Section& top);
  Result<void> read_allowed(const Section& rule);
  Result<void> read_syscalls(const Section& top);
  Result<void> read_network(const Section& top);
  Result<void> read_namespaces(const Section& top);

  ForeignTables tables_;
  const Places& places_;
  Restrictions& restrictions_;
  Policy policy_;
  bool executable_ = false;
};

Result<const NodeList*> SafeClawReader::list(const Section& table, std::string_view key,
                                             std::size_t most) {
  const Node* node = table.find(key);
  if (node == nullptr) return nullptr;
  if (node->list() == nullptr) {
    return fail(table.error_at(*node, table.title(key) + " must be a list"));
  }
  if (node->list()->size() > most) {
    return fail(table.error_at(
        *node, table.title(key) + " holds more than " + std::to_string(most) + " entries"));
  }
  return node->list();
}

Result<void> SafeClawReader::read_allowed(const Section& rule) {
  CORDON_TRY(path, rule.text("path"));
  CORDON_TRY(access, one_of(rule, "access", kAccesses));
  if (!path || !access) {
    return fail(rule.error_at(rule.node(), "a rule needs \"path\" and \"access\""));
  }
  // "write" means reading too, as its helper has it.
  const bool writes = *access != "read" && *access != "execute";
  const bool executes = *access == "execute" || *access == "readwriteexecute";
  CORDON_TRY(entry, literal_path(rule, *path, writes ? "write" : "read"));
  executable_ = executable_ || !executes;
  (writes ? policy_.fs.write : policy_.fs.read).push_back(std::move(entry));
  return {};
}

Result<void> SafeClawReader::read_filesystem(const Section& top) {
  CORDON_CHECK(require_key(top, "filesystem"));
  CORDON_TRY(fs, tables_.member(top, "", "filesystem", kFilesystemKeys, UnknownKeys::Refused));
  CORDON_TRY(allow, list(fs, "allow", kMostAllow));
  CORDON_TRY(deny, list(fs, "deny", kMostDeny));
  if (allow != nullptr) {
    for (const Node& node : *allow) {
      CORDON_TRY(rule, tables_.open(node, "filesystem.allow", kRuleKeys, UnknownKeys::Refused));
      CORDON_CHECK(read_allowed(rule));
    }
  }
  if (deny != nullptr) {
    for (const Node& node : *deny) {
      CORDON_TRY(rule, tables_.open(node, "filesystem.deny", kRuleKeys, UnknownKeys::Refused));
      CORDON_TRY(path, rule.text("path"));
      CORDON_TRY(access, one_of(rule, "access", kAccesses));
      if (!path) return fail(rule.error_at(rule.node(), "missing key \"path\""));
      CORDON_TRY(entry, literal_path(rule, *path, "deny"));
      policy_.fs.deny.push_back(std::move(entry));
      if (access && *access != "readwriteexecute") {
        tables_.lose("filesystem.deny", shown(*path->text) + " is denied altogether");
      }
    }
  }
  CORDON_CHECK(
      withhold_denied(policy_.fs.deny, places_, "filesystem.allow", policy_.fs.read, tables_));
  CORDON_CHECK(
      withhold_denied(policy_.fs.deny, places_, "filesystem.allow", policy_.fs.write, tables_));
  if (executable_) {
    restrictions_.give_up("execute", "what may be read may be executed in a sandbox of Cordon");
  }
  return {};
}

// Which calls a sandbox permits is not for a policy to say: Cordon's own filter holds instead.
Result<void> SafeClawReader::read_syscalls(const Section& top) {
  CORDON_CHECK(require_key(top, "syscalls"));
  CORDON_TRY(table, tables_.member(top, "", "syscalls", kSyscallKeys, UnknownKeys::Refused));
  CORDON_TRY(deny, table.flag("defaultDeny"));
  if (deny && !*deny) {
    return fail(table.error_at(*table.find("defaultDeny"), "\"defaultDeny\" can only be true"));
  }
  CORDON_CHECK(list(table, "allow", kMostSyscalls));
  CORDON_TRY(names, table.texts("allow"));
  for (const PlacedText& name : names) {
    const bool plain = std::all_of(name.text->begin(), name.text->end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (name.text->empty() || !plain || name.text->size() > kLongestSyscall) {
      return fail(table.error_at(*name.node, shown(*name.text) + " is no system call"));
    }
  }
  tables_.lose("syscalls", "Cordon's own filter holds in its place");
  return {};
}

Result<void> SafeClawReader::read_network(const Section& top) {
  const Node* node = top.find("network");
  if (node == nullptr) return {};
  if (node->text() != nullptr) {
    CORDON_TRY(word, one_of(top, "network", kNetworkWords));
    if (*word == "localhost") {
      tables_.lose("network", "loopback is the sandbox's own; the host's is not reached");
    }
    return {};
  }
  CORDON_TRY(net, tables_.member(top, "", "network", kNetworkKeys, UnknownKeys::Refused));
  for (const auto& [key, rules] :
       {std::pair{"allowedDomains", &policy_.net.allow}, {"deniedDomains", &policy_.net.deny}}) {
    CORDON_TRY(domains, net.texts(key));
    for (const PlacedText& domain : domains) {
      auto rule = parse_domain(*domain.text);
      if (!rule) return fail(placed(net, *domain.node, std::move(rule).error()));
      rules->push_back(std::move(*rule));
    }
  }
  policy_.net.mode = policy_.net.allow.empty() ? NetMode::None : NetMode::Allow;
  if (policy_.net.mode == NetMode::None) policy_.net.deny.clear();
  return {};
}

Result<void> SafeClawReader::read_namespaces(const Section& top) {
  CORDON_TRY(table, tables_.member(top, "", "namespaces", kNamespaceKeys, UnknownKeys::Refused));
  for (const std::string_view key : kNamespaceKeys) {
    CORDON_TRY(on, table.flag(key));
    if (on && !*on) tables_.lose("namespaces." + std::string(key), "it is always a new one");
  }
  return {};
}

Result<Imported> SafeClawReader::read(const Node& document) {
  CORDON_TRY(top, tables_.open(document, "", kTopKeys, UnknownKeys::Refused));
  CORDON_CHECK(read_filesystem(top));
  CORDON_CHECK(read_syscalls(top));
  CORDON_CHECK(read_network(top));
  CORDON_CHECK(read_namespaces(top));
  CORDON_TRY(timeout, whole(top, "timeoutMs", kMostTimeout));
  if (timeout && *timeout > 0) policy_.limits.wall_ms = *timeout;
  return Imported{std::move(policy_), std::move(tables_).take_losses()};
}

}  // namespace

Result<Imported> import_safeclaw(const Node& document, const std::string& file,
                                 const Places& places, Restrictions& restrictions) {
  return SafeClawReader(file, places, restrictions).read(document);
}

}  // namespace cordon
