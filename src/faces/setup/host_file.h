// A file of an agent host: written where there is none, and otherwise given one server and no other
// change, or left for the person to edit.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "policy/host_facts.h"

namespace cordon::setup {

enum class HostStanding {
  Missing,
  Current,  // holds what is wanted
  Lacks,    // can be given the server
  Edited,   // holds something else under that name, or is no file of servers
  ByHand,   // cannot be changed safely: `why`
};

struct HostFilePlan {
  std::string path;  // absolute
  HostStanding standing = HostStanding::Missing;
  std::string addition;  // what is new in it: all of it, or the one entry
  std::string text;      // the whole file as it is to be
  std::string before;    // the bytes that were looked at
  std::string why;
};

// `written` is as the host's documentation names the file: absolute, below "~/", or below the
// current directory. One that holds the server, by `wanted`, can be merged; any other is only ever
// added.
HostFilePlan plan_host_file(const std::string& written, const std::string& wanted,
                            const Caller& caller);
// Refuses if the file is not the one that was looked at any more.
Result<void> write_host_file(const HostFilePlan& plan, const Caller& caller);

// One server among those an agent host knows: added to the text of its configuration without
// touching anything else in it. Pure.

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
