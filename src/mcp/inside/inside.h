// What the file tools of the profile `full` do inside their sandbox: the part of Cordon's own
// program that meets the files. A request and its answer are one JSON document each, through
// standard input and output. Nothing here decides what may be touched; the sandbox does.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "config/node.h"

namespace cordon::mcp {

inline constexpr std::string_view kAskInside = "ask";
// What a request and an answer may hold.
inline constexpr std::size_t kMostInsideRequest = std::size_t{32} << 20U;
inline constexpr std::size_t kMostInsideAnswer = std::size_t{16} << 20U;

// An answer, or the errno of what failed. A request that cannot be carried out for a reason of the
// file's own has the member "fault".
using InsideReply = tl::expected<Node, int>;

// A number of a request that is not negative.
std::size_t number_or(const Node& request, std::string_view name, std::size_t otherwise);

InsideReply read_inside(const std::string& path, const Node& request);
InsideReply write_inside(const std::string& path, const Node& request);
InsideReply edit_inside(const std::string& path, const Node& request);
InsideReply list_inside(const std::string& path, const Node& request);
InsideReply search_inside(const std::string& path, const Node& request);
InsideReply survey_inside(const std::string& path, const Node& request);

// `ask OPERATION PATH SIZE`: SIZE bytes of a request from standard input; with fewer nothing is
// done. The status is 0 or an errno, which standard error says.
int ask_inside(std::span<const char* const> words);

}  // namespace cordon::mcp
