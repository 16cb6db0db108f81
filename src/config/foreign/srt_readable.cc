#include <algorithm>

#include "base/path.h"
#include "config/document_text.h"
#include "config/foreign/srt_parts.h"

namespace cordon {
namespace {

// Each becomes a mount.
constexpr std::size_t kMostPaths = 1000;

class Beside {
 public:
  Beside(const std::vector<std::string>& closed, const Places& places)
      : closed_(closed), places_(places) {}

  Result<void> add(const std::string& path) {
    if (std::find(closed_.begin(), closed_.end(), path) != closed_.end()) return {};
    const bool holds_closed = std::any_of(
        closed_.begin(), closed_.end(), [&](const auto& closed) { return contains(path, closed); });
    if (!holds_closed) {
      if (found_.size() >= kMostPaths) {
        return fail(policy_error("more than " + std::to_string(kMostPaths) +
                                     " paths lie beside those of \"denyRead\" that \"allowRead\" "
                                     "or \"allowWrite\" opens in part",
                                 "deny \"/\" and open what is to be read by \"allowRead\""));
      }
      found_.push_back(path);
      return {};
    }
    CORDON_TRY(children, places_.children(path));
    for (const std::string& child : children) CORDON_CHECK(add(child));
    return {};
  }

  [[nodiscard]] std::vector<std::string> take() && { return std::move(found_); }

 private:
  const std::vector<std::string>& closed_;
  const Places& places_;
  std::vector<std::string> found_;
};

}  // namespace

Result<std::vector<std::string>> readable_beside(const std::vector<std::string>& roots,
                                                 const std::vector<std::string>& closed,
                                                 const Places& places) {
  Beside beside(closed, places);
  for (const std::string& root : roots) CORDON_CHECK(beside.add(root));
  return std::move(beside).take();
}

}  // namespace cordon
