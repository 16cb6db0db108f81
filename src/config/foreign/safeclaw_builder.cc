#include "config/foreign/safeclaw_builder.h"

#include <algorithm>

#include "base/path.h"
#include "config/document_text.h"

namespace cordon {
namespace {

constexpr std::uint64_t kDefaultTimeout = 30'000;

constexpr std::string_view kLoaded[] = {
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
};

SafeClawAccess both_permit(SafeClawAccess one, SafeClawAccess other) {
  const bool write = writes(one) && writes(other);
  const bool execute = executes(one) && executes(other);
  if (write) return execute ? SafeClawAccess::ReadWriteExecute : SafeClawAccess::ReadWrite;
  return execute ? SafeClawAccess::Execute : SafeClawAccess::Read;
}

bool same(SafeClawAccess one, SafeClawAccess other) {
  return writes(one) == writes(other) && executes(one) == executes(other);
}

}  // namespace

SafeClawBuilder& SafeClawBuilder::add(std::string_view path, SafeClawAccess access) {
  const std::string place = path.starts_with('/') ? normalize(path) : std::string(path);
  auto& rules = built_.policy.allow;
  const auto there = std::ranges::find(rules, place, &SafeClawRule::path);
  if (there == rules.end()) {
    rules.push_back({place, access});
  } else if (!same(there->access, access)) {
    const SafeClawAccess kept = both_permit(there->access, access);
    built_.conflicts.push_back({place, there->access, access, kept});
    there->access = kept;
  }
  return *this;
}

SafeClawBuilder& SafeClawBuilder::add_read_only(std::string_view path) {
  return add(path, SafeClawAccess::Read);
}

SafeClawBuilder& SafeClawBuilder::add_read_execute(std::string_view path) {
  return add(path, SafeClawAccess::Execute);
}

SafeClawBuilder& SafeClawBuilder::add_read_write(std::string_view path) {
  return add(path, SafeClawAccess::ReadWrite);
}

SafeClawBuilder& SafeClawBuilder::add_read_write_execute(std::string_view path) {
  return add(path, SafeClawAccess::ReadWriteExecute);
}

SafeClawBuilder& SafeClawBuilder::set_calls(SafeClawProfile profile) {
  built_.policy.syscalls = safeclaw_calls(profile);
  return *this;
}

SafeClawBuilder& SafeClawBuilder::set_domains(
    const std::optional<std::vector<std::string>>& domains) {
  SafeClawNetwork network;
  network.reach = domains ? SafeClawNetwork::Reach::Domains : SafeClawNetwork::Reach::None;
  if (domains) {
    for (const std::string& domain : *domains) network.allowed.push_back({domain});
  }
  built_.policy.network = std::move(network);
  return *this;
}

SafeClawBuilder& SafeClawBuilder::set_timeout(std::uint64_t milliseconds) {
  built_.policy.timeout_ms = milliseconds;
  return *this;
}

Result<BuiltPolicy> SafeClawBuilder::build() const {
  for (const SafeClawRule& rule : built_.policy.allow) {
    if (!rule.path.starts_with('/')) {
      return fail(
          policy_error("path " + shown(rule.path) + " is not absolute", "write the whole path"));
    }
  }
  if (built_.policy.allow.size() > kSafeClawMostAllow) {
    return fail(policy_error("the policy has more rules than its helper takes",
                             std::to_string(kSafeClawMostAllow) + " are the most"));
  }
  return built_;
}

Result<BuiltPolicy> development_policy(const DevelopmentPlaces& places,
                                       const DevelopmentOptions& options) {
  SafeClawBuilder builder;
  builder.add_read_write_execute(places.cwd).add_read_write(places.temporary);
  for (const std::string& path : places.executable) builder.add_read_execute(path);
  for (const std::string& path : places.readable) builder.add_read_only(path);
  builder.add_read_write("/dev/null").add_read_only("/dev/urandom").add_read_only("/dev/zero");
  for (const std::string& path : options.execute) builder.add_read_execute(path);
  for (const std::string& path : options.read_write) builder.add_read_write(path);
  for (const std::string& path : options.read_only) builder.add_read_only(path);
  return builder.set_calls(SafeClawProfile::Development).set_domains(options.domains).build();
}

Result<BuiltPolicy> default_policy() {
  return SafeClawBuilder()
      .set_calls(SafeClawProfile::Default)
      .set_domains(std::nullopt)
      .set_timeout(kDefaultTimeout)
      .build();
}

Result<BuiltPolicy> minimal_dynamic_policy() {
  SafeClawBuilder builder;
  for (const std::string_view path : kLoaded) builder.add_read_execute(path);
  builder.add_read_execute("/bin").add_read_execute("/usr/bin").add_read_only("/etc/ld.so.cache");
  return builder.set_calls(SafeClawProfile::MinimalDynamic)
      .set_domains(std::nullopt)
      .set_timeout(kDefaultTimeout)
      .build();
}

}  // namespace cordon
