// How MXC's executors are called and where their packages keep them, by system and processor.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cordon::mxc {

enum class System { Linux, MacOs, Windows };

// "lxc-exec", "mxc-exec-mac", "wxc-exec.exe".
std::string_view executor_name(System system);
// The word of a processor, whatever its case: "x64" or "arm64" on Windows, "x86_64" or "arm64"
// elsewhere; a processor that nobody knows stays as it is, in lower case.
std::string arch_word(System system, std::string_view machine);
// The key of a pin: "linux-arm64", "darwin-x86_64", "win32-x64".
std::string pin_key(System system, std::string_view machine);
// Directories of a package below its bin/. The published Linux packages say x64 where pins say
// x86_64.
std::vector<std::string> arch_directories(System system, std::string_view machine);

// How an executor is called, and how it gets its document: never on a command line where there is
// another way. On Linux it reads an inherited descriptor. The one of macOS reads standard input and
// was never run from here; the one of Windows knows the command line alone
// (backend/processcontainer).
enum class Delivery { Descriptor, StandardInput, CommandLine };
struct Call {
  std::vector<std::string> argv;  // without the document
  Delivery document;
};
Call executor_call(System system);

// Of the host this was built for.
System own_system();
std::string_view own_machine();

}  // namespace cordon::mxc
