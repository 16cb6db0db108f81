#include "compat/safeclaw/apply/request.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

#include "base/fd.h"
#include "base/text.h"

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

}  // namespace cordon::apply
