#include <cstddef>

#include "check_foreign.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cordon::check_foreign(cordon::Dialect::Mxc, data, size);
}
