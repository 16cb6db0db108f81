#include "compat/safeclaw/apply/prepare.h"

#include <net/if.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <ifaddrs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "base/fd.h"
#include "base/path.h"
#include "base/result.h"
#include "base/text.h"
#include "compat/dialect/foreign_table.h"
#include "sys/landlock.h"

namespace cordon::apply {

Refusal with_errno(Status status, std::string text, int error) {
  const char* description = ::strerrordesc_np(error);
  text.append(": ").append(description != nullptr ? description : "unknown error");
  return {status, std::move(text)};
}

namespace {

Judged<int> parse_descriptor(std::string_view text) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < kPolicyDescriptor) {
    return refuse(Status::Usage, "--status-fd needs a number from 3 on");
  }
  return number;
}

class Words {
 public:
  explicit Words(std::span<char* const> words) : words_(words) {}
  bool take() {
    if (words_.empty()) return false;
    word_ = words_.front();
    words_ = words_.subspan(1);
    return true;
  }
  [[nodiscard]] std::string_view word() const { return word_; }
  [[nodiscard]] std::span<char* const> rest() const { return words_; }
  // The value of the option `name` if this word is that option, in either spelling.
  Judged<std::optional<std::string>> value_of(std::string_view name) {
    if (word_ == name) {
      if (!take()) return refuse(Status::Usage, std::string(name) + " needs a value");
      return std::string(word_);
    }
    if (word_.starts_with(name) && word_.substr(name.size()).starts_with('=')) {
      return std::string(word_.substr(name.size() + 1));
    }
    return std::nullopt;
  }

 private:
  std::span<char* const> words_;
  std::string_view word_;
};

Judged<Request> finish(Request request) {
  if (request.command.empty()) return refuse(Status::Usage, "no command was given");
  // It would be read as the policy.
  if (!request.policy_file && request.status_fd == kPolicyDescriptor) {
    return refuse(Status::Usage, "descriptor 3 is the policy's");
  }
  return request;
}

}  // namespace

Judged<Request> parse_request(std::span<char* const> given) {
  Request request;
  Words words(given);
  while (words.take()) {
    if (words.word() == "--") {
      request.command = words.rest();
      return finish(std::move(request));
    }
    if (words.word() == "--dry-run") {
      request.purpose = Purpose::DryRun;
      continue;
    }
    CORDON_TRY(file, words.value_of("--policy-file"));
    if (file) {
      if (file->empty()) return refuse(Status::Usage, "--policy-file needs a value");
      request.policy_file = std::move(file);
      continue;
    }
    CORDON_TRY(descriptor, words.value_of("--status-fd"));
    if (!descriptor) return refuse(Status::Usage, "unknown option " + quote(words.word()));
    CORDON_TRY(number, parse_descriptor(*descriptor));
    request.status_fd = number;
  }
  return refuse(Status::Usage, "\"--\" is missing before the command");
}

namespace {

constexpr mode_t kOwnerOnly = 0600;
constexpr mode_t kPermissionBits = 07777;

Judged<std::string> read_to_end(int descriptor) {
  std::string text(kLongestPolicy + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = ::read(descriptor, text.data() + length, text.size() - length);
    if (got == 0) break;
    if (got > 0) {
      length += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      return tl::unexpected(with_errno(Status::Permission, "cannot read the policy", errno));
    }
  }
  if (length > kLongestPolicy) return refuse(Status::Policy, "the policy is longer than 64 KiB");
  text.resize(length);
  return text;
}

Judged<void> check_owner(int descriptor, const std::string& shown_path) {
  struct stat file {};
  if (::fstat(descriptor, &file) < 0) {
    return tl::unexpected(with_errno(Status::Permission, "cannot look at " + shown_path, errno));
  }
  if (!S_ISREG(file.st_mode)) {
    return refuse(Status::Permission, shown_path + " is not a regular file");
  }
  if (file.st_uid != ::getuid()) {
    return refuse(Status::Permission, shown_path + " belongs to somebody else");
  }
  if ((file.st_mode & kPermissionBits) != kOwnerOnly) {
    return refuse(Status::Permission, shown_path + " must have the mode 0600");
  }
  return {};
}

}  // namespace

Judged<std::string> read_policy_file(const std::string& path) {
  // A pipe put there would keep the open waiting.
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid()) {
    const int error = errno;
    if (error == ELOOP) return refuse(Status::Permission, quote(path) + " is a symlink");
    return tl::unexpected(with_errno(Status::Permission, "cannot open " + quote(path), error));
  }
  CORDON_CHECK(check_owner(file.get(), quote(path)));
  return read_to_end(file.get());
}

Judged<std::string> read_policy_descriptor(int descriptor) {
  const Fd source(descriptor);
  return read_to_end(source.get());
}

