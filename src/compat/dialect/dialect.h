// Policies in other tools' languages: MXC requests, sandbox-runtime settings, SafeClaw policies.
//
// A conversion never widens. What the target cannot say is left out and listed as a DroppedKey if
// the result grants no more without it; a restriction that the target cannot say is an error.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "cordon/policy.h"

namespace cordon {

enum class Dialect { Mxc, Srt, SafeClaw };
std::string_view name_of(Dialect dialect);
std::optional<Dialect> parse_dialect(std::string_view word);

// Something that was left out, by the key the source has it under: "network.proxy".
struct DroppedKey {
  std::string key;
  std::string reason;
  bool operator==(const DroppedKey&) const = default;
};

// Where the conversion takes place. Two spellings of one directory must not be taken for two, so
// whoever converts says what a path leads to.
struct Places {
  std::string cwd;
  std::string home;
  // All of an absolute path: what it leads to; whether it is there; the paths of directories and
  // files in a directory, without links and without what no run may be granted.
  std::function<Result<std::string>(const std::string&)> real;
  std::function<Result<bool>(const std::string&)> exists;
  std::function<Result<std::vector<std::string>>(const std::string&)> children;
  // The caller's variables that a command may have where the other tool passes all on. None for a
  // document that becomes a policy: a policy is for any caller.
  std::vector<std::string> variables = {};
};

struct Imported {
  Policy policy;
  std::vector<DroppedKey> losses;
};

struct Exported {
  Node document;
  std::vector<DroppedKey> losses;
};

// What a source withholds and its target cannot. Each such restriction is given up by name or stops
// the conversion, and the error names all of them at once.

class Restrictions {
 public:
  explicit Restrictions(std::span<const std::string> dropped) : dropped_(dropped) {}

  // The target cannot say `key`, for this reason.
  void give_up(const std::string& key, std::string reason);
  // The losses of what was given up; an error for what was not, or for a name that stood for
  // nothing. `target` is what the document is for, as messages call it.
  Result<std::vector<DroppedKey>> settle(std::string_view target) const;

 private:
  std::span<const std::string> dropped_;
  std::vector<DroppedKey> given_up_;
  std::vector<DroppedKey> kept_;
  std::set<std::string> used_;
};

}  // namespace cordon
