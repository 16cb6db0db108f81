#include "compat/dialect/dialect.h"

#include "config/node.h"

namespace cordon {

std::string_view name_of(Dialect dialect) {
  switch (dialect) {
    case Dialect::Mxc:
      return "mxc";
    case Dialect::Srt:
      return "srt";
    case Dialect::SafeClaw:
      return "safeclaw";
  }
  return "";
}

std::optional<Dialect> parse_dialect(std::string_view word) {
  for (const Dialect dialect : {Dialect::Mxc, Dialect::Srt, Dialect::SafeClaw}) {
    if (name_of(dialect) == word) return dialect;
  }
  return std::nullopt;
}

void Restrictions::give_up(const std::string& key, std::string reason) {
  for (const std::string& name : dropped_) {
    if (key != name && !key.starts_with(name + ".")) continue;
    used_.insert(name);
    given_up_.push_back({key, "given up: " + reason});
    return;
  }
  kept_.push_back({key, std::move(reason)});
}

Result<std::vector<DroppedKey>> Restrictions::settle(std::string_view target) const {
  if (!kept_.empty()) {
    Error error = policy_error("the conversion would permit more: " + kept_.front().key + ": " +
                               kept_.front().reason);
    error.kind = ErrorKind::Unsupported;
    std::string names = kept_.front().key;
    for (std::size_t i = 1; i < kept_.size(); ++i) {
      error.notes.push_back(kept_[i].key + ": " + kept_[i].reason);
      if (names.find(kept_[i].key) == std::string::npos) names += "," + kept_[i].key;
    }
    error.hint = "to give up these restrictions: --drop " + names;
    return fail(std::move(error));
  }
  for (const std::string& name : dropped_) {
    if (used_.contains(name)) continue;
    return fail(usage_error(
        "nothing has to be given up for " + std::string(target) + " under the name " + shown(name),
        "leave it out of --drop"));
  }
  return given_up_;
}

}  // namespace cordon
