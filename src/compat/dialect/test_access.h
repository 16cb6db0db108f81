// What a policy grants, asked of `decide`, for tests that compare it with what a foreign document
// says. Nothing is looked up: every path is what it is spelled.
#pragma once

#include <string>
#include <string_view>

#include "base/path.h"
#include "compat/dialect/dialect.h"
#include "policy/decide.h"

namespace cordon::testing {

// On this host every path is there, and in every directory lie "a", "b" and "c".
inline Places plain_places() {
  return {"/a/b", "/home/alex",
          [](const std::string& path) -> Result<std::string> { return normalize(path); },
          [](const std::string&) -> Result<bool> { return true; },
          [](const std::string& path) -> Result<std::vector<std::string>> {
            return std::vector{join(path, "a"), join(path, "b"), join(path, "c")};
          }};
}

class PolicyAccess {
 public:
  explicit PolicyAccess(const Policy& policy) : clamped_(*clamp(resolved(policy), {})) {}

  [[nodiscard]] bool may(Access access, std::string_view path) const {
    const Verdict verdict = decide(clamped_, facts_, caller_, access, path);
    // A directory on the way to a grant is there, with nothing of the host's in it.
    return verdict.allowed && !verdict.rule.starts_with("directory ");
  }
  [[nodiscard]] bool reaches(std::string_view host, std::uint16_t port) const {
    return decide_connect(clamped_.effective().net, host, port, {}).allowed;
  }
  [[nodiscard]] const Effective& effective() const { return clamped_.effective(); }
  [[nodiscard]] const Clamped& clamped() const { return clamped_; }

 private:
  static Grant grant(const PathRule& rule) {
    Grant grant;
    grant.written = grant.lexical = grant.path = normalize(rule.text);
    grant.kind = FileKind::Directory;
    grant.id = {1, std::hash<std::string>{}(grant.path)};
    return grant;
  }
  static DenyGlob deny(const std::string& text) {
    std::string_view anchor = text;
    while (is_glob(anchor)) anchor = parent(anchor);
    if (anchor == text) return {text, text, {}};
    return {text, std::string(anchor), text.substr(anchor == "/" ? 1 : anchor.size() + 1)};
  }
  static Resolved resolved(const Policy& policy) {
    Resolved out;
    out.policy = policy;
    for (const PathRule& rule : policy.fs.read) out.read.push_back(grant(rule));
    for (const PathRule& rule : policy.fs.write) out.write.push_back(grant(rule));
    for (const PathRule& rule : policy.fs.deny) out.deny.push_back(deny(rule.text));
    return out;
  }

  Clamped clamped_;
  HostFacts facts_;
  Caller caller_;
};

}  // namespace cordon::testing
