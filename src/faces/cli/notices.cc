#include "faces/cli/notices.h"

#include <algorithm>

#include "faces/cli/console.h"

namespace cordon {

Notices::Layout Notices::usual() { return says_to_terminal() ? Layout::Folded : Layout::Each; }

void Notices::add(const std::string& kind, const std::string& line, Seen seen) {
  if (layout_ == Layout::Each) return say_warning(line);
  const auto found = std::ranges::find(kinds_, kind, &Kind::name);
  if (found != kinds_.end()) {
    ++found->more;
  } else {
    kinds_.push_back({kind, line, 0, seen});
  }
}

Notices::~Notices() {
  for (const Kind& kind : kinds_) {
    std::string line = kind.first;
    if (kind.more > 0) {
      line += "; and " + std::to_string(kind.more) + " more: cordon " +
              (kind.seen == Seen::Why ? "why " : "changes list ") + run_id_;
    }
    say_warning(line);
  }
}

}  // namespace cordon
