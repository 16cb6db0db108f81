// One server among those an agent host knows: added to the text of its configuration without
// touching anything else in it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cordon::setup {

enum class ConfigForm { Json, Toml };

struct ServerMerge {
  enum class Kind {
    Same,       // the entry is there, as wanted
    Different,  // there is another one under its name
    Added,      // `text` is the configuration with it
    ByHand,     // it cannot be added so that all the rest stays as it is
  };
  Kind kind = Kind::ByHand;
  std::string text;
};

// `wanted` is a whole configuration that holds the one entry. What is added is read back: the
// result means what `existing` means, and the entry.
ServerMerge add_server(std::string_view existing, std::string_view wanted, ConfigForm form);
// The entry alone, as a person would add it.
std::string entry_text(std::string_view wanted, ConfigForm form);

}  // namespace cordon::setup
