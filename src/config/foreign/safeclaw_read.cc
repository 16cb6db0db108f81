// From a policy of SafeClaw to one of Cordon.
#include "config/document_text.h"
#include "config/foreign/dialects.h"
#include "config/foreign/foreign_table.h"
#include "config/foreign/safeclaw_policy.h"

namespace cordon {
namespace {

Error at(const Place& place, Error error) {
  if (!error.place) error.place = place;
  return error;
}

class SafeClawImport {
 public:
  SafeClawImport(const SafeClawPolicy& source, const std::string& file, const Places& places,
                 Restrictions& restrictions)
      : source_(source), tables_(file, false), places_(places), restrictions_(restrictions) {
    policy_.name = file;
    policy_.require.layers = {Layer::Namespaces, Layer::Landlock, Layer::Seccomp,
                              Layer::Capabilities};
  }

  Result<Imported> convert() &&;

 private:
  static Result<PathRule> entry(const SafeClawRule& rule, std::string_view wish);
  Result<void> convert_files();
  Result<void> convert_network();

  const SafeClawPolicy& source_;
  ForeignTables tables_;
  const Places& places_;
  Restrictions& restrictions_;
  Policy policy_;
};

Result<PathRule> SafeClawImport::entry(const SafeClawRule& rule, std::string_view wish) {
  auto path = literal_path(rule.path, wish);
  if (!path) return fail(at(rule.place, std::move(path).error()));
  return std::move(*path);
}

Result<void> SafeClawImport::convert_files() {
  bool executable = false;
  for (const SafeClawRule& rule : source_.allow) {
    const bool writable = writes(rule.access);
    CORDON_TRY(path, entry(rule, writable ? "write" : "read"));
    executable = executable || !executes(rule.access);
    (writable ? policy_.fs.write : policy_.fs.read).push_back(std::move(path));
  }
  for (const SafeClawRule& rule : source_.deny) {
    CORDON_TRY(path, entry(rule, "deny"));
    policy_.fs.deny.push_back(std::move(path));
    if (rule.access != SafeClawAccess::ReadWriteExecute) {
      tables_.lose("filesystem.deny", shown(rule.path) + " is denied altogether");
    }
  }
  for (std::vector<PathRule>* rules : {&policy_.fs.read, &policy_.fs.write}) {
    CORDON_CHECK(withhold_denied(policy_.fs.deny, places_, "filesystem.allow", *rules, tables_));
  }
  if (executable) {
    restrictions_.give_up("execute", "what may be read may be executed in a sandbox of Cordon");
  }
  return {};
}

Result<void> SafeClawImport::convert_network() {
  const SafeClawNetwork& network = source_.network;
  if (network.reach == SafeClawNetwork::Reach::Localhost) {
    tables_.lose("network", "loopback is the sandbox's own; the host's is not reached");
  }
  for (const auto& [domains, rules] : {std::pair{&network.allowed, &policy_.net.allow},
                                       std::pair{&network.denied, &policy_.net.deny}}) {
    for (const SafeClawDomain& domain : *domains) {
      auto rule = parse_domain(domain.text);
      if (!rule) return fail(at(domain.place, std::move(rule).error()));
      rules->push_back(std::move(*rule));
    }
  }
  policy_.net.mode =
      policy_.net.allow.empty() ? NetAccess(NetMode::None) : NetAccess(NetMode::Allow);
  if (policy_.net.mode == NetMode::None) policy_.net.deny.clear();
  return {};
}

Result<Imported> SafeClawImport::convert() && {
  CORDON_CHECK(convert_files());
  // Which calls a sandbox permits is not for a policy to say.
  tables_.lose("syscalls", "Cordon's own filter holds in its place");
  CORDON_CHECK(convert_network());
  for (const std::string& key : source_.shared_namespaces) {
    tables_.lose("namespaces." + key, "it is always a new one");
  }
  policy_.limits.wall_ms = source_.timeout_ms;
  return Imported{std::move(policy_), std::move(tables_).take_losses()};
}

}  // namespace

Result<Imported> import_safeclaw(const Node& document, const std::string& file,
                                 const Places& places, Restrictions& restrictions) {
  CORDON_TRY(source, decode_safeclaw(document, file));
  return SafeClawImport(source, file, places, restrictions).convert();
}

}  // namespace cordon
