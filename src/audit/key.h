// The key of this installation: 32 random bytes in audit/key. Keyed hashes of short values cannot
// be guessed from the log, and differ from one installation to the next.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/hmac.h"
#include "base/result.h"
#include "base/sha256.h"

namespace cordon::audit {

using Key = std::array<std::uint8_t, 32>;

// HMAC-SHA-256 of `use`, a zero byte and the bytes: a hash made for one use means nothing in
// another.
Digest keyed(const Key& key, std::string_view use, std::string_view bytes);
// The same, for many.
Digest keyed(const Hmac& key, std::string_view use, std::string_view bytes);

Result<Key> random_key();
// Reads the 32 bytes of `name`, or makes them, owner-only and durable. `directory` is locked by the
// caller. Refuses a file that is not a regular one of this user alone.
enum class IfMissing { Refuse, Make };
Result<Key> load_key(int directory, const char* name, IfMissing missing);

}  // namespace cordon::audit
