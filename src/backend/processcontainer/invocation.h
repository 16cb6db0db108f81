// The command line of MXC's executor on Windows. Unproven: nothing of it ever ran there.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::processcontainer {

// Windows takes no longer text to start a program with.
inline constexpr std::size_t kMostCommandLine = 32767;
// The first build of Windows whose processes these executors can contain.
inline constexpr unsigned kLeastBuild = 26100;

// `wxc-exec.exe --config-base64 DOCUMENT`: it reads no standard input. Whoever can list processes
// sees the document, so that nothing secret belongs into it. Nothing if it is too long.
std::optional<std::vector<std::string>> executor_arguments(std::string_view document);

// What a runner there would enforce.
struct Record {
  std::string_view backend = "processcontainer";
  bool fs_read = true;
  bool fs_write = true;
  bool execute = true;
  bool net_block = true;
  bool network_host_filtering = false;
  bool deny_paths_supported = false;
  bool proven = false;
};

}  // namespace cordon::processcontainer
