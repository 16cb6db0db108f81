// Building input schemas: closed objects of fields with one type each and a bound on every size.
#pragma once

#include <string_view>

#include "config/node.h"

namespace cordon::mcp {

inline constexpr int kMostArguments = 1024;
inline constexpr int kLongestArgument = 131'071;  // the kernel's bound for one
inline constexpr int kMostPaths = 64;
inline constexpr int kLongestPath = 4095;
inline constexpr int kLongestContent = 4 << 20;
inline constexpr int kLongestWallMs = 3'600'000;

Node typed(std::string_view type, std::string_view description);
Node text_schema(std::string_view description, int least, int most);
Node list_schema(std::string_view description, int least, int most, int longest);
Node closed_object(NodeMap properties, NodeList required);

}  // namespace cordon::mcp
