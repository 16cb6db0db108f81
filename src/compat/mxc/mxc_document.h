// An MXC request as it goes to an executor: what was decided elsewhere, written down. The one place
// that knows the words of the document is mxc_write.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compat/dialect/dialect.h"
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

// An MXC request, read with the strictness its declared version's own binaries show. Only what a
// process sandbox on Linux can hold is accepted; the rest is refused by name.

// Of a process, in milliseconds, as MXC counts it.
inline constexpr std::uint64_t kMostTimeout = 0xFFFFFFFF;

// Compared by major and minor; from 0.9 on a version is one exact text.
struct MxcVersion {
  unsigned major = 0;
  unsigned minor = 8;
  auto operator<=>(const MxcVersion&) const = default;

  [[nodiscard]] bool at_least(unsigned wanted_major, unsigned wanted_minor) const {
    return *this >= MxcVersion{wanted_major, wanted_minor};
  }
};
// 0.4 to 1.1. A document without a version is read as 0.8, the last that could leave it out.
Result<MxcVersion> parse_mxc_version(std::string_view text);

struct MxcRequest {
  MxcVersion version;
  std::string container_id;
  std::string containment;  // as written; "process" if it was left out
  std::string command_line;
  std::string cwd;  // empty: not given
  Policy policy;    // everything the document grants
  std::vector<DroppedKey> losses;
};
Result<MxcRequest> read_mxc_request(const Node& node, const std::string& file,
                                    const Places& places);

}  // namespace cordon
