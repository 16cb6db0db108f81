#include "apply/refusal.h"

#include <cstring>

namespace cordon::apply {

Refusal with_errno(Status status, std::string text, int error) {
  const char* description = ::strerrordesc_np(error);
  text.append(": ").append(description != nullptr ? description : "unknown error");
  return {status, std::move(text)};
}

}  // namespace cordon::apply
