#include "cordon/change.h"

namespace cordon {

std::string_view name_of(Change::Kind kind) {
  switch (kind) {
    case Change::Kind::Added:
      return "added";
    case Change::Kind::Modified:
      return "modified";
    case Change::Kind::Deleted:
      return "deleted";
    case Change::Kind::Mode:
      return "mode";
    case Change::Kind::Type:
      return "type";
  }
  return "modified";
}

std::string_view name_of(Change::State state) {
  switch (state) {
    case Change::State::Applied:
      return "applied";
    case Change::State::Held:
      return "held";
    case Change::State::Conflict:
      return "conflict";
    case Change::State::Lost:
      return "lost";
    case Change::State::Discarded:
      return "discarded";
  }
  return "held";
}

}  // namespace cordon