Judged<SafeClawPolicy> parse_policy(const std::string& text, const std::string& name) {
  const auto refused = [](const Error& error) {
    return refuse(Status::Policy, message(error) + (error.hint.empty() ? "" : "; " + error.hint));
  };
  const auto document = read_json(text, name);
  if (!document) return refused(document.error());
  auto policy = decode_safeclaw(*document, name);
  if (!policy) return refused(policy.error());
  return std::move(*policy);
}

namespace {

namespace right = sys::landlock;

constexpr std::uint64_t kReading = right::kReadFile | right::kReadDir;
constexpr std::uint64_t kWriting = right::kWriteFile | right::kRemoveDir | right::kRemoveFile |
                                   right::kMakeReg | right::kMakeDir | right::kMakeSym |
                                   right::kRefer | right::kTruncate;

struct NamedRight {
  std::uint64_t right;
  const char* name;
};
constexpr NamedRight kNames[] = {
    {right::kExecute, "EXECUTE"},      {right::kWriteFile, "WRITE_FILE"},
    {right::kReadFile, "READ_FILE"},   {right::kReadDir, "READ_DIR"},
    {right::kRemoveDir, "REMOVE_DIR"}, {right::kRemoveFile, "REMOVE_FILE"},
    {right::kMakeChar, "MAKE_CHAR"},   {right::kMakeDir, "MAKE_DIR"},
    {right::kMakeReg, "MAKE_REG"},     {right::kMakeSock, "MAKE_SOCK"},
    {right::kMakeFifo, "MAKE_FIFO"},   {right::kMakeBlock, "MAKE_BLOCK"},
    {right::kMakeSym, "MAKE_SYM"},     {right::kRefer, "REFER"},
    {right::kTruncate, "TRUNCATE"},    {right::kIoctlDev, "IOCTL_DEV"},
};

}  // namespace

std::uint64_t rights_of(SafeClawAccess access, Target target, int abi) {
  std::uint64_t rights = kReading;
  if (writes(access)) rights |= kWriting;
  if (executes(access)) rights |= right::kExecute;
  if (target == Target::File) rights &= right::kFileRights;
  return rights & right::file_rights(abi);
}

std::vector<std::string> right_names(std::uint64_t rights) {
  std::vector<std::string> names;
  for (const auto& [right, name] : kNames) {
    if ((rights & right) != 0) names.emplace_back(name);
  }
  return names;
}

namespace {

Fd open_object(const std::string& path) { return Fd(::open(path.c_str(), O_PATH | O_CLOEXEC)); }

// What the denied rule is about, of what the other one grants.
bool withholds(SafeClawAccess denied, SafeClawAccess granted) {
  const bool reading = denied != SafeClawAccess::Write && denied != SafeClawAccess::Execute;
  return reading || (writes(denied) && writes(granted)) || (executes(denied) && executes(granted));
}

Judged<std::string> place_of(const Fd& object, const std::string& path) {
  const std::string link = "/proc/self/fd/" + std::to_string(object.get());
  std::array<char, kSafeClawLongestPath + 2> place{};
  const ssize_t length = ::readlink(link.c_str(), place.data(), place.size());
  if (length <= 0 || static_cast<std::size_t>(length) == place.size() || place[0] != '/') {
    return refuse(Status::Policy, "cannot tell where " + quote(path) + " leads");
  }
  return std::string(place.data(), static_cast<std::size_t>(length));
}

Judged<std::string> place_of_denied(const std::string& path) {
  std::string present = normalize(path);
  std::string missing;
  while (true) {
    const Fd object = open_object(present);
    if (object.valid()) {
      CORDON_TRY(place, place_of(object, path));
      return normalize(place + missing);
    }
    // Behind a directory that is not there ".." means nothing.
    if (errno != ENOENT || present == "/" || has_dotdot(path)) {
      return tl::unexpected(
          with_errno(Status::Policy, "cannot tell where " + quote(path) + " leads", errno));
    }
    missing.insert(0, std::string("/").append(basename(present)));
    present = std::string(parent(present));
  }
}

}  // namespace

Judged<std::vector<RuleObject>> open_rules(const std::vector<SafeClawRule>& rules) {
  std::vector<RuleObject> objects;
  for (const SafeClawRule& rule : rules) {
    Fd object = open_object(rule.path);
    if (!object.valid() && errno != ENOENT) {
      return tl::unexpected(with_errno(Status::Landlock, "cannot open " + quote(rule.path), errno));
    }
    objects.push_back({rule, std::move(object)});
  }
  return objects;
}

