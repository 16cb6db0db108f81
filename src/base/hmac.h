// HMAC-SHA-256 of many texts with one key: what depends on the key alone is computed once. Threads
// may share one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>

#include "base/sha256.h"

namespace cordon {

class Hmac {
 public:
  explicit Hmac(std::span<const std::uint8_t, 32> key);
  // Of the pieces as one text.
  [[nodiscard]] Digest of(std::initializer_list<std::string_view> pieces) const;

 private:
  struct Begun;
  std::shared_ptr<const Begun> begun_;
};

}  // namespace cordon
