// Packets and configurations of the gate: what is read is written back as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gate/protocol.h"
#include "require_that.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto message = gate::decode_to_gate(text)) {
    const auto again = gate::decode_to_gate(gate::encode(*message));
    require_that(again && *again == *message);
  }
  if (const auto message = gate::decode_from_gate(text)) {
    const auto again = gate::decode_from_gate(gate::encode(*message));
    require_that(again && *again == *message);
  }
  if (const auto configuration = gate::decode_configuration(text)) {
    const auto again = gate::decode_configuration(gate::encode(*configuration));
    require_that(again && *again == *configuration);
  }
  return 0;
}
