// Layers of a ceiling that a run may go without, from a list that a test made up.
#pragma once

#include <vector>

#include "cordon/widening.h"

namespace cordon {

inline std::vector<MissingLayer> going_without(const std::vector<Layer>& layers) {
  std::vector<MissingLayer> missing;
  for (const Layer layer : layers) missing.push_back(run_without(layer));
  return missing;
}

}  // namespace cordon
