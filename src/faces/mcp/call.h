// Call: what a handler is given: its arguments, the means to be cancelled, and ways to reach the
// client while it works. Lives as long as the handler runs.
//
// A handler that needs an answer from the person at the client asks first and acts afterwards:
//
//   const Elicited answer = call.elicit("approve", "Allow writing to ...?", schema);
//   if (answer.decision == Elicited::Decision::Pending) return {};
//
// While an answer is pending what the handler returns is not used. It is run again from its
// beginning with the answer, in both eras: modern clients have no way to be asked while a call
// runs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/node.h"
#include "cordon/runner.h"
#include "faces/mcp/envelope.h"
#include "faces/mcp/session.h"

namespace cordon::mcp {

// Members of a message by name and type; null if absent or of another type.

inline const std::string* text_member(const Node& node, std::string_view key) {
  const Node* member = node.find(key);
  return member != nullptr ? member->text() : nullptr;
}

inline std::optional<std::int64_t> number_member(const Node& node, std::string_view key) {
  const Node* member = node.find(key);
  const auto* number = member != nullptr ? std::get_if<std::int64_t>(&member->value) : nullptr;
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

inline bool flag_member(const Node& node, std::string_view key) {
  const Node* member = node.find(key);
  const auto* flag = member != nullptr ? std::get_if<bool>(&member->value) : nullptr;
  return flag != nullptr && *flag;
}

// The other members of a map.
inline Node without(const Node& node, std::string_view key) {
  NodeMap members;
  if (const NodeMap* all = node.map()) {
    for (const auto& member : *all) {
      if (member.first != key) members.push_back(member);
    }
  }
  return members;
}

inline const NodeMap* map_member(const Node& node, std::string_view key) {
  const Node* member = node.find(key);
  return member != nullptr ? member->map() : nullptr;
}

// What tools, prompts and resources answer with.

// Content blocks, as the protocol writes them. `base64` is already encoded.
Node text_block(std::string_view text);
Node image_block(std::string_view base64, std::string_view mime_type);
Node audio_block(std::string_view base64, std::string_view mime_type);
Node resource_block(std::string_view uri, std::string_view mime_type, std::string_view text);

struct ToolResult {
  NodeList content;
  std::optional<Node> structured;  // an object; only for tools with an output schema
  bool is_error = false;           // the call failed; a program that exits with 1 has not
  std::optional<Node> meta;        // _meta of the result: what programs read and models do not

  static ToolResult text(std::string_view text);
  static ToolResult failure(std::string_view text);
};

struct ResourceText {
  std::string mime_type;
  std::string text;                   // UTF-8
  std::optional<std::string> base64;  // instead of the text
};

struct PromptResult {
  std::string description;
  NodeList messages;

  PromptResult& say(Node block);  // one message of the user
};

// A question for the client: "elicitation/create", "sampling/createMessage" or "roots/list".
struct InputRequest {
  std::string method;
  Node params;
};
struct Answer {
  enum class State {
    Refused,  // the client cannot be asked, gave an error, or did not answer in time
    Pending,
    Given,
  };
  State state = State::Refused;
  Node value;
};
struct Elicited {
  enum class Decision {
    Declined,  // everything but an acceptance: declined, cancelled, malformed, nobody there
    Pending,
    Accepted,
  };
  Decision decision = Decision::Declined;
  Node content;  // a map if accepted
};

// The capability a client must have declared to be asked with this method.
bool can_be_asked(const Node& client_capabilities, std::string_view method);

class Call {
 public:
  struct Setup {
    Node arguments;
    Node meta;  // _meta of the request; null if none
    Node client_capabilities;
    std::optional<LogLevel> log_level;
    std::shared_ptr<ResponseSink> sink;
    std::shared_ptr<Flight> flight;
    NodeMap answers;  // by key, as the client gave them
    Id id;
    std::shared_ptr<Client> client;
  };
  explicit Call(Setup setup);

  [[nodiscard]] const Id& id() const { return setup_.id; }
  [[nodiscard]] const Node& arguments() const { return setup_.arguments; }
  [[nodiscard]] const Node& meta() const { return setup_.meta; }
  [[nodiscard]] const Node& client_capabilities() const { return setup_.client_capabilities; }
  [[nodiscard]] const std::shared_ptr<Client>& client() const { return setup_.client; }
  [[nodiscard]] const Cancel& cancel() const { return setup_.flight->cancel; }
  [[nodiscard]] bool cancelled() const { return setup_.flight->withheld; }

  // Whether the client asked for it.
  [[nodiscard]] bool wants_progress() const;
  // Sent only then; values that do not grow are left out.
  void progress(double done, std::optional<double> total, std::string_view message);
  void log(LogLevel level, std::string_view logger, Node data);

  Answer ask(const std::string& key, InputRequest request);
  // `schema` is a flat object of primitive properties.
  Elicited elicit(const std::string& key, std::string_view message, Node schema);

  // The questions that were asked and have no answer yet.
  using Questions = std::vector<std::pair<std::string, InputRequest>>;
  [[nodiscard]] const Questions& pending() const { return pending_; }
  // For the next run of the handler. A question without an answer counts as refused.
  void settle(NodeMap answers);

 private:
  Setup setup_;
  Questions pending_;
  std::vector<std::string> settled_;
  std::optional<double> last_progress_;
};

}  // namespace cordon::mcp
