// What there is of an executor on this host, for `cordon doctor`: an operator who wants to pin one
// has to learn its digest, and where a pinned one came from.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "compat/mxc/executor/pins.h"
#include "plan/plan.h"
#include "policy/host_facts.h"

namespace cordon::mxc {

// Finding an executor. Nothing is started for it: where a package manager keeps global packages is
// told from where its programs lie.

struct FoundExecutor {
  std::string path;  // absolute, as found
  std::string tier;  // "MXC_BIN_DIR" or "npm"
  bool operator==(const FoundExecutor&) const = default;
};

// MXC_BIN_DIR/<arch>/<name>, then MXC_BIN_DIR/<name>; then the global packages of npm; then none.
// A set MXC_BIN_DIR that has no executor does not stop the search.
std::optional<FoundExecutor> find_executor(const Caller& caller);

// Who the executor is in the init's user namespace: never root, and in no group but one.

struct Identity {
  std::string uid_map;
  std::string gid_map;
  bool drop_groups = false;  // root has others than its own, which the init gives up
};
Identity identity_of(const Plan& plan);

// Done by the supervisor: the init has capabilities in its own namespace alone.
Result<void> map_identity(pid_t init, const Identity& identity);

// How MXC's executors are called and where their packages keep them, by system and processor.

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
// (compat/processcontainer).
enum class Delivery { Descriptor, StandardInput, CommandLine };
struct Call {
  std::vector<std::string> argv;  // without the document
  Delivery document;
};
Call executor_call(System system);

// Of the host this was built for.
System own_system();
std::string_view own_machine();

// VerifiedExecutor: an executor whose bytes were compared with a pin, and those very bytes. Nothing
// else can be started (executor_init.h asks for one), so no flag, variable or path goes round the
// pin.

class VerifiedExecutor {
 public:
  // A sealed copy in memory. Whatever becomes of the file afterwards, this is what runs.
  [[nodiscard]] int descriptor() const { return copy_.get(); }

 private:
  friend Result<VerifiedExecutor> verify_executor(const std::string& path,
                                                  const std::string& sha256);
  explicit VerifiedExecutor(Fd copy) : copy_(std::move(copy)) {}
  Fd copy_;
};

// The file is read once: the bytes that are compared are the ones that are kept. Kind Untrusted if
// it is not there any more or is another one; the text then has both digests.
Result<VerifiedExecutor> verify_executor(const std::string& path, const std::string& sha256);

// The digest of a file, for an operator who is about to pin it.
Result<std::string> digest_of(const std::string& path);

// A descriptor of `bytes` in memory that nobody can change any more; readable from its beginning
// through /proc/self/fd by whoever inherits it.
Result<Fd> sealed_memory(const char* name, std::string_view bytes);

struct ExecutorAccount {
  std::string path;
  std::string tier;          // how it was found
  std::string key;           // "linux-arm64"
  std::string sha256;        // of the file as it is
  std::optional<Pin> pin;    // of this host, zeros or not
  std::string pins;          // the file that has it, or would
  std::optional<Error> why;  // it cannot be looked at, or is refused whatever its digest
};

// Nothing if no executor is installed.
std::optional<ExecutorAccount> examine_executor(const Caller& caller);

}  // namespace cordon::mxc
