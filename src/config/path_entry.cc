#include "config/path_entry.h"

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "config/document_text.h"
#include "config/section.h"

namespace cordon {
namespace {

// PATH_MAX and NAME_MAX of Linux; PATH_MAX counts the closing NUL.
constexpr std::size_t kMaxPathBytes = 4095;
constexpr std::size_t kMaxNameBytes = 255;

constexpr std::array<std::string_view, 3> kWords{"@cwd", "@system", "@toolchains"};

bool has_control_byte(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

bool has_overlong_name(std::string_view text) {
  const auto names = split(text, '/');
  return std::any_of(names.begin(), names.end(),
                     [](std::string_view name) { return name.size() > kMaxNameBytes; });
}

Result<void> check_home_path(std::string_view text) {
  if (text.size() > 1 && text[1] != '/') {
    return fail(policy_error(shown(text) + " names another user's home",
                             "write \"~\", \"~/x\" or an absolute path"));
  }
  if (has_dotdot(text)) {
    return fail(policy_error(shown(text) + " leaves the home directory by \"..\"",
                             "write an absolute path"));
  }
  return {};
}

Result<void> check_word(std::string_view text, PathUse use) {
  if (use == PathUse::Socket) {
    return fail(policy_error(shown(text) + " is not the path of a socket", "name each socket"));
  }
  if (std::find(kWords.begin(), kWords.end(), text) == kWords.end()) {
    std::string hint = suggestion(text, kWords);
    if (hint.empty())
      hint = "write \"./" + std::string(text.substr(0, 64)) + "\" for a file of that name";
    return fail(policy_error("unknown word " + shown(text) + " in a path list", std::move(hint)));
  }
  if (use == PathUse::Write && text != "@cwd") {
    return fail(policy_error(shown(text) + " is never writable", "grant it by \"read\""));
  }
  return {};
}

}  // namespace

bool is_root_spelling(std::string_view text) {
  if (!text.starts_with('/')) return false;
  const auto names = split(text, '/');
  return std::all_of(names.begin(), names.end(), [](std::string_view name) {
    return name.empty() || name == "." || name == "..";
  });
}

Result<void> check_path_entry(std::string_view text, PathUse use) {
  if (text.empty()) return fail(policy_error("empty path", "remove the entry"));
  if (has_control_byte(text)) {
    return fail(policy_error("path " + shown(text) + " holds a control byte"));
  }
  if (text.size() > kMaxPathBytes || has_overlong_name(text)) {
    return fail(policy_error("path " + shown(text) + " is longer than the kernel takes"));
  }
  if (text.front() == '~') return check_home_path(text);
  if (text.front() == '@') return check_word(text, use);
  if (use == PathUse::Write && is_root_spelling(text)) {
    return fail(policy_error("the root directory is never writable",
                             "name the directories the command may write"));
  }
  return {};
}

}  // namespace cordon
