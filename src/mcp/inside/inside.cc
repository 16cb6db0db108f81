#include "mcp/inside/inside.h"

#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "mcp/inside/whole_file.h"
#include "mcp/members.h"

namespace cordon::mcp {
namespace {

struct Operation {
  std::string_view name;
  InsideReply (*carry_out)(const std::string& path, const Node& request);
};
constexpr Operation kOperations[] = {
    {"read", read_inside}, {"write", write_inside},   {"edit", edit_inside},
    {"list", list_inside}, {"search", search_inside}, {"survey", survey_inside},
};

InsideReply carry_out(std::span<const char* const> words) {
  const auto size = words.size() == 3 ? parse_number(words[2]) : std::nullopt;
  if (!size || *size > kMostInsideRequest) return tl::make_unexpected(EINVAL);
  const auto text = read_bytes(STDIN_FILENO, *size);
  if (!text) return tl::make_unexpected(text.error());
  if (text->size() != *size) return tl::make_unexpected(EPIPE);
  constexpr std::size_t kMostValues = 100'000;
  const auto request = read_json_message(*text, {kMostInsideRequest, kMostValues});
  if (!request) return tl::make_unexpected(EBADMSG);
  for (const Operation& operation : kOperations) {
    if (operation.name == words[0]) return operation.carry_out(words[1], *request);
  }
  return tl::make_unexpected(EINVAL);
}

}  // namespace

std::size_t number_or(const Node& request, std::string_view name, std::size_t otherwise) {
  const auto number = number_member(request, name);
  return number && *number >= 0 ? static_cast<std::size_t>(*number) : otherwise;
}

int ask_inside(std::span<const char* const> words) {
  const InsideReply reply = carry_out(words);
  if (!reply) return reply.error();
  return write_bytes(STDOUT_FILENO, write_json(*reply, JsonStyle::Compact));
}

}  // namespace cordon::mcp
