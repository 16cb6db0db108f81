// The parser of the command line: flags of the table, operands, and what follows "--". Of a verb
// that starts a command, what comes after the first operand is never looked at: it is that one's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "faces/cli/flag_table.h"

namespace cordon {

struct GivenFlag {
  FlagId id;
  std::string_view name;
  std::string_view value;  // empty for a flag without one
};

struct Arguments {
  std::vector<GivenFlag> flags;  // as given, in order
  std::vector<std::string_view> operands;
  bool ended_flags = false;  // by "--", so that every operand is what it says

  [[nodiscard]] bool has(FlagId id) const;
  // The last one given.
  [[nodiscard]] std::optional<std::string_view> value(FlagId id) const;
  [[nodiscard]] std::vector<std::string_view> values(FlagId id) const;
};

// `words` are the arguments behind the verb; the views point into them. `--name value` and
// `--name=value` mean the same, but for a flag whose value may be left out: it takes one after "="
// alone. `--` ends the flags; behind an operand it is one. On an error `arguments` holds what was
// read before it, so that the caller knows whether --json was asked for.
Result<void> parse_arguments(const Verb& verb, std::span<const char* const> words,
                             Arguments& arguments);

// The same, for the words of this process: what is said from now on has the colours that were asked
// for.
Result<void> read_arguments(const Verb& verb, std::span<const char* const> words,
                            Arguments& arguments);

}  // namespace cordon
