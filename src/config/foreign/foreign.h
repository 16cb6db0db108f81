// Policies in other tools' languages: MXC requests, sandbox-runtime settings, SafeClaw policies.
//
// A conversion never widens. What the target cannot say is left out and listed as a DroppedKey if
// the result grants no more without it; a restriction that the target cannot say is an error.
#pragma once

#include <functional>
#include <optional>
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
};

struct Imported {
  Policy policy;
  std::vector<DroppedKey> losses;
};
// Errors carry the place of the key or value at fault. `dropped` are restrictions of the source
// that are to be given up; the error that asks for one says its name.
Result<Imported> import_policy(Dialect dialect, const Node& document, const std::string& file,
                               const Places& places, std::span<const std::string> dropped);

struct Exported {
  Node document;
  std::vector<DroppedKey> losses;
};
// Here `dropped` are keys of the policy: "limits.memory", or "limits" for all of them.
Result<Exported> export_policy(Dialect dialect, const Policy& policy, const Places& places,
                               std::span<const std::string> dropped);

}  // namespace cordon
