#include "apply/apply.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "apply/layers.h"
#include "apply/policy_text.h"
#include "apply/prepare.h"
#include "apply/voice.h"
#include "base/path.h"
#include "base/standard_streams.h"
#include "base/text.h"
#include "base/write_whole.h"

namespace cordon::apply {
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
int run(const Preparation& made, const Request& request, const Voice& voice,
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
  Voice voice{foreign ? kForeignName : kOwnName};
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
