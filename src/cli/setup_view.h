// The answer of `cordon setup`, for people and for machines.
#pragma once

#include <string>
#include <vector>

#include "setup/installation.h"

namespace cordon {

// What became of one document.
struct SetupStep {
  enum class Became { Written, Unchanged, Left, Declined, Planned };
  const setup::Document* document = nullptr;
  Became result = Became::Planned;
};

std::string setup_text(const setup::Prospect& prospect, const std::vector<SetupStep>& steps);
std::string setup_json(const setup::Prospect& prospect, const std::vector<SetupStep>& steps);

}  // namespace cordon
