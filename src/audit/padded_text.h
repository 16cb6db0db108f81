// Texts in files of fixed layout: what is left of a field is zero bytes.
#pragma once

#include <algorithm>
#include <array>
#include <string>

namespace cordon::audit {

template <std::size_t N>
std::string text_in(const std::array<char, N>& field) {
  return {field.begin(), std::ranges::find(field, '\0')};
}

}  // namespace cordon::audit
