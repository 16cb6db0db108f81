// An MXC request as it goes to an executor: what was decided elsewhere, written down. The one place
// that knows the words of the document is mxc_write.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/node.h"

namespace cordon {

struct MxcOutput {
  enum class Network {
    None,  // an empty network namespace
    Host,  // the host's own, its loopback included
  };
  std::string containment = "process";
  std::string command_line;
  std::optional<std::string> cwd;
  std::vector<std::string> environment;  // "NAME=value", and nothing else
  std::optional<std::uint64_t> timeout_ms;
  std::vector<std::string> read;
  std::vector<std::string> write;
  std::vector<std::string> deny;
  Network network = Network::None;
};

// A path that the document cannot hold as it is: one that is not UTF-8, or with a quote, which the
// executors refuse.
bool mxc_can_name(const std::string& path);

Node mxc_document(const MxcOutput& output);

}  // namespace cordon
