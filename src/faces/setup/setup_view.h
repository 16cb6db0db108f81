// The answer of `cordon setup`, for people and for machines.
#pragma once

#include <string>
#include <vector>

#include "faces/setup/installation.h"

namespace cordon {

// What became of one file.
struct SetupStep {
  enum class Became {
    Written,
    Added,  // to a file that was there
    Unchanged,
    Left,
    ByHand,  // the person is told what to add
    Declined,
    Planned
  };
  std::string path;
  std::string role;
  std::string purpose;
  std::string text;  // what is new in the file
  std::string undo;  // of what was written or added
  std::string why;   // it is left to the person
  Became result = Became::Planned;
};

// What an agent host is started with, and what stays outside.
struct HostAdvice {
  std::vector<std::string> next;
  std::vector<std::string> notes;
};

std::string setup_text(const setup::Prospect& prospect, const std::vector<SetupStep>& steps,
                       const HostAdvice& advice);
std::string setup_json(const setup::Prospect& prospect, const std::vector<SetupStep>& steps,
                       const HostAdvice& advice);

}  // namespace cordon
