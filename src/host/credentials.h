// Credential stores and histories under a home, found with one look at each directory.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "policy/host_facts.h"

namespace cordon {

struct CredentialStore {
  Masked name;                   // where it is looked for; FileKind::Other if it is a symlink
  std::optional<Masked> target;  // what the symlink leads to, if anything
  std::uint64_t links = 1;       // hard links of the object to be masked
};

enum class StoreScope {
  All,
  Links,  // only those that lie elsewhere behind a symlink: all that a project can hold
};
std::vector<CredentialStore> find_credential_stores(const Caller& caller, StoreScope scope);
// Every path at which a store of a home would be, whether there is one or not.
std::vector<std::string> store_places(const Caller& caller);
// Whether `path` is a store of a home or lies in one, by name. No grant opens a store.
bool is_in_store(std::string_view path, const Caller& caller);
// Whether a grant of `directory` could show a store under its own name.
bool may_hold_store(std::string_view directory, const Caller& caller);

}  // namespace cordon
