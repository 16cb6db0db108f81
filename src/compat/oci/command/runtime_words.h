// The command line that engines use with a runtime, behind the global options: which commands there
// are, which of their options Cordon knows, and what it does with each. An option that stands in no
// table is refused: nobody here knows what it does.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cordon::oci {

enum class CommandUse {
  Start,   // create, run: judged
  Exec,    // judged
  Update,  // judged
  Delete,  // passed on; then Cordon's copy goes
  Pass,    // asks or ends: passed on as it is
  Refuse,  // would start what was never judged
};
// Nothing for a command that is not known.
std::optional<CommandUse> use_of(std::string_view command);

struct GivenOption {
  std::string name;   // without dashes, the long form: "bundle"
  std::string value;  // of one that takes one
  bool takes_value = false;
};

struct CommandWords {
  std::string command;
  std::vector<GivenOption> options;
  std::vector<std::string> operands;  // the id first

  [[nodiscard]] std::optional<std::string> value(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
  // In place of every option of that name; an empty value takes it away.
  void replace(std::string_view name, const std::string& value);
  // As they are given to the runtime.
  [[nodiscard]] std::vector<std::string> words() const;
};

// Of a command that is judged.
Result<CommandWords> read_command(std::span<const std::string_view> words);

}  // namespace cordon::oci
