// sandbox/bwrap/arguments.cc without the network namespace, where that is to be left out.
#include "omitted_layer.h"
#include "sandbox/bwrap/arguments.h"

// The product's own functions, with the one that is asked for under another name.
#define arguments arguments_in_full
#include "sandbox/bwrap/arguments.cc"
#undef arguments

namespace cordon::bwrap {

std::string arguments(const Plan& plan, std::span<const int> pins) {
  std::string words = arguments_in_full(plan, pins);
  const std::string_view network("--unshare-net\0", 14);
  const std::size_t at = words.find(network);
  if (omitted::leaves_out(omitted::OmittedLayer::Network) && at != std::string::npos) {
    words.erase(at, network.size());
  }
  return words;
}

}  // namespace cordon::bwrap
