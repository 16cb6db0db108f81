// Where the text of a request comes from.
#pragma once

#include <string>

#include "cli/arguments.h"

namespace cordon::mxc {

struct RequestText {
  std::string text;
  std::string name;  // for messages: a file, "--config-base64" or "standard input"
};
// --config-base64, then --config, then the operand.
Result<RequestText> request_text(const Arguments& arguments);

// Standard base64 with its padding, nothing else.
Result<std::string> decode_base64(std::string_view text);

}  // namespace cordon::mxc
