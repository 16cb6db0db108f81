// SafeClawBuilder: a policy for SafeClaw's helper, rule by rule; and the policies that are made
// with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compat/safeclaw/safeclaw_policy.h"
#include "policy/host_facts.h"

namespace cordon {

// Two rules for one path that do not ask for the same.
struct RuleConflict {
  std::string path;
  SafeClawAccess first;
  SafeClawAccess second;
  SafeClawAccess kept;  // what both permit
  bool operator==(const RuleConflict&) const = default;
};

struct BuiltPolicy {
  SafeClawPolicy policy;
  std::vector<RuleConflict> conflicts;
};

// Rights of Landlock add up, so two rules for one path would be the wider one: the builder keeps
// what both permit, whatever their order, and tells.
class SafeClawBuilder {
 public:
  SafeClawBuilder& add_read_only(std::string_view path);
  SafeClawBuilder& add_read_execute(std::string_view path);
  SafeClawBuilder& add_read_write(std::string_view path);
  SafeClawBuilder& add_read_write_execute(std::string_view path);
  SafeClawBuilder& set_calls(SafeClawProfile profile);
  // No domains at all, or exactly these, be they none.
  SafeClawBuilder& set_domains(const std::optional<std::vector<std::string>>& domains);
  SafeClawBuilder& set_timeout(std::uint64_t milliseconds);

  // Refuses relative paths, and more rules than the helper takes.
  [[nodiscard]] Result<BuiltPolicy> build() const;

 private:
  SafeClawBuilder& add(std::string_view path, SafeClawAccess access);
  BuiltPolicy built_;
};

// What a host has that development wants, as a value.
struct DevelopmentPlaces {
  std::string cwd;
  std::string temporary;
  std::vector<std::string> executable;  // programs, their libraries, toolchains
  std::vector<std::string> readable;    // what programs read and nobody keeps a secret in
};

struct DevelopmentOptions {
  std::vector<std::string> execute;
  std::vector<std::string> read_write;
  std::vector<std::string> read_only;
  std::optional<std::vector<std::string>> domains;
};

Result<BuiltPolicy> development_policy(const DevelopmentPlaces& places,
                                       const DevelopmentOptions& options);
// Nothing may be opened, no network; thirty seconds.
Result<BuiltPolicy> default_policy();
// What starting a dynamic program of the distribution takes, and nothing else.
Result<BuiltPolicy> minimal_dynamic_policy();

// What this host has that a policy for development names, found by looking.

// Under Landlock a grant of a home would be one of everything in it, so of a home only what holds
// no credential is named, and only what is there and no link. Refuses a current directory that is
// no project.
Result<DevelopmentPlaces> development_places(const Caller& caller);
// A path of the command line, where it leads to; refused if it is never to be written.
Result<std::string> writable_place(std::string_view written, const Caller& caller);

// Credential stores as mounts can cover them: files and directories that are there, a link's target
// in place of the link.
std::vector<std::string> coverable_stores(const Caller& caller);

}  // namespace cordon