Judged<void> check_denies(const std::vector<SafeClawRule>& denies,
                          const std::vector<RuleObject>& objects) {
  for (const SafeClawRule& deny : denies) {
    CORDON_TRY(denied, place_of_denied(deny.path));
    for (const auto& [rule, object] : objects) {
      if (!object.valid() || !withholds(deny.access, rule.access)) continue;
      CORDON_TRY(granted, place_of(object, rule.path));
      if (contains(granted, denied) || contains(denied, granted)) {
        return refuse(Status::Policy, "the deny of " + quote(deny.path) +
                                          " cannot be held beside the rule for " +
                                          quote(rule.path));
      }
    }
  }
  return {};
}

std::optional<bool> may_execute(const std::string& path, const std::vector<RuleObject>& objects) {
  const Fd program = open_object(path);
  if (!program.valid()) return std::nullopt;
  const auto place = place_of(program, path);
  if (!place) return std::nullopt;
  for (const auto& [rule, object] : objects) {
    if (!object.valid() || !executes(rule.access)) continue;
    const auto granted = place_of(object, rule.path);
    if (granted && contains(*granted, *place)) return true;
  }
  return false;
}

namespace {

Judged<void> check_only_loopback() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) < 0) {
    return tl::unexpected(
        with_errno(Status::Policy, "cannot tell which network interfaces there are", errno));
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, ::freeifaddrs);
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if ((at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_LOOPBACK) == 0) {
      return refuse(Status::Policy,
                    "the network of the policy needs an outer layer: the interface " +
                        quote(at->ifa_name) + " is up");
    }
  }
  return {};
}

}  // namespace

Judged<ListedSockets> sockets_of(const SafeClawNetwork& network) {
  switch (network.reach) {
    case SafeClawNetwork::Reach::None:
      return ListedSockets::None;
    case SafeClawNetwork::Reach::Unsaid:
      return ListedSockets::Internet;
    case SafeClawNetwork::Reach::Localhost:
    case SafeClawNetwork::Reach::Domains:
      break;
  }
  if (auto checked = check_only_loopback(); !checked) return tl::unexpected(checked.error());
  return ListedSockets::Internet;
}

namespace {

struct Successor {
  std::string_view name;
  std::string_view instead;
};
// Calls that aarch64 was born without, and what its libraries call. Sorted.
constexpr Successor kSuccessors[] = {
    {"access", "faccessat"},
    {"alarm", "setitimer"},
    {"chmod", "fchmodat"},
    {"chown", "fchownat"},
    {"creat", "openat"},
    {"dup2", "dup3"},
    {"epoll_create", "epoll_create1"},
    {"epoll_wait", "epoll_pwait"},
    {"eventfd", "eventfd2"},
    {"fork", "clone"},
    {"futimesat", "utimensat"},
    {"getdents", "getdents64"},
    {"getpgrp", "getpgid"},
    {"inotify_init", "inotify_init1"},
    {"lchown", "fchownat"},
    {"link", "linkat"},
    {"lstat", "newfstatat"},
    {"mkdir", "mkdirat"},
    {"mknod", "mknodat"},
    {"open", "openat"},
    {"pause", "ppoll"},
    {"pipe", "pipe2"},
    {"poll", "ppoll"},
    {"readlink", "readlinkat"},
    {"rename", "renameat"},
    {"rmdir", "unlinkat"},
    {"select", "pselect6"},
    {"signalfd", "signalfd4"},
    {"stat", "newfstatat"},
    {"symlink", "symlinkat"},
    {"time", "gettimeofday"},
    {"unlink", "unlinkat"},
    {"utime", "utimensat"},
    {"utimes", "utimensat"},
    {"vfork", "clone"},
};
static_assert(std::ranges::is_sorted(kSuccessors, {}, &Successor::name));

std::optional<KnownSyscall> successor(std::string_view name, Arch arch) {
  const auto* at = std::ranges::lower_bound(kSuccessors, name, {}, &Successor::name);
  if (at == std::end(kSuccessors) || at->name != name) return std::nullopt;
  const auto call = find_syscall(at->instead);
  return call && call->number(arch) ? call : std::nullopt;
}

bool holds(const std::vector<KnownSyscall>& calls, std::string_view name) {
  return std::ranges::find(calls, name, &KnownSyscall::name) != calls.end();
}

Judged<void> add_call(const std::string& name, Arch arch, NamedCalls& named) {
  auto call = find_syscall(name);
  if (!call) return refuse(Status::Seccomp, "unknown system call " + quote(name));
  if (call->standing == Standing::Never) {
    if (call->decision != Decision::Absent) {
      return refuse(Status::Seccomp, "no policy may permit the system call " + quote(name));
    }
    named.unanswered.push_back(name);
  }
  if (!call->number(arch)) {
    call = successor(name, arch);
    if (!call) {
      named.without_effect.push_back(name);
      return {};
    }
    named.renamed.push_back(name + ": " + std::string(call->name));
  }
  if (!holds(named.calls, call->name)) named.calls.push_back(*call);
  return {};
}

}  // namespace

