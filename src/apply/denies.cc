#include "apply/denies.h"

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "base/path.h"
#include "base/text.h"
#include "cordon/result.h"

namespace cordon::apply {
namespace {

// What the rule is about, of what the other one grants.
bool withholds(SafeClawAccess denied, SafeClawAccess granted) {
  const bool reading = denied != SafeClawAccess::Write && denied != SafeClawAccess::Execute;
  return reading || (writes(denied) && writes(granted)) || (executes(denied) && executes(granted));
}

Judged<std::string> led_to(const std::string& path) {
  std::string present = normalize(path);
  std::string missing;
  while (true) {
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(present.c_str(), nullptr),
                                                      std::free);
    if (real) return normalize(real.get() + missing);
    const int error = errno;
    // Behind a directory that is not there ".." means nothing.
    if (error != ENOENT || present == "/" || has_dotdot(path)) {
      return tl::unexpected(
          with_errno(Status::Policy, "cannot tell where " + quote(path) + " leads", error));
    }
    missing = "/" + std::string(basename(present)) + missing;
    present = std::string(parent(present));
  }
}

}  // namespace

Judged<void> check_denies(const SafeClawPolicy& policy) {
  for (const SafeClawRule& deny : policy.deny) {
    CORDON_TRY(denied, led_to(deny.path));
    for (const SafeClawRule& allow : policy.allow) {
      if (!withholds(deny.access, allow.access)) continue;
      CORDON_TRY(granted, led_to(allow.path));
      if (contains(granted, denied) || contains(denied, granted)) {
        return refuse(Status::Policy, "the deny of " + quote(deny.path) +
                                          " cannot be held beside the rule for " +
                                          quote(allow.path));
      }
    }
  }
  return {};
}

}  // namespace cordon::apply
