// Ed25519 signatures of checkpoints.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "audit/key.h"

namespace cordon::audit {

// All in lower-case hexadecimal digits. `seed` is the content of audit/signing.key.
std::string public_key_of(const Key& seed);
std::string sign(const Key& seed, std::string_view bytes);
bool signature_holds(std::string_view public_key, std::string_view bytes,
                     std::string_view signature);

}  // namespace cordon::audit