Judged<NamedCalls> resolve_calls(std::span<const std::string> names, Arch arch) {
  NamedCalls named;
  for (const std::string& name : names) CORDON_CHECK(add_call(name, arch, named));
  if (!holds(named.calls, "execve")) {
    return refuse(Status::Seccomp, "the policy does not list execve: nothing could be started");
  }
  return named;
}

namespace {

Judged<RuleState> add_rule(int ruleset, const RuleObject& object, int abi) {
  const auto& [rule, fd] = object;
  if (!fd.valid()) return RuleState{rule.path, 0};
  struct stat status {};
  if (::fstat(fd.get(), &status) < 0) {
    return tl::unexpected(
        with_errno(Status::Landlock, "cannot look at " + quote(rule.path), errno));
  }
  const Target target = S_ISDIR(status.st_mode) ? Target::Directory : Target::File;
  const std::uint64_t rights = rights_of(rule.access, target, abi);
  if (const int error = sys::landlock_add_path(ruleset, fd.get(), rights); error < 0) {
    return tl::unexpected(
        with_errno(Status::Landlock, "cannot make a rule for " + quote(rule.path), -error));
  }
  return RuleState{rule.path, rights};
}

// About the first candidate that is there.
std::string advice_about(const std::vector<std::string>& candidates,
                         const std::vector<RuleObject>& objects) {
  for (const std::string& candidate : candidates) {
    const auto permitted = may_execute(candidate, objects);
    if (!permitted) continue;
    return *permitted ? "" : "no rule of the policy lets " + quote(candidate) + " be executed";
  }
  return {};
}

Judged<void> prepare_files(const SafeClawPolicy& policy, Preparation& made) {
  made.abi = sys::landlock_abi();
  if (made.abi == 0) return refuse(Status::Landlock, "the kernel has no Landlock, or it is off");
  if (made.abi < kOldestAbi) {
    return refuse(Status::Landlock, "Landlock of this kernel (ABI " + std::to_string(made.abi) +
                                        ") cannot withhold truncating; Linux 6.2 can");
  }
  made.handled = sys::landlock::file_rights(made.abi);
  const int ruleset =
      sys::landlock_create_ruleset(made.handled, sys::landlock::scopes(made.abi), 0);
  if (ruleset < 0) {
    return tl::unexpected(with_errno(Status::Landlock, "cannot make a Landlock ruleset", -ruleset));
  }
  made.ruleset = Fd(ruleset);
  CORDON_TRY(objects, open_rules(policy.allow));
  CORDON_CHECK(check_denies(policy.deny, objects));
  for (const RuleObject& object : objects) {
    CORDON_TRY(state, add_rule(ruleset, object, made.abi));
    made.rules.push_back(std::move(state));
  }
  made.advice = advice_about(made.candidates, objects);
  return {};
}

// As execvp looks for it, but never in the current directory by way of an empty entry.
std::vector<std::string> candidates_for(const std::string& command) {
  if (command.find('/') != std::string::npos) return {command};
  const char* path = std::getenv("PATH");
  std::vector<std::string> found;
  for (const std::string_view directory :
       split(std::string_view(path != nullptr ? path : "/usr/bin:/bin"), ':')) {
    if (!directory.empty()) found.push_back(std::string(directory) + "/" + command);
  }
  return found;
}

}  // namespace

Judged<Preparation> prepare(const SafeClawPolicy& policy, const Request& request) {
  Preparation made;
  CORDON_TRY(sockets, sockets_of(policy.network));
  CORDON_TRY(calls, resolve_calls(policy.syscalls, native_arch()));
  made.calls = std::move(calls);
  made.filter = compile_listed_filter(native_arch(), made.calls.calls, sockets);
  made.candidates = candidates_for(request.command.front());
  CORDON_CHECK(prepare_files(policy, made));
  return made;
}

Node describe(const Preparation& made) {
  NodeList rules;
  for (const RuleState& rule : made.rules) {
    rules.push_back(
        Node().set("path", rule.path).set("rights", text_nodes(right_names(rule.rights))));
  }
  NodeList names;
  for (const KnownSyscall& call : made.calls.calls) names.emplace_back(call.name);
  return Node()
      .set("schema", "cordon.apply/1")
      .set("landlock_abi", made.abi)
      .set("withheld", text_nodes(right_names(made.handled)))
      .set("rules", std::move(rules))
      .set("calls", Node()
                        .set("listed", std::move(names))
                        .set("renamed", text_nodes(made.calls.renamed))
                        .set("unanswered", text_nodes(made.calls.unanswered))
                        .set("without_effect", text_nodes(made.calls.without_effect)))
      .set("instructions", std::uint64_t{made.filter.size()});
}

}  // namespace cordon::apply
