#include "compat/safeclaw/apply/apply.h"

#include <sys/auxv.h>
#include <sys/prctl.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "compat/safeclaw/apply/prepare.h"
#include "sys/calls.h"
#include "sys/landlock.h"

namespace cordon::apply {
namespace {

constexpr std::size_t kMostText = 1500;

class Line {
 public:
  Line& add(std::string_view text) {
    for (const char c : text) put(c);
    return *this;
  }
  // Inside a JSON string; control characters are not there.
  Line& add_quoted(std::string_view text) {
    for (const char c : text) {
      if (c == '"' || c == '\\') put('\\');
      put(c);
    }
    return *this;
  }
  Line& add(int number) {
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return add(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
  }
  void write_to(int descriptor) const { (void)write_whole(descriptor, {text_.data(), used_}); }

 private:
  void put(char c) {
    if (used_ < text_.size()) text_[used_++] = c;
  }

  std::array<char, 2 * kMostText + 256> text_{};
  std::size_t used_ = 0;
};

// Cuts between two characters.
std::string_view shortened(std::string_view text) {
  if (text.size() <= kMostText) return text;
  std::size_t end = kMostText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

}  // namespace

int StatusReporter::refuse(Status status, std::string_view text) const {
  const int number = static_cast<int>(status);
  const std::string_view told = shortened(text);
  Line().add(name).add(": error: ").add(told).add("\n").write_to(STDERR_FILENO);
  if (status_fd >= 0) {
    Line()
        .add(R"({"schema":"cordon.apply/1","status":)")
        .add(number)
        .add(R"(,"error":")")
        .add_quoted(told)
        .add("\"}\n")
        .write_to(status_fd);
  }
  return number;
}

void StatusReporter::warn(std::string_view text) const {
  Line().add(name).add(": warning: ").add(shortened(text)).add("\n").write_to(STDERR_FILENO);
}

namespace {

// An ordinary user may not empty the bounding set; under no_new_privs nothing can be gained from
// it.
int drop_capabilities() {
  const int error = sys::set_capabilities_empty();
  return error == -EPERM ? sys::drop_own_capabilities() : error;
}

int close_descriptors(int kept) {
  constexpr unsigned kFirst = STDERR_FILENO + 1;
  if (kept < 0) return sys::close_range(kFirst, UINT_MAX);
  const auto number = static_cast<unsigned>(kept);
  if (number > kFirst) {
    if (const int error = sys::close_range(kFirst, number - 1); error < 0) return error;
  }
  return sys::close_range(number + 1, UINT_MAX);
}

// A file that is there but cannot be executed wins over "not found".
int execute(const Layers& layers) {
  int error = ENOENT;
  for (const char* candidate : layers.candidates) {
    const int failed = -sys::execute(candidate, layers.argv, layers.environment);
    if (failed == ENOENT || failed == ENOTDIR) continue;
    if (failed != EACCES) return failed;
    error = EACCES;
  }
  return error;
}

}  // namespace

LayerFailure become_command(const Layers& layers) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) < 0) {
    return {Status::Permission, "cannot set no_new_privs", errno};
  }
  if (const int error = sys::landlock_restrict_self(layers.ruleset); error < 0) {
    return {Status::Landlock, "cannot apply Landlock", -error};
  }
  if (const int error = close_descriptors(layers.status_fd); error < 0) {
    return {Status::Permission, "cannot close inherited descriptors", -error};
  }
  if (const int error = drop_capabilities(); error < 0) {
    return {Status::Capabilities, "cannot drop capabilities", -error};
  }
  const auto length = static_cast<unsigned short>(layers.filter.size());
  if (const int error = sys::install_filter(layers.filter.data(), length); error < 0) {
    return {Status::Seccomp, "cannot install the filter", -error};
  }
  return {Status::Execute, "cannot execute the command", execute(layers)};
}

namespace {

constexpr std::string_view kOwnName = "cordon-apply";
constexpr std::string_view kForeignName = "safeclaw-sandbox-helper";
constexpr const char* kUsage =
    " [--policy-file FILE] [--status-fd N] [--dry-run] -- COMMAND [ARG]...\n";

// A program with another identity than its caller's would open with one what it was told by the
// other. The kernel makes the saved ones those in effect when it starts a program.
bool is_caller_alone() {
  return ::getuid() == ::geteuid() && ::getgid() == ::getegid() && ::getauxval(AT_SECURE) == 0;
}

Judged<Preparation> read_and_prepare(const Request& request) {
  CORDON_TRY(text, request.policy_file ? read_policy_file(*request.policy_file)
                                       : read_policy_descriptor(kPolicyDescriptor));
  CORDON_TRY(policy, parse_policy(text, request.policy_file.value_or("policy")));
  return prepare(policy, request);
}

// The message is made before the layers, where it may allocate.
int run(const Preparation& made, const Request& request, const StatusReporter& voice,
        char* const* environment) {
  if (!made.advice.empty()) voice.warn(made.advice);
  std::vector<const char*> candidates;
  for (const std::string& path : made.candidates) candidates.push_back(path.c_str());
  const std::string command = quote(request.command.front()) + ": ";
  std::string text;
  text.reserve(command.size() + 256);
  // The words of the process end with a null pointer, so those of the command do too.
  const LayerFailure failure = become_command({made.ruleset.get(), voice.status_fd, made.filter,
                                               candidates, request.command.data(), environment});
  const char* reason = ::strerrordesc_np(failure.error);
  text.append(failure.what).append(": ");
  if (failure.status == Status::Execute) text.append(command);
  text.append(reason != nullptr ? reason : "unknown error");
  return voice.refuse(failure.status, text);
}

}  // namespace

int apply_main(std::span<char* const> words, char* const* environment) {
  const bool foreign = !words.empty() && basename(words.front()) == kForeignName;
  StatusReporter voice{foreign ? kForeignName : kOwnName};
  if (!is_caller_alone()) {
    return voice.refuse(Status::Identity,
                        "refusing to run setuid, setgid or with file capabilities");
  }
  if (!open_standard_streams()) {
    return voice.refuse(Status::Permission, "cannot open /dev/null for a missing stream");
  }
  words = words.subspan(words.empty() ? 0 : 1);
  // `cordon` names the verb.
  if (!foreign && !words.empty() && std::string_view(words.front()) == "apply") {
    words = words.subspan(1);
  }
  const auto request = parse_request(words);
  if (!request) {
    const int status = voice.refuse(request.error().status, request.error().text);
    (void)write_whole(STDERR_FILENO, "usage: " + std::string(voice.name) + kUsage);
    return status;
  }
  if (request->status_fd) {
    if (::fcntl(*request->status_fd, F_SETFD, FD_CLOEXEC) < 0) {
      return voice.refuse(Status::Usage, "--status-fd names a descriptor that is not open");
    }
    voice.status_fd = *request->status_fd;
  }
  const auto made = read_and_prepare(*request);
  if (!made) return voice.refuse(made.error().status, made.error().text);
  if (request->purpose == Purpose::DryRun) {
    const std::string text = write_json(describe(*made), JsonStyle::Pretty) + "\n";
    if (write_whole(STDOUT_FILENO, text) == 0) return 0;
    return voice.refuse(Status::Permission, "cannot write the answer");
  }
  return run(*made, *request, voice, environment);
}

}  // namespace cordon::apply
