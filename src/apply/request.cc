#include "apply/request.h"

#include <charconv>
#include <string_view>

#include "base/text.h"

namespace cordon::apply {
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

}  // namespace cordon::apply
