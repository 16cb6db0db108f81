#include "faces/mcp/open_questions.h"

#include <sys/random.h>

#include <algorithm>
#include <array>

#include "base/sha256.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kMaxOpen = 256;
constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 10U;
constexpr std::chrono::seconds kLifetime{120};

void sort_members(Node& node) {
  if (auto* list = std::get_if<NodeList>(&node.value)) {
    for (Node& item : *list) sort_members(item);
  }
  if (auto* map = std::get_if<NodeMap>(&node.value)) {
    for (auto& [name, member] : *map) sort_members(member);
    std::ranges::sort(*map, {},
                      [](const auto& member) -> const std::string& { return member.first; });
  }
}

}  // namespace

std::optional<std::string> random_token() {
  std::array<unsigned char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return std::nullopt;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) {
    token.append(1, kDigits[byte >> 4U]).append(1, kDigits[byte & 0xFU]);
  }
  return token;
}

std::string digest_of(const Node& arguments) {
  Node sorted = arguments;
  sort_members(sorted);
  return sha256_hex(write_json(sorted, JsonStyle::Compact));
}

std::optional<std::string> OpenQuestions::keep(OpenQuestion question) {
  if (write_json(Node(question.answers), JsonStyle::Compact).size() > kMaxAnswerBytes) {
    return std::nullopt;
  }
  auto token = random_token();
  if (!token) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (entries_.size() >= kMaxOpen) entries_.pop_front();
  entries_.push_back({*token, std::chrono::steady_clock::now() + kLifetime, std::move(question)});
  return token;
}

std::optional<OpenQuestion> OpenQuestions::take(std::string_view token, std::string_view principal,
                                                std::string_view subject,
                                                std::string_view arguments_digest) {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(entries_, [&](const Entry& entry) { return entry.expires <= now; });
  const auto found =
      std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.token == token; });
  if (found == entries_.end()) return std::nullopt;
  OpenQuestion question = std::move(found->question);
  entries_.erase(found);  // also if it does not fit: a token is tried once
  if (question.principal != principal || question.subject != subject ||
      question.arguments_digest != arguments_digest) {
    return std::nullopt;
  }
  return question;
}

}  // namespace cordon::mcp
