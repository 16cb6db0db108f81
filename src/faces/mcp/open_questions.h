// OpenQuestions: what the server must remember while a modern client finds out an answer. The
// client is given a random token, the "requestState", and sends it back with the answers in a new
// request. The state itself stays here, so there is nothing in the token to forge or to read. It is
// good once, for the same person, the same call and the same arguments, for two minutes.
#pragma once

#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"

namespace cordon::mcp {

struct OpenQuestion {
  std::string principal;
  std::string subject;  // method and name of what was called
  std::string arguments_digest;
  std::vector<std::string> keys;  // the questions that were asked
  NodeMap answers;                // what earlier rounds brought
};

// Equal for equal arguments, whatever the order of members.
std::string digest_of(const Node& arguments);

class OpenQuestions {
 public:
  // Nothing: the answers so far are too large to be kept, or the system gives no random bytes. When
  // too many are open the oldest is forgotten.
  std::optional<std::string> keep(OpenQuestion question);
  // Nothing: unknown, used, expired, or asked by or about something else.
  std::optional<OpenQuestion> take(std::string_view token, std::string_view principal,
                                   std::string_view subject, std::string_view arguments_digest);

 private:
  struct Entry {
    std::string token;
    std::chrono::steady_clock::time_point expires;
    OpenQuestion question;
  };

  std::mutex mutex_;
  std::deque<Entry> entries_;  // oldest first
};

// 256 random bits in hexadecimal digits; nothing if the system gives none.
std::optional<std::string> random_token();

}  // namespace cordon::mcp
