// Cures: the line that makes a ceiling permit something, written out whole, with what its list has
// already. Each is one clause that can be followed to the letter: "below [fs] in FILE: write =
// [...]" for a file, "set CORDON_SANDBOX_...=..." for the ceiling of the environment. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/effective.h"
#include "policy/presets.h"

namespace cordon {

// PathModes: what a document's read and write lists say about any path. The longest rule decides,
// so a read rule inside a write rule takes the right to write away, and a write rule inside a read
// rule gives it.

enum class PathMode { None, Read, Write };  // strictest first; Write includes reading

struct PathEntry {
  const Grant* grant = nullptr;
  PathMode mode = PathMode::None;
};

// Refers to the grants it was made of.
class PathModes {
 public:
  PathModes(std::span<const Grant> read, std::span<const Grant> write);

  [[nodiscard]] PathMode at(std::string_view path) const;
  // The longest rule that `path` is or lies below; null if there is none.
  [[nodiscard]] const PathEntry* deepest(std::string_view path) const&;
  const PathEntry* deepest(std::string_view path) const&& = delete;  // it would lead nowhere
  // Every rule that counts, by path.
  [[nodiscard]] const std::map<std::string_view, PathEntry>& entries() const { return entries_; }
  // Write rules overruled by a read rule for the same path.
  [[nodiscard]] const std::vector<const Grant*>& conflicts() const { return conflicts_; }

 private:
  std::map<std::string_view, PathEntry> entries_;
  std::vector<const Grant*> conflicts_;
};

// True for what came from "@system", "@toolchains", "@caches" or "@repo": it yields to any rule
// that covers it.
bool is_baseline(const Grant& grant);

// "the ceiling /etc/cordon/ceiling.toml".
std::string title_of(const Ceiling& ceiling);

// A read rule for the path or for something in it would overrule a write rule, so it is taken out.
std::string cure_for_path(const ResolvedCeiling& ceiling, const std::string& path, PathMode mode);
// "@system", "@toolchains", "@caches" or "@repo".
std::string cure_for_group(const Ceiling& ceiling, std::string_view group);
std::string cure_for_host(const Ceiling& ceiling, const HostRule& host);
// Of several at once; `hosts` is not empty.
std::string cure_for_hosts(const Ceiling& ceiling, std::span<const HostRule> hosts);
// The [[http]] of that host, with what it has already.
std::string cure_for_request(const Ceiling& ceiling, const HostRule& endpoint,
                             const RequestPattern& pattern);
std::string cure_for_open_network(const Ceiling& ceiling);
std::string cure_for_ssh_agent(const Ceiling& ceiling);
std::string cure_for_port(const Ceiling& ceiling, const PublishRule& rule);
std::string cure_for_socket(const Ceiling& ceiling, const std::string& path);
std::string cure_for_variable(const Ceiling& ceiling, const std::string& name);
std::string cure_for_limit(const Ceiling& ceiling, const LimitField& field, std::uint64_t value);
std::string cure_for_scratch(const Ceiling& ceiling, std::uint64_t bytes);

}  // namespace cordon
