#include "backend/mxc/examine.h"

#include "backend/mxc/find.h"
#include "backend/mxc/platform.h"
#include "backend/mxc/verified.h"

namespace cordon::mxc {

std::optional<ExecutorAccount> examine_executor(const Caller& caller) {
  const auto found = find_executor(caller);
  if (!found) return std::nullopt;
  ExecutorAccount account;
  account.path = found->path;
  account.tier = found->tier;
  account.key = pin_key(own_system(), own_machine());
  account.pins = pins_path(caller);
  if (auto digest = digest_of(found->path)) {
    account.sha256 = std::move(*digest);
  } else {
    account.why = std::move(digest).error();
  }
  if (auto trusted = check_way(found->path, caller); !trusted) {
    account.why = std::move(trusted).error();
  }
  if (auto pins = read_pins(caller); !pins) {
    account.why = std::move(pins).error();
  } else {
    if (!pins->file.empty()) account.pins = pins->file;
    const auto pin = pins->pin.find(account.key);
    if (pin != pins->pin.end()) account.pin = pin->second;
  }
  return account;
}

}  // namespace cordon::mxc
