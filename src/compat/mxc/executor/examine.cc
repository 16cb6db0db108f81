#include "compat/mxc/executor/examine.h"

#include <sys/mman.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/path.h"
#include "base/sha256.h"
#include "base/text.h"
#include "compat/mxc/executor/inside.h"
#include "compat/mxc/executor/pins.h"
#include "host/inspect.h"
#include "host/writable.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/native/prepared.h"

namespace cordon::mxc {
namespace {

constexpr std::string_view kPackage = "@microsoft/mxc-sdk";

// An executable regular file; a link to one counts.
bool is_program(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> below(const std::string& directory, bool plain) {
  const std::string name(executor_name(own_system()));
  for (const std::string& arch : arch_directories(own_system(), own_machine())) {
    std::string path = join(join(directory, arch), name);
    if (is_program(path)) return path;
  }
  std::string path = join(directory, name);
  if (plain && is_program(path)) return path;
  return std::nullopt;
}

std::string variable(const Caller& caller, const std::string& name) {
  const auto found = caller.environment.find(name);
  return found == caller.environment.end() ? std::string() : found->second;
}

// PREFIX/lib/node_modules, where PREFIX/bin has the programs.
std::vector<std::string> global_packages(const Caller& caller) {
  std::vector<std::string> prefixes;
  for (const char* name : {"npm_config_prefix", "NPM_CONFIG_PREFIX"}) {
    prefixes.push_back(variable(caller, name));
  }
  for (const char* program : {"npm", "node"}) {
    const std::string path = on_path(program, caller);
    if (!path.empty()) prefixes.emplace_back(parent(parent(path)));
  }
  prefixes.emplace_back("/usr/local");
  prefixes.emplace_back("/usr");
  std::vector<std::string> directories;
  for (const std::string& prefix : prefixes) {
    if (prefix.starts_with('/')) directories.push_back(join(prefix, "lib/node_modules"));
  }
  return directories;
}

}  // namespace

std::optional<FoundExecutor> find_executor(const Caller& caller) {
  const std::string named = variable(caller, "MXC_BIN_DIR");
  if (named.starts_with('/')) {
    if (auto path = below(normalize(named), true)) return FoundExecutor{*path, "MXC_BIN_DIR"};
  }
  for (const std::string& packages : global_packages(caller)) {
    if (auto path = below(join(join(packages, kPackage), "bin"), false)) {
      return FoundExecutor{*path, "npm"};
    }
  }
  return std::nullopt;
}

Identity identity_of(const Plan& plan) {
  const native::Prepared prepared = native::prepare(plan, ::geteuid());
  return {prepared.uid_map, prepared.gid_map, prepared.map_by == native::MapBy::Supervisor};
}

Result<void> map_identity(pid_t init, const Identity& identity) {
  if (::geteuid() != 0) CORDON_CHECK(native::write_map(init, "setgroups", "deny"));
  CORDON_CHECK(native::write_map(init, "uid_map", identity.uid_map));
  return native::write_map(init, "gid_map", identity.gid_map);
}

std::string_view executor_name(System system) {
  switch (system) {
    case System::Linux:
      return "lxc-exec";
    case System::MacOs:
      return "mxc-exec-mac";
    case System::Windows:
      return "wxc-exec.exe";
  }
  return "";
}

std::string arch_word(System system, std::string_view machine) {
  std::string word = lower_case(machine);
  if (word == "arm64" || word == "aarch64") return "arm64";
  if (word == "amd64" || word == "x86_64" || word == "x64") {
    return system == System::Windows ? "x64" : "x86_64";
  }
  return word;
}

std::string pin_key(System system, std::string_view machine) {
  std::string_view platform;
  switch (system) {
    case System::Linux:
      platform = "linux-";
      break;
    case System::MacOs:
      platform = "darwin-";
      break;
    case System::Windows:
      platform = "win32-";
      break;
  }
  return std::string(platform) + arch_word(system, machine);
}

std::vector<std::string> arch_directories(System system, std::string_view machine) {
  std::vector<std::string> words{arch_word(system, machine)};
  if (words.front() == "x86_64") words.emplace_back("x64");
  return words;
}

Call executor_call(System system) {
  const std::string name(executor_name(system));
  switch (system) {
    case System::Linux:
      return {{name, "--config", "/proc/self/fd/" + std::to_string(kDocumentFd)},
              Delivery::Descriptor};
    case System::MacOs:
      return {{name, "--experimental"}, Delivery::StandardInput};
    case System::Windows:
      return {{name, "--config-base64"}, Delivery::CommandLine};
  }
  return {};
}

System own_system() { return System::Linux; }

std::string_view own_machine() {
#if defined(__aarch64__)
  return "aarch64";
#elif defined(__x86_64__)
  return "x86_64";
#else
#error "Cordon knows the executors of aarch64 and x86_64 only"
#endif
}

namespace {

// The published executors have up to ten million bytes.
constexpr std::size_t kMostExecutorBytes = std::size_t{256} << 20;
constexpr unsigned kExecutable = 0x0010U;  // MFD_EXEC, since Linux 6.3
constexpr int kSeals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

Result<std::string> content_of(const std::string& path) {
  // Non-blocking: a FIFO under this name would stop the launch for ever.
  const Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid()) {
    Error error = untrusted("executor " + quote(path) + " was not found", "install it again");
    error.error_number = errno == ENOENT ? 0 : errno;
    return fail(std::move(error));
  }
  const std::optional<FileInfo> seen = inspect_fd(file.get());
  if (!seen || seen->kind != FileKind::Regular) {
    return fail(
        untrusted("executor " + quote(path) + " is not a regular file", "install it again"));
  }
  std::optional<std::string> content = read_all(file.get(), kMostExecutorBytes);
  if (!content) {
    return fail(untrusted("executor " + quote(path) + " cannot be read", "check its permissions"));
  }
  return std::move(*content);
}

}  // namespace

Result<Fd> sealed_memory(const char* name, std::string_view bytes) {
  Fd memory(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | kExecutable));
  // Older kernels do not know the flag and always allow execution.
  if (!memory.valid() && errno == EINVAL) {
    memory = Fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  }
  if (!memory.valid()) return fail(setup_error("cannot make a file in memory", errno));
  while (!bytes.empty()) {
    const ssize_t written = ::write(memory.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail(setup_error("cannot write a file in memory", errno));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fcntl(memory.get(), F_ADD_SEALS, kSeals) < 0) {
    return fail(setup_error("cannot seal a file in memory", errno));
  }
  return memory;
}

Result<VerifiedExecutor> verify_executor(const std::string& path, const std::string& sha256) {
  CORDON_TRY(content, content_of(path));
  const std::string actual = sha256_hex(content);
  if (actual != sha256) {
    return fail(untrusted("executor " + quote(path) + " is not the pinned one: SHA256 expected " +
                              sha256 + ", actual " + actual,
                          "install the pinned release again, or pin this one in pins.toml if you "
                          "know where it came from"));
  }
  CORDON_TRY(copy, sealed_memory("executor", content));
  return VerifiedExecutor(std::move(copy));
}

Result<std::string> digest_of(const std::string& path) {
  CORDON_TRY(content, content_of(path));
  return sha256_hex(content);
}

std::optional<ExecutorAccount> examine_executor(const Caller& caller) {
  const auto found = find_executor(caller);
  if (!found) return std::nullopt;
  ExecutorAccount account;
  account.path = found->path;
  account.tier = found->tier;
  account.key = pin_key(own_system(), own_machine());
  account.pins = pins_path(caller);
  if (auto digest = digest_of(found->path)) {
    account.sha256 = std::move(*digest);
  } else {
    account.why = std::move(digest).error();
  }
  if (auto trusted = check_way(found->path, caller); !trusted) {
    account.why = std::move(trusted).error();
  }
  if (auto pins = read_pins(caller); !pins) {
    account.why = std::move(pins).error();
  } else {
    if (!pins->file.empty()) account.pins = pins->file;
    const auto pin = pins->pin.find(account.key);
    if (pin != pins->pin.end()) account.pin = pin->second;
  }
  return account;
}

}  // namespace cordon::mxc
