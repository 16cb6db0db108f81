// cordon-inside: the first process of a sandbox that bubblewrap made. Only Cordon starts it.
#include <string_view>

#include "backend/bwrap/inside.h"
#include "base/text.h"

int main(int argc, char** argv) {
  constexpr int kRefused = 125;
  const std::string_view word = argc == 2 ? argv[1] : "";
  if (word == "try") return cordon::bwrap::try_inside();
  const auto handed = cordon::parse_number(word);
  return handed ? cordon::bwrap::begin_inside(static_cast<int>(*handed)) : kRefused;
}
