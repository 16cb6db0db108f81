#include "base/check.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace cordon::detail {

void bug(const char* file, int line, const char* what) {
  std::string text = "cordon: bug: ";
  text.append(file).append(":").append(std::to_string(line)).append(": ").append(what).append("\n");
  // The process ends whether or not the text could be written.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  std::abort();
}

}  // namespace cordon::detail
